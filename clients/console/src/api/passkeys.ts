// Passkeys, which browsers make and use.
import { InvalidInput } from "./errors";

/** The options of the server for making or using a passkey. */
export type PasskeyOptions = Record<string, unknown>;

/** Loaded when it is used first. */
const library = () => import("@simplewebauthn/browser");

export const hasPasskeys = (): boolean => typeof globalThis.PublicKeyCredential === "function";

/** Makes a passkey. Returns its JSON. */
export const createPasskey = (options: PasskeyOptions): Promise<string> =>
  asked(async () => (await library()).startRegistration({ optionsJSON: options as never }));

/** Uses a passkey. Returns its JSON. */
export const signWithPasskey = (options: PasskeyOptions): Promise<string> =>
  asked(async () => (await library()).startAuthentication({ optionsJSON: options as never }));

/** Returns what the browser made, as JSON. Throws what the user reads. */
async function asked(ask: () => Promise<object>): Promise<string> {
  try {
    return JSON.stringify(await ask());
  } catch (error) {
    const { name, message } = error as Error;
    throw new InvalidInput([], name === "NotAllowedError" ? "That was canceled, or took too long." : message);
  }
}

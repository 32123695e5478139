// An authenticator of a user: RFC 4226 and RFC 6238 by themselves, so that the server is checked by another implementation.
import { createHmac } from "node:crypto";
import { type Client, userPassword } from "./world.js";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Decodes Base32 (RFC 4648 §6). */
function decode(base32: string): Buffer {
  const bits = Array.from(base32.replace(/=+$/, ""), (each) => alphabet.indexOf(each).toString(2).padStart(5, "0"));
  const bytes = bits.join("").match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((each) => Number.parseInt(each, 2)));
}

/** The code of a secret at a time in milliseconds, `shift` steps later. */
export function codeOf(secret: string, shift = 0, time = Date.now()): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(time / 30_000) + shift));
  const mac = createHmac("sha1", decode(secret)).update(counter).digest();
  const offset = mac.at(-1)! & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

const begin = `mutation($input: BeginAuthenticatorInput!) { beginAuthenticator(input: $input) { secret uri expiresAt } }`;
export const confirmAuthenticator = `mutation($input: ConfirmAuthenticatorInput!) { confirmAuthenticator(input: $input) { recoveryCodes } }`;

/** Begins to add an authenticator to the account of a client. */
export const beginAuthenticator = async (client: Client, password = userPassword, oneTimeCode?: string) =>
  (await client.graphql(begin, { input: { password, oneTimeCode } })).beginAuthenticator;

/** The factors of an account with an authenticator. */
export interface Enrolled {
  secret: string;
  /** The code that has confirmed it. */
  spentCode: string;
  recoveryCodes: string[];
}

/** Adds an authenticator to the account of a client. The code of this step is used then; that of the next one is not. */
export async function addAuthenticator(client: Client, password = userPassword): Promise<Enrolled> {
  const { secret } = await beginAuthenticator(client, password);
  const spentCode = codeOf(secret);
  const confirmed = await client.graphql(confirmAuthenticator, { input: { oneTimeCode: spentCode } });
  return { secret, spentCode, recoveryCodes: confirmed.confirmAuthenticator.recoveryCodes };
}

// Codes of authenticators: RFC 6238 with the parameters that all authenticators know: SHA-1, 6 digits, 30 seconds.
import { generateSecret, generateURI, verifySync } from "otplib";

/** Seconds in which a code changes. */
const period = 30;

/** Seconds by which the clock of an authenticator may differ: the code before and the one after are accepted, too. */
const tolerance = period;

/** Generates a secret of 160 bits, in Base32. */
export const newTotpSecret = (): string => generateSecret();

/** Returns the URI by which authenticators take over a secret, usually as a QR code. */
export const totpUri = (secret: string, account: string, issuer: string): string =>
  generateURI({ issuer, label: account, secret });

/** Returns the time step of a code around a time in milliseconds; `undefined` for a wrong code. */
export function totpStepOf(secret: string, code: string, time: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const found = verifySync({ secret, token: code, period, epoch: Math.floor(time / 1000), epochTolerance: tolerance });
  return found.valid && "timeStep" in found ? found.timeStep : undefined;
}

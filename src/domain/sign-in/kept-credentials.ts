import { databaseTime } from "../../runtime/clock.js";
import { minute } from "../../runtime/durations.js";
import { type Place, SealBroken } from "../../infrastructure/vault.js";
import type { Services } from "../kernel/context.js";
import type { Login } from "./login.js";

/** The email and the password of a sign-in that waits for a code. */
export type Credentials = Pick<Login, "email" | "password">;

const lifetime = 5 * minute;

/** Bound to the browser by its id. */
const placeOf = (browser: string): Place => ({ table: "browsers", column: "sign_in", rowId: browser, ownerId: "" });

/**
 * Encrypts the email and the password that a person has entered, for the browser to keep until it sends the code of the
 * account: pages of sign-in run without scripts, and show no password again.
 */
export class KeptCredentials {
  constructor(private readonly services: Pick<Services, "vault">) {}

  seal(browser: string, { email, password }: Credentials): string {
    const kept = { email, password, expiresAt: databaseTime() + lifetime };
    const { keyId, nonce, ciphertext } = this.services.vault.seal(placeOf(browser), JSON.stringify(kept));
    return [nonce.toString("base64url"), ciphertext.toString("base64url"), keyId].join(".");
  }

  /** Returns the credentials that a browser has kept; `undefined` after five minutes, and for all other texts. */
  open(browser: string, text: string): Credentials | undefined {
    const { vault } = this.services;
    const [, nonce = "", ciphertext = "", keyId = ""] = /^([\w-]+)\.([\w-]+)\.([\w.-]+)$/.exec(text) ?? [];
    if (!vault.has(keyId)) return undefined;
    const sealed = { keyId, nonce: Buffer.from(nonce, "base64url"), ciphertext: Buffer.from(ciphertext, "base64url") };
    try {
      const kept = JSON.parse(vault.open(placeOf(browser), sealed)) as Credentials & { expiresAt: number };
      return kept.expiresAt > databaseTime() ? { email: kept.email, password: kept.password } : undefined;
    } catch (error) {
      if (error instanceof SealBroken) return undefined;
      throw error;
    }
  }
}

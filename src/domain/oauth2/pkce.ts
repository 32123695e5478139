// Proof Key for Code Exchange (RFC 7636): a code is redeemed only with the verifier of the challenge it was requested with.
import { hash, timingSafeEqual } from "node:crypto";
import { meant, textWith } from "../kernel/values.js";
import { oauthFailure } from "./oauth-errors.js";

/** The form of code challenges (RFC 7636 §4.2). */
const challengeForm = /^([A-Za-z0-9_-]{43})?$/;

/** The form of code verifiers (RFC 7636 §4.1). */
const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/;

/** A code challenge as clients send it: an empty one counts as absent. */
export const codeChallengeValue = textWith({ pattern: challengeForm.source });

/** A code verifier as clients send it: an empty one counts as absent. */
export const codeVerifierValue = meant(textWith({ pattern: "^([A-Za-z0-9._~-]{43,128})?$" }), { kind: "secret" });

/** An authorization request, whose empty parameters are left out. */
interface Challenged {
  given: { codeChallenge?: string | undefined; codeChallengeMethod?: string | undefined };
}

/** Throws the protocol failure of a challenge that is malformed, or whose method is not supported. */
export function checkCodeChallenge({
  given: { codeChallenge: challenge, codeChallengeMethod: method },
}: Challenged): void {
  if (challenge === undefined && method === undefined) return;
  if (method !== "S256") throw oauthFailure("invalid_request", "The only supported code_challenge_method is S256.");
  if (challenge === undefined || !challengeForm.test(challenge))
    throw oauthFailure("invalid_request", "code_challenge must be a SHA-256 in base64url, 43 characters long.");
}

/** Whether a text has the form of a code verifier. */
export const isCodeVerifier = (text: string): boolean => verifierForm.test(text);

/** Whether a challenge was made from a verifier. Compares in constant time: the length of a challenge is no secret. */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  if (!isCodeVerifier(verifier)) return false;
  const expected = Buffer.from(challenge, "base64url");
  const given = hash("sha256", verifier, "buffer");
  return expected.length === given.length && timingSafeEqual(expected, given);
}

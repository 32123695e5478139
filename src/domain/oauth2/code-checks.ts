import { hash, timingSafeEqual } from "node:crypto";
import type { DomainError } from "../kernel/errors.js";
import { statement } from "../kernel/database.js";
import { narrowedAudiences } from "./audiences.js";
import { type CodeExchange, revokeAfterwards } from "./exchange.js";
import { oauthFailure } from "./failures.js";
import { invalidGrant } from "./presented.js";
import { isRegistered } from "./redirect-uris.js";

const burnCode = statement(`update oauth2_codes set state = 'burnt' where id = $1 and state = 'issued'`);

/** Makes the code useless, although the request fails: the application of the code sent it with wrong parameters. */
function burnt({ ctx, presented }: CodeExchange, failure: DomainError): DomainError {
  ctx.afterRollback(async (afresh) => void (await afresh.rows(burnCode, presented.id)));
  return failure;
}

/** Revokes the grant of a code that was redeemed before, with all tokens that were issued for it. */
export function refuseCodeReplay(exchange: CodeExchange): void {
  if (exchange.presented.state !== "used") return;
  revokeAfterwards(exchange, "code_replay");
  throw invalidGrant();
}

/** Rejects codes that were burnt, or whose redirect URI is not registered any more. */
export function checkCode({ client, presented: { state, redirectUri } }: CodeExchange): void {
  if (state === "burnt" || !isRegistered(client.redirectUris, redirectUri)) throw invalidGrant();
}

/** The redirect URI may be left out; if it is sent, it is that of the authorization request, byte by byte. */
export function matchRedirectUri(exchange: CodeExchange): void {
  const { redirectUri } = exchange.input;
  if (redirectUri && redirectUri !== exchange.presented.redirectUri)
    throw burnt(exchange, invalidGrant("The redirect URI differs from that of the authorization request."));
}

const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/;

/** A verifier is required if the authorization request had a challenge, and rejected otherwise. */
export function verifyCodeChallenge(exchange: CodeExchange): void {
  const { codeChallenge } = exchange.presented;
  const verifier = exchange.input.codeVerifier ?? "";
  if (codeChallenge === null) {
    if (verifier === "") return;
    if (!verifierForm.test(verifier))
      throw oauthFailure("invalid_request", "The code verifier must be 43 to 128 unreserved characters.");
    throw burnt(exchange, invalidGrant("The authorization request had no code challenge."));
  }
  if (!verifierForm.test(verifier) || !isVerifierOf(codeChallenge, verifier))
    throw burnt(exchange, invalidGrant("The code verifier does not match the code challenge."));
}

/** Compares in constant time. The length of a challenge is no secret. */
function isVerifierOf(challenge: string, verifier: string): boolean {
  const [expected, given] = [Buffer.from(challenge, "base64url"), hash("sha256", verifier, "buffer")];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** The audiences of the code, or the `resource` parameters among them. */
export function narrowCodeAudience(exchange: CodeExchange): void {
  const { ctx, input, presented } = exchange;
  try {
    exchange.audiences = narrowedAudiences(presented.audiences, input.resource, ctx.config);
  } catch (error) {
    throw burnt(exchange, error as DomainError);
  }
}

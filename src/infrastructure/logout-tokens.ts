// Logout tokens, by which a provider tells that a person has signed out there (OpenID Connect Back-Channel Logout 1.0).
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";

/** The end of a session at a provider, or of all of a person there. */
export interface LogoutToken {
  /** Without a final slash. */
  issuer: string;
  /** Unique among the tokens of the provider. */
  id: string;
  subject?: string;
  session?: string;
}

/** A token that no provider should send. The message names the fault, and none of its content. */
export class BadLogoutToken extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "BadLogoutToken";
  }
}

interface Checks {
  keys: JWTVerifyGetKey;
  /** The algorithms with which the provider says that it signs ID tokens. */
  algorithms: readonly string[];
  clientId: string;
  /** Decides if a token with these claims may have their issuer. */
  isIssuer: (claims: JWTPayload) => boolean;
}

/** How old a token may be, and how far clocks may differ, in seconds. */
const maxAge = 300;
const tolerance = 60;

/** How long a token can be used, in seconds: as long, it has to be remembered. */
export const logoutTokenLifetime = maxAge + 2 * tolerance;

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/** Those with a public key: the secret of the client signs nothing. */
const asymmetric = /^(RS|PS|ES)(256|384|512)$|^(EdDSA|Ed25519)$/;

const types: ReadonlySet<unknown> = new Set([undefined, "jwt", "logout+jwt", "application/logout+jwt"]);

const longest = 255;
const isName = (claim: unknown): claim is string =>
  typeof claim === "string" && claim !== "" && claim.length <= longest;

/** Verifies a logout token (§2.6). Throws BadLogoutToken, or what `keys` throws if they cannot be fetched. */
export async function verifyLogoutToken(token: string, checks: Checks): Promise<LogoutToken> {
  const { payload, protectedHeader } = await verifySignature(token, checks);
  const { iss, sub, sid, jti, events, nonce } = payload;
  if (!types.has(protectedHeader.typ?.toLowerCase())) throw new BadLogoutToken("It is a token of another kind.");
  if (nonce !== undefined) throw new BadLogoutToken("It has a nonce, as ID tokens have.");
  const event: unknown =
    typeof events === "object" && events !== null ? (events as Record<string, unknown>)[logoutEvent] : undefined;
  if (typeof event !== "object" || event === null || Array.isArray(event))
    throw new BadLogoutToken("It is about no logout.");
  if (!isName(jti)) throw new BadLogoutToken("It has no usable jti.");
  if ((sub !== undefined && !isName(sub)) || (sid !== undefined && !isName(sid)) || (!sub && !sid))
    throw new BadLogoutToken("It names neither a person nor a session.");
  return {
    issuer: iss!.replace(/\/$/, ""),
    id: jti,
    ...(sub !== undefined && { subject: sub }),
    ...(sid !== undefined && { session: sid }),
  };
}

async function verifySignature(token: string, { keys, algorithms, clientId, isIssuer }: Checks) {
  try {
    const claims = decodeJwt(token);
    if (typeof claims.iss !== "string" || !isIssuer(claims)) throw new BadLogoutToken("It is of another issuer.");
    return await jwtVerify(token, keys, {
      algorithms: algorithms.filter((algorithm) => asymmetric.test(algorithm)),
      issuer: claims.iss,
      audience: clientId,
      requiredClaims: ["iat", "jti"],
      maxTokenAge: maxAge,
      clockTolerance: tolerance,
    });
  } catch (error) {
    // Others are of the request for the keys.
    const isOfToken = error instanceof errors.JOSEError && !ofKeys.has(error.code);
    throw isOfToken ? new BadLogoutToken(error.message, error) : error;
  }
}

const ofKeys: ReadonlySet<string> = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

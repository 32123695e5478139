// An OAuth2 application with grants and tokens, which all providers of a bench know.
import { members, numbered, publicId, secretOf } from "./data.js";
import type { ClientCredentials } from "./requests.js";

export const secretId = publicId("s", 0);

/** The application. */
export const client: ClientCredentials = { id: numbered("c", 1), secret: `stws_${secretId}_${secretOf(secretId)}` };

/** Everything that the application may get, and all tokens have. */
export const scopes = ["user:read", "oauth2_app:read"];

/**
 * Grants, each of another member, with an access token and a refresh token. One after the other, each has left every
 * one-second cache before it is used again.
 */
export const grants = members;

/** Seconds. */
export const accessTtl = 3_600;
export const refreshTtl = 30 * 86_400;

/** A token: Steward's begins with its kind and the id; the peers' are the secret alone. */
export interface TokenText {
  id: string;
  secret: string;
}

const numberedToken =
  (series: string) =>
  (nr: number): TokenText => {
    const id = publicId(series, nr);
    return { id, secret: secretOf(id) };
  };

export const accessToken = numberedToken("a");
export const refreshToken = numberedToken("r");

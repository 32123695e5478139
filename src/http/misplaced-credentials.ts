import type { IncomingMessage } from "node:http";

/** Where credentials belong, by how their texts begin. */
const places = {
  stw_: "Tokens of users are sent in Service-Session-Token or Authorization: Bearer.",
  stwa_: "Tokens of agents are sent in Service-Session-Token or Authorization: Bearer.",
  stwk_: "Keys of provisioners are sent in Service-Provisioner-Key, where daemons connect.",
  stwp_: "Tokens of workspace proxies are sent in Service-Proxy-Token.",
  stwi_: "SCIM keys are sent in Authorization: Bearer, below /scim/v2.",
  stws_: "Secrets of applications are sent to /oauth2/tokens.",
  stwc_: "Authorization codes are exchanged for access tokens at /oauth2/tokens.",
  stwr_: "Refresh tokens are exchanged for access tokens at /oauth2/tokens.",
  stwd_: "Device codes are exchanged for access tokens at /oauth2/tokens.",
  stwm_: "Registration access tokens are sent to /oauth2/clients.",
} as const;

/** The beginning of a credential, which tells its kind. */
export type Prefix = keyof typeof places;

const accessTokens =
  "Access tokens of applications are sent in Authorization: Bearer or Service-Session-Token, and never in a cookie.";

/** Where a credential belongs, as a sentence, if its place takes only other kinds. */
export function rightPlaceOf(text: string, taken: readonly Prefix[], isCookie = false): string | undefined {
  if (isCookie && text.startsWith("stw_oa_")) return accessTokens;
  if (/^bearer\s/i.test(text)) return "This header has the token alone, without Bearer.";
  const prefix = /^stw[a-z]?_/.exec(text)?.[0];
  if (prefix === undefined || !Object.hasOwn(places, prefix) || taken.includes(prefix as Prefix)) return undefined;
  return places[prefix as Prefix];
}

/**
 * What is wrong with a credential of a request that is in no place where credentials are read, as a sentence; `undefined`
 * if there is none.
 */
export function unreadCredentialOf({ url = "", headers }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  if (url.startsWith("/scim/")) return headers["service-session-token"] === undefined ? undefined : places["stwi_"];
  if (authorization && !/^bearer /i.test(authorization)) return "Authorization must be Bearer, a space, and the token.";
  return /[?&](access_)?token=/.test(url) ? "Tokens are not taken from URLs: use Authorization: Bearer." : undefined;
}

import type { IncomingMessage } from "node:http";
import { type Actor, anonymous } from "../domain/kernel/actor.js";
import type { Services } from "../domain/kernel/context.js";
import { unauthenticated } from "../domain/kernel/errors.js";
import { withoutEdges } from "../runtime/pasted.js";
import { cookieOf } from "./cookies.js";
import { checkCsrf, isFromOurPages, isNavigation } from "./csrf.js";

const sessionHeader = "service-session-token";
const proxyHeader = "service-proxy-token";
export const sessionCookie = "service_session_token";

/** Where requests enter. Under `/scim` and at `/mcp`, cookies and session headers do not count. */
export type Surface = "api" | "page" | "scim" | "mcp";

/** Where a request enters. Forms of pages carry their CSRF token in a field. */
export interface Entry {
  surface: Surface;
  csrfToken?: string;
}

/** A place in requests where a credential can be. */
interface Reader {
  /** The text of the credential; `undefined` if there is none. */
  read: (request: IncomingMessage, accessUrl: string) => string | undefined;
  /** The method of `Credentials` that authenticates it. */
  by: "authenticate" | "authenticateAuthorization" | "authenticateUser" | "authenticateProxy";
  /** The kinds of credentials that belong here. */
  takes: readonly Prefix[];
  /** Whether OAuth2 access tokens for the URL of the request are accepted. */
  takesAccessTokens?: true;
  surfaces: readonly Surface[];
  /** Browsers send it by themselves: unsafe requests need the CSRF token of the session. */
  needsCsrfToken?: true;
}

/**
 * The text of a header, without the white space that was pasted with it. Node.js reads bytes as Latin-1: a no-break space
 * that was sent in UTF-8 begins with another character.
 */
export const headerText = (headers: IncomingMessage["headers"], name: string): string | undefined => {
  const text = (headers[name] as string | undefined) ?? "";
  const sent = /[^\0-\x7f]/.test(text) ? Buffer.from(text, "latin1").toString() : text;
  return withoutEdges(sent.includes("\ufffd") ? text : sent) || undefined;
};

const header =
  (name: string): Reader["read"] =>
  ({ headers }) =>
    headerText(headers, name);

/** The token of a header with the scheme Bearer. */
function bearerIn(headers: IncomingMessage["headers"], name: string): string | undefined {
  const token = /^bearer\s+(.*)$/is.exec(headerText(headers, name) ?? "")?.[1];
  return token === undefined ? undefined : withoutEdges(token);
}

/** The token of `Authorization: Bearer` (RFC 6750 §2.1). */
export const bearerOf = (headers: IncomingMessage["headers"]): string | undefined => bearerIn(headers, "authorization");

const bearer: Reader["read"] = ({ headers }) => bearerOf(headers);

/** The header of SCIM requests, in the spelling of the contract. */
export const scimHeader = "authorizaiton";

const scimKey =
  (name: string): Reader["read"] =>
  ({ headers }) => {
    const text = headerText(headers, name);
    const basic = /^basic +(.*)$/i.exec(text ?? "")?.[1];
    if (basic === undefined) return bearerIn(headers, name) ?? text;
    return withoutEdges(
      Buffer.from(basic, "base64")
        .toString()
        .replace(/^[^:]*:/, ""),
    );
  };

const cookieFromOurPages: Reader["read"] = (request, accessUrl) =>
  isFromOurPages(request, accessUrl) ? cookieOf(request, sessionCookie) : undefined;

const cookieOfNavigation: Reader["read"] = (request) =>
  isNavigation(request) ? cookieOf(request, sessionCookie) : undefined;

/**
 * Headers that carry credentials. Pages of other sites cannot send them without a preflight. Browsers themselves add
 * `Authorization` only for schemes that are not read here, such as Basic.
 */
export const credentialHeaders: readonly string[] = [sessionHeader, "authorization", proxyHeader];

const all: readonly Surface[] = ["api", "page"];
const users: readonly Prefix[] = ["stw_", "stwa_"];
const anyone: readonly Prefix[] = [...users, "stwi_"];

/** In order of precedence: the first credential decides. If it is not valid, no later one is tried. */
const readers: readonly Reader[] = [
  { read: header(sessionHeader), by: "authenticate", takes: users, surfaces: all, takesAccessTokens: true },
  { read: bearer, by: "authenticateAuthorization", takes: anyone, surfaces: all, takesAccessTokens: true },
  { read: bearer, by: "authenticate", takes: users, surfaces: ["mcp"], takesAccessTokens: true },
  { read: cookieFromOurPages, by: "authenticateUser", takes: users, surfaces: all, needsCsrfToken: true },
  { read: cookieOfNavigation, by: "authenticateUser", takes: users, surfaces: ["page"], needsCsrfToken: true },
  { read: header(proxyHeader), by: "authenticateProxy", takes: ["stwp_"], surfaces: all },
  { read: scimKey(scimHeader), by: "authenticateAuthorization", takes: anyone, surfaces: ["scim"] },
  { read: scimKey("authorization"), by: "authenticateAuthorization", takes: anyone, surfaces: ["scim"] },
];

/** The caller behind a request, synchronously if its credential is cached. Throws UNAUTHENTICATED for an invalid one. */
export function actorOf(
  { credentials, config }: Services,
  request: IncomingMessage,
  { surface, csrfToken }: Entry = { surface: "api" },
): Actor | Promise<Actor> {
  for (const { read, by, takes, surfaces, needsCsrfToken, takesAccessTokens } of readers) {
    const text = surfaces.includes(surface) ? read(request, config.accessUrl) : undefined;
    if (text === undefined) continue;
    if (needsCsrfToken) checkCsrf(request, text, csrfToken ?? (request.headers["x-csrf-token"] as string | undefined));
    const rightPlace = rightPlaceOf(text, takes, needsCsrfToken);
    if (by === "authenticateProxy") {
      if (rightPlace) throw unauthenticated(`The token is not valid. ${rightPlace}`);
      return credentials.authenticateProxy(text);
    }
    if (rightPlace) throw unauthenticated(`The token is malformed. ${rightPlace}`);
    return credentials[by](text, takesAccessTokens && config.accessUrl + pathOf(request));
  }
  return anonymous;
}

const pathOf = ({ url = "" }: IncomingMessage) => url.split("?", 1)[0]!;

/** Whether a request to the API carries a credential. */
export const hasSentCredential = (request: IncomingMessage, accessUrl: string): boolean =>
  readers.some(({ read, surfaces }) => surfaces.includes("api") && read(request, accessUrl) !== undefined);

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
type Prefix = keyof typeof places;

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

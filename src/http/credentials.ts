import type { IncomingMessage } from "node:http";
import { type Actor, anonymous } from "../domain/kernel/actor.js";
import type { Services } from "../domain/kernel/context.js";
import { unauthenticated } from "../domain/kernel/errors.js";
import { withoutEdges } from "../runtime/pasted.js";
import { cookieOf } from "./cookies.js";
import { checkCsrf, isFromOurPages, isNavigation } from "./csrf.js";
import { type Prefix, rightPlaceOf } from "./misplaced-credentials.js";

export const sessionHeader = "service-session-token";
const proxyHeader = "service-proxy-token";
export const sessionCookie = "service_session_token";

/** Where requests enter. Under `/scim`, cookies and session headers do not count. */
export type Surface = "api" | "page" | "scim";

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

// With which credential commands reach which server.
import { matching, readSettings, serverUrl, StartRefused } from "../api/settings.js";
import { UsageError } from "../../src/runtime/command-line.js";
import { loginEnded, NotSignedIn, notSignedIn } from "./failures.js";
import { changeLogins, type Login, readLogins } from "./logins.js";
import { Refusal, renew, requireProtection } from "./oauth.js";

export interface Session {
  readonly url: string;
  /** Returns a token that should be valid. Throws `NotSignedIn` if there is none any more. */
  token: () => Promise<string>;
  /** Returns another token, after the server has rejected this one. Throws `NotSignedIn` if there is none. */
  renewed: (rejected: string) => Promise<string>;
}

const settings = {
  url: { name: "STEWARD_URL", read: serverUrl, rule: "an http or https URL without a path", meaning: "URL of Steward" },
  token: {
    name: "STEWARD_TOKEN",
    read: matching(/^[\x21-\x7e]+$/),
    rule: "the token of a session, or an API token",
    meaning: "Token of a session, or API token",
    isSecret: true,
  },
};

/** Milliseconds before its expiry at which a token is renewed. */
const margin = 30_000;

/** The origin of a server that the user named. */
export function requireUrl(text: string, name = "The URL"): string {
  const url = serverUrl(text) ?? serverUrl(`https://${text}`);
  if (url === undefined) throw new UsageError(`${name} must be an http or https URL without a path.`);
  return url;
}

/** The origin of a server that the user named by its URL, or by a profile. */
export async function requireServer(text: string, name?: string): Promise<string> {
  const { profiles = {} } = await readLogins();
  return Object.hasOwn(profiles, text) ? requireUrl(profiles[text]!) : requireUrl(text, name);
}

/**
 * The credential of a command: STEWARD_TOKEN for STEWARD_URL, if it is set, else the login at `server`, at STEWARD_URL,
 * or the current one. Throws `Failed` if it would be sent to another machine without encryption, unless that is allowed.
 */
export async function openSession(server: string | undefined, isHttpAllowed: boolean): Promise<Session> {
  const { STEWARD_URL, STEWARD_TOKEN, STEWARD_TOKEN_FILE } = process.env;
  if (server === undefined && (STEWARD_TOKEN || STEWARD_TOKEN_FILE)) return ofEnvironment(isHttpAllowed);
  const { current, logins } = await readLogins();
  const wanted = server ?? (STEWARD_URL || undefined);
  const named = server === undefined ? "STEWARD_URL" : "--server";
  const url = wanted === undefined ? current : await requireServer(wanted, named);
  if (url === undefined || !logins[url]?.accessToken) throw notSignedIn(url);
  requireProtection(url, isHttpAllowed || logins[url].isHttpAllowed === true);
  return ofLogin(url);
}

function ofEnvironment(isHttpAllowed: boolean): Session {
  try {
    const { url, token } = readSettings(settings, process.env);
    requireProtection(url, isHttpAllowed);
    return {
      url,
      token: () => Promise.resolve(token),
      renewed: () => Promise.reject(new NotSignedIn(`${url} does not accept the token of STEWARD_TOKEN.`)),
    };
  } catch (error) {
    throw error instanceof StartRefused ? new UsageError(error.message.replace("\nFor help: --help", "")) : error;
  }
}

function ofLogin(url: string): Session {
  const renewUnless = async (isUsable: (login: Login) => boolean): Promise<string> => {
    const login = (await readLogins()).logins[url];
    if (!login) throw notSignedIn(url);
    return isUsable(login) ? login.accessToken : renewedLogin(url, isUsable);
  };
  return {
    url,
    token: () => renewUnless(({ expiresAt }) => expiresAt - margin > Date.now()),
    renewed: (rejected) => renewUnless(({ accessToken }) => accessToken !== rejected),
  };
}

/** Renews the tokens of a login, unless another command has done so meanwhile. */
const renewedLogin = (url: string, isUsable: (login: Login) => boolean): Promise<string> =>
  changeLogins(async ({ logins }) => {
    const login = logins[url];
    if (!login) throw notSignedIn(url);
    if (isUsable(login)) return login.accessToken;
    try {
      logins[url] = { ...login, ...(await renew(url, login.registration, login.refreshToken)) };
      return logins[url].accessToken;
    } catch (error) {
      throw error instanceof Refusal && ["invalid_grant", "invalid_client"].includes(error.code)
        ? loginEnded(url)
        : error;
    }
  });

import { isObject } from "../../runtime/json.js";
import { cleanLabel } from "../../runtime/text.js";
import { objectIn, type Received, urlIn } from "./provider-responses.js";

/** An account at a provider, as the provider describes it. */
export interface Account {
  /** Null unless the provider identifies accounts by integers. */
  id: number | null;
  login: string;
  name: string;
  avatarUrl: string | null;
  profileUrl: string | null;
}

/** An installation of the provider's application, for an account. */
export interface Installation {
  id: number | null;
  account: Account | null;
  /** Page at which it is configured. */
  configureUrl: string | null;
}

const longest = 256;

/** The first text among values, cut to 256 characters. */
function textIn(...values: unknown[]): string {
  const text = values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
  return cleanLabel(text, longest);
}

const firstUrl = (...values: unknown[]): string | null => values.map(urlIn).find((url) => url !== null) ?? null;

const integerIn = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

/** The target of a link in the manner of Bitbucket: `{links: {avatar: {href}}}`. */
function linkIn(links: unknown, name: string): unknown {
  const link = isObject(links) ? links[name] : undefined;
  return isObject(link) ? link.href : undefined;
}

/** Reads the account in a response of any supported service; null if there is none. */
export function accountIn(body: unknown): Account | null {
  if (!isObject(body)) return null;
  const login = textIn(body.login, body.username, body.preferred_username, body.nickname);
  if (login === "") return null;
  return {
    id: integerIn(body.id),
    login,
    name: textIn(body.name, body.full_name, body.display_name),
    avatarUrl: firstUrl(body.avatar_url, body.picture, linkIn(body.links, "avatar")),
    profileUrl: firstUrl(body.html_url, body.web_url, body.profile, linkIn(body.links, "html")),
  };
}

const mostInstallations = 100;

/** Reads the installations in a response; undefined if the response has none. */
export function installationsIn(received: Received): Installation[] | undefined {
  const body = received.status === 200 ? objectIn(received) : undefined;
  if (!Array.isArray(body?.installations)) return undefined;
  return body.installations
    .filter(isObject)
    .slice(0, mostInstallations)
    .map(({ id, account, html_url: url }) => ({
      id: integerIn(id),
      account: accountIn(account),
      configureUrl: urlIn(url),
    }));
}

/** Names with a spelling of their own. */
const spellings: Record<string, string> = {
  VSCODE: "VS Code",
  JETBRAINS: "JetBrains",
  SSH: "SSH",
  RECONNECTING_PTY: "Terminal",
  OIDC: "OpenID Connect",
  GITHUB: "GitHub",
  SMTP: "Email",
  API_KEY: "API key",
  "SCIM-KEY": "SCIM key",
  TEMPLATE_RBAC: "Template roles",
  AIBRIDGE: "AI bridge",
  OAUTH: "OAuth",
  OK: "OK",
  CLI: "Command line",
  INITIATOR: "User request",
  OWNERS_CHOICE: "As their owners choose",
};

/** `ORGANIZATION_ADMIN`, `memberCount` and `connection-log` as people read them: "Organization admin". */
export function wordsOf(name: string): string {
  const own = spellings[name.toUpperCase()];
  if (own) return own;
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replace(/[_-]/g, " ");
  return (words.charAt(0).toUpperCase() + words.slice(1))
    .replace(/oauth2/i, "OAuth2")
    .replace(
      /\b(url|id|ip|ttl|pkce|uri|ai|scim|smtp|tls|acl)(s?)\b/gi,
      (_, word: string, s: string) => word.toUpperCase() + s,
    );
}

/** A name as it reads within a sentence: "workspace proxy", but "API key". */
export function nounOf(name: string): string {
  const words = wordsOf(name);
  return /^.[A-Z]/.test(words) ? words : words.charAt(0).toLowerCase() + words.slice(1);
}

interface Named {
  name: string;
  displayName?: string | null;
}

export const titleOf = ({ name, displayName }: Named): string => displayName || name;

/** An amount in millionths, as people read it. */
export const amountOf = (micros: number): string =>
  (micros / 1_000_000).toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const longUnits = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** Seconds as people read them: "8 hours". */
export function durationOf(seconds: number | null | undefined): string {
  if (!seconds) return "never";
  const [unit, size] = longUnits.find(([, each]) => seconds % each === 0) ?? ["second", 1];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Seconds in a duration such as "8 hours", "30 min" or "never"; undefined if it is none. */
export function secondsOf(text: string): number | undefined {
  const words = text.trim().toLowerCase();
  if (words === "never" || words === "0") return 0;
  const [, count = "", unit = ""] = /^(\d{1,9}) *(s|m|min|h|d|seconds?|minutes?|hours?|days?)$/.exec(words) ?? [];
  const [, size] = longUnits.find(([name]) => name.startsWith(unit.charAt(0))) ?? ["second", 1];
  return count ? Number(count) * size : undefined;
}

const week = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

/** Days in the order of the week; other names as they are. */
export const inOrder = (names: readonly string[]): readonly string[] =>
  names.every((name) => week.includes(name)) ? week.filter((day) => names.includes(day)) : names;

export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString(locale)} ${count === 1 ? noun : plural}`;

/** The largest total of lists that are counted up to a limit. */
const mostCounted = 1_000;

export const totalOf = (count: number): string => (count >= mostCounted ? `${mostCounted} or more` : String(count));

const sizes = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
] as const;

/** A size as people read it: "204.8 kB". */
export function bytesOf(bytes: number): string {
  const [unit, size] = sizes.find(([, each]) => bytes >= each) ?? [];
  if (!unit) return countOf(bytes, "byte");
  return `${(bytes / size).toLocaleString(locale, { maximumFractionDigits: 1 })} ${unit}`;
}

/** The locale of the user's browser for dates; English where it has none, as under a POSIX locale. */
export const locale = navigator.languages.find(isLocale) ?? "en";

function isLocale(name: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(name).length > 0;
  } catch {
    return false;
  }
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
const date = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** Seconds from which people think of a date instead of a distance: "in 12 months" does not say when a license ends. */
const farAway = 45 * 86_400;

/** A time relative to now, or its date if that is far away. */
export function sinceNow(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1_000;
  if (Math.abs(seconds) >= farAway) return date.format(new Date(time));
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit ? relative.format(Math.round(seconds / size!), unit) : "just now";
}

/** The date of a time. */
export const dateOf = (time: string): string => date.format(new Date(time));

export const exactly = (time: string): string => exact.format(new Date(time));

const done: Record<string, string> = {
  AUTHORIZE: "gave access to",
  CREATE: "created",
  DELETE: "deleted",
  DELIVER: "delivered",
  DENY: "denied access to",
  LOGIN: "signed in",
  LOGIN_FAILED: "failed to sign in",
  LOGOUT: "signed out",
  REVOKE: "revoked",
  START: "started",
  STOP: "stopped",
  UPDATE: "changed",
};

/** The subject of a group of notifications: "Workspace Events" says no more than "Workspace". */
export const topicOf = (group: string): string => group.replace(/ events$/i, "");

/** Browsers and tools by what their user agents contain. */
const agents = ["Edg", "Firefox", "Chrome", "Safari", "curl"];

interface KeyData {
  name: string;
  kind: string;
  userAgent: string | null;
}

/** The name of a key: its own one, or for a session that of the program that signed in. */
export function keyNameOf({ name, kind, userAgent }: KeyData): string {
  if (name) return name;
  if (kind === "OAUTH") return "Application";
  if (kind !== "SESSION" || !userAgent) return wordsOf(kind);
  return agents.find((each) => userAgent.includes(each)) ?? userAgent.slice(0, 24);
}

/** The past tense of an action of the audit log. */
export const doneOf = (action: string): string => done[action] ?? wordsOf(action).toLowerCase();

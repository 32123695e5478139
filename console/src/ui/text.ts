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

interface Named {
  name: string;
  displayName?: string | null;
}

export const titleOf = ({ name, displayName }: Named): string => displayName || name;

/** An amount in millionths, as people read it. */
export const amountOf = (micros: number): string =>
  (micros / 1_000_000).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

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

export const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** The largest total of lists that are counted up to a limit. */
const mostCounted = 1_000;

export const totalOf = (count: number): string => (count >= mostCounted ? `${mostCounted} or more` : String(count));

export const bytesOf = (bytes: number): string =>
  new Intl.NumberFormat("en", { notation: "compact", style: "unit", unit: "byte", unitDisplay: "narrow" }).format(
    bytes,
  );

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

export function sinceNow(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1_000;
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit ? relative.format(Math.round(seconds / size!), unit) : "just now";
}

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

/** The past tense of an action of the audit log. */
export const doneOf = (action: string): string => done[action] ?? wordsOf(action).toLowerCase();

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { readDatabaseUrl } from "../infrastructure/database/url.js";
import { isScope } from "../domain/authorization/authorization.js";
import { folded } from "../domain/kernel/folding.js";
import { truthOf } from "../domain/kernel/text.js";
import { isLocal, wildcardOf, wildcardRule } from "../domain/workspace-proxies/sites.js";
import { type DailySchedule, scheduleOf, scheduleProblem } from "../domain/quiet-hours/daily-schedule.js";

/** Format of a setting's text. `read` returns the parsed value, or `undefined` if the text is invalid. */
export interface Rule<Value> {
  read(text: string): Value | undefined;
  /** Description of valid values, as in "must be <rule>". */
  rule: string;
  /** Lists the faults of an invalid text, for structured settings. Each completes a sentence after the name. */
  faults?(text: string): string[];
}

/** A network: its address and the length of its prefix. */
export type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

export const text: Rule<string> = { read: (given) => given, rule: "text" };

export const matching = (pattern: RegExp, rule: string): Rule<string> => ({
  read: (given) => (pattern.test(given) ? given : undefined),
  rule,
});

/** Text validated by one of the domain's `…Problem` functions. */
export const formed = (problem: (given: string) => string | undefined, rule: string): Rule<string> => ({
  read: (given) => (problem(given) === undefined ? given : undefined),
  rule,
});

export const wholeNumber = (least: number, most: number): Rule<number> => ({
  read: (given) =>
    /^\d{1,15}$/.test(given) && Number(given) >= least && Number(given) <= most ? Number(given) : undefined,
  rule: `a whole number from ${least} to ${most}`,
});

export const oneOf = <const Word extends string>(...words: Word[]): Rule<Word> => ({
  read: (given) => words.find((word) => word === given.toLowerCase()),
  rule: `one of ${words.join(", ")}`,
});

export const yesOrNo: Rule<boolean> = { read: truthOf, rule: "true or false" };

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `30s`; returns milliseconds. */
function milliseconds(given: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,15})(ms|[smhd])$/.exec(given) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 0);
}

/** A duration between two others, in milliseconds. */
export const duration = (least: string, most: string): Rule<number> => ({
  read: (given) => {
    const span = milliseconds(given) ?? -1;
    return span >= (milliseconds(least) ?? 0) && span <= (milliseconds(most) ?? 0) ? span : undefined;
  },
  rule: `a duration from ${least} to ${most}, in ms, s, m, h or d`,
});

/** A retention period in milliseconds; 0 means unlimited. */
export const retention: Rule<number> = {
  read: (given) => (given === "0" ? 0 : duration("1m", "36500d").read(given)),
  rule: "0 for no limit, or a duration from 1m to 36500d, in ms, s, m, h or d",
};

/** A daily schedule: a time of day in a time zone. */
export const dailySchedule: Rule<DailySchedule> = {
  read: (given) => (scheduleProblem(given) === undefined ? scheduleOf(given) : undefined),
  rule: "a cron expression with minute, hour, and an IANA time zone, such as CRON_TZ=Europe/Berlin 30 2 * * *",
};

/** Scopes, separated by spaces. */
export const scopes: Rule<string[]> = {
  read: (given) => {
    const names = given.split(" ").filter(Boolean);
    return names.every(isScope) ? names : undefined;
  },
  rule: "scopes separated by spaces, such as user:read workspace:*",
};

/** An origin: scheme, host, and port. */
export const origin: Rule<string> = {
  read: (given) => {
    const url = URL.parse(given);
    const isBare = url && url.username === "" && url.password === "" && url.pathname === "/" && !/[?#\s\\]/.test(given);
    return isBare && /^https?:\/\//i.test(given) ? url.origin : undefined;
  },
  rule: "an http or https URL without a path",
};

/** A wildcard hostname. Private suffixes of the public suffix list are accepted, since the operator may own one. */
export const wildcardHost: Rule<string> = {
  read: (given) => wildcardOf(given, { allowPrivateDomains: false }),
  rule: wildcardRule,
};

/** URL of a service that receives secrets: https, or http on the same machine. */
export const trustedUrl: Rule<string> = {
  read: (given) => {
    const url = URL.parse(given);
    const isSafe = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLocal(url)));
    return isSafe && url.username === "" && url.password === "" && !/[?#\s\\]/.test(given) ? given : undefined;
  },
  rule: "an https URL, or http on the same machine, without a query",
};

/** The contents of a file, given by its path. */
export const file: Rule<string> = {
  read: (given) => {
    try {
      return readFileSync(given, "utf8");
    } catch {
      return undefined;
    }
  },
  rule: "the path of a readable file",
};

/** The domain of email addresses, in lower case. */
export const mailDomain: Rule<string> = {
  read: (given) => (/^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u.test(given) ? folded(given) : undefined),
  rule: "a domain such as example.com",
};

export const databaseUrl: Rule<string> = {
  read: (given) => (readDatabaseUrl(given).url ? given : undefined),
  faults: (given) => readDatabaseUrl(given).faults,
  rule: "a URL that starts with postgres://",
};

export const host: Rule<string> = {
  read: (given) => (isIP(given) || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(given) ? given : undefined),
  rule: "an IP address or hostname",
};

export const cidr: Rule<Cidr> = {
  read: (given) => {
    const network = given.includes("/") ? given : `${given}/${isIP(given) === 6 ? 128 : 32}`;
    const address = network.slice(0, network.indexOf("/"));
    return isIP(address) && ipaddr.isValidCIDR(network) ? ipaddr.parseCIDR(network) : undefined;
  },
  rule: "an IP address or network such as 10.0.0.0/8",
};

/** A comma-separated list; white space around the items is ignored. */
export const list = <Value>(each: Rule<Value>): Rule<Value[]> => ({
  read: (given) => {
    const values = given === "" ? [] : given.split(",").map((part) => each.read(part.trim()));
    return values.includes(undefined) ? undefined : (values as Value[]);
  },
  rule: `a comma-separated list, each item ${each.rule}`,
});

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import * as z from "zod/mini";
import type { Cidr } from "../runtime/config.js";
import { readDatabaseUrl } from "../infrastructure/database/url.js";
import { isScope } from "../domain/authorization/authorization.js";
import { foldCase, truthOf } from "../runtime/text.js";
import { isPrivateScheme, type RedirectSchemes } from "../domain/oauth2/redirect-uris.js";
import {
  isTrustedUrl,
  originOf,
  originRule,
  trustedUrlRule,
  wildcardOf,
  wildcardRule,
} from "../domain/workspace-proxies/sites.js";
import { scheduleOf, scheduleProblem } from "../domain/quiet-hours/daily-schedule.js";

/** The schema of a setting, which reads its text. Its description completes "must be". */
export type Rule<Value = unknown> = z.ZodMiniType<Value, string>;

export const descriptionOf = (rule: Rule): string => z.globalRegistry.get(rule)?.description ?? "";

const describe = <Value>(description: string, rule: Rule<Value>): Rule<Value> => rule.check(z.describe(description));

/** Text that a function reads. It returns `undefined` for invalid text. */
export const readBy = <Value>(read: (given: string) => Value | undefined, description: string): Rule<Value> =>
  describe(description, z.transform(read).check(z.refine((value) => value !== undefined)) as Rule<Value>);

/** Text that a function reads, which lists its faults. Each completes a sentence after the name of the setting. */
export const checkedBy = <Value>(
  read: (given: string) => { value: Value; faults: readonly string[] },
  description: string,
): Rule<Value> =>
  describe(
    description,
    z.transform((given: string, { issues }) => {
      const { value, faults } = read(given);
      for (const message of faults) issues.push({ code: "custom", input: given, message });
      return value;
    }),
  );

/** Text validated by one of the domain's `…Problem` functions. */
export const textWithoutProblem = (problem: (given: string) => string | undefined, description: string): Rule<string> =>
  describe(description, z.string().check(z.refine((given) => problem(given) === undefined)));

export const matching = (pattern: RegExp, description: string): Rule<string> =>
  describe(description, z.string().check(z.regex(pattern)));

export const text = describe("text", z.string());

export const oneOf = <const Word extends string>(...words: Word[]): Rule<Word> =>
  describe(`one of ${words.join(", ")}`, z.pipe(z.string().check(z.toLowerCase()), z.enum(words)));

export const yesOrNo = readBy(truthOf, "true or false");

/** A number between two others, which a function reads; NaN for invalid text. */
const numberBetween = (least: number, most: number, read: (given: string) => number): Rule<number> =>
  z.pipe(z.transform(read), z.number().check(z.minimum(least), z.maximum(most)));

export const wholeNumber = (least: number, most: number): Rule<number> =>
  describe(
    `a whole number from ${least} to ${most}`,
    numberBetween(least, most, (given) => (/^\d{1,15}$/.test(given) ? Number(given) : NaN)),
  );

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `30s`; returns milliseconds. */
function milliseconds(given: string): number {
  const [, amount, unit = ""] = /^(\d{1,15})(ms|[smhd])$/.exec(given) ?? [];
  return Number(amount) * (units[unit] ?? NaN);
}

/** A duration between two others, in milliseconds. */
export const duration = (least: string, most: string): Rule<number> =>
  describe(
    `a duration from ${least} to ${most}, in ms, s, m, h or d`,
    numberBetween(milliseconds(least), milliseconds(most), milliseconds),
  );

/** A time to wait between two others, in milliseconds; `never` is infinite. */
export const delay = (least: string, most: string): Rule<number> =>
  describe(
    `never, or a duration from ${least} to ${most}, in ms, s, m, h or d`,
    z.union([
      z.pipe(
        z.literal("never"),
        z.transform(() => Infinity),
      ),
      duration(least, most),
    ]),
  );

/** A retention period in milliseconds; 0 means unlimited. */
export const retention = describe(
  "0 for no limit, or a duration from 1m to 36500d, in ms, s, m, h or d",
  z.union([z.pipe(z.literal("0"), z.transform(Number)), duration("1m", "36500d")]),
);

/** A daily schedule: a time of day in a time zone. */
export const dailySchedule = readBy(
  (given) => (scheduleProblem(given) === undefined ? scheduleOf(given) : undefined),
  "a cron expression with minute, hour, and an IANA time zone, such as CRON_TZ=Europe/Berlin 30 2 * * *",
);

/** Scopes, separated by spaces. */
export const scopes = readBy((given) => {
  const names = given.split(" ").filter(Boolean);
  return names.every(isScope) ? names : undefined;
}, "scopes separated by spaces, such as user:read workspace:*");

/** The schemes of applications that redirect URIs may have, beside https and http. */
export const redirectSchemes = readBy<RedirectSchemes>((given) => {
  if (given === "any" || given === "dotted") return given;
  const schemes = given.split(",").map((each) => each.trim().toLowerCase());
  return schemes.every(isPrivateScheme) ? schemes : undefined;
}, "any, dotted, or a comma-separated list of schemes of applications, such as cursor,vscode,com.example.app");

/** An origin: scheme, host, and port. */
export const origin = readBy(originOf, originRule);

/** A wildcard hostname. Private suffixes of the public suffix list are accepted, since the operator may own one. */
export const wildcardHost = readBy((given) => wildcardOf(given, { allowPrivateDomains: false }), wildcardRule);

/** URL of a service that receives secrets: https, or http on the same machine. */
export const trustedUrl = readBy((given) => (isTrustedUrl(given) ? given : undefined), trustedUrlRule);

/** URL of an HTTP proxy, which may contain credentials. */
export const proxyUrl = readBy((given) => {
  const url = URL.parse(given);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || /[?#\s\\]/.test(given)) return undefined;
  return isDecodable(url.username + url.password) ? given : undefined;
}, "an http or https URL without a path, such as http://proxy.example.com:3128");

function isDecodable(component: string): boolean {
  try {
    decodeURIComponent(component);
    return true;
  } catch {
    return false;
  }
}

/** The contents of a file, given by its path. */
export const file = readBy((given) => {
  try {
    return readFileSync(given, "utf8");
  } catch {
    return undefined;
  }
}, "the path of a readable file");

/** The domain of email addresses, in lower case. */
export const mailDomain = readBy(
  (given) => (/^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u.test(given) ? foldCase(given) : undefined),
  "a domain such as example.com",
);

export const databaseUrl = checkedBy(
  (given) => ({ value: given, faults: readDatabaseUrl(given).faults }),
  "a URL that starts with postgres://",
);

export const host = readBy(
  (given) => (isIP(given) || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(given) ? given : undefined),
  "an IP address or hostname",
);

export const cidr: Rule<Cidr> = readBy((given) => {
  const network = given.includes("/") ? given : `${given}/${isIP(given) === 6 ? 128 : 32}`;
  const address = network.slice(0, network.indexOf("/"));
  return isIP(address) && ipaddr.isValidCIDR(network) ? ipaddr.parseCIDR(network) : undefined;
}, "an IP address or network such as 10.0.0.0/8");

/** A comma-separated list; white space around the items is ignored. */
export const list = <Value>(each: Rule<Value>): Rule<Value[]> =>
  describe(
    `a comma-separated list, each item ${descriptionOf(each)}`,
    z.pipe(
      z.transform((given: string) => (given === "" ? [] : given.split(",").map((part) => part.trim()))),
      z.array(each),
    ),
  );

import { readFileSync, statSync } from "node:fs";
import * as z from "zod/mini";
import { descriptionOf } from "./rules.js";
import { type Setting, settings } from "./settings.js";
import { quote } from "../domain/kernel/errors.js";
import { ownKeyFile } from "../infrastructure/key-file.js";
import { isOpenToOthers } from "../infrastructure/file-modes.js";
import {
  type Config,
  ConfigError,
  type DeclaredSetting,
  type Environment,
  type HashCost,
  type UnreadLimits,
} from "../runtime/config.js";
import { withoutEdges } from "../runtime/pasted.js";
import { useZoneFolder } from "../runtime/time-zones/zone-data.js";
import { isLocal } from "../domain/workspace-proxies/sites.js";

type Settings = typeof settings;
type ValueOf<S> = S extends Setting<infer Value> ? Value : never;

/** The values of all settings, except for those whose default depends on other settings. */
type Values = { readonly [Key in Exclude<keyof Settings, keyof Derived>]: ValueOf<Settings[Key]> };

type Derived = Pick<Config, "accessUrl" | "encryptionKeysFile" | "proxyHealthAllowLoopback" | "taskAppAllowLoopback">;

declare module "../runtime/config.js" {
  interface Config extends Values {}
}

const unread: UnreadLimits = {
  timeout: 30_000,
  bytesPerSecond: 64 * 1024,
  perConnection: 16 * 1024 ** 2,
  inTotal: 64 * 1024 ** 2,
};

/** 19 MiB and two passes. */
const hashCost: HashCost = { memory: 19_456, passes: 2 };

const declared: Readonly<Record<string, DeclaredSetting>> = Object.fromEntries(
  Object.entries(settings).map(([key, { name, rule }]: [string, Setting<unknown>]) => [
    key,
    { name, description: descriptionOf(rule), accepts: (text) => z.safeParse(rule, text).success },
  ]),
);

/** Groups of settings: if the first is set, the others are required. */
const together = [
  ["databaseDirectUrl", "databaseUrl"],
  ["databaseReadUrl", "databaseUrl"],
  ["eventsUrl", "databaseUrl"],
  ["oidcIssuerUrl", "oidcClientId", "oidcClientSecret"],
  ["githubClientId", "githubClientSecret"],
  ["smtpHost", "smtpFrom"],
  ["smtpUsername", "smtpPassword"],
] as const;

/** Reads and validates the settings. Throws a `ConfigError` that lists all errors. */
export function readConfig(env: Environment): Config {
  const faults: string[] = [];
  // Before schedules are read, which name time zones.
  useZones(env[settings.zoneinfoDir.name] || undefined, faults);
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, each]) => [key, readSetting(each, env, faults)]),
  ) as { [Key in keyof Settings]: ValueOf<Settings[Key]> };

  for (const [short, long] of [
    ["sessionDuration", "sessionMaxAge"],
    ["apiKeyDefaultLifetime", "apiKeyMaxLifetime"],
    ["dispatchTimeout", "leasePeriod"],
    ["retryBase", "retryMax"],
  ] as const)
    if (values[short] > values[long])
      faults.push(`${settings[short].name} must not be longer than ${settings[long].name}.`);
  for (const [first, ...others] of together)
    if (values[first] !== undefined)
      for (const other of others)
        if (values[other] === undefined)
          faults.push(`${settings[other].name} is required if ${settings[first].name} is set.`);
  if (values.webhookUrl !== undefined && values.webhookSecrets.length === 0)
    faults.push(`${settings.webhookSecrets.name} is required if ${settings.webhookUrl.name} is set.`);
  const ofVariables = new Set([values.oidcIssuerUrl && "oidc", values.githubClientId && "github"]);
  for (const {
    settings: { name },
  } of values.signInProviders ?? [])
    if (ofVariables.has(name)) faults.push(`${settings.signInProviders.name} declares ${name}, as do other variables.`);
  if (faults.length > 0) throw new ConfigError(faults);
  const accessUrl = values.accessUrl ?? local(values.port);
  const isOnOneMachine = isLocal({ hostname: values.host }) || isLocal(new URL(accessUrl));
  return {
    ...values,
    unread,
    hashCost,
    declared,
    accessUrl,
    encryptionKeysFile: values.encryptionKeysFile ?? ownKeyFile(values.dataDir),
    given: new Set(Object.keys(settings).filter((key) => isGiven(settings[key as keyof Settings], env))),
    proxyHealthAllowLoopback: values.proxyHealthAllowLoopback ?? isOnOneMachine,
    taskAppAllowLoopback: values.taskAppAllowLoopback ?? isOnOneMachine,
  };
}

/** Has this process use a folder of time zones as well, if there is one. */
function useZones(folder: string | undefined, faults: string[]): void {
  if (folder === undefined || statSync(folder, { throwIfNoEntry: false })?.isDirectory()) useZoneFolder(folder);
  else faults.push(`${settings.zoneinfoDir.name} must be the path of a folder.`);
}

const isGiven = ({ name, or, secret, file }: Setting<unknown>, env: Environment): boolean =>
  Boolean(env[name] || (or && env[or]) || (secret && !file && env[`${name}_FILE`]));

function readSetting(setting: Setting<unknown>, env: Environment, faults: string[]): unknown {
  const { name, rule, defaultText, or, secret, file, verbatim } = setting;
  const source = env[name] || !or || !env[or] ? name : or;
  const isInFile = secret && !file && env[`${name}_FILE`];
  const given = isInFile ? readSecretFile(name, env, faults) : env[source] || undefined;
  if (file && env[name] && env[file]) faults.push(bothSet(name));
  const value = ((verbatim ? given : withoutEdges(given ?? "")) || undefined) ?? defaultText;
  if (value === undefined) return undefined;
  const violation = `must be ${descriptionOf(rule)}${secret ? "" : `, not ${quote(value)}`}`;
  const { data, error } = z.safeParse(rule, value, { error: () => violation });
  const messages = new Set(error?.issues.map(({ message }) => message));
  faults.push(...[...messages].map((message) => `${source} ${message}.`));
  return data;
}

function readSecretFile(name: string, env: Environment, faults: string[]): string | undefined {
  if (env[name]) faults.push(bothSet(name));
  try {
    return readFileSync(env[`${name}_FILE`] ?? "", "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    faults.push(`${name}_FILE must be the path of a readable file (${(error as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

const bothSet = (name: string) => `${name} and ${name}_FILE are mutually exclusive.`;

const local = (port: number) => `http://localhost:${port}`;

/** Returns the configuration with the actual port, which is known only after listening if the setting is 0. */
export const listeningOn = (port: number, config: Config): Config => ({
  ...config,
  port,
  accessUrl: config.accessUrl === local(config.port) ? local(port) : config.accessUrl,
});

/** Lists environment variables that start with `STEWARD_` but are not settings, most likely typos. */
export function unknownSettings(env: Environment): string[] {
  const known = new Set(
    Object.values(settings).flatMap(({ name, secret }: Setting<unknown>) => (secret ? [name, `${name}_FILE`] : name)),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith("STEWARD_") && !known.has(name))
    .sort();
}

/** Lists the secret files named by settings that other users of the machine can read. */
export const exposedFiles = (env: Environment): Array<{ name: string; path: string }> =>
  Object.values(settings).flatMap(({ name: secretName, secret }: Setting<unknown>) => {
    const name = `${secretName}_FILE`;
    const path = secret && env[name];
    return path && isOpenToOthers(path) ? [{ name, path }] : [];
  });

/** Describes all settings, for `--help`. */
export const settingsManual = (): Array<{ name: string; defaultText: string; rule: string; meaning: string }> =>
  Object.values(settings).map(
    ({ name, or, defaultText, defaultInWords, rule, meaning, secret, file }: Setting<unknown>) => ({
      name: [name, ...(secret && !file ? [`${name}_FILE`] : []), ...(or ? [or] : [])].join(", "),
      defaultText: defaultInWords ?? defaultText ?? "unset",
      rule: descriptionOf(rule),
      meaning,
    }),
  );

import { readFileSync } from "node:fs";
import { type Setting, settings } from "./settings.js";
import { quote } from "../domain/kernel/errors.js";
import { ownKeyFile } from "../domain/outside/key-file.js";
import { isOpenToOthers } from "../domain/outside/file-modes.js";
import { isLocal } from "../domain/workspace-proxies/sites.js";

export type { Cidr } from "./rules.js";

type Settings = typeof settings;
type ValueOf<S> = S extends Setting<infer Value> ? Value : never;

/** Settings whose default follows from other settings. */
interface Derived {
  readonly accessUrl: string;
  readonly encryptionKeysFile: string;
  readonly proxyHealthAllowLoopback: boolean;
}

/** How much clients may leave unread, and for how long. */
export interface UnreadLimits {
  /** Milliseconds in which a client takes what waits for it, besides a second for each `bytesPerSecond`. */
  readonly patience: number;
  readonly bytesPerSecond: number;
  /** Bytes that may wait for one client that is to be sent more. */
  readonly perConnection: number;
  /** Bytes that may wait for all clients together. */
  readonly inTotal: number;
}

/** What is the same in every deployment. */
interface Fixed {
  readonly unread: UnreadLimits;
}

const fixed: Fixed = {
  unread: { patience: 30_000, bytesPerSecond: 64 * 1024, perConnection: 16 * 1024 ** 2, inTotal: 64 * 1024 ** 2 },
};

/** What the server runs with. */
export type Config = { readonly [Key in Exclude<keyof Settings, keyof Derived>]: ValueOf<Settings[Key]> } & Derived &
  Fixed;

/** The environment a process starts with. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the settings, one line per fault. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`The configuration is not valid:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

/** Settings that, where the first is set, need the others. */
const together = [
  ["oidcIssuerUrl", "oidcClientId", "oidcClientSecret"],
  ["githubClientId", "githubClientSecret"],
  ["smtpHost", "smtpFrom"],
  ["smtpUsername", "smtpPassword"],
] as const;

/** Reads the settings. Throws a `ConfigError` with all their faults. */
export function readConfig(env: Environment): Config {
  const faults: string[] = [];
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, each]) => [key, readSetting(each, env, faults)]),
  ) as { [Key in keyof Settings]: ValueOf<Settings[Key]> };

  for (const [short, long] of [
    ["sessionDuration", "sessionMaxAge"],
    ["apiKeyDefaultLifetime", "apiKeyMaxLifetime"],
  ] as const)
    if (values[short] > values[long])
      faults.push(`${settings[short].name} must not be longer than ${settings[long].name}.`);
  for (const [first, ...others] of together)
    if (values[first] !== undefined)
      for (const other of others)
        if (values[other] === undefined)
          faults.push(`${settings[other].name} must be set where ${settings[first].name} is.`);
  if (faults.length > 0) throw new ConfigError(faults);
  const accessUrl = values.accessUrl ?? local(values.port);
  const isOnOneMachine = isLocal({ hostname: values.host }) || isLocal(new URL(accessUrl));
  return {
    ...values,
    ...fixed,
    accessUrl,
    encryptionKeysFile: values.encryptionKeysFile ?? ownKeyFile(values.dataDir),
    proxyHealthAllowLoopback: values.proxyHealthAllowLoopback ?? isOnOneMachine,
  };
}

function readSetting(setting: Setting<unknown>, env: Environment, faults: string[]): unknown {
  const { name, rule, usual, or, secret, file } = setting;
  const source = env[name] || !or || !env[or] ? name : or;
  const isInFile = secret && !file && env[`${name}_FILE`];
  const given = isInFile ? readSecretFile(name, env, faults) : env[source] || undefined;
  if (file && env[name] && env[file]) faults.push(bothSet(name));
  const value = given ?? usual;
  if (value === undefined) return undefined;
  const read = rule.read(value);
  if (read === undefined) faults.push(`${source} must be ${rule.rule}${secret ? "" : `, not ${quote(value)}`}.`);
  return read;
}

function readSecretFile(name: string, env: Environment, faults: string[]): string | undefined {
  if (env[name]) faults.push(bothSet(name));
  try {
    return readFileSync(env[`${name}_FILE`] ?? "", "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    faults.push(`${name}_FILE must name a readable file (${(error as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

const bothSet = (name: string) => `${name} and ${name}_FILE must not both be set.`;

const local = (port: number) => `http://localhost:${port}`;

/** The configuration of a server that listens on `port`: that is known only once it does when 0 was asked for. */
export const listeningOn = (port: number, config: Config): Config => ({
  ...config,
  port,
  accessUrl: config.accessUrl === local(config.port) ? local(port) : config.accessUrl,
});

/** Names that look like settings but are none: a typing error, most likely. */
export function unknownSettings(env: Environment): string[] {
  const known = new Set(
    Object.values(settings).flatMap(({ name, secret }: Setting<unknown>) => (secret ? [name, `${name}_FILE`] : name)),
  );
  return Object.keys(env)
    .filter((name) => name.startsWith("STEWARD_") && !known.has(name))
    .sort();
}

/** Files of secrets, as the settings name them, that other users of this machine can read. */
export const exposedFiles = (env: Environment): Array<{ name: string; path: string }> =>
  Object.values(settings).flatMap(({ name: secretName, secret }: Setting<unknown>) => {
    const name = `${secretName}_FILE`;
    const path = secret && env[name];
    return path && isOpenToOthers(path) ? [{ name, path }] : [];
  });

/** The settings as people read about them, in documentation and on the command line. */
export const settingsManual = (): Array<{ name: string; usual: string; rule: string; meaning: string }> =>
  Object.values(settings).map(({ name, or, usual, usualInWords, rule, meaning, secret, file }: Setting<unknown>) => ({
    name: [name, ...(secret && !file ? [`${name}_FILE`] : []), ...(or ? [or] : [])].join(", "),
    usual: usualInWords ?? usual ?? "unset",
    rule: rule.rule,
    meaning,
  }));

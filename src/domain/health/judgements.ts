// What readings mean. Pure functions: values in, state and sentence out.
import { instantOf } from "../../runtime/clock.js";
import { day, minute, hour, second } from "../../runtime/durations.js";
import type { HealthState } from "./catalog.js";

/** The result of a check. */
export interface Judgement {
  state: HealthState;
  /** The finding, in sentences. */
  finding: string;
}

const ok = (finding: string): Judgement => ({ state: "ok", finding });
const warning = (finding: string): Judgement => ({ state: "warning", finding });
const failure = (finding: string): Judgement => ({ state: "error", finding });

const severity: Record<HealthState, number> = { ok: 0, warning: 1, error: 2 };

/** The more severe of two states. */
export const worse = (a: HealthState, b: HealthState): HealthState => (severity[a] >= severity[b] ? a : b);

/** Joins findings of several parts: the most severe state, with the sentences of the parts that have it. */
function together(parts: readonly Judgement[], none: Judgement): Judgement {
  if (parts.length === 0) return none;
  const state = parts.map((part) => part.state).reduce(worse);
  const told = parts.filter((part) => part.state === state).map(({ finding }) => finding);
  return { state, finding: [...new Set(told)].slice(0, mostTold).join(" ") };
}

/** Maximum number of objects that a finding names. */
const mostTold = 5;

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Names some objects: `a, b, and 3 more`. */
function listNames(names: readonly string[]): string {
  const rest = names.length - mostTold;
  return rest > 0 ? `${names.slice(0, mostTold).join(", ")}, and ${rest} more` : names.join(", ");
}

/** A duration in words: `3 minutes`. */
function inWords(milliseconds: number): string {
  const units = [
    [day, "day"],
    [hour, "hour"],
    [minute, "minute"],
    [second, "second"],
  ] as const;
  const [size, unit] = units.find(([each]) => Math.abs(milliseconds) >= each) ?? [1, "millisecond"];
  return countOf(Math.round(Math.abs(milliseconds) / size), unit);
}

const sizeInWords = (bytes: number): string =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`;

/** A value of each server. */
export interface OfReplica<Value> {
  hostname: string;
  value: Value;
}

/** Milliseconds of the shortest statement. */
export const databaseLatency = (all: ReadonlyArray<OfReplica<number>>): Judgement =>
  together(
    all.map(({ hostname, value }) => {
      const text = `A statement of ${hostname} takes ${Math.round(value)} ms.`;
      return value >= 250 ? failure(text) : value >= 50 ? warning(text) : ok(text);
    }),
    ok("No server has noted it yet."),
  );

/** When the project of Postgres ends its support of each release that this program runs on. */
const endsOfSupport: Record<number, string> = {
  14: "2026-11-12",
  15: "2027-11-11",
  16: "2028-11-09",
  17: "2029-11-08",
  18: "2030-11-14",
};

export function databaseVersion(version: string, at: number): Judgement {
  const text = `The database is Postgres ${version}.`;
  const end = endsOfSupport[Number.parseInt(version, 10)];
  if (end === undefined) return ok(text);
  const left = instantOf(end) - at;
  if (left < 0) return warning(`${text} Its project ended the support of this release on ${end}.`);
  return left < 90 * day ? warning(`${text} Its support ends on ${end}.`) : ok(text);
}

export function databaseSettings(settings: Readonly<Record<string, string>>): Judgement {
  const off = (names: string[]) => names.filter((name) => settings[name] === "off");
  const unsafe = off(["fsync", "full_page_writes"]);
  if (unsafe.length > 0)
    return failure(
      `${unsafe.join(" and ")} ${unsafe.length > 1 ? "are" : "is"} off: a crash may destroy the database.`,
    );
  const untidy = off(["autovacuum", "track_counts"]);
  return untidy.length > 0
    ? warning(`${untidy.join(" and ")} ${untidy.length > 1 ? "are" : "is"} off: tables grow, and searches get slow.`)
    : ok("Postgres keeps what is stored, and cleans up by itself.");
}

export interface SizeReading {
  bytes: number;
  /** The oldest transaction ID in use: at 2.1 billion, Postgres stops. */
  oldestId: number;
  /** The table with the most dead rows, and the numbers of its rows. */
  table: string | null;
  dead: number;
  live: number;
}

export function databaseSize({ bytes, oldestId, table, dead, live }: SizeReading): Judgement {
  const text = `The database has ${sizeInWords(bytes)}.`;
  const ids = `${text} Its oldest transaction ID is ${Math.round(oldestId / 1e6)} million transactions old.`;
  if (oldestId > 1.6e9) return failure(`${ids} At 2,100 million, Postgres stops.`);
  if (oldestId > 1e9) return warning(`${ids} Its cleanup does not keep up.`);
  return dead > 1e6 && dead > live
    ? warning(`${text} The table ${table} has ${dead} dead rows, and ${live} others: its cleanup does not keep up.`)
    : ok(text);
}

export interface PoolReading {
  hostname: string;
  size: number;
  waiting: number;
}

const noReplica = ok("No server has noted it yet.");

export function databasePool(pools: readonly PoolReading[], allowed: number): Judgement {
  if (pools.length === 0) return noReplica;
  const most = pools.reduce((sum, { size }) => sum + size, 0);
  const busy = pools.filter(({ size, waiting }) => waiting > size);
  if (busy.length > 0)
    return failure(
      `Statements wait for connections: ${listNames(busy.map(({ hostname, waiting }) => `${waiting} on ${hostname}`))}.`,
    );
  const text = `The servers may open ${most} connections, and Postgres allows ${allowed}.`;
  return most > allowed ? warning(`${text} Some may be rejected.`) : ok(text);
}

/** Whether each server uses the standby; null without one. */
export function standby(all: ReadonlyArray<OfReplica<boolean | null>>): Judgement {
  const configured = all.filter(({ value }) => value !== null);
  if (configured.length === 0) return ok("No standby is configured.");
  const without = configured.filter(({ value }) => !value).map(({ hostname }) => hostname);
  return without.length > 0
    ? failure(`The standby is not used by ${listNames(without)}: their reads run on the primary.`)
    : ok("The standby serves reads.");
}

export function migrationsDone(reading: { unfinished: string[]; missing: string[]; strayRows: string[] }): Judgement {
  const { unfinished, missing, strayRows } = reading;
  if (missing.length > 0)
    return failure(
      `The database lacks migrations of this version: ${listNames(missing)}. Another version may run on it.`,
    );
  if (unfinished.length > 0) return warning(`These migrations are not complete: ${listNames(unfinished)}.`);
  return strayRows.length > 0
    ? warning(`These tables have no partition for the next month: ${listNames(strayRows)}.`)
    : ok("The schema is complete.");
}

export const encryptionKeys = (missing: readonly string[]): Judgement =>
  missing.length > 0
    ? failure(`Values are encrypted with keys that are not configured: ${listNames(missing)}.`)
    : ok("All keys in use are configured.");

export function eventsConnected(all: ReadonlyArray<OfReplica<boolean>>): Judgement {
  if (all.length === 0) return noReplica;
  const lost = all.filter(({ value }) => !value).map(({ hostname }) => hostname);
  return lost.length > 0
    ? failure(`Not connected: ${listNames(lost)}.`)
    : ok(`${countOf(all.length, "server")} ${all.length === 1 ? "is" : "are"} connected.`);
}

export interface QueueReading {
  /** At most 10,000. */
  length: number;
  /** Milliseconds since the oldest one was due; 0 if none waits. */
  waiting: number;
}

/** Judges a queue by how long the oldest of its rows has waited. `limits` are those of a warning and of an error. */
function queue(reading: QueueReading, noun: string, limits: readonly [warning: number, error: number]): Judgement {
  const { length, waiting } = reading;
  if (length === 0) return ok(`No ${noun} waits.`);
  const text = `${countOf(length, noun)} ${length === 1 ? "waits" : "wait"}, the oldest for ${inWords(waiting)}.`;
  return waiting >= limits[1] ? failure(text) : waiting >= limits[0] ? warning(text) : ok(text);
}

export function notificationQueue(reading: QueueReading, isPaused: boolean): Judgement {
  if (isPaused && reading.length > 0)
    return warning(`An owner has paused the delivery. ${countOf(reading.length, "notification")} wait.`);
  return queue(reading, "notification", [10 * minute, hour]);
}
export const jobQueue = (reading: QueueReading): Judgement => queue(reading, "job", [5 * minute, 20 * minute]);
export const taskInputQueue = (reading: QueueReading): Judgement => queue(reading, "input", [10 * minute, hour]);

export interface TransportReading {
  isConfigured: boolean;
  /** RFC 3339; null if none has arrived yet. */
  deliveredAt: string | null;
  failingSince: string | null;
  lastFailure: string;
}

/** Judges mail or a webhook by what really arrived. */
export function transport(reading: TransportReading, noun: "mail" | "webhook", at: number): Judgement {
  const { isConfigured, deliveredAt, failingSince, lastFailure } = reading;
  if (!isConfigured)
    return ok(noun === "mail" ? "No mail server is set up: people read their inbox." : "No webhook is set up.");
  const last = deliveredAt === null ? "None has arrived yet." : `The last one arrived at ${deliveredAt}.`;
  if (failingSince !== null) {
    const text = `Deliveries have failed since ${failingSince}: ${lastFailure} ${last}`;
    return at - instantOf(failingSince) >= 15 * minute ? failure(text) : warning(text);
  }
  return deliveredAt === null
    ? warning(`It is set up, but nothing has arrived yet. Send a test notification.`)
    : ok(last);
}

export interface DaemonReading {
  name: string;
  version: string;
  isOnline: boolean;
}

export function daemons(all: readonly DaemonReading[], version: string): Judgement {
  const online = all.filter(({ isOnline }) => isOnline);
  const text = `${countOf(online.length, "daemon")} connected.`;
  const others = online.filter((each) => each.version !== version && each.version !== "");
  if (others.length > 0)
    return warning(
      `${text} These have another version than the servers (${version}): ${listNames(others.map((each) => `${each.name} ${each.version}`))}.`,
    );
  if (online.length === 0) return warning("No daemon is connected: nothing can be built.");
  return ok(text);
}

export interface UnmatchedJobs {
  organization: string;
  provisioner: string;
  tags: Readonly<Record<string, string>>;
  count: number;
  /** Milliseconds since the oldest one was created. */
  waiting: number;
}

export const daemonTags = (groups: readonly UnmatchedJobs[]): Judgement =>
  together(
    groups.map(({ organization, provisioner, tags, count, waiting }) => {
      const tagged = Object.entries(tags)
        .filter(([key, value]) => value !== "" && (key !== "scope" || value !== "organization"))
        .map(([key, value]) => `${key}=${value}`);
      const text = `${countOf(count, "job")} of type ${provisioner} ${tagged.length > 0 ? `with ${tagged.join(" ")} ` : ""}in ${organization} ${count === 1 ? "has" : "have"} waited ${inWords(waiting)} without a connected daemon.`;
      return waiting >= 2 * minute ? failure(text) : warning(text);
    }),
    ok("Each job that waits has a daemon that can take it."),
  );

export interface ProxyReading {
  name: string;
  status: "unregistered" | "ok" | "unhealthy" | "unreachable";
  errors: readonly string[];
  warnings: readonly string[];
}

export const workspaceProxies = (all: readonly ProxyReading[]): Judgement =>
  together(
    all.map(({ name, status, errors, warnings }) => {
      if (status === "unregistered") return warning(`${name} has never registered.`);
      if (status !== "ok") return failure(`${name} is ${status}: ${errors.join(" ")}`);
      return warnings.length > 0 ? warning(`${name} warns: ${warnings.join(" ")}`) : ok(`${name} is fine.`);
    }),
    ok("There are no proxies."),
  );

export interface AddressReading {
  url: string;
  /** Why it could not be called; undefined if there was a response. */
  failure?: string;
  /** The deployment that responded; undefined if it is none. */
  deploymentId?: string;
  /** When its certificate ends, in Unix milliseconds. */
  certificateEnds?: number;
  /** Whether other machines reach this server, and whether this URL leads to them. */
  isForOthers: boolean;
  isLocal: boolean;
}

export function accessUrl(reading: AddressReading, deploymentId: string, at: number): Judgement {
  const { url, failure: reason, certificateEnds, isForOthers, isLocal } = reading;
  if (reason !== undefined) return failure(`${url} cannot be reached from the server: ${reason}`);
  if (reading.deploymentId !== deploymentId) return failure(`${url} does not lead to this deployment.`);
  if (certificateEnds !== undefined && certificateEnds - at < 14 * day) {
    const text = `The certificate of ${url} ends at ${new Date(certificateEnds).toISOString()}.`;
    return certificateEnds - at < day ? failure(text) : warning(text);
  }
  if (isForOthers && isLocal) return warning(`Other machines can reach the server, but links lead to ${url}.`);
  return !isLocal && url.startsWith("http:")
    ? warning(`${url} has no TLS: passwords and tokens can be read on the way.`)
    : ok(`${url} leads to this deployment.`);
}

/** Milliseconds by which each clock is ahead. */
export const clocks = (all: ReadonlyArray<OfReplica<number>>): Judgement =>
  together(
    all.map(({ hostname, value }) => {
      if (Math.abs(value) < 2 * second) return ok("The clocks agree.");
      const text = `The clock of ${hostname} is ${inWords(value)} ${value > 0 ? "ahead" : "behind"}.`;
      return Math.abs(value) >= 30 * second ? failure(text) : warning(text);
    }),
    ok("The clocks agree."),
  );

/** The version of the data of each server, and the zones about which its sources disagree. */
export const timeZones = (all: ReadonlyArray<OfReplica<{ version: string | null; disputed: string[] }>>): Judgement => {
  const disputed = [...new Set(all.flatMap(({ value }) => value.disputed))];
  if (disputed.length > 0) return warning(`The sources disagree about ${listNames(disputed)}, which schedules use.`);
  if (all.length === 0) return noReplica;
  const versions = [...new Set(all.map(({ value }) => value.version ?? "unknown"))];
  return versions.length > 1
    ? warning(`The servers have different versions: ${listNames(versions)}.`)
    : ok(`The servers have version ${versions[0] ?? "unknown"}.`);
};

/** The free and all bytes of the disk of each server; null if they are not known. */
export const disks = (all: ReadonlyArray<OfReplica<{ free: number | null; size: number | null }>>): Judgement =>
  together(
    all.flatMap(({ hostname, value: { free, size } }) => {
      if (free === null || size === null || size === 0) return [];
      const text = `The disk of ${hostname} has ${sizeInWords(free)} of ${sizeInWords(size)} left.`;
      if (free < 2e8 || free / size < 0.02) return [failure(text)];
      return [free < 1e9 || free / size < 0.1 ? warning(text) : ok(text)];
    }),
    ok("It is not known."),
  );

export function replicaVersions(all: ReadonlyArray<OfReplica<string>>): Judgement {
  if (all.length === 0) return noReplica;
  const versions = [...new Set(all.map(({ value }) => value))].toSorted();
  if (versions.length < 2) return ok(`${countOf(all.length, "server")} with version ${versions[0] ?? "unknown"}.`);
  const told = versions.map(
    (version) =>
      `${version} on ${listNames(all.filter(({ value }) => value === version).map(({ hostname }) => hostname))}`,
  );
  return warning(`The servers have different versions: ${told.join("; ")}.`);
}

export function licenses({ errors, warnings }: { errors: readonly string[]; warnings: readonly string[] }): Judgement {
  if (errors.length > 0) return failure(errors.slice(0, mostTold).join(" "));
  return warnings.length > 0 ? warning(warnings.slice(0, mostTold).join(" ")) : ok("Nothing is missing.");
}

export interface EndingKey {
  kind: string;
  name: string;
  endsAt: string;
}

export function endingKeys(keys: readonly EndingKey[], at: number): Judgement {
  if (keys.length === 0) return ok("No key that is in use ends within two weeks.");
  const text = `In use, and ending soon: ${listNames(keys.map(({ kind, name, endsAt }) => `${kind} ${name} at ${endsAt}`))}.`;
  return keys.some(({ endsAt }) => instantOf(endsAt) - at < day) ? failure(text) : warning(text);
}

/** When a backup was last seen, and since when there is something to lose, in Unix milliseconds. */
export function backups(reading: { lastAt: number | null; since: number }, at: number): Judgement {
  const { lastAt, since } = reading;
  if (lastAt === null)
    return at - since < 7 * day ? ok("None has been seen yet; the deployment is new.") : warning("None has been seen.");
  const text = `The last one was seen ${inWords(at - lastAt)} ago.`;
  return at - lastAt >= 7 * day ? warning(text) : ok(text);
}

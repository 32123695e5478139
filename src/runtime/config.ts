import type ipaddr from "ipaddr.js";

/**
 * The validated settings of a server. Durations are in milliseconds. `config/settings.ts` declares the settings and adds
 * their values here.
 */
export interface Config {
  readonly accessUrl: string;
  readonly encryptionKeysFile: string;
  readonly proxyHealthAllowLoopback: boolean;
  readonly taskAppAllowLoopback: boolean;
  /** Limits on data that clients have not read. The same in every deployment, except in tests. */
  readonly unread: UnreadLimits;
  /** The cost of hashing a password: the same in every deployment, except in tests. */
  readonly hashCost: HashCost;
  /** The settings that the environment gives; the others have their defaults. */
  readonly given: ReadonlySet<string>;
  /** How settings are declared, by their names in this object: for values of them that do not come from the environment. */
  readonly declared: Readonly<Record<string, DeclaredSetting>>;
}

export interface DeclaredSetting {
  /** Its environment variable. */
  readonly name: string;
  /** Completes "must be". */
  readonly description: string;
  readonly accepts: (text: string) => boolean;
}

/** Parameters of argon2id (RFC 9106) with one lane. */
export interface HashCost {
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
}

export interface UnreadLimits {
  /** Milliseconds in which a client must read buffered data, plus one second for each `bytesPerSecond` bytes. */
  readonly timeout: number;
  readonly bytesPerSecond: number;
  /** Maximum bytes buffered for a client that has more to receive. */
  readonly perConnection: number;
  /** Maximum bytes buffered for all clients together. */
  readonly inTotal: number;
}

/** A network: its address and the length of its prefix. */
export type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings are invalid. Lists all errors, one per line. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`Invalid configuration:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

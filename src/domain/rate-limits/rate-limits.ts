import ipaddr from "ipaddr.js";
import type { RequestFacts } from "../kernel/request.js";
import type { Actor } from "../kernel/actor.js";
import type { Database } from "../kernel/database.js";
import { rateLimited } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { LocalCounters } from "./local.js";
import { SharedCounters } from "./shared.js";
import type { Policy, Quota } from "./window.js";

/** Seconds. */
const minute = 60;
const hour = 3_600;

export interface RateLimitsOptions {
  config: {
    rateLimitCredential: number;
    rateLimitCredentialIp: number;
    rateLimitApi: number;
    loginFailuresPerHour: number;
  };
  database: Database;
}

/** Who asks, from where. */
interface Asking {
  actor: Actor;
  request: RequestFacts;
}

/** How often somebody may ask. What is counted is noted in the facts of the request, for its answer to tell. */
export class RateLimits {
  readonly #api: Policy;
  readonly #callers: LocalCounters;
  readonly #addresses: Limit;
  readonly #accounts: Limit;
  /** Wrong passwords, by account. */
  readonly failures: Limit;
  /** Requests whose address was counted. */
  readonly #counted = new WeakSet<RequestFacts>();

  constructor({ config, database }: RateLimitsOptions) {
    this.#api = { name: "api", limit: config.rateLimitApi, window: minute };
    this.#callers = new LocalCounters(this.#api);
    const shared = (name: string, limit: number, window: number) => new Limit(database, { name, limit, window });
    this.#addresses = shared("credential-ip", config.rateLimitCredentialIp, minute);
    this.#accounts = shared("credential", config.rateLimitCredential, minute);
    this.failures = shared("login-failures", config.loginFailuresPerHour, hour);
  }

  /** Counts a request by who sent it: the user, else the machine's credential, else the address. */
  countCaller({ actor, request }: Asking): void {
    if (this.#api.limit > 0) enforce(request, this.#callers.take(callerOf(actor, request)));
  }

  /** Counts, once a request, that something of this address is going to try a secret. */
  async countAddress(request: RequestFacts): Promise<void> {
    if (this.#counted.has(request)) return;
    this.#counted.add(request);
    await this.#addresses.take(networkOf(request.ip), request);
  }

  /** Counts a try of the account's secret. It does not count by its caller as well. */
  async countTry(asking: Asking, account: string): Promise<void> {
    const { request } = asking;
    this.#uncountCaller(asking);
    await this.countAddress(request);
    await this.#accounts.take(`${networkOf(request.ip)} ${folded(account)}`, request);
  }

  /** What came over GraphQL was counted before anybody knew what it asks for. */
  #uncountCaller({ actor, request }: Asking): void {
    const counted = request.quotas?.findIndex(({ policy }) => policy === this.#api) ?? -1;
    if (counted < 0) return;
    request.quotas?.splice(counted, 1);
    this.#callers.giveBack(callerOf(actor, request));
  }
}

/** A limit that all replicas share; one of 0 lets everything pass. */
class Limit {
  readonly #counters: SharedCounters;

  constructor(
    database: Database,
    private readonly policy: Policy,
  ) {
    this.#counters = new SharedCounters(database, policy);
  }

  /** Counts a use; throws RATE_LIMITED if there is no room for it. */
  async take(key: string, request?: RequestFacts): Promise<void> {
    if (this.policy.limit > 0) enforce(request, await this.#counters.take(key));
  }

  /** Throws if there is no room for a use. */
  async check(key: string): Promise<void> {
    if (this.policy.limit > 0) enforce(undefined, await this.#counters.look(key));
  }

  /** Throws if there is no room as far as this replica knows, which costs nothing. */
  checkKnown(key: string): void {
    const refusal = this.#counters.recentRefusal(key);
    if (refusal) enforce(undefined, refusal);
  }
}

function enforce(request: RequestFacts | undefined, quota: Quota): void {
  if (request) (request.quotas ??= []).push(quota);
  if (quota.isRefused) throw rateLimited(quota.reset);
}

const callerOf = (actor: Actor, { ip }: RequestFacts) => actor.userId ?? actor.machineId ?? networkOf(ip);

/** An address as limits see it. Whoever has an IPv6 address has all of its network of 64 bits (RFC 6177 §2). */
export function networkOf(ip = ""): string {
  if (!ip.includes(":")) return ip;
  const parts = ipaddr.IPv6.parse(ip).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(":")}::/64`;
}

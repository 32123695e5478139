import ipaddr from "ipaddr.js";
import type { RequestDetails } from "../kernel/request.js";
import { type Actor, idOf } from "../kernel/actor.js";
import type { Database } from "../../infrastructure/database/database.js";
import { rateLimited } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { KeyedTurns } from "../../runtime/concurrency.js";
import { LabeledCounter } from "../../runtime/labeled-counter.js";
import { LocalCounters } from "./local.js";
import { OpenSockets } from "./open-sockets.js";
import { SharedCounters } from "./shared.js";
import type { Policy, Quota } from "./window.js";

declare module "../kernel/request.js" {
  interface RequestDetails {
    /** The rate limits that have counted the request. */
    quotas?: Quota[];
  }
}

/** Seconds. */
const minute = 60;
const hour = 3_600;

const linksPerMinute = 60;
const invitationsPerMinute = 60;
/** Few, since codes have six digits, and are only checked after the right password. */
const wrongCodesPerHour = 10;
/** Maximum number of failed authentications per minute and address. */
const mostRejections = 60;

export interface RateLimitsOptions {
  config: {
    rateLimitCredential: number;
    rateLimitCredentialIp: number;
    rateLimitApi: number;
    scimRateLimit: number;
    loginFailuresPerHour: number;
    oauth2RegistrationsPerHour: number;
    socketsPerUser: number;
  };
  database: Database;
}

/** The caller and request that a use is attributed to. */
interface Source {
  actor: Actor;
  request: RequestDetails;
}

/** Enforces the rate limits. Records the quotas in the request, for the headers of its response. */
export class RateLimits {
  readonly #api: Policy;
  readonly #callers: LocalCounters;
  readonly #provisioning: Policy;
  readonly #provisioners: LocalCounters;
  /** Rejected uses, by the name of the limit. */
  readonly rejections = new LabeledCounter("limit");
  /** Open sockets and streams, by user. */
  readonly sockets: OpenSockets;
  /** Failed authentication, by address. */
  readonly #rejected = new LocalCounters({ name: "rejections", limit: mostRejections, window: minute });
  readonly #addresses: Limit;
  readonly #accounts: Limit;
  readonly #registrations: Limit;
  /** Failed logins, by account. */
  readonly failures: Limit;
  /** Wrong one-time codes, by user. */
  readonly oneTimeCodes: Limit;
  /** Wrong user codes of devices, by user. */
  readonly userCodes: Limit;
  /** Test notifications, by user. */
  readonly testNotifications: Limit;
  /** Invitations that are sent, by user. */
  readonly invitations: Limit;
  /** Links of accounts that are started or finished, by user. */
  readonly links: Limit;
  /** Work whose outcome decides whether it is an attempt, by address. */
  readonly #turns: KeyedTurns;
  /** Requests whose address has been counted. */
  readonly #counted = new WeakSet<RequestDetails>();

  constructor({ config, database }: RateLimitsOptions) {
    this.#api = { name: "api", limit: config.rateLimitApi, window: minute };
    this.#callers = new LocalCounters(this.#api);
    this.sockets = new OpenSockets(config.socketsPerUser, () => this.rejections.add("sockets"));
    this.#provisioning = { name: "scim", limit: config.scimRateLimit, window: minute };
    this.#provisioners = new LocalCounters(this.#provisioning);
    const sharedLimit = (name: string, limit: number, window: number) =>
      new Limit(database, { name, limit, window }, this.#enforce);
    this.#addresses = sharedLimit("credential-ip", config.rateLimitCredentialIp, minute);
    this.#accounts = sharedLimit("credential", config.rateLimitCredential, minute);
    this.#turns = new KeyedTurns(config.rateLimitCredential || Infinity);
    this.testNotifications = sharedLimit("test-notifications", 60, minute);
    this.failures = sharedLimit("login-failures", config.loginFailuresPerHour, hour);
    this.oneTimeCodes = sharedLimit("one-time-codes", wrongCodesPerHour, hour);
    this.userCodes = sharedLimit("device-user-codes", 10, 10 * minute);
    this.#registrations = sharedLimit("oauth2-registration", config.oauth2RegistrationsPerHour, hour);
    this.invitations = sharedLimit("invitations", invitationsPerMinute, minute);
    this.links = sharedLimit("external-auth", linksPerMinute, minute);
  }

  /** Counts a request by its caller: the user, else the machine, else the address. */
  countCaller({ actor, request }: Source): void {
    if (actor.kind === "scim_key") {
      if (this.#provisioning.limit > 0) this.#enforce(request, this.#provisioners.take(actor.id));
      return;
    }
    if (this.#api.limit > 0) this.#enforce(request, this.#callers.take(callerOf(actor, request)));
  }

  /**
   * Counts a request by the OAuth2 application that it authenticated, or by its grant. Replaces the count of the request by
   * its caller.
   */
  countClient(source: Source, id: string): void {
    if (this.#api.limit === 0) return;
    this.#uncountCaller(source);
    this.#enforce(source.request, this.#callers.take(id));
  }

  /** Counts a failed authentication by its address, where these are limited. */
  countRejection(request: RequestDetails): void {
    this.#enforce(undefined, this.#rejected.take(networkOf(request.ip)));
  }

  /** Counts an attempt to verify a secret, once per request, by its address. */
  async countAddress(request: RequestDetails): Promise<void> {
    if (this.#counted.has(request)) return;
    this.#counted.add(request);
    await this.#addresses.take(networkOf(request.ip), request);
  }

  /** Counts an attempt to verify the secret of an account. Replaces the count of the request by its caller. */
  async countTry(source: Source, account: string): Promise<void> {
    const { request } = source;
    this.#uncountCaller(source);
    await this.countAddress(request);
    await this.#accounts.take(`${networkOf(request.ip)} ${foldCase(account)}`, request);
  }

  /**
   * Runs work that verifies a secret of an account, and of which only failures are attempts: right secrets are used all the
   * time, and by many people at one address. Throws RATE_LIMITED before the work if this replica knows that the address or
   * the account has no attempt left, and instead of a failure that is one too many. Until it is known how some work ends, as
   * much work as there may be attempts runs for an address at a time, and the rest waits.
   */
  async tryOnce<Result>(
    source: Source,
    account: string,
    work: () => Promise<Result>,
    isAttempt: (error: unknown) => boolean,
  ): Promise<Result> {
    const { request } = source;
    this.#uncountCaller(source);
    const address = networkOf(request.ip);
    const key = `${address} ${foldCase(account)}`;
    return this.#turns.run(address, async () => {
      this.checkAddress(request);
      this.#accounts.checkKnown(key, request);
      try {
        return await work();
      } catch (error) {
        if (!isAttempt(error)) throw error;
        await this.countAddress(request);
        await this.#accounts.take(key, request);
        throw error;
      }
    });
  }

  /** Throws RATE_LIMITED if this replica knows that an address has no attempt left to verify a secret. */
  checkAddress(request: RequestDetails): void {
    this.#addresses.checkKnown(networkOf(request.ip), request);
  }

  /** Counts an application that registers itself, by its address. */
  countRegistration(request: RequestDetails): Promise<void> {
    return this.#registrations.take(networkOf(request.ip), request);
  }

  readonly #enforce: Enforce = (request, quota) => {
    if (request) (request.quotas ??= []).push(quota);
    if (!quota.isRefused) return;
    this.rejections.add(quota.policy.name);
    throw rateLimited(quota.reset);
  };

  /** Reverts `countCaller`: GraphQL requests are counted before their operation is known. */
  #uncountCaller({ actor, request }: Source): void {
    const counted = request.quotas?.findIndex(({ policy }) => policy === this.#api) ?? -1;
    if (counted < 0) return;
    request.quotas?.splice(counted, 1);
    this.#callers.giveBack(callerOf(actor, request));
  }
}

/** A limit that all replicas share; 0 disables it. */
class Limit {
  readonly #counters: SharedCounters;

  constructor(
    database: Database,
    private readonly policy: Policy,
    private readonly enforce: Enforce,
  ) {
    this.#counters = new SharedCounters(database, policy);
  }

  /** Counts a use. Throws RATE_LIMITED if the limit is reached. */
  async take(key: string, request?: RequestDetails): Promise<void> {
    if (this.policy.limit > 0) this.enforce(request, await this.#counters.take(key));
  }

  /** Throws RATE_LIMITED if the limit is reached. Counts nothing. */
  async check(key: string): Promise<void> {
    if (this.policy.limit > 0) this.enforce(undefined, await this.#counters.look(key));
  }

  /** Throws RATE_LIMITED if this replica knows that the limit is reached. Runs no statement. */
  checkKnown(key: string, request?: RequestDetails): void {
    const rejection = this.#counters.recentRejection(key);
    if (rejection) this.enforce(request, rejection);
  }
}

/** Records a quota in the request. Throws RATE_LIMITED if it is used up. */
type Enforce = (request: RequestDetails | undefined, quota: Quota) => void;

const callerOf = (actor: Actor, { ip }: RequestDetails) => idOf(actor) ?? networkOf(ip);

/** The unit of counting of an address: for IPv6 its /64 network, which one site owns (RFC 6177 §2). */
export function networkOf(ip = ""): string {
  if (!ip.includes(":")) return ip;
  const parts = ipaddr.IPv6.parse(ip).parts.slice(0, 4);
  return `${parts.map((part) => part.toString(16)).join(":")}::/64`;
}

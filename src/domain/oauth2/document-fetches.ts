import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { databaseTime } from "../../runtime/clock.js";
import type { Config } from "../../runtime/config.js";
import { boundedPool, SingleFlight } from "../../runtime/concurrency.js";
import { type DomainError, unavailable } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { hour, minute } from "../../runtime/durations.js";
import { addressesOf, type Fetch, mayCall, type OutsideError, outsideFetch } from "../../infrastructure/http.js";
import { mayCallInside } from "../../infrastructure/inside-addresses.js";
import { oauthFailure } from "./oauth-errors.js";

/** A metadata document that was fetched. */
export interface ClientDocument {
  content: Record<string, unknown>;
  /** Milliseconds until it has to be fetched again. */
  freshFor: number;
}

type Configured = Pick<Config, "oauth2CimdAllowPrivate" | "outboundProxy">;

const fetchTimeout = 5_000;
const largest = 10 * 1024;
const shortestFreshness = 5 * minute;
const longestFreshness = 24 * hour;

/** Documents fetched concurrently, and those that may wait. */
const concurrency = 20;
const waiting = 200;

/** Fetches the metadata documents of applications: none for a minute after a failure. One per replica. */
export class DocumentFetches {
  readonly #fetch: Fetch;
  /** The documents that are being fetched and stored, by URL. */
  readonly renewals = new SingleFlight();
  readonly #failures = new LRUCache<string, DomainError>({ max: 1000, ttl: minute });
  readonly #turns = boundedPool(concurrency, waiting, () => unavailable("Too many metadata documents are fetched."));

  constructor(
    config: Configured,
    private readonly log: Logger,
  ) {
    const permits = (address: string) =>
      config.oauth2CimdAllowPrivate ? mayCallInside(address, { allowsLoopback: true, only: [] }) : mayCall(address, []);
    // A name with one address that may not be called is not called at any of its addresses.
    const resolve = async (name: string) => {
      const found = await addressesOf(name);
      return found.every(permits) ? found : [];
    };
    const { outboundProxy: proxy } = config;
    this.#fetch = outsideFetch({ proxy, permits, resolve, timeout: fetchTimeout, bodyLimit: largest });
  }

  /** Fetches a document. Rejects with `invalid_request` if that fails or it is not a JSON object. */
  async fetch(url: string): Promise<ClientDocument> {
    const known = this.#failures.get(url);
    if (known) throw known;
    return this.#turns(() => this.#get(url).catch((failure: DomainError) => this.reject(url, failure)));
  }

  /** Throws the failure, now and for the next minute. */
  reject(url: string, failure: DomainError): never {
    this.#failures.set(url, failure);
    throw failure;
  }

  async #get(url: string): Promise<ClientDocument> {
    const request = this.#fetch(url, { redirect: "error", headers: { Accept: "application/json" } });
    const response = await request.catch((error: OutsideError) => {
      const hint = error.reason === "unreachable" || error.reason === "timeout" ? ` ${unreachableHint}` : "";
      this.log.warn({ url, err: error }, `A client metadata document could not be fetched.${hint}`);
      // The reason could disclose internal names and addresses.
      throw documentFailure(`It could not be fetched.${hint}`);
    });
    if (response.status !== 200) throw documentFailure(`Its server responds with ${response.status}.`);
    return { content: await objectOf(response), freshFor: freshnessOf(response.headers) };
  }
}

/** Advice for operators whose servers have no way out. */
const unreachableHint =
  "If this server cannot reach the internet, its operator can set STEWARD_OUTBOUND_PROXY, or STEWARD_OAUTH2_CIMD to false.";

/** The failure of a request whose client has an unusable document. */
export const documentFailure = (reason: string): DomainError =>
  oauthFailure("invalid_request", `The client metadata document cannot be used. ${reason}`);

async function objectOf(response: Response): Promise<Record<string, unknown>> {
  const type = response.headers.get("content-type") ?? "";
  if (!/^application\/([^\s;]+\+)?json\s*(;|$)/i.test(type)) throw documentFailure("It is not sent as JSON.");
  const value: unknown = await response.json().catch(() => undefined);
  if (isObject(value)) return value;
  throw documentFailure("It is not a JSON object.");
}

/** How long the headers allow a response to be used (RFC 9111 §4.2), within our limits. */
function freshnessOf(headers: Headers): number {
  const control = headers.get("cache-control") ?? "";
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(control)?.[1];
  const age = Number(headers.get("age") ?? 0) || 0;
  const expiry = Date.parse(headers.get("expires") ?? "") - (Date.parse(headers.get("date") ?? "") || databaseTime());
  const isUncacheable = /(?:^|[\s,])no-(?:store|cache)\b/i.test(control);
  const lifetime = isUncacheable ? 0 : maxAge !== undefined ? (Number(maxAge) - age) * 1000 : expiry || 0;
  return Math.min(longestFreshness, Math.max(shortestFreshness, lifetime));
}

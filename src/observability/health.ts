import { hash, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import { hasAllKeys } from "../domain/encryption/encryption-keys.js";
import type { Services } from "../domain/kernel/context.js";
import { localNames } from "../infrastructure/http.js";
import { methodNotAllowed, routeNotFound, TransportError } from "../http/errors.js";
import type { Http, Middleware } from "../http/exchange.js";
import type { ProbeRoute } from "../http/request-log.js";
import { isWithin, loopback } from "../http/request-details.js";
import type { Metrics } from "./metrics.js";

const probeTimeout = 2_000;

/** Lifecycle stage of the server. Requests other than probes are accepted only while it is serving. */
export type Stage = "migrations" | "serving" | "draining";

/** Checks whether this replica can serve requests. Returns the names of the failed checks. */
export type Readiness = () => Promise<string[]>;

/**
 * Creates the readiness check. A replica is ready if the database responds, all encryption keys in use are present, and
 * the server is serving. Logs each change while serving.
 */
export function readiness(services: Services, stage: () => Stage): Readiness {
  let known = "";
  /** Logs a change of the failed checks. */
  const note = (failed: string[]) => {
    if (failed.join() === known) return;
    known = failed.join();
    if (failed.length > 0) services.log.warn({ failed }, "This server is not ready.");
    else services.log.info("This server is ready again.");
  };
  return async () => {
    const isServing = stage() === "serving";
    const work = isServing ? hasAllKeys(services) : sql`select 1`.execute(services.database.db).then(() => true);
    const hasKeys = await withTimeout(work);
    const failed = [...(hasKeys === undefined ? ["database"] : []), ...(hasKeys === false ? ["encryption_keys"] : [])];
    if (isServing) note(failed);
    return isServing ? failed : [...failed, stage()];
  };
}

/** Rejects a request during startup or shutdown with 503, so that the client retries, possibly on another replica. */
export function notServing(): never {
  const headers = { "Retry-After": "1", Connection: "close" };
  throw new TransportError(
    503,
    "The service is temporarily unavailable.",
    "The server is starting or stopping.",
    headers,
  );
}

/** Resolves to the result of `work`, or to undefined if it fails or exceeds the timeout. */
const withTimeout = <Result>(work: Promise<Result>) =>
  new Promise<Result | undefined>((resolve) => {
    const timer = setTimeout(resolve, probeTimeout, undefined);
    work.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer));
  });

/** Headers that proxies add. */
const forwarding = /^(forwarded|via|x-forwarded-.*|x-real-ip)$/;

/** Whether a Host header names the loopback interface, with or without a port. */
function isLoopbackHost(host = ""): boolean {
  const { hostname = "" } = URL.parse(`http://${host}`) ?? {};
  return localNames.test(hostname) || isWithin(hostname.replace(/^\[|\]$/g, ""), loopback);
}

/** Serves `/healthz`, `/readyz`, and `/metrics`, without authentication and rate limits. */
export function health(
  { config, events, health: results, standby }: Services,
  ready: Readiness,
  metrics: Metrics,
): Middleware {
  async function respondReady(http: Http): Promise<void> {
    const failed = await ready();
    if (failed.length > 0) http.status = 503;
    // What this server knows itself needs no check.
    const known = [...(standby?.isGivenUp ? ["standby"] : []), ...(events.isConnected ? [] : ["events"])];
    const degraded = [...new Set([...known, ...results.failing])];
    const state = degraded.length > 0 ? { status: "ok", degraded } : { status: "ok" };
    http.body = failed.length > 0 ? { status: "unavailable", failed } : state;
  }

  async function respondMetrics(http: Http): Promise<void> {
    if (!mayScrape(http)) throw routeNotFound();
    const { registry } = metrics;
    http.set("Content-Type", registry.contentType);
    http.body = await registry.metrics();
  }

  /**
   * Metrics are available from the same machine, from listed networks, and with the bearer token. A proxy on the same
   * machine has a loopback address as well: the request must be addressed to this machine, not to a public name.
   */
  function mayScrape(http: Http): boolean {
    const token = /^bearer +(.*)$/i.exec(http.get("authorization"))?.[1];
    if (config.metricsToken && token !== undefined) return isSame(token, config.metricsToken);
    const { headers, socket } = http.req;
    const isForwarded = Object.keys(headers).some((name) => forwarding.test(name));
    const isLocal = isWithin(socket.remoteAddress ?? "", loopback) && isLoopbackHost(headers.host);
    return (!isForwarded && isLocal) || isWithin(http.state.details.ip ?? "", config.metricsAllow);
  }

  const responses: Record<ProbeRoute, (http: Http) => void | Promise<void>> = {
    "/healthz": (http) => void (http.body = { status: "ok" }),
    "/readyz": respondReady,
    "/metrics": respondMetrics,
  };
  const probes = new Map(Object.entries(responses));
  // All other requests pass here: a router would cost them more than a look at their path.
  return (http, next) => {
    const probe = probes.get(http.path);
    if (!probe) return next();
    http._matchedRoute = http.path;
    if (http.method !== "GET" && http.method !== "HEAD") throw methodNotAllowed("GET", "HEAD");
    return probe(http);
  };
}

const isSame = (a: string, b: string) => timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

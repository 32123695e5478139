import { hash, timingSafeEqual } from "node:crypto";
import type Koa from "koa";
import { statement } from "./domain/kernel/database.js";
import { hasAllKeys } from "./domain/encryption/keys.js";
import type { Services } from "./domain/kernel/context.js";
import { json, methodNotAllowed, TransportError } from "./http/answers.js";
import { send, type Http, type State } from "./http/exchange.js";
import { isWithin, loopback } from "./http/facts.js";
import type { Metrics } from "./metrics.js";

const probe = statement("select 1");
const probeTimeout = 2_000;

/** Where a server is in its life. Only one that serves takes more than probes. */
export type Stage = "migrations" | "serving" | "draining";

/** Whether the replica should get requests: what of it fails. */
export type Readiness = () => Promise<string[]>;

/** Ready when the database responds, this server can decrypt what is in it, and it serves. Logs each change. */
export function readiness(services: Services, stage: () => Stage): Readiness {
  let known = "";
  /** The starting and the draining server log what they do themselves. */
  const note = (failed: string[]) => {
    if (failed.join() === known) return;
    known = failed.join();
    if (failed.length > 0) services.log.warn({ failed }, "This server is not ready.");
    else services.log.info("This server is ready again.");
  };
  return async () => {
    const isServing = stage() === "serving";
    const work = isServing ? hasAllKeys(services) : services.database.query(probe, []).then(() => true);
    const hasKeys = await withTimeout(work);
    const failed = [...(hasKeys === undefined ? ["database"] : []), ...(hasKeys === false ? ["encryption_keys"] : [])];
    if (isServing) note(failed);
    return isServing ? failed : [...failed, stage()];
  };
}

/** Refuses what comes before the server serves or after: another replica, or this one in a moment, will take it. */
export function notServing(): never {
  const headers = { "Retry-After": "1", Connection: "close" };
  throw new TransportError(503, "The service is temporarily unavailable.", "The server starts or stops.", headers);
}

/** What the work gives; nothing if it fails or takes too long. */
const withTimeout = <Result>(work: Promise<Result>) =>
  new Promise<Result | undefined>((resolve) => {
    const timer = setTimeout(resolve, probeTimeout, undefined);
    work.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer));
  });

/** `/healthz`, `/readyz` and `/metrics`: no credential, no rate limit. */
export function health({ config }: Services, ready: Readiness, metrics: Metrics): Koa.Middleware<State> {
  const answers: Record<string, (http: Http) => Promise<void> | void> = {
    "/healthz": (http) => say(http, 200, { status: "ok" }),
    "/readyz": async (http) => {
      const failed = await ready();
      if (failed.length === 0) say(http, 200, { status: "ok" });
      else say(http, 503, { status: "unavailable", failed });
    },
    "/metrics": async (http) => {
      if (!mayScrape(http)) throw new TransportError(404, "Route not found.");
      const body = await metrics.registry.metrics();
      send(http, { status: 200, headers: { "Content-Type": metrics.registry.contentType }, body });
    },
  };

  /** Peers on this machine, listed networks, and holders of the token. */
  function mayScrape(http: Http): boolean {
    const token = /^bearer +(.*)$/i.exec(http.get("authorization"))?.[1];
    if (config.metricsToken && token !== undefined) return isSame(token, config.metricsToken);
    const forwarded = http.get("x-forwarded-for") !== "" || http.get("forwarded") !== "";
    const peer = http.req.socket.remoteAddress ?? "";
    return (!forwarded && isWithin(peer, loopback)) || isWithin(http.state.facts.ip ?? "", config.metricsAllow);
  }

  return (http, next) => {
    const answer = answers[http.path];
    if (!answer) return next();
    if (http.method !== "GET" && http.method !== "HEAD") throw methodNotAllowed("GET", "HEAD");
    return answer(http);
  };
}

const say = (http: Http, status: number, body: object) =>
  send(http, { status, headers: json, body: JSON.stringify(body) });

const isSame = (a: string, b: string) => timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"));

import type { Pool } from "pg";
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { queueLengths } from "../domain/deployment/queue-lengths.js";
import type { Services } from "../domain/kernel/context.js";
import type { RequestDetails } from "../domain/kernel/request.js";
import { LabeledCounter } from "../runtime/labeled-counter.js";
import type { CompletedOperation, CompletedRequest, RequestObserver } from "../http/request-log.js";
import { commit, version } from "../runtime/program-files.js";
import { zoneSources } from "../runtime/time-zones/zone-data.js";

/** Maximum number of names of clients' operations that have counts of their own. */
const mostNames = 200;

/** Prometheus metrics of this replica. Labels never contain user data. */
export class Metrics implements RequestObserver {
  readonly registry = new Registry();
  readonly #requests = requestDurations();
  readonly #operations = new LabeledCounter("operation", "source", "code");
  /** The names of clients' operations that have counts of their own. */
  readonly #names = new Set<string>();

  constructor(
    services: Pick<Services, "database" | "deliveries" | "events" | "health" | "limits" | "signIns" | "standby">,
    unread: { readonly bytes: number },
  ) {
    const { database, deliveries, events, health, limits, signIns, standby } = services;
    collectDefaultMetrics({ register: this.registry });
    const metrics: Array<Metric<never>> = [
      this.#requests,
      exposeCounter("steward_graphql_operations_total", "GraphQL operations on all interfaces.", this.#operations),
      exposeCounter("steward_sign_ins_total", "Attempts to sign in.", signIns),
      exposeCounter("steward_rate_limit_rejections_total", "Uses that a rate limit rejected.", limits.rejections),
      exposeCounter("steward_event_gaps_total", "Times that internal events may have been lost.", events.gaps),
      ...(standby
        ? [
            exposeCounter(
              "steward_standby_reads_total",
              "Reads that a standby may serve, by the server that did.",
              standby.reads,
            ),
          ]
        : []),
      sqlStatements(database),
      connections(database),
      queues(database),
      exposeConnection(events),
      checks(health),
      subscriptions(events),
      unreadBytes(unread),
      undeliveredSecrets(deliveries),
      build(),
    ];
    for (const metric of metrics) this.registry.registerMetric(metric);
  }

  /** Records a request, and the operation that it ran. */
  request({ method, route, status, milliseconds, details }: CompletedRequest): void {
    this.#requests.observe({ method, route, status }, milliseconds / 1000);
    this.operation({ details });
  }

  /** Records the operation of a request or socket, if there is one, with the code of its first error or `OK`. */
  operation({ details }: Pick<CompletedOperation, "details">): void {
    const { operation, errorCodes } = details;
    if (operation) this.#operations.add(this.#nameOf(details), operation.source, errorCodes?.[0] ?? "OK");
  }

  socket(): void {}

  /** The name to count an operation by. Clients choose names: only the first ones of signed-in callers count. */
  #nameOf({ operation, actorId }: RequestDetails): string {
    const { name, source } = operation!;
    if (source === "stored" || this.#names.has(name)) return name;
    if (actorId === undefined || this.#names.size >= mostNames) return "other";
    this.#names.add(name);
    return name;
  }
}

const requestDurations = () =>
  new Histogram({
    name: "steward_http_request_duration_seconds",
    help: "Time from the headers of a request to its response.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers: [],
  });

/** The metric that shows the counts of a counter. */
const exposeCounter = <Label extends string>(name: string, help: string, counter: LabeledCounter<Label>) =>
  new Counter({
    name,
    help,
    labelNames: counter.labels,
    registers: [],
    collect() {
      this.reset();
      for (const { labels, count } of counter) this.inc(labels, count);
    },
  });

const sqlStatements = (database: Services["database"]) =>
  new Counter({
    name: "steward_sql_statements_total",
    help: "Statements sent to Postgres.",
    registers: [],
    collect() {
      this.reset();
      this.inc(database.counts.executed);
    },
  });

const sumOf = (pools: readonly Pool[], count: (pool: Pool) => number) =>
  pools.reduce((total, pool) => total + count(pool), 0);

const connections = ({ pools }: Services["database"]) =>
  new Gauge({
    name: "steward_database_connections",
    help: "Connections to Postgres by state.",
    labelNames: ["state"],
    registers: [],
    collect() {
      this.set(
        { state: "busy" },
        sumOf(pools, (pool) => pool.totalCount - pool.idleCount),
      );
      this.set(
        { state: "idle" },
        sumOf(pools, (pool) => pool.idleCount),
      );
      this.set(
        { state: "awaited" },
        sumOf(pools, (pool) => pool.waitingCount),
      );
    },
  });

const queues = (database: Services["database"]) =>
  new Gauge({
    name: "steward_queue_length",
    help: "Rows of the deployment's queues that are not finished, at most 10000. Absent while the database is.",
    labelNames: ["queue"],
    registers: [],
    async collect() {
      this.reset();
      for (const { queue, length } of await queueLengths(database)) this.set({ queue }, length);
    },
  });

const exposeConnection = (events: Services["events"]) =>
  new Gauge({
    name: "steward_events_connected",
    help: "1 if this replica and the others receive the internal events of each other, 0 if the connection is lost.",
    registers: [],
    collect() {
      this.set(events.isConnected ? 1 : 0);
    },
  });

const states = { ok: 0, warning: 1, error: 2 };

const checks = (health: Services["health"]) =>
  new Gauge({
    name: "steward_health_check",
    help: "State of each check of the deployment's health: 0 ok, 1 warning, 2 error.",
    labelNames: ["code", "muted"],
    registers: [],
    collect() {
      this.reset();
      for (const { code, state, isMuted } of health.current) this.set({ code, muted: String(isMuted) }, states[state]);
    },
  });

const subscriptions = (events: Services["events"]) =>
  new Gauge({
    name: "steward_event_subscriptions",
    help: "Subscriptions of streams and caches to internal events.",
    registers: [],
    collect() {
      this.set(events.subscriptions);
    },
  });

const unreadBytes = (unread: { readonly bytes: number }) =>
  new Gauge({
    name: "steward_unread_bytes",
    help: "Bytes of responses and streams that wait in this process for clients to read.",
    registers: [],
    collect() {
      this.set(unread.bytes);
    },
  });

const undeliveredSecrets = (deliveries: Services["deliveries"]) =>
  new Counter({
    name: "steward_undelivered_secrets_total",
    help: "User secrets that could not be delivered to an agent.",
    registers: [],
    collect() {
      this.reset();
      this.inc(deliveries.undelivered);
    },
  });

/** Always 1: its labels tell the versions. */
function build() {
  const gauge = new Gauge({
    name: "steward_build_info",
    help: "The version and the commit of Steward, the version of Node.js, and of the time zone data.",
    labelNames: ["version", "commit", "node", "tzdata"],
    registers: [],
  });
  gauge.set(
    {
      version,
      commit: commit ?? "unknown",
      node: process.versions.node,
      tzdata: zoneSources()[0].version ?? "unknown",
    },
    1,
  );
  return gauge;
}

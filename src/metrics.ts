import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Services } from "./domain/kernel/context.js";

/** Prometheus metrics of this replica. Labels never contain user data. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = requestDurations();

  constructor(
    { database, deliveries, events }: Pick<Services, "database" | "deliveries" | "events">,
    unread: { readonly bytes: number },
  ) {
    collectDefaultMetrics({ register: this.registry });
    this.registry.registerMetric(this.#requests);
    this.registry.registerMetric(sqlStatements(database));
    this.registry.registerMetric(connections(database));
    this.registry.registerMetric(subscriptions(events));
    this.registry.registerMetric(unreadBytes(unread));
    this.registry.registerMetric(undeliveredSecrets(deliveries));
  }

  /** Records a completed request. `route` is the pattern of the path; the duration is in seconds. */
  observe(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds);
  }
}

const requestDurations = () =>
  new Histogram({
    name: "steward_http_request_duration_seconds",
    help: "Time from the headers of a request to its response.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [],
  });

const sqlStatements = (database: Services["database"]) =>
  new Counter({
    name: "steward_sql_statements_total",
    help: "Statements sent to Postgres.",
    registers: [],
    collect() {
      this.reset();
      this.inc(database.executed);
    },
  });

const connections = ({ pool }: Services["database"]) =>
  new Gauge({
    name: "steward_database_connections",
    help: "Connections to Postgres by state.",
    labelNames: ["state"],
    registers: [],
    collect() {
      this.set({ state: "busy" }, pool.totalCount - pool.idleCount);
      this.set({ state: "idle" }, pool.idleCount);
      this.set({ state: "awaited" }, pool.waitingCount);
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

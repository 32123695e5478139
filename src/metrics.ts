import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Services } from "./context.js";

type Label = "method" | "route" | "status";

/** What operators see of a replica, in Prometheus form. Labels never hold user data. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Histogram<Label>;
  /** By route, method and status: a key made of the three would be built and hashed for each request. */
  readonly #children = new Map<string, Map<string, Map<number, Histogram.Internal<Label>>>>();

  constructor({ database, events }: Pick<Services, "database" | "events">) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: "steward_http_request_duration_seconds",
      help: "Time from the request's headers to its answer.",
      labelNames: ["method", "route", "status"],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    });
    this.registry.registerMetric(sqlStatements(database));
    this.registry.registerMetric(connections(database));
    this.registry.registerMetric(subscriptions(events));
  }

  /** Notes an answered request. `route` is the pattern of the path. */
  answered(method: string, route: string, status: number, seconds: number): void {
    const ofMethods = getOrInsert(this.#children, route, () => new Map());
    const ofStatuses = getOrInsert(ofMethods, method, () => new Map());
    getOrInsert(ofStatuses, status, () => this.#requests.labels({ method, route, status })).observe(seconds);
  }
}

function getOrInsert<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

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
    help: "What streams and caches of this replica wait for.",
    registers: [],
    collect() {
      this.set(events.subscriptions);
    },
  });

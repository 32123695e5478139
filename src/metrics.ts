import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from "prom-client";
import type { Services } from "./domain/kernel/context.js";

/** What operators see of a replica, in Prometheus form. Labels never hold user data. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new RequestDurations();

  constructor({ database, events }: Pick<Services, "database" | "events">, unread: { readonly bytes: number }) {
    collectDefaultMetrics({ register: this.registry });
    this.registry.registerMetric(this.#requests as unknown as Metric);
    this.registry.registerMetric(sqlStatements(database));
    this.registry.registerMetric(connections(database));
    this.registry.registerMetric(subscriptions(events));
    this.registry.registerMetric(unreadBytes(unread));
  }

  /** Notes an answered request. `route` is the pattern of the path. */
  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe(method, route, status, seconds);
  }
}

/** The upper bounds of what is counted together, in seconds. */
const bounds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];

/** How often each of the bounds was the first that is not exceeded, and all of it. */
interface Durations {
  within: number[];
  count: number;
  sum: number;
}

/** A histogram for prom-client, whose own one hashes the labels of each observation: a fortieth of a request. */
class RequestDurations {
  readonly name = "steward_http_request_duration_seconds";
  readonly help = "Time from the request's headers to its answer.";
  readonly type = "histogram";
  readonly aggregator = "sum";
  /** By route, method and status. */
  readonly #known = new Map<string, Map<string, Map<number, Durations>>>();

  observe(method: string, route: string, status: number, seconds: number): void {
    const ofMethods = getOrInsert(this.#known, route, () => new Map());
    const ofStatuses = getOrInsert(ofMethods, method, () => new Map());
    const durations = getOrInsert(ofStatuses, status, () => ({ within: bounds.map(() => 0), count: 0, sum: 0 }));
    const bound = bounds.findIndex((each) => seconds <= each);
    if (bound >= 0) durations.within[bound]!++;
    durations.count++;
    durations.sum += seconds;
  }

  /** Called when it is scraped. */
  get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: [...this.#values()] };
  }

  *#values() {
    for (const [route, methods] of this.#known)
      for (const [method, statuses] of methods)
        for (const [status, { within, count, sum }] of statuses) {
          const labels = { method, route, status };
          let value = 0;
          for (const [index, le] of bounds.entries()) {
            value += within[index]!;
            yield { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value };
          }
          yield { metricName: `${this.name}_bucket`, labels: { le: "+Inf", ...labels }, value: count };
          yield { metricName: `${this.name}_sum`, labels, value: sum };
          yield { metricName: `${this.name}_count`, labels, value: count };
        }
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

const unreadBytes = (unread: { readonly bytes: number }) =>
  new Gauge({
    name: "steward_unread_bytes",
    help: "Bytes of responses and streams that wait in this process for clients to read.",
    registers: [],
    collect() {
      this.set(unread.bytes);
    },
  });

// A replica that receives hints: returns how late those came that arrived since the last request.
import { pino } from "pino";
import { NatsEvents } from "../../src/infrastructure/events/nats-events.js";
import { PostgresEvents } from "../../src/infrastructure/events/postgres-events.js";
import { serve } from "../floors/serve.js";
import { clock, type Received, sentAt, topic } from "./hints.js";

const log = pino({ level: "error" });
const { BENCH_EVENTS_URL, BENCH_DATABASE_URL } = process.env;
const events = BENCH_EVENTS_URL
  ? new NatsEvents({ url: BENCH_EVENTS_URL, log })
  : new PostgresEvents({ connectionString: BENCH_DATABASE_URL!, log });

await events.start("bench");

let delays: number[] = [];
let gaps = 0;
events.subscribeAll(
  topic,
  (id) => delays.push(clock() - sentAt(id)),
  () => gaps++,
);

serve(async () => {
  const sorted = delays.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const received: Received = { count: sorted.length, p50: at(0.5), p99: at(0.99), slowest: at(1), gaps };
  [delays, gaps] = [[], 0];
  return JSON.stringify(received);
});

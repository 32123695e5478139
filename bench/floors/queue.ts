// The common part of the queues of the bench: each request enqueues messages, one per transaction, while a worker
// processes them, and is responded to when all of them are recorded as done.
import { setTimeout as sleep } from "node:timers/promises";
import { readJson, serve } from "./serve.js";

/** Transactions at a time. */
const producers = 16;

/** Rows that a queue takes at a time, and attempts that it makes at a time. */
export const batch = 100;

/** The body of a message. */
export const payload = {
  title: "Backup finished",
  body: "The nightly backup of the build cache took 12 minutes.",
  actions: [
    { label: "View workspace", url: "https://steward.example/workspaces/01900000-0000-7000-8000-000000000000" },
  ],
  labels: { custom_title: "Backup finished" },
  data: {},
  targets: [],
};

export interface QueueUnderTest {
  /** Enqueues a message in a transaction of its own. */
  enqueue: (nr: number) => Promise<unknown>;
  /** The number of messages that are not recorded as done. */
  unrecorded: () => Promise<number>;
}

const counts = { enqueued: 0, processed: 0 };

/** Counts a message that was processed. */
export const process = (): void => void counts.processed++;

/** Serves a queue whose worker is running. */
export function serveQueue({ enqueue, unrecorded }: QueueUnderTest): void {
  serve(async (request) => {
    const { count } = (await readJson(request)) as { count: number };
    const last = counts.enqueued + count;
    const produce = async () => {
      while (counts.enqueued < last) await enqueue(counts.enqueued++);
    };
    await Promise.all(Array.from({ length: producers }, produce));
    while (counts.processed < last) await sleep(1);
    while ((await unrecorded()) > 0) await sleep(5);
    return undefined;
  });
}

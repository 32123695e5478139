// Counts the SQL statements and row locks of requests.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, tracingChannel } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
interface Count {
  /** All statements but those below. */
  statements: number;
  /** Statements that check a credential; they run at most once a second per credential. */
  credentials: number;
}

interface Belonging {
  count: Count;
  isOver: boolean;
}

/** The count to which the statements of the current asynchronous context belong. */
const belonging = new AsyncLocalStorage<Belonging | undefined>();
let running: Count | undefined;

subscribe("http.server.request.start", (message) => {
  const belongs: Belonging | undefined = running && { count: running, isOver: false };
  (message as { response: ServerResponse }).response.once("close", () => {
    if (belongs) belongs.isOver = true;
  });
  belonging.enterWith(belongs);
});

/** The channel on which the program publishes each of its statements. */
const sent = tracingChannel<unknown, { text: string; result?: unknown[] }>("steward.statement");

/** Matches statements that load a credential and what it allows. */
const authenticating = /"k"\."parent_id"|"token_hash" = any\(\$1::bytea\[\]\)/;

sent.start.subscribe((message) => {
  const belongs = belonging.getStore();
  if (!belongs || belongs.isOver) return;
  belongs.count[authenticating.test((message as { text: string }).text) ? "credentials" : "statements"]++;
});

/** Counts the statements sent by `work` and by the requests that it makes. Background work does not count. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Count> {
  const count = (running = { statements: 0, credentials: 0 });
  try {
    await belonging.run({ count, isOver: false }, work);
    return count;
  } finally {
    running = undefined;
  }
}

const locking = /\bfor (no key )?update\b|\bfor (key )?share\b|advisory_xact_lock/;

/** Returns the statements sent during `work` that lock existing rows or take advisory locks, without background work. */
export async function locksOf(work: () => Promise<unknown>): Promise<string[]> {
  const locks: string[] = [];
  const onRows = (message: unknown) => {
    const { text, result = [] } = message as { text: string; result?: unknown[] };
    if (locking.test(text) && !text.includes("skip locked") && result.length > 0) locks.push(text);
  };
  sent.asyncEnd.subscribe(onRows);
  try {
    await work();
    return locks;
  } finally {
    sent.asyncEnd.unsubscribe(onRows);
  }
}

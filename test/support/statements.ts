// Which SQL statements requests take, and which row locks.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, tracingChannel } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import type { App } from "./app.js";

/** The statements sent so far by the work to which the current asynchronous context belongs. */
interface Collecting {
  texts: string[];
  /** Whether statements that load a credential are among them. */
  withCallers: boolean;
  isOver: boolean;
}
const collecting = new AsyncLocalStorage<Collecting | undefined>();
let running: Omit<Collecting, "isOver"> | undefined;

subscribe("http.server.request.start", (message) => {
  const belongs = running && { ...running, isOver: false };
  (message as { response: ServerResponse }).response.once("close", () => {
    if (belongs) belongs.isOver = true;
  });
  collecting.enterWith(belongs);
});

/** The channel on which the program publishes each of its statements. */
const sent = tracingChannel<unknown, { text: string; result?: unknown[] }>("steward.statement");

/** Matches statements that load a credential and what it allows. */
const authenticating = /"k"\."parent_id"|"token_hash" = any\(\$1::bytea\[\]\)/;

sent.start.subscribe((message) => {
  const { text } = message as { text: string };
  const work = collecting.getStore();
  if (work && !work.isOver && (work.withCallers || !authenticating.test(text))) work.texts.push(text);
});

/**
 * Returns the statements sent by `work` and by the requests that it makes, except in the background, and except those
 * that check a credential, which are sent at most once a second per credential.
 */
export const statementsOf = (work: () => Promise<unknown>): Promise<string[]> => collect(work, false);

/** Like `statementsOf`, with those that check a credential. */
export const allStatementsOf = (work: () => Promise<unknown>): Promise<string[]> => collect(work, true);

async function collect(work: () => Promise<unknown>, withCallers: boolean): Promise<string[]> {
  running = { texts: [], withCallers };
  const { texts } = running;
  try {
    await collecting.run({ ...running, isOver: false }, work);
    return texts;
  } finally {
    running = undefined;
  }
}

/** The number of statements that a server has executed, those of background jobs included. */
export const executedBy = ({ services }: App): number => services.database.counts.executed;

const locking = /\bfor (no key )?update\b|\bfor (key )?share\b|advisory_xact_lock/;

/** Queues, and the numbering of audit events. */
const background = /skip locked|steward\.audit_numbers/;

/** Returns the statements sent during `work` that lock existing rows or take advisory locks, without background work. */
export async function locksOf(work: () => Promise<unknown>): Promise<string[]> {
  const locks: string[] = [];
  const onRows = (message: unknown) => {
    const { text, result = [] } = message as { text: string; result?: unknown[] };
    if (locking.test(text) && !background.test(text) && result.length > 0) locks.push(text);
  };
  sent.asyncEnd.subscribe(onRows);
  try {
    await work();
    return locks;
  } finally {
    sent.asyncEnd.unsubscribe(onRows);
  }
}

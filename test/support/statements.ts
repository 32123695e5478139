// Which SQL statements requests take, and which row locks.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, tracingChannel } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import type { App } from "./app.js";

/** A statement, and the rows that it returned, once it has ended. */
interface Sent {
  text: string;
  result?: unknown[];
}

/** The statements sent so far by the work to which the current asynchronous context belongs. */
interface Collecting {
  statements: Sent[];
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
const sent = tracingChannel<unknown, Sent>("steward.statement");

/** Matches statements that load a credential and what it allows. */
const authenticating = /"k"\."parent_id"|"token_hash" = any\(\$1::bytea\[\]\)/;

sent.start.subscribe((message) => {
  const statement = message as Sent;
  const work = collecting.getStore();
  if (!work || work.isOver) return;
  if (work.withCallers || !authenticating.test(statement.text)) work.statements.push(statement);
});

/**
 * Returns the statements sent by `work` and by the requests that it makes, except in the background, and except those
 * that check a credential, which are sent at most once a second per credential.
 */
export const statementsOf = async (work: () => Promise<unknown>): Promise<string[]> =>
  textsOf(await collect(work, { withCallers: false }));

/** Like `statementsOf`, with those that check a credential. */
export const allStatementsOf = async (work: () => Promise<unknown>): Promise<string[]> =>
  textsOf(await collect(work, { withCallers: true }));

const locking = /\bfor (no key )?update\b|\bfor (key )?share\b|advisory_xact_lock/;

/** Like `allStatementsOf`, only those that lock existing rows or take advisory locks. */
export async function locksOf(work: () => Promise<unknown>): Promise<string[]> {
  const statements = await collect(work, { withCallers: true });
  return textsOf(statements.filter(({ text, result = [] }) => locking.test(text) && result.length > 0));
}

const textsOf = (statements: Sent[]): string[] => statements.map(({ text }) => text);

async function collect(
  work: () => Promise<unknown>,
  { withCallers }: Pick<Collecting, "withCallers">,
): Promise<Sent[]> {
  running = { statements: [], withCallers };
  const { statements } = running;
  try {
    await collecting.run({ ...running, isOver: false }, work);
    return statements;
  } finally {
    running = undefined;
  }
}

/** The number of statements that a server has executed, those of background jobs included. */
export const executedBy = ({ services }: App): number => services.database.counts.executed;

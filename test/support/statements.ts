// What requests cost in SQL.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { Database, Transaction } from "../../src/domain/kernel/database.js";
import { Recent } from "../../src/domain/tokens/recent.js";

interface Count {
  /** All but those below. */
  statements: number;
  /** Those that look at a credential, which one request a second does. */
  credentials: number;
}

interface Belonging {
  count: Count;
  as: keyof Count;
  isOver: boolean;
}

/** What the statements that are sent here and now belong to. */
const belonging = new AsyncLocalStorage<Belonging | undefined>();
let running: Count | undefined;

subscribe("http.server.request.start", (message) => {
  const belongs: Belonging | undefined = running && { count: running, as: "statements", isOver: false };
  (message as { response: ServerResponse }).response.once("close", () => {
    if (belongs) belongs.isOver = true;
  });
  belonging.enterWith(belongs);
});

const { read } = Recent.prototype; // oxlint-disable-line typescript/unbound-method -- called with its `this` below
Recent.prototype.read = function (key) {
  const belongs = belonging.getStore();
  return belonging.run(belongs && { ...belongs, as: "credentials" }, () => read.call(this, key));
};

/** Counts into what the statements of a database belong to. */
function watch(database: Database): void {
  let executed = database.executed;
  Object.defineProperty(database, "executed", {
    get: () => executed,
    set(now: number) {
      const belongs = belonging.getStore();
      if (belongs && !belongs.isOver) belongs.count[belongs.as] += now - executed;
      executed = now;
    },
  });
}

const watched = new WeakSet<Database>();

/** How many statements `work` and the requests that it makes send. What the server does by itself does not count. */
export async function statementsOf(database: Database, work: () => Promise<unknown>): Promise<Count> {
  if (!watched.has(database)) watch(database);
  watched.add(database);
  const count = (running = { statements: 0, credentials: 0 });
  try {
    await belonging.run({ count, as: "statements", isOver: false }, work);
    return count;
  } finally {
    running = undefined;
  }
}

const locking = /\bfor (no key )?update\b|\bfor (key )?share\b|advisory_xact_lock/;

/** The statements that the server sends during `work` and that lock rows they find, or take a turn, but for background work. */
export async function locksOf(work: () => Promise<unknown>): Promise<string[]> {
  const locks: string[] = [];
  const restored = [Database.prototype, Transaction.prototype].map((prototype) => {
    const { query } = prototype; // oxlint-disable-line typescript/unbound-method -- called with its `this` below
    prototype.query = async function (this: never, wanted: { text: string }, values: unknown[]) {
      const rows = await query.call(this, wanted, values);
      const isLock = locking.test(wanted.text) && !wanted.text.includes("skip locked");
      if (isLock && rows.length > 0) locks.push(wanted.text);
      return rows;
    } as never;
    return () => (prototype.query = query as never);
  });
  try {
    await work();
    return locks;
  } finally {
    for (const restore of restored) restore();
  }
}

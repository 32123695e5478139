// What requests cost in SQL.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import type { Database } from "../../src/domain/database.js";

interface Count {
  statements: number;
}

/** What the statements that are sent here and now belong to. */
const belonging = new AsyncLocalStorage<{ count: Count; isOver: boolean } | undefined>();
let running: Count | undefined;

subscribe("http.server.request.start", (message) => {
  const belongs = running && { count: running, isOver: false };
  (message as { response: ServerResponse }).response.once("close", () => {
    if (belongs) belongs.isOver = true;
  });
  belonging.enterWith(belongs);
});

/** Counts into what the statements of a database belong to. */
function watch(database: Database): void {
  let executed = database.executed;
  Object.defineProperty(database, "executed", {
    get: () => executed,
    set(now: number) {
      const belongs = belonging.getStore();
      if (belongs && !belongs.isOver) belongs.count.statements += now - executed;
      executed = now;
    },
  });
}

const watched = new WeakSet<Database>();

/** How many statements `work` and the requests that it makes send. What the server does by itself does not count. */
export async function statementsOf(database: Database, work: () => Promise<unknown>): Promise<number> {
  if (!watched.has(database)) watch(database);
  watched.add(database);
  const count = (running = { statements: 0 });
  try {
    await belonging.run({ count, isOver: false }, work);
    return count.statements;
  } finally {
    running = undefined;
  }
}

// A transaction for those requests that need one, of libraries that do not hand a connection to their storage.
import { AsyncLocalStorage } from "node:async_hooks";
import type { PoolClient, QueryResult } from "pg";
import { pool } from "../floors/serve.js";

interface Scope {
  connection?: PoolClient;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs the work of a request. What it stores after `begin` is stored completely or not at all. */
export function inScope<Result>(work: () => Promise<Result>): Promise<Result> {
  const scope: Scope = {};
  return scopes.run(scope, async () => {
    let end = "rollback";
    try {
      const result = await work();
      end = "commit";
      return result;
    } finally {
      await scope.connection?.query(end);
      scope.connection?.release();
    }
  });
}

/** Begins the transaction of the request. */
export async function begin(): Promise<void> {
  const scope = scopes.getStore()!;
  scope.connection = await pool.connect();
  await scope.connection.query("begin");
}

/** Runs a prepared statement. */
export const query = <Row extends object>(name: string, text: string, values: unknown[]): Promise<QueryResult<Row>> =>
  (scopes.getStore()?.connection ?? pool).query<Row>({ name, text, values });

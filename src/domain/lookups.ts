import type { Pool, QueryConfig } from "pg";

interface Wanted {
  query: QueryConfig;
  resolve: (rows: unknown[]) => void;
  reject: (error: Error) => void;
}

/** Lookups that share a connection at most. Each waits for those before it, some 50 microseconds each. */
const most = 8;

/**
 * Sends what is looked up in one turn of the event loop together. Writes are what small statements cost most: each of
 * them wakes a process of Postgres, whose answer wakes this one. Busy servers save most of that; where one request is
 * on its own, it is sent as soon as otherwise.
 */
export class Lookups {
  #wanted: Wanted[] = [];

  constructor(private readonly pool: Pool) {}

  rows(query: QueryConfig): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      if (this.#wanted.length === 0) setImmediate(() => this.#sendAll());
      this.#wanted.push({ query, resolve, reject });
    });
  }

  #sendAll(): void {
    const wanted = this.#wanted;
    this.#wanted = [];
    for (let at = 0; at < wanted.length; at += most) this.#send(wanted.slice(at, at + most));
  }

  #send(batch: readonly Wanted[]): void {
    this.pool.connect((error, client, release) => {
      if (!client) return batch.forEach(({ reject }) => reject(error!));
      const { stream } = client.connection;
      let left = batch.length;
      stream.cork();
      for (const { query, resolve, reject } of batch) {
        client.query(query, (failure: Error | null, result) => {
          if (--left === 0) release();
          if (failure) reject(failure);
          else resolve(result.rows);
        });
      }
      stream.uncork();
    });
  }
}

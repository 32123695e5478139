import type { Availability } from "./availability.js";
import { type CustomTypesConfig, type FieldDef, type Pool, type PoolClient, Query, type QueryConfig } from "pg";

/** The columns of a statement, as Postgres last described them. */
interface Columns {
  fields: readonly FieldDef[];
  parsers: ReadonlyArray<(text: string) => unknown>;
}

interface Wanted {
  query: QueryConfig & { types: CustomTypesConfig };
  resolve: (rows: object[]) => void;
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
  readonly #columns = new Map<string, Columns>();

  constructor(
    private readonly pool: Pool,
    private readonly availability: Availability,
  ) {}

  rows(query: Wanted["query"]): Promise<object[]> {
    return new Promise((resolve, reject) => {
      if (this.#wanted.length === 0) setImmediate(() => this.#sendAll());
      this.#wanted.push({ query, resolve, reject });
    });
  }

  /** Sends a lookup on a connection of the caller's: one with a transaction. */
  rowsOn(client: PoolClient, query: Wanted["query"]): Promise<object[]> {
    return new Promise((resolve, reject) => {
      client.query(new Lookup({ query, resolve, reject }, this.#columns, this.availability, () => {}));
    });
  }

  #sendAll(): void {
    const wanted = this.#wanted;
    this.#wanted = [];
    for (let at = 0; at < wanted.length; at += most) this.#send(wanted.slice(at, at + most));
  }

  #send(batch: readonly Wanted[]): void {
    this.pool.connect((error, client, release) => {
      if (!client) {
        this.availability.failed(error);
        return batch.forEach(({ reject }) => reject(error!));
      }
      const { stream } = client.connection;
      let left = batch.length;
      const onEnd = () => {
        if (--left === 0) release();
      };
      stream.cork();
      for (const wanted of batch) client.query(new Lookup(wanted, this.#columns, this.availability, onEnd));
      stream.uncork();
    });
  }
}

/**
 * A query on its way. It keeps in mind how to read the columns of its statement, which pg works out for each result
 * anew: a twentieth of what a request costs.
 */
class Lookup extends Query {
  #columns: Columns | undefined;
  readonly #found: object[] = [];
  #unreadable: Error | undefined;

  constructor(
    private readonly wanted: Wanted,
    private readonly known: Map<string, Columns>,
    private readonly availability: Availability,
    private readonly onEnd: () => void,
  ) {
    super(wanted.query);
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    const { name = "", types } = this.wanted.query;
    const known = this.known.get(name);
    if (known && isSame(known.fields, fields)) this.#columns = known;
    else {
      const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, "text"));
      this.known.set(name, (this.#columns = { fields, parsers }));
    }
  }

  handleDataRow({ fields: values }: { fields: Array<string | null> }): void {
    try {
      this.#found.push(this.#row(values));
    } catch (error) {
      // Thrown on, it would end the connection's reader and with it the process.
      this.#unreadable = error as Error;
    }
  }

  #row(values: ReadonlyArray<string | null>): object {
    const { fields, parsers } = this.#columns!;
    const row: Record<string, unknown> = {};
    for (let index = 0; index < values.length; index++) {
      const text = values[index]!;
      row[fields[index]!.name] = text === null ? null : parsers[index]!(text);
    }
    return row;
  }

  /** How many rows there were is known. */
  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    if (this.#unreadable) return this.handleError(this.#unreadable);
    this.availability.succeeded();
    this.onEnd();
    this.wanted.resolve(this.#found);
  }

  handleError(error: Error): void {
    this.availability.failed(error);
    this.onEnd();
    this.wanted.reject(error);
  }
}

/** Whether a statement still gives the same columns: a migration may change them under a running server. */
function isSame(known: readonly FieldDef[], fields: readonly FieldDef[]): boolean {
  if (known.length !== fields.length) return false;
  for (let index = 0; index < fields.length; index++) {
    const [a, b] = [known[index]!, fields[index]!];
    if (a.dataTypeID !== b.dataTypeID || a.name !== b.name) return false;
  }
  return true;
}

import type { CustomTypesConfig, FieldDef, QueryConfig } from "pg";

/** A statement as it is sent. */
export type Sent = QueryConfig & { types: CustomTypesConfig };

/** The columns of a statement, from the latest row description. */
interface Columns {
  fields: readonly FieldDef[];
  parsers: ReadonlyArray<(text: string) => unknown>;
}

/** The columns of each prepared statement, by its name. */
export type KnownColumns = Map<string, Columns>;

/**
 * The rows of a result while it is received. Caches the parsers of the columns, which pg's own query looks up for every
 * result: this saves 20 of 60 microseconds for a row of 12 columns.
 */
export class ResultRows {
  readonly found: object[] = [];
  /** Why a row could not be read. Thrown where it happens, it would be uncaught and end the process. */
  unreadable: Error | undefined;
  #columns: Columns | undefined;

  constructor(
    private readonly query: Sent,
    private readonly known: KnownColumns,
  ) {}

  describe(fields: readonly FieldDef[]): void {
    const { name = "", types } = this.query;
    const known = this.known.get(name);
    if (known && isSame(known.fields, fields)) this.#columns = known;
    else {
      const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, "text"));
      this.known.set(name, (this.#columns = { fields, parsers }));
    }
  }

  add(values: ReadonlyArray<string | null>): void {
    try {
      this.found.push(this.#row(values));
    } catch (error) {
      this.unreadable = error as Error;
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
}

/** Whether the columns of a statement are unchanged. A migration may change them while the server runs. */
function isSame(known: readonly FieldDef[], fields: readonly FieldDef[]): boolean {
  if (known.length !== fields.length) return false;
  for (let index = 0; index < fields.length; index++) {
    const [a, b] = [known[index]!, fields[index]!];
    if (a.dataTypeID !== b.dataTypeID || a.name !== b.name) return false;
  }
  return true;
}

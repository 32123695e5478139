import { type Compilable, type CompiledQuery, type RawBuilder, sql } from "kysely";
import type { Db } from "./database.js";

/** Stands for a value in a statement that is compiled before the value is known. */
class Parameter {
  constructor(readonly name: string) {}
}

type Parameters<Values> = { readonly [Name in keyof Values]: RawBuilder<Values[Name]> };

/** The parameter of each name that `build` uses. */
const parameters: object = new Proxy({}, { get: (_, name) => sql`${new Parameter(String(name))}` });

/**
 * Declares a statement that is built and compiled once per process: Kysely takes longer to build a statement than
 * Postgres to read a row. `build` gets parameters instead of values, and so cannot branch on them.
 */
export function prepare<Values extends object, Row>(
  build: (db: Db, values: Parameters<Values>) => Compilable<Row>,
): (db: Db, values: Values) => Promise<Row[]> {
  let compiled: CompiledQuery<Row> | undefined;
  return async (db, values) => {
    compiled ??= build(db, parameters as Parameters<Values>).compile();
    const given = compiled.parameters.map((each) =>
      each instanceof Parameter ? (values as Record<string, unknown>)[each.name] : each,
    );
    return (await db.executeQuery({ ...compiled, parameters: given })).rows as Row[];
  };
}

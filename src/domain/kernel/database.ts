import type { Database, Statement } from "../../infrastructure/database/database.js";

export type { Database, Statement };

/** Declares a statement that is text, in areas that do not use Kysely yet. */
export const statement = <Row = never>(text: string): Statement<Row> => ({ text });

export { statement as lookup, statement as shaped };

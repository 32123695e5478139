import { sql } from "kysely";

/** The time by the clock of the database, at the start of the transaction. */
export const now = sql<string>`now()`;

/** The time by the clock of the database in some milliseconds. */
export const after = (milliseconds: number) => sql<string>`now() + make_interval(secs => ${milliseconds / 1000})`;

import { sql } from "kysely";

/**
 * Folds an email or username for comparison: A to Z become lower case, all other characters stay unchanged. Unicode
 * case folding is unsuitable: the Kelvin sign would match k, and with it the account of another user.
 */
export const folded = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** The same folding in SQL, independent of the locale of the database. Unique indexes use the same expression. */
export const foldedSql = (text: string): string => `lower(${text} collate "C")`;

/** A folded column, as unique indexes have it. */
export const foldedColumn = (column: string) => sql<string>`lower(${sql.ref(column)} collate "C")`;

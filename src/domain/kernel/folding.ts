/**
 * How e-mails and usernames are compared, in JavaScript and in SQL: A to Z in any letter case, all other characters as
 * they are. Unicode folds more, and databases differ in what: the Kelvin sign would become a k, and whoever has an
 * address with one would have the account of another.
 */
export const folded = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** An SQL text, folded. The unique indexes of users have this expression; it does not depend on the database's locale. */
export const foldedSql = (text: string): string => `lower(${text} collate "C")`;

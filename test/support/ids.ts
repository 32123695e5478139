// Ids and random text. Not those of the server, which take the time from the database.
import { randomBytes } from "node:crypto";
import { v7 } from "uuid";

/** Returns a new UUIDv7, which sorts after those of this process. */
export const newId = (): string => v7();

/** Returns a UUIDv7 of a time, in Unix milliseconds. */
export const idOfTime = (msecs: number): string => v7({ msecs });

const alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns random characters of an alphabet. Default: `[0-9A-Za-z]`. */
export const randomText = (length: number, alphabet = alphanumerics): string =>
  Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join("");

/** SQL that makes an id of a row in the first partition of a table that has one for each month. */
export const firstMonthId = "overlay(gen_random_uuid()::text placing '00' from 1 for 2)::uuid";

// Usernames that are made of names at other systems, such as emails.
import { foldCase } from "../../runtime/text.js";
import { longestName } from "../../entities/lengths.js";
import type { Context } from "../kernel/context.js";
import { anyOf, foldedColumn } from "../kernel/queries.js";
import { isValid } from "../kernel/values.js";
import { usernameValue } from "./names.js";

/** Letters whose decomposition has no ASCII letter. */
const letters: Record<string, string> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i" };

/** Returns a text in ASCII, with a hyphen for other characters; "" where nothing is left. */
export function slug(text: string, most: number): string {
  const ascii = text
    .replace(/[ßæœøłđðþı]/giu, (letter) => letters[letter.toLowerCase()] ?? "")
    .normalize("NFKD")
    .replace(/\p{M}/gu, "");
  return trimHyphens(ascii.replace(/[^a-zA-Z0-9]+/g, "-").slice(0, most));
}

const trimHyphens = (text: string) => text.replace(/^-+|-+$/g, "");

/** The username that stands for names at other systems: the local part of the first one that gives a username, else `user`. */
export function usernameFor(...names: readonly string[]): string {
  const bases = names.map((text) => slug(text.split("@", 1)[0]!, longestName));
  return bases.find((base) => isValid(usernameValue, base)) ?? "user";
}

/** Usernames that are tried in order, and after which one with a random suffix is used. */
const tries = 100;

/** `base`, `base-2`, `base-3` …, each at most `most` characters long. */
export const numberNames = (base: string, most: number): string[] =>
  Array.from({ length: tries }, (_, index) => {
    const suffix = index === 0 ? "" : `-${index + 1}`;
    return trimHyphens(base.slice(0, most - suffix.length)) + suffix;
  });

/** The usernames that are tried in order for a base. */
export const usernames = (base: string): string[] => numberNames(base, longestName);

/** Returns the first of these usernames that no user has, except for the user `id`; `undefined` if all are in use. */
export async function firstFree(
  { db }: Pick<Context, "db">,
  names: readonly string[],
  id: string | null = null,
): Promise<string | undefined> {
  const username = foldedColumn("username");
  const taken = await db
    .selectFrom("users")
    .select(username.as("username"))
    .where("deletedAt", "is", null)
    .where("id", "is distinct from", id)
    .where(username, "=", anyOf(names.map(foldCase), "text"))
    .execute();
  const isTaken = new Set(taken.map((user) => user.username));
  return names.find((name) => !isTaken.has(foldCase(name)));
}

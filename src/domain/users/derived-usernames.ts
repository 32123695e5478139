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

/**
 * Returns the first of these names that is free, in any case; `undefined` if all are taken. `taken` selects the folded names
 * that are, among those that it gets.
 */
export async function firstFree(
  names: readonly string[],
  taken: (folded: readonly string[]) => { execute: () => Promise<Array<{ name: string }>> },
): Promise<string | undefined> {
  const found = await taken(names.map(foldCase)).execute();
  const isTaken = new Set(found.map(({ name }) => name));
  return names.find((name) => !isTaken.has(foldCase(name)));
}

/** Returns the first free username of a base; `undefined` if all are in use, by others than the user `id`. */
export const firstFreeUsername = ({ db }: Pick<Context, "db">, base: string, id: string | null = null) =>
  firstFree(numberNames(base, longestName), (folded) =>
    db
      .selectFrom("users")
      .select(foldedColumn("username").as("name"))
      .where("deletedAt", "is", null)
      .where("id", "is distinct from", id)
      .where(foldedColumn("username"), "=", anyOf(folded, "text")),
  );

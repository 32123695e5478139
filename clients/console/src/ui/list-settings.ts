// How a user wants lists: rows on a page, and columns. The browser keeps it, for all users of the console.
import { signal } from "../api/signal";

/** The numbers of rows that a page can have. */
export const pageSizes = [25, 50, 100] as const;

const sizeKey = "steward.rows";

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // The browser keeps nothing for this site.
  }
}

function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // It holds until the page is left.
  }
}

const kept = Number(read(sizeKey));

/** Rows on a page. */
export const pageSize = signal<number>(pageSizes.find((size) => size === kept) ?? pageSizes[0]);

export function setPageSize(size: number): void {
  pageSize.set(size);
  write(sizeKey, String(size));
}

const columnsKey = (list: string) => `steward.columns ${list}`;

/** The titles of the columns of a list that the user has hidden. Whatever else is stored is ignored. */
export function readHidden(list: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(read(columnsKey(list)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

export const writeHidden = (list: string, titles: readonly string[]): void =>
  write(columnsKey(list), JSON.stringify(titles));

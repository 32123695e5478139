// Files with all that a filter of a log matches.
import { inSentences } from "../api/errors";
import { complain, say } from "../ui/notices";
import { countOf } from "../ui/text";

/** Entries of a file at most; the filter has to be narrower for more. */
const mostEntries = 100_000;
/** Entries that are loaded at a time. */
const pageSize = 1_000;

type Entry = Record<string, unknown>;

interface Page {
  nodes: readonly Entry[];
  pageInfo: { endCursor?: string | null; hasNextPage: boolean };
}

export type Format = "csv" | "jsonl";

const types = { csv: "text/csv", jsonl: "application/jsonl" } as const;

/** A value of a cell: quoted, and never a formula in a spreadsheet. */
export function cellOf(value: unknown): string {
  const text = value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

const lineOf = (entry: Entry, columns: readonly string[], format: Format): string =>
  format === "csv" ? columns.map((column) => cellOf(entry[column])).join(",") : JSON.stringify(entry);

/** Offers a text as a file of the type of comma-separated values. */
export function download(name: string, ...parts: string[]): void {
  save(name, "csv", parts);
}

function save(name: string, format: Format, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: types[format] }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** Takes what is written: a file, or a download. */
interface Target {
  write: (text: string) => Promise<unknown>;
  close: () => Promise<unknown>;
  abort: () => Promise<unknown>;
}

/** Browsers in which pages can write to files that the user chooses. */
interface Writing {
  showSaveFilePicker?: (options: { suggestedName: string }) => Promise<{ createWritable: () => Promise<Target> }>;
}

/** Keeps the text of each page until the end, when it is downloaded. */
function downloadOf(name: string, format: Format): Target {
  const parts: string[] = [];
  return {
    write: async (text) => parts.push(text),
    abort: async () => {},
    close: async () => save(name, format, parts),
  };
}

/** The file that the user chooses, where the browser can write to it; undefined if none is chosen. */
async function targetOf(name: string, format: Format): Promise<Target | undefined> {
  const { showSaveFilePicker: choose } = window as Writing;
  if (!choose) return downloadOf(name, format);
  try {
    const file = await choose.call(window, { suggestedName: name });
    return await file.createWritable();
  } catch (error) {
    if ((error as Error).name === "AbortError") return undefined;
    // The browser or its policy forbids it.
    return downloadOf(name, format);
  }
}

export type Load = (cursors: { first: number; after?: string | null }) => Promise<Page>;

interface Progress {
  /** Aborted when the user cancels. */
  signal: AbortSignal;
  onCount: (count: number) => unknown;
}

/** A number of entries, in words. */
export const entriesOf = (count: number): string => countOf(count, "entry", "entries");

/** Loads page after page, and writes each to a file. What is written stays if a later page cannot be loaded. */
export async function exportAs(name: string, format: Format, load: Load, { signal, onCount }: Progress): Promise<void> {
  const target = await targetOf(`${name}.${format}`, format);
  if (!target) return;
  let count = 0;
  let after: string | null | undefined;
  let hasMore = true;
  let columns: string[] | undefined;
  try {
    while (hasMore && count < mostEntries && !signal.aborted) {
      const { nodes, pageInfo } = await load({ first: pageSize, after });
      if (signal.aborted) break;
      const lines: string[] = [];
      if (!columns && nodes[0]) {
        columns = Object.keys(nodes[0]).filter((column) => column !== "__typename");
        if (format === "csv") lines.push(columns.map(cellOf).join(","));
      }
      for (const node of nodes) lines.push(lineOf(node, columns!, format));
      await target.write(lines.map((line) => `${line}\n`).join(""));
      count += nodes.length;
      onCount(count);
      after = pageInfo.endCursor;
      hasMore = pageInfo.hasNextPage;
    }
    if (signal.aborted) {
      await target.abort();
      return;
    }
    await target.close();
  } catch (error) {
    if (error instanceof DOMException) complain(`The file cannot be written: ${error.message}`);
    else if (count === 0) {
      await target.abort();
      complain(`Nothing is saved. ${inSentences(error)}`);
    } else {
      await target.close();
      complain(`Only the first ${entriesOf(count)} are saved. ${inSentences(error)}`);
    }
    return;
  }
  say(
    hasMore
      ? `The first ${entriesOf(count)} are saved, which is the most. Narrow the filter for the others.`
      : `${entriesOf(count)} ${count === 1 ? "is" : "are"} saved.`,
  );
}

// Files with all that a filter of a log matches.
import { say } from "../ui/notices";

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

/** A value of a cell: quoted, and never a formula in a spreadsheet. */
function cellOf(value: unknown): string {
  const text = value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

const lineOf = (entry: Entry, columns: readonly string[], format: Format): string =>
  format === "csv" ? columns.map((column) => cellOf(entry[column])).join(",") : JSON.stringify(entry);

/** Loads page after page, and saves them as a file. */
export async function exportAs(
  name: string,
  format: Format,
  load: (cursors: { first: number; after?: string | null }) => Promise<Page>,
): Promise<void> {
  const parts: string[] = [];
  let after: string | null | undefined;
  let count = 0;
  let columns: string[] = [];
  for (;;) {
    const { nodes, pageInfo } = await load({ first: pageSize, after });
    if (count === 0 && nodes[0]) {
      columns = Object.keys(nodes[0]).filter((column) => column !== "__typename");
      if (format === "csv") parts.push(columns.map(cellOf).join(","), "\n");
    }
    for (const node of nodes) parts.push(lineOf(node, columns, format), "\n");
    count += nodes.length;
    after = pageInfo.endCursor;
    if (!pageInfo.hasNextPage || count >= mostEntries) break;
  }
  const type = format === "csv" ? "text/csv" : "application/jsonl";
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: `${name}.${format}` });
  link.click();
  URL.revokeObjectURL(url);
  say(count >= mostEntries ? `The first ${mostEntries} entries are saved.` : `${count} entries are saved.`);
}

// Comma-separated values (RFC 4180): a first line with the names of the columns, and a row in each further one.

/** A row: its cells by the names of their columns, and the number of the line where it begins. */
export interface CsvRow {
  line: number;
  cells: Readonly<Record<string, string>>;
  /** Whether it has as many cells as there are columns. */
  isComplete: boolean;
}

export interface Csv {
  columns: string[];
  rows: CsvRow[];
}

/** Why a text is no table of comma-separated values. */
export class CsvFault extends Error {
  override readonly name = "CsvFault";
}

/**
 * Parses a text. Names of columns are folded to lower case; lines without anything in their cells are left out. Programs for
 * tables write such lines below the last row, a byte order mark, and a semicolon or a tab in place of the comma: what the
 * first line has most of separates cells.
 */
export function parseCsv(text: string, mostRows: number): Csv {
  const given = text.replace(/^\ufeff/, "");
  const separator = separatorOf(given.slice(0, given.search(/\r|\n|$/)));
  const lines = linesOf(given, separator, mostRows + 2);
  const [head, ...rest] = lines;
  if (!head) throw new CsvFault("Must have a line with the names of the columns.");
  const columns = head.cells.map((name) => name.trim().toLowerCase());
  const repeated = columns.find((name, at) => columns.indexOf(name) !== at);
  if (repeated !== undefined) throw new CsvFault(`Has the column ${JSON.stringify(repeated.slice(0, 64))} twice.`);
  if (rest.length > mostRows) throw new CsvFault(`Must have at most ${mostRows} rows.`);
  const rows = rest.map(({ line, cells }) => ({
    line,
    cells: Object.fromEntries(columns.map((name, at) => [name, (cells[at] ?? "").trim()])),
    isComplete: cells.length === columns.length,
  }));
  return { columns, rows };
}

function separatorOf(head: string): string {
  const count = (separator: string) => head.split(separator).length;
  return [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
}

interface Line {
  line: number;
  cells: string[];
}

/** Reads up to `most` lines that are not empty. */
function linesOf(text: string, separator: string, most: number): Line[] {
  const found: Line[] = [];
  let at = 0;
  let line = 1;
  while (at < text.length && found.length < most) {
    const begun = line;
    const cells: string[] = [];
    for (let isOpen = true; isOpen;) {
      const cell = text[at] === '"' ? readQuotedCell(text, at, begun) : plain(text, at, separator);
      line += cell.text.split("\n").length - 1;
      cells.push(cell.text);
      at = cell.end;
      isOpen = text[at] === separator;
      if (isOpen) at++;
    }
    if (at < text.length && text[at] !== "\r" && text[at] !== "\n")
      throw new CsvFault(`Line ${begun} has text after a closing quotation mark.`);
    at += text.startsWith("\r\n", at) ? 2 : 1;
    line++;
    if (cells.some((cell) => cell.trim() !== "")) found.push({ line: begun, cells });
  }
  return found;
}

function plain(text: string, start: number, separator: string) {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== "\r" && text[end] !== "\n") end++;
  return { text: text.slice(start, end), end };
}

/** A cell in quotation marks, in which two of them stand for one. */
function readQuotedCell(text: string, start: number, line: number) {
  let cell = "";
  for (let at = start + 1; ;) {
    const mark = text.indexOf('"', at);
    if (mark === -1) throw new CsvFault(`Line ${line} has a quotation mark that is not closed.`);
    cell += text.slice(at, mark);
    if (text[mark + 1] !== '"') return { text: cell, end: mark + 1 };
    cell += '"';
    at = mark + 2;
  }
}

// What commands print: tables, lines, and JSON on standard output; all else on standard error.
import { styleText } from "node:util";
import { UsageError } from "../../src/runtime/command-line.js";
import { jsonOf, onOneLine, stripControls, shownInColor } from "../../src/runtime/terminal.js";

/** A row of a table: the text of each cell. */
type Row = readonly string[];

/** Names of colors, by the statuses that have them. */
const colors: Record<string, "green" | "red" | "yellow"> = {
  ACTIVE: "green",
  RUNNING: "green",
  CONNECTED: "green",
  HEALTHY: "green",
  SUCCEEDED: "green",
  FAILED: "red",
  ERROR: "red",
  CANCELED: "red",
  UNHEALTHY: "red",
  PENDING: "yellow",
  STARTING: "yellow",
  STOPPING: "yellow",
  DELETING: "yellow",
  INITIALIZING: "yellow",
};

export class Output {
  /** Names of the columns that tables have, in this order; undefined for all. */
  columns: readonly string[] | undefined;

  constructor(
    readonly isJson: boolean,
    private readonly stream: NodeJS.WriteStream = process.stdout,
    private readonly notes: NodeJS.WriteStream = process.stderr,
  ) {}

  /** Whether a person reads the result. Otherwise, tables have tabs and no headings, and there are no colors. */
  get isTerminal(): boolean {
    return this.stream.isTTY;
  }

  /** Prints the objects of a list: as JSON, or as a table. */
  list<Item>(items: readonly Item[], columns: Readonly<Record<string, (item: Item) => string>>): void {
    if (this.isJson) return this.json(items);
    const names = this.chooseColumns(Object.keys(columns));
    this.table(
      names,
      items.map((item) => names.map((name) => columns[name]!(item))),
    );
  }

  chooseColumns(known: readonly string[]): readonly string[] {
    if (!this.columns) return known;
    const names = this.columns.map((name) => name.toUpperCase());
    const unknown = names.find((name) => !known.includes(name));
    if (unknown === undefined) return names;
    throw new UsageError(`There is no column ${unknown}. The columns are ${known.join(", ")}.`);
  }

  /** Prints the first page of a list, and says if there is more. */
  page<Item>(
    { nodes, totalCount }: { nodes: readonly Item[]; totalCount: number },
    columns: Readonly<Record<string, (item: Item) => string>>,
  ): void {
    this.list(nodes, columns);
    if (totalCount > nodes.length) this.note("There are more: see --limit.");
  }

  /** Prints an object: as JSON, or as lines of names and values, without those that are empty. */
  object(value: object, fields: ReadonlyArray<readonly [name: string, text: string]>): void {
    if (this.isJson) return this.json(value);
    const filled = fields.filter(([, text]) => text !== "").map((field) => field.map(onOneLine) as [string, string]);
    const width = Math.max(...filled.map(([name]) => name.length)) + 2;
    for (const [name, text] of filled)
      this.#write(this.isTerminal ? `${name.padEnd(width)}${this.#colored(text)}` : `${name}\t${text}`);
  }

  /** Prints a table. */
  table(headings: Row, rows: readonly Row[]): void {
    const cells = rows.map((row) => row.map(onOneLine));
    if (!this.isTerminal) {
      for (const row of cells) this.#write(row.join("\t"));
      return;
    }
    const widths = headings.map((heading, nr) => Math.max(heading.length, ...cells.map((row) => row[nr]!.length)));
    const line = (row: Row, style: (text: string) => string) =>
      row
        .map((text, nr) => style(text) + (nr === row.length - 1 ? "" : " ".repeat(widths[nr]! - text.length + 2)))
        .join("");
    this.#write(line(headings, (text) => styleText("bold", text, { stream: this.stream })));
    for (const row of cells) this.#write(line(row, this.#colored));
  }

  /** Prints the result of an action: as JSON, or as a sentence. */
  done(value: object, sentence: string): void {
    if (this.isJson) this.json(value);
    else this.#write(stripControls(sentence));
  }

  /** Prints an event of a stream: as JSON in one line, or as a text. */
  event(value: object, text: string): void {
    this.#write(this.isJson ? jsonOf(value) : stripControls(text));
  }

  /** Prints a line of output of a program like an event. A terminal shows its colors. */
  output(value: object, line: string): void {
    if (this.isJson || !this.isTerminal || !this.stream.hasColors()) return this.event(value, line);
    this.#write(shownInColor(line));
  }

  /** Prints a text of this program as it is, such as a script. */
  text(value: string): void {
    if (this.isJson) this.json({ text: value });
    else this.#write(value);
  }

  json(value: unknown): void {
    this.#write(jsonOf(value, 2));
  }

  /** Prints what is not the result: progress, and what to do next. */
  note(text: string): void {
    this.notes.write(`${stripControls(text)}\n`);
  }

  #write(line: string): void {
    this.stream.write(`${line}\n`);
  }

  #colored = (text: string): string => {
    const color = colors[text.toUpperCase()];
    return color ? styleText(color, text, { stream: this.stream }) : text;
  };
}

/** `CREATED_AT` → `created at`. */
export const words = (value: string): string => value.toLowerCase().replaceAll("_", " ");

/** A time as people read it: to the second, in UTC. */
export const moment = (time: string | null): string => time?.replace("T", " ").replace(/\.\d+/, "") ?? "";

/** The health of a workspace or a task. */
interface Healthy {
  health: { state: string; reason: string | null; since: string | null; help: string | null };
}

/** The health in a cell: why something is wrong, or what is awaited. */
export const healthText = ({ health }: Healthy): string => health.reason ?? words(health.state);

/** The health in lines, unless nothing is wrong. */
export const healthLines = ({ health }: Healthy): Array<readonly [name: string, text: string]> => [
  ["Health", words(health.state)],
  ["Reason", health.reason ?? ""],
  ["Since", moment(health.since)],
  ["What helps", health.help ?? ""],
];

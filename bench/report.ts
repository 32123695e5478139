import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import type { Interval } from "./statistics.js";

/** One line of the table. */
export interface Row {
  bench: string;
  what: string;
  /** Requests, frames or the like per second. */
  perSecond?: number;
  /** The cost of one of them, or of the whole, with its unit. */
  cost?: string;
  /** The cost compared with a floor or similar: the median of the rounds and its spread. */
  ratio?: string;
  goal?: string;
  verdict?: Verdict;
}

type Verdict = "aim reached" | "met" | "missed" | "undecided";

/** An upper limit that must hold, and the value we aim for. */
export interface Goal {
  limit: number;
  aim: number;
}

/** A mean ratio with its confidence interval. */
export const showInterval = ({ middle, low, high }: Interval): string =>
  `${digits(middle)} × (${digits(low)}–${digits(high)})`;

/** How a value stands against its goal. */
export function judge(value: number, { limit, aim }: Goal, unit: string): Pick<Row, "goal" | "verdict"> {
  const verdict = value <= aim ? "aim reached" : value <= limit ? "met" : "missed";
  return { goal: showGoal({ limit, aim }, unit), verdict };
}

/** How a ratio stands against its goal. There is a verdict only if the whole interval is on one side of it. */
export function judgeInterval({ low, high }: Interval, { limit, aim }: Goal): Pick<Row, "goal" | "verdict"> {
  const verdict = high <= aim ? "aim reached" : high <= limit ? "met" : low > limit ? "missed" : "undecided";
  return { goal: showGoal({ limit, aim }, "×"), verdict };
}

const showGoal = ({ limit, aim }: Goal, unit: string) => `≤ ${limit} ${unit}`.trimEnd() + `, aim ${aim}`;

/** How a value stands against the range it must be in. */
export function judgeWithin(value: number, least: number, most: number): Pick<Row, "goal" | "verdict"> {
  const goal = most === Infinity ? `≥ ${least}` : `${least}–${most}`;
  return { goal, verdict: value >= least && value <= most ? "met" : "missed" };
}

const digits = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(1));

const columns: Array<[title: string, cell: (row: Row) => string | undefined]> = [
  ["Bench", (row) => row.bench],
  ["What", (row) => row.what],
  ["Per second", ({ perSecond }) => perSecond?.toFixed(perSecond < 10 ? 1 : 0)],
  ["Cost", (row) => row.cost],
  ["Ratio", (row) => row.ratio],
  ["Goal", (row) => row.goal],
  ["Verdict", (row) => row.verdict],
];

const linesOf = (rows: readonly Row[]): string[][] => [
  columns.map(([title]) => title),
  ...rows.map((row) => columns.map(([, cell]) => cell(row) ?? "")),
];

/** A table whose columns line up as plain text. */
export function table(rows: readonly Row[]): string {
  const cells = linesOf(rows);
  const widths = columns.map((_, nr) => Math.max(...cells.map((line) => line[nr]!.length)));
  const lines = cells.map((line) => `| ${line.map((text, nr) => text.padEnd(widths[nr]!)).join(" | ")} |`);
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

/** The same table in Markdown, without padding: files stay small, and a new measurement changes only its own lines. */
function markdownTable(rows: readonly Row[]): string {
  const [titles, ...lines] = linesOf(rows).map((line) => `| ${line.join(" | ")} |`);
  return [titles, `|${columns.map(() => "---").join("|")}|`, ...lines].join("\n");
}

export interface Circumstances {
  postgres: string;
  /** How the figures were measured: a paragraph. */
  method: string;
}

/** The commit that was measured, with `-dirty` if files differ from it; `unknown` outside of a repository. */
function commit(): string {
  const words = ["describe", "--always", "--dirty", "--match="];
  const { stdout } = spawnSync("git", words, { cwd: import.meta.dirname, encoding: "utf8" });
  return stdout?.trim() || "unknown";
}

/** The table with the commit, the machine, and the method of the measurement. */
export function markdown(rows: readonly Row[], { postgres, method }: Circumstances): string {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  return `# Bench results

${new Date().toISOString().slice(0, 10)} · commit ${commit()} · ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${memory} · ${type()} ${release()} · Node ${process.versions.node} · Postgres ${postgres}

${markdownTable(rows)}

${method}
`;
}

export async function save(text: string, name: string): Promise<string> {
  const path = new URL(`results/${name}.md`, import.meta.url);
  await mkdir(new URL(".", path), { recursive: true });
  await writeFile(path, text);
  return path.pathname;
}

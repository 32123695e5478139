import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { median } from "./statistics.js";

/** One line of the table. */
export interface Row {
  bench: string;
  what: string;
  /** Requests, frames or the like per second. */
  perSecond?: number;
  /** What one of them, or the whole, costs; with its unit. */
  cost?: string;
  /** What it costs, compared with a floor or the like: the median of the rounds and its spread. */
  ratio?: string;
  goal?: string;
  verdict?: Verdict;
}

type Verdict = "aim reached" | "met" | "missed";

/** An upper limit that must hold, and what we would like. */
export interface Goal {
  limit: number;
  aim: number;
}

/** The median of paired ratios, with the lowest and the highest of them. */
export const showRatios = (ratios: readonly number[]): string =>
  `${digits(median(ratios))} × (${digits(Math.min(...ratios))}–${digits(Math.max(...ratios))})`;

/** How a value stands against its goal. */
export function judge(value: number, { limit, aim }: Goal, unit: string): Pick<Row, "goal" | "verdict"> {
  const verdict = value <= aim ? "aim reached" : value <= limit ? "met" : "missed";
  return { goal: `≤ ${limit} ${unit}`.trimEnd() + `, aim ${aim}`, verdict };
}

/** How a value stands against the range it must be in. */
export function judgeWithin(value: number, least: number, most: number): Pick<Row, "goal" | "verdict"> {
  const goal = most === Infinity ? `≥ ${least}` : `${least}–${most}`;
  return { goal, verdict: value >= least && value <= most ? "met" : "missed" };
}

const digits = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(1));

const columns: Array<[title: string, cell: (row: Row) => string | undefined]> = [
  ["Bench", (row) => row.bench],
  ["What", (row) => row.what],
  ["Per second", (row) => row.perSecond?.toFixed(0)],
  ["Cost", (row) => row.cost],
  ["Ratio (of all rounds)", (row) => row.ratio],
  ["Goal", (row) => row.goal],
  ["Verdict", (row) => row.verdict],
];

/** A Markdown table whose columns also line up as plain text. */
export function table(rows: readonly Row[]): string {
  const cells = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, cell]) => cell(row) ?? ""))];
  const widths = columns.map((_, nr) => Math.max(...cells.map((line) => line[nr]!.length)));
  const lines = cells.map((line) => `| ${line.map((text, nr) => text.padEnd(widths[nr]!)).join(" | ")} |`);
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

export interface Circumstances {
  postgres: string;
  rounds: number;
  /** Seconds of warm-up and of measurement in each round. */
  warmUp: number;
  measure: number;
}

/** The table with the machine and the method it was made with. */
export function markdown(rows: readonly Row[], { postgres, rounds, warmUp, measure }: Circumstances): string {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  return `# Bench results

${new Date().toISOString().slice(0, 10)} · ${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${memory} · ${type()} ${release()} · Node ${process.versions.node} · Postgres ${postgres}

${table(rows)}

Server, load and Postgres share the machine over loopback. Where contestants are put under load, every round starts each
one as a fresh process, warms it up for ${warmUp} s and measures ${measure} s of it in pieces, all of them taking turns, so that what else
goes on in the machine meets all alike, and their median counts; ${rounds} rounds. Costs are the median of these; CPU is
that of the server process. Ratios are of CPU, or of times where these are the costs, paired within a round; the table gives
their median. Contestants of a bench answered alike before it began.
`;
}

export async function save(text: string, name: string): Promise<string> {
  const path = new URL(`results/${name}.md`, import.meta.url);
  await mkdir(new URL(".", path), { recursive: true });
  await writeFile(path, text);
  return path.pathname;
}

import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import type { Run } from "./run.js";
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
  return judgeInterval({ middle: value, low: value, high: value }, { limit, aim }, unit);
}

/** How a ratio stands against its goal. There is a verdict only if the whole interval is on one side of it. */
export function judgeInterval(
  { low, high }: Interval,
  { limit, aim }: Goal,
  unit = "×",
): Required<Pick<Row, "goal" | "verdict">> {
  const verdict = high <= aim ? "aim reached" : high <= limit ? "met" : low > limit ? "missed" : "undecided";
  return { goal: `≤ ${limit} ${unit}, aim ${aim}`, verdict };
}

/** How a value stands against its minimum. */
export const judgeLeast = (value: number, least: number): Pick<Row, "goal" | "verdict"> => ({
  goal: `≥ ${least}`,
  verdict: value >= least ? "met" : "missed",
});

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

/** A table in Markdown, without padding: files stay small, and a new measurement changes only its own lines. */
export function markdown(titles: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const [head, ...body] = [titles, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return [head, `|${titles.map(() => "---").join("|")}|`, ...body].join("\n");
}

export const table = (rows: readonly Row[]): string =>
  markdown(
    columns.map(([title]) => title),
    rows.map((row) => columns.map(([, cell]) => cell(row) ?? "")),
  );

const git = (...words: string[]) => spawnSync("git", words, { cwd: import.meta.dirname, encoding: "utf8" });

/** The commit that is measured, with `-dirty` if files differ from it, other than the results of benches that ran before. */
function commitOfRun(): string {
  const isChanged = git("diff", "--quiet", "HEAD", "--", ":/", ":!results").status === 1;
  const commit = git("rev-parse", "--short=8", "HEAD").stdout?.trim() || "unknown";
  return isChanged ? `${commit}-dirty` : commit;
}

/** The day, the commit, and the machine. */
export function circumstances({ postgresVersion }: Run): string {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  return [
    new Date().toISOString().slice(0, 10),
    `commit ${commitOfRun()}`,
    `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${memory}`,
    `${type()} ${release()}`,
    `Node ${process.versions.node}`,
    `Postgres ${postgresVersion}`,
  ].join(" · ");
}

/** Writes the results of a bench. Resolves to their path. */
export async function save(name: string, rows: readonly Row[], method: string, run: Run): Promise<string> {
  const path = new URL(`results/${name}.md`, import.meta.url);
  await writeFile(path, `# Bench results\n\n${circumstances(run)}\n\n${table(rows)}\n\n${method}\n`);
  return path.pathname;
}

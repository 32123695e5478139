// npm run bench: measures Steward against floors and peers, and prints one table.
import { parseArgs } from "node:util";
import { benches } from "./benches/index.js";
import { openDatabase } from "./postgres.js";
import { type Row, save, table } from "./report.js";
import type { Run } from "./run.js";

const pace = {
  // Code runs at full speed only after some ten thousand requests.
  // A piece of the measurement takes a second: shorter ones show how connections start and caches fill.
  full: { rounds: 3, mostRounds: 12, warmUp: 8_000, measure: 6_000 },
  quick: { rounds: 2, mostRounds: 2, warmUp: 500, measure: 1_000 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    help: { type: "boolean" },
  },
});
const names = benches.map(({ name }) => name);
if (values.help) {
  console.log(`Usage: npm run bench -- [NAME…] [OPTIONS]

Runs the named benches, or all of them: ${names.join(", ")}.
Whole runs are written to bench/results.

Options:
  --quick        measure briefly, for a rough result
  --only TEXT    of benches with many cases, run those whose name contains the text; may be repeated
  --help         show this help`);
  process.exit(0);
}
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. There are: ${names.join(", ")}.`);
  process.exit(1);
}
const { quick: isQuick, only } = values;

const started = performance.now();
const progress = (text: string) =>
  console.error(`${((performance.now() - started) / 1_000).toFixed(0).padStart(5)} s  ${text}`);

progress("a database of its own");
await using database = await openDatabase();
// Postgres runs in a process group of its own: neither a signal nor the end of this process reaches it.
const stop = () => void database[Symbol.asyncDispose]().finally(() => process.exit(1));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
process.on("uncaughtException", (error) => {
  console.error(error);
  stop();
});
const run: Run = {
  ...pace[isQuick ? "quick" : "full"],
  databaseUrl: database.url,
  postgres: database.cpu,
  postgresVersion: database.version,
  folder: database.folder,
  isQuick,
  isWhole: !isQuick && only.length === 0,
  only,
  progress,
};
const rows: Row[] = [];
for (const { name, method, measure } of benches) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const own = await measure(run);
  rows.push(...own);
  if (run.isWhole && method) progress(`written to ${await save(name, own, method(run), run)}`);
}
console.log(`\n${table(rows)}`);

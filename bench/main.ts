// npm run bench [-- names… --quick]: measures Steward against floors and peers and prints one table.
import { parseArgs } from "node:util";
import { benches } from "./benches/index.js";
import { openDatabase } from "./postgres.js";
import { markdown, type Row, save, table } from "./report.js";
import type { Run } from "./run.js";

const pace = {
  // Code runs at its full speed only after some ten thousand requests.
  full: { rounds: 3, warmUp: 8_000, measure: 4_000 },
  quick: { rounds: 2, warmUp: 500, measure: 1_000 },
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { quick: { type: "boolean" } } });
const names = benches.map(({ name }) => name);
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. There are: ${names.join(", ")}.`);
  process.exit(1);
}
const chosen = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const { rounds, warmUp, measure } = values.quick ? pace.quick : pace.full;

const started = performance.now();
const progress = (text: string) =>
  console.error(`${((performance.now() - started) / 1_000).toFixed(0).padStart(5)} s  ${text}`);

progress("a database of its own");
await using database = await openDatabase();
// Postgres has a process group of its own: nobody else would stop it.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => void database[Symbol.asyncDispose]().finally(() => process.exit(1)));
}
const run: Run = { databaseUrl: database.url, folder: database.folder, rounds, warmUp, measure, progress };
const circumstances = { postgres: database.version, rounds, warmUp: warmUp / 1_000, measure: measure / 1_000 };
const rows: Row[] = [];
for (const bench of chosen) {
  const own = await bench.measure(run);
  rows.push(...own);
  if (!values.quick) progress(`written to ${await save(markdown(own, circumstances), bench.name)}`);
}
console.log(`\n${table(rows)}`);

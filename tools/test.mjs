// Runs tests: `npm test` those in `test`, `test/inside`, and `test/contract`, on the sources; `--rest` the others, whose programs are the
// compiled ones; `--all` both. Files may be named instead, or chosen with `--changed`: those that concern what differs from
// the branch main. `--times` compares the CPU of each file with `test/times.json`, `--write-times` writes it. All other
// options are those of mocha. The whole rest ends with some files again in another locale and by other accounts, and
// with `--long` with some at full length.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { concernedBy } from "./changed-tests.mjs";
import { isOfRest, parts } from "./test-parts.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));
process.chdir(project);

/** Where the CPU of each file is kept: milliseconds of the process that ran it. */
const table = "test/times.json";

/** Files that are run again in other conditions: where time zones, locales, files, and processes meet, and as long as they can be. */
const conditions = [
  {
    name: "in another locale and time zone",
    env: { LANG: "C", LC_ALL: "C", TZ: "America/St_Johns" },
    files: [
      "quiet-hours",
      "rest/inside/schedules",
      "inside/lists",
      "inside/text",
      "rest/inside/time-zones",
      "rest/cli-user",
    ],
  },
  {
    name: "at full length",
    isLong: true,
    env: { STEWARD_TEST_LONG: "1" },
    files:
      `groups-members inside/groups-counts inside/oauth2-token-races inside/transactions notifications-delivery oauth2-redirects
      one-time-passcodes user-secrets users-administration rest/creations external-auth-refresh rest/inside/open-streams
      rest/inside/tasks-inputs labels rest/provider-claims rest/scim-leavers`.split(/\s+/),
  },
  { name: "as an ordinary user", user: 65_534, files: ["users", "http", "rest/cli", "rest/inside/embedded-postgres"] },
  { name: "as root", user: 0, files: ["users", "http", "rest/cli", "rest/inside/embedded-postgres"] },
];

const words = process.argv.slice(2);
const take = (flag) => {
  const at = words.indexOf(flag);
  return at >= 0 && words.splice(at, 1).length > 0;
};
const [isAll, isRest, isChanged, isLong] = ["--all", "--rest", "--changed", "--long"].map(take);
const writesTimes = take("--write-times");
const comparesTimes = take("--times") || writesTimes;
const named = words.filter((word) => word.startsWith("test/") || word.startsWith("./test/"));

const chosen = isAll ? [...parts.first, ...parts.rest] : isRest ? parts.rest : parts.first;
const candidates = globSync(chosen);
const files = named.length > 0 ? [] : isChanged ? concernedBy(project, candidates) : candidates;
const needsBuild = [...files, ...named].some(isOfRest);
if (files.length === 0 && named.length === 0) {
  console.log("No test concerns what has changed.\n0 passed, 0 failed");
  process.exit();
}
if (needsBuild) await run(process.execPath, ["tools/prepare.mjs", "--tools"]);

const folder = mkdtempSync(join(tmpdir(), "steward-test-run-"));
const measured = join(folder, "times.jsonl");
/** Where each run appends how many tests passed, and which failed. */
const totals = join(folder, "totals");
writeFileSync(totals, "");
// Runs as another user append there as well.
chmodSync(folder, 0o755);
chmodSync(totals, 0o666);
let status = await mocha([...dearestFirst(files), ...words], comparesTimes ? { STEWARD_TEST_TIMES: measured } : {});
if (comparesTimes) reportTimes();
// Not if some tests are chosen, by files or by options of mocha.
if ((isAll || isRest) && !isChanged && words.length === 0)
  for (const each of conditions) if (isLong || !each.isLong) status = (await rerun(each)) || status;
const runs = readFileSync(totals, "utf8")
  .trim()
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const sumOf = (name) => runs.reduce((sum, each) => sum + each[name], 0);
const reasons = runs.flatMap((each) => each.reasons);
// Reports of long runs are read from their end.
if (reasons.length > 0) console.log(`\nFailed:\n${reasons.join("\n")}\n`);
console.log(`${sumOf("passed")} passed, ${sumOf("failed")} failed`);
rmSync(folder, { recursive: true, force: true });
process.exit(status || (sumOf("passed") > 0 ? 0 : 1));

/** Resolves to the exit status of mocha. */
async function mocha(given, env = {}, options = {}) {
  const child = spawn(process.execPath, ["node_modules/mocha/bin/mocha.js", ...given], {
    stdio: "inherit",
    env: { ...process.env, STEWARD_TEST_TOTALS: totals, ...env },
    ...options,
  });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

async function run(program, given) {
  const child = spawn(program, given, { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) process.exit(code ?? 1);
}

/** A long file that begins last would run alone. */
function dearestFirst(some) {
  const known = knownTimes();
  return some.toSorted((a, b) => (known[b] ?? Infinity) - (known[a] ?? Infinity) || a.localeCompare(b));
}

function knownTimes() {
  return existsSync(table) ? JSON.parse(readFileSync(table, "utf8")) : {};
}

/** Lists the files that take twice the CPU of the table or more, and the dearest ones that it lacks. */
function reportTimes() {
  const lines = existsSync(measured) ? readFileSync(measured, "utf8").trim().split("\n") : [];
  const found = Object.fromEntries(lines.map((line) => JSON.parse(line)).map(({ file, cpu }) => [file, cpu]));
  const known = knownTimes();
  const dearer = Object.entries(found).filter(([file, cpu]) => cpu > Math.max(1_000, 2 * (known[file] ?? 500)));
  for (const [file, cpu] of dearer.toSorted(([, a], [, b]) => b - a))
    console.warn(
      `Warning: ${file} takes ${cpu} ms of CPU, ${known[file] === undefined ? "and is new" : `formerly ${known[file]}`}.`,
    );
  if (!writesTimes) return;
  const all = Object.entries({ ...known, ...found }).filter(([file]) => existsSync(file));
  const sorted = Object.fromEntries(all.toSorted(([a], [b]) => a.localeCompare(b)));
  writeFileSync(table, `${JSON.stringify(sorted, null, 2)}\n`);
}

/** Runs some files in other conditions. Returns the exit status, 0 where this account cannot make them. */
async function rerun({ name, env, user, files: few }) {
  const { uid } = userInfo();
  if (user !== undefined && uid !== 0 && (user === 0) !== (uid === 0)) {
    console.log(`Not run ${name}: only root can.`);
    return 0;
  }
  if (user !== undefined && user === uid) return 0;
  const paths = few.map((file) => `test/${file}.test.ts`);
  console.log(`Again ${name}: ${paths.join(" ")}`);
  if (user === undefined) return mocha(paths, env);
  const canRead = spawnSync("test", ["-r", "package.json"], { uid: user, gid: user }).status === 0;
  if (!canRead) {
    console.log(`Not run ${name}: other users cannot read ${project}.`);
    return 0;
  }
  const home = mkdtempSync(join(tmpdir(), "steward-home-"));
  spawnSync("chown", [String(user), home]);
  const result = await mocha(paths, { HOME: home }, { uid: user, gid: user });
  rmSync(home, { recursive: true, force: true });
  return result;
}

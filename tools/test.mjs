// Runs tests: `npm test` those in `test`, `test/inside`, and `test/contract`, on the sources; `--rest` the others, whose programs are the
// compiled ones; `--all` both. Files may be named instead, or chosen with `--changed`: those that concern what differs from
// the branch main. `--times` compares the CPU of each file with `test/times.json`, `--write-times` writes it. All other
// options are those of mocha. With `--conditions`, some files are run again at full length, in another locale, and by other accounts.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { concernedBy } from "./changed-tests.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));
process.chdir(project);

const parts = {
  first: ["test/{,inside/}*.test.ts", "test/contract/*.test.ts"],
  rest: ["test/{rest,console,tools}/{,inside/}*.test.ts"],
};
/** Where the CPU of each file is kept: milliseconds of the process that ran it. */
const table = "test/times.json";

/** Files that are run again in other conditions: as long as they can be, and where time zones, locales, files, and processes meet. */
const conditions = [
  {
    name: "in another locale and time zone",
    env: { LANG: "C", LC_ALL: "C", TZ: "America/St_Johns" },
    files: [
      "quiet-hours",
      "inside/schedules",
      "inside/lists",
      "inside/text",
      "rest/inside/time-zones",
      "rest/cli-user",
    ],
  },
  {
    name: "at full length",
    env: { STEWARD_TEST_LONG: "1" },
    files:
      `creations external-auth-refresh inside/groups-counts groups-members labels notifications-delivery oauth2-redirects
      inside/open-streams
      inside/oauth2-token-races one-time-passcodes provider-claims scim-leavers inside/tasks-inputs inside/transactions user-secrets users-administration`.split(
        /\s+/,
      ),
  },
  { name: "as an ordinary user", user: 65_534, files: ["users", "http", "rest/cli", "rest/inside/embedded-postgres"] },
  { name: "as root", user: 0, files: ["users", "http", "rest/cli", "rest/inside/embedded-postgres"] },
];

const words = process.argv.slice(2);
const take = (flag) => {
  const at = words.indexOf(flag);
  return at >= 0 && words.splice(at, 1).length > 0;
};
const [isAll, isRest, isChanged, hasConditions] = ["--all", "--rest", "--changed", "--conditions"].map(take);
const writesTimes = take("--write-times");
const comparesTimes = take("--times") || writesTimes;
const named = words.filter((word) => word.startsWith("test/") || word.startsWith("./test/"));

const chosen = isAll ? [...parts.first, ...parts.rest] : isRest ? parts.rest : parts.first;
const candidates = globSync(chosen);
const files = named.length > 0 ? [] : isChanged ? concernedBy(project, candidates) : candidates;
const needsBuild = [...files, ...named].some((file) => /test\/(rest|console|tools)\b/.test(file));
if (files.length === 0 && named.length === 0) {
  console.log("No test concerns what has changed.\n0 passed, 0 failed");
  process.exit();
}
if (needsBuild) await run(process.execPath, ["tools/prepare.mjs", "--tools"]);

const folder = mkdtempSync(join(tmpdir(), "steward-test-run-"));
const measured = join(folder, "times.jsonl");
/** Where each run appends how many tests passed and failed. */
const totals = join(folder, "totals");
writeFileSync(totals, "");
// Runs as another user append there as well.
chmodSync(folder, 0o755);
chmodSync(totals, 0o666);
let status = await mocha([...dearestFirst(files), ...words], comparesTimes ? { STEWARD_TEST_TIMES: measured } : {});
if (comparesTimes) reportTimes();
if (hasConditions && !isChanged && named.length === 0)
  for (const each of conditions) status = (await rerun(each)) || status;
const sums = [0, 0];
for (const line of existsSync(totals) ? readFileSync(totals, "utf8").trim().split("\n") : [])
  for (const [at, count] of line.split(" ").entries()) sums[at] += Number(count);
console.log(`${sums[0]} passed, ${sums[1]} failed`);
rmSync(folder, { recursive: true, force: true });
process.exit(status || (sums[0] > 0 ? 0 : 1));

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

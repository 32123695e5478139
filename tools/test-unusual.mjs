// Runs the tests of test/unusual-database.txt, a third of all, while the settings of the database and of its role are unusual.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

const tests = readFileSync("test/unusual-database.txt", "utf8").split("\n").filter(Boolean);
const all = readdirSync("test", { recursive: true, encoding: "utf8" });
const count = all.filter((path) => path.endsWith(".test.ts") && !path.includes("node_modules")).length;
if (tests.length * 3 < count) {
  console.error(`test/unusual-database.txt has ${tests.length} of ${count} tests: it must have a third of them.`);
  process.exit(1);
}
const files = tests.map((name) => `test/${name}.test.ts`);
// Mocha only warns of a file that has moved.
const missing = files.filter((file) => !existsSync(file));
if (missing.length > 0) {
  console.error(`test/unusual-database.txt names tests that do not exist: ${missing.join(", ")}.`);
  process.exit(1);
}
const { status } = spawnSync(
  process.execPath,
  ["node_modules/mocha/bin/mocha.js", ...files, ...process.argv.slice(2)],
  {
    stdio: "inherit",
    env: { ...process.env, STEWARD_TEST_UNUSUAL_DATABASE: "1" },
  },
);
process.exit(status ?? 1);

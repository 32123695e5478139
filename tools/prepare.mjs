// Prepares a clone to run: installs the packages in package-lock.json and compiles the sources, unless both are up to
// date. Runs before the npm scripts, on Node 20 and newer, without any package installed. `--bench` also installs the
// packages of the benchmarks, `--tools` the client tools that the tests run, and `--dashboard` the example dashboard.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isBuilt } from "./build.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));

install(project, "dependencies");
if (process.argv.includes("--bench")) install(join(project, "bench"), "the dependencies of the benchmarks");
if (process.argv.includes("--tools")) install(join(project, "test/tools"), "the client tools for the tests");
if (process.argv.includes("--dashboard")) install(join(project, "examples/dashboard"), "the example dashboard");
if (!isBuilt()) await build();

function install(folder, what) {
  if (isInstalled(folder)) return;
  console.error(`Installing ${what}…`);
  const { error, status } = npm(
    folder,
    "ci",
    "--ignore-scripts",
    "--include=dev",
    "--include=optional",
    "--loglevel=error",
  );
  if (error) fail(`npm could not be started (${error.message}). It is part of Node.js: https://nodejs.org`);
  if (status !== 0)
    fail(`Installing ${what} failed; see the npm output above. Check the network connection and try again.`);
}

/** Compares the lock file with npm's copy in node_modules, which npm writes last: an interrupted installation has none. */
function isInstalled(folder) {
  const installed = packagesOf(join(folder, "node_modules", ".package-lock.json"));
  if (!installed) return false;
  const wanted = packagesOf(join(folder, "package-lock.json")) ?? fail(`${folder} has no package-lock.json.`);
  const isSame = ([path, { version, integrity, optional }]) =>
    installed[path]
      ? installed[path].version === version && installed[path].integrity === integrity
      : optional || path === ""; // optional packages may be for other platforms; "" is the project
  return Object.entries(wanted).every(isSame) && Object.keys(installed).every((path) => path in wanted);
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, "utf8")).packages : undefined;
}

/** Runs the npm that started this script, otherwise the one on the PATH. */
function npm(folder, ...args) {
  const cli = process.env.npm_execpath;
  const [program, first] = cli?.endsWith(".js") ? [process.execPath, [cli]] : ["npm", []];
  return spawnSync(program, [...first, ...args], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

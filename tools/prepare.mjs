// Makes a fresh clone ready to run: installs what package-lock.json lists and compiles what has changed, and does
// nothing at all where both are done. Runs before the npm scripts, on any Node from 20 on, with nothing installed.
// `--bench` also installs what only the benchmarks compare against.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isBuilt } from "./build.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));

install(project, "dependencies");
const bench = join(project, "bench");
if (process.argv.includes("--bench") && existsSync(join(bench, "package.json")))
  install(bench, "what the benchmarks need");
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
  if (error) fail(`npm could not be run (${error.message}). It comes with Node.js: https://nodejs.org`);
  if (status !== 0) fail(`Installing ${what} failed; npm says why above. Check the network and try again.`);
}

/** npm keeps a copy of the lock file of what it has installed, written last: an interrupted installation has none. */
function isInstalled(folder) {
  const installed = packagesOf(join(folder, "node_modules", ".package-lock.json"));
  if (!installed) return false;
  const wanted = packagesOf(join(folder, "package-lock.json")) ?? fail(`${folder} has no package-lock.json.`);
  const isSame = ([path, { version, integrity, optional }]) =>
    installed[path]
      ? installed[path].version === version && installed[path].integrity === integrity
      : optional || path === ""; // optional ones are for other platforms, "" is the project
  return Object.entries(wanted).every(isSame) && Object.keys(installed).every((path) => path in wanted);
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, "utf8")).packages : undefined;
}

/** The npm that runs us, else the one on the path. */
function npm(folder, ...args) {
  const cli = process.env.npm_execpath;
  const [program, first] = cli?.endsWith(".js") ? [process.execPath, [cli]] : ["npm", []];
  return spawnSync(program, [...first, ...args], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

// Prepares a clone to run: installs the packages in package-lock.json and compiles the sources, unless both are up to
// date. Runs before the npm scripts, on Node 20 and newer, without any package installed. `--bench` also installs the
// packages of the benchmarks, and `--tools` the client tools that the tests run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isBuilt } from "./build.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));

await install(project, "dependencies");
if (process.argv.includes("--bench")) await install(join(project, "bench"), "the dependencies of the benchmarks");
if (process.argv.includes("--tools")) await install(join(project, "test/tools"), "the client tools for the tests");
if (!isBuilt()) await build();

async function install(folder, what) {
  if (isInstalled(folder)) return;
  console.error(`Installing ${what}…`);
  const progress = showProgress(folder);
  const options = ["--ignore-scripts", "--include=dev", "--include=optional", "--loglevel=error"];
  const { error, status } = await npm(folder, "ci", ...options).finally(() => clearInterval(progress));
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
async function npm(folder, ...args) {
  const cli = process.env.npm_execpath;
  const [program, first] = cli?.endsWith(".js") ? [process.execPath, [cli]] : ["npm", []];
  const child = spawn(program, [...first, ...args], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  try {
    const [status] = await once(child, "exit");
    return { status };
  } catch (error) {
    return { error };
  }
}

/** Reports every two seconds how many packages npm has unpacked, and their size. Returns the timer. */
function showProgress(folder) {
  const locked = Object.entries(packagesOf(join(folder, "package-lock.json")) ?? {});
  const packages = locked.filter(([path, { os, cpu }]) => path !== "" && isForHere({ os, cpu })).map(([path]) => path);
  const sizes = new Map();
  return setInterval(() => {
    for (const path of packages) {
      // A package may still be incomplete when it is first seen.
      if (sizes.get(path) === 0) sizes.set(path, sizeOf(join(folder, path)));
      else if (!sizes.has(path) && existsSync(join(folder, path, "package.json"))) sizes.set(path, 0);
    }
    const megabytes = Math.round([...sizes.values()].reduce((sum, size) => sum + size, 0) / 1e6);
    console.error(`  ${sizes.size} of ${packages.length} packages, ${megabytes} MB`);
  }, 2_000);
}

/** Whether npm installs a package on this platform. */
function isForHere({ os, cpu }) {
  return (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true);
}

/** The size of a package in bytes, without the packages in it. npm may be removing it. */
function sizeOf(folder) {
  let size = 0;
  for (const entry of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") size += sizeOf(path);
    else if (entry.isFile()) size += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return size;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

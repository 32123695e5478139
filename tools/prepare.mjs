// Prepares a clone to run: installs packages of package-lock.json and compiles the sources, unless both are up to date. Runs
// before the npm scripts, on Node 20 and newer, without any package installed. A server that is compiled needs the packages
// that are not bundled, and compiling it those that are. `--dev` installs all packages, `--tests` does so and compiles
// only if nothing is compiled, `--tools` installs also the browser and the client tools that `npm run test:rest` uses, and `--bench` also the
// packages of the benchmarks.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isBuilt, noteCommit } from "./build.mjs";
import { updateOperations } from "./console-types.mjs";
import { closure, lockOf, rootsForBuild, rootsOf } from "./packages.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));

const isFor = (flag) => process.argv.includes(flag);
if (["--dev", "--tests", "--tools", "--bench"].some(isFor)) {
  await install(project, "all packages");
  dropHeaders();
  await updateOperations();
} else if (!isBuilt()) await installFew();
else if (!isInstalled(project, closure(rootsOf(["dependencies", "optionalDependencies"])))) await installFew();
if (isFor("--bench")) await install(join(project, "bench"), "the packages of the benchmarks");
if (isFor("--tools") || isFor("--bench")) await install(join(project, "test"), "the browser");
if (isFor("--tools")) {
  await install(join(project, "test/tools"), "the client tools for the tests");
  (await import("./test-results.mjs")).updateResults();
}
// Servers that run from the sources serve the console and the agent of dist, of whatever age.
if (isFor("--tests") ? !existsSync(join(project, "dist/.sources")) : !isBuilt()) await build();
else noteCommit();

/**
 * Installs what compiling and running need, as package-lock.json has it: a third of all packages. npm can only install all
 * of a lock file, so it gets a part of it in a directory of its own.
 */
async function installFew() {
  const roots = rootsForBuild();
  const { packages, ...lock } = lockOf(project);
  const wanted = closure(roots);
  if (isInstalled(project, wanted)) return;
  const { name, version, license } = packages[""];
  const top = roots.filter((each) => wanted.includes(`node_modules/${each}`));
  const isOptional = (each) => packages[`node_modules/${each}`].optional === true;
  const versions = (names) => Object.fromEntries(names.map((each) => [each, packages[`node_modules/${each}`].version]));
  const manifest = {
    name,
    version,
    license,
    private: true,
    dependencies: versions(top.filter((each) => !isOptional(each))),
    optionalDependencies: versions(top.filter(isOptional)),
  };
  const part = Object.fromEntries(wanted.map((path) => [path, packages[path]]));
  const folder = join(project, "node_modules", ".part");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lock, packages: { "": manifest, ...part } }));
  if (existsSync(join(project, ".npmrc"))) cpSync(join(project, ".npmrc"), join(folder, ".npmrc"));
  await install(folder, "packages");
  const modules = join(project, "node_modules");
  const moved = `${modules}.${process.pid}`;
  renameSync(join(folder, "node_modules"), moved);
  rmSync(modules, { recursive: true, force: true });
  renameSync(moved, modules);
  dropHeaders();
}

/** Removes the C headers and manuals of Node.js, a third of its size: nothing is compiled from C here. */
function dropHeaders() {
  const modules = join(project, "node_modules");
  for (const name of readdirSync(modules).filter((each) => each.startsWith("node-linux-")))
    for (const part of ["include", "share"]) rmSync(join(modules, name, part), { recursive: true, force: true });
}

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

/**
 * Compares the lock file with npm's copy in node_modules, which npm writes last: an interrupted installation has none. All of
 * it must be installed, or some paths of it.
 */
function isInstalled(folder, some) {
  const installed = packagesOf(join(folder, "node_modules", ".package-lock.json"));
  if (!installed) return false;
  const all = lockOf(folder).packages;
  const wanted = some ? Object.fromEntries(some.map((path) => [path, all[path]])) : all;
  const isSame = ([path, { version, integrity, optional }]) =>
    installed[path]
      ? installed[path].version === version && installed[path].integrity === integrity
      : optional || path === ""; // optional packages may be for other platforms; "" is the project
  return Object.entries(wanted).every(isSame) && Object.keys(installed).every((path) => path in all);
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

/** Reports every one and a half seconds how many packages npm has unpacked, and their size. Returns the timer. */
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
  }, 1_500);
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

// Compiles the server and its clients into dist, bundled with their packages (loading 1,700 separate modules takes a third
// of the start), copies all other files of src, and bundles the console into dist/console. The result replaces dist in one
// step, so that a failure or an interruption never leaves an incomplete build. Runs on Node 20 and newer.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole } from "./build-console.mjs";
import { sources as operationSources, updateOperations } from "./console-types.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));
const source = join(project, "src");
const result = join(project, "dist");
/** Entry points by their names in dist: the server, the command line, the provisioner daemon, and a worker thread. */
const programs = {
  main: "src/main.ts",
  "cli/main": "src/cli/main.ts",
  "provisioner/main": "clients/daemon/main.ts",
  "infrastructure/passwords/estimator-worker": "src/infrastructure/passwords/estimator-worker.ts",
};
/** The agent, which the server delivers to machines as a single file without packages. */
const agent = { source: "clients/agent/main.ts", file: "agent.mjs" };
/** The demonstration, a client of the public interface, and the programs of its workspaces. */
const demo = {
  folder: "examples/demo",
  main: "main.ts",
  file: "demo.mjs",
  programs: ["assistant.mjs", "workbench.mjs"],
};
/**
 * Packages that are never bundled: those with native code or worker threads, which a production installation has beside the
 * built-in Postgres, and optional ones of other packages, which are not used, whether an installation has them or not. With
 * this list, dist is the same whatever is installed.
 */
const unbundled = [
  "argon2",
  "bufferutil",
  "class-validator",
  "pg-native",
  "pino",
  "pino-pretty",
  "supports-color",
  "tinyglobby",
  "utf-8-validate",
];
/** Files of packages that the server sends to browsers, by the module beside which they are. */
const explorerFiles = {
  "@graphql-yoga/render-graphiql": ["graphiql.js"],
  "swagger-ui-dist/package.json": ["swagger-ui.css", "swagger-ui-bundle.js"],
  "@simplewebauthn/browser": ["../dist/bundle/index.umd.min.js"],
};
/** Its Node entry point is in UMD form, which cannot be bundled. */
const alias = { "jsonc-parser": join(project, "node_modules/jsonc-parser/lib/esm/main.js") };
/** File in dist with the fingerprint of the sources it was built from. */
const stamp = ".sources";
/** File in dist with the commit that it was built from, for `--version`. */
const commitFile = "commit";

/** Whether dist is up to date with the sources. */
export function isBuilt() {
  const path = join(result, stamp);
  // A production installation may have no sources.
  if (!existsSync(source)) return existsSync(path);
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint();
}

/** Builds dist. If compilation fails, prints the compiler's messages and exits with status 1. */
export async function build() {
  console.error("Compiling…");
  const began = Date.now();
  const progress = setInterval(
    () => console.error(`  still compiling, ${Math.round((Date.now() - began) / 1_000)} s`),
    2_000,
  );
  const made = fingerprint();
  const unfinished = `${result}.${process.pid}`;
  try {
    await updateOperations();
    await bundle(unfinished);
    console.error("Compiling the console…");
    await buildConsole(join(unfinished, "console"));
  } catch (error) {
    clearInterval(progress);
    rmSync(unfinished, { recursive: true, force: true });
    console.error(`${error.message}\nCompilation failed.`);
    process.exit(1);
  }
  clearInterval(progress);
  for (const path of filesIn("src"))
    if (!path.endsWith(".ts")) cpSync(join(project, path), join(unfinished, relative("src", path)));
  for (const [module, files] of Object.entries(explorerFiles))
    for (const file of files)
      cpSync(fileURLToPath(new URL(file, import.meta.resolve(module))), join(unfinished, "explorer", basename(file)));
  writeFileSync(join(unfinished, stamp), made);
  rmSync(result, { recursive: true, force: true });
  renameSync(unfinished, result);
  noteCommit();
}

/**
 * Writes the commit of the sources into dist, as `STEWARD_COMMIT` or Git says: 12 digits, with `-dirty` after them if files
 * differ from the commit. Where neither does, as in a production installation, what is noted stays.
 */
export function noteCommit() {
  const path = join(result, commitFile);
  const commit = process.env.STEWARD_COMMIT?.trim() || describeCommit();
  if (commit && (!existsSync(path) || readFileSync(path, "utf8") !== commit)) writeFileSync(path, commit);
}

function describeCommit() {
  // A project inside another repository is no commit of that one.
  if (!existsSync(join(project, ".git"))) return undefined;
  const words = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
  const { status, stdout } = spawnSync("git", words, { cwd: project, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Writes one file per entry point, and one per chunk that is shared or imported dynamically. */
async function bundle(folder) {
  // Imported here, since no packages are installed before the first run of prepare.mjs.
  const { rolldown } = await import("rolldown");
  const bundled = await rolldown({
    input: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(project, path)])),
    external: unbundled,
    platform: "node",
    resolve: { alias },
    tsconfig: join(project, "tsconfig.json"),
    cwd: project,
    // Without its checks for development, graphql-js takes two thirds of the time.
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    // A dependency of Koa uses eval.
    checks: { eval: false },
  });
  await bundled.write({
    dir: folder,
    format: "esm",
    chunkFileNames: "[name]-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: true, annotation: false, jsdoc: false },
    plugins: [asciiOnly],
  });
  const single = await rolldown({ input: join(project, agent.source), platform: "node", cwd: project });
  await single.write({ file: join(folder, agent.file), format: "esm", codeSplitting: false });
  const shown = await rolldown({
    input: join(project, demo.folder, demo.main),
    external: unbundled,
    platform: "node",
    cwd: project,
  });
  await shown.write({ file: join(folder, demo.file), format: "esm", codeSplitting: false });
  for (const file of demo.programs) cpSync(join(project, demo.folder, file), join(folder, file));
}

/**
 * Escapes what is not ASCII, all of which is in strings, regular expressions, and comments: V8 keeps the text of programs,
 * and takes twice the memory for a file with a single such character.
 */
const asciiOnly = {
  name: "ascii-only",
  generateBundle(_options, files) {
    for (const file of Object.values(files).filter(({ type }) => type === "chunk"))
      file.code = file.code.replace(/\P{ASCII}/gu, escaped);
  },
};

/** The escapes of a character: one for each of its one or two UTF-16 code units. */
const escaped = (character) =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** Returns a hash that changes when a source or a build setting is edited, added, renamed, or removed. */
function fingerprint() {
  const hash = createHash("sha256");
  const tools = ["tools/build.mjs", "tools/build-console.mjs"];
  const settings = ["tsconfig.json", "package-lock.json", ...tools, ...operationSources];
  const inputs = [...settings, ...["src", "clients", demo.folder].flatMap(filesIn)];
  for (const path of inputs) {
    const content = readFileSync(join(project, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/**
 * The files in a folder of the project, but for its manuals and what is written from others, in an order that is the same on
 * every system.
 */
const filesIn = (folder) =>
  readdirSync(join(project, folder), { recursive: true })
    .map((path) => join(folder, path))
    .filter((path) => !/\.(md|gql\.ts)$/.test(path) && statSync(join(project, path)).isFile())
    .toSorted((a, b) => (a < b ? -1 : 1));

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();

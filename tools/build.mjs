// Compiles src into dist, bundled with the packages it uses (to read 1,700 modules one by one is a third of a start),
// and copies along what is not TypeScript. The result replaces dist in one step, so that neither a failure nor an
// interruption leaves half of it behind. Runs on any Node from 20 on.
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));
const source = join(project, "src");
const result = join(project, "dist");
/** What is started by itself: the server, the command line, and a thread. */
const programs = ["main", "cli/main", "domain/outside/password-strength-worker"];
/** Native code, what brings threads of its own, and optional parts of packages that nobody here uses. */
const unbundled = ["argon2", "pino", "pino-pretty", "class-validator", "pg-native", "tinyglobby"];
/** Inside dist: the fingerprint of what it was made from. */
const stamp = ".sources";

/** Whether dist was made from the sources as they are now. */
export function isBuilt() {
  const path = join(result, stamp);
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint();
}

/** Makes dist anew; ends the process with the compiler's messages if that fails. */
export async function build() {
  console.error("Compiling…");
  const made = fingerprint();
  const unfinished = `${result}.${process.pid}`;
  try {
    await bundle(unfinished);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    console.error(`${error.message}\nCompiling failed.`);
    process.exit(1);
  }
  for (const path of filesOfSource()) {
    if (!path.endsWith(".ts")) cpSync(join(source, path), join(unfinished, path));
  }
  writeFileSync(join(unfinished, stamp), made);
  rmSync(result, { recursive: true, force: true });
  renameSync(unfinished, result);
}

/** One file for each program, and one for each part that programs share or load later. */
async function bundle(folder) {
  // Loaded here, for there are no packages before the first installation.
  const { rolldown } = await import("rolldown");
  const programFiles = programs.map((name) => [name, join(source, `${name}.ts`)]);
  const bundled = await rolldown({
    input: Object.fromEntries(programFiles),
    external: unbundled,
    platform: "node",
    tsconfig: join(project, "tsconfig.json"),
    cwd: project,
    // A package of Koa's makes functions with it.
    checks: { eval: false },
  });
  await bundled.write({
    dir: folder,
    format: "esm",
    chunkFileNames: "[name]-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
}

/** Changes with every edited, added, renamed and removed source, and with what they are compiled by. */
function fingerprint() {
  const hash = createHash("sha256");
  const settings = ["tsconfig.json", "package-lock.json", "tools/build.mjs"];
  const inputs = [...settings, ...filesOfSource().map((path) => join("src", path))];
  for (const path of inputs) {
    const { mtimeMs, size } = statSync(join(project, path));
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  return hash.digest("hex");
}

function filesOfSource() {
  const entries = readdirSync(source, { recursive: true });
  return entries.filter((path) => statSync(join(source, path)).isFile()).toSorted((a, b) => (a < b ? -1 : 1));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();

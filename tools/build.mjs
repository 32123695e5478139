// Compiles src to dist and copies along what is not TypeScript. The result replaces dist in one step, so that neither a
// failure nor an interruption leaves half of it behind. Runs on any Node from 20 on.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));
const source = join(project, "src");
const result = join(project, "dist");
/** Inside dist: the fingerprint of what it was made from. */
const stamp = ".sources";

/** Whether dist was made from the sources as they are now. */
export function isBuilt() {
  const path = join(result, stamp);
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint();
}

/** Makes dist anew; ends the process with the compiler's messages if that fails. */
export function build() {
  console.error("Compiling…");
  const made = fingerprint();
  const unfinished = `${result}.${process.pid}`;
  const compiler = join(project, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [compiler, "--outDir", unfinished], {
    cwd: project,
    stdio: "inherit",
  });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    console.error("Compiling failed.");
    process.exit(1);
  }
  for (const path of filesOfSource()) {
    if (!path.endsWith(".ts")) cpSync(join(source, path), join(unfinished, path));
  }
  writeFileSync(join(unfinished, stamp), made);
  rmSync(result, { recursive: true, force: true });
  renameSync(unfinished, result);
}

/** Changes with every edited, added, renamed and removed source, and with the compiler and its settings. */
function fingerprint() {
  const hash = createHash("sha256");
  const inputs = ["tsconfig.json", "package-lock.json", ...filesOfSource().map((path) => join("src", path))];
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

if (process.argv[1] === fileURLToPath(import.meta.url)) build();

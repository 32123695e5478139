// Bundles the console into a folder: modules and the style under names that change with their content, each compressed
// as well, and the manifest by which the server serves them. Runs on Node 20 and newer.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants } from "node:zlib";

const project = fileURLToPath(new URL("..", import.meta.url));
const source = join(project, "clients/console");

/** Writes the console to a folder. */
export async function buildConsole(folder) {
  mkdirSync(folder, { recursive: true });
  const chunks = await bundle(folder);
  const style = writeStyle(folder);
  const entry = chunks.find(({ isEntry }) => isEntry);
  const files = [...chunks.map(({ fileName }) => fileName), style];
  const sections = JSON.parse(readFileSync(join(source, "sections.json"), "utf8"));
  const manifest = { script: entry.fileName, style, preloads: entry.imports, files, sections };
  await Promise.all(files.map((file) => compress(join(folder, file))));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest, undefined, 2));
}

/** Writes a module for the start, and one for each view, which is loaded when it is opened. */
async function bundle(dir) {
  const { rolldown } = await import("rolldown");
  const bundled = await rolldown({
    input: { console: join(source, "src/main.tsx") },
    platform: "browser",
    tsconfig: join(source, "tsconfig.json"),
    cwd: project,
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
  });
  const { output } = await bundled.write({
    dir,
    format: "esm",
    minify: true,
    entryFileNames: "[name]-[hash].js",
    chunkFileNames: "[name]-[hash].js",
  });
  return output.filter(({ type }) => type === "chunk");
}

function writeStyle(folder) {
  const chart = join(project, "node_modules/uplot/dist/uPlot.min.css");
  const text = [chart, join(source, "src/ui/style.css")].map((path) => readFileSync(path, "utf8")).join("\n");
  const name = `style-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.css`;
  writeFileSync(join(folder, name), text);
  return name;
}

async function compress(path) {
  const content = readFileSync(path);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  const [small, usual] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }),
  ]);
  writeFileSync(`${path}.br`, small);
  writeFileSync(`${path}.gz`, usual);
}

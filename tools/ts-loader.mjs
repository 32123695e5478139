// Module hooks that run TypeScript sources: swc strips the types and emits the decorator metadata for type-graphql. What it
// writes is kept by the content of the source, so that only changed files are compiled again.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import module, { createRequire, registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { updateOperations } from "./console-types.mjs";

const options = {
  jsc: {
    parser: { syntax: "typescript", decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: "es2023",
  },
  module: { type: "es6" },
  sourceMaps: "inline",
};

const require = createRequire(import.meta.url);
const { version } = require("@swc/core/package.json");
const folder = fileURLToPath(new URL("../node_modules/.cache/ts-loader", import.meta.url));
mkdirSync(folder, { recursive: true });
// V8 compiles 3,000 modules in half a second of CPU, unless it finds its code here.
module.enableCompileCache?.(join(folder, "../v8"));
const settings = version + JSON.stringify(options);

/** The compiled source. Its name is part of the key, since source maps contain it. */
function compile(filename) {
  const source = readFileSync(filename, "utf8");
  const key = createHash("sha1").update(settings).update(filename).update("\0").update(source).digest("hex");
  const cached = join(folder, `${key}.js`);
  try {
    return readFileSync(cached, "utf8");
  } catch {
    const { code } = require("@swc/core").transformSync(source, { ...options, filename });
    keep(cached, code);
    return code;
  }
}

/** Another user may not be permitted to write. */
function keep(path, code) {
  const written = `${path}.${process.pid}`;
  try {
    writeFileSync(written, code);
    renameSync(written, path);
  } catch (error) {
    if (error.code !== "EACCES") throw error;
  }
}

// Operations that do not fit the schema may be corrected by what runs now: `npm run schema` writes it.
await updateOperations().catch((error) => console.error(error.message));

registerHooks({
  resolve(specifier, context, nextResolve) {
    const isSource = context.parentURL?.endsWith(".ts") && /^\.{1,2}\/.*\.js$/.test(specifier);
    if (!isSource) return nextResolve(specifier, context);
    return {
      url: new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL).href,
      format: "module",
      shortCircuit: true,
    };
  },
  load(url, context, nextLoad) {
    if (!url.startsWith("file:") || !url.endsWith(".ts")) return nextLoad(url, context);
    return { format: "module", source: compile(fileURLToPath(url)), shortCircuit: true };
  },
});

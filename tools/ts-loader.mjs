// Module hooks that run TypeScript sources: swc strips the types and emits the decorator metadata for type-graphql.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import swc from "@swc/core";

const options = {
  jsc: {
    parser: { syntax: "typescript", decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    target: "es2023",
  },
  module: { type: "es6" },
  sourceMaps: "inline",
};

registerHooks({
  resolve(specifier, context, nextResolve) {
    const fromTypeScript = context.parentURL?.endsWith(".ts") && /^\.{1,2}\/.*\.js$/.test(specifier);
    return nextResolve(fromTypeScript ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
  load(url, context, nextLoad) {
    if (!url.startsWith("file:") || !url.endsWith(".ts")) return nextLoad(url, context);
    const filename = fileURLToPath(url);
    const { code } = swc.transformSync(readFileSync(filename, "utf8"), { ...options, filename });
    return { format: "module", source: code, shortCircuit: true };
  },
});

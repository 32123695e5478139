// Writes test/support/results.gql.ts: the types of the results of the GraphQL documents that stand in tests, by their texts.
// `Client.graphql` finds them there. Values that may be null count as there, as do the fields of all types of a union: a test
// that expects one fails without it. The file is not committed: `npm run check` and `node tools/test-results.mjs` write it.
// Runs on Node 20 and newer.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "@swc/core";
import * as graphql from "graphql";
import { Types } from "./console-types.mjs";

const project = fileURLToPath(new URL("..", import.meta.url));
const inputs = ["schema.graphql", "tools/test-results.mjs", "tools/console-types.mjs"];
const output = "test/support/results.gql.ts";

const schema = graphql.buildSchema(readFileSync(join(project, "schema.graphql"), "utf8"));

/** What stands for a value in a document: within quotes, a number, a text, arguments, or fields. */
const stopgaps = ["x", "0", '"x"', "first: 1", ""];

const isDocument = (text) => /^\s*(query|mutation|subscription|\{)/.test(text);

const testFiles = (folder = "test") =>
  readdirSync(join(project, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFiles(path);
    return path.endsWith(".ts") ? [path] : [];
  });

const timeOf = (path) => statSync(join(project, path), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;

/** Writes the module, unless it is newer than what it is made of. */
export function updateResults() {
  const written = timeOf(output);
  if ([...inputs, ...testFiles()].some((path) => path !== output && timeOf(path) >= written)) writeResults();
}

/** Writes the module. */
export function writeResults() {
  const documents = new Map(
    testFiles()
      .flatMap((path) => documentsOf(readFileSync(join(project, path), "utf8")))
      .map((parts) => [JSON.stringify(parts), parts]),
  );
  /** @type {Record<string, string[]>} */
  const lines = { Results: [], Patterns: [] };
  for (const [key, parts] of [...documents].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const type = stopgaps.map((stopgap) => resultOf(parts.join(stopgap))).find(Boolean);
    if (type && parts.length === 1) lines.Results.push(`${key.slice(1, -1)}: ${type};`);
    else if (type) lines.Patterns.push(`[key: ${patternOf(parts)}]: ${type};`);
  }
  const interfaces = Object.entries(lines).map(
    ([name, own]) => `export interface ${name} {\n${own.map((line) => `  ${line}\n`).join("")}}\n`,
  );
  const head = '// Written by tools/test-results.mjs.\nimport type { Anything } from "./world.js";\n\n';
  writeFileSync(join(project, output), `${head}${interfaces.join("\n")}`);
}

const patternOf = (parts) => `\`${parts.map((part) => part.replace(/[\\`$]/g, "\\$&")).join("${string}")}\``;

/** The documents of a source: the text, or its parts between values that are not known. Constants in it are known. */
function documentsOf(source) {
  if (!/["'`]\s*(query|mutation|subscription|\{)/.test(source)) return [];
  const constants = new Map();
  const found = [];
  const textOf = (node) => {
    if (node.type === "StringLiteral") return [node.value];
    // A type may be a template, too.
    if (node.type !== "TemplateLiteral" || !node.expressions) return undefined;
    const parts = [node.quasis[0].cooked];
    for (const [nr, expression] of node.expressions.entries()) {
      const known = expression.type === "Identifier" ? constants.get(expression.value) : undefined;
      const next = node.quasis[nr + 1].cooked;
      if (known === undefined) parts.push(next);
      else parts.push([parts.pop(), known, next].join(""));
    }
    return parts;
  };
  const collect = (node) => {
    if (node === null || typeof node !== "object") return;
    const parts = textOf(node);
    if (parts && isDocument(parts[0])) found.push(parts);
    for (const each of Object.values(node)) collect(each);
    if (node.type === "VariableDeclarator" && node.init) {
      const text = textOf(node.init);
      if (text?.length === 1) constants.set(node.id.value, text[0]);
    }
  };
  collect(parseSync(source, { syntax: "typescript", decorators: true }));
  return found;
}

/** The type of the result of a document; undefined if it is none that the server would run. */
function resultOf(text) {
  try {
    const document = graphql.parse(text);
    const operations = document.definitions.filter(({ kind }) => kind === graphql.Kind.OPERATION_DEFINITION);
    if (operations.length !== 1 || graphql.validate(schema, document).length > 0) return undefined;
    return new Types(graphql, schema, document, { isOfTests: true }).resultOf(operations[0]);
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeResults();

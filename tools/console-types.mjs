// Writes the modules of the operations of the console and of the command line: beside each file of operations, such as
// clients/console/src/views/users.graphql, one with a constant for each operation and with the types of its variables and
// result. They are not committed: building, checking, and whatever runs the sources write them first, if they are older than
// what they are made of. Runs on Node 20 and newer, and needs no package but graphql.
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));

/** The programs with operations: their folder, the module in it that makes constants, and whether forms need inputs. */
const clients = [
  { folder: "clients/console/src", home: "api/operation", hasForms: true },
  { folder: "clients/cli", home: "operation.js", hasForms: false },
];

/** What all modules are made of, besides their operations. */
export const sources = ["schema.graphql", "input-values.json", "tools/console-types.mjs"];

const scalars = {
  BigInt: "number",
  Boolean: "boolean",
  DateTime: "string",
  EmailAddress: "string",
  Float: "number",
  ID: "string",
  Int: "number",
  JSONObject: "Record<string, unknown>",
  String: "string",
  URL: "string",
  UUID: "string",
};

const operationFiles = () =>
  clients.flatMap((client) =>
    readdirSync(join(project, client.folder), { recursive: true })
      .filter((name) => name.endsWith(".graphql"))
      .map((name) => ({ client, path: join(client.folder, name) })),
  );

const modulePath = (path) => path.replace(/\.graphql$/, ".gql.ts");

/** When a file was written; before all others, if it does not exist. */
const timeOf = (path) => statSync(join(project, path), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;

/** Writes the modules, unless all are newer than what they are made of. */
export async function updateOperations() {
  // An installation without the clients has nothing to write.
  if (!clients.every(({ folder }) => existsSync(join(project, folder)))) return;
  const changed = Math.max(...sources.map(timeOf));
  const files = operationFiles();
  if (files.some(({ path }) => timeOf(modulePath(path)) <= Math.max(changed, timeOf(path)))) await writeOperations();
}

/** Writes all modules. Several processes may do so at a time. */
export async function writeOperations() {
  for (const [path, module] of Object.entries(await generateTypes())) {
    const unfinished = join(project, `${path}.${process.pid}`);
    writeFileSync(unfinished, module);
    renameSync(unfinished, join(project, path));
  }
}

/** Returns the text of each module by its path. Throws for operations that are not valid in the schema. */
export async function generateTypes() {
  const graphql = await import("graphql");
  const schema = graphql.buildSchema(readFileSync(join(project, "schema.graphql"), "utf8"));
  const inputValues = JSON.parse(readFileSync(join(project, "input-values.json"), "utf8"));
  return Object.fromEntries(
    operationFiles().map(({ path, client }) => {
      const source = new graphql.Source(readFileSync(join(project, path), "utf8"), path);
      return [modulePath(path), moduleOf(graphql, schema, inputValues, source, client)];
    }),
  );
}

/** Returns the module of the operations of a file. */
export function moduleOf(graphql, schema, inputValues, source, { folder, home, hasForms }) {
  const document = graphql.parse(source);
  const faults = graphql.validate(schema, document);
  if (faults.length > 0) throw new Error(faults.map(String).join("\n"));
  const types = new Types(graphql, schema, document);
  const constants = Object.entries(graphql.separateOperations(document)).map(([name, separate]) => {
    const operation = separate.definitions.find(({ kind }) => kind === graphql.Kind.OPERATION_DEFINITION);
    const fields = hasForms && inputOf(operation);
    const text = JSON.stringify(graphql.print(separate).replace(/\s+/g, " "));
    const input = fields ? `, ${JSON.stringify(fields)}` : "";
    const result = `${name}${operation.operation[0].toUpperCase()}${operation.operation.slice(1)}`;
    return `export type ${result} = ${types.resultOf(operation)};
export type ${result}Variables = ${types.variablesOf(operation)};
export const ${name} = operation<${result}, ${result}Variables>(${text}${input});\n`;
  });
  const fragments = [...types.fragments.values()].map(
    (fragment) => `export type ${fragment.name.value}Fragment = ${types.resultOf(fragment)};\n`,
  );
  const up = "../".repeat(relative(folder, source.name).split("/").length - 1) || "./";
  const head = `// Written by \`npm run console:types\` from ${basename(source.name)}.\nimport { operation } from "${up}${home}";\n`;
  return [head, ...types.named(), ...fragments, ...constants].join("\n");

  /** The fields of the input of a mutation, from which forms are made. */
  function inputOf({ variableDefinitions }) {
    const given = variableDefinitions.find(({ variable }) => variable.name.value === "input");
    return given && fieldsOf(graphql.getNamedType(graphql.typeFromAST(schema, given.type)));
  }

  /** The fields of an input type: type, whether it is required, choices, fields of its own, kind, and limits. */
  function fieldsOf(type) {
    return Object.fromEntries(
      Object.values(type.getFields()).map(({ name, type: field }) => {
        const named = graphql.getNamedType(field);
        const shape = { type: named.name, ...inputValues[type.name]?.[name] };
        if (graphql.isNonNullType(field)) shape.isRequired = true;
        if (graphql.isListType(graphql.getNullableType(field))) shape.isList = true;
        if (graphql.isEnumType(named)) shape.options = named.getValues().map((value) => value.name);
        if (graphql.isInputObjectType(named)) shape.fields = fieldsOf(named);
        return [name, shape];
      }),
    );
  }
}

/** The types of TypeScript of the operations of a document, and the enums and inputs that they name. */
export class Types {
  #graphql;
  #schema;
  #isOfTests;
  #named = new Map();

  /** Those of tests have no nulls, no names of enums, objects of JSON of every shape, and the fields of all types of a union. */
  constructor(graphql, schema, document, { isOfTests = false } = {}) {
    this.#isOfTests = isOfTests;
    this.#graphql = graphql;
    this.#schema = schema;
    this.fragments = new Map(
      document.definitions
        .filter(({ kind }) => kind === graphql.Kind.FRAGMENT_DEFINITION)
        .map((fragment) => [fragment.name.value, fragment]),
    );
  }

  /** The declarations of the named types, sorted by name. */
  named() {
    return [...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, declaration]) => declaration);
  }

  /** The data of an operation, or of a fragment. */
  resultOf({ operation, typeCondition, selectionSet }) {
    const type = operation ? this.#schema.getRootType(operation) : this.#schema.getType(typeCondition.name.value);
    return this.#shapeOf(type, [selectionSet]);
  }

  variablesOf({ variableDefinitions }) {
    const fields = variableDefinitions.map(({ variable, type, defaultValue }) =>
      this.#inputField(variable.name.value, this.#graphql.typeFromAST(this.#schema, type), defaultValue),
    );
    return fields.length > 0 ? `{ ${fields.join("; ")} }` : "Record<string, never>";
  }

  /** A field or variable, which may be left out if it can be null or has a default. */
  #inputField(name, type, defaultValue) {
    const isNullable = !this.#graphql.isNonNullType(type);
    const text = this.#wrapped(type, (named) => this.#nameOf(named));
    return `${name}${isNullable || defaultValue !== undefined ? "?" : ""}: ${text}${isNullable ? " | undefined" : ""}`;
  }

  /** The type around a named type, as `wrap` writes that one. */
  #wrapped(type, write) {
    const { isListType, isNonNullType } = this.#graphql;
    if (!isNonNullType(type)) {
      const present = this.#wrapped(new this.#graphql.GraphQLNonNull(type), write);
      return this.#isOfTests ? present : `${present} | null`;
    }
    return isListType(type.ofType) ? `Array<${this.#wrapped(type.ofType.ofType, write)}>` : write(type.ofType);
  }

  /** The name of a scalar, an enum, or an input, which is declared if need be. */
  #nameOf(type) {
    const { isEnumType, isScalarType } = this.#graphql;
    if (this.#isOfTests && type.name === "JSONObject") return "Anything";
    if (this.#isOfTests && isEnumType(type)) return "string";
    if (isScalarType(type)) return scalars[type.name] ?? fail(`The scalar ${type.name} has no type of TypeScript.`);
    if (this.#named.has(type.name)) return type.name;
    this.#named.set(type.name, "");
    const text = isEnumType(type)
      ? type
          .getValues()
          .map(({ name }) => `"${name}"`)
          .join(" | ")
      : `{ ${Object.values(type.getFields())
          .map(({ name, type: field, defaultValue }) => this.#inputField(name, field, defaultValue))
          .join("; ")} }`;
    this.#named.set(type.name, `export type ${type.name} = ${text};`);
    return type.name;
  }

  /** What is selected of an object: one shape for each of its possible types whose selections differ. */
  #shapeOf(type, selectionSets) {
    const possible = this.#graphql.isAbstractType(type) ? this.#schema.getPossibleTypes(type) : [type];
    const shapes = possible.map((each) => {
      const fields = new Map();
      for (const selectionSet of selectionSets) this.#collect(each, selectionSet, false, fields);
      const parts = [...fields].map(([key, field]) => this.#resultField(each, key, field));
      return parts.length > 0 ? `{ ${parts.join("; ")} }` : "Record<never, never>";
    });
    const distinct = [...new Set(shapes)];
    if (this.#isOfTests) return distinct.join(" & ");
    return distinct.length > 1 ? `(${distinct.join(" | ")})` : distinct[0];
  }

  /** Collects the selected fields of an object type by their keys, those of fragments included. */
  #collect(type, { selections }, isOptional, fields) {
    const { Kind } = this.#graphql;
    for (const selection of selections) {
      const isSkippable = isOptional || selection.directives.length > 0;
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const field = fields.get(key) ?? { name: selection.name.value, isOptional: true, selectionSets: [] };
        field.isOptional &&= isSkippable;
        if (selection.selectionSet) field.selectionSets.push(selection.selectionSet);
        fields.set(key, field);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments.get(selection.name.value) : selection;
      const condition = fragment.typeCondition && this.#schema.getType(fragment.typeCondition.name.value);
      const isFit = !condition || condition === type || this.#graphql.isAbstractType(condition);
      if (isFit && (!condition || condition === type || this.#schema.isSubType(condition, type)))
        this.#collect(type, fragment.selectionSet, isSkippable, fields);
    }
  }

  #resultField(type, key, { name, isOptional, selectionSets }) {
    const colon = isOptional ? "?:" : ":";
    if (name === "__typename") return `${key}${colon} ${this.#isOfTests ? "string" : `"${type.name}"`}`;
    const write = (named) => (selectionSets.length > 0 ? this.#shapeOf(named, selectionSets) : this.#nameOf(named));
    return `${key}${colon} ${this.#wrapped(type.getFields()[name].type, write)}`;
  }
}

function fail(message) {
  throw new Error(message);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeOperations();

// Generates the modules of the operations of the console and of the command line: beside each file of operations, such as
// clients/console/src/views/users.graphql, one with a constant for each operation and with the types of its variables and result.
// Run by `npm run console:types`, which installs the code generator with the other tools of the tests.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const project = fileURLToPath(new URL("..", import.meta.url));
const require = createRequire(join(project, "test/tools/package.json"));
const { codegen } = require("@graphql-codegen/core");
const typescriptOperations = require("@graphql-codegen/typescript-operations");
const graphql = require("graphql");

const schema = graphql.parse(readFileSync(join(project, "schema.graphql"), "utf8"));
const inputValues = JSON.parse(readFileSync(join(project, "input-values.json"), "utf8"));
const text = "string";
const config = {
  strictScalars: true,
  enumsAsTypes: true,
  scalars: {
    BigInt: "number",
    DateTime: text,
    EmailAddress: text,
    JSONObject: "Record<string, unknown>",
    URL: text,
    UUID: text,
  },
};

/** The programs with operations: their folder, the module in it that makes constants, and whether forms need inputs. */
const clients = [
  { folder: "clients/console/src", home: "api/operation", hasForms: true },
  { folder: "clients/cli", home: "operation.js", hasForms: false },
];

/** Returns the text of each generated module by its path. */
export async function generateTypes() {
  const modules = clients.flatMap((client) =>
    readdirSync(join(project, client.folder), { recursive: true })
      .filter((name) => name.endsWith(".graphql"))
      .map(async (name) => {
        const path = join(client.folder, name);
        return [path.replace(/\.graphql$/, ".gql.ts"), await moduleOf(path, client)];
      }),
  );
  return Object.fromEntries(await Promise.all(modules));
}

async function moduleOf(path, client) {
  const document = graphql.parse(readFileSync(join(project, path), "utf8"), { noLocation: true });
  const module = await codegen({
    schema,
    documents: [{ location: path, document }],
    filename: path,
    config,
    plugins: [
      { typescriptOperations: {} },
      { operations: { ...client, depth: relative(client.folder, path).split("/").length } },
    ],
    pluginMap: { typescriptOperations, operations: { plugin: operations } },
  });
  return `// Generated from ${basename(path)} by \`npm run console:types\`.\n${withoutComments(module)}`;
}

/** The descriptions of types are in the schema. */
const withoutComments = (module) => module.replace(/^ *\/\*\*[^]*?\*\/\n/gm, "");

/** A plugin that writes a constant for each operation: its text, and the fields of its input, from which forms are made. */
function operations(types, documents, { depth, home, hasForms }) {
  const definitions = documents.flatMap(({ document }) => document.definitions);
  const parts = graphql.separateOperations({ kind: graphql.Kind.DOCUMENT, definitions });
  const constants = Object.entries(parts).map(([name, document]) => {
    const operation = document.definitions.find(({ kind }) => kind === graphql.Kind.OPERATION_DEFINITION);
    const kind = operation.operation.charAt(0).toUpperCase() + operation.operation.slice(1);
    const body = JSON.stringify(graphql.print(document).replace(/\s+/g, " "));
    const input = hasForms && inputOf(types, operation);
    const shape = input ? `, ${JSON.stringify(input)}` : "";
    return `export const ${name} = operation<${name}${kind}, ${name}${kind}Variables>(${body}${shape});`;
  });
  const path = `${"../".repeat(depth - 1) || "./"}${home}`;
  return { prepend: [`import { operation } from "${path}";`], content: constants.join("\n") };
}

/** The fields of the input of a mutation. */
function inputOf(types, { variableDefinitions }) {
  const given = variableDefinitions.find(({ variable }) => variable.name.value === "input");
  return given && fieldsOf(graphql.getNamedType(graphql.typeFromAST(types, given.type)));
}

/** The fields of an input type: type, whether it is required, choices, fields of its own, kind, and limits. */
const fieldsOf = (type) =>
  Object.fromEntries(
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

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, module] of Object.entries(await generateTypes())) writeFileSync(join(project, path), module);

// Relay's compiler, on a fragment for each connection that pages through it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  isLeafType,
  isRequiredArgument,
} from "graphql";
import { filesIn, Project, root, schemaText } from "./project.js";

type Field = GraphQLField<unknown, unknown>;

const schema = buildSchema(schemaText);

const nodeOf = ({ type }: Field): GraphQLObjectType => {
  const connection = getNamedType(type) as GraphQLObjectType;
  return getNamedType(connection.getFields().nodes!.type) as GraphQLObjectType;
};

/** Writes a fragment in Relay's form: its arguments become those of the query for the next page. */
function fragmentOf(parent: GraphQLObjectType, field: Field): string {
  const required = field.args.filter(isRequiredArgument).map(({ name }) => `${name}: "default", `);
  const leaves = Object.values(nodeOf(field).getFields()).filter(({ type }) => isLeafType(getNamedType(type)));
  const name = `pages_${parent.name}_${field.name}`;
  return `graphql\`
    fragment ${name} on ${parent.name}
    @refetchable(queryName: "${name}Query")
    @argumentDefinitions(count: { type: "Int", defaultValue: 50 }, cursor: { type: "String" }) {
      ${field.name}(${required.join("")}first: $count, after: $cursor) @connection(key: "${name}_${field.name}") {
        edges { node { ${["__typename", ...leaves.map((leaf) => leaf.name)].join(" ")} } }
      }
    }\`;`;
}

interface CodegenConfig {
  generates: { "src/gql/": { config: { scalars: Record<string, string> } } };
}

/** The types of scalars in docs/clients.md, in Relay's form. */
async function scalarTypes(project: Project): Promise<Record<string, unknown>> {
  const { default: config } = (await project.load("codegen.ts")) as { default: CodegenConfig };
  const types = Object.entries(config.generates["src/gql/"].config.scalars).map(([scalar, type]) => {
    const [path, name] = type.split("#");
    return [scalar, name ? { name, path: "./src/json" } : path];
  });
  return Object.fromEntries(types) as Record<string, unknown>;
}

describe("Relay's compiler", () => {
  it("compiles a query for the next page of every connection of the roots", async () => {
    const query = schema.getQueryType()!;
    const connections = Object.values(query.getFields()).filter(({ type }) =>
      getNamedType(type).name.endsWith("Connection"),
    );
    expect(connections.map(({ name }) => name)).to.include.members(["users", "groups", "inboxNotifications"]);
    const source = connections.map((field) => fragmentOf(query, field)).join("\n");
    const project = new Project({
      ...filesIn(readFileSync(join(root, "docs/clients.md"), "utf8")),
      "src/pages.ts": `import { graphql } from "relay-runtime";\n${source}`,
    });
    try {
      const config = {
        src: "./src",
        schema: "./schema.graphql",
        language: "typescript",
        eagerEsModules: true,
        requireCustomScalarTypes: true,
        customScalarTypes: await scalarTypes(project),
      };
      project.write("relay.config.json", JSON.stringify(config));
      await project.run("relay-compiler");
      for (const { name } of connections) {
        const artifact = project.read(`src/__generated__/pages_Query_${name}Query.graphql.ts`);
        expect(artifact, name)
          .to.include("hasNextPage")
          .and.not.match(/: (any|unknown)\b/);
      }
    } finally {
      project.remove();
    }
  });
});

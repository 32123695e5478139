// Operations that use the whole schema: one for each root field, with all arguments and all fields of the result.
import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLNamedType,
  isLeafType,
  isObjectType,
  isUnionType,
} from "graphql";
import { schemaText } from "./project.js";

type Field = GraphQLField<unknown, unknown>;

/** Writes one operation. Collects the arguments of all fields as variables, named by the path of their field. */
class Operation {
  readonly #variables: string[] = [];
  readonly #selected = new Set<GraphQLNamedType>();

  constructor(
    private readonly kind: string,
    private readonly root: Field,
  ) {}

  text(): string {
    const selection = this.#select(this.root, []);
    const title = `Every${this.root.name[0]!.toUpperCase()}${this.root.name.slice(1)}`;
    const variables = this.#variables.length > 0 ? `(${this.#variables.join(", ")})` : "";
    return `${this.kind} ${title}${variables} { ${selection} }`;
  }

  #select({ name, args, type }: Field, around: readonly string[]): string {
    const path = [...around, name];
    const passed = args.map((argument) => {
      const variable = [...path, argument.name].join("_");
      this.#variables.push(`$${variable}: ${String(argument.type)}`);
      return `${argument.name}: $${variable}`;
    });
    return `${name}${passed.length > 0 ? `(${passed.join(", ")})` : ""} ${this.#within(getNamedType(type), path)}`;
  }

  /** Selects all fields of a type, where the operation first returns it. */
  #within(type: GraphQLNamedType, path: readonly string[]): string {
    if (isLeafType(type)) return "";
    if (this.#selected.has(type)) return "{ __typename }";
    this.#selected.add(type);
    if (isUnionType(type)) {
      const parts = type.getTypes().map((part) => `... on ${part.name} ${this.#within(part, path)}`);
      return `{ __typename ${parts.join(" ")} }`;
    }
    if (!isObjectType(type)) throw new Error(`${type.name} cannot be selected.`);
    const fields = Object.values(type.getFields()).map((field) => this.#select(field, path));
    return `{ __typename ${fields.join(" ")} }`;
  }
}

/** A module with these operations, for code generators to find. */
export function everyOperation(): string {
  const schema = buildSchema(schemaText);
  const operations = Object.entries({
    query: schema.getQueryType(),
    mutation: schema.getMutationType(),
    subscription: schema.getSubscriptionType(),
  }).flatMap(([kind, root]) => Object.values(root!.getFields()).map((field) => new Operation(kind, field).text()));
  const calls = operations.map((operation) => `graphql(\`${operation}\`);`);
  return ['import { graphql } from "./gql/index.js";', ...calls].join("\n");
}

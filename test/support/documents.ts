// Random documents and variables from a seeded generator, over a schema whose fields return their arguments.
import {
  buildSchema,
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from "graphql";
import { Random } from "./random.js";

const definitions = `
  scalar Marked
  scalar Free
  enum Color { RED GREEN BLUE }
  input Leaf { number: Int, required: String!, counted: Int! = 3, numbers: [Int!], marked: Marked, color: Color = GREEN }
  input Tree { leaf: Leaf, leaves: [Leaf!], grid: [[Int]!], tree: Tree, flag: Boolean = true, free: Free }
  interface Named { name(text: String): String, node: Node }
  type Person implements Named { name(text: String): String, node: Node, age(years: [Int!]): String }
  type Node implements Named {
    name(text: String): String
    plain(int: Int, float: Float, text: String, flag: Boolean, id: ID, color: Color, marked: Marked, free: Free): String
    strict(int: Int!, text: String! = "default", color: Color! = RED, numbers: [Int!]! = [1, 2]): String
    lists(ints: [Int], strict: [Int!]!, colors: [Color!] = [BLUE], grid: [[Int!]], marks: [Marked]): String
    trees(tree: Tree, leaf: Leaf!, trees: [Tree!], leaves: [Leaf] = [{ required: "x" }]): String
    failing(flag: Boolean! = true): String
    node: Node
    nodes(count: Int! = 2): [Node]
    named(person: Boolean! = false): Named
  }
  type Query { root: Node, many(count: Int = 1): [Node], plain(int: Int, text: String = "t", tree: Tree): String }`;

/** Builds a schema whose leaves return their arguments as JSON, including those that are `undefined`. */
export function echoSchema(): GraphQLSchema {
  const schema = buildSchema(definitions);
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith("__")) continue;
    if (isEnumType(type)) for (const each of type.getValues()) each.value = `internal ${each.name}`;
    // Makes a value visible that is coerced twice or not at all.
    if (type.name === "Marked" && isScalarType(type)) type.parseValue = (value) => `<${textOf(value)}>`;
    if (isInterfaceType(type)) type.resolveType = (value: { person?: boolean }) => (value.person ? "Person" : "Node");
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      field.extensions = { open: true };
      field.resolve = resolverOf(field);
    }
  }
  return schema;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError("Marked must be text.");
}

function resolverOf({ name, type }: GraphQLField<unknown, unknown>): GraphQLField<unknown, unknown>["resolve"] {
  if (name === "failing")
    return (_, { flag }) => {
      if (flag) throw new Error("The field failed.");
      return "fine";
    };
  if (name === "named") return async (_, { person }) => ({ person });
  if (getNamedType(type).name === "String") return (_, args) => JSON.stringify(sorted(args));
  if (name === "many" || name === "nodes")
    return async (_, { count }) => Array.from({ length: Math.min(3, Math.max(0, count ?? 0)) }, () => ({}));
  return () => ({});
}

const sorted = (value: unknown): unknown => {
  if (value === undefined) return "undefined";
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, each]) => [key, sorted(each)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
};

interface Declared {
  name: string;
  /** The type as written, `!` included. */
  type: string;
  of: GraphQLInputType;
  fallback?: string;
}

const nullable = (type: GraphQLInputType): GraphQLInputType => (isNonNullType(type) ? type.ofType : type);

/** One document, mostly valid, and the values of variables to execute it with. */
export class RandomDocument {
  readonly text: string;
  readonly #declared: Declared[] = [];
  readonly #fragments: string[] = [];

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly random: Random,
  ) {
    const set = this.#selection(schema.getQueryType()!, 3);
    const variables = this.#declared.map(
      ({ name, type, fallback }) => `$${name}: ${type}${fallback ? ` = ${fallback}` : ""}`,
    );
    const head = variables.length > 0 ? `query(${variables.join(", ")})` : "query";
    this.text = `${head} ${set} ${this.#fragments.join(" ")}`;
  }

  /** Absent, null, the default, another valid value, or one of a wrong type. */
  variables(): Record<string, unknown> {
    const { random } = this;
    const given = this.#declared.filter(({ type, fallback }) =>
      random.chance(type.endsWith("!") && !fallback ? 0.95 : 0.6),
    );
    return Object.fromEntries(
      given.map(({ name, of, type }) => {
        if (random.chance(0.04)) return [name, random.value(2)];
        if (random.chance(type.endsWith("!") ? 0.05 : 0.25)) return [name, null];
        return [name, this.#value(nullable(of), 3)];
      }),
    );
  }

  #selection(type: GraphQLNamedType, depth: number): string {
    const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
    const able = fields.filter((field) => depth > 1 || getNamedType(field.type).name === "String");
    const picked = Array.from({ length: 1 + this.random.below(3) }, () => this.random.one(able));
    const parts = picked.map((field) => {
      const written = this.#field(field, depth);
      if (this.random.chance(0.75)) return written;
      const on = this.random.chance(0.5) ? `on ${type.name}` : undefined;
      if (this.random.chance(0.5)) return `... ${on ?? ""} ${this.#directives()} { ${written} }`;
      const name = `F${this.#fragments.length}`;
      this.#fragments.push(`fragment ${name} on ${type.name} { ${written} }`);
      // Spread twice, with different conditions each time.
      return Array.from({ length: 1 + this.random.below(2) }, () => `...${name} ${this.#directives()}`).join(" ");
    });
    if (isInterfaceType(type)) parts.push("... on Person { age }", "__typename");
    return `{ ${parts.join(" ")} }`;
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const given = field.args.filter(({ type, defaultValue }) =>
      this.random.chance(isNonNullType(type) && defaultValue === undefined ? 1 : 0.5),
    );
    const args = given.map((arg) => `${arg.name}: ${this.#argument(arg)}`);
    const isLeaf = getNamedType(field.type).name === "String";
    // Fields without arguments share a response name and are merged.
    const alias = args.length > 0 || this.random.chance(0.3) ? `a${this.random.below(1000)}: ` : "";
    const set = isLeaf ? "" : this.#selection(getNamedType(field.type), depth - 1);
    return `${alias}${field.name}${args.length > 0 ? `(${args.join(", ")})` : ""} ${this.#directives()} ${set}`;
  }

  #directives(): string {
    if (this.random.chance(0.8)) return "";
    const condition = () =>
      this.random.chance(0.2)
        ? String(this.random.chance(0.5))
        : this.#variable("Boolean!", this.schema.getType("Boolean") as GraphQLInputType, true);
    return this.random
      .some(["skip", "include"])
      .map((name) => `@${name}(if: ${condition()})`)
      .join(" ");
  }

  #argument({ type, defaultValue }: GraphQLArgument): string {
    return this.#literal(type, 3, defaultValue !== undefined);
  }

  /** A literal that may contain variables, or a variable. */
  #literal(type: GraphQLInputType, depth: number, hasDefault: boolean): string {
    const { random } = this;
    if (random.chance(0.45)) return this.#variable(String(type), type, hasDefault);
    if (!isNonNullType(type) && random.chance(0.1)) return "null";
    const inner = nullable(type);
    if (isListType(inner)) {
      if (random.chance(0.1)) return this.#literal(inner.ofType, depth - 1, false);
      return `[${Array.from({ length: random.below(3) }, () => this.#literal(inner.ofType, depth - 1, false)).join(", ")}]`;
    }
    if (!isInputObjectType(inner)) return this.#constant(inner);
    const fields = Object.values(inner.getFields()).filter(({ type: of, defaultValue }) =>
      isNonNullType(of) && defaultValue === undefined ? true : depth > 0 && random.chance(0.4),
    );
    return `{ ${fields.map((field) => `${field.name}: ${this.#literal(field.type, depth - 1, field.defaultValue !== undefined)}`).join(", ")} }`;
  }

  /** A variable for a position of this type: an existing one, or a new one. */
  #variable(place: string, type: GraphQLInputType, hasDefault: boolean): string {
    const { random } = this;
    const alike = this.#declared.filter(
      (each) => nullable(each.of) === nullable(type) && (each.type.endsWith("!") || each.fallback),
    );
    if (alike.length > 0 && random.chance(0.4)) return `$${random.one(alike).name}`;
    const name = `v${this.#declared.length}`;
    const base = place.replace(/!$/, "");
    const isStrict = place.endsWith("!") ? !random.chance(hasDefault ? 0.5 : 0.3) : random.chance(0.3);
    // Nullable in a non-null position: valid if the variable or the position has a default.
    const needsDefault = place.endsWith("!") && !isStrict;
    const fallback = needsDefault || random.chance(0.3) ? this.#constant(nullable(type)) : undefined;
    this.#declared.push({ name, type: base + (isStrict ? "!" : ""), of: type, fallback });
    return `$${name}`;
  }

  #constant(type: GraphQLInputType): string {
    return writtenAs(this.#value(type, 2), type);
  }

  /** A value as passed in variables. */
  #value(type: GraphQLInputType, depth: number): unknown {
    const { random } = this;
    if (isNonNullType(type)) return this.#value(type.ofType, depth);
    if (isListType(type)) {
      if (random.chance(0.1)) return this.#value(type.ofType, depth - 1);
      return Array.from({ length: random.below(3) }, () => this.#value(type.ofType, depth - 1));
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(({ type: of, defaultValue }) =>
        isNonNullType(of) && defaultValue === undefined ? true : depth > 0 && random.chance(0.4),
      );
      return Object.fromEntries(
        fields.map((field) => [
          field.name,
          !isNonNullType(field.type) && random.chance(0.15) ? null : this.#value(field.type, depth - 1),
        ]),
      );
    }
    if (isEnumType(type)) return random.one(type.getValues()).name;
    switch (type.name) {
      case "Boolean":
        return random.chance(0.5);
      case "Int":
        return random.below(5) - 1;
      case "Float":
        return random.below(100) / 8;
      default:
        return random.one(["", "a", 'quo"ted', "\u2028", "__proto__"]);
    }
  }
}

/** A value as a GraphQL literal. */
function writtenAs(value: unknown, type: GraphQLInputType): string {
  const inner = nullable(type);
  if (value === null || value === undefined) return "null";
  if (isListType(inner)) {
    const items = Array.isArray(value) ? value : [value];
    return `[${items.map((each) => writtenAs(each, inner.ofType)).join(", ")}]`;
  }
  if (isInputObjectType(inner)) {
    const fields = inner.getFields();
    return `{ ${Object.entries(value)
      .map(([name, each]) => `${name}: ${writtenAs(each, fields[name]!.type)}`)
      .join(", ")} }`;
  }
  return isEnumType(inner) ? (value as string) : JSON.stringify(value);
}

// Hostile and plausible values from a seeded generator, so that a failed run can be repeated.
import {
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
  isUnionType,
  getNamedType,
} from "graphql";

const nasty = [
  "", " ", "a", "me", "default", "Everyone", "\0", "a\0b", "\ud800", "x\udfff", "é😀", "__proto__", "constructor", "null", "0", "-1", "1e999",
  "'; drop table users; --", "%", "%_\\", "../../etc/passwd", "{{7*7}}", "<b>&amp;</b>", "\r\nX-Injected: 1", "2026-02-30T25:61:61Z", "0000-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999+14:00", "99999999999999999999", "name:", "role:owner status:", 'q:"open', "created_after:yesterday", "x".repeat(5_000),
  Buffer.from('["x"]').toString("base64url"), Buffer.from('["00000000-0000-7000-8000-000000000000","2026-01-01T00:00:00.000Z"]').toString("base64url"),
]; // oxfmt-ignore
const numbers = [
  0,
  -0,
  1,
  -1,
  0.5,
  25,
  1000,
  1001,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 53 - 1,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
];

export interface JsonForm {
  type?: string;
  properties?: Record<string, JsonForm>;
  items?: JsonForm;
  additionalProperties?: JsonForm | boolean;
}

export class Random {
  #state: number;

  /** `known`: names and ids that exist. */
  constructor(
    seed: number,
    private readonly known: readonly string[],
  ) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below = (limit: number): number => Math.floor(this.next() * limit);
  chance = (probability: number): boolean => this.next() < probability;
  one = <Item>(items: readonly Item[]): Item => items[this.below(items.length)]!;
  some = <Item>(items: readonly Item[]): Item[] => items.filter(() => this.chance(0.5));

  text(): string {
    if (this.chance(0.4)) return this.one(this.known);
    if (this.chance(0.7)) return this.one(nasty);
    return String.fromCharCode(
      ...Array.from({ length: this.below(20) }, () => this.below(this.chance(0.8) ? 128 : 65_536)),
    );
  }

  /** Any JSON value. */
  value(depth = 3): unknown {
    const kind = this.below(depth > 0 ? 8 : 5);
    if (kind === 0) return null;
    if (kind === 1) return this.chance(0.5);
    if (kind === 2) return this.one(numbers);
    if (kind < 5) return this.text();
    if (kind < 6) return Array.from({ length: this.below(5) }, () => this.value(depth - 1));
    return Object.fromEntries(Array.from({ length: this.below(5) }, () => [this.text(), this.value(depth - 1)]));
  }

  /** A value that mostly matches the schema of an API description. */
  like(schema: JsonForm, depth = 3): unknown {
    if (this.chance(0.1)) return this.value(2);
    const { type, properties, items, additionalProperties } = schema;
    if (items) return Array.from({ length: this.below(4) }, () => this.like(items, depth - 1));
    if (properties)
      return Object.fromEntries(
        this.some(Object.entries(properties)).map(([name, each]) => [name, this.like(each, depth - 1)]),
      );
    if (typeof additionalProperties === "object") {
      return Object.fromEntries(
        Array.from({ length: this.below(4) }, () => [this.text(), this.like(additionalProperties, depth - 1)]),
      );
    }
    if (type === "integer" || type === "number") return this.one(numbers);
    return type === "boolean" ? this.chance(0.5) : this.text();
  }

  /** The text with a few characters removed, doubled, or replaced. */
  broken(text: string): string {
    let result = text;
    for (let times = 1 + this.below(4); times > 0; times--) {
      const place = this.below(result.length + 1);
      const inserted = this.chance(0.5) ? this.one("{}[]()\"':,\\$!@#\0é".split("")) : "";
      result = result.slice(0, place) + inserted + result.slice(place + this.below(3));
    }
    return result;
  }

  /** A value that mostly is valid for the GraphQL type. */
  input(type: GraphQLInputType, depth = 3): unknown {
    if (this.chance(0.1)) return this.value(2);
    if (isNonNullType(type)) return this.input(type.ofType, depth);
    if (isListType(type)) return Array.from({ length: this.below(4) }, () => this.input(type.ofType, depth - 1));
    if (isEnumType(type)) return this.one(type.getValues()).name;
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        (field) => depth > 0 && (isNonNullType(field.type) || this.chance(0.6)),
      );
      return Object.fromEntries(fields.map((field) => [field.name, this.input(field.type, depth - 1)]));
    }
    if (type.name === "Boolean") return this.chance(0.5);
    if (type.name === "Int" || type.name === "BigInt" || type.name === "Float") return this.one(numbers);
    return type.name === "JSONObject" ? {} : this.text();
  }

  /** An operation with one root field, random variables, and a random selection. */
  operation(keyword: string, field: GraphQLField<unknown, unknown>, schema: GraphQLSchema) {
    const declared: string[] = [];
    const variables: Record<string, unknown> = {};
    const written = this.#field(field, schema, 4, (arg) => {
      const name = `v${declared.length}`;
      declared.push(`$${name}: ${String(arg.type)}`);
      variables[name] = this.input(arg.type);
      return `$${name}`;
    });
    return { query: `${keyword} ${declared.length > 0 ? `(${declared.join(", ")})` : ""} { ${written} }`, variables };
  }

  #field(
    field: GraphQLField<unknown, unknown>,
    schema: GraphQLSchema,
    depth: number,
    variable: (arg: GraphQLArgument) => string,
  ): string {
    const given = field.args
      .filter((arg) => isNonNullType(arg.type) || this.chance(0.3))
      .map((arg) => `${arg.name}: ${variable(arg)}`);
    const set = this.#selection(getNamedType(field.type), schema, depth, variable);
    return `${field.name}${given.length > 0 ? `(${given.join(", ")})` : ""} ${set}`;
  }

  #selection(
    type: GraphQLNamedType,
    schema: GraphQLSchema,
    depth: number,
    variable: (arg: GraphQLArgument) => string,
  ): string {
    if (isUnionType(type)) {
      return `{ __typename ${schema
        .getPossibleTypes(type)
        .map((member) => `... on ${member.name} { __typename }`)
        .join(" ")} }`;
    }
    if (!isObjectType(type) && !isInterfaceType(type)) return "";
    const fields = Object.values(type.getFields()).filter(
      (field) => depth > 1 || !isObjectType(getNamedType(field.type)),
    );
    const parts = this.some(fields).map((field, n) => `f${n}: ${this.#field(field, schema, depth - 1, variable)}`);
    return `{ __typename ${parts.join(" ")} }`;
  }
}

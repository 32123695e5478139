import { isDeepStrictEqual } from "node:util";
import type { GraphQLEnumType } from "graphql";
import { snakeCase } from "../spelling.js";

/** A part of the description. */
export type Json = Record<string, unknown>;

/** A schema with the name under which descriptions list it. */
export interface NamedSchema {
  name: string;
  schema: Json;
}

const scalars: Record<string, Json> = {
  UUID: { type: "string", format: "uuid" },
  DateTime: { type: "string", format: "date-time" },
  EmailAddress: { type: "string", format: "email" },
  URL: { type: "string", format: "uri-reference", examples: ["https://example.com/"] },
  Boolean: { type: "boolean" },
  Int: { type: "integer", format: "int32" },
  BigInt: { type: "integer", format: "int64" },
  Float: { type: "number" },
  JSONObject: { type: "object", additionalProperties: true },
};

/** The schema of a scalar; text unless the scalar is known as something else. */
export const scalar = (name: string): Json => scalars[name] ?? { type: "string" };

/** The content of a body in each media type of a dialect. */
export const contentOf = (
  { mediaTypes = ["application/json"] }: { mediaTypes?: readonly string[] },
  content: Json,
): Json => Object.fromEntries(mediaTypes.map((type) => [type, content]));

/** The schema of one text. */
export const constant = (text: string): Json => ({ type: "string", const: text });

/** Spells the names of fields in a text as they are on the wire: `totalCount` → `total_count`. */
export const onTheWire = (text: string | undefined): string | undefined =>
  text?.replace(/`[a-z]+(?:[A-Z][a-z]*)+`/g, snakeCase);

/** The named schemas of a description: a name stands for one schema. */
export class NamedSchemas {
  readonly #all: Record<string, Json> = {};

  /** All schemas by their names, sorted. */
  get all(): Json {
    return Object.fromEntries(Object.entries(this.#all).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Names a schema, and returns the reference to it. */
  addNamed(name: string, schema: Json): Json {
    const known = (this.#all[name] ??= schema);
    if (!isDeepStrictEqual(known, schema))
      throw new Error(`Two schemas would be named ${name}: select one of them by a fragment with a name of its own.`);
    return { $ref: `#/components/schemas/${name}` };
  }

  enumeration(type: GraphQLEnumType): Json {
    const values = type.getValues().map(({ value, description }) => ({ value: String(value), description }));
    const list = values.map(({ value, description }) => `- \`${value}\`: ${description}`);
    return this.addNamed(type.name, {
      type: "string",
      enum: values.map(({ value }) => value),
      description: `${type.description}\n\n${list.join("\n")}`,
    });
  }
}

/** Schemas without names: each stands where it is used. */
export class InlineSchemas extends NamedSchemas {
  override addNamed(_name: string, schema: Json): Json {
    return schema;
  }
}

/** An object with these properties, of which some may be absent. */
export function objectOf(properties: ReadonlyArray<readonly [name: string, schema: Json, isRequired: boolean]>): Json {
  const required = properties.filter(([, , isRequired]) => isRequired).map(([name]) => name);
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, schema])),
  };
}

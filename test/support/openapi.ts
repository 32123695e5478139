// The OpenAPI description of a server, as its tests read it.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { plainRoutes } from "./catalog.js";
import type { World } from "./world.js";

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  enum?: string[];
  const?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: Schema;
}

interface Response {
  $ref?: string;
  description?: string;
  content?: Record<string, { schema: Schema; example?: object }>;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Array<Record<string, string[]>>;
  "x-required-scopes"?: string[];
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: Schema; example?: Record<string, unknown> } } };
  responses: Record<string, Response>;
}

export interface Described {
  /** `GET /api/v2/groups/{group}`. */
  name: string;
  method: string;
  path: string;
  operation: Operation;
}

export class Description {
  /** Those of rows. */
  readonly operations: readonly Described[];
  /** Those of routes that are not rows. */
  readonly plain: readonly Described[];

  constructor(
    readonly document: {
      openapi: string;
      info: { title: string; version: string; license: object };
      servers: Array<{ url: string }>;
      tags: Array<{ name: string; description: string }>;
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, Schema>; responses: Record<string, Response>; securitySchemes: object };
    },
  ) {
    const all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([key, operation]) => {
        const method = key.toUpperCase();
        return { name: `${method} ${path}`, method, path, operation };
      }),
    );
    this.operations = all.filter(({ path }) => !(path in plainRoutes));
    this.plain = all.filter(({ path }) => path in plainRoutes);
  }

  static of = async (w: World): Promise<Description> => new Description((await w.nobody.get("/openapi.json")).body);

  /** The schema that a reference leads to, or the schema itself. */
  resolved = (schema: Schema): Schema =>
    schema.$ref ? this.document.components.schemas[schema.$ref.split("/").at(-1)!]! : schema;

  /** The schema of the failures of an operation with a status. */
  failureOf = ({ responses }: Operation, status: number): Schema =>
    this.document.components.responses[responses[status]!.$ref!.split("/").at(-1)!]!.content!["application/json"]!
      .schema;

  /** The schema of a request body. */
  bodyOf = ({ requestBody }: Operation): Schema | undefined =>
    requestBody && this.resolved(requestBody.content["application/json"].schema);

  /** Compiles a schema. It accepts no properties besides the described ones. */
  validator(schema: Schema): ValidateFunction {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
    formats.default(ajv);
    for (const format of ["int32", "int64"]) ajv.addFormat(format, true);
    ajv.addKeyword("components");
    return ajv.compile({ ...closed(schema), components: { schemas: closed(this.document.components.schemas) } });
  }
}

/** The same with `additionalProperties: false` in each object of known properties. */
function closed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(closed) as Value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, closed(each)]);
  const isObject = "properties" in value && "type" in value;
  return Object.fromEntries(isObject ? [...entries, ["additionalProperties", false]] : entries);
}

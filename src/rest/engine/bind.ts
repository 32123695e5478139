import {
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  valueFromASTUntyped,
} from "graphql";
import type * as z from "zod/mini";
import { Problems } from "../../domain/kernel/errors.js";
import { truthOf } from "../../runtime/text.js";
import { accessOf, entryKeyOf } from "../../graphql/engine/access.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { fieldsOf, type Reader, readerOf, type Variable, type Variables } from "../../graphql/engine/variables.js";
import { bearerOf } from "../../http/credentials.js";
import type { Route } from "./area.js";
import type { Dialect } from "./dialects.js";
import { step } from "./shapes.js";
import { asOnTheWire, snakeCase } from "./spelling.js";

/** The parts of a request, in wire form. */
export interface WireRequest {
  path: Record<string, string>;
  query: URLSearchParams;
  headers: NodeJS.Dict<string | string[]>;
  /** The parsed body, for operations that read one. */
  body: Record<string, unknown>;
}

/** Turns a request into the variables of an operation, and field names in faults back into their wire names. */
export interface Binding {
  readonly readsBody: boolean;
  /** Whether a variable takes the token of `Authorization: Bearer`. */
  readonly readsBearer: boolean;
  readonly parameters: readonly Parameter[];
  /** Throws BAD_USER_INPUT with every fault of form. */
  variables(request: WireRequest): Variables;
  /** `addUsers[2]` → `add_users[2]`, by the argument paths that the variables fill. */
  wireField(field: string, variables: Variables): string;
}

/** A value of a request, as the API description states it. */
export interface Given {
  /** Its name on the wire. */
  name: string;
  type: GraphQLInputType;
  isRequired: boolean;
  /** Null and "" are accepted as well: they clear the value. */
  isClearable?: true;
  /** The value that stands for an absent one. */
  otherwise: unknown;
  value: z.core.$ZodType | undefined;
  description: string | undefined;
}

/** A variable, or a field of the variable `$input`. */
export interface Parameter extends Given {
  in: "path" | "header" | "query" | "body";
}

/** Reads a variable from a request, and notes faults by the part of the request that they are in. */
type Take = (request: WireRequest, problems: Record<"query" | "body", Problems>) => unknown;

/** The parameters that a variable takes its value from. */
interface Source {
  parameters: readonly Parameter[];
  /** Whether it takes the token of `Authorization: Bearer`, which is no parameter: it has a header of its own. */
  readsBearer?: boolean;
  take: Take;
}

const withBody = new Set(["POST", "PUT", "PATCH"]);

/**
 * A variable is a wire name: it comes from the path if named there, else from a header the row names, else from the
 * body (POST, PUT, PATCH), else from the query string. `$input` is the whole body with the path parameters on top.
 */
export function bindingOf(route: Route, { name: operationName, variables: declared }: StoredOperation): Binding {
  const { method, path, options } = route;
  const sources = declared.map((variable) => ({ name: variable.name, ...sourceOf(route, variable) }));
  const parameters = sources.flatMap((source) => source.parameters);
  const unused = namesIn(path).filter((name) => !parameters.some((each) => each.in === "path" && each.name === name));
  if (unused.length > 0) throw new Error(`${method} ${path}: ${operationName} does not use ${unused.join(", ")}.`);
  return {
    readsBody: withBody.has(method) && parameters.some((each) => each.in === "body"),
    readsBearer: sources.some((source) => source.readsBearer),
    parameters,
    variables(request) {
      const problems = { query: new Problems(), body: new Problems() };
      const values: Variables = {};
      for (const { name, take } of sources) {
        const value = take(request, problems);
        if (value !== undefined) values[name] = value;
      }
      problems.query.throwIfAny("Query parameters have invalid values.");
      problems.body.throwIfAny();
      return values;
    },
    wireField: options.document === undefined ? wireFields(declared) : (field) => field,
  };
}

/** The parameters of a path. */
const namesIn = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);

function sourceOf({ method, path, options, dialect, isPage }: Route, variable: Variable): Source {
  const { name, type } = variable;
  const read = readerOf(variable, asOnTheWire);
  if (options.document === name) return { parameters: [parameterOf("body", variable)], take: ({ body }) => body };
  if (namesIn(path).includes(name)) return fromPath(variable, read);
  if (dialect.bearer === name) return fromBearer(variable, read);
  const header = Object.entries(options.headers ?? {}).find(([, filled]) => filled === name)?.[0];
  if (header !== undefined) return fromHeader(header, variable, read);
  const isInput = name === "input" && isInputObjectType(getNamedType(type));
  if (isInput && isPage) return fromWholeQuery(variable, read);
  if (isInput) return fromAll(path, dialect, variable, read);
  if (options.clearable === name) return fromClearable(variable, read);
  return withBody.has(method) && options.document === undefined
    ? fromBody(variable, read)
    : fromQuery(variable, read, dialect.keepsEmpty?.includes(name));
}

/** A variable as a parameter. */
const parameterOf = (place: Parameter["in"], { defaultValue, ...variable }: Variable): Parameter => ({
  ...variable,
  in: place,
  isRequired: isNonNullType(variable.type) && !defaultValue,
  otherwise: defaultValue && valueFromASTUntyped(defaultValue),
});

/** A field of an input object as it is on the wire. */
export const fieldOnTheWire = (field: GraphQLInputField): Given => ({
  name: snakeCase(field.name),
  type: field.type,
  isRequired: isRequiredInputField(field),
  otherwise: field.defaultValue,
  value: accessOf(field).value,
  description: field.description ?? undefined,
});

function fromPath(variable: Variable, read: Reader): Source {
  const { name, type } = variable;
  const convert = converter(type);
  const take: Take = ({ path }, { body }) => read(convert(path[name]!), name, body);
  return { parameters: [parameterOf("path", variable)], take };
}

const fromHeader = (name: string, variable: Variable, read: Reader): Source => ({
  parameters: [{ ...parameterOf("header", variable), name }],
  take: ({ headers }, { body }) => read(headers[name], name, body),
});

const fromBearer = ({ name }: Variable, read: Reader): Source => ({
  parameters: [],
  readsBearer: true,
  take: ({ headers }, { body }) => read(bearerOf(headers), name, body),
});

const fromBody = (variable: Variable, read: Reader): Source => ({
  parameters: [parameterOf("body", variable)],
  take: ({ body: content }, { body }) => read(content[variable.name], variable.name, body),
});

/** A value of the body that must be present: null and "" both mean that there is to be none. */
const fromClearable = (variable: Variable, read: Reader): Source => ({
  parameters: [{ ...parameterOf("body", variable), isRequired: true, isClearable: true }],
  take({ body: { [variable.name]: value } }, { body }) {
    if (value === undefined) return body.add(variable.name, "Is required.");
    return value === null || value === "" ? null : read(value, variable.name, body);
  },
});

/** The input object of an operation: each field is a parameter of its own. */
function fromAll(
  path: string,
  { bearer, repeatsPath, derived = [] }: Dialect,
  { type }: Variable,
  read: Reader,
): Source {
  const fields = fieldsOf(type).map(fieldOnTheWire);
  const isInPath = ({ name }: Given) => namesIn(path).includes(name);
  const inPath = fields.filter(isInPath).map(({ name }) => name);
  const inBody = fields.filter((field) => !isInPath(field)).map(({ name }) => name);
  const parameters = fields
    .filter(({ name }) => name !== bearer && !derived.includes(name))
    .map((field): Parameter => ({ ...field, in: isInPath(field) ? "path" : "body" }));
  const readsBearer = bearer !== undefined && inBody.includes(bearer);
  const take: Take = ({ path: values, headers, body: content }, { body }) => {
    if (repeatsPath) for (const name of inPath) checkRepeated(name, content[name], values[name]!, body);
    // Only what the operation knows: copying thousands of other fields would take longer than parsing them.
    const given: Record<string, unknown> = {};
    for (const name of inBody) if (Object.hasOwn(content, name)) given[name] = content[name];
    for (const name of inPath) given[name] = values[name];
    if (readsBearer) given[bearer] = bearerOf(headers);
    return read(given, "", body);
  };
  return { parameters, readsBearer, take };
}

/** The field of the input object of a page that has the names of the parameters that are given more than once. */
const repeatedParameters = "repeated_parameters";

/** The input object of a page: each field is a query parameter. Lists are given by repetition. */
function fromWholeQuery({ type }: Variable, read: Reader): Source {
  const parameters = fieldsOf(type)
    .map((field): Parameter => ({ ...fieldOnTheWire(field), in: "query" }))
    .filter(({ name }) => name !== repeatedParameters);
  const take: Take = ({ query }, { query: problems }) => {
    const content: Record<string, unknown> = {};
    const repeated: string[] = [];
    for (const { name, type: declared } of parameters) {
      const given = query.getAll(name).filter(Boolean);
      if (isListType(getNullableType(declared))) content[name] = given;
      else if (given.length > 1) repeated.push(name);
      else content[name] = given[0];
    }
    return read({ ...content, ...(repeated.length > 0 && { [repeatedParameters]: repeated }) }, "", problems);
  };
  return { parameters, take };
}

function checkRepeated(name: string, repeated: unknown, value: string, problems: Problems): void {
  const isSame = typeof repeated === "string" && repeated.toLowerCase() === value.toLowerCase();
  if (repeated != null && !isSame) problems.add(name, "Must be the same as in the path.");
}

/**
 * A query parameter. An empty value counts as absent unless `keepsEmpty`, a repeated parameter is a fault unless it is
 * a list, and text is converted to the type.
 */
function fromQuery(variable: Variable, read: Reader, keepsEmpty = false): Source {
  const { name, type } = variable;
  const isList = isListType(getNullableType(type));
  const convert = converter(type);
  const take: Take = ({ query }, { query: problems }) => {
    const given = query.getAll(name).filter((text) => keepsEmpty || text !== "");
    if (given.length === 0) return read(undefined, name, problems);
    if (isList) return read(given.join().split(",").filter(Boolean), name, problems);
    return given.length > 1 ? problems.add(name, "Must be given once.") : read(convert(given[0]!), name, problems);
  };
  return { parameters: [parameterOf("query", variable)], take };
}

/** Reads text as a value of the type. Numbers have one spelling each: in a path, they are names. */
function converter(type: GraphQLInputType): (text: string) => unknown {
  switch (getNamedType(type).name) {
    case "Boolean":
      return (text) => truthOf(text) ?? text;
    case "Int":
    case "BigInt":
      return (text) => (/^(0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : text);
    default:
      return (text) => text;
  }
}

/** Maps argument paths back to the variables that fill them, in wire names. */
function wireFields(variables: readonly Variable[]): Binding["wireField"] {
  const filled = variables.map((variable) => ({ ...variable, path: variable.path.replace(/^input\.?/, "") }));
  const whole = filled.find(({ path }) => path === "");
  const parts = filled.filter(({ path }) => path !== "");
  return (field, values) => {
    for (const { name, type, path } of parts) {
      if (field === path) return name;
      if (field.startsWith(`${path}.`) || field.startsWith(`${path}[`))
        return name + wireTail(field.slice(path.length), values[name], type);
    }
    // Faults of form already have the name, of which the contract spells some with capitals.
    if (parts.some(({ name }) => name === field)) return field;
    return wireTail(`.${field}`, whole && values[whole.name], whole?.type).slice(1);
  };
}

/** Spells the rest of a field's path; an index into a list of entries with a key becomes that key. */
function wireTail(tail: string, value: unknown, type: GraphQLInputType | undefined): string {
  let at = value;
  let declared = getNullableType(type);
  let spelled = "";
  for (const [, name, index] of tail.matchAll(/\.([^.[]+)|\[(\d+)\]/g)) {
    if (name !== undefined) {
      spelled += `.${snakeCase(name)}`;
      at = step(at, name);
      declared = isInputObjectType(declared) ? getNullableType(declared.getFields()[name]?.type) : undefined;
    } else {
      declared = isListType(declared) ? getNullableType(declared.ofType) : undefined;
      at = step(at, index!);
      const key = entryKeyOf(declared);
      spelled += key ? `.${String(step(at, key))}` : `[${index}]`;
    }
  }
  return spelled;
}

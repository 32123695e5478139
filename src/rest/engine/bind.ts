import {
  getNamedType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
  type VariableDefinitionNode,
} from "graphql";
import { Problems } from "../../domain/kernel/errors.js";
import { truthOf } from "../../domain/kernel/text.js";
import {
  argumentPaths,
  entryKeyOf,
  type Reader,
  rulesOfVariables,
  type Variables,
  variableReader,
} from "../../graphql/engine/variables.js";
import type { Row } from "./area.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { asOnTheWire, snakeCase } from "./spelling.js";

/** What a request brings, still in wire form. */
export interface WireRequest {
  path: Record<string, string>;
  query: URLSearchParams;
  headers: NodeJS.Dict<string | string[]>;
  /** The parsed body, for operations that read one. */
  body: Record<string, unknown>;
}

/** Turns a request into the variables of an operation, and faults of fields back into the names the caller wrote. */
export interface Binding {
  readonly readsBody: boolean;
  readonly sources: ReadonlyArray<{ name: string; from: Source; type: GraphQLInputType }>;
  /** Throws BAD_USER_INPUT with every fault of form. */
  variables(request: WireRequest): Variables;
  /** `addUsers[2]` → `add_users[2]`, by the way the variables took. */
  wireField(field: string, variables: Variables): string;
}

export type Source = "path" | "query" | "header" | "body" | "input";

type Take = (request: WireRequest, problems: Record<"query" | "body", Problems>) => unknown;

const withBody = new Set(["POST", "PUT", "PATCH"]);

/**
 * A variable is a wire name: it comes from the path if named there, else from a header the row names, else from the
 * body (POST, PUT, PATCH), else from the query string. `$input` is the whole body with the path parameters on top.
 */
export function bindingOf(
  schema: GraphQLSchema,
  [method, path, , , options]: Row,
  operation: StoredOperation,
): Binding {
  const inPath = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
  const unused = new Set(inPath);
  const rules = rulesOfVariables(schema, operation.document);
  const variables = (operation.definition.variableDefinitions ?? []).map((definition) => {
    const name = definition.variable.name.value;
    const type = typeOf(schema, definition);
    const from = sourceOf(name, type);
    for (const used of from === "input" ? inputParameters(type, inPath) : [name]) unused.delete(used);
    return { name, type, from, take: takeOf(name, type, from, definition) };
  });
  if (unused.size > 0) throw new Error(`${method} ${path}: ${operation.name} does not use ${[...unused].join(", ")}.`);

  function sourceOf(name: string, type: GraphQLInputType): Source {
    if (inPath.includes(name)) return "path";
    if (Object.values(options?.headers ?? {}).includes(name)) return "header";
    if (name === "input" && isInputObjectType(getNamedType(type))) return "input";
    return withBody.has(method) ? "body" : "query";
  }

  function takeOf(name: string, type: GraphQLInputType, from: Source, { defaultValue }: VariableDefinitionNode): Take {
    const read = variableReader(type, defaultValue !== undefined, asOnTheWire, rules.get(name));
    if (from === "path") {
      const convert = converter(type);
      return ({ path: { [name]: text } }, { body }) => read(convert(text!), name, body);
    }
    if (from === "header") {
      const header = Object.entries(options!.headers!).find(([, variable]) => variable === name)![0];
      return ({ headers }, { body }) => read(headers[header], header, body);
    }
    if (from === "query") return fromQuery(name, type, read);
    if (from === "body") return ({ body: content }, { body }) => read(content[name], name, body);
    const parameters = inputParameters(type, inPath);
    return ({ path: values, body: content }, { body }) =>
      read({ ...content, ...Object.fromEntries(parameters.map((key) => [key, values[key]])) }, "", body);
  }

  const allInPath = (type: GraphQLInputType) => inputParameters(type, inPath).length === inputFields(type).length;

  return {
    readsBody:
      withBody.has(method) &&
      variables.some(({ type, from }) => from === "body" || (from === "input" && !allInPath(type))),
    sources: variables,
    variables(request) {
      const problems = { query: new Problems(), body: new Problems() };
      const values: Variables = {};
      for (const { name, take } of variables) {
        const value = take(request, problems);
        if (value !== undefined) values[name] = value;
      }
      problems.query.throwIfAny("Query parameters have invalid values.");
      problems.body.throwIfAny();
      return values;
    },
    wireField: wireFields(operation, new Map(variables.map(({ name, type }) => [name, type]))),
  };
}

function typeOf(schema: GraphQLSchema, { type }: VariableDefinitionNode): GraphQLInputType {
  return typeFromAST(schema, type as never) as unknown as GraphQLInputType;
}

/** The path parameters that an input object has fields for. */
function inputParameters(type: GraphQLInputType, inPath: string[]): string[] {
  const fields = new Set(inputFields(type).map(snakeCase));
  return inPath.filter((name) => fields.has(name));
}

const inputFields = (type: GraphQLInputType) => Object.keys((getNamedType(type) as GraphQLInputObjectType).getFields());

/** A query parameter: empty is absent, twice is a fault unless it is a list, text becomes what the type reads. */
function fromQuery(name: string, type: GraphQLInputType, read: Reader): Take {
  const inner = isNonNullType(type) ? type.ofType : type;
  const convert = isListType(inner) ? undefined : converter(inner);
  return ({ query }, { query: problems }) => {
    const given = query.getAll(name).filter((text) => text !== "");
    if (given.length === 0) return read(undefined, name, problems);
    if (!convert)
      return read(
        given.flatMap((text) => text.split(",")).filter((text) => text !== ""),
        name,
        problems,
      );
    if (given.length > 1) return problems.add(name, "Must be given once.");
    return read(convert(given[0]!), name, problems);
  };
}

/** Reads text as a value of the type. Numbers have one spelling each: in a path, they are names. */
function converter(type: GraphQLInputType): (text: string) => unknown {
  if (isEnumType(type)) return (text) => text;
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

/** Reads the way from variables to arguments backwards. */
function wireFields(operation: StoredOperation, types: Map<string, GraphQLInputType>): Binding["wireField"] {
  const ways = [...argumentPaths(operation.document)].map(([variable, argument]) => ({
    variable,
    argument: argument.replace(/^input\.?/, ""),
  }));
  return (field, variables) => {
    for (const { variable, argument } of ways) {
      if (argument === "") continue;
      if (field === argument) return variable;
      if (field.startsWith(`${argument}.`) || field.startsWith(`${argument}[`)) {
        return variable + wireTail(field.slice(argument.length), variables[variable], types.get(variable));
      }
    }
    const whole = ways.find(({ argument }) => argument === "");
    return wireTail(`.${field}`, whole && variables[whole.variable], whole && types.get(whole.variable)).slice(1);
  };
}

/** Spells the rest of a field's path; an index into a list of entries with a key becomes that key. */
function wireTail(tail: string, value: unknown, type: GraphQLInputType | undefined): string {
  let [at, declared, spelled] = [value, type && nullable(type), ""];
  for (const [, name, index] of tail.matchAll(/\.([^.[]+)|\[(\d+)\]/g)) {
    if (name !== undefined) {
      spelled += `.${snakeCase(name)}`;
      at = (at as Record<string, unknown> | undefined)?.[name];
      const field = isInputObjectType(declared) ? declared.getFields()[name] : undefined;
      declared = field && nullable(field.type);
    } else {
      const item: GraphQLInputType | undefined = isListType(declared) ? nullable(declared.ofType) : undefined;
      at = (at as unknown[] | undefined)?.[Number(index)];
      const key = entryKeyOf(item);
      spelled += key ? `.${String((at as Record<string, unknown> | undefined)?.[key])}` : `[${index}]`;
      declared = item;
    }
  }
  return spelled;
}

const nullable = (type: GraphQLInputType): GraphQLInputType => (isNonNullType(type) ? type.ofType : type);

// What can be read by GraphQL, from the description: root fields, lists, and arguments with the values that are known.
import { readFileSync } from "node:fs";
import {
  buildSchema,
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLObjectType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { graphql } from "../requests.js";
import { type Role, tokenOf } from "./known.js";
import { range, valuesOf } from "./values.js";

export type Field = GraphQLField<unknown, unknown>;
export type Variables = Readonly<Record<string, unknown>>;
type Argument = GraphQLArgument | GraphQLInputField;

/** Fields in each other, such as a list of an object that a root field returns, each with its arguments. */
export type Path = ReadonlyArray<{ field: Field; given: Variables }>;

/** An argument that narrows a list. Two of different keys narrow it together. */
export interface Narrowing {
  key: string;
  what: string;
  given: Variables;
}

/** The description that the server's own tests compare it with. */
const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));

export const rootFields: readonly Field[] = Object.values(schema.getQueryType()!.getFields());

const pageArguments = new Set(["first", "after", "last", "before", "offset", "orderBy"]);

const typeOf = ({ type }: Field) => getNamedType(type);

export function fieldsOf(field: Field): Readonly<Record<string, Field>> {
  const type = typeOf(field);
  return isObjectType(type) ? type.getFields() : {};
}

/** Whether the field is a list with pages. */
export const isConnection = (field: Field) =>
  field.args.some(({ name }) => name === "offset") && "nodes" in fieldsOf(field);

/** The lists of an object. They are measured at the root field that is named as its type, and at the group of all users. */
export function listsOf(field: Field): Field[] {
  const { name } = typeOf(field);
  const isUsual = field.name.toLowerCase() === name.toLowerCase() || field.name === "groupByName";
  return isUsual ? Object.values(fieldsOf(field)).filter(isConnection) : [];
}

/** All combinations of values of the required arguments; none if one has no known value. */
export const requiredOf = (field: Field): Variables[] =>
  field.args
    .filter((each) => isRequiredArgument(each))
    .reduce<Variables[]>(
      (all, argument) =>
        all.flatMap((each) => (knownOf(field, argument) ?? []).map((value) => ({ ...each, [argument.name]: value }))),
      [{}],
    );

/** The values of an argument or of a field of a filter; null if it is left out, undefined if none is known. */
function knownOf({ name: field }: Field, { name, type }: Argument, within = "") {
  const named = getNamedType(type);
  const values = valuesOf(`${field}.${within}${name}`, `${field}.${name}`, named.name, name);
  if (values !== undefined) return values;
  if (named.name === "Boolean") return [true, false];
  if (!isEnumType(named)) return undefined;
  const all = named.getValues().map((each) => each.name);
  return isListType(getNullableType(type)) ? all.map((each) => [each]) : all;
}

/** The optional arguments of a field with each of their values, and those without one. Two times are a range. */
export function narrowingsOf(field: Field): { narrowings: Narrowing[]; unknown: string[] } {
  const unknown: string[] = [];
  const byValues = (argument: Argument, filter?: string): Narrowing[] => {
    const { name: key, type } = argument;
    const given = (value: Variables) => (filter ? { [filter]: value } : value);
    if (getNamedType(type).name === "DateTime") {
      if (!/after$/i.test(key)) return [];
      const before = key.replace("after", "before").replace("After", "Before");
      return [{ key, what: `${key} and ${before}`, given: given({ [key]: range.from, [before]: range.until }) }];
    }
    const values = knownOf(field, argument, filter && `${filter}.`);
    if (values === undefined) unknown.push(key);
    return (values ?? []).map((value) => ({ key, what: `${key} ${shown(value)}`, given: given({ [key]: value }) }));
  };
  const isPaged = isConnection(field);
  const narrowings = field.args
    .filter((each) => !isRequiredArgument(each) && !(isPaged && pageArguments.has(each.name)))
    .flatMap((argument) => {
      const type = getNullableType(argument.type);
      if (!isInputObjectType(type)) return byValues(argument);
      return Object.values(type.getFields()).flatMap((each) => byValues(each, argument.name));
    });
  return { narrowings, unknown };
}

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const shownArguments = (given: Variables): string =>
  Object.entries(given)
    .map(([name, value]) => `${name} ${shown(value)}`)
    .join(", ");

/** All orders of a list. */
export function ordersOf(field: Field): Array<{ field: string; direction: string }> {
  const order = field.args.find(({ name }) => name === "orderBy");
  const type = order && getNamedType(order.type);
  const by = isInputObjectType(type) ? getNamedType(type.getFields().field!.type) : undefined;
  const names = isEnumType(by) ? by.getValues().map(({ name }) => name) : [];
  return names.flatMap((name) => ["ASC", "DESC"].map((direction) => ({ field: name, direction })));
}

/** The selection of a field: all that needs no argument, and for depth 2 also that of its objects. */
export function selectionOf(field: Field, depth: 1 | 2): string {
  const type = typeOf(field);
  return isObjectType(type) ? ofType(type, depth) : "";
}

const ofType = (type: GraphQLObjectType, depth: number): string =>
  Object.values(type.getFields())
    .filter(({ args }) => !args.some(isRequiredArgument))
    .flatMap((field) => {
      const own = typeOf(field);
      if (isLeafType(own)) return [field.name];
      const inner = depth > 1 && field.args.length === 0 && isObjectType(own) ? ofType(own, 1) : "";
      return inner === "" ? [] : [`${field.name} { ${inner} }`];
    })
    .join(" ");

/** The bytes of a request that reads what is selected of the last field. */
export function requestOf(role: Role, path: Path, selection: string): string {
  const declared: string[] = [];
  const variables: Record<string, unknown> = {};
  const document = path.reduceRight((inner, { field, given }) => {
    const own = Object.entries(given).map(([name, value]) => {
      const variable = `${field.name}_${name}`;
      const { type } = field.args.find((each) => each.name === name)!;
      declared.push(`$${variable}: ${type.toString()}`);
      variables[variable] = value;
      return `${name}: $${variable}`;
    });
    return `${field.name}${own.length > 0 ? `(${own.join(", ")})` : ""}${inner && ` { ${inner} }`}`;
  }, selection);
  const heading = declared.length > 0 ? `query (${declared.join(", ")})` : "query";
  return graphql(`${heading} { ${document} }`, variables, tokenOf(role));
}

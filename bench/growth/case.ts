import { readFileSync } from "node:fs";
import {
  buildSchema,
  getNamedType,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLObjectType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { graphql } from "../requests.js";
import { type Role, tokenOf } from "./known.js";

/** A request that is sent to both databases. */
export interface Case {
  /** The root field or the REST operation: `Query.groups`, `GET /api/v2/groups`. */
  operation: string;
  role: Role;
  what: string;
  /** Whether the request skips rows, which costs what reading them costs. */
  isDeep: boolean;
  /** Whether several filters narrow the list. */
  isCombined?: boolean;
  /** Builds the bytes of the request. `ask` sends a document to the database's server and returns the response. */
  request(ask: (document: string) => Promise<string>): Promise<string>;
}

/** The description that the server's own tests compare it with. */
export const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));

const queries = schema.getQueryType()!.getFields();

const query = (document: string, role: Role) => graphql(`query { ${document} }`, {}, tokenOf(role));

/** A connection, and how each role pages through it. */
interface List {
  /** The root field. */
  field: string;
  /** Where the connection is, if not at the root: `group(group: "…") { … }`. */
  within?: (connection: string) => string;
  /** The connection and the arguments that it always has. */
  connection?: string;
  arguments?: string;
  nodes: string;
  roles: readonly Role[];
  /** Arguments that narrow the list, by name. The name of a combination contains "and". */
  filters: Readonly<Record<string, string>>;
  /** The fields by which the list can be ordered. */
  orders?: readonly string[];
}

const page = 50;

/** A list as every role reads it: pages, count, each filter and order. The first role also tries the rarer variants. */
export function list({ roles, filters, ...shape }: List): Case[] {
  return roles.flatMap((role, nr) => [
    ...pages(shape, role),
    ...(nr === 0 ? backwardPages(shape, role) : []),
    ...(shape.orders ?? []).flatMap((field) =>
      ["ASC", "DESC"].flatMap((direction) => orderedPages(shape, role, field, direction, nr === 0)),
    ),
    ...Object.entries(filters).flatMap(([name, filter]) => [
      listCase(shape, role, `${name}, first page`, `${filter}, first: ${page}`),
      ...(nr === 0 ? [countCase(shape, role, `${name}, count`, filter)] : []),
    ]),
  ]);
}

type Shape = Omit<List, "roles" | "filters">;

const pages = (shape: Shape, role: Role): Case[] => [
  listCase(shape, role, "first page", `first: ${page}`),
  countCase(shape, role, "count", ""),
  middleCase(shape, role, "page by cursor in the middle", (cursor) => `after: "${cursor}", first: ${page}`),
];

const backwardPages = (shape: Shape, role: Role): Case[] => [
  listCase(shape, role, "last page", `last: ${page}`),
  middleCase(shape, role, "page before the middle", (cursor) => `before: "${cursor}", last: ${page}`),
  deepCase(shape, role),
];

function orderedPages(shape: Shape, role: Role, field: string, direction: string, inMiddle: boolean): Case[] {
  const what = `by ${field} ${direction}`;
  const order = `orderBy: { field: ${field}, direction: ${direction} }`;
  const ordered = { ...shape, arguments: shape.arguments ? `${shape.arguments}, ${order}` : order };
  const first = listCase(ordered, role, `${what}, first page`, `first: ${page}`);
  const middle = (cursor: string) => `after: "${cursor}", first: ${page}`;
  return inMiddle ? [first, middleCase(ordered, role, `${what}, page by cursor in the middle`, middle)] : [first];
}

const base = ({ field }: Shape, role: Role, what: string) => ({
  operation: `Query.${field}`,
  role,
  what,
  isDeep: false,
});

const listCase = (shape: Shape, role: Role, what: string, arguments_: string): Case => ({
  ...base(shape, role, named(shape, what)),
  isCombined: / and /.test(what),
  request: async () => query(documentOf(shape, arguments_), role),
});

/** A total, with a page of one row: it reads as many in a small database as in a large one. */
const countCase = (shape: Shape, role: Role, what: string, arguments_: string): Case => ({
  ...base(shape, role, named(shape, what)),
  isCombined: / and /.test(what),
  request: async () => query(documentOf(shape, `${arguments_}, first: 1`, "totalCount"), role),
});

const middleCase = (shape: Shape, role: Role, what: string, arguments_: (cursor: string) => string): Case => ({
  ...base(shape, role, named(shape, what)),
  async request(ask) {
    const start = await middleOf(shape, role, ask);
    const response = await ask(query(documentOf(shape, `offset: ${start}, first: 1`), role));
    const [, cursor] = /"endCursor":"([^"]*)"/.exec(response) ?? [];
    if (cursor === undefined) throw new Error(`No cursor in the middle: ${response}`);
    return query(documentOf(shape, arguments_(cursor)), role);
  },
});

const deepCase = (shape: Shape, role: Role): Case => ({
  ...base(shape, role, named(shape, "deep offset")),
  isDeep: true,
  request: async (ask) => query(documentOf(shape, `offset: ${await middleOf(shape, role, ask)}, first: ${page}`), role),
});

async function middleOf(shape: Shape, role: Role, ask: (document: string) => Promise<string>): Promise<number> {
  const response = await ask(query(documentOf(shape, "", "totalCount"), role));
  return Math.floor((Number(/"totalCount":(\d+)/.exec(response)![1]) - 1) / 2);
}

const named = ({ connection }: Shape, what: string) => (connection ? `${connection}: ${what}` : what);

function documentOf(
  { field, connection = field, within = String, arguments: own = "", nodes }: Shape,
  arguments_: string,
  selection = `nodes { ${nodes} } pageInfo { endCursor hasNextPage }`,
): string {
  const all = [own, arguments_].filter(Boolean).join(", ");
  return within(`${connection}${all && `(${all})`} { ${selection} }`);
}

/** A root field with everything it has: selects all fields without arguments, and the plain ones below. */
export function point(field: string, roles: readonly Role[], variants: Readonly<Record<string, string>>): Case[] {
  const type = getNamedType(queries[field]!.type);
  const selection = isObjectType(type) ? ` { ${selectionOf(type, 2)} }` : "";
  return roles.flatMap((role) =>
    Object.entries(variants).map(([what, arguments_]) => ({
      ...base({ field, nodes: "" }, role, what),
      request: async () => query(`${field}${arguments_ && `(${arguments_})`}${selection}`, role),
    })),
  );
}

function selectionOf(type: GraphQLObjectType, depth: number): string {
  const fields = Object.values(type.getFields()).filter(({ args }) => !args.some(isRequiredArgument));
  return fields
    .flatMap(({ name, args, type: ofField }) => {
      const ofName = getNamedType(ofField);
      if (isLeafType(ofName)) return [name];
      const inner = depth > 1 && args.length === 0 && isObjectType(ofName) ? selectionOf(ofName, 1) : "";
      return inner === "" ? [] : [`${name} { ${inner} }`];
    })
    .join(" ");
}

/** The other root fields that need no argument, as who may read everything: single objects, and lists without filters. */
export function others(cases: readonly Case[]): Case[] {
  const known = new Set(cases.map(({ operation }) => operation));
  return Object.values(queries)
    .filter(({ name, args }) => !known.has(`Query.${name}`) && !args.some(isRequiredArgument))
    .flatMap((field) => (field.args.length === 0 ? point(field.name, ["owner"], { "": "" }) : plainList(field)));
}

const pageArguments = new Set(["first", "after", "last", "before", "offset", "orderBy"]);

/** A list in all its orders, with the plain fields of its objects. None for a list with filters: only its area knows values. */
function plainList({ name, args, type }: GraphQLField<unknown, unknown>): Case[] {
  const nodes = (getNamedType(type) as GraphQLObjectType).getFields().nodes;
  if (nodes === undefined || args.some((each) => !pageArguments.has(each.name))) return [];
  const order = args.find((each) => each.name === "orderBy");
  const field = order && (getNamedType(order.type) as GraphQLInputObjectType).getFields().field;
  const orders = field && (getNamedType(field.type) as GraphQLEnumType).getValues().map((value) => value.name);
  const selection = selectionOf(getNamedType(nodes.type) as GraphQLObjectType, 1);
  return list({ field: name, nodes: selection, roles: ["owner"], filters: {}, orders });
}

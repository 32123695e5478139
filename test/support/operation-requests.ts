// Writes documents and REST requests: what an operation is tried with is written once, as the arguments of its root field,
// and sent to both surfaces.
// Looks inside: which argument a part of a request becomes, only the stored operation of its row says.
import { type ConstValueNode, type FieldNode, Kind, OperationTypeNode, parse, type ValueNode, visit } from "graphql";
import { storedOperations } from "../../src/graphql/engine/stored-operations.js";
import { areas, getSchema } from "./catalog.js";

/** The arguments of an operation, which are the input of a mutation. `Place` has the ids of the objects that it uses. */
export type Given<Place> = string | ((place: Place) => string);

const schema = getSchema();
const fields = new Map(
  Object.values(OperationTypeNode).flatMap((kind) =>
    Object.values(schema.getRootType(kind)?.getFields() ?? {}).map((field) => [field.name, { kind, field }] as const),
  ),
);

/** The root field of an operation of the catalog: several may try the same one. */
export const fieldOf = (title: string): string => title.split(" ")[0]!;

/** Writes the documents of a root field, which select `selected`, or what is given. */
export function documentsOf<Place>(title: string, given: Given<Place>, selected: string) {
  const { kind, field } = fields.get(fieldOf(title))!;
  const takesInput = field.args.some((each) => each.name === "input");
  return (place: Place, selection = selected): string => {
    const text = typeof given === "string" ? given : given(place);
    const all = takesInput ? `input: { ${text} }` : text;
    const root = `{ ${field.name}${all && `(${all})`}${selection && ` { ${selection} }`} }`;
    return kind === OperationTypeNode.QUERY ? root : `${kind} ${root}`;
  };
}

/** A method, a path, and the body, if there is one. */
export type Request = [method: string, path: string, body?: unknown];

interface Row {
  method: string;
  path: string;
  /** The way to the argument that each variable of the stored operation fills: `["input", "group"]`. */
  variables: Map<string, readonly string[]>;
}

const rows = new Map<string, Row[]>();
for (const { name, rows: ofArea, pages } of areas) {
  const stored = storedOperations(schema, `${pages ? "pages" : "rest"}/${name}`);
  for (const [method, path, operation] of ofArea) {
    const field = stored.get(operation)!.definition.selectionSet.selections[0] as FieldNode;
    const row = { method, path, variables: variablesOf(field) };
    rows.set(field.name.value, [...(rows.get(field.name.value) ?? []), row]);
  }
}

/** The rows whose stored operation has the root field. */
export const rowsOf = (field: string): readonly Row[] => rows.get(field) ?? [];

function variablesOf({ arguments: given = [] }: FieldNode): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const within = (value: ValueNode, way: readonly string[]): void => {
    if (value.kind === Kind.VARIABLE) found.set(value.name.value, way);
    if (value.kind === Kind.OBJECT) for (const each of value.fields) within(each.value, [...way, each.name.value]);
  };
  for (const { name, value } of given) within(value, [name.value]);
  return found;
}

/** The arguments of the root field of a document, spelled as on the wire. */
function argumentsIn(document: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  visit(parse(document), {
    Field({ arguments: given = [] }) {
      for (const { name, value } of given) found[snakeCase(name.value)] = onTheWire(value as ConstValueNode);
      return false;
    },
  });
  return found;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function onTheWire(value: ConstValueNode): unknown {
  if (value.kind === Kind.LIST) return value.values.map(onTheWire);
  if (value.kind === Kind.OBJECT)
    return Object.fromEntries(value.fields.map((each) => [snakeCase(each.name.value), onTheWire(each.value)]));
  if (value.kind === Kind.INT || value.kind === Kind.FLOAT) return Number(value.value);
  if (value.kind === Kind.ENUM) return value.value.toLowerCase();
  return value.kind === Kind.NULL ? null : value.value;
}

/** The values that a document gives the variables of the stored operation of a row. */
export function valuesFor({ variables }: Row, document: string): Record<string, unknown> {
  const given = argumentsIn(document);
  const at = (way: readonly string[]) =>
    way.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[snakeCase(name)], given);
  return Object.fromEntries(Array.from(variables, ([name, way]) => [name, at(way)]));
}

/** The request to a row that has the arguments of a document. The caller stands for a user whom it does not name. */
export function requestTo(row: Row, document: string): Request {
  const { input, ...others } = valuesFor(row, document);
  const values: Record<string, unknown> = { ...others, ...(typeof input === "object" ? input : { input }) };
  const named = new Set(Array.from(row.path.matchAll(/:(\w+)/g), (match) => match[1]!));
  const path = row.path.replace(/:(\w+)/g, (_, name: string) =>
    String((values[name] as string | number | undefined) ?? "me"),
  );
  const left = Object.entries(values).filter(([name, value]) => value !== undefined && !named.has(name));
  if (/POST|PUT|PATCH/.test(row.method)) {
    const hasBody = Array.from(row.variables.keys()).some((name) => !named.has(name));
    return hasBody ? [row.method, path, Object.fromEntries(left)] : [row.method, path];
  }
  const query = new URLSearchParams(Object.fromEntries(left.map(([name, value]) => [name, String(value)])));
  return [row.method, `${path}${query.size > 0 ? `?${query.toString()}` : ""}`];
}

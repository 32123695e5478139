import {
  type FieldNode,
  getNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { entryKeyOf } from "../../graphql/engine/variables.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";

/** The spelling of an answer, read off an operation: what to write for which part of its result. */
export type Shape =
  | { kind: "text" | "plain" | "json"; scalar: string }
  | { kind: "enum"; values: ReadonlyMap<string, string> }
  | { kind: "list"; item: Shape; nodes: boolean }
  | { kind: "map"; key: string; item: Shape }
  | { kind: "object"; fields: readonly Field[] };

export interface Field {
  /** Where it stands in the result, from the object at hand. */
  from: readonly string[];
  /** Its name in JSON. */
  name: string;
  /** Whether it is always there; the API description says so. */
  sure: boolean;
  shape: Shape;
  /** What is sent where it is missing. */
  otherwise?: string;
}

/** Where the body stands in the result of an operation, and its shape; `undefined` for answers without a body. */
export interface Answer {
  from: readonly string[];
  shape: Shape;
}

/** The part of the operation aliased `body`. */
export function answerOf(
  schema: GraphQLSchema,
  operation: StoredOperation,
  withheld: Record<string, string> = {},
): Answer | undefined {
  const place = placeOf(schema, operation, "body");
  return place && { from: place.from, shape: shaper(schema, operation, withheld).shape(place.type, place.node) };
}

/** Whether a result says that nothing was modified, by the field aliased `modified`; `undefined` where nothing says so. */
export function unmodifiedBy(schema: GraphQLSchema, operation: StoredOperation) {
  const from = placeOf(schema, operation, "modified")?.from;
  return from && ((data: unknown): boolean => from.reduce(step, data) === false);
}

/** The field with this alias, outside of the body. */
function placeOf(schema: GraphQLSchema, operation: StoredOperation, wanted: "body" | "modified") {
  const { fields } = shaper(schema, operation);
  type Place = { from: readonly string[]; type: GraphQLOutputType; node: FieldNode };
  const find = (object: GraphQLObjectType, set: SelectionSetNode, above: readonly string[]): Place | undefined => {
    for (const { node, parent } of fields(object, set)) {
      const key = node.alias?.value ?? node.name.value;
      const from = [...above, key];
      const { type } = parent.getFields()[node.name.value]!;
      if (key === wanted) return { from, type, node };
      const inner = getNamedType(type);
      const found = key !== "body" && node.selectionSet && isObjectType(inner) && find(inner, node.selectionSet, from);
      if (found) return found;
    }
    return undefined;
  };
  return find(rootOf(schema, operation), operation.definition.selectionSet, []);
}

/** The shapes of a subscription's events by the name of their type. Fields named in `without` are left out. */
export function eventShapes(
  schema: GraphQLSchema,
  operation: StoredOperation,
  without: readonly string[],
): Map<string, Shape> {
  const shapes = shaper(schema, operation);
  const { node } = shapes.fields(rootOf(schema, operation), operation.definition.selectionSet)[0]!;
  const union = getNamedType(rootOf(schema, operation).getFields()[node.name.value]!.type);
  const members = isAbstractType(union) ? schema.getPossibleTypes(union) : [union as GraphQLObjectType];
  return new Map(
    members.map((member) => {
      const fields = shapes.flatten(member, shapes.fields(member, node.selectionSet!));
      return [member.name, { kind: "object", fields: fields.filter(({ name }) => !without.includes(name)) }];
    }),
  );
}

const rootOf = (schema: GraphQLSchema, operation: StoredOperation) =>
  schema.getRootType(operation.definition.operation)!;

function shaper(schema: GraphQLSchema, operation: StoredOperation, withheld: Record<string, string> = {}) {
  const fragments = new Map(
    operation.document.definitions.flatMap((each) =>
      each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [],
    ),
  );

  /** The fields of a selection with those of its fragments, each key once. */
  function fields(
    type: GraphQLObjectType,
    set: SelectionSetNode,
  ): Array<{ node: FieldNode; parent: GraphQLObjectType; sure: boolean }> {
    const found = new Map<string, { node: FieldNode; parent: GraphQLObjectType; sure: boolean }>();
    const collect = ({ selections }: SelectionSetNode, certain: boolean): void => {
      for (const selection of selections) {
        const sure = certain && !selection.directives?.length;
        if (selection.kind === Kind.FIELD) {
          if (selection.name.value.startsWith("__")) continue;
          found.set(selection.alias?.value ?? selection.name.value, { node: selection, parent: type, sure });
        } else {
          const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value)! : selection;
          if (applies(fragment.typeCondition?.name.value)) collect(fragment.selectionSet, sure);
        }
      }
    };
    const applies = (condition: string | undefined) => {
      const wanted = condition === undefined ? type : schema.getType(condition);
      return wanted === type || (isAbstractType(wanted) && schema.isSubType(wanted, type));
    };
    collect(set, true);
    return [...found.values()];
  }

  function shape(type: GraphQLOutputType, node: FieldNode): Shape {
    const declared = isNonNullType(type) ? type.ofType : type;
    if (isListType(declared)) {
      const key = entryKeyOf(declared.ofType);
      return key
        ? entries(declared.ofType, node, key)
        : { kind: "list", item: shape(declared.ofType, node), nodes: false };
    }
    if (isEnumType(declared))
      return { kind: "enum", values: new Map(declared.getValues().map((each) => [each.name, String(each.value)])) };
    if (isScalarType(declared)) return { kind: writtenAs[declared.name] ?? "text", scalar: declared.name };
    const object = declared as GraphQLObjectType;
    const selected = fields(object, node.selectionSet!);
    const [only] = selected;
    if (selected.length === 1 && only!.node.name.value === "nodes" && !only!.node.alias) {
      return { ...(shape(object.getFields().nodes!.type, only!.node) as Shape & { kind: "list" }), nodes: true };
    }
    return { kind: "object", fields: flatten(object, selected) };
  }

  /** Fields in JSON order; those of an alias ending in `_` lie flat in the parent, under just their names for `_` alone. */
  function flatten(object: GraphQLObjectType, selected: ReturnType<typeof fields>): Field[] {
    return selected.flatMap(({ node, sure }) => {
      const key = node.alias?.value ?? node.name.value;
      const { type } = object.getFields()[node.name.value]!;
      const certain = sure && isNonNullType(type);
      const inner = shape(type, node);
      if (!key.endsWith("_") || inner.kind !== "object") {
        if (/[A-Z]/.test(key)) throw new Error(`${operation.name}: "${key}" is no wire name; give it an alias.`);
        const otherwise = withheld[key];
        return [{ from: [key], name: key, sure: certain || otherwise !== undefined, shape: inner, otherwise }];
      }
      return inner.fields.map((field) => ({
        ...field,
        from: [key, ...field.from],
        name: (key === "_" ? "" : key) + field.name,
        sure: (certain && field.sure) || field.otherwise !== undefined,
      }));
    });
  }

  function entries(type: GraphQLOutputType, node: FieldNode, key: string): Shape {
    const item = shape(type, node) as Shape & { kind: "object" };
    const rest = item.fields.filter((field) => field.name !== key);
    return { kind: "map", key, item: rest.length === 1 ? rest[0]!.shape : { kind: "object", fields: rest } };
  }

  return { fields, shape, flatten };
}

/** How scalars are written: text that needs no escaping, or as JSON does; all others as text. */
const writtenAs: Record<string, "plain" | "json"> = {
  UUID: "plain",
  DateTime: "plain",
  JSONObject: "json",
  Boolean: "json",
  Int: "json",
  Float: "json",
  BigInt: "json",
};

export type Write = (value: unknown) => string;

/** Turns results into JSON text; spelling and serialising are one walk, composed once per operation. */
export function writerOf({ from, shape }: Answer): Write {
  const write = writer(shape);
  return (data) => write(from.reduce(step, data));
}

const step = (value: unknown, key: string): unknown => (value as Record<string, unknown> | null | undefined)?.[key];

export function writer(shape: Shape): Write {
  switch (shape.kind) {
    case "plain":
      return (value) => `"${value as string}"`;
    case "text":
      return (value) => textOf(value as string);
    case "json":
      return (value) => JSON.stringify(value);
    case "enum": {
      const spelled = new Map([...shape.values].map(([name, value]) => [name, JSON.stringify(value)]));
      return (value) => spelled.get(value as string)!;
    }
    case "list":
      return listWriter(writer(shape.item), shape.nodes);
    case "map":
      return mapWriter(shape.key, shape.item);
    default:
      return objectWriter(shape.fields);
  }
}

// oxlint-disable-next-line no-control-regex -- JSON escapes control characters
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;
const textOf = (text: string) => (needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`);

function listWriter(item: Write, nodes: boolean): Write {
  return (value) => {
    const items = (nodes ? step(value, "nodes") : value) as unknown[];
    let text = "";
    for (let index = 0; index < items.length; index++) text += (index > 0 ? "," : "") + item(items[index]);
    return `[${text}]`;
  };
}

function mapWriter(key: string, item: Shape & { kind: unknown }): Write {
  const write = writer(item);
  const content = item.kind === "object" ? undefined : otherThan(key);
  return (value) => {
    const entries = (value as Array<Record<string, unknown>>).map(
      (entry) => `${textOf(entry[key] as string)}:${write(content ? content(entry) : entry)}`,
    );
    return `{${entries.join(",")}}`;
  };
}

/** The one value of an entry besides its key. */
const otherThan = (key: string) => (entry: Record<string, unknown>) =>
  entry[Object.keys(entry).find((name) => name !== key)!];

/** Missing values are left out, but a list is never missing: what was not selected is `[]`, a map `{}`. */
function objectWriter(fields: readonly Field[]): Write {
  const steps = fields.map(({ from, name, shape, otherwise }) => ({
    first: from[0]!,
    rest: from.slice(1),
    name: `${JSON.stringify(name)}:`,
    missing: otherwise === undefined ? { list: "[]", map: "{}" }[shape.kind as string] : JSON.stringify(otherwise),
    write: writer(shape),
  }));
  return (value) => {
    let text = "";
    for (const { first, rest, name, missing, write } of steps) {
      let at = (value as Record<string, unknown>)[first];
      for (const key of rest) at = step(at, key);
      const content = at == null ? missing : write(at);
      if (content !== undefined) text += (text && ",") + name + content;
    }
    return `{${text}}`;
  };
}

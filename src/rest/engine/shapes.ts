import {
  type FieldNode,
  getNamedType,
  getNullableType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLUnionType,
  isAbstractType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
} from "graphql";
import { entryKeyOf } from "../../graphql/engine/access.js";
import { fragmentsOf } from "../../graphql/engine/fragments.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import type { RowOptions } from "./area.js";

/** How the result of an operation is written: read off its selection at boot. */
export type Shape =
  | { kind: "text" | "plain" | "json"; scalar: string }
  | { kind: "enum"; values: ReadonlyMap<string, string> }
  | ListShape
  | { kind: "map"; key: string; item: Shape }
  | { kind: "object"; fields: readonly Field[] };

/** A list, or a connection of which just the nodes are selected. */
export interface ListShape {
  kind: "list";
  item: Shape;
  nodes: boolean;
}

export interface Field {
  /** Where it stands in the result, from the object at hand. */
  from: readonly string[];
  /** Its name in JSON. */
  name: string;
  /** Whether it is always present, as the API description states. */
  sure: boolean;
  shape: Shape;
  /** The text that is sent where the value is missing. */
  otherwise?: string;
}

/** Where the body stands in the result of an operation, and its shape. */
export interface Body {
  from: readonly string[];
  shape: Shape;
}

/** What the results of an operation consist of. */
export interface ResultShape {
  /** The part of the operation aliased `body`, with what the row's options put around it. */
  body: Body | undefined;
  /** Whether a result says that nothing was modified, by the field aliased `modified`. */
  isUnmodified: ((data: unknown) => boolean) | undefined;
  /** The events of a subscription by the name of their type, without the field that resumes after them. */
  events: ReadonlyMap<string, Shape>;
}

export function resultOf(
  schema: GraphQLSchema,
  operation: StoredOperation,
  { withheld = {}, under, message, stream }: RowOptions = {},
): ResultShape {
  const selections = new Selections(schema, operation, withheld);
  if (operation.kind === OperationTypeNode.SUBSCRIPTION)
    return { body: undefined, isUnmodified: undefined, events: selections.events(stream?.id) };
  const place = selections.find("body");
  const body = place && { from: place.from, shape: selections.shape(place) };
  const modified = selections.find("modified")?.from;
  return {
    body: withMessage(message, under === undefined ? body : asField(under, body!)),
    isUnmodified: modified && ((data) => modified.reduce(step, data) === false),
    events: new Map(),
  };
}

const asField = (name: string, { from, shape }: Body): Body => ({
  from: [],
  shape: { kind: "object", fields: [{ from, name, sure: true, shape }] },
});

/** Adds a constant `message` before the fields of an object; without an object it is the only field. */
function withMessage(message: string | undefined, body: Body | undefined): Body | undefined {
  if (message === undefined) return body;
  // No field of a result has an empty name.
  const shape: Shape = { kind: "text", scalar: "String" };
  const constant: Field = { from: [""], name: "message", sure: true, shape, otherwise: message };
  const { from, shape: rest } = body ?? { from: [], shape: undefined };
  return { from, shape: { kind: "object", fields: [constant, ...(rest?.kind === "object" ? rest.fields : [])] } };
}

/** A selected field. */
interface Selected {
  /** Its name in the result. */
  key: string;
  type: GraphQLOutputType;
  set: SelectionSetNode | undefined;
  /** Whether it always has a value where its parent has one. */
  sure: boolean;
}

/** Reads shapes off the selections of an operation. */
class Selections {
  readonly #root: GraphQLObjectType;
  readonly #fragments: ReturnType<typeof fragmentsOf>;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly operation: StoredOperation,
    private readonly withheld: Record<string, string>,
  ) {
    this.#root = schema.getRootType(operation.kind)!;
    this.#fragments = fragmentsOf(operation.document);
  }

  /** The field with this key, outside of the body. */
  find(
    key: "body" | "modified",
    parent = this.#root,
    set = this.operation.definition.selectionSet,
    above: readonly string[] = [],
  ): (Selected & { from: readonly string[] }) | undefined {
    for (const field of this.#fields(parent, set)) {
      const from = [...above, field.key];
      if (field.key === key) return { ...field, from };
      const type = getNamedType(field.type);
      const found = field.key !== "body" && isObjectType(type) && this.find(key, type, field.set, from);
      if (found) return found;
    }
    return undefined;
  }

  /** The shapes of a subscription's events, without the field of this name. */
  events(without: string | undefined): Map<string, Shape> {
    const [{ type, set }] = this.#fields(this.#root, this.operation.definition.selectionSet) as [Selected];
    const event = getNamedType(type) as GraphQLObjectType | GraphQLUnionType;
    const members = isAbstractType(event) ? this.schema.getPossibleTypes(event) : [event];
    return new Map(
      members.map((member) => {
        const fields = this.#fields(member, set!).flatMap((field) => this.#written(field));
        return [member.name, { kind: "object", fields: fields.filter(({ name }) => name !== without) }];
      }),
    );
  }

  shape({ type, set }: Pick<Selected, "type" | "set">): Shape {
    const declared = getNullableType(type);
    if (isListType(declared)) return this.#list({ type: declared.ofType, set });
    if (isEnumType(declared))
      return { kind: "enum", values: new Map(declared.getValues().map((each) => [each.name, String(each.value)])) };
    if (isScalarType(declared)) return { kind: writtenAs[declared.name] ?? "text", scalar: declared.name };
    const fields = this.#fields(declared as GraphQLObjectType, set!);
    if (fields.length === 1 && fields[0]!.key === "nodes")
      return { ...(this.shape(fields[0]!) as ListShape), nodes: true };
    return { kind: "object", fields: fields.flatMap((field) => this.#written(field)) };
  }

  #list(item: Pick<Selected, "type" | "set">): Shape {
    const shape = this.shape(item);
    const key = entryKeyOf(item.type);
    if (!key || shape.kind !== "object") return { kind: "list", item: shape, nodes: false };
    const rest = shape.fields.filter((field) => field.name !== key);
    return { kind: "map", key, item: rest.length === 1 ? rest[0]!.shape : { kind: "object", fields: rest } };
  }

  /** Fields in JSON order; those of an alias ending in `_` lie flat in the parent, under just their names for `_` alone. */
  #written({ key, sure, ...selected }: Selected): Field[] {
    const shape = this.shape(selected);
    if (key.endsWith("_") && shape.kind === "object")
      return shape.fields.map((field) => ({
        ...field,
        from: [key, ...field.from],
        name: (key === "_" ? "" : key) + field.name,
        sure: (sure && field.sure) || field.otherwise !== undefined,
      }));
    if (/[A-Z]/.test(key)) throw new Error(`${this.operation.name}: "${key}" is no wire name; give it an alias.`);
    const otherwise = this.withheld[key];
    return [{ from: [key], name: key, sure: sure || otherwise !== undefined, shape, otherwise }];
  }

  /** The fields of a selection with those of its fragments, each key once. */
  #fields(parent: GraphQLObjectType, set: SelectionSetNode): Selected[] {
    const found = new Map<string, Selected>();
    for (const { node, sure } of this.#nodes(parent, set, true)) {
      const key = node.alias?.value ?? node.name.value;
      const { type } = parent.getFields()[node.name.value]!;
      found.set(key, { key, type, set: node.selectionSet, sure: sure && isNonNullType(type) });
    }
    return [...found.values()];
  }

  *#nodes(
    parent: GraphQLObjectType,
    { selections }: SelectionSetNode,
    above: boolean,
  ): Generator<{ node: FieldNode; sure: boolean }> {
    for (const node of selections) {
      const sure = above && !node.directives?.length;
      if (node.kind === Kind.FIELD) {
        if (!node.name.value.startsWith("__")) yield { node, sure };
        continue;
      }
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(node.name.value)! : node;
      const { typeCondition, selectionSet } = fragment;
      const type = typeCondition ? this.schema.getType(typeCondition.name.value) : parent;
      if (type === parent || (isAbstractType(type) && this.schema.isSubType(type, parent)))
        yield* this.#nodes(parent, selectionSet, sure);
    }
  }
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

/** Steps into the result of a field; nothing leads to nothing. */
export const step = (value: unknown, key: string): unknown =>
  (value as Record<string, unknown> | null | undefined)?.[key];

import {
  type FieldNode,
  getNamedType,
  getNullableType,
  type GraphQLEnumType,
  type GraphQLField,
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
import { entryKeyOf, fragmentsOf } from "../../graphql/engine/access.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import type { RowOptions } from "./area.js";
import { snakeCase } from "./spelling.js";

/** How the result of an operation is written: read off its selection at boot. */
export type Shape =
  | { kind: "scalar"; scalar: string }
  /** An id, and whether there is one: `{uuid, valid}`. */
  | { kind: "nullableId" }
  | { kind: "enum"; type: GraphQLEnumType; values: ReadonlyMap<string, string> }
  | ListShape
  | { kind: "map"; key: string; item: Shape }
  | ObjectShape;

export interface ObjectShape {
  kind: "object";
  fields: readonly Field[];
  /** Its name in the API description; absent for an object that a row puts around the body. */
  label?: Label;
}

/** An object is called after the fragment that alone selects it, else after its type. */
export interface Label {
  name: string;
  description: string | undefined;
}

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
  /** Whether it is always present, as the API description states: missing lists and maps are sent empty. */
  isSure: boolean;
  shape: Shape;
  /** The text that is sent where the value is missing. */
  otherwise?: string;
  /** Whether the list is left out where it is missing. */
  isSparse?: boolean;
  /** Whether null is sent where the value is missing. */
  isNullSent?: boolean;
  description?: string;
  isDeprecated?: boolean;
}

/** Where the body stands in the result of an operation, and its shape. */
export interface Body {
  from: readonly string[];
  shape: Shape;
}

/** The structure of the results of an operation. */
export interface ResultShape {
  /** The part of the operation aliased `body`, with what the row's options put around it. */
  body: Body | undefined;
  /** The response headers, and where their values and descriptions stand. */
  headers: ReadonlyArray<{ name: string; from: readonly string[]; scalar: string; description: string }>;
  /** Whether a result says that nothing was modified, by the field aliased `modified`. */
  isUnmodified: ((data: unknown) => boolean) | undefined;
  /** The events of a subscription by the name of their type, without the field that resumes after them. */
  events: ReadonlyMap<string, Shape>;
}

export function resultOf(
  schema: GraphQLSchema,
  operation: StoredOperation,
  { withheld = {}, sparse = [], nullableIds = [], under, message, stream, sends = {} }: RowOptions = {},
): ResultShape {
  const selections = new Selections(schema, operation, { withheld, sparse, nullableIds });
  if (operation.kind === OperationTypeNode.SUBSCRIPTION)
    return { body: undefined, headers: [], isUnmodified: undefined, events: selections.events(stream?.id) };
  const place = selections.find("body");
  const body = place && { from: place.from, shape: selections.shape(place) };
  const modified = selections.find("modified")?.from;
  return {
    body: withMessage(message, under === undefined ? body : asField(under, body!)),
    headers: Object.entries(sends).map(([name, key]) => {
      const { from, type, field } = selections.find(key)!;
      return { name, from, scalar: getNamedType(type).name, description: field.description ?? "" };
    }),
    isUnmodified: modified && ((data) => modified.reduce(step, data) === false),
    events: new Map(),
  };
}

const asField = (name: string, { from, shape }: Body): Body => ({
  from: [],
  shape: { kind: "object", fields: [{ from, name, isSure: true, shape }] },
});

/** Adds a constant `message` before the fields of an object; without an object it is the only field. */
function withMessage(message: string | undefined, body: Body | undefined): Body | undefined {
  if (message === undefined) return body;
  // No field of a result has an empty name.
  const shape: Shape = { kind: "scalar", scalar: "String" };
  const description = `The text \`${message}\``;
  const constant: Field = { from: [""], name: "message", isSure: true, shape, otherwise: message, description };
  const { from, shape: rest } = body ?? { from: [], shape: undefined };
  const { fields = [], label }: Partial<ObjectShape> = rest?.kind === "object" ? rest : {};
  return { from, shape: { kind: "object", fields: [constant, ...fields], label } };
}

/** A selected field. */
interface Selected {
  /** Its name in the result. */
  key: string;
  field: GraphQLField<unknown, unknown>;
  type: GraphQLOutputType;
  set: SelectionSetNode | undefined;
  /** Whether it always has a value where its parent has one. */
  isSure: boolean;
}

/** Reads shapes off the selections of an operation. */
class Selections {
  readonly #root: GraphQLObjectType;
  readonly #fragments: ReturnType<typeof fragmentsOf>;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly operation: StoredOperation,
    private readonly spelling: Required<Pick<RowOptions, "withheld" | "sparse" | "nullableIds">>,
  ) {
    this.#root = schema.getRootType(operation.kind)!;
    this.#fragments = fragmentsOf(operation.document);
  }

  /** The field with this key, outside of the body. */
  find(
    key: string,
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
        const fields = this.#fields(member, set!).flatMap((field) => this.writeField(field));
        const { name, description } = member;
        const label = { name, description: description ?? undefined };
        return [name, { kind: "object", fields: fields.filter((each) => each.name !== without), label }];
      }),
    );
  }

  shape({ type, set }: Pick<Selected, "type" | "set">): Shape {
    const declared = getNullableType(type);
    if (isListType(declared)) return this.#list({ type: declared.ofType, set });
    if (isEnumType(declared))
      return {
        kind: "enum",
        type: declared,
        values: new Map(declared.getValues().map((each) => [each.name, String(each.value)])),
      };
    if (isScalarType(declared)) return { kind: "scalar", scalar: declared.name };
    const object = declared as GraphQLObjectType;
    const fields = this.#fields(object, set!);
    if (fields.length === 1 && fields[0]!.key === "nodes")
      return { ...(this.shape(fields[0]!) as ListShape), nodes: true };
    const label = this.#labelOf(object, set!);
    return { kind: "object", fields: fields.flatMap((field) => this.writeField(field)), label };
  }

  #labelOf({ name, description }: GraphQLObjectType, { selections: [only, ...others] }: SelectionSetNode): Label {
    const isSpread = only?.kind === Kind.FRAGMENT_SPREAD && others.length === 0;
    const fragment = isSpread ? this.#fragments.get(only.name.value) : undefined;
    return {
      name: fragment?.name.value ?? name,
      description: fragment?.description?.value ?? description ?? undefined,
    };
  }

  #list(item: Pick<Selected, "type" | "set">): Shape {
    const shape = this.shape(item);
    const key = entryKeyOf(item.type);
    if (!key || shape.kind !== "object") return { kind: "list", item: shape, nodes: false };
    const rest = shape.fields.filter((field) => field.name !== key);
    return { kind: "map", key, item: rest.length === 1 ? rest[0]!.shape : { ...shape, fields: rest } };
  }

  /**
   * Fields in JSON order, their names in snake case. Those of an alias ending in `_` lie flat in the parent, under just
   * their names for `_` alone.
   */
  writeField({ key, isSure, field: { description, deprecationReason }, ...selected }: Selected): Field[] {
    const { withheld, sparse, nullableIds } = this.spelling;
    const name = snakeCase(key);
    const shape: Shape = nullableIds.includes(name) ? { kind: "nullableId" } : this.shape(selected);
    if (key.endsWith("_") && shape.kind === "object")
      return shape.fields.map((field) => ({
        ...field,
        from: [key, ...field.from],
        name: (key === "_" ? "" : name) + field.name,
        description: key === "_" ? field.description : `${description} ${field.description}`,
        isSure: (isSure && field.isSure) || isNeverMissing(field),
      }));
    const written = {
      shape,
      otherwise: withheld[name],
      isSparse: sparse.includes(name),
      isNullSent: sentAsNull.has(name),
    };
    return [
      {
        ...written,
        from: [key],
        name,
        isSure: isSure || isNeverMissing(written),
        description: description ?? undefined,
        isDeprecated: deprecationReason != null,
      },
    ];
  }

  /** The fields of a selection with those of its fragments, each key once. */
  #fields(parent: GraphQLObjectType, set: SelectionSetNode): Selected[] {
    const found = new Map<string, Selected>();
    for (const { node, isSure } of this.#nodes(parent, set, true)) {
      const key = node.alias?.value ?? node.name.value;
      const field = parent.getFields()[node.name.value]!;
      found.set(key, {
        key,
        field,
        type: field.type,
        set: node.selectionSet,
        isSure: isSure && isNonNullType(field.type),
      });
    }
    return [...found.values()];
  }

  *#nodes(
    parent: GraphQLObjectType,
    { selections }: SelectionSetNode,
    isParentSure: boolean,
  ): Generator<{ node: FieldNode; isSure: boolean }> {
    for (const node of selections) {
      const isSure = isParentSure && !node.directives?.length;
      if (node.kind === Kind.FIELD) {
        if (!node.name.value.startsWith("__")) yield { node, isSure };
        continue;
      }
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(node.name.value)! : node;
      const { typeCondition, selectionSet } = fragment;
      const type = typeCondition ? this.schema.getType(typeCondition.name.value) : parent;
      if (type === parent || (isAbstractType(type) && this.schema.isSubType(type, parent)))
        yield* this.#nodes(parent, selectionSet, isSure);
    }
  }
}

/** Fields by whose null clients tell the state of an object. All others are left out where they have no value. */
const sentAsNull: ReadonlySet<string> = new Set([
  "current_state",
  "workspace_agent_health",
  "workspace_agent_lifecycle",
  "read_at",
]);

type Missing = Pick<Field, "shape" | "otherwise" | "isSparse" | "isNullSent">;

/** Whether something is sent where the value is missing. */
const isNeverMissing = ({ shape: { kind }, otherwise, isSparse, isNullSent }: Missing): boolean =>
  otherwise !== undefined || isNullSent === true || (!isSparse && alwaysSent.has(kind));

const alwaysSent: ReadonlySet<Shape["kind"]> = new Set(["list", "map", "nullableId"]);

/** Returns a property, or undefined if the object is null. */
export const step = (value: unknown, key: string): unknown =>
  (value as Record<string, unknown> | null | undefined)?.[key];

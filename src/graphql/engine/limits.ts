import {
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getNamedType,
  GraphQLError,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValidationRule,
} from "graphql";
import type { Config } from "../../config/config.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { countedAs } from "./access.js";
import type { Operation } from "./execute.js";
import { fragmentsOf } from "./fragments.js";
import { usesVariables } from "./selection.js";
import type { Variables } from "./variables.js";

/** What a document of the caller's own may select. Stored operations have the bounds of their areas instead. */
export const limits = {
  bytes: 64 * 1024,
  requestBytes: 1024 * 1024,
  responseBytes: 8 * 1024 * 1024,
  depth: 12,
  aliases: 100,
  selections: 10_000,
  cost: 50_000,
} as const;

/** Lexical tokens of a document at most: the parser stops there. */
export const tokens = 10_000;

const defaultPage = 100;
const largestPage = 1000;

/** What all members of a group that stands alone count as; every other list without pages counts as its largest page. */
const largestAlone = 10_000;

/** Where introspection begins to count: a description of types nests deeper than data does. */
const introspectionDepth = -8;

const tooMuch = (message: string) => new DomainError("BAD_USER_INPUT", message);

/** Rejects variables named like a member of every object: graphql-js reads that member where the variable is absent. */
const noInheritedNames: ValidationRule = (context) => ({
  VariableDefinition({ variable: { name } }) {
    if (name.value in Object.prototype)
      context.reportError(new GraphQLError(`Variable "$${name.value}" must have another name.`, { nodes: name }));
  },
});

/** What documents must keep to besides the rules of GraphQL itself. */
export const rulesFor = ({ graphqlIntrospection }: Pick<Config, "graphqlIntrospection">): ValidationRule[] =>
  graphqlIntrospection ? [noInheritedNames] : [noInheritedNames, NoSchemaIntrospectionCustomRule];

/** Throws when the text of a document is too large to be looked at. */
export function checkSize(text: unknown): void {
  if (typeof text === "string" && Buffer.byteLength(text) > limits.bytes) {
    throw tooMuch(`The document is larger than ${limits.bytes} bytes.`);
  }
}

/**
 * Throws when an operation is too large for one request: each object that it may return and each item of its list
 * arguments costs 1. Returns whether other variables would cost the same.
 */
export function checkLimits(
  schema: GraphQLSchema,
  { definition, document, coerce }: Operation,
  given: Variables,
): boolean {
  const variables = coerce(given);
  // The executor refuses them before it runs anything.
  if (!variables) return false;
  const measured = new Measure(schema, fragmentsOf(document), variables);
  const type = schema.getRootType(definition.operation);
  measured.walk(definition.selectionSet, { type, depth: 1, times: 1, page: 1 });
  if (definition.operation === OperationTypeNode.MUTATION && measured.rootFields > 1) {
    throw tooMuch("One mutation per request: a failing one would leave those before it committed.");
  }
  return !measured.readsVariables;
}

/** Where a selection set stands. */
interface Place {
  type: GraphQLNamedType | null | undefined;
  depth: number;
  /** How many objects it applies to. */
  times: number;
  /** How many nodes each of them has, if they are connections. */
  page: number;
  /** The objects themselves where they are known: those of introspection. */
  objects?: readonly unknown[];
}

/** Walks an operation as the executor would, counting, and stops at the first limit. */
class Measure {
  rootFields = 0;
  /** Whether the values of variables made a difference. */
  readsVariables = false;
  #visited = 0;
  #aliases = 0;
  #cost = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Map<string, FragmentDefinitionNode>,
    private readonly variables: Variables,
  ) {}

  walk(set: SelectionSetNode, place: Place): void {
    if (place.depth > limits.depth) throw tooMuch(`The document is deeper than ${limits.depth} levels.`);
    for (const selection of set.selections) {
      // Fragments that spread fragments grow exponentially.
      if (++this.#visited > limits.selections)
        throw tooMuch(`The document selects more than ${limits.selections} fields.`);
      if (selection.kind === Kind.FIELD) {
        this.#field(selection, place);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments.get(selection.name.value) : selection;
      const condition = fragment?.typeCondition?.name.value;
      const type = condition === undefined ? place.type : this.schema.getType(condition);
      if (fragment) this.walk(fragment.selectionSet, { ...place, type });
    }
  }

  #field(node: FieldNode, place: Place): void {
    const { name, alias, selectionSet } = node;
    if (place.depth === 1 && !name.value.startsWith("__")) this.rootFields++;
    if (alias && ++this.#aliases > limits.aliases)
      throw tooMuch(`The document has more than ${limits.aliases} aliases.`);
    const field = fieldOf(place.type, name.value);
    const args = field && this.#arguments(field, node);
    if (!field || !args) return;
    this.#spend(place.times * itemsIn(args));
    const type = getNamedType(field.type);
    if (!selectionSet || !isCompositeType(type)) return;
    if (isIntrospectionType(type)) return this.#introspect(field, args, selectionSet, place);
    const times = place.times * this.#objects(field, args, place);
    const isAlone = place.times === 1 && place.depth > 1;
    // An edge is nothing but its node and the node's place.
    if (!isEdge(place.type)) this.#spend(times);
    const page = isConnection(type) ? nodesOf(args, isAlone) : 1;
    this.walk(selectionSet, { type, depth: place.depth + 1, times, page });
  }

  /** The arguments of a field; nothing where the executor will refuse them. */
  #arguments(field: GraphQLField<unknown, unknown>, node: FieldNode): Variables | undefined {
    if (field.args.length === 0) return {};
    if (usesVariables(node) && (isWeighty(field) || isIntrospectionType(getNamedType(field.type))))
      this.readsVariables = true;
    try {
      return getArgumentValues(field, node, this.variables);
    } catch {
      this.readsVariables = true;
      return undefined;
    }
  }

  /** How many objects a field has in each of its parents. */
  #objects(field: GraphQLField<unknown, unknown>, args: Variables, { type, page }: Place): number {
    if (!isListType(isNonNullType(field.type) ? field.type.ofType : field.type)) return 1;
    return isConnection(type) ? page : (sizeOf(args) ?? countedAs(field, args) ?? largestPage);
  }

  /** Introspection costs what it returns: its resolvers are cheap, so they are called. */
  #introspect(
    { type, resolve }: GraphQLField<unknown, unknown>,
    args: Variables,
    set: SelectionSetNode,
    { objects = [undefined], depth }: Place,
  ): void {
    const found = objects
      .flatMap((object) => resolve!(object, args, undefined, { schema: this.schema } as never))
      .filter((object) => object != null);
    this.#spend(found.length);
    const inner = depth === 1 ? introspectionDepth : depth + 1;
    this.walk(set, { type: getNamedType(type), depth: inner, times: found.length, page: 1, objects: found });
  }

  #spend(cost: number): void {
    this.#cost += cost;
    if (this.#cost > limits.cost) throw tooMuch(`The document may touch more than ${limits.cost} objects.`);
  }
}

/** How many nodes a connection may have at most. */
function nodesOf(args: Variables, isAlone: boolean): number {
  if (args.complete !== true) return sizeOf(args) ?? defaultPage;
  return isAlone ? largestAlone : largestPage;
}

/** The page size among the arguments of a field; 0 and null stand for the default. */
function sizeOf({ first, last }: Variables): number | undefined {
  const count = Number(first ?? last);
  return count > 0 ? Math.min(count, largestPage) : undefined;
}

/** How many items there are in all lists of a value. */
function itemsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, each) => sum + itemsIn(each), Array.isArray(value) ? value.length : 0);
}

const weighty = new WeakMap<object, boolean>();

/** Whether a field may cost more or less by its arguments: it takes lists, or a page size. */
function isWeighty(field: GraphQLField<unknown, unknown>): boolean {
  let known = weighty.get(field);
  if (known === undefined) {
    known = field.args.some(({ name, type }) => ["first", "last", "complete"].includes(name) || takesLists(type));
    weighty.set(field, known);
  }
  return known;
}

function takesLists(type: GraphQLInputType, seen = new Set<GraphQLInputType>()): boolean {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (isListType(inner) || inner.name === "JSONObject") return true;
  if (!isInputObjectType(inner) || seen.has(inner)) return false;
  seen.add(inner);
  return Object.values(inner.getFields()).some((field) => takesLists(field.type, seen));
}

const isConnection = (type: GraphQLNamedType | null | undefined) => type?.name.endsWith("Connection") ?? false;

const isEdge = (type: GraphQLNamedType | null | undefined) => type?.name.endsWith("Edge") ?? false;

const metaFields: Record<string, GraphQLField<unknown, unknown>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
};

const fieldOf = (parent: GraphQLNamedType | null | undefined, name: string) =>
  metaFields[name] ?? (isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined);

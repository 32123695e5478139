import {
  type ArgumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getNamedType,
  getVariableValues,
  type GraphQLArgument,
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
  Lexer,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  SchemaMetaFieldDef,
  Source,
  TokenKind,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValidationRule,
  visit,
} from "graphql";
import type { Config } from "../../runtime/config.js";
import type { Actor } from "../../domain/kernel/actor.js";
import { DomainError, unauthenticated } from "../../domain/kernel/errors.js";
import { countedAs, fragmentsOf } from "./access.js";
import type { Operation } from "./execute.js";
import { memoize } from "./memoized.js";
import type { Variables } from "./variables.js";

/** Limits of the documents that clients send. Stored operations have the limits of their areas instead. */
export const limits = {
  bytes: 64 * 1024,
  requestBytes: 1024 * 1024,
  responseBytes: 8 * 1024 * 1024,
  depth: 12,
  aliases: 100,
  selections: 10_000,
  cost: 50_000,
} as const;

/** The most lexical tokens of a document; the parser stops there. */
export const tokens = 10_000;

/** The most faults of a document that validation looks for: it searches the schema for what each could have meant. */
export const faults = 20;

/** The most tokens of a document without a credential, whose validation takes a few milliseconds. */
const strangerTokens = 500;

const defaultPage = 100;
const largestPage = 1000;

/** The cost of all members of a single group. Every other list without pages costs as much as the largest page. */
const largestAlone = 10_000;

/** The depth at which introspection starts: descriptions of types nest deeper than data does. */
const introspectionDepth = -8;

const tooMuch = (message: string) => new DomainError("BAD_USER_INPUT", message);

/** Rejects variables named like a member of `Object.prototype`: graphql-js reads that member if the variable is absent. */
const noInheritedNames: ValidationRule = (context) => ({
  VariableDefinition({ variable: { name } }) {
    if (name.value in Object.prototype)
      context.reportError(new GraphQLError(`Variable "$${name.value}" must have another name.`, { nodes: name }));
  },
});

/** The validation rules of documents besides those of GraphQL itself. */
export const rulesFor = ({ graphqlIntrospection }: Pick<Config, "graphqlIntrospection">): ValidationRule[] =>
  graphqlIntrospection ? [noInheritedNames] : [noInheritedNames, NoSchemaIntrospectionCustomRule];

/** Throws BAD_USER_INPUT if the text of a document is too large to parse. */
export function checkSize(text: unknown): void {
  if (typeof text === "string" && Buffer.byteLength(text) > limits.bytes) {
    throw tooMuch(`The document is larger than ${limits.bytes} bytes.`);
  }
}

/** Throws UNAUTHENTICATED if the document of an anonymous caller is too large to validate. */
export function checkStranger({ kind }: Actor, text: unknown): void {
  if (kind !== "anonymous" || typeof text !== "string") return;
  const lexer = new Lexer(new Source(text));
  try {
    for (let count = 0; lexer.advance().kind !== TokenKind.EOF;)
      if (++count > strangerTokens)
        throw unauthenticated(`A document with more than ${strangerTokens} tokens requires a credential.`);
  } catch (error) {
    // The parser reports faults of syntax.
    if (!(error instanceof GraphQLError)) throw error;
  }
}

/**
 * Throws BAD_USER_INPUT if an operation is too large for one request. Each object that it can return and each item of its
 * list arguments costs 1. Returns whether the cost does not depend on the variables.
 */
export function checkLimits(schema: GraphQLSchema, { definition, document }: Operation, given: Variables): boolean {
  const { coerced } = getVariableValues(schema, definition.variableDefinitions ?? [], given);
  // The executor rejects them before it runs anything.
  if (!coerced) return false;
  const measured = new Measure(schema, fragmentsOf(document), coerced);
  const type = schema.getRootType(definition.operation);
  measured.walk(definition.selectionSet, { type, depth: 1, times: 1, page: 1 });
  if (definition.operation === OperationTypeNode.MUTATION && measured.rootFields > 1) {
    throw tooMuch("One mutation per document: each is one transaction with one audit trail.");
  }
  return !measured.readsVariables;
}

/** The position of a selection set. */
interface Place {
  type: GraphQLNamedType | null | undefined;
  depth: number;
  /** The number of objects that it applies to. */
  times: number;
  /** The number of nodes of each object, if they are connections. */
  page: number;
  /** The objects themselves, for introspection. */
  objects?: readonly unknown[];
}

/** Walks an operation as the executor would, counting, and stops at the first limit. */
class Measure {
  rootFields = 0;
  /** Whether the cost depends on variables. */
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
    // An edge counts as part of its node.
    if (!isEdge(place.type)) this.#spend(times);
    const page = isConnection(type) ? nodesOf(args, isAlone) : 1;
    this.walk(selectionSet, { type, depth: place.depth + 1, times, page });
  }

  /** The arguments of a field; `undefined` where the executor will reject them. */
  #arguments(field: GraphQLField<unknown, unknown>, node: FieldNode): Variables | undefined {
    if (field.args.length === 0) return {};
    const isIntrospection = isIntrospectionType(getNamedType(field.type));
    const varies = (given: ArgumentNode) =>
      usesVariables(given) && (isIntrospection || isWeighty(field.args.find(({ name }) => name === given.name.value)!));
    this.readsVariables ||= (node.arguments ?? []).some(varies);
    try {
      return getArgumentValues(field, node, this.variables);
    } catch {
      this.readsVariables = true;
      return undefined;
    }
  }

  /** The number of objects that a field has in each of its parents. */
  #objects(field: GraphQLField<unknown, unknown>, args: Variables, { type, page }: Place): number {
    if (!isListType(isNonNullType(field.type) ? field.type.ofType : field.type)) return 1;
    return isConnection(type) ? page : (sizeOf(args) ?? countedAs(field, args) ?? largestPage);
  }

  /** Calls the resolvers of introspection, which are cheap, so that it costs exactly what it returns. */
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

/** The most nodes that a connection can have. */
function nodesOf(args: Variables, isAlone: boolean): number {
  if (args.complete !== true) return sizeOf(args) ?? defaultPage;
  return isAlone ? largestAlone : largestPage;
}

/** The page size among the arguments of a field; 0 and null stand for the default. */
function sizeOf({ first, last }: Variables): number | undefined {
  const count = Number(first ?? last);
  return count > 0 ? Math.min(count, largestPage) : undefined;
}

/** The number of items in all lists of a value. */
function itemsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, each) => sum + itemsIn(each), Array.isArray(value) ? value.length : 0);
}

/** Whether a value contains variables. */
const usesVariables = memoize((argument: ArgumentNode) => {
  let isFound = false;
  visit(argument, { Variable: () => void (isFound = true) });
  return isFound;
});

/** Whether the cost of a field depends on an argument: lists and page sizes. */
const isWeighty = memoize(
  ({ name, type }: GraphQLArgument) => ["first", "last", "complete"].includes(name) || takesLists(type),
);

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

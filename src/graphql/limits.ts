import {
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isCompositeType,
  isInterfaceType,
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
  type ValueNode,
  valueFromASTUntyped,
} from "graphql";
import type { Config } from "../config.js";
import { DomainError } from "../domain/errors.js";
import type { Operation, Variables } from "./execute.js";
import { fragmentsOf } from "./one-operation.js";

/** What a document of the caller's own may ask for. Stored operations have the bounds of their areas instead. */
export const limits = {
  bytes: 64 * 1024,
  requestBytes: 1024 * 1024,
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

/** How many items a list without pages counts as: such lists are bounded by their area. */
const shortList = 10;

/** Where introspection begins to count: what tells of a type nests deeper than data does. */
const introspectionDepth = -8;

const tooMuch = (message: string) => new DomainError("BAD_USER_INPUT", message);

/** What documents must keep to besides the rules of GraphQL itself. */
export const rulesFor = ({ graphqlIntrospection }: Pick<Config, "graphqlIntrospection">): ValidationRule[] =>
  graphqlIntrospection ? [] : [NoSchemaIntrospectionCustomRule];

/** Throws when the text of a document is too large to be looked at. */
export function checkSize(text: unknown): void {
  if (typeof text === "string" && Buffer.byteLength(text) > limits.bytes) {
    throw tooMuch(`The document is larger than ${limits.bytes} bytes.`);
  }
}

/**
 * Throws when an operation asks for more than one request may. Gives whether that is settled: true if it would not with
 * any other variables either.
 */
export function checkLimits(schema: GraphQLSchema, { definition, document }: Operation, variables: Variables): boolean {
  const defaults = Object.fromEntries(
    (definition.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
      defaultValue?.kind === Kind.INT || defaultValue?.kind === Kind.BOOLEAN
        ? [[variable.name.value, valueFromASTUntyped(defaultValue)]]
        : [],
    ),
  );
  const measured = new Measure(schema, fragmentsOf(document), { ...defaults, ...variables });
  measured.walk(schema.getRootType(definition.operation), definition.selectionSet, 1, 1);
  if (definition.operation === OperationTypeNode.MUTATION && measured.rootFields > 1) {
    throw tooMuch("One mutation per request: a failing one would leave those before it committed.");
  }
  return !measured.askedVariables;
}

/** Walks an operation as the executor would, counting, and stops at the first limit. */
class Measure {
  rootFields = 0;
  /** Whether the values of variables made a difference. */
  askedVariables = false;
  #visited = 0;
  #aliases = 0;
  #cost = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Map<string, FragmentDefinitionNode>,
    private readonly variables: Variables,
  ) {}

  /** `times`: how many objects the selection applies to; `page`: how many nodes each of them has, if they are connections. */
  walk(
    parent: GraphQLNamedType | null | undefined,
    set: SelectionSetNode,
    depth: number,
    times: number,
    page = 1,
  ): void {
    if (depth > limits.depth) throw tooMuch(`The document is deeper than ${limits.depth} levels.`);
    for (const selection of set.selections) {
      // Fragments that spread fragments grow exponentially.
      if (++this.#visited > limits.selections)
        throw tooMuch(`The document selects more than ${limits.selections} fields.`);
      if (selection.kind === Kind.FIELD) {
        this.#field(parent, selection, depth, times, page);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments.get(selection.name.value) : selection;
      const condition = fragment?.typeCondition?.name.value;
      const type = condition === undefined ? parent : this.schema.getType(condition);
      if (fragment) this.walk(type, fragment.selectionSet, depth, times, page);
    }
  }

  #field(
    parent: GraphQLNamedType | null | undefined,
    node: FieldNode,
    depth: number,
    times: number,
    page: number,
  ): void {
    const isMeta = node.name.value.startsWith("__");
    if (depth === 1 && !isMeta) this.rootFields++;
    if (node.alias && ++this.#aliases > limits.aliases)
      throw tooMuch(`The document has more than ${limits.aliases} aliases.`);
    const type = fieldOf(parent, node.name.value)?.type;
    const named = type && getNamedType(type);
    if (!parent || !isCompositeType(named) || !node.selectionSet) return;
    const isList = isListType(isNonNullType(type) ? type.ofType : type);
    const each = isList ? (isConnection(parent) ? page : (this.#asked(node) ?? shortList)) : 1;
    this.#cost += times * each;
    if (this.#cost > limits.cost) throw tooMuch(`The document may touch more than ${limits.cost} objects.`);
    const isAlone = times === 1 && depth > 1;
    const nodes = isConnection(named) ? this.#nodes(node, isAlone) : 1;
    this.walk(named, node.selectionSet, isMeta ? introspectionDepth : depth + 1, times * each, nodes);
  }

  /** How many nodes a connection may have at most. */
  #nodes(node: FieldNode, isAlone: boolean): number {
    if (this.#argument(node, "complete") !== true) return this.#asked(node) ?? defaultPage;
    return isAlone ? largestAlone : largestPage;
  }

  /** The page size that a field asks for; 0 and null ask for the default. */
  #asked(node: FieldNode): number | undefined {
    const count = Number(this.#argument(node, "first") ?? this.#argument(node, "last"));
    return count > 0 ? Math.min(count, largestPage) : undefined;
  }

  /** A number or truth that is given to a field. */
  #argument({ arguments: given = [] }: FieldNode, wanted: string): unknown {
    const value: ValueNode | undefined = given.find(({ name }) => name.value === wanted)?.value;
    if (value?.kind === Kind.VARIABLE) {
      this.askedVariables = true;
      return this.variables[value.name.value];
    }
    return value?.kind === Kind.INT || value?.kind === Kind.BOOLEAN ? valueFromASTUntyped(value) : undefined;
  }
}

const isConnection = ({ name }: GraphQLNamedType) => name.endsWith("Connection");

const metaFields: Record<string, GraphQLField<unknown, unknown>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
};

const fieldOf = (parent: GraphQLNamedType | null | undefined, name: string) =>
  metaFields[name] ?? (isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined);

import {
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isCompositeType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  getOperationAST,
  OperationTypeNode,
  type SelectionSetNode,
} from "graphql";
import { DomainError } from "../domain/errors.js";
import type { Variables } from "./execute.js";

/** What a document of the caller's own may ask for. Stored operations have the bounds of their areas instead. */
export const limits = { bytes: 64 * 1024, requestBytes: 1024 * 1024, depth: 12, aliases: 100, selections: 10_000, cost: 50_000 } as const;

/** Lexical tokens of a document at most: the parser stops there. */
export const tokens = 10_000;

const defaultPage = 100;
const largestPage = 1000;

const tooMuch = (message: string) => new DomainError("BAD_USER_INPUT", message);

/** Throws when a document asks for more than one request may. */
export function checkLimits(schema: GraphQLSchema, document: DocumentNode, name: string | undefined, variables: Variables): void {
  const operation = getOperationAST(document, name);
  if (!operation) return;
  const fragments = new Map(
    document.definitions.flatMap((each) => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [])),
  );
  const measured = new Measure(schema, fragments, variables);
  const root = schema.getRootType(operation.operation);
  if (root) measured.walk(root, operation.selectionSet, 1, 1);
  if (operation.operation === OperationTypeNode.MUTATION && measured.rootFields > 1) {
    throw tooMuch("One mutation per request: a failing one would leave those before it committed.");
  }
}

/** Walks an operation as the executor would, counting, and stops at the first limit. */
class Measure {
  rootFields = 0;
  #visited = 0;
  #aliases = 0;
  #cost = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Map<string, FragmentDefinitionNode>,
    private readonly variables: Variables,
  ) {}

  /** `times`: how many objects the selection applies to. */
  walk(parent: unknown, set: SelectionSetNode, depth: number, times: number): void {
    if (depth > limits.depth) throw tooMuch(`The document is deeper than ${limits.depth} levels.`);
    for (const selection of set.selections) {
      // Fragments that spread fragments grow exponentially.
      if (++this.#visited > limits.selections) throw tooMuch(`The document selects more than ${limits.selections} fields.`);
      if (selection.kind === Kind.FIELD) this.#field(parent, selection, depth, times);
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const type = selection.typeCondition ? this.schema.getType(selection.typeCondition.name.value) : parent;
        this.walk(type, selection.selectionSet, depth, times);
      } else {
        const fragment = this.fragments.get(selection.name.value);
        if (fragment) this.walk(this.schema.getType(fragment.typeCondition.name.value), fragment.selectionSet, depth, times);
      }
    }
  }

  #field(parent: unknown, node: FieldNode, depth: number, times: number): void {
    if (depth === 1) this.rootFields++;
    if (node.alias && ++this.#aliases > limits.aliases) throw tooMuch(`The document has more than ${limits.aliases} aliases.`);
    const type = isObjectType(parent) ? (parent as GraphQLObjectType).getFields()[node.name.value]?.type : undefined;
    if (!type || !isCompositeType(getNamedType(type)) || !node.selectionSet) return;
    const page = this.#pageSize(node, isListType(isNonNullType(type) ? type.ofType : type), parent);
    this.#cost += times * page;
    if (this.#cost > limits.cost) throw tooMuch(`The document may touch more than ${limits.cost} objects.`);
    this.walk(getNamedType(type), node.selectionSet, depth + 1, times * page);
  }

  /** A connection costs its page once, at `nodes` or `edges`; lists without paging are bounded and count as a default page. */
  #pageSize(node: FieldNode, isList: boolean, parent: unknown): number {
    const name = (parent as GraphQLObjectType).name;
    if (name.endsWith("Connection")) return 1;
    const asked = node.arguments?.find(({ name: { value } }) => value === "first" || value === "last")?.value;
    if (asked?.kind === Kind.INT) return clamp(Number(asked.value));
    if (asked?.kind === Kind.VARIABLE) return clamp(Number(this.variables[asked.name.value] ?? defaultPage));
    const named = getNamedType((parent as GraphQLObjectType).getFields()[node.name.value]!.type).name;
    return isList ? 10 : named.endsWith("Connection") ? defaultPage : 1;
  }
}

const clamp = (size: number) => Math.min(Math.max(Number.isFinite(size) ? size : defaultPage, 1), largestPage);

import {
  type FieldNode,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from "graphql";
import { memoized } from "./memoized.js";
import type { Variables } from "./variables.js";

/** A selection of a field: found once per operation, evaluated at every request. */
interface Selected {
  node: FieldNode;
  /** Whether every `@skip` and `@include` on the path to it includes it. */
  isIncluded(variables: Variables): boolean;
  /** The values of its arguments. */
  args(variables: Variables): Record<string, unknown>;
}

/** Fields of a type: `true` allows every selection below a field. */
export interface Fields {
  readonly [name: string]: true | Fields;
}

const comparisonWith = memoized((fields: Fields) =>
  memoized((node: FieldNode, fragments: Fragments) => isWithin(node.selectionSet!, fields, fragments)),
);

/** Whether only these fields are selected below the field that is being resolved. Skipped fields count as selected. */
export function selectsOnly({ fieldNodes, fragments }: GraphQLResolveInfo, fields: Fields): boolean {
  const selectsNothingElse = comparisonWith(fields);
  return fieldNodes.every((node) => selectsNothingElse(node, fragments));
}

type Fragments = GraphQLResolveInfo["fragments"];

const isWithin = ({ selections }: SelectionSetNode, fields: Fields, fragments: Fragments): boolean =>
  selections.every((selection) => {
    if (selection.kind === Kind.INLINE_FRAGMENT) return isWithin(selection.selectionSet, fields, fragments);
    if (selection.kind === Kind.FRAGMENT_SPREAD)
      return isWithin(fragments[selection.name.value]!.selectionSet, fields, fragments);
    const allowed = selection.name.value === "__typename" || fields[selection.name.value];
    return typeof allowed === "object" ? isWithin(selection.selectionSet!, allowed, fragments) : allowed === true;
  });

/** What `selectionsBelow` found below a field, by path. */
const foundBelow = memoized<FieldNode, [], Map<string, Selected[]>>(() => new Map());

/**
 * The arguments of each selection of a field below the one that is being resolved, so that a resolver can read ahead.
 * `path` has the names of the fields from here to there.
 */
export function selectedArguments(info: GraphQLResolveInfo, ...path: string[]): Array<Record<string, unknown>> {
  const { fieldNodes, variableValues } = info;
  const found: Array<Record<string, unknown>> = [];
  for (const node of fieldNodes)
    for (const selected of selectionsBelow(node, path, info))
      if (selected.isIncluded(variableValues)) found.push(selected.args(variableValues));
  return found;
}

/** Whether only these fields are selected below a field, of which `path` has the names from the one being resolved. */
export function selectsOnlyBelow(info: GraphQLResolveInfo, fields: Fields, ...path: string[]): boolean {
  const selectsNothingElse = comparisonWith(fields);
  const selections = info.fieldNodes.flatMap((node) => selectionsBelow(node, path, info));
  return selections.every(({ node }) => selectsNothingElse(node, info.fragments));
}

/** The same for every request of an operation, so it is looked up once. */
function selectionsBelow(node: FieldNode, path: readonly string[], info: GraphQLResolveInfo): Selected[] {
  const paths = foundBelow(node);
  const name = path.length === 1 ? path[0]! : path.join(".");
  let found = paths.get(name);
  if (!found) {
    found = node.selectionSet ? [...walk(getNamedType(info.returnType), node.selectionSet, path, [], info)] : [];
    paths.set(name, found);
  }
  return found;
}

function* walk(
  type: unknown,
  { selections }: SelectionSetNode,
  path: readonly string[],
  guards: readonly SelectionNode[],
  info: GraphQLResolveInfo,
): Generator<Selected> {
  if (!isObjectType(type)) return;
  for (const selection of selections) {
    const passed = selection.directives?.length ? [...guards, selection] : guards;
    if (selection.kind === Kind.INLINE_FRAGMENT) yield* walk(type, selection.selectionSet, path, passed, info);
    else if (selection.kind === Kind.FRAGMENT_SPREAD)
      yield* walk(type, info.fragments[selection.name.value]!.selectionSet, path, passed, info);
    else if (selection.name.value === path[0]) {
      const field = type.getFields()[path[0]]!;
      if (path.length === 1) yield selectedOf(field, selection, passed);
      else yield* walk(getNamedType(field.type), selection.selectionSet!, path.slice(1), passed, info);
    }
  }
}

function selectedOf(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  guards: readonly SelectionNode[],
): Selected {
  const fixed = usesVariables(node) ? undefined : getArgumentValues(field, node);
  return {
    node,
    isIncluded: (variables) => guards.every((guard) => isIncluded(guard, variables)),
    args: (variables) => fixed ?? getArgumentValues(field, node, variables),
  };
}

/** Whether `@skip` and `@include` include a selection. `variables` are coerced. */
export const isIncluded = (node: SelectionNode, variables: Variables): boolean =>
  getDirectiveValues(GraphQLSkipDirective, node, variables)?.if !== true &&
  getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;

/** Whether the arguments of a field contain variables. */
export const usesVariables = memoized((node: FieldNode) => {
  let isFound = false;
  for (const argument of node.arguments ?? []) visit(argument, { Variable: () => void (isFound = true) });
  return isFound;
});

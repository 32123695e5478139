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
import type { Variables } from "./variables.js";

/** A selection of the wanted field. Read once per operation, asked at every request. */
interface Selected {
  /** Whether all that `@skip` and `@include` say on the way to it lets it through. */
  isIncluded(variables: Variables): boolean;
  /** The values of its arguments. */
  args(variables: Variables): Record<string, unknown>;
}

/** Some fields of a type; all that is below a field, or some of it. */
export interface Fields {
  readonly [name: string]: true | Fields;
}

const comparisons = new WeakMap<Fields, WeakMap<FieldNode, boolean>>();

/** Whether nothing but these fields is selected below the one that is being resolved, whatever is skipped of them. */
export function selectsOnly({ fieldNodes, fragments }: GraphQLResolveInfo, fields: Fields): boolean {
  let known = comparisons.get(fields);
  if (!known) comparisons.set(fields, (known = new WeakMap()));
  return fieldNodes.every((node) => {
    let only = known.get(node);
    if (only === undefined) known.set(node, (only = isWithin(node.selectionSet!, fields, fragments)));
    return only;
  });
}

const isWithin = (
  { selections }: SelectionSetNode,
  fields: Fields,
  fragments: GraphQLResolveInfo["fragments"],
): boolean =>
  selections.every((selection) => {
    if (selection.kind === Kind.INLINE_FRAGMENT) return isWithin(selection.selectionSet, fields, fragments);
    if (selection.kind === Kind.FRAGMENT_SPREAD)
      return isWithin(fragments[selection.name.value]!.selectionSet, fields, fragments);
    const allowed = selection.name.value === "__typename" || fields[selection.name.value];
    return typeof allowed === "object" ? isWithin(selection.selectionSet!, allowed, fragments) : allowed === true;
  });

const known = new WeakMap<FieldNode, Map<string, Selected[]>>();

/**
 * The arguments of each selection of a field below the one that is being resolved, so that a resolver can read along
 * what will be asked for next. `path` names the fields from here to there.
 */
export function selectedArguments(info: GraphQLResolveInfo, ...path: string[]): Array<Record<string, unknown>> {
  const { fieldNodes, variableValues } = info;
  const found: Array<Record<string, unknown>> = [];
  for (const node of fieldNodes)
    for (const selected of selectionsBelow(node, path, info))
      if (selected.isIncluded(variableValues)) found.push(selected.args(variableValues));
  return found;
}

/** The same for every request of an operation, so it is looked for once. */
function selectionsBelow(node: FieldNode, path: readonly string[], info: GraphQLResolveInfo): Selected[] {
  const paths = known.get(node) ?? new Map<string, Selected[]>();
  known.set(node, paths);
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
    isIncluded: (variables) => guards.every((guard) => isIncluded(guard, variables)),
    args: (variables) => fixed ?? getArgumentValues(field, node, variables),
  };
}

/** Whether `@skip` and `@include` let a selection through. `variables` are coerced. */
export const isIncluded = (node: SelectionNode, variables: Variables): boolean =>
  getDirectiveValues(GraphQLSkipDirective, node, variables)?.if !== true &&
  getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;

const withVariables = new WeakMap<FieldNode, boolean>();

/** Whether a field's arguments have variables in them. The same for every request of an operation, so it is kept. */
export function usesVariables(node: FieldNode): boolean {
  let found = withVariables.get(node);
  if (found === undefined) {
    found = false;
    for (const argument of node.arguments ?? []) visit(argument, { Variable: () => void (found = true) });
    withVariables.set(node, found);
  }
  return found;
}

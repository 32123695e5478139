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
} from "graphql";

/** A selection of the wanted field, with everything on the way to it that `@skip` and `@include` may switch off. */
interface Selected {
  node: FieldNode;
  field: GraphQLField<unknown, unknown>;
  guards: SelectionNode[];
}

const known = new WeakMap<FieldNode, Map<string, Selected[]>>();

/**
 * The arguments of each selection of a field below the one that is being resolved, so that a resolver can read along
 * what will be asked for next. `path` names the fields from here to there.
 */
export const selectedArguments = (info: GraphQLResolveInfo, ...path: string[]): Array<Record<string, unknown>> =>
  info.fieldNodes
    .flatMap((node) => selectionsBelow(node, path, info))
    .filter(({ guards }) => guards.every((guard) => isIncluded(guard, info.variableValues)))
    .map(({ field, node }) => getArgumentValues(field, node, info.variableValues));

/** The same for every request of an operation, so it is looked for once. */
function selectionsBelow(node: FieldNode, path: readonly string[], info: GraphQLResolveInfo): Selected[] {
  const paths = known.get(node) ?? new Map<string, Selected[]>();
  known.set(node, paths);
  const name = path.join(".");
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
    const passed = selection.directives?.length ? [...guards, selection] : [...guards];
    if (selection.kind === Kind.INLINE_FRAGMENT) yield* walk(type, selection.selectionSet, path, passed, info);
    else if (selection.kind === Kind.FRAGMENT_SPREAD)
      yield* walk(type, info.fragments[selection.name.value]!.selectionSet, path, passed, info);
    else if (selection.name.value === path[0]) {
      const field = type.getFields()[path[0]]!;
      if (path.length === 1) yield { node: selection, field, guards: passed };
      else yield* walk(getNamedType(field.type), selection.selectionSet!, path.slice(1), passed, info);
    }
  }
}

const isIncluded = (node: SelectionNode, variables: Record<string, unknown>) =>
  getDirectiveValues(GraphQLSkipDirective, node, variables)?.if !== true &&
  getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;

import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
} from "graphql";

/** The fragments of a document by their names. */
export const fragmentsOf = ({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> =>
  new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );

/** Whether nothing but some fields of the object behind a field is selected. Skipped fields count as selected. */
export function selectsOnly({ fieldNodes, fragments }: GraphQLResolveInfo, fields: ReadonlySet<string>): boolean {
  const isCovered = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) return fields.has(selection.name.value);
      const { selectionSet } = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value]! : selection;
      return isCovered(selectionSet);
    });
  return fieldNodes.every(({ selectionSet }) => isCovered(selectionSet!));
}

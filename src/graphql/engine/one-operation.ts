import { type DocumentNode, type FragmentDefinitionNode, Kind, type OperationDefinitionNode, visit } from "graphql";

/** One operation of a document with just the fragments it uses, so that what it needs is known from it alone. */
export function oneOperation(operation: OperationDefinitionNode, document: DocumentNode): DocumentNode {
  const fragments = fragmentsOf(document);
  const used = new Set<FragmentDefinitionNode>();
  const follow = (node: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value);
        if (!fragment || used.has(fragment)) return;
        used.add(fragment);
        follow(fragment);
      },
    });
  };
  follow(operation);
  return { kind: Kind.DOCUMENT, definitions: [operation, ...used] };
}

/** The fragments of a document by their names. */
export const fragmentsOf = ({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> =>
  new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );

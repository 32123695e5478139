import { readFileSync } from "node:fs";
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  Source,
  validate,
  visit,
} from "graphql";
import { type Operation, prepare } from "../../graphql/execute.js";

/** An operation that the program brings along: validated at boot, run as often as its row is asked for. */
export interface StoredOperation extends Operation {
  readonly name: string;
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  /** What its root field does, in the words of the schema. */
  readonly description: string | undefined;
}

/** Reads the operations of an area. The program does not start with an invalid one. */
export function storedOperations(schema: GraphQLSchema, area: string): Map<string, StoredOperation> {
  const text = readFileSync(new URL(`../${area}.graphql`, import.meta.url), "utf8");
  const document = parse(new Source(text, `${area}.graphql`), { noLocation: false });
  const faults = validate(schema, document);
  if (faults.length > 0) throw new Error(`${area}.graphql: ${faults.map(String).join("\n")}`);
  const operations = new Map<string, StoredOperation>();
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const name = definition.name?.value;
    if (!name) throw new Error(`${area}.graphql: every operation needs a name.`);
    const single = documentOf(definition, document);
    operations.set(name, {
      ...prepare(schema, single, name),
      name,
      document: single,
      definition,
      description: descriptionOf(schema, definition),
    });
  }
  return operations;
}

function descriptionOf(schema: GraphQLSchema, { operation, selectionSet }: OperationDefinitionNode): string | undefined {
  const [root] = selectionSet.selections;
  const name = root?.kind === Kind.FIELD ? root.name.value : "";
  return schema.getRootType(operation)?.getFields()[name]?.description ?? undefined;
}

/** The operation with just the fragments it uses, so that what it needs is known from it alone. */
function documentOf(operation: OperationDefinitionNode, document: DocumentNode): DocumentNode {
  const fragments = new Map(
    document.definitions
      .filter((definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
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

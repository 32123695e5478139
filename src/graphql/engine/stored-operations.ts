import { readFileSync } from "node:fs";
import {
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  separateOperations,
  Source,
  validate,
} from "graphql";
import { type Operation, prepare } from "./execute.js";
import { memoize } from "./memoized.js";
import { programFile } from "../../runtime/program-files.js";

/** An operation of the program, validated at boot and run for every request of its row or page. */
export interface StoredOperation extends Operation {
  readonly name: string;
  /** The description of its root field in the schema. */
  readonly description: string | undefined;
}

/** The operations that were read for each schema, by file. */
const filesOf = memoize((_schema: GraphQLSchema) => new Map<string, Map<string, StoredOperation>>());

/** Returns the operations of a file below `src`, such as `rest/groups`. The program does not start with an invalid one. */
export function storedOperations(schema: GraphQLSchema, path: string): Map<string, StoredOperation> {
  const files = filesOf(schema);
  const operations = files.get(path) ?? readOperations(schema, path);
  files.set(path, operations);
  return operations;
}

function readOperations(schema: GraphQLSchema, path: string): Map<string, StoredOperation> {
  const text = readFileSync(programFile(`${path}.graphql`), "utf8");
  const document = parse(new Source(text, `${path}.graphql`), { noLocation: false });
  const faults = validate(schema, document);
  if (faults.length > 0) throw new Error(`${path}.graphql: ${faults.map(String).join("\n")}`);
  const operations = new Map<string, StoredOperation>();
  for (const [name, separate] of Object.entries(separateOperations(document))) {
    if (name === "") throw new Error(`${path}.graphql: every operation needs a name.`);
    const operation = prepare(schema, separate, name, { isStored: true });
    operations.set(name, { ...operation, name, description: descriptionOf(schema, operation.definition) });
  }
  return operations;
}

function descriptionOf(
  schema: GraphQLSchema,
  { operation, selectionSet }: OperationDefinitionNode,
): string | undefined {
  const [root] = selectionSet.selections;
  const name = root?.kind === Kind.FIELD ? root.name.value : "";
  return schema.getRootType(operation)?.getFields()[name]?.description ?? undefined;
}

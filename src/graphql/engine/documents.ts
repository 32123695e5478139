import { type DocumentNode, type GraphQLInputType, type GraphQLSchema, OperationTypeNode, typeFromAST } from "graphql";
import { LRUCache } from "lru-cache";
import { Problems } from "../../domain/kernel/errors.js";
import { type Operation, prepare } from "./execute.js";
import { checkLimits, limits } from "./limits.js";
import { argumentPaths, asDeclared, rulesOfVariables, type Variables, variableReader } from "./variables.js";

/** An operation of a caller's own document, with the checks that only those need. */
export interface ForeignOperation extends Operation {
  /** Throws BAD_USER_INPUT for too large a request, and for every variable of a wrong form at once. */
  check(variables: Variables): void;
}

/** Characters of documents whose operations are kept; in memory, an operation takes many times its text. */
const keptText = 1024 * 1024;

/** Operations of documents that callers sent, kept for their next time. */
export class Documents {
  readonly #operations = new LRUCache<string, ForeignOperation>({ max: 1000, maxSize: keptText });
  readonly #seen = new LRUCache<string, true>({ max: 1000, maxSize: keptText });

  constructor(private readonly schema: GraphQLSchema) {}

  /** The operation of a document that came before and is kept. */
  known(text: string, name: string | undefined): ForeignOperation | undefined {
    return this.#operations.get(idOf(text, name));
  }

  /** The operation of a valid document. Compiled when it comes a second time. */
  operation(text: string, document: DocumentNode, name: string | undefined): ForeignOperation {
    const id = idOf(text, name);
    const known = this.#operations.get(id);
    if (known) return known;
    const again = this.#seen.has(id);
    const prepared = prepare(this.schema, document, name, again, limits.responseBytes);
    const operation = { ...prepared, check: checker(this.schema, prepared) };
    const size = id.length;
    if (again || operation.kind !== OperationTypeNode.QUERY) this.#operations.set(id, operation, { size });
    else this.#seen.set(id, true, { size });
    return operation;
  }
}

const idOf = (text: string, name = "") => `${name}:${text}`;

function checker(schema: GraphQLSchema, operation: Operation): ForeignOperation["check"] {
  const paths = argumentPaths(operation.document);
  const rules = rulesOfVariables(schema, operation.document);
  const variables = (operation.definition.variableDefinitions ?? []).map(({ variable, type, defaultValue }) => {
    const declared = typeFromAST(schema, type as never) as unknown as GraphQLInputType;
    const variableName = variable.name.value;
    const read = variableReader(declared, defaultValue !== undefined, asDeclared, rules.get(variableName));
    return { name: variableName, path: paths.get(variableName) ?? variableName, read };
  });
  let isSettled = false;
  return (values) => {
    const problems = new Problems();
    for (const { name: variable, path, read } of variables) read(values[variable], path, problems);
    problems.throwIfAny();
    isSettled ||= checkLimits(schema, operation, values);
  };
}

import {
  type DocumentNode,
  getOperationAST,
  type GraphQLSchema,
  OperationTypeNode,
  stripIgnoredCharacters,
} from "graphql";
import { LRUCache } from "lru-cache";
import { Problems } from "../../domain/kernel/errors.js";
import { type Operation, prepare } from "./execute.js";
import { checkLimits, limits } from "./limits.js";
import { asDeclared, readerOf, type Variables } from "./variables.js";

/** An operation of a client's document. Unlike stored operations, it is checked against limits. */
export interface ForeignOperation extends Operation {
  /** Throws BAD_USER_INPUT for a request over a limit, and with all faults of the variables together. */
  check(variables: Variables): void;
  /** Where introspection keeps its results, by their variables: the document without white space and comments. */
  readonly introspection: string | undefined;
}

/** Characters of the documents whose operations are cached. An operation takes several times its text in memory. */
const keptText = 1024 * 1024;

/** Caches the operations of documents that clients sent. */
export class Documents {
  readonly #operations = new LRUCache<string, ForeignOperation>({ max: 1000, maxSize: keptText });
  readonly #seen = new LRUCache<string, true>({ max: 1000, maxSize: keptText });

  constructor(private readonly schema: GraphQLSchema) {}

  /** The cached operation of a document. */
  known(text: string, name: string | undefined): ForeignOperation | undefined {
    return this.#operations.get(idOf(text, name));
  }

  /** The operation of a valid document. A query is compiled and cached when it is sent a second time. */
  operation(text: string, document: DocumentNode, name: string | undefined): ForeignOperation {
    const id = idOf(text, name);
    const known = this.#operations.get(id);
    if (known) return known;
    const isQuery = getOperationAST(document, name)?.operation === OperationTypeNode.QUERY;
    const again = this.#seen.has(id);
    // Errors of compiled mutations would not tell which argument their fields belong to.
    const prepared = prepare(this.schema, document, name, again && isQuery, limits.responseBytes);
    const introspection = prepared.isIntrospection ? idOf(stripIgnoredCharacters(text), name) : undefined;
    const operation = { ...prepared, check: checker(this.schema, prepared), introspection };
    const size = id.length;
    if (again || !isQuery) this.#operations.set(id, operation, { size });
    else this.#seen.set(id, true, { size });
    return operation;
  }
}

const idOf = (text: string, name = "") => `${name}:${text}`;

function checker(schema: GraphQLSchema, operation: Operation): ForeignOperation["check"] {
  const readers = operation.variables.map((each) => ({ ...each, read: readerOf(each, asDeclared) }));
  let isSettled = false;
  return (values) => {
    const problems = new Problems();
    for (const { name, path, read } of readers) read(values[name], path, problems);
    problems.throwIfAny();
    isSettled ||= checkLimits(schema, operation, values);
  };
}

import { type DocumentNode, type GraphQLSchema, stripIgnoredCharacters } from "graphql";
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

  constructor(private readonly schema: GraphQLSchema) {}

  /** The cached operation of a document. */
  find(text: string, name: string | undefined): ForeignOperation | undefined {
    return this.#operations.get(idOf(text, name));
  }

  /** The operation of a valid document, which is cached from now on. */
  operation(text: string, document: DocumentNode, name: string | undefined): ForeignOperation {
    const id = idOf(text, name);
    const known = this.#operations.get(id);
    if (known) return known;
    const prepared = prepare(this.schema, document, name, { mostBytes: limits.responseBytes });
    const introspection = prepared.isIntrospection ? idOf(stripIgnoredCharacters(text), name) : undefined;
    const operation = { ...prepared, check: checker(this.schema, prepared), introspection };
    this.#operations.set(id, operation, { size: id.length });
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

import type { ApolloServerOptions } from "@apollo/server";
import { type DocumentNode, type GraphQLSchema, stripIgnoredCharacters } from "graphql";
import { LRUCache } from "lru-cache";
import type { Context } from "../../domain/kernel/context.js";
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

/**
 * How many documents are cached, and characters of all of them. What is made of a document takes several times its text in
 * memory.
 */
const kept = { max: 1000, maxSize: 1024 * 1024 };

/** Caches documents that clients sent, and their operations. */
export class Documents {
  readonly #operations = new LRUCache<string, ForeignOperation>(kept);
  readonly #valid = new LRUCache<string, DocumentNode>({
    ...kept,
    sizeCalculation: ({ loc }) => loc!.source.body.length,
  });

  /** Where Apollo keeps what it has parsed and validated. By default, it keeps 30 MB of it as JSON, which is more in memory. */
  readonly store: ApolloServerOptions<Context>["documentStore"] = {
    get: async (key) => this.#valid.get(key),
    set: async (key, document) => void this.#valid.set(key, document),
    delete: async (key) => this.#valid.delete(key),
  };

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

import {
  type ExecutionArgs,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  parse,
  validate,
  type ValidationRule,
} from "graphql";
import { CloseCode, type SubscribePayload } from "graphql-ws";
import type { Services } from "../../domain/kernel/context.js";
import { idOf } from "../../domain/kernel/actor.js";
import { noteError, type RequestDetails } from "../../domain/kernel/request.js";
import { boundedPool } from "../../runtime/concurrency.js";
import { DomainError } from "../../domain/kernel/errors.js";
import type { End } from "../../http/lifetimes.js";
import type { RequestObserver } from "../../http/request-log.js";
import type { Documents, ForeignOperation } from "./documents.js";
import { formatError, report, translate } from "./errors.js";
import type { Admitted } from "./execute.js";
import { checkSize, faults, tokens } from "./limits.js";
import type { Result } from "./result.js";
import type { Identity } from "./socket-identity.js";
import type { Connection } from "./socket-transport.js";
import type { Variables } from "./variables.js";

const operationsPerSocket = 100;

/** Queries and mutations of a socket that run, or whose results wait for the client, at a time. Others are queued. */
const running = 10;

/** Everything that the sockets of one path share. */
export interface Serving {
  services: Services;
  schema: GraphQLSchema;
  /** Of documents that passed the rules. */
  documents: Documents;
  rules: readonly ValidationRule[];
  observers: readonly RequestObserver[];
}

/** One client on its socket, and the operations that it has under way. */
export class SocketClient {
  readonly turns = boundedPool(running);
  readonly #operations = new WeakMap<SubscribePayload, SocketOperation>();
  /** The subscriptions under way. */
  readonly #streams = new Set<SocketOperation>();
  #isDraining = false;
  #isIntroduced = false;
  /** The number of operations so far. */
  #operationCount = 0;

  constructor(
    private readonly serving: Serving,
    readonly connection: Connection,
    private readonly identity: Identity,
    private readonly request: RequestDetails,
  ) {
    const begun = performance.now();
    connection.until((code) => {
      const milliseconds = performance.now() - begun;
      const closed = { milliseconds, code, operations: this.#operationCount, details: request };
      for (const observer of serving.observers) observer.socket(closed);
    });
  }

  get isIntroduced(): boolean {
    return this.#isIntroduced;
  }

  /** Accepts a client that sends a credential, in its first message or with the upgrade. */
  async introduce(token: unknown): Promise<boolean> {
    try {
      const actor = await this.identity.introduce(token);
      if (!actor) return false;
      const { connection, serving } = this;
      this.request.actorId = idOf(actor);
      connection.until(serving.services.credentials.watch(actor, () => endSession(connection)));
      this.#isIntroduced = true;
      return true;
    } catch (error) {
      // Only a fault of the credential may end in 4403: clients sign people out for it.
      if (/^(UNAUTHENTICATED|FORBIDDEN)$/.test(translate(error).code)) return false;
      throw error;
    }
  }

  /**
   * Admits one operation, with the checks of HTTP in the same order. `open` is the number of operations on the socket,
   * with this one.
   */
  async begin(payload: SubscribePayload, open: number): Promise<ExecutionArgs> {
    const life = new AbortController();
    const begun = performance.now();
    this.#operationCount++;
    let details = { ...this.request };
    try {
      const ctx = await this.identity.admit(life);
      details = ctx.request;
      if (open > operationsPerSocket) throw tooManyOperations();
      const operation = this.#read(payload);
      const admitted = operation.admit(ctx);
      const variables = payload.variables ?? {};
      operation.check(variables);
      const contextValue = new SocketOperation(this, admitted, variables, life, begun, details);
      this.#operations.set(payload, contextValue);
      const { definition, document } = operation;
      return { schema: this.serving.schema, document, operationName: definition.name?.value, contextValue };
    } catch (error) {
      noteError(details, error instanceof AggregateError ? "BAD_USER_INPUT" : translate(error).code);
      this.#observe(begun, details);
      throw error;
    }
  }

  #observe(begun: number, details: RequestDetails): void {
    const completed = { milliseconds: performance.now() - begun, details };
    for (const observer of this.serving.observers) observer.operation(completed);
  }

  /** Throws what the parser finds wrong with a document, and all that its validation finds as an `AggregateError`. */
  #read({ query, operationName }: SubscribePayload): ForeignOperation {
    const { schema, documents, rules } = this.serving;
    checkSize(query);
    const known = documents.find(query, operationName ?? undefined);
    if (known) return known;
    const document = parse(query, { maxTokens: tokens });
    const found = validate(schema, document, rules, { maxErrors: faults });
    if (found.length > 0) throw new AggregateError(found);
    return documents.operation(query, document, operationName ?? undefined);
  }

  /** Ends the turn of an operation: its result has been sent. */
  end(payload: SubscribePayload): void {
    const operation = this.#operations.get(payload);
    if (operation) {
      operation.end();
      this.#operations.delete(payload);
      this.#streams.delete(operation);
      this.#observe(operation.begun, operation.details);
    }
    this.#closeIfDrained();
  }

  /** Notes a subscription that has started. */
  began(stream: SocketOperation): void {
    this.#streams.add(stream);
  }

  /** Ends the subscriptions, which may send a last event, and then the socket: the server stops. */
  drain(): void {
    this.#isDraining = true;
    for (const stream of this.#streams) stream.drain();
    this.#closeIfDrained();
  }

  #closeIfDrained(): void {
    if (this.#isDraining && this.#streams.size === 0) this.connection.end(1012, "Service restart");
  }

  /** Formats the errors of an operation. */
  formatErrors(payload: SubscribePayload, errors: readonly GraphQLError[]): GraphQLFormattedError[] {
    const { log } = this.serving.services;
    const request = this.#operations.get(payload)?.details ?? { ...this.request };
    return errors.map((error) => formatError({ log, request }, error));
  }

  /** Closes a socket on which a message could not be handled, with a code after which clients reconnect. */
  fail(error: unknown): void {
    const failure = translate(error);
    report({ log: this.serving.services.log, request: { ...this.request } }, failure, error);
    this.connection.end(failure.code === "INTERNAL_SERVER_ERROR" ? 1011 : 1013, failure.message);
  }
}

const endSession = (connection: Connection) => connection.end(CloseCode.Forbidden, "Session ended");

const tooManyOperations = () =>
  new DomainError("RATE_LIMITED", `A socket carries at most ${operationsPerSocket} operations.`, { retryAfter: 1 });

/** One operation of a client, from its admission until its result has been sent. */
export class SocketOperation {
  readonly #sent = Promise.withResolvers<void>();

  constructor(
    private readonly client: Pick<SocketClient, "turns" | "connection" | "began">,
    private readonly admitted: Admitted,
    private readonly variables: Variables,
    private readonly life: AbortController,
    /** When it was received, in milliseconds of the process's monotonic clock. */
    readonly begun: number,
    readonly details: RequestDetails,
  ) {}

  /** Runs a query or mutation when its turn comes, which lasts until the client has taken the result. */
  run(): Promise<Result> {
    const { turns, connection } = this.client;
    return new Promise((resolve, reject) => {
      void turns(async () => {
        resolve(connection.isOpen ? await this.admitted.run(this.variables) : { data: null });
        await this.#sent.promise;
      }).catch(reject);
    });
  }

  /** Ends its turn. */
  end(): void {
    this.#sent.resolve();
  }

  /** Ends a subscription because the server stops. */
  drain(): void {
    this.life.abort("restart" satisfies End);
  }

  /**
   * The events of a subscription. Ending them aborts it immediately: a waiting generator would only notice at the next
   * event. A subscription that is the first to notice the end of the session ends the socket as well: after its error, a
   * client without other operations would close the socket itself, and not learn from the code that it is signed out.
   */
  async start(): Promise<AsyncGenerator<Result> | Result> {
    const events = await this.admitted.start(this.variables);
    if (!(Symbol.asyncIterator in events)) return events;
    this.client.began(this);
    const next = events.next.bind(events);
    const end = events.return.bind(events);
    events.next = async () => {
      try {
        return await next();
      } catch (error) {
        if (translate(error).code === "UNAUTHENTICATED") endSession(this.client.connection);
        throw error;
      }
    };
    events.return = (value) => {
      this.life.abort("gone");
      return end(value);
    };
    return events;
  }
}

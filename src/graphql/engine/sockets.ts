import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ExecutionArgs, GraphQLError, type GraphQLSchema, parse, specifiedRules, validate } from "graphql";
import { CloseCode, handleProtocols, makeServer, type SubscribePayload } from "graphql-ws";
import { WebSocketServer } from "ws";
import { Context, type Services } from "../../domain/kernel/context.js";
import type { RequestFacts } from "../../domain/kernel/request.js";
import { anonymous } from "../../domain/kernel/actor.js";
import { type BoundedPool, boundedPool } from "../../domain/kernel/bounded-pool.js";
import { DomainError } from "../../domain/kernel/errors.js";
import type { ContextOf } from "../../http/exchange.js";
import { factsOf } from "../../http/facts.js";
import type { Unread } from "../../http/unread.js";
import type { Documents, ForeignOperation } from "./documents.js";
import { asGraphqlError, formatError, report, translate } from "./errors.js";
import type { Result } from "./result.js";
import { checkSize, limits, rulesFor, tokens } from "./limits.js";
import { type Connection, Transport } from "./socket-transport.js";

/** Milliseconds for the client to introduce itself. */
const introduction = 10_000;
const operationsPerSocket = 100;

/** Queries and mutations of a socket that run, or whose results wait for the client, at a time. The rest waits in line. */
const running = 10;

interface Extra extends Record<PropertyKey, unknown> {
  connection: Connection;
  request: IncomingMessage;
  facts: RequestFacts;
  turns: BoundedPool;
  /** Makes the context of one operation: as on HTTP, each authenticates anew. */
  enter(life: AbortController): Context | Promise<Context>;
}

type Decide = (isWelcome: boolean, status?: number, message?: string, headers?: Record<string, string>) => void;

/** What our hooks hand from one to the next. */
interface Admitted extends ExecutionArgs {
  contextValue: Context;
  variableValues: Record<string, unknown>;
  operation: ForeignOperation;
  life: AbortController;
  connection: Connection;
  turns: BoundedPool;
  /** Resolves when the result has been sent. */
  sent: Promise<void>;
}

/** GraphQL over WebSocket (graphql-transport-ws), every operation with the same executor as HTTP. */
export function graphqlOverSockets(
  services: Services,
  schema: GraphQLSchema,
  documents: Documents,
  contextOf: ContextOf,
  unread: Unread,
) {
  const { credentials, log } = services;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.requestBytes,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols,
    verifyClient: ({ req }: { req: IncomingMessage }, decide: Decide) => decideOn(req, decide),
  });
  const transport = new Transport(unread, services.config.unread.patience);

  /** A new connection counts by its address: who asks may be said in the first message only. */
  function decideOn(request: IncomingMessage, decide: Decide): void {
    try {
      services.limits.countCaller({ actor: anonymous, request: factsOf(request, services.config) });
      decide(true);
    } catch (error) {
      const { message, facts } = translate(error);
      decide(false, 429, message, { "Retry-After": String(facts.retryAfter) });
    }
  }
  const rules = [...specifiedRules, ...rulesFor(services.config)];

  /** Lets a client in who shows a credential, in its first message or with the upgrade. */
  async function introduce(extra: Extra, given: unknown): Promise<boolean> {
    const { connection, request, facts } = extra;
    // Each operation with facts of its own: what one of them counts is not counted for the next.
    extra.enter =
      typeof given === "string"
        ? async (life) => new Context(services, await credentials.authenticate(given), { ...facts }, () => life)
        : (life) => contextOf(request, { facts: { ...facts }, lifetime: () => life });
    try {
      const { actor } = await extra.enter(new AbortController());
      if (actor.kind === "anonymous") return false;
      connection.until(credentials.watch(actor, () => connection.end(CloseCode.Forbidden, "Session ended")));
      return true;
    } catch (error) {
      // Only what is wrong with the credential may end in 4403: clients sign people out for it.
      if (/^(UNAUTHENTICATED|FORBIDDEN)$/.test(translate(error).code)) return false;
      throw error;
    }
  }

  /** What is called when the result of a message is sent, by the payload of the message. */
  const whenSent = new WeakMap<SubscribePayload, () => void>();

  /** Reads what the client sends. Throws what is wrong with it; returns what is wrong with the document. */
  async function read(
    { extra, subscriptions }: { extra: Extra; subscriptions: object },
    payload: SubscribePayload,
  ): Promise<Admitted | readonly GraphQLError[]> {
    const { query, operationName, variables } = payload;
    const { connection, turns } = extra;
    const life = new AbortController();
    const isTooMuch = Object.keys(subscriptions).length > operationsPerSocket;
    const contextValue = await extra.enter(life);
    services.limits.countCaller(contextValue);
    if (isTooMuch) {
      throw new DomainError("RATE_LIMITED", `A socket carries at most ${operationsPerSocket} operations.`, {
        retryAfter: 1,
      });
    }
    checkSize(query);
    const document = parse(query, { maxTokens: tokens });
    const faults = validate(schema, document, rules);
    if (faults.length > 0) return faults;
    const name = operationName ?? undefined;
    const variableValues = variables ?? {};
    const operation = documents.operation(query, document, name);
    operation.admit(contextValue);
    operation.check(variableValues);
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    whenSent.set(payload, resolve);
    const args = { schema, document, operationName: name, variableValues };
    return { ...args, contextValue, operation, life, connection, turns, sent };
  }

  const server = makeServer<{ sessionToken?: unknown }, Extra>({
    schema,
    connectionInitWaitTimeout: introduction,
    onConnect: ({ extra, connectionParams }) => introduce(extra, connectionParams?.sessionToken),
    async onSubscribe(socket, _id, payload) {
      try {
        return await read(socket, payload);
      } catch (error) {
        return [asGraphqlError(error)];
      }
    },
    execute: (args) => inTurn(args as Admitted) as never,
    async subscribe(args) {
      const { operation, contextValue, variableValues, life } = args as Admitted;
      const events = await operation.start(contextValue, variableValues);
      return (Symbol.asyncIterator in events ? endingWith(life, events) : events) as never;
    },
    onNext: ({ extra }, _id, _payload, _args, result) =>
      result.errors && { ...result, errors: result.errors.map((error) => told(extra, error)) },
    onError: ({ extra }, _id, _payload, errors) => errors.map((error) => told(extra, error)),
    onComplete: (_socket, _id, payload) => whenSent.get(payload)?.(),
  });

  const told = ({ facts }: Extra, error: GraphQLError) => formatError({ log, request: facts }, error);

  /** Closes a socket on which a message could not be handled, with a code that lets clients come back. */
  function fail(error: unknown, { connection, facts }: Extra): void {
    const failure = translate(error);
    report({ log, request: facts }, failure, error);
    connection.end(failure.code === "INTERNAL_SERVER_ERROR" ? 1011 : 1013, failure.message);
  }

  return {
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      sockets.handleUpgrade(request, socket, head, (peer) => {
        const facts = factsOf(request, services.config);
        const extraOf = (connection: Connection) =>
          ({ connection, request, facts, turns: boundedPool(running) }) as unknown as Extra;
        transport.open(server, peer, socket as Socket, extraOf, fail);
      });
    },
    /** Closes every socket with 1012, "service restart". */
    close: () => transport.close(1012, "Service restart"),
  };
}

/** Runs an operation when its turn comes, which lasts until the client has taken the result. */
function inTurn({ operation, contextValue, variableValues, connection, turns, sent }: Admitted): Promise<Result> {
  return new Promise((resolve, reject) => {
    void turns(async () => {
      resolve(connection.isOpen ? await operation.run(contextValue, variableValues) : { data: null });
      await sent;
    }).catch(reject);
  });
}

/** Events whose end ends the life of their operation: a generator that waits would not hear of it before its next event. */
function endingWith(life: AbortController, events: AsyncGenerator<Result>): AsyncGenerator<Result> {
  const end = events.return.bind(events);
  events.return = (value) => {
    life.abort("gone");
    return end(value);
  };
  return events;
}

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ExecutionArgs, GraphQLError, type GraphQLSchema, parse, validate } from "graphql";
import { CloseCode } from "graphql-ws";
import { useServer } from "graphql-ws/use/ws";
import { type WebSocket, WebSocketServer } from "ws";
import { Context, type Services } from "../context.js";
import { DomainError } from "../domain/errors.js";
import type { ContextOf } from "../http/baseline.js";
import { factsOf } from "../http/facts.js";
import type { Lifetimes } from "../http/lifetimes.js";
import type { Documents, ForeignOperation } from "./documents.js";
import { formatError } from "./errors.js";
import { limits, tokens } from "./limits.js";

/** Milliseconds for the client to introduce itself, and between pings; a ping without pong ends the socket. */
const introduction = 10_000;
const keepAlive = 30_000;
const operationsPerSocket = 100;

interface Extra extends Record<PropertyKey, unknown> {
  socket: WebSocket;
  request: IncomingMessage;
  context?: Context;
}

/** GraphQL over WebSocket (graphql-transport-ws), every operation with the same executor as HTTP. */
export function graphqlOverSockets(
  services: Services,
  schema: GraphQLSchema,
  documents: Documents,
  lifetimes: Lifetimes,
  contextOf: ContextOf,
) {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: limits.requestBytes, perMessageDeflate: false });

  async function introduce(extra: Extra, payload: { sessionToken?: unknown } | null | undefined): Promise<boolean> {
    const facts = factsOf(extra.request, services.config);
    const life = lifetimes.of(extra.socket as unknown as Duplex);
    const given = payload?.sessionToken;
    try {
      extra.context =
        typeof given === "string"
          ? new Context(services, await services.credentials.authenticate(given), facts, () => life)
          : await contextOf(extra.request, { facts, lifetime: () => life });
    } catch (error) {
      if (!(error instanceof DomainError)) services.log.error({ err: error, requestId: facts.id }, "connection failed");
      return false;
    }
    const { actor } = extra.context;
    if (actor.kind === "anonymous") return false;
    const stopWatching = services.credentials.watch(actor, () => extra.socket.close(CloseCode.Forbidden, "Session ended"));
    life.signal.addEventListener("abort", stopWatching, { once: true });
    return true;
  }

  /** Reads what the client asks for: the operation, or everything that is wrong with it. */
  function read({ context }: Extra, query: string, name: string | undefined, variables: Record<string, unknown>) {
    if (query.length > limits.bytes) throw new DomainError("BAD_USER_INPUT", "The document is too large.");
    const document = parse(query, { maxTokens: tokens });
    const faults = validate(schema, document);
    if (faults.length > 0) return faults;
    const operation = documents.operation(query, document, name);
    operation.check(variables);
    return { schema, document, operationName: name, variableValues: variables, contextValue: context, operation };
  }

  const service = useServer<{ sessionToken?: unknown }, Extra>(
    {
      schema,
      connectionInitWaitTimeout: introduction,
      onConnect: ({ extra, connectionParams }) => introduce(extra as Extra, connectionParams),
      onSubscribe({ extra, subscriptions }, _id, { query, operationName, variables }) {
        try {
          if (Object.keys(subscriptions).length > operationsPerSocket) {
            throw new DomainError("RATE_LIMITED", `A socket carries at most ${operationsPerSocket} operations.`, { retryAfter: 1 });
          }
          return read(extra as Extra, query, operationName ?? undefined, variables ?? {}) as ExecutionArgs;
        } catch (error) {
          return [error instanceof GraphQLError ? error : new GraphQLError((error as Error).message, { originalError: error as Error })];
        }
      },
      execute: (args) => operationOf(args).run(args.contextValue as Context, args.variableValues ?? {}) as never,
      subscribe: (args) => operationOf(args).start(args.contextValue as Context, args.variableValues ?? {}) as never,
      onNext: ({ extra }, _id, _payload, _args, result) =>
        result.errors && { ...result, errors: result.errors.map((error) => formatError((extra as Extra).context!, error)) },
      onError: ({ extra }, _id, _payload, errors) => errors.map((error) => formatError((extra as Extra).context!, error)),
    },
    sockets,
    keepAlive,
  );

  return {
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      sockets.handleUpgrade(request, socket, head, (peer) => sockets.emit("connection", peer, request));
    },
    /** Closes every socket with 1012, "service restart". */
    async close(): Promise<void> {
      for (const peer of sockets.clients) peer.close(1012, "Service restart");
      await service.dispose();
    },
  };
}

const operationOf = (args: ExecutionArgs) => (args as ExecutionArgs & { operation: ForeignOperation }).operation;

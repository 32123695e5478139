import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ExecutionArgs, GraphQLError, type GraphQLSchema, parse, specifiedRules, validate } from "graphql";
import { CloseCode } from "graphql-ws";
import { useServer } from "graphql-ws/use/ws";
import { type WebSocket, WebSocketServer } from "ws";
import { anonymous, Context, type RequestFacts, type Services } from "../context.js";
import { DomainError } from "../domain/errors.js";
import type { ContextOf } from "../http/baseline.js";
import { factsOf } from "../http/facts.js";
import { answerPing } from "../http/pings.js";
import type { Documents, ForeignOperation } from "./documents.js";
import { formatError, translate } from "./errors.js";
import type { Result } from "./execute.js";
import { checkSize, limits, rulesFor, tokens } from "./limits.js";

/** Milliseconds for the client to introduce itself, and between pings; a ping without pong ends the socket. */
const introduction = 10_000;
const keepAlive = 30_000;
const operationsPerSocket = 100;

interface Extra extends Record<PropertyKey, unknown> {
  socket: WebSocket;
  request: IncomingMessage;
  facts: RequestFacts;
  /** Makes the context of one operation: as on HTTP, each asks anew who the caller is and what they may do. */
  enter(life: AbortController): Context | Promise<Context>;
}

type Decide = (isWelcome: boolean, status?: number, message?: string, headers?: Record<string, string>) => void;

/** What our hooks hand from one to the next. */
interface Admitted extends ExecutionArgs {
  contextValue: Context;
  variableValues: Record<string, unknown>;
  operation: ForeignOperation;
  life: AbortController;
}

/** GraphQL over WebSocket (graphql-transport-ws), every operation with the same executor as HTTP. */
export function graphqlOverSockets(
  services: Services,
  schema: GraphQLSchema,
  documents: Documents,
  contextOf: ContextOf,
) {
  const { credentials, log } = services;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.requestBytes,
    perMessageDeflate: false,
    autoPong: false,
    verifyClient: ({ req }: { req: IncomingMessage }, decide: Decide) => decideOn(req, decide),
  });
  sockets.on("connection", (peer) => peer.on("ping", answerPing));

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
    const { socket, request } = extra;
    const facts = factsOf(request, services.config);
    extra.facts = facts;
    // Each operation with facts of its own: what one of them counts is not counted for the next.
    extra.enter =
      typeof given === "string"
        ? async (life) => new Context(services, await credentials.authenticate(given), { ...facts }, () => life)
        : (life) => contextOf(request, { facts: { ...facts }, lifetime: () => life });
    try {
      const { actor } = await extra.enter(new AbortController());
      if (actor.kind === "anonymous") return false;
      const stopWatching = credentials.watch(actor, () => socket.close(CloseCode.Forbidden, "Session ended"));
      socket.once("close", stopWatching);
      if (socket.readyState !== socket.OPEN) stopWatching();
      return true;
    } catch (error) {
      if (!(error instanceof DomainError)) log.error({ err: error, requestId: facts.id }, "connection failed");
      return false;
    }
  }

  /** Reads what the client asks for. Throws what is wrong with it; returns what is wrong with the document. */
  async function read(extra: Extra, query: string, name: string | undefined, variables: Record<string, unknown>) {
    checkSize(query);
    const document = parse(query, { maxTokens: tokens });
    const faults = validate(schema, document, rules);
    if (faults.length > 0) return faults;
    const operation = documents.operation(query, document, name);
    const life = new AbortController();
    const contextValue = await extra.enter(life);
    operation.admit(contextValue);
    operation.check(variables);
    return {
      schema,
      document,
      operationName: name,
      variableValues: variables,
      contextValue,
      operation,
      life,
    } satisfies Admitted;
  }

  const service = useServer<{ sessionToken?: unknown }, Extra>(
    {
      schema,
      connectionInitWaitTimeout: introduction,
      isProd: true,
      onConnect: ({ extra, connectionParams }) => introduce(extra as Extra, connectionParams?.sessionToken),
      async onSubscribe({ extra, subscriptions }, _id, { query, operationName, variables }) {
        try {
          if (Object.keys(subscriptions).length > operationsPerSocket) {
            throw new DomainError("RATE_LIMITED", `A socket carries at most ${operationsPerSocket} operations.`, {
              retryAfter: 1,
            });
          }
          return await read(extra as Extra, query, operationName ?? undefined, variables ?? {});
        } catch (error) {
          return [
            error instanceof GraphQLError
              ? error
              : new GraphQLError((error as Error).message, { originalError: error as Error }),
          ];
        }
      },
      execute(args) {
        const { operation, contextValue, variableValues } = args as Admitted;
        return operation.run(contextValue, variableValues) as never;
      },
      async subscribe(args) {
        const { operation, contextValue, variableValues, life } = args as Admitted;
        const events = await operation.start(contextValue, variableValues);
        return (Symbol.asyncIterator in events ? endingWith(life, events) : events) as never;
      },
      onNext: ({ extra }, _id, _payload, _args, result) =>
        result.errors && { ...result, errors: result.errors.map((error) => told(extra as Extra, error)) },
      onError: ({ extra }, _id, _payload, errors) => errors.map((error) => told(extra as Extra, error)),
    },
    sockets,
    keepAlive,
  );

  const told = ({ facts }: Extra, error: GraphQLError) => formatError({ log, request: facts }, error);

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

/** Events whose end ends the life of their operation: a generator that waits would not hear of it before its next event. */
function endingWith(life: AbortController, events: AsyncGenerator<Result>): AsyncGenerator<Result> {
  const end = events.return.bind(events);
  events.return = (value) => {
    life.abort("gone");
    return end(value);
  };
  return events;
}

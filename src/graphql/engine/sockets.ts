import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type GraphQLError, type GraphQLSchema, specifiedRules } from "graphql";
import { handleProtocols, makeServer, type ServerOptions } from "graphql-ws";
import { WebSocketServer } from "ws";
import type { Services } from "../../domain/kernel/context.js";
import { anonymous } from "../../domain/kernel/actor.js";
import type { ContextOf } from "../../http/exchange.js";
import { requestDetailsOf } from "../../http/request-details.js";
import type { RequestObserver } from "../../http/request-log.js";
import type { Unread } from "../../http/slow-clients.js";
import type { Documents } from "./documents.js";
import { asGraphqlError, translate } from "./errors.js";
import { limits, rulesFor } from "./limits.js";
import { type Serving, SocketClient, type SocketOperation } from "./socket-client.js";
import { SessionIdentity } from "./socket-identity.js";
import { pinging, Transport } from "./socket-transport.js";

/** Milliseconds within which a client must send its first message. */
const introduction = 10_000;

/** The steps of the protocol: each is a method of the client or of one of its operations. */
export const steps: ServerOptions<{ sessionToken?: unknown }, SocketClient> = {
  connectionInitWaitTimeout: introduction,
  onConnect: ({ extra: client, connectionParams }) => client.introduce(connectionParams?.sessionToken),
  onSubscribe: async ({ extra: client, subscriptions }, _id, payload) => {
    try {
      return await client.begin(payload, Object.keys(subscriptions).length);
    } catch (error) {
      return error instanceof AggregateError ? (error.errors as GraphQLError[]) : [asGraphqlError(error)];
    }
  },
  execute: ({ contextValue }) => (contextValue as SocketOperation).run() as never,
  subscribe: ({ contextValue }) => (contextValue as SocketOperation).start() as never,
  onNext: ({ extra: client }, _id, payload, _args, result) =>
    result.errors && { ...result, errors: client.formatErrors(payload, result.errors) },
  onError: ({ extra: client }, _id, payload, errors) => client.formatErrors(payload, errors),
  onComplete: ({ extra: client }, _id, payload) => client.end(payload),
};

type Decide = (isWelcome: boolean, status?: number, message?: string, headers?: Record<string, string>) => void;

/** GraphQL over WebSocket (graphql-transport-ws): every operation runs with the same executor as over HTTP. */
export class GraphqlOverSockets {
  readonly #protocol = makeServer(steps);
  readonly #serving: Serving;
  readonly #transport: Transport<SocketClient>;
  /** Those of upgrades that are not decided yet. */
  readonly #identities = new WeakMap<IncomingMessage, SessionIdentity>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.requestBytes,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols,
    verifyClient: ({ req }: { req: IncomingMessage }, decide: Decide) => void this.#decide(req, decide),
  });

  constructor(
    services: Services,
    schema: GraphQLSchema,
    documents: Documents,
    private readonly contextOf: ContextOf,
    unread: Unread,
    observers: readonly RequestObserver[],
  ) {
    const rules = [...specifiedRules, ...rulesFor(services.config)];
    this.#serving = { services, schema, documents, rules, observers };
    this.#transport = new Transport(unread, pinging(services.config.unread.timeout));
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { services } = this.#serving;
    const details = requestDetailsOf(request, services.config);
    const identity = new SessionIdentity(services, this.contextOf, request, details, socket);
    this.#identities.set(request, identity);
    this.#sockets.handleUpgrade(request, socket, head, (peer) =>
      this.#transport.open(
        this.#protocol,
        peer,
        socket as Socket,
        (connection) => new SocketClient(this.#serving, connection, identity, details),
      ),
    );
  }

  /** Closes every socket with 1012, "service restart". */
  close(): void {
    this.#transport.close(1012, "Service restart");
  }

  /** Counts a new connection by its address, and by its user if the credential does not come in the first message only. */
  async #decide(request: IncomingMessage, decide: Decide): Promise<void> {
    const { limits: rateLimits, config } = this.#serving.services;
    try {
      rateLimits.countCaller({ actor: anonymous, request: requestDetailsOf(request, config) });
      await this.#identities.get(request)!.announce();
      decide(true);
    } catch (error) {
      const { message, details } = translate(error);
      decide(false, 429, message, { "Retry-After": String(details.retryAfter) });
    }
  }
}

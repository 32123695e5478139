import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { GraphQLError, type GraphQLSchema, specifiedRules, type ValidationRule } from "graphql";
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer } from "graphql-ws";
import { type WebSocket, WebSocketServer } from "ws";
import type { ProvisionerActor } from "../../domain/kernel/actor.js";
import { Context, type Services } from "../../domain/kernel/context.js";
import type { RequestDetails } from "../../domain/kernel/request.js";
import { presenceHint } from "../../domain/provisioners/provisioner-jobs.js";
import { whileHolds } from "../../domain/kernel/watching.js";
import { noteSeen, type Presence, presenceOf } from "../../domain/provisioners/daemon-registration.js";
import { requireServing } from "../../domain/provisioners/serving.js";
import type { Beating } from "../../http/heartbeat.js";
import type { RequestObserver } from "../../http/request-log.js";
import type { Unread } from "../../http/slow-clients.js";
import { Documents } from "../engine/documents.js";
import { rulesFor } from "../engine/limits.js";
import { type Serving, SocketClient } from "../engine/socket-client.js";
import type { Identity } from "../engine/socket-identity.js";
import { type Connection, Transport } from "../engine/socket-transport.js";
import { steps } from "../engine/sockets.js";

/** Maximum size of a message in bytes. */
const largestMessage = 4 * 1024 * 1024;

/** Milliseconds between pings, and how many of them a daemon may miss. */
const interval = 20_000;
const mostMissed = 3;

/** Minimum milliseconds between two records that a daemon was heard of. */
const recently = 10_000;

/** The operations of daemons. */
const operations = new Set([
  "provisionerWorkReceived",
  "acceptProvisionerJob",
  "updateProvisionerJob",
  "reportProvisionerResources",
  "completeProvisionerJob",
  "failProvisionerJob",
]);

/** Rejects all other operations, introspection included. */
const onlyOperationsOfDaemons: ValidationRule = (context) => ({
  Field({ name }) {
    const type = context.getParentType();
    const schema = context.getSchema();
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    if (roots.some((root) => root === type) && !operations.has(name.value))
      context.reportError(new GraphQLError(`Provisioner daemons cannot select "${name.value}".`));
  },
});

export interface AdmittedDaemon {
  daemon: ProvisionerActor;
  details: RequestDetails;
}

/** The sockets of provisioner daemons: GraphQL over WebSocket, with the daemon as the caller of every operation. */
export class DaemonSockets {
  readonly #protocol = makeServer(steps);
  readonly #serving: Serving;
  readonly #transport: Transport<DaemonClient>;
  readonly #clients = new Set<DaemonClient>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: largestMessage,
    perMessageDeflate: false,
    autoPong: false,
    handleProtocols: () => GRAPHQL_TRANSPORT_WS_PROTOCOL,
  });

  constructor(services: Services, schema: GraphQLSchema, unread: Unread, observers: readonly RequestObserver[]) {
    const rules = [...specifiedRules, ...rulesFor(services.config), onlyOperationsOfDaemons];
    this.#serving = { services, schema, documents: new Documents(schema), rules, observers };
    this.#transport = new Transport<DaemonClient>(unread, {
      interval,
      beatingOf: (peer, client, connection) => new DaemonPings(peer, client, connection),
    });
  }

  /** Whether an upgrade offers the protocol. */
  static speaks = ({ headers }: IncomingMessage): boolean =>
    (headers["sec-websocket-protocol"] ?? "").split(",").some((each) => each.trim() === GRAPHQL_TRANSPORT_WS_PROTOCOL);

  /** Switches the connection of an admitted daemon to the protocol. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, admitted: AdmittedDaemon): void {
    this.#sockets.handleUpgrade(request, socket, head, (peer) =>
      this.#transport.open(this.#protocol, peer, socket as Socket, (connection) => {
        const client = new DaemonClient(this.#serving, connection, admitted);
        this.#clients.add(client);
        connection.until(() => this.#clients.delete(client));
        return client;
      }),
    );
  }

  /** Asks all daemons to connect again, and closes their sockets with 1012. */
  close(): void {
    for (const client of this.#clients) client.drain();
  }
}

/**
 * The identity that the upgrade gave to a daemon, as long as its key or user may connect it. Its operations count against
 * no limit of requests.
 */
const identityOf = (services: Services, { daemon, details }: AdmittedDaemon): Identity => ({
  introduce: async () => daemon,
  async admit(life) {
    await requireServing(services, daemon);
    return new Context(services, daemon, { ...details }, () => life);
  },
});

/** A daemon on its socket, which is closed when a newer connection replaces it, and when it may not serve any more. */
class DaemonClient extends SocketClient {
  readonly #services: Services;
  readonly #daemon: ProvisionerActor;
  #seen = 0;

  constructor(serving: Serving, connection: Connection, admitted: AdmittedDaemon) {
    super(serving, connection, identityOf(serving.services, admitted), admitted.details);
    this.#services = serving.services;
    this.#daemon = admitted.daemon;
    const { services } = serving;
    const { daemon } = admitted;
    const condition = async () => {
      await requireServing(services, daemon);
      this.#requirePresent(await presenceOf(services, daemon));
      return true;
    };
    const wakes = [presenceHint(daemon.id), ...services.credentials.hintsOf(daemon)];
    connection.until(
      whileHolds({ services, log: services.log }, wakes, condition, () =>
        connection.end(CloseCode.Forbidden, "Forbidden"),
      ),
    );
    this.note();
  }

  /** Records that the daemon was heard of, unless that was recorded a moment ago. */
  heard(): void {
    if (performance.now() - this.#seen > recently) this.note();
  }

  /** Records that the daemon was heard of. */
  note(): void {
    this.#seen = performance.now();
    noteSeen(this.#services, this.#daemon).then(
      (presence) => this.#requirePresent(presence),
      (error: unknown) =>
        this.#services.log.warn({ err: error }, "A provisioner daemon could not be recorded as seen."),
    );
  }

  #requirePresent(presence: Presence): void {
    if (presence === "replaced") this.connection.end(4410, "Replaced by a newer connection");
    if (presence === "deleted") this.connection.end(CloseCode.Forbidden, "Deleted");
  }
}

/** Pings a daemon and closes its socket when it is silent. */
class DaemonPings implements Beating {
  #missing = 0;

  constructor(
    private readonly peer: WebSocket,
    client: DaemonClient,
    private readonly connection: Connection,
  ) {
    const heard = () => {
      this.#missing = 0;
      client.heard();
    };
    peer.on("pong", heard);
    peer.on("message", heard);
    peer.on("ping", (payload: Buffer) => {
      heard();
      if (peer.bufferedAmount === 0) peer.pong(payload);
    });
  }

  beat(): void {
    if (this.#missing === mostMissed) return this.connection.end(4411, "Silent for too long");
    this.#missing++;
    if (this.peer.bufferedAmount === 0) this.peer.ping();
  }
}

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../runtime/config.js";
import { StartRefused } from "../runtime/errors.js";
import { networkOf } from "../domain/rate-limits/rate-limits.js";
import { upgrades } from "./exchange.js";
import { isWithin, loopback, plain } from "./request-details.js";
import type { Unread } from "./slow-clients.js";

/**
 * Milliseconds for which an idle connection is kept. Longer than any proxy keeps its own (nginx: 60 s, Caddy: 2 min), so
 * that the proxy closes first: a POST that meets a closing connection is not repeated (RFC 9110 §9.2.2), and would get 502.
 */
const keptIdle = 130_000;

/**
 * An HTTP server with limits on the size and the duration of request headers, on the duration of requests, and on the idle
 * time between them, which counts as no header's time.
 */
export const createListener = (): Server =>
  createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    keepAliveTimeout: keptIdle,
    connectionsCheckingInterval: 1_000,
    // Clients also offer upgrades that are not supported, such as h2c: those requests stay plain HTTP.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  });

/** Listens on the configured host and port. Returns the URL. */
export async function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<string> {
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, host, resolve);
  await listening.catch((error: NodeJS.ErrnoException) => {
    const reason = reasons[error.code ?? ""];
    throw reason ? new StartRefused(reason(host, port)) : error;
  });
  server.off("error", reject);
  const { address, port: actual } = server.address() as AddressInfo;
  return `http://${address.includes(":") ? `[${address}]` : address}:${actual}`;
}

/** Explanations of why listening failed, each naming the setting to change. */
const reasons: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) => `Another process listens on port ${port} of ${host}. STEWARD_PORT chooses another port.`,
  EACCES: (_, port) => `This user may not listen on port ${port}. STEWARD_PORT chooses another port.`,
  EADDRNOTAVAIL: (host) => `This machine does not have the address ${host}, which STEWARD_HOST sets.`,
  ENOTFOUND: (host) => `The name ${host}, which STEWARD_HOST sets, cannot be resolved.`,
};

/** Stops listening and closes all connections, also those of requests in progress. */
export function hangUp(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** Gives an upgrade a response object, so that it is routed like any request and can be rejected as plain HTTP. */
export function upgradable(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => response.socket?.end());
  socket.on("error", destroyItself);
  upgrades.set(request, { socket, head });
  return response;
}

/** Not a closure, so that an open WebSocket does not keep its upgrade request in memory. */
function destroyItself(this: Duplex): void {
  this.destroy();
}

/**
 * Makes a listener of Koa's handler. A request starts when the previous response on its connection was sent: clients may
 * send requests without waiting for responses (RFC 9112 §9.3.2), and Node would run them concurrently and buffer the
 * responses. Bytes of responses that their clients do not read are counted, but those of streams, which count their own.
 */
export function requestListener(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  unread: Unread,
): RequestListener {
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await handle(request, response);
    if (!response.writableEnded) return;
    unread.wrote(request.socket);
    // A reader of the body that gave up has paused it, and the connection would hang: the rest is dropped.
    if (!request.complete) request.resume();
  }
  return (request, response) => {
    if (response.socket) void respond(request, response);
    else response.once("socket", () => void respond(request, response));
  };
}

/** Connections at most, however many file descriptors there are. */
const most = 20_000;

/** File descriptors for the program itself: files, timers, the log, calls to other services. */
const ownDescriptors = 64;

/** How many connections fit beside what else needs file descriptors. */
export function connectionLimit(
  { databasePool }: Pick<Config, "databasePool">,
  descriptors = descriptorLimit(),
): number {
  return Math.max(16, Math.min(most, descriptors - ownDescriptors - databasePool));
}

/** How many files and sockets this process may have open. Only Linux says so in a file. */
function descriptorLimit(): number {
  if (process.platform !== "linux") return Infinity;
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

/** The open connections of one network, oldest first. */
interface Neighbors {
  /** A trusted proxy or this machine, which stand for many clients. */
  isShared: boolean;
  sockets: Set<Socket>;
}

/**
 * Bounds the open connections, so that file descriptors do not run out. Beyond the limit the oldest silent connections
 * are closed: those without a complete request at work, of the network that has the most connections. A network that is
 * not shared may hold half of the limit in silence. Requests cost nothing: which connections are silent is looked up
 * only when room is needed.
 */
export class Connections {
  readonly #networks = new Map<string, Neighbors>();
  readonly #open = new Map<Socket, string>();
  readonly #onClose: (this: Socket) => void;

  constructor(
    private readonly limit: number,
    private readonly config: Pick<Config, "trustedProxies">,
    private readonly busySockets: () => Set<Duplex>,
  ) {
    const remove = (socket: Socket) => this.#remove(socket);
    // One listener for all: ten thousand connections would have ten thousand closures.
    this.#onClose = function () {
      remove(this);
    };
  }

  bound(server: NetServer): void {
    server.on("connection", (socket) => this.#add(socket));
  }

  #add(socket: Socket): void {
    const address = plain(socket.remoteAddress ?? "");
    const network = networkOf(address);
    let neighbors = this.#networks.get(network);
    if (!neighbors) {
      const isShared = isWithin(address, loopback) || isWithin(address, this.config.trustedProxies);
      this.#networks.set(network, (neighbors = { isShared, sockets: new Set() }));
    }
    const { isShared, sockets } = neighbors;
    sockets.add(socket);
    this.#open.set(socket, network);
    socket.on("close", this.#onClose);

    if (this.#open.size > this.limit) {
      if (!this.#closeSilent(this.#greediest(), socket)) this.#close(socket);
    } else if (!isShared && sockets.size > this.limit / 2) this.#closeSilent(sockets, socket);
  }

  /** All connections: those of networks that are not shared first, of the largest network first, the oldest first. */
  #greediest(): Socket[] {
    const networks = [...this.#networks.values()];
    networks.sort((a, b) => Number(a.isShared) - Number(b.isShared) || b.sockets.size - a.sockets.size);
    return networks.flatMap(({ sockets }) => [...sockets]);
  }

  /** Closes a twentieth of the limit in one go, so that a flood does not cause a search for each of its connections. */
  #closeSilent(candidates: Iterable<Socket>, newest: Socket): boolean {
    const busy = this.busySockets();
    const wanted = Math.ceil(this.limit / 20);
    let closed = 0;
    for (const socket of candidates) {
      if (closed === wanted) break;
      if (socket === newest || busy.has(socket)) continue;
      this.#close(socket);
      closed++;
    }
    return closed > 0;
  }

  #close(socket: Socket): void {
    this.#remove(socket);
    socket.destroy();
  }

  #remove(socket: Socket): void {
    const network = this.#open.get(socket);
    if (network === undefined) return;
    this.#open.delete(socket);
    const { sockets } = this.#networks.get(network)!;
    sockets.delete(socket);
    if (sockets.size === 0) this.#networks.delete(network);
  }
}

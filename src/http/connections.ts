import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../config/config.js";
import { networkOf } from "../domain/rate-limits/rate-limits.js";
import { isWithin, loopback, plain } from "./request-details.js";

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

  bound(server: Server): void {
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

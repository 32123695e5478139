import { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Duplex } from "node:stream";

/** Why a request ends before its response does. `stalled`: the client does not read. */
export type End = "gone" | "session" | "restart" | "stalled";

/** The carrier of a response: the response object, or the socket of an upgrade. */
export type Connection = Duplex | ServerResponse;

/** Milliseconds within which a peer must return the close frame of its socket (RFC 6455 §7.1.3). */
const closeTimeout = 2_000;

/** Milliseconds within which a request in progress must be received when the server stops. */
const arrival = 1_000;

/** Tracks the requests and sockets in progress, so that a draining server can end streams and wait for the rest. */
export class Lifetimes {
  /** The connections in progress, with the abort controllers that were requested for them. */
  readonly #lives = new Map<Connection, AbortController | undefined>();
  readonly #onClose: (this: Connection) => void;
  #isDraining = false;

  /** Rejects the requests that are not completely received. Set by the middleware that runs requests. */
  rejectUnreceived = (): void => {};

  constructor() {
    const end = (connection: Connection) => this.#end(connection);
    // One listener for all: ten thousand open streams would have ten thousand closures.
    this.#onClose = function () {
      end(this);
    };
  }

  /** Tracks a request or a socket until it closes. */
  begin(connection: Connection): void {
    this.#lives.set(connection, undefined);
    connection.on("close", this.#onClose);
  }

  /** Creates an abort controller that aborts when the connection closes, or now if it has closed. */
  of(connection: Connection): AbortController {
    const life = new AbortController();
    if (this.#lives.has(connection)) this.#lives.set(connection, life);
    else life.abort("gone" satisfies End);
    if (this.#isDraining) life.abort("restart" satisfies End);
    return life;
  }

  /** The sockets of completely received requests in progress, and of upgrades. */
  busySockets(): Set<Duplex> {
    const busy = new Set<Duplex>();
    for (const connection of this.#lives.keys()) {
      if (!(connection instanceof ServerResponse)) busy.add(connection);
      else if (connection.req.complete && connection.socket) busy.add(connection.socket);
    }
    return busy;
  }

  /**
   * Ends streams now, rejects requests that are not received soon, waits up to `grace` milliseconds for everything else
   * that has begun, and closes what is left. Later requests are rejected immediately: they would keep a busy server
   * from ending.
   */
  async drain(grace: number): Promise<void> {
    this.#isDraining = true;
    for (const life of this.#lives.values()) life?.abort("restart" satisfies End);
    const begun = performance.now();
    const awaited = [...this.#lives.keys()];
    const isBusy = () => awaited.some((connection) => this.#lives.has(connection));
    for (let spent = 0; spent < grace && isBusy(); spent = performance.now() - begun) {
      if (spent > arrival) this.rejectUnreceived();
      if (spent > closeTimeout) this.closeWhere((connection) => !(connection instanceof ServerResponse));
      await delay(10);
    }
    this.closeWhere(() => true);
  }

  closeWhere(which: (connection: Connection) => boolean): void {
    for (const connection of this.#lives.keys()) if (which(connection)) connection.destroy();
  }

  #end(connection: Connection): void {
    const life = this.#lives.get(connection);
    this.#lives.delete(connection);
    life?.abort("gone" satisfies End);
  }
}

import { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Duplex } from "node:stream";

/** Why a request ends before its response does. `stalled`: the client does not read. */
export type End = "gone" | "session" | "restart" | "stalled";

/** What carries an answer: the response, or the socket of an upgrade. */
export type Connection = Duplex | ServerResponse;

/** Milliseconds that a peer has to answer the close frame of its socket. */
const farewell = 2_000;

/** Milliseconds in which a request that has begun must be received when the server stops. */
const arrival = 1_000;

/** Everything that is going on, so that a server that drains can end what would last and wait for the rest. */
export class Lifetimes {
  /** What is not over yet, with its life if it asked for one. */
  readonly #lives = new Map<Connection, AbortController | undefined>();
  readonly #onClose: (this: Connection) => void;
  #isDraining = false;

  /** Refuses the requests that are not received to their end. Set by what runs the requests. */
  refuseUnreceived = (): void => {};

  constructor() {
    const end = (connection: Connection) => this.#end(connection);
    // One listener for all: ten thousand open streams would have ten thousand closures.
    this.#onClose = function () {
      end(this);
    };
  }

  /** Notes a request or a socket until it is over. */
  begin(connection: Connection): void {
    this.#lives.set(connection, undefined);
    connection.on("close", this.#onClose);
  }

  /** A life that ends when the connection closes, which may have happened; made only for requests that ask for it. */
  of(connection: Connection): AbortController {
    const life = new AbortController();
    if (this.#lives.has(connection)) this.#lives.set(connection, life);
    else life.abort("gone" satisfies End);
    if (this.#isDraining) life.abort("restart" satisfies End);
    return life;
  }

  /** The sockets of complete requests that are at work, and of upgrades. */
  busySockets(): Set<Duplex> {
    const busy = new Set<Duplex>();
    for (const connection of this.#lives.keys()) {
      if (!(connection instanceof ServerResponse)) busy.add(connection);
      else if (connection.req.complete && connection.socket) busy.add(connection.socket);
    }
    return busy;
  }

  /**
   * Ends streams now, refuses requests that are not received soon, waits for everything else for `grace` milliseconds at
   * most, and cuts what is left then.
   */
  async drain(grace: number): Promise<void> {
    this.#isDraining = true;
    for (const life of this.#lives.values()) life?.abort("restart" satisfies End);
    const begun = performance.now();
    for (let spent = 0; spent < grace && this.#lives.size > 0; spent = performance.now() - begun) {
      if (spent > arrival) this.refuseUnreceived();
      if (spent > farewell) this.#cut((connection) => !(connection instanceof ServerResponse));
      await delay(10);
    }
    this.#cut(() => true);
  }

  #cut(which: (connection: Connection) => boolean): void {
    for (const connection of this.#lives.keys()) if (which(connection)) connection.destroy();
  }

  #end(connection: Connection): void {
    const life = this.#lives.get(connection);
    this.#lives.delete(connection);
    life?.abort("gone" satisfies End);
  }
}

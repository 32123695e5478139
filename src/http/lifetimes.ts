import { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Duplex } from "node:stream";

/** Why a request ends before its answer does. */
export type End = "gone" | "session" | "restart";

/** What carries an answer: the response, or the socket of an upgrade. */
export type Connection = Duplex | ServerResponse;

/** Milliseconds that a peer has to answer the close frame of its socket. */
const farewell = 2_000;

/** Everything that is going on, so that a server that drains can end what would last and wait for the rest. */
export class Lifetimes {
  readonly #connections = new Set<Connection>();
  readonly #lives = new Set<AbortController>();
  #isDraining = false;

  /** Notes a request or a socket until it is over. */
  begin(connection: Connection): void {
    this.#connections.add(connection);
    connection.once("close", () => this.#connections.delete(connection));
  }

  /** A life that ends when the connection closes; made only for requests that ask for it. */
  of(connection: Connection): AbortController {
    const life = new AbortController();
    this.#lives.add(life);
    connection.once("close", () => {
      this.#lives.delete(life);
      life.abort("gone" satisfies End);
    });
    if (this.#isDraining) life.abort("restart" satisfies End);
    return life;
  }

  /** Ends streams now, waits for everything else for `grace` milliseconds at most, and cuts what is left then. */
  async drain(grace: number): Promise<void> {
    this.#isDraining = true;
    for (const life of this.#lives) life.abort("restart" satisfies End);
    const begun = performance.now();
    for (let spent = 0; spent < grace && this.#connections.size > 0; spent = performance.now() - begun) {
      if (spent > farewell) this.#cut((connection) => !(connection instanceof ServerResponse));
      await delay(10);
    }
    this.#cut(() => true);
  }

  #cut(which: (connection: Connection) => boolean): void {
    for (const connection of this.#connections) if (which(connection)) connection.destroy();
  }
}

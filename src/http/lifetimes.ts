import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Why a request ends before its answer does. */
export type End = "gone" | "session" | "restart";

/** Everything that is still going on, so that a server that drains can end it. */
export class Lifetimes {
  readonly #open = new Set<AbortController>();

  /** A life that ends when the connection closes; made only for requests that ask for it. */
  of(connection: Duplex | ServerResponse): AbortController {
    const life = new AbortController();
    this.#open.add(life);
    connection.once("close", () => {
      this.#open.delete(life);
      life.abort("gone" satisfies End);
    });
    return life;
  }

  endAll(): void {
    for (const life of this.#open) life.abort("restart" satisfies End);
  }
}

import type { WebSocket } from "ws";

/** Something that is done for a connection now and then while it is open. */
export interface Beating {
  beat(): void;
}

/** Calls all open connections every `interval` milliseconds, with one timer. */
export class Heartbeat {
  readonly #all = new Set<Beating>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly interval: number) {}

  add(one: Beating): void {
    this.#all.add(one);
    this.#timer ??= setInterval(() => {
      for (const each of this.#all) each.beat();
    }, this.interval).unref();
  }

  delete(one: Beating): void {
    this.#all.delete(one);
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Beats in which a peer must answer a ping. */
const patience = 2;

/** Pings a WebSocket at each beat. A peer that does not answer does not read: even what fits into its buffers waits there. */
export class Pings implements Beating {
  #unanswered = 0;

  constructor(
    private readonly peer: WebSocket,
    private readonly onStalled: () => void,
  ) {
    peer.on("pong", () => (this.#unanswered = 0));
    peer.on("ping", answerPing);
  }

  beat(): void {
    // A ping would wait behind what waits already, for which there is a time limit.
    if (this.peer.bufferedAmount > 0) return;
    if (this.#unanswered === patience) return this.onStalled();
    this.#unanswered++;
    this.peer.ping();
  }
}

/**
 * Answers pings, for sockets that do not do so by themselves. A peer that takes nothing gets no pongs: they would pile
 * up. RFC 6455 §5.5.3 lets us answer the latest ping alone.
 */
function answerPing(this: WebSocket, payload: Buffer): void {
  if (this.bufferedAmount === 0) this.pong(payload);
}

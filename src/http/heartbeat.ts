import type { WebSocket } from "ws";

/** A connection that needs regular heartbeats while it is open. */
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

/** Beats within which a peer must send a pong. */
const mostMissed = 2;

/** Pings a WebSocket at each beat. A peer that sends no pong does not read: even messages that fit its buffers wait there. */
export class Pings implements Beating {
  #missing = 0;

  constructor(
    private readonly peer: WebSocket,
    private readonly onStalled: () => void,
  ) {
    peer.on("pong", () => (this.#missing = 0));
    peer.on("ping", sendPong);
  }

  beat(): void {
    // A ping would wait behind what waits already, for which there is a time limit.
    if (this.peer.bufferedAmount > 0) return;
    if (this.#missing === mostMissed) return this.onStalled();
    this.#missing++;
    this.peer.ping();
  }
}

/**
 * Sends pongs, for sockets without automatic pongs. A peer that does not read gets none: they would pile up. RFC 6455
 * §5.5.3 allows a pong for the latest ping only.
 */
function sendPong(this: WebSocket, payload: Buffer): void {
  if (this.bufferedAmount === 0) this.pong(payload);
}

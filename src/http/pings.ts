import type { WebSocket } from "ws";

/**
 * Answers pings, for sockets that do not do so by themselves. A peer that takes nothing gets no pongs: they would pile
 * up. RFC 6455 §5.5.3 lets us answer the latest ping alone.
 */
export function answerPing(this: WebSocket, payload: Buffer): void {
  if (this.bufferedAmount === 0) this.pong(payload);
}

// The loop of all clients that stay connected. graphql-ws can retry too, but subscribes again without waiting after a close
// with 1000, never after one with 4500, and not after a subscription that failed or ended: what follows is needed anyway.
import { delay } from "./delay.js";

/** Milliseconds before a lost connection is opened again: at first, and at most. */
export interface Pauses {
  first: number;
  most: number;
}

export interface Reconnecting<Connection extends { close(): void }, Event> {
  /** Opens a connection. */
  connect: () => Promise<Connection>;
  /** Yields the events of a connection. Ends if there is nothing more to come; throws if the connection is lost. */
  read: (connection: Connection) => AsyncIterable<Event>;
  /**
   * Called with what `connect` or `read` threw, and with the milliseconds until the next attempt. Throws if a new
   * connection would fail as well.
   */
  onLost: (error: unknown, loss: { isOpen: boolean; pause: number }) => void | Promise<void>;
  pauses: Pauses;
  /** Ends the pauses, and thereby the loop. An open connection is ended by `read`. */
  signal: AbortSignal;
}

/**
 * Yields events of one connection after another, with growing pauses in between, which begin again after an event and
 * after a connection that lasted longer than the last one. Throws what `onLost` throws.
 */
export async function* reconnecting<Connection extends { close(): void }, Event>({
  connect,
  read,
  onLost,
  pauses,
  signal,
}: Reconnecting<Connection, Event>): AsyncGenerator<Event, void> {
  let pause = pauses.first;
  while (!signal.aborted) {
    let connection: Connection | undefined;
    let openedAt = Infinity;
    try {
      connection = await connect();
      openedAt = Date.now();
      for await (const event of read(connection)) {
        pause = pauses.first;
        yield event;
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (Date.now() - openedAt > pause) pause = pauses.first;
      await onLost(error, { isOpen: connection !== undefined, pause });
    } finally {
      connection?.close();
    }
    // The random part keeps clients from connecting together after a restart of the server.
    await delay(pause * (0.75 + Math.random() / 2), signal);
    pause = Math.min(2 * pause, pauses.most);
  }
}

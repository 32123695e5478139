import type { Socket } from "node:net";
import type { Server } from "graphql-ws";
import type { WebSocket } from "ws";
import { Heartbeat, Pings } from "../../http/heartbeat.js";
import type { Unread } from "../../http/unread.js";

/** One client on its WebSocket. */
export interface Connection {
  readonly isOpen: boolean;
  /** Closes the socket and ends its operations. */
  end(code: number, reason: string): void;
  /** Calls `stop` once the socket is closed. */
  until(stop: () => void): void;
}

/** How messages of graphql-transport-ws travel: bounds what waits for a client, and ends connections that do not read. */
export class Transport {
  readonly #heartbeat: Heartbeat;
  readonly #open = new Set<Connection>();

  constructor(
    private readonly unread: Unread,
    patience: number,
  ) {
    this.#heartbeat = new Heartbeat(patience / 2);
  }

  /** Connects a WebSocket and the socket that carries it to the protocol. `onFailure` gets what handling a message throws. */
  open<Extra extends object>(
    server: Server<Extra>,
    peer: WebSocket,
    socket: Socket,
    extraOf: (connection: Connection) => Extra,
    onFailure: (error: unknown, extra: Extra) => void,
  ): void {
    const connection: Connection = {
      get isOpen() {
        return peer.readyState === peer.OPEN;
      },
      end(code, reason) {
        peer.close(code, reason);
        void closed(code, reason);
      },
      until: (stop) => void (connection.isOpen ? peer.once("close", stop) : stop()),
    };
    const extra = extraOf(connection);
    const stalled = () => connection.end(1013, "The client does not read");
    const closed = server.opened(
      {
        protocol: peer.protocol,
        send: (text) => this.#send(peer, socket, text, stalled),
        close: (code, reason) => peer.close(code, reason),
        onMessage: (take) =>
          peer.on("message", (data) => {
            take((data as Buffer).toString()).catch((error: unknown) => onFailure(error, extra));
          }),
      },
      extra,
    );
    const pings = new Pings(peer, stalled);
    this.#heartbeat.add(pings);
    this.#open.add(connection);
    // The peer closes itself with the code that says what is wrong (RFC 6455 §7.4.1).
    peer.on("error", () => {});
    peer.once("close", (code, reason) => {
      this.#heartbeat.delete(pings);
      this.#open.delete(connection);
      void closed(code, reason.toString());
    });
  }

  /** Closes all sockets. */
  close(code: number, reason: string): void {
    for (const connection of this.#open) connection.end(code, reason);
  }

  /** Resolves when the message has left this process or cannot any more. */
  async #send(peer: WebSocket, socket: Socket, text: string, onStalled: () => void): Promise<void> {
    if (peer.readyState !== peer.OPEN) return;
    if (this.unread.isFull(socket)) return void socket.destroy();
    // No closure sees the text: it would stay in memory beside the bytes that wait.
    const { promise, resolve } = Promise.withResolvers<void>();
    peer.send(text, () => resolve());
    this.unread.wrote(socket, onStalled);
    return promise;
  }
}

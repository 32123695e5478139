import type { Socket } from "node:net";
import { CloseCode, type Server } from "graphql-ws";
import type { WebSocket } from "ws";
import { foreignJson, isTooDeep } from "../../runtime/json.js";
import { strangerBytes } from "../../http/body.js";
import { type Beating, Heartbeat, Pings } from "../../http/heartbeat.js";
import type { Unread } from "../../http/slow-clients.js";

/** One client on its WebSocket. */
export interface Connection {
  readonly isOpen: boolean;
  /** Closes the socket and ends its operations. */
  end(code: number, reason: string): void;
  /** Calls `stop` once the socket is closed, with the close code. */
  until(stop: (code: number) => void): void;
}

/** The client of a socket. */
interface Peer {
  /** Whether it has sent a valid credential. */
  readonly isIntroduced: boolean;
  /** Handles errors that are thrown while a message is handled. */
  fail(error: unknown): void;
}

/** How a transport notices clients that are gone. */
export interface Attendance<Client> {
  /** Milliseconds between heartbeats. */
  interval: number;
  beatingOf(peer: WebSocket, client: Client, connection: Connection): Beating;
}

/** Pings clients twice in the time that they have to read. */
export const pinging = (timeout: number): Attendance<unknown> => ({
  interval: timeout / 2,
  beatingOf: (peer, _client, connection) => new Pings(peer, () => connection.end(...notReading)),
});

/** The close code of a connection without a close frame (RFC 6455 §7.4.1). */
const abnormal = 1006;

const tooLarge = [1009, `Messages before the credential have at most ${strangerBytes} bytes`] as const;

const tooDeep = `Messages have at most ${foreignJson.levels} levels`;

const notReading = [1013, "The client does not read"] as const;

/** Sends and receives messages of graphql-transport-ws. Bounds what waits for a client, and closes stalled connections. */
export class Transport<Client extends Peer> {
  readonly #heartbeat: Heartbeat;
  readonly #open = new Set<Connection>();

  constructor(
    private readonly unread: Unread,
    private readonly attendance: Attendance<Client>,
  ) {
    this.#heartbeat = new Heartbeat(attendance.interval);
  }

  /** Connects a WebSocket and the socket that carries it to the protocol. */
  open(protocol: Server<Client>, peer: WebSocket, socket: Socket, clientOf: (connection: Connection) => Client): void {
    const connection: Connection = {
      get isOpen() {
        return peer.readyState === peer.OPEN;
      },
      end(code, reason) {
        peer.close(code, reason);
        void closed(code, reason);
      },
      until: (stop) => void (connection.isOpen ? peer.once("close", stop) : stop(abnormal)),
    };
    const client = clientOf(connection);
    const closeStalled = () => connection.end(...notReading);
    const closed = protocol.opened(
      {
        protocol: peer.protocol,
        send: (text) => this.#send(peer, socket, text, closeStalled),
        close: (code, reason) => peer.close(code, reason),
        onMessage: (take) =>
          peer.on("message", (data) => {
            const bytes = data as Buffer;
            if (!client.isIntroduced && bytes.length > strangerBytes) return connection.end(...tooLarge);
            const text = bytes.toString();
            if (isTooDeep(text)) return connection.end(CloseCode.BadRequest, tooDeep);
            take(text).catch((error: unknown) => client.fail(error));
          }),
      },
      client,
    );
    const beating = this.attendance.beatingOf(peer, client, connection);
    this.#heartbeat.add(beating);
    this.#open.add(connection);
    // The peer closes itself with the code that says what is wrong (RFC 6455 §7.4.1).
    peer.on("error", () => {});
    peer.once("close", (code, reason) => {
      this.#heartbeat.delete(beating);
      this.#open.delete(connection);
      void closed(code, reason.toString());
    });
  }

  /** Closes all sockets. */
  close(code: number, reason: string): void {
    for (const connection of this.#open) connection.end(code, reason);
  }

  /**
   * Resolves when the client may be sent the next message: immediately while little waits for it, otherwise when this one
   * has left this process or its socket is closed.
   */
  async #send(peer: WebSocket, socket: Socket, text: string, onStalled: () => void): Promise<void> {
    if (peer.readyState !== peer.OPEN) return;
    if (this.unread.isFull(socket)) return void socket.destroy();
    // A result and its end are mostly sent in the same turn: they leave in one write.
    const isCorked = socket.writableCorked > 0;
    if (!isCorked) socket.cork();
    // A closure over the text would keep it in memory beside the bytes that wait.
    const { promise, resolve } = Promise.withResolvers<void>();
    peer.send(text, () => resolve());
    if (!isCorked)
      process.nextTick(() => {
        socket.uncork();
        this.unread.wrote(socket, onStalled);
      });
    return socket.writableNeedDrain ? promise : undefined;
  }
}

// A proxy in front of Postgres that cuts the connection before a chosen statement: a real loss at an exact place.
import { connect, createServer, type Socket } from "node:net";

/** The commit of a transaction in which this text was sent. Background tasks commit as well. */
export interface CommitOf {
  commitOf: string;
}

export interface CutOff {
  /** URL of the database through the proxy. */
  url: string;
  /** Cuts the connection that sends the n-th statement from now on, counted from 1, before the statement arrives. */
  cutBefore(statement: number): void;
  /**
   * Cuts the connection that sends the n-th statement from now on, or the commit of a transaction in which a text was sent,
   * once Postgres has responded: the response is lost. In an outage, of so many milliseconds, all other connections are lost
   * at that moment as well, and new ones fail.
   */
  loseResponseTo(statement: number | CommitOf, outage?: number): void;
  /** Lets all statements pass again. Returns whether a connection was cut since `cutBefore`. */
  disarm(): boolean;
  /** From now on, nothing passes on any connection, and none is closed: the network loses all packets. */
  swallow(): void;
  /** Lets new connections pass. Those that were open stay dead. */
  heal(): void;
  close(): Promise<void>;
}

/** Bytes before a message's body: the type, and the length, which includes its own four bytes. */
const header = 5;

/** The type of the message ReadyForQuery, which has six bytes and ends each response. */
const readyForQuery = "Z".charCodeAt(0);

/** Client messages that run a statement: Query and Execute (PostgreSQL manual, 54.7 Message Formats). */
const runs = new Set(["Q", "E"]);

export async function cutOff(databaseUrl: string): Promise<CutOff> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let left: number | CommitOf | undefined;
  let isResponseLost = false;
  let outage = 0;
  let failUntil = 0;
  let wasCut = false;
  let isSwallowing = false;
  const dead = new WeakSet<Socket>();

  /** Transactions in which the text was sent, by their connections. */
  const named = new WeakSet<Socket>();

  /** Whether this message of a connection is the one to cut at. */
  const cuts = (message: Buffer, client: Socket) => {
    if (left === undefined) return false;
    if (typeof left === "object") {
      if (message.includes("begin")) named.delete(client);
      if (message.includes(left.commitOf)) named.add(client);
    }
    if (!runs.has(String.fromCharCode(message[0]!))) return false;
    if (typeof left === "object" ? !named.has(client) || !message.includes("commit\0") : --left > 0) return false;
    left = undefined;
    return (wasCut = true);
  };

  const server = createServer((client) => {
    if (performance.now() < failUntil) {
      client.destroy();
      return;
    }
    const postgres = connect(Number(target.port), target.hostname);
    const end = () => [client, postgres].forEach((socket) => socket.destroy());
    for (const socket of [client, postgres]) {
      sockets.add(socket);
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    let losesResponse = false;
    const isDead = () => {
      if (isSwallowing) dead.add(client);
      return dead.has(client);
    };
    postgres.on("data", (bytes) => {
      if (isDead()) return;
      if (!losesResponse) client.write(bytes);
      // The response is complete once Postgres is ready for the next statement.
      else if (bytes.at(-6) === readyForQuery) end();
    });
    let waiting: Buffer = Buffer.alloc(0);
    let isStarted = false;
    client.on("data", (bytes: Buffer) => {
      if (isDead()) return;
      waiting = Buffer.concat([waiting, bytes]);
      for (;;) {
        // The first message has no type byte.
        const start = isStarted ? 1 : 0;
        if (waiting.length < header) return;
        const length = start + waiting.readUInt32BE(start);
        if (waiting.length < length) return;
        if (isStarted && cuts(waiting.subarray(0, length), client)) {
          failUntil = performance.now() + outage;
          if (outage > 0) for (const each of sockets) if (each !== client && each !== postgres) each.destroy();
          if (!isResponseLost) return end();
          losesResponse = true;
        }
        isStarted = true;
        postgres.write(waiting.subarray(0, length));
        waiting = waiting.subarray(length);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    cutBefore(statement) {
      [left, isResponseLost, outage, wasCut] = [statement, false, 0, false];
    },
    loseResponseTo(statement, forMilliseconds = 0) {
      [left, isResponseLost, outage, wasCut] = [statement, true, forMilliseconds, false];
    },
    disarm() {
      left = undefined;
      return wasCut;
    },
    swallow() {
      isSwallowing = true;
      for (const socket of sockets) dead.add(socket);
    },
    heal() {
      isSwallowing = false;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

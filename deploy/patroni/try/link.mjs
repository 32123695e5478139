import { connect, createServer } from "node:net";

/** Bytes of a connection in which its client says who it is. */
const greeting = 1024;

/**
 * A network connection between two programs, that can lose its packets: a proxy which from then on passes nothing on and
 * closes nothing, as a broken route does. When it is repaired, what was sent in the meantime arrives.
 */
export class Link {
  #server;
  #pairs = new Set();
  /** Whether a connection loses its packets. */
  #isLost = () => false;

  /** Listens on a free port of the loopback interface. */
  static async to(port) {
    const link = new Link();
    link.#server = createServer((client) => link.#accept(client, port));
    await new Promise((resolve, reject) => link.#server.once("error", reject).listen(0, "127.0.0.1", resolve));
    return link;
  }

  get port() {
    return this.#server.address().port;
  }

  /**
   * Loses the packets of connections for which `isLost` returns true. It is given what the client sent first, in which a
   * standby names itself.
   */
  lose(isLost) {
    this.#isLost = isLost;
    for (const pair of this.#pairs) this.#settle(pair);
  }

  repair() {
    this.lose(() => false);
  }

  close() {
    this.#server.close();
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.destroy();
  }

  #accept(client, port) {
    const server = connect(port, "127.0.0.1");
    const pair = { client, server, said: "", isLost: false, isOver: false };
    this.#pairs.add(pair);
    client.on("data", (bytes) => {
      if (pair.said.length < greeting) pair.said += bytes.toString("latin1");
      this.#settle(pair);
      if (!server.write(bytes)) client.pause();
    });
    server.on("data", (bytes) => {
      if (!client.write(bytes)) server.pause();
    });
    client.on("drain", () => pair.isLost || server.resume());
    server.on("drain", () => pair.isLost || client.resume());
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        pair.isOver = true;
        this.#settle(pair);
      });
    }
    this.#settle(pair);
  }

  /** Makes a connection do as it should. */
  #settle(pair) {
    const { client, server } = pair;
    pair.isLost = this.#isLost(pair.said);
    if (!pair.isLost && pair.isOver) {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
      return;
    }
    for (const socket of [client, server])
      if (pair.isLost) socket.pause();
      else socket.resume();
  }
}

import { connect, type Socket } from "node:net";
import { ResponseReader } from "./responses.js";

/** Milliseconds between two volleys. */
const beat = 10;

/** Milliseconds for pending requests to end after the last one is sent. */
const timeout = 10_000;

/**
 * Sends requests at a fixed rate, without waiting for responses, on several connections in turn. Run it immediately:
 * servers close connections that are idle for some seconds.
 */
export class Flood implements Disposable {
  /** Responses by their status. */
  readonly responses = new Map<number, number>();
  readonly #idle: Socket[] = [];
  readonly #all: Socket[] = [];
  #underWay = 0;
  #sent = 0;

  private constructor(private readonly request: (nth: number) => string) {}

  static async open(url: URL, connections: number, request: (nth: number) => string): Promise<Flood> {
    const flood = new Flood(request);
    await Promise.all(Array.from({ length: connections }, () => flood.#connect(url)));
    return flood;
  }

  /** Sends `perSecond` requests a second, and waits for their responses. Throws if one of them does not arrive. */
  async run(perSecond: number, milliseconds: number): Promise<void> {
    const begun = performance.now();
    const before = this.#sent;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const elapsed = performance.now() - begun;
        const due = Math.floor((Math.min(elapsed, milliseconds) * perSecond) / 1_000) - (this.#sent - before);
        for (let nr = 0; nr < due && this.#idle.length > 0; nr++) this.#send(this.#idle.shift()!);
        if (elapsed < milliseconds) return;
        clearInterval(timer);
        resolve();
      }, beat);
    });
    const deadline = performance.now() + timeout;
    while (this.#underWay > 0) {
      if (performance.now() > deadline) throw new Error(`${this.#underWay} requests hang.`);
      await new Promise((resolve) => setTimeout(resolve, beat));
    }
  }

  [Symbol.dispose](): void {
    for (const socket of this.#all) socket.destroy();
  }

  #send(socket: Socket): void {
    this.#underWay++;
    socket.write(this.request(this.#sent++), "latin1");
  }

  #connect(url: URL): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname, () => {
        this.#idle.push(socket);
        resolve();
      });
      const reader = new ResponseReader(({ status }) => {
        this.responses.set(status, (this.responses.get(status) ?? 0) + 1);
        this.#underWay--;
        this.#idle.push(socket);
      });
      socket.setNoDelay(true).once("error", reject);
      socket.on("data", (chunk) => reader.push(chunk));
      this.#all.push(socket);
    });
  }
}

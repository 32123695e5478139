import { bodyOf, Connection } from "./connection.js";

/** The load on a server: each connection sends its next request after the response to the last one. */
export interface Load {
  /** Their number, if not the usual one. */
  connections?: number;
  /** The bytes of the `nth` request of a connection. */
  request(connection: number, nth: number): string;
  /** Takes the body of a response, where later requests depend on it. */
  received?(connection: number, body: string): void;
}

/** Connections of a load. */
export const usualConnections = 16;

/** A load of one request. */
export const always = (request: string): Load => ({ request: () => request });

/** A load of all these requests in turn. */
export const inTurn = (requests: readonly string[]): Load => ({
  request: (connection, nth) => requests[(nth * usualConnections + connection) % requests.length]!,
});

interface Done {
  requests: number;
  seconds: number;
}

/** Maximum requests of one `run`, so that the fastest server cannot fill the disk. */
const limit = 1_000_000;

export class LoadGenerator implements Disposable {
  readonly #sent: number[];

  private constructor(
    private readonly connections: readonly Connection[],
    private readonly load: Load,
  ) {
    this.#sent = connections.map(() => 0);
  }

  static async open(url: URL, load: Load): Promise<LoadGenerator> {
    const opening = Array.from({ length: load.connections ?? usualConnections }, () => Connection.open(url));
    return new LoadGenerator(await Promise.all(opening), load);
  }

  /** Sends requests for some milliseconds, and waits for the last responses. Throws if one of them is not a success. */
  async run(milliseconds: number): Promise<Done> {
    const start = performance.now();
    let requests = 0;
    const more = () => {
      const isMore = requests < limit && performance.now() < start + milliseconds;
      if (isMore) requests++;
      return isMore;
    };
    await Promise.all(this.connections.map((_, nr) => this.#sendWhile(nr, more)));
    return { requests, seconds: (performance.now() - start) / 1_000 };
  }

  /** Sends one request on each connection, and returns the bodies of the responses. */
  each(): Promise<string[]> {
    return Promise.all(
      this.connections.map(async (connection, nr) => {
        const body = bodyOf(await connection.ask(this.#request(nr)));
        this.load.received?.(nr, body);
        return body;
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const connection of this.connections) connection[Symbol.dispose]();
  }

  #sendWhile(nr: number, more: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const sendOrEnd = () => (more() ? this.connections[nr]!.send(this.#request(nr), take, reject) : resolve());
      const take = (response: Parameters<typeof bodyOf>[0]) => {
        const body = bodyOf(response);
        this.load.received?.(nr, body);
        sendOrEnd();
      };
      sendOrEnd();
    });
  }

  #request(nr: number): string {
    return this.load.request(nr, this.#sent[nr]!++);
  }
}

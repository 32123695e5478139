import { connect, type Socket } from "node:net";
import { type Response, ResponseReader } from "./responses.js";

/** The load on a server: each connection sends its next request after the response to the last one. */
export interface Load {
  connections: number;
  /** The bytes of the `nth` request of a connection. */
  request(connection: number, nth: number): string;
  /** Takes the body of a response, where later requests depend on it. */
  received?(connection: number, body: string): void;
}

export interface Done {
  requests: number;
  seconds: number;
}

/** Maximum requests of one `run`, so that the fastest server cannot fill the disk. */
const limit = 1_000_000;

/** Keep-alive connections over raw sockets: cheap, so that the server is the bottleneck, not the client. */
export class LoadGenerator implements Disposable {
  private constructor(private readonly clients: Client[]) {}

  static async open(url: URL, load: Load): Promise<LoadGenerator> {
    const opening = Array.from({ length: load.connections }, (_, nr) => Client.open(url, load, nr));
    return new LoadGenerator(await Promise.all(opening));
  }

  /**
   * Sends requests for some milliseconds, but at most a number of them, and waits for the last responses. Throws if one of
   * them is not a success.
   */
  async run(milliseconds: number, most = limit): Promise<Done> {
    const start = performance.now();
    const end = start + milliseconds;
    let requests = 0;
    const more = () => {
      const isMore = requests < most && performance.now() < end;
      if (isMore) requests++;
      return isMore;
    };
    await Promise.all(this.clients.map((client) => client.sendWhile(more)));
    return { requests, seconds: (performance.now() - start) / 1_000 };
  }

  /** Sends one request on each connection, and returns the bodies of the responses. */
  each(): Promise<string[]> {
    return Promise.all(this.clients.map((client) => client.ask()));
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.close();
  }
}

/** One connection with at most one pending request. */
class Client {
  #nth = 0;
  #responded: (response: Response) => void = () => {};
  #failed: (error: Error) => void = () => {};
  readonly #reader = new ResponseReader((response) => this.#take(response));

  private constructor(
    private readonly socket: Socket,
    private readonly load: Load,
    private readonly nr: number,
  ) {
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", () => this.#failed(new Error("The server closed the connection.")));
  }

  static open(url: URL, load: Load, nr: number): Promise<Client> {
    const { promise, resolve, reject } = Promise.withResolvers<Client>();
    const socket = connect(Number(url.port), url.hostname, () => resolve(new Client(socket, load, nr)));
    socket.setNoDelay(true).once("error", reject);
    return promise;
  }

  ask(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#failed = reject;
    this.#responded = ({ body }) => resolve(body);
    this.#send();
    return promise;
  }

  /** Callbacks, not promises, from response to request: this loop is what the server competes with for the machine. */
  sendWhile(more: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sendOrEnd = () => (more() ? this.#send() : resolve());
    this.#failed = reject;
    this.#responded = sendOrEnd;
    sendOrEnd();
    return promise;
  }

  close(): void {
    this.#failed = () => {};
    this.socket.destroy();
  }

  #take(response: Response): void {
    const { status, body } = response;
    if (status >= 300 || body.includes('"errors":[{'))
      return this.#failed(new Error(`The server responded ${status}: ${body}`));
    this.load.received?.(this.nr, body);
    this.#responded(response);
  }

  #send(): void {
    if (this.socket.destroyed) return this.#failed(new Error("The server has closed the connection."));
    this.socket.write(this.load.request(this.nr, this.#nth++), "latin1");
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#failed(error as Error);
    }
  }
}

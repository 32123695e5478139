import { connect, type Socket } from "node:net";
import { type Answer, AnswerReader } from "./answers.js";

/** What is asked of a server: each connection sends its next request when the last one is answered. */
export interface Load {
  connections: number;
  /** The bytes of the `nth` request of a connection. */
  request(connection: number, nth: number): string;
}

export interface Done {
  requests: number;
  seconds: number;
}

/** Requests of one `run` at most, so that the fastest server cannot fill the disk. */
const limit = 1_000_000;

/** Keep-alive connections over raw sockets: cheap enough that the server, not the client, is what is measured. */
export class LoadGenerator implements Disposable {
  private constructor(private readonly clients: Client[]) {}

  static async open(url: URL, load: Load): Promise<LoadGenerator> {
    const opening = Array.from({ length: load.connections }, (_, nr) => Client.open(url, (n) => load.request(nr, n)));
    return new LoadGenerator(await Promise.all(opening));
  }

  /** Sends requests for so many milliseconds and waits for the last answers. Throws if one of them is not a success. */
  async run(milliseconds: number): Promise<Done> {
    const start = performance.now();
    const end = start + milliseconds;
    let requests = 0;
    const more = () => {
      const isMore = requests < limit && performance.now() < end;
      if (isMore) requests++;
      return isMore;
    };
    await Promise.all(this.clients.map((client) => client.sendWhile(more)));
    return { requests, seconds: (performance.now() - start) / 1_000 };
  }

  /** One request on each connection; the bodies of the answers. */
  each(): Promise<string[]> {
    return Promise.all(this.clients.map((client) => client.ask()));
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.close();
  }
}

/** One connection with at most one request under way. */
class Client {
  #nth = 0;
  #answered: (answer: Answer) => void = () => {};
  #failed: (error: Error) => void = () => {};
  readonly #reader = new AnswerReader((answer) => this.#take(answer));

  private constructor(
    private readonly socket: Socket,
    private readonly request: (nth: number) => string,
  ) {
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", () => this.#failed(new Error("The server closed the connection.")));
  }

  static open(url: URL, request: (nth: number) => string): Promise<Client> {
    const { promise, resolve, reject } = Promise.withResolvers<Client>();
    const socket = connect(Number(url.port), url.hostname, () => resolve(new Client(socket, request)));
    socket.setNoDelay(true).once("error", reject);
    return promise;
  }

  ask(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#failed = reject;
    this.#answered = ({ body }) => resolve(body);
    this.#send();
    return promise;
  }

  /** Callbacks, not promises, from answer to request: this loop is what the server competes with for the machine. */
  sendWhile(more: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sendOrEnd = () => (more() ? this.#send() : resolve());
    this.#failed = reject;
    this.#answered = sendOrEnd;
    sendOrEnd();
    return promise;
  }

  close(): void {
    this.#failed = () => {};
    this.socket.destroy();
  }

  #take(answer: Answer): void {
    const { status, body } = answer;
    if (status < 300 && !body.includes('"errors":[')) this.#answered(answer);
    else this.#failed(new Error(`The server answered ${status}: ${body}`));
  }

  #send(): void {
    if (this.socket.destroyed) return this.#failed(new Error("The server has closed the connection."));
    this.socket.write(this.request(this.#nth++), "latin1");
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#failed(error as Error);
    }
  }
}

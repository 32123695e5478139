import { connect, type Socket } from "node:net";

interface Response {
  status: number;
  body: string;
}

/** The body of a success; throws otherwise. */
export function bodyOf({ status, body }: Response): string {
  if (status >= 300 || body.includes('"errors":[{'))
    throw new Error(`The server responded ${status}: ${body.slice(0, 1_000)}`);
  return body;
}

/** A keep-alive connection over a raw socket with at most one pending request: cheap, so that the server is the bottleneck. */
export class Connection implements Disposable {
  #pending: Buffer[] = [];
  #length = 0;
  /** The first response, as far as its head describes it. */
  #head: Head | undefined;
  #responded: (response: Response) => void = () => {};
  #failed: (error: Error) => void = () => {};

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", () => this.#failed(new Error("The server closed the connection.")));
  }

  static open(url: URL): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const socket = connect(Number(url.port), url.hostname, () => resolve(new Connection(socket)));
    socket.setNoDelay(true).once("error", reject);
    return promise;
  }

  get isOpen(): boolean {
    return this.socket.writable;
  }

  /** Sends the bytes of a request. Callbacks, not promises: this is what the server competes with for the machine. */
  send(bytes: string, responded: (response: Response) => void, failed: (error: Error) => void): void {
    this.#responded = responded;
    this.#failed = failed;
    if (!this.isOpen) return failed(new Error("The server has closed the connection."));
    this.socket.write(bytes, "latin1");
  }

  ask(bytes: string): Promise<Response> {
    return new Promise((resolve, reject) => this.send(bytes, resolve, reject));
  }

  [Symbol.dispose](): void {
    this.#failed = () => {};
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#length += chunk.length;
    try {
      for (let response = this.#next(); response; response = this.#next()) this.#responded(response);
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #next(): Response | undefined {
    this.#head ??= readHead(Buffer.concat(this.#pending));
    if (!this.#head || this.#length < this.#head.end) return undefined;
    const { status, start, end } = this.#head;
    const bytes = Buffer.concat(this.#pending);
    this.#head = undefined;
    this.#pending = bytes.length > end ? [bytes.subarray(end)] : [];
    this.#length = bytes.length - end;
    // One character per byte, so that lengths in characters are lengths in bytes.
    return { status, body: bytes.toString("latin1", start, end) };
  }
}

/** The status of a response, and where its body starts and ends. */
interface Head {
  status: number;
  start: number;
  end: number;
}

/** Reads the head of an HTTP/1.1 response with `Content-Length`; undefined while it is incomplete. Rejects any other framing. */
function readHead(bytes: Buffer): Head | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length === undefined && status !== 204) throw new Error(`A response without Content-Length:\n${head}`);
  return { status, start: headEnd + 4, end: headEnd + 4 + Number(length ?? 0) };
}

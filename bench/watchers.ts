import { connect, type Socket } from "node:net";

/** WebSocket clients over raw sockets that count frames: ten thousand of them cost the bench little. */
export class Watchers implements Disposable {
  /** Text frames received by all of them. */
  frames = 0;
  #sockets: Socket[] = [];
  #waiting: { frames: number; resolve(): void; reject(error: Error): void } | undefined;

  constructor(
    private readonly url: URL,
    private readonly path: string,
    /** Called with the text of each frame. */
    private readonly onText?: (text: string) => void,
  ) {}

  /** Opens a watcher for each token, a few at a time so that no backlog overflows. */
  async open(tokens: readonly string[]): Promise<void> {
    const pending = [...tokens];
    const openSome = async () => {
      for (let token = pending.pop(); token; token = pending.pop()) await this.#openOne(token);
    };
    await Promise.all(Array.from({ length: 50 }, openSome));
  }

  /** Resolves when this many frames have arrived in total. */
  received(frames: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.frames >= frames) resolve();
    else this.#waiting = { frames, resolve, reject };
    return promise;
  }

  [Symbol.dispose](): void {
    this.#waiting = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  #openOne(token: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(Number(this.url.port), this.url.hostname);
    socket.setNoDelay(true).once("error", reject).write(this.#upgrade(token), "latin1");
    socket.once("data", (head: Buffer) => {
      if (!head.toString("latin1", 0, 13).endsWith(" 101 ")) return reject(new Error(`Rejected: ${head.toString()}`));
      socket.off("error", reject);
      this.#sockets.push(socket);
      this.#listen(socket, head.subarray(head.indexOf("\r\n\r\n") + 4));
      return resolve();
    });
    return promise;
  }

  #listen(socket: Socket, first: Buffer): void {
    const reader = new FrameReader({
      text: (payload) => {
        this.#count();
        this.onText?.(payload.toString());
      },
      ping: (payload) => socket.write(pong(payload)),
    });
    reader.push(first);
    socket.on("data", (chunk) => reader.push(chunk));
    const fail = () => this.#waiting?.reject(new Error("The server closed a watcher."));
    socket.on("error", fail).on("close", fail);
  }

  #count(): void {
    this.frames++;
    if (!this.#waiting || this.frames < this.#waiting.frames) return;
    this.#waiting.resolve();
    this.#waiting = undefined;
  }

  #upgrade(token: string): string {
    const lines = [
      `GET ${this.path} HTTP/1.1`,
      `Host: ${this.url.host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${key}`,
      `Service-Session-Token: ${token}`,
    ];
    return `${lines.join("\r\n")}\r\n\r\n`;
  }
}

/** 16 bytes, as the protocol requires. */
const key = Buffer.from("sixteen watchers").toString("base64");

const opcodes = { text: 1, ping: 9 };

/** Cuts the bytes of a server into frames (RFC 6455 §5.2). Servers do not mask theirs. */
class FrameReader {
  #pending: Buffer = Buffer.alloc(0);

  constructor(private readonly on: Readonly<Record<"text" | "ping", (payload: Buffer) => void>>) {}

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (let size = this.#frameSize(); size !== undefined; size = this.#frameSize()) {
      this.#take(this.#pending.subarray(0, size));
      this.#pending = this.#pending.subarray(size);
    }
  }

  #take(frame: Buffer): void {
    const opcode = frame[0]! & 0xf;
    const payload = frame.subarray((frame[1]! & 0x7f) === 126 ? 4 : 2);
    if (opcode === opcodes.text) this.on.text(payload);
    else if (opcode === opcodes.ping) this.on.ping(payload);
  }

  /** The size of the first frame with its head; undefined while it is incomplete. */
  #frameSize(): number | undefined {
    const { length } = this.#pending;
    if (length < 2) return undefined;
    const short = this.#pending[1]! & 0x7f;
    if (short === 127) throw new Error("A frame of 64 KiB or more.");
    if (short === 126 && length < 4) return undefined;
    const size = short === 126 ? 4 + this.#pending.readUInt16BE(2) : 2 + short;
    return length < size ? undefined : size;
  }
}

/** Clients must mask; a mask of zeros leaves the payload unchanged. */
const pong = (payload: Buffer) => Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload]);

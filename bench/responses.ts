export interface Response {
  status: number;
  body: string;
}

/** Cuts the bytes of a connection into HTTP/1.1 responses with `Content-Length`. Rejects any other framing. */
export class ResponseReader {
  #pending: Buffer[] = [];
  #length = 0;
  /** The first response, as far as its head describes it. */
  #head: Head | undefined;

  constructor(private readonly onResponse: (response: Response) => void) {}

  push(chunk: Buffer): void {
    this.#pending.push(chunk);
    this.#length += chunk.length;
    for (let response = this.#next(); response; response = this.#next()) this.onResponse(response);
  }

  #next(): Response | undefined {
    this.#head ??= this.#readHead();
    if (!this.#head || this.#length < this.#head.end) return undefined;
    const { status, start, end } = this.#head;
    const bytes = Buffer.concat(this.#pending);
    const rest = bytes.subarray(end);
    this.#head = undefined;
    this.#pending = rest.length > 0 ? [rest] : [];
    this.#length = rest.length;
    // One character per byte, so that lengths in characters are lengths in bytes.
    return { status, body: bytes.toString("latin1", start, end) };
  }

  #readHead(): Head | undefined {
    const bytes = Buffer.concat(this.#pending);
    const headEnd = bytes.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const head = bytes.toString("latin1", 0, headEnd);
    const status = Number(head.slice(9, 12));
    return { status, start: headEnd + 4, end: headEnd + 4 + bodyLength(status, head) };
  }
}

interface Head {
  status: number;
  /** Where the body starts and ends. */
  start: number;
  end: number;
}

function bodyLength(status: number, head: string): number {
  if (status === 204) return 0;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length === undefined) throw new Error(`A response without Content-Length:\n${head}`);
  return Number(length);
}

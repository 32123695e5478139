export interface Answer {
  status: number;
  body: string;
}

/** Cuts the bytes of a connection into HTTP/1.1 answers with `Content-Length`. Refuses any other framing. */
export class AnswerReader {
  #pending = "";

  constructor(private readonly onAnswer: (answer: Answer) => void) {}

  push(chunk: Buffer): void {
    // One character per byte, so that lengths in characters are lengths in bytes.
    this.#pending += chunk.toString("latin1");
    for (let answer = this.#next(); answer; answer = this.#next()) this.onAnswer(answer);
  }

  #next(): Answer | undefined {
    const headEnd = this.#pending.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const head = this.#pending.slice(0, headEnd);
    const status = Number(head.slice(9, 12));
    const end = headEnd + 4 + bodyLength(status, head);
    if (this.#pending.length < end) return undefined;
    const body = this.#pending.slice(headEnd + 4, end);
    this.#pending = this.#pending.slice(end);
    return { status, body };
  }
}

function bodyLength(status: number, head: string): number {
  if (status === 204) return 0;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length === undefined) throw new Error(`An answer without Content-Length:\n${head}`);
  return Number(length);
}

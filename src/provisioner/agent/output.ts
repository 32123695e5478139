// The output of commands goes to files, so that they live on without this program. The files are read while they grow.
import { closeSync, constants, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";

/** Bytes read per step, so that a command cannot keep the program busy. */
const chunkBytes = 64 * 1024;
/** Bytes of a file from which it is emptied once it was read, and from which unread output is discarded. */
const emptiedBytes = 1024 ** 2;
const discardedBytes = 8 * 1024 ** 2;

/** Opens an output file for a command to append to. The caller closes the descriptor. */
export const openOutput = (path: string): number =>
  openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);

export const closeOutput = (descriptor: number): void => closeSync(descriptor);

/** Splits output into lines. */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** `limit` is the maximum number of characters of a line; the rest is the next line. */
  constructor(
    private readonly onLine: (line: string) => void,
    private readonly limit = 4096,
  ) {}

  add(chunk: Buffer): void {
    const parts = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = parts.pop()!;
    for (const part of parts) this.#emit(part);
    while (this.#rest.length > this.limit) {
      this.onLine(this.#rest.slice(0, this.limit));
      this.#rest = this.#rest.slice(this.limit);
    }
  }

  /** Emits a last line without an end. */
  end(): void {
    if (this.#rest) this.#emit(this.#rest);
    this.#rest = "";
  }

  #emit(text: string): void {
    this.onLine(text.endsWith("\r") ? text.slice(0, -1) : text);
  }
}

/** Reads the lines that a command appends to its file. */
export class OutputFile {
  #offset: number;
  readonly #lines: Lines;

  constructor(
    private readonly path: string,
    private readonly onLine: (line: string) => void,
    offset = 0,
  ) {
    this.#offset = offset;
    this.#lines = new Lines(onLine);
  }

  /** Bytes that were read, for a later instance to continue. */
  get offset(): number {
    return this.#offset;
  }

  /** Reads what was appended, up to a bound. Returns whether there was anything. */
  async step(): Promise<boolean> {
    const file = await open(this.path, "r+").catch(() => undefined);
    if (!file) return false;
    try {
      return await this.#read(file);
    } finally {
      await file.close();
    }
  }

  /** Reads everything up to the end, up to a bound. */
  async finish(): Promise<void> {
    for (let n = 0; n < emptiedBytes / chunkBytes && (await this.step()); n += 1);
    this.#lines.end();
  }

  async #read(file: FileHandle): Promise<boolean> {
    const { size } = await file.stat();
    if (size < this.#offset) this.#offset = 0;
    if (size - this.#offset > discardedBytes) return this.#empty(file, "Output was discarded: there was too much.");
    const { bytesRead, buffer } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, this.#offset);
    this.#offset += bytesRead;
    this.#lines.add(buffer.subarray(0, bytesRead));
    if (bytesRead > 0 && this.#offset === size && size > emptiedBytes) await this.#empty(file);
    return bytesRead > 0;
  }

  /** Empties the file. The command continues at its start, since it appends. */
  async #empty(file: FileHandle, notice?: string): Promise<boolean> {
    await file.truncate(0);
    this.#offset = 0;
    if (notice) this.onLine(notice);
    return true;
  }
}

// The output of commands goes to files, so that they live on without this program. The files are read while they grow.
import { closeSync, constants, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";

/** Bytes read per step, so that a command cannot keep the program busy. */
const chunkBytes = 64 * 1024;
/** Bytes of a file from which it is emptied once it was read. */
const emptiedBytes = 1024 ** 2;
/**
 * Maximum unread bytes, while the command runs and once it has ended. If there are more, only the first and the last
 * chunk are read.
 */
const mostUnread = 8 * 1024 ** 2;
const mostAtEnd = 1024 ** 2;
/**
 * Bytes of a file from which it is emptied even while it grows. What a command appends between the last look at the
 * file and its emptying is lost.
 */
const emptiedWhileGrowing = 32 * 1024 ** 2;

/** Opens an output file for a command to append to. The caller closes the descriptor. */
export const openOutput = (path: string): number =>
  openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);

export const closeOutput = (descriptor: number): void => closeSync(descriptor);

/** Splits output into lines. */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  /** Whether the line was too long, and its rest is skipped. */
  #isCut = false;

  /** Of a line with more than `limit` characters, `onLine` receives only the first `limit` + 1. */
  constructor(
    private readonly onLine: (line: string) => void,
    private readonly limit = 4096,
  ) {}

  add(chunk: Buffer): void {
    for (const [index, part] of this.#decoder.write(chunk).split("\n").entries()) {
      if (index > 0) this.#endLine();
      this.#extend(part);
    }
  }

  /** Gives a last line without an end. */
  end(): void {
    this.#extend(this.#decoder.end());
    if (this.#line) this.#endLine();
    this.#isCut = false;
  }

  #extend(text: string): void {
    if (this.#isCut) return;
    this.#line += text;
    if (this.#line.length <= this.limit) return;
    this.onLine(this.#line.slice(0, this.limit + 1));
    this.#line = "";
    this.#isCut = true;
  }

  #endLine(): void {
    if (!this.#isCut) this.onLine(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line);
    this.#line = "";
    this.#isCut = false;
  }
}

/** Reads the lines that a command appends to its file. */
export class OutputFile {
  #offset: number;
  /** Bytes of the file at the last look. */
  #size?: number;
  #last: Promise<unknown> = Promise.resolve();
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

  /** Reads what was appended, up to a bound, after earlier calls. Returns whether it read or emptied the file. */
  step(most = mostUnread, emptiedFrom = emptiedWhileGrowing): Promise<boolean> {
    const step = this.#last.then(() => this.#step(most, emptiedFrom));
    this.#last = step.catch(() => {});
    return step;
  }

  async #step(most: number, emptiedFrom: number): Promise<boolean> {
    const file = await open(this.path, "r+").catch(() => undefined);
    if (!file) return false;
    try {
      return await this.#read(file, most, emptiedFrom);
    } finally {
      await file.close();
    }
  }

  /** Reads everything up to the end; of too much, the first and the last. */
  async finish(): Promise<void> {
    for (let n = 0; n < mostAtEnd / chunkBytes && (await this.step(mostAtEnd, mostAtEnd)); n += 1);
    this.#lines.end();
  }

  async #read(file: FileHandle, most: number, emptiedFrom: number): Promise<boolean> {
    const { size } = await file.stat();
    if (size < this.#offset) this.#offset = 0;
    const isTooMuch = size - this.#offset > most;
    const mayEmpty = size === this.#size || size > emptiedFrom;
    this.#size = size;
    const chunk = await chunkOf(file, this.#offset);
    this.#offset += chunk.length;
    this.#lines.add(chunk);
    const isRead = this.#offset === size && size > emptiedBytes;
    if (!mayEmpty || !(isTooMuch || isRead)) return chunk.length > 0;
    if (isTooMuch) await this.#skip(file, size);
    else await this.#empty(file);
    return true;
  }

  /** Reads the last chunk of a file, from the start of a line if possible, and leaves out what is before. */
  async #skip(file: FileHandle, size: number): Promise<void> {
    const last = await chunkOf(file, size - chunkBytes);
    const end = last.indexOf("\n") + 1;
    const bytes = size - chunkBytes + end - this.#offset;
    await this.#empty(file);
    this.#lines.end();
    this.onLine(`${bytes} bytes of output were left out: there were too many.`);
    this.#lines.add(last.subarray(end));
  }

  /** Empties the file. The command continues at its start, since it appends. */
  async #empty(file: FileHandle): Promise<void> {
    await file.truncate(0);
    this.#offset = 0;
  }
}

async function chunkOf(file: FileHandle, start: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, start);
  return buffer.subarray(0, bytesRead);
}

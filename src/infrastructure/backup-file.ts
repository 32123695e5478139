// The file of a backup: a line of JSON that describes it, records compressed with Zstandard (RFC 8878), and a line with
// the SHA-256 of all bytes before it, without which the file is incomplete.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { access, type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { StartRefused } from "../runtime/errors.js";

const format = "steward-backup";
/** Raised by changes that earlier versions cannot read. */
const formatVersion = 1;

/** The first line of a backup. */
export interface BackupHeader {
  format: typeof format;
  formatVersion: number;
  /** Version of the program that wrote it. */
  version: string;
  /** The last migration of the database. */
  migration: string;
  createdAt: string;
  hasKeys: boolean;
}

/** A part of a backup: a JSON value, or bytes that belong to the JSON value before them. */
export type BackupRecord = object | Buffer;

const hashName = "sha256";
const trailerOf = (hex: string) => `\n${hashName} ${hex}\n`;
const trailerLength = trailerOf("0".repeat(64)).length;

const longestHeader = 4096;
/** Records have at most some hundred kilobytes: a chunk of a socket, or the columns of all tables. */
const longestRecord = 64 * 1024 ** 2;

/** One byte for the kind of a record, then its length in four bytes. */
const prefixLength = 5;
const kinds = { json: 0x4a, bytes: 0x44 };

/** The path cannot be written, or the file is not a backup that this program can restore. */
export class BackupRefused extends StartRefused {}

/** The sources of a backup. */
export interface BackupSource {
  header: Omit<BackupHeader, "format" | "formatVersion">;
  records: AsyncIterable<BackupRecord>;
}

/**
 * Writes a backup. The file appears under its name only when it is complete, and only its owner has access. Returns its
 * size in bytes. Throws `BackupRefused` if the file exists or cannot be written.
 */
export async function writeBackup(
  path: string,
  { header, records }: BackupSource,
  signal: AbortSignal,
): Promise<number> {
  const draft = `${path}.${process.pid}.partial`;
  let size = 0;
  async function* enclose(chunks: AsyncIterable<Buffer>) {
    const hash = createHash(hashName);
    const head = Buffer.from(`${JSON.stringify({ format, formatVersion, ...header })}\n`);
    for await (const chunk of prepend(head, chunks)) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
    size += trailerLength;
    yield Buffer.from(trailerOf(hash.digest("hex")));
  }
  try {
    await rejectExisting(path);
    const target = createWriteStream(draft, { flags: "wx", mode: 0o600, flush: true });
    await pipeline(records, encode, createZstdCompress(), enclose, target, { signal });
    await appear(draft, path);
    return size;
  } catch (error) {
    await rm(draft, { force: true });
    return cannotBe("written", path)(error as Error);
  }
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first;
  yield* rest;
}

/** Renames the draft. The empty file in its place makes sure that no other file is replaced. */
async function appear(draft: string, path: string): Promise<void> {
  await (await open(path, "wx", 0o600)).close();
  await rename(draft, path);
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const rejectExisting = (path: string): Promise<void> =>
  access(path).then(
    () => {
      throw alreadyExists(path);
    },
    () => {},
  );

const alreadyExists = (path: string) => new BackupRefused(`${path} exists already.`);

/** Explains errors of the file system, and passes on all others. */
const cannotBe =
  (done: "read" | "written", path: string) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code === "EEXIST") throw alreadyExists(path);
    if (!error.syscall || !error.code || /^E(CONN|PIPE|ADDR)/.test(error.code)) throw error;
    throw new BackupRefused(`${path} cannot be ${done} (${error.code}).`);
  };

async function* encode(records: AsyncIterable<BackupRecord>): AsyncIterable<Buffer> {
  for await (const record of records) {
    const isBytes = Buffer.isBuffer(record);
    const content = isBytes ? record : Buffer.from(JSON.stringify(record));
    const prefix = Buffer.alloc(prefixLength);
    prefix[0] = isBytes ? kinds.bytes : kinds.json;
    prefix.writeUInt32BE(content.length, 1);
    yield prefix;
    yield content;
  }
}

/** An open backup whose checksum is correct. */
export class BackupFile {
  private constructor(
    private readonly file: FileHandle,
    readonly header: BackupHeader,
    private readonly start: number,
    /** Size of the file in bytes. */
    readonly size: number,
  ) {}

  /**
   * Opens a backup and reads it once to compare its checksum. Throws `BackupRefused` if it is not a complete,
   * unmodified backup. `onProgress` gets the number of bytes read.
   */
  static async open(path: string, onProgress: (done: number, total: number) => void): Promise<BackupFile> {
    const file = await open(path).catch(cannotBe("read", path));
    try {
      const { size } = await file.stat();
      const { header, length } = await readHeader(file, path);
      await compareChecksum(file, path, size, onProgress);
      return new BackupFile(file, header, length, size);
    } catch (error) {
      await file.close();
      return cannotBe("read", path)(error as Error);
    }
  }

  /** Reads the records in order. `onProgress` gets the number of bytes of the file read so far. */
  async *records(onProgress: (done: number, total: number) => void): AsyncGenerator<BackupRecord, void> {
    const source = readStream(this.file, this.start, this.size - trailerLength - 1);
    const plain = createZstdDecompress();
    const feeding = pipeline(source, plain);
    // Reported by the loop below, which reads the end of the pipeline.
    feeding.catch(() => {});
    for await (const record of decode(plain)) {
      onProgress(Math.min(this.size, this.start + source.bytesRead), this.size);
      yield record;
    }
    onProgress(this.size, this.size);
    await feeding;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** Unlike a stream of the handle, a stream of its descriptor does not keep the handle from being closed. */
const readStream = ({ fd }: FileHandle, start: number, end: number) =>
  createReadStream("", { fd, start, end, autoClose: false });

async function readHeader(file: FileHandle, path: string): Promise<{ header: BackupHeader; length: number }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(longestHeader), 0, longestHeader, 0);
  const length = buffer.subarray(0, bytesRead).indexOf("\n") + 1;
  const header = jsonOf(buffer.toString("utf8", 0, length));
  if (header?.format !== format) throw new BackupRefused(`${path} is not a backup of Steward.`);
  if (header.formatVersion !== formatVersion)
    throw new BackupRefused(
      `${path} was written by Steward ${header.version}, whose backups this version cannot read. Use that version, or a later one.`,
    );
  return { header, length };
}

function jsonOf(text: string): BackupHeader | undefined {
  try {
    return JSON.parse(text) as BackupHeader;
  } catch {
    return undefined;
  }
}

async function compareChecksum(
  file: FileHandle,
  path: string,
  size: number,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const end = size - trailerLength;
  const trailer = Buffer.alloc(trailerLength);
  await file.read(trailer, 0, trailerLength, Math.max(0, end));
  if (!trailer.toString("latin1").startsWith(`\n${hashName} `))
    throw new BackupRefused(`${path} is incomplete: its end is missing.`);
  const hash = createHash(hashName);
  let done = 0;
  for await (const chunk of readStream(file, 0, end - 1)) {
    hash.update(chunk as Buffer);
    done += (chunk as Buffer).length;
    onProgress(done, end);
  }
  if (trailerOf(hash.digest("hex")) !== trailer.toString("latin1"))
    throw new BackupRefused(`${path} is damaged: its checksum does not match.`);
}

/** Splits the decompressed stream into records. */
async function* decode(chunks: AsyncIterable<Buffer>): AsyncIterable<BackupRecord> {
  let pending: Buffer[] = [];
  let available = 0;
  let wanted = prefixLength;
  let kind: number | undefined;
  for await (const chunk of chunks) {
    pending.push(chunk);
    available += chunk.length;
    while (available >= wanted) {
      const all = pending.length === 1 ? pending[0]! : Buffer.concat(pending);
      const taken = all.subarray(0, wanted);
      pending = [all.subarray(wanted)];
      available -= wanted;
      if (kind === undefined) {
        kind = taken[0]!;
        wanted = taken.readUInt32BE(1);
        if (wanted > longestRecord) throw new BackupRefused("The backup has a record of an invalid length.");
      } else {
        yield kind === kinds.bytes ? taken : (JSON.parse(taken.toString("utf8")) as object);
        kind = undefined;
        wanted = prefixLength;
      }
    }
  }
}

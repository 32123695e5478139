import { type FileHandle, open } from "node:fs/promises";

/** Bytes that are read at a time to find the last line. */
const chunkSize = 64 * 1024;

/**
 * Appends lines to a file, which only its owner can read, and returns once they are on the disk. It is opened each time, so
 * that it can be renamed. If the file ends with one of the lines, those up to it were written before, by a server that ended
 * before it could say so. An incomplete last line is removed.
 */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  const file = await open(path, "a+", 0o600);
  try {
    const last = await lastLine(file);
    const added = last === undefined ? lines : lines.slice(lines.indexOf(last) + 1);
    if (added.length === 0) return;
    await file.appendFile(`${added.join("\n")}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Removes an incomplete last line, and returns the one before it; `undefined` if there is none. */
async function lastLine(file: FileHandle): Promise<string | undefined> {
  const { size } = await file.stat();
  let tail = Buffer.alloc(0);
  for (let start = size; start > 0;) {
    const length = Math.min(chunkSize, start);
    start -= length;
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, start);
    tail = Buffer.concat([buffer, tail]);
    const end = tail.lastIndexOf("\n");
    if (end === -1) continue;
    const before = end === 0 ? -1 : tail.lastIndexOf("\n", end - 1);
    if (before === -1 && start > 0) continue;
    if (start + end + 1 < size) await file.truncate(start + end + 1);
    return tail.toString("utf8", before + 1, end);
  }
  if (size > 0) await file.truncate(0);
  return undefined;
}

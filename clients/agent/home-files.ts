// Writes the files of user secrets, and makes directories, in homes whose users run programs. Every step stays in the directory that the previous one opened, so that a program of
// the workspace that replaces a directory by a symbolic link meanwhile cannot redirect a write.
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Account } from "./processes.js";

export interface SecretFile {
  path: string;
  content: string;
}

export interface FilePlace {
  home: string;
  /** Whether files outside the home and symbolic links are rejected. */
  isConfined: boolean;
  /** The owner of new files, if not the user of this program. */
  account?: Account;
}

/** A file was not written. The message completes "the file <path> …". */
class Rejected extends Error {}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Writes the files. Returns a sentence for each file that was not written; it has the path, and never the content. */
export async function writeSecretFiles(files: readonly SecretFile[], place: FilePlace): Promise<string[]> {
  const faults: string[] = [];
  for (const file of files) {
    const fault = await write(file, place).then(() => undefined, reasonOf);
    if (fault) faults.push(`The file ${file.path} of a secret was not written: ${fault}.`);
  }
  return faults;
}

const reasons: Record<string, string> = {
  ELOOP: "the path has a symbolic link",
  ENOTDIR: "the path has a file or a symbolic link in place of a directory",
  EISDIR: "the path is a directory",
  ENXIO: "the path is not a regular file",
};

/** Completes the sentence "the file <path> was not written: …". */
export function reasonOf(error: Error): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  return error instanceof Rejected ? error.message : (reasons[code] ?? `writing failed (${code || error.message})`);
}

async function write({ path, content }: SecretFile, place: FilePlace): Promise<void> {
  const target = path.startsWith("~/") ? join(place.home, path.slice(2)) : path;
  if (!place.isConfined) return writeAnywhere(target, content);
  const parents = insideOf(place.home, target);
  const name = parents.pop()!;
  const directory = await enterAll(place.home, parents, place.account);
  try {
    await writeIn(directory, name, content, place.account);
  } finally {
    await directory.handle.close();
  }
}

/**
 * Opens a file for appending, with its directories, for what programs of the home write. Throws an error whose message
 * completes "the file <path> …" if the path is not allowed.
 */
export async function openToAppend(path: string, { home, isConfined, account }: FilePlace): Promise<FileHandle> {
  if (!isConfined) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return open(path, "a", 0o600);
  }
  const parents = insideOf(home, path);
  const name = parents.pop()!;
  const directory = await enterAll(home, parents, account);
  try {
    return await openIn(directory, name, O_APPEND, account);
  } finally {
    await directory.handle.close();
  }
}

/** The names of the directories and the file of a path below the home. */
function insideOf(home: string, path: string): string[] {
  const inside = relative(home, path);
  if (inside === "" || inside === ".." || inside.startsWith("../")) throw new Rejected("it is outside the home");
  return inside.split("/");
}

/** Makes a directory below the home, and its parents, with mode 0700. Throws if the path has symbolic links. */
export async function makeDirectory(home: string, path: string, account?: Account): Promise<void> {
  const { handle } = await enterAll(home, relative(home, path).split("/"), account);
  await handle.close();
}

async function enterAll(home: string, names: readonly string[], account?: Account): Promise<Directory> {
  let directory: Directory = { handle: await open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path: home };
  for (const name of names) {
    const { handle } = directory;
    try {
      directory = await enter(directory, name, account);
    } finally {
      await handle.close();
    }
  }
  return directory;
}

/** Writes like any program of the user: existing files keep their mode. */
async function writeAnywhere(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode: 0o600 });
}

interface Directory {
  handle: FileHandle;
  path: string;
}

/** The path of an entry of an open directory: on Linux, it stays valid when the directory is moved or replaced. */
const entryOf = ({ handle, path }: Directory, name: string): string =>
  join(process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path, name);

/** Opens a directory in another one, creating it if it is missing. */
async function enter(parent: Directory, name: string, account?: Account): Promise<Directory> {
  const path = entryOf(parent, name);
  const isNew = await mkdir(path, { mode: 0o700 }).then(() => true, exists);
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    if (isNew && account) await handle.chown(account.uid, account.gid);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return { handle, path: join(parent.path, name) };
}

function exists(error: NodeJS.ErrnoException): false {
  if (error.code === "EEXIST") return false;
  throw error;
}

/** Opens a new file with mode 0600, or an existing one. */
async function openIn(directory: Directory, name: string, mode: number, account?: Account): Promise<FileHandle> {
  const path = entryOf(directory, name);
  const made = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | mode, 0o600).catch(exists);
  // Without O_NONBLOCK, opening a named pipe would wait for a reader.
  const file = made || (await open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | mode));
  try {
    const stat = await file.stat();
    // Another name of the same file could be outside the home.
    if (!stat.isFile() || stat.nlink > 1) throw new Rejected("the path is not a regular file with one name");
    if (made && account) await file.chown(account.uid, account.gid);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Writes a new file, or replaces the content of an existing one. */
async function writeIn(directory: Directory, name: string, content: string, account?: Account): Promise<void> {
  const file = await openIn(directory, name, 0, account);
  try {
    await file.truncate();
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

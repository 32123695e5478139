import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StartRefused } from "../runtime/errors.js";
import { randomText } from "../runtime/random.js";
import { type EncryptionKey, keysRule, newKeyText, readKeys } from "./vault.js";

/** The default path of the key file, which the server creates if it is missing. */
export const ownKeyFile = (dataDir: string): string => join(dataDir, "encryption.keys");

/** Reads the keys in the file; `undefined` if there is no file. Throws `StartRefused` for an invalid file. */
export async function readKeyFile(path: string): Promise<EncryptionKey[] | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new StartRefused(`The file ${path} with the encryption keys cannot be read (${error.code}).`);
  });
  if (text === undefined) return undefined;
  const keys = readKeys(text);
  if (!keys) throw new StartRefused(`The file ${path} must contain ${keysRule}, separated by commas or line breaks.`);
  return keys;
}

/** Creates the file, unless another process has just created it, and reads it. By default it gets one random key. */
export async function makeKeyFile(
  path: string,
  text = `${newKeyText(randomText(10))}\n`,
): Promise<{ keys: EncryptionKey[]; isNew: boolean }> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = await createWhole(path, text);
    return { keys: (await readKeyFile(path)) ?? [], isNew };
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(`The file ${path} for the encryption key cannot be created (${code}).`);
  }
}

/** Creates a file atomically, so that a crash leaves no partial file. Returns false if the file exists already. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${randomText(10)}`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    // Unlike rename, link does not replace an existing file.
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

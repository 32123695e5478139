import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StartRefused } from "../kernel/errors.js";
import { randomText } from "../tokens/text.js";
import { type EncryptionKey, keysRule, newKeyText, readKeys } from "./vault.js";

/** The key file that the server makes where the settings name none. */
export const ownKeyFile = (dataDir: string): string => join(dataDir, "encryption.keys");

/** The keys in the file, or nothing if there is no such file. */
export async function readKeyFile(path: string): Promise<EncryptionKey[] | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new StartRefused(`The file ${path} with the encryption keys cannot be read (${error.code}).`);
  });
  if (text === undefined) return undefined;
  const keys = readKeys(text);
  if (!keys) throw new StartRefused(`The file ${path} must hold ${keysRule}, by comma or line.`);
  return keys;
}

/** Makes the file with one random key, unless somebody else just made it, and reads it. */
export async function makeKeyFile(path: string): Promise<{ keys: EncryptionKey[]; isNew: boolean }> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const isNew = await createWhole(path, `${newKeyText(randomText(10))}\n`);
    return { keys: (await readKeyFile(path)) ?? [], isNew };
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new StartRefused(`The file ${path} for the encryption key cannot be made (${code}).`);
  }
}

/** Makes a file that is there with all it holds or not at all, whatever dies; false if it is there already. */
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
    // A link, unlike a renamed file, replaces nothing.
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

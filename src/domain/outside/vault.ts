import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { unavailable } from "../kernel/errors.js";

/** A key under the name that everything it has encrypted remembers. */
export interface EncryptionKey {
  id: string;
  key: KeyObject;
}

/** A value at rest. The ciphertext ends with the tag that authenticates it. */
export interface Sealed {
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

/** Where a value lies and whose it is: a ciphertext that is copied to another place does not open there. */
export interface Place {
  table: string;
  column: string;
  rowId: string;
  ownerId: string;
}

/** That a ciphertext is not what was written at this place. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";

  constructor({ table, column, rowId }: Place) {
    super(`The ${column} of ${rowId} in ${table} does not open: it was changed or comes from another place.`);
  }
}

const algorithm = "aes-256-gcm";
const keyLength = 32;
/** Bytes. A random nonce of 96 bits is good for 2^32 values under one key (NIST SP 800-38D §8.3). */
const nonceLength = 12;
const tagLength = 16;

/** Encrypts what must not lie in the database in plain text. The first key writes, all keys read. */
export class Vault {
  #keys: ReadonlyMap<string, KeyObject> = new Map();

  /** Gives the vault its keys, of which there is at least one. */
  unlock(keys: readonly EncryptionKey[]): void {
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** The ids of its keys, the one that writes first. */
  get keyIds(): string[] {
    return [...this.#keys.keys()];
  }

  get activeKeyId(): string {
    const [first] = this.#keys.keys();
    if (first === undefined) throw new Error("The vault was not unlocked.");
    return first;
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  seal(place: Place, plain: string): Sealed {
    return this.#sealWith(this.activeKeyId, place, plain);
  }

  /** The plain value. Throws UNAVAILABLE without its key, and `SealBroken` if it is not what was written there. */
  open(place: Place, { keyId, nonce, ciphertext }: Sealed): string {
    const key = this.#key(keyId);
    try {
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength });
      decipher.setAAD(authenticated(place));
      decipher.setAuthTag(ciphertext.subarray(-tagLength));
      const plain = [decipher.update(ciphertext.subarray(0, -tagLength)), decipher.final()];
      return Buffer.concat(plain).toString();
    } catch {
      throw new SealBroken(place);
    }
  }

  /** What proves later, by `passes`, that a key of this id is this very key. */
  checkValueOf(keyId: string): Buffer {
    const { nonce, ciphertext } = this.#sealWith(keyId, checked(keyId), "");
    return Buffer.concat([nonce, ciphertext]);
  }

  passes(keyId: string, checkValue: Buffer): boolean {
    const [nonce, ciphertext] = [checkValue.subarray(0, nonceLength), checkValue.subarray(nonceLength)];
    try {
      return this.open(checked(keyId), { keyId, nonce, ciphertext }) === "";
    } catch (error) {
      if (error instanceof SealBroken) return false;
      throw error;
    }
  }

  #sealWith(keyId: string, place: Place, plain: string): Sealed {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv(algorithm, this.#key(keyId), nonce, { authTagLength: tagLength });
    cipher.setAAD(authenticated(place));
    const encrypted = [cipher.update(plain, "utf8"), cipher.final()];
    return { keyId, nonce, ciphertext: Buffer.concat([...encrypted, cipher.getAuthTag()]) };
  }

  #key(id: string): KeyObject {
    const key = this.#keys.get(id);
    if (!key) throw unavailable(`This server lacks the encryption key ${id}.`);
    return key;
  }
}

const authenticated = ({ table, column, rowId, ownerId }: Place): Buffer =>
  Buffer.from(JSON.stringify([table, column, rowId, ownerId]));

const checked = (keyId: string): Place => ({
  table: "encryption_keys",
  column: "check_value",
  rowId: keyId,
  ownerId: "",
});

/** What `readKeys` reads. Follows "must be". */
export const keysRule = `a list of <key id>:<base64 of ${keyLength} bytes> with different ids of 1 to 64 characters`;

const keyPattern = /^([\w.-]{1,64}):([A-Za-z0-9+/]{43}=)$/;

/** Reads keys that are separated by comma or line; `undefined` if that is not what the text holds. */
export function readKeys(text: string): EncryptionKey[] | undefined {
  const keys: EncryptionKey[] = [];
  for (const part of text.split(/[,\n]/).map((each) => each.trim())) {
    if (part === "") continue;
    const [, id, base64] = keyPattern.exec(part) ?? [];
    if (!id || !base64 || keys.some((key) => key.id === id)) return undefined;
    keys.push({ id, key: createSecretKey(base64, "base64") });
  }
  return keys.length > 0 ? keys : undefined;
}

/** A new key in the form that `readKeys` reads. */
export const newKeyText = (id: string): string => `${id}:${randomBytes(keyLength).toString("base64")}`;

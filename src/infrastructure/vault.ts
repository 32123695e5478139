import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { unavailable } from "../runtime/errors.js";

/** A key and its id, which is stored with each value that the key encrypts. */
export interface EncryptionKey {
  id: string;
  key: KeyObject;
}

/** An encrypted value. The ciphertext ends with the authentication tag. */
export interface Sealed {
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

/** The location and owner of a value, authenticated with it: a ciphertext copied elsewhere does not decrypt. */
export interface Place {
  table: string;
  column: string;
  rowId: string;
  ownerId: string;
}

/** The error of a ciphertext that fails authentication for its place. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";

  constructor({ table, column, rowId }: Place) {
    super(`The ${column} of ${rowId} in ${table} does not open: it was changed or comes from another place.`);
  }
}

const algorithm = "aes-256-gcm";
const keyLength = 32;
/** Bytes. Random 96-bit nonces are safe for 2^32 values per key (NIST SP 800-38D §8.3). */
const nonceLength = 12;
const tagLength = 16;

/** Encrypts values for the database. The first key encrypts, all keys decrypt. */
export class Vault {
  #keys: ReadonlyMap<string, KeyObject> = new Map();

  /** Sets the keys, at least one. */
  unlock(keys: readonly EncryptionKey[]): void {
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** The ids of the keys, the active one first. */
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

  /** Decrypts a value. Throws UNAVAILABLE if its key is missing, `SealBroken` if authentication fails. */
  open(place: Place, { keyId, nonce, ciphertext }: Sealed): string {
    const key = this.#key(keyId);
    try {
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength });
      decipher.setAAD(authenticatedData(place));
      decipher.setAuthTag(ciphertext.subarray(-tagLength));
      const plain = [decipher.update(ciphertext.subarray(0, -tagLength)), decipher.final()];
      return Buffer.concat(plain).toString();
    } catch {
      throw new SealBroken(place);
    }
  }

  /** Computes the check value of a key, with which `passes` later detects a different key of the same id. */
  checkValueOf(keyId: string): Buffer {
    const { nonce, ciphertext } = this.#sealWith(keyId, checkPlace(keyId), "");
    return Buffer.concat([nonce, ciphertext]);
  }

  /** Reports whether the key of this id is the one that the check value was computed with. */
  passes(keyId: string, checkValue: Buffer): boolean {
    const nonce = checkValue.subarray(0, nonceLength);
    const ciphertext = checkValue.subarray(nonceLength);
    try {
      return this.open(checkPlace(keyId), { keyId, nonce, ciphertext }) === "";
    } catch (error) {
      if (error instanceof SealBroken) return false;
      throw error;
    }
  }

  #sealWith(keyId: string, place: Place, plain: string): Sealed {
    const nonce = randomBytes(nonceLength);
    const cipher = createCipheriv(algorithm, this.#key(keyId), nonce, { authTagLength: tagLength });
    cipher.setAAD(authenticatedData(place));
    const encrypted = [cipher.update(plain, "utf8"), cipher.final()];
    return { keyId, nonce, ciphertext: Buffer.concat([...encrypted, cipher.getAuthTag()]) };
  }

  #key(id: string): KeyObject {
    const key = this.#keys.get(id);
    if (!key) throw unavailable(`This server lacks the encryption key ${id}.`);
    return key;
  }
}

const authenticatedData = ({ table, column, rowId, ownerId }: Place): Buffer =>
  Buffer.from(JSON.stringify([table, column, rowId, ownerId]));

const checkPlace = (keyId: string): Place => ({
  table: "encryption_keys",
  column: "check_value",
  rowId: keyId,
  ownerId: "",
});

/** The format that `readKeys` accepts. Completes "must be". */
export const keysRule = `a list of <key id>:<base64 of ${keyLength} bytes> with different ids of 1 to 64 characters`;

const keyPattern = /^([\w.-]{1,64}):([A-Za-z0-9+/]{43}=)$/;

/** Parses keys separated by commas or line breaks; `undefined` if the text is invalid. */
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

/** Generates a key in the format of `readKeys`. */
export const newKeyText = (id: string): string => `${id}:${randomBytes(keyLength).toString("base64")}`;

/** Writes keys in the format that `readKeys` accepts, one on each line. */
export const textOfKeys = (keys: readonly EncryptionKey[]): string =>
  keys.map(({ id, key }) => `${id}:${key.export().toString("base64")}\n`).join("");

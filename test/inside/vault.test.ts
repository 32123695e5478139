// Encrypted values open with their key and at their place only.
// Looks inside: encryption is tried without a server around it.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { DomainError } from "../../src/domain/kernel/errors.js";
import { StartRefused } from "../../src/runtime/errors.js";
import { makeKeyFile, readKeyFile } from "../../src/infrastructure/key-file.js";
import {
  type EncryptionKey,
  newKeyText,
  type Place,
  readKeys,
  SealBroken,
  Vault,
} from "../../src/infrastructure/vault.js";

const key = (id: string): EncryptionKey => readKeys(newKeyText(id))![0]!;
const vaultWith = (...keys: EncryptionKey[]) => {
  const vault = new Vault();
  vault.unlock(keys);
  return vault;
};
const place: Place = { table: "user_secrets", column: "value", rowId: "row-1", ownerId: "ada" };

describe("the vault", () => {
  const k1 = key("k1");
  const k2 = key("k2");
  const vault = vaultWith(k1, k2);

  for (const plain of ["", "x", "p\u{1f511}ä\n", "long ".repeat(5_000)]) {
    it(`returns what was sealed (${plain.length} characters)`, () => {
      const sealed = vault.seal(place, plain);
      expect(sealed).to.include({ keyId: "k1" });
      expect(sealed.nonce).to.have.length(12);
      expect(sealed.ciphertext).to.have.length(Buffer.byteLength(plain) + 16);
      expect(vault.open(place, sealed)).to.equal(plain);
    });
  }

  it("never produces the same ciphertext twice", () => {
    const one = vault.seal(place, "same");
    const other = vault.seal(place, "same");
    expect(one.nonce.equals(other.nonce)).to.equal(false);
    expect(one.ciphertext.equals(other.ciphertext)).to.equal(false);
  });

  it("opens a value only at its own place", () => {
    const sealed = vault.seal(place, "secret");
    const elsewhere: Array<Partial<Place>> = [
      { table: "webhooks" },
      { column: "other" },
      { rowId: "row-2" },
      { ownerId: "bob" },
      { table: 'user_secrets","value', column: "" },
    ];
    for (const change of elsewhere) {
      expect(() => vault.open({ ...place, ...change }, sealed), JSON.stringify(change)).to.throw(SealBroken);
    }
  });

  it("rejects a value that was modified, in any bit or in length", () => {
    const sealed = vault.seal(place, "secret");
    const flipped = (buffer: Buffer, index: number) => buffer.map((byte, at) => (at === index ? byte ^ 1 : byte));
    const changed = [
      ...[...sealed.ciphertext.keys()].map((at) => ({
        ...sealed,
        ciphertext: Buffer.from(flipped(sealed.ciphertext, at)),
      })),
      ...[...sealed.nonce.keys()].map((at) => ({ ...sealed, nonce: Buffer.from(flipped(sealed.nonce, at)) })),
      ...[0, 1, 12, 15, 16, 21].map((length) => ({ ...sealed, ciphertext: sealed.ciphertext.subarray(0, length) })),
      { ...sealed, ciphertext: Buffer.concat([sealed.ciphertext, Buffer.alloc(1)]) },
      { ...sealed, nonce: Buffer.alloc(0) },
      { ...sealed, keyId: "k2" },
    ];
    for (const each of changed) expect(() => vault.open(place, each)).to.throw(SealBroken, /value of row-1/);
  });

  it("seals with the first key and opens with any; a value whose key is missing is unavailable", () => {
    const old = vault.seal(place, "secret");
    const turned = vaultWith(k2, k1);
    expect(turned.seal(place, "secret").keyId).to.equal("k2");
    expect(turned.open(place, old)).to.equal("secret");
    expect(() => vaultWith(k2).open(place, old))
      .to.throw(DomainError)
      .with.property("code", "UNAVAILABLE");
  });

  it("distinguishes keys of the same id", () => {
    const check = vault.checkValueOf("k1");
    expect(vault.passes("k1", check)).to.equal(true);
    expect(vaultWith(k1).passes("k1", check)).to.equal(true);
    expect(vaultWith({ ...k2, id: "k1" }).passes("k1", check)).to.equal(false);
    expect(vault.passes("k2", check)).to.equal(false);
    expect(vault.passes("k1", Buffer.alloc(3))).to.equal(false);
  });
});

describe("the text form of encryption keys", () => {
  const base64 = Buffer.alloc(32, 7).toString("base64");

  it("is separated by commas or newlines", () => {
    const keys = readKeys(` k1:${base64},\nk-2.b_c:${base64}\r\n`)!;
    expect(keys.map(({ id }) => id)).to.deep.equal(["k1", "k-2.b_c"]);
    expect(keys[0]!.key.export().equals(Buffer.alloc(32, 7))).to.equal(true);
  });

  const wrong = {
    "no text": "",
    "no id": `:${base64}`,
    "no key": "k1:",
    "a short key": `k1:${Buffer.alloc(31).toString("base64")}`,
    "a long key": `k1:${Buffer.alloc(33).toString("base64")}`,
    "a repeated id": `k1:${base64},k1:${base64}`,
    "a space in an id": `k 1:${base64}`,
    "a long id": `${"k".repeat(65)}:${base64}`,
    "trailing characters": `k1:${base64}x`,
  };
  for (const [what, text] of Object.entries(wrong)) {
    it(`is rejected with ${what}`, () => expect(readKeys(text)).to.equal(undefined));
  }
});

describe("the key file", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "steward-keys-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is created exactly once, complete and readable by its owner alone, by concurrent starts", async () => {
    const path = join(folder, "data", "encryption.keys");
    expect(await readKeyFile(path)).to.equal(undefined);
    const made = await Promise.all(Array.from({ length: 20 }, () => makeKeyFile(path)));
    expect(made.filter(({ isNew }) => isNew)).to.have.length(1);
    const bytes = made.map(({ keys }) => `${keys[0]!.id} ${keys[0]!.key.export().toString("hex")}`);
    expect(new Set(bytes)).to.have.length(1);
    expect(statSync(path).mode & 0o777).to.equal(0o600);
    expect(statSync(join(folder, "data")).mode & 0o777).to.equal(0o700);
    expect(readdirSync(join(folder, "data")), "no temporary files are left").to.deep.equal(["encryption.keys"]);
    expect((await readKeyFile(path))![0]!.id).to.equal(made[0]!.keys[0]!.id);
  });

  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => expect.fail("It succeeded."),
      (error: unknown) => error as Error,
    );

  it("stops the start if it is malformed, and is left untouched", async () => {
    const path = join(folder, "encryption.keys");
    const text = "k1:c2VjcmV0\n";
    writeFileSync(path, text);
    const error = await refusal(readKeyFile(path));
    expect(error).to.be.instanceOf(StartRefused);
    expect(error.message).to.include(path).and.not.include("c2VjcmV0");
    expect(await refusal(makeKeyFile(path))).to.be.instanceOf(StartRefused);
    expect(readFileSync(path, "utf8")).to.equal(text);
  });

  it("stops the start if it cannot be read or created", async () => {
    mkdirSync(join(folder, "encryption.keys"));
    expect((await refusal(readKeyFile(join(folder, "encryption.keys")))).message).to.match(/cannot be read \(EISDIR\)/);
    writeFileSync(join(folder, "file"), "");
    chmodSync(join(folder, "file"), 0o600);
    expect((await refusal(makeKeyFile(join(folder, "file", "encryption.keys")))).message).to.match(/\(E\w+\)/);
  });
});

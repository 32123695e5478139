// Looks inside: the order in which waiting passwords are hashed shows in no response.
import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import { expect } from "chai";
import { DomainError } from "../../src/domain/kernel/errors.js";
import { createPasswords } from "../../src/infrastructure/passwords/passwords.js";
import { checkPassword } from "../../src/domain/sign-in/password-strength.js";
import { readConfig } from "../support/app.js";

const { hashCost } = readConfig({});
/** Queues are the same whatever a hash costs. */
const cheap = { memory: 16, passes: 1 };

describe("the password rule", () => {
  it("rejects passwords that are easy to guess, and suggests improvements", async () => {
    for (const weak of ["", "password", "P@ssw0rd", "qwertyuiop", "aB3$".repeat(32)]) {
      const { valid, details } = await checkPassword(weak);
      expect(valid, weak).to.equal(false);
      expect(details, weak).to.match(/^[A-Z].*\.$/);
    }
    const strong = randomBytes(30).toString("base64");
    expect(await checkPassword(strong)).to.deep.equal({ valid: true, details: "" });
  });

  it("gives no credit for what is known about the user", async () => {
    const password = "grace.hopperthwaite-gh-1906";
    expect(await checkPassword(password)).to.deep.equal({ valid: true, details: "" });
    for (const owner of [{ email: `${password}@example.com` }, { username: password }, { name: password }]) {
      expect(await checkPassword(password, owner), JSON.stringify(owner)).to.have.property("valid", false);
    }
  });

  it("limits passwords to 1024 bytes, not characters, and rates their first 128 characters", async () => {
    const beginning = randomBytes(30).toString("hex");
    expect((await checkPassword(beginning.padEnd(1024, "x"))).valid).to.equal(true);
    expect((await checkPassword(beginning.padEnd(1025, "x"))).valid).to.equal(false);
    expect((await checkPassword(beginning.padEnd(545, "é"))).valid).to.equal(false);
    expect((await checkPassword("a".repeat(128) + beginning)).valid).to.equal(false);
  });
});

/** The hash with its parameters in the order of the PHC string format: the library writes `m,p,t`. */
const inOrder = (hash: string): string => hash.replace(/,(p=\d+),(t=\d+)\$/, ",$2,$1$");

describe("password hashes", () => {
  it("are argon2id with 19 MiB, two passes, one lane, and a salt each", async () => {
    const passwords = createPasswords(2, hashCost);
    const [one, other] = await Promise.all([passwords.hash("open sesame"), passwords.hash("open sesame")]);
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(one).not.to.equal(other);
    expect(passwords.needsRehash(one)).to.equal(false);
    expect(passwords.needsRehash(one.replace("m=19456", "m=9728"))).to.equal(true);
    expect(await passwords.verify(one, "open sesame")).to.equal(true);
    expect(await passwords.verify(one, "open sesam")).to.equal(false);
    expect(await passwords.verify(undefined, "open sesame")).to.equal(false);
  });

  it("verify in each order of their parameters, and are out of date unless all that describes them is as it is now", async () => {
    const passwords = createPasswords(2, hashCost);
    const now = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
    const others: Record<string, string> = {
      order: await argon2.hash("open sesame", now),
      variant: inOrder(await argon2.hash("open sesame", { ...now, type: argon2.argon2i })),
      version: inOrder(await argon2.hash("open sesame", { ...now, version: 0x10 })),
      memory: inOrder(await argon2.hash("open sesame", { ...now, memoryCost: 9_728 })),
      passes: inOrder(await argon2.hash("open sesame", { ...now, timeCost: 3 })),
      lanes: inOrder(await argon2.hash("open sesame", { ...now, parallelism: 2 })),
      digest: inOrder(await argon2.hash("open sesame", { ...now, hashLength: 16 })),
      salt: inOrder(await argon2.hash("open sesame", { ...now, salt: randomBytes(12) })),
    };
    expect(others.order).to.match(/\$m=19456,p=1,t=2\$/);
    for (const [what, hash] of Object.entries(others)) {
      expect(await passwords.verify(hash, "open sesame"), what).to.equal(true);
      expect(await passwords.verify(hash, "open sesam"), what).to.equal(false);
      expect(passwords.needsRehash(hash), what).to.equal(true);
    }
    const ordered = inOrder(others.order!);
    expect(await passwords.verify(ordered, "open sesame")).to.equal(true);
    expect(passwords.needsRehash(ordered)).to.equal(false);
  });

  it("wait in a queue of 64, with or without a hash to verify; the rest are rejected as UNAVAILABLE", async () => {
    const passwords = createPasswords(1, cheap);
    const hash = await passwords.hash("open sesame");
    for (const verified of [hash, undefined]) {
      const answers = await Promise.allSettled(
        Array.from({ length: 70 }, () => passwords.verify(verified, "open sesame")),
      );
      const refused = answers.filter((answer) => answer.status === "rejected");
      expect(refused).to.have.length(5);
      expect((refused[0]!.reason as DomainError).code).to.equal("UNAVAILABLE");
      expect((refused[0]!.reason as DomainError).details.retryAfter).to.equal(1);
    }
    expect(await passwords.verify(hash, "open sesame")).to.equal(true);
  });

  it("for signed-in users run before those for anonymous callers, who have a queue of their own", async () => {
    const passwords = createPasswords(1, cheap);
    const done: string[] = [];
    const jobs = (["stranger", "stranger", "stranger", "signedIn", "signedIn"] as const).map(async (queue, n) => {
      await passwords.hash("open sesame", queue);
      done.push(`${queue} ${n}`);
    });
    const others = Array.from({ length: 70 }, () => passwords.hash("open sesame", "stranger").catch(() => undefined));
    expect(() => passwords.requireRoom("stranger")).to.throw("temporarily unavailable");
    passwords.requireRoom("signedIn");
    await Promise.all(jobs);
    expect(done).to.deep.equal(["stranger 0", "signedIn 3", "signedIn 4", "stranger 1", "stranger 2"]);
    expect((await Promise.all(others)).filter((hash) => hash === undefined)).to.have.length(8);
  });
});

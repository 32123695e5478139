// The cost of sign-ins: one hash per attempt, and no more hashing than the machine can afford.
// Reaches for tables: accounts are in states that no test can reach without mails, and counters start again.
import { expect } from "chai";
import { countHashes } from "../support/accounts.js";
import { ownerPassword, startServer, usualHashes } from "../support/app.js";
import { deleteRows, setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { Client, userPassword, world } from "../support/world.js";

const path = "/api/v2/users/login";

describe("a sign-in", () => {
  const the = world();

  it("costs one hash, whatever is wrong", async () => {
    const w = the();
    const [ada, suspended, provided, bare] = await w.users("ada", "suspended", "provided", "bare");
    await setColumns(w, "users", { id: suspended!.id }, { status: "suspended" });
    await setColumns(w, "users", { id: provided!.id }, { login_type: "oidc" });
    await setColumns(w, "users", { id: bare!.id }, { login_type: "oidc", password_hash: null });
    const seen = countHashes(w.app);
    for (const [email, password, status] of [
      [ada!.email, userPassword, 201],
      [ada!.email, "wrong", 401],
      ["nobody@example.com", "wrong", 401],
      ["no address", "wrong", 401],
      [suspended!.email, userPassword, 401],
      [suspended!.email, "wrong", 401],
      [provided!.email, userPassword, 403],
      [provided!.email, "wrong", 401],
      [bare!.email, "wrong", 401],
    ] as const) {
      seen.hashes = 0;
      expect(await w.nobody.post(path, { email, password }), `${email} ${password}`).to.include({ status });
      expect(seen.hashes, `${email} ${password}`).to.equal(1);
    }
    seen.hashes = 0;
    await w.nobody.failure(`mutation { login(input: { email: "x@example.com", password: "wrong" }) { sessionToken } }`);
    expect(seen.hashes).to.equal(1);
    seen.hashes = 0;
    for (const password of ["", "é".repeat(513)]) await w.nobody.post(path, { email: ada!.email, password });
    expect(seen.hashes).to.equal(0);
  });

  it("waits in a bounded queue or gets 503 with Retry-After, while other requests proceed", async () => {
    const w = the();
    const app = await startServer(w.database.url, { ...usualHashes, STEWARD_HASH_CONCURRENCY: "1" });
    try {
      const seen = countHashes(app);
      const nobody = new Client(app.url);
      const owner = new Client(app.url, w.owner.token);
      const flood = Promise.all(
        Array.from({ length: 400 }, (_, nr) =>
          nobody.post(path, { email: `user-${nr}@example.com`, password: "wrong" }),
        ),
      );
      const reads = await Promise.all(
        Array.from({ length: 100 }, () => owner.get(`/api/v2/groups/${w.defaultOrganization}`)),
      );
      expect(new Set(reads.map(({ status }) => status))).to.deep.equal(new Set([200]));
      const answers = await flood;
      const refused = answers.filter(({ status }) => status === 503);
      expect(refused).to.not.have.length(0);
      expect(answers.filter(({ status }) => status === 401)).to.have.length(400 - refused.length);
      for (const { headers } of refused) expect(headers.get("retry-after")).to.equal("1");
      // One running, 64 queued, and some about to be rejected.
      expect(seen.mostWaiting).to.be.within(65, 100);
      expect(seen.waiting).to.equal(0);
      expect(await nobody.post(path, { email: "late@example.com", password: "wrong" })).to.include({ status: 401 });
    } finally {
      await app.close();
    }
  });

  it("costs no hash once it is rate-limited, which the server remembers", async () => {
    const w = the();
    const app = await startServer(w.database.url, { ...usualHashes, STEWARD_RATE_LIMIT_CREDENTIAL_IP: "10" });
    try {
      const nobody = new Client(app.url);
      const tries = (count: number) =>
        Promise.all(
          Array.from({ length: count }, (_, nr) =>
            nobody.post(path, { email: `user-${nr}@example.com`, password: "wrong" }),
          ),
        );
      await tries(20);
      const seen = countHashes(app);
      await deleteRows(w, "rate_counters", {});
      const answers = await tries(200);
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([429]));
      expect(seen.hashes).to.equal(0);
    } finally {
      await app.close();
    }
  });

  it("is shed in a flood instead of queued, for known and unknown accounts alike", async () => {
    const w = the();
    const replica = await startServer(w.database.url, {
      ...usualHashes,
      STEWARD_HASH_CONCURRENCY: "1",
    });
    try {
      const client = new Client(replica.url);
      for (const email of [w.owner.email, "nobody@example.com"]) {
        const answers = await Promise.all(
          Array.from({ length: 150 }, () => client.post(path, { email, password: "wrong" })),
        );
        const refused = answers.filter(({ status }) => status === 503);
        expect(refused, email).to.not.have.length(0);
        expect(
          answers.filter(({ status }) => status === 401),
          email,
        ).to.have.length(150 - refused.length);
        expect(refused[0]!.headers.get("retry-after")).to.equal("1");
      }
    } finally {
      await replica.close();
    }
  });

  it("does not delay other requests while passwords wait to be hashed", async () => {
    const w = the();
    const replica = await startServer(w.database.url, {
      ...usualHashes,
      STEWARD_HASH_CONCURRENCY: "1",
    });
    const { passwords } = replica.services;
    const reading = new AbortController();
    try {
      const client = new Client(replica.url, w.owner.token);
      // More sign-ins than connections to the database, queued behind many other passwords, which do not end before the reads.
      const count = 24;
      const counted = countHashes(replica);
      const others = Array.from({ length: 64 - count }, async () => {
        do await passwords.hash("another user's");
        while (!reading.signal.aborted);
      });
      let answered = 0;
      const logins = Array.from({ length: count }, async () => {
        const { status } = await client.post(path, { email: w.owner.email, password: ownerPassword });
        answered++;
        expect(status).to.equal(201);
      });
      await eventually(() => counted.waiting === others.length + count, "all passwords wait to be hashed");
      for (let read = 0; read < 5; read++) expect((await client.get("/api/v2/groups")).status).to.equal(200);
      expect(answered).to.equal(0);
      reading.abort();
      await Promise.all([...others, ...logins]);
    } finally {
      reading.abort();
      await replica.close();
    }
  });
});

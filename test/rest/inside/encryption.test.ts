// Encryption keys at start, in use, and in rotation, on real servers and the command line.
// Looks inside: no interface shows what is encrypted at rest, and with which key.
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Pool } from "pg";
import {
  encryptedColumns,
  pageKeys,
  type SealedRow,
  userSecretValues,
} from "../../../src/domain/encryption/columns.js";
import { readKeys, Vault } from "../../../src/infrastructure/vault.js";
import { newId } from "../../support/ids.js";
import { type App, logged, ownerPassword, startServer } from "../../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../../support/cluster.js";
import { command, spawnCommand, spawnServer } from "../../support/process.js";
import { eventually } from "../../support/watchers.js";
import { Client, startWorld, world } from "../../support/world.js";

const keyText = (id: string, seed = id) => `${id}:${createHash("sha256").update(seed).digest("base64")}`;
const k1 = keyText("k1");
const k2 = keyText("k2");
const vaultOf = (text: string) => {
  const vault = new Vault();
  vault.unlock(readKeys(text)!);
  return vault;
};

/** Rows of `user_secrets` in the form that the vault reads. */
const sealedRows = async (pool: Pool): Promise<Array<SealedRow & { name: string }>> =>
  (
    await pool.query(
      `select id, name, user_id as "ownerId", key_id as "keyId", value_nonce as nonce, value_ciphertext as ciphertext
       from user_secrets order by id`,
    )
  ).rows;

/** Stores secrets of one user, bypassing the API and its limits; their values are `value-<name>`. */
async function store(pool: Pool, text: string, ownerId: string, count: number): Promise<string[]> {
  const vault = vaultOf(text);
  const rows = Array.from({ length: count }, (_, n) => {
    const id = newId();
    const sealed = vault.seal(userSecretValues.place({ id, ownerId }), `value-${n}`);
    return { id, name: String(n), ...sealed };
  });
  await pool.query(
    `insert into user_secrets (id, user_id, name, value_bytes, key_id, value_nonce, value_ciphertext, created_at, updated_at)
     select id, $1, name, octet_length('value-' || name), $2, nonce, ciphertext, now(), now()
     from unnest($3::uuid[], $4::text[], $5::bytea[], $6::bytea[]) as rows (id, name, nonce, ciphertext)`,
    [
      ownerId,
      vault.activeKeyId,
      rows.map(({ id }) => id),
      rows.map(({ name }) => name),
      rows.map(({ nonce }) => nonce),
      rows.map(({ ciphertext }) => ciphertext),
    ],
  );
  return rows.map(({ id }) => id);
}

async function signedIn({ url }: App): Promise<Client> {
  const { body } = await new Client(url).post("/api/v2/users/login", {
    email: "owner@example.com",
    password: ownerPassword,
  });
  return new Client(url, body.session_token);
}

const secrets = "/api/v2/users/me/secrets";

describe("encryption", function () {
  let database: TestDatabase;
  let pool: Pool;
  let folder: string;
  let running: App[];
  beforeEach(async () => {
    database = await cloneDatabase();
    pool = new Pool({ connectionString: database.url, max: 4 });
    // The database is dropped while connections are idle.
    pool.on("error", () => {});
    folder = mkdtempSync(join(tmpdir(), "steward-encryption-"));
    running = [];
  });
  afterEach(async () => {
    for (const app of running) await app.close();
    await pool.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const start = async (settings: NodeJS.ProcessEnv): Promise<App> => {
    const app = await startServer(database.url, settings);
    running.push(app);
    return app;
  };
  const withKeys = (keys: string) => ({ STEWARD_ENCRYPTION_KEYS: keys });
  const withFile = (file: string) => ({ STEWARD_ENCRYPTION_KEYS: "", STEWARD_ENCRYPTION_KEYS_FILE: file });
  const refusal = (settings: NodeJS.ProcessEnv) =>
    start(settings).then(
      () => expect.fail("The server started."),
      (error: Error) => error,
    );
  const stop = async (app: App) => {
    running.splice(running.indexOf(app), 1);
    await app.close();
  };
  const registered = async () =>
    (await pool.query<{ id: string }>("select id from encryption_keys order by id")).rows.map(({ id }) => id);
  const countUnder = async (key: string) =>
    Number((await pool.query("select count(*) from user_secrets where key_id = $1", [key])).rows[0].count);
  const ownerId = async () => (await pool.query("select id from users where username = 'owner'")).rows[0].id as string;

  describe("with a key file", () => {
    const fileKey = (file: string) => readKeys(readFileSync(file, "utf8"))![0]!.id;

    it("creates it at the first start, says that it must be backed up, and reads it from then on", async () => {
      const file = join(folder, "data", "encryption.keys");
      const before = logged.length;
      const first = await start(withFile(file));
      const told = logged.slice(before).filter(({ path }) => path === file);
      expect(told).to.have.length(1);
      expect(told[0]!.msg).to.match(/Back up this file/);
      expect(await (await signedIn(first)).post(secrets, { name: "a", value: "v" })).to.include({ status: 201 });
      await stop(first);
      const content = readFileSync(file);
      const [again, replica] = await Promise.all([start(withFile(file)), start(withFile(file))]);
      for (const app of [again, replica]) expect(await new Client(app.url).get("/readyz")).to.include({ status: 200 });
      expect(readFileSync(file).equals(content)).to.equal(true);
      expect(await registered()).to.deep.equal([fileKey(file)]);
    });

    it("does not start if other users can read the file that it created; mounted files may be readable", async () => {
      const file = join(folder, "encryption.keys");
      const inDataDir = { STEWARD_ENCRYPTION_KEYS: "", STEWARD_DATA_DIR: folder };
      await stop(await start(inDataDir));
      for (const mode of [0o640, 0o604, 0o660, 0o620]) {
        chmodSync(file, mode);
        const { name, message } = await refusal(inDataDir);
        expect([name, message]).to.deep.equal([
          "StartRefused",
          `Other users of this machine have access to the encryption keys in ${file}. Run: chmod 600 ${file}`,
        ]);
        const listed = await command({ STEWARD_DATABASE_URL: database.url, ...inDataDir }, "encryption", "status");
        expect(listed).to.deep.include({ status: 1, stdout: "" });
      }
      await stop(await start(withFile(file)));
      chmodSync(file, 0o400);
      await start(inDataDir);
    });

    it("shares it between servers that start concurrently", async () => {
      const file = join(folder, "encryption.keys");
      const apps = await Promise.all([start(withFile(file)), start(withFile(file)), start(withFile(file))]);
      for (const [n, app] of apps.entries())
        expect(await (await signedIn(app)).post(secrets, { name: `n-${n}`, value: "v" })).to.include({ status: 201 });
      expect(await countUnder(fileKey(file))).to.equal(3);
    });

    it("does not start without it or with another one once anything is encrypted", async () => {
      const file = join(folder, "encryption.keys");
      const app = await start(withFile(file));
      await (await signedIn(app)).post(secrets, { name: "a", value: "v" });
      await stop(app);
      const other = join(folder, "other.keys");
      const lost = await refusal(withFile(other));
      expect(lost.name).to.equal("StartRefused");
      expect(lost.message).to.include(other).and.include(fileKey(file));
      expect(existsSync(other)).to.equal(false);
      expect((await refusal(withKeys(k1))).message).to.include(fileKey(file));
    });

    it("rejects a second server with another one, says which file to share, and keeps the first running", async () => {
      const file = join(folder, "1", "encryption.keys");
      const other = join(folder, "2", "encryption.keys");
      const first = await start(withFile(file));
      const error = await refusal(withFile(other));
      expect(error.name).to.equal("StartRefused");
      expect(error.message).to.include(fileKey(file)).and.include(other).and.include("STEWARD_ENCRYPTION_KEYS");
      expect(existsSync(other), "no other key is created").to.equal(false);
      expect((await refusal(withKeys(k1))).message).to.include(fileKey(file));
      expect(await registered()).to.deep.equal([fileKey(file)]);
      expect(await new Client(first.url).get("/readyz")).to.include({ status: 200 });
      expect(await (await signedIn(first)).post(secrets, { name: "a", value: "v" })).to.include({ status: 201 });

      mkdirSync(join(folder, "2"));
      copyFileSync(file, other);
      const second = await start(withFile(other));
      expect(await (await signedIn(second)).post(secrets, { name: "b", value: "v" })).to.include({ status: 201 });
      expect(await countUnder(fileKey(file))).to.equal(2);
    });

    it("accepts one of several servers that start concurrently on an empty database, each with its own folder", async () => {
      const empty = await createDatabase();
      try {
        const files = ["1", "2", "3"].map((name) => join(folder, name, "encryption.keys"));
        const starts = await Promise.allSettled(
          files.map(async (file) => {
            const app = await startServer(empty.url, withFile(file));
            running.push(app);
            return app;
          }),
        );
        expect(starts.filter(({ status }) => status === "fulfilled")).to.have.length(1);
        for (const each of starts) if (each.status === "rejected") expect(each.reason.name).to.equal("StartRefused");
        expect(files.filter((file) => existsSync(file))).to.have.length(1);
      } finally {
        for (const app of running) await app.close();
        await empty.drop();
      }
    });
  });

  describe("with keys in the settings", () => {
    it("does not start without a key in use or with another one of its name, and lists them all", async () => {
      const app = await start(withKeys(`${k1},${k2},${keyText("k3")}`));
      await store(pool, k1, await ownerId(), 1);
      await pool.query("update user_secrets set name = 'x'");
      await store(pool, k2, await ownerId(), 1);
      await stop(app);
      const missing = await refusal(withKeys(keyText("k3")));
      expect(missing.name).to.equal("StartRefused");
      expect(missing.message).to.match(/: k1, k2\.$/);
      const wrong = await refusal(withKeys(`${keyText("k1", "other")},${keyText("k2", "other")}`));
      expect(wrong.message).to.match(/: k1, k2\.$/);
      await start(withKeys(`${k2},${k1}`));
      expect(await registered(), "k3 encrypts nothing and was not configured").to.deep.equal(["k1", "k2"]);
    });

    it("is not ready, and says so, when it finds data under a key that it lacks", async () => {
      const old = await start(withKeys(k1));
      const turned = await start(withKeys(`${k2},${k1}`));
      await (await signedIn(turned)).post(secrets, { name: "a", value: "v" });
      const answer = await new Client(old.url).get("/readyz");
      expect(answer).to.include({ status: 503 });
      expect(answer.body.failed).to.deep.equal(["encryption_keys"]);
      const [row] = await sealedRows(pool);
      expect(() => old.services.vault.open(userSecretValues.place(row!), row!))
        .to.throw()
        .with.property("code", "UNAVAILABLE");
      await (await signedIn(old)).delete(`${secrets}/a`);
      expect(await new Client(old.url).get("/readyz")).to.include({ status: 200 });
    });

    it("accepts them from the settings or from a file, not from both", async () => {
      const error = await refusal({ ...withKeys(k1), STEWARD_ENCRYPTION_KEYS_FILE: join(folder, "keys") });
      expect(error.message).to.match(/are mutually exclusive/);
      const faulty = await refusal(withKeys("k1:c2VjcmV0"));
      expect(faulty.message)
        .to.match(/STEWARD_ENCRYPTION_KEYS must be a list/)
        .and.not.include("c2VjcmV0");
    });
  });

  describe("rotates", () => {
    const rotate = (keys: string) => ["encryption", "rotate", settingsOf(keys)] as const;
    const settingsOf = (keys: string) => ({ STEWARD_DATABASE_URL: database.url, ...withKeys(keys) });
    const run = (keys: string, verb: "rotate" | "status") => command(settingsOf(keys), "encryption", verb);

    it("everything to the first key during writes, even if it is killed in the middle", async () => {
      const app = await start(withKeys(`${k2},${k1}`));
      const owner = await signedIn(app);
      const ids = await store(pool, k1, await ownerId(), 8_000);
      const before = await pool.query("select id, updated_at from user_secrets order by id");
      // The eleventh batch hangs on its last row.
      await pool.query(`
        create function hang() returns trigger language plpgsql as 'begin perform pg_sleep(60); return new; end';
        create trigger hang before update on user_secrets for each row
          when (old.id = '${ids[5_499]}') execute function hang()`);
      const [, , settings] = rotate(`${k2},${k1}`);
      const killed = spawnCommand(settings, "encryption", "rotate");
      await eventually(async () => (await countUnder("k2")) === 5_000, "ten batches are committed", 30_000);
      killed.child.kill("SIGKILL");
      expect(await killed.ended).to.equal("SIGKILL");
      expect(killed.stderr()).to.match(/^12% {2}1000 of 8000 values$/m);
      await pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%fresh.read%' and pid <> pg_backend_pid()",
      );
      await pool.query("drop trigger hang on user_secrets");
      expect(await countUnder("k2"), "of the batch that was cut, nothing").to.equal(5_000);
      expect((await pool.query("select id, updated_at from user_secrets order by id")).rows).to.deep.equal(before.rows);

      const rerun = run(`${k2},${k1}`, "rotate");
      const written = new Set<string>();
      const deleted = new Set<string>();
      const writing = (async () => {
        for (let n = 7_999; n > 0 && written.size < 150; n -= 37) {
          const answer = await owner.patch(`${secrets}/${n}`, { value: `fresh-${n}` });
          expect(answer, JSON.stringify(answer.body)).to.include({ status: 200 });
          written.add(String(n));
          expect(await owner.delete(`${secrets}/${n - 1}`)).to.include({ status: 204 });
          deleted.add(String(n - 1));
        }
      })();
      const [{ status, stdout, stderr }] = await Promise.all([rerun, writing]);
      expect(status, stderr).to.equal(0);
      expect(stdout).to.match(/^Re-encrypted \d+ values with k2; 0 values remain encrypted with other keys\.\n$/);
      expect(stderr).to.match(/^100% {2}|^9\d% {2}/m);

      const rows = await sealedRows(pool);
      expect(rows).to.have.length(8_000 - deleted.size);
      const vault = vaultOf(k2);
      for (const row of rows) {
        const plain = vault.open(userSecretValues.place(row), row);
        expect(plain).to.equal(`${written.has(row.name) ? "fresh" : "value"}-${row.name}`);
      }
      await stop(app);
      expect((await refusal(withKeys(k1))).message).to.match(/: k2\.$/);
      await start(withKeys(k2));
      expect(await registered()).to.deep.equal(["k2"]);
    });

    it("everything but values that were modified or swapped outside, which no key decrypts", async () => {
      const app = await start(withKeys(`${k2},${k1}`));
      await store(pool, k1, await ownerId(), 20);
      await pool.query(`
        update user_secrets t set value_nonce = o.value_nonce, value_ciphertext = o.value_ciphertext
        from user_secrets o where (t.name, o.name) in (('3', '4'), ('4', '3'))`);
      const { status, stdout, stderr } = await run(`${k2},${k1}`, "rotate");
      expect(status).to.equal(0);
      expect(stdout).to.equal("Re-encrypted 18 values with k2; 2 values remain encrypted with other keys.\n");
      const rows = await sealedRows(pool);
      for (const row of rows.filter(({ name }) => name === "3" || name === "4")) {
        expect(row.keyId).to.equal("k1");
        expect(stderr).to.include(row.id);
        expect(() => app.services.vault.open(userSecretValues.place(row), row)).to.throw(/does not open/);
      }
      expect(stderr).to.not.match(/value-\d/);
    });

    it("and counts only replaced values, not one that is being written", async () => {
      await start(withKeys(`${k2},${k1}`));
      await store(pool, k1, await ownerId(), 20);
      const writer = await pool.connect();
      try {
        await writer.query("begin");
        await writer.query("select from user_secrets where name = '5' for update");
        const { stdout } = await run(`${k2},${k1}`, "rotate");
        expect(stdout).to.match(/^Re-encrypted 19 values with k2; 1 values /);
      } finally {
        writer.release(true);
      }
    });

    it("nothing with a key that no server has, a key that does not match its name, or no key", async () => {
      const app = await start(withKeys(k1));
      await store(pool, k1, await ownerId(), 3);
      const unknown = await run(`${k2},${k1}`, "rotate");
      expect(unknown).to.deep.include({ status: 1, stdout: "" });
      expect(unknown.stderr).to.match(/No server has started with the key k2/);
      const wrong = await run(keyText("k1", "other"), "rotate");
      expect(wrong).to.deep.include({ status: 1, stdout: "" });
      expect(wrong.stderr).to.match(/differ from the registered keys of the same ids: k1/);
      const none = await command({ ...settingsOf(""), STEWARD_DATA_DIR: folder }, "encryption", "rotate");
      expect(none).to.deep.include({ status: 1, stdout: "", stderr: "There are no encryption keys.\n" });
      expect(await countUnder("k1")).to.equal(3);
      expect(await new Client(app.url).get("/readyz")).to.include({ status: 200 });
    });

    it("and reports the values under each key, lost ones too, up to 1000 unless the exact number is requested", async () => {
      const app = await start(withKeys(`${k2},${k1}`));
      const owner = await signedIn(app);
      await owner.post(secrets, { name: "new", value: "v" });
      await store(pool, k1, await ownerId(), 1001);
      const fields = "activeKeyId keys { id present rows { table count } }";
      const { limited, exact } = await owner.graphql(
        `{ limited: encryptionStatus { ${fields} } exact: encryptionStatus(exact: true) { ${fields} } }`,
      );
      const rowsOf = (count: number) => [
        { table: "user_secrets", count },
        { table: "app_connect_keys", count: 0 },
        { table: "deployment", count: count === 1 ? 1 : 0 },
        { table: "notification_messages", count: 0 },
        { table: "notification_transports", count: 0 },
        ...["links", "states", "devices"].map((kind) => ({ table: `external_auth_${kind}`, count: 0 })),
        { table: "workspace_agents", count: 0 },
        { table: "template_versions", count: 0 },
        { table: "invitations", count: 0 },
        { table: "sign_in_providers", count: 0 },
        { table: "provider_sessions", count: 0 },
        { table: "event_endpoint_secrets", count: 0 },
        { table: "authenticators", count: 0 },
      ];
      const statusOf = (counted: number) => ({
        activeKeyId: "k2",
        keys: [
          { id: "k2", present: true, rows: rowsOf(1) },
          { id: "k1", present: true, rows: rowsOf(counted) },
        ],
      });
      expect({ limited, exact }).to.deep.equal({ limited: statusOf(1000), exact: statusOf(1001) });
      const none =
        "notification_messages 0, notification_transports 0, external_auth_links 0, external_auth_states 0, external_auth_devices 0, workspace_agents 0, template_versions 0, invitations 0, sign_in_providers 0, provider_sessions 0, event_endpoint_secrets 0, authenticators 0";
      const { status, stdout } = await run(k2, "status");
      expect({ status, stdout }).to.deep.equal({
        status: 0,
        stdout:
          `k2  active   user_secrets 1, app_connect_keys 0, deployment 1, ${none}\n` +
          `k1  missing  user_secrets 1001, app_connect_keys 0, deployment 0, ${none}\n`,
      });
      const left = await run(k2, "rotate");
      expect(left.stdout).to.equal("Re-encrypted 0 values with k2; 1001 values remain encrypted with other keys.\n");
    });
  });

  it("keeps the page key, which is the same on every server and after a rotation, and replaces a lost one", async () => {
    const marks = async ({ url }: App) => {
      const { headers, body } = await new Client(url).get("/login");
      const cookie = headers.getSetCookie()[0]!.split(";")[0]!;
      return { cookie, csrf_token: /name="csrf_token" value="([^"]+)"/.exec(body as string)![1]! };
    };
    const isAccepted = async ({ url }: App, { cookie, csrf_token }: Awaited<ReturnType<typeof marks>>) => {
      const form = new URLSearchParams({ csrf_token, email: "owner@example.com", password: "wrong" }).toString();
      const headers = { cookie, "Content-Type": "application/x-www-form-urlencoded" };
      const { status } = await new Client(url).post("/login", form, headers);
      expect(status).to.be.oneOf([401, 403]);
      return status === 401;
    };
    const sealed = async () =>
      (
        await pool.query(
          `select id, id as "ownerId", key_id as "keyId", page_key_nonce as nonce, page_key_ciphertext as ciphertext from deployment`,
        )
      ).rows[0];
    const first = await start(withKeys(k1));
    const form = await marks(first);
    const before = await sealed();
    const plain = vaultOf(k1).open(pageKeys.place(before), before);
    expect(Buffer.from(plain, "base64url")).to.have.length(32);

    const turned = await start(withKeys(`${k2},${k1}`));
    expect(await isAccepted(turned, form)).to.equal(true);
    const settings = { STEWARD_DATABASE_URL: database.url, ...withKeys(`${k2},${k1}`) };
    const { stdout } = await command(settings, "encryption", "rotate");
    expect(stdout).to.equal("Re-encrypted 1 values with k2; 0 values remain encrypted with other keys.\n");
    const after = await sealed();
    expect(after.keyId).to.equal("k2");
    expect(vaultOf(k2).open(pageKeys.place(after), after)).to.equal(plain);
    expect(await isAccepted(await start(withKeys(k2)), form)).to.equal(true);

    await start(withKeys(`${k1},${k2}`));
    const late = await start(withKeys(k1));
    expect((await sealed()).keyId, "what it signs lasts minutes: a server without the key starts").to.equal("k1");
    expect(await isAccepted(late, form)).to.equal(false);
    expect(await isAccepted(late, await marks(late))).to.equal(true);
  });

  it("covers every table that refers to a key", async () => {
    const { rows } = await pool.query<{ table: string; column: string }>(`
      select conrelid::regclass::text as table, attname as column from pg_constraint
      join pg_attribute on attrelid = conrelid and attnum = conkey[1]
      where confrelid = 'encryption_keys'::regclass`);
    expect(rows).to.have.deep.members(encryptedColumns.map(({ table, keyId }) => ({ table, column: keyId })));
  });
});

describe("the status of encryption", () => {
  const w = world();
  it("is for site owners", async () => {
    const [ada, admin] = await w().users("ada", "admin");
    await w().grant(admin!, "user-admin");
    for (const person of [ada!, admin!])
      expect((await w().as(person).failure("{ encryptionStatus { activeKeyId } }")).code).to.equal("FORBIDDEN");
    const { encryptionStatus } = await w().as(w().owner).graphql("{ encryptionStatus { activeKeyId } }");
    expect(encryptionStatus).to.deep.equal({ activeKeyId: "test" });
  });
});

describe("200 secrets", () => {
  it("appear in no table, log line, audit event, or error", async () => {
    const w = await startWorld({ STEWARD_ENCRYPTION_KEYS: k1, STEWARD_USER_SECRETS_MAX_COUNT: "300" });
    const server = await spawnServer({
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_ENCRYPTION_KEYS: k1,
      STEWARD_USER_SECRETS_MAX_COUNT: "300",
      STEWARD_LOG_LEVEL: "trace",
    });
    const pool = new Pool({ connectionString: w.database.url, max: 1 });
    pool.on("error", () => {});
    try {
      const client = new Client(server.url, (await w.user("ada")).token);
      const canary = (n: number, use: string) => `canary${use}${createHash("md5").update(`${use}${n}`).digest("hex")}`;
      const answers: unknown[] = [];
      const note = async (work: Promise<unknown>) => answers.push(await work);
      const storeCanary = async (n: number) => {
        const name = `s-${n}`;
        const shared = { description: "d", env_name: `S_${n}`, file_path: `~/s-${n}` };
        await note(client.post(secrets, { name, value: canary(n, "first"), ...(n < 100 && shared) }));
        if (n % 2 === 0) await note(client.patch(`${secrets}/${name}`, { value: canary(n, "second") }));
      };
      // Changes of one user's secrets wait for each other: more at a time could exceed a timeout.
      for (let n = 0; n < 200; n += 10) await Promise.all(Array.from({ length: 10 }, (_, of) => storeCanary(n + of)));
      await note(client.get(secrets));
      // Everything that can go wrong with a value on its way.
      const value = canary(0, "wrong");
      const inline = (input: string) =>
        client.post("/graphql", { query: `mutation { createUserSecret(input: ${input}) { userSecret { id } } }` });
      await note(client.post(secrets, { name: "s-1", value }));
      await note(client.post(secrets, { name: "a/b", value: value + "\0" }));
      await note(client.post(secrets, { name: "c", value: [value] }));
      await note(client.post(secrets, { name: "c", value: { [value]: value } }));
      await note(client.post(secrets, { name: "c", value: value.repeat(2_000) }));
      await note(client.patch(`${secrets}/unknown`, { value }));
      await note(inline(`{ name: "s-1", value: "${value}" }`));
      for (const literal of [
        `["${value}"]`,
        value,
        `{ ${value}: "${value}" }`,
        `"" "${value}"`,
        `"""${value}""" 5 """${value}"""`,
      ])
        await note(inline(`{ name: "c", value: ${literal} }`));
      await note(inline(`"${value}"`));
      const query =
        "mutation($input: CreateUserSecretInput!) { createUserSecret(input: $input) { userSecret { id } } }";
      await note(client.post("/graphql", { query, variables: { input: { name: "c", value: [value] } } }));
      await note(client.post("/graphql", { query, variables: { input: { name: "s-1", value } } }));
      await note(
        client.get(
          `/graphql?query=${encodeURIComponent(query)}&variables=${encodeURIComponent(JSON.stringify({ input: { name: "g", value } }))}`,
          { "Apollo-Require-Preflight": "1" },
        ),
      );
      await pool.query("alter table user_secrets add constraint injected check (name <> 'broken') not valid");
      await note(client.post(secrets, { name: "broken", value }));
      await pool.query("alter table audit_events add constraint injected check (false) not valid");
      await note(client.patch(`${secrets}/s-3`, { value }));
      await note(client.delete(`${secrets}/s-3`));
      expect(JSON.stringify(answers.slice(-3)).match(/"status":500/g), "the faults were there").to.have.length(3);

      const { rows: tables } = await pool.query<{ name: string }>(
        "select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
      );
      let dump = "";
      for (const { name } of tables) {
        const { rows } = await pool.query<{ row: unknown }>(`select to_jsonb(t) as row from ${name} t`);
        dump += JSON.stringify(rows);
      }
      expect(dump.match(/"key_id":"k1"/g), "and the key of pages").to.have.length(201);
      const spellings = (text: string) => [
        text,
        Buffer.from(text).toString("hex"),
        Buffer.from(text).toString("base64").slice(0, -4),
      ];
      const keys = [k1.slice(3), Buffer.from(k1.slice(3), "base64").toString("hex")];
      const plain = [0, 1, 2].flatMap((n) => ["first", "second"].map((use) => canary(n, use)));
      const searched = [...spellings("canary"), ...plain.flatMap(spellings), ...keys];
      await eventually(() => /"msg":"defect"/.test(server.output()), "the faults are logged");
      const places = { dump, log: server.output(), answers: JSON.stringify(answers) };
      for (const [place, text] of Object.entries(places))
        for (const each of searched) expect(text.includes(each), `${each} in the ${place}`).to.equal(false);

      const { rows } = await pool.query(
        'select id, user_id as "ownerId", key_id as "keyId", value_nonce as nonce, value_ciphertext as ciphertext, name from user_secrets',
      );
      const vault = vaultOf(k1);
      for (const row of rows) {
        const n = Number(row.name.slice(2));
        expect(vault.open(userSecretValues.place(row), row)).to.equal(canary(n, n % 2 === 0 ? "second" : "first"));
      }
    } finally {
      server.child.kill("SIGTERM");
      await server.ended;
      await pool.end();
      await w.close();
    }
  });
});

// Backups: what one contains, what restoring it brings back, and which files and databases are rejected.
// Looks inside: a backup is interrupted and changed on its way, which the commands (cli.test.ts) do not offer.
import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { Client as Connection } from "pg";
import { backUp } from "../../../src/domain/backup/backup.js";
import { readContents, tableNames } from "../../../src/domain/backup/contents.js";
import { openBackup, restore } from "../../../src/domain/backup/restore.js";
import { userSecretValues } from "../../../src/domain/encryption/columns.js";
import { type BackupRecord, writeBackup } from "../../../src/infrastructure/backup-file.js";
import { migrateOffline } from "../../../src/infrastructure/database/migrations.js";
import { openDatabase } from "../../../src/infrastructure/database/database.js";
import { type App, encryptionKeys, readConfig, startServer } from "../../support/app.js";
import { createDatabase, type TestDatabase } from "../../support/cluster.js";
import { newId } from "../../support/ids.js";
import { deliver } from "../../support/inbox.js";
import { idAt } from "../../support/months.js";
import { dataUrl, png } from "../../support/pictures.js";
import { spawnCommand } from "../../support/process.js";
import { enter, startWorkspaces } from "../../support/stage.js";
import type { AgentProgram } from "../../support/agent-api.js";
import { TaskStage } from "../../support/tasks.js";
import { eventually, transports } from "../../support/watchers.js";
import { Client, type Person, startWorld, userPassword, type World } from "../../support/world.js";

const log = { info: () => {}, error: () => {} };
const never = new AbortController().signal;

/** Calls `work` with the services that backups need. */
async function onDatabase<Result>(
  url: string,
  work: (services: Parameters<typeof restore>[0]) => Promise<Result>,
  settings: NodeJS.ProcessEnv = { STEWARD_ENCRYPTION_KEYS: encryptionKeys },
): Promise<Result> {
  const database = openDatabase({ url, pool: 4, statementTimeout: 15_000 });
  const config = readConfig({ STEWARD_DATABASE_URL: url, ...settings });
  try {
    const services = { config, database, log };
    return await work(services as unknown as Parameters<typeof restore>[0]);
  } finally {
    // The pool does not notice the end of a connection that an interruption closed.
    await Promise.race([database.close(), delay(1_000, undefined, { ref: false })]);
  }
}

const backUpTo = (path: string, url: string, includesKeys = false) =>
  onDatabase(url, (services) => backUp(services, { path, includesKeys }, never, () => {}));

async function restoreFrom(
  path: string,
  url: string,
  {
    revokeTokens = false,
    signal = never,
    onRestored = () => {},
    settings = undefined as NodeJS.ProcessEnv | undefined,
  } = {},
) {
  const file = await openBackup(path, () => {});
  const progress = { restored: onRestored, indexed: () => {} };
  try {
    return await onDatabase(
      url,
      (services) => restore(services, file, { mustRevokeTokens: revokeTokens }, signal, progress),
      settings,
    );
  } finally {
    await file.close();
  }
}

const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: Error) => error.message,
  );

async function sql<Row extends object = Record<string, unknown>>(url: string, text: string): Promise<Row[]> {
  const connection = new Connection(url);
  await connection.connect();
  try {
    return (await connection.query<Row>(text)).rows;
  } finally {
    // Unlike that of a pool, this `end` waits until the connection is closed, so that the database can be dropped.
    await connection.end();
  }
}

/** The number of rows of each table, and a checksum of them. */
async function fingerprints(url: string): Promise<Record<string, string>> {
  const names = await sql<{ name: string }>(
    url,
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  );
  const each = names
    .filter(({ name }) => name !== "migrations")
    .map(
      ({ name }) =>
        `select '${name}' as name, count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as sum from ${name} t`,
    );
  return Object.fromEntries(
    (await sql<{ name: string; sum: string }>(url, each.join(" union all "))).map(({ name, sum }) => [name, sum]),
  );
}

/** The schema as Postgres describes it, in no particular order. */
const schemaOf = (url: string) =>
  sql(
    url,
    `select array(select indexdef from pg_indexes where schemaname = 'public' order by 1) as indexes,
       array(select conrelid::regclass || conname || pg_get_constraintdef(oid) from pg_constraint
             where connamespace = 'public'::regnamespace order by 1) as constraints,
       array(select tgrelid::regclass || tgname || tgenabled::text from pg_trigger where not tgisinternal order by 1) as triggers`,
  );

describe("a backup", function () {
  let folder: string;
  let w: World;
  let ada: Person;
  let revoked: Person;
  let cursor: string;
  /** The path of the file. */
  let logo: string;
  let original: Record<string, string>;
  let schema: unknown;
  const databases: TestDatabase[] = [];
  const at = (name: string) => join(folder, name);
  const empty = async () => {
    const database = await createDatabase();
    databases.push(database);
    return database.url;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "steward-backups-"));
    w = await startWorld();
    const { stage } = await enter(w, { siteRoles: ["owner"], roles: ["organization-admin"] });
    await startWorkspaces(w, stage);
    const tasks = await TaskStage.open(w, { url: "http://127.0.0.1:1" } as AgentProgram);
    ada = await w.user("ada");
    await tasks.active(ada);
    tasks.close();
    revoked = { ...ada, token: await w.login(ada.email, userPassword) };
    await w.as(revoked).graphql("mutation { logout { apiKeyId } }");
    await w.as(ada).post("/api/v2/users/me/secrets", { name: "deploy", value: "sesame \\ \t\n ü" });
    const { body } = await w.as(w.owner).put("/api/v2/appearance", { logo_url: dataUrl("image/png", png(5, 6, 7)) });
    logo = new URL(body.logo_url as string).pathname;
    await deliver(w.app, ada.id, ["kept"]);
    const watcher = await transports.SSE(w.url, ada.token, { query: "?since=0" });
    await eventually(() => watcher.items.length === 1, "the inbox has it");
    cursor = watcher.items[0]!.cursor!;
    watcher.close();

    await backUpUnderLoad();
    await w.app.close();
    // In the month after the first partition's, and in none.
    for (const time of ["date_trunc('month', now(), 'UTC') + interval '2 months'", "now() + interval '2 years'"])
      await sql(
        w.database.url,
        `insert into audit_log (id, time, actor_kind, action, resource_type, diff, request_id)
         values (${idAt(time)}, now(), 'user', 'update', 'later', '{}', 'later')`,
      );
    await backUpTo(at("final"), w.database.url);
    original = await fingerprints(w.database.url);
    schema = await schemaOf(w.database.url);
    await w.database.drop();
  });
  after(async () => {
    for (const database of databases) await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Takes a backup while groups, members, and notifications are created. */
  async function backUpUnderLoad(): Promise<void> {
    const load = new AbortController();
    let writes = 0;
    const write = async () => {
      while (!load.signal.aborted) {
        await w.group(undefined, { members: [ada] });
        await deliver(w.app, ada.id, [`load ${++writes}`]);
      }
    };
    const writers = [write(), write(), write()];
    await eventually(() => writes > 3, "the load runs");
    const before = writes;
    await backUpTo(at("loaded"), w.database.url);
    await eventually(() => writes > before + 3, "the server still writes");
    load.abort();
    await Promise.all(writers);
  }

  it("has a header to read, and is accessible only to its owner", async () => {
    const content = await readFile(at("final"), "latin1");
    const header = JSON.parse(content.slice(0, content.indexOf("\n")));
    expect(header).to.include({ format: "steward-backup", formatVersion: 1, hasKeys: false });
    expect((await stat(at("final"))).mode & 0o777).to.equal(0o600);
    expect(await readdir(folder)).to.have.members(["final", "loaded"]);
  });

  it("taken under load is consistent; its restore reports missing keys and ends all access if told to", async () => {
    const url = await empty();
    const settings = { STEWARD_DATA_DIR: at("nothing") };
    const { missingKeys } = await restoreFrom(at("loaded"), url, { revokeTokens: true, settings });
    expect(missingKeys).to.deep.equal(["test"]);
    const odd = await sql(
      url,
      `select g.id::text from groups g where g.id <> g.organization_id
         and member_count <> (select count(*) from group_members m where m.group_id = g.id)
       union all
       select c.user_id::text from inbox_cursors c
         where last_seq <> (select coalesce(max(seq), last_seq) from inbox_notifications n where n.user_id = c.user_id)`,
    );
    expect(odd).to.deep.equal([]);
    const [left] = await sql(
      url,
      `select (select count(*) from api_keys)::int as keys, (select count(*) from one_time_passcodes)::int as passcodes,
         (select count(*) from oauth2_grants where revoked_at is null and expires_at > now())::int as grants,
         (select count(*) from oauth2_grants)::int as ended`,
    );
    expect(left).to.include({ keys: 0, passcodes: 0, grants: 0 }).and.to.have.property("ended").above(0);
  });

  describe("restored into an empty database", () => {
    let url: string;
    let app: App;
    before(async () => {
      url = await empty();
    });
    after(() => app?.close());

    it("leaves it empty when it is interrupted in the middle", async () => {
      const stopping = new AbortController();
      const onRestored = () => stopping.abort(new Error("Stopped."));
      const work = restoreFrom(at("final"), url, { signal: stopping.signal, onRestored });
      expect(await failureOf(work)).to.equal("Stopped.");
      expect(await sql(url, "select relname from pg_class where relname in ('users', 'deployment')")).to.deep.equal([]);
    });

    it("brings back every row of every table, and the schema", async () => {
      await restoreFrom(at("final"), url);
      // Numbers of audit events continue elsewhere.
      const { audit_number_counter: before, ...others } = original;
      const { audit_number_counter: counter, ...restored } = await fingerprints(url);
      expect(restored).to.deep.equal(others);
      expect(counter).to.not.equal(before);
      expect(await sql(url, "select last_number::int as number from audit_number_counter")).to.deep.equal([
        { number: 1_000_000_000 },
      ]);
      expect(await schemaOf(url)).to.deep.equal(schema);
      const filled = Object.values(original).filter((sum) => !sum.startsWith("0 "));
      expect(filled.length).to.be.above(30);
    });

    it("is backed up without leaving a file when the command is interrupted", async () => {
      const blocker = new Connection(url);
      await blocker.connect();
      await blocker.query("begin; lock table users in access exclusive mode");
      const { child, ended, stderr } = spawnCommand(
        { STEWARD_DATABASE_URL: url },
        "backup",
        "--out",
        at("interrupted"),
      );
      const waiting = `select count(*)::int as n from pg_locks where not granted and relation = 'users'::regclass`;
      const isWaiting = async () => (await blocker.query(waiting)).rows[0].n === 1;
      await eventually(isWaiting, "the backup waits", 20_000);
      child.kill("SIGTERM");
      expect({ status: await ended, stderr: stderr() }).to.deep.equal({ status: 1, stderr: "Interrupted.\n" });
      expect((await readdir(folder)).filter((name) => name.startsWith("interrupted"))).to.deep.equal([]);
      await blocker.end();
    });

    it("replaces no file, and needs a folder to write to", async () => {
      const content = await readFile(at("final"));
      expect(await failureOf(backUpTo(at("final"), url))).to.match(/final exists already\.$/);
      expect((await readFile(at("final"))).equals(content)).to.equal(true);
      expect(await failureOf(backUpTo(at("no/such/folder"), url))).to.match(/cannot be written \(ENOENT\)\.$/);
    });

    it("serves: passwords, sessions, secrets, and the logo work, and what was revoked before stays revoked", async () => {
      app = await startServer(url);
      const login = await new Client(app.url).post("/api/v2/users/login", {
        email: ada.email,
        password: userPassword,
      });
      expect(login.status).to.equal(201);
      expect((await new Client(app.url, ada.token).get("/api/v2/groups")).status).to.equal(200);
      expect((await new Client(app.url, revoked.token).get("/api/v2/groups")).status).to.equal(401);
      const [row] = await sql(
        url,
        `select id, user_id as "ownerId", key_id as "keyId", value_nonce as nonce, value_ciphertext as ciphertext
         from user_secrets where name = 'deploy'`,
      );
      const place = userSecretValues.place(row as { id: string; ownerId: string });
      expect(app.services.vault.open(place, row as never)).to.equal("sesame \\ \t\n ü");
      const served = await (await fetch(app.url + logo)).arrayBuffer();
      expect(Buffer.from(served).equals(png(5, 6, 7))).to.equal(true);
    });

    it("resumes inboxes after old cursors", async () => {
      await deliver(app, ada.id, ["after"]);
      const resumed = await transports.SSE(app.url, ada.token, { query: `?since=${cursor}` });
      await eventually(() => resumed.items.at(-1)?.title === "after", "the watcher gets the new notification");
      expect(resumed.items[0]!.title).to.match(/^load/);
      expect(resumed.restarts).to.deep.equal([]);
      resumed.close();
    });

    it("is not replaced by another restore", async () => {
      expect(await failureOf(restoreFrom(at("final"), url))).to.match(/^The database is not empty/);
    });

    it("with keys fills a database that was only migrated, and rejects a server with other keys", async () => {
      const target = await empty();
      await onDatabase(target, ({ database }) => migrateOffline(database));
      await backUpTo(at("keyed"), url, true);
      const others = { STEWARD_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, "other").toString("base64")}` };
      const failure = await failureOf(restoreFrom(at("keyed"), target, { settings: others }));
      expect(failure).to.match(/keys that differ from the configured ones: test\./);
      const settings = { STEWARD_DATA_DIR: at("data") };
      const { keyFile, missingKeys, rows } = await restoreFrom(at("keyed"), target, { settings });
      expect({ keyFile, missingKeys }).to.deep.equal({ keyFile: at("data/encryption.keys"), missingKeys: [] });
      expect(await readFile(keyFile!, "utf8")).to.equal(`${encryptionKeys}\n`);
      expect((await stat(keyFile!)).mode & 0o777).to.equal(0o600);
      expect(rows).to.be.above(100);
    });
  });

  it("of an earlier migration is restored in its schema and migrated", async () => {
    const source = await empty();
    const target = await empty();
    const migration = "0022-locked-state";
    await onDatabase(source, async ({ database: { orm, pool } }) => {
      await migrateOffline({ orm, pool }, migration);
      const client = await pool.connect();
      // The tables that have become partitions of others.
      const former = ["audit_events", "connection_logs", "inbox_notifications"];
      const contents = await readContents(client, [...tableNames(orm), ...former]);
      client.release();
      const rowOf: Record<string, string> = {
        encryption_keys: "early\t\\\\x00\t2026-01-01 00:00:00Z\n",
        audit_events: `${newId()}\t2026-01-01 00:00:00Z\t\\N\tuser\t\\N\tupdate\tgroup\t\\N\tearly\t\\N\t{}\tearly\t\\N\t\\N\n`,
      };
      async function* records(): AsyncIterable<BackupRecord> {
        yield contents;
        yield {};
        for (const { name } of contents.tables) {
          yield { table: name };
          const row = rowOf[name];
          if (row) yield Buffer.from(row);
          yield { rows: row ? 1 : 0 };
        }
      }
      const header = { version: "0.0.9", migration, createdAt: new Date().toISOString(), hasKeys: false };
      await writeBackup(at("earlier"), { header, records: records() }, never);
    });
    await restoreFrom(at("earlier"), target);
    expect(await sql(target, "select name from migrations order by id desc limit 1")).to.not.deep.equal([
      { name: migration },
    ]);
    expect(await sql(target, "select resource_label as label from audit_log")).to.deep.equal([{ label: "early" }]);
    expect(await sql(target, "select id from encryption_keys")).to.deep.equal([{ id: "early" }]);
    expect(await sql(target, "select count(*)::int as n from notification_transports")).to.deep.equal([{ n: 2 }]);
  });

  describe("is rejected", () => {
    /** Writes a changed copy of a backup and returns the error of restoring it. */
    const failureAfter = async (change: (path: string, content: Buffer) => Promise<unknown>) => {
      const path = at("changed");
      await copyFile(at("final"), path);
      await change(path, await readFile(path));
      const message = await failureOf(openBackup(path, () => {}));
      await rm(path);
      return message.replace(path, "FILE");
    };
    const incomplete = "FILE is incomplete: its end is missing.";

    it("if it is incomplete", async () => {
      expect(await failureAfter((path, { length }) => truncate(path, length - 1))).to.equal(incomplete);
      expect(await failureAfter((path, { length }) => truncate(path, length >> 1))).to.equal(incomplete);
      expect(await failureAfter((path) => truncate(path, 200))).to.equal(incomplete);
    });

    it("if a byte of it has changed", async () => {
      const flip = (path: string, content: Buffer, place: number) => {
        content[place]! ^= 1;
        return writeFile(path, content);
      };
      const damaged = "FILE is damaged: its checksum does not match.";
      expect(await failureAfter((path, content) => flip(path, content, content.length >> 1))).to.equal(damaged);
      expect(await failureAfter((path, content) => flip(path, content, content.length - 10))).to.equal(damaged);
    });

    it("if it is another file, or none", async () => {
      const foreign = "FILE is not a backup of Steward.";
      expect(await failureAfter((path) => writeFile(path, "PGDMP..."))).to.equal(foreign);
      expect(await failureAfter((path) => truncate(path, 0))).to.equal(foreign);
      expect(await failureAfter((path) => rm(path).then(() => writeFile(path, "{}\n")))).to.equal(foreign);
      expect(await failureOf(openBackup(at("missing"), () => {}))).to.match(/missing cannot be read \(ENOENT\)\.$/);
    });

    it("if it is of a later version", async () => {
      const rewritten = (path: string, content: Buffer, from: string, to: string) => {
        const changed = Buffer.from(content.toString("latin1").replace(from, to).slice(0, -73), "latin1");
        const hash = createHash("sha256").update(changed).digest("hex");
        return writeFile(path, Buffer.concat([changed, Buffer.from(`\nsha256 ${hash}\n`)]));
      };
      expect(
        await failureAfter((path, content) => rewritten(path, content, '"migration":"0', '"migration":"9')),
      ).to.match(/^The backup is of a later version: Steward .*, migration 9/);
      expect(
        await failureAfter((path, content) => rewritten(path, content, '"formatVersion":1', '"formatVersion":2')),
      ).to.match(/^FILE was written by Steward .*Use that version, or a later one\.$/);
    });
  });
});

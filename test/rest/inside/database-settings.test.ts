// A database on which an operator has set what a role or a database can have, all of it unusual.
// Looks inside: the settings of the server's own connections are read, which no interface shows.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { openDatabase, openReads } from "../../../src/infrastructure/database/database.js";
import { rfc3339, types } from "../../../src/infrastructure/database/parsers.js";
import { instantOf } from "../../../src/runtime/clock.js";
import { pinnedSettings } from "../../../src/infrastructure/database/session-settings.js";
import { encryptionKeys, startServer } from "../../support/app.js";
import {
  createdAtOfUsers,
  hintConnections,
  makeSerializable,
  originalSettings,
  poolsOf,
  possibleSettings,
  roleWithoutForeignKeys,
  settingsIn,
  unusualCopy,
} from "../../support/changed-settings.js";
import { inMs } from "../../support/clock.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../../support/cluster.js";
import { deliver } from "../../support/inbox.js";
import { spawnCommand } from "../../support/process.js";
import { unusualSettings } from "../../support/unusual-settings.js";
import { eventually } from "../../support/watchers.js";
import { Client, startWorldOn, type World } from "../../support/world.js";

/** Settings that a role or a database can have, and that stay as they are: a pattern of names or groups, and why. */
const left: ReadonlyArray<readonly [pattern: RegExp, reason: string]> = [
  [/^(Query Tuning|Resource Usage|Vacuuming|Statistics)/, "Only speed and space depend on them."],
  [/^(Reporting and Logging|Developer Options)/, "They concern those who run the database."],
  [/^Write-Ahead Log/, "Only speed and space depend on them, but for synchronous_commit."],
  [/^Client Connection Defaults \/ (Shared Library Preloading|Other Defaults)/, "Extensions are the operator's."],
  [/^search_path$/, "It chooses the schema of the tables."],
  [/^(default_tablespace|temp_tablespaces|default_table_access_method|default_toast_compression)$/, "Storage."],
  [/^gin_pending_list_limit$/, "Only speed depends on it."],
  [/^default_transaction_read_only$/, "It marks a server that must not be written to; the start says so."],
  [/^transaction_(isolation|read_only|deferrable)$/, "They are those of a running transaction."],
  [/^(lc_messages|icu_validation_level|check_function_bodies|event_triggers)$/, "Errors are known by their codes."],
  [/^(lc_monetary|xmlbinary|xmloption|default_text_search_config|stats_fetch_consistency)$/, "No statement uses them."],
  [
    /^(createrole_self_grant|password_encryption|scram_iterations|md5_password_warnings|lo_compat_privileges)$/,
    "No statement makes roles or large objects.",
  ],
  [/^(backslash_quote|escape_string_warning|synchronize_seqscans)$/, "No statement depends on them."],
  [/^deadlock_timeout$/, "Only superusers may set it; it delays the search for deadlocks."],
  [/^(wal_sender_timeout|commit_delay|commit_siblings)$/, "They concern replication and groups of commits."],
];

describe("the settings of a database that an operator has changed", () => {
  let database: TestDatabase;
  let w: World;

  before(async () => {
    database = await unusualCopy(cloneDatabase);
    w = await startWorldOn(database, { STEWARD_DATABASE_POOL: "4" });
  });
  after(() => w?.close());

  it("do not reach any kind of connection, and differ in timeouts only", async () => {
    const pools = poolsOf(w.app);
    const unlimited = openDatabase({ url: database.url, pool: 2, statementTimeout: 0 });
    const pool = await settingsIn(pools[0]);
    const wanted = {
      ...(await originalSettings(database.url)),
      TimeZone: "UTC",
      client_encoding: "UTF8",
      timezone_abbreviations: "Default",
      client_min_messages: "warning",
      jit: "off",
      max_parallel_workers_per_gather: "0",
      tcp_keepalives_idle: "10",
      tcp_keepalives_interval: "5",
      tcp_keepalives_count: "3",
    };
    expect(pool).to.deep.equal({ ...wanted, statement_timeout: "15000", lock_timeout: "5000" });
    expect(await settingsIn(pools[1])).to.deep.equal(pool);
    expect(await settingsIn(unlimited.pool)).to.deep.equal({
      ...wanted,
      statement_timeout: "0",
      lock_timeout: "0",
    });
    await unlimited.close();
  });

  it("do not reach reads that a standby could serve, even in serializable transactions", async () => {
    await makeSerializable(database.url);
    const reads = openReads({ url: database.url, pool: 1, statementTimeout: 3_000 }, () => {});
    const isolation = await reads
      .transaction()
      .setAccessMode("read only")
      .execute((db) =>
        db
          .selectNoFrom((eb) => eb.fn<string>("current_setting", [eb.val("transaction_isolation")]).as("is"))
          .executeTakeFirstOrThrow(),
      );
    expect(isolation.is).to.equal("read committed");
    await reads.destroy();
  });

  it("that a role can set are all made by the server, or left for a reason", async () => {
    const known = await possibleSettings(database.url);
    const unknown = known.filter(
      ({ name, category }) =>
        !pinnedSettings.includes(name) && !left.some(([pattern]) => pattern.test(name) || pattern.test(category)),
    );
    expect(unknown.map(({ name }) => name)).to.deep.equal([]);
    // What is made is also tested: by an unusual value, or since its own value is not the usual one of Postgres.
    const tested = new Set([
      ...unusualSettings,
      "jit",
      "max_parallel_workers_per_gather",
      "tcp_keepalives_idle",
      "tcp_keepalives_interval",
      "tcp_keepalives_count",
    ]);
    expect(pinnedSettings.filter((name) => !tested.has(name))).to.deep.equal([]);
  });

  it("let no key live longer than its time", async () => {
    /** Makes a key, and uses it within its time, which is longer where that takes longer. */
    const used = async (lifetime: number): Promise<{ key: Client; expiresAt: string; lifetime: number }> => {
      const input = { name: `short-${lifetime}`, expiresAt: inMs(lifetime) };
      const isOver = () => Date.now() >= Date.parse(input.expiresAt);
      const made = await w
        .as(w.owner)
        .graphql(
          `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { token apiKey { id expiresAt } } }`,
          { input },
        )
        .catch((error: unknown) => {
          if (!isOver()) throw error;
        });
      if (!made) return used(2 * lifetime);
      const { token, apiKey } = made.createApiKey;
      const key = new Client(w.url, token);
      const { status } = await key.get("/api/v2/groups");
      if (isOver()) return used(2 * lifetime);
      expect(status).to.equal(200);
      return { key, expiresAt: apiKey.expiresAt, lifetime };
    };
    const { key, expiresAt, lifetime } = await used(1_500);
    expect(expiresAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    await delay(lifetime + 100);
    const { status, body } = await key.get("/api/v2/groups");
    expect(`${status} ${body.detail}`).to.equal(`401 API key expired at "${expiresAt}".`);
  });

  it("let concurrent changes of an object all succeed, and change entities", async () => {
    const group = await w.group("contended");
    const changes = Array.from({ length: 12 }, (_, index) =>
      w.as(w.owner).patch(`/api/v2/groups/${group.id}`, { display_name: `Contended ${index}` }),
    );
    for (const { status } of await Promise.all(changes)) expect(status).to.equal(200);
  });

  it("let migrations run, and a backup be restored with the times that it had", async () => {
    const directory = await mkdtemp(join(tmpdir(), "steward-settings-"));
    const target = await unusualCopy(createDatabase);
    const other = await unusualCopy(createDatabase);
    const path = join(directory, "backup");
    const env = (url: string) => ({ STEWARD_DATABASE_URL: url, STEWARD_ENCRYPTION_KEYS: encryptionKeys });
    const run = async (words: string[], url: string) => {
      const command = spawnCommand(env(url), ...words);
      expect(await command.ended, command.output()).to.equal(0);
    };
    try {
      await run(["migrate"], other.url);
      await run(["backup", "--out", path], database.url);
      await run(["restore", path], target.url);
      // The same instants, whatever the connection that compares them writes.
      expect(await createdAtOfUsers(target.url)).to.equal(await createdAtOfUsers(database.url));
    } finally {
      await rm(directory, { recursive: true, force: true });
      await target.drop();
      await other.drop();
    }
  });

  it("do not end the connection that waits for hints, nor those of the pool that wait", async () => {
    const ada = await w.user("ada");
    const replica = await startServer(database.url);
    const pids = () => hintConnections(database.url);
    try {
      const before = await pids();
      expect(before).to.have.length(2);
      // Far longer than the timeout of idle sessions, 100 ms.
      await delay(1_000);
      expect(await pids()).to.deep.equal(before);
      await deliver(w.app, ada.id, ["Hello"]);
      const inbox = async () =>
        (await new Client(replica.url, ada.token).get("/api/v2/notifications/inbox")).body.notifications.length > 0;
      await eventually(inbox, "the replica reads it");
    } finally {
      await replica.close();
    }
  });
});

describe("a setting that the role may not make", () => {
  it("ends the start with its name, if it switches foreign keys off", async () => {
    const database = await createDatabase();
    const url = await roleWithoutForeignKeys(database.url);
    const command = spawnCommand({ STEWARD_DATABASE_URL: url, STEWARD_ENCRYPTION_KEYS: encryptionKeys }, "migrate");
    expect(await command.ended).to.equal(1);
    await database.drop();
    expect(command.output()).to.match(/rejects a setting .*session_replication_role/);
  });
});

describe("the parser of times", () => {
  it("reads what a session in UTC writes, and throws on all else", () => {
    expect(rfc3339("2026-11-21 08:15:30.12+00")).to.equal("2026-11-21T08:15:30.120Z");
    expect(rfc3339("2026-11-21 08:15:30+00")).to.equal("2026-11-21T08:15:30.000Z");
    expect(rfc3339("2026-11-21T08:15:30.123+00:00")).to.equal("2026-11-21T08:15:30.123Z");
    for (const text of [
      "21.11.2026 08:15:30.12 UTC",
      "11/21/2026 08:15:30 UTC",
      "Sat Nov 21 08:15:30 2026 UTC",
      "2026-11-21 17:15:30.12+09",
      "2026-11-21T17:15:30.123+09:00",
      "2026-11-21 08:15:30",
      "infinity",
      "0044-03-15 12:00:00+00 BC",
      "12026-11-21 08:15:30+00",
    ])
      expect(() => rfc3339(text), text).to.throw("cannot be read");
  });

  it("reads arrays of times, timestamptz[], in the same way", () => {
    const parse = types.getTypeParser(1185 as never, "text") as (text: string) => unknown;
    expect(parse("{}")).to.deep.equal([]);
    expect(parse('{"2026-11-21 08:15:30.12+00","2026-11-21 08:15:31+00"}')).to.deep.equal([
      "2026-11-21T08:15:30.120Z",
      "2026-11-21T08:15:31.000Z",
    ]);
    for (const text of ["", '{"21.11.2026 08:15:30.12 UTC"}', '{"2026-11-21 08:15:30+00",NULL}', "{infinity}"])
      expect(() => parse(text), text).to.throw("cannot be read");
  });
});

describe("a time that is compared", () => {
  it("is read as Unix milliseconds or not at all, since nothing is before or after NaN", () => {
    expect(instantOf("2026-11-21T08:15:30.120Z")).to.equal(Date.UTC(2026, 10, 21, 8, 15, 30, 120));
    expect(instantOf("2026-11-21")).to.equal(Date.UTC(2026, 10, 21));
    for (const text of ["", "21.11.2026 08:15:30.12 UTC", "never", "infinity"])
      expect(() => instantOf(text), text).to.throw("cannot be read");
  });
});

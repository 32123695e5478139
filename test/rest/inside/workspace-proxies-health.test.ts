// Proxies as running processes: they register, have their health checked, and shut down.
// Looks inside: health checks are tried with addresses and clocks that tests do not have.
import { expect } from "chai";
import { createServer as createTlsServer } from "node:https";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { DummyDriver, Kysely, PostgresDialect } from "kysely";
import { mayCallInside } from "../../../src/infrastructure/inside-addresses.js";
import { ProxyHealth } from "../../../src/domain/workspace-proxies/health.js";
import { takenParts } from "../../../src/domain/workspace-proxies/sites.js";
import { audited } from "../../support/audit.js";
import { runJob } from "../../support/background.js";
import { type App, startServer } from "../../support/app.js";
import { type Key, makeProxy, proxiesPath, type StandIn, standIns } from "../../support/proxies.js";
import { eventually } from "../../support/watchers.js";
import { Client, world } from "../../support/world.js";

interface Replica {
  id: string;
  hostname: string;
  version: string;
}

interface Seen {
  healthy: boolean;
  status: { status: string; checked_at?: string; report: { errors: string[]; warnings: string[] } };
}

describe("a registered workspace proxy", () => {
  const the = world({ STEWARD_PROXY_HEALTH_INTERVAL: "1s", STEWARD_PROXY_HEALTH_TIMEOUT: "1s" });
  const start = standIns();
  const pool = () => the().app.services.database.pool;
  const owner = () => the().as(the().owner);
  const look = async (id: string, client = owner()): Promise<Seen> => (await client.get(`${proxiesPath}/${id}`)).body;

  /** Creates a proxy, starts its process, and registers it. */
  async function registered(name: string): Promise<{ id: string; token: string; standIn: StandIn }> {
    const proxy = await makeProxy(the(), name);
    const standIn = await start(the().url, proxy.token);
    expect(await standIn.register()).to.include({ status: 200 });
    return { ...proxy, standIn };
  }

  /** Waits for a check of the proxy that starts and ends after this call. */
  async function checkedAgain(id: string, client?: Client): Promise<Seen> {
    const now = Date.now();
    await pool().query("update workspace_proxies set check_due_at = now() where id = $1 and check_due_at > now()", [
      id,
    ]);
    the().app.services.proxyHealth.soon();
    let seen: Seen;
    await eventually(async () => {
      seen = await look(id, client);
      return Date.parse(seen.status.checked_at ?? "1970-01-01") > now;
    }, "another check");
    return seen!;
  }

  /** Waits until a proxy is as wanted. Returns what was seen then: on a busy machine, the next check may time out. */
  async function becomes(id: string, what: string, holds: (seen: Seen) => boolean): Promise<Seen> {
    let seen: Seen;
    await eventually(async () => holds((seen = await look(id))), what);
    return seen!;
  }

  /** `checkedAgain`, until a check has not timed out, which on a busy machine one of any proxy may. */
  async function checkedInTime(id: string): Promise<Seen> {
    for (;;) {
      const seen = await checkedAgain(id);
      if (!seen.status.report.errors[0]?.endsWith(": timeout")) return seen;
    }
  }

  it("is checked immediately and after each interval, and its status follows", async () => {
    const { id, standIn } = await registered("life");
    const seen = await becomes(id, "it is healthy", ({ healthy }) => healthy);
    expect(seen).to.deep.include({ path_app_url: standIn.url, version: "1.0.0" });
    expect(seen.status).to.deep.include({ status: "ok", report: { errors: [], warnings: [] } });
    const { createdAt } = (await owner().graphql(`{ workspaceProxy(workspaceProxy: "life") { createdAt } }`))
      .workspaceProxy;
    expect(seen.status.checked_at! >= createdAt).to.equal(true);

    await standIn.behave("failing");
    const ill = await becomes(id, "it is unhealthy", ({ status }) => status.status === "unhealthy");
    expect(ill.status.report).to.deep.equal({ errors: ["The disk is full."], warnings: ["It is hot."] });
    expect(ill.healthy).to.equal(false);
    const { regions } = await owner().graphql("{ regions { name healthy } }");
    expect(regions).to.deep.include({ name: "life", healthy: false });

    await standIn.behave("warning");
    const again = await becomes(id, "it is healthy again", ({ status }) => status.status === "ok");
    expect(again.status.report).to.deep.equal({ errors: [], warnings: ["The disk is nearly full."] });

    await standIn.stop();
    const gone = await becomes(
      id,
      "it is unreachable",
      ({ status: { status, report } }) => status === "unreachable" && !report.errors[0]!.endsWith(": timeout"),
    );
    expect(gone.status.report).to.deep.equal({
      errors: ["request to proxy failed: connection failed"],
      warnings: [],
    });
  });

  it("has the status that its health report implies", async () => {
    const { id, standIn } = await registered("answers");
    const answers: Array<[string, string, string[]]> = [
      ["broken", "unhealthy", ["unexpected status code 500"]],
      ["strange", "unhealthy", ["unexpected status code 204"]],
      ["metadata", "unhealthy", ["unexpected status code 302"]],
      ["detour", "unhealthy", ["unexpected status code 307"]],
      ["prose", "unhealthy", ["the response is not a report"]],
      ["other", "unhealthy", ["the response is not a report"]],
      ["numbers", "unhealthy", ["the response is not a report"]],
      ["unwritable", "unhealthy", ["the response is not a report"]],
      ["long", "unhealthy", ["the report is too long"]],
      ["flood", "unhealthy", ["the report is too long"]],
      ["verbose", "unhealthy", Array<string>(20).fill("x".repeat(512))],
      ["trickle", "unreachable", ["request to proxy failed: timeout"]],
      ["silent", "unreachable", ["request to proxy failed: timeout"]],
      ["hangUp", "unreachable", ["request to proxy failed: connection failed"]],
      ["clean", "ok", []],
    ];
    for (const [behavior, status, errors] of answers) {
      await standIn.behave(behavior);
      await standIn.asked();
      await checkedAgain(id);
      const seen = await (errors[0]?.endsWith(": timeout") ? checkedAgain(id) : checkedInTime(id));
      expect(seen.status, behavior).to.deep.include({ status, report: { errors, warnings: [] } });
      expect(seen.healthy, behavior).to.equal(status === "ok");
      // The check requests nothing else, and sends no other headers.
      for (const request of await standIn.asked())
        expect(request, behavior).to.equal(
          `GET /healthz-report ${JSON.stringify(["accept-encoding", "connection", "host"])}`,
        );
    }
  });

  it("is not called at forbidden addresses, however they are spelled", async () => {
    const { id, standIn } = await registered("astray");
    for (const url of [
      "http://169.254.169.254",
      "http://[fe80::1]",
      "http://0.0.0.0:1",
      "http://[::ffff:169.254.169.254]",
      "http://2852039166",
      "http://224.0.0.1",
      "http://100.100.100.200",
    ]) {
      expect((await standIn.register({ accessUrl: url })).errors, url).to.equal(undefined);
      const seen = await checkedInTime(id);
      expect(seen.status, url).to.deep.include({
        status: "unreachable",
        report: { errors: ["request to proxy failed: address refused"], warnings: [] },
      });
    }
    await standIn.register({ accessUrl: "http://nobody.invalid" });
    expect((await checkedInTime(id)).status.report.errors).to.deep.equal(["request to proxy failed: name not found"]);
  });

  it("is unreachable with an untrusted certificate", async () => {
    const file = (name: string) =>
      readFileSync(new URL(`../../support/certificates/localhost.${name}`, import.meta.url));
    const asked: unknown[] = [];
    const server = createTlsServer({ cert: file("crt"), key: file("key") }, (request, response) => {
      asked.push(request.url);
      response.end(`{"errors":[],"warnings":[]}`);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    try {
      const { id, standIn } = await registered("forged");
      await standIn.register({ accessUrl: `https://localhost:${(server.address() as AddressInfo).port}` });
      expect((await checkedInTime(id)).status).to.deep.include({
        status: "unreachable",
        report: { errors: ["request to proxy failed: TLS failed"], warnings: [] },
      });
      expect(asked).to.deep.equal([]);
    } finally {
      server.close();
    }
  });

  it("is checked after a change, and after one of its processes deregisters", async () => {
    const { id, standIn } = await registered("changed");
    await eventually(async () => (await look(id)).healthy, "it is healthy");
    const dueIn = async () => {
      await pool().query("update workspace_proxies set check_due_at = now() + interval '1 hour' where id = $1", [id]);
      return (await look(id)).status.checked_at;
    };
    const before = await dueIn();
    expect(await owner().patch(`${proxiesPath}/${id}`, { display_name: "Changed" })).to.include({ status: 200 });
    await eventually(async () => (await look(id)).status.checked_at! > before!, "it is checked after a change");
    const then = await dueIn();
    expect((await standIn.deregister()).data.deregisterWorkspaceProxy.workspaceProxy).to.deep.equal({ id });
    await eventually(
      async () => (await look(id)).status.checked_at! > then!,
      "it is checked after a process deregisters",
    );
  });

  it("lists its processes for site administrators until they have been silent for 90 seconds", async () => {
    const { id, token, standIn } = await registered("many");
    const second = await start(the().url, token);
    await second.register({ accessUrl: standIn.url, hostname: "second", version: "1.1.0" });
    const replicas = async () =>
      (
        await owner().graphql(
          `query($ref: String!) { workspaceProxy(workspaceProxy: $ref) {
          version replicas { id hostname version } } }`,
          { ref: id },
        )
      ).workspaceProxy;
    const { version, replicas: both } = await replicas();
    expect(version).to.equal("1.1.0");
    expect(
      both.map(({ id: each, hostname, version: of }: Replica) => ({ id: each, hostname, version: of })),
    ).to.deep.equal([
      { id: standIn.replicaId, hostname: "stand-in", version: "1.0.0" },
      { id: second.replicaId, hostname: "second", version: "1.1.0" },
    ]);

    const beat = await standIn.heartbeat({ version: "1.2.0" });
    expect(beat.data.heartbeatWorkspaceProxy.workspaceProxy).to.deep.equal({ version: "1.2.0" });
    const silent = "update workspace_proxy_replicas set last_seen_at = now() - interval '91 seconds' where id = $1";
    await pool().query(silent, [second.replicaId]);
    expect((await replicas()).replicas).to.have.length(1);
    expect((await second.heartbeat()).errors![0].extensions.code).to.equal("NOT_FOUND");
    await runJob(the().app, "replicaPurge");
    const stored = "select id from workspace_proxy_replicas where proxy_id = $1";
    expect((await pool().query(stored, [id])).rows).to.deep.equal([{ id: standIn.replicaId }]);
    expect((await second.register({ accessUrl: standIn.url })).errors).to.equal(undefined);
    expect((await second.heartbeat()).errors).to.equal(undefined);

    expect((await second.deregister()).errors).to.equal(undefined);
    expect((await second.deregister()).errors![0].extensions.code).to.equal("NOT_FOUND");
    expect((await second.heartbeat()).errors![0].extensions.code).to.equal("NOT_FOUND");
    await owner().delete(`${proxiesPath}/${id}`);
    expect((await pool().query(stored, [id])).rows).to.deep.equal([]);
  });

  it("has at most 100 processes, each of which may register again", async () => {
    const { id, token, standIn } = await registered("crowded");
    await pool().query(
      `insert into workspace_proxy_replicas (proxy_id, id, hostname, version, created_at, last_seen_at)
       select $1, gen_random_uuid(), '', '', now(), now() from generate_series(1, 99)`,
      [id],
    );
    expect((await standIn.register()).errors).to.equal(undefined);
    const another = await start(the().url, token);
    const refused = await another.register({ accessUrl: standIn.url });
    expect(refused.errors![0].extensions.code).to.equal("CONFLICT");
  });

  it("that becomes due during a round of checks is checked in another round", async () => {
    const { config: given, log } = the().app.services;
    const config = { ...given, proxyHealthInterval: 60_000 };
    const gate = Promise.withResolvers<void>();
    let looks = 0;
    const executeQuery = async () => {
      looks++;
      await gate.promise;
      return { rows: [{ due: 60_000 }] };
    };
    const driver = Object.assign(new DummyDriver(), { acquireConnection: async () => ({ executeQuery }) });
    const dialect = Object.assign(new PostgresDialect({ pool: the().app.services.database.pool }), {
      createDriver: () => driver,
    });
    const health = new ProxyHealth({ config, log, database: { db: new Kysely({ dialect }) } });
    health.soon();
    health.soon();
    await eventually(() => looks === 1, "it looks for due checks");
    gate.resolve();
    await eventually(() => looks === 2, "it looks for due checks again");
    await health.close();
  });

  it("is audited when it registers new data, and not for heartbeats", async () => {
    const { id, standIn } = await registered("audited");
    const events = async () =>
      (await audited(the(), { resourceId: id })).map(({ action, actorKind, actorId, diff }) => ({
        action,
        actorKind,
        actorId,
        diff,
      }));
    const by = { action: "UPDATE", actorKind: "proxy", actorId: id };
    expect((await events()).slice(1)).to.deep.equal([
      { ...by, diff: { accessUrl: { old: "", new: standIn.url }, version: { old: "", new: "1.0.0" } } },
    ]);
    for (let n = 0; n < 3; n++) expect(await standIn.heartbeat()).to.include({ status: 200 });
    await standIn.register();
    await standIn.deregister();
    expect(await events()).to.have.length(2);
    await standIn.register({ derpOnly: true, wildcardHostname: "*.Audited.example.com" });
    expect((await events()).at(-1)).to.deep.equal({
      ...by,
      diff: { derpOnly: { old: false, new: true }, wildcardHostname: { old: "", new: "*.audited.example.com" } },
    });
  });

  it("must register a well-formed URL and wildcard hostname", async () => {
    const { standIn } = await registered("formal");
    const faults = async (given: object) => {
      const { errors } = await standIn.register(given);
      return errors?.[0].extensions.validations?.map(({ field }: { field: string }) => field);
    };
    for (const accessUrl of [
      null,
      "",
      "eu.example.com",
      "ftp://eu.example.com",
      "https://eu.example.com/apps",
      "https://eu.example.com?x",
      "https://eu.example.com/#x",
      "https://user@eu.example.com",
      "https://@eu.example.com",
      "https://user:pass@eu.example.com",
      "https://eu.example.com\\@evil.example",
      `https://${"x".repeat(2048)}.example.com`,
      "javascript:alert(1)",
    ])
      expect(await faults({ accessUrl }), String(accessUrl)).to.deep.equal(["input.accessUrl"]);
    for (const wildcardHostname of [
      "eu.example.com",
      "*",
      "*.",
      "**.example.com",
      "*.*.example.com",
      "*.example.com.",
      "*.example.com:8080",
      "*.example.com/x",
      "*.127.0.0.1",
      "*.[::1]",
      "*.a..b",
      "*.-a.example",
      "x.*.example.com",
      `*.${"x".repeat(64)}.example`,
      // Registries assign names below these to anyone.
      "*.com",
      "*.COM",
      "*.co.uk",
      "*.example",
      "*.github.io",
      "*.рф",
    ])
      expect(await faults({ wildcardHostname }), wildcardHostname).to.deep.equal(["input.wildcardHostname"]);
    expect(await faults({ derpOnly: true, derpEnabled: false })).to.deep.equal(["input.derpOnly"]);
    expect(await faults({ version: "x".repeat(65), hostname: "x".repeat(256), accessUrl: "x" })).to.deep.equal([
      "input.accessUrl",
      "input.version",
      "input.hostname",
    ]);
    expect(await faults({ accessUrl: "HTTPS://EU.Example.com:443/", wildcardHostname: "*.BÜCHER.example" })).to.equal(
      undefined,
    );
    expect((await owner().get(`${proxiesPath}/formal`)).body).to.include({
      path_app_url: "https://eu.example.com",
      wildcard_hostname: "*.xn--bcher-kva.example",
    });
    expect(await faults({ accessUrl: "https://eu.example.com./", wildcardHostname: "*.localhost" })).to.equal(
      undefined,
    );
    expect((await owner().get(`${proxiesPath}/formal`)).body).to.include({
      path_app_url: "https://eu.example.com",
      wildcard_hostname: "*.localhost",
    });
  });

  it("cannot register a host of the deployment or another proxy, in whole or in part", async () => {
    const w = the();
    const home = await registered("home");
    await home.standIn.register({ accessUrl: "https://home.example", wildcardHostname: "*.apps.home.example" });
    const { standIn } = await registered("intruder");
    const deployment = w.app.services.config.accessUrl;
    for (const [given, ...fields] of [
      [{ accessUrl: deployment }, "accessUrl"],
      [{ accessUrl: "https://home.example" }, "accessUrl"],
      [{ accessUrl: "https://HOME.example:443" }, "accessUrl"],
      [{ accessUrl: "https://home.example." }, "accessUrl"],
      [{ accessUrl: "https://home.example:8443" }, "accessUrl"],
      [{ accessUrl: "http://home.example.:8080" }, "accessUrl"],
      [{ accessUrl: "https://x.apps.home.example" }, "accessUrl"],
      [{ accessUrl: "https://x.apps.home.example.:8443" }, "accessUrl"],
      [{ accessUrl: "https://other.example", wildcardHostname: "*.apps.home.example" }, "wildcardHostname"],
      [{ accessUrl: "https://other.example:8443", wildcardHostname: "*.apps.home.example" }, "wildcardHostname"],
      [{ accessUrl: "https://home.example", wildcardHostname: "*.apps.home.example" }, "accessUrl", "wildcardHostname"],
    ] as const) {
      const { errors } = await standIn.register(given);
      expect(errors?.[0].extensions, JSON.stringify(given)).to.deep.include({ code: "CONFLICT" });
      const faults = errors![0].extensions.validations.map(({ field }: { field: string }) => field);
      expect(faults, JSON.stringify(given)).to.deep.equal(fields.map((field) => `input.${field}`));
    }
    await home.standIn.register({ accessUrl: "https://home.sites.example:8443" });
    const over = { accessUrl: "https://other.example", wildcardHostname: "*.sites.example" };
    const { extensions } = (await standIn.register(over)).errors![0];
    expect(extensions.validations[0].field).to.equal("input.wildcardHostname");
    await home.standIn.register({ accessUrl: "https://home.example", wildcardHostname: "*.apps.home.example" });
    for (const given of [{ accessUrl: "https://x.y.apps.home.example" }, { accessUrl: "https://apps.home.example" }])
      expect((await standIn.register(given)).errors, JSON.stringify(given)).to.equal(undefined);
    await owner().delete(`${proxiesPath}/home`);
    expect((await standIn.register({ accessUrl: "https://home.example" })).errors).to.equal(undefined);
  });

  it("gets a host exactly once under concurrent registrations", async () => {
    const all = await Promise.all(["a", "b", "c", "d"].map((name) => registered(`race-${name}`)));
    const answers = await Promise.all(
      all.map(({ standIn }) => standIn.register({ accessUrl: "https://race.example" })),
    );
    expect(answers.map(({ errors }) => errors?.[0].extensions.code)).to.have.members([
      "CONFLICT",
      "CONFLICT",
      "CONFLICT",
      undefined,
    ]);
  });

  it("has keys of its own, the same in every heartbeat", async () => {
    const one = await registered("keys");
    const other = await registered("other-keys");
    const keysOf = async ({ standIn }: { standIn: StandIn }): Promise<Key[]> =>
      (await standIn.heartbeat()).data.heartbeatWorkspaceProxy.appConnectKeys;
    const keys = await keysOf(one);
    const others = await keysOf(other);
    expect(keys).to.have.length(1);
    expect(keys[0]!.retiredAt).to.equal(null);
    expect(Buffer.from(keys[0]!.key, "base64url")).to.have.length(32);
    expect(await keysOf(one)).to.deep.equal(keys);
    expect(others[0]!.kid).to.equal(keys[0]!.kid);
    expect(others[0]!.key).to.not.equal(keys[0]!.key);
  });

  describe("on two server replicas", () => {
    let there: App;
    before(async () => {
      there = await startServer(the().database.url, {
        STEWARD_PROXY_HEALTH_INTERVAL: "1s",
        STEWARD_PROXY_HEALTH_TIMEOUT: "1s",
      });
    });
    after(() => there.close());

    it("is checked by one when the other stops", async () => {
      const { id, standIn } = await registered("survivor");
      const third = await startServer(the().database.url, {});
      await eventually(async () => (await look(id)).healthy, "it is healthy");
      await third.close();
      await standIn.behave("failing");
      there.services.proxyHealth.soon();
      await eventually(async () => (await look(id)).status.status === "unhealthy", "the other replica checks it");
    });
  });
});

// Its checks take as long as it does.
describe("a workspace proxy that responds late", () => {
  const the = world({ STEWARD_PROXY_HEALTH_INTERVAL: "1s", STEWARD_PROXY_HEALTH_TIMEOUT: "1m" });
  const start = standIns();
  const query = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  const owner = () => the().as(the().owner);

  /** Waits for a check to which the proxy does not respond until it is told to speak. */
  async function checking(standIn: StandIn): Promise<void> {
    await standIn.behave("silent");
    await standIn.asked();
    await eventually(async () => (await standIn.asked()).length > 0, "the check is in progress");
  }

  it("has no effect once it has registered again, or was deleted", async () => {
    const { id, token } = await makeProxy(the(), "late");
    const standIn = await start(the().url, token);
    const elsewhere = await start(the().url, "none");
    await elsewhere.behave("failing");
    await query(`
      create table found (status text);
      create function note_found() returns trigger language plpgsql as
        'begin insert into found values (new.status); return new; end';
      create trigger note_found before update of status on workspace_proxies
        for each row when (new.id = '${id}') execute function note_found()`);
    await standIn.register();
    await eventually(async () => (await query("select from found")).rowCount! > 0, "it is healthy");
    await checking(standIn);
    await query("truncate found");
    await standIn.register({ accessUrl: elsewhere.url });
    await standIn.speak();
    await eventually(async () => (await query("select from found")).rowCount! > 0, "a result is stored");
    expect((await query("select distinct status from found")).rows).to.deep.equal([{ status: "unhealthy" }]);

    await checking(elsewhere);
    expect(await owner().delete(`${proxiesPath}/${id}`)).to.include({ status: 200 });
    const { rows: then } = await query("select * from workspace_proxies where id = $1", id);
    await elsewhere.speak();
    // Other test files have locks in other databases of the cluster.
    const locks = `select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
    await eventually(async () => (await query(locks)).rowCount === 0, "the round is over");
    expect((await query("select * from workspace_proxies where id = $1", id)).rows).to.deep.equal(then);
    const { body } = await owner().get(`${proxiesPath}/${id}`);
    expect(body).to.deep.include({ deleted: true, healthy: false, status: {} });
    expect(await elsewhere.asked()).to.deep.equal([]);
  });
});

describe("workspace proxies on two server replicas", () => {
  const environment = { STEWARD_PROXY_HEALTH_INTERVAL: "1d", STEWARD_PROXY_HEALTH_TIMEOUT: "1m" };
  const the = world(environment);
  const start = standIns();
  let there: App;
  before(async () => {
    there = await startServer(the().database.url, environment);
  });
  after(() => there.close());
  const pool = () => the().app.services.database.pool;
  const bothCheck = () => [the().app.services, there.services].forEach(({ proxyHealth }) => proxyHealth.soon());

  it("are checked by one replica at a time, and both see its result", async () => {
    const { id, token } = await makeProxy(the(), "shared");
    const standIn = await start(the().url, token);
    const seen = async (url: string) =>
      (await new Client(url, the().owner.token).get(`${proxiesPath}/${id}`)).body.status as Seen["status"];
    await standIn.register();
    await eventually(async () => (await seen(the().url)).status === "ok", "it is healthy");
    expect(await seen(there.url)).to.deep.equal(await seen(the().url));

    // Both notice the same due check, again and again; only one runs it.
    await standIn.asked();
    for (let round = 1; round <= 5; round++) {
      const before = (await seen(the().url)).checked_at!;
      await pool().query("update workspace_proxies set check_due_at = now() where id = $1", [id]);
      bothCheck();
      await eventually(async () => (await seen(there.url)).checked_at! > before, "it is checked");
      expect(await standIn.asked(), `round ${round}`).to.have.length(1);
    }
  });

  it("are checked five at a time", async () => {
    const ids: string[] = [];
    const proxies = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const { id, token } = await makeProxy(the(), `slow-${n}`);
        ids.push(id);
        const standIn = await start(the().url, token);
        expect(await standIn.register()).to.include({ status: 200 });
        return standIn;
      }),
    );
    const checked = async () => {
      const sql = "select from workspace_proxies where id = any($1) and status = 'ok' and checked_at is not null";
      return (await pool().query(sql, [ids])).rowCount;
    };
    await eventually(async () => (await checked()) === 8, "all of them are healthy");
    await Promise.all(proxies.map((each) => each.behave("silent")));
    await Promise.all(proxies.map((each) => each.asked()));

    let asked: StandIn[] = [];
    const hear = async () => {
      const heard = await Promise.all(proxies.map(async (each) => ((await each.asked()).length > 0 ? [each] : [])));
      asked.push(...heard.flat());
      return asked.length;
    };
    await pool().query("update workspace_proxies set check_due_at = now(), checked_at = null where id = any($1)", [
      ids,
    ]);
    bothCheck();
    for (const expected of [5, 3]) {
      await eventually(async () => (await hear()) >= expected, `${expected} checks are in progress`);
      bothCheck();
      await setTimeout(500);
      expect(await hear()).to.equal(expected);
      const answering = asked;
      asked = [];
      await Promise.all(answering.map((each) => each.speak()));
    }
    await eventually(async () => (await checked()) === 8, "all of them have been checked");
  });
});

describe("internal addresses", () => {
  const may = (address: string, rules: { loopback?: boolean; only?: string[] } = {}) =>
    mayCallInside(address, {
      allowsLoopback: rules.loopback ?? false,
      only: (rules.only ?? []).map((network) => ipaddr.parseCIDR(network)),
    });

  it("may be called where proxies can run, and nowhere else", () => {
    for (const address of ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "8.8.8.8", "fd12::1", "2606:4700::1"])
      expect(may(address), address).to.equal(true);
    for (const address of [
      "169.254.169.254",
      "169.254.0.1",
      "fe80::1",
      "fe80::1%eth0",
      "::ffff:169.254.169.254",
      "::ffff:a9fe:a9fe",
      "64:ff9b::a9fe:a9fe",
      "2002:a9fe:a9fe::",
      "100.100.100.200",
      "168.63.129.16",
      "fd00:ec2::254",
      "0.0.0.0",
      "0.1.2.3",
      "::",
      "224.0.0.1",
      "239.255.255.250",
      "ff02::1",
      "255.255.255.255",
      "240.0.0.1",
      "192.0.0.192",
      "::7f00:1",
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "::ffff:127.0.0.1",
      "nonsense",
    ])
      expect(may(address), address).to.equal(false);
  });

  it("include loopback only if allowed, and can be restricted to listed networks", () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
      expect(may(address, { loopback: true }), address).to.equal(true);
    const only = ["10.0.0.0/8", "169.254.0.0/16", "fd00::/8"];
    expect(may("10.9.9.9", { only })).to.equal(true);
    expect(may("fd00::1", { only })).to.equal(true);
    expect(may("192.168.1.1", { only })).to.equal(false);
    expect(may("169.254.169.254", { only })).to.equal(false);
    expect(may("127.0.0.1", { only, loopback: true })).to.equal(false);
  });
});

describe("two sites", () => {
  it("share a host whether or not its name ends in a dot", () => {
    const site = (accessUrl: string) => ({ accessUrl, wildcardHostname: "" });
    const [plain, dotted] = [site("https://a.example.com"), site("https://a.example.com.")];
    expect([takenParts(plain, dotted), takenParts(dotted, plain)]).to.deep.equal([["accessUrl"], ["accessUrl"]]);
    expect(takenParts(plain, site("https://b.example.com."))).to.deep.equal([]);
  });
});

// The checks of the deployment's health: what readings mean, what the checks find, who sees and mutes them, and who is told.
// Looks inside: readings are judged without a deployment that has them, and the checks are run when the test asks for it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { checkTexts, HealthCode, type HealthState } from "../../src/domain/health/catalog.js";
import { runChecks } from "../../src/domain/health/evaluation.js";
import * as judge from "../../src/domain/health/judgements.js";
import { noteReplica } from "../../src/domain/health/replicas.js";
import { callAccessUrl } from "../../src/domain/health/surroundings-checks.js";
import { boxOf, createBox, templateOf } from "../support/builds.js";
import { anotherReplica, mailHas, startUnchecked, unfinishedMigration } from "../support/health.js";
import { Mailbox } from "../support/mailbox.js";
import { statementsOf } from "../support/statements.js";
import { letPass, setColumns, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import type { Anything, World } from "../support/world.js";

const second = 1_000;
const minute = 60_000;
const hour = 3_600_000;
const day = 86_400_000;
const at = Date.parse("2026-06-01T12:00:00Z");
const inTime = (milliseconds: number) => new Date(at + milliseconds).toISOString();
const here = <Value>(value: Value) => [{ hostname: "a", value }];

describe("readings are judged", () => {
  const address = {
    url: "https://steward.example.com",
    deploymentId: "d",
    certificateEnds: at + 90 * day,
    isForOthers: true,
    isLocal: false,
  };
  const mail = { isConfigured: true, deliveredAt: inTime(-hour), failingSince: null, lastFailure: "" };
  const size = { bytes: 5e9, oldestId: 1e8, table: "users", dead: 10, live: 1000 };
  const daemon = { name: "d", version: "1.0", isOnline: true };
  const proxy = { name: "p", status: "ok" as const, errors: [], warnings: [] };
  const jobs = { organization: "main", provisioner: "echo", tags: { os: "linux" }, count: 2 };

  const cases: Record<HealthCode, Array<[HealthState, judge.Judgement, string?]>> = {
    database_latency: [
      ["ok", judge.databaseLatency(here(1))],
      ["warning", judge.databaseLatency(here(80))],
      ["error", judge.databaseLatency([...here(1), { hostname: "b", value: 300 }]), "A statement of b takes 300 ms."],
    ],
    database_version: [
      ["ok", judge.databaseVersion("18.1", at)],
      ["warning", judge.databaseVersion("14.9", at + 100 * day)],
      ["warning", judge.databaseVersion("14.9", at + 300 * day), "ended the support"],
    ],
    database_settings: [
      ["ok", judge.databaseSettings({ fsync: "on", full_page_writes: "on", autovacuum: "on", track_counts: "on" })],
      ["warning", judge.databaseSettings({ fsync: "on", autovacuum: "off" })],
      ["error", judge.databaseSettings({ fsync: "off", autovacuum: "off" }), "fsync is off"],
    ],
    database_size: [
      ["ok", judge.databaseSize(size), "5.0 GB"],
      ["warning", judge.databaseSize({ ...size, dead: 2e6, live: 1e6 }), "The table users has 2000000 dead rows"],
      ["warning", judge.databaseSize({ ...size, oldestId: 1.2e9 })],
      ["error", judge.databaseSize({ ...size, oldestId: 1.9e9 })],
    ],
    database_pool: [
      ["ok", judge.databasePool([{ hostname: "a", size: 20, waiting: 3 }], 97)],
      ["warning", judge.databasePool([{ hostname: "a", size: 100, waiting: 0 }], 97)],
      ["error", judge.databasePool([{ hostname: "a", size: 20, waiting: 50 }], 97), "50 on a"],
    ],
    standby: [
      ["ok", judge.standby(here(null)), "No standby is configured."],
      ["ok", judge.standby(here(true))],
      ["error", judge.standby(here(false))],
    ],
    migrations: [
      ["ok", judge.migrationsDone({ unfinished: [], missing: [], strayRows: [] })],
      ["warning", judge.migrationsDone({ unfinished: ["0001"], missing: [], strayRows: [] })],
      ["warning", judge.migrationsDone({ unfinished: [], missing: [], strayRows: ["audit_log"] })],
      ["error", judge.migrationsDone({ unfinished: [], missing: ["0002"], strayRows: [] })],
    ],
    encryption_keys: [
      ["ok", judge.encryptionKeys([])],
      ["error", judge.encryptionKeys(["k1"]), "k1"],
    ],
    events: [
      ["ok", judge.eventsConnected(here(true))],
      ["error", judge.eventsConnected(here(false)), "Not connected: a."],
    ],
    notification_queue: [
      ["ok", judge.notificationQueue({ length: 0, waiting: 0 }, false)],
      ["ok", judge.notificationQueue({ length: 5, waiting: minute }, false)],
      ["warning", judge.notificationQueue({ length: 5, waiting: minute }, true), "paused"],
      ["warning", judge.notificationQueue({ length: 5, waiting: 20 * minute }, false)],
      ["error", judge.notificationQueue({ length: 5, waiting: 2 * hour }, false), "the oldest for 2 hours"],
    ],
    job_queue: [
      ["ok", judge.jobQueue({ length: 1, waiting: minute })],
      ["warning", judge.jobQueue({ length: 1, waiting: 6 * minute })],
      ["error", judge.jobQueue({ length: 1, waiting: 25 * minute })],
    ],
    task_input_queue: [
      ["ok", judge.taskInputQueue({ length: 1, waiting: minute })],
      ["warning", judge.taskInputQueue({ length: 1, waiting: 15 * minute })],
      ["error", judge.taskInputQueue({ length: 1, waiting: 2 * hour })],
    ],
    mail: [
      ["ok", judge.transport({ ...mail, isConfigured: false }, "mail", at), "No mail server is set up"],
      ["ok", judge.transport(mail, "mail", at), "The last one arrived"],
      ["warning", judge.transport({ ...mail, deliveredAt: null }, "mail", at), "nothing has arrived yet"],
      ["warning", judge.transport({ ...mail, failingSince: inTime(-minute) }, "mail", at)],
      [
        "error",
        judge.transport({ ...mail, failingSince: inTime(-hour), lastFailure: "No route." }, "mail", at),
        "No route.",
      ],
    ],
    webhook: [
      ["ok", judge.transport({ ...mail, isConfigured: false }, "webhook", at), "No webhook is set up."],
      ["error", judge.transport({ ...mail, failingSince: inTime(-hour) }, "webhook", at)],
    ],
    daemons: [
      ["ok", judge.daemons([daemon], "1.0"), "1 daemon connected."],
      ["warning", judge.daemons([{ ...daemon, isOnline: false }], "1.0"), "nothing can be built"],
      ["warning", judge.daemons([daemon, { ...daemon, name: "old", version: "0.9" }], "1.0"), "old 0.9"],
    ],
    daemon_tags: [
      ["ok", judge.daemonTags([])],
      ["warning", judge.daemonTags([{ ...jobs, waiting: 30 * second }])],
      ["error", judge.daemonTags([{ ...jobs, waiting: 5 * minute }]), "2 jobs of type echo with os=linux in main"],
    ],
    workspace_proxies: [
      ["ok", judge.workspaceProxies([])],
      ["ok", judge.workspaceProxies([proxy])],
      ["warning", judge.workspaceProxies([{ ...proxy, status: "unregistered" }])],
      ["warning", judge.workspaceProxies([{ ...proxy, warnings: ["Slow."] }])],
      [
        "error",
        judge.workspaceProxies([proxy, { ...proxy, name: "q", status: "unreachable", errors: ["No."] }]),
        "q is",
      ],
    ],
    access_url: [
      ["ok", judge.accessUrl(address, "d", at)],
      ["ok", judge.accessUrl({ ...address, url: "http://localhost:3000", isLocal: true, isForOthers: false }, "d", at)],
      ["warning", judge.accessUrl({ ...address, url: "http://localhost:3000", isLocal: true }, "d", at)],
      ["warning", judge.accessUrl({ ...address, url: "http://steward.example.com" }, "d", at), "no TLS"],
      ["warning", judge.accessUrl({ ...address, certificateEnds: at + 5 * day }, "d", at)],
      ["error", judge.accessUrl({ ...address, certificateEnds: at + hour }, "d", at)],
      ["error", judge.accessUrl(address, "another", at), "does not lead to this deployment"],
      ["error", judge.accessUrl({ ...address, failure: "No route." }, "d", at), "No route."],
    ],
    clock: [
      ["ok", judge.clocks(here(500))],
      ["warning", judge.clocks(here(-5 * second)), "The clock of a is 5 seconds behind."],
      ["error", judge.clocks(here(2 * minute))],
    ],
    time_zones: [
      ["ok", judge.timeZones(here({ version: "2026b", disputed: [] }))],
      ["warning", judge.timeZones(here({ version: "2026b", disputed: ["Europe/Berlin"] })), "Europe/Berlin"],
      [
        "warning",
        judge.timeZones([
          ...here({ version: "2026b", disputed: [] }),
          { hostname: "b", value: { version: "2026a", disputed: [] } },
        ]),
      ],
    ],
    disk: [
      ["ok", judge.disks(here({ free: 5e10, size: 1e11 }))],
      ["ok", judge.disks(here({ free: null, size: null }))],
      ["warning", judge.disks(here({ free: 5e9, size: 1e11 })), "5.0 GB of 100.0 GB"],
      ["error", judge.disks(here({ free: 1e9, size: 1e11 }))],
    ],
    replica_versions: [
      ["ok", judge.replicaVersions(here("1.0"))],
      ["warning", judge.replicaVersions([...here("1.0"), { hostname: "b", value: "1.1" }]), "1.0 on a; 1.1 on b"],
    ],
    licenses: [
      ["ok", judge.licenses({ errors: [], warnings: [] })],
      ["warning", judge.licenses({ errors: [], warnings: ["It ends."] })],
      ["error", judge.licenses({ errors: ["It is bad."], warnings: ["It ends."] }), "It is bad."],
    ],
    ending_keys: [
      ["ok", judge.endingKeys([], at)],
      ["warning", judge.endingKeys([{ kind: "SCIM key", name: "k", endsAt: inTime(5 * day) }], at)],
      ["error", judge.endingKeys([{ kind: "SCIM key", name: "k", endsAt: inTime(hour) }], at), "SCIM key k"],
    ],
    backups: [
      ["ok", judge.backups({ lastAt: null, since: at - day }, at)],
      ["ok", judge.backups({ lastAt: at - 2 * day, since: at - 90 * day }, at), "2 days ago"],
      ["warning", judge.backups({ lastAt: null, since: at - 30 * day }, at)],
      ["warning", judge.backups({ lastAt: at - 10 * day, since: at - 90 * day }, at)],
    ],
  };

  for (const [code, judged] of Object.entries(cases))
    it(`by the check ${code}`, () => {
      for (const [nr, [state, judgement, part]] of judged.entries()) {
        expect(judgement.state, `${nr}: ${judgement.finding}`).to.equal(state);
        expect(judgement.finding)
          .to.contain(part ?? "")
          .and.match(/[.)]$/);
      }
      expect(new Set(judged.map(([state]) => state)).size, "it can fail").to.be.greaterThan(1);
    });
});

describe("the documentation of the health checks", () => {
  const text = readFileSync(new URL("../../docs/health.md", import.meta.url), "utf8");

  it("has a section for each check, in their order, with its title", () => {
    const headings = [...text.matchAll(/^## (.+) \(`(\w+)`\)$/gm)].map(([, title, code]) => [code, title]);
    expect(headings).to.deep.equal(Object.entries(checkTexts).map(([code, { title }]) => [code, title]));
    expect(Object.keys(checkTexts)).to.deep.equal(Object.values(HealthCode));
    for (const section of text.split(/^## .+$/m).slice(1)) expect(section.trim().length).to.be.greaterThan(100);
  });
});

describe("the health of the deployment", () => {
  let w: World;

  before(async () => {
    w = await startUnchecked();
    await noteReplica(w.app.services);
  });
  after(() => w.close());

  const fields = "code state since finding meaning advice docsUrl mutedUntil title checkedAt mutedBy { username }";
  type Found = Record<string, Anything> & { code: string; state: string; finding: string };

  async function list(): Promise<Found[]> {
    return (await w.as(w.owner).graphql(`{ healthChecks { ${fields} } }`)).healthChecks;
  }

  /** Runs the checks, and returns them by their codes. */
  async function run(): Promise<Record<string, Found>> {
    await runChecks(w.app.services);
    await w.app.services.health.refresh();
    return Object.fromEntries((await list()).map((each) => [each.code, each]));
  }

  const mute = (code: string, until: string | null, by = w.as(w.owner)) =>
    by.graphql(
      `mutation($input: MuteHealthCheckInput!) { muteHealthCheck(input: $input) { healthCheck { code mutedUntil mutedBy { username } } } }`,
      { input: { code, until } },
    );
  const soon = () => new Date(Date.now() + day).toISOString();

  const noticed = async (): Promise<Array<{ title: string; content: string }>> =>
    (await w.as(w.owner).get("/api/v2/notifications/inbox")).body.notifications.filter(({ title }: { title: string }) =>
      title.startsWith("Health:"),
    );

  it("is known by all checks, with their texts, and links that lead to the documentation", async () => {
    const found = await run();
    expect(Object.keys(found)).to.have.members(Object.keys(HealthCode));
    for (const check of Object.values(found)) {
      expect(check.meaning).to.match(/\.$/);
      expect(check.advice).to.match(/\.$/);
      expect(check.finding, check.code).to.not.contain("could not be completed");
      const page = await w.nobody.get(check.docsUrl.slice(w.app.services.config.accessUrl.length).split("#")[0]);
      expect(page.status).to.equal(200);
      expect(page.body).to.contain(`<h2 id="${check.docsUrl.split("#")[1]}">`);
    }
    expect(found.DATABASE_SETTINGS!.state, "tests run without fsync").to.equal("ERROR");
    expect(found.DAEMONS!.state, "without a daemon").to.equal("WARNING");
    expect(found.ACCESS_URL).to.include({ state: "OK" });
  });

  it("gets worse with each fault, and is fine again without it", async () => {
    const { id } = (
      await w.as(w.owner).graphql(`mutation { createScimKey(input: { name: "directory" }) { scimKey { id } } }`)
    ).createScimKey.scimKey;
    const proxy = (
      await w.as(w.owner).graphql(`mutation { createWorkspaceProxy(input: { name: "far" }) { workspaceProxy { id } } }`)
    ).createWorkspaceProxy.workspaceProxy.id;
    const { workspaceBuild } = await createBox(w, w.owner, (await templateOf(w, boxOf())).id);
    await letPass(w, "provisioner_jobs", { workspace_build_id: workspaceBuild.id }, "10 min", ["created_at"]);
    await setTimes(w, "scim_keys", { id }, { expires_at: "3 days", last_used_at: "-1 h" });
    await setColumns(w, "workspace_proxies", { id: proxy }, { status: "unreachable", errors: ["No route."] });
    await setTimes(w, "deployment", {}, { created_at: "-30 days" });
    const removeReplica = await anotherReplica(w, {
      clockOffset: 60_000,
      isEventsConnected: false,
      diskFree: 1,
      diskSize: 1e9,
      databaseLatency: 400,
      disputedZones: ["Europe/Berlin"],
      isStandbyUsed: false,
      poolWaiting: 1_000,
    });
    const complete = await unfinishedMigration(w);

    const bad = await run();
    const states = (codes: string[]) => Object.fromEntries(codes.map((code) => [code, bad[code]!.state]));
    expect(
      states(["DAEMON_TAGS", "WORKSPACE_PROXIES", "CLOCK", "EVENTS", "DISK", "DATABASE_LATENCY", "STANDBY"]),
    ).to.deep.equal({
      DAEMON_TAGS: "ERROR",
      WORKSPACE_PROXIES: "ERROR",
      CLOCK: "ERROR",
      EVENTS: "ERROR",
      DISK: "ERROR",
      DATABASE_LATENCY: "ERROR",
      STANDBY: "ERROR",
    });
    expect(states(["ENDING_KEYS", "BACKUPS", "MIGRATIONS", "REPLICA_VERSIONS", "TIME_ZONES"])).to.deep.equal({
      ENDING_KEYS: "WARNING",
      BACKUPS: "WARNING",
      MIGRATIONS: "WARNING",
      REPLICA_VERSIONS: "WARNING",
      TIME_ZONES: "WARNING",
    });
    expect(bad.DATABASE_POOL!.state).to.equal("ERROR");
    expect(bad.WORKSPACE_PROXIES!.finding).to.contain("far is unreachable: No route.");
    expect(bad.DAEMON_TAGS!.finding).to.contain("of type echo");
    // Those that need attention come first.
    const order = (await list()).map(({ state }) => state);
    expect(order).to.deep.equal(order.toSorted((a, b) => rank(a) - rank(b)));

    await complete();
    await removeReplica();
    await setTimes(w, "deployment", {}, { created_at: "-1 h", backed_up_at: "-1 h" });
    await w.as(w.owner).delete(`/api/v2/workspaceproxies/${proxy}`);
    await setTimes(w, "scim_keys", { id }, { expires_at: "300 days" });
    const good = await run();
    for (const code of ["CLOCK", "EVENTS", "DISK", "MIGRATIONS", "BACKUPS", "ENDING_KEYS", "WORKSPACE_PROXIES"]) {
      expect(good[code]!.state, good[code]!.finding).to.equal("OK");
      expect(Date.parse(good[code]!.since), code).to.be.greaterThan(Date.parse(bad[code]!.since));
    }
    expect(good.DAEMON_TAGS!.since, "it has lasted").to.equal(bad.DAEMON_TAGS!.since);
  });

  const rank = (state: string) => ["ERROR", "WARNING", "OK"].indexOf(state);

  it("is told to owners once for each change that lasts, in one message", async () => {
    await run();
    await letPass(w, "health_checks", {}, "5 min", ["since"]);
    await Promise.all([1, 2, 3].map(() => runChecks(w.app.services)));
    const [first, ...others] = await noticed();
    expect(others).to.deep.equal([]);
    expect(first!.title).to.match(/^Health: \d+ checks have changed$/);
    expect(first!.content).to.contain("**Database settings** has failed.");

    const [auditor] = await w.users("auditor");
    await w.grant(auditor!, "auditor");
    const { body } = await w.as(auditor!).get("/api/v2/notifications/inbox");
    expect(body.notifications).to.deep.equal([]);

    await setTimes(w, "deployment", {}, { created_at: "-30 days", backed_up_at: "-20 days" });
    await run();
    expect(await noticed(), "it has not lasted yet").to.have.length(1);
    await letPass(w, "health_checks", { code: "backups" }, "5 min", ["since"]);
    await run();
    expect((await noticed())[0]!.title).to.equal("Health: the check Backups needs attention");
    await setTimes(w, "deployment", {}, { backed_up_at: "-1 h" });
    await run();
    await letPass(w, "health_checks", { code: "backups" }, "5 min", ["since"]);
    await run();
    expect((await noticed())[0]!.title).to.equal("Health: the check Backups is fine again");
  });

  it("is counted by metrics and named by the readiness, except for what is muted, which is recorded", async () => {
    await run();
    const degraded = async () => (await w.nobody.get("/readyz")).body;
    const metric = async () => (await w.nobody.get("/metrics")).body as string;
    expect(await degraded()).to.deep.include({ status: "ok" });
    expect((await degraded()).degraded)
      .to.include("database_settings")
      .and.not.include("daemons");
    expect(await metric()).to.contain('steward_health_check{code="database_settings",muted="false"} 2');

    const until = soon();
    const { muteHealthCheck } = await mute("DATABASE_SETTINGS", until);
    expect(muteHealthCheck.healthCheck).to.deep.equal({
      code: "DATABASE_SETTINGS",
      mutedUntil: until,
      mutedBy: { username: w.owner.username },
    });
    expect((await degraded()).degraded ?? []).to.not.include("database_settings");
    expect(await metric()).to.contain('steward_health_check{code="database_settings",muted="true"} 2');
    const { auditEvents } = await w
      .as(w.owner)
      .graphql(
        `{ auditEvents(first: 1, filter: { resourceType: "health_check" }) { nodes { action resourceLabel diff } } }`,
      );
    expect(auditEvents.nodes[0]).to.deep.equal({
      action: "UPDATE",
      resourceLabel: "Database settings",
      diff: { mutedUntil: { old: null, new: until } },
    });
    await setTimes(w, "health_checks", { code: "database_settings" }, { muted_until: "-1 s" });
    await run();
    expect((await degraded()).degraded, "the time is over").to.include("database_settings");
  });

  it("is muted by owners only, for a known time in the future", async () => {
    const [auditor] = await w.users("auditor");
    await w.grant(auditor!, "auditor");
    const until = soon();
    for (const wrong of [new Date(0).toISOString(), new Date(Date.now() + 91 * day).toISOString()]) {
      const { body } = await w.as(w.owner).post("/graphql", {
        query: `mutation($until: DateTime) { muteHealthCheck(input: { code: CLOCK, until: $until }) { healthCheck { code } } }`,
        variables: { until: wrong },
      });
      expect(body.errors[0].extensions).to.deep.include({ code: "BAD_USER_INPUT" });
      expect(body.errors[0].extensions.validations[0].field).to.equal("input.until");
    }
    await mute("CLOCK", until);
    expect((await mute("CLOCK", null)).muteHealthCheck.healthCheck.mutedUntil).to.equal(null);
    const refused = await mute("CLOCK", until, w.as(auditor!)).catch((error) => error.code);
    expect(refused).to.equal("FORBIDDEN");
  });

  it("is not told while it is muted, and afterwards only if it lasts", async () => {
    const before = (await noticed()).length;
    await mute("BACKUPS", soon());
    await setTimes(w, "deployment", {}, { created_at: "-30 days", backed_up_at: "-20 days" });
    await run();
    await letPass(w, "health_checks", { code: "backups" }, "5 min", ["since"]);
    await run();
    expect(await noticed()).to.have.length(before);
    await setTimes(w, "health_checks", { code: "backups" }, { muted_until: "-1 s" });
    await run();
    expect((await noticed())[0]!.title).to.equal("Health: the check Backups needs attention");
  });

  it("costs one statement to look at, and no check", async () => {
    await list();
    const statements = await statementsOf(list);
    expect(statements.filter((text) => text.includes("health_checks"))).to.have.length(1);
    expect(statements.join()).to.not.match(/pg_|server_replicas|provisioner_jobs/);
  });
});

describe("the checks of mail and of the work in the background", () => {
  let w: World;
  let mailbox: Mailbox;

  before(async () => {
    mailbox = await Mailbox.open();
    w = await startUnchecked({ ...mailbox.settings, STEWARD_NOTIFICATIONS_RETRY_BASE: "1h" });
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });

  async function check(code: string): Promise<{ state: string; finding: string }> {
    await runChecks(w.app.services);
    const { healthChecks } = await w.as(w.owner).graphql("{ healthChecks { code state finding } }");
    return healthChecks.find((each) => each.code === code)!;
  }
  const send = () => w.as(w.owner).post("/api/v2/notifications/test", {});
  it("tell when a mail really arrived, and since when none does", async () => {
    expect(await check("MAIL")).to.include({ state: "WARNING" });
    expect((await check("MAIL")).finding).to.contain("nothing has arrived yet");
    await send();
    await eventually(() => mailHas(w, "delivered_at"), "the mail arrives", 20_000);
    expect(await check("MAIL")).to.include({ state: "OK" });

    mailbox.refusal = { responseCode: 451, message: "Come back later." };
    await send();
    await eventually(() => mailHas(w, "failing_since"), "a mail fails", 20_000);
    const failing = await check("MAIL");
    expect(failing.state).to.equal("WARNING");
    expect(failing.finding).to.contain("Come back later.");
    await letPass(w, "notification_transports", { method: "smtp" }, "20 min", ["failing_since"]);
    expect(await check("MAIL")).to.include({ state: "ERROR" });
  });

  it("tell what waits for too long", async () => {
    // Before the message is due: otherwise, the server might try it again.
    await w.as(w.owner).put("/api/v2/notifications/settings", { notifier_paused: true });
    await letPass(w, "notification_messages", { state: "temporary_failure" }, "3 h", ["next_attempt_at"]);
    expect((await check("NOTIFICATION_QUEUE")).finding).to.contain("paused the delivery");
  });
});

describe("the external URL", () => {
  it("is called as programs do, with limits", async () => {
    let body = JSON.stringify({ data: { serverInfo: { deploymentId: "d" } } });
    const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await callAccessUrl(url)).to.deep.include({ url, deploymentId: "d" });
    body = "<html>";
    expect(await callAccessUrl(url)).to.have.property("deploymentId", undefined);
    body = "x".repeat(100_000);
    expect(await callAccessUrl(url)).to.deep.equal({ url, failure: "The response is too long." });
    await new Promise((resolve) => server.close(resolve));
    expect((await callAccessUrl(url)).failure).to.be.a("string");
  });
});

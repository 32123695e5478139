// What agents report about themselves, and how users see it.
// Looks inside: agents are connected, slow, or gone for minutes.
import { expect } from "chai";
import { endTokens, renew, change, report, start, type Started } from "../support/agents.js";
import { Client, type Person, type World, world } from "../support/world.js";

const healthcheck = { url: "http://127.0.0.1:8080/health" };
const main = {
  name: "main",
  env: { MODE: "test" },
  directory: "~/code",
  apps: [
    { slug: "chat", url: "http://127.0.0.1:8080", healthcheck, subdomain: true, display_name: "Chat" },
    { slug: "docs", url: "https://docs.example.com", external: true, sharing_level: "public", hidden: true },
  ],
  scripts: [{ display_name: "Install", script: "make", run_on_start: true, timeout: 60 }],
};

const fields = `status lifecycleState health { healthy reason }`;

/** The state of an agent as its owner sees it. */
async function seen(w: World, owner: Person, agentId: string, selection = fields) {
  const { workspaceAgent } = await w
    .as(owner)
    .graphql(`query($id: UUID!) { workspaceAgent(id: $id) { ${selection} } }`, { id: agentId });
  return workspaceAgent;
}

describe("agents", () => {
  const the = world();
  let owner: Person;
  let workspace: Started;
  let agentId: string;
  let agent: Client;

  const alter = (columns: string, id = agentId) =>
    the().app.services.database.pool.query(`update workspace_agents set ${columns} where id = $1`, [id]);

  beforeEach(async () => {
    owner = await the().user("ada");
    workspace = await start(the(), owner, main);
    agentId = workspace.agents[0]!.agentId;
    agent = new Client(the().url, workspace.agents[0]!.token!);
  });

  it("have the properties of the document and its defaults", async () => {
    const read = await seen(
      the(),
      owner,
      agentId,
      `name workspaceId operatingSystem architecture directory expandedDirectory environmentVariables { name value }
       connectionTimeoutSeconds startupScriptBehavior troubleshootingUrl displayApps version apiVersion subsystems
       startedAt readyAt firstConnectedAt lastConnectedAt disconnectedAt logsLength logsOverflowed external parentId
       latency { region } usage { reportedAt } logSources { displayName agentId icon }
       apps { slug displayName icon url command external group hidden openIn sharingLevel subdomain subdomainName tooltip
         health healthcheck { url interval threshold } statuses { id } }
       scripts { displayName script cron logPath runOnStart runOnStop startBlocksLogin timeout exitCode status }`,
    );
    expect(read).to.deep.equal({
      name: "main",
      workspaceId: workspace.id,
      operatingSystem: "LINUX",
      architecture: "AMD64",
      directory: "~/code",
      expandedDirectory: "",
      environmentVariables: [{ name: "MODE", value: "test" }],
      connectionTimeoutSeconds: 120,
      startupScriptBehavior: "NON_BLOCKING",
      troubleshootingUrl: "",
      displayApps: [],
      version: "",
      apiVersion: "",
      subsystems: [],
      startedAt: null,
      readyAt: null,
      firstConnectedAt: null,
      lastConnectedAt: null,
      disconnectedAt: null,
      logsLength: 0,
      logsOverflowed: false,
      external: false,
      parentId: null,
      latency: [],
      usage: null,
      logSources: [
        { displayName: "Agent", agentId, icon: "" },
        { displayName: "Install", agentId, icon: "" },
      ],
      apps: [
        {
          slug: "chat",
          displayName: "Chat",
          icon: "",
          url: "http://127.0.0.1:8080",
          command: "",
          external: false,
          group: "",
          hidden: false,
          openIn: "SLIM_WINDOW",
          sharingLevel: "OWNER",
          subdomain: true,
          tooltip: "",
          subdomainName: `chat--main--${workspace.name}--${owner.username}`,
          health: "INITIALIZING",
          healthcheck: { ...healthcheck, interval: 5, threshold: 3 },
          statuses: [],
        },
        {
          slug: "docs",
          displayName: "",
          icon: "",
          url: "https://docs.example.com",
          command: "",
          external: true,
          group: "",
          hidden: true,
          openIn: "SLIM_WINDOW",
          sharingLevel: "PUBLIC",
          subdomain: false,
          tooltip: "",
          subdomainName: `docs--main--${workspace.name}--${owner.username}`,
          health: "DISABLED",
          healthcheck: null,
          statuses: [],
        },
      ],
      scripts: [
        {
          displayName: "Install",
          script: "make",
          cron: "",
          logPath: "",
          runOnStart: true,
          runOnStop: false,
          startBlocksLogin: false,
          timeout: 60,
          exitCode: null,
          status: null,
        },
      ],
    });
  });

  it("have a shorter host name for apps whose names are too long together", async () => {
    const { pool } = the().app.services.database;
    await pool.query("update workspace_apps set slug = $1 where slug = 'chat'", ["a".repeat(32)]);
    await change(the(), workspace, { name: "b".repeat(32) });
    const { apps } = await seen(the(), owner, agentId, "apps { subdomainName }");
    expect(apps[0].subdomainName).to.match(/^h-[0-9a-f]{32}$/);
  });

  it("are connecting, connected, and disconnected by the clock of the database", async () => {
    const connecting = { status: "CONNECTING", health: { healthy: false, reason: "agent has not yet connected" } };
    expect(await seen(the(), owner, agentId)).to.deep.include(connecting);
    await alter("created_at = now() - interval '121 seconds'");
    expect(await seen(the(), owner, agentId)).to.deep.include({
      status: "TIMEOUT",
      health: { healthy: false, reason: "agent is taking too long to connect" },
    });
    await alter("connection_timeout = 0");
    expect(await seen(the(), owner, agentId)).to.deep.include(connecting);

    await report(agent, "agentHeartbeat");
    const connected = { status: "CONNECTED", health: { healthy: true, reason: null } };
    expect(await seen(the(), owner, agentId)).to.deep.include(connected);
    await alter("last_connected_at = now() - interval '31 seconds'");
    const lost = { healthy: false, reason: "agent has lost connection" };
    const silent = await seen(the(), owner, agentId, `${fields} lastConnectedAt disconnectedAt`);
    expect(silent).to.deep.include({ status: "DISCONNECTED", health: lost });
    expect(silent.disconnectedAt).to.equal(silent.lastConnectedAt);

    await report(agent, "agentHeartbeat");
    expect(await seen(the(), owner, agentId)).to.deep.include(connected);
    await report(agent, "disconnectAgent");
    expect(await seen(the(), owner, agentId)).to.deep.include({ status: "DISCONNECTED", health: lost });
    await report(agent, "agentHeartbeat");
    expect(await seen(the(), owner, agentId, `${fields} disconnectedAt`)).to.deep.include({
      ...connected,
      disconnectedAt: null,
    });
  });

  it("move forward through their states, and back only to the start", async () => {
    await report(agent, "agentHeartbeat");
    const move = (state: string) => report(agent, "reportAgentLifecycle", { state });
    await move("STARTING");
    await move("START_ERROR");
    const failed = await seen(the(), owner, agentId, `${fields} readyAt`);
    expect(failed.health.reason).to.equal("agent startup script exited with an error");
    expect(failed.readyAt).to.be.a("string");
    await move("STARTING");
    expect(await seen(the(), owner, agentId, "lifecycleState readyAt")).to.deep.equal({
      lifecycleState: "STARTING",
      readyAt: null,
    });
    await move("READY");
    await move("READY");
    expect((await seen(the(), owner, agentId)).health.healthy).to.equal(true);
    const failure = await agent.failure(
      `mutation { reportAgentLifecycle(input: { state: START_TIMEOUT }) { __typename } }`,
    );
    expect(failure.code).to.equal("CONFLICT");
    await move("SHUTTING_DOWN");
    expect((await seen(the(), owner, agentId)).health.reason).to.equal("agent is shutting down");
    await move("OFF");
    await move("STARTING");
  });

  it("report their startup, resources and scripts, and read the result", async () => {
    const { reportAgentStartup } = await agent.graphql(
      `mutation($input: ReportAgentStartupInput!) { reportAgentStartup(input: $input) { agent {
         id version apiVersion expandedDirectory subsystems startedAt } } }`,
      {
        input: {
          version: "1.2.3",
          apiVersion: "1.0",
          expandedDirectory: "/home/ada/code",
          subsystems: ["EXECTRACE", "EXECTRACE"],
        },
      },
    );
    expect(reportAgentStartup.agent).to.deep.include({
      id: agentId,
      version: "1.2.3",
      apiVersion: "1.0",
      expandedDirectory: "/home/ada/code",
      subsystems: ["EXECTRACE"],
    });
    expect(reportAgentStartup.agent.startedAt).to.be.a("string");

    const ofWorkspace = async () =>
      (
        await the()
          .as(owner)
          .graphql(
            `{ workspace(id: "${workspace.id}") { usage { cpuUsedMillicores cpuTotalMillicores memoryUsedBytes } } }`,
          )
      ).workspace.usage;
    expect(await ofWorkspace()).to.equal(null);
    await report(agent, "reportAgentResources", {
      cpuUsedMillicores: 1250,
      cpuTotalMillicores: 4000,
      memoryUsedBytes: 5_000_000_000,
      diskTotalBytes: 0,
    });
    expect(await ofWorkspace()).to.deep.equal({
      cpuUsedMillicores: 1250,
      cpuTotalMillicores: 4000,
      memoryUsedBytes: 5_000_000_000,
    });
    const { usage } = await seen(
      the(),
      owner,
      agentId,
      "usage { memoryUsedBytes memoryTotalBytes diskUsedBytes diskTotalBytes reportedAt }",
    );
    expect(usage).to.deep.include({ memoryUsedBytes: 5_000_000_000, memoryTotalBytes: null, diskTotalBytes: 0 });
    expect(usage.reportedAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const { scripts } = await seen(the(), owner, agentId, "scripts { id }");
    const startedAt = "2026-01-02T03:04:05.000Z";
    await report(agent, "reportScriptResult", {
      scriptId: scripts[0].id,
      exitCode: 2,
      status: "EXIT_FAILURE",
      startedAt,
    });
    const { scripts: after } = await seen(the(), owner, agentId, "scripts { exitCode status startedAt endedAt }");
    expect(after).to.deep.equal([{ exitCode: 2, status: "EXIT_FAILURE", startedAt, endedAt: null }]);
  });

  it("are told all faults of a report together", async () => {
    const validations = async (mutation: string, variables: object) => {
      const { errors } = await agent.failure(mutation, { input: variables });
      return errors[0]!.extensions.validations.map(({ field }: { field: string }) => field);
    };
    const startup = `mutation($input: ReportAgentStartupInput!) { reportAgentStartup(input: $input) { __typename } }`;
    const long = "x".repeat(4097);
    expect(
      await validations(startup, { version: long, apiVersion: "x".repeat(17), expandedDirectory: long }),
    ).to.deep.equal(["input.version", "input.apiVersion", "input.expandedDirectory"]);
    const health = `mutation($input: ReportAppHealthInput!) { reportAppHealth(input: $input) { __typename } }`;
    const apps = [
      { slug: "none", health: "HEALTHY" },
      { slug: "chat", health: "DISABLED" },
      { slug: "chat", health: "HEALTHY" },
    ];
    expect(await validations(health, { apps })).to.deep.equal([
      "input.apps[0].slug",
      "input.apps[1].health",
      "input.apps[2].slug",
    ]);
    const status = `mutation($input: ReportAppStatusInput!) { reportAppStatus(input: $input) { __typename } }`;
    const wrong = { appSlug: "none", state: "IDLE", message: "ä".repeat(81), uri: "javascript:alert(1)" };
    expect(await validations(status, wrong)).to.deep.equal(["input.appSlug", "input.message", "input.uri"]);
    const resources = `mutation($input: ReportAgentResourcesInput!) { reportAgentResources(input: $input) { __typename } }`;
    expect(
      await validations(resources, { memoryUsedBytes: -1, cpuUsedMillicores: -1, cpuTotalMillicores: 1_000_000_001 }),
    ).to.deep.equal(["input.cpuUsedMillicores", "input.cpuTotalMillicores", "input.memoryUsedBytes"]);
    const script = `mutation($input: ReportScriptResultInput!) { reportScriptResult(input: $input) { __typename } }`;
    expect(await validations(script, { scriptId: agentId, exitCode: 0, status: "OK" })).to.deep.equal([
      "input.scriptId",
    ]);
  });

  it("report the health of apps that have a health check", async () => {
    await report(agent, "reportAppHealth", {
      apps: [
        { slug: "chat", health: "UNHEALTHY" },
        { slug: "docs", health: "HEALTHY" },
      ],
    });
    const { apps } = await seen(the(), owner, agentId, "apps { slug health }");
    expect(apps).to.deep.equal([
      { slug: "chat", health: "UNHEALTHY" },
      { slug: "docs", health: "DISABLED" },
    ]);
  });

  it("keep the newest hundred statuses of an app, reported concurrently", async () => {
    const states = ["WORKING", "IDLE", "COMPLETE", "FAILURE"];
    for (let batch = 0; batch < 21; batch++)
      await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          report(agent, "reportAppStatus", { appSlug: "chat", state: states[n % 4], message: `${batch}` }),
        ),
      );
    await report(agent, "reportAppStatus", { appSlug: "chat", state: "FAILURE", message: "last", uri: "file:///a" });
    const { apps } = await seen(
      the(),
      owner,
      agentId,
      "apps { id statuses { state message uri icon needsUserAttention workspaceId agentId appId } }",
    );
    expect(apps[0].statuses).to.have.length(100);
    expect(apps[0].statuses[0]).to.deep.equal({
      state: "FAILED",
      message: "last",
      uri: "file:///a",
      icon: "",
      needsUserAttention: true,
      workspaceId: workspace.id,
      agentId,
      appId: apps[0].id,
    });
    expect(apps[0].statuses.at(-1).message).to.equal("1");
    expect(apps[1].statuses).to.deep.equal([]);
  });

  it("move the deadline of the workspace while they work, never past the latest possible one", async () => {
    const { pool } = the().app.services.database;
    await pool.query("update workspace_builds set max_deadline = now() + interval '30 minutes' where id = $1", [
      workspace.buildId,
    ]);
    const inMinutes = async () => {
      const { rows } = await pool.query<{ minutes: number }>(
        "select round(extract(epoch from deadline - now()) / 60)::int as minutes from workspaces where id = $1",
        [workspace.id],
      );
      return rows[0]!.minutes;
    };
    const status = (state: string) => report(agent, "reportAppStatus", { appSlug: "chat", state, message: "" });
    await change(the(), workspace, { deadline: new Date(Date.now() + 60_000) });
    await status("IDLE");
    expect(await inMinutes()).to.equal(1);
    await status("WORKING");
    expect(await inMinutes()).to.equal(30);
    await pool.query("update workspace_builds set max_deadline = null where id = $1", [workspace.buildId]);
    await status("COMPLETE");
    expect(await inMinutes()).to.equal(60);
    await change(the(), workspace, { deadline: new Date(Date.now() + 60_000) });
    await status("COMPLETE");
    expect(await inMinutes()).to.equal(1);
  });

  it("are told to shut down while the workspace is stopped or deleted", async () => {
    const beat = async () => (await agent.graphql("mutation { agentHeartbeat { shutdown } }")).agentHeartbeat.shutdown;
    expect(await beat()).to.equal(false);
    await change(the(), workspace, { latest_transition: "stop", latest_status: "pending" });
    expect(await beat()).to.equal(false);
    await change(the(), workspace, { latest_status: "stopping" });
    expect(await beat()).to.equal(true);
    await change(the(), workspace, { latest_status: "failed" });
    expect(await beat()).to.equal(false);
    await change(the(), workspace, { latest_transition: "delete", latest_status: "deleting" });
    expect(await beat()).to.equal(true);
  });

  it("lose their tokens when a stop has ended, and with a later start", async () => {
    const beat = () => agent.post("/graphql", { query: "mutation { agentHeartbeat { shutdown } }" });
    expect((await beat()).status).to.equal(200);
    const renewed = await renew(the(), workspace);
    expect(renewed).to.have.length(1);
    expect((await beat()).status).to.equal(401);
    agent = new Client(the().url, renewed[0]!.token!);
    expect((await beat()).status).to.equal(200);
    await endTokens(the(), workspace);
    expect((await beat()).status).to.equal(401);

    const other = await start(the(), owner, main);
    agent = new Client(the().url, other.agents[0]!.token!);
    const { pool } = the().app.services.database;
    await pool.query(
      `with job as (
         insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, initiator_id, document_id)
         select gen_random_uuid(), now(), j.organization_id, j.type, 'pending', j.provisioner, j.tags, j.initiator_id, j.document_id
         from provisioner_jobs j join workspace_builds b on b.job_id = j.id where b.id = $1 returning id)
       insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, transition,
         reason, initiator_id, job_id, parameters)
       select gen_random_uuid(), now(), now(), workspace_id, 2, version_id, 'start', reason, initiator_id, job.id, '{}'
       from workspace_builds cross join job where workspace_builds.id = $1`,
      [other.buildId],
    );
    expect((await beat()).status).to.equal(401);
  });

  it("are seen by those who see the workspace, and are not found by others", async () => {
    const w = the();
    const [admin, templateAdmin, auditor, member] = (await w.users("b", "c", "d", "e")) as [
      Person,
      Person,
      Person,
      Person,
    ];
    await w.grant(admin, "organization-admin");
    await w.grant(templateAdmin, "template-admin");
    await w.grant(auditor, "auditor");
    for (const person of [owner, admin, templateAdmin, w.owner])
      expect((await seen(w, person, agentId, "name")).name).to.equal("main");
    const query = `query($id: UUID!) { workspaceAgent(id: $id) { name } }`;
    for (const person of [auditor, member])
      expect((await w.as(person).failure(query, { id: agentId })).code).to.equal("NOT_FOUND");

    const { id: groupId } = await w.group(undefined, { members: [member] });
    const { pool } = w.app.services.database;
    const share = (groups: string) =>
      pool.query(
        `insert into workspace_acl_entries (id, workspace_id, group_id, role, created_at)
         values (gen_random_uuid(), $1, $2, 'use', now())`,
        [workspace.id, groups],
      );
    await share(groupId);
    expect((await seen(w, member, agentId, "name")).name).to.equal("main");
    expect((await w.as(auditor).failure(query, { id: agentId })).code).to.equal("NOT_FOUND");
    await share(w.defaultOrganization);
    expect((await seen(w, auditor, agentId, "name")).name).to.equal("main");
  });

  it("write no audit event for any report", async () => {
    const w = the();
    const audited = async () =>
      (await w.app.services.database.pool.query<{ n: number }>("select count(*)::int as n from audit_events")).rows[0]!
        .n;
    const before = await audited();
    await report(agent, "agentHeartbeat");
    await report(agent, "reportAppStatus", { appSlug: "chat", state: "IDLE", message: "" });
    await report(agent, "reportAgentLifecycle", { state: "READY" });
    await report(agent, "reportAgentStartup", { version: "1", expandedDirectory: "/" });
    await report(agent, "reportAppHealth", { apps: [{ slug: "chat", health: "HEALTHY" }] });
    expect(await audited()).to.equal(before);
  });
});

// The manifest of agents, and the secrets that it delivers.
// Looks inside: secrets are delivered while audit events fail, values are damaged, and users suspended without a mail.
import { expect } from "chai";
import { audited } from "../support/audit.js";
import { rotate } from "../support/background.js";
import { newId } from "../support/ids.js";
import { endTokens, change, report, start, type Started, watch } from "../support/agents.js";
import { Client, type Person, world } from "../support/world.js";

const query = `{ agentManifest {
  agentId agentName workspaceId workspaceName ownerId ownerUsername buildNumber accessUrl directory command restart
  env { name value } secretEnv { name value } secretFiles { path content } secretErrors { name reason }
  apps { slug url healthcheckUrl healthcheckIntervalSeconds healthcheckThreshold }
  scripts { id displayName script runOnStart runOnStop startBlocksLogin timeoutSeconds cron logPath logSourceId }
  logSourceId task { id prompt } } }`;

const main = {
  name: "main",
  env: { MODE: "test" },
  directory: "~/code",
  command: ["node", "chat.mjs"],
  restart: "on_failure",
  apps: [
    { slug: "chat", url: "http://127.0.0.1:8080", healthcheck: { url: "http://127.0.0.1:8080/ok", interval: 7 } },
    { slug: "docs", url: "https://docs.example.com" },
  ],
  scripts: [{ display_name: "Install", script: "make", run_on_start: true, timeout: 60, log_path: "/tmp/log" }],
};

describe("the manifest of an agent", () => {
  const the = world();
  let owner: Person;
  let workspace: Started;
  let agent: Client;

  const run = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  const manifest = async (client = agent) => (await client.graphql(query)).agentManifest;

  const secret = (name: string, more: object, person = owner) =>
    the()
      .as(person)
      .post("/api/v2/users/me/secrets", { name, value: `value of ${name}`, ...more });

  beforeEach(async () => {
    owner = await the().user("ada");
    workspace = await start(the(), owner, main);
    agent = new Client(the().url, workspace.agents[0]!.token!);
  });

  it("has what the document says, and no secrets if the owner has none", async () => {
    const read = await manifest();
    const { agentId } = workspace.agents[0]!;
    expect(read).to.deep.include({
      agentId,
      agentName: "main",
      workspaceId: workspace.id,
      workspaceName: workspace.name,
      ownerId: owner.id,
      ownerUsername: owner.username,
      buildNumber: 1,
      accessUrl: the().app.services.config.accessUrl,
      directory: "~/code",
      command: ["node", "chat.mjs"],
      restart: "ON_FAILURE",
      env: [{ name: "MODE", value: "test" }],
      secretEnv: [],
      secretFiles: [],
      secretErrors: [],
      task: null,
    });
    expect(read.apps).to.deep.equal([
      {
        slug: "chat",
        url: "http://127.0.0.1:8080",
        healthcheckUrl: "http://127.0.0.1:8080/ok",
        healthcheckIntervalSeconds: 7,
        healthcheckThreshold: 3,
      },
      {
        slug: "docs",
        url: "https://docs.example.com",
        healthcheckUrl: null,
        healthcheckIntervalSeconds: null,
        healthcheckThreshold: null,
      },
    ]);
    expect(read.scripts[0]).to.deep.include({ displayName: "Install", timeoutSeconds: 60, logPath: "/tmp/log" });
    expect(read.logSourceId).not.to.equal(read.scripts[0]!.logSourceId);
  });

  it("has the task of the workspace", async () => {
    const id = newId();
    await run(
      `insert into tasks (id, created_at, updated_at, owner_id, organization_id, name, initial_prompt, version_id, workspace_id)
       select $1, now(), now(), w.owner_id, w.organization_id, w.name, 'Do it', b.version_id, w.id
       from workspaces w join workspace_builds b on b.id = w.latest_build_id where w.id = $2`,
      id,
      workspace.id,
    );
    expect((await manifest()).task).to.deep.equal({ id, prompt: "Do it" });
  });

  it("delivers the secrets of the owner of the workspace, and only those", async () => {
    const other = await the().user("eve");
    await secret("theirs", { env_name: "THEIRS" }, other);
    await secret("key", { env_name: "API_KEY", file_path: "~/.key" });
    await secret("file", { file_path: "/etc/token" });
    await secret("stored", {});
    const { secretEnv, secretFiles, secretErrors } = await manifest();
    expect(secretEnv).to.deep.equal([{ name: "API_KEY", value: "value of key" }]);
    expect(secretFiles).to.deep.equal([
      { path: "/etc/token", content: "value of file" },
      { path: "~/.key", content: "value of key" },
    ]);
    expect(secretErrors).to.deep.equal([]);
    const { userSecrets } = await the().as(owner).graphql("{ userSecrets { name lastDeliveredAt } }");
    const delivered = Object.fromEntries(
      userSecrets.map((each: { name: string; lastDeliveredAt: unknown }) => [each.name, each.lastDeliveredAt !== null]),
    );
    expect(delivered).to.deep.equal({ file: true, key: true, stored: false });
  });

  it("is audited with the number of secrets, without their names and values", async () => {
    await secret("key", { env_name: "API_KEY" });
    await manifest();
    await manifest();
    const resourceId = workspace.agents[0]!.agentId;
    const events = await audited(the(), { action: "DELIVER", resourceId });
    expect(events).to.have.length(2);
    expect(events[0]).to.deep.include({
      actorKind: "agent",
      actorId: resourceId,
      resourceType: "workspace_agent",
      organizationId: the().defaultOrganization,
      diff: { workspaceId: { new: workspace.id }, secrets: { new: 1 } },
    });
    expect(JSON.stringify(events)).not.to.match(/API_KEY|value of key/);
  });

  it("delivers nothing if the delivery cannot be audited", async () => {
    await secret("key", { env_name: "API_KEY" });
    await run("alter table audit_events add constraint no_delivery check (action <> 'deliver') not valid");
    try {
      const failure = await agent.failure(query);
      expect(failure.code).to.equal("INTERNAL_SERVER_ERROR");
      expect(JSON.stringify(failure.errors)).not.to.include("value of key");
      const { userSecrets } = await the().as(owner).graphql("{ userSecrets { lastDeliveredAt } }");
      expect(userSecrets).to.deep.equal([{ lastDeliveredAt: null }]);
    } finally {
      await run("alter table audit_events drop constraint no_delivery");
    }
  });

  it("leaves out a secret whose ciphertext was copied from another row, and names it", async () => {
    await secret("a", { env_name: "A" });
    await secret("b", { env_name: "B" });
    await secret("c", { env_name: "C" });
    await run(
      `update user_secrets target set value_ciphertext = source.value_ciphertext, value_nonce = source.value_nonce
       from user_secrets source where target.user_id = $1 and source.user_id = $1 and target.name = 'b' and source.name = 'a'`,
      owner.id,
    );
    const before = the().app.services.deliveries.undelivered;
    const { secretEnv, secretErrors } = await manifest();
    expect(secretEnv.map(({ name }: { name: string }) => name)).to.deep.equal(["A", "C"]);
    expect(secretErrors).to.deep.equal([{ name: "b", reason: "The stored value cannot be decrypted." }]);
    expect(the().app.services.deliveries.undelivered).to.equal(before + 1);
    const metrics = await the().nobody.get("/metrics");
    expect(metrics.body).to.include(`steward_undelivered_secrets_total ${before + 1}`);
  });

  it("leaves out a secret whose name was reserved after it was stored", async () => {
    await secret("old", { env_name: "OLD", file_path: "~/old" });
    await run("update user_secrets set env_name = 'STEWARD_OLD' where user_id = $1", owner.id);
    const { secretEnv, secretFiles, secretErrors } = await manifest();
    expect([secretEnv, secretFiles]).to.deep.equal([[], []]);
    expect(secretErrors).to.deep.equal([{ name: "old", reason: "Names that begin with STEWARD_ are reserved." }]);
  });

  it("delivers secrets after their key was replaced", async () => {
    await secret("key", { env_name: "API_KEY" });
    await rotate(the().app);
    expect((await manifest()).secretEnv).to.deep.equal([{ name: "API_KEY", value: "value of key" }]);
  });

  it("delivers no secrets to a workspace whose owner keeps them out, or that is prebuilt", async () => {
    await secret("key", { env_name: "API_KEY", file_path: "~/.key" });
    await change(the(), workspace, { inject_user_secrets: false });
    expect(await manifest()).to.deep.include({ secretEnv: [], secretFiles: [], secretErrors: [] });

    const presetId = newId();
    await run(
      `insert into template_presets (id, created_at, version_id, name, parameters)
       select $1, now(), version_id, 'small', '{}' from workspace_builds where id = $2`,
      presetId,
      workspace.buildId,
    );
    await change(the(), workspace, { inject_user_secrets: true, prebuilt_preset_id: presetId });
    expect(await manifest()).to.deep.include({ secretEnv: [], secretFiles: [], secretErrors: [] });
  });

  it("is rejected unless the start runs or has succeeded, and is the latest build", async () => {
    const job = (status: string) =>
      run(
        "update provisioner_jobs set status = $2 where id = (select job_id from workspace_builds where id = $1)",
        workspace.buildId,
        status,
      );
    for (const status of ["pending", "canceling", "failed", "canceled"]) {
      await job(status);
      expect((await agent.failure(query)).code, status).to.equal("FORBIDDEN");
    }
    await job("running");
    await manifest();
    await change(the(), workspace, { latest_build_id: newId(), latest_transition: "stop", latest_status: "stopping" });
    expect((await agent.failure(query)).code).to.equal("FORBIDDEN");
    await endTokens(the(), workspace);
    expect((await agent.failure(query)).code).to.equal("UNAUTHENTICATED");
  });

  it("is rejected while the owner is suspended; the agent goes on otherwise", async () => {
    await secret("key", { env_name: "API_KEY" });
    await run("update users set status = 'suspended' where id = $1", owner.id);
    expect((await agent.failure(query)).code).to.equal("FORBIDDEN");
    await report(agent, "agentHeartbeat");
    // Without the end of its sessions, which others use.
    await run("update users set status = 'active', credential_epoch = 0 where id = $1", owner.id);
    expect((await manifest()).secretEnv).to.have.length(1);
  });

  it("is rejected for all other credentials", async () => {
    for (const client of [the().nobody, new Client(the().url, `stwa_${"0".repeat(43)}`)])
      expect((await client.failure(query)).code).to.equal("UNAUTHENTICATED");
    for (const person of [owner, the().owner])
      expect((await the().as(person).failure(query)).code).to.equal("UNAUTHENTICATED");
  });

  it("streams to the agent that the workspace is being stopped, first of all the current state", async () => {
    const watched = watch(the(), agent, "subscription { agentEventReceived { shutdown reason } }");
    await watched.received(1);
    await change(the(), workspace, { latest_transition: "stop", latest_status: "stopping" });
    await watched.received(2);
    expect(watched.events).to.deep.equal([
      { shutdown: false, reason: null },
      { shutdown: true, reason: "The workspace is being stopped." },
    ]);
    await endTokens(the(), workspace);
    expect(await watched.ended).to.equal(4403);
  });
});

// Agents that run outside of provisioner daemons: their credentials.
// Reaches for tables: a ciphertext was copied from another agent.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { change, renew, start, type Started } from "./support/agents.js";
import { setColumns, storedSecrets } from "./support/tables.js";
import { Client, type Person, world } from "./support/world.js";

const query = `query($workspace: UUID!, $agent: String!) {
  externalAgentCredentials(workspaceId: $workspace, agentName: $agent) { agentToken command } }`;

describe("external agents", () => {
  const the = world();
  let owner: Person;
  let workspace: Started;

  beforeEach(async () => {
    owner = await the().user("ada");
    const external = { external: true, scripts: [{ display_name: "Hello", script: "echo hello", run_on_start: true }] };
    const windows = { name: "win", os: "windows", arch: "arm64", external: true };
    workspace = await start(the(), owner, { name: "main", ...external }, windows, { name: "inside" });
  });

  const path = (agent: string, { id } = workspace) => `/api/v2/workspaces/${id}/external-agent/${agent}/credentials`;
  const read = (person: Person, agent = "main", of = workspace) => the().as(person).get(path(agent, of));
  const statusesOf = async (person: Person, agents: string[]) =>
    Promise.all(agents.map(async (agent) => (await read(person, agent)).status));

  it("have a token that their owner can read until the next start, on both surfaces", async () => {
    const { status, body } = await read(owner);
    expect(status).to.equal(200);
    expect(body.agent_token).to.match(/^stwa_[0-9A-Za-z]{43}$/);
    const url = `${the().app.services.config.accessUrl}/api/v2/init-script`;
    expect(body).to.deep.equal({
      agent_token: body.agent_token,
      command: `curl -fsSL "${url}/linux/amd64" | STEWARD_AGENT_TOKEN="${body.agent_token}" sh`,
    });
    expect(workspace.agents[0]).to.deep.include({ name: "main", external: true, token: null });
    const agent = new Client(the().url, body.agent_token);
    expect((await agent.graphql("{ agentManifest { agentName } }")).agentManifest.agentName).to.equal("main");

    await renew(the(), workspace);
    const { externalAgentCredentials } = await the()
      .as(owner)
      .graphql(query, { workspace: workspace.id, agent: "main" });
    expect(externalAgentCredentials).to.deep.equal({ agentToken: body.agent_token, command: body.command });

    const { body: windows } = await read(owner, "win");
    expect(windows.command).to.equal(
      `$env:STEWARD_AGENT_TOKEN="${windows.agent_token}"; iwr -useb "${url}/windows/arm64" | iex`,
    );
  });

  it("disclose their tokens to no other user", async () => {
    const w = the();
    const [admin, templateAdmin, member] = (await w.users("b", "c", "d")) as [Person, Person, Person];
    await w.grant(admin, "organization-admin");
    await w.grant(templateAdmin, "template-admin");
    for (const person of [w.owner, admin, templateAdmin])
      expect(await statusesOf(person, ["main", "inside", "none"])).to.deep.equal([403, 404, 404]);
    expect(await statusesOf(member, ["main", "none"])).to.deep.equal([404, 404]);
    expect((await w.nobody.get(path("main"))).status).to.equal(401);
    expect((await w.as(owner).get("/api/v2/workspaces/x/external-agent/main/credentials")).status).to.equal(400);
  });

  it("are found only in the latest build, if it is a start", async () => {
    expect(await statusesOf(owner, ["main", "inside", "none"])).to.deep.equal([200, 404, 404]);
    await change(the(), workspace, { latest_build_id: newId(), latest_transition: "stop", latest_status: "pending" });
    expect(await statusesOf(owner, ["main"])).to.deep.equal([404]);
  });

  it("have each delivery of their tokens audited, without the token", async () => {
    const { body } = await read(owner);
    const events = await audited(the(), { action: "DELIVER", resourceId: workspace.agents[0]!.agentId });
    expect(events).to.have.length(1);
    expect(events[0]).to.deep.include({
      actorKind: "user",
      actorId: owner.id,
      resourceType: "workspace_agent",
      resourceLabel: "main",
      diff: { workspaceId: { new: workspace.id } },
    });
    expect(JSON.stringify(events)).not.to.include(body.agent_token);
  });

  it("have no token if its ciphertext was copied from another agent", async () => {
    const [source, target] = workspace.agents.map(({ agentId }) => agentId);
    const [copied] = await storedSecrets(the(), "workspace_agents", "token", {
      where: { id: source },
      key: "token_key_id",
    });
    const { nonce, ciphertext } = copied!;
    await setColumns(the(), "workspace_agents", { id: target }, { token_nonce: nonce, token_ciphertext: ciphertext });
    const { status, body } = await read(owner, "win");
    expect(status).to.equal(409);
    expect(JSON.stringify(body)).not.to.include("stwa_");
  });
});

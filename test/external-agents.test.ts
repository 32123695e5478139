// Agents that run outside of provisioner daemons: their credentials, and the script that starts them.
// Looks inside: a ciphertext was copied from another agent.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { endTokens, renew, change, start, type Started } from "./support/agents.js";
import { eventually } from "./support/watchers.js";
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

  describe("on their machine", () => {
    let folder: string;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "agent-"));
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));

    /** Runs a command with the Node of the tests. Resolves with its exit code. */
    function run(command: string) {
      const env = { PATH: [dirname(process.execPath), process.env.PATH].join(":"), HOME: folder };
      const child = spawn("sh", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
      const printed: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
      const kill = () => {
        if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
      };
      return { ended, kill, printed };
    }

    it("are started by a public script, for each system and processor", async () => {
      const program = await the().nobody.get("/api/v2/init-script/agent.mjs");
      expect(program.status).to.equal(200);
      expect(program.headers.get("content-type")).to.equal("text/javascript; charset=utf-8");
      const sha256 = createHash("sha256").update(program.body).digest("hex");
      for (const system of ["linux", "darwin", "windows"])
        for (const processor of ["amd64", "arm64", "armv7"]) {
          const { status, headers, body } = await the().nobody.get(`/api/v2/init-script/${system}/${processor}`);
          expect([status, headers.get("content-type")]).to.deep.equal([200, "text/plain; charset=utf-8"]);
          expect(body).to.include(sha256).and.to.include(the().app.services.config.accessUrl);
        }
      for (const other of ["linux/386", "plan9/amd64", "constructor/amd64", "linux"])
        expect((await the().nobody.get(`/api/v2/init-script/${other}`)).status, other).to.equal(404);
      const post = await the().nobody.post("/api/v2/init-script/linux/amd64");
      expect([post.status, post.headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
    });

    it("connect, run their scripts, and end when the workspace is stopped", async () => {
      const { body } = await read(owner);
      const running = run(body.command);
      try {
        const seen = async () =>
          (
            await the()
              .as(owner)
              .graphql(
                `query($id: UUID!) { workspaceAgent(id: $id) { status lifecycleState version
                  scripts { exitCode status } logs { nodes { output } } } }`,
                { id: workspace.agents[0]!.agentId },
              )
          ).workspaceAgent;
        await eventually(async () => (await seen()).lifecycleState === "READY", running.printed.join(""), 20_000);
        // The heartbeat is another request than the reports.
        await eventually(async () => (await seen()).status === "CONNECTED", "it is connected");
        const state = await seen();
        expect(state.scripts).to.deep.equal([{ exitCode: 0, status: "OK" }]);
        await eventually(
          async () => (await seen()).logs.nodes.some(({ output }: { output: string }) => output === "hello"),
          "the output of the script",
        );
        await change(the(), workspace, { latest_transition: "stop", latest_status: "stopping" });
        expect(await running.ended).to.equal(0);
        await endTokens(the(), workspace);
        const agent = new Client(the().url, body.agent_token);
        expect((await agent.failure("{ agentManifest { agentName } }")).code).to.equal("UNAUTHENTICATED");
      } finally {
        running.kill();
      }
    });

    it("are not run without a token, nor if their program was changed", async () => {
      const script = (await the().nobody.get("/api/v2/init-script/linux/amd64")).body as string;
      const withoutToken = run(script);
      expect(await withoutToken.ended).to.equal(1);
      expect(withoutToken.printed.join("")).to.include("STEWARD_AGENT_TOKEN is not set");
      const other = script.replaceAll(/[0-9a-f]{64}/g, "0".repeat(64));
      const changed = run(`export STEWARD_AGENT_TOKEN=x\n${other}`);
      expect(await changed.ended).to.equal(1);
      expect(changed.printed.join("")).to.include("was changed on its way");
    });
  });
});

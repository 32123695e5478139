// Agents that run outside of provisioner daemons: the script that starts the compiled program on their machine.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { endTokens, change, start, type Started } from "../support/agents.js";
import { eventually } from "../support/watchers.js";
import { Client, type Person, world } from "../support/world.js";

describe("external agents on their machine", () => {
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

  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "agent-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command with the Node of the tests. `ended` resolves with its exit code, once its output is read. */
  function run(command: string) {
    const env = { PATH: [dirname(process.execPath), process.env.PATH].join(":"), HOME: folder };
    const child = spawn("sh", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const printed: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
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
      await eventually(
        async () => (await seen()).lifecycleState === "READY",
        () => running.printed.join(""),
        60_000,
      );
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

// The daemons of this project, and a plain one, against the server.
// Looks inside: no interface shows the state that a build stores.
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { isRunning, readReport, server } from "../../support/children.js";
import { startServer } from "../../support/app.js";
import { plainDaemon } from "../../support/plain-daemon.js";
import { type Program, spawnProgram } from "../../support/process.js";
import { newKey, queueImport, queueImports } from "../../support/provisioners.js";
import { createBox, readBox, remove } from "../../support/builds.js";
import { makeTemplate } from "../../support/templates.js";
import { driveTerraform, hasTerraform } from "../../support/terraform-worker.js";
import { storedText } from "../../support/tables.js";
import { eventually } from "../../support/watchers.js";
import { world } from "../../support/world.js";

type W = ReturnType<ReturnType<typeof world>>;

/** Milliseconds for what processes do. */
const timeout = 30_000;

const statusOf = async (w: W, id: string): Promise<string> => {
  const query = `query($id: UUID!) { provisionerJob(id: $id) { status } }`;
  return (await w.as(w.owner).graphql(query, { id })).provisionerJob.status;
};
const succeeds = (w: W, id: string) =>
  eventually(async () => (await statusOf(w, id)) === "SUCCEEDED", `the success of job ${id}`, timeout);

describe("the built-in provisioner daemon", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "true" });

  it("does the jobs of every organization, of later ones too, without any other daemon", async () => {
    await succeeds(w(), await queueImport(w()));
    const { id: organizationId } = await w().organization();
    await succeeds(w(), await queueImport(w(), { organizationId }));
  });

  it("is listed under the reserved key", async () => {
    const { body } = await w().as(w().owner).get("/api/v2/organizations/default/provisionerkeys/daemons");
    const { daemons } = body.find(({ key }: { key: { name: string } }) => key.name === "built-in");
    expect(daemons).to.have.length(1);
    expect(daemons[0]).to.deep.include({ name: "built-in", provisioners: ["echo"] });
    expect(daemons[0].status).to.be.oneOf(["idle", "busy"]);
  });

  it("imports templates that have parameters without defaults in URLs", async () => {
    const url = "http://${param.host}:${param.port}/";
    const document = {
      schema: "steward.template/1",
      provisioner: "echo",
      parameters: [
        { name: "host", type: "string" },
        { name: "port", type: "number" },
      ],
      resources: [
        {
          type: "box",
          name: "main",
          agents: [{ name: "main", os: "linux", arch: "amd64", apps: [{ slug: "site", url }] }],
        },
      ],
    };
    const { version } = await makeTemplate(w(), { document }, { isImported: false });
    const importOf = `query($id: UUID!) { templateVersion(id: $id) { job { status error } } }`;
    const job = async () => (await w().as(w().owner).graphql(importOf, { id: version })).templateVersion.job;
    await eventually(async () => !["PENDING", "RUNNING"].includes((await job()).status), "the import", timeout);
    expect(await job()).to.deep.equal({ status: "SUCCEEDED", error: null });
  });

  it("is shared by the replicas, which do each job once", async () => {
    const replica = await startServer(w().database.url, { STEWARD_BUILTIN_DAEMON: "true" });
    const ids = await queueImports(w(), 20);
    for (const id of ids) await succeeds(w(), id);
    await replica.close();
    await succeeds(w(), await queueImport(w()));
    const { provisionerDaemons } = await w()
      .as(w().owner)
      .graphql(`{ provisionerDaemons(organization: "default") { id } }`);
    expect(provisionerDaemons).to.have.length(1);
  });
});

describe("daemons of other programs", () => {
  const w = world();

  it("can be written with nothing but the protocol", async () => {
    const id = await queueImport(w());
    const daemon = plainDaemon(w().app.url, await newKey(w()), "echo", "plain");
    expect((await daemon.next()).value).to.equal(id);
    expect(await statusOf(w(), id)).to.equal("SUCCEEDED");
    await daemon.return(undefined);
  });

  const ifTerraform = hasTerraform ? it : it.skip;
  ifTerraform(
    `can drive Terraform${hasTerraform ? "" : " (skipped: there is no `terraform` on the PATH)"}`,
    async () => {
      const source = { resource: { terraform_data: { box: { input: "made by a build" } } } };
      const document = { schema: "steward.template/1", provisioner: "terraform", source, resources: [{ name: "box" }] };
      const { id } = await makeTemplate(w(), { document }, { isImported: false });
      const daemon = plainDaemon(w().app.url, await newKey(w()), "terraform", "terraform", driveTerraform);
      await daemon.next();
      const { workspace } = await createBox(w(), w().owner, id);
      await daemon.next();
      expect(await readBox(w(), w().owner, workspace.id)).to.include({ status: "RUNNING" });
      const states = () =>
        w().app.services.database.pool.query(
          "select state->'resources' as resources from workspace_builds where workspace_id = $1 order by build_number",
          [workspace.id],
        );
      expect((await states()).rows[0].resources).to.have.nested.property("[0].type", "terraform_data");
      await w().as(w().owner).graphql(remove, { workspace: workspace.id });
      await daemon.next();
      expect((await states()).rows[1].resources).to.deep.equal([]);
      await daemon.return(undefined);
    },
  );
});

describe("npm run provisioner, on the server", () => {
  const w = world();
  let directory: string;
  let settings: NodeJS.ProcessEnv;
  const programs: Program[] = [];

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "server-")));
    await chmod(directory, 0o711);
    settings = {
      STEWARD_URL: w().app.url,
      STEWARD_PROVISIONER_KEY: await newKey(w()),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    };
  });
  after(async () => {
    for (const { child } of programs) child.kill("SIGKILL");
    await Promise.all(programs.map(({ ended }) => ended));
    await rm(directory, { recursive: true });
  });

  const provisioner = () => {
    const program = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user"], settings);
    programs.push(program);
    return program;
  };
  const run = (query: string, variables: Record<string, unknown> = {}) => w().as(w().owner).graphql(query, variables);
  const check = { url: "http://${host.address}:${port.web}", interval: 1, threshold: 1 };
  const document = {
    schema: "steward.template/1",
    provisioner: "process",
    resources: [
      {
        name: "box",
        agents: [
          {
            name: "main",
            os: "linux",
            arch: "amd64",
            command: server(),
            apps: [{ slug: "web", url: "http://${host.address}:${port.web}", healthcheck: check }],
            scripts: [
              { display_name: "Hello", script: "echo hello", run_on_start: true },
              { display_name: "Bye", script: "echo bye", run_on_stop: true },
            ],
          },
        ],
      },
    ],
  };
  const state = async () => {
    const query = `{ workspaceByName(owner: "me", name: "first") { id latestBuild { status resources { agents {
      status lifecycleState apps { health } logs { nodes { output } } } } } } }`;
    const { id, latestBuild } = (await run(query)).workspaceByName;
    return { id, status: latestBuild.status, agent: latestBuild.resources[0]?.agents[0] };
  };
  const isHealthy = async () => {
    const { agent } = await state();
    return agent?.status === "CONNECTED" && agent.lifecycleState === "READY" && agent.apps[0].health === "HEALTHY";
  };

  it("runs a workspace from its template to its end, with the owner's secrets, over a crash of the daemon", async () => {
    const first = provisioner();
    const secret = { name: "s", value: "confidential", env_name: "SECRET", file_path: "~/secret" };
    expect((await w().as(w().owner).post("/api/v2/users/me/secrets", secret)).status).to.equal(201);
    const { createTemplate } = await run(
      `mutation ($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } templateVersion { job { id } } } }`,
      { input: { organization: "default", name: "chat", document } },
    );
    await succeeds(w(), createTemplate.templateVersion.job.id);
    await run(`mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }`, {
      input: { templateId: createTemplate.template.id, name: "first" },
    });
    await eventually(isHealthy, "a healthy workspace", timeout);
    const { id } = await state();
    const home = join(directory, id, "home");
    const report = readReport(home);
    expect(report.env).to.include({ SECRET: "confidential", STEWARD_URL: w().app.url, STEWARD_WORKSPACE_ID: id });
    expect(readFileSync(join(home, "secret"), "utf8")).to.equal("confidential");
    expect(JSON.stringify(report)).not.to.contain(settings.STEWARD_PROVISIONER_KEY);
    const hasGreeted = async () =>
      (await state()).agent.logs.nodes.some(({ output }: { output: string }) => output === "hello");
    await eventually(hasGreeted, "the output of the script", timeout);

    first.child.kill("SIGKILL");
    await first.ended;
    const second = provisioner();
    await eventually(async () => second.output().includes("Continuing with agent main"), "the adoption", timeout);
    expect([report.pid, report.grandchild].map(isRunning)).to.deep.equal([true, true]);
    // While no daemon ran, the agent may have been silent for long.
    await eventually(isHealthy, "the workspace is still healthy", timeout);

    await run(`mutation { stopWorkspace(input: { workspace: "me/first" }) { workspaceBuild { id } } }`);
    await eventually(async () => (await state()).status === "STOPPED", "the stop", timeout);
    expect([report.pid, report.grandchild].map(isRunning)).to.deep.equal([false, false]);

    await run(`mutation { deleteWorkspace(input: { workspace: "me/first" }) { workspaceBuild { id } } }`);
    await eventually(async () => second.output().includes("delete of owner/first) succeeded"), "the deletion", timeout);
    expect(await storedText(w(), "workspace_builds"))
      .to.contain("ports")
      .and.not.contain("confidential");
  });

  it("ends when its key is deleted", async () => {
    const key = await w().as(w().owner).post("/api/v2/organizations/default/provisionerkeys", { name: "short" });
    const program = spawnProgram("dist/provisioner/main.js", [], {
      ...settings,
      STEWARD_PROVISIONER_KEY: key.body.key,
      STEWARD_PROVISIONER_NAME: "short",
      STEWARD_PROVISIONER_TYPES: "echo",
    });
    await eventually(async () => program.output().includes("Connected."), "the connection", timeout);
    await w().as(w().owner).delete("/api/v2/organizations/default/provisionerkeys/short");
    expect(await program.ended).to.equal(1);
    expect(program.stderr()).to.contain("was deleted");
  });
});

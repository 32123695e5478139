// The command for the health of the deployment, and the health in the lists of workspaces.
// Reaches for tables: the checks are run when the test asks for it, and a build waits for minutes.
import { expect } from "chai";
import { checkHealth } from "../support/background.js";
import { boxOf, createBox, runningBox, templateOf } from "../support/builds.js";
import { UserCli } from "../support/cli.js";
import { startUnchecked } from "../support/health.js";
import { letPass, setColumns, setTimes } from "../support/tables.js";
import type { Anything, World } from "../support/world.js";

describe("the commands for health", () => {
  let w: World;
  let cli: UserCli;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    w = await startUnchecked();
    cli = await UserCli.open();
    await cli.signIn(w.app.services.config.accessUrl, w.owner);
    env = { STEWARD_URL: w.app.services.config.accessUrl, STEWARD_TOKEN: w.owner.token };
  });
  after(async () => {
    await cli.close();
    await w.close();
  });

  /** Runs a command with a token that may read and change settings, which applications may not by themselves. */
  const run = (...words: string[]) => cli.runWith({ env }, ...words);

  it("show what needs attention, and fail if something has failed", async () => {
    const early = await run("health");
    expect(early).to.deep.include({ status: 0, stdout: "" });
    expect(early.stderr).to.contain("have not run yet");
    await checkHealth(w.app);

    const { status, stdout } = await run("health");
    expect(status, "tests run without fsync").to.equal(1);
    const rows = stdout.trimEnd().split("\n");
    expect(rows[0]!.split("\t").slice(0, 2)).to.deep.equal(["database_settings", "error"]);
    expect(stdout).to.contain("daemons\twarning").and.not.contain("backups");
    const all = JSON.parse((await run("health", "--all", "--json")).stdout);
    expect(all.find(({ code }: Anything) => code === "BACKUPS")).to.include({ state: "OK" });
  });

  it("mute a check, and let it be heard again", async () => {
    const muted = await run("health", "mute", "database_settings", "--for", "12h");
    expect(muted.stdout, muted.stderr).to.match(/^The check Database settings is muted until .+Z\.\n$/);
    expect(await run("health")).to.include({ status: 0 });
    expect((await run("health", "--all")).stdout).to.contain("error (muted)");
    expect((await run("health", "mute", "database_settings", "--end")).status).to.equal(0);
    expect(await run("health")).to.include({ status: 1 });
    for (const wrong of [["nothing"], ["clock", "--for", "a while"]])
      expect((await run("health", "mute", ...wrong)).status).to.equal(2);
  });

  it("say what is wrong with workspaces, and list those alone", async () => {
    const template = await templateOf(w, boxOf());
    await createBox(w, w.owner, template.id, { name: "fine" });
    const { workspaceBuild } = await createBox(w, w.owner, template.id, { name: "stuck" });
    await letPass(w, "provisioner_jobs", { workspace_build_id: workspaceBuild.id }, "10 min", ["created_at"]);
    const listed = await cli.json("workspaces", "list", "--unhealthy");
    expect(listed.map(({ name }: Anything) => name)).to.deep.equal(["stuck"]);
    expect(await cli.output("workspaces", "list")).to.contain("\tIts build is in progress.\n");
    expect(await cli.output("workspaces", "show", "stuck")).to.contain("What helps\tAn administrator has to start");
    expect(await cli.json("tasks", "list", "--unhealthy")).to.deep.equal([]);
  });

  it("say of apps what their agent reports, and nothing once it is lost", async () => {
    const apps = [{ slug: "web", url: "http://127.0.0.1:9/" }];
    const agents = [{ name: "main", os: "linux", arch: "amd64", apps }];
    const template = await templateOf(w, boxOf(0, { resources: [{ name: "box", daily_cost: 0, agents }] }));
    const { workspace } = await runningBox(w, w.owner, template.id, { name: "with-app" });
    await setColumns(w, "workspace_apps", { slug: "web" }, { health: "healthy" });
    const seen = (time: string) =>
      setTimes(
        w,
        "workspace_agents",
        { workspace_id: workspace.id },
        { first_connected_at: "-1 h", last_connected_at: time },
      );
    await seen("1 h");
    expect(await cli.output("workspaces", "show", "with-app")).to.contain("App web\thealthy\n");
    await seen("-10 min");
    expect(await cli.output("workspaces", "show", "with-app")).to.contain("App web\tunknown\n");
  });
});

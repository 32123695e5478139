// The health of the deployment, of workspaces, and of tasks, in the console.
// Reaches for tables: the checks are run when the test asks for it, and agents fall silent by their rows.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { Result } from "axe-core";
import { checkHealth } from "../support/background.js";
import { boxOf, createBox, endBuild, runningBox, templateOf } from "../support/builds.js";
import { consoleTests } from "../support/console.js";
import { AgentProgram } from "../support/agent-api.js";
import { countRows, deleteRows, letPass, setColumns, setTimes } from "../support/tables.js";
import { TaskStage } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";

const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const pictures = process.env.STEWARD_TEST_PICTURES;

describe("health in the console", () => {
  const console = consoleTests({ STEWARD_HEALTH_INTERVAL: "1d", STEWARD_BUILTIN_DAEMON: "false" });
  let lost: { id: string; name: string };
  let stuck: { id: string };

  it("shows administrators what needs attention, and lets them mute it", async () => {
    const { world: w, asOwner, text, row, fill, notice, page, button } = console();
    // The server itself checks once, seconds after its start: it has begun already if the browser started slowly.
    const checked = { health_checked_at: new Date() };
    if ((await setColumns(w, "deployment", { health_checked_at: null }, checked)) === 0) {
      await eventually(async () => (await countRows(w, "health_checks")) > 0, "the checks of the server");
      await deleteRows(w, "health_checks", {});
    }
    await asOwner("/health");
    await text("There are no results");
    const template = await templateOf(w, boxOf());
    const { workspaceBuild } = await createBox(w, w.owner, template.id, { name: "waiting" });
    await letPass(w, "provisioner_jobs", { workspace_build_id: workspaceBuild.id }, "10 min", ["created_at"]);
    await checkHealth(w.app);

    await asOwner("/");
    const tile = page.getByRole("link", { name: /^Health/ }).filter({ hasText: "Database settings" });
    await tile.click();
    await page.getByRole("heading", { name: /checks need attention/ }).waitFor();
    await row(/Jobs without a daemon/)
      .getByText("Start a daemon with these tags")
      .waitFor();
    await fill("Mute Database settings", { Time: "For a week" }, "Mute");
    await notice("Database settings is muted.");
    await row(/Database settings/, "Muted")
      .getByText(/Until/)
      .waitFor();
    await button("Unmute Database settings").click();
    await page.getByRole("heading", { name: "Muted" }).waitFor({ state: "detached" });

    const docs = await page.getByRole("link", { name: "What it means: Database settings" }).getAttribute("href");
    await page.goto(docs!);
    await page.getByRole("heading", { name: "Database settings" }).waitFor();
  });

  it("shows auditors all of it, and no button", async () => {
    const { world: w, openAs, text, offered } = console();
    const auditor = await w.user("auditor");
    await w.grant(auditor, "auditor");
    await openAs(auditor, "/health");
    await text("Database settings");
    expect(await offered()).to.deep.equal([]);
  });

  it("is not green for a workspace whose agent is down, and says what helps", async () => {
    const { world: w, asOwner, text, row, page, link } = console();
    const apps = [{ slug: "web", url: "http://127.0.0.1:9/" }];
    const agents = [{ name: "main", os: "linux", arch: "amd64", apps }];
    const template = await templateOf(w, boxOf(0, { resources: [{ name: "box", daily_cost: 0, agents }] }));
    lost = (await runningBox(w, w.owner, template.id, { name: "lost" })).workspace;
    const seen = { first_connected_at: "-1 h", last_connected_at: "-10 min" };
    await setTimes(w, "workspace_agents", { workspace_id: lost.id }, seen);
    await setColumns(w, "workspace_agents", { workspace_id: lost.id }, { lifecycle: "ready" });
    await setColumns(w, "workspace_apps", { slug: "web" }, { health: "healthy" });
    const { workspaceBuild } = await createBox(w, w.owner, template.id, { name: "broken" });
    await endBuild(w, workspaceBuild.id, "failed", {}, "No machine is free.");
    const fine = (await runningBox(w, w.owner, template.id, { name: "fine" })).workspace;
    await setTimes(
      w,
      "workspace_agents",
      { workspace_id: fine.id },
      { first_connected_at: "-1 h", last_connected_at: "1 h" },
    );
    await setColumns(w, "workspace_agents", { workspace_id: fine.id }, { lifecycle: "ready" });

    await asOwner("/");
    await page
      .getByRole("region", { name: "Yours that need attention" })
      .getByText("has lost its connection")
      .waitFor();
    await asOwner("/workspaces");
    await row(/^.*lost/)
      .getByText("Unhealthy")
      .waitFor();
    expect(await row(/fine/).locator(".status.good").count()).to.equal(1);
    expect(
      await row(/lost|broken|waiting/)
        .locator(".status.good")
        .count(),
    ).to.equal(0);
    await page.getByLabel("Health").selectOption("Unhealthy");
    await row(/fine/).waitFor({ state: "detached" });
    expect(page.url()).to.contain("unhealthy=yes");
    await link("lost").click();
    await text("The agent main has lost its connection");
    await text("Otherwise restart the workspace.");
    expect(await page.getByRole("definition").first().locator(".status.bad").count()).to.equal(1);
    const green = () => page.getByRole("main").locator(".status.good").count();
    await link("Open web").waitFor();
    await text("Unknown");
    expect(await green(), "the app of which its agent reports nothing").to.equal(0);
    await asOwner(`/workspaces/${lost.id}/extend`);
    await text("Unhealthy");
    expect(await green()).to.equal(0);
    await asOwner(`/users/${w.owner.id}`);
    await page.getByRole("region", { name: "Workspaces" }).getByText("Unhealthy").waitFor();
  });

  it("is not green for a task whose app is down, and says on its page what it said last and what helps", async () => {
    const { world: w, asOwner, text, row, page } = console();
    const program = await AgentProgram.open();
    const stage = await TaskStage.open(w, program);
    try {
      const { task, token } = await stage.active(w.owner, { name: "stuck" });
      await stage.status(token, "WORKING", "Compiling");
      await stage.health(token, "UNHEALTHY");
      stuck = task;
      await asOwner("/tasks?unhealthy=yes");
      await row(/Fix the login bug/)
        .getByText("Error")
        .waitFor();
      expect(
        await row(/Fix the login bug/)
          .locator(".status.good")
          .count(),
      ).to.equal(0);
      await asOwner(`/tasks/${task.id}`);
      await text("The app of the task is unhealthy.");
      expect(await page.getByRole("main").locator("dl .status.good").count()).to.equal(0);
    } finally {
      stage.close();
      await program.close();
    }
  });

  it("fits every screen, and keeps the rules of axe", async () => {
    const { page, visit, asOwner, open } = console();
    await asOwner("/");
    const session = await visit.newCDPSession(page);
    for (const path of [
      "/",
      "/health",
      "/workspaces?unhealthy=yes",
      `/workspaces/${lost.id}`,
      "/tasks?unhealthy=yes",
      `/tasks/${stuck.id}`,
    ]) {
      await open(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await page.waitForLoadState("networkidle");
      await session.send("Runtime.evaluate", { expression: axe });
      for (const [name, colorScheme, width] of [
        ["light", "light", 1280],
        ["dark", "dark", 1280],
        ["phone", "light", 360],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        const { result } = await session.send("Runtime.evaluate", {
          expression: "axe.run().then(({ violations }) => JSON.stringify(violations))",
          awaitPromise: true,
          returnByValue: true,
        });
        const violations = (JSON.parse(result.value as string) as Result[]).map(({ id }) => id);
        expect(violations, `${path} ${name}`).to.deep.equal([]);
        const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        expect(await page.evaluate(overflow), `${path} ${name}`).to.equal(0);
        if (pictures)
          await page.screenshot({ path: `${pictures}/${path.replaceAll(/\W+/g, "-")}-${name}.png`, fullPage: true });
      }
    }
  });
});

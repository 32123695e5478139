// The demonstration in a browser: what a visitor does first, as each of the accounts that it prints.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { emailOf } from "../../examples/demo/company.js";
import { launchBrowser } from "../support/browser.js";
import { DemoRun } from "../support/demo.js";
import { freePort } from "../support/ports.js";
import { eventually, slowness } from "../support/watchers.js";
import type { Anything } from "../support/world.js";

/** Milliseconds that a visitor waits for what a click does. */
const most = () => 60_000 * slowness();

/** Whether a process runs. One that has ended stays on record until its parent, or what took its place, has read how. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** The processes that a process has started with a program. */
function childrenOf(parent: number, program: string): number[] {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" }).trim().split("\n");
  return lines
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)!)
    .filter(([, , ppid, words]) => Number(ppid) === parent && words!.includes(program))
    .map(([, pid]) => Number(pid));
}

describe("a visitor of the demonstration", function () {
  this.timeout(600_000);
  let directory: string;
  let run: DemoRun;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;

  before(async () => {
    directory = join(await mkdtemp(join(tmpdir(), "steward-visit-")), "demo-data");
    await chmod(dirname(directory), 0o755);
    [run, browser] = await Promise.all([
      freePort("127.0.0.1").then((port) => DemoRun.start(directory, port)),
      launchBrowser(),
    ]);
  });
  after(async () => {
    await browser.close();
    await run.stop();
    await rm(dirname(directory), { recursive: true, maxRetries: 5 });
  });
  beforeEach(async () => {
    visit = await browser.newContext({ locale: "en-US" });
    // Of all its pages, also those that links open.
    visit.setDefaultTimeout(most());
    page = await visit.newPage();
  });
  afterEach(() => visit.close());

  const button = (name: string | RegExp) => page.getByRole("main").getByRole("button", { name, exact: true });
  const heading = (name: string | RegExp) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const status = (name: string) => page.locator("main dl .status", { hasText: new RegExp(`^${name}$`) }).waitFor();
  const said = (text: string | RegExp) => page.locator(".conversation").getByText(text).last().waitFor();

  async function signIn(username: string): Promise<void> {
    await page.goto(`${run.url()}/login`);
    await page.getByLabel("Email").fill(emailOf({ username }));
    await page.getByLabel("Password", { exact: true }).fill(run.passwordOf(username));
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("navigation").first().waitFor();
  }

  /** Opens the page of an app, and keeps notes in it. */
  async function useApp(name: string, text: string): Promise<void> {
    const opened = visit.waitForEvent("page");
    await page.getByRole("link", { name: `Open ${name}` }).click();
    const app = await opened;
    // After a restart of the demonstration, the program of the app starts again, and the browser has to ask again.
    const isShown = async () => {
      if ((await app.getByLabel(/^Notes in/).count()) > 0) return true;
      await app.reload().catch(() => {});
      return false;
    };
    await eventually(isShown, "the page of the app", most());
    await app.getByLabel(/^Notes in/).fill(text);
    await app.getByRole("button", { name: "Save" }).click();
    await app.getByText("Saved.").waitFor();
    await app.reload();
    expect(await app.getByLabel(/^Notes in/).inputValue()).to.equal(text);
    await app.close();
  }

  async function send(text: string): Promise<void> {
    await page.getByRole("main").getByRole("textbox").last().fill(text);
    await button("Send").click();
  }

  for (const username of ["olivia", "amara", "liam"])
    it(`creates, opens, stops, and starts a workspace, and works with a task as ${username}`, async () => {
      await signIn(username);
      await page.goto(`${run.url()}/workspaces`);
      await button("Create a workspace").click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Template").selectOption({ label: "Node service" });
      await dialog.getByRole("button", { name: "Next" }).click();
      await dialog.getByLabel("Name").fill("first");
      await dialog.getByRole("button", { name: "Create", exact: true }).click();
      await heading("first");
      await status("Running");
      await page.locator(".agent .status", { hasText: /^Connected$/ }).waitFor();
      await useApp("Editor", `Notes of ${username}`);
      await button("Stop").click();
      await status("Stopped");
      await button("Start").click();
      await status("Running");
      await page.locator(".agent .status", { hasText: /^Connected$/ }).waitFor();

      await page.goto(`${run.url()}/tasks`);
      await button("Create a task").click();
      await dialog.getByLabel("Prompt").fill("Make the login page faster");
      await dialog.getByLabel("Template").selectOption({ label: "Coding assistant" });
      await dialog.getByRole("button", { name: "Create", exact: true }).click();
      await status("Active");
      await said(/The change is small/);
      await send("Push it");
      await button("Allow").click();
      await said(/Done\. You find it/);
      await send("fail");
      await said(/I was told to fail/);
      await button("Pause").click();
      await status("Paused");
      await button("Resume").click();
      await status("Active");
      await send("And the sign-up page?");
      await said(/Two callers rely|One decision is yours/);
    });

  it("decides what a task of the company waits for, and resumes one of last week, as liam", async () => {
    await signIn("liam");
    await page.goto(`${run.url()}/tasks`);
    await page.getByRole("link", { name: "Fix the flaky upload test" }).click();
    await said(/the retry timer is not cleared/);
    await button("Allow").click();
    await said(/Done\. You find it/);
    const liam = await run.as("liam");
    const { tasks } = await liam.run(`{ tasks(filter: { owner: "me", status: [PAUSED] }) { nodes { id } } }`);
    for (const { id } of tasks.nodes.slice(0, 1)) {
      await page.goto(`${run.url()}/tasks/${id}`);
      await button("Resume").click();
      await status("Active");
    }
  });

  it("gets a board whose agent connects, unless all are taken", async () => {
    const olivia = await run.as("olivia");
    const { templateByName } = await olivia.run(
      `{ templateByName(organization: "default", name: "board-farm") { id } }`,
    );
    const input = { name: "a-board", templateId: templateByName.id as string };
    const { workspace } = await olivia.mutate("createWorkspace", input, "workspace { id }");
    const query = `{ workspace(id: "${workspace.id}") { status latestBuild { resources { agents { status } } } } }`;
    await eventually(
      async () => {
        const { workspace: seen } = await olivia.run(query);
        if (seen.status === "FAILED") await olivia.mutate("startWorkspace", { workspace: workspace.id });
        return JSON.stringify(seen).includes("CONNECTED");
      },
      "the agent of the board",
      most(),
    );
  });

  it("still works after its daemon was killed, which starts again", async () => {
    const [daemon] = childrenOf(run.program.child.pid!, "dist/provisioner/main.js");
    process.kill(daemon!, "SIGKILL");
    await eventually(() => run.program.output().includes("The daemon has ended"), "the notice", most());
    await signIn("liam");
    await page.goto(`${run.url()}/workspaces?owner=me`);
    await page.getByRole("link", { name: "first", exact: true }).click();
    await button("Stop").click();
    await status("Stopped");
    await button("Start").click();
    await status("Running");
    await page.locator(".agent .status", { hasText: /^Connected$/ }).waitFor();
  });

  it("leaves no program behind when it ends, and finds its workspaces again", async () => {
    const port = new URL(run.url()).port;
    /** The leaders of groups of processes that the daemon has recorded and that run. */
    const programs = async () => {
      const { running } = JSON.parse(await readFile(join(directory, "demo.json"), "utf8")) as { running: Anything };
      const names = (await readdir(running.directory as string)).filter((name) => name.includes("-"));
      const states = await Promise.all(
        names.map((name) => readFile(join(running.directory, name, "state.json"), "utf8")),
      );
      return states
        .flatMap((state): Anything[] => JSON.parse(state).agents)
        .flatMap(({ processes }) => processes.groups.map(({ pid }: Anything) => pid as number))
        .filter((pid: number) => isRunning(pid));
    };
    expect(await programs()).not.to.deep.equal([]);
    const before = await programs();
    await run.stop();
    expect(before.filter(isRunning), await readFile(join(directory, "daemon.log"), "utf8")).to.deep.equal([]);
    run = await DemoRun.start(directory, Number(port));
    await signIn("liam");
    await page.goto(`${run.url()}/workspaces?owner=me`);
    await page.getByRole("link", { name: "first", exact: true }).click();
    await page.locator(".agent .status", { hasText: /^Connected$/ }).waitFor();
    await useApp("Editor", "Still here");
  });
});

// The dashboard, as built, in a real browser with a real server.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { freePort } from "../../../src/runtime/ports.js";
import { ownerPassword } from "../../../test/support/app.js";
import { launchBrowser } from "../../../test/support/browser.js";
import { GithubServer } from "../../../test/support/providers.js";
import { type Person, startWorld, userPassword, type World } from "../../../test/support/world.js";
import { buildDashboard, serveDashboard } from "./served.js";

const echo = {
  schema: "steward.template/1",
  provisioner: "echo",
  ai_task: { agent: "main", app: "chat" },
  resources: [
    {
      name: "box",
      agents: [
        {
          name: "main",
          os: "linux",
          arch: "amd64",
          external: true,
          apps: [{ slug: "chat", url: "http://127.0.0.1:9" }],
        },
      ],
    },
  ],
};

describe("the example dashboard", () => {
  let w: World;
  let github: GithubServer;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;
  let served: ChildProcess;
  let home: string;
  const complaints: string[] = [];

  before(async function () {
    this.timeout(180_000);
    buildDashboard();
    github = await GithubServer.open();
    const port = await freePort("127.0.0.1");
    home = `http://localhost:${port}`;
    w = await startWorld({
      ...github.settings,
      STEWARD_ACCESS_URL: home,
      STEWARD_OIDC_EMAIL_DOMAINS: "new.example.com",
      STEWARD_BUILTIN_DAEMON: "true",
    });
    [served, browser] = await Promise.all([serveDashboard(port, w.url), launchBrowser()]);
  });
  after(async () => {
    await browser.close();
    served.kill();
    if (served.exitCode === null && served.signalCode === null) await once(served, "exit");
    await w.close();
    await github.close();
  });
  beforeEach(async () => {
    visit = await browser.newContext();
    page = await visit.newPage();
    page.setDefaultTimeout(20_000);
    complaints.length = 0;
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // The browser itself reports failures that the dashboard handles.
      const isOurs = !/^(Failed to load resource|WebSocket connection)/.test(message.text());
      if (["error", "warning"].includes(message.type()) && isOurs) complaints.push(message.text());
    });
  });
  afterEach(async () => {
    await visit.close();
    expect(complaints).to.deep.equal([]);
  });

  const heading = (name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
  const field = (label: string) => page.getByRole("dialog").getByLabel(label);
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const alarm = () => page.getByRole("alert").filter({ hasText: /\S/ }).innerText();
  const cells = (table: string) =>
    page.getByRole("table", { name: table }).locator("tbody tr td:first-child").allInnerTexts();

  async function signIn(email: string, password: string, path = "/workspaces") {
    await page.goto(home + path);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(password);
    await button("Sign in").click();
  }
  const asOwner = (path?: string) => signIn("owner@example.com", ownerPassword, path);
  const asPerson = (person: Person, path?: string) => signIn(person.email, userPassword, path);
  const owner = () => w.as(w.owner);

  /** Creates a template, and waits until its version is imported. Returns its ID. */
  async function readyTemplate(name: string): Promise<string> {
    const { createTemplate } = await owner().graphql(
      "mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } templateVersion { id } } }",
      { input: { organization: "default", name, document: echo } },
    );
    const imported = async () =>
      (
        await owner().graphql("query($id: UUID!) { templateVersion(id: $id) { isImported } }", {
          id: createTemplate.templateVersion.id,
        })
      ).templateVersion.isImported as boolean;
    while (!(await imported())) await new Promise((done) => setTimeout(done, 50));
    return createTemplate.template.id as string;
  }

  it("signs in with the keyboard, says what is wrong, and returns to the page", async () => {
    await page.goto(`${home}/users?status=ACTIVE`);
    await page.getByLabel("Email").focus();
    await page.keyboard.type("owner@example.com");
    await page.keyboard.press("Tab");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    expect(await alarm()).to.match(/password/i);
    await page.getByLabel("Password").fill(ownerPassword);
    await page.keyboard.press("Enter");
    await heading("Users");
    expect(new URL(page.url()).search).to.equal("?status=ACTIVE");
  });

  it("signs in at a provider, changes data with that session, and signs out", async () => {
    github.user = { id: 7, login: "nova", name: "Nova" };
    github.emails = [{ email: "nova@new.example.com", primary: true, verified: true }];
    await page.goto(`${home}/secrets`);
    await page.getByRole("link", { name: "Sign in with GitHub" }).click();
    await heading("Secrets");
    await page.getByText("Live", { exact: true }).waitFor();
    await button("Add a secret").click();
    await field("Name").fill("token");
    await field("Value").fill("a value");
    await button("Save").click();
    await page.getByRole("cell", { name: "token", exact: true }).waitFor();
    await button("Sign out").click();
    await heading("Sign in");
    expect(await visit.cookies()).to.deep.equal([]);
  });

  it("shows all faults of a form next to their fields, and conflicts", async () => {
    await asOwner("/users");
    await button("Create a user").click();
    await button("Create").click();
    await page.locator("[aria-invalid]").first().waitFor();
    const faulty = page.getByRole("dialog").locator(".field:has([aria-invalid])");
    expect(await faulty.locator("label").allInnerTexts()).to.deep.equal(["Email", "Username", "Password"]);
    expect(await faulty.locator(".fault").allInnerTexts())
      .to.have.length(3)
      .that.does.not.include("");
    expect(await page.locator(":focus").getAttribute("name")).to.equal("email");
    await field("Email").fill("another@example.com");
    await field("Username").fill("owner");
    await field("Password").fill("quite-a-long-password-indeed");
    await button("Create").click();
    await page.getByRole("dialog").getByText("in use").waitFor();
    expect(await field("Username").getAttribute("aria-invalid")).to.equal("true");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  it("sorts, searches, and pages users, with the place in the address", async () => {
    await w.users(...Array.from({ length: 27 }, (_, at) => `paged-${10 + at}`));
    await asOwner("/users?q=paged-");
    await page.getByText("25 of 27").waitFor();
    const first = await cells("Users");
    await button("Next").click();
    await page.getByText("2 of 27").waitFor();
    const rest = await cells("Users");
    expect(new Set([...first, ...rest]).size).to.equal(27);
    await page.goBack();
    await page.getByText("25 of 27").waitFor();
    await button("Username").click();
    await page.locator("[aria-sort=descending]").waitFor();
    await page
      .getByRole("cell", { name: /paged-36/ })
      .first()
      .waitFor();
    await page.getByRole("searchbox").fill("paged-12");
    await page.getByText("1 of 1").waitFor();
    expect(new URL(page.url()).searchParams.get("q")).to.equal("paged-12");
  });

  it("follows workspaces and tasks without a reload", async () => {
    await readyTemplate("live");
    await asOwner("/workspaces");
    await button("Create a workspace").click();
    await field("Name").fill("followed");
    await button("Create").click();
    const row = page.getByRole("row", { name: /followed/ });
    await row.getByText("Running").waitFor();
    await row.getByRole("button", { name: "Stop followed" }).click();
    await row.getByText("Stopped").waitFor();

    await page.getByRole("link", { name: "Tasks" }).click();
    await button("Create a task").click();
    await field("Prompt").fill("Count to three");
    await button("Create").click();
    await page.getByRole("region", { name: "Prompt" }).getByText("Count to three").waitFor();
    const id = page.url().split("/").at(-1)!;
    await page.getByText("Initializing").waitFor();
    const { task } = await owner().graphql("query($id: String!) { task(task: $id) { workspaceId } }", { id });
    const { externalAgentCredentials } = await owner().graphql(
      `query($id: UUID!) { externalAgentCredentials(workspaceId: $id, agentName: "main") { agentToken } }`,
      { id: task.workspaceId },
    );
    const agent = w.as({ token: externalAgentCredentials.agentToken });
    for (const change of [
      `reportAgentLifecycle(input: { state: STARTING })`,
      `reportAgentLifecycle(input: { state: READY })`,
      `reportAppStatus(input: { appSlug: "chat", state: WORKING, message: "One, two" })`,
    ])
      await agent.graphql(`mutation { ${change} { __typename } }`);
    await page.getByText("One, two").waitFor();
  });

  it("announces notifications, and catches up after a disconnect", async () => {
    const person = await w.user("reader");
    const send = (title: string) =>
      w
        .as(person)
        .graphql(
          `mutation($content: CustomNotificationContentInput!) { sendCustomNotification(input: { content: $content }) { __typename } }`,
          { content: { title, message: "**Bold** words" } },
        );
    await asPerson(person, "/inbox");
    await page.getByText("Live", { exact: true }).waitFor();
    await send("The first");
    await page.getByRole("article", { name: "The first" }).waitFor();
    await page.getByRole("link", { name: "Inbox 1 unread" }).waitFor();

    // The proxy in between ends, and with it the socket. What arrives meanwhile is there afterwards.
    served.kill();
    await once(served, "exit");
    await page.getByText("Not live").waitFor();
    await send("While away");
    served = await serveDashboard(Number(new URL(home).port), w.url);
    await page.getByRole("article", { name: "While away" }).waitFor();
    await button("Mark all as read").click();
    await page.getByText("Everything is read").waitFor();
  });

  it("returns to the sign-in page when the session ends, and then to the same place", async () => {
    const person = await w.user("leaver");
    await asPerson(person, "/secrets?x=1");
    await heading("Secrets");
    await w.as(person).graphql("mutation { revokeSessions { __typename } }");
    await page.getByRole("link", { name: "Tasks" }).click();
    await heading("Sign in");
    await page.getByLabel("Email").fill(person.email);
    await page.getByLabel("Password").fill(userPassword);
    await button("Sign in").click();
    await heading("Tasks");
  });

  it("offers members no pages of administrators, and explains why one does not open", async () => {
    const person = await w.user("member");
    await asPerson(person, "/audit");
    await page.getByRole("heading", { name: "You may not do this" }).waitFor();
    expect(await page.getByRole("link", { name: "Audit log" }).count()).to.equal(0);
    await page.goto(`${home}/users/${w.owner.id}`);
    await page.getByRole("heading", { name: "Not found" }).waitFor();
  });

  it("offers only actions that the caller may do, after one check for each view", async () => {
    const [ada, bob] = await w.users("ada-worker", "bob-reader");
    const group = await w.group(undefined, { members: [bob!] });
    const template = await readyTemplate("offered");
    const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";
    const created = await w.as(ada!).graphql(create, { input: { name: "private", templateId: template } });
    const { id } = created.createWorkspace.workspace;
    // Reads all workspaces and users, but changes none.
    await w.grant(bob!, "template-admin");
    let checks = 0;
    page.on("request", (request) => {
      if (request.postData()?.includes("query Allowed")) checks++;
    });
    const offered = async () => {
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await page.waitForLoadState("networkidle");
      const names = await page.getByRole("main").getByRole("button").allInnerTexts();
      return names.filter((name) => !["Previous", "Next", "Username", "Last used", "Created"].includes(name)).sort();
    };
    const opened = async (path: string) => {
      checks = 0;
      await page.goto(home + path);
      const names = await offered();
      // Once more at most, when the rows are known that it asks for as well.
      expect(checks, path).to.be.within(1, 2);
      return names;
    };
    await asPerson(bob!, "/users");
    await heading("Users");
    expect(await opened("/users")).to.deep.equal([]);
    expect(await opened(`/users/${ada!.id}`)).to.deep.equal([]);
    expect(await opened(`/groups/${group.id}`)).to.deep.equal([]);
    expect(await opened("/workspaces?q=private")).to.deep.equal(["Create a workspace"]);
    expect(await opened(`/workspaces/${id}`)).to.deep.equal([]);
    await page.goto(`${home}/workspaces`);
    await button("Sign out").click();
    await heading("Sign in");

    await asPerson(ada!, "/workspaces");
    await page.getByRole("button", { name: "Stop private" }).waitFor();
    expect(await opened(`/workspaces/${id}`)).to.deep.equal(["Delete", "Stop"]);
    await page.goto(`${home}/workspaces`);
    await button("Sign out").click();
    await heading("Sign in");

    await asOwner("/users");
    await heading("Users");
    expect(await opened(`/users/${ada!.id}`)).to.deep.equal(["Edit", "Roles", "Suspend"]);
    expect(await opened(`/groups/${group.id}`)).to.include.members(["AI budget", "Delete", "Edit", "Remove"]);
  });

  it("tells objects of the same name apart, says what it sorts by, and shows totals", async () => {
    const { id: other, name: otherName } = await w.organization();
    const { organization } = await owner().graphql('{ organization(organization: "default") { name displayName } }');
    await asOwner("/groups?q=Everyone");
    await page.getByRole("cell", { name: `${otherName}/Everyone` }).waitFor();
    await page.getByRole("cell", { name: `${organization.name}/Everyone` }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Organization and name" }).getAttribute("aria-sort")).to.equal(
      "ascending",
    );
    const rename = "mutation($input: UpdateOrganizationInput!) { updateOrganization(input: $input) { __typename } }";
    await owner().graphql(rename, { input: { organization: other, displayName: organization.displayName } });
    await page.reload();
    await button("Create a group").click();
    const options = await field("Organization").locator("option").allInnerTexts();
    expect(options).to.include.members([`${organization.displayName} (${otherName})`]);
    expect(new Set(options).size).to.equal(options.length);

    for (const path of ["audit", "connections", "provisioners", "access", "groups", "users"]) {
      await page.goto(`${home}/${path}`);
      await page.locator("h1").waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      for (const pager of await page.getByRole("navigation", { name: /^Pages of/ }).all())
        expect(await pager.innerText(), path).to.match(/^\d+ of \d+/);
    }
  });

  it("waits as long as a rate limit says, and tries again by itself", async () => {
    await asOwner("/secrets");
    await heading("Secrets");
    let rejected = 0;
    const reject = async (route: Route) => {
      if (rejected > 0 || !route.request().postData()?.includes("query Groups")) return route.fallback();
      rejected++;
      const extensions = { code: "RATE_LIMITED", retryAfter: 1, requestId: "r" };
      await route.fulfill({
        status: 429,
        headers: { "Content-Type": "application/json", "Retry-After": "1" },
        body: JSON.stringify({ errors: [{ message: "Too many requests.", extensions }] }),
      });
    };
    await page.route("**/graphql", reject);
    await page.getByRole("link", { name: "Groups" }).click();
    await page.getByRole("heading", { name: "Too many requests" }).waitFor();
    await page.getByRole("cell", { name: "Everyone" }).first().waitFor();
    expect(rejected).to.equal(1);
  });

  it("keeps the page while the server is away, and loads it again afterwards", async () => {
    await asOwner("/groups");
    await page.getByRole("cell", { name: "Everyone" }).first().waitFor();
    const away = (route: Route) => route.abort("connectionrefused");
    await page.route(/\/(graphql|healthz)$/, away);
    await page.getByRole("searchbox").fill("E");
    await page.getByText("Steward cannot be reached").waitFor();
    await page.unroute(/\/(graphql|healthz)$/, away);
    await page.getByText("Steward cannot be reached").waitFor({ state: "detached" });
    await page.getByRole("cell", { name: "Everyone" }).first().waitFor();
  });

  it("names every control, and fits on a phone", async () => {
    await asOwner("/workspaces");
    await heading("Workspaces");
    await page.setViewportSize({ width: 360, height: 740 });
    const paths = ["workspaces", "tasks", "inbox", "secrets", "access", "users", "groups", "applications"];
    for (const path of [...paths, "provisioners", "audit", "connections", `users/${w.owner.id}`]) {
      await page.goto(`${home}/${path}`);
      await page.locator("h1").waitFor();
      await page.locator(".loading").first().waitFor({ state: "detached" });
      // Actions appear when it is known that they are allowed.
      await page.waitForLoadState("networkidle");
      for (const role of ["button", "link", "textbox", "searchbox", "combobox"] as const) {
        const [all, named] = [page.getByRole(role), page.getByRole(role, { name: /\S/ })];
        expect(await named.count(), `${role} of ${path}`).to.equal(await all.count());
      }
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(width, path).to.be.at.most(360);
    }
    await button("Menu").click();
    await page.getByRole("link", { name: "Groups" }).click();
    await heading("Groups");
    expect(await page.getByRole("navigation", { name: "Pages", exact: true }).isVisible()).to.equal(false);
  });
});

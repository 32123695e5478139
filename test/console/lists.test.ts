// Reaches for tables: a thousand users, and times of long ago, which requests would take long to make.
// Lists of the console: a thousand rows, long names, which rows and columns are shown, times, and the filters of the audit log.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { expectFit } from "../support/accessibility.js";
import { consoleTests, echoDocument, importedTemplate } from "../support/console.js";
import { insertUsers } from "../support/crowds.js";
import { fillLists } from "../support/many-rows.js";
import { recordId } from "../support/records.js";
import { setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";

describe("lists of the console", () => {
  const console = consoleTests();

  const hour = 3_600_000;
  const fillUsers = async () => {
    const { world: w } = console();
    const { users } = await w.as(w.owner).graphql(`{ users(filter: { search: "many-" }, first: 1) { totalCount } }`);
    if (users.totalCount > 0) return;
    const rows = Array.from({ length: 1_100 }, (_, nr) => ({
      username: `many-${String(nr + 1).padStart(4, "0")}`,
      created_at: new Date(Date.now() - (nr + 1) * hour).toISOString(),
    }));
    await insertUsers(w, rows);
  };
  const pager = (name: string) => console().page.getByRole("navigation", { name: `Pages of ${name}` });
  const firstName = () =>
    console().page.getByRole("table").getByRole("row").nth(1).getByRole("link").first().innerText();
  const rows = async () => (await console().page.getByRole("table").getByRole("row").count()) - 1;

  it("page and sort a thousand rows by keyboard, and say which rows they show", async () => {
    const { page, asOwner, heading } = console();
    await fillUsers();
    await asOwner("/users?q=many-");
    await heading("Users");
    await pager("Users").getByText("1–25 of 1000 or more").waitFor();
    expect(await firstName()).to.include("many-0001");
    const press = async (name: string, range: string) => {
      await pager("Users").getByRole("button", { name }).focus();
      await page.keyboard.press("Enter");
      await pager("Users").getByText(range).waitFor();
    };
    await press("Next", "26–50 of");
    await press("Next", "51–75 of");
    await page.getByRole("row", { name: /many-0051/ }).waitFor();
    await press("Previous", "26–50 of");
    await page.getByRole("row", { name: /many-0026/ }).waitFor();
    await page.goBack();
    await pager("Users").getByText("51–75 of").waitFor();
    await page.reload();
    await pager("Users").getByText("51–75 of").waitFor();

    await page.getByRole("button", { name: "Created", exact: true }).focus();
    await page.keyboard.press("Enter");
    await pager("Users").getByText("1–25 of").waitFor();
    await page.getByRole("row", { name: /many-1100/ }).waitFor();
    await page.getByRole("button", { name: "Created", exact: true }).press("Enter");
    await page.getByRole("row", { name: /many-0001/ }).waitFor();

    // An address without the number of its first row says how many rows there are.
    const { searchParams } = new URL(page.url());
    await press("Next", "26–50 of");
    const after = new URL(page.url()).searchParams.get("after")!;
    await console().open(`/users?${new URLSearchParams({ ...Object.fromEntries(searchParams), after }).toString()}`);
    await pager("Users").getByText("25 of 1000 or more").waitFor();
  });

  it("number the rows that they show while the next page loads, however often it is requested", async () => {
    const { page, asOwner } = console();
    await fillUsers();
    await asOwner("/users?q=many-");
    await pager("Users").getByText("1–25 of").waitFor();
    const next = () => pager("Users").getByRole("button", { name: "Next" }).press("Enter");
    await next();
    await pager("Users").getByText("26–50 of").waitFor();
    const loaded = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      await loaded.promise;
      await route.continue();
    });
    await next();
    await next();
    await pager("Users").getByText("26–50 of").waitFor();
    expect(await firstName()).to.include("many-0026");
    loaded.resolve();
    await pager("Users").getByText("51–75 of").waitFor();
    expect(await firstName()).to.include("many-0051");
    await page.unroute("**/graphql");
  });

  it("have as many rows as the user wants, on all pages of this browser", async () => {
    const { page, asOwner, heading } = console();
    await fillUsers();
    await asOwner("/users?q=many-");
    await pager("Users").getByText("1–25 of").waitFor();
    await pager("Users").getByRole("button", { name: "Next" }).press("Enter");
    await pager("Users").getByText("26–50 of").waitFor();
    const size = pager("Users").getByLabel("Rows");
    await size.focus();
    await size.selectOption("100");
    await pager("Users").getByText("1–100 of").waitFor();
    expect(await rows()).to.equal(100);
    await console().open("/users");
    await heading("Users");
    await pager("Users").getByText("1–100 of").waitFor();
    await page.evaluate(`localStorage.setItem("steward.rows", "7")`);
    await page.reload();
    await pager("Users").getByText("1–25 of").waitFor();
  });

  it("have the columns that the user wants, chosen by keyboard", async () => {
    const { page, asOwner, heading } = console();
    await asOwner("/users");
    await heading("Users");
    const columns = () => page.getByRole("columnheader").allInnerTexts();
    await page.getByRole("columnheader", { name: "Created" }).waitFor();
    const all = await columns();
    const opener = page.locator("summary", { hasText: "Columns" });
    await opener.focus();
    await page.keyboard.press("Enter");
    const box = page.getByRole("group", { name: "Columns of Users" }).getByLabel("Created");
    await box.focus();
    await page.keyboard.press("Space");
    await page.getByRole("columnheader", { name: "Created" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "detached" });
    expect(await opener.evaluate((it) => it.ownerDocument.activeElement === it)).to.equal(true);
    await page.reload();
    await opener.waitFor();
    expect(await columns()).to.deep.equal(all.filter((title) => title !== "Created"));
    await page.evaluate(`localStorage.setItem("steward.columns Users", '{"no":"list"}')`);
    await page.reload();
    await page.getByRole("columnheader", { name: "Created" }).waitFor();
  });

  it("are not widened by names of any length, whatever their direction is", async () => {
    const { world: w, page, asOwner } = console();
    const owner = w.as(w.owner);
    const run = (name: string, type: string, input: object) =>
      owner.graphql(`mutation($input: ${type}!) { ${name}(input: $input) { __typename } }`, { input });
    const long = "W".repeat(32);
    const right = "שלום".repeat(16);
    const label = "W".repeat(64);
    const email = `${"w".repeat(64)}@${"w".repeat(60)}.example.com`;
    await insertUsers(w, [{ username: long, name: right, email }], { organization: w.defaultOrganization });
    const template = await importedTemplate(w, long, echoDocument());
    await run("updateTemplate", "UpdateTemplateInput", { templateId: template, displayName: label });
    await run("createGroup", "CreateGroupInput", { organization: "default", name: long, displayName: label });
    await run("createOrganization", "CreateOrganizationInput", { name: long, displayName: label });
    await run("createWorkspace", "CreateWorkspaceInput", { name: long, templateId: template, owner: long });
    await run("createOAuth2App", "CreateOAuth2AppInput", { name: label, callbackUrl: "https://a.example.com" });
    await run("createScimKey", "CreateScimKeyInput", { name: long });
    await run("createUserSecret", "CreateUserSecretInput", { name: long.toLowerCase(), value: "x" });
    await run("createWorkspaceProxy", "CreateWorkspaceProxyInput", { name: long.toLowerCase(), displayName: label });
    const paths = "users groups organizations templates workspaces applications scim-keys secrets proxies audit jobs";
    for (const path of paths.split(" ")) {
      await asOwner(`/${path}`);
      await page.getByRole("table").first().waitFor();
      for (const width of [1280, 1024, 820, 360]) {
        await page.setViewportSize({ width, height: 800 });
        const excess =
          await page.evaluate(`Math.max(...[document.documentElement, ...document.querySelectorAll(".table")]
          .map((each) => each.scrollWidth - each.clientWidth))`);
        expect(excess, `/${path} at ${width}`).to.equal(0);
        if (process.env.STEWARD_TEST_PICTURES)
          await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/long-${path}-${width}.png` });
      }
    }
  });

  it("go back to the first page of the audit log with what has come since", async () => {
    const { world: w, page, asOwner, heading } = console();
    for (let nr = 1; nr <= 30; nr++) await w.group(`counted-${nr}`);
    await asOwner("/audit?resource=group");
    await heading("Audit log");
    const [log, previous] = [pager("Audit log"), pager("Audit log").getByRole("button", { name: "Previous" })];
    await log.getByText(/^1–25 of/).waitFor();
    expect(await previous.isDisabled()).to.equal(true);
    await log.getByRole("button", { name: "Next" }).press("Enter");
    await log.getByText(/^26–/).waitFor();
    await w.group("came-since");
    await previous.press("Enter");
    await page.getByRole("row", { name: /came-since/ }).waitFor();
    await log.getByText(/^1–25 of/).waitFor();
    expect(new URL(page.url()).search).to.equal("?resource=group");
    await page.locator(".pager button:disabled", { hasText: "Previous" }).waitFor();
  });

  it("filter the audit log by days and by an object", async () => {
    const { world: w, page, asOwner, heading } = console();
    const group = await w.group("dated");
    await setColumns(w, "audit_events", { resource_id: group.id }, { time: "2026-10-05T12:00:00Z" });
    await asOwner("/audit");
    await heading("Audit log");
    const shown = (name: string) => page.getByRole("row").filter({ hasText: name });
    await page.getByLabel("From").fill("2026-10-05");
    await page.getByLabel("Until").fill("2026-10-05");
    await page.waitForURL(/from=2026-10-05&until=2026-10-05/);
    await shown("dated").first().waitFor();
    await pager("Audit log").getByText("1 of 1").waitFor();
    await page.getByLabel("Until").fill("2026-10-04");
    await page.getByText("No event matches.").waitFor();
    await console().open("/audit?from=2026-10-05&until=2026-10-05");
    await shown("dated").first().getByRole("button", { name: "dated" }).press("Enter");
    await page.waitForURL(new RegExp(`resource=group&object=${group.id}`));
    await page.getByRole("button", { name: "Not only one object" }).press("Enter");
    await page.waitForURL((url) => !url.search.includes("object="));
    await console().open("/audit?from=no-day");
    await page.getByRole("table").waitFor();
  });
});

/** The rows that pages of the lists of a section show: those of one page of many, all that there are, or none that can grow. */
const shown: Record<
  string,
  { pages: string; query?: string } | { all: string; query?: string; most?: number } | { reason: string }
> = {
  workspaces: { pages: "Workspaces" },
  tasks: { pages: "Tasks" },
  templates: { pages: "Templates" },
  users: { pages: "Users" },
  invitations: { pages: "Invitations" },
  organizations: { all: "Organizations" },
  groups: { pages: "Groups" },
  provisioners: { all: "Daemons", query: "organization" },
  jobs: { pages: "Jobs", query: "organization" },
  proxies: { all: "Workspace proxies" },
  applications: { pages: "Applications" },
  grants: { pages: "Grants" },
  "scim-keys": { all: "SCIM keys", most: 100 },
  "sign-in-providers": { reason: "at most 100 providers, which locale.test.ts shows" },
  "second-factors": { reason: "one rule for each role" },
  inbox: { pages: "Inbox" },
  secrets: { all: "Secrets" },
  "linked-accounts": { reason: "configured" },
  preferences: { reason: "known to the program" },
  "notification-settings": { reason: "known to the program" },
  deliveries: { pages: "Deliveries" },
  appearance: { reason: "one setting" },
  licenses: { reason: "each is signed" },
  "language-models": { reason: "known to the program, and at most 100 programs" },
  health: { reason: "known to the program" },
  audit: { pages: "Audit log" },
  "event-endpoints": { reason: "at most 20 of each organization" },
  connections: { pages: "Connections" },
  keys: { all: "Sessions and keys" },
};

describe("all lists of the console", () => {
  const console = consoleTests();
  const sections = JSON.parse(readFileSync("clients/console/sections.json", "utf8")) as string[];

  let filled: Promise<void> | undefined;
  beforeEach(() => (filled ??= fillLists(console().world, 1_000)));

  it("are tried", () => expect(Object.keys(shown)).to.have.members(sections));

  for (const [section, list] of Object.entries(shown)) {
    if ("reason" in list) continue;
    it(`show a thousand rows of the longest names: ${section}`, async () => {
      const { page, asOwner } = console();
      const query = list.query ? `?${list.query}=${recordId(list.query)}` : "";
      await asOwner(`/${section}${query}`);
      const [main, name] = [page.getByRole("main"), "pages" in list ? list.pages : list.all];
      const rows =
        section === "inbox"
          ? main.locator(".inbox > li")
          : main.getByRole("table", { name, exact: true }).locator("tbody tr");
      await rows.first().waitFor();
      if ("pages" in list) {
        const pages = page.getByRole("navigation", { name: `Pages of ${name}`, exact: true });
        const range = (text: string) => pages.getByText(text).waitFor();
        await range("1–25 of 1000 or more");
        expect(await rows.count()).to.equal(25);
        const texts = async () => (await rows.allInnerTexts()).join("\n");
        const first = await texts();
        await pages.getByRole("button", { name: "Next" }).press("Enter");
        await range("26–50 of 1000 or more");
        await eventually(async () => (await texts()) !== first, "the next page");
        expect(await rows.count()).to.equal(25);
        const second = await texts();
        await pages.getByRole("button", { name: "Previous" }).press("Enter");
        await range("1–25 of 1000 or more");
        await eventually(async () => (await texts()) !== second, "the page before");
      } else expect(await rows.count()).to.be.at.least(list.most ?? 1_000);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 });
        await expectFit(page, `/${section} at ${width}`);
      }
    });
  }
});

describe("times of the console", () => {
  const console = consoleTests({}, { locale: "de-DE", timezoneId: "Asia/Kolkata" });

  it("are exact, in the locale and the zone of the user, with the focus", async () => {
    const { world, page, asOwner, heading } = console();
    await setColumns(world, "users", { id: world.owner.id }, { created_at: "2026-10-05T20:00:00Z" });
    await asOwner("/users");
    await heading("Users");
    const time = page.getByRole("row", { name: /owner/ }).locator('time[datetime^="2026-10-05"]');
    await time.waitFor();
    expect(await time.innerText()).to.equal("06.10.2026");
    await time.focus();
    expect(await time.innerText()).to.match(/^06\.10\.2026, 01:30:00 (GMT\+5:30|IST)$/);
    await page.keyboard.press("Tab");
    expect(await time.innerText()).to.equal("06.10.2026");
    await time.click();
    expect(await time.innerText()).to.include("01:30:00");
  });
});

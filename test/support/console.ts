// The console in a browser, with a server of the test.
// Looks inside: sets the cookies of a session, for which the sign-in would be hashed slowly.
import { expect } from "chai";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { csrfCookie, csrfTokenOf } from "../../src/http/csrf.js";
import { sessionCookie } from "../../src/http/credentials.js";
import { launchBrowser } from "./browser.js";
import { slowness } from "./watchers.js";
import { type Person, startWorld, type World } from "./world.js";

/** Errors that the browser itself reports, of failures that the console handles. */
const handled = /^(Failed to load resource|WebSocket connection)/;

/** One browser with the console, as its users handle it. */
export class Console {
  readonly complaints: string[] = [];

  constructor(
    readonly world: World,
    readonly home: string,
    readonly visit: BrowserContext,
    readonly page: Page,
  ) {
    // Of all its pages, also those that links open.
    visit.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()) && !handled.test(message.text()))
        this.complaints.push(message.text());
    });
  }

  /** Opens a path as a user, with a session whose cookies the browser has. */
  openAs = async ({ token }: Pick<Person, "token">, path: string): Promise<void> => {
    await this.page.goto("about:blank");
    await this.visit.clearCookies();
    const cookies = { [sessionCookie]: token, [csrfCookie]: csrfTokenOf(token) };
    await this.visit.addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, url: this.home })));
    await this.open(path);
  };

  open = (path: string) => this.page.goto(this.home + path);
  asOwner = (path: string) => this.openAs(this.world.owner, path);

  heading = (name: string | RegExp) => this.page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  main = () => this.page.getByRole("main");
  button = (name: string | RegExp) => this.main().getByRole("button", { name, exact: true });
  dialog = () => this.page.getByRole("dialog");
  field = (label: string | RegExp) => this.dialog().getByLabel(label);
  row = (name: string | RegExp, table?: string): Locator =>
    (table ? this.page.getByRole("table", { name: table, exact: true }) : this.main()).getByRole("row", { name });
  text = (text: string | RegExp) => this.main().getByText(text).first().waitFor();
  notice = (text: string | RegExp) => this.page.locator(".notices").getByText(text).waitFor();
  link = (name: string) => this.main().getByRole("link", { name, exact: true });

  /** Presses a button that opens a dialog, fills its fields by their labels, and submits it. */
  fill = async (opener: string | RegExp, values: Record<string, string | boolean>, submit?: string): Promise<void> => {
    await this.button(opener).first().click();
    for (const [label, value] of Object.entries(values)) await this.enter(label, value);
    await this.submit(submit);
  };

  enter = async (label: string, value: string | boolean): Promise<void> => {
    const field = this.dialog().getByLabel(label, { exact: false }).first();
    if (typeof value === "boolean") await field.setChecked(value);
    else if ((await field.evaluate((element) => element.tagName)) === "SELECT")
      await field.selectOption({ label: value });
    else await field.fill(value);
  };

  /** Submits the dialog, and waits until it has closed. */
  submit = async (label?: string): Promise<void> => {
    const footer = this.dialog().locator("form footer");
    await (label ? footer.getByRole("button", { name: label, exact: true }) : footer.locator("[type=submit]")).click();
    await this.dialog().locator("form").waitFor({ state: "detached" });
  };

  /** Reads a secret that is shown once, and closes its dialog. */
  secret = async (): Promise<string> => {
    const text = await this.dialog().locator(".secret").innerText();
    await this.dialog().getByRole("button", { name: "Done" }).click();
    return text;
  };

  /** Waits until a row is gone. */
  gone = (name: string | RegExp, table?: string) => this.row(name, table).first().waitFor({ state: "detached" });

  /** The buttons of the page, once its permissions are known. */
  offered = async (): Promise<string[]> => {
    await this.page.locator(".loading").first().waitFor({ state: "detached" });
    await this.page.waitForLoadState("networkidle");
    return (await this.main().getByRole("button").allInnerTexts()).filter(
      (name) => name !== "Previous" && name !== "Next",
    );
  };
}

/** Has notices stay as much longer as everything takes on this machine now. Their times are those of `ui/notices.tsx`. */
const keepNotices = (visit: BrowserContext) =>
  visit.addInitScript(`{
    const later = window.setTimeout;
    window.setTimeout = (run, time, ...rest) =>
      later(run, [4_000, 10_000, 12_000].includes(time) ? time * ${slowness()} : time, ...rest);
  }`);

/** A response by which the server rejects an operation. */
export const rejection = { data: null, errors: [{ message: "Not today.", extensions: { code: "CONFLICT" } }] };

/** The address of a page and the elements of its view, dialogs, and notices, for reports of failures. */
async function describePage(page: Page): Promise<string> {
  const parts = await page
    .locator("main, dialog, .notices")
    .all()
    .catch(() => []);
  const shown = await Promise.all(parts.map((part) => part.ariaSnapshot().catch(String)));
  return `\n${page.url()} shows:\n${shown.join("\n")}`;
}

/** Inside `describe`: starts a world and a browser before the tests, and opens the console for each of them. */
export function consoleTests(settings: NodeJS.ProcessEnv = {}, options: BrowserContextOptions = {}): () => Console {
  let world: World;
  let browser: Browser;
  let current: Console;
  before(async () => {
    [world, browser] = await Promise.all([
      startWorld({ STEWARD_BUILTIN_DAEMON: "true", ...settings }),
      launchBrowser(),
    ]);
  });
  after(async () => {
    await browser.close();
    await world.close();
  });
  beforeEach(async () => {
    const visit = await browser.newContext({ locale: "en-US", timezoneId: "Europe/Berlin", ...options });
    await keepNotices(visit);
    current = new Console(world, world.app.services.config.accessUrl, visit, await visit.newPage());
  });
  afterEach(async function () {
    if (this.currentTest?.isFailed()) this.currentTest.err!.stack += await describePage(current.page);
    await current.visit.close();
    expect(current.complaints).to.deep.equal([]);
  });
  return () => current;
}

/** A template document whose workspaces the built-in daemon builds. */
export const echoDocument = (agents: object[] = [], more: object = {}) => ({
  schema: "steward.template/1",
  provisioner: "echo",
  resources: [{ name: "box", agents }],
  ...more,
});

/** A parameter of a template document, with two options. */
export const sizeParameter = {
  name: "size",
  display_name: "Size",
  default: "small",
  options: [
    { name: "Small", value: "small" },
    { name: "Large", value: "large" },
  ],
};

/** An agent outside of the daemon, for which the test speaks. */
export const externalAgent = { name: "main", os: "linux", arch: "amd64", external: true };

/** Creates a template, and waits until the built-in daemon has imported it. Returns its ID. */
export async function importedTemplate(w: World, name: string, document: object): Promise<string> {
  const owner = w.as(w.owner);
  const { createTemplate } = await owner.graphql(
    "mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } templateVersion { id } } }",
    { input: { organization: "default", name, document } },
  );
  const query = "query($id: UUID!) { templateVersion(id: $id) { isImported } }";
  const { id } = createTemplate.templateVersion;
  while (!(await owner.graphql(query, { id })).templateVersion.isImported)
    await new Promise((done) => setTimeout(done, 50));
  return createTemplate.template.id;
}

import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { type Conduct, conductOf, launchBrowser } from "./support/browser.js";
import { deliver } from "./support/inbox.js";
import { world } from "./support/world.js";

describe("the pages for people who look around", () => {
  const the = world();
  let browser: Browser;
  let page: Page;
  let conduct: Conduct;

  before(async () => {
    browser = await launchBrowser();
  });
  beforeEach(async () => {
    page = await browser.newPage();
    page.setDefaultTimeout(15_000);
    conduct = conductOf(page, the().url);
  });
  afterEach(() => page.close());
  after(() => browser.close());

  const open = (path: string) => page.goto(the().url + path);
  const openGraphiql = (query: string) => open(`/graphql?query=${encodeURIComponent(query)}`);
  const run = () => page.locator(".graphiql-execute-button").click();
  const answered = (text: string) => page.locator(".result-window", { hasText: text }).waitFor();

  /** Writes the token between the quotes that wait for it. */
  const enterToken = async (token: string) => {
    await page.locator("[data-uri$='request-headers.json']").click();
    for (const key of ["ControlOrMeta+Home", "ArrowDown", "End", "ArrowLeft"]) await page.keyboard.press(key);
    await page.keyboard.insertText(token);
  };

  it("GraphiQL runs a query, with nothing from elsewhere and within its policy", async () => {
    await open("/graphql");
    await run();
    await answered(`"accessUrl": "${the().app.services.config.accessUrl}"`);
    await openGraphiql("{ me { username } }");
    await run();
    await answered("UNAUTHENTICATED");
    expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
  });

  it("GraphiQL uses the token in its headers, for subscriptions too, and keeps it nowhere", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await openGraphiql("{ me { username } }");
    await enterToken(ada!.token);
    await run();
    await answered(`"username": "${ada!.username}"`);

    await openGraphiql(`subscription {
      inboxEvents {
        ... on InboxNotificationAdded { notification { title } }
        ... on InboxUnreadCountChanged { unreadCount }
      }
    }`);
    await enterToken(ada!.token);
    await run();
    await answered('"unreadCount": 0');
    await deliver(w.app, ada!.id, ["Deployed"]);
    await answered('"title": "Deployed"');
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
    );
    expect(kept).to.include("inboxEvents").and.not.include(ada!.token);
    expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
  });

  it("the API reference lists the rows and tries them out", async () => {
    const { body: description } = await the().nobody.get("/openapi.json");
    const rows = Object.values(description.paths as Record<string, object>).flatMap((path) => Object.keys(path));
    await open("/docs");
    await page.locator(".opblock").first().waitFor();
    expect(await page.locator(".opblock").count()).to.equal(rows.length);

    const scopes = page.locator(".opblock", { hasText: "/api/v2/auth/scopes" });
    await scopes.locator(".opblock-summary-control").click();
    await scopes.locator(".try-out__btn").click();
    await scopes.locator("button.execute").click();
    const answer = scopes.locator(".live-responses-table .response");
    await answer.waitFor();
    expect(await answer.locator(".response-col_status").innerText()).to.match(/^200/);
    expect(await answer.innerText()).to.include("group:read");
    expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
  });
});

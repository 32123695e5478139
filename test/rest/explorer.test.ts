import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { browse } from "../support/browse.js";
import { type Conduct, conductOf, launchBrowser } from "../support/browser.js";
import { deliver } from "../support/inbox.js";
import { type Person, userPassword, world } from "../support/world.js";

const inboxEvents = `subscription {
  inboxEvents {
    ... on InboxNotificationAdded { notification { title } }
    ... on InboxUnreadCountChanged { unreadCount }
  }
}`;
const rename = (name: string) => `mutation { updateProfile(input: { name: "${name}" }) { user { name } } }`;

describe("the explorers", () => {
  const the = world();
  let browser: Browser;
  let page: Page;
  let conduct: Conduct;
  /** The address of the server in the browser. */
  let home: string;

  before(async () => {
    home = the().app.services.config.accessUrl;
    browser = await launchBrowser();
  });
  beforeEach(async () => {
    page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    conduct = conductOf(page, home);
  });
  afterEach(() => page.close());
  after(() => browser.close());

  const open = (path: string) => page.goto(home + path);
  const graphiqlPath = (query: string) => `/graphql?query=${encodeURIComponent(query)}`;
  const openGraphiql = (query: string) => open(graphiqlPath(query));
  const run = () => page.locator(".graphiql-execute-button").click();
  const responds = (text: string) => page.locator(".result-window", { hasText: text }).waitFor();
  const bar = () => page.locator("#bar").innerText();
  const picture = async (name: string) => {
    if (process.env.STEWARD_TEST_PICTURES)
      await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/${name}.png` });
  };

  /** Signs in through the page's own link, and returns to the page. */
  const signIn = async ({ username, email }: Person) => {
    const { pathname, search } = new URL(page.url());
    await page.locator("#bar").getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(userPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(home + pathname + search);
    expect(await bar()).to.contain(`Signed in as ${username}.`);
  };

  /** Types the token between the quotes that the page prepares for it. */
  const enterToken = async (token: string) => {
    await page.locator("[data-uri$='request-headers.json']").click();
    for (const key of ["ControlOrMeta+Home", "ArrowDown", "End", "ArrowLeft"]) await page.keyboard.press(key);
    await page.keyboard.insertText(token);
  };

  const enterHeaders = async (headers: string) => {
    await page.locator("[data-uri$='request-headers.json']").click();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(headers);
  };

  /** Runs each kind of operation as the person; `enter` puts the credential into each page. */
  const runAll = async ({ id, username }: Person, enter: () => Promise<void>) => {
    const name = `Renamed by ${username}`;
    const responses: Array<[query: string, response: string]> = [
      ["{ me { username } }", `"username": "${username}"`],
      [rename(name), `"name": "${name}"`],
      [inboxEvents, '"unreadCount": 0'],
    ];
    for (const [query, response] of responses) {
      await openGraphiql(query);
      await enter();
      await run();
      await responds(response);
    }
    await deliver(the().app, id, ["Deployed"]);
    await responds('"title": "Deployed"');
  };

  const opened = async (path: string): Promise<Locator> => {
    const row = page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) });
    await row.locator(".opblock-summary-control").click();
    await row.locator(".try-out__btn").click();
    return row;
  };
  const executed = async (row: Locator): Promise<{ status: string; text: string }> => {
    await row.locator("button.execute").click();
    const response = row.locator(".live-responses-table .response");
    await response.waitFor();
    return { status: await response.locator(".response-col_status").innerText(), text: await response.innerText() };
  };

  /** Tries out a POST whose response depends on the caller. */
  const tryPost = async (body = { checks: { mine: { action: "read", object: { resource_type: "license" } } } }) => {
    const row = await opened("/api/v2/authcheck");
    await row.locator("textarea.body-param__text").fill(JSON.stringify(body));
    return { row, ...(await executed(row)) };
  };

  describe("GraphiQL", () => {
    it("runs a query without loading anything from elsewhere or violating its policy", async () => {
      await open("/graphql");
      expect(await bar())
        .to.contain("Not signed in.")
        .and.contain("or enter a token under Headers.");
      await run();
      await responds(`"accessUrl": "${home}"`);
      await openGraphiql("{ me { username } }");
      await run();
      await responds("UNAUTHENTICATED");
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    it("runs queries, mutations, and subscriptions of a signed-in user", async () => {
      const ada = await the().user("ada");
      await openGraphiql("{ serverInfo { version } }");
      await signIn(ada);
      await runAll(ada, async () => {});
      await picture("graphiql-signed-in");
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    it("runs them signed out, with a token in its headers", async () => {
      const ada = await the().user("ada");
      await runAll(ada, () => enterToken(ada.token));
      const kept = await page.evaluate(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
      );
      expect(kept).to.include("inboxEvents").and.not.include(ada.token);
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    it("accepts a token as Authorization as well, and prefers it to the session", async () => {
      const [ada, bob] = await the().users("ada", "bob");
      await open("/graphql");
      await signIn(ada!);
      await runAll(bob!, () => enterHeaders(`{ "Authorization": "Bearer ${bob!.token}" }`));
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    it("subscribes with the session when the headers are emptied", async () => {
      const ada = await the().user("ada");
      await open("/graphql");
      await signIn(ada);
      await openGraphiql(inboxEvents);
      await enterHeaders("");
      await run();
      await responds('"unreadCount": 0');
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });
  });

  describe("the API reference", () => {
    it("lists the rows and tries them out", async () => {
      const { body: description } = await the().nobody.get("/openapi.json");
      const rows = Object.values(description.paths as Record<string, object>).flatMap((path) => Object.keys(path));
      await open("/docs");
      await page
        .locator(".opblock")
        .nth(rows.length - 1)
        .waitFor();
      expect(await page.locator(".opblock").count()).to.equal(rows.length);
      expect(await bar())
        .to.contain("Not signed in.")
        .and.contain("or enter a token under Authorize.");
      const { status, text } = await executed(await opened("/api/v2/auth/scopes"));
      expect(status).to.match(/^200/);
      expect(text).to.include("group:read");
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    it("tries out a POST as a signed-in user", async () => {
      await open("/docs");
      const ada = await the().user("ada");
      await signIn(ada);
      const { row, status, text } = await tryPost();
      expect(status).to.match(/^200/);
      expect(text).to.include('"mine": false');
      const curl = await row.locator(".curl").innerText();
      expect(curl).to.include("/api/v2/authcheck").and.not.match(/csrf/i);
      await picture("docs-signed-in");
      expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    });

    for (const [scheme, label] of [
      ["Service-Session-Token", "session"],
      ["Bearer", "bearer"],
    ] as const) {
      it(`tries out a POST signed out, with a token under Authorize, as ${scheme}`, async () => {
        await open("/docs");
        await page.locator(".auth-wrapper button.authorize").click();
        const dialog = page.locator(".dialog-ux .auth-container", {
          has: page.locator("h4", { hasText: new RegExp(`^\\s*${label}`) }),
        });
        await dialog.locator("input").fill(the().owner.token);
        await dialog.locator("button.authorize").click();
        await page.locator(".dialog-ux .close-modal").click();
        const { status, text } = await tryPost();
        expect(status).to.match(/^200/);
        expect(text).to.include('"mine": true');
        expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
      });
    }
  });

  describe("carry the CSRF token", () => {
    const csrfIn = (body: string) => /<meta name="csrf-token" content="([^"]+)"/.exec(body)?.[1];
    const html = { accept: "text/html" };
    const paths = ["/graphql", "/docs"];

    it("only for navigations of the session itself, in pages that are not cached", async () => {
      const ada = await the().user("ada");
      const cookie = `service_session_token=${ada.token}`;
      const foreign = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
      for (const path of paths) {
        const signedIn = await browse(home, path, { ...html, cookie });
        const others = [
          await browse(home, path, html),
          await browse(home, path, { ...html, cookie, ...foreign }),
          await browse(home, path, { ...html, cookie: `${cookie.slice(0, -1)}!` }),
          await browse(home, path, { ...html, "service-session-token": ada.token }),
        ];
        expect(csrfIn(signedIn.body), path).to.match(/^[\w-]{43}$/);
        for (const { body } of others) expect(csrfIn(body), path).to.equal(undefined);
        for (const { status, headers } of [signedIn, ...others]) {
          expect(status).to.equal(200);
          expect(headers.get("cache-control"), path).to.equal("no-store");
          expect(headers.get("content-security-policy"), path).to.match(
            /^default-src 'none'; script-src 'self' blob:;/,
          );
        }
        expect(signedIn.body).to.not.contain(ada.token.split("-")[1]);
      }
    });

    it("but not in the assets, which are cached", async () => {
      const ada = await the().user("ada");
      const cookie = `service_session_token=${ada.token}`;
      for (const path of paths) {
        const { body } = await browse(home, path, { ...html, cookie });
        const files = [...(body as string).matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, file]) => file!);
        expect(files.length).to.be.at.least(3);
        for (const file of files) {
          const mine = await the().nobody.get(file, { cookie });
          const anyones = await the().nobody.get(file);
          expect(mine.headers.get("cache-control")).to.include("immutable");
          expect(mine.body).to.equal(anyones.body).and.not.contain(csrfIn(body)!);
        }
      }
    });
  });
});

// What surrounds the views: the documents and files of the server, sign-in, navigation, and connections.
import { expect } from "chai";
import type { WebSocketRoute } from "playwright-core";
import { expectAccessible } from "../support/accessibility.js";
import { browse } from "../support/browse.js";
import { consoleTests } from "../support/console.js";
import { ownerPassword } from "../support/app.js";
import { userPassword } from "../support/world.js";

/** Bytes of compressed script that the first view may load. */
const mostScript = 200_000;

describe("the console", () => {
  const console = consoleTests();

  const document = async (path = "/") => {
    const { world } = console();
    return world.as(world.owner).get(path, { Accept: "text/html" });
  };
  const scriptOf = (body: string) => /<script type="module" src="([^"]+)"/.exec(body)![1]!;

  describe("is served", () => {
    it("under a strict policy, without caching of what is the user's", async () => {
      const { status, headers, body } = await document();
      expect(status).to.equal(200);
      expect(headers.get("cache-control")).to.equal("no-store");
      const policy = headers.get("content-security-policy")!;
      expect(policy).to.match(/^default-src 'none'; script-src 'self'; style-src 'self';/);
      expect(policy).to.include("require-trusted-types-for 'script'").and.not.include("unsafe");
      expect(body.match(/<script/g)).to.have.length(1);
      expect(body).to.not.match(/ style=| on\w+=/);
    });

    it("with files that are cached for good, compressed as the client accepts", async () => {
      const { world, home } = console();
      const path = scriptOf((await document()).body);
      const fetched = (encoding: string) => fetch(home + path, { headers: { "Accept-Encoding": encoding } });
      const plain = Buffer.from(await (await fetched("identity")).arrayBuffer());
      const tags = new Set<string>();
      for (const encoding of ["br", "gzip"]) {
        const response = await fetched(encoding);
        expect(response.headers.get("content-encoding")).to.equal(encoding);
        expect(response.headers.get("content-type")).to.match(/^(text|application)\/javascript/);
        expect(response.headers.get("cache-control")).to.equal("public, max-age=31536000, immutable");
        expect(response.headers.get("vary")).to.include("Accept-Encoding");
        expect(Buffer.from(await response.arrayBuffer()).equals(plain), "fetch expands it").to.equal(true);
        const { body } = await browse(home, path, { "Accept-Encoding": "identity" });
        expect(body.length).to.equal(plain.toString().length);
        const tag = response.headers.get("etag")!;
        tags.add(tag);
        // Fetch adds a header that forbids a 304.
        const again = await browse(home, path, { "Accept-Encoding": encoding, "If-None-Match": tag });
        expect([again.status, again.body]).to.deep.equal([304, ""]);
      }
      expect(tags.size, "each encoding has its tag").to.equal(2);
      for (const missing of [
        "/assets/console/none.js",
        "/assets/console/manifest.json",
        "/assets/console/..%2Fmain.js",
      ])
        expect((await world.nobody.get(missing)).status, missing).to.equal(404);
    });

    it("at its paths to users who are signed in, and nowhere else", async () => {
      const { world } = console();
      for (const path of ["/users", "/audit", `/groups/${world.owner.id}`, "/workspaces/x/y"]) {
        expect(await document(path), path).to.include({ status: 200 });
        const visitor = await world.nobody.get(path, { Accept: "text/html" });
        expect(visitor, path).to.include({ status: 303 });
        expect(visitor.headers.get("location")).to.equal(`/login?return_to=${encodeURIComponent(path)}`);
      }
      expect(await document("/no-such-section")).to.include({ status: 404 });
      expect(await world.as(world.owner).post("/users")).to.include({ status: 405 });
    });

    it("with at most 200 kB of script for the first view, which loads nothing from elsewhere", async () => {
      const { page, asOwner, text, home, visit } = console();
      const session = await visit.newCDPSession(page);
      await session.send("Network.enable");
      const sizes = new Map<string, number>();
      const types = new Map<string, string>();
      const strangers: string[] = [];
      session.on("Network.responseReceived", ({ requestId, type, response }) => {
        types.set(requestId, type);
        if (!response.url.startsWith(home) && !response.url.startsWith("data:")) strangers.push(response.url);
      });
      session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) =>
        sizes.set(requestId, encodedDataLength),
      );
      await asOwner("/");
      await text("Sign-ins a day");
      await page.waitForLoadState("networkidle");
      const scripts = [...sizes].filter(([id]) => types.get(id) === "Script").map(([, size]) => size);
      const total = scripts.reduce((sum, size) => sum + size, 0);
      expect(scripts.length).to.be.within(2, 15);
      expect(total).to.be.within(20_000, mostScript);
      expect(strangers).to.deep.equal([]);
    });
  });

  describe("knows its user", () => {
    it("signs in with the keyboard, and returns to the page and its filter", async () => {
      const { page, open, heading } = console();
      await open("/users?status=ACTIVE");
      await page.getByLabel("Email").focus();
      await page.keyboard.type("owner@example.com");
      await page.keyboard.press("Tab");
      await page.keyboard.type(ownerPassword);
      await page.keyboard.press("Enter");
      await heading("Users");
      expect(new URL(page.url()).search).to.equal("?status=ACTIVE");
    });

    it("signs out, and leaves nothing behind", async () => {
      const { page, asOwner, heading, visit } = console();
      const { world } = console();
      await console().openAs({ token: await world.session(world.owner.id) }, "/secrets");
      await heading("Secrets");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(/\/login\?signed_out/);
      expect((await visit.cookies()).filter(({ path }) => path === "/")).to.deep.equal([]);
      await asOwner("/secrets");
      await heading("Secrets");
    });

    it("shows the sign-in page when the session ends, and then the same place", async () => {
      const { world, page, openAs, heading } = console();
      const person = await world.user("leaver");
      await openAs(person, "/secrets");
      await heading("Secrets");
      // Nothing of this page is loaded any more, which would lead to the sign-in page by itself.
      await page.getByText("Live", { exact: true }).waitFor();
      await page.waitForLoadState("networkidle");
      await world.as(person).graphql("mutation { logout { __typename } }");
      await page.getByRole("button", { name: /^Account of/ }).click();
      await page.getByRole("link", { name: "Preferences" }).click();
      await page.waitForURL(/\/login\?return_to=%2Fpreferences/);
      await page.getByLabel("Email").fill(person.email);
      await page.getByLabel("Password").fill(userPassword);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await heading("Preferences");
    });

    it("offers members no sections of administrators, and explains why one does not open", async () => {
      const { world, page, openAs, heading } = console();
      const person = await world.user("member");
      await openAs(person, "/audit");
      await page.getByRole("heading", { name: "You may not do this" }).waitFor();
      for (const name of ["Workspaces", "Provisioners"])
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).waitFor();
      await page.waitForLoadState("networkidle");
      for (const name of ["Audit log", "Users", "Licenses", "Provisioners", "Applications", "Appearance", "Health"]) {
        const offered = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
        // Members of an organization can read its daemons.
        expect(await offered.count(), name).to.equal(name === "Provisioners" ? 1 : 0);
      }
      await console().open("/users/no-such-user");
      await page.getByText("This page does not exist.").first().waitFor();
      await console().open("/");
      await heading(`Hello, ${person.username}`);
    });
  });

  describe("is used", () => {
    it("by keyboard: skips to the page, and moves to the heading of the next one", async () => {
      const { page, asOwner, heading } = console();
      await asOwner("/users");
      await heading("Users");
      await page.keyboard.press("Tab");
      expect(await page.locator(":focus").innerText()).to.equal("Skip to the page");
      await page.getByRole("link", { name: "Groups", exact: true }).focus();
      await page.keyboard.press("Enter");
      await heading("Groups");
      await page.locator("h1:focus", { hasText: /^Groups$/ }).waitFor();
      await page.getByRole("button", { name: "Create a group" }).press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.locator(":focus").innerText()).to.equal("Create a group");
    });

    it("with the account in the corner, where signing out is always seen", async () => {
      const { world, page, openAs, heading } = console();
      const person = await world.user("corner");
      await openAs(person, "/tasks");
      await heading("Tasks");
      const account = page.getByRole("button", { name: /^Account of corner/ });
      const menu = page.getByRole("navigation", { name: "Account" });
      await account.focus();
      await page.keyboard.press("Enter");
      await menu.waitFor();
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "hidden" });
      expect(await account.evaluate((it) => it.ownerDocument.activeElement === it)).to.equal(true);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      expect(await page.locator(":focus").innerText()).to.equal("Your profile");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await heading("Sessions and keys");
      await menu.waitFor({ state: "hidden" });
      for (const width of [1280, 820, 360]) {
        await page.setViewportSize({ width, height: 600 });
        await page.evaluate("scrollTo(0, 10_000)");
        const place = await page.getByRole("button", { name: "Sign out", exact: true }).first().boundingBox();
        expect(place!.x + place!.width, `at ${width}`).to.be.at.most(width);
        expect(place!.y + place!.height, `at ${width}`).to.be.within(0, 60);
      }
    });

    it("with the whole name of the application, also a long one on a phone", async () => {
      const { world, page, asOwner, heading } = console();
      const rename = (applicationName: string) =>
        world
          .as(world.owner)
          .graphql("mutation($input: UpdateAppearanceInput!) { updateAppearance(input: $input) { __typename } }", {
            input: { applicationName },
          });
      try {
        for (const name of ["Larkspur Gardens", "Remote workspaces of the engineering department of Larkspur Corp"]) {
          await rename(name);
          await page.setViewportSize({ width: 360, height: 740 });
          await asOwner("/groups");
          await heading("Groups");
          const brand = page.getByRole("link", { name, exact: true });
          await brand.waitFor();
          for (const part of [brand, page.locator("header.bar")])
            expect(
              await part.evaluate((it) => it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight),
              name,
            ).to.equal(false);
          const button = page.getByRole("button", { name: "Sign out", exact: true });
          const [text, place] = [await brand.boundingBox(), await button.boundingBox()];
          expect(text!.y + text!.height, "above the buttons").to.be.at.most(place!.y + 1);
          await expectAccessible(page, `the frame of ${name}`);
        }
      } finally {
        await rename("");
      }
    });

    it("on a phone, whose menu closes at the next page", async () => {
      const { page, asOwner, heading } = console();
      await page.setViewportSize({ width: 360, height: 740 });
      await asOwner("/users");
      await heading("Users");
      const menu = page.getByRole("button", { name: "Menu" });
      const groups = page.getByRole("link", { name: "Groups", exact: true });
      expect(await groups.isVisible()).to.equal(false);
      // Rows are cards, which can be sorted and selected as well.
      await page.getByRole("checkbox", { name: "Select all users of the page" }).check();
      await page.getByRole("button", { name: "Created", exact: true }).click();
      await page.waitForURL(/sort=CREATED_AT/);
      await menu.click();
      await groups.click();
      await heading("Groups");
      expect(await menu.getAttribute("aria-expanded")).to.equal("false");
      expect(await groups.isVisible()).to.equal(false);
    });

    it("says that the server is away, and loads again when it is back", async () => {
      const { world, page, asOwner, heading, text } = console();
      await asOwner("/groups");
      await heading("Groups");
      await page.waitForLoadState("networkidle");
      let isAway = true;
      await page.route(/\/(graphql|healthz)$/, (route) => (isAway ? route.abort() : route.continue()));
      await page.getByRole("link", { name: "Organizations", exact: true }).click();
      await text("Steward cannot be reached.");
      const { name } = await world.organization();
      isAway = false;
      await page.getByRole("link", { name }).first().waitFor();
      await page.getByText("Steward cannot be reached. Trying").waitFor({ state: "detached" });
    });

    it("waits as long as the server asks, and tries again by itself", async () => {
      const { page, asOwner, text, heading } = console();
      let requests = 0;
      let isBusy = true;
      await page.route("**/graphql", (route) => {
        if (!route.request().postData()?.includes("OrganizationList")) return route.continue();
        requests++;
        if (!isBusy) return route.continue();
        const extensions = { code: "RATE_LIMITED", retryAfter: 1, requestId: `request-${requests}` };
        return route.fulfill({ json: { errors: [{ message: "Too many requests.", extensions }] } });
      });
      await asOwner("/organizations");
      await text("Too many requests");
      isBusy = false;
      await heading("Organizations");
      await page.getByRole("table", { name: "Organizations" }).waitFor();
      expect(requests).to.be.above(1);
    });

    it("announces notifications as they arrive, and catches up after a disconnect", async () => {
      const { world, page, openAs, button, text } = console();
      const person = await world.user("reader");
      const mutation = `mutation($content: CustomNotificationContentInput!) {
        sendCustomNotification(input: { content: $content }) { __typename } }`;
      const send = (title: string) =>
        world.as(person).graphql(mutation, { content: { title, message: "**Bold** words" } });
      const sockets: WebSocketRoute[] = [];
      let isCut = false;
      await page.routeWebSocket(/\/graphql$/, async (socket) => {
        if (isCut) {
          await socket.close();
          return;
        }
        socket.connectToServer();
        sockets.push(socket);
      });
      await openAs(person, "/inbox");
      await page.getByText("Live", { exact: true }).waitFor();
      await send("The first");
      const article = (name: string) => page.getByRole("article", { name });
      await article("The first").waitFor();
      await page.getByRole("link", { name: "Inbox 1 unread" }).waitFor();
      expect(await article("The first").innerText())
        .to.include("Bold words")
        .and.not.include("**");

      isCut = true;
      for (const socket of sockets) await socket.close();
      await page.getByText("Not live").waitFor();
      await send("While away");
      isCut = false;
      await article("While away").waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      await button("Mark all as read").click();
      await page.getByText("Everything is read").waitFor();
      await button("Mark as unread The first").click();
      await text("1 unread");
    });
  });
});

// The consent pages in a browser: by mouse and by keyboard, on a phone, in the dark, and to where they lead.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Conduct, conductOf, launchBrowser } from "../support/browser.js";
import { authorizePath, challenge, deviceCode, deviceGrant, oauthApp, selfRegistered } from "../support/oauth2.js";
import { type Person, startWorld, userPassword, type World } from "../support/world.js";

const pkce = { code_challenge: challenge, code_challenge_method: "S256" };

describe("OAuth2 consent pages", () => {
  let w: World;
  let ada: Person;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;
  let conduct: Conduct;
  let home: string;
  /** A program on this machine that waits for the result. */
  let program: Server;
  let callback: string;

  before(async () => {
    w = await startWorld();
    ada = await w.user("ada");
    home = w.app.services.config.accessUrl;
    program = createServer((_, response) => response.end("Back in the program."));
    await new Promise<void>((done) => program.listen(0, "127.0.0.1", done));
    callback = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    program.close();
    program.closeAllConnections();
    await w.close();
  });
  beforeEach(async () => {
    visit = await browser.newContext();
    await signIn();
    page = await visit.newPage();
    page.setDefaultTimeout(60_000);
    conduct = conductOf(page, home);
  });
  afterEach(() => visit.close());

  const signIn = () => visit.addCookies([{ name: "service_session_token", value: ada.token, url: home }]);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const heading = () => page.locator("h1").innerText();
  const picture = async (name: string) => {
    if (process.env.STEWARD_TEST_PICTURES)
      await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/${name}.png`, fullPage: true });
  };
  const helper = (columns: object = {}) =>
    oauthApp(w, { ...selfRegistered, name: "Code Helper", redirect_uris: ["http://127.0.0.1/callback"], ...columns });
  const fitsTheScreen = () =>
    page.evaluate<boolean>("document.documentElement.scrollWidth === document.documentElement.clientWidth");
  /** The focused element, by its text. */
  const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");

  for (const [choice, parameter] of [
    ["Allow", "code"],
    ["Deny", "error"],
  ] as const) {
    it(`lead to the program after ${choice}, which the content security policy permits`, async () => {
      const app = await helper();
      await page.goto(home + authorizePath(app, { ...pkce, redirect_uri: callback }));
      expect(await heading()).to.equal("“Code Helper” requests access");
      await picture("consent-loopback");
      await button(choice).click();
      await page.waitForURL((url) => url.href.startsWith(callback));
      const { searchParams } = new URL(page.url());
      expect([...searchParams.keys()]).to.include.members([parameter, "state", "iss"]);
      expect(searchParams.get("iss")).to.equal(home);
      expect(conduct.complaints).to.deep.equal([]);
    });
  }

  it("are usable on a phone, in the dark, and by keyboard", async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.emulateMedia({ colorScheme: "dark" });
    const app = await helper({ name: `Code${"Helper".repeat(10)}` });
    await page.goto(home + authorizePath(app, { ...pkce, redirect_uri: callback, scope: undefined }));
    expect(await fitsTheScreen()).to.equal(true);
    await picture("consent-phone-dark");
    const stops: string[] = [];
    for (let stop = 0; stop < 4; stop++) {
      await page.keyboard.press("Tab");
      stops.push(await focused());
    }
    expect(stops).to.deep.equal(["Steward", "Use another account", "Allow", "Deny"]);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.href.startsWith(`${callback}?error=access_denied`));
    expect(conduct.complaints).to.deep.equal([]);
  });

  it("come back after a sign-in, also with another account", async () => {
    const bob = await w.user("bob");
    const app = await oauthApp(w, { redirect_uris: [callback] });
    await visit.clearCookies();
    const path = authorizePath(app);
    for (const person of [ada, bob]) {
      await page.goto(home + path);
      if (person === bob) await page.getByRole("link", { name: "Use another account" }).click();
      await page.getByLabel("Email").fill(person.email);
      await page.getByLabel("Password").fill(userPassword);
      await button("Sign in").click();
      await page.waitForURL(home + path);
      expect(await page.locator("dd strong").innerText()).to.equal(person.username);
    }
    await button("Allow").click();
    await page.waitForURL((url) => url.href.startsWith(`${callback}?code=`));
  });

  it("lead to no application that the user does not know, but name it", async () => {
    const app = await helper();
    const path = authorizePath(app, { ...pkce, redirect_uri: callback, response_type: "token" });
    await page.goto(home + path);
    expect(page.url()).to.equal(home + path);
    const shown = await page.getByRole("alert").innerText();
    expect(shown).to.contain("Code Helper").and.contain(new URL(callback).host);
    await picture("fault");
    expect(conduct.strangers).to.deep.equal([]);
  });

  it("lead to a known program for a fault of its request, also directly after the sign-in", async () => {
    const app = await helper();
    await w.as(ada).post(authorizePath(app, { ...pkce, redirect_uri: callback }));
    const path = authorizePath(app, { ...pkce, redirect_uri: callback, response_type: "token" });
    for (const isSignedIn of [true, false]) {
      if (!isSignedIn) {
        await visit.clearCookies();
        await page.goto(home + path);
        await page.getByLabel("Email").fill(ada.email);
        await page.getByLabel("Password").fill(userPassword);
        await button("Sign in").click();
      } else await page.goto(home + path);
      await page.waitForURL((url) => url.href.startsWith(`${callback}?`));
      expect(new URL(page.url()).searchParams.get("error")).to.equal("unsupported_response_type");
      expect(conduct.complaints).to.deep.equal([]);
      await page.goto("about:blank");
    }
  });

  it("warn of programs behind private schemes, and of full access", async () => {
    const app = await helper({ redirect_uris: ["com.example.helper:/callback"] });
    await page.goto(home + authorizePath(app, { ...pkce, scope: "user:read" }));
    expect((await page.locator(".warning").allInnerTexts()).join()).to.contain(
      "It is not known which program on this device gets the result",
    );
    await picture("consent-scheme");
    await page.goto(home + authorizePath(await oauthApp(w), { scope: undefined }));
    expect(await page.locator(".alarm").innerText()).to.contain("full access to your account");
    expect(await page.locator(".warning").count()).to.equal(0);
    await picture("consent-full");
  });

  it("connect a device by keyboard, after a wrong code", async () => {
    const app = await helper({ grant_types: [deviceGrant], redirect_uris: [] });
    const code = await deviceCode(w, app);
    await page.goto(`${home}/oauth2/device`);
    await picture("device");
    for (const text of ["wrong", code.toLowerCase()]) {
      await page.locator("input:focus").waitFor();
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.insertText(text);
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.searchParams.get("user_code") === text);
      if (text === "wrong") expect(await page.getByRole("alert").innerText()).to.contain("The code is wrong");
    }
    expect(await page.locator("p.code").innerText()).to.equal(`${code.slice(0, 4)}-${code.slice(4)}`);
    await picture("device-consent");
    await button("Allow").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Access allowed" }).waitFor();
    await picture("device-allowed");
    expect(conduct.strangers).to.deep.equal([]);
  });
});

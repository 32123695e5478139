// Linking an account at a real OpenID Connect provider, as users do it in a browser: by redirect, and by device code.
// Reaches for tables: a device waits for its next turn.
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Conduct, conductOf, launchBrowser } from "../support/browser.js";
import { expire, externalAuth } from "../support/external-services.js";
import { client, OidcProvider } from "../support/providers.js";
import { setTimes } from "../support/tables.js";
import { type Person, startWorld, userPassword, type World } from "../support/world.js";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

interface PageContext {
  body: string;
}

/** Pages of the provider without references to other hosts. */
const pages = {
  userCodeInputSource: (ctx: PageContext, form: string) =>
    void (ctx.body = `${form}<button form="op.deviceInputForm">Next</button>`),
  userCodeConfirmSource: (ctx: PageContext, form: string) =>
    void (ctx.body = `${form}<button form="op.deviceConfirmForm">Confirm</button>`),
  successSource: (ctx: PageContext) => void (ctx.body = "<h1>Done</h1>"),
};

describe("the page of a provider", () => {
  let w: World;
  let oidc: OidcProvider;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;
  let conduct: Conduct;
  let home: string;
  let ada: Person;

  before(async () => {
    oidc = await OidcProvider.open(() => `${home}/external-auth/git/callback`, {
      metadata: { grant_types: ["authorization_code", "refresh_token", deviceGrant] },
      features: { deviceFlow: { enabled: true, ...pages }, revocation: { enabled: true } },
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      ttl: { AccessToken: 3600 },
    });
    w = await startWorld({
      ...externalAuth({
        type: "custom",
        id: "git",
        display_name: "Git",
        client_id: client.id,
        client_secret: client.secret,
        token_auth_method: "basic",
        auth_url: `${oidc.issuer}/auth`,
        token_url: `${oidc.issuer}/token`,
        validate_url: `${oidc.issuer}/me`,
        revoke_url: `${oidc.issuer}/token/revocation`,
        device_code_url: `${oidc.issuer}/device/auth`,
        device_flow: true,
        issuer: oidc.issuer,
        app_install_url: "https://git.example.com/install",
        scopes: ["openid", "profile"],
      }),
      STEWARD_EXTERNAL_AUTH_VALIDATE_CACHE: "0s",
    });
    home = w.app.services.config.accessUrl;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await w.close();
    await oidc.close();
  });
  beforeEach(async () => {
    visit = await browser.newContext();
    // Nothing but this machine.
    await visit.route(
      (url) => url.hostname !== "localhost" && url.hostname !== "127.0.0.1",
      (route) => route.abort(),
    );
    page = await visit.newPage();
    page.setDefaultTimeout(60_000);
    conduct = conductOf(page, home);
    ada = await w.user("ada");
    oidc.subjects.set("octo", { name: "Octo Cat", preferred_username: "octo" });
    await signIn();
  });
  afterEach(() => visit.close());

  const open = (path: string) => page.goto(home + path);
  const text = () => page.locator("main").innerText();
  const shows = (what: string) => page.locator("main", { hasText: what }).waitFor();
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  const state = async () => (await w.as(ada).get("/api/v2/external-auth/git")).body;
  const picture = async (name: string) => {
    if (process.env.STEWARD_TEST_PICTURES)
      await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/${name}.png` });
  };

  /** Signs in on the way to the page of the provider. */
  async function signIn() {
    await open("/external-auth/git");
    expect(page.url()).to.equal(`${home}/login?return_to=%2Fexternal-auth%2Fgit`);
    await page.getByLabel("Email").fill(ada.email);
    await page.getByLabel("Password").fill(userPassword);
    await press("Sign in");
    await page.waitForURL(`${home}/external-auth/git`);
  }

  /** Signs in at the provider, and consents. */
  async function atProvider(at: Page) {
    await at.locator("input[name=login]").fill("octo");
    await at.locator("input[name=password]").fill("any");
    await at.locator("button[type=submit]").click();
    await at.locator("button[type=submit]", { hasText: "Continue" }).click();
  }

  it("links an account by redirect, refreshes it, and unlinks it", async () => {
    expect(await page.locator("h1").innerText()).to.equal("Git");
    expect(await text()).to.contain("You have not connected an account at Git.");
    expect(await page.getByRole("link", { name: "Install" }).getAttribute("href")).to.equal(
      "https://git.example.com/install",
    );
    expect(conduct).to.deep.equal({ strangers: [], complaints: [] });
    await picture("external-auth-none");

    await page.getByRole("link", { name: "Connect", exact: true }).click();
    await atProvider(page);
    await page.waitForURL(`${home}/external-auth/git?redirected=true`);
    expect(await text())
      .to.contain("The account is connected.")
      .and.contain("You are connected as octo.");
    await picture("external-auth-linked");
    expect(await state()).to.deep.include({ authenticated: true, user: { login: "octo", name: "Octo Cat" } });
    expect((await visit.cookies()).map(({ name }) => name)).to.not.include("steward_external_auth_git");

    const tokens = async () =>
      (await w.as(ada).graphql('{ externalAuthAccessToken(providerId: "git") { accessToken } }'))
        .externalAuthAccessToken;
    const before = await tokens();
    await expire(w, ada);
    expect((await tokens()).accessToken)
      .to.be.a("string")
      .and.not.equal(before.accessToken);
    expect(await state()).to.include({ authenticated: true });

    await press("Disconnect");
    await shows("The account is disconnected.");
    expect(await text()).to.contain("You have not connected an account");
    expect(await state()).to.include({ authenticated: false });
  });

  it("links an account by device code", async () => {
    await press("Use a device code");
    const code = await page.locator("main code").innerText();
    await picture("external-auth-device");
    await press("Check");
    expect(await page.getByRole("alert").innerText()).to.equal("The code has not been confirmed at the provider yet.");
    expect(await page.locator("main code").innerText()).to.equal(code);

    const at = await visit.newPage();
    await at.goto((await page.getByRole("link", { name: oidc.issuer }).getAttribute("href"))!);
    await at.locator("input[name=user_code]").fill(code);
    await at.getByRole("button", { name: "Next" }).click();
    await at.getByRole("button", { name: "Confirm" }).click();
    await atProvider(at);
    await at.getByRole("heading", { name: "Done" }).waitFor();

    await setTimes(w, "external_auth_devices", {}, { next_poll_at: "0 s" });
    await press("Check");
    await page.waitForURL(`${home}/external-auth/git?redirected=true`);
    expect(await text()).to.contain("You are connected as octo.");
  });

  it("cannot be used by forms of other sites, and cannot be framed", async () => {
    const { status } = await w.nobody.post("/external-auth/git", "action=disconnect", {
      "Content-Type": "application/x-www-form-urlencoded",
    });
    expect(status).to.equal(303);
    const session = (await visit.cookies()).find(({ name }) => name === "service_session_token")!.value;
    const headers = {
      Cookie: `service_session_token=${session}`,
      Origin: home,
      "Content-Type": "application/x-www-form-urlencoded",
    };
    expect(await w.nobody.post("/external-auth/git", "action=disconnect", headers)).to.include({ status: 403 });
    const form = (action: string) => w.as(ada).post("/external-auth/git", `action=${action}`, headers);
    for (const action of ["__proto__", "constructor", "", "unknown"])
      expect(await form(action)).to.include({ status: 400 });
    const claiming = await w.as(ada).get("/external-auth/git?redirected=true");
    expect(claiming.body).to.not.contain("The account is connected.");
    const shown = await w.as(ada).get("/external-auth/git");
    expect(shown.headers.get("content-security-policy"))
      .to.contain("frame-ancestors 'none'")
      .and.contain("default-src 'none'");
  });

  it("still unlinks an account when the provider fails", async () => {
    await page.getByRole("link", { name: "Connect", exact: true }).click();
    await atProvider(page);
    await page.waitForURL(`${home}/external-auth/git?redirected=true`);
    await oidc.close();
    await open("/external-auth/git");
    expect(await page.getByRole("alert").innerText()).to.contain("The provider is not reachable.");
    await press("Disconnect");
    await shows("The account is disconnected, but its token was not revoked. The provider is not reachable.");
    expect((await w.as(ada).get("/api/v2/external-auth")).body.links).to.deep.equal([]);
  });
});

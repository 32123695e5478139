// The pages of an account: a forgotten password, the own password, sessions and keys, applications, and linked accounts.
// Reaches for tables: keys expire, and a user signs in through a provider.
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Key, keysOf } from "../support/accounts.js";
import { setColumns, setTimes } from "../support/tables.js";
import { type Conduct, conductOf, launchBrowser } from "../support/browser.js";
import { externalAuth, ExternalService, link, providerAt } from "../support/external-services.js";
import { codeIn, Mailbox } from "../support/mailbox.js";
import { grantWithTokens, insertApp, makeApp } from "../support/oauth2.js";
import { type Person, startWorld, userPassword, type World } from "../support/world.js";

const good = "plum-Harbor-kite-77";
const forgotten = "/login/forgot-password";
const newPassword = "/login/reset-password";
const accountPaths = [
  "/",
  "/account/password",
  "/account/second-factor",
  "/account/keys",
  "/external-auth",
  "/account/applications",
];
const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };

describe("account pages", () => {
  let w: World;
  let mailbox: Mailbox;
  let git: ExternalService;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;
  let conduct: Conduct;
  let home: string;
  /** Users of the tests that do not change their credentials. */
  let ada: Person;
  let eve: Person;

  before(async () => {
    [mailbox, git] = await Promise.all([Mailbox.open(), ExternalService.open()]);
    w = await startWorld({
      STEWARD_RATE_LIMIT_CREDENTIAL: "20",
      ...mailbox.settings,
      ...externalAuth(providerAt(git.url)),
    });
    home = w.app.services.config.accessUrl;
    [[ada, eve], browser] = (await Promise.all([w.users("ada", "eve"), launchBrowser()])) as [
      [Person, Person],
      Browser,
    ];
  });
  after(async () => {
    await browser.close();
    await w.close();
    await Promise.all([mailbox.close(), git.close()]);
  });
  beforeEach(async () => {
    visit = await browser.newContext({ javaScriptEnabled: false });
    page = await visit.newPage();
    page.setDefaultTimeout(60_000);
    conduct = conductOf(page, home);
  });
  afterEach(() => visit.close());

  const open = (path: string) => page.goto(home + path);
  /** Presses a button that opens a page, and waits for the whole page. */
  const press = async (name: string) => {
    // Otherwise, the end of the page before would count.
    await page.waitForLoadState();
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name, exact: true }).click()]);
  };
  const alert = () => page.getByRole("alert").innerText();
  const notice = () => page.getByRole("status").innerText();
  const field = (label: string) => page.getByLabel(label, { exact: true });
  const picture = async (name: string) => {
    if (process.env.STEWARD_TEST_PICTURES)
      await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/${name}.png`, fullPage: true });
  };
  const enter = (token: string) => visit.addCookies([{ name: "service_session_token", value: token, url: home }]);
  const isAlive = async (token: string) =>
    w
      .as({ token })
      .graphql("{ me { id } }")
      .then(
        () => true,
        () => false,
      );
  const tokenOf = ({ token }: Person) => ({ "Service-Session-Token": token });
  /** Sends a form. */
  const submit = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    w.nobody.post(path, new URLSearchParams(fields).toString(), { ...urlencoded, ...headers });
  /** The CSRF token of a form, and the cookie that it needs. */
  const formOf = async (path: string, person?: Person) => {
    const session = person && `service_session_token=${person.token}`;
    const { headers, body } = await w.nobody.get(path, session ? { cookie: session } : {});
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(body)![1]!;
    return { csrf_token, cookie: session ?? headers.getSetCookie()[0]!.split(";")[0]! };
  };
  /** The fault next to a field, which the field refers to. */
  const faultOf = async (label: string) => {
    expect(await field(label).getAttribute("aria-invalid")).to.equal("true");
    const note = (await field(label).getAttribute("aria-describedby"))!.split(" ").at(-1)!;
    return page.locator(`#${note}[role=alert]`).innerText();
  };

  it("reset a forgotten password with the passcode of a mail, and go on where the visitor wanted to go", async () => {
    const bob = await w.user("bob");
    await open("/external-auth");
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.waitForURL(/\/forgot-password/);
    await picture("forgotten");
    await field("Email").fill(bob.email);
    await press("Send a passcode");
    expect(await notice()).to.equal(
      `If an account with a password has the address ${bob.email}, a passcode is on its way. It works for 20 minutes.`,
    );
    expect(await field("Email").inputValue()).to.equal(bob.email);
    await picture("new-password");

    const letter = await mailbox.letter(bob.email);
    expect(letter.text.replace(/=\r\n/g, "")).to.include(`Choose a new password: ${home}${newPassword}`);
    await field("Passcode").fill("2345678923");
    await field("New password").fill(good);
    await press("Change password");
    expect(await alert()).to.equal("Incorrect email or one-time passcode.");
    expect(await field("Email").inputValue()).to.equal(bob.email);
    await field("Passcode").fill(codeIn(letter));
    await field("New password").fill("password");
    await press("Change password");
    expect(await faultOf("New password")).to.match(/common/);
    await page.locator("input[name=password]:focus").waitFor();
    await picture("new-password-fault");
    await field("Passcode").fill(codeIn(letter).toLowerCase());
    await field("New password").fill(good);
    await press("Change password");

    expect(await notice()).to.equal("Your password is changed. Sign in with it.");
    expect(await isAlive(bob.token)).to.equal(false);
    await field("Email").fill(bob.email);
    await field("Password").fill(good);
    await press("Sign in");
    expect(page.url()).to.equal(`${home}/external-auth`);
    const complaints = conduct.complaints.filter((text) => !/status of 400/.test(text));
    expect({ ...conduct, complaints }).to.deep.equal({ strangers: [], complaints: [] });
  });

  it("send the same response for any address, and reject what the domain rejects", async () => {
    const address = "stranger@example.com";
    await open(forgotten);
    const { csrf_token, cookie } = await formOf(forgotten);
    const send = (path: string, fields: Record<string, string>) => submit(path, { csrf_token, ...fields }, { cookie });
    const known = await send(forgotten, { email: ada.email });
    const unknown = await send(forgotten, { email: address });
    expect([known.status, unknown.status]).to.deep.equal([200, 200]);
    expect(known.body.replaceAll(ada.email, address)).to.equal(unknown.body);
    await mailbox.letter(ada.email);
    expect(mailbox.to(address)).to.deep.equal([]);

    const all = { email: "no address", oneTimePasscode: "", password: "password", return_to: "//evil.example.com" };
    const { status, body } = await send(newPassword, all);
    expect(status).to.equal(400);
    expect([...body.matchAll(/id="(\w+)-fault" role="alert"/g)].map(([, name]) => name)).to.deep.equal(
      Object.keys(all).slice(0, 3),
    );
    expect(body).to.not.include("evil.example.com");
    const evil = `"><script>alert(1)</script>@example.com`;
    expect((await send(forgotten, { email: evil })).body).to.not.include("<script");

    const tries = await Promise.all(Array.from({ length: 21 }, () => send(forgotten, { email: "often@example.com" })));
    const limited = tries.find((each) => each.status === 429)!;
    expect(Number(limited.headers.get("retry-after"))).to.be.within(1, 60);
    expect(limited.body).to.match(/role="alert">Too many requests\. Try again in \d+ seconds?\./);
  });

  it("offer passcodes only if they can be delivered", async () => {
    const { transports } = w.app.services;
    const { smtp } = transports;
    transports.smtp = undefined;
    try {
      expect((await w.nobody.get("/login")).body).to.not.include(forgotten);
      expect(await w.nobody.graphql("{ serverInfo { sendsPasscodes } }")).to.deep.equal({
        serverInfo: { sendsPasscodes: false },
      });
      const { status, body } = await w.nobody.get(forgotten);
      expect([status, /cannot send passcodes/.test(body), /<form/.test(body)]).to.deep.equal([200, true, false]);
    } finally {
      transports.smtp = smtp;
    }
    expect((await w.nobody.get("/login?return_to=/docs")).body).to.include(`${forgotten}?return_to=%2Fdocs`);
    expect(await w.nobody.graphql("{ serverInfo { sendsPasscodes } }")).to.deep.equal({
      serverInfo: { sendsPasscodes: true },
    });
  });

  it("change the own password, which ends the other sessions", async () => {
    const bob = await w.user("bob");
    const elsewhere = await w.login(bob.email, userPassword);
    await enter(bob.token);
    await open("/.well-known/change-password");
    expect(page.url()).to.equal(`${home}/account/password`);
    await picture("password");
    const change = async (current: string, wanted: string, again = wanted) => {
      await field("Current password").fill(current);
      await field("New password").fill(wanted);
      await field("New password again").fill(again);
      await press("Change password");
    };
    await change(userPassword, good, `${good}8`);
    expect(await faultOf("New password again")).to.equal("Differs from the new password.");
    await change(userPassword, "password");
    expect(await faultOf("New password")).to.match(/common/);
    await picture("password-fault");
    await change("wrong", good);
    expect(await faultOf("Current password")).to.equal("Is not your password.");
    expect(await isAlive(elsewhere)).to.equal(true);
    await change(userPassword, good);
    expect(await notice()).to.equal("Your password is changed. Your other sessions have ended.");
    expect([await isAlive(elsewhere), await isAlive(bob.token)]).to.deep.equal([false, true]);
    await w.login(bob.email, good);

    await setColumns(w, "users", { id: bob.id }, { login_type: "oidc", password_hash: null });
    await open("/account/password");
    expect(await page.locator("main").innerText()).to.include("You sign in through a provider");
    expect(await page.locator("form").count()).to.equal(0);
  });

  it("list sessions and keys, and revoke them", async () => {
    const bob = await w.user("bob");
    const token = async (name: string, scopes: string[]) =>
      (
        await w.as(bob).graphql(
          `mutation($name: String!, $scopes: [String!]!) {
               createApiKey(input: { name: $name, scopes: $scopes }) { token } }`,
          { name, scopes },
        )
      ).createApiKey.token;
    const [laptop] = [await token("laptop", ["group:read"]), await token("<b>build</b>", ["all"])];
    await w.nobody.post(
      "/api/v2/users/login",
      { email: bob.email, password: userPassword },
      {
        "User-Agent":
          "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
      },
    );
    const old = (await keysOf(w, bob)).find(({ name }) => name.startsWith("<"))!;
    await setTimes(w, "api_keys", { id: old.id }, { expires_at: "-61 min" });
    await enter(bob.token);
    await open("/account/keys");
    await picture("keys");
    const items = () => page.locator(".items > li").allInnerTexts();
    const shown = (await items()).map((text) => text.replace(/\s+/g, " "));
    expect(shown).to.have.length(4);
    expect(shown[0]).to.match(
      /^Safari on iOS Created .+ from 127\.0\.0\.1 Last used .+, expires in 24 hours Signed in with the password and all that it made Revoke$/,
    );
    expect(shown[1]).to.match(/^node This session .* Sign out$/);
    expect(shown[2]).to.match(
      /^<b>build<\/b> .* Never used, expired 1 hour ago All scopes and all that it made Revoke$/,
    );
    expect(shown[3]).to.match(
      /^laptop Created .* by a session .* expires in 90 days Scopes: group:read and all that it made Revoke$/,
    );
    const isChecked = (at: number) => page.locator(".items > li").nth(at).getByRole("checkbox").isChecked();
    expect([await isChecked(0), await isChecked(2)], "for tokens by default").to.deep.equal([false, true]);

    const other = await visit.newPage();
    await other.goto(`${home}/account/keys`);
    await press("Revoke laptop");
    expect(await notice()).to.equal("It is revoked.");
    expect([(await items()).length, await isAlive(laptop), await isAlive(bob.token)]).to.deep.equal([3, false, true]);
    await other.getByRole("button", { name: "Revoke laptop" }).click();
    expect(await other.getByRole("alert").innerText()).to.equal("It has been revoked before.");

    const { csrf_token, cookie } = await formOf("/account/keys", eve);
    const [{ id }] = (await keysOf(w, bob, "SESSION")) as [Key, ...Key[]];
    const stolen = await submit("/account/keys", { csrf_token, action: "revoke", id }, { cookie, Origin: home });
    const unknown = await submit("/account/keys", { csrf_token, action: "revoke", id: "x" }, { cookie, Origin: home });
    expect([stolen.status, stolen.body]).to.deep.equal([404, unknown.body]);

    await press("Sign out all other sessions");
    expect(await notice()).to.equal("1 session is signed out.");
    await press("Sign out node");
    expect(page.url()).to.equal(`${home}/login?signed_out`);
    expect(await isAlive(bob.token)).to.equal(false);
  });

  it("list the applications with access, and revoke it", async () => {
    const app = await makeApp(w, "Deploy <b>Bot</b>");
    const bot = await insertApp(w, "dynamic", "Helper");
    const first = await grantWithTokens(w, app, ada, { scopes: ["workspace:*", "workspace:read", "user:read"] });
    const second = await grantWithTokens(w, bot, ada);
    const foreign = await grantWithTokens(w, app, eve);
    await enter(ada.token);
    await open("/account/applications");
    await page.locator("summary").last().click();
    await picture("applications");
    expect(await page.locator(".title").allInnerTexts()).to.deep.equal([
      "Helper Registered itself",
      "Deploy <b>Bot</b>",
    ]);
    expect(await page.locator("details").last().locator("li").allInnerTexts()).to.have.length(2);
    await open(`/account/applications?after=${second.id}`);
    expect(await page.locator(".title").allInnerTexts()).to.deep.equal(["Deploy <b>Bot</b>"]);

    await press("Revoke Deploy <b>Bot</b>");
    expect(await notice()).to.equal("“Deploy <b>Bot</b>” has no access any more.");
    expect(await page.locator(".title").allInnerTexts()).to.deep.equal(["Helper Registered itself"]);
    expect([await isAlive(first.token), await isAlive(second.token)]).to.deep.equal([false, true]);
    const { csrf_token, cookie } = await formOf("/account/applications", ada);
    const send = (id: string) => submit("/account/applications", { csrf_token, id }, { cookie, Origin: home });
    expect(await send(foreign.id)).to.include({ status: 404 });
    expect(await send("x")).to.include({ status: 400 });
    expect(await isAlive(foreign.token)).to.equal(true);
    await press("Revoke Helper");
    await open("/account/applications");
    expect(await page.locator("main").innerText()).to.include("No application has access to your account.");
  });

  it("list the services at which accounts are linked", async () => {
    await enter(ada.token);
    await open("/external-auth");
    expect(await page.locator(".items").innerText()).to.match(/^The lab\s+Not connected\s+Connect$/);
    await link(w.as(ada));
    await open("/external-auth");
    await picture("linked");
    await page.getByRole("link", { name: "Details The lab" }).click();
    await page.waitForURL(`${home}/external-auth/lab`);
    expect(await page.locator("main").innerText()).to.include("You are connected as octo.");
    await picture("linked-details");
    expect(await page.locator("[aria-current=true]").innerText()).to.equal("Linked accounts");
    await page.goBack();
    await press("Disconnect The lab");
    expect(await notice()).to.equal("The account is disconnected.");
    expect((await w.as(ada).get("/api/v2/external-auth")).body.links).to.deep.equal([]);
  });

  it("fit a phone in the dark, work by keyboard, and have the same navigation", async () => {
    const bob = await w.user("bob");
    await grantWithTokens(w, await makeApp(w, `Deploy${"Bot".repeat(15)}`), bob);
    await setColumns(w, "api_keys", { user_id: bob.id }, { user_agent: "x".repeat(300) });
    await page.setViewportSize({ width: 320, height: 640 });
    await page.emulateMedia({ colorScheme: "dark" });
    const fits = () =>
      page.evaluate<boolean>("document.documentElement.scrollWidth === document.documentElement.clientWidth");
    for (const path of [forgotten, newPassword]) {
      await open(path);
      expect(await fits(), path).to.equal(true);
      await picture(`phone-${path.split("/").at(-1)}`);
    }
    await enter(bob.token);
    const names = ["Overview", "Password", "Second factor", "Sessions and keys", "Linked accounts", "Applications"];
    for (const [nr, path] of accountPaths.entries()) {
      await open(path);
      expect(await fits(), path).to.equal(true);
      expect(await page.locator("nav[aria-label=Account] a").allInnerTexts(), path).to.deep.equal(names);
      expect(await page.locator("[aria-current=page]").innerText(), path).to.equal(names[nr]);
      await picture(`phone-${path.split("/").at(-1) || "home"}`);
    }

    await open("/account/keys");
    const stops: string[] = [];
    for (let stop = 0; stop < names.length + 2; stop++) {
      await page.keyboard.press("Tab");
      stops.push(await page.locator(":focus").innerText());
    }
    expect(stops).to.deep.equal(["Steward", ...names, "Sign out"]);
    await open("/account/password");
    for (const [name, text] of [
      ["currentPassword", userPassword],
      ["newPassword", good],
      ["repeated", good],
    ] as const) {
      // The browser focuses the first field when it paints.
      await page.locator(`input[name=${name}]:focus`).waitFor();
      await page.keyboard.insertText(text);
      await page.keyboard.press("Tab");
    }
    await page.locator("button:focus").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("status").waitFor();
    await w.login(bob.email, good);
  });

  it("take no forms of other sites or of ended sessions, and no session before sign-in", async () => {
    const bob = await w.user("bob");
    const cookie = `service_session_token=${bob.token}`;
    for (const path of accountPaths.slice(1).filter((each) => each !== "/external-auth")) {
      const { csrf_token } = await formOf(path === "/account/applications" ? "/" : path, bob);
      const fields = {
        action: "revoke_others",
        id: "x",
        currentPassword: userPassword,
        newPassword: good,
        repeated: good,
      };
      expect(await submit(path, fields, { cookie, Origin: home }), path).to.include({ status: 403 });
      const elsewhere: Array<Record<string, string>> = [
        { "Sec-Fetch-Site": "cross-site" },
        { Origin: "https://evil.example.com" },
        {},
      ];
      for (const from of elsewhere)
        expect((await submit(path, { ...fields, csrf_token }, { cookie, ...from })).headers.get("location")).to.equal(
          `/login?return_to=${encodeURIComponent(path)}`,
        );
    }
    expect(await submit("/account/keys", { action: "constructor" }, tokenOf(bob))).to.include({ status: 400 });
    for (const path of [forgotten, newPassword]) {
      const { csrf_token } = await formOf(path);
      const fields = { email: bob.email, oneTimePasscode: "2345678923", password: good };
      for (const sent of [fields, { ...fields, csrf_token }]) {
        const { status, body } = await submit(path, sent);
        expect([status, /This form was not opened in this browser/.test(body)], path).to.deep.equal([403, true]);
      }
    }
    expect(mailbox.to(bob.email)).to.deep.equal([]);

    for (const path of [...accountPaths, forgotten, newPassword]) {
      const { status, headers, body } = await w.nobody.get(path, { cookie });
      expect(status, path).to.equal(200);
      expect(headers.get("content-security-policy"), path).to.match(/^default-src 'none'; .*form-action 'self'$/);
      expect(headers.get("cache-control"), path).to.equal("no-store");
      const console = /<script type="module" src="\/assets\/console\/[\w-]+\.js"><\/script>/;
      expect(path === "/" ? body.replace(console, "") : body, path).to.not.match(/<script|style=| on\w+=/);
    }
    const { csrf_token } = await formOf("/account/keys", bob);
    await w.as(bob).graphql("mutation { logout { apiKeyId } }");
    for (const path of accountPaths)
      expect((await w.nobody.get(path, { cookie })).headers.get("location")).to.equal(
        `/login?return_to=${encodeURIComponent(path)}`,
      );
    const late = await submit("/account/keys", { action: "revoke_others", csrf_token }, { cookie, Origin: home });
    expect(late.headers.get("location")).to.equal("/login?return_to=%2Faccount%2Fkeys");
  });
});

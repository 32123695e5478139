// Signing in, signing out, and converting to a provider, as users do it in a browser.
// Reaches for tables: conversions expire, and what is left of sign-ins is in no response.
import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { inMs } from "../support/clock.js";
import { accountOf, keysOf, suspend } from "../support/accounts.js";
import { audited } from "../support/audit.js";
import { runJob } from "../support/background.js";
import { type App, startServer } from "../support/app.js";
import { type Conduct, conductOf, launchBrowser } from "../support/browser.js";
import { GithubServer, OidcProvider } from "../support/providers.js";
import { bytes } from "../support/oauth2.js";
import { insert } from "../support/stage.js";
import { countRows, setColumns, setTimes } from "../support/tables.js";
import { hashSecret, parseToken } from "../support/token-rows.js";
import { Client, type Person, startWorld, userPassword, type World } from "../support/world.js";

describe("sign-in pages", () => {
  let w: World;
  let oidc: OidcProvider;
  let github: GithubServer;
  let browser: Browser;
  let visit: BrowserContext;
  let page: Page;
  let conduct: Conduct;
  /** Where browsers and providers reach the server. */
  let home: string;

  before(async () => {
    oidc = await OidcProvider.open(() => `${home}/login/oidc/callback`);
    github = await GithubServer.open();
    w = await startWorld({
      ...oidc.settings,
      ...github.settings,
      STEWARD_OIDC_EMAIL_DOMAINS: "new.example.com",
    });
    home = w.app.services.config.accessUrl;
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await w.close();
    await Promise.all([oidc.close(), github.close()]);
  });
  beforeEach(async () => {
    visit = await browser.newContext();
    page = await visit.newPage();
    page.setDefaultTimeout(60_000);
    conduct = conductOf(page, home);
  });
  afterEach(() => visit.close());

  const open = (path: string) => page.goto(home + path);
  const heading = () => page.locator("h1").innerText();
  const alarm = () => page.getByRole("alert").innerText();
  const picture = async (name: string) => {
    if (process.env.STEWARD_TEST_PICTURES)
      await page.screenshot({ path: `${process.env.STEWARD_TEST_PICTURES}/${name}.png` });
  };
  const fill = async (email: string, password: string) => {
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(password);
    // A click may end before the navigation that it causes has begun.
    await Promise.all([
      page.waitForEvent("framenavigated"),
      page.getByRole("button", { name: "Sign in", exact: true }).click(),
    ]);
  };
  const sessionCookie = async () => (await visit.cookies()).find(({ name }) => name === "service_session_token");
  const sessionsOf = (person: Pick<Person, "id">) => keysOf(w, person, "SESSION");
  /** Loses the session, once the console has loaded: it shows the sign-in page when its requests fail. */
  const forget = async () => {
    await page.goto("about:blank");
    await visit.clearCookies();
  };
  /** The front page after a conversion. */
  const conversionTo = (provider: string) =>
    page.getByText(`You sign in through ${provider} from now on. Your password no longer works.`).waitFor();
  /** Signs in at the provider, and returns. */
  const throughOidc = async (subject: string, path = "/login/oidc") => {
    await open(path);
    await page.locator("input[name=login]").fill(subject);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    await page.locator("button[type=submit]", { hasText: "Continue" }).click();
    await page.waitForURL((url) => url.origin === home);
  };
  /** Returns from a provider that already has a session; at most, it asks for consent. */
  const throughOidcAgain = async (path: string) => {
    await open(path);
    if (new URL(page.url()).origin !== home) await page.locator("button[type=submit]", { hasText: "Continue" }).click();
    await page.waitForURL((url) => url.origin === home);
  };
  /** An account that has not signed in through its provider yet. */
  const invited = (name: string, loginType: "OIDC" | "GITHUB"): Promise<Person> => w.user(name, undefined, loginType);
  const conversionOf = async (person: Person, to_type: string): Promise<string> => {
    const answer = await w.as(person).post("/api/v2/users/me/convert-login", { to_type, password: userPassword });
    expect(answer).to.include({ status: 201 });
    return answer.body.state_string;
  };
  const loginTypeOf = async ({ id }: Pick<Person, "id">) => (await accountOf(w, id))!.loginType;

  it("are named to clients with sign-in pages of their own", async () => {
    const { serverInfo } = await w.nobody.graphql(
      "{ serverInfo { passwordAuth identityProviders { type label signInUrl } } }",
    );
    expect(serverInfo).to.deep.equal({
      passwordAuth: true,
      identityProviders: [
        { type: "OIDC", label: "127.0.0.1", signInUrl: `${home}/login/oidc` },
        { type: "GITHUB", label: "GitHub", signInUrl: `${home}/login/github` },
      ],
    });
  });

  it("sign a user in by password and out again, loading nothing from other origins", async () => {
    const ada = await w.user("ada");
    await open("/");
    expect(page.url()).to.equal(`${home}/login?return_to=%2F`);
    await picture("login-light");
    await fill(ada.email, "wrong");
    expect(await alarm()).to.equal("Incorrect email or password.");
    expect(await page.getByLabel("Email").inputValue()).to.equal(ada.email);
    expect(await page.getByLabel("Password").inputValue()).to.equal("");
    expect(await page.locator("input:focus").getAttribute("name")).to.equal("password");
    await picture("login-failed");

    await fill(ada.email, userPassword);
    await page.waitForURL(`${home}/`);
    expect(await heading()).to.equal(`Hello, ${ada.username}`);
    await picture("home");
    expect(await sessionCookie()).to.include({ httpOnly: true, sameSite: "Lax", secure: false, path: "/" });
    expect(await sessionsOf(ada)).to.have.length(2);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${home}/login?signed_out`);
    expect(await page.getByRole("status").innerText()).to.equal("You are signed out.");
    await picture("signed-out");
    expect(await sessionCookie()).to.equal(undefined);
    expect(await sessionsOf(ada)).to.have.length(1);
    await open("/");
    expect(await heading()).to.equal("Sign in");
    // The browser logs responses with error statuses by itself.
    const complaints = conduct.complaints.filter((text) => !/status of 401/.test(text));
    expect({ ...conduct, complaints }).to.deep.equal({ strangers: [], complaints: [] });
  });

  it("are usable in dark mode, on a small screen, and without a mouse", async () => {
    const ada = await w.user("ada");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 360, height: 640 });
    await open("/login?return_to=%2Fdocs");
    await picture("login-dark-small");
    const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
      "({ scrollWidth: document.documentElement.scrollWidth, clientWidth: document.documentElement.clientWidth })",
    );
    expect(scrollWidth).to.equal(clientWidth);
    // The browser focuses the first field when it paints, which may be after the page has loaded.
    for (const [field, text] of [
      ["email", ada.email],
      ["password", userPassword],
    ] as const) {
      await page.locator(`input[type=${field}]:focus`).waitFor();
      await page.keyboard.insertText(text);
      await page.keyboard.press("Tab");
    }
    await page.locator("button:focus").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${home}/docs`);
    await open("/");
    await picture("home-dark-small");
  });

  it("create an account for a first sign-in from an allowed domain, and find it again", async () => {
    oidc.subjects.set("nina", {
      email: "Nina.Novak@new.example.com",
      email_verified: true,
      name: "Nina Novák",
      preferred_username: "nina.novak",
    });
    await open("/login?return_to=%2Flogin%3Fhere");
    await page.getByRole("link", { name: "Sign in with 127.0.0.1" }).click();
    await page.locator("input[name=login]").waitFor();
    await throughOidc("nina", "/login/oidc?return_to=%2F");
    expect(await heading()).to.equal("Hello, Nina Novák");
    await picture("home-provider");
    const nina = (await accountOf(w, "nina-novak"))!;
    expect(nina).to.include({ email: "Nina.Novak@new.example.com", loginType: "OIDC", status: "ACTIVE" });
    expect(nina.lastSeenAt).to.be.a("string");
    expect(nina.organizationIds).to.deep.equal([w.defaultOrganization]);
    const actions = (await audited(w, { resourceId: nina.id })).map(({ action }) => action);
    expect(actions).to.have.members(["CREATE", "LOGIN"]);
    const told = async (token: string) => {
      const { body } = await w.as({ token }).get(`/api/v2/notifications/inbox?targets=${nina.id}`);
      return (body.notifications as Array<{ title: string }>).map(({ title }) => title);
    };
    await runJob(w.app, "noticeJob");
    expect(await told(w.owner.token)).to.deep.equal(["Account Nina Novák was created"]);
    expect(await told((await sessionCookie())!.value)).to.deep.equal([]);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${home}/login?signed_out`);
    await forget();
    // By the link: the email address may change in between.
    oidc.subjects.set("nina", { email: "nina@elsewhere.example.com", email_verified: true });
    await throughOidc("nina");
    expect(await heading()).to.equal("Hello, Nina Novák");
    expect(await sessionsOf(nina)).to.have.length(1);
  });

  it("link an invited account by its verified email, once and permanently", async () => {
    const ida = await invited("ida", "OIDC");
    oidc.subjects.set("ida", { email: ida.email.toUpperCase(), email_verified: true });
    oidc.subjects.set("impostor", { email: ida.email, email_verified: true });
    await throughOidc("ida");
    expect(await heading()).to.equal(`Hello, ${ida.username}`);
    await forget();
    await throughOidc("impostor");
    expect(await heading()).to.contain("belongs to another identity");
    await picture("refused");
    expect(await sessionCookie()).to.equal(undefined);
  });

  it("reject strangers, unverified emails, suspended users, and users with a password", async () => {
    const ada = await w.user("ada");
    const ida = await invited("ida", "OIDC");
    oidc.subjects.set("stranger", { email: "stranger@other.example.com", email_verified: true });
    oidc.subjects.set("unverified", { email: ida.email, email_verified: false });
    oidc.subjects.set("nobody", {});
    oidc.subjects.set("ada", { email: ada.email, email_verified: true });
    oidc.subjects.set("ida-2", { email: ida.email, email_verified: true });
    const refusals: Array<[string, string]> = [
      ["stranger", "There is no account for you here."],
      ["unverified", "The provider returned no verified email"],
      ["nobody", "The provider returned no verified email"],
      ["ada", "signs in by password"],
    ];
    for (const [subject, reason] of refusals) {
      await throughOidc(subject);
      expect(`${await heading()} ${await page.locator("main").innerText()}`, subject).to.contain(reason);
      expect(await sessionCookie(), subject).to.equal(undefined);
      await forget();
    }
    await suspend(w, ida);
    await throughOidc("ida-2");
    expect(await heading()).to.equal("Your account is suspended.");
    expect(await sessionCookie()).to.equal(undefined);
    expect(await loginTypeOf(ada)).to.equal("PASSWORD");
  });

  it("convert an account once, and only for its signed-in user", async () => {
    const ada = await w.user("ada");
    oidc.subjects.set("ada-c", { email: ada.email, email_verified: true });
    const voided = await conversionOf(ada, "oidc");
    const state = await conversionOf(ada, "oidc");
    const path = `/login/oidc?state=${state}`;

    await open(path);
    expect(page.url()).to.equal(`${home}/login?${new URLSearchParams({ return_to: path }).toString()}`);
    await fill(ada.email, userPassword);
    await page.locator("input[name=login]").waitFor();
    const elsewhere = await w.login(ada.email, userPassword);
    await throughOidc("ada-c", `/login/oidc?state=${voided}`);
    expect(await heading()).to.contain("The conversion has ended.");
    expect(await loginTypeOf(ada)).to.equal("PASSWORD");

    await open("/");
    await throughOidcAgain(path);
    await conversionTo("OpenID Connect");
    await picture("converted");
    expect(await loginTypeOf(ada)).to.equal("OIDC");
    expect(await sessionsOf(ada)).to.have.length(1);
    for (const token of [ada.token, elsewhere]) {
      expect((await w.as({ token }).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    }
    expect((await w.nobody.post("/api/v2/users/login", { email: ada.email, password: userPassword })).status).to.equal(
      401,
    );

    await throughOidcAgain(path);
    expect(await heading()).to.contain("signs in to an account already");
    await forget();
    await throughOidc("ada-c");
    expect(await heading()).to.equal(`Hello, ${ada.username}`);
  });

  it("reject an expired conversion, and accept a later one", async () => {
    const ada = await w.user("ada");
    oidc.subjects.set("ada-l", { email: ada.email, email_verified: true });
    const late = await conversionOf(ada, "oidc");
    await setTimes(w, "login_conversions", { user_id: ada.id }, { expires_at: "-1 s" });
    await open("/login");
    await fill(ada.email, userPassword);
    await throughOidc("ada-l", `/login/oidc?state=${late}`);
    expect(await heading()).to.contain("The conversion has ended.");
    expect(await loginTypeOf(ada)).to.equal("PASSWORD");

    await throughOidcAgain(`/login/oidc?state=${await conversionOf(ada, "oidc")}`);
    await conversionTo("OpenID Connect");
    expect(await loginTypeOf(ada)).to.equal("OIDC");
  });

  it("reject a conversion that was begun with a former password, or for a former email", async () => {
    const asOwner = (verb: string, input: string) =>
      w.as(w.owner).graphql(`mutation { ${verb}(input: { ${input} }) { user { id } } }`);
    const password = "four-boats-below-the-iron-bridge";
    for (const [name, change] of [
      ["password", ({ id }: Person) => asOwner("resetUserPassword", `user: "${id}", password: "${password}"`)],
      ["email", ({ id }: Person) => asOwner("updateUser", `user: "${id}", email: "${id}@example.com"`)],
    ] as const) {
      const ada = await w.user("ada");
      const state = await conversionOf(ada, "oidc");
      await change(ada);
      const email = name === "email" ? `${ada.id}@example.com` : ada.email;
      oidc.subjects.set(`ada-${name}`, { email, email_verified: true });
      await forget();
      await open("/login");
      await fill(email, name === "password" ? password : userPassword);
      await throughOidc(`ada-${name}`, `/login/oidc?state=${state}`);
      expect(await heading(), name).to.contain("The conversion has ended.");
      expect(await loginTypeOf(ada), name).to.equal("PASSWORD");
    }
  });

  it("do not convert an account with the conversion of another user, and leave that one valid", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    oidc.subjects.set("bob-o", { email: bob!.email, email_verified: true });
    oidc.subjects.set("ada-o", { email: ada!.email, email_verified: true });
    const state = await conversionOf(ada!, "oidc");
    await forget();
    await open("/login");
    await fill(bob!.email, userPassword);
    await throughOidc("bob-o", `/login/oidc?state=${state}`);
    expect(await heading()).to.contain("The conversion has ended.");
    expect(await loginTypeOf(bob!)).to.equal("PASSWORD");

    await forget();
    await open("/login");
    await fill(ada!.email, userPassword);
    await throughOidc("ada-o", `/login/oidc?state=${state}`);
    expect(await loginTypeOf(ada!)).to.equal("OIDC");
  });

  it("convert an account only with a session that has all scopes", async () => {
    const ada = await w.user("ada");
    oidc.subjects.set("ada-k", { email: ada.email, email_verified: true });
    const state = await conversionOf(ada, "oidc");
    const path = `/login/oidc?state=${state}`;
    const { createApiKey } = await w.as(ada).graphql(`mutation { createApiKey(input: { name: "whole" }) { token } }`);
    const narrow = await w.login(ada.email, userPassword);
    await setColumns(w, "api_keys", { id: parseToken(narrow).id }, { scopes: ["user:read"] });
    const present = (value: string) =>
      visit.addCookies([{ name: "service_session_token", value, url: home, httpOnly: true, sameSite: "Lax" }]);

    for (const credential of [createApiKey.token, narrow]) {
      await present(credential);
      expect((await open(path))!.status()).to.equal(403);
      // The session starts the conversion, and another credential returns from the provider.
      await present(ada.token);
      await open(path);
      await page.locator("input[name=login]").fill("ada-k");
      await page.locator("input[name=password]").fill("any");
      await page.locator("button[type=submit]").click();
      const consent = page.locator("button[type=submit]", { hasText: "Continue" });
      await consent.waitFor();
      await present(credential);
      await consent.click();
      await page.waitForURL((url) => url.origin === home);
      expect(await page.locator("main").innerText()).to.contain("This requires a session with all scopes");
      expect(await loginTypeOf(ada)).to.equal("PASSWORD");
      await forget();
    }
  });

  it("reject a conversion by another user's session, to another email, or for another provider", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    oidc.subjects.set("ada-d", { email: ada!.email, email_verified: true });
    oidc.subjects.set("other", { email: "newcomer@new.example.com", email_verified: true });
    const state = await conversionOf(ada!, "github");
    await open("/login");
    await fill(bob!.email, userPassword);
    await throughOidc("ada-d", `/login/oidc?state=${state}`);
    expect(await heading()).to.match(/email at the provider differs/);
    await forget();

    await open("/login");
    await fill(ada!.email, userPassword);
    await throughOidc("ada-d", `/login/oidc?state=${state}`);
    expect(await heading()).to.contain("The conversion has ended.");
    await visit.clearCookies({ domain: "127.0.0.1" });
    const right = await conversionOf(ada!, "oidc");
    await throughOidc("other", `/login/oidc?state=${right}`);
    expect(await heading()).to.match(/email at the provider differs/);
    expect(await loginTypeOf(ada!)).to.equal("PASSWORD");
    const { users } = await w.as(w.owner).graphql(`{ users(filter: { search: "newcomer@" }) { totalCount } }`);
    expect(users.totalCount).to.equal(0);
  });

  it("sign in through GitHub by the verified primary email, and convert to it", async () => {
    const gus = await invited("gus", "GITHUB");
    const ada = await w.user("ada");
    github.user = { id: 7, login: "gus", name: "Gus" };
    github.emails = [
      { email: ada.email, primary: false, verified: true },
      { email: gus.email, primary: true, verified: true },
    ];
    await open("/login");
    await page.getByRole("link", { name: "Sign in with GitHub" }).click();
    await page.waitForURL(`${home}/`);
    expect(await heading()).to.equal(`Hello, ${gus.username}`);
    await forget();
    // By the link: the email address may change in between.
    github.emails = [{ email: "gus@elsewhere.example.com", primary: true, verified: true }];
    await open("/login/github");
    expect(await heading()).to.equal(`Hello, ${gus.username}`);
    await forget();

    github.user = { id: 8, login: "ada", name: "Ada" };
    github.emails = [{ email: ada.email, primary: true, verified: false }];
    await open("/login");
    await fill(ada.email, userPassword);
    await open(`/login/github?state=${await conversionOf(ada, "github")}`);
    expect(await heading()).to.match(/email at the provider differs/);
    github.emails[0]!.verified = true;
    await open(`/login/github?state=${await conversionOf(ada, "github")}`);
    expect(page.url()).to.equal(`${home}/?converted`);
    await conversionTo("GitHub");
    expect(await loginTypeOf(ada)).to.equal("GITHUB");
  });

  it("bind a sign-in to the browser that started it, and complete it once", async () => {
    const gus = await invited("gus", "GITHUB");
    github.user = { id: 9, login: "gus", name: "Gus" };
    github.emails = [{ email: gus.email, primary: true, verified: true }];
    const visitor = new Client(home);
    const begun = await visitor.get("/login/github");
    const cookie = begun.headers.getSetCookie()[0]!;
    expect(cookie).to.match(/; Path=\/login; HttpOnly; SameSite=Lax; Max-Age=600$/);
    const asked = new URL(begun.headers.get("location")!);
    expect(asked.searchParams.get("code_challenge_method")).to.equal("S256");
    const answer = await fetch(asked, { redirect: "manual" });
    const back = new URL(answer.headers.get("location")!);
    const callback = back.pathname + back.search;
    const kept = { cookie: cookie.split(";")[0]! };

    expect(await visitor.get(callback)).to.include({ status: 400 });
    const other = (await visitor.get("/login/github")).headers.getSetCookie()[0]!.split(";")[0]!;
    expect(await visitor.get(callback, { cookie: other })).to.include({ status: 400 });
    expect(await visitor.get(callback.replace("/github/", "/oidc/"), kept)).to.include({ status: 400 });
    expect(await visitor.get(callback, { cookie: `${kept.cookie}x` })).to.include({ status: 400 });
    expect(
      await visitor.get(`/login/github/callback?error=access_denied&state=${back.searchParams.get("state")}`, kept),
    ).to.include({ status: 403 });

    const uses = await Promise.all(Array.from({ length: 5 }, () => visitor.get(callback, kept)));
    expect(uses.filter(({ status }) => status === 303)).to.have.length(1);
    expect(uses.filter(({ status }) => status === 403)).to.have.length(4);
    expect(await sessionsOf(gus)).to.have.length(2);
    expect(await visitor.get(callback, kept)).to.include({ status: 403 });
  });

  it("have expired conversions and used sign-ins purged", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    await Promise.all([conversionOf(ada!, "oidc"), conversionOf(bob!, "oidc")]);
    await setTimes(w, "login_conversions", { user_id: ada!.id }, { expires_at: "-1 s" });
    const over = hashSecret("over");
    const kept = hashSecret("not yet");
    await insert(w, {
      spent_sign_ins: [
        { state_hash: bytes(over), expires_at: inMs(-1_000) },
        { state_hash: bytes(kept), expires_at: inMs(60_000) },
      ],
    });
    await runJob(w.app, "signInPurge");
    await runJob(w.app, "conversionPurge");
    const left = [ada!, bob!].map(({ id }) => countRows(w, "login_conversions", { user_id: id }));
    expect(await Promise.all(left)).to.deep.equal([0, 1]);
    const spent = [over, kept].map((state_hash) => countRows(w, "spent_sign_ins", { state_hash }));
    expect(await Promise.all(spent)).to.deep.equal([0, 1]);
  });

  it("report a provider that is unreachable or not configured", async () => {
    const away = await OidcProvider.open(() => "");
    const replica: App = await startServer(w.database.url, { ...away.settings, STEWARD_PASSWORD_AUTH: "false" });
    await away.close();
    try {
      const visitor = new Client(replica.url);
      const failed = await visitor.get("/login/oidc");
      expect(failed.status).to.equal(502);
      expect(failed.body)
        .to.match(/The identity provider failed\./)
        .and.contain(failed.headers.get("x-request-id"));
      for (const path of ["/login/github", "/login/nobody", "/login/github/callback"])
        expect((await visitor.get(path)).status, path).to.equal(404);
      const form = await visitor.get("/login");
      expect(form.body).to.contain("/login/oidc").and.not.contain("<form");
    } finally {
      await replica.close();
    }
  });

  it("show errors as pages to browsers, and as JSON to API clients", async () => {
    const answer = await open("/nowhere/to/be/found");
    expect(answer!.status()).to.equal(404);
    expect(await heading()).to.equal("This page does not exist.");
    expect(await page.locator("main").innerText()).to.contain(answer!.headers()["x-request-id"]);
    await picture("not-found");
    expect((await open("/logout"))!.status()).to.equal(405);
    expect(await heading()).to.equal("Method not allowed.");
    await page.getByRole("link", { name: "Back to Steward" }).click();
    await page.waitForURL(`${home}/login?return_to=%2F`);
    const accept = { Accept: "text/html,*/*;q=0.8" };
    expect((await w.nobody.get("/api/v2/nothing", accept)).body).to.deep.equal({ message: "Route not found." });
    expect((await w.nobody.get("/nothing")).body).to.deep.equal({ message: "Route not found." });
    const refused = await w.nobody.get("/logout", accept);
    expect([refused.status, refused.headers.get("allow")]).to.deep.equal([405, "POST"]);
  });

  it("send strict security headers, and forbid caching", async () => {
    for (const path of ["/login", "/login/nobody", "/login/github/callback"]) {
      const { headers, body } = await w.nobody.get(path);
      // Passkeys take a script, which the page loads.
      const scripts =
        path === "/login"
          ? " script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none';"
          : "";
      expect(headers.get("content-security-policy")).to.equal(
        `default-src 'none';${scripts} style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'`,
      );
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("referrer-policy")).to.equal("no-referrer");
      expect(headers.get("content-type")).to.equal("text/html; charset=utf-8");
      expect(body.replace(/<script src="\/assets\/passkeys-[\da-f]{16}\.js" defer><\/script>/, "")).to.not.match(
        /<script|style=| on\w+=/,
      );
    }
    expect(await w.nobody.get("/logout")).to.include({ status: 405 });
    expect(await w.nobody.get("/Login")).to.include({ status: 404 });
  });
});

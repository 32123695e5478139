// Logins of the command line: the device flow, what is stored, renewal, several servers, and every way in which a login
// ends. Each command is a process of its own.
// Looks inside: tokens end at a time of the tests, and no interface shows that a registration is gone.
import { readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect } from "chai";
import { launchBrowser } from "../../support/browser.js";
import { prints, UserCli, userCode } from "../../support/cli.js";
import { freePort } from "../../support/ports.js";
import { eventually } from "../../support/watchers.js";
import { type Person, startWorld, type World } from "../../support/world.js";

describe("the login of the command line", () => {
  let w: World;
  let url: string;
  let ada: Person;
  let cli: UserCli;

  before(async () => {
    w = await startWorld();
    url = w.app.services.config.accessUrl;
    ada = await w.user("ada");
  });
  after(() => w.close());
  beforeEach(async () => {
    cli = await UserCli.open();
  });
  afterEach(() => cli.close());

  const rows = async (text: string, ...values: unknown[]) =>
    (await w.app.services.database.pool.query(text, values)).rows as Array<Record<string, unknown>>;
  const liveGrants = async ({ id }: Person) =>
    (await rows("select id from oauth2_grants where user_id = $1 and revoked_at is null", id)).length;

  it("is allowed in a browser, and kept in a file that only its user can read", async () => {
    const login = cli.start(["login", url]);
    const code = await userCode(login);
    expect(login.stderr()).to.include(`Open ${url}/oauth2/device in a browser`);
    const browser = await launchBrowser();
    try {
      const visit = await browser.newContext();
      await visit.addCookies([{ name: "service_session_token", value: ada.token, url }]);
      const page = await visit.newPage();
      await page.goto(`${url}/oauth2/device`);
      await page.locator("input:focus").fill(code);
      await page.keyboard.press("Enter");
      await page.locator("p.code").waitFor();
      expect(await page.getByRole("main").innerText())
        .to.include("Steward command line")
        .and.not.include("full access");
      await page.getByRole("button", { name: "Allow", exact: true }).click();
      await page.getByRole("heading", { name: "Access allowed" }).waitFor();
    } finally {
      await browser.close();
    }
    expect(await login.ended).to.equal(0);
    expect(login.stdout()).to.equal(`Signed in to ${url} as ${ada.username}.\n`);

    expect(await cli.modeOf("logins.json")).to.equal(0o600);
    expect(await cli.modeOf()).to.equal(0o700);
    expect(await readdir(join(cli.directory, "settings"))).to.deep.equal(["logins.json"]);
    const { current, logins } = await cli.logins();
    expect(current).to.equal(url);
    expect(logins[url].accessToken).to.match(/^stw_oa_/);
    // Neither the login nor a command prints a token.
    expect(login.output()).to.not.include("stw");

    const [client] = await rows("select * from oauth2_clients where id = $1", logins[url].registration.clientId);
    expect(client).to.deep.include({ kind: "dynamic", type: "public", name: "Steward command line" });
    expect(client!.grant_types).to.deep.equal(["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]);
    const me = await cli.json("whoami");
    expect(me).to.deep.include({ server: url, username: ada.username, email: ada.email });
    const lines = (await cli.output("whoami")).split("\n");
    expect(lines).to.include(`Username\t${ada.username}`).and.include(`Server\t${url}`);
  });

  it("says what went wrong: a denial, a server that is none, that has another name, or that is not there", async () => {
    const login = cli.start(["login", url]);
    const code = await userCode(login);
    await w
      .as(ada)
      .graphql("mutation($code: String!) { denyOAuth2Device(input: { userCode: $code }) { __typename } }", { code });
    expect(await login.ended).to.equal(1);
    expect(login.stderr()).to.include("The request was denied.");
    // Only the registration is kept.
    expect((await cli.run("whoami")).stderr).to.match(/^You are not signed in\. Run: npm run steward -- login URL\n/);

    const other = await cli.run("login", w.url);
    expect(other).to.deep.include({ status: 1, stdout: "" });
    expect(other.stderr).to.equal(`The server at ${w.url} calls itself ${url}. Use that URL.\n`);

    const website = createServer((_, response) => response.end("Hello"));
    const port = await freePort("127.0.0.1");
    await new Promise<void>((done) => void website.listen(port, "127.0.0.1", done));
    const its = `http://127.0.0.1:${port}`;
    expect((await cli.run("login", its)).stderr).to.include(`${its} does not respond as a Steward server`);
    website.close();
    const gone = await cli.run("login", its);
    expect(gone.status).to.equal(1);
    expect(gone.stderr).to.include(`${its} cannot be reached: `).and.include("ECONNREFUSED");

    expect((await cli.run("login", "http://192.0.2.1")).stderr).to.include("http://192.0.2.1 is not encrypted");
    expect((await cli.run("login", "ftp://example.com")).status).to.equal(2);
    expect((await cli.run("login")).stderr).to.match(/^Specify the URL of the server\.\n.*login --help\n$/);
  });

  it("ends on Ctrl-C while it waits", async () => {
    const login = cli.start(["login", url]);
    await prints(login, "Waiting for your decision");
    login.child.kill("SIGINT");
    expect(await login.ended).to.equal(130);
    expect(login.stderr()).to.match(/Interrupted\.\n$/);
  });

  describe("that is there", () => {
    beforeEach(async () => {
      await cli.signIn(url, ada);
    });

    it("renews itself before its token expires, once for all commands that run", async () => {
      const before = (await cli.logins()).logins[url];
      const count = async () => (await rows("select count(*)::int from oauth2_refresh_tokens"))[0]!.count as number;
      const issued = await count();
      await cli.changeLogin(url, { expiresAt: Date.now() + 1000 });
      // More than a server accepts repeats of a refresh token.
      const commands = await Promise.all(Array.from({ length: 6 }, () => cli.run("whoami")));
      expect(commands.map(({ status }) => status)).to.deep.equal(commands.map(() => 0));
      const now = (await cli.logins()).logins[url];
      expect(now.accessToken).to.not.equal(before.accessToken);
      expect(now.expiresAt).to.be.above(Date.now() + 3_000_000);
      expect(await count()).to.equal(issued + 1);
      expect(await cli.modeOf("logins.json")).to.equal(0o600);
    });

    it("renews itself when the server says that its token has expired", async () => {
      const before = (await cli.logins()).logins[url].accessToken as string;
      await rows("update api_keys set expires_at = now() - interval '1 s' where id = $1", before.slice(7, 17));
      // Until then, the server knows the token from the last request.
      await eventually(
        async () => {
          expect(await cli.output("whoami")).to.include(ada.username);
          return (await cli.logins()).logins[url].accessToken !== before;
        },
        "another token",
        20_000,
      );
    });

    it("is over when its user revokes it: commands say so, and a new login works", async () => {
      const { clientId } = (await cli.logins()).logins[url].registration;
      await w
        .as(ada)
        .graphql("mutation($id: String!) { revokeOAuth2AppGrants(input: { clientId: $id }) { __typename } }", {
          id: clientId,
        });
      const ended = await cli.run("workspaces", "list");
      expect(ended).to.deep.equal({
        status: 3,
        stdout: "",
        stderr:
          `The login at ${url} has ended: it was revoked, or has expired.\n` +
          `Sign in again: npm run steward -- login ${url}\n`,
      });
      await cli.signIn(url, ada);
      expect((await cli.logins()).logins[url].registration.clientId).to.equal(clientId);
      expect(await cli.output("whoami")).to.include(ada.username);
    });

    it("registers again if the server has forgotten the program", async () => {
      const { clientId } = (await cli.logins()).logins[url].registration;
      expect((await w.as(w.owner).delete(`/api/v2/oauth2-provider/apps/${clientId}`)).status).to.equal(204);
      expect((await cli.run("whoami")).status).to.equal(3);
      await cli.signIn(url, ada);
      expect((await cli.logins()).logins[url].registration.clientId).to.not.equal(clientId);
    });

    it("replaces itself: the server revokes the earlier one", async () => {
      const grants = await liveGrants(ada);
      const bob = await w.user("bob");
      await cli.signIn(url, bob);
      expect(await cli.output("whoami")).to.include(bob.username);
      expect(await liveGrants(ada)).to.equal(grants - 1);
      expect(await liveGrants(bob)).to.equal(1);
    });

    it("ends with logout, which the server knows, and leaves nothing behind", async () => {
      const { accessToken, refreshToken, registration } = (await cli.logins()).logins[url];
      expect(await cli.output("logout")).to.equal(`Signed out of ${url}.\n`);
      expect(await cli.logins()).to.deep.equal({ logins: {} });
      expect((await w.as({ token: accessToken }).get("/api/v2/groups")).status).to.equal(401);
      expect(await rows("select id from oauth2_clients where id = $1", registration.clientId)).to.deep.equal([]);
      expect(refreshToken).to.be.a("string");
      expect(await cli.run("whoami")).to.deep.include({ status: 3, stdout: "" });
      expect(await cli.run("logout")).to.deep.include({ status: 3, stdout: "" });
    });

    it("asks to force the logout if the server is away", async () => {
      const away = "http://127.0.0.1:1";
      const content = await cli.logins();
      content.logins[away] = content.logins[url];
      await writeFile(cli.loginsPath, JSON.stringify(content));
      const failed = await cli.run("logout", away);
      expect(failed.status).to.equal(1);
      expect(failed.stderr).to.include(`${away} cannot be reached`).and.include("--force");
      expect(await cli.output("logout", away, "--force")).to.equal(`Signed out of ${away}.\n`);
      expect(Object.keys((await cli.logins()).logins)).to.deep.equal([url]);
    });

    it("is one of several: commands use the last one, another by --server, STEWARD_URL, or servers use", async () => {
      // A port that no other program gets when the server has ended.
      const other = await startWorld({ STEWARD_PORT: String(await freePort("127.0.0.1")) });
      const its = other.app.services.config.accessUrl;
      try {
        await cli.signIn(its, other.owner);
        const nameAt = async (...words: string[]) => (await cli.json("whoami", ...words)).username;
        expect(await nameAt()).to.equal("owner");
        expect(await nameAt("--server", url)).to.equal(ada.username);
        const { stdout } = await cli.runWith({ env: { STEWARD_URL: url } }, "whoami", "--json");
        expect(JSON.parse(stdout).username).to.equal(ada.username);
        const stars = async () => (await cli.output("servers")).split("\n").map((line) => line.split("\t").slice(0, 3));
        expect(await stars()).to.deep.equal([[" ", url, ada.username], ["*", its, "owner"], [""]]);
        expect(await cli.output("servers", "use", url)).to.equal(`Commands use ${url}.\n`);
        expect(await nameAt()).to.equal(ada.username);
        expect((await cli.run("servers", "use", "https://unknown.example.com")).status).to.equal(3);

        // Profiles are names of servers.
        expect(await cli.output("profile", "add", "home", url)).to.equal(`The profile home is ${url}.\n`);
        await cli.output("profiles", "add", "work", its);
        expect(await nameAt("--server", "work")).to.equal("owner");
        const named = await cli.runWith({ env: { STEWARD_URL: "work" } }, "whoami", "--json");
        expect(JSON.parse(named.stdout).username).to.equal("owner");
        expect(await cli.output("profile", "use", "work")).to.equal(`Commands use ${its}.\n`);
        expect(await nameAt()).to.equal("owner");
        const profiles = [
          { name: "home", server: url, isCurrent: false, username: ada.username },
          { name: "work", server: its, isCurrent: true, username: "owner" },
        ];
        expect(await cli.json("profile", "list")).to.deep.equal(profiles);
        expect(await cli.output("profile", "rm", "work")).to.equal("The profile work is forgotten.\n");
        expect(await nameAt(), "the login stays").to.equal("owner");
        const missing = await cli.run("profile", "use", "work");
        expect(missing).to.deep.include({ status: 1, stdout: "" });
        expect(missing.stderr).to.include("There is no profile work.");
        expect((await cli.run("profile", "add", "no name", url)).status).to.equal(2);
        expect((await cli.run("profile", "add", "other", "ftp://x")).status).to.equal(2);
        expect((await cli.run("whoami", "--server", "work")).stderr, "a host, not a profile").to.include(
          "https://work",
        );
        await cli.output("profile", "use", "home");
        expect(await cli.output("logout", url)).to.equal(`Signed out of ${url}.\n`);
        expect(await nameAt()).to.equal("owner");
      } finally {
        await other.close();
      }
      const away = await cli.run("whoami");
      expect(away).to.deep.include({ status: 1, stdout: "" });
      expect(away.stderr).to.match(/^http:\/\/localhost:\d+ cannot be reached: .*ECONNREFUSED/);
    });

    it("gives way to STEWARD_TOKEN, which needs no login", async () => {
      const bob = await w.user("bob");
      const as = (token: string, ...words: string[]) =>
        cli.runWith({ env: { STEWARD_URL: url, STEWARD_TOKEN: token } }, ...words);
      expect((await as(bob.token, "whoami")).stdout).to.include(bob.username);
      const wrong = await as("stw_se_wrong", "whoami");
      expect(wrong).to.deep.equal({
        status: 3,
        stdout: "",
        stderr: `${url} does not accept the token of STEWARD_TOKEN.\n`,
      });
      const narrow = await w.scoped(bob, "user:read");
      const forbidden = await as(narrow.token, "workspaces", "list");
      expect(forbidden.status).to.equal(1);
      expect(forbidden.stderr).to.match(/lacks the scopes? .*workspace:read/);
      const alone = await cli.runWith({ env: { STEWARD_TOKEN: bob.token } }, "whoami");
      expect(alone.status).to.equal(2);
      expect(alone.stderr).to.include("STEWARD_URL is required");
    });

    it("says so if its file is damaged", async () => {
      await writeFile(cli.loginsPath, "{");
      const damaged = await cli.run("whoami");
      expect(damaged.status).to.equal(1);
      expect(damaged.stderr).to.equal(`${cli.loginsPath} is damaged. Delete it, and sign in again.\n`);
    });
  });

  it("permits only what its scopes say", async () => {
    const { stdout } = await cli.signIn(url, ada, "--scope", "workspace:read");
    expect(stdout).to.equal(`Signed in to ${url} as ${ada.username}.\n`);
    expect(await cli.output("servers")).to.include(url);
    await cli.signIn(url, ada, "--scope", "user:read organization:read");
    expect(await cli.output("whoami")).to.include(ada.username);
    const refused = await cli.run("secrets", "list");
    expect(refused).to.deep.include({ status: 1, stdout: "" });
    expect(refused.stderr)
      .to.match(/lacks the scopes? .*user_secret:read/)
      .and.include("login --scope");
  });

  it("is not possible where programs may not register themselves, which it says", async () => {
    const closed = await startWorld({ STEWARD_OAUTH2_DYNAMIC_REGISTRATION: "false" });
    try {
      const refused = await cli.run("login", closed.app.services.config.accessUrl);
      expect(refused.status).to.equal(1);
      expect(refused.stderr).to.include("does not let programs register themselves").and.include("STEWARD_TOKEN");
    } finally {
      await closed.close();
    }
  });
});

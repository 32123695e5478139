// The configuration of external authentication, and the ways of each type of provider.
// Reaches for tables: no link is left of a user who was suspended meanwhile.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { rotate } from "../support/background.js";
import { type Config, ConfigError, encryptionKeys, logged, readConfig, startServer } from "../support/app.js";
import {
  clientSecret,
  comeBack,
  expire,
  externalAuth,
  ExternalService,
  link,
  providerAt,
  setOut,
} from "../support/external-services.js";
import { trusting, Vendor } from "../support/licensing.js";
import { eventually } from "../support/watchers.js";
import { suspend } from "../support/accounts.js";
import { countRows } from "../support/tables.js";
import { Client, startWorld } from "../support/world.js";

type Provider = Config["externalAuth"][number];

const read = (...providers: unknown[]): readonly Provider[] =>
  readConfig({ STEWARD_EXTERNAL_AUTH: JSON.stringify(providers) }).externalAuth;

/** The faults of a configuration. */
function faultsOf(text: string): string[] {
  try {
    readConfig({ STEWARD_EXTERNAL_AUTH: text });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults];
    throw error;
  }
}

const faults = (...providers: unknown[]) => faultsOf(JSON.stringify(providers));
const registered = { client_id: "c", client_secret: "s" };

describe("the configuration of external authentication", () => {
  it("names index, id, and field of every fault, and never a value", () => {
    expect(faults({ type: "custom" })).to.deep.equal([
      "STEWARD_EXTERNAL_AUTH entry 0 (custom): client_id is required.",
      "STEWARD_EXTERNAL_AUTH entry 0 (custom): client_secret is required.",
      "STEWARD_EXTERNAL_AUTH entry 0 (custom): auth_url is required.",
      "STEWARD_EXTERNAL_AUTH entry 0 (custom): token_url is required.",
    ]);
    const wrong = {
      type: "github",
      id: "canary--id",
      client_id: 5,
      client_secret: "canary",
      client_secret_file: "/canary",
      auth_url: "ftp://canary",
      token_url: "https://canary@host/",
      validate_url: "https://host/#canary",
      scopes: "canary",
      pkce_methods: ["plain"],
      token_auth_method: "canary",
      display_icon: "canary",
      regex: "(canary",
      no_refresh: "canary",
      redirect_url: "canary",
    };
    const found = faults({ type: "canary" }, wrong, null, 5, { ...registered, type: "GitHub" });
    expect(found.join("\n")).to.not.contain("canary");
    for (const field of Object.keys(wrong).slice(1))
      expect(
        found.some((fault) => fault.startsWith(`STEWARD_EXTERNAL_AUTH entry 1: ${field} `)),
        field,
      ).to.equal(true);
    for (const index of [0, 2, 3, 4])
      expect(found.join("\n")).to.contain(`entry ${index}: type must be one of github,`);
    for (const text of ["canary", "{}", '"x"', "[", "null"])
      expect(faultsOf(text)).to.deep.equal(["STEWARD_EXTERNAL_AUTH must be a JSON array of providers."]);
    expect(faults(...Array.from({ length: 51 }, () => ({ ...registered, type: "github" })))).to.deep.equal([
      "STEWARD_EXTERNAL_AUTH must have at most 50 providers.",
    ]);
    expect(faults({ ...registered, type: "github" }, { ...registered, type: "gitlab", id: "GITHUB" })).to.deep.equal([
      "STEWARD_EXTERNAL_AUTH entry 1 (GITHUB): id is the id of another provider.",
    ]);
    expect(faults({ ...registered, type: "gitlab", device_flow: true })).to.deep.equal([
      "STEWARD_EXTERNAL_AUTH entry 0 (gitlab): device_code_url is required for the device flow.",
    ]);
  });

  it("derives defaults from the type, and URLs from the host", () => {
    const [github, enterprise, bitbucket, gitea, azure] = read(
      { ...registered, type: "github", client_id: "a/b" },
      {
        ...registered,
        type: "github",
        id: "ghe",
        auth_url: "https://git.example.com/login/oauth/authorize",
        app_installations_url: "",
      },
      { ...registered, type: "bitbucket" },
      { ...registered, type: "gitea", auth_url: "https://tea.example.com/login/oauth/authorize" },
      { ...registered, type: "azure-devops" },
    ) as [Provider, Provider, Provider, Provider, Provider];
    expect(github).to.include({
      id: "github",
      displayName: "GitHub",
      authUrl: "https://github.com/login/oauth/authorize",
      tokenUrl: "https://github.com/login/oauth/access_token",
      deviceCodeUrl: "https://github.com/login/device/code",
      validateUrl: "https://api.github.com/user",
      revokeUrl: "https://api.github.com/applications/a%2Fb/grant",
      appInstallationsUrl: "https://api.github.com/user/installations",
    });
    expect(github.scopes).to.deep.equal(["repo", "workflow"]);
    expect(enterprise).to.include({
      tokenUrl: "https://git.example.com/login/oauth/access_token",
      validateUrl: "https://git.example.com/api/v3/user",
      appInstallationsUrl: "",
    });
    expect(bitbucket).to.include({ type: "bitbucket-cloud", id: "bitbucket-cloud", authMethod: "basic" });
    expect(gitea).to.include({
      tokenUrl: "https://tea.example.com/login/oauth/access_token",
      validateUrl: "https://tea.example.com/api/v1/user",
    });
    expect(azure).to.include({ usesPkce: false, authMethod: "assertion", validateUrl: "" });
    const matches = (provider: Provider, url: string) => provider.regex!.test(url);
    for (const url of ["https://github.com/a/b", "github.com", "http://x@GITHUB.com/a"])
      expect(matches(github, url), url).to.equal(true);
    for (const url of [
      "https://github.com.evil.example/",
      "https://evil.example/github.com",
      "https://api.github.com/",
    ])
      expect(matches(github, url), url).to.equal(false);
    expect(matches(enterprise, "https://git.example.com/a")).to.equal(true);
    expect(matches(azure, "https://dev.azure.com/a")).to.equal(true);
  });

  it("reads secrets from files, and needs none for device codes alone", async () => {
    const folder = await mkdtemp(join(tmpdir(), "steward-external-"));
    await writeFile(join(folder, "secret"), "from a file\n");
    await writeFile(
      join(folder, "all"),
      JSON.stringify([{ type: "github", client_id: "c", client_secret_file: join(folder, "secret") }]),
    );
    const { externalAuth: found } = readConfig({ STEWARD_EXTERNAL_AUTH_FILE: join(folder, "all") });
    expect(found[0]!.clientSecret).to.equal("from a file");
    expect(() => readConfig({ STEWARD_EXTERNAL_AUTH_FILE: join(folder, "all"), STEWARD_EXTERNAL_AUTH: "[]" })).to.throw(
      "STEWARD_EXTERNAL_AUTH and STEWARD_EXTERNAL_AUTH_FILE are mutually exclusive.",
    );
    expect(read({ type: "github", client_id: "c", device_flow: true })[0]!.clientSecret).to.equal("");
    await rm(folder, { recursive: true });
  });
});

describe("providers", () => {
  let lab: ExternalService;
  before(async () => {
    lab = await ExternalService.open();
  });
  after(() => lab.close());
  beforeEach(() => lab.reset());

  const api = "/api/v2/external-auth";

  /** Runs `work` as the owner of a server with these providers. */
  async function withProviders(providers: Array<Record<string, unknown>>, work: (client: Client) => Promise<void>) {
    const w = await startWorld(externalAuth(...providers));
    try {
      await work(w.as(w.owner));
    } finally {
      await w.close();
    }
  }

  it("of the type github revoke the grant, and may limit to the device flow", async () => {
    const provider = lab.provider({ type: "github", id: "hub", client_id: "id", revoke_url: `${lab.url}/grant` });
    const deviceOnly = lab.provider({ type: "github", id: "only", client_secret: "", device_flow: true });
    lab.handlers["/grant"] = () => ({ status: 204 });
    await withProviders([provider, deviceOnly], async (client) => {
      await link(client, "hub");
      expect((await client.delete(`${api}/hub`)).body).to.deep.equal({ token_revoked: true });
      const [revocation] = lab.to("/grant");
      expect(revocation).to.include({ method: "DELETE" });
      expect(JSON.parse(revocation!.text).access_token).to.match(/^access-/);
      expect(revocation!.headers.authorization).to.equal(
        `Basic ${Buffer.from(`id:${clientSecret}`).toString("base64")}`,
      );
      expect(await client.get("/external-auth/only/callback")).to.include({ status: 400 });
      expect(await client.get(`${api}/only/device`)).to.include({ status: 200 });
      expect(lab.to("/device")[0]!.form.has("client_secret")).to.equal(false);
    });
  });

  it("of the types gitlab, bitbucket-cloud, azure-devops, and slack have their own ways", async () => {
    const ways = (id: string, changes: object = {}) =>
      lab.provider({ type: id, id, device_flow: false, display_name: "", ...changes });
    const providers = [
      ways("gitlab", { api_base_url: `${lab.url}/api/v4/` }),
      ways("bitbucket-cloud"),
      ways("azure-devops", { validate_url: "" }),
      ways("azure-devops-entra", { validate_url: "", token_auth_method: "post" }),
      ways("slack", { validate_url: "", extra_token_keys: ["authed_user", "__proto__"] }),
    ];
    await withProviders(providers, async (client) => {
      lab.handlers["/api/v4/user"] = () => ({
        body: { id: 1, username: "lab", name: "Lab", web_url: "https://gitlab.example.com/lab" },
      });
      await link(client, "gitlab");
      expect((await client.get(`${api}/gitlab`)).body.user).to.deep.equal({
        id: 1,
        login: "lab",
        name: "Lab",
        profile_url: "https://gitlab.example.com/lab",
      });

      lab.handlers["/token"] = () => ({
        body: { access_token: "bucket", scopes: "account repository:write", token_type: "bearer" },
      });
      lab.handlers["/user"] = () => ({
        body: {
          username: "bit",
          display_name: "Bit",
          uuid: "{u}",
          id: "x",
          links: { avatar: { href: "https://a.example.com/" } },
        },
      });
      await link(client, "bitbucket-cloud");
      expect(lab.to("/token").at(-1)!.headers.authorization).to.match(/^Basic /);
      expect(lab.to("/token").at(-1)!.form.has("client_secret")).to.equal(false);
      expect((await client.get(`${api}/bitbucket-cloud`)).body.user).to.deep.equal({
        login: "bit",
        name: "Bit",
        avatar_url: "https://a.example.com/",
      });

      lab.handlers["/token"] = () => ({
        body: { access_token: "azure", refresh_token: "r", token_type: "jwt-bearer", expires_in: "3600" },
      });
      await link(client, "azure-devops");
      const { form } = lab.to("/token").at(-1)!;
      expect(Object.fromEntries(form)).to.include({
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        client_assertion: clientSecret,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      });
      expect(form.get("assertion")).to.match(/^code-/);
      const azure = (await client.get(`${api}/azure-devops`)).body;
      expect(azure).to.include({ authenticated: true }).and.not.have.property("user");

      await link(client, "azure-devops-entra");
      expect(lab.to("/authorize").at(-1)!.query.get("resource")).to.equal("499b84ac-1321-427f-aa17-267ca6975798");
      expect(lab.to("/token").at(-1)!.form.get("resource")).to.equal("499b84ac-1321-427f-aa17-267ca6975798");

      lab.handlers["/token"] = () => ({
        body: { ok: true, token_type: "user", authed_user: { id: "U1", access_token: "xoxp" } },
      });
      await link(client, "slack");
      const { externalAuthAccessToken } = await client.graphql(
        '{ externalAuthAccessToken(providerId: "slack") { accessToken type extra } }',
      );
      expect(externalAuthAccessToken).to.deep.equal({
        accessToken: "xoxp",
        type: "SLACK",
        extra: { authed_user: { id: "U1", access_token: "xoxp" } },
      });
      lab.handlers["/revoke"] = () => ({ body: { ok: false, error: "token_revoked" } });
      expect((await client.delete(`${api}/slack`)).body).to.deep.equal({
        token_revoked: false,
        token_revocation_error: "The provider returned the error token_revoked.",
      });
    });
  });

  it("of the types bitbucket-server and jfrog show no account, and the former uses no PKCE", async () => {
    const ways = (type: string, changes: object = {}) =>
      lab.provider({ type, id: type, device_flow: false, display_name: "", scopes: undefined, ...changes });
    const counted = `${lab.url}/rest/api/latest/inbox/pull-requests/count`;
    const providers = [ways("bitbucket-server", { validate_url: counted }), ways("jfrog", { validate_url: "" })];
    lab.handlers["/rest/api/latest/inbox/pull-requests/count"] = ({ headers }) =>
      lab.valid.has((headers.authorization ?? "").replace("Bearer ", "")) ? { body: { count: 3 } } : { status: 401 };
    await withProviders(providers, async (client) => {
      await link(client, "bitbucket-server");
      const { query } = lab.to("/authorize").at(-1)!;
      expect(query.get("scope")).to.equal("PUBLIC_REPOS REPO_READ REPO_WRITE");
      expect(query.has("code_challenge")).to.equal(false);
      expect(lab.to("/token").at(-1)!.form.has("code_verifier")).to.equal(false);
      const bitbucket = (await client.get(`${api}/bitbucket-server`)).body;
      expect(bitbucket).to.include({ authenticated: true }).and.not.have.property("user");
      expect(lab.to("/rest/api/latest/inbox/pull-requests/count")).to.have.length.above(0);

      await link(client, "jfrog");
      const exchange = lab.to("/token").at(-1)!;
      expect(exchange.form.get("client_secret")).to.equal(clientSecret);
      const jfrog = (await client.get(`${api}/jfrog`)).body;
      expect(jfrog).to.include({ authenticated: true }).and.not.have.property("user");
    });
  });

  it("that offer device codes only are linked by them on the page", async () => {
    const deviceOnly = lab.provider({ id: "only", client_secret: "", device_flow: true });
    await withProviders([deviceOnly], async (client) => {
      const press = (action: string) =>
        client.post("/external-auth/only", `action=${action}`, { "Content-Type": "application/x-www-form-urlencoded" });
      const shown = await client.get("/external-auth/only");
      expect(shown.body).to.contain("<button>Connect</button>").and.not.contain("/external-auth/only/callback");
      const begun = await press("device");
      expect(begun.body).to.contain("Enter this code at The lab").and.contain("<button>Check</button>");
      lab.handlers["/token"] = () => ({ body: lab.tokens() });
      const linked = await press("check");
      expect([linked.status, linked.headers.get("location")]).to.deep.equal([
        303,
        "/external-auth/only?redirected=true",
      ]);
      expect((await client.get("/external-auth/only")).body).to.contain("<button>Connect again</button>");
    });
  });

  it("beyond the first need a license, which deleting does not", async () => {
    const w = await startWorld(externalAuth(lab.provider({ id: "first" }), lab.provider()));
    const unlicensed = await startServer(w.database.url, {
      ...externalAuth(lab.provider({ id: "first" }), lab.provider()),
      ...trusting(new Vendor()),
    });
    const client = w.as(w.owner);
    const limited = new Client(unlicensed.url, w.owner.token);
    await link(client);
    await link(limited, "first");
    expect((await limited.get(`${api}/first`)).body.authenticated).to.equal(true);
    expect(await limited.get("/external-auth/lab/callback")).to.include({ status: 403 });
    expect(await limited.get(`${api}/lab/device`)).to.include({ status: 403 });
    const token = '{ externalAuthAccessToken(providerId: "lab") { accessToken } }';
    expect((await limited.failure(token)).errors[0]!.extensions.feature).to.equal("multiple_external_auth");
    await expire(w);
    lab.seen.length = 0;
    const { links } = (await limited.get(api)).body;
    expect(links.map(({ authenticated }: { authenticated: boolean }) => authenticated)).to.deep.equal([true, false]);
    expect(links[1].validate_error).to.contain("multiple_external_auth is not licensed");
    expect(lab.to("/token")).to.have.length(1);
    expect(await limited.delete(`${api}/lab`)).to.include({ status: 200 });
    await unlicensed.close();
    await w.close();
  });

  it("that were removed leave links, which can be deleted, and a warning in the log", async () => {
    const w = await startWorld(externalAuth(lab.provider(), lab.provider({ id: "kept" })));
    await link(w.as(w.owner));
    await link(w.as(w.owner), "kept");
    logged.length = 0;
    const replica = await startServer(w.database.url, externalAuth(lab.provider({ id: "kept" })));
    expect(JSON.stringify(logged))
      .to.contain("The providers of external authentication differ")
      .and.not.contain(clientSecret);
    const client = new Client(replica.url, w.owner.token);
    lab.seen.length = 0;
    const { links } = (await client.get(api)).body;
    expect(links.map((each: Record<string, unknown>) => [each.provider_id, each.authenticated])).to.deep.equal([
      ["kept", true],
      ["lab", false],
    ]);
    expect(lab.to("/user")).to.have.length(1);
    expect(await client.get(`${api}/lab`)).to.include({ status: 404 });
    expect((await client.delete(`${api}/LAB`)).body).to.deep.equal({ token_revoked: false });
    await replica.close();
    await w.close();
  });

  it("receive a token back if the account was suspended meanwhile", async () => {
    const w = await startWorld(externalAuth(lab.provider()));
    const ada = await w.user("ada");
    const journey = await setOut(w.as(ada));
    lab.handlers["/token"] = async () => {
      await suspend(w, ada);
      return { body: lab.tokens() };
    };
    expect(await comeBack(w.as(ada), journey)).to.include({ status: 403 });
    await eventually(() => lab.to("/revoke").length === 1, "the token is revoked");
    expect(await countRows(w, "external_auth_links")).to.equal(0);
    await w.close();
  });

  it("are started at most sixty times per minute and user", async () => {
    await withProviders([lab.provider()], async (client) => {
      const starts = await Promise.all(Array.from({ length: 31 }, () => client.get(`${api}/lab/device`)));
      const visits = await Promise.all(Array.from({ length: 31 }, () => client.get("/external-auth/lab/callback")));
      const limited = [...starts, ...visits].filter(({ status }) => status === 429);
      expect(limited).to.have.length(2);
      for (const { headers } of limited) expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
    });
  });

  it("keep their links when the encryption key is rotated", async () => {
    const w = await startWorld(externalAuth(lab.provider()));
    await link(w.as(w.owner));
    await w.as(w.owner).get(`${api}/lab/device`);
    await setOut(w.as(w.owner));
    const next = `next:${Buffer.alloc(32, "next").toString("base64")}`;
    const replica = await startServer(w.database.url, {
      ...externalAuth(lab.provider()),
      STEWARD_ENCRYPTION_KEYS: `${next},${encryptionKeys}`,
    });
    const { rotated, left } = await rotate(replica);
    expect({ rotated, left }).to.deep.equal({ rotated: 6, left: 0 });
    await expire(w);
    const client = new Client(replica.url, w.owner.token);
    expect((await client.get(`${api}/lab`)).body.authenticated).to.equal(true);
    expect((await client.post(`${api}/lab/device`)).body.detail).to.equal("authorization_pending");
    await replica.close();
    await w.close();
  });

  it("that are not reachable are reported without their addresses", async () => {
    await withProviders([providerAt("http://127.0.0.1:1", { auth_url: `${lab.url}/authorize` })], async (client) => {
      const started = await client.get(`${api}/lab/device`);
      expect(started.status).to.equal(502);
      expect(started.body).to.deep.equal({
        message: "The external authentication provider failed.",
        detail: "The provider is not reachable.",
      });
      const finished = await comeBack(client, await setOut(client));
      expect(finished.status).to.equal(502);
      expect(finished.body).to.not.contain("127.0.0.1");
    });
  });
});

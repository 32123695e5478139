// Several providers together: how owners make and change them, and how people sign in through them.
// Reaches for tables: secrets are sealed in the database, and links of earlier releases are in tables.
import { expect } from "chai";
import { generateKeyPairSync } from "node:crypto";
import { accountOf, setUserRoles, suspend } from "./support/accounts.js";
import { type App, encryptionKeys, logged, startServer } from "./support/app.js";
import { audited } from "./support/audit.js";
import { client, GithubServer, OidcProvider, type Subject } from "./support/providers.js";
import { Visitor } from "./support/provider-visits.js";
import { insert } from "./support/stage.js";
import { storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { Client, type Person, world } from "./support/world.js";

const fields = `id name kind source label displayName issuer clientId usesKey scopes subjectClaim emailDomains isEnabled
  isActive signInUrl redirectUrl linkedUserCount strandedUserCount organizations { name }
  report { succeededAt failedAt failure }`;
const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { ${fields} } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { ${fields} } } }`;
const remove = `mutation($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id name } } }`;
const order = `mutation($input: OrderIdentityProvidersInput!) { orderIdentityProviders(input: $input) { identityProviders { name } } }`;
const begin = `mutation($input: TestIdentityProviderInput!) { testIdentityProvider(input: $input) { url expiresAt } }`;
const beginLink = `mutation($input: BeginIdentityLinkInput!) { beginIdentityLink(input: $input) { url } }`;
const list = `{ identityProviders { ${fields} } }`;
const identities = "{ userIdentities { provider providerName issuer subject } me { id } }";

const verified = (email: string, more: Subject = {}): Subject => ({ email, email_verified: true, ...more });

describe("providers of sign-in", () => {
  const getWorld = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  const providers: Array<{ close: () => Promise<void> }> = [];
  const replicas: App[] = [];
  let home = "";
  let made = 0;
  let owner: Client;

  beforeEach(() => {
    logged.length = 0;
    home = getWorld().app.services.config.accessUrl;
    owner = getWorld().as(getWorld().owner);
  });
  afterEach(async () => {
    const { identityProviders } = await owner.graphql(list);
    for (const { id, source, strandedUserCount } of identityProviders)
      if (source === "STORED") await owner.graphql(remove, { input: { provider: id, strandedUserCount } });
    for (const app of replicas.splice(0)) await app.close();
    for (const provider of providers.splice(0)) await provider.close();
  });

  /** Opens a provider at which this server is registered under a name. */
  async function open(name: string, metadata: object = {}): Promise<OidcProvider> {
    const provider = await OidcProvider.open(() => `${home}/login/${name}/callback`, {
      metadata,
      conformIdTokenClaims: false,
      claims: {
        email: ["email", "email_verified"],
        profile: ["name", "preferred_username", "tid", "hd", "oid"],
      },
    });
    providers.push(provider);
    return provider;
  }

  const newName = (word: string) => `${word}-${++made}`;
  const issuerOf = ({ settings }: OidcProvider) => settings.STEWARD_OIDC_ISSUER_URL!;

  /** Makes a provider of the server, and returns it with the one behind it. */
  async function make(word: string, more: Record<string, unknown> = {}, metadata: object = {}) {
    const name = newName(word);
    const provider = await open(name, metadata);
    const input = { name, kind: "OIDC", issuer: issuerOf(provider), clientId: client.id, clientSecret: client.secret };
    const { createIdentityProvider } = await owner.graphql(create, {
      input: { ...input, emailDomains: ["example.com"], ...more, ...(more.clientKey ? { clientSecret: null } : {}) },
    });
    return { name, provider, path: `/login/${name}`, row: createIdentityProvider.identityProvider };
  }

  const invited = (name: string): Promise<Person> => getWorld().user(name, undefined, "OIDC");
  const giveRoles = (person: Person, ...roles: string[]) =>
    owner.graphql(setUserRoles, { input: { user: person.id, roles } });
  const rowOf = async (name: string) => (await owner.graphql(list)).identityProviders.find((row) => row.name === name)!;

  /** The report of a provider, which is stored after the response of a sign-in. */
  async function reportOf(name: string, isThere: (report: Record<string, string | null>) => boolean) {
    let report: Record<string, string | null> = {};
    await eventually(async () => isThere((report = (await rowOf(name)).report)), `the report of ${name}`);
    return report;
  }

  const userId = /^[0-9a-f-]{36}$/;

  /** Signs in, and returns the id of the user, or the text of the page that rejects it. */
  async function signIn(subject: string, path: string, visitor = new Visitor(home)): Promise<string> {
    const { status, text } = await visitor.signIn(subject, path);
    return status === 303 ? (await visitor.client.graphql("{ me { id } }")).me.id : `${status} ${text}`;
  }

  describe("are made by owners", () => {
    it("with defaults, never return their secret, and seal it", async () => {
      const { row, provider, name } = await make("entra", { emailDomains: ["Example.COM"] });
      expect(row).to.deep.include({
        name,
        kind: "OIDC",
        source: "STORED",
        label: "127.0.0.1",
        issuer: issuerOf(provider),
        usesKey: false,
        scopes: ["openid", "email", "profile"],
        subjectClaim: "sub",
        emailDomains: ["example.com"],
        isActive: true,
        signInUrl: `${home}/login/${name}`,
        redirectUrl: `${home}/login/${name}/callback`,
        organizations: [],
        report: { succeededAt: null, failedAt: null, failure: "" },
      });
      const stored = await storedText(getWorld(), "sign_in_providers");
      expect(stored).to.contain(issuerOf(provider)).and.not.contain(client.secret);
      const [event] = await audited(getWorld(), { resourceId: row.id });
      expect(event).to.include({ action: "CREATE", resourceType: "sign_in_provider", resourceLabel: name });
      expect(event!.diff).to.deep.include({ credential: { new: "***" }, emailDomains: { new: ["example.com"] } });
      expect(JSON.stringify(await audited(getWorld(), {}))).to.not.contain(client.secret);
    });

    it("with all faults together", async () => {
      const input = {
        name: "Not Valid",
        kind: "GITHUB",
        issuer: "http://id.example.com/?x",
        clientId: "",
        clientSecret: "",
        icon: "https://elsewhere.example.com/icon.png",
        scopes: ["a b"],
        subjectClaim: "a b",
        emailDomains: ["@x"],
        tenants: ["a/b"],
        organizations: ["nowhere"],
        displayName: "a\u202eb",
      };
      const { errors } = await owner.failure(create, { input });
      const faults = errors[0]!.extensions.validations.map(({ field }: { field: string }) =>
        field.slice("input.".length),
      );
      expect(faults).to.have.members([
        "displayName",
        "icon",
        "clientId",
        "clientSecret",
        "scopes[0]",
        "subjectClaim",
        "emailDomains[0]",
        "tenants[0]",
        "name",
        "issuer",
        "organizations[0]",
      ]);
      const missing = await owner.failure(create, { input: { name: "x", kind: "OIDC", clientId: "x" } });
      expect(missing.errors[0]!.extensions.validations).to.deep.equal([
        { field: "input.issuer", detail: "Is required." },
        { field: "input.clientSecret", detail: "Is required, or a key in its place." },
      ]);
      const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
      const clientKey = weak.export({ type: "pkcs8", format: "pem" });
      const key = await owner.failure(create, {
        input: { name: "x", kind: "OIDC", issuer: "https://id.example.com", clientId: "x", clientKey },
      });
      expect(key.errors[0]!.extensions.validations[0]!.field).to.equal("input.clientKey");
    });

    it("under names that are theirs alone, at most 50", async () => {
      const { name } = await make("twice");
      const input = { name, kind: "OIDC", issuer: "https://id.example.com", clientId: "x", clientSecret: "x" };
      expect((await owner.failure(create, { input })).errors[0]!.message).to.equal("This name is in use.");
      for (let n = 0; n < 49; n++) await owner.graphql(create, { input: { ...input, name: `more-${n}` } });
      const { code, message } = await owner.failure(create, { input: { ...input, name: "one-more" } });
      expect([code, message]).to.deep.equal(["CONFLICT", "There can be at most 50 providers."]);
    });

    it("and by no other user", async () => {
      const { name } = await make("mine");
      const admin = await getWorld().user("admin");
      await giveRoles(admin, "USER_ADMIN", "TEMPLATE_ADMIN", "AUDITOR");
      for (const [document, input] of [
        [create, { name: "x", kind: "OIDC", clientId: "x" }],
        [update, { provider: name }],
        [remove, { provider: name }],
        [order, { providers: [name] }],
        [begin, { provider: name }],
      ] as const)
        expect((await getWorld().as(admin).failure(document, { input })).code).to.equal("FORBIDDEN");
      expect((await getWorld().as(admin).failure(list)).code).to.equal("FORBIDDEN");
    });

    it("and are listed on the sign-in page in their order, with their icons, while they are enabled", async () => {
      const icon = `data:image/svg+xml;base64,${Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>").toString("base64")}`;
      const one = await make("one", { displayName: "First & best", icon });
      const two = await make("two");
      const off = await make("off", { isEnabled: false });
      const { orderIdentityProviders } = await owner.graphql(order, {
        input: { providers: [two.name, off.row.id, one.name] },
      });
      expect(orderIdentityProviders.identityProviders.map(({ name }: { name: string }) => name)).to.deep.equal(
        [two, off, one].map(({ name }) => name),
      );
      const { serverInfo } = await getWorld().nobody.graphql(
        "{ serverInfo { identityProviders { name label icon } } }",
      );
      expect(serverInfo.identityProviders).to.deep.equal([
        { name: two.name, label: "127.0.0.1", icon: "" },
        { name: one.name, label: "First & best", icon },
      ]);
      const { body } = await getWorld().nobody.get("/login");
      const positions = [`/login/${two.name}?`, `<img src="${icon}"`, "First &amp; best"].map((text) =>
        body.indexOf(text),
      );
      expect(positions)
        .to.deep.equal([...positions].sort((a, b) => a - b))
        .and.not.include(-1);
      expect(body).to.not.contain(`/login/${off.name}`);
      expect((await getWorld().nobody.get(off.path)).status).to.equal(404);
      const incomplete = await owner.failure(order, { input: { providers: [one.name, one.name] } });
      expect(incomplete.errors[0]!.extensions.validations[0]!.field).to.equal("input.providers[1]");
    });

    it("and are known to all replicas", async () => {
      const settings = { STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8", STEWARD_ACCESS_URL: home };
      const other = await startServer(getWorld().database.url, settings);
      replicas.push(other);
      const elsewhere = new Client(other.url);
      const { name, path } = await make("spread");
      const until = async (status: number) => {
        while ((await elsewhere.get(path)).status !== status) await new Promise(setImmediate);
      };
      await until(303);
      await owner.graphql(remove, { input: { provider: name } });
      await until(404);
    });
  });

  describe("are declared by the operator", () => {
    const declared = (name: string, more: object = {}) =>
      JSON.stringify({
        $schema: "http://localhost:3000/schemas/steward.providers-1.json",
        providers: [
          { name, kind: "oidc", issuer: "https://id.example.com", clientId: "x", clientSecret: "y", ...more },
        ],
      });

    it("are first, and read-only for owners", async () => {
      const stored = await make("stored");
      const app = await startServer(getWorld().database.url, {
        STEWARD_SIGN_IN_PROVIDERS: declared("fixed", { organizations: ["default"] }),
        STEWARD_OIDC_ISSUER_URL: "https://old.example.com",
        STEWARD_OIDC_CLIENT_ID: "x",
        STEWARD_OIDC_CLIENT_SECRET: "y",
      });
      replicas.push(app);
      const there = new Client(app.url, getWorld().owner.token);
      const { identityProviders } = await there.graphql(list);
      expect(identityProviders.map(({ name, source }) => [name, source])).to.deep.equal([
        ["oidc", "VARIABLES"],
        ["fixed", "FILE"],
        [stored.name, "STORED"],
      ]);
      expect(identityProviders[1]!.organizations).to.have.length(1);
      for (const provider of ["oidc", "fixed"]) {
        expect((await there.failure(update, { input: { provider, displayName: "x" } })).code).to.equal("CONFLICT");
        expect((await there.failure(remove, { input: { provider } })).code).to.equal("CONFLICT");
      }
      const taken = { name: "fixed", kind: "OIDC", issuer: "https://id.example.com", clientId: "x", clientSecret: "y" };
      expect((await there.failure(create, { input: taken })).errors[0]!.message).to.equal(
        "The settings of the server declare a provider of this name.",
      );
    });

    it("and hide those of their name, whose identities stay when owners delete them", async () => {
      const { name, row } = await make("hidden");
      const ada = await invited("ada");
      const link = {
        provider: name,
        kind: "oidc",
        issuer: "https://id.example.com",
        subject: "ada",
        created_at: "now",
      };
      await insert(getWorld(), { user_links: [{ ...link, user_id: ada.id }] });
      const app = await startServer(getWorld().database.url, { STEWARD_SIGN_IN_PROVIDERS: declared(name) });
      replicas.push(app);
      const there = new Client(app.url, getWorld().owner.token);
      const { identityProviders } = await there.graphql(list);
      expect(identityProviders.map(({ isActive }: { isActive: boolean }) => isActive)).to.deep.equal([true, false]);
      await there.graphql(remove, { input: { provider: row.id } });
      const { userIdentities } = await owner.graphql(`{ userIdentities(user: "${ada.id}") { subject } }`);
      expect(userIdentities).to.deep.equal([{ subject: "ada" }]);
    });

    it("as a schema describes that editors fetch", async () => {
      const path = "/schemas/steward.providers-1.json";
      const { status, body, headers } = await getWorld().nobody.get(path);
      expect([status, headers.get("content-type")]).to.deep.equal([200, "application/schema+json"]);
      const schema = typeof body === "string" ? JSON.parse(body) : body;
      expect(schema).to.include({ $id: `${home}${path}`, title: "steward.providers/1" });
      const { properties, required } = schema.properties.providers.items;
      expect(required).to.have.members(["name", "kind", "clientId"]);
      expect(properties.name.description).to.contain("/login/<name>");
    });
  });

  describe("sign people in", () => {
    it("several together, each under its own identities", async () => {
      const one = await make("one");
      const two = await make("two");
      const three = await make("three", { subjectClaim: "oid" });
      const github = await GithubServer.open();
      providers.push(github);
      const hub = newName("hub");
      await owner.graphql(create, {
        input: {
          name: hub,
          kind: "GITHUB",
          issuer: github.url,
          clientId: client.id,
          clientSecret: client.secret,
          emailDomains: ["hub.example.com"],
        },
      });
      // The same subject everywhere, and other people.
      for (const [at, { provider }] of [one, two, three].entries())
        provider.subjects.set("sam", verified(`sam-${at}@example.com`, { oid: "sam" }));
      github.user = { id: 7, login: "sam", name: "Sam" };
      github.emails = [{ email: "sam@hub.example.com", primary: true, verified: true }];
      const ids = [
        await signIn("sam", one.path),
        await signIn("sam", two.path),
        await signIn("sam", three.path),
        await signIn("sam", `/login/${hub}`),
      ];
      expect(new Set(ids).size, ids.join()).to.equal(4);
      expect(await signIn("sam", two.path)).to.equal(ids[1]);
      expect((await accountOf(getWorld(), ids[3]!))!.loginType).to.equal("GITHUB");
      expect(await rowOf(one.name)).to.deep.include({ linkedUserCount: 1, strandedUserCount: 1 });
    });

    it("by a private key in place of a secret", async () => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const jwk = { ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "ES256" };
      const clientKey = JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: "one" });
      const { path, provider, row } = await make(
        "key",
        { clientKey },
        {
          client_secret: undefined,
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          jwks: { keys: [jwk] },
        },
      );
      expect(row.usesKey).to.equal(true);
      provider.subjects.set("kim", verified("kim-key@example.com"));
      const id = await signIn("kim", path);
      expect((await accountOf(getWorld(), id))?.email, id).to.equal("kim-key@example.com");
    });

    it("into the organizations that newcomers join, and newcomers only if they may come", async () => {
      const team = await getWorld().organization("team");
      const joined = await make("join", { organizations: [team.id, "default"] });
      joined.provider.subjects.set("new", verified("new-join@example.com"));
      const id = await signIn("new", joined.path);
      const { user } = await owner.graphql(`{ user(user: "${id}") { organizations { id } } }`);
      expect(user.organizations.map((each: { id: string }) => each.id)).to.have.members([
        team.id,
        getWorld().defaultOrganization,
      ]);
      const closed = await make("closed", { admitsNewcomers: false });
      closed.provider.subjects.set("new", verified("new-closed@example.com"));
      expect(await signIn("new", closed.path))
        .to.contain("403")
        .and.to.contain("There is no account for you here.");
      const { failure, failedAt } = await reportOf(closed.name, ({ failedAt: at }) => at !== null);
      expect([failure, failedAt].join()).to.contain("There is no account for you here.");
      await reportOf(joined.name, ({ succeededAt }) => succeededAt !== null);
    });

    it("of the tenants and hosted domains that may", async () => {
      const entra = await make("entra", { tenants: ["tenant-a"] });
      const google = await make("google", { hostedDomains: ["Example.com"] });
      for (const [{ provider, path }, mine, other] of [
        [entra, { tid: "tenant-a" }, { tid: "tenant-b" }],
        [google, { hd: "example.com" }, { hd: "elsewhere.example.com" }],
      ] as const) {
        provider.subjects.set("right", verified(`right${path.replaceAll("/", "-")}@example.com`, mine));
        provider.subjects.set("wrong", verified(`wrong${path.replaceAll("/", "-")}@example.com`, other));
        provider.subjects.set("none", verified(`none${path.replaceAll("/", "-")}@example.com`));
        expect(await signIn("right", path)).to.match(userId);
        for (const subject of ["wrong", "none"])
          expect(await signIn(subject, path)).to.contain("belongs to another organization");
      }
    });

    it("not by an address across providers, but by an identity that people link themselves", async () => {
      const one = await make("one", { displayName: "One" });
      const two = await make("two");
      const ada = await invited("ada");
      for (const { provider } of [one, two]) provider.subjects.set("ada", verified(ada.email));
      const visitor = new Visitor(home);
      expect(await signIn("ada", one.path, visitor)).to.equal(ada.id);
      const refused = await signIn("ada", two.path);
      expect(refused).to.contain("403").and.contain("Sign in through One, and link this provider to your account");

      const { beginIdentityLink } = await visitor.client.graphql(beginLink, { input: { provider: two.name } });
      const path = beginIdentityLink.url.slice(home.length);
      expect(await visitor.signIn("ada", path)).to.include({ status: 303, location: "/keys?linked" });
      const { userIdentities } = await visitor.client.graphql(identities);
      expect(userIdentities.map((each) => each.providerName)).to.deep.equal([one.name, two.name]);
      expect(await signIn("ada", two.path)).to.equal(ada.id);
      expect(await rowOf(two.name)).to.deep.include({ linkedUserCount: 1, strandedUserCount: 0 });
      // Another one of the same provider, and one of another person.
      const bob = await invited("bob");
      two.provider.subjects.set("bob", verified(bob.email));
      const other = new Visitor(home);
      expect(await signIn("bob", two.path, other)).to.equal(bob.id);
      const again = await visitor.client.graphql(beginLink, { input: { provider: two.name } });
      const taken = await visitor.signIn("bob", again.beginIdentityLink.url.slice(home.length));
      expect(taken).to.include({ status: 409 });
      expect(taken.text).to.contain("This identity signs in to an account already.");

      const unlink = `mutation($input: UnlinkUserIdentityInput!) { unlinkUserIdentity(input: $input) { user { id } } }`;
      await visitor.client.graphql(unlink, { input: { user: "me", provider: one.name } });
      const last = await visitor.client.failure(unlink, { input: { user: "me", provider: two.name } });
      expect(last.errors[0]!.message).to.contain("This is the only identity by which you sign in.");
      expect(await signIn("ada", two.path)).to.equal(ada.id);
    });

    it("without identity by their address, as far as the provider speaks for it", async () => {
      const any = await make("any", { linksByEmail: "ANY", emailDomains: [] });
      const domains = await make("domains", { emailDomains: ["elsewhere.example.com"] });
      const never = await make("never", { linksByEmail: "NEVER" });
      const ada = await invited("ada");
      for (const { provider } of [any, domains, never]) provider.subjects.set("ada", verified(ada.email));
      for (const { path } of [domains, never])
        expect(await signIn("ada", path)).to.contain("This provider cannot link your account by its email.");
      expect(await signIn("ada", any.path)).to.equal(ada.id);
    });

    it("once, when two providers bring a new person at the same moment", async () => {
      const one = await make("one");
      const two = await make("two");
      for (let round = 0; round < 3; round++) {
        const email = `new-${round}@example.com`;
        for (const { provider } of [one, two]) provider.subjects.set(email, verified(email));
        const outcomes = await Promise.all([one, two].map(({ path }) => signIn(email, path)));
        const ids = outcomes.filter((outcome) => /^[\w-]{36}$/.test(outcome));
        expect(ids, outcomes.join()).to.have.length(1);
        const { users } = await owner.graphql(`{ users(filter: { search: "${email}" }) { nodes { id } } }`);
        expect(users.nodes).to.deep.equal([{ id: ids[0] }]);
        const { userIdentities } = await owner.graphql(`{ userIdentities(user: "${ids[0]}") { subject } }`);
        expect(userIdentities).to.have.length(1);
      }
    });

    it("not if the provider changes between the start and the end", async () => {
      const { path, name, provider } = await make("changing");
      provider.subjects.set("ada", verified("ada-changing@example.com"));
      const visitor = new Visitor(home);
      const begun = await visitor.request(new URL(path, home));
      const state = new URL(begun.headers.get("location")!).searchParams.get("state")!;
      await owner.graphql(update, { input: { provider: name, displayName: "Changed" } });
      const query = new URLSearchParams({ code: "x", state, iss: issuerOf(provider) }).toString();
      const back = await visitor.request(new URL(`${path}/callback?${query}`, home));
      expect([back.status, await back.text()].join())
        .to.contain("400")
        .and.contain("This sign-in was not started");
      expect(await signIn("ada", path)).to.match(userId);
    });
  });

  describe("are tested", () => {
    const testing = async (name: string, visitor: Visitor, subject: string) => {
      const { testIdentityProvider } = await visitor.client.graphql(begin, { input: { provider: name } });
      return visitor.signIn(subject, testIdentityProvider.url.slice(home.length));
    };
    /** A browser with a session of the owner. */
    const ownersBrowser = async () => {
      const token = await getWorld().session(getWorld().owner.id);
      const visitor = new Visitor(home);
      visitor.keep("service_session_token", token);
      return visitor;
    };

    it("by a round trip that shows claims and their effect, and signs no user in", async () => {
      const { provider, name } = await make("trial", { isEnabled: false });
      const ada = await invited("ada");
      provider.subjects.set("ada", verified(ada.email, { tid: "a-tenant", name: "Ada <b>" }));
      provider.subjects.set("new", verified("new-trial@example.com", { preferred_username: "newbie" }));
      provider.subjects.set("none", verified("none@elsewhere.example.net"));
      const visitor = await ownersBrowser();
      const { token } = visitor;
      const linked = await testing(name, visitor, "ada");
      expect(linked.status).to.equal(200);
      for (const text of [
        `Signs in as ${ada.username}, whose account has this email`,
        "a-tenant",
        "Ada &lt;b&gt;",
        "tid",
      ])
        expect(linked.text).to.contain(text);
      expect((await testing(name, await ownersBrowser(), "new")).text).to.contain("Creates the account newbie");
      expect((await testing(name, await ownersBrowser(), "none")).text).to.contain(
        "Is rejected. There is no account for you here.",
      );
      expect(visitor.token).to.equal(token);
      const { userIdentities } = await owner.graphql(`{ userIdentities(user: "${ada.id}") { subject } }`);
      expect(userIdentities).to.deep.equal([]);
      expect(await accountOf(getWorld(), "newbie")).to.equal(null);
      expect(await audited(getWorld(), { resourceId: ada.id, action: "LOGIN_FAILED" })).to.deep.equal([]);
    });

    it("only in the session that began it, by those who may", async () => {
      const { provider, name } = await make("trial");
      provider.subjects.set("ada", verified("ada-trial@example.com"));
      const mine = await ownersBrowser();
      const others = await ownersBrowser();
      const { testIdentityProvider } = await mine.client.graphql(begin, { input: { provider: name } });
      const url = new URL(testIdentityProvider.url);
      const stolen = await others.request(url);
      expect([stolen.status, await stolen.text()].join())
        .to.contain("403")
        .and.contain("belongs to another session");
      const unsigned = new URL(url);
      unsigned.searchParams.set("ticket", `${url.searchParams.get("ticket")!.split(".")[0]}.x`);
      expect((await mine.request(unsigned)).status).to.equal(403);
      const nobody = new Visitor(home);
      expect((await nobody.request(url)).headers.get("location")).to.contain("/login?return_to");
      const elsewhere = await make("elsewhere");
      const moved = new URL(url.href.replace(`/${name}?`, `/${elsewhere.name}?`));
      expect((await mine.request(moved)).status).to.equal(403);
    });
  });

  describe("are changed and deleted", () => {
    it("with their names, under which identities stay", async () => {
      const { name, path, provider } = await make("before");
      const ada = await invited("ada");
      provider.subjects.set("ada", verified(ada.email));
      expect(await signIn("ada", path)).to.equal(ada.id);
      const after = newName("after");
      await owner.graphql(update, { input: { provider: name, name: after } });
      const { userIdentities } = await owner.graphql(`{ userIdentities(user: "${ada.id}") { providerName } }`);
      expect(userIdentities).to.deep.equal([{ providerName: after }]);
      const linked = await owner.failure(update, { input: { provider: after, issuer: "https://other.example.com" } });
      expect(linked.errors[0]!.message).to.contain("1 person has an identity at this issuer.");
    });

    it("only if it is known how many people cannot sign in then, who are signed out", async () => {
      const one = await make("one");
      const two = await make("two");
      const ada = await invited("ada");
      const bob = await invited("bob");
      one.provider.subjects.set("ada", verified(ada.email));
      one.provider.subjects.set("bob", verified(bob.email));
      two.provider.subjects.set("bob", verified(bob.email));
      const ofAda = new Visitor(home);
      const ofBob = new Visitor(home);
      await signIn("ada", one.path, ofAda);
      await signIn("bob", one.path, ofBob);
      const { beginIdentityLink } = await ofBob.client.graphql(beginLink, { input: { provider: two.name } });
      await ofBob.signIn("bob", beginIdentityLink.url.slice(home.length));
      expect(await rowOf(one.name)).to.deep.include({ linkedUserCount: 2, strandedUserCount: 1 });
      const unconfirmed = await owner.failure(remove, { input: { provider: one.name } });
      expect([unconfirmed.code, unconfirmed.errors[0]!.message]).to.deep.equal([
        "CONFLICT",
        "1 person has no other way to sign in. Confirm it with this number.",
      ]);
      await owner.graphql(remove, { input: { provider: one.name, strandedUserCount: 1 } });
      expect((await ofAda.client.failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
      expect((await ofBob.client.graphql("{ me { id } }")).me.id).to.equal(bob.id);
      expect(await signIn("bob", two.path)).to.equal(bob.id);
      expect((await new Visitor(home).request(new URL(one.path, home))).status).to.equal(404);
      const deletion = (await audited(getWorld(), { resourceId: one.row.id })).at(-1)!;
      expect(deletion.diff).to.deep.include({ linkedUsers: { old: 2 }, strandedUsers: { new: 1 } });
    });

    it("never so that the owner who does it is stranded, and suspended people stay out", async () => {
      const { name, provider, path } = await make("mine");
      const ada = await invited("ada");
      await giveRoles(ada, "OWNER");
      provider.subjects.set("ada", verified(ada.email));
      const visitor = new Visitor(home);
      await signIn("ada", path, visitor);
      const own = await visitor.client.failure(remove, { input: { provider: name, strandedUserCount: 9 } });
      expect(own.errors[0]!.message).to.contain("You sign in through this provider alone.");
      await suspend(getWorld(), ada);
      expect(await signIn("ada", path))
        .to.contain("401")
        .and.contain("suspended");
    });

    it("and their secrets survive other encryption keys", async () => {
      const { name } = await make("sealed");
      const keys = `new:${Buffer.alloc(32, "new!").toString("base64")},${encryptionKeys}`;
      const app = await startServer(getWorld().database.url, { STEWARD_ENCRYPTION_KEYS: keys });
      replicas.push(app);
      const settings = app.services.identityProviders.find(name)!.settings;
      expect(settings.credential).to.deep.equal({ secret: client.secret });
    });
  });
});

// Identities as providers send them: ID tokens, metadata, and what follows from them.
// Reaches for tables: links of earlier releases, and links by SCIM, are in tables.
import { expect } from "chai";
import { accountOf, fields, setUserRoles, suspend } from "../support/accounts.js";
import { type App, logged, startServer } from "../support/app.js";
import { audited } from "../support/audit.js";
import { someFor } from "../support/repeats.js";
import { scimClient } from "../support/scim.js";
import { insert } from "../support/stage.js";
import { countRows, lockRows, setColumns } from "../support/tables.js";
import { type Layout, OidcProvider, type Subject } from "../support/providers.js";
import { Visitor } from "../support/provider-visits.js";
import { Client, type Person, world } from "../support/world.js";

const tenant = "aaaabbbb-0000-cccc-1111-dddd2222eeee";

/** A sign-in at a provider by a user with an account with that email, and its outcome. */
interface Row {
  /** The provider, its version if that matters, and the source. */
  from: string;
  layout?: Layout;
  /** The permanent ID, `sub`. */
  sub: string;
  claims: (email: string) => Subject;
  /** Claims in the ID token. The UserInfo endpoint sends all of them. Default: all. */
  inToken?: readonly string[];
  /** Part of the page that rejects the sign-in, if it must be rejected. */
  rejected?: string;
}

const entra = (email: string): Subject => ({
  aio: "Df2UVXL1ix!lMCWMSOJBcFatzcGfvFGhjKv8q5g0x732dR5MB5BisvGQO7YWByjd8iQDLq!eGbIDakyp5mnOrcdqHeYSnltepQmRp6AIZ8jY",
  email,
  name: "Abe Lincoln",
  oid: "00000000-0000-0000-66f3-3332eca7ea81",
  preferred_username: email,
  rh: "0.AXIAu6qquwAAzMwREdzd0iLu7gAAAAAAAAA.",
  tid: tenant,
  uti: "fqiBqXLPj0eQa82S-IYFAA",
  ver: "2.0",
});

const rows: Row[] = [
  {
    from: "Entra ID, v2.0 (learn.microsoft.com/entra/identity-platform/id-token-claims-reference): no email_verified",
    layout: { path: `/${tenant}/v2.0` },
    sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    claims: entra,
  },
  {
    from: "Entra ID, v2.0, an application of several tenants (login.microsoftonline.com/organizations): the tenant is in the token",
    layout: { path: `/${tenant}/v2.0`, configured: "/organizations/v2.0", named: "/{tenantid}/v2.0" },
    sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    claims: entra,
    rejected: "The provider returned no verified email. It does not say whether the email is verified, and serves many",
  },
  {
    from: "Entra ID, v2.0, `common`",
    layout: { path: `/${tenant}/v2.0`, configured: "/common/v2.0", named: "/{tenantid}/v2.0" },
    sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    claims: entra,
    rejected: "The provider returned no verified email. It does not say whether the email is verified, and serves many",
  },
  {
    from: "Entra ID, v2.0, `consumers`, whose metadata name the tenant of personal accounts",
    layout: {
      path: "/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
      configured: "/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    },
    sub: "AAAAAAAAAAAAAAAAAAAAAMLkPx8YX3bQ7XDGWnIpV4k",
    claims: (email) => ({ ...entra(email), tid: "9188040d-6c67-4c5b-b112-36a304b66dad" }),
    rejected: "The provider returned no verified email. It does not say whether the email is verified, and serves many",
  },
  {
    from: "Okta, org authorization server (a token quoted in rabbitmq-users, 2023-07): a token without email_verified, which UserInfo has",
    sub: "00uid4BxXw6I6TV4m0g3",
    claims: (email) => ({
      amr: ["pwd"],
      email,
      email_verified: true,
      idp: "00ok1u7AsAkrwdZL3z0q",
      name: "John Doe",
      preferred_username: email,
      ver: 1,
    }),
    inToken: ["amr", "email", "idp", "name", "preferred_username", "ver"],
  },
  {
    from: "Okta, an unverified address: UserInfo alone says so",
    sub: "00uid4BxXw6I6TV4m0g4",
    claims: (email) => ({ email, email_verified: false, name: "John Doe", preferred_username: email, ver: 1 }),
    inToken: ["email", "name", "preferred_username", "ver"],
    rejected: "The provider returned no verified email. It says that the email is not verified.",
  },
  {
    from: "Google (developers.google.com/identity/openid-connect/openid-connect)",
    sub: "10769150350006150715113082367",
    claims: (email) => ({
      email,
      email_verified: true,
      hd: "new.example.com",
      name: "Elisa G Beckett",
      picture: "https://lh3.googleusercontent.com/a-/e2718281828459045235360uler",
    }),
  },
  {
    from: "authentik before 2025.10 (docs.goauthentik.io): the issuer ends in a slash, which operators leave out",
    layout: { path: "/application/o/steward/", configured: "/application/o/steward" },
    sub: "7d1b6c9c64bd0a4b9c8a0e1d9a1a3c9a7a5cfb1e8f8a5f0be9e0d6f2c7c4b1aa",
    claims: (email) => ({ email, email_verified: true, groups: [], name: "akadmin", preferred_username: "akadmin" }),
  },
  {
    from: "authentik since 2025.10 (docs.goauthentik.io, Verify email addresses): false by default",
    layout: { path: "/application/o/steward/" },
    sub: "7d1b6c9c64bd0a4b9c8a0e1d9a1a3c9a7a5cfb1e8f8a5f0be9e0d6f2c7c4b1ab",
    claims: (email) => ({ email, email_verified: false, groups: [], name: "akadmin", preferred_username: "akadmin" }),
    rejected: "The provider returned no verified email. It says that the email is not verified.",
  },
  {
    from: "Auth0 (auth0.com/docs/secure/tokens/id-tokens/id-token-structure): the issuer ends in a slash",
    layout: { path: "/", configured: "", named: "/" },
    sub: "auth0|5f7c8ec7c33c6c004bbafe82",
    claims: (email) => ({
      email,
      email_verified: true,
      name: email,
      nickname: "jane",
      picture: "https://s.gravatar.com/avatar/0.png",
      sid: "ZzT0kQ1rTzYtVbA4w0dJgQ1y4sXjv1pL",
      updated_at: "2025-11-03T09:12:44.101Z",
    }),
  },
  {
    from: "Amazon Cognito, and Auth0 with some enterprise connections: text instead of a boolean",
    layout: { path: "/", configured: "/", named: "" },
    sub: "samlp|example|jane",
    claims: (email) => ({ email, email_verified: "true", name: "Jane" }),
  },
  {
    from: "A provider that sends false as text",
    sub: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
    claims: (email) => ({ email, email_verified: "False", name: "Jane" }),
    rejected: "The provider returned no verified email. It says that the email is not verified.",
  },
  {
    from: "Keycloak (www.keycloak.org/docs): the issuer has a path without a final slash, which operators add",
    layout: { path: "/realms/example", configured: "/realms/example/" },
    sub: "c2b3f1d6-7a0e-4d1c-9b1a-4ea6a3a0b1de",
    claims: (email) => ({
      acr: "1",
      email,
      email_verified: true,
      family_name: "Doe",
      given_name: "Jane",
      name: "Jane Doe",
      preferred_username: "jane",
      sid: "0f4c7a52-0d38-4b2f-9d7e-1b9a5b1f63f0",
    }),
  },
];

describe("identities as providers send them", () => {
  const getWorld = world();
  const replicas: App[] = [];
  const providers: OidcProvider[] = [];
  let home = "";

  beforeEach(() => void (logged.length = 0));
  afterEach(async () => {
    for (const app of replicas.splice(0)) await app.close();
    for (const provider of providers.splice(0)) await provider.close();
  });

  /** Opens a provider whose ID tokens have all claims, or those given. */
  async function open(layout?: Layout, inToken?: readonly string[]): Promise<OidcProvider> {
    const all = [...new Set(rows.flatMap(({ claims }) => Object.keys(claims("x"))))];
    const own = all.filter((claim) => claim !== "sid");
    const provider = await OidcProvider.open(() => `${home}/login/oidc/callback`, {
      layout,
      // Tokens with claims beside an access token, against OpenID Connect Core §5.4, as all of these providers send them.
      conformIdTokenClaims: false,
      claims: { email: ["email", "email_verified"], profile: own.filter((claim) => !claim.startsWith("email")) },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: (use: string) => {
          const entries = Object.entries(provider.subjects.get(id) ?? {});
          const sent = entries.filter(([claim]) => use === "userinfo" || (inToken?.includes(claim) ?? true));
          return { sub: id, ...Object.fromEntries(sent) };
        },
      }),
    });
    providers.push(provider);
    return provider;
  }

  /** Starts a server whose users sign in at a provider. */
  async function serve(provider: OidcProvider, changes: NodeJS.ProcessEnv = {}): Promise<string> {
    const settings = { ...provider.settings, STEWARD_OIDC_EMAIL_DOMAINS: "example.com,new.example.com", ...changes };
    const app = await startServer(getWorld().database.url, settings);
    replicas.push(app);
    home = app.services.config.accessUrl;
    return home;
  }

  const invited = (name: string): Promise<Person> => getWorld().user(name, undefined, "OIDC");
  const verified = (email: string, more: Subject = {}): Subject => ({ email, email_verified: true, ...more });

  for (const { from, layout, sub, claims, inToken, rejected } of someFor(0, 2, rows))
    it(`${rejected ? "do not sign in" : "sign in"} by their email: ${from}`, async () => {
      const provider = await open(layout, inToken);
      await serve(provider);
      const ada = await invited("ada");
      const sent = claims(ada.email);
      provider.subjects.set(sub, sent);
      const visitor = new Visitor(home);
      const outcome = await visitor.signIn(sub);
      if (rejected) {
        expect(outcome.text).to.contain(rejected);
        expect([outcome.status, visitor.token]).to.deep.equal([403, undefined]);
        return;
      }
      expect(outcome, outcome.text).to.include({ status: 303 });
      const { me, userIdentities } = await visitor.client.graphql(
        "{ me { id } userIdentities { provider issuer subject claim } }",
      );
      expect(me.id).to.equal(ada.id);
      const issuer = provider.issuer.replace(/\/$/, "");
      expect(userIdentities).to.deep.equal([{ provider: "OIDC", issuer, subject: sub, claim: "sub" }]);
      // By the link, whatever the provider says of the address then.
      provider.subjects.set(sub, { ...sent, email_verified: false });
      const again = new Visitor(home);
      expect(await again.signIn(sub)).to.include({ status: 303 });
      expect((await again.client.graphql("{ me { id } }")).me.id).to.equal(ada.id);
    });

  it("create accounts in the domains of the deployment alone, if the provider does not say that addresses are verified", async () => {
    const provider = await open();
    await serve(provider, { STEWARD_OIDC_EMAIL_DOMAINS: "new.example.com" });
    provider.subjects.set("nina", { email: "Nina@New.example.com", name: "Nina" });
    provider.subjects.set("mallory", { email: "mallory@elsewhere.example.com", name: "Mallory" });
    const elsewhere = await invited("ada");
    provider.subjects.set("impostor", { email: elsewhere.email });
    expect(await new Visitor(home).signIn("nina")).to.include({ status: 303 });
    expect(await accountOf(getWorld(), "nina")).to.include({ email: "Nina@New.example.com", loginType: "OIDC" });
    for (const subject of ["mallory", "impostor"]) {
      const { status, text } = await new Visitor(home).signIn(subject);
      expect(status, subject).to.equal(403);
      expect(text).to.contain("and the domain is none of this deployment.");
    }
  });

  it("need verified addresses everywhere, if the settings require it", async () => {
    const provider = await open();
    await serve(provider, { STEWARD_OIDC_EMAIL_VERIFIED: "required" });
    const ada = await invited("ada");
    provider.subjects.set("ada", { email: ada.email });
    const { status, text } = await new Visitor(home).signIn("ada");
    expect(status).to.equal(403);
    expect(text).to.contain("It does not say whether the email is verified, which this deployment requires.");
    provider.subjects.set("ada", verified(ada.email));
    expect(await new Visitor(home).signIn("ada")).to.include({ status: 303 });
  });

  it("are found by the claim that operators choose, and take over the link by `sub` once", async () => {
    const w = getWorld();
    const provider = await open();
    await serve(provider);
    const ada = await invited("ada");
    const bob = await invited("bob");
    const oid = "00000000-0000-0000-66f3-3332eca7ea81";
    provider.subjects.set("sub-of-ada", verified(ada.email, { oid }));
    expect(await new Visitor(home).signIn("sub-of-ada")).to.include({ status: 303 });

    await serve(provider, { STEWARD_OIDC_SUBJECT_CLAIM: "oid" });
    const signedIn = async (subject: string) => {
      const visitor = new Visitor(home);
      const { status, text } = await visitor.signIn(subject);
      return status === 303 ? (await visitor.client.graphql("{ me { id } }")).me.id : text;
    };
    // An ID that equals the `sub` of another user is not that user.
    provider.subjects.set("sub-of-mallory", verified("mallory@example.org", { oid: "sub-of-ada" }));
    expect(await signedIn("sub-of-mallory")).to.contain("There is no account for you here.");
    provider.subjects.set("sub-of-bob", verified(bob.email));
    expect(await signedIn("sub-of-bob")).to.contain("The identity provider failed.");
    expect(JSON.stringify(logged)).to.contain('The ID token has no claim \\"oid\\".');

    expect(await signedIn("sub-of-ada")).to.equal(ada.id);
    // A new registration of the application at the provider: other subjects.
    provider.subjects.set("another-sub-of-ada", verified("ada@elsewhere.example.net", { oid }));
    expect(await signedIn("another-sub-of-ada")).to.equal(ada.id);
    provider.subjects.set("sub-of-ada", verified(ada.email, { oid: "another oid" }));
    expect(await signedIn("sub-of-ada")).to.contain("belongs to another identity");
    const changes = await audited(w, { resourceId: ada.id, action: "UPDATE" });
    const link = { provider: "oidc", issuer: provider.issuer };
    expect(changes.map(({ diff }) => diff)).to.deep.include({
      link: { old: { ...link, subject: "sub-of-ada" }, new: { ...link, subject: oid, claim: "oid" } },
    });
  });

  it("are found by links that an earlier release stored with the final slash of the issuer", async () => {
    const provider = await open({ path: "/application/o/steward/" });
    await serve(provider);
    const ada = await invited("ada");
    await insert(getWorld(), {
      user_links: [{ provider: "oidc", issuer: provider.issuer, subject: "ada-x", user_id: ada.id, created_at: "now" }],
    });
    provider.subjects.set("ada-x", {});
    const visitor = new Visitor(home);
    expect(await visitor.signIn("ada-x")).to.include({ status: 303 });
    expect((await visitor.client.graphql("{ me { id } }")).me.id).to.equal(ada.id);
  });

  it("are rejected if their issuer is another one, with both in the log at the start and on the page", async () => {
    const provider = await open({ path: "/tenant-a", configured: "/tenant-b", named: "/tenant-a" });
    await serve(provider);
    const { status, text } = await new Visitor(home).signIn("ada");
    expect(status).to.equal(502);
    const configured = provider.settings.STEWARD_OIDC_ISSUER_URL;
    const both = `issuer "${provider.issuer}", but STEWARD_OIDC_ISSUER_URL expects "${configured}"`;
    expect(text).to.contain(both);
    const starts = logged.filter(({ provider: name }) => name === "oidc");
    expect(starts.map(({ msg }) => msg)).to.deep.equal([`The metadata of the provider have the ${both}.`]);
  });

  it("are rejected if the issuer of the token is not that of the metadata", async () => {
    const provider = await open({ path: "/tenant-a", configured: "/tenant-b", named: "/tenant-b" });
    await serve(provider);
    const ada = await invited("ada");
    provider.subjects.set("ada", verified(ada.email, { tid: "tenant-b" }));
    const { status, text } = await new Visitor(home).signIn("ada");
    expect(status).to.equal(502);
    expect(text).to.contain(`The response of the provider has the issuer "${provider.issuer}", but`);
    const several = await open({ path: "/tenant-a/v2.0", configured: "/common/v2.0", named: "/{tenantid}/v2.0" });
    await serve(several);
    several.subjects.set("ada", verified(ada.email, { tid: "tenant-b" }));
    const other = await new Visitor(home).signIn("ada");
    expect(other.status).to.equal(502);
    expect(other.text).to.contain(`The ID token has the issuer "${several.issuer}", but`);
  });

  describe("give accounts their addresses", () => {
    let provider: OidcProvider;

    beforeEach(async () => {
      provider = await open();
    });

    /** Signs a person in as an identity, and again with other claims. Returns the email of the account afterwards. */
    async function emailAfter(person: Person, claims: Subject): Promise<string> {
      provider.subjects.set(person.id, verified(person.email));
      expect(await new Visitor(home).signIn(person.id)).to.include({ status: 303 });
      provider.subjects.set(person.id, claims);
      expect(await new Visitor(home).signIn(person.id)).to.include({ status: 303 });
      return (await accountOf(getWorld(), person.id))!.email;
    }

    it("if these are in the domains of the deployment", async () => {
      const w = getWorld();
      await serve(provider);
      const ada = await invited("ada");
      const email = `Ada.New-${ada.username}@new.example.com`;
      expect(await emailAfter(ada, { email })).to.equal(email);
      const change = (await audited(w, { resourceId: ada.id, action: "UPDATE" })).at(-1);
      expect(change).to.deep.include({ diff: { email: { old: ada.email, new: email } } });
      expect(change!.actorId).to.equal(ada.id);
      const bob = await invited("bob");
      expect(await emailAfter(bob, verified(`bob-${bob.username}@elsewhere.example.net`))).to.equal(bob.email);
      const eve = await invited("eve");
      const unverified = { email: `eve-${eve.username}@new.example.com`, email_verified: false };
      expect(await emailAfter(eve, unverified)).to.equal(eve.email);
      expect(await emailAfter(eve, verified(eve.email.toUpperCase()))).to.equal(eve.email);
    });

    it("but not to people with a SCIM link", async () => {
      const w = getWorld();
      await serve(provider);
      const scim = await scimClient(w, { source: "entra" });
      const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
      const userName = "ada.scim@example.com";
      const emails = [{ value: userName, type: "work", primary: true }];
      const { body } = await scim.post("/Users", { schemas, userName, externalId: "b8a6", active: true, emails });
      const ada = { id: body.id, username: "ada-scim", email: userName, token: "" };
      expect(await emailAfter(ada, verified(`ada-${ada.username}@new.example.com`))).to.equal(ada.email);
    });

    it("but not those of other accounts; then the log says so", async () => {
      await serve(provider);
      const ada = await invited("ada");
      const bob = await invited("bob");
      expect(await emailAfter(ada, verified(bob.email.toUpperCase()))).to.equal(ada.email);
      const lines = logged.filter(({ userId }) => userId === ada.id).map(({ msg }) => msg);
      expect(lines).to.deep.equal(["The email of a user was not changed as at the provider: another account has it."]);
    });

    it("also those of users whom their provider deleted", async () => {
      const w = getWorld();
      await serve(provider);
      const ada = await invited("ada");
      const scim = await scimClient(w, { source: "entra" });
      const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
      const userName = "left@new.example.com";
      const { body } = await scim.post("/Users", { schemas, userName, emails: [{ value: userName, primary: true }] });
      await scim.delete(`/Users/${body.id}`);
      expect(await emailAfter(ada, verified(userName))).to.equal(userName);
      expect((await accountOf(w, body.id as string))!.email).to.equal(`${body.id}@former.invalid`);
    });

    it("but not if the settings forbid it, and not to suspended users", async () => {
      await serve(provider, { STEWARD_OIDC_FOLLOW_EMAIL: "false" });
      const ada = await invited("ada");
      expect(await emailAfter(ada, verified(`ada-${ada.username}@new.example.com`))).to.equal(ada.email);
      await serve(provider);
      await suspend(getWorld(), ada);
      expect(await new Visitor(home).signIn(ada.id)).to.include({ status: 401 });
      expect((await accountOf(getWorld(), ada.id))!.email).to.equal(ada.email);
    });
  });

  describe("are unlinked and linked by administrators", () => {
    const unlink = `mutation($user: String!) { unlinkUserIdentity(input: { user: $user }) { user { id } } }`;
    const link = `mutation($user: String!, $subject: String!, $issuer: String) {
      linkUserIdentity(input: { user: $user, subject: $subject, issuer: $issuer }) { user { id } } }`;
    const identities = `query($user: String!) { userIdentities(user: $user) { provider issuer subject claim createdAt } }`;
    let provider: OidcProvider;
    let administrator: Client;

    beforeEach(async () => {
      provider = await open();
      await serve(provider);
      administrator = new Client(home, getWorld().owner.token);
    });

    it("so that another identity signs in, and the former one no longer does", async () => {
      const ada = await invited("ada");
      provider.subjects.set("former", verified(ada.email));
      const before = new Visitor(home);
      expect(await before.signIn("former")).to.include({ status: 303 });
      await administrator.graphql(link, { user: ada.id, subject: " latter ", issuer: `${provider.issuer}/` });
      expect((await before.client.failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
      provider.subjects.set("latter", {});
      const visitor = new Visitor(home);
      expect(await visitor.signIn("latter")).to.include({ status: 303 });
      expect((await visitor.client.graphql("{ me { id } }")).me.id).to.equal(ada.id);
      expect((await new Visitor(home).signIn("former")).text).to.contain("belongs to another identity");

      const linked = { provider: "oidc", issuer: provider.issuer };
      const diffs = (await audited(getWorld(), { resourceId: ada.id, action: "UPDATE" })).map(({ diff }) => diff);
      expect(diffs[1]).to.deep.equal({
        link: { old: { ...linked, subject: "former" }, new: { ...linked, subject: "latter" } },
      });

      // Unlinked, the account is found by its email again.
      await administrator.graphql(unlink, { user: ada.id });
      expect((await visitor.client.failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
      expect((await administrator.graphql(identities, { user: ada.id })).userIdentities).to.deep.equal([]);
      expect((await new Visitor(home).signIn("latter")).status).to.equal(403);
      expect((await new Visitor(home).signIn("former")).status).to.equal(303);
      const events = () => countRows(getWorld(), "audit_log", { resource_id: ada.id, action: "update" });
      await administrator.graphql(unlink, { user: ada.id });
      const recorded = await events();
      await administrator.graphql(unlink, { user: ada.id });
      expect(await events()).to.equal(recorded);
    });

    it("also by the same text in another claim, which may be another person there", async () => {
      const ada = await invited("ada");
      await administrator.graphql(link, { user: ada.id, subject: "same" });
      // Linked while operators had chosen another claim.
      await setColumns(getWorld(), "user_links", { user_id: ada.id }, { claim: "oid" });
      await administrator.graphql(link, { user: ada.id, subject: "same" });
      const { userIdentities } = await administrator.graphql(identities, { user: ada.id });
      expect(userIdentities.map(({ claim }: { claim: string }) => claim)).to.deep.equal(["sub"]);
      const events = () => countRows(getWorld(), "audit_log", { resource_id: ada.id, action: "update" });
      const recorded = await events();
      await administrator.graphql(link, { user: ada.id, subject: "same" });
      expect(await events(), "once").to.equal(recorded);
    });

    it("at the moment of a sign-in, which then fails", async () => {
      const w = getWorld();
      const ada = await invited("ada");
      provider.subjects.set("former", {});
      await administrator.graphql(link, { user: ada.id, subject: "former" });
      // As an administrator does it: the user is locked first.
      const outcome = await lockRows(w, "users", { id: ada.id }, async ({ remove, awaited, commit }) => {
        const signingIn = new Visitor(home).signIn("former");
        await awaited();
        await remove("user_links", { user_id: ada.id });
        await commit();
        return { signingIn };
      }).then(({ signingIn }) => signingIn);
      expect(outcome, outcome.text).to.include({ status: 403 });
      expect(await countRows(w, "api_keys", { user_id: ada.id, kind: "session" })).to.equal(1);
    });

    it("but an identity signs in one user, and only users who sign in through a provider have one", async () => {
      const w = getWorld();
      const ada = await invited("ada");
      const bob = await invited("bob");
      const eve = await w.user("eve");
      await administrator.graphql(link, { user: ada.id, subject: "one" });
      const taken = await administrator.failure(link, { user: bob.id, subject: "one" });
      expect(taken.code).to.equal("CONFLICT");
      expect((await administrator.graphql(identities, { user: bob.id })).userIdentities).to.deep.equal([]);
      const rejections: Array<[object, string]> = [
        [{ user: eve.id, subject: "two" }, "input.user"],
        [{ user: bob.id, subject: " " }, "input.subject"],
        [{ user: bob.id, subject: "x".repeat(256) }, "input.subject"],
        [{ user: bob.id, subject: "two", issuer: "not a URL" }, "input.issuer"],
      ];
      for (const [input, field] of rejections) {
        const failure = await administrator.failure(link, input as Record<string, unknown>);
        expect(fields(failure), JSON.stringify(input)).to.deep.equal([field]);
      }
    });

    it("under the rule of dominance, and seen by their own users", async () => {
      const w = getWorld();
      const ada = await invited("ada");
      const bob = await w.user("bob");
      const uma = await w.user("uma");
      await administrator.graphql(link, { user: ada.id, subject: "ada" });
      const as = (person: Person) => new Client(home, person.token);
      await w.as(w.owner).graphql(setUserRoles, { input: { user: uma.id, roles: ["USER_ADMIN"] } });
      await setColumns(w, "users", { id: ada.id }, { site_roles: ["owner"] });
      for (const [document, input] of [
        [unlink, { user: ada.id }],
        [link, { user: ada.id, subject: "uma" }],
      ] as const) {
        expect((await as(uma).failure(document, input)).code).to.equal("FORBIDDEN");
        expect((await as(bob).failure(document, input)).code).to.equal("NOT_FOUND");
      }
      await setColumns(w, "users", { id: ada.id }, { site_roles: [] });
      await as(uma).graphql(link, { user: ada.id, subject: "other" });
      expect((await as(bob).failure(identities, { user: ada.id })).code).to.equal("NOT_FOUND");
      provider.subjects.set("other", {});
      const visitor = new Visitor(home);
      await visitor.signIn("other");
      const { userIdentities } = await visitor.client.graphql(identities, { user: "me" });
      expect(userIdentities).to.have.length(1);
      expect(userIdentities[0]).to.include({ provider: "OIDC", issuer: provider.issuer, subject: "other" });
      const page = await (await visitor.request(new URL("/account/password", home))).text();
      expect(page).to.contain("You sign in through a provider").and.contain("other").and.contain(provider.issuer);
    });
  });
});

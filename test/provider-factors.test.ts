// A provider's own second factor counts where its settings accept the claims that report it; and sessions say how they began.
// Reaches for tables: no test waits ten minutes.
import { expect } from "chai";
import { addAuthenticator, codeOf } from "./support/authenticators.js";
import { ForgingProvider } from "./support/forging-provider.js";
import { makeAccess } from "./support/oauth2.js";
import { client } from "./support/providers.js";
import { Visitor } from "./support/provider-visits.js";
import { letPass } from "./support/tables.js";
import { type Anything, type Person, userPassword, world } from "./support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { factorMethods factorContexts } } }`;
const createKey = (name: string) => `mutation { createApiKey(input: { name: "${name}" }) { token } }`;
const sessions = `{ apiKeys(kind: SESSION) { factor provider isCurrent ip userAgent lastUsedAt } }`;

describe("a second factor of a provider", () => {
  const the = world({
    STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8",
    STEWARD_RATE_LIMIT_CREDENTIAL: "0",
    STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0",
  });
  let provider: ForgingProvider;
  let home = "";
  let ada: Person;
  let made = 0;
  before(async () => {
    const w = the();
    home = w.app.services.config.accessUrl;
    provider = await ForgingProvider.open();
    const { issuer } = provider;
    const registration = { name: "one", kind: "OIDC", issuer, clientId: client.id, clientSecret: client.secret };
    await w.as(w.owner).graphql(create, { input: { ...registration, emailDomains: ["example.com"] } });
    ada = await w.user("ada", undefined, "OIDC");
  });
  after(() => provider.close());

  const accept = (settings: object) =>
    the()
      .as(the().owner)
      .graphql(update, { input: { provider: "one", ...settings } });

  /** Signs Ada in with claims. Returns her token, and the request that the provider got. */
  async function signIn(claims: Record<string, unknown>, by = new Visitor(home)) {
    const begun = await by.request(new URL("/login/one", home));
    const { searchParams: asked } = new URL(begun.headers.get("location")!);
    provider.nonce = asked.get("nonce")!;
    provider.claims = { sub: "ada", email: ada.email, ...claims };
    const query = new URLSearchParams({ code: "a-code", state: asked.get("state")! }).toString();
    const back = await by.request(new URL(`/login/one/callback?${query}`, home));
    return { asked, status: back.status, visitor: by, token: by.cookie("service_session_token") };
  }

  /** How the session of a sign-in began. */
  const originOf = async (token: string) =>
    (await the().as({ token }).graphql(sessions)).apiKeys.find(({ isCurrent }) => isCurrent)!;

  /** The code of the failure of what takes a recent proof, in a session; `done` for none. */
  const outcome = async (token: string) => {
    const { body } = await the()
      .as({ token })
      .post("/graphql", { query: createKey(`made-${++made}`) });
    return body.errors?.[0].extensions.code ?? "done";
  };
  const age = async (time: string) => {
    await letPass(the(), "api_keys", { user_id: ada.id, kind: "session" }, time, ["created_at", "proved_at"]);
    the().app.services.credentials.onChange(`u:${ada.id}`);
  };

  it("counts by an accepted value of amr or acr of the ID token, and in no other case", async () => {
    const cases: Array<[settings: object, claims: Record<string, unknown>, factor: string | null]> = [
      [{ factorMethods: [], factorContexts: [] }, { amr: ["mfa"], acr: "2" }, null],
      [{ factorMethods: ["mfa", "hwk"], factorContexts: ["urn:two"] }, { amr: ["pwd", "mfa"] }, "PROVIDER"],
      [{}, { acr: "urn:two" }, "PROVIDER"],
      [{}, { amr: ["pwd"] }, null],
      [{}, {}, null],
      [{}, { amr: "mfa" }, null],
      [{}, { amr: ["mfa", 1] }, null],
      [{}, { amr: { mfa: true } }, null],
      [{}, { amr: [["mfa"]] }, null],
      [{}, { amr: ["MFA"] }, null],
      [{}, { amr: null, acr: null }, null],
      [{}, { acr: ["urn:two"] }, null],
      [{}, { acr: "mfa" }, null],
    ];
    for (const [settings, claims, factor] of cases) {
      await accept(settings);
      const { token } = await signIn(claims);
      expect(await originOf(token!), JSON.stringify(claims)).to.deep.include({ factor, provider: "one" });
    }
    provider.told = { sub: "ada", amr: ["mfa"], acr: "urn:two", email: ada.email, email_verified: true };
    const { token } = await signIn({ email: undefined });
    expect((await originOf(token!)).factor, "UserInfo is no ID token").to.equal(null);
  });

  it("makes a session prove it again, by a sign-in for which the provider asks its user again", async () => {
    await accept({ factorMethods: ["mfa"] });
    const { token, visitor } = await signIn({ amr: ["mfa"] });
    expect(await outcome(token!)).to.equal("done");
    const without = await signIn({ amr: ["pwd"] });
    await age("11 min");
    expect(await outcome(token!)).to.equal("STEP_UP_REQUIRED");
    expect(await outcome(without.token!), "others are not asked").to.equal("done");
    const failure = await the().as({ token: token! }).failure(createKey("more"));
    expect(failure.errors[0]!.extensions.satisfiedBy).to.deep.equal(["SIGN_IN"]);
    const application = the().as({ token: await makeAccess(the(), ada) });
    const keyOfDaemons = `mutation { createProvisionerKey(input: { organization: "default", name: "theirs" }) { __typename } }`;
    await the().grant(ada, "organization-admin");
    expect((await application.failure(keyOfDaemons)).errors[0]!.extensions.reason).to.equal(
      "insufficient_user_authentication",
    );
    const again = await signIn({ amr: ["mfa"] }, visitor);
    expect(again.asked.get("max_age")).to.equal("600");
    expect(await outcome(again.token!)).to.equal("done");
    expect((await signIn({ amr: ["mfa"] })).asked.get("max_age"), "of no session").to.equal(null);
  });

  it("is as recent as the provider says: an older one does not count, one of the future is of now", async () => {
    const now = () => Math.floor(Date.now() / 1000);
    const old = await signIn({ amr: ["mfa"], auth_time: now() - 3600 });
    expect(await outcome(old.token!)).to.equal("STEP_UP_REQUIRED");
    const recent = await signIn({ amr: ["mfa"], auth_time: now() - 60 });
    expect(await outcome(recent.token!)).to.equal("done");
    const future = await signIn({ amr: ["mfa"], auth_time: now() + 7200 });
    expect(await outcome(future.token!)).to.equal("done");
    await age("11 min");
    expect(await outcome(future.token!)).to.equal("STEP_UP_REQUIRED");
  });

  it("has values of a form, and none at GitHub", async () => {
    const w = the();
    const wrong = { provider: "one", factorMethods: ["a b"], factorContexts: Array.from({ length: 21 }, () => "x") };
    const { errors } = await w.as(w.owner).failure(update, { input: wrong });
    expect(errors[0]!.extensions.validations.map(({ field }: Anything) => field)).to.deep.equal([
      "input.factorMethods[0]",
      "input.factorContexts",
    ]);
    const github = { name: "hub", kind: "GITHUB", clientId: "x", clientSecret: "y", factorMethods: ["mfa"] };
    const failure = await w.as(w.owner).failure(create, { input: github });
    expect(failure.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.factorMethods", detail: "GitHub reports no second factors." },
    ]);
    const { body } = await w.nobody.get("/schemas/steward.providers-1.json");
    expect(JSON.stringify(body)).to.contain('"factorContexts"');
  });

  it("is told of sessions, as the password, the authenticator, and recovery codes are, in GraphQL and on the page", async () => {
    const w = the();
    const bob = await w.user("bob");
    const signedIn = async (one_time_code?: string) => {
      const { body } = await w.nobody.post("/api/v2/users/login", {
        email: bob.email,
        password: userPassword,
        one_time_code,
      });
      return body.session_token as string;
    };
    const first = await signedIn();
    expect(await originOf(first)).to.deep.include({ factor: "PASSWORD", provider: null });
    const { secret, recoveryCodes } = await addAuthenticator(w.as({ token: first }));
    expect((await originOf(first)).factor).to.equal("AUTHENTICATOR");
    expect((await originOf(await signedIn(codeOf(secret, 1)))).factor).to.equal("AUTHENTICATOR");
    const last = await signedIn(recoveryCodes[0]);
    const { lastUsedAt, ip, userAgent, ...origin } = await originOf(last);
    expect(origin).to.deep.equal({ factor: "RECOVERY_CODE", provider: null, isCurrent: true });
    expect([typeof lastUsedAt, ip, userAgent]).to.deep.equal(["string", "127.0.0.1", "node"]);
    const page = async (token: string) =>
      (await w.nobody.get("/account/keys", { cookie: `service_session_token=${token}`, Accept: "text/html" })).body;
    expect(await page(last)).to.contain("Signed in with the password and a recovery code");
    const { token } = await signIn({ amr: ["mfa"] });
    expect(await page(token!)).to.contain("Signed in through one, with a second factor there");
  });

  it("by a recovery code is told to the user, also where it proves who the user is, or changes the factor", async () => {
    const w = the();
    const bob = await w.user("bob");
    const { recoveryCodes } = await addAuthenticator(w.as(bob));
    const used = async () => {
      const { body } = await w.as(bob).get("/api/v2/notifications/inbox");
      const titles = body.notifications.map(({ title }: Anything) => title);
      return titles.filter((title: string) => title === "A recovery code of your account was used").length;
    };
    const prove = `mutation($input: ProveIdentityInput!) { proveIdentity(input: $input) { proven } }`;
    await w.as(bob).graphql(prove, { input: { oneTimeCode: recoveryCodes[0] } });
    expect(await used()).to.equal(1);
    expect((await w.as(bob).failure(prove, { input: { oneTimeCode: recoveryCodes[0] } })).code).to.equal(
      "BAD_USER_INPUT",
    );
    expect(await used(), "a used one is none").to.equal(1);
    const regenerate = `mutation($input: RegenerateRecoveryCodesInput!) { regenerateRecoveryCodes(input: $input) { recoveryCodes } }`;
    await w.as(bob).graphql(regenerate, { input: { oneTimeCode: recoveryCodes[1] } });
    expect(await used()).to.equal(2);
  });
});

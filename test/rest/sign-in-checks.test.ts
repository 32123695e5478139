// Between sign-ins, providers are asked again about people who are signed in.
// Reaches for tables: the server asks minutes apart, which no test waits for, and refresh tokens are in no response.
import { expect } from "chai";
import { logged } from "../support/app.js";
import { audited } from "../support/audit.js";
import { runJob } from "../support/background.js";
import { ForgingProvider } from "../support/forging-provider.js";
import { client } from "../support/providers.js";
import { signInWith, Visitor } from "../support/provider-visits.js";
import { setTimes, storedText } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Anything, type Person, world } from "../support/world.js";

const create = `mutation($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { id } } }`;
const update = `mutation($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { checkInterval } } }`;
const remove = `mutation($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id } } }`;

describe("checks of people between sign-ins", () => {
  const getWorld = world({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" });
  let provider: ForgingProvider;
  let home = "";
  let ada: Person;
  let team: { id: string; name: string };
  let made = 0;
  const owner = () => getWorld().as(getWorld().owner);
  const change = (input: Anything) => owner().graphql(update, { input: { provider: "one", ...input } });

  beforeEach(async () => {
    logged.length = 0;
    const w = getWorld();
    home = w.app.services.config.accessUrl;
    provider = await ForgingProvider.open();
    provider.metadata = { userinfo_endpoint: `${provider.issuer}/userinfo` };
    provider.refreshToken = "first-refresh-token";
    ada = await w.user("ada", undefined, "OIDC");
    made += 1;
    team = await w.group(`team-${made}`);
    await owner().graphql(create, {
      input: {
        name: "one",
        displayName: "Example",
        kind: "OIDC",
        issuer: provider.issuer,
        clientId: client.id,
        clientSecret: client.secret,
        emailDomains: ["example.com"],
        appliesClaims: true,
        checkInterval: 300,
        claimMappings: [{ claim: "groups", grants: [{ values: ["engineers"], groups: [team.id] }] }],
      },
    });
  });
  afterEach(async () => {
    await owner().graphql(remove, { input: { provider: "one", strandedUserCount: 99 } });
    await provider.close();
  });

  /** Signs Ada in with groups. Returns her browser. */
  async function signIn(...groups: string[]): Promise<Visitor> {
    const visitor = new Visitor(home);
    provider.told = { sub: "ada", groups };
    const { status } = await signInWith(visitor, "one", provider, { sub: "ada", email: ada.email, groups });
    expect(status).to.equal(303);
    return visitor;
  }

  const isSignedIn = async ({ token }: Visitor): Promise<boolean> => {
    const response = await fetch(new URL("/graphql", home), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ query: "{ me { id } }" }),
    });
    return response.status === 200;
  };

  const groups = async (): Promise<string[]> => {
    const { user } = await owner().graphql(
      `query($user: String!) { user(user: $user) { groups(first: 9) { nodes { name } } } }`,
      {
        user: ada.id,
      },
    );
    return user.groups.nodes.map((each) => each.name).filter((name: string) => name !== "Everyone");
  };

  /** The server makes checks as well, every few seconds: it may be at work on those that a test has made due. */
  const become = async (...names: string[]) => {
    await eventually(async () => (await groups()).join() === names.join(), `the groups are ${names.join()}`);
    expect(await groups()).to.deep.equal(names);
  };
  const isRefreshed = (count: number) =>
    eventually(() => provider.refreshed.length >= count, `the provider is asked ${count} times`);

  /** Lets the checks of all sessions be due, and makes them, or leaves them to the server. */
  async function check(): Promise<void> {
    await setTimes(getWorld(), "provider_sessions", { provider: "one" }, { check_at: "-1 s" });
    await runJob(getWorld().app, "providerChecks");
  }

  it("apply the claims again, and record what changes", async () => {
    const visitor = await signIn("engineers");
    expect(await groups()).to.deep.equal([team.name]);
    provider.claims = { sub: "ada", email: ada.email, groups: [] };
    await runJob(getWorld().app, "providerChecks");
    expect(provider.refreshed, "before it is due").to.deep.equal([]);
    await check();
    await become();
    expect(await isSignedIn(visitor)).to.equal(true);
    const events = await audited(getWorld(), { resourceId: team.id, action: "UPDATE" });
    expect(events.at(-1)).to.deep.include({
      actorId: ada.id,
      diff: {
        members: { old: [ada.id], new: [] },
        provider: { new: "one" },
        claim: { new: "groups: no longer" },
      },
    });
    provider.claims = { sub: "ada", email: ada.email, groups: ["engineers"] };
    await check();
    await become(team.name);
    expect(provider.refreshed).to.deep.equal(["first-refresh-token", "first-refresh-token"]);
  });

  it("ask UserInfo where there is no ID token, and miss no claim that only ID tokens have", async () => {
    await change({
      claimMappings: [{ claim: "groups", grants: [{ values: ["engineers"], groups: [team.id] }], absent: "REMOVE" }],
    });
    await signIn("engineers");
    provider.sendsIdTokens = false;
    provider.told = { sub: "ada" };
    await check();
    await become(team.name);
    provider.told = { sub: "ada", groups: ["others"] };
    await check();
    await become();
    provider.told = { sub: "ada", groups: ["engineers"] };
    await check();
    await become(team.name);
    provider.told = { sub: "another", groups: ["others"] };
    await check();
    expect(await groups(), "claims of another person").to.deep.equal([team.name]);
  });

  it("end the sessions of a person whom the provider no longer knows, on the audit log", async () => {
    const desk = await signIn("engineers");
    const phone = await signIn("engineers");
    provider.refusal = { status: 400, body: { error: "invalid_grant" } };
    await check();
    const signedIn = () => Promise.all([desk, phone].map(isSignedIn));
    await eventually(async () => !(await signedIn()).includes(true), "the sessions end");
    expect(await signedIn()).to.deep.equal([false, false]);
    const events = await audited(getWorld(), { resourceId: ada.id, action: "REVOKE" });
    expect(events.at(-1)).to.deep.include({
      diff: {
        sessions: { old: 1, new: 0 },
        provider: { new: "one" },
        reason: { new: "The provider rejects its refresh token." },
      },
    });
  });

  it("change nothing while the provider is away, is wrong, or fails in another way", async () => {
    const visitor = await signIn("engineers");
    provider.claims = { sub: "ada", email: ada.email, groups: [] };
    for (const refusal of [
      { status: 503, body: {} },
      { status: 400, body: { error: "temporarily_unavailable" } },
      { status: 401, body: { error: "invalid_client" } },
      { status: 500, body: { error: "invalid_grant " } },
      { status: 200, body: { access_token: "access" } },
    ]) {
      provider.refusal = refusal;
      await check();
      expect(await groups(), JSON.stringify(refusal)).to.deep.equal([team.name]);
      expect(await isSignedIn(visitor), JSON.stringify(refusal)).to.equal(true);
    }
    provider.refusal = undefined;
    provider.claims = { sub: "eve", email: ada.email, groups: [] };
    await check();
    expect(await groups(), "of another person").to.deep.equal([team.name]);
    await eventually(async () => {
      const { identityProvider } = await owner().graphql(
        `{ identityProvider(provider: "one") { report { failure } } }`,
      );
      return identityProvider.report.failure.includes("failed");
    }, "the report");
    // The next attempt is not made before it is due again.
    const before = provider.refreshed.length;
    await runJob(getWorld().app, "providerChecks");
    expect(provider.refreshed.length).to.equal(before);
    await provider.close();
    await check();
    expect(await isSignedIn(visitor)).to.equal(true);
  });

  it("go on with the next refresh token, also where UserInfo fails after it", async () => {
    await signIn("engineers");
    provider.refreshToken = "second-refresh-token";
    provider.told = undefined;
    await check();
    await isRefreshed(1);
    provider.refreshToken = "third-refresh-token";
    provider.told = { sub: "ada" };
    await check();
    await isRefreshed(2);
    await check();
    await isRefreshed(3);
    expect(provider.refreshed).to.deep.equal(["first-refresh-token", "second-refresh-token", "third-refresh-token"]);
  });

  it("ask once for each session, whichever server asks", async () => {
    for (let count = 0; count < 25; count++) await signIn("engineers");
    await setTimes(getWorld(), "provider_sessions", { provider: "one" }, { check_at: "-1 s" });
    await Promise.all([1, 2, 3].map(() => runJob(getWorld().app, "providerChecks")));
    await isRefreshed(25);
    expect(provider.refreshed).to.have.length(25);
  });

  it("ask about no session without a refresh token, that has ended, or whose provider no longer wants it", async () => {
    provider.refreshToken = "";
    await signIn("engineers");
    await check();
    provider.refreshToken = "a-refresh-token";
    const ended = await signIn("engineers");
    await ended.client.graphql("mutation { logout { apiKeyId } }");
    await signIn("engineers");
    expect((await change({ checkInterval: 0 })).updateIdentityProvider.identityProvider.checkInterval).to.equal(0);
    await check();
    await change({ checkInterval: 300 });
    await check();
    expect(provider.refreshed).to.deep.equal([]);
  });

  it("keep tokens sealed, and out of logs", async () => {
    await signIn("engineers");
    provider.refusal = { status: 500, body: { error: "server_error", refresh_token: "first-refresh-token" } };
    await check();
    expect(await storedText(getWorld(), "provider_sessions")).to.not.contain("refresh-token");
    expect(JSON.stringify(logged)).to.not.contain("refresh-token");
  });

  it("tell owners of a malformed claim once a day, and keep what it gave", async () => {
    const name = "Claim of a Provider Is Malformed";
    const { body } = await owner().get("/api/v2/notifications/templates/system");
    const { id } = body.find((each: Anything) => each.name === name);
    const told = async () => {
      await runJob(getWorld().app, "noticeJob");
      const inbox = await owner().get(`/api/v2/notifications/inbox?templates=${id}`);
      return inbox.body.notifications.map(({ title }: Anything) => title);
    };
    await signIn("engineers");
    expect(await told()).to.deep.equal([]);
    const claims = { sub: "ada", email: ada.email, groups: 7 };
    for (let count = 0; count < 2; count++) await signInWith(new Visitor(home), "one", provider, claims);
    await check();
    const title = "The claim groups of Example is malformed";
    expect(await told()).to.deep.equal([title]);
    expect(await groups()).to.deep.equal([team.name]);
    await setTimes(getWorld(), "sign_in_faults", { provider: "one" }, { told_at: "-25 hours" });
    await Promise.all([1, 2, 3].map(() => signInWith(new Visitor(home), "one", provider, claims)));
    expect(await told()).to.deep.equal([title, title]);
  });

  it("take intervals from a minute to a week", async () => {
    for (const [checkInterval, detail] of [
      [59, "Must be 0, or at least 60."],
      [604_801, "Must be a whole number from 0 to 604800."],
    ] as const) {
      const failure = await owner().failure(update, { input: { provider: "one", checkInterval } });
      expect(failure.errors[0]!.extensions.validations).to.deep.equal([{ field: "input.checkInterval", detail }]);
    }
  });
});

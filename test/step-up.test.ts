// What gives lasting or wider access takes a recent proof of who the user is, from those whom the deployment asks for one.
// Reaches for tables: no test waits ten minutes, or half a minute for another code.
import { expect } from "chai";
import { type App, startServer } from "./support/app.js";
import { audited } from "./support/audit.js";
import { addAuthenticator, codeOf, type Enrolled } from "./support/authenticators.js";
import { makeEndpoint } from "./support/event-receiver.js";
import { insertKey } from "./support/keys.js";
import { makeAccess, makeClient } from "./support/oauth2.js";
import { letPass, lockRows } from "./support/tables.js";
import { Client, type Person, userPassword, type World, world } from "./support/world.js";

const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };
const prove = `mutation($input: ProveIdentityInput!) { proveIdentity(input: $input) { proven } }`;

type Holder = Person & Enrolled;

describe("step-up", () => {
  // A test holds a lock, for which a request waits for a sixth of its time at most.
  const the = world({ ...noLimits, STEWARD_REQUEST_TIMEOUT: "5m" });
  let victim: Person;
  let app: string;
  let endpoint: string;
  before(async () => {
    victim = await the().user("victim");
    endpoint = (await makeEndpoint(the(), "https://example.com/", { name: "elsewhere" })).id;
    app = (await makeClient(the())).id;
  });

  let made = 0;
  const name = () => `made-${++made}`;

  /** All that takes a recent proof, with what it fails with otherwise, if it does. */
  const actions: Record<string, () => string> = {
    "creating an API token": () => `mutation { createApiKey(input: { name: "${name()}" }) { token } }`,
    "setting roles": () =>
      `mutation { setUserRoles(input: { user: "${victim.id}", roles: [AUDITOR] }) { user { id } } }`,
    "setting roles in an organization": () =>
      `mutation { setOrganizationMemberRoles(input: { organization: "default", user: "${victim.id}",
         roles: [${made++ % 2 === 0 ? "ORGANIZATION_AUDITOR" : ""}] }) { __typename } }`,
    "inviting with a role": () =>
      `mutation { inviteUser(input: { email: "${name()}@example.com", delivery: LINK, roles: [OWNER] }) { __typename } }`,
    "making a provider of sign-in": () =>
      `mutation { createIdentityProvider(input: { name: "${name()}", kind: GITHUB, clientId: "x", clientSecret: "y" }) { __typename } }`,
    "adding a license": () => `mutation { addLicense(input: { license: "x" }) { __typename } }`,
    "creating a secret of an application": () =>
      `mutation { createOAuth2AppSecret(input: { app: "${app}" }) { __typename } }`,
    "creating a SCIM key": () =>
      `mutation { createScimKey(input: { name: "${name()}", source: "${name()}" }) { __typename } }`,
    "creating a key of provisioners": () =>
      `mutation { createProvisionerKey(input: { organization: "default", name: "${name()}" }) { __typename } }`,
    "creating a workspace proxy": () =>
      `mutation { createWorkspaceProxy(input: { name: "${name()}" }) { __typename } }`,
    "replacing the token of a workspace proxy": () =>
      `mutation { updateWorkspaceProxy(input: { workspaceProxy: "primary", regenerateToken: true }) { __typename } }`,
    "creating an event endpoint": () =>
      `mutation { createEventEndpoint(input: { organization: "default", name: "${name()}", url: "https://example.com/" }) { __typename } }`,
    "sending events elsewhere": () =>
      `mutation { updateEventEndpoint(input: { id: "${endpoint}", url: "https://example.com/${name()}" }) { __typename } }`,
    "changing the delivery of mail": () =>
      `mutation { updateNotificationTransports(input: { smtp: { hello: "${name()}.example.com" } }) { __typename } }`,
    "changing the email of another user": () =>
      `mutation { updateUser(input: { user: "${victim.id}", email: "${name()}@example.com" }) { __typename } }`,
    "resetting the password of another user": () =>
      `mutation { resetUserPassword(input: { user: "${victim.id}", password: "${name()}-birch-Lantern" }) { __typename } }`,
    "linking another user to an identity": () =>
      `mutation { linkUserIdentity(input: { user: "${victim.id}", subject: "x" }) { __typename } }`,
    "removing the second factors of another user": () =>
      `mutation { resetSecondFactors(input: { user: "${victim.id}" }) { __typename } }`,
    "converting the own login": () =>
      `mutation { convertLogin(input: { user: "me", toType: GITHUB, password: "${userPassword}" }) { __typename } }`,
  };

  /** The code of the failure; `done` for none. */
  const outcome = async (client: Client, document: string): Promise<string> => {
    const { body } = await client.post("/graphql", { query: document });
    return body.errors?.[0].extensions.code ?? "done";
  };

  async function holder(w: World = the()): Promise<Holder> {
    const person = await w.user("ada");
    const factor = await addAuthenticator(w.as(person));
    await w.grant(person, "owner");
    return { ...person, ...factor };
  }

  /** Lets the proofs of a user grow older. */
  const age = async ({ id }: Person, time = "11 min") => {
    await letPass(the(), "api_keys", { user_id: id }, time, ["created_at", "proved_at"]);
    the().app.services.credentials.onChange(`u:${id}`);
  };

  for (const [what, document] of Object.entries(actions))
    it(`is needed for ${what}, by accounts with a factor whose proof is old`, async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      const before = await outcome(me, document());
      expect(before, "just proven").to.be.oneOf(["done", "BAD_USER_INPUT"]);
      await age(ada);
      expect(await outcome(me, document())).to.equal("STEP_UP_REQUIRED");
      await me.graphql(prove, { input: { oneTimeCode: ada.recoveryCodes[0] } });
      expect(await outcome(me, document())).to.equal(before);
    });

  it("says in GraphQL what satisfies it, and in REST the same in the detail of a 403", async () => {
    const w = the();
    const ada = await holder();
    await age(ada);
    const failure = await w.as(ada).failure(actions["creating an API token"]!());
    expect(failure.message).to.equal("Prove again who you are.");
    const detail = "This takes a proof of the last 10 minutes. Give it with `proveIdentity`, or sign in again.";
    expect(failure.errors[0]!.extensions).to.deep.include({
      code: "STEP_UP_REQUIRED",
      satisfiedBy: ["ONE_TIME_CODE"],
      maxAge: 600,
      detail,
    });
    const rest = await w.as(ada).post("/api/v2/licenses", { license: "x" });
    expect({ status: rest.status, body: rest.body }).to.deep.equal({
      status: 403,
      body: { message: "Prove again who you are.", detail },
    });
  });

  it("stores nothing of a request that fails for it, and lets other requests of the same session pass", async () => {
    const w = the();
    const ada = await holder();
    await age(ada);
    const events = (await audited(w, { actor: ada.id })).length;
    for (const document of Object.values(actions)) await outcome(w.as(ada), document());
    expect((await audited(w, { actor: ada.id })).length).to.equal(events);
    expect(await outcome(w.as(ada), "{ me { id } users { nodes { id } } }")).to.equal("done");
    expect(
      await outcome(
        w.as(ada),
        `mutation { inviteUser(input: { email: "${name()}@example.com", delivery: LINK }) { __typename } }`,
      ),
    ).to.equal("done");
    const may = `{ authCheck(checks: [{ key: "a", action: "create", object: { resourceType: "license" } }]) { allowed } }`;
    expect((await w.as(ada).graphql(may)).authCheck[0]!.allowed, "what one may do is no other").to.equal(true);
  });

  it("is not needed by accounts without a factor, API tokens, service accounts, and new sessions", async () => {
    const w = the();
    const ada = await holder();
    const bob = await w.user("bob");
    const login = { email: ada.email, password: userPassword, one_time_code: ada.recoveryCodes[0] };
    const token = await w.scoped(ada, "all");
    await w.grant(bob, "owner");
    for (const person of [ada, bob]) await age(person, "2 h");
    const document = actions["creating an API token"]!;
    expect(await outcome(w.as(bob), document())).to.equal("done");
    expect(await outcome(w.as(token), document())).to.equal("done");
    expect(await outcome(w.as(ada), document())).to.equal("STEP_UP_REQUIRED");
    const { body } = await w.nobody.post("/api/v2/users/login", login);
    expect(await outcome(w.as({ token: body.session_token }), document())).to.equal("done");
    expect(await outcome(w.as(ada), document()), "the other session stays old").to.equal("STEP_UP_REQUIRED");
  });

  it("cannot be given by the access token of an application, which is told so as RFC 9470 has it", async () => {
    const w = the();
    const ada = await holder();
    const application = w.as({ token: await makeAccess(w, ada) });
    const failure = await application.failure(actions["creating a key of provisioners"]!());
    expect(failure.errors[0]!.extensions).to.deep.include({
      code: "FORBIDDEN",
      reason: "insufficient_user_authentication",
      maxAge: 600,
    });
    const rest = await application.post("/api/v2/licenses", { license: "x" });
    expect(rest.status).to.equal(403);
    const challenge = rest.headers.get("www-authenticate");
    expect(challenge).to.match(/^Bearer .*error="insufficient_user_authentication", .*max_age="600"$/);
    expect((await application.failure(prove, { input: { password: userPassword } })).code).to.equal("FORBIDDEN");
    const bob = await w.user("bob");
    await w.grant(bob, "owner");
    const ofBob = w.as({ token: await makeAccess(w, bob) });
    expect(await outcome(ofBob, actions["creating a key of provisioners"]!())).to.equal("done");
  });

  describe("is given", () => {
    it("by a code that counts once, and not by the password of an account with a factor", async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      await age(ada);
      const attempts: Array<[input: object, fault: string]> = [
        [{}, "oneTimeCode"],
        [{ password: userPassword }, "oneTimeCode"],
        [{ oneTimeCode: "000000" }, "oneTimeCode"],
        [{ oneTimeCode: ada.spentCode, password: userPassword }, "oneTimeCode"],
      ];
      for (const [input, fault] of attempts) {
        const { errors } = await me.failure(prove, { input });
        const { code, validations } = errors[0]!.extensions;
        expect([code, validations.map(({ field }) => field)]).to.deep.equal(["BAD_USER_INPUT", [`input.${fault}`]]);
      }
      const document = actions["creating an API token"]!;
      expect(await outcome(me, document())).to.equal("STEP_UP_REQUIRED");
      const code = codeOf(ada.secret, 1);
      await me.graphql(prove, { input: { oneTimeCode: code } });
      expect(await outcome(me, document())).to.equal("done");
      expect((await me.failure(prove, { input: { oneTimeCode: code } })).code).to.equal("BAD_USER_INPUT");
      const spent = { email: ada.email, password: userPassword, one_time_code: code };
      expect((await w.nobody.post("/api/v2/users/login", spent)).status, "nor does it sign in").to.equal(401);
    });

    it("for its session alone, for ten minutes", async () => {
      const w = the();
      const ada = await holder();
      const other: Person = { ...ada, token: await w.session(ada.id) };
      await age(ada);
      await w.as(ada).graphql(prove, { input: { oneTimeCode: ada.recoveryCodes[0] } });
      const document = actions["creating an API token"]!;
      expect(await outcome(w.as(other), document())).to.equal("STEP_UP_REQUIRED");
      await age(ada, "9 min");
      expect(await outcome(w.as(ada), document())).to.equal("done");
      await age(ada, "2 min");
      expect(await outcome(w.as(ada), document())).to.equal("STEP_UP_REQUIRED");
    });

    it("not if the password changes while it is checked", async () => {
      const w = the();
      const ada = await w.user("ada");
      const me = w.as(ada);
      await lockRows(w, "users", { id: ada.id }, async ({ awaited, set, commit }) => {
        const proof = me.failure(prove, { input: { password: userPassword } });
        await awaited();
        await set({ password_hash: "another" });
        await commit();
        expect((await proof).code).to.equal("CONFLICT");
      });
    });

    it("within the limits of guessing that sign-in has, together with it", async () => {
      const w = the();
      const ada = await holder();
      for (let nr = 0; nr < 10; nr++)
        expect((await w.as(ada).failure(prove, { input: { oneTimeCode: `00000${nr}` } })).code).to.equal(
          "BAD_USER_INPUT",
        );
      expect((await w.as(ada).failure(prove, { input: { oneTimeCode: codeOf(ada.secret, 1) } })).code).to.equal(
        "RATE_LIMITED",
      );
      const login = { email: ada.email, password: userPassword, one_time_code: codeOf(ada.secret, 1) };
      expect((await w.nobody.post("/api/v2/users/login", login)).status).to.equal(429);
    });
  });

  describe("of all sessions, or of none, where the deployment says so", () => {
    const servers: App[] = [];
    const serverWith = async (settings: Record<string, string>) => {
      const server = await startServer(the().database.url, { ...noLimits, ...settings });
      servers.push(server);
      return server;
    };
    after(() => Promise.all(servers.map((server) => server.close())));

    it("asks for the password of accounts without a factor, and for another sign-in of those without a password", async () => {
      const w = the();
      const ada = await w.user("ada");
      const bob = await w.user("bob", undefined, "OIDC");
      const key = (await insertKey(w, ada, "token")).text;
      for (const person of [ada, bob]) await age(person);
      const server = await serverWith({ STEWARD_STEP_UP: "always", STEWARD_STEP_UP_AFTER: "5m" });
      const document = actions["creating an API token"]!;
      const [me, ofBob] = [ada, bob].map(({ token }) => new Client(server.url, token)) as [Client, Client];
      const asked = async (client: Client) => (await client.failure(document())).errors[0]!.extensions.satisfiedBy;
      expect([await asked(me), await asked(ofBob)]).to.deep.equal([["PASSWORD"], ["SIGN_IN"]]);
      const link = `mutation { beginIdentityLink(input: { provider: "x" }) { url } }`;
      expect(await outcome(ofBob, link), "another way to sign in").to.equal("STEP_UP_REQUIRED");
      expect((await me.failure(prove, { input: { password: "wrong" } })).code).to.equal("BAD_USER_INPUT");
      await me.graphql(prove, { input: { password: userPassword } });
      expect(await outcome(me, document())).to.equal("done");
      expect((await ofBob.failure(prove, { input: { password: userPassword } })).code).to.equal("CONFLICT");
      expect(await outcome(new Client(server.url, key), document())).to.equal("done");
    });

    it("asks for nothing", async () => {
      const ada = await holder();
      await age(ada);
      const server = await serverWith({ STEWARD_STEP_UP: "off" });
      const me = new Client(server.url, ada.token);
      expect(await outcome(me, actions["creating an API token"]!())).to.equal("done");
      const without = await serverWith({ STEWARD_SECOND_FACTORS: "off" });
      expect(await outcome(new Client(without.url, ada.token), actions["creating an API token"]!())).to.equal("done");
    });
  });
});

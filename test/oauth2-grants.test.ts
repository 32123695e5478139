// Reaches for tables: a deletion waits for a redemption that has not committed, and leaves no rows behind.
import { expect } from "chai";
import { changesOf } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { type App, startServer } from "./support/app.js";
import { basic, grantWithTokens, insertApp, makeApp, sendForm } from "./support/oauth2.js";
import { countRows, lockRows } from "./support/tables.js";
import { eventually, transports } from "./support/watchers.js";
import { Client, type Person, type World, world } from "./support/world.js";

const grantsQuery = `query($user: String, $app: UUID, $ended: Boolean) {
  oauth2Grants(user: $user, app: $app, includeEnded: $ended) { totalCount nodes { id revokeReason } } }`;
const revoke = `mutation($id: UUID!) { revokeOAuth2Grant(input: { id: $id }) { oauth2Grant { id revokeReason revokedAt } } }`;
const revokeAll = `mutation($clientId: String!) { revokeOAuth2AppGrants(input: { clientId: $clientId }) { revokedCount } }`;
const disable = `mutation($id: UUID!, $disabled: Boolean!) {
  updateOAuth2App(input: { id: $id, disabled: $disabled }) { oauth2App { disabled } } }`;

const ids = (nodes: Array<{ id: string }>) => nodes.map(({ id }) => id);

describe("OAuth2 grants", () => {
  // Requests of a test wait for one row together, or until the test has done something else.
  const the = world({ STEWARD_REQUEST_TIMEOUT: "3m" });
  const owner = () => the().as(the().owner);
  const grantsOf = async (client: Client, variables: object = {}) =>
    (await client.graphql(grantsQuery, { ...variables })).oauth2Grants as {
      totalCount: number;
      nodes: Array<{ id: string; revokeReason: string | null }>;
    };
  const bearer = async (token: string) => (await the().as({ token }).get("/api/v2/groups")).status;

  it("are listed newest first to their user, owners, and user admins", async () => {
    const w = the();
    const [ada, bob, admin] = (await w.users("ada", "bob", "admin")) as [Person, Person, Person];
    await w.grant(admin, "user-admin");
    const app = await makeApp(w);
    const other = await insertApp(w, "dynamic");
    const first = await grantWithTokens(w, app, ada);
    const expired = await grantWithTokens(w, app, ada, { expires: "yesterday" });
    const second = await grantWithTokens(w, other, ada);
    const his = await grantWithTokens(w, app, bob);

    const hers = { totalCount: 2, nodes: [second, first].map(({ id }) => ({ id, revokeReason: null })) };
    expect(await grantsOf(w.as(ada))).to.deep.equal(hers);
    for (const client of [w.as(ada), w.as(admin), owner()])
      expect(await grantsOf(client, { user: ada.username })).to.deep.equal(hers);
    expect(ids((await grantsOf(w.as(ada), { ended: true })).nodes)).to.deep.equal(ids([second, expired, first]));
    expect(ids((await grantsOf(owner(), { app: app.id })).nodes)).to.deep.equal(ids([his, first]));
    expect(ids((await grantsOf(w.as(ada), { app: app.id })).nodes)).to.deep.equal(ids([first]));
    expect((await grantsOf(w.as(ada), { app: newId() })).totalCount).to.equal(0);
    const missing = await w.as(bob).failure(grantsQuery, { user: "nobody" });
    expect(missing.code).to.equal("NOT_FOUND");
    expect((await w.as(bob).failure(grantsQuery, { user: ada.id })).code).to.equal("NOT_FOUND");

    const page = `query($after: String) { oauth2Grants(user: "me", first: 1, after: $after) {
      nodes { id scopes permissions audiences ip expiresAt user { username } app { id name kind } } pageInfo { hasNextPage endCursor } } }`;
    const start = (await w.as(ada).graphql(page)).oauth2Grants;
    expect(start.nodes[0]).to.deep.include({
      id: second.id,
      scopes: ["all"],
      permissions: ["Do everything that you can do: full access to your account."],
      audiences: [],
      ip: null,
      user: { username: ada.username },
      app: { id: other.id, name: other.name, kind: "DYNAMIC" },
    });
    const rest = (await w.as(ada).graphql(page, { after: start.pageInfo.endCursor })).oauth2Grants;
    expect([ids(rest.nodes), rest.pageInfo.hasNextPage]).to.deep.equal([[first.id], false]);
  });

  it("are revoked by their user, owners, and user admins, once and for all", async () => {
    const w = the();
    const [ada, bob, admin] = (await w.users("ada", "bob", "admin")) as [Person, Person, Person];
    await w.grant(admin, "user-admin");
    const app = await makeApp(w);
    for (const client of [w.as(ada), w.as(admin), owner()]) {
      const grant = await grantWithTokens(w, app, ada);
      expect(await bearer(grant.token)).to.equal(200);
      expect((await w.as(bob).failure(revoke, { id: grant.id })).code).to.equal("NOT_FOUND");
      const { revokeOAuth2Grant } = await client.graphql(revoke, { id: grant.id });
      expect(revokeOAuth2Grant.oauth2Grant).to.include({ id: grant.id, revokeReason: "REVOKED" });
      expect(await bearer(grant.token)).to.equal(401);
      const again = await client.graphql(revoke, { id: grant.id });
      expect(again).to.deep.equal({ revokeOAuth2Grant });
      expect(await changesOf(w, grant.id)).to.deep.equal([
        { action: "REVOKE", diff: { app: { old: app.id }, reason: { new: "revoked" } } },
      ]);
    }
    const mine = await grantWithTokens(w, app, ada);
    const { token } = await grantWithTokens(w, app, ada);
    expect((await w.as({ token }).failure(revoke, { id: mine.id })).code).to.equal("FORBIDDEN");
    expect((await owner().failure(revoke, { id: newId() })).code).to.equal("NOT_FOUND");
  });

  it("of one application are revoked by their user over REST and GraphQL", async () => {
    const w = the();
    const [ada, bob] = (await w.users("ada", "bob")) as [Person, Person];
    const app = await makeApp(w);
    const other = await insertApp(w, "document");
    const path = (clientId: string) => `/oauth2/tokens?client_id=${encodeURIComponent(clientId)}`;
    const grants = [
      await grantWithTokens(w, app, ada),
      await grantWithTokens(w, app, ada),
      await grantWithTokens(w, other, ada),
    ];
    const his = await grantWithTokens(w, app, bob);
    expect(await w.as(ada).delete(path(app.id.toUpperCase()))).to.include({ status: 204, body: "" });
    expect(await Promise.all([...grants, his].map(({ token }) => bearer(token)))).to.deep.equal([401, 401, 200, 200]);
    const none = await w.as(ada).delete(path(app.id));
    expect([none.status, none.headers.get("cache-control")]).to.deep.equal([204, "no-store"]);
    expect(await w.as(ada).delete(path(other.clientId))).to.include({ status: 204 });
    expect(await bearer(grants[2]!.token)).to.equal(401);
    expect((await w.as(bob).graphql(revokeAll, { clientId: app.id })).revokeOAuth2AppGrants).to.deep.equal({
      revokedCount: 1,
    });

    const missing = await w.as(ada).delete("/oauth2/tokens");
    expect([missing.status, missing.body.error]).to.deep.equal([400, "invalid_request"]);
    expect(missing.body.error_description).to.include("client_id: Is required.");
    for (const unknown of [newId(), "https://unknown.example.com/client", "x", "__proto__", "a".repeat(5000)])
      expect((await w.as(ada).delete(path(unknown))).status, unknown).to.equal(404);
    expect((await w.as(ada).delete(path("a\0b"))).status).to.equal(400);
    expect((await w.nobody.delete(path(app.id))).status).to.equal(401);
  });

  it("end with the secret that the application used, however it comes to that", async () => {
    const w = the();
    const ada = await w.user("ada");
    const app = await makeApp(w);
    const used = await grantWithTokens(w, app, ada, { secret: app.secret });
    const unused = await grantWithTokens(w, app, ada);
    // A redemption with the secret, which has not committed yet.
    const redeeming = await grantWithTokens(w, app, ada);
    await lockRows(w, "oauth2_grants", { id: redeeming.id }, async ({ set, awaited, commit }) => {
      await set({ secret_id: app.secret.id });
      const deleting = owner().delete(`${app.path}/secrets/${app.secret.id}`);
      await awaited();
      await commit();
      expect(await deleting).to.include({ status: 204 });
    });
    expect(await Promise.all([used, redeeming, unused].map(({ token }) => bearer(token)))).to.deep.equal([
      401, 401, 200,
    ]);
    const { nodes } = await grantsOf(w.as(ada), { ended: true });
    expect(nodes.map(({ revokeReason }) => revokeReason)).to.deep.equal(["SECRET_DELETED", null, "SECRET_DELETED"]);
  });

  it("leave nothing behind when their application is deleted", async () => {
    const w = the();
    const ada = await w.user("ada");
    const app = await makeApp(w);
    const grant = await grantWithTokens(w, app, ada, { secret: app.secret });
    await owner().graphql(
      `mutation($id: UUID!) {
      updateOAuth2App(input: { id: $id, resourceIndicators: ["https://gone.example.com"] }) { __typename } }`,
      { id: app.id },
    );
    const { deleteOAuth2App } = await owner().graphql(
      `mutation($id: UUID!) { deleteOAuth2App(input: { id: $id }) { oauth2App { name resourceIndicators } } }`,
      { id: app.id },
    );
    expect(deleteOAuth2App.oauth2App).to.deep.equal({
      name: app.name,
      resourceIndicators: ["https://gone.example.com"],
    });
    for (const table of ["oauth2_client_secrets", "oauth2_grants", "oauth2_resources"])
      expect(await countRows(w, table, { client_id: app.id }), table).to.equal(0);
    expect(await countRows(w, "api_keys", { id: grant.tokenId })).to.equal(0);
    expect(await countRows(w, "oauth2_refresh_tokens", { id: grant.refreshId })).to.equal(0);
    expect((await changesOf(w, app.id)).at(-1)).to.deep.equal({
      action: "DELETE",
      diff: { grants: { old: 1, new: 0 } },
    });
  });

  it("keep their refresh tokens while their application is disabled, but no access tokens", async () => {
    const w = the();
    const ada = await w.user("ada");
    const app = await makeApp(w);
    const grant = await grantWithTokens(w, app, ada);
    expect(await bearer(grant.token)).to.equal(200);
    await owner().graphql(disable, { id: app.id, disabled: true });
    expect(await bearer(grant.token)).to.equal(401);
    // One that was issued at the same time.
    const late = await grantWithTokens(w, app, ada);
    expect(await bearer(late.token)).to.equal(401);
    expect((await grantsOf(w.as(ada))).totalCount).to.equal(2);
    await owner().graphql(disable, { id: app.id, disabled: false });
    expect(await bearer(grant.token)).to.equal(401);
  });
});

describe("OAuth2 grants with the provider switched off", () => {
  const the = world({ STEWARD_OAUTH2_ENABLED: "false" });

  it("are revoked one by one, and the protocol is not found", async () => {
    const w = the();
    const app = await makeApp(w);
    const grant = await grantWithTokens(w, app, w.owner);
    expect((await w.as(w.owner).delete(`/oauth2/tokens?client_id=${app.id}`)).status).to.equal(404);
    await w.as(w.owner).graphql(revoke, { id: grant.id });
    expect(await w.as(w.owner).delete(app.path)).to.include({ status: 204 });
  });
});

describe("the secret of an OAuth2 application", () => {
  const the = world();
  let other: App;
  before(async () => {
    other = await startServer(the().database.url);
  });
  after(() => other.close());

  it("ends on the replica that deletes it with the response, and on others within a second", async () => {
    const w = the();
    const app = await makeApp(w);
    const ask = async (url: string) => {
      const header = basic(app.id, app.secret.client_secret_full);
      const form = { "Content-Type": "application/x-www-form-urlencoded", ...header };
      return (await new Client(url).post("/oauth2/introspect", "token=x", form)).status;
    };
    expect(await Promise.all([ask(w.app.url), ask(other.url)])).to.deep.equal([200, 200]);
    await w.as(w.owner).delete(`${app.path}/secrets/${app.secret.id}`);
    expect(await ask(w.app.url)).to.equal(401);
    await eventually(async () => (await ask(other.url)) === 401, "the secret is rejected", 2_000);
  });

  it("is of no use from the response on that disables the application", async () => {
    const w = the();
    const app = await makeApp(w);
    const header = basic(app.id, app.secret.client_secret_full);
    expect(await sendForm(w, "introspect", { token: "x" }, header)).to.include({ status: 200 });
    await w.as(w.owner).graphql(disable, { id: app.id, disabled: true });
    expect(await sendForm(w, "introspect", { token: "x" }, header)).to.include({ status: 401 });
    await w.as(w.owner).graphql(disable, { id: app.id, disabled: false });
    expect(await sendForm(w, "introspect", { token: "x" }, header)).to.include({ status: 200 });
  });
});

describe("the end of an OAuth2 grant", () => {
  const the = world();
  let other: App;
  before(async () => {
    other = await startServer(the().database.url, { STEWARD_ACCESS_URL: the().app.services.config.accessUrl });
  });
  after(() => other.close());

  type Made = {
    app: Awaited<ReturnType<typeof makeApp>>;
    grant: Awaited<ReturnType<typeof grantWithTokens>>;
    user: Person;
  };
  const byOwner = (w: World) => w.as(w.owner);

  const ends: Record<string, (w: World, made: Made) => Promise<unknown>> = {
    "deleting the application": (w, { app }) => byOwner(w).delete(app.path),
    "deleting the secret": (w, { app }) => byOwner(w).delete(`${app.path}/secrets/${app.secret.id}`),
    "disabling the application": (w, { app }) => byOwner(w).graphql(disable, { id: app.id, disabled: true }),
    "revoking the grant": (w, { grant }) => byOwner(w).graphql(revoke, { id: grant.id }),
    "revoking the grants of the application": (w, { app, user }) =>
      w.as(user).delete(`/oauth2/tokens?client_id=${app.id}`),
    "suspending the user": (w, { user }) =>
      byOwner(w).graphql("mutation($user: String!) { suspendUser(input: { user: $user }) { __typename } }", {
        user: user.id,
      }),
    "deleting the user": (w, { user }) =>
      byOwner(w).graphql("mutation($user: String!) { deleteUser(input: { user: $user }) { __typename } }", {
        user: user.id,
      }),
  };

  for (const [what, end] of Object.entries(ends)) {
    it(`comes with ${what}, on another replica within a second, open streams included`, async () => {
      const w = the();
      const [user, bystander] = (await w.users("ada", "bob")) as [Person, Person];
      const app = await makeApp(w);
      const grant = await grantWithTokens(w, app, user, { secret: app.secret });
      const unaffected = await grantWithTokens(w, await makeApp(w), bystander);
      const there = new Client(other.url, grant.token);
      expect((await there.get("/api/v2/groups")).status).to.equal(200);

      const codes: Record<string, number> = {};
      const stillOpen: string[] = [];
      for (const [name, watch] of Object.entries(transports)) {
        const [hers, his] = await Promise.all([watch(other.url, grant.token), watch(other.url, unaffected.token)]);
        void hers.ended.then((code) => (codes[name] = code));
        stillOpen.push(name);
        void his.ended.then(() => stillOpen.splice(stillOpen.indexOf(name), 1));
      }
      await end(w, { app, grant, user });
      await eventually(async () => (await there.get("/api/v2/groups")).status === 401, "the token is rejected", 2_000);
      await eventually(() => Object.keys(codes).length === 4, "all streams end", 2_000);
      expect(codes).to.deep.equal({ WebSocket: 4403, SSE: 0, NDJSON: 0, subscription: 4403 });
      expect(stillOpen, "the streams of others stay open").to.have.length(4);
      expect((await new Client(other.url, unaffected.token).get("/api/v2/groups")).status).to.equal(200);
    });
  }
});

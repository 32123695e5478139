// Where the token of a workspace proxy is valid, and when it expires.
// Reaches for tables: the connections that carry hints are ended.
import { expect } from "chai";
import { WebSocket } from "ws";
import { createClient } from "graphql-ws";
import { newToken } from "./support/token-rows.js";
import { newId } from "./support/ids.js";
import { type App, startServer } from "./support/app.js";
import { trusting, Vendor } from "./support/licensing.js";
import { makeProxy, proxiesPath } from "./support/proxies.js";
import { eventually, holdsWithin, slowness } from "./support/watchers.js";
import { endConnections } from "./support/tables.js";
import { Client, type World, world } from "./support/world.js";

const heartbeat = `mutation($replicaId: UUID!) {
  heartbeatWorkspaceProxy(input: { replicaId: $replicaId }) { workspaceProxy { id } } }`;
const target = `query { applicationTarget(owner: "o", workspace: "w", agent: "a", slug: "s") { allowed } }`;
const register = `mutation($url: String!, $replicaId: UUID!) {
  registerWorkspaceProxy(input: { accessUrl: $url, replicaId: $replicaId }) { workspaceProxy { id } } }`;

/** Sends a request with a proxy's token. */
const asProxy = (url: string, token: string, query = heartbeat, variables: object = { replicaId: newId() }) =>
  new Client(url).post("/graphql", { query, variables }, { "Service-Proxy-Token": token });

/** Milliseconds for the second in which replicas notice a change without a hint, and the request that shows it. */
const within = 1_500;

/** Whether the server accepts a token: a heartbeat of an unknown replica then fails with NOT_FOUND, not 401. */
const known = async (url: string, token: string): Promise<boolean> => {
  const { status, body } = await asProxy(url, token);
  if (status === 401) return false;
  expect(status).to.equal(200);
  expect(body.errors[0].extensions.code).to.equal("NOT_FOUND");
  return true;
};

/** Waits until a server rejects a token that was revoked just now. */
const rejects = (url: string, token: string) =>
  holdsWithin(within * slowness(), async () => !(await known(url, token)), "the other replica rejects it");

describe("the token of a workspace proxy", () => {
  const the = world({ STEWARD_ACCESS_URL: "http://steward.example.com" });
  const owner = () => the().as(the().owner);
  let there: App;
  before(async () => {
    there = await startServer(the().database.url, {});
  });
  after(() => there.close());

  const regenerate = async (id: string): Promise<string> => {
    const { status, body } = await owner().patch(`${proxiesPath}/${id}`, { regenerate_token: true });
    expect(status).to.equal(200);
    return body.proxy_token;
  };

  it("is valid for the operations of proxies, in its own header, and for nothing else", async () => {
    const w = the();
    const { id, token } = await makeProxy(w, "narrow");
    expect(await known(w.url, token)).to.equal(true);
    const registered = await asProxy(w.url, token, register, { url: "http://narrow.example.com", replicaId: newId() });
    expect(registered.body).to.deep.equal({ data: { registerWorkspaceProxy: { workspaceProxy: { id } } } });

    for (const query of [
      "{ me { id } }",
      "{ workspaceProxies { id } }",
      "{ regions { id } }",
      "{ applicationsHost }",
      `mutation { deleteWorkspaceProxy(input: { workspaceProxy: "narrow" }) { workspaceProxy { id } } }`,
      `mutation { createApplicationRedirect(input: { redirectUri: "http://narrow.example.com" }) { location } }`,
    ]) {
      const { body } = await asProxy(w.url, token, query, {});
      expect(body.errors[0].extensions.code, query).to.equal("UNAUTHENTICATED");
      expect(body.data ?? null, query).to.equal(null);
    }
    for (const path of [
      proxiesPath,
      "/api/v2/groups",
      "/api/v2/applications/host",
      "/api/v2/applications/auth-redirect",
    ])
      expect(await w.nobody.get(path, { "Service-Proxy-Token": token }), path).to.include({ status: 401 });
    for (const headers of [
      { "Service-Session-Token": token },
      { Authorization: `Bearer ${token}` },
      { Cookie: `service_session_token=${token}`, "Sec-Fetch-Site": "same-origin" },
    ] as Array<Record<string, string>>)
      expect(await w.nobody.get("/api/v2/groups", headers), JSON.stringify(headers)).to.include({ status: 401 });
    expect(await w.nobody.post(`/graphql?proxy_token=${token}`, { query: target })).to.include({ status: 200 });
    expect((await w.nobody.failure(target)).code).to.equal("UNAUTHENTICATED");
  });

  it("is the only credential for those operations", async () => {
    const w = the();
    const { agent } = await w.workspace(w.owner);
    for (const query of [heartbeat, target, register]) {
      const variables = { replicaId: newId(), url: "http://nobody.example.com" };
      expect((await owner().failure(query, variables)).code, query).to.equal("FORBIDDEN");
      expect((await w.nobody.failure(query, variables)).code, query).to.equal("UNAUTHENTICATED");
      expect((await w.as(agent).failure(query, variables)).code, query).to.equal("UNAUTHENTICATED");
    }
  });

  it("is rejected with the same response, whatever is wrong with it", async () => {
    const w = the();
    const one = await makeProxy(w, "one");
    const other = await makeProxy(w, "other");
    const gone = await makeProxy(w, "gone");
    await owner().delete(`${proxiesPath}/gone`);
    const former = await makeProxy(w, "former");
    await regenerate(former.id);
    const [, id, secret] = one.token.split("_") as [string, string, string];
    const [, otherId] = other.token.split("_") as [string, string];
    const faults = {
      malformed: "nonsense",
      short: one.token.slice(0, -1),
      long: `${one.token}x`,
      "in capitals": one.token.toUpperCase(),
      "without a prefix": `${id}_${secret}`,
      "with a wrong secret": `stwp_${id}_${"x".repeat(43)}`,
      "with another id": `stwp_${otherId}_${secret}`,
      "of an unknown proxy": `stwp_${newId().replaceAll("-", "")}_${secret}`,
      "of a deleted proxy": gone.token,
      "that was replaced": former.token,
    };
    // Of these, the kind is known by the prefix.
    const ofOtherKinds = { "of a session": w.owner.token, "of another kind": newToken("application").text };
    const answers = new Map<string, string>();
    for (const [fault, token] of Object.entries({ ...faults, ...ofOtherKinds })) {
      const { status, body, headers } = await asProxy(w.url, token);
      expect(status, fault).to.equal(401);
      expect(headers.get("www-authenticate"), fault).to.match(/error="invalid_token", error_description=".*"$/);
      delete body.errors[0].extensions.requestId;
      answers.set(fault, JSON.stringify(body));
    }
    const of = (tokens: object) => new Set(Object.keys(tokens).map((fault) => answers.get(fault)));
    expect([...of(faults)]).to.have.length(1);
    expect([...of(ofOtherKinds)]).to.have.length(1);
    expect(answers.get("of a session")).to.include("Tokens of users are sent in Service-Session-Token");
    expect(await known(w.url, one.token)).to.equal(true);
  });

  it("is revoked by regenerating it or deleting the proxy: immediately here, within a second on other replicas", async () => {
    const w = the();
    const { id, token } = await makeProxy(w, "ending");
    for (const url of [w.url, there.url]) expect(await known(url, token)).to.equal(true);
    const next = await regenerate(id);
    expect(await known(w.url, token)).to.equal(false);
    await rejects(there.url, token);
    for (const url of [w.url, there.url]) expect(await known(url, next)).to.equal(true);

    await owner().delete(`${proxiesPath}/${id}`);
    expect(await known(w.url, next)).to.equal(false);
    await rejects(there.url, next);
  });

  it("is revoked in the same time while the event bus is disconnected", async () => {
    const w = the();
    const { id, token } = await makeProxy(w, "unheard");
    expect(await known(there.url, token)).to.equal(true);
    await cutTheBus(w);
    await regenerate(id);
    await rejects(there.url, token);
  });

  it("closes its sockets when revoked, and no others", async () => {
    const w = the();
    const one = await makeProxy(w, "socket");
    const other = await makeProxy(w, "other-socket");
    const sockets = await Promise.all([w.url, there.url].map((url) => open(url, one.token)));
    const others = await Promise.all([w.url, there.url].map((url) => open(url, other.token)));
    const next = await regenerate(one.id);
    for (const socket of sockets) await eventually(() => socket.code() !== undefined, "the socket closes", 5_000);
    for (const socket of sockets) expect(socket.code()).to.equal(4403);
    const later = await Promise.all([w.url, there.url].map((url) => open(url, next)));
    await owner().delete(`${proxiesPath}/${one.id}`);
    for (const socket of later) await eventually(() => socket.code() === 4403, "the socket closes", 5_000);
    for (const socket of others) {
      expect(socket.code()).to.equal(undefined);
      await socket.close();
    }
    await expectRefused(w.url, next);
  });
});

/** Opens a socket with a proxy's token, and runs an operation on it. */
async function open(url: string, token: string) {
  let code: number | undefined;
  class WithToken extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols, { headers: { "Service-Proxy-Token": token } });
    }
  }
  const client = createClient({
    url: `${url.replace("http", "ws")}/graphql`,
    webSocketImpl: WithToken,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    on: { closed: (event) => (code = (event as { code: number }).code) },
  });
  for await (const { errors } of client.iterate({ query: target }))
    expect(errors![0]!.extensions!.code).to.equal("NOT_FOUND");
  return { code: () => code, close: () => client.dispose() };
}

async function expectRefused(url: string, token: string): Promise<void> {
  const failure = await open(url, token).then(
    () => undefined,
    (error: { code?: number }) => error,
  );
  expect(failure?.code).to.equal(4403);
}

/** Cuts the connections over which replicas notify each other of changes. */
async function cutTheBus(w: World): Promise<void> {
  expect(await endConnections(w, "steward events")).to.equal(2);
}

describe("workspace proxies on a deployment without a license for them", () => {
  const vendor = new Vendor();
  const the = world(trusting(vendor));

  it("cannot be created, changed, or registered, but can be deleted", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const license = await vendor.license();
    const added = await owner.post("/api/v2/licenses", { license });
    expect(added).to.include({ status: 201 });
    const { id, token } = await makeProxy(w, "lapsed");
    expect(await owner.delete(`/api/v2/licenses/${added.body.id}`)).to.include({ status: 200 });

    const message = "workspace_proxy is not licensed on this deployment.";
    for (const answer of [
      await owner.post(proxiesPath, { name: "?" }),
      await owner.patch(`${proxiesPath}/lapsed`, { name: "?" }),
      await owner.patch(`${proxiesPath}/primary`, { name: "?" }),
    ]) {
      expect(answer).to.include({ status: 403 });
      expect(answer.body.message).to.equal(message);
    }
    const create = `mutation { createWorkspaceProxy(input: { name: "?" }) { proxyToken } }`;
    const refused = (await owner.failure(create)).errors[0]!;
    expect(refused).to.deep.include({ message });
    expect(refused.extensions).to.deep.include({ code: "FORBIDDEN", feature: "workspace_proxy" });
    const registered = await asProxy(w.url, token, register, { url: "http://lapsed.example.com", replicaId: newId() });
    expect(registered.body.errors[0].message).to.equal(message);
    // Callers without the permission are not told about licenses.
    const ada = w.as(await w.user("ada"));
    expect((await ada.post(proxiesPath, { name: "?" })).body.message).to.equal("Forbidden.");

    expect(await known(w.url, token)).to.equal(true);
    expect(await owner.get(`${proxiesPath}/${id}`)).to.include({ status: 200 });
    expect(await owner.delete(`${proxiesPath}/${id}`)).to.include({ status: 200 });
  });
});

// The log of the requests of identity providers that failed.
// Reaches for tables: a thousand requests and thirty days are stored, a key is deleted, and the table is locked.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { expect } from "chai";
import { startServer } from "../support/app.js";
import { runJob } from "../support/background.js";
import { withClock } from "../support/clock.js";
import { newId } from "../support/ids.js";
import { makeScimKey, newScimUser, ScimClient } from "../support/scim.js";
import { insert } from "../support/stage.js";
import { raw, rawRequest } from "../support/raw.js";
import { countRows, lockRows, lockTable, storedText } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, world } from "../support/world.js";

interface Logged {
  id: string;
  time: string;
  method: string;
  path: string;
  status: number;
  scimType: string | null;
  detail: string | null;
  requestId: string;
}

const document = `query($key: String!, $first: Int, $after: String, $last: Int, $before: String) {
  scimRequests(key: $key, first: $first, after: $after, last: $last, before: $before) {
    totalCount nodes { id time method path status scimType detail requestId }
    pageInfo { endCursor startCursor hasNextPage hasPreviousPage }
  }
}`;

describe("failed requests of SCIM keys", () => {
  const w = world({
    STEWARD_SCIM_MAX_BODY: "2048",
    STEWARD_SCIM_RATE_LIMIT: "40",
    STEWARD_DATABASE_POOL: "20",
    // What waits to be written is given up after a sixth of it, which a slow machine may need for all the responses.
    STEWARD_REQUEST_TIMEOUT: "5m",
  });
  const owner = () => w().as(w().owner);

  const read = async (key: string, page: Record<string, unknown> = {}, client: Client = owner()) =>
    (await client.graphql(document, { key, ...page })).scimRequests;

  /** The log of a key, once it has so many requests. */
  async function logged(key: string, count: number): Promise<Logged[]> {
    let nodes: Logged[] = [];
    await eventually(
      async () => (nodes = (await read(key)).nodes).length >= count,
      () => `${count} requests in the log, which has ${nodes.length}`,
    );
    expect(nodes).to.have.length(count);
    return nodes;
  }

  async function provider(input: Record<string, unknown> = {}) {
    const { id, secret } = await makeScimKey(w(), input);
    return { id, secret, scim: new ScimClient(w().nobody, secret) };
  }

  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  const rowsOf = (key: string, count: number, time = daysAgo(1)) =>
    Array.from({ length: count }, (_, nr) => ({
      id: newId(),
      scim_key_id: key,
      time,
      method: "GET",
      path: `/scim/v2/Users/${nr}`,
      status: 404,
      request_id: `request-${nr}`,
    }));

  it("are listed with what the provider was told, newest first, and successful ones are not", async () => {
    const { id, scim } = await provider();
    const user = newScimUser();
    expect(await scim.post("/Users", user)).to.include({ status: 201 });
    const missing = newId();
    const failures = [
      await scim.find("/Users", "userName what 7"),
      await scim.get(`/Users/${missing}/`),
      await scim.post("/Users", { ...user, externalId: "other" }),
      await scim.post("/Users", { ...newScimUser(), title: "x".repeat(3000) }),
      await scim.post("/Groups", "{"),
    ];
    expect(failures.map(({ status }) => status)).to.deep.equal([400, 404, 409, 413, 400]);
    const log = (await logged(id, 5)).toReversed();
    const told = failures.map(({ status, body, headers }) => ({
      status,
      detail: body.detail,
      scimType: body.scimType ?? null,
      requestId: headers.get("x-request-id"),
    }));
    expect(
      log.map(({ status, detail, scimType, requestId }) => ({ status, detail, scimType, requestId })),
    ).to.deep.equal(told);
    expect(log.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      "GET /scim/v2/Users?filter=userName what 7",
      `GET /scim/v2/Users/${missing}/`,
      "POST /scim/v2/Users",
      "POST /scim/v2/Users",
      "POST /scim/v2/Groups",
    ]);
  });

  it("have the reasons of requests in the dialect of the contract, too", async () => {
    const { id, secret } = await provider();
    const contract = new ScimClient(w().nobody, secret, "Authorizaiton");
    const { status } = await contract.get(`/Users/${newId()}`);
    const [request] = await logged(id, 1);
    expect(request).to.include({ status, scimType: null });
    expect(request!.detail).to.match(/not found/i);
  });

  it("include those beyond the rate limit of the key", async () => {
    const { id, scim } = await provider();
    const answers = await Promise.all(Array.from({ length: 45 }, () => scim.get("/Users?count=0")));
    expect(answers.filter(({ status }) => status === 429)).to.have.length(5);
    expect((await logged(id, 5)).map(({ status }) => status)).to.deep.equal([429, 429, 429, 429, 429]);
  });

  it("hold no secrets and no bodies, and are cut", async () => {
    const { id, secret, scim } = await provider();
    const secrets = [secret, "hunter2", "open-sesame", "in-the-body"];
    await scim.get(`/Users/${secret}`);
    await scim.find("/Users", 'password eq "hunter2');
    await scim.get(`/Users?count=x&access_token=open-sesame`);
    await scim.post("/Users", { ...newScimUser(), userName: "", password: "in-the-body" });
    await scim.get(`/Users/${"ä%00%F0%9F%A6%8A".repeat(300)}`);
    const log = (await logged(id, 5)).toReversed();
    expect(log.map(({ path }) => path).slice(0, 4)).to.deep.equal([
      "/scim/v2/Users/…",
      "/scim/v2/Users?filter=…",
      "/scim/v2/Users?count=x&access_token=…",
      "/scim/v2/Users",
    ]);
    expect(Array.from(log[4]!.path)).to.have.length.within(500, 512);
    expect(log[1]!.detail).to.equal(null);
    const stored = await storedText(w(), "scim_requests");
    for (const each of secrets) expect(stored).to.not.include(each);
  });

  it("are those of one key only, for callers who may read keys", async () => {
    const organization = await w().organization();
    const own = await provider();
    const foreign = await provider({ organizationIds: [organization.id] });
    await own.scim.get("/Users/own");
    await foreign.scim.get("/Users/foreign");
    const member = await w().user("member");
    const administrator = await w().user("administrator");
    await w().grant(administrator, "organization-admin");
    expect((await logged(own.id, 1))[0]!.path).to.equal("/scim/v2/Users/own");
    expect((await logged(foreign.id, 1))[0]!.path).to.equal("/scim/v2/Users/foreign");
    for (const person of [member, administrator])
      expect((await w().as(person).failure(document, { key: own.id })).code).to.equal("FORBIDDEN");
    expect((await owner().failure(document, { key: "unknown" })).code).to.equal("NOT_FOUND");
  });

  it("are not those of users and of strangers", async () => {
    const { id, secret, scim } = await provider();
    const count = await countRows(w(), "scim_requests");
    expect(await new ScimClient(w().nobody, w().owner.token).get("/Users/none")).to.include({ status: 404 });
    expect(await new ScimClient(w().nobody, `${secret.slice(0, -1)}-`).get("/Users/none")).to.include({ status: 401 });
    // Requests are written in their order.
    await scim.get("/Users/none");
    await logged(id, 1);
    expect(await countRows(w(), "scim_requests")).to.equal(count + 1);
  });

  it("are paged by key", async () => {
    const { id } = await provider();
    await insert(w(), { scim_requests: rowsOf(id, 5) });
    const all: Logged[] = (await read(id)).nodes;
    expect(all.map(({ path }) => path.at(-1))).to.deep.equal(["4", "3", "2", "1", "0"]);
    const first = await read(id, { first: 2 });
    expect(first.totalCount).to.equal(5);
    const second = await read(id, { first: 2, after: first.pageInfo.endCursor });
    expect([...first.nodes, ...second.nodes]).to.deep.equal(all.slice(0, 4));
    const back = await read(id, { last: 2, before: second.pageInfo.startCursor });
    expect(back.nodes).to.deep.equal(first.nodes);
  });

  it("are kept up to the newest 1,000 of a key", async () => {
    const full = await provider();
    const other = await provider();
    await insert(w(), { scim_requests: [...rowsOf(full.id, 1005), ...rowsOf(other.id, 3)] });
    await full.scim.get("/Users/newest");
    await eventually(async () => (await countRows(w(), "scim_requests", { scim_key_id: full.id })) === 1000, "trimmed");
    const { nodes } = await read(full.id, { first: 1000 });
    expect(nodes.map(({ path }: Logged) => path.split("/").at(-1))).to.deep.equal([
      "newest",
      ...Array.from({ length: 999 }, (_, nr) => String(1004 - nr)),
    ]);
    expect(await read(other.id)).to.include({ totalCount: 3 });
  });

  it("are deleted after 30 days, and with their key", async () => {
    const { id } = await provider();
    await insert(w(), { scim_requests: [...rowsOf(id, 2, daysAgo(31)), ...rowsOf(id, 3, daysAgo(29))] });
    await runJob(w().app, "scimRequestPurge");
    expect((await read(id)).nodes).to.have.length(3);
    await owner().graphql(`mutation { revokeScimKey(input: { id: "${id}" }) { scimKey { id } } }`);
    expect(await countRows(w(), "scim_requests", { scim_key_id: id })).to.equal(0);
    expect((await owner().failure(document, { key: id })).code).to.equal("NOT_FOUND");
  });

  it("delay no response while they cannot be written, and are then left out beyond 100 of a key", async () => {
    const failing = await provider();
    const other = await provider();
    await lockTable(w(), "scim_requests", async ({ awaited }) => {
      expect(await failing.scim.get("/Users/first")).to.include({ status: 404 });
      await awaited();
      const all = Array.from({ length: 120 }, (_, nr) => failing.scim.get(`/Users/${nr}`));
      for (const { status } of await Promise.all(all)) expect(status).to.be.oneOf([404, 429]);
      expect(await other.scim.get("/Users/other")).to.include({ status: 404 });
    });
    await logged(other.id, 1);
    const paths = (await read(failing.id)).nodes.map(({ path }: Logged) => path.split("/").at(-1));
    expect(paths).to.have.length(100);
    expect((await read(failing.id)).totalCount).to.equal(101);
  });
});

describe("failed requests of SCIM keys that the server gives up", () => {
  const w = world();

  /**
   * Resolves once so many requests with a method have arrived at the servers of this process. If their key is in the
   * cache, they have it then.
   */
  const arrivals = (method: string, count: number): Promise<void> =>
    new Promise((resolve) => {
      const channel = "http.server.request.start";
      let left = count;
      const onRequest = (message: unknown) => {
        if ((message as { request: IncomingMessage }).request.method !== method || --left > 0) return;
        unsubscribe(channel, onRequest);
        setImmediate(resolve);
      };
      subscribe(channel, onRequest);
    });

  /** The status and detail of each request in the log of a key, once there are so many. */
  async function logged(key: string, count: number): Promise<string[]> {
    const read = async () => (await w().as(w().owner).graphql(document, { key })).scimRequests.nodes as Logged[];
    await eventually(async () => (await read()).length >= count, `${count} requests in the log`);
    return (await read()).map(({ method, path, status, detail }) => `${method} ${path}: ${status} ${detail}`);
  }

  it("are noted once, with what the provider was told, whatever becomes of their work", async () => {
    const { id, secret } = await makeScimKey(w());
    const { body: user } = await new ScimClient(w().nobody, secret).post("/Users", newScimUser());
    const change = { Operations: [{ op: "replace", path: "displayName", value: "Late" }] };
    const hurried = { STEWARD_REQUEST_TIMEOUT: "3s", STEWARD_DATABASE_POOL: "2" };
    const server = await startServer(w().database.url, hurried);
    try {
      const scim = new ScimClient(new Client(server.url), secret);
      // Two changes run at a time, and each waits for the lock: the last ones exceed three seconds.
      const answers = await lockRows(w().database.url, "users", { id: user.id }, async () => {
        let sent: Array<Promise<Answer>> = [];
        // Their key stays in the cache until all have it: to read it, they would wait for the others.
        await withClock(async () => {
          expect(await scim.get("/Users?count=0")).to.include({ status: 200 });
          const arrived = arrivals("PATCH", 24);
          sent = Array.from({ length: 24 }, () => scim.patch(`/Users/${user.id}`, change));
          await arrived;
        });
        return Promise.all(sent);
      });
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 503));
      expect(answers.filter(({ body }) => /took too long/.test(body.detail as string))).to.not.have.length(0);
      // Requests are written in their order: those that were given up have ended before the next one.
      await scim.get("/Users/none");
      const log = await logged(id, answers.length + 1);
      expect(log.slice(1)).to.have.members(
        answers.map(({ body }) => `PATCH /scim/v2/Users/${user.id}: 503 ${body.detail}`),
      );
    } finally {
      await server.close();
    }
  });

  it("are noted when the server stops before it has received them", async () => {
    const { id, secret } = await makeScimKey(w());
    const server = await startServer(w().database.url);
    const headers = [`Authorization: Bearer ${secret}`, "Content-Type: application/scim+json", "Content-Length: 1000"];
    const sent: Array<ReturnType<typeof raw>> = [];
    // Before its key is known, the request would be that of a stranger. The standing clock keeps the key in the cache.
    await withClock(async () => {
      expect(await new ScimClient(new Client(server.url), secret).get("/Users?count=0")).to.include({ status: 200 });
      const arrived = arrivals("POST", 1);
      sent.push(raw(server.url, rawRequest("POST /scim/v2/Users", headers, "{")));
      await arrived;
    });
    await server.close();
    expect((await sent[0]!).statuses).to.deep.equal([503]);
    expect(await logged(id, 1)).to.deep.equal([
      "POST /scim/v2/Users: 503 The service is temporarily unavailable. The server stops.",
    ]);
  });
});

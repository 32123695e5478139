// What happens when something beneath the server fails: the database is lost, or an audit event cannot be written.
// Looks inside: the database is lost, and audit events cannot be written.
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { WebSocket } from "ws";
import { type Cluster, startCluster } from "../../support/cluster.js";
import { type App, logged, loggedFromInfo, ownerPassword, startServer } from "../../support/app.js";
import { eventually, transports } from "../../support/watchers.js";
import { type Answer, Client, world } from "../../support/world.js";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const unavailable = { message: "The service is temporarily unavailable." };

/** Runs a statement on a connection of its own. */
async function ask(url: string, sql: string) {
  const database = new Postgres(url);
  await database.connect();
  try {
    return await database.query<{ name: string }>(sql);
  } finally {
    await database.end();
  }
}

describe("without its database", () => {
  let directory: string;
  let cluster: Cluster;
  let app: App;
  let token: string;
  const start = async () => (cluster = await startCluster({ directory, fsync: false, log: silent }));

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "steward-fault-"));
    await start();
    app = await startServer(cluster.url);
    const { body } = await new Client(app.url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    token = body.session_token;
  });
  after(async () => {
    await app.close();
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const owner = () => new Client(app.url, token);

  /** Opens a GraphQL socket with the token; returns its first message, or the code and reason of its close. */
  async function introduced(): Promise<unknown> {
    const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    socket.once("open", () =>
      socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: token } })),
    );
    try {
      return await new Promise((resolve) => {
        socket.once("message", (data) => resolve((JSON.parse((data as Buffer).toString()) as { type: string }).type));
        socket.once("close", (code, reason) => resolve([code, reason.toString()]));
      });
    } finally {
      socket.terminate();
    }
  }

  async function isBack(): Promise<void> {
    await eventually(async () => (await owner().get("/readyz")).status === 200, "the server is ready", 20_000);
    expect(await owner().get("/api/v2/groups")).to.include({ status: 200 });
    expect((await owner().graphql("{ me { username } }")).me.username).to.equal("owner");
  }

  it("a server logs the loss and the return once each, whatever else fails, and no stack trace", async () => {
    const before = loggedFromInfo.length;
    const lines = () => loggedFromInfo.slice(before).map(({ level, msg }) => `${level} ${String(msg)}`);
    const watchers = await Promise.all(Array.from({ length: 10 }, () => transports.NDJSON(app.url, token)));
    try {
      await cluster.stop();
      for (let n = 0; n < 20; n++) {
        await Promise.all([owner().get("/api/v2/groups"), owner().post("/graphql", { query: "{ me { id } }" })]);
        expect(await owner().get("/readyz")).to.include({ status: 503 });
      }
      await eventually(
        () => lines().some((line) => line.includes("hints")),
        "the lost hint connection is noticed",
        15_000,
      );
      expect(lines()).to.have.members([
        "50 The database is not available; requests that need it fail.",
        "40 The connection for hints of other replicas is lost.",
        "40 This server is not ready.",
      ]);
      expect(JSON.stringify(loggedFromInfo.slice(before)))
        .to.include('"failed":["database"]')
        .and.not.include('"stack"');

      await start();
      await isBack();
      await eventually(
        async () => (await owner().get("/readyz")) && lines().length >= 6,
        "the return is logged",
        15_000,
      );
      expect(lines().slice(3)).to.have.members([
        "30 The database is available again.",
        "30 The connection for hints of other replicas is back.",
        "30 This server is ready again.",
      ]);
    } finally {
      for (const watcher of watchers) watcher.close();
    }
  });

  it("a server stays up, reports what is missing, responds 503, and recovers with the database", async () => {
    await cluster.stop();
    expect((await owner().get("/healthz")).body).to.deep.equal({ status: "ok" });
    const ready = await owner().get("/readyz");
    expect(ready).to.include({ status: 503 });
    expect(ready.body).to.deep.equal({ status: "unavailable", failed: ["database"] });
    for (const answer of [
      await owner().get("/api/v2/groups"),
      await owner().post("/api/v2/organizations/default/groups", { name: "lost" }),
      await owner().post("/api/v2/users/login", { email: "owner@example.com", password: ownerPassword }),
    ]) {
      expect(answer).to.include({ status: 503 });
      expect(answer.body).to.deep.equal(unavailable);
      expect(answer.headers.get("retry-after")).to.equal("1");
    }
    const graphql = await owner().post("/graphql", { query: "{ me { username } }" });
    expect(graphql.body.errors[0]).to.include(unavailable);
    expect(graphql.body.errors[0].extensions).to.include({ code: "UNAVAILABLE", retryAfter: 1 });
    // The credential may have been read less than a second ago.
    await eventually(async () => String(await introduced()) === `1013,${unavailable.message}`, "the socket is closed");

    await start();
    await isBack();
    expect(await introduced()).to.equal("connection_ack");
    const { body } = await owner().get("/api/v2/groups");
    expect(body.map(({ name }: { name: string }) => name)).to.deep.equal(["Everyone"]);
  });

  it("a server under many writes leaves nothing half-done and responds 500 to none", async () => {
    const writing: Array<Promise<Answer>> = [];
    const write = (n: number) =>
      owner().post("/api/v2/organizations/default/groups", { name: `w-${n}`, quota_allowance: n });
    for (let n = 0; n < 100; n++) writing.push(write(n));
    await Promise.race(writing);
    const serving = new AbortController();
    const stopping = cluster.stop().finally(() => serving.abort());
    for (let n = 100; n < 150; n++) writing.push(write(n));
    // The database is lost in the middle of them, whenever it ends.
    for (let n = 150; !serving.signal.aborted; n++) await (writing[n] = write(n));
    await stopping;
    const answers = await Promise.all(writing);
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 503)).to.deep.equal([]);
    expect(answers.map(({ status }) => status)).to.include(503);

    await start();
    await isBack();
    const { body } = await owner().get("/api/v2/groups?exclude_members=true");
    const stored = new Set(body.map(({ id }: { id: string }) => id));
    for (const answer of answers) if (answer.status === 201) expect(stored).to.include(answer.body.id);
    const { rows } = await ask(
      cluster.url,
      "select name from groups g where name like 'w-%' and not exists (select from audit_events where resource_id = g.id::text)",
    );
    expect(rows, "groups without an audit event").to.deep.equal([]);
  });
});

describe("an audit event that cannot be written", () => {
  const w = world();
  const query = (sql: string) => ask(w().database.url, sql);
  before(() => query("alter table audit_events add constraint injected check (false) not valid"));

  const owner = () => w().as(w().owner);
  const groups = async () => (await query("select name from groups where name = 'ghosts'")).rows;

  it("fails its mutation, and the response holds only the request id", async () => {
    const answer = await owner().post("/api/v2/organizations/default/groups", { name: "ghosts" });
    expect(answer).to.include({ status: 500 });
    const requestId = answer.headers.get("x-request-id");
    expect(answer.body).to.deep.equal({ message: "An internal error occurred.", detail: `Request id ${requestId}` });
    expect(await groups()).to.deep.equal([]);
    expect(logged.filter((line) => line.requestId === requestId && line.msg === "defect")).to.have.length(1);
  });

  it("fails its mutation in GraphQL as well", async () => {
    const { errors } = await owner().failure(
      'mutation { createGroup(input: { organization: "default", name: "ghosts" }) { group { id } } }',
    );
    const { requestId } = errors[0]!.extensions;
    expect(errors).to.have.length(1);
    expect(errors[0]!.message).to.equal("An internal error occurred.");
    expect(errors[0]!.extensions).to.deep.equal({
      code: "INTERNAL_SERVER_ERROR",
      detail: `Request id ${String(requestId)}`,
      requestId,
    });
    expect(await groups()).to.deep.equal([]);
  });

  it("no longer fails mutations once it can be written again", async () => {
    await query("alter table audit_events drop constraint injected");
    expect(await owner().post("/api/v2/organizations/default/groups", { name: "ghosts" })).to.include({ status: 201 });
    expect(await groups()).to.have.length(1);
  });
});

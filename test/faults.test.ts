// When something beneath the server fails: the database goes away, or will not take an audit event.
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { WebSocket } from "ws";
import type { App } from "../src/app.js";
import { type Cluster, startCluster } from "../src/embedded-postgres/index.js";
import { logged, loggedFromInfo, ownerPassword, startServer } from "./support/app.js";
import { eventually, transports } from "./support/watchers.js";
import { type Answer, Client, world } from "./support/world.js";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const unavailable = { message: "The service is temporarily unavailable." };

/** Runs a statement beside the server. */
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

  /** What becomes of a GraphQL socket that shows the token: its first message, or the code and reason of its end. */
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

  it("a server logs the loss and the return once each, whatever fails meanwhile, and no stack trace", async () => {
    const before = loggedFromInfo.length;
    const lines = () => loggedFromInfo.slice(before).map(({ level, msg }) => `${level} ${String(msg)}`);
    const watchers = await Promise.all(Array.from({ length: 10 }, () => transports.NDJSON(app.url, token)));
    try {
      await cluster.stop();
      for (let n = 0; n < 20; n++) {
        await Promise.all([owner().get("/api/v2/groups"), owner().post("/graphql", { query: "{ me { id } }" })]);
        expect(await owner().get("/readyz")).to.include({ status: 503 });
      }
      await eventually(() => lines().some((line) => line.includes("hints")), "the lost hints are noticed", 15_000);
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

  it("a server lives, says what is missing, and answers 503; with it, all is well again", async () => {
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
    expect(await introduced()).to.deep.equal([1013, unavailable.message]);

    await start();
    await isBack();
    expect(await introduced()).to.equal("connection_ack");
    const { body } = await owner().get("/api/v2/groups");
    expect(body.map(({ name }: { name: string }) => name)).to.deep.equal(["Everyone"]);
  });

  it("that goes in the middle of many writes, nothing is half-done and nobody gets a 500", async () => {
    const writing: Array<Promise<Answer>> = [];
    const write = (n: number) =>
      owner().post("/api/v2/organizations/default/groups", { name: `w-${n}`, quota_allowance: n });
    for (let n = 0; n < 100; n++) writing.push(write(n));
    await Promise.race(writing);
    const stopping = cluster.stop();
    for (let n = 100; n < 150; n++) writing.push(write(n));
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

  it("takes its mutation with it, and the answer holds only the id of the request", async () => {
    const answer = await owner().post("/api/v2/organizations/default/groups", { name: "ghosts" });
    expect(answer).to.include({ status: 500 });
    const requestId = answer.headers.get("x-request-id");
    expect(answer.body).to.deep.equal({ message: "An internal error occurred.", detail: `Request id ${requestId}` });
    expect(await groups()).to.deep.equal([]);
    expect(logged.filter((line) => line.requestId === requestId && line.msg === "defect")).to.have.length(1);
  });

  it("does so in GraphQL as well", async () => {
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

  it("ends with the fault", async () => {
    await query("alter table audit_events drop constraint injected");
    expect(await owner().post("/api/v2/organizations/default/groups", { name: "ghosts" })).to.include({ status: 201 });
    expect(await groups()).to.have.length(1);
  });
});

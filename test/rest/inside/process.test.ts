// Looks inside: other servers hold locks, and databases that newer releases migrated.
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect as connectSocket, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { Client as Postgres } from "pg";
import { countWaiting } from "../../support/locks.js";
import { ownerPassword } from "../../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../../support/cluster.js";
import { type ServerProcess, spawnServer, spawnStart } from "../../support/process.js";
import { eventually, slowness, transports } from "../../support/watchers.js";
import { type Answer, Client } from "../../support/world.js";

const running: ServerProcess[] = [];
const start = async (...how: Parameters<typeof spawnServer>): Promise<ServerProcess> => {
  const server = await spawnServer(...how);
  running.push(server);
  return server;
};
const refused = async (settings: NodeJS.ProcessEnv): Promise<ServerProcess> => {
  const server = await spawnStart(settings);
  running.push(server);
  expect(await server.ended, server.output()).to.equal(1);
  return server;
};
const stop = async ({ child, ended }: ServerProcess): Promise<number | NodeJS.Signals> => {
  child.kill("SIGTERM");
  return ended;
};
const signIn = async ({ url }: ServerProcess, email = "owner@example.com", password = ownerPassword) => {
  const { body } = await new Client(url).post("/api/v2/users/login", { email, password });
  return body.session_token as string;
};
const logLines = ({ stdout }: ServerProcess): Array<Record<string, unknown>> =>
  stdout()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the process", function () {
  let empty: TestDatabase;
  let folder: string;

  beforeEach(async () => {
    empty = await createDatabase();
    folder = await mkdtemp(join(tmpdir(), "steward-process-"));
    // When the tests run as root, the account of Postgres must be able to enter.
    await chmod(folder, 0o755);
  });
  afterEach(async () => {
    for (const { child, ended } of running.splice(0)) {
      child.kill("SIGKILL");
      await ended;
    }
    await empty.drop();
    await rm(folder, { recursive: true, force: true });
  });

  describe("at startup", () => {
    it("prints its URL and, on the first start only, how to sign in", async () => {
      const settings = { STEWARD_DATABASE_URL: empty.url, STEWARD_ADMIN_PASSWORD: "", STEWARD_ADMIN_EMAIL: "" };
      const first = await start(settings);
      await eventually(() => first.stdout().includes("listening"), "the start is logged");
      const address = `http://localhost:${new URL(first.url).port}`;
      expect(first.stdout()).to.include(`running at ${address}\n`);
      expect(first.stdout()).to.include(`${address}/graphql\n`).and.include(`${address}/docs\n`);
      const [, email, password] = /Email +(\S+)\n +Password +(\S+)/.exec(first.stdout()) ?? [];
      expect(await signIn(first, email, password)).to.match(/^stw_se_/);
      expect(first.output().split(password!), "printed once").to.have.length(2);
      expect(JSON.stringify(logLines(first)), "not in the log").not.to.include(password);
      expect(logLines(first).map(({ msg }) => msg)).to.include.members(["The database was migrated.", "listening"]);
      expect(first.stderr()).to.equal("");
      expect(await stop(first)).to.equal(0);

      const second = await start(settings);
      await eventually(() => second.stdout().includes("listening"), "the start is logged");
      expect(second.stdout())
        .to.include("Steward is running at")
        .and.not.match(/Email|Password/);
    });

    it("does not print a password from the settings, and warns about unknown settings", async () => {
      const server = await start({ STEWARD_DATABASE_URL: empty.url, STEWARD_DATABASE_POOOL: "7" });
      await eventually(() => server.stdout().includes("listening"), "the start is logged");
      expect(server.stdout()).to.match(/Email +owner@example\.com\n/);
      expect(server.output()).not.to.match(/Password/);
      expect(server.output()).not.to.include(ownerPassword);
      expect(logLines(server).filter(({ level }) => level === 40)).to.have.nested.property(
        "[0].name",
        "STEWARD_DATABASE_POOOL",
      );
    });

    it("is compiled completely: it serves the schema, its pages, and work in threads", async () => {
      const server = await start({ STEWARD_DATABASE_URL: empty.url });
      const client = new Client(server.url, await signIn(server));
      const { body } = await client.post("/graphql", { query: getIntrospectionQuery({ specifiedByUrl: true }) });
      const served = printSchema(lexicographicSortSchema(buildClientSchema(body.data as IntrospectionQuery)));
      const published = await readFile("schema.graphql", "utf8");
      expect(served).to.equal(printSchema(lexicographicSortSchema(buildSchema(published))));
      expect((await client.post("/api/v2/users/validate-password", { password: "hunter2" })).body).to.include({
        valid: false,
      });
      for (const page of ["/login", "/docs"]) {
        const text = await (await fetch(server.url + page)).text();
        for (const [, part] of text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g))
          expect(await fetch(server.url + part!), part).to.include({ status: 200 });
      }
    });

    it("writes its log as text on request", async () => {
      const server = await start({ STEWARD_DATABASE_URL: empty.url, STEWARD_LOG_FORMAT: "text" });
      await eventually(() => server.stdout().includes("listening"), "the start is logged");
      expect(server.stdout()).to.match(/^\[[\d:.]+\] INFO: listening \{"url":"http:\/\/127\.0\.0\.1:\d+"\}$/m);
      expect(logLines(server)).to.deep.equal([]);
      expect(await stop(server)).to.equal(0);
      expect(server.stdout(), "up to the last line").to.include("INFO: draining");
    });

    it("reports all invalid settings together", async () => {
      const { stdout, stderr } = await refused({
        STEWARD_PORT: "http",
        STEWARD_DATABASE_URL: "mysql://steward:s3cret@db",
        STEWARD_LOG_LEVEL: "loud",
      });
      expect(stderr())
        .to.match(/STEWARD_PORT must be/)
        .and.match(/STEWARD_DATABASE_URL must be/)
        .and.match(/STEWARD_LOG_LEVEL must be/);
      expect(stdout() + stderr()).not.to.include("s3cret");
      expect(stdout()).to.equal("");
    });

    it("rejects a port in use with one sentence, before creating anything that is printed only once", async () => {
      const taken = createServer().listen(0, "127.0.0.1");
      await once(taken, "listening");
      const { port } = taken.address() as { port: number };
      const settings = { STEWARD_DATABASE_URL: empty.url, STEWARD_ADMIN_PASSWORD: "" };
      const { stderr } = await refused({ ...settings, STEWARD_PORT: String(port) });
      expect(stderr()).to.equal(
        `Steward failed to start: Another process listens on port ${port} of 127.0.0.1. STEWARD_PORT chooses another port.\n`,
      );
      taken.close();
      const server = await start(settings);
      await eventually(() => /Password +\S{24} /.test(server.stdout()), "the password is printed");
    });

    it("rejects a database that was migrated by a newer version", async () => {
      const database = await cloneDatabase();
      const client = await connected(database.url);
      await client.query("insert into migrations (name) values ('0099-from-the-future')");
      await client.end();
      const { stderr } = await refused({ STEWARD_DATABASE_URL: database.url });
      await database.drop();
      expect(stderr()).to.match(
        /^Steward failed to start: The database is newer than this program.*0099-from-the-future/,
      );
    });

    it("rejects a database claimed under other encryption keys, and says how to share them", async () => {
      const own = (name: string) => ({
        STEWARD_DATABASE_URL: empty.url,
        STEWARD_ENCRYPTION_KEYS: "",
        STEWARD_DATA_DIR: join(folder, name),
      });
      const first = await start(own("1"));
      const { stderr } = await refused(own("2"));
      expect(stderr())
        .to.match(/^Steward failed to start: .*encryption key/)
        .and.include(join(folder, "2", "encryption.keys"))
        .and.include("STEWARD_ENCRYPTION_KEYS");
      expect(stderr().trim().split("\n")).to.have.length(1);
      expect((await fetch(`${first.url}/readyz`)).status).to.equal(200);
    });

    it("is never silent for 3 seconds, however long it waits", async () => {
      const client = await connected(empty.url);
      await client.query("select pg_advisory_lock(hashtext('steward.boot'))");
      const server = await spawnStart({ STEWARD_DATABASE_URL: empty.url });
      running.push(server);
      const said = () => logLines(server).filter(({ msg }) => msg === "still starting");
      await eventually(() => said().length >= 4, "it says that it is still starting", 60_000);
      const times = logLines(server).map(({ time }) => time as number);
      expect(Math.max(...times.slice(1).map((time, at) => time - times[at]!))).to.be.below(3_000 * slowness());
      await client.end();
      await eventually(() => server.stdout().includes("listening"), "the start is logged", 60_000);
      const count = said().length;
      expect(await stop(server)).to.equal(0);
      expect(said()).to.have.length(count);
    });

    it("responds to health probes alone while it waits for its turn to migrate", async () => {
      const client = await connected(empty.url);
      await client.query("select pg_advisory_lock(hashtext('steward.boot'))");
      const server = await spawnStart({ STEWARD_DATABASE_URL: empty.url });
      running.push(server);
      const nobody = new Client(server.url);
      await eventually(
        () =>
          fetch(`${server.url}/healthz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        "it is healthy",
        60_000,
      );
      expect(await nobody.get("/readyz")).to.deep.include({
        status: 503,
        body: { status: "unavailable", failed: ["migrations"] },
      });
      await eventually(() => server.stdout().includes("Waiting for another process"), "it says that it waits");
      expect(await countWaiting(client), "its snapshot would keep the other process from completing indexes").to.equal(
        0,
      );
      for (const path of ["/api/v2/groups", "/graphql", "/docs"]) await expectUnavailable(nobody.get(path));
      await client.end();
      await eventually(() => fetch(`${server.url}/readyz`).then(({ ok }) => ok), "it is ready", 60_000);
      expect((await nobody.get("/api/v2/groups")).status).to.equal(401);
    });
  });

  describe("at shutdown", () => {
    let database: TestDatabase;
    let locks: Postgres;

    beforeEach(async () => {
      database = await cloneDatabase();
      locks = await connected(database.url);
    });
    afterEach(async () => {
      await locks.end();
      await database.drop();
    });

    /** Starts a server with a request in progress, which `release` lets finish. */
    async function busyServer(settings: NodeJS.ProcessEnv = {}) {
      const patient = { STEWARD_REQUEST_TIMEOUT: "2m", STEWARD_SHUTDOWN_GRACE: "2m" };
      const server = await start({ STEWARD_DATABASE_URL: database.url, ...patient, ...settings });
      const token = await signIn(server);
      // The request waits for the end of a transaction with a group of the same name; jobs of the server wait for nothing.
      await locks.query(`begin; insert into groups (id, created_at, updated_at, organization_id, name)
        select gen_random_uuid(), now(), now(), id, 'slow' from organizations where is_default`);
      const slow = new Client(server.url, token).post("/api/v2/organizations/default/groups", { name: "slow" });
      await eventually(async () => (await countWaiting(locks)) === 1, "the request waits");
      return { server, token, slow, release: () => locks.query("rollback") };
    }

    it("finishes running requests, rejects new ones, and ends streams so that they resume elsewhere", async () => {
      const { server, token, slow, release } = await busyServer();
      const watchers = await Promise.all(Object.values(transports).map((connect) => connect(server.url, token)));
      server.child.kill("SIGTERM");

      const nobody = new Client(server.url);
      await eventually(async () => (await nobody.get("/readyz")).status === 503, "it is not ready");
      expect((await nobody.get("/readyz")).body).to.deep.equal({ status: "unavailable", failed: ["draining"] });
      expect((await nobody.get("/healthz")).status).to.equal(200);
      await expectUnavailable(nobody.get("/api/v2/groups"));
      expect(await Promise.all(watchers.map(({ ended }) => ended))).to.deep.equal([1012, 0, 0, 1012]);
      const late = transports.WebSocket(server.url, token).catch((error: Error) => error.message);
      expect(await late).to.equal("Rejected with 503.");
      expect(server.child.exitCode, "waits for the slow request").to.equal(null);

      await release();
      expect((await slow).status).to.equal(201);
      expect(await server.ended).to.equal(0);
      expect(server.stderr()).to.equal("");
    });

    it("keeps its compile cache for the next start", async () => {
      expect(await stop(await start({ STEWARD_DATABASE_URL: database.url }))).to.equal(0);
      const kept = await readdir("dist/compile-cache", { recursive: true, withFileTypes: true });
      expect(kept.filter((each) => each.isFile())).to.have.length.at.least(1);
    });

    for (const [what, listens] of [
      ["is down", false],
      ["does not respond", true],
    ] as const)
      it(`does not wait for a database that ${what}`, async () => {
        const silent = createServer(() => {}).listen(0, "127.0.0.1");
        await once(silent, "listening");
        const { port } = silent.address() as { port: number };
        if (!listens) silent.close();
        const server = await spawnStart({ STEWARD_DATABASE_URL: `postgres://steward@127.0.0.1:${port}/steward` });
        running.push(server);
        const isAlive = () =>
          fetch(`${server.url}/healthz`)
            .then(({ ok }) => ok)
            .catch(() => false);
        await eventually(isAlive, "it is healthy", 60_000);
        server.child.kill("SIGTERM");
        let status: unknown;
        void server.ended.then((ended) => (status = ended));
        await eventually(() => status !== undefined, "it ends");
        expect(status).to.equal(0);
        expect(server.stderr()).to.equal("");
        silent.close();
      });

    it("ends when the older Node process that started it is killed", async () => {
      // The first process claims to be Node 20; the one that it starts does not.
      const older = `if(!process.env.AGAIN){process.env.AGAIN="1";
        Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})}`;
      const options = [`--import=data:text/javascript,${encodeURIComponent(older)}`];
      const server = await start({ STEWARD_DATABASE_URL: database.url }, { options });
      server.child.kill("SIGKILL");
      const isServing = () =>
        fetch(`${server.url}/healthz`)
          .then(({ ok }) => ok)
          .catch(() => false);
      await eventually(async () => !(await isServing()), "it no longer responds");
      await server.ended;
      expect(logLines(server).map(({ msg }) => msg)).to.include("draining");
    });

    it("cuts off requests that outlast the grace period", async () => {
      const { server, slow } = await busyServer({ STEWARD_SHUTDOWN_GRACE: "1s" });
      const cut = slow.then(String, () => "cut");
      server.child.kill("SIGINT");
      expect(await server.ended).to.equal(0);
      expect(await cut).to.equal("cut");
    });

    it("ends immediately on a second signal", async () => {
      const { server, slow } = await busyServer();
      const cut = slow.then(String, () => "cut");
      server.child.kill("SIGTERM");
      await eventually(() => server.stdout().includes("draining"), "it is draining");
      server.child.kill("SIGTERM");
      expect(await server.ended).to.equal(1);
      expect(await cut).to.equal("cut");
    });

    it("logs an uncaught error, and exits with status 1", async () => {
      for (const defect of ["throw new Error('boom')", "Promise.reject(new Error('boom'))"]) {
        const preloaded = `data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(defect)}})`;
        const server = await start({ STEWARD_DATABASE_URL: database.url, NODE_OPTIONS: `--import=${preloaded}` });
        server.child.kill("SIGUSR2");
        expect(await server.ended).to.equal(1);
        expect(logLines(server).at(-1)).to.deep.include({ level: 60, msg: "uncaught exception" });
        expect(logLines(server).at(-1)).to.have.nested.property("err.message", "boom");
      }
    });
  });

  it("runs a Postgres of its own when no database is set, which survives a killed server and keeps its data", async () => {
    const settings = { STEWARD_DATA_DIR: join(folder, "data") };
    const first = await start(settings);
    const token = await signIn(first);
    const made = await new Client(first.url, token).post("/api/v2/organizations/default/groups", { name: "kept" });
    expect(made.status).to.equal(201);

    const second = await refused(settings);
    expect(second.stderr()).to.match(
      /^Steward failed to start: Another Steward server \(process \d+\) uses the data in .*STEWARD_DATA_DIR/,
    );
    expect(second.stderr()).to.include(`process ${first.child.pid}`);

    first.child.kill("SIGKILL");
    await first.ended;
    const third = await start(settings);
    const kept = await new Client(third.url, token).get(`/api/v2/groups/${made.body.id}`);
    expect(kept).to.deep.include({ status: 200 });
    expect(await stop(third)).to.equal(0);
    const left = await readdir(join(folder, "data", "postgres"), { recursive: true });
    expect(
      left.filter((name) => /postmaster\.pid$|\.lock$/.test(name)),
      "Postgres ends with its server",
    ).to.deep.equal([]);
  });

  it("stays up with few file descriptors and many silent connections, and responds to health probes", async () => {
    const server = await start({ STEWARD_DATA_DIR: join(folder, "data") }, { descriptors: 256 });
    const { hostname, port } = new URL(server.url);
    const silent = Array.from({ length: 400 }, () => {
      const socket = connectSocket(Number(port), hostname).on("error", () => {});
      socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
      return socket;
    });
    const healthy = async (path: string) => (await fetch(server.url + path, { headers: { Connection: "close" } })).ok;
    try {
      await eventually(() => silent.every(({ connecting }) => !connecting), "all are connected");
      await eventually(() => silent.filter(({ destroyed }) => !destroyed).length < 200, "most are closed");
      // Longer than the interval at which Postgres is checked.
      for (const end = Date.now() + 1_500; Date.now() < end; await sleep(50))
        expect([await healthy("/healthz"), await healthy("/readyz")]).to.deep.equal([true, true]);
      expect(await signIn(server)).to.match(/^stw_se_/);
    } finally {
      for (const socket of silent) socket.destroy();
    }
    expect(logLines(server).filter(({ level }) => Number(level) >= 50)).to.deep.equal([]);
    expect(await stop(server)).to.equal(0);
  });

  it("hashes as many passwords concurrently as configured, and has threads left for files and name lookups", async function () {
    if (process.platform !== "linux") this.skip();
    const server = await start({ STEWARD_DATABASE_URL: empty.url, STEWARD_HASH_CONCURRENCY: "5" });
    await Promise.all(Array.from({ length: 12 }, () => signIn(server)));
    const tasks = `/proc/${server.child.pid}/task`;
    const names = await Promise.all((await readdir(tasks)).map((id) => readFile(`${tasks}/${id}/comm`, "utf8")));
    expect(names.filter((name) => name === "libuv-worker\n")).to.have.length(9);
  });
});

async function expectUnavailable(answer: Promise<Answer>): Promise<void> {
  const { status, headers, body } = await answer;
  expect({ status, retry: headers.get("retry-after"), message: body.message }).to.deep.equal({
    status: 503,
    retry: "1",
    message: "The service is temporarily unavailable.",
  });
}

async function connected(url: string): Promise<Postgres> {
  const client = new Postgres(url);
  // Its database may be dropped after a failure of the test.
  client.on("error", () => {});
  await client.connect();
  return client;
}

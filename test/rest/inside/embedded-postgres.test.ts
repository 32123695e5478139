// Looks inside: the built-in Postgres is started, damaged, and killed without a server around it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { Client } from "pg";
import { canReach, readAndExecute } from "../../../src/infrastructure/embedded-postgres/account.js";
import { type Cluster, ClusterError, startCluster } from "../../../src/infrastructure/embedded-postgres/index.js";
import { isAlive } from "../../../src/infrastructure/embedded-postgres/processes.js";
import { eventually } from "../../support/watchers.js";

const root = process.getuid?.() === 0;
const silent = () => {};
const quiet = { info: silent, warn: silent, error: silent };
/** A user that programs of others run as. */
const nobody = { uid: 65534, gid: 65534 };
/** A user of its own. */
const ordinary = { uid: 1, gid: 1 };

describe("embedded Postgres", () => {
  let base: string;
  let directory: string;
  const clusters: Cluster[] = [];
  const owners: ChildProcess[] = [];

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "steward-cluster-"));
    await chmod(base, 0o755);
    directory = join(base, "new", "data", "postgres");
  });

  afterEach(async () => {
    for (const cluster of clusters.splice(0)) await cluster.stop();
    for (const owner of owners.splice(0)) await end(owner);
    const left = await postmaster(directory);
    if (left !== undefined && isAlive(left)) await (await start()).stop();
    clusters.length = 0;
    await rm(base, { recursive: true, force: true });
  });

  it("starts a Postgres that accepts only this machine and the password", async () => {
    const { url } = await start();
    const [settings] = await query(
      url,
      `select current_setting('TimeZone') zone, current_setting('listen_addresses') addresses,
              current_setting('unix_socket_directories') sockets, current_setting('max_connections')::int connections,
              lower('ÄRGER') lowered`,
    );
    expect(settings).to.deep.equal({
      zone: "UTC",
      addresses: "127.0.0.1",
      sockets: "",
      connections: 200,
      lowered: "ärger",
    });
    const wrong = new URL(url);
    wrong.password = "guess";
    expect(await failure(query(wrong.href, "select 1"))).to.match(/password authentication failed/);
    expect((await stat(join(directory, "cluster.json"))).mode & 0o777).to.equal(0o600);
    expect((await stat(directory)).mode & 0o067).to.equal(0);
  });

  it("stops without leaving a process or a lock, and keeps data and address for the next start", async () => {
    const first = await start();
    await query(first.url, "create table kept as select 42 as number");
    const pid = (await postmaster(directory))!;
    await Promise.all([first.stop(), first.stop()]);
    expect(isAlive(pid)).to.equal(false);
    expect((await readdir(directory)).filter((name) => name.endsWith(".lock"))).to.deep.equal([]);

    const second = await start();
    expect(second.url).to.equal(first.url);
    expect(await query(second.url, "select number from kept")).to.deep.equal([{ number: 42 }]);
  });

  it("rejects a second server on the same folder, and keeps the first one running", async () => {
    const { owner, url } = await startOwner();
    const refused = await start().catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ClusterError);
    expect(String(refused)).to.include(`process ${owner.pid}`).and.to.include("STEWARD_DATA_DIR");
    const own = await startOwner({ expectError: true });
    expect(own.error).to.include(`process ${owner.pid}`);
    expect(await query(url, "select 1 one")).to.deep.equal([{ one: 1 }]);
  });

  it("takes over the Postgres of a server that was killed", async () => {
    const { owner, url } = await startOwner();
    await query(url, "create table kept as select 42 as number");
    const pid = (await postmaster(directory))!;
    await kill(owner, "SIGKILL");
    expect(isAlive(pid)).to.equal(true);

    const cluster = await start();
    expect(cluster.url).to.equal(url);
    expect(await postmaster(directory)).to.equal(pid);
    expect(await query(url, "select number from kept")).to.deep.equal([{ number: 42 }]);
    await cluster.stop();
    expect(isAlive(pid)).to.equal(false);
  });

  it("keeps Postgres running on Ctrl-C, which signals the whole process group", async () => {
    const { owner, url } = await startOwner();
    const pid = (await postmaster(directory))!;
    process.kill(-owner.pid!, "SIGINT");
    await once(owner, "exit");
    expect(isAlive(pid)).to.equal(true);
    expect(await query(url, "select 1 one")).to.deep.equal([{ one: 1 }]);
  });

  it("restarts a Postgres that died, at the same address, and stops the new one in the end", async () => {
    const cluster = await start();
    const { url } = cluster;
    await query(url, "create table kept as select 42 as number");
    for (let round = 0; round < 2; round++) {
      const pid = (await postmaster(directory))!;
      process.kill(pid, "SIGKILL");
      await until(async () => !isAlive(pid) && (await postmaster(directory)) !== pid);
      await until(() => query(url, "select number from kept").then(([row]) => row?.number === 42));
    }
    const last = (await postmaster(directory))!;
    await cluster.stop();
    expect(isAlive(last)).to.equal(false);
  });

  it("stops while it restarts a Postgres that was killed, without waiting for the restart", async () => {
    const restarting = Promise.withResolvers<void>();
    const cluster = await start({ error: () => restarting.resolve() });
    const pid = (await postmaster(directory))!;
    process.kill(pid, "SIGKILL");
    await restarting.promise;
    await cluster.stop();
    await until(async () => {
      const left = await postmaster(directory);
      return left === undefined || !isAlive(left);
    });
    expect(await readdir(directory)).not.to.include(`server-${process.pid}.lock`);
  });

  it("leaves Postgres alone while out of file descriptors to check it, and restarts it afterwards", async () => {
    const { owner, url, tell } = await startOwner({ descriptors: 128 });
    await query(url, "create table kept as select 42 as number");
    const pid = (await postmaster(directory))!;
    await tell("exhaust");
    await survives(owner);
    expect(await postmaster(directory)).to.equal(pid);

    process.kill(pid, "SIGKILL");
    await survives(owner);
    await tell("release");
    await until(() => query(url, "select number from kept").then(([row]) => row?.number === 42));
    expect(await postmaster(directory)).not.to.equal(pid);
  });

  it("starts after server and Postgres were killed and other processes took their process ids", async () => {
    const { owner, url } = await startOwner();
    await query(url, "create table kept as select 42 as number");
    const pid = (await postmaster(directory))!;
    await kill(owner, "SIGKILL");
    process.kill(pid, "SIGKILL");
    await until(async () => !isAlive(pid));

    const major = await majorVersion(directory);
    const pidFile = join(directory, major, "postmaster.pid");
    const lines = (await readFile(pidFile, "utf8")).split("\n");
    await writeFile(pidFile, [process.pid, ...lines.slice(1)].join("\n"));
    await writeFile(join(directory, `server-${process.ppid}.lock`), JSON.stringify({ pid: process.ppid, started: "" }));
    await writeFile(join(directory, "server-1.lock"), "");
    await mkdir(join(directory, `${major}.new`));

    const cluster = await start();
    expect(await query(cluster.url, "select number from kept")).to.deep.equal([{ number: 42 }]);
  });

  it("moves to another port if its own was taken while it was down", async () => {
    const first = await start();
    await first.stop();
    const squatter = createServer().listen(Number(new URL(first.url).port), "127.0.0.1");
    await once(squatter, "listening");
    try {
      const second = await start();
      expect(second.url).not.to.equal(first.url);
      expect(await query(second.url, "select 1 one")).to.deep.equal([{ one: 1 }]);
    } finally {
      squatter.close();
    }
  });

  it("rejects data of another major version instead of creating a new database", async () => {
    await mkdir(join(directory, "9"), { recursive: true });
    await writeFile(join(directory, "cluster.json"), JSON.stringify({ password: "x", port: 1 }));
    expect(await failure(start()))
      .to.include("Postgres 9")
      .and.to.include("STEWARD_DATABASE_URL");
  });

  it("runs as an ordinary user", async function () {
    const source = fileURLToPath(new URL("../../support/cluster-owner.ts", import.meta.url));
    if (!root || !canReach(ordinary, source, 0o4) || !canReach(ordinary, process.execPath, readAndExecute)) this.skip();
    await mkdir(directory, { recursive: true });
    await chown(directory, ordinary.uid, ordinary.gid);

    const { owner, url } = await startOwner({ account: ordinary });
    expect(await query(url, "select 1 one")).to.deep.equal([{ one: 1 }]);
    expect((await stat(join(directory, await majorVersion(directory)))).uid).to.equal(ordinary.uid);
    await end(owner);
    expect(await postmaster(directory)).to.equal(undefined);

    // Root continues with the data under the user's ownership, and leaves it usable for that user.
    await (await start()).stop();
    expect((await startOwner({ account: ordinary })).url).to.equal(url);
  });

  it("runs, if started by root, as a user that no other program runs as, and lets no other user at its files", async function () {
    if (!root) this.skip();
    const { url } = await start();
    const data = join(directory, await majorVersion(directory));
    const files = await stat(data);
    const program = await stat(`/proc/${await postmaster(directory)}`);
    expect(program.uid).to.equal(files.uid);
    expect(spawnSync("id", ["-u", String(files.uid)]).status, "a user with a name").not.to.equal(0);
    for (const path of [data, join(data, "base"), join(data, "postgresql.conf"), join(data, "global", "pg_control")])
      expect(await stat(path), path).to.include({ uid: files.uid, gid: files.gid });
    const intrude = `touch "$0/intruded" || cat "$0/PG_VERSION" || cat "$(dirname "$0")/cluster.json" || ls "$(dirname "$0")"`;
    for (const account of [nobody, ordinary])
      expect(spawnSync("/bin/sh", ["-c", intrude, data], { ...account, cwd: "/" }).status).not.to.equal(0);
    expect(await query(url, "select 1 one")).to.deep.equal([{ one: 1 }]);
  });

  it("takes over data of the shared user that an earlier release ran Postgres as", async function () {
    const module = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const program = fileURLToPath(new URL("../native/bin/postgres", module));
    if (!root || !canReach(nobody, program, readAndExecute)) this.skip();
    const first = await start();
    await query(first.url, "create table kept as select 42 as number");
    await first.stop();
    const data = join(directory, await majorVersion(directory));
    spawnSync("chown", ["-R", `${nobody.uid}:${nobody.gid}`, data]);
    for (const path of [directory, join(directory, "..")]) await chown(path, 0, nobody.gid);
    const port = new URL(first.url).port;
    const former = spawn(program, ["-D", data, "-c", `port=${port}`, "-c", "unix_socket_directories="], {
      ...nobody,
      stdio: "ignore",
    });
    const ended = once(former, "exit");
    await until(() => query(first.url, "select number from kept").then(([row]) => row?.number === 42));

    const second = await start();
    await ended;
    expect(await query(second.url, "select number from kept")).to.deep.equal([{ number: 42 }]);
    const owner = (await stat(`/proc/${await postmaster(directory)}`)).uid;
    expect(owner).not.to.be.oneOf([0, nobody.uid]);
    const left = spawnSync("find", [directory, "-uid", String(nobody.uid)], { encoding: "utf8" });
    expect(left.stdout).to.equal("");
    await query(second.url, "insert into kept values (43)");
  });

  it("moves the data, when run as root, if its Postgres user cannot reach the data directory", async function () {
    if (!root) this.skip();
    await chmod(base, 0o700);
    const told: unknown[] = [];
    const cluster = await start({ warn: (...entry: unknown[]) => void told.push(entry) });
    const { home }: { home: string } = JSON.parse(await readFile(join(directory, "cluster.json"), "utf8"));
    try {
      expect(told).to.have.length(1);
      await query(cluster.url, "create table kept as select 42 as number");
      await cluster.stop();
      expect(await query((await start()).url, "select number from kept")).to.deep.equal([{ number: 42 }]);
      await clusters.at(-1)!.stop();
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  async function start(log: { warn?: () => void; error?: () => void } = {}): Promise<Cluster> {
    const cluster = await startCluster({ directory, fsync: false, log: { ...quiet, ...log } });
    clusters.push(cluster);
    return cluster;
  }

  interface OwnerOptions {
    account?: { uid: number; gid: number };
    expectError?: boolean;
    /** Maximum number of open files and sockets. */
    descriptors?: number;
  }

  /** Starts the cluster in a process of its own. */
  async function startOwner({ account, expectError = false, descriptors }: OwnerOptions = {}) {
    const script = fileURLToPath(new URL("../../support/cluster-owner.ts", import.meta.url));
    const loader = fileURLToPath(new URL("../../../tools/ts-loader.mjs", import.meta.url));
    const bound = descriptors === undefined ? "" : `ulimit -n ${descriptors};`;
    const program = [process.execPath, "--import", loader, script, directory];
    const owner = spawn("/bin/sh", ["-c", `${bound} exec "$@"`, "sh", ...program], {
      ...account,
      detached: true,
      stdio: ["pipe", "pipe", "inherit"],
    });
    owners.push(owner);
    const lines = createInterface(owner.stdout);
    const [line]: string[] = await once(lines, "line");
    const { url = "", error = "" }: { url?: string; error?: string } = JSON.parse(line!);
    expect(error !== "", error).to.equal(expectError);
    const tell = async (command: string) => {
      owner.stdin.write(`${command}\n`);
      expect(await once(lines, "line")).to.deep.equal([command]);
    };
    return { owner, url, error, tell };
  }
});

/** Lets an owner stop its cluster, and waits until it has exited. */
async function end(owner: ChildProcess): Promise<void> {
  if (owner.exitCode !== null || owner.signalCode !== null) return;
  const exited = once(owner, "exit");
  owner.stdin!.end();
  await exited;
}

async function kill(owner: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(owner, "exit");
  owner.kill(signal);
  await exited;
}

/** Expects that a process outlives the interval between two checks of Postgres. */
async function survives(owner: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 1_200; Date.now() < deadline; await sleep(50))
    expect(owner.exitCode).to.equal(null);
}

async function postmaster(directory: string): Promise<number | undefined> {
  const major = await majorVersion(directory).catch(() => "");
  const file = await readFile(join(directory, major, "postmaster.pid"), "utf8").catch(() => undefined);
  return file === undefined ? undefined : Number.parseInt(file, 10);
}

/** The name of the folder that holds the data. */
async function majorVersion(directory: string): Promise<string> {
  return (await readdir(directory)).find((name) => /^\d+$/.test(name)) ?? "";
}

async function query(url: string, sql: string): Promise<Array<Record<string, unknown>>> {
  const client = new Client(url);
  client.on("error", () => {}); // a killed server also ends idle connections; the query's own failure is what counts
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

const failure = (attempt: Promise<unknown>) =>
  attempt.then(
    () => expect.fail("expected a failure"),
    (error: unknown) => String(error),
  );

/** Waits until the condition holds. A failed attempt counts as false. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  await eventually(() => condition().catch(() => false), "the condition holds", 15_000);
}

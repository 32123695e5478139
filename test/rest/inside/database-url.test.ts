// The connections that a server makes by the URL of its database.
// Looks inside: Postgres tells which connections a server made.
import { createServer, connect as connectSocket, type Socket } from "node:net";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { type App, loggedFromInfo, startServer } from "../../support/app.js";
import { certificate, certificateKey, PostgresServer } from "../../support/postgres-server.js";
import { command } from "../../support/process.js";
import { eventually } from "../../support/watchers.js";
import { Client } from "../../support/world.js";

const ready = async ({ url }: App) => (await new Client(url).get("/readyz")).status === 200;

describe("the URL of the database", () => {
  let postgres: PostgresServer;
  let app: App | undefined;
  before(async () => {
    postgres = await PostgresServer.create();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await postgres.stop();
  });
  after(() => postgres.remove());

  /** Starts a server with a query string of the URL, and asks for the connections that it has. */
  async function connections(query: string, host?: string, client = postgres.url()) {
    app = await startServer(postgres.url(query, host));
    expect(await ready(app)).to.equal(true);
    const rows = await postgres.query<{ name: string; ssl: boolean; address: string | null; peer: string | null }>(
      `select application_name as name, ssl, host(client_addr) as address, client_dn as peer
       from pg_stat_activity join pg_stat_ssl using (pid) where application_name <> '' and state in ('idle', 'active')`,
      client,
    );
    const kinds = rows.map(({ name, ...others }) => `${name} ${JSON.stringify(others)}`);
    return [...new Set(kinds)];
  }
  const both = (details: object) => ["steward", "steward events"].map((name) => `${name} ${JSON.stringify(details)}`);
  const secure = { ssl: true, address: "127.0.0.1", peer: null };
  const clear = { ssl: false, address: "127.0.0.1", peer: null };

  /** Starts a server that cannot connect, and returns what it says to wait for. */
  async function waitsFor(query: string, host?: string): Promise<string> {
    const before = loggedFromInfo.length;
    const stopping = new AbortController();
    const starting = startServer(postgres.url(query, host), {}, {}, stopping.signal).then(
      () => "started",
      () => "stopped",
    );
    const line = () => loggedFromInfo.slice(before).find(({ msg }) => msg === "Waiting for the database.");
    await eventually(() => line() !== undefined, "it says that it waits");
    stopping.abort();
    expect(await starting).to.equal("stopped");
    return String(line()!.reason);
  }

  const onlyTls = "hostssl all all all scram-sha-256\nhostnossl all all all reject";

  it("connects by TLS to a database that insists on it, on every connection", async () => {
    await postgres.start({ tls: true, access: onlyTls });
    const asked = postgres.url("?sslmode=no-verify");
    for (const query of ["", "?sslmode=allow", "?sslmode=prefer", "?sslmode=require", "?ssl=true"]) {
      expect(await connections(query, undefined, asked), query).to.have.members(both(secure));
      await app!.close();
      app = undefined;
    }
    expect(await waitsFor("?sslmode=disable")).to.match(/no encryption|rejects connection/);
    const { status, stdout } = await command({ STEWARD_DATABASE_URL: postgres.url("?sslmode=require") }, "migrate");
    expect([status, stdout]).to.deep.equal([0, "The database is up to date.\n"]);
  });

  it("starts TLS directly if told to", async () => {
    await postgres.start({ tls: true, access: onlyTls });
    const asked = postgres.url("?sslmode=no-verify");
    expect(await connections("?sslmode=require&sslnegotiation=direct", undefined, asked)).to.have.members(both(secure));
  });

  it("verifies the certificate of the server as told to", async () => {
    await postgres.start({ tls: true });
    const root = `sslrootcert=${encodeURIComponent(certificate)}`;
    const local = `127.0.0.1:${postgres.port}`;
    const other = `127.0.0.2:${postgres.port}`;
    for (const [query, host] of [
      [`?sslmode=verify-full&${root}`, local],
      [`?sslmode=verify-full&${root}`, `localhost:${postgres.port}`],
      [`?${root}`, local],
    ] as const) {
      expect(await connections(query, host), query).to.have.members(both(secure));
      await app!.close();
      app = undefined;
    }
    for (const mode of ["require", "verify-ca"]) {
      app = await startServer(postgres.url(`?sslmode=${mode}&${root}`, other));
      expect(await ready(app), `${mode} does not compare the name`).to.equal(true);
      await app.close();
      app = undefined;
    }
    expect(await waitsFor(`?sslmode=verify-full&${root}`, other)).to.match(/127\.0\.0\.2.*not in the cert/);
    expect(await waitsFor(`?sslmode=verify-full`, local), "by the usual authorities").to.match(/self.signed/);
    expect(await waitsFor(`?sslmode=verify-full&sslrootcert=system`, local)).to.match(/self.signed/);
  });

  it("presents a certificate of its own", async () => {
    await postgres.start({ tls: true, settings: { ssl_ca_file: "server.crt" } });
    await postgres.query(`create role localhost superuser login`);
    await postgres.stop();
    await postgres.start({
      tls: true,
      settings: { ssl_ca_file: "server.crt" },
      access: "hostssl all localhost all cert\nhost all all all scram-sha-256",
    });
    const query = `?sslmode=require&sslcert=${certificate}&sslkey=${certificateKey}&user=localhost`;
    expect(await connections(query)).to.have.members(both({ ...secure, peer: "/CN=localhost" }));
  });

  it("speaks in clear text to a database without TLS, unless TLS is required", async () => {
    await postgres.start();
    expect(await connections("")).to.have.members(both(clear));
    expect(await waitsFor("?sslmode=require")).to.match(/does not support SSL/);
  });

  it("names a Unix socket", async () => {
    const directory = join(postgres.directory, "socket");
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o777);
    await postgres.start({ settings: { unix_socket_directories: directory, listen_addresses: "" } });
    const query = `?host=${directory}&port=${postgres.port}&sslmode=require`;
    const local = { ssl: false, address: null, peer: null };
    expect(await connections(query, "", postgres.url(`?host=${directory}&port=${postgres.port}`))).to.have.members(
      both(local),
    );
    await app!.close();
    const encoded = postgres.url("", `${encodeURIComponent(directory)}:${postgres.port}`);
    app = await startServer(encoded);
    expect(await ready(app)).to.equal(true);
  });

  it("has a name and a timeout for its connections", async () => {
    await postgres.start();
    expect(await connections("?application_name=tuesday&connect_timeout=3")).to.deep.equal([
      `tuesday ${JSON.stringify(clear)}`,
    ]);
  });

  it("waits for a standby to become the primary, and says so", async () => {
    await postgres.start({ standby: true });
    const before = loggedFromInfo.length;
    const starting = startServer(postgres.url());
    const reasons = () => loggedFromInfo.slice(before).map(({ reason }) => String(reason));
    await eventually(() => reasons().some((reason) => reason.includes("standby")), "it says that it waits");
    await postgres.promote();
    app = await starting;
    expect(await ready(app)).to.equal(true);
  });

  it("names several servers, of which the primary is used, whichever it is", async () => {
    const other = await postgres.copy();
    try {
      await postgres.start({ standby: true });
      await other.start();
      const hosts = `127.0.0.1:${postgres.port},127.0.0.1:${other.port}`;
      app = await startServer(postgres.url("?target_session_attrs=read-write", hosts));
      expect(await ready(app)).to.equal(true);
      await other.stop();
      await postgres.promote();
      await eventually(() => ready(app!), "it uses the new primary", 20_000);
    } finally {
      await app?.close();
      app = undefined;
      await other.stop();
    }
  });

  it("makes the settings of sessions by statements, since poolers reject them as startup options", async () => {
    await postgres.start();
    const pooler = await strictPooler(postgres.port);
    try {
      app = await startServer(postgres.url("?sslmode=disable", `127.0.0.1:${pooler.port}`));
      expect(await ready(app)).to.equal(true);
      expect([...pooler.parameters].sort()).to.deep.equal(["application_name", "client_encoding", "database", "user"]);
    } finally {
      await app?.close();
      app = undefined;
      pooler.close();
    }
  });

  it("is given up by the kernel if the database has vanished", async function () {
    if (process.platform !== "linux") this.skip();
    await postgres.start();
    app = await startServer(postgres.url());
    // The remote port in hexadecimal, the state (01: established), and the timer (02: keep-alive).
    const port = postgres.port.toString(16).toUpperCase().padStart(4, "0");
    const timers = () =>
      readFileSync("/proc/self/net/tcp", "utf8")
        .split("\n")
        .filter((line) => new RegExp(`^ *\\d+: \\w+:\\w+ \\w+:${port} 01 `).test(line))
        .map((line) => / \w+:\w+ (\w\w):\w+ /.exec(line)![1]);
    // A connection that has just sent something has another timer.
    await eventually(() => timers().length > 1 && timers().every((timer) => timer === "02"), "all are kept alive");
  });
});

/** A proxy that accepts only startup parameters that every pooler does. */
async function strictPooler(port: number) {
  const parameters = new Set<string>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connectSocket(port, "127.0.0.1");
    for (const socket of [client, database]) sockets.add(socket.on("error", () => client.destroy()));
    client.once("data", (bytes) => {
      // The length, the version, and pairs of names and values that end in a zero byte.
      const names = bytes
        .subarray(8)
        .toString()
        .split("\0")
        .filter((_, index) => index % 2 === 0)
        .filter(Boolean);
      for (const name of names) parameters.add(name);
    });
    client.pipe(database).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as { port: number }).port, parameters, close };
}

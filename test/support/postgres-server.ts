// A Postgres server of a test's own, which can be started with other settings, with TLS, or as a standby.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { startCluster } from "./cluster.js";
import { freePort } from "./ports.js";

/** The certificate of `localhost` and 127.0.0.1, which is its own authority. */
export const certificate = new URL("certificates/localhost.crt", import.meta.url).pathname;
export const certificateKey = new URL("certificates/localhost.key", import.meta.url).pathname;

interface Conditions {
  settings?: Record<string, string>;
  /** Lines of `pg_hba.conf`: who may connect, and how. Default: anyone, by password. */
  access?: string;
  /** Only reads, as the copy of another server. */
  standby?: boolean;
  tls?: boolean;
}

export class PostgresServer {
  #child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    /** Directory that the account of the server can write to. */
    readonly directory: string,
    private readonly data: string,
    private readonly binaries: string,
    private readonly password: string,
  ) {}

  /** Creates a server, which is not started. */
  static async create(): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), "steward-postgres-"));
    const log = { info: () => {}, warn: () => {}, error: console.error };
    const cluster = await startCluster({ directory, fsync: false, log });
    const client = new Client(cluster.url);
    await client.connect();
    const { rows } = await client.query<{ data: string; binaries: string }>(
      `select current_setting('data_directory') as data, (select setting from pg_config where name = 'BINDIR') as binaries`,
    );
    await client.end();
    await cluster.stop();
    const { data, binaries } = rows[0]!;
    return new PostgresServer(await freePort("127.0.0.1"), directory, data, binaries, new URL(cluster.url).password);
  }

  /** Copies a server that is stopped. */
  async copy(): Promise<PostgresServer> {
    const data = `${this.data}-copy`;
    const child = spawn("cp", ["-a", this.data, data], { stdio: "inherit" });
    await once(child, "exit");
    return new PostgresServer(await freePort("127.0.0.1"), this.directory, data, this.binaries, this.password);
  }

  /** The URL of the superuser and the `postgres` database. `query` begins with a question mark. */
  url(query = "", host = `127.0.0.1:${this.port}`): string {
    return `postgres://steward:${this.password}@${host}/postgres${query}`;
  }

  async start({ settings = {}, access, standby = false, tls = false }: Conditions = {}): Promise<void> {
    this.#write("pg_hba.conf", access ?? "host all all all scram-sha-256\nlocal all all scram-sha-256");
    if (standby) this.#write("standby.signal", "");
    if (tls) this.#copy(certificate, "server.crt");
    if (tls) this.#copy(certificateKey, "server.key");
    const all = {
      listen_addresses: "127.0.0.1,127.0.0.2",
      port: String(this.port),
      unix_socket_directories: "",
      fsync: "off",
      ...(tls ? { ssl: "on" } : {}),
      ...settings,
    };
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const { uid, gid } = statSync(this.data);
    this.#child = spawn(join(this.binaries, "postgres"), ["-D", this.data, ...options], {
      ...(process.getuid?.() === 0 ? { uid, gid } : {}),
      cwd: this.data,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    const started = new Promise<void>((resolve, reject) => {
      this.#child!.stderr!.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("ready to accept")) resolve();
      });
      this.#child!.once("exit", () => reject(new Error(output)));
    });
    await started;
  }

  /** Runs a statement as the superuser. */
  async query<Row extends object>(sql: string, url = this.url()): Promise<Row[]> {
    const client = new Client(url);
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Makes a standby the primary. */
  promote = () => this.query("select pg_promote()");

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    child.kill("SIGQUIT");
    await once(child, "exit");
  }

  /** Stops it and removes its files and those of its copies. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.data, name), `${text}\n`);
    this.#own(name);
  }

  #copy(from: string, name: string): void {
    copyFileSync(from, join(this.data, name));
    this.#own(name);
  }

  #own(name: string): void {
    const { uid, gid } = statSync(this.data);
    chownSync(join(this.data, name), uid, gid);
    chmodSync(join(this.data, name), 0o600);
  }
}

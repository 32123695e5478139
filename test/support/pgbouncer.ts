// PgBouncer, started from the packages of Debian.
// Looks inside: runs as the account that runs the built-in Postgres, since it does not run as root.
import { chownSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { chooseAccount } from "../../src/infrastructure/embedded-postgres/account.js";
import { freePort } from "./ports.js";
import type { Packages, Program, Unpacked } from "../../tools/debian.js";

/** PgBouncer 1.18, which keeps no prepared statements in transaction mode. */
export const oldPgBouncer: Packages = {
  release: "bookworm",
  names:
    "pgbouncer libevent-2.1-7 libc-ares2 libc6 libpam0g libssl3 libsystemd0 libcap2 libgcrypt20 libgpg-error0 liblzma5 libzstd1 liblz4-1 libaudit1 libcap-ng0".split(
      " ",
    ),
};

/** PgBouncer 1.24, which can. */
export const newPgBouncer: Packages = {
  release: "trixie",
  names:
    "pgbouncer libevent-2.1-7t64 libcares2 libc6 libpam0g libssl3t64 libsystemd0 libcap2 libaudit1 libcap-ng0 libzstd1 zlib1g".split(
      " ",
    ),
};

export type PoolMode = "session" | "transaction" | "statement";

export interface PgBouncerOptions {
  mode: PoolMode;
  /** Connections to each database. */
  servers: number;
  /** Further lines of its settings. */
  settings?: readonly string[];
}

export class PgBouncer {
  #running: Program | undefined;

  private constructor(
    private readonly program: Unpacked,
    private readonly target: URL,
    private readonly port: number,
    private readonly directory: string,
  ) {}

  /** Starts it in front of the server that `target` names. */
  static async start(program: Unpacked, target: string, options: PgBouncerOptions): Promise<PgBouncer> {
    const directory = await mkdtemp(join(tmpdir(), "steward-pgbouncer-"));
    const bouncer = new PgBouncer(program, new URL(target), await freePort("127.0.0.1"), directory);
    bouncer.#configure(options);
    await bouncer.start();
    return bouncer;
  }

  /** The URL of a database through it. */
  url(database: string): string {
    const url = new URL(database);
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  async start(): Promise<void> {
    const account = chooseAccount(this.directory);
    const words = [join(this.directory, "settings")];
    this.#running = await this.program.start("usr/sbin/pgbouncer", words, { ready: "process up", account });
  }

  /** Runs a command on its console, and returns the rows. */
  async administer<Row extends object>(command: string): Promise<Row[]> {
    const client = new Client(this.url(Object.assign(new URL(this.target), { pathname: "pgbouncer" }).href));
    await client.connect();
    try {
      return (await client.query<Row>(command)).rows;
    } finally {
      await client.end();
    }
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }

  /** Ends it, and removes its files. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #configure({ mode, servers, settings = [] }: PgBouncerOptions): void {
    const user = decodeURIComponent(this.target.username);
    const password = decodeURIComponent(this.target.password);
    this.#write("users", `"${user}" "${password}"`);
    this.#write(
      "settings",
      "[databases]",
      `* = host=${this.target.hostname} port=${this.target.port || 5432}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${this.port}`,
      "unix_socket_dir =",
      "auth_type = scram-sha-256",
      `auth_file = ${join(this.directory, "users")}`,
      `admin_users = ${user}`,
      `pool_mode = ${mode}`,
      `default_pool_size = ${servers}`,
      "max_client_conn = 500",
      ...settings,
    );
    const account = chooseAccount(this.directory);
    if (account) chownSync(this.directory, account.uid, account.gid);
  }

  #write(name: string, ...lines: string[]): void {
    const path = join(this.directory, name);
    writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o600 });
    const account = chooseAccount(this.directory);
    if (account) chownSync(path, account.uid, account.gid);
  }
}

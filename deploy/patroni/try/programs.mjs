// The programs of the cluster: from packages of Debian, as an account that is not root, ended with this process.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, openSync, readFileSync, readdirSync } from "node:fs";
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { join } from "node:path";
import { unpack } from "./debian.mjs";

const release = "bookworm";

/** The programs, and the libraries that they need besides the C library, which is that of this machine. */
const packages = `
  patroni python3-cdiff python3-click python3-dateutil python3-dnspython python3-etcd python3-pkg-resources
  python3-prettytable python3-psutil python3-psycopg2 python3-six python3-urllib3 python3-wcwidth python3-yaml
  python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 libffi8 libyaml-0-2
  postgresql-15 postgresql-client-15 libpq5 libicu72 libxml2 libxslt1.1 libldap-2.5-0 libsasl2-2 libreadline8 libtinfo6
  etcd-server
  haproxy liblua5.3-0 libopentracing1 libopentracing-c-wrapper0 libcrypt1
  libssl3 zlib1g libzstd1 liblz4-1 liblzma5 libbz2-1.0 libstdc++6 libgcc-s1 libuuid1 libpcre2-8-0 libselinux1 libsystemd0
  libcap2 libgcrypt20 libgpg-error0 libpam0g libaudit1 libcap-ng0 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0
  libkeyutils1 libcom-err2 libgnutls30 libp11-kit0 libtasn1-6 libidn2-0 libunistring2 libnettle8 libhogweed6 libgmp10`
  .trim()
  .split(/\s+/);

export class Programs {
  /** The processes that run, by the names of the programs. */
  #running = new Map();
  #root;
  #guard;

  /** `directory` is for everything that they read and write. */
  constructor(directory) {
    this.directory = directory;
    this.account = process.getuid() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : undefined;
    chmodSync(directory, 0o755);
    // However this process ends, its pipe to the shell closes, and the shell ends the programs and removes their files.
    this.#guard = spawn("/bin/sh", ["-c", afterwards, directory], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
  }

  /** Downloads and unpacks the packages. */
  async unpack() {
    this.#root = join(this.directory, "packages");
    mkdirSync(this.#root);
    await unpack(release, packages, this.#root);
  }

  /** Creates a directory that the programs can write to. */
  folder(name) {
    const path = join(this.directory, name);
    mkdirSync(path, { mode: 0o700 });
    this.own(path);
    return path;
  }

  /** Gives a file to the account of the programs. */
  own(path) {
    if (this.account) chownSync(path, this.account.uid, this.account.gid);
  }

  path(program) {
    return join(this.#root, program);
  }

  /** Starts a program by its path in the packages. It writes its log to `<name>.log`. */
  start(name, program, words, env = {}) {
    const libraries = ["lib", "usr/lib"].flatMap((folder) =>
      readdirSync(join(this.#root, folder))
        .filter((each) => each.includes("-linux-gnu"))
        .map((each) => join(this.#root, folder, each)),
    );
    const log = openSync(join(this.directory, `${name}.log`), "a");
    const child = spawn(this.path(program), words, {
      ...this.account,
      cwd: this.directory,
      env: {
        PATH: [this.directory, this.path("usr/lib/postgresql/15/bin"), process.env.PATH].join(":"),
        LD_LIBRARY_PATH: libraries.join(":"),
        PYTHONHOME: this.path("usr"),
        PYTHONPATH: this.path("usr/lib/python3/dist-packages"),
        PYTHONDONTWRITEBYTECODE: "1",
        LANG: "C.UTF-8",
        ...env,
      },
      stdio: ["ignore", log, log],
    });
    child.on("error", (error) => console.error(`${name}: ${error.message}`));
    child.once("exit", () => this.#running.get(name) === child && this.#running.delete(name));
    this.#running.set(name, child);
  }

  isRunning(name) {
    return this.#running.has(name);
  }

  /** Ends a program and the Postgres in `data` without a chance to do anything more, as the loss of a machine does. */
  async kill(name, data) {
    const child = this.#running.get(name);
    const exited = child && new Promise((resolve) => child.once("exit", resolve));
    child?.kill("SIGKILL");
    const postmaster = data && postmasterOf(data);
    const all = postmaster ? [postmaster, ...childrenOf(postmaster)] : [];
    for (const pid of all) end(pid);
    await exited;
    while (all.some(isThere)) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Ends all programs, and removes their files. */
  async close() {
    const gone = new Promise((resolve) => this.#guard.once("exit", resolve));
    this.#guard.stdin.end();
    await gone;
  }
}

/** Ends all processes of which a directory is the working directory or above it, and removes it. */
const afterwards = `
  read -r _
  for round in 1 2 3; do
    for each in /proc/[0-9]*; do
      case "$(readlink "$each/cwd") " in "$0 "* | "$0/"*) kill -9 "\${each#/proc/}" ;; esac
    done
    sleep 0.1
  done
  rm -rf "$0"`;

/** The number of the account that runs the programs in place of root. */
const idOf = (option) => Number(execFileSync("id", [option, "nobody"]));

function postmasterOf(data) {
  try {
    return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  } catch {
    return undefined;
  }
}

/** The fields of a process, from its state on (proc(5)). */
const stateOf = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
};
const childrenOf = (parent) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && stateOf(name)[1] === String(parent))
    .map(Number);
const isThere = (pid) => !["Z", "X", undefined].includes(stateOf(pid)[0]);

function end(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** Below the ports that systems give to outgoing connections, one of which could be taken before it is used. */
export async function freePort() {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const isFree = await new Promise((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

// Three nodes of Postgres with Patroni, an etcd, and an HAProxy, on one machine.
import { randomBytes } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Link } from "./link.mjs";
import { freePort, Programs } from "./programs.mjs";

const host = "127.0.0.1";
const files = new URL("..", import.meta.url).pathname;
const secret = () => randomBytes(18).toString("base64url");

export class Cluster {
  nodes = ["node1", "node2", "node3"].map((name) => ({ name }));
  #programs;
  #passwords = { superuser: secret(), replication: secret(), steward: secret() };
  #options;

  /** `options`: the port of the primary, or 0 for a free one, and the seconds after which a leader is replaced. */
  constructor(directory, options) {
    this.#programs = new Programs(directory);
    this.#options = options;
  }

  /** The URL of the database for Steward. */
  get url() {
    return `postgres://steward:${this.#passwords.steward}@${host}:${this.#options.port}/steward`;
  }

  /** The URL of the standbys. */
  get standbyUrl() {
    return `postgres://steward:${this.#passwords.steward}@${host}:${this.#options.standbyPort}/steward?target_session_attrs=any`;
  }

  /** Starts everything. Tells `report` about each step. */
  async start(report) {
    await this.#programs.unpack();
    report("The packages are unpacked.");
    for (const name of ["patroni.yml", "haproxy.cfg", "create-steward"])
      copyFileSync(join(files, name), join(this.#programs.directory, name));
    await this.#startEtcd();
    report("etcd runs.");
    for (const node of this.nodes) await this.#prepare(node);
    for (const node of this.nodes) this.startNode(node);
    await this.#until("a node is the leader", 90, async () => (await this.members()).some(isLeader));
    report(`Postgres is created on ${await this.nameOf("leader")}.`);
    await this.#setTimes();
    await this.#startProxy();
    await this.healthy(90);
    report("The standbys follow.");
  }

  /** The members as Patroni lists them: name, role (`leader`, `sync_standby`, or `replica`), state, timeline, and lag. */
  async members() {
    // A node that is cut off lists what it remembers.
    for (const { patroni } of this.nodes.filter((node) => !node.isCutOff)) {
      const { members } = (await ask(patroni, "GET", "/cluster").catch(() => undefined)) ?? {};
      if (members?.some(isLeader)) return members;
    }
    return [];
  }

  /** The name of a node by its role, or by its name. */
  async nameOf(word) {
    if (this.nodes.some(({ name }) => name === word)) return word;
    const role = { leader: "leader", standby: "sync_standby", replica: "replica" }[word];
    const member = role && (await this.members()).find((each) => each.role === role);
    if (member) return member.name;
    throw new Error(role ? `There is no ${word} at the moment.` : `"${word}" is no node.`);
  }

  /** Waits until all nodes run and follow the leader, and one of them is the synchronous standby. */
  healthy(seconds = 60) {
    return this.#until("all nodes follow the leader, one as the synchronous standby", seconds, async () => {
      const members = await this.members();
      const leader = members.find(isLeader);
      // What a node has last said of itself may be of the time before it was lost.
      const follows = ({ state, timeline, lag = 0 }) =>
        /^(running|streaming)$/.test(state) && timeline === leader.timeline && lag < 2 ** 24;
      const isComplete = this.nodes.every(({ name }) => members.some((each) => each.name === name && follows(each)));
      return isComplete && members.some(({ role }) => role === "sync_standby");
    });
  }

  startNode({ name, settings }) {
    if (this.#programs.isRunning(name)) throw new Error(`${name} runs already.`);
    this.#programs.start(name, "usr/bin/python3.11", ["-m", "patroni", "patroni.yml"], settings);
  }

  /** Loses the machine of a node. */
  killNode({ name, data }) {
    return this.#programs.kill(name, data);
  }

  /** Makes another node the leader in an orderly way. */
  async switchOver() {
    const leader = await this.nameOf("leader");
    const { patroni } = this.#node(leader);
    await ask(patroni, "POST", "/switchover", { leader, candidate: await this.nameOf("standby") });
  }

  /**
   * Loses all packets between a node and etcd and the other nodes. If it is cut off from Steward, too, the network of the node
   * is gone; otherwise, a leader that must not go on is still reached.
   */
  partition(node, { fromSteward }) {
    const { name, links } = node;
    node.isCutOff = true;
    for (const link of links.inside) link.lose(() => true);
    if (fromSteward) for (const link of links.outside) link.lose(() => true);
    // What it sends to the others: a standby gives its name when it connects.
    const isFromIt = (said) => said.includes(`\0${name}\0`);
    for (const other of this.nodes) if (other.name !== name) other.links.inside[0].lose(isFromIt);
  }

  /** Repairs the network. */
  heal() {
    for (const node of this.nodes) {
      node.isCutOff = false;
      for (const link of [...node.links.inside, ...node.links.outside]) link.repair();
    }
  }

  async close() {
    await this.#programs.close();
    for (const { links } of this.nodes)
      for (const link of [...(links?.inside ?? []), ...(links?.outside ?? [])]) link.close();
  }

  #node = (name) => this.nodes.find((each) => each.name === name);

  async #startEtcd() {
    const [client, peer] = [await freePort(), await freePort()];
    this.etcd = client;
    const data = this.#programs.folder("etcd");
    const [clients, peers] = [`http://${host}:${client}`, `http://${host}:${peer}`];
    const words = {
      name: "etcd",
      "data-dir": join(data, "data"),
      "listen-client-urls": clients,
      "advertise-client-urls": clients,
      "listen-peer-urls": peers,
      "initial-advertise-peer-urls": peers,
      "initial-cluster": `etcd=${peers}`,
    };
    const options = Object.entries(words).flatMap(([name, value]) => [`--${name}`, value]);
    this.#programs.start("etcd", "usr/bin/etcd", options);
    await this.#until("etcd runs", 30, () => ask(client, "GET", "/health").then(({ health }) => health === "true"));
  }

  /** Gives a node its ports and settings. What others reach it by are links. */
  async #prepare(node) {
    const { name } = node;
    const folder = this.#programs.folder(name);
    node.data = join(folder, "data");
    node.postgres = await freePort();
    node.patroni = await freePort();
    const [postgres, patroni, etcd] = [
      await Link.to(node.postgres),
      await Link.to(node.patroni),
      await Link.to(this.etcd),
    ];
    node.links = {
      inside: [postgres, patroni, etcd],
      outside: [await Link.to(node.postgres), await Link.to(node.patroni)],
    };
    node.settings = {
      PATRONI_NAME: name,
      PATRONI_ETCD3_PROXY: `http://${host}:${etcd.port}`,
      PATRONI_RESTAPI_LISTEN: `${host}:${node.patroni}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `${host}:${patroni.port}`,
      PATRONI_POSTGRESQL_LISTEN: `${host}:${node.postgres}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${host}:${postgres.port}`,
      PATRONI_POSTGRESQL_DATA_DIR: node.data,
      PATRONI_POSTGRESQL_BIN_DIR: this.#programs.path("usr/lib/postgresql/15/bin"),
      PATRONI_POSTGRESQL_PGPASS: join(folder, "pgpass"),
      PATRONI_SUPERUSER_USERNAME: "postgres",
      PATRONI_SUPERUSER_PASSWORD: this.#passwords.superuser,
      PATRONI_REPLICATION_USERNAME: "replicator",
      PATRONI_REPLICATION_PASSWORD: this.#passwords.replication,
      STEWARD_DATABASE_PASSWORD: this.#passwords.steward,
    };
  }

  /** Shortens or lengthens the times of the shared settings in their proportions. */
  async #setTimes() {
    const { ttl } = this.#options;
    const { patroni } = this.#node(await this.nameOf("leader"));
    await ask(patroni, "PATCH", "/config", {
      ttl,
      loop_wait: Math.floor(ttl / 5),
      retry_timeout: Math.floor((ttl * 2) / 5),
    });
  }

  async #startProxy() {
    const options = this.#options;
    options.port ||= await freePort();
    options.standbyPort = await freePort();
    const ofNodes = this.nodes.map(({ name, links: { outside } }) => [
      [name.toUpperCase(), `${host}:${outside[0].port}`],
      [`${name.toUpperCase()}_PATRONI`, String(outside[1].port)],
    ]);
    this.#programs.start("haproxy", "usr/sbin/haproxy", ["-db", "-f", "haproxy.cfg"], {
      ...Object.fromEntries(ofNodes.flat()),
      PRIMARY: `${host}:${options.port}`,
      STANDBYS: `${host}:${options.standbyPort}`,
    });
  }

  async #until(what, seconds, holds) {
    for (const deadline = Date.now() + seconds * 1000; Date.now() < deadline; await delay(100)) {
      const isDone = await holds().catch(() => false);
      if (isDone) return;
    }
    throw new Error(`Not within ${seconds} seconds: ${what}. The logs are in ${this.#programs.directory}.`);
  }
}

const isLeader = ({ role }) => role === "leader";

/** Sends a request to a program of the cluster. Returns the response, parsed if it is JSON. */
async function ask(port, method, path, body) {
  const response = await fetch(`http://${host}:${port}${path}`, {
    method,
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text.startsWith("{") ? JSON.parse(text) : text;
}

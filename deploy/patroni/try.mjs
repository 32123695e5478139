// Starts a highly available Postgres on this machine, to try it: see README.md.
import { fstatSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Cluster } from "./try/cluster.mjs";

const usage = `Usage: node deploy/patroni/try.mjs [options]

Starts Postgres on three nodes with Patroni, etcd, and HAProxy on this machine, and prints the STEWARD_DATABASE_URL with
which Steward uses it. The programs come from packages of Debian, which are downloaded and unpacked, not installed. All
ports are on the loopback interface. Ctrl-C ends the programs and removes everything, the data as well.

Options:
  --port PORT    Port that leads to the leader, 0 for a free one (default: 5500)
  --ttl SECONDS  Time after which a leader that is gone is replaced, at least 5 (default: 20)
  --help

Commands on standard input. NODE is node1, node2, node3, leader, standby (the synchronous one), or replica (the other one).
  status               lists the nodes
  kill NODE            kills its Patroni and its Postgres with SIGKILL
  start NODE           starts them again
  switchover           makes the synchronous standby the leader
  partition NODE       loses all packets between the node and etcd and the other nodes
  partition NODE all   and those between the node and HAProxy
  heal                 repairs the network
  healthy              waits until all nodes run and one of them is the synchronous standby
`;

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { port: { type: "string" }, ttl: { type: "string" }, help: { type: "boolean" } },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const [port, ttl] = [Number(values.port ?? 5500), Number(values.ttl ?? 20)];
    if (!Number.isInteger(port) || port < 0 || port > 65_535) fail("--port must be from 0 to 65535.");
    if (!Number.isInteger(ttl) || ttl < 5 || ttl > 600) fail("--ttl must be from 5 to 600.");
    return { port, ttl };
  } catch (error) {
    return fail(`${error.message}\n\n${usage}`);
  }
}

if (process.platform !== "linux") fail("This runs on Linux only, with apt-get and dpkg.");
const options = readOptions();
const began = Date.now();
const print = (text) => process.stdout.write(`${text}\n`);
const directory = mkdtempSync(join(tmpdir(), "steward-patroni-"));
const cluster = new Cluster(directory, options);

let isClosing = false;
async function close(status) {
  if (isClosing) return;
  isClosing = true;
  await cluster.close();
  print("All programs have ended, and their files are removed.");
  process.exit(status);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void close(0));

const nodeOf = async (word = "") => {
  const name = await cluster.nameOf(word);
  return cluster.nodes.find((node) => node.name === name);
};
const commands = {
  status: async () => {
    for (const { name, role, state, timeline, lag } of await cluster.members())
      print(`${name}  ${role}  ${state}  timeline ${timeline}${lag === undefined ? "" : `  lag ${lag}`}`);
  },
  kill: async (word) => cluster.killNode(await nodeOf(word)),
  start: async (word) => cluster.startNode(await nodeOf(word)),
  switchover: () => cluster.switchOver(),
  partition: async (word, from) => {
    if (from !== undefined && from !== "all") throw new Error(`"${from}" is neither "all" nor absent.`);
    cluster.partition(await nodeOf(word), { fromSteward: from === "all" });
  },
  heal: async () => cluster.heal(),
  healthy: () => cluster.healthy(),
  help: async () => print(usage.slice(usage.indexOf("Commands"))),
};

async function run(line) {
  const [name, ...words] = line.trim().split(/\s+/);
  if (!name) return;
  const started = Date.now();
  try {
    if (!Object.hasOwn(commands, name)) throw new Error('There is no such command; "help" lists them.');
    await commands[name](...words);
    print(`Done: ${line.trim()} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  } catch (error) {
    print(`Failed: ${line.trim()}: ${error.message}`);
  }
}

try {
  print("Downloading the packages. The whole start takes about half a minute.");
  await cluster.start((text) => print(`${((Date.now() - began) / 1000).toFixed(0).padStart(3)} s  ${text}`));
  print(`
The cluster is ready. Start Steward, or several, with

  STEWARD_DATABASE_URL=${cluster.url}

Standbys: ${cluster.standbyUrl}
Logs:     ${directory}/*.log
Commands: "help" lists them. Ctrl-C ends everything.
`);
} catch (error) {
  if (!isClosing) process.stderr.write(`${error.message}\n`);
  await close(1);
}

const input = createInterface({ input: process.stdin });
let last = Promise.resolve();
input.on("line", (line) => {
  last = last.then(() => run(line));
});
// Whoever has started this with a pipe, and is gone, does not stop it any more. Without a terminal or a pipe there is no input.
const { mode } = fstatSync(0);
const isPipe = [0o010000, 0o140000].includes(mode & 0o170000);
if (isPipe || process.stdin.isTTY) input.on("close", () => void close(0));

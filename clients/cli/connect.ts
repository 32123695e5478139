// Direct connections to workspaces. No traffic goes through the server: a workspace is reached on the machine of this
// program, or at an address that its agents advertise. Addresses are written by others, and checked before they are used.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { constants, userInfo } from "node:os";
import { browse } from "./browse.js";
import { command, text, UsageError } from "./command.js";
import { Failed } from "./failures.js";
import type { WorkspaceByNameQuery } from "./workspaces.gql.js";
import { findWorkspace, nameOf } from "./workspaces.js";
import { steward } from "../../src/runtime/command-line.js";

type Found = NonNullable<WorkspaceByNameQuery["workspace"]>;
type Agent = NonNullable<Found["latestBuild"]>["resources"][number]["agents"][number];

/** Hosts that are the machine of the workspace itself. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

/** Milliseconds for a connection to a port. */
const connectTimeout = 5_000;

/** How the processes of an agent are reached. */
type Way =
  /** They run on this machine, as the user `uid`, with their home in a directory. */
  | { kind: "here"; directory: string; uid: number; gid: number }
  /** They run on this machine, and this user may not enter their directory. */
  | { kind: "closed"; directory: string }
  /** They have an SSH server. */
  | { kind: "ssh"; host: string; port: string }
  /** Their ports are reached at an address. */
  | { kind: "address"; host: string };

/** The agents of a workspace. Throws if it does not run. */
function agentsOf(workspace: Found): Agent[] {
  const name = nameOf(workspace);
  if (workspace.status !== "RUNNING")
    throw new Failed(
      `Workspace ${name} is ${workspace.status.toLowerCase()}. Start it: ${steward} workspaces start ${name}`,
    );
  const agents = workspace.latestBuild?.resources.flatMap((resource) => resource.agents) ?? [];
  if (agents.length === 0) throw new Failed(`Workspace ${name} has no agents: its template runs no programs.`);
  return agents;
}

/** Finds the way to an agent; undefined if this machine knows none. */
function wayTo(workspace: Found, agent: Agent): Way | undefined {
  const { expandedDirectory: directory } = agent;
  // The directories of a daemon's workspaces have their ID in their path: another machine has no such directory.
  if (directory.includes(workspace.id)) {
    try {
      const { uid, gid } = statSync(directory);
      const own = process.getuid?.();
      return own === uid || own === 0 ? { kind: "here", directory, uid, gid } : { kind: "closed", directory };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EACCES") return { kind: "closed", directory };
    }
  }
  const server = URL.parse(agent.apps.find(({ slug }) => slug === "ssh")?.url ?? "");
  // What ssh would read as an option is no host.
  if (server && !loopback.test(server.hostname) && /^[a-z0-9[][a-z0-9.:\]-]*$/i.test(server.hostname))
    return { kind: "ssh", host: server.hostname.replace(/^\[|\]$/g, ""), port: server.port || "22" };
  const advertised = agent.apps
    .map(({ url }) => URL.parse(url))
    .find((parsed) => parsed && /^https?:$/.test(parsed.protocol) && !loopback.test(parsed.hostname));
  return advertised ? { kind: "address", host: advertised.hostname.replace(/^\[|\]$/g, "") } : undefined;
}

/** The first agent that can be reached, with the way to it. Throws, with what helps, if there is none. */
function findAgent(workspace: Found, agentName: string | undefined): { agent: Agent; way: Way } {
  const agents = agentsOf(workspace).filter(({ name }) => agentName === undefined || name === agentName);
  if (agents.length === 0) throw new Failed(`Workspace ${nameOf(workspace)} has no agent ${agentName}.`);
  for (const agent of agents) {
    const way = wayTo(workspace, agent);
    if (way) return { agent, way };
  }
  throw new Failed(unreachable(workspace, agents[0]!));
}

const unreachable = (workspace: Found, { name, status }: Agent): string =>
  [
    `Workspace ${nameOf(workspace)} cannot be reached from here. No traffic goes through the server, and agent ${name} advertises no address.`,
    ...(status === "CONNECTED"
      ? []
      : [`The agent is ${status.toLowerCase()}: see ${steward} workspaces logs ${nameOf(workspace)}`]),
    "Run this command on the machine of the workspace, or let its template have an app with the slug ssh, whose URL has the host and the port of an SSH server.",
  ].join("\n");

const reachOptions = {
  agent: text("A", "Name of the agent. Default: the first that can be reached."),
  user: text("U", "Login at the SSH server of the workspace. Default: as ssh chooses it."),
};

const userOf = (user: string | undefined): string[] => (user === undefined ? [] : ["-l", user]);

const open = command({
  usage: "open NAME [APP]",
  summary:
    "Open an app of a workspace in a browser, directly. APP is its slug. Default: the first app with an address.",
  takes: [1, 2],
  run: async ({ api: access, words: [reference = "", slug], output }) => {
    const workspace = await findWorkspace(await access(), reference);
    const agents = agentsOf(workspace);
    const apps = agents.flatMap((agent) => agent.apps.map((app) => ({ ...app, agent })));
    const app = apps.find((each) =>
      slug === undefined ? /^https?:/.test(each.url) && !each.hidden : each.slug === slug,
    );
    const others = apps.map((each) => each.slug).join(", ") || "none";
    if (!app) throw new Failed(`Workspace ${nameOf(workspace)} has no such app with an address. Its apps: ${others}.`);
    const url = URL.parse(app.url);
    if (!url || !/^https?:$/.test(url.protocol)) throw new Failed(`App ${app.slug} has no address for a browser.`);
    if (loopback.test(url.hostname)) {
      const way = wayTo(workspace, app.agent);
      if (way?.kind === "ssh")
        throw new Failed(
          `App ${app.slug} listens on its machine alone. Use: ${steward} port-forward ${nameOf(workspace)} ${portOf(url)}`,
        );
      if (way?.kind !== "here" && way?.kind !== "closed") throw new Failed(unreachable(workspace, app.agent));
    }
    if (process.env.BROWSER || output.isTerminal) await browse(url.href);
    output.done({ id: workspace.id, app: app.slug, url: url.href }, url.href);
  },
});

const portOf = ({ port, protocol }: URL): string => port || (protocol === "https:" ? "443" : "80");

const ssh = command({
  usage: "ssh NAME [-- COMMAND]",
  summary:
    "Open a shell in a workspace, or run a command there: on this machine, if the workspace runs here, or by ssh at the address that it advertises. COMMAND is a program with its arguments, or one argument that a shell runs.",
  takes: [1, Infinity],
  options: reachOptions,
  run: async ({ api: access, words: [reference = "", ...words], options, output }) => {
    const workspace = await findWorkspace(await access(), reference);
    const { agent, way } = findAgent(workspace, options.agent);
    if (way.kind === "closed") throw new Failed(explainClosed(workspace, way.directory));
    if (way.kind === "address") throw new Failed(unreachable(workspace, agent));
    if (output.isJson) return output.done({ id: workspace.id, agent: agent.name, ...way }, "");
    if (way.kind === "ssh") {
      return leave("ssh", ["-p", way.port, ...userOf(options.user), "--", way.host, ...remoteWords(words)]);
    }
    const { directory, uid, gid } = way;
    const isOther = uid !== process.getuid?.();
    const shell = isOther ? "/bin/sh" : (process.env.SHELL ?? "/bin/sh");
    const [program = shell, ...rest] = words.length === 1 ? ["/bin/sh", "-c", ...words] : words;
    return leave(program, rest, {
      cwd: directory,
      env: {
        ...(isOther ? { PATH: process.env.PATH, TERM: process.env.TERM, LANG: process.env.LANG } : process.env),
        HOME: directory,
        STEWARD_WORKSPACE_NAME: workspace.name,
        STEWARD_WORKSPACE_OWNER: workspace.owner.username,
        STEWARD_AGENT_NAME: agent.name,
      },
      // As root, the shell is that of the account of the workspace: its files are written by others.
      ...(isOther && { uid, gid }),
    });
  },
});

/** The words for ssh, which joins them for a shell at the other end: the arguments of a program stay what they are. */
const remoteWords = (words: readonly string[]): readonly string[] =>
  words.length > 1 ? words.map((word) => `'${word.replaceAll("'", "'\\''")}'`) : words;

const explainClosed = (workspace: Found, directory: string): string =>
  `Workspace ${nameOf(workspace)} runs on this machine, in ${directory}, as another user than ${userInfo().username}. Run this command as that user, or as root.`;

/**
 * Runs a program in this terminal to its end, whose status becomes that of this one. An end of this one is passed on, but
 * Ctrl-C, however often, is for the program alone, which gets it from the terminal itself.
 */
async function leave(program: string, words: readonly string[], options: object = {}): Promise<void> {
  const child = spawn(program, words, { stdio: "inherit", ...options });
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const [status, signal] = (await once(child, "exit").catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "it is not installed" : error.message;
    throw new Failed(`${program} could not be started: ${reason}.`);
  })) as [number | null, NodeJS.Signals | null];
  process.exitCode = signal ? 128 + constants.signals[signal] : (status ?? 1);
}

const forward = command({
  usage: "port-forward NAME [LOCAL:]PORT",
  summary: "Make a port of a workspace a port of this machine, directly, until Ctrl-C.",
  takes: [2, 2],
  options: reachOptions,
  isEndless: true,
  run: async ({ api: access, words: [reference = "", wanted = ""], options, output, signal }) => {
    const [, given, remote] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(wanted) ?? [];
    const port = Number(remote);
    const local = Number(given ?? remote);
    if (!(port >= 1 && port <= 65_535 && local >= 1 && local <= 65_535))
      throw new UsageError(`"${wanted}" must be PORT or LOCAL:PORT, each from 1 to 65535.`);
    const workspace = await findWorkspace(await access(), reference);
    const { agent, way } = findAgent(workspace, options.agent);
    const name = nameOf(workspace);
    const value = { id: workspace.id, agent: agent.name, port, local };
    if (way.kind === "ssh") {
      output.done(value, `Port ${port} of ${name} is http://127.0.0.1:${local} here, until Ctrl-C.`);
      const ports = ["-L", `127.0.0.1:${local}:127.0.0.1:${port}`];
      await leave("ssh", ["-N", "-p", way.port, ...userOf(options.user), ...ports, "--", way.host]);
      if (signal.aborted) process.exitCode = 0;
      return;
    }
    const isHere = way.kind !== "address";
    const host = isHere ? "127.0.0.1" : way.host;
    (
      await openPort(host, port).catch((error: Error) => {
        throw new Failed(`Nothing of workspace ${name} responds at ${host}:${port}: ${error.message}.`);
      })
    ).destroy();
    if (isHere && local === port)
      return output.done(value, `Workspace ${name} runs on this machine: its port ${port} is http://127.0.0.1:${port}`);
    const server = createServer((incoming) => relay(incoming, host, port));
    server.listen(local, "127.0.0.1");
    await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
      throw new Failed(
        `Port ${local} of this machine cannot be used: ${error.code}. Choose another one: LOCAL:${port}`,
      );
    });
    output.done(value, `Port ${port} of ${name} is http://127.0.0.1:${local} here, until Ctrl-C.`);
    if (!signal.aborted) await once(signal, "abort");
    process.exit();
  },
});

/** Opens a connection. */
async function openPort(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, timeout: connectTimeout });
  socket.once("timeout", () => socket.destroy(new Error("no response within 5 s")));
  await once(socket, "connect");
  socket.setTimeout(0);
  return socket;
}

/** Joins a connection with one to the port. */
function relay(incoming: Socket, host: string, port: number): void {
  const outgoing = connect({ host, port });
  for (const [one, other] of [
    [incoming, outgoing],
    [outgoing, incoming],
  ] as const) {
    one.on("error", () => other.destroy());
    one.pipe(other);
  }
}

export const connectCommands = { open, ssh, "port-forward": forward };

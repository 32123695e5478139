// A server of the demonstration's own, with its data beside it: started, filled once, and started again with the same data.
import { createHmac, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve as absolute } from "node:path";
import { administer, type LiveProxy, makeLicense } from "./administration.js";
import { startAgent } from "./agents.js";
import { Client, Failure } from "./client.js";
import * as company from "./company.js";
import { runFarm, type Farm } from "./farm.js";
import { Company, found, furnish } from "./fill.js";
import { liveMonth, reportVisits } from "./history.js";
import { moveToPast } from "./past.js";
import type { Progress } from "./progress.js";
import { isReady, OwnServer } from "./server.js";
import { type Conversations, gitProvider, Services } from "./services.js";

/** What is kept beside the data of the server. */
interface State {
  /** Whether the company is complete; otherwise its filling was interrupted. */
  isComplete: boolean;
  /** The process that runs it, or that ran it last. */
  pid: number;
  port: number;
  servicesPort: number;
  ownerPassword: string;
  password: string;
  licenseKeys: string;
  license: string;
  webhookSecret: string;
  provisionerKey: string;
  /** Tokens of the agents that live as long as the demonstration runs. */
  agents: string[];
  proxy?: LiveProxy;
}

export interface Options {
  directory: string;
  port: number;
  /** The days of its history. */
  days: number;
  isFresh: boolean;
}

const stateFile = "demo.json";
const conversationsFile = "conversations.json";

export interface OwnDemo {
  url: string;
  /** An address that signs a browser in as the owner, once. */
  door: string;
  /** Whether the company was there before. */
  isOld: boolean;
  directory: string;
  ownerPassword: string;
  password: string;
  /** Resolves if the server ends by itself. */
  ended: Promise<void>;
  stop: () => Promise<void>;
}

/** Milliseconds between two signs of life of agents and proxies. */
const heartbeat = 10_000;

/** Starts the server, with its company. */
export async function startOwnDemo(options: Options, progress: Progress): Promise<OwnDemo> {
  const directory = absolute(options.directory);
  const known = readState(directory);
  if (known && isAlive(known.pid) && (await isReady(`http://localhost:${known.port}`)))
    throw new Failure(
      `The demonstration is running already, at http://localhost:${known.port} (process ${known.pid}).`,
      "CONFLICT",
    );
  const isOld = known?.isComplete === true && !options.isFresh;
  if (!isOld) clear(directory, known !== undefined);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const state = isOld ? known : newState(options);
  state.pid = process.pid;
  if (!(await isFree(state.port))) state.port = await freePort();
  const conversations = isOld ? readConversations(directory) : {};
  const services = await openServices(state, conversations);
  save(directory, state);

  progress.report("Starting", 0, 1);
  const server = await OwnServer.start(settingsOf(directory, state, services), join(directory, "server.log")).catch(
    (error: unknown) => {
      services.close();
      throw error;
    },
  );
  progress.report("Starting", 1, 1);
  let farm: Farm | undefined;
  let pulse: NodeJS.Timeout | undefined;
  const stop = async () => {
    clearInterval(pulse);
    writeFileSync(join(directory, conversationsFile), JSON.stringify(services.conversations), { mode: 0o600 });
    await farm?.close();
    await server.stop();
    services.close();
  };
  try {
    let owner = await signIn(server.url, state.ownerPassword);
    if (!isOld) {
      const made = new Company(owner, progress.report);
      await owner.mutate("addLicense", { license: state.license });
      await owner.mutate("updateUser", { user: "me", name: "Olivia Brandt" });
      await found(made, `${services.url}/chat`);
      state.provisionerKey = made.provisionerKey;
      farm = runFarm(server.url, state.provisionerKey);
      await made.addTemplate("boards", company.boards);
      const lived = await liveMonth(made, options.days);
      // Connects again afterwards: it was seen today.
      await farm.close();
      progress.report("Into the past", 0, 1);
      await moveToPast(join(directory, "data"), lived);
      progress.report("Into the past", 1, 1);
      owner = await signIn(server.url, state.ownerPassword);
      farm = runFarm(server.url, state.provisionerKey);
      await equip(made, options.days, state, services);
      state.proxy = await administer(made);
      await owner.run("mutation { refreshEntitlements { __typename } }");
      state.password = made.password;
      state.isComplete = true;
      save(directory, state);
    }
    farm ??= runFarm(server.url, state.provisionerKey);
    farm.pace = 1_500;
    await Promise.all(state.agents.map((token) => wake(owner.as(token))));
    const live = () => beat(owner, state, services.url);
    await live();
    pulse = setInterval(() => void live().catch(() => {}), heartbeat);
    const { ownerPassword, password } = state;
    const door = services.door(server.url, cookiesOf(owner.token!));
    return { url: server.url, door, isOld, directory, ownerPassword, password, ended: server.ended(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Brings the agents of workspaces and tasks to life. */
async function equip(made: Company, days: number, state: State, services: Services): Promise<void> {
  const running = [...company.workspaces, ...company.boardWorkspaces].filter(({ isStopped }) => !isStopped);
  const agents = await made.each("Agents", running, async ({ owner, name }) => {
    const person = await made.session(owner);
    const id = made.workspaces.get(`${owner}/${name}`)!;
    const { workspace } = await person.run(`{ workspace(id: "${id}") { status } }`);
    // A workspace of the board farm may have found no board.
    if (workspace.status !== "RUNNING") return undefined;
    const agent = await startAgent(person, id);
    await reportVisits(agent, days, running.findIndex((each) => each.name === name) + 1);
    return agent;
  });
  const tasks = await furnish(made);
  for (const { task, id } of tasks) {
    services.say(id, "user", task.input);
    for (const [at, text] of (company.conversations[task.name] ?? []).entries())
      services.say(id, at % 2 === 0 ? "agent" : "user", text);
  }
  const talking = tasks.filter(({ task }) => !task.isPaused).map(({ agent }) => agent);
  state.agents = [...agents, ...talking].flatMap((agent) => agent?.token ?? []);
}

/** An agent is there again, after the server and its machine were started. */
async function wake(agent: Client): Promise<void> {
  await agent.mutate("reportAgentStartup", { version: "1.0.0", expandedDirectory: "/home/dev" }).catch(ignoreEnded);
}

/** Signs of life of all agents and of the proxy. Those whose workspace was stopped meanwhile are silent. */
async function beat(owner: Client, { agents, proxy }: State, servicesUrl: string): Promise<void> {
  await Promise.all([
    ...agents.map((token) => owner.as(token).run("mutation { agentHeartbeat { shutdown } }").catch(ignoreEnded)),
    ...(proxy ? [register(owner.asProxy(proxy.token), proxy, servicesUrl)] : []),
  ]);
}

const register = (client: Client, { replicaId }: LiveProxy, accessUrl: string) =>
  client
    .mutate("registerWorkspaceProxy", { replicaId, accessUrl, hostname: "proxy-1.lisbon", version: "0.1.0" })
    .catch(ignoreEnded);

function ignoreEnded(error: unknown): void {
  if (!(error instanceof Failure)) throw error;
}

async function signIn(url: string, password: string): Promise<Client> {
  const client = new Client(url);
  const email = company.emailOf({ username: company.ownerName });
  const { sessionToken } = await client.mutate("login", { email, password }, "sessionToken");
  return client.as(sessionToken as string);
}

/** The cookies with which a browser has a session, as the sign-in page sets them. */
function cookiesOf(token: string): string[] {
  const csrf = createHmac("sha256", token).update("csrf").digest("base64url");
  return [
    `service_session_token=${token}; Path=/; HttpOnly; SameSite=Lax`,
    `service_csrf_token=${csrf}; Path=/; SameSite=Lax`,
  ];
}

const newState = ({ port }: Options): State => {
  const { keys, license } = makeLicense();
  return {
    isComplete: false,
    pid: process.pid,
    port,
    servicesPort: 0,
    ownerPassword: randomBytes(15).toString("base64url"),
    password: "",
    licenseKeys: keys,
    license,
    webhookSecret: `whsec_${randomBytes(24).toString("base64")}`,
    provisionerKey: "",
    agents: [],
  };
};

/** The settings of the server: all of them are its own. */
const settingsOf = (directory: string, state: State, services: Services): Record<string, string> => ({
  STEWARD_PORT: String(state.port),
  STEWARD_DATA_DIR: join(directory, "data"),
  STEWARD_ADMIN_EMAIL: company.emailOf({ username: company.ownerName }),
  STEWARD_ADMIN_USERNAME: company.ownerName,
  STEWARD_ADMIN_PASSWORD: state.ownerPassword,
  STEWARD_LICENSE_KEYS: state.licenseKeys,
  STEWARD_BUILTIN_DAEMON: "true",
  STEWARD_EXTERNAL_AUTH: JSON.stringify([gitProvider(services.url)]),
  STEWARD_NOTIFICATIONS_METHOD: "webhook",
  STEWARD_NOTIFICATIONS_WEBHOOK_URL: `${services.url}/hook`,
  STEWARD_NOTIFICATIONS_WEBHOOK_SECRETS: state.webhookSecret,
  STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "1s",
  STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8",
  // A month of sign-ins takes a minute.
  STEWARD_RATE_LIMIT_CREDENTIAL: "600",
  STEWARD_RATE_LIMIT_CREDENTIAL_IP: "6000",
  // The owner may look into everything.
  STEWARD_ADMIN_WORKSPACE_ACCESS: "true",
  STEWARD_LOG_LEVEL: "warn",
  STEWARD_LOG_FORMAT: "json",
});

function readState(directory: string): State | undefined {
  const path = join(directory, stateFile);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as State) : undefined;
}

function readConversations(directory: string): Conversations {
  const path = join(directory, conversationsFile);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Conversations) : {};
}

function save(directory: string, state: State): void {
  const path = join(directory, stateFile);
  writeFileSync(`${path}.new`, JSON.stringify(state, undefined, 2), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Removes the data of an earlier demonstration. Leaves every other directory as it is. */
function clear(directory: string, isOurs: boolean): void {
  if (!existsSync(directory) || readdirSync(directory).length === 0) return;
  if (!isOurs)
    throw new Failure(`${directory} has other files. Name another directory in STEWARD_DEMO_DIR.`, "CONFLICT");
  const cluster = join(directory, "data/postgres/cluster.json");
  if (existsSync(cluster)) {
    // Postgres may run as a user who cannot enter the directory: its data are then elsewhere.
    const { home } = JSON.parse(readFileSync(cluster, "utf8")) as { home?: string };
    if (home) rmSync(home, { recursive: true, force: true });
  }
  rmSync(directory, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch {
    return false;
  }
}

async function openServices(state: State, conversations: Conversations): Promise<Services> {
  const services = await Services.open(state.servicesPort, conversations).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new Failure(
      `Another program uses the port ${state.servicesPort} of the demonstration. End it, or start from scratch: npm run demo -- --fresh`,
      "CONFLICT",
    );
  });
  state.servicesPort = services.port;
  return services;
}

const listening = (port: number) =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(port, "127.0.0.1", () => {
      const { port: chosen } = probe.address() as { port: number };
      probe.close(() => resolve(chosen));
    });
  });
const isFree = (port: number) =>
  listening(port).then(
    () => true,
    () => false,
  );
const freePort = () => listening(0);

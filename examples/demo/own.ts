// A server of the demonstration's own, with its data beside it: started, filled once, and started again with the same data.
import { createHmac, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve as absolute } from "node:path";
import { administer, type LiveProxy, makeLicense } from "./administration.js";
import { speakFor } from "./agents.js";
import { Client, Failure } from "./client.js";
import * as company from "./company.js";
import { chooseRunning, OwnDaemon, programs, removeWorkspaces, type Running, runningNotice } from "./daemon.js";
import { Company, found, furnish, type MadeTask, until } from "./fill.js";
import { liveMonth, reportVisits } from "./history.js";
import { moveToPast } from "./past.js";
import type { Progress } from "./progress.js";
import { boardFarm, type PlayedDaemon, playDaemon, workshop } from "./played-daemon.js";
import { isReady, newNode, OwnServer } from "./server.js";
import { gitProvider, Services } from "./services.js";

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
  /** The keys of the board farm's daemon, and of the one that runs programs. */
  provisionerKey: string;
  workshopKey: string;
  running: Running;
  /** Tokens of the agents of boards by workspace, which live as long as the demonstration runs. */
  boards: Record<string, string>;
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

export interface OwnDemo {
  url: string;
  /** An address that signs a browser in as the owner, once. */
  door: string;
  /** Whether the company was there before. */
  isOld: boolean;
  directory: string;
  /** As whom programs of workspaces run. */
  notice: string;
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
  const isOld = known?.isComplete === true && !options.isFresh && known.workshopKey !== undefined;
  if (!isOld) {
    clear(directory, known !== undefined);
    removeWorkspaces(known?.running);
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const state = isOld ? known : newState(options);
  state.pid = process.pid;
  state.running = chooseRunning(directory, state.running);
  if (!(await isFree(state.port))) state.port = await freePort();
  const services = await openServices(state);
  save(directory, state);

  progress.report("Starting", 0, 1);
  const server = await OwnServer.start(settingsOf(directory, state, services), join(directory, "server.log")).catch(
    (error: unknown) => {
      services.close();
      throw error;
    },
  );
  progress.report("Starting", 1, 1);
  const open: Array<() => Promise<unknown>> = [];
  let pulse: NodeJS.Timeout | undefined;
  const stop = async () => {
    clearInterval(pulse);
    await Promise.all(open.map((close) => close()));
    await server.stop();
    services.close();
    if (state.isComplete) save(directory, state);
  };
  const openFarm = (): PlayedDaemon => {
    const farm = playFarm(new Client(server.url), state);
    open.push(farm.close);
    return farm;
  };
  try {
    let owner = await signIn(server.url, state.ownerPassword);
    let made: Company | undefined;
    let tasks: MadeTask[] = [];
    let farm: PlayedDaemon | undefined;
    if (!isOld) {
      made = new Company(owner, progress.report, company.runningTemplates(newNode(), programs));
      await owner.mutate("addLicense", { license: state.license });
      await owner.mutate("updateUser", { user: "me", name: "Olivia Brandt" });
      state.workshopKey = (await owner.mutate("createProvisionerKey", company.workshopKey, "key")).key as string;
      const played = () => {
        const daemon = playDaemon(server.url, state.workshopKey, {
          ...workshop,
          onAgent: (workspaceId, token) => made!.agentTokens.set(workspaceId, token),
        });
        open.push(daemon.close);
        return daemon;
      };
      let past = played();
      await found(made);
      state.provisionerKey = made.provisionerKey;
      farm = openFarm();
      await made.addTemplate("boards", company.boards(`${services.url}/board/console`));
      const lived = await liveMonth(made, options.days);
      // They connect again afterwards: they were seen today.
      await Promise.all([farm.close(), past.close()]);
      progress.report("Into the past", 0, 1);
      await moveToPast(join(directory, "data"), lived);
      progress.report("Into the past", 1, 1);
      owner = await signIn(server.url, state.ownerPassword);
      farm = openFarm();
      past = played();
      tasks = await equip(made, options.days);
      await past.close();
      state.proxy = await administer(made);
      await owner.run("mutation { refreshEntitlements { __typename } }");
      state.password = made.password;
    }
    farm ??= openFarm();
    farm.pace = 1_500;
    const daemon = await OwnDaemon.start(server.url, state.workshopKey, state.running, join(directory, "daemon.log"));
    open.push(daemon.stop);
    if (made) {
      await bringToLife(made, tasks);
      state.isComplete = true;
      save(directory, state);
    }
    await Promise.all(Object.values(state.boards).map((token) => wake(owner.as(token))));
    const live = () => beat(owner, state, services.url);
    await live();
    pulse = setInterval(() => void live().catch(() => {}), heartbeat);
    const { ownerPassword, password } = state;
    const door = services.door(server.url, cookiesOf(owner.token!));
    const notice = runningNotice(state.running);
    return { url: server.url, door, isOld, directory, notice, ownerPassword, password, ended: server.ended(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Plays the daemon of the boards, and the agents on them. */
const playFarm = (server: Client, state: State): PlayedDaemon =>
  playDaemon(server.url, state.provisionerKey, {
    ...boardFarm,
    onAgent: (workspaceId, token) => (state.boards[workspaceId] = token),
    onStarted: (workspaceId) => void speakFor(server.as(state.boards[workspaceId]!)).catch(ignoreEnded),
  });

/** Gives the workspaces of the month a history of connections, and creates the tasks of today. Returns them. */
async function equip(made: Company, days: number): Promise<MadeTask[]> {
  const running = company.workspaces.filter(({ isStopped }) => !isStopped);
  await made.each("Agents", running, async ({ owner, name }) => {
    const person = await made.session(owner);
    const agent = await made.startAgent(person, made.workspaces.get(`${owner}/${name}`)!);
    await reportVisits(agent, days, running.findIndex((each) => each.name === name) + 1);
  });
  return furnish(made);
}

/** Starts what runs today, for real: until now, the demonstration has played its daemon. */
async function bringToLife(made: Company, tasks: readonly MadeTask[]): Promise<void> {
  const workspaces = company.workspaces.filter(({ isStopped }) => !isStopped);
  const starts = [
    ...workspaces.map((workspace) => async () => {
      const id = made.workspaces.get(`${workspace.owner}/${workspace.name}`)!;
      await made.turn(workspace.owner, id, "stopWorkspace");
      await made.turn(workspace.owner, id, "startWorkspace");
    }),
    ...tasks
      .filter(({ task }) => !task.isPaused)
      .map(({ task, id }) => async () => {
        const person = await made.session(task.owner);
        const status = async (wanted: string) =>
          until(person, `{ task(task: "${id}") { status } }`, ({ task: seen }) =>
            [wanted, "ERROR"].includes(seen.status as string),
          );
        await person.mutate("pauseTask", { task: id });
        await status("PAUSED");
        await person.mutate("resumeTask", { task: id });
        await status("ACTIVE");
        if (task.name === company.firstInput.task)
          await person.mutate("sendTaskInput", { task: id, input: company.firstInput.input });
      }),
  ];
  await made.each("Programs", starts, (start) => start());
}

/** An agent is there again, after the server and its machine were started. */
async function wake(agent: Client): Promise<void> {
  await agent.mutate("reportAgentStartup", { version: "1.0.0", expandedDirectory: "/home/dev" }).catch(ignoreEnded);
}

/** Signs of life of all agents and of the proxy. Those whose workspace was stopped meanwhile are silent. */
async function beat(owner: Client, { boards, proxy }: State, servicesUrl: string): Promise<void> {
  await Promise.all([
    ...Object.values(boards).map((token) =>
      owner.as(token).run("mutation { agentHeartbeat { shutdown } }").catch(ignoreEnded),
    ),
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
    workshopKey: "",
    running: { directory: "", isConfined: false },
    boards: {},
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

async function openServices(state: State): Promise<Services> {
  const services = await Services.open(state.servicesPort).catch((error: NodeJS.ErrnoException) => {
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

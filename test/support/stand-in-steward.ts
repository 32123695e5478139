// A server for provisioner daemons and agents that follows the published protocol to the letter, and can misbehave on
// command: it loses leases, cancels, drains, falls silent, and closes connections.
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { buildSchema, graphql, GraphQLError } from "graphql";
import { handleProtocols } from "graphql-ws";
import { useServer } from "graphql-ws/use/ws";
import { type WebSocket, WebSocketServer } from "ws";

/** The schema as published: daemons and agents can ask only for what it has. */
const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

type Json = Record<string, unknown>;

export type JobStatus = "PENDING" | "RUNNING" | "SUCCEEDED" | "CANCELING" | "CANCELED" | "FAILED";

/** Emits `change` after every change, so that tests can await a state. */
class Observable extends EventEmitter {
  constructor() {
    super();
    this.setMaxListeners(0);
  }

  changed(): void {
    this.emit("change");
  }

  /** Resolves to the first truthy result of `read`. */
  async until<Value>(read: () => Value): Promise<NonNullable<Value>> {
    for (;;) {
      const value = read();
      if (value) return value;
      await once(this, "change");
    }
  }
}

export interface LogEntry {
  sequence: number;
  level: string;
  stage: string;
  output: string;
}

export class StandInJob extends Observable {
  readonly id = randomUUID();
  lease: string = randomUUID();
  status: JobStatus = "PENDING";
  logs: LogEntry[] = [];
  resources?: Json[];
  agents: Array<{ name: string; agentId: string; external: boolean; token: string | null }> = [];
  /** The input of the mutation that ended the job. */
  outcome?: Json;
  /** Number of acceptances. */
  accepted = 0;

  constructor(
    readonly type: string,
    readonly assignment: Json,
  ) {
    super();
  }

  /** Resolves once the job has this status. */
  async reaches(status: JobStatus): Promise<this> {
    const ended = new Set<JobStatus>(["SUCCEEDED", "CANCELED", "FAILED"]);
    await this.until(() => this.status === status || ended.has(this.status));
    if (this.status !== status) throw new Error(`The job is ${this.status}: ${JSON.stringify(this.outcome)}`);
    return this;
  }
}

export class StandInAgent extends Observable {
  readonly token = `stwa_${randomUUID()}`;
  isValid = true;
  shutdown = false;
  overflowed = false;
  /** Operations in their order, with their inputs. */
  readonly calls: Array<{ name: string; input: Json }> = [];

  constructor(readonly manifest: Json) {
    super();
  }

  inputsOf(name: string): Json[] {
    return this.calls.filter((call) => call.name === name).map(({ input }) => input);
  }

  /** Reported lifecycle states, in their order. */
  get lifecycle(): string[] {
    return this.inputsOf("reportAgentLifecycle").map(({ state }) => state as string);
  }

  /** Lines of the log, with their sources. */
  get lines(): string[] {
    return this.inputsOf("appendAgentLogs").flatMap(({ logs }) =>
      (logs as Json[]).map(({ output }) => output as string),
    );
  }

  /** Reported health of an app, in order. */
  healthOf(slug: string): string[] {
    const apps = this.inputsOf("reportAppHealth").flatMap((input) => input.apps as Json[]);
    return apps.filter((app) => app.slug === slug).map(({ health }) => health as string);
  }
}

const leaseLost = () =>
  new GraphQLError("The lease has been lost.", { extensions: { code: "CONFLICT", reason: "LEASE_LOST" } });

interface Given {
  transition?: "START" | "STOP" | "DELETE";
  workspace?: { id: string; name: string; owner: { id: string; username: string } };
  parameters?: Array<{ name: string; value: string }>;
  variables?: Array<{ name: string; value: string }>;
  state?: unknown;
  claim?: boolean;
  task?: { id: string; prompt: string };
}

const owner = { id: randomUUID(), username: "alice" };

export const standInWorkspace = (name = "box") => ({ id: randomUUID() as string, name, owner });

export class StandInSteward extends Observable {
  readonly key = `stwk_${"k".repeat(43)}`;
  /** Handshakes, as requested. */
  readonly handshakes: Array<{ url: URL; headers: IncomingMessage["headers"] }> = [];
  readonly jobs: StandInJob[] = [];
  readonly agents = new Map<string, StandInAgent>();
  /** Slots of the current subscription; undefined without one. */
  slots?: number;
  /** Responds to handshakes with this status. */
  rejectWith?: { status: number; body: Json };
  /** Responds to agents with 503. */
  isDown = false;
  /** Requests of agents that got such a response. */
  turnedAway = 0;
  /** Secrets of the workspace owner. */
  secrets: { env: Json[]; files: Json[]; errors: Json[] } = { env: [], files: [], errors: [] };
  /** Mutations that fail next, by name. */
  readonly faults = new Map<string, GraphQLError>();
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  #push?: (work: Json) => void;
  #current?: WebSocket;

  private constructor() {
    super();
    this.#server = createServer((request, response) => void this.#respond(request, response));
    this.#sockets = new WebSocketServer({ noServer: true, handleProtocols });
    this.#sockets.on("connection", (socket) => {
      this.#current?.close(4410, "Replaced");
      this.#current = socket;
      socket.on("close", () => {
        if (this.#current === socket) this.#current = undefined;
        this.changed();
      });
      this.changed();
    });
    useServer({ schema, roots: { mutation: this.#mutations(), subscription: this.#subscriptions() } }, this.#sockets);
    this.#server.on("upgrade", (request, socket, head) => {
      const url = new URL(request.url!, this.url);
      this.handshakes.push({ url, headers: request.headers });
      this.changed();
      const rejection = this.rejectWith ?? this.#fault(url, request);
      if (!rejection)
        return this.#sockets.handleUpgrade(request, socket, head, (made) =>
          this.#sockets.emit("connection", made, request),
        );
      const body = JSON.stringify(rejection.body);
      return void socket.end(
        `HTTP/1.1 ${rejection.status} Rejected\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    });
  }

  static async start(): Promise<StandInSteward> {
    const steward = new StandInSteward();
    await new Promise<void>((resolve) => steward.#server.listen(0, "127.0.0.1", resolve));
    return steward;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Adds a job, which is assigned as soon as a daemon has subscribed. */
  assign(document: Json, given: Given = {}): StandInJob {
    const type = given.transition ? "WORKSPACE_BUILD" : "TEMPLATE_VERSION_IMPORT";
    const job = new StandInJob(type, {
      variables: [],
      parameters: [],
      transition: "START",
      buildNumber: given.transition ? 1 : null,
      claim: false,
      state: null,
      workspace: given.transition ? standInWorkspace() : null,
      task: null,
      ...given,
      document,
      accessUrl: this.url,
    });
    this.jobs.push(job);
    this.#assign(job);
    return job;
  }

  /** Adds an agent, without a job. */
  addAgent(manifest: Json): StandInAgent {
    const agent = new StandInAgent(manifest);
    this.agents.set(agent.token, agent);
    return agent;
  }

  /** Requests the cancellation of a job. */
  cancel(job: StandInJob): void {
    job.status = "CANCELING";
    this.#push?.({ __typename: "ProvisionerJobCancelRequested", jobId: job.id });
  }

  /** Ends the lease of a job. */
  takeAway(job: StandInJob): void {
    job.lease = randomUUID();
    job.status = "FAILED";
    job.changed();
  }

  drain(reason: string): void {
    this.#push?.({ __typename: "ProvisionerDrainRequested", reason });
  }

  /** Closes the current connection. */
  close(code: number, reason = ""): void {
    this.#current?.close(code, reason);
  }

  /** Cuts the current connection off, without a close frame. */
  cut(): void {
    this.#current?.terminate();
  }

  agentOf(job: StandInJob, name: string): StandInAgent {
    return this.agents.get(job.agents.find((agent) => agent.name === name)!.token!)!;
  }

  #fault(url: URL, request: IncomingMessage): { status: number; body: Json } | undefined {
    const { searchParams: query, pathname } = url;
    const body = (message: string) => ({ message });
    if (request.headers["service-provisioner-key"] !== this.key) return { status: 401, body: body("Sign in again.") };
    if (pathname !== "/api/v2/organizations/default/provisionerdaemons/serve")
      return { status: 404, body: body("Resource not found or you do not have access to it.") };
    if (request.headers["sec-websocket-protocol"] !== "graphql-transport-ws")
      return { status: 400, body: body("Protocol.") };
    if (query.get("version") !== "1.0") return { status: 400, body: body("Unsupported version.") };
    if (query.getAll("provisioner").length === 0) return { status: 400, body: body("provisioner is required.") };
    if (query.has("tag")) return { status: 400, body: body("A key has its own tags.") };
    return undefined;
  }

  #assign(job: StandInJob): void {
    if (!this.#push || job.status !== "PENDING") return;
    this.#push({
      __typename: "ProvisionerJobAssigned",
      jobId: job.id,
      lease: job.lease,
      expiresAt: new Date().toISOString(),
      type: job.type,
      tags: {},
      assignment: job.assignment,
    });
  }

  #subscriptions() {
    return {
      provisionerWorkReceived: ({ slots }: { slots: number }) => {
        const queue: Json[] = [];
        const wake = new EventEmitter();
        const over = new AbortController();
        this.#push = (work) => {
          queue.push(work);
          wake.emit("work");
        };
        this.slots = slots;
        for (const job of this.jobs) this.#assign(job);
        this.changed();
        const end = () => {
          over.abort();
          this.slots = undefined;
          this.#push = undefined;
          wake.emit("work");
          this.changed();
        };
        const next = async (): Promise<IteratorResult<Json>> => {
          while (queue.length === 0 && !over.signal.aborted) await once(wake, "work");
          return over.signal.aborted
            ? { done: true, value: undefined }
            : { done: false, value: { provisionerWorkReceived: queue.shift() } };
        };
        const iterator = {
          next,
          return: async () => {
            end();
            return { done: true as const, value: undefined };
          },
          [Symbol.asyncIterator]: () => iterator,
        };
        return iterator;
      },
    };
  }

  /** Returns a running job with this lease. */
  #leased({ jobId, lease }: Json, statuses: JobStatus[] = ["RUNNING", "CANCELING"]): StandInJob {
    const job = this.jobs.find(({ id }) => id === jobId);
    if (!job || job.lease !== lease || !statuses.includes(job.status)) throw leaseLost();
    return job;
  }

  #mutations(): Record<string, (args: { input: Json }) => unknown> {
    const expiresAt = new Date(Date.now() + 300_000).toISOString();
    const end = (job: StandInJob, input: Json, status: JobStatus) => {
      if (job.outcome) return { status: job.status };
      Object.assign(job, { outcome: input, status });
      job.changed();
      return { status };
    };
    const open: JobStatus[] = ["RUNNING", "CANCELING", "SUCCEEDED", "FAILED", "CANCELED"];
    const verbs: Record<string, (input: Json) => unknown> = {
      acceptProvisionerJob: (input) => {
        const job = this.#leased(input, ["PENDING", "RUNNING"]);
        Object.assign(job, { status: "RUNNING", accepted: job.accepted + 1 });
        job.changed();
        return { expiresAt };
      },
      updateProvisionerJob: (input) => {
        const job = this.#leased(input);
        const logs = input.logs as LogEntry[];
        if (logs.length > 100 || logs.some(({ output }) => Buffer.byteLength(output) > 4096))
          throw new GraphQLError("Validation failed.", { extensions: { code: "BAD_USER_INPUT" } });
        job.logs.push(...logs.filter(({ sequence }) => !job.logs.some((known) => known.sequence === sequence)));
        job.changed();
        return { expiresAt, cancelRequested: job.status === "CANCELING", logsOverflowed: false };
      },
      reportProvisionerResources: (input) => {
        const job = this.#leased(input);
        job.resources ??= input.resources as Json[];
        if (job.agents.length === 0) job.agents = this.#makeAgents(job);
        job.changed();
        return { dailyCost: 0, agents: job.agents };
      },
      completeProvisionerJob: (input) => end(this.#leased(input, open), input, "SUCCEEDED"),
      failProvisionerJob: (input) => {
        const job = this.#leased(input, open);
        if (input.canceled && !["CANCELING", "CANCELED"].includes(job.status))
          throw new GraphQLError("No cancellation was requested.", { extensions: { code: "CONFLICT" } });
        return end(job, input, input.canceled ? "CANCELED" : "FAILED");
      },
    };
    const faulty = (name: string, verb: (input: Json) => unknown) => (args: { input: Json }) => {
      const fault = this.faults.get(name);
      this.faults.delete(name);
      if (fault) throw fault;
      return verb(args.input);
    };
    return Object.fromEntries(Object.entries(verbs).map(([name, verb]) => [name, faulty(name, verb)]));
  }

  #makeAgents(job: StandInJob): StandInJob["agents"] {
    const documents = job.resources!.flatMap(({ agents = [] }) => agents as Json[]);
    return documents.map((document) => {
      const agent = this.addAgent(this.#manifestOf(job, document));
      const isStart = job.assignment.transition === "START";
      return {
        name: document.name as string,
        agentId: agent.manifest.agentId as string,
        external: document.external === true,
        token: isStart ? agent.token : null,
      };
    });
  }

  #manifestOf({ assignment }: StandInJob, document: Json): Json {
    const { workspace, task } = assignment as { workspace: ReturnType<typeof standInWorkspace> | null; task: unknown };
    const {
      directory = "",
      command = [],
      restart = "never",
      env = {},
      apps = [],
      scripts = [],
    } = document as {
      directory?: string;
      command?: string[];
      restart?: string;
      env?: Record<string, string>;
      apps?: Json[];
      scripts?: Json[];
    };
    return {
      agentId: randomUUID(),
      agentName: document.name,
      workspaceId: workspace?.id ?? randomUUID(),
      workspaceName: workspace?.name ?? "",
      ownerId: workspace?.owner.id ?? randomUUID(),
      ownerUsername: workspace?.owner.username ?? "",
      buildNumber: 1,
      accessUrl: this.url,
      directory,
      command,
      restart: restart.toUpperCase(),
      env: Object.entries(env).map(([name, value]) => ({ name, value })),
      secretEnv: this.secrets.env,
      secretFiles: this.secrets.files,
      secretErrors: this.secrets.errors,
      apps: apps.map(({ slug, url, healthcheck }) => {
        const { url: healthcheckUrl = null, interval = 5, threshold = 3 } = (healthcheck ?? {}) as Json;
        const isChecked = healthcheckUrl !== null;
        return {
          slug,
          url,
          healthcheckUrl,
          healthcheckIntervalSeconds: isChecked ? interval : null,
          healthcheckThreshold: isChecked ? threshold : null,
        };
      }),
      scripts: scripts.map((script) => ({
        id: randomUUID(),
        displayName: script.display_name,
        script: script.script,
        runOnStart: script.run_on_start ?? false,
        runOnStop: script.run_on_stop ?? false,
        startBlocksLogin: false,
        timeoutSeconds: script.timeout ?? 0,
        cron: script.cron ?? "",
        logPath: script.log_path ?? "",
        logSourceId: randomUUID(),
      })),
      logSourceId: randomUUID(),
      task: task ? { protocol: "AGENTAPI", appToken: "", mode: null, model: null, effort: null, ...task } : null,
    };
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, body: unknown) =>
      void response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    if (request.url !== "/graphql" || request.method !== "POST") return reply(404, {});
    if (this.isDown) {
      this.turnedAway += 1;
      this.changed();
      return reply(503, { message: "The service is temporarily unavailable." });
    }
    const agent = this.agents.get(String(request.headers["service-session-token"]));
    if (!agent?.isValid) return reply(401, { message: "You are signed out." });
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { query, variables } = JSON.parse(text) as { query: string; variables?: Json };
    const record = (name: string, result: unknown) => (args: { input?: Json }) => {
      agent.calls.push({ name, input: args.input ?? {} });
      agent.changed();
      return result;
    };
    const rootValue = {
      agentManifest: record("agentManifest", agent.manifest),
      agentHeartbeat: record("agentHeartbeat", { shutdown: agent.shutdown }),
      appendAgentLogs: record("appendAgentLogs", { overflowed: agent.overflowed }),
      ...Object.fromEntries(
        ["Startup", "Lifecycle", "Resources"]
          .map((noun) => `reportAgent${noun}`)
          .concat("reportAppHealth", "reportAppStatus", "reportScriptResult", "disconnectAgent")
          .map((name) => [name, record(name, { done: true })]),
      ),
    };
    return reply(200, await graphql({ schema, source: query, variableValues: variables, rootValue }));
  }
}

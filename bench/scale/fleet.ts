import { WebSocket } from "ws";
import { inTime } from "./open-loop.js";

/** An agent that a build has started, with the token with which it reports. */
export interface Agent {
  name: string;
  token: string;
}

/** Milliseconds for a connection. */
const timeout = 30_000;

/** Milliseconds within which a job must end. */
const jobTimeout = 30_000;

/** Provisioner daemons that speak the daemon protocol, on servers in turn. They do each job immediately and build nothing. */
export class Fleet implements Disposable {
  readonly #daemons: Daemon[] = [];
  readonly #jobs = new Map<string, PromiseWithResolvers<Agent[]>>();

  static async open(urls: readonly URL[], count: number, key: string, provisioner: string): Promise<Fleet> {
    const fleet = new Fleet();
    const names = Array.from({ length: count }, (_, nr) => `bench-${nr}`);
    for (const [nr, name] of names.entries()) {
      const url = new URL("/api/v2/organizations/default/provisionerdaemons/serve", urls[nr % urls.length]);
      url.protocol = "ws:";
      url.search = new URLSearchParams({ provisioner, name, version: "1.0" }).toString();
      fleet.#daemons.push(new Daemon(url, key, (job, end) => void end.then(...fleet.#settle(job))));
    }
    const connected = Promise.all(fleet.#daemons.map(({ ready }) => ready));
    try {
      await inTime(timeout, connected, () => "Daemons do not connect.");
    } catch (error) {
      fleet[Symbol.dispose]();
      throw error;
    }
    return fleet;
  }

  /** Resolves when the job has succeeded, to the agents that it has started. */
  ended(job: string): Promise<Agent[]> {
    return inTime(jobTimeout, this.#of(job).promise, () => `The job ${job} does not end.`).finally(() =>
      this.#jobs.delete(job),
    );
  }

  [Symbol.dispose](): void {
    for (const daemon of this.#daemons) daemon.close();
  }

  /** The job may end before or after the response that names it. */
  #of(job: string): PromiseWithResolvers<Agent[]> {
    const known = this.#jobs.get(job);
    if (known) return known;
    const made = Promise.withResolvers<Agent[]>();
    made.promise.catch(() => {});
    this.#jobs.set(job, made);
    return made;
  }

  #settle(job: string): [(agents: Agent[]) => void, (error: Error) => void] {
    return [
      (agents) => this.#of(job).resolve(agents),
      (error) => {
        // Another daemon gets a job that was accepted too late.
        if (!error.message.includes("LEASE_LOST")) this.#of(job).reject(error);
      },
    ];
  }
}

const work = `subscription { provisionerWorkReceived(slots: 1) { __typename
  ... on ProvisionerJobAssigned { jobId lease assignment { document transition } } } }`;

interface Resource {
  transitions?: string[];
}

interface Job {
  jobId: string;
  lease: string;
  assignment: { document: { resources?: Resource[] }; transition: string | null };
}

interface Payload {
  data?: Record<string, unknown> & { provisionerWorkReceived?: Job & { __typename: string } };
  errors?: unknown;
}

interface Message {
  type: string;
  id: string;
  payload?: Payload;
}

/** Lines of the log of each build. */
export const linesPerBuild = 20;

class Daemon {
  readonly ready: Promise<void>;
  readonly #socket: WebSocket;
  readonly #calls = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  #sent = 0;

  constructor(url: URL, key: string, onJob: (job: string, end: Promise<Agent[]>) => void) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#socket = new WebSocket(url, "graphql-transport-ws", { headers: { "Service-Provisioner-Key": key } });
    this.#socket.on("open", () => this.#send({ type: "connection_init" }));
    this.#socket.on("error", (error) => this.#fail(error, reject));
    this.#socket.on("close", (code) => this.#fail(new Error(`A daemon was closed with ${code}.`), reject));
    this.#socket.on("message", (data: Buffer) => {
      const { type, id, payload } = JSON.parse(data.toString()) as Message;
      if (type === "connection_ack") {
        this.#send({ type: "subscribe", id: "work", payload: { query: work } });
        resolve();
      }
      const job = payload?.data?.provisionerWorkReceived;
      if (id === "work" && type === "next" && job?.__typename === "ProvisionerJobAssigned")
        onJob(job.jobId, this.#carryOut(job));
      const call = this.#calls.get(id);
      if (!call) return;
      this.#calls.delete(id);
      if (type === "next" && payload?.data && !payload.errors) call.resolve(payload.data);
      else call.reject(new Error(data.toString()));
    });
  }

  close(): void {
    this.#socket.terminate();
  }

  async #carryOut({ jobId, lease, assignment }: Job): Promise<Agent[]> {
    const { document, transition } = assignment;
    const wanted = (transition ?? "START").toLowerCase();
    const resources = (document.resources ?? []).filter(({ transitions = ["start"] }) => transitions.includes(wanted));
    const held = { jobId, lease };
    await this.#call("acceptProvisionerJob", "expiresAt", held);
    const reported = await this.#call("reportProvisionerResources", "agents { name token }", { ...held, resources });
    const logs = Array.from({ length: linesPerBuild }, (_, nr) => ({
      sequence: nr + 1,
      createdAt: new Date().toISOString(),
      level: "INFO",
      source: "PROVISIONER",
      stage: "Apply",
      output: `box.main: Still creating... [${nr}0s elapsed]`,
    }));
    await this.#call("updateProvisionerJob", "expiresAt", { ...held, logs });
    await this.#call("completeProvisionerJob", "status", held);
    return (reported.reportProvisionerResources as { agents: Agent[] }).agents;
  }

  #call(verb: string, selected: string, input: object): Promise<Record<string, unknown>> {
    const id = String(this.#sent++);
    const type = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input`;
    const query = `mutation($input: ${type}!) { ${verb}(input: $input) { ${selected} } }`;
    const call = Promise.withResolvers<Record<string, unknown>>();
    this.#calls.set(id, call);
    this.#send({ type: "subscribe", id, payload: { query, variables: { input } } });
    return call.promise;
  }

  #send(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  #fail(error: Error, reject: (error: Error) => void): void {
    reject(error);
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}

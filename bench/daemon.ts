import { WebSocket } from "ws";

export interface Resource {
  transitions?: string[];
}

/** An assigned job. */
export interface Job {
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

const work = (slots: number) => `subscription { provisionerWorkReceived(slots: ${slots}) { __typename
  ... on ProvisionerJobAssigned { jobId lease assignment { document transition } } } }`;

export interface DaemonOptions {
  /** Address of a server, with `http:`. */
  url: string | URL;
  /** Id or name of an organization. */
  organization: string;
  key: string;
  provisioner: string;
  /** One daemon of an organization has a name at a time. */
  name: string;
  /** Jobs at a time. */
  slots: number;
  /** Called for each assigned job. */
  onJob: (job: Job) => void;
}

/** A connection that speaks the daemon protocol: it gets jobs, and calls mutations for them. */
export class Daemon implements Disposable {
  /** Resolves when jobs can be assigned. */
  readonly ready: Promise<void>;
  readonly #socket: WebSocket;
  readonly #calls = new Map<string, PromiseWithResolvers<Record<string, unknown>>>();
  #sent = 0;

  constructor({ url, organization, key, provisioner, name, slots, onJob }: DaemonOptions) {
    const address = new URL(`/api/v2/organizations/${organization}/provisionerdaemons/serve`, url);
    address.protocol = "ws:";
    address.search = new URLSearchParams({ provisioner, name, version: "1.0" }).toString();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#socket = new WebSocket(address, "graphql-transport-ws", { headers: { "Service-Provisioner-Key": key } });
    this.#socket.on("open", () => this.#send({ type: "connection_init" }));
    this.#socket.on("error", (error) => this.#fail(error, reject));
    this.#socket.on("close", (code) => this.#fail(new Error(`A daemon was closed with ${code}.`), reject));
    this.#socket.on("message", (data: Buffer) => {
      const { type, id, payload } = JSON.parse(data.toString()) as Message;
      if (type === "connection_ack") {
        this.#send({ type: "subscribe", id: "work", payload: { query: work(slots) } });
        resolve();
      }
      const job = payload?.data?.provisionerWorkReceived;
      if (id === "work" && type === "next" && job?.__typename === "ProvisionerJobAssigned") onJob(job);
      const call = this.#calls.get(id);
      if (!call) return;
      this.#calls.delete(id);
      if (type === "next" && payload?.data && !payload.errors) call.resolve(payload.data);
      else call.reject(new Error(data.toString()));
    });
  }

  /** Calls a mutation, and returns what is selected of its payload. Rejects with the response if it has errors. */
  async call<Selected>(verb: string, selected: string, input: object): Promise<Selected> {
    const id = String(this.#sent++);
    const type = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input`;
    const query = `mutation($input: ${type}!) { ${verb}(input: $input) { ${selected} } }`;
    const call = Promise.withResolvers<Record<string, unknown>>();
    this.#calls.set(id, call);
    this.#send({ type: "subscribe", id, payload: { query, variables: { input } } });
    return (await call.promise)[verb] as Selected;
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
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

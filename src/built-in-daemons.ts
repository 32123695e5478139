// The daemons of the type `echo` that the server runs itself: clients of the protocol for daemons, without a socket.
import { type GraphQLSchema, parse } from "graphql";
import type { ProvisionerActor } from "./domain/kernel/actor.js";
import { Context, type Services } from "./domain/kernel/context.js";
import type { Subscription } from "./domain/kernel/events.js";
import { newId } from "./domain/kernel/ids.js";
import { organizationsToServe, registerBuiltInDaemon } from "./domain/provisioners/built-in.js";
import { formatError } from "./graphql/engine/errors.js";
import { type Admitted, type Operation, prepare } from "./graphql/engine/execute.js";
import type { Result } from "./graphql/engine/result.js";
import type { Variables } from "./graphql/engine/variables.js";
import { serveEcho } from "./provisioner/serve-echo.js";
import { type Closing, type Connection, operationError, type Transport } from "./provisioner/transport.js";

/** Milliseconds between updates of the daemons: they must be seen every 90 seconds, and organizations come and go. */
const interval = 20_000;

interface Running {
  transport: InProcess;
  stopping: AbortController;
  ended: Promise<void>;
}

/** Runs one daemon per organization. */
export class BuiltInDaemons {
  readonly #running = new Map<string, Running>();
  readonly #operations: (document: string) => Operation;
  #updating: Promise<void> = Promise.resolve();
  #timer?: NodeJS.Timeout;
  #hints?: Subscription;

  constructor(
    private readonly services: Services,
    schema: GraphQLSchema,
  ) {
    const prepared = new Map<string, Operation>();
    this.#operations = (document) => {
      const operation = prepared.get(document) ?? prepare(schema, parse(document));
      prepared.set(document, operation);
      return operation;
    };
  }

  /** Starts the daemons, now and whenever an organization is created. */
  start(): void {
    const { events, log } = this.services;
    const update = () => {
      this.#updating = this.#updating
        .then(() => this.#update())
        .catch((error: unknown) => log.warn({ err: error }, "The built-in provisioner daemons could not be updated."));
    };
    update();
    this.#timer = setInterval(update, interval);
    // The first job of a new organization comes with a hint that has just the ID of the organization.
    const onHint = (id: string) => {
      if (!id.includes(":") && !this.#running.has(id)) update();
    };
    this.#hints = events.subscribeAll("jobs", onHint, () => {});
  }

  /** Completes the jobs in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#hints?.close();
    await this.#updating;
    await Promise.all([...this.#running.keys()].map((id) => this.#stop(id)));
  }

  async #update(): Promise<void> {
    const wanted = new Set(await organizationsToServe(this.services));
    for (const id of this.#running.keys()) if (!wanted.has(id)) await this.#stop(id);
    for (const id of wanted) {
      const running = this.#running.get(id);
      if (running) await running.transport.refresh();
      else this.#running.set(id, this.#serve(id));
    }
  }

  #serve(organizationId: string): Running {
    const { log } = this.services;
    const transport = new InProcess(this.services, organizationId, this.#operations);
    const stopping = new AbortController();
    const report = (message: string) => log.debug({ organizationId }, message);
    const ended = serveEcho(transport, stopping.signal, report).catch((error: unknown) =>
      log.error({ err: error, organizationId }, "The built-in provisioner daemon failed."),
    );
    return { transport, stopping, ended };
  }

  async #stop(organizationId: string): Promise<void> {
    const running = this.#running.get(organizationId);
    this.#running.delete(organizationId);
    running?.stopping.abort();
    await running?.ended;
  }
}

/** Connects the daemon of an organization with the executor of the server. */
class InProcess implements Transport {
  #connection?: InProcessConnection;

  constructor(
    private readonly services: Services,
    private readonly organizationId: string,
    private readonly operations: (document: string) => Operation,
  ) {}

  async connect(): Promise<Connection> {
    const actor = await registerBuiltInDaemon(this.services, this.organizationId);
    this.#connection = new InProcessConnection(this.services, actor, this.operations);
    return this.#connection;
  }

  /** Records that the daemon was seen. If its row was deleted, which makes it another daemon, it connects again. */
  async refresh(): Promise<void> {
    const { id } = await registerBuiltInDaemon(this.services, this.organizationId);
    if (this.#connection && this.#connection.daemonId !== id) this.#connection.close();
  }
}

class InProcessConnection implements Connection {
  readonly #ended = Promise.withResolvers<Closing>();
  readonly closed = this.#ended.promise;
  readonly #life = new AbortController();

  constructor(
    private readonly services: Services,
    private readonly actor: ProvisionerActor,
    private readonly operations: (document: string) => Operation,
  ) {}

  get daemonId(): string {
    return this.actor.id;
  }

  async execute<Data>(document: string, variables: object): Promise<Data> {
    const { ctx, admitted } = this.#admit(document, new AbortController());
    return dataOf(ctx, await admitted.run(variables as Variables)) as Data;
  }

  async *subscribe<Data>(document: string, variables: object, signal: AbortSignal): AsyncIterable<Data> {
    const life = new AbortController();
    const end = () => life.abort();
    const either = AbortSignal.any([signal, this.#life.signal]);
    either.addEventListener("abort", end);
    if (either.aborted) return;
    const { ctx, admitted } = this.#admit(document, life);
    const results = await admitted.start(variables as Variables);
    // A subscription that could not start has errors only, which are thrown here.
    const events = Symbol.asyncIterator in results ? results : [results];
    for await (const result of events) yield dataOf(ctx, result) as Data;
  }

  close(): void {
    this.#life.abort();
    this.#ended.resolve({ code: 1000, reason: "" });
  }

  #admit(document: string, life: AbortController): { ctx: Context; admitted: Admitted } {
    const ctx = new Context(this.services, this.actor, { id: newId() }, () => life);
    return { ctx, admitted: this.operations(document).admit(ctx) };
  }
}

/** Returns the data of a result. Throws its first error, as a socket would report it. */
function dataOf(ctx: Context, { data, errors }: Result): unknown {
  if (errors) throw operationError(errors.map((error) => formatError(ctx, error)));
  return data;
}

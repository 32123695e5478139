// The daemons of the type `echo` that the server runs itself: clients of the protocol for daemons, without a socket.
import { type GraphQLSchema, parse } from "graphql";
import type { ProvisionerActor } from "./domain/kernel/actor.js";
import { Context, type Services } from "./domain/kernel/context.js";
import type { Subscription } from "./runtime/events.js";
import { newId } from "./domain/kernel/ids.js";
import { organizationsWithWork, registerBuiltInDaemons } from "./domain/provisioners/daemon-registration.js";
import { formatError } from "./graphql/engine/errors.js";
import { type Admitted, type Operation, prepare } from "./graphql/engine/execute.js";
import type { Result } from "./graphql/engine/result.js";
import type { Variables } from "./graphql/engine/variables.js";
import { serveEcho } from "../clients/daemon/serve-echo.js";
import type { Closing, Connection } from "../clients/api/connection.js";
import { operationError, type Transport } from "../clients/daemon/transport.js";

/** Milliseconds between updates of the daemons: they must be seen every 90 seconds, and organizations come and go. */
const interval = 20_000;

interface Running {
  transport: InProcess;
  stopping: AbortController;
  ended: Promise<void>;
}

/** Has a daemon for each organization. It runs while the organization has work for it: idle ones cost nothing. */
export class BuiltInDaemons {
  /** By organization. */
  #daemons = new Map<string, ProvisionerActor>();
  readonly #running = new Map<string, Running>();
  readonly #operations: (document: string) => Operation;
  #updating: Promise<void> = Promise.resolve();
  #timer?: NodeJS.Timeout;
  #isClosed = false;
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

  /** Registers the daemons, and starts those that have work, now and whenever there is a new job. */
  start(): void {
    const { events, log } = this.services;
    const update = () => {
      this.#updating = this.#updating
        .then(() => this.#update())
        .catch((error: unknown) => log.warn({ err: error }, "The built-in provisioner daemons could not be updated."));
    };
    update();
    this.#timer = setInterval(update, interval);
    // A new job comes with a hint that has just the ID of the organization.
    const onHint = (id: string) => {
      if (id.includes(":") || this.#running.has(id)) return;
      if (this.#daemons.has(id)) this.#serve(id);
      else update();
    };
    this.#hints = events.subscribeAll("jobs", onHint, () => {});
  }

  /** Completes the jobs in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#hints?.close();
    this.#isClosed = true;
    await this.#updating;
    await Promise.all([...this.#running.keys()].map((id) => this.#stop(id)));
  }

  async #update(): Promise<void> {
    const registered = await registerBuiltInDaemons(this.services);
    this.#daemons = new Map(registered.map((daemon) => [daemon.organizationId, daemon]));
    for (const [id, { transport }] of this.#running) transport.refresh(this.#daemons.get(id));
    const wanted = await this.#startWanted();
    const idle = [...this.#running.keys()].filter((id) => !wanted.has(id));
    await Promise.all(idle.map((id) => this.#stop(id)));
    // What arrived while they stopped.
    if (idle.length > 0) await this.#startWanted();
  }

  /** Starts the daemons of the organizations in which jobs wait. Returns these organizations. */
  async #startWanted(): Promise<Set<string>> {
    const wanted = await organizationsWithWork(this.services, [...this.#daemons.keys()]);
    for (const id of wanted) if (!this.#running.has(id)) this.#serve(id);
    return wanted;
  }

  #serve(organizationId: string): void {
    if (this.#isClosed) return;
    const { log } = this.services;
    const daemonOf = () => this.#daemons.get(organizationId);
    const transport = new InProcess(this.services, daemonOf, this.#operations);
    const stopping = new AbortController();
    const report = (message: string) => log.debug({ organizationId }, message);
    const ended = serveEcho(transport, stopping.signal, report).catch((error: unknown) =>
      log.error({ err: error, organizationId }, "The built-in provisioner daemon failed."),
    );
    this.#running.set(organizationId, { transport, stopping, ended });
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
    private readonly daemonOf: () => ProvisionerActor | undefined,
    private readonly operations: (document: string) => Operation,
  ) {}

  async connect(): Promise<Connection> {
    const daemon = this.daemonOf();
    if (!daemon) throw new Error("The organization was deleted.");
    this.#connection = new InProcessConnection(this.services, { ...daemon }, this.operations);
    return this.#connection;
  }

  /** Connects again if the row of the daemon was deleted, which makes it another daemon. */
  refresh(daemon: ProvisionerActor | undefined): void {
    if (this.#connection && this.#connection.daemonId !== daemon?.id) this.#connection.close();
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

// Provisioner daemons that speak plain graphql-transport-ws, and jobs for them.
// Looks inside: jobs are queued directly: hundreds of templates would take minutes.
import { once } from "node:events";
import { WebSocket } from "ws";
import { Problems } from "../../src/domain/kernel/errors.js";
import { enqueueJob, type NewJob } from "../../src/domain/provisioners/provisioner-jobs.js";
import { scopeTags } from "../../src/domain/provisioners/tags.js";
import { parseDocument } from "../../src/domain/templates/template-documents.js";
import { type App, systemContext } from "./app.js";
import { newId } from "./ids.js";
import { eventually } from "./watchers.js";
import type { Anything, ResultOf, World } from "./world.js";

const work = `subscription Work($slots: Int!) { provisionerWorkReceived(slots: $slots) { __typename
  ... on ProvisionerJobAssigned { jobId lease expiresAt type tags
    assignment { document variables { name value } parameters { name value }
      transition buildNumber claim state accessUrl
      workspace { id name owner { id username } } task { id prompt } } }
  ... on ProvisionerJobCancelRequested { jobId }
  ... on ProvisionerDrainRequested { reason } } }`;

/** The mutations of daemons. */
const mutations = {
  acceptProvisionerJob:
    "mutation($input: AcceptProvisionerJobInput!) { acceptProvisionerJob(input: $input) { expiresAt } }",
  updateProvisionerJob: `mutation($input: UpdateProvisionerJobInput!) {
    updateProvisionerJob(input: $input) { expiresAt cancelRequested logsOverflowed } }`,
  reportProvisionerResources: `mutation($input: ReportProvisionerResourcesInput!) {
    reportProvisionerResources(input: $input) { dailyCost agents { name agentId external token } } }`,
  completeProvisionerJob:
    "mutation($input: CompleteProvisionerJobInput!) { completeProvisionerJob(input: $input) { status } }",
  failProvisionerJob: "mutation($input: FailProvisionerJobInput!) { failProvisionerJob(input: $input) { status } }",
} as const;

type Mutations = typeof mutations;

/** The payload of a mutation. */
type Payload<Name extends keyof Mutations> =
  ResultOf<Mutations[Name]> extends Record<Name, infer Result> ? Result : never;

/** An event of the work of a daemon, mostly a job that it got. */
export type Assigned = ResultOf<typeof work>["provisionerWorkReceived"];

/** The names of a job that a daemon has. */
export type Job = Pick<Assigned, "jobId" | "lease">;

/** The errors of an operation, or the code and reason of a closed socket. */
export class Refused extends Error {
  constructor(readonly errors: Array<{ message: string; extensions?: Record<string, Anything> }>) {
    super(JSON.stringify(errors));
  }
  get reason(): string | undefined {
    return this.errors[0]?.extensions?.reason as string | undefined;
  }
  get code(): string | undefined {
    return this.errors[0]?.extensions?.code as string | undefined;
  }
}

/** A daemon on its socket. */
export class Daemon {
  /** The events that it received, in their order. */
  readonly events: Assigned[] = [];
  closed: { code: number; reason: string } | undefined;
  #next = 0;
  readonly #pending = new Map<string, PromiseWithResolvers<Anything>>();

  constructor(readonly socket: WebSocket) {
    socket.on("message", (data) => this.#take(JSON.parse((data as Buffer).toString())));
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      for (const { reject } of this.#pending.values()) reject(new Error(`The socket was closed with ${code}.`));
    });
  }

  get assigned(): Assigned[] {
    return this.events.filter((event) => event.__typename === "ProvisionerJobAssigned");
  }

  #take({ type, id, payload }: Anything): void {
    if (type === "ping") this.send({ type: "pong" });
    const pending = this.#pending.get(id as string);
    if (type === "next" && id === "work")
      this.events.push(...(payload.data ? [payload.data.provisionerWorkReceived] : []));
    else if (type === "next" && payload.errors) pending?.reject(new Refused(payload.errors));
    else if (type === "next") pending?.resolve(payload.data);
    else if (type === "error") pending?.reject(new Refused(payload));
  }

  send = (message: object): void => this.socket.send(JSON.stringify(message));

  /** Runs one operation. Rejects with `Refused`. */
  async run<Text extends string>(query: Text, variables: object = {}): Promise<ResultOf<Text>> {
    if (this.closed) throw new Error(`The socket was closed with ${this.closed.code}.`);
    const id = String(this.#next++);
    const pending = Promise.withResolvers<Anything>();
    this.#pending.set(id, pending);
    this.send({ type: "subscribe", id, payload: { query, variables } });
    return pending.promise.finally(() => this.#pending.delete(id));
  }

  /** Subscribes to work. */
  work(slots = 1): this {
    this.send({ type: "subscribe", id: "work", payload: { query: work, variables: { slots } } });
    return this;
  }

  /** Runs a mutation and returns its payload. */
  async call<Name extends keyof Mutations>(name: Name, { jobId, lease }: Job, more = {}): Promise<Payload<Name>> {
    const result: Anything = await this.run(mutations[name], { input: { jobId, lease, ...more } });
    return result[name];
  }

  /** Waits for the assignment with a number, from 0. */
  async job(number = 0): Promise<Assigned> {
    await eventually(() => this.assigned.length > number, `assignment ${number}`);
    return this.assigned[number]!;
  }

  async closing(): Promise<{ code: number; reason: string }> {
    if (!this.closed) await once(this.socket, "close");
    return this.closed!;
  }

  close(): void {
    this.socket.terminate();
  }

  /** Closes the socket and waits for it: no more work is assigned. */
  async leave(): Promise<void> {
    if (this.closed) return;
    this.socket.close();
    await this.closing();
  }
}

export interface Serving {
  key?: string;
  token?: string;
  organization?: string;
  query?: string;
  protocol?: string | null;
  headers?: Record<string, string>;
}

/** Opens the socket of a daemon and introduces it. Rejects with the status of a rejection. */
export async function serve(app: Pick<App, "url">, options: Serving = {}): Promise<Daemon> {
  const { key, token, organization = "default", query = "provisioner=echo", protocol, headers } = options;
  const path = `/api/v2/organizations/${organization}/provisionerdaemons/serve?${query}`;
  const socket = new WebSocket(
    app.url.replace("http", "ws") + path,
    protocol === null ? [] : [protocol ?? "graphql-transport-ws"],
    {
      headers: {
        ...(key && { "Service-Provisioner-Key": key }),
        ...(token && { "Service-Session-Token": token }),
        ...headers,
      },
    },
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.on("unexpected-response", (_request, response) => {
    reject(Object.assign(new Error(`Status ${response.statusCode}`), { status: response.statusCode }));
    response.resume();
    socket.terminate();
  });
  socket.on("open", resolve);
  await promise;
  const daemon = new Daemon(socket);
  daemon.send({ type: "connection_init" });
  await once(socket, "message");
  return daemon;
}

/** Creates a key in the default organization, or another one. */
export async function newKey(w: World, tags: Record<string, string> = {}, organization = "default"): Promise<string> {
  const { status, body } = await w.as(w.owner).post(`/api/v2/organizations/${organization}/provisionerkeys`, { tags });
  if (status !== 201) throw new Error(`Provisioner key: ${status} ${JSON.stringify(body)}`);
  return body.key;
}

/** A document with one resource, with all defaults. */
export const content = parseDocument(
  {
    schema: "steward.template/1",
    provisioner: "echo",
    resources: [{ name: "box", daily_cost: 3 }],
  },
  new Problems(),
)!;
export const { resources } = content;

const insertVersion = `
  with document as (
    insert into template_documents (id, organization_id, sha256, content, created_at)
    values ($1, $2, sha256($1::uuid::text::bytea), $6, now())
  ), template as (
    insert into templates (id, created_at, updated_at, organization_id, name, creator_id, version_count)
    values ($3, now(), now(), $2, 't-' || right($3::uuid::text, 12), $4, 1)
  )
  insert into template_versions (id, created_at, updated_at, template_id, name, document_id, creator_id, job_id)
  values ($5, now(), now(), $3, 'v1', $1, $4, $7)`;

/** Queues imports of new template versions, as their creation does. Returns the ids of the jobs. */
export async function queueImports(
  { app, owner, defaultOrganization }: Pick<World, "app" | "owner" | "defaultOrganization">,
  count: number,
  { tags = {}, ...more }: { tags?: Record<string, string> } & Partial<NewJob> = {},
): Promise<string[]> {
  const { services } = app;
  const organizationId = more.organizationId ?? defaultOrganization;
  const documentId = newId();
  const templateId = newId();
  const versionId = newId();
  const jobIds = Array.from({ length: count }, () => newId());
  const values = [documentId, organizationId, templateId, owner.id, versionId, content, jobIds[0] ?? newId()];
  await services.database.pool.query(insertVersion, values);
  const ctx = systemContext(app);
  await ctx.transactional(async () => {
    for (const id of jobIds)
      await enqueueJob(ctx, {
        id,
        organizationId,
        type: "template_version_import",
        provisioner: "echo",
        tags: scopeTags(tags, more.initiatorId ?? owner.id),
        initiatorId: owner.id,
        documentId,
        templateVersionId: versionId,
        priority: 0,
        ...more,
      });
  });
  return jobIds;
}

/** Queues one import. */
export const queueImport = async (
  w: Parameters<typeof queueImports>[0],
  more: Parameters<typeof queueImports>[2] = {},
): Promise<string> => (await queueImports(w, 1, more))[0]!;

/** Accepts a job, reports its resources, and completes it. */
export async function carryOut(daemon: Daemon, job: Assigned) {
  await daemon.call("acceptProvisionerJob", job);
  await daemon.call("reportProvisionerResources", job, { resources });
  return daemon.call("completeProvisionerJob", job);
}

import { hashOfAll } from "../accounts.js";
import { insertSessions, publicId, secretOf, sqlHash, sqlId, sqlPublicId, sqlSecret, token } from "../data.js";
import { createDatabase } from "../growth/databases.js";
import { known, users as numbers } from "../growth/known.js";
import { sizeOf } from "../growth/size.js";
import { insertOAuth2 } from "../oauth2-rows.js";
import { withClient } from "../postgres.js";
import type { ServerProcess } from "../process.js";
import { graphql } from "../requests.js";
import type { Run } from "../run.js";
import { startSteward } from "../steward.js";
import { Watchers } from "../watchers.js";
import { Clients, inTime } from "./clients.js";
import { Fleet } from "./fleet.js";
import { daemons, dashboards, users } from "./model.js";

/** Rows of 2,000 users after some months. */
const size = {
  ...sizeOf(users),
  inbox: 50_000,
  auditEvents: 100_000,
  connectionLogs: 100_000,
  workspaces: users,
};

/** Users whose workspace is started and stopped. */
const builders = 400;

/** Workspaces created at a time. */
const creators = 16;

/** Milliseconds for a notification to reach the watcher of its user, from when its request is made. */
const deliveryTimeout = 60_000;

/** Sessions of all users, and tokens of the agents of their workspaces. */
const series = { sessions: "w", agents: "t" };

/** A user that can sign in. */
export interface Person {
  nr: number;
  token: string;
}

/** A workspace of a person, with the daemons' template. */
export interface Box {
  id: string;
  owner: Person;
  isRunning: boolean;
}

export const agentToken = (nr: number): string => `stwa_${secretOf(publicId(series.agents, nr))}`;

/** Numbers of the agents of started workspaces. */
export const agents = Array.from({ length: size.workspaces }, (_, nr) => nr).filter((nr) => nr < 100 || nr >= 120);

/** The version of the template for tasks, and of that for other workspaces. */
export interface Templates {
  box: string;
  task: string;
}

const provisioner = "bench";

const agentOf = (more: object) => ({ name: "main", os: "linux", arch: "amd64", ...more });
const documentOf = (agent: object, more: object = {}) => ({
  schema: "steward.template/1",
  provisioner,
  resources: [{ name: "box", agents: [agent] }],
  ...more,
});
const documents = {
  box: documentOf(agentOf({})),
  task: documentOf(agentOf({ command: ["true"], apps: [{ slug: "chat", url: "http://127.0.0.1:9" }] }), {
    ai_task: { agent: "main", app: "chat" },
  }),
};

/** Two replicas on a database of their own, with everyone who is connected to them. */
export class Deployment implements AsyncDisposable {
  /** Those that no operation is changing. */
  readonly boxes: Box[] = [];
  people: Person[] = [];
  /** Those with a watcher of their inbox. */
  watching: Person[] = [];
  templates!: Templates;
  scimKey!: string;
  fleet!: Fleet;
  #opened: AsyncDisposableStack | undefined;
  /** Called when the notification with a title reaches the watcher of its user. */
  readonly #arrivals = new Map<string, () => void>();

  private constructor(
    readonly databaseUrl: string,
    readonly servers: readonly ServerProcess[],
    readonly clients: Clients,
  ) {}

  static async open(run: Run): Promise<Deployment> {
    const databaseUrl = await createDatabase("scale", size, run);
    const active = await fill(databaseUrl);
    run.progress("scale: starting two replicas");
    await using opened = new AsyncDisposableStack();
    const servers = [
      opened.use(await startReplica(run, databaseUrl)),
      opened.use(await startReplica(run, databaseUrl)),
    ];
    const clients = opened.use(new Clients(servers.map(({ url }) => url)));
    const deployment = new Deployment(databaseUrl, servers, clients);
    deployment.people = active.map((nr) => ({ nr, token: token(series.sessions, nr) }));
    await deployment.#connect(run, opened);
    deployment.#opened = opened.move();
    return deployment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened?.disposeAsync();
  }

  /** Runs a GraphQL operation, and returns its data. */
  async graphql<Data>(query: string, variables: Record<string, unknown>, sessionToken: string) {
    const body = await this.clients.ask(graphql(query, variables, sessionToken));
    return (JSON.parse(Buffer.from(body, "latin1").toString()) as { data: Data }).data;
  }

  /** Resolves when the notification with a title has reached the watcher of its user. */
  arrival = (title: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#arrivals.set(title, resolve);
    return inTime(deliveryTimeout, promise, "A notification does not arrive.").finally(() =>
      this.#arrivals.delete(title),
    );
  };

  async #connect(run: Run, opened: AsyncDisposableStack): Promise<void> {
    run.progress("scale: watchers, daemons, templates, and workspaces");
    const urls = this.servers.map(({ url }) => url);
    this.watching = this.people.slice(0, dashboards);
    const watchers = opened.use(
      new Watchers((text) => this.#arrivals.get(/"title":"([^"]*)"/.exec(text)?.[1] ?? "")?.()),
    );
    for (const [nr, url] of urls.entries())
      await watchers.open(
        url,
        this.watching.filter((_, at) => at % urls.length === nr).map((person) => person.token),
      );
    const owner = token(series.sessions, numbers.owner);
    const { createProvisionerKey } = await this.graphql<{ createProvisionerKey: { key: string } }>(
      `mutation { createProvisionerKey(input: { organization: "default", name: "bench" }) { key } }`,
      {},
      owner,
    );
    this.fleet = opened.use(new Fleet(urls, daemons, createProvisionerKey.key, provisioner));
    this.templates = {
      box: await this.#createTemplate("bench-box", documents.box, owner),
      task: await this.#createTemplate("bench-task", documents.task, owner),
    };
    const { createScimKey } = await this.graphql<{ createScimKey: { secret: string } }>(
      `mutation { createScimKey(input: { name: "bench" }) { secret } }`,
      {},
      owner,
    );
    this.scimKey = createScimKey.secret;
    const pending = this.people.slice(-builders);
    const createSome = async () => {
      for (let person = pending.pop(); person; person = pending.pop()) await this.#createBox(person);
    };
    await Promise.all(Array.from({ length: creators }, createSome));
  }

  /** Returns the version, which a daemon has imported. */
  async #createTemplate(name: string, document: object, owner: string): Promise<string> {
    const { createTemplate } = await this.graphql<{
      createTemplate: { templateVersion: { id: string; job: { id: string } } };
    }>(
      `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id job { id } } } }`,
      { input: { organization: "default", name, document } },
      owner,
    );
    await this.fleet.ended(createTemplate.templateVersion.job.id);
    return createTemplate.templateVersion.id;
  }

  async #createBox(owner: Person): Promise<void> {
    const { createWorkspace } = await this.graphql<{
      createWorkspace: { workspace: { id: string }; workspaceBuild: { job: { id: string } } };
    }>(
      `mutation($input: CreateWorkspaceInput!) {
         createWorkspace(input: $input) { workspace { id } workspaceBuild { job { id } } } }`,
      { input: { name: "bench", templateVersionId: this.templates.box } },
      owner.token,
    );
    await this.fleet.ended(createWorkspace.workspaceBuild.job.id);
    this.boxes.push({ id: createWorkspace.workspace.id, owner, isRunning: true });
  }
}

const startReplica = (run: Run, databaseUrl: string) =>
  startSteward(
    { ...run, databaseUrl },
    { STEWARD_BUILTIN_DAEMON: "false", STEWARD_SCIM_RATE_LIMIT: "0", STEWARD_REQUEST_LOG: "0.01" },
  );

/** Adds sessions, tokens of agents, and passwords. Returns the numbers of the users that can sign in. */
const fill = (databaseUrl: string): Promise<number[]> =>
  withClient(databaseUrl, async (client) => {
    // Its own applications have the same ids.
    await client.query("delete from oauth2_clients");
    await client.query(insertOAuth2(users - 1));
    await client.query(insertSessions(series.sessions, users, sqlId("1", "n")));
    await client.query(`
      update workspace_agents a set token_hash = ${sqlHash(sqlSecret(sqlPublicId(series.agents, "n")))}
      from generate_series(0, ${size.workspaces - 1}) n where a.id = ${sqlId("8", "n")}`);
    const { rows } = await client.query<{ nr: number }>(
      `update users set login_type = 'password', password_hash = $1
       where status = 'active' and deleted_at is null and not is_service_account and email ~ '^user-[0-9]+@'
         and id <> all($2)
       returning substring(email from '[0-9]+')::int as nr`,
      [await hashOfAll(), [known.user(numbers.owner)]],
    );
    await client.query("vacuum analyze");
    return rows.map(({ nr }) => nr).toSorted((one, other) => one - other);
  });

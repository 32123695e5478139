// Tasks whose workspaces are built by a daemon of the test, step by step.
// Looks inside: tasks of every status are inserted directly.
import { sql } from "kysely";
import { derivedStatus, inputsHint, tasksWithState } from "../../src/domain/tasks/task-status.js";
import { AgentProgram } from "./agent-api.js";
import { type Assigned, type Daemon, newKey, Refused, serve } from "./provisioners.js";
import { setColumns } from "./tables.js";
import { type Anything, Client, type Person, type World } from "./world.js";

/** A template document with an AI task, whose program has a URL. */
export const taskDocument = (url: string, more: object = {}) => ({
  schema: "steward.template/1",
  provisioner: "stage",
  ai_task: { agent: "main", app: "chat" },
  resources: [
    {
      name: "box",
      agents: [
        {
          name: "main",
          os: "linux",
          arch: "amd64",
          command: ["true"],
          apps: [{ slug: "chat", url, healthcheck: { url: `${url}/status` } }],
        },
      ],
    },
  ],
  ...more,
});

const createTemplate = `mutation($input: CreateTemplateInput!) {
  createTemplate(input: $input) { template { id } templateVersion { id } } }`;

/** A daemon that carries out one job at a time when it is told to, and the agents of the workspaces that it starts. */
export class TaskStage {
  #taken = 0;

  private constructor(
    readonly world: World,
    readonly daemon: Daemon,
    readonly versionId: string,
    readonly templateId: string,
  ) {}

  /** Opens a stage. Stages at the same time need documents of different provisioners. */
  static async open(world: World, program: AgentProgram, more: object = {}, name = "agents"): Promise<TaskStage> {
    const key = await newKey(world);
    const document = taskDocument(program.url, more);
    const daemon = (await serve(world.app, { key, query: `provisioner=${document.provisioner}&name=${name}` })).work();
    const input = { organization: "default", name, document };
    const made = (await world.as(world.owner).graphql(createTemplate, { input })).createTemplate;
    const stage = new TaskStage(world, daemon, made.templateVersion.id, made.template.id);
    await stage.carryOut();
    return stage;
  }

  /** The next job, not accepted. */
  next = (): Promise<Assigned> => this.daemon.job(this.#taken++);

  /** Reports the resources of a job. Returns the token of its agent, if it starts one. */
  async report(job: Assigned): Promise<string | undefined> {
    const { document, transition } = job.assignment;
    const wanted = (transition ?? "START").toLowerCase();
    const resources = document.resources.filter(({ transitions = ["start"] }) => transitions.includes(wanted));
    const { agents } = await this.daemon.call("reportProvisionerResources", job, { resources });
    return agents[0]?.token;
  }

  /** Carries out the next job that was not canceled. Returns the token of the agent that it starts. */
  async carryOut(): Promise<string | undefined> {
    const job = await this.next();
    try {
      await this.daemon.call("acceptProvisionerJob", job);
    } catch (error) {
      if (error instanceof Refused && error.reason === "LEASE_LOST") return this.carryOut();
      throw error;
    }
    const token = await this.report(job);
    await this.check();
    await this.daemon.call("completeProvisionerJob", job);
    await this.check();
    return token;
  }

  check = (): Promise<void> => checkStatuses(this.world);

  agent = (token: string): Client => new Client(this.world.url, token);

  /** Lets the agent of a workspace report that it is ready, and that its app is healthy. */
  async ready(token: string): Promise<void> {
    for (const state of ["STARTING", "READY"]) await this.lifecycle(token, state);
    await this.health(token, "HEALTHY");
  }

  async lifecycle(token: string, state: string): Promise<void> {
    await this.agent(token).graphql(
      "mutation($state: AgentLifecycle!) { reportAgentLifecycle(input: { state: $state }) { __typename } }",
      { state },
    );
    await this.check();
  }

  async health(token: string, health: string): Promise<void> {
    await this.agent(token).graphql(
      `mutation($health: AppHealth!) { reportAppHealth(input: { apps: [{ slug: "chat", health: $health }] }) { __typename } }`,
      { health },
    );
    await this.check();
  }

  status = (token: string, state: string, message = "") =>
    this.agent(token).graphql(
      `mutation($input: ReportAppStatusInput!) { reportAppStatus(input: $input) { __typename } }`,
      { input: { appSlug: "chat", state, message } },
    );

  /** Begins the conversation of a task, as its agent does. Returns what was said before. */
  converse = async (token: string, taskId: string, protocol = "ACP") =>
    (
      await this.agent(token).graphql(
        `mutation($input: BeginTaskConversationInput!) { beginTaskConversation(input: $input) {
           sessionId omittedCount messages { role isCut parts { ... on TextPart { text } } } } }`,
        { input: { taskId, protocol } },
      )
    ).beginTaskConversation;

  /** Reports a part of the conversation of a task, as its agent does. */
  tell = (token: string, taskId: string, input: object) =>
    this.agent(token).graphql(
      "mutation($input: ReportTaskConversationInput!) { reportTaskConversation(input: $input) { taskId } }",
      { input: { taskId, ...input } },
    );

  /** Creates a task by REST, pending. */
  async create(person: Pick<Person, "token">, body: object = {}) {
    const answer = await this.world.as(person).post("/api/v2/tasks/me", {
      template_version_id: this.versionId,
      input: "Fix the login bug please",
      ...body,
    });
    if (answer.status !== 201) throw new Error(`Task: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Creates a task and brings it to life. */
  async active(person: Pick<Person, "token">, body: object = {}): Promise<{ task: Anything; token: string }> {
    const task = await this.create(person, body);
    const token = (await this.carryOut())!;
    await this.ready(token);
    return { task, token };
  }

  close(): void {
    this.daemon.close();
  }
}

/** Lets the time until the next attempts to deliver inputs, and all leases of deliveries, pass, and makes a server look. */
export async function passTime(place: Pick<World, "app">): Promise<void> {
  await setColumns(place, "task_messages", { finished_at: null }, { next_attempt_at: new Date() });
  await setColumns(place, "tasks", {}, { delivering_until: null });
  place.app.services.events.publish(inputsHint);
}

/** Throws unless every task has the status that follows from its build, agent and app. */
export async function checkStatuses({ app }: World): Promise<void> {
  const rows = await tasksWithState(app.services.database.db)
    .select(["t.id", "t.status as stored", derivedStatus.as("derived")])
    .where("t.deletedAt", "is", null)
    .where(sql<boolean>`t.status <> ${derivedStatus}`)
    .execute();
  if (rows.length > 0) throw new Error(`Tasks have a wrong status: ${JSON.stringify(rows)}`);
}

/** The status of a workspace, and what its agent and app report, of copies of tasks. */
const states = ["running healthy", "stopped healthy", "failed healthy", "running unhealthy", "starting initializing"];

/** Inserts copies of an active task, in several states, each older than the one before. */
export async function copyTask({ app }: World, id: string, count: number): Promise<void> {
  const copy = (table: string, row: string, from: string, changes: string) =>
    `insert into ${table} select (jsonb_populate_record(${row}, jsonb_build_object(${changes}))).* from ${from}`;
  const source = `made m, tasks t join workspaces w on w.id = t.workspace_id join workspace_builds b on b.id = w.latest_build_id
    join task_builds s on s.task_id = t.id join workspace_agents a on a.id = s.agent_id join workspace_apps p on p.id = s.app_id
    where t.id = '${id}'`;
  const times = `'created_at', t.created_at - m.n * interval '1 s'`;
  const copies = `
    begin;
    set local session_replication_role = replica;
    create temporary table made on commit drop as
      select n, gen_random_uuid() as task, gen_random_uuid() as workspace, gen_random_uuid() as build, gen_random_uuid() as agent,
        gen_random_uuid() as app, (array['${states.join("','")}'])[1 + n % ${states.length}] as state
      from generate_series(1, ${count}) n;
    ${copy("workspaces", "w", source, `'id', m.workspace, 'name', 'w-' || right(m.task::text, 12), 'latest_build_id', m.build, 'latest_status', split_part(m.state, ' ', 1)`)};
    ${copy("workspace_builds", "b", source, `'id', m.build, 'workspace_id', m.workspace, 'job_id', m.build`)};
    ${copy("workspace_agents", "a", source, `'id', m.agent, 'workspace_id', m.workspace, 'build_id', m.build, 'token_hash', sha256(m.agent::text::bytea)`)};
    ${copy("workspace_apps", "p", source, `'id', m.app, 'agent_id', m.agent, 'health', split_part(m.state, ' ', 2)`)};
    ${copy("tasks", "t", source, `'id', m.task, 'workspace_id', m.workspace, 'name', 't-' || right(m.task::text, 12), ${times}`)};
    insert into task_builds (task_id, build_number, agent_id, app_id) select task, 1, agent, app from made;
    commit`;
  const { pool, db } = app.services.database;
  await pool.query(copies);
  await db
    .updateTable("tasks")
    .from(
      tasksWithState(db)
        .select(["t.id", derivedStatus.as("status")])
        .as("derived"),
    )
    .set((eb) => ({ status: eb.ref("derived.status") }))
    .whereRef("derived.id", "=", "tasks.id")
    .execute();
}

/** Inside `describe`: opens a stage and the program of its tasks before the tests, and closes both after them. */
export function withTasks(the: () => World, opened: (open: { stage: TaskStage; program: AgentProgram }) => void): void {
  let stage: TaskStage;
  let program: AgentProgram;
  before(async () => {
    program = await AgentProgram.open();
    stage = await TaskStage.open(the(), program);
    opened({ stage, program });
  });
  after(async () => {
    stage.close();
    await program.close();
  });
}

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Client, type Data, Failure } from "./client.js";
import * as company from "./company.js";
import { credentialOf, speakFor, visit } from "./agents.js";

/** Tells what is done, and how many of it are ready. */
export type Report = (what: string, done: number, total: number) => void;

/** Operations at a time. */
const parallel = 6;

/** A company in the making: its owner, and what has been created so far. */
export class Company {
  /** The password of all people. */
  readonly password = randomBytes(15).toString("base64url");
  /** IDs of users by their username. */
  readonly ids = new Map<string, string>();
  /** Sessions by username. */
  readonly sessions = new Map<string, Client>();
  readonly templates = new Map<string, { template: string; version: string }>();
  /** IDs of organizations by name. */
  readonly organizations = new Map<string, string>();
  /** IDs of workspaces by their owner and name. */
  readonly workspaces = new Map<string, string>();
  /** The secret of the provisioner key. */
  provisionerKey = "";
  /** Tokens of agents by the ID of their workspace, if the demonstration plays their daemon. */
  readonly agentTokens = new Map<string, string>();

  constructor(
    readonly owner: Client,
    readonly report: Report,
    /** Its templates, as they are created. */
    readonly inputs: company.Templates = company.templates,
  ) {}

  /** Does work for each item, several at a time, in their order. */
  async each<Item, Result>(what: string, items: readonly Item[], work: (item: Item) => Promise<Result>) {
    let done = 0;
    this.report(what, 0, items.length);
    return together(items, async (item) => {
      const result = await work(item);
      this.report(what, ++done, items.length);
      return result;
    });
  }

  /** Returns the session of a person, who signs in if there is none yet. */
  async session(username: string): Promise<Client> {
    const known = this.sessions.get(username);
    if (known) return known;
    const input = { email: company.emailOf({ username }), password: this.password };
    const { sessionToken } = await this.owner.mutate("login", input, "sessionToken");
    const session = this.owner.as(sessionToken as string);
    this.sessions.set(username, session);
    return session;
  }

  async addPerson(person: company.DemoPerson): Promise<void> {
    const { username, name, isInLab, roles } = person;
    const organizationIds = ["default", ...(isInLab ? [company.lab.name] : [])].map((key) =>
      this.organizations.get(key),
    );
    const input = { username, name, email: company.emailOf(person), password: this.password, organizationIds };
    const { user } = await this.owner.mutate("createUser", input, "user { id }");
    if (roles) await this.owner.mutate("setUserRoles", { user: user.id, roles });
    this.ids.set(username, user.id as string);
  }

  /** Creates a template, and waits until a daemon has imported it. */
  async addTemplate(key: string, input: object): Promise<void> {
    const { template, templateVersion } = await this.owner.mutate(
      "createTemplate",
      input,
      "template { id } templateVersion { id }",
    );
    await until(this.owner, `{ templateVersion(id: "${templateVersion.id}") { job { status error } } }`, imported);
    this.templates.set(key, { template: template.id as string, version: templateVersion.id as string });
  }

  /** Creates a workspace, and waits until it is built. */
  async addWorkspace({ owner, name, template }: company.DemoWorkspace): Promise<string> {
    const person = await this.session(owner);
    const input = { name, templateId: this.templates.get(template)!.template };
    const { workspace } = await person.mutate("createWorkspace", input, "workspace { id }");
    const id = workspace.id as string;
    this.workspaces.set(`${owner}/${name}`, id);
    await built(person, id);
    return id;
  }

  /** Starts or stops a workspace, and waits until it is built. Returns its status, which may be FAILED. */
  async turn(owner: string, id: string, mutation: "startWorkspace" | "stopWorkspace"): Promise<string> {
    const person = await this.session(owner);
    await person.mutate(mutation, { workspace: id });
    const { workspace } = await built(person, id);
    return workspace.status as string;
  }

  /** Speaks for the agent of a workspace. Returns its client. */
  async startAgent(person: Client, workspaceId: string, app?: string): Promise<Client> {
    const token = this.agentTokens.get(workspaceId) ?? (await credentialOf(person, workspaceId));
    return speakFor(this.owner.as(token), app);
  }

  /** Creates a task, and speaks for its program. Returns its ID and its agent. */
  async addTask({ owner, report, isPaused, ...input }: company.DemoTask): Promise<{ id: string; agent: Client }> {
    const person = await this.session(owner);
    const templateVersionId = this.templates.get("assistant")!.version;
    const { task } = await person.mutate("createTask", { ...input, templateVersionId }, "task { id workspaceId }");
    await built(person, task.workspaceId);
    const agent = await this.startAgent(person, task.workspaceId as string, "chat");
    if (this.agentTokens.size > 0) await converse(agent, task.id as string, input);
    if (report) await agent.mutate("reportAppStatus", { appSlug: "chat", ...report });
    if (isPaused && this.agentTokens.size > 0) await person.mutate("pauseTask", { task: task.id });
    else if (isPaused) {
      const replies = company.conversations[input.name] ?? [report?.message ?? "Done."];
      const messages = [input.input, ...replies].map((content, at) => ({
        id: at,
        role: at % 2 === 0 ? "user" : "agent",
        content,
        time: new Date().toISOString(),
      }));
      await agent.mutate("uploadTaskLogSnapshot", { taskId: task.id, format: "agentapi", content: { messages } });
      await person.mutate("pauseTask", { task: task.id });
    }
    return { id: task.id as string, agent };
  }
}

/** Reports the conversation of a task for its program, which speaks ACP. */
async function converse(agent: Client, taskId: string, { name, input }: Pick<company.DemoTask, "name" | "input">) {
  await agent.mutate("beginTaskConversation", { taskId, protocol: "ACP" });
  const texts = [input, ...(company.conversations[name] ?? ["Done: I opened a pull request."])];
  const messages = texts.map((text, at) => ({
    key: `${at}`,
    role: at % 2 === 0 ? "USER" : "AGENT",
    parts: [{ kind: "TEXT", text }],
    writtenAt: new Date().toISOString(),
  }));
  await agent.mutate("reportTaskConversation", { taskId, messages, state: "IDLE" });
}

/** Does work for each item, several at a time. */
export async function together<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>) {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return results;
}

export interface Demo {
  /** A person who has a workspace and a task. */
  username: string;
  /** The password of all people. */
  password: string;
}

/** Adds the company to a server. Throws a `Failure` if names of it are in use, or if the caller is not an owner. */
export async function fillServer(owner: Client, report: Report): Promise<Demo> {
  const made = new Company(owner, report);
  await found(made);
  await made.each("Workspaces", company.workspaces, async (workspace) => {
    const id = await made.addWorkspace(workspace);
    if (workspace.isStopped) await made.turn(workspace.owner, id, "stopWorkspace");
    else await visit(await made.startAgent(await made.session(workspace.owner), id));
  });
  await furnish(made);
  const busy = company.workspaces.find((workspace) => company.tasks.some((task) => task.owner === workspace.owner))!;
  return { username: busy.owner, password: made.password };
}

/** Creates organizations, people, groups, quotas, and templates. */
export async function found(made: Company): Promise<void> {
  const { owner } = made;
  await requireNames(owner);
  const { organization: main } = await owner.run(`{ organization(organization: "default") { id } }`);
  made.organizations.set("default", main.id as string);
  await made.each("Organizations", [company.lab], async (input) => {
    const { organization } = await owner.mutate("createOrganization", input, "organization { id }");
    made.organizations.set(input.name, organization.id as string);
  });
  await made.each("People", company.people, (person) => made.addPerson(person));
  await made.each("Groups", company.groups, async ({ group: input, members, budget }) => {
    const { group } = await owner.mutate("createGroup", input, "group { id }");
    await owner.mutate("updateGroup", { group: group.id, addUsers: members.map((name) => made.ids.get(name)) });
    if (budget) await owner.mutate("setGroupAiBudget", { group: group.id, spendLimitMicros: budget });
  });
  made.provisionerKey = (await owner.mutate("createProvisionerKey", company.provisionerKey, "key")).key as string;
  const { groupByName: everyone } = await owner.run(
    `{ groupByName(organization: "default", name: "Everyone") { id } }`,
  );
  await owner.mutate("updateGroup", { group: everyone.id, quotaAllowance: company.everyoneAllowance });
  await made.each("Templates", Object.entries(made.inputs), ([key, input]) => made.addTemplate(key, input));
}

/** A task with the agent that speaks for it. */
export interface MadeTask {
  task: company.DemoTask;
  id: string;
  agent: Client;
}

/** Creates what the company works with today. Returns its tasks. */
export async function furnish(made: Company): Promise<MadeTask[]> {
  const { owner } = made;
  const tasks = await made.each("Tasks", company.tasks, async (task) => ({ task, ...(await made.addTask(task)) }));
  const spent = tasks.map(({ id, task }, at) => ({
    id: randomUUID(),
    taskId: id,
    userId: made.ids.get(task.owner),
    amountMicros: (at + 1) * 3_410_000,
  }));
  await owner.mutate("recordAiUsage", { organization: "default", entries: spent });

  const users = [...new Set([...company.workspaces, ...company.tasks].map(({ owner: name }) => name))].slice(0, 2);
  await made.each("Applications", company.apps, async (input) => {
    const { oauth2App } = await owner.mutate("createOAuth2App", input, "oauth2App { id clientId }");
    const { clientSecretFull } = await owner.mutate("createOAuth2AppSecret", { app: oauth2App.id }, "clientSecretFull");
    const app = { ...input, clientId: oauth2App.clientId as string, secret: clientSecretFull as string };
    for (const person of [owner, ...(await Promise.all(users.map((name) => made.session(name))))])
      await allow(person, app);
  });
  await made.each("Secrets", company.secrets, (input) =>
    owner.mutate("createUserSecret", { ...input, value: randomBytes(24).toString("base64") }),
  );
  // One after the other: the inbox shows them in this order.
  for (const content of company.messages) await owner.mutate("sendCustomNotification", { content });
  return tasks;
}

/** Throws unless the names of all that is created are free, as they are unless the server has been filled before. */
async function requireNames(owner: Client): Promise<void> {
  const { me, keys } = await owner.run(
    `{ me { roles { name } } keys: provisionerKeys(organization: "default") { name } }`,
  );
  if (!me.roles.some(({ name }: Data) => name === "OWNER"))
    throw new Failure("The demonstration needs a user with the role owner.", "FORBIDDEN");
  const lookups: Array<[what: string, field: string]> = [
    [`organization ${company.lab.name}`, `organization(organization: "${company.lab.name}") { id }`],
    ...company.people.map(({ username }) => named("user", username, `user(user: "${username}") { id }`)),
    ...company.groups
      .map(({ group }) => group)
      .filter(({ organization }) => organization === "default")
      .map(({ name }) => named("group", name, `groupByName(organization: "default", name: "${name}") { id }`)),
    ...Object.values(company.templates).map(({ name }) =>
      named("template", name, `templateByName(organization: "default", name: "${name}") { id }`),
    ),
    ...company.secrets.map(({ name }) => named("secret", name, `userSecret(name: "${name}") { id }`)),
  ];
  const existing = await owner.find(`{ ${lookups.map(([, field], at) => `f${at}: ${field}`).join("\n")} }`);
  const taken = lookups.filter((_, at) => existing[`f${at}`]).map(([what]) => what);
  if (keys.some(({ name }: Data) => name === company.provisionerKey.name))
    taken.push(`provisioner key ${company.provisionerKey.name}`);
  if (taken.length === 0) return;
  throw new Failure(
    `The server has been filled before, or uses names of the demonstration otherwise: ${taken.join(", ")}.`,
    "CONFLICT",
  );
}

const named = (kind: string, name: string, field: string): [string, string] => [`${kind} ${name}`, field];

/** Milliseconds within which a build must end. */
const timeout = 30_000;

/** Runs a query until its result is as wanted. */
export async function until(client: Client, query: string, isWanted: (data: Data) => boolean): Promise<Data> {
  for (const end = Date.now() + timeout; ;) {
    const data = await client.run(query);
    if (isWanted(data)) return data;
    if (Date.now() > end)
      throw new Failure("No daemon builds the workspaces. Is STEWARD_BUILTIN_DAEMON set to false?", "TIMEOUT");
    await new Promise((done) => setTimeout(done, 50));
  }
}

function imported({ templateVersion }: Data): boolean {
  const { status, error } = templateVersion.job;
  if (status === "FAILED") throw new Failure(error, "BAD_USER_INPUT");
  return status === "SUCCEEDED";
}

export const built = (person: Client, id: string): Promise<Data> =>
  until(person, `{ workspace(id: "${id}") { status } }`, ({ workspace }) =>
    ["RUNNING", "STOPPED", "FAILED"].includes(workspace.status as string),
  );

interface App {
  clientId: string;
  secret: string;
  redirectUris: string[];
  scopeCeiling: string[];
}

/** Gives an application access to the account of a person, as the page for consent would do it. */
async function allow(person: Client, { clientId, secret, redirectUris, scopeCeiling }: App): Promise<void> {
  const redirectUri = redirectUris[0];
  const verifier = randomBytes(32).toString("base64url");
  const codeChallenge = createHash("sha256").update(verifier).digest("base64url");
  const request = {
    clientId,
    redirectUri,
    responseType: "code",
    codeChallenge,
    codeChallengeMethod: "S256",
    scope: scopeCeiling[0],
  };
  const approved = await person.mutate("approveOAuth2Authorization", request, "redirectUri");
  await person.as("").mutate("issueOAuth2Token", {
    clientId,
    clientSecret: secret,
    clientAuthMethod: "CLIENT_SECRET_POST",
    grantType: "authorization_code",
    code: new URL(approved.redirectUri as string).searchParams.get("code"),
    codeVerifier: verifier,
    redirectUri,
  });
}

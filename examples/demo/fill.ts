import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Client, type Data, Failure } from "./client.js";
import * as company from "./company.js";
import { startAgent, visit } from "./agents.js";

export interface Demo {
  /** A person who has a workspace and a task. */
  username: string;
  /** The password of all people. */
  password: string;
}

/** Tells what is done, and how many of it are ready. */
export type Report = (what: string, done: number, total: number) => void;

/** Operations at a time. */
const parallel = 6;

/** Adds the company to a server. Throws a `Failure` if names of it are in use, or if the caller is not an owner. */
export async function fillServer(owner: Client, report: Report): Promise<Demo> {
  await requireNames(owner);
  const password = randomBytes(15).toString("base64url");

  /** Does work for each item, several at a time, in their order. */
  async function each<Item, Result>(what: string, items: Item[], work: (item: Item) => Promise<Result>) {
    const results: Result[] = [];
    let next = 0;
    let done = 0;
    report(what, 0, items.length);
    const worker = async () => {
      for (let at = next++; at < items.length; at = next++) {
        results[at] = await work(items[at]!);
        report(what, ++done, items.length);
      }
    };
    await Promise.all(Array.from({ length: parallel }, worker));
    return results;
  }

  const organizations = await each("Organizations", [company.lab], async (input) => {
    const { organization } = await owner.mutate("createOrganization", input, "organization { id }");
    return organization.id as string;
  });
  const main = (await owner.run(`{ organization(organization: "default") { id } }`)).organization.id as string;

  const made = await each("People", company.people, async (person) => {
    const { username, name, isInLab } = person;
    const organizationIds = isInLab ? [main, ...organizations] : [main];
    const input = { username, name, email: company.emailOf(person), password, organizationIds };
    const { user } = await owner.mutate("createUser", input, "user { id }");
    if (person.roles) await owner.mutate("setUserRoles", { user: user.id, roles: person.roles });
    return [username, user.id as string] as const;
  });
  const ids = new Map(made);

  await each("Groups", company.groups, async ({ group: input, members, budget }) => {
    const { group } = await owner.mutate("createGroup", input, "group { id }");
    await owner.mutate("updateGroup", { group: group.id, addUsers: members.map((name) => ids.get(name)) });
    if (budget) await owner.mutate("setGroupAiBudget", { group: group.id, spendLimitMicros: budget });
  });

  const versions = await each("Templates", Object.entries(company.templates), async ([key, input]) => {
    const { template, templateVersion } = await owner.mutate(
      "createTemplate",
      input,
      "template { id } templateVersion { id }",
    );
    await until(owner, `{ templateVersion(id: "${templateVersion.id}") { job { status error } } }`, imported);
    return [key, { template: template.id as string, version: templateVersion.id as string }] as const;
  });
  const templates = new Map<string, { template: string; version: string }>(versions);

  const names = [...new Set([...company.workspaces, ...company.tasks].map(({ owner: name }) => name))];
  const sessions = await each("Sessions", names, async (username) => {
    const input = { email: company.emailOf({ username }), password };
    const { sessionToken } = await owner.mutate("login", input, "sessionToken");
    return [username, owner.as(sessionToken as string)] as const;
  });
  const people = new Map(sessions);

  await each("Workspaces", company.workspaces, async ({ owner: name, name: workspace, template, isStopped }) => {
    const person = people.get(name)!;
    const input = { name: workspace, templateId: templates.get(template)!.template };
    const { workspace: created } = await person.mutate("createWorkspace", input, "workspace { id }");
    await built(person, created.id, "RUNNING");
    if (!isStopped) return visit(await startAgent(person, created.id));
    await person.mutate("stopWorkspace", { workspace: created.id });
    await built(person, created.id, "STOPPED");
  });

  const tasks = await each("Tasks", company.tasks, async ({ owner: name, report: state, isPaused, ...input }) => {
    const person = people.get(name)!;
    const templateVersionId = templates.get("assistant")!.version;
    const { task } = await person.mutate("createTask", { ...input, templateVersionId }, "task { id workspaceId }");
    await built(person, task.workspaceId, "RUNNING");
    const agent = await startAgent(person, task.workspaceId, "chat");
    if (state) await agent.mutate("reportAppStatus", { appSlug: "chat", ...state });
    if (isPaused) await person.mutate("pauseTask", { task: task.id });
    return { taskId: task.id as string, userId: ids.get(name)! };
  });
  const spent = tasks.map((task, at) => ({ id: randomUUID(), ...task, amountMicros: (at + 1) * 3_410_000 }));
  await owner.mutate("recordAiUsage", { organization: "default", entries: spent });

  await each("Applications", company.apps, async (input) => {
    const { oauth2App } = await owner.mutate("createOAuth2App", input, "oauth2App { id clientId }");
    const { clientSecretFull } = await owner.mutate("createOAuth2AppSecret", { app: oauth2App.id }, "clientSecretFull");
    const app = { ...input, clientId: oauth2App.clientId as string, secret: clientSecretFull as string };
    for (const person of [owner, ...[...people.values()].slice(0, 2)]) await allow(person, app);
  });
  await each("Secrets", company.secrets, (input) =>
    owner.mutate("createUserSecret", { ...input, value: randomBytes(24).toString("base64") }),
  );
  await owner.mutate("createProvisionerKey", company.provisionerKey);
  // One after the other: the inbox shows them in this order.
  for (const content of company.messages) await owner.mutate("sendCustomNotification", { content });
  const busy = company.workspaces.find((workspace) => company.tasks.some((task) => task.owner === workspace.owner))!;
  return { username: busy.owner, password };
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
  const found = await owner.find(`{ ${lookups.map(([, field], at) => `f${at}: ${field}`).join("\n")} }`);
  const taken = lookups.filter((_, at) => found[`f${at}`]).map(([what]) => what);
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
async function until(client: Client, query: string, isWanted: (data: Data) => boolean): Promise<Data> {
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

const built = (person: Client, id: string, status: string): Promise<Data> =>
  until(person, `{ workspace(id: "${id}") { status latestBuild { job { error } } } }`, ({ workspace }) => {
    if (workspace.status === "FAILED") throw new Failure(workspace.latestBuild.job.error, "BAD_USER_INPUT");
    return workspace.status === status;
  });

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

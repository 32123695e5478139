import { email, password } from "../accounts.js";
import { sendCustom } from "../data.js";
import { accessToken, client, refreshToken, type TokenText } from "../oauth2.js";
import { form, get, graphql, request } from "../requests.js";
import { agentToken, agents, type Deployment, type Person } from "./deployment.js";
import { type KindName, kindNames, mix } from "./model.js";
import { type Exchange, type Kind, random } from "./clients.js";

/** Every item in turn, at random the first time. */
function inTurn<Item>(items: readonly Item[]): () => Item {
  let at = Math.floor(random() * items.length);
  return () => items[at++ % items.length]!;
}

/** Queries of a dashboard, each with its variables. */
const documents = [
  `query Shell { me { id username name } appearance { applicationName } unread: inboxNotifications(first: 1) { unreadCount } }`,
  `query Workspaces { workspaces(filter: { owner: "me" }, first: 25) { totalCount
     nodes { id name status deadline lastUsedAt template { id name displayName } latestBuild { id transition status } }
     pageInfo { endCursor hasNextPage } } }`,
  `query Tasks { tasks(filter: { owner: "me" }, first: 25) { totalCount
     nodes { id name displayName status createdAt templateName currentState { state message } } pageInfo { endCursor } } }`,
  `query Inbox { inboxNotifications(first: 25) { unreadCount
     nodes { id title content createdAt readAt actions { label url } } pageInfo { endCursor hasNextPage } } }`,
  `query Templates { templates(first: 25) { nodes { id name displayName description activeVersion { id name } } } }`,
];

const paths = [
  "/api/v2/notifications/inbox",
  "/api/v2/tasks?q=owner:me",
  "/api/v2/workspace-quota/me",
  "/api/v2/users/me/secrets",
  "/api/v2/groups?has_member=me&exclude_members=true",
  "/api/v2/entitlements",
];

/** Whose access token is used; the tokens of the others are refreshed, which ends the ones before. */
const isReader = ({ nr }: Person) => nr % 2 === 0;

/** A read by an access token of the application: of itself, which every user may read. */
const readApp = (token: string): string =>
  request("GET", `/api/v2/oauth2-provider/apps/${client.id}`, { bearer: token });

const bearerOf = ({ id, secret }: TokenText) => `stw_oa_${id}-${secret}`;

const parsed = (body: string): unknown => JSON.parse(Buffer.from(body, "latin1").toString());

/** The operations on a deployment. */
export function operations(deployment: Deployment): Array<Kind & { name: KindName }> {
  const next: Record<KindName, () => Exchange> = {
    ...reads(deployment),
    ...signIns(deployment),
    ...workspaces(deployment),
    notification: notifications(deployment),
    "SCIM operation": directory(deployment),
    "agent report": reports(),
  };
  return kindNames.map((name) => ({ name, perSecond: mix[name].perSecond, next: next[name] }));
}

function reads({ people }: Deployment) {
  const person = inTurn(people);
  const document = inTurn(documents);
  const path = inTurn(paths);
  const reader = inTurn(people.filter(isReader));
  return {
    "read over GraphQL": () => ({ bytes: graphql(document(), {}, person().token) }),
    "read over REST": () => ({ bytes: get(path(), person().token) }),
    "read by access token": () => ({ bytes: readApp(bearerOf(accessToken(reader().nr - 1))) }),
  };
}

function signIns({ people }: Deployment) {
  const person = inTurn(people);
  /** Latest refresh tokens of grants; one whose response is pending is missing. */
  const latest = people
    .filter((each) => !isReader(each))
    .map(({ nr }) => refreshToken(nr - 1))
    .map(({ id, secret }) => `stwr_${id}_${secret}`);
  return {
    login: () => ({ bytes: request("POST", "/api/v2/users/login", { body: { email: email(person().nr), password } }) }),
    "token refresh": () => {
      const token = latest.shift()!;
      return {
        bytes: form("/oauth2/tokens", client, { grant_type: "refresh_token", refresh_token: token }),
        received: (body: string) => void latest.push((parsed(body) as { refresh_token: string }).refresh_token),
      };
    },
    "client credentials": () => ({ bytes: form("/oauth2/tokens", client, { grant_type: "client_credentials" }) }),
  };
}

const changing = (verb: string) =>
  `mutation($workspace: String!) { ${verb}(input: { workspace: $workspace }) { workspaceBuild { job { id } } } }`;

function workspaces(deployment: Deployment) {
  const { boxes, people, clients, fleet, templates } = deployment;
  const person = inTurn(people);
  const creation = `mutation($input: CreateTaskInput!) {
    createTask(input: $input) { task { id workspace { latestBuild { job { id } } } } } }`;
  const report = (token: string, name: string, input: object) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
    const document = `mutation($input: ${type}!) { ${name}(input: $input) { __typename } }`;
    return clients.ask(graphql(document, { input }, token));
  };

  /** Starts what is stopped and stops what runs, until the daemon has ended the build. */
  const build = (): Exchange => {
    const box = boxes.shift()!;
    const { id, owner, isRunning } = box;
    const verb = isRunning ? "stopWorkspace" : "startWorkspace";
    return {
      bytes: graphql(changing(verb), { workspace: id }, owner.token),
      received: async (body) => {
        type Built = { data: Record<string, { workspaceBuild: { job: { id: string } } }> };
        await fleet.ended((parsed(body) as Built).data[verb]!.workspaceBuild.job.id);
        boxes.push({ ...box, isRunning: !isRunning });
      },
    };
  };

  /** Creates a task, whose agent reports what it does until it is idle. */
  const task = (): Exchange => {
    const owner: Person = person();
    const input = { templateVersionId: templates.task, input: "Fix the login bug please", user: "me" };
    return {
      bytes: graphql(creation, { input }, owner.token),
      received: async (body) => {
        type Created = {
          data: { createTask: { task: { id: string; workspace: { latestBuild: { job: { id: string } } } } } };
        };
        const { id, workspace } = (parsed(body) as Created).data.createTask.task;
        const [agent] = await fleet.ended(workspace.latestBuild.job.id);
        if (!agent) throw new Error("The build of a task has no agent.");
        const { token } = agent;
        for (const state of ["STARTING", "READY"]) await report(token, "reportAgentLifecycle", { state });
        await report(token, "reportAppHealth", { apps: [{ slug: "chat", health: "HEALTHY" }] });
        for (const state of ["WORKING", "IDLE"])
          await report(token, "reportAppStatus", { appSlug: "chat", state, message: `${state} ${id}` });
      },
    };
  };
  return { build, task };
}

/** Sends notifications to users with a watcher, until they have reached it. */
function notifications({ watching, arrival }: Deployment): () => Exchange {
  const person = inTurn(watching);
  let sent = 0;
  return () => {
    const title = `scale-${sent++}`;
    const arrived = arrival(title);
    // The request may fail before; then this does not count as well.
    arrived.catch(() => {});
    return {
      bytes: sendCustom(person().token, title),
      received: () => arrived,
    };
  };
}

/** The requests of an identity provider: it looks up each user that it has linked, and then changes the title; some are new. */
function directory({ scimKey: bearer, people }: Deployment): () => Exchange {
  // Every other user of the database is linked.
  const linked = inTurn(people.map(({ nr }) => nr).filter((nr) => nr >= 100 && nr % 2 === 0));
  const found: string[] = [];
  const operation = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"] };
  let turns = 0;
  return () => {
    const turn = turns++;
    if (turn % 20 === 0) {
      const userName = `joiner-${turn}@corp.example`;
      const body = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName, active: true };
      return { bytes: request("POST", "/scim/v2/Users", { bearer, body: { ...body, externalId: userName } }) };
    }
    const id = found.shift();
    if (id !== undefined) {
      const body = { ...operation, Operations: [{ op: "replace", path: "title", value: `Engineer ${turn}` }] };
      return { bytes: request("PATCH", `/scim/v2/Users/${id}`, { bearer, body }) };
    }
    const filter = encodeURIComponent(`userName eq "Linked-${linked()}@Example.com"`);
    return {
      bytes: request("GET", `/scim/v2/Users?filter=${filter}`, { bearer }),
      received: (body) => void found.push((parsed(body) as { Resources: Array<{ id: string }> }).Resources[0]!.id),
    };
  };
}

/** Six heartbeats for each report of memory and disk. */
function reports(): () => Exchange {
  const agent = inTurn(agents);
  const heartbeat = "mutation { agentHeartbeat { shutdown } }";
  const resources = `mutation($input: ReportAgentResourcesInput!) { reportAgentResources(input: $input) { __typename } }`;
  let turns = 0;
  return () => {
    const token = agentToken(agent());
    if (turns++ % 7 < 6) return { bytes: graphql(heartbeat, {}, token) };
    const used = Math.floor(random() * 8e9);
    const input = { memoryUsedBytes: used, memoryTotalBytes: 8e9, diskUsedBytes: used * 2, diskTotalBytes: 64e9 };
    return { bytes: graphql(resources, { input }, token) };
  };
}

import { email, password } from "../accounts.js";
import { accessToken, client, refreshToken, type TokenText } from "../oauth2.js";
import { form, get, graphql, request } from "../requests.js";
import { agentToken, agents, type Box, type Deployment, type Person } from "./deployment.js";
import { type KindName, kindNames, mix } from "./model.js";
import { type Exchange, type Kind, random } from "./open-loop.js";
import { type Promises, readApp } from "./promises.js";

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

const bearerOf = ({ id, secret }: TokenText) => `stw_oa_${id}-${secret}`;

/** Milliseconds for a notification to reach the watcher of its user. */
const deliveryTimeout = 10_000;

const parsed = (body: string): unknown => JSON.parse(Buffer.from(body, "latin1").toString());

/** The operations on a deployment, which note in the promises what was acknowledged. */
export function operations(deployment: Deployment, promises: Promises): ReadonlyMap<KindName, Kind> {
  const next: Record<KindName, () => Exchange | undefined> = {
    ...reads(deployment),
    ...signIns(deployment, promises),
    ...workspaces(deployment, promises),
    notification: notifications(deployment, promises),
    "SCIM operation": directory(deployment, promises),
    "agent report": reports(),
  };
  return new Map(kindNames.map((name) => [name, { name, perSecond: mix[name].perSecond, next: next[name] }]));
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

function signIns({ people }: Deployment, promises: Promises) {
  const person = inTurn(people);
  /** Latest refresh tokens of grants, by user; one whose response is pending is missing. */
  const latest = new Map(
    people
      .filter((each) => !isReader(each))
      .map(({ nr }) => {
        const { id, secret } = refreshToken(nr - 1);
        return [nr, `stwr_${id}_${secret}`];
      }),
  );
  return {
    login: () => ({
      bytes: request("POST", "/api/v2/users/login", { body: { email: email(person().nr), password } }),
      received: (body: string) => promises.signedIn((parsed(body) as { session_token: string }).session_token),
    }),
    "token refresh": (): Exchange | undefined => {
      const [nr, token] = latest.entries().next().value ?? [];
      if (nr === undefined || token === undefined) return undefined;
      latest.delete(nr);
      return {
        bytes: form("/oauth2/tokens", client, { grant_type: "refresh_token", refresh_token: token }),
        received: (body: string) => {
          const issued = parsed(body) as { access_token: string; refresh_token: string };
          if (issued.refresh_token === token) throw new Error("The refresh token was kept.");
          // At the end of the queue.
          latest.set(nr, issued.refresh_token);
          promises.refreshed(nr, issued.access_token, issued.refresh_token);
        },
        failed: (isSent) => (isSent ? promises.forgetGrant(nr) : void latest.set(nr, token)),
      };
    },
    "client credentials": () => ({
      bytes: form("/oauth2/tokens", client, { grant_type: "client_credentials" }),
      received: (body: string) => promises.issued((parsed(body) as { access_token: string }).access_token),
    }),
  };
}

const changing = (verb: string) =>
  `mutation($workspace: String!) { ${verb}(input: { workspace: $workspace }) { workspaceBuild { id job { id } } } }`;

function workspaces(deployment: Deployment, promises: Promises) {
  const { boxes, people, clients, fleet, templates } = deployment;
  const person = inTurn(people);
  const box = inTurn(boxes);
  const creation = `mutation($input: CreateTaskInput!) {
    createTask(input: $input) { task { id workspace { latestBuild { job { id } } } } } }`;
  const report = (token: string, name: string, input: object) => {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
    const document = `mutation($input: ${type}!) { ${name}(input: $input) { __typename } }`;
    return clients.ask(graphql(document, { input }, token));
  };

  /** Starts what is stopped and stops what runs, until the daemon has ended the build. */
  const build = (): Exchange | undefined => {
    let held: Box | undefined = box();
    for (let tried = 0; held.isHeld && tried < boxes.length; tried++) held = box();
    if (held.isHeld) return undefined;
    held.isHeld = true;
    const { id, owner, isRunning } = held;
    const verb = isRunning ? "stopWorkspace" : "startWorkspace";
    return {
      bytes: graphql(changing(verb), { workspace: id }, owner.token),
      received: async (body) => {
        type Built = { data: Record<string, { workspaceBuild: { id: string; job: { id: string } } }> };
        const { workspaceBuild } = (parsed(body) as Built).data[verb]!;
        promises.building(workspaceBuild.id, owner.token, isRunning ? "STOPPED" : "RUNNING");
        await fleet.ended(workspaceBuild.job.id);
        held.isRunning = !isRunning;
        held.isHeld = false;
      },
      // Whether it runs is unknown after a request without a response: it is not used again.
      failed: (isSent) => void (held.isHeld = isSent),
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
        promises.taskCreated(id, owner.token);
        const [agent] = await fleet.ended(workspace.latestBuild.job.id);
        if (!agent) throw new Error("The build of a task has no agent.");
        const { token } = agent;
        for (const state of ["STARTING", "READY"]) await report(token, "reportAgentLifecycle", { state });
        await report(token, "reportAppHealth", { apps: [{ slug: "chat", health: "HEALTHY" }] });
        for (const state of ["WORKING", "IDLE"])
          await report(token, "reportAppStatus", { appSlug: "chat", state, message: `${state} ${id}` });
        promises.taskReported(id, `IDLE ${id}`);
      },
    };
  };
  return { build, task };
}

/** Sends notifications to users with a watcher, until they have reached it. */
function notifications({ watching, delivered }: Deployment, promises: Promises): () => Exchange {
  const person = inTurn(watching);
  let sent = 0;
  return () => {
    const title = `scale-${sent++}`;
    const content = { title, message: "The nightly backup of the build cache took 12 minutes." };
    return {
      bytes: request("POST", "/api/v2/notifications/custom", { token: person().token, body: { content } }),
      received: async () => {
        promises.notified(title);
        const since = performance.now();
        while (!delivered.has(title)) {
          if (performance.now() - since > deliveryTimeout) throw new Error("A notification does not arrive.");
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      },
    };
  };
}

/** The requests of an identity provider: it looks up each user that it has linked, and then changes the title; some are new. */
function directory({ scimKey: bearer, people }: Deployment, promises: Promises): () => Exchange {
  // Every other user of the database is linked.
  const linked = inTurn(people.map(({ nr }) => nr).filter((nr) => nr >= 100 && nr % 2 === 0));
  const found: string[] = [];
  let turns = 0;
  const operation = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"] };
  return () => {
    const turn = turns++;
    if (turn % 20 === 0) {
      const userName = `joiner-${turn}@corp.example`;
      const body = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName, active: true };
      return {
        bytes: request("POST", "/scim/v2/Users", { bearer, body: { ...body, externalId: userName } }),
        received: (text) => promises.provisioned((parsed(text) as { id: string }).id, userName),
      };
    }
    const id = found.shift();
    if (id === undefined) {
      const filter = encodeURIComponent(`userName eq "Linked-${linked()}@Example.com"`);
      return {
        bytes: request("GET", `/scim/v2/Users?filter=${filter}`, { bearer }),
        received: (text) => {
          const [user] = (parsed(text) as { Resources: Array<{ id: string }> }).Resources;
          if (!user) throw new Error("A linked user is missing.");
          found.push(user.id);
        },
      };
    }
    const title = `Engineer ${turn}`;
    const body = { ...operation, Operations: [{ op: "replace", path: "title", value: title }] };
    return {
      bytes: request("PATCH", `/scim/v2/Users/${id}`, { bearer, body }),
      received: () => promises.titled(id, title),
      failed: (isSent) => isSent && promises.forgetTitle(id),
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

// Started workspaces with the agents of a document, and what speaks for an agent.
// Looks inside: workspaces start as their builds do, without a daemon, which would take a second each.
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type CreatedAgent, createAgents, renewAgents } from "../../src/domain/agents/create-agents.js";
import { Context } from "../../src/domain/kernel/context.js";
import { Problems } from "../../src/domain/kernel/errors.js";
import { endAgentTokens } from "../../src/domain/agents/agent-tokens.js";
import { parseDocument } from "../../src/domain/templates/template-documents.js";
import { systemContext } from "./app.js";
import { newId } from "./ids.js";
import { eventually } from "./watchers.js";
import { insertTemplate, insertWorkspace } from "./workspaces.js";
import type { Client, Person, ResultOf, World } from "./world.js";

/** A workspace with running agents. */
export interface Started {
  id: string;
  name: string;
  buildId: string;
  agents: CreatedAgent[];
}

/** Runs work of the server on its behalf, in a transaction. */
function asServer<Result>({ app }: World, work: (ctx: Context) => Promise<Result>): Promise<Result> {
  const ctx = systemContext(app);
  return ctx.transactional(() => work(ctx));
}

/** Starts a workspace of a user. `agents` are as in documents. */
export async function start(w: World, owner: Pick<Person, "id">, ...agents: object[]): Promise<Started> {
  const { pool } = w.app.services.database;
  const id = newId();
  const name = `box-${newId().slice(-12)}`;
  await insertWorkspace(pool, id, owner.id, name, await insertTemplate(pool, w.defaultOrganization, w.owner.id));
  const { rows } = await pool.query<{ buildId: string; resourceId: string }>(
    `select b.id as "buildId", r.id as "resourceId" from workspace_builds b
     join workspace_resources r on r.job_id = b.job_id where b.workspace_id = $1`,
    [id],
  );
  const { buildId, resourceId } = rows[0]!;
  const resources = [{ id: resourceId, agents: documentOf(agents) }];
  return {
    id,
    name,
    buildId,
    agents: await asServer(w, (ctx) => createAgents(ctx, { workspaceId: id, buildId, resources })),
  };
}

/** The agents of a document, with defaults. Each is on Linux, unless it says otherwise. */
function documentOf(agents: object[]) {
  const problems = new Problems();
  const declared = agents.map((agent, n) => ({ name: `agent-${n}`, os: "linux", arch: "amd64", ...agent }));
  const document = {
    schema: "steward.template/1",
    provisioner: "echo",
    resources: [{ name: "box", agents: declared }],
  };
  const parsed = parseDocument(document, problems);
  problems.throwIfAny();
  return parsed!.resources[0]!.agents;
}

/** Ends the tokens of the agents of a workspace, as the end of its stop does. */
export const endTokens = (w: World, { id }: Pick<Started, "id">): Promise<void> =>
  asServer(w, (ctx) => endAgentTokens(ctx, id));

/** Gives the agents of a workspace new tokens, as its next start does. */
export const renew = (w: World, { buildId }: Pick<Started, "buildId">): Promise<CreatedAgent[]> =>
  asServer(w, (ctx) => renewAgents(ctx, buildId));

/** Sets columns of a workspace, as its builds do, and tells its watchers. */
export async function change(w: World, { id }: Pick<Started, "id">, columns: Record<string, unknown>): Promise<void> {
  const names = Object.keys(columns);
  const assigned = names.map((name, n) => `${name} = $${n + 2}`).join(", ");
  await w.app.services.database.pool.query(`update workspaces set ${assigned} where id = $1`, [
    id,
    ...Object.values(columns),
  ]);
  w.app.services.events.publish({ topic: "builds", id });
}

/** Runs a mutation of an agent without a payload. */
export const report = (agent: Client, name: string, input?: object): Promise<unknown> =>
  input
    ? agent.graphql(
        `mutation($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
        { input },
      )
    : agent.graphql(`mutation { ${name} { __typename } }`);

/** The events of a subscription, in order of arrival. */
export interface Watch<Event> {
  events: Event[];
  /** Resolves once there are that many events. */
  received(count: number): Promise<void>;
  /** The close code of the socket. */
  ended: Promise<number>;
  close(): void;
}

type EventOf<Text extends string> = ResultOf<Text>[keyof ResultOf<Text>];

/** Runs a subscription with one root field, with the token of the client. */
export function watch<Text extends string>(
  w: Pick<World, "url">,
  { token }: Client,
  query: Text,
  variables?: Record<string, unknown>,
): Watch<EventOf<Text>> {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const client = createClient({
    url: `${w.url.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { sessionToken: token },
    retryAttempts: 0,
    on: { closed: (event) => end((event as { code: number }).code) },
  });
  const events: Array<EventOf<Text>> = [];
  let failure: unknown;
  void (async () => {
    for await (const { data, errors } of client.iterate<Record<string, EventOf<Text>>>({ query, variables })) {
      if (errors) failure = errors;
      if (data) events.push(...Object.values(data));
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  const received = (count: number) =>
    eventually(() => {
      if (failure !== undefined) throw new Error(`The subscription failed: ${JSON.stringify(failure)}`);
      return events.length >= count;
    }, `${count} events`);
  return { events, received, ended, close: () => void client.dispose() };
}

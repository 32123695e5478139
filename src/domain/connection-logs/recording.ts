import { databaseTime } from "../../clock.js";
import type { MachineActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorizeMachine } from "../authorization/authorization.js";
import { type Statement, statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { noteActivity } from "../workspaces/deadlines.js";
import { addressOf, type ConnectionEvent, type ConnectionEventKind, requireValid, timeOf } from "./events.js";

const columns = `id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type, connect_time, ip,
  reporter, event_id, connection_id, is_connect_reported, disconnect_time, disconnect_reason, exit_code, slug_or_port,
  status_code, user_id, user_agent`;

/** Inserts rows given as JSON. The fixed order prevents deadlocks between concurrent reports of the same events. */
const insertOf = (onConflict: string) =>
  statement<{ id: string }>(`
    insert into connection_logs as l (${columns})
    select ${columns} from jsonb_populate_recordset(null::connection_logs, $1)
    order by connection_id, event_id, workspace_id, agent_name
    on conflict ${onConflict} returning id`);

const session = "(connection_id, workspace_id, agent_name) where connection_id is not null";

/** Upserts by kind of event. They return the ids of rows that were inserted or changed. */
const inserts = {
  connect: insertOf(`${session} do update
    set connect_time = excluded.connect_time, type = excluded.type, ip = coalesce(excluded.ip, l.ip),
      is_connect_reported = true
    where not l.is_connect_reported or excluded.connect_time < l.connect_time`),
  disconnect: insertOf(`${session} do update
    set disconnect_time = coalesce(l.disconnect_time, excluded.disconnect_time),
      disconnect_reason = coalesce(l.disconnect_reason, excluded.disconnect_reason),
      exit_code = coalesce(l.exit_code, excluded.exit_code), ip = coalesce(l.ip, excluded.ip)
    where l.disconnect_time is null
      or l.disconnect_reason is null and excluded.disconnect_reason is not null
      or l.exit_code is null and excluded.exit_code is not null`),
  web: insertOf("(reporter, event_id) where event_id is not null do nothing"),
} satisfies Record<ConnectionEventKind, unknown>;

/** The number of events that changed the log, and of those that did not. */
export interface RecordedConnections {
  recorded: number;
  skipped: number;
}

/** Records events that an agent or a proxy reports, which move the deadlines of the workspaces. If any event is invalid, throws and records nothing. */
export async function recordConnections(
  ctx: Context,
  events: readonly ConnectionEvent[],
): Promise<RecordedConnections> {
  const reporter = authorizeMachine(ctx.actor, "connection:record");
  requireFeature(ctx, "connection_log");
  const now = databaseTime();
  requireValid(reporter, events, now);
  const own = reporter.kind === "agent" ? reporter.workspaceId : undefined;
  const workspaces = await workspacesOf(ctx, events, reporter.id, own);
  if (events.length > 0) await noteActivity(ctx, [...workspaces.keys()]);
  if (!ctx.config.connectionLog) return { recorded: 0, skipped: events.length };

  const rows = { connect: new Map(), disconnect: new Map(), web: new Map() } satisfies Record<string, Rows>;
  const ids = new Set<string>();
  for (const event of events) {
    if (ids.size === ids.add(event.id).size) continue;
    const row = rowOf(reporter, event, workspaces.get(event.workspaceId ?? own!)!, now);
    const key = event.connectionId ? [event.connectionId, row.workspace_id, row.agent_name].join() : event.id;
    const ofKind: Rows = rows[event.kind];
    ofKind.set(key, merged(ofKind.get(key), row));
  }
  const changed = await Promise.all([
    insert(ctx, inserts.connect, rows.connect),
    insert(ctx, inserts.disconnect, rows.disconnect),
    insert(ctx, inserts.web, rows.web),
  ]);
  const recorded = changed.flat().length;
  return { recorded, skipped: events.length - recorded };
}

interface Workspace {
  id: string;
  name: string;
  ownerId: string;
  organizationId: string;
  /** The name of the reporting agent; null for a proxy. */
  agentName: string | null;
}

const workspacesByIds = statement<Workspace>(`
  select id, name, owner_id as "ownerId", organization_id as "organizationId",
    (select name from workspace_agents where id = $2) as "agentName"
  from workspaces where id = any($1::uuid[])`);

const usersAmong = statement<{ id: string }>("select id from users where id = any($1::uuid[])");

/** Reads the workspaces of events, deleted ones included. Throws if a workspace or a visitor is unknown. */
async function workspacesOf(
  ctx: Context,
  events: readonly ConnectionEvent[],
  reporter: string,
  own: string | undefined,
): Promise<Map<string, Workspace>> {
  const visitors = events.flatMap(({ userId }) => userId ?? []);
  const [workspaces, users] = await Promise.all([
    ctx.rows(workspacesByIds, own ? [own] : events.map(({ workspaceId }) => workspaceId), reporter),
    visitors.length > 0 ? ctx.rows(usersAmong, visitors) : [],
  ]);
  const knownUsers = new Set(users.map(({ id }) => id));
  const known = new Map(workspaces.map((workspace) => [workspace.id, workspace]));
  const problems = new Problems();
  for (const [index, { workspaceId, userId }] of events.entries()) {
    const isKnown = known.has(workspaceId ?? own ?? "");
    problems.add(`events[${index}].workspaceId`, isKnown ? undefined : "There is no such workspace.");
    const isAnonymous = userId == null;
    problems.add(
      `events[${index}].userId`,
      isAnonymous || knownUsers.has(userId) ? undefined : "There is no such user.",
    );
  }
  problems.throwIfAny();
  return known;
}

/** Columns of `connection_logs`; unknown values are absent. */
type Row = Record<string, unknown> & { connect_time: string };
type Rows = Map<string, Row>;

/** Characters of reported texts that are stored. */
const maxTextLength = 512;

const truncated = (text: string | null | undefined): string | undefined =>
  text ? Array.from(text).slice(0, maxTextLength).join("") : undefined;

function rowOf(reporter: MachineActor, event: ConnectionEvent, workspace: Workspace, now: number): Row {
  const time = timeOf(event, now);
  const known = {
    id: newId(),
    organization_id: workspace.organizationId,
    workspace_id: workspace.id,
    workspace_name: workspace.name,
    workspace_owner_id: workspace.ownerId,
    agent_name: event.agentName ?? workspace.agentName,
    type: event.type,
    connect_time: time,
    ip: addressOf(event),
    reporter: reporter.id,
    connection_id: event.connectionId,
    is_connect_reported: event.kind === "connect",
    event_id: event.kind === "web" ? event.id : undefined,
    disconnect_time: event.kind === "disconnect" ? time : undefined,
    disconnect_reason: truncated(event.disconnectReason),
    exit_code: event.exitCode,
    slug_or_port: event.slugOrPort,
    status_code: event.statusCode,
    user_id: event.userId,
    user_agent: truncated(event.userAgent),
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value != null)) as Row;
}

/** Merges two reports of one connection: the first values win, and of two start times the earlier one. */
const merged = (first: Row | undefined, next: Row): Row =>
  first
    ? {
        ...next,
        ...first,
        connect_time: first.connect_time < next.connect_time ? first.connect_time : next.connect_time,
      }
    : next;

const insert = (ctx: Context, prepared: Statement<{ id: string }>, rows: Rows) =>
  rows.size > 0 ? ctx.rows(prepared, JSON.stringify([...rows.values()])) : [];

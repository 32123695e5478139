import { type Insertable, type RawBuilder, sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Schema } from "../../entities/schema.js";
import { databaseTime } from "../../runtime/clock.js";
import type { MachineActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorizeMachine } from "../authorization/authorization.js";
import { anyOf, jsonOf } from "../kernel/queries.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { inputOf, type Input, list, required } from "../kernel/values.js";
import { cleanLabel } from "../../runtime/text.js";
import { noteActivity } from "../workspaces/deadlines.js";
import { addressOf, ConnectionEvent, requireValid, timeOf } from "./connection-events.js";

/** The number of events that changed the log, and of those that did not. */
export interface RecordedConnections {
  recorded: number;
  skipped: number;
}

export const RecordConnections = inputOf({
  events: required(list(100, ConnectionEvent), "The events, {limits}. One invalid event rejects all of them."),
});
export type RecordConnections = Input<typeof RecordConnections>;

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
    const key = event.connectionId ? [event.connectionId, row.workspaceId, row.agentName].join() : event.id;
    const ofKind: Rows = rows[event.kind];
    ofKind.set(key, mergeReports(ofKind.get(key), row));
  }
  // Waits for other reports of the agents of a workspace, or of a proxy.
  if (ids.size > 0) await takeTurn(ctx, "connections", own ?? reporter.id);
  const recorded =
    (await recordConnects(ctx, rows.connect)) +
    (await recordDisconnects(ctx, rows.disconnect)) +
    (await recordVisits(ctx, rows.web));
  return { recorded, skipped: events.length - recorded };
}

const keyOf = ({ connectionId, eventId, workspaceId, agentName }: Row) =>
  [connectionId, eventId, workspaceId, agentName].join();

/** Rows as a table expression `r`, in an order that prevents deadlocks between concurrent reports of the same events. */
function rowsOf(rows: Rows) {
  const ordered = [...rows.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return sql`jsonb_populate_recordset(null::connection_log, ${jsonOf(ordered)}::jsonb) r`;
}

const log = columnsOf("connectionLog");
const l = columnsOf("connectionLog", "l");
const r = columnsOf("connectionLog", "r");

const columns = sql.join([
  log.id,
  log.organizationId,
  log.workspaceId,
  log.workspaceName,
  log.workspaceOwnerId,
  log.agentName,
  log.type,
  log.connectTime,
  log.ip,
  log.reporter,
  log.eventId,
  log.connectionId,
  log.isConnectReported,
  log.disconnectTime,
  log.disconnectReason,
  log.exitCode,
  log.slugOrPort,
  log.statusCode,
  log.userId,
  log.userAgent,
]);

// The unique indexes are those of each month. Since reports take turns, an event is in one month only: an insert finds what
// is in any month. Servers of earlier releases do not take turns; they know one month, and conflict with its index.

/** Inserts the rows that no month has, by a condition that compares a stored row `l` with a row `r`. */
const insertNew = ({ db }: Context, rows: Rows, isSame: RawBuilder<SqlBool>) =>
  sql`
    insert into connection_log (${columns}) select ${columns} from ${rowsOf(rows)}
    where not exists (select from connection_log l where ${isSame})
    on conflict do nothing`
    .execute(db)
    .then(({ numAffectedRows }) => Number(numAffectedRows));

const isSameSession = sql<SqlBool>`
  ${l.connectionId} = ${r.connectionId} and ${l.workspaceId} = ${r.workspaceId} and ${l.agentName} = ${r.agentName}`;
const isSameVisit = sql<SqlBool>`${l.reporter} = ${r.reporter} and ${l.eventId} = ${r.eventId}`;

/** Changes the stored sessions of rows. Those that were just inserted are as the rows already. */
const updateSessions = ({ db }: Context, rows: Rows, changes: RawBuilder<unknown>, isChanged: RawBuilder<SqlBool>) =>
  sql`update connection_log l set ${changes} from ${rowsOf(rows)} where ${isSameSession} and (${isChanged})`
    .execute(db)
    .then(({ numAffectedRows }) => Number(numAffectedRows));

// Each returns the number of rows that were inserted or changed. A reported end replaces one that was derived.

async function recordConnects(ctx: Context, rows: Rows): Promise<number> {
  if (rows.size === 0) return 0;
  // What ended first is listed at its end. A trigger moves what began in an earlier month.
  const changes = sql`${log.connectTime} = least(${r.connectTime}, ${l.disconnectTime}), ${log.type} = ${r.type}, ${log.ip} = coalesce(${r.ip}, ${l.ip}), ${log.isConnectReported} = true`;
  const isChanged = sql<SqlBool>`not ${l.isConnectReported} or ${r.connectTime} < ${l.connectTime}`;
  return (await insertNew(ctx, rows, isSameSession)) + (await updateSessions(ctx, rows, changes, isChanged));
}

async function recordDisconnects(ctx: Context, rows: Rows): Promise<number> {
  if (rows.size === 0) return 0;
  const changes = sql`
    ${log.disconnectTime} = case when ${l.isEndDerived} then ${r.disconnectTime} else coalesce(${l.disconnectTime}, ${r.disconnectTime}) end,
    ${log.disconnectReason} = case when ${l.isEndDerived} then ${r.disconnectReason} else coalesce(${l.disconnectReason}, ${r.disconnectReason}) end,
    ${log.exitCode} = coalesce(${l.exitCode}, ${r.exitCode}), ${log.ip} = coalesce(${l.ip}, ${r.ip}), ${log.isEndDerived} = false`;
  const isChanged = sql<SqlBool>`
    ${l.isEndDerived}
    or ${l.disconnectTime} is null and ${r.disconnectTime} is not null
    or ${l.disconnectReason} is null and ${r.disconnectReason} is not null
    or ${l.exitCode} is null and ${r.exitCode} is not null`;
  return (await insertNew(ctx, rows, isSameSession)) + (await updateSessions(ctx, rows, changes, isChanged));
}

const recordVisits = async (ctx: Context, rows: Rows): Promise<number> =>
  rows.size === 0 ? 0 : insertNew(ctx, rows, isSameVisit);

/** Workspaces, with the name of the agent that reports; null for a proxy. */
const workspacesById = ({ db }: Context, ids: readonly string[], reporter: string) =>
  db
    .selectFrom("workspaces")
    .select(["id", "name", "ownerId", "organizationId"])
    .select((eb) => eb.selectFrom("workspaceAgents as a").select("a.name").where("a.id", "=", reporter).as("agentName"))
    .where("id", "=", anyOf(ids))
    .execute();

type Workspace = Awaited<ReturnType<typeof workspacesById>>[number];

/** Reads the workspaces of events, deleted ones included. Throws if a workspace or a visitor is unknown. */
async function workspacesOf(
  ctx: Context,
  events: readonly ConnectionEvent[],
  reporter: string,
  own: string | undefined,
): Promise<Map<string, Workspace>> {
  const visitors = events.flatMap(({ userId }) => userId ?? []);
  const ids = own ? [own] : events.flatMap(({ workspaceId }) => workspaceId ?? []);
  const workspaces = await workspacesById(ctx, ids, reporter);
  const users =
    visitors.length > 0
      ? await ctx.db.selectFrom("users").select("id").where("id", "=", anyOf(visitors)).execute()
      : [];
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

/** A row to insert. Unknown values are absent. */
type Row = Insertable<Schema["connectionLog"]> & { connectTime: string };
type Rows = Map<string, Row>;

/** Characters of reported texts that are stored, as labels. */
const maxTextLength = 512;

const labelOf = (text: string | null | undefined): string | undefined =>
  text ? cleanLabel(text, maxTextLength) : undefined;

function rowOf(reporter: MachineActor, event: ConnectionEvent, workspace: Workspace, now: number): Row {
  const time = timeOf(event, now);
  const known = {
    id: newId(),
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    workspaceOwnerId: workspace.ownerId,
    agentName: event.agentName ?? workspace.agentName!,
    type: event.type,
    connectTime: time,
    ip: addressOf(event),
    reporter: reporter.id,
    connectionId: event.connectionId,
    isConnectReported: event.kind === "connect",
    eventId: event.kind === "web" ? event.id : undefined,
    disconnectTime: event.kind === "disconnect" ? time : undefined,
    disconnectReason: labelOf(event.disconnectReason),
    exitCode: event.exitCode,
    slugOrPort: event.slugOrPort,
    statusCode: event.statusCode,
    userId: event.userId,
    userAgent: labelOf(event.userAgent),
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value != null)) as Row;
}

/** Merges two reports of one connection: the first values win, and of two start times the earlier one. */
const mergeReports = (first: Row | undefined, next: Row): Row =>
  first
    ? {
        ...next,
        ...first,
        connectTime: first.connectTime < next.connectTime ? first.connectTime : next.connectTime,
      }
    : next;

import type { Insertable } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { databaseTime } from "../../runtime/clock.js";
import type { MachineActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorizeMachine } from "../authorization/authorization.js";
import { anyOf } from "../kernel/queries.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { noteActivity } from "../workspaces/workspace-schedule.js";
import { addressOf, type ConnectionEvent, requireValid, timeOf } from "./connection-events.js";

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
    const key = event.connectionId ? [event.connectionId, row.workspaceId, row.agentName].join() : event.id;
    const ofKind: Rows = rows[event.kind];
    ofKind.set(key, merged(ofKind.get(key), row));
  }
  const recorded =
    (await insertConnects(ctx, rows.connect)) +
    (await insertDisconnects(ctx, rows.disconnect)) +
    (await insertVisits(ctx, rows.web));
  return { recorded, skipped: events.length - recorded };
}

const keyOf = ({ connectionId, eventId, workspaceId, agentName }: Row) =>
  [connectionId, eventId, workspaceId, agentName].join();

/** Begins an insert of rows. The order prevents deadlocks between concurrent reports of the same events. */
function inserting({ db }: Context, rows: Rows) {
  const ordered = [...rows.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return db.insertInto("connectionLogs").values(ordered).returning("id");
}

const session = ["connectionId", "workspaceId", "agentName"] as const;

// Each returns the number of rows that were inserted or changed.

async function insertConnects(ctx: Context, rows: Rows): Promise<number> {
  if (rows.size === 0) return 0;
  const changed = await inserting(ctx, rows)
    .onConflict((conflict) =>
      conflict
        .columns(session)
        .where("connectionId", "is not", null)
        .doUpdateSet((eb) => ({
          connectTime: eb.ref("excluded.connectTime"),
          type: eb.ref("excluded.type"),
          ip: eb.fn.coalesce("excluded.ip", "connectionLogs.ip"),
          isConnectReported: true,
        }))
        .where((eb) =>
          eb.or([
            eb("connectionLogs.isConnectReported", "=", false),
            eb("excluded.connectTime", "<", eb.ref("connectionLogs.connectTime")),
          ]),
        ),
    )
    .execute();
  return changed.length;
}

async function insertDisconnects(ctx: Context, rows: Rows): Promise<number> {
  if (rows.size === 0) return 0;
  const details = ["disconnectTime", "disconnectReason", "exitCode"] as const;
  const changed = await inserting(ctx, rows)
    .onConflict((conflict) =>
      conflict
        .columns(session)
        .where("connectionId", "is not", null)
        .doUpdateSet(({ fn }) => ({
          disconnectTime: fn.coalesce("connectionLogs.disconnectTime", "excluded.disconnectTime"),
          disconnectReason: fn.coalesce("connectionLogs.disconnectReason", "excluded.disconnectReason"),
          exitCode: fn.coalesce("connectionLogs.exitCode", "excluded.exitCode"),
          ip: fn.coalesce("connectionLogs.ip", "excluded.ip"),
        }))
        .where((eb) =>
          eb.or(
            details.map((detail) =>
              eb.and([eb(`connectionLogs.${detail}`, "is", null), eb(`excluded.${detail}`, "is not", null)]),
            ),
          ),
        ),
    )
    .execute();
  return changed.length;
}

async function insertVisits(ctx: Context, rows: Rows): Promise<number> {
  if (rows.size === 0) return 0;
  const added = await inserting(ctx, rows)
    .onConflict((conflict) => conflict.columns(["reporter", "eventId"]).where("eventId", "is not", null).doNothing())
    .execute();
  return added.length;
}

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
type Row = Insertable<Schema["connectionLogs"]> & { connectTime: string };
type Rows = Map<string, Row>;

/** Characters of reported texts that are stored. */
const maxTextLength = 512;

const truncated = (text: string | null | undefined): string | undefined =>
  text ? Array.from(text).slice(0, maxTextLength).join("") : undefined;

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
    disconnectReason: truncated(event.disconnectReason),
    exitCode: event.exitCode,
    slugOrPort: event.slugOrPort,
    statusCode: event.statusCode,
    userId: event.userId,
    userAgent: truncated(event.userAgent),
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value != null)) as Row;
}

/** Merges two reports of one connection: the first values win, and of two start times the earlier one. */
const merged = (first: Row | undefined, next: Row): Row =>
  first
    ? {
        ...next,
        ...first,
        connectTime: first.connectTime < next.connectTime ? first.connectTime : next.connectTime,
      }
    : next;

import { type InferResult, sql, type SqlBool } from "kysely";
import { selectPermitted, requireAnyPermitted } from "../authorization/authorization.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { requireFeature } from "../entitlements/requirements.js";
import { requireUser } from "../kernel/actor.js";
import { purgeMonths } from "../../infrastructure/database/months.js";
import { anyOf, foldedColumn } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import type { Context } from "../kernel/context.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import { defineList, inOrganizations, time } from "../kernel/lists.js";
import { anyText, moment, oneOf, parseSearch, searchQuery, uuid } from "../search-text.js";
import { type OrderBy, OrderDirection, orderOf, type Page, PageArguments } from "../kernel/paging.js";
import { byKeptNames, type KeptNames, keptNames } from "../users/kept-names.js";
import { type Input, inputOf, optional } from "../kernel/values.js";

const l = columnsOf("connectionLog", "l");

/** Ways to connect to a workspace. */
export const ConnectionType = {
  SSH: "ssh",
  VSCODE: "vscode",
  JETBRAINS: "jetbrains",
  RECONNECTING_PTY: "reconnecting_pty",
  WORKSPACE_APP: "workspace_app",
  PORT_FORWARDING: "port_forwarding",
} as const;
export type ConnectionType = (typeof ConnectionType)[keyof typeof ConnectionType];

/** Sessions, which agents report. */
export const sessionTypes: readonly ConnectionType[] = ["ssh", "vscode", "jetbrains", "reconnecting_pty"];

/** Visits with a browser, which proxies report. */
export const webTypes: readonly ConnectionType[] = ["workspace_app", "port_forwarding"];

/** Milliseconds after which a connection is not recorded any more. */
export const longestDelay = 30 * day;

/** The connections that the caller may read: all, or those of organizations. */
function readableConnections(ctx: Context) {
  const { everywhere, organizations } = selectPermitted(ctx.actor, "connection_log:read");
  return ctx.db
    .selectFrom("connectionLog as l")
    .select([
      "l.id",
      "l.type",
      "l.connectTime",
      "l.ip",
      "l.organizationId",
      "l.workspaceId",
      "l.workspaceName",
      "l.workspaceOwnerId",
      "l.agentName",
      "l.connectionId",
      "l.disconnectTime",
      "l.disconnectReason",
      "l.exitCode",
      "l.slugOrPort",
      "l.statusCode",
      "l.userId",
      "l.userAgent",
    ])
    .$if(!everywhere, (all) => all.where(inOrganizations("l.organizationId", organizations)));
}

/** A connection in the log. Its workspace name and owner are those at the time of the report. */
export type ConnectionLogRow = InferResult<ReturnType<typeof readableConnections>>[number];

/** Maximum exact count. The count of more connections is `countCap + 1`. */
export const countCap = 2000;

export const ConnectionLogOrderField = { CONNECT_TIME: "connectTime" } as const;
export type ConnectionLogOrderField = (typeof ConnectionLogOrderField)[keyof typeof ConnectionLogOrderField];

export const ConnectionLogOrder = orderOf(ConnectionLogOrderField);
export const ConnectionLogsQuery = inputOf({
  ...PageArguments.shape,
  q: optional(
    searchQuery,
    "Search terms of the form `key:value`, all of which must match. Keys: organization, workspace_owner, workspace_owner_email, username, user_email, type, status (ongoing, completed), connected_after, connected_before, workspace_id, connection_id.",
  ),
  orderBy: optional(ConnectionLogOrder, "Default: by time, descending."),
});
export type ConnectionLogsQuery = Input<typeof ConnectionLogsQuery>;

type Status = "ongoing" | "completed";

/** The condition that a connection `l` has a status. Only sessions have a status, an end, and a `connection_id`. */
function hasStatus(among: readonly Status[]) {
  if (!among.includes("completed")) return sql<SqlBool>`${l.disconnectTime} is null and ${l.connectionId} is not null`;
  return among.includes("ongoing")
    ? sql<SqlBool>`${l.connectionId} is not null`
    : sql<SqlBool>`${l.disconnectTime} is not null`;
}

/** The emails of a row, as their index has them. */
const storedEmails = sql`array[${foldedColumn("l.workspaceOwnerEmail")}, ${foldedColumn("l.userEmail")}]`;

// An owner was a member of the organization of the workspace.
const owner = {
  id: "l.workspaceOwnerId",
  username: "l.workspaceOwnerUsername",
  email: "l.workspaceOwnerEmail",
  emails: storedEmails,
  organization: "l.organizationId",
};
const visitor = {
  id: "l.userId",
  username: "l.username",
  email: "l.userEmail",
  emails: storedEmails,
  organization: "l.organizationId",
  wasMember: sql<SqlBool>`${l.userId} = ${l.workspaceOwnerId}`,
};

/** Each filter has an index in the order of times, but for emails. */
const connectionList = defineList(readableConnections, {
  id: { column: "l.id", of: ({ id }) => id },
  orders: { [ConnectionLogOrderField.CONNECT_TIME]: { connectTime: time("l.connectTime") } },
  filters: {
    connections: (eb, ids: string[]) => eb("l.connectionId", "=", anyOf(ids)),
    workspaces: (eb, ids: string[]) => eb("l.workspaceId", "=", anyOf(ids)),
    usernames: byKeptNames(visitor),
    userEmails: byKeptNames(visitor),
    ownerNames: byKeptNames(owner),
    ownerEmails: byKeptNames(owner),
    organizations: (eb, ids: string[]) => eb("l.organizationId", "=", anyOf(ids)),
    types: (eb, types: readonly ConnectionType[]) => eb("l.type", "=", anyOf(types, "text")),
    status: (_, among: Status[]) => hasStatus(among),
    after: (eb, after: string) => eb("l.connectTime", ">=", after),
    before: (eb, before: string) => eb("l.connectTime", "<=", before),
  },
  mayUseStandby: true,
  months: {
    table: "connection_log",
    first: 2,
    period: ({ after, before }) => ({ after, before }),
  },
  planned: [
    "connections",
    "workspaces",
    "usernames",
    "userEmails",
    "ownerNames",
    "ownerEmails",
    "organizations",
    "types",
    "status",
  ],
  mostCounted: countCap + 1,
});

const keys = {
  organization: anyText,
  workspace_owner: anyText,
  workspace_owner_email: anyText,
  username: anyText,
  user_email: anyText,
  type: oneOf(...Object.values(ConnectionType)),
  status: oneOf("ongoing", "completed"),
  connected_after: moment,
  connected_before: moment,
  workspace_id: uuid,
  connection_id: uuid,
};

/**
 * Lists connections that match a search, by default newest first: all of them for auditors, else those of organizations
 * that the caller may read. All keys of the search must match, each by any of its values.
 */
export async function listConnectionLogs(
  ctx: Context,
  q: string | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<ConnectionLogOrderField> | null | undefined,
): Promise<Page<ConnectionLogRow>> {
  requireAnyPermitted(requireUser(ctx.actor), "connection_log:read");
  requireFeature(ctx, "connection_log");
  const { terms } = parseSearch(q ?? "", keys, "Invalid connection search query.", { isKeyed: true });
  const [status] = terms.status;
  const [types] = terms.type;
  const filter = {
    connections: terms.connection_id[0],
    workspaces: terms.workspace_id[0],
    usernames: withNames(ctx, terms.username[0]),
    userEmails: withEmails(terms.user_email[0]),
    ownerNames: withNames(ctx, terms.workspace_owner[0]),
    ownerEmails: withEmails(terms.workspace_owner_email[0]),
    organizations: await organizationsNamed(ctx, terms.organization[0]),
    types: status ? types?.filter((type) => sessionTypes.includes(type)) : types,
    status,
    // Of several times, the least restrictive one.
    after: terms.connected_after[0]?.toSorted()[0],
    before: terms.connected_before[0]?.toSorted().at(-1),
  };
  const order = orderBy ?? { field: ConnectionLogOrderField.CONNECT_TIME, direction: OrderDirection.DESC };
  return connectionList.page(ctx, { filter, orderBy: order, page });
}

type References = readonly string[] | undefined;

const namesAmong = (references: readonly string[]) => references.filter((each) => !isUuid(each)).map(foldCase);

const withNames = (ctx: Context, references: References): KeptNames | undefined => {
  const { ids, usernames } = keptNames(ctx, references ?? []);
  return references && { ids, usernames };
};

const withEmails = (emails: References): KeptNames | undefined => emails && { emails: emails.map(foldCase) };

/** The ids of organizations by id, name or `default`. Rows outlive their organizations. */
async function organizationsNamed({ db }: Context, references: References): Promise<string[] | null> {
  if (!references) return null;
  const ids = references.filter(isUuid);
  const names = namesAmong(references);
  if (names.length === 0) return ids;
  const found = await db
    .selectFrom("organizations")
    .select("id")
    .where("deletedAt", "is", null)
    .where((eb) =>
      eb.or([
        eb(eb.fn<string>("lower", ["name"]), "=", anyOf(names, "text")),
        eb.and([eb("isDefault", "=", true), eb.lit(names.includes("default"))]),
      ]),
    )
    .execute();
  return [...ids, ...found.map(({ id }) => id)];
}

/** Deletes connections that are older than `STEWARD_CONNECTION_LOG_RETENTION`; 0 keeps them. */
export const connectionLogPurge = purgeMonths("connection_log", {
  by: "connect_time",
  keptFor: ({ connectionLogRetention }) => connectionLogRetention || Infinity,
});

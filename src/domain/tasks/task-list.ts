import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { visible } from "../authorization/authorization.js";
import { requireUser, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError, Problems } from "../kernel/errors.js";
import { anyOf, type Match } from "../kernel/queries.js";
import { contains, defineList, inOrganizations, time } from "../kernel/lists.js";
import { anyText, oneOf, parseSearch, searchQuery } from "../search-text.js";
import { OrderDirection, orderOf, type Page, PageArguments } from "../kernel/paging.js";
import { check, choice, flag, type Input, inputOf, listOf, optional, reference, searchText } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser } from "../users/users.js";
import { sharedWith } from "../workspaces/workspaces.js";
import { isTaskUnhealthy } from "./task-health.js";
import { TaskStatus } from "./task-status.js";
import { type TaskRow, tasksById } from "./tasks.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const t = columnsOf("tasks", "t");

/** Filters of tasks. An absent filter does not narrow. */
export const TaskFilter = inputOf({
  owner: optional(reference, "The owner: ID, username, or `me`."),
  organization: optional(reference, "The organization: ID, name, or `default`."),
  status: optional(listOf(choice(TaskStatus)), "Any of these statuses."),
  search: optional(searchText, "Part of the name or display name, in any letter case."),
  unhealthy: optional(flag, "Whether something is wrong: with the task, its agent, its app, or its build."),
});
export type TaskFilter = Input<typeof TaskFilter>;

export const TaskOrderField = { CREATED_AT: "createdAt" } as const;
export type TaskOrderField = (typeof TaskOrderField)[keyof typeof TaskOrderField];

export const TaskOrder = orderOf(TaskOrderField);

export const TasksQuery = inputOf({
  ...PageArguments.shape,
  q: optional(
    searchQuery,
    'Search query: words of names, and `owner:`, `organization:` and `status:` with values separated by commas, such as `owner:"me" status:active,paused`.',
  ),
  filter: optional(TaskFilter, "Selects tasks."),
  orderBy: optional(TaskOrder, "The order. The default is newest first."),
});
export type TasksQuery = Input<typeof TasksQuery>;

/** The keys of a task in a list. The rows are read by their ids afterwards, since tasks join many tables. */
interface Listed {
  id: string;
  createdAt: string;
}

const readableTasks = (ctx: Context) =>
  ctx.db
    .selectFrom("tasks as t")
    .select(["t.id", "t.createdAt"])
    .where("t.deletedAt", "is", null)
    .where(isReadable(ctx));

/** The condition that the caller may read the task `t`: all, or those of organizations, own ones and shared ones. */
function isReadable({ actor }: Context): Expression<SqlBool> {
  const { everywhere, organizations } = visible(actor, "task:read");
  if (everywhere) return sql`true`;
  const { userId, organizations: memberships } = requireUser(actor);
  // Owners lose their tasks with their membership, as their workspaces.
  const isNear = sql<SqlBool>`(
    ${t.ownerId} = ${userId} and ${t.organizationId} = ${anyOf([...memberships.keys()])}
    or ${t.workspaceId} = any(array(${sharedWith(userId)})))`;
  return organizations.length > 0 ? sql`(${inOrganizations("t.organizationId", organizations)} or ${isNear})` : isNear;
}

const isNamed = (part: string, match?: Match) =>
  sql<SqlBool>`(${contains("t.name", part, match)} or ${contains("t.displayName", part, match)})`;

/** The tasks that the caller may read whose names match a text. */
export const tasksNamed = (ctx: Context, part: string, match: Match) => readableTasks(ctx).where(isNamed(part, match));

type Filters = ExpressionBuilder<Schema & { t: Schema["tasks"] }, "t">;

/** A filter by several lists of values: the value of the column must be in each list. */
const inAll =
  (column: "t.ownerId" | "t.organizationId" | "t.status", type: "uuid" | "text") =>
  (eb: Filters, lists: ReadonlyArray<readonly string[]>) =>
    eb.and(lists.map((values) => eb(column, "=", anyOf(values, type))));

const taskList = defineList(readableTasks, {
  id: { column: "t.id", of: ({ id }: Listed) => id },
  // tasks_page_index, and with equal values: tasks_owner_index, tasks_organization_index, tasks_status_index
  orders: { [TaskOrderField.CREATED_AT]: { createdAt: time<Listed>("t.createdAt") } },
  filters: {
    owners: inAll("t.ownerId", "uuid"),
    organizations: inAll("t.organizationId", "uuid"),
    statuses: inAll("t.status", "text"),
    words: (eb, words: readonly string[][]) => eb.and(words.map((parts) => eb.or(parts.map((part) => isNamed(part))))),
    unhealthy: (eb, isWanted: boolean, ctx) => (isWanted ? isTaskUnhealthy(ctx) : eb.not(isTaskUnhealthy(ctx))),
  },
  planned: ["owners", "organizations", "statuses", "words", "unhealthy"],
});

/**
 * Lists the tasks that the caller may read, newest first unless ordered otherwise. Counts up to `mostCounted`, unless
 * the exact number is requested.
 */
export async function listTasks(ctx: Context, { q, filter, orderBy, ...page }: TasksQuery): Promise<Page<TaskRow>> {
  const problems = new Problems();
  check(TasksQuery, { filter }, problems);
  problems.throwIfAny();
  const searches = await Promise.all([q ?? "", queryOf(filter ?? {})].map((query) => readSearch(ctx, query)));
  const all = <Value>(of: (search: (typeof searches)[number]) => readonly Value[]): readonly Value[] | undefined => {
    const lists = searches.flatMap(of);
    return lists.length > 0 ? lists : undefined;
  };
  const found = await taskList.page(ctx, {
    filter: {
      owners: all(({ owners }) => owners),
      organizations: all(({ organizations }) => organizations),
      statuses: all(({ statuses }) => statuses),
      words: all(({ words }) => words),
      unhealthy: filter?.unhealthy,
    },
    orderBy: orderBy ?? { field: TaskOrderField.CREATED_AT, direction: OrderDirection.DESC },
    page,
  });
  const ids = found.nodes.map(({ id }) => id);
  const nodes = ids.length > 0 ? await tasksById(ctx, ids) : [];
  return { ...found, nodes: nodes.filter((task) => task !== undefined) };
}

const quoteTerm = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;

/** The filter as a search query, which has the same rules. */
const queryOf = ({ owner, organization, status, search }: TaskFilter): string =>
  [
    owner && `owner:${quoteTerm(owner)}`,
    organization && `organization:${quoteTerm(organization)}`,
    status?.length ? `status:${status.join()}` : undefined,
    search && quoteTerm(search),
  ]
    .filter(Boolean)
    .join(" ");

const keys = { owner: anyText, organization: anyText, status: oneOf(...Object.values(TaskStatus)) };

const message = "Invalid task search query.";

/**
 * Reads a search query: `owner:`, `organization:` and `status:` with lists of values, and words of names. Owners and
 * organizations are ids, names, `me` or `default`. Throws BAD_USER_INPUT with all faults of `q`.
 */
async function readSearch(ctx: Context, query: string) {
  const { words, terms } = parseSearch(query, keys, message);
  const problems = new Problems();
  const [owners, organizations] = await Promise.all([
    idsOf(ctx, "owner", terms.owner, problems),
    idsOf(ctx, "organization", terms.organization, problems),
  ]);
  problems.throwIfAny(message);
  return { owners, organizations, statuses: terms.status, words };
}

const finders = { owner: findUser, organization: findOrganization };

/** The ids of the objects that the terms of a key name. Missing and unreadable ones are the same fault. */
async function idsOf(
  ctx: Context,
  key: keyof typeof finders,
  terms: readonly string[][],
  problems: Problems,
): Promise<string[][]> {
  const idOf = async (ref: string): Promise<string> => {
    if (key === "owner" && ref.toLowerCase() === "me") return userIdOf(ctx.actor) ?? "";
    try {
      return (await finders[key](ctx, key === "organization" && ref.toLowerCase() === "default" ? "default" : ref)).id;
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
      problems.add("q", `The value of ${key} must be an id or a name that you can see.`);
      return "";
    }
  };
  return Promise.all(terms.map((values) => Promise.all(values.map(idOf))));
}

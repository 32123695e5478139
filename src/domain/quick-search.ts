import { type AliasableExpression, sql } from "kysely";
import { plannedForValues } from "../infrastructure/database/dialect.js";
import { covers, type Permission } from "./authorization/authorization.js";
import { groupsNamed } from "./groups/groups.js";
import type { Context } from "./kernel/context.js";
import { Problems } from "./kernel/errors.js";
import { beginningWith, containing, foldedColumn, type Match } from "./kernel/queries.js";
import { check, type Input, inputOf, required, searchText } from "./kernel/values.js";
import { appsNamed } from "./oauth2/apps.js";
import { tasksNamed } from "./tasks/task-list.js";
import { templatesNamed } from "./templates/templates.js";
import { usersNamed } from "./users/listing.js";
import { workspacesNamed } from "./workspaces/workspace-list.js";

/** The kinds of objects that people look for by name. */
export const SearchKind = {
  WORKSPACE: "workspace",
  TASK: "task",
  TEMPLATE: "template",
  USER: "user",
  GROUP: "group",
  APPLICATION: "application",
} as const;
export type SearchKind = (typeof SearchKind)[keyof typeof SearchKind];

/** The largest number of objects of each kind. */
export const mostOfKind = 5;

/** The shortest text that is looked for anywhere in names: shorter ones have no trigram. */
const shortestPart = 3;

export const QuickSearch = inputOf({
  text: required(
    searchText,
    `A part of a name, case-insensitive. Texts of fewer than ${shortestPart} characters match only where names begin.`,
  ),
});
export type QuickSearch = Input<typeof QuickSearch>;

interface Named {
  id: string;
  name: string;
  displayName: string;
  ownerId: string | null;
  organizationId: string | null;
}

export interface SearchResult extends Omit<Named, "ownerId" | "organizationId"> {
  kind: SearchKind;
  ownerName: string | null;
  organizationName: string | null;
}

const none = sql<null>`null::uuid`;
const noText = sql<string>`''`;

/** Selects the first objects of a kind that the caller may read and that match. */
type Select = (ctx: Context, part: string, match: Match) => AliasableExpression<Named>;

const byKind: Record<SearchKind, { permission: Permission; select: Select }> = {
  [SearchKind.WORKSPACE]: {
    permission: "workspace:read",
    select: (ctx, part, match) =>
      workspacesNamed(ctx, part, match)
        .clearSelect()
        .select(["w.id", "w.name", noText.as("displayName"), "w.ownerId", "w.organizationId"])
        .orderBy("w.lastUsedAt", "desc")
        .orderBy("w.id", "desc")
        .limit(mostOfKind),
  },
  [SearchKind.TASK]: {
    permission: "task:read",
    select: (ctx, part, match) =>
      tasksNamed(ctx, part, match)
        .clearSelect()
        .select(["t.id", "t.name", "t.displayName", "t.ownerId", "t.organizationId"])
        .orderBy("t.createdAt", "desc")
        .orderBy("t.id", "desc")
        .limit(mostOfKind),
  },
  [SearchKind.TEMPLATE]: {
    permission: "template:read",
    select: (ctx, part, match) =>
      templatesNamed(ctx, part, match)
        .clearSelect()
        .select(["t.id", "t.name", "t.displayName", none.as("ownerId"), "t.organizationId"])
        .orderBy(sql`lower(t.name) collate "C"`)
        .orderBy("t.id")
        .limit(mostOfKind),
  },
  [SearchKind.USER]: {
    permission: "user:read",
    select: (ctx, part, match) =>
      usersNamed(ctx, part, match)
        .clearSelect()
        .select(["u.id", "u.username as name", "u.name as displayName"])
        .select([none.as("ownerId"), none.as("organizationId")])
        .orderBy(foldedColumn("u.username"))
        .orderBy("u.id")
        .limit(mostOfKind),
  },
  [SearchKind.GROUP]: {
    permission: "group:read",
    select: (ctx, part, match) =>
      groupsNamed(ctx, part, match)
        .clearSelect()
        .select(["g.id", "g.name", "g.displayName", none.as("ownerId"), "g.organizationId"])
        .orderBy("g.organizationName")
        .orderBy("g.name")
        .orderBy("g.id")
        .limit(mostOfKind),
  },
  [SearchKind.APPLICATION]: {
    permission: "oauth2_app:read",
    select: (ctx, part, match) =>
      appsNamed(ctx, part, match)
        .clearSelect()
        .select(["oauth2Clients.id", "oauth2Clients.name", noText.as("displayName")])
        .select([none.as("ownerId"), none.as("organizationId")])
        .orderBy(foldedColumn("oauth2Clients.name"))
        .orderBy("oauth2Clients.id")
        .limit(mostOfKind),
  },
};

const kinds = Object.values(SearchKind);

/**
 * Finds objects of all kinds by a part of a name: those of lists that the caller may read, at most `mostOfKind` of each
 * kind. Names that begin with the text come first. Kinds that the scopes of the credential do not cover have none. It
 * takes one statement, in which each part ends after a few rows of an index.
 */
export async function searchByName(ctx: Context, { text }: QuickSearch): Promise<SearchResult[]> {
  const problems = new Problems();
  check(QuickSearch, { text }, problems);
  problems.throwIfAny();
  const part = text.trim();
  if (part === "") return [];
  const { actor } = ctx;
  const readable = kinds.filter((kind) => actor.kind === "user" && covers(actor.scopes, byKind[kind].permission));

  const matches = Array.from(part).length < shortestPart ? [beginningWith] : [beginningWith, containing];
  const [first, ...others] = matches.flatMap((match) => readable.map((kind) => partOf(ctx, kind, part, match)));
  if (!first) return [];
  const found = await ctx.db
    .selectFrom(others.reduce((all, other) => all.unionAll(other), first).as("found"))
    .leftJoin("users as owner", "owner.id", "found.ownerId")
    .leftJoin("organizations as o", "o.id", "found.organizationId")
    .select(["found.kind", "found.id", "found.name", "found.displayName", "found.isBeginning"])
    .select(["owner.username as ownerName", "o.displayName as organizationName"])
    .modifyEnd(sql.raw(plannedForValues))
    .execute();
  return kinds.flatMap((kind) => firstOf(found.filter((each) => each.kind === kind)));
}

/** One kind of objects that match in one way. */
const partOf = (ctx: Context, kind: SearchKind, part: string, match: Match) =>
  ctx.db
    .selectFrom(byKind[kind].select(ctx, part, match).as("found"))
    .select(["found.id", "found.name", "found.displayName", "found.ownerId", "found.organizationId"])
    .select([sql.lit(kind).as("kind"), sql.lit(match === beginningWith).as("isBeginning")]);

/** The first objects of a kind, each once: those that begin with the text are among those that contain it. */
function firstOf<Found extends SearchResult & { isBeginning: boolean }>(found: readonly Found[]): Found[] {
  const [first = [], others = []] = [true, false].map((is) => found.filter(({ isBeginning }) => isBeginning === is));
  return [...first, ...others.filter(({ id }) => !first.some((each) => each.id === id))].slice(0, mostOfKind);
}

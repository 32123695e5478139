import { sql, type SqlBool } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Diff } from "../kernel/audit.js";
import { anyOf, now, rowsByKey } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import type { Context } from "../kernel/context.js";
import { Problems, quote } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { isUuid } from "../../runtime/text.js";
import { userFields, type UserRow } from "../users/users.js";
import { type GroupRow, groups, membersAtOnce } from "./groups.js";
import { lockMembers } from "./memberships.js";
import { dateTime, faultOf, inputOf, type Input, matching, optional, reference, required } from "../kernel/values.js";

/** The description of entries of groups in inputs. */
export const groupRoleNotice =
  "A role of a group is the role of all its members, present and future. Those who manage the members of the group decide who they are and can add themselves: owners, user administrators, administrators and user administrators of the organization, and identity providers with a SCIM key.";

/** The role that an entry gets; empty to remove it. */
const entryRole = matching(/^([Uu][Ss][Ee]|[Aa][Dd][Mm][Ii][Nn])?$/, `The role must be "use", "admin", or empty.`);

/** The role of an entry of an access list. */
export type EntryRole = "use" | "admin";

export interface UserEntry {
  user: UserRow;
  role: EntryRole;
  /** When the entry ends by itself; null or absent for never. */
  expiresAt?: string | null;
}

export interface GroupEntry {
  group: GroupRow;
  role: EntryRole;
  expiresAt?: string | null;
}

/** The access list of an object: users by username, and groups by name. */
export interface AccessList {
  users: UserEntry[];
  groups: GroupEntry[];
}

/** A change of an entry. Roles in any letter case; null and "" remove it. */
export const AclChange = inputOf({
  id: required(reference, "ID of the user or group."),
  role: optional(entryRole, "`use` or `admin`, in any letter case; null or empty removes the entry."),
});

/** A change of an entry that may end by itself. */
export const EndingAclChange = inputOf({
  ...AclChange.shape,
  expiresAt: optional(dateTime, "When the entry ends by itself: a time within ten years. Null or omitted for never."),
});
export type EndingAclChange = Input<typeof EndingAclChange>;

/** Changes of the access list of an object. Entries that are not named stay. */
export interface AclChanges {
  userPerms?: EndingAclChange[] | null;
  groupPerms?: EndingAclChange[] | null;
}

/** Maximum number of entries of a change. */
const mostEntries = 1000;

/** Milliseconds after which an entry that ends must do so: ten years. */
const longest = 3650 * day;

/** Declares the access lists of a kind of objects, by the table of their entries and its reference to the object. */
export function accessLists(
  ...[name, column]: ["templateAclEntries", "templateId"] | ["workspaceAclEntries", "workspaceId"]
) {
  // The tables differ only in this reference.
  const table = name as "templateAclEntries";
  const object = column as "templateId";

  // Entries of workspaces can end by themselves. Until they are deleted, those that have ended are left out.
  const ends = name === "workspaceAclEntries";
  const expiresAt = (ends ? sql.ref<string | null>("e.expiresAt") : sql<null>`null`).as("expiresAt");
  const isInForce = ends ? sql<SqlBool>`(e.expires_at is null or e.expires_at > now())` : sql<SqlBool>`true`;

  async function readAll(ctx: Context, ids: readonly string[]): Promise<AccessList[]> {
    const users = await ctx.db
      .selectFrom(`${table} as e`)
      .innerJoin("users as u", "u.id", "e.userId")
      .where(`e.${object}`, "=", anyOf(ids))
      .where("u.deletedAt", "is", null)
      .where(isInForce)
      .select([...userFields, "e.role", `e.${object} as objectId`, expiresAt])
      .orderBy(({ fn }) => fn("lower", ["u.username"]))
      .orderBy("u.id")
      .$castTo<UserRow & { role: EntryRole; objectId: string; expiresAt: string | null }>()
      .execute();
    const ofGroups = await groups(ctx.db)
      .innerJoin(`${table} as e`, "e.groupId", "g.id")
      .where(`e.${object}`, "=", anyOf(ids))
      .where(isInForce)
      .select(["e.role", `e.${object} as objectId`, expiresAt])
      .orderBy("g.name")
      .orderBy("g.id")
      .execute();
    const userRows = rowsByKey(users, ids, objectOf);
    const groupRows = rowsByKey(ofGroups, ids, objectOf);
    return ids.map((_, nr) => ({
      users: userRows[nr]!.map(({ role, objectId: _id, expiresAt: end, ...user }) => ({ user, role, expiresAt: end })),
      groups: groupRows[nr]!.map(({ role, objectId: _id, expiresAt: end, ...group }) => ({
        group: { ...group, membersAtOnce: membersAtOnce.listed },
        role,
        expiresAt: end,
      })),
    }));
  }

  return {
    /** Reads an access list without a check, together with those of other objects of the request. */
    read: (ctx: Context, id: string): Promise<AccessList> => ctx.load(readAll, id),

    /** Sets and removes entries of a locked object. Returns what changed, by the kind and id of the entries. */
    async change(ctx: Context, { id, organizationId }: { id: string; organizationId: string }, input: AclChanges) {
      const { userPerms, groupPerms } = { userPerms: input.userPerms ?? [], groupPerms: input.groupPerms ?? [] };
      const problems = new Problems();
      if (userPerms.length + groupPerms.length > mostEntries)
        problems.add(
          groupPerms.length > 0 ? "groupPerms" : "userPerms",
          `Must be at most ${mostEntries} entries together.`,
        );
      problems.throwIfAny();
      const eligible = await lockEligible(ctx, organizationId, idsOf(userPerms), idsOf(groupPerms));
      const given = [
        ...readChanges("group", groupPerms, eligible.groups, problems),
        ...readChanges("user", userPerms, eligible.users, problems),
      ];
      problems.throwIfAny();

      const ids = given.map((each) => each.id);
      const entries = await ctx.db
        .selectFrom(`${table} as e`)
        .where(object, "=", id)
        .where((eb) => eb.or([eb("userId", "=", anyOf(ids)), eb("groupId", "=", anyOf(ids))]))
        .select(["id", "userId", "groupId", "role", expiresAt])
        .execute();
      const before = new Map(
        entries.map((entry) => [entry.groupId ? `group:${entry.groupId}` : `user:${entry.userId}`, entry]),
      );
      const changed = given
        .map((each) => ({ ...each, key: `${each.kind}:${each.id}`, old: before.get(`${each.kind}:${each.id}`) }))
        .filter(({ old, role, end }) => (old?.role ?? null) !== role || (ends && (old?.expiresAt ?? null) !== end));
      const former = changed.flatMap(({ old }) => old?.id ?? []);
      if (former.length > 0) await ctx.db.deleteFrom(table).where("id", "=", anyOf(former)).execute();
      const added = changed.flatMap(({ kind, id: subject, role, end }) =>
        role === null
          ? []
          : {
              id: newId(),
              [object]: id,
              userId: kind === "user" ? subject : null,
              groupId: kind === "group" ? subject : null,
              role,
              createdAt: now,
              ...(ends && { expiresAt: end }),
            },
      );
      if (added.length > 0) await ctx.db.insertInto(table).values(added).execute();
      return Object.fromEntries(
        changed.map(({ key, old, role, end }) => [
          key,
          {
            old: old ? describeEntry(old.role, old.expiresAt) : null,
            new: role && describeEntry(role, ends ? end : null),
          },
        ]),
      ) satisfies Diff;
    },
  };
}

/** An entry in the audit log. */
const describeEntry = (role: EntryRole, end: string | null): string => (end === null ? role : `${role} until ${end}`);

/** Returns the users and groups that can hold an entry, locked so that they remain until the entry is stored. */
async function lockEligible(ctx: Context, organizationId: string, userIds: string[], groupIds: string[]) {
  const users = await lockMembers(ctx, organizationId, userIds);
  const own = await ctx.db
    .selectFrom("groups")
    .where("organizationId", "=", organizationId)
    .where("id", "=", anyOf(groupIds))
    .select("id")
    .orderBy("id")
    .forKeyShare()
    .execute();
  return { users, groups: own.map(({ id }) => id) };
}

const objectOf = ({ objectId }: { objectId: string }) => objectId;

const idsOf = (changes: readonly EndingAclChange[]) => changes.map(({ id }) => id).filter(isUuid);

function endProblem(expiresAt: string, isRole: boolean): string | undefined {
  if (!isRole) return "Must be given with a role only.";
  const ahead = instantOf(expiresAt) - databaseTime();
  if (ahead <= 0) return "Must be in the future.";
  return ahead > longest ? "Must be within ten years." : undefined;
}

interface ReadChange {
  kind: "user" | "group";
  id: string;
  role: EntryRole | null;
  end: string | null;
}

function readChanges(
  kind: "user" | "group",
  changes: readonly EndingAclChange[],
  eligible: readonly string[],
  problems: Problems,
): ReadChange[] {
  const known = new Set(eligible);
  const seen = new Set<string>();
  return changes.map(({ id: given, role: named, expiresAt }, index) => {
    const field = `${kind}Perms[${index}]`;
    const id = given.toLowerCase();
    const role = (named ?? "").toLowerCase();
    const isRole = role === "use" || role === "admin";
    if (!isUuid(id)) problems.add(field, `The key ${quote(given)} must be a UUID.`);
    else if (seen.has(id)) problems.add(field, "Must occur only once.");
    problems.add(field, faultOf(entryRole, role));
    if (isRole && isUuid(id) && !known.has(id))
      problems.add(field, `Must be a ${kind === "user" ? "member" : "group"} of the organization.`);
    if (expiresAt != null) problems.add(`${field}.expiresAt`, endProblem(expiresAt, isRole));
    seen.add(id);
    return { kind, id, role: isRole ? role : null, end: isRole ? (expiresAt ?? null) : null };
  });
}

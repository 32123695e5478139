import type { Diff } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { Problems, quote } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";

/** The role of an entry of an access list. */
export type EntryRole = "use" | "admin";

/** A change of an entry. Roles in any letter case; null and "" remove it. */
export interface AclChange {
  id: string;
  role?: string | null;
}

/** Changes of the access list of an object. Entries that are not named stay. */
export interface AclChanges {
  userPerms?: AclChange[] | null;
  groupPerms?: AclChange[] | null;
}

/** Maximum number of entries of a change. */
const mostEntries = 1000;

/** What users and groups can hold an entry, locked so that they remain until the entry is stored. */
interface Eligible {
  users: string[];
  groups: string[];
}

const lockEligible = statement<Eligible>(`
  with members as materialized (
    select user_id from organization_members where organization_id = $1 and user_id = any($2::uuid[])
    order by user_id for key share
  ), own as materialized (
    select id from groups where organization_id = $1 and id = any($3::uuid[]) order by id for key share
  )
  select array(select user_id from members) as users, array(select id from own) as groups`);

/** An entry before and after a change. */
interface ChangedEntry {
  kind: "user" | "group";
  id: string;
  old: EntryRole | null;
}

const changing = (table: string, object: string) =>
  statement<ChangedEntry>(`
  with given as (
    select kind, id, role from jsonb_to_recordset($2) as g (kind text, id uuid, role text)
  ), before as (
    select e.id as entry_id, g.kind, g.id, e.role from given g join ${table} e
      on e.${object} = $1 and case when g.kind = 'user' then e.user_id else e.group_id end = g.id
  ), removed as (
    delete from ${table} e using before b join given g using (kind, id)
    where e.id = b.entry_id and g.role is null
  ), changed as (
    update ${table} e set role = g.role from before b join given g using (kind, id)
    where e.id = b.entry_id and g.role is not null and g.role <> b.role
  ), added as (
    insert into ${table} (id, ${object}, user_id, group_id, role, created_at)
    select gen_random_uuid(), $1, case when kind = 'user' then id end, case when kind = 'group' then id end, role, now()
    from given g where g.role is not null and not exists (select from before b where b.kind = g.kind and b.id = g.id)
  )
  select g.kind, g.id, b.role as old from given g left join before b using (kind, id)
  where g.role is distinct from b.role order by kind, id`);

/** Declares the access lists of a kind of objects, by their table and its reference to the object. */
export function accessLists(table: string, object: string) {
  const change = changing(table, object);
  /** Sets and removes entries of a locked object. Returns what changed, by the kind and id of the entries. */
  return async (ctx: Context, { id, organizationId }: { id: string; organizationId: string }, input: AclChanges) => {
    const { userPerms, groupPerms } = { userPerms: input.userPerms ?? [], groupPerms: input.groupPerms ?? [] };
    const problems = new Problems();
    if (userPerms.length + groupPerms.length > mostEntries)
      problems.add(
        groupPerms.length > 0 ? "groupPerms" : "userPerms",
        `Must be at most ${mostEntries} entries together.`,
      );
    problems.throwIfAny();
    const eligible = await ctx.row(lockEligible, organizationId, idsOf(userPerms), idsOf(groupPerms));
    const given = [
      ...readChanges("group", groupPerms, eligible!.groups, problems),
      ...readChanges("user", userPerms, eligible!.users, problems),
    ];
    problems.throwIfAny();
    const changed = await ctx.rows(change, id, JSON.stringify(given));
    const roles = new Map(given.map((each) => [`${each.kind}:${each.id}`, each.role]));
    const diff: Diff = {};
    for (const { kind, id: subject, old } of changed)
      diff[`${kind}:${subject}`] = { old, new: roles.get(`${kind}:${subject}`) };
    return diff;
  };
}

const idsOf = (changes: readonly AclChange[]) => changes.map(({ id }) => id).filter(isUuid);

interface ReadChange {
  kind: "user" | "group";
  id: string;
  role: EntryRole | null;
}

function readChanges(
  kind: "user" | "group",
  changes: readonly AclChange[],
  eligible: readonly string[],
  problems: Problems,
): ReadChange[] {
  const [known, seen] = [new Set(eligible), new Set<string>()];
  return changes.map(({ id: given, role: named }, index) => {
    const [field, id, role] = [`${kind}Perms[${index}]`, given.toLowerCase(), (named ?? "").toLowerCase()];
    const isRole = role === "use" || role === "admin";
    if (!isUuid(id)) problems.add(field, `The key ${quote(given)} must be a UUID.`);
    else if (seen.has(id)) problems.add(field, "Must occur only once.");
    if (role !== "" && !isRole) problems.add(field, `The role must be "use", "admin", or empty.`);
    else if (isRole && isUuid(id) && !known.has(id))
      problems.add(field, `Must be a ${kind === "user" ? "member" : "group"} of the organization.`);
    seen.add(id);
    return { kind, id, role: isRole ? role : null };
  });
}

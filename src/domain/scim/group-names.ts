import { type Sql, sql } from "../kernel/sql.js";
import { groupNameProblem } from "../kernel/text.js";
import { fault, notUnique } from "./faults.js";
import { numbered, slug } from "./user-mapping.js";

/** Of the display name and the name of a group, which are made of a displayName. */
const longest = { shown: 64, name: 36 } as const;

/** What `namesColumn` selects. */
export interface Names {
  /** `name` is null if all names are those of other groups. */
  names: { isTaken: boolean; name: string | null };
}

/** A column with the name that a group `id`, null for a new one, can have for a displayName in a locked organization. */
export function namesColumn(organizationId: Sql, displayName: string, id: string | null): Sql {
  const base = slug(displayName, longest.name);
  const names = numbered(groupNameProblem(base) === undefined ? base : "group", longest.name);
  return sql`scim_group_names(${organizationId}, ${displayName}, ${names}, ${id}) as names`;
}

/** The names of a group for a displayName. Throws CONFLICT if a visible group has it. */
export function namesFor(displayName: string, { isTaken, name }: Names["names"]) {
  if (isTaken) throw notUnique("displayName");
  if (!name) throw fault("invalidValue", "Too many groups have a similar displayName.", "displayName");
  return { name, displayName: Array.from(displayName.trim()).slice(0, longest.shown).join("").trim() };
}

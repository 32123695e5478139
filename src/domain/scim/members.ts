import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { throwFaults } from "./documents.js";
import { matches, type Values } from "./evaluate.js";
import { fault } from "./faults.js";
import type { Comparison, Filter } from "./filter.js";
import type { Operation } from "./operations.js";
import type { Provisioner } from "./provisioner.js";
import { locationOf } from "./user-rows.js";

/** A member as a client sends it. */
interface Entry {
  value?: string;
  type?: string;
}

/** A member of a group as SCIM clients see it. */
export interface MemberRow {
  value: string;
  display: string;
}

/** Maximum number of members of a group that a response has. */
export const mostMembers = 50_000;

/** The users that a source has deleted, which has no groups with them. */
const goneUsers = ({ source }: Provisioner): Sql => sql`
  select user_id from scim_user_links where source = ${source} and deprovisioned_at is not null`;

/** The condition that a source sees the user with an id. */
export const isSeen = (provisioner: Provisioner, userId: Sql): Sql =>
  sql`not exists(${goneUsers(provisioner)} and user_id = ${userId})`;

/** Those of some users that a source has deleted, as an array. */
export const goneOf = (provisioner: Provisioner, ids: readonly string[]): Sql =>
  sql`array(${goneUsers(provisioner)} and user_id = any(${ids}::uuid[]))`;

/** The members of a group `g` that a source sees, as JSON: one more than a response may have. */
export const membersColumn = (provisioner: Provisioner): Sql => sql`(
  select coalesce(json_agg(m), '[]') from (
    select u.id as value, coalesce(nullif(u.name, ''), u.username) as display
    from group_members gm join users u on u.id = gm.user_id
    where gm.group_id = g.id and ${isSeen(provisioner, raw("u.id"))} order by u.id limit ${mostMembers + 1}) m)`;

/** Users as JSON, as members of a group. */
export const asMembers = (ids: readonly string[]): Sql => sql`(
  select coalesce(json_agg(m), '[]') from (
    select id as value, coalesce(nullif(name, ''), username) as display from users
    where id = any(${ids}::uuid[]) order by id limit ${mostMembers + 1}) m)`;

/** Renders the members of a group. Throws `tooMany` for a group with more than a response may have. */
export function memberValues(ctx: Context, members: readonly MemberRow[]): Values[] {
  if (members.length > mostMembers)
    throw fault("tooMany", `The group has more than ${mostMembers} members: exclude them from the response.`);
  return members.map(({ value, display }) => ({
    value,
    $ref: locationOf(ctx, "/Users", value),
    display,
    type: "User",
  }));
}

/** Reads the ids of members, each once. Throws `invalidValue` for other types than users, and for other texts than ids. */
export function memberIds(entries: unknown): string[] {
  const problems = new Problems();
  const ids = ((entries ?? []) as Entry[]).map(({ value = "", type }, index) => {
    problems.add(`members[${index}].value`, isUuid(value) ? undefined : "Must be the ID of a user.");
    const isUser = type === undefined || type.toLowerCase() === "user";
    problems.add(`members[${index}].type`, isUser ? undefined : "Must be User.");
    return value.toLowerCase();
  });
  throwFaults(problems);
  return [...new Set(ids)];
}

/** The ids of users whom an operation on the members adds. */
export function addedBy({ op, target: { sub, where }, value }: Operation): string[] {
  if (sub) throw fault("mutability", "Members can be added and removed, but not changed.");
  if (op === "remove") return [];
  if (!where) return memberIds(value);
  const id = idIn(where);
  if (op === "replace" || id === undefined) throw fault("noTarget", "Members cannot be replaced one by one.");
  return memberIds([{ value: id }]);
}

/** Reads the members of a group, and others whom operations have added so far. */
export type LoadMembers = (added: readonly string[]) => Promise<{ stored: Values[]; added: Values[] }>;

/** What operations do to the members of a group, of which only the difference is read and written. */
export class MemberChange {
  /** Whether the former members leave. */
  isReplaced = false;
  readonly added = new Set<string>();
  readonly removed = new Set<string>();

  /** Applies an operation. `load` is for filters on other attributes than the id. */
  async apply(operation: Operation, load: LoadMembers): Promise<void> {
    const { op, value } = operation;
    const added = addedBy(operation);
    if (op === "remove" && (operation.target.where || value !== undefined))
      return this.#remove(await this.#removedBy(operation, load));
    if (op !== "add") this.#clear();
    for (const id of added) {
      this.removed.delete(id);
      this.added.add(id);
    }
  }

  async #removedBy({ target: { where }, value }: Operation, load: LoadMembers): Promise<string[]> {
    if (!where) return memberIds(value);
    const id = idIn(where);
    if (id !== undefined) return [id];
    const { stored, added } = await load([...this.added]);
    const isStored = (each: Values) => !this.isReplaced && !this.removed.has(each.value as string);
    const selected = [...stored.filter(isStored), ...added].filter((each) => matches(where, each));
    return selected.map((each) => each.value as string);
  }

  #remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.added.delete(id);
      this.removed.add(id);
    }
  }

  #clear(): void {
    this.isReplaced = true;
    this.added.clear();
    this.removed.clear();
  }
}

/** The id that a filter selects, if it selects one by its id. */
function idIn(filter: Filter): string | undefined {
  const { kind, operator, value, target } = filter as Comparison;
  return kind === "compare" && operator === "eq" && target.attribute.name === "value" && typeof value === "string"
    ? value.toLowerCase()
    : undefined;
}

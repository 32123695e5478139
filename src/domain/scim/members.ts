import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { throwFaults } from "./documents.js";
import { matches, type Values } from "./evaluate.js";
import { fault } from "./faults.js";
import type { Comparison, Filter } from "./filter.js";
import type { Operation } from "./operations.js";
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

/** The members of a group `g` as JSON, one more than a response may have. */
export const membersColumn: Sql = sql`(
  select coalesce(json_agg(m), '[]') from (
    select u.id as value, coalesce(nullif(u.name, ''), u.username) as display
    from group_members gm join users u on u.id = gm.user_id
    where gm.group_id = g.id order by u.id limit ${mostMembers + 1}) m)`;

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

/** What operations do to the members of a group, of which only the difference is read and written. */
export class MemberChange {
  /** Whether the former members leave. */
  isReplaced = false;
  readonly added = new Set<string>();
  readonly removed = new Set<string>();

  /** Applies an operation. `load` reads the current members, for filters on other attributes than the id. */
  async apply({ op, target: { sub, where }, value }: Operation, load: () => Promise<Values[]>): Promise<void> {
    if (sub) throw fault("mutability", "Members can be added and removed, but not changed.");
    if (where) return this.#selected(op, where, load);
    const ids = memberIds(value);
    if (op === "add") return this.#add(ids);
    if (op === "remove" && value !== undefined) return this.#remove(ids);
    this.#clear();
    this.#add(ids);
  }

  async #selected(op: Operation["op"], where: Filter, load: () => Promise<Values[]>): Promise<void> {
    const id = idIn(where);
    if (op === "remove") {
      if (id !== undefined) return this.#remove([id]);
      const all = await load();
      return this.#remove(all.filter((each) => matches(where, each)).map(({ value }) => value as string));
    }
    if (op === "replace" || id === undefined) throw fault("noTarget", "Members cannot be replaced one by one.");
    this.#add(memberIds([{ value: id }]));
  }

  #add(ids: readonly string[]): void {
    for (const id of ids) {
      this.removed.delete(id);
      this.added.add(id);
    }
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

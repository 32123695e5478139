import { type InferResult, sql } from "kysely";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { readEach } from "../kernel/lists.js";
import { isUuid } from "../../runtime/text.js";
import { throwFaults } from "./scim-documents.js";
import { matches, type Values } from "./evaluate.js";
import { fault } from "./faults.js";
import type { Comparison, Filter } from "./filter.js";
import type { Operation } from "./patch-operations.js";
import { type Provisioner, provisionerOf } from "./provisioner.js";
import { isSeen, locationOf } from "./user-rows.js";

/** A member as a client sends it. */
interface Entry {
  value?: string;
  type?: string;
}

/** Maximum number of members of a group that a response has. */
const mostMembers = 50_000;

/** Returns those of some users that a source does not see: it has deleted them, or they have left. */
export async function goneOf(ctx: Context, provisioner: Provisioner, users: readonly string[]): Promise<string[]> {
  if (users.length === 0) return [];
  const gone = await ctx.db
    .selectFrom("users as u")
    .select("u.id")
    .where("u.id", "=", anyOf(users))
    .where((eb) => eb.not(isSeen(provisioner, "u.id")))
    .execute();
  return gone.map(({ id }) => id);
}

/** Users as members of groups. */
const asMembers = (ctx: Context) =>
  ctx.db
    .selectFrom("users as u")
    .select(["u.id as value", sql<string>`coalesce(nullif(u.name, ''), u.username)`.as("display")])
    .orderBy("u.id");

/** A member of a group as SCIM clients see it. */
export type MemberRow = InferResult<ReturnType<typeof asMembers>>[number];

/** Batch read of the members of groups that a source sees, for `ctx.load`: one more than a response may have. */
export async function membersByGroup(ctx: Context, ids: readonly string[]): Promise<MemberRow[][]> {
  const provisioner = provisionerOf(ctx);
  const members = await readEach(ctx, ids, (group) =>
    asMembers(ctx)
      .innerJoin("groupMembers as m", "m.userId", "u.id")
      .where("m.groupId", "=", group)
      .where(isSeen(provisioner, "u.id"))
      .limit(sql.lit(mostMembers + 1)),
  );
  return ids.map((id) => members.get(id) ?? []);
}

/** Reads the members of a group, and users who are to join it. */
export async function loadMembers(ctx: Context, group: string, joining: readonly string[]): ReturnType<LoadMembers> {
  const [stored] = await membersByGroup(ctx, [group]);
  const added = await asMembers(ctx)
    .where("u.id", "=", anyOf(joining))
    .limit(sql.lit(mostMembers + 1))
    .execute();
  return { stored: memberValues(ctx, stored!), added: memberValues(ctx, added) };
}

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

/**
 * Reads the ids of members, each once. Throws `invalidValue` for other types than users, and for other texts than ids.
 */
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

/** The effect of operations on the members of a group. Only the difference is read and written. */
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

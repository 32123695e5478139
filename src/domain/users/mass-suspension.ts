// The brake that keeps a faulty sync, which suspends many people, from stopping all of their workspaces.
import { sql, type SqlBool } from "kysely";
import { authorize } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { anyOf } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import { tellAdministrators } from "./account-notices.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const users = columnsOf("users");

const u = columnsOf("users", "u");
const w = columnsOf("workspaces", "w");

/** The time in which suspensions count together, in minutes. */
const span = 10;

/** So many people may be suspended within that time, whatever their share of all. */
const fewest = 20;

/** The share of active users that may be. */
const share = 0.1;

/** The look of a server at the latest suspensions, and the one that begins after it. */
interface Looks {
  present: Promise<void>;
  next?: Promise<void>;
}
const looks = new WeakMap<Services, Looks>();

/**
 * Looks at the latest suspensions, as `holdMassSuspension` does. Suspensions that are committed during a look share the next
 * one: they wait neither for a lock each, nor with a connection each.
 */
export function lookAtSuspensions(services: Services): Promise<void> {
  const all: Looks = looks.get(services) ?? { present: Promise.resolve() };
  looks.set(services, all);
  return (all.next ??= all.present.then(() => {
    all.next = undefined;
    const present = holdMassSuspension(services);
    all.present = present.catch(() => {});
    return present;
  }));
}

/**
 * Holds the stops of the workspaces of people who were suspended together with more than 20 others and more than a tenth
 * of the active users, within ten minutes, and tells the owners of the deployment when it begins. Looks at suspensions
 * since a time, by default those of the last ten minutes. Safe on several replicas: they take turns.
 */
export async function holdMassSuspension(services: Services, since?: string): Promise<void> {
  if (services.config.suspendedWorkspacesStop === Infinity) return;
  const from = since === undefined ? sql`now()` : sql`${since}::timestamptz`;
  const isRecent = sql<SqlBool>`${u.suspendedAt} >= ${from} - make_interval(mins => ${span}) and ${u.deletedAt} is null`;
  const few = await services.database.db
    .selectFrom("users as u")
    .where(isRecent)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  if (few.count <= fewest) return;
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    await takeTurn(ctx, "suspensions");
    const { rows } = await sql<{ id: string }>`
      with recent as (
        select u.id, ${u.suspendedAt}, ${u.stopHold}, count(*) over (
          order by ${u.suspendedAt} range between make_interval(mins => ${span}) preceding and current row) as together
        from users u where ${isRecent}
      ), allowed as (
        select greatest(${fewest}::numeric, ${share}::numeric * count(*)) as most
        from users u where u.status = 'active' and ${u.deletedAt} is null and not ${u.isSystem}
      ), judged as (
        select r.id, r.stop_hold, bool_or(r.together > a.most) over (
          order by r.suspended_at range between current row and make_interval(mins => ${span}) following) as is_many
        from recent r cross join allowed a
      )
      select id from judged where is_many and ${users.stopHold} is null order by id`.execute(ctx.db);
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    const before = await ctx.db.selectFrom("users").select("id").where(isHeld).limit(1).executeTakeFirst();
    const isOfThem = ctx.db.selectFrom("users").select("id").where("id", "=", anyOf(ids)).where("stopHold", "is", null);
    await isOfThem.where("status", "=", "suspended").orderBy("id").forNoKeyUpdate().execute();
    const held = await ctx.db
      .updateTable("users")
      .set({ stopHold: "held" })
      .where("id", "=", anyOf(ids))
      .where("status", "=", "suspended")
      .where("stopHold", "is", null)
      .returning("id")
      .execute();
    if (held.length === 0 || before) return;
    services.log.warn(
      { users: held.length },
      "Many users were suspended together. Their workspaces keep running until an owner releases them.",
    );
    tellAdministrators(ctx, {
      template: accountNotifications.massSuspension,
      audience: "owners",
      about: held[0]!.id,
      labels: { count: String(held.length) },
    });
  });
}

const isHeld = sql<SqlBool>`${users.suspendedAt} is not null and ${users.stopHold} = 'held'`;

/** The workspaces of suspended users whose stop is held. */
export interface HeldWorkspaces {
  /** Suspended users whose workspaces are not stopped. */
  userCount: number;
  /** Their workspaces whose latest build is a start. */
  workspaceCount: number;
}

/** Reads whose workspaces keep running, although they are suspended, until an owner releases them. */
export async function readHeldWorkspaces(ctx: Context): Promise<HeldWorkspaces> {
  authorize(ctx.actor, "deployment_config:read");
  const { rows } = await sql<HeldWorkspaces>`
    with held as materialized (select id from users where ${isHeld} and ${users.deletedAt} is null)
    select (select count(*)::int from held) as "userCount", (
      select count(*)::int from held join workspaces w on ${w.ownerId} = held.id
      where ${w.deletedAt} is null and ${w.latestTransition} = 'start') as "workspaceCount"`.execute(ctx.db);
  return rows[0]!;
}

/** Lets the workspaces of suspended users be stopped after all. Returns the number of users. */
export async function releaseHeldWorkspaces(ctx: Context): Promise<number> {
  authorize(ctx.actor, "deployment_config:update");
  await takeTurn(ctx, "suspensions");
  await ctx.db.selectFrom("users").select("id").where(isHeld).orderBy("id").forNoKeyUpdate().execute();
  const released = await ctx.db
    .updateTable("users")
    .set({ stopHold: "released" })
    .where(isHeld)
    .returning("id")
    .execute();
  if (released.length > 0) {
    const diff = { heldUsers: { old: released.length, new: 0 } };
    ctx.audit({ action: "update", ...auditedAs("deployment", "suspended_workspaces", "suspended workspaces"), diff });
  }
  return released.length;
}

/** How often the server looks for workspaces to stop. */
export const suspensionInterval = minute / 4;

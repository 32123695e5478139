// The results of the checks of the deployment's health, and muting them.
import type { InferResult } from "kysely";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { authorize } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { choice, dateTime, type Input, inputOf, optional, required } from "../kernel/values.js";
import { type CheckText, checkTexts, HealthCode, type HealthState } from "./catalog.js";

const results = (db: Db) =>
  db
    .selectFrom("healthChecks")
    .select(["code", "state", "since", "finding", "checkedAt", "mutedUntil", "mutedById"])
    // Those of a later release are unknown here.
    .where("code", "=", anyOf(codes, "text"));

type Result = InferResult<ReturnType<typeof results>>[number];

const codes = Object.values(HealthCode);

/** A check with its latest result, and what it says to people. */
export interface CheckedHealth extends Omit<Result, "code">, CheckText {
  code: HealthCode;
}

const order: Record<HealthState, number> = { error: 0, warning: 1, ok: 2 };

const isMuted = ({ mutedUntil }: Pick<Result, "mutedUntil">): boolean =>
  mutedUntil !== null && instantOf(mutedUntil) > databaseTime();

/** Those that need attention come first, then those that are muted, then those that are fine. */
const rankOf = (each: CheckedHealth): number =>
  (each.state === "ok" ? order.ok : isMuted(each) ? order.ok - 0.5 : order[each.state]) * codes.length +
  codes.indexOf(each.code);

async function read(db: Db): Promise<CheckedHealth[]> {
  const found = await results(db).execute();
  return found
    .map((result) => ({ ...result, ...checkTexts[result.code as HealthCode], code: result.code as HealthCode }))
    .toSorted((one, other) => rankOf(one) - rankOf(other));
}

/**
 * The results as this replica read them last: for metrics and probes, which must not cost statements. Empty before the first
 * reading, and while the checks are switched off.
 */
export class HealthResults {
  #current: readonly CheckedHealth[] = [];

  constructor(private readonly database: Pick<Database, "db">) {}

  get current(): ReadonlyArray<CheckedHealth & { isMuted: boolean }> {
    return this.#current.map((each) => ({ ...each, isMuted: isMuted(each) }));
  }

  /** The codes of checks that found an error, and are not muted. */
  get failing(): HealthCode[] {
    return this.#current.filter((each) => each.state === "error" && !isMuted(each)).map(({ code }) => code);
  }

  async refresh(): Promise<void> {
    this.#current = await read(this.database.db);
  }
}

/**
 * Lists the checks with their latest results, those that need attention first. Nothing is checked for it. Empty before the
 * first results, and while the checks are switched off.
 */
export async function listHealthChecks(ctx: Context): Promise<CheckedHealth[]> {
  authorize(ctx.actor, "deployment_config:read");
  return ctx.config.healthInterval === 0 ? [] : read(ctx.db);
}

/** The longest time for which a check is muted, in days. */
const longestMute = 90;

export const MuteHealthCheck = inputOf({
  code: required(choice(HealthCode), "The check."),
  until: optional(dateTime, `When it is heard again, at most ${longestMute} days from now. Null: now.`),
});
export type MuteHealthCheck = Input<typeof MuteHealthCheck>;

/** Mutes a check for a while, or lets it be heard again. Returns it. */
export async function muteHealthCheck(ctx: Context, { code, until = null }: MuteHealthCheck): Promise<CheckedHealth> {
  authorize(ctx.actor, "deployment_config:update");
  const before = await ctx.db
    .selectFrom("healthChecks")
    .select("mutedUntil")
    .where("code", "=", code)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!before) throw notFound();
  const problems = new Problems();
  if (until !== null) {
    const left = instantOf(until) - databaseTime();
    if (left <= 0) problems.add("until", "Must be in the future.");
    if (left > longestMute * day) problems.add("until", `Must be at most ${longestMute} days from now.`);
  }
  problems.throwIfAny();
  if (before.mutedUntil !== until) {
    await ctx.db
      .updateTable("healthChecks")
      .set({ mutedUntil: until, mutedById: until === null ? null : (userIdOf(ctx.actor) ?? null) })
      .where("code", "=", code)
      .execute();
    const diff = { mutedUntil: { old: before.mutedUntil, new: until } };
    ctx.audit({ action: "update", ...auditedAs("health_check", code, checkTexts[code].title), diff });
    ctx.afterCommit(() => ctx.services.health.refresh());
  }
  return (await read(ctx.db)).find((each) => each.code === code)!;
}

// Notices to people that something of theirs ends soon.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { hour } from "../../runtime/durations.js";

/** Days before the end at which people are told, the first ones first. */
const daysBefore = [14, 7, 1] as const;

/** The columns of something that ends. */
interface Ending {
  createdAt: RawBuilder<unknown>;
  expiresAt: RawBuilder<unknown>;
  endNoticedAt: RawBuilder<unknown>;
}

/**
 * The condition that people have to be told: one of the days has come, for which they were not told yet. Something that was
 * made for a shorter time is no surprise, and an end that moves is told again.
 */
export function isEndDue({ createdAt, expiresAt, endNoticedAt }: Ending) {
  const before = (days: number) => sql`${expiresAt} - make_interval(days => ${sql.lit(days)})`;
  const cases = daysBefore.toReversed().map((days) => sql`when ${before(days)} <= now() then ${before(days)}`);
  return sql<SqlBool>`(${expiresAt} > now() and ${expiresAt} <= now() + make_interval(days => ${sql.lit(daysBefore[0])})
    and greatest(${createdAt}, ${endNoticedAt}) < case ${sql.join(cases, sql` `)} end)`;
}

/** Maximum number of notices in a transaction. */
export const batchSize = 50;

/**
 * Declares the job that sends notices. `send` marks at most `batchSize` rows, tells people of them, and returns their number,
 * in a transaction. Safe on several replicas if each takes other rows.
 */
export const endNoticeJob = (name: string, send: (ctx: Context) => Promise<number>) => ({
  name,
  every: hour,
  first: 60_000,
  async run(services: Services): Promise<void> {
    for (;;) {
      const ctx = systemContext(services);
      if ((await ctx.transactional(() => send(ctx))) < batchSize) return;
    }
  },
});

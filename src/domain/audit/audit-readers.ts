// Who reads the stream of audit events: each reader notes repeatedly how far it has come, so that administrators see on any
// server who receives the log, and who stopped to.
import { type InferResult, sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { purge } from "../../infrastructure/database/purge.js";
import { day, minute } from "../../runtime/durations.js";
import { requireAnyPermitted, selectPermitted } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { requireUser, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { defineList, time } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { now } from "../kernel/queries.js";
import { flag, type Input, inputOf, optional } from "../kernel/values.js";
import type { AuditEventFilter } from "./audit-log.js";

const r = columnsOf("auditReaders", "r");

/** Milliseconds after which a reader that notes nothing is gone: its server ended. */
const silence = 2 * minute;

/** Milliseconds between two notes of a reader. */
const noteInterval = 10_000;

/** A reader of the stream, as it notes how far it has come. */
export class Reader {
  readonly #id = newId();
  #notedAt = -Infinity;
  #position: number;

  private constructor(
    private readonly ctx: Context,
    position: number,
  ) {
    this.#position = position;
  }

  /** Notes that the caller begins to read after a position. */
  static async begin(ctx: Context, filter: AuditEventFilter, position: number): Promise<Reader> {
    const reader = new Reader(ctx, position);
    const { userId, credential } = requireUser(ctx.actor);
    const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value != null));
    await ctx.services.database.db
      .insertInto("auditReaders")
      .values({
        id: reader.#id,
        userId,
        username: sql<string>`(select username from users where id = ${userId})`,
        apiKeyId: credential.id,
        filter: given,
        ip: ctx.request.ip ?? null,
        userAgent: ctx.request.userAgent ?? null,
        position,
        startedAt: now,
        seenAt: now,
      })
      .execute();
    reader.#notedAt = performance.now();
    return reader;
  }

  /** Notes the number up to which all was sent, seldom. */
  async note(position: number): Promise<void> {
    this.#position = position;
    if (performance.now() - this.#notedAt < noteInterval) return;
    this.#notedAt = performance.now();
    await this.#write({ seenAt: now });
  }

  /** Notes the end, in the background. */
  end(): void {
    this.ctx.services.backgroundTasks.run("note the end of an audit reader", () =>
      this.#write({ seenAt: now, endedAt: now }),
    );
  }

  async #write(times: { seenAt: typeof now; endedAt?: typeof now }): Promise<void> {
    await this.ctx.services.database.db
      .updateTable("auditReaders")
      .set({ position: this.#position, ...times })
      .where("id", "=", this.#id)
      .execute();
  }
}

const isActive = sql<SqlBool>`(${r.endedAt} is null and ${r.seenAt} > now() - make_interval(secs => ${sql.lit(silence / 1000)}))`;

/** The readers that the caller may see: all, or the caller's own. */
function readableReaders(ctx: Context) {
  const { everywhere } = selectPermitted(ctx.actor, "audit_log:read");
  const lastNumber = ctx.db.selectFrom("auditNumberCounter").select("lastNumber");
  return ctx.db
    .selectFrom("auditReaders as r")
    .select([
      "r.id",
      "r.userId",
      "r.username",
      "r.apiKeyId",
      "r.filter",
      "r.ip",
      "r.userAgent",
      "r.position",
      "r.startedAt",
      "r.seenAt",
      "r.endedAt",
    ])
    .select([isActive.as("isActive"), sql<number>`greatest(${lastNumber} - r.position, 0)`.as("behind")])
    .$if(!everywhere, (all) => all.where("r.userId", "=", userIdOf(ctx.actor) ?? null));
}

/** A reader of the stream of audit events. */
export type AuditReaderRow = InferResult<ReturnType<typeof readableReaders>>[number];

const readerList = defineList(readableReaders, {
  id: { column: "r.id", of: ({ id }) => id },
  orders: { startedAt: { startedAt: time("r.startedAt") } },
  filters: {
    active: (_, active: boolean) => (active ? isActive : sql<SqlBool>`not ${isActive}`),
  },
});

export const AuditReadersQuery = inputOf({
  ...PageArguments.shape,
  active: optional(flag, "Whether to list those who read now, or those who did. Default: both."),
});
export type AuditReadersQuery = Input<typeof AuditReadersQuery>;

/**
 * Lists who reads the stream of audit events, or did in the last 30 days, the latest first: all for auditors of the
 * deployment, otherwise the caller's own.
 */
export async function listAuditReaders(
  ctx: Context,
  { active, ...page }: AuditReadersQuery,
): Promise<Page<AuditReaderRow>> {
  requireAnyPermitted(ctx.actor, "audit_log:read");
  requireFeature(ctx, "audit_log");
  const orderBy = { field: "startedAt", direction: OrderDirection.DESC } as const;
  return readerList.page(ctx, { filter: { active }, orderBy, page });
}

/** Deletes readers after 30 days without a note. */
export const readerPurge = purge("audit_readers", { by: "seen_at", keptFor: 30 * day });

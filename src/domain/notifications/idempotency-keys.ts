import { createHash } from "node:crypto";
import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const idempotencyKeys = columnsOf("idempotencyKeys", "idempotencyKeys");

/** Whether the request repeats an earlier one with the same key. Waits for concurrent requests with the key. */
export async function isRepeat({ db }: Context, userId: string, key: string, texts: string[]): Promise<boolean> {
  const requestHash = createHash("sha256").update(JSON.stringify(texts)).digest();
  const isNew = await db
    .insertInto("idempotencyKeys")
    .values({ userId, key, requestHash, createdAt: now })
    .onConflict((known) =>
      known
        .columns(["userId", "key"])
        .doUpdateSet((eb) => ({ requestHash: eb.ref("excluded.requestHash"), createdAt: eb.ref("excluded.createdAt") }))
        .where(sql<SqlBool>`${idempotencyKeys.createdAt} <= now() - interval '24 hours'`),
    )
    .returning("key")
    .executeTakeFirst();
  if (isNew) return false;
  const earlier = await db
    .selectFrom("idempotencyKeys")
    .select("requestHash")
    .where("userId", "=", userId)
    .where("key", "=", key)
    .executeTakeFirst();
  if (earlier?.requestHash.equals(requestHash)) return true;
  throw conflict("The idempotency key was used for another request.", [
    { field: "idempotencyKey", detail: "Must be new, or repeat the request it was used for." },
  ]);
}

/** Deletes expired idempotency keys. */
export const idempotencyKeyPurge = purge("idempotency_keys", { by: "created_at", keptFor: day });

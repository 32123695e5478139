import { type InferResult, sql } from "kysely";
import type { Logger } from "pino";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { databaseTime } from "../../runtime/clock.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { defineList, time } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { jsonOf } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { cleanLabel } from "../../runtime/text.js";
import { isScimKeyId, scimKeysByIds } from "./scim-keys.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type Input, inputOf, reference, required } from "../kernel/values.js";

const row = columnsOf("scimRequests", "r");
const scimRequestColumns = columnsOf("scimRequests");

const r = columnsOf("scimRequests", "r");

/** A request of an identity provider that failed. */
export interface FailedRequest {
  /** The id of the key that sent it. */
  key: string;
  method: string;
  /** The path with its query, without secrets. */
  path: string;
  /** 400 or more. */
  status: number;
  scimType?: string;
  detail?: string;
  requestId: string;
}

const scimRequests = ({ db }: Context) =>
  db
    .selectFrom("scimRequests as r")
    .select(["r.id", "r.time", "r.method", "r.path", "r.status", "r.scimType", "r.detail", "r.requestId"]);

/** A failed request as readable in the log of its key. */
export type ScimRequestRow = InferResult<ReturnType<typeof scimRequests>>[number];

const requestList = defineList(scimRequests, {
  id: { column: "r.id", of: ({ id }) => id },
  orders: { time: { time: time("r.time") } },
  filters: { key: (eb, key: string) => eb("r.scimKeyId", "=", key) },
});

export const ScimRequestsQuery = inputOf({
  ...PageArguments.shape,
  key: required(reference, "ID of the key."),
});
export type ScimRequestsQuery = Input<typeof ScimRequestsQuery>;

/** Lists the failed requests of a key, newest first. */
export async function listScimRequests(
  ctx: Context,
  { key, ...page }: ScimRequestsQuery,
): Promise<Page<ScimRequestRow>> {
  authorize(ctx.actor, "scim_key:read");
  await ctx.load(scimKeysByIds, key);
  return requestList.page(ctx, { filter: { key }, orderBy: { field: "time", direction: OrderDirection.DESC }, page });
}

/** Milliseconds for which requests are collected before they are written together. */
const delay = 1_000;

/** Maximum number of requests of a key that wait to be written. Further ones are left out. */
const mostWaiting = 100;

/** Maximum number of requests of a key that are kept, the newest ones. */
const mostKept = 1_000;

/** Longest path and detail that are kept, in characters. */
const longest = 512;

/**
 * Records the requests of SCIM keys that fail, in batches outside of requests. Those that succeed are not recorded: the
 * audit log has what they changed. Requests are left out while the database is away, and those of a key that fails too
 * often, so that no client can fill memory or the database.
 */
export class ScimRequests {
  /** The requests that wait, by key. */
  readonly #waiting = new Map<string, Array<FailedRequest & { at: Date }>>();
  #left = 0;
  /** Set while a write is due or runs. */
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Pick<Database, "db">,
    private readonly log: Logger,
  ) {}

  /** Records a request, unless its sender is not a key. */
  note(request: FailedRequest): void {
    if (!isScimKeyId(request.key)) return;
    const waiting = this.#waiting.get(request.key) ?? [];
    this.#waiting.set(request.key, waiting);
    if (waiting.length < mostWaiting) waiting.push({ ...request, at: new Date(databaseTime()) });
    else this.#left++;
    this.#schedule();
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void (this.#writing = this.#write()), delay).unref();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const requests = [...this.#waiting.values()].flat();
    const keys = [...this.#waiting.keys()];
    const left = this.#left;
    this.#waiting.clear();
    this.#left = 0;
    try {
      if (left > 0) this.log.warn({ requests: left }, "Keys had too many failed SCIM requests to record them all.");
      if (requests.length > 0) {
        await insertRequests(this.database.db, requests);
        await trim(this.database.db, keys);
      }
    } catch (error) {
      this.log.warn({ err: error, requests: requests.length }, "Failed SCIM requests could not be recorded.");
    }
    this.#timer = undefined;
    if (this.#waiting.size > 0) this.#schedule();
  }
}

/** Inserts requests, except for those of keys that have been revoked since. */
const insertRequests = (db: Db, requests: ReadonlyArray<FailedRequest & { at: Date }>) => {
  const rows = requests.map(({ key, at, method, path, status, scimType, detail, requestId }) => ({
    id: newId(),
    scimKeyId: key,
    time: at,
    method,
    path: cleanLabel(path, longest),
    status,
    scimType,
    detail: detail === undefined ? null : cleanLabel(detail, longest),
    requestId,
  }));
  return sql`
    insert into scim_requests (id, ${scimRequestColumns.scimKeyId}, time, method, path, status, ${scimRequestColumns.scimType}, detail, ${scimRequestColumns.requestId})
    select r.id, k.id, r.time, r.method, r.path, r.status, ${row.scimType}, r.detail, ${row.requestId}
    from json_populate_recordset(null::scim_requests, ${jsonOf(rows)}) r join scim_keys k on k.id = ${row.scimKeyId}
    for key share of k`.execute(db);
};

/** Deletes the oldest requests of keys that have too many. Skips rows that another replica is deleting. */
const trim = (db: Db, keys: readonly string[]) =>
  sql`
  delete from scim_requests where id = any(array(
    select r.id from unnest(${keys}::text[]) as key (id)
    cross join lateral (
      select time, id from scim_requests where ${scimRequestColumns.scimKeyId} = key.id
      order by time desc, id desc offset ${sql.lit(mostKept - 1)} limit 1
    ) as last
    join scim_requests r on ${r.scimKeyId} = key.id and (r.time, r.id) < (last.time, last.id)
    for update of r skip locked))`.execute(db);

/** Deletes requests after 30 days. */
export const scimRequestPurge = purge("scim_requests", { by: "time", keptFor: 30 * day });

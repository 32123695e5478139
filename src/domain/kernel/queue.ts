import { type Database, type Statement, statement } from "./database.js";
import { newId } from "./ids.js";

/** A leased row of a queue. */
export interface QueueItem {
  id: string;
  /** How many more attempts are made after this one. */
  attemptsLeft: number;
}

/** How an attempt ended. `detail` is stored and shown to administrators: it must not contain secrets. */
export type AttemptResult =
  | { outcome: "done" }
  /** Another attempt may succeed, in `retryAfter` milliseconds if the receiver named a time. */
  | { outcome: "retryable"; detail: string; retryAfter?: number }
  /** Another attempt would fail, too. */
  | { outcome: "fatal"; detail: string }
  /** The row must not be processed any more. */
  | { outcome: "skipped"; detail: string };

export interface QueueLimits {
  /** Maximum number of attempts. */
  attempts: number;
  /** Milliseconds after which another process may lease a leased row. */
  lease: number;
  /** Milliseconds before the second attempt, which double with each further one, and their maximum. */
  firstDelay: number;
  longestDelay: number;
}

export interface QueueOptions {
  /**
   * The table, with the columns `id`, `state`, `reason`, `attempts`, `attempts_left`, `next_attempt_at`, `lease_token`,
   * `expires_at` and `finished_at`, and an index on `(next_attempt_at, id)` where the state is open.
   */
  table: string;
  /** The log of attempts: `message_id`, `number`, `time`, `duration` (milliseconds), `outcome`, `detail`, `replica`. */
  log: string;
  /** The select list of an item, from the row `q`. */
  columns: string;
  /** The states of rows that succeeded, and of those that were skipped. */
  done: string;
  skipped: string;
  /** Columns that are erased when a row succeeds or is skipped, and when it ends in any way. */
  erasedWhenDone: readonly string[];
  erasedAtEnd: readonly string[];
  /** The condition under which this process leases a row. */
  eligible: string;
}

/** The states of rows that are not finished. */
const openStates = "('pending', 'temporary_failure', 'leased')";

/** The state of rows whose attempts have all failed. */
export const deadState = "permanent_failure";

/**
 * A queue in a table. The transactions that cause work insert the rows; processes lease them, by the clock of the
 * database. A result counts only while the lease of its attempt lasts. So each row is processed at least once, and
 * more than once only if a process ended before it could store a result.
 */
export class Queue<Item extends QueueItem> {
  readonly #lease: Statement<Item>;
  readonly #settle: Statement<never>;
  /** Identifies this process in the log of attempts. */
  readonly #replica = newId();

  constructor(
    private readonly database: Database,
    private readonly limits: QueueLimits,
    options: QueueOptions,
  ) {
    this.#lease = leaseStatement(options);
    this.#settle = settleStatement(options);
  }

  /** Leases up to `most` rows that are due. Ends rows that expired, and those whose last attempt was lost. */
  async lease(most: number): Promise<Leased<Item>> {
    const token = newId();
    return {
      token,
      items: await this.database.query(this.#lease, [most, token, this.limits.lease / 1000, this.#replica]),
    };
  }

  /** Stores the results of attempts, except for those whose lease has expired. */
  async settle(token: string, attempts: ReadonlyArray<EndedAttempt<Item>>): Promise<void> {
    const rows = attempts.map(({ item, result, duration }) => ({
      id: item.id,
      outcome: result.outcome,
      isFinal: result.outcome !== "retryable" || item.attemptsLeft === 0,
      detail: result.outcome === "done" ? null : storable(result.detail),
      delay: result.outcome === "retryable" ? this.#delayAfter(item, result.retryAfter) / 1000 : 0,
      duration: Math.round(duration),
    }));
    const all = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name]);
    const columns = [all("id"), all("outcome"), all("isFinal"), all("detail"), all("delay"), all("duration")];
    await this.database.query(this.#settle, [token, ...columns, this.#replica]);
  }

  /** The jitter spreads rows that failed together. */
  #delayAfter({ attemptsLeft }: Item, retryAfter = 0): number {
    const { attempts, firstDelay, longestDelay } = this.limits;
    const delay = Math.min(longestDelay, firstDelay * 2 ** (attempts - attemptsLeft - 1));
    return Math.max(delay * (0.5 + Math.random() / 2), Math.min(retryAfter, longestDelay));
  }
}

/** Receivers word some details: Postgres stores no NUL, and one bad row would fail all results of a statement. */
const storable = (detail: string): string => detail.replaceAll("\0", "").slice(0, 512);

/** Rows that were leased together. */
export interface Leased<Item> {
  token: string;
  items: Item[];
}

export interface EndedAttempt<Item> {
  item: Item;
  result: AttemptResult;
  /** Milliseconds. */
  duration: number;
}

const erased = (columns: readonly string[], when: string): string =>
  columns.map((column) => `, ${column} = case when ${when} then null else q.${column} end`).join("");

// While a row is leased, it is due when its lease expires: one index finds all rows that are due.
const leaseStatement = <Item>({ table, log, columns, eligible, erasedAtEnd }: QueueOptions): Statement<Item> =>
  statement<Item>(`
    with due as (
      select id, state, attempts, expires_at <= now() as is_expired, state = 'leased' and attempts_left = 0 as is_lost
      from ${table}
      where state in ${openStates} and next_attempt_at <= now() and ${eligible}
      order by next_attempt_at, id limit $1 for update skip locked
    ), lost as (
      insert into ${log} (message_id, number, time, duration, outcome, detail, replica)
      select id, attempts, now(), 0, 'lost', 'The process ended before the attempt.', $4 from due where state = 'leased'
    ), ended as (
      update ${table} q set state = '${deadState}', reason = case when is_expired then 'expired' else 'lost' end,
        lease_token = null, finished_at = now()${erased(erasedAtEnd, "true")}
      from due where q.id = due.id and (is_expired or is_lost)
    ), leased as (
      update ${table} q set state = 'leased', attempts = q.attempts + 1, attempts_left = q.attempts_left - 1,
        lease_token = $2, next_attempt_at = now() + make_interval(secs => $3)
      from due where q.id = due.id and not is_expired and not is_lost
      returning q.*
    )
    select ${columns}, q.attempts_left as "attemptsLeft" from leased q`);

const settleStatement = ({ table, log, done, skipped, ...options }: QueueOptions): Statement<never> =>
  statement(`
    with results as (
      select *, case when not is_final then 'temporary_failure' when outcome = 'done' then '${done}'
        when outcome = 'skipped' then '${skipped}' else '${deadState}' end as next_state
      from unnest($2::uuid[], $3::text[], $4::boolean[], $5::text[], $6::float8[], $7::int[])
        as r (id, outcome, is_final, detail, delay, duration)
    ), settled as (
      update ${table} q set state = r.next_state, reason = r.detail, lease_token = null,
        next_attempt_at = now() + make_interval(secs => r.delay), finished_at = case when r.is_final then now() end
        ${erased(options.erasedWhenDone, "r.outcome in ('done', 'skipped')")}
        ${erased(options.erasedAtEnd, "r.is_final")}
      from results r where q.id = r.id and q.lease_token = $1
      returning q.id, q.attempts, r.outcome, r.detail, r.duration
    )
    insert into ${log} (message_id, number, time, duration, outcome, detail, replica)
    select id, attempts, now(), duration, outcome, detail, $8 from settled`);

// Five years of months: rows in them, and what a read locks.
// Looks inside: five years of rows, and the locks of a read, are seen in the database only.
import { sql } from "kysely";
import { Context } from "../../src/domain/kernel/context.js";
import { type Db, openDatabase } from "../../src/infrastructure/database/database.js";
import { newId } from "./ids.js";
import { age, idAt, month, type Partitioned } from "./months.js";
import type { Person, World } from "./world.js";

const day = 86_400_000;

/** Months with a partition, before the current one. */
export const kept = 58;

/** A random number below another one, by a generator whose numbers are the same in each run. */
let state = 20_261_128;
export const below = (count: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * count);
};
export const oneOf = <Value>(values: readonly Value[]): Value => values[below(values.length)]!;

/** Random times, many of them equal, many at the turn of a month, and most of the rest in a few months. */
function times(count: number): Date[] {
  const now = Date.now();
  return Array.from({ length: count }, (_, index) => {
    const first = Date.parse(month(-below(kept)).date);
    const time = oneOf([
      first + below(3) - 1,
      first + (below(5) - 2) * day,
      now - below(3) * day,
      now - below(200) * day - below(day),
      now - below(kept * 28) * day - below(day),
    ]);
    return new Date(Math.min(index % 7 === 0 ? Math.floor(time / day) * day : time, now));
  });
}

const query = async <Row extends object>({ app }: World, text: string, values: unknown[] = []): Promise<Row[]> =>
  (await app.services.database.pool.query<Row>(text, values)).rows;

/** SQL of an id that was made up to some days before or after the time `at`, as clocks and reporters have it. */
const idNear = (before: number, after: number) =>
  idAt(`least(at - interval '${before} days' + random() * interval '${before + after} days', now())`);

/** A row of a list. */
export interface Listing {
  id: string;
  /** Unix milliseconds. */
  time: number;
  group: string;
}

/** Fills the tables with random rows, many of them at equal times. One month lacks a partition. */
export async function fillMonths(w: World, ada: Person, workspaces: readonly string[]): Promise<void> {
  const made = Array.from({ length: kept + 4 }, (_, index) => index - kept);
  for (const table of ["audit_log", "connection_log", "inbox"] as const) {
    // A month without a partition: its rows are in the default one.
    await age(
      w,
      table,
      -kept,
      made.filter((offset) => offset !== -3),
    );
    await query(w, `delete from ${table}`);
  }
  await query(w, "delete from inbox_cursors");
  await query(
    w,
    `insert into audit_log (id, time, actor_kind, action, resource_type, resource_id, diff, request_id)
     select ${idNear(0.9, 0.9)}, at, 'system', (array['create', 'update', 'delete'])[n % 3 + 1], case n % 100 when 5 then 'rare' else 'group' end, n::text, '{}', 'x'
     from unnest($1::timestamptz[]) with ordinality as made (at, n)`,
    [times(600)],
  );
  await query(
    w,
    `insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
       connect_time, reporter, connection_id, is_connect_reported)
     select ${idNear(0.9, 0.9)}, $2, ($3::uuid[])[n % 3 + 1], 'box', $4, 'main', 'ssh', at, gen_random_uuid(), gen_random_uuid(), true
     from unnest($1::timestamptz[]) with ordinality as made (at, n)`,
    [times(400), w.defaultOrganization, workspaces, w.owner.id],
  );
  await query(
    w,
    `insert into inbox (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
     select ${idNear(0.5, 0.5)}, $2, n, ($3::uuid[])[n % 3 + 1], '{}', 'Hello', '', '', '[]', at
     from unnest($1::timestamptz[]) with ordinality as made (at, n)`,
    [times(400), ada.id, workspaces],
  );
  await query(w, "insert into inbox_cursors (user_id, last_seq, unread_count) values ($1, 400, 400)", [ada.id]);
}

/** The rows of a table, with their time, and a text by which they are filtered, which is given as SQL. */
export const rowsOf = (w: World, table: Partitioned, time: string, group: string): Promise<Listing[]> =>
  query<Listing>(
    w,
    `select id, (extract(epoch from ${time}) * 1000)::float8 as time, ${group}::text as "group" from ${table}`,
  );

/** Fills the tables with two rows a day, and makes the month that was missing. */
export async function fillDensely(w: World, ada: Person): Promise<void> {
  // As it is when no month is missing.
  for (const table of ["audit_log", "connection_log", "inbox"] as const) {
    await query(w, `delete from ${table}_default`);
    await query(w, "select create_month($1, $2)", [table, month(-3).date]);
  }
  const fill = (table: string, columns: string, values: string) =>
    query(
      w,
      `insert into ${table} (${columns}) select ${values} from generate_series('${month(-kept - 1).date}'::timestamptz, now(), interval '12 hours') at`,
    );
  await fill(
    "audit_log",
    "id, time, actor_kind, action, resource_type, diff, request_id",
    `${idAt("at")}, at, 'system', 'create', 'group', '{}', 'x'`,
  );
  await fill(
    "connection_log",
    "id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type, connect_time, reporter, connection_id",
    `${idAt("at")}, '${w.defaultOrganization}', gen_random_uuid(), 'box', '${w.owner.id}', 'main', 'ssh', at, gen_random_uuid(), gen_random_uuid()`,
  );
  await fill(
    "inbox",
    "id, user_id, seq, template_id, targets, title, content, icon, actions, created_at",
    `${idAt("at")}, '${ada.id}', extract(epoch from at), gen_random_uuid(), '{}', 'Hello', '', '', '[]', at`,
  );
}

/** Reads a page in a transaction, on a connection that is new. Returns it, what it locks, and milliseconds. */
export async function costOf<Result>(
  { app, database: { url } }: World,
  { id }: Person,
  read: (ctx: Context) => Promise<Result>,
) {
  const actor = { kind: "user", userId: id, siteRoles: ["owner"], organizations: new Map(), scopes: ["all"] };
  const fresh = openDatabase({ url, pool: 1, statementTimeout: 60_000 });
  try {
    return await fresh.db.transaction().execute(async (db: Db) => {
      const lifetime = () => new AbortController();
      const ctx = new Context(app.services, actor as never, { id: newId() }, lifetime);
      Object.defineProperty(ctx, "db", { value: db });
      await sql`select`.execute(db);
      const begun = performance.now();
      const page = await read(ctx);
      const time = performance.now() - begun;
      const { rows } = await sql<{ locks: number }>`
        select count(*)::int as locks from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = pg_backend_pid() and c.relnamespace = 'public'::regnamespace`.execute(db);
      return { page, time, locks: rows[0]!.locks };
    });
  } finally {
    await fresh.close();
  }
}

import type { Config } from "../src/runtime/config.js";
import { auditPurge } from "../src/domain/audit/audit-log.js";
import { connectionLogPurge } from "../src/domain/connection-logs/connection-logs.js";
import { inboxPurge } from "../src/domain/notifications/inbox.js";
import { openDatabase } from "../src/infrastructure/database/database.js";
import { ids, inboxReader, members, sqlId } from "./data.js";
import { databaseOf, withClient } from "./postgres.js";

/** Rows of each table, spread evenly over the months. */
export const rowCount = Number(process.env.BENCH_ROWS ?? 1_000_000);

/** Whole months before the current one that have rows. */
export const monthCount = 24;

const firstPartitions = { audit_log: "audit_events", connection_log: "connection_logs", inbox: "inbox_notifications" };
export type Partitioned = keyof typeof firstPartitions;

/** Copies the run's database and fills it: each table is one partition, or has one for each month. */
export async function databaseWith(kind: "table" | "months", databaseUrl: string): Promise<string> {
  const name = `months_${kind}`;
  const [, template] = new URL(databaseUrl).pathname.split("/");
  await withClient(databaseOf(databaseUrl, "postgres"), async (client) => {
    await client.query(`drop database if exists ${name}`);
    await client.query(`create database ${name} template ${template}`);
  });
  const url = databaseOf(databaseUrl, name);
  await withClient(url, async (client) => {
    await client.query(`delete from inbox_cursors; delete from inbox`);
    if (kind === "months") for (const table of Object.keys(firstPartitions)) await client.query(split(table));
    // Indexes are built afterwards, which takes a fraction of the time.
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as definition
       from pg_index where indrelid = any($1::regclass[]) and not indisprimary order by indexrelid`,
      [Object.keys(firstPartitions)],
    );
    await client.query(`drop index ${indexes.map((index) => index.name).join(", ")}`);
    await client.query(fill);
    for (const { definition } of indexes) await client.query(definition);
    await client.query("vacuum analyze");
  });
  return url;
}

/** Makes months of the time that the first partition has. */
const split = (table: string) => {
  const first = firstPartitions[table as Partitioned];
  return `
    alter table ${table} detach partition ${first};
    do $$ begin
      execute format('alter table ${table} attach partition ${first} for values from (minvalue) to (%L)',
        first_id_of(${start}));
    end $$;
    select create_month('${table}', (${start} + make_interval(months => n))::date) from generate_series(0, ${monthCount} + 1) n`;
};

const start = `(date_trunc('month', now(), 'UTC') - interval '${monthCount} months')`;
const time = `(${start} + (now() - ${start}) * (n::float8 / ${rowCount}))`;
/** The id of a number, of the time of its row. */
const id = `(left(first_id_of(at)::text, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
const rows = `(select n, ${time} as at from generate_series(1, ${rowCount}) n) numbered`;

/** One user of a thousand has few rows of the logs; one inbox is full, the others share the rest. */
const fill = `
  insert into audit_log (id, time, actor_id, actor_kind, action, resource_type, resource_id, resource_label,
    organization_id, diff, request_id, ip)
  select ${id}, at, ${sqlId("1", "case when n % 10000 = 3 then 7 else 1000 + n % 9000 end")}, 'user',
    (array['create', 'update', 'delete', 'login'])[n % 4 + 1], (array['group', 'user', 'api_key'])[n % 3 + 1],
    ${sqlId("2", "100 + n % 5000")}, 'something', '${ids.organization}', '{"name": {"old": "one", "new": "another"}}',
    ${sqlId("d", "n")}::text, '192.0.2.1'
  from ${rows};

  insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
    connect_time, ip, reporter, connection_id, is_connect_reported, disconnect_time, exit_code)
  select ${id}, '${ids.organization}', ${sqlId("5", "1 + n % 20000")}, 'box',
    ${sqlId("1", "case when n % 10000 = 3 then 7 else 1000 + n % 9000 end")}, 'main', 'ssh', at, '192.0.2.1',
    ${sqlId("8", "n % 20000")}, ${sqlId("6", "n")}, true, at + interval '1 hour', 0
  from ${rows};

  insert into inbox (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at, read_at)
  select ${id}, ${sqlId("1", `case when n % 1000 = 0 then ${inboxReader + 1} else 1 + n % ${members - 1} end`)}, n,
    ${sqlId("a", "1")}, array[${sqlId("b", "n % 1000")}], 'Backup finished',
    'The nightly backup of the build cache took 12 minutes.', '', '[]', at, case when n % 3 > 0 then at end
  from ${rows};
  insert into inbox_cursors (user_id, last_seq, unread_count)
  select user_id, max(seq), count(*) filter (where read_at is null) from inbox group by user_id;`;

/** Runs the retention of a table that keeps the months but the first one, or the rest of the second one with rows. */
export async function retain(url: string, table: Partitioned, months: number): Promise<void> {
  const database = openDatabase({ url, pool: 2, statementTimeout: 600_000 });
  const kept = await withClient(url, async (client) => {
    // A day more than the month: it is left for clocks that differ.
    const { rows: found } = await client.query<{ kept: number }>(
      `select extract(epoch from now() - (${start} + interval '${months} months'))::float8 * 1000 - 86400000 - 60000 as kept`,
    );
    return found[0]!.kept;
  });
  const config = {
    auditRetention: kept,
    connectionLogRetention: kept,
    inboxUnreadRetention: kept,
    inboxReadRetention: kept,
    inboxMax: 1_000_000_000,
  } as Config;
  const job = { audit_log: auditPurge, connection_log: connectionLogPurge, inbox: inboxPurge }[table];
  try {
    await job.run({ config, database, log: { info() {}, warn: console.error } });
  } finally {
    await database.close();
  }
}

// Lists as they are after years: a thousand rows each, copied in the tables, whose names have the greatest length.
import { addRecords, recordId } from "./records.js";
import type { World } from "./world.js";

/** SQL that makes the id of the nth copy of a row. It is of the same time, and so in the same partition. */
const ofCopy = (id: string) =>
  `overlay(md5(${id}::text || n)::uuid::text placing left(${id}::text, 15) from 1 for 15)::uuid`;

/** SQL that makes the nth name of a length, without a place to break. */
const name = (length: number) => `rpad('w' || n, ${length}, 'w')`;

/** SQL that makes the nth text of a length: Arabic words, and one word without a place to break, in turn. */
const label = (length: number) =>
  `case when n % 2 = 0 then rpad('مريم عبد الرحمن ' || n, ${length}, 'ب') else rpad('W' || n, ${length}, 'W') end`;

const hash = "sha256(convert_to('copy ' || n, 'UTF8'))";
const named = { name: name(32), display_name: label(64) };

/** A table, the record in it that is copied, and the columns that differ, as SQL in which `n` is the number of the copy. */
interface Copied {
  table: string;
  record: string;
  columns: Record<string, string>;
}

const copied: Copied[] = [
  {
    table: "users",
    record: recordId("user"),
    columns: { username: name(32), name: label(128), email: `${name(60)} || '@example.com'` },
  },
  {
    table: "invitations",
    record: recordId("invitation"),
    columns: { email: `${name(60)} || '@example.com'`, name: label(128), token_hash: hash },
  },
  {
    table: "organizations",
    record: recordId("organization"),
    columns: { ...named, description: label(255) },
  },
  { table: "groups", record: recordId("group"), columns: { ...named, name: name(36) } },
  { table: "templates", record: recordId("template"), columns: { ...named, description: label(1000) } },
  { table: "workspaces", record: recordId("workspace"), columns: { name: name(32) } },
  {
    table: "tasks",
    record: recordId("task"),
    columns: { ...named, initial_prompt: label(1000), workspace_id: ofCopy("workspace_id") },
  },
  { table: "oauth2_clients", record: recordId("app"), columns: { name: label(64) } },
  { table: "oauth2_grants", record: recordId("grant"), columns: { client_id: ofCopy("client_id") } },
  {
    table: "scim_keys",
    record: "scim-key-1",
    columns: { id: "'copy' || n", name: label(64), token_hash: hash },
  },
  {
    table: "provisioner_keys",
    record: recordId("provisioner key"),
    columns: { name: name(64), secret_hash: hash },
  },
  { table: "provisioner_daemons", record: recordId("daemon"), columns: { name: name(64) } },
  { table: "provisioner_jobs", record: recordId("job of version"), columns: { worker_name: label(64) } },
  { table: "workspace_proxies", record: recordId("proxy"), columns: { ...named, token_hash: hash } },
  {
    table: "inbox_notifications",
    record: recordId("notification"),
    columns: { seq: "1000 + n", title: label(120), content: label(1000) },
  },
  {
    table: "notification_messages",
    record: recordId("message"),
    columns: { event_id: ofCopy("event_id"), reason: label(512) },
  },
  { table: "user_secrets", record: recordId("secret"), columns: { name: name(64), description: label(200) } },
  {
    table: "api_keys",
    record: "api-key-1",
    columns: { id: "'copy' || n", name: name(64), secret_hash: hash },
  },
  { table: "audit_events", record: recordId("event"), columns: { resource_label: label(128) } },
  {
    table: "connection_logs",
    record: recordId("visit"),
    columns: { workspace_name: name(32), slug_or_port: name(32) },
  },
];

/** Adds a record of every kind, and as many copies of those that lists show. */
export async function fillLists(w: World, count: number): Promise<void> {
  await addRecords(w, 1);
  const connection = await w.app.services.database.pool.connect();
  try {
    const { rows } = await connection.query<{ table: string; columns: string[] }>(
      `select table_name as table, array_agg(column_name::text) as columns from information_schema.columns
       where table_schema = current_schema() and is_generated = 'NEVER' and is_identity = 'NO' group by 1`,
    );
    for (const { table, record, columns } of copied) {
      const all = rows.find((each) => each.table === table)!.columns;
      const changed: Record<string, string> = { id: ofCopy("id"), ...columns };
      await connection.query(
        `insert into ${table} (${all.join()}) select ${all.map((column) => changed[column] ?? column).join()}
         from ${table}, generate_series(1, ${count}) n where id = $1`,
        [record],
      );
      const unknown = Object.keys(changed).filter((column) => !all.includes(column));
      if (unknown.length > 0) throw new Error(`${table} has no columns ${unknown.join()}.`);
    }
  } finally {
    connection.release();
  }
}

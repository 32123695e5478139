// A deployment in bad states, and its checks.
// Looks inside: other servers and unfinished migrations are rows that no test can make otherwise.
import { cloneDatabase } from "./cluster.js";
import { newId } from "./ids.js";
import { setTimes } from "./tables.js";
import { startWorldOn, type World } from "./world.js";

const query = ({ app }: World, text: string, ...values: unknown[]) => app.services.database.pool.query(text, values);

/** Starts a server whose checks are never due: the test runs them. */
export async function startUnchecked(settings: NodeJS.ProcessEnv = {}): Promise<World> {
  const database = await cloneDatabase();
  // Before the server starts, which looks seconds later.
  await setTimes(database.url, "deployment", {}, { health_checked_at: "-1 s" });
  return startWorldOn(database, { ...settings, STEWARD_HEALTH_INTERVAL: "1d" });
}

/** Adds a server that runs somewhere else, with the readings of the first one and others. Returns how to remove it. */
export async function anotherReplica(w: World, others: Record<string, unknown>): Promise<() => Promise<unknown>> {
  const id = newId();
  await query(
    w,
    `insert into server_replicas (id, hostname, version, started_at, seen_at, readings)
     select $1, 'far', '0.0.1', now(), now(), readings || $2 from server_replicas order by id limit 1`,
    id,
    others,
  );
  return () => query(w, "delete from server_replicas where id = $1", id);
}

/** Leaves a migration unfinished. Returns how to complete it. */
export async function unfinishedMigration(w: World): Promise<() => Promise<unknown>> {
  await query(w, "insert into unfinished_migrations (name) values ('0001-foundation')");
  return () => query(w, "delete from unfinished_migrations");
}

/** Whether the transport of mails has noted something, such as a delivery. */
export async function mailHas(w: World, column: "delivered_at" | "failing_since"): Promise<boolean> {
  const { rowCount } = await query(
    w,
    `select from notification_transports where method = 'smtp' and ${column} is not null`,
  );
  return rowCount! > 0;
}

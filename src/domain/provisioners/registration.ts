import type { ProvisionerActor, UserActor } from "../kernel/actor.js";
import { statement } from "../kernel/database.js";
import { conflictOn, onViolation, unauthenticated } from "../kernel/errors.js";
import type { Services } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { presenceHint } from "./ends.js";
import type { Tags } from "./tags.js";

/** The version of the protocol that this server speaks. */
export const protocolVersion = { major: 1, minor: 0 } as const;

/** A daemon that connects. */
export interface NewDaemon {
  organizationId: string;
  /** Unique among the daemons of the organization, or for `scope` `user` of the user, in any letter case. */
  name: string;
  provisioners: readonly string[];
  /** With `scope` and `owner`, by `scoped`. */
  tags: Tags;
  /** Null with the session of a user, and for the built-in daemon. */
  keyId: string | null;
  /** SHA-256 of the secret of the key, base64; empty without a key. */
  tokenHash: string;
  /** Null with a key, and for the built-in daemon. */
  user: UserActor | null;
  /** The version of its program. */
  version: string;
  apiVersion: string;
}

// A daemon that reconnects keeps its row, and with it its id, its jobs, and the workspaces pinned to it.
const upsertDaemon = statement<{ id: string; name: string }>(`
  insert into provisioner_daemons as d (id, created_at, organization_id, name, owner_tag, key_id, user_id, provisioners,
    tags, version, api_version, last_seen_at, connection_id)
  values ($1, now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, now(), $11)
  on conflict (organization_id, lower(name), owner_tag) do update set provisioners = excluded.provisioners,
    tags = excluded.tags, version = excluded.version, api_version = excluded.api_version,
    last_seen_at = excluded.last_seen_at, connection_id = excluded.connection_id
    where d.key_id is not distinct from excluded.key_id and d.user_id is not distinct from excluded.user_id
  returning d.id, d.name`);

/**
 * Stores a daemon that connects, for sockets and for the daemon inside of the server. Replaces its former connection.
 * Throws CONFLICT if a daemon of another key or user has the name.
 */
export async function registerDaemon(
  { database, events }: Pick<Services, "database" | "events">,
  daemon: NewDaemon,
): Promise<ProvisionerActor> {
  const { organizationId, provisioners, tags, keyId, user, tokenHash, version, apiVersion } = daemon;
  const connectionId = newId();
  const identity = [newId(), organizationId, daemon.name, tags.owner ?? "", keyId, user?.userId ?? null];
  const [stored] = await database
    .query(upsertDaemon, [...identity, provisioners, tags, version, apiVersion, connectionId])
    .catch(
      onViolation({
        provisioner_daemons_key_id_foreign: () => unauthenticated("The token is not valid."),
        provisioner_daemons_user_id_foreign: () => unauthenticated("The token is not valid."),
      }),
    );
  if (!stored) throw conflictOn("name", "A daemon of another key or user has this name.");
  events.publish(presenceHint(stored.id));
  return {
    kind: "provisioner",
    ...stored,
    organizationId,
    keyId,
    user,
    tokenHash,
    provisioners,
    tags,
    connectionId,
  };
}

/** Whether a connection is the current one of its daemon. */
export type Presence = "connected" | "replaced" | "deleted";

const noteDaemon = statement<{ presence: Presence }>(`
  with seen as (
    update provisioner_daemons set last_seen_at = now() where id = $1 and connection_id = $2 returning id
  ), renewed as (
    update provisioner_jobs j set lease_expires_at = now() + make_interval(secs => $3)
    from seen
    where j.worker_id = seen.id and j.completed_at is null and j.status in ('running', 'canceling')
      and j.lease_expires_at > now()
  )
  select case when exists (select from seen) then 'connected'
    when exists (select from provisioner_daemons where id = $1) then 'replaced' else 'deleted' end as presence`);

const readPresence = statement<{ connectionId: string }>(
  `select connection_id as "connectionId" from provisioner_daemons where id = $1`,
);

/** Reads whether a connection is the current one. */
export async function presenceOf(
  { database }: Pick<Services, "database">,
  { id, connectionId }: ProvisionerActor,
): Promise<Presence> {
  const [daemon] = await database.query(readPresence, [id]);
  if (!daemon) return "deleted";
  return daemon.connectionId === connectionId ? "connected" : "replaced";
}

/** Records that a daemon was heard of, and renews the leases of the jobs that it runs. */
export async function noteSeen(
  { database, config }: Pick<Services, "database" | "config">,
  { id, connectionId }: ProvisionerActor,
): Promise<Presence> {
  const [noted] = await database.query(noteDaemon, [id, connectionId, config.jobHungAfter / 1000]);
  return noted!.presence;
}

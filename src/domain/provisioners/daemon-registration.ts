import { type OnConflictBuilder, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { version } from "../../runtime/program-files.js";
import type { ProvisionerActor, UserActor } from "../kernel/actor.js";
import type { Services } from "../kernel/context.js";
import { conflictOn, onViolation, unauthenticated } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, anyOf, now } from "../kernel/queries.js";
import { presenceHint } from "./provisioner-jobs.js";
import { isWaiting } from "./matching.js";
import { scopeTags, type Tags } from "./tags.js";
import { noteKeyUsed, reservedKeys } from "./provisioner-key-tokens.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const provisionerDaemons = columnsOf("provisionerDaemons");

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
  /** Null with the session of a user. */
  keyId: string | null;
  /** SHA-256 of the secret of the key, base64; empty without a key. */
  tokenHash: string;
  /** Null with a key. */
  user: UserActor | null;
  /** The version of its program. */
  version: string;
  apiVersion: string;
}

/**
 * Has a daemon that connects again keep its row, and with it its id, its jobs, and the workspaces pinned to it. Changes
 * nothing if the row is that of another key or user.
 */
const keepRow =
  (connection: "excluded" | "provisionerDaemons") => (row: OnConflictBuilder<Schema, "provisionerDaemons">) =>
    row
      .expression(sql`${provisionerDaemons.organizationId}, lower(name), ${provisionerDaemons.ownerTag}`)
      .doUpdateSet((eb) => ({
        provisioners: eb.ref("excluded.provisioners"),
        tags: eb.ref("excluded.tags"),
        version: eb.ref("excluded.version"),
        apiVersion: eb.ref("excluded.apiVersion"),
        lastSeenAt: eb.ref("excluded.lastSeenAt"),
        connectionId: eb.ref(`${connection}.connectionId`),
      }))
      .whereRef("provisionerDaemons.keyId", "is not distinct from", "excluded.keyId")
      .whereRef("provisionerDaemons.userId", "is not distinct from", "excluded.userId");

/**
 * Stores a daemon that connects. Replaces its former connection.
 * Throws CONFLICT if a daemon of another key or user has the name.
 */
export async function registerDaemon(
  { database, events }: Pick<Services, "database" | "events">,
  { user, tokenHash, ...daemon }: NewDaemon,
): Promise<ProvisionerActor> {
  const { organizationId, keyId, tags, provisioners } = daemon;
  const connectionId = newId();
  const stored = await database.db
    .insertInto("provisionerDaemons")
    .values({
      ...daemon,
      id: newId(),
      createdAt: now,
      ownerTag: tags.owner ?? "",
      userId: user?.userId ?? null,
      provisioners: [...provisioners],
      lastSeenAt: now,
      connectionId,
    })
    .onConflict(keepRow("excluded"))
    .returning(["id", "name"])
    .executeTakeFirst()
    .catch(
      onViolation({
        provisioner_daemons_key_id_foreign: () => unauthenticated("The token is not valid."),
        provisioner_daemons_user_id_foreign: () => unauthenticated("The token is not valid."),
      }),
    );
  if (!stored) throw conflictOn("name", "A daemon of another key or user has this name.");
  events.publish(presenceHint(stored.id));
  if (keyId !== null) await noteKeyUsed(database.db, keyId, tokenHash);
  return { kind: "provisioner", ...stored, organizationId, keyId, user, tokenHash, provisioners, tags, connectionId };
}

/** Whether a connection is the current one of its daemon. */
export type Presence = "connected" | "replaced" | "deleted";

/** Reads whether a connection is the current one. */
export async function presenceOf(
  { database }: Pick<Services, "database">,
  { id, connectionId }: Pick<ProvisionerActor, "id" | "connectionId">,
): Promise<Presence> {
  const daemon = await database.db
    .selectFrom("provisionerDaemons")
    .where("id", "=", id)
    .select("connectionId")
    .executeTakeFirst();
  if (!daemon) return "deleted";
  return daemon.connectionId === connectionId ? "connected" : "replaced";
}

/** Records that a daemon was heard of and its key used, and renews the leases of the jobs that it runs. */
export async function noteSeen(
  { database, config }: Pick<Services, "database" | "config">,
  { id, connectionId, keyId, tokenHash }: Pick<ProvisionerActor, "id" | "connectionId" | "keyId" | "tokenHash">,
): Promise<Presence> {
  const seen = await database.db
    .updateTable("provisionerDaemons")
    .set({ lastSeenAt: now })
    .where("id", "=", id)
    .where("connectionId", "=", connectionId)
    .returning("id")
    .executeTakeFirst();
  if (!seen) return presenceOf({ database }, { id, connectionId });
  if (keyId !== null) await noteKeyUsed(database.db, keyId, tokenHash);
  await database.db
    .updateTable("provisionerJobs")
    .set({ leaseExpiresAt: after(config.jobHungAfter) })
    .where("workerId", "=", id)
    .where("completedAt", "is", null)
    .where("status", "in", ["running", "canceling"])
    .where("leaseExpiresAt", ">", now)
    .execute();
  return "connected";
}

/** The provisioner of the daemons inside of the server, and their tags. */
const builtIn = { provisioners: ["echo"], tags: scopeTags({}, "") };

/**
 * Stores the daemons inside of the server, one for each organization, and that they were seen: one statement for all.
 * All replicas share their rows.
 */
export async function registerBuiltInDaemons({ database }: Pick<Services, "database">): Promise<ProvisionerActor[]> {
  const { name } = reservedKeys.builtIn;
  const { provisioners, tags } = builtIn;
  const daemons = await database.db
    .insertInto("provisionerDaemons")
    .columns([
      "id",
      "createdAt",
      "organizationId",
      "name",
      "ownerTag",
      "provisioners",
      "tags",
      "version",
      "apiVersion",
      "lastSeenAt",
      "connectionId",
    ])
    .expression((eb) =>
      eb
        .selectFrom("organizations as o")
        .where("o.deletedAt", "is", null)
        // Replicas do not wait for each other in a circle.
        .orderBy("o.id")
        .select([
          sql<string>`gen_random_uuid()`.as("id"),
          now.as("createdAt"),
          "o.id as organizationId",
          eb.val(name).as("name"),
          eb.val("").as("ownerTag"),
          sql<string[]>`${provisioners}::text[]`.as("provisioners"),
          sql<Record<string, string>>`${tags}::jsonb`.as("tags"),
          eb.val(version).as("version"),
          eb.val(`${protocolVersion.major}.${protocolVersion.minor}`).as("apiVersion"),
          now.as("lastSeenAt"),
          sql<string>`gen_random_uuid()`.as("connectionId"),
        ]),
    )
    .onConflict(keepRow("provisionerDaemons"))
    .returning(["id", "organizationId", "connectionId"])
    .execute();
  return daemons.map((stored) => ({
    kind: "provisioner",
    ...stored,
    connectionId: stored.connectionId!,
    name,
    keyId: null,
    user: null,
    tokenHash: "",
    provisioners,
    tags,
  }));
}

/** Selects the organizations in which jobs wait that the daemon inside of the server might do. */
export async function organizationsWithWork(
  { database }: Pick<Services, "database">,
  organizationIds: readonly string[],
): Promise<Set<string>> {
  const rows = await database.db
    .selectFrom(sql<{ id: string }>`unnest(${organizationIds}::uuid[])`.as<"o">(sql`o (id)`))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("provisionerJobs as j")
          .whereRef("j.organizationId", "=", "o.id")
          .where(isWaiting)
          .where("j.provisioner", "=", anyOf(builtIn.provisioners, "text"))
          .select("j.id"),
      ),
    )
    .select("o.id")
    .execute();
  return new Set(rows.map(({ id }) => id));
}

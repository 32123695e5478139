import DataLoader from "dataloader";
import { type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import { jsonBuildObject } from "kysely/helpers/postgres";
import type { Db } from "../../infrastructure/database/database.js";
import { prepare } from "../../infrastructure/database/prepared.js";
import type { OrganizationRole, SiteRole } from "../authorization/authorization.js";
import { type Proof, ProofWay, type UserActor } from "../kernel/actor.js";
import { now, rowById } from "../kernel/queries.js";
import { dueByRules, isOfferedByRules } from "../sign-in/factor-demands.js";
import { hasPasskey, holdsFactor, waysOf } from "../sign-in/held-factors.js";
import { hintIdsOf } from "./hints.js";
import { Recent } from "./recent.js";
import { instantOf } from "../../runtime/clock.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const k = columnsOf("apiKeys", "k");
const s = columnsOf("apiKeys", "s");
const g = columnsOf("oauth2Grants", "g");
const c = columnsOf("oauth2Clients", "c");
const u = columnsOf("users", "u");
const m = columnsOf("organizationMembers", "m");
const o = columnsOf("organizations", "o");

/** A key, with all data of its user that permissions depend on. */
export interface Snapshot {
  readonly secretHash: Buffer;
  readonly actor: UserActor;
  readonly isSuspended: boolean;
  /** Milliseconds since the epoch, like the times below. */
  readonly createdAt: number;
  expiresAt: number;
  /** The last recorded use; 0 if none. */
  lastUsedAt: number;
}

/** Ids as the rows of a table. */
type Given = RawBuilder<{ id: string }>;
const unnestIds = (ids: unknown): Given => sql`unnest(${ids}::text[])`;
/** A single id is not passed as an array, for which Postgres would plan each execution. */
const givenOne = (id: unknown): Given => sql`(select ${id}::text)`;

/** The application that has the access token `k`: by its grant, or with client credentials. */
const applicationOf = sql<string>`coalesce(${k.clientId}, (
  select ${g.clientId} from oauth2_grants g where g.id = ${k.grantId}))`;

/**
 * The keys `k` with these ids, and their users `u`, without access tokens of disabled applications. `offset 0` has Postgres
 * find each key by its id: with old table statistics, a join that starts from users compares every key of a user with all
 * given ids (290 ms for 1,000 of 10,000 keys).
 */
const keysWithUsers = (db: Db, ids: Given) =>
  db
    .selectFrom(ids.as<"given">(sql`given (id)`))
    .innerJoinLateral(
      (eb) => eb.selectFrom("apiKeys").selectAll().whereRef("id", "=", "given.id").offset(sql.lit(0)).as("k"),
      (join) => join.onTrue(),
    )
    .innerJoin("users as u", "u.id", "k.userId")
    .where("u.deletedAt", "is", null)
    .where(sql<SqlBool>`not exists (select from oauth2_clients c where c.id = ${applicationOf} and ${c.isDisabled})`);

/** The condition that the user `u` was not suspended since the key `k` was issued. */
const isOfEpoch = sql<SqlBool>`k.epoch = ${u.credentialEpoch}`;

/** The condition that the key `k` depends on second factors of its user: API tokens do not. */
const hasPassword = sql<SqlBool>`${u.loginType} = 'password' and not ${u.isServiceAccount} and k.kind <> 'token'`;

const snapshotRows = (db: Db, ids: Given) =>
  keysWithUsers(db, ids)
    .where("u.isSystem", "=", false)
    .where((eb) => eb.or([eb("u.status", "=", "suspended"), isOfEpoch]))
    .select([
      "k.id",
      "k.secretHash",
      "k.kind",
      "k.scopes",
      "k.createdAt",
      "k.expiresAt",
      "k.lastUsedAt",
      "k.parentId",
      "k.provedAt",
      "k.userId",
      "u.status",
      "u.siteRoles",
      "u.mustChangePassword",
      "u.loginType",
      "u.isServiceAccount",
    ])
    .select((eb) => [
      eb
        .case()
        .when("k.kind", "=", sql.lit("oauth"))
        .then(jsonBuildObject({ clientId: applicationOf, audiences: eb.ref("k.audiences") }))
        .end()
        .as("oauth"),
      sql<boolean>`${hasPassword} and ${holdsFactor(u.id)}`.as("hasFactor"),
      sql<boolean>`${hasPassword} and ${hasPasskey(u.id)}`.as("hasPasskey"),
      sql<boolean>`case k.kind
        when 'session' then coalesce(k.factor = 'provider', false)
        when 'oauth' then exists (
          select from api_keys s where ${s.userId} = u.id and s.kind = 'session' and s.factor = 'provider')
        else false end`.as("hasFactorElsewhere"),
      sql<boolean>`${hasPassword} and ${isOfferedByRules}`.as("isOfferedFactor"),
      sql<string | null>`case when ${hasPassword} then ${dueByRules} end`.as("factorDueAt"),
      sql<Record<string, OrganizationRole[]>>`(
        select coalesce(json_object_agg(${m.organizationId}, m.roles), '{}')
        from organization_members m join organizations o on o.id = ${m.organizationId}
        where ${m.userId} = u.id and ${o.deletedAt} is null)`.as("organizations"),
    ]);

type SnapshotRow = InferResult<ReturnType<typeof snapshotRows>>[number];

const snapshotOfOne = prepare<{ id: string }, SnapshotRow>((db, { id }) => snapshotRows(db, givenOne(id)));
const snapshotsOf = prepare<{ ids: readonly string[] }, SnapshotRow>((db, { ids }) => snapshotRows(db, unnestIds(ids)));

/** Returns the valid keys among ids. */
export async function livingKeys(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await keysWithUsers(db, ids.length === 1 ? givenOne(ids[0]) : unnestIds(ids))
    .where("k.expiresAt", ">", now)
    .where("u.status", "=", "active")
    .where(isOfEpoch)
    .select("k.id")
    .execute();
  return rows.map(({ id }) => id);
}

/** The keys in use, by id. Those that sockets ask for again at the same time are read by one statement. */
export function snapshots(db: Db, settings: SnapshotSettings): Recent<Snapshot> {
  const read = async (ids: readonly string[]) => {
    const rows = await (ids.length === 1 ? snapshotOfOne(db, { id: ids[0]! }) : snapshotsOf(db, { ids }));
    return rowById(rows, ids).map((row) => row && describe(row, settings));
  };
  const loader = new DataLoader(read, { cache: false, maxBatchSize: 100 });
  return new Recent(
    (id) => loader.load(id),
    ({ actor }) => hintIdsOf(actor),
  );
}

/** The settings that the rights of users depend on. */
export interface SnapshotSettings {
  adminWorkspaceAccess: boolean;
  secondFactors: "off" | "optional" | "required";
  stepUp: "off" | "factors" | "always";
  stepUpAfter: number;
}

/** The recent proof that the deployment asks of a session, or of an access token of a user. */
function proofOf(
  {
    kind,
    isServiceAccount,
    hasFactor,
    hasPasskey: has,
    isOfferedFactor,
    hasFactorElsewhere,
    loginType,
    provedAt,
    createdAt,
  }: SnapshotRow,
  { secondFactors, stepUp, stepUpAfter }: SnapshotSettings,
): Proof | undefined {
  const counts = hasFactor && (secondFactors !== "off" || isOfferedFactor);
  const holdsFactors = counts || hasFactorElsewhere;
  const isAsked = stepUp === "always" ? !isServiceAccount : stepUp === "factors" && holdsFactors;
  const maxAge = stepUpAfter / 1000;
  if (!isAsked || (kind !== "session" && kind !== "oauth")) return undefined;
  if (kind === "oauth") return { until: 0, maxAge, ways: [] };
  const withoutFactor = loginType === "password" ? ProofWay.PASSWORD : ProofWay.SIGN_IN;
  const ways = counts ? waysOf({ hasPasskey: has }) : [withoutFactor];
  return { until: instantOf(provedAt ?? createdAt) + stepUpAfter, maxAge, ways };
}

/** Until when the user of a key has to add the second factor that is required, in milliseconds since the epoch. */
function factorDueAt(
  { kind, isServiceAccount, hasFactor, loginType, factorDueAt: dueAt }: SnapshotRow,
  { secondFactors }: SnapshotSettings,
): number | undefined {
  if (hasFactor || isServiceAccount || loginType !== "password" || kind === "token") return undefined;
  if (secondFactors === "required") return 0;
  return dueAt === null ? undefined : instantOf(dueAt);
}

function describe(row: SnapshotRow, settings: SnapshotSettings): Snapshot {
  const { id, kind, expiresAt, parentId, oauth, userId, scopes } = row;
  return {
    secretHash: row.secretHash,
    isSuspended: row.status === "suspended",
    createdAt: instantOf(row.createdAt),
    expiresAt: instantOf(expiresAt),
    lastUsedAt: row.lastUsedAt === null ? 0 : instantOf(row.lastUsedAt),
    actor: {
      kind: "user",
      userId,
      siteRoles: row.siteRoles as SiteRole[],
      organizations: new Map(Object.entries(row.organizations)),
      scopes,
      entersWorkspaces: settings.adminWorkspaceAccess,
      mustChangePassword: row.mustChangePassword,
      addsFactorBy: factorDueAt(row, settings),
      isOfferedFactor: row.isOfferedFactor,
      proof: proofOf(row, settings),
      credential: { id, kind, expiresAt, parentId, ...(oauth && { oauth }) },
    },
  };
}

import type { OAuthAccess, UserActor } from "../kernel/actor.js";
import type { OrganizationRole, SiteRole } from "../authorization/authorization.js";
import { batchedReads } from "../kernel/batches.js";
import { type Database, statement } from "../kernel/database.js";
import { Recent } from "./recent.js";
import type { TokenKind } from "./text.js";

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

interface KeyRow {
  id: string;
  secretHash: Buffer;
  kind: TokenKind;
  scopes: string[];
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string | null;
  parentId: string | null;
  oauth: OAuthAccess | null;
  userId: string;
  status: "active" | "suspended";
  siteRoles: SiteRole[];
  organizations: Record<string, OrganizationRole[]>;
}

/** The condition that the key `k` is no access token of a disabled application. */
const isEnabled = `not exists (
    select from oauth2_grants g join oauth2_clients c on c.id = g.client_id where g.id = k.grant_id and c.is_disabled)`;

/**
 * The keys among `$1`. `offset 0` has Postgres find each key by its id: with old table statistics, a join that starts
 * from users compares every key of a user with all given ids (290 ms for 1,000 of 10,000 keys).
 */
const givenKeys = `
  unnest($1::text[]) as given (id)
    cross join lateral (select * from api_keys where id = given.id offset 0) k join users u on u.id = k.user_id`;

const keysWithUsers = statement<KeyRow>(`
  select k.id, k.secret_hash as "secretHash", k.kind, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
    k.last_used_at as "lastUsedAt", k.parent_id as "parentId",
    case when k.grant_id is not null then (
      select json_build_object('clientId', g.client_id, 'grantId', g.id, 'audiences', k.audiences)
      from oauth2_grants g where g.id = k.grant_id
    ) end as oauth, u.id as "userId", u.status, u.site_roles as "siteRoles",
    (select coalesce(json_object_agg(m.organization_id, m.roles), '{}')
       from organization_members m join organizations o on o.id = m.organization_id
      where m.user_id = u.id and o.deleted_at is null) as organizations
  from ${givenKeys}
  where u.deleted_at is null and not u.is_system and ${isEnabled}`);

/** Selects the valid keys among `$1`. */
export const livingKeys = statement<{ id: string }>(`
  select k.id from ${givenKeys}
  where k.expires_at > now() and u.status = 'active' and u.deleted_at is null and ${isEnabled}`);

/** The keys in use, by id. */
export const snapshots = (database: Database, entersWorkspaces: boolean): Recent<Snapshot> =>
  new Recent(
    batchedReads(async (ids) => {
      const rows = await database.query(keysWithUsers, [ids]);
      return new Map(rows.map((row) => [row.id, describe(row, entersWorkspaces)]));
    }),
  );

function describe(row: KeyRow, entersWorkspaces: boolean): Snapshot {
  const { id, kind, expiresAt, parentId, oauth, userId, siteRoles, scopes } = row;
  return {
    secretHash: row.secretHash,
    isSuspended: row.status === "suspended",
    createdAt: Date.parse(row.createdAt),
    expiresAt: Date.parse(expiresAt),
    lastUsedAt: row.lastUsedAt === null ? 0 : Date.parse(row.lastUsedAt),
    actor: {
      kind: "user",
      userId,
      siteRoles,
      organizations: new Map(Object.entries(row.organizations)),
      scopes,
      entersWorkspaces,
      credential: { id, kind, expiresAt, parentId, ...(oauth && { oauth }) },
    },
  };
}

import type { Actor } from "../kernel/actor.js";
import type { OrganizationRole, SiteRole } from "../authorization/authorization.js";
import { type Database, lookup, statement } from "../kernel/database.js";
import { Recent } from "./recent.js";
import type { TokenKind } from "./text.js";

/** A key as of a moment ago, with everything that decides what its holder may do. */
export interface Snapshot {
  readonly secretHash: Buffer;
  readonly actor: Actor;
  readonly isSuspended: boolean;
  /** Milliseconds since the epoch, as the times below. */
  readonly createdAt: number;
  expiresAt: number;
  /** When its use was last noted; 0 if never. */
  lastUsedAt: number;
}

interface KeyRow {
  secretHash: Buffer;
  kind: TokenKind;
  scopes: string[];
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string | null;
  parentId: string | null;
  userId: string;
  status: "active" | "suspended";
  siteRoles: SiteRole[];
  organizations: Record<string, OrganizationRole[]>;
}

const keyWithUser = lookup<KeyRow>(`
  select k.secret_hash as "secretHash", k.kind, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
    k.last_used_at as "lastUsedAt", k.parent_id as "parentId", u.id as "userId", u.status, u.site_roles as "siteRoles",
    (select coalesce(json_object_agg(m.organization_id, m.roles), '{}')
       from organization_members m join organizations o on o.id = m.organization_id
      where m.user_id = u.id and o.deleted_at is null) as organizations
  from api_keys k join users u on u.id = k.user_id
  where k.id = $1 and u.deleted_at is null and not u.is_system`);

/** Which of the keys in `$1` still count. */
export const livingKeys = statement<{ id: string }>(`
  select k.id from api_keys k join users u on u.id = k.user_id
  where k.id = any($1::text[]) and k.expires_at > now() and u.status = 'active' and u.deleted_at is null`);

/** What the keys in use allow, by their ids. */
export const snapshots = (database: Database, entersWorkspaces: boolean): Recent<Snapshot> =>
  new Recent(async (id) => {
    const [row] = await database.query(keyWithUser, [id]);
    return row && describe(id, row, entersWorkspaces);
  });

function describe(id: string, row: KeyRow, entersWorkspaces: boolean): Snapshot {
  const { kind, expiresAt, parentId, userId, siteRoles, scopes } = row;
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
      credential: { id, kind, expiresAt, parentId },
    },
  };
}

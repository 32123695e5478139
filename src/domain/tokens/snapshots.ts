import { LRUCache } from "lru-cache";
import type { Actor } from "../../context.js";
import type { OrganizationRole, SiteRole } from "../authorization.js";
import { type Database, lookup } from "../database.js";
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
  /** On the process's monotonic clock. */
  readonly readAt: number;
}

interface KeyRow {
  secretHash: Buffer;
  kind: TokenKind;
  scopes: string[];
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string | null;
  userId: string;
  status: "active" | "suspended";
  siteRoles: SiteRole[];
  organizations: Record<string, OrganizationRole[]>;
}

const keyWithUser = lookup<KeyRow>(`
  select k.secret_hash as "secretHash", k.kind, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
    k.last_used_at as "lastUsedAt", u.id as "userId", u.status, u.site_roles as "siteRoles",
    (select coalesce(json_object_agg(m.organization_id, m.roles), '{}')
       from organization_members m join organizations o on o.id = m.organization_id
      where m.user_id = u.id and o.deleted_at is null) as organizations
  from api_keys k join users u on u.id = k.user_id
  where k.id = $1 and u.deleted_at is null and not u.is_system`);

/** Milliseconds for which a snapshot counts: what is revoked dies within them even if no hint arrives. */
const lifetime = 1_000;

/** Snapshots kept at most, about a kilobyte each. */
const limit = 10_000;

/** What the keys in use allow, read in one statement each and remembered for a second. */
export class Snapshots {
  readonly #known = new LRUCache<string, Snapshot>({ max: limit });
  readonly #reading = new Map<string, Promise<Snapshot | undefined>>();

  constructor(
    private readonly database: Database,
    private readonly entersWorkspaces: boolean,
  ) {}

  /** The snapshot of a key, if a fresh one is at hand. */
  recent(id: string): Snapshot | undefined {
    const snapshot = this.#known.get(id);
    return snapshot && performance.now() - snapshot.readAt < lifetime ? snapshot : undefined;
  }

  /** Reads a key; requests that ask at the same time share the statement. `undefined` if there is none. */
  read(id: string): Promise<Snapshot | undefined> {
    const running = this.#reading.get(id);
    if (running) return running;
    const reading = this.#read(id)
      .then((snapshot) => {
        // Dropped meanwhile: what was read may be older than the change.
        if (snapshot && this.#reading.get(id) === reading) this.#known.set(id, snapshot);
        return snapshot;
      })
      .finally(() => {
        if (this.#reading.get(id) === reading) this.#reading.delete(id);
      });
    this.#reading.set(id, reading);
    return reading;
  }

  async #read(id: string): Promise<Snapshot | undefined> {
    const readAt = performance.now();
    const [row] = await this.database.query(keyWithUser, [id]);
    return row && { ...this.#describe(id, row), readAt };
  }

  #describe(id: string, row: KeyRow): Omit<Snapshot, "readAt"> {
    const { kind, expiresAt, userId, siteRoles, scopes } = row;
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
        entersWorkspaces: this.entersWorkspaces,
        credential: { id, kind, expiresAt },
      },
    };
  }

  /** Forgets a key that changed. */
  dropKey(id: string): void {
    this.#known.delete(id);
    this.#reading.delete(id);
  }

  /** Forgets all keys of a user who changed. */
  dropUser(userId: string): void {
    this.#reading.clear();
    for (const [id, { actor }] of this.#known) if (actor.userId === userId) this.#known.delete(id);
  }

  clear(): void {
    this.#reading.clear();
    this.#known.clear();
  }
}

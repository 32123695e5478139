import { type Database, lookup } from "../kernel/database.js";
import type { Events } from "../kernel/events.js";
import { RecentUntilHint } from "../tokens/recent.js";

/** An access or refresh token that an application received, and its grant. */
export interface IssuedToken {
  kind: "access" | "refresh";
  id: string;
  secretHash: Buffer;
  grantId: string;
  /** The application that it was issued to, and its `client_id`. */
  ownerId: string;
  clientId: string;
  /** The user that it acts as. */
  userId: string;
  username: string;
  scopes: string[];
  /** Empty: the whole of this server. */
  audiences: string[];
  /** Seconds since the epoch. */
  issuedAt: number;
  expiresAt: number;
  /** Whether it can be used: it is not expired or spent, nor are its grant, user and application. */
  isActive: boolean;
  /** Whether it is for a resource that the application `$2` serves; not known for its own tokens. */
  isServed: boolean;
}

/** A token of a known kind. */
type Stored = Omit<IssuedToken, "kind">;

/** Lookups of tokens `t` by the public part `$1` of their texts. */
const tokenById = (table: string, access: string, isUsable: string) =>
  lookup<Stored>(`
    select t.id, t.secret_hash as "secretHash", g.id as "grantId", g.client_id as "ownerId",
      coalesce(c.document_url, c.id::text) as "clientId", u.id as "userId", u.username,
      ${access}.scopes, ${access}.audiences,
      floor(extract(epoch from t.created_at)) as "issuedAt", floor(extract(epoch from t.expires_at)) as "expiresAt",
      ${isUsable} and t.expires_at > now() and g.revoked_at is null and g.expires_at > now()
        and not c.is_disabled and u.status = 'active' and u.deleted_at is null as "isActive",
      g.client_id is distinct from $2::uuid and exists (
        select from oauth2_resources r where r.client_id = $2::uuid and r.uri = any(${access}.audiences)
      ) as "isServed"
    from ${table} t join oauth2_grants g on g.id = t.grant_id
      join oauth2_clients c on c.id = g.client_id join users u on u.id = g.user_id
    where t.id = $1`);

const accessTokenById = tokenById("api_keys", "t", "t.kind = 'oauth'");
export const refreshTokenById = tokenById("oauth2_refresh_tokens", "g", "t.spent_at is null");

/** Whether a hint is about a token, its user, or its application. */
const isConcerned = ({ id, userId, ownerId }: Stored, hint: string): boolean =>
  hint === `k:${id}` || hint === `u:${userId}` || hint === `c:${ownerId}`;

/**
 * The access tokens that applications ask about. Cached for at most a second: a resource server asks about a token at each
 * request with it.
 */
export class RecentTokens {
  readonly #recent: RecentUntilHint<Stored>;

  constructor({ database, events }: { database: Database; events: Events }) {
    const read = async (key: string) => {
      const [id, readerId] = key.split(" ") as [string, string];
      return (await database.query(accessTokenById, [id, readerId || null]))[0];
    };
    this.#recent = new RecentUntilHint(events, isConcerned, read);
  }

  /** Returns an access token, active or not, by its public part, as the application `readerId` sees it. */
  async find(id: string, readerId: string | null): Promise<Stored | undefined> {
    const key = `${id} ${readerId ?? ""}`;
    return this.#recent.at(key) ?? this.#recent.read(key);
  }

  close(): void {
    this.#recent.close();
  }
}

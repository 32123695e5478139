import { type Database, statement } from "../kernel/database.js";
import type { Events } from "../kernel/events.js";
import { keyedReads } from "../kernel/keyed-reads.js";
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
  /** Whether it is for a resource that the application which asks serves; not known for its own tokens. */
  isServed: boolean;
}

/** A token of a known kind. */
type Stored = Omit<IssuedToken, "kind">;

/** Selects tokens `t`, the one with the id `$1[nr]` as the application `$2[nr]` sees it. */
const tokensByIds = (table: string, access: string, isUsable: string) =>
  statement<Stored & { nr: number }>(`
    select asked.nr, t.id, t.secret_hash as "secretHash", g.id as "grantId", g.client_id as "ownerId",
      coalesce(c.document_url, c.id::text) as "clientId", u.id as "userId", u.username,
      ${access}.scopes, ${access}.audiences,
      floor(extract(epoch from t.created_at)) as "issuedAt", floor(extract(epoch from t.expires_at)) as "expiresAt",
      ${isUsable} and t.expires_at > now() and g.revoked_at is null and g.expires_at > now()
        and not c.is_disabled and u.status = 'active' and u.deleted_at is null as "isActive",
      g.client_id is distinct from asked.client_id and exists (
        select from oauth2_resources r where r.client_id = asked.client_id and r.uri = any(${access}.audiences)
      ) as "isServed"
    from unnest($1::text[], $2::uuid[]) with ordinality as asked (id, client_id, nr)
      cross join lateral (select * from ${table} where id = asked.id offset 0) t
      join oauth2_grants g on g.id = t.grant_id
      join oauth2_clients c on c.id = g.client_id join users u on u.id = g.user_id`);

const accessTokensByIds = tokensByIds("api_keys", "t", "t.kind = 'oauth'");
export const refreshTokensByIds = tokensByIds("oauth2_refresh_tokens", "g", "t.spent_at is null");

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
    const read = keyedReads<Stored>(async (keys) => {
      const asked = keys.map((key) => key.split(" "));
      const values = [asked.map(([id]) => id), asked.map(([, readerId]) => readerId || null)];
      const rows = await database.query(accessTokensByIds, values);
      return new Map(rows.map(({ nr, ...token }) => [keys[nr - 1]!, token]));
    });
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

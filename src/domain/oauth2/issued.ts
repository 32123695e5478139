import { type Database, statement } from "../kernel/database.js";
import { batchedReads } from "../kernel/batches.js";
import { isSecretOf, parseToken } from "../tokens/text.js";
import { parseSecret } from "./secrets.js";

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

/** Selects tokens `t`: the one with the id `$1[nr]`, as the application `$2[nr]` sees it. */
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

const statements = {
  access: tokensByIds("api_keys", "t", "t.kind = 'oauth'"),
  refresh: tokensByIds("oauth2_refresh_tokens", "g", "t.spent_at is null"),
};

/** Reads tokens by their id and the application that asks, or an empty text. */
const reads = (database: Database, kind: keyof typeof statements) =>
  batchedReads<Stored>(async (keys) => {
    const asked = keys.map((key) => key.split(" "));
    const values = [asked.map(([id]) => id), asked.map(([, readerId]) => readerId || null)];
    const rows = await database.query(statements[kind], values);
    return new Map(rows.map(({ nr, ...token }) => [keys[nr - 1]!, token]));
  });

/** Finds the tokens that applications ask about. One per replica. */
export class IssuedTokens {
  readonly #reads;

  constructor(database: Database) {
    this.#reads = { access: reads(database, "access"), refresh: reads(database, "refresh") };
  }

  /**
   * Finds a token by its text, active or not, with the resources that the application `readerId` serves; `undefined` for
   * all other texts. Reads outside of the transaction of the request.
   */
  async find(text: string, readerId: string | null): Promise<IssuedToken | undefined> {
    const access = parseToken(text);
    const parsed = access?.kind === "oauth" ? access : parseSecret("refreshToken", text);
    if (!parsed) return undefined;
    const kind = parsed === access ? "access" : "refresh";
    const found = await this.#reads[kind](`${parsed.id} ${readerId ?? ""}`);
    return found && isSecretOf(found.secretHash, parsed.secret) ? { kind, ...found } : undefined;
  }
}

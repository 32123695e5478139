import { type AliasedSelectQueryBuilder, type InferResult, sql } from "kysely";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { batchedReads } from "../kernel/batches.js";
import { isSecretOf, parseToken } from "../tokens/text.js";
import { parseSecret } from "./secrets.js";

/** An access or refresh token as it is stored. */
interface Token {
  id: string;
  secretHash: Buffer;
  grantId: string | null;
  scopes: string[];
  /** Empty: the whole of this server. */
  audiences: string[];
  createdAt: string;
  expiresAt: string;
  isUnspent: boolean;
}

type Kind = "access" | "refresh";

// `offset 0` has Postgres find each token by its id.
const asked = sql.ref<string>("asked.id");
const tokens: Record<Kind, (db: Db) => AliasedSelectQueryBuilder<Token, "t">> = {
  access: (db) =>
    db
      .selectFrom("apiKeys")
      .where("id", "=", asked)
      .where("kind", "=", "oauth")
      .select(["id", "secretHash", "grantId", "scopes", "audiences", "createdAt", "expiresAt"])
      .select(sql<boolean>`true`.as("isUnspent"))
      .offset(sql.lit(0))
      .as("t"),
  refresh: (db) =>
    db
      .selectFrom("oauth2RefreshTokens as r")
      .innerJoin("oauth2Grants as g", "g.id", "r.grantId")
      .where("r.id", "=", asked)
      .select(["r.id", "r.secretHash", "r.grantId", "g.scopes", "g.audiences", "r.createdAt", "r.expiresAt"])
      .select(sql<boolean>`r.spent_at is null`.as("isUnspent"))
      .offset(sql.lit(0))
      .as("t"),
};

/** Selects tokens by id, each as an application sees it that asks: null for none. */
const issuedTokens = (db: Db, kind: Kind, ids: readonly string[], readerIds: ReadonlyArray<string | null>) =>
  db
    .selectFrom(
      sql<{ id: string; readerId: string | null; nr: number }>`
        unnest(${ids}::text[], ${readerIds}::uuid[]) with ordinality`.as<"asked">(sql`asked (id, reader_id, nr)`),
    )
    .innerJoinLateral(tokens[kind](db), (join) => join.onTrue())
    .innerJoin("oauth2Grants as g", "g.id", "t.grantId")
    .innerJoin("oauth2Clients as c", "c.id", "g.clientId")
    .innerJoin("users as u", "u.id", "g.userId")
    .select(["asked.nr", "t.id", "t.secretHash", "t.scopes", "t.audiences"])
    // The application that it was issued to, and the user that it acts as.
    .select(["g.id as grantId", "g.clientId as ownerId", "u.id as userId", "u.username"])
    .select([
      sql<string>`coalesce(c.document_url, c.id::text)`.as("clientId"),
      // Seconds since the epoch.
      sql<number>`floor(extract(epoch from t.created_at))`.as("issuedAt"),
      sql<number>`floor(extract(epoch from t.expires_at))`.as("expiresAt"),
      // Whether it can be used: it is not expired or spent, nor are its grant, user and application.
      sql<boolean>`(t.is_unspent and t.expires_at > now() and g.revoked_at is null and g.expires_at > now()
        and not c.is_disabled and u.status = 'active' and u.deleted_at is null)`.as("isActive"),
      // Whether it is for a resource that the application which asks serves; not known for its own tokens.
      sql<boolean>`(g.client_id is distinct from asked.reader_id and exists (
        select from oauth2_resources r where r.client_id = asked.reader_id and r.uri = any(t.audiences)))`.as(
        "isServed",
      ),
    ]);

/** An access or refresh token that an application received, and its grant. */
export type IssuedToken = { kind: Kind } & Stored;
type Stored = Omit<InferResult<ReturnType<typeof issuedTokens>>[number], "nr">;

/** Reads tokens by their id and the application that asks, or an empty text. */
const reads = (db: Db, kind: Kind) =>
  batchedReads<Stored>(async (keys) => {
    const wanted = keys.map((key) => key.split(" "));
    const ids = wanted.map(([id]) => id!);
    const readerIds = wanted.map(([, readerId]) => readerId || null);
    const rows = await issuedTokens(db, kind, ids, readerIds).execute();
    return new Map(rows.map(({ nr, ...token }) => [keys[nr - 1]!, token]));
  });

/** Finds the tokens that applications ask about. One per replica. */
export class IssuedTokens {
  readonly #reads;

  constructor({ db }: Pick<Database, "db">) {
    this.#reads = { access: reads(db, "access"), refresh: reads(db, "refresh") };
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

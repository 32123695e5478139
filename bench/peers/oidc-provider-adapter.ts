// Storage of oidc-provider in Postgres.
import { hash } from "node:crypto";
import type { QueryResult } from "pg";
import { oidcProviderTables } from "./oauth2-tables.js";
import { begin, query } from "./transactions.js";

type Payload = Record<string, unknown> & { grantId?: string };

/** Ids are the text of opaque tokens: only their hash is stored. */
const hashOf = (id: string) => hash("sha256", id, "buffer");

/** The rows of one model. */
export class PostgresAdapter {
  readonly #table: string;

  constructor(private readonly model: string) {
    this.#table = `oidc_provider.${oidcProviderTables[model]}`;
  }

  async upsert(id: string, payload: Payload, expiresIn?: number): Promise<void> {
    await this.#query(
      "upsert",
      `insert into ${this.#table} (id, payload, grant_id, expires_at)
       values ($1, $2, $3, now() + make_interval(secs => $4))
       on conflict (id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      [hashOf(id), JSON.stringify({ ...payload, jti: undefined }), payload.grantId ?? null, expiresIn ?? null],
    );
  }

  async find(id: string): Promise<Payload | undefined> {
    const { rows } = await this.#query<{ payload: Payload; consumed: number | null }>(
      "find",
      `select payload, extract(epoch from consumed_at)::int as consumed from ${this.#table} where id = $1`,
      [hashOf(id)],
    );
    if (!rows[0]) return undefined;
    const { payload, consumed } = rows[0];
    // The metadata of a client is not a token.
    if (this.model === "Client") return payload;
    return { ...payload, jti: id, ...(consumed !== null && { consumed }) };
  }

  /** A rotation spends one token and stores two: a failure in between must not cost the application its access. */
  async consume(id: string): Promise<void> {
    await begin();
    await this.#query("consume", `update ${this.#table} set consumed_at = now() where id = $1`, [hashOf(id)]);
  }

  async destroy(id: string): Promise<void> {
    await this.#query("destroy", `delete from ${this.#table} where id = $1`, [hashOf(id)]);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#query("revoke", `delete from ${this.#table} where grant_id = $1`, [grantId]);
  }

  #query<Row extends object>(verb: string, text: string, values: unknown[]): Promise<QueryResult<Row>> {
    return query<Row>(`${verb} ${this.model}`, text, values);
  }
}

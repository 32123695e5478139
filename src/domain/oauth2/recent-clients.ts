import { type Database, lookup } from "../kernel/database.js";
import type { Events, Subscription } from "../kernel/events.js";
import { isUuid } from "../kernel/text.js";
import { Recent } from "../tokens/recent.js";
import { clientColumns, type ClientRow } from "./client-rows.js";

/** An application with one of its secrets, or without. */
export interface KnownClient extends ClientRow {
  secretId: string | null;
  secretHash: Buffer | null;
  secretExpiresAt: string | null;
  /** Whether the stored times of the last use are older than 5 minutes. */
  isUseStale: boolean;
}

/** The condition that the stored time of the last use is old. */
export const isStale = (alias: string) =>
  `(${alias}.last_used_at is null or ${alias}.last_used_at < now() - interval '5 minutes')`;

const clientWithSecret = (condition: string) =>
  lookup<KnownClient>(`
    select ${clientColumns}, s.id as "secretId", s.secret_hash as "secretHash", s.expires_at as "secretExpiresAt",
      ${isStale("c")} or (s.id is not null and ${isStale("s")}) as "isUseStale"
    from oauth2_clients c left join oauth2_client_secrets s on s.client_id = c.id and s.key = $2
    where ${condition} and ($2::varchar is null or s.id is not null)`);

const byId = clientWithSecret("c.id = $1");
const byDocument = clientWithSecret("c.document_url = $1");

/** Maximum number of cached applications, some of which have 64 kB of redirect URIs and metadata. */
const limit = 1_000;

/**
 * The applications that authenticate, by `client_id` and secret. Cached for at most a second: they request tokens all the
 * time. Changes are noticed immediately on the replica that makes them, and on others by a hint.
 */
export class RecentClients {
  readonly #recent: Recent<KnownClient>;
  readonly #hints: Subscription;

  constructor({ database, events }: { database: Database; events: Events }) {
    this.#recent = new Recent(async (key) => {
      const [clientId, secretKey] = key.split(" ") as [string, string];
      const which = isUuid(clientId) ? byId : byDocument;
      return (await database.query(which, [clientId, secretKey || null]))[0];
    }, limit);
    this.#hints = events.subscribeAll(
      "auth",
      (hint) => hint.startsWith("c:") && this.#recent.dropWhere(({ id }) => id === hint.slice(2)),
      () => this.#recent.clear(),
    );
  }

  /** Returns an application by its `client_id`, disabled or not, with the secret of this key if one is given. */
  async find(clientId: string, secretKey = ""): Promise<KnownClient | undefined> {
    if (clientId.includes(" ")) return undefined;
    const key = `${clientId} ${secretKey}`;
    return this.#recent.at(key) ?? this.#recent.read(key);
  }

  close(): void {
    this.#hints.close();
  }
}

import { type InferResult, sql } from "kysely";
import { LRUCache } from "lru-cache";
import type { Database, Db } from "../../infrastructure/database/database.js";
import type { Events, Subscription } from "../../runtime/events.js";
import { Recent } from "../tokens/recent.js";
import { clients, columnOf } from "./clients.js";

/** The condition that the stored time of the last use is old. */
export const isStale = (table: string) => sql<boolean>`
  (${sql.ref(`${table}.lastUsedAt`)} is null or ${sql.ref(`${table}.lastUsedAt`)} < now() - interval '5 minutes')`;

/** An application by its `client_id`, with the secret of a key, or without. */
const clientWithSecret = (db: Db, clientId: string, secretKey: string | null) =>
  clients(db)
    .leftJoin("oauth2ClientSecrets as s", (join) =>
      join.onRef("s.clientId", "=", "oauth2Clients.id").on("s.key", "=", secretKey),
    )
    .where(columnOf(clientId), "=", clientId)
    .$if(secretKey !== null, (known) => known.where("s.id", "is not", null))
    .select(["s.id as secretId", "s.secretHash", "s.expiresAt as secretExpiresAt"])
    .select(
      // Whether the stored times of the last use are older than 5 minutes.
      sql<boolean>`${isStale("oauth2Clients")} or (s.id is not null and ${isStale("s")})`.as("isUseStale"),
    );

/** An application with one of its secrets, or without. */
export type KnownClient = InferResult<ReturnType<typeof clientWithSecret>>[number];

/** Maximum number of cached applications, some of which have 64 kB of redirect URIs and metadata. */
const limit = 1_000;

/** After so many tokens that this process issued to an application with client credentials, their number is limited again. */
const limitedEvery = 10;

/**
 * The applications that authenticate, by `client_id` and secret. Cached for at most a second: they request tokens all the
 * time. Changes are noticed immediately on the replica that makes them, and on others by a hint.
 */
export class RecentClients {
  readonly #recent: Recent<KnownClient>;
  readonly #hints: Subscription;
  /** The number of tokens issued with client credentials, by application. */
  readonly #issued = new LRUCache<string, number>({ max: limit });

  constructor({ database, events }: { database: Pick<Database, "db">; events: Events }) {
    this.#recent = new Recent(
      async (key) => {
        const [clientId, secretKey] = key.split(" ") as [string, string];
        return clientWithSecret(database.db, clientId, secretKey || null).executeTakeFirst();
      },
      ({ id }) => [id],
      limit,
    );
    this.#hints = events.subscribeAll(
      "auth",
      (hint) => hint.startsWith("c:") && this.#recent.drop(hint.slice(2)),
      () => this.#recent.clear(),
    );
  }

  /** Returns an application by its `client_id`, disabled or not, with the secret of this key if one is given. */
  async find(clientId: string, secretKey = ""): Promise<KnownClient | undefined> {
    if (clientId.includes(" ")) return undefined;
    const key = `${clientId} ${secretKey}`;
    return this.#recent.at(key) ?? this.#recent.read(key);
  }

  /** Counts a token issued with client credentials. Returns whether it is the first, or another of ten. */
  isTimeToLimit(id: string): boolean {
    const before = this.#issued.get(id) ?? 0;
    this.#issued.set(id, (before + 1) % limitedEvery);
    return before === 0;
  }

  close(): void {
    this.#hints.close();
  }
}

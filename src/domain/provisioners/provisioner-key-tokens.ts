import { sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, now } from "../kernel/queries.js";
import type { MachineTokens } from "../tokens/machines.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";
import { faultOf, matching } from "../kernel/values.js";

/** A key with which provisioner daemons connect. */
export interface ProvisionerKeyHolder {
  readonly kind: "provisioner_key";
  readonly id: string;
  /** SHA-256 of the secret of the key, base64. */
  readonly tokenHash: string;
  readonly organizationId: string;
  readonly name: string;
  /** The tags of its daemons. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Keys of provisioner daemons: `stwk_<secret>`. */
export const provisionerKeys: MachineTokens<ProvisionerKeyHolder> = {
  kind: "provisioner_key",
  form: /^stwk_([0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  find: (db, hashes) =>
    livingKeys(db)
      .where("k.secretHash", "=", anyOf(hashes, "bytea"))
      .select("k.secretHash as tokenHash")
      .unionAll(
        livingKeys(db)
          .where("k.formerSecretHash", "=", anyOf(hashes, "bytea"))
          .where("k.formerSecretEndsAt", ">", now)
          .select((eb) => eb.ref("k.formerSecretHash").$notNull().as("tokenHash")),
      )
      .execute(),
};

const livingKeys = (db: Db) =>
  db
    .selectFrom("provisionerKeys as k")
    .innerJoin("organizations as o", "o.id", "k.organizationId")
    .where("o.deletedAt", "is", null)
    .select(["k.id", "k.organizationId", "k.name", "k.tags"]);

const isOlder = (column: string) =>
  sql<SqlBool>`coalesce(${sql.ref(column)}, '-infinity') < now() - interval '1 minute'`;

/** Records that a daemon uses a secret of a key, at most once a minute. */
export async function noteKeyUsed(db: Db, keyId: string, tokenHash: string): Promise<void> {
  const hash = Buffer.from(tokenHash, "base64");
  await db
    .updateTable("provisionerKeys")
    .set((eb) => ({
      lastUsedAt: eb.case().when("secretHash", "=", hash).then(now).else(eb.ref("lastUsedAt")).end(),
      formerSecretUsedAt: eb.case().when("secretHash", "=", hash).then(eb.ref("formerSecretUsedAt")).else(now).end(),
    }))
    .where("id", "=", keyId)
    .where((eb) =>
      eb.or([
        eb("secretHash", "=", hash).and(isOlder("lastUsedAt")),
        eb("formerSecretHash", "=", hash).and(isOlder("formerSecretUsedAt")),
      ]),
    )
    .execute();
}

/** Generates a key. The text is returned once; only the hash is stored. */
export function newProvisionerKey(): { text: string; hash: Buffer } {
  const secret = randomText(43);
  return { text: `stwk_${secret}`, hash: hashSecret(secret) };
}

/** A key without a secret, which each organization has. */
export interface ReservedKey {
  id: string;
  name: string;
}

/** The keys of the daemon of the server, and of daemons that connect with the session of a user. */
export const reservedKeys = {
  builtIn: { id: "00000000-0000-7000-8000-000000000001", name: "built-in" },
  userAuth: { id: "00000000-0000-7000-8000-000000000002", name: "user-auth" },
} as const satisfies Record<string, ReservedKey>;

const reservedNames = new Set<string>(Object.values(reservedKeys).map(({ name }) => name));

/** Whether a name, in any letter case, is that of a reserved key. */
export const isReservedKey = (name: string): boolean => reservedNames.has(name.toLowerCase());

/** Names of keys and daemons. */
export const daemonName = matching(
  /^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/,
  "Must be 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit at both ends.",
  { maxLength: 64 },
);

/** The rule that the name of a key or daemon violates. */
export const daemonNameProblem = (name: string): string | undefined => faultOf(daemonName, name);

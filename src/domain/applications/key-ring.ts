import { hkdfSync, randomBytes } from "node:crypto";
import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { appConnectSecrets } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const appConnectKeys = columnsOf("appConnectKeys");

/** A key derived from a key of the ring for one recipient. It opens only messages to this recipient. */
export interface AppConnectKey {
  kid: string;
  /** 32 bytes, base64url. */
  key: string;
  usableFrom: string;
  retiredAt: string | null;
}

/** The period of use of a key, and the time before and after it in which recipients have the key, too. */
const age = sql`interval '30 days'`;
const margin = sql`interval '5 minutes'`;

/** The keys that recipients need, oldest first. */
const ring = (db: Db) =>
  db
    .selectFrom("appConnectKeys")
    .where((eb) => eb.or([eb("retiredAt", "is", null), eb("retiredAt", ">", sql<string>`now() - ${margin}`)]))
    .orderBy("usableFrom")
    .orderBy("id")
    .select(["id", "keyId", "secretNonce as nonce", "secretCiphertext as ciphertext", "usableFrom", "retiredAt"])
    .select([
      // Whether new messages are encrypted with it. It may have been created after the start of this transaction.
      sql<boolean>`${appConnectKeys.usableFrom} <= clock_timestamp() and coalesce(${appConnectKeys.retiredAt} > clock_timestamp(), true)`.as(
        "isInUse",
      ),
      // Whether its successor is due.
      sql<boolean>`${appConnectKeys.usableFrom} <= now() - ${age} + ${margin}`.as("isAging"),
    ]);

type RingKey = InferResult<ReturnType<typeof ring>>[number];

/** Returns the keys that recipients need, oldest first. Creates the first key, and the next one when it is due. */
async function keptRing(ctx: Context): Promise<RingKey[]> {
  const keys = await ring(ctx.db).execute();
  if (!needsKey(keys)) return keys;
  await takeTurn(ctx, "app_connect_keys");
  if (needsKey(await ring(ctx.db).execute())) await appendKey(ctx);
  return ring(ctx.db).execute();
}

const needsKey = (keys: RingKey[]): boolean => keys.length === 0 || keys.at(-1)!.isAging;

/**
 * Adds a key. The first key is used immediately; a later one from the end of its predecessor, but not before recipients had
 * time to fetch it.
 */
async function appendKey(ctx: Context): Promise<void> {
  const { usableFrom } = await ctx.db
    .selectFrom("appConnectKeys")
    .where("retiredAt", "is", null)
    .select(
      sql<string>`date_trunc('milliseconds', coalesce(max(greatest(${appConnectKeys.usableFrom} + ${age}, now() + ${margin})), now()))`.as(
        "usableFrom",
      ),
    )
    .executeTakeFirstOrThrow();
  await ctx.db.updateTable("appConnectKeys").set({ retiredAt: usableFrom }).where("retiredAt", "is", null).execute();
  await ctx.db
    .deleteFrom("appConnectKeys")
    .where("retiredAt", "<=", sql<string>`now() - ${margin}`)
    .execute();
  const id = newId();
  const place = appConnectSecrets.place({ id, ownerId: id });
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(place, randomBytes(32).toString("base64url"));
  await ctx.db
    .insertInto("appConnectKeys")
    .values({ id, keyId, secretNonce: nonce, secretCiphertext: ciphertext, usableFrom })
    .execute()
    .catch(refuseForgottenKey);
}

/** Derives the key of a recipient (HKDF, RFC 5869), which discloses neither the secret nor keys of other recipients. */
function deriveKey(ctx: Context, key: RingKey, recipient: string): Buffer {
  const place = appConnectSecrets.place({ id: key.id, ownerId: key.id });
  const secret = Buffer.from(ctx.services.vault.open(place, key), "base64url");
  return Buffer.from(hkdfSync("sha256", secret, "", `steward app-connect v1:${recipient}`, 32));
}

/** The keys of a recipient: in use, recently retired, and soon to be used. */
export async function appConnectKeysFor(ctx: Context, recipient: string): Promise<AppConnectKey[]> {
  return (await keptRing(ctx)).map((key) => ({
    kid: key.id,
    key: deriveKey(ctx, key, recipient).toString("base64url"),
    usableFrom: key.usableFrom,
    retiredAt: key.retiredAt,
  }));
}

/** The key that encrypts messages for a recipient. */
export async function sealingKey(ctx: Context, recipient: string): Promise<{ kid: string; key: Buffer }> {
  const key = (await keptRing(ctx)).find(({ isInUse }) => isInUse);
  if (!key) throw new Error("No key of the ring is in use.");
  return { kid: key.id, key: deriveKey(ctx, key, recipient) };
}

/** The key of a recipient by its id; `undefined` if the recipient does not have it. */
export async function openingKey(ctx: Context, recipient: string, kid: string): Promise<Buffer | undefined> {
  const key = (await ring(ctx.db).execute()).find(({ id }) => id === kid);
  return key && deriveKey(ctx, key, recipient);
}

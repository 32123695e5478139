import { hkdfSync, randomBytes } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { appConnectSecrets } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../kernel/locks.js";
import type { Sealed } from "../outside/vault.js";

/** A key derived from a key of the ring for one recipient. It opens only messages to this recipient. */
export interface AppConnectKey {
  kid: string;
  /** 32 bytes, base64url. */
  key: string;
  usableFrom: string;
  retiredAt: string | null;
}

interface RingKey extends Sealed {
  id: string;
  usableFrom: string;
  retiredAt: string | null;
  /** Whether new messages are encrypted with it. */
  isInUse: boolean;
  /** Whether its successor is due. */
  isAging: boolean;
}

/** The period of use of a key, and the time before and after it in which recipients have the key, too. */
const age = "interval '30 days'";
const margin = "interval '5 minutes'";

// Uses `clock_timestamp()`, because a key may have been created after the start of this transaction.
const ring = statement<RingKey>(`
  select id, key_id as "keyId", secret_nonce as nonce, secret_ciphertext as ciphertext, usable_from as "usableFrom",
    retired_at as "retiredAt", usable_from <= clock_timestamp() and coalesce(retired_at > clock_timestamp(), true) as "isInUse",
    usable_from <= now() - ${age} + ${margin} as "isAging"
  from app_connect_keys where retired_at is null or retired_at > now() - ${margin}
  order by usable_from, id`);

// The first key is used immediately; a later one from the end of its predecessor, but not before recipients had time to
// fetch it.
const append = statement(`
  with start as (
    select date_trunc('milliseconds', coalesce(max(greatest(usable_from + ${age}, now() + ${margin})), now())) as moment
    from app_connect_keys where retired_at is null
  ), retired as (
    update app_connect_keys set retired_at = start.moment from start where retired_at is null
  ), forgotten as (
    delete from app_connect_keys where retired_at <= now() - ${margin}
  )
  insert into app_connect_keys (id, key_id, secret_nonce, secret_ciphertext, usable_from)
  select $1, $2, $3, $4, start.moment from start`);

/** Returns the keys that recipients need, oldest first. Creates the first key, and the next one when it is due. */
async function keptRing(ctx: Context): Promise<RingKey[]> {
  const keys = await ctx.rows(ring);
  if (!needsKey(keys)) return keys;
  await takeTurn(ctx, "app_connect_keys");
  if (needsKey(await ctx.rows(ring))) await appendKey(ctx);
  return ctx.rows(ring);
}

const needsKey = (keys: RingKey[]): boolean => keys.length === 0 || keys.at(-1)!.isAging;

async function appendKey(ctx: Context): Promise<void> {
  const id = newId();
  const place = appConnectSecrets.place({ id, ownerId: id });
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(place, randomBytes(32).toString("base64url"));
  await ctx.rows(append, id, keyId, nonce, ciphertext).catch(refuseForgottenKey);
}

/** Derives the key of a recipient (HKDF, RFC 5869), which discloses neither the secret nor keys of other recipients. */
function derived(ctx: Context, key: RingKey, recipient: string): Buffer {
  const place = appConnectSecrets.place({ id: key.id, ownerId: key.id });
  const secret = Buffer.from(ctx.services.vault.open(place, key), "base64url");
  return Buffer.from(hkdfSync("sha256", secret, "", `steward app-connect v1:${recipient}`, 32));
}

/** The keys of a recipient: in use, recently retired, and soon to be used. */
export async function appConnectKeysFor(ctx: Context, recipient: string): Promise<AppConnectKey[]> {
  return (await keptRing(ctx)).map((key) => ({
    kid: key.id,
    key: derived(ctx, key, recipient).toString("base64url"),
    usableFrom: key.usableFrom,
    retiredAt: key.retiredAt,
  }));
}

/** The key that encrypts messages for a recipient. */
export async function sealingKey(ctx: Context, recipient: string): Promise<{ kid: string; key: Buffer }> {
  const key = (await keptRing(ctx)).find(({ isInUse }) => isInUse);
  if (!key) throw new Error("No key of the ring is in use.");
  return { kid: key.id, key: derived(ctx, key, recipient) };
}

/** The key of a recipient by its id; `undefined` if the recipient does not have it. */
export async function openingKey(ctx: Context, recipient: string, kid: string): Promise<Buffer | undefined> {
  const key = (await ctx.rows(ring)).find(({ id }) => id === kid);
  return key && derived(ctx, key, recipient);
}

import { hkdfSync, randomBytes } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { appConnectSecrets } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import { newId } from "../kernel/ids.js";
import type { Sealed } from "../outside/vault.js";

/** A key of the ring as one recipient gets it: good for what is sent to that recipient, and for nothing else. */
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
  /** Whether messages are sealed with it now. */
  isInUse: boolean;
  /** Whether it is time to hand out its successor. */
  isAging: boolean;
}

/** How long a key is used, and how long before and after that recipients have it. */
const age = "interval '30 days'";
const margin = "interval '5 minutes'";

// By the clock of the moment: a key that another transaction has made meanwhile is in use, however old this one is.
const ring = statement<RingKey>(`
  select id, key_id as "keyId", secret_nonce as nonce, secret_ciphertext as ciphertext, usable_from as "usableFrom",
    retired_at as "retiredAt", usable_from <= clock_timestamp() and coalesce(retired_at > clock_timestamp(), true) as "isInUse",
    usable_from <= now() - ${age} + ${margin} as "isAging"
  from app_connect_keys where retired_at is null or retired_at > now() - ${margin}
  order by usable_from, id`);

const lockRing = statement(`select pg_advisory_xact_lock(hashtext('steward.app_connect_keys'))`);

// The first key is used at once; later ones when their predecessors have been used long enough, but not before
// everybody had the time to fetch them.
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

/** The keys that recipients need, oldest first. Makes the first one, and the next when it is time. */
async function keptRing(ctx: Context): Promise<RingKey[]> {
  const keys = await ctx.rows(ring);
  if (!needsKey(keys)) return keys;
  await ctx.rows(lockRing);
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

/** The key of a recipient, which tells nothing of the secret or of other recipients' keys (RFC 5869). */
function derived(ctx: Context, key: RingKey, recipient: string): Buffer {
  const place = appConnectSecrets.place({ id: key.id, ownerId: key.id });
  const secret = Buffer.from(ctx.services.vault.open(place, key), "base64url");
  return Buffer.from(hkdfSync("sha256", secret, "", `steward app-connect v1:${recipient}`, 32));
}

/** The keys of a recipient: those in use, those just retired, and the next one shortly before it is used. */
export async function appConnectKeysFor(ctx: Context, recipient: string): Promise<AppConnectKey[]> {
  return (await keptRing(ctx)).map((key) => ({
    kid: key.id,
    key: derived(ctx, key, recipient).toString("base64url"),
    usableFrom: key.usableFrom,
    retiredAt: key.retiredAt,
  }));
}

/** The key to seal a message for a recipient with. */
export async function sealingKey(ctx: Context, recipient: string): Promise<{ kid: string; key: Buffer }> {
  const key = (await keptRing(ctx)).find(({ isInUse }) => isInUse);
  if (!key) throw new Error("No key of the ring is in use.");
  return { kid: key.id, key: derived(ctx, key, recipient) };
}

/** The key of a recipient that a message names, if the recipient has it. */
export async function openingKey(ctx: Context, recipient: string, kid: string): Promise<Buffer | undefined> {
  const key = (await ctx.rows(ring)).find(({ id }) => id === kid);
  return key && derived(ctx, key, recipient);
}

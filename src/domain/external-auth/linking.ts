import { auditedAs } from "../audit/audit.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { forbidden } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { hour, purge } from "../kernel/purge.js";
import type { TokenSet } from "../outside/external-providers/responses.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { linkHint, sealTokens, storedId, tokenColumns } from "./links.js";

/** Pending links of each kind per user and provider. Another one drops the oldest. */
const mostPending = 10;

const lockUser = statement(`select from users where id = $1 for no key update`);

/** Declares the statement that makes room for another pending link of a user at a provider. */
const dropOldest = (table: string) =>
  statement(`
    delete from ${table} where id in (
      select id from ${table} where user_id = $1 and provider_id = $2 order by id desc offset ${mostPending - 1}
    )`);

const drops = { states: dropOldest("external_auth_states"), devices: dropOldest("external_auth_devices") };

/** Makes room for another pending link, in a transaction, which locks the user. */
export async function makeRoom(
  ctx: Context,
  kind: keyof typeof drops,
  userId: string,
  providerId: string,
): Promise<void> {
  await ctx.rows(lockUser, userId);
  await ctx.rows(drops[kind], userId, storedId(providerId));
}

// Locks the user: a link must not outlive its deletion. A replaced link gets a new id, which authenticates its tokens.
const upsertLink = statement<{ isNew: boolean }>(`
  with living as (
    select id from users where id = $2 and status = 'active' and deleted_at is null for no key update
  )
  insert into external_auth_links as l (id, user_id, provider_id, ${tokenColumns.join(", ")}, expires_at, scopes,
    created_at, updated_at)
  select $1, living.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now() + make_interval(secs => $13), $14, now(), now()
  from living
  on conflict (provider_id, user_id) do update
  set (id, ${tokenColumns.join(", ")}, expires_at, scopes) = (excluded.id,
      ${tokenColumns.map((column) => `excluded.${column}`).join(", ")}, excluded.expires_at, excluded.scopes),
    updated_at = now(), version = l.version + 1, account = null, refresh_error = '', refreshing_until = null,
    validation = 'unknown', validated_at = null, validation_paused_until = null
  returning xmax = 0 as "isNew"`);

const redeemDevice = statement(`
  update external_auth_devices set redeemed_at = now(), polling_until = null where id = $1`);

/**
 * Stores the tokens that a provider has issued as the link of the user, in a transaction of its own. Replaces an existing
 * link. If that fails, the tokens are revoked after the response. `deviceId` is the device code that was redeemed.
 */
export async function storeLink(
  ctx: Context,
  provider: ExternalAuthProvider,
  userId: string,
  tokens: TokenSet,
  deviceId?: string,
): Promise<void> {
  const own = ctx.afresh();
  try {
    await own.transactional(async () => {
      const id = newId();
      const { expiresIn = null, scopes = provider.scopes } = tokens;
      const sealed = sealTokens(ctx.services, { id, ownerId: userId }, tokens);
      const values = [id, userId, storedId(provider.id), ...sealed, expiresIn, scopes];
      const stored = await own.row(upsertLink, ...values).catch(refuseForgottenKey);
      if (!stored) throw forbidden("The account is not active.");
      if (deviceId !== undefined) await own.row(redeemDevice, deviceId);
      const diff = { userId: { new: userId }, accessToken: { new: "***" }, scopes: { new: scopes } };
      const action = stored.isNew ? "create" : "update";
      own.audit({ action, ...auditedAs("external_auth_link", id, provider.id), diff });
      own.publish(linkHint(userId));
    });
  } catch (error) {
    revokeOrphan(ctx, provider, tokens);
    throw error;
  }
}

function revokeOrphan({ services }: Context, provider: ExternalAuthProvider, tokens: TokenSet): void {
  if (provider.revokeUrl === "") return;
  services.errands.run("revoke a token that was not stored", (signal) =>
    services.externalAuth.calls.revoke(provider, tokens, signal),
  );
}

/** Delete expired pending links. */
export const pendingLinkPurges = [
  purge("external_auth_states", { by: "expires_at", every: hour }),
  purge("external_auth_devices", { by: "expires_at", every: hour }),
];

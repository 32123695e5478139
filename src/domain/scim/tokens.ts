import type { ScimKeyActor } from "../kernel/actor.js";
import { statement } from "../kernel/database.js";
import type { MachineTokens } from "../tokens/machines.js";
import { hashSecret, randomText } from "../tokens/text.js";

const isLiving = "(k.expires_at is null or k.expires_at > now())";

/** Keys of identity providers: `stwi_<id>_<secret>`. Id and secret are hashed together, which authenticates the id. */
export const scimKeys: MachineTokens<ScimKeyActor> = {
  kind: "scim_key",
  form: /^stwi_([0-9A-Za-z]{10}_[0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  bySecret: statement(`
    select k.id, k.source, k.last_used_at as "lastUsedAt", array(
      select o.id from unnest(k.organization_ids) with ordinality named (id, place) join organizations o using (id)
      where o.deleted_at is null order by place) as "organizationIds"
    from scim_keys k where k.token_hash = $1 and ${isLiving}`),
  living: statement<{ id: string }>(`
    select given.id from unnest($1::text[]) given (id) join scim_keys k on k.token_hash = decode(given.id, 'base64')
    where ${isLiving}`),
};

/** Generates a key. The text is returned to the operator once; only the hash is stored. */
export function newScimKey(): { id: string; text: string; hash: Buffer } {
  const id = randomText(10);
  const secret = `${id}_${randomText(43)}`;
  return { id, text: `stwi_${secret}`, hash: hashSecret(secret) };
}

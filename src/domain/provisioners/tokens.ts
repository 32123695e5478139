import { statement } from "../kernel/database.js";
import type { MachineTokens } from "../tokens/machines.js";
import { hashSecret, randomText } from "../tokens/text.js";

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
  bySecret: statement(`
    select k.id, k.organization_id as "organizationId", k.name, k.tags
    from provisioner_keys k join organizations o on o.id = k.organization_id
    where k.secret_hash = $1 and o.deleted_at is null`),
  living: statement<{ id: string }>(`
    select given.id from unnest($1::text[]) given (id)
      join provisioner_keys k on k.secret_hash = decode(given.id, 'base64')
      join organizations o on o.id = k.organization_id
    where o.deleted_at is null`),
};

/** Generates a key. The text is returned once; only the hash is stored. */
export function newProvisionerKey(): { text: string; hash: Buffer } {
  const secret = randomText(43);
  return { text: `stwk_${secret}`, hash: hashSecret(secret) };
}

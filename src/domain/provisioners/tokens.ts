import { anyOf } from "../kernel/any-of.js";
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
  find: (db, hashes) =>
    db
      .selectFrom("provisionerKeys as k")
      .innerJoin("organizations as o", "o.id", "k.organizationId")
      .where("k.secretHash", "=", anyOf(hashes, "bytea"))
      .where("o.deletedAt", "is", null)
      .select(["k.id", "k.organizationId", "k.name", "k.tags", "k.secretHash as tokenHash"])
      .execute(),
};

/** Generates a key. The text is returned once; only the hash is stored. */
export function newProvisionerKey(): { text: string; hash: Buffer } {
  const secret = randomText(43);
  return { text: `stwk_${secret}`, hash: hashSecret(secret) };
}

import { Migration } from "@mikro-orm/migrations";

/** Provisioner keys get new secrets, beside which the former one is valid for a time. */
export class ProvisionerKeyRotation extends Migration {
  override up(): void {
    this.addSql(`alter table provisioner_keys
      add column rotated_at timestamptz(3) null,
      add column last_used_at timestamptz(3) null,
      add column former_secret_hash bytea null,
      add column former_secret_ends_at timestamptz(3) null,
      add column former_secret_used_at timestamptz(3) null`);
    this.addSql(`create unique index provisioner_keys_former_secret_unique on provisioner_keys (former_secret_hash)
      where former_secret_hash is not null`);
  }
}

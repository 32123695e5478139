import { Migration } from "@mikro-orm/migrations";

/**
 * Voids what proves who somebody is, once the account has changed since: passcodes that were mailed to a former address,
 * and conversions that were begun with a former password. The database does it, whatever changes the account.
 */
export class VoidProofs extends Migration {
  override up(): void {
    this.addSql(`
      create function void_proofs() returns trigger language plpgsql as $$
      begin
        -- The row stays: it limits how often passcodes are requested.
        update one_time_passcodes set code_hash = null where user_id = new.id and code_hash is not null;
        delete from login_conversions where user_id = new.id;
        return null;
      end $$;
      create trigger void_proofs after update of email, password_hash, login_type, status on users for each row
        when ((old.email, old.password_hash, old.login_type, old.status)
          is distinct from (new.email, new.password_hash, new.login_type, new.status))
        execute function void_proofs();
    `);
  }
}

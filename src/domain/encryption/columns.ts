import { statement } from "../kernel/database.js";
import type { Place, Sealed } from "../outside/vault.js";

/** A column whose values are encrypted, as three columns of its table: key id, nonce and ciphertext. */
interface Layout {
  table: string;
  /** What authenticates a value as one of this column, and the beginning of two of the names: `value_nonce`. */
  column: string;
  /** The column that refers to `encryption_keys`; null where there is no value. */
  keyId: string;
  /** The column with the id of what the value belongs to. */
  owner: string;
  /** Whether the server makes another value where the key of this one is gone. */
  isReplaceable?: boolean;
}

/** A stored value with what authenticates it. */
export type SealedRow = Sealed & { id: string; ownerId: string };

/** What rotation and status need of each encrypted column. Row ids are UUIDs. */
function encrypted({ table, column, keyId, owner, isReplaceable = false }: Layout) {
  const [nonce, ciphertext] = [`${column}_nonce`, `${column}_ciphertext`];
  return {
    table,
    keyId,
    isReplaceable,
    place: ({ id, ownerId }: Pick<SealedRow, "id" | "ownerId">): Place => ({ table, column, rowId: id, ownerId }),

    /** The next rows above an id that are encrypted with a key: `$1` key id, `$2` row id, `$3` number of rows. */
    page: statement<SealedRow>(`
      select id, ${owner} as "ownerId", ${keyId} as "keyId", ${nonce} as nonce, ${ciphertext} as ciphertext
      from ${table} where ${keyId} = $1 and id > $2 order by id limit $3`),

    /**
     * Puts other ciphertexts in the place of those that were read under key `$1`. What somebody wrote meanwhile stays,
     * and what somebody is writing is left out rather than waited for: whoever holds several of the rows cannot get
     * into a deadlock with this.
     */
    replace: statement<{ id: string }>(`
      with fresh as (
        select * from unnest($2::uuid[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[])
          as fresh (id, read, key_id, nonce, ciphertext)
      ), free as (
        select t.id from ${table} t join fresh on fresh.id = t.id
        where t.${keyId} = $1 and t.${ciphertext} = fresh.read
        for no key update of t skip locked
      )
      update ${table} t set ${keyId} = fresh.key_id, ${nonce} = fresh.nonce, ${ciphertext} = fresh.ciphertext
      from fresh join free using (id)
      where t.id = fresh.id and t.${keyId} = $1 and t.${ciphertext} = fresh.read
      returning t.id`),
  };
}

export type EncryptedColumn = ReturnType<typeof encrypted>;

/** The values of user secrets. */
export const userSecretValues = encrypted({
  table: "user_secrets",
  column: "value",
  keyId: "key_id",
  owner: "user_id",
});

/** The secrets that application keys are handed over with. They belong to nobody but themselves. */
export const appConnectSecrets = encrypted({
  table: "app_connect_keys",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

/** The key that signs what pages leave with browsers for some minutes. It belongs to the deployment. */
export const pageKeys = encrypted({
  table: "deployment",
  column: "page_key",
  keyId: "key_id",
  owner: "id",
  isReplaceable: true,
});

/** Every encrypted column there is. */
export const encryptedColumns: readonly EncryptedColumn[] = [userSecretValues, appConnectSecrets, pageKeys];

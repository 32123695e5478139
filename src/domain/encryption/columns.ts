import { statement } from "../kernel/database.js";
import type { Place, Sealed } from "../outside/vault.js";

/** An encrypted column. It is stored as three columns of its table: key id, nonce, and ciphertext. */
interface Layout {
  table: string;
  /** The name by which values are authenticated, and the prefix of two stored columns, such as `value_nonce`. */
  column: string;
  /** The column that references `encryption_keys`; null where there is no value. */
  keyId: string;
  /** The column with the id of the owner of the value. */
  owner: string;
  /** Whether the server generates a new value if the key of the stored one is lost. Default: false. */
  isReplaceable?: boolean;
}

/** An encrypted value with the ids of its row and owner, which authenticate it. */
export type SealedRow = Sealed & { id: string; ownerId: string };

/** Builds the statements of an encrypted column for rotation and status. Row ids are UUIDs. */
function encrypted({ table, column, keyId, owner, isReplaceable = false }: Layout) {
  const [nonce, ciphertext] = [`${column}_nonce`, `${column}_ciphertext`];
  return {
    table,
    keyId,
    isReplaceable,
    place: ({ id, ownerId }: Pick<SealedRow, "id" | "ownerId">): Place => ({ table, column, rowId: id, ownerId }),

    /** Selects the next rows that a key encrypts: `$1` key id, `$2` row id to start after, `$3` number of rows. */
    page: statement<SealedRow>(`
      select id, ${owner} as "ownerId", ${keyId} as "keyId", ${nonce} as nonce, ${ciphertext} as ciphertext
      from ${table} where ${keyId} = $1 and id > $2 order by id limit $3`),

    /**
     * Replaces ciphertexts that were read under key `$1`. Rows changed since then keep their new values, and rows
     * locked by another transaction are skipped, which prevents deadlocks.
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

/** The secrets with which application keys are handed over. They have no owner besides their own row. */
export const appConnectSecrets = encrypted({
  table: "app_connect_keys",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

/** The key that authenticates short-lived values that pages store in browsers. Owned by the deployment. */
export const pageKeys = encrypted({
  table: "deployment",
  column: "page_key",
  keyId: "key_id",
  owner: "id",
  isReplaceable: true,
});

/** The contents of notifications that carry a secret, until they are delivered. */
export const notificationSecrets = encrypted({
  table: "notification_messages",
  column: "secret",
  keyId: "key_id",
  owner: "user_id",
});

/** The passwords and signing secrets with which notifications are delivered. Owned by the deployment. */
export const notificationTransportSecrets = encrypted({
  table: "notification_transports",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

const ofLinks = { table: "external_auth_links", owner: "user_id" };

/** The tokens of linked accounts. */
export const accessTokens = encrypted({ ...ofLinks, column: "access_token", keyId: "access_token_key_id" });
export const refreshTokens = encrypted({ ...ofLinks, column: "refresh_token", keyId: "refresh_token_key_id" });

/** Further fields of token responses. */
export const tokenExtras = encrypted({ ...ofLinks, column: "extra", keyId: "extra_key_id" });

/** The PKCE verifiers of pending links. Their users can start again. */
export const linkVerifiers = encrypted({
  table: "external_auth_states",
  column: "verifier",
  keyId: "key_id",
  owner: "user_id",
  isReplaceable: true,
});

/** Device codes. Their users can start again. */
export const deviceCodes = encrypted({
  table: "external_auth_devices",
  column: "code",
  keyId: "key_id",
  owner: "user_id",
  isReplaceable: true,
});

/** The tokens of external agents. A workspace keeps them when it changes hands. */
export const agentTokens = encrypted({
  table: "workspace_agents",
  column: "token",
  keyId: "token_key_id",
  owner: "workspace_id",
});

/** The values of the variables of template versions. Owned by the template. */
export const templateVariables = encrypted({
  table: "template_versions",
  column: "variables",
  keyId: "variables_key_id",
  owner: "template_id",
});

/** All encrypted columns. */
export const encryptedColumns: readonly EncryptedColumn[] = [
  userSecretValues,
  appConnectSecrets,
  pageKeys,
  notificationSecrets,
  notificationTransportSecrets,
  accessTokens,
  refreshTokens,
  tokenExtras,
  linkVerifiers,
  deviceCodes,
  agentTokens,
  templateVariables,
];

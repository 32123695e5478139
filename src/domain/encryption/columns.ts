import { sql } from "kysely";
import type { Place, Sealed } from "../../infrastructure/vault.js";

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

/** A value under another key, to replace the ciphertext that was read. */
type FreshRow = Sealed & { id: string; read: Buffer };

/** Builds the statements of an encrypted column for rotation and status. Row ids are UUIDs. */
function statementsFor({ table, column, keyId, owner, isReplaceable = false }: Layout) {
  const keyRef = sql.ref(keyId);
  const nonceRef = sql.ref(`${column}_nonce`);
  const ciphertextRef = sql.ref(`${column}_ciphertext`);
  return {
    table,
    keyId,
    isReplaceable,
    place: ({ id, ownerId }: Pick<SealedRow, "id" | "ownerId">): Place => ({ table, column, rowId: id, ownerId }),

    /** The next rows that a key encrypts, after a row. */
    page: (key: string, after: string, limit: number) => sql<SealedRow>`
      select id, ${sql.ref(owner)} as owner_id, ${keyRef} as key_id, ${nonceRef} as nonce, ${ciphertextRef} as ciphertext
      from ${sql.table(table)} where ${keyRef} = ${key} and id > ${after} order by id limit ${limit}`,

    /**
     * Replaces ciphertexts that were read under a key. Rows changed since then keep their new values, and rows locked by
     * another transaction are skipped, which prevents deadlocks.
     */
    replace: (key: string, fresh: readonly FreshRow[]) => sql<{ id: string }>`
      with fresh as (
        select * from unnest(${fresh.map(({ id }) => id)}::uuid[], ${fresh.map(({ read }) => read)}::bytea[],
          ${fresh.map(({ keyId: id }) => id)}::text[], ${fresh.map((row) => row.nonce)}::bytea[],
          ${fresh.map((row) => row.ciphertext)}::bytea[]) as fresh (id, read, key_id, nonce, ciphertext)
      ), free as (
        select t.id from ${sql.table(table)} t join fresh on fresh.id = t.id
        where t.${keyRef} = ${key} and t.${ciphertextRef} = fresh.read
        for no key update of t skip locked
      )
      update ${sql.table(table)} t
      set ${keyRef} = fresh.key_id, ${nonceRef} = fresh.nonce, ${ciphertextRef} = fresh.ciphertext
      from fresh join free using (id)
      where t.id = fresh.id and t.${keyRef} = ${key} and t.${ciphertextRef} = fresh.read
      returning t.id`,
  };
}

export type EncryptedColumn = ReturnType<typeof statementsFor>;

/** The values of user secrets. */
export const userSecretValues = statementsFor({
  table: "user_secrets",
  column: "value",
  keyId: "key_id",
  owner: "user_id",
});

/** The secrets with which application keys are handed over. They have no owner besides their own row. */
export const appConnectSecrets = statementsFor({
  table: "app_connect_keys",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

/** The key that authenticates short-lived values that pages store in browsers. Owned by the deployment. */
export const pageKeys = statementsFor({
  table: "deployment",
  column: "page_key",
  keyId: "key_id",
  owner: "id",
  isReplaceable: true,
});

/** The contents of notifications that carry a secret, until they are delivered. */
export const notificationSecrets = statementsFor({
  table: "notification_messages",
  column: "secret",
  keyId: "key_id",
  owner: "user_id",
});

/** The passwords and signing secrets with which notifications are delivered. Owned by the deployment. */
export const notificationTransportSecrets = statementsFor({
  table: "notification_transports",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

const ofLinks = { table: "external_auth_links", owner: "user_id" };

/** The tokens of linked accounts. */
export const accessTokens = statementsFor({ ...ofLinks, column: "access_token", keyId: "access_token_key_id" });
export const refreshTokens = statementsFor({ ...ofLinks, column: "refresh_token", keyId: "refresh_token_key_id" });

/** Further fields of token responses. */
export const tokenExtras = statementsFor({ ...ofLinks, column: "extra", keyId: "extra_key_id" });

/** The PKCE verifiers of pending links. Their users can start again. */
export const linkVerifiers = statementsFor({
  table: "external_auth_states",
  column: "verifier",
  keyId: "key_id",
  owner: "user_id",
  isReplaceable: true,
});

/** Device codes. Their users can start again. */
export const deviceCodes = statementsFor({
  table: "external_auth_devices",
  column: "code",
  keyId: "key_id",
  owner: "user_id",
  isReplaceable: true,
});

/** The tokens of external agents. A workspace keeps them when it changes hands. */
export const agentTokens = statementsFor({
  table: "workspace_agents",
  column: "token",
  keyId: "token_key_id",
  owner: "workspace_id",
});

/** The values of the variables of template versions. Owned by the template. */
export const templateVariables = statementsFor({
  table: "template_versions",
  column: "variables",
  keyId: "variables_key_id",
  owner: "template_id",
});

/** The tokens of invitations, until they are mailed. Invitations can be sent again, with another token. */
export const invitationTokens = statementsFor({
  table: "invitations",
  column: "token",
  keyId: "key_id",
  owner: "id",
  isReplaceable: true,
});

/** The secrets and private keys of providers of sign-in. They have no owner besides their own row. */
export const providerSecrets = statementsFor({
  table: "sign_in_providers",
  column: "secret",
  keyId: "key_id",
  owner: "id",
});

/** The tokens of providers of sign-in. People can sign in again. */
export const providerSessionTokens = statementsFor({
  table: "provider_sessions",
  column: "tokens",
  keyId: "key_id",
  owner: "id",
  isReplaceable: true,
});

/** The secrets that sign events. */
export const endpointSecrets = statementsFor({
  table: "event_endpoint_secrets",
  column: "secret",
  keyId: "key_id",
  owner: "endpoint_id",
});

/** The secrets of authenticators. */
export const authenticatorSecrets = statementsFor({
  table: "authenticators",
  column: "secret",
  keyId: "key_id",
  owner: "user_id",
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
  invitationTokens,
  providerSecrets,
  providerSessionTokens,
  endpointSecrets,
  authenticatorSecrets,
];

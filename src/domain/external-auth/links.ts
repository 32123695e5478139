import { rowsByKey } from "../kernel/batches.js";
import { ExternalAuthLink } from "../../entities/external-auth.js";
import { accessTokens, type EncryptedColumn, refreshTokens, tokenExtras } from "../encryption/columns.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context, Services } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { unavailable } from "../kernel/errors.js";
import { type Sealed, SealBroken } from "../outside/vault.js";
import type { TokenSet } from "../outside/external-providers/responses.js";
import type { Account } from "./accounts.js";

const columns = columnsOf(ExternalAuthLink, "l", [
  "id",
  "providerId",
  "userId",
  "createdAt",
  "updatedAt",
  "expiresAt",
  "refreshError",
  "validation",
  "version",
]);

/** Seconds before its expiry from which on a token is refreshed. */
export const refreshAhead = 60;

/** A link without its tokens. The flags are by the clock of the database. */
export interface LinkRow extends RowOf<typeof columns> {
  account: Account | null;
  hasRefreshToken: boolean;
  isExpired: boolean;
  /** Whether the token expires within a minute. */
  isExpiring: boolean;
  /** Milliseconds since the last validation; null if there was none. */
  validatedAgo: number | null;
  /** Whether the provider must not be called to validate. */
  isPaused: boolean;
}

export const linkColumns = `${columns}, l.account, l.refresh_token_key_id is not null as "hasRefreshToken",
  coalesce(l.expires_at <= now(), false) as "isExpired",
  coalesce(l.expires_at <= now() + interval '${refreshAhead} s', false) as "isExpiring",
  1000 * extract(epoch from now() - l.validated_at) as "validatedAgo",
  coalesce(l.validation_paused_until > now(), false) as "isPaused"`;

const linkByUser = lookup<LinkRow>(
  `select ${linkColumns} from external_auth_links l where l.provider_id = $1 and l.user_id = $2`,
);

const linksByUsers = statement<LinkRow>(
  `select ${linkColumns} from external_auth_links l where l.user_id = any($1::uuid[])`,
);

type Reading = Pick<Services, "database">;

/** The id of a provider as links store it. */
export const storedId = (providerId: string): string => providerId.toLowerCase();

/** Reads the link of a user at a provider. */
export async function readLink(
  { database }: Reading,
  providerId: string,
  userId: string,
): Promise<LinkRow | undefined> {
  return (await database.query(linkByUser, [storedId(providerId), userId]))[0];
}

/** Batch read of the links of users, for `ctx.load`. Checks no permission. */
export async function linksOfUsers(ctx: Context, userIds: readonly string[]): Promise<LinkRow[][]> {
  return rowsByKey(await ctx.rows(linksByUsers, userIds), userIds, ({ userId }) => userId);
}

/** The stored tokens of a link, encrypted, and the ids that authenticate them. */
export interface SealedTokens {
  id: string;
  ownerId: string;
  version: number;
  access: StoredSeal;
  refresh: StoredSeal | null;
  extra: StoredSeal | null;
}

/** An encrypted value as a JSON object of the database: bytes are hexadecimal. */
interface StoredSeal {
  keyId: string;
  nonce: string;
  ciphertext: string;
}

const sealOf = (column: string) => `case when l.${column}_key_id is not null then json_build_object(
  'keyId', l.${column}_key_id, 'nonce', encode(l.${column}_nonce, 'hex'),
  'ciphertext', encode(l.${column}_ciphertext, 'hex')) end`;

/** Selects the encrypted tokens of a link `l`. */
export const sealedColumns = `l.id, l.user_id as "ownerId", l.version, ${sealOf("access_token")} as access,
  ${sealOf("refresh_token")} as refresh, ${sealOf("extra")} as extra`;

const sealedTokens = statement<SealedTokens>(`select ${sealedColumns} from external_auth_links l where l.id = $1`);

const sealedWithLink = statement<LinkRow & { sealed: SealedTokens }>(`
  select ${linkColumns}, (select row_to_json(s) from (select ${sealedColumns}) s) as sealed
  from external_auth_links l where l.id = $1`);

/** Reads a link with its tokens; `undefined` if it was replaced or deleted. */
export async function readLinkWithTokens(
  services: Pick<Services, "database" | "vault">,
  linkId: string,
): Promise<{ link: LinkRow; tokens: OpenedTokens } | undefined> {
  const [row] = await services.database.query(sealedWithLink, [linkId]);
  if (!row) return undefined;
  const { sealed, ...link } = row;
  return { link, tokens: openTokens(services, sealed) };
}

/** Reads the tokens of a link, and their version; `undefined` if the link was replaced or deleted. */
export async function readTokens(
  services: Pick<Services, "database" | "vault">,
  linkId: string,
): Promise<OpenedTokens | undefined> {
  const [sealed] = await services.database.query(sealedTokens, [linkId]);
  return sealed && openTokens(services, sealed);
}

export interface OpenedTokens extends Pick<TokenSet, "accessToken" | "refreshToken" | "extra"> {
  version: number;
}

/** Decrypts tokens. Throws UNAVAILABLE if that is not possible: they are never treated as absent. */
export function openTokens({ vault }: Pick<Services, "vault">, sealed: SealedTokens): OpenedTokens {
  const { id, ownerId, version, access, refresh, extra } = sealed;
  const open = (column: EncryptedColumn, { keyId, nonce, ciphertext }: StoredSeal): string => {
    const bytes = { keyId, nonce: Buffer.from(nonce, "hex"), ciphertext: Buffer.from(ciphertext, "hex") };
    try {
      return vault.open(column.place({ id, ownerId }), bytes);
    } catch (error) {
      throw error instanceof SealBroken ? unavailable("A stored token cannot be decrypted.") : error;
    }
  };
  return {
    version,
    accessToken: open(accessTokens, access),
    ...(refresh && { refreshToken: open(refreshTokens, refresh) }),
    ...(extra && { extra: open(tokenExtras, extra) }),
  };
}

const nothing: Record<keyof Sealed, null> = { keyId: null, nonce: null, ciphertext: null };

/** Encrypts tokens for the columns of a link, in the order of `tokenColumns`. */
export function sealTokens(
  { vault }: Pick<Services, "vault">,
  place: { id: string; ownerId: string },
  { accessToken, refreshToken, extra }: TokenSet,
): Array<Buffer | string | null> {
  const seals = [
    vault.seal(accessTokens.place(place), accessToken),
    refreshToken === undefined ? nothing : vault.seal(refreshTokens.place(place), refreshToken),
    extra === undefined ? nothing : vault.seal(tokenExtras.place(place), extra),
  ];
  return seals.flatMap(({ keyId, nonce, ciphertext }) => [keyId, nonce, ciphertext]);
}

const parts = ["key_id", "nonce", "ciphertext"];

/** The columns that hold encrypted tokens. */
export const tokenColumns = ["access_token", "refresh_token", "extra"].flatMap((name) =>
  parts.map((part) => `${name}_${part}`),
);

/** The hint that a link of a user was created, replaced, deleted, or became unusable. */
export const linkHint = (userId: string) => ({ topic: "external_auth", id: `e:${userId}` }) as const;

import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { accessTokens, type EncryptedColumn, refreshTokens, tokenExtras } from "../encryption/columns.js";
import { anyOf, rowsByKey } from "../kernel/queries.js";
import type { Context, Services } from "../kernel/context.js";
import { unavailable } from "../kernel/errors.js";
import { SealBroken } from "../../infrastructure/vault.js";
import type { TokenSet } from "./provider-responses.js";
import type { Account } from "./provider-accounts.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const l = columnsOf("externalAuthLinks", "l");

/** Selects links without their tokens. The flags are by the clock of the database. */
const links = (db: Db) =>
  db
    .selectFrom("externalAuthLinks as l")
    .select(["l.id", "l.providerId", "l.userId", "l.createdAt", "l.updatedAt", "l.expiresAt", "l.refreshError"])
    .select(["l.validation", "l.version", "l.account"])
    .select([
      sql<boolean>`${l.refreshTokenKeyId} is not null`.as("hasRefreshToken"),
      sql<boolean>`coalesce(${l.expiresAt} <= now(), false)`.as("isExpired"),
      // Milliseconds until the token expires; null if it does not.
      sql<number | null>`1000 * extract(epoch from ${l.expiresAt} - now())`.as("expiresIn"),
      // Milliseconds since the last validation; null if there was none.
      sql<number | null>`1000 * extract(epoch from now() - ${l.validatedAt})`.as("validatedAgo"),
      // Whether the provider must not be called to validate.
      sql<boolean>`coalesce(${l.validationPausedUntil} > now(), false)`.as("isPaused"),
    ])
    // Another person's, who had the account before: its token is revoked in the background.
    .where("l.revokeAt", "is", null)
    .$narrowType<{ account: Account | null }>();

/** A link without its tokens. */
export type LinkRow = InferResult<ReturnType<typeof links>>[number];

/** The id of a provider as links store it. */
export const storedId = (providerId: string): string => providerId.toLowerCase();

/** Reads the link of a user at a provider. */
export async function readLink(
  { database }: Pick<Services, "database">,
  providerId: string,
  userId: string,
): Promise<LinkRow | undefined> {
  return links(database.db)
    .where("l.providerId", "=", storedId(providerId))
    .where("l.userId", "=", userId)
    .executeTakeFirst();
}

/** Batch read of the links of users, for `ctx.load`. Checks no permission. */
export async function linksOfUsers(ctx: Context, userIds: readonly string[]): Promise<LinkRow[][]> {
  const rows = await links(ctx.db).where("l.userId", "=", anyOf(userIds)).execute();
  return rowsByKey(rows, userIds, ({ userId }) => userId);
}

/** The columns of the encrypted tokens of a link `l`, and of what authenticates them. */
export const sealedFields = [
  "l.id",
  "l.userId as ownerId",
  "l.version",
  "l.accessTokenKeyId",
  "l.accessTokenNonce",
  "l.accessTokenCiphertext",
  "l.refreshTokenKeyId",
  "l.refreshTokenNonce",
  "l.refreshTokenCiphertext",
  "l.extraKeyId",
  "l.extraNonce",
  "l.extraCiphertext",
] as const;

const selectSealed = (db: Db) => db.selectFrom("externalAuthLinks as l").select(sealedFields);

/** The stored tokens of a link, encrypted, and the ids that authenticate them. */
export type SealedTokens = InferResult<ReturnType<typeof selectSealed>>[number];

/** Reads a link with its tokens; `undefined` if it was replaced or deleted. */
export async function readLinkWithTokens(
  services: Pick<Services, "database" | "vault">,
  linkId: string,
): Promise<{ link: LinkRow; tokens: OpenedTokens } | undefined> {
  const link = await links(services.database.db).select(sealedFields).where("l.id", "=", linkId).executeTakeFirst();
  return link && { link, tokens: openTokens(services, link) };
}

/** Reads the tokens of a link, and their version; `undefined` if the link was replaced or deleted. */
export async function readTokens(
  services: Pick<Services, "database" | "vault">,
  linkId: string,
): Promise<OpenedTokens | undefined> {
  const stored = await selectSealed(services.database.db).where("l.id", "=", linkId).executeTakeFirst();
  return stored && openTokens(services, stored);
}

export interface OpenedTokens extends Pick<TokenSet, "accessToken" | "refreshToken" | "extra"> {
  version: number;
}

/** Decrypts tokens. Throws UNAVAILABLE if that is not possible: they are never treated as absent. */
export function openTokens({ vault }: Pick<Services, "vault">, stored: SealedTokens): OpenedTokens {
  const open = (column: EncryptedColumn, keyId: string, nonce: Buffer, ciphertext: Buffer): string => {
    try {
      return vault.open(column.place(stored), { keyId, nonce, ciphertext });
    } catch (error) {
      throw error instanceof SealBroken ? unavailable("A stored token cannot be decrypted.") : error;
    }
  };
  const { accessTokenKeyId, refreshTokenKeyId, extraKeyId } = stored;
  return {
    version: stored.version,
    accessToken: open(accessTokens, accessTokenKeyId, stored.accessTokenNonce, stored.accessTokenCiphertext),
    ...(refreshTokenKeyId !== null && {
      refreshToken: open(refreshTokens, refreshTokenKeyId, stored.refreshTokenNonce!, stored.refreshTokenCiphertext!),
    }),
    ...(extraKeyId !== null && { extra: open(tokenExtras, extraKeyId, stored.extraNonce!, stored.extraCiphertext!) }),
  };
}

/** The columns of a link without a refresh token. */
export const noRefreshToken = { refreshTokenKeyId: null, refreshTokenNonce: null, refreshTokenCiphertext: null };
export const noExtra = { extraKeyId: null, extraNonce: null, extraCiphertext: null };

/** The columns of a link whose token has not been validated. */
export const notValidated = { validation: "unknown", validatedAt: null, validationPausedUntil: null } as const;

/** Encrypts the given tokens for the columns of a link. */
export function sealTokens(
  { vault }: Pick<Services, "vault">,
  place: { id: string; ownerId: string },
  { accessToken, refreshToken, extra }: TokenSet,
) {
  const access = vault.seal(accessTokens.place(place), accessToken);
  const refresh = refreshToken === undefined ? undefined : vault.seal(refreshTokens.place(place), refreshToken);
  const more = extra === undefined ? undefined : vault.seal(tokenExtras.place(place), extra);
  return {
    accessTokenKeyId: access.keyId,
    accessTokenNonce: access.nonce,
    accessTokenCiphertext: access.ciphertext,
    ...(refresh && {
      refreshTokenKeyId: refresh.keyId,
      refreshTokenNonce: refresh.nonce,
      refreshTokenCiphertext: refresh.ciphertext,
    }),
    ...(more && { extraKeyId: more.keyId, extraNonce: more.nonce, extraCiphertext: more.ciphertext }),
  };
}

/** The hint that a link of a user was created, replaced, deleted, or became unusable. */
export const linkHint = (userId: string) => ({ topic: "external_auth", id: `e:${userId}` }) as const;

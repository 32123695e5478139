import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { empty, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import type { Recipients } from "../users/account-events.js";
import { type FoundUser, lockUserWith } from "../users/users.js";
import type { Values } from "./evaluate.js";
import { permissionToLink, type Provisioner } from "./provisioner.js";
import { groupsOf, type ScimUserRow, userResource } from "./user-rows.js";
import { requireVersion } from "./versions.js";

/** A user as SCIM clients of a source see it, and its account where a change has read it. */
export interface ScimUser {
  row: ScimUserRow;
  account?: FoundUser;
}

/** A locked user. */
export type LockedUser = Required<ScimUser>;

/** What `scim_user_now` returns. */
interface Now {
  version: number;
  /** The attributes that stand for the account, without a link. */
  account: Values;
  links: Array<{
    source: string;
    externalId: string | null;
    userName: string | null;
    attributes: Values;
    isGone: boolean;
  }>;
}

/** What a lock requires and reads. */
export interface Locking {
  ifMatch?: string | null | undefined;
  /** Whether the source has deleted the user, and makes it visible again. */
  isRevived?: boolean;
  /** Further columns, each with a comma before it. */
  more?: Sql | undefined;
}

/** Further columns of a lock, for a change of the userName or the status. */
export type ForChange = Partial<{ newUsername: string | null; recipients: Recipients }>;

/**
 * Locks a user that the source sees. Throws NOT_FOUND for others, and if its version is none of `ifMatch`.
 */
export async function lockedUser(
  ctx: Context,
  { source }: Provisioner,
  id: string,
  { ifMatch, isRevived = false, more = empty }: Locking,
): Promise<LockedUser & { found: ForChange }> {
  if (!isUuid(id)) throw notFound();
  const now = sql`scim_user_now(locked.id) as scim, ${groupsOf(ctx, raw("locked.id"))} as groups${more}`;
  type More = { scim: Now } & Pick<ScimUserRow, "groups"> & ForChange;
  const { scim, groups, newUsername, recipients, ...account } = await lockUserWith<More>(
    ctx,
    id,
    permissionToLink(ctx),
    now,
  );
  const own = scim.links.find((link) => link.source === source);
  const named =
    scim.links.find(({ userName, isGone }) => userName !== null && !isGone) ??
    (isRevived && own && own.userName !== null ? own : undefined);
  if (account.isSystem || (own?.isGone && !isRevived)) throw notFound();
  const { createdAt, updatedAt, username, email, name, status } = account;
  const row = {
    id: account.id,
    createdAt,
    updatedAt,
    username,
    email,
    name,
    status,
    groups,
    version: scim.version,
    externalId: own?.externalId ?? null,
    userName: named?.userName ?? username,
    nameSource: named?.source ?? null,
    attributes: own?.attributes ?? scim.account,
  };
  requireVersion(row, ifMatch);
  return { account, row, found: { newUsername, recipients } };
}

/** The attributes of a user that clients can write. */
export function writable(ctx: Context, row: ScimUserRow): Values {
  const { schemas: _, id: _id, meta: _meta, groups: _groups, ...rest } = userResource(ctx, row);
  return rest;
}

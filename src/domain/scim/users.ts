import { leaveGroups } from "../groups/leaving.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { raw, sql } from "../kernel/sql.js";
import { leaveOrganizations } from "../organizations/members.js";
import { newUser } from "../users/creation.js";
import { checkStatus, recordStatus } from "../users/status.js";
import { identified, type UserStatus } from "../users/users.js";
import { writeUser } from "../users/writes.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import { type Operation, readOperations, replacing } from "./operations.js";
import { isBeyond, isVisibleGroup, provisionerOf } from "./provisioner.js";
import { userType } from "./schema.js";
import { changeUser } from "./user-changes.js";
import { deprovisioning, linkingNew, linkOf } from "./user-links.js";
import { anotherUsername, baseOf, matchUser } from "./user-matches.js";
import { wantedUser } from "./user-mapping.js";
import {
  countVisibleUsers,
  readUserRow,
  type ScimUserRow,
  userColumns,
  userFilterColumns,
  visibleIds,
  visibleUsers,
} from "./user-rows.js";
import { lockedUser, type ScimUser } from "./user-state.js";

/** A SCIM document, and the versions that the resource may have: tags or `*`, separated by commas. */
export interface ScimChange {
  id: string;
  document: Json;
  ifMatch?: string | null;
}

/** Reads a user. Throws NOT_FOUND for users that the caller's source has deleted. */
export async function readScimUser(ctx: Context, id: string): Promise<ScimUserRow> {
  const row = await readUserRow(ctx, provisionerOf(ctx), id);
  if (!row) throw notFound();
  return row;
}

/** Lists users. */
export function listScimUsers(ctx: Context, query: ListQuery): Promise<Listed<ScimUserRow>> {
  const provisioner = provisionerOf(ctx);
  return listResources<ScimUserRow>(
    ctx,
    {
      type: userType,
      source: provisioner.source,
      columns: userFilterColumns(ctx, provisioner),
      selected: userColumns(ctx),
      from: (condition) => visibleUsers(provisioner, condition),
      ids: (condition) => visibleIds(provisioner, condition),
      id: raw("u.id"),
      total: countVisibleUsers(provisioner),
    },
    query,
  );
}

/**
 * Creates a user, or revives one that the source deleted. Throws CONFLICT if another user has the externalId, the
 * userName or the email. With `upsert`, updates the user who has the externalId or the email instead.
 */
export async function createScimUser(
  ctx: Context,
  { document, upsert = false }: { document: Json; upsert?: boolean | null },
): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const resource = readResource(userType, document);
  const wanted = wantedUser(resource);
  const { email, name, avatarUrl } = wanted.account;
  const base = baseOf(wanted);
  const status: UserStatus = wanted.active === false ? "suspended" : "active";
  const { scimLoginType: loginType } = ctx.config;
  const account = { email, username: base, name, loginType, organizationIds: provisioner.organizationIds ?? null };
  const { id, columns, add } = await newUser(ctx, account, { avatarUrl: avatarUrl ?? "", status });
  const { existing, found } = await matchUser(ctx, provisioner, wanted, upsert ?? false, columns);
  if (existing)
    return changeUser(ctx, provisioner, { id: existing.id, existing: { ...existing, wanted } }, (user) =>
      replaced(user, resource),
    );

  const username = found.isFree ? base : await anotherUsername(ctx, wanted);
  const written = add(found, username);
  const { externalId, userName, kept } = wanted;
  const { source } = provisioner;
  ctx.write(linkingNew, { source, user_id: id, external_id: externalId, user_name: userName, attributes: kept });
  await ctx.select(sql`select`); // writes the user before others read it by Kysely
  const values = { id, ...written, username, email, name: name ?? "", status };
  return { row: { ...values, ...linkOf(provisioner, wanted), groups: [] } };
}

/** Replaces a user (RFC 7644 §3.5.1). Absent attributes are cleared, except userName, emails and active. */
export async function replaceScimUser(ctx: Context, { document, ...change }: ScimChange): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const resource = readResource(userType, document);
  return changeUser(ctx, provisioner, change, (user) => replaced(user, resource));
}

const replaced = ({ userName, emails, active }: Values, given: Values): Values => ({
  userName,
  emails,
  active,
  ...given,
});

/**
 * Changes a user by operations (RFC 7644 §3.5.2): all of them, or none. With `merge`, the document may also be a user,
 * whose attributes replace those of the user.
 */
export async function patchScimUser(
  ctx: Context,
  { document, merge, ...change }: ScimChange & { merge?: boolean | null },
): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const isMerged = merge && !Object.keys(document).some((key) => key.toLowerCase() === "operations");
  const operations: Operation[] = isMerged ? replacing(userType, document) : readOperations(userType, document);
  return changeUser(ctx, provisioner, change, (user) => changed(user, operations));
}

/**
 * Suspends a user, who leaves its groups, and hides it from the source. The account stays for administrators. A user who
 * also belongs to other organizations leaves those of the key instead of being suspended. Returns the id.
 */
export async function deleteScimUser(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const { account } = await lockedUser(ctx, provisioner, id, { ifMatch });
  await leaveGroups(ctx, account.id, isVisibleGroup(ctx));
  const isKept = isBeyond(ctx, account);
  if (isKept) await leaveOrganizations(ctx, account, provisioner.organizationIds ?? []);
  const isChanged = !isKept && (await checkStatus(ctx, account, "suspended"));
  await writeUser(ctx, account, isChanged ? { status: "suspended" } : {}, { tables: deprovisioning(provisioner) });
  if (isChanged) recordStatus(ctx, account, "suspended");
  ctx.audit({ action: "delete", ...identified(account), diff: { provisioned: { old: true, new: false } } });
  return account.id;
}

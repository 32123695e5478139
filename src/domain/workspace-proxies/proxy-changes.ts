import { databaseTime } from "../../runtime/clock.js";
import { WorkspaceProxy } from "../../entities/workspace-proxies.js";
import type { Context } from "../kernel/context.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { authorize, may, requireProofFor } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, conflictOn, DomainError, notFound, onViolation, Problems } from "../kernel/errors.js";
import { changesOf, isEmpty, pickGiven } from "../kernel/changed-fields.js";
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { replaceSiteSetting } from "../deployment/site-settings.js";
import {
  check,
  flag,
  further,
  icon as iconValue,
  type Input,
  inputOf,
  label,
  urlName,
  optional,
  orEmpty,
  reference,
  required,
  uuid,
} from "../kernel/values.js";
import { machineHint } from "../tokens/machines.js";
import { newProxyToken } from "./proxy-tokens.js";
import {
  findWorkspaceProxy,
  isNamedPrimary,
  lockWorkspaceProxy,
  primaryRegion,
  proxyReference,
  readWorkspaceProxy,
  type WorkspaceProxyRow,
} from "./workspace-proxies.js";
import { longestLabel, longestName } from "../../entities/lengths.js";

const proxyName = further(urlName(longestName), (text) =>
  isNamedPrimary(text) ? "The name primary is that of the deployment itself." : undefined,
);

export const UpdateWorkspaceProxy = inputOf({
  workspaceProxy: required(reference, `${proxyReference} The primary proxy cannot be renamed and has no token.`),
  id: optional(uuid, "If given, must be the ID of the proxy."),
  name: optional(orEmpty(proxyName), "New name, at most 32 characters, not `primary`; empty to keep the name."),
  displayName: optional(label(longestLabel), "New display name, {limits}."),
  icon: optional(iconValue, "New URL of an icon: an http or https URL, a path on this server, or empty."),
  regenerateToken: optional(flag, "Whether to revoke the token and create a new one. Default: false."),
});
export type UpdateWorkspaceProxy = Input<typeof UpdateWorkspaceProxy>;

/** The fields of a proxy that administrators set. */
type ProxyFields = Pick<UpdateWorkspaceProxy, "name" | "displayName" | "icon">;

/** A changed proxy, with its new token if one was generated. */
export interface ChangedProxy {
  id: string;
  proxyToken?: string;
}

/** Maximum number of proxies that are not deleted. */
const maxProxies = 100;

/** Serializes transactions that create a proxy or change its hosts. */
export const lockWorkspaceProxies = (ctx: Context): Promise<unknown> => takeTurn(ctx, "workspace_proxies");

export const CreateWorkspaceProxy = inputOf({
  name: required(proxyName, "Unique name, {limits}; not `primary`."),
  displayName: optional(label(longestLabel), "Display name, {limits}. Default: empty."),
  icon: optional(iconValue, "URL of an icon: an http or https URL, a path on this server, or empty. Default: empty."),
});
export type CreateWorkspaceProxy = Input<typeof CreateWorkspaceProxy>;

/** Creates an unregistered proxy. Returns its token, which cannot be read again. */
export async function createWorkspaceProxy(ctx: Context, { name: wanted, displayName, icon }: CreateWorkspaceProxy) {
  authorize(ctx.actor, "workspace_proxy:create");
  requireFeature(ctx, "workspace_proxy");
  const fields = { name: wanted, ...pickGiven({ displayName, icon }) };
  const problems = new Problems();
  check(CreateWorkspaceProxy, fields, problems);
  problems.throwIfAny();

  await lockWorkspaceProxies(ctx);
  const id = newId();
  const token = newProxyToken(id);
  const { count } = await ctx.db
    .selectFrom("workspaceProxies")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("deletedAt", "is", null)
    .executeTakeFirstOrThrow();
  if (count >= maxProxies) throw conflict(`There can be at most ${maxProxies} proxies.`);
  ctx.em.create(WorkspaceProxy, { id, ...fields, tokenHash: token.hash });
  await ctx.em.flush().catch(throwTaken);
  return { id, proxyToken: token.text };
}

const throwTaken = onViolation({ workspace_proxies_name_unique: () => conflictOn("name", "This name is in use.") });

/** Rejects callers without the permission before any lock is taken. Throws NOT_FOUND if they cannot see the proxy. */
async function authorizeOn(
  ctx: Context,
  ref: string,
  permission: "workspace_proxy:update" | "workspace_proxy:delete",
): Promise<void> {
  if (may(ctx.actor, permission)) return;
  await findWorkspaceProxy(ctx, ref);
  authorize(ctx.actor, permission);
}

/** Changes the fields of a proxy, or replaces its token. */
export async function updateWorkspaceProxy(ctx: Context, input: UpdateWorkspaceProxy): Promise<ChangedProxy> {
  await authorizeOn(ctx, input.workspaceProxy, "workspace_proxy:update");
  // A new token gives what the token of a new proxy gives.
  if (input.regenerateToken) requireProofFor(ctx.actor, "workspace_proxy:create");
  const proxy = await lockWorkspaceProxy(ctx, input.workspaceProxy);
  if (!proxy) return updatePrimary(ctx, input);
  requireFeature(ctx, "workspace_proxy");
  const change = fieldsOf({ ...input, name: input.name || null });
  const problems = new Problems();
  check(UpdateWorkspaceProxy, change, problems);
  if (input.id != null && input.id !== proxy.id) problems.add("id", "Is that of another proxy.");
  problems.throwIfAny();

  const { id } = proxy;
  const token = input.regenerateToken ? newProxyToken(id) : undefined;
  const changes = { ...changesOf(proxy, change), ...(token && { tokenHash: token.hash }) };
  if (isEmpty(changes)) return { id };
  const stored = await ctx.em.findOneOrFail(WorkspaceProxy, id);
  ctx.em.assign(stored, changes);
  if (stored.registration > 0) stored.checkDueAt = new Date(databaseTime());
  await ctx.em.flush().catch(throwTaken);
  if (token) ctx.publish(machineHint(id));
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return { id, proxyToken: token?.text };
}

const fieldsOf = ({ name, displayName, icon }: ProxyFields) => ({ name, displayName, icon });

/** Changes the display name and icon of the primary; its other fields come from the configuration. */
async function updatePrimary(ctx: Context, input: UpdateWorkspaceProxy): Promise<ChangedProxy> {
  const primary = await findPrimary(ctx, input.workspaceProxy);
  requireFeature(ctx, "workspace_proxy");
  const { id, name, displayName, icon, regenerateToken } = input;
  const problems = new Problems();
  if (id != null && id !== primary.id) problems.add("id", "Is that of another proxy.");
  if (name && name !== primary.name) problems.add("name", "The primary keeps its name.");
  check(UpdateWorkspaceProxy, { displayName, icon }, problems);
  if (regenerateToken) problems.add("regenerateToken", "The primary has no token.");
  problems.throwIfAny();

  const region = { displayName: displayName ?? primary.displayName, icon: icon ?? primary.icon };
  await replaceSiteSetting(ctx, primaryRegion, region, nameForAudit(primary));
  return { id: primary.id };
}

/** Reads the primary. Throws NOT_FOUND if `ref` does not name it: any other proxy that cannot be locked is deleted. */
async function findPrimary(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  await lockWorkspaceProxies(ctx);
  const found = await readWorkspaceProxy(ctx, ref);
  if (!isNamedPrimary(found.name)) throw notFound();
  return found;
}

export const DeleteWorkspaceProxy = inputOf({
  workspaceProxy: required(reference, proxyReference),
});
export type DeleteWorkspaceProxy = Input<typeof DeleteWorkspaceProxy>;

/** Deletes a proxy, which releases its name and revokes its token. Returns its id. */
export async function deleteWorkspaceProxy(ctx: Context, ref: string): Promise<string> {
  await authorizeOn(ctx, ref, "workspace_proxy:delete");
  const proxy = (await lockWorkspaceProxy(ctx, ref)) ?? (await findPrimary(ctx, ref));
  if (isNamedPrimary(proxy.name)) throw new DomainError("BAD_USER_INPUT", "The primary cannot be deleted.");
  await ctx.db.deleteFrom("workspaceProxyReplicas").where("proxyId", "=", proxy.id).execute();
  const stored = await ctx.em.findOneOrFail(WorkspaceProxy, proxy.id);
  ctx.em.assign(stored, { deletedAt: new Date(databaseTime()), checkDueAt: null });
  await ctx.em.flush();
  ctx.publish(machineHint(proxy.id));
  return proxy.id;
}

export const nameForAudit = ({ id, name }: Pick<WorkspaceProxyRow, "id" | "name">) =>
  auditedAs("workspace_proxy", id, name);

auditChangesOf(WorkspaceProxy, {
  resource: ({ id }, before) => nameForAudit({ id, name: before("name") }),
  fields: ["name", "displayName", "icon"],
  secrets: { token: "tokenHash" },
  deletion: { fields: [] },
});

import type { Context } from "../kernel/context.js";
import { type Diff, diffOf } from "../audit/audit.js";
import { authorize, may } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, DomainError, notFound, Problems, violatedUnique } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { replaceSiteSetting } from "../deployment/site-settings.js";
import { displayNameProblem, iconProblem, nameProblem } from "../kernel/text.js";
import { machineHint } from "../tokens/machines.js";
import { findWorkspaceProxy, lockWorkspaceProxy, readWorkspaceProxy } from "./workspace-proxies.js";
import type { WorkspaceProxyRow } from "./row.js";
import { isNamedPrimary, primaryRegion } from "./primary.js";
import { newProxyToken } from "./tokens.js";

/** What people say of a proxy. */
export interface ProxyFields {
  name?: string | null;
  displayName?: string | null;
  icon?: string | null;
}

export interface UpdateWorkspaceProxy extends ProxyFields {
  /** Id or name. */
  workspaceProxy: string;
  /** If given, the proxy's own. */
  id?: string | null;
  regenerateToken?: boolean | null;
}

/** A proxy that was changed, with its token if there is a new one. */
export interface ChangedProxy {
  id: string;
  proxyToken?: string;
}

/** Living proxies at most. */
const mostProxies = 100;

// Held by whoever makes a proxy or gives it hosts, so that nothing about the others changes meanwhile.
const lockAll = statement(`select pg_advisory_xact_lock(hashtext('steward.workspace_proxies'))`);

/** Waits for others who make proxies or give them hosts; they wait until this transaction ends. */
export const lockWorkspaceProxies = (ctx: Context): Promise<unknown> => ctx.rows(lockAll);

const insertProxy = statement<{ id: string }>(`
  insert into workspace_proxies (id, created_at, updated_at, name, display_name, icon, token_hash)
  select $1, now(), now(), $2, $3, $4, $5
  where (select count(*) from workspace_proxies where deleted_at is null) < ${mostProxies}
  returning id`);

/** Creates a proxy that has yet to register. Its token is shown this once. */
export async function createWorkspaceProxy(ctx: Context, { name, displayName, icon }: ProxyFields) {
  authorize(ctx.actor, "workspace_proxy:create");
  requireFeature(ctx, "workspace_proxy");
  const fields = { name: name ?? "", displayName: displayName ?? "", icon: icon ?? "" };
  problemsOf(fields, name == null ? "Is required." : undefined).throwIfAny();

  await lockWorkspaceProxies(ctx);
  const id = newId();
  const token = newProxyToken(id);
  const values = [id, fields.name, fields.displayName, fields.icon, token.hash];
  const created = await ctx.row(insertProxy, ...values).catch(throwTaken);
  if (!created) throw conflict(`There can be at most ${mostProxies} proxies.`);
  const diff = { ...diffOf({}, fields), token: { new: "***" } };
  ctx.audit({ action: "create", ...identified({ id, name: fields.name }), diff });
  return { id, proxyToken: token.text };
}

function problemsOf({ name, displayName, icon }: ProxyFields, missing?: string): Problems {
  const problems = new Problems();
  if (name != null) problems.add("name", missing ?? proxyNameProblem(name));
  if (displayName != null) problems.add("displayName", displayNameProblem(displayName));
  if (icon != null) problems.add("icon", iconProblem(icon));
  return problems;
}

const proxyNameProblem = (name: string): string | undefined =>
  isNamedPrimary(name) ? "The name primary is that of the deployment itself." : nameProblem(name);

function throwTaken(error: unknown): never {
  if (violatedUnique(error) !== "workspace_proxies_name_unique") throw error;
  const detail = "This name is in use.";
  throw conflict(detail, [{ field: "name", detail }]);
}

const changeProxy = statement(`
  update workspace_proxies set name = coalesce($2, name), display_name = coalesce($3, display_name),
    icon = coalesce($4, icon), token_hash = coalesce($5, token_hash), updated_at = now(),
    check_due_at = case when registration > 0 then now() end
  where id = $1`);

/** Refuses callers who lack the permission, before anything is locked; where there is no such proxy, as not found. */
async function authorizeOn(
  ctx: Context,
  ref: string,
  permission: "workspace_proxy:update" | "workspace_proxy:delete",
): Promise<void> {
  if (may(ctx.actor, permission)) return;
  await findWorkspaceProxy(ctx, ref);
  authorize(ctx.actor, permission);
}

/** Changes what people read about a proxy, or ends its token and makes another one. */
export async function updateWorkspaceProxy(ctx: Context, input: UpdateWorkspaceProxy): Promise<ChangedProxy> {
  await authorizeOn(ctx, input.workspaceProxy, "workspace_proxy:update");
  const proxy = await lockWorkspaceProxy(ctx, input.workspaceProxy);
  if (!proxy) return updatePrimary(ctx, input);
  requireFeature(ctx, "workspace_proxy");
  const change = { ...input, name: input.name || undefined };
  const problems = problemsOf(change);
  if (input.id != null && input.id !== proxy.id) problems.add("id", "Is that of another proxy.");
  problems.throwIfAny();

  const { id } = proxy;
  const token = input.regenerateToken ? newProxyToken(id) : undefined;
  const diff: Diff = diffOf<ProxyFields>(proxy, fieldsOf(change));
  if (token) diff.token = { old: "***", new: "***" };
  if (Object.keys(diff).length === 0) return { id };
  const { name, displayName, icon } = change;
  await ctx.row(changeProxy, id, name, displayName, icon, token?.hash).catch(throwTaken);
  ctx.audit({ action: "update", ...identified(proxy), diff });
  if (token) ctx.publish(machineHint(id));
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return { id, proxyToken: token?.text };
}

const fieldsOf = ({ name, displayName, icon }: ProxyFields) => ({ name, displayName, icon });

/** Changes what people read about the deployment among the proxies: all else of it follows from its settings. */
async function updatePrimary(ctx: Context, input: UpdateWorkspaceProxy): Promise<ChangedProxy> {
  const primary = await findPrimary(ctx, input.workspaceProxy);
  requireFeature(ctx, "workspace_proxy");
  const { id, name, displayName, icon, regenerateToken } = input;
  const problems = new Problems();
  if (id != null && id !== primary.id) problems.add("id", "Is that of another proxy.");
  if (name && name !== primary.name) problems.add("name", "The primary keeps its name.");
  if (displayName != null) problems.add("displayName", displayNameProblem(displayName));
  if (icon != null) problems.add("icon", iconProblem(icon));
  if (regenerateToken) problems.add("regenerateToken", "The primary has no token.");
  problems.throwIfAny();

  const region = { displayName: displayName ?? primary.displayName, icon: icon ?? primary.icon };
  const diff = diffOf(primary, region);
  if (Object.keys(diff).length === 0) return { id: primary.id };
  await replaceSiteSetting(ctx, primaryRegion, region);
  ctx.audit({ action: "update", ...identified(primary), diff });
  return { id: primary.id };
}

/** The primary, if that is meant. Of proxies that could not be locked, all others are gone. */
async function findPrimary(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  await lockWorkspaceProxies(ctx);
  const found = await readWorkspaceProxy(ctx, ref);
  if (!isNamedPrimary(found.name)) throw notFound();
  return found;
}

const markDeleted = statement(`
  with silenced as (delete from workspace_proxy_replicas where proxy_id = $1)
  update workspace_proxies set deleted_at = now(), updated_at = now(), check_due_at = null where id = $1`);

/** Deletes a proxy: its name is free, and its token ends. Gives its id. */
export async function deleteWorkspaceProxy(ctx: Context, ref: string): Promise<string> {
  await authorizeOn(ctx, ref, "workspace_proxy:delete");
  const proxy = (await lockWorkspaceProxy(ctx, ref)) ?? (await findPrimary(ctx, ref));
  if (isNamedPrimary(proxy.name)) throw new DomainError("BAD_USER_INPUT", "The primary cannot be deleted.");
  await ctx.rows(markDeleted, proxy.id);
  ctx.audit({ action: "delete", ...identified(proxy) });
  ctx.publish(machineHint(proxy.id));
  return proxy.id;
}

/** What the audit log calls a proxy. */
export const identified = ({ id, name }: Pick<WorkspaceProxyRow, "id" | "name">) => ({
  resourceType: "workspace_proxy",
  resourceId: id,
  resourceLabel: name,
});

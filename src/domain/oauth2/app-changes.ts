import { auditedAs, type Diff, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, conflictOn, DomainError, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { clientHint } from "../tokens/credentials.js";
import { findUser, userTarget } from "../users/users.js";
import { addProblems, type AppFields, type AppSettings, changed, readResources } from "./app-rules.js";
import { lockApp, resourcesOfApps } from "./apps.js";
import { type ClientRow, GrantType } from "./client-rows.js";
import { removeClient } from "./clients.js";

export type CreateApp = AppFields & { name: string };
export type UpdateApp = AppFields & { id: string };

const initially: AppSettings = {
  name: "",
  icon: "",
  redirectUris: [],
  pkceRequired: false,
  scopeCeiling: null,
  grantTypes: [GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN],
  serviceUserId: null,
  isDisabled: false,
};

const insertApp = statement(`
  insert into oauth2_clients (id, created_at, updated_at, kind, type, name, icon, redirect_uris, pkce_required,
    scope_ceiling, grant_types, service_user_id, is_disabled, metadata, created_by_id, created_ip)
  values ($1, now(), now(), 'admin', 'confidential', $2, $3, $4, $5, $6, $7, $8, $9, '{}', $10, $11)`);

/** Creates a confidential application without secrets. Returns its id. */
export async function createApp(ctx: Context, fields: CreateApp): Promise<string> {
  authorize(ctx.actor, "oauth2_app:create");
  const { userId } = requireUser(ctx.actor);
  const settings = changed(initially, fields);
  const resources = await check(ctx, { kind: "admin", type: "confidential" }, fields, settings);

  const id = newId();
  await ctx.rows(insertApp, id, ...valuesOf(settings), userId, ctx.request.ip ?? null);
  if (resources) await replaceResources(ctx, id, resources);
  const { isDisabled: disabled, ...rest } = settings;
  const diff = diffOf({}, { ...rest, disabled, resourceIndicators: resources });
  ctx.audit({ action: "create", ...identified({ id, name: settings.name }), diff });
  return id;
}

const valuesOf = (settings: AppSettings): unknown[] => [
  settings.name,
  settings.icon,
  settings.redirectUris,
  settings.pkceRequired,
  settings.scopeCeiling,
  settings.grantTypes,
  settings.serviceUserId,
  settings.isDisabled,
];

/** Throws all faults of a change together. Returns the given resource indicators in canonical form. */
async function check(
  ctx: Context,
  client: Pick<ClientRow, "kind" | "type">,
  fields: AppFields,
  after: AppSettings,
): Promise<string[] | undefined> {
  const problems = new Problems();
  addProblems(problems, client, fields, after);
  if (fields.serviceUserId != null) problems.add("serviceUserId", await serviceUserProblem(ctx, fields.serviceUserId));
  const resources = fields.resourceIndicators
    ? readResources(problems, fields.resourceIndicators, ctx.config)
    : undefined;
  problems.throwIfAny();
  return resources;
}

/** An application acts as a service account like an API token: only those may choose it who may create one. */
async function serviceUserProblem(ctx: Context, id: string): Promise<string | undefined> {
  const user = await findUser(ctx, id).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
  });
  if (!user?.isServiceAccount) return "Must be the id of a service account.";
  authorize(ctx.actor, "api_key:create", userTarget(user));
  return undefined;
}

// In one order, so that concurrent changes wait for each other without a deadlock.
const insertResources = statement(`
  insert into oauth2_resources (client_id, uri) select $1, given.uri from unnest($2::text[]) given (uri)
  where not exists (select from oauth2_resources r where r.client_id = $1 and r.uri = given.uri) order by given.uri`);
const deleteResources = statement(`delete from oauth2_resources where client_id = $1 and uri <> all($2::text[])`);

async function replaceResources(ctx: Context, id: string, uris: readonly string[]): Promise<void> {
  await ctx.rows(deleteResources, id, uris);
  await ctx.rows(insertResources, id, uris).catch(throwTaken);
}

const throwTaken = onViolation({
  oauth2_resources_pkey: () =>
    conflictOn("resourceIndicators", "Another application is the resource server of one of these URIs."),
});

const changeApp = statement(`
  update oauth2_clients set name = $2, icon = $3, redirect_uris = $4, pkce_required = $5, scope_ceiling = $6,
    grant_types = $7, service_user_id = $8, is_disabled = $9, updated_at = now()
  where id = $1`);

const deleteAccessTokens = statement(`
  delete from api_keys where grant_id = any(array(select id from oauth2_grants where client_id = $1))`);

/**
 * Changes the given fields of an application. Disabling it ends its access tokens; its refresh tokens are accepted again
 * after it was enabled. Returns its id.
 */
export async function updateApp(ctx: Context, { id, ...fields }: UpdateApp): Promise<string> {
  const app = await lockApp(ctx, id, "oauth2_app:update");
  requireChangeable(app, fields);
  const after = changed(app, fields);
  const resources = await check(ctx, app, fields, after);

  const diff = differences(app, after);
  if (resources) {
    const [resourceIndicators] = await resourcesOfApps(ctx, [id]);
    Object.assign(diff, diffOf({ resourceIndicators }, { resourceIndicators: resources }));
  }
  if (Object.keys(diff).length === 0) return id;
  await ctx.rows(changeApp, id, ...valuesOf(after));
  if (resources && diff.resourceIndicators) await replaceResources(ctx, id, resources);
  if (diff.disabled?.new === true) await ctx.rows(deleteAccessTokens, id);
  ctx.publish(clientHint(id));
  ctx.audit({ action: "update", ...identified(app), diff });
  return id;
}

function differences({ isDisabled: old, ...before }: ClientRow, { isDisabled, ...after }: AppSettings): Diff {
  return diffOf<AppSettings & { disabled: boolean }>({ ...before, disabled: old }, { ...after, disabled: isDisabled });
}

/** Throws CONFLICT for fields that the metadata document of the application determines. */
function requireChangeable({ kind }: ClientRow, fields: AppFields): void {
  const described = Object.values({ ...fields, disabled: null, resourceIndicators: null });
  if (kind === "document" && described.some((value) => value != null))
    throw conflict("The metadata document of the application determines these fields.");
}

/** Deletes an application with its secrets, codes, grants and tokens. Returns the application before its deletion. */
export async function deleteApp(ctx: Context, id: string): Promise<ClientRow> {
  const app = await lockApp(ctx, id, "oauth2_app:delete");
  // Caches them for the response.
  await ctx.load(resourcesOfApps, id);
  await removeClient(ctx, app);
  return app;
}

const identified = ({ id, name }: Pick<ClientRow, "id" | "name">) => auditedAs("oauth2_app", id, name);

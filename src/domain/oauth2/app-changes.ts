import { sql } from "kysely";
import { auditedAs, type Diff, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, DomainError, onViolation, Problems } from "../kernel/errors.js";
import { anyOf } from "../kernel/any-of.js";
import { now } from "../kernel/times.js";
import { newId } from "../kernel/ids.js";
import { clientHint } from "../tokens/credentials.js";
import { findUser, userTarget } from "../users/users.js";
import { addProblems, type AppFields, type AppSettings, changed, readResources } from "./app-rules.js";
import { lockApp, resourcesOfApps } from "./apps.js";
import { type ClientRow, GrantType } from "./clients.js";
import { isLive } from "./grants.js";

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

/** Creates a confidential application without secrets. Returns its id. */
export async function createApp(ctx: Context, fields: CreateApp): Promise<string> {
  authorize(ctx.actor, "oauth2_app:create");
  const { userId } = requireUser(ctx.actor);
  const settings = changed(initially, fields);
  const resources = await check(ctx, { kind: "admin", type: "confidential" }, fields, settings);

  const id = newId();
  await ctx.db
    .insertInto("oauth2Clients")
    .values({
      ...settings,
      id,
      createdAt: now,
      updatedAt: now,
      kind: "admin",
      type: "confidential",
      metadata: {},
      createdById: userId,
      createdIp: ctx.request.ip ?? null,
    })
    .execute();
  if (resources) await replaceResources(ctx, id, [], resources);
  const { isDisabled: disabled, ...rest } = settings;
  const diff = diffOf({}, { ...rest, disabled, resourceIndicators: resources });
  ctx.audit({ action: "create", ...identified({ id, name: settings.name }), diff });
  return id;
}

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

/** Replaces the resource indicators of an application. Both lists are sorted. */
async function replaceResources(
  { db }: Context,
  clientId: string,
  before: readonly string[],
  after: readonly string[],
) {
  const removed = before.filter((uri) => !after.includes(uri));
  // In one order, so that concurrent changes wait for each other without a deadlock.
  const added = after.filter((uri) => !before.includes(uri)).map((uri) => ({ uri, clientId }));
  if (removed.length > 0)
    await db
      .deleteFrom("oauth2Resources")
      .where("clientId", "=", clientId)
      .where("uri", "=", anyOf(removed, "text"))
      .execute();
  if (added.length > 0) await db.insertInto("oauth2Resources").values(added).execute().catch(throwTaken);
}

const throwTaken = onViolation({
  oauth2_resources_pkey: () =>
    conflictOn("resourceIndicators", "Another application is the resource server of one of these URIs."),
});

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
  const [former = []] = resources ? await resourcesOfApps(ctx, [id]) : [];
  if (resources) Object.assign(diff, diffOf({ resourceIndicators: former }, { resourceIndicators: resources }));
  if (Object.keys(diff).length === 0) return id;
  await ctx.db
    .updateTable("oauth2Clients")
    .set({ ...after, updatedAt: now })
    .where("id", "=", id)
    .execute();
  if (resources) await replaceResources(ctx, id, former, resources);
  if (diff.disabled?.new === true) await deleteAccessTokens(ctx, id);
  ctx.publish(clientHint(id));
  ctx.audit({ action: "update", ...identified(app), diff });
  return id;
}

/** Deletes the access tokens of an application. */
const deleteAccessTokens = ({ db }: Context, clientId: string) =>
  db
    .deleteFrom("apiKeys")
    .where(
      "grantId",
      "=",
      sql<string>`any(array(${db.selectFrom("oauth2Grants").where("clientId", "=", clientId).select("id")}))`,
    )
    .execute();

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

/**
 * Deletes an application with its secrets, codes, grants and tokens, which end on every replica within a second. The
 * caller has locked it.
 */
export async function removeClient(ctx: Context, { id, name }: Pick<ClientRow, "id" | "name">): Promise<void> {
  // Before the application: redemptions lock the grant, then the secret of the application.
  const { ended } = await ctx.db
    .with("deleted", (grants) =>
      grants.deleteFrom("oauth2Grants as g").where("g.clientId", "=", id).returning(isLive.as("isLive")),
    )
    .selectFrom("deleted")
    .where("isLive", "=", true)
    .select(({ fn }) => fn.countAll<number>().as("ended"))
    .executeTakeFirstOrThrow();
  await ctx.db.deleteFrom("oauth2Clients").where("id", "=", id).execute();
  // One event for all grants, of which there can be millions.
  ctx.audit({ action: "delete", ...identified({ id, name }), diff: diffOf({ grants: ended }, { grants: 0 }) });
  ctx.publish(clientHint(id));
}

const identified = ({ id, name }: Pick<ClientRow, "id" | "name">) => auditedAs("oauth2_app", id, name);

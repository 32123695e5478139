import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { OAuth2Client } from "../../entities/oauth2.js";
import { auditChangesOf, auditWith, auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, DomainError, onViolation, Problems } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { clientHint } from "../tokens/hints.js";
import { findUser, userTarget } from "../users/users.js";
import { defaultResourceProblem } from "./audiences.js";
import {
  addProblems,
  type AppFields,
  type AppSettings,
  applyFields,
  readResources,
  appFields,
  givenAppName,
} from "./app-rules.js";
import { lockApp, resourcesOfApps } from "./apps.js";
import { type ClientRow, GrantType } from "./clients.js";
import { isLive } from "./grants.js";
import { deleteServiceTokens } from "./service-tokens.js";
import { inputOf, type Input, optional, required, uuid } from "../kernel/values.js";

const nameRule = "{limits} without control characters; white space around it is removed.";

export const NamedApp = inputOf({
  id: required(uuid, "ID of the application."),
});
export type NamedApp = Input<typeof NamedApp>;

const initially: AppSettings = {
  name: "",
  icon: "",
  redirectUris: [],
  pkceRequired: false,
  scopeCeiling: null,
  grantTypes: [GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN],
  serviceUserId: null,
  defaultResource: null,
  isDisabled: false,
};

export const CreateApp = inputOf({
  ...appFields,
  name: required(givenAppName, `Name of ${nameRule}`),
});
export type CreateApp = Input<typeof CreateApp>;

/** Creates a confidential application without secrets. Returns its id. */
export async function createApp(ctx: Context, fields: CreateApp): Promise<string> {
  authorize(ctx.actor, "oauth2_app:create");
  const { userId } = requireUser(ctx.actor);
  const after = applyFields(initially, fields);
  const resources = await check(ctx, { kind: "admin", type: "confidential" }, fields, after);

  const app = ctx.em.create(OAuth2Client, {
    ...propertiesOf(after),
    kind: "admin",
    type: "confidential",
    metadata: {},
    createdBy: userId,
    createdIp: ctx.request.ip ?? null,
  });
  if (resources) auditWith(app, { resourceIndicators: { new: resources } });
  await ctx.em.flush();
  if (resources) await replaceResources(ctx, app.id, [], resources);
  return app.id;
}

const propertiesOf = ({ serviceUserId: serviceUser, ...settings }: AppSettings) => ({ ...settings, serviceUser });

/** Throws all faults of a change together. Returns the given resource indicators in canonical form. */
async function check(
  ctx: Context,
  client: Pick<ClientRow, "kind" | "type">,
  fields: AppFields,
  after: AppSettings,
): Promise<string[] | undefined> {
  const problems = new Problems();
  addProblems(problems, client, fields, after, ctx.config);
  if (fields.serviceUserId != null) problems.add("serviceUserId", await serviceUserProblem(ctx, fields.serviceUserId));
  const resources = fields.resourceIndicators
    ? readResources(problems, fields.resourceIndicators, ctx.config)
    : undefined;
  if (fields.defaultResource)
    problems.add("defaultResource", await defaultResourceProblem(ctx, fields.defaultResource, resources));
  problems.throwIfAny();
  return resources;
}

/**
 * Returns the fault of a service account. An application acts as its service account, as an API token of the account
 * would. So callers may choose only an account for which they may create API tokens. Throws FORBIDDEN for others.
 */
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

export const UpdateApp = inputOf({
  ...appFields,
  ...NamedApp.shape,
  name: optional(givenAppName, `New name of ${nameRule}`),
});
export type UpdateApp = Input<typeof UpdateApp>;

/**
 * Changes the given fields of an application. Disabling it ends its access tokens; its refresh tokens are accepted again
 * after it was enabled. Returns its id.
 */
export async function updateApp(ctx: Context, { id, ...fields }: UpdateApp): Promise<string> {
  const app = await lockApp(ctx, id, "oauth2_app:update");
  requireChangeable(app, fields);
  const after = applyFields(app, fields);
  const resources = await check(ctx, app, fields, after);

  const stored = await ctx.em.findOneOrFail(OAuth2Client, id);
  ctx.em.assign(stored, propertiesOf(after));
  if (resources) {
    const [former = []] = await resourcesOfApps(ctx, [id]);
    await replaceResources(ctx, id, former, resources);
    if (!isDeepStrictEqual(former, resources)) {
      stored.updatedAt = new Date(databaseTime());
      auditWith(stored, { resourceIndicators: { old: former, new: resources } });
    }
  }
  await ctx.em.flush();
  if (after.isDisabled && !app.isDisabled) {
    await deleteAccessTokens(ctx, id);
    await deleteServiceTokens(ctx, id);
  }
  ctx.publish(clientHint(id));
  return id;
}

/** Deletes the access tokens of the grants of an application. */
const deleteAccessTokens = ({ db }: Context, clientId: string) =>
  db
    .deleteFrom("apiKeys")
    .where(
      "grantId",
      "=",
      sql<string>`any(array(${db.selectFrom("oauth2Grants").where("clientId", "=", clientId).select("id")}))`,
    )
    .execute();

/** Throws CONFLICT for fields that the metadata document of the application determines. */
function requireChangeable({ kind }: ClientRow, fields: AppFields): void {
  const described = Object.values({ ...fields, disabled: null, resourceIndicators: null, defaultResource: null });
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
export async function removeClient(ctx: Context, { id }: Pick<ClientRow, "id">): Promise<void> {
  // Before the application: redemptions lock the grant, then the secret of the application.
  const { ended } = await ctx.db
    .with("deleted", (grants) =>
      grants.deleteFrom("oauth2Grants as g").where("g.clientId", "=", id).returning(isLive.as("isLive")),
    )
    .selectFrom("deleted")
    .where("isLive", "=", true)
    .select(({ fn }) => fn.countAll<number>().as("ended"))
    .executeTakeFirstOrThrow();
  const client = await ctx.em.findOneOrFail(OAuth2Client, id);
  // One event for all grants, of which there can be millions.
  if (ended > 0) auditWith(client, { grants: { old: ended, new: 0 } });
  ctx.em.remove(client);
  await ctx.em.flush();
  ctx.publish(clientHint(id));
}

auditChangesOf(OAuth2Client, {
  resource: ({ id }, before) => auditedAs("oauth2_app", id, before("name")),
  fields: [
    "kind",
    "name",
    "icon",
    "redirectUris",
    "pkceRequired",
    "scopeCeiling",
    "grantTypes",
    "authMethod",
    "serviceUser",
    "defaultResource",
    "isDisabled",
  ],
  names: { serviceUser: "serviceUserId", isDisabled: "disabled" },
  secrets: { registrationAccessToken: "nextRegistrationHash" },
  deletion: { fields: [] },
});

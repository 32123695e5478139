import { isDeepStrictEqual } from "node:util";
import { type SqlBool, sql } from "kysely";
import { authorize, sees } from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { check, flag, inputOf, type Input, listOf, optional, reference, required, uuid } from "../kernel/values.js";
import { now } from "../kernel/queries.js";
import { resolveParameters } from "../templates/parameters.js";
import { findTemplate, holdTemplate } from "../templates/templates.js";
import { findUser } from "../users/users.js";
import { announceBuild } from "./build-events.js";
import { type BuildReason, createBuild } from "./builds.js";
import { autostartColumns, ttl, workspaceName } from "./workspace-settings.js";
import { requireQuota } from "./quotas.js";
import { ParameterValue } from "./starts.js";
import type { Built } from "./transitions.js";
import {
  type BuildVersion,
  type ChosenPreset,
  creationProblem,
  readPreset,
  readVersion,
  requireAllowed,
} from "./build-versions.js";
import { nameViolated, ofWorkspace, workspacesById } from "./workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { weeklySchedule } from "../quiet-hours/daily-schedule.js";

const w = columnsOf("workspaces", "w");
const p = columnsOf("templatePresets", "p");

export const CreateWorkspace = inputOf({
  owner: optional(reference, "Owner: ID, username, or `me`, which is the default."),
  templateId: optional(uuid, "ID of the template, whose active version is used."),
  templateVersionId: optional(uuid, "ID of the template version, instead of `templateId`."),
  presetId: optional(uuid, "ID of a preset of the version."),
  name: required(workspaceName, "Unique among the owner's workspaces: {limits}."),
  parameters: optional(
    listOf(ParameterValue),
    "Values of parameters. Others come from the preset, or are the default.",
  ),
  ttlSeconds: optional(ttl, "Seconds that it runs after a start; 0 sets no limit. Default: as the template says."),
  autostartSchedule: optional(
    weeklySchedule,
    "When it starts by itself: minute, hour, and days of the week of a cron expression, `0 9 * * 1-5`, after `CRON_TZ=<IANA zone>` if not in UTC. Default: never.",
  ),
  automaticUpdates: optional(
    flag,
    "Whether its starts take the active version, where the template leaves that to the owner. Default: false.",
  ),
});
export type CreateWorkspace = Input<typeof CreateWorkspace>;

/**
 * Creates a workspace and starts it. If the caller chose a preset and no other values, it may be a prebuilt one.
 * Throws FORBIDDEN unless the caller may create workspaces of the owner and use the template, CONFLICT with the reason
 * `QUOTA_EXCEEDED` if the prebuilt one costs more than the quota of the owner permits.
 */
export async function createWorkspace(
  ctx: Context,
  input: CreateWorkspace,
  reason: BuildReason = "initiator",
): Promise<Built> {
  const { userId: initiatorId } = requireUser(ctx.actor);
  const problems = new Problems();
  check(CreateWorkspace, { name: input.name }, problems);
  const owner = await findUser(ctx, input.owner ?? "me");
  const version = await versionOf(ctx, input, problems);
  if (version) await requireCreation(ctx, owner.id, version, problems);
  const preset = version ? await readPreset(ctx, input.presetId, version, problems) : null;
  const parameters = version && resolveParameters(version.document, { given: input.parameters, preset }, problems);
  const { ttlSeconds, autostartSchedule } = input;
  check(CreateWorkspace, { ttlSeconds, autostartSchedule }, problems);
  problems.throwIfAny();

  const fields = {
    ownerId: owner.id,
    name: input.name,
    ttl: input.ttlSeconds ?? null,
    automaticUpdates: input.automaticUpdates ?? false,
    ...(await autostartColumns(ctx, version!.templateId, input.autostartSchedule)),
  };
  const isPlain = preset !== null && hasValuesOf(version!, preset, parameters!);
  const claimed = isPlain ? await claimPrebuild(ctx, preset.id, version!.organizationId, fields) : undefined;
  const id = claimed ?? newId();
  if (!claimed) {
    const { organizationId, templateId } = version!;
    await ctx.db
      .insertInto("workspaces")
      .values({ id, createdAt: now, updatedAt: now, organizationId, templateId, ...fields })
      .execute()
      .catch(nameViolated);
  }
  const [workspace] = await workspacesById(ctx, [id]);
  const build = await createBuild(ctx, workspace!, {
    transition: "start",
    reason,
    initiatorId,
    versionId: version!.id,
    presetId: preset?.id ?? null,
    parameters: parameters!,
    claim: claimed !== undefined,
  });
  const made = { owner: owner.username, template: version!.templateName, claimed: claimed !== undefined };
  const diff = Object.fromEntries(Object.entries(made).map(([field, value]) => [field, { new: value }]));
  ctx.audit({ action: "create", ...ofWorkspace(workspace!), diff });
  await announceBuild(ctx, "created", workspace!, version!);
  return { workspaceId: id, buildId: build.id };
}

/** Finds the version to use. Throws NOT_FOUND if the template does not exist or is not readable. */
async function versionOf(
  ctx: Context,
  { templateId, templateVersionId }: CreateWorkspace,
  problems: Problems,
): Promise<BuildVersion | undefined> {
  if ((templateId == null) === (templateVersionId == null)) {
    problems.add("templateId", "Exactly one of templateId and templateVersionId is required.");
    return undefined;
  }
  const activeId = templateId == null ? null : (await findTemplate(ctx, templateId)).activeVersionId;
  const field = templateId == null ? "templateVersionId" : "templateId";
  if (templateId != null && activeId === null) {
    problems.add(field, "The template has no imported version yet.");
    return undefined;
  }
  const version = await readVersion(ctx, templateVersionId ?? activeId!);
  if (!version || !sees(ctx.actor, "template:read", version)) throw notFound();
  const problem = creationProblem(version);
  problems.add(field, problem);
  return problem === undefined ? version : undefined;
}

/** Checks that the caller may create a workspace of an owner with a version, and keeps both until the end. */
async function requireCreation(
  ctx: Context,
  ownerId: string,
  version: BuildVersion,
  problems: Problems,
): Promise<void> {
  const { organizationId } = version;
  authorize(ctx.actor, "workspace:create", { ownerId, organizationId });
  authorize(ctx.actor, "template:use", version);
  requireAllowed(ctx, version);
  // So that the owner stays in the organization until the workspace is stored.
  const member = await ctx.db
    .selectFrom("organizationMembers")
    .select("userId")
    .where("userId", "=", ownerId)
    .where("organizationId", "=", organizationId)
    .forKeyShare()
    .executeTakeFirst();
  if (!member) problems.add("owner", "Must be a member of the organization of the template.");
  await holdTemplate(ctx, version.templateId);
}

/** Whether values are those of a preset and the defaults, with which its prebuilds were made. */
const hasValuesOf = (
  { document }: BuildVersion,
  preset: ChosenPreset,
  values: Readonly<Record<string, string>>,
): boolean => isDeepStrictEqual(resolveParameters(document, { preset }, new Problems()), values);

/** Who claims a prebuilt workspace, and as what. `ttl` is in seconds; null for the value of the template. */
interface Claim {
  ownerId: string;
  name: string;
  ttl: number | null;
  automaticUpdates: boolean;
  autostartSchedule?: string | null;
  autostartAt?: Date | null;
}

/**
 * Makes the oldest prebuilt workspace of a preset whose agents are all ready that of a user. Returns its id; `undefined` if
 * none is ready. The caller starts it once more. Of concurrent claims, each takes another one. Its cost is that of the new
 * owner from then on: throws CONFLICT with the reason `QUOTA_EXCEEDED` if that exceeds the quota, and takes none.
 */
async function claimPrebuild(
  ctx: Context,
  presetId: string,
  organizationId: string,
  to: Claim,
): Promise<string | undefined> {
  if (!hasFeature(ctx, "workspace_prebuilds")) return undefined;
  const ready = await ctx.db
    .selectFrom("workspaces as w")
    .innerJoin("templatePresets as p", "p.id", "w.prebuiltPresetId")
    .innerJoin("workspaceBuilds as b", "b.id", "w.latestBuildId")
    .select(["w.id", "b.dailyCost"])
    .where("w.prebuiltPresetId", "=", presetId)
    .where("w.deletedAt", "is", null)
    .where("w.latestStatus", "=", "running")
    .where(sql<SqlBool>`${w.createdAt} > coalesce(${p.lastInvalidatedAt}, '-infinity')`)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("workspaceAgents as a")
            .select("a.id")
            .whereRef("a.workspaceId", "=", "w.id")
            .where("a.tokenEndedAt", "is", null)
            .where("a.lifecycle", "<>", "ready"),
        ),
      ),
    )
    .orderBy("w.createdAt")
    .orderBy("w.id")
    .limit(1)
    .forNoKeyUpdate("w")
    .skipLocked()
    .executeTakeFirst();
  if (!ready) return undefined;
  const { id, dailyCost: cost } = ready;
  await requireQuota(ctx, { workspaceId: id, ownerId: to.ownerId, organizationId, cost, previous: 0 });
  await ctx.db
    .updateTable("workspaces")
    .set({ ...to, prebuiltPresetId: null, updatedAt: now })
    .where("id", "=", id)
    .execute()
    .catch(nameViolated);
  return id;
}

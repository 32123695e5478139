import type { InferResult } from "kysely";
import { authorize, may } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { forbidden, notFound, type Problems } from "../kernel/errors.js";
import type { TemplateDocument } from "../templates/template-documents.js";
import { aclOfCaller } from "../templates/templates.js";
import { documentsById } from "../templates/template-versions.js";

/** Who starts a workspace: the caller, or for a start by its schedule, the owner. */
export type Starter = Pick<Context, "actor">;

const buildVersions = (ctx: Context, starter: Starter) =>
  ctx.db
    .selectFrom("templateVersions as v")
    .innerJoin("templates as t", "t.id", "v.templateId")
    .select([
      "v.id",
      "v.name",
      "v.documentId",
      "v.isImported",
      "v.archivedAt",
      "t.id as templateId",
      "t.name as templateName",
      "t.organizationId",
      "t.activeVersionId",
      "t.requireActiveVersion",
      "t.deprecationMessage",
      "t.automaticUpdates",
      aclOfCaller(starter),
    ]);

/** A template version that builds use, with its template, and what the policy reads of it. */
export interface BuildVersion extends Row {
  document: TemplateDocument;
}
type Row = InferResult<ReturnType<typeof buildVersions>>[number];

/** Reads a version. Checks no permission. */
export async function readVersion(ctx: Context, id: string, starter: Starter = ctx): Promise<BuildVersion | undefined> {
  const version = await buildVersions(ctx, starter).where("v.id", "=", id).executeTakeFirst();
  return version && { ...version, document: await ctx.load(documentsById, version.documentId) };
}

/** Returns why new builds cannot use a version; `undefined` if they can. */
export function versionProblem({ isImported, archivedAt }: BuildVersion): string | undefined {
  if (!isImported) return "The template version is not imported.";
  return archivedAt === null ? undefined : "The template version is archived.";
}

/** Returns why new workspaces cannot use a version; `undefined` if they can. */
export const creationProblem = (version: BuildVersion): string | undefined =>
  version.deprecationMessage === ""
    ? versionProblem(version)
    : `The template is deprecated: ${version.deprecationMessage}`;

/** Throws FORBIDDEN if the template requires its active version of the caller, and this is another one. */
export function requireAllowed(starter: Starter, version: BuildVersion): void {
  if (isAllowed(starter, version)) return;
  throw forbidden("The template requires its active version.");
}

const isAllowed = ({ actor }: Starter, version: BuildVersion): boolean =>
  !version.requireActiveVersion || version.activeVersionId === version.id || may(actor, "template:update", version);

/** Which version the next start of a workspace uses. */
export interface WantedVersion {
  templateId: string;
  /** The version of the previous build. */
  previousId: string;
  /** The version that the caller chose. */
  chosenId?: string | null;
  /** Whether the owner of the workspace chose automatic updates. */
  automaticUpdates: boolean;
}

/** Whether a start moves to the active version by itself, which the starter may use. */
const updatesItself = ({ actor }: Starter, version: BuildVersion, isChosen: boolean): boolean =>
  (version.automaticUpdates === "always" || (version.automaticUpdates === "owners_choice" && isChosen)) &&
  may(actor, "template:use", version);

/**
 * Chooses the version of the next start of a workspace: the given one, the active one if the workspace takes it by
 * itself, or that of the previous build. Plain users of templates that require it start the active one. Adds a fault of `templateVersionId`, and returns `undefined`, for a
 * version that cannot be used. Throws FORBIDDEN for a version that the caller may not choose.
 */
export async function versionToStart(
  ctx: Context,
  { templateId, previousId, chosenId, automaticUpdates }: WantedVersion,
  problems: Problems,
  starter: Starter = ctx,
): Promise<BuildVersion | undefined> {
  const wanted = await readVersion(ctx, chosenId ?? previousId, starter);
  if (!wanted || wanted.templateId !== templateId) {
    problems.add("templateVersionId", "Must be a version of the template of the workspace.");
    return undefined;
  }
  if (chosenId) requireAllowed(starter, wanted);
  const isMoved = !chosenId && (!isAllowed(starter, wanted) || updatesItself(starter, wanted, automaticUpdates));
  const activeId = isMoved ? wanted.activeVersionId : null;
  const version = activeId === null ? wanted : await readVersion(ctx, activeId, starter);
  if (!version) throw notFound();
  if (version.id === previousId) return version;
  authorize(starter.actor, "template:use", version);
  const problem = versionProblem(version);
  problems.add("templateVersionId", problem);
  return problem === undefined ? version : undefined;
}

/** A preset, from which the values of parameters are taken. */
export interface ChosenPreset {
  id: string;
  parameters: Record<string, string>;
}

/** Reads the preset that the caller chose. Adds a fault of `presetId` if the version does not have it. */
export async function readPreset(
  ctx: Context,
  id: string | null | undefined,
  { id: versionId }: BuildVersion,
  problems: Problems,
): Promise<ChosenPreset | null> {
  if (id == null) return null;
  const preset = await ctx.db
    .selectFrom("templatePresets")
    .select(["id", "parameters"])
    .where("id", "=", id)
    .where("versionId", "=", versionId)
    .executeTakeFirst();
  if (!preset) problems.add("presetId", "Must be a preset of the template version.");
  return preset ?? null;
}

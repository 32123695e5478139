import { sql } from "kysely";
import { Template } from "../../entities/templates.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, conflictOn, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { authorize } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import { enqueueJob, type JobOutcome, type JobRow, priorities } from "../provisioners/provisioner-jobs.js";
import { scopeTags } from "../provisioners/tags.js";
import { parseDocument, taskOptionsOf, type TemplateDocument } from "./template-documents.js";
import { resolveParameters } from "./parameters.js";
import { presetsByVersion, storePresets } from "./presets.js";
import { lockTemplate, type TemplateRow } from "./templates.js";
import { keptFromLatest } from "./kept-variables.js";
import {
  type KeptVariables,
  type ResolvedVariables,
  resolveVariables,
  sealVariables,
  type VariableValue,
} from "./variables.js";
import { documentsById, findVersion, type FoundVersion, storeDocument } from "./template-versions.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { valueText } from "./parameter-values.js";
import {
  check,
  flag,
  inputOf,
  type Input,
  jsonObject,
  listOf,
  matching,
  optional,
  required,
  string,
  uuid,
} from "../kernel/values.js";

export const TemplateVariable = inputOf({
  name: required(string, "Name of the variable."),
  value: required(valueText, "Its value, {limits}: numbers and booleans in JSON. Stored encrypted."),
});
export type TemplateVariable = Input<typeof TemplateVariable>;

const documentDescription =
  "The document, at most 256 KiB of JSON: schema `steward.template/1`. All faults are reported together, by their paths in the document.";
const variablesDescription =
  "Values of the variables of the document. Without a value that is required, the import fails with REQUIRED_TEMPLATE_VARIABLES.";

/** The contents of a first version. */
export const FirstVersion = inputOf({
  document: required(jsonObject, documentDescription),
  variables: optional(listOf(TemplateVariable), variablesDescription),
});

const templateVersions = columnsOf("templateVersions");

/** The contents of a version. */
export interface VersionContent {
  document: unknown;
  variables?: VariableValue[] | null | undefined;
}

const versionName = matching(
  /^[A-Za-z0-9._-]{1,64}$/,
  "Must be 1 to 64 letters, digits, dots, hyphens and underscores.",
);

export const CreateTemplateVersion = inputOf({
  templateId: required(uuid, "ID of the template."),
  name: optional(
    versionName,
    "Name, unique in the template: 1 to 64 letters, digits, dots, hyphens and underscores. Default: `v` and the number of the version.",
  ),
  document: FirstVersion.shape.document,
  variables: optional(
    listOf(TemplateVariable),
    `${variablesDescription} Those that are not given have the values of the version before. The value of a sensitive one must be given again for a version that makes it plain, could show it (in metadata and other texts of resources, parameters, or the source), or goes to other daemons (by its provisioner or tags).`,
  ),
  activate: optional(
    flag,
    "Whether it becomes the active version when it is imported. The first version always does. Default: false.",
  ),
});
export type CreateTemplateVersion = Input<typeof CreateTemplateVersion>;

/** Checked content. */
export interface ReadContent {
  document: TemplateDocument;
  variables: ResolvedVariables;
}

const noVariables: ResolvedVariables = { values: [], missing: [], withheld: [] };

/**
 * Checks the content of a version; `undefined` if the document is faulty. Adds every fault to `problems`. `keep` returns what
 * the version has of the one before it.
 */
export async function readContent(
  { document: given, variables }: VersionContent,
  problems: Problems,
  keep?: (document: TemplateDocument) => Promise<KeptVariables>,
): Promise<ReadContent | undefined> {
  const document = parseDocument(given, problems);
  const kept = document && (await keep?.(document));
  const resolved = document ? resolveVariables(document, variables ?? [], problems, kept) : noVariables;
  return document && { document, variables: resolved };
}

/**
 * Creates a version of a template, which is imported in the background. Variables that are not given have the values of the
 * version before. Returns its id.
 */
export async function createTemplateVersion(ctx: Context, input: CreateTemplateVersion): Promise<string> {
  const template = await lockTemplate(ctx, input.templateId, "template:update");
  const { name, activate } = input;
  const problems = new Problems();
  check(CreateTemplateVersion, { name }, problems);
  const content = await readContent(input, problems, (document) => keptFromLatest(ctx, template.id, document));
  problems.throwIfAny();
  return addVersion(ctx, template, content!, { name: name ?? null, activates: activate ?? false });
}

interface VersionOptions {
  name: string | null;
  activates: boolean;
}

/**
 * The default name of a version with a number: the next one that the template does not have yet, since users may have
 * given it.
 */
const defaultName = (templateId: string, number: number) => sql<string>`(
  select 'v' || n from generate_series(${number}::int, ${number}::int + 1000) n
  where not exists (select from template_versions where ${templateVersions.templateId} = ${templateId} and name = 'v' || n)
  order by n limit 1)`;

const throwTaken = onViolation({
  template_versions_name_unique: () => conflictOn("name", "This name is in use."),
});

/** Adds a version to a locked template, and enqueues its import. Returns its id. */
export async function addVersion(
  ctx: Context,
  template: Pick<TemplateRow, "id" | "name" | "organizationId">,
  { document, variables }: ReadContent,
  { name, activates }: VersionOptions,
): Promise<string> {
  const { userId } = requireUser(ctx.actor);
  const id = newId();
  const jobId = newId();
  const documentId = await storeDocument(ctx, template.organizationId, document);
  const sealed = sealVariables(ctx.services, { id, templateId: template.id }, variables.values);
  const { versionCount } = await ctx.db
    .updateTable("templates")
    .set(({ eb }) => ({ versionCount: eb("versionCount", "+", 1), updatedAt: now }))
    .where("id", "=", template.id)
    .returning("versionCount")
    .executeTakeFirstOrThrow();
  const added = await ctx.db
    .insertInto("templateVersions")
    .values({
      id,
      createdAt: now,
      updatedAt: now,
      templateId: template.id,
      name: name ?? defaultName(template.id, versionCount),
      documentId,
      creatorId: userId,
      jobId,
      activates,
      variablesKeyId: sealed?.keyId,
      variablesNonce: sealed?.nonce,
      variablesCiphertext: sealed?.ciphertext,
      taskAgent: document.ai_task?.agent,
      taskApp: document.ai_task?.app,
      taskProtocol: document.ai_task?.protocol ?? "agentapi",
      taskOptions: taskOptionsOf(document.ai_task),
      hasExternalAgent: document.resources.some(({ agents }) => agents.some(({ external }) => external)),
    })
    .returning("name")
    .executeTakeFirstOrThrow()
    .catch(refuseForgottenKey)
    .catch(throwTaken);
  await storePresets(ctx, id, document);
  await enqueueImport(ctx, template.organizationId, { id, jobId, documentId, document, variables });
  const diff = {
    ...(variables.values.length > 0 && { variables: { new: "***" } }),
    templateId: { new: template.id },
  };
  ctx.audit({
    action: "create",
    ...auditedAs("template_version", id, `${template.name}/${added.name}`, template.organizationId),
    diff,
  });
  return id;
}

interface Import {
  id: string;
  jobId: string;
  documentId: string;
  document: TemplateDocument;
  variables: ResolvedVariables;
}

async function enqueueImport(ctx: Context, organizationId: string, version: Import): Promise<void> {
  const { userId } = requireUser(ctx.actor);
  const { id, jobId, documentId, document } = version;
  const { missing, withheld } = version.variables;
  await enqueueJob(ctx, {
    id: jobId,
    organizationId,
    type: "template_version_import",
    provisioner: document.provisioner,
    tags: scopeTags(document.tags, userId),
    initiatorId: userId,
    documentId,
    templateVersionId: id,
    priority: priorities.people,
    ...(missing.length > 0 && {
      failed: { error: missingError(missing, withheld), errorCode: "REQUIRED_TEMPLATE_VARIABLES" },
    }),
  });
}

const missingError = (missing: readonly string[], withheld: readonly string[]): string =>
  `The template requires values of these variables: ${missing.join(", ")}.` +
  (withheld.length === 0
    ? ""
    : ` Enter these again, since this version could show their secret values, or send them to other daemons: ${withheld.join(", ")}.`);

/** Finds a version and locks its template. Throws FORBIDDEN for callers who may not change the template. */
async function lockVersion(ctx: Context, id: string): Promise<{ template: TemplateRow; version: FoundVersion }> {
  const { templateId } = await findVersion(ctx, id);
  const template = await lockTemplate(ctx, templateId, "template:update");
  // What was read before the lock may have changed.
  return { template, version: await findVersion(ctx, id) };
}

async function setActive(ctx: Context, templateId: string, versionId: string): Promise<void> {
  const template = await ctx.em.findOneOrFail(Template, templateId);
  template.activeVersionId = versionId;
  await ctx.em.flush();
}

/** A version. */
export const NamedVersion = inputOf({ templateVersionId: required(uuid, "ID of the version.") });
export type NamedVersion = Input<typeof NamedVersion>;

export const SetActiveTemplateVersion = inputOf({
  templateVersionId: required(uuid, "ID of the version: imported, and not archived."),
});
export type SetActiveTemplateVersion = Input<typeof SetActiveTemplateVersion>;

/** Makes a version the one of new workspaces. Returns the id of the template. */
export async function setActiveTemplateVersion(ctx: Context, versionId: string): Promise<string> {
  const { template, version } = await lockVersion(ctx, versionId);
  const problem = version.archivedAt !== null ? "Is archived." : version.isImported ? undefined : "Is not imported.";
  if (problem !== undefined) throw badInput([{ field: "templateVersionId", detail: problem }]);
  await setActive(ctx, template.id, version.id);
  return template.id;
}

/** Archives a version: no workspace can be created from it any more. Returns its id. */
export async function archiveTemplateVersion(ctx: Context, versionId: string): Promise<string> {
  const { template, version } = await lockVersion(ctx, versionId);
  if (template.activeVersionId === version.id) throw conflict("The active version cannot be archived.");
  if (version.archivedAt !== null) return version.id;
  await ctx.db
    .updateTable("templateVersions")
    .set({ archivedAt: now, updatedAt: now })
    .where("id", "=", version.id)
    .execute();
  const label = `${template.name}/${version.name}`;
  ctx.audit({
    action: "update",
    ...auditedAs("template_version", version.id, label, template.organizationId),
    diff: { archived: { old: false, new: true } },
  });
  return version.id;
}

export const TemplateParameter = inputOf({
  name: required(string, "Name of the parameter."),
  value: required(valueText, "Its value, {limits}: numbers, booleans, and lists in JSON."),
});
export type TemplateParameter = Input<typeof TemplateParameter>;

export const DryRunTemplateVersion = inputOf({
  templateVersionId: required(uuid, "ID of the version."),
  presetId: optional(uuid, "ID of a preset of the version. Default: none."),
  parameters: optional(listOf(TemplateParameter), "Parameter values. Default: those of the preset."),
});
export type DryRunTemplateVersion = Input<typeof DryRunTemplateVersion>;

/** Lets a daemon plan a start with these parameters, without a workspace. Returns the id of the job. */
export async function dryRunTemplateVersion(ctx: Context, input: DryRunTemplateVersion): Promise<string> {
  const { userId } = requireUser(ctx.actor);
  const version = await findVersion(ctx, input.templateVersionId);
  authorize(ctx.actor, "template:update", version);
  const [document, presets] = await Promise.all([
    ctx.load(documentsById, version.documentId),
    ctx.load(presetsByVersion, version.id),
  ]);
  const problems = new Problems();
  problems.add("templateVersionId", version.isImported ? undefined : "Is not imported.");
  const preset = input.presetId ? presets.find(({ id }) => id === input.presetId) : undefined;
  problems.add("presetId", input.presetId && !preset ? "Must be a preset of the version." : undefined);
  const given = input.parameters ?? [];
  const parameters = resolveParameters(document, { given, ...(preset && { preset }) }, problems);
  problems.throwIfAny();
  const { organizationId, documentId, id: templateVersionId } = version;
  const jobId = await enqueueJob(ctx, {
    organizationId,
    type: "template_version_dry_run",
    provisioner: document.provisioner,
    tags: scopeTags(document.tags, userId),
    initiatorId: userId,
    documentId,
    templateVersionId,
    parameters,
    priority: priorities.people,
  });
  ctx.audit({ action: "create", ...auditedAs("provisioner_job", jobId, "template_version_dry_run", organizationId) });
  return jobId;
}

/**
 * Applies the end of an import, in its transaction: a version is usable once it is imported. The first one becomes the
 * active version of its template, and others if they were created so.
 */
export async function importEnded(ctx: Context, { versionId }: JobRow, outcome: JobOutcome): Promise<void> {
  if (outcome !== "succeeded" || versionId === null) return;
  const template = await ctx.db
    .selectFrom("templates as t")
    .innerJoin("templateVersions as v", "v.templateId", "t.id")
    .where("v.id", "=", versionId)
    .select(["t.id", "t.activeVersionId", "t.deletedAt"])
    .forNoKeyUpdate("t")
    .executeTakeFirst();
  if (!template) return;
  const version = await ctx.db
    .updateTable("templateVersions as v")
    .set({ isImported: true, updatedAt: now })
    .where("v.id", "=", versionId)
    .returning((eb) => [
      "v.activates",
      "v.archivedAt",
      "v.createdAt",
      eb
        .selectFrom("templateVersions as a")
        .where("a.id", "=", template.activeVersionId)
        .select("a.createdAt")
        .as("activeCreatedAt"),
    ])
    .executeTakeFirstOrThrow();
  // A later version that activates itself stays active, whichever import ends first.
  const isLatest = version.activeCreatedAt === null || version.activeCreatedAt <= version.createdAt;
  const activates = isLatest && (version.activates || template.activeVersionId === null);
  if (version.archivedAt === null && template.deletedAt === null && activates)
    await setActive(ctx, template.id, versionId);
}

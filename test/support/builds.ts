// Templates and builds as tests need them: stored as if imported, and ended as if daemons had worked on them.
// Looks inside: builds end as their daemons do, without a daemon, which would take a second each.
import type { Context } from "../../src/domain/kernel/context.js";
import { DomainError, Problems } from "../../src/domain/kernel/errors.js";
import { now } from "../../src/domain/kernel/queries.js";
import { newId } from "./ids.js";
import { systemContext } from "./app.js";
import { jobChanged, jobEnded } from "../../src/domain/provisioners/ended-jobs.js";
import { jobFields, type JobOutcome, type JobRow } from "../../src/domain/provisioners/provisioner-jobs.js";
import { dailyCostOf } from "../../src/domain/templates/document-resources.js";
import { parseDocument, type TemplateDocument } from "../../src/domain/templates/template-documents.js";
import { parseReported } from "../../src/domain/templates/reported-versions.js";
import { documentsById } from "../../src/domain/templates/template-versions.js";
import type { BuildResult } from "../../src/domain/workspaces/ended-builds.js";
import {
  findReportedBuild,
  storeBuild,
  type StoredResources,
  storeResources,
} from "../../src/domain/workspaces/reported-builds.js";
import type { Person, World } from "./world.js";

/** A document with one resource, which has an agent and a daily cost. */
export const boxOf = (cost = 0, more: Record<string, unknown> = {}) => ({
  schema: "steward.template/1",
  provisioner: "echo",
  resources: [{ name: "box", daily_cost: cost, agents: [{ name: "main", os: "linux", arch: "amd64" }] }],
  ...more,
});

const parsed = (document: unknown): TemplateDocument => {
  const problems = new Problems();
  const found = parseDocument(document, problems);
  if (!found) throw new Error(JSON.stringify(problems.found));
  return found;
};

/** Adds an imported version to a template, with its presets. Returns its id and those of the presets by name. */
export async function addVersion(
  { app, owner }: World,
  templateId: string,
  document: unknown,
): Promise<{ id: string; presets: Record<string, string> }> {
  const { pool } = app.services.database;
  const id = newId();
  const documentId = newId();
  const jobId = newId();
  const content = parsed(document);
  await pool.query(
    `insert into template_documents (id, organization_id, sha256, content, created_at)
     select $1, organization_id, sha256($1::uuid::text::bytea), $3, now() from templates where id = $2`,
    [documentId, templateId, JSON.stringify(content)],
  );
  await pool.query(
    `insert into template_versions (id, created_at, updated_at, template_id, name, document_id, creator_id, job_id, is_imported)
     values ($1, now(), now(), $2, 'v-' || right($1::uuid::text, 12), $3, $4, $5, true)`,
    [id, templateId, documentId, owner.id, jobId],
  );
  const presets = content.presets.map(({ name, parameters }) => ({ id: newId(), name, parameters }));
  for (const preset of presets)
    await pool.query(
      "insert into template_presets (id, created_at, version_id, name, parameters) values ($1, now(), $2, $3, $4)",
      [preset.id, id, preset.name, preset.parameters],
    );
  return { id, presets: Object.fromEntries(presets.map(({ id: presetId, name }) => [name, presetId])) };
}

let made = 0;

/** A template with its active version. Everyone in the organization may use it, unless `isClosed`. */
export async function templateOf(
  w: World,
  document: unknown,
  {
    settings = {},
    organization = w.defaultOrganization,
    isClosed = false,
  }: { settings?: Record<string, unknown>; organization?: string; isClosed?: boolean } = {},
): Promise<{ id: string; name: string; version: string; presets: Record<string, string> }> {
  const { pool } = w.app.services.database;
  const id = newId();
  const name = `template-${++made}`;
  await pool.query(
    `insert into templates (id, created_at, updated_at, organization_id, name, creator_id) values ($1, now(), now(), $2, $3, $4)`,
    [id, organization, name, w.owner.id],
  );
  const version = await addVersion(w, id, document);
  await setTemplate(w, id, { active_version_id: version.id, ...settings });
  if (!isClosed)
    await pool.query(
      `insert into template_acl_entries (id, template_id, group_id, role, created_at) values ($1, $2, $3, 'use', now())`,
      [newId(), id, organization],
    );
  return { id, name, version: version.id, presets: version.presets };
}

/** Sets columns of a template. */
export async function setTemplate({ app }: World, id: string, columns: Record<string, unknown>): Promise<void> {
  for (const [column, value] of Object.entries(columns))
    await app.services.database.pool.query(`update templates set ${column} = $2 where id = $1`, [id, value]);
}

async function onJob<Result>(
  w: World,
  buildId: string,
  status: JobRow["status"],
  act: (ctx: Context, job: JobRow) => Promise<Result>,
  error = "",
): Promise<Result> {
  const ctx = systemContext(w.app);
  return ctx.transactional(async () => {
    const job = await ctx.db
      .updateTable("provisionerJobs as j")
      .set((eb) => ({
        status,
        error,
        startedAt: eb.fn.coalesce(eb.ref("j.startedAt"), now),
        completedAt: status === "running" ? null : now,
      }))
      .where("j.workspaceBuildId", "=", buildId)
      .where("j.completedAt", "is", null)
      .returning(jobFields)
      .executeTakeFirst();
    if (!job) throw new Error("The job has ended.");
    return act(ctx, job);
  });
}

/** Hands the job of a build to a daemon. */
export const beginBuild = (w: World, buildId: string): Promise<void> =>
  onJob(w, buildId, "running", (ctx, job) => jobChanged(ctx, job));

/** Reports the resources of the document for a build. Fails its job if it exceeds the quota. */
export async function reportBuild(w: World, buildId: string): Promise<StoredResources | undefined> {
  try {
    return await onJob(w, buildId, "running", async (ctx, job) => {
      const content = await ctx.load(documentsById, job.documentId);
      const build = await findReportedBuild(ctx, buildId);
      const stored = await ctx.db.selectFrom("workspaceResources").where("jobId", "=", job.id).select("id").execute();
      const isRepeated = stored.length > 0;
      const { transition } = build;
      const wanted = content.resources.filter(({ transitions }) => transitions.some((each) => each === transition));
      const problems = new Problems();
      const resources = parseReported(content, transition, wanted, problems);
      if (!problems.isEmpty) throw new Error(JSON.stringify(problems.found));
      const agents = isRepeated ? [] : await storeResources(ctx, { jobId: job.id, transition, resources });
      const dailyCost = dailyCostOf(resources);
      return { dailyCost, agents: await storeBuild(ctx, build, { dailyCost, made: agents, isRepeated }) };
    });
  } catch (error) {
    if (!(error instanceof DomainError) || error.details.reason !== "QUOTA_EXCEEDED") throw error;
    await endBuild(w, buildId, "failed", {}, error.message);
    return undefined;
  }
}

/** Ends the job of a build. */
export const endBuild = (
  w: World,
  buildId: string,
  outcome: JobOutcome = "succeeded",
  result: BuildResult = {},
  error = outcome === "failed" ? "It did not work." : "",
): Promise<void> => onJob(w, buildId, outcome, (ctx, job) => jobEnded(ctx, job, outcome, "running", result), error);

/** Does the whole build as a daemon would: reports the resources, and completes the job unless the quota is exceeded. */
export async function doBuild(
  w: World,
  buildId: string,
  result: BuildResult = {},
): Promise<StoredResources | undefined> {
  const reported = await reportBuild(w, buildId);
  if (reported) await endBuild(w, buildId, "succeeded", result);
  return reported;
}

const builtFields = "workspace { id name status deadline } workspaceBuild { id buildNumber status dailyCost }";

/** The selection of mutations that build a workspace. */
export interface BuiltWorkspace {
  workspace: { id: string; name: string; status: string; deadline: string | null };
  workspaceBuild: { id: string; buildNumber: number; status: string; dailyCost: number };
}

export const create = `mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { ${builtFields} } }`;
export const start = `mutation($input: StartWorkspaceInput!) { startWorkspace(input: $input) { ${builtFields} } }`;
export const stop = `mutation($workspace: String!) { stopWorkspace(input: { workspace: $workspace }) { ${builtFields} } }`;
export const restart = `mutation($input: RestartWorkspaceInput!) { restartWorkspace(input: $input) { ${builtFields} } }`;
export const remove = `mutation($workspace: String!, $orphan: Boolean) {
  deleteWorkspace(input: { workspace: $workspace, orphan: $orphan }) { ${builtFields} } }`;

/** Creates a workspace of a template. */
export async function createBox(
  w: World,
  by: Pick<Person, "token">,
  templateId: string,
  more: Record<string, unknown> = {},
): Promise<BuiltWorkspace> {
  const input = { templateId, name: `box-${++made}`, ...more };
  return (await w.as(by).graphql(create, { input })).createWorkspace;
}

/** Creates a workspace of a template that runs. */
export async function runningBox(
  w: World,
  by: Pick<Person, "token">,
  templateId: string,
  more: Record<string, unknown> = {},
): Promise<BuiltWorkspace> {
  const built = await createBox(w, by, templateId, more);
  await doBuild(w, built.workspaceBuild.id);
  return built;
}

/** Reads a workspace as its owner sees it. */
export async function readBox(w: World, by: Pick<Person, "token">, id: string) {
  const { workspace } = await w.as(by).graphql(
    `query($id: UUID!) { workspace(id: $id) { id name status deadline dormantAt lastUsedAt ttlSeconds injectUserSecrets
       latestBuild { id buildNumber transition reason status deadline maxDeadline dailyCost isClaim
         parameters { name value } initiator { username } } } }`,
    { id },
  );
  return workspace;
}

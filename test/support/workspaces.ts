import type { Pool } from "pg";
import { newId } from "./ids.js";
import type { World } from "./world.js";

/** A template of an organization with one imported version, as started workspaces need it. */
const template = `
  with document as (
    insert into template_documents (id, organization_id, sha256, content, created_at)
    values ($1, $2, sha256($1::uuid::text::bytea), '{"schema":"steward.template/1","provisioner":"echo"}', now())
  ), template as (
    insert into templates (id, created_at, updated_at, organization_id, name, creator_id, active_version_id, version_count)
    values ($3, now(), now(), $2, 'template-' || right($3::uuid::text, 12), $4, $5, 1)
  ), job as (
    insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, initiator_id,
      document_id, version_id, started_at, completed_at)
    values ($6, now(), $2, 'template_version_import', 'succeeded', 'echo', '{}', $4, $1, $5, now(), now())
  )
  insert into template_versions (id, created_at, updated_at, template_id, name, document_id, creator_id, job_id, is_imported)
  values ($5, now(), now(), $3, 'v1', $1, $4, $6, true)`;

/** A workspace that was started, with the resource of its agents. */
const workspace = `
  with workspace as (
    insert into workspaces (id, created_at, updated_at, organization_id, owner_id, name, template_id, latest_build_id,
      latest_transition, latest_status)
    select $1, now(), now(), t.organization_id, $2, $3, t.id, $4, 'start', 'running'
    from template_versions v join templates t on t.id = v.template_id where v.id = $5
  ), job as (
    insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, initiator_id,
      document_id, workspace_build_id, started_at, completed_at)
    select $6, now(), t.organization_id, 'workspace_build', 'succeeded', 'echo', '{}', $2, v.document_id, $4, now(), now()
    from template_versions v join templates t on t.id = v.template_id where v.id = $5
  ), resource as (
    insert into workspace_resources (id, created_at, job_id, transition, position, name, metadata)
    values ($7, now(), $6, 'start', 0, 'box', '[]')
  )
  insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, transition, reason,
    initiator_id, job_id, parameters)
  values ($4, now(), now(), $1, 1, $5, 'start', 'initiator', $2, $6, '{}')`;

const agent = `
  insert into workspace_agents (id, created_at, updated_at, workspace_id, build_id, resource_id, name, token_hash)
  select $1, now(), now(), w.id, w.latest_build_id, r.id, $3, $4
  from workspaces w join workspace_builds b on b.id = w.latest_build_id join workspace_resources r on r.job_id = b.job_id
  where w.id = $2`;

/** Inserts a template with one version, whose id it returns. */
export async function insertTemplate(pool: Pool, organizationId: string, userId: string): Promise<string> {
  const documentId = newId();
  const templateId = newId();
  const versionId = newId();
  const jobId = newId();
  await pool.query(template, [documentId, organizationId, templateId, userId, versionId, jobId]);
  return versionId;
}

/** Inserts a template that only administrators may use. Returns the id of its version. */
export const insertClosedVersion = (w: World): Promise<string> =>
  insertTemplate(w.app.services.database.pool, w.defaultOrganization, w.owner.id);

/** Inserts a template that all members of an organization may use. Returns the id of its version. */
export async function insertVersion(w: World, organization = w.defaultOrganization): Promise<string> {
  const { pool } = w.app.services.database;
  const version = await insertTemplate(pool, organization, w.owner.id);
  await pool.query(
    `insert into template_acl_entries (id, template_id, group_id, role, created_at)
     select $1, v.template_id, $2, 'use', now() from template_versions v where v.id = $3`,
    [newId(), organization, version],
  );
  return version;
}

/** Inserts a started workspace of a version, without agents. */
export async function insertWorkspace(pool: Pool, id: string, ownerId: string, name: string, versionId: string) {
  await pool.query(workspace, [id, ownerId, name, newId(), versionId, newId(), newId()]);
}

/** Inserts a workspace that was stopped, and can change its owner. Returns its id. */
export async function insertStopped(w: World, ownerId: string, versionId: string): Promise<string> {
  const { pool } = w.app.services.database;
  const id = newId();
  await insertWorkspace(pool, id, ownerId, `box-${id.slice(-12)}`, versionId);
  await pool.query("update workspace_builds set transition = 'stop' where workspace_id = $1", [id]);
  await pool.query("update workspaces set latest_transition = 'stop', latest_status = 'stopped' where id = $1", [id]);
  return id;
}

/** Inserts an offer of a workspace to a user. Returns its id. */
export async function insertOffer(w: World, workspaceId: string, receiverId: string, offeredById: string) {
  const id = newId();
  await w.app.services.database.pool.query(
    `insert into workspace_transfers (id, workspace_id, former_owner_id, receiver_id, offered_by_id, created_at, expires_at)
     select $1, w.id, w.owner_id, $3, $4, now(), now() + interval '7 days' from workspaces w where w.id = $2`,
    [id, workspaceId, receiverId, offeredById],
  );
  return id;
}

/** Inserts an agent of a workspace. */
export async function insertAgent(pool: Pool, id: string, workspaceId: string, name: string, tokenHash: Buffer) {
  await pool.query(agent, [id, workspaceId, name, tokenHash]);
}

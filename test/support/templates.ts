// Templates as tests need them: created through the API, with imports that end as if a daemon had worked on them.
// Looks inside: imports end as their daemons do, without a daemon, which would take a second each.
import type { JobRow } from "../../src/domain/provisioners/provisioner-jobs.js";
import { openVariables } from "../../src/domain/templates/variables.js";
import { importEnded } from "../../src/domain/templates/version-changes.js";
import { systemContext } from "./app.js";
import type { Person, World } from "./world.js";

/** The smallest document. */
export const echo = { schema: "steward.template/1", provisioner: "echo" };

export interface MadeTemplate {
  id: string;
  name: string;
  version: string;
}

let made = 0;

/** Creates a template as the owner, by default in the default organization, whose first version is imported. */
export async function makeTemplate(
  w: World,
  input: Record<string, unknown> = {},
  { by = w.owner, isImported = true }: { by?: Pick<Person, "token">; isImported?: boolean } = {},
): Promise<MadeTemplate> {
  const name = `template-${++made}`;
  const { createTemplate } = await w.as(by).graphql(
    `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) {
       template { id name } templateVersion { id } } }`,
    { input: { organization: w.defaultOrganization, name, document: echo, ...input } },
  );
  const version = createTemplate.templateVersion.id;
  if (isImported) await endImport(w, version);
  return { ...createTemplate.template, version };
}

/** Ends the import of a version as if a daemon had completed it. */
export async function endImport({ app }: World, versionId: string): Promise<void> {
  const { pool } = app.services.database;
  await pool.query("update provisioner_jobs set status = 'succeeded', completed_at = now() where version_id = $1", [
    versionId,
  ]);
  const ctx = systemContext(app);
  await ctx.transactional(() => importEnded(ctx, { versionId } as JobRow, "succeeded"));
}

/** The values of the variables of a version, as daemons get them. */
export async function variablesOf({ app }: World, versionId: string): Promise<Record<string, string>> {
  const { rows } = await app.services.database.pool.query(
    `select id, template_id as "templateId", variables_key_id as "variablesKeyId",
       variables_nonce as "variablesNonce", variables_ciphertext as "variablesCiphertext"
     from template_versions where id = $1`,
    [versionId],
  );
  return Object.fromEntries(openVariables(app.services, rows[0]).map(({ name, value }) => [name, value]));
}

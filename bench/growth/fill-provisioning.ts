import { sqlId } from "../data.js";
import { known, users } from "./known.js";
import type { Size } from "./size.js";

const organization = "(select id from organizations where is_default)";

/**
 * Templates that everyone may use, and states of workspaces: ten failed, ten dormant, ten shared with the member. The same
 * keys, daemons and waiting jobs everywhere.
 */
export const provisioning = ({ templates: count }: Size) => `
  insert into templates (id, created_at, updated_at, organization_id, name, display_name, creator_id, active_version_id)
  select ${sqlId("a", "1000 + n")}, now() - n * interval '1 second', now(), ${organization},
    case n when 7 then 'zebulon' else 'box-' || n end, 'Template ' || n, ${sqlId("1", `${users.owner}`)},
    ${sqlId("a", "2")}
  from generate_series(0, ${count - 1}) n;
  insert into template_acl_entries (id, template_id, group_id, role, created_at)
  select gen_random_uuid(), id, ${organization}, 'use', now() from templates;

  update workspaces set latest_status = 'failed' where name ~ '^box-10[0-9]$';
  update workspaces set dormant_at = now() where name ~ '^box-11[0-9]$';
  update workspaces set name = 'zebulon' where name = 'box-120';
  update workspaces set last_used_at = now() - substring(name from 5)::int * interval '1 second' where name ~ '^box-';
  insert into workspace_acl_entries (id, workspace_id, user_id, role, created_at)
  select gen_random_uuid(), id, '${known.user(users.member)}', 'use', now() from workspaces where name ~ '^box-13[0-9]$';

  insert into provisioner_keys (id, organization_id, name, secret_hash, tags, creator_id, created_at)
  select ${sqlId("d", "n")}, ${organization}, 'key-' || n, decode(md5(n::text), 'hex'), '{}',
    ${sqlId("1", `${users.owner}`)}, now()
  from generate_series(0, 9) n;
  insert into provisioner_daemons (id, created_at, organization_id, name, key_id, provisioners, tags, last_seen_at)
  select ${sqlId("e", "n")}, now(), ${organization}, 'daemon-' || n, ${sqlId("d", "n % 10")}, '{terraform}',
    '{"scope":"organization","owner":""}', now()
  from generate_series(0, 19) n;
  update provisioner_jobs set worker_id = ${sqlId("e", "0")}, worker_name = 'daemon-0',
    tags = '{"scope":"organization","owner":""}';
  insert into provisioner_jobs (id, created_at, organization_id, type, provisioner, tags, initiator_id, document_id,
    version_id)
  select ${sqlId("7", "n")}, now() + interval '1 year', ${organization}, 'template_version_dry_run', 'terraform',
    '{"scope":"organization","owner":""}', '${known.user(users.member)}', ${sqlId("a", "0")}, ${sqlId("a", "2")}
  from generate_series(0, 49) n;`;

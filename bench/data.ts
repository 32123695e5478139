import { createHash } from "node:crypto";
import type { Client } from "pg";

/** Members without roles; each has one session. */
export const members = 12_000;

/** Sessions of the owner: used in turn, each one has left every cache that lives for a second before it comes again. */
export const ownerSessions = 20_000;

/** Groups that are only written, one per connection of the load. */
export const writtenGroups = 16;

/** Rows are numbered; ids tell what they are of. Number 0 of the users is the deployment's owner. */
export const ids = {
  organization: numbered("0", 1),
  user: (nr: number) => numbered("1", nr),
  smallGroup: numbered("2", 0),
  largeGroup: numbered("2", 1),
  writtenGroup: (nr: number) => numbered("2", 2 + nr),
};

/** Members of the two groups that are read. */
const smallGroupMembers = 5;
const largeGroupMembers = 50;

export const ownerToken = (nr = 0) => token("o", nr % ownerSessions);
export const memberToken = (nr: number) => token("m", nr % members);

/** Fills a migrated database. Deterministic, so that all contestants and all runs read the same bytes. */
export async function seed(client: Client): Promise<void> {
  const groups = 2 + writtenGroups;
  await client.query(`
    insert into organizations (id, created_at, updated_at, name, display_name)
    values ('${ids.organization}', ${then}, ${then}, 'bench', 'Bench');

    insert into groups (id, created_at, updated_at, organization_id, name)
    values ('${ids.organization}', ${then}, ${then}, '${ids.organization}', 'Everyone');

    insert into users (id, created_at, updated_at, email, username, name, login_type, site_roles)
    select ${sqlId("1", "n")}, ${then}, ${then}, 'user-' || n || '@example.com', 'user-' || n, 'User ' || n, 'password',
      case n when 0 then array['owner'] else '{}' end
    from generate_series(0, ${members}) n;

    insert into organization_members (organization_id, user_id, created_at)
    select '${ids.organization}', ${sqlId("1", "n")}, ${then} from generate_series(0, ${members}) n;

    insert into groups (id, created_at, updated_at, organization_id, name, display_name, avatar_url, quota_allowance)
    select ${sqlId("2", "n")}, ${then}, ${then}, '${ids.organization}', 'group-' || n, 'Group ' || n, '/icons/group.svg', n
    from generate_series(0, ${groups - 1}) n;

    insert into group_members (group_id, organization_id, user_id, created_at)
    select ${sqlId("2", "g")}, '${ids.organization}', ${sqlId("1", "n")}, ${then}
    from generate_series(0, ${groups - 1}) g,
      generate_series(1, case g when 1 then ${largeGroupMembers} else ${smallGroupMembers} end) n;

    ${insertSessions("o", ownerSessions, sqlId("1", "0"))};
    ${insertSessions("m", members, sqlId("1", "n + 1"))};
    `);
  await client.query("vacuum analyze");
}

const then = "timestamptz '2026-01-02T03:04:05.678Z'";

/** A UUIDv7 with a number in it. */
function numbered(kind: string, nr: number): string {
  return `01900000-0000-7000-8${kind}00-${nr.toString(16).padStart(12, "0")}`;
}

const sqlId = (kind: string, nr: string) => `('01900000-0000-7000-8${kind}00-' || lpad(to_hex(${nr}), 12, '0'))::uuid`;

function token(series: string, nr: number): string {
  const id = series + String(nr).padStart(9, "0");
  const secret = createHash("md5").update(id).digest("hex") + padding;
  return `stw_se_${id}-${secret}`;
}

// Used in the future: so the bench runs within the minutes in which a session's use need not be noted again.
const insertSessions = (series: string, count: number, userId: string) => `
  insert into api_keys (id, secret_hash, user_id, kind, scopes, created_at, last_used_at, expires_at)
  select id, sha256(convert_to(md5(id) || '${padding}', 'UTF8')), ${userId}, 'session', '{all}', now(),
    now() + interval '1 hour', now() + interval '30 days'
  from (select n, '${series}' || lpad(n::text, 9, '0') as id from generate_series(0, ${count - 1}) n) numbered`;

/** What a hexadecimal MD5 lacks of the length of a secret. */
const padding = "stewardbnch";

import { createHash } from "node:crypto";
import type { Client } from "pg";
import { request } from "./requests.js";

/** Members without roles; each has one session. */
export const members = 12_000;

/** Sessions of the owner, used in turn: each has left every one-second cache before it is used again. */
export const ownerSessions = 20_000;

/** A UUIDv7 that contains a number. `kind` is a hexadecimal digit. */
export function numbered(kind: string, nr: number): string {
  return `01900000-0000-7000-8${kind}00-${nr.toString(16).padStart(12, "0")}`;
}

/** The same as an SQL expression of a number. */
export const sqlId = (kind: string, nr: string) =>
  `('01900000-0000-7000-8${kind}00-' || lpad(to_hex(${nr}), 12, '0'))::uuid`;

/** Ids of rows by kind and number. User 0 is the owner of the deployment. */
export const ids = {
  organization: numbered("0", 1),
  /** Has the group `Everyone` with 40 members, and 20 groups of 5. */
  listedOrganization: numbered("0", 2),
  user: (nr: number) => numbered("1", nr),
  smallGroup: numbered("2", 0),
  largeGroup: numbered("2", 1),
};

/** Number of the member whose inbox has 200 notifications. */
export const inboxReader = 11_500;

/** Members of the two groups that are read. */
const smallGroupMembers = 5;
const largeGroupMembers = 50;

export const ownerToken = (nr = 0) => token("o", nr % ownerSessions);
export const memberToken = (nr: number) => token("m", nr % members);

const content = { title: "Backup finished", message: "The nightly backup of the build cache took 12 minutes." };

/** Request with which a user sends a notification to themselves. */
export const sendCustom = (sender: string, title = content.title): string =>
  request("POST", "/api/v2/notifications/custom", { token: sender, body: { content: { ...content, title } } });

/** Fills a migrated database. Deterministic, so that all contestants and runs read the same bytes. */
export async function seed(client: Client): Promise<void> {
  const groups = 2;
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

    ${insertListed};
    ${insertInbox};
    ${insertSessions("o", ownerSessions, sqlId("1", "0"))};
    ${insertSessions("m", members, sqlId("1", "n + 1"))};
    `);
  await client.query("vacuum analyze");
}

const then = "timestamptz '2026-01-02T03:04:05.678Z'";

const insertListed = `
    insert into organizations (id, created_at, updated_at, name, display_name)
    values ('${ids.listedOrganization}', ${then}, ${then}, 'listed', 'Listed');

    insert into groups (id, created_at, updated_at, organization_id, name)
    values ('${ids.listedOrganization}', ${then}, ${then}, '${ids.listedOrganization}', 'Everyone');

    insert into organization_members (organization_id, user_id, created_at)
    select '${ids.listedOrganization}', ${sqlId("1", "n")}, ${then} from generate_series(1, 40) n;

    insert into groups (id, created_at, updated_at, organization_id, name, display_name, avatar_url, quota_allowance)
    select ${sqlId("2", "1000 + n")}, ${then}, ${then}, '${ids.listedOrganization}', 'A-' || lpad(n::text, 2, '0'),
      'Listed ' || n, '/icons/group.svg', n
    from generate_series(1, 20) n;

    insert into group_members (group_id, organization_id, user_id, created_at)
    select ${sqlId("2", "1000 + g")}, '${ids.listedOrganization}', ${sqlId("1", "g + n")}, ${then}
    from generate_series(1, 20) g, generate_series(1, ${smallGroupMembers}) n`;

const insertInbox = `
    insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
    select ${sqlId("3", "n")}, '${ids.user(inboxReader + 1)}', n, ${sqlId("a", "1")}, array[${sqlId("b", "n")}],
      'Backup finished', 'The nightly backup of the build cache took 12 minutes.', '',
      '[{"label": "Open", "url": "https://example.com/backups"}]', ${then} + n * interval '1 minute'
    from generate_series(1, 200) n;

    insert into inbox_cursors (user_id, last_seq, unread_count)
    values ('${ids.user(inboxReader + 1)}', 200, 200)
    on conflict (user_id) do update set last_seq = excluded.last_seq, unread_count = excluded.unread_count`;

/** The token of session `nr` of a series, which is a letter. */
export function token(series: string, nr: number): string {
  const id = publicId(series, nr);
  return `stw_se_${id}-${secretOf(id)}`;
}

/** The public part of token `nr` of a series. */
export const publicId = (series: string, nr: number) => series + String(nr).padStart(9, "0");

/** The secret part of a token, from its public part. */
export const secretOf = (id: string) => createHash("md5").update(id).digest("hex") + padding;

/** The same as SQL expressions of the number and of the public part. */
export const sqlPublicId = (series: string, nr: string) => `('${series}' || lpad((${nr})::text, 9, '0'))`;
export const sqlSecret = (id: string) => `(md5(${id}) || '${padding}')`;

/** The SHA-256 of a text as an SQL expression. */
export const sqlHash = (text: string) => `sha256(convert_to(${text}, 'UTF8'))`;

// Last used in the future, so that sessions need no update of their last use during the bench.
/** Inserts `count` sessions; `userId` is an SQL expression of their number `n`. */
export const insertSessions = (series: string, count: number, userId: string) => `
  insert into api_keys (id, secret_hash, user_id, kind, scopes, created_at, last_used_at, expires_at)
  select id, ${sqlHash(sqlSecret("id"))}, ${userId}, 'session', '{all}', now(),
    now() + interval '1 hour', now() + interval '30 days'
  from (select n, ${sqlPublicId(series, "n")} as id from generate_series(0, ${count - 1}) n) numbered`;

/** Padding from the length of a hexadecimal MD5 to that of a secret. */
const padding = "stewardbnch";

// What many creations of users leave behind, and what they wait for meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";

/** Counts that differ from the rows that they count, and notices that an administrator lacks or has twice. */
export interface Faults {
  /** The organizations whose number of members is wrong. */
  organizations: string[];
  /** The stored number of users, and that of the rows. */
  users: { stored: number; rows: number } | undefined;
  /** Users of whose creation an administrator other than the creator was not told once, with the number of notices. */
  notices: Array<{ username: string; recipient: string; count: number }>;
  /** Recipients whose unread count or latest `seq` is wrong. */
  inboxes: string[];
  /** Notices that are not sent yet. */
  waiting: number;
}

/** Compares stored counts and notices with the users that there are. `templateId` is that of the notice of a creation. */
export async function faultsOf(url: string, templateId: string): Promise<Faults> {
  const sql = new Client(url);
  await sql.connect();
  try {
    const rows = async <Row>(text: string, ...values: unknown[]) => (await sql.query(text, values)).rows as Row[];
    const organizations = await rows<{ name: string }>(
      `select o.name from organizations o join groups g on g.id = o.id
       where g.member_count + (select coalesce(sum(change), 0) from member_changes c where c.organization_id = o.id)
         <> (select count(*) from organization_members m where m.organization_id = o.id)`,
    );
    const [users] = await rows<{ stored: number; rows: number }>(
      `select (select sum(change)::int from user_counts) as stored,
         (select count(*)::int from users where deleted_at is null and not is_system) as rows`,
    );
    const notices = await rows<{ username: string; recipient: string; count: number }>(
      `select u.username, a.username as recipient, count(i.id)::int as count
       from users u cross join users a left join inbox i on i.user_id = a.id and i.template_id = $1 and i.targets[1] = u.id
       where not u.is_system and a.site_roles && '{owner,user-admin}' and u.site_roles = '{}' and a.deleted_at is null
         and not exists (select from audit_log e where e.resource_id = u.id::text and e.action = 'create' and e.actor_id = a.id)
       group by u.username, a.username having count(i.id) <> 1`,
      templateId,
    );
    const inboxes = await rows<{ username: string }>(
      `select a.username from inbox_cursors c join users a on a.id = c.user_id
       where (c.unread_count, c.last_seq) <> (select count(*), max(seq) from inbox i where i.user_id = a.id)`,
    );
    const [{ waiting }] = (await rows("select count(*)::int as waiting from account_notices")) as [{ waiting: number }];
    return {
      organizations: organizations.map(({ name }) => name),
      users: users!.stored === users!.rows ? undefined : users,
      notices,
      inboxes: inboxes.map(({ username }) => username),
      waiting,
    };
  } finally {
    await sql.end();
  }
}

/** How many connections waited for locks, on average of the samples, and the statements that did, with their shares. */
export interface Waits {
  average: number;
  statements: Record<string, number>;
}

/** Runs work. Returns what waited for locks meanwhile. */
export async function waitsDuring(url: string, work: () => Promise<unknown>): Promise<Waits> {
  const sql = new Client(url);
  await sql.connect();
  let samples = 0;
  const seen: string[] = [];
  const over = new AbortController();
  const sampling = (async () => {
    for (; !over.signal.aborted; samples++) {
      const { rows } = await sql.query<{ waits: string }>(
        `select wait_event || ': ' || left(query, 120) as waits from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      seen.push(...rows.map(({ waits }) => waits));
      await delay(5);
    }
  })();
  try {
    await work();
  } finally {
    over.abort();
    await sampling;
    await sql.end();
  }
  const byStatement = Object.entries(Object.groupBy(seen, (waits) => waits));
  return {
    average: seen.length / samples,
    statements: Object.fromEntries(byStatement.map(([waits, all]) => [waits, all!.length / samples])),
  };
}

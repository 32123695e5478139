// Looks inside: notifications arrive as their events do, which would take hours to cause.
import { notify } from "../../src/domain/notifications/notify.js";
import { customTemplate } from "../../src/domain/notifications/templates/custom-templates.js";
import { type App, systemContext } from "./app.js";
import { firstMonthId, newId } from "./ids.js";
import type { Person, World } from "./world.js";

/** The ids of two templates, which are the same in all deployments: the test notification, and those that users write. */
export const testTemplateId = "c425f63e-716a-4bf4-ae24-78348f706c3f";
export const customTemplateId = "39b1e189-c857-4b0c-877a-511144c18516";

/** Notifications that `deliver` adds at the same time: those of one inbox wait for each other, on a connection each. */
const concurrency = 8;

/** Adds notifications with these titles to an inbox, several at a time, each in a transaction of its own. */
export async function deliver(
  app: App,
  userId: string,
  titles: string[],
  { targets = [], templateId = newId(), content }: { targets?: string[]; templateId?: string; content?: string } = {},
): Promise<string[]> {
  const template = { ...customTemplate, id: templateId };
  const add = async (title: string): Promise<string> => {
    const ctx = systemContext(app);
    const labels = { custom_title: title, custom_message: content ?? `About ${title}` };
    return ctx.transactional(async () => {
      const [arrived] = await notify(ctx, { template, recipients: [userId], targets, labels, data: {} });
      return arrived!.id;
    });
  };
  const ids: string[] = [];
  const waiting = titles.entries();
  const work = async () => {
    for (const [index, title] of waiting) ids[index] = await add(title);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return ids;
}

/** The ids of the notifications in an inbox, in the order in which watchers get them: lists are ordered by time. */
export async function inboxOf({ app }: World, { id }: Pick<Person, "id">): Promise<string[]> {
  const read = "select id from inbox_notifications where user_id = $1 order by seq";
  const { rows } = await app.services.database.pool.query<{ id: string }>(read, [id]);
  return rows.map((row) => row.id);
}

export interface Message {
  id: string;
  method: string;
  state: string;
  reason: string | null;
  templateId: string;
  userId: string;
  createdAt: string;
  expiresAt: string;
  finishedAt: string | null;
  nextAttemptAt: string;
  attempts: Array<{ number: number; outcome: string; detail: string | null; replica: string; time: string }>;
}

/** The messages by which notifications are delivered, oldest first, as the owner sees them. */
export async function messages(
  w: World,
  filter: { user?: string; template?: string; state?: string; method?: string } = {},
): Promise<Message[]> {
  const all: Message[] = [];
  for (let after: string | undefined; ;) {
    const { notificationMessages: page } = await w.as(w.owner).graphql(
      `query($filter: NotificationMessageFilter, $after: String) {
         notificationMessages(filter: $filter, first: 1000, after: $after) {
           pageInfo { hasNextPage endCursor }
           nodes { id method state reason templateId userId createdAt expiresAt finishedAt nextAttemptAt
             attempts { number outcome detail replica time } } } }`,
      { filter, after },
    );
    all.push(...page.nodes);
    if (!page.pageInfo.hasNextPage) return all.toReversed();
    after = page.pageInfo.endCursor;
  }
}

/** Fills an empty inbox with unread notifications, inserted directly into the tables. */
export async function fill({ services: { database } }: App, userId: string, count: number): Promise<void> {
  await database.pool.query(
    `with cursor as (insert into inbox_cursors (user_id, last_seq, unread_count) values ($1, $2::int, $2::int))
     insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
     select ${firstMonthId}, $1, n, gen_random_uuid(), '{}', 'n' || n, '', '', '[]', now() from generate_series(1, $2::int) n`,
    [userId, count],
  );
}

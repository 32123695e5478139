// Reaches for tables: limits and idempotency keys last for minutes and hours, and marks wait for a lock or write no rows.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { runJob } from "./support/background.js";
import { newId } from "./support/ids.js";
import { deliver, fill } from "./support/inbox.js";
import { countRows, letListsPass, letPass, lockRows, setColumns, versionsOf } from "./support/tables.js";
import { world } from "./support/world.js";

const custom = "/api/v2/notifications/custom";
const inbox = "/api/v2/notifications/inbox";
const markAll = `${inbox}/mark-all-as-read`;
const readStatus = (id: string) => `${inbox}/${id}/read-status`;

describe("notifications", () => {
  // Requests of a test wait for one row together, or until the test has done something else.
  const the = world({ STEWARD_REQUEST_TIMEOUT: "3m" });

  describe("sent by users", () => {
    it("go to the caller's inbox only", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      const twoLines = await w.as(ada!).post(custom, { content: { title: "Build\n done", message: "**All** green" } });
      expect(twoLines.status).to.equal(400);
      const sent = await w.as(ada!).post(custom, { content: { title: "Build done", message: "**All** green" } });
      expect(sent).to.deep.include({ status: 204, body: "" });

      const { status, body } = await w.as(ada!).get(inbox);
      expect(status).to.equal(200);
      expect(body.unread_count).to.equal(1);
      const [{ id, created_at, ...rest }] = body.notifications;
      expect(id).to.match(/^[0-9a-f-]{36}$/);
      expect(created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(rest).to.deep.equal({
        read_at: null,
        user_id: ada!.id,
        template_id: "39b1e189-c857-4b0c-877a-511144c18516",
        targets: [],
        title: "Build done",
        content: "**All** green",
        icon: "DEFAULT_ICON_OTHER",
        actions: [],
      });
      expect((await w.as(bob!).get(inbox)).body).to.deep.equal({ notifications: [], unread_count: 0 });
      // The owner, who made the accounts, is told of nothing.
      await runJob(w.app, "noticeJob");
      expect((await w.as(w.owner).get(inbox)).body.notifications).to.deep.equal([]);
    });

    it("need a title or a message, and a blank title becomes the template's name", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      expect((await w.as(ada!).post(custom, { content: { title: "only a title" } })).status).to.equal(204);
      expect((await w.as(ada!).post(custom, { content: { title: "  ", message: "only a message" } })).status).to.equal(
        204,
      );
      const { notifications } = (await w.as(ada!).get(inbox)).body;
      expect(notifications.map(({ title, content }: Record<string, string>) => [title, content])).to.deep.equal([
        ["Custom Notification", "only a message"],
        ["only a title", ""],
      ]);

      const faults = async (body: unknown) => {
        const answer = await w.as(ada!).post(custom, body);
        expect(answer.status).to.equal(400);
        return answer.body.validations.map(({ field }: { field: string }) => field);
      };
      expect(await faults({})).to.deep.equal(["content"]);
      expect(await faults({ content: null })).to.deep.equal(["content"]);
      expect(await faults({ content: { title: " ", message: "\n" } })).to.deep.equal([
        "content.title",
        "content.message",
      ]);
      const tooLong = { title: "x".repeat(121), message: "y".repeat(2001) };
      expect(await faults({ content: tooLong })).to.deep.equal(["content.title", "content.message"]);
      expect(await faults({ content: { title: 5, message: [] } })).to.deep.equal(["content.title", "content.message"]);
      const failure = await w
        .as(ada!)
        .failure(
          `mutation($input: SendCustomNotificationInput!) { sendCustomNotification(input: $input) { __typename } }`,
          { input: { content: tooLong } },
        );
      expect(failure.code).to.equal("BAD_USER_INPUT");
      expect(failure.errors[0]!.extensions.validations).to.have.length(2);
    });

    it("are delivered each time, but only once per idempotency key", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const send = (title: string, key?: string) =>
        w.as(ada!).post(custom, { content: { title } }, key ? { "Idempotency-Key": key } : {});
      const count = async () => (await w.as(ada!).get(inbox)).body.unread_count;

      await send("twice");
      await send("twice");
      expect(await count()).to.equal(2);

      const answers = await Promise.all(Array.from({ length: 8 }, () => send("once", "key-1")));
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(204));
      expect(await count()).to.equal(3);

      const other = await send("other", "key-1");
      expect(other.status).to.equal(409);
      expect(other.body.validations[0].field).to.equal("idempotency_key");
      expect((await send("long", "k".repeat(256))).status).to.equal(400);
      expect((await send("other", "key-2")).status).to.equal(204);
      expect(await count()).to.equal(4);

      // Nearly a day later, the key still stands for its request, and for no other.
      await letPass(w, "idempotency_keys", { user_id: ada!.id }, "23 h 59 min", ["created_at"]);
      expect((await send("once", "key-1")).status).to.equal(204);
      expect((await send("other", "key-1")).status).to.equal(409);
      expect(await count()).to.equal(4);
      await letPass(w, "idempotency_keys", { user_id: ada!.id }, "1 min", ["created_at"]);
      expect((await send("other", "key-1")).status).to.equal(204);
      expect(await count()).to.equal(5);
    });

    it("keep their idempotency keys for 24 hours", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      for (const key of ["old", "recent"]) {
        const sent = await w.as(ada!).post(custom, { content: { title: key } }, { "Idempotency-Key": key });
        expect(sent.status).to.equal(204);
      }
      const keyed = (key: string) => ({ user_id: ada!.id, key });
      await letPass(w, "idempotency_keys", keyed("old"), "24 h", ["created_at"]);
      await letPass(w, "idempotency_keys", keyed("recent"), "23 h", ["created_at"]);
      await runJob(w.app, "idempotencyKeyPurge");
      expect(await countRows(w, "idempotency_keys", keyed("old"))).to.equal(0);
      expect(await countRows(w, "idempotency_keys", keyed("recent"))).to.equal(1);
    });

    it("are limited to 20 a minute, even in parallel, and rejected ones leave no trace", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          w.as(ada!).post(custom, { content: { title: `n${n}` } }, { "Idempotency-Key": `key-${n}` }),
        ),
      );
      const refused = answers.filter(({ status }) => status === 429);
      expect(answers.filter(({ status }) => status === 204)).to.have.length(20);
      expect(refused).to.have.length(10);
      for (const { headers } of refused) expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
      expect((await w.as(ada!).get(inbox)).body.unread_count).to.equal(20);
      expect((await w.as(bob!).post(custom, { content: { title: "mine" } })).status).to.equal(204);

      expect(await audited(w, { actor: ada!.id, resourceType: "inbox_notification" })).to.have.length(20);
      expect(await countRows(w, "idempotency_keys", { user_id: ada!.id })).to.equal(20);

      await letListsPass(w, "inbox_cursors", { user_id: ada!.id }, "1 min", ["custom_sent_at"]);
      expect((await w.as(ada!).post(custom, { content: { title: "again" } })).status).to.equal(204);
    });

    it("return what was sent in GraphQL", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const send = () =>
        w
          .as(ada!)
          .graphql(
            `mutation { sendCustomNotification(input: { content: { title: "hi" }, idempotencyKey: "k" }) { notification { title readAt } } }`,
          );
      expect(await send()).to.deep.equal({ sendCustomNotification: { notification: { title: "hi", readAt: null } } });
      expect(await send()).to.deep.equal({ sendCustomNotification: { notification: null } });
    });

    it("cannot be sent by system users or anonymous callers", async () => {
      const w = the();
      const beep = { content: { title: "beep" } };
      expect((await w.nobody.post(custom, beep)).status).to.equal(401);
      // System users cannot sign in, and their keys are rejected.
      const bot = await w.user("bot");
      await setColumns(w, "users", { id: bot.id }, { is_system: true });
      expect((await w.as(bot).post(custom, beep)).status).to.equal(401);
    });
  });

  describe("the inbox", () => {
    it("is paged by 25, newest first, without gaps or repeats", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const titles = Array.from({ length: 60 }, (_, n) => `n${n}`);
      await deliver(w.app, ada!.id, titles);

      const seen: string[] = [];
      for (let query = ""; ; query = `?starting_before=${seen.at(-1)}`) {
        const { notifications } = (await w.as(ada!).get(inbox + query)).body;
        if (notifications.length === 0) break;
        seen.push(...notifications.map(({ id }: { id: string }) => id));
        if (seen.length === 25) await deliver(w.app, ada!.id, ["meanwhile"]);
      }
      expect(new Set(seen).size).to.equal(60);

      const { inboxNotifications: page } = await w
        .as(ada!)
        .graphql(
          `{ inboxNotifications(first: 10) { totalCount unreadCount pageInfo { hasNextPage endCursor } edges { cursor } nodes { id createdAt } } }`,
        );
      expect(page).to.deep.include({ totalCount: 61, unreadCount: 61 });
      expect(page.pageInfo).to.deep.equal({ hasNextPage: true, endCursor: page.edges.at(-1)!.cursor });
      expect(page.nodes.map(({ id }: { id: string }) => id).slice(1)).to.deep.equal(seen.slice(0, 9));
      const next = await w
        .as(ada!)
        .graphql(`query($after: String) { inboxNotifications(first: 10, after: $after) { nodes { id } } }`, {
          after: page.pageInfo.endCursor,
        });
      expect(next.inboxNotifications.nodes[0]!.id).to.equal(seen[9]);
    });

    it("is filtered by targets, templates, and read status", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const red = newId();
      const blue = newId();
      const one = newId();
      const two = newId();
      const [a] = await deliver(w.app, ada!.id, ["a"], { targets: [red], templateId: one });
      await deliver(w.app, ada!.id, ["b"], { targets: [red, blue], templateId: two });
      await deliver(w.app, ada!.id, ["c"], { targets: [blue] });
      await w.as(ada!).put(readStatus(a!), { is_read: true });

      const titles = async (query: string) => {
        const { notifications, unread_count } = (await w.as(ada!).get(`${inbox}?${query}`)).body;
        expect(unread_count).to.equal(2);
        return notifications
          .map(({ title }: { title: string }) => title)
          .sort()
          .join("");
      };
      expect(await titles("")).to.equal("abc");
      expect(await titles(`targets=${red}`)).to.equal("ab");
      expect(await titles(`targets=${red},${blue.toUpperCase()}`)).to.equal("b");
      expect(await titles(`templates=${one},${two}`)).to.equal("ab");
      expect(await titles(`templates=${one}&templates=${two}&targets=${blue}`)).to.equal("b");
      expect(await titles(`targets=${ada!.id}`), "a user is no target of their own inbox").to.equal("");
      expect(await titles("read_status=read")).to.equal("a");
      expect(await titles("read_status=unread")).to.equal("bc");
      expect(await titles("read_status=all&targets=&starting_before=")).to.equal("abc");
    });

    it("reports invalid query parameters", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      const [foreign] = await deliver(w.app, bob!.id, ["bob's"]);
      const faults = async (query: string) => {
        const { status, body } = await w.as(ada!).get(`${inbox}?${query}`);
        expect([status, body.message]).to.deep.equal([400, "Query parameters have invalid values."]);
        return body.validations.map(({ field }: { field: string }) => field);
      };
      expect(await faults("read_status=maybe&targets=x&templates=y")).to.have.members([
        "targets[0]",
        "templates[0]",
        "read_status",
      ]);
      expect(await faults("starting_before=x")).to.deep.equal(["starting_before"]);
      expect(await faults(`starting_before=${newId()}`)).to.deep.equal(["starting_before"]);
      expect(await faults(`starting_before=${foreign}`)).to.deep.equal(["starting_before"]);
      const many = Array.from({ length: 101 }, newId).join(",");
      expect(await faults(`targets=${many}&templates=${many}`)).to.deep.equal(["targets", "templates"]);
    });

    it("counts up to 1000 matching notifications, and unread ones exactly", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      await fill(w.app, ada!.id, 1001);
      const query = `query($filter: InboxFilter) { inboxNotifications(filter: $filter, first: 1) { totalCount unreadCount } }`;
      for (const filter of [{}, { readStatus: "UNREAD" }])
        expect((await w.as(ada!).graphql(query, { filter })).inboxNotifications).to.deep.equal({
          totalCount: 1000,
          unreadCount: 1001,
        });
      const { inboxNotifications } = await w.as(ada!).graphql(query, { filter: { templates: [newId()] } });
      expect(inboxNotifications.totalCount).to.equal(0);
    });

    it("marks notifications as read and unread, and keeps the time on repeats", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const [first] = await deliver(w.app, ada!.id, ["first", "second"]);
      const mark = async (is_read: boolean) => {
        const { status, body } = await w.as(ada!).put(readStatus(first!), { is_read });
        expect(status).to.equal(200);
        expect(body.notification.id).to.equal(first);
        return { readAt: body.notification.read_at, unread: body.unread_count };
      };
      const { readAt, unread } = await mark(true);
      expect(unread).to.equal(1);
      expect(await mark(true)).to.deep.equal({ readAt, unread: 1 });
      expect(await mark(false)).to.deep.equal({ readAt: null, unread: 2 });
      expect(await mark(false)).to.deep.equal({ readAt: null, unread: 2 });

      const { markInboxNotification } = await w
        .as(ada!)
        .graphql(
          `mutation($id: UUID!) { markInboxNotification(input: { id: $id, isRead: true }) { notification { readAt } unreadCount } }`,
          { id: first },
        );
      expect(markInboxNotification.notification.readAt).to.be.a("string");
      expect(markInboxNotification.unreadCount).to.equal(1);
    });

    it("hides notifications of other users, whatever the body", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      const [foreign] = await deliver(w.app, bob!.id, ["bob's"]);
      const missing = await w.as(ada!).put(readStatus(newId()), { is_read: true });
      const hidden = await w.as(ada!).put(readStatus(foreign!), { is_read: true });
      expect(missing.status).to.equal(404);
      expect(hidden).to.deep.include({ status: 404, body: missing.body });
      expect((await w.as(w.owner).put(readStatus(foreign!), { is_read: true })).status).to.equal(404);
      for (const id of [foreign!, newId()])
        expect((await w.as(bob!).put(readStatus(id), {})).body.validations).to.deep.equal([
          { field: "is_read", detail: "Is required." },
        ]);
      expect((await w.as(bob!).put(readStatus("nonsense"), { is_read: true })).body.validations[0].field).to.equal(
        "id",
      );
      const failure = await w
        .as(ada!)
        .failure(`query($id: UUID!) { inboxNotification(id: $id) { id } }`, { id: foreign });
      expect(failure.code).to.equal("NOT_FOUND");
    });

    it("marks all notifications as read", async () => {
      const w = the();
      const [ada, bob] = await w.users("ada", "bob");
      await deliver(w.app, ada!.id, ["a", "b", "c"]);
      await deliver(w.app, bob!.id, ["d"]);
      expect((await w.as(ada!).put(markAll)).status).to.equal(204);
      expect((await w.as(ada!).put(markAll)).status).to.equal(204);
      expect((await w.as(ada!).get(`${inbox}?read_status=unread`)).body).to.deep.equal({
        notifications: [],
        unread_count: 0,
      });
      expect((await w.as(bob!).get(inbox)).body.unread_count).to.equal(1);
      const done = await w.as(bob!).graphql(`mutation { markAllInboxNotificationsRead { unreadCount } }`);
      expect(done).to.deep.equal({ markAllInboxNotificationsRead: { unreadCount: 0 } });
    });

    it("shows when each notification was read, individually or with all others", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const [first, second] = await deliver(w.app, ada!.id, ["first", "second"]);
      const mark = (id: string, is_read: boolean) => w.as(ada!).put(readStatus(id), { is_read });
      const readTimes = async () => {
        const { notifications, unread_count } = (await w.as(ada!).get(inbox)).body;
        const times = new Map<string, string | null>(
          notifications.map((each: Record<string, string>) => [each.id, each.read_at]),
        );
        expect([...times.values()].filter((time) => time === null)).to.have.length(unread_count);
        return (id: string) => times.get(id);
      };
      const { read_at: alone } = (await mark(first!, true)).body.notification;
      await w.as(ada!).put(markAll);
      const once = await readTimes();
      expect([once(first!), once(second!) === null, once(second!)! >= alone]).to.deep.equal([alone, false, true]);

      expect((await mark(second!, true)).body.notification.read_at, "a repeated mark").to.equal(once(second!));
      expect((await mark(first!, false)).body).to.include({ unread_count: 1 });
      const [third] = await deliver(w.app, ada!.id, ["third"]);
      const between = await readTimes();
      expect([first!, second!, third!].map(between)).to.deep.equal([null, once(second!), null]);

      await w.as(ada!).put(markAll);
      const twice = await readTimes();
      expect(twice(second!), "the time of the earlier mark").to.equal(once(second!));
      expect(twice(first!))
        .to.equal(twice(third!))
        .and.to.satisfy((time: string) => time > once(second!)!);
      const listed = async (status: string) =>
        (await w.as(ada!).get(`${inbox}?read_status=${status}`)).body.notifications.length;
      expect([await listed("read"), await listed("unread")]).to.deep.equal([3, 0]);
      await mark(third!, false);
      expect([await listed("read"), await listed("unread")]).to.deep.equal([2, 1]);
    });

    it("marks all notifications as read without writing to any of them", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      await fill(w.app, ada!.id, 1_000);
      const versions = () => versionsOf(w, "inbox_notifications", { user_id: ada!.id });
      const before = await versions();
      expect((await w.as(ada!).put(markAll)).status).to.equal(204);
      expect((await w.as(ada!).get(`${inbox}?read_status=unread`)).body).to.deep.equal({
        notifications: [],
        unread_count: 0,
      });
      expect(await versions()).to.deep.equal(before);
    });

    it("applies a single mark after a concurrent mark of all notifications", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const [first, second] = await deliver(w.app, ada!.id, ["first", "second"]);
      const one = await lockRows(w, "inbox_cursors", { user_id: ada!.id }, async ({ awaited, commit }) => {
        const all = w.as(ada!).put(markAll);
        await awaited(1);
        const marked = w.as(ada!).put(readStatus(first!), { is_read: false });
        await awaited(2);
        await commit();
        await all;
        return marked;
      });
      const { body } = one;
      expect(body).to.deep.include({ unread_count: 1 });
      expect(body.notification.read_at).to.equal(null);
      const { notifications } = (await w.as(ada!).get(`${inbox}?read_status=read`)).body;
      expect(notifications.map(({ id }: { id: string }) => id)).to.deep.equal([second]);
    });

    it("keeps the unread count right under concurrent changes", async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const ids = await deliver(
        w.app,
        ada!.id,
        Array.from({ length: 10 }, (_, n) => `n${n}`),
      );
      const change = (n: number) => {
        if (n % 10 === 0) return w.as(ada!).put(markAll);
        if (n % 3 === 0) return deliver(w.app, ada!.id, [`more${n}`]);
        return w.as(ada!).put(readStatus(ids[n % 10]!), { is_read: n % 2 === 0 });
      };
      // Forty at a time: the last of more would wait longer for a connection than a busy machine's server lets them.
      for (const round of [0, 40, 80])
        for (const answer of await Promise.all(Array.from({ length: 40 }, (_, n) => change(round + n))))
          if (!Array.isArray(answer)) expect(answer.status).to.be.oneOf([200, 204]);
      const { inboxNotifications } = await w
        .as(ada!)
        .graphql(`{ inboxNotifications(filter: { readStatus: UNREAD }) { totalCount unreadCount } }`);
      expect(inboxNotifications.unreadCount).to.equal(inboxNotifications.totalCount);
    });
  });
});

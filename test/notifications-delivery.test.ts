// Reaches for tables: a commit fails, and the test waits for an empty queue.
import { expect } from "chai";
import { runJob } from "./support/background.js";
import { type App, startServer } from "./support/app.js";
import { deliver, messages } from "./support/inbox.js";
import { Receiver } from "./support/webhooks.js";
import { countRows, failingCommits, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { repeats } from "./support/repeats.js";
import { type Person, startWorld, type World } from "./support/world.js";

const quick = {
  STEWARD_NOTIFICATIONS_RETRY_BASE: "20ms",
  STEWARD_NOTIFICATIONS_RETRY_MAX: "100ms",
  STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "100ms",
  STEWARD_NOTIFICATIONS_MAX_ATTEMPTS: "3",
};
const testTemplate = "c425f63e-716a-4bf4-ae24-78348f706c3f";
const customTemplate = "39b1e189-c857-4b0c-877a-511144c18516";
const taskIdle = "d4a6271c-cced-4ed0-84ad-afd02a9c7799";

describe("the delivery of notifications", () => {
  let receiver: Receiver;
  let w: World;
  let ada: Person;

  before(async () => {
    receiver = await Receiver.open();
    w = await startWorld({ ...receiver.settings, ...quick });
    ada = await w.user("ada");
    await runJob(w.app, "noticeJob");
    await w.as(w.owner).graphql(`mutation { markAllInboxNotificationsRead { unreadCount } }`);
    await drained();
  });
  after(async () => {
    await w.close();
    await receiver.close();
  });
  beforeEach(() => {
    receiver.respond = () => 204;
    receiver.requests.length = 0;
  });

  /** Resolves when no message waits for delivery. */
  const drained = () =>
    eventually(
      async () => (await countRows(w, "notification_messages", { finished_at: null })) === 0,
      "all messages are finished",
    );
  const custom = (title: string, message = "") =>
    w.as(ada).post("/api/v2/notifications/custom", { content: { title, message } });
  const statesOf = async (template: string) =>
    (await messages(w, { template }))
      .toSorted((one, other) => one.method.localeCompare(other.method))
      .map(({ state }) => state);

  it("reaches the webhook once, signed, with the documented content", async () => {
    await custom("Build *done*", "See [the log](https://example.com/log).");
    await drained();
    expect(receiver.requests).to.have.length(1);
    const [{ id, body }] = receiver.requests as [Receiver["requests"][number]];
    const { payload, ...texts } = body;
    expect(texts).to.deep.equal({
      _version: "1.1",
      msg_id: id,
      title: "Build done",
      title_markdown: "Build *done*",
      body: "See the log (https://example.com/log).",
      body_markdown: "See [the log](https://example.com/log).",
    });
    expect(payload).to.deep.include({
      _version: "1.2",
      notification_name: "Custom Notification",
      user_id: ada.id,
      user_email: ada.email,
      user_username: ada.username,
      actions: [],
      targets: [],
    });
    expect(payload.labels).to.deep.include({ custom_title: "Build *done*" });
  });

  it("gets every message of two replicas through, although the receiver fails every third time", async () => {
    const second: App = await startServer(w.database.url, {
      ...receiver.settings,
      ...quick,
      STEWARD_NOTIFICATIONS_MAX_ATTEMPTS: "20",
    });
    try {
      receiver.respond = (count) => (count % 3 === 0 ? 503 : 200);
      const titles = Array.from({ length: repeats(12, 50) }, (_, index) => `message ${index}`);
      // Enqueued with the number of attempts of the second replica.
      for (let batch = 0; batch < 10; batch++) await deliver(second, ada.id, titles, { templateId: customTemplate });
      const ids = await receiver.acceptedMessages(titles.length * 10);
      await drained();
      expect(ids.size).to.equal(titles.length * 10);
      // The receiver accepted each message once: no lease expired.
      expect(receiver.accepted).to.have.length(titles.length * 10);
      const attempts = (await messages(w, { user: ada.id, method: "WEBHOOK" }))
        .filter(({ id }) => ids.has(id))
        .flatMap((message) => message.attempts);
      expect(attempts.filter(({ outcome }) => outcome === "RETRYABLE")).to.have.length.above(titles.length * 2);
      expect(new Set(attempts.map(({ replica }) => replica))).to.have.property("size", 2);
    } finally {
      await second.close();
    }
  });

  it("gives up after the last attempt, and owners retry and discard", async () => {
    receiver.respond = () => 500;
    await custom("Unlucky");
    await drained();
    const owner = w.as(w.owner);
    const log = `query($state: NotificationMessageState) {
      notificationMessages(filter: { state: $state, user: "${ada.username}" }, first: 1) {
        totalCount nodes { id reason state method template { name } user { username } attempts { number outcome detail } }
      }
    }`;
    const { notificationMessages: dead } = await owner.graphql(log, { state: "PERMANENT_FAILURE" });
    expect(dead.nodes[0]).to.deep.include({
      state: "PERMANENT_FAILURE",
      method: "WEBHOOK",
      template: { name: "Custom Notification" },
      reason: "The receiver responded with status 500.",
    });
    expect(dead.nodes[0].attempts).to.deep.equal(
      [1, 2, 3].map((number) => ({ number, outcome: "RETRYABLE", detail: "The receiver responded with status 500." })),
    );
    const { id } = dead.nodes[0];

    receiver.respond = () => 204;
    const retry = `mutation($input: RetryNotificationMessagesInput!) { retryNotificationMessages(input: $input) { retried } }`;
    expect((await w.as(ada).failure(retry, { input: { ids: [id] } })).code).to.equal("FORBIDDEN");
    expect(await owner.graphql(retry, { input: { ids: [id] } })).to.deep.equal({
      retryNotificationMessages: { retried: 1 },
    });
    await drained();
    expect(receiver.accepted).to.deep.equal([id]);
    const { notificationMessage } = await owner.graphql(
      `{ notificationMessage(id: "${id}") { state reason attempts { number outcome } } }`,
    );
    expect(notificationMessage).to.deep.include({ state: "SENT", reason: null });
    expect(notificationMessage.attempts.at(-1)).to.deep.equal({ number: 4, outcome: "DONE" });

    receiver.respond = () => 410;
    await custom("Gone");
    await drained();
    const discard = `mutation { discardNotificationMessages(input: { filter: { user: "${ada.username}" } }) { discarded } }`;
    expect(await owner.graphql(discard)).to.deep.equal({ discardNotificationMessages: { discarded: 1 } });
    const [discarded] = await messages(w, { state: "DISCARDED" });
    expect(discarded!.attempts).to.have.length(1);
    expect((await owner.failure(retry, { input: {} })).code).to.equal("BAD_USER_INPUT");
  });

  it("does nothing for a change that is rolled back", async () => {
    const before = await messages(w, { user: w.owner.id });
    const taken = `mutation { createUser(input: { email: "${ada.email}", username: "other", password: "plum-Harbor-kite-77" }) { user { id } } }`;
    expect((await w.as(w.owner).failure(taken)).code).to.equal("CONFLICT");
    expect(await messages(w, { user: w.owner.id })).to.deep.equal(before);
  });

  it("does nothing for a change whose commit fails", async () => {
    const stored = () => storedText(w, "notification_messages", "inbox_notifications", "inbox_cursors", "audit_events");
    const before = await stored();
    const create = `mutation { createUser(input: { email: "unheard@example.com", username: "unheard", password: "plum-Harbor-kite-77" }) { user { id } } }`;
    await failingCommits(w, "audit_events", async () => {
      expect((await w.as(w.owner).failure(create)).code).to.equal("INTERNAL_SERVER_ERROR");
    });
    expect(await stored()).to.equal(before);
    await custom("The next one");
    await drained();
    expect(receiver.requests.map(({ body }) => body.title)).to.deep.equal(["The next one"]);
  });

  it("waits while it is paused, except for inboxes", async () => {
    const owner = w.as(w.owner);
    const settings = "/api/v2/notifications/settings";
    expect((await owner.put(settings, { notifier_paused: false })).status).to.equal(304);
    expect((await owner.put(settings, {})).status).to.equal(400);
    expect((await w.as(ada).put(settings, { notifier_paused: true })).status).to.equal(403);
    const paused = await owner.put(settings, { notifier_paused: true });
    expect([paused.status, paused.body]).to.deep.equal([200, { notifier_paused: true }]);
    expect((await w.as(ada).get(settings)).body).to.deep.equal({ notifier_paused: true });
    await custom("While paused");
    const { body } = await w.as(ada).get("/api/v2/notifications/inbox");
    expect(body.notifications[0].title).to.equal("While paused");
    expect(receiver.requests).to.deep.equal([]);
    expect((await owner.put(settings, { notifier_paused: false })).status).to.equal(200);
    await drained();
    expect(receiver.accepted).to.have.length(1);
  });

  it("follows the method that an owner chooses for a template", async () => {
    const owner = w.as(w.owner);
    const path = `/api/v2/notifications/templates/${testTemplate}/method`;
    const put = async (method: unknown) => (await owner.put(path, { method })).status;
    expect([await put("webhook"), await put("webhook"), await put(""), await put("")]).to.deep.equal([
      200, 304, 200, 304,
    ]);
    expect([await put("inbox"), await put("inbox"), await put("x")]).to.deep.equal([200, 304, 400]);
    expect((await w.as(ada).put(path, { method: "smtp" })).status).to.equal(403);
    expect((await owner.put(path, {})).body.validations).to.deep.equal([{ field: "method", detail: "Is required." }]);
    expect((await owner.post("/api/v2/notifications/test")).status).to.equal(200);
    expect(await statesOf(testTemplate)).to.deep.equal(["SENT"]);
    const { body } = await owner.get("/api/v2/notifications/templates/system");
    expect(body.find(({ id }: { id: string }) => id === testTemplate).method).to.equal("inbox");
    expect([await put(""), await put(null), await put("smtp"), await put("")]).to.deep.equal([200, 304, 200, 200]);
    expect((await owner.post("/api/v2/notifications/test")).status).to.equal(200);
    await drained();
    expect(await statesOf(testTemplate)).to.deep.equal(["SENT", "SENT", "SENT"]);
    expect(receiver.accepted).to.have.length(1);
  });

  it("respects what users decide", async () => {
    const path = `/api/v2/users/${ada.username}/notifications/preferences`;
    expect((await w.as(ada).get(path)).body).to.deep.equal([]);
    const off = await w
      .as(ada)
      .put(path, { template_disabled_map: { [customTemplate]: true, [testTemplate]: true, [taskIdle]: false } });
    expect(off.status).to.equal(200);
    expect(off.body.map(({ id, disabled }: { id: string; disabled: boolean }) => [id, disabled])).to.deep.equal([
      [customTemplate, true],
      [taskIdle, false],
      [testTemplate, false],
    ]);
    expect((await custom("Not wanted")).status).to.equal(204);
    const { body } = await w.as(ada).get("/api/v2/notifications/inbox");
    expect(body.notifications.map(({ title }: { title: string }) => title)).to.not.include("Not wanted");
    expect(receiver.requests).to.deep.equal([]);

    const bob = await w.user("bob");
    expect((await w.as(bob).put(path, { template_disabled_map: {} })).status).to.equal(404);
    const unknown = await w.as(ada).put(path, { template_disabled_map: { [customTemplate]: false, nonsense: true } });
    expect([unknown.status, unknown.body.validations]).to.deep.equal([
      400,
      [{ field: "template_disabled_map.nonsense", detail: "Must be the id of a notification template." }],
    ]);
    expect((await w.as(ada).get(path)).body[0].disabled).to.equal(true);
    await w.as(ada).put(path, { template_disabled_map: { [customTemplate]: false } });

    // By one method only, they are not off.
    const byMail = `mutation($template: String!) { updateNotificationPreferences(input: { method: SMTP,
      choices: [{ template: $template, disabled: true }] }) {
        preferences { templateId disabled disabledMethods } } }`;
    const { updateNotificationPreferences: changed } = await w.as(ada).graphql(byMail, { template: customTemplate });
    expect(changed.preferences).to.deep.include({
      templateId: customTemplate,
      disabled: false,
      disabledMethods: ["SMTP"],
    });
    const shown = (await w.as(ada).get(path)).body as Array<{ id: string; disabled: boolean }>;
    expect(shown.find(({ id }) => id === customTemplate)!.disabled).to.equal(false);
    await w.as(ada).put(path, { template_disabled_map: { [customTemplate]: false } });
  });

  it("shows labels literally, whatever they contain", async () => {
    const label = "[x](javascript:1)<b>";
    await w.as(w.owner).graphql(`mutation($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }`, {
      input: { user: ada.id, name: label },
    });
    receiver.requests.length = 0;
    await w.as(w.owner).graphql(`mutation { suspendUser(input: { user: "${ada.id}" }) { user { id } } }`);
    await drained();
    const sent = receiver.requests.find(({ body }) => body.payload.user_id === ada.id)!.body;
    expect(sent.body).to.include(label);
    expect(sent.body_markdown).to.include("\\[x\\](javascript:1)\\<b\\>");
  });
});

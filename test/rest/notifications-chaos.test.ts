// Reaches for tables: connections are ended, and thousands of attempts are counted.
import { expect } from "chai";
import { runJob } from "../support/background.js";
import { type App, startServer } from "../support/app.js";
import { customTemplateId, deliver, inboxOf, testTemplateId } from "../support/inbox.js";
import { Mailbox } from "../support/mailbox.js";
import { Receiver } from "../support/webhooks.js";
import { insert } from "../support/stage.js";
import { countRows, endConnections } from "../support/tables.js";
import { eventually, transports, type Watcher } from "../support/watchers.js";
import { type Person, startWorld, type World } from "../support/world.js";

const room = 10;
const settings = {
  STEWARD_NOTIFICATIONS_LEASE_COUNT: String(room),
  // No attempt times out, however slow the machine is.
  STEWARD_NOTIFICATIONS_DISPATCH_TIMEOUT: "5m",
  STEWARD_NOTIFICATIONS_LEASE_PERIOD: "10m",
  STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
  STEWARD_NOTIFICATIONS_RETRY_BASE: "50ms",
  STEWARD_NOTIFICATIONS_RETRY_MAX: "200ms",
};
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, nr) => `${name} ${nr}`);

describe("notifications while receivers misbehave", () => {
  let receiver: Receiver;
  let mailbox: Mailbox;
  let w: World;

  before(async () => {
    [receiver, mailbox] = [await Receiver.open(), await Mailbox.open()];
    w = await startWorld({ ...receiver.settings, ...mailbox.settings, ...settings });
    await insert(w, { notification_template_methods: [{ template_id: testTemplateId, method: "smtp" }] });
  });
  after(async () => {
    await receiver.close();
    await w.close();
    await mailbox.close();
  });
  afterEach(() => {
    receiver.respond = () => 204;
    receiver.requests.length = 0;
    mailbox.hangs = () => false;
  });

  const by = { webhook: { templateId: customTemplateId }, smtp: { templateId: testTemplateId } };
  const isBad = (title: string) => title.startsWith("bad");
  const endedAttempts = (ids: string[]) => countRows(w, "notification_attempts", { message_id: ids });
  const hanging = () => receiver.requests.filter(({ status }) => status === 0).map(({ id }) => id);
  const goodAccepted = () => receiver.requests.filter(({ body, status }) => !isBad(body.title) && status === 204);

  it("go on by mail, although every webhook hangs", async () => {
    receiver.respond = () => "hang";
    await deliver(w.app, w.owner.id, numbered("bad", 2 * room), by.webhook);
    await eventually(() => receiver.requests.length >= room, "the webhooks hang");
    const { length } = mailbox.letters;
    await deliver(w.app, w.owner.id, numbered("good", 40), by.smtp);
    await eventually(() => mailbox.letters.length === length + 40, "all mails arrive");
    expect(await endedAttempts(hanging()), "none had to end for that").to.equal(0);
  });

  it("go on by webhook, although more of them hang than are sent at a time", async () => {
    receiver.respond = (_, { title }) => (isBad(title) ? "hang" : 204);
    await deliver(w.app, w.owner.id, numbered("bad", 2 * room), by.webhook);
    await deliver(w.app, w.owner.id, numbered("good", 100), by.webhook);
    await eventually(() => goodAccepted().length === 100, "the others arrive", 30_000);
    expect(new Set(hanging()).size).to.be.at.least(2 * room);
    expect(await endedAttempts(hanging()), "none had to end for that").to.equal(0);
  });

  it("are sent once each and in one attempt, whatever else is sent in vain meanwhile", async () => {
    // Details of failures may contain anything that receivers send.
    receiver.respond = (_, { title }) => (isBad(title) ? 500 : 204);
    mailbox.refusal = { responseCode: 451, message: "not\u0000now" };
    await deliver(w.app, w.owner.id, numbered("bad", 10), by.smtp);
    await deliver(w.app, w.owner.id, numbered("bad", 10), by.webhook);
    await deliver(w.app, w.owner.id, numbered("good", 190), by.webhook);
    await eventually(() => goodAccepted().length === 190, "the others arrive", 30_000);
    mailbox.refusal = undefined;
    const good = goodAccepted().map(({ id }) => id);
    expect(new Set(good).size).to.equal(190);
    await eventually(async () => {
      const sentOnce = { id: good, attempts: 1, state: "sent" };
      return (await countRows(w, "notification_messages", sentOnce)) === good.length;
    }, "each is recorded as sent by its first attempt");
  });
});

describe("notifications while hints are lost", () => {
  let receiver: Receiver;
  let w: World;
  let replica: App;

  before(async () => {
    receiver = await Receiver.open();
    w = await startWorld({ ...receiver.settings, ...settings });
    replica = await startServer(w.database.url, { ...receiver.settings, ...settings });
  });
  after(async () => {
    await replica.close();
    await w.close();
    await receiver.close();
  });

  const names = Object.keys(transports) as Array<keyof typeof transports>;
  const everywhere = ({ token }: Person): Promise<Watcher[]> =>
    Promise.all([w.url, replica.url].flatMap((url) => names.map((name) => transports[name](url, token))));

  /** Sends from both replicas, and checks what arrives at every watcher, and at the receiver. */
  async function story(ada: Person, total: number, afterwards: () => void | Promise<void>): Promise<void> {
    // Owners are told about the new user, by a job.
    await runJob(w.app, "noticeJob");
    const waiting = { state: ["pending", "leased"] };
    await eventually(
      async () => (await countRows(w, "notification_messages", waiting)) === 0,
      "all other messages are delivered",
    );
    receiver.requests.length = 0;
    const watchers = await everywhere(ada);
    for (let sent = 0; sent < total; sent += 10) {
      await deliver(w.app, ada.id, numbered("from one", 5), { templateId: customTemplateId });
      await deliver(replica, ada.id, numbered("from the other", 5), { templateId: customTemplateId });
    }
    await afterwards();
    await eventually(() => watchers.every(({ items }) => items.length >= total), "every watcher gets all", 40_000);
    const stored = await inboxOf(w, ada);
    for (const { items } of watchers) expect(items.map(({ id }) => id)).to.deep.equal(stored);
    for (const watcher of watchers) watcher.close();
    await receiver.acceptedMessages(total);
    expect(receiver.accepted).to.have.length(total);
  }

  it("reach all watchers in order and once, although each tenth hint is dropped", async () => {
    const ada = await w.user("ada");
    let hints = 0;
    const intact = [w.app, replica].map(({ services: { events } }) => {
      const publish = events.publish.bind(events);
      (events as { publish: typeof publish }).publish = (...all) => publish(...all.filter(() => ++hints % 10 > 0));
      return () => Object.assign(events, { publish });
    });
    await story(ada, 200, () => intact.forEach((restore) => restore()));
    expect(hints).to.be.greaterThan(200);
  });

  it("reach all watchers in order and once, although the connection of the hints is ended all the time", async () => {
    const bob = await w.user("bob");
    let ended = 0;
    const end = async () => {
      ended += await endConnections(w, "steward events");
    };
    const timer = setInterval(() => void end(), 300);
    await story(bob, 200, async () => {
      await eventually(() => ended >= 6, "connections were ended", 20_000);
      clearInterval(timer);
    });
  });
});

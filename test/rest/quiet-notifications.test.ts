// Reaches for tables: ten minutes pass, which no test waits for.
import { expect } from "chai";
import { runJob } from "../support/background.js";
import { messages } from "../support/inbox.js";
import { Mailbox } from "../support/mailbox.js";
import { countRows, letPass, setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Person, startWorld, type World } from "../support/world.js";

const created = "4e19c0ac-94e1-4532-9515-d1801aa283b2";
const inbox = `/api/v2/notifications/inbox?templates=${created}`;

describe("quiet notifications", () => {
  let mailbox: Mailbox;
  let w: World;
  let uma: Person;

  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld({
      ...mailbox.settings,
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "100ms",
      STEWARD_NOTIFICATIONS_RETRY_BASE: "20ms",
      STEWARD_NOTIFICATIONS_RETRY_MAX: "1s",
      // No mail is given up while the mail server is away, however late a test notices its failures.
      STEWARD_NOTIFICATIONS_MAX_ATTEMPTS: "100",
    });
    uma = await w.user("uma");
    await w.grant(uma, "user-admin");
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });

  const tell = () => runJob(w.app, "noticeJob");
  const noneIsLeft = () =>
    eventually(
      async () => (await countRows(w, "notification_messages", { finished_at: null })) === 0,
      "all messages are finished",
    );
  /** Makes all mails due that wait for others, as if time had passed, and waits until they are sent. */
  const afterTheWait = async () => {
    await tell();
    await setColumns(w, "notification_messages", { state: "pending" }, { next_attempt_at: new Date(0) });
    await noneIsLeft();
  };
  /** As if no mail had been sent lately. */
  const longAfter = async () => {
    await afterTheWait();
    await letPass(w, "notification_messages", {}, "1 h", ["created_at", "next_attempt_at"]);
    mailbox.letters.length = 0;
  };
  const titlesFor = async (person: Person): Promise<string[]> =>
    (await w.as(person).get(inbox)).body.notifications.map(({ title }: { title: string }) => title);

  it("do not tell those who acted about accounts, but everyone else", async () => {
    const other = await w.user("other");
    await w.grant(other, "owner");
    const eve = await w.user("eve");
    await tell();
    const title = `Account ${eve.username} was created`;
    expect(await titlesFor(w.owner)).to.not.include(title);
    expect(await titlesFor(other)).to.include(title);
    const mine = await w
      .as(uma)
      .graphql(
        `mutation { createUser(input: { username: "made-by-uma", email: "made@example.com", password: "a-long-Passw0rd!", organizationIds: ["${w.defaultOrganization}"] }) { user { id } } }`,
      );
    expect(mine.createUser.user.id).to.be.a("string");
    await tell();
    expect(await titlesFor(uma)).to.not.include("Account made-by-uma was created");
    expect(await titlesFor(w.owner)).to.include("Account made-by-uma was created");
  });

  it("send the first mail, and those that follow within ten minutes as one, while the inbox has each", async () => {
    await longAfter();
    const people = await w.users("a", "b", "c", "d", "e", "f");
    await tell();
    await mailbox.letter(uma.email);
    const [last] = await w.users("g");
    await tell();
    const waiting = (await messages(w, { user: uma.id, template: created })).filter(({ state }) => state === "PENDING");
    expect(waiting.length).to.be.above(0);
    for (const { nextAttemptAt } of waiting) expect(Date.parse(nextAttemptAt)).to.be.above(Date.now() + 300_000);
    expect(mailbox.to(uma.email)).to.have.length(1);

    await afterTheWait();
    const letters = mailbox.to(uma.email);
    expect(letters).to.have.length(2);
    const text = letters.map((letter) => letter.text.replaceAll("=\r\n", "")).join("\n");
    for (const { username } of [...people, last!]) expect(text).to.include(`Account ${username} was created`);
    expect(await titlesFor(uma)).to.include.members(
      [...people, last!].map(({ username }) => `Account ${username} was created`),
    );
    const all = await messages(w, { user: uma.id, template: created, method: "SMTP" });
    expect(new Set(all.map(({ state }) => state))).to.deep.equal(new Set(["SENT"]));
  });

  it("stay one mail while the mail server is away", async () => {
    await longAfter();
    mailbox.refusal = { responseCode: 451, message: "Later." };
    const people = await w.users("a", "b", "c", "d");
    await tell();
    const failed = async () =>
      (await messages(w, { user: uma.id, template: created })).some(({ attempts }) => attempts.length > 1);
    await eventually(failed, "the mail has failed twice");
    mailbox.refusal = undefined;
    await afterTheWait();
    expect(mailbox.to(uma.email).length).to.be.at.most(2);
    const text = mailbox
      .to(uma.email)
      .map((letter) => letter.text.replaceAll("=\r\n", ""))
      .join("\n");
    for (const { username } of people) expect(text).to.include(`Account ${username} was created`);
  });

  it("leave what users send themselves, and what cannot be turned off, one mail each", async () => {
    await longAfter();
    for (const title of ["One", "Two", "Three"])
      await w.as(uma).post("/api/v2/notifications/custom", { content: { title } });
    for (let count = 0; count < 2; count++)
      await w.as(w.owner).graphql("mutation { sendTestNotification { messageIds } }");
    await noneIsLeft();
    expect(mailbox.to(uma.email)).to.have.length(3);
    expect(mailbox.to(w.owner.email)).to.have.length(2);
  });
});

// Reaches for tables: secrets are stored nowhere as text.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { type App, startServer } from "./support/app.js";
import { Mailbox } from "./support/mailbox.js";
import { Receiver } from "./support/webhooks.js";
import { eventually } from "./support/watchers.js";
import { storedText } from "./support/tables.js";
import { type Person, startWorld, type World } from "./support/world.js";

const mutation = `mutation($input: UpdateNotificationTransportsInput!) {
  updateNotificationTransports(input: $input) {
    webhookSecret
    notificationTransports {
      smtp { host port from username password { isSet } lockedFields }
      webhook { url secret { isSet } lockedFields }
    }
  }
}`;

describe("the transports of notifications", () => {
  let receiver: Receiver;
  let mailbox: Mailbox;
  let w: World;
  let replica: App;
  let ada: Person;

  before(async () => {
    [receiver, mailbox] = [await Receiver.open(), await Mailbox.open()];
    w = await startWorld({ STEWARD_NOTIFICATIONS_SMTP_HELLO: "steward.example" });
    replica = await startServer(w.database.url, { STEWARD_NOTIFICATIONS_SMTP_HELLO: "steward.example" });
    ada = await w.user("ada");
  });
  after(async () => {
    await replica.close();
    await w.close();
    await receiver.close();
    await mailbox.close();
  });

  const update = async (input: object) =>
    (await w.as(w.owner).graphql(mutation, { input })).updateNotificationTransports;
  const failure = async (input: object) => {
    const { code, errors } = await w.as(w.owner).failure(mutation, { input });
    return [code, errors[0]!.extensions.validations?.map(({ field }: { field: string }) => field)];
  };
  const port = () => Number(mailbox.settings.STEWARD_NOTIFICATIONS_SMTP_PORT);

  it("are unset at first, and only owners read and change them", async () => {
    const query = "{ notificationTransports { smtp { host port lockedFields } webhook { url secret { isSet } } } }";
    expect((await w.as(w.owner).graphql(query)).notificationTransports).to.deep.equal({
      smtp: { host: null, port: 587, lockedFields: ["hello"] },
      webhook: { url: null, secret: { isSet: false } },
    });
    expect((await w.as(ada).failure(query)).code).to.equal("FORBIDDEN");
    expect((await w.as(ada).failure(mutation, { input: {} })).code).to.equal("FORBIDDEN");
  });

  it("report all invalid values, and those that others require", async () => {
    expect(
      await failure({
        smtp: { host: "no host!", port: 0, from: "x" },
        webhook: { url: "ftp://x", secrets: ["short"] },
      }),
    ).to.deep.equal([
      "BAD_USER_INPUT",
      ["input.smtp.host", "input.smtp.port", "input.smtp.from", "input.webhook.url", "input.webhook.secrets"],
    ]);
    expect(await failure({ smtp: { host: "127.0.0.1", username: "steward" } })).to.deep.equal([
      "BAD_USER_INPUT",
      ["input.smtp.from", "input.smtp.password"],
    ]);
  });

  it("stay as the environment sets them", async () => {
    expect(await failure({ smtp: { hello: "other.example" } })).to.deep.equal(["CONFLICT", ["input.smtp.hello"]]);
  });

  it("take effect on all replicas, and test notifications use them", async () => {
    const { notificationTransports, webhookSecret } = await update({
      smtp: { host: "127.0.0.1", port: port(), from: "steward@example.com" },
    });
    expect(webhookSecret).to.equal(null);
    expect(notificationTransports.smtp).to.deep.include({
      host: "127.0.0.1",
      port: port(),
      password: { isSet: false },
    });
    await w.as(w.owner).post("/api/v2/notifications/test");
    expect((await mailbox.letter(w.owner.email)).from).to.equal("steward@example.com");
    await eventually(() => replica.services.transports.smtp !== undefined, "the other replica uses it");
  });

  it("generate a webhook secret, return it once, and store it encrypted", async () => {
    const url = receiver.settings.STEWARD_NOTIFICATIONS_WEBHOOK_URL;
    const { webhookSecret, notificationTransports } = await update({ webhook: { url } });
    expect(webhookSecret).to.match(/^whsec_/);
    expect(notificationTransports.webhook).to.deep.include({ url, secret: { isSet: true } });
    expect((await update({ webhook: { url } })).webhookSecret).to.equal(null);
    const stored = await storedText(w, "notification_transports");
    expect(stored).to.include(url);
    for (const text of [webhookSecret, [...Buffer.from(webhookSecret)].join()]) expect(stored).to.not.include(text);
    expect(JSON.stringify(await audited(w, { resourceType: "notification_transports" })))
      .to.include("webhook.url")
      .and.include("***")
      .and.not.include(webhookSecret);

    receiver.secret = webhookSecret;
    await w.as(w.owner).put("/api/v2/notifications/templates/c425f63e-716a-4bf4-ae24-78348f706c3f/method", {
      method: "webhook",
    });
    await w.as(w.owner).post("/api/v2/notifications/test");
    await receiver.acceptedMessages(1);
  });

  it("are stored again after a restart, and end when they are cleared", async () => {
    const third = await startServer(w.database.url);
    expect([third.services.transports.smtp, third.services.transports.webhook].map(Boolean)).to.deep.equal([
      true,
      true,
    ]);
    await update({ smtp: { host: null, from: null, port: null }, webhook: { url: null, secrets: null } });
    await eventually(
      () => [w.app, replica, third].every(({ services: { transports } }) => !transports.smtp && !transports.webhook),
      "no replica uses them any more",
    );
    await third.close();
    const { encryptionStatus } = await w.as(w.owner).graphql("{ encryptionStatus { keys { rows { table count } } } }");
    const counts = (encryptionStatus.keys as Array<{ rows: Array<{ table: string; count: number }> }>)
      .flatMap(({ rows }) => rows)
      .filter(({ table }) => table === "notification_transports");
    expect(new Set(counts.map(({ count }) => count))).to.deep.equal(new Set([0]));
  });
});

describe("alerts about resources of a workspace", () => {
  let w: World;
  before(async () => {
    w = await startWorld();
  });
  after(() => w.close());

  const report = `mutation($input: ReportAgentResourceAlertInput!) { reportAgentResourceAlert(input: $input) { reported } }`;

  it("reach its owner once an hour for each resource of an agent", async () => {
    const [ada] = await w.users("ada");
    const { agent, name, id } = await w.workspace(ada!);
    const alert = async (input: object) =>
      (await w.as(agent).graphql(report, { input })).reportAgentResourceAlert.reported;
    const disk = { resource: "DISK", volumes: [{ path: "/home/*me*", threshold: 90 }] };
    // The hour may end in between: the same hour is certain for two out of three.
    const memory = [];
    for (let nr = 0; nr < 3; nr++) memory.push(await alert({ resource: "MEMORY", threshold: 80 }));
    expect(memory.filter(Boolean).length).to.be.within(1, 2);
    expect(await alert(disk)).to.equal(true);
    const other = await w.agent({ id }, "second");
    expect((await w.as(other).graphql(report, { input: disk })).reportAgentResourceAlert.reported).to.equal(true);

    const { body } = await w.as(ada!).get("/api/v2/notifications/inbox");
    const texts = body.notifications.map(({ title, content }: { title: string; content: string }) => title + content);
    expect(texts[0]).to.include(`${name} is low on disk`);
    expect(texts[0]).to.include("/home/\\*me\\*").and.include("90%");
    expect(texts.at(-1)).to.include("80%");
    expect(body.notifications[0].targets).to.deep.equal([id]);
    expect(body.notifications[0].actions[0].url).to.include(`/workspaces/${id}`);
  });

  it("come only from agents, and say what is above which threshold", async () => {
    const [ada] = await w.users("ada");
    const { agent } = await w.workspace(ada!);
    const memory = { resource: "MEMORY", threshold: 80 };
    expect((await w.as(ada!).failure(report, { input: memory })).code).to.equal("FORBIDDEN");
    for (const [input, fields] of [
      [{ resource: "MEMORY" }, ["input.threshold"]],
      [{ resource: "MEMORY", threshold: 101 }, ["input.threshold"]],
      [{ resource: "DISK" }, ["input.volumes"]],
      [
        { resource: "DISK", volumes: [{ path: "", threshold: 0 }] },
        ["input.volumes[0].path", "input.volumes[0].threshold"],
      ],
    ] as const) {
      const { code, errors } = await w.as(agent).failure(report, { input });
      expect([code, errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)]).to.deep.equal([
        "BAD_USER_INPUT",
        fields,
      ]);
    }
  });
});

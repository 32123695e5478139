// Reaches for tables: times that no test waits for, and secrets at rest.
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { Webhook } from "standardwebhooks";
import { changesOf } from "./support/audit.js";
import { withTimeLeft } from "./support/clock.js";
import {
  changeEndpoint,
  deliveriesOf,
  EventReceiver,
  fail,
  makeEndpoint,
  readEndpoint,
  signedBy,
  toThisMachine,
} from "./support/event-receiver.js";
import { letPass, setColumns, setTimes, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { type Client, world } from "./support/world.js";

describe("event endpoints", () => {
  const w = world(toThisMachine);
  let receiver: EventReceiver;
  let owner: Client;
  const made: string[] = [];

  before(() => {
    owner = w().as(w().owner);
  });
  beforeEach(async () => {
    receiver = await EventReceiver.open();
  });
  afterEach(async () => {
    for (const id of made.splice(0)) await changeEndpoint(owner, "deleteEventEndpoint", { id }, "eventEndpoint { id }");
    await receiver.close();
  });

  const make = async (input: Record<string, unknown> = {}, by = owner, url = receiver.url) => {
    const endpoint = await makeEndpoint(w(), url, input, by);
    made.push(endpoint.id);
    return endpoint;
  };
  const arrived = (count: number, of = receiver) =>
    eventually(() => of.received.length >= count, `${count} messages arrive`, 15_000);
  const inState = async (id: string, state: string) =>
    eventually(async () => (await readEndpoint(owner, id)).state === state, `it is ${state}`, 15_000);
  const hasFailed = (id: string) =>
    eventually(
      async () => (await deliveriesOf(owner, id)).some(({ state, log }) => state === "PENDING" && log.length === 1),
      "an attempt has failed",
    );
  /** An endpoint is noted after the result of its delivery. */
  const failureNoted = (id: string) =>
    eventually(async () => (await readEndpoint(owner, id)).failingSince !== null, "its failure is noted");
  /** Lets the deliveries that wait for another attempt be due. */
  const retry = (endpoint: string) =>
    setTimes(w(), "event_deliveries", { endpoint_id: endpoint, state: "pending" }, { next_attempt_at: "-1 s" });
  const group = (name: string) => w().group(name);
  const graphqlCode = async (by: Client, name: string, input: object) =>
    by
      .failure(
        `mutation($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
        { input },
      )
      .then(({ code }) => code);

  it("receive the events that they select, signed, with who did what", async () => {
    const { id, secret } = await make({ eventTypes: ["group.*", "workspace.create"] });
    const { id: groupId } = await group("receivers");
    await owner.patch(`/api/v2/groups/${groupId}`, { display_name: "Receivers" });
    await owner.graphql(
      `mutation { updateOrganization(input: { organization: "default", description: "x" }) { __typename } }`,
    );
    await owner.delete(`/api/v2/groups/${groupId}`);
    await arrived(3);
    expect(receiver.seen).to.have.members([
      "group.create receivers",
      "group.update receivers",
      "group.delete receivers",
    ]);
    const update = receiver.received.find(({ body }) => body.type === "group.update")!;
    expect(update.headers["content-type"]).to.equal("application/json");
    expect(update.headers["webhook-signature"]).to.equal(signedBy(secret, update));
    expect(new Webhook(secret).verify(update.text, update.headers as Record<string, string>)).to.deep.equal(
      update.body,
    );
    const { eventTypes } = await owner.graphql("{ eventTypes { name schema } }");
    const ajv = new Ajv2020({ formats: { "date-time": true, uuid: true } });
    for (const { body } of receiver.received) {
      const { schema } = eventTypes.find(({ name }) => name === body.type)!;
      expect(ajv.validate(schema, body), ajv.errorsText()).to.equal(true);
    }
    const { data, ...envelope } = update.body;
    expect(data).to.deep.include({
      object: { type: "group", id: groupId, name: "receivers" },
      actor: { kind: "user", id: w().owner.id, name: "owner" },
      changes: { displayName: { old: "", new: "Receivers" } },
    });
    expect(data.request_id).to.be.a("string");
    expect(envelope).to.deep.include({ type: "group.update", version: 1, organization_id: w().defaultOrganization });
    expect(envelope.timestamp).to.match(/^\d{4}-.*Z$/);
    const sequences = ["group.create", "group.update", "group.delete"].map(
      (type) => receiver.received.find(({ body }) => body.type === type)!.body.sequence as number,
    );
    expect(sequences).to.deep.equal(sequences.toSorted((one, other) => one - other));
    await eventually(async () => (await readEndpoint(owner, id)).queuedCount === 0, "nothing waits");
    const log = await deliveriesOf(owner, id);
    expect(log).to.have.lengthOf(3);
    for (const delivery of log) {
      expect(delivery).to.include({ state: "DELIVERED", attempts: 1, nextAttemptAt: null });
      expect(delivery.log[0]).to.include({ status: 204, failure: null });
    }
    expect((await readEndpoint(owner, id)).deliveredAt).to.be.a("string");
  });

  it("receive only what concerns their organization", async () => {
    const other = await w().organization();
    await make({ organization: other.name, name: "other", eventTypes: ["group.*", "workspace.*"] });
    await group("hidden");
    await w().group("shown", { organization: other.id });
    await arrived(1);
    await w().group("shown-too", { organization: other.id });
    await arrived(2);
    expect(receiver.seen.filter((each) => each.startsWith("group"))).to.deep.equal([
      "group.create shown",
      "group.create shown-too",
    ]);
  });

  it("receive the notifications about what belongs to their organization, each once, in the sequence of the log", async () => {
    const other = await w().organization();
    await make({ eventTypes: ["group.create", "workspace.*"] });
    const thin = await EventReceiver.open();
    await make({ name: "thin", eventTypes: ["workspace.out_of_memory"], isThin: true }, owner, thin.url);
    const [ada] = await w().users("ada");
    const { id, name, agent } = await w().workspace(ada!);
    // The owner is told once in an hour of the clock.
    await withTimeLeft(3_600_000, 30_000);
    const alert = (threshold: number) =>
      w()
        .as(agent)
        .graphql(
          `mutation($input: ReportAgentResourceAlertInput!) { reportAgentResourceAlert(input: $input) { __typename } }`,
          { input: { resource: "MEMORY", threshold } },
        );
    await group("before-alert");
    await alert(80);
    await alert(90);
    await arrived(2);
    await arrived(1, thin);
    const [created, told] = ["group.create", "workspace.out_of_memory"].map((type) =>
      receiver.received.find(({ body }) => body.type === type)!,
    );
    expect(told!.body.data).to.deep.include({
      object: { type: "workspace", id, name },
      details: { threshold: "80%" },
    });
    expect(told!.body.data.actor.kind).to.equal("agent");
    expect(told!.body.sequence).to.be.at.least(created!.body.sequence);
    expect(thin.received[0]!.body.data).to.have.all.keys("object", "actor", "request_id");
    expect(thin.received[0]!.body.data.object).to.deep.equal({ type: "workspace", id });

    // What was before an endpoint, or is of another organization, is sent with the same id, or not.
    const later = await EventReceiver.open();
    const after = new Date(Date.now() - 3_600_000).toISOString();
    const types = { eventTypes: ["workspace.out_of_memory"] };
    const [mine, others] = await Promise.all([
      make({ ...types, name: "later" }, owner, later.url),
      make({ ...types, name: "elsewhere", organization: other.id }, owner, later.url),
    ]);
    expect(await changeEndpoint(owner, "redeliverEvents", { id: others.id, after }, "count")).to.deep.equal({
      count: 0,
    });
    expect(await changeEndpoint(owner, "redeliverEvents", { id: mine.id, after }, "count")).to.deep.equal({ count: 1 });
    await arrived(1, later);
    expect(later.received[0]!.id).to.equal(told!.id);
    expect(later.received[0]!.text).to.equal(told!.text);
    expect(receiver.seen.filter((each) => each === `workspace.out_of_memory ${name}`)).to.have.lengthOf(1);
    await later.close();
    await thin.close();
  });

  it("receive thin events without names and changes", async () => {
    await make({ isThin: true, eventTypes: ["group.create"] });
    const { id } = await group("thin");
    await arrived(1);
    const { data } = receiver.received[0]!.body;
    expect(data.object).to.deep.equal({ type: "group", id });
    expect(data.actor).to.deep.equal({ kind: "user", id: w().owner.id });
    expect(data).to.not.have.property("changes");
  });

  it("never show a secret again, nor store it in the clear, nor send it", async () => {
    const { id, secret, eventEndpoint } = await make({ eventTypes: ["event_endpoint.*"] });
    expect(secret).to.match(/^whsec_/);
    expect(eventEndpoint.secrets).to.have.lengthOf(1);
    expect(secret.endsWith(eventEndpoint.secrets[0]!.suffix)).to.equal(true);
    const url = `${receiver.url}?key=hidden-in-the-url`;
    await changeEndpoint(owner, "updateEventEndpoint", { id, url });
    const added = await changeEndpoint(
      owner,
      "createEventEndpointSecret",
      { endpoint: id },
      "text secret { id suffix }",
    );
    await arrived(3);
    const stored = await storedText(w(), "event_endpoint_secrets", "audit_log", "event_deliveries");
    const sent = JSON.stringify([receiver.received, await changesOf(w(), id), stored]);
    for (const text of [
      secret,
      added.text,
      Buffer.from(secret.slice(6), "base64").toString("hex"),
      "hidden-in-the-url",
    ])
      expect(sent).to.not.include(text);
    const [, changed] = await changesOf(w(), id);
    expect(changed!.diff).to.deep.include({ url: { old: "***", new: "***" } });
  });

  it("sign with all of their secrets, the newest first, so that receivers can change", async () => {
    const { id, secret, eventEndpoint } = await make({ eventTypes: ["group.create"] });
    const { text } = await changeEndpoint(owner, "createEventEndpointSecret", { endpoint: id }, "text");
    await group("both");
    await arrived(1);
    const [both] = receiver.received;
    expect(both!.headers["webhook-signature"]).to.equal(`${signedBy(text, both!)} ${signedBy(secret, both!)}`);
    const [former] = eventEndpoint.secrets;
    const left = await changeEndpoint(owner, "deleteEventEndpointSecret", { endpoint: id, id: former!.id });
    expect(left.eventEndpoint.secrets).to.have.lengthOf(1);
    await group("new-alone");
    await arrived(2);
    expect(receiver.received[1]!.headers["webhook-signature"]).to.equal(signedBy(text, receiver.received[1]!));
    const last = left.eventEndpoint.secrets[0].id;
    expect(await graphqlCode(owner, "deleteEventEndpointSecret", { endpoint: id, id: last })).to.equal("CONFLICT");
    for (let count = 1; count < 5; count++)
      await changeEndpoint(owner, "createEventEndpointSecret", { endpoint: id }, "text");
    expect(await graphqlCode(owner, "createEventEndpointSecret", { endpoint: id })).to.equal("CONFLICT");
  });

  it("receive an event again until they accept it, with the same id, while others are not held up", async () => {
    const { id } = await make({ eventTypes: ["group.create"] });
    receiver.respond = ({ body }, response) => {
      if (body.data.object.name === "poison") fail(response, 500, "No \u001b[31mroom");
      else response.writeHead(200).end();
    };
    await group("poison");
    await arrived(1);
    await group("healthy");
    await arrived(2);
    expect(receiver.seen).to.deep.equal(["group.create poison", "group.create healthy"]);
    await hasFailed(id);
    const waiting = (await deliveriesOf(owner, id)).find(({ state }) => state === "PENDING")!;
    expect(Date.parse(waiting.nextAttemptAt)).to.be.greaterThan(Date.parse(waiting.createdAt));
    expect(waiting.log[0]).to.include({
      status: 500,
      excerpt: "No  [31mroom",
      failure: "It responded with status 500.",
    });
    await retry(id);
    await arrived(3);
    receiver.respond = (_, response) => void response.writeHead(200).end();
    await eventually(async () => (await deliveriesOf(owner, id)).some(({ log }) => log.length === 2), "it is noted");
    await retry(id);
    await arrived(4);
    await eventually(
      async () => (await deliveriesOf(owner, id, "state: DELIVERED")).length === 2,
      "both are delivered",
    );
    const ids = receiver.received.filter(({ body }) => body.data.object.name === "poison").map((message) => message.id);
    expect(ids).to.have.lengthOf(3);
    expect(new Set(ids).size).to.equal(1);
    expect(new Set(receiver.received.filter((message) => message.id === ids[0]).map(({ text }) => text)).size).to.equal(
      1,
    );
    const healed = (await deliveriesOf(owner, id)).find(({ eventId }) => eventId === ids[0])!;
    expect(healed).to.include({ attempts: 3 });
    expect(healed.log.map(({ status }: { status: number }) => status)).to.deep.equal([500, 500, 200]);
  });

  it("are disabled after three days of failures, with a notification, and go on when they are resumed", async () => {
    const { id } = await make({ name: "dead", eventTypes: ["group.create"] });
    receiver.respond = (_, response) => fail(response, 503);
    await group("unlucky");
    await hasFailed(id);
    await failureNoted(id);
    const { failingSince, lastFailure } = await readEndpoint(owner, id);
    expect([typeof failingSince, lastFailure]).to.deep.equal(["string", "It responded with status 503."]);
    await letPass(w(), "event_endpoints", { id }, "73 h", ["failing_since"]);
    await letPass(w(), "event_deliveries", { endpoint_id: id }, "73 h", ["next_attempt_at", "expires_at"]);
    await inState(id, "DISABLED");
    const [failed] = await deliveriesOf(owner, id);
    expect(failed).to.include({ state: "FAILED", attempts: 2 });
    const { body } = await owner.get("/api/v2/notifications/inbox");
    expect(body.notifications[0]).to.include({ title: 'Event endpoint "dead" disabled' });
    expect((await changesOf(w(), id)).at(-1)!.diff).to.deep.equal({ state: { old: "active", new: "disabled" } });
    await group("missed");
    receiver.respond = (_, response) => void response.writeHead(204).end();
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: false });
    await eventually(() => receiver.seen.includes("group.create missed"), "what was missed arrives", 15_000);
    await changeEndpoint(owner, "redeliverEvent", { delivery: failed!.id }, "eventDelivery { state }");
    await eventually(
      async () => (await deliveriesOf(owner, id, "state: DELIVERED")).length === 2,
      "both are delivered",
    );
    expect(
      new Set(receiver.received.filter(({ body: sent }) => sent.data.object.name === "unlucky").map((m) => m.id)).size,
    ).to.equal(1);
  });

  it("are disabled when they say that they are gone", async () => {
    const { id } = await make({ eventTypes: ["group.create"] });
    receiver.respond = (_, response) => void response.writeHead(410).end();
    await group("gone");
    await inState(id, "DISABLED");
  });

  it("wait while they are paused", async () => {
    const { id } = await make({ eventTypes: ["group.create"] });
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: true });
    expect(await graphqlCode(owner, "testEventEndpoint", { id })).to.equal("CONFLICT");
    await group("paused-one");
    // An endpoint of the same filter has received it, and this one has not.
    const other = await EventReceiver.open();
    await make({ eventTypes: ["group.create"] }, owner, other.url);
    await group("paused-two");
    await arrived(1, other);
    await other.close();
    expect(receiver.received).to.deep.equal([]);
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: false });
    await arrived(2);
    expect(receiver.seen).to.have.members(["group.create paused-one", "group.create paused-two"]);
  });

  it("receive a test, which is sent once", async () => {
    const { id, secret } = await make({ eventTypes: ["group.create"] });
    const { eventDelivery } = await changeEndpoint(
      owner,
      "testEventEndpoint",
      { id },
      "eventDelivery { id type state }",
    );
    expect(eventDelivery).to.include({ type: "event_endpoint.test", state: "PENDING" });
    await arrived(1);
    const [test] = receiver.received;
    expect(test!.body).to.include({ type: "event_endpoint.test", sequence: null });
    expect(test!.headers["webhook-signature"]).to.equal(signedBy(secret, test!));
    receiver.respond = (_, response) => void response.writeHead(400).end();
    const second = await changeEndpoint(owner, "testEventEndpoint", { id }, "eventDelivery { id }");
    await eventually(
      async () =>
        (await deliveriesOf(owner, id)).find((each) => each.id === second.eventDelivery.id)?.state === "FAILED",
      "it fails",
    );
  });

  it("receive the events of a period again, with the same ids", async () => {
    const { id } = await make({ eventTypes: ["group.create"] });
    const after = new Date(Date.now() - 1000).toISOString();
    await group("again-one");
    await group("again-two");
    await arrived(2);
    await eventually(
      async () => (await deliveriesOf(owner, id, "state: DELIVERED")).length === 2,
      "both are delivered",
    );
    // Events of just before it was made may belong to the period.
    const missed = await changeEndpoint(owner, "redeliverEvents", { id, after }, "count");
    await arrived(2 + missed.count);
    await eventually(async () => (await readEndpoint(owner, id)).queuedCount === 0, "all are delivered");
    const none = await changeEndpoint(owner, "redeliverEvents", { id, after }, "count");
    expect(none.count).to.equal(0);
    const all = await changeEndpoint(owner, "redeliverEvents", { id, after, onlyUndelivered: false }, "count");
    expect(all.count).to.equal(2 + missed.count);
    const again = receiver.received.slice(0, 2).map((message) => message.id);
    await eventually(
      () => again.every((one) => receiver.received.filter((message) => message.id === one).length === 2),
      "each arrives twice",
    );
    expect(await graphqlCode(owner, "redeliverEvents", { id, after, before: "2020-01-01T00:00:00Z" })).to.equal(
      "BAD_USER_INPUT",
    );
  });

  it("stop when their maker loses the right, until another one resumes them", async () => {
    const [mia] = await w().users("mia");
    await w().grant(mia!, "organization-admin");
    const { id } = await make({ name: "of mia", eventTypes: ["group.create"] }, w().as(mia!));
    expect((await readEndpoint(owner, id)).maker.id).to.equal(mia!.id);
    receiver.respond = (_, response) => fail(response, 500);
    await group("before-loss");
    await hasFailed(id);
    await w().grant(mia!, "organization-auditor");
    receiver.respond = (_, response) => void response.writeHead(204).end();
    // What was queued before is not sent either.
    await retry(id);
    await inState(id, "UNATTENDED");
    await group("after-loss");
    expect(receiver.received).to.have.lengthOf(1);
    expect((await w().as(mia!).failure(`{ eventEndpoints { nodes { id } } }`)).code).to.equal("FORBIDDEN");
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: false });
    expect((await readEndpoint(owner, id)).maker.id).to.equal(w().owner.id);
    await arrived(3);
    expect(receiver.seen).to.have.members([
      "group.create before-loss",
      "group.create before-loss",
      "group.create after-loss",
    ]);
  });

  it("stop when their maker is suspended", async () => {
    const [max] = await w().users("max");
    await w().grant(max!, "organization-admin");
    const { id } = await make({ name: "of max", eventTypes: ["group.create"] }, w().as(max!));
    await owner.graphql(`mutation { suspendUser(input: { user: "${max!.id}" }) { __typename } }`);
    await group("suspended-maker");
    await inState(id, "UNATTENDED");
    expect(receiver.received).to.deep.equal([]);
  });

  it("that hang or are dead delay no other", async () => {
    const hanging = await Promise.all(Array.from({ length: 8 }, () => EventReceiver.open()));
    const gone = await EventReceiver.open();
    const { id: dead } = await make({ name: "dead too", eventTypes: ["group.create"] }, owner, gone.url);
    await gone.close();
    for (const each of hanging) {
      each.respond = () => {};
      await make({ eventTypes: ["group.create"] }, owner, each.url);
    }
    await make({ eventTypes: ["group.create"] });
    // As many as all hanging endpoints take at a time.
    for (let count = 0; count < 8; count++) await group(`behind-hanging-${count}`);
    await arrived(8);
    for (const each of hanging) await arrived(1, each);
    // They have had as much as they may have at a time, and have not responded.
    for (const each of hanging) expect(each.received.length).to.be.within(1, 8);
    await failureNoted(dead);
    expect((await readEndpoint(owner, dead)).lastFailure).to.equal("The connection failed.");
    for (const each of hanging) await each.close();
  });

  it("whose secrets cannot be decrypted delay no other, and are sent nothing without a signature", async () => {
    const other = await EventReceiver.open();
    const { id } = await make({ eventTypes: ["group.create"] }, owner, other.url);
    await setColumns(w(), "event_endpoint_secrets", { endpoint_id: id }, { secret_ciphertext: Buffer.alloc(60) });
    await make({ eventTypes: ["group.create"] });
    await group("behind-broken");
    await arrived(1);
    await eventually(async () => (await deliveriesOf(owner, id))[0]?.log[0] !== undefined, "it is tried");
    expect((await deliveriesOf(owner, id))[0]).to.deep.include({ state: "PENDING" });
    await failureNoted(id);
    expect((await readEndpoint(owner, id)).lastFailure).to.equal("Its secrets cannot be decrypted.");
    expect(other.received).to.deep.equal([]);
    await other.close();
  });

  it("do not follow redirects", async () => {
    const target = await EventReceiver.open();
    const { id } = await make({ eventTypes: ["group.create"] });
    receiver.respond = (_, response) => void response.writeHead(307, { Location: target.url }).end();
    await group("redirected");
    await eventually(async () => (await deliveriesOf(owner, id))[0]?.log[0] !== undefined, "it is tried");
    expect((await deliveriesOf(owner, id))[0]!.log[0]).to.include({
      status: 307,
      failure: "It responded with a redirect, status 307, which is not followed.",
    });
    expect(target.received).to.deep.equal([]);
    await target.close();
  });

  it("are called at no address that may not be called", async () => {
    for (const url of [
      "https://10.0.0.1/",
      "https://169.254.169.254/latest/",
      "https://[fd00::1]/",
      "https://[::ffff:10.0.0.1]/",
    ]) {
      const { id } = await make({ name: url, eventTypes: ["group.create"] }, owner, url);
      await changeEndpoint(owner, "testEventEndpoint", { id }, "eventDelivery { id }");
      await eventually(async () => (await deliveriesOf(owner, id))[0]?.state === "FAILED", `${url} fails`);
      expect((await deliveriesOf(owner, id))[0]!.log[0]).to.include({
        status: null,
        failure: "Its address may not be called.",
      });
    }
  });

  it("have valid values", async () => {
    const attempt = async (input: object) => {
      const failure = await owner.failure(
        `mutation($input: CreateEventEndpointInput!) { createEventEndpoint(input: $input) { __typename } }`,
        { input: { organization: "default", name: "x", url: "https://example.com/", ...input } },
      );
      return failure.errors[0]!.extensions.validations as Array<{ field: string; detail: string }>;
    };
    for (const url of [
      "http://example.com/",
      "http://10.0.0.1/",
      "http://localhost.example.com/",
      "https://example.com/#x",
    ])
      expect((await attempt({ url }))[0]!.field, url).to.equal("input.url");
    for (const url of ["ftp://example.com/", "https://user:secret@example.com/", "https:///x", "x"])
      expect((await attempt({ url }))[0]!.field, url).to.equal("input.url");
    for (const type of [
      "*",
      "group",
      "group.explode",
      "nothing.*",
      "event_endpoint.test",
      "__proto__.*",
      "constructor.*",
    ])
      expect((await attempt({ eventTypes: [type] }))[0]!.field, type).to.equal("input.eventTypes[0]");
    expect(await attempt({ name: "", url: "http://x/", eventTypes: ["x"] })).to.have.lengthOf(3);
    await make({ name: "Taken" });
    expect((await attempt({ name: "taken" }))[0]!.field).to.equal("input.name");
  });

  it("are at most 20 in an organization", async () => {
    const { name } = await w().organization();
    for (let count = 0; count < 20; count++) await make({ organization: name, name: `number ${count}` });
    expect(
      await graphqlCode(owner, "createEventEndpoint", {
        organization: name,
        name: "one more",
        url: "https://example.com/",
      }),
    ).to.equal("CONFLICT");
  });

  it("are made by owners and administrators of the organization, with scopes for both endpoints and the log", async () => {
    const other = await w().organization();
    const { id } = await make({ eventTypes: ["group.create"] });
    const input = { organization: "default", name: "denied", url: "https://example.com/" };
    for (const role of [
      "organization-auditor",
      "organization-template-admin",
      "organization-user-admin",
      "auditor",
      "user-admin",
    ]) {
      const [person] = await w().users("nobody");
      await w().grant(person!, role);
      expect(await graphqlCode(w().as(person!), "createEventEndpoint", input), role).to.equal("FORBIDDEN");
      expect(await graphqlCode(w().as(person!), "updateEventEndpoint", { id }), role).to.equal("NOT_FOUND");
    }
    const [stranger] = await w().users("stranger");
    await w().grant(stranger!, "organization-admin");
    const there = { ...input, organization: other.id };
    expect(await graphqlCode(w().as(stranger!), "createEventEndpoint", there)).to.equal("NOT_FOUND");
    for (const scopes of [
      ["event_endpoint:*"],
      ["audit_log:read"],
      ["event_endpoint:read", "audit_log:*"],
      ["organization:*"],
    ]) {
      const narrow = w().as(await w().scoped(w().owner, ...scopes));
      expect(await graphqlCode(narrow, "createEventEndpoint", input), scopes.join()).to.equal("FORBIDDEN");
      expect(await graphqlCode(narrow, "updateEventEndpoint", { id, name: "x" }), scopes.join()).to.equal("FORBIDDEN");
    }
    const enough = w().as(await w().scoped(w().owner, "event_endpoint:*", "audit_log:read"));
    await make({ ...input, name: "allowed" }, enough, "https://example.com/");
  });

  it("of another organization cannot be read, changed, tested, or sent anything again", async () => {
    const other = await w().organization();
    const { id } = await make({ organization: other.id, eventTypes: ["group.create"] });
    await w().group("theirs", { organization: other.id });
    await arrived(1);
    const [delivery] = await deliveriesOf(owner, id);
    const [admin] = await w().users("admin");
    await w().grant(admin!, "organization-admin");
    const by = w().as(admin!);
    const { eventEndpoints } = await by.graphql("{ eventEndpoints { nodes { id } } }");
    expect(eventEndpoints.nodes).to.deep.equal([]);
    expect((await by.failure(`{ eventEndpoint(id: "${id}") { id } }`)).code).to.equal("NOT_FOUND");
    expect((await by.failure(`{ eventDelivery(id: "${delivery!.id}") { id } }`)).code).to.equal("NOT_FOUND");
    const after = new Date(Date.now() - 60_000).toISOString();
    for (const [name, input] of [
      ["updateEventEndpoint", { id }],
      ["deleteEventEndpoint", { id }],
      ["testEventEndpoint", { id }],
      ["createEventEndpointSecret", { endpoint: id }],
      ["deleteEventEndpointSecret", { endpoint: id, id }],
      ["redeliverEvent", { delivery: delivery!.id }],
      ["redeliverEvents", { id, after }],
    ] as const)
      expect(await graphqlCode(by, name, input), name).to.equal("NOT_FOUND");
  });

  it("have a catalog of types with schemas and examples", async () => {
    const { eventTypes } = await owner.graphql("{ eventTypes { name description version schema example } }");
    const names = eventTypes.map(({ name }: { name: string }) => name);
    expect(names).to.include.members([
      "group.update",
      "workspace.start",
      "task.create",
      "organization_member.delete",
      "task.idle",
    ]);
    for (const { name, schema, example, version } of eventTypes) {
      expect(schema.properties.type.const, name).to.equal(name);
      expect(example).to.include({ type: name, version });
      expect(schema.required).to.include.members([
        "type",
        "version",
        "timestamp",
        "sequence",
        "organization_id",
        "data",
      ]);
    }
  });

  it("are deleted with their organization", async () => {
    const { id: organization } = await w().organization();
    const { id } = await makeEndpoint(w(), receiver.url, { organization });
    await owner.graphql(`mutation { deleteOrganization(input: { organization: "${organization}" }) { __typename } }`);
    expect((await owner.failure(`{ eventEndpoint(id: "${id}") { id } }`)).code).to.equal("NOT_FOUND");
  });
});

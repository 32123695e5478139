// Reaches for tables: transactions that commit late, a database that was set back or restored, and servers that number events.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type App, startServer } from "./support/app.js";
import {
  asRestored,
  beginEvent,
  readAllNumbered,
  readAuditStream,
  type Streamed,
  type StreamReader,
} from "./support/audit-stream.js";
import { newId } from "./support/ids.js";
import { holdingLock } from "./support/locks.js";
import { countRows, setColumns } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { Client, type Person, type World, world } from "./support/world.js";

const path = "/api/v2/audit/stream";

/** Renames a user, which is recorded once for each name. */
const rename = (w: World, { id }: Person, name: string, url = w.url) =>
  new Client(url, w.owner.token).graphql(
    `mutation($user: String!, $name: String!) { updateUser(input: { user: $user, name: $name }) { user { id } } }`,
    { user: id, name },
  );

/** The new names in events, in their order. */
const namesIn = (items: readonly Streamed[]) =>
  items.filter(({ event }) => event.diff.name).map(({ event }) => event.diff.name!.new as string);

const numbersOf = (items: readonly Streamed[]) => items.map(({ number }) => number);

describe("the stream of the audit log", () => {
  const the = world();
  const open: StreamReader[] = [];
  const others: App[] = [];
  const read = async (...given: Parameters<typeof readAuditStream>) => {
    const reader = await readAuditStream(...given);
    open.push(reader);
    return reader;
  };
  const anotherServer = async () => {
    const app = await startServer(the().database.url);
    others.push(app);
    return app;
  };
  /** Waits until all events have a number. */
  const numbered = () =>
    eventually(async () => (await countRows(the(), "audit_number_queue")) === 0, "all are numbered");
  const isRejected = (query: string, person: Person) => the().as(person).get(`${path}${query}`);

  afterEach(async () => {
    for (const reader of open.splice(0)) reader.close();
    for (const app of others.splice(0)) await app.close();
  });

  for (const accept of ["text/event-stream", "application/x-ndjson"] as const)
    it(`sends each event with its number, as ${accept}`, async () => {
      const w = the();
      const ada = await w.user("ada");
      await numbered();
      const reader = await read(w.url, w.owner.token, { accept });
      await rename(w, ada, "Ada");
      await rename(w, ada, "Ada L.");
      await eventually(() => reader.items.length === 2, "both events arrive");
      expect(namesIn(reader.items)).to.deep.equal(["Ada", "Ada L."]);
      const [{ number, id, event }, next] = reader.items as [Streamed, Streamed];
      expect(next.number).to.equal(number + 1);
      expect(id).to.equal(accept === "text/event-stream" ? `${number}-${event.id}` : undefined);
      expect(event).to.deep.include({ action: "update", resource_type: "user", resource_id: ada.id });
    });

  it("is a subscription of GraphQL as well", async () => {
    const w = the();
    const ada = await w.user("ada");
    const client = createClient({
      url: `${w.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: w.owner.token },
      retryAttempts: 0,
    });
    try {
      const events = client.iterate<{ auditEventNumbered: { number: number; event: { diff: object } } }>({
        query: `subscription { auditEventNumbered(filter: { resourceId: "${ada.id}" }) { number event { diff actor { username } } } }`,
      });
      let isOver = false;
      const first = events.next().finally(() => (isOver = true));
      // It sends no events of before it began, and does not say when that was.
      await eventually(async () => {
        if (!isOver) await rename(w, ada, newId().slice(0, 20));
        return isOver;
      }, "an event arrives");
      const { value } = await first;
      expect(value!.data!.auditEventNumbered.event).to.deep.include({ actor: { username: "owner" } });
    } finally {
      await client.dispose();
    }
  });

  it("resumes after an event, without loss or repetition", async () => {
    const w = the();
    const ada = await w.user("ada");
    await numbered();
    const before = await read(w.url, w.owner.token, { accept: "text/event-stream" });
    await rename(w, ada, "One");
    await eventually(() => before.items.length === 1, "the first event arrives");
    const { id, number } = before.items[0]!;
    before.close();
    const names = Array.from({ length: 30 }, (_, nr) => `Name ${nr}`);
    await Promise.all(names.map((name) => rename(w, ada, name)));
    const after = await read(w.url, w.owner.token, { headers: { "Last-Event-ID": id! } });
    await eventually(() => after.items.length === 30, "the others arrive");
    expect(numbersOf(after.items)).to.deep.equal(names.map((_, nr) => number + 1 + nr));
    expect(namesIn(after.items)).to.have.members(names);
    const byNumber = await readAllNumbered(w.url, w.owner.token, String(number));
    expect(byNumber.map(({ event }) => event.id)).to.deep.equal(after.items.map(({ event }) => event.id));
    expect(await readAllNumbered(w.url, w.owner.token, `${number + 30}-${after.items.at(-1)!.event.id}`)).to.deep.equal(
      [],
    );
  });

  it("has an event that is committed late after those that were committed before it, and loses none", async () => {
    const w = the();
    const ada = await w.user("ada");
    await numbered();
    const reader = await read(w.url, w.owner.token);
    const { id: late, end } = await beginEvent(w.app);
    try {
      for (const name of ["While", "it", "is", "open"]) await rename(w, ada, name);
      await eventually(() => reader.items.length === 4, "the later ones arrive");
      expect(namesIn(reader.items)).to.deep.equal(["While", "it", "is", "open"]);
    } finally {
      await end("commit");
    }
    await rename(w, ada, "After");
    await eventually(() => reader.items.length === 6, "all arrive");
    const numbers = numbersOf(reader.items);
    expect(numbers).to.deep.equal(numbers.map((_, nr) => numbers[0]! + nr));
    const arrived = reader.items.map(({ event }) => event.id);
    expect(arrived.filter((id) => id === late)).to.have.length(1);
    expect(arrived.indexOf(late)).to.be.above(3);
    const again = await readAllNumbered(w.url, w.owner.token, String(numbers[3]));
    expect(again.map(({ event }) => event.id)).to.deep.equal(arrived.slice(4));
  });

  it("has none of the events of a transaction that is rolled back, and no gap for them", async () => {
    const w = the();
    const ada = await w.user("ada");
    await numbered();
    const reader = await read(w.url, w.owner.token);
    const { end } = await beginEvent(w.app);
    await rename(w, ada, "Kept");
    await end("rollback");
    await rename(w, ada, "Kept, too");
    await eventually(() => reader.items.length === 2, "both arrive");
    expect(namesIn(reader.items)).to.deep.equal(["Kept", "Kept, too"]);
    expect(reader.items[1]!.number).to.equal(reader.items[0]!.number + 1);
  });

  it("gives each event one number while several servers commit and number, and readers of all receive the same", async () => {
    const w = the();
    const ada = await w.user("ada");
    const other = await anotherServer();
    await numbered();
    const readers = [await read(w.url, w.owner.token), await read(other.url, w.owner.token)];
    const names = Array.from({ length: 120 }, (_, nr) => `Name ${nr}`);
    const writeAll = async (url: string, own: string[]) => {
      for (const name of own) await rename(w, ada, name, url);
    };
    await Promise.all(
      [0, 1, 2, 3].map((part) =>
        writeAll(
          part % 2 ? w.url : other.url,
          names.filter((_, nr) => nr % 4 === part),
        ),
      ),
    );
    await eventually(() => readers.every(({ items }) => items.length === 120), "all arrive on both");
    const numbers = numbersOf(readers[0]!.items);
    expect(numbers).to.deep.equal(numbers.map((_, nr) => numbers[0]! + nr));
    expect(namesIn(readers[0]!.items)).to.have.members(names);
    expect(readers[1]!.items).to.deep.equal(readers[0]!.items);
  });

  it("goes on once a server that was numbering is gone", async () => {
    const w = the();
    const ada = await w.user("ada");
    const other = await anotherServer();
    await numbered();
    const reader = await read(other.url, w.owner.token);
    await holdingLock(w.database.url, "audit_numbers", async () => {
      await rename(w, ada, "Committed under the lock");
      expect(reader.items).to.deep.equal([]);
      expect(await countRows(w, "audit_number_queue")).to.be.above(0);
    });
    await eventually(() => reader.items.length === 1, "the event arrives");
    expect(await countRows(w, "audit_number_queue")).to.equal(0);
  });

  it("rejects users who may not read the log, and sends others what they may read", async () => {
    const w = the();
    const organization = await w.organization();
    const admin = await w.user("oadmin", [organization.id]);
    const auditor = await w.user("auditor");
    const plain = await w.user("plain");
    await w.grant(auditor, "auditor");
    await w.as(w.owner).graphql(
      `mutation($organization: String!, $user: String!) {
        setOrganizationMemberRoles(input: { organization: $organization, user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
      { organization: organization.id, user: admin.id },
    );
    expect(await isRejected("?follow=false", plain)).to.include({ status: 403 });
    expect((await w.nobody.get(path)).status).to.equal(401);
    await numbered();
    const all = await readAllNumbered(w.url, auditor.token);
    expect(all).to.deep.equal(await readAllNumbered(w.url, w.owner.token));
    const own = await readAllNumbered(w.url, admin.token);
    expect(own)
      .to.deep.equal(all.filter(({ event }) => event.organization_id === organization.id))
      .and.have.length.above(0);
    expect(await isRejected(`?follow=false&organization=${newId()}`, admin)).to.include({ status: 200, body: "" });
  });

  it("narrows to the filters of the log", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    await rename(w, ada!, "Filtered");
    await rename(w, bob!, "Other");
    await numbered();
    const names = async (query: string) => namesIn(await readAllNumbered(w.url, w.owner.token, "0", query));
    expect(await names(`&resource_id=${ada!.id}`)).to.deep.equal(["", "Filtered"]);
    expect(await names(`&resource_id=${ada!.id}&action=delete`)).to.deep.equal([]);
    expect(await names(`&resource_id=${ada!.id}&actor=owner&action=update&resource_type=user`)).to.deep.equal([
      "Filtered",
    ]);
    expect(await names(`&resource_id=${ada!.id}&actor=bob`)).to.deep.equal([]);
    expect(await names(`&resource_id=${ada!.id}&before=2000-01-01T00:00:00Z`)).to.deep.equal([]);
    expect((await isRejected("?action=nothing", w.owner)).status).to.equal(400);
  });

  it("rejects cursors that name no event", async () => {
    const w = the();
    const ada = await w.user("ada");
    await rename(w, ada, "Cursor");
    await numbered();
    const { number, event } = (await readAllNumbered(w.url, w.owner.token)).at(-1)!;
    for (const since of [
      "x",
      "-1",
      "1.5",
      "9".repeat(16),
      `${number + 1}`,
      `${number}-${newId()}`,
      `${number}-`,
      "1e3",
    ]) {
      const { status, body } = await isRejected(`?follow=false&since=${since}`, w.owner);
      expect(status, since).to.equal(400);
      expect(body.validations, since).to.have.length(1).and.have.nested.property("[0].field", "since");
    }
    const query = `?follow=false&since=${number}-${event.id}`;
    expect(await isRejected(query, w.owner)).to.include({ status: 200, body: "" });
  });

  it("says so if the database was set back, and sends what is recorded after a restore", async () => {
    const w = the();
    const ada = await w.user("ada");
    await rename(w, ada, "Before");
    await numbered();
    const { number, event } = (await readAllNumbered(w.url, w.owner.token)).at(-1)!;
    const cursor = `${number}-${event.id}`;

    // Another event has the number, as after a recovery to a point in time.
    await setColumns(w, "audit_numbers", { number }, { event_id: newId() });
    expect((await isRejected(`?follow=false&since=${cursor}`, w.owner)).status).to.equal(400);
    await setColumns(w, "audit_numbers", { number }, { event_id: event.id });

    await asRestored(w.app);
    await rename(w, ada, "Restored");
    await numbered();
    // The former database gave further numbers, which this one does not know.
    const later = await readAllNumbered(w.url, w.owner.token, `${number + 500}-${newId()}`);
    expect(namesIn(later)).to.deep.equal(["Restored"]);
    expect(later[0]!.number).to.equal(1_000_000_001);
  });

  it("shows who reads it, how far each has come, and who stopped", async () => {
    const w = the();
    const auditor = await w.user("reader");
    await w.grant(auditor, "auditor");
    const readers = async (person: Person, active: boolean | null) =>
      (
        await w.as(person).graphql(
          `query($active: Boolean) { auditReaders(active: $active) { totalCount
             nodes { username user { id } filter position behind isActive userAgent ip endedAt } } }`,
          { active },
        )
      ).auditReaders.nodes as Array<Record<string, unknown>>;
    await numbered();
    const reader = await read(w.url, auditor.token, {
      query: "?action=delete",
      headers: { "User-Agent": "collector" },
    });
    const mine = async (active: boolean | null) =>
      (await readers(w.owner, active)).filter(({ username }) => username === auditor.username);
    const [shown, ...more] = await mine(true);
    expect(more).to.deep.equal([]);
    expect(shown).to.deep.include({
      user: { id: auditor.id },
      filter: { action: "delete" },
      behind: 0,
      isActive: true,
      userAgent: "collector",
      ip: "127.0.0.1",
      endedAt: null,
    });
    reader.close();
    await eventually(async () => (await mine(true)).length === 0, "the reader is gone");
    const [former] = await mine(false);
    expect(former!.endedAt).to.be.a("string");
    expect(await w.as(await w.user("plain")).failure(`{ auditReaders { nodes { id } } }`)).to.include({
      code: "FORBIDDEN",
    });
  });

  it("has at most twenty watches of a user, and one more for each that ends", async () => {
    const w = the();
    const auditor = await w.user("many");
    await w.grant(auditor, "auditor");
    for (let count = 0; count < 20; count++) await read(w.url, auditor.token);
    const { status, headers } = await isRejected("", auditor);
    expect([status, headers.get("retry-after")]).to.deep.equal([429, "1"]);
    open.at(-1)!.close();
    await eventually(async () => (await isRejected("?follow=false", auditor)).status === 200, "another one is let in");
  });
});

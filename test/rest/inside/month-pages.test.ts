// Lists over tables with a partition for each month: pages touch few of them, and have what a statement over all has.
// Looks inside: the locks of a read are those of a function of the domain.
import { expect } from "chai";
import type { Context } from "../../../src/domain/kernel/context.js";
import { listAuditEvents } from "../../../src/domain/audit/audit-log.js";
import { listConnectionLogs } from "../../../src/domain/connection-logs/connection-logs.js";
import { listInboxNotifications } from "../../../src/domain/notifications/inbox.js";
import type { Page, PageArguments } from "../../../src/domain/kernel/paging.js";
import { runJob } from "../../support/background.js";
import { logPath } from "../../support/connections.js";
import { newId } from "../../support/ids.js";
import {
  below,
  costOf,
  fillDensely,
  fillMonths,
  kept,
  type Listing,
  oneOf,
  rowsOf,
} from "../../support/month-pages.js";
import { month } from "../../support/months.js";
import { type Person, world } from "../../support/world.js";

const day = 86_400_000;

/** The rows of a list in its order: an oracle that has none of the program. */
const inOrder = (rows: readonly Listing[], direction: "ASC" | "DESC") =>
  rows.toSorted((a, b) => (a.time - b.time || (a.id < b.id ? -1 : 1)) * (direction === "ASC" ? 1 : -1));

interface Listed {
  nodes: Array<{ id: string }>;
  pageInfo: { startCursor: string; endCursor: string; hasNextPage: boolean; hasPreviousPage: boolean };
  totalCount: number;
}

/** A page of one of the lists, with GraphQL arguments. */
type Read = (args: string) => Promise<Listed>;
const selection = `{ nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } totalCount }`;

/** Compares the pages of a list, in both directions, from cursors and ids, and with offsets, with the rows that it has. */
async function compare(read: Read, expected: readonly string[], args: string): Promise<void> {
  const size = oneOf([1, 3, 7, 40]);
  const about = (what: string) => `${what} of ${args} by ${size}`;
  const [ids, back]: [string[], string[]] = [[], []];
  let cursor = "";
  for (let pages = 0; pages < 12; pages++) {
    const page = await read(`${args} first: ${size} ${cursor}`);
    ids.push(...page.nodes.map(({ id }) => id));
    expect(page.totalCount, about("count")).to.equal(expected.length);
    expect(page.pageInfo.hasNextPage, about("next")).to.equal(ids.length < expected.length);
    if (!page.pageInfo.hasNextPage) break;
    cursor = `after: "${pages % 2 === 0 ? page.pageInfo.endCursor : ids.at(-1)}"`;
  }
  expect(ids, about("pages")).to.deep.equal(expected.slice(0, ids.length));
  cursor = "";
  for (let pages = 0; pages < 6; pages++) {
    const page = await read(`${args} last: ${size} ${cursor}`);
    back.unshift(...page.nodes.map(({ id }) => id));
    if (!page.pageInfo.hasPreviousPage) break;
    cursor = `before: "${pages % 2 === 0 ? page.pageInfo.startCursor : back[0]}"`;
  }
  expect(back, about("pages from the end")).to.deep.equal(expected.slice(expected.length - back.length));
  for (const offset of [below(5), below(expected.length + 2), 10_000]) {
    const page = await read(`${args} first: ${size} offset: ${offset}`);
    const found = page.nodes.map(({ id }) => id);
    const wanted = expected.slice(offset, offset + size);
    expect(found, about(`offset ${offset}`)).to.deep.equal(wanted);
    const place = below(Math.max(expected.length, 1));
    if (expected.length === 0) continue;
    const after = await read(`${args} first: ${size} after: "${expected[place]}" offset: ${offset}`);
    const rest = expected.slice(place + 1).slice(offset, offset + size);
    expect(
      after.nodes.map(({ id }) => id),
      about(`offset ${offset} after ${place}`),
    ).to.deep.equal(rest);
  }
}

/** Pairs of bounds, in Unix milliseconds. */
const periods = (): Array<[after: number | undefined, before: number | undefined]> => {
  const at = () => Date.parse(month(-below(kept)).date) + oneOf([0, 1, -1, day, 10 * day]);
  const [one, another] = [at(), at()].toSorted((a, b) => a - b);
  return [
    [undefined, undefined],
    [one, another],
    [undefined, another],
    [one, undefined],
    [another, one],
  ];
};

const within = ([after, before]: [number | undefined, number | undefined], { time }: Listing) =>
  (after === undefined || time >= after) && (before === undefined || time <= before);

describe("pages of tables with five years of months", () => {
  const the = world();
  let ada: Person;
  const workspaces = [newId(), newId(), newId()];

  before(async () => {
    const w = the();
    [ada] = (await w.users("ada")) as [Person];
    // The inbox of the owner has what the server reports of this account before its partitions change.
    await runJob(w.app, "noticeJob");
    await fillMonths(w, ada, workspaces);
  });

  const rfc = (time: number) => new Date(time).toISOString();

  it("have the events that a statement over all months has", async () => {
    const w = the();
    const read: Read = async (args) =>
      (await w.as(w.owner).graphql(`{ auditEvents(${args}) ${selection} }`)).auditEvents;
    const rows = await rowsOf(the(), "audit_log", "time", "resource_type || action");
    for (const direction of ["DESC", "ASC"] as const)
      for (const group of ["", "rare", "groupcreate"])
        for (const period of periods()) {
          const [after, before] = period;
          const expected = inOrder(
            rows.filter((row) => within(period, row) && row.group.startsWith(group)),
            direction,
          );
          const filter = [
            after === undefined ? "" : `after: "${rfc(after)}"`,
            before === undefined ? "" : `before: "${rfc(before)}"`,
            group === "" ? "" : group === "rare" ? `resourceType: "rare"` : `resourceType: "group", action: CREATE`,
          ];
          const args = `filter: { ${filter.join(" ")} } orderBy: { field: TIME, direction: ${direction} }`;
          await compare(
            read,
            expected.map(({ id }) => id),
            args,
          );
        }
  }).timeout(240_000);

  it("have the connections that a statement over all months has, and the count of REST", async () => {
    const w = the();
    const read: Read = async (args) =>
      (await w.as(w.owner).graphql(`{ connectionLogs(${args}) ${selection} }`)).connectionLogs;
    const rows = await rowsOf(the(), "connection_log", "connect_time", "workspace_id");
    for (const direction of ["DESC", "ASC"] as const)
      for (const group of ["", workspaces[0]!])
        for (const period of periods()) {
          const [after, before] = period;
          const expected = inOrder(
            rows.filter((row) => within(period, row) && row.group.startsWith(group)),
            direction,
          );
          const search = [
            after === undefined ? "" : `connected_after:${rfc(after)}`,
            before === undefined ? "" : `connected_before:${rfc(before)}`,
            group === "" ? "" : `workspace_id:${group}`,
          ].join(" ");
          const args = `q: ${JSON.stringify(search)} orderBy: { field: CONNECT_TIME, direction: ${direction} }`;
          await compare(
            read,
            expected.map(({ id }) => id),
            args,
          );
          const { body } = await w.as(w.owner).get(`${logPath}?limit=1&q=${encodeURIComponent(search)}`);
          expect(body.count, search).to.equal(expected.length);
        }
  }).timeout(240_000);

  it("have the notifications that a statement over all months has", async () => {
    const w = the();
    const read: Read = async (args) =>
      (await w.as(ada).graphql(`{ inboxNotifications(${args}) ${selection} }`)).inboxNotifications;
    const rows = await rowsOf(the(), "inbox", "created_at", "template_id");
    for (const group of ["", workspaces[0]!, newId()]) {
      const expected = inOrder(
        rows.filter((row) => row.group.startsWith(group)),
        "DESC",
      );
      const args = group === "" ? "" : `filter: { templates: ["${group}"] }`;
      await compare(
        read,
        expected.map(({ id }) => id),
        args,
      );
    }
  }).timeout(240_000);

  it("lock the tables and indexes of two months, at most 40", async () => {
    const w = the();
    await fillDensely(w, ada);
    const audited =
      (filter = {}, direction: "asc" | "desc" = "desc") =>
      (ctx: Context, page: PageArguments) =>
        listAuditEvents(ctx, filter, page, { field: "time", direction });
    const connected =
      (search: string, direction: "asc" | "desc" = "desc") =>
      (ctx: Context, page: PageArguments) =>
        listConnectionLogs(ctx, search, page, { field: "connectTime", direction });
    const begin = `${month(-30).date}T00:00:00.000Z`;
    const end = `${month(-29).date}T00:00:00.000Z`;
    const lists: Record<string, (ctx: Context, page: PageArguments) => Promise<Page<{ id: string }>>> = {
      events: audited(),
      "events, oldest first": audited({}, "asc"),
      "events of a type": audited({ resourceType: "group" }),
      "events of a month": audited({ after: begin, before: end }),
      "events of a month, oldest first": audited({ after: begin, before: end, action: "create" }, "asc"),
      connections: connected(""),
      "connections, oldest first": connected("", "asc"),
      "connections of a type in a month": connected(`type:ssh connected_after:${begin} connected_before:${end}`),
      inbox: (ctx: Context, page: PageArguments) => listInboxNotifications(ctx, {}, page),
    };
    const locks: Record<string, number[]> = {};
    for (const [name, list] of Object.entries(lists)) {
      const cold = await costOf(w, ada, (ctx) => list(ctx, { first: 25 }));
      const { page } = cold;
      const next = await costOf(w, ada, (ctx) => list(ctx, { first: 25, after: page.cursor(page.nodes.at(-1)!) }));
      const last = await costOf(w, ada, (ctx) => list(ctx, { last: 25 }));
      const before = last.page.cursor(last.page.nodes[0]!);
      const previous = await costOf(w, ada, (ctx) => list(ctx, { last: 25, before }));
      for (const { page: each } of [cold, next, last, previous]) expect(each.nodes, name).to.have.length(25);
      locks[name] = [cold, next, last, previous].map((each) => each.locks);
      if (process.env.STEWARD_TEST_TIMES)
        console.log(
          name,
          [cold, next, last, previous].map((each) => [each.locks, Math.round(each.time * 10) / 10]),
        );
    }
    for (const [name, counts] of Object.entries(locks))
      for (const count of counts) expect(count, `${name}: ${counts.join()}`).to.be.within(1, 40);
  });
});

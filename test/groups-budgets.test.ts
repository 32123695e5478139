// Limits of groups: AI budgets and their spending, and the workspace quota.
// Reaches for tables: an hour passes between two changes; usage was reported before its sums were kept.
import { expect } from "chai";
import { changesOf } from "./support/audit.js";
import { fillIn } from "./support/backfills.js";
import { withTimeLeft } from "./support/clock.js";
import { newId } from "./support/ids.js";
import { insert } from "./support/stage.js";
import { deleteRows, letPass, setColumns } from "./support/tables.js";
import { sharedWorld } from "./support/world.js";

const path = ({ id }: { id: string }) => `/api/v2/groups/${id}/ai/budget`;

const shared = sharedWorld();

describe("AI budgets of groups", () => {
  const w = shared();
  // What a month has counts from zero in the next one, which begins with an hour.
  beforeEach(() => withTimeLeft(3_600_000, 30_000));

  it("are set, replaced, read, and deleted", async () => {
    const group = await w().group();
    const owner = w().as(w().owner);
    expect((await owner.get(path(group))).status).to.equal(404);
    const set = await owner.put(path(group), { spend_limit_micros: 9007199254740991 });
    expect(set.status).to.equal(200);
    expect(set.body).to.have.all.keys("created_at", "group_id", "spend_limit_micros", "updated_at");
    expect(set.body).to.include({ group_id: group.id, spend_limit_micros: 9007199254740991 });
    await letPass(w(), "group_ai_budgets", { group_id: group.id }, "1 h", ["created_at", "updated_at"]);
    const { body: hourAgo } = await owner.get(path(group));
    expect(await owner.put(path(group), { spend_limit_micros: 9007199254740991 })).to.deep.include({
      status: 200,
      body: hourAgo,
    });
    const replaced = await owner.put(path(group), { spend_limit_micros: 5 });
    expect(replaced.body.updated_at > set.body.updated_at, "it says when it was replaced").to.equal(true);
    expect(replaced.body).to.include({ created_at: hourAgo.created_at, spend_limit_micros: 5 });
    expect((await owner.get(path(group))).body).to.deep.equal(replaced.body);
    const read = await owner.graphql(
      `query($id: String!) { group(group: $id) { aiBudget { spendLimitMicros updatedAt } } }`,
      { id: group.id },
    );
    expect(read.group.aiBudget).to.deep.equal({ spendLimitMicros: 5, updatedAt: replaced.body.updated_at });
    const deleted = await owner.delete(path(group));
    expect([deleted.status, deleted.body]).to.deep.equal([204, ""]);
    expect((await owner.delete(path(group))).status).to.equal(404);
    expect((await owner.get(path(group))).status).to.equal(404);
  });

  it("are whole numbers from 1", async () => {
    const group = await w().group();
    for (const limit of [undefined, null, 0, -1, 1.5, "5", 9007199254740992]) {
      const { status, body } = await w().as(w().owner).put(path(group), { spend_limit_micros: limit });
      expect(status, `${limit}`).to.equal(400);
      expect(body.validations.map(({ field }: { field: string }) => field)).to.deep.equal(["spend_limit_micros"]);
    }
  });

  it("are hidden from plain members, whose changes are rejected", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const group = await w().group(undefined, { members: [ada!] });
    await w().as(w().owner).put(path(group), { spend_limit_micros: 5 });
    expect((await w().as(ada!).get(path(group))).status).to.equal(404);
    expect((await w().as(ada!).put(path(group), { spend_limit_micros: 6 })).status).to.equal(403);
    expect((await w().as(ada!).delete(path(group))).status).to.equal(403);
    expect((await w().as(bob!).put(path(group), { spend_limit_micros: 6 })).status).to.equal(404);
    // Missing values are reported before permission, whatever the caller may read.
    for (const person of [ada!, bob!]) expect((await w().as(person).put(path(group), {})).status).to.equal(400);
  });

  it("record one audit event per change, and none for an unchanged limit", async () => {
    const group = await w().group();
    const owner = w().as(w().owner);
    for (const limit of [5, 5, 6]) await owner.put(path(group), { spend_limit_micros: limit });
    await owner.delete(path(group));
    expect(await changesOf(w(), group.id, "group_ai_budget")).to.deep.equal([
      { action: "CREATE", diff: { spendLimitMicros: { new: 5 } } },
      { action: "UPDATE", diff: { spendLimitMicros: { old: 5, new: 6 } } },
      { action: "DELETE", diff: { spendLimitMicros: { old: 6 } } },
    ]);
  });

  const record = `mutation($entries: [AiUsageEntryInput!]!) { recordAiUsage(input: { entries: $entries }) { recorded } }`;
  const spend = `query($user: String!) { aiSpend(user: $user) { limitMicros spentMicros periodStart periodEnd } }`;

  it("apply the highest of a user's groups, and count usage once however often it is reported", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const groups = [await w().group(undefined, { members: [ada!] }), await w().group(undefined, { members: [ada!] })];
    const owner = w().as(w().owner);
    await Promise.all(groups.map((group, n) => owner.put(path(group), { spend_limit_micros: 100 * (n + 1) })));
    const entries = [{ id: newId(), userId: ada!.id, taskId: newId(), amountMicros: 200 }];
    const reports = await Promise.all([1, 2].map(() => owner.graphql(record, { entries })));
    expect(reports.map(({ recordAiUsage }) => recordAiUsage.recorded).toSorted((a, b) => a - b)).to.deep.equal([0, 1]);

    const { aiSpend } = await w().as(ada!).graphql(spend, { user: "me" });
    expect(aiSpend).to.include({ limitMicros: 200, spentMicros: 200 });
    expect(
      [aiSpend.periodStart, aiSpend.periodEnd].every((time: string) => time.endsWith("-01T00:00:00.000Z")),
    ).to.equal(true);
    expect(aiSpend.periodEnd > new Date().toISOString() && aiSpend.periodStart <= new Date().toISOString()).to.equal(
      true,
    );
    expect((await owner.graphql(spend, { user: ada!.id })).aiSpend).to.deep.equal(aiSpend);
    expect((await w().as(bob!).failure(spend, { user: ada!.id })).code).to.equal("NOT_FOUND");

    await Promise.all(groups.map((group) => owner.delete(path(group))));
    expect((await owner.graphql(spend, { user: ada!.id })).aiSpend).to.include({ limitMicros: null, spentMicros: 200 });
  });

  it("do not count usage of an earlier month", async () => {
    const [ada] = await w().users("ada");
    const month = new Date();
    const at = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth()) - 1).toISOString();
    const usage = { id: newId(), user_id: ada!.id, organization_id: w().defaultOrganization, amount_micros: 7, at };
    await insert(w(), { ai_usage: [usage] });
    expect((await w().as(ada!).graphql(spend, { user: "me" })).aiSpend.spentMicros).to.equal(0);
  });

  it("are shown with what all users of an organization spent, those who spent the most first", async () => {
    const query = `query($organization: String!) { organizationAiSpend(organization: $organization) {
      spentMicros spenderCount exhaustedCount periodStart periodEnd spenders { spentMicros limitMicros user { id } } } }`;
    const organization = await w().organization();
    const names = ["ada", "bob", "cyd", "dee", "eve", "fay"];
    const people = await Promise.all(names.map((name) => w().user(name, [organization.id])));
    const [ada, bob] = people;
    const owner = w().as(w().owner);
    const read = async () => (await owner.graphql(query, { organization: organization.id })).organizationAiSpend;
    expect(await read()).to.deep.include({ spentMicros: 0, spenderCount: 0, exhaustedCount: 0, spenders: [] });

    const entries = people.map(({ id }, n) => ({ id: newId(), userId: id, amountMicros: 60 - n * 10 }));
    const more = `mutation($entries: [AiUsageEntryInput!]!) {
      recordAiUsage(input: { organization: "${organization.id}", entries: $entries }) { recorded } }`;
    await owner.graphql(more, { entries: [...entries, { id: newId(), userId: bob!.id, amountMicros: 5 }] });
    const usage = { user_id: ada!.id, organization_id: organization.id, amount_micros: 1000 };
    await insert(w(), {
      ai_usage: [
        { ...usage, id: newId(), at: new Date(Date.parse((await read()).periodStart) - 1).toISOString() },
        { ...usage, id: newId(), organization_id: w().defaultOrganization, at: "now" },
      ],
    });
    const group = await w().group(undefined, { organization: organization.id, members: [ada!, bob!] });
    const wider = await w().group(undefined, { organization: organization.id, members: [bob!] });
    await owner.put(path(group), { spend_limit_micros: 55 });
    await owner.put(path(wider), { spend_limit_micros: 70 });
    const spent = await read();
    expect(spent).to.include({ spentMicros: 215, spenderCount: 6, exhaustedCount: 1 });
    expect(spent.spenders.map(({ user, ...each }) => [user.id, each.spentMicros, each.limitMicros])).to.deep.equal([
      [ada!.id, 60, 55],
      [bob!.id, 55, 70],
      ...people.slice(2, 5).map(({ id }, n) => [id, 40 - n * 10, null]),
    ]);

    // A budget of Everyone holds for those who are in no other group.
    await owner.put(path({ id: organization.id }), { spend_limit_micros: 20 });
    expect((await read()).exhaustedCount).to.equal(4);
    const [, , , dee] = people;
    await owner.put(path({ id: organization.id }), { spend_limit_micros: 41 });
    expect((await read()).spenders[3]).to.deep.equal({ spentMicros: 30, limitMicros: 41, user: { id: dee!.id } });
    // With this one, no spender reaches the least budget.
    await owner.put(path({ id: organization.id }), { spend_limit_micros: 61 });
    expect((await read()).exhaustedCount).to.equal(0);

    const theirs = { organization_id: organization.id, user_id: bob!.id };
    await setColumns(w(), "ai_month_spending", theirs, { amount_micros: 65 });
    expect(await read(), "a sum that changes").to.include({ spentMicros: 225, spenderCount: 6, exhaustedCount: 0 });
    await deleteRows(w(), "ai_month_spending", theirs);
    expect(await read(), "a sum that goes").to.include({ spentMicros: 160, spenderCount: 5 });
    expect((await w().as(ada!).failure(query, { organization: organization.id })).code).to.equal("FORBIDDEN");
  });

  it("count what many concurrent reports say of the same users, in any order, and large amounts up to what JSON holds", async () => {
    const people = await w().users("ada", "bob", "cyd");
    const owner = w().as(w().owner);
    const entriesOf = (n: number) => {
      const entries = people.map(({ id }, at) => ({ id: newId(), userId: id, amountMicros: at + 1 }));
      return n % 2 === 0 ? entries : entries.toReversed();
    };
    const all = "{ organizationAiSpend { spentMicros spenderCount } }";
    const total = async () => (await owner.graphql(all)).organizationAiSpend;
    const before = await total();
    const reports = Array.from({ length: 8 }, (_, n) => owner.graphql(record, { entries: entriesOf(n) }));
    for (const { recordAiUsage } of await Promise.all(reports)) expect(recordAiUsage.recorded).to.equal(3);
    for (const [at, { id }] of people.entries())
      expect((await owner.graphql(spend, { user: id })).aiSpend.spentMicros).to.equal(8 * (at + 1));
    const after = await total();
    expect(after.spentMicros - before.spentMicros).to.equal(8 * (1 + 2 + 3));
    expect(after.spenderCount - before.spenderCount).to.equal(3);

    const most = Number.MAX_SAFE_INTEGER;
    for (const _ of [1, 2]) {
      const entries = [1, 2].map(() => ({ id: newId(), userId: people[0]!.id, amountMicros: most }));
      await owner.graphql(record, { entries });
    }
    expect((await owner.graphql(spend, { user: people[0]!.id })).aiSpend.spentMicros).to.equal(most);
  });

  it("count once what was reported before sums were kept", async () => {
    const [ada] = await w().users("ada");
    const owner = w().as(w().owner);
    const spent = async () => (await owner.graphql(spend, { user: ada!.id })).aiSpend.spentMicros;
    const usage = { user_id: ada!.id, organization_id: w().defaultOrganization, amount_micros: 7 };
    const monthStart = (await owner.graphql(spend, { user: ada!.id })).aiSpend.periodStart;
    const earlier = new Date(Date.parse(monthStart) - 1).toISOString();
    await insert(w(), { ai_usage: [earlier, "now", "now"].map((at) => ({ ...usage, id: newId(), at })) });
    await setColumns(w(), "ai_usage", { user_id: ada!.id }, { is_summed: false });
    // 3 were reported since.
    await setColumns(w(), "ai_month_spending", { user_id: ada!.id }, { amount_micros: 3 });
    expect(await fillIn(w(), "0126-ai-month-spending")).to.deep.equal([1]);
    expect(await fillIn(w(), "0126-ai-month-spending")).to.deep.equal([0]);
    expect(await spent()).to.equal(17);
  });

  it("let permitted callers record usage, all of it or nothing", async () => {
    const [ada] = await w().users("ada");
    const good = { id: newId(), userId: ada!.id, amountMicros: 1 };
    expect(
      (
        await w()
          .as(ada!)
          .failure(record, { entries: [good] })
      ).code,
    ).to.equal("FORBIDDEN");
    const failure = await w()
      .as(w().owner)
      .failure(record, { entries: [good, { id: newId(), userId: newId(), amountMicros: 0 }] });
    const faults = failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) =>
      field.replace(/^input\./, ""),
    );
    expect(faults).to.deep.equal(["entries[1].userId", "entries[1].amountMicros"]);
    expect((await w().as(w().owner).failure(record, {})).code).to.equal("BAD_USER_INPUT");
    const tooMany = Array.from({ length: 1001 }, () => ({ ...good, id: newId() }));
    expect((await w().as(w().owner).failure(record, { entries: tooMany })).code).to.equal("BAD_USER_INPUT");
    expect((await w().as(ada!).graphql(spend, { user: "me" })).aiSpend.spentMicros).to.equal(0);
  });
});

describe("reports of AI usage", () => {
  const w = shared();
  const record = `mutation($entries: [AiUsageEntryInput!]!) { recordAiUsage(input: { entries: $entries }) { recorded } }`;

  it("do not reveal whether a user outside the organization exists", async () => {
    const { id: organization } = await w().organization();
    const admin = await w().user("admin");
    const stranger = await w().user("stranger", [organization]);
    const gone = await w().user("gone");
    await w().grant(admin, "organization-admin");
    await w().as(w().owner).graphql(`mutation { deleteUser(input: { user: "${gone.id}" }) { __typename } }`);
    const faults = async (userId: string) =>
      (
        await w()
          .as(admin)
          .failure(record, { entries: [{ id: newId(), userId, amountMicros: 1 }] })
      ).errors[0]!.extensions.validations;
    const unknown = await faults(newId());
    expect(unknown).to.deep.equal([
      { field: "input.entries[0].userId", detail: "Must be the id of a member of the organization." },
    ]);
    for (const id of [stranger.id, gone.id]) expect(await faults(id)).to.deep.equal(unknown);
  });
});

describe("workspace quota", () => {
  const w = shared();

  it("is the sum of the allowances of a user's groups in the organization, Everyone included", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const owner = w().as(w().owner);
    await owner.patch(`/api/v2/groups/${w().defaultOrganization}`, { quota_allowance: 3 });
    const group = await w().group(undefined, { members: [ada!] });
    await owner.patch(`/api/v2/groups/${group.id}`, { quota_allowance: 4 });
    const successor = `/api/v2/organizations/default/members/${ada!.username}/workspace-quota`;
    const { status, body, headers } = await w().as(ada!).get(successor);
    expect([status, body]).to.deep.equal([200, { budget: 7, credits_consumed: 0 }]);
    expect(headers.get("Deprecation")).to.equal(null);
    expect((await owner.get(successor)).body.budget).to.equal(7);

    const old = await w().as(ada!).get("/api/v2/workspace-quota/me");
    expect([old.status, old.body]).to.deep.equal([200, body]);
    expect(old.headers.get("Deprecation")).to.be.a("string");
    expect(old.headers.get("Link")).to.match(
      /<\/api\/v2\/organizations\/default\/members\/me\/workspace-quota>.*rel="successor-version"/,
    );

    const { workspaceQuota } = await w().as(ada!).graphql("{ workspaceQuota { budget creditsConsumed } }");
    expect(workspaceQuota).to.deep.equal({ budget: 7, creditsConsumed: 0 });
    expect((await w().as(bob!).get(successor)).status, "that of others is hidden from plain members").to.equal(404);
    const other = await w().organization();
    expect((await owner.get(`/api/v2/organizations/${other.id}/members/${ada!.id}/workspace-quota`)).status).to.equal(
      404,
    );
  });

  it("can exceed 32 bits", async () => {
    const [ada] = await w().users("ada");
    for (const _ of [1, 2]) {
      const { id } = await w().group(undefined, { members: [ada!] });
      await w().as(w().owner).patch(`/api/v2/groups/${id}`, { quota_allowance: 2147483647 });
    }
    expect((await w().as(ada!).get("/api/v2/workspace-quota/me")).body.budget).to.be.at.least(2 * 2147483647);
  });
});

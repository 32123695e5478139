// What happened on each day, for charts, and what a SCIM key has done.
// Looks inside: moves the times of rows, since tests cannot wait for days.
import { expect } from "chai";
import { withTimeLeft } from "../support/clock.js";
import { runJob } from "../support/background.js";
import { holdingLock } from "../support/locks.js";
import { makeScimKey, ScimClient } from "../support/scim.js";
import { type Person, world } from "../support/world.js";

const query = `query($days: Int, $timeZone: String, $organization: String) {
  dailyCounts(days: $days, timeZone: $timeZone, organization: $organization) {
    days createdUsers signIns rejectedSignIns builds failedBuilds createdTasks } }`;

interface Counts {
  days: string[];
  createdUsers: number[] | null;
  signIns: number[] | null;
  rejectedSignIns: number[] | null;
  builds: number[] | null;
  failedBuilds: number[] | null;
  createdTasks: number[] | null;
}

describe("daily counts", () => {
  const the = world();
  const read = async (by: Pick<Person, "token">, variables: Record<string, unknown> = {}): Promise<Counts> =>
    (await the().as(by).graphql(query, variables)).dailyCounts;
  const sql = (text: string, values: unknown[] = []) => the().app.services.database.pool.query(text, values);
  const dayOf = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);

  /** Runs `work` while the server counts nothing by itself, and has counted nothing. */
  const uncounted = <Result>(work: () => Promise<Result>) =>
    holdingLock(the().database.url, "daily_counts", async () => {
      await sql("update deployment set counted_until = null");
      return work();
    });

  // A test must not see the end of a day.
  beforeEach(() => withTimeLeft(86_400_000, 60_000));

  it("count what happened on each day up to today", () =>
    uncounted(async () => {
      const w = the();
      const before = await read(w.owner, { days: 4 });
      expect(before.days).to.deep.equal([dayOf(3), dayOf(2), dayOf(1), dayOf(0)]);
      const [ada, bob] = await w.users("ada", "bob");
      await sql("update users set created_at = now() - interval '2 days' where id = $1", [ada!.id]);
      await w.login("owner@example.com", "wrong").catch(() => {});
      await w.workspace(bob!);
      const failed = await w.workspace(bob!);
      await sql(
        `update provisioner_jobs j set status = 'failed', created_at = now() - interval '1 day'
       from workspace_builds b where b.job_id = j.id and b.workspace_id = $1`,
        [failed.id],
      );
      const counts = await read(w.owner, { days: 4 });
      const added = (name: Exclude<keyof Counts, "days">) =>
        counts[name]!.map((count, at) => count - before[name]![at]!);
      expect(added("createdUsers")).to.deep.equal([0, 1, 0, 1]);
      expect(added("rejectedSignIns")).to.deep.equal([0, 0, 0, 1]);
      expect(added("builds")).to.deep.equal([0, 0, 1, 1]);
      expect(added("failedBuilds")).to.deep.equal([0, 0, 1, 0]);
      expect(added("createdTasks")).to.deep.equal([0, 0, 0, 0]);
      expect((await read(w.owner)).days).to.have.length(14);
    }));

  it("are the same when a job has counted the past days, and change with it", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const other = await w.organization();
    const builds = [await w.workspace(ada!), await w.workspace(ada!, { organization: other.id })];
    const old = async (id: string, time: string, status = "succeeded") =>
      sql(
        `update provisioner_jobs j set status = $3, created_at = $2
         from workspace_builds b where b.job_id = j.id and b.workspace_id = $1`,
        [id, time, status],
      );
    const everywhere = async () => ({
      utc: await read(w.owner, { days: 90 }),
      // Its days begin at 18:30 and 18:15.
      kolkata: await read(w.owner, { days: 30, timeZone: "Asia/Kolkata" }),
      kathmandu: await read(w.owner, { days: 30, timeZone: "Asia/Kathmandu" }),
      one: await read(w.owner, { days: 14, organization: other.id }),
      today: await read(w.owner, { days: 1 }),
    });
    const before = await uncounted(async () => {
      await sql("update users set created_at = $2 where id = $1", [ada!.id, `${dayOf(5)}T18:20:00Z`]);
      await sql("update users set created_at = $2 where id = $1", [bob!.id, `${dayOf(89)}T23:59:59.999Z`]);
      await old(builds[0]!.id, `${dayOf(3)}T18:29:59Z`);
      await old(builds[1]!.id, `${dayOf(3)}T18:30:00Z`, "failed");
      return everywhere();
    });
    expect(before.utc.createdUsers![0]).to.equal(1);
    await runJob(w.app, "dailyCountsJob");
    expect(await everywhere()).to.deep.equal(before);

    // What was counted is read, and not the rows: a row that goes stays counted until the next run.
    await sql("update users set deleted_at = now() where id = any($1)", [[ada!.id, bob!.id]]);
    expect((await everywhere()).utc).to.deep.equal(before.utc);
    await runJob(w.app, "dailyCountsJob");
    expect((await everywhere()).utc, "a run soon after another").to.deep.equal(before.utc);
    await sql("update deployment set counted_until = counted_until - interval '4 hours'");
    await runJob(w.app, "dailyCountsJob");
    const after = await everywhere();
    expect(after.utc.createdUsers![0]).to.equal(0);
    expect(after.utc.builds).to.deep.equal(before.utc.builds);
    await sql("update users set deleted_at = null where id = any($1)", [[ada!.id, bob!.id]]);
  });

  it("begin days in a time zone", () =>
    uncounted(async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const yesterday = dayOf(1);
      const at = async (time: string, timeZone: string) => {
        await sql("update users set created_at = '2000-01-01' where not is_system");
        await sql("update users set created_at = $1 where id = $2", [time, ada!.id]);
        const { days, createdUsers } = await read(w.owner, { days: 4, timeZone });
        return days.filter((_, index) => createdUsers![index]! > 0);
      };
      expect(await at(`${dayOf(2)}T23:30:00Z`, "UTC")).to.deep.equal([dayOf(2)]);
      expect(await at(`${dayOf(2)}T23:30:00Z`, "Asia/Tokyo")).to.deep.equal([yesterday]);
      expect(await at(`${yesterday}T05:00:00Z`, "Pacific/Honolulu")).to.deep.equal([dayOf(2)]);
    }));

  it("are null where the caller may not read what they count", async () => {
    const w = the();
    const [member, auditor, administrator] = await w.users("member", "auditor", "administrator");
    await w.grant(auditor!, "auditor");
    await w.grant(administrator!, "organization-admin");
    const seen = async (by: Person, variables?: Record<string, unknown>) => {
      const series = Object.entries(await read(by, variables)).filter(([name]) => name !== "days");
      return series.flatMap(([name, values]) => (values === null ? [] : [name]));
    };
    expect(await seen(member!)).to.deep.equal([]);
    expect(await seen(auditor!)).to.have.members([
      "createdUsers",
      "signIns",
      "rejectedSignIns",
      "builds",
      "failedBuilds",
    ]);
    expect(await seen(administrator!)).to.have.members(["createdUsers", "builds", "failedBuilds", "createdTasks"]);
    expect(await seen(w.owner, { organization: "default" })).to.have.members([
      "builds",
      "failedBuilds",
      "createdTasks",
    ]);
  });

  it("count the builds of the organizations that the caller may read, or of one of them", async () => {
    const w = the();
    const [administrator, ada] = await w.users("administrator", "ada");
    await w.grant(administrator!, "organization-admin");
    const other = await w.organization();
    const sum = async (by: Person, organization?: string) =>
      (await read(by, { organization })).builds?.reduce((all, count) => all + count, 0) ?? null;
    const before = [await sum(w.owner), await sum(w.owner, "default"), await sum(administrator!)];
    await w.workspace(ada!);
    await w.workspace(ada!, { organization: other.id });
    const after = [await sum(w.owner), await sum(w.owner, "default"), await sum(administrator!)];
    expect(after.map((count, at) => count! - before[at]!)).to.deep.equal([2, 1, 1]);
    expect(await sum(w.owner, other.id)).to.equal(1);
    const failure = await w.as(administrator!).failure(query, { organization: other.id });
    expect(failure.code).to.equal("NOT_FOUND");
  });

  it("report every invalid argument, and require the scope of what is selected", async () => {
    const w = the();
    for (const [variables, fields] of [
      [{ days: 0 }, ["days"]],
      [{ days: 91, timeZone: "Mars/Olympus" }, ["days", "timeZone"]],
    ] as const) {
      const { code, errors } = await w.as(w.owner).failure(query, variables);
      expect(code).to.equal("BAD_USER_INPUT");
      expect(errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal(fields);
    }
    const narrow = await w.scoped(w.owner, "provisioner_job:read");
    const { dailyCounts } = await w.as(narrow).graphql("{ dailyCounts { builds } }");
    expect(dailyCounts.builds).to.be.an("array");
    expect((await w.as(narrow).failure("{ dailyCounts { signIns } }")).code).to.equal("FORBIDDEN");
  });

  it("have events of a SCIM key beside them, which the audit log filters", async () => {
    const w = the();
    const first = await makeScimKey(w);
    const second = await makeScimKey(w);
    for (const [key, name] of [
      [first, "kim"],
      [second, "lee"],
    ] as const) {
      const made = await new ScimClient(w.nobody, key.secret).post("/Users", {
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
        userName: name,
        emails: [{ value: `${name}@example.com`, primary: true }],
      });
      expect(made.status).to.equal(201);
    }
    const events = `query($filter: AuditEventFilter) { auditEvents(filter: $filter) { nodes { actorKind resourceLabel } } }`;
    const of = async (scimKey: string) =>
      (await w.as(w.owner).graphql(events, { filter: { scimKey } })).auditEvents.nodes;
    const found = await of(first.id);
    expect(found.length).to.be.greaterThan(0);
    for (const event of found) expect(event.actorKind).to.equal("scim_key");
    expect(found.map(({ resourceLabel }: { resourceLabel: string }) => resourceLabel))
      .to.include("kim")
      .and.not.include("lee");
    expect(await of(w.owner.token.slice("stw_se_".length, "stw_se_".length + 10))).to.deep.equal([]);
  });
});

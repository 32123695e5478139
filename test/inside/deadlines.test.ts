// Requests that cannot be completed in time.
// Looks inside: rows are locked, and commits last, for longer than a request.
import { expect } from "chai";
import { audited } from "../support/audit.js";
import { eventually } from "../support/watchers.js";
import { lockRows } from "../support/tables.js";
import { world } from "../support/world.js";

describe("a request that takes too long", () => {
  const the = world({ STEWARD_REQUEST_TIMEOUT: "3s", STEWARD_DATABASE_POOL: "2" });

  it("fails with 503 and the usual headers, stores nothing, and does not affect later requests", async () => {
    const { id } = await the().group();
    // Two changes run at a time, and each waits half a second for the lock: the last ones exceed three seconds.
    const rename = (name: string) => the().as(the().owner).patch(`/api/v2/groups/${id}`, { name });
    const answers = await lockRows(the().database.url, "groups", { id }, () =>
      Promise.all(Array.from({ length: 24 }, (_, n) => rename(`late-${n}`))),
    );

    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 503));
    const late = answers.filter(({ body }) => body.detail === "The request took too long.");
    expect(late).to.not.have.length(0);
    for (const { headers } of late) {
      expect(headers.get("retry-after")).to.equal("1");
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
      expect(headers.get("cache-control")).to.equal("no-store");
      expect(headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    }
    // Those that still wait for the lock get it now, after their responses.
    const { pools } = the().app.services.database;
    const isOver = () => pools.every((each) => each.waitingCount === 0 && each.idleCount === each.totalCount);
    await eventually(async () => isOver(), "all work is over");
    expect((await rename("in-time")).status).to.equal(200);
    const updates = await audited(the(), { resourceId: id, action: "UPDATE" });
    expect(updates.map(({ diff }) => diff.name!.new)).to.deep.equal(["in-time"]);
  });

  it("reports its actual result once its commit is under way", async () => {
    const { pool } = the().app.services.database;
    // Deferred triggers run with the commit.
    await pool.query(`
      create function commit_slowly() returns trigger language plpgsql as
        $$ begin perform pg_sleep(4); return null; end $$;
      create constraint trigger slowly after insert on groups initially deferred
        for each row execute function commit_slowly()`);
    try {
      const made = await the().as(the().owner).post("/api/v2/organizations/default/groups", { name: "slow" });
      expect(made).to.include({ status: 201 });
    } finally {
      await pool.query("drop trigger slowly on groups; drop function commit_slowly");
    }
  });
});

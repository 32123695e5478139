// Many writers of one row that another transaction keeps locked.
// Reaches for tables: a row is locked for longer than a request lasts.
import { expect } from "chai";
import { logged } from "../support/app.js";
import { connectionsReturned } from "../support/locks.js";
import { lockRows } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Answer, world } from "../support/world.js";

describe("writers that wait for a locked row", () => {
  const the = world({ STEWARD_DATABASE_POOL: "6", STEWARD_REQUEST_TIMEOUT: "12s" });
  it("leave connections to reads and probes, and fail long before a statement times out", async () => {
    const w = the();
    const group = await w.group();
    const before = logged.length;
    await lockRows(w.database.url, "groups", { id: group.id }, async () => {
      const done: Answer[] = [];
      for (let n = 0; n < 20; n++)
        void w
          .as(w.owner)
          .patch(`/api/v2/groups/${group.id}`, { display_name: `Name ${n}` })
          .then((answer) => done.push(answer));
      const reads = new Set<number>();
      const read = async () => {
        reads.add((await w.nobody.get("/readyz")).status);
        reads.add((await w.as(w.owner).get(`/api/v2/groups/${group.id}`)).status);
        return done.length === 20;
      };
      await eventually(read, "all writers have a response", 60_000);
      expect([...reads]).to.deep.equal([200]);
      for (const { status, body, headers } of done) {
        expect([status, body.message]).to.deep.equal([503, "The service is temporarily unavailable."]);
        expect(headers.get("retry-after")).to.equal("1");
      }
      const codes = logged.slice(before).map(({ err }) => (err as { code?: string } | undefined)?.code);
      expect(codes, "lock_not_available").to.include("55P03").and.not.include("57014");
    });
    const last = await w.as(w.owner).patch(`/api/v2/groups/${group.id}`, { display_name: "Free again" });
    expect(last).to.include({ status: 200 });
    await connectionsReturned(w.app);
  });
});

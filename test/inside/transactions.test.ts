// Looks inside: what a transaction does to statements that no operation sends.
import { expect } from "chai";
import { sql } from "kysely";
import { Client } from "pg";
import { Context } from "../../src/domain/kernel/context.js";
import { newId } from "../support/ids.js";
import { countWaiting } from "../support/locks.js";
import { logged } from "../support/app.js";
import { deliver } from "../support/inbox.js";
import { eventually } from "../support/watchers.js";
import { repeats } from "../support/repeats.js";
import { type Answer, world } from "../support/world.js";

describe("transactions", () => {
  const pool = 3;
  // A statement waits for a lock for a sixth of the time of a request.
  const the = world({ STEWARD_DATABASE_POOL: String(pool), STEWARD_REQUEST_TIMEOUT: "5m" });
  let other: Client;

  before(async () => {
    other = new Client(the().database.url);
    // The database is dropped while this client is connected.
    other.on("error", () => {});
    await other.connect();
  });
  after(() => other.end());

  /** Every connection of the pool is idle and outside a transaction. */
  const isWhole = async () => {
    const { rows } = await other.query<{ state: string }>(
      "select state from pg_stat_activity where application_name = 'steward' and datname = current_database()",
    );
    const { pool: connections } = the().app.services.database;
    return (
      rows.every(({ state }) => state === "idle") &&
      connections.idleCount === connections.totalCount &&
      connections.waitingCount === 0
    );
  };
  const whole = () => eventually(isWhole, "the pool is idle");

  /** Locks a group against changes until the returned function is called. */
  const holding = async (groupId: string) => {
    const holder = new Client(the().database.url);
    await holder.connect();
    holder.on("error", () => {});
    await holder.query("begin");
    await holder.query("select from groups where id = $1 for update", [groupId]);
    return () => holder.end();
  };

  const waiting = (number: number) => async () => (await countWaiting(other)) === number;

  const rename = (id: string, name: string): Promise<Answer> =>
    the().as(the().owner).patch(`/api/v2/groups/${id}`, { name });

  const nameOf = async (id: string) => (await the().as(the().owner).get(`/api/v2/groups/${id}`)).body.name as string;

  it("respond 503 and change nothing when their connection is lost, and the server recovers", async () => {
    const { id, name } = await the().group();
    const release = await holding(id);
    const answer = rename(id, "renamed-1");
    await eventually(waiting(1), "the change waits");
    await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    expect((await answer).status).to.equal(503);
    await release();
    await whole();
    expect(await nameOf(id)).to.equal(name);
  });

  it("leave a connection to reads while they wait for a lock, and succeed when they get it", async () => {
    const { id, name } = await the().group();
    const release = await holding(id);
    const running = Array.from({ length: pool }, (_, n) => rename(id, `renamed-2-${n}`));
    await eventually(waiting(pool - 1), "all but one of them wait");
    expect(await nameOf(id)).to.equal(name);
    await release();
    expect((await Promise.all(running)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    await whole();
  });

  it("roll back entirely when the commit fails", async () => {
    await other.query(`
      create function reject_change() returns trigger language plpgsql as $$ begin raise exception 'rejected' using errcode = '40001'; end $$;
      create constraint trigger reject_change after update on groups deferrable initially deferred
        for each row when (new.name = 'rejected') execute function reject_change()`);
    const { id, name } = await the().group();
    const before = await other.query("select from audit_events");
    expect((await rename(id, "rejected")).status).to.equal(503);
    await whole();
    expect(await nameOf(id)).to.equal(name);
    expect((await other.query("select from audit_events")).rowCount).to.equal(before.rowCount);
  });

  for (const [sqlstate, name] of [
    ["40001", "a serialization failure"],
    ["40P01", "a deadlock"],
  ])
    it(`are attempted three times in total on ${name}, in a statement or in the commit`, async () => {
      for (const [when, deferral] of [
        ["statement", ""],
        ["commit", "deferrable initially deferred"],
      ]) {
        const loser = `loses-${sqlstate!.toLowerCase()}-${when}`;
        // Sequences are not rolled back.
        await other.query(`
          create sequence "${loser}";
          create function "${loser}"() returns trigger language plpgsql as $$ begin
            if nextval('"${loser}"') <= new.quota_allowance then raise exception 'lost' using errcode = '${sqlstate}'; end if;
            return null;
          end $$;
          create constraint trigger "${loser}" after update on groups ${deferral}
            for each row when (new.name = '${loser}') execute function "${loser}"()`);
        const { id } = await the().group(loser);
        const lose = (quota_allowance: number) =>
          the().as(the().owner).patch(`/api/v2/groups/${id}`, { quota_allowance });
        const attempts = async () => {
          const { rows } = await other.query(`select last_value::int as count from "${loser}"`);
          await other.query(`alter sequence "${loser}" restart`);
          return rows[0].count as number;
        };
        expect([(await lose(2)).status, await attempts()], `${when}: lost twice`).to.deep.equal([200, 3]);
        expect([(await lose(3)).status, await attempts()], `${when}: lost each time`).to.deep.equal([503, 3]);
      }
      await whole();
    });

  it("roll back entirely when the audit event cannot be written", async () => {
    const { id, name } = await the().group();
    await other.query("alter table audit_events add constraint rejected check (resource_label <> 'unheard') not valid");
    expect((await rename(id, "heard")).status).to.equal(200);
    await other.query("update groups set name = 'unheard' where id = $1", [id]);
    expect((await rename(id, name)).status).to.equal(500);
    await whole();
    expect(await nameOf(id)).to.equal("unheard");
  });

  it("run to completion when the client disconnects, and release their connection", async () => {
    const { id } = await the().group();
    const release = await holding(id);
    const caller = new AbortController();
    const answer = fetch(`${the().url}/api/v2/groups/${id}`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json", "Service-Session-Token": the().owner.token },
      body: JSON.stringify({ name: "renamed-by-nobody" }),
      signal: caller.signal,
    }).catch((error: Error) => error.name);
    await eventually(waiting(1), "the change waits");
    caller.abort();
    expect(await answer).to.equal("AbortError");
    await release();
    await whole();
    expect(await nameOf(id)).to.equal("renamed-by-nobody");
  });

  describe("in the domain", () => {
    const divide = ({ db }: Context, divisor: number) => sql`select 1 / ${divisor}::int`.execute(db);
    const insertKey = ({ db }: Context, userId: string, key: string) =>
      db
        .insertInto("idempotencyKeys")
        .values({ userId, key, requestHash: Buffer.alloc(0), createdAt: sql<string>`now()` })
        .returning("key")
        .executeTakeFirst();
    const keys = async (key: string) =>
      (await other.query("select from idempotency_keys where key = $1", [key])).rowCount;
    const make = () => {
      const actor = { kind: "system", siteRoles: [], organizations: new Map(), scopes: [] } as const;
      return new Context(the().app.services, actor, { id: newId() }, () => new AbortController());
    };
    const fault = (work: Promise<unknown>) =>
      work.then(
        () => "none",
        (error: Error) => error.message,
      );

    it("undo the statements before the one that failed", async () => {
      const ctx = make();
      const failed = ctx.transactional(async () => {
        await insertKey(ctx, the().owner.id, "undone");
        await divide(ctx, 0);
      });
      expect(await fault(failed)).to.equal("division by zero");
      await whole();
      expect(await keys("undone")).to.equal(0);
    });

    it("reject statements issued after they have ended", async () => {
      const ctx = make();
      let late: Promise<unknown> | undefined;
      const slow = async () => {
        await sql`select pg_sleep(0.1)`.execute(ctx.db).catch(() => {});
        await insertKey(ctx, the().owner.id, "late");
      };
      const failed = ctx.transactional(() => Promise.all([divide(ctx, 0), (late = slow())]));
      expect(await fault(failed)).to.equal("division by zero");
      expect(await fault(late!)).to.not.equal("none");
      await whole();
      expect(await keys("late")).to.equal(0);
    });

    it("run their after-commit actions only after their own commit, not after that of a later attempt", async () => {
      const ctx = make();
      const done: string[] = [];
      const attempt = (name: string, divisor: number) =>
        ctx.transactional(async () => {
          ctx.afterCommit(async () => {
            await sql`select`.execute(ctx.db);
            done.push(name);
          });
          await divide(ctx, divisor);
        });
      expect(await fault(attempt("first", 0))).to.equal("division by zero");
      expect(await fault(attempt("second", 1))).to.equal("none");
      expect(done).to.deep.equal(["second"]);
    });

    it("read again what a failed attempt has loaded", async () => {
      const ctx = make();
      let reads = 0;
      const counted = (_: Context, wanted: readonly string[]) => Promise.resolve(wanted.map(() => ++reads));
      const attempt = async (divisor: number) => {
        let read = 0;
        await fault(
          ctx.transactional(async () => {
            read = await ctx.load(counted, "key");
            await divide(ctx, divisor);
          }),
        );
        return read;
      };
      expect([await attempt(0), await attempt(1)]).to.deep.equal([1, 2]);
    });

    it("cannot be given up during the commit, but can be again after a failed commit", async () => {
      await other.query(`
        create function hold() returns trigger language plpgsql as $$ begin
          perform pg_advisory_xact_lock(5);
          if new.key = 'held and rejected' then raise exception 'rejected'; end if;
          return null;
        end $$;
        create constraint trigger hold after insert on idempotency_keys deferrable initially deferred
          for each row when (new.key like 'held%') execute function hold()`);
      for (const [key, outcome, fate] of [
        ["held", "none", "commits"],
        ["held and rejected", "rejected", undefined],
      ] as const) {
        const ctx = make();
        await other.query("select pg_advisory_lock(5)");
        const work = fault(ctx.transactional(() => insertKey(ctx, the().owner.id, key)));
        try {
          await eventually(waiting(1), "the commit waits");
          expect(ctx.request.fate).to.equal("commits");
        } finally {
          await other.query("select pg_advisory_unlock(5)");
        }
        expect(await work).to.equal(outcome);
        expect(ctx.request.fate).to.equal(fate);
      }
      await whole();
    });

    it("commit nothing for a request that was given up", async () => {
      const ctx = make();
      const failed = ctx.transactional(async () => {
        await insertKey(ctx, the().owner.id, "too late");
        ctx.request.fate = "given up";
      });
      expect(await fault(failed)).to.equal("The service is temporarily unavailable.");
      await whole();
      expect(await keys("too late")).to.equal(0);
    });

    it("succeed even if an action after the commit fails, which is logged", async () => {
      const ctx = make();
      const work = ctx.transactional(async () => {
        ctx.afterCommit(() => Promise.reject(new Error("lost")));
        await insertKey(ctx, the().owner.id, "kept");
      });
      expect(await fault(work)).to.equal("none");
      expect(await keys("kept")).to.equal(1);
      const line = logged.find(({ requestId }) => requestId === ctx.request.id);
      expect(line).to.deep.include({ msg: "an action after the end of a transaction failed" });
    });

    it("end before their after-commit actions run", async () => {
      const ctx = make();
      const done: string[] = [];
      const result = await ctx.transactional(async () => {
        ctx.afterCommit(() => void done.push("after the commit"));
        const row = await insertKey(ctx, the().owner.id, "done");
        done.push("row");
        return row;
      });
      expect(result).to.deep.equal({ key: "done" });
      expect(done).to.deep.equal(["row", "after the commit"]);
      await whole();
    });
  });
});

describe("the unread count", () => {
  const the = world();

  it("stays equal to the number of unread notifications under concurrent deliveries and marks", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const inbox = "/api/v2/notifications/inbox";
    const known = await deliver(
      w.app,
      ada!.id,
      Array.from({ length: 20 }, (_, n) => `n${n}`),
    );
    const any = () => known[Math.floor(Math.random() * known.length)]!;
    const mark = async (isRead: boolean) =>
      (await w.as(ada!).put(`${inbox}/${any()}/read-status`, { is_read: isRead })).status;
    const moves = [
      () => mark(true),
      () => mark(false),
      () => deliver(w.app, ada!.id, ["more"]).then((ids) => void known.push(...ids)),
      async () => (await w.as(ada!).put(`${inbox}/mark-all-as-read`)).status,
    ];
    const walk = async () => {
      const statuses = new Set<unknown>();
      for (let step = 0; step < repeats(15, 60); step++)
        statuses.add(await moves[Math.floor(Math.random() * 10) % 4]!());
      return [...statuses].filter((status) => Number(status) >= 400);
    };
    expect((await Promise.all(Array.from({ length: 12 }, walk))).flat()).to.deep.equal([]);

    const counted = `select unread_count, (select count(*)::int from inbox_notifications i where i.user_id = c.user_id and i.epoch = c.epoch and read_at is null) as unread,
      last_seq, (select max(seq) from inbox_notifications i where i.user_id = c.user_id) as latest
      from inbox_cursors c where user_id = $1`;
    const { rows } = await w.app.services.database.pool.query(counted, [ada!.id]);
    expect(rows[0].unread_count).to.equal(rows[0].unread);
    expect(rows[0].last_seq).to.equal(rows[0].latest);
  });
});

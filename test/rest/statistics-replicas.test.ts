// Replicas count the tables of users again as deployments grow: one of them at a time, and the others go on.
// Looks inside: the lock is held, and Postgres asked how many times it counted.
import { expect } from "chai";
import { Pool } from "pg";
import { ownerPassword } from "../support/app.js";
import { cloneDatabase } from "../support/cluster.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { eventually } from "../support/watchers.js";
import { Client } from "../support/world.js";

describe("the statistics of the tables of users", () => {
  let pool: Pool;
  const replicas: ServerProcess[] = [];

  before(async () => {
    const { url } = await cloneDatabase();
    pool = new Pool({ connectionString: url, max: 2 });
    const settings = { STEWARD_DATABASE_URL: url, STEWARD_BUILTIN_DAEMON: "false", STEWARD_REQUEST_LOG: "off" };
    for (let nr = 0; nr < 2; nr++) replicas.push(await spawnServer(settings));
  });
  after(async () => {
    for (const { child } of replicas) child.kill("SIGTERM");
    await Promise.all(replicas.map(({ ended }) => ended));
    await pool.end();
  });

  const counted = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: string }>(
      "select analyze_count as count from pg_stat_user_tables where relname = 'users'",
    );
    return Number(rows[0]!.count);
  };

  /** Creates a hundred users through a replica, after which it counts. */
  async function grow({ url }: ServerProcess, series: string): Promise<void> {
    const credentials = { email: "owner@example.com", password: ownerPassword };
    const { body } = await new Client(url).post("/api/v2/users/login", credentials);
    const owner = new Client(url, body.session_token as string);
    const create = "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }";
    for (let nr = 0; nr < 100; nr++) {
      const username = `${series}-${nr}`;
      await owner.graphql(create, { input: { username, email: `${username}@corp.example`, loginType: "NONE" } });
    }
  }

  it("are left to the replica that counts already, without a wait or an error", async () => {
    const other = await pool.connect();
    const before = await counted();
    await other.query("select pg_advisory_lock(hashtext('steward.statistics'))");
    try {
      const [replica] = replicas as [ServerProcess];
      await grow(replica, "first");
      // It ends what goes on in the background before it stops.
      replica.child.kill("SIGTERM");
      expect(await replica.ended).to.equal(0);
      expect(await counted()).to.equal(before);
      expect(replica.output()).to.not.match(/error|count the tables/i);
    } finally {
      await other.query("select pg_advisory_unlock_all()");
      other.release();
    }
  });

  it("are counted by one that finds none at it", async () => {
    const before = await counted();
    await grow(replicas[1]!, "second");
    await eventually(async () => (await counted()) === before + 1, "the tables are counted");
  });
});

// Replicas count the tables of users again as deployments grow: one of them at a time, and the others go on.
// Looks inside: the lock is held, and Postgres asked how many times it counted.
import { expect } from "chai";
import { ownerPassword } from "../support/app.js";
import { cloneDatabase } from "../support/cluster.js";
import { countAnalyzed, holdingLock } from "../support/locks.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { eventually } from "../support/watchers.js";
import { Client } from "../support/world.js";

describe("the statistics of the tables of users", () => {
  let url: string;
  const replicas: ServerProcess[] = [];

  before(async () => {
    ({ url } = await cloneDatabase());
    const settings = { STEWARD_DATABASE_URL: url, STEWARD_BUILTIN_DAEMON: "false", STEWARD_REQUEST_LOG: "off" };
    for (let nr = 0; nr < 2; nr++) replicas.push(await spawnServer(settings));
  });
  after(async () => {
    for (const { child } of replicas) child.kill("SIGTERM");
    await Promise.all(replicas.map(({ ended }) => ended));
  });

  const counted = () => countAnalyzed(url, "users");

  /** Creates a hundred users through a replica, after which it counts. */
  async function grow(replica: ServerProcess, series: string): Promise<void> {
    const credentials = { email: "owner@example.com", password: ownerPassword };
    const { body } = await new Client(replica.url).post("/api/v2/users/login", credentials);
    const owner = new Client(replica.url, body.session_token as string);
    const create = "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }";
    for (let nr = 0; nr < 100; nr++) {
      const username = `${series}-${nr}`;
      await owner.graphql(create, { input: { username, email: `${username}@corp.example`, loginType: "NONE" } });
    }
  }

  it("are left to the replica that counts already, without a wait or an error", async () => {
    const before = await counted();
    await holdingLock(url, "statistics", async () => {
      const [replica] = replicas as [ServerProcess];
      await grow(replica, "first");
      // It ends what goes on in the background before it stops.
      replica.child.kill("SIGTERM");
      expect(await replica.ended).to.equal(0);
      expect(await counted()).to.equal(before);
      expect(replica.output()).to.not.match(/error|count the tables/i);
    });
  });

  it("are counted by one that finds none at it", async () => {
    const before = await counted();
    await grow(replicas[1]!, "second");
    await eventually(async () => (await counted()) === before + 1, "the tables are counted");
  });
});

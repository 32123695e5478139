// Users who are created on servers that are killed in the middle: what is counted and reported about them is exact.
import { expect } from "chai";
import { ownerPassword } from "../support/app.js";
import { faultsOf } from "../support/creations.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { makeScimKey, newScimUser, ScimClient } from "../support/scim.js";
import { eventually } from "../support/watchers.js";
import { Client, startWorld } from "../support/world.js";

const accountCreated = "4e19c0ac-94e1-4532-9515-d1801aa283b2";
const none = { organizations: [], users: undefined, notices: [], inboxes: [], waiting: 0 };

describe("creations of users on servers that are killed", () => {
  it("lose and double no notice, and leave every count exact", async function () {
    this.timeout(240_000);
    const w = await startWorld();
    try {
      const { secret } = await makeScimKey(w);
      const uma = await w.user("uma");
      await w.grant(uma, "user-admin");
      await w.app.close();
      const settings = { STEWARD_DATABASE_URL: w.database.url, STEWARD_ADMIN_PASSWORD: ownerPassword };
      const replicas: ServerProcess[] = await Promise.all([spawnServer(settings), spawnServer(settings)]);
      const over = new AbortController();
      let created = 0;
      /** Creates users on one of the two servers, the one that takes the place of a killed one included. */
      const creating = async (nr: number) => {
        while (!over.signal.aborted) {
          const client = new ScimClient(new Client(replicas[nr % 2]!.url), secret);
          const answer = await client.post("/Users", newScimUser()).catch(() => undefined);
          if (answer?.status === 201) created++;
          else await eventually(() => true, "the next attempt");
        }
      };
      const creators = Array.from({ length: 8 }, (_, nr) => creating(nr));
      for (let crash = 0; crash < 4; crash++) {
        const so = created;
        await eventually(() => created > so + 40, "users are created", 60_000);
        replicas[crash % 2]!.child.kill("SIGKILL");
        await replicas[crash % 2]!.ended;
        replicas[crash % 2] = await spawnServer(settings);
      }
      over.abort();
      await Promise.all(creators);
      const isDone = async () => (await faultsOf(w.database.url, accountCreated)).waiting === 0;
      await eventually(isDone, "all are told", 30_000);
      for (const { child } of replicas) child.kill("SIGTERM");
      await Promise.all(replicas.map(({ ended }) => ended));
      const { notices, ...others } = await faultsOf(w.database.url, accountCreated);
      // She was created before she was an administrator.
      expect(notices.filter(({ username }) => username !== "uma")).to.deep.equal([]);
      expect({ ...others, notices: [] }).to.deep.equal(none);
      expect(created).to.be.above(160);
    } finally {
      await w.database.drop();
    }
  });
});

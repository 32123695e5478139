// Looks inside: a server that was killed left no change without its event.
import { expect } from "chai";
import { Client as SqlClient } from "pg";
import { ownerPassword } from "../../support/app.js";
import { cloneDatabase, type TestDatabase } from "../../support/cluster.js";
import { type ServerProcess, spawnServer } from "../../support/process.js";
import { Client } from "../../support/world.js";

const writes = 200;
const atOnce = 16;

describe("a server that is killed", () => {
  let database: TestDatabase;
  let sql: SqlClient;
  let server: ServerProcess | undefined;

  before(async () => {
    database = await cloneDatabase();
    sql = new SqlClient(database.url);
    await sql.connect();
  });
  after(async () => {
    server?.child.kill("SIGKILL");
    await sql.end();
    await database.drop();
  });

  it("keeps every acknowledged write and no partial one, five times in a row", async () => {
    const acknowledged: string[] = [];
    for (let round = 1; round <= 5; round++) {
      server = await spawnServer({ STEWARD_DATABASE_URL: database.url });
      const before = acknowledged.length;
      await writeUntilKilled(server, round, acknowledged);
      expect(acknowledged.length - before).to.be.within(1, writes - 1);
    }

    const groups = await sql.query<{ id: string }>("select id from groups where name like 'w-%'");
    expect(groups.rows.map(({ id }) => id)).to.include.members(acknowledged);
    const halves = await sql.query(`
      select from groups g full join audit_events e on e.resource_id = g.id::text and e.resource_type = 'group' and e.action = 'create'
      where (g.name like 'w-%' or e.resource_label like 'w-%') and (g.id is null or e.id is null)`);
    expect(halves.rowCount).to.equal(0);
  });

  /** Sends writes and kills the server in the middle of them; records the ids of those that were acknowledged. */
  async function writeUntilKilled(
    { url, child, ended }: ServerProcess,
    round: number,
    acknowledged: string[],
  ): Promise<void> {
    const { body } = await new Client(url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    const owner = new Client(url, body.session_token);
    const middle = acknowledged.length + writes / 2;
    let next = 0;
    const write = async (): Promise<void> => {
      while (next < writes) {
        const answer = await owner
          .post("/api/v2/organizations/default/groups", { name: `w-${round}-${next++}` })
          .catch(() => undefined);
        if (!answer) return;
        if (answer.status === 201) acknowledged.push(answer.body.id);
        if (acknowledged.length >= middle) child.kill("SIGKILL");
      }
    };
    await Promise.all(Array.from({ length: atOnce }, write));
    expect(await ended).to.equal("SIGKILL");
  }
});

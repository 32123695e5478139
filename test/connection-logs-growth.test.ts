// Pages of the connection log take few rows, however many there are.
import { expect } from "chai";
import { firstMonthId, newId } from "./support/ids.js";
import { logPath } from "./support/connections.js";
import { type Person, world } from "./support/world.js";

const rows = 60_000;
const connections = 2;

describe(`a connection log of ${rows} rows`, () => {
  const the = world({ STEWARD_DATABASE_POOL: String(connections) });
  const [workspace, connection] = [newId(), newId()];
  let organization: { id: string; name: string };
  let admin: Person;
  let visitor: Person;

  before(async function () {
    this.timeout(120_000);
    const w = the();
    organization = await w.organization();
    admin = await w.user("head", [organization.id]);
    visitor = await w.user("visitor");
    await w.as(w.owner).graphql(
      `mutation($organization: String!, $user: String!) { setOrganizationMemberRoles(
        input: { organization: $organization, user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
      { organization: organization.id, user: admin.id },
    );
    const client = await w.unlimited();
    // Rare rows are in the older half.
    await client.query(
      `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
         type, connect_time, reporter, connection_id, disconnect_time, slug_or_port, event_id, user_id)
       select ${firstMonthId}, case when rare then $1::uuid else $2 end,
         case when rare then $3::uuid else md5((n % 500)::text)::uuid end, 'box', case when rare then $4::uuid else $5 end,
         'main', case when n % 2 = 0 then 'ssh' when rare then 'port_forwarding' else 'workspace_app' end,
         now() - make_interval(secs => n), gen_random_uuid(),
         case when n % 2 = 0 then case when n = $7 - 2 then $6::uuid else gen_random_uuid() end end,
         case when n % 2 = 0 and not rare then now() end, '8080', gen_random_uuid(), case when rare then $4 end
       from generate_series(1, $7::int) n, lateral (select n > $7 / 2 and n % 301 = 0) of(rare)`,
      [organization.id, w.defaultOrganization, workspace, visitor.id, w.owner.id, connection, rows],
    );
    await client.query("vacuum analyze connection_logs");
    await client.end();
  });

  /** Returns how many rows were read so far, through an index or sequentially. */
  async function reads(): Promise<number> {
    const { pool } = the().app.services.database;
    const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    for (const client of clients) {
      await client.query("select pg_stat_force_next_flush()");
      client.release();
    }
    const { rows: found } = await pool.query<{ read: number }>(
      `select (seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'connection_logs'))::int as read
       from pg_stat_user_tables where relname = 'connection_logs'`,
    );
    return found[0]!.read;
  }

  it("is not read as a whole, however often a page is requested", async function () {
    this.timeout(120_000);
    const w = the();
    const [all, own] = [w.as(w.owner), w.as(admin)];
    const pages: Array<[client: typeof all, search: string, offset?: number]> = [
      [all, ""],
      [all, "", 500],
      [own, ""],
      [all, `organization:${organization.name}`],
      [all, `workspace_id:${workspace}`],
      [all, `connection_id:${connection}`],
      [all, `workspace_owner:${visitor.username}`],
      [all, `user_email:${visitor.email}`],
      [all, "type:port_forwarding"],
      [all, "type:ssh,workspace_app"],
      [all, "status:ongoing"],
      [own, "status:ongoing type:ssh"],
      [all, "status:completed"],
      [all, "status:ongoing,completed type:ssh"],
      [all, "status:completed type:workspace_app"],
      [all, "connected_before:2000-01-01"],
      [all, "connected_after:2000-01-01 type:ssh"],
      [all, "username:nobody"],
    ];
    for (const [client, search, offset = 0] of pages) {
      const path = `${logPath}?limit=10&offset=${offset}&q=${encodeURIComponent(search)}`;
      const before = await reads();
      for (let time = 0; time < 8; time++)
        await Promise.all(Array.from({ length: connections }, () => client.get(path)));
      const after = await reads();
      // The rows of the page, those before it, and up to 2,001 that are counted; a filter may skip every other one.
      const perPage = (after - before) / (8 * connections);
      expect(perPage, `rows read for ${search}`).to.be.below(4_500 + offset);
    }
  });
});

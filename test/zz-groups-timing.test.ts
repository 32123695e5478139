import { newId } from "../src/domain/ids.js";
import { world } from "./support/world.js";
describe("timing", () => {
  const w = world();
  it("x", async function () {
    this.timeout(120000);
    const pool = w().app.services.database.pool;
    for (const [g, n] of [["a", 50], ["b", 1000], ["c", 5]] as const) {
      const group = await w().group(`${g}`);
      const ids = Array.from({ length: n }, () => newId());
      await pool.query(`insert into users (id, created_at, updated_at, email, username, login_type) select id, now(), now(), '${g}' || n || '@example.com', '${g}'||n, 'password' from unnest($1::uuid[]) with ordinality as u (id, n)`, [ids]);
      await pool.query(`insert into organization_members (organization_id, user_id, created_at) select $1, unnest($2::uuid[]), now()`, [w().defaultOrganization, ids]);
      await pool.query(`insert into group_members (group_id, organization_id, user_id) select $1, $2, unnest($3::uuid[])`, [group.id, w().defaultOrganization, ids]);
    }
    for (const p of ["/api/v2/groups/c", "/api/v2/groups/a", "/api/v2/groups/b", "/api/v2/groups", "/api/v2/groups?exclude_members=true", "/api/v2/groups/a/members", "/api/v2/groups/a/members?q=a&offset=1"]) {
      const times = [];
      for (let i = 0; i < 12; i++) { const t = performance.now(); await w().as(w().owner).get(p); times.push((performance.now() - t).toFixed(1)); }
      console.log(p, times.join(" "));
    }
    console.log((await pool.query("show jit")).rows, (await pool.query("select pg_jit_available()")).rows);
  });
});

// A database with rows from before: what they are after the upgrade.
// Looks inside: no server of this release makes such rows.
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { openDatabase } from "../../src/infrastructure/database/database.js";
import { migrateOffline } from "../../src/infrastructure/database/migrations.js";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { runJob } from "../support/background.js";
import { createDatabase, type TestDatabase } from "../support/cluster.js";
import { newId, randomText } from "../support/ids.js";
import { serve } from "../support/provisioners.js";
import { addOwner } from "../support/rows-without-names.js";
import { hashSecret, newToken } from "../support/token-rows.js";
import { Client } from "../support/world.js";

/** The reasons of builds that the earlier release knew. */
const reasons = [
  "initiator",
  "autostart",
  "autostop",
  "dormancy",
  "autodelete",
  "task_manual_pause",
  "task_auto_pause",
  "task_resume",
  "dashboard",
  "cli",
  "ssh_connection",
  "vscode_connection",
  "jetbrains_connection",
];

describe("rows from before an upgrade", function () {
  this.timeout(240_000);
  let database: TestDatabase;
  let app: App;
  let owner: Client;
  const [organization, ada, sam, box, running, agent] = Array.from({ length: 6 }, () => newId());
  const [session, token, application] = [newToken("session"), newToken("token"), newToken("application")];
  const daemonSecret = randomText(43);
  const [stopped, lost, open] = Array.from({ length: 3 }, () => newId());

  const query = async (text: string, values: unknown[] = []) =>
    (await app.services.database.pool.query<Record<string, unknown>>(text, values)).rows;

  before(async () => {
    database = await createDatabase();
    const opened = openDatabase({ url: database.url, pool: 2, statementTimeout: 0 });
    // Migrations run in the order of their list: those that are tested come after this one.
    await migrateOffline(opened, "0069-events-carrier");
    await opened.close();
    const sql = new Postgres({ connectionString: database.url });
    await sql.connect();
    // Nothing else than what is looked at: the jobs, versions, and templates of the builds are left out.
    await sql.query("set session_replication_role = replica");
    await sql.query(
      `insert into organizations (id, created_at, updated_at, name, display_name, description, icon, is_default)
       values ($1, now(), now(), 'earlier', '', '', '', false)`,
      [organization],
    );
    await sql.query(
      `insert into users (id, created_at, updated_at, email, username, login_type, status) values
       ($1, now() - interval '1 year', now() - interval '1 year', 'ada@example.com', 'ada', 'password', 'active'),
       ($2, now() - interval '1 year', now() - interval '3 hours', 'sam@example.com', 'sam', 'password', 'suspended')`,
      [ada, sam],
    );
    for (const [key, kind, name] of [
      [session, "session", ""],
      [token, "token", "made by the session"],
      [application, "token", "made by the token"],
    ] as const)
      await sql.query(
        `insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, expires_at)
         values ($1, $2, $3, $4, $5, '{all}', now(), now() + interval '1 day')`,
        [key.id, key.secretHash, ada, kind, name],
      );
    for (const [made, maker] of [
      [token, session],
      [application, token],
    ] as const)
      await sql.query(
        `insert into audit_log (id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id, diff, request_id)
         values ($1, now(), $2, 'user', $3, 'create', 'api_key', $4, '{}', 'request')`,
        [newId(), ada, maker.id, made.id],
      );
    for (const [index, reason] of reasons.entries())
      await sql.query(
        `insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, transition, reason,
           initiator_id, job_id, parameters)
         values ($1, now(), now(), $2, $3, $4, 'start', $5, $6, $7, '[]')`,
        [newId(), box, index + 1, newId(), reason, ada, newId()],
      );
    await sql.query(
      `insert into provisioner_keys (id, organization_id, name, secret_hash, tags, creator_id, created_at)
       values ($1, $2, 'Build-Farm.EU', $3, '{}', $4, now()), ($5, $2, 'plain', $6, '{}', $4, now())`,
      [newId(), organization, hashSecret(daemonSecret), ada, newId(), hashSecret(randomText(43))],
    );
    // A session of an agent whose token has ended, one of a workspace that is gone, and one of an agent that is there.
    await sql.query(
      `insert into workspace_agents (id, created_at, updated_at, workspace_id, build_id, resource_id, name, token_hash, token_ended_at)
       select $1, now(), now(), workspace_id, id, $2, 'main', '\\x00', now() - interval '1 hour' from workspace_builds limit 1`,
      [agent, newId()],
    );
    for (const [id, reporter] of [
      [stopped, agent],
      [lost, newId()],
      [open, newId()],
    ])
      await sql.query(
        `insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
           connect_time, reporter, connection_id)
         values ($1, $2, $3, 'box', $4, 'main', 'ssh', now() - interval '2 hours', $5, $6)`,
        [id, organization, running, ada, reporter, newId()],
      );
    await sql.end();
    app = await startServer(database.url);
    await addOwner(app, ownerPassword);
    const { body } = await new Client(app.url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    owner = new Client(app.url, body.session_token as string);
  });
  after(async () => {
    await app.close();
    await database.drop();
  });

  it("keys know what made them, and end with it", async () => {
    const client = new Client(app.url, session.text);
    const { apiKeys } = await client.graphql("{ apiKeys(kind: TOKEN) { name madeBy { id kind } } }");
    expect(apiKeys).to.have.deep.members([
      { name: "made by the session", madeBy: { id: session.id, kind: "SESSION" } },
      { name: "made by the token", madeBy: { id: token.id, kind: "TOKEN" } },
    ]);
    const { revokeApiKey } = await client.graphql(
      `mutation { revokeApiKey(input: { id: "${token.id}" }) { endedKeyCount } }`,
    );
    expect(revokeApiKey.endedKeyCount).to.equal(1);
    for (const { text } of [token, application])
      expect((await new Client(app.url, text).failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
    expect((await client.graphql("{ me { id } }")).me.id).to.equal(ada);
  });

  it("suspended users are suspended since the last change of their account, and others are not", async () => {
    const rows = await query(
      "select id, suspended_at = updated_at as is_since, stop_hold from users where id = any($1)",
      [[ada, sam]],
    );
    expect(rows).to.have.deep.members([
      { id: ada, is_since: null, stop_hold: null },
      { id: sam, is_since: true, stop_hold: null },
    ]);
    // The next suspension begins at its own time.
    for (const verb of ["activateUser", "suspendUser"])
      await owner.graphql(`mutation { ${verb}(input: { user: "${sam}" }) { __typename } }`);
    const [row] = await query("select suspended_at > now() - interval '1 minute' as is_new from users where id = $1", [
      sam,
    ]);
    expect(row).to.deep.equal({ is_new: true });
  });

  it("builds keep their reasons, which the constraint knows and has read", async () => {
    const kept = await query("select reason from workspace_builds where workspace_id = $1 order by build_number", [
      box,
    ]);
    expect(kept.map(({ reason }) => reason)).to.deep.equal(reasons);
    const [constraint] = await query(
      "select convalidated from pg_constraint where conname = 'workspace_builds_reason_check'",
    );
    expect(constraint).to.deep.equal({ convalidated: true });
    const [unplanned] = await query("select count(planned_deadline)::int as count from workspace_builds");
    expect(unplanned, "computed when a setting changes").to.deep.equal({ count: 0 });
  });

  it("provisioner keys have names in lower case, are found in any, and let their daemons in", async () => {
    const keys = `{ provisionerKeys(organization: "earlier") { name } }`;
    const { provisionerKeys } = await owner.graphql(keys);
    expect(provisionerKeys.map(({ name }: { name: string }) => name)).to.include.members(["build-farm.eu", "plain"]);
    const daemon = await serve(app, { key: `stwk_${daemonSecret}`, organization: "earlier" });
    daemon.close();
    await owner.graphql(
      `mutation { deleteProvisionerKey(input: { organization: "earlier", name: "BUILD-farm.eu" }) { __typename } }`,
    );
    expect((await owner.graphql(keys)).provisionerKeys).to.have.length(provisionerKeys.length - 1);
  });

  it("sessions in the connection log end with their agent, and stay open where it is not known to be gone", async () => {
    await runJob(app, "sessionEnds");
    const rows = await query(
      "select id, disconnect_time is not null as has_ended, is_end_derived from connection_log where id = any($1)",
      [[stopped, lost, open]],
    );
    expect(rows).to.have.deep.members([
      { id: stopped, has_ended: true, is_end_derived: true },
      { id: lost, has_ended: false, is_end_derived: false },
      { id: open, has_ended: false, is_end_derived: false },
    ]);
  });
});

// A database with rows from before: what they are after the upgrade.
// Looks inside: no server of this release makes such rows.
import { expect } from "chai";
import { openDatabase } from "../../../src/infrastructure/database/database.js";
import { migrateOffline } from "../../../src/infrastructure/database/migrations.js";
import { type App, ownerPassword, startServer } from "../../support/app.js";
import { runJob } from "../../support/background.js";
import { createDatabase, type TestDatabase } from "../../support/cluster.js";
import { serve } from "../../support/provisioners.js";
import { found, reasons, rowsOfBefore, storeRowsOfBefore } from "../../support/rows-of-before.js";
import { addOwner } from "../../support/rows-without-names.js";
import { Client } from "../../support/world.js";

describe("rows from before an upgrade", function () {
  this.timeout(240_000);
  let database: TestDatabase;
  let app: App;
  let owner: Client;
  const stored = rowsOfBefore();
  const { ada, sam, box, session, token, application, daemonSecret, stopped, lost, open } = stored;

  before(async () => {
    database = await createDatabase();
    const opened = openDatabase({ url: database.url, pool: 2, statementTimeout: 0 });
    // Migrations run in the order of their list: those that are tested come after this one.
    await migrateOffline(opened, "0069-events-carrier");
    await opened.close();
    await storeRowsOfBefore(database.url, stored);
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
    expect(await found.suspensions(app, [ada, sam])).to.have.deep.members([
      { id: ada, is_since: null, stop_hold: null },
      { id: sam, is_since: true, stop_hold: null },
    ]);
    // The next suspension begins at its own time.
    for (const verb of ["activateUser", "suspendUser"])
      await owner.graphql(`mutation { ${verb}(input: { user: "${sam}" }) { __typename } }`);
    expect(await found.isSuspendedSinceNow(app, sam)).to.equal(true);
  });

  it("builds keep their reasons, which the constraint knows and has read", async () => {
    expect(await found.reasonsOfBuilds(app, box)).to.deep.equal(reasons);
    expect(await found.isValidated(app, "workspace_builds_reason_check")).to.equal(true);
    expect(await found.plannedDeadlines(app), "computed when a setting changes").to.equal(0);
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

  it("what users spent on AI this month is summed", async () => {
    const { organizationAiSpend } = await owner.graphql(
      `{ organizationAiSpend(organization: "earlier") { spentMicros spenders { spentMicros user { username } } } }`,
    );
    const spenders = [{ spentMicros: 12, user: { username: "ada" } }];
    expect(organizationAiSpend).to.deep.equal({ spentMicros: 12, spenders });
  });

  it("sessions in the connection log end with their agent, and stay open where it is not known to be gone", async () => {
    await runJob(app, "sessionEnds");
    expect(await found.ends(app, [stopped, lost, open])).to.have.deep.members([
      { id: stopped, has_ended: true, is_end_derived: true },
      { id: lost, has_ended: false, is_end_derived: false },
      { id: open, has_ended: false, is_end_derived: false },
    ]);
  });
});

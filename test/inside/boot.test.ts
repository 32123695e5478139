// The first start on a database: what it creates, and what prevents it.
// Looks inside: a database that a newer release migrated, and a machine on which each time limit has passed.
import { expect } from "chai";
import { Client as Connection } from "pg";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { createDatabase, type TestDatabase } from "../support/cluster.js";
import { Client } from "../support/world.js";

/** Removes the administrator from the settings of tests. */
const defaults = {
  STEWARD_ADMIN_EMAIL: undefined,
  STEWARD_ADMIN_USERNAME: undefined,
  STEWARD_ADMIN_PASSWORD: undefined,
};

describe("the first start", () => {
  let database: TestDatabase;
  const running: App[] = [];
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((app) => app.close()));
    await database.drop();
  });

  const boot = async (settings: NodeJS.ProcessEnv = {}): Promise<App> => {
    const app = await startServer(database.url, { ...defaults, ...settings });
    running.push(app);
    return app;
  };
  const refusal = (settings: NodeJS.ProcessEnv = {}): Promise<Error> =>
    boot(settings).then(
      () => Promise.reject(new Error("The server started.")),
      (error: Error) => error,
    );
  const signedIn = async ({ url }: App, email: string, password: string) => {
    const { body } = await new Client(url).post("/api/v2/users/login", { email, password });
    return new Client(url, body.session_token as string);
  };

  it("creates everything once when three servers start concurrently", async () => {
    const apps = await Promise.all([boot(), boot(), boot()]);
    const [administrator, ...others] = apps.flatMap((app) => app.administrator ?? []);
    expect(others).to.deep.equal([]);
    expect(administrator!.email).to.equal("admin@steward.local");
    expect(administrator!.password).to.match(/^[0-9A-Za-z]{24}$/);
    const client = await signedIn(apps[0], administrator!.email, administrator!.password!);
    const found = await client.graphql(`{
      me { username organizationIds roles { name } }
      organizations { id name displayName isDefault }
      groups { nodes { name organization { id } } }
      users { nodes { username } }
      auditEvents { nodes { action resourceType diff } } }`);
    const { id, ...organization } = found.organizations[0]!;
    expect(found.organizations).to.have.length(1);
    expect(organization).to.deep.equal({ name: "main", displayName: "Default", isDefault: true });
    expect(found.me).to.deep.equal({ username: "admin", organizationIds: [id], roles: [{ name: "OWNER" }] });
    expect(found.groups.nodes).to.deep.equal([{ name: "Everyone", organization: { id } }]);
    expect(found.users.nodes).to.deep.equal([{ username: "admin" }]);
    const events = found.auditEvents.nodes as Array<{ action: string; resourceType: string }>;
    expect(events.map(({ action, resourceType }) => `${action} ${resourceType}`)).to.have.members([
      "CREATE organization",
      "CREATE user",
      "LOGIN user",
    ]);
    expect(JSON.stringify(events)).to.not.contain(administrator!.password);
    expect(await boot({ STEWARD_ADMIN_EMAIL: "late@example.com" })).to.have.property("administrator", undefined);
    expect((await client.graphql("{ users { nodes { username } } }")).users.nodes).to.have.length(1);
  });

  it("takes the administrator's password from the settings, and does not return it", async () => {
    const app = await boot({
      STEWARD_ADMIN_EMAIL: "grace@example.com",
      STEWARD_ADMIN_USERNAME: "grace",
      STEWARD_ADMIN_PASSWORD: ownerPassword,
      STEWARD_DEFAULT_ORGANIZATION: "navy",
    });
    expect(app.administrator).to.deep.equal({ email: "grace@example.com" });
    const client = await signedIn(app, "grace@example.com", ownerPassword);
    expect(await client.graphql("{ me { username } organizations { name } }")).to.deep.equal({
      me: { username: "grace" },
      organizations: [{ name: "navy" }],
    });
  });

  it("waits as long as it takes to rate the administrator's password, on a slow machine", async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    // That of an estimate is over before the worker responds.
    AbortSignal.timeout = (milliseconds) => (milliseconds === 10_000 ? AbortSignal.abort() : timeout(milliseconds));
    try {
      const password = "copper-meadow-rowing-88";
      const app = await boot({ STEWARD_ADMIN_PASSWORD: password });
      const client = await signedIn(app, "admin@steward.local", password);
      expect((await client.graphql("{ me { username } }")).me.username).to.equal("admin");
      // Requests do not wait that long.
      const check = `mutation { validatePassword(input: { password: "${password}" }) { validation { valid } } }`;
      expect((await client.failure(check)).code).to.equal("UNAVAILABLE");
    } finally {
      AbortSignal.timeout = timeout;
    }
  });

  it("stops at a password that breaks the rule, and starts with a better one", async () => {
    const { name, message } = await refusal({ STEWARD_ADMIN_PASSWORD: "password" });
    expect(name).to.equal("ConfigError");
    expect(message)
      .to.match(/STEWARD_ADMIN_PASSWORD: .*heavily used/)
      .and.not.contain('"password"');
    expect((await boot()).administrator).to.have.property("password");
    const ignored = await boot({ STEWARD_ADMIN_PASSWORD: "password" });
    expect(ignored.administrator, "ignored once there is a user").to.equal(undefined);
  });

  it("rejects a database of a newer program, and leaves it unchanged", async () => {
    await boot();
    const connection = new Connection(database.url);
    await connection.connect();
    try {
      const applied = async () => (await connection.query("select name from migrations order by name")).rows;
      await connection.query("insert into migrations (name) values ('0099-from-the-future')");
      const before = await applied();
      const { name, message } = await refusal();
      expect(name).to.equal("StartRefused");
      expect(message).to.contain("0099-from-the-future").and.contain("newer");
      expect(await applied()).to.deep.equal(before);
    } finally {
      await connection.end();
    }
  });
});

import { expect } from "chai";
import { pino } from "pino";
import { Context, type Services } from "../src/domain/kernel/context.js";
import { createAdministrator, recoverAccess } from "../src/domain/deployment/administrators.js";
import { systemActor } from "../src/domain/kernel/actor.js";
import { type BootServices, firstBoot } from "../src/domain/deployment/boot.js";
import { createPasswords } from "../src/infrastructure/passwords/passwords.js";
import { Vault } from "../src/infrastructure/vault.js";
import { migrations } from "../src/entities/migrations/index.js";
import { openDatabase } from "../src/infrastructure/database/database.js";
import { newId } from "./support/ids.js";
import { createDatabase, type TestDatabase } from "./support/cluster.js";
import { type Config, encryptionKeys, readConfig } from "./support/app.js";
import { world } from "./support/world.js";

/** State of a server before it boots, on a database of its own, which `run` removes at the end. */
async function booting<Result>(
  database: TestDatabase,
  settings: NodeJS.ProcessEnv,
  run: (services: BootServices) => Promise<Result>,
): Promise<Result> {
  const config: Config = readConfig({
    STEWARD_DATABASE_URL: database.url,
    STEWARD_ENCRYPTION_KEYS: encryptionKeys,
    ...settings,
  });
  const opened = openDatabase({ url: database.url, pool: 3, statementTimeout: 15_000 });
  try {
    const log = pino({ enabled: false });
    const services = {
      config,
      database: opened,
      passwords: createPasswords(1),
      vault: new Vault(),
      log,
    };
    return await run(services);
  } finally {
    await opened.close();
  }
}

describe("first boot", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  const boot = (settings: NodeJS.ProcessEnv = {}) => booting(database, settings, firstBoot);
  const rows = (text: string) =>
    booting(database, {}, async (services) => (await services.database.pool.query(text)).rows);
  const refusal = async (settings: NodeJS.ProcessEnv = {}): Promise<Error> => {
    try {
      await boot(settings);
    } catch (error) {
      return error as Error;
    }
    throw new Error("The server started.");
  };

  it("creates everything once when three servers boot concurrently", async () => {
    const administrators = (await Promise.all([boot(), boot(), boot()])).filter((each) => each !== undefined);
    expect(administrators).to.have.length(1);
    expect(administrators[0]!.email).to.equal("admin@steward.local");
    expect(administrators[0]!.password).to.match(/^[0-9A-Za-z]{24}$/);
    expect(await rows("select name, display_name, is_default from organizations")).to.deep.equal([
      { name: "main", display_name: "Default", is_default: true },
    ]);
    expect(await rows("select g.name from groups g join organizations o on o.id = g.id")).to.deep.equal([
      { name: "Everyone" },
    ]);
    expect(await rows("select username, is_system, site_roles from users order by username")).to.deep.equal([
      { username: "admin", is_system: false, site_roles: ["owner"] },
      { username: "prebuilds", is_system: true, site_roles: [] },
      { username: "system", is_system: true, site_roles: [] },
    ]);
    expect(await rows("select count(*)::int as count from organization_members")).to.deep.equal([{ count: 1 }]);
    expect(await rows("select count(*)::int as count from deployment")).to.deep.equal([{ count: 1 }]);
    const events = await rows("select actor_kind, action, resource_type, diff::text from audit_events order by id");
    expect(events.map((event) => [event.actor_kind, event.action, event.resource_type])).to.deep.equal([
      ["system", "create", "organization"],
      ["system", "create", "user"],
    ]);
    expect(JSON.stringify(events)).to.not.contain(administrators[0]!.password);
    expect(await boot({ STEWARD_ADMIN_EMAIL: "late@example.com" })).to.equal(undefined);
  });

  it("takes the administrator's password from the settings, and does not return it", async () => {
    const administrator = await boot({
      STEWARD_ADMIN_EMAIL: "grace@example.com",
      STEWARD_ADMIN_USERNAME: "grace",
      STEWARD_ADMIN_PASSWORD: "correct-horse-battery-staple-9",
      STEWARD_DEFAULT_ORGANIZATION: "navy",
    });
    expect(administrator).to.deep.equal({ email: "grace@example.com" });
    expect(
      await rows(
        "select u.username, o.name from organization_members m join users u on u.id = m.user_id join organizations o on o.id = m.organization_id",
      ),
    ).to.deep.equal([{ username: "grace", name: "navy" }]);
  });

  it("stops at a password that breaks the rule, and starts with a better one", async () => {
    const { name, message } = await refusal({ STEWARD_ADMIN_PASSWORD: "password" });
    expect(name).to.equal("ConfigError");
    expect(message)
      .to.match(/STEWARD_ADMIN_PASSWORD: .*heavily used/)
      .and.not.contain('"password"');
    expect(await boot()).to.have.property("password");
    expect(await boot({ STEWARD_ADMIN_PASSWORD: "password" }), "ignored once there is a user").to.equal(undefined);
  });

  it("rejects a database of a newer program, and leaves it unchanged", async () => {
    await boot();
    await rows("insert into migrations (name) values ('0099-from-the-future')");
    const { name, message } = await refusal();
    expect(name).to.equal("StartRefused");
    expect(message).to.contain("0099-from-the-future").and.contain("newer");
    expect(await rows("select count(*)::int as count from migrations")).to.deep.equal([
      { count: migrations.length + 1 },
    ]);
  });
});

describe("the operator of the server", () => {
  const the = world();
  const asSystem = <Result>(work: (ctx: Context) => Promise<Result>): Promise<Result> => {
    const services: Services = the().app.services;
    const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
    return ctx.transactional(() => work(ctx));
  };

  it("creates another administrator", async () => {
    const w = the();
    const made = await asSystem((ctx) => createAdministrator(ctx, { email: "second@example.com", username: "second" }));
    const token = await w.login("second@example.com", made.password!);
    const { me } = await w.as({ token }).graphql("{ me { username roles { name } organizationIds } }");
    expect(me).to.deep.equal({
      username: "second",
      roles: [{ name: "OWNER" }],
      organizationIds: [w.defaultOrganization],
    });
    const again = asSystem((ctx) => createAdministrator(ctx, { email: "SECOND@example.com", username: "third" }));
    expect(await again.catch((error: Error) => error.message)).to.match(/exists already/);
  });

  it("recovers a user's access with a new password, which ends all their sessions", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const { password } = await asSystem((ctx) => recoverAccess(ctx, ada!.email.toUpperCase()));
    expect((await w.as(ada!).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    await w.login(ada!.email, password!);
    const unknown = asSystem((ctx) => recoverAccess(ctx, "nobody@example.com"));
    expect(await unknown.catch((error: { code: string }) => error.code)).to.equal("NOT_FOUND");
    const weak = asSystem((ctx) => recoverAccess(ctx, ada!.email, "password"));
    expect(await weak.catch((error: { code: string }) => error.code)).to.equal("BAD_USER_INPUT");
  });
});

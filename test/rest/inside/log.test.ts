// Looks inside: Postgres rejects rows, and quotes them.
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { ownerPassword } from "../../support/app.js";
import { cloneDatabase, type TestDatabase } from "../../support/cluster.js";
import { command, type ServerProcess, spawnServer } from "../../support/process.js";
import { transports } from "../../support/watchers.js";
import { Client } from "../../support/world.js";

describe("the log", () => {
  let database: TestDatabase;
  let sql: Postgres;
  let server: ServerProcess;

  before(async () => {
    database = await cloneDatabase();
    sql = new Postgres(database.url);
    await sql.connect();
    server = await spawnServer({
      STEWARD_DATABASE_URL: database.url,
      STEWARD_LOG_LEVEL: "trace",
      STEWARD_METRICS_TOKEN: "metrics-token-nobody-guesses",
    });
  });
  after(async () => {
    server.child.kill("SIGKILL");
    await server.ended;
    await sql.end();
    await database.drop();
  });

  const createUser = "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }";
  const createKey = `mutation { createApiKey(input: { name: "robot" }) { token } }`;

  it("holds no password, token, or hash, whatever is logged and whatever fails", async () => {
    const right = ownerPassword;
    const wrong = "wrong-Horse-77";
    const broken = "broken-Horse-88";
    const refused = "refused-Horse-99";
    const nobody = new Client(server.url);
    const signIn = (password: string) => nobody.post("/api/v2/users/login", { email: "owner@example.com", password });
    const { body } = await signIn(right);
    const owner = new Client(server.url, body.session_token);
    const { createApiKey } = await owner.graphql(createKey);
    const forged = createApiKey.token.replace(/.{5}$/, "xxxxx");

    expect((await signIn(wrong)).status).to.equal(401);
    expect(
      (await nobody.post("/api/v2/users/login", `{"email": "a@b.example", "password": "${broken}`)).status,
    ).to.equal(400);
    for (const token of [forged, "stw_se_malformed-token"]) {
      expect((await new Client(server.url, token).get("/api/v2/groups")).status).to.equal(401);
      expect((await nobody.get("/api/v2/groups", { Authorization: `Bearer ${token}` })).status).to.equal(401);
      await transports.subscription(server.url, token).then(
        () => expect.fail("the WebSocket was accepted"),
        () => {},
      );
    }
    expect((await nobody.get("/metrics", { Authorization: "Bearer a-guessed-metrics-token" })).status).to.equal(404);

    // Rows that Postgres rejects: its error messages quote their contents.
    await sql.query("alter table users add constraint no_more_users check (username = 'owner') not valid");
    await sql.query("alter table api_keys add constraint no_more_keys check (false) not valid");
    const input = { email: "ada@example.com", username: "ada", password: refused, loginType: "PASSWORD" };
    expect((await owner.failure(createUser, { input })).code).to.equal("INTERNAL_SERVER_ERROR");
    expect((await owner.failure(createKey.replace("robot", "other"))).code).to.equal("INTERNAL_SERVER_ERROR");
    const failed = await signIn(right);
    expect(failed.status).to.equal(500);
    await sql.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await owner.get("/readyz");

    const asked = await command(
      { STEWARD_DATABASE_URL: database.url },
      "admin",
      "create",
      "--email",
      "x@example.com",
      "--username",
      "x",
    );
    expect(asked.status).to.equal(1);
    const output = server.output() + asked.stderr;
    const requestId = failed.headers.get("x-request-id")!;
    expect(output, "logs the failures").to.include(requestId).and.include("no_more_users").and.include("no_more_keys");
    const secrets = [
      right,
      wrong,
      broken,
      refused,
      body.session_token,
      createApiKey.token,
      forged,
      "malformed-token",
      "metrics-token",
    ];
    const parts = secrets.map((secret: string) => secret.split("-").at(-1)!);
    const { password } = new URL(database.url);
    for (const secret of [
      ...secrets,
      ...parts.filter((part) => part.length > 20),
      "$argon2",
      ...(password ? [password] : []),
    ]) {
      expect(output.includes(secret), `${secret} in ${lineWith(output, secret)}`).to.equal(false);
    }
  });
});

const lineWith = (text: string, part: string) => text.split("\n").find((line) => line.includes(part));

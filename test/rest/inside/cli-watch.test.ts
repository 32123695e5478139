// What commands that watch go through: restarts of the server, expired tokens, and logins that end.
// Looks inside: tokens expire while a command watches.
import { expect } from "chai";
import { Client as Connection } from "pg";
import { prints, UserCli } from "../../support/cli.js";
import { ownerPassword } from "../../support/app.js";
import { cloneDatabase, type TestDatabase } from "../../support/cluster.js";
import { freePort } from "../../support/ports.js";
import { type Program, type ServerProcess, spawnServer } from "../../support/process.js";
import { eventually } from "../../support/watchers.js";
import { Client } from "../../support/world.js";

describe("commands that watch", () => {
  let database: TestDatabase;
  let url: string;
  let server: ServerProcess;
  let owner: Client;
  let cli: UserCli;
  let settings: NodeJS.ProcessEnv;
  let watch: Program;

  before(async () => {
    database = await cloneDatabase();
    const port = String(await freePort("127.0.0.1"));
    url = `http://127.0.0.1:${port}`;
    settings = {
      STEWARD_DATABASE_URL: database.url,
      STEWARD_PORT: port,
      STEWARD_ACCESS_URL: url,
      STEWARD_LOG_LEVEL: "error",
    };
    server = await spawnServer(settings);
    const { body } = await new Client(url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    owner = new Client(url, body.session_token);
    cli = await UserCli.open();
    await cli.signIn(url, { token: body.session_token });
  });
  after(async () => {
    server.child.kill("SIGTERM");
    await server.ended;
    await cli.close();
    await database.drop();
  });
  afterEach(() => void watch.child.kill("SIGKILL"));

  const send = async (title: string) => {
    const body = { content: { title, message: "Text" } };
    expect((await owner.post("/api/v2/notifications/custom", body)).status).to.equal(204);
  };
  const titles = () =>
    watch
      .stdout()
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { title: string }).title);
  const begin = async () => {
    watch = cli.start(["inbox", "watch", "--json"]);
    await prints(watch, "Watching the inbox");
  };

  it("survive restarts of the server, and print each notification once", async () => {
    await begin();
    await send("Before");
    await prints(watch, "Before");
    // Once as it is planned, with a close frame, and once by a crash.
    for (const [nr, signal] of (["SIGTERM", "SIGKILL"] as const).entries()) {
      server.child.kill(signal);
      await server.ended;
      await prints(watch, new RegExp(`(is lost[^]*){${nr + 1}}`));
      server = await spawnServer(settings);
      // Before the command has connected again.
      await send(`After ${signal}`);
      await prints(watch, `After ${signal}`);
      await prints(watch, new RegExp(`(Connected again[^]*){${nr + 1}}`));
    }
    await send("Last");
    await prints(watch, "Last");
    expect(titles()).to.deep.equal(["Before", "After SIGTERM", "After SIGKILL", "Last"]);
    watch.child.kill("SIGINT");
    expect(await watch.ended).to.equal(0);
  });

  it("end on Ctrl-C while the server is away", async () => {
    await begin();
    server.child.kill("SIGTERM");
    await server.ended;
    await prints(watch, "is lost");
    watch.child.kill("SIGINT");
    expect(await watch.ended).to.equal(0);
    server = await spawnServer(settings);
  });

  it("go on with another token each time theirs expires, however quiet it is", async () => {
    const tokenNow = async () => (await cli.logins()).logins[url].accessToken as string;
    const connection = new Connection(database.url);
    await connection.connect();
    await begin();
    for (let time = 1; time <= 3; time++) {
      const before = await tokenNow();
      await connection.query("update api_keys set expires_at = now() - interval '1 s' where id = $1", [
        before.slice(7, 17),
      ]);
      // The server asks again for the condition of a stream at least every 30 seconds.
      await eventually(async () => (await tokenNow()) !== before, "another token", 60_000);
    }
    await connection.end();
    await send("With another token");
    await prints(watch, "With another token");
    expect(watch.stderr()).to.not.include("is lost");
  });

  it("end when the login is revoked, and say so", async () => {
    await begin();
    const { clientId } = (await cli.logins()).logins[url].registration;
    await owner.graphql("mutation($id: String!) { revokeOAuth2AppGrants(input: { clientId: $id }) { __typename } }", {
      id: clientId,
    });
    expect(await watch.ended).to.equal(3);
    expect(watch.stderr()).to.include(`Sign in again: npm run steward -- login ${url}\n`);
    expect(watch.stdout()).to.equal("");
  });
});

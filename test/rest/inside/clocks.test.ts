// Replicas on machines with wrong clocks: the clock of the database decides what has expired.
// Looks inside: keys expire, and Postgres tells when servers read its clock.
import { expect } from "chai";
import { inMs } from "../../support/clock.js";
import { basic, insertAccessToken, insertClient, insertGrant, insertSecret } from "../../support/oauth2.js";
import { ownerPassword } from "../../support/app.js";
import { type ServerProcess, spawnServer } from "../../support/process.js";
import { setTimes } from "../../support/tables.js";
import { eventually } from "../../support/watchers.js";
import { Client, type Person, world } from "../../support/world.js";

const hour = 3_600_000;
const groups = "/api/v2/groups";
const createKey = `mutation($expiresAt: DateTime) {
  createApiKey(input: { name: "clock", expiresAt: $expiresAt }) { token apiKey { id expiresAt } } }`;

/** The Node option that shifts the clock of a process; the monotonic clock stays. */
const shiftedBy = (milliseconds: number): string => {
  const script = `globalThis.Date = new Proxy(Date, {
    construct: (of, values, as) => Reflect.construct(of, values.length ? values : [of.now() + ${milliseconds}], as),
    get: (of, name) => name === "now" ? () => of.now() + ${milliseconds} : Reflect.get(of, name),
  });`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
};

describe("replicas with wrong clocks", () => {
  const the = world({ STEWARD_SESSION_DURATION: "1h" });
  const processes: ServerProcess[] = [];
  /** Servers whose clocks are two hours ahead and behind. */
  let wrong: Record<"ahead" | "behind", ServerProcess>;
  let ada: Person;

  before(async () => {
    const start = async (offset: number) => {
      const settings = {
        STEWARD_DATABASE_URL: the().database.url,
        STEWARD_SESSION_DURATION: "1h",
        STEWARD_BUILTIN_DAEMON: "false",
      };
      const server = await spawnServer(settings, { options: [shiftedBy(offset)] });
      processes.push(server);
      return server;
    };
    const [ahead, behind] = await Promise.all([start(2 * hour), start(-2 * hour)]);
    wrong = { ahead, behind };
    ada = await the().user("ada");
  });
  after(async () => {
    for (const { child, ended } of processes) {
      child.kill("SIGKILL");
      await ended;
    }
  });

  const clients = ({ token }: { token: string }) =>
    [the().url, wrong.ahead.url, wrong.behind.url].map((url) => new Client(url, token));
  const everyone = (credential: { token: string }) =>
    Promise.all(clients(credential).map(async (client) => (await client.get(groups)).status));
  const run = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  /** Milliseconds until a time. */
  const until = (time: string) => Date.parse(time) - Date.now();

  it("accept fresh access tokens, and reject those that have expired", async () => {
    const app = await insertClient(the(), {});
    const grant = await insertGrant(the(), ada.id, app.id, {});
    const { id, text } = await insertAccessToken(the(), grant);
    await setTimes(the(), "api_keys", { id }, { expires_at: "1 h" });
    expect(await everyone({ token: text })).to.deep.equal([200, 200, 200]);
    for (const client of clients({ token: text }).slice(1))
      expect(await client.graphql("{ me { id } }")).to.deep.equal({ me: { id: ada.id } });

    await setTimes(the(), "api_keys", { id }, { expires_at: "-1 h" });
    await eventually(
      async () => (await everyone({ token: text })).every((status) => status === 401),
      "the token has expired everywhere",
    );
  });

  it("issue sessions that last as long as those of others", async () => {
    for (const { url } of [wrong.ahead, wrong.behind]) {
      const login = { email: the().owner.email, password: ownerPassword };
      const { body } = await new Client(url).post("/api/v2/users/login", login);
      expect(await everyone({ token: body.session_token })).to.deep.equal([200, 200, 200]);
      const { apiKeys } = await new Client(url, body.session_token).graphql(
        `{ apiKeys(user: "me", kind: SESSION) { expiresAt isCurrent } }`,
      );
      const { expiresAt } = apiKeys.find((key) => key.isCurrent)!;
      expect(until(expiresAt)).to.be.within(hour - 60_000, hour);
    }
  });

  it("judge the expiry of new API tokens and secrets by the same clock", async () => {
    const app = await insertClient(the(), {});
    const createSecret = `mutation($app: UUID!, $expiresAt: DateTime) {
      createOAuth2AppSecret(input: { app: $app, expiresAt: $expiresAt }) { clientSecretFull } }`;
    for (const { url } of [wrong.ahead, wrong.behind]) {
      const owner = new Client(url, the().owner.token);
      const user = new Client(url, (await the().user("bob")).token);
      const { createApiKey } = await user.graphql(createKey, { expiresAt: inMs(hour) });
      expect(await everyone(createApiKey)).to.deep.equal([200, 200, 200]);
      expect((await user.failure(createKey, { expiresAt: inMs(-hour) })).code).to.equal("BAD_USER_INPUT");

      const { createOAuth2AppSecret } = await owner.graphql(createSecret, { app: app.id, expiresAt: inMs(hour) });
      expect(createOAuth2AppSecret.clientSecretFull).to.match(/^stws_/);
      const failure = await owner.failure(createSecret, { app: app.id, expiresAt: inMs(-hour) });
      expect(failure.code).to.equal("BAD_USER_INPUT");
    }
  });

  it("authenticate applications whose secret has not expired", async () => {
    const app = await insertClient(the(), {});
    const secrets = {
      live: await insertSecret(the(), app.id, inMs(hour)),
      over: await insertSecret(the(), app.id, inMs(-hour)),
    };
    for (const { url } of [wrong.ahead, wrong.behind]) {
      const introspect = (secret: string) =>
        new Client(url).post("/oauth2/introspect", { token: "x" }, basic(app.id, secret));
      expect(await introspect(secrets.live.text)).to.deep.include({ status: 200, body: { active: false } });
      expect(await introspect(secrets.over.text)).to.include({ status: 401 });
    }
  });

  it("report the difference of the clocks once", async () => {
    const reports = ({ output }: ServerProcess) =>
      output()
        .split("\n")
        .filter((line) => line.includes('"level":40'))
        .map((line) => JSON.parse(line) as { msg: string; offsetSeconds?: number })
        .filter(({ msg }) => msg.includes("clock"));
    const { rows: starts } = await run("select now() as time");
    const readings = new Set<string>();
    // One server reads it at most every 5 seconds: these are those of several servers.
    await eventually(
      async () => {
        const { rows } = await run(
          `select pid || ' ' || query_start as reading from pg_stat_activity
           where datname = current_database() and query like 'select extract(epoch from clock_timestamp())%'
             and query_start > $1`,
          starts[0].time,
        );
        for (const { reading } of rows) readings.add(reading);
        return readings.size >= 5;
      },
      "the servers read the clock again",
      45_000,
    );
    for (const [server, seconds] of [
      [wrong.ahead, 7200],
      [wrong.behind, -7200],
    ] as const) {
      const offsets = reports(server).map(({ offsetSeconds }) => offsetSeconds!);
      expect(offsets).to.have.length(1);
      // With the time that the reading took.
      expect(offsets[0]).to.be.closeTo(seconds, 60);
    }
  });
});

// Races for codes, refresh tokens and device codes, and what failed transactions leave of them.
// Looks inside: commits fail, or last until a lock is released.
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { countWaiting } from "../support/locks.js";
import {
  approveDevice,
  credentials,
  grantsOf,
  makeClient,
  makeCode,
  type OAuthClient,
  redeem,
  pollDevice,
  refresh,
  sendForm,
  spendEarlier,
  startDevice,
  statusOf,
} from "../support/oauth2.js";
import { insertKey } from "../support/keys.js";
import { repeats } from "../support/repeats.js";
import { failingCommits, lockRows } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, type Person, type World, world } from "../support/world.js";

/** As many requests as are sent in parallel, and how often; the environment may set more. */
const parallel = Number(process.env.RACE_REQUESTS ?? 40);
const rounds = Number(process.env.RACE_ROUNDS ?? repeats(1, 4));

/** Sends the same request many times in parallel. Returns the responses with tokens, after a check of all others. */
async function race(send: () => Promise<Answer>, lost = { status: 400, error: "invalid_grant" }): Promise<Answer[]> {
  const all = await Promise.all(Array.from({ length: parallel }, send));
  for (const { status, body } of all.filter((each) => each.status !== 200))
    expect({ status, error: body.error }).to.deep.equal(lost);
  return all.filter(({ status }) => status === 200);
}

describe("races for OAuth2 tokens", () => {
  // The grace period is longer than all requests of a race take together.
  const the = world({ STEWARD_OAUTH2_REFRESH_GRACE: "5m", STEWARD_REQUEST_TIMEOUT: "5m" });
  let w: World;
  let ada: Person;
  let client: OAuthClient;
  before(async () => {
    w = the();
    ada = await w.user("ada");
    client = await makeClient(w);
  });

  const me = (token: string) => statusOf(w, token);
  const reasonOf = async (grantId: string) =>
    (await grantsOf(w, client)).find(({ id }) => id === grantId)?.revokeReason;
  const start = async () => (await startDevice(w, client)).device_code as string;
  const poll = (code: string) => pollDevice(w, client, code);

  it("give a code to one request, and revoke its tokens for the others", async () => {
    for (let round = 0; round < rounds; round++) {
      const { code, grantId } = await makeCode(w, client, ada);
      const won = await race(() => redeem(w, client, code));
      expect(won).to.have.length(1);
      expect(await me(won[0]!.body.access_token)).to.equal(401);
      expect(await reasonOf(grantId)).to.equal("CODE_REPLAY");
    }
  });

  it("give a refresh token to thirty requests, and ask the others to wait, which costs nothing", async () => {
    for (let round = 0; round < rounds; round++) {
      const { code, grantId } = await makeCode(w, client, ada);
      const { refresh_token: token } = (await redeem(w, client, code)).body;
      const won = await race(() => refresh(w, client, token), { status: 429, error: "temporarily_unavailable" });
      expect(won).to.have.length(30);
      expect(await reasonOf(grantId)).to.equal(null);
      for (const { body } of won) expect(await me(body.access_token)).to.equal(200);
      const late = await refresh(w, client, token);
      expect(late).to.include({ status: 429 });
      expect(late.headers.get("retry-after")).to.match(/^[1-9]/);
    }
  });

  it("leave all tokens of 18 parallel refreshes good, until the spent one comes after the grace period", async () => {
    const { code, grantId } = await makeCode(w, client, ada);
    const { refresh_token: token } = (await redeem(w, client, code)).body;
    const all = await Promise.all(Array.from({ length: 18 }, () => refresh(w, client, token)));
    for (const { status, body } of all) {
      expect(status).to.equal(200);
      expect(await me(body.access_token)).to.equal(200);
      expect(await refresh(w, client, body.refresh_token)).to.include({ status: 200 });
    }
    await spendEarlier(w, token, "301 s");
    expect((await refresh(w, client, token)).body.error).to.equal("invalid_grant");
    expect(await reasonOf(grantId)).to.equal("REFRESH_REUSE");
    for (const { body } of all) expect(await me(body.access_token)).to.equal(401);
  });

  it("leave a grant at most 60 refresh tokens, of which the oldest unused ones end", async () => {
    const { code, grantId } = await makeCode(w, client, ada);
    const { refresh_token: first } = (await redeem(w, client, code)).body;
    const successorsOf = async (token: string) =>
      (await race(() => refresh(w, client, token), { status: 429, error: "temporarily_unavailable" })).map(
        ({ body }) => body.refresh_token as string,
      );
    const second = await successorsOf(first);
    const third = await successorsOf(second[0]!);
    // 29 of the second generation and 30 of the third are live: one more token fits.
    const [another, ...surplus] = await successorsOf(third[0]!);
    expect(surplus).to.have.length(29);
    const isLive = async (token: string) => (await refresh(w, client, token)).status === 200;
    expect(await isLive(another!)).to.equal(true);
    const { live } = (
      await w.app.services.database.pool.query(
        `select count(*)::int as live from oauth2_refresh_tokens
          where grant_id = $1 and spent_at is null and expires_at > now()`,
        [grantId],
      )
    ).rows[0];
    expect(live).to.be.at.most(60);
    const ended = await Promise.all(second.slice(1).map((token) => refresh(w, client, token)));
    for (const { status, body } of ended.filter((each) => each.status !== 200))
      expect({ status, error: body.error }).to.deep.equal({ status: 400, error: "invalid_grant" });
    expect(ended.filter(({ status }) => status !== 200)).to.have.length.at.least(27);
    expect(await reasonOf(grantId), "nothing was revoked").to.equal(null);
  });

  it("give a device code to one request, whose tokens stay valid", async () => {
    for (let round = 0; round < rounds; round++) {
      const code = await start();
      await approveDevice(w, client, ada, code);
      const won = await race(() => poll(code));
      expect(won).to.have.length(1);
      expect(await me(won[0]!.body.access_token)).to.equal(200);
    }
  });

  it("leave no token of a grant that is revoked at the same moment", async () => {
    for (let round = 0; round < rounds * 2; round++) {
      const { code } = await makeCode(w, client, ada);
      const { refresh_token: token, access_token: access } = (await redeem(w, client, code)).body;
      const [refreshed, revoked] = await Promise.all([
        refresh(w, client, token),
        sendForm(w, "revoke", { client_id: client.id, token: access }),
      ]);
      expect([200, 400]).to.include(refreshed.status);
      expect(revoked.status).to.equal(200);
      for (const issued of [access, refreshed.body.access_token]) if (issued) expect(await me(issued)).to.equal(401);
    }
  });

  describe("a failed transaction", () => {
    /** Fails every commit with a new access token. */
    const failing = async (work: () => Promise<Answer>) => {
      const { status, body } = await failingCommits(w, "api_keys", work);
      expect({ status, error: body.error }).to.deep.equal({ status: 500, error: "server_error" });
      expect(JSON.stringify(body)).to.not.include("no disk");
    };

    it("leaves a code, a refresh token and a device code usable", async () => {
      const { code } = await makeCode(w, client, ada);
      await failing(() => redeem(w, client, code));
      const { body, status } = await redeem(w, client, code);
      expect(status).to.equal(200);
      await failing(() => refresh(w, client, body.refresh_token));
      expect(await refresh(w, client, body.refresh_token)).to.include({ status: 200 });
      const device = await start();
      await approveDevice(w, client, ada, device);
      await failing(() => poll(device));
      expect(await poll(device)).to.include({ status: 200 });
    });
  });
});

describe("a refresh whose commit takes longer than the grace period", () => {
  // A statement waits for a lock for a sixth of the time of a request.
  const grace = { STEWARD_OAUTH2_REFRESH_GRACE: "8s", STEWARD_REQUEST_TIMEOUT: "5m" };
  const the = world(grace);
  let other: App;
  let client: OAuthClient;
  let token: string;

  const pool = () => the().app.services.database.pool;

  before(async () => {
    other = await startServer(the().database.url, grace);
    client = await makeClient(the());
    await pool().query(`
      create function hold() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(5);
        return null;
      end $$;
      create constraint trigger hold after insert on oauth2_refresh_tokens deferrable initially deferred
        for each row execute function hold()`);
  });
  after(() => other.close());
  beforeEach(async () => {
    const { code } = await makeCode(the(), client, await the().user("ada"));
    token = (await redeem(the(), client, code)).body.refresh_token;
  });

  const refreshOn = ({ url }: { url: string }) =>
    new Client(url).post("/oauth2/tokens", {
      ...credentials(client),
      grant_type: "refresh_token",
      refresh_token: token,
    });

  /** Refreshes. When the commit has taken longer than the grace period, sends `meanwhile`, which waits for the end. */
  async function stalled(meanwhile?: () => Promise<Answer>): Promise<Answer | undefined> {
    const holder = await pool().connect();
    await holder.query("select pg_advisory_lock(5)");
    const refreshed = refreshOn(the());
    let sent: Promise<Answer> | undefined;
    try {
      await eventually(async () => (await countWaiting(holder)) === 1, "the commit waits");
      const overdue = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and xact_start < clock_timestamp() - interval '8.1 s'`;
      await eventually(async () => (await holder.query(overdue)).rowCount === 1, "the commit takes long");
      sent = meanwhile?.();
      if (sent) await eventually(async () => (await countWaiting(holder)) === 2, "both wait");
    } finally {
      await holder.query("select pg_advisory_unlock(5)");
      holder.release();
    }
    expect(await refreshed).to.include({ status: 200 });
    return sent;
  }

  it("has the whole period after its end, and no more", async () => {
    await stalled();
    expect(await refreshOn(the())).to.include({ status: 200 });
    expect(await refreshOn(other)).to.include({ status: 200 });
    await spendEarlier(the(), token, "8 s");
    expect((await refreshOn(the())).body.error).to.equal("invalid_grant");
  });

  it("is no reuse for a request that waits for it on another replica", async () => {
    expect(await stalled(() => refreshOn(other))).to.include({ status: 200 });
    expect(await refreshOn(the())).to.include({ status: 200 });
  });
});

describe("races for tokens of service accounts", () => {
  const the = world({ STEWARD_DATABASE_POOL: "24", STEWARD_REQUEST_TIMEOUT: "5m" });
  const raced = Number(process.env.RACE_SUSPENSIONS ?? repeats(20, 200));
  let owner: Client;
  let machines = 0;
  before(() => {
    owner = the().as(the().owner);
  });

  const change = (mutation: string, user: string) =>
    owner.graphql(`mutation { ${mutation}(input: { user: "${user}" }) { __typename } }`);
  const ask = (client: OAuthClient) =>
    sendForm(the(), "tokens", { grant_type: "client_credentials", ...credentials(client) });

  /** An application with a service account of its own. */
  async function machine(): Promise<{ client: OAuthClient; account: string }> {
    const w = the();
    const username = `machine-${++machines}`;
    const { createUser } = await owner.graphql(
      `mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`,
      { input: { username, email: `${username}@example.com`, isServiceAccount: true } },
    );
    const account = createUser.user.id;
    return { client: await makeClient(w, { service_user_id: account }), account };
  }

  const deletions = {
    application: ({ id }: OAuthClient) => owner.delete(`/api/v2/oauth2-provider/apps/${id}`),
    secret: ({ id, secretId }: OAuthClient) => owner.delete(`/api/v2/oauth2-provider/apps/${id}/secrets/${secretId}`),
  };
  for (const [name, end] of Object.entries(deletions))
    it(`leave no token that lives after ${raced} deletions of the ${name} at the same moment`, async function () {
      this.timeout(300_000);
      let issued = 0;
      const round = async () => {
        const { client } = await machine();
        const [first, second, ended, third] = await Promise.all([ask(client), ask(client), end(client), ask(client)]);
        expect(ended.status).to.equal(204);
        for (const { status, body } of [first, second, third]) {
          if (status !== 200)
            expect({ status, error: body.error }).to.deep.equal({ status: 401, error: "invalid_client" });
          else issued++;
          if (status === 200) expect(await statusOf(the(), body.access_token)).to.equal(401);
        }
      };
      for (let done = 0; done < raced; done += 10) await Promise.all(Array.from({ length: 10 }, round));
      expect(issued, "some were issued in time").to.be.above(0);
    });

  it("leave no token whose insertion waits for the deletion of its secret", async () => {
    const { client } = await machine();
    await lockRows(the(), "oauth2_client_secrets", { id: client.secretId }, async ({ awaited, remove, commit }) => {
      await remove("oauth2_client_secrets", { id: client.secretId });
      const asked = ask(client);
      await awaited();
      await commit();
      const { status, body } = await asked;
      expect({ status, error: body.error }).to.deep.equal({ status: 401, error: "invalid_client" });
    });
  });

  for (const [ending, after] of [
    ["suspendUser", "activateUser"],
    ["deleteUser", undefined],
  ] as const)
    it(`leave no token that lives after ${raced} times of ${ending} at the same moment`, async function () {
      this.timeout(300_000);
      let issued = 0;
      const round = async () => {
        const { client, account } = await machine();
        const times = after ? raced / 20 : 1;
        for (let time = 0; time < times; time++) {
          const answers = await Promise.all([ask(client), ask(client), change(ending, account), ask(client)]);
          if (after) await change(after, account);
          for (const { status, body } of [answers[0], answers[1], answers[3]]) {
            expect(status).to.be.oneOf([200, 400, 401]);
            if (status !== 200) continue;
            issued++;
            expect(await statusOf(the(), body.access_token)).to.equal(401);
          }
        }
        if (after) expect(await statusOf(the(), (await ask(client)).body.access_token)).to.equal(200);
      };
      if (after) await Promise.all(Array.from({ length: 20 }, round));
      else for (let done = 0; done < raced; done += 10) await Promise.all(Array.from({ length: 10 }, round));
      expect(issued, "some were issued in time").to.be.above(0);
    });

  it("leave a token dead that is committed after the suspension and the activation, which do not wait for it", async () => {
    const { client, account } = await machine();
    const { pool } = the().app.services.database;
    await pool.query(`
      create function hold_key() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(7);
        return null;
      end $$;
      create constraint trigger hold_key after insert on api_keys deferrable initially deferred
        for each row when (new.kind = 'oauth') execute function hold_key()`);
    const holder = await pool.connect();
    await holder.query("select pg_advisory_lock(7)");
    const asked = ask(client);
    try {
      await eventually(async () => (await countWaiting(holder)) === 1, "the commit waits");
      await change("suspendUser", account);
      await change("activateUser", account);
    } finally {
      await holder.query("select pg_advisory_unlock(7)");
      holder.release();
    }
    const { status, body } = await asked;
    expect(status).to.equal(200);
    expect(await statusOf(the(), body.access_token)).to.equal(401);
    const { body: seen } = await sendForm(the(), "introspect", { ...credentials(client), token: body.access_token });
    expect(seen).to.deep.equal({ active: false });
    expect(await statusOf(the(), (await ask(client)).body.access_token)).to.equal(200);
    await pool.query("drop trigger hold_key on api_keys");
  });

  it("give keys that a server of the previous release stores the epoch of their user, and none while it is suspended", async () => {
    const { pool } = the().app.services.database;
    const eve = await the().user("eve");
    /** As that release does: without an epoch. */
    const key = async () => {
      const { id } = await insertKey(the(), eve, "application");
      return (await pool.query("select epoch from api_keys where id = $1", [id])).rows[0].epoch as number;
    };
    expect(await key()).to.equal(0);
    await pool.query("update users set status = 'suspended' where id = $1", [eve.id]);
    expect(await key()).to.equal(-1);
    await pool.query("update users set status = 'active' where id = $1", [eve.id]);
    expect(await key()).to.equal(1);
    expect(await statusOf(the(), eve.token), "of the first epoch").to.equal(401);
  });
});

// Races for codes, refresh tokens and device codes, and what failed transactions leave of them.
import { expect } from "chai";
import { type App, startServer } from "./support/app.js";
import { countWaiting } from "./support/locks.js";
import {
  approveDevice,
  credentials,
  deviceGrant,
  idOf,
  makeClient,
  makeCode,
  type OAuthClient,
  redeem,
  refresh,
  sendForm,
} from "./support/oauth2.js";
import { eventually } from "./support/watchers.js";
import { type Answer, Client, type Person, type World, world } from "./support/world.js";

/** As many requests as are sent in parallel, and how often; the environment may set more. */
const parallel = Number(process.env.RACE_REQUESTS ?? 40);
const rounds = Number(process.env.RACE_ROUNDS ?? 4);

/** Sends the same request many times in parallel. Returns the responses with tokens, after a check of all others. */
async function race(send: () => Promise<Answer>): Promise<Answer[]> {
  const all = await Promise.all(Array.from({ length: parallel }, send));
  const lost = all.filter(({ status }) => status !== 200);
  for (const { status, body } of lost)
    expect({ status, error: body.error }).to.deep.equal({ status: 400, error: "invalid_grant" });
  return all.filter(({ status }) => status === 200);
}

describe("races for OAuth2 tokens", () => {
  const the = world();
  let w: World;
  let ada: Person;
  let client: OAuthClient;
  before(async () => {
    w = the();
    ada = await w.user("ada");
    client = await makeClient(w);
  });

  const sql = async (text: string, ...values: unknown[]) =>
    (await w.app.services.database.pool.query(text, values)).rows as Array<Record<string, unknown>>;
  const me = async (token: string) => (await w.as({ token }).post("/graphql", { query: "{ me { id } }" })).status;
  const start = async () => (await sendForm(w, "device_authorization", credentials(client))).body.device_code as string;
  const poll = (code: string) =>
    sendForm(w, "tokens", { grant_type: deviceGrant, ...credentials(client), device_code: code });

  it("give a code to one request, and revoke its tokens for the others", async () => {
    for (let round = 0; round < rounds; round++) {
      const { code, grantId } = await makeCode(w, client, ada);
      const won = await race(() => redeem(w, client, code));
      expect(won).to.have.length(1);
      expect(await me(won[0]!.body.access_token)).to.equal(401);
      expect((await sql("select revoke_reason from oauth2_grants where id = $1", grantId))[0]).to.deep.equal({
        revoke_reason: "code_replay",
      });
      expect(await sql("select from api_keys where grant_id = $1", grantId)).to.have.length(0);
    }
  });

  it("give a refresh token to four requests, and revoke the grant for the others", async () => {
    for (let round = 0; round < rounds; round++) {
      const { code, grantId } = await makeCode(w, client, ada);
      const { refresh_token: token } = (await redeem(w, client, code)).body;
      expect(await race(() => refresh(w, client, token))).to.have.length(4);
      expect((await sql("select revoke_reason from oauth2_grants where id = $1", grantId))[0]).to.deep.equal({
        revoke_reason: "refresh_reuse",
      });
      expect(await sql("select from api_keys where grant_id = $1", grantId)).to.have.length(0);
      expect(await sql("select repeats from oauth2_refresh_tokens where id = $1", idOf(token))).to.deep.equal([
        { repeats: 3 },
      ]);
    }
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
      const { code, grantId } = await makeCode(w, client, ada);
      const { refresh_token: token, access_token: access } = (await redeem(w, client, code)).body;
      const [refreshed, revoked] = await Promise.all([
        refresh(w, client, token),
        sendForm(w, "revoke", { client_id: client.id, token: access }),
      ]);
      expect([200, 400]).to.include(refreshed.status);
      expect(revoked.status).to.equal(200);
      expect(await sql("select from api_keys where grant_id = $1", grantId)).to.have.length(0);
    }
  });

  describe("a failed transaction", () => {
    /** Fails every commit with a new access token. */
    const failing = async (work: () => Promise<Answer>) => {
      await sql(`create function fail() returns trigger language plpgsql as $$ begin raise 'no disk'; end $$`);
      await sql(
        `create constraint trigger failing after insert on api_keys deferrable initially deferred for each row execute function fail()`,
      );
      try {
        const { status, body } = await work();
        expect({ status, error: body.error }).to.deep.equal({ status: 500, error: "server_error" });
        expect(JSON.stringify(body)).to.not.include("no disk");
      } finally {
        await sql("drop trigger failing on api_keys");
        await sql("drop function fail");
      }
    };

    it("leaves a code, a refresh token and a device code usable", async () => {
      const { code } = await makeCode(w, client, ada);
      await failing(() => redeem(w, client, code));
      const { body, status } = await redeem(w, client, code);
      expect(status).to.equal(200);
      await failing(() => refresh(w, client, body.refresh_token));
      expect(
        await sql("select spent_at from oauth2_refresh_tokens where id = $1", idOf(body.refresh_token)),
      ).to.deep.equal([{ spent_at: null }]);
      expect(await refresh(w, client, body.refresh_token)).to.include({ status: 200 });
      const device = await start();
      await approveDevice(w, client, ada, device);
      await failing(() => poll(device));
      expect(await poll(device)).to.include({ status: 200 });
    });
  });
});

describe("a refresh whose commit takes longer than the grace period", () => {
  const grace = { STEWARD_OAUTH2_REFRESH_GRACE: "2s" };
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
        where datname = current_database() and wait_event_type = 'Lock' and xact_start < clock_timestamp() - interval '2.1 s'`;
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
    await pool().query("update oauth2_refresh_tokens set spent_at = spent_at - interval '2 s' where id = $1", [
      idOf(token),
    ]);
    expect((await refreshOn(the())).body.error).to.equal("invalid_grant");
  });

  it("is no reuse for a request that waits for it on another replica", async () => {
    expect(await stalled(() => refreshOn(other))).to.include({ status: 200 });
    expect(await refreshOn(the())).to.include({ status: 200 });
  });
});

// Device authorization (RFC 8628), revocation (RFC 7009), introspection (RFC 7662), limits, and background jobs.
// Reaches for tables: polls are minutes apart, and codes and tokens that background jobs delete cannot be seen before either.
import { expect } from "chai";
import { inMs } from "./support/clock.js";
import { runJob } from "./support/background.js";
import { startServer } from "./support/app.js";
import {
  approveDevice,
  basic,
  changeApp,
  credentials,
  idOf,
  makeClient,
  makeCode,
  type OAuthClient,
  pollDevice,
  redeem,
  refresh,
  sendForm,
  startDevice,
  statusOf,
  unknownSecret,
} from "./support/oauth2.js";
import { countRows, setColumns, setTimes } from "./support/tables.js";
import { type Answer, type Person, type World, world } from "./support/world.js";

const failed = ({ status, body }: Answer, error: string, expected = 400) =>
  expect({ status, error: body.error }, JSON.stringify(body)).to.deep.equal({ status: expected, error });

describe("OAuth2 tokens and devices", () => {
  const the = world();
  let w: World;
  let ada: Person;
  let client: OAuthClient;
  before(async () => {
    w = the();
    ada = await w.user("ada");
    client = await makeClient(w);
  });

  const me = (token: string) => statusOf(w, token);
  const tokens = async (changes = {}) => (await redeem(w, client, (await makeCode(w, client, ada, changes)).code)).body;

  describe("a device", () => {
    const start = (more: Record<string, string> = {}) => startDevice(w, client, more);
    const poll = (code: string, by = client) => pollDevice(w, by, code);
    /** Polls again when so much time has passed since the last poll. */
    const pollAfter = async (time: string, code: string) => {
      await setTimes(w, "oauth2_device_codes", { id: idOf(code) }, { polled_at: `-${time}` });
      return poll(code);
    };

    /** Polls again too early, however long the poll takes: the last one is still to come. */
    const pollEarly = async (code: string) => {
      await setTimes(w, "oauth2_device_codes", { id: idOf(code) }, { polled_at: "1 min" });
      return poll(code);
    };

    it("gets codes for itself and its user", async () => {
      const started = await start({ scope: "user:read", resource: w.app.services.config.accessUrl });
      expect(started).to.have.all.keys(
        "device_code",
        "user_code",
        "verification_uri",
        "verification_uri_complete",
        "expires_in",
        "interval",
      );
      expect(started).to.include({ expires_in: 900, interval: 5 });
      expect(started.verification_uri_complete).to.equal(`${started.verification_uri}?user_code=${started.user_code}`);
      const query = `query($userCode: String!) {
        oauth2DeviceRequest(userCode: $userCode) { userCode app { clientId } scopes { name } } }`;
      const { oauth2DeviceRequest } = await w.as(ada).graphql(query, { userCode: started.user_code });
      expect(oauth2DeviceRequest).to.deep.equal({
        userCode: started.user_code,
        app: { clientId: client.id },
        scopes: [{ name: "user:read" }],
      });
    });

    it("waits for its user, and waits longer after polls that are early", async () => {
      const { device_code: code } = await start();
      const waits = async (seconds: number) =>
        expect(await countRows(w, "oauth2_device_codes", { id: idOf(code), poll_interval: seconds })).to.equal(1);
      failed(await poll(code), "authorization_pending");
      for (const longer of [10, 15, 20]) {
        failed(await pollEarly(code), "slow_down");
        await waits(longer);
      }
      failed(await pollAfter("21 s", code), "authorization_pending");
      await waits(20);
      // The interval decides what is early: a long one, in which a slow machine does not let it pass.
      await setColumns(w, "oauth2_device_codes", { id: idOf(code) }, { poll_interval: 600 });
      failed(await poll(code), "slow_down");
      failed(await pollAfter("500 s", code), "slow_down");
      failed(await pollAfter("611 s", code), "authorization_pending");
      failed(await poll(code), "slow_down");
    });

    it("waits for at most an hour", async () => {
      const { device_code: code } = await start();
      await setColumns(w, "oauth2_device_codes", { id: idOf(code) }, { poll_interval: 3599 });
      failed(await poll(code), "authorization_pending");
      for (let n = 0; n < 2; n++) failed(await poll(code), "slow_down");
      expect(await countRows(w, "oauth2_device_codes", { id: idOf(code), poll_interval: 3600 })).to.equal(1);
      failed(await pollAfter("3540 s", code), "slow_down");
      failed(await pollAfter("3601 s", code), "authorization_pending");
    });

    it("gets its tokens once", async () => {
      const { device_code: code } = await start();
      await approveDevice(w, client, ada, code);
      const { status, body } = await poll(code);
      expect(status).to.equal(200);
      expect(await me(body.access_token)).to.equal(200);
      expect(await refresh(w, client, body.refresh_token)).to.include({ status: 200 });
      failed(await poll(code), "invalid_grant");
      expect(await me(body.access_token)).to.equal(200);
    });

    it("gets no tokens for denied, expired, unknown and foreign codes", async () => {
      const denied = await start();
      const expired = await start();
      const foreign = await start();
      const deny = `mutation($userCode: String!) { denyOAuth2Device(input: { userCode: $userCode }) { __typename } }`;
      await w.as(ada).graphql(deny, { userCode: denied.user_code });
      failed(await poll(denied.device_code), "access_denied");
      await setTimes(w, "oauth2_device_codes", { id: idOf(expired.device_code) }, { expires_at: "0 s" });
      failed(await poll(expired.device_code), "expired_token");
      failed(await poll(unknownSecret("deviceCode")), "invalid_grant");
      const other = await makeClient(w);
      await approveDevice(w, client, ada, foreign.device_code);
      failed(await poll(foreign.device_code, other), "invalid_grant");
      expect(await poll(foreign.device_code)).to.include({ status: 200 });
    });

    it("needs an application that may use devices, and permitted scopes and resources", async () => {
      const plain = await makeClient(w, { grant_types: ["authorization_code"], scope_ceiling: ["user:read"] });
      failed(await sendForm(w, "device_authorization", credentials(plain)), "unauthorized_client");
      failed(await sendForm(w, "device_authorization", { client_id: client.id }), "invalid_client", 401);
      failed(await sendForm(w, "device_authorization", {}), "invalid_request");
      failed(
        await sendForm(w, "device_authorization", { ...credentials(client), resource: "https://x.example" }),
        "invalid_target",
      );
      failed(
        await sendForm(w, "device_authorization", { ...credentials(client), resource: Array(17).fill(w.url) }),
        "invalid_target",
      );
      const ceiled = await makeClient(w, { scope_ceiling: ["user:read"] });
      failed(await sendForm(w, "device_authorization", { ...credentials(ceiled), scope: "all" }), "invalid_scope");
    });

    it("is served over GraphQL", async () => {
      const query = `mutation($input: StartOAuth2DeviceInput!) { startOAuth2Device(input: $input) { userCode interval } }`;
      const input = { clientId: client.id, clientSecret: client.secret };
      expect((await w.nobody.graphql(query, { input })).startOAuth2Device).to.include({ interval: 5 });
    });
  });

  describe("revocation", () => {
    const revoke = (token: string, more: Record<string, string | undefined> = { client_id: client.id }) =>
      sendForm(w, "revoke", { token, ...more });

    it("ends the grant with either token, whatever the hint says", async () => {
      for (const kind of ["access_token", "refresh_token"]) {
        const held = await tokens();
        const { status, body, headers } = await revoke(held[kind], {
          client_id: client.id,
          token_type_hint: "nonsense",
        });
        expect({ status, body }).to.deep.equal({ status: 200, body: "" });
        expect(headers.get("pragma")).to.equal("no-cache");
        expect(await me(held.access_token)).to.equal(401);
        failed(await refresh(w, client, held.refresh_token), "invalid_grant");
      }
    });

    it("ignores all other tokens", async () => {
      const other = await makeClient(w);
      const held = await tokens();
      for (const token of [unknownSecret("refreshToken"), "x", w.owner.token, ada.token, "stw_oa_aaaaaaaaaa-x"])
        expect(await revoke(token)).to.include({ status: 200 });
      expect(await revoke(held.access_token, { client_id: other.id })).to.include({ status: 200 });
      for (const token of [held.access_token, ada.token, w.owner.token]) expect(await me(token)).to.equal(200);
    });

    it("rejects credentials that are wrong, and unknown applications", async () => {
      const held = await tokens();
      failed(await revoke(held.access_token, { client_id: client.id, client_secret: "x" }), "invalid_client", 401);
      failed(await revoke(held.access_token, { client_id: "x" }), "invalid_client", 401);
      failed(await sendForm(w, "revoke", { client_id: client.id }), "invalid_request");
      expect(await me(held.access_token)).to.equal(200);
      expect(await revoke(held.access_token, credentials(client))).to.include({ status: 200 });
      expect(await me(held.access_token)).to.equal(401);
    });

    it("is served over GraphQL", async () => {
      const held = await tokens();
      const query = `mutation($input: RevokeOAuth2TokenInput!) { revokeOAuth2Token(input: $input) { revoked } }`;
      const input = { clientId: client.id, token: held.refresh_token };
      expect(await w.nobody.graphql(query, { input })).to.deep.equal({ revokeOAuth2Token: { revoked: true } });
      expect(await me(held.access_token)).to.equal(401);
    });
  });

  describe("introspection", () => {
    const introspect = async (token: string, by: OAuthClient = client) =>
      (await sendForm(w, "introspect", { token }, basic(by.id, by.secret!))).body;

    it("describes tokens to their application", async () => {
      const held = await tokens();
      const { accessUrl } = w.app.services.config;
      const { iat, exp, ...rest } = await introspect(held.access_token);
      expect(exp - iat).to.equal(3600);
      const common = {
        active: true,
        scope: "user:read workspace:read",
        client_id: client.id,
        username: ada.username,
        sub: ada.id,
        aud: [accessUrl],
        iss: accessUrl,
      };
      expect(rest).to.deep.equal({ ...common, token_type: "Bearer" });
      const { iat: _, exp: end, ...other } = await introspect(held.refresh_token);
      expect(end).to.be.greaterThan(exp);
      expect(other).to.deep.equal(common);
    });

    it("describes access tokens to the resource server that they are for, and to no other application", async () => {
      const server = await makeClient(w);
      const stranger = await makeClient(w);
      await changeApp(w, server, { resourceIndicators: ["https://mcp.example/api"] });
      const held = await tokens({ audiences: ["https://mcp.example/api"] });
      expect(await introspect(held.access_token, server)).to.deep.include({
        active: true,
        aud: ["https://mcp.example/api"],
      });
      expect(await introspect(held.refresh_token, server)).to.deep.equal({ active: false });
      expect(await introspect(held.access_token, stranger)).to.deep.equal({ active: false });
    });

    it("reports tokens that cannot be used as not active", async () => {
      const held = await tokens();
      const next = await refresh(w, client, held.refresh_token);
      expect(await introspect(held.refresh_token)).to.deep.equal({ active: false });
      for (const token of ["x", unknownSecret("refreshToken"), ada.token, `${held.access_token}x`])
        expect(await introspect(token), token).to.deep.equal({ active: false });
      await changeApp(w, client, { disabled: true });
      failed(await sendForm(w, "introspect", { token: "x", ...credentials(client) }), "invalid_client", 401);
      await changeApp(w, client, { disabled: false });
      await sendForm(w, "revoke", { client_id: client.id, token: next.body.refresh_token });
      expect(await introspect(held.access_token)).to.deep.equal({ active: false });
    });

    it("reports tokens of a disabled application as not active to resource servers", async () => {
      const server = await makeClient(w);
      const off = await makeClient(w);
      await changeApp(w, server, { resourceIndicators: ["https://mcp.example/off"] });
      const { code } = await makeCode(w, off, ada, { audiences: ["https://mcp.example/off"] });
      const held = (await redeem(w, off, code)).body;
      expect(await introspect(held.access_token, server)).to.include({ active: true });
      await changeApp(w, off, { disabled: true });
      expect(await introspect(held.access_token, server)).to.deep.equal({ active: false });
    });

    it("responds to each of several concurrent applications as it sees the tokens", async () => {
      const one = await tokens();
      const another = await tokens();
      const stranger = await makeClient(w);
      await introspect(one.access_token);
      await introspect(one.access_token, stranger);
      const ask = () =>
        Promise.all([
          ...[one, another].flatMap((held) => [introspect(held.access_token), introspect(held.refresh_token)]),
          introspect(one.access_token, stranger),
        ]);
      expect((await ask()).map(({ active }) => active)).to.deep.equal([true, true, true, true, false]);
    });

    it("notices immediately, on every replica, that a token has ended", async () => {
      const replica = await startServer(w.database.url);
      try {
        const held = await tokens();
        const ask = async (url: string) => {
          const body = new URLSearchParams({ token: held.access_token });
          const headers = basic(client.id, client.secret!);
          const response = await fetch(`${url}/oauth2/introspect`, { method: "POST", body, headers });
          return ((await response.json()) as { active: boolean }).active;
        };
        const both = [w.url, replica.url];
        expect(await Promise.all(both.map(ask))).to.deep.equal([true, true]);
        await sendForm(w, "revoke", { client_id: client.id, token: held.refresh_token });
        expect(await Promise.all(both.map(ask))).to.deep.equal([false, false]);
      } finally {
        await replica.close();
      }
    });

    it("is for confidential applications that authenticate", async () => {
      const open = await makeClient(w, { type: "public", auth_method: "none" });
      failed(await sendForm(w, "introspect", { client_id: open.id, token: "x" }), "invalid_client", 401);
      failed(await sendForm(w, "introspect", { client_id: client.id, token: "x" }), "invalid_client", 401);
      failed(await sendForm(w, "introspect", credentials(client)), "invalid_request");
      for (const fields of [{}, { token: "x" }, { token: "x", client_id: "" }, { client_secret: client.secret! }]) {
        const answer = await sendForm(w, "introspect", fields);
        failed(answer, "invalid_client", 401);
        expect(answer.headers.get("www-authenticate")).to.equal('Basic realm="steward"');
      }
      const query = `query($input: OAuth2IntrospectionInput!) { oauth2Introspection(input: $input) { active } }`;
      const failure = await w.nobody.failure(query, { input: { clientId: open.id, token: "x" } });
      expect(failure.errors[0]!.extensions.oauthError).to.equal("invalid_client");
    });

    it("is served over GraphQL", async () => {
      const held = await tokens();
      const query = `query($input: OAuth2IntrospectionInput!) { oauth2Introspection(input: $input) { active aud sub } }`;
      const input = { clientId: client.id, clientSecret: client.secret, token: held.access_token };
      const { oauth2Introspection } = await w.nobody.graphql(query, { input });
      expect(oauth2Introspection).to.deep.equal({ active: true, aud: [w.app.services.config.accessUrl], sub: ada.id });
      const unknown = await w.nobody.graphql(query, { input: { ...input, token: "x" } });
      expect(unknown.oauth2Introspection).to.deep.equal({ active: false, aud: null, sub: null });
    });
  });

  it("are deleted by background jobs when nothing can be detected with them any more", async () => {
    const held = await tokens();
    const { refresh_token: live } = (await refresh(w, client, held.refresh_token)).body;
    const ended = await tokens();
    await sendForm(w, "revoke", { client_id: client.id, token: ended.refresh_token });
    const used = await makeCode(w, client, ada);
    await redeem(w, client, used.code);
    const old = await makeCode(w, client, ada, { expires: inMs(-25 * 3_600_000) });
    const ancient = await makeCode(w, client, ada, { expires: inMs(-8 * 86_400_000) });
    const device = (await startDevice(w, client)).device_code;
    await setTimes(w, "oauth2_device_codes", { id: idOf(device) }, { expires_at: "-2 h" });
    for (const job of ["codePurge", "deviceCodePurge", "refreshTokenPurge", "grantPurge"] as const)
      await runJob(w.app, job);
    const exists = async (table: string, id: string) => (await countRows(w, table, { id })) === 1;
    expect(await exists("oauth2_codes", idOf(used.code))).to.equal(true);
    for (const { code } of [old, ancient]) expect(await exists("oauth2_codes", idOf(code))).to.equal(false);
    expect(await exists("oauth2_grants", old.grantId)).to.equal(true);
    expect(await exists("oauth2_grants", ancient.grantId)).to.equal(false);
    expect(await exists("oauth2_device_codes", idOf(device))).to.equal(false);
    for (const token of [held.refresh_token, live])
      expect(await exists("oauth2_refresh_tokens", idOf(token))).to.equal(true);
    expect(await exists("oauth2_refresh_tokens", idOf(ended.refresh_token))).to.equal(false);
  });
});

describe("the limits of OAuth2 endpoints", () => {
  const the = world({ STEWARD_RATE_LIMIT_CREDENTIAL: "3", STEWARD_RATE_LIMIT_API: "5" });

  it("count token requests by address and application, and introspection by application", async () => {
    const w = the();
    const one = await makeClient(w);
    const other = await makeClient(w);
    const send = (client: OAuthClient) =>
      sendForm(w, "tokens", { grant_type: "refresh_token", refresh_token: "x", ...credentials(client) });
    for (let n = 0; n < 3; n++) failed(await send(one), "invalid_grant");
    const limited = await send(one);
    failed(limited, "temporarily_unavailable", 429);
    expect(Number(limited.headers.get("retry-after"))).to.be.at.least(1);
    failed(await send(other), "invalid_grant");
    const introspect = (client: OAuthClient) => sendForm(w, "introspect", { token: "x", ...credentials(client) });
    for (let n = 0; n < 5; n++) expect(await introspect(one)).to.include({ status: 200 });
    failed(await introspect(one), "temporarily_unavailable", 429);
    expect(await introspect(other)).to.include({ status: 200 });
  });
});

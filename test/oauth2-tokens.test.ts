// The token endpoint (RFC 6749 §3.2): codes, refresh tokens, and service accounts, on both surfaces.
// Reaches for tables: times of use are stored every five minutes, which pass.
import { expect } from "chai";
import { inMs } from "./support/clock.js";
import { suspend } from "./support/accounts.js";
import { audited, changesOf } from "./support/audit.js";
import {
  basic,
  challengeOf,
  changeApp,
  credentials,
  grantsOf,
  makeClient,
  makeCode,
  makeSecret,
  type OAuthClient,
  redeem,
  redirectUri,
  refresh,
  sendForm,
  spendEarlier,
  statusOf,
  unknownSecret,
  verifier,
} from "./support/oauth2.js";
import { randomText } from "./support/ids.js";
import { insert } from "./support/stage.js";
import { countRows, setTimes } from "./support/tables.js";
import { newToken, parseToken } from "./support/token-rows.js";
import { eventually } from "./support/watchers.js";
import { type Answer, type Client, type Person, type World, world } from "./support/world.js";

const issue = `mutation($input: IssueOAuth2TokenInput!) {
  issueOAuth2Token(input: $input) { accessToken tokenType expiresIn expiry refreshToken scope } }`;

const failed = (answer: Answer, error: string, status = 400): void => {
  expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
  expect(answer.body).to.include({ error });
  expect(answer.headers.get("cache-control")).to.equal("no-store");
  expect(answer.headers.get("pragma")).to.equal("no-cache");
};

describe("the token endpoint", () => {
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
  /** When an application and its secret were last used. */
  const lastUses = async ({ id }: OAuthClient): Promise<{ app: string | null; secret: string | null }> => {
    const query = `query($id: UUID!) { oauth2App(id: $id) { lastUsedAt secrets { lastUsedAt } } }`;
    const { oauth2App } = await w.as(w.owner).graphql(query, { id });
    return { app: oauth2App.lastUsedAt, secret: oauth2App.secrets[0]!.lastUsedAt };
  };

  describe("for codes", () => {
    it("issues tokens once, by form, JSON and percent-encoded Basic alike", async () => {
      const { body, status, headers } = await redeem(w, client, (await makeCode(w, client, ada)).code);
      expect(status).to.equal(200);
      expect(headers.get("content-type")).to.match(/^application\/json/);
      expect(body).to.have.all.keys("access_token", "token_type", "expires_in", "expiry", "refresh_token", "scope");
      expect(body).to.include({ token_type: "Bearer", expires_in: 3600, scope: "user:read workspace:read" });
      expect(Date.parse(body.expiry)).to.be.greaterThan(Date.now());
      expect(await me(body.access_token)).to.equal(200);

      const json = { grant_type: "authorization_code", ...credentials(client), redirect_uri: redirectUri };
      const second = await w.nobody.post("/oauth2/tokens", { ...json, code: (await makeCode(w, client, ada)).code });
      expect(second, JSON.stringify(second.body)).to.include({ status: 200 });
      const { code } = await makeCode(w, client, ada);
      const Authorization = `Basic ${Buffer.from(`${client.id.replaceAll("-", "%2D")}:${client.secret!}`).toString("base64")}`;
      const third = await sendForm(w, "tokens", { grant_type: "authorization_code", code }, { Authorization });
      expect(third, JSON.stringify(third.body)).to.include({ status: 200 });
    });

    it("issues tokens over GraphQL, and reports failures with the code of the protocol", async () => {
      const { code } = await makeCode(w, client, ada);
      const input = { grantType: "authorization_code", clientId: client.id, clientSecret: client.secret, code };
      const { issueOAuth2Token: tokens } = await w.nobody.graphql(issue, { input });
      expect(tokens).to.include({ tokenType: "Bearer", expiresIn: 3600, scope: "user:read workspace:read" });
      expect(await me(tokens.accessToken)).to.equal(200);
      const again = await w.nobody.failure(issue, { input });
      expect(again.errors[0]!.extensions).to.include({ code: "BAD_USER_INPUT", oauthError: "invalid_grant" });
      expect(await me(tokens.accessToken)).to.equal(401);
      const empty = await w.nobody.failure(issue, { input: { ...input, code: null } });
      expect(empty.errors[0]!.extensions).to.deep.include({
        oauthError: "invalid_request",
        validations: [{ field: "input.code", detail: "Is required." }],
      });
    });

    it("revokes the grant of a code that is presented again, and records the application as the actor", async () => {
      const { code, grantId } = await makeCode(w, client, ada);
      const { body } = await redeem(w, client, code);
      failed(await redeem(w, client, code, { code_verifier: "x" }), "invalid_grant");
      const grant = (await grantsOf(w, client)).find(({ id }) => id === grantId);
      expect(grant).to.include({ revokeReason: "CODE_REPLAY" });
      expect(await me(body.access_token)).to.equal(401);
      failed(await refresh(w, client, body.refresh_token), "invalid_grant");
      const [event] = await audited(w, { resourceId: grantId });
      expect(event).to.include({ action: "REVOKE", actorKind: "oauth_client", actorId: client.id });
      expect(event!.diff).to.deep.equal({ app: { old: client.id }, reason: { new: "code_replay" } });
    });

    it("never changes a code for another application or after a failed authentication", async () => {
      const other = await makeClient(w);
      const { code } = await makeCode(w, client, ada, { codeChallenge: challengeOf(verifier) });
      failed(await redeem(w, other, code, { code_verifier: verifier }), "invalid_grant");
      failed(await redeem(w, other, code, { redirect_uri: "https://evil.example" }), "invalid_grant");
      failed(await redeem(w, { ...client, secret: other.secret }, code), "invalid_client", 401);
      const { body, status } = await redeem(w, client, code, { code_verifier: verifier });
      expect(status).to.equal(200);
      failed(await redeem(w, other, code), "invalid_grant");
      expect(await me(body.access_token)).to.equal(200);
    });

    for (const [name, changes, wrong, right, error] of [
      ["another redirect URI", {}, { redirect_uri: `${redirectUri}/` }, {}, "invalid_grant"],
      [
        "a wrong verifier",
        { codeChallenge: challengeOf(verifier) },
        { code_verifier: `${verifier}x` },
        { code_verifier: verifier },
        "invalid_grant",
      ],
      [
        "a malformed verifier",
        { codeChallenge: challengeOf(verifier) },
        { code_verifier: "short" },
        { code_verifier: verifier },
        "invalid_grant",
      ],
      ["no verifier", { codeChallenge: challengeOf(verifier) }, {}, { code_verifier: verifier }, "invalid_grant"],
      [
        "the challenge as verifier",
        { codeChallenge: challengeOf(verifier) },
        { code_verifier: challengeOf(verifier) },
        { code_verifier: verifier },
        "invalid_grant",
      ],
      ["a verifier that no challenge was given for", {}, { code_verifier: verifier }, {}, "invalid_grant"],
      ["another resource", {}, { resource: "https://mcp.example" }, {}, "invalid_target"],
    ] as const) {
      it(`burns a code that its application sends with ${name}`, async () => {
        const { code } = await makeCode(w, client, ada, changes);
        failed(await redeem(w, client, code, wrong), error);
        failed(await redeem(w, client, code, right), "invalid_grant");
      });
    }

    it("rejects codes that expired, whose redirect URI was removed, or whose user is suspended", async () => {
      failed(await redeem(w, client, (await makeCode(w, client, ada, { expires: "now" })).code), "invalid_grant");
      const moved = await makeCode(w, client, ada, { redirectUri: "https://old.example" });
      failed(await redeem(w, client, moved.code), "invalid_grant");
      const bob = await w.user("bob");
      const { code } = await makeCode(w, client, bob);
      await suspend(w, bob);
      failed(await redeem(w, client, code), "invalid_grant");
      failed(await redeem(w, client, unknownSecret("code")), "invalid_grant");
      failed(await redeem(w, client, "nonsense\u0001"), "invalid_grant");
    });

    it("rejects scopes that are above a ceiling that became lower, and keeps the code", async () => {
      const ceiled = await makeClient(w, { scope_ceiling: ["user:read"] });
      const { code } = await makeCode(w, ceiled, ada, { scopes: ["user:read", "workspace:read"] });
      const answer = await redeem(w, ceiled, code);
      failed(answer, "invalid_scope");
      expect(answer.body.error_description).to.include("workspace:read");
      await changeApp(w, ceiled, { scopeCeiling: ["user:read", "workspace:read"] });
      expect(await redeem(w, ceiled, code)).to.include({ status: 200 });
    });

    it("issues tokens for a part of the granted resources", async () => {
      const { accessUrl } = w.app.services.config;
      const { body } = await redeem(w, client, (await makeCode(w, client, ada)).code, {
        resource: `${accessUrl}/api/v2/`,
      });
      expect(await me(body.access_token)).to.equal(401);
      expect(await w.as({ token: body.access_token }).get("/api/v2/users/me/quiet-hours")).to.include({ status: 403 });
      const whole = await refresh(w, client, body.refresh_token);
      expect(await me(whole.body.access_token)).to.equal(200);
      const bound = await makeCode(w, client, ada, { audiences: ["https://mcp.example"] });
      const foreign = await redeem(w, client, bound.code, { resource: "HTTPS://MCP.example:443/" });
      expect(foreign).to.include({ status: 200 });
      expect(await me(foreign.body.access_token)).to.equal(401);
      failed(await refresh(w, client, foreign.body.refresh_token, { resource: accessUrl }), "invalid_target");
    });

    it("issues tokens for resources that are among the granted ones or below them, and for no others", async () => {
      const { accessUrl } = w.app.services.config;
      const [api, graphql, mcp] = [`${accessUrl}/api/v2`, `${accessUrl}/graphql`, "https://mcp.example"];
      const answer = async (audiences: string[], resource: string[]) =>
        redeem(w, client, (await makeCode(w, client, ada, { audiences })).code, { resource });
      for (const [audiences, resource] of [
        [[], [accessUrl]],
        [[], [api, `${graphql}/`, api]],
        [[accessUrl], [graphql]],
        [[mcp, accessUrl], [graphql]],
        [
          [api, mcp],
          [mcp, `${mcp}/`],
        ],
        [[mcp], Array<string>(16).fill(mcp)],
      ] as Array<[string[], string[]]>)
        expect(await answer(audiences, resource), resource.join(" ")).to.include({ status: 200 });
      for (const [audiences, resource] of [
        [[], [mcp]],
        [[], [`${accessUrl}/api`]],
        [[], [`${api}/users`]],
        [[api], [accessUrl]],
        [[api], [graphql]],
        [[api], [api, graphql]],
        [[mcp], [accessUrl]],
        [[mcp], [`${mcp}/below`]],
        [[accessUrl.slice(0, -1)], [api]],
        [[mcp], ["unknown"]],
        [[mcp], Array<string>(17).fill(mcp)],
      ] as Array<[string[], string[]]>)
        failed(await answer(audiences, resource), "invalid_target");
      const { body } = await answer([mcp], [accessUrl]);
      expect(body.error_description).to.equal("A resource is not among those that were granted.");
    });

    it("issues tokens for all granted resources unless the request names some", async () => {
      const { code } = await makeCode(w, client, ada, { audiences: ["https://mcp.example"] });
      const { body } = await redeem(w, client, code);
      expect(await me(body.access_token)).to.equal(401);
      const input = {
        grantType: "refresh_token",
        clientId: client.id,
        clientSecret: client.secret,
        refreshToken: body.refresh_token,
        resource: [],
      };
      const { issueOAuth2Token: tokens } = await w.nobody.graphql(issue, { input });
      expect(await me(tokens.accessToken)).to.equal(401);
    });

    it("issues no refresh token to applications that may not refresh", async () => {
      const short = await makeClient(w, { grant_types: ["authorization_code"] });
      const { body } = await redeem(w, short, (await makeCode(w, short, ada)).code);
      expect(body).to.not.have.property("refresh_token");
    });
  });

  describe("for refresh tokens", () => {
    const tokens = async (by = client, user = ada) => (await redeem(w, by, (await makeCode(w, by, user)).code)).body;
    it("rotates them, and keeps earlier access tokens", async () => {
      const first = await tokens();
      const { body, status } = await refresh(w, client, first.refresh_token);
      expect(status).to.equal(200);
      expect(body.refresh_token).to.not.equal(first.refresh_token);
      for (const { access_token: token } of [first, body]) expect(await me(token)).to.equal(200);
    });

    it("accepts a spent one up to the maximum within the grace period, and revokes nothing for more", async () => {
      const first = await tokens();
      const successors: string[] = [];
      for (let n = 0; n < 30; n++) {
        const { status, body } = await refresh(w, client, first.refresh_token);
        expect(status).to.equal(200);
        successors.push(body.refresh_token);
        // So many requests may last for longer than the grace period.
        if (n === 0) await spendEarlier(w, first.refresh_token, "-10 min");
      }
      failed(await refresh(w, client, first.refresh_token), "temporarily_unavailable", 429);
      for (const successor of successors) expect(await refresh(w, client, successor)).to.include({ status: 200 });
      await spendEarlier(w, first.refresh_token, "10 min 31 s");
      failed(await refresh(w, client, first.refresh_token), "invalid_grant");
      const revoked = (await grantsOf(w, client)).filter(({ revokeReason }) => revokeReason === "REFRESH_REUSE");
      expect(revoked).to.have.length(1);
      for (const successor of successors) failed(await refresh(w, client, successor), "invalid_grant");
    });

    it("revokes the grant for one that was spent before the grace period", async () => {
      const first = await tokens();
      const { body } = await refresh(w, client, first.refresh_token);
      await spendEarlier(w, first.refresh_token, "31 s");
      failed(await refresh(w, client, first.refresh_token), "invalid_grant");
      expect(await me(body.access_token)).to.equal(401);
      failed(await refresh(w, client, body.refresh_token), "invalid_grant");
    });

    it("never changes those of another application", async () => {
      const other = await makeClient(w);
      const first = await tokens();
      failed(await refresh(w, other, first.refresh_token), "invalid_grant");
      const { body } = await refresh(w, client, first.refresh_token);
      await spendEarlier(w, first.refresh_token, "31 s");
      failed(await refresh(w, other, first.refresh_token), "invalid_grant");
      expect(await refresh(w, client, body.refresh_token)).to.include({ status: 200 });
    });

    it("narrows scopes, and never widens them", async () => {
      const first = await tokens();
      const narrow = await refresh(w, client, first.refresh_token, { scope: "user:read bogus" });
      expect(narrow.body.scope).to.equal("user:read");
      failed(await refresh(w, client, narrow.body.refresh_token, { scope: "all" }), "invalid_scope");
      failed(await refresh(w, client, narrow.body.refresh_token, { scope: "workspace:*" }), "invalid_scope");
      const full = await refresh(w, client, narrow.body.refresh_token);
      expect(full.body.scope).to.equal("user:read workspace:read");
    });

    it("ends with the suspension of the user, also after the reactivation", async () => {
      const bob = await w.user("bob");
      const held = await tokens(client, bob);
      const change = (verb: string) =>
        w
          .as(w.owner)
          .graphql(`mutation($user: String!) { ${verb}(input: { user: $user }) { user { id } } }`, { user: bob.id });
      await change("suspendUser");
      expect(await me(held.access_token)).to.equal(401);
      failed(await refresh(w, client, held.refresh_token), "invalid_grant");
      await change("activateUser");
      expect(await me(held.access_token)).to.equal(401);
      failed(await refresh(w, client, held.refresh_token), "invalid_grant");
    });

    it("are limited by the end of their grant", async () => {
      const first = await tokens();
      const grant = (await grantsOf(w, client)).at(-1)!;
      await setTimes(w, "oauth2_grants", { id: grant.id }, { expires_at: "100 s" });
      expect((await refresh(w, client, first.refresh_token)).body.expires_in).to.be.within(50, 100);
    });

    it("write times of the last use every five minutes", async () => {
      const counted = await makeClient(w);
      const uses = async () => ({
        ...(await lastUses(counted)),
        grant: (await grantsOf(w, counted))[0]!.lastUsedAt,
      });
      let { refresh_token: token } = await tokens(counted);
      await eventually(async () => (await uses()).secret !== null, "the use is stored");
      const before = await uses();
      expect(before.app).to.not.equal(null);
      ({ refresh_token: token } = (await refresh(w, counted, token)).body);
      expect(await uses()).to.deep.equal(before);
      await setTimes(w, "oauth2_grants", { client_id: counted.id }, { last_used_at: "-6 min" });
      ({ refresh_token: token } = (await refresh(w, counted, token)).body);
      expect(Date.parse((await uses()).grant)).to.be.closeTo(Date.parse(before.grant), 60_000);
    });
  });

  describe("for service accounts", () => {
    const service = async (changes = {}) => {
      const { createUser } = await w
        .as(w.owner)
        .graphql(
          `mutation { createUser(input: { username: "bot-${randomText(10).toLowerCase()}", email: "bot-${randomText(10)}@example.com", isServiceAccount: true }) { user { id } } }`,
        );
      const { id: userId } = createUser.user;
      return { ...(await makeClient(w, { service_user_id: userId, ...changes })), userId: userId };
    };
    const ask = (by: OAuthClient, more: Record<string, string> = {}) =>
      sendForm(w, "tokens", { grant_type: "client_credentials", ...credentials(by), ...more });

    const introspected = async (by: OAuthClient, token: string) =>
      (await sendForm(w, "introspect", { ...credentials(by), token })).body;
    const countOf = async ({ id }: OAuthClient, reader: Client = w.as(w.owner)) =>
      (await reader.graphql("query($id: UUID!) { oauth2App(id: $id) { serviceTokenCount } }", { id })).oauth2App
        .serviceTokenCount as number | null;
    const revokeAll = "mutation($id: String!) { revokeOAuth2AppGrants(input: { clientId: $id }) { revokedCount } }";

    it("issues access tokens alone, without grants, and tells those who may change the application their number", async () => {
      const bot = await service();
      const { body, status } = await ask(bot, { scope: "user:read" });
      expect(status, JSON.stringify(body)).to.equal(200);
      expect(body).to.not.have.property("refresh_token");
      expect(await me(body.access_token)).to.equal(200);
      expect(await introspected(bot, body.access_token)).to.include({
        active: true,
        client_id: bot.id,
        sub: bot.userId,
        scope: "user:read",
      });
      expect(await grantsOf(w, bot)).to.deep.equal([]);
      await ask(bot);
      expect(await countOf(bot)).to.equal(2);
      expect(await countOf(bot, w.as(ada))).to.equal(null);
      await eventually(async () => (await lastUses(bot)).secret !== null, "the use is stored");
    });

    it("ends a token that its application revokes, and no other one", async () => {
      const bot = await service();
      const [revoked, left] = [await ask(bot), await ask(bot)].map(({ body }) => body.access_token as string);
      const revoke = (by: OAuthClient) => sendForm(w, "revoke", { client_id: by.id, token: revoked });
      expect(await revoke(client)).to.include({ status: 200 });
      expect(await me(revoked!)).to.equal(200);
      expect(await revoke(bot)).to.include({ status: 200 });
      expect([await me(revoked!), await me(left!)]).to.deep.equal([401, 200]);
      expect(await introspected(bot, revoked!)).to.deep.equal({ active: false });
      const [event] = await audited(w, { resourceType: "api_key", resourceId: parseToken(revoked!).id });
      expect(event).to.deep.include({ action: "REVOKE", actorId: bot.id, diff: { app: { old: bot.id } } });
    });

    it("ends all tokens with their secret, at the latest when that expires, and with their application", async () => {
      const bot = await service();
      const other = { ...bot, ...(await makeSecret(w, bot.id, inMs(600_000))) };
      const [first, second] = [await ask(bot), await ask(other)].map(({ body }) => body);
      expect(second.expires_in).to.be.within(570, 600);
      await w.as(w.owner).delete(`/api/v2/oauth2-provider/apps/${bot.id}/secrets/${bot.secretId}`);
      expect([await me(first.access_token), await me(second.access_token)]).to.deep.equal([401, 200]);
      await changeApp(w, bot, { disabled: true });
      expect(await me(second.access_token)).to.equal(401);
      await changeApp(w, bot, { disabled: false });
      expect(await me(second.access_token)).to.equal(401);
      const third = (await ask(other)).body.access_token as string;
      expect(await me(third)).to.equal(200);
      await w.as(w.owner).delete(`/api/v2/oauth2-provider/apps/${bot.id}`);
      expect(await me(third)).to.equal(401);
    });

    it("ends all tokens for those who may end the grants of the service account, with an entry in the audit log", async () => {
      const bot = await service();
      const [first] = [(await ask(bot)).body.access_token as string, await ask(bot)];
      expect((await w.as(ada).graphql(revokeAll, { id: bot.id })).revokeOAuth2AppGrants.revokedCount).to.equal(0);
      expect(await me(first)).to.equal(200);
      expect((await w.as(w.owner).graphql(revokeAll, { id: bot.id })).revokeOAuth2AppGrants.revokedCount).to.equal(2);
      expect(await me(first)).to.equal(401);
      expect(await countOf(bot)).to.equal(0);
      const diff = { tokens: { old: 2, new: 0 } };
      expect(await changesOf(w, bot.id, "oauth2_app")).to.deep.include({ action: "REVOKE", diff });
    });

    it("leaves an application at most 1,000 tokens, of which the oldest end", async () => {
      const bot = await service();
      const earlier = Array.from({ length: 1000 }, (_, index) => ({
        id: newToken("oauth").id,
        user_id: bot.userId,
        kind: "oauth",
        scopes: ["all"],
        secret_hash: "\\x",
        client_id: bot.id,
        client_secret_id: bot.secretId,
        created_at: inMs(-1000 * (index + 1)),
        expires_at: inMs(3_600_000),
      }));
      await insert(w, { api_keys: earlier });
      const { body } = await ask(bot);
      expect(await countOf(bot)).to.equal(900);
      expect(await me(body.access_token)).to.equal(200);
      const left = await countRows(w, "api_keys", { id: earlier[0]!.id });
      expect([left, await countRows(w, "api_keys", { id: earlier[999]!.id })]).to.deep.equal([1, 0]);
      await Promise.all(Array.from({ length: 120 }, () => ask(bot)));
      expect(await countOf(bot)).to.be.within(900, 1000);
    });

    it("rejects scopes above the ceiling, unknown resources, and applications without an active account", async () => {
      failed(await ask(await service({ scope_ceiling: ["user:read"] }), { scope: "workspace:*" }), "invalid_scope");
      failed(await ask(await service(), { resource: "https://unknown.example" }), "invalid_target");
      failed(await ask(client), "unauthorized_client");
      const bot = await service();
      await suspend(w, { id: bot.userId });
      failed(await ask(bot), "unauthorized_client");
    });
  });

  describe("rejects", () => {
    it("missing and repeated parameters, and unknown grant types", async () => {
      const { body } = await sendForm(w, "tokens", {});
      expect(body.error).to.equal("invalid_request");
      for (const name of ["grant_type", "client_id"])
        expect(body.error_description).to.contain(`${name}: Is required.`);
      failed(await sendForm(w, "tokens", { grant_type: "authorization_code" }), "invalid_request");
      failed(await sendForm(w, "tokens", { grant_type: ["refresh_token", "refresh_token"] }), "invalid_request");
      for (const type of ["implicit", "password", "__proto__", "constructor", "x".repeat(5000)])
        failed(await sendForm(w, "tokens", { grant_type: type, ...credentials(client) }), "unsupported_grant_type");
      failed(await w.nobody.post("/oauth2/tokens", { grant_type: 1, client_id: {} }), "invalid_request");
      failed(await w.nobody.post("/oauth2/tokens", "<x/>", { "Content-Type": "text/xml" }), "invalid_request", 415);
      failed(await sendForm(w, "tokens", { scope: "x".repeat(70_000) }), "invalid_request", 413);
    });

    it("bodies of other types, with the names of those that are accepted", async () => {
      const types = [
        "text/xml",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded; charset=latin1",
      ];
      for (const type of types) {
        const { status, body } = await w.nobody.post("/oauth2/tokens", "a=b", { "Content-Type": type });
        expect(status, type).to.equal(415);
        expect(body.error_description).to.contain("application/x-www-form-urlencoded").and.contain("application/json");
      }
      const encoded = { "Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "br" };
      const { body } = await w.nobody.post("/oauth2/tokens", "a=b", encoded);
      expect(body.error_description).to.contain("Content-Encoding").and.contain("application/x-www-form-urlencoded");
      const named = { "Content-Type": 'application/x-www-form-urlencoded; charset="UTF-8"; version=1' };
      expect((await w.nobody.post("/oauth2/tokens", "grant_type=x&client_id=y", named)).body.error).to.equal(
        "unsupported_grant_type",
      );
    });

    it("malformed credentials in the header, at every endpoint", async () => {
      const encode = (text: string) => Buffer.from(text).toString("base64");
      const right = encode(`${client.id}:${client.secret}`);
      const headers = [
        "Basic",
        "Basic ",
        "basic !!!!",
        `Basic ${right.slice(0, 8)}*${right.slice(8)}`,
        `Basic ${right} x`,
        `Basic ${encode(client.id)}`,
        `Basic ${encode(`:${client.secret}`)}`,
        `Basic ${encode(`${client.id}:%zz`)}`,
        `Basic ${encode("\xff\xfe")}`,
      ];
      const fields = { grant_type: "refresh_token", refresh_token: "x", token: "x" };
      for (const Authorization of headers)
        for (const endpoint of ["tokens", "revoke", "introspect", "device_authorization"])
          for (const sent of [fields, { ...fields, ...credentials(client) }]) {
            const answer = await sendForm(w, endpoint, sent, { Authorization });
            failed(answer, "invalid_client", 401);
            expect(answer.headers.get("www-authenticate"), Authorization).to.equal('Basic realm="steward"');
          }
    });

    it("grant types that are not enabled for the application", async () => {
      const few = await makeClient(w, { grant_types: [] });
      failed(await redeem(w, few, unknownSecret("code")), "unauthorized_client");
    });

    it("applications that cannot be authenticated, all alike", async () => {
      const expired = (await makeSecret(w, client.id, inMs(-60_000))).secret;
      const other = await makeClient(w);
      const open = await makeClient(w, { type: "public", auth_method: "none" });
      const basicOnly = await makeClient(w, { auth_method: "client_secret_basic" });
      const disabled = await makeClient(w, { is_disabled: true });
      const bodies = new Set<string>();
      for (const [id, secret] of [
        [unknownSecret("code"), client.secret],
        ["00000000-0000-7000-8000-000000000000", client.secret],
        [client.id, undefined],
        [client.id, "wrong"],
        [client.id, unknownSecret("clientSecret")],
        [client.id, other.secret],
        [client.id, expired],
        [open.id, client.secret],
        [basicOnly.id, basicOnly.secret],
        [disabled.id, disabled.secret],
      ]) {
        const answer = await sendForm(w, "tokens", {
          grant_type: "refresh_token",
          refresh_token: "x",
          client_id: id,
          client_secret: secret,
        });
        failed(answer, "invalid_client", 401);
        expect(answer.headers.get("www-authenticate")).to.equal('Basic realm="steward"');
        bodies.add(JSON.stringify(answer.body));
      }
      expect(bodies.size).to.equal(1);
      const header = basic(basicOnly.id, basicOnly.secret!);
      failed(await sendForm(w, "tokens", { grant_type: "refresh_token", refresh_token: "x" }, header), "invalid_grant");
      const differing = { grant_type: "refresh_token", refresh_token: "x", client_id: client.id };
      failed(await sendForm(w, "tokens", differing, header), "invalid_request");
    });

    it("public applications nothing but secrets", async () => {
      const open = await makeClient(w, { type: "public", auth_method: "none" });
      const { code } = await makeCode(w, open, ada, { codeChallenge: challengeOf(verifier) });
      const { status, body } = await redeem(w, open, code, { code_verifier: verifier });
      expect(status).to.equal(200);
      expect(await refresh(w, open, body.refresh_token)).to.include({ status: 200 });
    });
  });
});

describe("a server that is no authorization server", () => {
  const the = world({ STEWARD_OAUTH2_ENABLED: "false" });
  it("has no endpoints for tokens", async () => {
    for (const path of ["tokens", "revoke", "introspect", "device_authorization"])
      expect(await sendForm(the(), path, { client_id: "x", token: "x" }), path).to.include({ status: 404 });
  });
});

// Attacks on OAuth2 deployments (RFC 9700 §4), by the part of the protocol that they abuse. Mutated redirect URIs are
// tried in the tests of the consent, races in those of the tokens.
import { expect } from "chai";
import {
  appsPath,
  authorizePath,
  basic,
  challenge as weakChallenge,
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
  verifier,
} from "./support/oauth2.js";
import { type Answer, type Person, type World, world } from "./support/world.js";

const html = { Accept: "text/html" };
const pkce = { code_challenge: weakChallenge, code_challenge_method: "S256" };

describe("attacks on OAuth2", () => {
  const the = world();
  let w: World;
  let ada: Person;
  let mallory: Person;
  let client: OAuthClient;
  before(async () => {
    w = the();
    [ada, mallory] = (await w.users("ada", "mallory")) as [Person, Person];
  });
  beforeEach(async () => (client = await makeClient(w)));

  const rejects = ({ status, body }: Answer, error = "invalid_grant", expected = 400) =>
    expect({ status, error: body.error }, JSON.stringify(body)).to.deep.equal({ status: expected, error });
  const tokens = async (user: Person, by = client) =>
    (await redeem(w, by, (await makeCode(w, by, user, { scopes: ["group:read"] })).code)).body;
  const bearer = async (token: string) => (await w.as({ token }).get("/api/v2/groups")).status;
  const active = async (token: string, by = client) =>
    (await sendForm(w, "introspect", { token }, basic(by.id, by.secret!))).body.active as boolean;
  const locationOf = ({ headers }: Answer) => new URL(headers.get("location")!);

  describe("by injection of a code (§4.5) are rejected", () => {
    it("for another application, which learns nothing and changes nothing", async () => {
      const { code } = await makeCode(w, client, ada);
      const thief = await makeClient(w);
      rejects(await redeem(w, thief, code));
      rejects(await redeem(w, thief, code, { redirect_uri: redirectUri }));
      expect(await redeem(w, client, code)).to.include({ status: 200 });
    });

    it("for the session of the attacker, whose verifier is another", async () => {
      const { code } = await makeCode(w, client, ada, { codeChallenge: challengeOf(verifier) });
      rejects(await redeem(w, client, code, { code_verifier: `${verifier}-of-mallory` }));
      rejects(await redeem(w, client, code, { code_verifier: verifier }));
    });

    it("for another redirect URI of the same application", async () => {
      const both = await makeClient(w, { redirect_uris: [redirectUri, "https://client.example/other"] });
      const { code } = await makeCode(w, both, ada);
      rejects(await redeem(w, both, code, { redirect_uri: "https://client.example/other" }));
      rejects(await redeem(w, both, code, { redirect_uri: redirectUri }));
    });

    it("after the user redeemed it, which costs the tokens", async () => {
      const { code } = await makeCode(w, client, ada);
      const held = (await redeem(w, client, code)).body;
      rejects(await redeem(w, client, code));
      expect(await bearer(held.access_token)).to.equal(401);
      rejects(await refresh(w, client, held.refresh_token));
    });
  });

  describe("by a downgrade of PKCE (§4.8.2) are rejected", () => {
    it("when the challenge is removed from the request of an application that needs it", async () => {
      const strict = await makeClient(w, { type: "public", auth_method: "none", pkce_required: true });
      for (const changes of [{}, { code_challenge_method: "S256" }, { ...pkce, code_challenge: "" }]) {
        const answer = await w.as(ada).post(authorizePath(strict, changes));
        expect(answer.status).to.equal(302);
        expect(locationOf(answer).searchParams.get("error")).to.equal("invalid_request");
      }
    });

    it("when a verifier comes for a code that was requested without a challenge", async () => {
      const { code } = await makeCode(w, client, ada);
      rejects(await redeem(w, client, code, { code_verifier: verifier }));
    });

    it("when the verifier is left out, empty, or the challenge itself", async () => {
      for (const more of [{}, { code_verifier: "" }, { code_verifier: challengeOf(verifier) }] as Array<
        Record<string, string>
      >) {
        const { code } = await makeCode(w, client, ada, { codeChallenge: challengeOf(verifier) });
        rejects(await redeem(w, client, code, more));
      }
    });

    it("when the method is plain, unknown, or left out", async () => {
      for (const code_challenge_method of ["plain", "s256", "S512", undefined]) {
        const answer = await w.as(ada).post(authorizePath(client, { ...pkce, code_challenge_method }));
        expect(locationOf(answer).searchParams.get("error"), code_challenge_method).to.equal("invalid_request");
      }
    });
  });

  describe("by a mix-up of servers (§4.4) are visible", () => {
    it("by the issuer in every response, which the metadata promises", async () => {
      const { body } = await w.nobody.get("/.well-known/oauth-authorization-server");
      expect(body.authorization_response_iss_parameter_supported).to.equal(true);
      const answers = [
        await w.as(ada).post(authorizePath(client)),
        await w.as(ada).post(authorizePath(client), { decision: "deny" }),
        await w.as(ada).get(authorizePath(client, { response_type: "token" })),
      ];
      for (const answer of answers) expect(locationOf(answer).searchParams.getAll("iss")).to.deep.equal([body.issuer]);
    });

    it("although a redirect URI has an issuer of its own", async () => {
      const redirect_uris = ["https://client.example/callback?iss=https%3A%2F%2Fhonest.example&code=x&state=x"];
      const mixed = await makeClient(w, { redirect_uris });
      const { searchParams } = locationOf(await w.as(ada).post(authorizePath(mixed)));
      expect(searchParams.getAll("iss")).to.deep.equal([w.app.services.config.accessUrl]);
      expect(searchParams.getAll("code")).to.have.length(1);
      expect(searchParams.getAll("state")).to.deep.equal(["xyz"]);
    });

    it("by the issuer of tokens, and tokens for other servers open nothing here", async () => {
      await changeApp(w, client, { resourceIndicators: ["https://other.example"] });
      const { code } = await makeCode(w, client, ada, { audiences: ["https://other.example"] });
      const { access_token: token } = (await redeem(w, client, code)).body;
      expect(await bearer(token)).to.equal(401);
      const { body } = await sendForm(w, "introspect", { token }, basic(client.id, client.secret!));
      expect(body).to.include({ active: true, iss: w.app.services.config.accessUrl });
      expect(body.aud).to.deep.equal(["https://other.example"]);
    });
  });

  describe("by substitution of tokens (§4.10) are rejected", () => {
    it("when a refresh token, a code, a secret, or a device code comes as an access token", async () => {
      const { code } = await makeCode(w, client, ada);
      const held = await tokens(ada);
      const { body: device } = await sendForm(w, "device_authorization", credentials(client));
      for (const token of [held.refresh_token, code, client.secret!, device.device_code]) {
        expect(await bearer(token as string)).to.equal(401);
        expect((await w.nobody.get("/api/v2/groups", { "Service-Session-Token": token })).status).to.equal(401);
      }
      expect(await redeem(w, client, code)).to.include({ status: 200 });
    });

    it("when any of them, a session, or a key comes in the place of another", async () => {
      const held = await tokens(ada);
      const { code } = await makeCode(w, client, ada);
      for (const wrong of [held.access_token, code, client.secret!, ada.token])
        rejects(await refresh(w, client, wrong));
      for (const wrong of [held.access_token, held.refresh_token, ada.token]) rejects(await redeem(w, client, wrong));
      for (const wrong of [held.refresh_token, code]) {
        const fields = { grant_type: "refresh_token", client_id: client.id, refresh_token: held.refresh_token };
        rejects(await sendForm(w, "tokens", { ...fields, client_secret: wrong }), "invalid_client", 401);
      }
      expect(await redeem(w, client, code)).to.include({ status: 200 });
      expect(await refresh(w, client, held.refresh_token)).to.include({ status: 200 });
    });

    it("when the id of one token is joined with the secret of another", async () => {
      const hers = await tokens(ada);
      const his = await tokens(mallory);
      const mixed = `${hers.access_token.split("-")[0]}-${his.access_token.split("-")[1]}`;
      expect(await bearer(mixed)).to.equal(401);
      expect(await active(mixed)).to.equal(false);
      const [, id] = hers.refresh_token.split("_");
      rejects(await refresh(w, client, `stwr_${id}_${his.refresh_token.split("_")[2]}`));
      const other = await makeSecret(w, (await makeClient(w)).id);
      const secret = `stws_${client.secret!.split("_")[1]}_${other.secret.split("_")[2]}`;
      rejects(await refresh(w, { ...client, secret }, hers.refresh_token), "invalid_client", 401);
      rejects(await refresh(w, { ...client, secret: other.secret }, hers.refresh_token), "invalid_client", 401);
    });

    it("when a key or a session is introspected or revoked, which stays valid", async () => {
      expect(await active(ada.token)).to.equal(false);
      expect(await sendForm(w, "revoke", { client_id: client.id, token: ada.token })).to.include({ status: 200 });
      expect(await bearer(ada.token)).to.equal(200);
    });
  });

  describe("by a page of another site (§4.7, §4.16) are rejected", () => {
    const cookie = () => `service_session_token=${ada.token}`;
    const foreign: Array<Record<string, string>> = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ];

    it("when it sends the form of a decision", async () => {
      const urlencoded = { "Content-Type": "application/x-www-form-urlencoded", cookie: cookie(), ...html };
      for (const path of [authorizePath(client), "/oauth2/device"])
        for (const headers of foreign)
          for (const csrf of ["", "x"]) {
            const answer = await w.nobody.post(path, `decision=allow&csrf_token=${csrf}`, {
              ...urlencoded,
              ...headers,
            });
            expect(answer.status).to.equal(303);
            expect(answer.headers.get("location")).to.match(/^\/login\?/);
          }
      expect(await grantsOf(w, client)).to.deep.equal([]);
    });

    it("when it frames one of the pages, or an error page", async () => {
      const session = { cookie: cookie(), origin: w.app.services.config.accessUrl, ...html };
      const pages = [
        authorizePath(client),
        authorizePath({ id: "x" }),
        "/oauth2/device",
        "/login",
        "/oauth2/device?user_code=x",
      ];
      for (const path of pages) {
        const { headers, body } = await w.nobody.get(path, session);
        expect(body, path).to.contain("<h1>");
        expect(headers.get("x-frame-options"), path).to.equal("DENY");
        expect(headers.get("content-security-policy"), path).to.contain("frame-ancestors 'none'");
        expect(headers.get("content-security-policy"), path).to.contain("default-src 'none'");
      }
    });

    it("when it opens the page for devices with codes, to use up the tries of a user", async () => {
      const open = (code: string, site: string) =>
        w.as(ada).get(`/oauth2/device?user_code=${code}`, { "sec-fetch-site": site, ...html });
      for (let nr = 0; nr < 12; nr++) {
        const { status, body } = await open("BBBB-BBBB", "cross-site");
        expect(status).to.equal(200);
        expect(body).to.contain('value="BBBB-BBBB"');
      }
      const { body } = await sendForm(w, "device_authorization", credentials(client));
      expect((await open(body.user_code as string, "none")).body).to.contain("Does your device show this code?");
    });
  });

  describe("by a replay of a refresh token (§4.14) are rejected", () => {
    it("once the grace period is over, which costs all tokens of the grant", async () => {
      const first = await tokens(ada);
      const second = (await refresh(w, client, first.refresh_token)).body;
      await spendEarlier(w, first.refresh_token, "31 s");
      rejects(await refresh(w, client, first.refresh_token));
      rejects(await refresh(w, client, second.refresh_token));
      for (const { access_token } of [first, second]) expect(await bearer(access_token as string)).to.equal(401);
    });

    it("by another application or without authentication, which costs nothing", async () => {
      const first = await tokens(ada);
      await refresh(w, client, first.refresh_token);
      await spendEarlier(w, first.refresh_token, "31 s");
      rejects(await refresh(w, await makeClient(w), first.refresh_token));
      rejects(await refresh(w, { ...client, secret: undefined }, first.refresh_token), "invalid_client", 401);
      expect(await bearer(first.access_token)).to.equal(200);
    });

    it("for more scopes or resources than the user granted", async () => {
      const { refresh_token: token } = await tokens(ada);
      rejects(await refresh(w, client, token, { scope: "all" }), "invalid_scope");
      rejects(await refresh(w, client, token, { scope: "group:read api_key:create" }), "invalid_scope");
      rejects(await refresh(w, client, token, { resource: "https://elsewhere.example" }), "invalid_target");
      expect(await refresh(w, client, token)).to.include({ status: 200 });
    });

    it("with a secret that was deleted, or for an application that was disabled", async () => {
      const { refresh_token: token } = await tokens(ada);
      await changeApp(w, client, { disabled: true });
      rejects(await refresh(w, client, token), "invalid_client", 401);
      await changeApp(w, client, { disabled: false });
      await w.as(w.owner).delete(`${appsPath}/${client.id}/secrets/${client.secretId}`);
      rejects(await refresh(w, client, token), "invalid_client", 401);
    });
  });
});

// Linking accounts at outside services, as users, operators, and agents see it.
// Reaches for tables: tokens are stored nowhere as text, and devices wait for their next turn.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { externalAuth, ExternalService, comeBack, expire, link, setOut } from "./support/external-services.js";
import { countRows, letPass, setColumns, setTimes, storedText } from "./support/tables.js";
import { type Client, type Person, startWorld, type World } from "./support/world.js";

const api = "/api/v2/external-auth";
const one = `${api}/lab`;
const device = `${one}/device`;

describe("external authentication", () => {
  let w: World;
  let lab: ExternalService;
  let ada: Person;
  let hers: Client;

  before(async () => {
    lab = await ExternalService.open();
    w = await startWorld({
      ...externalAuth(
        lab.provider(),
        lab.provider({ id: "Second", revoke_url: "", device_flow: false, pkce_methods: [] }),
      ),
      STEWARD_EXTERNAL_AUTH_VALIDATE_CACHE: "0s",
      // A call to the provider takes until the test has polled again.
      STEWARD_EXTERNAL_AUTH_TIMEOUT: "1m",
    });
  });
  after(async () => {
    await w.close();
    await lab.close();
  });
  beforeEach(async () => {
    lab.reset();
    ada = await w.user("ada");
    hers = w.as(ada);
  });

  const events = async ({ id }: Person) =>
    (await audited(w, { resourceType: "external_auth_link" })).filter(({ diff }) =>
      Object.values(diff.userId ?? {}).includes(id),
    );

  describe("without links", () => {
    it("lists the providers, and no account", async () => {
      const list = await hers.get(api);
      expect(list.status).to.equal(200);
      expect(list.headers.get("cache-control")).to.equal("no-store");
      expect(list.body).to.deep.equal({
        authenticated: false,
        has_refresh_token: false,
        links: [],
        providers: [
          {
            id: "lab",
            type: "custom",
            device: true,
            display_name: "The lab",
            display_icon: "/emojis/1f511.png",
            allow_refresh: true,
            allow_validate: true,
            supports_revocation: true,
            code_challenge_methods_supported: ["S256"],
          },
          {
            id: "Second",
            type: "custom",
            device: false,
            display_name: "The lab",
            display_icon: "/emojis/1f511.png",
            allow_refresh: true,
            allow_validate: true,
            supports_revocation: false,
            code_challenge_methods_supported: [],
          },
        ],
      });
      expect((await hers.get(one)).body).to.deep.equal({
        app_install_url: "",
        app_installable: false,
        authenticated: false,
        device: true,
        display_name: "The lab",
        installations: [],
        supports_revocation: true,
      });
      for (const path of [`${api}/unknown`, `${api}/__proto__`, `${api}/constructor/device`])
        expect(await hers.get(path), path).to.include({ status: 404 });
      expect(await hers.delete(one)).to.include({ status: 404 });
      expect(lab.seen).to.deep.equal([]);
    });
  });

  describe("in a browser", () => {
    it("links an account, which the provider describes", async () => {
      const begun = await hers.get("/external-auth/lab/callback");
      const target = new URL(begun.headers.get("location")!);
      expect(target.origin + target.pathname).to.equal(`${lab.url}/authorize`);
      expect(Object.fromEntries(target.searchParams)).to.include({
        response_type: "code",
        client_id: "steward",
        redirect_uri: `${w.app.services.config.accessUrl}/external-auth/lab/callback`,
        scope: "read write",
        code_challenge_method: "S256",
      });
      expect(begun.headers.get("referrer-policy")).to.equal("no-referrer");
      expect(begun.headers.getSetCookie()[0]).to.match(
        /^steward_external_auth_lab=[\w-]{43}; Path=\/external-auth\/lab; HttpOnly; SameSite=Lax; Max-Age=600$/,
      );

      const journey = await setOut(hers);
      const finished = await comeBack(hers, journey);
      expect(finished.status).to.equal(303);
      expect(finished.headers.get("location")).to.equal("/external-auth/lab?redirected=true");
      expect(finished.headers.getSetCookie()[0]).to.contain("steward_external_auth_lab=; ").and.contain("Max-Age=0");

      const found = await hers.get(`${api}/LAB`);
      expect(found.body).to.deep.include({
        authenticated: true,
        user: { id: 7, login: "octo", name: "Octo Cat", avatar_url: "https://img.example.com/7" },
      });
      const list = await hers.get(api);
      expect(list.body).to.include({ authenticated: true, has_refresh_token: true, provider_id: "lab" });
      expect(list.body.links).to.have.length(1);
      expect(list.body.links[0]).to.have.keys(
        "authenticated",
        "created_at",
        "expires",
        "has_refresh_token",
        "provider_id",
        "updated_at",
      );
      for (const { body } of [found, list]) expect(JSON.stringify(body)).to.not.match(/access-|refresh-\d/);
      expect(await events(ada)).to.have.length(1);
      expect((await events(ada))[0]).to.deep.include({ action: "CREATE", actorKind: "user" });
    });

    it("exchanges nothing when a callback is replayed", async () => {
      const journey = await setOut(hers);
      expect(await comeBack(hers, journey)).to.include({ status: 303 });
      expect(lab.to("/token")).to.have.length(1);
      const again = await comeBack(hers, journey);
      expect(again.status).to.equal(401);
      expect(again.body).to.contain("<h1>The account was not linked.</h1>");
      expect(lab.to("/token")).to.have.length(1);
    });

    it("exchanges a code once when a callback is sent twice at the same time", async () => {
      const journey = await setOut(hers);
      const both = await Promise.all([comeBack(hers, journey), comeBack(hers, journey)]);
      expect(both.map(({ status }) => status)).to.have.members([303, 401]);
      expect(lab.to("/token")).to.have.length(1);
    });

    it("rejects the callback of another user, browser, or provider", async () => {
      const bob = w.as(await w.user("bob"));
      const journey = await setOut(hers);
      const elsewhere = journey.callback.replace("/lab/", "/Second/");
      const attempts = [
        await comeBack(bob, journey),
        await comeBack(hers, { ...journey, cookie: "" }),
        await comeBack(hers, { ...journey, cookie: (await setOut(hers)).cookie }),
        await comeBack(hers, { callback: elsewhere, cookie: journey.cookie.replace("_lab=", "_Second=") }),
        await comeBack(hers, { ...journey, callback: journey.callback.replace(/state=[\w-]+/, "state=guessed") }),
      ];
      expect(attempts.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 401]);
      expect(lab.to("/token")).to.deep.equal([]);
      for (const client of [hers, bob]) expect((await client.get(api)).body.links).to.deep.equal([]);
      expect(await comeBack(hers, journey)).to.include({ status: 303 });
    });

    it("rejects a callback without state, and shows the error of the provider as text", async () => {
      const without = await hers.get("/external-auth/lab/callback?code=x");
      expect(without.status).to.equal(400);
      expect(without.body).to.contain("The response has no state.");
      const journey = await setOut(hers);
      const denied = journey.callback.replace(/code=[\w-]+/, "error=access_denied&error_description=%3Cscript%3E");
      const shown = await comeBack(hers, { ...journey, callback: denied });
      expect(shown.status).to.equal(400);
      expect(shown.body).to.contain("access_denied: &lt;script&gt;");
      expect(await comeBack(hers, journey), "the state is used").to.include({ status: 401 });
      expect(lab.to("/token")).to.deep.equal([]);
    });

    it("returns to a path of this server only", async () => {
      const target = async (redirect: string) => {
        const query = `?${new URLSearchParams({ redirect }).toString()}`;
        return (await comeBack(hers, await setOut(hers, "lab", query))).headers.get("location");
      };
      const page = "/external-auth/lab?redirected=true";
      expect(await target("/docs?a=1#b")).to.equal("/docs?a=1#b");
      for (const evil of ["//evil.example", "/\\evil.example", "https://evil.example", "/a\nb", `/${"x".repeat(8192)}`])
        expect(await target(evil), evil).to.equal(page);
    });

    it("shows a page when the provider rejects the code or fails", async () => {
      const attempt = async (reply: object) => {
        lab.handlers["/token"] = () => reply;
        const { status, body } = await comeBack(hers, await setOut(hers));
        expect(body).to.contain("<h1>").and.not.contain("canary");
        return status;
      };
      expect(await attempt({ body: { error: "bad_verification_code", error_description: "canary" } })).to.equal(400);
      expect(await attempt({ status: 400, body: { error: "<canary>" } })).to.equal(400);
      expect(await attempt({ body: { token_type: "bearer" } })).to.equal(400);
      expect(await attempt({ body: { ok: false, error: "invalid_code" } })).to.equal(400);
      expect(await attempt({ status: 500, body: "canary" })).to.equal(502);
      expect(await attempt({ body: "<html>canary</html>" })).to.equal(502);
      expect(await attempt({ body: '{"access_token": "canary' })).to.equal(502);
      expect(await attempt({ body: { access_token: `canary${"x".repeat(20_000)}` } })).to.equal(502);
      expect(await attempt({ body: { access_token: "canary\u0000" } })).to.equal(502);
      expect(await attempt({ status: 302, headers: { Location: `${lab.url}/user` }, body: "" })).to.equal(502);
      expect(lab.to("/user")).to.deep.equal([]);
      expect((await hers.get(api)).body.links).to.deep.equal([]);
    });

    it("accepts responses in the form encoding, and lifetimes as text", async () => {
      lab.handlers["/token"] = () => ({
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        body: "access_token=access-form&token_type=bearer&expires_in=3600&scope=read%2Cwrite",
      });
      lab.valid.add("access-form");
      await link(hers);
      const { expires, has_refresh_token } = (await hers.get(api)).body;
      expect(new Date(expires).getTime()).to.be.above(Date.now());
      expect(has_refresh_token).to.equal(false);
      expect(await storedText(w, "external_auth_links")).to.contain('"scopes":["read","write"]');
    });

    it("replaces the tokens when an account is linked again", async () => {
      await link(hers);
      const before = (await hers.get(api)).body;
      await link(hers);
      const after = (await hers.get(api)).body;
      expect(after.links).to.have.length(1);
      expect(after.created_at).to.equal(before.created_at);
      expect(after.updated_at).to.not.equal(before.updated_at);
      expect((await events(ada)).map(({ action }) => action)).to.deep.equal(["CREATE", "UPDATE"]);
    });

    it("asks visitors to sign in first, and keeps the parameters", async () => {
      for (const path of ["/external-auth/lab", "/external-auth/lab/callback?code=a&state=b"]) {
        const { status, headers } = await w.nobody.get(path);
        expect(status).to.equal(303);
        expect(headers.get("location")).to.equal(`/login?${new URLSearchParams({ return_to: path }).toString()}`);
      }
      expect(await hers.get("/external-auth/unknown")).to.include({ status: 404 });
      expect(await hers.get("/external-auth/unknown/callback")).to.include({ status: 404 });
    });

    it("keeps at most ten pending links", async () => {
      const journeys = [];
      for (let count = 0; count < 11; count++) journeys.push(await setOut(hers));
      expect(await comeBack(hers, journeys[0]!)).to.include({ status: 401 });
      expect(await comeBack(hers, journeys[1]!)).to.include({ status: 303 });
    });

    it("checks the issuer if one is configured", async () => {
      const strict = await startWorld(externalAuth(lab.provider({ issuer: "https://issuer.example" })));
      try {
        const client = strict.as(strict.owner);
        for (const iss of ["", "&iss=https://other.example", "&iss=https://issuer.example"]) {
          const journey = await setOut(client);
          const { status } = await comeBack(client, { ...journey, callback: journey.callback + iss });
          expect(status, iss).to.equal(iss.endsWith("issuer.example") ? 303 : 400);
        }
        expect(lab.to("/token")).to.have.length(1);
      } finally {
        await strict.close();
      }
    });
  });

  describe("with a device code", () => {
    /** Lets the interval between polls pass. */
    const wait = () => setTimes(w, "external_auth_devices", {}, { next_poll_at: "0 s" });

    it("links an account when the user has confirmed the code", async () => {
      const started = await hers.get(device);
      expect(started.status).to.equal(200);
      expect(started.body).to.include({
        user_code: "ABCD-EFGH",
        interval: 1,
        expires_in: 900,
        verification_uri: `${lab.url}/enter`,
      });
      const { device_code } = started.body;
      const pending = await hers.post(device, { device_code });
      expect(pending).to.include({ status: 400 });
      expect(pending.body).to.deep.equal({
        message: "The code has not been confirmed at the provider yet.",
        detail: "authorization_pending",
      });
      lab.isApproved = true;
      await wait();
      expect(await hers.post(device, { device_code })).to.include({ status: 204, body: "" });
      expect(await hers.post(device, { device_code }), "repeated").to.include({ status: 204 });
      expect(await hers.post(device), "the newest code").to.include({ status: 204 });
      expect((await hers.get(one)).body.authenticated).to.equal(true);
      expect(lab.to("/token")).to.have.length(2);
      expect(lab.to("/token")[0]!.form.get("device_code")).to.equal(device_code);
      const stored = await storedText(w, "external_auth_devices");
      for (const bytes of [device_code, [...Buffer.from(device_code as string)].join()])
        expect(stored).to.not.contain(bytes);
      expect(await hers.delete(one)).to.include({ status: 200 });
      expect((await hers.post(device, { device_code })).body.detail, "after unlinking").to.equal("expired_token");
    });

    it("polls the provider once per interval", async () => {
      // Longer than the requests take that are too early.
      const code = { device_code: "d", user_code: "u", verification_uri: `${lab.url}/enter`, interval: 30 };
      lab.handlers["/device"] = () => ({ body: code });
      await hers.get(device);
      const replies = [];
      for (let count = 0; count < 6; count++) replies.push((await hers.post(device)).body.detail);
      expect(replies).to.deep.equal(["authorization_pending", ...Array(5).fill("slow_down")]);
      expect(lab.to("/token")).to.have.length(1);
      const pass = (time: string) => letPass(w, "external_auth_devices", { user_id: ada.id }, time, ["next_poll_at"]);
      await pass("20 s");
      expect((await hers.post(device)).body.detail).to.equal("slow_down");
      await pass("61 s");
      expect((await hers.post(device)).body.detail).to.equal("authorization_pending");
      expect(lab.to("/token")).to.have.length(2);
    });

    it("polls once for parallel requests", async () => {
      await hers.get(device);
      const polled = Promise.withResolvers<void>();
      const confirmed = Promise.withResolvers<void>();
      lab.handlers["/token"] = async () => {
        polled.resolve();
        await confirmed.promise;
        return { body: lab.tokens() };
      };
      const first = hers.post(device);
      await polled.promise;
      expect((await hers.post(device)).body.detail).to.equal("authorization_pending");
      confirmed.resolve();
      expect(await first).to.include({ status: 204 });
      expect(lab.to("/token")).to.have.length(1);
    });

    it("accepts only codes of the caller and the provider", async () => {
      const bob = w.as(await w.user("bob"));
      const { device_code } = (await hers.get(device)).body;
      lab.isApproved = true;
      for (const body of [{ device_code }, { device_code: "unknown" }, {}, undefined]) {
        const reply = await bob.post(device, body);
        expect(reply).to.include({ status: 400 });
        expect(reply.body.detail).to.equal("expired_token");
      }
      expect((await bob.get(api)).body.links).to.deep.equal([]);
      expect(lab.to("/token")).to.deep.equal([]);
      expect(await hers.post(device, { device_code })).to.include({ status: 204 });
    });

    it("passes the errors of the provider on", async () => {
      const poll = async (reply: object) => {
        lab.handlers["/token"] = () => reply;
        await hers.get(device);
        const { status, body } = await hers.post(device);
        return [status, body.detail];
      };
      expect(await poll({ status: 400, body: { error: "access_denied" } })).to.deep.equal([400, "access_denied"]);
      expect(await poll({ body: { error: "expired_token" } })).to.deep.equal([400, "expired_token"]);
      expect(await poll({ body: { error: "Slow_Down" } })).to.deep.equal([400, "slow_down"]);
      expect(await poll({ body: { error: "device_flow_disabled" } })).to.deep.equal([400, "device_flow_disabled"]);
      expect(await poll({ body: { error: "<b>" } })).to.deep.equal([400, "unknown_error"]);
      for (const error of ["constructor", "__proto__"]) {
        lab.handlers["/token"] = () => ({ body: { error } });
        await hers.get(device);
        expect((await hers.post(device)).body).to.deep.equal({
          message: "The provider rejected the device code.",
          detail: error,
        });
      }
      expect((await poll({ status: 503, body: "" }))[0]).to.equal(502);
      expect(await countRows(w, "external_auth_devices", { user_id: ada.id }), "ended codes").to.equal(6);
      const failure = await hers.failure(
        'mutation { completeExternalAuthDevice(input: { providerId: "lab", deviceCode: "x" }) { providerId } }',
      );
      expect(failure.errors[0]!.extensions).to.include({ code: "BAD_USER_INPUT", reason: "expired_token" });
    });

    it("reports why there is no code", async () => {
      const start = async (reply: object) => {
        lab.handlers["/device"] = () => reply;
        const { status, body, headers } = await hers.get(device);
        return [status, headers.get("retry-after") ?? body.detail];
      };
      expect(await start({ status: 429, headers: { "Retry-After": "17" } })).to.deep.equal([429, "17"]);
      expect(await start({ body: { error: "unauthorized_client" } })).to.deep.equal([400, "unauthorized_client"]);
      expect((await start({ body: "<html>" }))[0]).to.equal(502);
      expect((await start({ body: {} }))[0]).to.equal(502);
      const odd = {
        device_code: "d",
        user_code: "u",
        verification_uri: "javascript:alert(1)",
        expires_in: "x",
        interval: -1,
      };
      lab.handlers["/device"] = () => ({ body: odd });
      for (const _ of [1, 2])
        expect((await hers.get(device)).body).to.deep.equal({
          device_code: "d",
          user_code: "u",
          expires_in: 900,
          interval: 5,
        });
      expect(await hers.get(`${api}/second/device`)).to.include({ status: 400 });
    });
  });

  describe("is undone", () => {
    it("with the tokens revoked", async () => {
      await link(hers);
      expect((await hers.delete(one)).body).to.deep.equal({ token_revoked: true });
      const [revocation] = lab.to("/revoke");
      expect(Object.fromEntries(revocation!.form)).to.include({
        token_type_hint: "refresh_token",
        client_id: "steward",
      });
      expect((await hers.get(one)).body.authenticated).to.equal(false);
      expect((await events(ada)).map(({ action }) => action)).to.deep.equal(["CREATE", "DELETE"]);
      const revoked = await audited(w, { action: "REVOKE", actor: ada.id, resourceType: "external_auth_link" });
      expect(revoked.map(({ diff }) => diff)).to.deep.equal([{ revoked: { new: true } }]);
    });

    it("even if the provider fails", async () => {
      for (const [reply, reason] of [
        [{ status: 503, body: "down" }, "The provider returned status 503."],
        [
          { status: 400, body: { error: "unsupported_token_type" } },
          "The provider returned the error unsupported_token_type.",
        ],
      ] as const) {
        lab.handlers["/revoke"] = () => reply;
        await link(hers);
        const deleted = await hers.delete(one);
        expect(deleted.status).to.equal(200);
        expect(deleted.body).to.deep.equal({ token_revoked: false, token_revocation_error: reason });
        expect((await hers.get(one)).body.authenticated).to.equal(false);
      }
    });

    it("without a call if the provider revokes nothing", async () => {
      await link(hers, "Second");
      expect((await hers.delete(`${api}/second`)).body).to.deep.equal({ token_revoked: false });
      expect(lab.to("/revoke")).to.deep.equal([]);
    });
  });

  describe("is private", () => {
    it("to its user, also from site owners", async () => {
      await link(hers);
      const owner = w.as(w.owner);
      expect((await owner.get(api)).body.links).to.deep.equal([]);
      expect((await owner.get(one)).body.authenticated).to.equal(false);
      expect(await owner.delete(one)).to.include({ status: 404 });
      const { externalAuthAccessToken } = await owner.graphql(
        '{ externalAuthAccessToken(providerId: "lab") { accessToken connectUrl } }',
      );
      expect(externalAuthAccessToken).to.deep.equal({
        accessToken: null,
        connectUrl: `${w.app.services.config.accessUrl}/external-auth/lab`,
      });
    });

    it("with no token readable in the tables, the log of audits, or errors", async () => {
      await link(hers);
      await expire(w);
      await hers.get(one);
      const text = await storedText(w, "external_auth_links", "external_auth_states", "audit_events");
      expect(text).to.contain(ada.id);
      expect(text).to.not.match(/access-\d|refresh-\d|code-\d/);
      const hex = (plain: string) => Buffer.from(plain).toString("hex");
      expect(text).to.not.contain(hex("access-")).and.not.contain(hex("refresh-"));
    });

    it("within the scopes of a credential", async () => {
      const token = async (...scopes: string[]) => {
        const made = await hers.graphql(
          "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { token } }",
          { input: { name: `k${scopes.length}${scopes[0]}`, scopes } },
        );
        return w.as(made.createApiKey);
      };
      const reader = await token("external_auth_link:read");
      expect(await reader.get(one)).to.include({ status: 200 });
      expect(await reader.get(device)).to.include({ status: 403 });
      expect(await reader.delete(one)).to.include({ status: 403 });
      const everything = await token("all");
      const failure = await everything.failure('{ externalAuthAccessToken(providerId: "lab") { accessToken } }');
      expect(failure.code, "API tokens read no tokens").to.equal("FORBIDDEN");
    });
  });

  describe("in workspaces", () => {
    const read =
      '{ externalAuthAccessToken(url: "https://git.example.com/a/b") { accessToken username type expiresAt connectUrl } }';
    const byId = '{ externalAuthAccessToken(providerId: "LAB") { accessToken username providerId connectUrl } }';

    it("gives the token to agents of the user alone, and records it", async () => {
      await link(hers);
      const bob = await w.user("bob");
      const own = await w.workspace(ada);
      const other = await w.workspace(bob);
      const { externalAuthAccessToken: given } = await w.as(own.agent).graphql(byId);
      expect(given).to.deep.include({ username: "oauth2", providerId: "lab", connectUrl: null });
      expect(lab.valid.has(given.accessToken)).to.equal(true);
      const { externalAuthAccessToken: denied } = await w.as(other.agent).graphql(byId);
      expect(denied).to.deep.include({ accessToken: null, username: null });
      const delivered = (await events(ada)).filter(({ action }) => action === "DELIVER");
      expect(delivered).to.have.length(1);
      expect(delivered[0]!.actorKind).to.equal("agent");
      expect((await w.as(own.agent).failure(read)).code, "no provider serves the URL").to.equal("NOT_FOUND");
      expect((await w.as(own.agent).failure("{ externalAuthAccessToken { accessToken } }")).code).to.equal(
        "BAD_USER_INPUT",
      );
    });

    it("gives nothing to agents that have stopped, or whose owner is suspended", async () => {
      await link(hers);
      const { agent } = await w.workspace(ada);
      await setColumns(w, "users", { id: ada.id }, { status: "suspended" });
      expect((await w.as(agent).failure(byId)).code).to.equal("FORBIDDEN");
      await setColumns(w, "users", { id: ada.id }, { status: "active", credential_epoch: 0 });
      await setTimes(w, "workspace_agents", { id: agent.id }, { token_ended_at: "0 s" });
      expect((await w.as(agent).failure(byId)).code).to.be.oneOf(["UNAUTHENTICATED", "FORBIDDEN"]);
    });
  });

  describe("lists of links in GraphQL", () => {
    it("call the provider only for what it alone knows", async () => {
      await link(hers);
      await link(hers, "Second");
      lab.seen.length = 0;
      const quiet = await hers.graphql(
        "{ externalAuthProviders { id connectUrl link { providerId createdAt expires hasRefreshToken provider { id } } } externalAuthLinks { providerId } }",
      );
      expect(quiet.externalAuthLinks).to.deep.equal([{ providerId: "lab" }, { providerId: "second" }]);
      expect(quiet.externalAuthProviders[1]!.link.provider.id).to.equal("Second");
      expect(lab.seen).to.deep.equal([]);
      const { externalAuthProviders } = await hers.graphql("{ externalAuthProviders { link { authenticated } } }");
      expect(externalAuthProviders.map((each: { link: object }) => each.link)).to.deep.equal([
        { authenticated: true },
        { authenticated: true },
      ]);
      expect(lab.to("/user")).to.have.length(2);
    });
  });
});

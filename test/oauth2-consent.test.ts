// The authorization endpoint and device codes, from the decision of the user to the code: on pages and in GraphQL.
// Reaches for tables: credentials end behind the back of a replica, and codes are stored nowhere as text.
import { expect } from "chai";
import { tomorrow } from "./support/clock.js";
import { audited } from "./support/audit.js";
import { scopeCatalog } from "./support/catalog.js";
import { newToken } from "./support/token-rows.js";
import { startServer } from "./support/app.js";
import {
  appsPath,
  authorizePath,
  challenge,
  changeApp,
  deviceCode,
  deviceGrant,
  grantsOf,
  insertGrant,
  makeSecret,
  oauthApp,
  redeem,
  selfRegistered,
  verifier,
} from "./support/oauth2.js";
import { insert } from "./support/stage.js";
import { deleteRows, setColumns, setTimes, storedText } from "./support/tables.js";
import { type Answer, Client, type Person, world } from "./support/world.js";

const html = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };

const approve = `mutation($input: ApproveOAuth2AuthorizationInput!) {
  approveOAuth2Authorization(input: $input) { redirectUri } }`;
const deny = `mutation($input: DenyOAuth2AuthorizationInput!) { denyOAuth2Authorization(input: $input) { redirectUri } }`;
const read = `query($input: OAuth2AuthorizationRequestInput!) {
  oauth2AuthorizationRequest(input: $input) {
    app { clientId name isVerified host } redirectUri redirectTarget { kind name } scopes { name description }
    isUnrestricted audiences
  } }`;
const decideDevice = (verb: "approve" | "deny") => `mutation($userCode: String!) {
  ${verb}OAuth2Device(input: { userCode: $userCode }) { appName } }`;

const locationOf = ({ headers }: Pick<Answer, "headers">) => new URL(headers.get("location")!);
const parametersOf = (answer: Pick<Answer, "headers">) => Object.fromEntries(locationOf(answer).searchParams);

describe("OAuth2 consent", () => {
  // Requests of a test wait for one row together, or until the test has done something else.
  const w = world({ STEWARD_OAUTH2_CODE_TTL: "5m", STEWARD_REQUEST_TIMEOUT: "3m" });
  let ada: Person;
  const the = () => w().as(ada);
  const issuer = () => w().app.services.config.accessUrl;
  const grantsFor = (app: { id: string }) => grantsOf(w(), app);
  const input = (app: { id: string }, more: object = {}) => ({
    responseType: "code",
    clientId: app.id,
    state: "s",
    ...more,
  });

  before(async () => {
    ada = await w().user("ada");
  });

  /** Sends the form of a page, as a browser that is signed in. */
  async function submit(path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
    const cookie = `service_session_token=${ada.token}`;
    const { body } = await w().nobody.get("/", { cookie });
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(body)![1]!;
    return w().nobody.post(path, new URLSearchParams({ csrf_token, ...fields }).toString(), {
      ...urlencoded,
      ...html,
      cookie,
      origin: issuer(),
      ...headers,
    });
  }

  it("issues a code that is bound to the grant, the redirect URI, and the challenge", async () => {
    const app = await oauthApp(w());
    const path = authorizePath(app, { ...pkce, resource: [`${issuer()}/api/v2/`], scope: "workspace:read user:read" });
    const page = await the().get(path, html);
    expect(page).to.include({ status: 200 });
    expect(page.body).to.contain(ada.username).and.contain("bot.example.com").and.contain(`${issuer()}/api/v2`);

    const began = Date.now();
    const answer = await submit(path, { decision: "allow" });
    const ended = Date.now();
    expect(answer.status).to.equal(302);
    const { code, ...rest } = parametersOf(answer);
    expect(rest).to.deep.equal({ state: "xyz", iss: issuer() });
    expect(code).to.match(/^stwc_\w{10}_\w{43}$/);
    const [grant] = await grantsFor(app);
    expect(grant).to.deep.include({
      user: { id: ada.id },
      scopes: ["workspace:read", "user:read"],
      audiences: [`${issuer()}/api/v2`],
    });
    // Until the code is redeemed.
    expect(Date.parse(grant!.expiresAt) - 300_000).to.be.within(began, ended + 1);
    const [event] = await audited(w(), { resourceId: grant!.id });
    expect(event).to.include({ action: "AUTHORIZE", resourceType: "oauth2_grant", actorId: ada.id });
    expect(JSON.stringify(event)).to.not.contain(code!.slice(-43)).and.not.contain("xyz");
    expect(await storedText(w(), "oauth2_codes")).to.not.contain(code!.slice(-43));
    const client = { id: app.id, ...(await makeSecret(w(), app.id)) };
    const other = parametersOf(await submit(path, { decision: "allow" })).code!;
    expect(await redeem(w(), client, other, { code_verifier: `${verifier}x` })).to.include({ status: 400 });
    const bound = { code_verifier: verifier, redirect_uri: app.redirectUri };
    expect(await redeem(w(), client, code!, bound)).to.include({ status: 200 });
  });

  it("works the same in GraphQL", async () => {
    const app = await oauthApp(w(), { ...selfRegistered, name: "Helper", redirect_uris: ["http://127.0.0.1/cb"] });
    const given = input(app, {
      redirectUri: "http://127.0.0.1:9999/cb",
      scope: "workspace:* workspace:read",
      codeChallenge: challenge,
      codeChallengeMethod: "S256",
    });
    const { oauth2AuthorizationRequest } = await the().graphql(read, { input: given });
    expect(oauth2AuthorizationRequest).to.deep.equal({
      app: { clientId: app.id, name: "Helper", isVerified: false, host: null },
      redirectUri: "http://127.0.0.1:9999/cb",
      redirectTarget: { kind: "LOOPBACK", name: "127.0.0.1:9999" },
      scopes: [
        {
          name: "workspace:*",
          description: "See, create, change, start, stop, share, delete, and enter your workspaces.",
        },
      ],
      isUnrestricted: false,
      audiences: [],
    });
    const { approveOAuth2Authorization } = await the().graphql(approve, { input: given });
    expect(approveOAuth2Authorization.redirectUri).to.match(
      /^http:\/\/127\.0\.0\.1:9999\/cb\?code=stwc_\w+&state=s&iss=/,
    );
    const { denyOAuth2Authorization } = await the().graphql(deny, { input: given });
    expect(denyOAuth2Authorization.redirectUri)
      .to.match(/\?error=access_denied&/)
      .and.not.contain("code=");

    const { errors } = await the().failure(approve, { input: { ...given, codeChallenge: "short" } });
    expect(errors[0]!.extensions).to.include({ code: "BAD_USER_INPUT", oauthError: "invalid_request" });
    expect(errors[0]!.extensions.redirectUri).to.match(/^http:\/\/127\.0\.0\.1:9999\/cb\?error=invalid_request&/);
    const unknown = await the().failure(approve, { input: { ...given, redirectUri: "http://evil.example.com/" } });
    expect(unknown.errors[0]!.extensions).to.include({ oauthError: "invalid_request" });
    expect(unknown.errors[0]!.extensions).to.not.have.property("redirectUri");
    expect(await grantsFor(app)).to.have.length(1);
  });

  it("records a denial and grants nothing", async () => {
    const app = await oauthApp(w());
    for (const decision of ["deny", "anything else"]) {
      const answer = await submit(authorizePath(app), { decision });
      expect(answer.status).to.equal(302);
      expect(parametersOf(answer)).to.include({ error: "access_denied", state: "xyz", iss: issuer() });
    }
    expect(await grantsFor(app)).to.deep.equal([]);
    const events = await audited(w(), { resourceId: app.id });
    expect(events.map(({ action, actorId }) => [action, actorId])).to.deep.equal([1, 2].map(() => ["DENY", ada.id]));
  });

  it("accepts requests with a session or a full API key in a header, without a body or as JSON", async () => {
    const app = await oauthApp(w());
    const { createApiKey } = await the().graphql(`mutation { createApiKey(input: { name: "full" }) { token } }`);
    for (const { token } of [ada, createApiKey] as const) {
      expect(parametersOf(await w().as({ token }).post(authorizePath(app)))).to.have.property("code");
      const denied = await w().as({ token }).post(authorizePath(app), { decision: "deny" });
      expect(parametersOf(denied)).to.include({ error: "access_denied" });
    }
    expect(await the().post(authorizePath(app), "x", { "Content-Type": "text/plain" })).to.include({ status: 415 });
  });

  it("rejects narrowed keys, access tokens of applications, and callers that are not signed in", async () => {
    const app = await oauthApp(w());
    const { createApiKey } = await the().graphql(
      `mutation { createApiKey(input: { name: "narrow", scopes: ["workspace:*", "oauth2_grant:*"] }) { token } }`,
    );
    const { text, id, secretHash } = newToken("oauth");
    await insert(w(), {
      api_keys: [
        {
          id,
          user_id: ada.id,
          kind: "oauth",
          name: "",
          scopes: ["all"],
          secret_hash: `\\x${secretHash.toString("hex")}`,
          created_at: "now",
          expires_at: tomorrow(),
        },
      ],
    });
    for (const token of [createApiKey.token, text]) {
      for (const method of ["GET", "POST"]) {
        const answer = await w().as({ token }).request(method, authorizePath(app));
        expect(answer.status, token).to.equal(403);
        expect(answer.headers.get("location")).to.equal(null);
      }
      for (const document of [approve, deny]) {
        const failure = await w()
          .as({ token })
          .failure(document, { input: input(app) });
        expect(failure.code).to.equal("FORBIDDEN");
      }
    }
    for (const [headers, status] of [
      [{}, 401],
      [{ Authorization: "Bearer nonsense" }, 401],
      [html, 303],
    ] as const) {
      const answers = [
        await w().nobody.get(authorizePath(app), headers),
        await w().nobody.post(authorizePath(app), undefined, headers),
      ];
      for (const answer of answers) {
        expect(answer.status).to.equal(status);
        if (status === 303)
          expect(answer.headers.get("location")).to.equal(
            `/login?${new URLSearchParams({ return_to: authorizePath(app) }).toString()}`,
          );
        else expect(answer.body.error).to.equal("invalid_token");
      }
    }
    expect(await grantsFor(app)).to.deep.equal([]);
  });

  describe("reports faults to the application", () => {
    type Case = [what: string, error: string, changes: Record<string, string | undefined>, columns?: object];
    const cases: Case[] = [
      ["no response_type", "invalid_request", { response_type: undefined }],
      ["an empty response_type", "invalid_request", { response_type: "" }],
      ["response_type token", "unsupported_response_type", { response_type: "token" }],
      ["a hybrid response_type", "unsupported_response_type", { response_type: "code token" }],
      ["neither state nor challenge", "invalid_request", { state: undefined }],
      ["no challenge where PKCE is required", "invalid_request", {}, { pkce_required: true }],
      ["a removed challenge", "invalid_request", { code_challenge_method: "S256" }],
      ["a short challenge", "invalid_request", { ...pkce, code_challenge: challenge.slice(1) }],
      ["a challenge in base64", "invalid_request", { ...pkce, code_challenge: `${challenge.slice(1)}+` }],
      ["the method plain", "invalid_request", { ...pkce, code_challenge_method: "plain" }],
      ["no method", "invalid_request", { code_challenge: challenge }],
      ["a request object", "request_not_supported", { request: "e30." }],
      ["a reference to a request object", "request_uri_not_supported", { request_uri: "https://a.example/r" }],
      ["response_mode fragment", "invalid_request", { response_mode: "fragment" }],
      ["a large state", "invalid_request", { state: "s".repeat(4097) }],
      ["a scope beyond the ceiling", "invalid_scope", { scope: "all" }, { scope_ceiling: ["user:read"] }],
      ["too many scopes", "invalid_scope", { scope: Array.from({ length: 101 }, (_, n) => `s${n}`).join(" ") }],
      ["an unknown resource", "invalid_target", { resource: "https://other.example.com/" }],
      ["a malformed resource", "invalid_target", { resource: "#" }],
      ["an application without the code grant", "unauthorized_client", {}, { grant_types: [deviceGrant] }],
    ];
    for (const [what, error, changes, columns = {}] of cases) {
      it(what, async () => {
        const preset = ["state", "%63ode", "iss", "error", "error_description", "error_uri"].map(
          (name) => `&${name}=x`,
        );
        const redirect_uris = [`https://bot.example.com/cb?keep=1${preset.join("")}`];
        const app = await oauthApp(w(), { redirect_uris, ...columns });
        const state = "state" in changes ? changes.state : " a+b&c=d%ü🔑";
        for (const method of ["GET", "POST"]) {
          const answer = await the().request(method, authorizePath(app, { state, ...changes }));
          expect(answer.status).to.equal(302);
          const { error_description, ...rest } = parametersOf(answer);
          expect(rest).to.deep.equal({ keep: "1", error, iss: issuer(), ...(state && { state }) });
          expect(error_description).to.match(/^[ !#-[\]-~]+\.$/);
          const names = [...locationOf(answer).searchParams.keys()];
          expect(names).to.deep.equal([...new Set(names)]);
        }
        expect(await grantsFor(app)).to.deep.equal([]);
      });
    }
  });

  it("drops unknown scopes, and never requests more for them", async () => {
    const app = await oauthApp(w());
    for (const [scope, scopes] of [
      ["bogus", ["user:read"]],
      ["bogus task:read", ["task:read"]],
      [undefined, ["all"]],
      ["", ["all"]],
    ] as const) {
      await the().post(authorizePath(app, { scope }));
      expect((await grantsFor(app)).at(-1)!.scopes).to.deep.equal(scopes);
    }
  });

  it("never redirects to an unregistered URI, however it is written", async () => {
    const registered = ["https://bot.example.com/callback", "http://127.0.0.1/cb", "com.example.bot:/cb"];
    const app = await oauthApp(w(), { redirect_uris: registered });
    const evil = "evil.example.com";
    const forms = [
      (uri: string) => `${uri}/`,
      (uri: string) => `${uri}?`,
      (uri: string) => `${uri}#`,
      (uri: string) => `${uri}#@${evil}`,
      (uri: string) => `${uri}?next=//${evil}`,
      (uri: string) => `${uri}%00`,
      (uri: string) => `${uri}/../..//${evil}`,
      (uri: string) => `${uri}.${evil}`,
      (uri: string) => `${uri}\\@${evil}`,
      (uri: string) => `${uri}\r\nLocation: https://${evil}`,
      (uri: string) => ` ${uri}`,
      (uri: string) => `\t${uri}`,
      (uri: string) => `${uri} `,
      (uri: string) => `\u0000${uri}`,
      (uri: string) => `${uri}\u200b`,
      (uri: string) => uri.toUpperCase(),
      (uri: string) => uri.replace(":", "%3A"),
      (uri: string) => uri.replace(/cb|callback/, "./$&"),
      (uri: string) => uri.replace(/cb|callback/, "%2e%2e/$&"),
      (uri: string) => uri.replace(/c(b|allback)$/, "%63$1"),
      (uri: string) => uri.replace("//", "///"),
      (uri: string) => uri.replace("//", "/\\"),
      (uri: string) => uri.replace("//", `//user@`),
      (uri: string) => uri.replace("//", `//${evil}@`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&@${evil}`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&:443@${evil}`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&:80\\@${evil}`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&.${evil}`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&:99999`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&%2f.${evil}`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&。`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `$&.`),
      (uri: string) => uri.replace(/\/\/[^/]+/, `//sub.$&`.replace(".//", ".")),
      (uri: string) =>
        uri.replace("127.0.0.1", "127.0.0.2").replace("bot.", "b\u043et.").replace("example.bot", "example.b0t"),
      (uri: string) =>
        uri.replace("127.0.0.1", "localhost").replace("https", "http").replace("example.bot", "evil.bot"),
      (uri: string) =>
        uri.replace("127.0.0.1", "2130706433").replace("bot.example", "bot-example").replace(":/", "://"),
      (uri: string) => uri.replace("127.0.0.1", "[::ffff:127.0.0.1]").replace("bot.example.com", evil),
      (uri: string) => uri.replace("127.0.0.1", "0x7f.1").replace("example.com", "example.co").replace("com.", "net."),
      (uri: string) => uri.replace(/^[a-z.]+:/, "javascript:"),
      (uri: string) => uri.replace(/^[a-z.]+:/, "data:text/html,"),
      (uri: string) => uri.replace(/^[a-z.]+:/, ""),
      (uri: string) => `//${evil}/${uri}`,
      (uri: string) => `https://${evil}/?${uri}`,
      (uri: string) => `https://${evil}/#${uri}`,
      (uri: string) => `https://${evil}\\${uri}`,
      (uri: string) => `javascript:alert(1)//${uri}`,
      (uri: string) => `${uri},https://${evil}`,
      (uri: string) => `${uri} https://${evil}`,
      (uri: string) => `*`.padEnd(uri.length, "*"),
      (uri: string) => `${uri.slice(0, -1)}*`,
      (uri: string) => uri.slice(0, -1),
      (uri: string) => `/${uri}`,
      (uri: string) => "/callback".padEnd(uri.length, "x"),
      (uri: string) => `view-source:${uri}`,
      (uri: string) => `blob:${uri}`,
      (uri: string) => `${uri};${evil}`,
      (uri: string) => `${uri}&redirect_uri=https://${evil}`,
      (uri: string) => `${uri}%0d%0aLocation:%20https://${evil}`,
      (uri: string) => `${uri}\u2028`,
      (uri: string) => `\ufeff${uri}`,
      (uri: string) => "x".repeat(3000) + uri,
      (uri: string) => encodeURIComponent(uri),
      (uri: string) => uri.replaceAll("/", "//"),
      (uri: string) => uri.replace(/[a-z]/, (letter) => letter.toUpperCase()),
      (uri: string) => uri.replace("o", "%6f").replace("b", "%62"),
      (uri: string) => uri.replace("/c", "//c"),
      (uri: string) => uri.replace("/c", "/;/c"),
      (uri: string) => `${uri}/${evil}`,
    ];
    const mutated = [...new Set(forms.flatMap((form) => registered.map(form)))].filter(
      (uri) => !registered.includes(uri),
    );
    expect(mutated.length).to.be.at.least(180);
    const repeated = registered.map((uri) => [uri, `https://${evil}/`]);
    let tried = 0;
    for (const redirect_uri of [...mutated, ...repeated, ...registered.map((uri) => [uri, uri])]) {
      for (const [method, changes] of [
        ["GET", {}],
        ["POST", {}],
        ["GET", { response_type: "token" }],
      ] as const) {
        const answer = await the().request(method, authorizePath(app, { redirect_uri, ...changes }));
        expect(answer.status, JSON.stringify(redirect_uri)).to.equal(400);
        expect(answer.headers.get("location"), JSON.stringify(redirect_uri)).to.equal(null);
        expect(answer.body.error).to.equal("invalid_request");
        tried++;
      }
    }
    expect(tried).to.be.at.least(560);
    expect(await the().get(authorizePath(app))).to.include({ status: 400 }); // Several are registered.
    expect(await grantsFor(app)).to.deep.equal([]);
    for (const [uri, wanted] of [
      ["http://127.0.0.1:1234/cb", /^http:\/\/127\.0\.0\.1:1234\/cb\?code=/],
      ["com.example.bot:/cb", /^com\.example\.bot:\/cb\?code=/],
    ] as const)
      expect((await the().post(authorizePath(app, { redirect_uri: uri }))).headers.get("location")).to.match(wanted);
  });

  it("shows faults of the application to the user only, as a page or in the format of the protocol", async () => {
    const app = await oauthApp(w());
    const off = await oauthApp(w(), { is_disabled: true });
    const requests: Array<[string, Record<string, string | string[] | undefined>]> = [
      [app.id, { client_id: undefined }],
      [app.id, { client_id: "unknown" }],
      [app.id, { client_id: "https://unknown.example.com/client.json" }],
      [app.id, { client_id: [app.id, app.id] }],
      [off.id, {}],
    ];
    for (const [id, changes] of requests) {
      const path = authorizePath({ id }, changes);
      for (const method of ["GET", "POST"]) {
        const json = await the().request(method, path);
        expect(json, path).to.include({ status: 400 });
        expect(json.body.error).to.equal("invalid_request");
        const page = await the().request(method, path, undefined, html);
        expect(page).to.include({ status: 400 });
        expect(page.body).to.contain("<h1>").and.contain("Status 400");
        for (const { headers } of [json, page]) expect(headers.get("location")).to.equal(null);
      }
    }
  });

  it("escapes what applications send, and forbids scripts, frames, caching, and foreign form targets", async () => {
    const app = await oauthApp(w(), {
      ...selfRegistered,
      kind: "document",
      name: `<script>alert(1)</script>"'`,
      document_url: "https://tools.example.com/client.json",
      document_fresh_until: tomorrow(),
      document_usable_until: tomorrow(),
      redirect_uris: ["com.example.tools:/cb"],
    });
    const evil = `"><script>alert(2)</script>`;
    const path = authorizePath(app, { ...pkce, client_id: "https://tools.example.com/client.json", state: evil });
    const { headers, body } = await the().get(path, html);
    expect(body)
      .to.not.contain("<script")
      .and.not.match(/\son\w+=/);
    expect(body).to.contain("tools.example.com").and.contain("Registered itself, not verified.");
    expect(body).to.contain("com.example.tools:").and.contain("Use another account");
    expect(headers.get("content-security-policy")).to.equal(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self' com.example.tools:",
    );
    for (const [name, value] of Object.entries({
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      pragma: "no-cache",
      "x-content-type-options": "nosniff",
    }))
      expect(headers.get(name), name).to.equal(value);

    const sourceOf = async (uri: string) => {
      const odd = await oauthApp(w(), { redirect_uris: [uri] });
      const page = await the().get(authorizePath(odd), html);
      return /form-action 'self' (.*)$/.exec(page.headers.get("content-security-policy")!)?.[1];
    };
    expect(await sourceOf("https://bot.example.com:8443/cb?a=b")).to.equal("https://bot.example.com:8443");
    expect(await sourceOf("http://[::1]:7777/cb")).to.equal("http:");
    expect(await sourceOf("https://a.example;script-src/cb")).to.equal("https:");
    expect(await sourceOf("https://a.example,b/cb")).to.equal("https:");
  });

  it("takes decisions only from its own form", async () => {
    const app = await oauthApp(w());
    const path = authorizePath(app);
    const cookie = `service_session_token=${ada.token}`;
    const attempts: Array<[fields: Record<string, string>, headers: Record<string, string>, status: number]> = [
      [{ csrf_token: "" }, {}, 403],
      [{ csrf_token: "A".repeat(43) }, {}, 403],
      [{}, { origin: "https://evil.example.com", Accept: "application/json" }, 401],
      [{}, { origin: "https://evil.example.com" }, 303],
      [{}, { origin: "null" }, 303],
      [{}, { "sec-fetch-site": "cross-site" }, 303],
      [{}, { "sec-fetch-site": "same-site" }, 303],
      [{}, { "sec-fetch-site": "none" }, 303],
    ];
    for (const [fields, headers, status] of attempts) {
      const answer = await submit(path, fields, headers);
      expect(answer.status, JSON.stringify([fields, headers])).to.equal(status);
      expect(answer.headers.get("location") ?? "/login").to.match(/^\/login/);
    }
    const withoutToken = await w().nobody.post(path, "decision=allow", { ...urlencoded, cookie, origin: issuer() });
    expect(withoutToken).to.include({ status: 403 });
    const inQuery = await w().nobody.post(`${path}&csrf_token=x`, "", { ...urlencoded, cookie, origin: issuer() });
    expect(inQuery).to.include({ status: 403 });
    expect(await grantsFor(app)).to.deep.equal([]);
    // Parameters of the request are in the query alone.
    const swapped = await submit(path, { redirect_uri: "https://evil.example.com/", scope: "all", state: "other" });
    expect(locationOf(swapped).host).to.equal("bot.example.com");
    expect(parametersOf(swapped)).to.include({ state: "xyz" });
    expect((await grantsFor(app))[0]!.scopes).to.deep.equal(["workspace:read"]);
  });

  it("leads nowhere else after the sign-in, and decides nothing by itself", async () => {
    const app = await oauthApp(w());
    for (const changes of [{}, { redirect_uri: "//evil.example.com" }, { state: "x".repeat(4000) }]) {
      const path = authorizePath(app, changes);
      const { headers } = await w().nobody.get(path, html);
      const login = new URL(headers.get("location")!, w().url);
      expect(login.pathname).to.equal("/login");
      expect(login.searchParams.get("return_to")).to.equal(path);
      const page = await w().nobody.get(login.pathname + login.search, html);
      expect(page.status).to.equal(200);
      expect(page.body).to.contain(`name="return_to" value="${path.replaceAll("&", "&amp;")}"`);
    }
    await the().post(authorizePath(app));
    expect(await the().get(authorizePath(app), html)).to.include({ status: 200 }); // Asks again.
    expect(await the().get(authorizePath(app, { prompt: "none" }), html)).to.include({ status: 200 });
  });

  it("has at most twenty grants after concurrent decisions, and nothing for a credential or an application that has ended", async () => {
    const app = await oauthApp(w());
    const answers = await Promise.all(Array.from({ length: 30 }, () => the().post(authorizePath(app))));
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(30).fill(302));
    const live = (await grantsFor(app)).filter(({ revokedAt }) => revokedAt === null);
    expect(live).to.have.length(20);

    const bob = await w().user("bob");
    expect(await w().as(bob).post(authorizePath(app))).to.include({ status: 302 });
    // Another replica has not noticed the end of the session yet.
    await deleteRows(w(), "api_keys", { user_id: bob.id });
    expect(await w().as(bob).post(authorizePath(app))).to.include({ status: 401 });
    const joe = await w().user("joe");
    expect(await w().as(joe).get(authorizePath(app))).to.include({ status: 200 });
    await setTimes(w(), "api_keys", { user_id: joe.id }, { expires_at: "0 s" });
    expect(await w().as(joe).post(authorizePath(app))).to.include({ status: 401 });
    const eve = await w().user("eve");
    expect(await w().as(eve).get(authorizePath(app))).to.include({ status: 200 });
    // The suspension has not ended the sessions yet.
    await setColumns(w(), "users", { id: eve.id }, { status: "suspended" });
    expect(await w().as(eve).post(authorizePath(app))).to.include({ status: 401 });
    expect((await grantsFor(app)).filter(({ user }) => user.id !== ada.id)).to.have.length(1);

    const doomed = await oauthApp(w());
    const racing = await Promise.all([
      ...Array.from({ length: 10 }, () => the().post(authorizePath(doomed))),
      w().as(w().owner).delete(`${appsPath}/${doomed.id}`),
    ]);
    for (const answer of racing.slice(0, 10)) expect([302, 400]).to.include(answer.status);
    expect(racing.at(-1)).to.include({ status: 204 });
    expect(await grantsFor(doomed)).to.deep.equal([]);
  });

  it("ends the grant that was not used for the longest time when there are too many", async () => {
    const app = await oauthApp(w());
    const { id: userId } = ada;
    const times = Array.from({ length: 20 }, (_, days) => new Date(Date.now() - (days + 1) * 86_400_000).toISOString());
    const held: string[] = [];
    for (const last_used_at of times) held.push((await insertGrant(w(), userId, app.id, { last_used_at })).id);
    expect(await the().post(authorizePath(app))).to.include({ status: 302 });
    const query = `query($app: UUID!) { oauth2Grants(user: "me", app: $app, includeEnded: true) { nodes { id revokeReason } } }`;
    const { nodes } = (await the().graphql(query, { app: app.id })).oauth2Grants;
    const ended = (nodes as Array<{ id: string; revokeReason: string | null }>).filter((each) => each.revokeReason);
    expect(nodes).to.have.length(21);
    expect(ended).to.deep.equal([{ id: held.at(-1), revokeReason: "SUPERSEDED" }]);
  });

  it("grants access to resources of the server and of applications, however their URIs are spelled, and to no others", async () => {
    const app = await oauthApp(w());
    const own = issuer();
    const [mcp, other] = ["https://mcp.example.com/mcp", "https://second.example.com"] as const;
    await changeApp(w(), app, { resourceIndicators: [mcp, other] });
    for (const [resource, audiences] of [
      [["https://MCP.example.com:443/mcp/"], [mcp]],
      [
        [`${other}/`, mcp, `${mcp}/`, `${own}/api/v2/`, `${own}/graphql`, own],
        [other, mcp, `${own}/api/v2`, `${own}/graphql`, own],
      ],
      [Array<string>(16).fill(own), [own]],
    ] as const) {
      await the().graphql(approve, { input: input(app, { resource }) });
      expect((await grantsFor(app)).at(-1)!.audiences).to.deep.equal(audiences);
    }
    const unknown = "A resource is unknown to this server.";
    for (const [resource, message] of [
      [[`${own}/api`], unknown],
      [[mcp, "https://unknown.example.com"], unknown],
      [[own, "https://unknown.example.com"], unknown],
      [[mcp, "unknown"], unknown],
      [Array<string>(17).fill(own), "At most 16 resources are accepted."],
    ] as const) {
      const { errors } = await the().failure(approve, { input: input(app, { resource }) });
      expect(errors[0]!.message).to.include(message);
      expect(errors[0]!.extensions, resource[0]).to.include({ oauthError: "invalid_target" });
    }
  });

  it("describes every scope in a sentence", async () => {
    const app = await oauthApp(w());
    const described = async (scope: string) =>
      (await the().graphql(read, { input: input(app, { scope }) })).oauth2AuthorizationRequest.scopes as object[];
    for (const scope of scopeCatalog) {
      const [only, ...others] = await described(scope);
      expect(others).to.deep.equal([]);
      expect(only)
        .to.include({ name: scope })
        .and.to.have.property("description")
        .that.matches(/^[A-Z].*[a-z]\.?$/);
    }
  });

  it("limits requests by address and user, on pages and in GraphQL alike", async () => {
    const replica = await startServer(w().database.url, {
      STEWARD_RATE_LIMIT_CREDENTIAL: "3",
      STEWARD_RATE_LIMIT_CREDENTIAL_IP: "9",
    });
    try {
      const client = new Client(replica.url, ada.token);
      const app = await oauthApp(w());
      const other = await oauthApp(w());
      expect(await client.get(authorizePath(app))).to.include({ status: 200 });
      expect(await client.post(authorizePath(app))).to.include({ status: 302 });
      await client.graphql(read, { input: input(app) });
      const refused = await client.get(authorizePath(app));
      expect(refused).to.include({ status: 429 });
      expect(refused.body.error).to.equal("temporarily_unavailable");
      expect(Number(refused.headers.get("retry-after"))).to.be.at.least(1);
      expect((await client.failure(approve, { input: input(app) })).code).to.equal("RATE_LIMITED");
      expect(await client.get(authorizePath(other), html)).to.include({ status: 429 });
      // Others at the address are not rejected, whatever the application is.
      const colleague = new Client(replica.url, (await w().user("colleague")).token);
      expect(await colleague.get(authorizePath(app), html)).to.include({ status: 200 });
      const nobody = new Client(replica.url);
      expect(await nobody.get(authorizePath(other), html)).to.include({ status: 303 });
      expect(await nobody.get("/oauth2/device", html)).to.include({ status: 303 });
      const page = await nobody.get(authorizePath(other), html);
      expect(page).to.include({ status: 429 });
      expect(page.body).to.contain("<h1>Too many requests.");
      expect(await nobody.get("/oauth2/device", html)).to.include({ status: 429 });
    } finally {
      await replica.close();
    }
  });

  it("does not exist where OAuth2 is switched off", async () => {
    const replica = await startServer(w().database.url, { STEWARD_OAUTH2_ENABLED: "false" });
    try {
      const client = new Client(replica.url, ada.token);
      for (const path of ["/oauth2/authorize", "/oauth2/device"])
        expect(await client.get(path)).to.include({ status: 404 });
      const failure = await client.failure(approve, { input: input(await oauthApp(w())) });
      expect(failure.code).to.equal("NOT_FOUND");
    } finally {
      await replica.close();
    }
  });

  describe("for devices", () => {
    const path = "/oauth2/device";
    const isPending = async (userCode: string) => {
      const query = `query($userCode: String!) { oauth2DeviceRequest(userCode: $userCode) { userCode } }`;
      const { body } = await w().as(bob).post("/graphql", { query, variables: { userCode } });
      expect(body.data.oauth2DeviceRequest ? undefined : body.errors[0].extensions.code).to.be.oneOf([
        undefined,
        "NOT_FOUND",
      ]);
      return body.data.oauth2DeviceRequest !== null;
    };
    let bob: Person;
    before(async () => {
      bob = await w().user("bob");
    });
    const cli = () => oauthApp(w(), { ...selfRegistered, name: "CLI", redirect_uris: [], grant_types: [deviceGrant] });
    const dashed = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`.toLowerCase();

    it("shows the request of a prefilled code, and grants access after a confirmation only", async () => {
      const app = await cli();
      const end = new Date(Date.now() + 600_000).toISOString();
      const code = await deviceCode(w(), app, { expires_at: end });
      const page = await the().get(`${path}?user_code=${dashed(code)}`, html);
      expect(page).to.include({ status: 200 });
      for (const text of [
        "CLI",
        dashed(code).toUpperCase(),
        "203.0.113.7",
        "See your profile",
        ada.username,
        "not verified",
      ])
        expect(page.body).to.contain(text);
      expect(await isPending(code)).to.equal(true);
      expect(await grantsFor(app)).to.deep.equal([]);

      const answer = await submit(path, { user_code: dashed(code), decision: "allow" });
      expect(answer).to.include({ status: 200 });
      expect(answer.body).to.contain("Access allowed");
      const [grant] = await grantsFor(app);
      expect(grant).to.deep.include({ user: { id: ada.id }, scopes: ["user:read", "workspace:*"] });
      // Until the device gets its tokens, for which it has as long as its code.
      expect(Date.parse(grant!.expiresAt)).to.equal(Date.parse(end));
      expect(await submit(path, { user_code: code })).to.include({ status: 404 });
    });

    it("works the same in GraphQL, for one of many decisions", async () => {
      const app = await cli();
      const code = await deviceCode(w(), app);
      const outcomes = await Promise.allSettled(
        (["approve", "deny", "approve", "deny", "approve"] as const).map((verb) =>
          the().graphql(decideDevice(verb), { userCode: dashed(code) }),
        ),
      );
      const [won, ...others] = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
      expect(others).to.deep.equal([]);
      expect(await grantsFor(app)).to.have.length(won! % 2 === 0 ? 1 : 0);
      expect(await isPending(code)).to.equal(false);
    });

    it("denies, and rejects used, expired, and unknown codes and applications that lost the grant type", async () => {
      const app = await cli();
      const code = await deviceCode(w(), app);
      expect((await submit(path, { user_code: code, decision: "deny" })).body).to.contain("Access denied");
      expect(await grantsFor(app)).to.deep.equal([]);
      const expired = await deviceCode(w(), app, { expires_at: "yesterday" });
      const foreign = await deviceCode(w(), await oauthApp(w()));
      for (const [userCode, wanted] of [
        [code, "NOT_FOUND"],
        [expired, "NOT_FOUND"],
        ["", "NOT_FOUND"],
        ["BCDF%", "NOT_FOUND"],
        [foreign, "FORBIDDEN"],
      ])
        expect((await w().as(bob).failure(decideDevice("approve"), { userCode })).code, userCode).to.equal(wanted);
    });

    it("limits wrong codes to ten within ten minutes, for each user, on all replicas, whatever the concurrency", async () => {
      const app = await cli();
      const mallory = await w().user("mallory");
      const right = await deviceCode(w(), app);
      const wrong = await Promise.all(
        Array.from({ length: 25 }, () => w().as(mallory).failure(decideDevice("approve"), { userCode: "BBBB-BBBB" })),
      );
      const codes = wrong.map(({ code }) => code).sort();
      expect(codes).to.deep.equal([...Array(10).fill("NOT_FOUND"), ...Array(15).fill("RATE_LIMITED")]);
      const replica = await startServer(w().database.url);
      try {
        const elsewhere = new Client(replica.url, mallory.token);
        expect((await elsewhere.failure(decideDevice("approve"), { userCode: right })).code).to.equal("RATE_LIMITED");
        const page = await elsewhere.get(`${path}?user_code=${right}`, html);
        expect(page).to.include({ status: 429 });
        expect(Number(page.headers.get("retry-after"))).to.be.within(1, 600);
      } finally {
        await replica.close();
      }
      expect(await the().graphql(decideDevice("approve"), { userCode: right })).to.be.an("object");
    });

    it("asks for a session, and for the form's own token", async () => {
      const code = await deviceCode(w(), await cli());
      expect((await w().nobody.get(`${path}?user_code=${code}`)).headers.get("location")).to.equal(
        `/login?return_to=${encodeURIComponent(`${path}?user_code=${code}`)}`,
      );
      expect(await the().get(path, html)).to.include({ status: 200 });
      expect(await submit(path, { user_code: code, csrf_token: "x" })).to.include({ status: 403 });
      expect(await submit(path, { user_code: code }, { origin: "https://evil.example.com" })).to.include({
        status: 303,
      });
      expect(await isPending(code)).to.equal(true);
    });
  });
});

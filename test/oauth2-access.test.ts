// What access tokens of OAuth2 applications open, what they do not, and how clients learn what they need.
import { once } from "node:events";
import { expect } from "chai";
import { WebSocket } from "ws";
import { authorizePath, makeAccess, oauthApp, unknownSecret } from "./support/oauth2.js";
import { type Client, type Person, sharedWorld } from "./support/world.js";

const groups = "/api/v2/groups";
const query = "{ groups(first: 1) { nodes { id } } }";

const shared = sharedWorld({ STEWARD_CORS_ORIGINS: "https://dashboard.example.com" });

describe("access tokens of OAuth2 applications", () => {
  const the = shared();
  let ada: Person;
  before(async () => (ada = await the().user("ada")));
  const accessUrl = () => the().app.services.config.accessUrl;
  const access = async (options: Parameters<typeof makeAccess>[2]) => makeAccess(the(), ada, options);

  const overRest = async (client: Client) => (await client.get(groups)).status;
  const overGraphql = async (client: Client) => (await client.post("/graphql", { query })).status;

  /** Subscribes over a socket. Returns `connected`, or the code that closes the socket. */
  async function overSocket(connect: { token?: string; header?: string; session?: string }): Promise<string | number> {
    const socket = new WebSocket(`${the().url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
      headers: {
        ...(connect.header && { Authorization: `Bearer ${connect.header}` }),
        ...(connect.session && { "Service-Session-Token": connect.session }),
      },
    });
    const closed = once(socket, "close").then(([code]) => code as number);
    socket.on("error", () => {});
    socket.on("open", () =>
      socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: connect.token } })),
    );
    const first = once(socket, "message").then(() => "connected");
    const outcome = await Promise.race([closed, first.catch(() => closed)]);
    socket.terminate();
    return outcome;
  }

  /** Returns the statuses over REST and GraphQL, and how the two ways of sockets end. */
  async function opens(token: string) {
    const client = the().as({ token });
    return {
      rest: await overRest(client),
      graphql: await overGraphql(client),
      sockets: await overSocket({ token }),
      upgrades: await overSocket({ header: token }),
    };
  }

  const everything = { rest: 200, graphql: 200, sockets: "connected", upgrades: "connected" };

  it("open all surfaces if they are for all of this server", async () => {
    expect(await opens(await access({}))).to.deep.equal(everything);
    expect(await opens(await access({ audiences: [accessUrl()] }))).to.deep.equal(everything);
    const both = [`${accessUrl()}/api/v2`, `${accessUrl()}/graphql`];
    expect(await opens(await access({ audiences: both }))).to.deep.equal(everything);
  });

  it("open just the resource that they are for, on sockets as well", async () => {
    const rest = await opens(await access({ audiences: [`${accessUrl()}/api/v2`] }));
    expect(rest).to.include({ rest: 200, graphql: 401, sockets: 4403 }).and.not.include({ upgrades: "connected" });
    const graphql = await opens(await access({ audiences: [`${accessUrl()}/graphql`] }));
    expect(graphql).to.deep.equal({ ...everything, rest: 401 });
  });

  it("open nothing here if they are for another resource", async () => {
    const others = [
      "https://mcp.example.com",
      `${accessUrl()}/api/v20`,
      `${accessUrl()}/api`.slice(0, -1),
      `${accessUrl()}.evil.example`,
      `${accessUrl()}/scim`,
    ];
    for (const audience of others) {
      const { rest, graphql, sockets, upgrades } = await opens(await access({ audiences: [audience] }));
      expect({ rest, graphql, sockets }, audience).to.deep.equal({ rest: 401, graphql: 401, sockets: 4403 });
      expect(upgrades, audience).to.not.equal("connected");
    }
    const token = await access({ audiences: [others[0]!] });
    const { body, headers } = await the().as({ token }).get(groups);
    expect(body.detail).to.equal("The token is issued for another resource.");
    expect(headers.get("www-authenticate")).to.match(
      /error="invalid_token", error_description="The token is issued for another resource\."$/,
    );
  });

  it("are taken in the session header as in Authorization, with the same checks, and nowhere else", async () => {
    const w = the();
    const inHeader = async (options: Parameters<typeof makeAccess>[2]) => {
      const headers = { "Service-Session-Token": await access(options) };
      const rest = await w.nobody.get(groups, headers);
      const graphql = await w.nobody.post("/graphql", { query }, headers);
      return { rest, graphql, statuses: [rest.status, graphql.status] };
    };
    expect((await inHeader({})).statuses).to.deep.equal([200, 200]);
    expect((await inHeader({ audiences: [`${accessUrl()}/api/v2`] })).statuses).to.deep.equal([200, 401]);
    const foreign = await inHeader({ audiences: ["https://mcp.example.com"] });
    expect(foreign.statuses).to.deep.equal([401, 401]);
    expect(foreign.rest.body.detail).to.equal("The token is issued for another resource.");
    const narrow = await inHeader({ scopes: ["user:read"] });
    expect(narrow.rest.status).to.equal(403);
    expect(narrow.rest.headers.get("www-authenticate")).to.match(/error="insufficient_scope", scope="group:read"$/);
    const socket = await overSocket({ session: await access({}) });
    expect(socket).to.equal("connected");

    const token = await access({});
    const cookie = { Cookie: `service_session_token=${token}`, Origin: accessUrl() };
    const inCookie = await w.nobody.get(groups, cookie);
    expect(inCookie.status).to.equal(401);
    expect(inCookie.body.detail).to.match(/Authorization: Bearer or Service-Session-Token, and never in a cookie\.$/);
    const inQuery = await w.nobody.get(`${groups}?access_token=${token}`);
    expect(inQuery.status).to.equal(401);
    expect(inQuery.body.detail).to.equal(
      "No credential was sent. Tokens are not taken from URLs: use Authorization: Bearer.",
    );
    expect(JSON.stringify(inQuery.body)).to.not.contain(token);
  });

  it("approve no consent, make no key, and send no form of a page, wherever they are sent", async () => {
    const w = the();
    const app = await oauthApp(w);
    const token = await makeAccess(w, w.owner, { scopes: ["all"] });
    const headers: Array<Record<string, string>> = [
      { "Service-Session-Token": token },
      { Authorization: `Bearer ${token}` },
    ];
    const key = `mutation { createApiKey(input: { name: "x" }) { token } }`;
    for (const each of headers) {
      expect((await w.nobody.get(authorizePath(app), each)).status).to.equal(403);
      const allowed = await w.nobody.post(authorizePath(app), undefined, each);
      expect([allowed.status, allowed.headers.get("location")]).to.deep.equal([403, null]);
      const { body } = await w.nobody.post("/graphql", { query: key }, each);
      expect(body.errors[0].extensions.code).to.equal("FORBIDDEN");
      for (const [path, form] of [
        ["/oauth2/device", "user_code=BCDF-GHJK&decision=allow"],
        ["/account/keys", "action=revoke_others"],
        ["/account/password", "currentPassword=x&newPassword=y"],
        ["/account/applications", "id=00000000-0000-7000-8000-000000000000"],
        ["/external-auth/github", "action=unlink"],
      ] as const) {
        const sent = await w.nobody.post(path, form, { ...each, "Content-Type": "application/x-www-form-urlencoded" });
        expect(sent.status, path).to.equal(403);
      }
    }
    expect((await w.as(w.owner).graphql("{ apiKeys { kind } }")).apiKeys).to.not.deep.include({ kind: "TOKEN" });
  });

  it("and other credentials in a wrong place are told the right one", async () => {
    const w = the();
    const secret = "x".repeat(43);
    const key = `stwk_${secret}`;
    const inSession = (text: string) => ({ "Service-Session-Token": text });
    const inBearer = (text: string) => ({ Authorization: `Bearer ${text}` });
    for (const [headers, place] of [
      [inSession(key), /Service-Provisioner-Key/],
      [inBearer(key), /Service-Provisioner-Key/],
      [inSession(`stwp_${"0".repeat(32)}_${secret}`), /Service-Proxy-Token/],
      [inSession(`stwi_0123456789_${secret}`), /below \/scim\/v2/],
      [inBearer(unknownSecret("refreshToken")), /exchanged for access tokens at \/oauth2\/tokens/],
      [inBearer(unknownSecret("code")), /exchanged for access tokens at \/oauth2\/tokens/],
      [inBearer(unknownSecret("deviceCode")), /exchanged for access tokens at \/oauth2\/tokens/],
      [inBearer(unknownSecret("clientSecret")), /sent to \/oauth2\/tokens/],
      [inBearer(unknownSecret("registrationToken")), /sent to \/oauth2\/clients/],
      [inSession(`Bearer ${ada.token}`), /without Bearer/],
      [{ "Service-Proxy-Token": ada.token }, /Service-Session-Token or Authorization: Bearer/],
      [{ Authorization: ada.token }, /must be Bearer, a space, and the token/],
      [{ Authorization: `Token ${ada.token}` }, /must be Bearer, a space, and the token/],
      [{ Authorization: `Basic ${btoa(`ada:${ada.token}`)}` }, /must be Bearer, a space, and the token/],
    ] as Array<[Record<string, string>, RegExp]>) {
      const { status, body } = await w.nobody.get(groups, headers);
      expect(status, JSON.stringify(headers)).to.equal(401);
      expect(body.detail).to.match(/^(The token is malformed|The token is not valid|No credential was sent)\. /);
      expect(body.detail).to.match(place);
      expect(body.detail).to.not.contain(secret);
      const answer = await w.nobody.post("/graphql", { query: "{ me { id } }" }, headers);
      expect(answer.body.errors[0].extensions).to.include({ code: "UNAUTHENTICATED", detail: body.detail });
    }
    const scim = await w.nobody.get("/scim/v2/Users", inSession(`stwi_0123456789_${secret}`));
    expect(scim.status).to.equal(401);
    expect(JSON.stringify(scim.body)).to.contain("Authorization: Bearer, below /scim/v2");
    // What is in the right place, and not valid, is told nothing.
    const unknown = inBearer(`stw_se_0123456789-${secret}`);
    expect((await w.nobody.get(groups, unknown)).body.detail).to.equal("The token is not valid.");
    // Credentials for others, such as a gateway, do not disturb those in the right place.
    const both = { ...inSession(ada.token), Authorization: "Basic eDp5" };
    expect(await w.nobody.get(groups, both)).to.include({ status: 200 });
  });

  it("are limited by their scopes on every surface, and learn all that they lack", async () => {
    const w = the();
    const narrow = w.as({ token: await access({ scopes: ["user:read"] }) });
    const refused = await narrow.get(groups);
    expect(refused.status).to.equal(403);
    expect(refused.headers.get("www-authenticate")).to.equal(
      `Bearer realm="steward", resource_metadata="${accessUrl()}/.well-known/oauth-protected-resource", error="insufficient_scope", scope="group:read"`,
    );
    const failure = await narrow.failure(query);
    expect(failure.errors[0]!.extensions).to.deep.include({ code: "FORBIDDEN", requiredScopes: ["group:read"] });

    const creator = w.as({ token: await makeAccess(w, w.owner, { scopes: ["group:read"] }) });
    const created = await creator.post(`/api/v2/organizations/default/groups`, { name: "x" });
    expect(created.headers.get("www-authenticate")).to.match(/ scope="group:create"$/);
    const role = await w.as({ token: await access({}) }).post(`/api/v2/organizations/default/groups`, { name: "x" });
    expect(role.status).to.equal(403);
    expect(role.headers.get("www-authenticate")).to.equal(null);
  });

  it("reach no password, email address, key, session, or role, whatever their scopes", async () => {
    const w = the();
    const client = w.as({ token: await makeAccess(w, w.owner, { scopes: ["all"] }) });
    const closed = [
      `mutation { changePassword(input: { currentPassword: "x", newPassword: "y" }) { __typename } }`,
      `mutation { resetUserPassword(input: { user: "${ada.id}", password: "x" }) { __typename } }`,
      `mutation { validatePassword(input: { password: "x" }) { __typename } }`,
      `mutation { convertLogin(input: { user: "me", toType: GITHUB, password: "x" }) { __typename } }`,
      `mutation { updateUser(input: { user: "${ada.id}", email: "x@example.com" }) { __typename } }`,
      `mutation { createUser(input: { email: "x@example.com", username: "x", password: "x" }) { __typename } }`,
      `{ apiKeys { id } }`,
      `mutation { createApiKey(input: { name: "x" }) { __typename } }`,
      `mutation { updateApiKey(input: { id: "x", name: "x" }) { __typename } }`,
      `mutation { revokeApiKey(input: { id: "x" }) { __typename } }`,
      `mutation { revokeSessions { __typename } }`,
      `mutation { logout { __typename } }`,
      `mutation { setUserRoles(input: { user: "${ada.id}", roles: [OWNER] }) { __typename } }`,
      `mutation { setOrganizationMemberRoles(
        input: { organization: "default", user: "${ada.id}", roles: [] }) { __typename } }`,
      `mutation { createWorkspaceProxy(input: { name: "x" }) { __typename } }`,
      `mutation { updateWorkspaceProxy(input: { workspaceProxy: "primary", regenerateToken: true }) { __typename } }`,
    ];
    for (const document of closed) {
      const { code, errors } = await client.failure(document);
      expect(code, document).to.equal("FORBIDDEN");
      expect(errors[0]!.extensions.detail, document).to.match(/an OAuth2 access token cannot be used for it\.$/);
    }
  });
});

describe("what OAuth2 clients can discover", () => {
  const the = shared();
  const accessUrl = () => the().app.services.config.accessUrl;

  it("leads from a 401 to the endpoints, step by step", async () => {
    const { nobody } = the();
    const challenge = (await nobody.get(groups)).headers.get("www-authenticate")!;
    expect(challenge).to.match(/^Bearer realm="steward", scope="group:read", resource_metadata="[^"]+"$/);
    const [, url] = /resource_metadata="([^"]+)"/.exec(challenge)!;
    const resource = (await nobody.get(new URL(url!).pathname)).body;
    expect(resource).to.deep.equal({
      authorization_servers: [accessUrl()],
      bearer_methods_supported: ["header"],
      resource: accessUrl(),
      scopes_supported: ["user:read", "workspace:read", "template:read", "task:read"],
    });
    const server = (await nobody.get("/.well-known/oauth-authorization-server")).body;
    expect(server).to.deep.include({
      issuer: accessUrl(),
      registration_endpoint: `${accessUrl()}/oauth2/register`,
      code_challenge_methods_supported: ["S256"],
      grant_types_supported: [
        "authorization_code",
        "refresh_token",
        "client_credentials",
        "urn:ietf:params:oauth:grant-type:device_code",
      ],
      token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
      response_types_supported: ["code"],
      authorization_response_iss_parameter_supported: true,
    });
    expect(server).to.not.have.property("client_id_metadata_document_supported");
    const scopes = (await nobody.get("/api/v2/auth/scopes")).body.external;
    expect(server.scopes_supported).to.have.members(scopes);
    const { oauth2ServerMetadata } = await nobody.graphql("{ oauth2ServerMetadata { issuer tokenEndpoint } }");
    expect(oauth2ServerMetadata).to.deep.equal({ issuer: accessUrl(), tokenEndpoint: server.token_endpoint });
  });

  it("has metadata for each resource, and nothing else", async () => {
    const { nobody } = the();
    for (const path of ["", "/api/v2", "/graphql"]) {
      const { body } = await nobody.get(`/.well-known/oauth-protected-resource${path}`);
      expect(body.resource).to.equal(accessUrl() + path);
    }
    for (const path of [
      "oauth-protected-resource/oauth2",
      "oauth-authorization-server/api/v2",
      "openid-configuration",
      "oauth-x",
    ]) {
      const { status, headers } = await nobody.get(`/.well-known/${path}`, { Accept: "text/html" });
      expect(status, path).to.equal(404);
      expect(headers.get("content-type"), path).to.match(/json/);
    }
  });

  it("may be cached, and is not sent again", async () => {
    const path = "/.well-known/oauth-authorization-server";
    const { headers } = await the().nobody.get(path);
    expect(headers.get("cache-control")).to.equal("public, max-age=300");
    const tag = headers.get("etag")!;
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
      const again = await the().nobody.get(path, { "If-None-Match": known });
      expect(again, known).to.include({ status: 304, body: "" });
      expect(again.headers.get("etag")).to.equal(tag);
    }
    expect((await the().nobody.get(path, { "If-None-Match": `"x"` })).status).to.equal(200);
  });

  it("lets scripts of every origin do what applications do, and nothing more", async () => {
    const origin = { Origin: "https://anywhere.example" };
    const allowed = async (method: string, path: string) => {
      const preflight = await the().nobody.request("OPTIONS", path, undefined, {
        ...origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization, mcp-protocol-version",
      });
      const real = await the().nobody.request(method, path, undefined, origin);
      const found = [preflight, real].map(({ headers }) => headers.get("access-control-allow-origin"));
      expect(new Set(found).size, `${method} ${path}`).to.equal(1);
      expect(real.headers.get("access-control-allow-credentials")).to.equal(null);
      if (found[0] === null) return false;
      expect(preflight.status).to.equal(204);
      expect(preflight.headers.get("access-control-allow-headers")).to.equal("Authorization, *");
      expect(real.headers.get("access-control-expose-headers")).to.match(/Retry-After.*WWW-Authenticate/);
      return true;
    };
    for (const [method, path] of [
      ["GET", "/.well-known/oauth-authorization-server"],
      ["GET", "/.well-known/oauth-protected-resource/api/v2"],
      ["POST", "/oauth2/register"],
      ["POST", "/oauth2/tokens"],
      ["POST", "/oauth2/revoke"],
      ["POST", "/oauth2/introspect"],
      ["POST", "/oauth2/device_authorization"],
      ["GET", "/oauth2/clients/x"],
      ["PUT", "/oauth2/clients/x"],
      ["DELETE", "/oauth2/clients/x"],
    ] as const)
      expect(await allowed(method, path), `${method} ${path}`).to.equal(true);
    for (const [method, path] of [
      ["DELETE", "/oauth2/tokens"],
      ["GET", "/oauth2/authorize"],
      ["POST", "/oauth2/authorize"],
      ["GET", "/oauth2/device"],
      ["GET", "/login"],
      ["GET", groups],
      ["POST", "/graphql"],
    ] as const)
      expect(await allowed(method, path), `${method} ${path}`).to.equal(false);
  });
});

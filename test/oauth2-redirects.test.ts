// Where authorization requests may redirect browsers to: anyone can register an application, with any website.
import { expect } from "chai";
import { tomorrow } from "./support/clock.js";
import { authorizePath, challenge, deviceCode, deviceGrant, oauthApp, selfRegistered } from "./support/oauth2.js";
import { someFor } from "./support/repeats.js";
import { type Answer, type Person, world } from "./support/world.js";

const html = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const evil = "https://evil.example.com/phish";

const input = (clientId: string, more: object = {}) => ({ clientId, responseType: "token", state: "s", ...more });
const operations = {
  oauth2AuthorizationRequest: `query($input: OAuth2AuthorizationRequestInput!) {
    oauth2AuthorizationRequest(input: $input) { redirectUri } }`,
  approveOAuth2Authorization: `mutation($input: ApproveOAuth2AuthorizationInput!) {
    approveOAuth2Authorization(input: $input) { redirectUri } }`,
  denyOAuth2Authorization: `mutation($input: DenyOAuth2AuthorizationInput!) {
    denyOAuth2Authorization(input: $input) { redirectUri } }`,
};

describe("OAuth2 redirects", () => {
  const w = world();
  let ada: Person;
  let bob: Person;
  before(async () => {
    [ada, bob] = (await w().users("ada", "bob")) as [Person, Person];
  });

  const register = async (metadata: object = {}) => {
    const { body } = await w().nobody.post("/oauth2/register", {
      client_name: "Totally Harmless",
      redirect_uris: [evil],
      token_endpoint_auth_method: "none",
      ...metadata,
    });
    return { id: body.client_id as string };
  };

  const faults: Array<[error: string, changes: Record<string, string | string[] | undefined>]> = [
    ["invalid_request", { response_type: undefined }],
    ["unsupported_response_type", { response_type: "token" }],
    ["invalid_request", { code_challenge: undefined, code_challenge_method: undefined }],
    ["invalid_request", { code_challenge_method: "plain" }],
    ["request_not_supported", { request: "e30." }],
    ["request_uri_not_supported", { request_uri: evil }],
    ["invalid_request", { response_mode: "fragment" }],
    ["invalid_request", { state: "s".repeat(4097) }],
    ["invalid_request", { state: ["a", "b"] }],
    ["invalid_scope", { scope: "all" }],
    ["invalid_target", { resource: evil }],
  ];

  /** The Location of an error, without its description. */
  const errorIn = ({ headers }: Answer) => {
    const { searchParams } = new URL(headers.get("location")!);
    return searchParams.get("error");
  };

  it("do not report faults to an application that registered itself, but show them, with its name and host", async () => {
    const app = await register();
    for (const [error, changes] of faults)
      for (const method of ["GET", "POST"]) {
        const path = authorizePath(app, { ...pkce, ...changes });
        const json = await w().as(ada).request(method, path);
        expect(json, path).to.include({ status: 400 });
        expect(json.body.error).to.equal(error);
        expect(json.body.error_description).to.contain("Totally Harmless").and.contain("evil.example.com");
        const page = await w().as(ada).request(method, path, undefined, html);
        expect(page).to.include({ status: 400 });
        expect(page.body).to.contain("Totally Harmless").and.contain("evil.example.com").and.not.contain(evil);
        for (const { headers } of [json, page]) expect(headers.get("location"), path).to.equal(null);
      }
    for (const document of Object.values(operations)) {
      const { errors } = await w()
        .as(ada)
        .failure(document, { input: input(app.id) });
      expect(errors[0]!.extensions).to.include({ oauthError: "unsupported_response_type" });
      expect(errors[0]!.extensions).to.not.have.property("redirectUri");
    }
  });

  it("do not report faults to one that is described by a document, or that lost the grant type", async () => {
    const described = await oauthApp(w(), {
      ...selfRegistered,
      kind: "document",
      name: "Described",
      document_url: "https://tools.example.com/client.json",
      document_fresh_until: tomorrow(),
      document_usable_until: tomorrow(),
      redirect_uris: ["com.example.tools:/cb"],
    });
    const device = await oauthApp(w(), { ...selfRegistered, redirect_uris: [evil], grant_types: [deviceGrant] });
    const paths = [
      authorizePath(described, { client_id: "https://tools.example.com/client.json", response_type: "token" }),
      authorizePath(device, pkce),
    ];
    for (const path of paths)
      for (const headers of [{}, html]) {
        const answer = await w().as(ada).get(path, headers);
        expect(answer, path).to.include({ status: 400 });
        expect(answer.headers.get("location")).to.equal(null);
        expect(JSON.stringify(answer.body)).to.match(/com\.example\.tools|evil\.example\.com/);
      }
  });

  it("report faults to an application while the user gives it access, and only for that user", async () => {
    const app = await register();
    const faulty = authorizePath(app, { ...pkce, response_type: "token" });
    const allowed = await w().as(ada).post(authorizePath(app, pkce));
    expect(new URL(allowed.headers.get("location")!).searchParams.has("code")).to.equal(true);
    for (const [error, changes] of faults) {
      const answer = await w()
        .as(ada)
        .get(authorizePath(app, { ...pkce, ...changes }), html);
      expect(answer).to.include({ status: 302 });
      expect(answer.headers.get("location")).to.match(/^https:\/\/evil\.example\.com\/phish\?/);
      expect(errorIn(answer)).to.equal(error);
    }
    for (const document of Object.values(operations)) {
      const { errors } = await w()
        .as(ada)
        .failure(document, { input: input(app.id) });
      expect(errors[0]!.extensions.redirectUri).to.match(/^https:\/\/evil\.example\.com\/phish\?error=/);
      const others = await w()
        .as(bob)
        .failure(document, { input: input(app.id) });
      expect(others.errors[0]!.extensions).to.not.have.property("redirectUri");
    }
    expect((await w().as(bob).get(faulty, html)).headers.get("location")).to.equal(null);

    await w().as(ada).delete(`/oauth2/tokens?client_id=${app.id}`);
    const later = await w().as(ada).get(faulty, html);
    expect(later).to.include({ status: 400 });
    expect(later.headers.get("location")).to.equal(null);
  });

  it("do not follow from a denial", async () => {
    const app = await register();
    const denied = await w().as(ada).post(authorizePath(app, pkce), { decision: "deny" });
    expect(errorIn(denied), "decided on the page").to.equal("access_denied");
    const faulty = authorizePath(app, { ...pkce, response_type: "token" });
    for (const decision of ["allow", "deny"]) {
      const answer = await w().as(ada).post(faulty, { decision });
      expect(answer).to.include({ status: 400 });
      expect(answer.headers.get("location")).to.equal(null);
    }
  });

  it("report repeated parameters to an application of an administrator, but never to a repeated address", async () => {
    const app = await oauthApp(w());
    const { accessUrl } = w().app.services.config;
    for (const [changes, state] of [
      [{ state: ["a", "b"] }, null],
      [{ scope: ["user:read", "all"] }, "xyz"],
      [{ response_type: ["code", "code"], code_challenge: [challenge, challenge] }, "xyz"],
    ] as Array<[Record<string, string[]>, string | null]>)
      for (const method of ["GET", "POST"]) {
        const answer = await w().as(ada).request(method, authorizePath(app, changes));
        expect(answer).to.include({ status: 302 });
        const { searchParams } = new URL(answer.headers.get("location")!);
        expect(searchParams.get("error")).to.equal("invalid_request");
        for (const name of Object.keys(changes)) expect(searchParams.get("error_description")).to.contain(name);
        expect([searchParams.get("state"), searchParams.get("iss")]).to.deep.equal([state, accessUrl]);
      }
    const { errors } = await w()
      .as(ada)
      .failure(operations.approveOAuth2Authorization, {
        input: input(app.id, { responseType: "code", repeatedParameters: ["scope"] }),
      });
    expect(errors[0]!.extensions.redirectUri).to.contain("error=invalid_request");
    for (const changes of [
      { client_id: [app.id, app.id] },
      { redirect_uri: [app.redirectUri, app.redirectUri] },
      { redirect_uri: [app.redirectUri, evil], state: ["a", "b"] },
    ] as Array<Record<string, string[]>>) {
      const answer = await w().as(ada).get(authorizePath(app, changes), html);
      expect(answer).to.include({ status: 400 });
      expect(answer.headers.get("location")).to.equal(null);
    }
  });

  it("never leave the pages for devices", async () => {
    const app = await oauthApp(w(), { ...selfRegistered, redirect_uris: [evil], grant_types: [deviceGrant] });
    const code = await deviceCode(w(), app);
    const path = `/oauth2/device?user_code=${code}&redirect_uri=${encodeURIComponent(evil)}&state=x`;
    for (const query of [path, `${path}&user_code=${code}`, path.replace(code, "BBBB-BBBB")]) {
      const { headers } = await w().as(ada).get(query, html);
      expect(headers.get("location")).to.equal(null);
      expect(headers.get("content-security-policy")).to.contain("form-action 'self'").and.not.contain("evil");
    }
  });

  it("lead to every port of a loopback address, and otherwise nowhere but to a registered URI", async () => {
    const leads = async (registered: string, uri: string) => {
      const app = await oauthApp(w(), { redirect_uris: ["https://other.example/", registered] });
      const { status, headers } = await w()
        .as(ada)
        .post(authorizePath(app, { redirect_uri: uri }));
      expect(status, uri).to.be.below(500);
      const location = headers.get("location");
      if (location) expect(location.startsWith(`${uri}${uri.includes("?") ? "&" : "?"}code=`), location).to.equal(true);
      return location !== null;
    };
    for (const [registered, uri] of [
      ["http://127.0.0.1/cb", "http://127.0.0.1:65535/cb"],
      ["http://127.0.0.1:1/cb", "http://127.0.0.1/cb"],
      ["http://[::1]:80/cb?a=b", "http://[::1]:1234/cb?a=b"],
      ["http://localhost:8080", "http://localhost:9090"],
      ["http://localhost:?a=b", "http://localhost:1?a=b"],
      ["HTTP://LOCALHOST/cb", "HTTP://LOCALHOST:1/cb"],
      ["https://a.example/cb?a=b?c", "https://a.example/cb?a=b?c"],
    ] as const)
      expect(await leads(registered, uri), uri).to.equal(true);
    for (const [registered, uri] of [
      ["https://127.0.0.1/cb", "https://127.0.0.1:1/cb"],
      ["http://intranet/cb", "http://intranet:81/cb"],
      ["com.example.app://localhost/cb", "com.example.app://localhost:1/cb"],
      ["http://127.0.0.1/cb", "http://localhost:1/cb"],
      ["http://127.0.0.1/cb", "http://127.0.0.1:1/other"],
      ["http://127.0.0.1/cb", "http://127.0.0.1:1cb"],
      ["http://127.0.0.1/cb", "http://127.0.0.1:000001/cb"],
      ["http://127.0.0.1/cb", "http://127.0.0.1:1@a.example/cb"],
      ["http://127.0.0.1/http://127.0.0.1/cb", "http://127.0.0.1/http://127.0.0.1:1/cb"],
      ["HTTP://127.0.0.1/cb", "http://127.0.0.1:1/cb"],
      ["http://127.0.0.1/cb", "/cb"],
    ] as const)
      expect(await leads(registered, uri), uri).to.equal(false);
  });

  it("show users where they lead", async () => {
    const document = `query($input: OAuth2AuthorizationRequestInput!) {
      oauth2AuthorizationRequest(input: $input) { redirectTarget { kind name } } }`;
    for (const [uri, kind, name] of [
      ["https://a.example:443/cb", "WEB", "a.example"],
      ["http://intranet:81/cb", "WEB", "intranet:81"],
      ["https://localhost/cb", "WEB", "localhost"],
      ["http://[::1]:7/cb", "LOOPBACK", "[::1]:7"],
      ["com.example.app:/cb", "PRIVATE_SCHEME", "com.example.app"],
      ["https.example://localhost/cb", "PRIVATE_SCHEME", "https.example"],
      ["example.http://localhost/cb", "PRIVATE_SCHEME", "example.http"],
    ]) {
      const app = await oauthApp(w(), { redirect_uris: [uri] });
      const request = await w()
        .as(ada)
        .graphql(document, { input: input(app.id, { responseType: "code" }) });
      expect(request.oauth2AuthorizationRequest.redirectTarget, uri).to.deep.equal({ kind, name });
    }
  });

  it("deny a request whose query says so, whatever the form says", async () => {
    const app = await oauthApp(w());
    for (const [query, form] of [
      [{ decision: "deny" }, undefined],
      [{ decision: "deny" }, { decision: "allow" }],
      [{ decision: ["allow", "deny"] }, undefined],
      [{ decision: "no" }, undefined],
    ] as Array<[Record<string, string | string[]>, object | undefined]>)
      expect(errorIn(await w().as(ada).post(authorizePath(app, query), form))).to.equal("access_denied");
    for (const decision of ["", "allow"]) {
      const { headers } = await w().as(ada).post(authorizePath(app, { decision }));
      expect(new URL(headers.get("location")!).searchParams.has("code"), decision).to.equal(true);
    }
  });

  describe("have schemes", () => {
    const padded = (uri: string, bytes: number) => uri.padEnd(bytes, "x");
    const refused = [
      "javascript:alert(1)",
      "javascript://host/%0aalert(1)",
      "JavaScript://host/",
      "data://host/,x",
      "view-source://a.example/",
      "filesystem://a.example/",
      "urn://a.example/",
      "x-apple.systempreferences://host/",
      "ms-settings://host/",
      "MS-WORD://host/",
      "chrome-extension://abcdef/cb",
      "smb://host/share",
      "tel://1234",
      "cursor:/cb",
      "cursor:///cb",
      "cursor:cb",
      "cursor://user@host/cb",
      "cursor://host/cb#",
      "cursor://host/*",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "blob:https://x.example.com/",
      "about:blank",
      "mailto:a@example.com",
      "ms-msdt:/id",
      "search-ms:query=x",
      "intent://x/",
      "ws://example.com/",
      "app.:/cb",
      "com.example.app.:/cb",
      "com..example:/cb",
      "com.example.app://user@host/",
      "https://@a.example/",
      "a.example/cb",
      "com.example.app/cb",
      "https:a.example/",
      "https:/a.example/",
      "https:///a.example/",
      "https:a.example/https://b.example/",
      "https://a.example/cb#",
      "https://a.example/a b",
      " https://a.example/",
      "https://a.example/\\",
      "https://a.example/é",
      "https://a.example/*",
      padded("https://a.example/", 2049),
    ];
    const accepted = [
      "com.example.app:/cb",
      "com.example.app://cb",
      "vscode://publisher.extension/cb",
      "vscode-insiders://publisher.extension/cb",
      "Cursor://anysphere.cursor-mcp/oauth/callback",
      "net.example-2.app:/cb?x=1",
      "com.example.app:/cb//user@host",
      "https://a.example/",
      "https://a.example/~a?to=//user@host",
      "http://127.0.0.1:8080/cb",
      "http://[::1]/cb",
      "HTTP://localhost/cb",
      padded("https://a.example/", 2048),
    ];

    /** Every way in which a redirect URI gets into the server, by whether it was accepted. */
    const ways: Record<string, (uri: string) => Promise<boolean>> = {
      "of registered applications over REST": async (uri) =>
        (await w().nobody.post("/oauth2/register", { client_name: "x", redirect_uris: [uri] })).status === 201,
      "of registered applications over GraphQL": (uri) =>
        succeeds(
          w().nobody.graphql(
            `mutation($uris: [String!]) { registerOAuth2Client(input: { clientName: "x", redirectUris: $uris }) { __typename } }`,
            { uris: [uri] },
          ),
        ),
      "of registered applications for devices only": async (uri) => {
        const metadata = { client_name: "x", grant_types: [deviceGrant], redirect_uris: [uri] };
        return (await w().nobody.post("/oauth2/register", metadata)).status === 201;
      },
      "of applications that change their registration": async (uri) => {
        const { body } = await w().nobody.post("/oauth2/register", { client_name: "x", redirect_uris: [evil] });
        const headers = { Authorization: `Bearer ${body.registration_access_token}` };
        const metadata = { client_name: "x", redirect_uris: [uri] };
        return (await w().nobody.put(`/oauth2/clients/${body.client_id}`, metadata, headers)).status === 200;
      },
      "of applications that an administrator creates over REST": async (uri) =>
        (await w().as(w().owner).post("/api/v2/oauth2-provider/apps", { name: "x", callback_url: uri })).status === 200,
      "of applications that an administrator changes over REST": async (uri) => {
        const { id } = await oauthApp(w());
        const path = `/api/v2/oauth2-provider/apps/${id}`;
        return (await w().as(w().owner).put(path, { name: "x", callback_url: uri })).status === 200;
      },
      "of applications that an administrator creates over GraphQL": (uri) =>
        succeeds(
          w()
            .as(w().owner)
            .graphql(
              `mutation($uris: [String!]) { createOAuth2App(input: { name: "x", redirectUris: $uris }) { __typename } }`,
              { uris: [uri] },
            ),
        ),
      "of registered applications that an administrator changes": async (uri) => {
        const { id } = await register();
        return succeeds(
          w()
            .as(w().owner)
            .graphql(
              `mutation($id: UUID!, $uris: [String!]) { updateOAuth2App(input: { id: $id, redirectUris: $uris }) { __typename } }`,
              { id, uris: [uri] },
            ),
        );
      },
    };
    const succeeds = (work: Promise<unknown>) =>
      work.then(
        () => true,
        () => false,
      );
    for (const [place, [way, accepts]] of Object.entries(ways).entries())
      it(way, async () => {
        for (const uri of someFor(place, 4, refused)) expect(await accepts(uri), uri).to.equal(false);
        for (const uri of someFor(place, 4, accepted)) expect(await accepts(uri), uri).to.equal(true);
      });

    it("and other parts that break no rule, else the rule is named", async () => {
      const characters = "Must be printable ASCII without spaces, backslashes and wildcards";
      const absolute = "Must be an absolute URI";
      const scheme = "Must have the scheme https, http, or that of an application";
      const host = "Must have a host after a scheme without a dot, such as example://host/path";
      const violations: Array<[uri: string, rule: string]> = [
        [padded("https://a.example/", 2049), "Must be at most 2048 bytes long"],
        ["https://a.example/é", characters],
        ["https://a.example/*", characters],
        ["x", absolute],
        ["https:/a.example", absolute],
        ["https://a.example/#", "Must not have a fragment"],
        ["https://user@a.example/", "Must not have user information"],
        ["mailto:a@example.com", scheme],
        ["javascript://host/", scheme],
        ["cursor:/cb", host],
        ["http://intranet/cb", "Must have the scheme https, or http with 127.0.0.1, [::1] or localhost"],
      ];
      const document = `mutation($uris: [String!]) {
        registerOAuth2Client(input: { clientName: "x", redirectUris: $uris }) { client { redirectUris } } }`;
      const problems = async (uris: string[]) =>
        (await w().nobody.failure(document, { uris })).errors[0]!.extensions.validations;
      expect(await problems(violations.map(([uri]) => uri))).to.deep.equal(
        violations.map(([uri, rule], index) => {
          const named = uri.length > 64 ? `${uri.slice(0, 64)}…` : uri;
          return { field: `input.redirectUris[${index}]`, detail: `${rule}: "${named}".` };
        }),
      );
      const many = Array.from({ length: 32 }, (_, n) => `https://a.example/${n}`);
      expect(await problems([...many, "x"])).to.deep.equal([
        { field: "input.redirectUris", detail: "Must be at most 32 URIs." },
      ]);
      const { registerOAuth2Client } = await w().nobody.graphql(document, { uris: many });
      expect(registerOAuth2Client.client.redirectUris).to.deep.equal(many);
      const trusted = await oauthApp(w());
      const callback = { name: "x", callback_url: "http://intranet/cb" };
      expect(await w().as(w().owner).put(`/api/v2/oauth2-provider/apps/${trusted.id}`, callback)).to.include({
        status: 200,
      });
    });

    it("of this kind even if they were registered before", async () => {
      for (const uri of ["ms-msdt:/id", "http://intranet.example.com/cb"]) {
        const old = await oauthApp(w(), { ...selfRegistered, redirect_uris: [uri] });
        await w().as(ada).post(authorizePath(old, pkce));
        for (const changes of [{}, { response_type: "token" }])
          for (const method of ["GET", "POST"]) {
            const answer = await w()
              .as(ada)
              .request(method, authorizePath(old, { ...pkce, ...changes }));
            expect(answer).to.include({ status: 400 });
            expect(answer.headers.get("location")).to.equal(null);
          }
      }
    });
  });
});

// Applications that register themselves, and manage their registration (RFC 7591, RFC 7592).
import { expect } from "chai";
import { inMs } from "./support/clock.js";
import { audited } from "./support/audit.js";
import { runJob } from "./support/background.js";
import { newId } from "./support/ids.js";
import { basic, grantsOf, insertClient, insertGrant, makeAccess, makeApp, sendForm } from "./support/oauth2.js";
import { type Answer, type World, world } from "./support/world.js";

const register = "/oauth2/register";
const redirectUri = "https://watch.example.com/callback";
const publicClient = {
  client_name: "Night Watch",
  redirect_uris: [redirectUri],
  token_endpoint_auth_method: "none",
};

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const pathOf = ({ body }: Answer) => `/oauth2/clients/${body.client_id}`;
const tokenOf = ({ body }: Answer) => bearer(body.registration_access_token);

async function registered(w: World, metadata: object = publicClient): Promise<Answer> {
  const made = await w.nobody.post(register, metadata);
  expect(made.status, JSON.stringify(made.body)).to.equal(201);
  return made;
}

describe("registration of OAuth2 clients", () => {
  // Requests of a test wait for one row together, or until the test has done something else.
  const the = world({ STEWARD_REQUEST_TIMEOUT: "3m" });
  const auditedOf = async (resourceId: string) =>
    (await audited(the(), { resourceId })).map(({ action, actorKind, diff }) => ({ action, actorKind, diff }));

  it("registers a public client without a secret", async () => {
    const w = the();
    const made = await registered(w);
    const { client_id: id, registration_access_token: token, client_id_issued_at: issued, scope, ...rest } = made.body;
    expect(rest).to.deep.equal({
      client_name: "Night Watch",
      client_secret_expires_at: 0,
      contacts: [],
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [redirectUri],
      registration_client_uri: `${w.app.services.config.accessUrl}/oauth2/clients/${id}`,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    expect(token).to.match(/^stwm_\w{10}_\w{43}$/);
    expect(issued).to.be.a("number");
    expect(scope.split(" ")).to.include.members(["user:read", "workspace:*"]);
    expect(made.headers.get("cache-control")).to.equal("no-store");
    expect(made.headers.get("pragma")).to.equal("no-cache");
    expect(made.headers.get("access-control-allow-origin")).to.equal("*");

    const { oauth2App } = await w
      .as(w.owner)
      .graphql("query($id: UUID!) { oauth2App(id: $id) { kind type pkceRequired scopeCeiling } }", { id });
    expect(oauth2App).to.deep.include({ kind: "DYNAMIC", type: "PUBLIC", pkceRequired: true });
    expect(oauth2App.scopeCeiling).to.not.include("all");
    const [event] = await auditedOf(id);
    expect(event).to.deep.include({ action: "CREATE", actorKind: "system" });
    expect(JSON.stringify(event)).to.not.include(token.slice(-43));
  });

  it("leaves out of names what changes the direction of text", async () => {
    const { body } = await registered(the(), { ...publicClient, client_name: "good\u202eevil" });
    expect(body.client_name).to.equal("goodevil");
  });

  it("registers a confidential client with a secret, as clients do by default", async () => {
    const { body } = await registered(the(), { redirect_uris: [redirectUri], scope: "all bogus" });
    expect(body.client_secret).to.match(/^stws_\w{10}_\w{43}$/);
    expect(body).to.include({
      client_name: "watch.example.com",
      token_endpoint_auth_method: "client_secret_basic",
      client_secret_expires_at: 0,
      scope: "all",
    });
    const query = `query($id: UUID!) { oauth2App(id: $id) { secrets { clientSecretTruncated } } }`;
    const { oauth2App } = await the().as(the().owner).graphql(query, { id: body.client_id });
    expect(oauth2App.secrets).to.deep.equal([{ clientSecretTruncated: `****${body.client_secret.slice(-6)}` }]);
  });

  it("lets a client that registered no method send its secret in either way, and one that did in that way", async () => {
    const w = the();
    const ways = async ({ body }: Answer) => {
      const { client_id, client_secret } = body as Record<string, string>;
      const fields = { grant_type: "refresh_token", refresh_token: "x" };
      const inBody = await sendForm(w, "tokens", { ...fields, client_id, client_secret });
      const inHeader = await sendForm(w, "tokens", fields, basic(client_id!, client_secret!));
      return [inBody.body.error, inHeader.body.error];
    };
    const right = "invalid_grant";
    const wrong = "invalid_client";
    const metadata = { redirect_uris: [redirectUri] };
    const made = await registered(w, metadata);
    expect(made.body.token_endpoint_auth_method).to.equal("client_secret_basic");
    expect(await ways(made)).to.deep.equal([right, right]);
    const { client_id, registration_access_token, client_secret } = made.body;
    let token = registration_access_token as string;
    const put = async (more: object) => {
      const { status, body } = await w.nobody.put(pathOf(made), { ...metadata, ...more }, bearer(token));
      expect(status, JSON.stringify(body)).to.equal(200);
      token = body.registration_access_token;
      return { body: { ...body, client_id, client_secret } } as Answer;
    };
    expect(await ways(await put({ token_endpoint_auth_method: "client_secret_basic" }))).to.deep.equal([wrong, right]);
    expect(await ways(await put({ token_endpoint_auth_method: "client_secret_post" }))).to.deep.equal([right, wrong]);
    const without = await put({});
    expect(without.body.token_endpoint_auth_method).to.equal("client_secret_basic");
    expect(await ways(without)).to.deep.equal([right, right]);
    expect(await ways(await registered(w, { ...metadata, token_endpoint_auth_method: "client_secret_basic" })))
      .to.deep //
      .equal([wrong, right]);
    // Applications of owners register no method.
    const app = await makeApp(w);
    const secret = { client_id: app.id, client_secret: app.secret.client_secret_full };
    expect(await ways({ body: secret } as unknown as Answer)).to.deep.equal([right, right]);
  });

  it("keeps what it does not use, cuts names, and ignores the rest", async () => {
    const given = {
      ...publicClient,
      client_name: `  ${"x".repeat(100)} `,
      client_uri: "https://watch.example.com",
      contacts: ["ada@example.com"],
      jwks: { keys: [{ kty: "OKP" }] },
      software_id: "watch",
      software_version: "2.1",
      software_statement: "eyJ.e30.x",
      policy_uri: "",
      scope: "bogus",
      unknown: { deep: [1] },
    };
    const { body } = await registered(the(), given);
    expect(body).to.deep.include({
      client_name: "x".repeat(64),
      client_uri: given.client_uri,
      contacts: given.contacts,
      jwks: given.jwks,
      software_id: "watch",
      software_version: "2.1",
      scope: "user:read",
    });
    expect(body).to.not.have.any.keys("unknown", "software_statement", "policy_uri");
  });

  it("records the type of an application, which restricts nothing, on both surfaces and in updates", async () => {
    const w = the();
    const registering = `mutation($input: RegisterOAuth2ClientInput!) {
      registerOAuth2Client(input: $input) { client { applicationType redirectUris } } }`;
    const every = ["com.example.watch:/cb", "watch://host/cb", "http://localhost:7777/cb", redirectUri];
    for (const applicationType of ["native", "web", "desktop", ""]) {
      const { body } = await registered(w, { redirect_uris: every, application_type: applicationType });
      expect(body.redirect_uris).to.deep.equal(every);
      expect(body.application_type).to.equal(applicationType || undefined);
      const input = { applicationType, redirectUris: every };
      const { registerOAuth2Client } = await w.nobody.graphql(registering, { input });
      expect(registerOAuth2Client.client).to.deep.equal({
        applicationType: applicationType || null,
        redirectUris: every,
      });
    }
    // What cannot be recorded is no fault either.
    const { body } = await registered(w, { redirect_uris: every, application_type: "x".repeat(256) });
    expect(body).to.not.have.property("application_type");
    const made = await registered(w, { redirect_uris: [redirectUri], application_type: "web" });
    const moved = { redirect_uris: ["com.example.watch:/"], application_type: "web" };
    expect(await w.nobody.put(pathOf(made), moved, tokenOf(made))).to.include({ status: 200 });
  });

  it("needs no redirect URI of devices", async () => {
    const device = "urn:ietf:params:oauth:grant-type:device_code";
    const { body } = await registered(the(), { grant_types: [device], client_name: "TV" });
    expect(body).to.deep.include({ grant_types: [device], redirect_uris: [], response_types: [] });
  });

  const faults: Array<[title: string, metadata: object, error: string]> = [
    ["no redirect URI", { client_name: "x" }, "invalid_redirect_uri"],
    ["an empty list of redirect URIs", { redirect_uris: [] }, "invalid_redirect_uri"],
    ["redirect URIs of another type", { redirect_uris: redirectUri }, "invalid_redirect_uri"],
    ["a script as redirect URI", { redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    ["http to another host", { redirect_uris: ["http://watch.example.com/"] }, "invalid_redirect_uri"],
    ["a fragment", { redirect_uris: [`${redirectUri}#`] }, "invalid_redirect_uri"],
    ["a wildcard", { redirect_uris: ["https://*.example.com/"] }, "invalid_redirect_uri"],
    ["user information", { redirect_uris: ["https://good.example@evil.example/"] }, "invalid_redirect_uri"],
    ["too many redirect URIs", { redirect_uris: Array(33).fill(redirectUri) }, "invalid_redirect_uri"],
    ["a wrong redirect URI besides other faults", { redirect_uris: ["x"], logo_uri: "x" }, "invalid_redirect_uri"],
    ["client credentials", { ...publicClient, grant_types: ["client_credentials"] }, "invalid_client_metadata"],
    ["an unknown grant type", { ...publicClient, grant_types: ["authorization_code", "x"] }, "invalid_client_metadata"],
    ["refresh tokens alone", { ...publicClient, grant_types: ["refresh_token"] }, "invalid_client_metadata"],
    ["the implicit flow", { ...publicClient, response_types: ["token"] }, "invalid_client_metadata"],
    ["another method", { ...publicClient, token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
    ["a name of another type", { ...publicClient, client_name: 5 }, "invalid_client_metadata"],
    ["a URL of another scheme", { ...publicClient, logo_uri: "data:image/png;base64,x" }, "invalid_client_metadata"],
    ["a long scope", { ...publicClient, scope: "x ".repeat(3000) }, "invalid_client_metadata"],
    ["keys twice", { ...publicClient, jwks: { keys: [] }, jwks_uri: redirectUri }, "invalid_client_metadata"],
    [
      "deep keys",
      { ...publicClient, jwks: JSON.parse(`${'{"a":'.repeat(20)}1${"}".repeat(20)}`) },
      "invalid_client_metadata",
    ],
    ["keys with a NUL", { ...publicClient, jwks: { a: "\0" } }, "invalid_client_metadata"],
    ["keys with a half of a character", { ...publicClient, jwks: { a: "\ud800" } }, "invalid_client_metadata"],
  ];
  for (const [title, metadata, error] of faults)
    it(`rejects ${title}`, async () => {
      const { status, body } = await the().nobody.post(register, metadata);
      expect(status, JSON.stringify(body)).to.equal(400);
      expect(body.error).to.equal(error);
      expect(body.error_description)
        .to.be.a("string")
        .and.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    });

  it("reports all faults together, on both surfaces", async () => {
    const w = the();
    const { body } = await w.nobody.post(register, {
      redirect_uris: ["x", redirectUri, "y:"],
      logo_uri: "x",
      grant_types: ["x"],
    });
    expect(body.error_description).to.match(/redirect_uris\[0\]: .* grant_types: .* logo_uri: /);
    const failure = await w.nobody.failure(
      `mutation { registerOAuth2Client(input: { redirectUris: ["x"], logoUri: "x" }) { __typename } }`,
    );
    expect(failure.code).to.equal("BAD_USER_INPUT");
    const { oauthError, validations } = failure.errors[0]!.extensions;
    expect(oauthError).to.equal("invalid_redirect_uri");
    expect(validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.redirectUris[0]",
      "input.logoUri",
    ]);
  });

  it("speaks the format of the protocol for faults of requests", async () => {
    const { nobody } = the();
    const faulty: Array<[Answer, number]> = [
      [await nobody.get(register), 405],
      [await nobody.get("/oauth2/unknown"), 404],
      [await nobody.get("/oauth2/%zz"), 400],
      [await nobody.post(register, "{"), 400],
      [await nobody.post(register, "a=b", { "Content-Type": "application/x-www-form-urlencoded" }), 415],
      [await nobody.post(register, { client_name: "x".repeat(70_000) }), 413],
    ];
    for (const [{ status, body, headers }, expected] of faulty) {
      expect(status).to.equal(expected);
      expect(body).to.have.keys("error", "error_description").and.include({ error: "invalid_request" });
      expect(headers.get("pragma")).to.equal("no-cache");
    }
    expect(faulty[0]![0].headers.get("allow")).to.equal("POST");
  });

  describe("management", () => {
    it("tells one story over REST and GraphQL", async () => {
      const w = the();
      const made = await registered(w);
      const { client_id: clientId, registration_access_token: first } = made.body;
      const read = await w.nobody.get(pathOf(made), tokenOf(made));
      expect(read.status).to.equal(200);
      expect(read.body).to.deep.equal(made.body);

      const changed = await w.nobody.put(pathOf(made), { ...read.body, client_name: "Day Watch" }, tokenOf(made));
      expect(changed.status, JSON.stringify(changed.body)).to.equal(200);
      const second = changed.body.registration_access_token;
      expect(changed.body).to.deep.equal({ ...made.body, client_name: "Day Watch", registration_access_token: second });
      expect(second).to.not.equal(first);

      const query = `query($clientId: UUID!, $token: String) {
        oauth2ClientConfiguration(clientId: $clientId, registrationAccessToken: $token) { clientName registrationAccessToken } }`;
      const over = async (token: string) =>
        (await w.nobody.graphql(query, { clientId, token })).oauth2ClientConfiguration;
      expect(await over(first), "until the new token is used").to.deep.equal({
        clientName: "Day Watch",
        registrationAccessToken: first,
      });
      expect((await over(second)).registrationAccessToken).to.equal(second);
      expect((await w.nobody.failure(query, { clientId, token: first })).errors[0]!.extensions.oauthError).to.equal(
        "invalid_token",
      );

      const replace = `mutation($input: UpdateOAuth2ClientInput!) { updateOAuth2Client(input: $input) {
        client { clientName redirectUris registrationAccessToken } } }`;
      const input = { clientId, registrationAccessToken: second, redirectUris: ["com.example.watch:/callback"] };
      const third = (await w.nobody.graphql(replace, { input })).updateOAuth2Client.client;
      expect(third).to.deep.include({ clientName: "com.example.watch", redirectUris: input.redirectUris });

      const ended = await w.nobody.delete(pathOf(made), bearer(third.registrationAccessToken));
      expect(ended).to.include({ status: 204, body: "" });
      expect((await w.nobody.get(pathOf(made), bearer(third.registrationAccessToken))).status).to.equal(401);
      expect((await auditedOf(clientId)).map(({ action }) => action)).to.deep.equal([
        "CREATE",
        "UPDATE",
        "UPDATE",
        "DELETE",
      ]);
      expect(JSON.stringify(await auditedOf(clientId))).to.not.include(second.slice(-43));
    });

    it("rejects other tokens, and does not tell clients apart by that", async () => {
      const w = the();
      const made = await registered(w);
      const other = await registered(w);
      const byAdmin = `/oauth2/clients/${(await insertClient(w, {})).id}`;
      const attempts: Array<[path: string, headers: Record<string, string>]> = [
        [pathOf(made), {}],
        [pathOf(made), tokenOf(other)],
        [pathOf(made), bearer("nonsense")],
        [pathOf(made), bearer(w.owner.token)],
        [pathOf(made), { "Service-Session-Token": w.owner.token }],
        [`/oauth2/clients/${newId()}`, tokenOf(made)],
        [byAdmin, tokenOf(made)],
        [byAdmin, {}],
      ];
      const bodies = new Set<string>();
      for (const [path, headers] of attempts)
        for (const method of ["GET", "PUT", "DELETE"]) {
          const {
            status,
            body,
            headers: got,
          } = await w.nobody.request(method, path, method === "PUT" ? publicClient : undefined, headers);
          expect(status, path).to.equal(401);
          // RFC 6750, section 3.1: no error code when no credential was sent.
          const said = Object.keys(headers).length > 0 ? ', error="invalid_token"' : "";
          expect(got.get("www-authenticate")).to.equal(`Bearer realm="steward"${said}`);
          bodies.add(JSON.stringify(body));
        }
      expect([...bodies]).to.have.length(1);
      expect(JSON.parse([...bodies][0]!).error).to.equal("invalid_token");
      expect((await w.nobody.get("/oauth2/clients/x", tokenOf(made))).status).to.equal(400);
      expect((await w.nobody.get(pathOf(made), tokenOf(made))).status).to.equal(200);
    });

    it("keeps the type and the id of clients", async () => {
      const w = the();
      const made = await registered(w);
      const put = async (change: object) =>
        (await w.nobody.put(pathOf(made), { ...publicClient, ...change }, tokenOf(made))).body;
      expect((await put({ token_endpoint_auth_method: "client_secret_post" })).error).to.equal(
        "invalid_client_metadata",
      );
      expect((await put({ client_id: newId() })).error).to.equal("invalid_client_metadata");
      expect((await put({ client_id: made.body.client_id.toUpperCase() })).client_id).to.equal(made.body.client_id);
      expect((await put({ token_endpoint_auth_method: undefined })).token_endpoint_auth_method).to.equal("none");
    });

    it("accepts the secret of the client in an update, and no other", async () => {
      const w = the();
      const metadata = { redirect_uris: [redirectUri] };
      const made = await registered(w, metadata);
      const other = await registered(w, metadata);
      const open = await registered(w);
      const { client_id: clientId, registration_access_token: registrationAccessToken, client_secret } = made.body;
      const put = (secret: string, to = made) =>
        w.nobody.put(pathOf(to), { ...to.body, client_name: "Renamed", client_secret: secret }, tokenOf(to));
      const wrong = [other.body.client_secret, "wrong", `${client_secret}x`, made.body.registration_access_token];
      for (const answer of [...(await Promise.all(wrong.map((secret) => put(secret)))), await put("x", open)]) {
        expect(answer).to.include({ status: 400 });
        expect(answer.body.error).to.equal("invalid_client_metadata");
        expect(answer.body.error_description).to.contain("client_secret").and.not.contain("stws_");
      }
      const replace = `mutation($input: UpdateOAuth2ClientInput!) { updateOAuth2Client(input: $input) { client { clientName } } }`;
      const input = { clientId, registrationAccessToken, redirectUris: [redirectUri], logoUri: "x" };
      const failure = await w.nobody.failure(replace, { input: { ...input, clientSecret: "wrong" } });
      expect(failure.errors[0]!.extensions.oauthError).to.equal("invalid_client_metadata");
      expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.have.members([
        "input.clientSecret",
        "input.logoUri",
      ]);
      expect((await w.nobody.get(pathOf(made), tokenOf(made))).body.client_name).to.equal(made.body.client_name);
      const { body } = await put(client_secret);
      expect(body).to.include({ client_name: "Renamed", client_id: clientId });
    });

    it("ends all access with the client, on another request immediately", async () => {
      const w = the();
      const ada = await w.user("ada");
      const made = await registered(w);
      const access = w.as({ token: await makeAccess(w, ada, { clientId: made.body.client_id }) });
      expect((await access.get("/api/v2/groups")).status).to.equal(200);
      expect((await w.nobody.delete(pathOf(made), tokenOf(made))).status).to.equal(204);
      expect((await access.get("/api/v2/groups")).status).to.equal(401);
      expect(await grantsOf(w, { id: made.body.client_id })).to.deep.equal([]);
    });

    it("lets one of parallel updates decide, without failures", async () => {
      const w = the();
      const made = await registered(w);
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          w.nobody.put(pathOf(made), { ...publicClient, client_name: `n${n}` }, tokenOf(made)),
        ),
      );
      expect(all.map(({ status }) => status)).to.deep.equal(Array(20).fill(200));
      const valid: string[] = [];
      for (const { body } of all) {
        const { status, body: read } = await w.nobody.get(pathOf(made), bearer(body.registration_access_token));
        expect([200, 401]).to.include(status);
        if (status === 200) valid.push(body.client_name);
        if (status === 200) expect(read.client_name).to.equal(body.client_name);
      }
      expect(valid).to.have.length(1);
    });

    it("lets one of parallel deletions succeed", async () => {
      const w = the();
      const made = await registered(w);
      const all = await Promise.all(Array.from({ length: 20 }, () => w.nobody.delete(pathOf(made), tokenOf(made))));
      expect(all.map(({ status }) => status)).to.have.members([204, ...Array(19).fill(401)]);
    });
  });

  it("deletes clients that are not used, and no others", async () => {
    const w = the();
    const { id: userId } = await w.user("ada");
    const ago = (days: number) => inMs(-days * 86_400_000);
    const make = async (columns: object, kind = "dynamic", grant?: Record<string, unknown>) => {
      const { id } = await insertClient(w, { kind, ...columns });
      if (grant) await insertGrant(w, userId, id, grant);
      return id;
    };
    const unused = { created_at: ago(400), last_used_at: ago(400) };
    const kept = [
      await make({ created_at: ago(6) }),
      await make({ created_at: ago(400) }, "admin"),
      await make({ created_at: ago(400) }, "dynamic", {}),
      await make(unused, "dynamic", {}),
      await make(unused, "dynamic", { revoked_at: ago(179) }),
      await make({ created_at: ago(400), last_used_at: ago(179) }),
      await make({ created_at: ago(400), is_disabled: true }, "document"),
    ];
    const deleted = [
      await make({ created_at: ago(8) }),
      await make({ created_at: ago(8) }, "document"),
      await make({ created_at: ago(400), last_used_at: ago(181) }),
      await make(unused, "dynamic", { revoked_at: ago(181) }),
    ];
    await runJob(w.app, "unusedClientPurge");
    const { oauth2Apps } = await w.as(w.owner).graphql("{ oauth2Apps(first: 1000) { nodes { id } } }");
    const left = new Set((oauth2Apps.nodes as Array<{ id: string }>).map(({ id }) => id));
    expect([...kept, ...deleted].filter((id) => left.has(id))).to.have.members(kept);
  });

  it("is off where an owner or the configuration says so", async () => {
    const w = the();
    const set = (allowed: boolean) =>
      w
        .as(w.owner)
        .graphql(
          `mutation($input: UpdateOAuth2SettingsInput!) { updateOAuth2Settings(input: $input) { __typename } }`,
          { input: { dynamicRegistration: allowed } },
        );
    await set(false);
    const { status, body } = await w.nobody.post(register, publicClient);
    expect(status).to.equal(403);
    expect(body.error).to.equal("access_denied");
    expect((await w.nobody.get("/.well-known/oauth-authorization-server")).body).to.not.have.property(
      "registration_endpoint",
    );
    await set(true);
    expect((await w.nobody.post(register, publicClient)).status).to.equal(201);
  });
});

describe("limits of registration", () => {
  const the = world({ STEWARD_OAUTH2_REGISTRATIONS_PER_HOUR: "3", STEWARD_RATE_LIMIT_CREDENTIAL: "10" });

  it("counts registrations by address on both surfaces, and tries of tokens by client", async () => {
    const { nobody } = the();
    await registered(the());
    await registered(the());
    await nobody.graphql(
      `mutation { registerOAuth2Client(input: { redirectUris: ["${redirectUri}"] }) { __typename } }`,
    );
    const limited = await nobody.post(register, publicClient);
    expect(limited.status).to.equal(429);
    expect(limited.body.error).to.equal("temporarily_unavailable");
    expect(Number(limited.headers.get("retry-after"))).to.be.above(60);

    const path = `/oauth2/clients/${newId()}`;
    for (let n = 0; n < 10; n++) expect((await nobody.get(path, bearer("x"))).status).to.equal(401);
    expect((await nobody.get(path, bearer("x"))).status).to.equal(429);
    expect((await nobody.get(`/oauth2/clients/${newId()}`, bearer("x"))).status).to.equal(401);
  });
});

describe("a deployment that is no authorization server", () => {
  const the = world({ STEWARD_OAUTH2_ENABLED: "false" });

  it("has neither registration nor metadata", async () => {
    const { nobody } = the();
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource",
      `/oauth2/clients/${newId()}`,
    ])
      expect((await nobody.get(path)).status, path).to.equal(404);
    expect((await nobody.post(register, publicClient)).status).to.equal(404);
  });
});

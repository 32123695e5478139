// Reaches for tables: secrets expire, and are stored nowhere as text.
import { expect } from "chai";
import { audited, changesOf } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { appsPath, grantWithTokens, insertApp, makeApp } from "./support/oauth2.js";
import { setTimes, storedText } from "./support/tables.js";
import { type Answer, type Person, world } from "./support/world.js";

const callback = "https://app.example.com/callback";
const create = `mutation($input: CreateOAuth2AppInput!) { createOAuth2App(input: $input) { oauth2App { id } } }`;
const update = `mutation($input: UpdateOAuth2AppInput!) { updateOAuth2App(input: $input) { oauth2App {
  id kind type name icon callbackUrl redirectUris pkceRequired scopeCeiling grantTypes serviceUser { id }
  resourceIndicators disabled } } }`;
const createSecret = `mutation($input: CreateOAuth2AppSecretInput!) {
  createOAuth2AppSecret(input: $input) { clientSecretFull oauth2AppSecret { id clientSecretTruncated expiresAt } } }`;
const deleteSecret = `mutation($input: DeleteOAuth2AppSecretInput!) {
  deleteOAuth2AppSecret(input: $input) { oauth2AppSecret { id clientSecretTruncated } } }`;

const fieldsOf = ({ body }: Answer): string[] =>
  ((body.validations ?? []) as Array<{ field: string }>).map(({ field }) => field);
const namesOf = ({ body }: Answer): string[] => (body as Array<{ name: string }>).map(({ name }) => name);

describe("OAuth2 applications", () => {
  const the = world();
  const owner = () => the().as(the().owner);
  const made = async (input: object): Promise<string> =>
    (await owner().graphql(create, { input: { name: "made", ...input } })).createOAuth2App.oauth2App.id;
  const faults = async (operation: string, input: object) =>
    (await owner().failure(operation, { input })).errors[0]!.extensions as {
      code: string;
      validations: Array<{ field: string; detail: string }>;
    };

  it("are created, read, replaced, and deleted over REST", async () => {
    const w = the();
    const created = await owner().post(appsPath, { name: "  Editor ", callback_url: callback });
    expect(created.status, JSON.stringify(created.body)).to.equal(200);
    const { id } = created.body;
    const at = (path: string) => w.app.services.config.accessUrl + path;
    expect(created.body).to.deep.equal({
      id,
      name: "Editor",
      icon: "",
      callback_url: callback,
      endpoints: {
        authorization: at("/oauth2/authorize"),
        token: at("/oauth2/tokens"),
        token_revoke: at("/oauth2/revoke"),
      },
    });
    const path = `${appsPath}/${id}`;
    expect((await owner().get(path)).body).to.deep.equal(created.body);
    await owner().put(path, { name: "Editor", callback_url: callback, icon: "/icon.png" });
    const replaced = await owner().put(path, { name: "Editor 2", callback_url: "com.example.app:/done" });
    expect(replaced.body).to.include({ id, name: "Editor 2", callback_url: "com.example.app:/done", icon: "" });
    expect(await owner().delete(path)).to.include({ status: 204, body: "" });
    for (const answer of [
      await owner().get(path),
      await owner().put(path, { name: "x", callback_url: callback }),
      await owner().delete(path),
      await owner().get(`${appsPath}/${newId()}`),
    ])
      expect(answer.status).to.equal(404);
    expect((await changesOf(w, id)).map(({ action }) => action)).to.deep.equal([
      "CREATE",
      "UPDATE",
      "UPDATE",
      "DELETE",
    ]);
    expect((await changesOf(w, id))[2]!.diff).to.deep.equal({
      name: { old: "Editor", new: "Editor 2" },
      icon: { old: "/icon.png", new: "" },
      redirectUris: { old: [callback], new: ["com.example.app:/done"] },
    });
  });

  it("have all of their fields in GraphQL, and keep those that a change leaves out", async () => {
    const w = the();
    const { createUser } = await owner().graphql(
      `mutation { createUser(input: { email: "bot@example.com", username: "bot", isServiceAccount: true }) { user { id } } }`,
    );
    const bot = createUser.user.id;
    const id = await made({
      name: "Complete",
      redirectUris: [callback, callback, "http://intranet/cb"],
      pkceRequired: true,
      scopeCeiling: ["user:read", "workspace:*"],
      grantTypes: ["AUTHORIZATION_CODE", "CLIENT_CREDENTIALS", "DEVICE_CODE"],
      serviceUserId: bot,
      resourceIndicators: ["HTTPS://MCP.example.com:443/a/../b/", "https://mcp.example.com/b"],
    });
    const { updateOAuth2App } = await owner().graphql(update, {
      input: { id, callbackUrl: "https://app.example.com/2", name: null },
    });
    expect(updateOAuth2App.oauth2App).to.deep.equal({
      id,
      kind: "ADMIN",
      type: "CONFIDENTIAL",
      name: "Complete",
      icon: "",
      callbackUrl: "https://app.example.com/2",
      redirectUris: ["https://app.example.com/2", "http://intranet/cb"],
      pkceRequired: true,
      scopeCeiling: ["user:read", "workspace:*"],
      grantTypes: ["AUTHORIZATION_CODE", "CLIENT_CREDENTIALS", "DEVICE_CODE"],
      serviceUser: { id: bot },
      resourceIndicators: ["https://mcp.example.com/b"],
      disabled: false,
    });
    expect((await owner().get(`${appsPath}/${id}`)).body.endpoints.device_authorization).to.match(
      /\/oauth2\/device_authorization$/,
    );
    const { oauth2App } = await owner().graphql(
      `{ oauth2App(id: "${id}") { clientId createdBy { id } createdIp metadata documentUrl lastUsedAt secrets { id } } }`,
    );
    expect(oauth2App).to.deep.equal({
      clientId: id,
      createdBy: { id: w.owner.id },
      createdIp: "127.0.0.1",
      metadata: {},
      documentUrl: null,
      lastUsedAt: null,
      secrets: [],
    });
    const before = (await changesOf(w, id)).length;
    await owner().graphql(update, {
      input: { id, name: " Complete ", disabled: false, resourceIndicators: ["https://mcp.example.com/b/"] },
    });
    expect(await changesOf(w, id), "a change of nothing leaves no event").to.have.length(before);
    const changed = await owner().graphql(update, { input: { id, resourceIndicators: ["https://other.example.com"] } });
    expect(changed.updateOAuth2App.oauth2App.resourceIndicators).to.deep.equal(["https://other.example.com"]);
    const taken = await faults(update, {
      id: await made({ callbackUrl: callback, resourceIndicators: ["https://mcp.example.com/b"] }),
      resourceIndicators: ["https://mcp.example.com/b", "https://other.example.com/"],
    });
    expect(taken.code).to.equal("CONFLICT");
    expect(taken.validations[0]!.field).to.equal("input.resourceIndicators");
  });

  it("have resource indicators in canonical form, and none that have no such form", async () => {
    const id = await made({ callbackUrl: callback });
    const longest = "https://canonical.example/".padEnd(2048, "x");
    const given = ["HTTP://Canonical.example:80//", "https://canonical.example/a/./b//?c=/", longest];
    const { updateOAuth2App } = await owner().graphql(update, { input: { id, resourceIndicators: given } });
    expect(updateOAuth2App.oauth2App.resourceIndicators).to.deep.equal([
      "http://canonical.example",
      "https://canonical.example/a/b?c=/",
      longest,
    ]);
    const refused = [
      "canonical.example",
      "xhttps://canonical.example",
      "httpsx://canonical.example",
      "https://canonical.example/#",
      "https://canonical.example\\a",
      " https://canonical.example",
      "https://canonical.example/\t",
      "https://canonical.example/é",
      "https://user@canonical.example",
      "https://:password@canonical.example",
      `${longest}/`,
      "https://canonical.example/".padEnd(1000, '"'),
    ];
    const { validations } = await faults(update, { id, resourceIndicators: refused });
    expect(validations.map(({ field }) => field)).to.deep.equal(
      refused.map((_, index) => `input.resourceIndicators[${index}]`),
    );
  });

  it("have all faults reported together, in the spelling of the surface", async () => {
    const everything = {
      name: "a\u202eb",
      icon: "javascript:alert(1)",
      callbackUrl: "https://a.example.com/#",
      redirectUris: ["https://ok.example.com/", "urn:x:y", "https://u@h.example.com/"],
      scopeCeiling: ["user:read", "nope"],
      grantTypes: ["REFRESH_TOKEN"],
      serviceUserId: newId(),
      resourceIndicators: ["ftp://x", the().app.services.config.accessUrl + "/api/v2/groups"],
    };
    const { code, validations } = await faults(create, everything);
    expect(code).to.equal("BAD_USER_INPUT");
    expect(validations.map(({ field }) => field)).to.deep.equal(
      [
        "name",
        "icon",
        "callbackUrl",
        "callbackUrl",
        "redirectUris[1]",
        "redirectUris[2]",
        "scopeCeiling[1]",
        "grantTypes",
        "serviceUserId",
        "resourceIndicators[0]",
        "resourceIndicators[1]",
      ].map((field) => `input.${field}`),
    );
    const rest = await owner().post(appsPath, { name: "x".repeat(65), callback_url: "data:x", icon: "//evil" });
    expect([rest.status, fieldsOf(rest)]).to.deep.equal([400, ["name", "icon", "callback_url"]]);
    expect(fieldsOf(await owner().post(appsPath, {}))).to.deep.equal(["name", "callback_url"]);
    for (const name of ["", "  ", "a\nb", "\u2066x", "a\u2028b"])
      expect(fieldsOf(await owner().post(appsPath, { name, callback_url: callback })), name).to.deep.equal(["name"]);
    expect(await owner().post(appsPath, { name: "𝔘".repeat(64), callback_url: callback })).to.include({ status: 200 });
    for (const uri of [
      "",
      "/relative",
      "https:",
      "https://*.example.com/",
      "vbscript:x",
      "mailto:a@example.com",
      "https:\\\\x",
    ])
      expect(fieldsOf(await owner().post(appsPath, { name: "x", callback_url: uri })), uri).to.deep.equal([
        "callback_url",
      ]);
    for (const [input, field] of [
      [{}, "redirectUris"],
      [{ redirectUris: [] }, "redirectUris"],
      [{ callbackUrl: callback, grantTypes: [] }, "grantTypes"],
      [{ callbackUrl: callback, grantTypes: ["CLIENT_CREDENTIALS"] }, "serviceUserId"],
      [{ callbackUrl: callback, scopeCeiling: [] }, "scopeCeiling"],
      [{ callbackUrl: callback, serviceUserId: the().owner.id }, "serviceUserId"],
      [
        { callbackUrl: callback, resourceIndicators: [`https://a.example.com/${'"'.repeat(1500)}`] },
        "resourceIndicators[0]",
      ],
      [{ redirectUris: Array.from({ length: 33 }, (_, n) => `https://a.example.com/${n}`) }, "redirectUris"],
    ] as const) {
      const fault = await faults(create, { name: "x", ...input });
      expect(fault.validations.map((each) => each.field)).to.deep.equal([`input.${field}`]);
    }
  });

  it("differ by kind: what a document determines cannot be changed, and PKCE cannot be switched off", async () => {
    const dynamic = await insertApp(the(), "dynamic");
    const described = await insertApp(the(), "document");
    const put = await owner().put(described.path, { name: "x", callback_url: callback });
    expect(put.status).to.equal(409);
    const { updateOAuth2App } = await owner().graphql(update, {
      input: { id: described.id, disabled: true, resourceIndicators: ["https://described.example.com"] },
    });
    expect(updateOAuth2App.oauth2App).to.deep.include({ kind: "DOCUMENT", disabled: true });
    const { oauth2App } = await owner().graphql(`{ oauth2App(id: "${described.id}") { clientId } }`);
    expect(oauth2App.clientId).to.equal(described.clientId);
    for (const [input, fields] of [
      [{ pkceRequired: false }, ["pkceRequired"]],
      [{ callbackUrl: "http://intranet/cb" }, ["callbackUrl"]],
      [{ grantTypes: ["CLIENT_CREDENTIALS"] }, ["grantTypes", "serviceUserId"]],
    ] as const) {
      const { validations } = await faults(update, { id: dynamic.id, ...input });
      expect(validations.map(({ field }) => field)).to.deep.equal(fields.map((each) => `input.${each}`));
    }
    expect(await owner().put(dynamic.path, { name: "x", callback_url: "http://localhost:99/cb" })).to.include({
      status: 200,
    });
    const secret = await owner().post(`${dynamic.path}/secrets`);
    expect([secret.status, secret.body.message]).to.deep.equal([
      400,
      "A public application cannot keep a secret, and has none.",
    ]);
  });

  it("let only those choose a service account who may create API tokens for it", async () => {
    const { createUser } = await owner().graphql(
      `mutation { createUser(input: { email: "ci@example.com", username: "ci", isServiceAccount: true }) { user { id } } }`,
    );
    const narrow = await owner().graphql(
      `mutation { createApiKey(input: { name: "apps", scopes: ["oauth2_app:*"] }) { token } }`,
    );
    const client = the().as({ token: narrow.createApiKey.token });
    const input = {
      name: "x",
      grantTypes: ["CLIENT_CREDENTIALS"],
      serviceUserId: createUser.user.id,
    };
    expect((await client.failure(create, { input })).errors[0]!.extensions).to.deep.include({
      code: "FORBIDDEN",
      requiredScopes: ["api_key:create"],
    });
    expect((await client.graphql(create, { input: { name: "x", callbackUrl: callback } })).createOAuth2App).to.be.an(
      "object",
    );
    await made(input);
  });

  it("are read by all users if an owner made them, else by owners and those who granted access", async () => {
    const w = the();
    const [ada, bob, admin] = (await w.users("ada", "bob", "admin")) as [Person, Person, Person];
    await w.grant(admin, "user-admin");
    const app = await makeApp(w);
    const own = await insertApp(w, "dynamic");
    await grantWithTokens(w, own, ada);
    const missing = (await w.as(bob).get(`${appsPath}/${newId()}`)).body;
    for (const [client, expected] of [
      [w.as(ada), [200, 200]],
      [w.as(bob), [200, 404]],
      [w.as(admin), [200, 404]],
      [owner(), [200, 200]],
    ] as const) {
      const answers = [await client.get(app.path), await client.get(own.path)];
      expect(answers.map(({ status }) => status)).to.deep.equal(expected);
      if (expected[1] === 404) expect(answers[1]!.body).to.deep.equal(missing);
      const listed = namesOf(await client.get(appsPath));
      expect([listed.includes(app.name), listed.includes(own.name)]).to.deep.equal(
        expected.map((each) => each === 200),
      );
      const checks = {
        a: { action: "read", object: { resource_type: "oauth2_app", resource_id: app.id } },
        b: { action: "read", object: { resource_type: "oauth2_app", resource_id: own.id } },
        c: { action: "update", object: { resource_type: "oauth2_app", resource_id: app.id } },
      };
      const isOwner = client.token === w.owner.token;
      expect((await client.post("/api/v2/authcheck", { checks })).body).to.deep.equal({
        a: true,
        b: expected[1] === 200,
        c: isOwner,
      });
    }
    for (const answer of [
      await w.as(ada).put(app.path, { name: "x", callback_url: callback }),
      await w.as(ada).delete(app.path),
      await w.as(ada).get(`${app.path}/secrets`),
      await w.as(ada).post(`${app.path}/secrets`),
      await w.as(ada).delete(`${app.path}/secrets/${app.secret.id}`),
      await w.as(admin).post(appsPath, { name: "x", callback_url: callback }),
    ])
      expect(answer.status).to.equal(403);
    for (const answer of [await w.as(bob).get(`${own.path}/secrets`), await w.as(bob).delete(own.path)])
      expect([answer.status, answer.body]).to.deep.equal([404, missing]);
    const { oauth2App } = await w.as(ada).graphql(`{ oauth2App(id: "${app.id}") { createdBy { id } createdIp } }`);
    expect(oauth2App).to.deep.equal({ createdBy: null, createdIp: null });
    for (const path of [`${appsPath}/x`, `${app.path}/secrets/x`]) {
      const answer = await owner().delete(path);
      expect([answer.status, fieldsOf(answer)]).to.deep.equal([400, [path.includes("secrets") ? "secretID" : "app"]]);
    }
  });

  it("are listed by user for that user, owners, and user admins", async () => {
    const w = the();
    const [ada, bob, admin] = (await w.users("ada", "bob", "admin")) as [Person, Person, Person];
    await w.grant(admin, "user-admin");
    const app = await makeApp(w);
    const own = await insertApp(w, "dynamic");
    const other = await insertApp(w, "document");
    for (const each of [app, own]) await grantWithTokens(w, each, ada);
    await grantWithTokens(w, other, ada, { expires: "yesterday" });
    const list = async (client = owner(), user = ada.id) =>
      client.get(`${appsPath}?user_id=${encodeURIComponent(user)}`);
    const both = [app.name, own.name].sort();
    for (const client of [owner(), w.as(admin), w.as(ada)])
      for (const ref of [ada.id, ada.username, ada.username.toUpperCase()])
        expect(namesOf(await list(client, ref)).sort()).to.deep.equal(both);
    expect(namesOf(await list(w.as(ada), "me")).sort()).to.deep.equal(both);
    expect(namesOf(await list(w.as(bob), "me"))).to.deep.equal([]);
    for (const ref of [ada.id, ada.username, newId(), "nobody", "__proto__"]) {
      expect((await list(w.as(bob), ref)).status, ref).to.equal(403);
      if (ref === ada.id || ref === ada.username) continue;
      const answer = await list(owner(), ref);
      expect([answer.status, fieldsOf(answer)], ref).to.deep.equal([400, ["user_id"]]);
    }
  });

  it("are listed by name, in pages, with their total number in a header", async () => {
    const w = the();
    const prefix = `page-${newId().slice(-6)}`;
    const person = await w.user("ada");
    const names: string[] = [];
    for (const [index, letter] of ["b", "A", "c", "a", "B"].entries()) {
      const name = `${prefix} ${letter}`;
      names.push(name);
      if (index % 2 === 0) await makeApp(w, name);
      else await grantWithTokens(w, await insertApp(w, index === 1 ? "dynamic" : "document", name), person);
    }
    await insertApp(w, "dynamic", `${prefix} unseen`);
    const search = `${appsPath}?q=${encodeURIComponent(`"${prefix.toUpperCase()}"`)}`;
    const folded = (all: string[]) => all.map((name) => name.toLowerCase());
    for (const [client, count] of [
      [w.as(person), 5],
      [owner(), 6],
    ] as const) {
      const whole = await client.get(search);
      expect(whole.headers.get("x-total-count")).to.equal(String(count));
      expect(folded(namesOf(whole)))
        .to.deep.equal(folded(namesOf(whole)).toSorted())
        .and.have.length(count);
      const seen: string[] = [];
      for (let after = ""; ;) {
        const page = await client.get(`${search}&limit=2${after}`);
        expect(page.headers.get("x-total-count")).to.equal(String(count));
        seen.push(...namesOf(page));
        if (page.body.length < 2) break;
        after = `&after_id=${page.body[1].id}`;
      }
      expect(seen).to.deep.equal(namesOf(whole));
      expect(namesOf(await client.get(`${search}&limit=2&offset=3`))).to.deep.equal(seen.slice(3, 5));
      const { oauth2Apps } = await client.graphql(
        `query($q: String) { oauth2Apps(q: $q, last: 2) { totalCount nodes { name } pageInfo { hasPreviousPage } } }`,
        { q: prefix },
      );
      expect(oauth2Apps).to.deep.equal({
        totalCount: count,
        nodes: seen.slice(-2).map((name) => ({ name })),
        pageInfo: { hasPreviousPage: true },
      });
    }
    const kinds = await owner().get(`${search}%20kind:dynamic,document`);
    expect([kinds.body.length, kinds.headers.get("x-total-count")]).to.deep.equal([3, "3"]);
    expect((await w.as(person).get(`${search}%20KIND:Admin`)).body).to.have.length(3);
    expect((await owner().get(`${search}%20kind:admin%20kind:dynamic`)).body).to.deep.equal([]);
    expect((await owner().get(`${appsPath}?q=%25`)).body).to.deep.equal([]);
    for (const [query, field] of [
      ["q=kind:robot", "q"],
      ["q=size:3", "q"],
      ["limit=1001", "limit"],
      ["limit=-1", "limit"],
      ["offset=x", "offset"],
      ["after_id=x", "after_id"],
    ]) {
      const answer = await owner().get(`${appsPath}?${query}`);
      expect([answer.status, answer.body.message, fieldsOf(answer)], query).to.deep.equal([
        400,
        "Query parameters have invalid values.",
        [field],
      ]);
    }
  });

  it("have secrets that are returned once, at most 10 at a time", async () => {
    const w = the();
    const app = await makeApp(w);
    expect(app.secret.client_secret_full).to.match(/^stws_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}$/);
    const last = app.secret.client_secret_full.slice(-6);
    expect((await owner().get(`${app.path}/secrets`)).body).to.deep.equal([
      { id: app.secret.id, client_secret_truncated: `****${last}` },
    ]);
    const expiring = await owner().graphql(createSecret, { input: { app: app.id, expiresAt: "2999-01-01T00:00:00Z" } });
    expect(expiring.createOAuth2AppSecret.oauth2AppSecret.expiresAt).to.equal("2999-01-01T00:00:00.000Z");
    expect((await faults(createSecret, { app: app.id, expiresAt: "2020-01-01T00:00:00Z" })).validations).to.deep.equal([
      { field: "input.expiresAt", detail: "Must be in the future." },
    ]);
    const parallel = await Promise.all(Array.from({ length: 12 }, () => owner().post(`${app.path}/secrets`)));
    expect(parallel.filter(({ status }) => status === 200)).to.have.length(8);
    const refused = parallel.filter(({ status }) => status === 409);
    expect(refused.map(({ body }) => body.message)).to.deep.equal(
      Array.from({ length: 4 }, () => "An application can have at most 10 secrets."),
    );
    const { id } = expiring.createOAuth2AppSecret.oauth2AppSecret;
    await setTimes(w, "oauth2_client_secrets", { id }, { expires_at: "0 s" });
    expect(await owner().post(`${app.path}/secrets`)).to.include({ status: 200 });
    expect((await owner().get(`${app.path}/secrets`)).body, "the expired one is gone").to.have.length(10);

    const other = await makeApp(w);
    expect(await owner().delete(`${other.path}/secrets/${app.secret.id}`)).to.include({ status: 404 });
    expect((await owner().failure(deleteSecret, { input: { app: other.id, id: app.secret.id } })).code).to.equal(
      "NOT_FOUND",
    );
    expect(await owner().delete(`${app.path}/secrets/${app.secret.id}`)).to.include({ status: 204, body: "" });
    expect(await owner().delete(`${app.path}/secrets/${app.secret.id}`)).to.include({ status: 404 });
    expect(await changesOf(w, app.secret.id)).to.deep.equal([
      { action: "CREATE", diff: { app: { new: app.id }, secret: { new: "***" } } },
      { action: "DELETE", diff: { app: { old: app.id }, secret: { old: "***" } } },
    ]);
    expect(await storedText(w, "oauth2_client_secrets", "audit_events")).to.not.include(
      app.secret.client_secret_full.slice(-43),
    );
  });

  it("have settings that owners change", async () => {
    const w = the();
    const auditor = await w.user("auditor");
    await w.grant(auditor, "auditor");
    const read = "{ oauth2Settings { dynamicRegistration } }";
    const set = (value: string) =>
      `mutation { updateOAuth2Settings(input: { ${value} }) { oauth2Settings { dynamicRegistration } } }`;
    expect((await w.as(auditor).graphql(read)).oauth2Settings).to.deep.equal({ dynamicRegistration: null });
    expect((await w.as(auditor).failure(set("dynamicRegistration: false"))).code).to.equal("FORBIDDEN");
    expect((await w.as(await w.user("ada")).failure(read)).code).to.equal("FORBIDDEN");
    for (const value of ["dynamicRegistration: false", "dynamicRegistration: false", ""])
      await owner().graphql(set(value));
    expect((await owner().graphql(read)).oauth2Settings).to.deep.equal({ dynamicRegistration: null });
    const events = await audited(w, { resourceType: "oauth2_settings" });
    expect(events.map(({ diff }) => diff)).to.deep.equal([
      { dynamicRegistration: { old: null, new: false } },
      { dynamicRegistration: { old: false, new: null } },
    ]);
  });

  it("are not changed by access tokens, which a secret or a redirect URI would outlive", async () => {
    const w = the();
    const app = await makeApp(w);
    const { token } = await grantWithTokens(w, app, w.owner);
    const client = w.as({ token });
    expect(await client.get(app.path)).to.include({ status: 200 });
    for (const answer of [
      await client.post(appsPath, { name: "x", callback_url: callback }),
      await client.put(app.path, { name: "x", callback_url: callback }),
      await client.post(`${app.path}/secrets`),
      await client.delete(`/oauth2/tokens?client_id=${app.id}`),
    ])
      expect(answer.status).to.equal(403);
  });

  it("claim a resource once, however many claim it at a time", async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => made({ callbackUrl: callback })));
    const uris = ["https://r1.example.com", "https://r2.example.com"];
    const results = await Promise.allSettled(
      ids.map((id, index) =>
        owner().graphql(update, { input: { id, resourceIndicators: index % 2 ? uris : uris.toReversed() } }),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).to.have.length(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason.code).to.equal("CONFLICT");
  });
});

// Redirects to applications: who receives a key, where it is sent, and who can decrypt it there.
// Looks inside: no interface shows the key ring, from which recipients derive their keys.
import { hkdfSync } from "node:crypto";
import { expect } from "chai";
import { decodeProtectedHeader, jwtDecrypt } from "jose";
import { appConnectSecrets } from "../../src/domain/encryption/columns.js";
import { keysOf } from "../support/accounts.js";
import { insertKey, insertKeys } from "../support/keys.js";
import { letPass, setTimes, storedSecrets, storedText } from "../support/tables.js";
import { newToken, parseToken } from "../support/token-rows.js";
import { type App, logged, startServer } from "../support/app.js";
import { browse } from "../support/browse.js";
import { type Key, makeProxy, proxiesPath, type StandIn, standIns } from "../support/proxies.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, type Person, type World, world } from "../support/world.js";

const settings = {
  STEWARD_ACCESS_URL: "https://steward.example.com",
  STEWARD_WILDCARD_ACCESS_URL: "*.apps.example.com",
};
const path = "/api/v2/applications/auth-redirect";
const requestTo = (uri: string) => `${path}?redirect_uri=${encodeURIComponent(uri)}`;
const redirect = `mutation($uri: String!) { createApplicationRedirect(input: { redirectUri: $uri }) { location } }`;
const parameter = "steward_application_connect";
const home = "https://x.apps.example.com/";

/** Returns the URL to which a response redirects the browser, and the message in it. */
function sent(answer: Answer): { url: URL; message: string } {
  expect(answer.status, JSON.stringify(answer.body)).to.equal(307);
  expect(answer.body).to.equal("");
  const url = new URL(answer.headers.get("location")!);
  expect(url.searchParams.getAll(parameter)).to.have.length(1);
  return { url, message: url.searchParams.get(parameter)! };
}

/** Derives a recipient's key from the ring as documented, with nothing of the server but its vault. */
async function keyOf({ app }: Pick<World, "app">, recipient: string, kid: string): Promise<Uint8Array> {
  const [stored] = await storedSecrets(app, "app_connect_keys", "secret", { where: { id: kid } });
  const place = appConnectSecrets.place({ id: kid, ownerId: kid });
  const secret = Buffer.from(app.services.vault.open(place, stored!), "base64url");
  expect(secret).to.have.length(32);
  return new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), `steward app-connect v1:${recipient}`, 32));
}

interface Claims {
  api_key: string;
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
}

/** Decrypts a message with a recipient's key. */
const opened = async (message: string, key: Uint8Array | string): Promise<Claims> => {
  const bytes = typeof key === "string" ? Buffer.from(key, "base64url") : key;
  return (await jwtDecrypt(message, bytes)).payload as unknown as Claims;
};

const failure = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: Error) => error.name,
  );

describe("redirects to applications", () => {
  const the = world(settings);
  const start = standIns();
  let deploymentId: string;
  before(async () => {
    ({ deploymentId } = (await the().as(the().owner).graphql("{ serverInfo { deploymentId } }")).serverInfo);
  });

  /** Creates a proxy and registers it with these hosts. */
  async function registered(name: string, accessUrl: string, wildcardHostname = "") {
    const proxy = await makeProxy(the(), name);
    const standIn = await start(the().url, proxy.token);
    const { data } = await standIn.register({ accessUrl, wildcardHostname });
    const [key] = data.registerWorkspaceProxy.appConnectKeys as [Key];
    return { ...proxy, standIn, key };
  }

  /** Returns the application key in a message to the deployment. */
  async function innerKey(client: Client, uri = home): Promise<string> {
    const { message } = sent(await client.get(requestTo(uri)));
    const { kid } = decodeProtectedHeader(message);
    return (await opened(message, await keyOf(the(), deploymentId, kid!))).api_key;
  }

  /** Creates a user with a session that the test may end. */
  const person = async (): Promise<{ ada: Person; client: Client }> => {
    const [ada] = (await the().users("ada")) as [Person];
    return { ada, client: the().as(ada) };
  };

  it("lead to the hosts of the deployment, with its port", async () => {
    const { client } = await person();
    expect((await client.get("/api/v2/applications/host")).body).to.deep.equal({ host: "*.apps.example.com" });
    expect(await client.graphql("{ applicationsHost }")).to.deep.equal({ applicationsHost: "*.apps.example.com" });
    for (const [changes, host] of [
      [
        { STEWARD_WILDCARD_ACCESS_URL: "*.Apps.LOCALHOST", STEWARD_ACCESS_URL: "http://localhost:3100" },
        "*.apps.localhost:3100",
      ],
      [{ STEWARD_ACCESS_URL: "http://localhost:3100" }, ""],
    ] as const) {
      const other = await startServer(the().database.url, changes);
      expect((await new Client(other.url, the().owner.token).get("/api/v2/applications/host")).body).to.deep.equal({
        host,
      });
      await other.close();
    }
  });

  it("hand a key to the deployment's own hosts that only the deployment can decrypt", async () => {
    const { ada, client } = await person();
    const uri = "https://App--main--box--ada.apps.example.com/a/b%20c?x=%20y&flag&x=2#part";
    const before = Math.floor(Date.now() / 1000);
    const answer = await client.get(requestTo(uri));
    const { url, message } = sent(answer);
    expect(answer.headers.get("cache-control")).to.equal("no-store");
    expect(answer.headers.get("referrer-policy")).to.equal("no-referrer");
    expect(url.href).to.equal(
      `https://app--main--box--ada.apps.example.com/a/b%20c?x=%20y&flag&x=2&${parameter}=${message}#part`,
    );

    const [header, encryptedKey] = message.split(".");
    expect(encryptedKey).to.equal("");
    const { kid, ...rest } = JSON.parse(Buffer.from(header!, "base64url").toString());
    expect(rest).to.deep.equal({ alg: "dir", enc: "A256GCM", typ: "JWT" });
    const key = await keyOf(the(), deploymentId, kid);
    const { payload } = await jwtDecrypt(message, key, {
      issuer: "https://steward.example.com",
      audience: "https://app--main--box--ada.apps.example.com",
      subject: ada.id,
      requiredClaims: ["jti", "iat", "nbf", "exp"],
    });
    const { iat, nbf, exp, jti, api_key: apiKey } = payload as unknown as Claims;
    expect(Object.keys(payload).sort()).to.deep.equal(["api_key", "aud", "exp", "iat", "iss", "jti", "nbf", "sub"]);
    expect([exp - iat, iat - nbf]).to.deep.equal([60, 30]);
    // The clock of the server is as old as the response with which it was read.
    expect(iat).to.be.within(before - 20, before + 20);
    expect(jti).to.match(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(apiKey).to.match(/^stw_ap_/);
    const again = sent(await client.get(requestTo(uri)));
    expect((await opened(again.message, key)).jti).to.not.equal(jti);
  });

  it("hand a key to a proxy that neither another proxy nor the deployment can decrypt", async () => {
    const { client } = await person();
    const eu = await registered("eu", "https://eu.example.net", "*.eu.example.net");
    const us = await registered("us", "http://us.example.net:8080", "*.us.example.net");
    for (const [uri, proxy, origin] of [
      ["https://eu.example.net/@ada/box/apps/code/", eu, "https://eu.example.net"],
      ["http://eu.example.net/", eu, "https://eu.example.net"],
      ["https://code.eu.example.net/?folder=/a", eu, "https://code.eu.example.net"],
      ["http://us.example.net:8080/x", us, "http://us.example.net:8080"],
      ["https://code.us.example.net:8080/x", us, "http://code.us.example.net:8080"],
    ] as const) {
      const { url, message } = sent(await client.get(requestTo(uri)));
      expect(url.origin, uri).to.equal(origin);
      const { kid } = decodeProtectedHeader(message);
      expect(kid, uri).to.equal(proxy.key.kid);
      // The proxy's process decrypts it with the key from its registration.
      const seen = await proxy.standIn.tell<{ payload: Claims & { aud: string } }>("open", {
        message,
        key: proxy.key.key,
      });
      expect(seen.payload.aud, uri).to.equal(origin);
      expect(seen.payload.api_key, uri).to.match(/^stw_ap_/);
      expect(Buffer.from(await keyOf(the(), proxy.id, kid!)).toString("base64url")).to.equal(proxy.key.key);

      const other = proxy === eu ? us : eu;
      expect(await failure(opened(message, other.key.key)), uri).to.equal("JWEDecryptionFailed");
      expect(await failure(opened(message, await keyOf(the(), deploymentId, kid!))), uri).to.equal(
        "JWEDecryptionFailed",
      );
    }
    await the().as(the().owner).delete(`${proxiesPath}/us`);
    expect(await client.get(requestTo("http://us.example.net:8080/x"))).to.include({ status: 400 });
  });

  it("work the same in GraphQL", async () => {
    const { client } = await person();
    const { location } = (await client.graphql(redirect, { uri: home })).createApplicationRedirect;
    expect(location).to.match(new RegExp(`^${home}\\?${parameter}=ey`));
    const refused = (await client.failure(redirect, { uri: "https://evil.example/" })).errors[0]!;
    expect(refused.message).to.equal("Invalid redirect_uri.");
    expect(refused.extensions).to.deep.include({
      code: "BAD_USER_INPUT",
      validations: [{ field: "input.redirectUri", detail: "Must be a URL at an application host." }],
    });
    expect((await client.failure(redirect, {})).errors[0]!.extensions).to.deep.include({
      validations: [{ field: "input.redirectUri", detail: "Is required." }],
    });
    expect((await the().nobody.failure(redirect, { uri: home })).code).to.equal("UNAUTHENTICATED");
  });

  it("never lead to an unregistered host, however its address is written", async () => {
    const { ada, client } = await person();
    await registered("hosts", "https://proxy.example.org", "*.proxy.example.org");
    // Deleted proxies, and proxies that have not registered, have no hosts.
    await registered("former", "https://former.example.org", "*.former.example.org");
    await the().as(the().owner).delete(`${proxiesPath}/former`);
    await makeProxy(the(), "unregistered");
    const hostile = [
      "https://evil.example/",
      "https://evil.example/x.apps.example.com",
      "https://evil.example/?x.apps.example.com",
      "https://evil.example#x.apps.example.com",
      "https://x.apps.example.com.evil.example/",
      "https://xapps.example.com/",
      "https://evilapps.example.com/",
      "https://apps.example.com/",
      "https://.apps.example.com/",
      "https://a.b.apps.example.com/",
      "https://-x.apps.example.com/",
      "https://x-.apps.example.com/",
      "https://*.apps.example.com/",
      "https://x_y.apps.example.com/",
      `https://${"x".repeat(64)}.apps.example.com/`,
      "https://steward.example.com/",
      "https://steward.example.com/x",
      "https://STEWARD.example.com:443/",
      "http://steward.example.com/",
      // Ports other than those of the deployment and the proxy.
      "https://x.apps.example.com:8443/",
      "https://x.apps.example.com:80/",
      "https://proxy.example.org:444/",
      "https://x.proxy.example.org:1/",
      "https://x.apps.example.com:99999/",
      "https://x.apps.example.com:port/",
      // Trailing dots, which make different names.
      "https://x.apps.example.com./",
      "https://proxy.example.org./",
      "https://x.apps.example.com../",
      // User information.
      "https://user@x.apps.example.com/",
      "https://user:pass@x.apps.example.com/",
      "https://@x.apps.example.com/",
      "https://:@x.apps.example.com/",
      "https://x.apps.example.com@evil.example/",
      "https://x.apps.example.com:443@evil.example/",
      "https://x.apps.example.com%40evil.example/",
      "https://evil.example%00.apps.example.com/",
      "https://evil.example%2f.apps.example.com/",
      "https://evil.example%23.apps.example.com/",
      "https://evil.example%3f.apps.example.com/",
      "https://evil.example%5c.apps.example.com/",
      // Characters that some parsers take for slashes.
      "https:\\\\evil.example\\@x.apps.example.com/",
      "https://evil.example\\@x.apps.example.com/",
      "https://evil.example\\.apps.example.com/",
      "https://x.apps.example.com\\@evil.example/",
      "https:/\\x.apps.example.com/",
      "https:///x.apps.example.com/",
      "https:////evil.example/",
      "https:x.apps.example.com/",
      "https:/x.apps.example.com/",
      "//x.apps.example.com/",
      "/x.apps.example.com/",
      "x.apps.example.com",
      "\thttps://x.apps.example.com/",
      "ht\ntps://x.apps.example.com/",
      "https://x.apps.\nexample.com/",
      " https://x.apps.example.com/",
      "https://x.apps.example.com /",
      "https://evil.example\t.apps.example.com/",
      // Look-alike letters.
      "https://x.аpps.example.com/",
      "https://x.apps.exаmple.com/",
      "https://x。evil.example/",
      "https://x.apps.example.com。evil.example/",
      "https://evil.example／.apps.example.com/",
      "https://evil.example＠x.apps.example.com/",
      // Other schemes.
      "javascript://x.apps.example.com/%0aalert(1)",
      "data:text/html,x.apps.example.com",
      "ftp://x.apps.example.com/",
      "file://x.apps.example.com/",
      "blob:https://x.apps.example.com/",
      "ws://x.apps.example.com/",
      "intent://x.apps.example.com/",
      // IP addresses.
      "https://127.0.0.1/",
      "https://2130706433/",
      "https://[::1]/",
      "http://169.254.169.254/",
      // Deleted, or never registered.
      "https://former.example.org/",
      "https://x.former.example.org/",
      "https://unregistered.example.org/",
      "https://example.org/",
      "https://x.y.proxy.example.org/",
      "null",
      "about:blank",
      `https://x.apps.example.com/${"x".repeat(2048)}`,
    ];
    for (const uri of hostile) {
      const answer = await client.get(requestTo(uri));
      expect(answer.status, uri).to.equal(400);
      expect(answer.headers.has("location"), uri).to.equal(false);
      expect(answer.body.validations, uri).to.have.length(1);
      expect(answer.body.validations[0].field, uri).to.equal("redirect_uri");
    }
    const keys = await keysOf(the(), ada, "APPLICATION");
    for (const bare of [path, `${path}?redirect_uri=`]) {
      const answer = await client.get(bare);
      expect(answer.body.validations).to.deep.equal([{ field: "redirect_uri", detail: "Is required." }]);
    }
    expect(await client.get(`${requestTo(home)}&redirect_uri=${encodeURIComponent(home)}`)).to.include({ status: 400 });
    expect(await keysOf(the(), ada, "APPLICATION"), "no key was created").to.deep.equal(keys);
  });

  it("accept every spelling of registered hosts, and normalize it", async () => {
    const { client } = await person();
    for (const [uri, expected] of [
      ["HTTPS://X.APPS.Example.COM/A", "https://x.apps.example.com/A"],
      ["http://x.apps.example.com/", "https://x.apps.example.com/"],
      ["https://x.apps.example.com:443/", "https://x.apps.example.com/"],
      ["https://x.apps.example.com", "https://x.apps.example.com/"],
      ["https://x%2eapps.example.com/", "https://x.apps.example.com/"],
      ["https://%78.apps.example.com/", "https://x.apps.example.com/"],
      ["https://ｘ.apps.example.com/", "https://x.apps.example.com/"],
      ["https://x。apps.example.com/", "https://x.apps.example.com/"],
      ["https://bücher.apps.example.com/", "https://xn--bcher-kva.apps.example.com/"],
      ["https://x.apps.example.com//evil.example/%5c..", "https://x.apps.example.com//evil.example/%5c.."],
      ['https://x.apps.example.com/"<>é', "https://x.apps.example.com/%22%3C%3E%C3%A9"],
    ] as const) {
      const { url, message } = sent(await client.get(requestTo(uri)));
      expect(url.href, uri).to.equal(`${expected}?${parameter}=${message}`);
    }
  });

  it("carry one message, which replaces any in the given address", async () => {
    const { client } = await person();
    const uri = `${home}?a=1&${parameter}=old&steward%5Fapplication_connect=older&b=%26&${parameter}#${parameter}=x`;
    const { url, message } = sent(await client.get(requestTo(uri)));
    expect(url.href).to.equal(`${home}?a=1&b=%26&${parameter}=${message}#${parameter}=x`);
  });

  it("accept full credentials: sessions and tokens in headers, and the cookie of a navigation", async () => {
    const { ada, client } = await person();
    const { createApiKey } = await client.graphql(`mutation { createApiKey(input: { name: "whole" }) { token } }`);
    const cookie = { Cookie: `service_session_token=${ada.token}` };
    const from = (site: string, mode: string) => ({ ...cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode });
    for (const headers of [
      { "Service-Session-Token": ada.token },
      { Authorization: `Bearer ${ada.token}` },
      { "Service-Session-Token": createApiKey.token },
      cookie,
      from("none", "navigate"),
      from("cross-site", "navigate"),
      from("same-site", "navigate"),
      from("same-origin", "cors"),
    ] as Array<Record<string, string>>)
      sent(await browse(the().url, requestTo(home), headers));
    for (const headers of [
      {},
      from("cross-site", "cors"),
      from("same-site", "no-cors"),
      { Cookie: `service_application_token=${ada.token}` },
      { ...cookie, "Service-Session-Token": newToken("session").text },
      { "Service-Session-Token": "nonsense" },
    ] as Array<Record<string, string>>) {
      const answer = await browse(the().url, requestTo(home), headers);
      expect(answer, JSON.stringify(headers)).to.include({ status: 401 });
      expect(answer.headers.get("www-authenticate")).to.match(/^Bearer /);
    }
    // Only this page accepts the cookie across sites; the API accepts it from the deployment's own pages alone.
    expect(await browse(the().url, "/api/v2/groups", from("cross-site", "navigate"))).to.include({ status: 401 });
  });

  it("reject narrowed credentials, whatever their scopes", async () => {
    const { ada, client } = await person();
    const scoped = async (scopes: string[]): Promise<string> =>
      (
        await client.graphql(
          `mutation($scopes: [String!]) { createApiKey(input: { name: "${scopes.join("-").replace(/\W/g, "-")}", scopes: $scopes }) { token } }`,
          { scopes },
        )
      ).createApiKey.token;
    const oauth = await insertKey(the(), ada, "oauth");
    const lacksAll = /^Bearer realm="steward", .*error="insufficient_scope", scope="all"$/;
    for (const [token, challenge, detail] of [
      [await scoped(["application_connect"]), lacksAll, /the scope all/],
      [await scoped(["workspace:*", "api_key:*"]), lacksAll, /the scope all/],
      [await innerKey(client), /^$/, /an application key cannot be used/],
      [oauth.text, /^$/, /an OAuth2 access token cannot be used/],
    ] as const) {
      const narrow = the().as({ token });
      for (const uri of [home, "https://evil.example/", ""]) {
        const answer = await narrow.get(requestTo(uri));
        expect(answer, uri).to.include({ status: 403 });
        expect(answer.headers.get("www-authenticate") ?? "").to.match(challenge);
        expect(answer.body.detail).to.match(detail);
      }
      expect((await narrow.failure(redirect, { uri: home })).code).to.equal("FORBIDDEN");
    }
  });

  it("send signed-out browsers to the sign-in page, and show errors as pages", async () => {
    const { ada } = await person();
    const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
    const answer = await the().nobody.get(requestTo(home), browser);
    expect(answer).to.include({ status: 303 });
    const login = new URL(answer.headers.get("location")!, the().url);
    expect(login.pathname).to.equal("/login");
    expect(login.searchParams.get("return_to")).to.equal(requestTo(home));
    const stale = { ...browser, Cookie: `service_session_token=${newToken("session").text}` };
    expect(await the().nobody.get(requestTo(home), stale)).to.include({ status: 303 });

    const cookie = { ...browser, Cookie: `service_session_token=${ada.token}` };
    sent(await the().nobody.get(login.searchParams.get("return_to")!, cookie));
    const refused = await the().nobody.get(requestTo("https://evil.example/"), cookie);
    expect(refused).to.include({ status: 400 });
    expect(refused.headers.get("content-type")).to.equal("text/html; charset=utf-8");
    expect(refused.body).to.include("Invalid redirect_uri.").and.not.include("evil.example");
  });

  it("issue keys that open applications and nothing else", async () => {
    const { ada, client } = await person();
    const key = await innerKey(client);
    const narrow = the().as({ token: key });
    expect(await narrow.graphql("{ me { id } }")).to.deep.equal({ me: { id: ada.id } });
    expect(await narrow.get("/api/v2/groups")).to.include({ status: 403 });
    const { apiKeys } = await client.graphql("{ apiKeys(kind: APPLICATION) { id kind scopes name } }");
    expect(apiKeys).to.deep.equal([
      { id: key.split("_")[2]!.split("-")[0], kind: "APPLICATION", scopes: ["application_connect"], name: "" },
    ]);
  });

  it("issue keys that end with the credential that requested them", async () => {
    const { ada, client } = await person();
    const there = await startServer(the().database.url, settings);
    try {
      const key = await innerKey(client);
      const other = await innerKey(client);
      const works = async (url: string, token: string) =>
        (await new Client(url, token).post("/graphql", { query: "{ me { id } }" })).status === 200;
      for (const url of [the().url, there.url])
        for (const each of [key, other]) expect(await works(url, each)).to.equal(true);
      await client.graphql("mutation { logout { __typename } }");
      for (const each of [key, other]) expect(await works(the().url, each)).to.equal(false);
      await eventually(async () => !(await works(there.url, key)), "the key ends on the other replica");
      expect(await keysOf(the(), ada)).to.deep.equal([]);
    } finally {
      await there.close();
    }
  });

  it("issue keys that last a day at most, and not longer than the credential that requested them", async () => {
    const { client } = await person();
    const endOf = async (token: string) => {
      const { apiKeys } = await client.graphql("{ apiKeys(kind: APPLICATION) { id expiresAt } }");
      const id = token.split("_")[2]!.split("-")[0];
      return Date.parse(apiKeys.find((each: { id: string }) => each.id === id)!.expiresAt);
    };
    const hour = 3_600_000;
    const { createApiKey } = await client.graphql(
      `mutation($at: DateTime) { createApiKey(input: { name: "brief", expiresAt: $at }) { token apiKey { expiresAt } } }`,
      { at: new Date(Date.now() + hour).toISOString() },
    );
    expect(await endOf(await innerKey(the().as(createApiKey)))).to.equal(Date.parse(createApiKey.apiKey.expiresAt));
    const { createApiKey: long } = await client.graphql(`mutation { createApiKey(input: { name: "long" }) { token } }`);
    const began = Date.now();
    const end = await endOf(await innerKey(the().as(long)));
    expect(end - 24 * hour).to.be.within(began, Date.now() + 1);
  });

  it("issue no key to a credential that ends at the same moment", async () => {
    const { ada, client } = await person();
    await Promise.all([
      client.graphql("mutation { logout { __typename } }"),
      ...Array.from({ length: 20 }, () => client.get(requestTo(home))),
    ]);
    expect(await keysOf(the(), ada)).to.deep.equal([]);
  });

  it("keep a hundred keys per user, and end the oldest when one more is issued", async () => {
    const { ada, client } = await person();
    const first = await innerKey(client);
    await setTimes(the(), "api_keys", { id: parseToken(first).id }, { created_at: "-2 h" });
    await insertKeys(the(), ada, "application", 99);
    expect(await the().as({ token: first }).get("/api/v2/groups")).to.include({ status: 403 });
    await innerKey(client);
    expect(await the().as({ token: first }).get("/api/v2/groups")).to.include({ status: 401 });
    expect(await keysOf(the(), ada, "APPLICATION")).to.have.length(100);
    await Promise.all(Array.from({ length: 10 }, () => client.get(requestTo(home)).then(sent)));
  });

  it("record an audit event for each key, and store the key itself nowhere", async () => {
    const w = the();
    const { ada, client } = await person();
    const key = await innerKey(client, "https://audited.apps.example.com/secret-path");
    const { auditEvents } = await w
      .as(w.owner)
      .graphql(
        `query($id: String) { auditEvents(filter: { resourceType: "api_key", resourceId: $id }) { nodes { action actorId diff } } }`,
        { id: key.split("_")[2]!.split("-")[0] },
      );
    expect(auditEvents.nodes).to.have.length(1);
    expect(auditEvents.nodes[0]).to.deep.include({ action: "CREATE", actorId: ada.id });
    expect(auditEvents.nodes[0]!.diff).to.deep.include({
      scopes: { new: ["application_connect"] },
      host: { new: "audited.apps.example.com" },
    });
    const secret = key.split("-")[1]!;
    const tables = ["api_keys", "audit_events", "app_connect_keys", "spent_app_connects"];
    expect(await storedText(w, ...tables)).to.not.include(secret);
    expect(JSON.stringify(logged)).to.not.include(secret);
  });
});

describe("the key ring of applications", () => {
  const the = world(settings);
  const start = standIns();
  let there: App;
  before(async () => {
    there = await startServer(the().database.url, settings);
  });
  after(() => there.close());

  const kidAt = async (url = the().url): Promise<string> =>
    decodeProtectedHeader(sent(await new Client(url, the().owner.token).get(requestTo(home))).message).kid!;
  const ringOf = async (standIn: StandIn): Promise<Key[]> =>
    (await standIn.heartbeat()).data.heartbeatWorkspaceProxy.appConnectKeys;
  /** Moves the keys into the past. */
  const pass = (interval: string) => letPass(the(), "app_connect_keys", {}, interval, ["usable_from", "retired_at"]);

  it("starts with one key, even when several requests need it concurrently", async () => {
    const kids = await Promise.all(Array.from({ length: 12 }, (_, n) => kidAt(n % 2 ? the().url : there.url)));
    expect(new Set(kids)).to.have.property("size", 1);
    const [key, ...others] = await storedSecrets(the(), "app_connect_keys", "secret");
    expect(others).to.deep.equal([]);
    expect(key!.ciphertext).to.have.length(43 + 16);
  });

  it("adds a key every 30 days, which proxies have from five minutes before to five minutes after its use", async () => {
    const { token } = await makeProxy(the(), "ring");
    const standIn = await start(the().url, token);
    await standIn.register({ accessUrl: "https://ring.example.net" });
    const [first] = (await ringOf(standIn)) as [Key];
    expect(await ringOf(standIn)).to.have.length(1);

    await pass("29 days 23 hours 54 minutes");
    expect(await ringOf(standIn)).to.have.length(1);
    await pass("2 minutes");
    const [old, next, ...none] = (await ringOf(standIn)) as [Key, Key];
    expect(none).to.deep.equal([]);
    expect(old.kid).to.equal(first.kid);
    expect(old.retiredAt).to.equal(next.usableFrom);
    expect(next.retiredAt).to.equal(null);
    expect(Date.parse(next.usableFrom) - Date.parse(old.usableFrom)).to.be.at.least(30 * 86_400_000);
    expect(Date.parse(next.usableFrom) - Date.now()).to.be.greaterThan(4 * 60_000);
    for (const url of [the().url, there.url]) expect(await kidAt(url)).to.equal(first.kid);

    await pass("6 minutes");
    for (const url of [the().url, there.url]) expect(await kidAt(url)).to.equal(next.kid);
    expect((await ringOf(standIn)).map(({ kid }) => kid)).to.deep.equal([first.kid, next.kid]);
    await pass("4 minutes");
    expect((await ringOf(standIn)).map(({ kid }) => kid)).to.deep.equal([next.kid]);
    expect((await ringOf(standIn))[0]!.key).to.equal(next.key);

    // After a long time without requests, the next key is still handed out before its first use.
    await pass("100 days");
    const late = await ringOf(standIn);
    expect(late).to.have.length(2);
    expect(await kidAt()).to.equal(next.kid);
    expect(Date.parse(late[1]!.usableFrom) - Date.now()).to.be.greaterThan(4 * 60_000);
    const kept = await storedSecrets(the(), "app_connect_keys", "secret");
    expect(kept.map(({ id }) => id)).to.have.members([next.kid, late[1]!.kid]);
  });
});

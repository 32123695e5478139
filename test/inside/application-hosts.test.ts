// The deployment's own application hosts: they accept keys for a proxy in front of them, and nothing else.
// Looks inside: only the server knows the keys with which invalid messages are made.
import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { EncryptJWT } from "jose";
import { WebSocket } from "ws";
import { sealingKey } from "../../src/domain/applications/key-ring.js";
import { runJob } from "../support/background.js";
import { newToken } from "../support/token-rows.js";
import { newId } from "../support/ids.js";
import { type App, ConfigError, readConfig, startServer, systemContext } from "../support/app.js";
import { browse } from "../support/browse.js";
import { makeProxy } from "../support/proxies.js";
import { raw, rawRequest } from "../support/raw.js";
import { countRows, setTimes } from "../support/tables.js";
import { type Answer, Client, world } from "../support/world.js";

const settings = {
  STEWARD_ACCESS_URL: "https://steward.apps.example.com",
  STEWARD_WILDCARD_ACCESS_URL: "*.apps.example.com",
};
const parameter = "steward_application_connect";
const host = "x.apps.example.com";

/** Returns the path and query of the redirect of a signed-in user to an application's URL. */
async function redirected(url: string, token: string, uri: string): Promise<string> {
  const answer = await new Client(url, token).get(
    `/api/v2/applications/auth-redirect?redirect_uri=${encodeURIComponent(uri)}`,
  );
  expect(answer.status, JSON.stringify(answer.body)).to.equal(307);
  const { pathname, search } = new URL(answer.headers.get("location")!);
  return pathname + search;
}

/** Expects a page that reveals nothing but its status. */
function expectPage(answer: Answer, status: number, what: string): void {
  expect(answer.status, what).to.equal(status);
  expect(answer.headers.get("content-type"), what).to.equal("text/html; charset=utf-8");
  expect(answer.headers.get("content-security-policy"), what).to.match(/^default-src 'none'/);
  expect(answer.headers.has("set-cookie"), what).to.equal(false);
  expect(answer.headers.has("location"), what).to.equal(false);
}

describe("application hosts", () => {
  const the = world(settings);
  const arrive = (path: string, at = host, method = "GET") => browse(the().url, path, { Host: at }, method);
  const wayTo = (uri: string) => redirected(the().url, the().owner.token, uri);

  it("accept the key of a user once, and redirect the browser without it", async () => {
    const path = await wayTo(`https://${host}/a/b%20c?x=%20y&flag#part`);
    expect(path).to.match(new RegExp(`^/a/b%20c\\?x=%20y&flag&${parameter}=ey`));
    const answer = await arrive(path);
    expect(answer).to.include({ status: 303, body: "" });
    expect(answer.headers.get("location")).to.equal(`https://${host}/a/b%20c?x=%20y&flag`);
    expect(answer.headers.get("cache-control")).to.equal("no-store");
    const [, key, attributes] = /^service_application_token=(stw_ap_[^;]+); (.*)$/.exec(
      answer.headers.get("set-cookie")!,
    )!;
    expect(attributes!.split("; ")).to.have.members(["Path=/", "HttpOnly", "SameSite=Lax", "Secure"]);
    expect(await the().as({ token: key! }).graphql("{ me { username } }")).to.deep.equal({ me: { username: "owner" } });
    expectPage(await arrive(path), 400, "the second time");
  });

  it("recognize their names in any spelling, whatever the port of the proxy in front", async () => {
    for (const at of [host.toUpperCase(), `${host}:8443`, `${host}.`]) {
      const answer = await arrive(await wayTo(`https://${host}/`), at);
      expect(answer.headers.get("location"), at).to.equal(`https://${host}/`);
    }
  });

  it("never redirect to another host, whatever the path looks like", async () => {
    for (const path of [
      "//evil.example/",
      "//evil.example",
      "/%5cevil.example",
      "/..//evil.example",
      "/@evil.example",
    ]) {
      const search = (await wayTo(`https://${host}/`)).slice(1);
      const answer = await arrive(path + search);
      expect(answer.status, path).to.equal(303);
      expect(answer.headers.get("location"), path).to.equal(`https://${host}${path}`);
      expect(new URL(answer.headers.get("location")!).host, path).to.equal(host);
    }
    const search = (await wayTo(`https://${host}/`)).slice(1);
    const { text } = await raw(
      the().url,
      `GET http://evil.example/x${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    expect(text).to.match(new RegExp(`^location: https://${host.replaceAll(".", "\\.")}/x\\r$`, "im"));
  });

  it("accept a message once, however many servers receive it concurrently", async () => {
    const there: App = await startServer(the().database.url, settings);
    try {
      const path = await wayTo(`https://${host}/`);
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) => browse(n % 2 ? the().url : there.url, path, { Host: host })),
      );
      expect(answers.map(({ status }) => status)).to.have.members([303, ...Array<number>(11).fill(400)]);
      // Servers accept what another one has sealed.
      const other = await redirected(there.url, the().owner.token, `https://${host}/`);
      expect(await arrive(other)).to.include({ status: 303 });
    } finally {
      await there.close();
    }
  });

  it("respond to every invalid message with the same page", async () => {
    const w = the();
    const { deploymentId } = (await w.as(w.owner).graphql("{ serverInfo { deploymentId } }")).serverInfo;
    const ctx = systemContext(w.app);
    const { kid, key } = await sealingKey(ctx, deploymentId);
    const foreign = (await sealingKey(ctx, newId())).key;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: "https://steward.apps.example.com",
      aud: `https://${host}`,
      sub: w.owner.id,
      jti: "unset",
      iat: now,
      nbf: now - 30,
      exp: now + 60,
      api_key: newToken("application").text,
    };
    const seal = (changes: object = {}, header: object = {}, by: Uint8Array = key) =>
      new EncryptJWT({ ...claims, jti: randomUUID(), ...changes })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid, typ: "JWT", ...header })
        .encrypt(by);
    const good = await arrive(`/?${parameter}=${await seal()}`);
    expect(good, "an unchanged message is accepted").to.include({ status: 303 });

    const sealed = await seal();
    const parts = sealed.split(".");
    const faults: Record<string, string> = {
      empty: "",
      nonsense: "nonsense",
      "a JWS": `${Buffer.from('{"alg":"none"}').toString("base64url")}.e30.`,
      "a changed byte": [
        ...parts.slice(0, 3),
        parts[3]!.replace(/^./, (first) => (first === "A" ? "B" : "A")),
        parts[4],
      ].join("."),
      "a changed header": [parts[0]!.replace(/.$/, "x"), ...parts.slice(1)].join("."),
      "cut short": sealed.slice(0, -5),
      "the key of another recipient": await seal({}, {}, foreign),
      "no kid": await seal({}, { kid: undefined }),
      "an unknown kid": await seal({}, { kid: newId() }),
      "a kid that is not an id": await seal({}, { kid: "' or true --" }),
      "another typ": await seal({}, { typ: "other" }),
      "no typ": await seal({}, { typ: undefined }),
      "another enc": await seal({}, { enc: "A128CBC-HS256" }),
      "another issuer": await seal({ iss: "https://evil.example" }),
      "another host": await seal({ aud: "https://y.apps.example.com" }),
      "another scheme": await seal({ aud: `http://${host}` }),
      "no audience": await seal({ aud: undefined }),
      "an expired message": await seal({ iat: now - 120, nbf: now - 150, exp: now - 60 }),
      "a message of the future": await seal({ iat: now + 120, nbf: now + 90, exp: now + 180 }),
      "no exp": await seal({ exp: undefined }),
      "no nbf": await seal({ nbf: undefined }),
      "no id": await seal({ jti: undefined }),
      "an id of another form": await seal({ jti: "1" }),
      "no key": await seal({ api_key: undefined }),
      "a number for a key": await seal({ api_key: 5 }),
      "a session for a key": await seal({ api_key: newToken("session").text }),
      "a key with a tail": await seal({ api_key: `${newToken("application").text}; Domain=example.com` }),
    };
    const bodies = new Set<string>();
    for (const [fault, message] of Object.entries(faults)) {
      const answer = await arrive(`/?${parameter}=${message}`);
      expectPage(answer, 400, fault);
      bodies.add((answer.body as string).replace(/Request id [0-9a-f-]+/, ""));
    }
    expect([...bodies]).to.have.length(1);
  });

  it("accept no message for a proxy", async () => {
    const w = the();
    const { token } = await makeProxy(w, "far");
    await w.nobody.post(
      "/graphql",
      {
        query: `mutation($id: UUID!) { registerWorkspaceProxy(input: { accessUrl: "https://far.example.net", replicaId: $id }) {
          workspaceProxy { id } } }`,
        variables: { id: newId() },
      },
      { "Service-Proxy-Token": token },
    );
    const path = await wayTo("https://far.example.net/");
    expectPage(await arrive(path), 400, "a message for a proxy");
    const elsewhere = await arrive(path, "far.example.net");
    expect(elsewhere.headers.has("set-cookie"), "a host of the proxy").to.equal(false);
  });

  it("serve nothing else: no page, no API, no probe, no socket", async () => {
    const message = (await wayTo(`https://${host}/`)).slice(1);
    for (const at of [host, "a.b.apps.example.com", `${host}.`, "-.apps.example.com"]) {
      for (const path of [
        "/",
        "/login",
        "/docs",
        "/openapi.json",
        "/graphql",
        "/healthz",
        "/readyz",
        "/metrics",
        "/api/v2/groups",
        "/api/v2/applications/host",
        "/nowhere",
        "/oauth2/authorize",
      ])
        expectPage(await browse(the().url, path, { Host: at, ...session() }), 404, `${at}${path}`);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
        expectPage(await browse(the().url, `/${message}`, { Host: at, ...session() }, method), 404, `${method} ${at}`);
    }
    // An application host is exactly one label below the wildcard.
    expectPage(await arrive(`/${message}`, "a.b.apps.example.com"), 404, "two labels");
    for (const path of ["/graphql", "/api/v2/notifications/inbox/watch"]) {
      const status = await upgraded(path, host);
      expect(status, path).to.equal(404);
    }
    // The dashboard itself has a name under the wildcard; it and all other hosts work as usual.
    for (const at of ["steward.apps.example.com", "STEWARD.apps.example.com:443", "apps.example.com", "localhost", "["])
      expect(await browse(the().url, "/healthz", { Host: at }), at).to.include({ status: 200 });
  });

  const session = () => ({ "Service-Session-Token": the().owner.token });

  /** The status of the response to an upgrade. */
  const upgraded = (path: string, at: string): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${the().url.replace("http", "ws")}${path}`, "graphql-transport-ws", {
        headers: { Host: at, ...session() },
      });
      socket.on("open", () => resolve(101));
      socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode!));
      socket.on("error", () => {});
    });

  it("respond 429 to an address that sends too many requests", async () => {
    const busy = await startServer(the().database.url, { ...settings, STEWARD_RATE_LIMIT_API: "3" });
    try {
      const statuses: number[] = [];
      for (let n = 0; n < 5; n++) statuses.push((await browse(busy.url, "/", { Host: host })).status);
      expect(statuses).to.deep.equal([404, 404, 404, 429, 429]);
      const answer = await browse(busy.url, "/", { Host: host });
      expect(Number(answer.headers.get("retry-after"))).to.be.greaterThan(0);
    } finally {
      await busy.close();
    }
  });

  it("forget messages once they have expired", async () => {
    const count = () => countRows(the(), "spent_app_connects");
    expect(await count()).to.be.greaterThan(0);
    await setTimes(the(), "spent_app_connects", {}, { expires_at: "1 min" });
    await runJob(the().app, "messagePurge");
    expect(await count()).to.be.greaterThan(0);
    await setTimes(the(), "spent_app_connects", {}, { expires_at: "-1 s" });
    await runJob(the().app, "messagePurge");
    expect(await count()).to.equal(0);
  });
});

describe("a deployment without application hosts", () => {
  const the = world({ STEWARD_ACCESS_URL: "http://steward.localhost:3100" });

  it("serves the dashboard under every name", async () => {
    for (const at of ["x.apps.example.com", "x.localhost", ".", "*.apps.example.com"])
      expect(await browse(the().url, "/healthz", { Host: at }), at).to.include({ status: 200 });
    const { statuses } = await raw(the().url, rawRequest("GET /healthz"));
    expect(statuses).to.deep.equal([200]);
  });
});

describe("application hosts over plain HTTP", () => {
  const the = world({
    STEWARD_ACCESS_URL: "http://localhost:3100",
    STEWARD_WILDCARD_ACCESS_URL: "*.apps.localhost",
  });

  it("have the port of the deployment, and a cookie without `Secure`", async () => {
    const path = await redirected(the().url, the().owner.token, "https://code.apps.localhost:3100/x");
    const answer = await browse(the().url, path, { Host: "code.apps.localhost:3100" });
    expect(answer.headers.get("location")).to.equal("http://code.apps.localhost:3100/x");
    expect(answer.headers.get("set-cookie")).to.match(/HttpOnly; SameSite=Lax$/);
  });
});

describe("the settings of application hosts and proxies", () => {
  it("are validated at start, and normalized", () => {
    const read = (env: NodeJS.ProcessEnv) => readConfig(env);
    for (const bad of [
      "apps.example.com",
      "*",
      "*.",
      "*.apps.example.com:8080",
      "https://*.apps.example.com",
      "*.10.0.0.1",
      "*.com",
      "*.co.uk",
      "*.lan",
    ])
      expect(() => read({ STEWARD_WILDCARD_ACCESS_URL: bad }), bad).to.throw(
        ConfigError,
        /STEWARD_WILDCARD_ACCESS_URL/,
      );
    expect(read({ STEWARD_WILDCARD_ACCESS_URL: "*.APPS.Bücher.example" }).wildcardAccessUrl).to.equal(
      "*.apps.xn--bcher-kva.example",
    );
    // For evaluation, or below a public suffix that the operator chose on purpose.
    for (const good of ["*.localhost", "*.apps.localhost", "*.apps.lan", "*.github.io"])
      expect(read({ STEWARD_WILDCARD_ACCESS_URL: good }).wildcardAccessUrl).to.equal(good);
    expect(read({})).to.deep.include({
      wildcardAccessUrl: undefined,
      proxyHealthInterval: 60_000,
      proxyHealthTimeout: 5_000,
      proxyHealthAllowedCidrs: [],
    });
  });

  it("allow proxies on this machine if the server is reachable only from here, unless they say otherwise", () => {
    const allowed = (env: NodeJS.ProcessEnv) => readConfig(env).proxyHealthAllowLoopback;
    const open = { STEWARD_HOST: "0.0.0.0", STEWARD_ACCESS_URL: "https://steward.example.com" };
    expect(allowed(open)).to.equal(false);
    expect(allowed({ ...open, STEWARD_HOST: "127.0.0.1" })).to.equal(true);
    expect(allowed({ ...open, STEWARD_HOST: "::1" })).to.equal(true);
    expect(allowed({ ...open, STEWARD_ACCESS_URL: "http://localhost:3000" })).to.equal(true);
    expect(allowed({ ...open, STEWARD_ACCESS_URL: "http://[::1]:3000" })).to.equal(true);
    expect(allowed({ ...open, STEWARD_PROXY_HEALTH_ALLOW_LOOPBACK: "true" })).to.equal(true);
    expect(allowed({ STEWARD_PROXY_HEALTH_ALLOW_LOOPBACK: "false" })).to.equal(false);
  });
});

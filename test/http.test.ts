// What every HTTP request passes: routing, credentials, headers, and the health endpoints.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { startServer } from "./support/app.js";
import { raw, rawRequest } from "./support/raw.js";
import { Client, world } from "./support/world.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("HTTP", () => {
  const w = world();
  const owner = () => w().as(w().owner);
  const everyone = () => `/api/v2/groups/${w().defaultOrganization}`;

  describe("routing", () => {
    it("responds 404 for an unknown path, and 405 with the allowed methods for an unknown method", async () => {
      const unknown = await owner().get("/api/v2/nothing");
      expect(unknown).to.include({ status: 404 });
      expect(unknown.body).to.deep.equal({ message: "Route not found." });
      for (const [method, path, allow] of [
        ["POST", "/api/v2/groups", "GET, HEAD"],
        ["PUT", everyone(), "DELETE, GET, HEAD, PATCH"],
        ["OPTIONS", "/api/v2/users/login", "POST"],
        ["POST", "/healthz", "GET, HEAD"],
        ["DELETE", "/openapi.json", "GET, HEAD"],
        ["POST", "/docs", "GET, HEAD"],
        ["PUT", "/login/oidc", "GET, HEAD"],
        ["PUT", "/login/oidc/callback", "GET, HEAD"],
      ] as const) {
        const answer = await w().nobody.request(method, path);
        expect(answer, `${method} ${path}`).to.include({ status: 405 });
        expect(answer.headers.get("allow")).to.equal(allow);
        expect(answer.body).to.deep.equal({ message: "Method not allowed." });
      }
    });

    it("comes before authentication", async () => {
      expect(await w().nobody.get("/api/v2/nothing")).to.include({ status: 404 });
      expect(await w().as({ token: "nonsense" }).post("/api/v2/groups")).to.include({ status: 405 });
    });

    it("matches paths exactly, including letter case and slashes", async () => {
      for (const path of [
        "/api/v2/groups/",
        "/API/v2/groups",
        "/api/v2/Groups",
        "//api/v2/groups",
        "/api/v2//groups",
        "/healthz/",
      ]) {
        expect(await owner().get(path), path).to.include({ status: 404 });
      }
    });

    it("decodes path segments once, and responds 400 for invalid escapes", async () => {
      const { name } = await w().group("plus-and");
      expect((await owner().get(`/api/v2/groups/${name.replace("-", "%2D")}`)).body).to.include({ name });
      expect(await owner().get(`/api/v2/groups/${name.replace("-", "%252D")}`)).to.include({ status: 404 });
      expect(await owner().get("/api/v2/groups/a%2Fb")).to.include({ status: 404 });
      for (const path of ["/api/v2/groups/%", "/api/v2/groups/%zz", "/api/v2/groups/%ff", "/%c0%af"]) {
        const answer = await owner().get(path);
        expect(answer, path).to.include({ status: 400 });
        expect(answer.body.message).to.equal("Validation failed.");
      }
    });

    it("supports HEAD on every GET route", async () => {
      for (const path of [
        "/api/v2/groups",
        everyone(),
        "/healthz",
        "/openapi.json",
        "/docs",
        "/api/v2/notifications/inbox/watch",
      ]) {
        const head = await owner().request("HEAD", path);
        expect(head, path).to.include({ status: 200, body: "" });
      }
      const head = await owner().request("HEAD", everyone());
      const get = await owner().get(everyone());
      expect(head.headers.get("content-length")).to.equal(get.headers.get("content-length"));
      expect(await owner().request("HEAD", `/api/v2/groups/${newId()}`)).to.include({ status: 404, body: "" });
    });
  });

  describe("authentication", () => {
    const me = '{"query":"{ me { username } }"}';
    const send = (headers: Record<string, string>, method = "GET", path = "/api/v2/groups") =>
      w().nobody.request(method, path, undefined, headers);
    const unknown = `stw_se_${"a".repeat(10)}-${"b".repeat(43)}`;

    it("accepts a token in the Service-Session-Token header or as a bearer token", async () => {
      expect(await send({ "Service-Session-Token": w().owner.token })).to.include({ status: 200 });
      expect(await send({ Authorization: `Bearer ${w().owner.token}` })).to.include({ status: 200 });
      expect(await send({ Authorization: `bearer ${w().owner.token}` })).to.include({ status: 200 });
      expect(await send({ "Service-Session-Token": "" })).to.include({ status: 401 });
      expect((await send({ Authorization: `Basic ${w().owner.token}` })).body.detail).to.equal(
        "No credential was sent. Authorization must be Bearer, a space, and the token.",
      );
      expect(await send({}, "GET", `/api/v2/groups?token=${w().owner.token}`)).to.include({ status: 401 });
    });

    it("uses the first credential present, and responds 401 if it is invalid whatever follows", async () => {
      const good = `service_session_token=${w().owner.token}`;
      const own = { Cookie: good, "Sec-Fetch-Site": "same-origin" };
      expect(await send(own)).to.include({ status: 200 });
      expect(await send({ ...own, "Service-Session-Token": unknown })).to.include({ status: 401 });
      expect(await send({ ...own, Authorization: `Bearer ${unknown}` })).to.include({ status: 401 });
      expect(await send({ Authorization: `Bearer ${unknown}`, "Service-Session-Token": w().owner.token })).to.include({
        status: 200,
      });
    });

    it("accepts a cookie only from our own origin, and requires a CSRF token for changes", async () => {
      const Cookie = `other=1; service_session_token=${w().owner.token}`;
      const Origin = w().app.services.config.accessUrl;
      const { body: page } = await w().nobody.get("/", { Cookie });
      const [, csrfToken = ""] = /name="csrf_token" value="([^"]+)"/.exec(page)!;
      const change = (headers: Record<string, string>) =>
        send({ Cookie, ...headers }, "PUT", "/api/v2/notifications/inbox/mark-all-as-read");
      expect(await send({ Cookie })).to.include({ status: 401 });
      expect(await send({ Cookie, "Sec-Fetch-Site": "cross-site", Origin })).to.include({ status: 401 });
      expect(await send({ Cookie, Origin })).to.include({ status: 200 });
      expect(await change({ Origin: "https://evil.example" })).to.include({ status: 401 });
      expect(await change({ Origin })).to.include({ status: 403 });
      expect(await change({ Origin, "X-CSRF-Token": "wrong" })).to.include({ status: 403 });
      expect(await change({ Origin, "X-CSRF-Token": csrfToken })).to.include({ status: 204 });
      const graphql = (headers: Record<string, string>) => w().nobody.post("/graphql", me, { Cookie, ...headers });
      expect((await graphql({ Origin: "https://evil.example" })).body.errors[0].extensions.code).to.equal(
        "UNAUTHENTICATED",
      );
      expect(await graphql({ Origin })).to.include({ status: 403 });
      expect((await graphql({ Origin, "X-CSRF-Token": csrfToken })).body).to.deep.equal({
        data: { me: { username: "owner" } },
      });
    });

    it("comes before validation of the body, which comes before authorization", async () => {
      const member = w().as(await w().user("member"));
      expect(await w().nobody.patch(everyone(), '{"broken')).to.include({ status: 401 });
      expect(await member.patch(everyone(), '{"broken')).to.include({ status: 400 });
      expect(await member.patch(everyone(), { quota_allowance: "many" })).to.include({ status: 400 });
      expect(await member.patch(everyone(), { quota_allowance: -1, name: "-" })).to.include({ status: 403 });
      const { createApiKey } = await w()
        .as(w().owner)
        .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["file:read"] }) { token } }`);
      const narrow = await w().as(createApiKey).patch(everyone(), '{"broken');
      expect(narrow.headers.get("www-authenticate"), "scopes are checked before the body").to.match(
        /insufficient_scope/,
      );
    });

    it("gives the same 404 for missing and for hidden objects", async () => {
      const member = w().as(await w().user("member"));
      const hidden = await w().group();
      const bodies = await Promise.all(
        [hidden.id, newId(), "no-such-group"].map(async (group) => {
          const response = await fetch(`${w().url}/api/v2/groups/${group}`, {
            headers: { "Service-Session-Token": member.token! },
          });
          return [response.status, await response.text()];
        }),
      );
      expect(bodies[0]).to.deep.equal([404, '{"message":"Resource not found or you do not have access to it."}']);
      expect(bodies).to.deep.equal([bodies[0], bodies[0], bodies[0]]);
    });
  });

  describe("response headers", () => {
    it("carry a request id, and forbid caching and content sniffing", async () => {
      for (const path of ["/api/v2/groups", "/api/v2/nothing", "/graphql", "/healthz", "/nothing", "/docs"]) {
        const { headers } = await w().nobody.get(path);
        expect(headers.get("x-request-id"), path).to.match(uuid);
        expect(headers.get("x-content-type-options"), path).to.equal("nosniff");
        expect(headers.get("referrer-policy"), path).to.equal("no-referrer");
        expect(headers.get("strict-transport-security"), path).to.equal(null);
        if (/^\/(api|graphql)/.test(path)) expect(headers.get("cache-control"), path).to.equal("no-store");
      }
      const { headers } = await owner().get("/api/v2/groups");
      expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
      expect(headers.get("cache-control")).to.equal("no-store");
    });

    it("take the request id and client address from forwarded headers only of a trusted proxy", async () => {
      const { database, owner: admin } = w();
      const app = await startServer(database.url, {
        STEWARD_TRUSTED_PROXIES: "127.0.0.0/8,10.0.0.0/8",
        STEWARD_ACCESS_URL: "https://steward.example.com",
      });
      const address = async (url: string, headers: Record<string, string>) => {
        const client = new Client(url, admin.token);
        const {
          status,
          body,
          headers: answered,
        } = await client.post("/api/v2/organizations/default/groups", { name: `g-${newId()}`.slice(0, 36) }, headers);
        expect(status, JSON.stringify(body)).to.equal(201);
        const { auditEvents } = await client.graphql(
          `{ auditEvents(filter: { resourceType: "group" }, first: 1) { nodes { ip requestId } } }`,
        );
        return { ...auditEvents.nodes[0], answered: answered.get("x-request-id") };
      };
      try {
        const forwarded = {
          "X-Request-Id": "from-the-proxy-1",
          "X-Forwarded-For": "198.51.100.9, 203.0.113.7, 10.1.2.3",
        };
        expect(await address(app.url, forwarded)).to.deep.equal({
          ip: "203.0.113.7",
          requestId: "from-the-proxy-1",
          answered: "from-the-proxy-1",
        });
        const nonsense = await address(app.url, {
          "X-Request-Id": "short",
          "X-Forwarded-For": "nonsense, ::1%eth0, 0x7f.1, 999.1.1.1",
        });
        expect(nonsense.requestId).to.match(uuid).and.to.equal(nonsense.answered);
        const untrusted = await address(w().url, forwarded);
        expect(untrusted.ip).to.equal("127.0.0.1");
        expect(untrusted.requestId).to.match(uuid).and.to.equal(untrusted.answered);
        const { headers } = await new Client(app.url).get("/healthz");
        expect(headers.get("strict-transport-security")).to.match(/^max-age=\d{7,}/);
      } finally {
        await app.close();
      }
    });
  });

  it("allows cross-origin requests from the configured origins only, without cookies", async () => {
    const app = await startServer(w().database.url, { STEWARD_CORS_ORIGINS: "https://dash.example.com" });
    try {
      const client = new Client(app.url, w().owner.token);
      const preflight = {
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "service-session-token",
      };
      const named = { Origin: "https://dash.example.com" };
      const foreign = { Origin: "https://evil.example.com" };
      const asked = await client.request("OPTIONS", "/api/v2/groups/x", undefined, { ...named, ...preflight });
      expect(asked).to.include({ status: 204 });
      expect(asked.headers.get("access-control-allow-origin")).to.equal(named.Origin);
      expect(asked.headers.get("access-control-allow-methods")).to.include("PATCH");
      expect(asked.headers.get("access-control-allow-headers")).to.include("Service-Session-Token");
      for (const path of ["/api/v2/groups", "/api/v2/nothing", "/graphql"]) {
        const { headers } = await client.get(path, named);
        expect(headers.get("access-control-allow-origin"), path).to.equal(named.Origin);
        expect(headers.get("access-control-allow-credentials"), path).to.equal(null);
        expect(headers.get("vary"), path).to.equal("Origin");
        // Caches must not serve the response for one origin to another.
        for (const origin of [foreign.Origin, `${named.Origin}.evil.example`, `${named.Origin}:8443`, "null"]) {
          const refused = await client.get(path, { Origin: origin });
          expect(refused.headers.get("access-control-allow-origin"), `${path} ${origin}`).to.equal(null);
          expect(refused.headers.get("vary"), `${path} ${origin}`).to.equal("Origin");
        }
      }
      expect(await client.request("OPTIONS", "/api/v2/groups", undefined, { ...foreign, ...preflight })).to.include({
        status: 405,
      });
      expect((await w().nobody.get("/api/v2/groups", named)).headers.get("access-control-allow-origin")).to.equal(null);
    } finally {
      await app.close();
    }
  });

  describe("health and metrics", () => {
    it("reports health without a credential", async () => {
      expect((await w().nobody.get("/healthz")).body).to.deep.equal({ status: "ok" });
      expect((await w().nobody.get("/readyz")).body).to.deep.equal({ status: "ok" });
    });

    it("serves metrics to this machine only under its own names, since a proxy on it may serve others", async () => {
      const statusFor = async (...host: string[]) => {
        const request = ["GET /metrics HTTP/1.0", ...host.map((name) => `Host: ${name}`), "", ""].join("\r\n");
        return (await raw(w().url, request)).statuses[0];
      };
      for (const own of [
        "localhost",
        "LOCALHOST:3000",
        "a.localhost.",
        "127.0.0.1",
        "127.8.9.1:80",
        "[::1]:3000",
        "[::ffff:127.0.0.1]",
      ])
        expect(await statusFor(own), own).to.equal(200);
      for (const foreign of [
        "steward.example.com",
        "steward.example.com:3000",
        "203.0.113.7",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "localhost@example.com",
        "example.com?localhost",
        "[::2]",
        "0.0.0.0",
        "",
      ])
        expect(await statusFor(foreign), foreign).to.equal(404);
      expect(await statusFor(), "no name").to.equal(404);
    });

    it("serves metrics to this machine and to holders of the metrics token, and responds 404 to others", async () => {
      expect(await w().nobody.get(`/api/v2/groups/${w().defaultOrganization}`)).to.include({ status: 401 });
      const { status, headers, body } = await w().nobody.get("/metrics");
      expect(status).to.equal(200);
      expect(headers.get("content-type")).to.match(/^text\/plain/);
      expect(body).to.not.include(w().defaultOrganization);

      const ofRequest =
        /^steward_http_request_duration_seconds_(\w+)\{(?:le="(.*)",)?method="GET",route="\/api\/v2\/groups\/:group",status="401"\} (\S+)$/;
      const numbers = (body as string).split("\n").flatMap((line) => {
        const [, part, bound = part, value] = ofRequest.exec(line) ?? [];
        return bound === undefined ? [] : [[bound, Number(value)] as const];
      });
      const { sum, count, ...buckets } = Object.fromEntries(numbers);
      const bounds = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1", "5", "30", "+Inf"];
      expect(Object.keys(buckets)).to.have.members(bounds);
      const inOrder = numbers.slice(0, bounds.length).map(([, value]) => value);
      expect(inOrder).to.deep.equal(inOrder.toSorted((one, other) => one - other));
      expect(buckets["+Inf"]).to.equal(count).and.at.least(1);
      expect(sum).to.be.within(0.000_01, 30 * count!);

      const hidden = await w().nobody.get("/metrics", { "X-Forwarded-For": "127.0.0.1" });
      expect(hidden).to.include({ status: 404 });
      for (const name of ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto"])
        expect(await w().nobody.get("/metrics", { [name]: "127.0.0.1" }), name).to.include({ status: 404 });
      expect(hidden.body).to.deep.equal((await w().nobody.get("/nothing")).body);

      const app = await startServer(w().database.url, { STEWARD_METRICS_TOKEN: "a-token-for-metrics" });
      try {
        const far = { "X-Forwarded-For": "203.0.113.7" };
        const metrics = (authorization: string) =>
          new Client(app.url).get("/metrics", { ...far, Authorization: authorization });
        expect(await metrics("Bearer a-token-for-metrics")).to.include({ status: 200 });
        for (const wrong of [
          "Bearer a-token-for-metricz",
          "Bearer é-token-for-metrics",
          "Bearer ",
          "Basic a-token-for-metrics",
        ]) {
          expect(await metrics(wrong), wrong).to.include({ status: 404 });
        }
      } finally {
        await app.close();
      }
    });
  });

  describe("malformed HTTP", () => {
    it("is rejected, and the server stays up", async () => {
      const token = `Service-Session-Token: ${w().owner.token}`;
      for (const [line, status] of [
        ["GET http://[ ", 400],
        ["GET //", 404],
        ["GET ?x", 400],
        ["GET http://other.example/api/v2/groups", 200],
        ["OPTIONS *", 404],
        ["BREW /coffee", 400],
      ] as const) {
        expect((await raw(w().url, rawRequest(line.trim(), [token]))).statuses, line).to.deep.equal([status]);
      }
      expect(
        (await raw(w().url, rawRequest("GET /healthz", [`X-Long: ${"x".repeat(17 * 1024)}`]))).statuses,
      ).to.deep.equal([431]);
      expect((await raw(w().url, "nonsense\r\n\r\n")).statuses).to.deep.equal([400]);
      expect(await w().nobody.get("/healthz")).to.include({ status: 200 });
    });

    it("does not crash the server when it requests an upgrade", async () => {
      const upgrade = ["Connection: Upgrade", "Upgrade: websocket"];
      const key = [...upgrade, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
      const token = `Service-Session-Token: ${w().owner.token}`;
      const bare = (line: string, headers: string[]) =>
        raw(w().url, [`${line} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n"));
      expect((await bare("GET //", upgrade)).statuses).to.deep.equal([404]);
      expect((await bare("GET http://[", upgrade)).statuses).to.deep.equal([400]);
      expect((await bare("GET /api/v2/groups", [...key, token])).statuses).to.deep.equal([200]);
      expect((await bare("GET /api/v2/notifications/inbox/watch", key)).statuses).to.deep.equal([401]);
      expect((await bare("GET /api/v2/notifications/inbox/watch", [...upgrade, token])).statuses).to.deep.equal([400]);
      expect((await bare("GET /graphql", upgrade)).statuses).to.deep.equal([400]);
      expect((await bare("POST /graphql", key)).statuses).to.deep.equal([405]);
      const h2c = rawRequest(
        "POST /api/v2/authcheck",
        ["Upgrade: h2c", token, "Content-Length: 13"],
        '{"checks":{}}',
      ).replace("Connection: close", "Connection: Upgrade, close");
      expect((await raw(w().url, h2c)).statuses).to.deep.equal([200]);
      expect(await w().nobody.get("/healthz")).to.include({ status: 200 });
    });
  });
});

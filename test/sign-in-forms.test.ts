// How pages handle forms and cookies, from any sender.
import { expect } from "chai";
import { type App, startServer } from "./support/app.js";
import { raw, rawRequest } from "./support/raw.js";
import { Client, startWorld, userPassword, type World } from "./support/world.js";

describe("forms and cookies of pages", () => {
  let w: World;
  before(async () => {
    w = await startWorld();
  });
  after(() => w.close());

  const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
  const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };
  const cookies = (headers: Headers) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(";")[0]!)
      .join("; ");
  const tokenIn = (body: string) => /name="csrf_token" value="([^"]+)"/.exec(body)![1]!;
  const csrfOf = async (session: string) =>
    tokenIn((await w.nobody.get("/", { cookie: `service_session_token=${session}` })).body);
  const submit = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const page = await w.nobody.get("/login");
    const csrf_token = tokenIn(page.body);
    return w.nobody.post("/login", form({ csrf_token, ...fields }), {
      ...urlencoded,
      cookie: cookies(page.headers),
      ...headers,
    });
  };

  it("sign in only from a form rendered for the same browser", async () => {
    const ada = await w.user("ada");
    const right = { email: ada.email, password: userPassword };
    const mine = await w.nobody.get("/login");
    const theirs = await w.nobody.get("/login");
    const attempts = [
      [{ ...right }, {}],
      [{ ...right, csrf_token: tokenIn(mine.body) }, {}],
      [{ ...right, csrf_token: tokenIn(theirs.body) }, { cookie: cookies(mine.headers) }],
      [{ ...right, csrf_token: tokenIn(mine.body) }, { cookie: cookies(mine.headers).replace(/.$/, "!") }],
    ] as const;
    for (const [fields, headers] of attempts) {
      const answer = await w.nobody.post("/login", form(fields), { ...urlencoded, ...headers });
      expect(answer.status).to.equal(403);
      expect(cookies(answer.headers)).to.not.contain("service_session_token");
    }
    const answer = await submit(right);
    expect(answer.status).to.equal(303);
    expect(answer.headers.getSetCookie().join()).to.match(
      /^service_session_token=stw_se_[\w-]+; Path=\/; HttpOnly; SameSite=Lax,service_csrf_token=[\w-]+; Path=\/; SameSite=Lax$/,
    );
    // Scripts of the origin, such as a dashboard, read the CSRF token from its cookie.
    const [, csrfToken = ""] = /service_csrf_token=([\w-]+)/.exec(answer.headers.getSetCookie().join())!;
    const headers = { cookie: cookies(answer.headers), "Sec-Fetch-Site": "same-origin" };
    const query = { query: "{ me { username } }" };
    const bare = await w.nobody.post("/graphql", query, headers);
    const marked = await w.nobody.post("/graphql", query, { ...headers, "X-CSRF-Token": csrfToken });
    expect([bare.status, marked.body.data?.me.username]).to.deep.equal([403, ada.username]);
  });

  it("redirect only to paths on this server", async () => {
    const ada = await w.user("ada");
    const targets: Record<string, string> = {
      "/docs?a=b#c": "/docs?a=b#c",
      "/gr\u00fcn und wei\u00df": "/gr%C3%BCn%20und%20wei%C3%9F",
      "//evil.example.com": "/",
      "/\\evil.example.com": "/",
      "/a\\b": "/",
      "/\t/evil.example.com": "/",
      "/a\r\nSet-Cookie: b=c": "/",
      "https://evil.example.com/": "/",
      "javascript:alert(1)": "/",
      "": "/",
      docs: "/",
      [`/${"x".repeat(8191)}`]: `/${"x".repeat(8191)}`,
      [`/${"x".repeat(8192)}`]: "/",
    };
    for (const [return_to, location] of Object.entries(targets)) {
      const answer = await submit({ email: ada.email, password: userPassword, return_to });
      expect([answer.status, answer.headers.get("location")], JSON.stringify(return_to)).to.deep.equal([303, location]);
    }
  });

  it("are HTML-escaped wherever they are echoed", async () => {
    const evil = `"><script>alert(1)</script>'&@example.com`;
    const { status, body } = await submit({ email: evil, password: "wrong", return_to: `/"><script>` });
    expect(status).to.equal(401);
    expect(body)
      .to.contain("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;@example.com")
      .and.not.contain("<script>");
    const page = await w.nobody.get(`/login?return_to=${encodeURIComponent(`/"><script>`)}`);
    expect(page.body).to.not.contain("<script>");
  });

  it("are rejected with an error page when they cannot be read", async () => {
    const answers = [
      await w.nobody.post("/login", {}),
      await w.nobody.post("/login", "x".repeat(17_000), urlencoded),
      await submit({}),
      await submit({ email: w.owner.email, password: "x".repeat(1025) }),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([415, 413, 400, 400]);
    for (const { body } of answers) expect(body).to.contain("<h1>");
  });

  it("authenticate only requests from our own origin, and changes only with a CSRF token", async () => {
    const ada = await w.user("ada");
    const cookie = `service_session_token=${ada.token}`;
    const check = (headers: Record<string, string>) =>
      w.nobody.post("/api/v2/authcheck", { checks: {} }, { cookie, ...headers });
    const csrf = await csrfOf(ada.token);
    const origin = w.app.services.config.accessUrl;
    expect(await check({})).to.include({ status: 401 });
    expect(await check({ origin: "https://evil.example.com", "x-csrf-token": csrf })).to.include({ status: 401 });
    expect(await check({ "sec-fetch-site": "cross-site", origin, "x-csrf-token": csrf })).to.include({ status: 401 });
    expect(await check({ origin })).to.include({ status: 403 });
    expect(await check({ "sec-fetch-site": "same-origin" })).to.include({ status: 403 });
    expect(await check({ origin, "x-csrf-token": csrf })).to.include({ status: 200 });
    expect(await check({ origin, "x-csrf-token": csrf, "service-session-token": "bad" })).to.include({ status: 401 });
  });

  describe("reject a CSRF token of the right length but wrong content", () => {
    const origin = () => w.app.services.config.accessUrl;
    type Send = (cookie: string, csrf: string) => Promise<{ status: number }>;
    const inHeader =
      (method: string, path: string, body: unknown): Send =>
      (cookie, csrf) =>
        w.nobody.request(method, path, body, { cookie, origin: origin(), "x-csrf-token": csrf });
    const surfaces: Array<[name: string, send: Send, accepted: number]> = [
      ["REST POST", inHeader("POST", "/api/v2/authcheck", { checks: {} }), 200],
      ["REST DELETE", inHeader("DELETE", "/api/v2/users/me/secrets/none", undefined), 404],
      [
        "GraphQL",
        inHeader("POST", "/graphql", { query: "mutation { markAllInboxNotificationsRead { __typename } }" }),
        200,
      ],
      [
        "a form",
        (cookie, csrf_token) =>
          w.nobody.post("/logout", form({ csrf_token }), { ...urlencoded, cookie, "sec-fetch-site": "same-origin" }),
        303,
      ],
    ];

    for (const [name, send, accepted] of surfaces) {
      it(name, async () => {
        const [ada, bob] = await w.users("ada", "bob");
        const cookie = `service_session_token=${ada!.token}`;
        const right = await csrfOf(ada!.token);
        const other = (character: string) => (character === "A" ? "B" : "A");
        const wrong = {
          first: other(right[0]!) + right.slice(1),
          last: right.slice(0, -1) + other(right.at(-1)!),
          all: "A".repeat(right.length),
          "of another session": await csrfOf(bob!.token),
        };
        for (const [which, csrf] of Object.entries(wrong)) {
          expect(csrf).to.have.length(right.length);
          expect((await send(cookie, csrf)).status, which).to.equal(403);
        }
        expect((await send(cookie, right)).status).to.equal(accepted);
      });
    }
  });

  it("allow navigation from other sites, but no changes", async () => {
    const ada = await w.user("ada");
    const cookie = `service_session_token=${ada.token}`;
    const front = await w.nobody.get("/", { cookie });
    expect(front.status).to.equal(200);
    for (const [mode, status] of [
      ["navigate", 200],
      ["no-cors", 303],
    ] as const) {
      const headers = [`Cookie: ${cookie}`, "Sec-Fetch-Site: cross-site", `Sec-Fetch-Mode: ${mode}`];
      expect((await raw(w.url, rawRequest("GET /", headers))).statuses, mode).to.deep.equal([status]);
    }

    const csrf_token = tokenIn(front.body);
    const leave = (fields: Record<string, string>, headers: Record<string, string>) =>
      w.nobody.post("/logout", form(fields), { ...urlencoded, cookie, ...headers });
    expect(await leave({}, { "sec-fetch-site": "same-origin" })).to.include({ status: 403 });
    // Browsers omit a SameSite cookie from cross-site requests, but store cookies of the response.
    const elsewhere: Array<Record<string, string>> = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example.com" },
      {},
    ];
    for (const sent of [{ cookie }, { cookie: "" }]) {
      for (const from of elsewhere) {
        const { status, headers } = await leave({ csrf_token }, { ...sent, ...from });
        expect({ status, cookies: headers.getSetCookie() }).to.deep.equal({ status: 403, cookies: [] });
      }
    }
    expect((await w.as(ada).post("/api/v2/authcheck", { checks: {} })).status).to.equal(200);
    for (const what of ["a session", "a session that has ended"]) {
      const { status, headers } = await leave({ csrf_token }, { "sec-fetch-site": "same-origin" });
      expect(status, what).to.equal(303);
      expect(headers.getSetCookie().join(), what).to.match(/^service_session_token=; .*Max-Age=0/);
      expect((await w.as(ada).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    }
  });

  it("mark cookies as Secure when the access URL is https", async () => {
    const replica: App = await startServer(w.database.url, { STEWARD_ACCESS_URL: "https://steward.example.com" });
    try {
      const { headers } = await new Client(replica.url).get("/login");
      expect(headers.getSetCookie().join()).to.match(/; Secure$/);
    } finally {
      await replica.close();
    }
  });
});

// Rate limits: classes, keys, windows, and headers, on every surface and across replicas.
// Looks inside: counters are tried with a clock of their own; the server counts for hours.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { LocalCounters } from "../../src/domain/rate-limits/local.js";
import { SharedCounters } from "../../src/domain/rate-limits/shared.js";
import { quotaOf, roomIn } from "../../src/domain/rate-limits/window.js";
import { networkOf } from "../../src/domain/rate-limits/rate-limits.js";
import { runJob } from "../support/background.js";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { at } from "../support/clock.js";
import { raw } from "../support/raw.js";
import { countRows, deleteRows, letPass, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, userPassword, world } from "../support/world.js";

const path = "/api/v2/users/login";
const loginMutation = `mutation($email: String!) { login(input: { email: $email, password: "wrong" }) { sessionToken } }`;
const limited = { STEWARD_TRUSTED_PROXIES: "127.0.0.1" };
const from = (address: string) => ({ "X-Forwarded-For": address });
const statuses = (answers: Answer[]) => answers.map(({ status }) => status);
const inOrder = (answers: Answer[]) => statuses(answers).sort((a, b) => a - b);

describe("a sliding window", () => {
  const policy = { name: "test", limit: 10, window: 60 };

  it("weighs the previous window less as time passes", () => {
    const room = (current: number, previous: number, elapsed: number) => roomIn(policy, { current, previous }, elapsed);
    expect(room(0, 0, 0)).to.equal(10);
    expect(room(10, 0, 59)).to.equal(0);
    expect(room(0, 10, 0)).to.equal(0);
    expect(room(0, 10, 30)).to.equal(5);
    expect(room(5, 10, 30)).to.equal(0);
    expect(room(5, 10, 59)).to.equal(5);
  });

  it("reports when there will be room again, and there is", () => {
    for (const [current, previous, elapsed] of [
      [10, 0, 3],
      [10, 10, 0],
      [4, 10, 10],
      [0, 10, 0],
      [9, 10, 59],
    ] as const) {
      const { reset } = quotaOf(policy, { current, previous }, elapsed, true);
      const later = elapsed + reset + 0.001;
      const room =
        later < 60
          ? roomIn(policy, { current, previous }, later)
          : roomIn(policy, { current: 0, previous: current }, later - 60);
      expect(reset).to.be.at.least(1);
      expect(room, `${current}, ${previous}, ${elapsed}`).to.be.at.least(1);
    }
  });

  it("counts per key, and forgets the least recent keys when there are too many", () => {
    const counters = new LocalCounters({ ...policy, limit: 2 });
    const take = (key: string) => counters.take(key).isRefused;
    expect([take("a"), take("a"), take("a"), take("b")]).to.deep.equal([false, false, true, false]);
    counters.giveBack("a");
    expect([take("a"), take("a")]).to.deep.equal([false, true]);
    for (let nr = 0; nr < 20_000; nr++) counters.take(`other ${nr}`);
    expect(take("a")).to.equal(false);
  });

  it("counts the previous window, but nothing older", () => {
    const counters = new LocalCounters(policy);
    const roomAt = (seconds: number) => at(seconds * 1000, () => counters.take("key")).remaining;
    for (let nr = 0; nr < 10; nr++) roomAt(0);
    expect(roomAt(89), "a good half of the previous window counts").to.equal(4);
    expect(roomAt(150), "one request in the previous window").to.equal(9);
    for (let nr = 0; nr < 10; nr++) roomAt(150);
    expect(roomAt(270), "an empty window in between").to.equal(9);
  });

  it("treats an IPv6 network as one address", () => {
    expect(networkOf("203.0.113.9")).to.equal("203.0.113.9");
    expect(networkOf("2001:db8:1:2:aaaa::1")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("2001:0db8:1:2::ffff")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("::1")).to.equal("0:0:0:0::/64");
    expect(networkOf()).to.equal("");
  });
});

describe("shared counters", () => {
  const the = world();
  const database = () => the().app.services.database;
  const policy = (name: string) => ({ name, limit: 5, window: 60 });
  const age = (seconds: number) => letPass(the(), "rate_counters", {}, `${seconds} s`, ["since"]);

  it("admit exactly as many as there is room for, under concurrent requests to any replica", async () => {
    const replicas = [1, 2].map(() => new SharedCounters(database(), policy("at-once")));
    const quotas = await Promise.all(Array.from({ length: 40 }, (_, nr) => replicas[nr % 2]!.take("key")));
    expect(quotas.filter(({ isRefused }) => !isRefused)).to.have.length(5);
    expect(Math.max(...quotas.map(({ remaining }) => remaining))).to.equal(4);
  });

  it("slide with time", async () => {
    const fresh = () => new SharedCounters(database(), policy("sliding"));
    const take = async () => (await fresh().take("key")).isRefused;
    const began = performance.now();
    for (let nr = 0; nr < 5; nr++) expect(await take()).to.equal(false);
    const { isRefused, reset } = await fresh().take("key");
    expect({ isRefused }).to.deep.equal({ isRefused: true });
    expect(reset).to.be.within(Math.floor(60 - (performance.now() - began) / 1_000), 60);
    await setTimes(the(), "rate_counters", {}, { since: "-85 s" });
    // More than half of the previous window counts, and will for some seconds: 2 of 5, rounded down.
    const later = await Promise.all(Array.from({ length: 5 }, take));
    expect(later.filter((refused) => !refused)).to.have.length(3);
    await age(121);
    expect((await fresh().look("key")).remaining).to.equal(5);
  });

  it("remember a rejection without the database", async () => {
    const counters = new SharedCounters(database(), policy("remembered"));
    for (let nr = 0; nr < 6; nr++) await counters.take("key");
    await deleteRows(the(), "rate_counters", {});
    expect(await counters.take("key")).to.include({ isRefused: true, remaining: 0 });
    expect((await counters.take("another key")).isRefused).to.equal(false);
  });

  it("are deleted once they no longer matter", async () => {
    const counters = new SharedCounters(database(), policy("deleted"));
    await counters.take("old");
    await setTimes(the(), "rate_counters", {}, { expires_at: "0 s" });
    await counters.take("new");
    await runJob(the().app, "rateCounterPurge");
    const left = () => countRows(the(), "rate_counters");
    // The server may be running the same job, whose rows the other run leaves out.
    await eventually(async () => (await left()) === 1, "only the new counter is left");
  });
});

describe("attempts with credentials", () => {
  const the = world({ ...limited, STEWARD_RATE_LIMIT_CREDENTIAL: "60", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "300" });
  let addresses = 0;
  /** An address that has not been used before. */
  const somewhere = () => from(`198.51.100.${++addresses}`);
  const login = (headers: Record<string, string>, email: string, client = the().nobody) =>
    client.post(path, { email, password: "wrong" }, headers);
  const times = (count: number, work: (nr: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, (_, nr) => work(nr)));

  it("are limited by address and account: the 61st in a minute gets 429, and other accounts do not", async () => {
    const here = somewhere();
    const first = await times(60, (nr) => login(here, nr % 2 ? "ada@example.com" : "ADA@example.com"));
    expect(statuses(first)).to.deep.equal(Array.from({ length: 60 }, () => 401));
    const last = await login(here, "ada@example.com");
    expect(last.status).to.equal(429);
    expect(last.body).to.deep.equal({ message: "Too many requests." });
    expect(Number(last.headers.get("retry-after"))).to.be.within(1, 60);
    expect(last.headers.get("ratelimit-policy")).to.equal(`"credential-ip";q=300;w=60, "credential";q=60;w=60`);
    expect(last.headers.get("ratelimit")).to.match(/^"credential-ip";r=239;t=\d+, "credential";r=0;t=\d+$/);
    expect(await login(here, "bob@example.com")).to.include({ status: 401 });
    expect(await login(somewhere(), "ada@example.com")).to.include({ status: 401 });
  });

  it("count on GraphQL and on sockets as on REST, and not toward the caller's API limit", async () => {
    const { database } = the();
    const app = await startServer(database.url, {
      ...limited,
      STEWARD_RATE_LIMIT_CREDENTIAL: "4",
      STEWARD_RATE_LIMIT_API: "3",
    });
    try {
      const client = new Client(app.url);
      const here = somewhere();
      const byGraphql = () =>
        client.post("/graphql", { query: loginMutation, variables: { email: "ada@example.com" } }, here);
      expect(await login(here, "ada@example.com", client)).to.include({ status: 401 });
      for (let nr = 0; nr < 3; nr++) {
        const { body, headers } = await byGraphql();
        expect(body.errors[0].extensions.code).to.equal("UNAUTHENTICATED");
        expect(headers.get("ratelimit")).to.match(/^"credential";r=\d;t=\d+$/);
      }
      const { status, body } = await byGraphql();
      expect(status).to.equal(200);
      expect(body.errors[0].extensions).to.include({ code: "RATE_LIMITED" });
      expect(body.errors[0].extensions.retryAfter).to.be.within(1, 60);
      expect(await login(here, "ada@example.com", client)).to.include({ status: 429 });

      const socket = createClient({
        url: `${app.url.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { sessionToken: the().owner.token },
        lazy: false,
      });
      const codes: unknown[] = [];
      for (let nr = 0; nr < 6; nr++) {
        for await (const { errors } of socket.iterate({ query: loginMutation, variables: { email: "cy@example.com" } }))
          codes.push(errors?.[0]!.extensions?.code);
      }
      await socket.dispose();
      const tried = Array.from({ length: 4 }, () => "UNAUTHENTICATED");
      expect(codes).to.deep.equal([...tried, "RATE_LIMITED", "RATE_LIMITED"]);
    } finally {
      await app.close();
    }
  });

  it("are limited by address before the body is read, across all replicas", async () => {
    const { database } = the();
    const apps: App[] = await Promise.all(
      [1, 2].map(() => startServer(database.url, { ...limited, STEWARD_RATE_LIMIT_CREDENTIAL_IP: "5" })),
    );
    try {
      const here = somewhere();
      const clients = apps.map(({ url }) => new Client(url));
      const answers = await times(8, (nr) => login(here, `user-${nr}@example.com`, clients[nr % 2]));
      expect(inOrder(answers)).to.deep.equal([401, 401, 401, 401, 401, 429, 429, 429]);
      for (const client of clients) {
        const broken = await client.post(path, "{", here);
        expect(broken).to.include({ status: 429 });
        expect(broken.headers.get("ratelimit")).to.match(/^"credential-ip";r=0;t=\d+$/);
        expect(await client.post(path, "{", somewhere())).to.include({ status: 400 });
      }
    } finally {
      await Promise.all(apps.map((app) => app.close()));
    }
  });
});

describe("API requests", () => {
  const the = world({ ...limited, STEWARD_RATE_LIMIT_API: "40" });
  const everyone = () => `/api/v2/groups/${the().defaultOrganization}`;
  const spend = async (client: Client, headers: Record<string, string> = {}) => {
    for (let nr = 0; nr < 60; nr++) {
      const answer = await client.get(everyone(), headers);
      if (answer.status === 429) return answer;
      expect(answer.status).to.equal(200);
    }
    throw new Error("There is no limit.");
  };

  it("are limited by user, whatever the credential, address, or surface", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const first = await w.as(ada!).get(everyone());
    expect(first.headers.get("ratelimit-policy")).to.equal(`"api";q=40;w=60`);
    expect(first.headers.get("ratelimit")).to.match(/^"api";r=39;t=60$/);
    const again = await w.login(ada!.email, userPassword);
    const last = await spend(w.as({ token: again }), from("203.0.113.1"));
    expect(Number(last.headers.get("retry-after"))).to.be.within(1, 60);
    expect(last.body).to.deep.equal({ message: "Too many requests." });

    const graphql = await w.as(ada!).post("/graphql", { query: "{ me { id } }" });
    expect(graphql).to.include({ status: 429 });
    expect(graphql.headers.get("retry-after")).to.match(/^[1-9]\d?$/);
    expect(graphql.body.errors[0].extensions).to.include({ code: "RATE_LIMITED" });
    expect(await w.as(ada!).post("/api/v2/notifications/custom", "{")).to.include({ status: 429 });
    expect(await w.as(ada!).get("/api/v2/notifications/inbox/watch")).to.include({ status: 429 });
    expect(await w.as(bob!).get(everyone())).to.include({ status: 200 });
  });

  it("are limited after routing and authentication, and before scopes and bodies are checked", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const created = await w
      .as(ada!)
      .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["template:read"] }) { token } }`);
    const narrow = w.as({ token: created.createApiKey.token });
    expect(await narrow.get(everyone())).to.include({ status: 403 });
    await spend(w.as(ada!));
    expect(await narrow.get(everyone())).to.include({ status: 429 });
    expect(await w.as(ada!).get("/api/v2/nothing")).to.include({ status: 404 });
    expect(await w.as(ada!).post("/api/v2/groups")).to.include({ status: 405 });
    expect(await w.as({ token: "bad" }).get(everyone())).to.include({ status: 401 });
  });

  it("are limited by address without a credential, except for health probes", async () => {
    const w = the();
    const here = from("203.0.113.9");
    const asked = ["/api/v2/auth/scopes", "/openapi.json", "/docs", "/graphql?query=%7B__typename%7D"];
    for (let nr = 0; nr < 40; nr++) {
      const answer = await w.nobody.get(asked[nr % 4]!, { ...here, "Apollo-Require-Preflight": "1" });
      expect(answer.status, asked[nr % 4]).to.equal(200);
    }
    for (const each of asked) {
      const answer = await w.nobody.get(each, { ...here, "Apollo-Require-Preflight": "1" });
      expect(answer.status, each).to.equal(429);
      expect(answer.headers.get("ratelimit"), each).to.match(/^"api";r=0;t=\d+$/);
      expect(answer.headers.get("retry-after"), each).to.match(/^\d+$/);
    }
    for (const each of ["/healthz", "/readyz"]) {
      const { status, headers } = await w.nobody.get(each, here);
      expect({ status, limit: headers.get("ratelimit") }, each).to.deep.equal({ status: 200, limit: null });
    }
    const key = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const upgrade = ["GET /graphql HTTP/1.1", "Host: localhost", ...key, "X-Forwarded-For: 203.0.113.9", "", ""].join(
      "\r\n",
    );
    const { statuses: refused, text } = await raw(w.url, upgrade);
    expect(refused).to.deep.equal([429]);
    expect(text).to.match(/^retry-after: \d+/im);
    expect(await w.nobody.get("/openapi.json", from("203.0.113.10"))).to.include({ status: 200 });
  });

  it("are unlimited with a limit of 0", async () => {
    const app = await startServer(the().database.url, { STEWARD_RATE_LIMIT_API: "0" });
    try {
      const { headers } = await new Client(app.url).get("/api/v2/auth/scopes");
      expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).to.deep.equal([null, null]);
      const client = new Client(app.url, the().owner.token);
      expect((await client.get(everyone())).headers.get("ratelimit")).to.equal(null);
    } finally {
      await app.close();
    }
  });
});

describe("wrong passwords", () => {
  const the = world({ ...limited, STEWARD_LOGIN_FAILURES_PER_HOUR: "10" });
  let addresses = 0;
  const elsewhere = () => from(`192.0.2.${++addresses}`);
  const login = (email: string, password: string, headers = elsewhere(), client = the().nobody) =>
    client.post(path, { email, password }, headers);
  const guess = (email: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => login(email, "wrong")));

  it("are limited for each email, known or not, across all addresses", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    for (const email of [ada!.email, "nobody@example.com"]) {
      const answers = await guess(email, 12);
      expect(inOrder(answers), email).to.deep.equal([...Array.from({ length: 10 }, () => 401), 429, 429]);
      const refused = await login(email.toUpperCase(), "wrong");
      expect(refused.status, email).to.equal(429);
      expect(refused.body, email).to.deep.equal({ message: "Too many requests." });
      expect(Number(refused.headers.get("retry-after")), email).to.be.within(60, 3_600);
    }
    // Otherwise the response would reveal that a guess was right.
    expect(await login(ada!.email, userPassword)).to.include({ status: 429 });
    expect(await login(w.owner.email, ownerPassword)).to.include({ status: 201 });
  });

  it("from other addresses do not lock users out of addresses where they have signed in before", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const home = elsewhere();
    expect(await login(ada!.email, userPassword, home)).to.include({ status: 201 });
    await guess(ada!.email, 15);
    expect(await login(ada!.email, userPassword)).to.include({ status: 429 });
    expect(await login(ada!.email, userPassword, home)).to.include({ status: 201 });
    expect(await w.as(ada!).post("/api/v2/authcheck", { checks: {} })).to.include({ status: 200 });
    // Attempts from there are limited too, and count for that address alone.
    for (let nr = 0; nr < 10; nr++) expect(await login(ada!.email, "wrong", home)).to.include({ status: 401 });
    expect(await login(ada!.email, "wrong", home)).to.include({ status: 429 });
  });

  it("are limited across all replicas, and right ones do not count", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const app = await startServer(w.database.url, { ...limited, STEWARD_LOGIN_FAILURES_PER_HOUR: "10" });
    try {
      const client = new Client(app.url);
      const right = await Promise.all(Array.from({ length: 12 }, () => login(ada!.email, userPassword)));
      expect(new Set(statuses(right))).to.deep.equal(new Set([201]));
      for (let nr = 0; nr < 10; nr++) {
        expect(await login(ada!.email, "wrong", elsewhere(), nr % 2 ? client : w.nobody)).to.include({ status: 401 });
      }
      for (const each of [client, w.nobody]) {
        expect(await login(ada!.email, "wrong", elsewhere(), each)).to.include({ status: 429 });
      }
    } finally {
      await app.close();
    }
  });

  it("lock out a right one on a replica that has seen none of them", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await guess(ada!.email, 10);
    const app = await startServer(w.database.url, { ...limited, STEWARD_LOGIN_FAILURES_PER_HOUR: "10" });
    try {
      const client = new Client(app.url);
      expect(await login(ada!.email, userPassword, elsewhere(), client)).to.include({ status: 429 });
    } finally {
      await app.close();
    }
  });
});

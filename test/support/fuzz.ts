// Ten thousand random and malformed requests to all rows and to GraphQL, or some of them, none of which may cause a server
// error. STEWARD_TEST_SEED=2 sends others. STEWARD_TEST_BODIES=10000 sends that many bodies to each operation with a body (about a minute per 30,000).
import { expect } from "chai";
import type { GraphQLObjectType } from "graphql";
import { WebSocket } from "ws";
import { getSchema } from "./catalog.js";
import { logged, ownerPassword } from "./app.js";
import { makeProxy } from "./proxies.js";
import { type JsonForm, Random } from "./random.js";
import { raw, rawRequest } from "./raw.js";
import { world } from "./world.js";

const seed = Number(process.env.STEWARD_TEST_SEED ?? 1);
const atOnce = 16;

interface Described {
  parameters?: Array<{ name: string; in: string }>;
  requestBody?: { content: Record<string, { schema: JsonForm }> };
}

interface Row {
  method: string;
  path: string;
  described: Described;
}

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Declares the tests. `share` is that of the requests that are sent. */
export const testRandomRequests = (share: number) =>
  describe(`${Math.round(10_000 * share)} random requests (STEWARD_TEST_SEED=${seed})`, () => sendRandomRequests(share));

function sendRandomRequests(share: number): void {
  const counts = {
    rows: Math.ceil(4_600 * share),
    graphql: Math.ceil(3_000 * share),
    raw: Math.ceil(400 * share),
    sockets: Math.ceil(100 * share),
  };
  const bodiesEach = Math.ceil(Number(process.env.STEWARD_TEST_BODIES ?? 100) * share);
  const w = world();
  const schema = getSchema();
  /** Operations that would end the credential in use. */
  const ending = new Set(["logout", "revokeSessions", "changePassword"]);
  /** Operations that would also end it if they hit the owner. */
  const aboutUsers = /User|Password/;
  let linesBefore: number;
  let random: Random;
  let tokens: string[];
  /** Credentials of machines. */
  let machines: Array<{ kind: string; headers: Record<string, string> }>;

  before(async () => {
    linesBefore = logged.length;
    const [ada, bob] = await w().users("ada", "bob");
    const groups = await Promise.all([w().group(), w().group(), w().group(undefined, { members: [ada!, bob!] })]);
    const names = [w().owner, ada!, bob!, ...groups].flatMap(({ id, ...each }) => [
      id,
      "username" in each ? each.username : each.name,
    ]);
    random = new Random(seed, [
      ...names,
      w().defaultOrganization,
      "2026-01-01T00:00:00Z",
      "https://example.com/a.png",
      "a fine name",
    ]);
    machines = [
      { kind: "proxy", headers: { "Service-Proxy-Token": (await makeProxy(w(), "fuzzed")).token } },
      { kind: "agent", headers: { "Service-Session-Token": (await w().workspace(ada!)).agent.token } },
    ];
    tokens = [w().owner.token, w().owner.token, w().owner.token, ada!.token];
  });

  const faults: string[] = [];
  const note = (status: number, text: string, sent: unknown) => {
    const isOurs = status >= 500 || /INTERNAL_SERVER_ERROR|"UNAVAILABLE"|Variable "?\$|node_modules|    at /.test(text);
    if (isOurs) faults.push(`${status} ${text.slice(0, 500)}\n  for ${JSON.stringify(sent).slice(0, 1_500)}`);
  };
  afterEach(() => expect(faults.splice(0).join("\n"), "server errors").to.equal(""));

  /** Runs `work` so many times, a few at a time. */
  async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
    let left = times;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) await work();
      }),
    );
  }

  /** Replaces characters that headers cannot hold. */
  const printable = (text: string) => text.replace(/[^\x20-\x7e\x80-\xff]/g, "?");

  function credential(): Record<string, string> {
    if (random.chance(0.85)) return { "Service-Session-Token": random.one(tokens) };
    const text = printable(random.text());
    return random.one<Record<string, string>>([
      {},
      { "Service-Session-Token": text },
      { Authorization: `Bearer ${text}` },
      { Cookie: `service_session_token=${text}`, "Sec-Fetch-Site": "same-origin" },
    ]);
  }

  /** Sends a request and returns its status. */
  async function send({ method, path, headers, body }: Sent): Promise<number> {
    const deadline = new AbortController();
    const response = await fetch(w().url + path, {
      method,
      headers,
      body,
      redirect: "manual",
      signal: deadline.signal,
    });
    // Streams do not end by themselves.
    const isStream = /stream|ndjson/.test(response.headers.get("content-type") ?? "");
    const text = isStream ? "" : await response.text();
    if (isStream) deadline.abort();
    note(response.status, text, { method, path, headers, body });
    return response.status;
  }

  const jsonOr = (body: unknown): string => {
    const text = JSON.stringify(body);
    return random.chance(0.08) ? random.broken(text) : text;
  };

  async function rows(): Promise<Row[]> {
    const { paths } = (await w().nobody.get("/openapi.json")).body as {
      paths: Record<string, Record<string, Described>>;
    };
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, described })),
    );
  }

  function requestTo({ method, path: pattern, described }: Row): Sent {
    const segment = () =>
      random.chance(0.03)
        ? random.one(["%", "%zz", "%ff", "%00", "a%2Fb"])
        : encodeURIComponent(random.text().toWellFormed()) || "x";
    const parameters = (described.parameters ?? []).filter((each) => each.in === "query").map(({ name }) => name);
    const query = new URLSearchParams();
    for (const name of random.some(parameters))
      for (let times = random.chance(0.1) ? 2 : 1; times > 0; times--) query.append(name, random.text());
    const body = random.like(described.requestBody?.content["application/json"]?.schema ?? {});
    const hasBody = method !== "GET" && (described.requestBody !== undefined || random.chance(0.1));
    const type = random.chance(0.95) ? "application/json" : printable(random.text());
    return {
      method,
      path: `${pattern.replace(/\{\w+\}/g, segment)}${query.size > 0 ? `?${query.toString()}` : ""}`,
      headers: {
        ...credential(),
        ...(hasBody && { "Content-Type": type }),
        ...(random.chance(0.05) && {
          "Idempotency-Key": printable(random.text()),
          "Last-Event-ID": printable(random.text()),
        }),
      },
      ...(hasBody && { body: jsonOr(body) }),
    };
  }

  it("cause no server error in rows", async () => {
    const all = await rows();
    await repeat(counts.rows, async () => {
      const request = requestTo(random.one(all));
      const others = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"].filter(
        (each) => request.body === undefined || each !== "GET",
      );
      await send(random.chance(0.02) ? { ...request, method: random.one(others) } : request);
    });
  });

  it(`with ${bodiesEach} bodies to each row that takes one`, async function () {
    this.timeout(240_000 + bodiesEach * 100);
    const taking = (await rows()).filter(({ described }) => described.requestBody);
    expect(taking).to.have.length.above(10);
    const answers = new Map(taking.map((row) => [row, new Set<number>()]));
    let turn = 0;
    await repeat(bodiesEach * taking.length, async () => {
      const row = taking[turn++ % taking.length]!;
      answers.get(row)!.add(await send(requestTo(row)));
    });
    if (share < 1) return;
    // Each operation responded 400 to some body, so that no earlier check hides the bodies. Rows of agents and of identity
    // providers take credentials of their own, which these requests do not have, and limit how often others are tried.
    const expected = (path: string) => (/\/workspaceagents\/me\/|^\/scim\//.test(path) ? [401, 429] : [400]);
    for (const [{ method, path }, statuses] of answers)
      expect(expected(path), `${method} ${path}: ${[...statuses].join()}`).to.satisfy((some: number[]) =>
        some.some((status) => statuses.has(status)),
      );
  });

  it("cause no server error in GraphQL", async () => {
    const roots = [
      ["query", schema.getQueryType()],
      ["mutation", schema.getMutationType()],
    ] as Array<[string, GraphQLObjectType]>;
    const fields = roots
      .flatMap(([keyword, type]) => Object.values(type.getFields()).map((field) => ({ keyword, field })))
      .filter(({ field }) => !ending.has(field.name));
    await repeat(counts.graphql, async () => {
      const { keyword, field } = random.one(fields);
      const { query, variables } = random.operation(keyword, field, schema);
      const self = ["me", w().owner.id, w().owner.username];
      if (aboutUsers.test(field.name) && self.some((name) => JSON.stringify(variables).includes(`"${name}"`))) return;
      const willing = machines.filter(({ kind }) => (field.extensions.openTo as string[] | undefined)?.includes(kind));
      const shown = willing.length > 0 && random.chance(0.9) ? random.one(willing).headers : credential();
      const request = {
        query: random.chance(0.1) ? random.broken(query) : query,
        variables: random.chance(0.95) ? variables : random.value(),
      };
      await send({
        method: "POST",
        path: "/graphql",
        headers: { ...shown, "Content-Type": "application/json" },
        body: jsonOr(random.chance(0.02) ? random.value() : request),
      });
    });
  });

  it("cause no server error if they are not HTTP", async () => {
    const whole = () =>
      rawRequest(
        `${random.one(["GET", "POST", "PUT", "HEAD", "TRACE", "CONNECT", "FOO"])} ${random.one(["/api/v2/groups", "/graphql", "//", "*", "http://[", "/healthz?%", "/%c0%af"])}`,
        [
          `Service-Session-Token: ${random.one(tokens)}`,
          random.one([
            "Content-Length: 5",
            "Content-Length: -1",
            "Content-Length: 5\r\nContent-Length: 6",
            "Transfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked\r\nContent-Length: 3",
            "Expect: 100-continue",
            "Expect: nonsense",
            "Upgrade: websocket\r\nConnection: Upgrade",
            "X: \x01",
          ]),
          "Content-Type: application/json",
        ],
        random.one(["{}", '{"a":', '5\r\n{"a":\r\n0\r\n\r\n', "zz\r\n", ""]),
      );
    await repeat(counts.raw, async () => {
      const text = random.chance(0.5) ? random.broken(whole()) : whole();
      const { statuses, text: answer } = await raw(w().url, Buffer.from(text, "latin1"));
      note(Math.max(0, ...statuses), answer, text);
    });
  });

  it("cause no server error on sockets", async () => {
    await repeat(counts.sockets, async () => {
      const socket = new WebSocket(`${w().url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
      socket.on("error", () => {});
      const ended = new Promise((resolve) => socket.once("close", resolve));
      await new Promise((resolve) => socket.once("open", resolve));
      socket.on("message", (data) => note(0, (data as Buffer).toString(), "a socket"));
      socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: random.one(tokens) } }));
      const fields = Object.values(schema.getQueryType()!.getFields());
      for (let n = 0; n < 5; n++) {
        const payload = random.chance(0.8) ? random.operation("query", random.one(fields), schema) : random.value();
        const message = JSON.stringify({ type: "subscribe", id: String(n), payload });
        socket.send(random.chance(0.2) ? random.broken(message) : message);
      }
      const timer = setTimeout(() => socket.close(), 100);
      await ended;
      clearTimeout(timer);
    });
  });

  it("leave the server healthy, and nothing unexplained in its log", async () => {
    expect(await w().nobody.get("/readyz")).to.include({ status: 200 });
    expect((await w().as(w().owner).graphql("{ me { username } }")).me.username).to.be.a("string");
    expect(await w().login(w().owner.email, ownerPassword)).to.be.a("string");
    expect(logged.slice(linesBefore).filter(({ msg }) => msg === "defect")).to.deep.equal([]);
  });
}

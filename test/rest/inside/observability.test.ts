// What operators see of a server: its request log, metrics, and traces.
// Looks inside: which exporter the variables name is a pure function, as is the share of logged requests.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { pino } from "pino";
import { WebSocket } from "ws";
import { RequestLog } from "../../../src/http/request-log.js";
import { exporterOf } from "../../../src/observability/tracing/settings.js";
import { ownerPassword } from "../../support/app.js";
import { cloneDatabase, type TestDatabase } from "../../support/cluster.js";
import { metric } from "../../support/metrics.js";
import { type ServerProcess, spawnServer } from "../../support/process.js";
import { eventually } from "../../support/watchers.js";
import { type Anything, Client } from "../../support/world.js";

/** A span as OTLP/JSON has it (opentelemetry-proto, trace.proto). */
interface Span {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Array<{ key: string; value: Anything }>;
}

/** Receives traces. */
class Collector {
  readonly spans: Span[] = [];
  readonly services = new Set<string>();
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { resourceSpans } = (await json(request)) as Anything;
    for (const { resource, scopeSpans } of resourceSpans) {
      this.services.add(attribute(resource, "service.name"));
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
    response.setHeader("Content-Type", "application/json").end("{}");
  }
}

const attribute = ({ attributes }: Pick<Span, "attributes">, name: string): Anything =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

const secret = "s3cret-in-a-place-it-does-not-belong";

describe("a server that is observed", () => {
  const collector = new Collector();
  let database: TestDatabase;
  let server: ServerProcess;
  let owner: Client;

  before(async () => {
    database = await cloneDatabase();
    server = await spawnServer({
      STEWARD_DATABASE_URL: database.url,
      STEWARD_BUILTIN_DAEMON: "false",
      STEWARD_LOGIN_FAILURES_PER_HOUR: "2",
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(),
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_SERVICE_NAME: "steward-under-test",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    });
    const { body } = await new Client(server.url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    owner = new Client(server.url, body.session_token);
  });
  after(async () => {
    server.child.kill("SIGKILL");
    await server.ended;
    collector.stop();
    await database.drop();
  });

  const lines = (): Anything[] =>
    server
      .stdout()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));

  /** The line of the log with a message about a request, without what every line has. */
  async function lineOf(requestId: string, message = "request"): Promise<Anything> {
    const find = () => lines().find((line) => line.requestId === requestId && line.msg === message);
    await eventually(() => find() !== undefined, `${message} is logged`);
    const { time: _time, pid: _pid, hostname: _host, requestId: _id, ms, ...line } = find();
    expect(ms).to.be.a("number").least(0);
    return line;
  }

  const idOf = ({ headers }: { headers: Headers }) => headers.get("x-request-id")!;
  const request = { level: 30, msg: "request" };

  it("logs a line per request, with pattern, operation, caller, and codes, and without what may be secret", async () => {
    const { me } = await owner.graphql("query Whoami { me { id } }");
    const missing = await owner.get(`/api/v2/groups/${secret}?token=${secret}`, { Referer: `http://x/${secret}` });
    expect(await lineOf(idOf(missing))).to.deep.equal({
      ...request,
      method: "GET",
      route: "/api/v2/groups/:group",
      status: 404,
      actorId: me.id,
      operation: "GetGroup",
      errors: ["NOT_FOUND"],
    });
    const unknown = await owner.get(`/reset/${secret}`);
    expect(await lineOf(idOf(unknown))).to.deep.equal({ ...request, method: "GET", route: "other", status: 404 });

    const query = `query Find { group(group: "${secret}") { id } }`;
    const found = await owner.post("/graphql", { query, operationName: "Find" });
    const ofGraphql = { ...request, method: "POST", route: "/graphql", actorId: me.id };
    const failed = { operation: "Find", errors: ["NOT_FOUND"] };
    expect(await lineOf(idOf(found))).to.deep.equal({ ...ofGraphql, ...failed, status: 200 });
    const invalid = await owner.post("/graphql", { query: `{ me { ${secret.replaceAll("-", "_")} } }` });
    expect(await lineOf(idOf(invalid))).to.deep.equal({ ...ofGraphql, errors: ["BAD_USER_INPUT"], status: 400 });

    const page = await new Client(server.url).get("/login");
    const ofPage = { method: "GET", route: "/login", operation: "PasscodeDelivery", status: 200 };
    expect(await lineOf(idOf(page))).to.deep.equal({ ...request, ...ofPage });
    const probed = idOf(await owner.get("/healthz"));
    await lineOf(idOf(await owner.get("/api/v2/groups")));
    expect(lines().filter(({ requestId }) => requestId === probed)).to.deep.equal([]);
    expect(server.output()).not.to.include(secret).and.not.include(secret.replaceAll("-", "_"));
  });

  it("logs the operations of a GraphQL socket, and its end", async () => {
    const { me } = await owner.graphql("query Whoami { me { id } }");
    const socket = createClient({
      url: `${server.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: owner.token },
      lazyCloseTimeout: 60_000,
    });
    const first = async (query: string) => {
      for await (const result of socket.iterate({ query })) return result;
      return undefined;
    };
    await first("query Mine { me { id } }");
    await first(`query Missing { group(group: "${secret}") { id } }`);
    const watching = socket.iterate({ query: 'subscription Inbox { inboxEvents(since: "0") { __typename } }' });
    void watching.next();
    await eventually(() => lines().some(({ operation }) => operation === "Missing"), "the operations are logged");
    const { requestId } = lines().find(({ operation }) => operation === "Missing");
    const operations = () => lines().filter((line) => line.requestId === requestId && line.msg === "socket operation");
    await eventually(async () => (await metric(server.url, "steward_event_subscriptions")) > 0, "it is subscribed");
    await socket.dispose();
    await eventually(() => operations().length === 3, "the subscription has ended");
    expect(
      operations().map(({ kind, operation, actorId, errors }) => ({ kind, operation, actorId, errors })),
    ).to.deep.equal([
      { kind: "query", operation: "Mine", actorId: me.id, errors: undefined },
      { kind: "query", operation: "Missing", actorId: me.id, errors: ["NOT_FOUND"] },
      { kind: "subscription", operation: "Inbox", actorId: me.id, errors: undefined },
    ]);
    expect(await lineOf(requestId, "socket closed")).to.deep.equal({
      level: 30,
      msg: "socket closed",
      code: 1000,
      operations: 3,
      actorId: me.id,
    });
  });

  it("counts operations by name and code, sign-ins, rejections of rate limits, and queues", async () => {
    const count = (name: string, ...labels: string[]) => metric(server.url, `steward_${name}`, labels.join(","));
    const operations = (operation: string, source: string, code: string) =>
      count("graphql_operations_total", `operation="${operation}"`, `source="${source}"`, `code="${code}"`);
    const before = await operations("GetGroup", "stored", "NOT_FOUND");
    await owner.get("/api/v2/groups/no-such-group");
    expect(await operations("GetGroup", "stored", "NOT_FOUND")).to.equal(before + 1);
    const others = await operations("other", "client", "OK");
    for (let time = 1; time <= 3; time++) await owner.graphql("query Counted { me { id } }");
    expect(await operations("Counted", "client", "OK")).to.equal(3);
    for (let time = 1; time <= 2; time++)
      await new Client(server.url).graphql("query OfNobody { serverInfo { version } }");
    expect(await operations("OfNobody", "client", "OK"), "strangers name nothing").to.equal(0);
    expect(await operations("other", "client", "OK")).to.equal(others + 2);

    const signIn = (password: string) =>
      new Client(server.url).post("/api/v2/users/login", { email: "nobody@example.com", password });
    const signIns = (result: string) => count("sign_ins_total", `method="password"`, `result="${result}"`);
    expect(await signIns("succeeded")).to.equal(1);
    for (const status of [401, 401, 429]) expect((await signIn("wrong-Horse-77")).status).to.equal(status);
    expect(await signIns("rejected")).to.equal(3);
    expect(await count("rate_limit_rejections_total", 'limit="login-failures"')).to.equal(1);

    expect(
      await count("http_request_duration_seconds_count", 'method="GET"', 'route="/api/v2/groups/:group"'),
    ).to.be.above(0);
    for (const queue of ["notifications", "provisioner_jobs", "task_inputs"])
      expect(await (await fetch(`${server.url}/metrics`)).text()).to.include(
        `steward_queue_length{queue="${queue}"} 0\n`,
      );
    expect(await (await fetch(`${server.url}/metrics`)).text()).to.match(
      new RegExp(`^steward_build_info\\{version="0.1.0",commit="[^"]+",node="${process.versions.node}",.*\\} 1$`, "m"),
    );
  });

  it("exports a trace of a request, its operation, and its statements, which continues that of the client", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const parent = "b7ad6b7169203331";
    const name = "s3cret-name-of-a-group";
    const { status } = await owner.request(
      "POST",
      "/api/v2/organizations/default/groups",
      { name },
      {
        traceparent: `00-${traceId}-${parent}-01`,
      },
    );
    expect(status).to.equal(201);
    const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId);
    const http = () => ofTrace().find(({ kind }) => kind === 2);
    await eventually(() => http() !== undefined, "the trace is exported");
    expect(http()).to.include({ name: "POST /api/v2/organizations/:organization/groups", parentSpanId: parent });
    expect(Number(attribute(http()!, "http.response.status_code"))).to.equal(201);
    const operation = ofTrace().find((span) => span.parentSpanId === http()!.spanId && span.kind === 1)!;
    expect(operation.name).to.equal("mutation CreateGroup");
    const statements = ofTrace().filter((span) => span.kind === 3);
    expect(statements.map((span) => span.parentSpanId)).to.include(operation.spanId);
    expect(statements.some((span) => /insert into "?groups/i.test(attribute(span, "db.query.text")))).to.equal(true);
    expect([...collector.services]).to.deep.equal(["steward-under-test"]);
    const exported = JSON.stringify(collector.spans);
    for (const text of [secret, name, owner.token!, ownerPassword]) expect(exported).not.to.include(text);
  });

  it("writes the last lines of the log before it exits", async () => {
    const last = await owner.get("/api/v2/groups");
    server.child.kill("SIGTERM");
    expect(await server.ended).to.equal(0);
    expect(lines().map(({ requestId }) => requestId)).to.include(idOf(last));
    expect(lines().at(-1)).to.include({ msg: "draining" });
  });
});

describe("a server that is not traced", () => {
  it("does not load OpenTelemetry, and writes a readable log on request", async () => {
    const database = await cloneDatabase();
    const tell = `import { registerHooks } from "node:module";
      registerHooks({ load: (url, context, next) => (process._rawDebug("loads " + url), next(url, context)) });`;
    const options = ["--import", `data:text/javascript,${encodeURIComponent(tell)}`];
    const settings = { STEWARD_DATABASE_URL: database.url, STEWARD_LOG_FORMAT: "text" };
    const server = await spawnServer(settings, { options });
    try {
      const { headers } = await new Client(server.url).get("/api/v2/groups?token=x");
      const id = headers.get("x-request-id")!;
      await eventually(() => server.stdout().includes(id), "the request is logged");
      const line = server
        .stdout()
        .split("\n")
        .find((each) => each.includes(id));
      expect(line).to.match(
        /INFO: GET \/api\/v2\/groups 401 in [\d.]+ ms \{"requestId":"[\w-]+","operation":"\w+","errors":\["UNAUTHENTICATED"\]\}$/,
      );
      const loaded = server.stderr().split("\n");
      expect(
        loaded.some((url) => /loads file:.*\/dist\/app-/.test(url)),
        "the program",
      ).to.equal(true);
      expect(loaded.filter((url) => /tracing-|opentelemetry|otlp/i.test(url))).to.deep.equal([]);
    } finally {
      server.child.kill("SIGKILL");
      await server.ended;
      await database.drop();
    }
  });

  it("exports traces only as the standard variables say", () => {
    const warnings: object[] = [];
    const exporter = (env: NodeJS.ProcessEnv) =>
      exporterOf(env, { warn: (fields: object) => void warnings.push(fields) });
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
    expect(exporter({})).to.equal(undefined);
    expect(exporter({ OTEL_SERVICE_NAME: "steward" })).to.equal(undefined);
    expect(exporter(endpoint)).to.equal("http/protobuf");
    expect(exporter({ OTEL_TRACES_EXPORTER: "otlp" })).to.equal("http/protobuf");
    expect(exporter({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" })).to.equal("http/json");
    expect(exporter({ ...endpoint, OTEL_TRACES_EXPORTER: "none" })).to.equal(undefined);
    expect(exporter({ ...endpoint, OTEL_SDK_DISABLED: "true" })).to.equal(undefined);
    expect(exporter({ OTEL_TRACES_EXPORTER: "console" })).to.equal("console");
    expect(warnings).to.deep.equal([]);
    expect(exporter({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).to.equal(undefined);
    expect(exporter({ OTEL_TRACES_EXPORTER: "zipkin" })).to.equal(undefined);
    expect(warnings).to.have.length(2);
  });
});

describe("the share of the requests that are logged", () => {
  function logged(share: number, ...requests: Array<[status: number, errorCodes?: string[]]>): number[] {
    const lines: Array<{ status: number }> = [];
    const log = new RequestLog(
      pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { status: number }) }),
      share,
    );
    for (const [status, errorCodes] of requests)
      log.request({ method: "GET", route: "/", status, milliseconds: 1, details: { id: "r", errorCodes } });
    return lines.map(({ status }) => status);
  }

  it("applies to successful requests only, unless it is 0", () => {
    const successes = Array.from({ length: 4_000 }, (): [number] => [200]);
    expect(logged(1, [200], [201], [500])).to.deep.equal([200, 201, 500]);
    expect(logged(0, [200], [500])).to.deep.equal([]);
    expect(logged(0.000001, [500], [404], [200, ["FORBIDDEN"]])).to.deep.equal([500, 404, 200]);
    expect(logged(0.5, ...successes).length).to.be.within(1_500, 2_500);
  });
});

// What a request without a credential costs: the time of the server's event loop, for which all others wait. It is
// compared with the time of a known piece of work on the same loop, and of several tries one must be cheap enough: what
// else runs on this machine can only make them dearer.
import { expect } from "chai";
import { getIntrospectionQuery } from "graphql";
import { WebSocket } from "ws";
import { createDatabase, type TestDatabase } from "../support/cluster.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { freePort } from "../support/ports.js";

/** The part of the known work, which takes 20 to 60 ms, that one request may cost: 7 to 20 ms. */
const part = 1 / 3;

/** How often a request is sent, at most, until it costs little enough. */
const tries = 15;

const limit = 64 * 1024;

/** Repeats a piece between a start and an end, up to the size that strangers may send. */
const filled = (start: string, piece: string, end: string): string =>
  start + piece.repeat(Math.floor((limit - Buffer.byteLength(start + end)) / Buffer.byteLength(piece))) + end;

/** As many different names as fit, each with a value and a separator. */
function names(start: string, entry: (name: string) => string, end: string): string {
  let text = start;
  for (let n = 0; text.length < limit - 32; n++) text += entry(n.toString(36));
  return text + end;
}

const bodies: Record<string, string> = {
  "many keys": names("{", (name) => `"${name}":1,`, '"last":1}'),
  "many keys, and an error at the end": names("{", (name) => `"${name}":1,`, '"last"'),
  "many objects": filled('{"x":[', "{},", "{}]}"),
  "many lists of 60 levels": filled('{"x":[', `${"[".repeat(60)}${"]".repeat(60)},`, "1]}"),
  "a list of too many levels": filled('{"x":', "[", ""),
  "many dangerous keys": filled('{"x":[', '{"__proto__":1},', "1]}"),
  "many escapes": filled('{"x":"', "\\u0041", '"}'),
  "many strings": filled('{"x":[', '"",', '""]}'),
  "many quotation marks": filled('{"x":"', '\\"', '"}'),
  "one key many times": filled("{", '"email":1,', '"email":1}'),
};

const forms: Record<string, string> = {
  "many fields": names("", (name) => `${name}=1&`, "x=1"),
  "one field many times": filled("client_id=x&grant_type=authorization_code&", "resource=a&", ""),
  "many empty fields": filled("", "&", ""),
  "many escapes": filled("client_id=", "%41", ""),
  "many spaces": filled("email=", "+", ""),
};

/** Pieces of which long texts are made: words, white space, dots, URLs, and characters outside of ASCII. */
const pieces = ["a", " ", "a.", "a@", "((", "https://a/", "🙂"];

const list = (count: number, item: (n: number) => string, separator = " "): string =>
  Array.from({ length: count }, (_, n) => item(n)).join(separator);

/** Most of them have nearly as many tokens as strangers may send. */
const documents: Record<string, string> = {
  "one field many times": `{ serverInfo { ${"version ".repeat(490)} } }`,
  "one field many times, far too often": `{ serverInfo { ${"version ".repeat(8_000)} } }`,
  "one object many times": `{ ${"serverInfo { version } ".repeat(120)} }`,
  "many objects that need a credential": `{ ${"me { id } ".repeat(120)} }`,
  "many unknown fields": `{ ${list(490, (n) => `workspaceX${n}`)} }`,
  "many unknown types": `query(${list(120, (n) => `$v${n}: Workspacex`)}) { serverInfo { version } }`,
  "many unused variables": `query(${list(120, (n) => `$v${n}: Int`)}) { serverInfo { version } }`,
  "many arguments": `{ ${list(54, (n) => `serverInfo(a${n}: 1) { version }`)} }`,
  "many aliases": `{ ${list(80, (n) => `a${n}: serverInfo { version }`)} }`,
  "many conflicting aliases": `{ ${list(80, (n) => `serverInfo { a: ${n % 2 ? "version" : "accessUrl"} }`)} }`,
  "many levels": `{ ${"serverInfo { ".repeat(160)}version${" }".repeat(160)} }`,
  "fragments that grow exponentially": `{ ...f0 } ${list(48, (n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`)} fragment f48 on Query { serverInfo { version } }`,
  "fragments that overlap": `{ ${list(30, (n) => `...f${n}`)} } ${list(30, (n) => `fragment f${n} on Query { serverInfo { version accessUrl deploymentId } }`)}`,
  "inline fragments": `{ ${"... on Query { serverInfo { version } } ".repeat(54)} }`,
  "many directives": `{ serverInfo { version ${"@skip(if: true) ".repeat(68)} } }`,
  "many operations": list(60, (n) => `query q${n} { serverInfo { version } }`),
  "a long list": `{ serverInfo(a: [${"1 ".repeat(480)}]) { version } }`,
  "a deep list": `{ serverInfo(a: ${"[".repeat(240)}${"]".repeat(240)}) { version } }`,
  "a long text": `{ serverInfo(a: "${"a".repeat(60_000)}") { version } }`,
  "a long comment": `#${"#".repeat(60_000)}\n{ serverInfo { version } }`,
  "many commas": `{ serverInfo { version } }${",".repeat(60_000)}`,
  introspection: getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true }),
};

/** Pages that take forms. */
const pages = [
  "/login",
  "/login/forgot-password",
  "/login/reset-password",
  "/logout",
  "/account/password",
  "/account/keys",
  "/account/applications",
  "/oauth2/authorize",
  "/oauth2/device",
  "/external-auth/x",
  "/notifications/unsubscribe",
];

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
}

interface Operation {
  requestBody?: { content: Record<string, { schema: Schema; example?: object }> };
}

type Send = () => Promise<unknown>;

describe("requests without a credential", () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let probe: string;
  /** The most milliseconds that a request may cost. */
  let most: number;

  before(async () => {
    database = await createDatabase();
    const port = String(await freePort("127.0.0.1"));
    probe = `http://127.0.0.1:${port}`;
    const unlimited = ["CREDENTIAL", "CREDENTIAL_IP", "API"].map((name) => [`STEWARD_RATE_LIMIT_${name}`, "0"]);
    server = await spawnServer(
      {
        STEWARD_DATABASE_URL: database.url,
        STEWARD_BUILTIN_DAEMON: "false",
        STEWARD_LOG_LEVEL: "error",
        STEWARD_OAUTH2_REGISTRATIONS_PER_HOUR: "0",
        STEWARD_LOGIN_FAILURES_PER_HOUR: "0",
        ...Object.fromEntries(unlimited),
        LOOP_PROBE_PORT: port,
      },
      { options: ["--import", new URL("../support/loop-probe.mjs", import.meta.url).pathname] },
    );
    most = await mostNow();
  });
  after(async () => {
    server.child.kill("SIGTERM");
    await server.ended;
    await database.drop();
  });

  const ask = async (path: string): Promise<number> => Number(await (await fetch(probe + path)).text());

  const mostNow = async (): Promise<number> => (await ask("/yardstick")) * part;

  async function costOf(send: Send): Promise<number> {
    const begun = await ask("/");
    await send();
    return (await ask("/")) - begun;
  }

  /** The requests that cost too much at every try. */
  async function tooExpensive(requests: Iterable<readonly [title: string, send: Send]>): Promise<string[]> {
    const found: string[] = [];
    for (const [title, send] of requests) {
      let count = 0;
      let cost = await costOf(send);
      while (cost > most && ++count < tries) {
        // The machine may have become slower since the known work was timed.
        most = await mostNow();
        cost = await costOf(send);
      }
      if (cost > most) found.push(`${title}: ${cost.toFixed(1)} ms instead of ${most.toFixed(1)} ms`);
    }
    return found;
  }

  const sent = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(server.url + path, { redirect: "manual", ...init });
    await response.arrayBuffer();
    return response;
  };
  const post =
    (path: string, body: string, type = "application/json", method = "POST"): (() => Promise<Response>) =>
    () =>
      sent(path, { method, body, headers: { "Content-Type": type } });
  const postForm = (path: string, body: string) => post(path, body, "application/x-www-form-urlencoded");

  const descriptionOf = async () =>
    (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, Schema> };
    };

  /** Bodies that have one field with as much in it as fits, and are otherwise as the description shows. */
  function* bodiesFor({ requestBody }: Operation, schemas: Record<string, Schema>): Generator<[string, string]> {
    const content = requestBody?.content["application/json"];
    if (!content) return;
    const { $ref } = content.schema;
    const { properties = {} } = $ref ? schemas[$ref.split("/").at(-1)!]! : content.schema;
    for (const [name, { type }] of Object.entries(properties)) {
      const others = JSON.stringify({ ...content.example, [name]: undefined }).slice(1, -1);
      const start = `{${others && `${others},`}"${name}":`;
      if (type?.includes("array"))
        for (const item of ['"a"', '"https://a/b"', "{}"]) yield [name, filled(`${start}[`, `${item},`, `${item}]}`)];
      else for (const piece of pieces) yield [name, filled(`${start}"`, piece, '"}')];
    }
  }

  it("cost little on every REST endpoint, whatever their body is", async () => {
    const { paths, components } = await descriptionOf();
    const requests: Array<[string, Send]> = [];
    let openCount = 0;
    for (const [pattern, operations] of Object.entries(paths))
      for (const [verb, operation] of Object.entries(operations)) {
        const method = verb.toUpperCase();
        const path = pattern.replace(/\{\w+\}/g, "x");
        const title = `${method} ${pattern}`;
        if (method === "GET") {
          requests.push([`${title}?…`, () => sent(`${path}?${"a=%41&".repeat(2_500)}`, {})]);
          continue;
        }
        const withBody = (body: string) => post(path, body, "application/json", method);
        const isOpen = (await withBody("{}")()).status !== 401;
        if (!isOpen) {
          requests.push([title, withBody(bodies["many keys"]!)]);
          continue;
        }
        openCount++;
        for (const [what, body] of Object.entries(bodies)) requests.push([`${title}, ${what}`, withBody(body)]);
        for (const [what, body] of bodiesFor(operation, components.schemas))
          requests.push([`${title}, a long ${what}`, withBody(body)]);
      }
    expect(openCount, "endpoints that take no credential").to.be.at.least(8);
    expect(await tooExpensive(requests)).to.deep.equal([]);
  });

  it("cost little on pages and endpoints that take forms", async () => {
    const { paths } = await descriptionOf();
    const ofProtocol = Object.keys(paths).filter((path) => path.startsWith("/oauth2/") && "post" in paths[path]!);
    const requests = [...pages, ...ofProtocol].flatMap((path) =>
      Object.entries(forms).map(([what, form]): [string, Send] => [`${path}, ${what}`, postForm(path, form)]),
    );
    expect(await tooExpensive(requests)).to.deep.equal([]);
  });

  it("cost little as GraphQL, whatever the document is", async () => {
    const requests = Object.entries(documents).map(([what, query]): [string, Send] => [
      what,
      post("/graphql", JSON.stringify({ query })),
    ]);
    const others = Object.entries(bodies).map(([what, body]): [string, Send] => [what, post("/graphql", body)]);
    expect(await tooExpensive([...requests, ...others])).to.deep.equal([]);
  });

  it("cost little on SCIM endpoints", async () => {
    const requests = ["/Users", "/Groups", "/Bulk", "/.search"].flatMap((path) =>
      Object.entries(bodies).map(([what, body]): [string, Send] => [
        `${path}, ${what}`,
        post(`/scim/v2${path}`, body, "application/scim+json"),
      ]),
    );
    expect(await tooExpensive(requests)).to.deep.equal([]);
  });

  it("cost little on WebSockets, on which they are closed", async () => {
    const requests = Object.entries(bodies).map(([what, body]): [string, Send] => [
      what,
      () => closeCodeOf(`{"type":"connection_init","payload":${body.slice(0, -40)}`),
    ]);
    expect(await tooExpensive(requests)).to.deep.equal([]);
    const init = (size: number) => JSON.stringify({ type: "connection_init", payload: { x: "x".repeat(size) } });
    expect(await closeCodeOf(init(limit)), "too large").to.equal(1009);
    expect(await closeCodeOf(init(limit - 100)), "without a credential").to.equal(4403);
    const deep = `{"type":"connection_init","payload":{"x":${"[".repeat(65)}${"]".repeat(65)}}}`;
    expect(await closeCodeOf(deep), "too many levels").to.equal(4400);
  });

  const closeCodeOf = (message: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
      socket.on("open", () => socket.send(message));
      socket.on("close", resolve);
      socket.on("error", reject);
    });
});

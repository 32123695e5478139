// Outgoing calls to URLs chosen by others: what is rejected, what is bounded, and which addresses are really called.
// Looks inside: the client for URLs of others, against addresses and responses that no setting of the server leads to.
import { expect } from "chai";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { type Fetch, mayCall, OutsideError, type OutsideOptions, outsideFetch } from "../../src/infrastructure/http.js";

const thisMachine = [ipaddr.parseCIDR("127.0.0.1/32")];

/** Internal hosts, in every spelling that has fooled an address check. */
const hostile = [
  // Loopback and unspecified addresses.
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "127.0.0.1.",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "0x7f.0x0.0x0.0x1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "%31%32%37.0.0.1",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "db.localhost",
  "0",
  "0.0.0.0",
  "0.0.0.0.",
  "0.1.2.3",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[::ffff:0:127.0.0.1]",
  // Private and shared networks.
  "10.0.0.1",
  "10.255.255.255",
  "012.0.0.1",
  "172.16.0.1",
  "172.31.255.254",
  "192.168.0.1",
  "192.168.257",
  "3232235777",
  "100.64.0.1",
  "100.127.255.254",
  "[fc00::1]",
  "[fd12:3456:789a::1]",
  "[fec0::1]",
  "[::ffff:10.0.0.1]",
  "[64:ff9b::10.0.0.1]",
  "[2002:a00:1::]",
  // Link-local addresses and cloud metadata services.
  "169.254.0.1",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "169.254.169.254.",
  "[fe80::1]",
  "[::ffff:169.254.169.254]",
  "[::ffff:a9fe:a9fe]",
  "[64:ff9b::a9fe:a9fe]",
  "[fd00:ec2::254]",
  "100.100.100.200",
  "192.0.0.192",
  "168.63.129.16",
  // Not assigned to hosts: multicast, broadcast, documentation, benchmarking, reserved.
  "224.0.0.1",
  "239.255.255.250",
  "255.255.255.255",
  "240.0.0.1",
  "192.0.2.1",
  "198.51.100.1",
  "203.0.113.1",
  "198.18.0.1",
  "192.88.99.1",
  "[ff02::1]",
  "[ff0e::1]",
  "[2001:db8::1]",
  "[100::1]",
  "[2001:2::1]",
  "[4000::1]",
  "[3fff::1]",
];

describe("outgoing calls", () => {
  const opened: Server[] = [];
  after(() => Promise.all(opened.map((server) => new Promise((done) => server.close(done)))));

  /** Listens on this machine, and returns the server's URL. */
  async function receiver(
    answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  ): Promise<{ url: string; port: number; requests: IncomingMessage[] }> {
    const requests: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      requests.push(request);
      answer(request, response);
    });
    return { ...(await listening(server)), requests };
  }

  async function listening(server: Server) {
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    opened.push(server);
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, port };
  }

  const outside = (options: Partial<OutsideOptions> = {}) => outsideFetch({ proxy: undefined, ...options });
  const within = (options: Partial<OutsideOptions> = {}) => outside({ allow: thisMachine, ...options });

  async function failure(call: Promise<Response>): Promise<OutsideError> {
    try {
      await call;
    } catch (error) {
      if (error instanceof OutsideError) return error;
      throw error;
    }
    throw new Error("The call succeeded.");
  }
  const refused = async (url: string, fetch: Fetch = outside(), init?: RequestInit) =>
    expect(await failure(fetch(url, init)), url).to.have.property("reason", "refused");

  it("never reach loopback, private networks, or cloud metadata, however the address is spelled", async () => {
    for (const host of hostile) {
      await refused(`http://${host}/`);
      await refused(`https://${host}:8443/latest/meta-data/`);
    }
  });

  it("allow only http and https URLs without credentials", async () => {
    const { port } = await receiver((_, response) => response.end("here"));
    for (const url of [
      "file:///etc/passwd",
      "ftp://example.com/",
      "gopher://example.com/",
      "data:text/plain,hello",
      "javascript:1",
      "ws://example.com/",
      "blob:http://example.com/1",
      "//example.com/",
      "/path",
      "",
      "http://",
      "http://[::1",
      "http://a b/",
      `http://user@127.0.0.1:${port}/`,
      `http://user:secret@127.0.0.1:${port}/`,
      `http://example.com@127.0.0.1:${port}/`,
    ])
      await refused(url, within());
  });

  it("check every address a name resolves to, and connect to the checked one", async () => {
    const { port, requests } = await receiver((request, response) => response.end(request.headers.host));
    const inside = ["127.0.0.1", "::1", "10.0.0.5", "169.254.169.254", "::ffff:127.0.0.1", "nonsense"];
    for (const address of inside) {
      await refused(`http://rebound.example:${port}/`, outside({ resolve: async () => [address] }));
    }
    await refused(`http://rebound.example:${port}/`, outside({ resolve: async () => inside }));
    await refused(`http://rebound.example:${port}/`, outside({ resolve: async () => [] }));
    expect(requests).to.have.length(0);

    // A name that resolves differently each time is resolved once.
    let asked = 0;
    const turning = within({ resolve: async () => (asked++ === 0 ? ["127.0.0.1", "127.0.0.2"] : ["127.0.0.2"]) });
    const answer = await turning(`http://rebound.example:${port}/`);
    expect([answer.status, await answer.text(), asked]).to.deep.equal([200, `rebound.example:${port}`, 1]);
    await refused(`http://rebound.example:${port}/`, turning);
  });

  it("use a connection again if callers ask for it, after the same checks, and open another if the server has closed it", async () => {
    const sockets = new Set<Socket>();
    const { port, requests } = await receiver(({ socket }, response) => {
      sockets.add(socket);
      response.end("here");
    });
    let addresses = ["127.0.0.1"];
    const fetch = within({ resolve: async () => addresses, keepsConnections: 60_000 });
    const call = async () => (await fetch(`http://kept.example:${port}/`, { method: "POST", body: "x" })).text();
    expect([await call(), await call(), sockets.size]).to.deep.equal(["here", "here", 1]);
    addresses = ["10.0.0.5"];
    await refused(`http://kept.example:${port}/`, fetch);
    addresses = ["127.0.0.1"];
    // In this turn, the client has not noticed it.
    for (const socket of sockets) socket.resetAndDestroy();
    expect([await call(), sockets.size, requests.length]).to.deep.equal(["here", 2, 3]);
    for (const socket of sockets) socket.destroy();
  });

  it("reach the origins that the operator names, but no internal address through their redirects", async () => {
    const elsewhere = await receiver((_, response) => response.end("secret"));
    const named = await receiver((request, response) =>
      request.url === "/away" ? response.writeHead(302, { Location: elsewhere.url }).end() : response.end("here"),
    );
    const fetch = outside({ named: [named.url] });
    expect(await (await fetch(`${named.url}/path?a=b`)).text()).to.equal("here");
    await refused(elsewhere.url, fetch);
    await refused(`${named.url}/away`, fetch);
    await refused(named.url.replace("http:", "https:"), fetch);
    expect(elsewhere.requests).to.have.length(0);
  });

  it("check each redirect target, and drop credentials on the way to another origin", async () => {
    const elsewhere = await receiver((_, response) => response.end("secret"));
    const redirecting = await receiver((request, response) => {
      const to = new URL(request.url!, "http://x").searchParams.get("to");
      response.writeHead(302, to === null ? {} : { Location: to }).end("moved");
    });
    const to = (target: string) => `${redirecting.url}/?to=${encodeURIComponent(target)}`;
    for (const target of [
      "http://127.0.0.2/",
      "http://169.254.169.254/latest/",
      "http://[::1]/",
      "http://0x7f.2/",
      "file:///etc/passwd",
      "//127.0.0.2/",
      "http://user:secret@127.0.0.1/",
      "http://[",
    ])
      await refused(to(target), within());
    await refused(to(to("http://10.0.0.1/")), within());
    await refused(to(redirecting.url), within(), { redirect: "error" });
    await refused(to(elsewhere.url), within(), { method: "POST", body: "secret" });

    const manual = await within()(to("http://10.0.0.1/"), { redirect: "manual" });
    expect([manual.status, manual.headers.get("location")]).to.deep.equal([302, "http://10.0.0.1/"]);
    const stays = await within()(`${redirecting.url}/`);
    expect([stays.status, await stays.text()]).to.deep.equal([302, "moved"]);

    elsewhere.requests.length = 0;
    const headers = { Authorization: "Bearer secret", Cookie: "a=b", "X-Plain": "1" };
    expect(await (await within()(to(elsewhere.url), { headers })).text()).to.equal("secret");
    expect(elsewhere.requests[0]!.headers)
      .to.include({ "x-plain": "1" })
      .and.not.have.any.keys("authorization", "cookie");

    const round = await receiver((request, response) => response.writeHead(307, { Location: request.url }).end());
    await refused(round.url, within());
    expect(round.requests).to.have.length(6);
  });

  it("send the method, headers, and body, and return the response", async () => {
    const { url } = await receiver(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const { method, headers } = request;
      if (request.url === "/empty") return response.writeHead(204).end();
      response.writeHead(201, { "Content-Type": "application/json", "Set-Cookie": ["a=1", "b=2"] });
      return response.end(
        JSON.stringify({ method, body, type: headers["content-type"], encoding: headers["accept-encoding"] }),
      );
    });
    const answer = await within()(new URL(url), { method: "POST", body: new URLSearchParams({ code: "é" }) });
    expect(answer.status).to.equal(201);
    expect(answer.headers.getSetCookie()).to.deep.equal(["a=1", "b=2"]);
    expect(await answer.json()).to.deep.equal({
      method: "POST",
      body: "code=%C3%A9",
      type: "application/x-www-form-urlencoded;charset=UTF-8",
      encoding: "identity",
    });
    expect((await within()(`${url}/empty`)).status).to.equal(204);
  });

  it("time out, however slowly a server responds", async () => {
    const silent = await listening(createTcpServer((socket) => socket.on("error", () => {}).resume()));
    const dripping = await receiver((_, response) => {
      response.writeHead(200).write("a");
      const timer = setInterval(() => response.write("a"), 20);
      response.on("close", () => clearInterval(timer));
    });
    for (const { url } of [silent, dripping]) {
      expect(await failure(within({ timeout: 200 })(url)), url).to.have.property("reason", "timeout");
    }
    const never = within({ timeout: 200, resolve: () => new Promise(() => {}) });
    expect(await failure(never("http://slow.example/"))).to.have.property("reason", "timeout");
    const gone = AbortSignal.timeout(50);
    const aborted = await within()(silent.url, { signal: gone }).catch((error: Error) => error.name);
    expect(aborted).to.equal("AbortError");
  });

  it("time out earlier while connecting, if callers ask for it", async () => {
    const mute = await listening(createTcpServer((socket) => socket.on("error", () => {}).resume()));
    const late = await failure(within({ connectTimeout: 100, timeout: 60_000 })(mute.url.replace("http:", "https:")));
    expect(late).to.have.property("message", "No connection within 100 ms.");
    const slow = await receiver((_, response) => void setTimeout(() => response.end("done"), 3_200));
    expect(await (await within({ connectTimeout: 3_000 })(slow.url)).text()).to.equal("done");
  });

  it("stay on the same origin, if callers ask for it", async () => {
    const elsewhere = await receiver((_, response) => response.end("elsewhere"));
    const { url } = await receiver((request, response) => {
      const target = { "/away": elsewhere.url, "/moved": "/here" }[request.url!];
      return target ? response.writeHead(302, { Location: target }).end() : response.end("here");
    });
    const here = within({ keepsOrigin: true });
    expect(await (await here(`${url}/moved`)).text()).to.equal("here");
    await refused(`${url}/away`, here);
    expect(elsewhere.requests).to.deep.equal([]);
  });

  it("send the body of a DELETE", async () => {
    const { url } = await receiver(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      response.end(`${request.method} ${body}`);
    });
    expect(await (await within()(url, { method: "DELETE", body: "{}" })).text()).to.equal("DELETE {}");
  });

  it("limit the size of responses", async () => {
    const { url } = await receiver((request, response) => {
      if (request.url === "/long") return response.writeHead(200, { "Content-Length": 1e12 }).write("x".repeat(2_000));
      if (request.url === "/head") return response.writeHead(200, { "X-Long": "x".repeat(20_000) }).end();
      return response.end("x".repeat(Number(request.url!.slice(1))));
    });
    const small = within({ bodyLimit: 1_000 });
    expect(await (await small(`${url}/1000`)).text()).to.have.length(1_000);
    for (const path of ["/1001", "/5000000", "/long"]) {
      expect(await failure(small(url + path)), path).to.have.property("reason", "too_large");
    }
    expect(await failure(small(`${url}/head`))).to.have.property("reason", "unreachable");
  });

  it("limit the levels of JSON in responses, whatever their type is", async () => {
    const texts: Record<string, string> = {
      "/flat": `${"[".repeat(64)}${"]".repeat(64)}`,
      "/text": `{"x":"${"[".repeat(100)}"}`,
      "/html": `<p>${"[".repeat(100)}</p>`,
      "/deep": `${"[".repeat(65)}${"]".repeat(65)}`,
      "/open": "[".repeat(65),
      "/mixed": `{"a":[`.repeat(33),
      "/marked": `\ufeff \r\n\t${"[".repeat(65)}`,
    };
    const { url } = await receiver((request, response) =>
      response.writeHead(200, { "Content-Type": "text/html" }).end(texts[request.url!]),
    );
    for (const path of ["/flat", "/text", "/html"])
      expect(await (await within()(url + path)).text(), path).to.equal(texts[path]);
    for (const path of ["/deep", "/open", "/mixed", "/marked"])
      expect(await failure(within()(url + path)), path).to.have.property("reason", "too_large");
  });

  it("report servers that cannot be reached", async () => {
    const { port } = await receiver(() => {});
    const closed = createTcpServer();
    const { url } = await listening(closed);
    await new Promise((done) => closed.close(done));
    opened.pop();
    expect(await failure(within()(url))).to.have.property("reason", "unreachable");
    expect(
      await failure(
        within()(`https://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => {
          throw error instanceof OutsideError ? error : new Error("hangs");
        }),
      ),
    ).to.have.property("reason", "unreachable");
  });

  it("may reach public addresses, and internal networks that the operator names", () => {
    for (const address of [
      "8.8.8.8",
      "1.1.1.1",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700:4700::1111",
      "::ffff:8.8.8.8",
    ]) {
      expect(mayCall(address, []), address).to.equal(true);
    }
    const inside = [ipaddr.parseCIDR("10.1.0.0/16"), ipaddr.parseCIDR("fd00::/8")];
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"])
      expect(mayCall(address, inside), address).to.equal(true);
    for (const address of ["10.2.0.1", "fc00::1", "127.0.0.1"])
      expect(mayCall(address, inside), address).to.equal(false);
  });
});

// Peers that take their time, so as to hold what others need.
import { expect } from "chai";
import { connect } from "node:net";
import { createListener, hangUp, listen } from "../src/http/listener.js";
import { startServer } from "./support/app.js";
import { rawRequest } from "./support/raw.js";
import { eventually } from "./support/watchers.js";
import { Client, world } from "./support/world.js";

/** A connection that says something now and then, and hears until it is closed. */
function connection(url: string, ...words: string[]) {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const heard = { text: "", isClosed: false, say: (word: string) => socket.write(word) };
  socket.on("data", (data) => (heard.text += data.toString("latin1")));
  socket.on("error", () => {});
  socket.on("close", () => (heard.isClosed = true));
  socket.on("connect", () => words.forEach((word) => socket.write(word)));
  return heard;
}

describe("slow clients", () => {
  it("have 10 seconds for the headers of a request and 60 for all of it", () => {
    const { headersTimeout, requestTimeout } = createListener();
    expect({ headersTimeout, requestTimeout }).to.deep.equal({ headersTimeout: 10_000, requestTimeout: 60_000 });
  });

  it("are closed when it takes longer, while others are answered", async () => {
    const server = createListener();
    server.headersTimeout = 100;
    server.requestTimeout = 1_500;
    server.on("request", (request, response) => request.on("end", () => response.end("done")).resume());
    const url = await listen(server, { host: "127.0.0.1", port: 0 });
    try {
      const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n";
      const silent = connection(url);
      const slowHead = connection(url, head);
      const slowBody = connection(url, head, "\r\n", "a");
      const dripping = setInterval(() => [slowHead.say("X-A: b\r\n"), slowBody.say("a")], 50);
      const closed = [silent, slowHead, slowBody];
      await eventually(() => closed.every(({ isClosed }) => isClosed), "slow connections are closed", 10_000);
      clearInterval(dripping);
      for (const { text } of [slowHead, slowBody]) expect(text).to.match(/^HTTP\/1\.1 408 /);
      expect(await (await fetch(url)).text()).to.equal("done");
    } finally {
      hangUp(server);
    }
  });

  describe("of the server", () => {
    const the = world();

    it("are told when their body does not come in the time of a request, and others do not wait", async () => {
      const app = await startServer(the().database.url, { STEWARD_REQUEST_TIMEOUT: "1s" });
      try {
        const headers = ["Content-Type: application/json", "Content-Length: 1000"];
        const slow = Array.from({ length: 50 }, () =>
          connection(app.url, rawRequest("POST /api/v2/users/login", headers, '{"email":')),
        );
        expect(await new Client(app.url).get("/readyz")).to.include({ status: 200 });
        await eventually(() => slow.every(({ text }) => text.startsWith("HTTP/1.1 503 ")), "all are told");
        expect(slow[0]!.text).to.match(/^x-content-type-options: nosniff/im);
      } finally {
        await app.close();
      }
    });

    it("do not hold up a server that stops: a request that is not received by then is refused", async () => {
      const app = await startServer(the().database.url);
      const body = JSON.stringify({ email: "nobody@example.com", password: "x".repeat(1000) });
      const head = ["POST /api/v2/users/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
      const headers = [...head, `Content-Length: ${body.length}`, "Expect: 100-continue", "", ""].join("\r\n");
      const [never, inTime] = [connection(app.url, headers), connection(app.url, headers)];
      await eventually(() => [never, inTime].every(({ text }) => text.includes("100 Continue")), "both have begun");
      const closed = app.close();
      never.say(body.slice(0, -1));
      inTime.say(body);
      await closed;
      const refusal = never.text.split("\r\n\r\n").slice(1).join("\r\n\r\n");
      expect(refusal).to.match(/^HTTP\/1\.1 503 /);
      expect(refusal).to.match(/^connection: close\r$/im);
      expect(refusal).to.include("The service is temporarily unavailable.");
      expect(inTime.text).to.include("HTTP/1.1 401 ");
    });
  });
});

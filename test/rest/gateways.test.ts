// The configurations of reverse proxies in deploy/, in the programs of Debian, while the server is up and while it is down.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent as HttpAgent, createServer, type IncomingMessage, request as requestHttp, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { type Packages, type Program, type Unpacked, unpackOrSkip } from "../../tools/debian.js";
import { freePort } from "../support/ports.js";
import { startServer } from "../support/app.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const shipped = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), "utf8");
const certificate = (kind: string) => new URL(`../support/certificates/localhost.${kind}`, import.meta.url).pathname;

/** Replaces a part of a configuration, which must be there. */
function replaced(text: string, part: RegExp, by: string): string {
  expect(text).to.match(part);
  return text.replaceAll(new RegExp(part, `${part.flags}g`), by);
}

/** Requests that are sent concurrently, each over a connection of its own to the server. */
const burst = 50;

interface Gateway {
  packages: Packages;
  /** Starts it at a port, in front of servers at others. Waits for one for a second if it is not patient. */
  start: (program: Unpacked, folder: string, port: number, servers: number[], isPatient: boolean) => Promise<Program>;
  scheme: "http" | "https";
}

const gateways: Record<string, Gateway> = {
  nginx: {
    packages: {
      release: "trixie",
      names: "nginx nginx-common libc6 libcrypt1 libpcre2-8-0 libssl3t64 zlib1g libzstd1".split(" "),
    },
    scheme: "https",
    async start(program, folder, port, servers, isPatient) {
      let site = shipped("nginx.conf");
      if (!isPatient)
        site = replaced(
          site,
          /^ *location = \/oauth2\/tokens \{$/m,
          "location = /oauth2/tokens { proxy_read_timeout 1s;",
        );
      site = replaced(site, /^ *listen 80;\n *listen \[::\]:80;$/m, `listen 127.0.0.1:${await freePort("127.0.0.1")};`);
      site = replaced(
        site,
        /^ *listen 443 ssl http2;\n *listen \[::\]:443 ssl http2;$/m,
        `listen 127.0.0.1:${port} ssl;`,
      );
      const upstream = servers.map((server) => `server 127.0.0.1:${server};`);
      site = replaced(site, /^ *server 127\.0\.0\.1:3000;$/m, upstream.join("\n"));
      site = replaced(site, /^ *keepalive 32;$/m, `keepalive ${burst};`);
      site = replaced(site, /\/etc\/ssl\/steward\/fullchain\.pem/, certificate("crt"));
      site = replaced(site, /\/etc\/ssl\/steward\/privkey\.pem/, certificate("key"));
      const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
      const paths = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`).join("\n");
      const user = process.getuid?.() === 0 ? "user root;" : "";
      const events = "events { worker_connections 512; }";
      const lines = [user, "daemon off;", "worker_processes 1;", `pid ${join(folder, "pid")};`, events];
      const text = `${lines.join("\n")}\nhttp {\naccess_log off;\n${paths}\n${site}\n}\n`;
      writeFileSync(join(folder, "nginx.conf"), text);
      mkdirSync(join(folder, "logs"));
      const words = ["-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf"), "-g", "error_log stderr notice;"];
      return program.start("usr/sbin/nginx", words, { ready: "start worker process " });
    },
  },
  Caddy: {
    packages: { release: "trixie", names: ["caddy", "libc6"] },
    scheme: "http",
    async start(program, folder, port, [server], isPatient) {
      let site = shipped("Caddyfile");
      if (!isPatient) site = replaced(site, /response_header_timeout 60s/, "response_header_timeout 1s");
      site = replaced(
        site,
        /^steward\.example\.com \{$/m,
        `{\n\tadmin off\n}\nhttp://steward.example.com:${port} {\n\tbind 127.0.0.1`,
      );
      site = replaced(site, /127\.0\.0\.1:3000/, `127.0.0.1:${server}`);
      writeFileSync(join(folder, "Caddyfile"), site);
      const words = ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
      return program.start("usr/bin/caddy", words, { ready: "serving initial configuration" });
    },
  },
};

function hangUp(server: Server): void {
  server.close();
  server.closeAllConnections();
}

interface Received {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
}

const post = (
  scheme: Gateway["scheme"],
  port: number,
  path: string,
  agent: HttpAgent | false = false,
): Promise<Received> =>
  new Promise((resolve, reject) => {
    const begin = scheme === "https" ? requestHttps : requestHttp;
    const headers = { "content-type": "application/x-www-form-urlencoded", host: "steward.example.com" };
    const options = { host: "127.0.0.1", port, path, method: "POST", headers, agent };
    const sent = begin({ ...options, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.on("error", reject).end("grant_type=refresh_token&refresh_token=x&client_id=y");
  });

for (const [name, { packages, start, scheme }] of Object.entries(gateways))
  describe(`${name} as deploy/ configures it`, () => {
    const the = world();
    const folder = mkdtempSync(join(tmpdir(), "steward-gateway-"));
    let unpacked: Unpacked;
    const running: Program[] = [];
    before(async function () {
      chmodSync(folder, 0o755);
      unpacked = await unpackOrSkip(this, packages);
    });
    after(async () => {
      for (const program of running) await program.kill();
      rmSync(folder, { recursive: true, force: true });
      unpacked?.remove();
    });

    async function started(...servers: number[]): Promise<number> {
      const port = await freePort("127.0.0.1");
      const own = mkdtempSync(join(folder, "run-"));
      running.push(await start(unpacked, own, port, servers, true));
      await eventually(async () => {
        const answer = await post(scheme, port, "/").catch(() => undefined);
        return answer !== undefined;
      }, `${name} responds`);
      return port;
    }

    it("passes what the server says at the token endpoint", async () => {
      const port = await started(Number(new URL(the().url).port));
      const { status, text } = await post(scheme, port, "/oauth2/tokens");
      expect([status, JSON.parse(text).error]).to.deep.equal([401, "invalid_client"]);
    });

    it("reuses connections that were idle for as long as Node.js keeps them by default: no 502 in 300 POSTs", async () => {
      const port = await started(Number(new URL(the().url).port));
      const agent = new (scheme === "https" ? HttpsAgent : HttpAgent)({ keepAlive: true });
      const statuses: Record<number, number> = {};
      const burstAfter = async (idle: number, busy: number) => {
        await delay(idle);
        const sent = Array.from({ length: burst }, () => post(scheme, port, "/oauth2/revoke", agent));
        await immediate();
        // The server is busy until the connections have been idle for too long. Requests wait when it closes them.
        for (const end = performance.now() + busy; performance.now() < end;);
        for (const { status } of await Promise.all(sent)) statuses[status] = (statuses[status] ?? 0) + 1;
      };
      for (let each = 0; each < 4; each++) await burstAfter(0, 0);
      // The default, and the second by which newer versions of Node.js exceed it.
      for (const idle of [4_700, 5_700]) await burstAfter(idle, 700);
      agent.destroy();
      expect(statuses).to.deep.equal({ 400: 300 });
    });

    if (name === "nginx")
      it("balances several replicas, and leaves out one that is down, without a failed request", async () => {
        const urls = [the().url];
        const other = await startServer(the().database.url);
        urls.push(other.url);
        const port = await started(...urls.map((url) => Number(new URL(url).port)));
        const requestsOf = async (url: string) => {
          const metrics = await (await fetch(`${url}/metrics`)).text();
          const counted = metrics.matchAll(
            /^steward_http_request_duration_seconds_count\{[^}]*route="\/oauth2\/revoke"[^}]*\} (\d+)$/gm,
          );
          return [...counted].reduce((sum, [, count]) => sum + Number(count), 0);
        };
        const send = async (count: number) => {
          const all = await Promise.all(Array.from({ length: count }, () => post(scheme, port, "/oauth2/revoke")));
          return all.map(({ status }) => status);
        };
        const before = await Promise.all(urls.map(requestsOf));
        expect(new Set(await send(40))).to.deep.equal(new Set([400]));
        const after = await Promise.all(urls.map(requestsOf));
        for (const [nr, count] of after.entries()) expect(count - before[nr]!, `replica ${nr}`).to.be.above(9);
        await other.close();
        expect(new Set(await send(40))).to.deep.equal(new Set([400]));
      });

    const expectTemporary = ({ status, headers, text }: Received) => {
      expect(status).to.equal(503);
      expect(headers).to.include({
        "content-type": "application/json",
        "retry-after": "5",
        "cache-control": "no-store",
        "access-control-allow-origin": "*",
      });
      expect(JSON.parse(text)).to.include({ error: "temporarily_unavailable" });
    };

    it("tells clients that refresh tokens to try again while the server is down", async () => {
      const port = await started(await freePort("127.0.0.1"));
      expectTemporary(await post(scheme, port, "/oauth2/tokens"));
      const elsewhere = await post(scheme, port, "/oauth2/revoke");
      expect(elsewhere.status).to.equal(502);
      expect(elsewhere.text).to.not.include("temporarily_unavailable");
    });

    for (const [status, reason] of Object.entries({
      502: "Bad Gateway",
      503: "Service Unavailable",
      504: "Gateway Timeout",
    }))
      it(`tells them so if something in between responds with ${status} as plain text, and passes that elsewhere`, async () => {
        const between = createServer((_request, response) => {
          response.writeHead(Number(status), { "content-type": "text/plain" }).end(reason);
        });
        await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
        try {
          const port = await started((between.address() as AddressInfo).port);
          expectTemporary(await post(scheme, port, "/oauth2/tokens"));
          const elsewhere = await post(scheme, port, "/oauth2/revoke");
          expect([elsewhere.status, elsewhere.text]).to.deep.equal([Number(status), reason]);
        } finally {
          hangUp(between);
        }
      });

    it("tells them so if the server accepts connections and does not respond", async () => {
      const silent = createServer(() => {});
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      try {
        const port = await freePort("127.0.0.1");
        running.push(
          await start(
            unpacked,
            mkdtempSync(join(folder, "run-")),
            port,
            [(silent.address() as AddressInfo).port],
            false,
          ),
        );
        expectTemporary(await post(scheme, port, "/oauth2/tokens"));
      } finally {
        hangUp(silent);
      }
    });
  });

describe("the service of systemd for several replicas", () => {
  it("is that for one, at a port of its own", () => {
    const lines = (name: string) =>
      shipped(name)
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
    const expected = lines("steward.service").map((line) => {
      if (line.startsWith("Description=")) return `${line} at port %i`;
      return line.startsWith("Environment=NODE_ENV") ? `${line} STEWARD_PORT=%i` : line;
    });
    expect(lines("steward@.service")).to.deep.equal(expected);
  });
});

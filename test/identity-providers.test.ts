// What a hostile identity provider can do to the server: redirect it, stall it, exhaust its memory, leak into its log.
import { expect } from "chai";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type App, logged, startServer } from "./support/app.js";
import { client } from "./support/providers.js";
import { Client, world } from "./support/world.js";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An HTTP server on this machine with scripted responses, which records the paths requested. */
class Host {
  readonly requested: string[] = [];
  readonly handlers: Record<string, Handler> = {};
  #server: Server | undefined;
  url = "";

  static async open(): Promise<Host> {
    const host = new Host();
    host.#server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, host.url);
      host.requested.push(pathname);
      const handler = host.handlers[pathname];
      if (handler) handler(request, response);
      else response.writeHead(404).end();
    });
    await new Promise<void>((done) => host.#server!.listen(0, "127.0.0.1", done));
    host.url = `http://127.0.0.1:${(host.#server.address() as AddressInfo).port}`;
    return host;
  }

  close = (): void => {
    this.#server?.close();
    this.#server?.closeAllConnections();
  };
}

const json =
  (body: object, status = 200): Handler =>
  (_, response) =>
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));

const configuration = "/.well-known/openid-configuration";

describe("hostile identity providers", () => {
  const getWorld = world();
  let provider: Host;
  let elsewhere: Host;
  const replicas: App[] = [];

  beforeEach(async () => {
    [provider, elsewhere] = [await Host.open(), await Host.open()];
    logged.length = 0;
  });
  afterEach(async () => {
    for (const app of replicas.splice(0)) await app.close();
    provider.close();
    elsewhere.close();
  });

  const metadata = (changes: object = {}) =>
    json({
      issuer: provider.url,
      authorization_endpoint: `${provider.url}/authorize`,
      token_endpoint: `${provider.url}/token`,
      jwks_uri: `${provider.url}/keys`,
      ...changes,
    });

  /** Starts a replica whose users sign in at the provider. */
  async function replica(changes: NodeJS.ProcessEnv = {}): Promise<Client> {
    const app = await startServer(getWorld().database.url, {
      STEWARD_OIDC_ISSUER_URL: provider.url,
      STEWARD_OIDC_CLIENT_ID: client.id,
      STEWARD_OIDC_CLIENT_SECRET: client.secret,
      ...changes,
    });
    replicas.push(app);
    return new Client(app.url);
  }

  /** Starts a sign-in and returns from the provider with a code. */
  async function comeBack(visitor: Client, code = "a-code") {
    const begun = await visitor.get("/login/oidc");
    expect(begun.status).to.equal(303);
    const state = new URL(begun.headers.get("location")!).searchParams.get("state")!;
    const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
    return visitor.get(`/login/oidc/callback?${new URLSearchParams({ code, state }).toString()}`, { cookie });
  }

  it("cannot point the server at internal addresses, unless the operator allows them", async () => {
    provider.handlers[configuration] = metadata({ token_endpoint: `${elsewhere.url}/token` });
    const refused = await comeBack(await replica());
    expect(refused.status).to.equal(502);
    expect(refused.body).to.contain("The identity provider failed.").and.not.contain("127.0.0.1");
    expect([provider.requested, elsewhere.requested]).to.deep.equal([[configuration], []]);
    expect(JSON.stringify(logged)).to.contain("127.0.0.1 has no address that may be called.");

    const allowed = await comeBack(await replica({ STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" }));
    expect(allowed.status).to.equal(502);
    expect(elsewhere.requested).to.deep.equal(["/token"]);
  });

  it("cannot redirect the server elsewhere", async () => {
    const away: Handler = (_, response) => response.writeHead(302, { Location: `${elsewhere.url}/inside` }).end();
    provider.handlers[configuration] = away;
    const visitor = await replica();
    expect((await visitor.get("/login/oidc")).status).to.equal(502);
    provider.handlers[configuration] = metadata();
    provider.handlers["/token"] = away;
    expect((await comeBack(visitor)).status).to.equal(502);
    expect(elsewhere.requested).to.deep.equal([]);
  });

  it("cannot exhaust memory with an endless response", async () => {
    let sent = 0;
    provider.handlers[configuration] = (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      const more = () => {
        while (response.write(" ".repeat(65_536))) sent += 65_536;
      };
      response.on("drain", more);
      more();
    };
    expect((await (await replica()).get("/login/oidc")).status).to.equal(502);
    expect(sent).to.be.lessThan(64 * 1024 * 1024);
    expect(JSON.stringify(logged)).to.contain("larger than 1048576 bytes");
  });

  it("are retried after a failure, once for all waiting sign-ins", async () => {
    const visitor = await replica();
    const visits = () => Promise.all(Array.from({ length: 5 }, () => visitor.get("/login/oidc")));
    provider.handlers[configuration] = json({}, 503);
    expect((await visits()).map(({ status }) => status)).to.deep.equal(Array(5).fill(502));
    const before = provider.requested.length;
    provider.handlers[configuration] = metadata();
    expect((await visits()).map(({ status }) => status)).to.deep.equal(Array(5).fill(303));
    expect(provider.requested.length - before).to.equal(1);
  });

  it("cannot get tokens or the client secret into pages or the log", async () => {
    provider.handlers[configuration] = metadata();
    const canaries = ["canary-access", "canary-refresh", "canary-id", "canary-code", client.secret];
    const tokens = { access_token: canaries[0], refresh_token: canaries[1], token_type: "bearer" };
    const handlers: Handler[] = [
      json(tokens),
      json({ ...tokens, id_token: canaries[2] }),
      json({ ...tokens, id_token: `e30.${Buffer.from(`{"a":"${canaries[2]}"}`).toString("base64url")}.x` }),
      json({ ...tokens, expires_in: "never" }),
      json({ ...tokens, error: "server_error", error_description: canaries[0] }, 400),
      json({ ...tokens, error: "invalid_grant", error_description: canaries[0] }, 400),
      json(tokens, 500),
      (_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(JSON.stringify(tokens)),
      (_, response) => response.writeHead(200, { "Content-Type": "application/json" }).end(canaries[0]),
      (_, response) => response.destroy(),
    ];
    const visitor = await replica();
    for (const handler of handlers) {
      provider.handlers["/token"] = handler;
      const { status, body } = await comeBack(visitor, canaries[3]);
      expect(status).to.be.oneOf([403, 502]);
      for (const canary of canaries) expect(body).to.not.contain(canary);
    }
    expect(logged).to.have.length(handlers.length - 1);
    for (const canary of canaries) expect(JSON.stringify(logged)).to.not.contain(canary);
    for (const reason of ["It said: server_error.", "unexpected HTTP response status code", "socket hang up"])
      expect(JSON.stringify(logged)).to.contain(reason);
  });
});

// MCP clients and servers with Steward as their authorization server.
// Looks inside: tokens expire after an hour.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Client as Version2Client,
  type OAuthClientProvider as Version2Provider,
  StreamableHTTPClientTransport as Version2Transport,
} from "@modelcontextprotocol/client";
import { auth, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { applyMiddlewares, withOAuth } from "@modelcontextprotocol/sdk/client/middleware.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { expect } from "chai";
import type { Express } from "express";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { setTimes } from "../support/tables.js";
import { type Person, world } from "../support/world.js";
import { ClientState } from "./mcp-client-state.js";
import { filesIn, Project, root } from "./project.js";
import { createApp, reads, Site, Visitor } from "./visitors.js";

describe("MCP", () => {
  const w = world();
  let browser: Browser;
  let site: Site;
  let ada: Person;
  let visitor: Visitor;
  before(async () => {
    [browser, site] = await Promise.all([launchBrowser(), Site.open()]);
  });
  after(() => Promise.all([browser.close(), site.close()]));
  beforeEach(async () => {
    ada = await w().user("ada");
    visitor = await Visitor.open(browser, ada);
  });
  afterEach(() => visitor.close());

  const home = () => w().app.services.config.accessUrl;
  const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => error);
  /** Lets the user decide, and returns the code. */
  const consent = async ({ opened }: ClientState) => (await visitor.decide(opened!)).searchParams.get("code")!;
  const expireTokens = async () => {
    await setTimes(w(), "api_keys", { user_id: ada.id, kind: "oauth" }, { expires_at: "-1 s" });
    // Caches would notice within a second.
    w().app.services.events.publish({ topic: "auth", id: `u:${ada.id}` });
  };

  it("clients get from the URL of the API to tokens, and refresh them", async () => {
    const state = new ClientState(`${site.url}/callback`);
    const api = `${home()}/api/v2`;
    const request = applyMiddlewares(withOAuth(state, api))(fetch);
    const groups = () => request(`${api}/groups`);
    expect(await failureOf(groups())).to.be.instanceOf(UnauthorizedError);
    expect(state.opened!.searchParams.get("scope")).to.equal("group:read");

    expect(await auth(state, { serverUrl: api, authorizationCode: await consent(state) })).to.equal("AUTHORIZED");
    expect(visitor.shown).to.include("Registered itself, not verified");
    expect((await groups()).status).to.equal(200);

    const first = state.tokens()!;
    await expireTokens();
    w().app.services.events.publish({ topic: "auth", id: `u:${ada.id}` });
    expect((await groups()).status).to.equal(200);
    expect(state.tokens()!.access_token).to.not.equal(first.access_token);
    expect(await reads(w(), first.access_token)).to.include({ rest: 401 });
  });

  it("clients of the whole server use REST and GraphQL", async () => {
    const state = new ClientState(`${site.url}/callback`);
    const scope = "user:read group:read";
    expect(await auth(state, { serverUrl: home(), scope })).to.equal("REDIRECT");
    await auth(state, { serverUrl: home(), scope, authorizationCode: await consent(state) });
    const { access_token } = state.tokens()!;
    expect(await reads(w(), access_token)).to.deep.equal({ rest: 200, graphql: 200, username: ada.username });
  });

  describe("a server that docs/mcp.md describes", () => {
    let project: Project;
    let server: Site;
    let url: URL;
    before(async () => {
      project = new Project(filesIn(readFileSync(join(root, "docs/mcp.md"), "utf8")));
      server = await Site.open();
      url = new URL("/mcp", server.url);
      const { clientId, clientSecret } = await createApp(w(), {
        name: "Greeter",
        callbackUrl: url.href,
        resourceIndicators: [url.href],
      });
      const { mcpServer } = (await project.load("src/server.ts")) as {
        mcpServer: (steward: string, url: URL, clientId: string, clientSecret: string) => Promise<Express>;
      };
      server.serve(await mcpServer(home(), url, clientId, clientSecret));
    });
    after(async () => {
      project.remove();
      await server.close();
    });

    const connect = async (state: ClientState) => {
      const client = new Client({ name: "assistant", version: "1.0.0" });
      const transport = new StreamableHTTPClientTransport(url, { authProvider: state });
      return { client, transport, connected: await failureOf(client.connect(transport)) };
    };

    it("compiles strictly", async () => {
      expect(await project.compile({ types: ["node"] })).to.equal("");
    });

    it("knows its users, and their tokens are good for nothing else", async () => {
      const state = new ClientState(`${site.url}/callback`);
      const first = await connect(state);
      expect(first.connected).to.be.instanceOf(UnauthorizedError);
      const code = await consent(state);
      expect(visitor.shown).to.include(url.href);
      await first.transport.finishAuth(code);

      const { client, connected } = await connect(state);
      expect(connected).to.equal(undefined);
      const { content } = await client.callTool({ name: "whoami" });
      expect(content).to.deep.equal([{ type: "text", text: `You are ${ada.username}.` }]);
      const { access_token } = state.tokens()!;
      expect(await reads(w(), access_token)).to.deep.equal({ rest: 401, graphql: 401, username: undefined });

      await expireTokens();
      const refreshed = await client.callTool({ name: "whoami" });
      expect(refreshed.content).to.deep.equal(content);
      expect(state.tokens()!.access_token).to.not.equal(access_token);
      await client.close();
    });

    it("rejects tokens for other resources, and those that were revoked", async () => {
      const other = new ClientState(`${site.url}/callback`);
      const own = new ClientState(`${site.url}/callback`);
      await auth(other, { serverUrl: home(), scope: "user:read" });
      await auth(other, { serverUrl: home(), authorizationCode: await consent(other) });
      const post = ({ access_token }: OAuthTokens) =>
        fetch(url, { method: "POST", headers: { Authorization: `Bearer ${access_token}` } });
      expect((await post(other.tokens()!)).status).to.equal(401);

      const { transport } = await connect(own);
      await transport.finishAuth(await consent(own));
      expect((await post(own.tokens()!)).status).to.not.equal(401);
      const { client_id } = own.clientInformation()!;
      const { status } = await w().as(ada).delete(`/oauth2/tokens?client_id=${client_id}`);
      expect(status).to.equal(204);
      const rejected = await post(own.tokens()!);
      expect(rejected.status).to.equal(401);
      expect(rejected.headers.get("www-authenticate")).to.include('error="invalid_token"');
    });
  });

  describe("version 2 of the SDK, as docs/mcp.md describes it", () => {
    type Connect = (url: URL, authProvider: Version2Provider, signIn: () => Promise<URL>) => Promise<Version2Client>;
    let project: Project;
    let server: Site;
    let url: URL;
    let connect: Connect;
    before(async () => {
      project = new Project(filesIn(readFileSync(join(root, "docs/mcp.md"), "utf8")));
      server = await Site.open();
      url = new URL("/mcp", server.url);
      const { clientId, clientSecret } = await createApp(w(), {
        name: "Greeter 2",
        callbackUrl: url.href,
        resourceIndicators: [url.href],
      });
      const { mcpServer } = (await project.load("src/server2.ts")) as {
        mcpServer: (steward: string, url: URL, clientId: string, clientSecret: string) => Promise<Express>;
      };
      ({ connect } = (await project.load("src/client2.ts")) as { connect: Connect });
      server.serve(await mcpServer(home(), url, clientId, clientSecret));
    });
    after(async () => {
      project.remove();
      await server.close();
    });

    it("signs in with the whole query, speaks revision 2026-07-28, and refreshes tokens", async () => {
      const state = new ClientState(`${site.url}/callback`);
      const client = await connect(url, state, () => visitor.decide(state.opened!));
      expect(visitor.shown).to.include(url.href);
      expect(client.getNegotiatedProtocolVersion()).to.equal("2026-07-28");
      const { content } = await client.callTool({ name: "whoami" });
      expect(content).to.deep.equal([{ type: "text", text: `You are ${ada.username}.` }]);
      const { access_token } = state.tokens()!;
      expect(await reads(w(), access_token)).to.deep.equal({ rest: 401, graphql: 401, username: undefined });

      await expireTokens();
      const refreshed = await client.callTool({ name: "whoami" });
      expect(refreshed.content).to.deep.equal(content);
      expect(state.tokens()!.access_token).to.not.equal(access_token);
      await client.close();
    });

    it("rejects the code alone, since the server announces that it names itself", async () => {
      const state = new ClientState(`${site.url}/callback`);
      const transport = new Version2Transport(url, { authProvider: state });
      const options = { versionNegotiation: { mode: "auto" } } as const;
      const client = new Version2Client({ name: "assistant", version: "1.0.0" }, options);
      await failureOf(client.connect(transport));
      const callback = await visitor.decide(state.opened!);
      const failure = (await failureOf(transport.finishAuth(callback.searchParams.get("code")!))) as Error;
      expect(failure).to.be.instanceOf(Error);
      expect(failure.message).to.match(/Issuer mismatch/);
      expect(state.tokens()).to.equal(undefined);
      await transport.finishAuth(callback.searchParams);
      expect(state.tokens()).to.include({ token_type: "Bearer" });
    });

    it("serves clients of version 1, too", async () => {
      const state = new ClientState(`${site.url}/callback`);
      const first = new StreamableHTTPClientTransport(url, { authProvider: state });
      await failureOf(new Client({ name: "assistant", version: "1.0.0" }).connect(first));
      await first.finishAuth(await consent(state));
      const client = new Client({ name: "assistant", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(url, { authProvider: state }));
      const { content } = await client.callTool({ name: "whoami" });
      expect(content).to.deep.equal([{ type: "text", text: `You are ${ada.username}.` }]);
      await client.close();
    });
  });
});

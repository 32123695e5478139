// Applications that are described by a metadata document, whose URL is their client id.
// Reaches for tables: documents stay fresh for minutes.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { type App, loggedFromInfo, startServer } from "./support/app.js";
import { challenge } from "./support/oauth2.js";
import { letPass, setTimes } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { Client, GraphqlFailure, type Person, world } from "./support/world.js";

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** A site with documents at paths, and the number of requests for each. */
class Site {
  readonly hits = new Map<string, number>();
  readonly #pages = new Map<string, Respond>();
  readonly #server: Server = createServer((request, response) => {
    const path = request.url!;
    this.hits.set(path, (this.hits.get(path) ?? 0) + 1);
    this.#pages.get(path)?.(request, response);
  });

  start = () => new Promise<void>((started) => this.#server.listen(0, "127.0.0.1", started));
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves a valid document with changes at a path. Returns its URL. */
  publish(path: string, change: object = {}, headers: Record<string, string> = {}, status = 200): string {
    const url = this.origin + path;
    const document = {
      client_id: url,
      client_name: "Night Watch",
      redirect_uris: ["https://watch.example.com/"],
      ...change,
    };
    return this.serve(path, (_, response) => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(document));
    });
  }
  serve(path: string, respond: Respond): string {
    this.#pages.set(path, respond);
    return this.origin + path;
  }
}

const request = `query($input: OAuth2AuthorizationRequestInput!) {
  oauth2AuthorizationRequest(input: $input) { app { clientId name } redirectUri } }`;

/** The details of the application with this id that are shown to a user from whom it requests access. */
async function find({ url }: Pick<App, "url">, { token }: Pick<Person, "token">, clientId: string) {
  const input = { responseType: "code", clientId, codeChallenge: challenge, codeChallengeMethod: "S256" };
  const data = await new Client(url, token).graphql(request, { input });
  return data.oauth2AuthorizationRequest;
}

/** The reason why there is no such application, or why its document is rejected. */
async function reasonFor(found: Promise<object>): Promise<string> {
  try {
    await found;
  } catch (error) {
    if (error instanceof GraphqlFailure) return error.message;
    throw error;
  }
  throw new Error("The document was accepted.");
}

describe("client metadata documents", () => {
  const the = world({ STEWARD_OAUTH2_CIMD_ALLOW_PRIVATE: "true" });
  const site = new Site();
  before(() => site.start());
  after(() => site.close());
  const asked = (clientId: string) => find(the(), the().owner, clientId);
  const reason = (clientId: string) => reasonFor(asked(clientId));
  /** The details of the application that administrators see, which must be known. */
  const listed = async (url: string) => {
    const { oauth2Apps } = await the()
      .as(the().owner)
      .graphql(
        `{ oauth2Apps(first: 1000) { nodes { id name kind type disabled documentUrl pkceRequired redirectUris grantTypes
           scopeCeiling metadata } } }`,
      );
    return oauth2Apps.nodes.find(({ documentUrl }) => documentUrl === url)!;
  };
  /** The error of the application at the token endpoint, which calls no other server. */
  const tokenError = async (clientId: string) =>
    (
      await the().nobody.post("/oauth2/tokens", {
        grant_type: "refresh_token",
        refresh_token: "x",
        client_id: clientId,
      })
    ).body.error as string;
  const expire = (url: string, column: "fresh" | "usable") =>
    setTimes(the(), "oauth2_clients", { document_url: url }, { [`document_${column}_until`]: "-1 s" });

  it("describe public clients", async () => {
    const url = site.publish("/client.json", {
      scope: "user:read bogus",
      logo_uri: "https://watch.example.com/logo.png",
    });
    expect(await asked(url)).to.deep.equal({
      app: { clientId: url, name: "Night Watch" },
      redirectUri: "https://watch.example.com/",
    });
    const { id: _id, scopeCeiling, ...client } = await listed(url);
    expect(client).to.deep.equal({
      name: "Night Watch",
      kind: "DOCUMENT",
      type: "PUBLIC",
      disabled: false,
      documentUrl: url,
      pkceRequired: true,
      redirectUris: ["https://watch.example.com/"],
      grantTypes: ["AUTHORIZATION_CODE", "REFRESH_TOKEN"],
      metadata: { scope: "user:read", logoUri: "https://watch.example.com/logo.png" },
    });
    expect(scopeCeiling).to.include("workspace:*").and.not.include("all");
    expect(site.hits.get("/logo.png")).to.equal(undefined);
  });

  it("are fetched once while they are fresh, also by parallel requests, and only for users", async () => {
    const url = site.publish("/once.json");
    expect(await tokenError(url)).to.equal("invalid_client");
    expect(site.hits.get("/once.json")).to.equal(undefined);
    await Promise.all(Array.from({ length: 20 }, () => asked(url)));
    expect(await listed(url)).to.include({ documentUrl: url });
    expect(await tokenError(url)).to.equal("invalid_grant");
    expect(site.hits.get("/once.json")).to.equal(1);
  });

  it("are fetched again when they are stale, and keep their id and their being disabled", async () => {
    const url = site.publish("/stale.json");
    await asked(url);
    const { id } = await listed(url);
    const disable = `mutation($id: UUID!) { updateOAuth2App(input: { id: $id, disabled: true }) { __typename } }`;
    await the().as(the().owner).graphql(disable, { id });
    const refusal = await reason(url);
    site.publish("/stale.json", { client_name: "Day Watch" });
    expect(await reason(url)).to.equal(refusal);
    expect(await listed(url)).to.include({ name: "Night Watch" });
    await expire(url, "fresh");
    expect(await reason(url)).to.equal(refusal);
    expect(await listed(url)).to.include({ id, name: "Day Watch", disabled: true });
  });

  it("serve for a day when they cannot be fetched again, and are not tried again immediately", async () => {
    const url = site.publish("/gone.json");
    await asked(url);
    site.publish("/gone.json", {}, {}, 500);
    await expire(url, "fresh");
    for (const _ of [1, 2]) expect((await asked(url)).app.name).to.equal("Night Watch");
    expect(site.hits.get("/gone.json")).to.equal(2);
    await expire(url, "usable");
    expect(await reason(url)).to.match(/responds with 500/);
    expect(site.hits.get("/gone.json")).to.equal(2);
  });

  it("stay fresh for as long as their headers say, within 5 minutes and a day", async () => {
    const cases: Array<[headers: Record<string, string>, minutes: number]> = [
      [{}, 5],
      [{ "Cache-Control": "no-store, max-age=3600" }, 5],
      [{ "Cache-Control": "public, max-age=3600" }, 60],
      [{ "Cache-Control": "max-age=3600", Age: "1800" }, 30],
      [{ "Cache-Control": "max-age=9999999999" }, 1440],
      [{ "Cache-Control": "max-age=x" }, 5],
      [{ Date: "Sun, 22 Nov 2026 08:00:00 GMT", Expires: "Sun, 22 Nov 2026 10:00:00 GMT" }, 120],
      [{ Expires: "0" }, 5],
    ];
    for (const [index, [headers, minutes]] of cases.entries()) {
      const path = `/fresh-${index}.json`;
      const url = site.publish(path, {}, headers);
      const pass = (time: string) =>
        letPass(the(), "oauth2_clients", { document_url: url }, time, ["document_fresh_until"]);
      await asked(url);
      await pass(`${minutes * 60 - 30} s`);
      await asked(url);
      expect(site.hits.get(path), JSON.stringify(headers)).to.equal(1);
      await pass("31 s");
      await asked(url);
      expect(site.hits.get(path), JSON.stringify(headers)).to.equal(2);
    }
  });

  it("have names without what changes the direction of text", async () => {
    expect((await asked(site.publish("/reversed-name.json", { client_name: "a\u202eb" }))).app.name).to.equal("ab");
  });

  const rules: Array<[title: string, change: object, reason: RegExp]> = [
    ["name another client", { client_id: "https://watch.example.com/client.json" }, /client_id/],
    ["name no client", { client_id: undefined }, /client_id/],
    ["have no name", { client_name: undefined }, /no client_name/],
    ["have no redirect URIs", { redirect_uris: undefined }, /no redirect_uris/],
    ["have an empty list of redirect URIs", { redirect_uris: [] }, /redirect URIs/],
    ["have redirect URIs of another type", { redirect_uris: "https://watch.example.com/" }, /wrong type/],
    ["have a wrong redirect URI", { redirect_uris: ["http://watch.example.com/"] }, /redirect URIs/],
    ["have a redirect URI of the system", { redirect_uris: ["ms-msdt:/id"] }, /an application: "ms-msdt:\/id"/],
    ["have a secret", { client_secret: "x" }, /secret/],
    ["have the expiry of a secret", { client_secret_expires_at: 0 }, /secret/],
    ["authenticate with a secret", { token_endpoint_auth_method: "client_secret_basic" }, /token_endpoint_auth_method/],
    ["want client credentials", { grant_types: ["client_credentials"] }, /invalid values/],
    ["have a name that cannot be stored", { client_name: "a\0b" }, /wrong type/],
    ["are too large", { padding: "x".repeat(10 * 1024) }, /could not be fetched/],
  ];
  for (const [title, change, expected] of rules)
    it(`are rejected when they ${title}`, async () => {
      const path = `/${title.replaceAll(" ", "-")}.json`;
      const url = site.publish(path, change);
      expect(await reason(url)).to.match(expected);
      expect(await reason(url), "remembered").to.match(expected);
      expect(site.hits.get(path)).to.equal(1);
    });

  it("are rejected unless the server responds with JSON, by itself", async () => {
    const target = site.publish("/target.json");
    const redirecting = site.serve("/redirect.json", (_, response) => {
      response.writeHead(302, { Location: target }).end();
    });
    const served = (path: string, type: string, text: string) =>
      site.serve(path, (_, response) => void response.writeHead(200, { "Content-Type": type }).end(text));
    expect(await reason(redirecting)).to.match(/could not be fetched/);
    expect(site.hits.get("/target.json"), "followed").to.equal(undefined);
    expect(await reason(served("/html.json", "text/html", "{}"))).to.match(/not sent as JSON/);
    expect(await reason(served("/broken.json", "application/json", "{"))).to.match(/not a JSON object/);
    expect(await reason(served("/list.json", "application/json", "[]"))).to.match(/not a JSON object/);
    expect(await reason(site.publish("/created.json", {}, {}, 201))).to.match(/responds with 201/);
    expect(await reason("http://127.0.0.1:1/client.json")).to.match(/could not be fetched/);
  });

  it("have URLs with one spelling", async () => {
    const wrong = [
      site.origin,
      `${site.origin}/`,
      `${site.origin}/a/../b.json`,
      `${site.origin}/a/%2e%2e/b.json`,
      `${site.origin}/./b.json`,
      `${site.origin}/b.json#`,
      `${site.origin}/b.json#x`,
      `http://ada@${site.origin.slice(7)}/b.json`,
      `http://@${site.origin.slice(7)}/b.json`,
      `HTTP://${site.origin.slice(7)}/b.json`,
      `${site.origin}\\b.json`,
      `${site.origin}/${"x".repeat(2048)}`,
      "https://watch.example.com:443/b.json",
      "http://watch.example.com/b.json",
      "http://2130706433/b.json",
      "https://",
    ];
    for (const url of wrong) expect(await reason(url), url).to.match(/Its URL must/);
    expect([...site.hits.keys()].filter((path) => path.endsWith("b.json"))).to.deep.equal([]);
    for (const id of ["ftp://x/y", "x", "", "__proto__"]) expect(await reason(id), id).to.match(/unknown|required/);
  });
});

describe("the hosts of client metadata documents", () => {
  const the = world();
  const site = new Site();
  before(() => site.start());
  after(() => site.close());
  const local = { STEWARD_OAUTH2_CIMD_ALLOW_PRIVATE: "true" };

  async function withServer(changes: NodeJS.ProcessEnv, work: (app: App) => Promise<void>): Promise<void> {
    const app = await startServer(the().database.url, changes);
    try {
      await work(app);
    } finally {
      await app.close();
    }
  }

  it("are public, unless the configuration says otherwise", async () => {
    const url = site.publish("/private.json");
    const reason = (id: string) => reasonFor(find(the(), the().owner, id));
    expect(await reason(url)).to.match(/https/);
    for (const host of ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:7f00:1]"])
      expect(await reason(`https://${host}/client.json`), host).to.match(/could not be fetched/);
    expect(site.hits.size).to.equal(0);
  });

  it("match the patterns of the configuration", () =>
    withServer({ ...local, STEWARD_OAUTH2_CIMD_HOSTS: "localhost,*.example.com" }, async (app) => {
      for (const host of ["127.0.0.1", "example.com", "badexample.com", "a.example.com.evil.example"])
        expect(await reasonFor(find(app, the().owner, `https://${host}/client.json`)), host).to.match(
          /no documents of its host/,
        );
      const url = site.publish("/named.json").replace("127.0.0.1", "localhost");
      site.publish("/named.json", { client_id: url });
      expect((await find(app, the().owner, url)).app.clientId).to.equal(url);
    }));

  const announced = async ({ url }: App): Promise<unknown> => {
    const response = await fetch(`${url}/.well-known/oauth-authorization-server`);
    return ((await response.json()) as Record<string, unknown>).client_id_metadata_document_supported;
  };

  const announcedInGraphql = async ({ url }: App): Promise<unknown> =>
    (await new Client(url).graphql("{ oauth2ServerMetadata { clientIdMetadataDocumentSupported } }"))
      .oauth2ServerMetadata.clientIdMetadataDocumentSupported;

  it("decide whether documents are announced: while one of them can be fetched", async () => {
    const probed = (path: string) => ({ ...local, STEWARD_OAUTH2_CIMD_PROBE: site.origin + path });
    const url = site.publish("/probe.json");
    site.publish("/forged.json", { client_id: "https://watch.example.com/client.json" });
    site.publish("/missing.json", {}, {}, 404);
    await withServer(probed("/probe.json"), async (app) => {
      await eventually(async () => (await announced(app)) === true, "documents are announced");
      expect(site.hits.get("/probe.json")).to.equal(1);
      loggedFromInfo.length = 0;
      site.publish("/probe.json", {}, {}, 502);
      await app.services.documentProbe.check(url);
      expect(await announced(app)).to.equal(undefined);
      expect(JSON.stringify(loggedFromInfo)).to.include("STEWARD_OAUTH2_CIMD_PROBE").and.include("responds with 502");
      // They are accepted all the same.
      expect((await find(app, the().owner, site.publish("/quiet.json"))).app.name).to.equal("Night Watch");
    });
    for (const path of ["/forged.json", "/missing.json"])
      await withServer(probed(path), async (app) => {
        await app.services.documentProbe.check(site.origin + path);
        expect(await announced(app), path).to.equal(undefined);
      });
  });

  it("do not matter where the operator has decided what is announced", async () => {
    await withServer(local, async (app) => {
      expect(await announced(app)).to.equal(undefined);
    });
    await withServer(
      { ...local, STEWARD_OAUTH2_CIMD: "true", STEWARD_OAUTH2_CIMD_PROBE: `${site.origin}/x` },
      async (app) => {
        expect(await announced(app)).to.equal(true);
        expect(await announcedInGraphql(app)).to.equal(true);
        expect(site.hits.get("/x"), "fetched").to.equal(undefined);
      },
    );
    await withServer(
      { ...local, STEWARD_OAUTH2_CIMD: "false", STEWARD_OAUTH2_CIMD_PROBE: `${site.origin}/x` },
      async (app) => {
        expect(await announced(app)).to.equal(undefined);
        expect(await announcedInGraphql(app)).to.equal(null);
        expect(site.hits.get("/x"), "fetched").to.equal(undefined);
      },
    );
  });

  it("are not called at all when documents are switched off", () =>
    withServer({ ...local, STEWARD_OAUTH2_CIMD: "false" }, async (app) => {
      expect(await reasonFor(find(app, the().owner, site.publish("/off.json")))).to.match(/unknown/);
      expect(site.hits.get("/off.json")).to.equal(undefined);
    }));
});

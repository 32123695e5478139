// What real clients and identity providers send: each row of real-clients.ts, with the outcome that it names.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { challenge, verifier } from "../support/oauth2.js";
import { client as providerClient } from "../support/providers.js";
import { type ScimClient, scimClient } from "../support/scim.js";
import { Client, type Person, sharedWorld, startWorld, world, type World } from "../support/world.js";
import {
  documentClients,
  provisionings,
  registeringClients,
  type RegisteringClient,
  type SignIn,
  signIns,
} from "./real-clients.js";

const shared = sharedWorld();

describe("real clients that register themselves", () => {
  const the = shared();
  let ada: Person;
  before(async () => {
    ada = await the().user("ada");
  });

  for (const row of registeringClients)
    it(`get in: ${row.client} ${row.version}`, async () => {
      const home = the().app.services.config.accessUrl;
      const registered = await the().nobody.post("/oauth2/register", row.registers);
      expect(registered.status, JSON.stringify(registered.body)).to.equal(201);
      const { body } = registered;
      expect(body).to.deep.include({
        redirect_uris: row.registers.redirect_uris,
        client_name: row.registers.client_name,
        token_endpoint_auth_method: row.method,
      });
      expect(body.client_secret !== undefined, "a secret").to.equal(row.method !== "none");

      const redirected = await consent(row, body.client_id as string, home);
      expect(redirected.href.startsWith(row.returnsTo), redirected.href).to.equal(true);
      expect(redirected.searchParams.get("iss")).to.equal(home);
      expect(redirected.searchParams.get("state")).to.equal("a-state");

      const tokens = await redeem(row, body, redirected.searchParams.get("code")!, home);
      expect(tokens.status, JSON.stringify(tokens.body)).to.equal(200);
      expect(String(tokens.body.scope).split(" ")).to.have.members(row.gets.split(" "));
      const bearer = new Client(the().url, tokens.body.access_token as string);
      expect((await bearer.graphql("{ me { id } }")).me.id).to.equal(ada.id);
      const refreshed = await refresh(row, body, tokens.body.refresh_token as string);
      expect(refreshed.status, JSON.stringify(refreshed.body)).to.equal(200);
    });

  async function consent(row: RegisteringClient, clientId: string, home: string): Promise<URL> {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      code_challenge: challenge,
      code_challenge_method: "S256",
      redirect_uri: row.returnsTo,
      state: "a-state",
      ...(row.scope !== undefined && { scope: row.scope }),
      ...(row.namesResource && { resource: home }),
    });
    const path = `/oauth2/authorize?${query.toString()}`;
    const page = await the().as(ada).get(path, { Accept: "text/html" });
    expect(page.status, page.body as string).to.equal(200);
    const decided = await the().as(ada).post(path);
    expect(decided.status, JSON.stringify(decided.body)).to.equal(302);
    return new URL(decided.headers.get("location")!);
  }

  /** Posts a form with the credentials where the client has them. */
  function postAs(row: RegisteringClient, registered: Record<string, string>, form: Record<string, string>) {
    const { client_id = "", client_secret = "" } = registered;
    const inBody = { client_id, ...(row.authenticates === "body" && { client_secret }) };
    const header = { Authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` };
    const body = new URLSearchParams({ ...form, ...(row.authenticates !== "basic" && inBody) }).toString();
    return the().nobody.post("/oauth2/tokens", body, {
      "Content-Type": "application/x-www-form-urlencoded",
      ...(row.authenticates === "basic" && header),
    });
  }
  const redeem = (row: RegisteringClient, registered: Record<string, string>, code: string, home: string) =>
    postAs(row, registered, {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: row.returnsTo,
      ...(row.namesResource && { resource: home }),
    });
  const refresh = (row: RegisteringClient, registered: Record<string, string>, token: string) =>
    postAs(row, registered, { grant_type: "refresh_token", refresh_token: token });
});

describe("real clients with a metadata document", () => {
  const the = world({ STEWARD_OAUTH2_CIMD_ALLOW_PRIVATE: "true" });
  const documents = new Map<string, object>();
  const site = createServer(({ url }, response) => {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(documents.get(url!)));
  });
  before(async () => {
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
  });
  after(() => void site.close());

  for (const row of documentClients)
    it(`${row.getsIn ? "reach" : "do not reach"} the consent page: ${row.client} ${row.version}`, async () => {
      // The document, at a place on this machine.
      const { pathname } = new URL(row.clientId);
      const clientId = `http://127.0.0.1:${(site.address() as AddressInfo).port}${pathname}`;
      documents.set(pathname, { client_id: clientId, client_name: row.client, redirect_uris: row.redirectUris });
      const query = new URLSearchParams({
        response_type: "code",
        client_id: clientId,
        code_challenge: challenge,
        code_challenge_method: "S256",
        redirect_uri: row.returnsTo,
        state: "a-state",
      });
      const page = await the().as(the().owner).get(`/oauth2/authorize?${query.toString()}`, { Accept: "text/html" });
      expect(page.status, page.body as string).to.equal(row.getsIn ? 200 : 400);
      expect(page.headers.get("location")).to.equal(null);
    });
});

/** An identity provider whose ID tokens have exactly the claims of a row. */
class ClaimsProvider {
  row: SignIn | undefined;
  nonce = "";
  #keys!: Awaited<ReturnType<typeof generateKeyPair>>;
  readonly #server: Server = createServer((request, response) => {
    void this.#respond(request.url!.split("?")[0]!).then((body) => {
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    });
  });

  static async open(): Promise<ClaimsProvider> {
    const provider = new ClaimsProvider();
    provider.#keys = await generateKeyPair("RS256", { extractable: true });
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #respond(path: string): Promise<object> {
    const { issuer } = this;
    if (path === "/.well-known/openid-configuration")
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/keys`,
        id_token_signing_alg_values_supported: ["RS256"],
      };
    if (path === "/keys") return { keys: [{ ...(await exportJWK(this.#keys.publicKey)), kid: "1", alg: "RS256" }] };
    if (path === "/userinfo") return { sub: this.row!.idToken.sub, ...this.row!.userInfo };
    const idToken = await new SignJWT({ ...this.row!.idToken, nonce: this.nonce })
      .setProtectedHeader({ alg: "RS256", kid: "1" })
      .setIssuer(issuer)
      .setAudience(providerClient.id)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(this.#keys.privateKey);
    return { access_token: "access", token_type: "Bearer", expires_in: 3600, id_token: idToken };
  }
}

describe("real identity providers at sign-in", () => {
  let provider: ClaimsProvider;
  let w: World;
  before(async () => {
    provider = await ClaimsProvider.open();
    w = await startWorld({
      STEWARD_OIDC_ISSUER_URL: provider.issuer,
      STEWARD_OIDC_CLIENT_ID: providerClient.id,
      STEWARD_OIDC_CLIENT_SECRET: providerClient.secret,
      STEWARD_OIDC_EMAIL_DOMAINS: "corp.example.com",
    });
  });
  after(async () => {
    await w.close();
    provider.close();
  });

  for (const row of signIns)
    it(`${row.comesIn === null ? "keep out" : "let in"}: ${row.client}, ${row.situation}`, async () => {
      provider.row = row;
      const begun = await w.nobody.get("/login/oidc");
      const asked = new URL(begun.headers.get("location")!).searchParams;
      provider.nonce = asked.get("nonce")!;
      const query = new URLSearchParams({ code: "a-code", state: asked.get("state")! });
      const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
      const back = await w.nobody.get(`/login/oidc/callback?${query.toString()}`, { cookie });
      const session = back.headers
        .getSetCookie()
        .find((each) => each.startsWith("service_session_token="))
        ?.split(";")[0];
      if (row.comesIn === null) {
        expect(back.status).to.equal(403);
        expect(session).to.equal(undefined);
        return;
      }
      expect(back.status, back.body as string).to.equal(303);
      const { me } = await new Client(w.url, session!.split("=")[1]).graphql("{ me { email } }");
      expect(me.email).to.equal(row.comesIn);
    });
});

describe("real identity providers that keep accounts up to date", () => {
  const the = shared();
  let scim: ScimClient;
  before(async () => {
    scim = await scimClient(the());
  });

  for (const row of provisionings)
    it(`get what they expect: ${row.client}, ${row.situation}`, async () => {
      const ids = { user: "", group: "" };
      const withIds = (text: string) => text.replaceAll("{user}", ids.user).replaceAll("{group}", ids.group);
      let last = "";
      for (const { method, path, body, status } of row.requests) {
        const sent = body && (JSON.parse(withIds(JSON.stringify(body))) as object);
        const answer = await scim.request(method, withIds(path), sent);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
        if (method === "POST") ids[path === "/Users" ? "user" : "group"] = answer.body.id as string;
        last = path.startsWith("/Users") ? `/Users/${ids.user}` : `/Groups/${ids.group}`;
      }
      const { body } = await scim.get(last);
      expect(body).to.deep.include(row.becomes);
      for (const name of row.lacks ?? []) expect(body).to.not.have.property(name);
    });
});

describe("the table of real clients in docs/clients.md", () => {
  it("shows every row", () => {
    const document = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
    const [, shown = ""] = /<!-- real clients -->([^]*?)<!-- end of real clients -->/.exec(document) ?? [];
    expect(cellsOf(shown)).to.deep.equal(cellsOf(expectedTables()));
  });
});

/** The cells of Markdown tables, whatever their alignment. */
const cellsOf = (markdown: string): string[][] =>
  markdown
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|[\s:|-]+\|$/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()));

/** The tables as the document shows them. */
export function expectedTables(): string {
  const table = (head: string[], rows: string[][]) =>
    [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const code = (text: string) => `\`${text}\``;
  return [
    table(
      ["Client", "Version or date", "Taken from", "Returns to", "Authenticates", "Asks for", "Gets"],
      registeringClients.map(({ client, version, taken, returnsTo, authenticates, scope = "", gets }) => [
        client,
        version,
        taken,
        code(returnsTo),
        { none: "not at all", body: "in the body", basic: "Basic" }[authenticates],
        code(scope),
        code(gets),
      ]),
    ),
    table(
      ["Client with a document", "Version or date", "Taken from", "Client ID", "Gets in"],
      documentClients.map(({ client, version, taken, clientId, getsIn }) => [
        client,
        version,
        taken,
        code(clientId),
        getsIn ? "yes" : "no",
      ]),
    ),
    table(
      ["Provider at sign-in", "Version or date", "Taken from", "Situation", "`email_verified`", "Gets in"],
      signIns.map(({ client, version, taken, situation, idToken, userInfo, comesIn }) => [
        client,
        version,
        taken,
        situation,
        code(JSON.stringify({ ...idToken, ...userInfo }.email_verified) ?? "absent"),
        comesIn === null ? "no" : "yes",
      ]),
    ),
    table(
      ["Provider with SCIM", "Version or date", "Taken from", "Situation"],
      provisionings.map(({ client, version, taken, situation }) => [client, version, taken, situation]),
    ),
  ].join("\n\n");
}

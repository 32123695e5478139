// A network from which only a proxy leads out: every call to others goes through it, and it resolves the names.
// Looks inside: the client for calls to others, against proxies that fail in ways that no setting of the server leads to.
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect } from "chai";
import { OutsideError, type OutsideOptions, outsideFetch } from "../../src/infrastructure/http.js";
import { type App, loggedFromInfo, startServer } from "../support/app.js";
import { externalAuth, providerAt } from "../support/external-services.js";
import { challenge } from "../support/oauth2.js";
import { type Internet, OutboundProxy, trustOutside } from "../support/outbound-proxy.js";
import { makeProxy, proxiesPath, standIns } from "../support/proxies.js";
import { eventually } from "../support/watchers.js";
import { Client, GraphqlFailure, world } from "../support/world.js";

const json =
  (body: object, status = 200) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));

const documentUrl = "https://client.outside.test/client.json";
const issuer = "https://login.outside.test";

/** The servers to call. */
const internet: Internet = {
  "client.outside.test/client.json": json({
    client_id: documentUrl,
    client_name: "Night Watch",
    redirect_uris: ["https://client.outside.test/callback"],
  }),
  "login.outside.test/.well-known/openid-configuration": json({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  }),
  "git.outside.test/device": json({
    device_code: "device-1",
    user_code: "ABCD-EFGH",
    verification_uri: "https://git.outside.test/enter",
    interval: 5,
  }),
  "hooks.outside.test/hook": (_, response) => void response.writeHead(204).end(),
  "region.outside.test/healthz-report": json({ errors: [], warnings: ["The disk is nearly full."] }),
};

const documentRequest = `query($id: String!) {
  oauth2AuthorizationRequest(input: {
    responseType: "code", clientId: $id, codeChallenge: "${challenge}", codeChallengeMethod: "S256"
  }) { app { name } }
}`;

describe("an outbound proxy", () => {
  const the = world();
  const start = standIns();
  let proxy: OutboundProxy;
  let distrust: () => void;
  const replicas: App[] = [];
  before(async () => {
    distrust = trustOutside();
    proxy = await OutboundProxy.start("steward:p%40ss", internet);
  });
  beforeEach(() => {
    proxy.asked.length = 0;
    proxy.refusal = undefined;
  });
  afterEach(async () => {
    for (const app of replicas.splice(0)) await app.close();
  });
  after(async () => {
    distrust();
    await proxy.close();
  });

  async function replica(changes: NodeJS.ProcessEnv = {}): Promise<App> {
    const app = await startServer(the().database.url, { STEWARD_OUTBOUND_PROXY: proxy.url, ...changes });
    replicas.push(app);
    return app;
  }
  const ownerAt = ({ url }: App) => new Client(url, the().owner.token);
  const reasonFor = async (app: App, id: string): Promise<string> => {
    const failure: unknown = await ownerAt(app)
      .graphql(documentRequest, { id })
      .catch((error: unknown) => error);
    if (failure instanceof GraphqlFailure) return failure.message;
    throw new Error("The document was accepted.");
  };

  it("carries documents of clients, whose certificates are still verified", async () => {
    const app = await replica();
    const data = await ownerAt(app).graphql(documentRequest, { id: documentUrl });
    expect(data.oauth2AuthorizationRequest).to.deep.equal({ app: { name: "Night Watch" } });
    expect(proxy.asked).to.deep.equal(["CONNECT client.outside.test:443"]);
    distrust();
    try {
      expect(await reasonFor(app, "https://other.outside.test/client.json")).to.match(/could not be fetched/);
    } finally {
      distrust = trustOutside();
    }
  });

  it("carries sign-ins, Git providers, webhooks, and health checks", async () => {
    const app = await replica({
      STEWARD_OIDC_ISSUER_URL: issuer,
      STEWARD_OIDC_CLIENT_ID: "steward",
      STEWARD_OIDC_CLIENT_SECRET: "secret",
      ...externalAuth(providerAt("https://git.outside.test", { pkce_methods: [] })),
      STEWARD_NOTIFICATIONS_METHOD: "webhook",
      STEWARD_NOTIFICATIONS_WEBHOOK_URL: "http://hooks.outside.test/hook",
      STEWARD_NOTIFICATIONS_WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, "receiver").toString("base64")}`,
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "100ms",
      STEWARD_PROXY_HEALTH_INTERVAL: "1s",
    });
    const owner = ownerAt(app);

    const { status, headers } = await new Client(app.url).get("/login/oidc");
    expect(status).to.equal(303);
    expect(headers.get("location")).to.match(/^https:\/\/login\.outside\.test\/authorize\?/);
    expect(proxy.asked.splice(0)).to.deep.equal(["CONNECT login.outside.test:443"]);

    expect((await owner.get("/api/v2/external-auth/lab/device")).body).to.include({ user_code: "ABCD-EFGH" });
    expect(proxy.asked.splice(0)).to.deep.equal(["CONNECT git.outside.test:443"]);

    await owner.post("/api/v2/notifications/test");
    await eventually(() => proxy.asked.length > 0, "the webhook is called");
    expect(proxy.asked.splice(0)).to.deep.equal(["POST http://hooks.outside.test/hook"]);

    const { id, token } = await makeProxy(the(), "region");
    const standIn = await start(app.url, token);
    await standIn.register({ accessUrl: "https://region.outside.test" });
    await eventually(async () => {
      // Of the two servers on this database, the other one may have checked first, and has no way out.
      app.services.proxyHealth.soon();
      const { body } = await owner.get(`${proxiesPath}/${id}`);
      return body.status?.report?.warnings?.[0] === "The disk is nearly full.";
    }, "the region is healthy");
    expect(proxy.asked).to.include("CONNECT region.outside.test:443");
  });

  it("gets no requests for private addresses, which are rejected, nor for this machine", async () => {
    const app = await replica();
    for (const host of ["127.0.0.1", "localhost", "db.localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0x7f.1"]) {
      const url = new URL(`https://${host}/client.json`).href;
      expect(await reasonFor(app, url), host).to.match(/could not be fetched/);
    }
    expect(proxy.asked).to.deep.equal([]);
  });

  it("is named where a document cannot be fetched, to the user and in the log", async () => {
    const app = await replica();
    proxy.refusal = 503;
    const id = "https://unreachable.outside.test/client.json";
    const visit = `/oauth2/authorize?${new URLSearchParams({
      response_type: "code",
      client_id: id,
      code_challenge: challenge,
      code_challenge_method: "S256",
    }).toString()}`;
    loggedFromInfo.length = 0;
    const page = await ownerAt(app).get(visit, { Accept: "text/html" });
    expect(page.status).to.equal(400);
    for (const text of [page.body as string, JSON.stringify(loggedFromInfo)])
      expect(text).to.include("STEWARD_OUTBOUND_PROXY").and.include("STEWARD_OAUTH2_CIMD").and.not.include("p@ss");
    expect(JSON.stringify(loggedFromInfo)).to.include("status 503");
  });

  it("must have a URL without a path", async () => {
    for (const wrong of [
      "proxy:3128",
      "socks5://proxy:1080",
      "http://proxy/path",
      "http://proxy?x",
      "http://%zz@proxy",
    ]) {
      const failure: unknown = await replica({ STEWARD_OUTBOUND_PROXY: wrong }).catch((error: unknown) => error);
      expect((failure as Error).message, wrong)
        .to.include("STEWARD_OUTBOUND_PROXY")
        .and.not.include(wrong);
    }
  });

  describe("that fails", () => {
    const calling = (options: Partial<OutsideOptions> = {}) => outsideFetch({ proxy: proxy.url, ...options });
    async function failureOf(call: Promise<Response>): Promise<OutsideError> {
      const failure: unknown = await call.catch((error: unknown) => error);
      if (failure instanceof OutsideError) return failure;
      throw new Error("The call did not fail as expected.", { cause: failure });
    }
    const [secure, plain] = ["https://hooks.outside.test/hook", "http://hooks.outside.test/hook"];

    it("ends the call with the reason", async () => {
      const wrong = calling({ proxy: proxy.urlWith("steward:wrong") });
      expect(await failureOf(wrong(plain))).to.include({
        reason: "unreachable",
        message: "The outbound proxy requires other credentials.",
      });
      expect((await failureOf(wrong(secure))).message).to.match(/hooks\.outside\.test:443: status 407/);
      expect((await failureOf(calling()("https://outside.example/"))).message).to.match(/status 502/);
      const gone = await failureOf(calling({ proxy: "http://127.0.0.1:1" })(secure));
      expect(gone).to.include({ reason: "unreachable", wasSent: false });
      for (const message of [gone.message, (await failureOf(wrong(secure))).message])
        expect(message).to.not.match(/wrong|p@ss/);
    });

    it("ends the call in time, and the connection to it", async () => {
      proxy.refusal = "silence";
      const late = await failureOf(calling({ connectTimeout: 100 })(secure));
      expect(late).to.include({ reason: "timeout", wasSent: false });
      const later = await failureOf(calling({ timeout: 100, connectTimeout: 60_000 })(secure));
      expect(later).to.include({ reason: "timeout" });
      const aborted = await calling()(secure, { signal: AbortSignal.timeout(50) }).catch((error: Error) => error.name);
      expect(aborted).to.equal("AbortError");
      await eventually(() => proxy.open.size === 0, "the proxy has no connection left");
    });

    it("does not weaken the checks of redirects", async () => {
      internet["hooks.outside.test/away"] = (_, response) =>
        void response.writeHead(302, { Location: "http://10.0.0.1/" }).end();
      expect(await failureOf(calling()("https://hooks.outside.test/away"))).to.include({ reason: "refused" });
      expect((await calling()(secure)).status).to.equal(204);
    });
  });
});

// Deployments that require a second factor: who has a password but no authenticator can do nothing but add one.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type App, startServer } from "./support/app.js";
import {
  addAuthenticator,
  beginAuthenticator,
  codeOf,
  confirmAuthenticator as confirm,
} from "./support/authenticators.js";
import { makeAccess } from "./support/oauth2.js";
import { operations, type Place } from "./support/operations.js";
import { enter } from "./support/stage.js";
import { Client, type Person, userPassword, world } from "./support/world.js";

const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };
const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };
const page = "/account/second-factor";

describe("a required second factor", () => {
  const the = world(noLimits);
  let server: App;
  before(async () => {
    server = await startServer(the().database.url, { ...noLimits, STEWARD_SECOND_FACTORS: "required" });
  });
  after(() => server.close());

  const as = ({ token }: Pick<Person, "token">) => new Client(server.url, token);
  const read = (client: Client) => client.get("/api/v2/users/me/quiet-hours");

  it("lets users sign in who say that they add it, and then only add it, over both interfaces", async () => {
    const ada = await the().user("ada");
    const visitor = new Client(server.url);
    const credentials = { email: ada.email, password: userPassword };
    const rejected = await visitor.post("/api/v2/users/login", credentials);
    expect({ status: rejected.status, body: rejected.body }).to.deep.equal({
      status: 401,
      body: {
        message: "A second factor is required.",
        detail: "The account has none, and had to add one by now. Sign in on the page /login, which adds it.",
      },
    });
    const guessed = await visitor.post("/api/v2/users/login", { ...credentials, password: "wrong" });
    expect(guessed.body.message, "only after the right password").to.equal("Incorrect email or password.");
    const signedIn = await visitor.graphql(`mutation($input: LoginInput!) { login(input: $input) { sessionToken } }`, {
      input: { ...credentials, addsFactor: true },
    });
    const me = as({ token: signedIn.login.sessionToken });
    const rest = await read(me);
    expect({ status: rest.status, body: rest.body }).to.deep.equal({
      status: 403,
      body: {
        message: "You must add a second factor first.",
        detail: "Your account requires one. Add it on the page /account/second-factor, or with `beginAuthenticator`.",
      },
    });
    const { errors } = await me.failure("{ me { id } }");
    expect(errors[0]!.extensions).to.deep.include({ code: "FORBIDDEN", reason: "second_factor_required" });
    const { secret } = await beginAuthenticator(me);
    expect((await read(me)).status, "it is not confirmed").to.equal(403);
    await me.graphql(confirm, { input: { oneTimeCode: codeOf(secret) } });
    expect((await read(me)).status).to.equal(200);
    const remove = `mutation { removeAuthenticator(input: { oneTimeCode: "${codeOf(secret, 1)}" }) { user { id } } }`;
    expect((await me.failure(remove)).code, "it is required").to.equal("CONFLICT");
  });

  it("closes every other operation, whatever the role", async () => {
    const w = the();
    const { client, stage } = await enter(w, { siteRoles: ["owner"] });
    const me = as({ token: client.token! });
    const place: Place = { ...stage, user: stage.victim };
    const still = new Set([
      "changePassword",
      "validatePassword",
      "logout",
      "beginAuthenticator",
      "confirmAuthenticator",
      "beginPasskey",
      "confirmPasskey",
    ]);
    const wrong: string[] = [];
    for (const [title, { kinds, document, rest }] of operations) {
      if (!kinds.includes("session") || still.has(title.split(" ")[0]!)) continue;
      if (document) {
        const { body } = await me.post("/graphql", { query: document(place) });
        const { reason, code } = body.errors?.[0]?.extensions ?? {};
        // Subscriptions run over sockets only.
        const isSocketOnly = document(place).startsWith("subscription") && code === "BAD_USER_INPUT";
        if (!isSocketOnly && reason !== "second_factor_required") wrong.push(`${title}: ${code}`);
      }
      if (rest) {
        const [method, path, body] = rest(place);
        const { status, body: said } = await me.request(method, path, body, { Accept: "application/json" });
        const isSaid = method === "HEAD" || JSON.stringify(said).includes("second factor");
        if (status !== 403 || !isSaid) wrong.push(`${title}, ${method} ${path}: ${status}`);
      }
    }
    expect(wrong).to.deep.equal([]);
  });

  it("holds on sockets, and for access tokens of applications", async () => {
    const w = the();
    const ada = await w.user("ada");
    const socket = createClient({
      url: `${server.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
      retryAttempts: 0,
    });
    const failed = async () => {
      for await (const { errors } of socket.iterate({ query: "{ me { id } }" })) return errors;
      return undefined;
    };
    try {
      const errors = await failed().catch((thrown: unknown) => thrown);
      expect(JSON.stringify(errors)).to.contain("second_factor_required");
    } finally {
      await socket.dispose();
    }
    const application = as({ token: await makeAccess(w, ada) });
    expect((await application.failure("{ me { id } }")).errors[0]!.extensions.reason).to.equal(
      "second_factor_required",
    );
  });

  it("is not required of API tokens, service accounts, people of providers, and those who have one", async () => {
    const w = the();
    const [ada, bob, eve] = [await w.user("ada"), await w.user("bob", undefined, "OIDC"), await w.user("eve")];
    expect((await read(as(await w.scoped(ada, "all")))).status).to.equal(200);
    expect((await read(as(bob))).status).to.equal(200);
    await addAuthenticator(w.as(eve));
    expect((await read(as(eve))).status).to.equal(200);
  });

  it("leads from every page to the one that adds it, and back", async () => {
    const ada = await the().user("ada");
    const headers = {
      cookie: `service_session_token=${ada.token}`,
      "sec-fetch-site": "same-origin",
      "sec-fetch-mode": "navigate",
      Accept: "text/html",
    };
    const browser = new Client(server.url);
    for (const path of ["/account/keys", "/oauth2/device", "/external-auth"]) {
      const { status, headers: sent } = await browser.get(path, headers);
      expect([status, sent.get("location")], path).to.deep.equal([
        303,
        `${page}?return_to=${encodeURIComponent(path)}`,
      ]);
    }
    const hidden = (name: string, body: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(body)![1]!.replaceAll("&amp;", "&");
    const send = (body: string, fields: Record<string, string>) =>
      browser.post(
        page,
        new URLSearchParams({
          csrf_token: hidden("csrf_token", body),
          action: hidden("action", body),
          return_to: hidden("return_to", body),
          ...fields,
        }).toString(),
        { ...urlencoded, ...headers },
      );
    const first = await browser.get(`${page}?return_to=/account/keys`, headers);
    expect(first.body).to.contain("Your account requires a second factor.");
    const refused = await send(first.body, { password: "wrong" });
    expect([refused.status, hidden("return_to", refused.body)]).to.deep.equal([400, "/account/keys"]);
    const begun = await send(refused.body, { password: userPassword });
    const uri = hidden("uri", begun.body);
    const secret = new URL(uri).searchParams.get("secret")!;
    const done = await send(begun.body, { uri, oneTimeCode: codeOf(secret) });
    expect(done.body).to.contain('href="/account/keys">I have kept them</a>');
    expect((await browser.get("/account/keys", headers)).status).to.equal(200);
  });
});

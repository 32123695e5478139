// Users who must change their password before they can do anything else.
// Reaches for tables: credentials of every kind are issued to such a user, as none that exists before survives.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { accountOf, code, createUser, fields, goodPassword, resetUserPassword } from "./support/accounts.js";
import { mutate } from "./support/invitations.js";
import { insertKey } from "./support/keys.js";
import { authorizePath, challenge, oauthApp } from "./support/oauth2.js";
import { operations, type Place } from "./support/operations.js";
import { enter } from "./support/stage.js";
import { setColumns } from "./support/tables.js";
import type { TokenKind } from "./support/token-rows.js";
import { type Answer, type Client, world } from "./support/world.js";

const changePassword = `mutation($input: ChangePasswordInput!) { changePassword(input: $input) { user { mustChangePassword } } }`;
const given = "given-by-an-administrator-7";
const html = { Accept: "text/html" };
const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };

describe("a password that must be changed", () => {
  const the = world();
  const owner = () => the().as(the().owner);
  let made = 0;

  /** Creates a user with such a password, who is signed in. */
  async function newcomer() {
    const username = `newcomer-${++made}`;
    const email = `${username}@example.com`;
    const input = { email, username, password: given, mustChangePassword: true };
    const { id } = (await mutate(owner(), "createUser", input, "user { id mustChangePassword }")).user;
    return { id, username, email, token: await the().login(email, given) };
  }

  it("lets its user sign in, and then only change it, over both interfaces", async () => {
    const w = the();
    const { email, token } = await newcomer();
    const client = w.as({ token });
    const rest = await client.get("/api/v2/users/me/quiet-hours");
    expect(rest.status).to.equal(403);
    expect(rest.body).to.deep.equal({
      message: "You must change your password first.",
      detail: "An administrator set it. Change it with `changePassword`, or on the page /account/password.",
    });
    const { errors } = await client.failure("{ me { id } }");
    expect(errors[0]!.extensions).to.deep.include({ code: "FORBIDDEN", reason: "password_change_required" });
    expect((await client.post("/api/v2/users/validate-password", { password: goodPassword })).status).to.equal(200);

    const { changePassword: changed } = await client.graphql(changePassword, {
      input: { currentPassword: given, newPassword: goodPassword },
    });
    expect(changed.user.mustChangePassword).to.equal(false);
    expect((await client.get("/api/v2/users/me/quiet-hours")).status).to.equal(200);
    const { login } = await w.nobody.graphql(
      "mutation($input: LoginInput!) { login(input: $input) { user { mustChangePassword } } }",
      { input: { email, password: goodPassword } },
    );
    expect(login.user.mustChangePassword).to.equal(false);
  });

  it("says so at login, which succeeds", async () => {
    const { email } = await newcomer();
    const answer = await the().nobody.post("/api/v2/users/login", { email, password: given });
    expect(answer.status).to.equal(201);
    expect(Object.keys(answer.body)).to.deep.equal(["session_token"]);
    const { login } = await the().nobody.graphql(
      "mutation($input: LoginInput!) { login(input: $input) { user { mustChangePassword } } }",
      { input: { email, password: given } },
    );
    expect(login.user.mustChangePassword).to.equal(true);
  });

  it("closes every operation to every kind of credential, except for three", async () => {
    const w = the();
    const { client, stage } = await enter(w, { siteRoles: ["owner"] });
    await setColumns(w, "users", { id: stage.actor }, { must_change_password: true });
    await client.failure("{ me { id } }").catch(() => undefined);
    const clients: Array<[string, Client]> = [["session", client]];
    for (const kind of ["token", "application"] as TokenKind[]) {
      const { text } = await insertKey(w, { id: stage.actor }, kind, ["all"]);
      clients.push([kind, w.as({ token: text })]);
    }
    const place: Place = { ...stage, user: stage.victim };
    const still = new Set(["changePassword", "validatePassword", "logout"]);
    const wrong: string[] = [];
    for (const [title, { kinds, document, rest }] of operations) {
      const [name] = title.split(" ");
      if (!kinds.includes("session") || still.has(name!)) continue;
      for (const [kind, by] of clients) {
        if (document) {
          const { body } = await by.post("/graphql", { query: document(place) });
          const { reason, code: is } = body.errors?.[0]?.extensions ?? {};
          // Subscriptions run over sockets only.
          const isSocketOnly = document(place).startsWith("subscription") && is === "BAD_USER_INPUT";
          if (!isSocketOnly && reason !== "password_change_required") wrong.push(`${title} by ${kind}: ${is}`);
        }
        if (rest && kind === "session") {
          const [method, path, body] = rest(place);
          const { status, body: said } = await by.request(method, path, body, { Accept: "application/json" });
          const isSaid = method === "HEAD" || JSON.stringify(said).includes("change your password");
          if (status !== 403 || !isSaid) wrong.push(`${title}, ${method} ${path}: ${status}`);
        }
      }
    }
    expect(wrong).to.deep.equal([]);
  });

  it("holds on sockets, for queries and subscriptions", async () => {
    const { token } = await newcomer();
    const socket = createClient({
      url: `${the().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: token },
      retryAttempts: 0,
    });
    try {
      for (const query of ["{ me { id } }", "subscription { inboxEvents { __typename } }"]) {
        const failed = async () => {
          for await (const { errors } of socket.iterate({ query })) return errors;
          return undefined;
        };
        const errors = await failed().catch((thrown: unknown) => thrown);
        expect(JSON.stringify(errors)).to.contain("password_change_required");
      }
    } finally {
      await socket.dispose();
    }
  });

  it("holds for daemons with the session of the user, and for applications of workspaces", async () => {
    const w = the();
    const { token } = await newcomer();
    const answer = await w
      .as({ token })
      .get(`/api/v2/organizations/default/provisionerdaemons/serve?name=x&provisioner=echo&tag=scope%3Duser`);
    expect([answer.status, answer.body.message]).to.deep.equal([403, "You must change your password first."]);
  });

  const cookieOf = (token: string) => ({
    ...html,
    cookie: `service_session_token=${token}`,
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
  });
  const valueIn = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1];
  const to = ({ headers }: Answer) => headers.get("location");

  it("leads from all pages to that of the password, and back", async () => {
    const w = the();
    const { token } = await newcomer();
    const app = await oauthApp(w);
    const consent = authorizePath(app, { code_challenge: challenge, code_challenge_method: "S256" });
    for (const path of ["/", "/users", "/account/keys", "/external-auth", "/oauth2/device", "/login", consent]) {
      const answer = await w.nobody.get(path, cookieOf(token));
      const wanted = `/account/password?${new URLSearchParams({ return_to: path }).toString()}`;
      expect([path, answer.status, to(answer)]).to.deep.equal([path, 303, wanted]);
    }
    const page = await w.nobody.get("/account/password?return_to=%2Fusers", cookieOf(token));
    expect(page.status).to.equal(200);
    const form = (fields_: Record<string, string>) =>
      w.nobody.post("/account/password", new URLSearchParams(fields_).toString(), {
        ...cookieOf(token),
        ...urlencoded,
      });
    const csrf_token = valueIn(page.body, "csrf_token")!;
    const change = { csrf_token, return_to: "/users", currentPassword: given };
    const weak = await form({ ...change, newPassword: given, repeated: given });
    expect([weak.status, valueIn(weak.body, "return_to")]).to.deep.equal([400, "/users"]);
    const done = await form({ ...change, newPassword: goodPassword, repeated: goodPassword });
    expect([done.status, to(done)]).to.deep.equal([303, "/users"]);
    expect((await w.nobody.get("/account/keys", cookieOf(token))).status).to.equal(200);
  });

  it("lets the user sign out instead", async () => {
    const { token } = await newcomer();
    const { logout } = await the().as({ token }).graphql("mutation { logout { apiKeyId } }");
    expect(logout.apiKeyId).to.be.a("string");
  });

  it("can be set with a reset, which ends all sessions and tokens of before", async () => {
    const w = the();
    const ada = await w.user("ada");
    const key = await w.scoped(ada, "all");
    await owner().graphql(resetUserPassword, { input: { user: ada.id, password: given, mustChangePassword: true } });
    expect((await w.as(key).get("/api/v2/users/me/quiet-hours")).status).to.equal(401);
    const token = await w.login(ada.email, given);
    expect(await code(w.as({ token }), "{ me { id } }")).to.equal("FORBIDDEN");
    await owner().graphql(resetUserPassword, { input: { user: ada.id, password: goodPassword } });
    await w.as({ token: await w.login(ada.email, goodPassword) }).graphql("{ me { id } }");
  });

  it("is only for accounts with a password", async () => {
    const input = { email: "none@example.com", username: "none", loginType: "OIDC", mustChangePassword: true };
    const failure = await owner().failure(createUser, { input });
    expect(fields(failure)).to.deep.equal(["input.mustChangePassword"]);
    expect(await accountOf(the(), "none")).to.equal(null);
  });
});

// Scopes that are requested and cannot be had: what users see of them, and what tokens say.
import { expect } from "chai";
import { inMs } from "./support/clock.js";
import {
  authorizePath,
  challenge,
  credentials,
  deviceCode,
  deviceGrant,
  makeClient,
  oauthApp,
  redirectUri,
  refresh,
  selfRegistered,
  sendForm,
  statusOf,
  verifier,
} from "./support/oauth2.js";
import { type Person, type World, world } from "./support/world.js";

const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const html = { Accept: "text/html" };
const asked = `query($input: OAuth2AuthorizationRequestInput!) {
  oauth2AuthorizationRequest(input: $input) { scopes { name } refusedScopes { name description } isUnrestricted } }`;
const onDevice = `query($userCode: String!) {
  oauth2DeviceRequest(userCode: $userCode) { scopes { name } refusedScopes { name } } }`;
const names = (scopes: Array<{ name: string }>) => scopes.map(({ name }) => name);

describe("scopes beyond the ceiling of an OAuth2 application", () => {
  const the = world();
  let w: World;
  let ada: Person;
  before(async () => {
    w = the();
    ada = await w.user("ada");
  });
  const ceiled = (scopes: string[] | null, more: object = {}) => makeClient(w, { scope_ceiling: scopes, ...more });
  const read = async (clientId: string, scope?: string) =>
    (
      await w.as(ada).graphql(asked, {
        input: { clientId, scope, responseType: "code", codeChallenge: challenge, codeChallengeMethod: "S256" },
      })
    ).oauth2AuthorizationRequest;

  it("are left out of an authorization, shown, and not in the response", async () => {
    const client = await ceiled(["user:read", "workspace:read"]);
    const scope = "user:read workspace:* all bogus";
    const request = await read(client.id, scope);
    expect(names(request.scopes)).to.deep.equal(["user:read"]);
    // What another one includes is not named.
    expect(names(request.refusedScopes)).to.deep.equal(["all"]);
    expect(request.isUnrestricted).to.equal(false);
    const path = authorizePath(client, { ...pkce, scope });
    const page = await w.as(ada).get(path, html);
    expect(page.body).to.contain("It also requested, and does not get:").and.contain("full access");
    expect(page.body).to.contain("See your profile").and.not.contain("It wants full access");

    const allowed = await w.as(ada).post(path);
    const code = new URL(allowed.headers.get("location")!).searchParams.get("code")!;
    const { status, body } = await sendForm(w, "tokens", {
      grant_type: "authorization_code",
      ...credentials(client),
      code,
      code_verifier: verifier,
    });
    expect({ status, scope: body.scope }).to.deep.equal({ status: 200, scope: "user:read" });
    expect(await statusOf(w, body.access_token)).to.equal(200);
    const wider = await refresh(w, client, body.refresh_token, { scope: "user:read workspace:read" });
    expect(wider.body.error, "beyond the grant, although below the ceiling").to.equal("invalid_scope");
    const above = await refresh(w, client, body.refresh_token, { scope: "user:read all" });
    expect(above.body.error, "beyond the ceiling").to.equal("invalid_scope");
    expect(await refresh(w, client, body.refresh_token, { scope: "user:read bogus" })).to.include({ status: 200 });
  });

  it("are invalid if nothing else that is known was requested", async () => {
    for (const [scopes, scope, error] of [
      [["user:read"], "all", "invalid_scope"],
      [["user:read"], "bogus all", "invalid_scope"],
      [["user:read"], "bogus", null],
      [["workspace:read"], "bogus", "invalid_scope"],
      [["no:more"], "user:read", "invalid_scope"],
      [["no:more"], undefined, "invalid_scope"],
      [null, "all", null],
    ] as const) {
      const client = await ceiled(scopes && [...scopes]);
      const answer = await w.as(ada).post(authorizePath(client, { ...pkce, scope, redirect_uri: redirectUri }));
      const location = new URL(answer.headers.get("location")!);
      expect(location.searchParams.get("error"), `${scopes?.join()} ${scope}`).to.equal(error);
      expect(location.searchParams.has("code")).to.equal(error === null);
    }
  });

  it("are no refusal if the application did not ask for them", async () => {
    // The ceiling was stored before the usual scopes of such applications became more.
    const app = await oauthApp(w, { ...selfRegistered, scope_ceiling: ["user:read", "workspace:*"] });
    const request = await read(app.id);
    expect(names(request.scopes)).to.have.members(["user:read", "workspace:*"]);
    expect(request.refusedScopes).to.deep.equal([]);
  });

  it("are left out for devices as well, whose page shows them", async () => {
    const client = await ceiled(["user:read"]);
    const { body } = await sendForm(w, "device_authorization", { ...credentials(client), scope: "user:read task:*" });
    const { oauth2DeviceRequest: request } = await w.as(ada).graphql(onDevice, { userCode: body.user_code });
    expect([names(request.scopes), names(request.refusedScopes)]).to.deep.equal([["user:read"], ["task:*"]]);
    const page = await w.as(ada).get(`/oauth2/device?user_code=${body.user_code}`, html);
    expect(page.body).to.contain("does not get").and.contain("your AI tasks");
    await w.as(ada).post("/oauth2/device", `user_code=${body.user_code}&decision=allow`, {
      "Content-Type": "application/x-www-form-urlencoded",
    });
    const tokens = await sendForm(w, "tokens", {
      grant_type: deviceGrant,
      ...credentials(client),
      device_code: body.device_code,
    });
    expect(tokens.body.scope).to.equal("user:read");
    const alone = await sendForm(w, "device_authorization", { ...credentials(client), scope: "task:*" });
    expect(alone.body.error).to.equal("invalid_scope");
    // A server of the previous release, which does not store rejected scopes.
    const old = await deviceCode(w, await oauthApp(w, { grant_types: [deviceGrant] }), { expires_at: inMs(60_000) });
    const { oauth2DeviceRequest } = await w.as(ada).graphql(onDevice, { userCode: old });
    expect(oauth2DeviceRequest.refusedScopes).to.deep.equal([]);
  });

  it("include the personal settings for applications that register themselves", async () => {
    const { body } = await w.nobody.post("/oauth2/register", {
      redirect_uris: ["https://watch.example.com/cb"],
      scope: "user:read",
    });
    const { scopes, refusedScopes } = await read(body.client_id, "user:read_personal");
    expect([names(scopes), refusedScopes]).to.deep.equal([["user:read_personal"], []]);
    const { body: open } = await w.nobody.post("/oauth2/register", { redirect_uris: ["https://watch.example.com/cb"] });
    expect(open.scope.split(" ")).to.include("user:read_personal");
  });
});

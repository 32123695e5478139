// The resource of requests that name none (RFC 8707).
import { expect } from "chai";
import {
  authorizePath,
  basic,
  challenge,
  changeApp,
  credentials,
  grantsOf,
  insertClient,
  makeClient,
  oauthApp,
  selfRegistered,
  sendForm,
  statusOf,
  verifier,
} from "./support/oauth2.js";
import { audited } from "./support/audit.js";
import { type Person, type World, world } from "./support/world.js";

const mcp = "https://mcp.example.com";
const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const update = `mutation($input: UpdateOAuth2SettingsInput!) {
  updateOAuth2Settings(input: $input) { oauth2Settings { dynamicRegistration defaultResource } } }`;

describe("the default resource", () => {
  const the = world();
  let w: World;
  let ada: Person;
  let server: Awaited<ReturnType<typeof makeClient>>;
  before(async () => {
    w = the();
    ada = await w.user("ada");
    server = await makeClient(w);
    await changeApp(w, server, { resourceIndicators: [mcp, `${mcp}/sse`] });
  });
  afterEach(() => w.as(w.owner).graphql(update, { input: {} }));
  const own = () => w.app.services.config.accessUrl;
  const ofDeployment = async (defaultResource: string) =>
    (await w.as(w.owner).graphql(update, { input: { defaultResource } })).updateOAuth2Settings.oauth2Settings;

  /** The tokens of a client that allows itself everything by consent. */
  async function tokensOf(client: { id: string; secret?: string | undefined }, more: Record<string, string> = {}) {
    const allowed = await w.as(ada).post(authorizePath(client, { ...pkce, scope: "user:read", ...more }));
    const code = new URL(allowed.headers.get("location")!).searchParams.get("code")!;
    const form = { grant_type: "authorization_code", client_id: client.id, client_secret: client.secret };
    return (await sendForm(w, "tokens", { ...form, code, code_verifier: verifier })).body;
  }
  const introspected = async (token: string) =>
    (await sendForm(w, "introspect", { token }, basic(server.id, server.secret!))).body;

  it("of an application makes its tokens active at their resource server, without a parameter", async () => {
    const client = await makeClient(w);
    expect(await introspected((await tokensOf(client)).access_token)).to.deep.equal({ active: false });
    await changeApp(w, client, { defaultResource: `${mcp.toUpperCase()}:443/` });
    const { oauth2App } = await w
      .as(w.owner)
      .graphql("query($id: UUID!) { oauth2App(id: $id) { defaultResource } }", { id: client.id });
    expect(oauth2App.defaultResource).to.equal(mcp);
    const [event] = await audited(w, { resourceId: client.id });
    expect(event!.diff).to.deep.include({ defaultResource: { old: null, new: mcp } });

    const page = await w.as(ada).get(authorizePath(client), { Accept: "text/html" });
    expect(page.body).to.contain(mcp).and.not.contain(`<div>${own()}</div>`);
    const tokens = await tokensOf(client);
    expect(await introspected(tokens.access_token)).to.deep.include({ active: true, aud: [mcp] });
    expect(await statusOf(w, tokens.access_token)).to.equal(401);
    const refreshed = await sendForm(w, "tokens", {
      grant_type: "refresh_token",
      ...credentials(client),
      refresh_token: tokens.refresh_token,
    });
    expect(await introspected(refreshed.body.access_token)).to.include({ active: true });
    const named = await tokensOf(client, { resource: own() });
    expect(await statusOf(w, named.access_token), "a request that names one").to.equal(200);

    const device = await sendForm(w, "device_authorization", credentials(client));
    const query = `query($userCode: String!) { oauth2DeviceRequest(userCode: $userCode) { audiences } }`;
    const { oauth2DeviceRequest } = await w.as(ada).graphql(query, { userCode: device.body.user_code });
    expect(oauth2DeviceRequest.audiences).to.deep.equal([mcp]);
    const { createUser } = await w.as(w.owner)
      .graphql(`mutation { createUser(input: { username: "robot", email: "robot@example.com", isServiceAccount: true }) {
        user { id } } }`);
    await changeApp(w, client, { serviceUserId: createUser.user.id });
    const machine = await sendForm(w, "tokens", { grant_type: "client_credentials", ...credentials(client) });
    expect(await introspected(machine.body.access_token)).to.include({ active: true });

    await changeApp(w, client, { defaultResource: "" });
    expect(await statusOf(w, (await tokensOf(client)).access_token)).to.equal(200);
  });

  it("of the deployment is that of applications that registered themselves, unless they have one", async () => {
    expect(await ofDeployment(`${mcp}/`)).to.deep.equal({ dynamicRegistration: null, defaultResource: mcp });
    const byItself = async () => {
      const { body } = await w.nobody.post("/oauth2/register", {
        client_name: "x",
        redirect_uris: ["https://a.example/"],
        token_endpoint_auth_method: "none",
      });
      return { id: body.client_id as string };
    };
    const client = await byItself();
    const other = await byItself();
    await changeApp(w, other, { defaultResource: `${mcp}/sse` });
    expect(await introspected((await tokensOf(client)).access_token)).to.deep.include({ active: true, aud: [mcp] });
    expect(await introspected((await tokensOf(other)).access_token)).to.deep.include({ aud: [`${mcp}/sse`] });
    await tokensOf(await makeClient(w));
    const ofOwners = await makeClient(w);
    await tokensOf(ofOwners);
    expect((await grantsOf(w, ofOwners))[0]!.audiences).to.deep.equal([]);
    const [event] = await audited(w, { resourceType: "oauth2_settings" });
    expect(event!.diff).to.deep.equal({ defaultResource: { old: null, new: mcp } });
  });

  it("can be set for one with a metadata document, whose other fields cannot", async () => {
    const app = await insertClient(w, {
      ...selfRegistered,
      kind: "document",
      document_url: "https://tools.example.com/client.json",
    });
    await changeApp(w, app, { defaultResource: mcp });
    const { code } = await w
      .as(w.owner)
      .failure(`mutation($input: UpdateOAuth2AppInput!) { updateOAuth2App(input: $input) { __typename } }`, {
        input: { id: app.id, defaultResource: mcp, name: "y" },
      });
    expect(code).to.equal("CONFLICT");
  });

  it("is a resource of this server or of a resource server, and none else", async () => {
    const rule = "Must be a URL of this server, or a resource indicator of an application.";
    const { id } = await oauthApp(w);
    for (const wrong of ["https://unknown.example.com", "x", `${mcp}#x`, `${own()}/oauth2`, `${mcp}/other`]) {
      for (const [document, input] of [
        [update, { defaultResource: wrong }],
        [
          `mutation($input: UpdateOAuth2AppInput!) { updateOAuth2App(input: $input) { __typename } }`,
          { id, defaultResource: wrong },
        ],
      ] as const) {
        const { errors } = await w.as(w.owner).failure(document, { input });
        expect(errors[0]!.extensions.validations, wrong).to.deep.equal([
          { field: "input.defaultResource", detail: rule },
        ]);
      }
    }
    for (const right of [own(), `${own()}/graphql`, mcp]) await ofDeployment(right);
    // Its own, in the same change.
    await changeApp(
      w,
      { id },
      { resourceIndicators: ["https://new.example.com"], defaultResource: "https://new.example.com/" },
    );
  });

  it("is never replaced by more than was meant", async () => {
    const client = await makeClient(w);
    const resource = await makeClient(w);
    await changeApp(w, resource, { resourceIndicators: ["https://gone.example.com"] });
    await changeApp(w, client, { defaultResource: "https://gone.example.com" });
    await changeApp(w, resource, { resourceIndicators: [] });
    const answer = await w.as(ada).post(authorizePath(client, pkce));
    expect(new URL(answer.headers.get("location")!).searchParams.get("error")).to.equal("invalid_target");
  });
});

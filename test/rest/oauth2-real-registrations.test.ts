// The programs that people use get in, as they register: by themselves, by a document, and as applications of owners.
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { registeringClients } from "../contract/real-clients.js";
import { appsPath, authorizePath, challenge, oauthApp, selfRegistered, sendForm, verifier } from "../support/oauth2.js";
import { Client, type Person, world } from "../support/world.js";

const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
const html = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const inCamelCase = (registered: object) =>
  Object.fromEntries(
    Object.entries(registered).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

describe("real registrations of OAuth2 clients", () => {
  const the = world({ STEWARD_OAUTH2_CIMD_ALLOW_PRIVATE: "true" });
  let ada: Person;
  let documents: Record<string, object>;
  const site = createServer(({ url }, response) => {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(documents[url!]));
  });
  before(async () => {
    documents = {};
    ada = await the().user("ada");
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
  });
  after(() => void site.close());

  /** Asks for consent, allows, and redeems the code. Returns the response with the tokens. */
  async function signIn(clientId: string, returnsTo: string, credentials: object = {}) {
    const path = authorizePath({ id: clientId }, { ...pkce, scope: "user:read", redirect_uri: returnsTo });
    const page = await the().as(ada).get(path, html);
    expect(page.status, page.body as string).to.equal(200);
    const allowed = await the().as(ada).post(path);
    const location = allowed.headers.get("location")!;
    expect(location.startsWith(`${returnsTo}?code=`), location).to.equal(true);
    const code = new URL(location).searchParams.get("code")!;
    return sendForm(the(), "tokens", {
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: returnsTo,
      ...credentials,
    });
  }

  for (const { client, version, registers, returnsTo } of registeringClients) {
    it(`work: ${client} ${version}`, async () => {
      const { status, body } = await the().nobody.post("/oauth2/register", registers);
      expect(status, JSON.stringify(body)).to.equal(201);
      expect(body.redirect_uris).to.deep.equal(registers.redirect_uris);
      expect(body.application_type).to.equal(registers.application_type);
      const tokens = await signIn(body.client_id, returnsTo, { client_secret: body.client_secret });
      expect(tokens.status, JSON.stringify(tokens.body)).to.equal(200);

      const replaced = await the().nobody.put(`/oauth2/clients/${body.client_id}`, registers, {
        Authorization: `Bearer ${body.registration_access_token}`,
      });
      expect(replaced.status, JSON.stringify(replaced.body)).to.equal(200);
      expect(replaced.body.redirect_uris).to.deep.equal(registers.redirect_uris);
      const { registerOAuth2Client } = await the().nobody.graphql(
        `mutation($input: RegisterOAuth2ClientInput!) {
          registerOAuth2Client(input: $input) { client { clientId redirectUris applicationType } } }`,
        { input: inCamelCase(registers) },
      );
      expect(registerOAuth2Client.client).to.deep.include({
        redirectUris: registers.redirect_uris,
        applicationType: registers.application_type ?? null,
      });
    });

    it(`work in a document, and as an application of an owner: ${client} ${version}`, async () => {
      const { token_endpoint_auth_method: _, ...described } = registers;
      const path = `/${encodeURIComponent(`${client} ${version}`)}.json`;
      const documentUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}${path}`;
      documents[path] = { ...described, client_id: documentUrl };
      expect((await signIn(documentUrl, returnsTo)).status).to.equal(200);

      const owner = the().as(the().owner);
      for (const uri of registers.redirect_uris) {
        const made = await owner.post(appsPath, { name: registers.client_name, callback_url: uri });
        expect(made.status, JSON.stringify(made.body)).to.equal(200);
        expect(made.body.callback_url).to.equal(uri);
      }
      const { createOAuth2App } = await owner.graphql(
        `mutation($input: CreateOAuth2AppInput!) { createOAuth2App(input: $input) { oauth2App { id redirectUris } } }`,
        { input: { name: registers.client_name, redirectUris: registers.redirect_uris } },
      );
      expect(createOAuth2App.oauth2App.redirectUris).to.deep.equal(registers.redirect_uris);
    });
  }

  it("lead to pages that warn of private schemes, and after a denial nowhere until the user trusts the program", async () => {
    const cursor = registeringClients.find(({ client }) => client === "Cursor")!;
    const { body } = await the().nobody.post("/oauth2/register", cursor.registers);
    const app = { id: body.client_id as string };
    const path = authorizePath(app, { ...pkce, scope: "user:read", redirect_uri: cursor.returnsTo });
    const page = await the().as(ada).get(path, html);
    expect(page.body).to.contain("It is not known which program on this device gets the result").and.contain("cursor:");
    expect(page.headers.get("content-security-policy")).to.match(/form-action 'self' cursor:$/);

    const deny = (to = path) => the().as(ada).post(to, { decision: "deny" });
    const denied = await deny();
    expect(denied).to.include({ status: 200 });
    expect(denied.headers.get("location")).to.equal(null);
    expect(denied.body).to.contain("Access denied").and.contain("Cursor").and.not.contain("cursor://");
    const denial = `mutation($input: DenyOAuth2AuthorizationInput!) {
      denyOAuth2Authorization(input: $input) { appName redirectUri } }`;
    const input = {
      responseType: "code",
      clientId: app.id,
      redirectUri: cursor.returnsTo,
      codeChallenge: challenge,
      codeChallengeMethod: "S256",
    };
    const unanswered = { appName: "Cursor", redirectUri: null };
    expect((await the().as(ada).graphql(denial, { input })).denyOAuth2Authorization).to.deep.equal(unanswered);
    const faulty = authorizePath(app, { ...pkce, response_type: "token", redirect_uri: cursor.returnsTo });
    const fault = await the().as(ada).get(faulty, html);
    expect(fault).to.include({ status: 400 });
    expect(fault.headers.get("location")).to.equal(null);
    expect(fault.body).to.contain("Cursor").and.contain("cursor");

    // Other redirect URIs of the same program get the response: that of a website, and that of a program that listens.
    for (const redirect_uri of cursor.registers.redirect_uris.slice(1)) {
      const answer = await deny(authorizePath(app, { ...pkce, redirect_uri }));
      expect(answer.headers.get("location")).to.contain("error=access_denied");
    }
    await the().as(ada).post(path);
    const trusted = await deny();
    expect(trusted).to.include({ status: 302 });
    expect(trusted.headers.get("location")).to.match(/^cursor:\/\/.*error=access_denied/);
    const { denyOAuth2Authorization } = await the().as(ada).graphql(denial, { input });
    expect(denyOAuth2Authorization.redirectUri).to.contain("error=access_denied");
    const known = await oauthApp(the(), { redirect_uris: [cursor.returnsTo] });
    expect(await deny(authorizePath(known))).to.include({ status: 302 });
  });
});

describe("the schemes of redirect URIs", () => {
  const uris = ["cursor://host/cb", "vscode://host/cb", "com.example.app:/cb", "https://a.example/cb"];
  for (const [setting, taken] of [
    ["dotted", [false, false, true, true]],
    ["cursor, com.example.app", [true, false, true, true]],
    ["VSCode", [false, true, false, true]],
  ] as const)
    describe(`with the setting ${setting}`, () => {
      const the = world({ STEWARD_OAUTH2_REDIRECT_SCHEMES: setting });

      it("are narrowed for all users, and for what was registered before", async () => {
        const ada = await the().user("ada");
        const owner = new Client(the().url, the().owner.token);
        for (const [index, uri] of uris.entries()) {
          const registered = await the().nobody.post("/oauth2/register", { client_name: "x", redirect_uris: [uri] });
          expect(registered.status, uri).to.equal(taken[index] ? 201 : 400);
          if (!taken[index]) expect(registered.body.error_description).to.contain(`'${uri}'`);
          const made = await owner.post(appsPath, { name: "x", callback_url: uri });
          expect(made.status, uri).to.equal(taken[index] ? 200 : 400);
          const old = await oauthApp(the(), { ...selfRegistered, redirect_uris: [uri] });
          expect((await the().as(ada).get(authorizePath(old, pkce))).status, uri).to.equal(taken[index] ? 200 : 400);
        }
      });
    });
});

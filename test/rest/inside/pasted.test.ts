// What people paste comes with the white space around it: of a terminal, a mail, a page, a spreadsheet, a file.
// Looks inside: what trims, and the settings of daemons, are pure functions.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { UserCli } from "../../support/cli.js";
import {
  credentials as secretOf,
  makeClient,
  makeCode,
  redeem,
  refresh,
  sendForm,
  startDevice,
  statusOf,
} from "../../support/oauth2.js";
import { madeUp } from "../../support/licensing.js";
import { newKey, serve } from "../../support/provisioners.js";
import { makeProxy } from "../../support/proxies.js";
import { raw, rawRequest } from "../../support/raw.js";
import { makeScimKey } from "../../support/scim.js";
import { readSettings } from "../../../clients/api/settings.js";
import { withoutEdges } from "../../../src/runtime/pasted.js";
import { startWorld, userPassword, type World } from "../../support/world.js";

/** Texts before and after what is pasted. */
const edges: Array<[string, string, string]> = [
  ["a line of a terminal", "", "\n"],
  ["a line of a file of Windows", "", "\r\n"],
  ["a cell of a table", "\t", " "],
  ["a page", "\u00a0", "\u00a0"],
  ["a page in French", "\u202f", "\u2009"],
  ["a file with a byte order mark", "\ufeff", "\n"],
  ["a mail", "\n\n  ", "  \n\n"],
  ["a chat, which lets long words break", "\u200b", "\u200b"],
];

const login = "mutation($input: LoginInput!) { login(input: $input) { user { id } } }";

describe("what people paste", () => {
  let w: World;
  before(async () => {
    w = await startWorld({ STEWARD_BUILTIN_DAEMON: "false", STEWARD_RATE_LIMIT_CREDENTIAL: "20" });
  });
  after(() => w.close());

  for (const [from, before, after] of edges) {
    const pasted = (text: string) => before + text + after;

    it(`is read without the white space of ${from}: emails, licenses, tokens, and codes`, async () => {
      const owner = w.as(w.owner);
      const ada = await w.user("ada");
      const credentials = { email: pasted(ada.email.toUpperCase()), password: userPassword };
      expect(await w.nobody.post("/api/v2/users/login", credentials)).to.include({ status: 201 });
      expect((await w.nobody.graphql(login, { input: credentials })).login.user.id).to.equal(ada.id);
      // In the text of a document as well, and where the input is a variable as a whole.
      const literal = JSON.stringify(credentials.email);
      const written = `mutation { login(input: { email: ${literal}, password: "${userPassword}" }) { user { id } } }`;
      expect((await w.nobody.graphql(written)).login.user.id).to.equal(ada.id);
      expect(await w.nobody.post("/api/v2/users/otp/request", { email: pasted(ada.email) })).to.include({
        status: 204,
      });

      const email = `new-${ada.username}@example.com`;
      const { updateUser } = await owner.graphql(
        "mutation($input: UpdateUserInput!) { updateUser(input: $input) { user { email } } }",
        { input: { user: ada.id, email: pasted(email) } },
      );
      expect(updateUser.user.email).to.equal(email);
      const { auditEvents } = await owner.graphql(
        "query($actor: String) { auditEvents(filter: { actor: $actor, action: LOGIN }) { nodes { actorId } } }",
        { actor: pasted(ada.email) },
      );
      expect(auditEvents.nodes.map(({ actorId }: { actorId: string }) => actorId)).to.deep.equal(
        Array.from({ length: 3 }, () => ada.id),
      );

      const license = await owner.post("/api/v2/licenses", { license: pasted(madeUp({ jti: `paste of ${from}` })) });
      expect(license, JSON.stringify(license.body)).to.include({ status: 201 });

      const client = await makeClient(w);
      const { code } = await makeCode(w, client, ada);
      const { body } = await redeem(w, client, pasted(code));
      const { body: latter } = await refresh(w, client, pasted(body.refresh_token));
      expect(await statusOf(w, latter.access_token), JSON.stringify(latter)).to.equal(200);
      const { status } = await sendForm(w, "revoke", {
        ...secretOf(client),
        token: pasted(latter.access_token),
      });
      expect(status).to.equal(200);
      expect(await statusOf(w, latter.access_token)).to.equal(401);
      const { user_code: userCode } = await startDevice(w, client);
      const device = "query($userCode: String!) { oauth2DeviceRequest(userCode: $userCode) { userCode } }";
      const { oauth2DeviceRequest } = await w.as(ada).graphql(device, { userCode: pasted(userCode) });
      expect(oauth2DeviceRequest).to.deep.equal({ userCode });
    });
  }

  it("counts as tries of one account, whatever the white space", async () => {
    const bob = await w.user("bob");
    const statuses: number[] = [];
    for (let index = 0; index < 21; index++) {
      const email = " ".repeat(index) + bob.email;
      statuses.push((await w.nobody.post("/api/v2/users/login", { email, password: "wrong" })).status);
    }
    expect(statuses).to.deep.equal([...Array.from({ length: 20 }, () => 401), 429]);
  });

  it("in headers, as bytes of UTF-8 and of Latin-1", async () => {
    const { token } = w.owner;
    const scim = await makeScimKey(w);
    const proxy = await makeProxy(w, "pasted");
    for (const space of ["\u00a0", "\u2009", "\u200b", "\u3000"]) {
      const sent = async (path: string, header: string, text: string) => {
        const { statuses } = await raw(w.url, Buffer.from(rawRequest(`GET ${path}`, [`${header}: ${text}`])));
        return statuses[0];
      };
      const me = "/api/v2/users/me/secrets";
      expect(await sent(me, "Service-Session-Token", space + token + space)).to.equal(200);
      expect(await sent(me, "Authorization", `Bearer ${space}${token}${space}`)).to.equal(200);
      expect(await sent("/scim/v2/Users", "Authorization", `Bearer ${scim.secret}${space}`)).to.equal(200);
      expect(await sent("/scim/v2/Users", "Authorizaiton", space + scim.secret)).to.equal(200);
      const basic = Buffer.from(`any:${scim.secret}${space}\n`).toString("base64");
      expect(await sent("/scim/v2/Users", "Authorization", `Basic ${basic}`)).to.equal(200);
      const asProxy = await sent("/graphql?query={__typename}", "Service-Proxy-Token", `${proxy.token}${space}`);
      expect(asProxy).to.equal(200);
      expect(await sent(me, "Service-Session-Token", token.slice(0, 20) + space + token.slice(20))).to.equal(401);
    }
    const { status } = await fetch(`${w.url}/api/v2/users/me/secrets`, {
      headers: { "Service-Session-Token": `${token}\u00a0` },
    });
    expect(status).to.equal(200);
  });

  it("in the first message of sockets, and of daemons", async () => {
    const { token } = w.owner;
    const client = createClient({
      url: `${w.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: `\u00a0${token}\n` },
      retryAttempts: 0,
    });
    const { value } = await client.iterate({ query: "{ me { username } }" }).next();
    expect(value.data).to.deep.equal({ me: { username: w.owner.username } });
    await client.dispose();
    const key = await newKey(w);
    const daemon = await serve(w.app, { headers: { "Service-Provisioner-Key": `${key}\u00a0` } });
    daemon.close();
  });

  it("in settings of commands, daemons, and agents", async () => {
    const ada = await w.user("ada");
    const cli = await UserCli.open({ STEWARD_URL: ` ${w.url}\n`, STEWARD_TOKEN: `\u00a0${ada.token}\r\n` });
    expect(await cli.json("whoami")).to.include({ username: ada.username });
    await cli.close();
    const asWord = {
      name: "STEWARD_KEY",
      read: (text: string) => text,
      rule: "a word",
      meaning: "Key",
      isSecret: true,
    };
    expect(readSettings({ asWord }, { STEWARD_KEY: " stwk_x\u200b\n" })).to.deep.equal({ asWord: "stwk_x" });
  });

  it("keeps its edges where it is a password, the value of a secret, or kept verbatim", async () => {
    const ada = await w.user("ada");
    const given = (password: string) => w.nobody.post("/api/v2/users/login", { email: ada.email, password });
    for (const password of [` ${userPassword}`, `${userPassword}\n`, `\u00a0${userPassword}\u00a0`])
      expect(await given(password), JSON.stringify(password)).to.include({ status: 401 });
    expect(await given(userPassword)).to.include({ status: 201 });
    const secret = 'mutation { createUserSecret(input: { name: "a", value: " v \\n" }) { userSecret { id } } }';
    await w.as(ada).graphql(secret);
    const { userSecretUsage } = await w.as(ada).graphql("{ userSecretUsage { valueBytes } }");
    expect(userSecretUsage.valueBytes).to.equal(4);

    const scim = await makeScimKey(w);
    const userName = " Spaced@example.com ";
    const body = { userName, externalId: " 7 ", emails: [{ value: "spaced@example.com", primary: true }] };
    const made = await w.nobody.post("/scim/v2/Users", body, { Authorization: `Bearer ${scim.secret}` });
    expect(made.body, JSON.stringify(made.body)).to.include({ userName, externalId: " 7 " });
  });

  it("is trimmed in the time of its length", () => {
    const inside = `x${" ".repeat(1_000_000)}x`;
    // In the time of its square, this would take hours.
    expect(withoutEdges(` ${inside} `)).to.equal(inside);
    expect(withoutEdges(" ".repeat(1_000_000))).to.equal("");
  });
});

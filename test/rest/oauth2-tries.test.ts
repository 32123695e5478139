// What counts as an attempt to guess a secret of the protocol: failures, and nothing that is right.
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import {
  approveDevice,
  credentials,
  insertClient,
  insertGrant,
  insertRefreshToken,
  makeClient,
  makeCode,
  type OAuthClient,
  selfRegistered,
  startDevice,
  unknownSecret,
} from "../support/oauth2.js";
import { tomorrow } from "../support/clock.js";
import { type Answer, Client, type Person, type World, world } from "../support/world.js";

const limits = {
  STEWARD_RATE_LIMIT_API: "6000",
  STEWARD_RATE_LIMIT_CREDENTIAL: "6",
  STEWARD_RATE_LIMIT_CREDENTIAL_IP: "20",
  STEWARD_TRUSTED_PROXIES: "127.0.0.0/8",
};
const form = { "Content-Type": "application/x-www-form-urlencoded" };

describe("attempts at the token endpoint", () => {
  const the = world(limits);
  let w: World;
  let ada: Person;
  let office: { id: string; document_url?: string };
  let addresses = 0;
  const somewhere = () => ({ "X-Forwarded-For": `198.51.100.${++addresses}` });

  before(async () => {
    w = the();
    ada = await w.user("ada");
    office = await insertClient(w, {
      ...selfRegistered,
      kind: "document",
      document_url: "https://tools.example.com/client.json",
      document_fresh_until: tomorrow(),
      document_usable_until: tomorrow(),
    });
  });

  const send = (fields: Record<string, string | undefined>, headers: object, client = w.nobody): Promise<Answer> => {
    const given = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
    return client.post("/oauth2/tokens", new URLSearchParams(given).toString(), { ...form, ...headers });
  };
  const refreshing = (token: string) => ({
    grant_type: "refresh_token",
    client_id: "https://tools.example.com/client.json",
    refresh_token: token,
  });
  const colleagues = async (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const grant = await insertGrant(w, ada.id, office.id, {});
        return (await insertRefreshToken(w, grant.id)).text;
      }),
    );
  const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status);
  const wrong = () => refreshing(unknownSecret("refreshToken"));

  it("are no right refresh tokens: an office behind one address refreshes as often as it likes", async () => {
    const here = somewhere();
    const answers = await Promise.all((await colleagues(30)).map((token) => send(refreshing(token), here)));
    expect(new Set(statusesOf(answers))).to.deep.equal(new Set([200]));
    for (const { headers } of answers) {
      expect(headers.get("ratelimit-policy")).to.equal('"api";q=6000;w=60');
      expect(headers.get("ratelimit")).to.match(/^"api";r=5999;/);
    }
    const [more] = await colleagues(1);
    expect(await send(refreshing(more!), here)).to.include({ status: 200 });
  });

  it("are no right codes, secrets, and device codes, also while the user has not decided", async () => {
    const here = somewhere();
    const client = await makeClient(w);
    const { createUser } = await w.as(w.owner)
      .graphql(`mutation { createUser(input: { username: "robot", email: "robot@example.com", isServiceAccount: true }) {
        user { id } } }`);
    const machine = await makeClient(w, { service_user_id: createUser.user.id });
    for (let n = 0; n < 8; n++) {
      const { code } = await makeCode(w, client, ada);
      expect(await send({ grant_type: "authorization_code", ...credentials(client), code }, here)).to.include({
        status: 200,
      });
      const { status, headers } = await send({ grant_type: "client_credentials", ...credentials(machine) }, here);
      expect(status).to.equal(200);
      expect(headers.get("ratelimit"), "by application").to.match(new RegExp(`^"api";r=${5999 - n};`));
    }
    const { device_code: code } = await startDevice(w, client);
    const poll = () =>
      send(
        { grant_type: "urn:ietf:params:oauth:grant-type:device_code", ...credentials(client), device_code: code },
        here,
      );
    for (let n = 0; n < 10; n++) expect((await poll()).body.error).to.match(/^(authorization_pending|slow_down)$/);
    await approveDevice(w, client, ada, code);
    expect(await poll()).to.include({ status: 200 });
  });

  it("are wrong ones, by address and application, before further work is done", async () => {
    const here = somewhere();
    const answers: Answer[] = [];
    for (let n = 0; n < 8; n++) answers.push(await send(wrong(), here));
    expect(statusesOf(answers)).to.deep.equal([400, 400, 400, 400, 400, 400, 429, 429]);
    expect(answers[5]!.headers.get("ratelimit-policy")).to.equal('"credential-ip";q=20;w=60, "credential";q=6;w=60');
    expect(answers[7]!.body.error).to.equal("temporarily_unavailable");
    expect(answers[7]!.headers.get("retry-after")).to.match(/^[1-9]\d?$/);
    const [token] = await colleagues(1);
    expect(await send(refreshing(token!), here), "the limit holds for right ones, too").to.include({ status: 429 });
    expect(await send(refreshing(token!), somewhere()), "elsewhere, and it was not spent").to.include({ status: 200 });
    const client = await makeClient(w);
    const { code } = await makeCode(w, client, ada);
    const other = { grant_type: "authorization_code", ...credentials(client), code };
    expect(await send(other, here), "another application").to.include({ status: 200 });
  });

  it("are bounded by address whatever they name, and requests that cannot be read are some", async () => {
    const here = somewhere();
    const nameless = Array.from({ length: 5 }, () => w.nobody.post("/oauth2/tokens", "{", here));
    const strange = Array.from({ length: 5 }, () =>
      w.nobody.post("/oauth2/tokens", "x", { ...here, "Content-Type": "text/plain" }),
    );
    const unknown = Array.from({ length: 20 }, (_, n) =>
      send({ grant_type: "refresh_token", client_id: `c${n}`, refresh_token: "x" }, here),
    );
    const answers = statusesOf(await Promise.all([...nameless, ...strange, ...unknown]));
    expect(answers.filter((status) => status === 429)).to.have.length(10);
    expect(await w.nobody.post("/oauth2/tokens", "{", here)).to.include({ status: 429 });
  });

  it("are bounded in parallel, in GraphQL as in REST, and on every replica", async () => {
    const here = somewhere();
    const replica: App = await startServer(w.database.url, limits);
    try {
      const elsewhere = new Client(replica.url);
      const document = `mutation($input: IssueOAuth2TokenInput!) { issueOAuth2Token(input: $input) { expiry } }`;
      const input = { grantType: "refresh_token", clientId: "https://tools.example.com/client.json" };
      const ask = async (client: Client) => {
        const variables = { input: { ...input, refreshToken: unknownSecret("refreshToken") } };
        const { body } = await client.post("/graphql", { query: document, variables }, here);
        return body.errors[0].extensions.code as string;
      };
      const codes = await Promise.all([
        ...Array.from({ length: 15 }, () => ask(w.nobody)),
        ...Array.from({ length: 15 }, () => ask(elsewhere)),
      ]);
      expect(codes.filter((code) => code === "BAD_USER_INPUT")).to.have.length(6);
      expect(codes.filter((code) => code === "RATE_LIMITED")).to.have.length(24);
      expect((await send(wrong(), here)).status).to.equal(429);
      expect((await send(wrong(), here, elsewhere)).status).to.equal(429);
    } finally {
      await replica.close();
    }
  });

  it("limit the uses of one grant as requests of a caller", async () => {
    const replica = await startServer(w.database.url, { ...limits, STEWARD_RATE_LIMIT_API: "3" });
    try {
      const client = new Client(replica.url);
      let [token] = await colleagues(1);
      const [other] = await colleagues(1);
      for (let n = 0; n < 3; n++) {
        const { status, body } = await send(refreshing(token!), somewhere(), client);
        expect(status).to.equal(200);
        token = body.refresh_token;
      }
      expect(await send(refreshing(token!), somewhere(), client)).to.include({ status: 429 });
      expect(await send(refreshing(other!), somewhere(), client)).to.include({ status: 200 });
      expect(await send(refreshing(token!), somewhere()), "it was not spent").to.include({ status: 200 });
    } finally {
      await replica.close();
    }
  });

  it("still count where nothing says whether they are right, and where passwords are tried", async () => {
    const here = somewhere();
    const client: OAuthClient = await makeClient(w);
    const revoke = () => w.nobody.post("/oauth2/revoke", { client_id: client.id, token: "x" }, here);
    for (let n = 0; n < 6; n++) expect(await revoke()).to.include({ status: 200 });
    expect(await revoke()).to.include({ status: 429 });
  });
});

// Browsers that are remembered: sign-in there takes no second factor.
// Reaches for tables: no test waits for days.
import { expect } from "chai";
import { startServer } from "../support/app.js";
import { addAuthenticator, codeOf, type Enrolled } from "../support/authenticators.js";
import { countRows, letPass, storedText } from "../support/tables.js";
import { type Anything, type Answer, Client, type Person, userPassword, world } from "../support/world.js";

const settings = {
  STEWARD_REMEMBERED_DEVICES: "30d",
  STEWARD_RATE_LIMIT_CREDENTIAL: "0",
  STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0",
};
const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };

const login = `mutation($input: LoginInput!) { login(input: $input) { sessionToken } }`;
const remember = `mutation { rememberDevice { deviceToken } }`;
const forget = `mutation($input: ForgetDeviceInput!) { forgetDevice(input: $input) { user { id } } }`;
const devices = `{ secondFactors { rememberedDevices { id userAgent lastUsedAt } } }`;

describe("remembered browsers", () => {
  const the = world(settings);

  type Holder = Person & Enrolled & { deviceToken: string };

  /** A user with an authenticator, whose browser is remembered. */
  async function holder(name = "ada"): Promise<Holder> {
    const person = await the().user(name);
    const factor = await addAuthenticator(the().as(person));
    const { rememberDevice } = await the().as(person).graphql(remember);
    return { ...person, ...factor, deviceToken: rememberDevice.deviceToken };
  }

  /** Signs in. Returns the session, or the message of the failure. */
  async function signIn({ email }: Person, deviceToken?: string, password = userPassword, client = the().nobody) {
    const variables = { input: { email, password, deviceToken } };
    const { body } = await client.post("/graphql", { query: login, variables });
    return (body.errors?.[0].message ?? body.data.login.sessionToken) as string;
  }

  const asked = "A one-time code is required.";
  const isSession = (text: string) => text.startsWith("stw_se_");

  it("sign in by the password alone, of their user, and say so in the audit log and the list", async () => {
    const w = the();
    const [ada, eve] = [await holder(), await holder("eve")];
    expect(await signIn(ada)).to.equal(asked);
    expect(isSession(await signIn(ada, ada.deviceToken))).to.equal(true);
    expect(await signIn(ada, eve.deviceToken)).to.equal(asked);
    expect(await signIn(ada, `${ada.deviceToken}x`)).to.equal(asked);
    expect(await signIn(ada, ada.deviceToken, "wrong")).to.equal("Incorrect email or password.");
    const { rememberedDevices } = (await w.as(ada).graphql(devices)).secondFactors;
    expect(rememberedDevices).to.have.length(1);
    expect(Date.parse(rememberedDevices[0]!.lastUsedAt)).to.be.within(Date.now() - 60_000, Date.now() + 5_000);
    expect(await storedText(w, "remembered_devices", "audit_events")).to.not.contain(ada.deviceToken);
  });

  it("prove nothing: such a session takes a code before what needs a recent proof, and before it is remembered again", async () => {
    const w = the();
    const ada = await holder();
    const me = w.as({ token: await signIn(ada, ada.deviceToken) });
    const make = `mutation { createApiKey(input: { name: "deploy" }) { token } }`;
    for (const document of [make, remember])
      expect((await me.failure(document)).code, document).to.equal("STEP_UP_REQUIRED");
    await me.graphql(`mutation { proveIdentity(input: { oneTimeCode: "${codeOf(ada.secret, 1)}" }) { proven } }`);
    await me.graphql(make);
    expect(await countRows(w, "api_keys", { user_id: ada.id, kind: "token" })).to.equal(1);
  });

  it("are forgotten by their user, after their time, and beyond twenty", async () => {
    const w = the();
    const [ada, eve] = [await holder(), await holder("eve")];
    const { id } = (await w.as(ada).graphql(devices)).secondFactors.rememberedDevices[0]!;
    expect((await w.as(eve).failure(forget, { input: { id } })).code).to.equal("NOT_FOUND");
    await w.as(ada).graphql(forget, { input: { id } });
    expect(await signIn(ada, ada.deviceToken)).to.equal(asked);
    await letPass(w, "remembered_devices", { user_id: eve.id }, "29 days", ["created_at"]);
    expect(isSession(await signIn(eve, eve.deviceToken))).to.equal(true);
    for (let nr = 0; nr < 20; nr++) await w.as(eve).graphql(remember);
    expect(await countRows(w, "remembered_devices", { user_id: eve.id })).to.equal(20);
    expect(await signIn(eve, eve.deviceToken), "the oldest").to.equal(asked);
    const { rememberDevice } = await w.as(eve).graphql(remember);
    await letPass(w, "remembered_devices", { user_id: eve.id }, "30 days", ["created_at"]);
    expect(await signIn(eve, rememberDevice.deviceToken)).to.equal(asked);
    expect((await w.as(eve).graphql(devices)).secondFactors.rememberedDevices).to.deep.equal([]);
  });

  const ends: Record<string, (person: Holder) => Promise<string>> = {
    "a new password": async (person) => {
      const newPassword = "birch-Lantern-mosaic-41";
      const change = `mutation($input: ChangePasswordInput!) { changePassword(input: $input) { user { id } } }`;
      await the()
        .as(person)
        .graphql(change, { input: { currentPassword: userPassword, newPassword } });
      return newPassword;
    },
    "a password that an administrator sets": async ({ id }) => {
      const password = "birch-Lantern-mosaic-42";
      const reset = `mutation($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }`;
      await the()
        .as(the().owner)
        .graphql(reset, { input: { user: id, password } });
      return password;
    },
    "a reset of the factors": async (person) => {
      const reset = `mutation { resetSecondFactors(input: { user: "${person.id}" }) { user { id } } }`;
      await the().as(the().owner).graphql(reset);
      await addAuthenticator(the().as({ token: await the().session(person.id) }));
      return userPassword;
    },
  };
  for (const [what, end] of Object.entries(ends))
    it(`end with ${what}`, async () => {
      const ada = await holder();
      const password = await end(ada);
      expect(await signIn(ada, ada.deviceToken, password)).to.equal(asked);
      expect(await countRows(the(), "remembered_devices", { user_id: ada.id })).to.equal(0);
    });

  it("need a factor and the setting, which ends them", async () => {
    const w = the();
    const [ada, bob] = [await holder(), await w.user("bob")];
    expect((await w.as(bob).failure(remember)).code).to.equal("CONFLICT");
    expect((await w.as(await w.scoped(ada, "all")).failure(remember)).code).to.equal("FORBIDDEN");
    const server = await startServer(w.database.url, { ...settings, STEWARD_REMEMBERED_DEVICES: "0s" });
    try {
      const client = new Client(server.url);
      expect(await signIn(ada, ada.deviceToken, userPassword, client)).to.equal(asked);
      expect((await new Client(server.url, ada.token).failure(remember)).code).to.equal("FORBIDDEN");
    } finally {
      await server.close();
    }
  });

  it("are offered on the page of the code, kept in a cookie that scripts cannot read, and forgotten on the page of the account", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { secret } = await addAuthenticator(w.as(ada));
    const cookies = new Map<string, string>();
    const keep = (answer: Answer) => {
      for (const cookie of answer.headers.getSetCookie()) {
        const [name, value] = cookie.split(";")[0]!.split("=") as [string, string];
        cookies.set(name, value);
      }
      return answer;
    };
    const headers = () => ({ cookie: [...cookies].map((pair) => pair.join("=")).join("; ") });
    const hidden = (name: string, { body }: Answer) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(body)?.[1] ?? "";
    const send = async (from: Answer, fields: Record<string, string>) => {
      const body = new URLSearchParams({ csrf_token: hidden("csrf_token", from), ...fields }).toString();
      return keep(await w.nobody.post("/login", body, { ...urlencoded, ...headers() }));
    };
    const credentials = { email: ada.email, password: userPassword };
    const first = keep(await w.nobody.get("/login"));
    const second = await send(first, credentials);
    expect(second.body).to.contain("do not ask again for 30 days");
    const kept = hidden("kept", second);
    const done = await send(second, { kept, oneTimeCode: codeOf(secret, 1), remember: "yes" });
    expect(done.status).to.equal(303);
    const set = done.headers.getSetCookie().find((each) => each.startsWith("service_remembered_device="))!;
    expect(set).to.match(/; Path=\/login; HttpOnly; SameSite=Lax; Max-Age=2592000$/);

    cookies.delete("service_session_token");
    const again = await send(keep(await w.nobody.get("/login", headers())), credentials);
    expect([again.status, cookies.has("service_session_token")]).to.deep.equal([303, true]);

    const page = "/account/second-factor";
    const own = { ...headers(), "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
    const shown = await w.nobody.get(page, own);
    expect(shown.body).to.contain("Remembered browsers");
    const { id }: Anything = (await w.as(ada).graphql(devices)).secondFactors.rememberedDevices[0];
    const form = new URLSearchParams({ csrf_token: hidden("csrf_token", shown), action: "forget", id }).toString();
    const forgotten = await w.nobody.post(page, form, { ...urlencoded, ...own });
    expect(forgotten.body).to.contain("The browser is forgotten.").and.not.contain("Remembered browsers");
    const asks = await send(keep(await w.nobody.get("/login", headers())), credentials);
    expect(asks.body).to.contain("Enter your code");
  });
});

// Passkeys of accounts with a password: as the only factor, as the second one, and as a proof later, with what attackers try.
// Reaches for tables: no test waits for minutes.
import { expect } from "chai";
import { addAuthenticator, codeOf } from "../support/authenticators.js";
import { audited } from "../support/audit.js";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { startCompiled } from "../support/compiled.js";
import { addPasskey, beginPasskey, confirmPasskey, type Deviation, SoftPasskey } from "../support/passkeys.js";
import { countRows, letPass, setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Anything, Client, type Person, userPassword, world } from "../support/world.js";

const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };

const beginLogin = `mutation($input: BeginPasskeyLoginInput!) { beginPasskeyLogin(input: $input) { options } }`;
const loginWith = `mutation($input: LoginWithPasskeyInput!) { loginWithPasskey(input: $input) { sessionToken user { id } } }`;
const login = `mutation($input: LoginInput!) { login(input: $input) { sessionToken user { id } } }`;
const beginProof = `mutation { beginPasskeyProof { options } }`;
const prove = `mutation($input: ProveIdentityInput!) { proveIdentity(input: $input) { proven } }`;
const rename = `mutation($input: UpdatePasskeyInput!) { updatePasskey(input: $input) { user { id } } }`;
const remove = `mutation($input: RemovePasskeyInput!) { removePasskey(input: $input) { user { id } } }`;
const reset = `mutation($user: String!) { resetSecondFactors(input: { user: $user }) { user { username } } }`;
const factors = `query($user: String! = "me") { secondFactors(user: $user) {
  authenticatorConfirmedAt recoveryCodesLeft passkeys { id name transports isBackedUp createdAt lastUsedAt } } }`;
const rejected = "This passkey does not sign in here, or it came too late. Try again.";

type Holder = Person & { passkey: SoftPasskey; passkeyId: string; recoveryCodes: string[] };

describe("passkeys", () => {
  const the = world(noLimits);
  const origin = () => the().app.services.config.accessUrl;

  async function holder(name = "ada", passkey = new SoftPasskey()): Promise<Holder> {
    const person = await the().user(name);
    const { id, recoveryCodes } = await addPasskey(the().as(person), origin(), { passkey });
    return { ...person, passkey, passkeyId: id, recoveryCodes: recoveryCodes! };
  }

  const loginOptions = async (input: object = {}): Promise<Anything> =>
    (await the().nobody.graphql(beginLogin, { input })).beginPasskeyLogin.options;

  /** Signs in by a passkey alone. Returns the id of the user, or the message of the failure. */
  async function signIn(given: string): Promise<string> {
    const { body } = await the().nobody.post("/graphql", {
      query: loginWith,
      variables: { input: { passkey: given } },
    });
    return body.errors?.[0].message ?? body.data.loginWithPasskey.user.id;
  }

  const faultsOf = async (client: Client, document: string, input: object) => {
    const { errors } = await client.failure(document, { input });
    const { code, validations } = errors[0]!.extensions as Anything;
    return [code, ...(validations ?? []).map(({ field }: Anything) => field)];
  };

  const titles = async (client: Client): Promise<string[]> =>
    (await client.get("/api/v2/notifications/inbox")).body.notifications.map(({ title }: Anything) => title);

  const letProofsAge = async ({ id }: Person) => {
    await letPass(the(), "api_keys", { user_id: id }, "11 min", ["created_at", "proved_at"]);
    the().app.services.credentials.onChange(`u:${id}`);
  };

  describe("are added", () => {
    it("with the password as the first factor: other sessions end, and there are recovery codes", async () => {
      const w = the();
      const ada = await w.user("ada");
      const elsewhere = await w.login(ada.email, userPassword);
      const options = await beginPasskey(w.as(ada));
      expect(options).to.deep.include({
        rp: { name: "Steward", id: "localhost" },
        attestation: "none",
        timeout: 300_000,
        excludeCredentials: [],
      });
      expect(options.user.name).to.equal(ada.email);
      const made = await addPasskey(w.as(ada), origin(), { name: "My laptop" });
      expect(made.recoveryCodes).to.have.length(10);
      const { secondFactors } = await w.as(ada).graphql(factors);
      expect(secondFactors.passkeys[0]).to.deep.include({
        id: made.id,
        name: "My laptop",
        transports: ["internal", "hybrid"],
        isBackedUp: false,
        lastUsedAt: null,
      });
      expect([secondFactors.authenticatorConfirmedAt, secondFactors.recoveryCodesLeft]).to.deep.equal([null, 10]);
      expect((await w.as({ token: elsewhere }).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
      expect((await audited(w, { resourceId: ada.id, action: "UPDATE" })).map(({ diff }) => diff)).to.deep.equal([
        { passkey: { new: "My laptop" } },
      ]);
      expect(await titles(w.as(ada))).to.deep.equal(["A passkey was added to your account"]);
    });

    it("beside other factors with a recent proof instead of the password", async () => {
      const w = the();
      const ada = await holder();
      const second = await addPasskey(w.as(ada), origin(), { password: null });
      expect(second.recoveryCodes, "those of the first one go on").to.equal(null);
      const options = await beginPasskey(w.as(ada), null);
      expect(options.excludeCredentials.map(({ id }: Anything) => id)).to.have.members(
        [ada.passkey, second.passkey].map(({ credentialId }) => credentialId.toString("base64url")),
      );
      await letProofsAge(ada);
      const begin = `mutation { beginPasskey(input: { password: "${userPassword}" }) { options } }`;
      expect((await w.as(ada).failure(begin)).code).to.equal("STEP_UP_REQUIRED");
      const bob = await w.user("bob");
      await addAuthenticator(w.as(bob));
      expect((await addPasskey(w.as(bob), origin(), { password: null })).recoveryCodes).to.equal(null);
    });

    it("not without the password, by an API token, to an account that signs in elsewhere, or beyond twenty", async () => {
      const w = the();
      const [ada, bob] = [await w.user("ada"), await w.user("bob", undefined, "OIDC")];
      const begin = `mutation($input: BeginPasskeyInput!) { beginPasskey(input: $input) { options } }`;
      const of = (client: Client, input = {}) => faultsOf(client, begin, input);
      expect(await of(w.as(ada))).to.deep.equal(["BAD_USER_INPUT", "input.password"]);
      expect(await of(w.as(ada), { password: "wrong" })).to.deep.equal(["BAD_USER_INPUT", "input.password"]);
      expect(await of(w.as(await w.scoped(ada, "all")), { password: userPassword })).to.deep.equal(["FORBIDDEN"]);
      expect(await of(w.as(bob), { password: userPassword })).to.deep.equal(["CONFLICT"]);
      const options = await beginPasskey(w.as(ada));
      for (let nr = 0; nr < 20; nr++)
        await addPasskey(w.as(ada), origin(), { password: nr === 0 ? userPassword : null });
      expect(await of(w.as(ada))).to.deep.equal(["CONFLICT"]);
      const input = { passkey: new SoftPasskey().create(options, origin()) };
      expect(await faultsOf(w.as(ada), confirmPasskey, input)).to.deep.equal(["CONFLICT"]);
    });

    const wrong: Record<string, Deviation & { form?: string; statement?: Map<string, unknown> }> = {
      "another origin": { origin: "https://steward.example.com" },
      "another relying party": { rpId: "example.com" },
      "another challenge": { challenge: "AAAA" },
      "a use in place of a new one": { type: "webauthn.get" },
      "an absent user": { isPresent: false },
      "a statement of its maker, which the server would follow to URLs": {
        form: "apple",
        statement: new Map([["x5c", Buffer.from("x")]]),
      },
    };
    for (const [what, deviation] of Object.entries(wrong))
      it(`not with ${what}`, async () => {
        const w = the();
        const ada = await w.user("ada");
        const options = await beginPasskey(w.as(ada));
        const input = { passkey: new SoftPasskey().create(options, origin(), deviation) };
        expect(await faultsOf(w.as(ada), confirmPasskey, input)).to.deep.equal(["BAD_USER_INPUT", "input.passkey"]);
        expect(await countRows(w, "passkeys", { user_id: ada.id })).to.equal(0);
      });

    it("once for each challenge, in the session that got it, within five minutes", async () => {
      const w = the();
      const ada = await w.user("ada");
      const add = async (client: Client, options: Anything) =>
        client.post("/graphql", {
          query: confirmPasskey,
          variables: { input: { passkey: new SoftPasskey().create(options, origin()) } },
        });
      const codeOfFailure = async (client: Client, options: Anything) =>
        (await add(client, options)).body.errors?.[0].extensions.code;
      const options = await beginPasskey(w.as(ada));
      const other = w.as({ token: await w.session(ada.id) });
      expect(await codeOfFailure(other, options), "another session").to.equal("BAD_USER_INPUT");
      expect(await codeOfFailure(w.as(ada), options)).to.equal(undefined);
      expect(await codeOfFailure(w.as(ada), options), "again").to.equal("BAD_USER_INPUT");
      const late = await beginPasskey(w.as(ada), null);
      await letPass(w, "passkey_challenges", { user_id: ada.id }, "5 min", ["expires_at"]);
      expect(await codeOfFailure(w.as(ada), late), "late").to.equal("BAD_USER_INPUT");
    });

    it("not if it belongs to another account", async () => {
      const w = the();
      const [ada, bob] = [await holder(), await w.user("bob")];
      const input = { passkey: ada.passkey.create(await beginPasskey(w.as(bob)), origin()) };
      expect(await faultsOf(w.as(bob), confirmPasskey, input)).to.deep.equal(["CONFLICT"]);
    });
  });

  describe("sign in without a password", () => {
    it("if the authenticator knows who uses it, which counts for both factors", async () => {
      const w = the();
      const ada = await holder();
      await addAuthenticator(w.as(ada));
      const options = await loginOptions();
      expect(options).to.deep.include({ rpId: "localhost", userVerification: "required", allowCredentials: [] });
      expect(await signIn(ada.passkey.use(options, origin()))).to.equal(ada.id);
      const { secondFactors } = await w.as({ token: await w.session(ada.id) }).graphql(factors);
      expect(Date.parse(secondFactors.passkeys[0]!.lastUsedAt)).to.be.within(Date.now() - 60_000, Date.now() + 5_000);
      const logins = (await audited(w, { resourceId: ada.id })).filter(({ action }) => action === "LOGIN");
      expect(logins.map(({ diff }) => diff)).to.deep.equal([{ passkey: { new: true } }]);
    });

    it("also if it does not count its uses", async () => {
      const ada = await holder("ada", new SoftPasskey(false));
      for (let nr = 0; nr < 2; nr++)
        expect(await signIn(ada.passkey.use(await loginOptions(), origin()))).to.equal(ada.id);
    });

    const wrong: Record<string, Deviation> = {
      "from another origin": { origin: "http://localhost:1" },
      "for another relying party": { rpId: "example.com" },
      "for a challenge of its own": { challenge: "c29tZXRoaW5n" },
      "with a new credential in place of a use": { type: "webauthn.create" },
      "without verification of the user": { isVerified: false },
      "without a user": { isPresent: false },
      "with a signature of another": { signature: Buffer.from("304402200102030405060708", "hex") },
      "for another user": { userHandle: Buffer.alloc(16, 7).toString("base64url") },
    };
    for (const [how, deviation] of Object.entries(wrong))
      it(`not ${how}`, async () => {
        const ada = await holder();
        expect(await signIn(ada.passkey.use(await loginOptions(), origin(), deviation))).to.equal(rejected);
        expect(await signIn(ada.passkey.use(await loginOptions(), origin()))).to.equal(ada.id);
      });

    it("not by the passkey of another under its ID", async () => {
      const [ada, eve] = [await holder(), await holder("eve")];
      const id = ada.passkey.credentialId.toString("base64url");
      const { userHandle } = ada.passkey;
      const given = eve.passkey.use(await loginOptions(), origin(), { id, userHandle: userHandle! });
      expect(await signIn(given)).to.equal(rejected);
    });

    it("once for each challenge, also if it failed before, or came many times together", async () => {
      const ada = await holder();
      const options = await loginOptions();
      const given = ada.passkey.use(options, origin());
      const tried = await Promise.all(Array.from({ length: 6 }, () => signIn(given)));
      expect(tried.filter((each) => each === ada.id)).to.have.length(1);
      expect(await signIn(given), "later").to.equal(rejected);
      const spent = await loginOptions();
      expect(await signIn(ada.passkey.use(spent, origin(), { isVerified: false }))).to.equal(rejected);
      expect(await signIn(ada.passkey.use(spent, origin())), "it was tried").to.equal(rejected);
    });

    it("not later than five minutes, and not for a challenge of another purpose", async () => {
      const w = the();
      const ada = await holder();
      const late = await loginOptions();
      await letPass(w, "passkey_challenges", { purpose: "sign_in" }, "5 min", ["expires_at"]);
      expect(await signIn(ada.passkey.use(late, origin()))).to.equal(rejected);
      const { beginPasskeyProof } = await w.as(ada).graphql(beginProof);
      expect(await signIn(ada.passkey.use(beginPasskeyProof.options, origin()))).to.equal(rejected);
      const completing = await loginOptions({ email: ada.email, password: userPassword });
      expect(await signIn(ada.passkey.use(completing, origin()))).to.equal(rejected);
    });

    it("alike rejected for unknown passkeys, suspended accounts, deleted ones, and those that sign in elsewhere", async () => {
      const w = the();
      const [ada, bob, eve] = [await holder(), await holder("bob"), await holder("eve")];
      const stranger = new SoftPasskey();
      const owner = w.as(w.owner);
      await owner.graphql(`mutation { suspendUser(input: { user: "${ada.id}" }) { user { id } } }`);
      await owner.graphql(`mutation { deleteUser(input: { user: "${bob.id}" }) { user { id } } }`);
      await setColumns(w, "users", { id: eve.id }, { login_type: "oidc" });
      for (const passkey of [stranger, ada.passkey, bob.passkey, eve.passkey])
        expect(await signIn(passkey.use(await loginOptions(), origin()))).to.equal(rejected);
      expect(await countRows(w, "passkeys", { user_id: bob.id })).to.equal(0);
    });

    it("not once its count goes backwards, of which the user is told", async () => {
      const w = the();
      const ada = await holder();
      expect(await signIn(ada.passkey.use(await loginOptions(), origin(), { count: 7 }))).to.equal(ada.id);
      for (const count of [7, 3, 0])
        expect(await signIn(ada.passkey.use(await loginOptions(), origin(), { count })), String(count)).to.equal(
          rejected,
        );
      const me = w.as({ token: await w.session(ada.id) });
      await eventually(async () => (await titles(me)).length === 4, "the user is told");
      expect((await titles(me)).slice(0, 3)).to.deep.equal(
        Array.from({ length: 3 }, () => "A passkey of your account may have been copied"),
      );
      expect(await signIn(ada.passkey.use(await loginOptions(), origin(), { count: 8 }))).to.equal(ada.id);
    });

    it("while hostile texts are just wrong", async () => {
      const ada = await holder();
      const good: Anything = JSON.parse(ada.passkey.use(await loginOptions(), origin()));
      const hostile = [
        "x",
        "{}",
        "[]",
        "null",
        "[".repeat(5_000),
        JSON.stringify({ ...good, id: "x y" }),
        JSON.stringify({ ...good, type: "password" }),
        JSON.stringify({ ...good, response: { ...good.response, clientDataJSON: "bm8" } }),
        JSON.stringify({ ...good, response: { ...good.response, authenticatorData: "AAAA" } }),
        JSON.stringify({ ...good, response: { ...good.response, signature: "AAAA" } }),
      ];
      for (const each of hostile) expect(await signIn(each), each.slice(0, 40)).to.equal(rejected);
      for (const each of ["", "x".repeat(24_577)])
        expect(await faultsOf(the().nobody, loginWith, { passkey: each })).to.deep.equal([
          "BAD_USER_INPUT",
          "input.passkey",
        ]);
    });
  });

  describe("complete a sign-in with the password", () => {
    it("in place of a code, also if the authenticator does not know who uses it", async () => {
      const w = the();
      const ada = await holder();
      const input = { email: ada.email, password: userPassword };
      const { errors } = await w.nobody.failure(login, { input });
      expect(errors[0]!.extensions).to.deep.include({
        code: "UNAUTHENTICATED",
        reason: "one_time_code",
        satisfiedBy: ["PASSKEY", "ONE_TIME_CODE"],
      });
      const options = await loginOptions(input);
      expect(options.userVerification).to.equal("preferred");
      expect(options.allowCredentials.map(({ id }: Anything) => id)).to.deep.equal([
        ada.passkey.credentialId.toString("base64url"),
      ]);
      const passkey = ada.passkey.use(options, origin(), { isVerified: false });
      expect((await w.nobody.graphql(login, { input: { ...input, passkey } })).login.user.id).to.equal(ada.id);
      expect(await faultsOf(w.nobody, login, { ...input, passkey })).to.deep.equal([
        "UNAUTHENTICATED",
        "input.passkey",
      ]);
    });

    it("after the right password only, and not by the passkey of another, or for its challenge", async () => {
      const w = the();
      const [ada, eve] = [await holder(), await holder("eve")];
      const input = { email: ada.email, password: userPassword };
      const wrong = await w.nobody.failure(beginLogin, { input: { ...input, password: "wrong" } });
      expect([wrong.code, wrong.message]).to.deep.equal(["UNAUTHENTICATED", "Incorrect email or password."]);
      const options = await loginOptions(input);
      const failed = ["UNAUTHENTICATED", "input.passkey"];
      const passkey = eve.passkey.use(options, origin());
      expect(await faultsOf(w.nobody, login, { ...input, passkey })).to.deep.equal(failed);
      const ofEve = await loginOptions({ email: eve.email, password: userPassword });
      const signed = ada.passkey.use(ofEve, origin());
      expect(await faultsOf(w.nobody, login, { ...input, passkey: signed })).to.deep.equal(failed);
      const alone = ada.passkey.use(await loginOptions(), origin());
      expect(await faultsOf(w.nobody, login, { ...input, passkey: alone })).to.deep.equal(failed);
    });

    it("or a recovery code does", async () => {
      const w = the();
      const ada = await holder();
      const input = { email: ada.email, password: userPassword, oneTimeCode: ada.recoveryCodes[0] };
      expect((await w.nobody.graphql(login, { input })).login.user.id).to.equal(ada.id);
      expect(await faultsOf(w.nobody, login, input)).to.deep.equal(["UNAUTHENTICATED", "input.oneTimeCode"]);
    });

    it("within the limit of wrong codes", async () => {
      const w = the();
      const ada = await holder();
      const input = { email: ada.email, password: userPassword };
      for (let nr = 0; nr < 10; nr++) await w.nobody.failure(login, { input: { ...input, passkey: "{}" } });
      const passkey = ada.passkey.use(await loginOptions(input), origin());
      expect((await w.nobody.failure(login, { input: { ...input, passkey } })).code).to.equal("RATE_LIMITED");
    });
  });

  it("prove again who the user of a session is, once, in that session alone", async () => {
    const w = the();
    const ada = await holder();
    const me = w.as(ada);
    await letProofsAge(ada);
    const other = w.as({ token: await w.session(ada.id) });
    const make = `mutation { createApiKey(input: { name: "deploy" }) { token } }`;
    expect((await me.failure(make)).errors[0]!.extensions.satisfiedBy).to.deep.equal(["PASSKEY", "ONE_TIME_CODE"]);
    const { options } = (await me.graphql(beginProof)).beginPasskeyProof;
    const elsewhere = (await other.graphql(beginProof)).beginPasskeyProof.options;
    const wrong = { passkey: ada.passkey.use(elsewhere, origin()) };
    expect(await faultsOf(me, prove, wrong)).to.deep.equal(["BAD_USER_INPUT", "input.passkey"]);
    const input = { passkey: ada.passkey.use(options, origin()) };
    await me.graphql(prove, { input });
    await me.graphql(make);
    expect(await faultsOf(me, prove, input)).to.deep.equal(["BAD_USER_INPUT", "input.passkey"]);
  });

  describe("are changed", () => {
    it("by their user: renamed, and removed with a recent proof, with the recovery codes if nothing is left", async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      await me.graphql(rename, { input: { id: ada.passkeyId, name: "Old laptop" } });
      expect((await me.graphql(factors)).secondFactors.passkeys[0]!.name).to.equal("Old laptop");
      const fault = ["BAD_USER_INPUT", "input.name"];
      for (const name of ["", " x", "x".repeat(65)])
        expect(await faultsOf(me, rename, { id: ada.passkeyId, name })).to.deep.equal(fault);
      await letProofsAge(ada);
      expect(await faultsOf(me, remove, { id: ada.passkeyId })).to.deep.equal(["STEP_UP_REQUIRED"]);
      await me.graphql(prove, { input: { oneTimeCode: ada.recoveryCodes[0] } });
      await me.graphql(remove, { input: { id: ada.passkeyId } });
      const { secondFactors } = await me.graphql(factors);
      expect(secondFactors).to.deep.equal({ authenticatorConfirmedAt: null, recoveryCodesLeft: 0, passkeys: [] });
      const input = { email: ada.email, password: userPassword };
      expect((await w.nobody.graphql(login, { input })).login.user.id).to.equal(ada.id);
      expect(await signIn(ada.passkey.use(await loginOptions(), origin()))).to.equal(rejected);
      expect((await titles(me))[0]).to.equal("A passkey of your account was removed");
    });

    it("and keep the recovery codes while another factor is left, either way", async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      const { secret } = await addAuthenticator(me);
      await me.graphql(remove, { input: { id: ada.passkeyId } });
      expect((await me.graphql(factors)).secondFactors.recoveryCodesLeft).to.equal(10);
      const { id } = await addPasskey(me, origin(), { password: null });
      await me.graphql(
        `mutation { removeAuthenticator(input: { oneTimeCode: "${codeOf(secret, 1)}" }) { user { id } } }`,
      );
      const { secondFactors } = await me.graphql(factors);
      expect([secondFactors.recoveryCodesLeft, secondFactors.passkeys[0]!.id]).to.deep.equal([10, id]);
      const codes = `mutation { regenerateRecoveryCodes(input: {}) { recoveryCodes } }`;
      expect((await me.graphql(codes)).regenerateRecoveryCodes.recoveryCodes).to.have.length(10);
      await letProofsAge(ada);
      expect((await me.failure(codes)).code).to.equal("STEP_UP_REQUIRED");
    });

    it("by no other user, but for administrators, who remove all factors", async () => {
      const w = the();
      const [ada, eve] = [await holder(), await holder("eve")];
      expect(await faultsOf(w.as(eve), rename, { id: ada.passkeyId, name: "x" })).to.deep.equal(["NOT_FOUND"]);
      expect(await faultsOf(w.as(eve), remove, { id: ada.passkeyId })).to.deep.equal(["NOT_FOUND"]);
      expect((await w.as(eve).failure(factors, { user: ada.id })).code).to.equal("NOT_FOUND");
      await w.as(w.owner).graphql(reset, { user: ada.id });
      expect(await signIn(ada.passkey.use(await loginOptions(), origin()))).to.equal(rejected);
      expect((await w.as(ada).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
      const events = await audited(w, { resourceId: ada.id, action: "UPDATE" });
      expect(events.at(-1)!.diff).to.deep.equal({ passkeys: { old: ["laptop"] } });
      const me = w.as({ token: await w.session(ada.id) });
      expect((await titles(me))[0]).to.equal("The passkeys of your account were removed");
    });
  });

  describe("depend on the settings of the deployment:", () => {
    const servers: App[] = [];
    const serverWith = async (more: Record<string, string>) => {
      const server = await startServer(the().database.url, { ...noLimits, ...more });
      servers.push(server);
      return server;
    };
    after(() => Promise.all(servers.map((server) => server.close())));
    const takes = async (server: App) =>
      (await new Client(server.url).graphql("{ serverInfo { takesPasskeys } }")).serverInfo.takesPasskeys;

    it("they are the factor that is required, and the last one stays", async () => {
      const ada = await the().user("ada");
      const server = await serverWith({ STEWARD_SECOND_FACTORS: "required", STEWARD_ACCESS_URL: origin() });
      const me = new Client(server.url, ada.token);
      expect((await me.failure("{ me { id } }")).errors[0]!.extensions.reason).to.equal("second_factor_required");
      const { id } = await addPasskey(me, origin());
      expect((await me.graphql("{ me { id } }")).me.id).to.equal(ada.id);
      expect(await faultsOf(me, remove, { id })).to.deep.equal(["CONFLICT"]);
      const other = await addPasskey(me, origin(), { password: null });
      await me.graphql(remove, { input: { id } });
      expect(await faultsOf(me, remove, { id: other.id })).to.deep.equal(["CONFLICT"]);
    });

    it("they count for nothing where second factors are off, or passwords are", async () => {
      const ada = await holder();
      const off: Array<Record<string, string>> = [
        { STEWARD_SECOND_FACTORS: "off" },
        { STEWARD_PASSWORD_AUTH: "false" },
      ];
      for (const more of off) {
        const server = await serverWith({ ...more, STEWARD_ACCESS_URL: origin() });
        expect(await takes(server)).to.equal(false);
        const visitor = new Client(server.url);
        expect(await faultsOf(visitor, beginLogin, {})).to.deep.equal(["FORBIDDEN"]);
        const passkey = ada.passkey.use(await loginOptions(), origin());
        expect(await faultsOf(visitor, loginWith, { passkey })).to.deep.equal(["FORBIDDEN"]);
        expect((await visitor.get("/login")).body).to.not.contain("passkey");
      }
    });

    it("browsers allow them by https alone, and for names of hosts", async () => {
      const urls: Record<string, boolean> = {
        "http://localhost:3000": true,
        "https://steward.example.com": true,
        "http://steward.example.com": false,
        "https://192.0.2.7": false,
        "https://[2001:db8::7]": false,
      };
      for (const [url, isTaken] of Object.entries(urls))
        expect(await takes(await serverWith({ STEWARD_ACCESS_URL: url })), url).to.equal(isTaken);
    });
  });

  it("are used on pages whose policy allows scripts of ours alone, and only there", async () => {
    const w = the();
    const [ada, bob] = [await holder(), await w.user("bob")];
    const policyOf = async (path: string, token?: string) =>
      (
        await w.nobody.get(path, {
          ...(token && { cookie: `service_session_token=${token}` }),
          "sec-fetch-site": "same-origin",
          "sec-fetch-mode": "navigate",
        })
      ).headers.get("content-security-policy")!;
    const ofLogin = await policyOf("/login");
    expect(ofLogin).to.contain(
      "script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    for (const [path, token] of [
      ["/login/forgot-password", undefined],
      ["/account/second-factor", ada.token],
      ["/account/second-factor", bob.token],
      ["/account/keys", bob.token],
    ] as const)
      expect(await policyOf(path, token), path).to.not.contain("script");
  });

  it("work in the compiled program, whose packages are bundled", async () => {
    const url = "http://localhost:3000";
    const compiled = await startCompiled({ ...noLimits, STEWARD_ACCESS_URL: url });
    try {
      const { passkey } = await addPasskey(compiled.as(compiled.owner), url, { password: ownerPassword });
      const { options } = (await compiled.nobody.graphql(beginLogin, { input: {} })).beginPasskeyLogin;
      const input = { passkey: passkey.use(options, url) };
      const signedIn = (await compiled.nobody.graphql(loginWith, { input })).loginWithPasskey;
      expect(signedIn.user.id).to.equal(compiled.owner.id);
      const page = await compiled.nobody.get("/login");
      const [, script] = /<script src="([^"]+)" defer>/.exec(page.body)!;
      expect((await compiled.nobody.get(script!)).body).to.contain("SimpleWebAuthnBrowser");
    } finally {
      await compiled.app.close();
    }
  });
});

// Second factors of accounts with a password: authenticators, recovery codes, and the sign-in that asks for them.
// Reaches for tables: no test waits half a minute for another code, and no interface shows what is stored of secrets.
import { expect } from "chai";
import { addAuthenticator, beginAuthenticator, codeOf, type Enrolled } from "./support/authenticators.js";
import { audited } from "./support/audit.js";
import { type App, startServer } from "./support/app.js";
import { countRows, letPass, lockRows, setColumns, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { type Anything, Client, type Person, userPassword, world } from "./support/world.js";

const path = "/api/v2/users/login";
const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };

const confirm = `mutation($input: ConfirmAuthenticatorInput!) { confirmAuthenticator(input: $input) { recoveryCodes user { username } } }`;
const regenerate = `mutation($input: RegenerateRecoveryCodesInput!) { regenerateRecoveryCodes(input: $input) { recoveryCodes } }`;
const remove = `mutation($input: RemoveAuthenticatorInput!) { removeAuthenticator(input: $input) { user { username } } }`;
const reset = `mutation($user: String!) { resetSecondFactors(input: { user: $user }) { user { username } } }`;
const factors = `query($user: String! = "me") { secondFactors(user: $user) { authenticatorConfirmedAt recoveryCodesLeft } }`;

const wrongCode = "Is wrong, or was used before. Wait for the next code.";

describe("second factors", () => {
  // Tests hold locks, for which a request waits for a sixth of its time at most.
  const the = world({ ...noLimits, STEWARD_REQUEST_TIMEOUT: "5m" });

  /** Makes all codes of an authenticator unused, as if time had passed. */
  const renew = ({ id }: Person) => setColumns(the(), "authenticators", { user_id: id }, { last_step: null });

  const signIn = ({ email }: Person, one_time_code?: string, password = userPassword) =>
    the().nobody.post(path, { email, password, one_time_code });

  async function holder(name = "ada"): Promise<Person & Enrolled> {
    const person = await the().user(name);
    return { ...person, ...(await addAuthenticator(the().as(person))) };
  }

  const faultsOf = async (client: Client, document: string, input: object) => {
    const { errors } = await client.failure(document, { input });
    const { code, validations } = errors[0]!.extensions;
    return { code, faults: (validations ?? []).map(({ field, detail }) => `${field}: ${detail}`) };
  };

  describe("are added", () => {
    it("by the password and a first code, after which other sessions end and the secret is nowhere to be read", async () => {
      const w = the();
      const ada = await w.user("ada");
      const me = w.as(ada);
      const elsewhere = await w.login(ada.email, userPassword);
      const { secret, uri, expiresAt } = await beginAuthenticator(me);
      expect(secret).to.match(/^[A-Z2-7]{32}$/);
      const url = new URL(uri);
      expect([url.protocol, url.host, url.searchParams.get("secret")]).to.deep.equal(["otpauth:", "totp", secret]);
      expect(decodeURIComponent(url.pathname)).to.equal(`/Steward localhost:${ada.email}`);
      expect(Date.parse(expiresAt) - Date.now()).to.be.within(14 * 60_000, 15 * 60_000 + 5_000);
      expect((await me.graphql(factors)).secondFactors.authenticatorConfirmedAt).to.equal(null);
      expect((await signIn(ada)).status, "it does not count yet").to.equal(201);

      const { confirmAuthenticator } = await me.graphql(confirm, { input: { oneTimeCode: codeOf(secret) } });
      const { recoveryCodes } = confirmAuthenticator;
      expect(recoveryCodes).to.have.length(10);
      expect(new Set(recoveryCodes).size).to.equal(10);
      for (const each of recoveryCodes) expect(each).to.match(/^([2-9A-HJKMNP-TV-Z]{4}-){3}[2-9A-HJKMNP-TV-Z]{4}$/);
      const { secondFactors } = await me.graphql(factors);
      expect(Date.parse(secondFactors.authenticatorConfirmedAt)).to.be.within(Date.now() - 60_000, Date.now() + 5_000);
      expect(secondFactors.recoveryCodesLeft).to.equal(10);
      expect((await w.as({ token: elsewhere }).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);

      const stored = await storedText(w, "authenticators", "recovery_codes", "audit_events");
      for (const each of [secret, ...recoveryCodes, recoveryCodes[0]!.replaceAll("-", "")])
        expect(stored).to.not.contain(each);
      expect((await audited(w, { resourceId: ada.id, action: "UPDATE" })).map(({ diff }) => diff)).to.deep.equal([
        { authenticator: { new: "***" } },
      ]);
    });

    it("not by another session than one of the user, a wrong password, a wrong code, or a late one", async () => {
      const w = the();
      const ada = await w.user("ada");
      const me = w.as(ada);
      const begin = `mutation($input: BeginAuthenticatorInput!) { beginAuthenticator(input: $input) { secret } }`;
      const token = w.as(await w.scoped(ada, "all"));
      expect((await token.failure(begin, { input: { password: userPassword } })).code).to.equal("FORBIDDEN");
      expect(await faultsOf(me, begin, { password: "wrong" })).to.deep.equal({
        code: "BAD_USER_INPUT",
        faults: ["input.password: Is not your password."],
      });
      expect(await faultsOf(me, confirm, { oneTimeCode: "123456" })).to.include({ code: "CONFLICT" });
      const { secret } = await beginAuthenticator(me);
      const wrong = { code: "BAD_USER_INPUT", faults: [`input.oneTimeCode: ${wrongCode}`] };
      for (const code of [codeOf(secret, 4), codeOf(secret, -4), "000", "x", codeOf(secret, 9)])
        expect(await faultsOf(me, confirm, { oneTimeCode: code }), code).to.deep.equal(wrong);
      await letPass(w, "authenticators", { user_id: ada.id }, "16 min", ["created_at"]);
      expect(await faultsOf(me, confirm, { oneTimeCode: codeOf(secret) })).to.include({ code: "CONFLICT" });
      expect((await signIn(ada)).status).to.equal(201);
    });

    it("in place of a former one with a code of that, which goes on until the new one is confirmed", async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      const begin = `mutation($input: BeginAuthenticatorInput!) { beginAuthenticator(input: $input) { secret } }`;
      expect(await faultsOf(me, begin, { password: userPassword })).to.deep.equal({
        code: "BAD_USER_INPUT",
        faults: ["input.oneTimeCode: Is required."],
      });
      const { secret } = await beginAuthenticator(me, userPassword, codeOf(ada.secret, 1));
      expect((await signIn(ada, ada.recoveryCodes[0])).status).to.equal(201);
      await me.graphql(confirm, { input: { oneTimeCode: codeOf(secret) } });
      await renew(ada);
      expect((await signIn(ada, codeOf(ada.secret))).status, "the former secret").to.equal(401);
      expect((await signIn(ada, ada.recoveryCodes[1])).status, "a former recovery code").to.equal(401);
      expect((await signIn(ada, codeOf(secret))).status).to.equal(201);
      expect(await countRows(w, "authenticators", { user_id: ada.id })).to.equal(1);
    });

    it("not beside one that is confirmed meanwhile, without a code of that", async () => {
      const w = the();
      const ada = await w.user("ada");
      const me = w.as(ada);
      const begin = `mutation($input: BeginAuthenticatorInput!) { beginAuthenticator(input: $input) { secret } }`;
      await beginAuthenticator(me);
      await lockRows(w, "users", { id: ada.id }, async ({ awaited, commit }) => {
        const second = faultsOf(me, begin, { password: userPassword });
        await awaited();
        await setColumns(w, "authenticators", { user_id: ada.id }, { confirmed_at: new Date() });
        await commit();
        expect(await second).to.deep.equal({ code: "BAD_USER_INPUT", faults: ["input.oneTimeCode: Is required."] });
      });
      expect(await countRows(w, "authenticators", { user_id: ada.id })).to.equal(1);
    });

    it("not by a session that ends meanwhile", async () => {
      const w = the();
      const ada = await w.user("ada");
      const { secret } = await beginAuthenticator(w.as(ada));
      await lockRows(w, "users", { id: ada.id }, async ({ remove: removeRows, awaited, commit }) => {
        const confirmed = faultsOf(w.as(ada), confirm, { oneTimeCode: codeOf(secret) });
        await awaited();
        await removeRows("api_keys", { user_id: ada.id });
        await commit();
        expect(await confirmed).to.include({ code: "UNAUTHENTICATED" });
      });
      expect((await signIn(ada)).status).to.equal(201);
    });

    it("not to accounts without a password", async () => {
      const w = the();
      const bob = await w.user("bob", undefined, "OIDC");
      const failure = await w.as(bob).failure(`mutation { beginAuthenticator(input: { password: "x" }) { secret } }`);
      expect(failure.code).to.equal("CONFLICT");
    });
  });

  describe("complete sign-in", () => {
    it("after the right password only, in REST and GraphQL, with a code that completes it", async () => {
      const w = the();
      const ada = await holder();
      const wrong = await signIn(ada, undefined, "wrong");
      expect(wrong.body).to.deep.equal({ message: "Incorrect email or password." });
      expect((await signIn(ada, codeOf(ada.secret, 1), "wrong")).body).to.deep.equal(wrong.body);

      const asked = await signIn(ada);
      expect(asked.status).to.equal(401);
      expect(asked.body).to.deep.equal({
        message: "A one-time code is required.",
        detail: "The account has an authenticator. Send its code, or a recovery code, as well.",
        validations: [{ field: "one_time_code", detail: "Is required." }],
      });
      const refused = await signIn(ada, "000000");
      expect(refused.status).to.equal(401);
      expect(refused.body).to.deep.equal({
        message: "Incorrect one-time code.",
        validations: [{ field: "one_time_code", detail: wrongCode }],
      });
      const login = `mutation($input: LoginInput!) { login(input: $input) { sessionToken user { id } } }`;
      const input = { email: ada.email, password: userPassword };
      const failure = await w.nobody.failure(login, { input });
      expect(failure.errors[0]!.extensions).to.deep.include({
        code: "UNAUTHENTICATED",
        reason: "one_time_code",
        validations: [{ field: "input.oneTimeCode", detail: "Is required." }],
      });

      const code = codeOf(ada.secret, 1);
      const done = await w.nobody.graphql(login, {
        input: { ...input, oneTimeCode: `${code.slice(0, 3)} ${code.slice(3)}` },
      });
      expect(done.login.user.id).to.equal(ada.id);
      expect((await w.as({ token: done.login.sessionToken }).graphql("{ me { id } }")).me.id).to.equal(ada.id);
    });

    it("once for each code: used ones, and older ones than those, are rejected", async () => {
      const ada = await holder();
      expect((await signIn(ada, ada.spentCode)).status, "it confirmed the authenticator").to.equal(401);
      const code = codeOf(ada.secret, 1);
      expect((await signIn(ada, code)).status).to.equal(201);
      expect((await signIn(ada, code)).status).to.equal(401);
      expect((await signIn(ada, ada.spentCode)).status).to.equal(401);
    });

    it("once for each code, also if many sign in with it at the same time", async () => {
      const w = the();
      const ada = await holder();
      const code = codeOf(ada.secret, 1);
      const tried = await Promise.all(Array.from({ length: 6 }, () => signIn(ada, code)));
      expect(tried.map(({ status }) => status)).to.have.members([201, 401, 401, 401, 401, 401]);
      const bob = await holder("bob");
      const recovered = await Promise.all(Array.from({ length: 6 }, () => signIn(bob, bob.recoveryCodes[3])));
      expect(recovered.map(({ status }) => status)).to.have.members([201, 401, 401, 401, 401, 401]);
      expect((await w.as(bob).graphql(factors)).secondFactors.recoveryCodesLeft).to.equal(9);
    });

    it("with a recovery code instead, in any spelling, once each, of which the user is told", async () => {
      const w = the();
      const ada = await holder();
      const [first, second] = ada.recoveryCodes;
      expect((await signIn(ada, first!.toLowerCase().replaceAll("-", " "))).status).to.equal(201);
      expect((await signIn(ada, first)).status).to.equal(401);
      expect((await signIn(ada, second!.replaceAll("-", ""))).status).to.equal(201);
      expect((await w.as(ada).graphql(factors)).secondFactors.recoveryCodesLeft).to.equal(8);
      const { body } = await w.as(ada).get("/api/v2/notifications/inbox");
      expect(body.notifications.map(({ title }: Anything) => title)).to.deep.equal([
        "A recovery code of your account was used",
        "A recovery code of your account was used",
        "An authenticator was added to your account",
      ]);
    });

    it("of an hour, at most ten wrong ones: then no code counts, and the password alone says so no more", async () => {
      const ada = await holder();
      for (let nr = 0; nr < 10; nr++) expect((await signIn(ada, `00000${nr}`)).status, String(nr)).to.equal(401);
      const locked = await signIn(ada, codeOf(ada.secret, 1));
      expect(locked.status).to.equal(429);
      expect((await signIn(ada, ada.recoveryCodes[0])).status).to.equal(429);
      expect((await signIn(ada, codeOf(ada.secret, 1), "wrong")).body.message).to.equal("Incorrect email or password.");
    });

    it("counting wrong ones from elsewhere apart, so that who knows the password cannot lock the user out", async () => {
      const w = the();
      const ada = await holder();
      const replica = await startServer(w.database.url, { ...noLimits, STEWARD_TRUSTED_PROXIES: "127.0.0.0/8" });
      try {
        const client = new Client(replica.url);
        const from = async (address: string, one_time_code: string) => {
          const input = { email: ada.email, password: userPassword, one_time_code };
          return (await client.post(path, input, { "X-Forwarded-For": address })).status;
        };
        const [home, elsewhere] = ["203.0.113.7", "198.51.100.9"];
        expect(await from(home, ada.recoveryCodes[0]!)).to.equal(201);
        for (let nr = 0; nr < 10; nr++) expect(await from(elsewhere, `00000${nr}`), String(nr)).to.equal(401);
        expect(await from(elsewhere, ada.recoveryCodes[1]!)).to.equal(429);
        expect(await from(home, ada.recoveryCodes[1]!)).to.equal(201);
        for (let nr = 0; nr < 10; nr++) expect(await from(home, `00000${nr}`), String(nr)).to.equal(401);
        expect(await from(home, ada.recoveryCodes[2]!), "known addresses have a limit, too").to.equal(429);
      } finally {
        await replica.close();
      }
    });

    it("and wrong ones are audited as failed logins; missing ones are not", async () => {
      const w = the();
      const ada = await holder();
      await signIn(ada);
      await signIn(ada, "000000");
      await signIn(ada, codeOf(ada.secret, 1));
      const logins = async () =>
        (await audited(w, { resourceId: ada.id }))
          .map(({ action }) => action)
          .filter((each) => each.startsWith("LOGIN"));
      await eventually(async () => (await logins()).length === 2, "both are recorded");
      expect((await logins()).sort()).to.deep.equal(["LOGIN", "LOGIN_FAILED"]);
    });

    it("not of accounts without one, for which a code changes nothing, and not where they are switched off", async () => {
      const w = the();
      const [ada, bob] = [await holder(), await w.user("bob")];
      expect((await signIn(bob, "123456")).status).to.equal(201);
      expect((await signIn(bob)).status).to.equal(201);
      const replica: App = await startServer(w.database.url, { ...noLimits, STEWARD_SECOND_FACTORS: "off" });
      try {
        const client = new Client(replica.url, ada.token);
        expect((await client.post(path, { email: ada.email, password: userPassword })).status).to.equal(201);
        const begin = `mutation($input: BeginAuthenticatorInput!) { beginAuthenticator(input: $input) { secret } }`;
        expect((await client.failure(begin, { input: { password: userPassword } })).code).to.equal("FORBIDDEN");
      } finally {
        await replica.close();
      }
    });

    it("while hostile codes are just wrong", async () => {
      const ada = await holder();
      for (const code of ["", " ", "é".repeat(20), "0".repeat(64), "０００００１", "1e5", "-00001"]) {
        const { status } = await signIn(ada, code);
        expect([400, 401], JSON.stringify(code)).to.include(status);
      }
      for (const code of ["x".repeat(65), 123_456, ["123456"], { a: 1 }])
        expect(
          await the().nobody.post(path, { email: ada.email, password: userPassword, one_time_code: code }),
        ).to.include({
          status: 400,
        });
    });
  });

  describe("are removed", () => {
    it("by their user with a code, or a recovery code, and sign-in takes the password alone then", async () => {
      const w = the();
      const [ada, bob] = [await holder(), await holder("bob")];
      for (const input of [{ oneTimeCode: "000000" }, { oneTimeCode: ada.spentCode }])
        expect(await faultsOf(w.as(ada), remove, input)).to.deep.equal({
          code: "BAD_USER_INPUT",
          faults: [`input.oneTimeCode: ${wrongCode}`],
        });
      await w.as(ada).graphql(remove, { input: { oneTimeCode: codeOf(ada.secret, 1) } });
      await w.as(bob).graphql(remove, { input: { oneTimeCode: bob.recoveryCodes[9] } });
      for (const person of [ada, bob]) {
        expect((await signIn(person)).status).to.equal(201);
        expect((await w.as(person).graphql(factors)).secondFactors).to.deep.equal({
          authenticatorConfirmedAt: null,
          recoveryCodesLeft: 0,
        });
        const inbox = await w.as(person).get("/api/v2/notifications/inbox");
        expect(inbox.body.notifications[0].title).to.equal("The authenticator of your account was removed");
      }
      expect(await faultsOf(w.as(ada), remove, { oneTimeCode: "123456" })).to.include({ code: "CONFLICT" });
    });

    it("for recovery codes alone by new ones, which take a code", async () => {
      const w = the();
      const ada = await holder();
      const me = w.as(ada);
      expect(await faultsOf(me, regenerate, { oneTimeCode: "000000" })).to.include({ code: "BAD_USER_INPUT" });
      const made = await me.graphql(regenerate, { input: { oneTimeCode: codeOf(ada.secret, 1) } });
      const { recoveryCodes } = made.regenerateRecoveryCodes;
      expect(recoveryCodes).to.have.length(10);
      expect((await signIn(ada, ada.recoveryCodes[0])).status).to.equal(401);
      expect((await signIn(ada, recoveryCodes[0])).status).to.equal(201);
    });

    it("by administrators who may administer the account, which ends its sessions", async () => {
      const w = the();
      const [ada, uma, peer] = [await holder(), await w.user("uma"), await holder("peer")];
      await w.grant(uma, "user-admin");
      await w.grant(peer, "organization-admin");
      await w.as(uma).graphql(reset, { user: ada.id });
      expect((await signIn(ada)).status).to.equal(201);
      expect((await w.as(ada).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
      const events = await audited(w, { resourceId: ada.id, action: "UPDATE" });
      expect(events.at(-1)).to.deep.include({ actorId: uma.id, diff: { authenticator: { old: "***" } } });
      const inbox = await w.as({ token: await w.session(ada.id) }).get("/api/v2/notifications/inbox");
      expect(inbox.body.notifications[0].content).to.contain(uma.username);

      // Dominance, as for passwords.
      const kept = async (by: Person, user: Person, code: string) => {
        expect((await w.as(by).failure(reset, { user: user.id })).code).to.equal(code);
        expect((await signIn(user)).body.message).to.equal("A one-time code is required.");
      };
      await kept(uma, peer, "FORBIDDEN");
      const [other, stranger] = [await holder("other"), await w.user("stranger")];
      await w.grant(other, "user-admin");
      await kept(uma, other, "FORBIDDEN");
      await kept(stranger, peer, "NOT_FOUND");
      await kept(peer, other, "FORBIDDEN");
      await kept(await w.scoped(w.owner, "all").then(({ token }) => ({ ...w.owner, token })), peer, "FORBIDDEN");
      expect((await w.as(other).failure(reset, { user: "me" })).code).to.equal("FORBIDDEN");
      expect((await w.as(other).failure(reset, { user: other.id })).code).to.equal("FORBIDDEN");
    });

    it("by the deletion of the account", async () => {
      const w = the();
      const ada = await holder();
      await w.as(w.owner).graphql(`mutation { deleteUser(input: { user: "${ada.id}" }) { user { id } } }`);
      for (const table of ["authenticators", "recovery_codes"])
        expect(await countRows(w, table, { user_id: ada.id }), table).to.equal(0);
    });
  });

  it("are read by their user and by administrators of accounts, and by no other user", async () => {
    const w = the();
    const [ada, bob] = [await holder(), await w.user("bob")];
    expect((await w.as(w.owner).graphql(factors, { user: ada.id })).secondFactors.recoveryCodesLeft).to.equal(10);
    expect((await w.as(bob).failure(factors, { user: ada.id })).code).to.equal("NOT_FOUND");
    const narrow = w.as(await w.scoped(ada, "user:read"));
    expect((await narrow.failure(factors)).code).to.equal("FORBIDDEN");
  });

  it("stay when the password is reset by its administrator, or by the passcode of a mail", async () => {
    const w = the();
    const ada = await holder();
    const password = "birch-Lantern-mosaic-41";
    const resetPassword = `mutation($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }`;
    await w.as(w.owner).graphql(resetPassword, { input: { user: ada.id, password } });
    expect((await signIn(ada, undefined, password)).body.message).to.equal("A one-time code is required.");
    expect((await signIn(ada, ada.recoveryCodes[0], password)).status).to.equal(201);
  });
});

// The REST routes; whole conversions are in sign-in.test.ts.
// Reaches for tables: states are stored nowhere as text, one for each user.
import { expect } from "chai";
import { accountOf } from "./support/accounts.js";
import { countRows, setColumns, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { Description } from "./support/openapi.js";
import { sharedWorld, userPassword } from "./support/world.js";

const pathOf = (user: string) => `/api/v2/users/${user}/convert-login`;

const shared = sharedWorld();

describe("a login conversion", () => {
  const the = shared();
  it("starts with a state that is valid for five minutes, and changes nothing yet", async () => {
    const w = the();
    const ada = await w.user("ada");
    for (const ref of ["me", ada.id, ada.id.toUpperCase(), ada.username.toUpperCase()]) {
      const begun = Date.now();
      const answer = await w.as(ada).post(pathOf(ref), { to_type: "oidc", password: userPassword });
      const ended = Date.now();
      expect(answer.status, ref).to.equal(201);
      const { state_string: state, expires_at: end, ...rest } = answer.body;
      expect(rest).to.deep.equal({ user_id: ada.id, to_type: "oidc" });
      expect(state).to.match(/^[0-9A-Za-z]{32}$/);
      expect(Date.parse(end) - 300_000).to.be.within(begun, ended + 1);
    }
    expect(await accountOf(w, ada.id)).to.include({ loginType: "PASSWORD" });
    expect(await countRows(w, "login_conversions", { user_id: ada.id })).to.equal(1);
    await w.login(ada.email, userPassword);
  });

  it("is for the user alone, and other callers cannot tell whether the account exists", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const wish = { to_type: "oidc", password: userPassword };
    const real = await w.as(bob!).post(pathOf(ada!.id), wish);
    const unreal = await w.as(bob!).post(pathOf("nobody"), wish);
    expect(real.status).to.equal(403);
    expect({ status: unreal.status, body: unreal.body }).to.deep.equal({ status: 403, body: real.body });
    expect(await w.as(w.owner).post(pathOf(ada!.id), wish)).to.include({ status: 403 });
    expect(await w.as(w.owner).post(pathOf("nobody"), wish)).to.include({ status: 404 });
  });

  it("reports an invalid type, a wrong password, and an ineligible account", async () => {
    const w = the();
    const ada = await w.user("ada");
    const convert = (body: unknown) => w.as(ada).post(pathOf("me"), body);
    for (const to_type of ["none", "password", "token", "", "saml", undefined, null]) {
      const { status, body } = await convert({ to_type, password: userPassword });
      expect([status, body.validations.map(({ field }: { field: string }) => field)], String(to_type)).to.deep.equal([
        400,
        ["to_type"],
      ]);
    }
    const unknown = await convert({ to_type: "none", password: userPassword });
    expect(unknown.body.validations[0].detail).to.equal('Must be one of: "oidc", "github".');
    const { document, bodyOf, resolved } = await Description.of(w);
    const { properties } = bodyOf(document.paths["/api/v2/users/{user}/convert-login"]!.post!)!;
    expect(resolved(properties!.to_type!).enum).to.deep.equal(["oidc", "github"]);
    const both = await convert({});
    expect(both.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal(["to_type", "password"]);
    const wrong = await convert({ to_type: "github", password: "wrong" });
    expect(wrong).to.deep.include({ status: 401, body: { message: "Incorrect email or password." } });
    expect(await w.as(ada).post("/api/v2/authcheck", { checks: {} })).to.include({ status: 200 });
    await setColumns(w, "users", { id: ada.id }, { login_type: "oidc" });
    expect(await convert({ to_type: "github", password: userPassword })).to.include({ status: 400 });
  });

  it("is the same in GraphQL, and stores no plaintext state", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { convertLogin } = await w.as(ada).graphql(
      `mutation($password: String!) {
         convertLogin(input: { user: "me", toType: GITHUB, password: $password }) { stateString toType user { username } } }`,
      { password: userPassword },
    );
    expect(convertLogin).to.deep.include({ toType: "GITHUB", user: { username: ada.username } });
    const stored = await storedText(w, "login_conversions", "audit_events");
    expect(stored).to.contain(ada.id).and.not.contain(convertLogin.stateString);
  });
});

describe("password validation", () => {
  const the = shared();
  const path = "/api/v2/users/validate-password";

  it("rates a password for any signed-in user, and suggests improvements", async () => {
    const w = the();
    const ada = await w.user("ada");
    const validate = (password: unknown) => w.as(ada).post(path, { password });
    for (const weak of ["", "password", ada.username, ada.email, "x".repeat(1025)]) {
      const { status, body } = await validate(weak);
      expect(status).to.equal(200);
      expect(body.valid, weak).to.equal(false);
      expect(body.details, weak).to.match(/^[A-Z].*\.$/);
    }
    const strong = await validate("kT7wQz2LmX9vRb4NcY6hJd3FsG8pWa5uEo1iZx0q");
    expect(strong).to.deep.include({ status: 200, body: { valid: true, details: "" } });
    for (const none of [undefined, null, 5]) {
      const { status, body } = await validate(none);
      expect([status, body.validations[0].field]).to.deep.equal([400, "password"]);
    }
    expect(await w.nobody.post(path, { password: "password" })).to.include({ status: 401 });
    const { validatePassword } = await w
      .as(ada)
      .graphql(`mutation { validatePassword(input: { password: "password" }) { validation { valid } } }`);
    expect(validatePassword).to.deep.equal({ validation: { valid: false } });
  });

  it("does not queue behind anonymous callers, who have a queue of their own", async () => {
    const w = the();
    const ada = w.as(await w.user("ada"));
    const password = "aB3$".repeat(16);
    await ada.post(path, { password });
    let estimated = 0;
    const strangers = Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const body = { email: `stranger-${n}@example.com`, one_time_passcode: "x", password };
        const { status } = await w.nobody.post("/api/v2/users/otp/change-password", body);
        if (status === 400) estimated++;
        return status;
      }),
    );
    await eventually(() => estimated > 0, "the first anonymous request is done");
    const before = estimated;
    for (let n = 0; n < 3; n++) expect(await ada.post(path, { password })).to.include({ status: 200 });
    // Queued behind them all, it would finish after the last one.
    expect(estimated - before).to.be.below(20);
    expect(new Set(await strangers)).to.deep.equal(new Set([400]));
  });

  it("does not block other requests", async () => {
    const w = the();
    const ada = w.as(await w.user("ada"));
    const password = "aB3$".repeat(32);
    await ada.post(path, { password });
    const validated = Promise.all(Array.from({ length: 8 }, () => ada.post(path, { password })));
    const done = validated.then(() => true);
    let read = 0;
    while (!(await Promise.race([done, Promise.resolve(false)]))) {
      expect(await w.nobody.get("/api/v2/auth/scopes")).to.include({ status: 200 });
      read++;
    }
    // On the main thread, there would be at most one read between two estimates.
    expect(read).to.be.greaterThan(30);
    for (const { status } of await validated) expect(status).to.equal(200);
  });
});

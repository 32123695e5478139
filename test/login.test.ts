// Reaches for tables: no interface shows hashes of passwords, and none forgets addresses for months.
import argon2 from "argon2";
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { runJob } from "./support/background.js";
import { countHashes, keysOf } from "./support/accounts.js";
import { type App, ownerPassword, startServer, usualHashes } from "./support/app.js";
import { insertKeys } from "./support/keys.js";
import { countRows, setColumns, setTimes, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { type Answer, Client, type Person, userPassword, world } from "./support/world.js";

const path = "/api/v2/users/login";
const noLimits = { STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" };

/** The parts of a response that a client sees, except for those that differ with every request. */
const seen = ({ status, headers, body }: Answer) => {
  const lasting = [...headers].filter(([name]) => !/^(date|x-request-id|ratelimit.*)$/.test(name));
  return { status, headers: Object.fromEntries(lasting), body };
};

describe("login", () => {
  const the = world(noLimits);
  const loginsOf = async ({ id }: Person) =>
    (await audited(the(), { resourceId: id }))
      .filter(({ action }) => action.startsWith("LOGIN"))
      .map(({ action, actorKind, actorId, resourceType, apiKeyId }) => ({
        action,
        actorKind,
        actorId,
        resourceType,
        apiKeyId,
      }));

  it("returns a token that works in both headers, and sets no cookie", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const answer = await w.nobody.post(path, { email: ada!.email.toUpperCase(), password: userPassword });
    expect(answer.status).to.equal(201);
    expect(answer.body).to.have.all.keys("session_token");
    expect(answer.body.session_token).to.match(/^stw_se_[0-9A-Za-z]{10}-[0-9A-Za-z]{43}$/);
    expect(answer.headers.has("set-cookie")).to.equal(false);

    const token = answer.body.session_token as string;
    for (const [name, value] of [
      ["Service-Session-Token", token],
      ["Authorization", `Bearer ${token}`],
    ] as const) {
      const { status, body } = await w.nobody.post("/graphql", { query: "{ me { username } }" }, { [name]: value });
      expect({ status, body }).to.deep.equal({ status: 200, body: { data: { me: { username: ada!.username } } } });
    }
  });

  it("is the same in GraphQL, where the payload includes the user", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const { login } = await w.nobody.graphql(
      `mutation($input: LoginInput!) { login(input: $input) { sessionToken user { id username } } }`,
      { input: { email: ada!.email, password: userPassword } },
    );
    expect(login.user).to.deep.equal({ id: ada!.id, username: ada!.username });
    expect((await w.as({ token: login.sessionToken }).graphql("{ me { id } }")).me.id).to.equal(ada!.id);
  });

  it("responds alike to an unknown email, a wrong password, and an account without a password", async () => {
    const w = the();
    const ada = await w.user("ada");
    const bob = await w.user("bob", undefined, "OIDC");
    const wrong = await w.nobody.post(path, { email: ada.email, password: "wrong" });
    expect(wrong.status).to.equal(401);
    expect(wrong.body).to.deep.equal({ message: "Incorrect email or password." });
    for (const [email, password] of [
      ["nobody@example.com", "wrong"],
      ["no address at all", "wrong"],
      ["system@steward.invalid", ""],
      [bob.email, userPassword],
    ]) {
      const unknown = await w.nobody.post(path, { email, password: password || "wrong" });
      expect(seen(unknown), email).to.deep.equal(seen(wrong));
    }
  });

  it("checks one hash for an unknown email as for a wrong password", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const checked = countHashes(w.app);
    for (const email of ["nobody@example.com", ada!.email]) {
      checked.hashes = 0;
      expect(await w.nobody.post(path, { email, password: "wrong" })).to.include({ status: 401 });
      expect(checked.hashes, email).to.equal(1);
    }
  });

  it("reports missing fields, and rejects passwords that are too long", async () => {
    const w = the();
    const faults = async (body: unknown) => {
      const answer = await w.nobody.post(path, body);
      expect(answer.status).to.equal(400);
      return answer.body.validations?.map(({ field }: { field: string }) => field);
    };
    expect(await faults({})).to.deep.equal(["email", "password"]);
    // Missing values come before rules.
    expect(await faults({ email: null, password: "" })).to.deep.equal(["email"]);
    expect(await faults({ email: "", password: "" })).to.deep.equal(["email", "password"]);
    expect(await faults({ email: 1, password: ["x"] })).to.deep.equal(["email", "password"]);
    expect(await faults({ email: "a\u0000@example.com", password: "x" })).to.deep.equal(["email"]);
    expect(await faults({ email: w.owner.email, password: "é".repeat(513) })).to.deep.equal(["password"]);
    expect(await faults("{")).to.equal(undefined);
    const { errors } = await w.nobody.failure(
      "mutation($input: LoginInput!) { login(input: $input) { sessionToken } }",
      { input: {} },
    );
    expect(errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.email",
      "input.password",
    ]);
  });

  it("rejects suspended users, but reveals the suspension only after the right password", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await w.as(w.owner).graphql(`mutation { suspendUser(input: { user: "${ada!.id}" }) { user { status } } }`);

    const right = await w.nobody.post(path, { email: ada!.email, password: userPassword });
    expect(right.status).to.equal(401);
    expect(right.body).to.deep.equal({ message: "Your account is suspended." });
    const wrong = await w.nobody.post(path, { email: ada!.email, password: "wrong" });
    expect(wrong.body).to.deep.equal({ message: "Incorrect email or password." });
    expect((await w.as(ada!).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);

    await w.as(w.owner).graphql(`mutation { activateUser(input: { user: "${ada!.id}" }) { user { status } } }`);
    expect((await w.as(ada!).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    expect((await w.nobody.post(path, { email: ada!.email, password: userPassword })).status).to.equal(201);
  });

  it("names the login type of an account without password login only after the right password", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await setColumns(w, "users", { id: ada!.id }, { login_type: "oidc" });
    const right = await w.nobody.post(path, { email: ada!.email, password: userPassword });
    expect(right.status).to.equal(403);
    expect(right.body.message).to.equal("Incorrect login type.");
    expect(right.body.detail).to.contain("oidc");
    expect((await w.nobody.post(path, { email: ada!.email, password: "wrong" })).status).to.equal(401);
  });

  it("is audited for known accounts, whether it succeeds or fails", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await w.login(ada!.email, userPassword);
    await w.nobody.post(path, { email: ada!.email, password: "wrong" });
    await w.nobody.post(path, { email: "nobody@example.com", password: "wrong" });
    await eventually(async () => (await loginsOf(ada!)).length === 2, "both events are recorded");
    const common = { actorKind: "user", actorId: ada!.id, resourceType: "user", apiKeyId: null };
    expect(await loginsOf(ada!)).to.deep.equal([
      { action: "LOGIN", ...common },
      { action: "LOGIN_FAILED", ...common },
    ]);
    const failures = await audited(w, { action: "LOGIN_FAILED" });
    expect(failures.filter(({ resourceId }) => resourceId === null)).to.deep.equal([]);
  });

  it("rehashes the password when the cost, the variant, the length, or the order of parameters is not the current one", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const replica = await startServer(w.database.url, { ...noLimits, ...usualHashes });
    const login = async () => {
      const answer = await new Client(replica.url).post(path, { email: ada!.email, password: userPassword });
      expect(answer.status).to.equal(201);
    };
    const now = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
    const allHashes = async () => (await storedText(w, "users")).match(/\$argon2[^"]+/g)!;
    const others = await allHashes();
    const storedHashes = async () => (await allHashes()).filter((each) => !others.includes(each));
    const old = [{ memoryCost: 8_192, timeCost: 1, parallelism: 1 }, now, { ...now, type: argon2.argon2i }];
    for (const options of [...old, { ...now, hashLength: 16 }]) {
      const hash = await argon2.hash(userPassword, options);
      await setColumns(w, "users", { id: ada!.id }, { password_hash: hash });
      await login();
      const stored = await storedHashes();
      expect(stored).to.have.length(1);
      for (const each of stored) expect(each).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      expect(stored).to.not.include(hash);
      await login();
      expect(await storedHashes(), "it is not hashed again").to.deep.equal(stored);
    }
    await replica.close();
  });

  it("ends the oldest sessions beyond 100", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const older = await insertKeys(w, ada!, "session", 99);
    await Promise.all([1, 2, 3].map(() => w.login(ada!.email, userPassword)));
    const kept = new Set((await keysOf(w, ada!, "SESSION")).map(({ id }) => id));
    expect(kept).to.have.property("size", 100);
    expect(older.map((id) => kept.has(id))).to.deep.equal(older.map((_, index) => index < 96));
  });

  it("remembers the address for 90 days", async () => {
    const [ada, bob] = await the().users("ada", "bob");
    for (const user of [ada!, bob!]) await the().login(user.email, userPassword);
    await setTimes(the(), "login_addresses", { user_id: ada!.id }, { last_used_at: "-91 days" });
    await setTimes(the(), "login_addresses", { user_id: bob!.id }, { last_used_at: "-89 days" });
    await runJob(the().app, "loginAddressPurge");
    const left = [ada!, bob!].map(({ id }) => countRows(the(), "login_addresses", { user_id: id }));
    expect(await Promise.all(left)).to.deep.equal([0, 1]);
  });

  it("is rejected where passwords are disabled", async () => {
    const w = the();
    const replica: App = await startServer(w.database.url, { STEWARD_PASSWORD_AUTH: "false" });
    try {
      const { status, body } = await new Client(replica.url).post(path, {
        email: w.owner.email,
        password: ownerPassword,
      });
      expect({ status, message: body.message }).to.deep.equal({
        status: 403,
        message: "Password authentication is disabled.",
      });
    } finally {
      await replica.close();
    }
  });
});

describe("changing one's own password", () => {
  const the = world(noLimits);
  const change = `mutation($input: ChangePasswordInput!) { changePassword(input: $input) { user { username } } }`;

  it("takes the current password, ends the other sessions, and keeps this one", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const elsewhere = await w.login(ada!.email, userPassword);
    const newPassword = "a-wholly-different-password-77";
    const me = w.as(ada!);

    const wrong = await me.failure(change, { input: { currentPassword: "wrong", newPassword } });
    expect(wrong.code, "not UNAUTHENTICATED, on which clients sign out").to.equal("BAD_USER_INPUT");
    expect(wrong.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.currentPassword", detail: "Is not your password." },
    ]);
    const failures = () => audited(w, { resourceId: ada!.id, action: "LOGIN_FAILED" });
    await eventually(async () => (await failures()).length === 1, "the attempt is recorded");
    const input = { currentPassword: userPassword, newPassword };
    expect(await me.graphql(change, { input })).to.deep.equal({
      changePassword: { user: { username: ada!.username } },
    });

    expect((await me.graphql("{ me { id } }")).me.id).to.equal(ada!.id);
    expect((await w.as({ token: elsewhere }).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    expect((await w.nobody.post(path, { email: ada!.email, password: userPassword })).status).to.equal(401);
    await w.login(ada!.email, newPassword);
    const updates = await audited(w, { resourceId: ada!.id, action: "UPDATE" });
    expect(updates.map(({ diff }) => diff)).to.deep.equal([{ password: { old: "***", new: "***" } }]);
  });

  it("reports all faults together, and requires a strong password that differs from the current one", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const faults = async (input: Record<string, unknown>) => {
      const { code, errors } = await w.as(ada!).failure(change, { input });
      expect(code).to.equal("BAD_USER_INPUT");
      return errors[0]!.extensions.validations.map(({ field }: { field: string }) => field);
    };
    expect(await faults({})).to.deep.equal(["input.currentPassword", "input.newPassword"]);
    const currentPassword = userPassword;
    expect(await faults({ currentPassword, newPassword: "password" })).to.deep.equal(["input.newPassword"]);
    expect(await faults({ currentPassword, newPassword: ada!.email })).to.deep.equal(["input.newPassword"]);
    expect(await faults({ currentPassword, newPassword: currentPassword })).to.deep.equal(["input.newPassword"]);
    await w.login(ada!.email, currentPassword);
  });
});

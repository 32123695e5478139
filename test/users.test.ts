// Reaches for tables: a system identity, which no request creates.
import { mock } from "node:test";
import argon2 from "argon2";
import { expect } from "chai";
import {
  activateUser,
  code,
  countHashes,
  createUser,
  deleteUser,
  fields,
  findUser,
  goodPassword,
  isOut,
  listUsers,
  resetUserPassword,
  setUserRoles,
  signedIn,
  suspendUser,
  updateProfile,
  updateUser,
} from "./support/accounts.js";
import { startServer, usualHashes } from "./support/app.js";
import { eventually } from "./support/watchers.js";
import { setColumns } from "./support/tables.js";
import { Client, type GraphqlFailure, userPassword, world } from "./support/world.js";

describe("users", () => {
  const the = world();

  it("are created by an administrator, and sign in with their password", async () => {
    const w = the();
    const created = await w.as(w.owner).graphql(createUser, {
      input: {
        email: "Ada@Example.com",
        username: "Ada",
        name: "Ada Lovelace",
        loginType: "PASSWORD",
        password: goodPassword,
      },
    });
    const { id, ...rest } = created.createUser.user;
    expect(rest).to.deep.equal({
      email: "Ada@Example.com",
      username: "Ada",
      name: "Ada Lovelace",
      avatarUrl: "",
      status: "ACTIVE",
      loginType: "PASSWORD",
      isServiceAccount: false,
      lastSeenAt: null,
      organizationIds: [w.defaultOrganization],
      roles: [],
    });
    const token = await w.login("ada@example.com", goodPassword);
    expect(await w.as({ token }).graphql("{ me { id username } }")).to.deep.equal({ me: { id, username: "Ada" } });
    expect(await w.as(w.owner).graphql(findUser, { user: "aDA" })).to.deep.equal({
      user: { id, email: "Ada@Example.com" },
    });
    expect(await w.as(w.owner).graphql(findUser, { user: id.toUpperCase() })).to.deep.equal({
      user: { id, email: "Ada@Example.com" },
    });
  });

  it("can be service accounts, which cannot sign in", async () => {
    const w = the();
    const input = { email: "robot@example.com", username: "robot", isServiceAccount: true };
    const { createUser: made } = await w.as(w.owner).graphql(createUser, { input });
    expect(made.user).to.include({ loginType: "NONE", isServiceAccount: true });
    const refused = await w.as(w.owner).failure(createUser, {
      input: { ...input, username: "robot-2", email: "r2@example.com", loginType: "OIDC", password: goodPassword },
    });
    expect(fields(refused)).to.deep.equal(["input.loginType", "input.password"]);
  });

  it("have all field faults reported together", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const bad = {
      email: "Ada <ada@example.com>",
      username: "me",
      name: " x",
      password: "password",
      organizationIds: [],
    };
    expect(fields(await owner.failure(createUser, { input: bad }))).to.deep.equal([
      "input.email",
      "input.username",
      "input.name",
      "input.password",
      "input.organizationIds",
    ]);
    expect(fields(await owner.failure(createUser, { input: {} }))).to.deep.equal(["input.email", "input.username"]);
    expect(fields(await owner.failure(createUser, { input: { email: "", username: "" } }))).to.deep.equal([
      "input.email",
      "input.username",
      "input.password",
    ]);
    const change = { user: "me", email: "x", username: "a--b", name: "x".repeat(129), avatarUrl: "ftp://x" };
    expect(fields(await owner.failure(updateUser, { input: change }))).to.deep.equal([
      "input.email",
      "input.username",
      "input.name",
      "input.avatarUrl",
    ]);
  });

  it("cannot have a password that is easy to guess given their own data; it is never echoed", async () => {
    const w = the();
    const password = "ottokar.winterbottom";
    const input = { email: "ottokar.winterbottom@example.com", username: "ottokar", password };
    const refused = await w.as(w.owner).failure(createUser, { input });
    expect(fields(refused)).to.deep.equal(["input.password"]);
    expect(JSON.stringify(refused.errors)).not.to.include(password);
  });

  it("are created only in existing organizations", async () => {
    const w = the();
    const other = (await w.organization()).id;
    const input = { email: "multi@example.com", username: "multi", password: goodPassword };
    const missing = "01890000-0000-7000-8000-000000000000";
    const refused = await w
      .as(w.owner)
      .failure(createUser, { input: { ...input, organizationIds: [other, missing, w.defaultOrganization] } });
    expect(refused.code).to.equal("BAD_USER_INPUT");
    expect(fields(refused)).to.deep.equal(["input.organizationIds[1]"]);

    const made = await w
      .as(w.owner)
      .graphql(createUser, { input: { ...input, organizationIds: [other, other, w.defaultOrganization] } });
    expect(made.createUser.user.organizationIds).to.have.members([other, w.defaultOrganization]).and.to.have.length(2);
  });

  it("are created once under concurrent use of an email in different letter case, and the loser gets a conflict", async () => {
    const w = the();
    for (let round = 0; round < 5; round++) {
      const attempts = await Promise.allSettled(
        ["twin", "TWIN"].map((local, n) =>
          w.as(w.owner).graphql(createUser, {
            input: { email: `${local}-${round}@example.com`, username: `twin-${round}-${n}`, password: goodPassword },
          }),
        ),
      );
      const lost = attempts.filter((each) => each.status === "rejected").map(({ reason }) => reason as GraphqlFailure);
      expect(lost.map((failure) => [failure.code, fields(failure)])).to.deep.equal([["CONFLICT", ["input.email"]]]);
    }
  });

  it("get one conflict that reports email and username together, even when different users hold them", async () => {
    const w = the();
    const [ada, bob, eve] = await w.users("ada", "bob", "eve");
    const taken = { email: ada!.email.toUpperCase(), username: bob!.username.toUpperCase() };
    const input = { ...taken, password: goodPassword };
    const both = ["input.email", "input.username"];
    for (const [document, given] of [
      [createUser, input],
      [createUser, { ...input, email: bob!.email }],
      [updateUser, { ...taken, user: eve!.id }],
    ] as const) {
      const refused = await w.as(w.owner).failure(document, { input: given });
      expect([refused.code, fields(refused)]).to.deep.equal(["CONFLICT", both]);
      expect(refused.message).to.match(/^This e-?mail and this username are in use\.$/);
    }
    // A user's own email or username is no conflict.
    const own = { user: eve!.id, email: eve!.email.toUpperCase(), username: bob!.username };
    expect(fields(await w.as(w.owner).failure(updateUser, { input: own }))).to.deep.equal(["input.username"]);
  });

  it("have usernames that are unique in any letter case until their holder is deleted", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const refused = await w.as(bob!).failure(updateProfile, { input: { username: ada!.username.toUpperCase() } });
    expect([refused.code, fields(refused)]).to.deep.equal(["CONFLICT", ["input.username"]]);
    expect(
      await code(w.as(w.owner), updateUser, { input: { user: bob!.id, email: ada!.email.toUpperCase() } }),
    ).to.equal("CONFLICT");
    await w.as(w.owner).graphql(deleteUser, { input: { user: ada!.id } });
    await w.as(bob!).graphql(updateProfile, { input: { username: ada!.username } });
    await w.as(w.owner).graphql(updateUser, { input: { user: bob!.id, email: ada!.email } });
  });

  it("may change their own name, avatar, and username, and no one else's", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const { updateProfile: changed } = await w
      .as(ada!)
      .graphql(updateProfile, { input: { name: "Ada", avatarUrl: "/a.png", username: null } });
    expect(changed.user).to.deep.equal({
      email: ada!.email,
      username: ada!.username,
      name: "Ada",
      avatarUrl: "/a.png",
    });
    expect(await code(w.as(ada!), updateUser, { input: { user: "me", email: "new@example.com" } })).to.equal(
      "FORBIDDEN",
    );
    expect(await code(w.as(ada!), updateUser, { input: { user: bob!.id, name: "Bobby" } })).to.equal("NOT_FOUND");
    expect(await code(w.nobody, updateProfile, { input: { name: "Nobody" } })).to.equal("UNAUTHENTICATED");
  });

  it("are not updated or audited by changes without effect", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const events = async () =>
      (
        await w
          .as(w.owner)
          .graphql(
            `query($id: String) { auditEvents(filter: { resourceType: "user", resourceId: $id }) { totalCount } }`,
            { id: ada!.id },
          )
      ).auditEvents.totalCount;
    const before = await events();
    await w.as(w.owner).graphql(updateUser, { input: { user: ada!.id, username: ada!.username, name: null } });
    await w.as(w.owner).graphql(activateUser, { input: { user: ada!.id } });
    await w.as(w.owner).graphql(setUserRoles, { input: { user: ada!.id, roles: ["MEMBER"] } });
    expect(await events()).to.equal(before);
    await w.as(w.owner).graphql(updateUser, { input: { user: ada!.id, name: "Ada" } });
    expect(await events()).to.equal(before + 1);
  });

  it("are signed out immediately when suspended, and can sign in again once activated", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const suspended = await w.as(w.owner).graphql(suspendUser, { input: { user: ada!.username } });
    expect(suspended.suspendUser.user.status).to.equal("SUSPENDED");
    await isOut(w, ada!);
    await w.as(w.owner).graphql(suspendUser, { input: { user: ada!.id } });
    await w.as(w.owner).graphql(activateUser, { input: { user: ada!.id } });
    expect(await signedIn(w, ada!)).to.equal(401);
    const token = await w.login(ada!.email, userPassword);
    expect(await signedIn(w, { ...ada!, token })).to.equal(200);
    await w.as(w.owner).graphql(activateUser, { input: { user: ada!.id } });
    expect(await signedIn(w, { ...ada!, token }), "who is active stays signed in").to.equal(200);
  });

  it("suspended during a sign-in have no session left", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const credentials = { email: ada!.email, password: userPassword };
    const input = { user: ada!.id };
    for (let round = 0; round < 10; round++) {
      const [entered] = await Promise.all([
        w.nobody.post("/api/v2/users/login", credentials),
        w.as(w.owner).graphql(suspendUser, { input }),
      ]);
      expect(entered.status).to.be.oneOf([201, 401]);
      if (entered.status === 201)
        expect(await signedIn(w, { ...ada!, token: entered.body.session_token })).to.equal(401);
      await w.as(w.owner).graphql(activateUser, { input });
    }
  });

  it("lose keys and memberships when deleted, and free their names", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await w.grant(ada!, "organization-auditor");
    const { deleteUser: deleted } = await w.as(w.owner).graphql(deleteUser, { input: { user: ada!.id } });
    expect(deleted.user).to.deep.equal({
      username: ada!.username,
      organizationIds: [w.defaultOrganization],
      roles: [{ name: "ORGANIZATION_AUDITOR", organizationId: w.defaultOrganization }],
    });
    await isOut(w, ada!);
    expect(await code(w.as(w.owner), findUser, { user: ada!.id })).to.equal("NOT_FOUND");
    expect(await code(w.as(w.owner), deleteUser, { input: { user: ada!.id } })).to.equal("NOT_FOUND");
    const { organizationMembers } = await w
      .as(w.owner)
      .graphql(
        `query($search: String!) { organizationMembers(organization: "default", filter: { search: $search }) { totalCount } }`,
        { search: ada!.username },
      );
    expect(organizationMembers.totalCount).to.equal(0);
    const again = { email: ada!.email, username: ada!.username, password: goodPassword };
    expect((await w.as(w.owner).graphql(createUser, { input: again })).createUser.user.id).not.to.equal(ada!.id);
  });

  it("can be deleted only once, even concurrently", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const attempts = await Promise.allSettled(
      [1, 2].map(() => w.as(w.owner).graphql(deleteUser, { input: { user: ada!.id } })),
    );
    expect(attempts.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"]);
  });

  it("lose sessions and keys that depend on the old password when it is reset", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await w.as(w.owner).graphql(resetUserPassword, { input: { user: ada!.id, password: goodPassword } });
    await isOut(w, ada!);
    await w.login(ada!.email, goodPassword);
    const old = await w.nobody.post("/api/v2/users/login", {
      email: ada!.email,
      password: userPassword,
    });
    expect(old.status).to.equal(401);

    expect(
      fields(await w.as(w.owner).failure(resetUserPassword, { input: { user: ada!.id, password: "password" } })),
    ).to.deep.equal(["input.password"]);
    expect(fields(await w.as(w.owner).failure(resetUserPassword, { input: { user: ada!.id } }))).to.deep.equal([
      "input.password",
    ]);
    const { createUser: made } = await w
      .as(w.owner)
      .graphql(createUser, { input: { email: "sso@example.com", username: "sso", loginType: "OIDC" } });
    expect(
      fields(await w.as(w.owner).failure(resetUserPassword, { input: { user: made.user.id, password: goodPassword } })),
    ).to.deep.equal(["input.password"]);

    const { auditEvents } = await w
      .as(w.owner)
      .graphql(
        `query($id: String) { auditEvents(filter: { resourceType: "user", resourceId: $id, action: UPDATE }) { nodes { action diff } } }`,
        { id: ada!.id },
      );
    expect(auditEvents.nodes).to.deep.equal([{ action: "UPDATE", diff: { password: { old: "***", new: "***" } } }]);
  });

  it("can be changed while a password reset for them waits in the hashing queue", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const replica = await startServer(w.database.url, { ...usualHashes, STEWARD_HASH_CONCURRENCY: "1" });
    const { passwords } = replica.services;
    const owner = new Client(replica.url, w.owner.token);
    // The one slot stays taken until the test frees it.
    const free = Promise.withResolvers<void>();
    try {
      const seen = countHashes(replica);
      const hash = argon2.hash.bind(argon2);
      mock.method(argon2, "hash", async (...given: Parameters<typeof hash>) => {
        await free.promise;
        return hash(...given);
      });
      const others = Array.from({ length: 30 }, () => passwords.hash("another user's"));
      let isDone = false;
      const reset = owner.graphql(resetUserPassword, { input: { user: ada!.id, password: goodPassword } }).then(() => {
        isDone = true;
      });
      await eventually(() => seen.hashes > others.length, "the password of the reset waits to be hashed");
      await owner.graphql(updateUser, { input: { user: ada!.id, name: "Ada" } });
      expect(isDone).to.equal(false);
      free.resolve();
      await Promise.all([...others, reset]);
      await w.login(ada!.email, goodPassword);
    } finally {
      free.resolve();
      mock.restoreAll();
      await replica.close();
    }
  });

  it("that are system identities can be read by id, but are not listed and cannot be changed", async () => {
    const w = the();
    const { id, username } = await w.user("machinery");
    await setColumns(w, "users", { id }, { is_system: true });
    expect((await w.as(w.owner).graphql(findUser, { user: id })).user.id).to.equal(id);
    expect((await w.as(w.owner).graphql(listUsers, { filter: { search: username } })).users).to.deep.include({
      nodes: [],
      totalCount: 0,
    });
    const changes: Array<[string, object]> = [
      [updateUser, { name: "x" }],
      [suspendUser, {}],
      [deleteUser, {}],
      [setUserRoles, { roles: ["OWNER"] }],
      [resetUserPassword, { password: goodPassword }],
    ];
    for (const [document, change] of changes)
      expect(await code(w.as(w.owner), document, { input: { user: id, ...change } })).to.equal("FORBIDDEN");
  });
});

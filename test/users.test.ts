import { expect } from "chai";
import { startServer } from "./support/app.js";
import { eventually } from "./support/watchers.js";
import { Client, type GraphqlFailure, type Person, type World, world } from "./support/world.js";

const userMutation = (verb: string, selection = "user { id }") =>
  `mutation($input: ${verb[0]!.toUpperCase()}${verb.slice(1)}Input!) { ${verb}(input: $input) { ${selection} } }`;
const createUser = userMutation(
  "createUser",
  `user { id email username name avatarUrl status loginType isServiceAccount lastSeenAt organizationIds roles { name } }`,
);
const updateUser = userMutation("updateUser", "user { email username name avatarUrl }");
const updateProfile = userMutation("updateProfile", "user { email username name avatarUrl }");
const suspendUser = userMutation("suspendUser", "user { status }");
const activateUser = userMutation("activateUser", "user { status }");
const deleteUser = userMutation("deleteUser", "user { username organizationIds roles { name organizationId } }");
const setUserRoles = userMutation("setUserRoles", "user { roles { name displayName organizationId } }");
const resetUserPassword = userMutation("resetUserPassword");
const findUser = `query($id: UUID, $username: String) { user(id: $id, username: $username) { id email } }`;
const listUsers = `query($filter: UserFilter, $first: Int, $after: String) {
  users(filter: $filter, first: $first, after: $after) { nodes { id username } pageInfo { hasNextPage endCursor } totalCount } }`;

const goodPassword = "seven-lamps-beside-the-old-canal";

/** The statement that checks the session, which an answer of the last second may save. */
const sessionCheck = 1;

const code = async (client: Client, document: string, variables: Record<string, unknown> = {}) =>
  (await client.failure(document, variables)).code;

/** The fields at fault. */
const fields = ({ errors }: GraphqlFailure) =>
  (errors[0]!.extensions.validations as Array<{ field: string }> | undefined)?.map(({ field }) => field);

const signedIn = async (w: World, person: Person) =>
  (await w.as(person).post("/graphql", { query: "{ me { id } }" })).status;

/** Waits until the token is refused; a replica may trail by a second. */
const isOut = (w: World, person: Person) =>
  eventually(async () => (await signedIn(w, person)) === 401, `${person.username} is out`);

describe("users", () => {
  const the = world();

  it("an administrator creates somebody, who signs in with the password", async () => {
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
    expect(await w.as(w.owner).graphql(findUser, { username: "aDA" })).to.deep.equal({
      user: { id, email: "Ada@Example.com" },
    });
    expect(await w.as(w.owner).graphql(findUser, { id: id.toUpperCase() })).to.deep.equal({
      user: { id, email: "Ada@Example.com" },
    });
  });

  it("creates service accounts, which never sign in", async () => {
    const w = the();
    const input = { email: "robot@example.com", username: "robot", isServiceAccount: true };
    const { createUser: made } = await w.as(w.owner).graphql(createUser, { input });
    expect(made.user).to.include({ loginType: "NONE", isServiceAccount: true });
    const refused = await w.as(w.owner).failure(createUser, {
      input: { ...input, username: "robot-2", email: "r2@example.com", loginType: "OIDC", password: goodPassword },
    });
    expect(fields(refused)).to.deep.equal(["input.loginType", "input.password"]);
  });

  it("all faults of the fields are told at once", async () => {
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
    expect(fields(await owner.failure(createUser, { input: {} }))).to.deep.equal([
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

  it("refuses passwords that are easy to guess for this very person, and never repeats them", async () => {
    const w = the();
    const password = "ottokar.winterbottom";
    const input = { email: "ottokar.winterbottom@example.com", username: "ottokar", password };
    const refused = await w.as(w.owner).failure(createUser, { input });
    expect(fields(refused)).to.deep.equal(["input.password"]);
    expect(JSON.stringify(refused.errors)).not.to.include(password);
  });

  it("organisations are named by ids that exist", async () => {
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

  it("of two with one e-mail in different case at once, one is made and the other told why", async () => {
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

  it("a taken username is a conflict, also in another case, until its holder is deleted", async () => {
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

  it("people change their own name, picture and username, and nobody else's", async () => {
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

  it("what changes nothing leaves no trace", async () => {
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

  it("a suspended user is out at once and signs in anew when activated", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const suspended = await w.as(w.owner).graphql(suspendUser, { input: { user: ada!.username } });
    expect(suspended.suspendUser.user.status).to.equal("SUSPENDED");
    await isOut(w, ada!);
    await w.as(w.owner).graphql(suspendUser, { input: { user: ada!.id } });
    await w.as(w.owner).graphql(activateUser, { input: { user: ada!.id } });
    expect(await signedIn(w, ada!)).to.equal(401);
    const token = await w.login(ada!.email, `${ada!.username}-has-quite-a-long-password`);
    expect(await signedIn(w, { ...ada!, token })).to.equal(200);
  });

  it("a suspension that races a sign-in leaves no session", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const credentials = { email: ada!.email, password: `${ada!.username}-has-quite-a-long-password` };
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

  it("a deleted user is gone with keys and memberships; the names are free again", async () => {
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
    expect(await code(w.as(w.owner), findUser, { id: ada!.id })).to.equal("NOT_FOUND");
    expect(await code(w.as(w.owner), deleteUser, { input: { user: ada!.id } })).to.equal("NOT_FOUND");
    const left = await w.app.services.database.pool.query(
      "select (select count(*) from api_keys where user_id = $1)::int as keys, (select count(*) from organization_members where user_id = $1)::int as memberships",
      [ada!.id],
    );
    expect(left.rows).to.deep.equal([{ keys: 0, memberships: 0 }]);
    const again = { email: ada!.email, username: ada!.username, password: goodPassword };
    expect((await w.as(w.owner).graphql(createUser, { input: again })).createUser.user.id).not.to.equal(ada!.id);
  });

  it("two deletions of one user: one succeeds", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const attempts = await Promise.allSettled(
      [1, 2].map(() => w.as(w.owner).graphql(deleteUser, { input: { user: ada!.id } })),
    );
    expect(attempts.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"]);
  });

  it("a reset password replaces the old one and ends everything that came from it", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await w.as(w.owner).graphql(resetUserPassword, { input: { user: ada!.id, password: goodPassword } });
    await isOut(w, ada!);
    await w.login(ada!.email, goodPassword);
    const old = await w.nobody.post("/api/v2/users/login", {
      email: ada!.email,
      password: `${ada!.username}-has-quite-a-long-password`,
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

  it("a new password that waits for its turn keeps nobody from the user", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const replica = await startServer(w.database.url, { STEWARD_HASH_CONCURRENCY: "1" });
    const { passwords, database } = replica.services;
    const owner = new Client(replica.url, w.owner.token);
    try {
      const others = Array.from({ length: 30 }, () => passwords.hash("somebody else's"));
      const before = database.executed;
      let isDone = false;
      const reset = owner.graphql(resetUserPassword, { input: { user: ada!.id, password: goodPassword } }).then(() => {
        isDone = true;
      });
      await eventually(() => database.executed >= before + 1 + sessionCheck, "the user is read");
      await owner.graphql(updateUser, { input: { user: ada!.id, name: "Ada" } });
      expect(isDone).to.equal(false);
      await Promise.all([...others, reset]);
      await w.login(ada!.email, goodPassword);
    } finally {
      await replica.close();
    }
  });

  it("identities of the system are read by id, not listed, and not changed", async () => {
    const w = the();
    const id = "01890000-0000-7000-8000-00000000000a";
    await w.app.services.database.pool.query(
      `insert into users (id, created_at, updated_at, email, username, login_type, is_system)
       values ($1, now(), now(), 'machinery@system', 'machinery', 'none', true)`,
      [id],
    );
    expect((await w.as(w.owner).graphql(findUser, { id })).user.id).to.equal(id);
    expect((await w.as(w.owner).graphql(listUsers, { filter: { search: "machinery" } })).users).to.deep.include({
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

describe("who administers users", () => {
  const the = world();

  it("user admins change people, but nobody with a site role; others change nobody", async () => {
    const w = the();
    const [userAdmin, templateAdmin, auditor, organizationAdmin, plain, bob, colleague] = await w.users(
      "uadmin",
      "tadmin",
      "auditor",
      "oadmin",
      "plain",
      "bob",
      "colleague",
    );
    await w.grant(userAdmin!, "user-admin");
    await w.grant(colleague!, "user-admin");
    await w.grant(templateAdmin!, "template-admin");
    await w.grant(auditor!, "auditor");
    await w.grant(organizationAdmin!, "organization-admin");

    const changes: Array<[string, object]> = [
      [updateUser, { name: "Changed" }],
      [suspendUser, {}],
      [activateUser, {}],
      [resetUserPassword, { password: goodPassword }],
      [deleteUser, {}],
    ];
    for (const [document, change] of changes) {
      const about = (user: Person) => ({ input: { user: user.id, ...change } });
      for (const reader of [templateAdmin, auditor, organizationAdmin])
        expect(await code(w.as(reader!), document, about(bob!)), document).to.equal("FORBIDDEN");
      expect(await code(w.as(plain!), document, about(bob!)), document).to.equal("NOT_FOUND");
      for (const holder of [w.owner, colleague!, auditor!])
        expect(await code(w.as(userAdmin!), document, about(holder)), document).to.equal("FORBIDDEN");
      await w.as(userAdmin!).graphql(document, about(bob!));
    }
    const input = { email: "x@example.com", username: "x", password: goodPassword };
    for (const reader of [templateAdmin, auditor, organizationAdmin, plain])
      expect(await code(w.as(reader!), createUser, { input })).to.equal("FORBIDDEN");
    await w.as(userAdmin!).graphql(createUser, { input });
  });

  it("scopes narrow what an administrator may do; everybody's key reads its own user", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const { createApiKey } = await w
      .as(w.owner)
      .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["group:read"] }) { token } }`);
    const narrow = w.as(createApiKey);
    expect(await narrow.graphql("{ me { username } }")).to.deep.equal({ me: { username: "owner" } });
    for (const [document, variables, scope] of [
      [listUsers, {}, "user:read"],
      [updateUser, { input: { user: bob!.id, name: "B" } }, "user:update"],
      [deleteUser, { input: { user: bob!.id } }, "user:delete"],
    ] as const) {
      const { code: refusal, errors } = await narrow.failure(document, variables);
      expect([refusal, errors[0]!.extensions.requiredScopes]).to.deep.equal(["FORBIDDEN", [scope]]);
    }
  });

  it("an OAuth2 token changes no password, whatever its scopes", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const [id, secret] = ["oauthtoken", "s".repeat(43)];
    await w.app.services.database.pool.query(
      `insert into api_keys (id, secret_hash, user_id, kind, scopes, created_at, expires_at)
       values ($1, sha256($2), $3, 'oauth', '{all}', now(), now() + interval '1 hour')`,
      [id, Buffer.from(secret), w.owner.id],
    );
    const client = w.as({ token: `stw_oa_${id}-${secret}` });
    await client.graphql(updateUser, { input: { user: bob!.id, name: "Bob" } });
    expect(await code(client, resetUserPassword, { input: { user: bob!.id, password: goodPassword } })).to.equal(
      "FORBIDDEN",
    );
  });

  it("a user admin cannot give the role owner, nor any other, nor reset an owner's password", async () => {
    const w = the();
    const [userAdmin, bob] = await w.users("uadmin", "bob");
    await w.grant(userAdmin!, "user-admin");
    for (const user of [bob!, userAdmin!])
      for (const role of ["OWNER", "USER_ADMIN", "AUDITOR"])
        expect(await code(w.as(userAdmin!), setUserRoles, { input: { user: user.id, roles: [role] } })).to.equal(
          "FORBIDDEN",
        );
    expect(
      await code(w.as(userAdmin!), resetUserPassword, { input: { user: w.owner.id, password: goodPassword } }),
    ).to.equal("FORBIDDEN");
  });

  it("owners set roles: the list is replaced, implied names are ignored, organisation roles refused", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const set = (roles: unknown) => ({ input: { user: bob!.id, roles } });
    const owner = w.as(w.owner);
    const given = await owner.graphql(setUserRoles, set(["AUDITOR", "MEMBER", "TEMPLATE_ADMIN", "AUDITOR"]));
    expect(given.setUserRoles.user.roles).to.deep.equal([
      { name: "TEMPLATE_ADMIN", displayName: "Template admin", organizationId: "" },
      { name: "AUDITOR", displayName: "Auditor", organizationId: "" },
    ]);
    expect(fields(await owner.failure(setUserRoles, set(["OWNER", "ORGANIZATION_ADMIN"])))).to.deep.equal([
      "input.roles[1]",
    ]);
    expect(fields(await owner.failure(setUserRoles, set(null)))).to.deep.equal(["input.roles"]);
    expect(await code(owner, setUserRoles, set(["KING"]))).to.equal("BAD_USER_INPUT");
    expect((await owner.graphql(setUserRoles, set([]))).setUserRoles.user.roles).to.deep.equal([]);
  });

  it("roles count from the next request of their holder", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const mayRead = async () =>
      (await w.as(ada!).post("/graphql", { query: findUser, variables: { id: bob!.id } })).body.errors === undefined;
    expect(await mayRead()).to.equal(false);
    await w.grant(ada!, "auditor");
    expect(await mayRead()).to.equal(true);
    await w.as(w.owner).graphql(setUserRoles, { input: { user: ada!.id, roles: [] } });
    expect(await mayRead()).to.equal(false);
  });

  it("nobody suspends or deletes themself", async () => {
    const w = the();
    const [second, plain] = await w.users("second", "plain");
    await w.grant(second!, "owner");
    for (const document of [suspendUser, deleteUser]) {
      expect(await code(w.as(second!), document, { input: { user: "me" } })).to.equal("CONFLICT");
      expect(await code(w.as(plain!), document, { input: { user: "me" } })).to.equal("FORBIDDEN");
    }
    await w.as(w.owner).graphql(setUserRoles, { input: { user: second!.id, roles: [] } });
  });

  it("the last active owner who is a person stays one", async () => {
    const w = the();
    const [second] = await w.users("second");
    const owner = w.as(w.owner);
    const demoted = { input: { user: "me", roles: [] } };
    const robot = { email: "robot@example.com", username: "robot", isServiceAccount: true };
    const { createUser: made } = await owner.graphql(createUser, { input: robot });
    await owner.graphql(setUserRoles, { input: { user: made.user.id, roles: ["OWNER"] } });
    expect(await code(owner, setUserRoles, demoted), "a service account does not count").to.equal("CONFLICT");

    await w.grant(second!, "owner");
    await owner.graphql(suspendUser, { input: { user: second!.id } });
    expect(await code(owner, setUserRoles, demoted), "a suspended owner does not count").to.equal("CONFLICT");
    await owner.graphql(setUserRoles, { input: { user: second!.id, roles: [] } });
    await owner.graphql(setUserRoles, { input: { user: made.user.id, roles: [] } });
    expect(await code(owner, setUserRoles, { input: { user: "me", roles: ["AUDITOR"] } })).to.equal("CONFLICT");
    await owner.graphql(setUserRoles, { input: { user: "me", roles: ["AUDITOR", "OWNER"] } });
    await owner.graphql(setUserRoles, { input: { user: "me", roles: ["OWNER"] } });
  });

  it("two owners who take each other's role, suspend or delete each other at once: one is always left", async function () {
    this.timeout(60_000);
    const w = the();
    const { pool } = w.app.services.database;
    const count = async () =>
      (
        await pool.query(
          "select from users where 'owner' = any(site_roles) and status = 'active' and not is_service_account and deleted_at is null",
        )
      ).rowCount;
    const owner = w.as(w.owner);
    const [second] = await w.users("second");
    const reset = () =>
      pool.query("update users set site_roles = '{owner}', status = 'active', deleted_at = null where id = any($1)", [
        [w.owner.id, second!.id],
      ]);
    const session = await pool.query("select * from api_keys where user_id = any($1)", [[w.owner.id, second!.id]]);
    const restoreKeys = () =>
      pool.query(
        "insert into api_keys select * from json_populate_recordset(null::api_keys, $1) on conflict do nothing",
        [JSON.stringify(session.rows.map((row) => ({ ...row, secret_hash: `\\x${row.secret_hash.toString("hex")}` })))],
      );
    let refused = 0;
    for (let round = 0; round < 100; round++) {
      await reset();
      await restoreKeys();
      const [document, change] = [
        [setUserRoles, { roles: [] }],
        [suspendUser, {}],
        [deleteUser, {}],
      ][round % 10 < 8 ? 0 : (round % 10) - 7] as [string, object];
      const attempts = await Promise.allSettled([
        owner.graphql(document, { input: { user: second!.id, ...change } }),
        w.as(second!).graphql(document, { input: { user: w.owner.id, ...change } }),
      ]);
      refused += attempts.filter(({ status }) => status === "rejected").length;
      expect(await count(), `round ${round}`).to.be.at.least(1);
    }
    expect(refused, "each round one of both is refused").to.be.at.least(100);
    await reset();
    await restoreKeys();
    await pool.query(
      "insert into organization_members (organization_id, user_id, created_at) select $1, unnest($2::uuid[]), now() on conflict do nothing",
      [w.defaultOrganization, [w.owner.id, second!.id]],
    );
  });
});

describe("the list of users", () => {
  const the = world();

  it("shows everybody to those who may see everybody, and people themselves to all others", async () => {
    const w = the();
    const [auditor, organizationAdmin, organizationAuditor, plain] = await w.users(
      "auditor",
      "oadmin",
      "oauditor",
      "plain",
    );
    const stranger = await w.user("stranger", [(await w.organization()).id]);
    await w.grant(auditor!, "auditor");
    await w.grant(organizationAdmin!, "organization-admin");
    await w.grant(organizationAuditor!, "organization-auditor");
    const all = [w.owner, auditor!, organizationAdmin!, organizationAuditor!, plain!, stranger]
      .map(({ username }) => username)
      .sort();
    const seenBy = async (person: Person) => {
      const { users } = await w.as(person).graphql(listUsers);
      const names = users.nodes.map(({ username }: Person) => username);
      expect(users.totalCount).to.equal(names.length);
      return names;
    };
    for (const person of [w.owner, auditor!, organizationAdmin!]) expect(await seenBy(person)).to.deep.equal(all);
    expect(await seenBy(organizationAuditor!)).to.deep.equal(all.filter((name) => name !== stranger.username));
    expect(await seenBy(plain!)).to.deep.equal([plain!.username]);
    expect(await code(w.as(plain!), findUser, { id: stranger.id })).to.equal("NOT_FOUND");
    expect(await code(w.as(organizationAuditor!), findUser, { id: stranger.id })).to.equal("NOT_FOUND");
    expect(await code(w.nobody, listUsers)).to.equal("UNAUTHENTICATED");
    expect(await code(w.nobody, "{ me { id } }")).to.equal("UNAUTHENTICATED");
  });

  it("is narrowed by everything the filter knows", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const organization = await w.organization();
    const eve = await w.user("eve", [organization.id]);
    const [dan] = await w.users("dan");
    await w.grant(dan!, "template-admin");
    await w.grant(dan!, "organization-user-admin");
    await owner.graphql(updateUser, { input: { user: eve.id, name: "Eve 100% Online" } });
    await owner.graphql(suspendUser, { input: { user: eve.id } });
    const made = { email: "bot@example.com", username: "bot", isServiceAccount: true };
    const bot = (await owner.graphql(createUser, { input: made })).createUser.user;
    const found = async (filter: object) =>
      (await owner.graphql(listUsers, { filter })).users.nodes.map(({ id }: { id: string }) => id);

    expect(await found({ search: "EVE-" })).to.deep.equal([eve.id]);
    expect(await found({ search: "100% on" })).to.deep.equal([eve.id]);
    expect(await found({ search: eve.email })).to.deep.equal([eve.id]);
    expect(await found({ search: "%" })).to.deep.equal([eve.id]);
    expect(await found({ status: "SUSPENDED" })).to.deep.equal([eve.id]);
    expect(await found({ organization: organization.name.toUpperCase() })).to.deep.equal([eve.id]);
    expect(await found({ role: "TEMPLATE_ADMIN" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "MEMBER", search: "dan" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "ORGANIZATION_USER_ADMIN" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "ORGANIZATION_USER_ADMIN", organization: organization.id })).to.deep.equal([]);
    expect(await found({ serviceAccount: true })).to.deep.equal([bot.id]);
    expect(await found({ loginType: "NONE" })).to.deep.equal([bot.id]);
    expect(await found({ createdAfter: "2999-01-01T00:00:00Z" })).to.deep.equal([]);
    expect(await found({ createdBefore: "2000-01-01T00:00:00+02:00" })).to.deep.equal([]);
    expect(await found({ lastSeenBefore: "2000-01-01T00:00:00Z" })).to.deep.equal([]);
    expect(await found({ lastSeenAfter: "2000-01-01T00:00:00Z", search: "bot" })).to.deep.equal([]);
    expect(fields(await owner.failure(listUsers, { filter: { search: "x".repeat(255) }, first: 1001 }))).to.deep.equal([
      "filter.search",
      "first",
    ]);
    expect(await code(owner, listUsers, { filter: { organization: "no-such" } })).to.equal("NOT_FOUND");
  });

  it("is read page by page, each in a fixed number of statements", async () => {
    const w = the();
    const names: string[] = [];
    let after: string | undefined;
    do {
      const { users } = await w.as(w.owner).graphql(listUsers, { first: 3, after });
      names.push(...users.nodes.map(({ username }: Person) => username));
      after = users.pageInfo.hasNextPage ? users.pageInfo.endCursor : undefined;
    } while (after);
    const { users } = await w.as(w.owner).graphql(listUsers, { first: 1000 });
    expect(names).to.deep.equal(users.nodes.map(({ username }: Person) => username));

    const query = "query($first: Int) { users(first: $first) { nodes { id roles { name } organizationIds } } }";
    const cost = (document: string, first?: number) => w.statements(() => w.as(w.owner).graphql(document, { first }));
    for (const first of [1, 1000]) expect(await cost(query, first)).to.be.at.most(2 + sessionCheck);
    expect(await cost("{ me { id roles { name } organizationIds } }")).to.be.at.most(1 + sessionCheck);
  });

  it("changes cost a small number of statements", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const cost = (document: string, input: object) => w.statements(() => w.as(w.owner).graphql(document, { input }));
    const user = bob!.id;
    expect(
      await cost(userMutation("createUser"), { email: "c@example.com", username: "c", password: goodPassword }),
    ).to.be.at.most(3 + sessionCheck);
    expect(await cost(updateUser, { user, name: "Bob" })).to.be.at.most(4 + sessionCheck);
    expect(await cost(suspendUser, { user })).to.be.at.most(4 + sessionCheck);
    expect(await cost(activateUser, { user })).to.be.at.most(4 + sessionCheck);
    expect(await cost(userMutation("setUserRoles"), { user, roles: ["AUDITOR"] })).to.be.at.most(4 + sessionCheck);
    expect(await cost(resetUserPassword, { user, password: goodPassword })).to.be.at.most(4 + sessionCheck);
    expect(await cost(deleteUser, { user })).to.be.at.most(3 + sessionCheck);
  });
});

// Reaches for tables: owners that were deleted come back for the next round of a race.
import { expect } from "chai";
import {
  activateUser,
  code,
  createUser,
  deleteUser,
  fields,
  findUser,
  goodPassword,
  listUsers,
  resetUserPassword,
  setUserRoles,
  suspendUser,
  updateUser,
} from "./support/accounts.js";
import { insertKey } from "./support/keys.js";
import { setColumns } from "./support/tables.js";
import { repeats } from "./support/repeats.js";
import { type Person, world } from "./support/world.js";

describe("administration of users", () => {
  const the = world();

  it("lets user admins change users, except holders of site roles, and other roles none at all", async () => {
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

  it("is limited by scopes, except for reading the key's own user", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const { createApiKey } = await w
      .as(w.owner)
      .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["group:read"] }) { token } }`);
    const narrow = w.as(createApiKey);
    expect(await narrow.graphql("{ me { username } }")).to.deep.equal({ me: { username: "owner" } });
    for (const [document, variables, scopes] of [
      [listUsers, {}, ["user:read"]],
      [updateUser, { input: { user: bob!.id, name: "B" } }, ["user:read", "user:update"]],
      [deleteUser, { input: { user: bob!.id } }, ["user:delete", "user:read"]],
    ] as const) {
      const { code: refusal, errors } = await narrow.failure(document, variables);
      expect([refusal, errors[0]!.extensions.requiredScopes]).to.deep.equal(["FORBIDDEN", scopes]);
    }
  });

  it("lets an OAuth2 token change no password, whatever its scopes", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const { text } = await insertKey(w, w.owner, "oauth");
    const client = w.as({ token: text });
    await client.graphql(updateUser, { input: { user: bob!.id, name: "Bob" } });
    expect(await code(client, resetUserPassword, { input: { user: bob!.id, password: goodPassword } })).to.equal(
      "FORBIDDEN",
    );
  });

  it("lets user admins neither grant site roles nor reset an owner's password", async () => {
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

  it("lets owners replace site roles: implied names are ignored, organization roles rejected", async () => {
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

  it("applies new roles from their holder's next request on", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const mayRead = async () =>
      (await w.as(ada!).post("/graphql", { query: findUser, variables: { user: bob!.id } })).body.errors === undefined;
    expect(await mayRead()).to.equal(false);
    await w.grant(ada!, "auditor");
    expect(await mayRead()).to.equal(true);
    await w.as(w.owner).graphql(setUserRoles, { input: { user: ada!.id, roles: [] } });
    expect(await mayRead()).to.equal(false);
  });

  it("lets no user suspend or delete themselves", async () => {
    const w = the();
    const [second, plain] = await w.users("second", "plain");
    await w.grant(second!, "owner");
    for (const document of [suspendUser, deleteUser]) {
      expect(await code(w.as(second!), document, { input: { user: "me" } })).to.equal("CONFLICT");
      expect(await code(w.as(plain!), document, { input: { user: "me" } })).to.equal("FORBIDDEN");
    }
    await w.as(w.owner).graphql(setUserRoles, { input: { user: second!.id, roles: [] } });
  });

  it("keeps the last active owner who is a person", async () => {
    const w = the();
    const [second] = await w.users("second");
    const owner = w.as(w.owner);
    const demoted = { input: { user: "me", roles: [] } };
    const robot = { email: "robot@example.com", username: "robot", isServiceAccount: true };
    const { createUser: made } = await owner.graphql(createUser, { input: robot });
    await owner.graphql(setUserRoles, { input: { user: made.user.id, roles: ["OWNER"] } });
    expect(await code(owner, setUserRoles, demoted), "a service account is no substitute").to.equal("CONFLICT");

    await w.grant(second!, "owner");
    await owner.graphql(suspendUser, { input: { user: second!.id } });
    expect(await code(owner, setUserRoles, demoted), "a suspended owner is no substitute").to.equal("CONFLICT");
    await owner.graphql(setUserRoles, { input: { user: second!.id, roles: [] } });
    await owner.graphql(setUserRoles, { input: { user: made.user.id, roles: [] } });
    expect(await code(owner, setUserRoles, { input: { user: "me", roles: ["AUDITOR"] } })).to.equal("CONFLICT");
    await owner.graphql(setUserRoles, { input: { user: "me", roles: ["AUDITOR", "OWNER"] } });
    await owner.graphql(setUserRoles, { input: { user: "me", roles: ["OWNER"] } });
  });

  it("leaves at least one owner when two demote, suspend, or delete each other concurrently", async () => {
    const w = the();
    const [second, reader] = await w.users("second", "reader");
    await w.grant(reader!, "user-admin");
    const activeOwners = async () => {
      const query = "{ users(filter: { role: OWNER, status: ACTIVE }) { totalCount } }";
      return (await w.as(reader!).graphql(query)).users.totalCount;
    };
    const both = [w.owner.id, second!.id];
    const rounds = repeats(10, 100);
    let refused = 0;
    for (let round = 0; round < rounds; round++) {
      await setColumns(w, "users", { id: both }, { site_roles: ["owner"], status: "active", deleted_at: null });
      const [first, other] = await Promise.all(both.map(async (id) => w.as({ token: await w.session(id) })));
      const [document, change] = [
        [setUserRoles, { roles: [] }],
        [suspendUser, {}],
        [deleteUser, {}],
      ][round % 10 < 8 ? 0 : (round % 10) - 7] as [string, object];
      const attempts = await Promise.allSettled([
        first!.graphql(document, { input: { user: second!.id, ...change } }),
        other!.graphql(document, { input: { user: w.owner.id, ...change } }),
      ]);
      refused += attempts.filter(({ status }) => status === "rejected").length;
      expect(await activeOwners(), `round ${round}`).to.be.at.least(1);
    }
    expect(refused, "at least one of each pair is rejected").to.be.at.least(rounds);
  });
});

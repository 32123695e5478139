// Reaches for tables: a thousand organizations, and members of deleted ones.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { insert } from "./support/stage.js";
import { countRows, deleteRows, setColumns } from "./support/tables.js";
import { type Client, sharedWorld } from "./support/world.js";

const createOrganization = `mutation($input: CreateOrganizationInput!) {
  createOrganization(input: $input) { organization { id name displayName description icon isDefault } } }`;
const updateOrganization = `mutation($input: UpdateOrganizationInput!) {
  updateOrganization(input: $input) { organization { name displayName description icon } } }`;
const deleteOrganization = `mutation($organization: String!) {
  deleteOrganization(input: { organization: $organization }) { organization { id name } } }`;
const addMember = `mutation($organization: String!, $user: String!) {
  addOrganizationMember(input: { organization: $organization, user: $user }) { member { id username roles { name } } } }`;
const removeMember = `mutation($organization: String!, $user: String!) {
  removeOrganizationMember(input: { organization: $organization, user: $user }) { member { username } } }`;
const setRoles = `mutation($organization: String!, $user: String!, $roles: [RoleName!]!) {
  setOrganizationMemberRoles(input: { organization: $organization, user: $user, roles: $roles }) {
    member { roles { name displayName organizationId } } } }`;
const members = `query($organization: String!, $filter: OrganizationMemberFilter, $first: Int, $after: String, $last: Int, $before: String) {
  organizationMembers(organization: $organization, filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    nodes { id username name avatarUrl joinedAt roles { name } user { email } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    totalCount } }`;
const membersEdge = `query($organization: String!, $first: Int, $after: String, $last: Int, $before: String) {
  organization(organization: $organization) { members(first: $first, after: $after, last: $last, before: $before) {
    nodes { id username name avatarUrl joinedAt roles { name } user { email } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    totalCount } } }`;

const code = async (client: Client, document: string, variables: Record<string, unknown>) =>
  (await client.failure(document, variables)).code;

const shared = sharedWorld();

describe("organizations", () => {
  const the = shared();

  it("are created, updated, and deleted by owners, each recorded in the audit log", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const created = await owner.graphql(createOrganization, {
      input: { name: "Platform", displayName: "The platform", description: "Builds it.", icon: "/icons/p.svg" },
    });
    const { id, ...rest } = created.createOrganization.organization;
    expect(rest).to.deep.equal({
      name: "Platform",
      displayName: "The platform",
      description: "Builds it.",
      icon: "/icons/p.svg",
      isDefault: false,
    });

    const changed = await owner.graphql(updateOrganization, {
      input: { organization: "PLATFORM", name: "platform-2", icon: "", displayName: null },
    });
    expect(changed.updateOrganization.organization).to.deep.equal({
      name: "platform-2",
      displayName: "The platform",
      description: "Builds it.",
      icon: "",
    });
    expect(await owner.graphql(`{ organization(organization: "Platform-2") { id } }`)).to.deep.equal({
      organization: { id },
    });

    const deleted = await owner.graphql(deleteOrganization, { organization: id.toUpperCase() });
    expect(deleted.deleteOrganization.organization).to.deep.equal({ id, name: "platform-2" });
    expect(await code(owner, deleteOrganization, { organization: id })).to.equal("NOT_FOUND");
    expect(await code(owner, `query($id: String!) { organization(organization: $id) { id } }`, { id })).to.equal(
      "NOT_FOUND",
    );

    const { auditEvents } = await owner.graphql(
      `query($id: String!) { auditEvents(filter: { resourceType: "organization", resourceId: $id }) { nodes { action diff } } }`,
      { id },
    );
    expect(auditEvents.nodes).to.deep.equal([
      { action: "DELETE", diff: {} },
      {
        action: "UPDATE",
        diff: { name: { old: "Platform", new: "platform-2" }, icon: { old: "/icons/p.svg", new: "" } },
      },
      {
        action: "CREATE",
        diff: {
          name: { new: "Platform" },
          displayName: { new: "The platform" },
          description: { new: "Builds it." },
          icon: { new: "/icons/p.svg" },
        },
      },
    ]);
  });

  it("come with a group Everyone that shares their id", async () => {
    const w = the();
    const { id } = await w.organization();
    const { organizationGroups } = await w
      .as(w.owner)
      .graphql("query($id: String!) { organizationGroups(organization: $id) { nodes { id name } } }", { id });
    expect(organizationGroups.nodes).to.deep.equal([{ id, name: "Everyone" }]);
  });

  it("have names that are unique in any letter case until they are deleted", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const { id } = await w.organization("twice");
    const failure = await owner.failure(createOrganization, { input: { name: "TWICE" } });
    expect(failure.code).to.equal("CONFLICT");
    expect(fields(failure)).to.deep.equal(["input.name"]);
    expect(await code(owner, updateOrganization, { input: { organization: "default", name: "Twice" } })).to.equal(
      "CONFLICT",
    );

    await owner.graphql(deleteOrganization, { organization: id });
    await w.organization("twice");
  });

  it("take a name only once when created concurrently", async () => {
    const w = the();
    const attempts = await Promise.allSettled(
      ["raced", "Raced", "RACED"].map((name) => w.as(w.owner).graphql(createOrganization, { input: { name } })),
    );
    expect(attempts.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected", "rejected"]);
  });

  it("have all field faults reported together", async () => {
    const w = the();
    const input = { name: "-", displayName: " x", description: "x".repeat(1001), icon: "javascript:alert(1)" };
    for (const [document, extra] of [
      [createOrganization, {}],
      [updateOrganization, { organization: "default" }],
    ] as const) {
      const failure = await w.as(w.owner).failure(document, { input: { ...extra, ...input } });
      expect(failure.code).to.equal("BAD_USER_INPUT");
      expect(fields(failure)).to.deep.equal(["input.name", "input.displayName", "input.description", "input.icon"]);
    }
    expect(fields(await w.as(w.owner).failure(createOrganization, { input: {} }))).to.deep.equal(["input.name"]);
  });

  it("include the default one, which cannot be deleted", async () => {
    const w = the();
    expect(await code(w.as(w.owner), deleteOrganization, { organization: "default" })).to.equal("BAD_USER_INPUT");
  });

  it("are hidden from outsiders, visible to members, writable by their admins, and deletable by owners alone", async () => {
    const w = the();
    const { id, name } = await w.organization();
    const [stranger] = await w.users("stranger");
    const admin = await w.user("admin", [id]);
    const member = await w.user("member", [id]);
    await w.as(w.owner).graphql(setRoles, { organization: id, user: admin.id, roles: ["ORGANIZATION_ADMIN"] });

    const find = `query($id: String!) { organization(organization: $id) { name } }`;
    expect(await code(w.as(stranger!), find, { id })).to.equal("NOT_FOUND");
    expect(await code(w.as(stranger!), updateOrganization, { input: { organization: id } })).to.equal("NOT_FOUND");
    expect(await w.as(member).graphql(find, { id })).to.deep.equal({ organization: { name } });
    expect(await w.as(member).graphql("{ organizations { name } }")).to.deep.equal({ organizations: [{ name }] });
    expect(await code(w.as(member), updateOrganization, { input: { organization: id, name: "" } })).to.equal(
      "FORBIDDEN",
    );
    await w.as(admin).graphql(updateOrganization, { input: { organization: id, displayName: "Ours" } });
    expect(await code(w.as(admin), deleteOrganization, { organization: id })).to.equal("FORBIDDEN");
    expect(await code(w.as(admin), createOrganization, { input: { name: "more" } })).to.equal("FORBIDDEN");
    expect(await code(w.nobody, "{ organizations { name } }", {})).to.equal("UNAUTHENTICATED");
  });

  it("are looked up by id, by name in any letter case, and as the default", async () => {
    const w = the();
    const { id, name } = await w.organization();
    const find = `query($ref: String!) { organization(organization: $ref) { id isDefault } }`;
    for (const ref of [id, id.toUpperCase(), name, name.toUpperCase()])
      expect(await w.as(w.owner).graphql(find, { ref }), ref).to.deep.equal({ organization: { id, isDefault: false } });
    const { organization } = await w.as(w.owner).graphql(find, { ref: "default" });
    expect(organization).to.deep.equal({ id: w.defaultOrganization, isDefault: true });
  });
});

describe("members of organizations", () => {
  const the = shared();
  it("are added, given roles, and removed by an organization admin; removal ends their group memberships", async () => {
    const w = the();
    const organization = (await w.organization()).id;
    const admin = await w.user("admin", [organization]);
    const [bob] = await w.users("bob");
    await w.as(w.owner).graphql(setRoles, { organization, user: admin.id, roles: ["ORGANIZATION_ADMIN"] });

    const added = await w.as(admin).graphql(addMember, { organization, user: bob!.username.toUpperCase() });
    expect(added.addOrganizationMember.member).to.deep.equal({ id: bob!.id, username: bob!.username, roles: [] });
    expect(await code(w.as(admin), addMember, { organization, user: bob!.id })).to.equal("CONFLICT");

    const given = await w.as(admin).graphql(setRoles, {
      organization,
      user: bob!.id,
      roles: ["ORGANIZATION_MEMBER", "ORGANIZATION_AUDITOR", "ORGANIZATION_ADMIN", "ORGANIZATION_AUDITOR"],
    });
    expect(given.setOrganizationMemberRoles.member.roles).to.deep.equal([
      { name: "ORGANIZATION_ADMIN", displayName: "Organization admin", organizationId: organization },
      { name: "ORGANIZATION_AUDITOR", displayName: "Organization auditor", organizationId: organization },
    ]);
    const group = await w.group("ops", { members: [bob!], organization });
    const removed = await w.as(admin).graphql(removeMember, { organization, user: bob!.id });
    expect(removed.removeOrganizationMember.member.username).to.equal(bob!.username);
    expect(await code(w.as(admin), removeMember, { organization, user: bob!.id })).to.equal("NOT_FOUND");
    expect((await w.as(w.owner).get(`/api/v2/groups/${group.id}`)).body.members).to.deep.equal([]);

    const { auditEvents } = await w
      .as(admin)
      .graphql(
        `query($id: String!) { auditEvents(filter: { resourceType: "organization_member", resourceId: $id }) { nodes { action diff } } }`,
        { id: bob!.id },
      );
    const roles = ["organization-admin", "organization-auditor"];
    expect(auditEvents.nodes).to.deep.equal([
      { action: "DELETE", diff: { roles: { old: roles } } },
      { action: "UPDATE", diff: { roles: { old: [], new: roles } } },
      { action: "CREATE", diff: {} },
    ]);
  });

  it("can be given, and stripped of, only the user admin role by an organization user admin", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const organization = "default";
    await w.grant(ada!, "organization-user-admin");
    const asAda = w.as(ada!);
    await asAda.graphql(setRoles, { organization, user: bob!.id, roles: ["ORGANIZATION_USER_ADMIN"] });
    for (const role of ["ORGANIZATION_ADMIN", "ORGANIZATION_TEMPLATE_ADMIN", "ORGANIZATION_AUDITOR"])
      expect(await code(asAda, setRoles, { organization, user: bob!.id, roles: [role] })).to.equal("FORBIDDEN");

    await w.grant(bob!, "organization-admin", "organization-user-admin");
    for (const roles of [[], ["ORGANIZATION_ADMIN"]])
      expect(await code(asAda, setRoles, { organization, user: bob!.id, roles })).to.equal("FORBIDDEN");
  });

  it("are managed by site user admins in any organization, and not by auditors or plain members", async () => {
    const w = the();
    const [userAdmin, auditor, plain, bob] = await w.users("uadmin", "auditor", "plain", "bob");
    await w.grant(userAdmin!, "user-admin");
    await w.grant(auditor!, "auditor");
    const organization = (await w.organization()).id;
    await w.as(userAdmin!).graphql(addMember, { organization, user: bob!.id });
    await w.as(userAdmin!).graphql(setRoles, { organization, user: bob!.id, roles: ["ORGANIZATION_USER_ADMIN"] });
    expect(
      await code(w.as(userAdmin!), setRoles, { organization, user: bob!.id, roles: ["ORGANIZATION_ADMIN"] }),
    ).to.equal("FORBIDDEN");

    const member = { user: bob!.id, roles: [] };
    for (const document of [removeMember, setRoles]) {
      expect(await code(w.as(auditor!), document, { ...member, organization })).to.equal("FORBIDDEN");
      expect(await code(w.as(plain!), document, { ...member, organization })).to.equal("NOT_FOUND");
      expect(await code(w.as(plain!), document, { ...member, organization: "default" })).to.equal("FORBIDDEN");
    }
    expect(await code(w.as(auditor!), addMember, { organization, user: plain!.id })).to.equal("FORBIDDEN");
    expect(await code(w.as(plain!), addMember, { organization: "default", user: plain!.id })).to.equal("FORBIDDEN");
    await w.as(userAdmin!).graphql(removeMember, { organization, user: bob!.id });
  });

  it("get each change immediately, even with recently used credentials", async () => {
    const w = the();
    const organization = (await w.organization()).id;
    const bob = await w.user("bob");
    const owner = w.as(w.owner);
    const client = w.as(bob);
    const isThere = async () => (await client.graphql("{ organizations { id } }")).organizations.length === 2;
    const mayWrite = async () =>
      (
        await client.graphql(`{ assignableRoles(organization: "${organization}") { assignable } }`)
      ).assignableRoles.every(({ assignable }: { assignable: boolean }) => assignable);
    expect(await isThere()).to.equal(false);
    await owner.graphql(addMember, { organization, user: bob.id });
    expect([await isThere(), await mayWrite()], "added").to.deep.equal([true, false]);
    await owner.graphql(setRoles, { organization, user: bob.id, roles: ["ORGANIZATION_ADMIN"] });
    expect(await mayWrite(), "promoted").to.equal(true);
    await owner.graphql(removeMember, { organization, user: bob.id });
    expect(await isThere(), "removed").to.equal(false);
  });

  it("cannot be system identities", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const organization = (await w.organization()).id;
    const other = (await w.organization()).id;
    const engine = await w.user("engine", [organization]);
    await setColumns(w, "users", { id: engine.id }, { is_system: true });
    expect(await code(owner, addMember, { organization: other, user: engine.id })).to.equal("FORBIDDEN");
    for (const document of [setRoles, removeMember])
      expect(await code(owner, document, { organization, user: engine.id, roles: [] })).to.equal("FORBIDDEN");
  });

  it("cannot be given unknown roles, site roles, or a missing list of roles", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const asOwner = w.as(w.owner);
    const target = { organization: "default", user: bob!.id };
    expect(
      fields(await asOwner.failure(setRoles, { ...target, roles: ["OWNER", "ORGANIZATION_ADMIN", "AUDITOR"] })),
    ).to.deep.equal(["input.roles[0]", "input.roles[2]"]);
    expect(fields(await asOwner.failure(setRoles, target))).to.deep.equal(["input.roles"]);
    expect(await code(asOwner, setRoles, { ...target, roles: ["KING"] })).to.equal("BAD_USER_INPUT");
  });

  it("see only ids, names, and avatars of other members if they have no role, and cannot search by more", async () => {
    const w = the();
    const organization = (await w.organization()).id;
    const ada = await w.user("ada", [organization]);
    const bob = await w.user("bob", [organization]);
    await w.as(w.owner).graphql(setRoles, { organization, user: bob.id, roles: ["ORGANIZATION_AUDITOR"] });

    const seen = await w.as(ada).graphql(members, { organization });
    expect(seen.organizationMembers.totalCount).to.equal(2);
    const [own, other] = seen.organizationMembers.nodes;
    expect(own!.user).to.deep.equal({ email: ada.email });
    expect(own!.roles).to.deep.equal([]);
    expect(other).to.deep.equal({
      id: bob.id,
      username: bob.username,
      name: "",
      avatarUrl: "",
      joinedAt: null,
      roles: null,
      user: null,
    });

    const found = async (filter: object) =>
      (await w.as(ada).graphql(members, { organization, filter })).organizationMembers.nodes.map(
        (each: { id: string }) => each.id,
      );
    expect(await found({ search: bob.username.toUpperCase() })).to.deep.equal([bob.id]);
    expect(await found({ search: bob.email })).to.deep.equal([]);
    expect(await found({ search: ada.email })).to.deep.equal([ada.id]);
    expect(await found({ role: "ORGANIZATION_AUDITOR" })).to.deep.equal([]);

    const toBob = await w.as(bob).graphql(members, { organization, filter: { search: ada.email } });
    expect(toBob.organizationMembers.nodes.map((each: { user: unknown }) => each.user)).to.deep.equal([
      { email: ada.email },
    ]);
  });

  it("are paged forward and backward by name, in one statement each", async () => {
    const w = the();
    const organization = (await w.organization()).id;
    const people = [];
    for (const name of ["eve", "dan", "cat", "bea", "abe"]) people.push(await w.user(name, [organization]));
    const names = people.map(({ username }) => username).sort();
    const page = async (variables: object) => {
      const { organizationMembers } = await w.as(w.owner).graphql(members, { organization, ...variables });
      const edge = await w.as(w.owner).graphql(membersEdge, { organization, ...variables });
      expect(edge.organization.members).to.deep.equal(organizationMembers);
      return {
        ...organizationMembers.pageInfo,
        names: organizationMembers.nodes.map((each: { username: string }) => each.username),
      };
    };
    const first = await page({ first: 2 });
    expect(first)
      .to.include({ hasNextPage: true, hasPreviousPage: false })
      .and.to.have.deep.property("names", names.slice(0, 2));
    const second = await page({ first: 2, after: first.endCursor });
    expect(second)
      .to.include({ hasNextPage: true, hasPreviousPage: true })
      .and.to.have.deep.property("names", names.slice(2, 4));
    const third = await page({ first: 2, after: second.endCursor });
    expect(third).to.include({ hasNextPage: false }).and.to.have.deep.property("names", names.slice(4));
    const last = await page({ last: 2 });
    expect(last).to.have.deep.property("names", names.slice(3));
    const before = await page({ last: 2, before: last.startCursor });
    expect(before).to.have.deep.property("names", names.slice(1, 3));

    const byId = people.find(({ username }) => username === names[1])!.id;
    expect(await page({ first: 2, after: byId })).to.have.deep.property("names", names.slice(2, 4));
  });

  it("join at most 1000 organizations, even concurrently", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const organizations = Array.from({ length: 1005 }, (_, n) => ({
      id: newId(),
      created_at: "now",
      updated_at: "now",
      name: `bulk-${n + 1}`,
    }));
    const joined = organizations.slice(0, 997);
    await insert(w, {
      organizations,
      organization_members: joined.map(({ id }) => ({ organization_id: id, user_id: bob!.id, created_at: "now" })),
    });
    const attempts = await Promise.allSettled(
      [1001, 1002, 1003, 1004, 1005].map((n) =>
        w.as(w.owner).graphql(addMember, { organization: `bulk-${n}`, user: bob!.id }),
      ),
    );
    expect(attempts.filter(({ status }) => status === "fulfilled")).to.have.length(2);
    expect(await code(w.as(w.owner), addMember, { organization: "bulk-1000", user: bob!.id })).to.equal("CONFLICT");
    await deleteRows(w, "organizations", { id: organizations.map(({ id }) => id) });
  });

  it("are not left behind when they are added while the organization is deleted", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    for (let round = 0; round < 10; round++) {
      const { id } = await w.organization();
      const [added] = await Promise.allSettled([
        w.as(w.owner).graphql(addMember, { organization: id, user: bob!.id }),
        w.as(w.owner).graphql(deleteOrganization, { organization: id }),
      ]);
      expect(await countRows(w, "organization_members", { organization_id: id }), added.status).to.equal(0);
    }
  });

  it("can be removed only once, even concurrently", async () => {
    const w = the();
    const organization = (await w.organization()).id;
    const bob = await w.user("bob", [organization]);
    const attempts = await Promise.allSettled(
      [1, 2].map(() => w.as(w.owner).graphql(removeMember, { organization, user: bob.id })),
    );
    expect(attempts.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"]);
  });
});

describe("assignable roles", () => {
  const the = shared();
  const query = `query($organization: String) { assignableRoles(organization: $organization) { name displayName assignable } }`;
  const assignable = async (client: Client, organization?: string) =>
    (await client.graphql(query, { organization })).assignableRoles
      .filter((role: { assignable: boolean }) => role.assignable)
      .map((role: { name: string }) => role.name);

  it("are all for owners, one for user admins, and none for others", async () => {
    const w = the();
    const [userAdmin, member, admin] = await w.users("uadmin", "member", "admin");
    await w.grant(userAdmin!, "user-admin");
    await w.grant(admin!, "organization-admin");
    const inOrganization = [
      "ORGANIZATION_ADMIN",
      "ORGANIZATION_TEMPLATE_ADMIN",
      "ORGANIZATION_USER_ADMIN",
      "ORGANIZATION_AUDITOR",
    ];
    expect(await assignable(w.as(w.owner))).to.deep.equal(["OWNER", "TEMPLATE_ADMIN", "USER_ADMIN", "AUDITOR"]);
    expect(await assignable(w.as(w.owner), "default")).to.deep.equal(inOrganization);
    expect(await assignable(w.as(admin!), "default")).to.deep.equal(inOrganization);
    expect(await assignable(w.as(userAdmin!))).to.deep.equal([]);
    expect(await assignable(w.as(userAdmin!), "default")).to.deep.equal(["ORGANIZATION_USER_ADMIN"]);
    expect(await assignable(w.as(member!), "default")).to.deep.equal([]);
    expect((await w.as(member!).failure(query)).code).to.equal("FORBIDDEN");
    expect((await w.as(member!).failure(query, { organization: (await w.organization()).id })).code).to.equal(
      "NOT_FOUND",
    );
  });
});

/** The invalid fields that a failure reports. */
const fields = (failure: { errors: Array<{ extensions: { validations?: Array<{ field: string }> } }> }) =>
  failure.errors[0]!.extensions.validations?.map(({ field }) => field);

// Access lists of templates: who may use a template, how entries are changed, and how they end.
import { expect } from "chai";
import { Description } from "./support/openapi.js";
import { makeTemplate } from "./support/templates.js";
import { type Anything, type Person, sharedWorld } from "./support/world.js";

const missing = "01890000-0000-7000-8000-000000000000";
const aclOf = (id: string) => `/api/v2/templates/${id}/acl`;
const read = `query($id: UUID!) { templateAcl(templateId: $id) {
  users { role user { username } } groups { role group { id name } } } }`;
const change = `mutation($input: UpdateTemplateAclInput!) { updateTemplateAcl(input: $input) {
  templateAcl { users { role user { username } } groups { role group { name } } } } }`;
const invalidate = `mutation($id: UUID!) { invalidateTemplatePresets(input: { templateId: $id }) {
  invalidated { presetName templateName templateVersionName } } }`;

const shared = sharedWorld();

describe("the access list of a template", () => {
  const w = shared();
  const owner = () => w().as(w().owner);
  const sees = async (person: Person, id: string): Promise<boolean> => {
    const { body } = await w()
      .as(person)
      .post("/graphql", { query: `{ template(id: "${id}") { id } }` });
    return body.data.template !== null;
  };
  const check = async (person: Person, id: string): Promise<string> => {
    const actions = ["read", "use", "update", "delete"];
    const checks = Object.fromEntries(
      actions.map((action) => [action, { action, object: { resource_type: "template", resource_id: id } }]),
    );
    const { body } = await w().as(person).post("/api/v2/authcheck", { checks });
    return actions.filter((action) => body[action]).join(" ");
  };

  it("gives Everyone the use of a new template, unless it was created without", async () => {
    const member = await w().user("member");
    const open = await makeTemplate(w());
    const closed = await makeTemplate(w(), { everyoneCanUse: false });
    expect(await check(member, open.id)).to.equal("read use");
    expect(await check(member, closed.id)).to.equal("");
    expect(await sees(member, closed.id)).to.equal(false);
    const { body } = await owner().get(aclOf(open.id));
    expect(body).to.have.all.keys("users", "group");
    expect(body.users).to.deep.equal([]);
    expect(body.group).to.have.length(1);
    expect(body.group[0]).to.deep.include({ id: w().defaultOrganization, name: "Everyone", role: "use", members: [] });
    expect(body.group[0].total_member_count).to.be.above(0);
    expect((await owner().get(aclOf(closed.id))).body).to.deep.equal({ users: [], group: [] });
  });

  it("gives roles to users and to the members of groups, and takes them away", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const { id } = await makeTemplate(w(), { everyoneCanUse: false });
    const crew = await w().group(undefined, { members: [bob!] });
    const patch = (body: object) => owner().patch(aclOf(id), body);
    const given = await patch({ user_perms: { [ada!.id]: "use" }, group_perms: { [crew.id]: "admin" } });
    expect(given).to.include({ status: 200 });
    expect(given.body).to.deep.equal({ message: "Template access updated." });
    expect([await check(ada!, id), await check(bob!, id)]).to.deep.equal(["read use", "read use update delete"]);

    const { body } = await owner().get(aclOf(id));
    expect(body.users).to.have.length(1);
    expect(body.users[0]).to.deep.include({
      id: ada!.id,
      email: ada!.email,
      role: "use",
      roles: [],
      organization_ids: [w().defaultOrganization],
    });
    expect(body.group.map(({ name, role }: Anything) => [name, role])).to.deep.equal([[crew.name, "admin"]]);
    const { templateAcl } = await owner().graphql(read, { id });
    expect(templateAcl).to.deep.equal({
      users: [{ role: "USE", user: { username: ada!.username } }],
      groups: [{ role: "ADMIN", group: crew && { id: crew.id, name: crew.name } }],
    });

    // An administrator by the list changes the list.
    const input = {
      templateId: id,
      userPerms: [{ id: ada!.id.toUpperCase(), role: "ADMIN" }],
      groupPerms: [{ id: crew.id, role: null }],
    };
    const changed = await w().as(bob!).graphql(change, { input });
    expect(changed.updateTemplateAcl.templateAcl)
      .to.deep.equal({
        users: [{ role: "ADMIN", user: { username: ada!.username } }],
        groups: [],
      })
      .and.to.be.an("object");
    expect([await check(ada!, id), await check(bob!, id)]).to.deep.equal(["read use update delete", ""]);
    expect((await patch({ user_perms: { [ada!.id]: "" } })).status).to.equal(200);
    expect(await check(ada!, id)).to.equal("");
  });

  it("changes nothing, and is not audited, for no entries and for entries that are the same already", async () => {
    const ada = await w().user("ada");
    const { id } = await makeTemplate(w());
    const patch = (body?: object) => owner().patch(aclOf(id), body);
    for (const body of [
      {},
      { user_perms: {} },
      { user_perms: null },
      { user_perms: { [ada.id]: "" } },
      { group_perms: { [missing]: "" } },
      { group_perms: { [w().defaultOrganization]: "use" } },
    ])
      expect(await patch(body), JSON.stringify(body)).to.include({ status: 200 });
    await patch({ user_perms: { [ada.id]: "use" } });
    const { auditEvents } = await owner().graphql(
      `{ auditEvents(filter: { resourceType: "template", resourceId: "${id}" }) { nodes { action diff } } }`,
    );
    expect(auditEvents.nodes[0]).to.deep.equal({
      action: "UPDATE",
      diff: { [`user:${ada.id}`]: { old: null, new: "use" } },
    });
    expect(auditEvents.nodes).to.have.length(3);
  });

  it("reports every fault of a change together, and then changes nothing", async () => {
    const [ada] = await w().users("ada");
    const stranger = await w().user("stranger", [(await w().organization()).id]);
    const { id: foreignGroup } = await w().group(undefined, { organization: (await w().organization()).id });
    const { id } = await makeTemplate(w());
    const { status, body } = await owner().patch(aclOf(id), { user_perms: { [ada!.id]: "boss", x: "use" } });
    expect(status).to.equal(400);
    expect(body.validations.map(({ field }: Anything) => field)).to.deep.equal([
      `user_perms.${ada!.id}`,
      "user_perms.x",
    ]);
    const all = await owner().patch(aclOf(id), {
      group_perms: { [foreignGroup]: "use", [missing]: "admin", [w().defaultOrganization]: "admin" },
      user_perms: { [stranger.id]: "use", [missing]: "use", [ada!.id]: "admin", y: "boss" },
    });
    expect(all.body.validations.map(({ field }: Anything) => field)).to.deep.equal([
      `group_perms.${foreignGroup}`,
      `group_perms.${missing}`,
      `user_perms.${stranger.id}`,
      `user_perms.${missing}`,
      "user_perms.y",
      "user_perms.y",
    ]);
    for (const wrong of [{ user_perms: [] }, { user_perms: { [ada!.id]: 1 } }, { group_perms: "x" }])
      expect((await owner().patch(aclOf(id), wrong)).status, JSON.stringify(wrong)).to.equal(400);
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`u${n}`, ""]));
    expect((await owner().patch(aclOf(id), { user_perms: many })).body.validations).to.have.length(1);
    const failure = await owner().failure(change, {
      input: { templateId: id, userPerms: [{ id: ada!.id, role: "use" }, { id: ada!.id }] },
    });
    expect(failure.errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal(["input.userPerms[1]"]);
    expect((await owner().get(aclOf(id))).body.users).to.deep.equal([]);
    expect((await owner().get(aclOf(id))).body.group[0].role).to.equal("use");
  });

  it("gives the role of a group to a user administrator who adds itself, which the descriptions of every access list say", async () => {
    const manager = await w().user("manager");
    await w().grant(manager, "organization-user-admin");
    const { id } = await makeTemplate(w(), { everyoneCanUse: false });
    const crew = await w().group();
    await owner().patch(aclOf(id), { group_perms: { [crew.id]: "admin" } });
    expect(await check(manager, id)).to.equal("");
    const added = await w()
      .as(manager)
      .patch(`/api/v2/groups/${crew.id}`, { add_users: [manager.id] });
    expect(added.status).to.equal(200);
    expect(await check(manager, id)).to.equal("read use update delete");

    const notice = /present and future.*can add themselves.*SCIM/s;
    const { __schema } = await owner().graphql(`{ __schema {
      types { name inputFields { name description } }
      mutationType { fields { description args { type { ofType { name } } } } } } }`);
    const isOfGroups = ({ name }: Anything) => name === "groupPerms";
    const inputs = __schema.types.filter(({ inputFields }: Anything) => inputFields?.some(isOfGroups));
    const names = inputs.map(({ name }: Anything) => name);
    expect(names).to.have.members(["UpdateTemplateAclInput", "UpdateWorkspaceAclInput"]);
    for (const { name, inputFields } of inputs) {
      const takesIt = ({ args }: Anything) => args[0]?.type.ofType?.name === name;
      expect(__schema.mutationType.fields.find(takesIt).description, name).to.match(notice);
      expect(inputFields.find(isOfGroups).description, name).to.match(notice);
    }
    const described = await Description.of(w());
    const row = described.operations.find(({ name }) => name === "PATCH /api/v2/templates/{template}/acl")!;
    expect(row.operation.description).to.match(notice);
    expect(described.bodyOf(row.operation)!.properties!.group_perms!.description).to.match(notice);
  });

  it("is read and changed only by those who may update the template", async () => {
    const [user, outsider] = await w().users("user", "outsider");
    const { id } = await makeTemplate(w(), { everyoneCanUse: false });
    await owner().patch(aclOf(id), { user_perms: { [user!.id]: "use" } });
    for (const path of [aclOf(id), `${aclOf(id)}/available`]) {
      expect((await w().as(user!).get(path)).status, path).to.equal(403);
      expect((await w().as(outsider!).get(path)).status, path).to.equal(404);
    }
    // The permission comes before the rules of the body.
    expect(
      (
        await w()
          .as(user!)
          .patch(aclOf(id), { user_perms: { x: "boss" } })
      ).status,
    ).to.equal(403);
    expect(
      (
        await w()
          .as(outsider!)
          .patch(aclOf(id), { user_perms: { x: "boss" } })
      ).status,
    ).to.equal(404);
    const path = `/api/v2/templates/${id}/prebuilds/invalidate`;
    expect((await w().as(user!).post(path)).status).to.equal(403);
    expect((await w().as(outsider!).post(path)).body).to.deep.equal(
      (await w().as(outsider!).post(path.replace(id, missing))).body,
    );
    expect((await owner().get(aclOf("x"))).body.validations).to.deep.equal([
      { field: "template", detail: "Must be a UUID." },
    ]);
  });

  it("loses the entries of users and groups that end", async () => {
    const { id: organization } = await w().organization();
    const [removed, deleted, kept] = await Promise.all(
      ["removed", "deleted", "kept"].map((name) => w().user(name, [organization, w().defaultOrganization])),
    );
    const crew = await w().group(undefined, { organization, members: [kept!] });
    const { id } = await makeTemplate(w(), { organization });
    const elsewhere = await makeTemplate(w());
    const people = Object.fromEntries([removed!, deleted!, kept!].map((person) => [person.id, "admin"]));
    await owner().patch(aclOf(id), { user_perms: people, group_perms: { [crew.id]: "admin" } });
    await owner().patch(aclOf(elsewhere.id), { user_perms: people });
    await owner().graphql(
      `mutation { removeOrganizationMember(input: { organization: "${organization}", user: "${removed!.id}" }) { __typename } }`,
    );
    await owner().graphql(`mutation { deleteUser(input: { user: "${deleted!.id}" }) { __typename } }`);
    expect((await owner().delete(`/api/v2/groups/${crew.id}`)).status).to.equal(200);
    const { body } = await owner().get(aclOf(id));
    expect(body.users.map(({ username }: Anything) => username)).to.deep.equal([kept!.username]);
    expect(body.group.map(({ name }: Anything) => name)).to.deep.equal(["Everyone"]);
    const left = (await owner().get(aclOf(elsewhere.id))).body.users.map(({ username }: Anything) => username);
    expect(left).to.have.members([kept!.username, removed!.username]);
    // Neither the return of the user nor a new group of the name brings the entries back.
    await owner().graphql(
      `mutation { addOrganizationMember(input: { organization: "${organization}", user: "${removed!.id}" }) { __typename } }`,
    );
    await w().group(crew.name, { organization, members: [removed!] });
    expect(await check(removed!, id)).to.equal("read use");
  });

  it("keeps no entry of a user who is removed while the entry is added", async () => {
    const { id: organization } = await w().organization();
    const { id } = await makeTemplate(w(), { organization, everyoneCanUse: false });
    for (let round = 0; round < 5; round++) {
      const racer = await w().user("racer", [organization]);
      const removal = `mutation { removeOrganizationMember(input: { organization: "${organization}", user: "${racer.id}" }) { __typename } }`;
      const [patched] = await Promise.all([
        owner().patch(aclOf(id), { user_perms: { [racer.id]: "use" } }),
        owner().graphql(removal),
      ]);
      expect(patched.status).to.be.oneOf([200, 400]);
      expect((await owner().get(aclOf(id))).body.users).to.deep.equal([]);
    }
  });

  it("changes as a whole under concurrent changes", async () => {
    const people = await w().users("p", "q", "r", "s");
    const { id } = await makeTemplate(w(), { everyoneCanUse: false });
    await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const role = n % 2 ? "use" : "admin";
        return owner().patch(aclOf(id), { user_perms: Object.fromEntries(people.map((person) => [person.id, role])) });
      }),
    );
    const roles = (await owner().get(aclOf(id))).body.users.map(({ role }: Anything) => role);
    expect(roles).to.have.length(4);
    expect(new Set(roles).size).to.equal(1);
  });

  it("offers the members and groups of the organization, found by words", async () => {
    const { id: organization } = await w().organization();
    const [ann, beth] = await Promise.all(["ann-lee", "beth"].map((name) => w().user(name, [organization])));
    const crew = await w().group("night-crew", { organization });
    const { id } = await makeTemplate(w(), { organization });
    const find = async (query = "") => (await owner().get(`${aclOf(id)}/available${query}`)).body;
    const all = await find();
    expect(all).to.have.length(1);
    const { users, groups } = all[0];
    const names = (list: Anything[]) => list.map(({ username, name }) => username ?? name);
    expect(names(users)).to.deep.equal([ann!.username, beth!.username]);
    expect(users[0]).to.not.have.any.keys("roles", "organization_ids", "has_ai_seat");
    expect(groups.map(({ name }: Anything) => name)).to.deep.equal(["Everyone", "night-crew"]);
    expect(groups[0]).to.deep.include({ members: [], total_member_count: 2 });
    expect(groups[1].id).to.equal(crew.id);
    const [found] = await find("?q=ann%20example.com");
    expect([names(found.users), found.groups]).to.deep.equal([[ann!.username], []]);
    const [grouped] = await find("?q=CREW");
    expect([grouped.users, grouped.groups.map(({ name }: Anything) => name)]).to.deep.equal([[], ["night-crew"]]);
    expect(names((await find("?limit=1"))[0].users)).to.deep.equal([ann!.username]);
    expect(names((await find(`?after_id=${ann!.id}`))[0].users)).to.deep.equal([beth!.username]);
    expect(names((await find("?limit=0&offset=1"))[0].users)).to.deep.equal([beth!.username]);
    for (const query of ["?limit=1001", "?limit=-1", "?offset=-1", "?q=key:value", "?after_id=x"])
      expect((await owner().get(`${aclOf(id)}/available${query}`)).status, query).to.equal(400);
  });

  it("is followed by the lists of templates", async () => {
    const ada = await w().user("ada");
    const { id, name } = await makeTemplate(w(), { everyoneCanUse: false });
    const list = async () =>
      (await w().as(ada).graphql(`{ templates(filter: { search: "${name}" }) { totalCount nodes { id } } }`)).templates;
    expect(await list()).to.deep.equal({ totalCount: 0, nodes: [] });
    const crew = await w().group(undefined, { members: [ada] });
    await owner().patch(aclOf(id), { group_perms: { [crew.id]: "use" }, user_perms: { [ada.id]: "admin" } });
    expect(await list()).to.deep.equal({ totalCount: 1, nodes: [{ id }] });
  });
});

describe("the invalidation of presets", () => {
  const w = shared();
  const owner = () => w().as(w().owner);

  it("marks every preset of the active version, each time", async () => {
    const presets = [{ name: "b", prebuilds: { instances: 1 } }, { name: "a" }];
    const document = { schema: "steward.template/1", provisioner: "echo", presets };
    const { id, name } = await makeTemplate(w(), { document });
    const path = `/api/v2/templates/${id}/prebuilds/invalidate`;
    const invalidated = ["a", "b"].map((preset_name) => ({
      preset_name,
      template_name: name,
      template_version_name: "v1",
    }));
    const marks = async (): Promise<string[]> =>
      (
        await owner().graphql(`{ template(id: "${id}") { activeVersion { presets { lastInvalidatedAt } } } }`)
      ).template.activeVersion.presets.map(({ lastInvalidatedAt }) => lastInvalidatedAt);
    expect(await marks()).to.deep.equal([null, null]);
    for (const body of [undefined, { any: "thing" }]) {
      const before = await marks();
      expect((await owner().post(path, body)).body).to.deep.equal({ invalidated });
      const after = await marks();
      expect(after.every((mark, n) => mark > (before[n] ?? ""))).to.equal(true);
    }
    const data = await owner().graphql(invalidate, { id });
    expect(data.invalidateTemplatePresets.invalidated[0]).to.deep.equal({
      presetName: "a",
      templateName: name,
      templateVersionName: "v1",
    });
    const plain = await makeTemplate(w(), {}, { isImported: false });
    expect((await owner().post(path.replace(id, plain.id))).body).to.deep.equal({ invalidated: [] });
  });
});

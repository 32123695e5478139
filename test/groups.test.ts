// Groups: how they are created, found, listed, changed, and deleted, on both surfaces.
import { expect } from "chai";
import { changesOf } from "./support/audit.js";
import { world } from "./support/world.js";

const missing = "01890000-0000-7000-8000-000000000000";

const groupsOf = (organization: string) => `/api/v2/organizations/${organization}/groups`;

const named = ({ groups }: { groups: { nodes: Array<{ name: string }> } }) =>
  groups.nodes.map(({ name }) => name).join(" ");

describe("groups", () => {
  const w = world();

  it("start in a new organization as one group, Everyone, with the organization's id", async () => {
    const { id } = await w().organization();
    await w().user("carol", [id]);
    const { status, body } = await w().as(w().owner).get(groupsOf(id));
    expect(status).to.equal(200);
    expect(body).to.have.length(1);
    expect(body[0]).to.include({ id, name: "Everyone", organization_id: id, total_member_count: 1, source: "user" });
    expect(body[0].members.map(({ username }: { username: string }) => username)).to.have.length(1);

    const { groups } = await w()
      .as(w().owner)
      .graphql(
        `query($id: String!) { groups(filter: { organization: $id }) { totalCount nodes { id name isEveryone source } } }`,
        { id },
      );
    expect(groups).to.deep.equal({
      totalCount: 1,
      nodes: [{ id, name: "Everyone", isEveryone: true, source: "USER" }],
    });
  });

  it("are created with their fields, returned in the contract's shape, and found by id and by name", async () => {
    const fields = { name: "Crew", display_name: "The crew", avatar_url: "/crew.png", quota_allowance: 7 };
    const { status, body } = await w().as(w().owner).post(groupsOf("default"), fields);
    expect(status).to.equal(201);
    expect(Object.keys(body).toSorted().join(" ")).to.equal(
      "avatar_url display_name id members name organization_display_name organization_id organization_name quota_allowance source total_member_count",
    );
    expect(body).to.deep.include({ ...fields, source: "user", members: [], total_member_count: 0 });
    for (const path of [`/api/v2/groups/${body.id}`, "/api/v2/groups/Crew", `${groupsOf("main")}/Crew`])
      expect((await w().as(w().owner).get(path)).body, path).to.deep.equal(body);
    for (const path of ["/api/v2/groups/crew", `${groupsOf("main")}/crew`, `${groupsOf("main")}/${body.id}`])
      expect((await w().as(w().owner).get(path)).status, path).to.equal(404);

    const found = await w()
      .as(w().owner)
      .graphql(
        `{ group(group: "Crew") { id } groupByName(organization: "main", name: "Crew") { id organization { name description } } }`,
      );
    expect(found).to.deep.equal({
      group: { id: body.id },
      groupByName: { id: body.id, organization: { name: "main", description: "" } },
    });
  });

  it("return each field alone as they return all of them together", async () => {
    const { id } = await w().group();
    await w().as(w().owner).put(`/api/v2/groups/${id}/ai/budget`, { spend_limit_micros: 5 });
    const ofOrganization = ["id", "name", "displayName", "description", "icon", "isDefault", "createdAt", "updatedAt"];
    const fields = [
      "id",
      "name",
      "displayName",
      "avatarUrl",
      "quotaAllowance",
      "source",
      "totalMemberCount",
      "isEveryone",
      "createdAt",
      "updatedAt",
      "aiBudget { spendLimitMicros }",
      "members { totalCount }",
      ...ofOrganization.map((field) => `organization { ${field} }`),
    ];
    const ask = async (selected: string) =>
      (await w().as(w().owner).graphql(`query($id: String!) { group(group: $id) { ${selected} } }`, { id })).group;
    const whole = await ask(fields.join(" "));
    expect(Object.values(whole)).to.not.include(null);
    for (const field of fields) {
      const alone = await ask(field);
      expect(whole, field).to.deep.include(
        "organization" in alone ? { organization: { ...whole.organization, ...alone.organization } } : alone,
      );
    }
  });

  it("of a user are paged as an edge like the list of all groups that the user is in", async () => {
    const [ada] = await w().users("ada");
    for (const name of ["edge-b", "edge-c", "edge-a"]) await w().group(name, { members: [ada!] });
    const rest = "totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { id name }";
    const paging = "first: $first, after: $after, last: $last, before: $before, offset: $offset";
    const query = `query($user: String!, $first: Int, $after: String, $last: Int, $before: String, $offset: Int) {
      groups(${paging}, filter: { hasMember: $user }) { ${rest} }
      user(user: $user) { groups(${paging}) { ${rest} } } }`;
    const page = async (variables: object) => {
      const { groups, user } = await w()
        .as(w().owner)
        .graphql(query, { user: ada!.id, ...variables });
      expect(user.groups, JSON.stringify(variables)).to.deep.equal(groups);
      return groups;
    };
    const first = await page({ first: 2 });
    expect(first).to.have.property("totalCount", 4);
    const [, second] = first.nodes as Array<{ id: string }>;
    for (const after of [first.pageInfo.endCursor, second!.id]) {
      const next = await page({ first: 1, after });
      expect(next.nodes.map(({ name }: { name: string }) => name)).to.deep.equal(["edge-b"]);
    }
    const last = await page({ last: 1 });
    await page({ last: 2, before: last.pageInfo.startCursor });
    await page({ offset: 3 });
    await page({ first: 1, offset: 1 });
  });

  it("report all faults of a new group together, in the spelling of the surface", async () => {
    const { status, body } = await w()
      .as(w().owner)
      .post(groupsOf("default"), { name: "eVeryone", display_name: " x", avatar_url: "ftp://x", quota_allowance: -1 });
    expect(status).to.equal(400);
    expect(body.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "name",
      "display_name",
      "avatar_url",
      "quota_allowance",
    ]);

    const failure = await w()
      .as(w().owner)
      .failure(
        `mutation { createGroup(input: { organization: "default", name: "", displayName: " x", quotaAllowance: -1 }) { group { id } } }`,
      );
    expect(failure.code).to.equal("BAD_USER_INPUT");
    const fields = failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field);
    expect(fields.map((field: string) => field.replace(/^input\./, ""))).to.deep.equal([
      "name",
      "displayName",
      "quotaAllowance",
    ]);
  });

  it("reject invalid names", async () => {
    for (const name of [undefined, "", "a b", "-a", "a--b", "new", "Me", "everyone", "x".repeat(37)]) {
      const { status, body } = await w().as(w().owner).post(groupsOf("default"), { name });
      expect(status, `${name}`).to.equal(400);
      expect(body.validations[0].field).to.equal("name");
    }
    expect((await w().as(w().owner).post(groupsOf("default"), { name: missing })).status).to.equal(201);
    expect((await w().as(w().owner).get(`/api/v2/groups/${missing}`)).status, "a UUID is always an id").to.equal(404);
  });

  it("reject an allowance that is not a 32-bit number from 0", async () => {
    const { id } = await w().group();
    for (const allowance of [-1, 2147483648, 1.5, "5"]) {
      const { status, body } = await w().as(w().owner).patch(`/api/v2/groups/${id}`, { quota_allowance: allowance });
      expect(status, `${allowance}`).to.equal(400);
      expect(body.validations).to.have.length(1);
      expect(body.validations[0].field).to.equal("quota_allowance");
    }
  });

  it("let one of two concurrent creations of a name succeed, and call the name ambiguous across organizations", async () => {
    const owner = w().as(w().owner);
    const both = await Promise.all([1, 2].map(() => owner.post(groupsOf("default"), { name: "twins" })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409]);
    const refused = both.find(({ status }) => status === 409)!;
    expect(refused.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal(["name"]);

    const elsewhere = await w().organization();
    const other = await owner.post(groupsOf(elsewhere.id), { name: "twins" });
    expect(other.status).to.equal(201);
    const ambiguous = await owner.patch("/api/v2/groups/twins", { display_name: "x" });
    expect(ambiguous.status).to.equal(409);
    expect(ambiguous.body.message).to.equal("The group name is ambiguous.");
    expect((await owner.failure(`{ group(group: "twins") { id } }`)).code).to.equal("CONFLICT");
    const byId = await owner.patch(`/api/v2/groups/${other.body.id}`, { display_name: "x" });
    expect(byId.body.display_name).to.equal("x");
  });

  it("keep the name Everyone and the membership of Everyone, whose allowance and avatar may change", async () => {
    const { id } = await w().organization();
    const owner = w().as(w().owner);
    const [ada] = await w().users("ada");
    const renamed = await owner.patch(`/api/v2/groups/${id}`, { name: "all", display_name: "All" });
    expect(renamed.status).to.equal(400);
    expect(renamed.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "name",
      "display_name",
    ]);
    const joined = await owner.patch(`/api/v2/groups/${id}`, { add_users: [ada!.id] });
    expect(joined.status).to.equal(403);
    expect(joined.body.message).to.equal("Members of the Everyone group are managed by the organization.");
    expect((await owner.patch(`/api/v2/groups/${id}`, { remove_users: [ada!.id] })).status).to.equal(403);
    const deleted = await owner.delete(`/api/v2/groups/${id}`);
    expect(deleted.status).to.equal(400);
    expect(deleted.body.message).to.equal("The Everyone group cannot be deleted.");
    const changed = await owner.patch(`/api/v2/groups/${id}`, {
      quota_allowance: 5,
      avatar_url: "/a.png",
      name: "Everyone",
      add_users: [],
    });
    expect(changed.status).to.equal(200);
    expect(changed.body).to.include({ quota_allowance: 5, avatar_url: "/a.png", name: "Everyone" });
  });

  it("are deleted once, return their members, and leave nothing to a later group of the name", async () => {
    const owner = w().as(w().owner);
    const [ada, bob] = await w().users("ada", "bob");
    const doomed = await w().group("doomed", { members: [ada!, bob!] });
    await owner.put(`/api/v2/groups/${doomed.id}/ai/budget`, { spend_limit_micros: 5 });

    const { status, body } = await owner.delete("/api/v2/groups/doomed");
    expect(status).to.equal(200);
    expect(body).to.include({ id: doomed.id, name: "doomed", total_member_count: 2 });
    expect(body.members.map(({ id }: { id: string }) => id)).to.deep.equal([ada!.id, bob!.id]);
    expect((await owner.delete(`/api/v2/groups/${doomed.id}`)).status).to.equal(404);

    const heir = await w().group("doomed");
    expect(heir.id).to.not.equal(doomed.id);
    expect((await owner.get(`/api/v2/groups/${heir.id}`)).body).to.deep.include({ members: [], total_member_count: 0 });
    expect((await owner.get(`/api/v2/groups/${heir.id}/ai/budget`)).status).to.equal(404);
    expect((await w().as(ada!).get(`/api/v2/groups/${heir.id}`)).status).to.equal(404);
  });

  it("are deleted through GraphQL with any selection of their fields", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const { id } = await w().group("short-lived", { members: [ada!, bob!] });
    const { deleteGroup } = await w()
      .as(w().owner)
      .graphql(
        `mutation($id: String!) { deleteGroup(input: { group: $id }) { group {
         name totalMemberCount
         members(first: 1) { totalCount nodes { user { username } } }
         last: members(last: 1) { nodes { user { username } } }
       } } }`,
        { id },
      );
    expect(deleteGroup.group).to.deep.equal({
      name: "short-lived",
      totalMemberCount: 2,
      members: { totalCount: 2, nodes: [{ user: { username: ada!.username } }] },
      last: { nodes: [{ user: { username: bob!.username } }] },
    });
  });

  it("are visible to their readers only; missing and unreadable groups look the same", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const { id } = await w().group(undefined, { members: [ada!] });
    expect((await w().as(ada!).get(`/api/v2/groups/${id}`)).status).to.equal(200);
    const unreadable = await w().as(bob!).get(`/api/v2/groups/${id}`);
    const absent = await w().as(bob!).get(`/api/v2/groups/${missing}`);
    expect([unreadable.status, absent.status]).to.deep.equal([404, 404]);
    expect(unreadable.body).to.deep.equal(absent.body);
    expect((await w().as(ada!).patch(`/api/v2/groups/${id}`, { name: "no name" })).status, "403 before 400").to.equal(
      403,
    );
    expect((await w().as(bob!).patch(`/api/v2/groups/${id}`, { name: "x" })).status).to.equal(404);
    expect((await w().as(ada!).post(groupsOf("default"), { name: "no name" })).status).to.equal(403);
    expect((await w().as(ada!).delete(`/api/v2/groups/${id}`)).status).to.equal(403);
    const names = (await w().as(bob!).get("/api/v2/groups")).body.map(({ name }: { name: string }) => name);
    expect(names).to.deep.equal(["Everyone"]);
  });

  it("are listed by organization name, group name, and id, narrowed by all filters together", async () => {
    const [ada] = await w().users("ada");
    const a = await w().organization("aaa");
    const owner = w().as(w().owner);
    for (const name of ["zebra", "ant"]) await owner.post(groupsOf(a.id), { name });
    const mine = await w().group("mine", { members: [ada!] });
    const all = (await owner.get("/api/v2/groups?exclude_members=true")).body as Array<{
      organization_name: string;
      name: string;
      members: unknown[];
    }>;
    expect(all.slice(0, 3).map(({ name }) => name)).to.deep.equal(["Everyone", "ant", "zebra"]);
    const keys = all.map(({ organization_name: organization, name }) => `${organization} ${name}`);
    expect(keys).to.deep.equal(keys.toSorted());
    expect(all.every(({ members }) => members.length === 0)).to.equal(true);

    const names = async (query: string) =>
      (await owner.get(`/api/v2/groups?${query}`)).body.map(({ name }: { name: string }) => name);
    expect(await names("organization=AAA")).to.deep.equal(["Everyone", "ant", "zebra"]);
    expect(await names(`has_member=${ada!.username.toUpperCase()}`)).to.deep.equal(["Everyone", "mine"]);
    expect(await names(`has_member=${ada!.id}&group_ids=${mine.id},${missing}`)).to.deep.equal(["mine"]);
    expect(await names(`has_member=${ada!.id}&organization=aaa`)).to.deep.equal([]);
    expect(await names(`organization=${missing}`)).to.deep.equal([]);
    expect(await names(`has_member=${missing}`)).to.deep.equal([]);

    const found = await owner.graphql(
      `query($user: String!) { groups(filter: { hasMember: $user, source: USER, search: "MIN" }) { nodes { name } } }`,
      { user: ada!.id },
    );
    expect(found.groups.nodes).to.deep.equal([{ name: "mine" }]);
  });

  it("reject filters that name nothing the caller can see", async () => {
    const [ada] = await w().users("ada");
    const faults = async (query: string) => {
      const { status, body } = await w().as(ada!).get(`/api/v2/groups?${query}`);
      expect(status, query).to.equal(400);
      expect(body.message).to.equal("Query parameters have invalid values.");
      return body.validations.map(({ field }: { field: string }) => field);
    };
    expect(await faults("organization=nowhere&has_member=nobody")).to.deep.equal(["organization", "has_member"]);
    expect(await faults("has_member=owner")).to.deep.equal(["has_member"]);
    expect(await faults("group_ids=x")).to.deep.equal(["group_ids[0]"]);
    expect(await faults("exclude_members=perhaps")).to.deep.equal(["exclude_members"]);
    const ids = Array.from({ length: 201 }, () => missing).join(",");
    expect(await faults(`group_ids=${ids}`)).to.deep.equal(["group_ids"]);
    expect((await w().as(ada!).get("/api/v2/organizations/nowhere/groups")).status).to.equal(404);
  });

  it("are paged by cursor, forward and backward", async () => {
    const { id } = await w().organization("paged");
    const owner = w().as(w().owner);
    for (const name of ["a", "b", "c", "d"]) await owner.post(groupsOf(id), { name });
    const page = (args: string) =>
      owner.graphql(
        `{ groups(filter: { organization: "paged" }, ${args}) { nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
      );
    const first = await page("first: 2");
    expect(named(first)).to.equal("Everyone a");
    const second = await page(`first: 2, after: "${first.groups.pageInfo.endCursor}"`);
    expect(named(second)).to.equal("b c");
    expect(named(await page(`last: 1, before: "${second.groups.pageInfo.startCursor}"`))).to.equal("a");
    expect(named(await page("last: 2"))).to.equal("c d");
    expect((await page("first: 100")).groups.pageInfo.hasNextPage).to.equal(false);
  });

  it("are ordered by organization, name, and id, on pages from both ends", async () => {
    const organizations = [
      await w().organization("page-b"),
      await w().organization("page-a"),
      await w().organization("page-c"),
    ];
    for (const { id } of organizations)
      for (const name of ["two", "One", "three"]) await w().group(name, { organization: id });
    const client = w().as(w().owner);
    const read = async (page: string, filter = ""): Promise<Array<{ cursor: string; node: { name: string } }>> => {
      const { groups } = await client.graphql(
        `{ groups(${page} ${filter}) { edges { cursor node { id name organization { name description } } } } }`,
      );
      return groups.edges;
    };
    for (const filter of ["", `filter: { organization: "page-c" }`, `filter: { search: "o" }`]) {
      const all = await read("complete: true", filter);
      expect(all.length).to.be.greaterThan(2);
      expect(await read("first: 500", filter)).to.deep.equal(all);
      expect(await read("last: 500", filter)).to.deep.equal(all);
      for (const [at, { cursor }] of all.entries()) {
        expect(await read(`first: 4, after: "${cursor}"`, filter)).to.deep.equal(all.slice(at + 1, at + 5));
        expect(await read(`last: 2, before: "${cursor}"`, filter)).to.deep.equal(all.slice(Math.max(0, at - 2), at));
      }
      expect(await read("first: 3, offset: 2", filter)).to.deep.equal(all.slice(2, 5));
      expect(await read("last: 2, offset: 1", filter)).to.deep.equal(all.slice(-3, -1));
    }
  });

  it("record one audit event per change, and none where nothing changes", async () => {
    const owner = w().as(w().owner);
    const [ada] = await w().users("ada");
    const { id } = await w().group();
    const read = () => owner.graphql(`query($id: String!) { group(group: $id) { updatedAt } }`, { id });
    const before = await read();
    const same = await owner.patch(`/api/v2/groups/${id}`, {
      name: "",
      add_users: [],
      remove_users: [ada!.id],
      display_name: "",
    });
    expect(same.status).to.equal(200);
    expect(await read()).to.deep.equal(before);
    await owner.patch(`/api/v2/groups/${id}`, { quota_allowance: 2, add_users: [ada!.id] });
    expect((await read()).group.updatedAt > before.group.updatedAt).to.equal(true);
    await owner.delete(`/api/v2/groups/${id}`);

    const changes = await changesOf(w(), id, "group");
    expect(changes.map(({ action }) => action)).to.deep.equal(["CREATE", "UPDATE", "DELETE"]);
    expect(changes[1]!.diff).to.deep.equal({
      quotaAllowance: { old: 0, new: 2 },
      members: { old: [], new: [ada!.id] },
    });
  });
});

describe("groups in an organization with a limit", () => {
  const w = world({ STEWARD_GROUPS_MAX_PER_ORGANIZATION: "3" });

  it("are as many as the setting allows, even when created concurrently; Everyone does not count", async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        w()
          .as(w().owner)
          .post("/api/v2/organizations/default/groups", { name: `g${n}` }),
      ),
    );
    expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([
      201, 201, 201, 400, 400, 400, 400, 400,
    ]);
    expect(made.find(({ status }) => status === 400)!.body.validations[0].field).to.equal("name");
  });
});

// Members of groups: additions and removals, what plain members see, paging and search.
// Reaches for tables: thousands of members have roles and times that no request gives them.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { suspend } from "./support/accounts.js";
import { insertUsers } from "./support/crowds.js";
import { setColumns, setTimes } from "./support/tables.js";
import { repeats } from "./support/repeats.js";
import { type Answer, world } from "./support/world.js";

const missing = "01890000-0000-7000-8000-000000000000";

const path = ({ id }: { id: string }) => `/api/v2/groups/${id}`;
const fields = ({ body }: Answer) => body.validations.map(({ field }: { field: string }) => field);
const usernames = (users: Array<{ username: string }>) => users.map(({ username }) => username);

describe("group members", () => {
  // Requests of a test wait for one row together, or until the test has done something else.
  const w = world({ STEWARD_REQUEST_TIMEOUT: "3m" });

  /** Inserts members of the default organization and of a group; they cannot sign in. */
  const crowd = (group: { id: string }, names: string[]) =>
    insertUsers(
      w(),
      names.map((username) => ({ username })),
      { organization: w().defaultOrganization, group: group.id },
    );

  it("join and leave through PATCH, where empty and null fields change nothing else", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const group = await w().group("stays", { members: [ada!] });
    const { status, body } = await w()
      .as(w().owner)
      .patch(path(group), {
        name: "",
        display_name: null,
        avatar_url: null,
        quota_allowance: null,
        add_users: [bob!.id.toUpperCase()],
        remove_users: [ada!.id],
      });
    expect(status).to.equal(200);
    expect(body).to.deep.include({ name: "stays", display_name: "", quota_allowance: 0, total_member_count: 1 });
    expect(usernames(body.members)).to.deep.equal([bob!.username]);
    expect(Object.keys(body.members[0]).toSorted().join(" ")).to.equal(
      "avatar_url created_at email id is_service_account last_seen_at login_type name status theme_preference updated_at username",
    );
    expect(body.members[0]).to.include({ theme_preference: "" });

    const { updateGroup } = await w()
      .as(w().owner)
      .graphql(
        `mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { name members { nodes { addedAt user { username } } } } } }`,
        { input: { group: group.id, name: null, addUsers: [ada!.id], removeUsers: [bob!.id] } },
      );
    expect(updateGroup.group.name).to.equal("stays");
    expect(updateGroup.group.members.nodes[0]!.user.username).to.equal(ada!.username);
    expect(updateGroup.group.members.nodes[0]!.addedAt).to.match(/^\d{4}-.*Z$/);
  });

  it("do not change if any field is at fault; unknown users and those of other organizations get the same error", async () => {
    const other = await w().organization();
    const [ada, bob] = await w().users("ada", "bob");
    const stranger = await w().user("stranger", [other.id]);
    const group = await w().group("untouched", { members: [bob!] });
    const refused = await w()
      .as(w().owner)
      .patch(path(group), { name: "touched", add_users: [ada!.id, stranger.id] });
    expect(refused.status).to.equal(400);
    expect(fields(refused)).to.deep.equal(["add_users[1]"]);

    const many = await w()
      .as(w().owner)
      .patch(path(group), {
        name: "a b",
        quota_allowance: -1,
        add_users: [missing, stranger.id, bob!.id, ada!.id, ada!.id],
      });
    expect(fields(many)).to.deep.equal([
      "name",
      "quota_allowance",
      "add_users[0]",
      "add_users[1]",
      "add_users[2]",
      "add_users[4]",
    ]);
    const details = many.body.validations.map(({ detail }: { detail: string }) => detail);
    expect(details[2]).to.equal(details[3]);

    const failure = await w()
      .as(w().owner)
      .failure(`mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }`, {
        input: { group: group.id, addUsers: [ada!.id, stranger.id] },
      });
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.match(/addUsers\[1\]$/);

    const { body } = await w().as(w().owner).get(path(group));
    expect(body).to.include({ name: "untouched", total_member_count: 1 });
    expect(usernames(body.members)).to.deep.equal([bob!.username]);
  });

  it("cannot be changed with invalid ids or too many, while removing a non-member is no fault", async () => {
    const group = await w().group();
    const owner = w().as(w().owner);
    expect(fields(await owner.patch(path(group), { add_users: ["x"], remove_users: [missing, "y"] }))).to.deep.equal([
      "add_users[0]",
      "remove_users[1]",
    ]);
    const tooMany = Array.from({ length: 1001 }, () => newId());
    expect(fields(await owner.patch(path(group), { add_users: tooMany, remove_users: tooMany }))).to.deep.equal([
      "add_users",
      "remove_users",
    ]);
    expect((await owner.patch(path(group), { remove_users: [missing] })).status).to.equal(200);
  });

  it("that are added and removed in one request end outside, unless they were inside, which is a fault", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const group = await w().group(undefined, { members: [bob!] });
    const owner = w().as(w().owner);
    const outside = await owner.patch(path(group), { add_users: [ada!.id], remove_users: [ada!.id] });
    expect(outside.body).to.include({ total_member_count: 1 });
    const inside = await owner.patch(path(group), { add_users: [bob!.id], remove_users: [bob!.id] });
    expect(fields(inside)).to.deep.equal(["add_users[0]"]);
  });

  it("are added once by 20 concurrent additions", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        w()
          .as(w().owner)
          .patch(path(group), { add_users: [ada!.id] }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    expect(answers.filter(({ status }) => status === 400).map(fields)).to.deep.equal(
      Array.from({ length: 19 }, () => ["add_users[0]"]),
    );
    expect(
      (
        await w()
          .as(w().owner)
          .get(`${path(group)}/members`)
      ).body.count,
    ).to.equal(1);
  });

  it("are not left behind when their addition races their removal from the organization", async () => {
    for (let round = 0; round < 5; round++) {
      const [ada] = await w().users("ada");
      const group = await w().group();
      const [added, removed] = await Promise.all([
        w()
          .as(w().owner)
          .patch(path(group), { add_users: [ada!.id] }),
        w()
          .as(w().owner)
          .graphql(
            `mutation($user: String!) { removeOrganizationMember(input: { organization: "default", user: $user }) { __typename } }`,
            { user: ada!.id },
          ),
      ]);
      expect(added.status).to.be.oneOf([200, 400]);
      expect(removed).to.have.property("removeOrganizationMember");
      await w()
        .as(w().owner)
        .graphql(
          `mutation($user: String!) { addOrganizationMember(input: { organization: "default", user: $user }) { __typename } }`,
          { user: ada!.id },
        );
      expect(
        (
          await w()
            .as(w().owner)
            .get(`${path(group)}/members`)
        ).body.count,
        "once a member again",
      ).to.equal(0);
    }
  });

  it("are not changed by a request that waits for the deletion of the group", async () => {
    const group = await w().group();
    const owner = w().as(w().owner);
    const [deleted, ...changed] = await Promise.all([
      owner.delete(path(group)),
      ...Array.from({ length: 5 }, (_, n) => owner.patch(path(group), { quota_allowance: n })),
    ]);
    expect(deleted.status).to.equal(200);
    for (const { status } of changed) expect(status).to.be.oneOf([200, 404]);
    expect((await owner.patch(path(group), { quota_allowance: 9 })).status).to.equal(404);
  });

  it("join and leave together in one change, for every reader", async () => {
    const users = await w().users("ada", "bob", "eve");
    const group = await w().group();
    const owner = w().as(w().owner);
    const ids = users.map(({ id }) => id);
    const progress = { isDone: false };
    const changes = (async () => {
      for (let turn = 0; turn < repeats(8, 30); turn++) {
        const { status } = await owner.patch(path(group), turn % 2 ? { remove_users: ids } : { add_users: ids });
        expect(status).to.equal(200);
      }
      progress.isDone = true;
    })();
    let reads = 0;
    const read = async () => {
      while (!progress.isDone) {
        const { body } = await owner.get(path(group));
        expect(body.members.length).to.be.oneOf([0, 3]);
        expect(body.total_member_count).to.be.oneOf([0, 3]);
        const [listed] = (await owner.get(`/api/v2/groups?group_ids=${group.id}`)).body;
        expect(listed.members.length).to.be.oneOf([0, 3]);
        reads++;
      }
    };
    await Promise.all([changes, read(), read(), read()]);
    expect(reads).to.be.greaterThan(0);
  });

  it("that are plain see only themselves, and the full count", async () => {
    const people = await w().users("eve", "ada", "bob", "cleo", "dan");
    const [eve] = people;
    const group = await w().group(undefined, { members: people });
    const client = w().as(eve!);
    const { body } = await client.get(path(group));
    expect(body.total_member_count).to.equal(5);
    expect(usernames(body.members)).to.deep.equal([eve!.username]);
    const page = await client.get(`${path(group)}/members`);
    expect(page.body.count).to.equal(1);
    expect(usernames(page.body.users)).to.deep.equal([eve!.username]);
    expect((await client.get(`${path(group)}/members?q=bob`)).body).to.deep.equal({ count: 0, users: [] });
    const others = await client.get(`/api/v2/groups?has_member=${people[1]!.id}`);
    expect(others.body, "whom it does not see it cannot search for").to.deep.equal([]);
    expect((await client.get(`${path(group)}/ai/budget`)).status).to.equal(404);

    const { group: seen } = await client.graphql(
      `query($id: String!) { group(group: $id) { totalMemberCount members { totalCount nodes { user { username } } } aiBudget { spendLimitMicros } } }`,
      { id: group.id },
    );
    expect(seen).to.deep.equal({
      totalMemberCount: 5,
      members: { totalCount: 1, nodes: [{ user: { username: eve!.username } }] },
      aiBudget: null,
    });
    const everyone = await client.get("/api/v2/groups/Everyone");
    expect(usernames(everyone.body.members)).to.deep.equal([eve!.username]);
  });

  it("are all seen by administrators of their organization, who on the same page see only themselves in others", async () => {
    const { id: organization } = await w().organization();
    const ada = await w().user("ada", [w().defaultOrganization, organization]);
    const bob = await w().user("bob", [w().defaultOrganization, organization]);
    await w().grant(ada, "organization-admin");
    const members = [ada, bob];
    const own = await w().group(undefined, { members });
    const foreign = await w().group(undefined, { members, organization });
    const client = w().as(ada);
    const shown: Record<string, string[]> = {
      [own.name]: usernames(members),
      [foreign.name]: [ada.username],
    };

    const { groups } = await client.graphql(
      `query($ids: [UUID!]!) { groups(filter: { ids: $ids }) { nodes { id name members { totalCount nodes { user { username } } } } } }`,
      { ids: [own.id, foreign.id, organization] },
    );
    for (const { name, members: found } of groups.nodes) {
      const expected = shown[name] ?? [ada.username];
      expect(found.nodes.map(({ user }: { user: { username: string } }) => user.username)).to.deep.equal(expected);
      expect(found.totalCount).to.equal(expected.length);
    }
    expect(groups.nodes).to.have.length(3);
    for (const group of [own, foreign]) {
      const page = await client.get(`${path(group)}/members`);
      expect(usernames(page.body.users)).to.deep.equal(shown[group.name]);
      expect(page.body.count).to.equal(shown[group.name]!.length);
      expect(usernames((await client.get(path(group))).body.members)).to.deep.equal(shown[group.name]);
      const search = await client.get(`${path(group)}/members?q=${bob.username}`);
      expect(search.body.count, "whom it does not see it cannot search for").to.equal(group === own ? 1 : 0);
    }
  });

  it("are ordered by lower-cased username; suspended ones count, deleted ones do not", async () => {
    const group = await w().group();
    const [, suspended, gone] = await crowd(group, ["b-Order", "A-order", "c-order", "C-order2"]);
    await suspend(w(), { id: suspended! });
    await w()
      .as(w().owner)
      .graphql(`mutation($user: String!) { deleteUser(input: { user: $user }) { __typename } }`, { user: gone });
    const { body } = await w().as(w().owner).get(path(group));
    expect(usernames(body.members)).to.deep.equal(["A-order", "b-Order", "C-order2"]);
    expect(body.total_member_count).to.equal(3);
    const { exclude } = {
      exclude: (
        await w()
          .as(w().owner)
          .get(`${path(group)}?exclude_members=T`)
      ).body,
    };
    expect(exclude).to.deep.include({ members: [], total_member_count: 3 });
  });

  it("appear once each on pages while others join and leave, all 250 of them", async () => {
    const group = await w().group();
    const names = Array.from({ length: 250 }, (_, n) => `paged-${String(n).padStart(3, "0")}`);
    const ids = await crowd(group, names);
    const seen: string[] = [];
    for (let after = ""; ;) {
      const { status, body } = await w()
        .as(w().owner)
        .get(`${path(group)}/members?limit=100${after}`);
      expect(status).to.equal(200);
      expect(body.count).to.be.at.least(250);
      if (body.users.length === 0) break;
      seen.push(...usernames(body.users));
      after = `&after_id=${body.users.at(-1).id}`;
      await crowd(group, [`aaa-${seen.length}`, `paged-100-${seen.length}`]);
    }
    expect(seen.filter((name) => names.includes(name))).to.deep.equal(names);
    expect(new Set(seen).size).to.equal(seen.length);

    await w()
      .as(w().owner)
      .patch(path(group), { remove_users: [ids[100]] });
    const behind = await w()
      .as(w().owner)
      .get(`${path(group)}/members?limit=1&offset=3&after_id=${ids[100]}`);
    expect(usernames(behind.body.users), "behind the name of one who left").to.deep.equal(["paged-101"]);
    expect(
      (
        await w()
          .as(w().owner)
          .get(`${path(group)}/members?after_id=${missing}`)
      ).body.users,
    ).to.deep.equal([]);
  });

  it("are shown up to 1000 per group in lists, and all of them for a single group", async () => {
    const group = await w().group();
    await crowd(
      group,
      Array.from({ length: 1002 }, (_, n) => `host-${n}`),
    );
    const alone = await w().as(w().owner).get(path(group));
    expect(alone.body.members).to.have.length(1002);
    const listed = (await w().as(w().owner).get(`/api/v2/groups?group_ids=${group.id}`)).body[0];
    expect([listed.members.length, listed.total_member_count]).to.deep.equal([1000, 1002]);
    const paged = `query($id: String!) { group(group: $id) { members(first: 1001) { nodes { user { id } } } } }`;
    expect((await w().as(w().owner).failure(paged, { id: group.id })).code).to.equal("BAD_USER_INPUT");
  });

  it("reject invalid paging", async () => {
    const group = await w().group();
    for (const [query, field] of [
      ["limit=-1", "limit"],
      ["limit=1001", "limit"],
      ["limit=x", "limit"],
      ["offset=-1", "offset"],
      ["after_id=x", "after_id"],
    ]) {
      const answer = await w()
        .as(w().owner)
        .get(`${path(group)}/members?${query}`);
      expect(answer.status, query).to.equal(400);
      expect(answer.body.message).to.equal("Query parameters have invalid values.");
      expect(fields(answer)).to.deep.equal([field]);
    }
  });

  it("are searched by words and keys", async () => {
    const group = await w().group();
    const [tia] = await crowd(group, ["Tia", "tom", "uma"]);
    const changed = { name: "Tia Maria", site_roles: ["auditor"], last_seen_at: "2026-03-01T12:00:00Z" };
    await setColumns(w(), "users", { id: tia }, { status: "suspended", ...changed });
    const found = async (q: string) => {
      const { status, body } = await w()
        .as(w().owner)
        .get(`${path(group)}/members?q=${encodeURIComponent(q)}`);
      expect(status, q).to.equal(200);
      expect(body.count).to.equal(body.users.length);
      return usernames(body.users);
    };
    expect(await found("status:suspended")).to.deep.equal(["Tia"]);
    expect(await found("T EXAMPLE.com")).to.deep.equal(["Tia", "tom"]);
    expect(await found("tom,uma")).to.deep.equal(["tom", "uma"]);
    expect(await found('name:"tia m"')).to.deep.equal(["Tia"]);
    expect(await found("role:member")).to.have.length(3);
    expect(await found('"a@example.com"')).to.deep.equal(["Tia", "uma"]);
    await setColumns(w(), "users", { id: tia }, { name: String.raw`a.b*c\d (e) [f] ^g$ {1} | +? _é Ⓐ-~#"` });
    for (const part of [String.raw`c\\d (e)`, "[f] ^g$ {1} | +? _é Ⓐ-~#", "a.b*", String.raw`\"`])
      expect(await found(`name:"${part}"`), part).to.deep.equal(["Tia"]);
    for (const part of [".*", "a.b.c", "[a-z]", "^a", "***=a", "(?i)A", "a|b"])
      expect(await found(`name:"${part}"`), part).to.deep.equal([]);
    expect(await found("role:AUDITOR login_type:password service_account:false")).to.deep.equal(["Tia"]);
    expect(await found("last_seen_after:2026-03-01 last_seen_before:2026-03-01T12:00:00Z")).to.deep.equal(["Tia"]);
    expect(await found("created_before:2020-01-01")).to.deep.equal([]);
    expect(await found("created_after:2100-01-01")).to.deep.equal([]);
    expect(await found("created_after:2020-01-01")).to.include("Tia");
    expect(await found("status:active status:suspended")).to.deep.equal([]);
    for (const q of ["nosuch:1", "a:b:c", "status:gone", "created_after:soon"]) {
      const answer = await w()
        .as(w().owner)
        .get(`${path(group)}/members?q=${q}`);
      expect(answer.status, q).to.equal(400);
      expect(answer.body.message).to.equal("Invalid member search query.");
      expect(fields(answer)).to.include("q");
    }
  });

  it("have their whole account where it is selected, by any path and beside any profile", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group("one", { members: [ada!] });
    const account = { email: ada!.email, loginType: "PASSWORD" };
    const full = "{ account { email loginType } }";
    const client = w().as(w().owner);
    for (const [byNode, byEdge] of [
      [full, "{ user { username } }"],
      ["{ user { username } }", full],
      [full, full],
    ]) {
      const pages = `profiles: members(first: 1) { nodes { user { username name } } }
        members(first: 1) { nodes ${byNode} edges { node ${byEdge} } }`;
      const one = (await client.graphql(`{ group(group: "${group.id}") { ${pages} } }`)).group;
      const listed = `{ groups(filter: { ids: ["${group.id}"] }) { nodes { ${pages} } edges { node { ${pages} } } } }`;
      const { nodes, edges } = (await client.graphql(listed)).groups;
      for (const { profiles, members } of [one, nodes[0], edges[0].node]) {
        expect(profiles.nodes).to.deep.equal([{ user: { username: ada!.username, name: "" } }]);
        if (byNode === full) expect(members.nodes).to.deep.equal([{ account }]);
        if (byEdge === full) expect(members.edges).to.deep.equal([{ node: { account } }]);
      }
    }
  });

  it("have fields of their account that another list of the same query does not select", async () => {
    const [ada] = await w().users("ada");
    await w().grant(ada!, "auditor");
    const group = await w().group("short", { members: [ada!] });
    await setTimes(w(), "users", { id: ada!.id }, { ai_seat_at: "0 s" });
    const read = async (selected: string) => {
      const query = `{ group(group: "${group.id}") {
        short: members { nodes { account { email } } } members { nodes { account { ...Fields } } } } }
        fragment Fields on User { ${selected} }`;
      const { short, members } = (await w().as(w().owner).graphql(query)).group;
      expect(short.nodes).to.deep.equal([{ account: { email: ada!.email } }]);
      return members.nodes[0].account;
    };
    const { username } = ada!;
    expect(await read("username themePreference")).to.deep.equal({ username, themePreference: "" });
    expect(await read("roles { name }")).to.deep.equal({ roles: [{ name: "AUDITOR" }] });
    expect(await read("username hasAiSeat")).to.deep.equal({ username, hasAiSeat: true });
    expect(await read("organizations { name }")).to.deep.equal({ organizations: [{ name: "main" }] });
  });
});

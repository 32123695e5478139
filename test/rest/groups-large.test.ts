// A group of thousands of members.
// Reaches for tables: they have roles and times that no request gives them.
import { expect } from "chai";
import { insertUsers } from "../support/crowds.js";
import { setColumns } from "../support/tables.js";
import { world } from "../support/world.js";

const path = ({ id }: { id: string }) => `/api/v2/groups/${id}`;
const usernames = (users: Array<{ username: string }>) => users.map(({ username }) => username);

describe("members", () => {
  const w = world();

  it("of a large group have the same order, on pages from both ends and in searches", async () => {
    const group = await w().group();
    const names = Array.from({ length: 5001 }, (_, n) => `large-${String(n).padStart(4, "0")}`);
    const users = names.map((username) => ({ username }));
    const ids = await insertUsers(w(), users, { organization: w().defaultOrganization, group: group.id });
    const pages = `query($id: String!, $after: String, $gone: String) { group(group: $id) { totalMemberCount
      start: members(first: 2, offset: 1) { nodes { addedAt user { username } } }
      middle: members(first: 2, after: $after) { nodes { user { username } } pageInfo { endCursor } }
      end: members(last: 2) { nodes { user { username } } }
      before: members(last: 1, before: $gone) { nodes { user { username } } }
      found: members(filter: { search: "e-5,e-49 @EXAMPLE" }) { totalCount nodes { user { username } } }
      all: members(filter: { search: "large" }) { totalCount exact: totalCount(exact: true) } } }`;
    const client = w().as(w().owner);
    const { group: first } = await client.graphql(pages, { id: group.id, after: ids[7], gone: ids[9] });
    const shown = (page: { nodes: Array<{ user: { username: string } }> }) =>
      usernames(page.nodes.map(({ user }) => user));
    expect(first.totalMemberCount).to.equal(5001);
    expect(shown(first.start)).to.deep.equal(names.slice(1, 3));
    expect(first.start.nodes[0]!.addedAt).to.match(/^\d{4}-.*Z$/);
    expect(shown(first.middle)).to.deep.equal(names.slice(8, 10));
    expect(shown(first.end)).to.deep.equal(names.slice(-2));
    expect(shown(first.before)).to.deep.equal([names[8]]);
    expect(shown(first.found)).to.deep.equal(names.slice(4900, 5000));
    expect(first.found.totalCount).to.equal(101);
    expect(first.all).to.deep.equal({ totalCount: 1000, exact: 5001 });
    expect((await client.get(`${path(group)}/members?q=large&limit=1`)).body.count).to.equal(5001);
    const those = (isMeant: (nr: number) => boolean) => ({ id: ids.filter((_, nr) => isMeant(nr)) });
    await setColumns(
      w(),
      "users",
      those((nr) => nr % 3 === 0),
      { status: "suspended" },
    );
    await setColumns(
      w(),
      "users",
      those((nr) => nr % 1000 === 999),
      { site_roles: ["auditor"] },
    );
    await setColumns(
      w(),
      "users",
      those((nr) => nr >= 4990),
      { last_seen_at: "2026-03-01T12:00:00Z" },
    );
    const byConditions: Array<[q: string, isFound: (nr: number) => boolean]> = [
      ["status:suspended", (nr) => nr % 3 === 0],
      ["status:suspended large-49", (nr) => nr % 3 === 0 && nr >= 4900 && nr < 5000],
      ["status:active large large-4999", (nr) => nr === 4999],
      ["large role:auditor", (nr) => nr % 1000 === 999],
      ["role:auditor status:suspended", (nr) => nr % 3 === 0 && nr % 1000 === 999],
      ["large last_seen_after:2026-03-01 status:active", (nr) => nr >= 4990 && nr % 3 !== 0],
      ["created_before:2020-01-01 large", () => false],
    ];
    const search = `query($id: String!, $q: String!) { group(group: $id) {
      start: members(first: 7, filter: { search: $q }) { totalCount(exact: true) nodes { user { username } } }
      end: members(last: 7, filter: { search: $q }) { totalCount nodes { user { username } } }
      further: members(first: 7, offset: 5, filter: { search: $q }) { nodes { user { username } } } } }`;
    for (const [q, isFound] of byConditions) {
      const expected = names.filter((_, nr) => isFound(nr));
      const { group: found } = await client.graphql(search, { id: group.id, q });
      expect(shown(found.start), q).to.deep.equal(expected.slice(0, 7));
      expect(shown(found.end), q).to.deep.equal(expected.slice(-7));
      expect(shown(found.further), q).to.deep.equal(expected.slice(5, 12));
      expect([found.start.totalCount, found.end.totalCount], q).to.deep.equal([
        expected.length,
        Math.min(expected.length, 1000),
      ]);
    }
    const { endCursor } = first.middle.pageInfo;
    const { group: next } = await client.graphql(pages, { id: group.id, after: endCursor, gone: endCursor });
    expect(shown(next.middle)).to.deep.equal(names.slice(10, 12));
    const plain = await w().user("plain");
    await client.patch(path(group), { add_users: [plain.id] });
    const { body } = await w().as(plain).get(path(group));
    expect([usernames(body.members), body.total_member_count]).to.deep.equal([[plain.username], 5002]);
  });
});

// Reaches for tables: Postgres gets statistics of the users, as it does within a minute.
import { expect } from "chai";
import { inMs } from "../support/clock.js";
import { insertUsers } from "../support/crowds.js";
import { analyze } from "../support/tables.js";
import { type Client, world } from "../support/world.js";

interface Found {
  nodes: Array<{ username: string }>;
  pageInfo: { endCursor: string; hasNextPage: boolean };
  totalCount: number;
}

const nameOf = (nr: number) => `User-${String(nr).padStart(4, "0")}`;

describe("a search among many users", () => {
  const the = world();
  let organization: string;
  let users: Array<{ username: string; email: string; name: string }>;

  before(async () => {
    const w = the();
    organization = (await w.organization()).id;
    const numbers = Array.from({ length: 1800 }, (_, index) => index + 1);
    users = numbers.map((nr) => ({
      username: nameOf(nr),
      email: `Mail-${nr}${nr % 2 === 0 ? "@corp" : "@home"}.example`,
      name: nr === 1777 ? "Zoë_50% Qx" : "Person",
    }));
    const columns = (nr: number) => ({
      ...users[nr - 1]!,
      status: nr % 3 === 0 ? "suspended" : "active",
      site_roles: nr % 600 === 0 ? ["auditor"] : [],
      last_seen_at: nr >= 1700 ? "2026-03-01T12:00:00Z" : null,
      created_at: inMs(-60_000 * (60 + nr)),
    });
    await insertUsers(w, numbers.map(columns), { organization });
    users.unshift({ ...w.owner, name: "" });
    await analyze(w, "users", "organization_members");
  });

  const read = async (client: Client, list: string, page: string): Promise<Found> =>
    (
      await client.graphql(
        `{ list: ${list}, ${page}) { nodes { username } pageInfo { endCursor hasNextPage } totalCount } }`,
      )
    ).list;

  const usernames = ({ nodes }: Found) => nodes.map(({ username }) => username);

  for (const search of ["177", "qx", "Q", "ë_5", "%", "L-1777@", "5@", "corp", "user-17", "no-such-person"])
    it(`finds every user matching ${search} and no others, on each page`, async () => {
      const client = the().as(the().owner);
      const has = (text: string) => text.toLowerCase().includes(search.toLowerCase());
      const expected = users
        .filter(({ username, email, name }) => has(username) || has(email) || has(name))
        .map(({ username }) => username);
      const filter = `filter: { search: ${JSON.stringify(search)} }`;
      for (const list of [`users(${filter}`, `organizationMembers(organization: "${organization}", ${filter}`]) {
        const page = await read(client, list, "first: 7");
        expect(usernames(page)).to.deep.equal(expected.slice(0, 7));
        expect(page.totalCount).to.equal(expected.length);
        expect(page.pageInfo.hasNextPage).to.equal(expected.length > 7);
        expect(usernames(await read(client, list, "last: 7"))).to.deep.equal(expected.slice(-7));
        expect(usernames(await read(client, list, "first: 7, offset: 5"))).to.deep.equal(expected.slice(5, 12));
        expect(usernames(await read(client, list, "first: 60"))).to.deep.equal(expected.slice(0, 60));
        const next = `first: 1000, after: ${JSON.stringify(page.pageInfo.endCursor ?? null)}`;
        if (page.nodes.length > 0)
          expect(usernames(await read(client, list, next))).to.deep.equal(expected.slice(7, 1007));
      }
    });

  // Conditions that most of the first users meet, few, or only users further on, together with each other.
  const conditions: Array<[filter: string, isFound: (nr: number) => boolean]> = [
    [`role: AUDITOR, search: "user"`, (nr) => nr % 600 === 0],
    [`status: ACTIVE, search: "qx"`, (nr) => nr === 1777],
    [`status: SUSPENDED, search: "qx"`, () => false],
    [`status: SUSPENDED, role: AUDITOR`, (nr) => nr % 600 === 0],
    [`lastSeenAfter: "2026-03-01T00:00:00Z", search: "corp"`, (nr) => nr >= 1700 && nr % 2 === 0],
    [`status: SUSPENDED, search: "home", lastSeenAfter: "2026-03-01T00:00:00Z"`, (nr) => nr >= 1700 && nr % 6 === 3],
    [`createdBefore: "2020-01-01T00:00:00Z", search: "user"`, () => false],
  ];
  for (const [filter, isFound] of conditions)
    it(`finds every user with ${filter} and no others, in both orders`, async () => {
      const client = the().as(the().owner);
      const expected = Array.from({ length: 1800 }, (_, n) => n + 1)
        .filter(isFound)
        .map(nameOf);
      for (const [order, inOrder] of [
        ["USERNAME", expected],
        ["CREATED_AT", expected.toReversed()],
      ] as const) {
        const list = `users(orderBy: { field: ${order}, direction: ASC }, filter: { ${filter} }`;
        const page = await read(client, list, "first: 7");
        expect(usernames(page), order).to.deep.equal(inOrder.slice(0, 7));
        expect(page.totalCount, order).to.equal(expected.length);
        expect(usernames(await read(client, list, "last: 7")), order).to.deep.equal(inOrder.slice(-7));
        if (page.nodes.length === 0) continue;
        const next = `first: 1000, after: ${JSON.stringify(page.pageInfo.endCursor)}`;
        expect(usernames(await read(client, list, next)), order).to.deep.equal(inOrder.slice(7));
      }
    });

  it("finds a renamed user by the new name only, in every list", async () => {
    const client = the().as(the().owner);
    await client.graphql(`mutation { updateUser(input: { user: "user-1500", username: "a-first" }) { user { id } } }`);
    const members = `organizationMembers(organization: "${organization}"`;
    expect(usernames(await read(client, members, "first: 1"))).to.deep.equal(["a-first"]);
    expect(usernames(await read(client, `${members}, filter: { search: "user-1500" }`, "first: 1"))).to.deep.equal([]);
    expect(usernames(await read(client, members, "first: 1, offset: 1500"))).to.deep.equal(["User-1501"]);
  });
});

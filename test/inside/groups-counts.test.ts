// The number of members, which is stored with each group.
// Looks inside: stored counts are compared with the rows that they count.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { deleteRows } from "../support/tables.js";
import { repeats } from "../support/repeats.js";
import { GraphqlFailure, world } from "../support/world.js";

describe("the member count of a group", () => {
  // Many changes wait for each other, each for a sixth of the time of a request at most.
  const the = world({ STEWARD_DATABASE_POOL: "20", STEWARD_REQUEST_TIMEOUT: "5m" });
  let made = 0;

  const sql = async (text: string, ...values: unknown[]) =>
    (await the().app.services.database.pool.query(text, values)).rows;

  const change = async (verb: string, input: object) => {
    const type = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input`;
    const document = `mutation($input: ${type}!) { ${verb}(input: $input) { __typename } }`;
    return the().as(the().owner).graphql(document, { input });
  };

  /** The stored number of members of a group `g`: Everyone has the changes of late beside it. */
  const stored =
    "(g.member_count + (select coalesce(sum(change), 0)::int from member_changes where organization_id = g.id))";

  /** Returns the groups whose stored count differs from the number of their members. */
  const miscounted = () =>
    sql(`select g.name, ${stored} as stored, m.count from groups g cross join lateral (
      select count(*)::int from (
        select group_id from group_members union all select organization_id from organization_members
      ) m where group_id = g.id
    ) m where ${stored} <> m.count`);

  const countOf = async ({ id }: { id: string }) =>
    (await sql(`select ${stored} as stored from groups g where id = $1`, id))[0]?.stored as number | undefined;

  /** Creates service accounts, which need no password hash. */
  async function accounts(count: number, organizationIds: string[]): Promise<string[]> {
    const creations = Array.from({ length: count }, async () => {
      const username = `counted-${++made}`;
      const { createUser } = await the()
        .as(the().owner)
        .graphql(`mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`, {
          input: { username, email: `${username}@example.com`, isServiceAccount: true, organizationIds },
        });
      return createUser.user.id;
    });
    return Promise.all(creations);
  }

  it("is exact after every change of memberships", async () => {
    const here = await the().organization();
    const there = await the().organization();
    const [ada, bob, cleo] = await accounts(3, [here.id, there.id]);
    expect([await countOf(here), await countOf(there)], "users created").to.deep.equal([3, 3]);
    const crew = await the().group("crew", { organization: here.id });
    const team = await the().group("team", { organization: there.id });
    await change("updateGroup", { group: crew.id, addUsers: [ada, bob, cleo] });
    await change("updateGroup", { group: team.id, addUsers: [ada, bob], removeUsers: [bob] });
    expect([await countOf(crew), await countOf(team)], "group members added").to.deep.equal([3, 1]);
    await change("updateGroup", { group: crew.id, removeUsers: [cleo, newId()] });
    expect(await countOf(crew), "a group member removed").to.equal(2);
    await change("removeOrganizationMember", { organization: here.id, user: bob });
    expect([await countOf(here), await countOf(crew)], "an organization's member removed").to.deep.equal([2, 1]);
    await change("addOrganizationMember", { organization: here.id, user: bob });
    expect([await countOf(here), await countOf(crew)], "an organization's member added").to.deep.equal([3, 1]);
    await change("deleteUser", { user: ada });
    const counts = [await countOf(here), await countOf(there), await countOf(crew), await countOf(team)];
    expect(counts, "a user deleted").to.deep.equal([2, 2, 0, 0]);
    await change("updateGroup", { group: team.id, addUsers: [bob, cleo] });
    await change("deleteGroup", { group: crew.id });
    await deleteRows(the(), "organization_members", { organization_id: there.id, user_id: [bob, cleo] });
    expect([await countOf(there), await countOf(team)], "rows deleted together").to.deep.equal([0, 0]);
    await change("deleteOrganization", { organization: there.id });
    const { rows } = { rows: await miscounted() };
    expect(rows).to.deep.equal([]);
    const { group } = await the().as(the().owner).graphql(`{ group(group: "${here.id}") { totalMemberCount } }`);
    expect(group.totalMemberCount).to.equal(2);
  });

  it("is exact after concurrent changes, none of which fails with a deadlock", async () => {
    /** Outcomes of a change whose objects others may have taken. */
    const fair = new Set(["done", "NOT_FOUND", "BAD_USER_INPUT", "CONFLICT"]);
    const outcomes = new Set<string>();
    const attempt = async (verb: string, input: object) => {
      try {
        await change(verb, input);
        outcomes.add("done");
      } catch (error) {
        if (!(error instanceof GraphqlFailure)) throw error;
        outcomes.add(error.code === "INTERNAL_SERVER_ERROR" ? `${verb}: ${error.message}` : error.code);
      }
    };
    for (let round = 0; round < repeats(1, 4); round++) {
      const organizations = [await the().organization(), await the().organization()];
      const organizationIds = organizations.map(({ id }) => id);
      const users = await accounts(12, organizationIds);
      const groups = await Promise.all(
        Array.from({ length: 8 }, (_, n) => the().group(undefined, { organization: organizationIds[n % 2]! })),
      );
      for (const { id } of groups) await change("updateGroup", { group: id, addUsers: users.slice(0, 8) });
      const someOf = (n: number) => users.filter((_, index) => (index * 7 + n) % 3 > 0);
      const changes: Array<Promise<unknown>> = [];
      for (const [n, user] of users.entries()) {
        for (const organization of n % 2 ? organizationIds : organizationIds.toReversed())
          changes.push(attempt("removeOrganizationMember", { organization, user }));
        const { id: group } = groups[n % groups.length]!;
        changes.push(attempt("updateGroup", { group, addUsers: users.slice(8), removeUsers: someOf(n) }));
        if (n % 3 === 0) changes.push(attempt("addOrganizationMember", { organization: organizationIds[0], user }));
        if (n % 4 === 0) changes.push(attempt("deleteUser", { user }));
        changes.push(attempt("updateGroup", { group, addUsers: [users.at(-1)!], removeUsers: [user] }));
        if (n % 6 === 5) changes.push(attempt("deleteGroup", { group }));
        changes.push(accounts(1, organizationIds).catch(() => undefined));
      }
      changes.push(attempt("deleteOrganization", { organization: organizationIds[1] }));
      await Promise.all(changes);
      expect(await miscounted()).to.deep.equal([]);
    }
    expect([...outcomes].filter((code) => !fair.has(code))).to.deep.equal([]);
  });
});

// Lists of tasks: pages, counts, and what they cost.
import { expect } from "chai";
import { copyTask, type TaskStage, withTasks } from "./support/tasks.js";
import { type Client, type Person, world } from "./support/world.js";

const tasks = "/api/v2/tasks";

describe("lists of tasks", () => {
  const the = world();
  let stage: TaskStage;
  let ada: Person;
  let as: Client;

  withTasks(the, (opened) => ({ stage } = opened));
  before(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    const { task } = await stage.active(ada, { name: "first" });
    await copyTask(the(), task.id as string, 1100);
  });

  it("have the 1,000 newest ones and the count of all, or a page", async () => {
    const { body: all } = await as.get(tasks);
    expect(all.count).to.equal(1101);
    expect(all.tasks).to.have.length(1000);
    const times = all.tasks.map(({ created_at: at }: { created_at: string }) => at);
    expect(times).to.deep.equal(times.toSorted().toReversed());
    const page = await as.get(`${tasks}?limit=3&offset=2`);
    expect(page.body.count).to.equal(1101);
    expect(page.body.tasks).to.deep.equal(all.tasks.slice(2, 5));
    const past = await as.get(`${tasks}?offset=1100`);
    expect(past.body).to.include({ count: 1101 });
    expect(past.body.tasks).to.have.length(1);
    for (const wrong of ["limit=-1", "limit=1001", "limit=x", "offset=-1"])
      expect((await as.get(`${tasks}?${wrong}`)).status, wrong).to.equal(400);
    const { body: none } = await as.get(`${tasks}?q=status:unknown`);
    expect(none).to.deep.equal({ count: 0, tasks: [] });
  });

  it("are counted up to 1000 in GraphQL, unless the exact number is requested", async () => {
    const { limited, exact, one } = await as.graphql(`{ limited: tasks { totalCount }
      exact: tasks { totalCount(exact: true) } one: tasks(q: "first") { totalCount } }`);
    expect([limited, exact, one].map(({ totalCount }) => totalCount)).to.deep.equal([1000, 1101, 1]);
  });

  describe("of callers who see parts", () => {
    type Found = { name: string; status: string };
    const query = `query($q: String, $after: String) { tasks(q: $q, first: 100, after: $after) {
      totalCount nodes { name status } pageInfo { hasNextPage endCursor } } }`;

    /** The count, and the first two pages. */
    async function pagesOf(who: Client, q: string): Promise<{ totalCount: number; nodes: Found[] }> {
      const { tasks: first } = await who.graphql(query, { q });
      if (!first.pageInfo.hasNextPage) return { totalCount: first.totalCount, nodes: first.nodes };
      const { tasks: next } = await who.graphql(query, { q, after: first.pageInfo.endCursor });
      return { totalCount: first.totalCount, nodes: [...first.nodes, ...next.nodes] };
    }

    it("have the same tasks in the same order as those of owners, by any filter", async () => {
      const [bob, admin, friend] = await the().users("bob", "admin", "friend");
      await the().grant(admin!, "organization-admin");
      const { task } = await stage.active(bob!, { name: "second", display_name: "Something else" });
      const input = {
        workspace: task.workspace_id.uuid,
        userPerms: [ada, friend!].map(({ id }) => ({ id, role: "use" })),
      };
      await the()
        .as(bob!)
        .graphql("mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }", {
          input,
        });
      const [all, ...others] = [the().owner, admin!, ada].map((person) => the().as(person));
      for (const q of [
        "",
        "status:active",
        "status:active,paused",
        "status:unknown",
        "first",
        "login status:error,active",
        `owner:${ada.username} status:error`,
        "organization:default status:initializing",
      ]) {
        const expected = await pagesOf(all!, q);
        for (const other of others) expect(await pagesOf(other, q), q).to.deep.equal(expected);
      }
      const ofBoth = `owner:${ada.username},${bob!.username} status:active`;
      for (const who of [all!, others[0]!])
        expect((await pagesOf(who, ofBoth)).totalCount).to.equal((await pagesOf(who, "status:active")).totalCount);
      const found = await pagesOf(all!, "status:active,paused login");
      expect(new Set(found.nodes.map(({ status }) => status))).to.deep.equal(new Set(["ACTIVE", "PAUSED"]));
      for (const q of ["", "second", "status:active", "status:active something"])
        expect(
          (await pagesOf(the().as(friend!), q)).nodes.map(({ name }) => name),
          q,
        ).to.deep.equal(["second"]);
    });
  });
});

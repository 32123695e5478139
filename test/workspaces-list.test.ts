// Lists of workspaces: who sees what, filters, pages, and the stream of builds.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { beginBuild, boxOf, createBox, doBuild, endBuild, runningBox, stop, templateOf } from "./support/builds.js";
import { type ResultOf, world } from "./support/world.js";

describe("lists of workspaces", () => {
  const w = world();

  const list = `query($filter: WorkspaceFilter, $first: Int, $after: String, $order: WorkspaceOrder) {
    workspaces(filter: $filter, first: $first, after: $after, orderBy: $order) {
      totalCount nodes { name } pageInfo { endCursor hasNextPage } } }`;
  const names = async (by: { token: string }, variables: Record<string, unknown> = {}): Promise<string[]> =>
    (await w().as(by).graphql(list, variables)).workspaces.nodes.map(({ name }: { name: string }) => name);

  it("hold the readable workspaces, the most recently used first, and are filtered", async () => {
    const [ada, bob, admin] = await w().users("ada", "bob", "admin");
    await w().grant(admin!, "organization-admin");
    const template = await templateOf(w(), boxOf());
    const other = await templateOf(w(), boxOf());
    await createBox(w(), ada!, template.id, { name: "alpha" });
    await runningBox(w(), ada!, template.id, { name: "beta" });
    const { workspace } = await runningBox(w(), bob!, other.id, { name: "gamma" });
    const { stopWorkspace } = await w().as(bob!).graphql(stop, { workspace: workspace.id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);

    expect(await names(ada!)).to.deep.equal(["beta", "alpha"]);
    expect(await names(bob!)).to.deep.equal(["gamma"]);
    expect(await names(admin!)).to.deep.equal(["gamma", "beta", "alpha"]);
    expect(await names(w().owner, { order: { field: "LAST_USED_AT", direction: "ASC" } })).to.deep.equal([
      "alpha",
      "beta",
      "gamma",
    ]);
    const filters: Array<[Record<string, unknown>, string[]]> = [
      [{ owner: ada!.username }, ["beta", "alpha"]],
      [{ owner: bob!.id, organization: "default" }, ["gamma"]],
      [{ templateId: template.id, status: "PENDING" }, ["alpha"]],
      [{ status: "RUNNING" }, ["beta"]],
      [{ search: "AM" }, ["gamma"]],
      [{ search: "a", status: "STOPPED" }, ["gamma"]],
      [{ dormant: true }, []],
      [{ dormant: false, search: "et" }, ["beta"]],
      [{ hasAgent: "CONNECTING" }, ["beta"]],
      [{ hasAgent: "CONNECTED" }, []],
    ];
    for (const [filter, expected] of filters)
      for (const by of [w().owner, admin!])
        expect(await names(by, { filter }), JSON.stringify(filter)).to.deep.equal(expected);
    const { workspaces } = await w()
      .as(admin!)
      .graphql(list, { filter: { search: "a" }, first: 2 });
    expect(workspaces.totalCount).to.equal(3);
  });

  it("are paged without gaps, by cursors and through objects", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    for (const name of ["p1", "p2", "p3", "p4", "p5"]) await createBox(w(), ada!, template.id, { name });
    const seen: string[] = [];
    for (let after: string | null = null; ;) {
      const { workspaces }: ResultOf<typeof list> = await w().as(ada!).graphql(list, { first: 2, after });
      seen.push(...workspaces.nodes.map(({ name }: { name: string }) => name));
      after = workspaces.pageInfo.endCursor;
      if (!workspaces.pageInfo.hasNextPage) break;
    }
    expect(seen).to.deep.equal(["p5", "p4", "p3", "p2", "p1"]);

    const nested = `query($user: String!, $template: UUID!) {
      user(user: $user) { workspaces(first: 2) { totalCount nodes { name } } }
      template(id: $template) { workspaces(last: 1) { nodes { name } } }
      organization(organization: "default") { workspaces(first: 1) { nodes { name } } } }`;
    const found = await w().as(w().owner).graphql(nested, { user: ada!.username, template: template.id });
    expect(found).to.deep.equal({
      user: { workspaces: { totalCount: 5, nodes: [{ name: "p5" }, { name: "p4" }] } },
      template: { workspaces: { nodes: [{ name: "p1" }] } },
      organization: { workspaces: { nodes: [{ name: "p5" }] } },
    });
  });

  it("stream the latest build of a workspace, first as it is", async () => {
    const [ada, eve] = await w().users("ada", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    const subscription = `subscription($id: UUID!) { workspaceBuildUpdated(workspaceId: $id) { status workspace { name } } }`;
    const watch = ({ token }: { token: string }) => {
      const url = `${w().url.replace("http", "ws")}/graphql`;
      const client = createClient({ url, webSocketImpl: WebSocket, connectionParams: { sessionToken: token } });
      return client.iterate<Record<string, Record<string, unknown>>>({
        query: subscription,
        variables: { id: workspace.id },
      });
    };
    const events = watch(ada!);
    const next = async () => (await events.next()).value!.data!.workspaceBuildUpdated;
    expect(await next()).to.deep.equal({ status: "PENDING", workspace: { name: workspace.name } });
    await beginBuild(w(), workspaceBuild.id);
    expect(await next()).to.include({ status: "STARTING" });
    await endBuild(w(), workspaceBuild.id);
    expect(await next()).to.include({ status: "RUNNING" });
    await events.return!();

    const { value } = await watch(eve!).next();
    expect(value!.errors![0]!.extensions!.code).to.equal("NOT_FOUND");
  });
});

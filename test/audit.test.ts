// Reaches for tables: a commit that fails.
import { expect } from "chai";
import { failingCommits } from "./support/tables.js";
import { type Client, type Person, type World, world } from "./support/world.js";

const auditEvents = `query($filter: AuditEventFilter, $first: Int, $after: String) {
  auditEvents(filter: $filter, first: $first, after: $after) {
    nodes { id time actorId actorUsername actorKind apiKeyId action resourceType resourceId resourceLabel organizationId diff requestId ip userAgent }
    pageInfo { hasNextPage endCursor }
    totalCount } }`;
const rename = `mutation($user: String!, $name: String!) { updateUser(input: { user: $user, name: $name }) { user { id } } }`;
const describeOrganization = `mutation($organization: String!, $description: String!) {
  updateOrganization(input: { organization: $organization, description: $description }) { organization { id } } }`;

interface Event {
  id: string;
  time: string;
  resourceId: string;
  organizationId: string | null;
  diff: Record<string, { new?: unknown }>;
}

const read = async (client: Client, variables: object = {}) =>
  (await client.graphql(auditEvents, { ...variables })).auditEvents as {
    nodes: Event[];
    totalCount: number;
    pageInfo: { hasNextPage: boolean; endCursor: string };
  };

const nameOf = async (w: World, { id }: Person) =>
  (await w.as(w.owner).graphql(`query($id: String!) { user(user: $id) { name } }`, { id })).user.name;

describe("the audit log", () => {
  const the = world();

  it("records who did what to what, from where, with which key, and in which request", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const began = Date.now();
    const answer = await w
      .as(w.owner)
      .post("/graphql", { query: rename, variables: { user: ada!.id, name: "Ada" } }, { "User-Agent": "a-test" });
    const ended = Date.now();
    const { nodes } = await read(w.as(w.owner), {
      filter: { resourceType: "user", resourceId: ada!.id, action: "UPDATE" },
    });
    expect(nodes).to.have.length(1);
    const { id, time, ...event } = nodes[0]!;
    expect(id).to.match(/^[0-9a-f-]{36}$/);
    expect(Date.parse(time)).to.be.within(began, ended + 1);
    expect(event).to.deep.equal({
      actorId: w.owner.id,
      actorUsername: "owner",
      actorKind: "user",
      apiKeyId: w.owner.token.slice("stw_se_".length, "stw_se_".length + 10),
      action: "UPDATE",
      resourceType: "user",
      resourceId: ada!.id,
      resourceLabel: ada!.username,
      organizationId: null,
      diff: { name: { old: "", new: "Ada" } },
      requestId: answer.headers.get("x-request-id"),
      ip: "127.0.0.1",
      userAgent: "a-test",
    });
  });

  it("is visible in full to owners and auditors, and to organization roles within their organization", async () => {
    const w = the();
    const organization = await w.organization();
    const admin = await w.user("oadmin", [organization.id]);
    const organizationAuditor = await w.user("oauditor", [organization.id]);
    const [auditor, userAdmin, plain] = await w.users("auditor", "uadmin", "plain");
    await w.grant(auditor!, "auditor");
    await w.grant(userAdmin!, "user-admin");
    const setRoles = `mutation($organization: String!, $user: String!, $roles: [RoleName!]!) {
      setOrganizationMemberRoles(input: { organization: $organization, user: $user, roles: $roles }) { __typename } }`;
    await w
      .as(w.owner)
      .graphql(setRoles, { organization: organization.id, user: admin.id, roles: ["ORGANIZATION_ADMIN"] });
    await w.as(w.owner).graphql(setRoles, {
      organization: organization.id,
      user: organizationAuditor.id,
      roles: ["ORGANIZATION_AUDITOR"],
    });

    const { totalCount } = await read(w.as(w.owner));
    expect((await read(w.as(auditor!))).totalCount)
      .to.equal(totalCount)
      .and.to.be.above(5);
    for (const person of [admin, organizationAuditor]) {
      const { nodes, totalCount: seen } = await read(w.as(person));
      expect(nodes).to.have.length(seen).and.to.have.length(3);
      expect(new Set(nodes.map(({ organizationId }) => organizationId))).to.deep.equal(new Set([organization.id]));
      expect((await read(w.as(person), { filter: { resourceType: "user" } })).nodes).to.deep.equal([]);
    }
    for (const person of [userAdmin!, plain!])
      expect((await w.as(person).failure(auditEvents)).code).to.equal("FORBIDDEN");
    expect((await w.nobody.failure(auditEvents)).code).to.equal("UNAUTHENTICATED");
  });

  it("is filtered by actor, action, resource, organization, and time", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const [ada] = await w.users("ada");
    const organization = await w.organization();
    await w.as(ada!).graphql(`mutation { updateProfile(input: { name: "A" }) { user { id } } }`);
    const start = (await read(owner, { first: 1 })).nodes[0]!.time;
    await w.as(ada!).graphql(`mutation { updateProfile(input: { name: "B" }) { user { id } } }`);

    const labels = async (filter: object) => (await read(owner, { filter })).nodes.map(({ diff }) => diff.name?.new);
    const own = { resourceType: "user", action: "UPDATE" };
    expect(await labels({ ...own, actor: ada!.id })).to.deep.equal(["B", "A"]);
    expect(await labels({ ...own, actor: ada!.username.toUpperCase() })).to.deep.equal(["B", "A"]);
    expect(await labels({ ...own, actor: "me", resourceId: ada!.id })).to.deep.equal([]);
    expect(await labels({ ...own, actor: ada!.id, after: start })).to.include("B");
    expect(await labels({ ...own, actor: ada!.id, before: "2000-01-01T00:00:00Z" })).to.deep.equal([]);
    expect(await labels({ organization: organization.name.toUpperCase() })).to.deep.equal([organization.name]);
    expect(await labels({ organization: organization.id, action: "DELETE" })).to.deep.equal([]);
    expect(await labels({ ...own, resourceId: ada!.id.toUpperCase() })).to.deep.equal(["B", "A"]);
    expect(await labels({ ...own, resourceId: ada!.id, actor: "", organization: "" })).to.deep.equal(["B", "A"]);
    expect(await labels({ actor: "no-such" })).to.deep.equal([]);
    expect((await owner.failure(auditEvents, { filter: { action: "EXPLODE" } })).code).to.equal("BAD_USER_INPUT");

    await owner.graphql(`mutation($user: String!) { deleteUser(input: { user: $user }) { user { id } } }`, {
      user: ada!.id,
    });
    for (const name of [ada!.id, ada!.username, ada!.email])
      expect(await labels({ ...own, actor: name }), "deleted actors are found").to.deep.equal(["B", "A"]);
  });

  it("is paged newest first; later events neither repeat nor shift the pages", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const { id } = await w.organization();
    for (let n = 1; n <= 7; n++)
      await owner.graphql(describeOrganization, { organization: id, description: `text ${n}` });
    const filter = { organization: id, action: "UPDATE" };
    const seen: Event[] = [];
    let after: string | undefined;
    do {
      const page = await read(owner, { filter, first: 3, after });
      seen.push(...page.nodes);
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : undefined;
      await owner.graphql(describeOrganization, { organization: id, description: `later ${seen.length}` });
    } while (after);
    expect(seen.map(({ diff }) => diff.description?.new)).to.deep.equal([7, 6, 5, 4, 3, 2, 1].map((n) => `text ${n}`));
    const behind = await read(owner, { filter, after: seen[4]!.id });
    expect(behind.nodes.map((event) => event.id)).to.deep.equal(seen.slice(5).map((event) => event.id));
    for (const variables of [{ first: 1001 }, { first: -1 }, { after: "nonsense" }])
      expect((await owner.failure(auditEvents, variables)).code).to.equal("BAD_USER_INPUT");
  });

  it("rolls a change back when its event cannot be written", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await failingCommits(w, "audit_events", async () => {
      const failure = await w.as(w.owner).failure(rename, { user: ada!.id, name: "Changed" });
      expect(failure.code).to.equal("INTERNAL_SERVER_ERROR");
      expect(failure.errors[0]!.message).to.equal("An internal error occurred.");
      expect(await nameOf(w, ada!)).to.equal("");
    });
    await w.as(w.owner).graphql(rename, { user: ada!.id, name: "Changed" });
    expect(await nameOf(w, ada!)).to.equal("Changed");
  });
});

describe("server info", () => {
  const the = world();

  it("is public and stays the same", async () => {
    const w = the();
    const { serverInfo } = await w.nobody.graphql("{ serverInfo { version accessUrl deploymentId } }");
    expect(serverInfo.version).to.match(/^\d+\.\d+\.\d+/);
    expect(serverInfo.accessUrl).to.equal(w.app.services.config.accessUrl);
    expect(serverInfo.deploymentId).to.match(/^[0-9a-f-]{36}$/);
    const { serverInfo: ways } = await w.nobody.graphql("{ serverInfo { passwordAuth identityProviders { label } } }");
    expect(ways).to.deep.equal({ passwordAuth: true, identityProviders: [] });
    expect((await w.as(w.owner).graphql("{ serverInfo { deploymentId } }")).serverInfo.deploymentId).to.equal(
      serverInfo.deploymentId,
    );
  });
});

// A row that the caller may not read is no place in a list: its id behaves as if no row had it.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { connect, minutesAgo, reported } from "../support/connections.js";
import { type Client, type Person, world } from "../support/world.js";

describe("paging from a row named by its id", () => {
  const the = world();
  let other: { id: string; name: string };
  /** Reads the default organization alone, with all its members. */
  let reader: Person;
  let plain: Person;
  /** Sorts between members of the default organization by name, but belongs to another one. */
  let hidden: Person;
  let [first, last]: Person[] = [];

  before(async () => {
    const w = the();
    other = await w.organization();
    [first, reader, plain, last] = (await w.users("a-first", "m-reader", "m-plain", "z-last")) as [
      Person,
      Person,
      Person,
      Person,
    ];
    hidden = await w.user("m-hidden", [other.id]);
    await w.grant(reader!, "organization-template-admin", "organization-auditor");
  });

  /** The rows of a list after, or before, the row with an id. */
  type Read = (client: Client, id: string, side: "after" | "before") => Promise<string[]>;

  const list =
    (root: string, label: (node: never) => string, selection: string, more = ""): Read =>
    async (client, id, side) => {
      const size = side === "after" ? "first" : "last";
      const data = await client.graphql(
        `{ ${root}(${more} ${side}: "${id}" ${size}: 100) { nodes { ${selection} } } }`,
      );
      return data[root].nodes.map(label);
    };
  const username = ({ username: name }: { username: string }) => name;
  const users = list("users", username, "username");
  const members = list("organizationMembers", username, "username", `organization: "default"`);

  /** Expects no rows on either side, exactly as for an unknown id. */
  async function isNoPlace(read: Read, client: Client, id: string) {
    for (const side of ["after", "before"] as const) {
      expect(await read(client, newId(), side), `${side} an unknown row`).to.deep.equal([]);
      expect(await read(client, id, side), `${side} a row that cannot be read`).to.deep.equal([]);
    }
  }

  it("starts lists of users only at users whom the caller may read", async () => {
    const w = the();
    for (const caller of [reader, plain]) await isNoPlace(users, w.as(caller), hidden.id);
    await isNoPlace(users, w.as(plain), first!.id);
    expect(await users(w.as(reader), first!.id, "after"))
      .to.include(last!.username)
      .and.not.include(first!.username);
    expect(await users(w.as(plain), plain.id, "before")).to.deep.equal([]);
    expect(await users(w.as(w.owner), hidden.id, "after")).to.include.members([reader.username, last!.username]);
  });

  it("starts lists of an organization's members only at its members", async () => {
    const w = the();
    for (const caller of [reader, plain]) {
      await isNoPlace(members, w.as(caller), hidden.id);
      expect(await members(w.as(caller), first!.id, "after")).to.include.members([plain.username, last!.username]);
    }
    expect(await members(w.as(w.owner), hidden.id, "after")).to.include.members([plain.username, last!.username]);
  });

  it("starts lists of a group's members only at members, and at former members whom the caller may read", async () => {
    const w = the();
    const group = await w.group("some", { members: [first!, plain, last!] });
    const inGroup: Read = async (client, id, side) => {
      const page = side === "after" ? `first: 9, after: "${id}"` : `last: 9, before: "${id}"`;
      const { group: found } = await client.graphql(
        `{ group(group: "${group.id}") { members(${page}) { nodes { user { username } } } } }`,
      );
      return found.members.nodes.map(({ user }: { user: { username: string } }) => user.username);
    };
    for (const caller of [reader, plain]) await isNoPlace(inGroup, w.as(caller), hidden.id);
    await isNoPlace(inGroup, w.as(plain), first!.id);
    const path = `/api/v2/groups/${group.id}`;
    const behind = async (id: string) =>
      (await w.as(reader).get(`${path}/members?after_id=${id}`)).body.users.map(username);
    expect(await behind(hidden.id)).to.deep.equal([]);
    expect(await behind(first!.id)).to.deep.equal([plain.username, last!.username]);
    await w.as(w.owner).patch(path, { remove_users: [first!.id] });
    expect(await behind(first!.id)).to.deep.equal([plain.username, last!.username]);

    const { createApiKey } = await w
      .as(reader)
      .graphql(`mutation { createApiKey(input: { name: "groups", scopes: ["group:read"] }) { token } }`);
    expect(await inGroup(w.as(createApiKey), plain.id, "after"), "a key for groups reads their members").to.deep.equal([
      last!.username,
    ]);
  });

  it("starts lists of groups only at groups that the caller may read", async () => {
    const w = the();
    const one = await w.group("x-1", { members: [plain] });
    const between = await w.group("x-2");
    const three = await w.group("x-3", { members: [plain] });
    const groups = list("groups", ({ name }) => name, "name");
    await isNoPlace(groups, w.as(plain), between.id);
    expect(await groups(w.as(plain), one.id, "after")).to.deep.equal([three.name]);
    expect(await groups(w.as(w.owner), between.id, "after")).to.include(three.name);
  });

  it("starts the audit log only at events that the caller may read", async () => {
    const w = the();
    await w.group("noted-first");
    await w.group("noted-elsewhere", { organization: other.id });
    await w.group("noted-last");
    const { auditEvents } = await w
      .as(w.owner)
      .graphql(`{ auditEvents(filter: { resourceType: "group" }) { nodes { id resourceLabel } } }`);
    const rows = auditEvents.nodes as Array<{ id: string; resourceLabel: string }>;
    const { id: elsewhere } = rows.find(({ resourceLabel }) => resourceLabel === "noted-elsewhere")!;
    const { id: latest } = rows.find(({ resourceLabel }) => resourceLabel === "noted-last")!;
    const events = async (person: Person, id: string): Promise<string[]> =>
      (
        await w.as(person).graphql(`{ auditEvents(after: "${id}", first: 5) { nodes { resourceLabel } } }`)
      ).auditEvents.nodes.map(({ resourceLabel }: { resourceLabel: string }) => resourceLabel);
    expect(await events(reader, newId())).to.deep.equal([]);
    expect(await events(reader, elsewhere)).to.deep.equal([]);
    expect(await events(reader, latest)).to.include("noted-first");
    expect(await events(w.owner, elsewhere)).to.include("noted-first");
  });

  it("starts the connection log only at connections that the caller may read", async () => {
    const w = the();
    const here = await w.workspace(first!);
    const there = await w.workspace(hidden, { organization: other.id });
    for (const [minutes, { agent }] of [here, there, here].entries())
      await reported(w, agent, connect(newId(), { time: minutesAgo(9 - minutes) }));
    const { connectionLogs } = await w.as(w.owner).graphql("{ connectionLogs { nodes { id workspaceId } } }");
    const rows = (connectionLogs.nodes as Array<{ id: string; workspaceId: string }>).toReversed();
    const logs = list("connectionLogs", ({ id }) => id, "id");
    const [mine, elsewhere] = [here, there].map(({ id }) => rows.filter(({ workspaceId }) => workspaceId === id));
    await isNoPlace(logs, w.as(reader), elsewhere![0]!.id);
    expect(await logs(w.as(reader), mine![1]!.id, "after")).to.deep.equal([mine![0]!.id]);
  });
});

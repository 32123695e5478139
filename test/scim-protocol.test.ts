// SCIM: versions, filters, orders, failures, and the credentials that it accepts.
import { once } from "node:events";
import { expect } from "chai";
import { WebSocket } from "ws";
import { newId } from "./support/ids.js";
import { makeScimKey, newScimUser, ScimClient, scimClient } from "./support/scim.js";
import { sharedWorld, world } from "./support/world.js";

const userUrn = "urn:ietf:params:scim:schemas:core:2.0:User";
const groupUrn = "urn:ietf:params:scim:schemas:core:2.0:Group";
const enterpriseUrn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

const shared = sharedWorld();

describe("the versions of SCIM resources", () => {
  const w = shared();
  let scim: ScimClient;
  before(async () => {
    scim = await scimClient(w());
  });
  const owner = () => w().as(w().owner);
  const create = async (path: string, body: unknown) => (await scim.post(path, body)).body.id as string;

  /** Expects that a change gives a resource another version and another body, and that conditions notice it. */
  const expectNewVersion = async (path: string, change: () => Promise<unknown>, label: string) => {
    const before = await scim.get(path);
    const version = before.headers.get("etag")!;
    expect(before.body.meta.version, label).to.equal(version);
    expect(await scim.get(path, { "If-None-Match": version }), label).to.include({ status: 304 });
    await change();
    const after = await scim.get(path, { "If-None-Match": version });
    expect(after.status, label).to.equal(200);
    expect(after.headers.get("etag"), label).to.equal(after.body.meta.version);
    expect(after.body.meta.version, label).to.not.equal(version);
    expect({ ...after.body, meta: 0 }, label).to.not.deep.equal({ ...before.body, meta: 0 });
    expect(await scim.patch(path, { Operations: [] }, { "If-Match": version }), label).to.include({ status: 412 });
    const now = { "If-Match": after.body.meta.version };
    expect((await scim.patch(path, { Operations: [] }, now)).status, label).to.be.oneOf([200, 204]);
    expect(await scim.get(path, { "If-None-Match": now["If-Match"] }), label).to.include({ status: 304 });
  };

  it("of users change with their groups and with the names of these, by every way of changing them", async () => {
    const id = await create("/Users", newScimUser());
    const path = `/Users/${id}`;
    const group = await create("/Groups", { displayName: "First" });
    const members = (op: string) => scim.change(`/Groups/${group}`, { op, path: "members", value: [{ value: id }] });
    const rename = (value: string) =>
      scim.change(`/Groups/${group}`, { op: "replace", path: "displayName", value }); // oxfmt-ignore
    const plain = await w().group();
    const cases: Array<[string, () => Promise<unknown>]> = [
      ["added by SCIM", () => members("add")],
      ["renamed by SCIM", () => rename("Second")],
      ["renamed elsewhere", () => owner().patch(`/api/v2/groups/${group}`, { display_name: "Third" })],
      ["added elsewhere", () => owner().patch(`/api/v2/groups/${plain.id}`, { add_users: [id] })],
      ["another name elsewhere", () => owner().patch(`/api/v2/groups/${plain.id}`, { name: "plain-2" })],
      ["removed elsewhere", () => owner().patch(`/api/v2/groups/${plain.id}`, { remove_users: [id] })],
      ["removed by SCIM", () => members("remove")],
      ["added again", () => members("add")],
      ["deleted", () => scim.delete(`/Groups/${group}`)],
    ];
    for (const [label, change] of cases) await expectNewVersion(path, change, label);
  });

  it("of groups change with the names of their members, by every way of changing them", async () => {
    const id = await create("/Users", newScimUser({ name: { formatted: "Ada" } }));
    const other = await create("/Users", newScimUser());
    const path = `/Groups/${await create("/Groups", { displayName: "Named", members: [{ value: id }] })}`;
    const update = (input: string) =>
      owner().graphql(`mutation { updateUser(input: { user: "${id}", ${input} }) { __typename } }`);
    const value = { name: { formatted: "Countess" } };
    await expectNewVersion(path, () => scim.change(`/Users/${id}`, { op: "replace", value }), "by SCIM");
    await expectNewVersion(path, () => update('name: "Lovelace"'), "by an administrator");
    await expectNewVersion(path, () => update('name: ""'), "without a name");
    await expectNewVersion(path, () => update('username: "lovelace"'), "the username");
    const { version } = (await scim.get(path)).body.meta;
    await update('email: "ada@names.example"');
    await scim.change(`/Users/${other}`, { op: "replace", value });
    expect((await scim.get(path)).body.meta.version).to.equal(version);
  });

  it("are in lists, in bulk results, and in filters as they are read alone", async () => {
    const id = await create("/Users", newScimUser());
    const group = await create("/Groups", { displayName: "Versioned", members: [{ value: id }] });
    for (const path of [`/Users/${id}`, `/Groups/${group}`]) {
      const [, endpoint] = path.split("/");
      const { version } = (await scim.get(path)).body.meta;
      const found = await scim.find(
        `/${endpoint}`,
        `id eq "${path.split("/")[2]}" and meta.version eq ${JSON.stringify(version)}`,
      );
      expect(found.body.Resources[0]?.meta, path).to.include({ version }); // oxfmt-ignore
      const bulk = { Operations: [{ method: "PATCH", path, version, data: { Operations: [] } }] };
      const [result] = (await scim.post("/Bulk", bulk)).body.Operations;
      expect(result, path).to.include({ status: "200", version });
    }
    const { scimUser } = await owner().graphql(`{ scimUser(id: "${id}") { version } }`);
    expect(scimUser.version).to.equal((await scim.get(`/Users/${id}`)).body.meta.version);
  });
});

describe("the accounts of SCIM users", () => {
  const w = shared();
  let scim: ScimClient;
  before(async () => {
    scim = await scimClient(w(), { source: "one" });
  });
  const account = async (id: string) =>
    (await w().as(w().owner).graphql(`{ user(user: "${id}") { email scim { source userName } } }`)).user as {
      email: string;
      scim: Array<{ source: string; userName: string | null }>;
    };

  it("have the primary email address, else the one of type work, else the first", async () => {
    const address = (name: string, more: object = {}) => ({ value: `${name}@mapped.example`, ...more });
    const cases: Array<[string, object[]]> = [
      ["p1", [address("w1", { type: "work" }), address("p1", { type: "home", primary: true })]],
      ["w2", [address("f2", { type: "home" }), address("w2", { type: "WORK" })]],
      ["f3", [address("f3", { type: "home" }), address("s3", { type: "other", primary: false })]],
    ];
    for (const [expected, emails] of cases) {
      const { body } = await scim.post("/Users", newScimUser({ emails }));
      expect((await account(body.id)).email).to.equal(`${expected}@mapped.example`);
      await scim.change(`/Users/${body.id}`, { op: "replace", path: "emails", value: [address(`x-${expected}`)] });
      expect((await account(body.id)).email).to.equal(`x-${expected}@mapped.example`);
      await scim.change(`/Users/${body.id}`, { op: "replace", path: "emails", value: emails });
      expect((await account(body.id)).email).to.equal(`${expected}@mapped.example`);
    }
  });

  it("keep the userName of the source that gave it, until another one gives another", async () => {
    const other = await scimClient(w(), { source: "two" });
    const { body } = await scim.post("/Users", newScimUser());
    const path = `/Users/${body.id}`;
    await other.change(path, { op: "add", value: { externalId: "2", userName: body.userName } });
    const kept = [
      { source: "one", userName: body.userName },
      { source: "two", userName: null },
    ];
    expect((await account(body.id)).scim).to.deep.equal(kept);
    const renamed = `renamed-${body.userName}`;
    await other.change(path, { op: "replace", path: "userName", value: renamed });
    expect((await account(body.id)).scim).to.deep.equal([
      { source: "one", userName: null },
      { source: "two", userName: renamed },
    ]);
    for (const client of [scim, other]) expect((await client.get(path)).body.userName).to.equal(renamed);
  });
});

describe("SCIM lists and failures", () => {
  const w = world();
  let scim: ScimClient;
  before(async () => {
    scim = await scimClient(w());
  });

  it("filter by schemas", async () => {
    const employee = await scim.post("/Users", newScimUser({ [enterpriseUrn]: { department: "R&D" } }));
    await scim.post("/Users", newScimUser());
    const { body: group } = await scim.post("/Groups", { displayName: "Of a schema" });
    const total = async (path: string, filter: string) => {
      const { status, body } = await scim.find(path, filter);
      expect(status, `${filter}: ${JSON.stringify(body)}`).to.equal(200);
      return body.totalResults as number;
    };
    const all = (await scim.get("/Users?count=0")).body.totalResults as number;
    expect(await total("/Users", `schemas eq "${userUrn}"`)).to.equal(all);
    expect(await total("/Users", `schemas eq "${userUrn.toUpperCase()}"`)).to.equal(all);
    expect(await total("/Users", "schemas pr")).to.equal(all);
    expect(await total("/Users", `schemas ne "${userUrn}"`)).to.equal(0);
    expect(await total("/Users", `schemas eq "${groupUrn}"`)).to.equal(0);
    expect(await total("/Users", `not (schemas eq "${enterpriseUrn}")`)).to.equal(all - 1);
    const found = await scim.find("/Users", `schemas eq "${enterpriseUrn}" and active eq true`);
    expect(found.body.Resources.map(({ id }: { id: string }) => id)).to.deep.equal([employee.body.id]);
    expect(await total("/Groups", `schemas eq "${groupUrn}" and id eq "${group.id}"`)).to.equal(1);
    const search = (await scim.post("/.search", { filter: `schemas eq "${groupUrn}"` })).body;
    expect(search.Resources.map(({ id }: { id: string }) => id)).to.deep.equal([group.id]);
  });

  it("filter by everything that a group or a user has", async () => {
    const { body: member } = await scim.post("/Users", newScimUser({ displayName: "Filtered One" }));
    const members = [{ value: member.id as string }];
    const group = { displayName: "Filtered", externalId: "Filter-1", members };
    const { body: made } = await scim.post("/Groups", group);
    const { body: user } = await scim.get(`/Users/${member.id}`);
    for (const [path, filter, isFound] of [
      ["/Groups", 'displayName eq "FILTERED"', true],
      ["/Groups", 'displayName co "lter"', true],
      ["/Groups", 'displayName ne "filtered"', false],
      ["/Groups", 'externalId eq "Filter-1"', true],
      ["/Groups", 'externalId eq "filter-1"', false],
      ["/Groups", "externalId eq null", false],
      ["/Groups", "members pr", true],
      ["/Groups", "members eq null", false],
      ["/Groups", `members eq "${user.id}"`, true],
      ["/Groups", `members.value eq "${made.id}"`, false],
      ["/Groups", `members[value eq "${user.id}" and type eq "user"]`, true],
      ["/Groups", `members[value eq "${user.id}" and type eq "group"]`, false],
      ["/Groups", `members[value eq "${user.id}"].display ew "one"`, true],
      ["/Groups", `members[value eq "${user.id}"].display ew "two"`, false],
      ["/Groups", `members.$ref ew "/Users/${user.id}"`, true],
      ["/Groups", `not (members.value eq "${user.id}")`, false],
      ["/Groups", 'meta.resourceType eq "Group" and meta pr', true],
      ["/Groups", `meta.created eq "${made.meta.created}"`, true],
      ["/Groups", `meta.created lt "${made.meta.created}"`, false],
      ["/Groups", `meta.created ne "${made.meta.created}"`, false],
      ["/Users", `groups eq "${made.id}"`, true],
      ["/Users", 'groups[display eq "filtered" and type eq "direct"]', true],
      ["/Users", "groups eq null", false],
      ["/Users", `groups.value ne "${made.id}"`, false],
      ["/Users", `meta.created ge "${user.meta.created}"`, true],
      ["/Users", `meta.created gt "${user.meta.created}"`, false],
      ["/Users", `meta.version eq "${user.meta.version.replaceAll('"', '\\"')}"`, true],
    ] as const) {
      const { id } = path === "/Users" ? user : made;
      const { body } = await scim.find(path, `id eq "${id}" and (${filter})`);
      expect(body.totalResults, `${filter}: ${JSON.stringify(body)}`).to.equal(isFound ? 1 : 0);
    }
  });

  it("find all that one of several comparisons finds", async () => {
    const { id: ada } = await w().user("ada");
    const email = (await scim.get(`/Users/${ada}`)).body.emails[0].value as string;
    const make = async (more: Record<string, unknown>) => (await scim.post("/Users", newScimUser(more))).body;
    const one = await make({ title: "Any 1", externalId: "any-1" });
    const two = await make({ title: "Any 2", externalId: "any-2", nickName: "Any" });
    for (const [filter, found] of [
      [`userName eq "${email}"`, [ada]],
      ['title eq "any 1" or externalId eq "any-2"', [one.id, two.id]],
      ['externalId eq "any-1" or title sw "any"', [one.id, two.id]],
      ['externalId eq "any-1" or nickName pr', [one.id, two.id]],
      [`externalId eq "any-2" or userName eq "${email}"`, [ada, two.id]],
      ['title sw "any" and externalId eq "any-2"', [two.id]],
      ['title sw "any" and externalId eq "any-3"', []],
      ['title sw "any" and nickName ne "any"', [one.id]],
    ] as Array<[string, string[]]>) {
      const { body } = await scim.find("/Users", filter);
      expect(
        body.Resources.map(({ id }: { id: string }) => id),
        filter,
      ).to.have.members(found);
      expect(body.totalResults, filter).to.equal(found.length);
    }
  });

  it("sort by the primary email address, else the first one", async () => {
    const made: Array<[string, unknown[]]> = [
      ["b", [{ value: "b@sorted.example" }]],
      ["c", [{ value: "z@sorted.example" }, { value: "C@sorted.example", primary: true }]],
      ["a", [{ value: "a@sorted.example", type: "home" }, { value: "y@sorted.example" }]],
    ];
    for (const [title, emails] of made) await scim.post("/Users", newScimUser({ title: `sort ${title}`, emails }));
    const filter = encodeURIComponent('title sw "sort "');
    for (const sortBy of ["emails", "emails.value", `${userUrn}:emails`])
      for (const [order, expected] of [["ascending", "abc"], ["descending", "cba"]]) {
        const { body } = await scim.get(`/Users?filter=${filter}&sortBy=${sortBy}&sortOrder=${order}`); // oxfmt-ignore
        const titles = body.Resources.map(({ title }: { title: string }) => title.slice(5)) as string[];
        expect(titles.join(""), `${sortBy} ${order}`).to.equal(expected);
        const first = (await scim.get(`/Users?filter=${filter}&sortBy=${sortBy}&sortOrder=${order}&cursor=&count=2`)).body;
        const second = (await scim.get(`/Users?filter=${filter}&sortBy=${sortBy}&sortOrder=${order}&cursor=${first.nextCursor}&count=2`)).body;
        expect([...first.Resources, ...second.Resources].map(({ title }) => title.slice(5)).join("")).to.equal(expected);
      } // oxfmt-ignore
    for (const sortBy of ["groups", "groups.value", "addresses", "name", "schemas"])
      expect((await scim.get(`/Users?sortBy=${sortBy}`)).body, sortBy).to.include({ scimType: "invalidPath" });
  });

  it("tell the location of what a failed bulk operation names", async () => {
    const { body: user } = await scim.post("/Users", newScimUser());
    const missing = newId();
    const operations = [
      { method: "DELETE", path: `/Users/${missing}` },
      { method: "PUT", path: `/Users/${user.id}`, data: { emails: [{}] } },
      { method: "PATCH", path: `/Groups/${missing}`, data: { Operations: [] } },
      { method: "PATCH", path: "/Users/bulkId:made", data: { Operations: [{ op: "remove" }] } },
      { method: "POST", path: "/Users", bulkId: "made", data: newScimUser() },
      { method: "PATCH", path: "/Users/bulkId:made", data: { Operations: [{ op: "remove" }] } },
      { method: "POST", path: "/Users", bulkId: "again", data: { userName: user.userName } },
    ];
    const { body } = await scim.post("/Bulk", { Operations: operations });
    const locations = body.Operations.map(({ location }: { location?: string }) => location);
    const base = `${w().app.services.config.accessUrl}/scim/v2`;
    const made = locations[4] as string;
    expect(locations).to.deep.equal([
      `${base}/Users/${missing}`,
      `${base}/Users/${user.id}`,
      `${base}/Groups/${missing}`,
      undefined,
      made,
      made,
      undefined,
    ]);
    expect(body.Operations.map(({ status }: { status: string }) => status)).to.deep.equal(
      ["404", "400", "404", "409", "201", "400", "409"], // oxfmt-ignore
    );
  });

  it("apply a bulk operation only to the version that it names", async () => {
    const { body: user } = await scim.post("/Users", newScimUser());
    const path = `/Users/${user.id}`;
    const { version } = user.meta;
    await scim.change(path, { op: "add", value: { title: "One" } });
    const { body: group } = await scim.post("/Groups", { displayName: "Bulk versions" });
    const Operations = [
      { method: "PUT", path, version, data: { ...user, title: "Two" } },
      { method: "PATCH", path, version, data: { Operations: [{ op: "add", value: { title: "Two" } }] } },
      { method: "DELETE", path, version },
      { method: "DELETE", path: `/Groups/${group.id}`, version: 'W/"99"' },
      { method: "DELETE", path: `/Groups/${group.id}`, version: group.meta.version },
    ];
    const { body } = await scim.post("/Bulk", { Operations });
    const statuses = body.Operations.map(({ status }: { status: string }) => status);
    expect(statuses).to.deep.equal(["412", "412", "412", "412", "204"]);
    expect((await scim.get(path)).body).to.include({ title: "One" });
  });

  it("name no kind of fault for a body that is too large", async () => {
    const many = Array.from({ length: 1001 }, () => ({ method: "DELETE", path: "/Users/x" }));
    const contract = await scimClient(w(), {}, "Authorizaiton");
    for (const answer of [
      await scim.post("/Bulk", { Operations: many }),
      await contract.post("/Bulk", { Operations: many }),
      await scim.post("/Users", newScimUser({ title: "x".repeat(4_200_000) })),
    ]) {
      expect(answer).to.include({ status: 413 });
      expect(answer.body).to.include({ status: "413" }).and.not.have.property("scimType");
    }
    const failure = await w()
      .as(w().owner)
      .failure("mutation($document: JSONObject!) { runScimBulk(input: { document: $document }) { __typename } }", {
        document: { Operations: many },
      });
    expect(failure.errors[0]!.extensions).to.not.have.property("scimType");
  });

  it("reject filters whose operator has no value, and users whose email is none", async () => {
    for (const filter of ["userName eq", "userName sw )", "emails[value co]", "title eq and active eq true"]) {
      const { status, body } = await scim.find("/Users", filter);
      expect([status, body.scimType], filter).to.deep.equal([400, "invalidFilter"]);
    }
    for (const value of ["", "nobody", "a@b@c", `${"x".repeat(300)}@example.com`]) {
      const { status, body } = await scim.post("/Users", newScimUser({ emails: [{ value, primary: true }] }));
      expect([status, body.scimType], value).to.deep.equal([400, "invalidValue"]);
    }
  });

  it("reject text that cannot be stored in filters, however it is written", async () => {
    const path = `/Users/${(await scim.post("/Users", newScimUser())).body.id}`;
    for (const text of ["\\ud800", "\\udc00x", "\\u0000", "a\\ud800\\ud800"]) {
      for (const filter of [`userName eq "${text}"`, `emails[value co "${text}"]`, `externalId ne "${text}"`, `title sw "${text}"`]) {
        const answers = [await scim.find("/Users", filter), await scim.post("/Users/.search", { filter }), await scim.post("/.search", { filter: `id eq "${text}"` })];
        for (const { status, body } of answers) expect([status, body.scimType], filter).to.deep.equal([400, "invalidFilter"]);
        const failure = await w().as(w().owner).failure("query($filter: String) { scimUsers(filter: $filter) { totalResults } }", { filter });
        expect(failure.errors[0]!.extensions, filter).to.include({ code: "BAD_USER_INPUT", scimType: "invalidFilter" });
      }
      for (const op of ["add", "remove", "replace"]) {
        const { status, body } = await scim.change(path, { op, path: `emails[type eq "${text}"].value`, value: "x@x.example" });
        expect([status, body.scimType], `${op} ${text}`).to.deep.equal([400, "invalidPath"]);
      }
    }
    expect(await scim.find("/Users", 'userName eq "\\ud83d\\ude00"')).to.include({ status: 200 });
  }); // oxfmt-ignore
});

describe("SCIM keys", () => {
  const w = shared();
  const owner = () => w().as(w().owner);

  it("count in the authorization header only, on every surface", async () => {
    const { secret } = await makeScimKey(w());
    const query = "{ scimUsers(count: 0) { totalResults } }";
    const send = (headers: Record<string, string>) => w().nobody.post("/graphql", { query }, headers);
    const accepted = await send({ Authorization: `Bearer ${secret}` });
    expect(accepted.body.data.scimUsers.totalResults).to.be.a("number");
    for (const headers of [
      { "Service-Session-Token": secret },
      { "Service-Session-Token": secret, Authorization: `Bearer ${secret}` },
    ])
      expect(await send(headers as Record<string, string>), JSON.stringify(headers)).to.include({ status: 401 });
    expect((await send({ "Service-Proxy-Token": secret })).status).to.equal(401);
    // Elsewhere, the contract's header is none.
    const ignored = await send({ Authorizaiton: secret });
    expect(ignored.body.errors[0].extensions).to.include({ code: "UNAUTHENTICATED" });
    expect(await w().nobody.get("/api/v2/groups", { "Service-Session-Token": secret })).to.include({ status: 401 });
  });

  it("open no socket by its first message", async () => {
    const { secret } = await makeScimKey(w());
    const connect = async (headers: Record<string, string>, sessionToken?: string) => {
      const socket = new WebSocket(`${w().url.replace("http", "ws")}/graphql`, "graphql-transport-ws", { headers });
      await once(socket, "open");
      const answered = Promise.race([
        once(socket, "message").then(([data]) => JSON.parse(String(data)).type as string),
        once(socket, "close").then(([code]) => code as number),
      ]);
      socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken } }));
      return answered.finally(() => socket.terminate());
    };
    expect(await connect({}, secret)).to.equal(4403);
    expect(await connect({ Authorization: `Bearer ${secret}` })).to.equal("connection_ack");
  });

  it("are listed page by page", async () => {
    const ids: string[] = [];
    for (const name of ["One", "Two", "Three"]) ids.push((await makeScimKey(w(), { name })).id);
    const list = async (args: string) =>
      (await owner().graphql(`{ scimKeys${args} { totalCount nodes { id } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`)).scimKeys; // oxfmt-ignore
    const named = (page: { nodes: Array<{ id: string }> }) => page.nodes.map(({ id }) => id);
    const all = await list("");
    expect(named(all).slice(-3)).to.deep.equal(ids);
    const total = named(all).length;
    expect(all.totalCount).to.equal(total);
    const listed: string[] = [];
    for (let after = ""; ;) {
      const page = await list(`(first: 2, after: "${after}")`);
      listed.push(...named(page));
      expect(page.totalCount).to.equal(total);
      if (!page.pageInfo.hasNextPage) break;
      after = page.pageInfo.endCursor;
    }
    expect(listed).to.deep.equal(named(all));
    expect(named(await list("(last: 2)"))).to.deep.equal(ids.slice(-2));
    expect(named(await list(`(after: "${ids[0]}")`))).to.deep.equal(ids.slice(1));
    expect(named(await list(`(before: "${ids[0]}")`))).to.deep.equal(named(all).slice(0, -3));
    expect(named(await list("(offset: 1, first: 1)"))).to.deep.equal([named(all)[1]]);
    const wrong = await owner().failure('{ scimKeys(first: -1, after: "nonsense!") { nodes { id } } }');
    expect(wrong.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.have.members([
      "first",
      "after",
    ]);
    const member = await w().user("member");
    expect((await w().as(member).failure("{ scimKeys { nodes { id } } }")).code).to.equal("FORBIDDEN");
  });
});

// SCIM 2.0: what the specification of the area accepts, in both dialects.
// Looks inside: a change waits for another one, and the number of users is summed up.
import { expect } from "chai";
import { audited } from "../support/audit.js";
import { runJob } from "../support/background.js";
import { newId } from "../support/ids.js";
import { contract, responseValidator } from "../contract/contract.js";
import { insertUsers } from "../support/crowds.js";
import { countRows } from "../support/tables.js";
import { countWaiting } from "../support/locks.js";
import { makeScimKey, newScimUser, ScimClient, scimClient } from "../support/scim.js";
import { trusting, Vendor } from "../support/licensing.js";
import { eventually } from "../support/watchers.js";
import { startServer } from "../support/app.js";
import { Client, sharedWorld, userPassword, world, type World } from "../support/world.js";

const errorUrn = "urn:ietf:params:scim:api:messages:2.0:Error";

const base = ({ app }: World) => `${app.services.config.accessUrl}/scim/v2`;

// A change that waits for another one waits for a sixth of the time of a request at most.
const shared = sharedWorld({ STEWARD_REQUEST_TIMEOUT: "5m" });

describe("SCIM in the dialect of the contract", () => {
  const w = shared();
  const check = (name: string, body: unknown) => {
    const accepts = responseValidator(name);
    expect(accepts(body), JSON.stringify([accepts.errors, body])).to.equal(true);
  };

  it("creates, lists, replaces, and patches users, and never finds one by id", async () => {
    const scim = await scimClient(w(), {}, "Authorizaiton");
    const user = newScimUser();
    const made = await scim.post("/Users", user);
    expect(made).to.include({ status: 200 });
    expect(made.headers.get("content-type")).to.equal("application/json; charset=utf-8");
    check("POST /scim/v2/Users", made.body);
    expect(made.body).to.include({ userName: user.userName, active: true });
    const path = `/Users/${made.body.id}`;

    const put = await scim.put(path, { ...user, active: false }, { Accept: "application/scim+json" });
    expect(put).to.include({ status: contract.get("PUT /scim/v2/Users/{id}")!.status });
    expect(put.headers.get("content-type")).to.equal("application/scim+json");
    check("PUT /scim/v2/Users/{id}", put.body);
    expect(put.body).to.include({ id: made.body.id, email: user.userName, status: "suspended", login_type: "oidc" });
    const patched = await scim.patch(path, { active: true });
    check("PATCH /scim/v2/Users/{id}", patched.body);
    expect(patched.body).to.include({ status: "active", username: put.body.username });
    const operations = await scim.change(path, { op: "replace", path: "active", value: false });
    expect(operations.body).to.include({ status: "suspended" });

    const known = await scim.get(path);
    const unknown = await scim.get(`/Users/${w().defaultOrganization}`);
    expect(known).to.include({ status: 404 });
    expect(known.body).to.deep.equal(unknown.body);
    const listed = await scim.find("/Users", `externalId eq "${user.externalId}"`);
    expect(listed.body).to.include({ totalResults: 1 });
    expect((await scim.get("/ServiceProviderConfig")).body.patch).to.deep.equal({ supported: true });
  });

  it("updates the user with the externalId or the email, and rejects a userName of another one", async () => {
    const scim = await scimClient(w(), {}, "Authorizaiton");
    const ada = newScimUser();
    const bob = newScimUser();
    const { body: made } = await scim.post("/Users", ada);
    const again = await scim.post("/Users", { ...ada, externalId: undefined, name: { familyName: "King" } });
    expect(again).to.include({ status: 200 });
    expect(again.body).to.deep.include({ id: made.id, name: { familyName: "King" } });
    await scim.post("/Users", bob);
    const taken = await scim.post("/Users", { ...ada, userName: bob.userName });
    expect(taken).to.include({ status: 409 });
    expect(taken.body.validations).to.deep.equal([
      { field: "userName", detail: "Another resource has this userName." },
    ]);
    expect(taken.body).to.not.have.property("schemas");
  });

  it("reports every fault of a user at its SCIM attribute", async () => {
    const scim = await scimClient(w(), {}, "Authorizaiton");
    const wrong = { ...newScimUser(), active: "yes", emails: [{ value: 5, primary: "maybe" }], name: "Ada" };
    const { status, body } = await scim.post("/Users", wrong);
    expect(status).to.equal(400);
    expect(body.validations.map(({ field }: { field: string }) => field)).to.have.members([
      "active",
      "emails[0].value",
      "emails[0].primary",
      "name",
    ]);
  });
});

describe("SCIM in the dialect of RFC 7644", () => {
  const w = shared();
  let scim: ScimClient;
  before(async () => {
    scim = await scimClient(w());
  });
  const create = async (more: Record<string, unknown> = {}) => (await scim.post("/Users", newScimUser(more))).body;

  it("creates a user with Location and ETag, once", async () => {
    const user = newScimUser();
    const made = await scim.post("/Users", user);
    expect(made).to.include({ status: 201 });
    expect(made.headers.get("content-type")).to.equal("application/scim+json");
    expect(made.headers.get("location")).to.equal(`${base(w())}/Users/${made.body.id}`);
    expect(made.headers.get("etag")).to.equal(made.body.meta.version);
    const again = await scim.post("/Users", user);
    expect(again).to.include({ status: 409 });
    expect(again.body).to.include({ status: "409", scimType: "uniqueness" });
    expect(again.body.schemas).to.deep.equal([errorUrn]);
    for (const same of [{ userName: user.userName.toUpperCase() }, { emails: user.emails }])
      expect(await scim.post("/Users", { ...newScimUser(), ...same })).to.include({ status: 409 });
  });

  it("takes a key as bearer token, alone, or as password, and nothing else", async () => {
    const { secret } = await makeScimKey(w());
    const { nobody, owner } = w();
    const get = (headers: Record<string, string>) => nobody.get("/scim/v2/Users?count=0", headers);
    const basic = Buffer.from(`okta:${secret}`).toString("base64");
    for (const Authorization of [`Bearer ${secret}`, secret, `Basic ${basic}`, `Bearer ${owner.token}`])
      expect(await get({ Authorization }), Authorization).to.include({ status: 200 });
    const refused = [{}, { Authorization: `Bearer ${secret}x` }, { "Service-Session-Token": owner.token }];
    for (const headers of [...refused, { Authorizaiton: "wrong", Authorization: `Bearer ${secret}` }]) {
      const { status, body, headers: sent } = await get(headers as Record<string, string>);
      expect(status, JSON.stringify(headers)).to.equal(401);
      expect(body).to.include({ status: "401" }).and.include.keys("schemas", "detail", "message");
      expect(sent.get("www-authenticate")).to.equal('Bearer realm="steward-scim"');
    }
    const member = await w().user("plain");
    expect(await get({ Authorization: `Bearer ${member.token}` })).to.include({ status: 403 });
    expect(await nobody.get("/api/v2/groups", { Authorization: `Bearer ${secret}` })).to.include({ status: 401 });
  });

  it("lets one of ten concurrent creations of a userName succeed", async () => {
    const user = newScimUser();
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) => scim.post("/Users", { ...user, externalId: `race-${n}` })),
    );
    expect(made.map(({ status }) => status)).to.have.members([201, ...Array<number>(9).fill(409)]);
    expect((await scim.find("/Users", `userName eq "${user.userName}"`)).body).to.include({ totalResults: 1 });
  });

  it("gives each of ten users with the same local part who are created concurrently a username of its own", async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) => scim.post("/Users", newScimUser({ userName: `same.part@${n}.example` }))),
    );
    expect(made.map(({ status }) => status)).to.deep.equal(Array<number>(10).fill(201));
    const search = `{ users(filter: { search: "same-part" }) { nodes { username } } }`;
    const { nodes } = (await w().as(w().owner).graphql(search)).users;
    const expected = ["same-part", ...Array.from({ length: 9 }, (_, n) => `same-part-${n + 2}`)];
    expect(nodes.map(({ username }) => username)).to.have.members(expected);
  });

  it("ends sessions and tokens of a suspended user, on every replica", async () => {
    const ada = await w().user("ada");
    const other = await startServer(w().database.url);
    try {
      const here = w().as(ada);
      const there = new Client(other.url, ada.token);
      for (const client of [here, there]) expect(await client.graphql("{ me { id } }")).to.be.an("object");
      expect(await scim.change(`/Users/${ada.id}`, { op: "replace", value: { active: "False" } })).to.include({
        status: 200,
      });
      for (const client of [here, there])
        await eventually(
          async () => (await client.post("/graphql", { query: "{ me { id } }" })).status === 401,
          "the session ends",
          1_000,
        );
      await scim.change(`/Users/${ada.id}`, { op: "replace", path: "active", value: true });
      expect(await here.post("/graphql", { query: "{ me { id } }" }), "ended sessions").to.include({ status: 401 });
      await w().login(ada.email, userPassword);
    } finally {
      await other.close();
    }
  });

  it("applies all operations of a change, or none", async () => {
    const { id, meta } = await create();
    const wrong = await scim.change(
      `/Users/${id}`,
      { op: "add", path: "title", value: "Countess" },
      { op: "replace", path: "active", value: false },
      { op: "replace", path: "active", value: "perhaps" },
    );
    expect(wrong).to.include({ status: 400 });
    expect(wrong.body).to.include({ scimType: "invalidValue" });
    const { body } = await scim.get(`/Users/${id}`);
    expect(body).to.include({ active: true }).and.not.have.property("title");
    expect(body.meta).to.deep.equal(meta);
  });

  it("writes nothing, and records nothing, where nothing changes", async () => {
    const user = newScimUser({ title: "Countess" });
    const { body } = await scim.post("/Users", user);
    const before = await audited(w(), { resourceId: body.id });
    expect((await scim.put(`/Users/${body.id}`, user)).body).to.deep.equal(body);
    expect((await scim.change(`/Users/${body.id}`, { op: "add", value: { title: "Countess" } })).body).to.deep.equal(
      body,
    );
    expect(await audited(w(), { resourceId: body.id })).to.have.length(before.length);
  });

  it("compares versions: 412 for a stale If-Match, 304 for a current If-None-Match", async () => {
    const { id, meta } = await create();
    const path = `/Users/${id}`;
    const same = await scim.get(path, { "If-None-Match": meta.version });
    expect(same).to.include({ status: 304, body: "" });
    expect(same.headers.get("etag")).to.equal(meta.version);
    const put = await scim.put(path, newScimUser(), { "If-Match": meta.version });
    expect(put).to.include({ status: 200 });
    expect(put.headers.get("etag")).to.not.equal(meta.version);
    for (const stale of [
      await scim.put(path, newScimUser(), { "If-Match": meta.version }),
      await scim.patch(path, { Operations: [] }, { "If-Match": meta.version }),
      await scim.delete(path, { "If-Match": meta.version }),
    ]) {
      expect(stale).to.include({ status: 412 });
      expect(stale.body).to.include({ status: "412" });
    }
    expect(await scim.get(path, { "If-None-Match": meta.version })).to.include({ status: 200 });
    expect(await scim.patch(path, { Operations: [] }, { "If-Match": "*" })).to.include({ status: 200 });
  });

  it("raises the version with every change of the account and of memberships, by any caller", async () => {
    const { id, meta } = await create();
    await w()
      .as(w().owner)
      .graphql(`mutation { updateUser(input: { user: "${id}", name: "Someone Else" }) { user { id } } }`);
    const { body } = await scim.get(`/Users/${id}`);
    expect(body.meta.version).to.not.equal(meta.version);
    expect(body.name).to.deep.equal({ formatted: "Someone Else", givenName: "Someone", familyName: "Else" });
    const group = await w().group();
    const before = (await scim.get(`/Groups/${group.id}`)).body.meta.version;
    await w()
      .as(w().owner)
      .patch(`/api/v2/groups/${group.id}`, { add_users: [id] });
    const after = (await scim.get(`/Groups/${group.id}`)).body;
    expect(after.meta.version).to.not.equal(before);
    expect(after.members.map(({ value }: { value: string }) => value)).to.deep.equal([id]);
  });

  /** Creates a user as an administrator. Returns the code of the error, if there is one. */
  const createUser = async (username: string) => {
    const input = { email: `${username}@names.example`, username, name: "", loginType: "NONE" };
    const mutation = "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }";
    const { body } = await w().as(w().owner).post("/graphql", { query: mutation, variables: { input } });
    return body.errors?.[0].extensions.code as string | undefined;
  };
  const renameTo = (id: string, value: string) =>
    scim.change(`/Users/${id}`, { op: "replace", path: "userName", value });

  it("never gives two users one userName, be it a username or that of a link", async () => {
    const { id } = await create({ userName: "collision" });
    // An administrator changes the username: the userName stays.
    await w()
      .as(w().owner)
      .graphql(`mutation { updateUser(input: { user: "${id}", username: "elsewhere" }) { user { id } } }`);
    expect((await scim.get(`/Users/${id}`)).body.userName).to.equal("collision");
    expect(await createUser("Collision")).to.equal("CONFLICT");
    const races = await Promise.all(
      Array.from({ length: 10 }, async (_, nr) => {
        const name = `raced-${nr}`;
        const user = await create();
        const [renamed, made] = await Promise.all([renameTo(user.id, name), createUser(name)]);
        return [renamed.status === 200, made === undefined].filter(Boolean).length;
      }),
    );
    expect(races).to.deep.equal(Array<number>(10).fill(1));
  });

  it("rejects a new userName if a user with this username is created while the change waits", async () => {
    const { id, userName } = await create();
    const { pool } = w().app.services.database;
    const connection = await pool.connect();
    try {
      await connection.query("begin");
      await connection.query("select free_username('awaited', '{awaited}', null)");
      const renaming = renameTo(id, "awaited");
      await eventually(async () => (await countWaiting(pool)) === 1, "the change waits");
      expect(await createUser("awaited")).to.equal(undefined);
      await connection.query("commit");
      const { status, body } = await renaming;
      expect({ status, scimType: body.scimType }).to.deep.equal({ status: 409, scimType: "uniqueness" });
    } finally {
      // Not for others: it may still hold its lock.
      connection.release(true);
    }
    expect((await scim.get(`/Users/${id}`)).body.userName).to.equal(userName);
    expect((await scim.find("/Users", 'userName eq "awaited"')).body).to.include({ totalResults: 1 });
  });

  it("derives usernames from userNames, and follows changes", async () => {
    await w()
      .as(w().owner)
      .graphql(
        `mutation { createUser(input: { email: "x@jane.example", username: "Jane-Doe", isServiceAccount: true }) { user { id } } }`,
      );
    const names = ["Jane.Doe@corp.example", "jäné_döe@corp.example", "new@corp.example", "日本@corp.example"];
    const usernames: string[] = [];
    for (const userName of names) {
      const { id, userName: stored } = await create({
        userName,
        emails: [{ value: `mail-${usernames.length}@x.example` }],
      });
      expect(stored).to.equal(userName);
      const { user } = await w().as(w().owner).graphql(`{ user(user: "${id}") { username } }`);
      usernames.push(user.username);
    }
    expect(usernames).to.deep.equal(["Jane-Doe-2", "jane-doe-3", "mail-2", "mail-3"]);
    const { id } = await create();
    const changed = await scim.change(`/Users/${id}`, { op: "replace", path: "userName", value: "grace@corp.example" });
    expect(changed.body).to.include({ userName: "grace@corp.example" });
    expect((await w().as(w().owner).graphql(`{ user(user: "${id}") { username } }`)).user.username).to.equal("grace");
  });

  it("keeps what PUT leaves out of userName, emails, and active, and clears the rest", async () => {
    const user = newScimUser({ title: "Countess", nickName: "Ada", displayName: "The Countess" });
    const { body } = await scim.post("/Users", user);
    const put = await scim.put(`/Users/${body.id}`, { nickName: "Enchantress" });
    expect(put.body).to.deep.include({ userName: user.userName, active: true, emails: body.emails });
    expect(put.body).to.include({ nickName: "Enchantress" });
    expect(put.body).to.not.have.any.keys("title", "name", "displayName", "externalId");
  });

  it("deletes a user by hiding it, and revives it under the same id", async () => {
    const user = newScimUser();
    const { body } = await scim.post("/Users", user);
    const total = async () => (await scim.get("/Users?count=0")).body.totalResults as number;
    const before = await total();
    expect(await scim.delete(`/Users/${body.id}`)).to.include({ status: 204, body: "" });
    expect(await total()).to.equal(before - 1);
    expect(await scim.get(`/Users/${body.id}`)).to.include({ status: 404 });
    expect(await scim.delete(`/Users/${body.id}`)).to.include({ status: 404 });
    expect((await scim.find("/Users", `id eq "${body.id}"`)).body).to.include({ totalResults: 0 });
    const account = await w().as(w().owner).graphql(`{ user(user: "${body.id}") { status scim { deprovisionedAt } } }`);
    expect(account.user.status).to.equal("SUSPENDED");
    expect(account.user.scim[0]!.deprovisionedAt).to.be.a("string");
    const { userName, emails } = newScimUser();
    const revived = await scim.post("/Users", { ...user, userName, emails });
    expect(revived).to.include({ status: 201 });
    expect(revived.body).to.deep.include({ id: body.id, userName, emails, active: true });
  });

  it("keeps the links of sources apart", async () => {
    const one = await scimClient(w(), { source: "one" });
    const two = await scimClient(w(), { source: "two" });
    const ada = newScimUser({ externalId: "7" });
    const bob = newScimUser({ externalId: "7" });
    const made = await one.post("/Users", ada);
    expect(await two.post("/Users", bob)).to.include({ status: 201 });
    const rival = await one.post("/Users", { ...newScimUser(), externalId: "7" });
    expect(rival.body).to.include({ status: "409", scimType: "uniqueness" });
    // The other source adopts the user, who keeps its userName for both.
    const [found] = (await two.find("/Users", `userName eq "${ada.userName}"`)).body.Resources;
    expect(found.id).to.equal(made.body.id);
    expect(found).to.not.have.property("externalId");
    const adopted = await two.change(`/Users/${found.id}`, { op: "add", value: { externalId: "8", title: "Dr" } });
    expect(adopted.body).to.include({ externalId: "8", title: "Dr", userName: ada.userName });
    const seen = (await one.get(`/Users/${found.id}`)).body;
    expect(seen).to.include({ externalId: "7", userName: ada.userName }).and.not.have.property("title");
  });

  it("runs bulk operations in order, with references, and stops after failures", async () => {
    const operations = [
      { method: "POST", path: "/Groups", bulkId: "g", data: { displayName: "Bulk", members: [{ value: "bulkId:u" }] } },
      { method: "POST", path: "/Users", bulkId: "u", data: newScimUser() },
      { method: "POST", path: "/Groups", bulkId: "h", data: { displayName: "Bulk", members: [{ value: "bulkId:u" }] } },
      { method: "PATCH", path: "/Users/bulkId:u", data: { Operations: [{ op: "add", value: { title: "Dr" } }] } },
    ];
    const { status, body } = await scim.post("/Bulk", { Operations: operations });
    expect(status).to.equal(200);
    const results = body.Operations as Array<{ status: string; location: string; response?: { status: string } }>;
    expect(results.map((each) => each.status)).to.deep.equal(["409", "201", "201", "200"]);
    expect(results[0]!.response).to.include({ status: "409" });
    const [, user, group] = results.map(({ location }) => location?.replace(base(w()), ""));
    expect((await scim.get(group!)).body.members[0].$ref).to.equal(results[1]!.location);
    expect((await scim.get(user!)).body).to.include({ title: "Dr" });

    const failing = { failOnErrors: 1, Operations: [operations[0], { method: "DELETE", path: user }] };
    expect((await scim.post("/Bulk", failing)).body.Operations).to.have.length(1);
    expect(await scim.get(user!)).to.include({ status: 200 });
    const many = Array.from({ length: 1001 }, () => ({ method: "DELETE", path: "/Users/x" }));
    expect(await scim.post("/Bulk", { Operations: many })).to.include({ status: 413 });
  });

  it("touches accounts with a role in the deployment only to suspend them, and never the last owner", async () => {
    const auditor = await w().user("auditor");
    await w().grant(auditor, "auditor");
    const path = `/Users/${auditor.id}`;
    for (const value of [{ userName: "other" }, { "name.formatted": "Other" }, { emails: [{ value: "o@x.example" }] }])
      expect(await scim.change(path, { op: "replace", value }), JSON.stringify(value)).to.include({ status: 403 });
    expect((await scim.change(path, { op: "replace", value: { title: "Dr", roles: ["owner"] } })).body.title).to.equal(
      "Dr",
    );
    expect((await scim.change(path, { op: "replace", path: "active", value: false })).body.active).to.equal(false);
    expect(await scim.delete(path)).to.include({ status: 204 });
    const last = await scim.change(`/Users/${w().owner.id}`, { op: "replace", path: "active", value: false });
    expect(last).to.include({ status: 409 });
    expect(await scim.delete(`/Users/${w().owner.id}`)).to.include({ status: 409 });
    const { user } = await w().as(w().owner).graphql(`{ user(user: "${auditor.id}") { roles { name } } }`);
    expect(user.roles).to.deep.equal([{ name: "AUDITOR" }]);
  });

  it("manages only groups of the organizations of the key, and never Everyone", async () => {
    const elsewhere = await w().organization();
    const group = await w().group(undefined, { organization: elsewhere.id });
    const inside = await scimClient(w(), { organizationIds: [elsewhere.id] });
    expect(await inside.get(`/Groups/${group.id}`)).to.include({ status: 200 });
    for (const [id, client] of [
      [group.id, scim],
      [elsewhere.id, inside],
      [w().defaultOrganization, scim],
    ] as const) {
      expect(await client.get(`/Groups/${id}`)).to.include({ status: 404 });
      expect(await client.put(`/Groups/${id}`, { displayName: "x" })).to.include({ status: 404 });
      expect(await client.delete(`/Groups/${id}`)).to.include({ status: 404 });
    }
    expect(await scim.post("/Groups", { displayName: "eVERYONE" })).to.include({ status: 409 });
    const { body: user } = await inside.post("/Users", newScimUser());
    const { body: made } = await scim.post("/Groups", { displayName: "Joined", members: [{ value: user.id }] });
    const rename = { op: "replace", path: "displayName", value: "everyone" };
    expect(await scim.change(`/Groups/${made.id}`, rename)).to.include({ status: 409 });
    expect(await scim.put(`/Groups/${made.id}`, { displayName: "Everyone" })).to.include({ status: 409 });
    const { organizationIds } = (await w().as(w().owner).graphql(`{ user(user: "${user.id}") { organizationIds } }`))
      .user;
    expect(organizationIds).to.have.members([elsewhere.id, w().defaultOrganization]);
    expect((await scim.get(`/Users/${user.id}`)).body.groups).to.deep.equal([
      { value: made.id, $ref: `${base(w())}/Groups/${made.id}`, display: "Joined", type: "direct" },
    ]);
  });

  it("changes members one by one, without losing any to concurrent changes", async () => {
    const users = await Promise.all(Array.from({ length: 8 }, async () => (await create()).id as string));
    const { body: group } = await scim.post("/Groups", { displayName: "Crowd", externalId: "crowd" });
    const path = `/Groups/${group.id}`;
    const added = await Promise.all(
      users.map((value) => scim.change(path, { op: "Add", path: "members", value: [{ value }] })),
    );
    expect(added.map(({ status }) => status)).to.deep.equal(Array<number>(8).fill(204));
    const members = async () =>
      ((await scim.get(path)).body.members ?? []).map(({ value }: { value: string }) => value) as string[];
    expect(await members()).to.have.members(users);
    await scim.change(
      path,
      { op: "remove", path: `members[value eq "${users[0]}"]` },
      { op: "add", path: "members", value: { value: users[1] } },
    );
    await scim.change(path, { op: "Remove", path: "members", value: [{ $ref: null, value: users[1] }] });
    expect(await members()).to.have.members(users.slice(2));
    const wrong = await scim.change(
      path,
      { op: "remove", path: "members" },
      { op: "add", path: "members", value: [{ value: group.id }] },
    );
    expect(wrong.body).to.include({ status: "400", scimType: "invalidValue" });
    expect(await members()).to.have.members(users.slice(2));
    const typed = await scim.change(path, { op: "add", path: "members", value: [{ value: users[0], type: "Group" }] });
    expect(typed).to.include({ status: 400 });
    await scim.put(path, { displayName: "Crowd", members: users.slice(0, 2).map((value) => ({ value })) });
    expect(await members()).to.have.members(users.slice(0, 2));
    await scim.change(path, { op: "remove", path: "members" });
    expect(await members()).to.deep.equal([]);
    expect((await scim.get(path)).body).to.not.have.property("externalId");
  });

  it("lists each of many users once, on pages by index and by cursor, while others are added", async () => {
    const ids = Array.from({ length: 2500 }, newId);
    await insertUsers(
      w(),
      ids.map((id) => ({
        id,
        email: `${id}@x.example`,
        username: id.replaceAll("-", "").slice(0, 32),
        login_type: "none",
      })),
    );
    const collect = async (next: (at: number, cursor: string) => string) => {
      const listed: string[] = [];
      for (let [at, cursor] = [1, ""]; ; at += 100) {
        const { body } = await scim.get(`/Users?count=100&attributes=userName&${next(at, cursor)}`);
        listed.push(...body.Resources.map(({ id }: { id: string }) => id));
        if (at % 500 === 1) await create();
        cursor = body.nextCursor ?? "";
        if (body.Resources.length < 100) return listed;
      }
    };
    for (const listed of [
      await collect((at) => `startIndex=${at}`),
      await collect((_, cursor) => `cursor=${cursor}`),
    ]) {
      expect(new Set(listed).size).to.equal(listed.length);
      expect(listed).to.include.members(ids);
    }
  });

  it("binds cursors to their query, and lets them expire", async () => {
    const { body } = await scim.get("/Users?cursor=&count=1");
    expect(body).to.not.have.property("startIndex");
    const use = async (query: string) => (await scim.get(`/Users?${query}`)).body;
    expect(await use(`cursor=${body.nextCursor}&count=1`)).to.include({ totalResults: body.totalResults });
    for (const query of [
      `cursor=${body.nextCursor}&count=2`,
      `cursor=${body.nextCursor}x&count=1`,
      `cursor=${body.nextCursor}&count=1&filter=active%20eq%20true`,
      `cursor=${body.nextCursor}&count=1&startIndex=2`,
      "cursor=nonsense",
    ])
      expect(await use(query), query).to.include({ status: "400", scimType: "invalidCursor" });
    const { config } = w().app.services;
    const { scimCursorTtl } = config;
    Object.assign(config, { scimCursorTtl: -1 });
    expect(await use(`cursor=${body.nextCursor}&count=1`)).to.include({ scimType: "expiredCursor" });
    Object.assign(config, { scimCursorTtl });
  });

  it("clamps pages, and rejects parameters of other types", async () => {
    const get = async (query: string) => (await scim.get(`/Users?${query}`)).body;
    expect(await get("startIndex=-4&count=-1")).to.deep.include({ startIndex: 1, itemsPerPage: 0, Resources: [] });
    expect(await get("startIndex=100000")).to.deep.include({ itemsPerPage: 0, Resources: [] });
    expect((await get("count=2000")).itemsPerPage).to.equal(1000);
    for (const query of ["count=x", "startIndex=1.5", "count=99999999999"])
      expect(await get(query), query).to.include({ status: "400", scimType: "invalidValue" });
    expect(await get("sortBy=nothing")).to.include({ status: "400", scimType: "invalidPath" });
    const names = (await get("sortBy=userName&sortOrder=descending&count=5")).Resources.map(
      ({ userName }: { userName: string }) => userName.toLowerCase(),
    );
    expect(names).to.deep.equal(names.toSorted((one: string, other: string) => (one < other ? 1 : -1)));
  });

  it("selects attributes, with or without URN, and always returns id and schemas", async () => {
    const { id } = await create({
      title: "Dr",
      "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { department: "R&D", manager: "7" },
    });
    const get = async (query: string) => (await scim.get(`/Users/${id}?${query}`)).body;
    expect(await get("attributes=USERNAME,name.familyName")).to.have.all.keys("schemas", "id", "userName", "name");
    const urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
    expect((await get(`attributes=${urn}:department`))[urn]).to.deep.equal({ department: "R&D" });
    expect((await get(`attributes=${urn}`))[urn]).to.deep.equal({ department: "R&D", manager: { value: "7" } });
    const rest = await get("excludedAttributes=title,emails.type,id,schemas,meta");
    expect(rest).to.include.keys("id", "schemas", "userName").and.not.have.any.keys("title", "meta");
    expect(rest.emails[0]).to.have.all.keys("value", "primary");
  });

  it("describes itself", async () => {
    const config = (await w().nobody.get("/scim/v2/ServiceProviderConfig")).body;
    for (const feature of ["patch", "bulk", "filter", "sort", "etag"]) expect(config[feature].supported).to.equal(true);
    expect(config.pagination).to.include({ cursor: true, index: true, defaultPaginationMethod: "index" });
    const { body } = await w().nobody.get("/scim/v2/Schemas");
    expect(body.Resources.map(({ name }: { name: string }) => name)).to.deep.equal(["User", "EnterpriseUser", "Group"]);
    expect((await w().nobody.get(`/scim/v2/Schemas/${body.Resources[0].id}`)).body).to.deep.equal(body.Resources[0]);
    expect((await w().nobody.get("/scim/v2/ResourceTypes/group")).body).to.include({ endpoint: "/Groups" });
    expect(await w().nobody.get("/scim/v2/Schemas/urn:none")).to.include({ status: 404 });
    expect(await w().nobody.get("/scim/v2/Schemas?filter=name%20pr")).to.include({ status: 403 });
  });

  it("responds to other methods, paths, and media types in its own form", async () => {
    for (const [method, path, status, allow] of [
      ["PUT", "/Users", 405, "GET, HEAD, POST"],
      ["GET", "/Nothing", 404, null],
      ["GET", "/Me", 501, null],
    ] as const) {
      const answer = await scim.request(method, path);
      expect(answer, path).to.include({ status });
      expect(answer.body).to.include({ status: String(status) });
      expect(answer.headers.get("content-type")).to.equal("application/scim+json");
      expect(answer.headers.get("allow")).to.equal(allow);
    }
    expect(await scim.post("/Users", "x=1", { "Content-Type": "text/plain" })).to.include({ status: 415 });
    const broken = await scim.post("/Users", "{", { "Content-Type": "application/json; charset=utf-8" });
    expect(broken.body).to.include({ status: "400", scimType: "invalidSyntax" });
    expect((await scim.get("/Users/?aadOptscim062020&count=1")).body.itemsPerPage).to.equal(1);
    expect((await scim.post("/Users/.search", { count: 1, attributes: ["userName"] })).body.itemsPerPage).to.equal(1);
    const all = (await scim.post("/.search", { filter: 'meta.resourceType eq "Group"', count: 1 })).body;
    expect(all.Resources[0].meta.resourceType).to.equal("Group");
    expect(await scim.get("/Users/not-a-uuid")).to.include({ status: 404 });
  });

  it("records changes with the key and its source, and never passwords", async () => {
    const { id: key, secret } = await makeScimKey(w(), { source: "okta" });
    const client = new ScimClient(w().nobody, secret);
    const { body } = await client.post("/Users", newScimUser({ password: "hush-hush-hush" }));
    await client.change(`/Users/${body.id}`, { op: "add", value: { title: "Dr", password: "hush-hush-hush" } });
    const events = await audited(w(), { resourceId: body.id });
    expect(events.map(({ action }) => action)).to.deep.equal(["CREATE", "UPDATE"]);
    for (const event of events) {
      expect(event).to.include({ actorKind: "scim_key", apiKeyId: key });
      expect(event.diff).to.deep.include({ source: { new: "okta" } });
    }
    expect(JSON.stringify([events, body])).to.not.include("hush");
  });

  it("responds to each write with what a read returns", async () => {
    const member = await create();
    const user = await create();
    const { body: group } = await scim.post("/Groups", { displayName: "Shown" });
    const people = `/Groups/${group.id}`;
    const writes = [
      () =>
        scim.post(
          "/Users",
          newScimUser({ title: "Dr", photos: [{ value: "https://x.example/a.png" }], active: false }),
        ),
      () => scim.put(`/Users/${user.id}`, { userName: "shown@x.example", name: { formatted: "S. Hown" } }),
      () => scim.change(`/Users/${user.id}`, { op: "add", value: { displayName: "Other", active: false } }),
      () => scim.change(`/Users/${user.id}`, { op: "replace", path: "userName", value: "shown-2@x.example" }),
      () => scim.post("/Groups", { displayName: "Shown, too", externalId: "x", members: [{ value: member.id }] }),
      () => scim.put(people, { displayName: "Shown again", members: [{ value: member.id }] }),
      () => scim.put(people, { displayName: "Shown again", members: [{ value: user.id }] }),
      () => scim.change(`${people}?excludedAttributes=x`, { op: "remove", path: "members" }),
    ];
    for (const [nr, write] of writes.entries()) {
      const { status, body, headers } = await write();
      expect(status, `write ${nr}`).to.be.oneOf([200, 201]);
      const read = await scim.get(new URL(body.meta.location).pathname.replace("/scim/v2", ""));
      expect(read.headers.get("etag"), `version of write ${nr}`).to.equal(headers.get("etag"));
      expect(body, `body of write ${nr}`).to.deep.equal({ ...read.body });
    }
  });

  it("counts all users exactly, before and after the changes of their number are summed up", async () => {
    const count = async () => (await scim.get("/Users?count=3")).body.totalResults as number;
    const all = () => countRows(w(), "users", { deleted_at: null, is_system: false });
    const before = await count();
    // Users that the source deleted.
    const hidden = (await all()) - before;
    const [gone] = await w().users("gone", "kept");
    await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(await count()).to.equal(before + 22);
    await w().as(w().owner).graphql(`mutation { deleteUser(input: { user: "${gone!.id}" }) { __typename } }`);
    expect(await count()).to.equal(before + 21);
    await Promise.all([runJob(w().app, "userCountJob"), runJob(w().app, "userCountJob"), create()]);
    // The server may be running the same job, whose sum the other run leaves beside its own.
    await eventually(async () => {
      await runJob(w().app, "userCountJob");
      return (await countRows(w(), "user_counts")) === 1;
    }, "one sum is left");
    expect(await count()).to.equal(before + 22);
    expect(await count()).to.equal((await all()) - hidden);
  });
});

describe("SCIM that does not change usernames", () => {
  const w = world({ STEWARD_SCIM_FOLLOW_USERNAME: "false" });

  it("gives users other userNames, but none by which another user is known", async () => {
    const scim = await scimClient(w());
    const bob = await w().user("bob");
    const first = newScimUser({ userName: "first" });
    const second = newScimUser({ userName: "second" });
    const { id } = (await scim.post("/Users", first)).body;
    await scim.post("/Users", second);
    const rename = (value: string) => scim.change(`/Users/${id}`, { op: "replace", path: "userName", value });
    expect((await rename("Third@corp.example")).body).to.include({ userName: "Third@corp.example" });
    for (const taken of [bob.username.toUpperCase(), "Second"])
      expect((await rename(taken)).body, taken).to.include({ status: "409", scimType: "uniqueness" });
    expect((await scim.get(`/Users/${id}`)).body).to.include({ userName: "Third@corp.example" });
    expect(await w().as(w().owner).graphql(`{ user(user: "${id}") { username } }`)).to.deep.equal({
      user: { username: "first" },
    });
  });
});

describe("SCIM that is switched off", () => {
  const off = world({ STEWARD_SCIM_ENABLED: "false" });

  it("does not exist", async () => {
    expect(await off().nobody.get("/scim/v2/ServiceProviderConfig")).to.include({ status: 404 });
    expect(await off().nobody.get("/scim/v2/Users")).to.include({ status: 404 });
  });
});

describe("SCIM that is not licensed", () => {
  const w = world(trusting(new Vendor()));

  it("authenticates, and then names the missing feature; it still describes itself", async () => {
    const get = (headers?: Record<string, string>) => w().nobody.get("/scim/v2/Users", headers);
    expect(await get()).to.include({ status: 401 });
    const { status, body } = await get({ Authorization: `Bearer ${w().owner.token}` });
    expect([status, body.status]).to.deep.equal([403, "403"]);
    expect(body.detail).to.include("scim");
    expect(await w().nobody.get("/scim/v2/ServiceProviderConfig")).to.include({ status: 200 });
  });
});

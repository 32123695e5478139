// The requests that identity providers send, as they document them, replayed in order.
import { expect } from "chai";
import { type ScimClient, scimClient } from "./support/scim.js";
import { type Answer, sharedWorld } from "./support/world.js";

const userUrn = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterpriseUrn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const patchUrn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const groupUrn = "urn:ietf:params:scim:schemas:core:2.0:Group";

/** Expects a status and the media type of SCIM, and returns the body. */
function accepted(answer: Answer, status: number) {
  expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
  if (status !== 204) expect(answer.headers.get("content-type")).to.equal("application/scim+json");
  return answer.body;
}

const shared = sharedWorld();

describe("SCIM with Okta", () => {
  const w = shared();
  let okta: ScimClient;
  const login = "Runscope300Abc@atko.example";
  const user = {
    schemas: [userUrn],
    userName: login,
    name: { givenName: "Runscope", familyName: "Abc" },
    emails: [{ primary: true, value: login, type: "work" }],
    displayName: "Runscope Abc",
    locale: "en-US",
    externalId: "00ujl29u0le5T6Aj10h7",
    groups: [],
    password: "1mz050nq",
    active: true,
  };
  let id: string;

  before(async () => {
    okta = await scimClient(w(), { source: "okta" });
  });

  it("finds users with names and addresses, before it has created any", async () => {
    const { Resources, ...list } = accepted(await okta.get("/Users?count=1&startIndex=1"), 200);
    expect(list).to.include({ itemsPerPage: 1, startIndex: 1 });
    expect(Resources[0]).to.include.keys("id", "userName", "active", "meta");
    expect(Resources[0].name).to.include.keys("familyName", "givenName");
    expect(Resources[0].emails[0].value).to.include("@");
    expect(accepted(await okta.get(`/Users/${Resources[0].id}`), 200).id).to.equal(Resources[0].id);
  });

  it("is told that a user is unknown: by userName, and by id", async () => {
    const filter = encodeURIComponent(`userName eq "${login}"`);
    const found = accepted(await okta.get(`/Users?filter=${filter}&startIndex=1&count=100`), 200);
    expect(found).to.deep.include({ totalResults: 0, Resources: [] });
    expect(found.schemas).to.deep.equal(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]);
    const unknown = accepted(await okta.get("/Users/010101001010101011001010101011"), 404);
    expect(unknown).to.include({ status: "404" }).and.include.keys("schemas", "detail");
  });

  it("creates the user with every attribute, once", async () => {
    const made = accepted(await okta.post("/Users", user), 201);
    id = made.id;
    const { groups: _, password: _password, ...kept } = user;
    expect(made).to.deep.include(kept).and.not.have.any.keys("password", "groups");
    accepted(await okta.post("/Users", user), 409);
  });

  it("finds the user by its userName in any letter case", async () => {
    for (const name of [login, login.toUpperCase(), login.toLowerCase()])
      expect(accepted(await okta.find("/Users", `userName eq "${name}"`), 200).Resources[0].id).to.equal(id);
  });

  it("updates the user by PUT, and suspends it with everything sent", async () => {
    const before = accepted(await okta.get(`/Users/${id}`), 200);
    const renamed = { ...before, name: { givenName: "Another", familyName: "Abc" }, displayName: "Another Abc" };
    expect(accepted(await okta.put(`/Users/${id}`, renamed), 200).name.givenName).to.equal("Another");
    const off = accepted(await okta.put(`/Users/${id}`, { ...renamed, active: false, groups: [{ value: id }] }), 200);
    expect(off).to.include({ active: false }).and.not.have.property("groups");
  });

  it("activates and suspends by a change without path", async () => {
    for (const active of [true, false, true]) {
      const change = { schemas: [patchUrn], Operations: [{ op: "replace", value: { active } }] };
      expect(accepted(await okta.patch(`/Users/${id}`, change), 200)).to.include({ active });
    }
  });

  it("assigns the user again after it was unassigned: the same person comes back", async () => {
    const change = { schemas: [patchUrn], Operations: [{ op: "replace", value: { active: false } }] };
    expect(accepted(await okta.patch(`/Users/${id}`, change), 200)).to.include({ active: false });
    const again = { ...user, name: { givenName: "Runscope", familyName: "Married" } };
    const back = accepted(await okta.post("/Users", again), 201);
    expect(back).to.deep.include({ id, active: true, name: again.name });
    accepted(await okta.post("/Users", again), 409);
  });

  it("pushes a group: creation, new name with id, members, and removal", async () => {
    const other = accepted(
      await okta.post("/Users", {
        ...user,
        userName: "other@atko.example",
        externalId: "00u2",
        emails: [{ value: "other@atko.example", primary: true }],
      }),
      201,
    ).id;
    const found = accepted(await okta.find("/Groups", 'displayName eq "Test SCIMv2"'), 200);
    expect(found).to.deep.include({ totalResults: 0, Resources: [] });
    const group = accepted(
      await okta.post("/Groups", { schemas: [groupUrn], displayName: "Test SCIMv2", members: [] }),
      201,
    );
    const path = `/Groups/${group.id}`;
    accepted(
      await okta.patch(path, {
        schemas: [patchUrn],
        Operations: [{ op: "replace", value: { id: group.id, displayName: "Test SCIMv0" } }],
      }),
      204,
    );
    accepted(
      await okta.patch(path, {
        schemas: [patchUrn],
        Operations: [{ op: "add", path: "members", value: [{ value: id, display: login }] }],
      }),
      204,
    );
    accepted(
      await okta.patch(path, {
        schemas: [patchUrn],
        Operations: [
          { op: "remove", path: `members[value eq "${id}"]` },
          { op: "add", path: "members", value: [{ value: other, display: "other@atko.example" }] },
        ],
      }),
      204,
    );
    const read = accepted(await okta.get(path), 200);
    expect(read.displayName).to.equal("Test SCIMv0");
    expect(read.members.map(({ value }: { value: string }) => value)).to.deep.equal([other]);
    accepted(
      await okta.patch(path, {
        schemas: [patchUrn],
        Operations: [{ op: "replace", path: "members", value: [{ value: id }] }],
      }),
      204,
    );
    expect(accepted(await okta.get(path), 200).members[0].value).to.equal(id);
    const listed = accepted(await okta.get("/Groups?startIndex=1&count=100"), 200);
    expect(listed.Resources.find((each: { id: string }) => each.id === group.id)).to.not.have.property("members");
    accepted(await okta.delete(path), 204);
    accepted(await okta.delete(path), 404);
  });

  it("is rejected with a wrong token", async () => {
    const body = accepted(await okta.get("/Users", { Authorization: "12345678" }), 401);
    expect(body).to.include({ status: "401" });
  });
});

describe("SCIM with Entra ID", () => {
  const w = shared();
  let entra: ScimClient;
  const id = "Test_User_fd0ea19b";
  const email = `${id}@testuser.example`;
  const user = {
    schemas: [userUrn, enterpriseUrn, "urn:ietf:params:scim:schemas:extension:Microsoft:Entra:2.0:User"],
    externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    userName: id,
    active: true,
    emails: [{ primary: true, type: "work", value: email }],
    meta: { resourceType: "User" },
    name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
    roles: [],
    [enterpriseUrn]: { department: "R&D", manager: "f3b2a1" },
    "urn:ietf:params:scim:schemas:extension:Microsoft:Entra:2.0:User": { tag: "x" },
  };
  let path: string;
  const change = async (...Operations: unknown[]) =>
    accepted(await entra.patch(path, { schemas: [patchUrn], Operations }), 200);

  before(async () => {
    entra = await scimClient(w(), { source: "entra" });
  });

  it("tests the connection by looking for users and groups that do not exist", async () => {
    for (const query of [
      `/Users?filter=userName+eq+"non-existent-${id}"`,
      `/Users?filter=externalId eq "${user.externalId}"`,
      `/Groups?excludedAttributes=members&filter=displayName eq "non-existent"`,
      `/Groups?filter=id eq "5d48a0a8" and members eq "40734ae655284ad3abcc"`,
      '/Users?aadOptscim062020&filter=userName eq "nobody"',
    ])
      expect(
        accepted(await entra.get(query.replaceAll(" ", "%20").replaceAll('"', "%22")), 200),
        query,
      ).to.deep.include({
        totalResults: 0,
        Resources: [],
      });
  });

  it("creates a user with extensions, known or not", async () => {
    const made = accepted(await entra.post("/Users", user), 201);
    path = `/Users/${made.id}`;
    expect(made.schemas).to.deep.equal([userUrn, enterpriseUrn]);
    expect(made[enterpriseUrn]).to.deep.equal({ department: "R&D", manager: { value: "f3b2a1" } });
    expect(made).to.include({ userName: id, externalId: user.externalId });
    const found = accepted(await entra.find("/Users", `userName eq "${id}"`), 200);
    expect(found.Resources.map((each: { id: string }) => each.id)).to.deep.equal([made.id]);
  });

  it("changes attributes with capital operations and paths of all kinds", async () => {
    const changed = await change(
      { op: "Replace", path: 'emails[type eq "work"].value', value: "updatedEmail@microsoft.example" },
      { op: "Replace", path: "name.familyName", value: "updatedFamilyName" },
      { op: "Add", path: "nickName", value: "Babs" },
      { op: "Add", path: 'addresses[type eq "work"].locality', value: "Redmond" },
      { op: "Replace", path: 'phoneNumbers[type eq "mobile"].value', value: "+1 555 0100" },
      { op: "Add", path: `${enterpriseUrn}:department`, value: "Sales" },
      { op: "Add", path: `${enterpriseUrn}:manager`, value: "7" },
      { op: "Remove", path: "nickName" },
    );
    expect(changed.emails).to.deep.equal([{ primary: true, type: "work", value: "updatedEmail@microsoft.example" }]);
    expect(changed.name.familyName).to.equal("updatedFamilyName");
    expect(changed.addresses).to.deep.equal([{ type: "work", locality: "Redmond" }]);
    expect(changed.phoneNumbers).to.deep.equal([{ type: "mobile", value: "+1 555 0100" }]);
    expect(changed[enterpriseUrn]).to.deep.equal({ department: "Sales", manager: { value: "7" } });
    expect(changed).to.not.have.property("nickName");
    const account = await w()
      .as(w().owner)
      .graphql(`{ user(user: "${path.slice(7)}") { email name } }`);
    expect(account.user).to.deep.equal({ email: "updatedEmail@microsoft.example", name: "givenName familyName" });
  });

  it("changes attributes by dotted and full names, without a path", async () => {
    const changed = await change({
      op: "replace",
      value: {
        "name.givenName": "Dotted",
        [`${userUrn}:title`]: "Engineer",
        [`${enterpriseUrn}:employeeNumber`]: "42",
        [enterpriseUrn]: { costCenter: "7" },
        unknown: "ignored",
        id: "ignored",
      },
    });
    expect(changed.name.givenName).to.equal("Dotted");
    expect(changed.title).to.equal("Engineer");
    expect(changed[enterpriseUrn]).to.include({ employeeNumber: "42", costCenter: "7", department: "Sales" });
  });

  it("adds an address to a user that has none of the type", async () => {
    const changed = await change({ op: "Replace", path: 'emails[type eq "home"].value', value: "home@x.example" });
    expect(changed.emails).to.have.length(2);
    expect(changed.emails[1]).to.deep.equal({ type: "home", value: "home@x.example" });
  });

  it("changes the only or primary address where none is for work, if it has no type, or another one", async () => {
    const replace = (value: string) => change({ op: "Replace", path: 'emails[type eq "work"].value', value });
    const formerPath = path;
    for (const [nr, emails, expected] of [
      [1, [{ value: "one@x.example" }], [{ value: "new1@x.example" }]],
      [2, [{ value: "two@x.example", type: "Other" }], [{ value: "new2@x.example", type: "Other" }]],
      [
        3,
        [
          { value: "three@x.example", type: "home" },
          { value: "four@x.example", primary: true },
        ],
        [
          { value: "three@x.example", type: "home" },
          { value: "new3@x.example", primary: true },
        ],
      ],
      [
        4,
        [{ value: "five@x.example", type: "home" }],
        [
          { value: "five@x.example", type: "home" },
          { value: "new4@x.example", type: "work" },
        ],
      ],
      [
        5,
        [{ value: "six@x.example" }, { value: "seven@x.example" }],
        [{ value: "six@x.example" }, { value: "seven@x.example" }, { value: "new5@x.example", type: "work" }],
      ],
    ] as const) {
      const made = accepted(
        await entra.post("/Users", { ...user, userName: `u${nr}`, externalId: `o${nr}`, emails }),
        201,
      );
      path = `/Users/${made.id}`;
      expect((await replace(`new${nr}@x.example`)).emails, `of ${nr}`).to.deep.equal(expected);
      const account = await w().as(w().owner).graphql(`{ user(user: "${made.id}") { email } }`);
      // An address for work comes before others that are not primary.
      expect(account.user.email, `of ${nr}`).to.equal(`new${nr}@x.example`);
    }
    path = formerPath;
  });

  it("sends the manager as a text, an object, or a list of one of them, and never of two", async () => {
    const at = `${enterpriseUrn}:manager`;
    const one = { $ref: "../Users/7", value: "7" };
    for (const [value, expected] of [
      ["7", { value: "7" }],
      [one, one],
      [[one], one],
      [["8"], { value: "8" }],
    ] as const) {
      const changed = await change({ op: "Add", path: at, value: "1" }, { op: "Remove", path: at }, { op: "Add", path: at, value }); // oxfmt-ignore
      expect(changed[enterpriseUrn].manager, JSON.stringify(value)).to.deep.equal(expected);
      const put = await entra.put(path, { ...changed, [enterpriseUrn]: { manager: value } });
      expect(accepted(put, 200)[enterpriseUrn]).to.deep.equal({ manager: expected });
    }
    const two = [{ value: "7" }, { value: "8" }];
    const answer = await entra.change(path, { op: "Add", path: at, value: two });
    expect([answer.status, answer.body.scimType]).to.deep.equal([400, "invalidValue"]);
    const empty = await entra.put(path, {
      ...(await entra.get(path)).body,
      [enterpriseUrn]: { department: "Sales", manager: [] },
    });
    expect(accepted(empty, 200)[enterpriseUrn]).to.deep.equal({ department: "Sales" });
  });

  it("finds a user by any of its addresses, in any letter case", async () => {
    const found = accepted(await entra.get('/Users?filter=emails.value+eq+"HOME@x.example"'), 200);
    expect(found).to.include({ totalResults: 1 });
    expect(found.Resources[0].emails[1].value).to.equal("home@x.example");
    expect(accepted(await entra.get('/Users?filter=emails.value+eq+"ome@x.example"'), 200)).to.include({
      totalResults: 0,
    });
  });

  it("rejects paths without target, unknown paths, and read-only attributes", async () => {
    for (const [operation, scimType] of [
      [{ op: "Replace", path: 'photos[type eq "photo"].value', value: "https://x.example/a.png" }, "noTarget"],
      [{ op: "Remove" }, "noTarget"],
      [{ op: "Remove", path: "userName" }, "invalidValue"],
      [{ op: "Remove", path: "emails" }, "invalidValue"],
      [{ op: "Add", path: "nothing", value: 1 }, "invalidPath"],
      [{ op: "Add", path: "id", value: "x" }, "mutability"],
      [{ op: "Add", path: "groups", value: [{ value: "x" }] }, "mutability"],
      [{ op: "Move", path: "title", value: "x" }, "invalidSyntax"],
      [{ op: "Add", path: "active", value: "perhaps" }, "invalidValue"],
    ] as const) {
      const { body, status } = await entra.patch(path, { schemas: [patchUrn], Operations: [operation] });
      expect([status, body.scimType], JSON.stringify(operation)).to.deep.equal([400, scimType]);
    }
    expect(accepted(await entra.get(path), 200)).to.include({ active: true });
  });

  it("manages a group: creation, lookups, members, and removal of one member by value", async () => {
    const members = [path.slice(7)];
    for (const name of ["m1", "m2"])
      members.push(accepted(await entra.post("/Users", { userName: `${name}@x.example`, externalId: name }), 201).id);
    const group = accepted(
      await entra.post("/Groups", {
        schemas: [groupUrn, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        displayName: "displayName",
        meta: { resourceType: "Group" },
      }),
      201,
    );
    const at = `/Groups/${group.id}`;
    const found = accepted(
      await entra.get(
        `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "DISPLAYNAME"')}`,
      ),
      200,
    );
    expect(found).to.include({ totalResults: 1 });
    accepted(
      await entra.patch(at, {
        schemas: [patchUrn],
        Operations: [{ op: "Replace", path: "displayName", value: "1879db59" }],
      }),
      204,
    );
    accepted(
      await entra.patch(at, {
        schemas: [patchUrn],
        Operations: [{ op: "Add", path: "members", value: members.map((value) => ({ $ref: null, value })) }],
      }),
      204,
    );
    accepted(
      await entra.patch(at, {
        schemas: [patchUrn],
        Operations: [{ op: "Remove", path: "members", value: [{ $ref: null, value: members[0] }] }],
      }),
      204,
    );
    const read = accepted(await entra.get(at), 200);
    expect(read.members.map(({ value }: { value: string }) => value)).to.have.members(members.slice(1));
    expect(accepted(await entra.get(`${at}?excludedAttributes=members`), 200))
      .to.include({ displayName: "1879db59" })
      .and.not.have.property("members");
    const inGroup = `id eq "${group.id}" and members eq "${members[1]}"`;
    expect(accepted(await entra.find("/Groups", inGroup), 200)).to.include({ totalResults: 1 });
    accepted(await entra.delete(at), 204);
  });

  it("suspends a user, reads it, and deletes it later", async () => {
    expect(await change({ op: "Replace", path: "active", value: "False" })).to.include({ active: false });
    expect(accepted(await entra.get(path), 200)).to.include({ active: false });
    accepted(await entra.delete(path), 204);
    accepted(await entra.get(path), 404);
  });

  it("adopts an account by its email, instead of duplicating it", async () => {
    const ada = await w().user("ada");
    const found = accepted(await entra.find("/Users", `userName eq "${ada.email.toUpperCase()}"`), 200);
    expect(found.Resources[0]).to.include({ id: ada.id, userName: ada.username });
    path = `/Users/${ada.id}`;
    const adopted = await change({ op: "Replace", value: { userName: ada.email, externalId: "ada-7" } });
    expect(adopted).to.include({ userName: ada.email, externalId: "ada-7", active: true });
  });
});

describe("SCIM test suites", () => {
  const w = shared();

  it("change userNames, and nest attributes under the core URN", async () => {
    const scim = await scimClient(w());
    const nested = { schemas: [userUrn], [userUrn]: { userName: "nested@x.example", title: "Inner" }, title: "Outer" };
    const made = accepted(await scim.post("/Users", nested), 201);
    expect(made).to.include({ userName: "nested@x.example", title: "Outer" });
    const changed = await scim.change(`/Users/${made.id}`, {
      op: "replace",
      path: "userName",
      value: "renamed@x.example",
    });
    expect(accepted(changed, 200)).to.include({ userName: "renamed@x.example" });
    const foreign = await scim.post("/Users", { ...nested, schemas: ["urn:none"] });
    expect(accepted(foreign, 400)).to.include({ scimType: "invalidSyntax" });
  });
});

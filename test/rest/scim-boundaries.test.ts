// SCIM keys and users who also belong to organizations that are not those of the key.
import { expect } from "chai";
import { newScimUser, type ScimClient, scimClient } from "../support/scim.js";
import { type Answer, type Person, world } from "../support/world.js";

const reason = "This user also belongs to other organizations.";

describe("SCIM keys and users of other organizations", () => {
  const w = world();
  /** The organization of the key. */
  let own: { id: string; name: string };
  let foreign: { id: string; name: string };
  let scim: ScimClient;
  let contract: ScimClient;
  before(async () => {
    own = await w().organization();
    foreign = await w().organization();
    scim = await scimClient(w(), { source: "own", organizationIds: [own.id] });
    contract = await scimClient(w(), { source: "own", organizationIds: [own.id] }, "Authorizaiton");
  });

  const owner = () => w().as(w().owner);
  const account = async (id: string) =>
    (
      await owner().graphql(
        `query($id: String!) { user(user: $id) { email username name avatarUrl status organizationIds } }`,
        { id },
      )
    ).user as { email: string; username: string; status: string; organizationIds: string[] };
  /** The groups of a user, those of all members left out. */
  const membersOf = async (group: string) =>
    (await owner().get(`/api/v2/groups/${group}`)).body.members.map(({ id }: { id: string }) => id) as string[];
  const signIn = ({ token }: Person) => w().as({ token }).graphql("{ me { id } }");

  const expectRefused = ({ status, body }: Answer, label?: string) => {
    expect(status, label).to.equal(403);
    expect(body.detail ?? body.message, label).to.equal(reason);
  };

  /** A member of the foreign organization, or of both. */
  const foreigner = () => w().user("foreign", [foreign.id]);
  const shared = () => w().user("shared", [own.id, foreign.id]);

  for (const [whose, make] of [
    ["another organization", foreigner],
    ["its own and another organization", shared],
  ] as const)
    describe(`a member of ${whose}`, () => {
      it("keeps userName, email, name, avatar, and status, whatever the request", async () => {
        const user = await make();
        const before = await account(user.id);
        const path = `/Users/${user.id}`;
        const evil = `evil-${user.username}@attacker.example`;
        const emails = [{ value: evil, primary: true }];
        const { body: seen } = await scim.get(path);
        const changes: Array<Record<string, unknown>> = [
          { emails },
          { userName: evil },
          { "name.formatted": "Some One" },
          { active: false },
          { photos: [{ value: "https://attacker.example/a.png" }] },
        ];
        for (const value of changes) {
          const label = JSON.stringify(value);
          expectRefused(await scim.change(path, { op: "replace", value }), label);
          expectRefused(await contract.change(path, { op: "replace", value }), label);
        }
        for (const { "name.formatted": formatted, ...value } of changes) {
          const sent = { ...value, ...(formatted !== undefined && { name: { formatted } }) };
          const label = JSON.stringify(sent);
          expectRefused(await scim.put(path, { ...seen, ...sent }), label);
          expectRefused(await contract.put(path, { ...seen, ...sent }), label);
          expectRefused(await contract.patch(path, sent), label);
          const bulk = await scim.post("/Bulk", { Operations: [{ method: "PUT", path, data: { ...seen, ...sent } }] });
          expect(bulk.body.Operations[0], label).to.include({ status: "403" });
        }
        const failure = await scim.request("POST", "/../../graphql", {
          query: `mutation($document: JSONObject!) { patchScimUser(input: { id: "${user.id}", document: $document }) { __typename } }`,
          variables: { document: { Operations: [{ op: "replace", path: "emails", value: emails }] } },
        }, { "Content-Type": "application/json" }); // oxfmt-ignore
        expect(failure.body.errors[0].extensions).to.include({ code: "FORBIDDEN" });
        expect(failure.body.errors[0].message).to.equal(reason);
        expect(await account(user.id)).to.deep.equal(before);
        await signIn(user);
      });

      it("is not taken over by a creation that matches its email or externalId", async () => {
        const user = await make();
        const before = await account(user.id);
        const wanted = {
          schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
          userName: user.username,
          emails: [{ value: user.email, primary: true }],
        };
        expectRefused(await contract.post("/Users", { ...wanted, userName: `other-${user.username}` }));
        expectRefused(await contract.post("/Users", { ...wanted, active: false }));
        expectRefused(await contract.post("/Users", { ...wanted, name: { formatted: "Some One" } }));
        expect(await account(user.id)).to.deep.equal(before);
        // By the externalId, which the key may set.
        await scim.change(`/Users/${user.id}`, { op: "add", value: { externalId: user.id } });
        const emails = [{ value: `evil-${user.username}@attacker.example` }];
        expectRefused(await contract.post("/Users", { ...newScimUser({ emails }), externalId: user.id }));
        expect(await account(user.id)).to.deep.equal(before);
      });

      it("keeps attributes without effect that are sent, and takes an unchanged status", async () => {
        const user = await make();
        const { body } = await scim.change(`/Users/${user.id}`, {
          op: "replace",
          value: { externalId: `e-${user.id}`, title: "Countess", active: true, userName: user.username },
        });
        expect(body).to.include({ externalId: `e-${user.id}`, title: "Countess", active: true });
        const put = await scim.put(`/Users/${user.id}`, { ...body, nickName: "Ada" });
        expect(put.status, JSON.stringify(put.body)).to.equal(200);
        expect(put.body).to.include({ nickName: "Ada" });
      });

      it("leaves the organization of the key when it is deleted, and stays active elsewhere", async () => {
        const user = await make();
        const elsewhere = await w().group(undefined, { organization: foreign.id, members: [user] });
        expect(await scim.delete(`/Users/${user.id}`)).to.include({ status: 204 });
        expect(await scim.get(`/Users/${user.id}`)).to.include({ status: 404 });
        expect(await scim.delete(`/Users/${user.id}`)).to.include({ status: 404 });
        expect(await account(user.id)).to.deep.include({ status: "ACTIVE", organizationIds: [foreign.id] });
        expect(await membersOf(elsewhere.id)).to.deep.equal([user.id]);
        await signIn(user);
        // It comes back as it is elsewhere, or not at all.
        const same = { userName: user.username, emails: [{ value: user.email, primary: true }] };
        expectRefused(await scim.post("/Users", { ...same, active: false }));
        expectRefused(await scim.post("/Users", { ...same, userName: `other-${user.username}` }));
        expect(await scim.get(`/Users/${user.id}`)).to.include({ status: 404 });
        const revived = await scim.post("/Users", same);
        expect(revived.status, JSON.stringify(revived.body)).to.equal(201);
        expect(revived.body).to.include({ id: user.id, active: true });
        expect((await account(user.id)).organizationIds).to.have.members([own.id, foreign.id]);
      });

      it("joins and leaves groups of the key, and its organization with them", async () => {
        const user = await make();
        const made = await scim.post("/Groups", { displayName: `G ${user.id}`, members: [{ value: user.id }] });
        expect(made).to.include({ status: 201 });
        expect((await account(user.id)).organizationIds).to.have.members([own.id, foreign.id]);
        await scim.change(`/Groups/${made.body.id}`, { op: "remove", path: `members[value eq "${user.id}"]` });
        expect(await membersOf(made.body.id)).to.deep.equal([]);
        expect(await account(user.id)).to.include({ status: "ACTIVE", email: user.email });
      });
    });

  it("joins the organization of the key when a creation adopts it as it is", async () => {
    const user = await foreigner();
    const same = { userName: user.username, emails: [{ value: user.email, primary: true }] };
    expect(await contract.post("/Users", same)).to.include({ status: 200 });
    expect((await account(user.id)).organizationIds).to.have.members([own.id, foreign.id]);
    const bulk = await scim.post("/Bulk", { Operations: [{ method: "DELETE", path: `/Users/${user.id}` }] });
    expect(bulk.body.Operations[0]).to.include({ status: "204" });
    expect(await account(user.id)).to.deep.include({ status: "ACTIVE", organizationIds: [foreign.id] });
  });

  it("keeps its workspaces: it cannot be deleted while it owns some in the organization of the key", async () => {
    const user = await shared();
    await w().workspace(user, { organization: own.id });
    const { status, body } = await scim.delete(`/Users/${user.id}`);
    expect([status, body.detail]).to.deep.equal([
      409,
      "The user owns 1 workspace, of which you may not see 1. Owners of the deployment and administrators of the organization can delete them, or take them over.",
    ]);
    expect(await scim.get(`/Users/${user.id}`)).to.include({ status: 200 });
  });

  it("is protected from the moment in which it joins another organization", async () => {
    const { body } = await scim.post("/Users", newScimUser());
    const rename = (value: string) => scim.change(`/Users/${body.id}`, { op: "replace", path: "displayName", value });
    const formatted = { op: "remove", path: "name" };
    expect(await scim.change(`/Users/${body.id}`, formatted)).to.include({ status: 200 });
    expect(await rename("One")).to.include({ status: 200 });
    const member = { organization: foreign.id, user: body.id };
    await owner().graphql(
      `mutation($organization: String!, $user: String!) {
        addOrganizationMember(input: { organization: $organization, user: $user }) { __typename } }`,
      member,
    );
    expectRefused(await rename("Two"));
    await owner().graphql(
      `mutation($organization: String!, $user: String!) {
        removeOrganizationMember(input: { organization: $organization, user: $user }) { __typename } }`,
      member,
    );
    expect(await rename("Three")).to.include({ status: 200 });
  });

  it("is changed by a key of all its organizations, and by owners in the place of a key", async () => {
    const both = await scimClient(w(), { source: "both", organizationIds: [foreign.id, own.id] });
    const session = (await w().user("admin")) satisfies Person;
    await w().grant(session, "user-admin");
    const user = await shared();
    const change = { op: "replace", path: "active", value: false };
    expect((await both.change(`/Users/${user.id}`, change)).body).to.include({ active: false });
    const document = { Operations: [{ ...change, value: true }] };
    await w()
      .as(session)
      .graphql(
        `mutation($document: JSONObject!) { patchScimUser(input: { id: "${user.id}", document: $document }) { __typename } }`,
        { document },
      );
    expect(await account(user.id)).to.include({ status: "ACTIVE" });
    expect(await both.delete(`/Users/${user.id}`)).to.include({ status: 204 });
    expect(await account(user.id)).to.include({ status: "SUSPENDED" });
  });
});

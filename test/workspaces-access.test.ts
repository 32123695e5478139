// Sharing of workspaces, and what ends with their owners.
import { expect } from "chai";
import { boxOf, readBox, remove, runningBox, stop, templateOf } from "./support/builds.js";
import { world } from "./support/world.js";

const share = `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { workspace {
  acl { users { user { username } role } groups { group { name } role } } } } }`;

const secretive = boxOf(0, {
  resources: [
    {
      name: "box",
      metadata: [
        { key: "token", value: "hidden", sensitive: true },
        { key: "region", value: "eu" },
      ],
    },
  ],
});

describe("access to workspaces", () => {
  const w = world();

  it("is given to users and groups by the owner only", async () => {
    const [ada, bob, eve] = await w().users("ada", "bob", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const group = await w().group(undefined, { members: [eve!] });
    const input = {
      workspace: workspace.id,
      userPerms: [{ id: bob!.id, role: "admin" }],
      groupPerms: [{ id: group.id, role: "use" }],
    };
    expect((await w().as(w().owner).failure(share, { input })).code).to.equal("FORBIDDEN");
    const { updateWorkspaceAcl } = await w().as(ada!).graphql(share, { input });
    expect(updateWorkspaceAcl.workspace.acl).to.deep.equal({
      users: [{ user: { username: bob!.username }, role: "ADMIN" }],
      groups: [{ group: { name: group.name }, role: "USE" }],
    });

    expect(await readBox(w(), eve!, workspace.id)).to.include({ name: workspace.name });
    expect((await w().as(eve!).failure(stop, { workspace: workspace.id })).code).to.equal("FORBIDDEN");
    expect((await w().as(bob!).failure(remove, { workspace: workspace.id })).code).to.equal("FORBIDDEN");
    expect((await w().as(bob!).graphql("{ workspaces { nodes { id } } }")).workspaces.nodes).to.deep.equal([
      { id: workspace.id },
    ]);
    const checks = await w()
      .as(eve!)
      .post("/api/v2/authcheck", {
        checks: Object.fromEntries(
          ["read", "ssh", "start"].map((action) => [
            action,
            { action, object: { resource_type: "workspace", resource_id: workspace.id } },
          ]),
        ),
      });
    expect(checks.body).to.deep.equal({ read: true, ssh: true, start: false });
    await w().as(bob!).graphql(stop, { workspace: workspace.id });

    await w()
      .as(ada!)
      .graphql(share, { input: { workspace: workspace.id, userPerms: [{ id: bob!.id, role: "" }] } });
    expect((await w().as(bob!).failure(stop, { workspace: workspace.id })).code).to.equal("NOT_FOUND");
  });

  it("is not given to those who are not in the organization, with all faults", async () => {
    const [ada] = await w().users("ada");
    const other = await w().organization();
    const stranger = await w().user("stranger", [other.id]);
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const input = {
      workspace: workspace.id,
      userPerms: [
        { id: stranger.id, role: "use" },
        { id: "x", role: "boss" },
      ],
    };
    const failure = await w().as(ada!).failure(share, { input });
    expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.userPerms[0]",
      "input.userPerms[1]",
      "input.userPerms[1]",
    ]);
  });

  it("shows sensitive metadata of resources to the owner only", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), secretive);
    const { workspace } = await runningBox(w(), ada!, template.id);
    const read = `query($id: UUID!) { workspace(id: $id) { latestBuild { resources { metadata { key value } } } } }`;
    const valuesFor = async (by: { token: string }) =>
      (await w().as(by).graphql(read, { id: workspace.id })).workspace.latestBuild.resources[0].metadata.map(
        ({ value }: { value: string }) => value,
      );
    expect(await valuesFor(ada!)).to.deep.equal(["hidden", "eu"]);
    expect(await valuesFor(w().owner)).to.deep.equal(["", "eu"]);
  });

  it("keeps owners in their organization, and their accounts, until their workspaces are deleted", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const leave = `mutation($user: String!) { removeOrganizationMember(input: { organization: "default", user: $user }) { __typename } }`;
    const end = `mutation($user: String!) { deleteUser(input: { user: $user }) { __typename } }`;
    for (const mutation of [leave, end])
      expect((await w().as(w().owner).failure(mutation, { user: ada!.id })).message).to.equal(
        "The user owns workspaces. Delete them first.",
      );
    await w().as(w().owner).graphql(remove, { workspace: workspace.id, orphan: true });
    await w().as(w().owner).graphql(leave, { user: ada!.id });
    await w().as(w().owner).graphql(end, { user: ada!.id });
  });
});

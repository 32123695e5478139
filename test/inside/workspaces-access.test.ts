// Sharing of workspaces, and what ends with their owners.
// Looks inside: a share ends while its row is locked, and another one a second later.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { runSchedule } from "../support/background.js";
import { boxOf, readBox, remove, runningBox, start, stop, templateOf } from "../support/builds.js";
import { setColumns } from "../support/tables.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

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

  it("is given by name, too, although the owner may not be read; others do not learn which names there are", async () => {
    const [ada, bob, eve] = await w().users("ada", "bob", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const userPerms = [{ id: bob!.id, role: "admin" }];
    await w()
      .as(ada!)
      .graphql(share, { input: { workspace: workspace.id, userPerms } });
    const byName = "query($owner: String!, $name: String!) { workspaceByName(owner: $owner, name: $name) { id } }";
    for (const owner of [ada!.username, ada!.username.toUpperCase(), ada!.id]) {
      const found = await w().as(bob!).graphql(byName, { owner, name: workspace.name.toUpperCase() });
      expect(found.workspaceByName, owner).to.deep.equal({ id: workspace.id });
    }
    const ref = `${ada!.username}/${workspace.name}`;
    expect((await w().as(bob!).graphql(stop, { workspace: ref })).stopWorkspace.workspace.id).to.equal(workspace.id);
    expect(
      (await w().as(bob!).failure("query($user: String!) { user(user: $user) { id } }", { user: ada!.username })).code,
    ).to.equal("NOT_FOUND");

    const failures = [];
    for (const [owner, name] of [
      [ada!.username, workspace.name],
      [ada!.username, "none"],
      [ada!.id, workspace.name],
      ["unknown", workspace.name],
    ]) {
      failures.push(await w().as(eve!).failure(byName, { owner, name }));
      failures.push(
        await w()
          .as(eve!)
          .failure(start, { input: { workspace: `${owner}/${name}` } }),
      );
    }
    expect(new Set(failures.map(({ code, message }) => `${code} ${message}`)).size).to.equal(1);
    expect(failures[0]!.code).to.equal("NOT_FOUND");
  });

  describe("and their tasks", () => {
    let stage: TaskStage;
    withTasks(w, (opened) => ({ stage } = opened));

    it("is given by the names of tasks, too", async () => {
      const [ada, bob, eve] = await w().users("ada", "bob", "eve");
      const { task } = await stage.active(ada!, { name: "shared" });
      const userPerms = [{ id: bob!.id, role: "admin" }];
      await w()
        .as(ada!)
        .graphql(share, { input: { workspace: task.workspace_id.uuid, userPerms } });
      const byName = "query($user: String!, $task: String!) { task(user: $user, task: $task) { id } }";
      for (const user of [ada!.username.toUpperCase(), ada!.id])
        expect((await w().as(bob!).graphql(byName, { user, task: "Shared" })).task).to.deep.equal({ id: task.id });
      const pause = 'mutation($user: String!) { pauseTask(input: { user: $user, task: "shared" }) { task { id } } }';
      const failures = [];
      for (const user of [ada!.username, ada!.id, "unknown"]) {
        failures.push(await w().as(eve!).failure(byName, { user, task: "shared" }));
        failures.push(await w().as(eve!).failure(byName, { user, task: "none" }));
        failures.push(await w().as(eve!).failure(pause, { user }));
      }
      expect(new Set(failures.map(({ code, message }) => `${code} ${message}`)).size).to.equal(1);
      expect(failures[0]!.code).to.equal("NOT_FOUND");
      const paused = await w().as(bob!).graphql(pause, { user: ada!.username });
      expect(paused.pauseTask.task.id).to.equal(task.id);
    });
  });

  it("ends by itself when a share was given until a time, in open streams too", async () => {
    const [ada, bob, eve] = await w().users("ada", "bob", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const group = await w().group(undefined, { members: [eve!] });
    const limited = share.replaceAll("role", "role expiresAt");
    const setUntil = (expiresAt: string | null) => ({
      workspace: workspace.id,
      userPerms: [{ id: bob!.id, role: "use", expiresAt }],
      groupPerms: [{ id: group.id, role: "use", expiresAt }],
    });
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    for (const wrong of [inDays(-1), inDays(4000)]) {
      const failure = await w()
        .as(ada!)
        .failure(limited, { input: setUntil(wrong) });
      expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
        "input.groupPerms[0].expiresAt",
        "input.userPerms[0].expiresAt",
      ]);
    }
    const setTo = async (expiresAt: string | null) =>
      (
        await w()
          .as(ada!)
          .graphql(limited, { input: setUntil(expiresAt) })
      ).updateWorkspaceAcl.workspace.acl;
    const later = inDays(1);
    expect((await setTo(later)).users).to.deep.equal([
      { user: { username: bob!.username }, role: "USE", expiresAt: later },
    ]);
    expect((await setTo(null)).groups).to.deep.equal([{ group: { name: group.name }, role: "USE", expiresAt: null }]);

    const ends: string[] = [];
    const clients = [bob!, eve!].map((person) => {
      const client = createClient({
        url: `${w().url.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { sessionToken: person.token },
        retryAttempts: 0,
      });
      const begun = Promise.withResolvers<void>();
      client.subscribe<unknown>(
        { query: `subscription { workspaceBuildUpdated(workspaceId: "${workspace.id}") { id } }` },
        {
          next: ({ errors }) => (errors ? ends.push(errors[0]!.extensions!.code as string) : begun.resolve()),
          error: () => ends.push("error"),
          complete: () => ends.push("complete"),
        },
      );
      return { client, begun: begun.promise };
    });
    await Promise.all(clients.map(({ begun }) => begun));
    await setTo(later);
    expect(await readBox(w(), eve!, workspace.id)).to.include({ name: workspace.name });
    const expiry = Date.now() + 1_000;
    const entries = { workspace_id: workspace.id };
    await setColumns(w(), "workspace_acl_entries", entries, { expires_at: new Date(expiry) });
    await eventually(async () => {
      await runSchedule(w().app, "end");
      return ends.length === 2;
    }, "the streams end with the share");
    expect(Date.now()).to.be.greaterThan(expiry);
    expect(ends).to.deep.equal(["complete", "complete"]);
    for (const { client } of clients) await client.dispose();
    const { auditEvents } = await w()
      .as(w().owner)
      .graphql(`{ auditEvents(filter: { resourceId: "${workspace.id}", action: UPDATE }) { nodes { actorId diff } } }`);
    const at = new Date(expiry).toISOString();
    expect(auditEvents.nodes[0]).to.deep.equal({
      actorId: null,
      diff: {
        [`user:${bob!.id}`]: { old: `use until ${at}`, new: null },
        [`group:${group.id}`]: { old: `use until ${at}`, new: null },
      },
    });
  });

  it("ends at the time of a share, whether its entry was deleted or not", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    await w()
      .as(ada!)
      .graphql(share, { input: { workspace: workspace.id, userPerms: [{ id: bob!.id, role: "admin" }] } });
    const list = "{ workspaces { nodes { id } } }";
    expect((await w().as(bob!).graphql(list)).workspaces.nodes).to.have.length(1);
    const { pool } = w().app.services.database;
    const client = await pool.connect();
    try {
      // The lock keeps the server from deleting the entry.
      await client.query("begin");
      await client.query("update workspace_acl_entries set expires_at = now() where workspace_id = $1", [workspace.id]);
      await client.query("commit; begin");
      await client.query("select from workspace_acl_entries where workspace_id = $1 for update", [workspace.id]);
      expect((await w().as(bob!).failure(stop, { workspace: workspace.id })).code).to.equal("NOT_FOUND");
      expect((await w().as(bob!).graphql(list)).workspaces.nodes).to.deep.equal([]);
      const acl = `{ workspace(id: "${workspace.id}") { acl { users { role } } } }`;
      expect((await w().as(ada!).graphql(acl)).workspace.acl.users).to.deep.equal([]);
    } finally {
      await client.query("rollback");
      client.release();
    }
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
      (await w().as(by).graphql(read, { id: workspace.id })).workspace.latestBuild.resources[0]!.metadata.map(
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

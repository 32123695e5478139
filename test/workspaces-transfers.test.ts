// Workspaces that administrators take over from their owners, or offer to others.
// Reaches for tables: a transfer waits for a locked row, offers last for a week, and dozens of workspaces are stopped without builds.
import { expect } from "chai";
import { deleteUser, setUserRoles, suspend } from "./support/accounts.js";
import { logged } from "./support/app.js";
import { audited } from "./support/audit.js";
import { boxOf, create, doBuild, readBox, runningBox, stop, templateOf } from "./support/builds.js";
import { letPass, lockRows } from "./support/tables.js";
import { insertOffer, insertStopped, insertClosedVersion, insertVersion } from "./support/workspaces.js";
import { type Person, world } from "./support/world.js";

const transfer = `mutation($input: TransferWorkspacesInput!) {
  transferWorkspaces(input: $input) { isOffered workspaces { id owner { id } } } }`;
const accept = `mutation($id: UUID!) { acceptWorkspaceTransfer(input: { id: $id }) { workspaceId } }`;
const decline = `mutation($id: UUID!) { declineWorkspaceTransfer(input: { id: $id }) { workspaceId } }`;
const share = `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`;
const offers = "{ workspaceTransfers { id workspaceId workspaceName formerOwner { id } offeredBy { id } } }";

describe("transfers of workspaces", () => {
  // Tests hold locks, for which a request waits for a sixth of its time at most. None may give up.
  const w = world({ STEWARD_REQUEST_TIMEOUT: "5m" });
  const take = (by: Person, input: object) => w().as(by).graphql(transfer, { input });
  const refusal = async (by: Person, document: string, variables: object) =>
    (
      await w()
        .as(by)
        .failure(document, variables as Record<string, unknown>)
    ).code;
  const offersTo = async (by: Person) => (await w().as(by).graphql(offers)).workspaceTransfers;
  const ownerOf = async (id: string) =>
    (await w().as(w().owner).graphql(`{ workspace(id: "${id}") { owner { id } } }`)).workspace.owner.id;

  /** A stopped workspace of a user. */
  async function stoppedBox(owner: Person, cost = 0, more: Record<string, unknown> = {}) {
    // What stays when the workspace is stopped, such as a disk, costs as much.
    const disk = { name: "disk", daily_cost: cost, transitions: ["start", "stop"] };
    const { resources } = boxOf();
    const template = await templateOf(w(), boxOf(0, { resources: [...resources, disk] }));
    const { workspace } = await runningBox(w(), owner, template.id, more);
    const { stopWorkspace } = await w().as(owner).graphql(stop, { workspace: workspace.id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    return workspace as { id: string; name: string };
  }
  const organizationAdmin = async (name: string) => {
    const person = await w().user(name);
    await w()
      .as(w().owner)
      .graphql(
        `mutation($user: String!) { setOrganizationMemberRoles(input: {
          organization: "default", user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
        { user: person.id },
      );
    return person;
  };
  const allow = (group: string, credits: number) =>
    w().as(w().owner).patch(`/api/v2/groups/${group}`, { quota_allowance: credits });

  it("give stopped ones to the caller, and end what the former owner gave out", async () => {
    const [ada, friend] = await w().users("ada", "friend");
    const { id, name } = await stoppedBox(ada!, 0, { autostartSchedule: "0 9 * * 1-5" });
    const input = { workspace: id, userPerms: [{ id: friend!.id, role: "use" }] };
    await w().as(ada!).graphql(share, { input });
    const look = `{ workspace(id: "${id}") { name injectUserSecrets autostartSchedule owner { id } } }`;
    expect((await w().as(friend!).graphql(look)).workspace.name).to.equal(name);
    await suspend(w(), ada!);
    expect(await take(w().owner, { workspaces: [id] })).to.deep.equal({
      transferWorkspaces: { isOffered: false, workspaces: [{ id, owner: { id: w().owner.id } }] },
    });
    expect((await w().as(w().owner).graphql(look)).workspace).to.deep.equal({
      name,
      injectUserSecrets: false,
      autostartSchedule: null,
      owner: { id: w().owner.id },
    });
    expect(await refusal(friend!, look, {})).to.equal("NOT_FOUND");
    const event = (await audited(w(), { resourceId: id, action: "UPDATE" })).at(-1);
    expect(event!.diff).to.deep.include({ shares: { old: 1, new: 0 } });
    expect(event!.diff.owner!.new).to.be.a("string");
  });

  it("are for owners of the deployment, and administrators of the organization under dominance", async () => {
    const [ada, eve] = await w().users("ada", "eve");
    const admin = await organizationAdmin("admin");
    const { id } = await stoppedBox(ada!);
    const input = { workspaces: [id] };
    expect(await refusal(eve!, transfer, { input })).to.equal("NOT_FOUND");
    // Owners of workspaces give them to no user.
    expect(await refusal(ada!, transfer, { input: { ...input, receiver: eve!.id } })).to.equal("FORBIDDEN");
    for (const role of ["TEMPLATE_ADMIN", "USER_ADMIN", "AUDITOR"]) {
      await w()
        .as(w().owner)
        .graphql(setUserRoles, { input: { user: eve!.id, roles: [role] } });
      expect(await refusal(eve!, transfer, { input }), role).to.equal(
        role === "TEMPLATE_ADMIN" ? "FORBIDDEN" : "NOT_FOUND",
      );
    }
    await w()
      .as(w().owner)
      .graphql(setUserRoles, { input: { user: ada!.id, roles: ["AUDITOR"] } });
    expect(await refusal(admin, transfer, { input })).to.equal("FORBIDDEN");
    await w()
      .as(w().owner)
      .graphql(setUserRoles, { input: { user: ada!.id, roles: [] } });
    await take(admin, input);
    expect(await ownerOf(id)).to.equal(admin.id);
  });

  it("want them stopped, and all of them or none", async () => {
    const [ada] = await w().users("ada");
    const { id } = await stoppedBox(ada!);
    const running = await runningBox(w(), ada!, (await templateOf(w(), boxOf())).id);
    const input = { workspaces: [id, running.workspace.id] };
    expect(await refusal(w().owner, transfer, { input })).to.equal("CONFLICT");
    expect(await ownerOf(id)).to.equal(ada!.id);
    expect(await refusal(w().owner, transfer, { input: { workspaces: [] } })).to.equal("BAD_USER_INPUT");
    expect(await refusal(w().owner, transfer, { input: { workspaces: [id], receiver: ada!.id } })).to.equal("CONFLICT");
    const outsider = await w().user("outsider", [(await w().organization()).id]);
    const away = { workspaces: [id], receiver: outsider.id };
    expect(await refusal(w().owner, transfer, { input: away })).to.equal("CONFLICT");
  });

  it("reach another user when that one accepts, once, as long as the administrator may offer them", async () => {
    const [ada, bob, eve] = await w().users("ada", "bob", "eve");
    const admin = await organizationAdmin("admin");
    const boxes = [await stoppedBox(ada!), await stoppedBox(ada!), await stoppedBox(ada!)];
    const workspaces = boxes.map(({ id }) => id);
    const { transferWorkspaces } = await take(admin, { workspaces, receiver: bob!.username });
    expect(transferWorkspaces.isOffered).to.equal(true);
    expect(await ownerOf(workspaces[0]!)).to.equal(ada!.id);
    const [third, second, first] = await offersTo(bob!);
    expect(first).to.deep.include({ formerOwner: { id: ada!.id }, offeredBy: { id: admin.id } });
    expect([await offersTo(eve!), await refusal(eve!, accept, { id: first!.id })]).to.deep.equal([[], "NOT_FOUND"]);
    const inbox = (await w().as(bob!).graphql("{ inboxNotifications { nodes { title } } }")).inboxNotifications.nodes;
    expect(inbox.map(({ title }: { title: string }) => title)).to.include(
      `Workspace ${boxes[0]!.name} is offered to you`,
    );

    const outcomes = await Promise.all(
      [1, 2, 3].map(() =>
        w()
          .as(bob!)
          .post("/graphql", { query: accept, variables: { id: first!.id } })
          .then(({ body }) => body.errors?.[0].extensions.code ?? "done"),
      ),
    );
    expect(outcomes).to.have.members(["NOT_FOUND", "NOT_FOUND", "done"]);
    expect(await ownerOf(first!.workspaceId)).to.equal(bob!.id);
    await w().as(bob!).graphql(decline, { id: second!.id });
    expect(await ownerOf(second!.workspaceId)).to.equal(ada!.id);
    await suspend(w(), admin);
    expect(await refusal(bob!, accept, { id: third!.id })).to.equal("CONFLICT");
    expect(await ownerOf(third!.workspaceId)).to.equal(ada!.id);
  });

  it("are not offered to a user who is deleted meanwhile", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const id = await insertStopped(w(), ada!.id, await insertVersion(w()));
    const code = await lockRows(w(), "users", { id: bob!.id }, async ({ awaited, set, commit }) => {
      const waiting = refusal(w().owner, transfer, { input: { workspaces: [id], receiver: bob!.id } });
      await awaited();
      await set({ deleted_at: new Date() });
      await commit();
      return waiting;
    });
    expect(code).to.equal("NOT_FOUND");
  });

  it("are offered for a week", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const id = await insertStopped(w(), ada!.id, await insertVersion(w()));
    await take(w().owner, { workspaces: [id], receiver: bob!.id });
    const [offer] = await offersTo(bob!);
    const times = ["created_at", "expires_at"];
    await letPass(w(), "workspace_transfers", { id: offer!.id }, "6 days 23 h", times);
    expect((await offersTo(bob!)).map(({ workspaceId }: { workspaceId: string }) => workspaceId)).to.deep.equal([id]);
    await letPass(w(), "workspace_transfers", { id: offer!.id }, "1 h", times);
    expect(await offersTo(bob!)).to.deep.equal([]);
    for (const document of [accept, decline]) expect(await refusal(bob!, document, offer!)).to.equal("NOT_FOUND");
    expect(await ownerOf(id)).to.equal(ada!.id);
  });

  it("are accepted no more once the owner of the deployment who offered them is deleted", async () => {
    const [ada, bob, admin] = await w().users("ada", "bob", "admin");
    const { id } = await stoppedBox(ada!);
    const owner = w().as(w().owner);
    await owner.graphql(setUserRoles, { input: { user: admin!.id, roles: ["OWNER"] } });
    await take(admin!, { workspaces: [id], receiver: bob!.username });
    const [offered] = await offersTo(bob!);
    await owner.graphql(deleteUser, { input: { user: admin!.id } });
    expect(await refusal(bob!, accept, { id: offered!.id })).to.equal("CONFLICT");
    expect(await ownerOf(id)).to.equal(ada!.id);
  });

  it("of one workspace that run concurrently have one winner, also against an acceptance", async () => {
    const admins = [await organizationAdmin("one"), await organizationAdmin("two"), w().owner];
    const [bob] = await w().users("bob");
    for (let round = 0; round < 5; round++) {
      const [ada] = await w().users("ada");
      const { id } = await stoppedBox(ada!);
      await take(w().owner, { workspaces: [id], receiver: bob!.id });
      const offer = (await offersTo(bob!)).find((each: { workspaceId: string }) => each.workspaceId === id);
      const tries = [
        ...admins.map((by) => ({ by, query: transfer, variables: { input: { workspaces: [id] } } })),
        { by: bob!, query: accept, variables: { id: offer!.id } },
      ];
      const done = await Promise.all(
        tries.map(async ({ by, query, variables }) => {
          const { body } = await w().as(by).post("/graphql", { query, variables });
          return body.errors?.[0].extensions.code ?? by.id;
        }),
      );
      const winners = done.filter((each) => ![`CONFLICT`, `NOT_FOUND`, `FORBIDDEN`].includes(each));
      // An owner of the deployment may take it from an administrator again, one after the other.
      expect(winners, done.join()).to.include(await ownerOf(id));
      const events = await audited(w(), { resourceId: id, action: "UPDATE" });
      expect(events.filter(({ diff }) => diff.owner).length).to.equal(winners.length);
    }
  });

  /** Sends requests concurrently. Returns their outcomes. */
  const together = (requests: ReadonlyArray<{ by: Person; query: string; variables: object }>) =>
    Promise.all(
      requests.map(async ({ by, query, variables }) => {
        const { body } = await w().as(by).post("/graphql", { query, variables });
        return (body.errors?.[0].extensions.code ?? "done") as string;
      }),
    );

  it("do not wait for others between the same users, nor do their acceptances", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const callers = [await organizationAdmin("one"), await organizationAdmin("two"), w().owner];
    const version = await insertVersion(w());
    const boxes = await Promise.all(Array.from({ length: 18 }, () => insertStopped(w(), ada!.id, version)));
    const [held, accepted, declined, ...others] = boxes;
    const offered = await Promise.all([accepted!, declined!].map((id) => insertOffer(w(), id, bob!.id, w().owner.id)));
    const slow = await lockRows(w(), "workspaces", { id: held }, async ({ awaited, commit }) => {
      const waiting = take(callers[0]!, { workspaces: [held], receiver: bob!.id });
      await awaited();
      const outcomes = await together([
        ...others.map((id, at) => ({
          by: callers[at % callers.length]!,
          query: transfer,
          variables: { input: { workspaces: [id], receiver: bob!.id } },
        })),
        { by: bob!, query: accept, variables: { id: offered[0] } },
        { by: bob!, query: decline, variables: { id: offered[1] } },
      ]);
      expect(outcomes).to.deep.equal(outcomes.map(() => "done"));
      await commit();
      return waiting;
    });
    expect(slow.transferWorkspaces.isOffered).to.equal(true);
    expect(await offersTo(bob!)).to.have.length(others.length + 1);
  });

  it("are accepted only by those who may use the template, who are told so", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const id = await insertStopped(w(), ada!.id, await insertClosedVersion(w()));
    const offer = await insertOffer(w(), id, bob!.id, w().owner.id);
    const { code, message } = await w().as(bob!).failure(accept, { id: offer });
    expect([code, message]).to.deep.equal([
      "FORBIDDEN",
      `You may not use the template of the workspace box-${id.slice(-12)}.`,
    ]);
    expect(await offersTo(bob!)).to.have.length(1);
    expect(await ownerOf(id)).to.equal(ada!.id);
  });

  it("end what was shared also for requests that wait for them", async () => {
    const [ada, friend, eve] = await w().users("ada", "friend", "eve");
    const id = await insertStopped(w(), ada!.id, await insertVersion(w()));
    const input = { workspace: id, userPerms: [{ id: friend!.id, role: "admin" }] };
    await w().as(ada!).graphql(share, { input });
    const rename = `mutation { updateWorkspace(input: { workspace: "${id}", name: "mine-now" }) { __typename } }`;
    const outcome = await lockRows(w(), "workspaces", { id }, async ({ awaited, set, remove, commit }) => {
      const waiting = together([{ by: friend!, query: rename, variables: {} }]);
      await awaited();
      await set({ owner_id: eve!.id });
      await remove("workspace_acl_entries", { workspace_id: id });
      await commit();
      return waiting;
    });
    expect(outcome).to.deep.equal(["FORBIDDEN"]);
  });

  it("lock in one order, whichever way they cross: none is unavailable", async () => {
    const [ada, bob, eve] = await w().users("ada", "bob", "eve");
    const callers = [await organizationAdmin("one"), await organizationAdmin("two"), w().owner];
    const version = await insertVersion(w());
    const lines = logged.length;
    for (let round = 0; round < 4; round++) {
      const boxes = await Promise.all(Array.from({ length: 4 }, () => insertStopped(w(), ada!.id, version)));
      const offered = await Promise.all(boxes.map((id) => insertOffer(w(), id, bob!.id, w().owner.id)));
      const outcomes = await together([
        ...boxes.map((_, at) => ({
          by: callers[at % callers.length]!,
          query: transfer,
          // The order of the input is not that of the locks.
          variables: { input: { workspaces: [...boxes.slice(at), ...boxes.slice(0, at)], receiver: eve!.id } },
        })),
        ...offered.flatMap((id, at) => [
          { by: bob!, query: at % 2 === 0 ? accept : decline, variables: { id } },
          { by: callers[at % callers.length]!, query: transfer, variables: { input: { workspaces: [boxes[at]] } } },
        ]),
      ]);
      for (const outcome of outcomes) expect(outcome).to.be.oneOf(["done", "CONFLICT", "NOT_FOUND", "FORBIDDEN"]);
    }
    const deadlocks = logged.slice(lines).filter(({ err }) => (err as { code?: string } | undefined)?.code === "40P01");
    expect(deadlocks).to.deep.equal([]);
  });

  it("ask the quota of the receiver, also of concurrent ones, and its names", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const admin = await w().user("owner-too");
    await w()
      .as(w().owner)
      .graphql(setUserRoles, { input: { user: admin.id, roles: ["OWNER"] } });
    await allow(w().defaultOrganization, 3);
    const boxes = [await stoppedBox(ada!, 1), await stoppedBox(ada!, 1), await stoppedBox(ada!, 1)];
    expect((await readBox(w(), w().owner, boxes[0]!.id)).latestBuild).to.include({ dailyCost: 1 });
    await take(admin, { workspaces: boxes.map(({ id }) => id), receiver: bob!.id });
    await allow(w().defaultOrganization, 2);
    const outcomes = await Promise.all(
      (await offersTo(bob!)).map(({ id }: { id: string }) =>
        w()
          .as(bob!)
          .post("/graphql", { query: accept, variables: { id } })
          .then(({ body }) => body.errors?.[0].extensions.code ?? "done"),
      ),
    );
    expect(outcomes).to.have.members(["CONFLICT", "done", "done"]);
    await allow(w().defaultOrganization, 100);
    const { id, name } = await stoppedBox(ada!);
    const template = await templateOf(w(), boxOf());
    await w()
      .as(admin)
      .graphql(create, { input: { templateId: template.id, name } });
    expect(await refusal(admin, transfer, { input: { workspaces: [id] } })).to.equal("CONFLICT");
  });
});

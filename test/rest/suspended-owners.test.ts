// The running workspaces of suspended users are stopped, unless an unusual number of users was suspended together.
// Reaches for tables: the time after which they are stopped passes in no test, and a race needs a lock.
import { expect } from "chai";
import { activateUser, suspend } from "../support/accounts.js";
import { fillIn } from "../support/backfills.js";
import { runJob, runSchedule } from "../support/background.js";
import { boxOf, createBox, doBuild, readBox, runningBox, templateOf } from "../support/builds.js";
import { lockRows, setColumns, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

describe("workspaces of suspended users", () => {
  const w = world();

  /** Runs the job as several replicas would. */
  const run = () => Promise.all([runSchedule(w().app, "halt"), runSchedule(w().app, "halt")]);
  const pass = (user: Person, time = "-11 min") => setTimes(w(), "users", { id: user.id }, { suspended_at: time });
  const activate = ({ id }: Person) =>
    w()
      .as(w().owner)
      .graphql(activateUser, { input: { user: id } });
  const latestOf = async (id: string) => (await readBox(w(), w().owner, id)).latestBuild;

  it("are stopped after ten minutes by an ordinary stop, with the reason, by one of the replicas", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const { workspace: other } = await runningBox(w(), bob!, template.id);
    await suspend(w(), ada!);
    await run();
    expect(await latestOf(workspace.id)).to.include({ transition: "START" });
    await pass(ada!);
    await run();
    expect(await latestOf(workspace.id)).to.include({
      transition: "STOP",
      reason: "OWNER_SUSPENDED",
      buildNumber: 2,
      status: "PENDING",
    });
    expect(await latestOf(other.id)).to.include({ transition: "START" });
    await doBuild(w(), (await latestOf(workspace.id)).id);
    await run();
    expect(await latestOf(workspace.id)).to.include({ buildNumber: 2, status: "STOPPED" });
  });

  it("keep running if the user is activated before, also at the last moment", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    await suspend(w(), ada!);
    await activate(ada!);
    await suspend(w(), ada!);
    await run();
    expect(await latestOf(workspace.id)).to.include({ transition: "START" });
    await pass(ada!);
    // An activation for which the job waits.
    const { stopping } = await lockRows(w(), "users", { id: ada!.id }, async ({ set, awaited, commit }) => {
      await set({ status: "active" });
      const job = run();
      await awaited();
      await commit();
      return { stopping: job };
    });
    await stopping;
    expect(await latestOf(workspace.id)).to.include({ transition: "START", buildNumber: 1 });
  });

  it("are stopped after an upgrade, for users who were suspended before it", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const { workspace: recent } = await runningBox(w(), bob!, template.id);
    for (const person of [ada!, bob!]) await suspend(w(), person);
    // As an earlier release left them, which did not store when it was.
    await setTimes(w(), "users", { id: ada!.id }, { updated_at: "-2 h" });
    for (const { id } of [ada!, bob!]) await setColumns(w(), "users", { id }, { suspended_at: null });
    await run();
    expect(await latestOf(workspace.id)).to.include({ transition: "START" });
    const [filled] = await fillIn(w(), "0077-suspended-owners");
    expect(filled).to.be.at.least(2);
    expect(await fillIn(w(), "0077-suspended-owners")).to.deep.equal([0]);
    await run();
    expect(await latestOf(workspace.id)).to.include({ transition: "STOP", reason: "OWNER_SUSPENDED" });
    expect(await latestOf(recent.id), "ten minutes from the last change").to.include({ transition: "START" });
  });

  it("are found by the status of their owner", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await createBox(w(), ada!, template.id);
    const list = async (status: string) =>
      (
        await w()
          .as(w().owner)
          .graphql(
            `{ workspaces(first: 100, filter: { ownerStatus: ${status}, owner: "${ada!.id}" }) { nodes { id } } }`,
          )
      ).workspaces.nodes;
    expect([await list("ACTIVE"), await list("SUSPENDED")]).to.deep.equal([[{ id: workspace.id }], []]);
    await suspend(w(), ada!);
    expect([await list("ACTIVE"), await list("SUSPENDED")]).to.deep.equal([[], [{ id: workspace.id }]]);
  });

  it("keep an account from being deleted, which says how many there are to those who may not see them", async () => {
    const [ada, admin] = await w().users("ada", "admin");
    await w()
      .as(w().owner)
      .graphql(
        `mutation($user: String!) { setUserRoles(input: { user: $user, roles: [USER_ADMIN] }) { __typename } }`,
        {
          user: admin!.id,
        },
      );
    const template = await templateOf(w(), boxOf());
    for (let count = 0; count < 2; count++) await createBox(w(), ada!, template.id);
    const end = `mutation($user: String!) { deleteUser(input: { user: $user }) { __typename } }`;
    const refusalOf = async (by: Person) => {
      const { errors } = await w().as(by).failure(end, { user: ada!.id });
      return [errors[0]!.message, errors[0]!.extensions.detail];
    };
    const message = "The user owns workspaces. Delete them first.";
    expect(await refusalOf(w().owner)).to.deep.equal([message, undefined]);
    expect(await refusalOf(admin!)).to.deep.equal([
      message,
      "The user owns 2 workspaces, of which you may not see 2. Owners of the deployment and administrators of the organization can delete them, or take them over.",
    ]);
  });
});

describe("workspaces of many users who are suspended together", () => {
  const w = world();
  const run = () => Promise.all([runSchedule(w().app, "halt"), runSchedule(w().app, "halt")]);
  const latestOf = async (id: string) => (await readBox(w(), w().owner, id)).latestBuild;
  const held = async () =>
    (await w().as(w().owner).graphql("{ heldWorkspaces { userCount workspaceCount } }")).heldWorkspaces;
  const alarms = async () => {
    await runJob(w().app, "noticeJob");
    const { inboxNotifications } = await w()
      .as(w().owner)
      .graphql("{ inboxNotifications(first: 100) { nodes { title } } }");
    return inboxNotifications.nodes
      .map(({ title }: { title: string }) => title)
      .filter((title: string) => title.endsWith("suspended together"));
  };

  it("keep running until an owner releases them, or their users are activated", async () => {
    const people = await w().users(...Array.from({ length: 22 }, (_, index) => `p${index}`));
    const template = await templateOf(w(), boxOf());
    const boxes: string[] = [];
    for (const person of people.slice(0, 3)) {
      const { workspace } = await runningBox(w(), person, template.id);
      boxes.push(workspace.id);
    }
    for (const person of people.slice(0, 20)) await suspend(w(), person);
    expect([await held(), await alarms()]).to.deep.equal([{ userCount: 0, workspaceCount: 0 }, []]);
    // Two concurrently, neither of which sees the other.
    await Promise.all(people.slice(20).map((person) => suspend(w(), person)));
    await eventually(async () => (await held()).userCount === 22, "all are held");
    expect((await held()).workspaceCount).to.equal(3);
    await eventually(async () => (await alarms()).length === 1, "owners are told once");
    for (const { id } of people) await setTimes(w(), "users", { id }, { suspended_at: "-15 min" });
    await run();
    for (const id of boxes) expect(await latestOf(id)).to.include({ transition: "START" });

    await w()
      .as(w().owner)
      .graphql(activateUser, { input: { user: people[0]!.id } });
    expect(await held()).to.deep.equal({ userCount: 21, workspaceCount: 2 });
    const release = "mutation { releaseHeldWorkspaces { releasedUserCount } }";
    const releases = await Promise.all([1, 2].map(() => w().as(w().owner).graphql(release)));
    expect(releases.map((each) => each.releaseHeldWorkspaces.releasedUserCount)).to.have.members([0, 21]);
    await run();
    expect(await latestOf(boxes[0]!)).to.include({ transition: "START" });
    for (const id of boxes.slice(1))
      expect(await latestOf(id)).to.include({ transition: "STOP", reason: "OWNER_SUSPENDED" });
    expect([await held(), (await alarms()).length]).to.deep.equal([{ userCount: 0, workspaceCount: 0 }, 1]);
  });

  it("are also held if the server was down while they were suspended", async () => {
    const people = await w().users(...Array.from({ length: 21 }, (_, index) => `q${index}`));
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), people[0]!, template.id);
    // As a server that has no such check writes it, and hours ago.
    const id = people.map((person) => person.id);
    await setColumns(w(), "users", { id }, { status: "suspended" });
    await setTimes(w(), "users", { id }, { suspended_at: "-5 h" });
    await run();
    expect(await latestOf(workspace.id)).to.include({ transition: "START" });
    expect(await held()).to.deep.equal({ userCount: 21, workspaceCount: 1 });
  });
});

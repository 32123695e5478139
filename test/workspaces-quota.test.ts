// The workspace quota: what builds cost, and which of them fail.
import { expect } from "chai";
import {
  addVersion,
  boxOf,
  createBox,
  doBuild,
  endBuild,
  readBox,
  reportBuild,
  runningBox,
  start,
  stop,
  templateOf,
} from "./support/builds.js";
import { trusting, Vendor } from "./support/licensing.js";
import { newKey, type Refused, serve } from "./support/provisioners.js";
import { world } from "./support/world.js";

describe("the workspace quota", () => {
  const w = world();

  const allow = async (groupId: string, allowance: number) =>
    w().as(w().owner).patch(`/api/v2/groups/${groupId}`, { quota_allowance: allowance });
  const quotaOf = async (user: { id: string }) =>
    (await w().as(w().owner).get(`/api/v2/organizations/default/members/${user.id}/workspace-quota`)).body;

  it("lets one of two builds succeed that together exceed the budget, and every stop", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group(undefined, { members: [ada!] });
    await allow(w().defaultOrganization, 3);
    await allow(group.id, 4);
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 7, credits_consumed: 0 });
    const template = await templateOf(w(), boxOf(4));
    const boxes = await Promise.all([createBox(w(), ada!, template.id), createBox(w(), ada!, template.id)]);
    const reported = await Promise.all(boxes.map(({ workspaceBuild }) => reportBuild(w(), workspaceBuild.id)));
    expect(reported.filter(Boolean).map((each) => each!.dailyCost)).to.deep.equal([4]);
    const winner = boxes[reported.findIndex(Boolean)]!;
    const loser = boxes[reported.findIndex((each) => !each)]!;
    await endBuild(w(), winner.workspaceBuild.id);
    expect(await readBox(w(), ada!, loser.workspace.id)).to.include({ status: "FAILED" });
    expect((await readBox(w(), ada!, winner.workspace.id)).latestBuild).to.include({ dailyCost: 4 });
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 7, credits_consumed: 4 });
    expect((await w().as(ada!).get(`/api/v2/workspace-quota/${ada!.id}`)).body.credits_consumed).to.equal(4);

    await allow(group.id, 0);
    const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: winner.workspace.id });
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 3, credits_consumed: 4 });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 3, credits_consumed: 0 });
    const { startWorkspace } = await w()
      .as(ada!)
      .graphql(start, { input: { workspace: winner.workspace.id } });
    expect(await doBuild(w(), startWorkspace.workspaceBuild.id)).to.equal(undefined);
  });

  it("is compared with what a new workspace costs before it is built", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group(undefined, { members: [ada!] });
    await allow(w().defaultOrganization, 0);
    await allow(group.id, 7);
    const template = await templateOf(w(), boxOf(4));
    const query = `query($id: UUID!) { template(id: $id) { activeVersion { id } } }`;
    const { template: seen } = await w().as(ada!).graphql(query, { id: template.id });
    const costOf = async () =>
      (
        await w()
          .as(ada!)
          .graphql(
            `query($id: UUID!) { workspaceCost(templateVersionId: $id) { needs budget creditsConsumed exceeds isEnforced } }`,
            { id: seen.activeVersion.id },
          )
      ).workspaceCost;
    const cost = { needs: 4, budget: 7, isEnforced: true };
    expect(await costOf()).to.deep.equal({ ...cost, creditsConsumed: 0, exceeds: false });
    await runningBox(w(), ada!, template.id);
    expect(await costOf()).to.deep.equal({ ...cost, creditsConsumed: 4, exceeds: true });
    const { workspaceBuild } = await createBox(w(), ada!, template.id);
    expect(await doBuild(w(), workspaceBuild.id)).to.equal(undefined);
  });

  it("permits a build that costs less than the one before, however small the budget has become", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group(undefined, { members: [ada!] });
    await allow(w().defaultOrganization, 0);
    await allow(group.id, 9);
    const template = await templateOf(w(), boxOf(9));
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    await reportBuild(w(), workspaceBuild.id);
    await endBuild(w(), workspaceBuild.id, "failed");
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 9, credits_consumed: 9 });
    const startAt = async (cost: number): Promise<string> => {
      const { id } = await addVersion(w(), template.id, boxOf(cost));
      const input = { workspace: workspace.id, templateVersionId: id };
      return (await w().as(ada!).graphql(start, { input })).startWorkspace.workspaceBuild.id;
    };
    const again = await startAt(9);
    expect((await reportBuild(w(), again))!.dailyCost, "in place of the build before").to.equal(9);
    await endBuild(w(), again, "failed");
    await allow(group.id, 1);
    expect(await doBuild(w(), await startAt(9)), "as much as before").to.equal(undefined);
    expect((await doBuild(w(), await startAt(8)))!.dailyCost).to.equal(8);
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 1, credits_consumed: 8 });
  });

  it("does not count workspaces without a cost, nor touch their builds, however much others consume", async () => {
    const [ada] = await w().users("ada");
    await allow(w().defaultOrganization, 2);
    await runningBox(w(), ada!, (await templateOf(w(), boxOf(2))).id);
    await allow(w().defaultOrganization, 0);
    const template = await templateOf(w(), boxOf(0));
    const { workspace } = await runningBox(w(), ada!, template.id);
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "RUNNING" });
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 0, credits_consumed: 2 });
  });

  it("is that of one organization, of members alone", async () => {
    const other = await w().organization();
    const third = await w().organization();
    const bob = await w().user("bob", [w().defaultOrganization, other.id]);
    await allow(w().defaultOrganization, 2);
    await allow(other.id, 5);
    const template = await templateOf(w(), boxOf(2));
    await runningBox(w(), bob, template.id);
    expect(await quotaOf(bob)).to.deep.equal({ budget: 2, credits_consumed: 2 });
    const quotaIn = (organization: string) =>
      w().as(w().owner).get(`/api/v2/organizations/${organization}/members/${bob.id}/workspace-quota`);
    expect((await quotaIn(other.id)).body).to.deep.equal({ budget: 5, credits_consumed: 0 });
    expect(await quotaIn(third.id)).to.include({ status: 404 });
  });

  it("takes a repeated report once, and gives new tokens for it", async () => {
    const [ada] = await w().users("ada");
    const group = await w().group(undefined, { members: [ada!] });
    await allow(w().defaultOrganization, 0);
    await allow(group.id, 5);
    const template = await templateOf(w(), boxOf(5));
    const { workspaceBuild } = await createBox(w(), ada!, template.id);
    const first = await reportBuild(w(), workspaceBuild.id);
    const second = await reportBuild(w(), workspaceBuild.id);
    expect(second!.agents[0]!.agentId).to.equal(first!.agents[0]!.agentId);
    expect(second!.agents[0]!.token)
      .to.match(/^stwa_/)
      .and.not.equal(first!.agents[0]!.token);
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 5, credits_consumed: 5 });
  });

  it("fails a build over it when its daemon reports: the daemon learns why, and so does the owner", async () => {
    const [ada] = await w().users("ada");
    await allow(w().defaultOrganization, 3);
    const template = await templateOf(w(), boxOf(4));
    const daemon = (await serve(w().app, { key: await newKey(w()), query: "provisioner=echo&name=quota" })).work();
    const { workspace } = await createBox(w(), ada!, template.id);
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    const { resources } = job.assignment.document;
    const refused = await daemon
      .call("reportProvisionerResources", job, { resources })
      .catch((error: Refused) => error);
    expect(refused).to.include({ code: "CONFLICT", reason: "QUOTA_EXCEEDED" });
    expect((refused as Refused).errors[0]!.message).to.equal("The build exceeds the workspace quota of the owner.");
    const late = await daemon.call("completeProvisionerJob", job).catch((error: Refused) => error);
    expect((late as Refused).reason).to.equal("LEASE_LOST");

    const { provisionerJob } = await w()
      .as(ada!)
      .graphql("query($id: UUID!) { provisionerJob(id: $id) { status error errorCode } }", { id: job.jobId });
    expect(provisionerJob).to.include({ status: "FAILED", errorCode: "INSUFFICIENT_QUOTA" });
    expect(provisionerJob.error).to.match(/credits/);
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "FAILED" });
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 3, credits_consumed: 0 });
    const { body } = await w().as(w().owner).get("/api/v2/organizations/default/provisionerkeys/daemons");
    const listed = (body as Array<{ daemons: Array<{ name: string; previous_job?: object }> }>).flatMap(
      (each) => each.daemons,
    );
    expect(listed.find(({ name }) => name === "quota")!.previous_job).to.include({ id: job.jobId, status: "failed" });
    await daemon.leave();
  });
});

describe("the workspace quota without a license", () => {
  const w = world(trusting(new Vendor()));

  it("limits nothing", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(4));
    const { workspace } = await runningBox(w(), ada!, template.id);
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "RUNNING" });
  });
});

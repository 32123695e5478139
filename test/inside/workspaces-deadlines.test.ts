// What the server does with workspaces by itself: deadlines, dormancy, and deletion.
// Looks inside: deadlines at quiet hours are computed for days to come.
import { expect } from "chai";
import { deadlinesAt } from "../../src/domain/workspaces/deadlines.js";
import { systemContext } from "../support/app.js";
import { runSchedule } from "../support/background.js";
import {
  boxOf,
  createBox,
  doBuild,
  endBuild,
  readBox,
  runningBox,
  setTemplate,
  start,
  stop,
  templateOf,
} from "../support/builds.js";
import { connect, reported } from "../support/connections.js";
import { newId } from "../support/ids.js";
import { type Person, world } from "../support/world.js";

const hour = 3_600_000;

describe("schedules of workspaces", () => {
  const w = world();

  const query = (text: string, ...values: unknown[]) => w().app.services.database.pool.query(text, values);
  const context = () => systemContext(w().app);
  /** Runs the job as several replicas would. */
  const run = (name: "stop" | "make" | "delete") =>
    Promise.all([runSchedule(w().app, name), runSchedule(w().app, name)]);
  const inboxOf = async (user: { token: string }): Promise<string[]> =>
    (await w().as(user).graphql("{ inboxNotifications { nodes { title } } }")).inboxNotifications.nodes.map(
      ({ title }: { title: string }) => title,
    );

  it("set the deadline by the time to live of the workspace, otherwise of the template", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 3600 } });
    const deadlineOf = async (more: Record<string, unknown>) => {
      const { workspace } = await runningBox(w(), ada!, template.id, more);
      const { deadline, latestBuild } = await readBox(w(), ada!, workspace.id);
      expect(latestBuild.deadline).to.equal(deadline);
      return deadline === null ? null : Math.round((Date.parse(deadline) - Date.now()) / hour);
    };
    expect(await deadlineOf({})).to.equal(1);
    expect(await deadlineOf({ ttlSeconds: 7200 })).to.equal(2);
    expect(await deadlineOf({ ttlSeconds: 0 })).to.equal(null);
  });

  it("end no later than the quiet hours of an autostop day, at least an hour ahead", () => {
    const limits = { ttl: 0, autostopDays: [6], schedule: "CRON_TZ=Europe/Berlin 0 1 * * *", prebuiltPresetId: null };
    const at = (time: string, more = {}) => deadlinesAt(context(), { ...limits, ...more }, Date.parse(time));
    // Friday 23:00Z is Saturday 01:00 in Berlin in summer.
    expect(at("2026-07-06T12:00:00Z").maxDeadline).to.equal("2026-07-10T23:00:00.000Z");
    expect(at("2026-07-10T22:00:00Z").maxDeadline).to.equal("2026-07-10T23:00:00.000Z");
    expect(at("2026-07-10T22:00:01Z").maxDeadline).to.equal("2026-07-17T23:00:00.000Z");
    expect(at("2026-07-06T12:00:00Z", { ttl: 60 }).deadline).to.equal("2026-07-06T12:01:00.000Z");
    expect(at("2026-07-06T12:00:00Z", { ttl: 10_000_000 }).deadline).to.equal("2026-07-10T23:00:00.000Z");
    expect(at("2026-07-06T12:00:00Z", { autostopDays: [] })).to.deep.equal({ deadline: null, maxDeadline: null });
  });

  it("are extended by their owner up to the maximum", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 3600 } });
    const { workspace } = await runningBox(w(), ada!, template.id);
    const extend = `mutation($input: ExtendWorkspaceDeadlineInput!) { extendWorkspaceDeadline(input: $input) { workspace { deadline } } }`;
    const to = (hours: number) => ({
      input: { workspace: workspace.id, deadline: new Date(Date.now() + hours * hour).toISOString() },
    });
    const later = to(3);
    expect((await w().as(ada!).graphql(extend, later)).extendWorkspaceDeadline.workspace.deadline).to.equal(
      later.input.deadline,
    );
    expect((await w().as(ada!).failure(extend, to(2))).code).to.equal("BAD_USER_INPUT");
    await query(
      "update workspace_builds set max_deadline = now() + interval '4 hours' where workspace_id = $1",
      workspace.id,
    );
    expect((await w().as(ada!).failure(extend, to(5))).code).to.equal("BAD_USER_INPUT");
    const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: workspace.id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    expect((await w().as(ada!).failure(extend, to(3.5))).message).to.equal("The workspace is not running.");
  });

  it("are moved by activity, not back, and not past the maximum", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 600, activity_bump: 3600 } });
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    const { agents } = (await doBuild(w(), workspaceBuild.id))!;
    const connects = () => reported(w(), { token: agents[0]!.token! }, connect(newId()));
    await connects();
    const { deadline, latestBuild } = await readBox(w(), ada!, workspace.id);
    expect(Date.parse(deadline) - Date.now()).to.be.closeTo(hour, 60_000);
    expect(latestBuild.deadline).to.equal(deadline);
    await connects();
    expect((await readBox(w(), ada!, workspace.id)).deadline).to.equal(deadline);

    await setTemplate(w(), template.id, { activity_bump: 36_000 });
    await query(
      "update workspace_builds set max_deadline = now() + interval '2 hours' where workspace_id = $1",
      workspace.id,
    );
    await connects();
    expect(Date.parse((await readBox(w(), ada!, workspace.id)).deadline) - Date.now()).to.be.closeTo(2 * hour, 60_000);
  });

  describe("whose settings change while workspaces run", () => {
    const minute = 60_000;
    const change = (template: string, fields: object) =>
      w()
        .as(w().owner)
        .graphql(`mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { id } } }`, {
          input: { templateId: template, ...fields },
        });
    const rest = (time: Date) => `CRON_TZ=UTC ${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
    /** The time of day in some hours, and its next occurrence. */
    const inHours = (hours: number) => new Date(Math.floor((Date.now() + hours * hour) / minute) * minute);
    const rests = (person: Person, hours: number) =>
      w()
        .as(person)
        .put(`/api/v2/users/${person.id}/quiet-hours`, { schedule: rest(inHours(hours)) });
    /** Hours from now to the deadline and to its maximum; null without. */
    const hoursLeft = async (person: Person, id: string) => {
      const { deadline, latestBuild } = await readBox(w(), person, id);
      expect(latestBuild.deadline).to.equal(deadline);
      return [deadline, latestBuild.maxDeadline].map((time: string | null) =>
        time === null ? null : Math.round(((Date.parse(time) - Date.now()) / hour) * 10) / 10,
      );
    };
    /** A workspace whose start ended some hours ago. */
    const runningSince = async (person: Person, template: string, hours: number, more = {}) => {
      const { workspace, workspaceBuild } = await createBox(w(), person, template, more);
      await doBuild(w(), workspaceBuild.id);
      const ago = `${hours} hours`;
      await query("update provisioner_jobs set completed_at = now() - $2::interval where workspace_build_id = $1", workspaceBuild.id, ago); // prettier-ignore
      for (const table of ["workspaces", "workspace_builds"])
        await query(`update ${table} set deadline = deadline - $2::interval where ${table === "workspaces" ? "id" : "workspace_id"} = $1`, workspace.id, ago); // prettier-ignore
      await query("update workspace_builds set planned_deadline = deadline where workspace_id = $1", workspace.id);
      return workspace.id;
    };
    const everyDay = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"];

    it("follow the time to live of the template from the end of their start, at least an hour ahead", async () => {
      const [ada] = await w().users("ada");
      const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 36_000, activity_bump: 3600 } });
      const plain = await runningSince(ada!, template.id, 3);
      const own = await runningSince(ada!, template.id, 3, { ttlSeconds: 18_000 });
      const moved = await runningSince(ada!, template.id, 3);
      await w()
        .as(ada!)
        .graphql(
          `mutation($input: ExtendWorkspaceDeadlineInput!) { extendWorkspaceDeadline(input: $input) { workspace { id } } }`,
          { input: { workspace: moved, deadline: new Date(Date.now() + 9 * hour).toISOString() } },
        );
      const left = async () =>
        (await Promise.all([plain, own, moved].map((id) => hoursLeft(ada!, id)))).map(([deadline]) => deadline);
      expect(await left()).to.deep.equal([7, 2, 9]);
      await change(template.id, { defaultTtlSeconds: 72_000 });
      expect(await left(), "longer").to.deep.equal([17, 2, 17]);
      await change(template.id, { defaultTtlSeconds: 18_000 });
      expect(await left(), "shorter").to.deep.equal([2, 2, 2]);
      await change(template.id, { defaultTtlSeconds: 600 });
      expect(await left(), "passed").to.deep.equal([1, 2, 1]);
      await change(template.id, { defaultTtlSeconds: 0 });
      expect(await left(), "none").to.deep.equal([null, 2, null]);
      await change(template.id, { defaultTtlSeconds: 36_000 });
      expect(await left(), "one again").to.deep.equal([7, 2, 7]);
      await change(template.id, { defaultTtlSeconds: 36_000, description: "The same." });
      expect(await left(), "the same").to.deep.equal([7, 2, 7]);
    });

    it("keep the time to which people or activity moved them, if it is later, also of builds from before an upgrade", async () => {
      const [ada] = await w().users("ada");
      const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 36_000 } });
      const moved = await runningSince(ada!, template.id, 3);
      const upgraded = await runningSince(ada!, template.id, 3);
      const untouched = await runningSince(ada!, template.id, 3);
      for (const id of [moved, upgraded])
        for (const table of ["workspaces", "workspace_builds"])
          await query(`update ${table} set deadline = date_trunc('minute', now() + interval '9 hours') where ${table === "workspaces" ? "id" : "workspace_id"} = $1`, id); // prettier-ignore
      await query("update workspace_builds set planned_deadline = null where workspace_id = any($1)", [
        upgraded,
        untouched,
      ]);
      const left = async () =>
        (await Promise.all([moved, upgraded, untouched].map((id) => hoursLeft(ada!, id)))).map(
          ([deadline]) => deadline,
        );
      await change(template.id, { defaultTtlSeconds: 18_000 });
      expect(await left()).to.deep.equal([9, 9, 2]);
      await change(template.id, { defaultTtlSeconds: 3600 });
      expect(await left()).to.deep.equal([9, 9, 1]);
      await change(template.id, { defaultTtlSeconds: 72_000 });
      expect(await left()).to.deep.equal([17, 17, 17]);
    });

    it("follow the autostop days of the template and the quiet hours of their owner", async () => {
      const [ada, bob] = await w().users("ada", "bob");
      const template = await templateOf(w(), boxOf());
      await rests(ada!, 5);
      const id = await runningSince(ada!, template.id, 3);
      const other = await runningSince(bob!, template.id, 3);
      expect(await hoursLeft(ada!, id)).to.deep.equal([null, null]);
      await change(template.id, { autostopDays: everyDay });
      expect(await hoursLeft(ada!, id)).to.deep.equal([5, 5]);
      expect((await hoursLeft(bob!, other))[0]).to.be.within(1, 25);
      const { deadline: before, latestBuild: built } = await readBox(w(), bob!, other);
      expect(built.maxDeadline).to.equal(before);

      await rests(ada!, 9);
      expect(await hoursLeft(ada!, id)).to.deep.equal([9, 9]);
      const { deadline, latestBuild } = await readBox(w(), bob!, other);
      expect([deadline, latestBuild.deadline, latestBuild.maxDeadline]).to.deep.equal([before, before, before]);
      await rests(ada!, 2);
      expect(await hoursLeft(ada!, id)).to.deep.equal([2, 2]);
      await rests(ada!, -1);
      expect(await hoursLeft(ada!, id), "not put off by a time of day that has passed").to.deep.equal([2, 2]);
      await rests(ada!, 0.5);
      expect(await hoursLeft(ada!, id), "nor by one that is too near").to.deep.equal([2, 2]);
      await change(template.id, { defaultTtlSeconds: 36_000 });
      expect(await hoursLeft(ada!, id)).to.deep.equal([2, 2]);
      await change(template.id, { autostopDays: [] });
      expect(await hoursLeft(ada!, id)).to.deep.equal([7, null]);
      await w().as(ada!).put(`/api/v2/users/${ada!.id}/quiet-hours`, { schedule: "" });
      expect(await hoursLeft(ada!, id)).to.deep.equal([7, null]);
    });
  });

  it("stop workspaces once when the deadline passes, and try again after a failure", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 3600 } });
    const { workspace } = await runningBox(w(), ada!, template.id);
    await query("update workspaces set deadline = now() - interval '1 second' where id = $1", workspace.id);
    await run("stop");
    const { latestBuild } = await readBox(w(), ada!, workspace.id);
    expect(latestBuild).to.deep.include({
      buildNumber: 2,
      transition: "STOP",
      reason: "AUTOSTOP",
      initiator: { username: "system" },
    });
    await endBuild(w(), latestBuild.id, "failed");
    expect(await inboxOf(ada!)).to.deep.equal([`Automatic build of workspace ${workspace.name} failed`]);
    await run("stop");
    expect((await readBox(w(), ada!, workspace.id)).latestBuild).to.include({ buildNumber: 2 });

    await query("update workspaces set autobuild_after = now() - interval '1 second' where id = $1", workspace.id);
    await run("stop");
    const { latestBuild: second } = await readBox(w(), ada!, workspace.id);
    expect(second).to.include({ buildNumber: 3, reason: "AUTOSTOP" });
    await doBuild(w(), second.id);
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "STOPPED", deadline: null });
    await run("stop");
    expect((await readBox(w(), ada!, workspace.id)).latestBuild).to.include({ buildNumber: 3 });
  });

  it("make unused workspaces dormant until they are activated", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { dormant_after: 3600, delete_after: 86_400 } });
    const { workspace } = await runningBox(w(), ada!, template.id);
    await run("make");
    expect(await readBox(w(), ada!, workspace.id)).to.include({ dormantAt: null });
    await query("update workspaces set last_used_at = now() - interval '2 hours' where id = $1", workspace.id);
    await run("make");
    const box = await readBox(w(), ada!, workspace.id);
    expect(box.dormantAt).to.be.a("string");
    expect(box.latestBuild).to.include({ transition: "STOP", reason: "DORMANCY" });
    await doBuild(w(), box.latestBuild.id);
    expect((await inboxOf(ada!)).toSorted()).to.deep.equal([
      `Workspace ${workspace.name} is dormant`,
      `Workspace ${workspace.name} will be deleted`,
    ]);
    expect(
      (
        await w()
          .as(ada!)
          .failure(start, { input: { workspace: workspace.id } })
      ).message,
    ).to.equal("The workspace is dormant. Activate it first.");
    const activate = `mutation($workspace: String!) { activateWorkspace(input: { workspace: $workspace }) { workspace { dormantAt } } }`;
    const { activateWorkspace } = await w().as(ada!).graphql(activate, { workspace: workspace.id });
    expect(activateWorkspace.workspace).to.deep.equal({ dormantAt: null });
    await w()
      .as(ada!)
      .graphql(start, { input: { workspace: workspace.id } });
  });

  it("delete workspaces that remain dormant", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { dormant_after: 3600, delete_after: 3600 } });
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    await endBuild(w(), workspaceBuild.id, "failed");
    await query("update workspaces set dormant_at = now() - interval '2 hours' where id = $1", workspace.id);
    await run("delete");
    const { latestBuild } = await readBox(w(), ada!, workspace.id);
    expect(latestBuild).to.include({ transition: "DELETE", reason: "AUTODELETE", buildNumber: 2 });
    await doBuild(w(), latestBuild.id);
    const gone = `query($id: UUID!) { workspace(id: $id) { id } }`;
    expect((await w().as(ada!).failure(gone, { id: workspace.id })).code).to.equal("NOT_FOUND");
    expect(await inboxOf(ada!)).to.deep.equal([
      `Workspace ${workspace.name} was deleted`,
      `Your workspace ${workspace.name} failed to start`,
    ]);
  });
});

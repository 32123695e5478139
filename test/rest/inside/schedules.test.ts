// Starts of workspaces by the clock, and updates that come with a start.
// Looks inside: schedules are made due; the weeks of a schedule are tried as a pure function.
import { expect } from "chai";
import {
  nextStart,
  weeklyScheduleOf,
  weeklyScheduleProblem,
  weeklyScheduleText,
} from "../../../src/domain/quiet-hours/daily-schedule.js";
import { runSchedule } from "../../support/background.js";
import {
  addVersion,
  boxOf,
  doBuild,
  endBuild,
  readBox,
  runningBox,
  setTemplate,
  start,
  stop,
  templateOf,
} from "../../support/builds.js";
import { lockTable } from "../../support/tables.js";
import { type Person, type World, world } from "../../support/world.js";

const minute = 60_000;
const update = `mutation($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) {
  workspace { autostartSchedule nextAutostartAt automaticUpdates } } }`;
const selected = `autostartSchedule nextAutostartAt automaticUpdates status
  latestBuild { buildNumber reason transition initiator { username } templateVersionId }`;

const readSchedule = async (w: World, by: Pick<Person, "token">, id: string) =>
  (await w.as(by).graphql(`query($id: UUID!) { workspace(id: $id) { ${selected} } }`, { id })).workspace;

describe("weekly schedules", () => {
  it("have a time, days, and a zone, in a canonical form", () => {
    const canonical = (text: string) => weeklyScheduleProblem(text) ?? weeklyScheduleText(weeklyScheduleOf(text));
    expect(canonical("0 9 * * 1-5")).to.equal("CRON_TZ=UTC 0 9 * * 1,2,3,4,5");
    expect(canonical("CRON_TZ=europe/berlin 30 2 * * *")).to.equal("CRON_TZ=Europe/Berlin 30 2 * * *");
    expect(canonical("5 0 * * fri-sun,TUE")).to.equal("CRON_TZ=UTC 5 0 * * 0,2,5,6");
    expect(canonical("5 0 * * 0-7")).to.equal("CRON_TZ=UTC 5 0 * * *");
    const weekday = "The weekday must be *, or days and ranges such as 1-5 or MON,WED,FRI-SUN.";
    for (const days of ["8", "5-1", "1-", "-1", "MON-", "1,,2", "x", "*/2", "1-3-5", "1#2", ""])
      expect(weeklyScheduleProblem(`0 9 * * ${days || "''"}`), days).to.equal(weekday);
    expect(weeklyScheduleProblem("0 9 1 * 1")).to.equal("The day of month must be *.");
    expect(weeklyScheduleProblem("0 9 * 5 1")).to.equal("The month must be *.");
    expect(weeklyScheduleProblem("*/5 9 * * 1")).to.match(/^The minute/);
    expect(weeklyScheduleProblem("CRON_TZ=Mars/Olympus 0 9 * * 1")).to.match(/^The time zone/);
  });

  it("are due on each of their days, the last of a week, a month, and a year included", () => {
    const starts = (text: string, after: string, count: number) => {
      const schedule = weeklyScheduleOf(text);
      const found: string[] = [];
      for (let time = Date.parse(after); found.length < count;) {
        time = nextStart(schedule, time, schedule.days);
        found.push(new Date(time).toISOString().slice(0, 16));
      }
      return found;
    };
    const days = (month: string, ...numbers: string[]) => numbers.map((number) => `${month}-${number}T23:59`);
    // The last of October 2027 is a Sunday, that of December a Friday.
    expect(starts("59 23 * * *", "2027-10-29T23:59:00Z", 4)).to.deep.equal([
      ...days("2027-10", "30", "31"),
      ...days("2027-11", "01", "02"),
    ]);
    for (const weekend of ["SAT-SUN", "6-7", "0,6", "SAT,SUN"])
      expect(starts(`59 23 * * ${weekend}`, "2027-10-30T00:00:00Z", 4), weekend).to.deep.equal([
        ...days("2027-10", "30", "31"),
        ...days("2027-11", "06", "07"),
      ]);
    expect(starts("59 23 * * MON-FRI", "2027-12-30T23:58:00Z", 3)).to.deep.equal([
      ...days("2027-12", "30", "31"),
      ...days("2028-01", "03"),
    ]);
    expect(starts("59 23 * * 5-5", "2027-12-31T00:00:00Z", 1)).to.deep.equal(days("2027-12", "31"));
    // Midnight in Berlin is still the day before in UTC.
    expect(starts("CRON_TZ=Europe/Berlin 0 0 * * SUN", "2027-10-30T00:00:00Z", 2)).to.deep.equal([
      "2027-10-30T22:00",
      "2027-11-06T23:00",
    ]);
  });

  it("keep their local time and day when clocks change, also if the change is at midnight", () => {
    const next = (text: string, after: string) => {
      const schedule = weeklyScheduleOf(text);
      return new Date(nextStart(schedule, Date.parse(after), schedule.days)).toISOString();
    };
    const workday = "CRON_TZ=Europe/Berlin 0 9 * * 1-5";
    expect(next(workday, "2027-03-26T08:00:00Z")).to.equal("2027-03-29T07:00:00.000Z");
    expect(next(workday, "2027-10-29T08:00:00Z")).to.equal("2027-11-01T08:00:00.000Z");
    // In Nuuk, Saturday 23:00 is followed by Sunday 0:00: the start of Saturday is at the end of the gap, once.
    const nuuk = "CRON_TZ=America/Nuuk 30 23 * * 6";
    expect(next(nuuk, "2027-03-27T12:00:00Z")).to.equal("2027-03-28T01:00:00.000Z");
    expect(next(nuuk, "2027-03-28T01:00:00Z")).to.equal("2027-04-04T00:30:00.000Z");
  });
});

describe("schedules of starts", () => {
  // A job may wait for a lock of a test for a sixth of this time.
  const w = world({ STEWARD_REQUEST_TIMEOUT: "2m" });
  const query = (text: string, ...values: unknown[]) => w().app.services.database.pool.query(text, values);
  const run = () => Promise.all([runSchedule(w().app, "start"), runSchedule(w().app, "start")]);
  const due = (id: string, ago = "1 second") =>
    query("update workspaces set autostart_at = now() - $2::interval where id = $1", id, ago);
  const set = (by: Pick<Person, "token">, workspace: string, changes: object) =>
    w()
      .as(by)
      .graphql(update, { input: { workspace, ...changes } });

  /** The minute before the present one, in which schedules of the tests are due. */
  const past = () => new Date(Date.now() - minute);
  const present = (at = past()) => `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;

  async function stopped(by: Person, template: string, more: Record<string, unknown> = {}): Promise<string> {
    const { workspace } = await runningBox(w(), by, template, more);
    const { stopWorkspace } = await w().as(by).graphql(stop, { workspace: workspace.id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    return workspace.id;
  }

  it("are set by the owner, audited, and rejected with all other faults", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const id = await stopped(ada!, template.id);
    const { updateWorkspace } = await set(ada!, id, {
      autostartSchedule: "CRON_TZ=europe/berlin 0 9 * * MON-FRI",
      automaticUpdates: true,
    });
    const { nextAutostartAt, ...rest } = updateWorkspace.workspace;
    expect(rest).to.deep.equal({
      autostartSchedule: "CRON_TZ=Europe/Berlin 0 9 * * 1,2,3,4,5",
      automaticUpdates: true,
    });
    expect(Date.parse(nextAutostartAt)).to.be.greaterThan(Date.now());
    const { auditEvents } = await w()
      .as(w().owner)
      .graphql(`{ auditEvents(filter: { resourceId: "${id}", action: UPDATE }) { nodes { diff } } }`);
    expect(auditEvents.nodes).to.deep.equal([
      {
        diff: {
          autostartSchedule: { old: null, new: rest.autostartSchedule },
          automaticUpdates: { old: false, new: true },
        },
      },
    ]);
    const failure = await w()
      .as(ada!)
      .failure(update, { input: { workspace: id, name: "-", ttlSeconds: -1, autostartSchedule: "0 9 * * 8" } });
    expect(failure.errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal([
      "input.name",
      "input.ttlSeconds",
      "input.autostartSchedule",
    ]);
    const ended = await set(ada!, id, { autostartSchedule: " " });
    expect(ended.updateWorkspace.workspace).to.deep.include({ autostartSchedule: null, nextAutostartAt: null });
    // Together, since the server runs the same job.
    await query(`
      update workspaces set autostart_at = now() - interval '1 second' where id = '${id}';
      update workspaces set autostart_at = null where id = '${id}'`);
    await run();
    expect((await readBox(w(), ada!, id)).latestBuild.buildNumber).to.equal(2);
  });

  it("start a stopped workspace once, and move on", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const id = await stopped(ada!, template.id, { autostartSchedule: present() });
    await due(id);
    await run();
    const box = await readSchedule(w(), ada!, id);
    expect(box.latestBuild).to.deep.include({
      buildNumber: 3,
      transition: "START",
      reason: "AUTOSTART",
      initiator: { username: "system" },
    });
    expect(Date.parse(box.nextAutostartAt)).to.be.greaterThan(Date.now());
    // A running workspace stays as it is.
    await doBuild(w(), (await readBox(w(), ada!, id)).latestBuild.id);
    await due(id);
    await run();
    expect((await readSchedule(w(), ada!, id)).latestBuild.buildNumber).to.equal(3);
  });

  it("wait for a build that is open, and are left out an hour later", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id, { autostartSchedule: present() });
    const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: workspace.id });
    await due(workspace.id);
    await run();
    const { rows } = await query("select autostart_at <= now() as due from workspaces where id = $1", workspace.id);
    expect(rows[0].due).to.equal(true);
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    await run();
    const { latestBuild } = await readBox(w(), ada!, workspace.id);
    expect(latestBuild).to.include({ buildNumber: 3, reason: "AUTOSTART" });
    await endBuild(w(), latestBuild.id, "failed");

    const id = await stopped(ada!, template.id, { autostartSchedule: present() });
    await due(id, "61 minutes");
    await run();
    const late = await readSchedule(w(), ada!, id);
    expect(late.latestBuild.buildNumber).to.equal(2);
    expect(Date.parse(late.nextAutostartAt)).to.be.greaterThan(Date.now());
  });

  it("wait for a build that begins after the due workspaces were listed", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const template = await templateOf(w(), boxOf());
    const first = await stopped(ada!, template.id, { autostartSchedule: present() });
    const { workspace } = await runningBox(w(), bob!, template.id, { autostartSchedule: present() });
    await due(first, "2 seconds");
    await due(workspace.id);
    const { stopWorkspace } = await lockTable(w(), "user_quiet_hours", async ({ awaited, commit }) => {
      const running = runSchedule(w().app, "start");
      await awaited();
      const stopping = await w().as(bob!).graphql(stop, { workspace: workspace.id });
      await commit();
      await running;
      return stopping;
    });
    expect((await readBox(w(), ada!, first)).latestBuild.reason).to.equal("AUTOSTART");
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    await run();
    expect((await readBox(w(), bob!, workspace.id)).latestBuild.reason).to.equal("AUTOSTART");
  });

  it("have no effect for dormant workspaces, suspended owners, and where the template allows none", async () => {
    const [ada, bob] = await w().users("ada", "bob");
    const template = await templateOf(w(), boxOf());
    const dormant = await stopped(ada!, template.id, { autostartSchedule: present() });
    const suspended = await stopped(bob!, template.id, { autostartSchedule: present() });
    const forbidding = await templateOf(w(), boxOf());
    const forbidden = await stopped(ada!, forbidding.id, { autostartSchedule: present() });
    await setTemplate(w(), forbidding.id, { allow_user_autostart: false });
    await query("update workspaces set dormant_at = now() where id = $1", dormant);
    await query("update users set status = 'suspended' where id = $1", bob!.id);
    for (const id of [dormant, suspended, forbidden]) await due(id);
    await run();
    const { rows } = await query(
      "select build_number from workspace_builds where workspace_id = any($1) order by build_number desc limit 1",
      [dormant, suspended, forbidden],
    );
    expect(rows).to.deep.equal([{ build_number: 2 }]);
    expect((await readSchedule(w(), ada!, forbidden)).nextAutostartAt).to.equal(null);
    const refused = await w()
      .as(ada!)
      .failure(update, { input: { workspace: forbidden, autostartSchedule: "0 9 * * *" } });
    expect(refused).to.include({ code: "FORBIDDEN", message: "The template does not allow starts by a schedule." });
  });

  it("start on the days that the template allows only", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const at = past();
    const id = await stopped(ada!, template.id, { autostartSchedule: present(at) });
    const today = at.getUTCDay();
    await setTemplate(w(), template.id, { autostart_days: [0, 1, 2, 3, 4, 5, 6].filter((day) => day !== today) });
    await query("update workspaces set autostart_at = date_trunc('minute', now()) where id = $1", id);
    await run();
    const box = await readSchedule(w(), ada!, id);
    expect(box.latestBuild.buildNumber).to.equal(2);
    expect(new Date(box.nextAutostartAt).getUTCDay()).to.equal((today + 1) % 7);
    const days = `mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { autostartDays } } }`;
    const { updateTemplate } = await w()
      .as(w().owner)
      .graphql(days, { input: { templateId: template.id, autostartDays: ["FRIDAY", "MONDAY", "FRIDAY"] } });
    expect(updateTemplate.template.autostartDays).to.deep.equal(["MONDAY", "FRIDAY"]);
  });

  it("take the active version where template and owner say so, and tell the owner", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const boxes = {
      own: await stopped(ada!, template.id, { autostartSchedule: present() }),
      other: await stopped(ada!, template.id, { autostartSchedule: present(), automaticUpdates: true }),
    };
    const { id: newer } = await addVersion(w(), template.id, boxOf(1));
    await setTemplate(w(), template.id, { active_version_id: newer });
    for (const id of Object.values(boxes)) await due(id);
    await run();
    const versionOf = async (id: string) => (await readSchedule(w(), ada!, id)).latestBuild.templateVersionId;
    expect([await versionOf(boxes.own), await versionOf(boxes.other)]).to.deep.equal([template.version, newer]);
    const titles = async () =>
      (await w().as(ada!).graphql("{ inboxNotifications { nodes { title } } }")).inboxNotifications.nodes
        .map(({ title }) => title)
        .filter((title: string) => title.endsWith("was updated"));
    expect(await titles()).to.have.length(1);

    // A start by hand follows the same setting; `NEVER` and `ALWAYS` overrule the owner.
    const startNow = async (id: string, more = {}) => {
      const latest = (await readBox(w(), ada!, id)).latestBuild;
      if (latest.status === "PENDING") await doBuild(w(), latest.id);
      if ((await readBox(w(), ada!, id)).status === "RUNNING") {
        const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: id });
        await doBuild(w(), stopWorkspace.workspaceBuild.id);
      }
      await w()
        .as(ada!)
        .graphql(start, { input: { workspace: id, ...more } });
      return versionOf(id);
    };
    await setTemplate(w(), template.id, { automatic_updates: "always" });
    expect(await startNow(boxes.own)).to.equal(newer);
    expect(await startNow(boxes.own, { templateVersionId: template.version })).to.equal(template.version);
    await setTemplate(w(), template.id, { automatic_updates: "never", active_version_id: template.version });
    expect(await startNow(boxes.other)).to.equal(newer);
  });

  it("tell the owner why a start is not possible, and try again the next day", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const id = await stopped(ada!, template.id, { autostartSchedule: present(), automaticUpdates: true });
    const { id: newer } = await addVersion(w(), template.id, boxOf(0, { parameters: [{ name: "zone" }] }));
    await setTemplate(w(), template.id, { active_version_id: newer });
    await due(id);
    await run();
    const box = await readSchedule(w(), ada!, id);
    expect(box.latestBuild.buildNumber).to.equal(2);
    expect(Date.parse(box.nextAutostartAt)).to.be.greaterThan(Date.now());
    const { inboxNotifications } = await w().as(ada!).graphql("{ inboxNotifications { nodes { title content } } }");
    expect(inboxNotifications.nodes).to.have.length(1);
    expect(inboxNotifications.nodes[0]!.content).to.contain("parameters.zone");
  });
});

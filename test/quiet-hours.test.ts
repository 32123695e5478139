import { expect } from "chai";
import { ConfigError, readConfig } from "./support/app.js";
import { withTimeLeft } from "./support/clock.js";
import { insert } from "./support/stage.js";
import { type Person, type World, world } from "./support/world.js";

const quietHours = `query($user: String) { quietHours(user: $user) { schedule time timezone next userSet userCanSet } }`;
const setQuietHours = `mutation($input: SetQuietHoursInput!) {
  setQuietHours(input: $input) { quietHours { schedule time timezone next userSet userCanSet } } }`;

const path = (user: string) => `/api/v2/users/${user}/quiet-hours`;
const inBerlin = "CRON_TZ=Europe/Berlin 30 2 * * *";

/** The audit events of a user's quiet hours, oldest first. */
async function history(w: World, { id }: Person) {
  const { auditEvents } = await w.as(w.owner).graphql(
    `query($id: String) { auditEvents(filter: { resourceType: "quiet_hours", resourceId: $id }) {
      nodes { action actorId resourceLabel diff } } }`,
    { id },
  );
  return auditEvents.nodes.toReversed();
}

describe("quiet hours", () => {
  const the = world();
  /** The next quiet hours are the same in all responses of a test: here, they begin at full tens of minutes. */
  const beforeNext = () => withTimeLeft(600_000, 10_000);

  it("default to the deployment's until a user sets their own, and again after a reset", async () => {
    await beforeNext();
    const w = the();
    const [ada] = await w.users("ada");
    const client = w.as(ada!);
    const usual = {
      raw_schedule: "CRON_TZ=UTC 0 0 * * *",
      time: "00:00",
      timezone: "UTC",
      user_set: false,
      user_can_set: true,
    };
    const midnight = () => new Date(Math.ceil((Date.now() + 1) / 86_400_000) * 86_400_000).toISOString();
    const earlier = midnight();
    const { body } = await client.get(path("me"));
    expect(body).to.deep.equal([{ ...usual, next: body[0].next }]);
    // The request may have passed midnight.
    expect(body[0].next).to.be.oneOf([earlier, midnight()]);

    const chosen = await client.put(path(ada!.username.toUpperCase()), {
      schedule: "  CRON_TZ=asia/KATHMANDU\t05  7 * * * ",
    });
    expect(chosen).to.include({ status: 200 });
    expect(chosen.body).to.have.length(1);
    expect(chosen.body[0]).to.include({
      raw_schedule: "CRON_TZ=Asia/Kathmandu 5 7 * * *",
      time: "07:05",
      timezone: "Asia/Kathmandu",
      user_set: true,
      user_can_set: true,
    });
    expect(chosen.body[0].next).to.match(/T01:20:00\.000Z$/);
    expect((await client.get(path(ada!.id))).body).to.deep.equal(chosen.body);

    for (const schedule of ["", "  \n"]) {
      await client.put(path("me"), { schedule: inBerlin });
      expect((await client.put(path("me"), { schedule })).body[0], JSON.stringify(schedule)).to.include(usual);
      expect((await client.get(path("me"))).body[0]).to.include(usual);
    }
  });

  it("are the same in GraphQL, where null also resets", async () => {
    await beforeNext();
    const w = the();
    const [ada] = await w.users("ada");
    const client = w.as(ada!);
    const set = async (input: object) => (await client.graphql(setQuietHours, { input })).setQuietHours.quietHours;

    const chosen = await set({ user: ada!.username, schedule: inBerlin });
    expect(chosen).to.include({
      schedule: inBerlin,
      time: "02:30",
      timezone: "Europe/Berlin",
      userSet: true,
      userCanSet: true,
    });
    expect((await client.graphql(quietHours)).quietHours).to.deep.equal(chosen);
    expect((await client.get(path("me"))).body[0]).to.include({ raw_schedule: inBerlin, next: chosen.next });

    for (const schedule of [null, "", " "]) {
      await set({ schedule: inBerlin });
      expect(await set({ schedule }), JSON.stringify(schedule)).to.include({
        schedule: "CRON_TZ=UTC 0 0 * * *",
        userSet: false,
      });
    }
    const failure = await client.failure(setQuietHours, { input: {} });
    expect(failure.errors[0]!.extensions).to.deep.include({
      code: "BAD_USER_INPUT",
      validations: [{ field: "input.schedule", detail: "Is required." }],
    });
  });

  it("report which part of a schedule is invalid", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const client = w.as(ada!);
    await client.put(path("me"), { schedule: inBerlin });
    const faults: Array<[unknown, RegExp]> = [
      [undefined, /required/],
      [null, /required/],
      [5, /string/],
      ["0 */2 * * *", /hour/],
      ["0 24 * * *", /hour/],
      ["0 1,2 * * *", /hour/],
      ["60 0 * * *", /minute/],
      ["-1 0 * * *", /minute/],
      ["* 0 * * *", /minute/],
      ["000 0 * * *", /minute/],
      ["0-5 0 * * *", /minute/],
      ["٣ 0 * * *", /minute/],
      ["0 0 1 * *", /day of month/],
      ["0 0 ? * *", /day of month/],
      ["0 0 * JAN *", /The month/],
      ["0 0 * * 1-5", /weekday/],
      ["@daily", /five fields/],
      ["TZ=UTC 0 0 * * *", /five fields/],
      ["0 0 0 * * *", /five fields/],
      ["0 0 * *", /five fields/],
      ["CRON_TZ=UTC", /five fields/],
      ["CRON_TZ=UTC CRON_TZ=UTC 0 0 * * *", /five fields/],
      ["CRON_TZ=Local 0 0 * * *", /time zone/],
      ["CRON_TZ= 0 0 * * *", /time zone/],
      ["CRON_TZ=Europe/Atlantis 0 0 * * *", /time zone/],
      ["CRON_TZ=+05:30 0 0 * * *", /time zone/],
      ["CRON_TZ=IST 0 0 * * *", /time zone/],
      ["CRON_TZ=SystemV/PST8 0 0 * * *", /time zone/],
      [`CRON_TZ=${"Europe/".repeat(9_000)} 0 0 * * *`, /time zone/],
    ];
    for (const [schedule, rule] of faults) {
      const given = JSON.stringify(schedule)?.slice(0, 80);
      const { status, body } = await client.put(path("me"), { schedule });
      expect(status, given).to.equal(400);
      expect(body.validations, given).to.have.length(1);
      expect(body.validations[0].field, given).to.equal("schedule");
      expect(body.validations[0].detail, given).to.match(rule);
    }
    const failure = await client.failure(setQuietHours, { input: { schedule: "0 24 * * *" } });
    expect(failure.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.schedule", detail: "The hour must be one number from 0 to 23." },
    ]);
    expect((await client.get(path("me"))).body[0]).to.include({ raw_schedule: inBerlin });
  });

  it("are readable and writable by the user, owners, and user admins, and hidden from those who cannot see the user", async () => {
    const w = the();
    const [ada, bob, admin, auditor, peer] = (await w.users("ada", "bob", "uadmin", "auditor", "peer")) as [
      Person,
      Person,
      Person,
      Person,
      Person,
    ];
    await w.grant(admin, "user-admin");
    await w.grant(auditor, "auditor");
    await w.grant(peer, "user-admin");
    for (const person of [ada, admin, w.owner]) {
      expect(await w.as(person).put(path(ada.id), { schedule: inBerlin }), person.username).to.include({ status: 200 });
      expect((await w.as(person).get(path(ada.id))).body[0], person.username).to.include({ user_set: true });
    }
    const missing = await w.as(ada).get(path("nobody-of-that-name"));
    expect(missing).to.include({ status: 404 });
    // Authorization comes before validation.
    for (const [person, user, status] of [
      [bob, ada, 404],
      [auditor, ada, 403],
      [peer, admin, 403],
    ] as const) {
      const answer = await w.as(person).put(path(user.id), { schedule: "nonsense" });
      expect(answer, person.username).to.include({ status });
      if (status === 404) expect(answer.body).to.deep.equal(missing.body);
      expect(
        (await w.as(person).failure(setQuietHours, { input: { user: user.id, schedule: "nonsense" } })).code,
      ).to.equal(status === 404 ? "NOT_FOUND" : "FORBIDDEN");
    }
    expect(await w.as(bob).get(path(ada.id))).to.include({ status: 404 });
    expect(await w.as(auditor).get(path(ada.id))).to.include({ status: 403 });
    expect(await w.as(peer).get(path(admin.id))).to.include({ status: 200 });
  });

  it("leave an audit event for each change, and none for updates without effect", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    const other = "CRON_TZ=UTC 0 5 * * *";
    for (const schedule of ["", inBerlin, inBerlin.replace("Europe/Berlin", "europe/berlin"), "0 5 * * *", "", ""])
      expect(await w.as(ada).put(path("me"), { schedule })).to.include({ status: 200 });
    const by = { actorId: ada.id, resourceLabel: ada.username };
    expect(await history(w, ada)).to.deep.equal([
      { ...by, action: "CREATE", diff: { schedule: { new: inBerlin } } },
      { ...by, action: "UPDATE", diff: { schedule: { old: inBerlin, new: other } } },
      { ...by, action: "DELETE", diff: { schedule: { old: other } } },
    ]);
  });

  it("take the value of one of several concurrent updates, with a consistent audit log", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    const schedules = Array.from({ length: 12 }, (_, hour) => `CRON_TZ=UTC 0 ${hour} * * *`);
    const answers = await Promise.all(schedules.map((schedule) => w.as(ada).put(path("me"), { schedule })));
    for (const answer of answers) expect(answer).to.include({ status: 200 });
    const events = await history(w, ada);
    expect(events).to.have.length(12);
    const { raw_schedule: last } = (await w.as(ada).get(path("me"))).body[0];
    const told = events.map(({ diff }: { diff: { schedule: { old?: string; new: string } } }) => diff.schedule);
    // Each change but the first starts from the result of another.
    const ends = told.map((change: { new: string }) => change.new);
    const begins = told.map((change: { old?: string }) => change.old).filter(Boolean);
    expect([...begins, last]).to.have.members(ends);
  });
});

describe("quiet hours that users cannot set", () => {
  const the = world({
    STEWARD_QUIET_HOURS_ALLOW_CUSTOM: "false",
    STEWARD_QUIET_HOURS_DEFAULT: "CRON_TZ=america/st_johns 0 3 * * *",
  });

  it("are the default for all users, whatever was set before", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    await insert(w, { user_quiet_hours: [{ user_id: ada.id, schedule: inBerlin }] });
    const expected = {
      raw_schedule: "CRON_TZ=America/St_Johns 0 3 * * *",
      time: "03:00",
      timezone: "America/St_Johns",
      user_set: false,
      user_can_set: false,
    };
    expect((await w.as(ada).get(path("me"))).body[0]).to.include(expected);
    for (const schedule of [inBerlin, "", "nonsense"]) {
      const answer = await w.as(ada).put(path("me"), { schedule });
      expect(answer).to.include({ status: 403 });
      expect(answer.body.message).to.equal("Users of this deployment cannot set their own quiet hours.");
    }
    expect((await w.as(ada).failure(setQuietHours, { input: { schedule: null } })).code).to.equal("FORBIDDEN");
    expect(await history(w, ada)).to.deep.equal([]);
  });
});

describe("settings of quiet hours", () => {
  it("are validated at startup", () => {
    const read = (value: string) => () => readConfig({ STEWARD_QUIET_HOURS_DEFAULT: value });
    for (const bad of ["0 0 1 * *", "CRON_TZ=Nowhere/Land 0 0 * * *", "@daily", "midnight"])
      expect(read(bad), bad).to.throw(ConfigError, /STEWARD_QUIET_HOURS_DEFAULT must be/);
    expect(read("CRON_TZ=europe/berlin 30 02 * * *")().quietHoursDefault).to.deep.equal({
      zone: "Europe/Berlin",
      hour: 2,
      minute: 30,
    });
    expect(readConfig({})).to.deep.include({
      quietHoursDefault: { zone: "UTC", hour: 0, minute: 0 },
      quietHoursAllowCustom: true,
    });
  });
});

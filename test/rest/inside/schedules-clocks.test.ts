// Starts, stops, and prebuilt workspaces over two days on which clocks change.
// Looks inside: jobs run when the clock of the test is moved.
import { expect } from "chai";
import { prebuild, runSchedule } from "../../support/background.js";
import { boxOf, createBox, doBuild, stop, templateOf } from "../../support/builds.js";
import { type MovedWorld, startAt } from "../../support/moved-clock.js";
import type { Person } from "../../support/world.js";

const minute = 60_000;
const hour = 3_600_000;

describe("schedules over two days on which clocks change", () => {
  interface Day {
    name: string;
    /** Midnight in Berlin, as UTC. */
    begins: string;
    starts: string[];
    quiet: string[];
    prebuilds: string[];
  }
  const days: Day[] = [
    {
      name: "in spring",
      begins: "2027-03-26T23:00:00Z",
      // 2:30 does not exist on Sunday: 3:00 is its end.
      starts: ["27 01:30 start", "27 09:30 stop", "28 01:00 start", "28 09:00 stop"],
      // Due at 22:00, half an hour before quiet hours: they end at 23:30. Sunday is an hour shorter.
      quiet: ["27 22:30 start", "28 20:30 stop", "28 21:30 start"],
      prebuilds: ["27 07:00 2", "27 17:00 0", "28 06:00 2", "28 16:00 0"],
    },
    {
      name: "in autumn",
      begins: "2027-10-29T22:00:00Z",
      // 2:30 exists twice on Sunday: the first counts.
      starts: ["30 00:30 start", "30 08:30 stop", "31 00:30 start", "31 08:30 stop"],
      quiet: ["30 21:30 start", "31 21:30 stop", "31 22:30 start"],
      prebuilds: ["30 06:00 2", "30 16:00 0", "31 07:00 2", "31 17:00 0"],
    },
  ];

  for (const { name, begins, starts, quiet, prebuilds } of days)
    it(`start, stop, and prebuild workspaces by local time ${name}`, async () => {
      const first = Date.parse(begins);
      const moved: MovedWorld = await startAt(first);
      try {
        const { w } = moved;
        const [ada, bob] = await w.users("ada", "bob");
        const { pool } = w.app.services.database;
        // A minute less than eight hours: the build ends some moments after the step.
        const plain = await templateOf(w, boxOf(), { settings: { default_ttl: 8 * 3600 - 60 } });
        const strict = await templateOf(w, boxOf(), { settings: { autostop_days: [0, 1, 2, 3, 4, 5, 6] } });
        const [big] = Object.values(
          (
            await templateOf(
              w,
              boxOf(0, {
                presets: [
                  {
                    name: "big",
                    prebuilds: { schedules: [{ cron: "* 8-17 * * *", timezone: "Europe/Berlin", instances: 2 }] },
                  },
                ],
              }),
            )
          ).presets,
        );
        await pool.query(
          `update template_presets set prebuild_schedules =
             '[{"cron":"* 8-17 * * *","timezone":"Europe/Berlin","instances":2}]' where id = $1`,
          [big],
        );
        await w
          .as(bob!)
          .graphql(
            `mutation { setQuietHours(input: { schedule: "CRON_TZ=Europe/Berlin 30 22 * * *" }) { __typename } }`,
          );
        const scheduled = async (person: Person, template: string, autostartSchedule: string): Promise<string> => {
          const { workspace, workspaceBuild } = await createBox(w, person, template, { autostartSchedule });
          await doBuild(w, workspaceBuild.id);
          const { stopWorkspace } = await w.as(person).graphql(stop, { workspace: workspace.id });
          await doBuild(w, stopWorkspace.workspaceBuild.id);
          return workspace.id;
        };
        const nightly = await scheduled(ada!, plain.id, "CRON_TZ=Europe/Berlin 30 2 * * *");
        const late = await scheduled(bob!, strict.id, "CRON_TZ=Europe/Berlin 0 22 * * *");

        const seen = { nightly: [] as string[], late: [] as string[], prebuilds: [] as string[] };
        let ready = 0;
        for (let time = first + 30 * minute; time < first + 49 * hour; time += 30 * minute) {
          await moved.moveTo(time);
          for (const job of ["start", "stop"] as const)
            await Promise.all([runSchedule(w.app, job), runSchedule(w.app, job)]);
          await prebuild(w.app);
          const { rows } = await pool.query(
            `select b.id, b.transition, b.reason, w.id as workspace from workspace_builds b
             join workspaces w on w.latest_build_id = b.id join provisioner_jobs j on j.id = b.job_id
             where j.completed_at is null order by b.created_at`,
          );
          const at = new Date(time).toISOString().slice(8, 16).replace("T", " ");
          for (const { id, transition, reason, workspace } of rows) {
            await doBuild(w, id);
            if (workspace !== nightly && workspace !== late) continue;
            expect(reason).to.equal(transition === "start" ? "autostart" : "autostop");
            seen[workspace === nightly ? "nightly" : "late"].push(`${at} ${transition}`);
          }
          const { rows: left } = await pool.query(
            "select count(*)::int as count from workspaces where prebuilt_preset_id = $1 and deleted_at is null",
            [big],
          );
          if (left[0].count !== ready) seen.prebuilds.push(`${at} ${left[0].count}`);
          ready = left[0].count;
        }
        expect(seen).to.deep.equal({ nightly: starts, late: quiet, prebuilds });
      } finally {
        await moved.close();
      }
    });
});

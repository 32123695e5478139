// Workspaces under concurrency: claims of prebuilt ones, and builds that compete.
// Looks inside: workspaces are prebuilt without a daemon.
import { expect } from "chai";
import { runSchedule } from "../support/background.js";
import { boxOf, createBox, doBuild, readBox, runningBox, start, stop, templateOf } from "../support/builds.js";
import { world } from "../support/world.js";

const presets = boxOf(0, {
  parameters: [{ name: "size", default: "small" }],
  presets: [{ name: "large", parameters: { size: "large" } }],
});

describe("workspaces under concurrency", () => {
  const w = world();
  // The preset asks for no prebuilt workspaces: the server would delete them.
  before(() => w().as(w().owner).put("/api/v2/prebuilds/settings", { reconciliation_paused: true }));
  const query = (text: string, ...values: unknown[]) => w().app.services.database.pool.query(text, values);

  /** Makes prebuilt workspaces of a preset, whose agents are ready. */
  const prebuild = async (template: { id: string; presets: Record<string, string> }, number: number) => {
    const presetId = template.presets.large!;
    const boxes = await Promise.all(
      Array.from({ length: number }, () => runningBox(w(), w().owner, template.id, { presetId })),
    );
    const ids = boxes.map(({ workspace }) => workspace.id);
    await query(
      `update workspaces set prebuilt_preset_id = $2, owner_id = (select id from users where username = 'prebuilds')
       where id = any($1::uuid[])`,
      ids,
      presetId,
    );
    await query("update workspace_agents set lifecycle = 'ready' where workspace_id = any($1::uuid[])", ids);
    return ids;
  };

  it("hand each prebuilt workspace to one user, and make new ones for the others", async () => {
    const users = await w().users("ada", "bob", "eve");
    const template = await templateOf(w(), presets);
    const ready = await prebuild(template, 2);
    const built = await Promise.all(
      users.map((user) => createBox(w(), user, template.id, { name: "mine", presetId: template.presets.large })),
    );
    const claimed = built.filter(({ workspace }) => ready.includes(workspace.id));
    expect(new Set(claimed.map(({ workspace }) => workspace.id)).size).to.equal(2);
    for (const [index, { workspace, workspaceBuild }] of built.entries()) {
      await doBuild(w(), workspaceBuild.id);
      const box = await readBox(w(), users[index]!, workspace.id);
      expect(box).to.include({ name: "mine", status: "RUNNING" });
      expect(box.latestBuild).to.include({ isClaim: ready.includes(workspace.id) });
    }
  });

  it("claim none for other values than those of the preset", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), presets);
    const ready = await prebuild(template, 1);
    const { workspace } = await createBox(w(), ada!, template.id, {
      presetId: template.presets.large,
      parameters: [{ name: "size", value: "huge" }],
    });
    expect(ready).not.to.include(workspace.id);
  });

  it("stop once when people and the deadline stop them together", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 3600 } });
    for (let round = 0; round < 5; round++) {
      const { workspace } = await runningBox(w(), ada!, template.id);
      await query("update workspaces set deadline = now() where id = $1", workspace.id);
      await Promise.all([
        runSchedule(w().app, "stop"),
        w()
          .as(ada!)
          .graphql(stop, { workspace: workspace.id })
          .catch(() => undefined),
      ]);
      const { latestBuild } = await readBox(w(), ada!, workspace.id);
      expect(latestBuild).to.include({ buildNumber: 2, transition: "STOP" });
    }
  });

  it("number the builds of many concurrent requests without gaps", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    for (let number = 2; number < 6; number++) {
      const mutation = number % 2 === 0 ? stop : start;
      const variables = number % 2 === 0 ? { workspace: workspace.id } : { input: { workspace: workspace.id } };
      const results = await Promise.allSettled(
        Array.from({ length: 4 }, () => w().as(ada!).graphql(mutation, variables)),
      );
      const done = results.filter((each) => each.status === "fulfilled");
      expect(done).to.have.length(1);
      const { workspaceBuild } = Object.values<{ workspaceBuild: { id: string; buildNumber: number } }>(
        done[0]!.value,
      )[0]!;
      expect(workspaceBuild.buildNumber).to.equal(number);
      await doBuild(w(), workspaceBuild.id);
    }
  });
});

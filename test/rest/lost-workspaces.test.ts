// Notices to owners that the agent of their workspace is gone.
// Reaches for tables: the job is run by the test, and agents fall silent by their rows.
import { expect } from "chai";
import { runJob } from "../support/background.js";
import { boxOf, runningBox, templateOf } from "../support/builds.js";
import { setColumns, setTimes } from "../support/tables.js";
import { type Person, world } from "../support/world.js";

describe("the notice that a workspace has lost its agent", () => {
  const w = world();

  /** Runs the job as several replicas would. */
  const run = () => Promise.all([1, 2, 3].map(() => runJob(w().app, "lostWorkspaces")));
  const seen = (id: string, time: string) =>
    setTimes(w(), "workspace_agents", { workspace_id: id }, { first_connected_at: "-3 h", last_connected_at: time });

  async function noticesOf(user: Person): Promise<string[]> {
    const { body } = await w().as(user).get("/api/v2/notifications/inbox");
    const notices = body.notifications as Array<{ title: string; content: string }>;
    return notices.filter(({ title }) => title.endsWith("is unhealthy")).map(({ content }) => content);
  }

  const running = async (owner: Person): Promise<string> =>
    (await runningBox(w(), owner, (await templateOf(w(), boxOf())).id)).workspace.id;

  it("reaches the owner alone, once for each loss, and not within five minutes", async () => {
    const [ada, ben] = await w().users("ada", "ben");
    const id = await running(ada!);
    await seen(id, "-4 min");
    await run();
    expect(await noticesOf(ada!)).to.deep.equal([]);
    await seen(id, "-6 min");
    await run();
    await run();
    const [notice, ...others] = await noticesOf(ada!);
    expect(others).to.deep.equal([]);
    expect(notice).to.contain("has lost its connection").and.contain("restart the workspace");
    expect(await noticesOf(ben!)).to.deep.equal([]);

    // It came back, and is gone again: told once the last notice is an hour old.
    await setTimes(w(), "workspaces", { id }, { loss_noticed_at: "-30 min" });
    await run();
    expect(await noticesOf(ada!)).to.have.length(1);
    await setTimes(w(), "workspaces", { id }, { loss_noticed_at: "-2 h" });
    await run();
    expect(await noticesOf(ada!)).to.have.length(2);
  });

  it("names an agent that never came, but comes not for stopped and deleted workspaces", async () => {
    const ada = await w().user("ada");
    const late = await running(ada);
    const stopped = await running(ada);
    const deleted = await running(ada);
    for (const id of [late, stopped, deleted]) {
      await setTimes(w(), "workspace_agents", { workspace_id: id }, { created_at: "-1 h" });
      await setColumns(w(), "workspace_agents", { workspace_id: id }, { connection_timeout: 60 });
    }
    await setColumns(w(), "workspaces", { id: stopped }, { latest_status: "stopped" });
    await setTimes(w(), "workspaces", { id: deleted }, { deleted_at: "-1 min" });
    await run();
    expect(await noticesOf(ada)).to.have.length(1);
  });
});

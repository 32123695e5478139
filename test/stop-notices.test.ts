// Notices to owners that their workspaces stop soon.
// Looks inside: the job is run at once, and deadlines are set with SQL, which would otherwise be hours ahead.
import { expect } from "chai";
import { stopNotices } from "../src/domain/workspaces/stop-notices.js";
import { boxOf, runningBox, templateOf } from "./support/builds.js";
import { type Person, world } from "./support/world.js";

describe("the notice before a workspace stops by itself", () => {
  const w = world();

  /** Runs the job as several replicas would. */
  const run = () => Promise.all([1, 2, 3].map(() => stopNotices.run(w().app.services)));
  const query = (text: string, ...values: unknown[]) => w().app.services.database.pool.query(text, values);
  const stopIn = (id: string, minutes: number) =>
    query("update workspaces set deadline = now() + make_interval(mins => $2) where id = $1", id, minutes);

  interface Notice {
    title: string;
    content: string;
    actions: Array<{ label: string; url: string }>;
  }
  const noticesOf = async (user: Person): Promise<Notice[]> => {
    const { body } = await w().as(user).get("/api/v2/notifications/inbox");
    return (body.notifications as Notice[]).filter(({ title }) => title.endsWith("stops soon"));
  };

  async function running(owner: Person): Promise<{ id: string; name: string }> {
    const template = await templateOf(w(), boxOf(), { settings: { default_ttl: 3600 } });
    return (await runningBox(w(), owner, template.id)).workspace;
  }

  it("reaches the owner once, by all ways, half an hour ahead, with a link to the page that extends", async () => {
    const [ada, ben] = await w().users("ada", "ben");
    const { id, name } = await running(ada!);
    await run();
    expect(await noticesOf(ada!)).to.deep.equal([]);
    await stopIn(id, 20);
    await run();
    await run();
    const [notice, ...others] = await noticesOf(ada!);
    expect(others).to.deep.equal([]);
    expect(notice!.title).to.equal(`Workspace ${name} stops soon`);
    expect(notice!.content).to.contain("stops by itself on");
    expect(notice!.actions).to.deep.equal([
      { label: "Keep it running", url: `${w().app.services.config.accessUrl}/workspaces/${id}/extend` },
    ]);
    expect(await noticesOf(ben!)).to.deep.equal([]);
  });

  it("comes again for a later deadline, but not while activity moves the deadline within the half hour", async () => {
    const [ada] = await w().users("ada");
    const { id } = await running(ada!);
    await stopIn(id, 20);
    await run();
    await stopIn(id, 25);
    await run();
    expect(await noticesOf(ada!)).to.have.length(1);
    await query("update workspaces set stop_noticed_at = now() - interval '2 hours' where id = $1", id);
    await run();
    expect(await noticesOf(ada!)).to.have.length(2);
  });

  it("is not sent for workspaces that do not stop by themselves, are stopped, or belong to tasks", async () => {
    const [ada] = await w().users("ada");
    const [endless, stopped, task] = [await running(ada!), await running(ada!), await running(ada!)];
    await query("update workspaces set deadline = null where id = $1", endless.id);
    for (const { id } of [stopped, task]) await stopIn(id, 10);
    await query("update workspaces set latest_status = 'stopped' where id = $1", stopped.id);
    await query(
      `insert into tasks (id, organization_id, owner_id, name, display_name, workspace_id, version_id, initial_prompt)
       select gen_random_uuid(), w.organization_id, w.owner_id, 'a-task', 'A task', w.id, b.version_id, 'x'
       from workspaces w join workspace_builds b on b.id = w.latest_build_id where w.id = $1`,
      task.id,
    );
    await run();
    expect(await noticesOf(ada!)).to.deep.equal([]);
  });
});

// Notices to owners that their workspaces stop soon.
// Reaches for tables: the job is run by the test, and deadlines are moved in the tables, which would otherwise be hours ahead.
import { expect } from "chai";
import { runJob } from "../support/background.js";
import { boxOf, runningBox, templateOf } from "../support/builds.js";
import { setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

describe("the notice before a workspace stops by itself", () => {
  const w = world();

  /** Runs the job as several replicas would. */
  const run = () => Promise.all([1, 2, 3].map(() => runJob(w().app, "stopNotices")));
  const set = (id: string, values: Record<string, unknown>) => setColumns(w(), "workspaces", { id }, values);
  const stopIn = (id: string, minutes: number) => set(id, { deadline: new Date(Date.now() + minutes * 60_000) });

  interface Notice {
    title: string;
    content: string;
    actions: Array<{ label: string; url: string }>;
  }
  const noticesOf = async (user: Person): Promise<Notice[]> => {
    const { body } = await w().as(user).get("/api/v2/notifications/inbox");
    return (body.notifications as Notice[]).filter(({ title }) => title.endsWith("stops soon"));
  };

  /** Waits for notices, which a run of the server itself may be about to send. */
  const noticed = (user: Person, count: number) =>
    eventually(async () => (await noticesOf(user)).length >= count, `${count} notices arrive`);

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
    await noticed(ada!, 1);
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
    await noticed(ada!, 1);
    await stopIn(id, 25);
    await run();
    expect(await noticesOf(ada!)).to.have.length(1);
    await set(id, { stop_noticed_at: new Date(Date.now() - 7_200_000) });
    await run();
    await noticed(ada!, 2);
    expect(await noticesOf(ada!)).to.have.length(2);
  });

  it("is not sent for workspaces that do not stop by themselves, or are stopped", async () => {
    const [ada] = await w().users("ada");
    const endless = await running(ada!);
    const stopped = await running(ada!);
    await set(endless.id, { deadline: null });
    await stopIn(stopped.id, 10);
    await set(stopped.id, { latest_status: "stopped" });
    await run();
    expect(await noticesOf(ada!)).to.deep.equal([]);
  });
});

// Many daemons, several replicas, and killed processes: every job is done by one daemon, once.
// Reaches for tables: leases last for minutes, and jobs of other tests are not for these daemons.
import { fork } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { audited } from "../support/audit.js";
import { runJob } from "../support/background.js";
import { type App, startServer } from "../support/app.js";
import {
  type Assigned,
  carryOut,
  type Daemon,
  newKey,
  queueImport,
  queueImports,
  type Refused,
  resources,
  serve,
} from "../support/provisioners.js";
import { deleteRows, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const settings = { STEWARD_BUILTIN_DAEMON: "false" };

describe("provisioner jobs of two replicas", () => {
  const w = world(settings);
  let replica: App;
  let key: string;
  before(async () => {
    replica = await startServer(w().database.url, settings);
    key = await newKey(w());
  });
  after(() => replica.close());

  const statuses = async () => {
    const query = `{ provisionerJobs(organization: "default", first: 1000) { nodes { status } } }`;
    const { nodes } = (await w().as(w().owner).graphql(query)).provisionerJobs;
    return nodes.map(({ status }) => status).toSorted();
  };
  const ended = async (resourceId?: string) =>
    (await audited(w(), { resourceType: "provisioner_job", action: "UPDATE", resourceId }))
      .map(({ diff }) => diff.status?.new)
      .filter((status) => status !== "canceling");
  beforeEach(() => deleteRows(w(), "provisioner_jobs", {}));

  /** Works until `isOver`, with several jobs at a time. */
  async function labor(
    daemon: Daemon,
    isOver: () => boolean,
    work: (job: Assigned) => Promise<unknown>,
  ): Promise<void> {
    for (let next = 0; !isOver(); next++) {
      await eventually(() => isOver() || daemon.assigned.length > next, "work");
      if (daemon.assigned.length > next) void work(daemon.assigned[next]!);
    }
  }

  it("are each accepted exactly once by five daemons", async () => {
    const apps = [w().app, replica];
    const daemons = await Promise.all(Array.from({ length: 5 }, (_, n) => serve(apps[n % 2]!, { key })));
    const accepted: string[] = [];
    const all = 200;
    let done = 0;
    const work = daemons.map((daemon) =>
      labor(
        daemon.work(4),
        () => done === all,
        async (job) => {
          accepted.push(job.jobId);
          await carryOut(daemon, job);
          done++;
        },
      ),
    );
    const { owner, defaultOrganization } = w();
    const onReplica = { app: replica, owner, defaultOrganization };
    const ids = (await Promise.all([queueImports(w(), all / 2), queueImports(onReplica, all / 2)])).flat();
    await Promise.all(work);
    expect(accepted.toSorted()).to.deep.equal(ids.toSorted());
    expect(await statuses()).to.deep.equal(Array(all).fill("SUCCEEDED"));
    expect(await ended()).to.have.length(all);
    await Promise.all(daemons.map((daemon) => daemon.leave()));
  });

  it("end once when completion, cancellation, failure, and the deletion of the key race", async () => {
    for (let round = 0; round < 8; round++) {
      const name = `race-${round}`;
      const path = "/api/v2/organizations/default/provisionerkeys";
      const { body } = await w().as(w().owner).post(path, { name });
      const daemon = (await serve(round % 2 ? replica : w().app, { key: body.key })).work();
      const id = await queueImport(w());
      const job = await daemon.job();
      await daemon.call("acceptProvisionerJob", job);
      await daemon.call("reportProvisionerResources", job, { resources });
      await Promise.allSettled([
        daemon.call("completeProvisionerJob", job),
        daemon.call("failProvisionerJob", job, { error: "x" }),
        w().as(w().owner).delete(`${path}/${name}`),
        w()
          .as(w().owner)
          .graphql(`mutation($id: String!) { cancelProvisionerJob(input: { job: $id }) { __typename } }`, { id }),
        runJob(replica, "jobReaper"),
      ]);
      const ends = await ended(id);
      expect(ends, `round ${round}`).to.have.length(1);
      const { provisionerJob } = await w().as(w().owner).graphql(`{ provisionerJob(id: "${id}") { status } }`);
      expect(provisionerJob.status).to.equal((ends[0] as string).toUpperCase());
      await daemon.leave();
    }
  });

  it("survive daemons whose processes are killed: their jobs fail, and what they did not accept goes to others", async () => {
    const script = new URL("../support/killed-daemon.mjs", import.meta.url);
    const ids = await queueImports(w(), 6);
    const children = await Promise.all(
      [w().app, replica].map(async ({ url }) => {
        const child = fork(script, [url, key], { execArgv: [], stdio: "ignore" });
        await once(child, "message");
        return child;
      }),
    );
    expect((await statuses()).filter((status) => status === "RUNNING")).to.have.length(2);
    for (const child of children) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    // As after the time limits: 15 seconds without acceptance, 5 minutes without a report.
    await setTimes(w(), "provisioner_jobs", { completed_at: null }, { lease_expires_at: "0 s" });
    const reapers = [w().app, replica].flatMap((each) =>
      (["unacceptedJobs", "jobReaper"] as const).map((job) => runJob(each, job)),
    );
    await Promise.all(reapers);
    const daemon = (await serve(replica, { key })).work(4);
    for (let n = 0; n < 4; n++) await carryOut(daemon, await daemon.job(n));
    expect(await statuses()).to.deep.equal([...Array(2).fill("FAILED"), ...Array(4).fill("SUCCEEDED")]);
    expect(daemon.assigned.every(({ jobId }) => ids.includes(jobId))).to.equal(true);
    await daemon.leave();
  });

  it("stop being worked on when their lease went to another daemon", async () => {
    const first = await serve(w().app, { key });
    const second = await serve(replica, { key });
    await queueImport(w());
    const job = await first.work().job();
    await setTimes(w(), "provisioner_jobs", {}, { lease_expires_at: "0 s" });
    await runJob(replica, "unacceptedJobs");
    const other = await second.work().job();
    expect(other.jobId).to.equal(job.jobId);
    const lost = await first.call("acceptProvisionerJob", job).catch((error: Refused) => error);
    expect((lost as Refused).reason).to.equal("LEASE_LOST");
    await carryOut(second, other);
    for (const each of [first, second]) await each.leave();
  });

  it("are canceled on one replica while a daemon of another one works on them", async () => {
    const daemon = (await serve(replica, { key })).work();
    const id = await queueImport(w());
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    await w()
      .as(w().owner)
      .graphql(`mutation($id: String!) { cancelProvisionerJob(input: { job: $id }) { __typename } }`, { id });
    await eventually(() => daemon.events.length === 2, "the daemon is told");
    await daemon.call("failProvisionerJob", job, { error: "stopped", canceled: true });
    expect(await statuses()).to.deep.equal(["CANCELED"]);
    await daemon.leave();
  });
});

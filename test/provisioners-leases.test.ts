// Leases of provisioner jobs: who holds a job, what its daemon may report, and how it ends without one.
// Reaches for tables: leases and the time limits of jobs last for minutes.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { runJob } from "./support/background.js";
import { withClock } from "./support/clock.js";
import {
  type Assigned,
  carryOut,
  type Daemon,
  newKey,
  queueImport,
  type Refused,
  resources,
  serve,
} from "./support/provisioners.js";
import { letPass, setColumns, setTimes, versionsOf } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { world } from "./support/world.js";

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("It succeeded."),
    (error: Error) => error as Refused,
  );

const line = (sequence: number, output = `line ${sequence}`) => ({
  sequence,
  createdAt: "2026-11-01T10:00:00Z",
  level: "INFO",
  source: "PROVISIONER",
  stage: "make",
  output,
});

describe("leases of provisioner jobs", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "false" });
  let key: string;
  let daemon: Daemon;
  const jobs = "provisioner_jobs";
  /** Ends the lease of jobs, or sets the time that it has left. */
  const leaseEnds = (id: string | string[], left = "0 s") => setTimes(w(), jobs, { id }, { lease_expires_at: left });
  /** Leaves jobs with daemons that do not accept them. */
  const keepHandedOut = (...ids: string[]) => leaseEnds(ids, "5 min");
  const daemons = async (): Promise<Array<{ id: string; name: string }>> => {
    const query = `{ provisionerDaemons(organization: "default") { id name } }`;
    return (await w().as(w().owner).graphql(query)).provisionerDaemons;
  };
  const stateOf = async (id: string) =>
    (
      await w()
        .as(w().owner)
        .graphql(
          `query($id: UUID!) { provisionerJob(id: $id) { status error errorCode canceledAt workerId logsOverflowed
             logs { totalCount nodes { sequence output level } } } }`,
          { id },
        )
    ).provisionerJob;
  const cancel = (job: string) =>
    w()
      .as(w().owner)
      .graphql(`mutation($job: String!) { cancelProvisionerJob(input: { job: $job }) { provisionerJob { status } } }`, {
        job,
      });
  const reap = async () => {
    await runJob(w().app, "unacceptedJobs");
    await runJob(w().app, "jobReaper");
  };

  before(async () => {
    key = await newKey(w());
  });
  beforeEach(async () => {
    daemon = (await serve(w().app, { key })).work(4);
  });
  afterEach(async () => {
    await daemon.leave();
    await setColumns(w(), jobs, { completed_at: null }, { status: "failed", completed_at: new Date() });
  });

  const running = async (): Promise<Assigned> => {
    await queueImport(w());
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    return job;
  };

  it("give repeated calls of accept, complete, and fail the same result", async () => {
    await queueImport(w());
    const job = await daemon.job();
    const accept = async () => Date.parse((await daemon.call("acceptProvisionerJob", job)).expiresAt) - Date.now();
    expect(await accept()).to.be.above(60_000);
    await leaseEnds(job.jobId, "30 s");
    expect(await accept(), "again").to.be.above(60_000);
    await daemon.call("reportProvisionerResources", job, { resources });
    const again = await daemon.call("reportProvisionerResources", job, { resources });
    expect(again.dailyCost).to.equal(3);
    expect(await daemon.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
    expect(await daemon.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
    const late = await refusal(daemon.call("failProvisionerJob", job, { error: "no" }));
    expect(late.reason).to.equal("LEASE_LOST");
    expect(await stateOf(job.jobId)).to.include({ status: "SUCCEEDED", error: null, errorCode: null });

    await queueImport(w());
    const second = await daemon.job(1);
    await daemon.call("acceptProvisionerJob", second);
    expect(await daemon.call("failProvisionerJob", second, { error: "broken" })).to.deep.equal({ status: "FAILED" });
    expect(await daemon.call("failProvisionerJob", second, { error: "broken" })).to.deep.equal({ status: "FAILED" });
    expect(await stateOf(second.jobId)).to.include({ status: "FAILED", error: "broken", errorCode: null });
    const events = await audited(w(), { resourceId: second.jobId, resourceType: "provisioner_job" });
    expect(events.filter(({ actorKind }) => actorKind === "provisioner").map(({ diff }) => diff)).to.deep.equal([
      { status: { old: "running", new: "failed" }, error: { old: "", new: "broken" } },
    ]);
  });

  it("are rejected with another token, by another daemon, and before the job is accepted", async () => {
    await queueImport(w());
    const job = await daemon.job();
    await keepHandedOut(job.jobId);
    const early = await refusal(daemon.call("completeProvisionerJob", job));
    expect(early).to.include({ code: "CONFLICT", reason: "LEASE_LOST" });
    expect(early.errors[0]!.message).to.equal("The job is not held with this lease. Abandon the work.");
    const forged = await refusal(daemon.call("acceptProvisionerJob", { ...job, lease: "x" }));
    expect(forged.reason).to.equal("LEASE_LOST");
    const other = await serve(w().app, { key });
    expect((await refusal(other.call("acceptProvisionerJob", job))).reason).to.equal("LEASE_LOST");
    await other.leave();
    await carryOut(daemon, job);
  });

  it("require the report of the resources, of the document and no others", async () => {
    const job = await running();
    const unreported = await refusal(daemon.call("completeProvisionerJob", job));
    expect(unreported.code).to.equal("CONFLICT");
    expect(unreported.errors[0]!.message).to.equal("The resources of the job have not been reported.");
    expect(unreported.reason).to.equal(undefined);
    const faulty = await refusal(
      daemon.call("reportProvisionerResources", job, { resources: [{ ...resources[0], daily_cost: 9 }] }),
    );
    expect(faulty.code).to.equal("BAD_USER_INPUT");
    const stateful = await refusal(
      daemon
        .call("reportProvisionerResources", job, { resources })
        .then(() => daemon.call("completeProvisionerJob", job, { state: { a: 1 } })),
    );
    expect(stateful.errors[0]!.extensions!.validations[0].field).to.equal("input.state");
    expect(await stateOf(job.jobId)).to.include({ status: "RUNNING" });
    await daemon.call("completeProvisionerJob", job);
  });

  it("end with errors and states of limited size, in valid Unicode", async () => {
    const job = await running();
    const faultsOf = async (name: "completeProvisionerJob" | "failProvisionerJob", input: object) =>
      (await refusal(daemon.call(name, job, input))).errors[0]!.extensions!.validations.map(
        ({ field, detail }: { field: string; detail: string }) => `${field}: ${detail}`,
      );
    const errorFault = "input.error: Must be 1 to 4096 bytes.";
    const sizeFault = "input.state: Must be at most 262144 bytes of JSON.";
    const textFault = "input.state: Must be valid Unicode without NUL characters.";
    const unusedState = "input.state: Only builds of workspaces have a state.";
    for (const error of ["", "é".repeat(2049)])
      expect(await faultsOf("failProvisionerJob", { error })).to.deep.equal([errorFault]);
    const literal = `{ jobId: "${job.jobId}", lease: "${job.lease}", error: "a\\u0000b" }`;
    const unstorable = await refusal(daemon.run(`mutation { failProvisionerJob(input: ${literal}) { status } }`));
    expect(unstorable.errors[0]!.extensions!.validations[0]).to.include({ field: "input.error" });
    const largest = { a: "é".repeat(131_068) };
    await daemon.call("reportProvisionerResources", job, { resources });
    for (const [state, fault] of [
      [{ a: `${largest.a}x` }, sizeFault],
      [{ a: "\0" }, textFault],
      [{ a: "\ud800" }, textFault],
      [{ ["a\0"]: 1 }, textFault],
      [{ a: "\\u0000" }, unusedState],
      [largest, unusedState],
      [{}, unusedState],
    ]) {
      expect(await faultsOf("completeProvisionerJob", { state })).to.deep.equal([fault]);
      expect(await faultsOf("failProvisionerJob", { error: "x", state })).to.deep.equal([fault]);
    }
    expect(await faultsOf("failProvisionerJob", { error: "", state: { a: ["\0"] } })).to.deep.equal([
      errorFault,
      textFault,
    ]);
    expect(await stateOf(job.jobId)).to.include({ status: "RUNNING", error: null, errorCode: null });
    const error = "é".repeat(2048);
    await daemon.call("failProvisionerJob", job, { error, errorCode: "REQUIRED_TEMPLATE_VARIABLES", state: null });
    expect(await stateOf(job.jobId)).to.include({ status: "FAILED", error, errorCode: "REQUIRED_TEMPLATE_VARIABLES" });
  });

  it("carry logs, each line once, up to 1 MiB", async () => {
    const job = await running();
    const first = await daemon.call("updateProvisionerJob", job, { logs: [line(1), line(2)] });
    expect(first).to.include({ cancelRequested: false, logsOverflowed: false });
    await daemon.call("updateProvisionerJob", job, { logs: [line(2, "again"), line(3)] });
    const { logs } = await stateOf(job.jobId);
    expect(logs.nodes.map(({ output }: { output: string }) => output)).to.deep.equal(["line 1", "line 2", "line 3"]);
    const faulty = await refusal(
      daemon.call("updateProvisionerJob", job, { logs: [line(0), line(4, "x".repeat(4097))] }),
    );
    expect(faulty.errors[0]!.extensions!.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.logs[0].sequence",
      "input.logs[1].output",
    ]);
    const long = (count: number, from: number) =>
      Array.from({ length: count }, (_, n) => line(from + n, "x".repeat(4096)));
    for (const from of [100, 200]) {
      const { logsOverflowed } = await daemon.call("updateProvisionerJob", job, { logs: long(100, from) });
      expect(logsOverflowed).to.equal(false);
    }
    const last = await daemon.call("updateProvisionerJob", job, { logs: long(100, 300) });
    expect(last.logsOverflowed).to.equal(true);
    const full = await stateOf(job.jobId);
    expect(full.logsOverflowed).to.equal(true);
    expect(full.logs.totalCount).to.equal(3 + 255);
    await daemon.call("updateProvisionerJob", job, { logs: [line(1000)] });
    expect((await stateOf(job.jobId)).logs.totalCount).to.equal(3 + 255);
  });

  it("end with the job: it reports nothing more", async () => {
    const job = await running();
    await daemon.call("updateProvisionerJob", job, { logs: [line(1)] });
    await daemon.call("failProvisionerJob", job, { error: "It does not work." });
    for (const work of [
      daemon.call("updateProvisionerJob", job, { logs: [line(2)] }),
      daemon.call("reportProvisionerResources", job, { resources }),
    ])
      expect((await refusal(work)).reason).to.equal("LEASE_LOST");
    expect((await stateOf(job.jobId)).logs.totalCount).to.equal(1);
  });

  it("of a job that was never accepted end after 15 seconds: another daemon gets it", async () => {
    const id = await queueImport(w());
    const job = await daemon.job();
    expect(Date.parse(job.expiresAt) - Date.now()).to.be.within(1, 15_000);
    const other = (await serve(w().app, { key })).work();
    await leaseEnds(id);
    await reap();
    expect((await other.job()).jobId).to.equal(id);
    expect((await refusal(daemon.call("acceptProvisionerJob", job))).reason).to.equal("LEASE_LOST");
    await carryOut(other, await other.job());
    expect(daemon.assigned).to.have.length(1);
    await other.leave();
  });

  it("of a job that was never accepted end, and the same daemon gets it again if there is no other", async () => {
    const id = await queueImport(w());
    await daemon.job();
    const { workerId } = await stateOf(id);
    const others = (await daemons()).filter((each) => each.id !== workerId);
    await setColumns(
      w(),
      "provisioner_daemons",
      { id: others.map((each) => each.id) },
      { last_seen_at: new Date(Date.now() - 120_000) },
    );
    await leaseEnds(id);
    await reap();
    const again = await daemon.job(1);
    expect(again.jobId).to.equal(id);
    await carryOut(daemon, again);
  });

  it("that are not renewed end the job, and a late completion is rejected", async () => {
    const job = await running();
    await daemon.call("reportProvisionerResources", job, { resources });
    await leaseEnds(job.jobId);
    expect((await refusal(daemon.call("completeProvisionerJob", job))).reason).to.equal("LEASE_LOST");
    await reap();
    expect((await refusal(daemon.call("completeProvisionerJob", job))).reason).to.equal("LEASE_LOST");
    expect((await refusal(daemon.call("failProvisionerJob", job, { error: "x" }))).reason).to.equal("LEASE_LOST");
    const { status, error, logs } = await stateOf(job.jobId);
    expect({ status, error }).to.deep.equal({ status: "FAILED", error: "The provisioner daemon stopped reporting." });
    expect(logs.nodes.at(-1)).to.deep.equal({ sequence: 1, output: error, level: "ERROR" });
  });

  it("of a daemon whose user may not serve any more end: it reports nothing, and others get what it did not accept", async () => {
    await daemon.leave();
    const eve = await w().user("eve");
    await w().grant(eve, "template-admin");
    const hers = (await serve(w().app, { token: eve.token, query: "provisioner=echo&name=hers" })).work(4);
    const started = await queueImport(w());
    const waiting = await queueImport(w());
    const accepted = await hers.job(0);
    const handed = await hers.job(1);
    expect([accepted.jobId, handed.jobId]).to.deep.equal([started, waiting]);
    await hers.call("acceptProvisionerJob", accepted);
    await hers.call("reportProvisionerResources", accepted, { resources });

    // What it sends at the same moment is rejected, or has no socket any more.
    await w().grant(eve);
    const late = await Promise.allSettled([
      hers.call("completeProvisionerJob", accepted),
      hers.call("acceptProvisionerJob", handed),
      hers.call("updateProvisionerJob", accepted, { logs: [line(1)] }),
    ]);
    expect(late.map(({ status }) => status)).to.deep.equal(["rejected", "rejected", "rejected"]);
    expect((await hers.closing()).code).to.equal(4403);
    const again = await refusal(serve(w().app, { token: eve.token, query: "provisioner=echo&name=hers" }));
    expect(again).to.include({ status: 403 });
    expect(await stateOf(started)).to.deep.include({ status: "RUNNING", logs: { totalCount: 0, nodes: [] } });
    expect((await stateOf(waiting)).status).to.equal("PENDING");

    await leaseEnds([started, waiting]);
    const other = (await serve(w().app, { key })).work();
    await reap();
    expect(await stateOf(started)).to.include({ status: "FAILED", error: "The provisioner daemon stopped reporting." });
    const job = await other.job();
    expect(job.jobId).to.equal(waiting);
    await carryOut(other, job);
    await other.leave();
  });

  it("belong to the daemon: one that connects again by its name completes its job", async () => {
    const query = "provisioner=echo&name=steady&";
    await daemon.leave();
    const first = (await serve(w().app, { key, query })).work();
    await queueImport(w());
    const job = await first.job();
    await first.call("acceptProvisionerJob", job);
    await first.leave();
    const second = (await serve(w().app, { key, query })).work();
    await second.call("reportProvisionerResources", job, { resources });
    expect(await second.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
    await second.leave();
  });

  it("are renewed by the messages and pongs of the daemon", async () => {
    const job = await running();
    const version = () => versionsOf(w(), jobs, { id: job.jobId });
    /** Whether the lease lasts for longer than what was left of it. */
    const outlasts = async (left: string) => {
      await letPass(w(), jobs, { id: job.jobId }, left, ["lease_expires_at"]);
      return daemon.call("updateProvisionerJob", job).then(
        () => true,
        () => false,
      );
    };
    await leaseEnds(job.jobId, "2 min");
    await daemon.call("updateProvisionerJob", job);
    expect(await outlasts("2 min")).to.equal(true);
    await leaseEnds(job.jobId, "2 min");
    const before = await version();
    // The server notes a pong unless it has noted something in the last ten seconds.
    await withClock(async (pass) => {
      pass(10_001);
      daemon.socket.pong();
      await eventually(async () => (await version()) !== before, "the lease is renewed", 15_000);
    });
    expect(await outlasts("2 min")).to.equal(true);
  });

  it("end with the cancellation of a job that waits", async () => {
    await daemon.leave();
    const id = await queueImport(w(), { tags: { never: "taken" } });
    expect(await cancel(id)).to.deep.equal({ cancelProvisionerJob: { provisionerJob: { status: "CANCELED" } } });
    const again = await w()
      .as(w().owner)
      .failure(`mutation($job: String!) { cancelProvisionerJob(input: { job: $job }) { __typename } }`, { job: id });
    expect(again.code).to.equal("CONFLICT");
  });

  it("let a daemon stop a running job whose cancellation was requested, and only then", async () => {
    const job = await running();
    const early = await refusal(daemon.call("failProvisionerJob", job, { error: "stopped", canceled: true }));
    expect(early.errors[0]!.extensions!.validations).to.deep.equal([
      { field: "input.canceled", detail: "The cancellation of the job was not requested." },
    ]);
    expect(await cancel(job.jobId)).to.deep.equal({
      cancelProvisionerJob: { provisionerJob: { status: "CANCELING" } },
    });
    await eventually(() => daemon.events.length === 2, "the daemon is told");
    expect(daemon.events[1]).to.deep.equal({ __typename: "ProvisionerJobCancelRequested", jobId: job.jobId });
    expect(await daemon.call("updateProvisionerJob", job)).to.include({ cancelRequested: true });
    expect(await daemon.call("acceptProvisionerJob", job), "again").to.have.property("expiresAt");
    const ended = await daemon.call("failProvisionerJob", job, { error: "stopped", canceled: true });
    expect(ended).to.deep.equal({ status: "CANCELED" });
    expect((await stateOf(job.jobId)).status).to.equal("CANCELED");
    const events = await audited(w(), { resourceId: job.jobId, resourceType: "provisioner_job" });
    expect(events.map(({ diff }) => (diff as { status: unknown }).status)).to.deep.include({
      old: "canceling",
      new: "canceled",
    });
  });

  it("let a job succeed whose cancellation was requested too late", async () => {
    const job = await running();
    await cancel(job.jobId);
    const early = await refusal(daemon.call("completeProvisionerJob", job));
    expect([early.code, early.reason]).to.deep.equal(["CONFLICT", undefined]);
    await daemon.call("reportProvisionerResources", job, { resources });
    expect(await daemon.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
  });

  it("end with the time limits of jobs", async () => {
    const waiting = await queueImport(w(), { tags: { no: "daemon" } });
    const long = await running();
    await setTimes(w(), jobs, { id: waiting }, { created_at: "-31 min" });
    await setTimes(w(), jobs, { id: long.jobId }, { started_at: "-3 h" });
    await queueImport(w());
    const canceled = await daemon.job(1);
    await daemon.call("acceptProvisionerJob", canceled);
    await cancel(canceled.jobId);
    await setTimes(w(), jobs, { id: canceled.jobId }, { canceled_at: "-11 min" });
    await Promise.all([reap(), reap()]);
    const states = await Promise.all([waiting, long.jobId, canceled.jobId].map(stateOf));
    expect(states.map(({ status, error, logs }) => [status, error, logs.totalCount])).to.deep.equal([
      [
        "FAILED",
        'No provisioner daemon accepted the job in time: none of the organization offers "echo" with the tags no=daemon.',
        1,
      ],
      ["FAILED", "The job ran longer than the server allows.", 1],
      ["CANCELED", "The provisioner daemon did not stop the job in time after its cancellation.", 1],
    ]);
  });

  it("go to daemons by tags: all of the job's, and none for jobs without tags", async () => {
    await daemon.leave();
    const [tagged, more] = await Promise.all([newKey(w(), { a: "1" }), newKey(w(), { a: "1", b: "2" })]);
    const plain = (await serve(w().app, { key })).work(4);
    const b = (await serve(w().app, { key: more })).work(4);
    const untagged = await queueImport(w());
    const withTag = await queueImport(w(), { tags: { a: "1" } });
    expect((await b.job()).jobId).to.equal(withTag);
    expect((await plain.job()).jobId).to.equal(untagged);
    await keepHandedOut(untagged, withTag);
    await b.leave();
    const a = (await serve(w().app, { key: tagged })).work(4);
    const untaggedNext = await queueImport(w());
    const next = await queueImport(w(), { tags: { a: "1" } });
    const both = await queueImport(w(), { tags: { a: "1", b: "2" } });
    expect((await a.job()).jobId).to.equal(next);
    expect((await plain.job(1)).jobId).to.equal(untaggedNext);
    expect([...a.assigned, ...plain.assigned].map(({ jobId }) => jobId)).to.not.include(both);
    for (const each of [a, plain]) await each.leave();
  });

  it("of pinned jobs go to their daemon, jobs of people before prebuilds, and older ones first", async () => {
    await daemon.leave();
    const pinned = (await serve(w().app, { key, query: "provisioner=echo&name=pinned" })).work(1);
    const first = await queueImport(w());
    const busy = await pinned.job();
    expect(busy.jobId).to.equal(first);
    await keepHandedOut(first);
    const { id: pinnedDaemonId } = (await daemons()).find(({ name }) => name === "pinned")!;
    const prebuild = await queueImport(w(), { priority: 1 });
    const mine = await queueImport(w(), { pinnedDaemonId });
    const people = [await queueImport(w()), await queueImport(w())];
    const other = (await serve(w().app, { key })).work(1);
    const able = async (id: string) => {
      const query = `query($id: UUID!) { provisionerJob(id: $id) { availableWorkers matchedProvisioners { count } } }`;
      const { availableWorkers, matchedProvisioners } = (await w().as(w().owner).graphql(query, { id })).provisionerJob;
      return { availableWorkers, count: matchedProvisioners.count };
    };
    expect(await able(mine)).to.deep.equal({ availableWorkers: [pinnedDaemonId], count: 1 });
    expect((await able(prebuild)).availableWorkers)
      .to.include(pinnedDaemonId)
      .and.have.length.above(1);
    for (const [n, next] of [...people, prebuild].entries()) {
      const job = await other.job(n);
      expect(job.jobId).to.equal(next);
      await carryOut(other, job);
    }
    await carryOut(pinned, busy);
    expect((await pinned.job(1)).jobId).to.equal(mine);
    for (const each of [pinned, other]) await each.leave();
  });
});

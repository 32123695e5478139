// The loop of the provisioner daemon against a server that follows the protocol, and faults of it.
// Looks inside: the parts of the daemon meet faults of a server that a real one does not have.
import { expect } from "chai";
import { GraphQLError } from "graphql";
import { Daemon, type Worker } from "../../clients/daemon/daemon.js";
import { echo } from "../../clients/daemon/echo.js";
import { type Job, JobFailed } from "../../clients/daemon/job.js";
import { pace } from "../../clients/agent/pace.js";
import { Refused } from "../../clients/daemon/transport.js";
import { finalClosing, type Introduction, WebSocketTransport } from "../../clients/daemon/web-socket.js";
import { plainDaemon } from "../support/plain-daemon.js";
import { standInWorkspace, StandInSteward } from "../support/stand-in-steward.js";

const quick = { ...pace, reconnect: 20, reconnectMost: 100, retry: 20, logBatch: 5 };

const template = (resources: object[] = [{ name: "box" }]) => ({
  schema: "steward.template/1",
  provisioner: "echo",
  resources,
});

describe("the provisioner daemon", () => {
  let steward: StandInSteward;
  let stop: AbortController;
  let running: Promise<void> | undefined;
  let lines: string[];

  beforeEach(async () => {
    steward = await StandInSteward.start();
    stop = new AbortController();
    lines = [];
  });
  afterEach(async () => {
    stop.abort();
    await running?.catch(() => {});
    running = undefined;
    await steward.stop();
  });

  interface Options {
    workers?: Worker[];
    slots?: number;
    introduction?: Partial<Introduction>;
    silence?: number;
  }

  /** Runs a daemon, until the end of the test. */
  function serve({ workers = [echo], slots = 4, introduction = {}, silence = 60_000 }: Options = {}) {
    const transport = new WebSocketTransport(
      {
        url: steward.url,
        organization: "default",
        name: "daemon-1",
        types: workers.map(({ type }) => type),
        tags: [],
        key: steward.key,
        ...introduction,
      },
      { silence, timeout: 5_000 },
    );
    const log = (line: string) => {
      lines.push(line);
      steward.changed();
    };
    running = new Daemon({ transport, workers, slots, log, pace: quick, finalClosing }).run(stop.signal);
    running.catch(() => {});
    return running;
  }

  const refusal = (run: Promise<void>): Promise<Error> =>
    run.then(
      () => expect.fail("The daemon ended."),
      (error: Error) => error,
    );

  /** A worker whose jobs last until they are released. */
  function held() {
    const jobs: Job[] = [];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const ends: Error[] = [];
    const worker: Worker = {
      type: "echo",
      run: async (job) => {
        jobs.push(job);
        steward.changed();
        const aborted = new Promise<never>((_, reject) =>
          job.signal.addEventListener("abort", () => reject(job.signal.reason as Error)),
        );
        try {
          await Promise.race([released, aborted]);
        } catch (error) {
          ends.push(error as Error);
          steward.changed();
          throw error;
        }
        await job.complete({});
      },
    };
    return { jobs, ends, release, worker };
  }

  it("introduces itself with its name, types, version, and key, and offers its slots", async () => {
    void serve({ slots: 7, introduction: { types: ["echo", "process"] } });
    await steward.until(() => steward.slots);
    const [{ url, headers }] = steward.handshakes as [(typeof steward.handshakes)[number]];
    expect(url.pathname).to.equal("/api/v2/organizations/default/provisionerdaemons/serve");
    expect(url.search).to.equal("?provisioner=echo&provisioner=process&name=daemon-1&version=1.0");
    expect(headers["service-provisioner-key"]).to.equal(steward.key);
    expect(headers["service-build-version"]).to.match(/^\d+\.\d+\.\d+$/);
    expect(steward.slots).to.equal(7);
  });

  it("sends the token of a session as such, with tags", async () => {
    const refused = await refusal(serve({ introduction: { key: "stw_se_1", tags: ["a=1", "scope=user"] } }));
    expect(refused.message).to.contain("status 401");
    const [{ url, headers }] = steward.handshakes as [(typeof steward.handshakes)[number]];
    expect(url.searchParams.getAll("tag")).to.deep.equal(["a=1", "scope=user"]);
    expect(headers["service-session-token"]).to.equal("stw_se_1");
    expect(headers).not.to.have.property("service-provisioner-key");
  });

  it("imports a template: reports the resources of a start, with placeholders and defaults", async () => {
    void serve();
    const job = steward.assign(
      {
        ...template([
          {
            name: "box",
            metadata: [
              { key: "who", value: "${workspace.owner}/${workspace.name} ${workspace.id} ${param.size} ${task.id}" },
            ],
            agents: [
              {
                name: "main",
                os: "linux",
                arch: "amd64",
                env: { A: "$${HOME} ${var.color}" },
                directory: "${param.size}",
                apps: [{ slug: "web", url: "http://localhost/${param.size}" }],
              },
            ],
          },
          { name: "disk", transitions: ["stop"] },
        ]),
        parameters: [{ name: "size", default: "small" }],
      },
      { variables: [{ name: "color", value: "red" }] },
    );
    await job.reaches("SUCCEEDED");
    expect(job.resources).to.deep.equal([
      {
        name: "box",
        metadata: [{ key: "who", value: "owner/workspace 00000000-0000-0000-0000-000000000000 small " }],
        agents: [
          {
            name: "main",
            os: "linux",
            arch: "amd64",
            env: { A: "${HOME} red" },
            directory: "small",
            apps: [{ slug: "web", url: "http://localhost/small" }],
          },
        ],
      },
    ]);
    expect(job.outcome).to.have.all.keys("jobId", "lease");
    expect(job.logs).to.deep.include.members([{ ...job.logs[0]!, sequence: 1, level: "INFO", output: "box" }]);
  });

  it("builds with the values of the workspace, its parameters, and its task", async () => {
    void serve();
    const workspace = standInWorkspace("w");
    const resources = [
      {
        name: "run",
        metadata: [{ key: "k", value: "${workspace.name} ${workspace.owner_id} ${param.p} ${task.prompt}" }],
      },
      { name: "disk", transitions: ["start", "stop"] },
    ];
    const given = { workspace, parameters: [{ name: "p", value: "v" }], task: { id: workspace.id, prompt: "Do it" } };
    const start = steward.assign(template(resources), { ...given, transition: "START" });
    const deletion = steward.assign(template(resources), { ...given, transition: "DELETE" });
    const halt = steward.assign(template(resources), { ...given, transition: "STOP" });
    await Promise.all([start, halt, deletion].map((job) => job.reaches("SUCCEEDED")));
    expect(start.resources![0]).to.deep.nested.include({ "metadata[0].value": `w ${workspace.owner.id} v Do it` });
    expect(start.resources).to.have.length(2);
    expect(halt.resources).to.deep.equal([resources[1]]);
    expect(deletion.resources).to.deep.equal([]);
  });

  it("fails a job whose template refers to something that it does not have", async () => {
    void serve();
    const job = steward.assign(template([{ name: "box", metadata: [{ key: "a", value: "${port.web}" }] }]));
    await job.reaches("FAILED");
    expect(job.outcome!.error).to.equal("This provisioner has no value for ${port.web}.");
  });

  it("fails a job of a type that it does not offer", async () => {
    void serve();
    const job = steward.assign({ ...template(), provisioner: "terraform" });
    await job.reaches("FAILED");
    expect(job.outcome!.error).to.contain('does not offer the provisioner "terraform"');
  });

  it("sends logs in batches of 100 lines with increasing numbers, and cuts lines to 4 KiB, with a mark", async () => {
    const worker: Worker = {
      type: "echo",
      run: async (job) => {
        for (let n = 0; n < 250; n += 1) job.log("Work", n === 7 ? "é".repeat(4096) : `line ${n}`);
        await job.complete({});
      },
    };
    void serve({ workers: [worker] });
    const job = await steward.assign(template()).reaches("SUCCEEDED");
    expect(job.logs.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 250 }, (_, n) => n + 1));
    expect(job.logs[7]!.output).to.equal(`${"é".repeat(2043)} … [cut]`);
  });

  it("sends the first and the last lines of a burst, with a notice for each stage between them", async () => {
    const worker: Worker = {
      type: "echo",
      run: async (job) => {
        for (let n = 0; n < 5000; n += 1) job.log(n % 2 ? "Plan" : "Apply", `${n}`);
        await job.complete({});
      },
    };
    void serve({ workers: [worker] });
    const { logs } = await steward.assign(template()).reaches("SUCCEEDED");
    const numbers = logs.map(({ sequence }) => sequence);
    expect(numbers).to.deep.equal([...new Set(numbers)].toSorted((a, b) => a - b));
    const notices = logs.filter(({ output }) => output.includes("left out"));
    expect(notices.map(({ stage, output }) => `${stage}: ${output}`)).to.have.members([
      "Plan: 1500 lines were left out: there were too many.",
      "Apply: 1500 lines were left out: there were too many.",
    ]);
    expect([logs[0]!.output, logs[999]!.output, logs[1002]!.output, logs.at(-1)!.output]).to.deep.equal([
      "0",
      "999",
      "4000",
      "4999",
    ]);
  });

  it("cancels a job on request, and reports it as canceled", async () => {
    const { jobs, worker } = held();
    void serve({ workers: [worker] });
    const job = steward.assign(template());
    await steward.until(() => jobs.length);
    steward.cancel(job);
    await job.reaches("CANCELED");
    expect(job.outcome).to.include({ canceled: true });
  });

  it("abandons a job whose lease is lost, and reports nothing more", async () => {
    const { jobs, ends, worker } = held();
    void serve({ workers: [worker] });
    const job = steward.assign(template());
    await steward.until(() => jobs.length);
    steward.takeAway(job);
    jobs[0]!.log("Work", "still here");
    await steward.until(() => ends.length);
    expect(ends[0]!.message).to.contain("taken the job");
    expect(job.outcome).to.equal(undefined);
  });

  it("leaves a failed job to the server if the quota is exceeded", async () => {
    void serve();
    const fault = new GraphQLError("Over quota.", { extensions: { code: "CONFLICT", reason: "QUOTA_EXCEEDED" } });
    steward.faults.set("reportProvisionerResources", fault);
    const job = steward.assign(template());
    await steward.until(() => lines.some((line) => line.includes("Over quota.")));
    expect(job.outcome).to.equal(undefined);
  });

  it("repeats operations while the server is unavailable", async () => {
    void serve();
    const fault = () => new GraphQLError("Later.", { extensions: { code: "UNAVAILABLE" } });
    steward.faults.set("acceptProvisionerJob", fault());
    steward.faults.set("reportProvisionerResources", fault());
    steward.faults.set("completeProvisionerJob", fault());
    await steward.assign(template()).reaches("SUCCEEDED");
  });

  it("reconnects by itself and completes the jobs that it holds", async () => {
    const { jobs, release, worker } = held();
    void serve({ workers: [worker] });
    const job = steward.assign(template());
    await steward.until(() => jobs.length);
    for (const close of [
      () => steward.cut(),
      () => steward.close(4411, "Silent"),
      () => steward.close(1012, "Restart"),
    ]) {
      const before = steward.handshakes.length;
      close();
      await steward.until(() => steward.handshakes.length > before && steward.slots);
    }
    release();
    await job.reaches("SUCCEEDED");
    expect(jobs).to.have.length(1);
  });

  it("reconnects when the server has been silent for too long", async () => {
    void serve({ silence: 100 });
    await steward.until(() => steward.handshakes.length >= 2);
  });

  it("tries again while the server responds with a temporary status", async () => {
    steward.rejectWith = { status: 503, body: { message: "Draining." } };
    void serve();
    await steward.until(() => steward.handshakes.length >= 3);
    steward.rejectWith = undefined;
    await steward.assign(template()).reaches("SUCCEEDED");
    expect(lines.join("\n")).to.contain("status 503: Draining.");
  });

  it("ends with advice if the key is rejected, before and after it was accepted", async () => {
    const early = await refusal(serve({ introduction: { key: "stwk_wrong" } }));
    expect(early).to.be.instanceOf(Refused);
    expect(early.message).to.contain("STEWARD_PROVISIONER_KEY");

    const late = serve();
    await steward.until(() => steward.slots);
    steward.rejectWith = { status: 401, body: { message: "Gone." } };
    steward.cut();
    expect(await refusal(late)).to.be.instanceOf(Refused);
  });

  it("ends and abandons its jobs if the key is deleted", async () => {
    const { jobs, ends, worker } = held();
    const run = serve({ workers: [worker] });
    steward.assign(template());
    await steward.until(() => jobs.length);
    steward.close(4403, "Key deleted");
    expect((await refusal(run)).message).to.contain("was deleted");
    expect(ends).to.have.length(1);
  });

  it("ends if another daemon takes its name", async () => {
    const run = serve();
    await steward.until(() => steward.slots);
    steward.close(4410, "Replaced");
    expect((await refusal(run)).message).to.contain("STEWARD_PROVISIONER_NAME");
  });

  it("explains why a first connection was rejected for good", async () => {
    expect((await refusal(serve({ introduction: { organization: "other" } }))).message).to.contain(
      "STEWARD_PROVISIONER_ORGANIZATION",
    );
    steward.rejectWith = { status: 409, body: { message: "Taken." } };
    expect((await refusal(serve())).message)
      .to.contain("STEWARD_PROVISIONER_NAME")
      .and.contain("Taken.");
  });

  it("finishes the jobs in progress when it is stopped, and takes no others", async () => {
    const { jobs, release, worker } = held();
    const run = serve({ workers: [worker] });
    const job = steward.assign(template());
    await steward.until(() => jobs.length);
    stop.abort();
    await steward.until(() => steward.slots === undefined);
    const later = steward.assign(template());
    steward.cut();
    await steward.until(() => steward.handshakes.length >= 2);
    release();
    await job.reaches("SUCCEEDED");
    await run;
    expect(later.accepted).to.equal(0);
  });

  it("stops while it waits to reconnect", async () => {
    steward.rejectWith = { status: 503, body: {} };
    const run = serve();
    await steward.until(() => steward.handshakes.length >= 2);
    stop.abort();
    await run;
  });

  it("does at most as many jobs at a time as it has slots", async () => {
    const { jobs, release, worker } = held();
    void serve({ workers: [worker], slots: 2 });
    const given = [1, 2, 3].map(() => steward.assign(template()));
    await steward.until(() => jobs.length === 2);
    expect(given.map(({ accepted }) => accepted)).to.deep.equal([1, 1, 0]);
    release();
    await given[1]!.reaches("SUCCEEDED");
  });

  it("keeps defects of a worker from ending other jobs", async () => {
    const worker: Worker = {
      type: "echo",
      run: async (job) => {
        if (jobsSeen.push(job) === 1) throw new TypeError("x is not a function");
        if (jobsSeen.length === 2) throw new JobFailed("No disk is left.");
        await job.complete({});
      },
    };
    const jobsSeen: Job[] = [];
    void serve({ workers: [worker] });
    expect((await steward.assign(template()).reaches("FAILED")).outcome!.error).to.contain("The provisioner failed");
    expect((await steward.assign(template()).reaches("FAILED")).outcome!.error).to.equal("No disk is left.");
    await steward.assign(template()).reaches("SUCCEEDED");
  });
});

describe("a daemon written with nothing but the protocol", () => {
  it("runs a build to success", async () => {
    const steward = await StandInSteward.start();
    const job = steward.assign(template(), { transition: "START" });
    const daemon = plainDaemon(steward.url, steward.key, "echo", "plain");
    expect((await daemon.next()).value).to.equal(job.id);
    expect(job.status).to.equal("SUCCEEDED");
    await daemon.return(undefined);
    await steward.stop();
  });
});

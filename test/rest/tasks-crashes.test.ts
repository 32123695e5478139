// Tasks at every step of their life, while the server, the daemon or the program of the task is killed.
// Reaches for tables: leases of jobs and of deliveries last for minutes.
import { expect } from "chai";
import { setColumns, setTimes } from "../support/tables.js";
import { runJob } from "../support/background.js";
import { AgentProgram } from "../support/agent-api.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { type Assigned, type Daemon, newKey, serve } from "../support/provisioners.js";
import { checkStatuses, passTime, taskDocument } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, type Person, world } from "../support/world.js";

// Tests look into payloads of every shape.
// oxlint-disable-next-line typescript/no-explicit-any -- see above
type Anything = any;

const tasks = "/api/v2/tasks";
const timeout = 20_000;

const steps = ["pending", "initializing", "queued", "delivering", "pausing", "resuming", "deleting"] as const;
type Step = (typeof steps)[number];

/** A task that has reached a step. */
interface Subject {
  step: Step;
  name: string;
  id: string;
  workspaceId: string;
  program: AgentProgram;
  /** The job that has not ended. */
  job?: Assigned & Record<string, Anything>;
  /** Of the agent of the last start. */
  token?: string;
  /** The request that is sending an input. */
  sending?: Promise<Answer | undefined>;
}

describe("tasks at every step of their life", () => {
  const the = world();
  const programs: AgentProgram[] = [];
  const taken = new Set<string>();
  let server: ServerProcess;
  let daemon: Daemon;
  let key: string;
  /** Of the template of each program. */
  const versionIds: string[] = [];
  let ada: Person;
  let round = 0;

  before(async () => {
    for (const _ of steps) programs.push(await AgentProgram.open());
    [ada, key, server] = await Promise.all([the().user("ada"), newKey(the()), start()]);
    await join();
    for (const [place, { url }] of programs.entries()) {
      const input = { organization: "default", name: `agent-${place}`, document: taskDocument(url) };
      const { createTemplate } = await the()
        .as(the().owner)
        .graphql(
          `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id } } }`,
          { input },
        );
      versionIds.push(createTemplate.templateVersion.id);
      const job = await daemon.job(place);
      await daemon.call("acceptProvisionerJob", job);
      await daemon.call("reportProvisionerResources", job, { resources: job.assignment.document.resources });
      await daemon.call("completeProvisionerJob", job);
    }
  });
  afterEach(() => checkStatuses(the()));
  after(async () => {
    daemon.close();
    server.child.kill("SIGKILL");
    await server.ended;
    await Promise.all(programs.map((program) => program.close()));
  });

  const start = () => spawnServer({ STEWARD_DATABASE_URL: the().database.url });
  const join = async () =>
    (daemon = (await serve(server, { key, query: `provisioner=stage&name=daemon-${round}` })).work(50));
  const as = () => new Client(server.url, ada.token);
  const pathOf = ({ id }: Subject) => `${tasks}/me/${id}`;
  const statusOf = async (subject: Subject) => (await as().get(pathOf(subject))).body.status;
  const becomes = (subject: Subject, status: string) =>
    eventually(async () => (await statusOf(subject)) === status, `${subject.name} is ${status}`, timeout);

  /** Accepts the next job of a task. */
  async function accept(subject: Subject): Promise<void> {
    await assigned(subject);
    await daemon.call("acceptProvisionerJob", subject.job!);
  }

  async function assigned(subject: Subject): Promise<void> {
    const next = () =>
      daemon.assigned.find(
        ({ jobId, assignment }) => assignment.workspace?.id === subject.workspaceId && !taken.has(jobId),
      );
    await eventually(() => next() !== undefined, `a job of ${subject.name}`, timeout);
    subject.job = next()!;
    taken.add(subject.job.jobId);
  }

  async function report(subject: Subject): Promise<void> {
    const { document, transition } = subject.job!.assignment;
    const resources = transition === "START" ? document.resources : [];
    const { agents } = await daemon.call("reportProvisionerResources", subject.job!, { resources });
    subject.token = agents[0]?.token ?? subject.token;
  }

  /** Ends an accepted job with success; of a start, lets the agent become ready and the app healthy. */
  async function complete(subject: Subject): Promise<void> {
    await report(subject);
    await daemon.call("completeProvisionerJob", subject.job!);
    if (subject.job!.assignment.transition === "START") await ready(subject);
  }

  async function ready({ token }: Subject): Promise<void> {
    const agent = new Client(server.url, token);
    for (const state of ["STARTING", "READY"])
      await agent.graphql(`mutation { reportAgentLifecycle(input: { state: ${state} }) { __typename } }`);
    await agent.graphql(
      `mutation { reportAppHealth(input: { apps: [{ slug: "chat", health: HEALTHY }] }) { __typename } }`,
    );
  }

  async function run(subject: Subject): Promise<void> {
    await accept(subject);
    await complete(subject);
  }

  const act = async (subject: Subject, action: string, body?: object) => {
    const answer = await as().post(`${pathOf(subject)}/${action}`, body);
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([202, 204]);
  };

  const reach: Record<Step, (subject: Subject) => Promise<void>> = {
    pending: assigned,
    async initializing(subject) {
      await accept(subject);
      await report(subject);
    },
    async queued(subject) {
      await run(subject);
      subject.program.status = "running";
      await act(subject, "send", { input: "Hi" });
    },
    async delivering(subject) {
      await run(subject);
      const arrived = Promise.withResolvers<void>();
      subject.program.handlers["POST /message"] = (_, body) => {
        subject.program.say("user", JSON.parse(body).content as string);
        arrived.resolve();
        return true;
      };
      subject.sending = as()
        .post(`${pathOf(subject)}/send`, { input: "Hi" })
        .catch(() => undefined);
      await arrived.promise;
    },
    async pausing(subject) {
      await run(subject);
      await act(subject, "pause");
      await accept(subject);
    },
    async resuming(subject) {
      await run(subject);
      await act(subject, "pause");
      await run(subject);
      await act(subject, "resume");
      await accept(subject);
    },
    async deleting(subject) {
      await run(subject);
      expect((await as().delete(pathOf(subject))).status).to.equal(202);
      await accept(subject);
    },
  };

  /** Creates a task for each step, and brings it there, to some in other ways. */
  async function stage(others: Partial<typeof reach> = {}): Promise<Record<Step, Subject>> {
    round++;
    const subjects = await Promise.all(
      steps.map(async (step, place): Promise<Subject> => {
        const name = `${step}-${round}`;
        const program = programs[place]!;
        program.reset();
        const { status, body } = await as().post(`${tasks}/me`, { template_version_id: versionIds[place], name });
        expect(status, JSON.stringify(body)).to.equal(201);
        const subject: Subject = { step, name, id: body.id, workspaceId: body.workspace_id.uuid, program };
        await (others[step] ?? reach[step])(subject);
        return subject;
      }),
    );
    return Object.fromEntries(subjects.map((subject) => [subject.step, subject])) as Record<Step, Subject>;
  }

  /** Waits until the only input of a task has ended, and checks that it was sent once. */
  async function isSentOnce(subject: Subject, ...states: string[]): Promise<void> {
    const read = async (): Promise<string[]> => {
      const query = `query($id: String!) { task(task: $id) { inputs { state } } }`;
      const { inputs } = (await as().graphql(query, { id: subject.id })).task;
      return inputs.map(({ state }: { state: string }) => state);
    };
    await eventually(
      async () => !(await read()).some((state) => ["QUEUED", "DELIVERING"].includes(state)),
      `the input of ${subject.name} ends`,
      timeout,
    );
    expect([states.includes((await read())[0]!), await read()], subject.name).to.deep.equal([
      true,
      [(await read())[0]],
    ]);
    expect(subject.program.count("POST /message"), subject.name).to.equal(1);
  }

  const workspaceOf = async ({ workspaceId: id }: Subject) => {
    const query = `query($id: UUID!) { workspace(id: $id) { status } }`;
    const { body } = await the().as(the().owner).post("/graphql", { query, variables: { id } });
    return body.data.workspace?.status as string | undefined;
  };

  it("go on after the server was killed", async () => {
    const at = await stage();
    server.child.kill("SIGKILL");
    await server.ended;
    expect(await at.delivering.sending).to.equal(undefined);
    at.queued.program.status = "stable";
    at.delivering.program.handlers = {};
    server = await start();
    round--;
    await join();
    round++;
    await passTime(the());
    taken.delete(at.pending.job!.jobId);
    await run(at.pending);
    for (const subject of [at.pausing, at.resuming, at.deleting]) await complete(subject);
    await daemon.call("completeProvisionerJob", at.initializing.job!);
    await ready(at.initializing);
    for (const step of ["pending", "initializing", "queued", "delivering", "resuming"] as const)
      expect(await statusOf(at[step]), step).to.equal("active");
    expect(await statusOf(at.pausing)).to.equal("paused");
    expect([(await as().get(pathOf(at.deleting))).status, await workspaceOf(at.deleting)]).to.deep.equal([
      404,
      undefined,
    ]);
    await isSentOnce(at.queued, "DELIVERED");
    await isSentOnce(at.delivering, "DELIVERED");
  });

  it("can be resumed after the daemon was killed", async () => {
    const at = await stage();
    daemon.close();
    await setTimes(the(), "provisioner_jobs", { status: ["pending", "running"] }, { lease_expires_at: "0 s" });
    await runJob(the().app, "jobReaper");
    round++;
    await join();
    at.queued.program.status = "stable";
    // The longer the program was busy, the later it would be tried again.
    await setColumns(the(), "task_messages", { state: "queued" }, { next_attempt_at: new Date() });
    taken.delete(at.pending.job!.jobId);
    await run(at.pending);
    for (const subject of [at.initializing, at.pausing, at.resuming]) {
      expect(await statusOf(subject), subject.name).to.equal("error");
      await act(subject, "resume");
      await run(subject);
    }
    for (const step of ["pending", "initializing", "queued", "pausing", "resuming"] as const)
      expect(await statusOf(at[step]), step).to.equal("active");
    expect((await as().get(pathOf(at.deleting))).status).to.equal(404);
    expect(await workspaceOf(at.deleting)).to.equal("FAILED");
    await isSentOnce(at.queued, "DELIVERED");
    at.delivering.program.hangUp();
  });

  it("go on after the program was killed, with another conversation", async () => {
    const at = await stage({
      async pending(subject) {
        await assigned(subject);
        // The daemon accepts it once all the others are there too, which may take longer than the usual 15 seconds.
        await setTimes(the(), "provisioner_jobs", { id: subject.job!.jobId }, { lease_expires_at: "10 min" });
      },
    });
    for (const { program } of Object.values(at)) program.kill();
    await becomes(at.queued, "active");
    for (const { program } of Object.values(at)) program.revive();
    await passTime(the());
    await daemon.call("acceptProvisionerJob", at.pending.job!);
    for (const subject of [at.pending, at.initializing, at.pausing, at.resuming, at.deleting]) await complete(subject);
    for (const step of ["pending", "initializing", "queued", "delivering", "resuming"] as const)
      expect(await statusOf(at[step]), step).to.equal("active");
    expect(await statusOf(at.pausing)).to.equal("paused");
    expect((await workspaceOf(at.deleting)) === undefined).to.equal(true);
    await isSentOnce(at.queued, "DELIVERED");
    expect((await at.delivering.sending)!.status).to.equal(502);
    await isSentOnce(at.delivering, "UNCONFIRMED");
  });
});

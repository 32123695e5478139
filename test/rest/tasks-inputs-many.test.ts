// What users send to the programs of tasks: to many of them, and when servers are killed.
// Reaches for tables: attempts are minutes apart, inputs expire, and those of deleted tasks are in no response.
import { expect } from "chai";
import type { AgentProgram } from "../support/agent-api.js";
import { type App, startServer } from "../support/app.js";
import { spawnServer } from "../support/process.js";
import { countRows, setColumns } from "../support/tables.js";
import { passTime, type TaskStage, withTasks } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Answer, Client, type Person, world } from "../support/world.js";

const tasks = "/api/v2/tasks";

interface Input {
  id: string;
  content: string;
  state: string;
  lastError: string;
}

describe("inputs of tasks", () => {
  const the = world();
  let other: App;
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;
  let as: Client;
  let there: Client;

  withTasks(the, (opened) => ({ stage, program } = opened));
  before(async () => {
    other = await startServer(the().database.url);
  });
  after(() => other.close());
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    there = new Client(other.url, ada.token);
    program.reset();
    // Tests share the program: what others left in their queues is not for it.
    const ended = { state: "canceled", finished_at: new Date() };
    await setColumns(the(), "task_messages", { finished_at: null }, ended);
  });

  const send = (id: string, input: unknown, who = as): Promise<Answer> => who.post(`${tasks}/me/${id}/send`, { input });

  /** The inputs of a task, as `content state`. */
  const inputsOf = async (id: string): Promise<Input[]> =>
    (await as.graphql(`query($id: String!) { task(task: $id) { inputs { id content state lastError } } }`, { id })).task
      .inputs;
  const statesOf = async (id: string) => (await inputsOf(id)).map(({ content, state }) => `${content} ${state}`);

  const becomes = (id: string, expected: string[], timeout?: number) =>
    eventually(
      async () => (await statesOf(id)).join() === expected.join(),
      `the inputs are ${expected.join()}`,
      timeout,
    );

  it("reach 50 tasks over two replicas once and in order", async () => {
    const count = 50;
    const each = 4;
    const ids: string[] = [];
    for (let number = 0; number < count; number++) ids.push((await stage.active(ada)).task.id as string);
    program.status = "running";
    await Promise.all(
      ids.map(async (id, place) => {
        for (let number = 0; number < each; number++)
          expect((await send(id, `${place}:${number}`, (place + number) % 2 ? as : there)).status).to.equal(204);
      }),
    );
    program.status = "stable";
    // The longer the program was busy, the later they would be tried again.
    await setColumns(the(), "task_messages", { state: "queued" }, { next_attempt_at: new Date() });
    const all = count * each;
    await eventually(() => program.inputs.length >= all, "all inputs arrive", 45_000);
    await eventually(
      async () => (await countRows(the(), "task_messages", { state: ["queued", "delivering"] })) === 0,
      "all deliveries are stored",
    );
    expect(program.inputs).to.have.length(all);
    expect(program.count("POST /message")).to.equal(all);
    for (const place of ids.keys())
      expect(program.inputs.filter((input) => input.startsWith(`${place}:`))).to.deep.equal(
        Array.from({ length: each }, (_, number) => `${place}:${number}`),
      );
  });

  it("are not sent again after the server that sent them was killed", async () => {
    const server = await spawnServer({ STEWARD_DATABASE_URL: the().database.url });
    for (const isListed of [true, false]) {
      const { task } = await stage.active(ada);
      program.reset();
      const arrived = Promise.withResolvers<void>();
      program.handlers["POST /message"] = (_, body) => {
        if (isListed) program.say("user", JSON.parse(body).content as string);
        arrived.resolve();
        return true;
      };
      const killed = isListed ? server : await spawnServer({ STEWARD_DATABASE_URL: the().database.url });
      const cut = send(task.id, "Hi", new Client(killed.url, ada.token)).catch(() => "cut");
      await arrived.promise;
      killed.child.kill("SIGKILL");
      expect(await cut).to.equal("cut");
      await killed.ended;
      expect(await statesOf(task.id)).to.deep.equal(["Hi DELIVERING"]);
      await passTime(the());
      await becomes(task.id, [isListed ? "Hi DELIVERED" : "Hi UNCONFIRMED"], 30_000);
      expect(program.count("POST /message")).to.equal(1);
    }
  });
});

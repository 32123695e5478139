// One successful call of every row of tasks, with a check of its side effects.
import { expect } from "chai";
import { AgentProgram } from "../support/agent-api.js";
import { TaskStage } from "../support/tasks.js";
import type { Answer, Client, Person, World } from "../support/world.js";

interface Scene {
  stage: TaskStage;
  program: AgentProgram;
  ada: Person;
  as: Client;
}

const tasks = "/api/v2/tasks";

let made = 0;

/** Lets a person use a template with an AI task, whose workspaces a daemon of the test builds. */
const withStage = (act: (scene: Scene) => Promise<Answer>) => async (w: World) => {
  const program = await AgentProgram.open();
  const stage = await TaskStage.open(w, program, {}, `agents-${++made}`);
  try {
    const ada = await w.user("ada");
    return await act({ stage, program, ada, as: w.as(ada) });
  } finally {
    stage.close();
    await program.close();
  }
};

/** Pauses a task. */
async function pause({ stage, as }: Scene, id: string): Promise<Answer> {
  const answer = await as.post(`${tasks}/me/${id}/pause`);
  await stage.carryOut();
  return answer;
}

const conversation = { messages: [{ id: 0, role: "user", content: "Fix it", time: "2026-01-02T03:04:05Z" }] };

export const taskExamples: Record<string, (w: World) => Promise<Answer>> = {
  "GET /api/v2/tasks": withStage(async ({ stage, ada, as }) => {
    const { task } = await stage.active(ada);
    const answer = await as.get(`${tasks}?q=${encodeURIComponent('owner:"me" status:active')}`);
    expect(answer.body).to.include({ count: 1 });
    expect(answer.body.tasks[0].id).to.equal(task.id);
    return answer;
  }),

  "POST /api/v2/tasks/{user}": withStage(async ({ stage, as }) => {
    const body = { template_version_id: stage.versionId, input: "Fix the login bug please" };
    const answer = await as.post(`${tasks}/me`, body);
    await stage.carryOut();
    expect((await as.get(`${tasks}/me/${answer.body.name}`)).body.id).to.equal(answer.body.id);
    return answer;
  }),

  "GET /api/v2/tasks/{user}/{task}": withStage(async ({ stage, ada, as }) => {
    const { task, token } = await stage.active(ada);
    await stage.status(token, "IDLE", "Ready");
    const answer = await as.get(`${tasks}/me/${task.id}`);
    expect(answer.body.current_state).to.include({ state: "idle", message: "Ready" });
    return answer;
  }),

  "DELETE /api/v2/tasks/{user}/{task}": withStage(async ({ stage, ada, as }) => {
    const { task } = await stage.active(ada);
    const answer = await as.delete(`${tasks}/me/${task.id}`);
    expect((await as.get(`${tasks}/me/${task.id}`)).status).to.equal(404);
    await stage.carryOut();
    return answer;
  }),

  "PATCH /api/v2/tasks/{user}/{task}/input": withStage(async (scene) => {
    const { task } = await scene.stage.active(scene.ada);
    await pause(scene, task.id);
    const answer = await scene.as.patch(`${tasks}/me/${task.id}/input`, { input: "Fix the logout bug" });
    expect((await scene.as.get(`${tasks}/me/${task.id}`)).body.initial_prompt).to.equal("Fix the logout bug");
    return answer;
  }),

  "GET /api/v2/tasks/{user}/{task}/logs": withStage(async ({ stage, program, ada, as }) => {
    const { task } = await stage.active(ada);
    program.say("user", "Fix it");
    program.say("agent", "Done");
    const answer = await as.get(`${tasks}/me/${task.id}/logs`);
    expect(answer.body.logs.map(({ content, type }: Record<string, string>) => [content, type])).to.deep.equal([
      ["Fix it", "input"],
      ["Done", "output"],
    ]);
    return answer;
  }),

  "POST /api/v2/tasks/{user}/{task}/pause": withStage(async (scene) => {
    const { task } = await scene.stage.active(scene.ada);
    const answer = await pause(scene, task.id);
    expect((await scene.as.get(`${tasks}/me/${task.id}`)).body.status).to.equal("paused");
    return answer;
  }),

  "POST /api/v2/tasks/{user}/{task}/resume": withStage(async (scene) => {
    const { stage, as } = scene;
    const { task } = await stage.active(scene.ada);
    await pause(scene, task.id);
    const answer = await as.post(`${tasks}/me/${task.id}/resume`);
    await stage.ready((await stage.carryOut())!);
    expect((await as.get(`${tasks}/me/${task.id}`)).body.status).to.equal("active");
    return answer;
  }),

  "POST /api/v2/tasks/{user}/{task}/send": withStage(async ({ stage, program, ada, as }) => {
    const { task } = await stage.active(ada);
    const answer = await as.post(`${tasks}/me/${task.id}/send`, { input: "And add a test" });
    expect(program.inputs).to.deep.equal(["And add a test"]);
    return answer;
  }),

  "POST /api/v2/workspaceagents/me/tasks/{task}/log-snapshot": withStage(async (scene) => {
    const { stage, as } = scene;
    const { task, token } = await stage.active(scene.ada);
    const path = `/api/v2/workspaceagents/me/tasks/${task.id}/log-snapshot?format=agentapi`;
    const answer = await stage.agent(token).post(path, conversation);
    await pause(scene, task.id);
    const { body } = await as.get(`${tasks}/me/${task.id}/logs`);
    expect(body).to.deep.include({ snapshot: true });
    expect(body.logs).to.have.length(1);
    return answer;
  }),
};

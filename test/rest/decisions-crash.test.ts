// A decision about a permission of a task survives the server that took it: which is killed immediately.
import { expect } from "chai";
import { watch } from "../support/agents.js";
import { spawnServer } from "../support/process.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { Client, world } from "../support/world.js";

describe("a decision about a permission of a task", () => {
  const the = world();
  let stage: TaskStage;
  withTasks(the, (opened) => ({ stage } = opened));

  it("survives the killed server that took it, for an agent that was away", async () => {
    const ada = await the().user("ada");
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    const options = [{ id: "no", name: "Reject", kind: "REJECT_ONCE" }];
    await stage.tell(token, task.id, {
      state: "REQUIRES_ACTION",
      messages: [
        {
          key: "1",
          role: "AGENT",
          parts: [
            {
              kind: "TOOL_CALL",
              toolCallId: "1",
              title: "Delete",
              toolKind: "execute",
              status: "PENDING",
              input: "{}",
            },
            { kind: "PERMISSION", requestId: "q1", toolCallId: "1", title: "Delete", options },
          ],
          writtenAt: new Date().toISOString(),
        },
      ],
    });
    const server = await spawnServer({ STEWARD_DATABASE_URL: the().database.url });
    await new Client(server.url, ada.token).graphql(
      "mutation($input: DecideTaskPermissionInput!) { decideTaskPermission(input: $input) { task { id } } }",
      { input: { task: task.id, requestId: "q1", optionId: "no" } },
    );
    server.child.kill("SIGKILL");
    await server.ended;
    for (const _ of [1, 2]) {
      const actions = watch(
        the(),
        stage.agent(token),
        "subscription($id: UUID!) { taskActionRequested(taskId: $id) { kind requestId optionId } }",
        { id: task.id },
      );
      await actions.received(1);
      expect(actions.events[0]).to.include({ kind: "DECISION", requestId: "q1", optionId: "no" });
      actions.close();
    }
  });
});

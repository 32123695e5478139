// Who may do what with a task, by role. The expectation is the permission table, written out here.
import { expect } from "chai";
import type { AgentProgram } from "./support/agent-api.js";
import { newKey } from "./support/provisioners.js";
import { type TaskStage, withTasks } from "./support/tasks.js";
import { Client, world } from "./support/world.js";

const tasks = "/api/v2/tasks";

/**
 * The status of each operation on a task of another user that is being paused: callers who may change it get 409. In this
 * order: read, logs, input, send, pause, resume, delete.
 */
const table: Record<string, string> = {
  "the owner of the task": "200 200 409 409 409 409 409",
  "a member it is shared with, to use": "200 200 403 409 403 403 403",
  "a member it is shared with, as administrator": "200 200 409 409 409 409 403",
  "another member": "404 404 404 404 404 404 404",
  "organization-admin": "200 200 409 403 409 409 409",
  "organization-template-admin": "200 200 403 403 403 403 403",
  "organization-user-admin": "404 404 404 404 404 404 404",
  "organization-auditor": "404 404 404 404 404 404 404",
  owner: "200 200 409 403 409 409 409",
  "template-admin": "200 200 403 403 403 403 403",
  "user-admin": "404 404 404 404 404 404 404",
  auditor: "404 404 404 404 404 404 404",
  "the agent of the workspace": "401 401 401 401 401 401 401",
  "a provisioner daemon": "401 401 401 401 401 401 401",
  nobody: "401 401 401 401 401 401 401",
};

/** Roles that may create tasks for another member; the others do not see that member, or may not. */
const creators = { "organization-admin": 201, owner: 201, "another member": 404, auditor: 403, "user-admin": 403 };

describe("access to tasks", () => {
  const the = world();
  let program: AgentProgram;
  let stage: TaskStage;

  withTasks(the, (opened) => ({ stage, program } = opened));

  it("follows the roles, in each operation and in lists", async () => {
    const ada = await the().user("ada");
    const { task, token } = await stage.active(ada);
    const clients: Record<string, Client> = {
      "the owner of the task": the().as(ada),
      "the agent of the workspace": new Client(the().url, token),
      "a provisioner daemon": new Client(the().url, await newKey(the())),
      nobody: the().nobody,
    };
    const perms: object[] = [];
    for (const name of Object.keys(table).filter((each) => !(each in clients))) {
      const person = await the().user("person");
      clients[name] = the().as(person);
      if (name.startsWith("a member")) perms.push({ id: person.id, role: name.endsWith("use") ? "use" : "admin" });
      else if (name !== "another member") await the().grant(person, name);
    }
    await the()
      .as(ada)
      .graphql("mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }", {
        input: { workspace: task.workspace_id.uuid, userPerms: perms },
      });
    const path = `${tasks}/me/${task.id}`;
    expect((await the().as(ada).post(`${path}/pause`)).status).to.equal(202);
    await stage.daemon.call("acceptProvisionerJob", await stage.next());

    const found: Record<string, string> = {};
    for (const [name, client] of Object.entries(clients)) {
      const answers = await Promise.all([
        client.get(path),
        client.get(`${path}/logs`),
        client.patch(`${path}/input`, { input: "Other" }),
        client.post(`${path}/send`, { input: "Hi" }),
        client.post(`${path}/pause`),
        client.post(`${path}/resume`),
        client.delete(path),
      ]);
      found[name] = answers.map(({ status }) => status).join(" ");
      const { status, body } = await client.get(tasks);
      const listed = table[name]!.startsWith("200") ? [task.id] : [];
      if (status === 200)
        expect(
          body.tasks.map(({ id }: { id: string }) => id),
          name,
        ).to.deep.equal(listed);
      else expect(status, name).to.equal(401);
    }
    expect(found).to.deep.equal(table);
    expect(program.inputs).to.deep.equal([]);

    for (const [name, status] of Object.entries(creators)) {
      const made = await clients[name]!.post(`${tasks}/${ada.id}`, { template_version_id: stage.versionId });
      expect([name, made.status]).to.deep.equal([name, status]);
    }
  });
});

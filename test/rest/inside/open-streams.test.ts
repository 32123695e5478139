// Whatever stays open ends with the rights that it began with: every subscription, every stream of REST, every socket. The
// streams are open on one replica, and the rights are taken away on another one.
// Looks inside: streams look at their rights every 30 seconds, which pass faster here.
import { once } from "node:events";
import { mock } from "node:test";
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { rounds } from "../../../src/domain/kernel/watching.js";
import { AgentProgram } from "../../support/agent-api.js";
import { type App, startServer } from "../../support/app.js";
import { readAuditStream } from "../../support/audit-stream.js";
import { externalAuth, ExternalService } from "../../support/external-services.js";
import { isLong } from "../../support/repeats.js";
import { newKey, queueImport, serve, type Serving } from "../../support/provisioners.js";
import { TaskStage } from "../../support/tasks.js";
import { eventually, transports } from "../../support/watchers.js";
import { insertStopped, insertVersion } from "../../support/workspaces.js";
import { Client, type Person, startWorld, type World } from "../../support/world.js";

/** Something that is open, how it ends, and what takes its ground away. */
interface Open {
  /** `complete`, the code of an error, or the close code of the socket; `0` for a response that ended. */
  end: Promise<string>;
  lose: () => Promise<unknown>;
}

interface Case {
  /** The subscription; the path of the stream; or the path of the socket. */
  of: string;
  when: string;
  end: string | RegExp;
  /** Set if what takes the ground away is the work of a daemon, which itself waits for hints. */
  needsHints?: true;
  open: () => Promise<Open>;
}

describe("what stays open", () => {
  let w: World;
  let other: App;
  let lab: ExternalService;
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;

  before(async () => {
    lab = await ExternalService.open();
    program = await AgentProgram.open();
    const settings = externalAuth(lab.provider());
    w = await startWorld(settings);
    other = await startServer(w.database.url, settings);
    stage = await TaskStage.open(w, program);
    ada = await w.user("ada");
    program.say("agent", "Hello");
  });
  after(async () => {
    stage.close();
    await other.close();
    await w.close();
    await program.close();
    await lab.close();
  });

  const mutate = (person: Person, name: string, input: object) =>
    w
      .as(person)
      .graphql(
        `mutation($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
        { input },
      );
  const suspend = ({ id }: Person) => mutate(w.owner, "suspendUser", { user: id });
  const expel = ({ id }: Person) => mutate(w.owner, "removeOrganizationMember", { organization: "default", user: id });
  const demote = ({ id }: Person) => mutate(w.owner, "setUserRoles", { user: id, roles: [] });
  const demoteThere = ({ id }: Person) =>
    mutate(w.owner, "setOrganizationMemberRoles", { organization: "default", user: id, roles: [] });
  const promoted = async (...roles: string[]) => {
    const person = await w.user("admin");
    await w.grant(person, ...roles);
    return person;
  };

  /** Opens a subscription with one root field on the other replica, and waits for its first event, which `cause` makes. */
  async function follow(
    token: string,
    field: string,
    cause?: (n: number) => Promise<unknown>,
  ): Promise<[Promise<string>]> {
    const { promise: end, resolve } = Promise.withResolvers<string>();
    const codeOf = (errors: unknown) => (errors as Array<{ extensions: { code: string } }>)[0]!.extensions.code;
    const client = createClient({
      url: `${other.url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: token },
      retryAttempts: 0,
      on: { closed: (event) => resolve(String((event as { code: number }).code)) },
    });
    let early: string | undefined;
    let count = 0;
    client.subscribe(
      { query: `subscription { ${field} }` },
      {
        next: ({ errors }) => (errors ? resolve(codeOf(errors)) : count++),
        error: (errors) => Array.isArray(errors) && resolve(codeOf(errors)),
        complete: () => resolve("complete"),
      },
    );
    void end.then((how) => {
      early = how;
      void client.dispose();
    });
    let causes = 0;
    await eventually(async () => {
      if (early !== undefined) throw new Error(`${field} ended with ${early}.`);
      await cause?.(causes++);
      return count > 0;
    }, `the first event of ${field}`);
    return [end];
  }

  /** A task of Ada whose workspace is shared with a user or a group. */
  async function shared(permission: { userPerms?: Array<{ id: string }>; groupPerms?: Array<{ id: string }> }) {
    const { task, token } = await stage.active(ada);
    const permit = (role: string) =>
      mutate(ada, "updateWorkspaceAcl", {
        workspace: task.workspace_id.uuid,
        ...Object.fromEntries(
          Object.entries(permission).map(([name, list]) => [name, list.map(({ id }) => ({ id, role }))]),
        ),
      });
    await permit("use");
    return { task, token, revoke: () => permit("") };
  }

  /** Follows something of Ada's task as another user, who may until the share is revoked, or the user leaves the group. */
  const ofTask = (fieldOf: (task: { id: string; workspace_id: { uuid: string } }) => string) => ({
    byShare: async (): Promise<Open> => {
      const bob = await w.user("bob");
      const { task, revoke } = await shared({ userPerms: [bob] });
      const [end] = await follow(bob.token, fieldOf(task));
      return { end, lose: revoke };
    },
    byGroup: async (): Promise<Open & { group: { id: string }; bob: Person }> => {
      const bob = await w.user("bob");
      const group = await w.group(undefined, { members: [bob] });
      const { task } = await shared({ groupPerms: [group] });
      const [end] = await follow(bob.token, fieldOf(task));
      const lose = () => w.as(w.owner).patch(`/api/v2/groups/${group.id}`, { remove_users: [bob.id] });
      return { end, lose, group, bob };
    },
  });
  const asMessages = ofTask(({ id }) => `taskMessages(id: "${id}") { content }`);
  const asTask = ofTask(({ id }) => `taskChanged(id: "${id}") { status }`);
  const asBuilds = ofTask(({ workspace_id: { uuid } }) => `workspaceBuildUpdated(workspaceId: "${uuid}") { status }`);

  /** The socket of a daemon on the other replica. */
  const serving = async (options: Serving, isWorking = true) => {
    const daemon = await serve(other, { query: "provisioner=none", ...options });
    if (isWorking) daemon.work();
    return { daemon, end: daemon.closing().then(({ code }) => String(code)) };
  };
  const work = (when: string, open: () => Promise<Open>): Case => ({
    of: "provisionerWorkReceived",
    when,
    end: "4403",
    open,
  });

  const stream = (name: keyof typeof transports, end: string): Case => ({
    of: "/notifications/inbox/watch",
    when: `its user is suspended, as ${name}`,
    end,
    async open() {
      const bob = await w.user("bob");
      const { ended } = await transports[name](other.url, bob.token);
      return { end: ended.then(String), lose: () => suspend(bob) };
    },
  });

  const cases: Case[] = [
    {
      of: "inboxEvents",
      when: "its user is suspended",
      end: /^(4403|UNAUTHENTICATED)$/,
      async open() {
        const bob = await w.user("bob");
        const [end] = await follow(bob.token, "inboxEvents { __typename }");
        return { end, lose: () => suspend(bob) };
      },
    },
    {
      of: "auditEventNumbered",
      when: "its user loses the role",
      end: "FORBIDDEN",
      async open() {
        const auditor = await promoted("auditor");
        const [end] = await follow(auditor.token, `auditEventNumbered(since: "0") { number }`);
        return { end, lose: () => demote(auditor) };
      },
    },
    {
      of: "/audit/stream",
      when: "its user loses the role in the organization",
      end: "0",
      async open() {
        const auditor = await promoted("organization-auditor");
        const { ended } = await readAuditStream(other.url, auditor.token);
        return { end: ended.then(() => "0"), lose: () => demoteThere(auditor) };
      },
    },
    { of: "taskMessages", when: "the share is revoked", end: "NOT_FOUND", open: asMessages.byShare },
    {
      of: "taskMessages",
      when: "its user leaves the group that it is shared with",
      end: "NOT_FOUND",
      open: asMessages.byGroup,
    },
    {
      of: "taskMessages",
      when: "the group that it is shared with is deleted",
      end: "NOT_FOUND",
      async open() {
        const { end, group } = await asMessages.byGroup();
        return { end, lose: () => w.as(w.owner).delete(`/api/v2/groups/${group.id}`) };
      },
    },
    {
      of: "taskMessages",
      when: "its user is removed from the organization",
      end: "NOT_FOUND",
      async open() {
        const { end, bob } = await asMessages.byGroup();
        return { end, lose: () => expel(bob) };
      },
    },
    {
      of: "taskConversationChanged",
      when: "the share is revoked",
      end: "NOT_FOUND",
      async open() {
        const bob = await w.user("bob");
        const { task: made, token, revoke } = await shared({ userPerms: [bob] });
        await stage.converse(token, made.id);
        const [end] = await follow(bob.token, `taskConversationChanged(id: "${made.id}") { messages { id } }`);
        return { end, lose: revoke };
      },
    },
    {
      of: "taskActionRequested",
      when: "the workspace is stopped",
      end: /^(4403|UNAUTHENTICATED)$/,
      needsHints: true,
      async open() {
        const { task: made, token } = await stage.active(ada);
        await stage.converse(token, made.id);
        await stage.tell(token, made.id, { state: "WORKING" });
        const [end] = await follow(token, `taskActionRequested(taskId: "${made.id}") { id }`, () =>
          mutate(ada, "interruptTask", { task: made.id }).catch(() => {}),
        );
        return {
          end,
          async lose() {
            await w.as(ada).post(`/api/v2/tasks/me/${made.id}/pause`);
            await stage.carryOut();
          },
        };
      },
    },
    { of: "taskChanged", when: "the share is revoked", end: "complete", open: asTask.byShare },
    {
      of: "taskChanged",
      when: "its user may not see the other user any more",
      end: "NOT_FOUND",
      async open() {
        const eve = await promoted("template-admin");
        const { token } = await stage.active(ada);
        const [end] = await follow(eve.token, `taskChanged(user: "${ada.id}") { status }`, (n) =>
          stage.status(token, "WORKING", `Step ${n}`),
        );
        return { end, lose: () => demote(eve) };
      },
    },
    { of: "workspaceBuildUpdated", when: "the share is revoked", end: "complete", open: asBuilds.byShare },
    {
      of: "workspaceBuildUpdated",
      when: "its user leaves the group that it is shared with",
      end: "complete",
      open: asBuilds.byGroup,
    },
    {
      of: "workspaceBuildUpdated",
      when: "the workspace is that of another user",
      end: "complete",
      async open() {
        const bob = await w.user("bob");
        const box = await insertStopped(w, bob.id, await insertVersion(w));
        const [end] = await follow(bob.token, `workspaceBuildUpdated(workspaceId: "${box}") { status }`);
        return { end, lose: () => mutate(w.owner, "transferWorkspaces", { workspaces: [box] }) };
      },
    },
    {
      of: "workspaceAgentLogAppended",
      when: "its user loses the role",
      end: "NOT_FOUND",
      async open() {
        const eve = await promoted("organization-template-admin");
        const { agent } = await w.workspace(ada);
        const appended = { logs: [{ createdAt: new Date().toISOString(), level: "INFO", output: "Hello" }] };
        await new Client(w.url, agent.token).graphql(
          "mutation($input: AppendAgentLogsInput!) { appendAgentLogs(input: $input) { overflowed } }",
          { input: appended },
        );
        const [end] = await follow(eve.token, `workspaceAgentLogAppended(agentId: "${agent.id}") { output }`);
        return { end, lose: () => demoteThere(eve) };
      },
    },
    {
      of: "provisionerJobLogAppended",
      when: "its user loses the role",
      end: "NOT_FOUND",
      async open() {
        const eve = await promoted("template-admin");
        const { daemon } = await serving({ key: await newKey(w), query: "provisioner=logs" });
        await queueImport(w, { provisioner: "logs" });
        const job = await daemon.job();
        await daemon.call("acceptProvisionerJob", job);
        const line = { sequence: 1, createdAt: new Date().toISOString(), level: "INFO", source: "PROVISIONER" };
        await daemon.call("updateProvisionerJob", job, { logs: [{ ...line, stage: "Plan", output: "Hello" }] });
        const [end] = await follow(eve.token, `provisionerJobLogAppended(jobId: "${job.jobId}") { output }`);
        return { end, lose: () => demote(eve) };
      },
    },
    {
      of: "externalAuthLinkChanged",
      when: "the owner of the agent's workspace is suspended",
      end: "FORBIDDEN",
      async open() {
        const bob = await w.user("bob");
        const { agent } = await w.workspace(bob);
        const [end] = await follow(agent.token, `externalAuthLinkChanged(providerId: "lab") { isLinked }`);
        return { end, lose: () => suspend(bob) };
      },
    },
    ...["pause", "delete"].map((change): Case => ({
      of: "agentEventReceived",
      when: `the workspace is ${change === "pause" ? "stopped, to be built again" : "deleted"}`,
      end: /^(4403|UNAUTHENTICATED)$/,
      needsHints: true,
      async open() {
        const { task: made, token } = await stage.active(ada);
        const [end] = await follow(token, "agentEventReceived { shutdown }");
        const path = `/api/v2/tasks/me/${made.id}`;
        return {
          end,
          async lose() {
            if (change === "pause") await w.as(ada).post(`${path}/pause`);
            else await w.as(ada).delete(path);
            await stage.carryOut();
          },
        };
      },
    })),
    work("its user is demoted", async () => {
      const eve = await promoted("template-admin");
      const { end } = await serving({ token: eve.token });
      return { end, lose: () => demote(eve) };
    }),
    work("its user loses the role in the organization", async () => {
      const eve = await promoted("organization-admin");
      const { end } = await serving({ token: eve.token });
      return { end, lose: () => demoteThere(eve) };
    }),
    work("its user is removed from the organization", async () => {
      const bob = await w.user("bob");
      const { end } = await serving({ token: bob.token, query: "provisioner=none&tag=scope%3Duser" });
      return { end, lose: () => expel(bob) };
    }),
    work("its key is deleted", async () => {
      const name = `doomed-${Math.random()}`;
      const { body } = await w.as(w.owner).post("/api/v2/organizations/default/provisionerkeys", { name });
      const { end } = await serving({ key: body.key });
      return { end, lose: () => w.as(w.owner).delete(`/api/v2/organizations/default/provisionerkeys/${name}`) };
    }),
    {
      of: "/organizations/{organization}/provisionerdaemons/serve",
      when: "the user of an idle daemon is demoted",
      end: "4403",
      async open() {
        const eve = await promoted("template-admin");
        const { end } = await serving({ token: eve.token }, false);
        return { end, lose: () => demote(eve) };
      },
    },
    {
      of: "/graphql",
      when: "the user of an idle socket is suspended",
      end: "4403",
      async open() {
        const bob = await w.user("bob");
        const socket = new WebSocket(`${other.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
        await once(socket, "open");
        socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: bob.token } }));
        await once(socket, "message");
        return { end: once(socket, "close").then(([code]) => String(code)), lose: () => suspend(bob) };
      },
    },
    stream("WebSocket", "4403"),
    stream("SSE", "0"),
    stream("NDJSON", "0"),
  ];

  const expectEnd = async ({ of, when, end: expected }: Case, end: Promise<string>) => {
    const found = await end;
    if (expected instanceof RegExp) expect(found, `${of} when ${when}`).to.match(expected);
    else expect(found, `${of} when ${when}`).to.equal(expected);
  };

  it("is known here: every subscription of the schema, every stream and every socket", async () => {
    const { __schema: schema } = await w.as(w.owner).graphql("{ __schema { subscriptionType { fields { name } } } }");
    const subscriptions: string[] = schema.subscriptionType.fields.map(({ name }: { name: string }) => name);
    const { body } = await w.nobody.get("/openapi.json");
    type Response = { content?: Record<string, unknown> };
    const opens = (status: string, response: Response) =>
      status === "101" || Object.keys(response.content ?? {}).includes("text/event-stream");
    const paths = Object.entries<Record<string, { responses?: Record<string, Response> }>>(body.paths)
      .filter(([, methods]) =>
        Object.values(methods).some(({ responses = {} }) =>
          Object.entries(responses).some(([status, response]) => opens(status, response)),
        ),
      )
      .map(([path]) => path.replace("/api/v2", ""));
    const all = [...subscriptions, ...paths, "/graphql"];
    expect(new Set(cases.map(({ of }) => of))).to.deep.equal(new Set(all));
  });

  for (const each of cases)
    it(`ends when ${each.when}: ${each.of}`, async () => {
      // The 30 seconds after which it would end without a hint never pass.
      const standing = mock.method(rounds[30], "tick", () => {});
      try {
        const { end, lose } = await each.open();
        await lose();
        await expectEnd(each, end);
      } finally {
        standing.mock.restore();
      }
    });

  it("ends within 30 seconds if no hint of the change arrives", async () => {
    const opened: Array<[Case, Open]> = [];
    for (const each of cases.filter(({ needsHints }) => !needsHints)) opened.push([each, await each.open()]);
    const deaf = mock.method(w.app.services.events, "publish", () => {});
    const passSeconds = () => {
      for (let second = 0; second < 30; second++) rounds[30].tick();
    };
    let hurry: NodeJS.Timeout | undefined;
    try {
      for (const [, { lose }] of opened) await lose();
      if (!isLong) hurry = setInterval(passSeconds, 1_000);
      await Promise.all(opened.map(([each, { end }]) => expectEnd(each, end)));
    } finally {
      clearInterval(hurry);
      deaf.mock.restore();
    }
  });
});

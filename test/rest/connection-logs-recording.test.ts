// Reaches for tables: workspaces and agents end without a build, and connections grow old.
import { expect } from "chai";
import { inMs, withClock } from "../support/clock.js";
import { runJob } from "../support/background.js";
import { idOfTime, newId } from "../support/ids.js";
import { startServer } from "../support/app.js";
import { connect, disconnect, logged, minutesAgo, refused, reported, visit } from "../support/connections.js";
import {
  boxOf,
  createBox,
  doBuild,
  endBuild,
  remove,
  reportBuild,
  start,
  stop,
  templateOf,
} from "../support/builds.js";
import { trusting, Vendor } from "../support/licensing.js";
import { makeProxy } from "../support/proxies.js";
import { insert } from "../support/stage.js";
import { countRows, lockRows, setColumns, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Anything, Client, sharedWorld, startWorld, world, type World } from "../support/world.js";

const connectionsOf = async (w: World, workspace: { id: string }) =>
  (await logged(w, `workspace_id:${workspace.id}`)).connection_logs;

const shared = sharedWorld();

describe("sessions that an agent reports", () => {
  const the = shared();

  it("end with their agent or workspace, after which no report can come, but not with a missed heartbeat", async () => {
    const w = the();
    const ada = await w.user("ada");
    const template = await templateOf(w, boxOf());
    const open = async (token: string) => {
      const id = newId();
      await reported(w, { token }, connect(id, { time: minutesAgo(1) }));
      return id;
    };
    const tokenOf = async (build: string) => (await reportBuild(w, build))!.agents[0]!.token!;
    const began = Date.now();
    const sessionsOf = async (workspace: { id: string }) => {
      await runJob(w.app, "sessionEnds");
      // It leaves out what the server itself is at work on, which it does each half minute.
      await lockRows(w, "connection_logs", { workspace_id: workspace.id }, async () => {});
      const rows = await connectionsOf(w, workspace);
      return Object.fromEntries(
        rows.map(({ ssh_info: { connection_id: id, disconnect_time: time, disconnect_reason: reason } }) => {
          if (time) expect(Date.parse(time)).to.be.within(began, Date.now() + 1);
          return [id, reason ?? null];
        }),
      );
    };
    const { workspace, workspaceBuild } = await createBox(w, ada, template.id);
    const token = await tokenOf(workspaceBuild.id);
    await endBuild(w, workspaceBuild.id);
    const first = await open(token);
    await setTimes(w, "workspace_agents", { workspace_id: workspace.id }, { last_connected_at: "-1 h" });
    expect(await sessionsOf(workspace)).to.deep.equal({ [first]: null });

    const { stopWorkspace } = await w.as(ada).graphql(stop, { workspace: workspace.id });
    expect(await sessionsOf(workspace), "until it has stopped").to.deep.equal({ [first]: null });
    await doBuild(w, stopWorkspace.workspaceBuild.id);
    expect(await sessionsOf(workspace)).to.deep.equal({ [first]: "The workspace was stopped." });

    // The start fails, but its agent lives on and reports the end.
    const again = async () =>
      (await w.as(ada).graphql(start, { input: { workspace: workspace.id } })).startWorkspace.workspaceBuild.id;
    const failing = await again();
    const failed = await tokenOf(failing);
    const second = await open(failed);
    const third = await open(failed);
    await endBuild(w, failing, "failed");
    const after = await sessionsOf(workspace);
    expect([after[second], after[third]]).to.deep.equal(Array(2).fill("The build of the agent failed."));
    const end = disconnect(second, { time: new Date().toISOString(), disconnectReason: "exited", exitCode: 1 });
    expect(await reported(w, { token: failed }, end)).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await reported(w, { token: failed }, { ...end, disconnectReason: "late" })).to.deep.equal({
      recorded: 0,
      skipped: 1,
    });
    expect((await sessionsOf(workspace))[second]).to.equal("exited");

    const restarted = await again();
    const last = await tokenOf(restarted);
    await endBuild(w, restarted);
    expect((await sessionsOf(workspace))[third], "the first end stays").to.equal("The build of the agent failed.");
    const { deleteWorkspace } = await w.as(ada).graphql(remove, { workspace: workspace.id });
    const fourth = await open(last);
    await doBuild(w, deleteWorkspace.workspaceBuild.id);
    expect((await sessionsOf(workspace))[fourth]).to.equal("The workspace was deleted.");
    const { body } = await w.as(w.owner).get(`/api/v2/connectionlog?limit=0&q=status:ongoing`);
    expect(body.connection_logs.map((each: Anything) => each.workspace_id)).to.not.include(workspace.id);
  });

  it("are logged with all their data, and with their end once it is reported", async () => {
    const w = the();
    const ada = await w.user("ada");
    const workspace = await w.workspace(ada);
    const connectionId = newId();
    const began = connect(connectionId, { type: "VSCODE", ip: "::ffff:192.0.2.7" });
    expect(await reported(w, workspace.agent, began)).to.deep.equal({ recorded: 1, skipped: 0 });

    const [row] = await connectionsOf(w, workspace);
    const { organization } = await w
      .as(ada)
      .graphql('{ organization(organization: "default") { id name displayName icon } }');
    const expected = {
      id: row.id,
      agent_name: "main",
      connect_time: began.time,
      ip: "192.0.2.7",
      organization: {
        id: w.defaultOrganization,
        name: organization.name,
        display_name: organization.displayName,
        icon: organization.icon,
      },
      ssh_info: { connection_id: connectionId },
      type: "vscode",
      workspace_id: workspace.id,
      workspace_name: workspace.name,
      workspace_owner_id: ada.id,
      workspace_owner_username: ada.username,
    };
    expect(row).to.deep.equal(expected);

    const ended = disconnect(connectionId, { disconnectReason: "exited", exitCode: 0 });
    expect(await reported(w, workspace.agent, ended)).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await connectionsOf(w, workspace)).to.deep.equal([
      {
        ...expected,
        ssh_info: {
          connection_id: connectionId,
          disconnect_reason: "exited",
          disconnect_time: ended.time,
          exit_code: 0,
        },
      },
    ]);
    const { connectionLogs } = await w.as(w.owner).graphql(
      `query($q: String) { connectionLogs(q: $q) { totalCount countCap nodes {
        id type connectTime ip agentName workspaceId workspaceName workspaceOwner { id } organization { id }
        sshInfo { connectionId disconnectTime disconnectReason exitCode } webInfo { slugOrPort } } } }`,
      { q: `connection_id:${connectionId}` },
    );
    expect(connectionLogs).to.deep.equal({
      totalCount: 1,
      countCap: 2000,
      nodes: [
        {
          id: row.id,
          type: "VSCODE",
          connectTime: began.time,
          ip: "192.0.2.7",
          agentName: "main",
          workspaceId: workspace.id,
          workspaceName: workspace.name,
          workspaceOwner: { id: ada.id },
          organization: { id: w.defaultOrganization },
          sshInfo: { connectionId, disconnectTime: ended.time, disconnectReason: "exited", exitCode: 0 },
          webInfo: null,
        },
      ],
    });
  });

  it("are one row each, whatever the order, repetition, and concurrency of their events", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const sessions = Array.from({ length: 12 }, () => {
      const id = newId();
      return { id, began: connect(id), ended: disconnect(id, { exitCode: 0 }) };
    });
    const sent = sessions.flatMap(({ began, ended }, n) =>
      n % 2 === 0 ? [ended, ended, began, began] : [began, ended, ended, began],
    );
    const outcomes = await Promise.all(sent.map((event) => reported(w, workspace.agent, event)));
    expect(outcomes.reduce((sum, { recorded }) => sum + recorded, 0)).to.equal(2 * sessions.length);
    expect(outcomes.every(({ recorded, skipped }) => recorded + skipped === 1)).to.equal(true);

    const rows = await connectionsOf(w, workspace);
    expect(rows).to.have.length(sessions.length);
    for (const { id, began, ended } of sessions) {
      const row = rows.find(({ ssh_info: info }) => info.connection_id === id);
      expect(row.connect_time).to.equal(began.time);
      expect(row.ssh_info).to.deep.equal({ connection_id: id, disconnect_time: ended.time, exit_code: 0 });
    }
  });

  it("start at the earliest reported start, and end as their first reported end says", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const row = async () => (await connectionsOf(w, workspace))[0];
    const id = newId();
    const tell = (event: object) => reported(w, workspace.agent, { ...connect(id), id: newId(), ...event });

    const [at8, at6, at4, at2] = [8, 6, 4, 2].map(minutesAgo);
    await tell({ kind: "DISCONNECT", time: at2 });
    expect((await row()).connect_time).to.equal(at2);
    expect((await row()).ssh_info).to.deep.equal({ connection_id: id, disconnect_time: at2 });
    await tell({ kind: "DISCONNECT", time: at4, exitCode: 3 });
    await tell({ kind: "DISCONNECT", time: at4, exitCode: 4, disconnectReason: "gone" });
    await tell({ kind: "DISCONNECT", time: at4, exitCode: 5, disconnectReason: "lost" });
    expect((await row()).connect_time).to.equal(at2);

    await tell({ time: at6, ip: "2001:db8:0::1" });
    expect(await row()).to.include({ connect_time: at6, ip: "2001:db8::1" });
    expect(await tell({ time: at4 })).to.deep.equal({ recorded: 0, skipped: 1 });
    await tell({ time: at8 });
    expect(await row()).to.include({ connect_time: at8, ip: "2001:db8::1" });
    expect((await row()).ssh_info).to.deep.equal({
      connection_id: id,
      disconnect_time: at2,
      disconnect_reason: "gone",
      exit_code: 3,
    });
  });

  it("are recognized when reported again, alone or among others", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const id = newId();
    const other = newId();
    const began = connect(id);
    const ended = disconnect(id);
    const both = [connect(other), disconnect(other, { exitCode: 1 })];
    expect(await reported(w, workspace.agent, began, began)).to.deep.equal({ recorded: 1, skipped: 1 });
    expect(await reported(w, workspace.agent, began, ended, ...both)).to.deep.equal({ recorded: 3, skipped: 1 });
    expect(await reported(w, workspace.agent, ...both, ended, began)).to.deep.equal({ recorded: 0, skipped: 4 });
    // Only the id of a report counts, whatever else it says.
    const doubled = [connect(other, { time: minutesAgo(20) }), connect(other, { time: minutesAgo(30) })];
    doubled[1]!.id = doubled[0]!.id;
    expect(await reported(w, workspace.agent, ...doubled)).to.deep.equal({ recorded: 1, skipped: 1 });
    const rows = await connectionsOf(w, workspace);
    expect(rows.map(({ connect_time }) => connect_time)).to.have.members([began.time, doubled[0]!.time]);
  });

  it("are one row when a batch has several of their starts and ends", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const id = newId();
    const batch = [
      disconnect(id, { time: minutesAgo(2) }),
      connect(id, { time: minutesAgo(6) }),
      disconnect(id, { time: minutesAgo(1), exitCode: 7 }),
      connect(id, { time: minutesAgo(9) }),
    ];
    // Only one of them names the agent.
    batch[1]!.agentName = "main";
    expect(await reported(w, workspace.agent, ...batch)).to.deep.equal({ recorded: 2, skipped: 2 });
    const [row, ...more] = await connectionsOf(w, workspace);
    expect(more).to.deep.equal([]);
    expect(row.connect_time).to.equal(batch[3]!.time);
    expect(row.ssh_info).to.deep.equal({ connection_id: id, disconnect_time: batch[0]!.time, exit_code: 7 });
  });

  it("do not block each other when batches with the same sessions arrive concurrently", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const sessions = Array.from({ length: 40 }, () => newId());
    const batch = (turned: boolean) => {
      const events = sessions.map((id, n) => (n % 2 === 0 ? connect(id) : disconnect(id)));
      return turned ? events.toReversed() : events;
    };
    await Promise.all(Array.from({ length: 10 }, (_, n) => reported(w, workspace.agent, ...batch(n % 2 === 0))));
    expect(await connectionsOf(w, workspace)).to.have.length(40);
  });

  it("are found by whether they go on, and by when they began: of several times, by the widest", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const open = newId();
    const ended = newId();
    await reported(w, workspace.agent, connect(open, { time: minutesAgo(20) }));
    await reported(w, workspace.agent, connect(ended, { time: minutesAgo(40) }), disconnect(ended));
    const proxy = await makeProxy(w, "finder");
    await reported(w, proxy, visit(workspace.id, { time: minutesAgo(30) }));
    const found = async (search: string) =>
      (await logged(w, `workspace_id:${workspace.id} ${search}`)).connection_logs.map(
        ({ ssh_info: session }) => session?.connection_id ?? "visit",
      );
    const early = minutesAgo(35);
    const middle = minutesAgo(25);
    const late = minutesAgo(15);
    for (const [search, expected] of [
      ["status:ongoing", [open]],
      ["status:completed", [ended]],
      ["status:ongoing,completed", [open, ended]],
      [`connected_before:"${middle}"`, ["visit", ended]],
      [`connected_before:"${early}","${middle}"`, ["visit", ended]],
      [`connected_before:"${middle}","${early}"`, ["visit", ended]],
      [`connected_after:"${middle}"`, [open]],
      [`connected_after:"${middle}","${early}"`, [open, "visit"]],
      [`connected_after:"${early}" connected_before:"${middle}"`, ["visit"]],
      [`connected_after:"${late}"`, []],
    ] as const)
      expect(await found(search), search).to.deep.equal(expected);
  });

  it("are distinguished from those of other agents of the workspace by the agent's name", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const second = await w.agent(workspace, "second");
    const id = newId();
    await reported(w, workspace.agent, connect(id));
    await reported(w, second, connect(id));
    await reported(w, second, connect(id, { agentName: "third" }));
    const names = (await connectionsOf(w, workspace)).map(({ agent_name }) => agent_name);
    expect(names).to.have.members(["main", "second", "third"]);
  });

  it("have plausible times: the far future becomes now, and the far past is rejected", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const minutesAhead = (minutes: number) => minutesAgo(-minutes);
    const near = minutesAhead(4);
    const far = minutesAhead(60);
    const began = Date.now();
    await reported(w, workspace.agent, connect(newId(), { time: near }), connect(newId(), { time: far }));
    const [first, second] = await connectionsOf(w, workspace);
    expect(first.connect_time).to.equal(near);
    expect(Date.parse(second.connect_time)).to.be.within(began, Date.now() + 1);

    const day = 24 * 60;
    await reported(w, workspace.agent, connect(newId(), { time: minutesAgo(30 * day - 1) }));
    const tooOld = connect(newId(), { time: minutesAgo(30 * day + 1) });
    expect(await refused(w, workspace.agent, connect(newId()), tooOld)).to.deep.equal({
      code: "BAD_USER_INPUT",
      fields: ["[1].time"],
    });
    expect(await connectionsOf(w, workspace)).to.have.length(3);
  });

  it("keep the first 512 characters of a reason, without splitting one", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    await reported(w, workspace.agent, disconnect(newId(), { disconnectReason: "😀".repeat(600) }));
    await reported(w, workspace.agent, disconnect(newId(), { disconnectReason: "" }));
    const reasons = (await connectionsOf(w, workspace)).map(({ ssh_info }) => ssh_info.disconnect_reason);
    expect(reasons).to.have.members(["😀".repeat(512), undefined]);
  });

  it("outlive the workspace and its name, while users and organizations have their current names", async () => {
    const w = the();
    const ada = await w.user("ada");
    const workspace = await w.workspace(ada, { name: "attic" });
    await reported(w, workspace.agent, connect(newId()));
    await setColumns(w, "workspaces", { id: workspace.id }, { name: "cellar", deleted_at: new Date() });
    const username = `${ada.username}-renamed`;
    await w.as(w.owner).graphql(
      `mutation($user: String!, $username: String!) {
        updateUser(input: { user: $user, username: $username }) { user { id } } }`,
      { user: ada.id, username },
    );
    const [row] = await connectionsOf(w, workspace);
    expect(row).to.include({ workspace_name: "attic", workspace_owner_id: ada.id, workspace_owner_username: username });
  });

  it("write no audit event", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const events = async () => (await w.as(w.owner).graphql("{ auditEvents { totalCount } }")).auditEvents.totalCount;
    const before = await events();
    await reported(w, workspace.agent, connect(newId()), disconnect(newId()));
    expect(await events()).to.equal(before);
  });

  it("move the deadline of the workspace", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    await setTimes(w, "workspaces", { id: workspace.id }, { deadline: "1 min" });
    const deadlineOf = async () => {
      const query = `query($id: UUID!) { workspace(id: $id) { deadline } }`;
      return Date.parse((await w.as(w.owner).graphql(query, { id: workspace.id })).workspace.deadline);
    };
    const before = await deadlineOf();
    await reported(w, workspace.agent);
    expect(await deadlineOf()).to.equal(before);
    const began = Date.now();
    await reported(w, workspace.agent, connect(newId()));
    expect(await deadlineOf()).to.be.within(began + 59.5 * 60_000, Date.now() + 60.5 * 60_000);
  });
});

describe("visits that a proxy reports", () => {
  const the = shared();

  it("are logged with the visitor, if known", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    await w.grant(bob!, "auditor");
    const workspace = await w.workspace(ada!);
    const proxy = await makeProxy(w, "eu");
    const known = visit(workspace.id, { userId: bob!.id, statusCode: 200, userAgent: "A browser", ip: "192.0.2.1" });
    const anonymous = visit(workspace.id, { type: "PORT_FORWARDING", slugOrPort: "8080", agentName: "second" });
    expect(await reported(w, proxy, known, anonymous)).to.deep.equal({ recorded: 2, skipped: 0 });

    const rows = await connectionsOf(w, workspace);
    const [byBob, byNobody] = ["workspace_app", "port_forwarding"].map((type) => rows.find((row) => row.type === type));
    expect(byNobody).to.not.have.any.keys("ip", "ssh_info");
    expect(byNobody).to.include({ agent_name: "second", workspace_owner_username: ada!.username });
    expect(byNobody.web_info).to.deep.equal({ slug_or_port: "8080" });
    const { user, ...info } = byBob.web_info;
    expect(info).to.deep.equal({ slug_or_port: "chat", status_code: 200, user_agent: "A browser" });
    expect(user).to.include({ id: bob!.id, username: bob!.username, email: bob!.email, status: "active" });
    expect(user).to.include({ theme_preference: "", has_ai_seat: false });
    expect(user.organization_ids).to.deep.equal([w.defaultOrganization]);
    expect(user.roles).to.deep.equal([{ name: "auditor", display_name: "Auditor", organization_id: "" }]);
  });

  it("are recorded once per id that the proxy assigns", async () => {
    const w = the();
    const [one, other] = await Promise.all([makeProxy(w, "one"), makeProxy(w, "other")]);
    const workspace = await w.workspace(w.owner);
    const seen = visit(workspace.id);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => reported(w, one, seen, visit(workspace.id), seen)),
    );
    expect(outcomes.reduce((sum, { recorded }) => sum + recorded, 0)).to.equal(9);
    expect(await reported(w, other, seen)).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await connectionsOf(w, workspace)).to.have.length(10);
  });

  it("may refer to a deleted workspace or user, but not to an unknown one", async () => {
    const w = the();
    const proxy = await makeProxy(w, "late");
    const [ada, bob] = await w.users("ada", "bob");
    const workspace = await w.workspace(bob!);
    await setTimes(w, "workspaces", { id: workspace.id }, { deleted_at: "0 s" });
    await w.as(w.owner).graphql(`mutation { deleteUser(input: { user: "${ada!.id}" }) { __typename } }`);
    await reported(w, proxy, visit(workspace.id, { userId: ada!.id }));
    const strangers = [visit(newId()), visit(workspace.id, { userId: newId() })];
    expect(await refused(w, proxy, visit(workspace.id), ...strangers)).to.deep.equal({
      code: "BAD_USER_INPUT",
      fields: ["[1].workspaceId", "[2].userId"],
    });
    expect(await connectionsOf(w, workspace)).to.have.length(1);
  });

  it("keep 512 characters of the user agent, so that a long one does not prevent the record", async () => {
    const w = the();
    const proxy = await makeProxy(w, "loud");
    const workspace = await w.workspace(w.owner);
    await reported(w, proxy, visit(workspace.id, { userAgent: `${"x".repeat(511)}😀${"y".repeat(5_000)}` }));
    const [{ web_info: info }] = await connectionsOf(w, workspace);
    expect(info.user_agent).to.equal(`${"x".repeat(511)}😀`);
  });
});

describe("reports of connections", () => {
  const the = shared();

  it("are rejected as a whole, with every fault, if one event is invalid", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const proxy = await makeProxy(w, "picky");
    const slugs = ["", "Chat", "-chat", "a--b", "x".repeat(33), "chat/../x"];
    const ports = ["0", "65536", "08", "http", "-1"];
    const { code, fields } = await refused(
      w,
      workspace.agent,
      connect(newId()),
      visit(workspace.id),
      connect(newId(), { type: "WORKSPACE_APP" }),
      connect(newId(), { workspaceId: newId(), agentName: "Main" }),
      connect(newId(), { ip: "localhost" }),
      connect(newId(), { ip: "fe80::1%eth0" }),
      connect(newId(), { connectionId: null, exitCode: 0, userId: w.owner.id }),
      disconnect(newId(), { slugOrPort: "chat", exitCode: -1 }),
    );
    expect(code).to.equal("BAD_USER_INPUT");
    expect(fields).to.deep.equal([
      "[1].kind",
      "[2].type",
      "[3].workspaceId",
      "[3].agentName",
      "[4].ip",
      "[5].ip",
      "[6].connectionId",
      "[6].exitCode",
      "[6].userId",
      "[7].slugOrPort",
    ]);
    const { fields: ofVisits } = await refused(
      w,
      proxy,
      ...slugs.map((slugOrPort) => visit(workspace.id, { slugOrPort })),
      ...ports.map((slugOrPort) => visit(workspace.id, { slugOrPort, type: "PORT_FORWARDING" })),
      connect(newId(), { workspaceId: workspace.id, agentName: "main" }),
      visit(workspace.id, { workspaceId: null, agentName: null, slugOrPort: null, statusCode: 99 }),
      visit(workspace.id, { type: "SSH", connectionId: newId(), statusCode: 600 }),
    );
    expect(ofVisits).to.deep.equal([
      ...[...slugs, ...ports].map((_, n) => `[${n}].slugOrPort`),
      "[11].kind",
      "[12].workspaceId",
      "[12].agentName",
      "[12].slugOrPort",
      "[12].statusCode",
      "[13].type",
      "[13].connectionId",
      "[13].statusCode",
    ]);
    const many = Array.from({ length: 101 }, () => connect(newId()));
    expect(await refused(w, workspace.agent, ...many)).to.deep.equal({ code: "BAD_USER_INPUT", fields: [""] });
    expect(await connectionsOf(w, workspace)).to.deep.equal([]);
    expect(await reported(w, workspace.agent)).to.deep.equal({ recorded: 0, skipped: 0 });
  });

  it("are accepted from agents and proxies only", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const event = connect(newId());
    expect(await refused(w, w.owner, event)).to.deep.equal({ code: "FORBIDDEN", fields: [] });
    expect(await refused(w, { token: "" }, event)).to.deep.equal({ code: "UNAUTHENTICATED", fields: [] });
    expect(await refused(w, { token: `stwa_${"x".repeat(43)}` }, event)).to.deep.equal({
      code: "UNAUTHENTICATED",
      fields: [],
    });
    expect(await connectionsOf(w, workspace)).to.deep.equal([]);
  });

  it("are dropped if the log is switched off, which keeps the rows recorded before", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    await reported(w, workspace.agent, connect(newId()));
    const app = await startServer(w.database.url, { STEWARD_CONNECTION_LOG: "false" });
    try {
      const switchedOff = { nobody: new Client(app.url) };
      expect(await reported(switchedOff, workspace.agent, connect(newId()))).to.deep.equal({ recorded: 0, skipped: 1 });
      const { fields } = await refused(switchedOff, workspace.agent, connect(newId(), { ip: "?" }));
      expect(fields).to.deep.equal(["[0].ip"]);
    } finally {
      await app.close();
    }
    expect(await connectionsOf(w, workspace)).to.have.length(1);
  });

  it("are rejected without a license, which also closes the log", async function () {
    const w = await startWorld(trusting(new Vendor()));
    try {
      const workspace = await w.workspace(w.owner);
      expect(await refused(w, workspace.agent, connect(newId()))).to.deep.equal({ code: "FORBIDDEN", fields: [] });
      const answer = await w.as(w.owner).get("/api/v2/connectionlog?limit=1");
      expect(answer).to.include({ status: 403 });
      expect(answer.body.message).to.equal("connection_log is not licensed on this deployment.");
      expect((await w.as(w.owner).failure("{ connectionLogs { totalCount } }")).errors[0]!.extensions).to.include({
        code: "FORBIDDEN",
        feature: "connection_log",
      });
      // Callers who may not read the log do not learn about the license.
      const member = w.as(await w.user("member"));
      expect((await member.get("/api/v2/connectionlog?limit=1")).body).to.deep.equal({ message: "Forbidden." });
    } finally {
      await w.close();
    }
  });
});

describe("the token of an agent", () => {
  const the = shared();

  it("is accepted for operations of agents, by header or as Bearer, and nowhere else", async () => {
    const w = the();
    const { agent } = await w.workspace(w.owner);
    const bearer = { Authorization: `Bearer ${agent.token}` };
    const appearance = "/api/v2/appearance";
    expect(await w.as(agent).get(appearance)).to.include({ status: 200 });
    expect(await w.nobody.get(appearance, bearer)).to.include({ status: 200 });
    const cookie = { Cookie: `service_session_token=${agent.token}`, "Sec-Fetch-Site": "same-origin" };
    expect(await w.nobody.get(appearance, cookie)).to.include({ status: 401 });
    expect(await w.nobody.get(appearance, { "Service-Proxy-Token": agent.token })).to.include({ status: 401 });

    for (const path of ["groups", "prebuilds/settings", "connectionlog?limit=1", "notifications/inbox"]) {
      const answer = await w.as(agent).get(`/api/v2/${path}`);
      expect(answer, path).to.include({ status: 401 });
      expect(answer.body.detail, path).to.equal(
        "The token is not valid. This operation takes the credential of a user.",
      );
    }
    for (const document of ["{ me { id } }", "{ appearance { logoUrl } me { id } }", "{ organizations { id } }"]) {
      expect((await w.as(agent).failure(document)).code, document).to.equal("UNAUTHENTICATED");
    }
    expect((await w.as(agent).graphql("{ serverInfo { version } appearance { logoUrl } }")).appearance.logoUrl)
      .to //
      .equal("");
    expect(await w.as(agent).put(appearance, {})).to.include({ status: 401 });
  });

  it("is rejected if malformed, like the tokens of users", async () => {
    const w = the();
    for (const [token, detail] of [
      ["stwa_", "The token is malformed."],
      [`stwa_${"x".repeat(42)}`, "The token is malformed."],
      [`stwa_${"x".repeat(43)}`, "The token is not valid."],
    ] as const) {
      const answer = await w.as({ token }).get("/api/v2/appearance");
      expect(answer, token).to.include({ status: 401 });
      expect(answer.body.detail, token).to.equal(detail);
    }
  });

  it("ends within a second without a hint, and immediately with one", async () => {
    const w = the();
    await withClock(async (pass) => {
      const status = async (agent: { token: string }) => (await w.as(agent).get("/api/v2/appearance")).status;
      const ended = await w.workspace(w.owner);
      const deleted = await w.workspace(w.owner);
      for (const { agent } of [ended, deleted]) expect(await status(agent)).to.equal(200);
      await setTimes(w, "workspace_agents", { id: ended.agent.id }, { token_ended_at: "0 s" });
      w.app.services.events.publish({ topic: "auth", id: `m:${ended.agent.id}` });
      await setTimes(w, "workspaces", { id: deleted.id }, { deleted_at: "0 s" });
      // Time stands: only the hint ends the one.
      await eventually(async () => (await status(ended.agent)) === 401, "the hint has come");
      expect(await status(deleted.agent)).to.equal(200);
      pass(1_000);
      expect(await status(deleted.agent)).to.equal(401);
    });
  });
});

describe("old connections", () => {
  const the = world();

  it("are deleted after the retention, the oldest first", async () => {
    const w = the();
    const workspace = await w.workspace(w.owner);
    const insertLogs = (count: number, days: number) =>
      insert(w, {
        connection_logs: Array.from({ length: count }, () => ({
          id: idOfTime(Date.now() - days * 86_400_000),
          organization_id: w.defaultOrganization,
          workspace_id: workspace.id,
          workspace_name: "box",
          workspace_owner_id: w.owner.id,
          agent_name: "main",
          type: "ssh",
          connect_time: inMs(-days * 86_400_000),
          reporter: workspace.id,
          connection_id: newId(),
        })),
      });
    await insertLogs(20_500, 8);
    await insertLogs(7, 6);
    const { services } = w.app;
    const run = (connectionLogRetention: number) =>
      runJob(
        { services: { ...services, config: { ...services.config, connectionLogRetention } } },
        "connectionLogPurge",
      );
    const left = () => countRows(w, "connection_logs");
    await run(0);
    expect(await left()).to.equal(20_507);
    await run(7 * 86_400_000);
    expect(await left()).to.equal(7);
    await Promise.all([insertLogs(30, 8), run(7 * 86_400_000), run(7 * 86_400_000)]);
    await run(7 * 86_400_000);
    expect(await left()).to.equal(7);
  });
});

// The logs of agents: what is stored, how it is read in pages, and how it is streamed.
// Reaches for tables: the whole audit log is counted.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { start, watch } from "./support/agents.js";
import { countRows } from "./support/tables.js";
import { Client, type Person, world } from "./support/world.js";

interface Line {
  id: string;
  sequence: number;
  createdAt: string;
  level: string;
  logSourceId: string;
  output: string;
}

const append = `mutation($input: AppendAgentLogsInput!) { appendAgentLogs(input: $input) { overflowed } }`;
const page = `query($id: UUID!, $first: Int, $after: String) { workspaceAgent(id: $id) {
  logsLength logsOverflowed logSources { id displayName }
  logs(first: $first, after: $after) { nodes { id sequence createdAt level logSourceId output }
    pageInfo { hasNextPage hasPreviousPage endCursor } totalCount } } }`;
const stream = `subscription($id: UUID!, $after: String) {
  workspaceAgentLogAppended(agentId: $id, after: $after) { id sequence output } }`;

const createdAt = "2026-01-02T03:04:05.000Z";
const lines = (...outputs: string[]) => outputs.map((output) => ({ createdAt, level: "INFO", output }));

describe("the log of an agent", () => {
  const the = world();
  let owner: Person;
  let id: string;
  let agent: Client;

  beforeEach(async () => {
    owner = await the().user("ada");
    const scripts = [{ display_name: "Install", script: "make" }];
    const { agents } = await start(the(), owner, { name: "main", scripts });
    id = agents[0]!.agentId;
    agent = new Client(the().url, agents[0]!.token!);
  });

  const add = async (logs: object[], logSourceId?: string): Promise<boolean> =>
    (await agent.graphql(append, { input: { logs, logSourceId } })).appendAgentLogs.overflowed;
  const read = async (variables: object = {}) =>
    (
      await the()
        .as(owner)
        .graphql(page, { id, ...variables })
    ).workspaceAgent;
  const outputsOf = (nodes: Array<Pick<Line, "output">>) => nodes.map(({ output }) => output);

  it("has the lines of the agent and of its scripts in their order", async () => {
    expect(await add([{ createdAt, level: "WARN", output: "one" }])).to.equal(false);
    const { logSources } = await read();
    await add(lines("two"), logSources[1]!.id);
    const { logs, logsLength, logsOverflowed } = await read();
    expect(
      logs.nodes.map(({ sequence, level, logSourceId, output, ...line }: Line) => ({
        sequence,
        createdAt: line.createdAt,
        level,
        logSourceId,
        output,
      })),
    ).to.deep.equal([
      { sequence: 1, createdAt, level: "WARN", logSourceId: logSources[0]!.id, output: "one" },
      { sequence: 2, createdAt, level: "INFO", logSourceId: logSources[1]!.id, output: "two" },
    ]);
    expect({ logsLength, logsOverflowed }).to.deep.equal({ logsLength: 8, logsOverflowed: false });
  });

  it("is read in pages, after cursors and after the ids of lines", async () => {
    await add(lines("1", "2", "3", "4", "5"));
    const first = (await read({ first: 2 })).logs;
    expect(outputsOf(first.nodes)).to.deep.equal(["1", "2"]);
    expect(first).to.deep.include({ totalCount: 5 });
    expect(first.pageInfo).to.deep.include({ hasNextPage: true, hasPreviousPage: false });
    const second = (await read({ first: 2, after: first.pageInfo.endCursor })).logs;
    expect(outputsOf(second.nodes)).to.deep.equal(["3", "4"]);
    const last = (await read({ after: second.nodes[1]!.id })).logs;
    expect(outputsOf(last.nodes)).to.deep.equal(["5"]);
    expect(last.pageInfo.hasNextPage).to.equal(false);
    expect((await read({ after: newId() })).logs.nodes).to.deep.equal([]);

    const foreign = Buffer.from(JSON.stringify({ id: newId(), sequence: "1; drop" })).toString("base64url");
    for (const variables of [{ first: -1 }, { first: 1001 }, { after: "x" }, { after: foreign }])
      expect(
        (
          await the()
            .as(owner)
            .failure(page, { id, ...variables })
        ).code,
      ).to.equal("BAD_USER_INPUT");
  });

  it("keeps lines of 4 KiB; longer ones are cut between characters, with a mark", async () => {
    await add(lines("x".repeat(4096), "x".repeat(4097), `${"x".repeat(4085)}${"ä".repeat(20)}`, ""));
    const { logs } = await read();
    expect(outputsOf(logs.nodes)).to.deep.equal([
      "x".repeat(4096),
      `${"x".repeat(4086)} … [cut]`,
      `${"x".repeat(4085)} … [cut]`,
      "",
    ]);
  });

  it("drops what exceeds 1 MiB, and says so from then on", async () => {
    const batch = lines(...Array.from({ length: 100 }, () => "y".repeat(4095)));
    expect(await add(batch)).to.equal(false);
    expect(await add(batch)).to.equal(false);
    expect(await add(batch)).to.equal(true);
    const { logsLength, logsOverflowed, logs } = await read({ first: 1000 });
    expect({ logsLength, logsOverflowed }).to.deep.equal({ logsLength: 1024 * 1024, logsOverflowed: true });
    expect(logs.nodes).to.have.length(256);
    expect(await add(lines("z"))).to.equal(true);
    expect((await read()).logs.totalCount).to.equal(256);
  });

  it("numbers the lines of concurrent reports without gaps", async () => {
    await Promise.all(Array.from({ length: 10 }, (_, n) => add(lines(`${n}a`, `${n}b`))));
    const { nodes } = (await read()).logs as { nodes: Line[] };
    expect(nodes.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 20 }, (_, n) => n + 1));
    for (let n = 0; n < 20; n += 2) expect(nodes[n]!.output[0]).to.equal(nodes[n + 1]!.output[0]);
  });

  it("rejects too many lines and the sources of other agents", async () => {
    const tooMany = lines(...Array.from({ length: 101 }, () => "x"));
    expect((await agent.failure(append, { input: { logs: tooMany } })).code).to.equal("BAD_USER_INPUT");
    const foreign = await agent.failure(append, { input: { logs: lines("x"), logSourceId: newId() } });
    expect(foreign.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.logSourceId", detail: "Must be a log source of the agent." },
    ]);
    expect(await add([])).to.equal(false);
    expect((await read()).logs.nodes).to.deep.equal([]);
  });

  it("is streamed from the start or from a line on, then line by line", async () => {
    await add(lines(...Array.from({ length: 100 }, (_, n) => `${n}`)));
    await add(lines("100", "101"));
    const all = watch(the(), the().as(owner), stream, { id });
    await all.received(102);
    await add(lines("102"));
    await all.received(103);
    expect(outputsOf(all.events)).to.deep.equal(Array.from({ length: 103 }, (_, n) => `${n}`));
    const later = watch(the(), the().as(owner), stream, { id, after: all.events[100]!.id });
    await later.received(2);
    expect(outputsOf(later.events)).to.deep.equal(["101", "102"]);
    all.close();
    later.close();
  });

  it("is not streamed from an unknown line on", async () => {
    const rejected = watch(the(), the().as(owner), stream, { id, after: newId() });
    const failure = await rejected.received(1).catch((error: Error) => error.message);
    expect(failure).to.include("BAD_USER_INPUT");
    rejected.close();
  });

  it("is streamed only to those who see the agent", async () => {
    const stranger = await the().user("eve");
    const rejected = watch(the(), the().as(stranger), stream, { id });
    const failure = await rejected.received(1).catch((error: Error) => error.message);
    expect(failure).to.include("NOT_FOUND");
    rejected.close();
  });

  it("is not audited", async () => {
    const audited = () => countRows(the(), "audit_events");
    const before = await audited();
    await add(lines("x"));
    expect(await audited()).to.equal(before);
  });
});

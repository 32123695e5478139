// What a hint makes a replica do: only the work for what it concerns, however much the replica holds. All replicas receive
// every hint, so that work which grows with what each of them holds makes revocations cost the more, the more replicas there
// are.
// Looks inside: caches are filled, and hints counted, without the requests that do so.
import { expect } from "chai";
import { ChangingHints } from "../../src/domain/kernel/watching.js";
import { Recent } from "../../src/domain/tokens/recent.js";
import { Watches } from "../../src/domain/tokens/watches.js";
import { InProcessEvents } from "../../src/infrastructure/events/in-process-events.js";
import { watch } from "../support/agents.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

describe("the cost of a hint", () => {
  const the = world();

  it("is only the work for what it concerns, in caches and for streams", async () => {
    const asked: string[] = [];
    const values = new Recent<{ tags: string[] }>(
      async (key) => ({ tags: [`k:${key}`, `u:${Number(key) % 5_000}`] }),
      ({ tags }) => tags,
    );
    const watches = new Watches(async (ids) => {
      asked.push(...ids);
      return ids;
    }, the().app.services.log);
    const keys = Array.from({ length: 10_000 }, (_, n) => String(n));
    await Promise.all(keys.map((key) => values.read(key)));
    for (const key of keys) watches.add(key, [`k:${key}`, `u:${Number(key) % 5_000}`], () => {});
    for (const tag of ["k:7", "u:8", "u:9", "c:1", "k:none"]) {
      values.drop(tag);
      watches.check(tag);
      await Promise.resolve();
    }
    const gone = ["7", "8", "9", "5008", "5009"];
    expect(values.size).to.equal(10_000 - gone.length);
    expect(gone.map((key) => values.at(key))).to.deep.equal(gone.map(() => undefined));
    expect(asked).to.have.members(gone);
    watches.close();
  });

  it("reaches those alone who wait for its object, whatever they wait for later", () => {
    const events = new InProcessEvents({ log: the().app.services.log });
    const received: string[] = [];
    let woken = 0;
    const streams = Array.from({ length: 1_000 }, (_, n) => {
      const changing = new ChangingHints(({ id }) => received.push(id));
      changing.replace([{ topic: "tasks", id: `first ${n}` }]);
      const open = changing.open(events, () => woken++);
      changing.replace([
        { topic: "tasks", id: `task ${n}` },
        { topic: "builds", id: `workspace ${n}` },
      ]);
      return open;
    });
    events.publish(
      { topic: "tasks", id: "task 7" },
      { topic: "builds", id: "workspace 8" },
      { topic: "tasks", id: "first 9" },
    );
    expect([received, woken]).to.deep.equal([["task 7", "workspace 8"], 2]);
    for (const stream of streams) stream.close();
    expect(events.subscriptions).to.equal(0);
  });

  it("costs nothing for each open stream of tasks, inboxes, and workspaces, which wait for what is theirs", async () => {
    const w = the();
    const { owner } = w;
    const { events } = w.app.services;
    const workspace = await w.workspace(owner);
    const before = events.subscriptions;
    const topics: string[] = [];
    const subscribeAll = events.subscribeAll.bind(events);
    events.subscribeAll = (topic, ...handlers) => {
      topics.push(topic);
      return subscribeAll(topic, ...handlers);
    };
    const streams = [
      `subscription { taskChanged(user: "me") { id } }`,
      `subscription { inboxEvents { __typename } }`,
      `subscription { workspaceBuildUpdated(workspaceId: "${workspace.id}") { id } }`,
      `subscription { workspaceAgentLogAppended(agentId: "${workspace.agent.id}") { output } }`,
    ].map((query) => watch(w, w.as(owner), query));
    try {
      await eventually(() => events.subscriptions >= before + 2 * streams.length, "all streams are open");
      expect(topics).to.deep.equal([]);
    } finally {
      Reflect.deleteProperty(events, "subscribeAll");
      for (const stream of streams) stream.close();
    }
  });
});

import { expect } from "chai";
import { type World, world } from "./support/world.js";

const path = "/api/v2/prebuilds/settings";
const read = "{ prebuildsSettings { reconciliationPaused } }";
const update = `mutation($paused: Boolean!) { updatePrebuildsSettings(input: { reconciliationPaused: $paused }) {
  changed prebuildsSettings { reconciliationPaused } } }`;

const history = async (w: World): Promise<unknown[]> =>
  (
    await w.as(w.owner).graphql(`{ auditEvents(filter: { resourceType: "prebuilds_settings" }) {
      nodes { action actorId diff } } }`)
  ).auditEvents.nodes.toReversed();

describe("prebuilds settings", () => {
  const the = world();

  it("respond 304 when a change would have no effect, the default included, and audit every other change", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const ada = w.as(await w.user("ada"));
    const put = (reconciliation_paused: boolean) => owner.put(path, { reconciliation_paused });

    expect((await ada.get(path)).body).to.deep.equal({ reconciliation_paused: false });
    const unchanged = await put(false);
    expect(unchanged).to.include({ status: 304, body: "" });
    expect(unchanged.headers.get("content-type")).to.equal(null);

    const paused = await put(true);
    expect(paused).to.include({ status: 200 });
    expect(paused.body).to.deep.equal({ reconciliation_paused: true });
    expect((await ada.get(path)).body).to.deep.equal(paused.body);
    expect((await ada.graphql(read)).prebuildsSettings).to.deep.equal({ reconciliationPaused: true });
    expect(await put(true)).to.include({ status: 304, body: "" });

    const changes = [];
    for (const wanted of [true, false, false]) {
      changes.push((await owner.graphql(update, { paused: wanted })).updatePrebuildsSettings);
    }
    expect(changes).to.deep.equal([
      { changed: false, prebuildsSettings: { reconciliationPaused: true } },
      { changed: true, prebuildsSettings: { reconciliationPaused: false } },
      { changed: false, prebuildsSettings: { reconciliationPaused: false } },
    ]);
    expect(await history(w)).to.deep.equal([
      { action: "UPDATE", actorId: w.owner.id, diff: { reconciliationPaused: { old: false, new: true } } },
      { action: "UPDATE", actorId: w.owner.id, diff: { reconciliationPaused: { old: true, new: false } } },
    ]);
  });

  it("change once, with one audit event, under concurrent identical updates", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const { reconciliation_paused: now } = (await owner.get(path)).body;
    const before = (await history(w)).length;
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => owner.put(path, { reconciliation_paused: !now })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses).to.have.members([200, ...Array(11).fill(304)]);
    expect(await history(w)).to.have.length(before + 1);
  });

  it("are written by owners alone, even to the same value, and read by every signed-in user", async () => {
    const w = the();
    const [member, auditor] = await w.users("member", "auditor");
    await w.grant(auditor!, "auditor");
    const { reconciliation_paused: now } = (await w.as(w.owner).get(path)).body;
    for (const person of [member!, auditor!]) {
      const client = w.as(person);
      for (const body of [{ reconciliation_paused: now }, { reconciliation_paused: !now }, {}]) {
        expect((await client.put(path, body)).body).to.deep.equal({ message: "Forbidden." });
      }
      expect((await client.failure(update, { paused: now })).code).to.equal("FORBIDDEN");
      expect(await client.get(path)).to.include({ status: 200 });
    }
    const { agent } = await w.workspace(member!);
    expect(await w.as(agent).get(path)).to.include({ status: 401 });
    expect(await w.nobody.get(path)).to.include({ status: 401 });
  });

  it("have both statuses of an update in the OpenAPI description", async () => {
    const { paths } = (await the().nobody.get("/openapi.json")).body;
    expect(paths[path].put.responses).to.include.all.keys("200", "304");
    expect(paths[path].get.responses).to.not.have.any.keys("304");
  });

  it("require a boolean", async () => {
    const owner = the().as(the().owner);
    for (const body of [{}, { reconciliation_paused: null }]) {
      const answer = await owner.put(path, body);
      expect(answer).to.include({ status: 400 });
      expect(answer.body.validations).to.deep.equal([{ field: "reconciliation_paused", detail: "Is required." }]);
    }
    for (const reconciliation_paused of ["true", 1, [], {}]) {
      const answer = await owner.put(path, { reconciliation_paused });
      expect(answer.body.validations).to.deep.equal([
        { field: "reconciliation_paused", detail: "Must be true or false." },
      ]);
    }
    const failure = await owner.failure(update, {});
    expect(failure.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.reconciliationPaused", detail: "Is required." },
    ]);
  });
});

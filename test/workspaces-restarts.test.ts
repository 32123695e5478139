// Restarts of workspaces: one mutation that checks the start before it stops, and starts when the stop has succeeded.
import { expect } from "chai";
import {
  addVersion,
  boxOf,
  createBox,
  doBuild,
  endBuild,
  readBox,
  restart,
  runningBox,
  setTemplate,
  stop,
  templateOf,
} from "./support/builds.js";
import { type Person, world } from "./support/world.js";

const sized = (more: object = {}) =>
  boxOf(0, {
    parameters: [
      { name: "size", default: "small", options: ["small", "large"].map((value) => ({ name: value, value })), ...more },
    ],
  });

describe("the restart of a workspace", () => {
  const w = world();
  const begin = async (who: Pick<Person, "token">, workspace: string, more: object = {}) =>
    (
      await w()
        .as(who)
        .graphql(restart, { input: { workspace, ...more } })
    ).restartWorkspace;
  const latest = async (who: Person, id: string) => (await readBox(w(), who, id)).latestBuild;
  const running = async (document: object = boxOf()) => {
    const ada = await w().user("ada");
    const template = await templateOf(w(), document);
    const { workspace } = await runningBox(w(), ada, template.id);
    return { ada, template, id: workspace.id };
  };

  it("stops it, and starts it when that has succeeded, with the given values", async () => {
    const { ada, id } = await running(sized());
    const parameters = [{ name: "size", value: "large" }];
    const { workspace, workspaceBuild } = await begin(ada, id, { parameters, reason: "CLI" });
    expect(workspace).to.include({ id, status: "PENDING" });
    expect(workspaceBuild).to.include({ buildNumber: 2 });
    expect(await latest(ada, id)).to.deep.include({
      transition: "STOP",
      parameters: [{ name: "size", value: "small" }],
    });
    await doBuild(w(), workspaceBuild.id);
    const started = await latest(ada, id);
    expect(started).to.deep.include({
      buildNumber: 3,
      transition: "START",
      status: "PENDING",
      reason: "CLI",
      parameters,
    });
    expect(started.initiator).to.deep.equal({ username: ada.username });
    await doBuild(w(), started.id);
    expect(await readBox(w(), ada, id)).to.include({ status: "RUNNING" });
    const { auditEvents } = await w()
      .as(w().owner)
      .graphql(`{ auditEvents(filter: { resourceType: "workspace", resourceId: "${id}" }) { nodes { action } } }`);
    expect(auditEvents.nodes.map(({ action }: { action: string }) => action).slice(0, 2)).to.deep.equal([
      "START",
      "STOP",
    ]);
  });

  it("starts one that is stopped", async () => {
    const { ada, id } = await running();
    const { stopWorkspace } = await w().as(ada).graphql(stop, { workspace: id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    const { workspaceBuild } = await begin(ada, `me/${(await readBox(w(), ada, id)).name}`);
    expect(await latest(ada, id)).to.include({ id: workspaceBuild.id, transition: "START" });
  });

  it("stops what a failed start may have left, and moves to the version of the start", async () => {
    const ada = await w().user("ada");
    const template = await templateOf(w(), boxOf());
    const built = await createBox(w(), ada, template.id);
    await endBuild(w(), built.workspaceBuild.id, "failed");
    const next = await addVersion(w(), template.id, boxOf());
    const { workspaceBuild } = await begin(ada, built.workspace.id, { templateVersionId: next.id });
    expect(await latest(ada, built.workspace.id)).to.include({ transition: "STOP" });
    await doBuild(w(), workspaceBuild.id);
    const query = `query($id: UUID!) { workspace(id: $id) { latestBuild { transition templateVersionId } } }`;
    const { workspace } = await w().as(ada).graphql(query, { id: built.workspace.id });
    expect(workspace.latestBuild).to.deep.equal({ transition: "START", templateVersionId: next.id });
  });

  it("stops nothing that could not be started, and says all that is wrong", async () => {
    const { ada, id } = await running(sized());
    const fails = async (more: object, who: Pick<Person, "token"> = ada) => {
      const { code, errors } = await w()
        .as(who)
        .failure(restart, { input: { workspace: id, ...more } });
      return [code, (errors[0]!.extensions.validations ?? []).map(({ field }: { field: string }) => field)];
    };
    expect(
      await fails({
        parameters: [
          { name: "size", value: "huge" },
          { name: "color", value: "red" },
        ],
      }),
    ).to.deep.equal(["BAD_USER_INPUT", ["input.parameters.color", "input.parameters.size"]]);
    const other = await templateOf(w(), boxOf());
    expect(await fails({ templateVersionId: other.version })).to.deep.equal([
      "BAD_USER_INPUT",
      ["input.templateVersionId"],
    ]);
    const [eve] = await w().users("eve");
    expect(await fails({}, eve)).to.deep.equal(["NOT_FOUND", []]);
    expect(await fails({}, await w().scoped(ada, "workspace:start", "workspace:read"))).to.deep.equal([
      "FORBIDDEN",
      [],
    ]);
    expect(await fails({}, await w().scoped(ada, "workspace:stop", "workspace:read"))).to.deep.equal(["FORBIDDEN", []]);
    expect(await readBox(w(), ada, id)).to.include({ status: "RUNNING" });
    await begin(ada, id);
    expect(await fails({}), "while a build is open").to.deep.equal(["CONFLICT", []]);
  });

  it("does not start after a stop that failed or was canceled", async () => {
    for (const outcome of ["failed", "canceled"] as const) {
      const { ada, id } = await running();
      const { workspaceBuild } = await begin(ada, id);
      await endBuild(w(), workspaceBuild.id, outcome);
      expect(await latest(ada, id)).to.include({ id: workspaceBuild.id, transition: "STOP" });
    }
  });

  it("does not start for those who may not any more, and tells the owner what has become impossible", async () => {
    const { ada, id } = await running();
    const first = await begin(ada, id);
    const { name } = await readBox(w(), ada, id);
    const owner = w().as(w().owner);
    await owner.graphql(`mutation { suspendUser(input: { user: "${ada.id}" }) { __typename } }`);
    await doBuild(w(), first.workspaceBuild.id);
    const status = `{ workspace: workspaceByName(owner: "${ada.id}", name: "${name}") { status } }`;
    expect(await owner.graphql(status)).to.deep.equal({ workspace: { status: "STOPPED" } });

    const { ada: bob, template, id: box } = await running();
    const strict = await addVersion(w(), template.id, sized({ default: undefined }));
    const { workspaceBuild } = await begin(bob, box);
    await setTemplate(w(), template.id, { active_version_id: strict.id, automatic_updates: "always" });
    await doBuild(w(), workspaceBuild.id);
    expect(await readBox(w(), bob, box)).to.include({ status: "STOPPED" });
    const { inboxNotifications } = await w()
      .as(bob)
      .graphql("{ inboxNotifications(first: 5) { nodes { plainContent } } }");
    expect(JSON.stringify(inboxNotifications)).to.include("parameters.size: Is required.");
  });
});

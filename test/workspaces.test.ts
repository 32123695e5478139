// Workspaces: how they are created, started, stopped, deleted, changed, and shared out by permission.
// Reaches for tables: a version is not imported any more, which no request causes.
import { expect } from "chai";
import { reportWeek } from "./support/background.js";
import {
  addVersion,
  beginBuild,
  boxOf,
  create,
  createBox,
  doBuild,
  endBuild,
  readBox,
  remove,
  runningBox,
  setTemplate,
  start,
  stop,
  templateOf,
} from "./support/builds.js";
import { withTimeLeft } from "./support/clock.js";
import { deleteRows, setColumns } from "./support/tables.js";
import { type Person, world } from "./support/world.js";

const missing = "01890000-0000-7000-8000-000000000000";

const withParameters = boxOf(0, {
  parameters: [
    { name: "size", default: "small" },
    { name: "region", default: "eu", mutable: false },
    { name: "reset", default: "no", ephemeral: true },
  ],
  presets: [{ name: "large", parameters: { size: "large" } }],
});

describe("workspaces", () => {
  const w = world();

  it("are outdated while their latest build has another version than the active one", async () => {
    const [ada, eve] = await w().users("ada", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const outdated = async (person: Pick<Person, "token"> = ada!): Promise<boolean> =>
      (await w().as(person).graphql(`{ workspace(id: "${workspace.id}") { isOutdated } }`)).workspace.isOutdated;
    expect(await outdated()).to.equal(false);
    const next = await addVersion(w(), template.id, boxOf());
    expect(await outdated(), "a version that is not active").to.equal(false);
    await setTemplate(w(), template.id, { active_version_id: next.id });
    expect(await outdated()).to.equal(true);
    expect(await outdated(w().owner), "for administrators as well").to.equal(true);
    const list = await w().as(ada!).graphql("{ workspaces { nodes { id isOutdated } } }");
    expect(list.workspaces.nodes).to.deep.equal([{ id: workspace.id, isOutdated: true }]);
    const query = `{ workspace(id: "${workspace.id}") { isOutdated } }`;
    expect((await w().as(eve!).failure(query)).code).to.equal("NOT_FOUND");
    expect(
      (
        await w()
          .as(await w().scoped(ada!, "template:read"))
          .failure(query)
      ).code,
    ).to.equal("FORBIDDEN");
    expect(await outdated(await w().scoped(ada!, "workspace:read"))).to.equal(true);

    const stopped = await w().as(ada!).graphql(stop, { workspace: workspace.id });
    await doBuild(w(), stopped.stopWorkspace.workspaceBuild.id);
    expect(await outdated(), "a stop keeps the version").to.equal(true);
    const updated = await w()
      .as(ada!)
      .graphql(start, { input: { workspace: workspace.id, templateVersionId: next.id } });
    await doBuild(w(), updated.startWorkspace.workspaceBuild.id);
    expect(await outdated()).to.equal(false);
  });

  it("are created with a first build, and run when a daemon has completed it", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const built = await createBox(w(), ada!, template.id, { name: "first" });
    expect(built.workspace).to.include({ name: "first", status: "PENDING", deadline: null });
    expect(built.workspaceBuild).to.include({ buildNumber: 1, status: "PENDING", dailyCost: 0 });

    await beginBuild(w(), built.workspaceBuild.id);
    expect(await readBox(w(), ada!, built.workspace.id)).to.include({ status: "STARTING" });
    const reported = await doBuild(w(), built.workspaceBuild.id);
    expect(reported!.agents.map(({ name, external }) => ({ name, external }))).to.deep.equal([
      { name: "main", external: false },
    ]);
    const box = await readBox(w(), ada!, built.workspace.id);
    expect(box).to.include({ status: "RUNNING" });
    expect(box.latestBuild).to.deep.include({
      transition: "START",
      reason: "INITIATOR",
      initiator: { username: ada!.username },
    });

    const { workspaceByName, workspaceBuild } = await w()
      .as(ada!)
      .graphql(
        `query($build: UUID!) { workspaceByName(owner: "me", name: "FIRST") { id owner { username } organization { name }
             builds { totalCount nodes { buildNumber resources { name dailyCost metadata { key } } } } }
           workspaceBuild(id: $build) { buildNumber workspace { name } } }`,
        { build: built.workspaceBuild.id },
      );
    expect(workspaceByName).to.deep.equal({
      id: built.workspace.id,
      owner: { username: ada!.username },
      organization: { name: "main" },
      builds: {
        totalCount: 1,
        nodes: [{ buildNumber: 1, resources: [{ name: "box", dailyCost: 0, metadata: [] }] }],
      },
    });
    expect(workspaceBuild).to.deep.equal({ buildNumber: 1, workspace: { name: "first" } });
  });

  it("are stopped, started again, and deleted, which frees their name", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id, { name: "cycle" });
    const ref = `${ada!.username}/cycle`;
    const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: ref });
    expect(stopWorkspace.workspaceBuild).to.include({ buildNumber: 2, status: "PENDING" });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "STOPPED" });

    const again = await w().as(ada!).failure(stop, { workspace: ref });
    expect([again.code, again.message]).to.deep.equal(["CONFLICT", "The workspace is already stopped."]);
    const { startWorkspace } = await w()
      .as(ada!)
      .graphql(start, { input: { workspace: ref, reason: "CLI" } });
    await doBuild(w(), startWorkspace.workspaceBuild.id);
    expect((await readBox(w(), ada!, workspace.id)).latestBuild).to.include({ buildNumber: 3, reason: "CLI" });
    expect(
      (
        await w()
          .as(ada!)
          .failure(start, { input: { workspace: ref } })
      ).message,
    ).to.equal("The workspace is already running.");

    const { deleteWorkspace } = await w().as(ada!).graphql(remove, { workspace: workspace.id });
    expect(deleteWorkspace.workspace).to.include({ status: "PENDING" });
    await doBuild(w(), deleteWorkspace.workspaceBuild.id);
    expect((await w().as(ada!).failure(`{ workspaceByName(owner: "me", name: "cycle") { id } }`)).code).to.equal(
      "NOT_FOUND",
    );
    await createBox(w(), ada!, template.id, { name: "cycle" });
  });

  it("have one build at a time", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    const calls: Array<[string, Record<string, unknown>]> = [
      [start, { input: { workspace: workspace.id } }],
      [stop, { workspace: workspace.id }],
      [remove, { workspace: workspace.id }],
    ];
    for (const [mutation, variables] of calls) {
      const failure = await w().as(ada!).failure(mutation, variables);
      expect([failure.code, failure.message]).to.deep.equal(["CONFLICT", "A workspace build is already active."]);
    }
    await endBuild(w(), workspaceBuild.id, "failed");
    expect(await readBox(w(), ada!, workspace.id)).to.include({ status: "FAILED" });

    const both = await Promise.allSettled([
      w()
        .as(ada!)
        .graphql(start, { input: { workspace: workspace.id } }),
      w()
        .as(ada!)
        .graphql(start, { input: { workspace: workspace.id } }),
      w().as(ada!).graphql(stop, { workspace: workspace.id }),
    ]);
    expect(both.filter(({ status }) => status === "fulfilled")).to.have.length(1);
  });

  it("are created once per name of an owner, in any letter case", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const results = await Promise.allSettled(
      ["same", "SAME", "same"].map((name) => createBox(w(), ada!, template.id, { name })),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).to.have.length(1);
    const failure = await w()
      .as(ada!)
      .failure(create, { input: { templateId: template.id, name: "Same" } });
    expect(failure.code).to.equal("CONFLICT");
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.name");
  });

  it("report all faults of a creation together", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), withParameters);
    const input = {
      templateId: template.id,
      name: "-",
      presetId: missing,
      parameters: [{ name: "color", value: "red" }],
      ttlSeconds: -1,
    };
    const { code, errors } = await w().as(ada!).failure(create, { input });
    expect(code).to.equal("BAD_USER_INPUT");
    expect(errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.name",
      "input.presetId",
      "input.parameters.color",
      "input.ttlSeconds",
    ]);
    const neither = await w()
      .as(ada!)
      .failure(create, { input: { name: "x" } });
    expect(neither.errors[0]!.extensions.validations[0]!.field).to.equal("input.templateId");
  });

  it("take the values of parameters from the caller, the previous build, the preset, and the default", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), withParameters);
    const valuesOf = async (id: string) =>
      Object.fromEntries(
        (await readBox(w(), ada!, id)).latestBuild.parameters.map(
          ({ name, value }: { name: string; value: string }) => [name, value],
        ),
      );
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id, {
      presetId: template.presets.large,
      parameters: [{ name: "reset", value: "yes" }],
    });
    expect(await valuesOf(workspace.id)).to.deep.equal({ size: "large", region: "eu", reset: "yes" });
    await endBuild(w(), workspaceBuild.id, "canceled");
    const immutable = { workspace: workspace.id, parameters: [{ name: "region", value: "us" }] };
    const failure = await w().as(ada!).failure(start, { input: immutable });
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.parameters.region");
    await w()
      .as(ada!)
      .graphql(start, { input: { workspace: workspace.id } });
    expect(await valuesOf(workspace.id)).to.deep.equal({ size: "large", region: "eu", reset: "no" });
  });

  it("start a later version with the immutable values that they have, although it does not offer them any more", async () => {
    const [ada] = await w().users("ada");
    const options = (...values: string[]) => values.map((value) => ({ name: value, value }));
    const regions = (parameter: object) => boxOf(0, { parameters: [{ name: "region", mutable: false, ...parameter }] });
    const first = regions({ options: options("eu", "us") });
    const template = await templateOf(w(), first, { settings: { require_active_version: true } });
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id, {
      parameters: [{ name: "region", value: "us" }],
    });
    await doBuild(w(), workspaceBuild.id);
    const startWith = async (document: object, parameters?: object[]) => {
      const { id } = await addVersion(w(), template.id, document);
      await setTemplate(w(), template.id, { active_version_id: id });
      const { latestBuild, status } = await readBox(w(), ada!, workspace.id);
      if (status === "RUNNING") {
        const { stopWorkspace } = await w().as(ada!).graphql(stop, { workspace: workspace.id });
        await doBuild(w(), stopWorkspace.workspaceBuild.id);
      } else expect(latestBuild.transition).to.equal("STOP");
      const { body } = await w()
        .as(ada!)
        .post("/graphql", { query: start, variables: { input: { workspace: workspace.id, parameters } } });
      if (body.errors) return body.errors[0].extensions.validations[0];
      await doBuild(w(), body.data.startWorkspace.workspaceBuild.id);
      const box = await readBox(w(), ada!, workspace.id);
      return { status: box.status, region: box.latestBuild.parameters[0]!.value };
    };
    const started = { status: "RUNNING", region: "us" };
    expect(await startWith(regions({ options: options("eu", "asia") }))).to.deep.equal(started);
    expect(await startWith(regions({ validation: { regex: "^(eu|asia)$" } }))).to.deep.equal(started);
    const given = [{ name: "region", value: "eu" }];
    expect(await startWith(first, given)).to.deep.equal({
      field: "input.parameters.region",
      detail: "Cannot be changed after the workspace was created.",
    });
    // A value that does not have the type any more cannot be kept: it is given once more.
    const numbered = regions({ type: "number", options: options("1", "2") });
    expect((await startWith(numbered)).field).to.equal("input.parameters.region");
    expect(await startWith(numbered, [{ name: "region", value: "2" }])).to.deep.equal({ ...started, region: "2" });
    expect((await startWith(numbered, [{ name: "region", value: "1" }])).detail).to.include("Cannot be changed");
    expect(
      (await startWith(regions({ mutable: true, type: "string", options: options("eu") }))).field,
      "mutable values are chosen again",
    ).to.equal("input.parameters.region");
  });

  it("start another version of their template only if it can be used", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const other = await templateOf(w(), boxOf());
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    await endBuild(w(), workspaceBuild.id, "failed");
    const next = await addVersion(w(), template.id, boxOf(1));
    const fieldOf = async (templateVersionId: string) => {
      const failure = await w()
        .as(ada!)
        .failure(start, { input: { workspace: workspace.id, templateVersionId } });
      expect(failure.code).to.equal("BAD_USER_INPUT");
      return failure.errors[0]!.extensions.validations[0]!.detail;
    };
    expect(await fieldOf(other.version)).to.equal("Must be a version of the template of the workspace.");
    const setVersion = (values: object) => setColumns(w(), "template_versions", { id: next.id }, { ...values });
    await setVersion({ archived_at: new Date() });
    expect(await fieldOf(next.id)).to.equal("The template version is archived.");
    await setVersion({ archived_at: null, is_imported: false });
    expect(await fieldOf(next.id)).to.equal("The template version is not imported.");

    await setVersion({ is_imported: true });
    await deleteRows(w(), "template_acl_entries", { template_id: template.id });
    const denied = await w()
      .as(ada!)
      .failure(start, { input: { workspace: workspace.id, templateVersionId: next.id } });
    expect(denied.code).to.equal("FORBIDDEN");
    await w()
      .as(ada!)
      .graphql(start, { input: { workspace: workspace.id } });
  });

  it("move plain users to the active version where the template requires it", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace, workspaceBuild } = await createBox(w(), ada!, template.id);
    await endBuild(w(), workspaceBuild.id, "failed");
    const next = await addVersion(w(), template.id, boxOf(0, { parameters: [{ name: "size", default: "small" }] }));
    await setTemplate(w(), template.id, { active_version_id: next.id, require_active_version: true });
    const former = { workspace: workspace.id, templateVersionId: template.version };
    expect((await w().as(ada!).failure(start, { input: former })).message).to.equal(
      "The template requires its active version.",
    );
    await w()
      .as(ada!)
      .graphql(start, { input: { workspace: workspace.id } });
    const { parameters } = (await readBox(w(), ada!, workspace.id)).latestBuild;
    expect(parameters).to.deep.equal([{ name: "size", value: "small" }]);
  });

  it("are seen and changed by those whom the policy names", async () => {
    const [ada, bob, admin, templateAdmin] = await w().users("ada", "bob", "admin", "tad");
    await w().grant(admin!, "organization-admin");
    await w().grant(templateAdmin!, "template-admin");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const read = `query($id: UUID!) { workspace(id: $id) { name } }`;
    expect((await w().as(bob!).failure(read, { id: workspace.id })).code).to.equal("NOT_FOUND");
    expect((await w().as(bob!).failure(stop, { workspace: workspace.id })).code).to.equal("NOT_FOUND");
    expect((await w().as(templateAdmin!).failure(stop, { workspace: workspace.id })).code).to.equal("FORBIDDEN");
    expect(
      (
        await w()
          .as(bob!)
          .failure(create, { input: { owner: ada!.username, templateId: template.id, name: "x" } })
      ).code,
    ).to.equal("NOT_FOUND");
    await w()
      .as(admin!)
      .graphql(stop, { workspace: `${ada!.username}/${workspace.name}` });
    await createBox(w(), admin!, template.id, { owner: ada!.id });

    const closed = await templateOf(w(), boxOf(), { isClosed: true });
    expect(
      (
        await w()
          .as(ada!)
          .failure(create, { input: { templateId: closed.id, name: "x" } })
      ).code,
    ).to.equal("NOT_FOUND");
    const outsider = await w().organization();
    const foreign = await templateOf(w(), boxOf(), { organization: outsider.id });
    const failure = await w()
      .as(w().owner)
      .failure(create, { input: { templateId: foreign.id, owner: ada!.id, name: "x" } });
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.owner");
  });

  it("are deleted without a daemon by template administrators only", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    expect((await w().as(ada!).failure(remove, { workspace: workspace.id, orphan: true })).code).to.equal("FORBIDDEN");
    const { deleteWorkspace } = await w().as(w().owner).graphql(remove, { workspace: workspace.id, orphan: true });
    expect(deleteWorkspace.workspace).to.include({ status: "DELETED" });
    expect(
      (await w().as(ada!).failure(`query($id: UUID!) { workspace(id: $id) { id } }`, { id: workspace.id })).code,
    ).to.equal("NOT_FOUND");
  });

  it("are renamed, limited, and kept from secrets by their owner", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await createBox(w(), ada!, template.id);
    const update = `mutation($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { workspace { name ttlSeconds } } }`;
    const input = { workspace: workspace.id, name: "renamed", ttlSeconds: 60 };
    expect((await w().as(ada!).graphql(update, { input })).updateWorkspace.workspace).to.deep.equal({
      name: "renamed",
      ttlSeconds: 60,
    });
    const bad = await w()
      .as(ada!)
      .failure(update, { input: { workspace: workspace.id, name: "me", ttlSeconds: -1 } });
    expect(bad.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.name",
      "input.ttlSeconds",
    ]);
    const inject = `mutation($id: UUID!) { setWorkspaceSecretInjection(input: { workspaceId: $id, enabled: false }) {
      workspace { injectUserSecrets } } }`;
    expect((await w().as(w().owner).failure(inject, { id: workspace.id })).code).to.equal("FORBIDDEN");
    const { setWorkspaceSecretInjection } = await w().as(ada!).graphql(inject, { id: workspace.id });
    expect(setWorkspaceSecretInjection.workspace).to.deep.equal({ injectUserSecrets: false });
  });

  it("record who built them in the audit log", async () => {
    const [ada] = await w().users("ada");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    await w().as(ada!).graphql(stop, { workspace: workspace.id });
    const { auditEvents } = await w()
      .as(w().owner)
      .graphql(
        `query($id: String!) { auditEvents(filter: { resourceId: $id }) { nodes { action actor { username } } } }`,
        {
          id: workspace.id,
        },
      );
    expect(auditEvents.nodes.map(({ action }: { action: string }) => action).toSorted()).to.deep.equal([
      "CREATE",
      "START",
      "STOP",
    ]);
  });

  it("whose builds failed are reported once a week to the administrators of their templates", async () => {
    // The week must not end meanwhile.
    await withTimeLeft(86_400_000, 60_000);
    const [ada] = await w().users("ada");
    const admin = await w().user("admin");
    await w().grant(admin, "template-admin");
    const failing = await templateOf(w(), boxOf());
    const good = await templateOf(w(), boxOf());
    const built = [await createBox(w(), ada!, failing.id), await createBox(w(), ada!, failing.id)];
    for (const { workspaceBuild } of built) await endBuild(w(), workspaceBuild.id, "failed");
    await runningBox(w(), ada!, failing.id);
    await runningBox(w(), ada!, good.id);
    await Promise.all([reportWeek(w().app), reportWeek(w().app)]);
    await reportWeek(w().app, 2);
    const { inboxNotifications } = await w().as(admin).graphql("{ inboxNotifications { nodes { title content } } }");
    const title = ({ name }: { name: string }) => `Failed builds of the template ${name}`;
    const reports = (inboxNotifications.nodes as Array<{ title: string; content: string }>).filter(({ title: each }) =>
      [failing, good].some((template) => each.replaceAll("\\", "") === title(template)),
    );
    expect(reports).to.have.length(1);
    expect(reports[0]!.content.replaceAll("\\", "")).to.match(/2 of 3 builds[^]*: 2 failed/);
  });
});

// Looks inside: prebuilt workspaces are what jobs leave in the tables.
import { expect } from "chai";
import { prebuildsJob } from "../../src/domain/prebuilds/reconciliation.js";
import { prebuild } from "../support/background.js";
import { doBuild, endBuild } from "../support/builds.js";
import { echo, endImport, makeTemplate } from "../support/templates.js";
import { eventually } from "../support/watchers.js";
import { type Person, type World, world } from "../support/world.js";

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
      for (const body of [{ reconciliation_paused: now }, { reconciliation_paused: !now }]) {
        expect((await client.put(path, body)).body).to.deep.equal({ message: "Forbidden." });
      }
      // Missing values are reported before permission.
      expect(await client.put(path, {})).to.include({ status: 400 });
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

describe("prebuilt workspaces", () => {
  // Only the tests reconcile: the server would replace a workspace as soon as it is claimed, or make one in between.
  const { every } = prebuildsJob;
  before(() => void (prebuildsJob.every = 86_400_000));
  after(() => void (prebuildsJob.every = every));
  const the = world();
  const owner = () => the().as(the().owner);

  interface Unclaimed {
    id: string;
    build: string;
    name: string;
    owner: string;
    status: string;
    transition: string;
    preset: string | null;
  }

  /** The workspaces of a template that are not deleted, oldest first. */
  const workspacesOf = async (template: string): Promise<Unclaimed[]> =>
    (
      await the().app.services.database.pool.query(
        `select w.id, w.latest_build_id as build, w.name, u.username as owner, w.latest_status as status, w.latest_transition as transition,
           w.prebuilt_preset_id as preset
         from workspaces w join users u on u.id = w.owner_id
         where w.template_id = $1 and w.deleted_at is null order by w.created_at, w.id`,
        [template],
      )
    ).rows;
  const reconcile = () => prebuild(the().app);
  const summary = async (template: string) =>
    (await workspacesOf(template)).map(({ transition, status }) => `${transition} ${status}`);
  const finishAll = async (template: string, outcome: "succeeded" | "failed" = "succeeded") => {
    for (const { build, status } of await workspacesOf(template))
      if (status === "pending") await endBuild(the(), build, outcome);
  };
  const documentWith = (prebuilds: object, size = 7) => ({
    ...echo,
    parameters: [
      { name: "size", type: "number", default: 1 },
      { name: "zone", default: "a" },
    ],
    presets: [{ name: "big", parameters: { size }, prebuilds }],
  });
  const presetOf = async (template: string) =>
    (
      await owner().graphql(
        `{ template(id: "${template}") { activeVersion { presets { id prebuildStatus lastInvalidatedAt } } } }`,
      )
    ).template.activeVersion.presets[0]!;
  const createFrom = async (person: Person, template: string, presetId: string, parameters: object[] = []) =>
    (
      await the()
        .as(person)
        .graphql(
          `mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id name } workspaceBuild { transition } } }`,
          { input: { templateId: template, presetId, name: `w${Date.now()}`, parameters } },
        )
    ).createWorkspace.workspace;

  it("are made as a preset asks, claimed once each, and made again", async () => {
    const [ada, bob, eve] = await the().users("ada", "bob", "eve");
    const { id } = await makeTemplate(the(), { document: documentWith({ instances: 2 }) });
    await Promise.all([reconcile(), reconcile(), reconcile()]);
    const made = await workspacesOf(id);
    expect(made.map(({ owner: by, status }) => `${by} ${status}`)).to.deep.equal([
      "prebuilds pending",
      "prebuilds pending",
    ]);
    for (const { name } of made) expect(name).to.match(/^prebuild-[0-9a-f]{12}$/);
    const { pool } = the().app.services.database;
    const { rows } = await pool.query(
      "select b.parameters, j.priority from workspace_builds b join provisioner_jobs j on j.id = b.job_id where b.workspace_id = $1",
      [made[0]!.id],
    );
    expect(rows).to.deep.equal([{ parameters: { size: "7", zone: "a" }, priority: 1 }]);

    // None is ready: a claim makes a new workspace.
    const { id: presetId } = await presetOf(id);
    const early = await createFrom(ada!, id, presetId);
    expect(made.map((each) => each.id)).to.not.include(early.id);
    await finishAll(id);
    await reconcile();
    expect(await workspacesOf(id)).to.have.length(3);

    const claimed = await Promise.all([bob!, eve!].map((person) => createFrom(person, id, presetId)));
    expect(claimed.map((each) => each.id)).to.have.members(made.map((each) => each.id));
    const after = await workspacesOf(id);
    expect(after.map(({ owner: by }) => by)).to.have.members([ada!.username, bob!.username, eve!.username]);
    expect(after.every(({ preset }) => preset === null)).to.equal(true);
    await reconcile();
    expect((await workspacesOf(id)).filter(({ owner: by }) => by === "prebuilds")).to.have.length(2);

    // Other values than those of the preset do not claim.
    await finishAll(id);
    const other = await createFrom(ada!, id, presetId, [{ name: "zone", value: "b" }]);
    expect(after.map((each) => each.id)).to.not.include(other.id);
    expect((await workspacesOf(id)).filter(({ owner: by }) => by === "prebuilds")).to.have.length(2);
  });

  it("are not made on by a server that shuts down", async () => {
    const names = Array.from({ length: 50 }, (_, nr) => `preset-${nr}`);
    const presets = names.map((name) => ({ name, parameters: {}, prebuilds: { instances: 1 } }));
    const { id } = await makeTemplate(the(), { document: { ...documentWith({ instances: 1 }), presets } });
    const stopping = new AbortController();
    const run = prebuild(the().app, stopping.signal);
    await eventually(async () => (await workspacesOf(id)).length > 0, "the first one is made");
    stopping.abort();
    await run;
    expect(await workspacesOf(id)).to.have.length.below(names.length);
    await reconcile();
    expect(await workspacesOf(id)).to.have.length(names.length);
  });

  const createPlain = `mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) {
    workspace { id } workspaceBuild { id } } }`;
  const quotaOf = async (person: Person) =>
    (await owner().get(`/api/v2/organizations/default/members/${person.id}/workspace-quota`)).body;
  const allow = (group: string, allowance: number) =>
    owner().patch(`/api/v2/groups/${group}`, { quota_allowance: allowance });

  /** A template whose prebuilt workspaces are ready, each of a cost. Tasks can be created from it. */
  const readyPool = async (instances: number, cost: number) => {
    const agents = [{ name: "main", os: "linux", arch: "amd64", apps: [{ slug: "chat", url: "http://127.0.0.1:1" }] }];
    const document = {
      ...documentWith({ instances }),
      resources: [{ name: "box", daily_cost: cost, agents }],
      ai_task: { agent: "main", app: "chat" },
    };
    const { id, version } = await makeTemplate(the(), { document });
    await reconcile();
    for (const { build } of await workspacesOf(id)) await doBuild(the(), build);
    await the().app.services.database.pool.query(
      `update workspace_agents set lifecycle = 'ready' where workspace_id in
         (select w.id from workspaces w where w.template_id = $1)`,
      [id],
    );
    return { id, version, presetId: (await presetOf(id)).id };
  };

  it("are not claimed beyond the quota of their new owner, nor is another workspace made instead", async () => {
    const [ada, bob] = await the().users("ada", "bob");
    const { defaultOrganization: everyone } = the();
    await allow(everyone, 0);
    const { id, version, presetId } = await readyPool(2, 4);
    const pool = await workspacesOf(id);
    const former = await quotaOf(ada!);
    expect(former).to.deep.equal({ budget: 0, credits_consumed: 0 });

    const input = { templateId: id, presetId, name: "mine" };
    const refused = await the().as(ada!).failure(createPlain, { input });
    expect(refused.code).to.equal("CONFLICT");
    expect(refused.errors[0]!.extensions.reason).to.equal("QUOTA_EXCEEDED");
    const task = { template_version_id: version, template_version_preset_id: presetId, input: "Go" };
    const answer = await the().as(ada!).post("/api/v2/tasks/me", task);
    expect(answer).to.include({ status: 409 });
    expect(answer.body.message).to.include("quota");
    expect(await workspacesOf(id)).to.deep.equal(pool);
    expect(await quotaOf(ada!)).to.deep.equal(former);

    // Of those who may have one, each takes one: a task is as good as a workspace.
    await allow(everyone, 4);
    const { createWorkspace } = await the().as(ada!).graphql(createPlain, { input });
    expect(pool.map((each) => each.id)).to.include(createWorkspace.workspace.id);
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 4, credits_consumed: 4 });
    expect((await the().as(bob!).post("/api/v2/tasks/me", task)).status).to.equal(201);
    expect((await workspacesOf(id)).map((each) => each.owner)).to.have.members([ada!.username, bob!.username]);
    expect((await doBuild(the(), createWorkspace.workspaceBuild.id))!.dailyCost).to.equal(4);
    await allow(everyone, 0);
  });

  it("are claimed once by two requests of an owner whose quota permits one", async () => {
    const [ada] = await the().users("ada");
    await allow(the().defaultOrganization, 4);
    const { id, presetId } = await readyPool(3, 4);
    const claims = await Promise.all(
      ["one", "two", "three"].map((name) =>
        the()
          .as(ada!)
          .post("/graphql", { query: createPlain, variables: { input: { templateId: id, presetId, name } } }),
      ),
    );
    const reasons = claims.map(({ body }) => body.errors?.[0].extensions.reason ?? "claimed");
    expect(reasons).to.have.members(["QUOTA_EXCEEDED", "QUOTA_EXCEEDED", "claimed"]);
    const owners = (await workspacesOf(id)).map((each) => each.owner);
    expect(owners.toSorted()).to.deep.equal([ada!.username, "prebuilds", "prebuilds"].toSorted());
    expect(await quotaOf(ada!)).to.deep.equal({ budget: 4, credits_consumed: 4 });
    await allow(the().defaultOrganization, 0);
  });

  it("are deleted when they are outdated, invalidated, too old, surplus, or failed", async () => {
    const { id } = await makeTemplate(the(), { document: documentWith({ instances: 2, ttl_seconds: 3600 }) });
    const { pool } = the().app.services.database;
    await reconcile();
    await finishAll(id);
    const [oldest, newest] = await workspacesOf(id);

    await pool.query("update workspaces set created_at = created_at - interval '2 hours' where id = $1", [oldest!.id]);
    await reconcile();
    expect(await summary(id)).to.deep.equal(["delete pending", "start running", "start pending"]);
    await finishAll(id);
    expect(await summary(id)).to.deep.equal(["start running", "start running"]);

    await owner().post(`/api/v2/templates/${id}/prebuilds/invalidate`);
    await reconcile();
    expect(await summary(id)).to.deep.equal(["delete pending", "delete pending", "start pending", "start pending"]);
    expect((await workspacesOf(id))[0]!.id).to.equal(newest!.id);
    await finishAll(id);

    const { id: presetId } = await presetOf(id);
    await pool.query("update template_presets set instances = 1 where id = $1", [presetId]);
    await reconcile();
    expect(await summary(id)).to.deep.equal(["start running", "delete pending"]);
    await finishAll(id);

    // A new version replaces them when it is active.
    const { createTemplateVersion } = await owner().graphql(
      `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
      { input: { templateId: id, document: documentWith({ instances: 1 }, 8), activate: true } },
    );
    await reconcile();
    expect(await summary(id)).to.deep.equal(["start running"]);
    await endImport(the(), createTemplateVersion.templateVersion.id);
    await reconcile();
    expect(await summary(id)).to.deep.equal(["delete pending", "start pending"]);
    await finishAll(id);

    // A deletion that fails is not repeated immediately.
    await owner().post(`/api/v2/templates/${id}/prebuilds/invalidate`);
    await reconcile();
    await finishAll(id, "failed");
    await reconcile();
    expect((await summary(id))[0]).to.equal("delete failed");
  });

  it("are not made for a deprecated template, and are deleted", async () => {
    const { id } = await makeTemplate(the(), { document: documentWith({ instances: 1 }) });
    await reconcile();
    await finishAll(id);
    const deprecate = `mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { id } } }`;
    await owner().graphql(deprecate, { input: { templateId: id, deprecationMessage: "Use another." } });
    await reconcile();
    await finishAll(id);
    await reconcile();
    expect(await summary(id)).to.deep.equal([]);
  });

  it("are not made while the setting pauses them, nor deleted", async () => {
    const { id } = await makeTemplate(the(), { document: documentWith({ instances: 1 }) });
    await owner().put(path, { reconciliation_paused: true });
    await reconcile();
    expect(await summary(id)).to.deep.equal([]);
    await owner().put(path, { reconciliation_paused: false });
    await reconcile();
    expect(await summary(id)).to.deep.equal(["start pending"]);
  });

  it("are no longer made for a preset after three failures in a row, until the template has a new version", async () => {
    const admin = await the().user("admin");
    await the().grant(admin, "template-admin");
    const { id, name } = await makeTemplate(the(), { document: documentWith({ instances: 1 }) });
    const fail = async () => {
      await reconcile();
      const starting = (await workspacesOf(id)).find(
        ({ transition, status }) => `${transition} ${status}` === "start pending",
      );
      if (starting) await endBuild(the(), starting.build, "failed");
      return starting !== undefined;
    };
    expect([await fail(), await fail()]).to.deep.equal([true, true]);
    await reconcile();
    await finishAll(id);
    expect((await presetOf(id)).prebuildStatus).to.equal("HEALTHY");
    await owner().post(`/api/v2/templates/${id}/prebuilds/invalidate`);
    expect([await fail(), await fail(), await fail()]).to.deep.equal([true, true, true]);
    expect((await presetOf(id)).prebuildStatus).to.equal("HARD_LIMITED");
    expect(await fail()).to.equal(false);
    const { inboxNotifications } = await the().as(admin).graphql("{ inboxNotifications { nodes { title } } }");
    const titles = inboxNotifications.nodes.map(({ title }) => title);
    expect(titles.filter((title: string) => title === `Prebuilding big of ${name} stopped`)).to.have.length(1);

    const { createTemplateVersion } = await owner().graphql(
      `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
      { input: { templateId: id, document: documentWith({ instances: 1 }, 9), activate: true } },
    );
    await endImport(the(), createTemplateVersion.templateVersion.id);
    await reconcile();
    expect(await summary(id)).to.include("start pending");
  });
});

// Templates and their versions: how they are created, imported, listed, changed, and deleted.
// Reaches for tables: variables are stored nowhere as text, and jobs wait for a daemon with parameters.
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { runJob } from "./support/background.js";
import { countRows, deleteRows, setColumns, setTimes, storedText } from "./support/tables.js";
import { taskDocument } from "./support/tasks.js";
import { insert } from "./support/stage.js";
import { newId } from "./support/ids.js";
import { insertStopped } from "./support/workspaces.js";
import { echo, endImport, type MadeTemplate, makeTemplate, variablesOf } from "./support/templates.js";
import { type Anything, type Client, type Person, sharedWorld, type World } from "./support/world.js";

const missing = "01890000-0000-7000-8000-000000000000";

const fields =
  "id name displayName description icon defaultTtlSeconds activityBumpSeconds autostopDays \
  dormantAfterSeconds deleteAfterSeconds allowUserCancel requireActiveVersion deprecationMessage";
const create = `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) {
  template { ${fields} activeVersion { id } organization { name } creator { username } }
  templateVersion { id name job { id status } isImported } } }`;
const createVersion = `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) {
  template { id } templateVersion { id name } } }`;
const update = `mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { ${fields} } } }`;
const remove = `mutation($id: UUID!) { deleteTemplate(input: { templateId: $id }) { template { id name } } }`;
const activate = `mutation($id: UUID!) { setActiveTemplateVersion(input: { templateVersionId: $id }) {
  template { activeVersion { id } } } }`;
const archive = `mutation($id: UUID!) { archiveTemplateVersion(input: { templateVersionId: $id }) {
  templateVersion { id archivedAt } } }`;
const dryRun = `mutation($input: DryRunTemplateVersionInput!) { dryRunTemplateVersion(input: $input) { provisionerJob { id type } } }`;

/** The import of a version, and whether it has succeeded. */
async function jobOf(w: World, id: string): Promise<Record<string, unknown>> {
  const query = `query($id: UUID!) { templateVersion(id: $id) {
    isImported job { id type status provisioner tags initiatorId fileId error errorCode } } }`;
  const { isImported, job } = (await w.as(w.owner).graphql(query, { id })).templateVersion;
  return { ...job, isImported };
}

const shared = sharedWorld();

describe("templates", () => {
  const w = shared();
  const owner = (): Client => w().as(w().owner);
  const activeOf = async (id: string): Promise<string | undefined> =>
    (await owner().graphql(`query($id: UUID!) { template(id: $id) { activeVersion { id } } }`, { id })).template
      .activeVersion?.id;

  it("are created with a first version, which becomes active when its import succeeds", async () => {
    const input = {
      organization: "default",
      name: "Box",
      document: echo,
      icon: "/box.png",
      autostopDays: ["MONDAY", "SUNDAY", "MONDAY"],
    };
    const { createTemplate } = await owner().graphql(create, { input });
    const { template, templateVersion: version } = createTemplate;
    expect(template).to.deep.include({
      name: "Box",
      icon: "/box.png",
      displayName: "",
      defaultTtlSeconds: 0,
      activityBumpSeconds: 3600,
      autostopDays: ["SUNDAY", "MONDAY"],
      allowUserCancel: true,
      requireActiveVersion: false,
      deprecationMessage: "",
      activeVersion: null,
      organization: { name: "main" },
      creator: { username: w().owner.username },
    });
    expect(version).to.deep.include({ name: "v1", isImported: false });
    expect(version.job.status).to.equal("PENDING");
    expect(await jobOf(w(), version.id)).to.deep.include({
      id: version.job.id,
      type: "TEMPLATE_VERSION_IMPORT",
      status: "PENDING",
      provisioner: "echo",
      tags: { scope: "organization", owner: "" },
      initiatorId: w().owner.id,
    });
    await endImport(w(), version.id);
    expect(await activeOf(template.id)).to.equal(version.id);
    const read = `query($id: UUID!) { template(id: $id) { ${fields} activeVersion { isImported } }
      templateByName(organization: "main", name: "bOX") { id } }`;
    const { template: found, templateByName } = await owner().graphql(read, { id: template.id });
    expect(found).to.deep.include({ name: "Box", activeVersion: { isImported: true } });
    expect(templateByName).to.deep.equal({ id: template.id });
    const taken = await owner().failure(create, { input: { ...input, name: "BOX" } });
    expect(taken.code).to.equal("CONFLICT");
  });

  it("report every fault of the fields and the document together, and store nothing", async () => {
    const document = {
      ...echo,
      color: "red",
      variables: [{ name: "a", type: "number" }],
      resources: [{ name: "x", agents: [{ name: "Main" }] }],
    };
    const input = { organization: "default", name: "me", icon: "nonsense", defaultTtlSeconds: -1, document };
    const failure = await owner().failure(create, { input });
    expect(failure.code).to.equal("BAD_USER_INPUT");
    expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.name",
      "input.icon",
      "input.defaultTtlSeconds",
      "input.document.resources[0].agents[0].name",
      "input.document.resources[0].agents[0].os",
      "input.document.resources[0].agents[0].arch",
      "input.document.color",
    ]);
    for (const wrong of [[], "text", null, 5])
      expect((await owner().failure(create, { input: { ...input, document: wrong } })).code).to.equal("BAD_USER_INPUT");
  });

  it("store equal documents of an organization once, and show them to readers of files only", async () => {
    const document = { ...echo, provisioner: `p-${Date.now()}`, resources: [{ name: "box" }] };
    const made = [await makeTemplate(w(), { document }), await makeTemplate(w(), { document })];
    const jobs = await Promise.all(made.map(({ version }) => jobOf(w(), version)));
    expect(new Set(jobs.map(({ fileId }) => fileId)).size).to.equal(1);
    const read = `query($id: UUID!) { templateVersion(id: $id) { name document template { id } } }`;
    const { templateVersion } = await owner().graphql(read, { id: made[0]!.version });
    expect(templateVersion.document).to.deep.include({
      schema: "steward.template/1",
      provisioner: document.provisioner,
    });
    expect(templateVersion.document.resources[0]).to.deep.include({
      name: "box",
      daily_cost: 0,
      transitions: ["start"],
    });

    const member = w().as(await w().user("reader"));
    const { body } = await member.post("/graphql", { query: read, variables: { id: made[0]!.version } });
    expect(body.data.templateVersion).to.deep.include({ name: "v1", document: null });
    expect(body.errors.map(({ extensions }: Anything) => extensions.code)).to.deep.equal(["FORBIDDEN"]);
  });

  it("are listed to those who may read them, by name and by creation, and searched", async () => {
    const { id: organization } = await w().organization();
    const insider = await w().user("insider", [organization]);
    const names = ["Zebra", "apple", "Mango"];
    for (const name of names)
      await makeTemplate(w(), { organization, name, displayName: name === "apple" ? "Fruit 50%" : "" });
    await makeTemplate(w(), { organization, name: "hidden", everyoneCanUse: false });
    const list = async (client: Client, args: string) =>
      (await client.graphql(`{ templates(${args}) { totalCount nodes { name } pageInfo { endCursor hasNextPage } } }`))
        .templates;
    const filter = `filter: { organization: "${organization}" }`;
    const namesOf = ({ nodes }: { nodes: Array<{ name: string }> }) => nodes.map(({ name }) => name);
    expect(namesOf(await list(owner(), filter))).to.deep.equal(["apple", "hidden", "Mango", "Zebra"]);
    const seen = await list(w().as(insider), filter);
    expect(namesOf(seen)).to.deep.equal(["apple", "Mango", "Zebra"]);
    expect(seen.totalCount).to.equal(3);
    const order = "orderBy: { field: CREATED_AT, direction: DESC }";
    expect(namesOf(await list(owner(), `${filter}, ${order}`))).to.deep.equal(["hidden", "Mango", "apple", "Zebra"]);
    for (const by of ["orderBy: { field: NAME, direction: DESC }", order]) {
      const whole = namesOf(await list(owner(), `${filter}, ${by}`));
      const paged = [] as string[];
      for (let after = "", more = true; more;) {
        const page = await list(owner(), `${filter}, ${by}, first: 1 ${after}`);
        paged.push(...namesOf(page));
        [after, more] = [`after: "${page.pageInfo.endCursor}"`, page.pageInfo.hasNextPage];
      }
      expect(paged).to.deep.equal(whole);
    }
    for (const [search, found] of [
      ["AN", ["Mango"]],
      ["50%", ["apple"]],
      ["5_", []],
      ["hid", []],
    ] as const)
      expect(
        namesOf(await list(w().as(insider), `filter: { search: "${search}", organization: "${organization}" }`)),
        search,
      ).to.deep.equal(found);
    const outsider = w().as(await w().user("outsider"));
    expect(namesOf(await list(outsider, `filter: { search: "mango" }`))).to.deep.equal([]);
    expect((await outsider.failure(`{ templates(${filter}) { totalCount } }`)).code).to.equal("NOT_FOUND");
  });

  it("are changed by fields, with an audit event of what changed", async () => {
    const { id } = await makeTemplate(w());
    const input = { templateId: id, displayName: "New", defaultTtlSeconds: 60, requireActiveVersion: true };
    const { updateTemplate } = await owner().graphql(update, { input });
    expect(updateTemplate.template).to.include({
      displayName: "New",
      defaultTtlSeconds: 60,
      requireActiveVersion: true,
    });
    await owner().graphql(update, { input });
    const { auditEvents } = await owner().graphql(
      `{ auditEvents(filter: { resourceType: "template", resourceId: "${id}", action: UPDATE }) { nodes { diff } } }`,
    );
    expect(auditEvents.nodes.map(({ diff }) => Object.keys(diff))).to.deep.equal([
      ["displayName", "defaultTtlSeconds", "requireActiveVersion"],
      ["activeVersionId"],
    ]);
    const other = await makeTemplate(w());
    expect((await owner().failure(update, { input: { templateId: id, name: other.name } })).code).to.equal("CONFLICT");
  });

  it("that are deprecated get no new workspaces and tasks, and tell the owners of those that they have", async () => {
    const admin = await w().user("admin");
    await w().grant(admin, "template-admin");
    const [ada, eve] = await w().users("ada", "eve");
    const document = taskDocument("http://127.0.0.1:1", { provisioner: "echo" });
    const { id, version } = await makeTemplate(w(), { document });
    const createBox = `mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }`;
    const deprecate = (deprecationMessage: string) =>
      w()
        .as(admin)
        .graphql(update, { input: { templateId: id, deprecationMessage } });
    const told = async (person: Person) =>
      (await w().as(person).get("/api/v2/notifications/inbox")).body.notifications.map(
        ({ content }: { content: string }) => content.split("\n").at(-1),
      );
    const input = { templateId: id, name: "mine" };
    await w().as(ada!).graphql(createBox, { input });

    const { updateTemplate } = await deprecate("Use small.");
    expect(updateTemplate.template).to.include({ deprecationMessage: "Use small." });
    await deprecate("Use medium.");
    expect([await told(ada!), await told(eve!)], "once, and only owners").to.deep.equal([["Use small."], []]);
    const refused = await w()
      .as(ada!)
      .failure(createBox, { input: { ...input, name: "another" } });
    expect(refused.errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.templateId", detail: "The template is deprecated: Use medium." },
    ]);
    const task = await w().as(ada!).post("/api/v2/tasks/me", { template_version_id: version, input: "Build it" });
    expect([task.status, task.body.validations]).to.deep.equal([
      400,
      [{ field: "template_version_id", detail: "The template is deprecated: Use medium." }],
    ]);
    const blank = { input: { templateId: id, deprecationMessage: " " } };
    expect((await w().as(admin).failure(update, blank)).errors[0]!.extensions.validations).to.deep.equal([
      { field: "input.deprecationMessage", detail: "Must not be blank." },
    ]);
    await deprecate("");
    await w()
      .as(ada!)
      .graphql(createBox, { input: { ...input, name: "another" } });
  });

  it("are managed by administrators of templates, and hidden from those who may not use them", async () => {
    const [member, admin] = await w().users("member", "admin");
    await w().grant(admin!, "organization-template-admin");
    const { id, version } = await makeTemplate(w(), {}, { by: admin! });
    const secret = await makeTemplate(w(), { everyoneCanUse: false });
    const as = w().as(member!);
    const input = { organization: "default", name: "mine", document: echo };
    expect((await as.failure(create, { input })).code).to.equal("FORBIDDEN");
    expect((await as.failure(create, { input: { ...input, name: "" } })).code).to.equal("FORBIDDEN");
    for (const [mutation, own, theirs] of [
      [update, { input: { templateId: id } }, { input: { templateId: secret.id } }],
      [remove, { id }, { id: secret.id }],
      [
        createVersion,
        { input: { templateId: id, document: echo } },
        { input: { templateId: secret.id, document: echo } },
      ],
      [activate, { id: version }, { id: secret.version }],
      [archive, { id: version }, { id: secret.version }],
      [dryRun, { input: { templateVersionId: version } }, { input: { templateVersionId: secret.version } }],
    ] as const) {
      expect((await as.failure(mutation, own)).code, mutation).to.equal("FORBIDDEN");
      expect((await as.failure(mutation, theirs)).code, mutation).to.equal("NOT_FOUND");
    }
    const { body } = await as.post("/graphql", {
      query: `{ a: template(id: "${secret.id}") { id } b: template(id: "${missing}") { id } }`,
    });
    const [a, b] = body.errors.map(({ message, extensions }: Anything) => [message, extensions.code]);
    expect(a).to.deep.equal(b);
  });

  it("are deleted only without workspaces, which tells the other administrators", async () => {
    const [admin, member] = await w().users("deleting", "member");
    await w().grant(admin!, "template-admin");
    const { id, name, version } = await makeTemplate(w());
    const workspace = await w().workspace(member!);
    await setColumns(w(), "workspaces", { id: workspace.id }, { template_id: id });
    expect((await owner().failure(remove, { id })).code).to.equal("CONFLICT");
    await setTimes(w(), "workspaces", { id: workspace.id }, { deleted_at: "0 s" });
    const { deleteTemplate } = await owner().graphql(remove, { id });
    expect(deleteTemplate.template).to.deep.equal({ id, name });
    expect((await owner().failure(`{ template(id: "${id}") { id } }`)).code).to.equal("NOT_FOUND");
    expect((await owner().failure(`{ templateVersion(id: "${version}") { id } }`)).code).to.equal("NOT_FOUND");
    await makeTemplate(w(), { name });
    const inbox = async (person: { token: string }) =>
      (await w().as(person).graphql("{ inboxNotifications { nodes { title } } }")).inboxNotifications.nodes.map(
        ({ title }: { title: string }) => title,
      );
    expect(await inbox(admin!)).to.include(`Template ${name} was deleted`);
    expect(await inbox(member!)).to.not.include(`Template ${name} was deleted`);
    expect(await inbox(w().owner)).to.not.include(`Template ${name} was deleted`);
  });

  it("keep their organization from being deleted", async () => {
    const { id: organization } = await w().organization();
    const { id } = await makeTemplate(w(), { organization });
    const removeOrganization = `mutation { deleteOrganization(input: { organization: "${organization}" }) { __typename } }`;
    expect((await owner().failure(removeOrganization)).code).to.equal("CONFLICT");
    await owner().graphql(remove, { id });
    await owner().graphql(removeOrganization);
  });
});

describe("versions of templates", () => {
  const w = shared();
  const owner = (): Client => w().as(w().owner);
  const add = async (templateId: string, input: Record<string, unknown> = {}): Promise<{ id: string; name: string }> =>
    (await owner().graphql(createVersion, { input: { templateId, document: echo, ...input } })).createTemplateVersion
      .templateVersion;
  const activeOf = async (id: string): Promise<string> =>
    (await owner().graphql(`{ template(id: "${id}") { activeVersion { id } } }`)).template.activeVersion.id;

  it("are numbered, unless they are named, and listed newest first", async () => {
    const { id } = await makeTemplate(w());
    const named = await add(id, { name: "v3" });
    const second = await add(id);
    const third = await add(id);
    expect([named.name, second.name, third.name]).to.deep.equal(["v3", "v4", "v5"]);
    expect(
      (await owner().failure(createVersion, { input: { templateId: id, document: echo, name: "v4" } })).code,
    ).to.equal("CONFLICT");
    const wrong = await owner().failure(createVersion, { input: { templateId: id, document: {}, name: "a b" } });
    expect(wrong.errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal([
      "input.name",
      "input.document.schema",
      "input.document.provisioner",
    ]);
    const { template } = await owner().graphql(
      `{ template(id: "${id}") { versions(first: 2) { totalCount nodes { name } pageInfo { endCursor } } } }`,
    );
    expect(template.versions).to.deep.include({ totalCount: 4, nodes: [{ name: "v5" }, { name: "v4" }] });
    const rest = await owner().graphql(
      `{ template(id: "${id}") { versions(after: "${template.versions.pageInfo.endCursor}") { nodes { name } } } }`,
    );
    expect(rest.template.versions.nodes).to.deep.equal([{ name: "v3" }, { name: "v1" }]);
  });

  it("get different numbers when they are created together", async () => {
    const { id } = await makeTemplate(w());
    const made = await Promise.all(Array.from({ length: 8 }, () => add(id)));
    expect(new Set(made.map(({ name }) => name)).size).to.equal(8);
  });

  it("become active when they are imported, if they were created so, and only the newest stays active", async () => {
    const { id, version } = await makeTemplate(w());
    const plain = await add(id);
    await endImport(w(), plain.id);
    expect(await activeOf(id)).to.equal(version);
    const older = await add(id, { activate: true });
    const newer = await add(id, { activate: true });
    await endImport(w(), newer.id);
    expect(await activeOf(id)).to.equal(newer.id);
    await endImport(w(), older.id);
    expect(await activeOf(id)).to.equal(newer.id);
    await owner().graphql(activate, { id: plain.id });
    expect(await activeOf(id)).to.equal(plain.id);
  });

  it("are activated only when imported and not archived, and archived only when not active", async () => {
    const { id, version } = await makeTemplate(w());
    const pending = await add(id);
    expect((await owner().failure(activate, { id: pending.id })).code).to.equal("BAD_USER_INPUT");
    expect((await owner().failure(archive, { id: version })).code).to.equal("CONFLICT");
    const first = (await owner().graphql(archive, { id: pending.id })).archiveTemplateVersion.templateVersion;
    expect(first.archivedAt).to.be.a("string");
    expect((await owner().graphql(archive, { id: pending.id })).archiveTemplateVersion.templateVersion).to.deep.equal(
      first,
    );
    await endImport(w(), pending.id);
    expect((await owner().failure(activate, { id: pending.id })).code).to.equal("BAD_USER_INPUT");
    expect(await activeOf(id)).to.equal(version);
    expect((await owner().failure(activate, { id: missing })).code).to.equal("NOT_FOUND");
  });

  it("store the values of their variables encrypted, and fail immediately without those that are required", async () => {
    const document = {
      ...echo,
      variables: [
        { name: "token", sensitive: true },
        { name: "size", type: "number", default: 3 },
      ],
    };
    const given = [{ name: "token", value: "hush-hush-hush" }];
    const { version } = await makeTemplate(w(), { document, variables: given });
    expect(await jobOf(w(), version)).to.include({ status: "SUCCEEDED", errorCode: null });
    const stored = await storedText(w(), "template_versions", "audit_events");
    expect(stored)
      .to.not.include("hush")
      .and.not.include([...Buffer.from("hush")].join());

    const { version: lacking } = await makeTemplate(w(), { document }, { isImported: false });
    const failed = await jobOf(w(), lacking);
    expect(failed).to.include({ status: "FAILED", errorCode: "REQUIRED_TEMPLATE_VARIABLES", isImported: false });
    expect(failed.error).to.include("token");

    const variables = [{ name: "other", value: "1" }, { name: "size", value: "secret-word" }, ...given, ...given];
    const failure = await owner().failure(create, {
      input: { organization: "default", name: "faulty", document, variables },
    });
    expect(failure.errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal([
      "input.variables[0].name",
      "input.variables[1].value",
      "input.variables[3].name",
    ]);
    expect(JSON.stringify(failure.errors)).to.not.include("secret-word");
  });

  it("keep the values of variables that a new version is not given, unless it could show those that are secret", async () => {
    const secret = "hush-hush-hush";
    const agent = (more: object) => [{ name: "main", os: "linux", arch: "amd64", ...more }];
    const box = (more: object) => [{ name: "box", ...more }];
    const used = box({ agents: agent({ env: { TOKEN: "${var.token}" } }) });
    const documentOf = (more: object = {}, token: object = { sensitive: true }) => ({
      ...echo,
      variables: [
        { name: "token", ...token },
        { name: "image", default: "debian" },
        { name: "size", type: "number", default: 3 },
      ],
      resources: used,
      ...more,
    });
    const given = [
      { name: "token", value: secret },
      { name: "size", value: "7" },
    ];
    const { id, version: first } = await makeTemplate(w(), { document: documentOf(), variables: given });
    const addVersion = async (document: object, variables?: object[]) =>
      (await owner().graphql(createVersion, { input: { templateId: id, document, variables } })).createTemplateVersion
        .templateVersion.id;
    const errorOf = async (version: string) => (await jobOf(w(), version)).error ?? "";
    /** The values that daemons get for a version. */
    const valuesOf = (version: string) => variablesOf(w(), version);
    expect(await valuesOf(first)).to.deep.equal({ token: secret, image: "debian", size: "7" });

    // Another default applies where no user gave a value; a value that has lost its type is not kept.
    const second = await addVersion({
      ...documentOf(),
      variables: [
        { name: "token", sensitive: true },
        { name: "image", default: "alpine" },
        { name: "size", default: "8" },
      ],
    });
    expect(await errorOf(second)).to.equal("");
    expect(await valuesOf(second)).to.deep.equal({ token: secret, image: "alpine", size: "7" });
    const third = await addVersion(documentOf({}, { sensitive: true, type: "bool", default: false }));
    expect(await valuesOf(third)).to.deep.equal({ token: "false", image: "debian", size: "7" });

    const plain = documentOf({}, {});
    const showing: Record<string, object> = {
      plain,
      "plain with a default": documentOf({}, { default: "" }),
      metadata: documentOf({ resources: box({ metadata: [{ key: "a", value: "x ${var.token}", sensitive: true }] }) }),
      "url of an app": documentOf({
        resources: box({ agents: agent({ apps: [{ slug: "a", url: "http://x/${var.token}" }] }) }),
      }),
      directory: documentOf({ resources: box({ agents: agent({ directory: "/${var.token}" }) }) }),
      parameter: documentOf({ parameters: [{ name: "p", default: "${var.token}" }] }),
      source: documentOf({ source: { main: "output x { value = var.token }" } }),
      provisioner: documentOf({ provisioner: "mine" }),
      tags: documentOf({ tags: { scope: "user" } }),
    };
    for (const [what, document] of Object.entries(showing)) {
      await addVersion(documentOf(), given);
      const lacking = await addVersion(document);
      const { errorCode, error } = await jobOf(w(), lacking);
      expect(errorCode, what).to.equal("REQUIRED_TEMPLATE_VARIABLES");
      expect(error, what).to.include("Enter these again").and.include("token");
      expect(await valuesOf(lacking), what).to.not.have.property("token");
      expect(await errorOf(await addVersion(document, given)), what).to.equal("");
    }
    // What is plain stays so.
    await addVersion(plain, given);
    const shown = await addVersion(
      documentOf({ resources: box({ metadata: [{ key: "a", value: "${var.token}" }] }) }, {}),
    );
    expect(await valuesOf(shown)).to.include({ token: secret });
    const fewer = await addVersion({ ...echo, variables: [{ name: "other", default: "x" }] });
    expect(await valuesOf(fewer)).to.deep.equal({ other: "x" });
    expect(await errorOf(await addVersion(documentOf()))).to.include("values of these variables: token.");
  });

  it("show their parameters and presets to all who may use them, and the rest of the document to readers of files", async () => {
    const parameters = [
      {
        name: "size",
        display_name: "Size",
        description: "How large it is.",
        icon: "/size.png",
        default: "small",
        mutable: false,
        options: [
          { name: "Small", value: "small", description: "Cheap." },
          { name: "Large", value: "large" },
        ],
      },
      {
        name: "count",
        type: "number",
        default: 2,
        validation: { min: 1, max: 9.5, monotonic: "increasing", error: "No." },
      },
      { name: "zones", type: "list", validation: undefined },
      { name: "reset", type: "bool", default: false, ephemeral: true },
      { name: "label", default: "a", validation: { regex: "^[a-z]+$" } },
    ];
    const presets = [{ name: "one", parameters: { zones: ["a"] } }];
    const document = { ...echo, parameters, presets };
    const member = await w().user("using");
    const outsider = await w().user("outsider", [(await w().organization()).id]);
    const { id, version } = await makeTemplate(w(), { document });
    const closed = await makeTemplate(w(), { document, everyoneCanUse: false });
    const read = `query($id: UUID!) { templateVersion(id: $id) {
      parameters { name displayName description icon type defaultValue isMutable isEphemeral
        options { name value description icon } validation { regex error min max monotonic } }
      presets { name parameters { name value } } } }`;
    const { templateVersion: seen } = await w().as(member).graphql(read, { id: version });
    const plain = { displayName: "", description: "", icon: "", isMutable: true, isEphemeral: false, options: [] };
    const none = { regex: "", error: "", min: null, max: null, monotonic: null };
    expect(seen.parameters).to.deep.equal([
      {
        name: "size",
        displayName: "Size",
        description: "How large it is.",
        icon: "/size.png",
        type: "STRING",
        defaultValue: "small",
        isMutable: false,
        isEphemeral: false,
        options: [
          { name: "Small", value: "small", description: "Cheap.", icon: "" },
          { name: "Large", value: "large", description: "", icon: "" },
        ],
        validation: null,
      },
      {
        ...plain,
        name: "count",
        type: "NUMBER",
        defaultValue: "2",
        validation: { ...none, error: "No.", min: 1, max: 9.5, monotonic: "INCREASING" },
      },
      { ...plain, name: "zones", type: "LIST", defaultValue: null, validation: null },
      { ...plain, name: "reset", type: "BOOL", defaultValue: "false", isEphemeral: true, validation: null },
      { ...plain, name: "label", type: "STRING", defaultValue: "a", validation: { ...none, regex: "^[a-z]+$" } },
    ]);
    expect(seen.presets).to.deep.equal([{ name: "one", parameters: [{ name: "zones", value: '["a"]' }] }]);

    const scoped = async (...scopes: string[]) => w().as(await w().scoped(member, ...scopes));
    const { templateVersion: narrow } = await (await scoped("template:read")).graphql(read, { id: version });
    expect(narrow).to.deep.equal(seen);
    // Another scope leads to the version, but not to what it says.
    const throughTemplate = `{ template(id: "${id}") { activeVersion { parameters { name } } } }`;
    expect((await (await scoped("workspace:read")).failure(throughTemplate)).code).to.equal("FORBIDDEN");
    for (const [client, hidden] of [
      [w().as(member), closed.version],
      [w().as(outsider), version],
    ] as const)
      expect((await client.failure(read, { id: hidden })).code).to.equal("NOT_FOUND");
    const use = `mutation($input: UpdateTemplateAclInput!) { updateTemplateAcl(input: $input) { __typename } }`;
    const userPerms = [{ id: member.id, role: "use" }];
    await owner().graphql(use, { input: { templateId: closed.id, userPerms } });
    const { templateVersion: known } = await w().as(member).graphql(read, { id: closed.version });
    expect(known).to.deep.equal(seen);
  });

  it("have the JSON Schema of their documents for editors of any origin, without a credential", async () => {
    const path = "/schemas/steward.template-1.json";
    const { status, headers, body } = await w().nobody.get(path, { Origin: "https://editor.example.com" });
    expect(status).to.equal(200);
    expect(headers.get("content-type")).to.match(/^application\/schema\+json/);
    expect(headers.get("access-control-allow-origin")).to.equal("*");
    const schema = body;
    expect(schema.$id).to.equal(`${w().app.services.config.accessUrl}${path}`);
    const isValid = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
    const document = { $schema: schema.$id, ...taskDocument("http://127.0.0.1:1") };
    expect(isValid(document), JSON.stringify(isValid.errors)).to.equal(true);
    expect(isValid({ ...document, color: "red" })).to.equal(false);
    const { id } = await makeTemplate(w(), { document });
    expect(id).to.be.a("string");
    expect((await w().nobody.get("/schemas/steward.template-2.json")).status).to.equal(404);
    expect((await w().nobody.post(path)).status).to.equal(405);
  });

  it("have presets, and are tried out with parameters", async () => {
    const document = {
      ...echo,
      tags: { scope: "user", zone: "a" },
      parameters: [{ name: "size", type: "number", default: 1 }, { name: "needed" }],
      presets: [
        { name: "Small", parameters: { needed: "x" }, default: true },
        { name: "Big", parameters: { size: 9, needed: "y" }, prebuilds: { instances: 2, ttl_seconds: 60 } },
      ],
    };
    const { id, version } = await makeTemplate(w(), { document });
    const { template } = await owner().graphql(`{ template(id: "${id}") { activeVersion { presets {
      id name isDefault prebuildInstances prebuildTtlSeconds prebuildStatus lastInvalidatedAt parameters { name value } } } } }`);
    const presets = template.activeVersion.presets;
    expect(presets.map(({ name }) => name)).to.deep.equal(["Big", "Small"]);
    expect(presets[0]).to.deep.include({
      isDefault: false,
      prebuildInstances: 2,
      prebuildTtlSeconds: 60,
      prebuildStatus: "HEALTHY",
      lastInvalidatedAt: null,
    });
    expect(presets[0]!.parameters).to.have.deep.members([
      { name: "size", value: "9" },
      { name: "needed", value: "y" },
    ]);
    expect(presets[1]).to.include({ isDefault: true, prebuildInstances: 0, prebuildTtlSeconds: null });

    const run = (input: Record<string, unknown>) => ({ input: { templateVersionId: version, ...input } });
    const { dryRunTemplateVersion } = await owner().graphql(
      dryRun,
      run({ presetId: presets[0]!.id, parameters: [{ name: "size", value: "4" }] }),
    );
    const job = {
      id: dryRunTemplateVersion.provisionerJob.id,
      type: "template_version_dry_run",
      version_id: version,
      parameters: { size: "4", needed: "y" },
      tags: { scope: "user", zone: "a", owner: w().owner.id },
    };
    expect(await countRows(w(), "provisioner_jobs", job)).to.equal(1);
    const failure = await owner().failure(
      dryRun,
      run({ presetId: missing, parameters: [{ name: "size", value: "x" }] }),
    );
    expect(failure.errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal([
      "input.presetId",
      "input.parameters.size",
      "input.parameters.needed",
    ]);
  });

  it("are named by how many workspaces they have, those with the most first", async () => {
    const query = `query($organization: String!) { mostUsedTemplates(organization: $organization) {
      workspaceCount runningCount template { id name } } }`;
    const { id: organization } = await w().organization();
    const read = async () => (await owner().graphql(query, { organization })).mostUsedTemplates;
    expect(await read()).to.deep.equal([]);
    const templates: MadeTemplate[] = [];
    for (let count = 1; count <= 7; count++) templates.push(await makeTemplate(w(), { organization }));
    // The first has no workspace, each other one more than the one before.
    const made: string[] = [];
    for (const [count, { version }] of templates.entries())
      for (let nr = 0; nr < count; nr++) made.push(await insertStopped(w(), w().owner.id, version));
    const last = made.at(-1)!;
    await setColumns(w(), "workspaces", { id: last }, { latest_status: "running" });
    // Prebuilt workspaces without an owner count for none.
    const presetId = newId();
    await insert(w(), {
      template_presets: [
        { id: presetId, version_id: templates[0]!.version, name: "small", created_at: "now", parameters: {} },
      ],
    });
    for (let nr = 0; nr < 9; nr++) {
      const id = await insertStopped(w(), w().owner.id, templates[0]!.version);
      await setColumns(w(), "workspaces", { id }, { prebuilt_preset_id: presetId });
    }
    const used = (at: number, runningCount = 0, workspaceCount = at) => ({
      workspaceCount,
      runningCount,
      template: { id: templates[at]!.id, name: templates[at]!.name },
    });
    const expected = [used(6, 1), used(5), used(4), used(3), used(2)];
    expect(await read()).to.deep.equal(expected);
    // Replicas add up what has changed, each of it once.
    await Promise.all([1, 2, 3].map(() => runJob(w().app, "templateUseJob")));
    expect(await countRows(w(), "workspace_changes", { template_id: templates.map(({ id }) => id) })).to.equal(0);
    expect(await read(), "after they are added up").to.deep.equal(expected);
    await setColumns(w(), "workspaces", { id: last }, { latest_status: "stopping" });
    await setColumns(w(), "workspaces", { id: made[0] }, { latest_status: "running" });
    expect(await read(), "after changes").to.deep.equal([used(6), used(5), used(4), used(3), used(2)]);
    await setColumns(w(), "workspaces", { prebuilt_preset_id: presetId }, { prebuilt_preset_id: null });
    expect((await read())[0], "after prebuilt ones have owners").to.deep.equal(used(0, 0, 9));
    await deleteRows(w(), "workspaces", { template_id: templates[0]!.id });
    await runJob(w().app, "templateUseJob");
    await setTimes(w(), "workspaces", { template_id: templates[6]!.id }, { deleted_at: "0 s" });
    expect(await read(), "after deletions").to.deep.equal([used(5), used(4), used(3), used(2), used(1, 1)]);
  });
});

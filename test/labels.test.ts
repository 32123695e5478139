// Labels: what people name is one line without what terminals and pages obey; what other systems name is cleaned.
// Reaches for tables: an upgrade finds labels of an earlier release.
import { expect } from "chai";
import { fillIn } from "./support/backfills.js";
import { controls } from "./support/hostile-steward.js";
import { connect, disconnect, logged, reported, visit } from "./support/connections.js";
import { newId } from "./support/ids.js";
import { newKey, serve } from "./support/provisioners.js";
import { makeProxy } from "./support/proxies.js";
import { someFor } from "./support/repeats.js";
import { setColumns } from "./support/tables.js";
import { type Anything, startWorld, type World } from "./support/world.js";

/** Characters that a text may have at all. */
const storable = controls.filter((each) => each !== "\u0000");

describe("labels", () => {
  let w: World;
  before(async () => {
    w = await startWorld();
  });
  after(() => w.close());

  const textOf = (name: string) =>
    `mutation($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`;

  it("that people choose have none of these characters, and may have the marks of names", async () => {
    const document = (part: object) => ({
      schema: "steward.template/1",
      provisioner: "echo",
      resources: [{ name: "box" }],
      ...part,
    });
    const option = (name: string) => ({ name: "size", options: [{ name, value: "a" }] });
    const agent = (part: object) => ({ name: "main", os: "linux", arch: "amd64", command: ["true"], ...part });
    type Case = [what: string, mutation: string, input: (label: string) => object];
    const own: Case[] = [
      ["the name of a person", "updateUser", (name) => ({ user: w.owner.username, name })],
      ["a token", "createApiKey", (name) => ({ name })],
      ["an organization", "createOrganization", (displayName) => ({ name: "one", displayName })],
      ["a group", "createGroup", (displayName) => ({ organization: "default", name: "one", displayName })],
      ["an application", "createOAuth2App", (name) => ({ name, callbackUrl: "https://app.example.com/back" })],
      ["a notification", "sendCustomNotification", (title) => ({ content: { title, message: "" } })],
      ["the deployment", "updateAppearance", (applicationName) => ({ applicationName })],
      ["a secret", "createUserSecret", (name) => ({ name, value: "x" })],
    ];
    const parts: Record<string, (label: string) => object> = {
      "a resource": (name: string) => ({ resources: [{ name }] }),
      "a preset": (name: string) => ({ presets: [{ name }] }),
      "a parameter": (display_name: string) => ({ parameters: [{ name: "size", default: "", display_name }] }),
      "an option": (name: string) => ({ parameters: [{ ...option(name), default: "a" }] }),
      "an app": (display_name: string) => ({
        resources: [
          { name: "box", agents: [agent({ apps: [{ slug: "web", url: "http://localhost:1", display_name }] })] },
        ],
      }),
    };
    const inDocuments = Object.entries(parts).map(([what, part]): Case => {
      const input = (label: string) => ({ organization: "default", name: "one", document: document(part(label)) });
      return [what, "createTemplate", input];
    });
    const fields = [...own, ...inDocuments];
    for (const [place, [what, mutation, input]] of fields.entries())
      for (const control of someFor(place, 4, storable)) {
        const code = `${what} with U+${control.charCodeAt(0).toString(16)}`;
        const failure = await w.as(w.owner).failure(textOf(mutation), { input: input(`a${control}b`) });
        expect(JSON.stringify(failure), code).to.match(/control characters|white space/i);
      }
    const marked = "a\u200eb\u200fc\u061cd\u200de";
    await w.as(w.owner).graphql(textOf("createApiKey"), { input: { name: marked } });
  });

  it("of prompts, registrations, and sources of SCIM are cleaned", async () => {
    const label = `a${storable.join("b")}c`;
    const client = await fetch(`${w.url}/oauth2/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        client_name: label,
        software_id: label,
        redirect_uris: ["http://127.0.0.1:1/back"],
        token_endpoint_auth_method: "none",
      }),
    });
    const registered = (await client.json()) as Anything;
    expect(client.status, JSON.stringify(registered)).to.equal(201);
    for (const name of ["client_name", "software_id"])
      for (const control of storable) expect(registered[name].includes(control), name).to.equal(false);
  });

  /** Fills in the values of rows from before a migration. */
  const upgrade = async (migration: string) => {
    for (;;) {
      const counts = await fillIn(w, migration);
      if (counts.every((count) => count === 0)) break;
    }
  };

  it("of an earlier release are cleaned by the upgrade, with a number where two become equal", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    await setColumns(w, "users", { id: ada!.id }, { name: "A\u001b[31mda\u202e Love\u009blace\u2028" });
    const names = ["one", "o\u202ene", "on\u2066e", "\u009b", "\u009b\u001b"];
    for (const name of names) {
      const { createApiKey } = await w
        .as(bob!)
        .graphql("mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }", {
          input: { name: `k${names.indexOf(name)}` },
        });
      await setColumns(w, "api_keys", { id: createApiKey.apiKey.id }, { name });
    }
    await upgrade("0093-clean-labels");
    const { user } = await w.as(w.owner).graphql(`{ user(user: "${ada!.id}") { name } }`);
    expect(user.name).to.equal("A [31mda Love lace");
    const { apiKeys } = await w.as(bob!).graphql("{ apiKeys(kind: TOKEN) { name } }");
    expect(apiKeys.map(({ name }: { name: string }) => name)).to.have.members([
      "one",
      "one-2",
      "one-3",
      "unnamed",
      "unnamed-2",
    ]);
  });

  it("that machines reported to an earlier release are cleaned by the upgrade", async () => {
    const [ada] = await w.users("ada");
    const workspace = await w.workspace(ada!);
    const session = newId();
    await reported(w, workspace.agent, connect(session), disconnect(session, { disconnectReason: "Gone" }));
    await setColumns(
      w,
      "connection_log",
      { connection_id: session },
      { disconnect_reason: "G\u001b[2Jone\u202e", user_agent: "\u009bA\nB" },
    );
    await setColumns(w, "audit_log", { resource_type: "workspace" }, { resource_label: "\u001b]8;;x\u0007box" });
    await upgrade("0096-clean-reports");
    const { connection_logs } = await logged(w, `workspace_id:${workspace.id}`);
    expect(connection_logs[0].ssh_info.disconnect_reason).to.equal("G [2Jone");
    const { nodes } = (
      await w
        .as(w.owner)
        .graphql(`{ auditEvents(filter: { resourceType: "workspace" }, first: 9) { nodes { resourceLabel } } }`)
    ).auditEvents;
    for (const { resourceLabel } of nodes) expect(resourceLabel).to.equal("]8;;x box");
  });

  it("that machines report are cleaned", async () => {
    const [ada] = await w.users("ada");
    const { id, agent } = await w.workspace(ada!);
    const hostile = `a${storable.join("b")}c`.slice(0, 60);
    const session = newId();
    await reported(w, agent, connect(session), disconnect(session, { disconnectReason: hostile }));
    const startup = `mutation($version: String!) {
      reportAgentStartup(input: { version: $version, expandedDirectory: "/" }) { agent { version } } }`;
    const headers = { "Service-Session-Token": agent.token };
    const { body } = await w.nobody.post("/graphql", { query: startup, variables: { version: hostile } }, headers);
    const proxy = await makeProxy(w, "eu");
    await reported(w, proxy, visit(id, { userAgent: hostile }));
    const read = await w.as(w.owner).graphql(
      `{ connectionLogs(q: "workspace_id:${id}") { nodes { sshInfo { disconnectReason } webInfo { userAgent } } }
      }`,
    );
    const texts = [
      body.data.reportAgentStartup.agent.version,
      ...read.connectionLogs.nodes.map(({ sshInfo, webInfo }) => webInfo?.userAgent ?? sshInfo.disconnectReason),
    ];
    expect(texts).to.have.length(3);
    for (const text of texts) {
      expect(text).to.match(/^ab? b/);
      expect(
        storable.filter((control) => text.includes(control)),
        JSON.stringify(text),
      ).to.deep.equal([]);
    }
  });

  it("in documents of an earlier release are cleaned when they are read, so that their versions still build", async () => {
    const agents = [
      {
        name: "main",
        os: "linux",
        arch: "amd64",
        command: ["true"],
        apps: [{ slug: "web", url: "http://localhost:1", display_name: "Web", group: "Sites" }],
        scripts: [{ display_name: "Prepare", script: "true", run_on_start: true }],
      },
    ];
    const document = {
      schema: "steward.template/1",
      provisioner: "old",
      parameters: [
        { name: "size", display_name: "Size", default: "a", options: [{ name: "One", value: "a" }] },
        { name: "place", default: "" },
      ],
      resources: [
        { name: "box", type: "machine", metadata: [{ key: "Region", value: "north" }], agents },
        { name: "box-3" },
        { name: "other" },
      ],
    };
    const daemon = (await serve(w.app, { key: await newKey(w), query: "provisioner=old" })).work();
    try {
      const { createTemplate } = await w.as(w.owner).graphql(
        `mutation($input: CreateTemplateInput!) {
           createTemplate(input: $input) { template { id } templateVersion { id } } }`,
        { input: { organization: "default", name: "old", document } },
      );
      const imported = await daemon.job(0);
      await daemon.call("acceptProvisionerJob", imported);
      await daemon.call("reportProvisionerResources", imported, { resources: imported.assignment.document.resources });
      await daemon.call("completeProvisionerJob", imported);

      // As the document is in the database of an earlier release, whose labels could have all of these.
      const stored = imported.assignment.document;
      const spoil = (text: string) => `\u001b[31m${text}\u202e\u009b`;
      const [box, numbered, other] = stored.resources as Anything[];
      const [agent] = box.agents as Anything[];
      const old = {
        ...stored,
        parameters: [
          {
            ...stored.parameters[0],
            display_name: spoil("Size"),
            options: [{ ...stored.parameters[0].options[0], name: spoil("One") }],
          },
          stored.parameters[1],
        ],
        resources: [
          {
            ...box,
            name: "b\u0007ox",
            type: spoil("machine"),
            metadata: [{ ...box.metadata[0], key: "\u009b" }],
            agents: [
              {
                ...agent,
                apps: [{ ...agent.apps[0], display_name: spoil("Web"), group: "\u2066" }],
                scripts: [{ ...agent.scripts[0], display_name: spoil("Prepare") }],
              },
            ],
          },
          { ...numbered, name: "b ox" },
          { ...other, name: "b\u2028ox" },
        ],
      };
      const version = createTemplate.templateVersion.id;
      const { templateVersion } = await w.as(w.owner).graphql(`{ templateVersion(id: "${version}") { document } }`);
      expect(templateVersion.document.resources.map(({ name }: Anything) => name)).to.deep.equal([
        "box",
        "box-3",
        "other",
      ]);
      await setColumns(w, "template_documents", {}, { content: JSON.stringify(old) });

      const read = await w
        .as(w.owner)
        .graphql(`{ templateVersion(id: "${version}") { document parameters { displayName options { name } } } }`);
      expect(read.templateVersion.parameters).to.deep.include({
        displayName: "[31mSize",
        options: [{ name: "[31mOne" }],
      });
      const names = ["b ox-2", "b ox", "b ox-3"];
      expect(read.templateVersion.document.resources.map(({ name }: Anything) => name)).to.deep.equal(names);

      const create = `mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }`;
      const made: string[] = [];
      for (const [nr, name] of ["of-the-document", "as-before-the-upgrade"].entries()) {
        const { createWorkspace } = await w
          .as(w.owner)
          .graphql(create, { input: { templateId: createTemplate.template.id, name } });
        made.push(createWorkspace.workspace.id);
        const job = await daemon.job(nr + 1);
        await daemon.call("acceptProvisionerJob", job);
        const assigned = job.assignment.document;
        expect(JSON.stringify(assigned)).to.not.match(/\\u00[019]|[\u0080-\u009f\u2028-\u202e\u2066-\u2069]/);
        expect(assigned.resources[0]).to.deep.include({
          name: "b ox-2",
          type: "[31mmachine",
          metadata: [{ ...box.metadata[0], key: "unnamed" }],
        });
        expect(assigned.resources[0].agents[0].apps[0]).to.include({ display_name: "[31mWeb", group: "" });
        // The second daemon got the document before the upgrade.
        await daemon.call("reportProvisionerResources", job, { resources: (nr === 0 ? assigned : old).resources });
        await daemon.call("completeProvisionerJob", job);
        const { workspace } = await w
          .as(w.owner)
          .graphql(
            `{ workspace(id: "${createWorkspace.workspace.id}") { status latestBuild { resources { name type } } } }`,
          );
        expect(workspace.status).to.equal("RUNNING");
        expect(workspace.latestBuild.resources.map((each) => each.name)).to.deep.equal(names);
      }

      // As an earlier release has stored resources.
      await setColumns(
        w,
        "workspace_resources",
        { name: names[0] },
        {
          name: "b\u001box-3",
          type: spoil("machine"),
          metadata: JSON.stringify([
            { key: "Reg\u2028ion", value: "north", sensitive: false },
            { key: "\u009b", value: "2", sensitive: false },
          ]),
        },
      );
      await setColumns(w, "workspace_apps", {}, { group_name: spoil("Sites") });
      await upgrade("0096-clean-reports");
      for (const id of made) {
        const { workspace } = await w.as(w.owner).graphql(
          `{ workspace(id: "${id}") { latestBuild {
               resources { name type metadata { key } agents { apps { group } } } } } }`,
        );
        const [first, ...others] = workspace.latestBuild.resources as Anything[];
        expect([first.name, ...others.map((each) => each.name)]).to.deep.equal(["b ox-3-2", "b ox", "b ox-3"]);
        expect([first.type, first.metadata.map(({ key }: Anything) => key)]).to.deep.equal([
          "[31mmachine",
          ["Reg ion", "unnamed"],
        ]);
        expect(first.agents[0].apps[0].group).to.equal("[31mSites");
      }
    } finally {
      await daemon.leave();
    }
  });
});

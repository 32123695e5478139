// The compiled program records what is done: a bundler renames classes, so that what the sources record may be missing there.
// Every kind of resource of which the sources write audit events has a story here, which the program plays.
// Reaches for tables: the kinds are those of the sources; rows are inserted for what takes other systems.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, printSchema } from "graphql";
import { ownerPassword } from "../support/app.js";
import { audited } from "../support/audit.js";
import { startCompiled } from "../support/compiled.js";
import { externalAuth, ExternalService, link } from "../support/external-services.js";
import { trusting, Vendor } from "../support/licensing.js";
import { insertGrant, makeApp } from "../support/oauth2.js";
import { newKey, serve } from "../support/provisioners.js";
import { setColumns } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { Client, type World } from "../support/world.js";

const root = new URL("../..", import.meta.url).pathname;

/** The text of all files of the domain. */
const sources = readdirSync(join(root, "src/domain"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(join(root, "src/domain", path), "utf8"));

/** The texts that the first group of a pattern finds in the sources, each once, in order. */
const found = (pattern: RegExp) =>
  [...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!)))].toSorted();

/** The entities whose flushed changes are recorded. */
const entities = () => found(/\bauditChangesOf\((\w+),/g);

/** The types of resources in audit events. SCIM has types of its own in its documents. */
const types = () => found(/\b(?:auditedAs\(|resourceType: )"([a-z][a-z0-9_]*)"/g);

interface Story {
  /** The entity whose changes a flush records. */
  entity?: string;
  /** The actions that are found of one resource afterwards. */
  actions: string[];
  /** Does it all. Returns the id of the resource that the events name, if they name one. */
  play: (w: World) => Promise<string | undefined>;
}

/** Runs a mutation with an input as the owner, or as another client. Returns its payload. */
async function change(w: World, name: string, input: object, selection = "__typename", by?: Client) {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input!`;
  const document = `mutation($input: ${type}) { ${name}(input: $input) { ${selection} } }`;
  return (await (by ?? w.as(w.owner)).graphql(document, { input }))[name];
}

const document = {
  schema: "steward.template/1",
  provisioner: "stage",
  ai_task: { agent: "main", app: "chat" },
  resources: [
    {
      name: "box",
      agents: [
        {
          name: "main",
          os: "linux",
          arch: "amd64",
          command: ["true"],
          apps: [{ slug: "chat", url: "http://localhost:1" }],
        },
      ],
    },
  ],
};

const flush = ["create", "update", "delete"];

/** Accounts that are not used elsewhere. */
let made = 0;
const account = () => ({ username: `person-${++made}`, email: `person-${made}@example.com`, password: ownerPassword });

const newUser = async (w: World): Promise<{ id: string; email: string }> =>
  (await change(w, "createUser", { ...account(), organizationIds: [w.defaultOrganization] }, "user { id email }")).user;

const signedIn = async (w: World, email: string) => new Client(w.url, await w.login(email, ownerPassword));

/** A template whose version is imported by a daemon, which has then left. */
async function newTemplate(w: World, name: string): Promise<{ template: string; version: string; job: string }> {
  const daemon = (await serve(w.app, { key: await newKey(w), query: `provisioner=stage-${name}&name=${name}` })).work();
  try {
    const input = { organization: "default", name, document: { ...document, provisioner: `stage-${name}` } };
    const { template, templateVersion } = await change(
      w,
      "createTemplate",
      input,
      "template { id } templateVersion { id }",
    );
    const job = await daemon.job(0);
    await daemon.call("acceptProvisionerJob", job);
    await daemon.call("reportProvisionerResources", job, { resources: job.assignment.document.resources });
    await daemon.call("completeProvisionerJob", job);
    return { template: template.id as string, version: templateVersion.id as string, job: job.jobId };
  } finally {
    await daemon.leave();
  }
}

/** Pauses a task, as if its build had ended. */
async function pausedTask(w: World, { id, workspace }: { id: string; workspace: { id: string } }): Promise<void> {
  await setColumns(w, "provisioner_jobs", { type: "workspace_build" }, { status: "failed", completed_at: "now" });
  await setColumns(w, "workspaces", { id: workspace.id }, { latest_status: "stopped", latest_transition: "stop" });
  await setColumns(w, "tasks", { id }, { status: "paused" });
}

/** A site setting, whose events name no resource or the setting itself. */
const setting = (mutation: string, input: object): Story => ({
  actions: ["update"],
  play: async (w) => {
    await change(w, mutation, input);
    return undefined;
  },
});

const stories: Record<string, Story> = {
  user: {
    entity: "User",
    actions: ["create", "update", "login", "delete"],
    play: async (w) => {
      const user = await newUser(w);
      await signedIn(w, user.email);
      await change(w, "updateUser", { user: user.id, name: "Ada" });
      await change(w, "deleteUser", { user: user.id });
      return user.id;
    },
  },
  invitation: {
    actions: ["create", "revoke"],
    play: async (w) => {
      const input = { email: "invited@example.com", delivery: "LINK" };
      const { invitation } = await change(w, "inviteUser", input, "invitation { id }");
      await change(w, "revokeInvitation", { id: invitation.id });
      return invitation.id;
    },
  },
  organization: {
    entity: "Organization",
    actions: flush,
    play: async (w) => {
      const { organization } = await change(w, "createOrganization", { name: "acme" }, "organization { id }");
      await change(w, "updateOrganization", { organization: organization.id, description: "Makes it all." });
      await change(w, "deleteOrganization", { organization: organization.id });
      return organization.id;
    },
  },
  organization_member: {
    actions: flush,
    play: async (w) => {
      const { id } = await newUser(w);
      const member = { organization: (await w.organization()).id, user: id };
      await change(w, "addOrganizationMember", member);
      await change(w, "setOrganizationMemberRoles", { ...member, roles: ["ORGANIZATION_AUDITOR"] });
      await change(w, "removeOrganizationMember", member);
      return id;
    },
  },
  group: {
    entity: "Group",
    actions: flush,
    play: async (w) => {
      const { group } = await change(w, "createGroup", { organization: "default", name: "builders" }, "group { id }");
      await change(w, "updateGroup", { group: group.id, displayName: "Builders" });
      await change(w, "deleteGroup", { group: group.id });
      return group.id;
    },
  },
  group_ai_budget: {
    entity: "Budget",
    actions: flush,
    play: async (w) => {
      const { id } = await w.group();
      for (const spendLimitMicros of [5, 7]) await change(w, "setGroupAiBudget", { group: id, spendLimitMicros });
      await change(w, "deleteGroupAiBudget", { group: id });
      return id;
    },
  },
  template: {
    entity: "Template",
    actions: flush,
    play: async (w) => {
      const { template } = await newTemplate(w, "one");
      await change(w, "updateTemplate", { templateId: template, description: "One." });
      await change(w, "deleteTemplate", { templateId: template });
      return template;
    },
  },
  template_version: {
    actions: ["create", "update"],
    play: async (w) => {
      const { template } = await newTemplate(w, "versions");
      const input = { templateId: template, document: { ...document, provisioner: "absent" } };
      const { templateVersion } = await change(w, "createTemplateVersion", input, "templateVersion { id }");
      await change(w, "archiveTemplateVersion", { templateVersionId: templateVersion.id });
      return templateVersion.id;
    },
  },
  provisioner_job: {
    actions: ["create", "update"],
    play: async (w) => {
      const { version } = await newTemplate(w, "dry");
      const { provisionerJob } = await change(
        w,
        "dryRunTemplateVersion",
        { templateVersionId: version },
        "provisionerJob { id }",
      );
      await change(w, "cancelProvisionerJob", { job: provisionerJob.id });
      return provisionerJob.id;
    },
  },
  provisioner_key: {
    actions: flush,
    play: async (w) => {
      const key = { organization: "default", name: "key-of-the-story" };
      const { provisionerKey } = await change(w, "createProvisionerKey", key, "provisionerKey { id }");
      await change(w, "rotateProvisionerKey", { ...key, overlapSeconds: 60 });
      await change(w, "deleteProvisionerKey", key);
      return provisionerKey.id;
    },
  },
  provisioner_daemon: {
    actions: ["delete"],
    play: async (w) => {
      const daemon = await serve(w.app, { key: await newKey(w), query: "provisioner=stage&name=to-be-deleted" });
      const { provisionerDaemons } = await w
        .as(w.owner)
        .graphql(`{ provisionerDaemons(organization: "default") { id name } }`);
      const { id } = provisionerDaemons.find(({ name }) => name === "to-be-deleted")!;
      await change(w, "deleteProvisionerDaemon", { id });
      daemon.close();
      return id;
    },
  },
  workspace: {
    entity: "Workspace",
    actions: ["create", "update", "delete"],
    play: async (w) => {
      const { template } = await newTemplate(w, "places");
      const { workspace } = await change(
        w,
        "createWorkspace",
        { templateId: template, name: "place" },
        "workspace { id }",
      );
      await change(w, "updateWorkspace", { workspace: workspace.id, name: "other-place" });
      await setColumns(w, "workspaces", { id: workspace.id }, { latest_status: "failed" });
      await setColumns(w, "provisioner_jobs", { type: "workspace_build" }, { status: "failed", completed_at: "now" });
      await change(w, "deleteWorkspace", { workspace: workspace.id, orphan: true });
      return workspace.id;
    },
  },
  workspace_agent: {
    actions: ["deliver"],
    play: async (w) => {
      const { agent } = await w.workspace(w.owner);
      await new Client(w.url, agent.token).graphql("{ agentManifest { agentName } }");
      return agent.id;
    },
  },
  resource_alert: {
    actions: ["create"],
    play: async (w) => {
      const { id, agent } = await w.workspace(w.owner);
      const alert = { resource: "MEMORY", threshold: 90 };
      await change(w, "reportAgentResourceAlert", alert, "__typename", new Client(w.url, agent.token));
      return id;
    },
  },
  workspace_proxy: {
    entity: "WorkspaceProxy",
    actions: flush,
    play: async (w) => {
      const { workspaceProxy } = await change(w, "createWorkspaceProxy", { name: "north" }, "workspaceProxy { id }");
      await change(w, "updateWorkspaceProxy", { workspaceProxy: workspaceProxy.id, displayName: "North" });
      await change(w, "deleteWorkspaceProxy", { workspaceProxy: workspaceProxy.id });
      return workspaceProxy.id;
    },
  },
  task: {
    actions: ["create", "update", "delete"],
    play: async (w) => {
      const { version } = await newTemplate(w, "tasks");
      const { task } = await change(
        w,
        "createTask",
        { templateVersionId: version, input: "Add it." },
        "task { id workspace { id } }",
      );
      await pausedTask(w, task);
      await change(w, "updateTaskInput", { task: task.id, input: "Add the other." });
      await change(w, "deleteTask", { task: task.id });
      return task.id;
    },
  },
  task_input: {
    actions: ["create", "update"],
    play: async (w) => {
      const { version } = await newTemplate(w, "inputs");
      const { task } = await change(
        w,
        "createTask",
        { templateVersionId: version, input: "Add it." },
        "task { id workspace { id } }",
      );
      await pausedTask(w, task);
      const input = { task: task.id, input: "And this.", resume: true };
      const { taskInput } = await change(w, "sendTaskInput", input, "taskInput { id }");
      await change(w, "cancelTaskInput", { id: taskInput.id });
      return taskInput.id;
    },
  },
  user_secret: {
    entity: "UserSecret",
    actions: flush,
    play: async (w) => {
      const { userSecret } = await change(w, "createUserSecret", { name: "story", value: "v" }, "userSecret { id }");
      await change(w, "updateUserSecret", { name: "story", value: "w" });
      await change(w, "deleteUserSecret", { name: "story" });
      return userSecret.id;
    },
  },
  scim_key: {
    entity: "ScimKey",
    actions: ["create", "update", "revoke"],
    play: async (w) => {
      const { scimKey } = await change(w, "createScimKey", { name: "okta", source: "okta" }, "scimKey { id }");
      await change(w, "updateScimKey", { id: scimKey.id, name: "entra" });
      await change(w, "revokeScimKey", { id: scimKey.id });
      return scimKey.id;
    },
  },
  event_endpoint: {
    entity: "EventEndpoint",
    actions: flush,
    play: async (w) => {
      const input = { organization: "default", name: "story", url: "https://events.example.com/" };
      const { eventEndpoint } = await change(w, "createEventEndpoint", input, "eventEndpoint { id }");
      await change(w, "updateEventEndpoint", { id: eventEndpoint.id, name: "other" });
      await change(w, "deleteEventEndpoint", { id: eventEndpoint.id });
      return eventEndpoint.id;
    },
  },
  sign_in_provider: {
    entity: "SignInProvider",
    actions: flush,
    play: async (w) => {
      const input = { name: "story", kind: "OIDC", issuer: "https://id.example.com", clientId: "x", clientSecret: "y" };
      const { identityProvider } = await change(w, "createIdentityProvider", input, "identityProvider { id }");
      await change(w, "updateIdentityProvider", { provider: "story", displayName: "Story", clientSecret: "z" });
      await change(w, "deleteIdentityProvider", { provider: "story" });
      return identityProvider.id;
    },
  },
  oauth2_app: {
    entity: "OAuth2Client",
    actions: flush,
    play: async (w) => {
      const input = { name: "Diary", callbackUrl: "https://diary.example.com/" };
      const { oauth2App } = await change(w, "createOAuth2App", input, "oauth2App { id }");
      await change(w, "updateOAuth2App", { id: oauth2App.id, name: "Calendar" });
      await change(w, "deleteOAuth2App", { id: oauth2App.id });
      return oauth2App.id;
    },
  },
  oauth2_app_secret: {
    actions: ["create", "delete"],
    play: async (w) => {
      const app = await makeApp(w);
      const { oauth2AppSecret } = await change(w, "createOAuth2AppSecret", { app: app.id }, "oauth2AppSecret { id }");
      await change(w, "deleteOAuth2AppSecret", { app: app.id, id: oauth2AppSecret.id });
      return oauth2AppSecret.id;
    },
  },
  oauth2_grant: {
    actions: ["revoke"],
    play: async (w) => {
      const app = await makeApp(w);
      const grant = await insertGrant(w, w.owner.id, app.id, {});
      await change(w, "revokeOAuth2Grant", { id: grant.id });
      return grant.id;
    },
  },
  api_key: {
    actions: ["create", "update", "revoke"],
    play: async (w) => {
      const { apiKey } = await change(w, "createApiKey", { name: "story" }, "apiKey { id }");
      await change(w, "updateApiKey", { id: apiKey.id, name: "other-story" });
      await change(w, "revokeApiKey", { id: apiKey.id });
      return apiKey.id;
    },
  },
  license: {
    actions: ["create", "delete"],
    play: async (w) => {
      const { license } = await change(w, "addLicense", { license: await vendor.license() }, "license { id }");
      await change(w, "deleteLicense", { id: license.id });
      return String(license.id);
    },
  },
  quiet_hours: {
    actions: ["create"],
    play: async (w) => {
      await change(w, "setQuietHours", { schedule: "30 2 * * *" });
      return undefined;
    },
  },
  external_auth_link: {
    actions: ["create", "delete"],
    play: async (w) => {
      await link(w.as(w.owner));
      await change(w, "deleteExternalAuth", { providerId: "lab" });
      return undefined;
    },
  },
  login_conversion: {
    actions: ["create"],
    play: async (w) => {
      const user = await newUser(w);
      const own = await signedIn(w, user.email);
      await change(w, "convertLogin", { user: "me", toType: "OIDC", password: ownerPassword }, "__typename", own);
      return user.id;
    },
  },
  one_time_passcode: {
    actions: ["create"],
    play: async (w) => {
      const user = await newUser(w);
      await change(w, "requestOneTimePasscode", { email: user.email }, "__typename", w.nobody);
      return user.id;
    },
  },
  notification_template: {
    actions: ["update"],
    play: async (w) => {
      const { notificationTemplates } = await w.as(w.owner).graphql("{ notificationTemplates { id } }");
      const { id } = notificationTemplates[0]!;
      await change(w, "updateNotificationTemplateMethod", { template: id, method: "WEBHOOK" });
      return id;
    },
  },
  notification_preference: {
    actions: ["update"],
    play: async (w) => {
      const { notificationTemplates } = await w.as(w.owner).graphql("{ notificationTemplates { id } }");
      const choices = [{ template: notificationTemplates[0]!.id, disabled: true }];
      await change(w, "updateNotificationPreferences", { choices });
      return w.owner.id;
    },
  },
  notification_message: {
    actions: ["create"],
    play: async (w) => {
      await w.as(w.owner).graphql("mutation { sendTestNotification { messageIds } }");
      return undefined;
    },
  },
  inbox_notification: {
    actions: ["create"],
    play: async (w) => {
      await change(w, "sendCustomNotification", { content: { title: "Hello", message: "" } });
      return undefined;
    },
  },
  deployment: {
    actions: ["update"],
    play: async (w) => {
      const user = await newUser(w);
      await setColumns(w, "users", { id: user.id }, { status: "suspended" });
      // The change of the status resets it.
      await setColumns(w, "users", { id: user.id }, { stop_hold: "held" });
      await w.as(w.owner).graphql("mutation { releaseHeldWorkspaces { __typename } }");
      return undefined;
    },
  },
  health_check: {
    actions: ["update"],
    play: async (w) => {
      const hasResults = async () => (await w.as(w.owner).graphql("{ healthChecks { code } }")).healthChecks.length > 0;
      await eventually(hasResults, "the checks run", 30_000);
      await change(w, "muteHealthCheck", { code: "CLOCK", until: new Date(Date.now() + 3_600_000).toISOString() });
      return undefined;
    },
  },
  notification_transports: setting("updateNotificationTransports", { webhook: { url: "https://hooks.example.com/" } }),
  appearance: setting("updateAppearance", { applicationName: "Acme" }),
  notifications_settings: setting("updateNotificationSettings", { notifierPaused: true }),
  oauth2_settings: setting("updateOAuth2Settings", { dynamicRegistration: false }),
  mcp_settings: setting("updateMcpSettings", { forbiddenTools: ["delete_task"] }),
  prebuilds_settings: setting("updatePrebuildsSettings", { reconciliationPaused: true }),
};

const vendor = new Vendor();

describe("the compiled program", () => {
  let w: World;
  let lab: ExternalService;
  before(async function () {
    this.timeout(180_000);
    lab = await ExternalService.open();
    w = await startCompiled({
      ...externalAuth(lab.provider()),
      ...trusting(vendor),
      STEWARD_HEALTH_INTERVAL: "1m",
    });
    // For the features that the stories use.
    await change(w, "addLicense", { license: await vendor.license() });
  });
  after(async () => {
    await w?.close();
    await lab.close();
  });

  it("has a story of each entity and each type of resource of which the sources write audit events", () => {
    expect(Object.values(stories).flatMap(({ entity }) => entity ?? [])).to.have.members(entities());
    expect(Object.keys(stories)).to.have.members(types());
  });

  it("has the schema of the sources, whose names of types may be those of classes", async () => {
    const data = await w
      .as(w.owner)
      .graphql(getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true }));
    const printed = `${printSchema(lexicographicSortSchema(buildClientSchema(data)))}\n`;
    const named = (text: string) =>
      [...text.matchAll(/^(?:type|input|enum|interface|union|scalar) .*$/gm)].map(([line]) => line);
    expect(named(printed)).to.deep.equal(named(readFileSync(join(root, "schema.graphql"), "utf8")));
  });

  for (const [type, { actions, play }] of Object.entries(stories))
    it(`records what is done to a resource of the type ${type}`, async () => {
      const resourceId = await play(w);
      const recorded = async () =>
        (await audited(w, { resourceType: type, resourceId })).map(({ action }) => action.toLowerCase());
      const areThere = async () => {
        const present = await recorded();
        return actions.every((action) => present.includes(action));
      };
      // Some are written after the response.
      await eventually(areThere, `${type} has the events ${actions.join(", ")}`).catch(() => {});
      expect(await recorded()).to.include.members(actions);
    });

  it("records nothing of an organization that is missing in the catalog of the types of events", async () => {
    const known = (await w.as(w.owner).graphql("{ eventTypes { name } }")).eventTypes as Array<{ name: string }>;
    const names = new Set(known.map(({ name }) => name));
    const events = Object.keys(stories).map((resourceType) => audited(w, { resourceType }));
    const missing = (await Promise.all(events))
      .flat()
      .filter(({ organizationId }) => organizationId !== null)
      .map(({ resourceType, action }) => `${resourceType}.${action.toLowerCase()}`)
      // No endpoint of the organization is there then.
      .filter((type) => !names.has(type) && !["organization.create", "organization.delete"].includes(type));
    expect(new Set(missing)).to.deep.equal(new Set());
  });
});

// Every notification as its cause sends it: its texts, and its links as its recipient follows them.
// Looks inside: workspaces are unused for hours, or stop soon, and prebuilt ones are found.
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { AgentProgram } from "../../support/agent-api.js";
import { addAuthenticator } from "../../support/authenticators.js";
import { addPasskey } from "../../support/passkeys.js";
import { checkHealth, prebuild, reportWeek, runJob, runSchedule } from "../../support/background.js";
import {
  boxOf,
  create,
  createBox,
  doBuild,
  endBuild,
  readBox,
  remove,
  runningBox,
  start,
  stop,
} from "../../support/builds.js";
import { changeBesideJobs } from "../../support/locks.js";
import { codeIn, type Letter, Mailbox } from "../../support/mailbox.js";
import { EventReceiver, makeEndpoint, readEndpoint, toThisMachine } from "../../support/event-receiver.js";
import { ForgingProvider } from "../../support/forging-provider.js";
import { client } from "../../support/providers.js";
import { signInWith, Visitor } from "../../support/provider-visits.js";
import { newKey, serve } from "../../support/provisioners.js";
import { letPass, setColumns, setTimes } from "../../support/tables.js";
import { TaskStage } from "../../support/tasks.js";
import { endImport, makeTemplate } from "../../support/templates.js";
import { eventually } from "../../support/watchers.js";
import { newScimUser, scimClient } from "../../support/scim.js";
import { type Anything, Client, type Person, startWorld, userPassword, type World } from "../../support/world.js";

const inbox = "/api/v2/notifications/inbox";

/** The parts that a recipient must find: the texts as Markdown, and the path of the link. */
interface Expected {
  to: Person;
  title: string;
  content: string;
  link?: string;
  /** One of its targets, if there are others of the same template. */
  about?: string;
}

describe("every notification", () => {
  let w: World;
  let mailbox: Mailbox;
  let program: AgentProgram;
  let stage: TaskStage;
  /** The owner of workspaces and tasks, two administrators of templates, and one of users. */
  let [ada, tina, olga, uma]: Person[] = [];
  let owner: Client;
  /** The names and ids of all templates of the deployment. */
  let templates: Array<{ id: string; name: string }>;
  const sent = new Set<string>();
  /** Receives the events of the organization. */
  let receiver: EventReceiver;
  let made = 0;

  before(async () => {
    mailbox = await Mailbox.open();
    program = await AgentProgram.open();
    w = await startWorld({ ...mailbox.settings, ...toThisMachine });
    owner = w.as(w.owner);
    [ada, tina, olga, uma] = await w.users("ada", "tina", "olga", "uma");
    receiver = await EventReceiver.open();
    await makeEndpoint(w, receiver.url);
    await w.grant(tina!, "template-admin");
    await w.grant(olga!, "organization-template-admin");
    await w.grant(uma!, "user-admin");
    stage = await TaskStage.open(w, program);
    const listed = await Promise.all(
      ["system", "custom"].map((kind) => owner.get(`/api/v2/notifications/templates/${kind}`)),
    );
    templates = listed.flatMap(({ body }) => body);
    const wanted = Object.fromEntries(templates.map(({ id }) => [id, false]));
    for (const person of [ada!, tina!, olga!, uma!])
      await w.as(person).put("/api/v2/users/me/notifications/preferences", { template_disabled_map: wanted });
  });
  after(async () => {
    stage.close();
    await w.close();
    await receiver.close();
    await program.close();
    await mailbox.close();
  });

  const idOf = (name: string): string => templates.find((each) => each.name === name)!.id;
  const name = ({ username }: Person) => username;
  const graphql = (query: string, input: object, by = owner) =>
    by.graphql(
      `mutation($input: ${query[0]!.toUpperCase()}${query.slice(1)}Input!) { ${query}(input: $input) { __typename } }`,
      { input },
    );
  const template = (more: Record<string, unknown> = {}) => makeTemplate(w, { document: boxOf(0, more) });
  const newVersion = async (templateId: string, versionName: string): Promise<string> => {
    const { createTemplateVersion } = await owner.graphql(
      `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
      { input: { templateId, name: versionName, document: boxOf(), activate: true } },
    );
    await endImport(w, createTemplateVersion.templateVersion.id);
    return createTemplateVersion.templateVersion.id;
  };
  const query = (text: string, ...values: unknown[]) => w.app.services.database.pool.query(text, values);

  /** The parts of Markdown that a text was escaped with are left out, for comparison. */
  const plain = (text: string) => text.replace(/\\(.)/g, "$1");

  /** Checks the newest notification of a template in the inbox of its recipient, and follows its links. */
  async function check(templateName: string, { to, title, content, link, about }: Expected): Promise<void> {
    await runJob(w.app, "noticeJob");
    const { body } = await w.as(to).get(`${inbox}?templates=${idOf(templateName)}${about ? `&targets=${about}` : ""}`);
    const [newest] = body.notifications as Array<{ title: string; content: string; actions: Anything[] }>;
    expect(newest, "it is in the inbox").to.not.equal(undefined);
    expect(plain(newest!.title)).to.equal(title);
    expect(plain(newest!.content)).to.equal(content);
    const paths = newest!.actions.map(({ url }) => url.slice(w.app.services.config.accessUrl.length));
    expect(paths).to.deep.equal(link ? [link] : []);
    for (const path of paths) {
      const page = await w.as(to).get(path, { Accept: "text/html" });
      expect(page.status, `${path} for ${to.username}`).to.equal(200);
    }
    sent.add(templateName);
  }

  const dormant = async () => {
    const { id } = await template();
    await graphql("updateTemplate", { templateId: id, dormantAfterSeconds: 3600, deleteAfterSeconds: 86_400 });
    const { workspace } = await runningBox(w, ada!, id);
    await query("update workspaces set last_used_at = now() - interval '2 hours' where id = $1", workspace.id);
    await runSchedule(w.app, "make");
    const { dormantAt } = await readBox(w, ada!, workspace.id);
    const deletingAt = new Date(Date.parse(dormantAt) + 86_400_000).toISOString();
    return { workspace, deletingAt: `${deletingAt.slice(0, 10)} at ${deletingAt.slice(11, 16)} UTC` };
  };

  const suspendedAndActivated = async (): Promise<Person> => {
    const eve = await w.user("eve");
    await graphql("suspendUser", { user: eve.id });
    await graphql("activateUser", { user: eve.id });
    return { ...eve, token: await w.session(eve.id) };
  };

  /** A task whose program has worked, and then reports a state. */
  const reported = async (state: string, said: (task: string) => [string, string]): Promise<Expected> => {
    const { task, token } = await stage.active(ada!);
    const former = state === "IDLE" ? "WORKING" : "IDLE";
    for (const each of [former, state]) await stage.status(token, each);
    const [title, end] = said(task.name);
    const content = `The task **${task.name}** in the workspace **${task.name}** ${end}`;
    return { to: ada!, title, content, link: `/tasks/${task.id}` };
  };

  const pausedTask = async () => {
    const { task } = await stage.active(ada!);
    await w.as(ada!).post(`/api/v2/tasks/me/${task.id}/pause`);
    await stage.carryOut();
    return { task };
  };

  /** A template of which two workspaces are prebuilt, with a resource that has a comment, and claimed by Ada. */
  const prebuilding = async (comment: string) => {
    const provisioner = `prebuilder-${++made}`;
    const daemon = (await serve(w.app, { key: await newKey(w), query: `provisioner=${provisioner}` })).work();
    const { resources } = boxOf();
    const { id, name: templateName } = await template({
      provisioner,
      resources: resources.map((each) => ({ ...each, metadata: [{ key: "comment", value: comment }] })),
      presets: [{ name: "big", prebuilds: { instances: 2 } }],
    });
    await prebuild(w.app);
    let taken = 0;
    /** Builds the next workspace, rendered for its owner. Returns the token of its agent. */
    const build = async (ownerName: string): Promise<string> => {
      let job = await daemon.job(taken++);
      if (job.type !== "WORKSPACE_BUILD") job = await daemon.job(taken++);
      await daemon.call("acceptProvisionerJob", job);
      const rendered = JSON.stringify(job.assignment.document.resources).replaceAll("${workspace.owner}", ownerName);
      const { agents } = await daemon.call("reportProvisionerResources", job, { resources: JSON.parse(rendered) });
      await daemon.call("completeProvisionerJob", job);
      return agents[0]!.token;
    };
    for (const token of [await build("prebuilds"), await build("prebuilds")])
      for (const state of ["STARTING", "READY"])
        await graphql("reportAgentLifecycle", { state }, new Client(w.url, token));
    const { template: read } = await owner.graphql(`{ template(id: "${id}") { activeVersion { presets { id } } } }`);
    const claims: Array<{ name: string }> = [];
    for (const claimed of ["first", "second"]) {
      const input = { templateId: id, presetId: read.activeVersion.presets[0]!.id, name: `${claimed}-${made}` };
      claims.push((await w.as(ada!).graphql(create, { input })).createWorkspace.workspace);
      await build(name(ada!));
    }
    daemon.close();
    return { id, name: templateName, claims };
  };

  /** A time as texts say it, after some days. */
  const minuteOf = (time: string, days: number): string => {
    const moved = new Date(Date.parse(time) + days * 86_400_000).toISOString();
    return `${moved.slice(0, 10)} at ${moved.slice(11, 16)} UTC`;
  };

  /** The recipient of each notification finds it as the cause has sent it. */
  const causes: Record<string, () => Promise<Expected>> = {
    "Workspace Deleted": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      const { workspaceBuild } = (await owner.graphql(remove, { workspace: workspace.id })).deleteWorkspace;
      await doBuild(w, workspaceBuild.id);
      return {
        to: ada!,
        title: `Workspace ${workspace.name} was deleted`,
        content: `Your workspace **${workspace.name}** was deleted by **${name(w.owner)}**.\n\nIts files and everything else that ran in it are gone.`,
      };
    },
    "Workspace Autobuild Failed": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      await query("update workspaces set deadline = now() - interval '1 minute' where id = $1", workspace.id);
      await runSchedule(w.app, "stop");
      await endBuild(w, (await readBox(w, ada!, workspace.id)).latestBuild.id, "failed", {}, "The disk is full.");
      return {
        to: ada!,
        title: `Automatic build of workspace ${workspace.name} failed`,
        content: `The scheduled build of your workspace **${workspace.name}** failed:\n\nThe disk is full.\n\nThe workspace may not be in the state that its schedule asks for. The log of the build says more.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Updated Automatically": async () => {
      const { id } = await template();
      const { workspace, workspaceBuild } = await createBox(w, ada!, id);
      await endBuild(w, workspaceBuild.id, "failed");
      await graphql("updateTemplate", { templateId: id, requireActiveVersion: true });
      await newVersion(id, "v2.0");
      await w.as(ada!).graphql(start, { input: { workspace: workspace.id } });
      return {
        to: ada!,
        title: `Workspace ${workspace.name} was updated`,
        content: `Your workspace **${workspace.name}** now uses version **v2.0** of its template.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Marked as Dormant": async () => {
      const { workspace, deletingAt } = await dormant();
      return {
        to: ada!,
        title: `Workspace ${workspace.name} is dormant`,
        content: `Your workspace **${workspace.name}** was marked as dormant: it was not used.\n\nIt is stopped and cannot be used until you activate it.\n\nUnless it is activated, it will be deleted on ${deletingAt}.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Offered": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      const { stopWorkspace } = await owner.graphql(stop, { workspace: workspace.id });
      await doBuild(w, stopWorkspace.workspaceBuild.id);
      await graphql("transferWorkspaces", { workspaces: [workspace.id], receiver: uma!.id });
      return {
        to: uma!,
        title: `Workspace ${workspace.name} is offered to you`,
        content: `**${name(w.owner)}** offers you the workspace **${workspace.name}** of another user. It becomes yours when you accept it, within a week.\n\nFiles and programs of the former owner stay inside.`,
        link: "/workspaces",
      };
    },
    "Workspace Marked for Deletion": async () => {
      const { workspace, deletingAt } = await dormant();
      return {
        to: ada!,
        title: `Workspace ${workspace.name} will be deleted`,
        content: `Your workspace **${workspace.name}** will be deleted on ${deletingAt}: it was not used.\n\nActivate it before then to keep it.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Manual Build Failed": async () => {
      const { id, name: templateName } = await template();
      const { workspace, workspaceBuild } = await createBox(w, ada!, id);
      await endBuild(w, workspaceBuild.id, "failed");
      return {
        to: tina!,
        title: `Build of workspace ${workspace.name} failed`,
        content: `A build of the workspace **${workspace.name}** failed.\n\n- Template: **${templateName}**, version **v1**\n- Started by: **${name(ada!)}**\n\nThe log of the build has the reason. If it is in the template, other workspaces may be affected, too.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Build Failed": async () => {
      const { workspace, workspaceBuild } = await createBox(w, ada!, (await template()).id);
      await endBuild(w, workspaceBuild.id, "failed", {}, "No machine is free.");
      return {
        to: ada!,
        title: `Your workspace ${workspace.name} failed to start`,
        content: `Your workspace **${workspace.name}** failed to start, as **${name(ada!)}** requested:\n\nNo machine is free.\n\nThe log of the build says more.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Created": async () => {
      const { id, name: templateName } = await template();
      const { workspace } = await createBox(w, ada!, id);
      return {
        to: tina!,
        title: `Workspace ${workspace.name} was created`,
        content: `The workspace **${workspace.name}** was created from version **v1** of the template **${templateName}**.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Manually Updated": async () => {
      const { id, name: templateName } = await template();
      const { workspace, workspaceBuild } = await createBox(w, ada!, id);
      await endBuild(w, workspaceBuild.id, "failed");
      const templateVersionId = await newVersion(id, "v3.0");
      await w.as(ada!).graphql(start, { input: { workspace: workspace.id, templateVersionId } });
      return {
        to: tina!,
        title: `Workspace ${workspace.name} was updated`,
        content: `**${name(ada!)}** updated the workspace **${workspace.name}** to version **v3.0** of the template **${templateName}**.`,
        link: `/workspaces/${workspace.id}`,
      };
    },
    "Workspace Stops Soon": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      const { id, name: box } = workspace;
      const deadline = new Date(Date.now() + 20 * 60_000).toISOString();
      await setColumns(w, "workspaces", { id }, { deadline });
      await runJob(w.app, "stopNotices");
      return {
        to: ada!,
        title: `Workspace ${box} stops soon`,
        content: `Your workspace **${box}** stops by itself on ${deadline.slice(0, 10)} at ${deadline.slice(11, 16)} UTC. Its files stay.\n\nUse it, or keep it running for longer.`,
        link: `/workspaces/${id}/extend`,
      };
    },
    "Workspace Unhealthy": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      const { id, name: box } = workspace;
      const seen = { first_connected_at: "-1 h", last_connected_at: "-10 min" };
      await setTimes(w, "workspace_agents", { workspace_id: id }, seen);
      await runJob(w.app, "lostWorkspaces");
      return {
        to: ada!,
        title: `Workspace ${box} is unhealthy`,
        content: `**${box}** does not work: The agent main has lost its connection. Its machine may be gone.\n\nWait a moment, if the network is the cause. Otherwise restart the workspace.`,
        link: `/workspaces/${id}`,
      };
    },
    "Workspace Share Ends Soon": async () => {
      const { workspace } = await runningBox(w, ada!, (await template()).id);
      const { id, name: box } = workspace;
      const endsAt = new Date(Date.now() + 20 * 86_400_000).toISOString();
      await graphql(
        "updateWorkspaceAcl",
        { workspace: id, userPerms: [{ id: uma!.id, role: "use", expiresAt: endsAt }] },
        w.as(ada!),
      );
      const share = { workspace_id: id, user_id: uma!.id };
      await letPass(w, "workspace_acl_entries", share, "10 days", ["created_at", "expires_at"]);
      await runJob(w.app, "shareEndNotices");
      return {
        to: uma!,
        title: `A share of the workspace ${box} ends soon`,
        content: `The workspace **${box}** of **${name(ada!)}** is shared with **${name(uma!)}** until ${minuteOf(endsAt, -10)}.\n\nIts owner can share it for longer.`,
        link: `/workspaces/${id}`,
      };
    },
    "API Token Ends Soon": async () => {
      const { createApiKey } = await w
        .as(ada!)
        .graphql(`mutation { createApiKey(input: { name: "deploy" }) { apiKey { id expiresAt } } }`);
      const { id, expiresAt } = createApiKey.apiKey;
      await letPass(w, "api_keys", { id }, "80 days", ["created_at", "expires_at"]);
      await runJob(w.app, "tokenEndNotices");
      return {
        to: ada!,
        title: "Your API token deploy ends soon",
        content: `Your API token **deploy** ends on ${minuteOf(expiresAt, -80)}. Programs that use it cannot sign in from then on.\n\nCreate another token, and give it to them.`,
        link: "/keys",
      };
    },
    "Second Factor Added": async () => {
      const eve = await w.user("eve");
      await addAuthenticator(w.as(eve));
      return {
        to: eve,
        title: "An authenticator was added to your account",
        content: `An authenticator was added to your account **${name(eve)}**. Sign-in asks for its code from now on, and your other sessions have ended.\n\nIf that was not you, tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "Second Factor Removed": async () => {
      const eve = await w.user("eve");
      await addAuthenticator(w.as(eve));
      await graphql("resetSecondFactors", { user: eve.id });
      return {
        to: { ...eve, token: await w.session(eve.id) },
        title: "The authenticator of your account was removed",
        content: `The authenticator and the recovery codes of your account **${name(eve)}** were removed by **${name(w.owner)}**. Sign-in asks for the password alone.\n\nIf you did not want that, tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "Passkey Added": async () => {
      const eve = await w.user("eve");
      await addPasskey(w.as(eve), w.app.services.config.accessUrl, { name: "laptop" });
      return {
        to: eve,
        title: "A passkey was added to your account",
        content: `The passkey **laptop** was added to your account **${name(eve)}**. It can sign in to it.\n\nIf that was not you, change your password, remove the passkey, and tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "Passkey Removed": async () => {
      const eve = await w.user("eve");
      const { id } = await addPasskey(w.as(eve), w.app.services.config.accessUrl, { name: "laptop" });
      await w.as(eve).graphql(`mutation { removePasskey(input: { id: "${id}" }) { user { id } } }`);
      return {
        to: eve,
        title: "A passkey of your account was removed",
        content: `The passkey **laptop** of your account **${name(eve)}** was removed. Sign-in asks for the password alone, and your recovery codes ended.\n\nIf you did not want that, change your password and tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "Passkey May Have Been Copied": async () => {
      const eve = await w.user("eve");
      const origin = w.app.services.config.accessUrl;
      const { passkey } = await addPasskey(w.as(eve), origin, { name: "laptop" });
      const { options } = (await w.nobody.graphql("mutation { beginPasskeyLogin(input: {}) { options } }"))
        .beginPasskeyLogin;
      const given = passkey.use(options, origin, { count: 1 });
      const login = "mutation($input: LoginWithPasskeyInput!) { loginWithPasskey(input: $input) { sessionToken } }";
      await w.nobody.failure(login, { input: { passkey: given } });
      // The response does not wait for it.
      await eventually(async () => {
        const { body } = await w.as(eve).get("/api/v2/notifications/inbox");
        return body.notifications.length === 2;
      }, "the user is told");
      return {
        to: eve,
        title: "A passkey of your account may have been copied",
        content: `The passkey **laptop** of your account **${name(eve)}** was used, but its count of uses did not grow. Another authenticator may hold a copy of it. It was not accepted.\n\nRemove the passkey, and tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "Recovery Code Used": async () => {
      const eve = await w.user("eve");
      const { recoveryCodes } = await addAuthenticator(w.as(eve));
      const login = { email: eve.email, password: userPassword, one_time_code: recoveryCodes[0] };
      expect((await w.nobody.post("/api/v2/users/login", login)).status).to.equal(201);
      return {
        to: eve,
        title: "A recovery code of your account was used",
        content: `A recovery code of your account **${name(eve)}** was used, to sign in or to prove who you are. It does not work again.\n\nIf that was not you, change your password and tell your administrators.`,
        link: "/account/second-factor",
      };
    },
    "SCIM Key Ends Soon": async () => {
      const expiresAt = new Date(Date.now() + 60 * 86_400_000).toISOString();
      const { createScimKey } = await owner.graphql(
        `mutation($at: DateTime) { createScimKey(input: { name: "directory", expiresAt: $at }) { scimKey { id } } }`,
        { at: expiresAt },
      );
      const { id } = createScimKey.scimKey;
      await letPass(w, "scim_keys", { id }, "50 days", ["created_at", "expires_at"]);
      await runJob(w.app, "scimKeyEndNotices");
      return {
        to: w.owner,
        title: "The SCIM key directory ends soon",
        content: `The SCIM key **directory**, which you created, ends on ${minuteOf(expiresAt, -50)}. The identity provider that uses it cannot manage users from then on.\n\nCreate another key for it, or let this one end later.`,
        link: "/scim-keys",
      };
    },
    "Deployment Health Changed": async () => {
      await checkHealth(w.app);
      // The administrators know all of it.
      await query("update health_checks set told_state = state");
      await letPass(w, "deployment", {}, "30 days", ["created_at"]);
      await checkHealth(w.app);
      await letPass(w, "health_checks", { code: "backups" }, "5 min", ["since"]);
      await checkHealth(w.app);
      return {
        to: w.owner,
        title: "Health: the check Backups needs attention",
        content:
          "- **Backups** needs attention. None has been seen. Back up the database daily. If another tool does so, mute this check.",
        link: "/health",
      };
    },
    "Event Endpoint Disabled": async () => {
      const gone = await EventReceiver.open();
      gone.respond = (_, response) => void response.writeHead(410).end();
      const { id } = await makeEndpoint(w, gone.url, { name: "chat", eventTypes: ["group.create"] });
      await w.group("announced");
      const isDisabled = async () => (await readEndpoint(owner, id)).state === "DISABLED";
      await eventually(isDisabled, "it is disabled", 15_000);
      await gone.close();
      return {
        to: w.owner,
        title: 'Event endpoint "chat" disabled',
        content:
          "The event endpoint **chat** failed for three days, or said that it is gone, and was disabled. The last failure: It responded with status 410. Its events wait until it is resumed.",
        link: `/event-endpoints/${id}`,
      };
    },
    "Workspace Out Of Memory": async () => {
      const { id, name: box, agent } = await w.workspace(ada!, { name: "alerting" });
      await graphql("reportAgentResourceAlert", { resource: "MEMORY", threshold: 80 }, w.as(agent));
      return {
        to: ada!,
        title: `Workspace ${box} is low on memory`,
        content: `Your workspace **${box}** uses more than 80% of its memory.\n\nClose programs that you do not need, or the workspace may end some of them.`,
        link: `/workspaces/${id}`,
      };
    },
    "Workspace Out Of Disk": async () => {
      const { id, name: box, agent } = await w.workspace(ada!, { name: "alerting-too" });
      const volumes = [
        { path: "/home", threshold: 90 },
        { path: "/", threshold: 95 },
      ];
      await graphql("reportAgentResourceAlert", { resource: "DISK", volumes }, w.as(agent));
      return {
        to: ada!,
        title: `Workspace ${box} is low on disk space`,
        content: `Your workspace **${box}** is running out of disk space:\n\n- **/home** is more than 90% full\n- **/** is more than 95% full\n\nDelete files that you do not need, or programs may fail to save their work.`,
        link: `/workspaces/${id}`,
      };
    },
    "User account created": async () => {
      const eve = await w.user("eve");
      return {
        to: uma!,
        title: `Account ${eve.username} was created`,
        content: `The account **${eve.username}** was created by **${name(w.owner)}**.`,
        link: `/users/${eve.id}`,
      };
    },
    "User account deleted": async () => {
      const eve = await w.user("eve");
      await graphql("deleteUser", { user: eve.id });
      return {
        to: uma!,
        title: `Account ${eve.username} was deleted`,
        content: `The account **${eve.username}** was deleted by **${name(w.owner)}**. This cannot be undone.`,
      };
    },
    "User account suspended": async () => {
      const eve = await w.user("eve");
      await graphql("suspendUser", { user: eve.id });
      return {
        to: uma!,
        title: `Account ${eve.username} was suspended`,
        content: `The account **${eve.username}** was suspended by **${name(w.owner)}**. Its sessions and tokens have ended.`,
        link: `/users/${eve.id}`,
      };
    },
    "Claim of a Provider Is Malformed": async () => {
      const provider = await ForgingProvider.open();
      const eve = await w.user("eve", undefined, "OIDC");
      await graphql("createIdentityProvider", {
        name: "corp",
        displayName: "Example Corp",
        kind: "OIDC",
        issuer: provider.issuer,
        clientId: client.id,
        clientSecret: client.secret,
        emailDomains: ["example.com"],
        appliesClaims: true,
        claimMappings: [{ claim: "groups" }],
      });
      const claims = { sub: "eve", email: eve.email, groups: { not: "a list" } };
      expect((await signInWith(new Visitor(w.url), "corp", provider, claims)).status).to.equal(303);
      await provider.close();
      return {
        to: w.owner,
        title: "The claim groups of Example Corp is malformed",
        content: `The provider **Example Corp** sent a claim **groups** of **${eve.username}** that is no list of texts, or left it out for its size. The user is signed in all the same. The mapping of the claim says whether what it gave before stays.

Others may be affected as well. Claims that are too large can often be limited at the provider to groups that are assigned to this application.`,
        link: "/sign-in-providers",
      };
    },
    "Many Users Suspended": async () => {
      for (let count = 0; count < 21; count++) await graphql("suspendUser", { user: (await w.user("leaver")).id });
      return {
        to: w.owner,
        title: "21 users were suspended together",
        content: `**21** or more users were suspended within ten minutes, as by a faulty sync. Their running workspaces are not stopped until an owner releases them on the overview of the console, or the users are activated.`,
      };
    },
    "User account activated": async () => {
      const eve = await suspendedAndActivated();
      return {
        to: uma!,
        title: `Account ${eve.username} was activated`,
        content: `The account **${eve.username}** was activated by **${name(w.owner)}** and can sign in again.`,
        link: `/users/${eve.id}`,
      };
    },
    "User account given again by its email": async () => {
      const scim = await scimClient(w, { source: "hr" });
      const { externalId: _, ...user } = newScimUser();
      const { id } = (await scim.post("/Users", user)).body;
      await scim.delete(`/Users/${id}`);
      await scim.post("/Users", user);
      const { user: account } = await w.as(w.owner).graphql(`{ user(user: "${id}") { name username } }`);
      const whom = `**${account.name}** (${account.username})`;
      return {
        to: uma!,
        title: `Account ${account.name} may belong to another person now`,
        content: `An identity provider has created a user with the email of ${whom}, whom it had deleted, and gave no other ID. The user has the account now. If it is another person, its email was given out again. Secrets, linked accounts, and ways to sign in of before are gone.`,
        link: `/users/${id}`,
      };
    },
    "Your account has been suspended": async () => {
      const eve = await suspendedAndActivated();
      return {
        to: eve,
        title: "Your account was suspended",
        content: `Your account **${eve.username}** was suspended by **${name(w.owner)}**. Until it is activated again, you cannot sign in, and your tokens do not work.\n\nIf you think that this is a mistake, contact your administrators.`,
      };
    },
    "Your account has been activated": async () => {
      const eve = await suspendedAndActivated();
      return {
        to: eve,
        title: "Your account was activated",
        content: `Your account **${eve.username}** was activated by **${name(w.owner)}**. You can sign in again. Tokens that you had before do not work any more.`,
      };
    },
    "Template Deleted": async () => {
      const { id, name: templateName } = await template();
      await graphql("deleteTemplate", { templateId: id });
      return {
        to: tina!,
        title: `Template ${templateName} was deleted`,
        content: `**${name(w.owner)}** deleted the template **${templateName}**. New workspaces cannot be created from it.`,
      };
    },
    "Template Deprecated": async () => {
      const { id, name: templateName } = await template();
      await runningBox(w, ada!, id);
      await graphql("updateTemplate", { templateId: id, deprecationMessage: "Use *small* instead." });
      return {
        to: ada!,
        title: `Template ${templateName} is deprecated`,
        content: `The template **${templateName}**, which workspaces of yours use, is deprecated: no more workspaces can be created from it. Yours keep working.\n\nUse *small* instead.`,
        link: `/templates/${id}`,
      };
    },
    "Report: Workspace Builds Failed": async () => {
      const { id, name: templateName } = await template();
      for (const outcome of ["failed", "failed", "succeeded"] as const)
        await endBuild(w, (await createBox(w, ada!, id)).workspaceBuild.id, outcome);
      await reportWeek(w.app);
      const { body } = await w
        .as(tina!)
        .get(`${inbox}?templates=${idOf("Report: Workspace Builds Failed")}&targets=${id}`);
      expect(body.notifications).to.have.length(1);
      return {
        to: tina!,
        about: id,
        title: `Failed builds of the template ${templateName}`,
        content: `In the last week, 2 of 3 builds of workspaces with the template **${templateName}** failed.\n\n- Version **v1**: 2 failed`,
        link: `/templates/${id}`,
      };
    },
    "Prebuilt Workspace Resource Replaced": async () => {
      const { id, name: templateName, claims } = await prebuilding("of ${workspace.owner}");
      const [first] = claims;
      return {
        to: tina!,
        title: `Prebuilt resources of ${templateName} are not kept`,
        content: `When the prebuilt workspace **${first!.name}** was claimed, its resources differed from those that were prebuilt, and had to be created again. Users wait longer for such workspaces.\n\n- Template: **${templateName}**, version **v1**\n- Preset: **big**\n\nResources are kept if none of their values depends on the name or the owner of the workspace.`,
        link: `/templates/${id}`,
      };
    },
    "Prebuild Failed": async () => {
      const { id, name: templateName } = await template({ presets: [{ name: "big", prebuilds: { instances: 1 } }] });
      await prebuild(w.app);
      const { rows } = await query("select latest_build_id as id from workspaces where template_id = $1", id);
      await endBuild(w, rows[0].id, "failed", {}, "No machine is free.");
      return {
        to: olga!,
        title: `Prebuilding big of ${templateName} failed`,
        content: `A workspace could not be prebuilt for the preset **big** of the template **${templateName}**, version **v1**:\n\nNo machine is free.\n\nAfter three failures in a row, no more workspaces are prebuilt for the preset until the template has a new version.`,
        link: `/templates/${id}`,
      };
    },
    "Prebuild Failure Limit Reached": async () => {
      const { id, name: templateName } = await template({ presets: [{ name: "big", prebuilds: { instances: 1 } }] });
      for (let failures = 0; failures < 3; failures++) {
        await prebuild(w.app);
        const { rows } = await query(
          "select latest_build_id as id from workspaces where template_id = $1 and latest_status = 'pending' and latest_transition = 'start'",
          id,
        );
        await endBuild(w, rows[0].id, "failed");
      }
      return {
        to: tina!,
        title: `Prebuilding big of ${templateName} stopped`,
        content: `Prebuilding workspaces for the preset **big** of the template **${templateName}** failed too often and has stopped. It continues with the next version of the template.`,
        link: `/templates/${id}`,
      };
    },
    "Test Notification": async () => {
      expect(await owner.post("/api/v2/notifications/test")).to.include({ status: 200 });
      return {
        to: w.owner,
        title: "Test notification",
        content: "You requested this notification. Since it has arrived, the delivery of notifications works.",
      };
    },
    "Custom Notification": async () => {
      const content = { title: "Tests are green", message: "All *1,204* of them." };
      expect(await w.as(ada!).post("/api/v2/notifications/custom", { content })).to.include({ status: 204 });
      return { to: ada!, title: content.title, content: content.message };
    },
    "Task Working": () => reported("WORKING", (task) => [`Task ${task} is working`, "is working again."]),
    "Task Idle": () => reported("IDLE", (task) => [`Task ${task} is waiting for input`, "is waiting for your input."]),
    "Task Completed": () => reported("COMPLETE", (task) => [`Task ${task} is complete`, "is complete."]),
    "Task Failed": () => reported("FAILURE", (task) => [`Task ${task} failed`, "failed. See its log for the reason."]),
    "Task Paused": async () => {
      const { task } = await pausedTask();
      return {
        to: ada!,
        title: `Task ${task.name} is paused`,
        content: `The task **${task.name}** in the workspace **${task.name}** was paused by **${name(ada!)}**. Resume it to continue.`,
        link: `/tasks/${task.id}`,
      };
    },
    "Task In Error": async () => {
      const task = await stage.create(ada!);
      const job = await stage.next();
      await stage.daemon.call("acceptProvisionerJob", job);
      await stage.daemon.call("failProvisionerJob", job, { error: "No machine is free." });
      return {
        to: ada!,
        title: `Task ${task.name} is in error`,
        content: `The task **${task.name}** in the workspace **${task.name}** is in error:\n\nThe build of the workspace failed: No machine is free.`,
        link: `/tasks/${task.id}`,
      };
    },
    "Task Does Not Start": async () => {
      const task = await stage.create(ada!);
      const token = (await stage.carryOut())!;
      await stage.lifecycle(token, "STARTING");
      await setTimes(
        w,
        "workspace_agents",
        { workspace_id: task.workspace_id.uuid },
        { created_at: "-1 h", first_connected_at: "-1 h", last_connected_at: "-1 s" },
      );
      await runJob(w.app, "slowStarts");
      return {
        to: ada!,
        title: `Task ${task.name} does not start`,
        content: `The task **${task.name}** in the workspace **${task.name}** does not start:\n\nThe agent main has been starting for too long. Read the log of the agent: its startup script may hang. Restart the workspace.`,
        link: `/tasks/${task.id}`,
      };
    },
    "Task Resumed": async () => {
      const { task } = await pausedTask();
      await w.as(ada!).post(`/api/v2/tasks/me/${task.id}/resume`);
      await stage.carryOut();
      return {
        to: ada!,
        title: `Task ${task.name} was resumed`,
        content: `The task **${task.name}** in the workspace **${task.name}** was resumed by **${name(ada!)}**.`,
        link: `/tasks/${task.id}`,
      };
    },
  };

  for (const [templateName, cause] of Object.entries(causes))
    it(`of the template ${templateName} has its texts and links`, async () => {
      const expected = await cause();
      await check(templateName, expected);
      if (expected.to === tina) await check(templateName, { ...expected, to: olga! });
    });

  it("of the template One-Time Passcode has its texts and links", async () => {
    await w.nobody.post("/api/v2/users/otp/request", { email: ada!.email });
    const isPasscode = ({ text }: Letter) => text.includes("Subject: Your one-time passcode");
    await eventually(() => mailbox.to(ada!.email).some(isPasscode), "the passcode arrives", 15_000);
    const letter = mailbox.to(ada!.email).find(isPasscode)!;
    expect(codeIn(letter)).to.have.length(10);
    expect(letter.text).to.include(`${w.app.services.config.accessUrl}/login/reset-password`);
    expect(await w.nobody.get("/login/reset-password", { Accept: "text/html" })).to.include({ status: 200 });
    sent.add("One-Time Passcode");
  });

  it("about a state of a task is sent once a minute, by mail and in the inbox", async () => {
    // As if no mail had been sent within ten minutes, which these would wait for.
    for (const statement of [
      "update notification_messages set state = 'discarded', finished_at = now() where state = 'pending'",
      "update notification_messages set created_at = created_at - interval '1 hour'",
    ])
      await changeBesideJobs(w.app, statement);
    const { task, token } = await stage.active(ada!);
    // The minutes are those of the server, whose clock may be a moment behind.
    const [{ length }, began] = [mailbox.letters, Date.now() - 1_000];
    for (let nr = 0; nr < 20; nr++) for (const state of ["WORKING", "IDLE"]) await stage.status(token, state);
    await stage.status(token, "COMPLETE");
    const minutes = Math.floor(Date.now() / 60_000) - Math.floor(began / 60_000) + 1;
    const subject = (what: string) => `Subject: Task ${task.name} is ${what}`;
    const arrived = (what: string) => mailbox.letters.slice(length).filter(({ text }) => text.includes(subject(what)));
    await eventually(() => arrived("complete").length === 1, "the last mail arrives", 15_000);
    // Mails are sent at the same time: the last one may overtake others.
    const others = ["waiting for input", "working"];
    await eventually(() => others.every((what) => arrived(what).length > 0), "the others arrive", 15_000);
    const { body } = await w.as(ada!).get(`${inbox}?targets=${task.id}`);
    for (const what of others) {
      const shown = body.notifications.filter(({ title }: Anything) => title === `Task ${task.name} is ${what}`);
      for (const { length: count } of [arrived(what), shown]) expect(count, what).to.be.within(1, minutes);
    }
  });

  it("about prebuilt resources that were replaced is sent once for a preset, and only if they were", async () => {
    const told = async (id: string) =>
      (await w.as(tina!).get(`${inbox}?templates=${idOf("Prebuilt Workspace Resource Replaced")}&targets=${id}`)).body
        .notifications.length;
    expect(await told((await prebuilding("of ${workspace.owner}")).id)).to.equal(1);
    expect(await told((await prebuilding("of ${workspace.id}")).id)).to.equal(0);
  });

  it("but that of the suspension itself stays away from users who are suspended", async () => {
    const eve = await w.user("eve");
    const { workspace } = await runningBox(w, eve, (await template()).id);
    await graphql("suspendUser", { user: eve.id });
    await doBuild(w, (await owner.graphql(remove, { workspace: workspace.id })).deleteWorkspace.workspaceBuild.id);
    await eventually(() => mailbox.to(eve.email).length > 0, "the mail about the suspension", 15_000);
    await graphql("activateUser", { user: eve.id });
    await eventually(() => mailbox.to(eve.email).length > 1, "the mail about the activation", 15_000);
    const { body } = await w.as({ token: await w.session(eve.id) }).get(inbox);
    expect(body.notifications.map(({ title }: Anything) => title)).to.deep.equal([
      "Your account was activated",
      "Your account was suspended",
    ]);
    expect(mailbox.to(eve.email)).to.have.length(2);
  });

  it("sent by a user says so at the end of the mail", async () => {
    await w.as(ada!).post("/api/v2/notifications/custom", { content: { title: "Look here" } });
    await eventually(() => mailbox.to(ada!.email).some(({ text }) => text.includes("Subject: Look here")), "the mail");
    const { text } = mailbox.to(ada!.email).find((each) => each.text.includes("Subject: Look here"))!;
    expect(text.replaceAll("=\r\n", "")).to.include(
      "You, or a program that uses your account, wrote this message and sent it to you.",
    );
    expect(text).to.not.include("Sent to:");
  });

  it("is an event for endpoints, unless the audit log has it: with ids and names, without texts of programs", async () => {
    const { eventTypes } = await owner.graphql("{ eventTypes { name schema example } }");
    const notified = eventTypes.filter(({ example }: Anything) => example.data.details);
    expect(notified).to.have.lengthOf(18);
    const ajv = new Ajv2020({ formats: { "date-time": true, uuid: true } });
    for (const { name: type, schema, example } of notified) {
      await eventually(() => receiver.received.some(({ body }) => body.type === type), type, 15_000);
      const { text, body } = receiver.received.find((message) => message.body.type === type)!;
      expect(ajv.validate(schema, body), `${type} ${ajv.errorsText()}`).to.equal(true);
      expect(body).to.include({ organization_id: w.defaultOrganization, version: 1 });
      expect(body.sequence, type).to.be.a("number");
      expect(body.data.object.type, type).to.equal(type.split(".")[0]);
      expect(body.data.object.name, type).to.match(/./);
      expect(Object.keys(body.data.details), type).to.have.members(Object.keys(example.data.details));
      expect(text).to.not.match(/No machine is free|The log of the build|lost its connection/);
    }
    // One event, for any number of recipients.
    const ids = receiver.received.map(({ id }) => id);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it("has a cause that this test knows", () => {
    expect([...sent].toSorted()).to.deep.equal(templates.map((each) => each.name).toSorted());
  });
});

import type { Api } from "./api.js";
import { browse } from "./browse.js";
import { awaitEnd, awaitSuccess, showLogs, type Work } from "./builds.js";
import { choiceOf, command, flag, isId, limit, limitOf, ownedName, text, texts, UsageError } from "./command.js";
import { confirm } from "./confirm.js";
import { existing, Failed } from "./failures.js";
import { healthLines, healthText, moment, words as wordsOf } from "./output.js";
import { findTemplate } from "./find-template.js";
import { presetOf } from "./templates.js";
import {
  CancelBuild,
  CreateWorkspace,
  DeleteWorkspace,
  LatestBuild,
  RestartWorkspace,
  type RestartWorkspaceInput,
  type StartedBuildFragment,
  StartWorkspace,
  StopWorkspace,
  Workspace,
  WorkspaceByName,
  type WorkspaceByNameQuery,
  type WorkspaceStatus,
  Workspaces,
} from "./workspaces.gql.js";

type Found = NonNullable<WorkspaceByNameQuery["workspace"]>;

const statuses: WorkspaceStatus[] = [
  "PENDING",
  "STARTING",
  "RUNNING",
  "STOPPING",
  "STOPPED",
  "DELETING",
  "DELETED",
  "FAILED",
  "CANCELING",
  "CANCELED",
];

/** Finds a workspace by its name, owner and name, or ID. */
export async function findWorkspace(api: Api, reference: string): Promise<Found> {
  const read = isId(reference) ? api.run(Workspace, { id: reference }) : api.run(WorkspaceByName, ownedName(reference));
  return existing(
    `workspace "${reference}"`,
    read.then(({ workspace }) => workspace),
  );
}

export const nameOf = ({ owner, name }: Pick<Found, "owner" | "name">) => `${owner.username}/${name}`;

const list = command({
  usage: "workspaces list",
  summary: "List your workspaces.",
  options: {
    all: flag("Also those of other users that you may see."),
    search: text("TEXT", "Part of the name."),
    status: text("STATUS", `One of: ${statuses.map((status) => status.toLowerCase()).join(", ")}.`),
    unhealthy: flag("Only those with which something is wrong."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const filter = {
      ...(options.all ? {} : { owner: "me" }),
      search: options.search ?? null,
      status: choiceOf("status", options.status, statuses) ?? null,
      unhealthy: options.unhealthy ? true : null,
    };
    const first = limitOf(options.limit);
    const { workspaces } = await (await open()).run(Workspaces, { filter, first });
    output.page(workspaces, {
      NAME: nameOf,
      TEMPLATE: ({ template }) => template.name,
      STATUS: ({ status }) => wordsOf(status),
      OUTDATED: ({ isOutdated }) => (isOutdated ? "outdated" : ""),
      "LAST USED": ({ lastUsedAt }) => moment(lastUsedAt),
      HEALTH: healthText,
    });
  },
});

const show = command({
  usage: "workspaces show NAME",
  summary: "Show a workspace: its status, parameters, agents, and apps. NAME is its name, owner/name, or ID.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const api = await open();
    const workspace = await findWorkspace(api, reference);
    const { latestBuild, isOutdated, template } = workspace;
    const agents = agentsOf(workspace);
    const update = isOutdated ? ` (outdated: the template has ${template.activeVersion?.name ?? "none"})` : "";
    output.object(workspace, [
      ["Name", nameOf(workspace)],
      ["ID", workspace.id],
      ["Status", wordsOf(workspace.status)],
      ["Error", latestBuild?.job.error ?? ""],
      ...healthLines(workspace),
      ["Organization", workspace.organization.name],
      ["Template", template.name],
      ["Version", latestBuild ? `${latestBuild.templateVersionName}${update}` : ""],
      ["Build", latestBuild ? `${latestBuild.buildNumber} (${wordsOf(latestBuild.transition)})` : ""],
      ["Dormant since", moment(workspace.dormantAt)],
      ["Stops at", moment(workspace.deadline)],
      ["Last used", moment(workspace.lastUsedAt)],
      ["Usage", usageText(workspace)],
      ...(latestBuild?.parameters ?? []).map(({ name, value }) => [`Parameter ${name}`, value] as const),
      ...agents.map(
        ({ name, status, lifecycleState }) =>
          [`Agent ${name}`, `${wordsOf(status)}, ${wordsOf(lifecycleState)}`] as const,
      ),
      // What an agent has reported before it was lost says nothing of its apps.
      ...agents.flatMap(({ status, apps }) =>
        apps.map(({ slug, health }) => [`App ${slug}`, isLost(status) ? "unknown" : wordsOf(health)] as const),
      ),
      ["Address", addressOf(api, workspace)],
    ]);
  },
});

const isLost = (status: string): boolean => status === "DISCONNECTED" || status === "TIMEOUT";

const roundToTenths = (value: number) => String(Math.round(value * 10) / 10);

const share = (name: string, used: number | null, total: number | null, unit: number, unitName: string): string[] => {
  if (used === null) return [];
  return [
    `${name} ${roundToTenths(used / unit)}${total === null ? "" : ` of ${roundToTenths(total / unit)}`}${unitName}`,
  ];
};

/** Says how much of its machine is in use, as far as it is known. */
function usageText({ usage }: Found): string {
  if (!usage) return "";
  const { cpuUsedMillicores, cpuTotalMillicores, memoryUsedBytes, memoryTotalBytes, diskUsedBytes, diskTotalBytes } =
    usage;
  return [
    ...share("processors", cpuUsedMillicores, cpuTotalMillicores, 1000, ""),
    ...share("memory", memoryUsedBytes, memoryTotalBytes, 1024 ** 3, " GiB"),
    ...share("disk", diskUsedBytes, diskTotalBytes, 1024 ** 3, " GiB"),
  ].join(", ");
}

const addressOf = (api: Api, { id }: Pick<Found, "id">) => `${api.url}/workspaces/${id}`;

const parameter = texts("NAME=VALUE", "The value of a parameter. Repeatable.");
const noWait = flag("Do not wait for the end of the build.");

/** Reads the values of `--parameter`. */
export const parametersOf = (given: readonly string[]): Array<{ name: string; value: string }> =>
  given.map((each) => {
    const at = each.indexOf("=");
    if (at < 1) throw new UsageError(`--parameter must be NAME=VALUE, not "${each}".`);
    return { name: each.slice(0, at), value: each.slice(at + 1) };
  });

const verbs = { START: "start", STOP: "stop", DELETE: "deletion" };
const results = { START: "is running", STOP: "is stopped", DELETE: "is deleted" };
const beginnings = { START: "is starting", STOP: "is stopping", DELETE: "is being deleted" };

/** Waits for a build, unless the user does not want that, and prints its result. */
async function conclude(work: Work, build: StartedBuildFragment, isAwaited: boolean): Promise<void> {
  const { workspace, transition } = build;
  const name = nameOf(workspace);
  if (isAwaited) await awaitSuccess(work, build.job.id, `The ${verbs[transition]} of ${name}`);
  const value = { id: workspace.id, name, buildId: build.id, transition, isFinished: isAwaited };
  work.output.done(value, `Workspace ${name} ${(isAwaited ? results : beginnings)[transition]}.`);
}

const create = command({
  usage: "workspaces create NAME --template T",
  summary: "Create a workspace from a template, start it, and wait for that.",
  takes: [1, 1],
  options: {
    template: text("T", "The template: name or ID."),
    organization: text("O", "Organization of the template: name or ID. Default: the default one."),
    preset: text("P", "Name of a preset of the template."),
    parameter,
    ttl: text("HOURS", "Hours that it runs after a start; 0 for no limit. Default: as the template says."),
    "no-wait": noWait,
  },
  run: async ({ api: open, words: [name = ""], options, output, signal }) => {
    if (!options.template) throw new UsageError("Missing required options: --template.");
    if (options.ttl !== undefined && !/^\d{1,5}(\.\d{1,3})?$/.test(options.ttl))
      throw new UsageError("--ttl must be a number of hours.");
    const parameters = parametersOf(options.parameter);
    const api = await open();
    const template = await findTemplate(api, options.template, options.organization);
    const { done } = await api.run(CreateWorkspace, {
      input: {
        name,
        templateId: template.id,
        presetId: options.preset === undefined ? null : presetOf(template, options.preset),
        parameters,
        ...(options.ttl !== undefined && { ttlSeconds: Math.round(Number(options.ttl) * 3600) }),
      },
    });
    await conclude({ api, output, signal }, done.workspaceBuild, !options["no-wait"]);
  },
});

const start = command({
  usage: "workspaces start NAME",
  summary: "Start a workspace, and wait for that.",
  takes: [1, 1],
  options: { parameter, "no-wait": noWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const parameters = parametersOf(options.parameter);
    const api = await open();
    const { done } = await api.run(StartWorkspace, { input: { workspace: parseReference(reference), parameters } });
    await conclude({ api, output, signal }, done.workspaceBuild, !options["no-wait"]);
  },
});

/** The form in which mutations take a workspace. */
function parseReference(reference: string): string {
  if (isId(reference)) return reference;
  const { owner, name } = ownedName(reference);
  return `${owner}/${name}`;
}

const stop = command({
  usage: "workspaces stop NAME",
  summary: "Stop a workspace, and wait for that.",
  takes: [1, 1],
  options: { "no-wait": noWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const { done } = await api.run(StopWorkspace, { input: { workspace: parseReference(reference) } });
    await conclude({ api, output, signal }, done.workspaceBuild, !options["no-wait"]);
  },
});

/**
 * Restarts a workspace, which the server does: it stops nothing that could not be started. Waits for both builds, unless the
 * user does not want that.
 */
async function restartWith(work: Work, input: RestartWorkspaceInput, isAwaited: boolean): Promise<void> {
  const { done } = await work.api.run(RestartWorkspace, { input });
  const { workspaceBuild: first } = done;
  if (first.transition === "START") return conclude(work, first, isAwaited);
  const { id } = first.workspace;
  const name = nameOf(first.workspace);
  if (!isAwaited) {
    const value = { id, name, buildId: first.id, transition: first.transition, isFinished: false };
    return work.output.done(value, `Workspace ${name} is restarting.`);
  }
  await awaitSuccess(work, first.job.id, `The stop of ${name}`);
  const { workspace } = await work.api.run(LatestBuild, { id });
  const next = workspace?.latestBuild;
  if (next?.transition !== "START") throw new Failed(`Workspace ${name} is stopped, but could not be started.`);
  return conclude(work, next, true);
}

const noRestartWait = flag("Do not wait for the end of the restart.");

const restart = command({
  usage: "workspaces restart NAME",
  summary: "Stop a workspace if it runs, and start it. What could not be started is not stopped.",
  takes: [1, 1],
  options: { parameter, "no-wait": noRestartWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const input = { workspace: parseReference(reference), parameters: parametersOf(options.parameter) };
    await restartWith({ api: await open(), output, signal }, input, !options["no-wait"]);
  },
});

const update = command({
  usage: "workspaces update NAME",
  summary: "Start a workspace with the active version of its template, after stopping it if it runs.",
  takes: [1, 1],
  options: { parameter, "no-wait": noRestartWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const parameters = parametersOf(options.parameter);
    const work = { api: await open(), output, signal };
    const workspace = await findWorkspace(work.api, reference);
    const { activeVersion } = workspace.template;
    if (!activeVersion) throw new Failed(`The template ${workspace.template.name} has no active version.`);
    if (!workspace.isOutdated && parameters.length === 0) {
      const { id, latestBuild: build } = workspace;
      const name = nameOf(workspace);
      const value = { id, name, buildId: build?.id ?? null, transition: build?.transition ?? null, isFinished: true };
      return output.done(value, `Workspace ${name} has the active version ${activeVersion.name} already.`);
    }
    const input = { workspace: workspace.id, templateVersionId: activeVersion.id, parameters };
    return restartWith(work, input, !options["no-wait"]);
  },
});

const remove = command({
  usage: "workspaces delete NAME",
  summary: "Delete a workspace with all of its resources, and wait for that.",
  takes: [1, 1],
  options: {
    yes: flag("Do not ask."),
    orphan: flag(
      "Delete it without a daemon, which leaves its resources behind. For those who may update the template.",
    ),
    "no-wait": noWait,
  },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const workspace = await findWorkspace(api, reference);
    if (!options.yes) await confirm(`Delete the workspace ${nameOf(workspace)} and its data?`, signal);
    const { done } = await api.run(DeleteWorkspace, { input: { workspace: workspace.id, orphan: options.orphan } });
    await conclude({ api, output, signal }, done.workspaceBuild, !options["no-wait"] && !options.orphan);
  },
});

const cancel = command({
  usage: "workspaces cancel NAME",
  summary: "Cancel the build of a workspace, and wait for that. What it has done so far may remain.",
  takes: [1, 1],
  options: { yes: flag("Do not ask."), "no-wait": flag("Do not wait for the end of the build.") },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const workspace = await findWorkspace(api, reference);
    const { latestBuild } = workspace;
    const name = nameOf(workspace);
    if (!latestBuild || !openStatuses.has(latestBuild.job.status))
      throw new Failed(`Workspace ${name} has no build to cancel.`);
    const what = `the ${verbs[latestBuild.transition]} of ${name}`;
    if (!options.yes) await confirm(`Cancel ${what}? What it has done so far may remain.`, signal);
    await api.run(CancelBuild, { input: { job: latestBuild.job.id } });
    const { status } = options["no-wait"]
      ? { status: "CANCELING" as const }
      : await awaitEnd({ api, output, signal }, latestBuild.job.id, `The cancellation of ${what}`);
    const sentence = capitalize(what);
    if (status === "SUCCEEDED" || status === "FAILED")
      throw new Failed(`${sentence} ${status.toLowerCase()} before it was canceled.`);
    const { id: buildId, transition } = latestBuild;
    const value = { id: workspace.id, name, buildId, transition, isFinished: status === "CANCELED" };
    output.done(value, `${sentence} is ${status === "CANCELED" ? "" : "being "}canceled.`);
  },
});

const openStatuses = new Set(["PENDING", "RUNNING", "CANCELING"]);

const capitalize = (words: string) => words[0]!.toUpperCase() + words.slice(1);

const agentsOf = ({ latestBuild }: Found) => latestBuild?.resources.flatMap(({ agents }) => agents) ?? [];

const logs = command({
  usage: "workspaces logs NAME",
  summary: "Print the log of the latest build, and those of the agents.",
  takes: [1, 1],
  options: { follow: flag("Go on with lines that come, until Ctrl-C.") },
  isEndless: true,
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const { latestBuild } = await findWorkspace(api, reference);
    if (!latestBuild) throw new Failed("The workspace has no build yet.");
    const jobId = latestBuild.job.id;
    await showLogs(
      { api, output, signal },
      // The agents of a start are known when it has ended.
      { jobId, agents: async () => agentsOf(await findWorkspace(api, reference)) },
      options.follow,
    );
  },
});

const open = command({
  usage: "workspaces open NAME",
  summary:
    "Print the address of the page of a workspace, and open it in a browser: with the program in BROWSER, or on a terminal with that of the system.",
  takes: [1, 1],
  run: async ({ api: connect, words: [reference = ""], output }) => {
    const api = await connect();
    const workspace = await findWorkspace(api, reference);
    const url = addressOf(api, workspace);
    if (process.env.BROWSER || output.isTerminal) await browse(url);
    output.done({ id: workspace.id, url }, url);
  },
});

export const workspaceCommands = {
  "workspaces list": list,
  "workspaces show": show,
  "workspaces create": create,
  "workspaces start": start,
  "workspaces stop": stop,
  "workspaces restart": restart,
  "workspaces update": update,
  "workspaces cancel": cancel,
  "workspaces delete": remove,
  "workspaces logs": logs,
  "workspaces open": open,
};

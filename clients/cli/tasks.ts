import { text as everything } from "node:stream/consumers";
import type { Api } from "./api.js";
import { awaitSuccess, type Work } from "./builds.js";
import { choiceOf, command, flag, isId, limit, limitOf, ownedName, text, UsageError } from "./command.js";
import { confirm } from "./confirm.js";
import { showConversation } from "./conversation.js";
import { Failed, Interrupted } from "./failures.js";
import { healthLines, healthText, moment, words as wordsOf } from "./output.js";
import {
  CreateTask,
  DecideTaskPermission,
  DeleteTask,
  InterruptTask,
  PauseTask,
  ResumeTask,
  SendTaskInput,
  Task,
  TaskChanged,
  TaskRequests,
  type TaskRequestsQuery,
  type TaskRowFragment,
  Tasks,
  type TaskStatus,
} from "./tasks.gql.js";
import { findTemplate } from "./find-template.js";
import { presetOf } from "./templates.js";

const statuses: TaskStatus[] = ["PENDING", "INITIALIZING", "ACTIVE", "PAUSED", "UNKNOWN", "ERROR"];

/** The form in which operations take a task: its ID, or its name with its owner. */
function parseReference(reference: string): { task: string; user: string } {
  if (isId(reference)) return { task: reference, user: "me" };
  const { owner, name } = ownedName(reference);
  return { task: name, user: owner };
}

const nameOf = ({ ownerName, name }: Pick<TaskRowFragment, "ownerName" | "name">) => `${ownerName}/${name}`;

const stateText = ({ currentState }: Pick<TaskRowFragment, "currentState">) =>
  currentState ? [wordsOf(currentState.state), currentState.message].filter(Boolean).join(": ") : "";

/** The mode in which the session of a program is, and whether the program then asks its users. */
const modeOf = (conversation: NonNullable<TaskRequestsQuery["task"]>["conversation"]): string =>
  conversation ? conversation.sessionMode + (conversation.asksNobody ? " (may ask no user for permissions)" : "") : "";

/** The beginning of a text, for a row. */
const firstLine = (content: string): string => {
  const [line = ""] = content.split(/[\r\n]/, 1);
  return line.length < content.length || line.length > longestLine ? `${line.slice(0, longestLine)}…` : line;
};

/** Characters of a text in a row. */
const longestLine = 120;

type Part = NonNullable<
  NonNullable<TaskRequestsQuery["task"]>["conversation"]
>["messages"]["nodes"][number]["parts"][number];
type Request = Extract<Part, { __typename: "PermissionPart" }>;

/** Finds a task, with the requests of its program that wait for a decision, the oldest first. */
async function withRequests(api: Api, reference: string) {
  const { task } = await api.run(TaskRequests, parseReference(reference));
  const { conversation, ...found } = task!;
  const parts =
    conversation?.state === "REQUIRES_ACTION" ? conversation.messages.nodes.flatMap((each) => each.parts) : [];
  const requests = parts.filter(
    (part): part is Request => part.__typename === "PermissionPart" && part.optionId === null && !part.isCanceled,
  );
  return { ...found, mode: modeOf(conversation), requests };
}

const list = command({
  usage: "tasks list",
  summary: "List your tasks.",
  options: {
    all: flag("Also those of other users that you may see."),
    search: text("TEXT", "Part of the name."),
    status: text("STATUS", `One of: ${statuses.map((status) => status.toLowerCase()).join(", ")}.`),
    unhealthy: flag("Only those with which something is wrong."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const status = choiceOf("status", options.status, statuses);
    const filter = {
      ...(options.all ? {} : { owner: "me" }),
      search: options.search ?? null,
      status: status ? [status] : null,
      unhealthy: options.unhealthy ? true : null,
    };
    const first = limitOf(options.limit);
    const { tasks } = await (await open()).run(Tasks, { filter, first });
    output.page(tasks, {
      NAME: nameOf,
      TEMPLATE: ({ templateName }) => templateName,
      STATUS: ({ status: now }) => wordsOf(now),
      STATE: stateText,
      CREATED: ({ createdAt }) => moment(createdAt),
      HEALTH: healthText,
    });
  },
});

const show = command({
  usage: "tasks show NAME",
  summary: "Show a task. NAME is its name, owner/name, or ID.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const api = await open();
    const { task } = await api.run(Task, parseReference(reference));
    const { requests, mode } = await withRequests(api, task!.id);
    output.object({ ...task!, mode, requests }, [
      ["Name", nameOf(task!)],
      ["Title", task!.displayName],
      ["ID", task!.id],
      ["Status", wordsOf(task!.status)],
      ["State", stateText(task!)],
      ...healthLines(task!),
      ...requests.flatMap(({ title, options }) => [
        ["Asks for", title] as const,
        ...options.map(({ id, name, kind }) => [`Option ${id}`, `${name} (${wordsOf(kind)})`] as const),
      ]),
      ["Link", task!.currentState?.uri ?? ""],
      ["Template", task!.templateName],
      ["Workspace", `${task!.ownerName}/${task!.workspaceName}`],
      ["Prompt", task!.initialPrompt],
      ["Created", moment(task!.createdAt)],
      ["Mode", mode],
      ["Waiting inputs", String(task!.inputs.filter(({ state }) => state === "QUEUED").length || "")],
      ...task!.inputs.map(
        ({ sender, createdAt, state, content }) =>
          [`Input of ${sender.username}`, `${moment(createdAt)} ${wordsOf(state)}: ${firstLine(content)}`] as const,
      ),
      ["Address", `${api.url}/tasks/${task!.id}`],
    ]);
  },
});

/** Reads a text that a command takes as an argument, or from standard input. */
async function textOf(words: readonly string[], name: string): Promise<string> {
  if (words.length > 0 && words[0] !== "-") return words.join(" ");
  if (words.length === 0 && process.stdin.isTTY)
    throw new UsageError(`Specify ${name}, or - to read it from standard input.`);
  return (await everything(process.stdin)).replace(/\r?\n$/, "");
}

/** Waits until a task takes input, after the build that starts it. Throws `Failed` with the reason if it does not. */
async function active(
  work: Work,
  task: Pick<TaskRowFragment, "id" | "name" | "ownerName">,
  jobId: string,
): Promise<void> {
  await awaitSuccess(work, jobId, `The start of ${nameOf(task)}`);
  for await (const { task: now } of work.api.live(TaskChanged, () => ({ id: task.id }))) {
    if (now.status === "ACTIVE") return;
    if (now.status === "ERROR")
      throw new Failed(`Task ${nameOf(now)} has an error. ${now.currentState?.message ?? ""}`);
    if (now.status === "PAUSED") throw new Failed(`Task ${nameOf(now)} was paused.`);
  }
  if (work.signal.aborted) throw new Interrupted(`Interrupted. Task ${nameOf(task)} goes on.`);
  throw new Failed(`Task ${nameOf(task)} was deleted.`);
}

const noWait = flag("Do not wait.");

const create = command({
  usage: "tasks create [PROMPT] --template T",
  summary:
    "Create a task from a prompt, which is the arguments or, for -, standard input. Waits until its program takes input.",
  takes: [0, Infinity],
  options: {
    template: text("T", "A template for tasks: name or ID."),
    organization: text("O", "Organization of the template: name or ID. Default: the default one."),
    preset: text("P", "Name of a preset of the template."),
    name: text("N", "Name of the task. Default: from the prompt."),
    "no-wait": noWait,
  },
  run: async ({ api: open, words, options, output, signal }) => {
    if (!options.template) throw new UsageError("Missing required options: --template.");
    const api = await open();
    const input = await textOf(words, "a prompt");
    const template = await findTemplate(api, options.template, options.organization);
    if (!template.activeVersion) throw new Failed(`The template ${template.name} has no active version.`);
    const { task } = (
      await api.run(CreateTask, {
        input: {
          input,
          name: options.name ?? null,
          templateVersionId: template.activeVersion.id,
          templateVersionPresetId: options.preset === undefined ? null : presetOf(template, options.preset),
        },
      })
    ).createTask;
    const jobId = task.workspace?.latestBuild?.job.id;
    if (!options["no-wait"] && jobId) await active({ api, output, signal }, task, jobId);
    const value = { id: task.id, name: nameOf(task), isActive: !options["no-wait"] };
    output.done(value, `Task ${nameOf(task)} is ${options["no-wait"] ? "created" : "active"}.`);
  },
});

const send = command({
  usage: "tasks send NAME [TEXT]",
  summary: "Send a text to the program of a task: the arguments or, for -, standard input.",
  takes: [1, Infinity],
  run: async ({ api: open, words: [reference = "", ...words], output }) => {
    const api = await open();
    const input = await textOf(words, "a text");
    const { taskInput } = (await api.run(SendTaskInput, { input: { ...parseReference(reference), input } }))
      .sendTaskInput;
    if (taskInput.state === "DELIVERED") return output.done(taskInput, "The text was delivered.");
    output.done(taskInput, "The text waits for the program.");
    const { requests } = await withRequests(api, reference);
    if (requests[0]) output.note(`The program waits for a decision: ${requests[0].title}. See tasks decide.`);
  },
});

const decide = command({
  usage: "tasks decide NAME [OPTION]",
  summary:
    "Decide what the program of a task asks for: with the ID or the name of an option. Without one, list the options.",
  takes: [1, 2],
  run: async ({ api: open, words: [reference = "", wanted], output }) => {
    const api = await open();
    const { requests, ...task } = await withRequests(api, reference);
    const [request] = requests;
    if (!request) throw new Failed(`The program of task ${nameOf(task)} asks for nothing.`);
    const { requestId, title, options } = request;
    if (wanted === undefined) {
      output.note(`The program asks for: ${title}`);
      return output.list(options, {
        OPTION: ({ id }) => id,
        NAME: ({ name }) => name,
        KIND: ({ kind }) => wordsOf(kind),
      });
    }
    const isWanted = (name: string) => name.toLowerCase() === wanted.toLowerCase();
    const option = options.find(({ id }) => id === wanted) ?? options.find(({ name }) => isWanted(name));
    if (!option) {
      const known = options.map(({ id, name }) => `${id} (${name})`).join(", ");
      throw new Failed(`There is no option "${wanted}". The options: ${known}.`);
    }
    await api.run(DecideTaskPermission, { input: { task: task.id, requestId, optionId: option.id } });
    output.done({ id: task.id, requestId, optionId: option.id }, `Decided: ${option.name}.`);
  },
});

const interrupt = command({
  usage: "tasks interrupt NAME",
  summary: "Interrupt what the program of a task works on, or asks for. It then waits for the next text.",
  takes: [1, 1],
  run: async ({ api: open, words: [reference = ""], output }) => {
    const { task } = (await (await open()).run(InterruptTask, { input: parseReference(reference) })).interruptTask;
    output.done({ id: task.id, name: nameOf(task) }, `The program of task ${nameOf(task)} was told to stop.`);
  },
});

const logs = command({
  usage: "tasks logs NAME",
  summary: "Print the conversation of a task.",
  takes: [1, 1],
  options: { follow: flag("Go on with what comes, also after a pause, until the task is deleted, or Ctrl-C.") },
  isEndless: true,
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    await showConversation({ api: await open(), output, signal }, parseReference(reference), options.follow);
  },
});

const pause = command({
  usage: "tasks pause NAME",
  summary: "Pause a task: stop its workspace, and keep the conversation.",
  takes: [1, 1],
  options: { "no-wait": noWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const { task, workspaceBuild } = (await api.run(PauseTask, { input: parseReference(reference) })).done;
    if (!options["no-wait"])
      await awaitSuccess({ api, output, signal }, workspaceBuild.job.id, `The pause of ${nameOf(task)}`);
    const value = { id: task.id, name: nameOf(task), isFinished: !options["no-wait"] };
    output.done(value, `Task ${nameOf(task)} is ${options["no-wait"] ? "being " : ""}paused.`);
  },
});

const resume = command({
  usage: "tasks resume NAME",
  summary: "Resume a paused task, or try again after an error. Waits until its program takes input.",
  takes: [1, 1],
  options: { "no-wait": noWait },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const { task, workspaceBuild } = (await api.run(ResumeTask, { input: parseReference(reference) })).done;
    if (!options["no-wait"]) await active({ api, output, signal }, task, workspaceBuild.job.id);
    const value = { id: task.id, name: nameOf(task), isActive: !options["no-wait"] };
    output.done(value, `Task ${nameOf(task)} is ${options["no-wait"] ? "being resumed" : "active"}.`);
  },
});

const remove = command({
  usage: "tasks delete NAME",
  summary: "Delete a task with its workspace.",
  takes: [1, 1],
  options: {
    yes: flag("Do not ask."),
    "during-build": flag("Cancel a build that runs, instead of failing."),
  },
  run: async ({ api: open, words: [reference = ""], options, output, signal }) => {
    const api = await open();
    const { task } = await api.run(Task, parseReference(reference));
    if (!options.yes) await confirm(`Delete the task ${nameOf(task!)} with its workspace?`, signal);
    await api.run(DeleteTask, { input: { task: task!.id, duringBuild: options["during-build"] } });
    output.done({ id: task!.id, name: nameOf(task!) }, `Task ${nameOf(task!)} is deleted.`);
  },
});

export const taskCommands = {
  "tasks list": list,
  "tasks show": show,
  "tasks create": create,
  "tasks send": send,
  "tasks decide": decide,
  "tasks interrupt": interrupt,
  "tasks logs": logs,
  "tasks pause": pause,
  "tasks resume": resume,
  "tasks delete": remove,
};

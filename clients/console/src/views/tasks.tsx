import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData, useLive } from "../api/hooks";
import { inSentences } from "../api/errors";
import { callerId } from "../api/session";
import { useSignal } from "../api/signal";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { Form } from "../ui/form";
import { Choice, Filters, List, Search } from "../ui/list";
import { Empty, Facts, Heading, Loading, Panel, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { titleOf, wordsOf } from "../ui/text";
import {
  CancelTaskInput,
  CreateTask,
  DeleteTask,
  EditTaskInput,
  InterruptTask,
  PauseTask,
  ResumeTask,
  SendTaskInput,
  Task,
  TaskChanged,
  TaskConversation,
  TaskConversationChanged,
  TaskMessages,
  type TaskMessagesSubscription,
  TaskParts,
  Tasks,
  type TaskStatus,
  UpdateTaskPrompt,
} from "./tasks.gql";
import { ConversationParts } from "./task-parts";
import { useUsableTemplates } from "./workspace-changes";
import type { UsableTemplatesQuery } from "./workspaces.gql";

const statuses: readonly TaskStatus[] = ["PENDING", "INITIALIZING", "ACTIVE", "PAUSED", "ERROR"];

const separator = " ";

/** The choices of a template: without a preset, and each of its presets. */
const optionsOf = (template: UsableTemplatesQuery["templates"]["nodes"][number]) => {
  const { id, presets } = template.activeVersion!;
  const title = titleOf(template);
  return [
    [id, title] as const,
    ...presets.map((preset) => [id + separator + preset.id, `${title}, ${titleOf(preset)}`] as const),
  ];
};

export function TasksView() {
  const place = usePlace();
  const { route } = useLocation();
  const order = place.order(["CREATED_AT"] as const, "-CREATED_AT");
  const status = place.filter<TaskStatus>("status");
  const filter = { search: place.filter("q"), owner: place.filter("owner"), status: status && [status] };
  const tasks = useData(Tasks, { ...place.cursors, filter, orderBy: order });
  useLive(TaskChanged, "mine", { variables: () => ({ user: "me" }), onEvent: tasks.refresh, onRestart: tasks.refresh });
  const templates = useUsableTemplates()?.filter(({ activeVersion }) => activeVersion!.hasAiTask) ?? [];
  const may = useAllowed({ create: { may: "task:create", ownerId: "me", anyOrg: true } });
  return (
    <>
      <Heading title="Tasks">
        {may("create") && templates.length > 0 && (
          <Action
            label="Create a task"
            look="primary"
            run={CreateTask}
            given={{}}
            fields={[
              { name: "input", label: "Prompt", kind: "area", hint: "What the agent is to do.", isRequired: true },
              {
                name: "templateVersionId",
                label: "Template",
                hint: undefined,
                options: templates.flatMap(optionsOf),
              },
              { name: "displayName", label: "Title" },
            ]}
            prepare={({ templateVersionId, ...filled }) => {
              const [version, preset] = (templateVersionId as string).split(separator);
              return { ...filled, templateVersionId: version, templateVersionPresetId: preset };
            }}
            submit="Create"
            done={({ createTask }) => route(`/tasks/${createTask.task.id}`)}
          />
        )}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Search by title" />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="Owner" name="owner" any="Everyone" options={[["me", "Me"]]} />
      </Filters>
      <List
        name="Tasks"
        rows={tasks.data?.tasks}
        from={tasks}
        empty={
          templates.length > 0
            ? "No task matches. Create one to give an agent work."
            : "No task. A template with an AI task is needed for them."
        }
        place={place}
        order={order}
        columns={[
          { title: "Task", show: (task) => <a href={`/tasks/${task.id}`}>{titleOf(task)}</a> },
          { title: "Owner", show: ({ owner }) => <PersonLink user={owner} /> },
          { title: "Status", show: ({ status: each }) => <Status name={each} /> },
          {
            title: "Reports",
            show: ({ currentState }) =>
              currentState ? (
                <>
                  <Status name={currentState.state} /> {currentState.message}
                </>
              ) : (
                <span class="faint">nothing yet</span>
              ),
          },
          { title: "Template", show: (task) => task.templateDisplayName || task.templateName },
          { title: "Created", sort: "CREATED_AT", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

type Entry = TaskMessagesSubscription["taskMessages"];

export function TaskView({ id }: { id: string }) {
  const { route } = useLocation();
  const { data, error, refresh } = useData(Task, { id });
  // By itself: it fails while the program of the agent does not respond.
  const conversation = useData(TaskConversation, { id });
  const parts = useData(TaskParts, { id });
  const [streamed, setStreamed] = useState<ReadonlyMap<number, Entry>>(new Map());
  const task = data?.task;
  const ofWorkspace = task?.workspaceId ? { resourceId: task.workspaceId } : undefined;
  const may = useAllowed<"update" | "delete" | "pause" | "resume" | "talk">(
    ofWorkspace && {
      update: { may: "task:update", resourceId: id },
      delete: { may: "task:delete", resourceId: id },
      pause: { may: "workspace:stop", ...ofWorkspace },
      resume: { may: "workspace:start", ...ofWorkspace },
      talk: { may: "workspace:application_connect", ...ofWorkspace },
    },
  );
  const caller = useSignal(callerId);
  // Only an active task takes input, and has a conversation to follow.
  const mayTalk = may("talk") && task?.status === "ACTIVE";
  const refreshAll = () => {
    refresh();
    conversation.refresh();
    parts.refresh();
  };
  useLive(TaskChanged, id, { variables: () => ({ id }), onEvent: refreshAll, onRestart: refreshAll });
  const stream = `${id} ${task?.status} ${mayTalk}`;
  // A program that starts again numbers its messages from the beginning. Each stream sends all of them first.
  const forget = () => setStreamed(new Map());
  useEffect(forget, [stream]);
  useLive(TaskMessages, stream, {
    variables: () => (mayTalk ? { id } : undefined),
    onRestart: forget,
    onEvent: ({ taskMessages: entry }) => setStreamed((before) => new Map(before).set(entry.id, entry)),
  });
  useLive(TaskConversationChanged, `parts ${stream}`, {
    variables: () => (mayTalk ? { id } : undefined),
    onEvent: parts.refresh,
  });
  if (!task) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const logs = conversation.data?.task?.logs;
  const entries = [
    ...new Map([...(logs?.entries ?? []).map((entry) => [entry.id, entry] as const), ...streamed]).values(),
  ];
  const structured = parts.data?.task?.conversation ?? undefined;
  // Agents that do not report it have the last stored conversation only.
  const isStructured =
    structured !== undefined && (structured.protocol === "ACP" || structured.messages.nodes.length >= entries.length);
  const isBusy = structured?.state === "WORKING" || structured?.state === "REQUIRES_ACTION";
  const waiting = task.inputs.filter(({ state }) => state !== "DELIVERED");
  const isPaused = task.status === "PAUSED";
  const isBuilding = ["STARTING", "STOPPING", "DELETING", "CANCELING"].includes(task.workspaceStatus);
  return (
    <>
      <Heading title={titleOf(task)} note={task.templateDisplayName || task.templateName} up={["/tasks", "Tasks"]}>
        {may("resume") && isPaused && <Action label="Resume" look="primary" run={ResumeTask} given={{ task: id }} />}
        {may("pause") && ["ACTIVE", "ERROR"].includes(task.status) && (
          <Action
            label="Pause"
            run={PauseTask}
            given={{ task: id }}
            said="The task is being paused: its workspace stops."
          />
        )}
        {may("update") && isPaused && (
          <Action
            label="Edit prompt"
            run={UpdateTaskPrompt}
            given={{ task: id }}
            fields={[{ name: "input", label: "Prompt", kind: "area" }]}
            values={{ input: task.initialPrompt }}
            prepare={(values) => ({ input: (values.input as string | undefined) ?? task.initialPrompt })}
            submit="Save"
          />
        )}
        {may("delete") && (
          <Action
            label="Delete"
            on={titleOf(task)}
            look="danger"
            confirm={
              `The conversation and its workspace ${task.workspaceName} are deleted, with all files in it.` +
              (isBuilding
                ? " Its build is canceled, if you may do that; the workspace is deleted once it has ended."
                : "")
            }
            run={DeleteTask}
            given={{ task: id, ...(isBuilding && { duringBuild: true }) }}
            done={() => route("/tasks")}
            said="The task is deleted."
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Status", <Status key="status" name={task.status} />],
          ["Owner", <PersonLink key="owner" user={task.owner} />],
          [
            "Workspace",
            task.workspaceId && (
              <a key="workspace" href={`/workspaces/${task.workspaceId}`}>
                {task.workspaceName}
              </a>
            ),
          ],
          ["Created", <Time key="created" at={task.createdAt} />],
          ["Changed", <Time key="updated" at={task.updatedAt} />],
        ]}
      />
      {task.currentState && (
        <p class="said">
          <Status name={task.currentState.state} /> {task.currentState.message}{" "}
          {/^https?:/.test(task.currentState.uri) && <a href={task.currentState.uri}>{task.currentState.uri}</a>}
        </p>
      )}
      <Panel title="Prompt">
        <p class="prose">{task.initialPrompt || <span class="faint">None</span>}</p>
      </Panel>
      <Panel title="Conversation">
        {mayTalk && isBusy && <Action label="Interrupt" run={InterruptTask} given={{ task: id }} />}
        {entries.length === 0 && !structured?.messages.nodes.length && (
          <Empty>
            {conversation.error
              ? `The conversation cannot be read: ${inSentences(conversation.error)}`
              : "The conversation appears here once the agent works."}
          </Empty>
        )}
        {structured?.sessionMode && (
          <p class={structured.asksNobody ? "fault" : "faint"}>
            Mode: {structured.sessionMode}.
            {structured.asksNobody && " In this mode, the program may ask no user for permissions."}
          </p>
        )}
        {isStructured ? (
          <ConversationParts
            conversation={structured}
            taskId={id}
            mayDecide={mayTalk && structured.state === "REQUIRES_ACTION"}
          />
        ) : (
          <ol class="conversation" aria-live="polite">
            {entries.map((entry) => (
              <li key={entry.id} class={entry.type.toLowerCase()}>
                <span class="hidden">{entry.type === "INPUT" ? "Sent: " : "Agent: "}</span>
                {entry.sender && <span class="faint block">{entry.sender.name || entry.sender.username}</span>}
                {entry.content}
              </li>
            ))}
          </ol>
        )}
        {logs?.snapshot && logs.snapshotAt && (
          <p class="faint">
            As of <Time at={logs.snapshotAt} />: the task does not run.
          </p>
        )}
      </Panel>
      {waiting.length > 0 && (
        <Panel title="Not yet delivered">
          <List
            name="Not yet delivered"
            rows={waiting}
            empty=""
            columns={[
              { title: "Text", show: ({ content }) => content },
              {
                title: "State",
                show: ({ state, lastError }) => (
                  <>
                    <Status name={state} /> {lastError && <span class="fault block">{lastError}</span>}
                  </>
                ),
              },
              { title: "Sent by", show: ({ sender }) => sender.name || sender.username },
              { title: "Sent", show: ({ createdAt }) => <Time at={createdAt} /> },
              {
                title: "Actions",
                isAction: true,
                show: (input) =>
                  (may("update") || input.sender.id === caller) &&
                  input.state === "QUEUED" && (
                    <>
                      {may("talk") && (
                        <Action
                          label="Edit"
                          on={input.content}
                          title="Edit what is queued"
                          run={EditTaskInput}
                          given={{ id: input.id }}
                          fields={[{ name: "input", label: "Text", kind: "area" }]}
                          values={{ input: input.content }}
                          prepare={(values) => ({ input: (values.input as string | undefined) ?? input.content })}
                          submit="Save"
                        />
                      )}
                      <Action label="Cancel" on={input.content} run={CancelTaskInput} given={{ id: input.id }} />
                    </>
                  ),
              },
            ]}
          />
        </Panel>
      )}
      {mayTalk && (
        <Panel title="Send">
          <Form
            fields={[
              {
                name: "input",
                label: "Message",
                kind: "area",
                isRequired: true,
                hint: "It is queued until the agent can take it.",
              },
            ]}
            submit="Send"
            onSubmit={async ({ input = "" }) => {
              await perform(SendTaskInput, { input: { task: id, input: input as string } });
            }}
          />
        </Panel>
      )}
    </>
  );
}

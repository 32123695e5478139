import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { inSentences } from "../api/errors";
import { useData, useLive } from "../api/hooks";
import { callerId } from "../api/session";
import { useSignal } from "../api/signal";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { HealthNote, HealthStatus } from "../ui/health";
import { Empty, Facts, Heading, Loading, Panel, PersonLink, Status, Time } from "../ui/parts";
import { titleOf } from "../ui/text";
import { Composer, type Entry, PlainMessages, Thread, WaitingMessages } from "./conversation";
import { ConversationParts, isSameText } from "./task-parts";
import {
  DeleteTask,
  InterruptTask,
  PauseTask,
  ResumeTask,
  Task,
  TaskChanged,
  TaskConversation,
  TaskConversationChanged,
  TaskMessages,
  TaskParts,
  UpdateTaskPrompt,
} from "./tasks.gql";

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
  const all = [...new Map([...(logs?.entries ?? []).map((entry) => [entry.id, entry] as const), ...streamed]).values()];
  const entries = withoutPrompt(all, task.initialPrompt);
  const structured = parts.data?.task?.conversation ?? undefined;
  // Agents that do not report it have the last stored conversation only.
  const isStructured =
    structured !== undefined && (structured.protocol === "ACP" || structured.messages.nodes.length >= all.length);
  const isBusy = structured?.state === "WORKING" || structured?.state === "REQUIRES_ACTION";
  const waiting = task.inputs.filter(({ state }) => state !== "DELIVERED");
  const { health, status } = task;
  const isPaused = status === "PAUSED";
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
            fields={[{ name: "input", label: "Prompt" }]}
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
          ["Status", <HealthStatus key="status" status={status} health={{ state: health.state }} />],
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
      <HealthNote health={health} />
      {task.currentState && !health.reason?.includes(task.currentState.message) && status !== "INITIALIZING" && (
        <p class="said">
          <Status name={task.currentState.state} /> {task.currentState.message}{" "}
          {/^https?:/.test(task.currentState.uri) && <a href={task.currentState.uri}>{task.currentState.uri}</a>}
        </p>
      )}
      <Panel
        title="Conversation"
        actions={mayTalk && isBusy && <Action label="Interrupt" run={InterruptTask} given={{ task: id }} />}
      >
        {structured?.sessionMode && (
          <p class={structured.asksNobody ? "fault" : "faint"}>
            Mode: {structured.sessionMode}.
            {structured.asksNobody && " In this mode, the program may ask no user for permissions."}
          </p>
        )}
        <Thread>
          <section class="conversation" aria-label="Prompt">
            <div class="input">
              <span class="faint block">Prompt</span>
              <p class="plain-text" dir="auto">
                {task.initialPrompt || <span class="faint">None</span>}
              </p>
            </div>
          </section>
          {entries.length === 0 && !structured?.messages.nodes.length && (
            <Empty>
              {conversation.error
                ? `The conversation cannot be read: ${inSentences(conversation.error)}`
                : "The conversation appears here once the agent works."}
            </Empty>
          )}
          {isStructured ? (
            <ConversationParts
              conversation={structured}
              prompt={task.initialPrompt}
              taskId={id}
              mayDecide={mayTalk && structured.state === "REQUIRES_ACTION"}
            />
          ) : (
            <PlainMessages entries={entries} />
          )}
          {waiting.length > 0 && (
            <WaitingMessages
              inputs={waiting}
              mayTalk={may("talk")}
              mayChange={(sender) => may("update") || sender === caller}
            />
          )}
        </Thread>
        {logs?.snapshot && logs.snapshotAt && (
          <p class="faint">
            As of <Time at={logs.snapshotAt} />: the task does not run.
          </p>
        )}
        {mayTalk && <Composer taskId={id} isBusy={isBusy} />}
      </Panel>
    </>
  );
}

/** The messages without the prompt, which stands above them and is the first one that users sent. */
function withoutPrompt(entries: readonly Entry[], prompt: string): readonly Entry[] {
  const at = entries.findIndex(({ type }) => type === "INPUT");
  return at >= 0 && isSameText(entries[at]!.content, prompt) ? entries.toSpliced(at, 1) : entries;
}

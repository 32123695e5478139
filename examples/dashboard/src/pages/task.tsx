import { useMutation, useQuery } from "@apollo/client/react";
import { Link, useNavigate, useParams } from "react-router";
import { useLive } from "../api/live";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import { Failure } from "../ui/failure";
import { Confirmed, Form } from "../ui/form";
import { useNotices } from "../ui/notices";
import { Empty, Facts, Heading, Loading, Panel, Person, Status, Time, wordsOf } from "../ui/parts";
import { TaskStatusBadge } from "./tasks";

const taskQuery = graphql(`
  query Task($task: String!) {
    task(task: $task) {
      ...TaskParts
      createdAt
      initialPrompt
      templateDisplayName
      templateName
      workspaceId
      workspaceName
      owner {
        id
        username
        name
        avatarUrl
      }
    }
  }
  fragment TaskParts on Task {
    id
    name
    displayName
    status
    currentState {
      state
      message
      uri
      timestamp
    }
    inputs {
      id
      content
      state
      createdAt
      lastError
    }
  }
`);

const conversationQuery = graphql(`
  query Conversation($task: String!) {
    task(task: $task) {
      id
      logs {
        snapshot
        snapshotAt
        entries {
          id
          type
          content
          time
        }
      }
    }
  }
`);

const taskChanged = graphql(`
  subscription TaskChanged($id: UUID!) {
    taskChanged(id: $id) {
      ...TaskParts
    }
  }
`);

const sendInput = graphql(`
  mutation SendTaskInput($input: SendTaskInputInput!) {
    sendTaskInput(input: $input) {
      taskInput {
        id
      }
    }
  }
`);

const pauseTask = graphql(`
  mutation PauseTask($input: PauseTaskInput!) {
    pauseTask(input: $input) {
      task {
        id
        status
      }
    }
  }
`);

const resumeTask = graphql(`
  mutation ResumeTask($input: ResumeTaskInput!) {
    resumeTask(input: $input) {
      task {
        id
        status
      }
    }
  }
`);

const deleteTask = graphql(`
  mutation DeleteTask($input: DeleteTaskInput!) {
    deleteTask(input: $input) {
      __typename
    }
  }
`);

export function TaskPage() {
  const { id = "" } = useParams();
  const result = useQuery(taskQuery, { variables: { task: id } });
  const { error, refetch, data = result.previousData } = result;
  const conversation = useQuery(conversationQuery, { variables: { task: id } });
  useLive(taskChanged, id, {
    variables: () => ({ id }),
    onEvent: () => void conversation.refetch().catch(() => {}),
  });
  const [send] = useMutation(sendInput, { refetchQueries: ["Task"] });
  const [pause] = useMutation(pauseTask);
  const [resume] = useMutation(resumeTask);
  const [remove] = useMutation(deleteTask);
  const { attempt } = useNotices();
  const navigate = useNavigate();
  const may = useAllowed({
    delete: { may: "task:delete", resourceId: id },
    ...(data?.task?.workspaceId && {
      pause: { may: "workspace:stop", resourceId: data.task.workspaceId },
      resume: { may: "workspace:start", resourceId: data.task.workspaceId },
      send: { may: "workspace:application_connect", resourceId: data.task.workspaceId },
    }),
  });
  const task = data?.task;
  if (!task) return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
  const variables = { input: { task: id } };
  const state = task.currentState;
  return (
    <>
      <Heading title={task.displayName || task.name} note={task.templateDisplayName || task.templateName}>
        {task.status === "PAUSED" && may("resume") && (
          <button type="button" onClick={() => void attempt(() => resume({ variables }))}>
            Resume
          </button>
        )}
        {task.status !== "PAUSED" && may("pause") && (
          <button type="button" onClick={() => void attempt(() => pause({ variables }))}>
            Pause
          </button>
        )}
        {may("delete") && (
          <Confirmed
            label="Delete"
            question={`Delete ${task.displayName || task.name} and its workspace?`}
            act={async () => {
              await remove({ variables });
              void navigate("/tasks");
            }}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Status", <TaskStatusBadge key="status" status={task.status} state={state?.state} />],
          ["Owner", <Person key="owner" user={task.owner} />],
          [
            "Workspace",
            task.workspaceId ? (
              <Link key="ws" to={`/workspaces/${task.workspaceId}`}>
                {task.workspaceName}
              </Link>
            ) : (
              "–"
            ),
          ],
          ["Created", <Time key="created" at={task.createdAt} />],
        ]}
      />
      {state?.message && (
        <p className="said">
          {state.message} {state.uri && <a href={state.uri}>{state.uri}</a>}{" "}
          <span className="faint">
            · <Time at={state.timestamp} />
          </span>
        </p>
      )}
      <div className="columns">
        <Panel title="Prompt">
          <p className="prose">{task.initialPrompt || "This task began without a prompt."}</p>
        </Panel>
        <Panel title="Conversation">
          <Conversation logs={conversation.data?.task?.logs} error={conversation.error} />
          {task.inputs.length > 0 && (
            <ul className="inputs" aria-label="Inputs">
              {task.inputs.map(({ id: input, content, state: progress, lastError }) => (
                <li key={input}>
                  <Status name={progress} /> {content}
                  {lastError && <span className="fault"> {lastError}</span>}
                </li>
              ))}
            </ul>
          )}
          {may("send") && (
            <Form
              key={task.inputs.length}
              submit="Send"
              fields={[{ name: "input", label: "Message", type: "area", isRequired: true }]}
              onSubmit={({ input = "" }) => send({ variables: { input: { task: id, input } } })}
            />
          )}
        </Panel>
      </div>
    </>
  );
}

interface Logs {
  snapshot: boolean;
  snapshotAt?: string | null;
  entries: Array<{ id: number; type: string; content: string }>;
}

function Conversation({ logs, error }: { logs?: Logs; error?: unknown }) {
  if (!logs) {
    return error ? (
      <Empty>The program of this task cannot be reached, so its conversation is not shown.</Empty>
    ) : (
      <Loading />
    );
  }
  if (logs.entries.length === 0) return <Empty>No messages yet.</Empty>;
  return (
    <>
      {logs.snapshot && (
        <p className="faint">
          As it was <Time at={logs.snapshotAt} />
        </p>
      )}
      <ol className="conversation">
        {logs.entries.map(({ id, type, content }) => (
          <li key={id} className={type.toLowerCase()}>
            <span className="faint">{wordsOf(type)}</span>
            <p>{content}</p>
          </li>
        ))}
      </ol>
    </>
  );
}

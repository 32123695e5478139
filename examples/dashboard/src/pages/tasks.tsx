import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { useLive } from "../api/live";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import type { TaskStatus } from "../gql/graphql";
import { FormDialog, labelOf } from "../ui/form";
import { Choice, List, Search } from "../ui/list";
import { orderOf, usePlace } from "../ui/pages";
import { Heading, Person, Status, Time, wordsOf } from "../ui/parts";

const tasksQuery = graphql(`
  query Tasks($filter: TaskFilter, $orderBy: TaskOrder, $first: Int, $after: String, $last: Int, $before: String) {
    tasks(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        name
        displayName
        status
        createdAt
        currentState {
          state
          message
        }
        owner {
          id
          username
          name
          avatarUrl
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
  }
`);

const taskChanged = graphql(`
  subscription TaskStatus($id: UUID!) {
    taskChanged(id: $id) {
      id
      status
      currentState {
        state
        message
      }
    }
  }
`);

const createTask = graphql(`
  mutation CreateTask($input: CreateTaskInput!) {
    createTask(input: $input) {
      task {
        id
      }
    }
  }
`);

const aiTemplates = graphql(`
  query AiTemplates {
    templates(first: 100) {
      nodes {
        id
        name
        displayName
        organization {
          name
          displayName
        }
        activeVersion {
          id
          hasAiTask
        }
      }
    }
  }
`);

const statuses: readonly TaskStatus[] = ["ACTIVE", "PENDING", "INITIALIZING", "PAUSED", "ERROR", "UNKNOWN"];

export function TasksPage() {
  const place = usePlace();
  const order = orderOf(place, ["CREATED_AT"] as const, "-CREATED_AT");
  const status = place.get("status") as TaskStatus | "";
  const filter = {
    search: place.get("q") || null,
    status: status ? [status] : null,
    owner: place.get("owner") || null,
  };
  const result = useQuery(tasksQuery, { variables: { ...place.cursors, filter, orderBy: order } });
  const list = (result.data ?? result.previousData)?.tasks;
  const [isCreating, setCreating] = useState(false);
  const may = useAllowed({ create: { may: "task:create", ownerId: "me", anyOrg: true } });
  return (
    <>
      <Heading title="Tasks">
        {may("create") && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            Create a task
          </button>
        )}
      </Heading>
      <div className="filters">
        <Search place={place} label="Search by name" />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="Owner" name="owner" options={[["me", "Me"]]} />
      </div>
      <List
        name="Tasks"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No tasks here. Give an AI agent one."
        place={place}
        order={order}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          {
            title: "Task",
            show: ({ id, name, displayName }) => <Link to={`/tasks/${id}`}>{displayName || name}</Link>,
          },
          { title: "Owner", show: ({ owner }) => <Person user={owner} /> },
          { title: "Status", show: (task) => <LiveTask key={task.id} task={task} /> },
          {
            title: "Last message",
            show: ({ currentState }) => currentState?.message || <span className="faint">–</span>,
          },
          { title: "Created", sort: "CREATED_AT", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {isCreating && <CreateTask onClose={() => setCreating(false)} />}
    </>
  );
}

/** A status that follows its task. */
function LiveTask({ task: { id, status, currentState } }: { task: TaskState }) {
  useLive(taskChanged, id, { variables: () => ({ id }) });
  return <TaskStatusBadge status={status} state={currentState?.state} />;
}

interface TaskState {
  id: string;
  status: TaskStatus;
  currentState?: { state: string } | null;
}

/** The status of a task; of an active one, what its program does. */
export const TaskStatusBadge = ({ status, state }: { status: string; state?: string }) => (
  <Status name={status === "ACTIVE" && state ? state : status} />
);

function CreateTask({ onClose }: { onClose: () => void }) {
  const { data } = useQuery(aiTemplates);
  const [create] = useMutation(createTask, { refetchQueries: ["Tasks"] });
  const navigate = useNavigate();
  const templates = data?.templates?.nodes.filter(({ activeVersion }) => activeVersion?.hasAiTask);
  if (!templates) return undefined;
  return (
    <FormDialog
      title="Create a task"
      submit="Create"
      fields={[
        {
          name: "templateVersionId",
          label: "Template",
          isRequired: true,
          options: templates.map((each) => [each.activeVersion!.id, labelOf(each, templates)]),
        },
        { name: "displayName", label: "Name", hint: "The server finds a name if this is empty" },
        { name: "input", label: "Prompt", type: "area", isRequired: true },
      ]}
      onSubmit={async ({ templateVersionId = "", displayName, input }) => {
        const variables = { input: { templateVersionId, input, ...(displayName && { displayName }) } };
        const { data: created } = await create({ variables });
        void navigate(`/tasks/${created!.createTask.task.id}`);
      }}
      onClose={onClose}
    />
  );
}

import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { useData, useLive } from "../api/hooks";
import { Action } from "../ui/action";
import { HealthStatus } from "../ui/health";
import { Choice, Filters, List, Search } from "../ui/list";
import { Heading, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { titleOf, wordsOf } from "../ui/text";
import { CreateTask, TaskChanged, Tasks, type TaskStatus } from "./tasks.gql";
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
  const filter = {
    search: place.filter("q"),
    owner: place.filter("owner"),
    status: status && [status],
    unhealthy: place.get("unhealthy") ? true : null,
  };
  const tasks = useData(Tasks, { ...place.cursors, filter, orderBy: order });
  useLive(TaskChanged, "mine", { variables: () => ({ user: "me" }), onEvent: tasks.refresh, onRestart: tasks.refresh });
  const templates = useUsableTemplates().usable?.filter(({ activeVersion }) => activeVersion!.hasAiTask) ?? [];
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
              { name: "input", label: "Prompt", hint: "What the agent is to do.", isRequired: true },
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
        <Choice place={place} label="Health" name="unhealthy" options={[["yes", "Unhealthy"]]} />
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
          {
            title: "Status",
            // The report says why a task is in error, too.
            show: ({ status: each, health, currentState }) => (
              <HealthStatus
                status={each}
                health={health.reason === currentState?.message ? { state: health.state } : health}
              />
            ),
          },
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

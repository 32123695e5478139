// The part of the overview that people work with: their own workspaces and tasks, with their actions.
import { useAllowed } from "../api/allowed";
import { useData, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Panel, Status, Time } from "../ui/parts";
import { titleOf } from "../ui/text";
import { OverviewOwn } from "./overview-own.gql";
import { PauseTask, ResumeTask } from "./tasks.gql";
import { Transition } from "./workspace-changes";

/** Milliseconds from one load to the next while something changes. */
const interval = 3_000;

const changing = new Set(["PENDING", "STARTING", "STOPPING", "DELETING", "CANCELING", "INITIALIZING"]);

/** The newest workspaces and tasks of the caller. Nothing for those who have none. */
export function OwnWork() {
  const loaded = useData(OverviewOwn, {});
  const may = useAllowed({
    start: { may: "workspace:start", ownerId: "me", anyOrg: true },
    stop: { may: "workspace:stop", ownerId: "me", anyOrg: true },
  });
  const workspaces = loaded.data?.workspaces.nodes ?? [];
  const tasks = loaded.data?.tasks.nodes ?? [];
  usePolling(
    loaded,
    interval,
    [...workspaces, ...tasks].some(({ status }) => changing.has(status)),
  );
  if (workspaces.length === 0 && tasks.length === 0) return null;
  return (
    <div class="columns">
      {workspaces.length > 0 && (
        <Panel title="Your workspaces" actions={<a href="/workspaces?owner=me">All of yours</a>}>
          <ul class="links">
            {workspaces.map((workspace) => (
              <li key={workspace.id}>
                <span>
                  <a href={`/workspaces/${workspace.id}`}>{workspace.name}</a>
                  <span class="faint block">
                    {titleOf(workspace.template)}, used <Time at={workspace.lastUsedAt} />
                  </span>
                </span>
                <span class="own">
                  <Status name={workspace.dormantAt ? "DORMANT" : workspace.status} />
                  {!workspace.dormantAt && (
                    <Transition workspace={workspace} mayStart={may("start")} mayStop={may("stop")} isInList />
                  )}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {tasks.length > 0 && (
        <Panel title="Your tasks" actions={<a href="/tasks?owner=me">All of yours</a>}>
          <ul class="links">
            {tasks.map((task) => (
              <li key={task.id}>
                <span>
                  <a href={`/tasks/${task.id}`}>{titleOf(task)}</a>
                  <span class="faint block">{task.currentState?.message || <Time at={task.createdAt} />}</span>
                </span>
                <span class="own">
                  <Status name={task.status} />
                  {may("stop") && task.status === "ACTIVE" && (
                    <Action label="Pause" on={titleOf(task)} run={PauseTask} given={{ task: task.id }} />
                  )}
                  {may("start") && task.status === "PAUSED" && (
                    <Action label="Resume" on={titleOf(task)} run={ResumeTask} given={{ task: task.id }} />
                  )}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

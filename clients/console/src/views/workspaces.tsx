import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { useData, usePolling } from "../api/hooks";
import { Choice, Filters, List, Search } from "../ui/list";
import { HealthStatus } from "../ui/health";
import { Heading, PersonLink, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { Bulk, bulk, useSelection } from "../ui/selection";
import { titleOf, wordsOf } from "../ui/text";
import { filesStay, Offers } from "./transfers";
import { useOrganizationOptions } from "./organization-choice";
import { canStart, canStop, CreateButton, Transition } from "./workspace-changes";
import {
  StartWorkspace,
  StopWorkspace,
  TransferWorkspaces,
  type UserStatus,
  Workspaces,
  type WorkspacesQuery,
  type WorkspaceStatus,
} from "./workspaces.gql";

type Row = WorkspacesQuery["workspaces"]["nodes"][number];

const inputOf = ({ id: workspace }: Row) => ({ workspace });

const statuses = ["RUNNING", "STOPPED", "FAILED", "PENDING", "STARTING", "STOPPING", "CANCELED", "DELETING"];

/** Milliseconds between loads while a workspace of the list changes: lists have no subscription. */
const pollInterval = 2_000;
const settled = new Set(["RUNNING", "STOPPED", "FAILED", "CANCELED", "DELETED"]);

/** Objects that one request can check by their IDs. */
const mostChecked = 5;

export function WorkspacesView() {
  const place = usePlace();
  const { route } = useLocation();
  const order = place.order(["LAST_USED_AT"] as const, "-LAST_USED_AT");
  const filter = {
    search: place.filter("q"),
    status: place.filter<WorkspaceStatus>("status"),
    organization: place.filter("organization"),
    owner: place.filter("owner"),
    templateId: place.filter("template"),
    dormant: place.get("dormant") ? true : null,
    ownerStatus: place.filter<UserStatus>("ownerStatus"),
    unhealthy: place.get("unhealthy") ? true : null,
  };
  const workspaces = useData(Workspaces, { ...place.cursors, filter, orderBy: order });
  const rows = workspaces.data?.workspaces.nodes ?? [];
  const isChanging = rows.some(({ status, health }) => !settled.has(status) || health.state === "IN_PROGRESS");
  usePolling(workspaces, pollInterval, isChanging);
  const organizations = useOrganizationOptions();
  const selection = useSelection<Row>(({ owner, name }) => `${owner.username}/${name}`, rows);
  // All that one administrates is checked by owner; few objects by their IDs.
  const may = useAllowed<string>({
    create: { may: "workspace:create", ownerId: "me", anyOrg: true },
    startAll: { may: "workspace:start", anyOrg: true },
    stopAll: { may: "workspace:stop", anyOrg: true },
    transferAll: { may: "workspace_transfer:create", anyOrg: true },
    ...Object.fromEntries(
      rows.slice(0, mostChecked).flatMap(({ id }) => [
        [`start ${id}`, { may: "workspace:start", resourceId: id }],
        [`stop ${id}`, { may: "workspace:stop", resourceId: id }],
      ]),
    ),
  });
  return (
    <>
      <Heading title="Workspaces">
        {may("create") && <CreateButton onCreated={(id) => route(`/workspaces/${id}`)} />}
      </Heading>
      <Offers onAccepted={workspaces.refresh} />
      <Filters place={place}>
        <Search place={place} label="Search by name" />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
        <Choice place={place} label="Owner" name="owner" any="Everyone" options={[["me", "Me"]]} />
        <Choice place={place} label="Account of the owner" name="ownerStatus" options={[["SUSPENDED", "Suspended"]]} />
        <Choice place={place} label="Use" name="dormant" options={[["yes", "Dormant"]]} />
        <Choice place={place} label="Health" name="unhealthy" options={[["yes", "Unhealthy"]]} />
      </Filters>
      <Bulk
        selection={selection}
        noun="workspace"
        actions={[
          may("startAll") &&
            bulk({
              label: "Start",
              run: StartWorkspace,
              inputOf,
              fits: ({ status }) => canStart(status),
              done: "starting",
            }),
          may("stopAll") &&
            bulk({
              label: "Stop",
              run: StopWorkspace,
              inputOf,
              fits: ({ status }) => canStop(status),
              done: "stopping",
            }),
          may("transferAll") &&
            bulk({
              label: "Take over",
              run: TransferWorkspaces,
              inputOf: ({ id }: Row) => ({ workspaces: [id] }),
              fits: ({ status, isPrebuild }: Row) => status === "STOPPED" && !isPrebuild,
              done: "yours",
              confirm: `They become yours. ${filesStay}`,
            }),
        ]}
      />
      <List
        name="Workspaces"
        selection={may("startAll") || may("stopAll") ? selection : undefined}
        rows={workspaces.data?.workspaces}
        from={workspaces}
        empty={filter.unhealthy ? "No workspace is unhealthy." : "No workspace matches. Create one from a template."}
        place={place}
        order={order}
        columns={[
          { title: "Workspace", show: ({ id, name }) => <a href={`/workspaces/${id}`}>{name}</a> },
          {
            title: "Owner",
            show: ({ owner, isPrebuild }) => (isPrebuild ? "Built ahead" : <PersonLink user={owner} />),
          },
          { title: "Template", show: ({ template }) => titleOf(template) },
          {
            title: "Status",
            show: ({ status, dormantAt, health }) => (
              <HealthStatus status={status} health={health} label={dormantAt ? "Dormant" : undefined} />
            ),
          },
          { title: "Credits a day", isNumber: true, show: ({ latestBuild }) => latestBuild?.dailyCost },
          { title: "Last used", sort: "LAST_USED_AT", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (row) => (
              <Transition
                workspace={row}
                mayStart={may("startAll") || may(`start ${row.id}`)}
                mayStop={may("stopAll") || may(`stop ${row.id}`)}
                isInList
              />
            ),
          },
        ]}
      />
    </>
  );
}

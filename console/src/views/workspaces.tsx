import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Choice, Filters, List, Search } from "../ui/list";
import { attempt, say } from "../ui/notices";
import { Heading, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { countOf, titleOf, wordsOf } from "../ui/text";
import { useOrganizationOptions } from "./organization-choice";
import { CreateButton, Transition } from "./workspace-changes";
import { StopWorkspace, Workspaces, type WorkspaceStatus } from "./workspaces.gql";

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
  };
  const workspaces = useData(Workspaces, { ...place.cursors, filter, orderBy: order });
  const { refresh } = workspaces;
  const rows = workspaces.data?.workspaces.nodes ?? [];
  const isChanging = rows.some(({ status }) => !settled.has(status));
  useEffect(() => {
    if (!isChanging) return undefined;
    const timer = setInterval(refresh, pollInterval);
    return () => clearInterval(timer);
  }, [isChanging, refresh]);
  const organizations = useOrganizationOptions();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  // All that one administrates is checked by owner; few objects by their IDs.
  const may = useAllowed<string>({
    create: { may: "workspace:create", ownerId: "me", anyOrg: true },
    all: { may: "workspace:stop", anyOrg: true },
    ...Object.fromEntries(
      rows.slice(0, mostChecked).flatMap(({ id }) => [
        [`start ${id}`, { may: "workspace:start", resourceId: id }],
        [`stop ${id}`, { may: "workspace:stop", resourceId: id }],
      ]),
    ),
  });
  const stoppable = rows.filter(({ id, status }) => chosen.has(id) && status === "RUNNING");
  const stopAll = () =>
    attempt(async () => {
      for (const { id } of stoppable) await perform(StopWorkspace, { input: { workspace: id } });
      setChosen(new Set());
      say(`${countOf(stoppable.length, "workspace")} stopping.`);
    });
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  return (
    <>
      <Heading title="Workspaces">
        {stoppable.length > 0 && (
          <button type="button" onClick={() => void stopAll()}>
            Stop {stoppable.length} chosen
          </button>
        )}
        {may("create") && <CreateButton onCreated={(id) => route(`/workspaces/${id}`)} />}
      </Heading>
      <Filters>
        <Search place={place} label="Search by name" />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
        <Choice place={place} label="Owner" name="owner" any="Everyone" options={[["me", "Me"]]} />
        <Choice place={place} label="Use" name="dormant" options={[["yes", "Dormant"]]} />
      </Filters>
      <List
        name="Workspaces"
        rows={workspaces.data?.workspaces}
        from={workspaces}
        empty="No workspace matches. Create one from a template."
        place={place}
        order={order}
        columns={[
          ...(may("all")
            ? [
                {
                  title: "Choose",
                  show: (row: (typeof rows)[number]) => (
                    <input
                      type="checkbox"
                      aria-label={`Choose ${row.name}`}
                      checked={chosen.has(row.id)}
                      onChange={() => toggle(row.id)}
                    />
                  ),
                },
              ]
            : []),
          {
            title: "Workspace",
            show: (row) => (
              <a class="strong" href={`/workspaces/${row.id}`}>
                {row.name}
              </a>
            ),
          },
          {
            title: "Owner",
            show: ({ owner, isPrebuild }) => (isPrebuild ? "Built ahead" : <PersonLink user={owner} />),
          },
          { title: "Template", show: ({ template }) => titleOf(template) },
          {
            title: "Status",
            show: ({ status, dormantAt }) => <Status name={status} label={dormantAt ? "Dormant" : undefined} />,
          },
          { title: "Credits a day", isNumber: true, show: ({ latestBuild }) => latestBuild?.dailyCost ?? "–" },
          { title: "Last used", sort: "LAST_USED_AT", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (row) => (
              <Transition
                workspace={row}
                mayStart={may("all") || may(`start ${row.id}`)}
                mayStop={may("all") || may(`stop ${row.id}`)}
                isInList
              />
            ),
          },
        ]}
      />
    </>
  );
}

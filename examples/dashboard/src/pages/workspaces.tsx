import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Link } from "react-router";
import { useLive } from "../api/live";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import type { WorkspaceStatus } from "../gql/graphql";
import { FormDialog, labelOf } from "../ui/form";
import { Choice, List, Search } from "../ui/list";
import { useNotices } from "../ui/notices";
import { orderOf, usePlace } from "../ui/pages";
import { Heading, Person, Status, Time, wordsOf } from "../ui/parts";

const workspacesQuery = graphql(`
  query Workspaces(
    $filter: WorkspaceFilter
    $orderBy: WorkspaceOrder
    $first: Int
    $after: String
    $last: Int
    $before: String
  ) {
    workspaces(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        name
        status
        lastUsedAt
        owner {
          id
          username
          name
          avatarUrl
        }
        organization {
          id
        }
        template {
          id
          name
          displayName
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

const buildUpdated = graphql(`
  subscription WorkspaceStatus($workspaceId: UUID!) {
    workspaceBuildUpdated(workspaceId: $workspaceId) {
      id
      status
      workspace {
        id
        status
      }
    }
  }
`);

export const startWorkspace = graphql(`
  mutation StartWorkspace($input: StartWorkspaceInput!) {
    startWorkspace(input: $input) {
      workspace {
        id
        status
      }
    }
  }
`);

export const stopWorkspace = graphql(`
  mutation StopWorkspace($input: StopWorkspaceInput!) {
    stopWorkspace(input: $input) {
      workspace {
        id
        status
      }
    }
  }
`);

const createWorkspace = graphql(`
  mutation CreateWorkspace($input: CreateWorkspaceInput!) {
    createWorkspace(input: $input) {
      workspace {
        id
      }
    }
  }
`);

const templatesQuery = graphql(`
  query Templates {
    templates(first: 100) {
      nodes {
        id
        name
        displayName
        organization {
          name
          displayName
        }
      }
    }
  }
`);

const statuses: readonly WorkspaceStatus[] = ["RUNNING", "STOPPED", "STARTING", "STOPPING", "PENDING", "FAILED"];

export function WorkspacesPage() {
  const place = usePlace();
  const order = orderOf(place, ["LAST_USED_AT"] as const, "-LAST_USED_AT");
  const filter = {
    search: place.get("q") || null,
    status: (place.get("status") || null) as WorkspaceStatus | null,
    owner: place.get("owner") || null,
  };
  const result = useQuery(workspacesQuery, { variables: { ...place.cursors, filter, orderBy: order } });
  const list = (result.data ?? result.previousData)?.workspaces;
  const [isCreating, setCreating] = useState(false);
  const may = useAllowed({
    create: { may: "workspace:create", ownerId: "me", anyOrg: true },
    ...Object.fromEntries(
      list?.nodes.flatMap(({ id, owner, organization }) =>
        (["start", "stop"] as const).map((action) => [
          `${action} ${id}`,
          // Shares are not considered: the page of a workspace, which asks for it by its ID, has the button as well.
          { may: `workspace:${action}` as const, ownerId: owner.id, organizationId: organization.id },
        ]),
      ) ?? [],
    ),
  });
  return (
    <>
      <Heading title="Workspaces">
        {may("create") && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            Create a workspace
          </button>
        )}
      </Heading>
      <div className="filters">
        <Search place={place} label="Search by name" />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="Owner" name="owner" options={[["me", "Me"]]} />
      </div>
      <List
        name="Workspaces"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No workspaces here. Create one to begin."
        place={place}
        order={order}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Name", show: ({ id, name }) => <Link to={`/workspaces/${id}`}>{name}</Link> },
          { title: "Owner", show: ({ owner }) => <Person user={owner} /> },
          { title: "Template", show: ({ template }) => template.displayName || template.name },
          { title: "Status", show: ({ id, status }) => <LiveStatus key={id} id={id} status={status} /> },
          { title: "Last used", sort: "LAST_USED_AT", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (workspace) => (
              <Transition workspace={workspace} may={(action) => may(`${action} ${workspace.id}`)} />
            ),
          },
        ]}
      />
      {isCreating && <CreateWorkspace onClose={() => setCreating(false)} />}
    </>
  );
}

/** A status that follows the builds of its workspace. The events update the cache, which all pages read. */
function LiveStatus({ id, status }: { id: string; status: WorkspaceStatus }) {
  useLive(buildUpdated, id, { variables: () => ({ workspaceId: id }) });
  return <Status name={status} />;
}

/** The button that starts or stops a workspace. */
export function Transition({
  workspace: { id, name, status },
  may,
}: {
  workspace: { id: string; name: string; status: string };
  may: (action: "start" | "stop") => boolean;
}) {
  const [start] = useMutation(startWorkspace);
  const [stop] = useMutation(stopWorkspace);
  const { attempt } = useNotices();
  const variables = { input: { workspace: id } };
  const act = () => (status === "RUNNING" ? stop({ variables }) : start({ variables }));
  const isMoving = ["PENDING", "STARTING", "STOPPING", "DELETING", "CANCELING"].includes(status);
  const verb = status === "RUNNING" ? "Stop" : "Start";
  if (!may(status === "RUNNING" ? "stop" : "start")) return undefined;
  return (
    <button type="button" aria-label={`${verb} ${name}`} disabled={isMoving} onClick={() => void attempt(act)}>
      {verb}
    </button>
  );
}

function CreateWorkspace({ onClose }: { onClose: () => void }) {
  const { data } = useQuery(templatesQuery);
  const [create] = useMutation(createWorkspace, { refetchQueries: ["Workspaces"] });
  if (!data?.templates) return undefined;
  return (
    <FormDialog
      title="Create a workspace"
      submit="Create"
      fields={[
        { name: "name", label: "Name", isRequired: true },
        {
          name: "templateId",
          label: "Template",
          isRequired: true,
          options: data.templates.nodes.map((each, _, all) => [each.id, labelOf(each, all)]),
        },
      ]}
      onSubmit={({ name = "", templateId }) => create({ variables: { input: { name, templateId } } })}
      onClose={onClose}
    />
  );
}

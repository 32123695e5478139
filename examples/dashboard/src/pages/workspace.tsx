import { useMutation, useQuery } from "@apollo/client/react";
import { Link, useNavigate, useParams } from "react-router";
import { useLive } from "../api/live";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import { Failure } from "../ui/failure";
import { Confirmed } from "../ui/form";
import { List } from "../ui/list";
import { Log } from "../ui/log";
import { Empty, Facts, Heading, Loading, Panel, Person, Status, Time, wordsOf } from "../ui/parts";
import { Transition } from "./workspaces";

const workspaceQuery = graphql(`
  query Workspace($id: UUID!) {
    workspace(id: $id) {
      id
      name
      status
      createdAt
      lastUsedAt
      deadline
      owner {
        id
        username
        name
        avatarUrl
      }
      organization {
        id
        name
        displayName
      }
      template {
        id
        name
        displayName
      }
      latestBuild {
        ...Build
      }
      builds(first: 10) {
        nodes {
          id
          buildNumber
          transition
          status
          reason
          createdAt
          initiator {
            id
            username
            name
          }
        }
      }
    }
  }
  fragment Build on WorkspaceBuild {
    id
    buildNumber
    status
    dailyCost
    job {
      id
      status
      error
      logs(first: 200) {
        nodes {
          id
          stage
          output
          level
        }
      }
    }
    resources {
      id
      name
      type
      dailyCost
      agents {
        id
        name
        status
        lifecycleState
        apps {
          id
          slug
          displayName
          health
        }
        logs(first: 200) {
          nodes {
            id
            output
            level
          }
        }
      }
    }
  }
`);

const buildUpdated = graphql(`
  subscription WorkspaceBuilds($workspaceId: UUID!) {
    workspaceBuildUpdated(workspaceId: $workspaceId) {
      ...Build
      workspace {
        id
        status
        latestBuild {
          id
        }
      }
    }
  }
`);

const deleteWorkspace = graphql(`
  mutation DeleteWorkspace($input: DeleteWorkspaceInput!) {
    deleteWorkspace(input: $input) {
      workspace {
        id
        status
      }
    }
  }
`);

/** Milliseconds between looks at the agents, whose states have no subscription. */
const pollInterval = 15_000;

export function WorkspacePage() {
  const { id = "" } = useParams();
  const result = useQuery(workspaceQuery, { variables: { id }, pollInterval });
  const { error, refetch, data = result.previousData } = result;
  const [remove] = useMutation(deleteWorkspace);
  const navigate = useNavigate();
  const may = useAllowed({
    start: { may: "workspace:start", resourceId: id },
    stop: { may: "workspace:stop", resourceId: id },
    delete: { may: "workspace:delete", resourceId: id },
  });
  const workspace = data?.workspace;
  useLive(buildUpdated, id, {
    variables: () => ({ workspaceId: id }),
    onEvent: ({ workspaceBuildUpdated: { id: build } }) => {
      if (!workspace?.builds.nodes.some((each) => each.id === build)) void refetch();
    },
    onRestart: () => void refetch(),
  });
  if (!workspace) return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
  const build = workspace.latestBuild;
  const agents = build?.resources.flatMap((resource) => resource.agents) ?? [];
  return (
    <>
      <Heading title={workspace.name} note={workspace.template.displayName || workspace.template.name}>
        <Transition workspace={workspace} may={may} />
        {may("delete") && (
          <Confirmed
            label="Delete"
            question={`Delete ${workspace.name} and its files?`}
            act={async () => {
              await remove({ variables: { input: { workspace: id } } });
              void navigate("/workspaces");
            }}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Status", <Status key="status" name={workspace.status} />],
          [
            "Owner",
            <Link key="owner" to={`/users/${workspace.owner.id}`}>
              <Person user={workspace.owner} />
            </Link>,
          ],
          ["Organization", workspace.organization.displayName || workspace.organization.name],
          ["Credits a day", build?.dailyCost ?? "–"],
          ["Last used", <Time key="used" at={workspace.lastUsedAt} />],
          ["Stops by itself", workspace.deadline ? <Time key="stops" at={workspace.deadline} /> : "never"],
        ]}
      />
      {build?.job.error && <p className="alarm">{build.job.error}</p>}
      <div className="columns">
        <Panel title="Agents">
          {agents.length === 0 && <Empty>Agents run while the workspace does.</Empty>}
          {agents.map((agent) => (
            <article key={agent.id} className="agent">
              <h3>
                {agent.name} <Status name={agent.status} />
              </h3>
              <p className="faint">
                {wordsOf(agent.lifecycleState)}
                {agent.apps.map(({ id: app, slug, displayName, health }) => (
                  <span key={app}>
                    {" · "}
                    {displayName || slug}
                    {health !== "DISABLED" && `, ${wordsOf(health).toLowerCase()}`}
                  </span>
                ))}
              </p>
              <Log lines={agent.logs.nodes} label={`Log of ${agent.name}`} />
            </article>
          ))}
        </Panel>
        <Panel title={build ? `Log of build ${build.buildNumber}` : "Log"}>
          <Log lines={build?.job.logs.nodes ?? []} label="Log of the build" />
        </Panel>
      </div>
      <Panel title="Builds">
        <List
          name="Builds"
          rows={workspace.builds.nodes}
          empty="No builds."
          columns={[
            { title: "Number", show: ({ buildNumber }) => buildNumber },
            { title: "Transition", show: ({ transition }) => wordsOf(transition) },
            { title: "Status", show: ({ status }) => <Status name={status} /> },
            { title: "Requested by", show: ({ initiator }) => initiator.name || initiator.username },
            { title: "Reason", show: ({ reason }) => wordsOf(reason) },
            { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
        />
      </Panel>
    </>
  );
}

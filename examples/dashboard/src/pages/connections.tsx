import { useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import { describe } from "../api/errors";
import { Choice, List, Search } from "../ui/list";
import { orderOf, usePlace } from "../ui/pages";
import { Heading, Person, Status, Time, wordsOf } from "../ui/parts";

const connectionsQuery = graphql(`
  query Connections(
    $q: String
    $orderBy: ConnectionLogOrder
    $first: Int
    $after: String
    $last: Int
    $before: String
  ) {
    connectionLogs(q: $q, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        connectTime
        type
        ip
        agentName
        workspaceName
        workspaceOwner {
          id
          username
          name
          avatarUrl
        }
        sshInfo {
          disconnectTime
          disconnectReason
          exitCode
        }
        webInfo {
          slugOrPort
          statusCode
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

const types = ["ssh", "vscode", "jetbrains", "reconnecting_pty", "workspace_app", "port_forwarding"];

export function ConnectionsPage() {
  const place = usePlace();
  const order = orderOf(place, ["CONNECT_TIME"] as const, "-CONNECT_TIME");
  const [type, status] = [place.get("type"), place.get("status")];
  const q = [place.get("q"), type && `type:${type}`, status && `status:${status}`].filter(Boolean).join(" ");
  const result = useQuery(connectionsQuery, { variables: { ...place.cursors, q, orderBy: order } });
  const list = (result.data ?? result.previousData)?.connectionLogs;
  const fault = result.error && describe(result.error).validations.find(({ field }) => field === "q");
  return (
    <>
      <Heading title="Connections" />
      <div className="filters">
        <Search place={place} label="Search, such as workspace_owner:ada" />
        <Choice place={place} label="Type" name="type" options={types.map((name) => [name, wordsOf(name)])} />
        <Choice
          place={place}
          label="Status"
          name="status"
          options={[
            ["ongoing", "Open"],
            ["completed", "Ended"],
          ]}
        />
      </div>
      {fault && (
        <p className="fault" role="alert">
          {fault.detail}
        </p>
      )}
      <List
        name="Connections"
        rows={list?.nodes}
        error={fault ? undefined : result.error}
        retry={() => void result.refetch()}
        empty="No connection matches."
        place={place}
        order={order}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Began", sort: "CONNECT_TIME", show: ({ connectTime }) => <Time at={connectTime} /> },
          { title: "Type", show: ({ type: kind }) => wordsOf(kind) },
          { title: "Workspace", show: ({ workspaceName, agentName }) => `${workspaceName} · ${agentName}` },
          { title: "Owner", show: ({ workspaceOwner }) => <Person user={workspaceOwner} /> },
          { title: "Address", show: ({ ip }) => ip ?? "–" },
          { title: "Ended", show: (row) => <End row={row} /> },
        ]}
      />
    </>
  );
}

interface Entry {
  sshInfo?: { disconnectTime?: string | null; disconnectReason?: string | null } | null;
  webInfo?: { slugOrPort: string; statusCode?: number | null } | null;
}

function End({ row: { sshInfo, webInfo } }: { row: Entry }) {
  if (webInfo) return [webInfo.slugOrPort, webInfo.statusCode].filter(Boolean).join(", status ");
  if (!sshInfo?.disconnectTime) return <Status name="CONNECTED" label="Open" />;
  return (
    <>
      <Time at={sshInfo.disconnectTime} />{" "}
      {sshInfo.disconnectReason && <span className="faint">{sshInfo.disconnectReason}</span>}
    </>
  );
}

import { useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import type { AuditAction } from "../gql/graphql";
import { Choice, List, Search } from "../ui/list";
import { orderOf, usePlace } from "../ui/pages";
import { Heading, Time, wordsOf } from "../ui/parts";

const auditQuery = graphql(`
  query Audit(
    $filter: AuditEventFilter
    $orderBy: AuditEventOrder
    $first: Int
    $after: String
    $last: Int
    $before: String
  ) {
    auditEvents(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        time
        action
        actorKind
        actorUsername
        resourceType
        resourceLabel
        diff
        ip
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

const actions: readonly AuditAction[] = [
  "CREATE",
  "UPDATE",
  "DELETE",
  "START",
  "STOP",
  "LOGIN",
  "LOGIN_FAILED",
  "LOGOUT",
  "AUTHORIZE",
  "DENY",
  "REVOKE",
  "DELIVER",
];

const types = [
  "user",
  "group",
  "organization",
  "template",
  "workspace",
  "task",
  "oauth2_app",
  "user_secret",
  "api_key",
];

export function AuditPage() {
  const place = usePlace();
  const order = orderOf(place, ["TIME"] as const, "-TIME");
  const filter = {
    actor: place.get("q") || null,
    action: (place.get("action") || null) as AuditAction | null,
    resourceType: place.get("type") || null,
  };
  const result = useQuery(auditQuery, { variables: { ...place.cursors, filter, orderBy: order } });
  const list = (result.data ?? result.previousData)?.auditEvents;
  return (
    <>
      <Heading title="Audit log" />
      <div className="filters">
        <Search place={place} label="Actor: username or ID" />
        <Choice place={place} label="Action" name="action" options={actions.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="Object" name="type" options={types.map((name) => [name, wordsOf(name)])} />
      </div>
      <List
        name="Audit events"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No event matches."
        place={place}
        order={order}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Time", sort: "TIME", show: ({ time }) => <Time at={time} /> },
          { title: "Actor", show: ({ actorUsername, actorKind }) => actorUsername ?? wordsOf(actorKind) },
          { title: "Action", show: ({ action }) => wordsOf(action) },
          {
            title: "Object",
            show: ({ resourceType, resourceLabel }) => (
              <>
                {wordsOf(resourceType)} {resourceLabel && <b>{resourceLabel}</b>}
              </>
            ),
          },
          { title: "Changes", show: ({ diff }) => <Changes diff={diff as Diff} /> },
          { title: "Address", show: ({ ip }) => ip ?? <span className="faint">–</span> },
        ]}
      />
    </>
  );
}

type Diff = Record<string, { old?: unknown; new?: unknown }>;

const textOf = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

function Changes({ diff }: { diff: Diff }) {
  const names = Object.keys(diff);
  if (names.length === 0) return <span className="faint">–</span>;
  return (
    <details>
      <summary>{names.length === 1 ? names[0] : `${names.length} fields`}</summary>
      <dl className="diff">
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {diff[name]?.old != null && <del>{textOf(diff[name].old)}</del>} <ins>{textOf(diff[name]?.new)}</ins>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Link } from "react-router";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import { FormDialog, labelOf } from "../ui/form";
import { List, Search } from "../ui/list";
import { orderOf, usePlace } from "../ui/pages";
import { Heading } from "../ui/parts";
import { amountOf } from "./user";

const groupsQuery = graphql(`
  query Groups($filter: GroupFilter, $orderBy: GroupOrder, $first: Int, $after: String, $last: Int, $before: String) {
    groups(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        name
        displayName
        totalMemberCount
        quotaAllowance
        organization {
          id
          name
          displayName
        }
        aiBudget {
          spendLimitMicros
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
    organizations {
      id
      name
      displayName
    }
  }
`);

const createGroup = graphql(`
  mutation CreateGroup($input: CreateGroupInput!) {
    createGroup(input: $input) {
      group {
        id
      }
    }
  }
`);

export function GroupsPage() {
  const place = usePlace();
  const order = orderOf(place, ["NAME"] as const, "NAME");
  const filter = { search: place.get("q") || null };
  const result = useQuery(groupsQuery, { variables: { ...place.cursors, filter, orderBy: order } });
  const data = result.data ?? result.previousData;
  const [isCreating, setCreating] = useState(false);
  const organizations = data?.organizations ?? [];
  const may = useAllowed(
    Object.fromEntries(organizations.map(({ id }) => [id, { may: "group:create", organizationId: id }])),
  );
  const open = organizations.filter(({ id }) => may(id));
  const [create] = useMutation(createGroup, { refetchQueries: ["Groups"] });
  return (
    <>
      <Heading title="Groups">
        {open.length > 0 && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            Create a group
          </button>
        )}
      </Heading>
      <div className="filters">
        <Search place={place} label="Search by name" />
      </div>
      <List
        name="Groups"
        rows={data?.groups?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No group matches."
        place={place}
        order={order}
        pageInfo={data?.groups?.pageInfo}
        totalCount={data?.groups?.totalCount}
        columns={[
          {
            title: "Group",
            show: ({ id, name, displayName }) => <Link to={`/groups/${id}`}>{displayName || name}</Link>,
          },
          {
            title: "Organization and name",
            sort: "NAME",
            show: ({ name, organization }) => `${organization.name}/${name}`,
          },
          { title: "Members", isNumber: true, show: ({ totalMemberCount }) => totalMemberCount },
          { title: "Workspace credits", isNumber: true, show: ({ quotaAllowance }) => quotaAllowance },
          {
            title: "AI budget a month",
            isNumber: true,
            show: ({ aiBudget }) =>
              aiBudget ? amountOf(aiBudget.spendLimitMicros) : <span className="faint">unlimited</span>,
          },
        ]}
      />
      {isCreating && (
        <FormDialog
          title="Create a group"
          submit="Create"
          fields={[
            { name: "name", label: "Name", isRequired: true, hint: "Letters, digits, and single hyphens" },
            { name: "displayName", label: "Display name" },
            {
              name: "organization",
              label: "Organization",
              isRequired: true,
              options: open.map((each) => [each.id, labelOf(each, open)]),
            },
            { name: "quotaAllowance", label: "Workspace credits", type: "number", value: "0" },
          ]}
          onSubmit={({ name = "", displayName, organization = "", quotaAllowance }) =>
            create({
              variables: { input: { name, displayName, organization, quotaAllowance: Number(quotaAllowance) } },
            })
          }
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}

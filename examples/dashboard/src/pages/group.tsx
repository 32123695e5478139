import { useLazyQuery, useMutation, useQuery } from "@apollo/client/react";
import { useId, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import { Failure } from "../ui/failure";
import { Confirmed, FormDialog } from "../ui/form";
import { List } from "../ui/list";
import { useNotices } from "../ui/notices";
import { usePlace } from "../ui/pages";
import { Facts, Heading, Loading, Panel, Person, Time } from "../ui/parts";
import { amountOf } from "./user";

const groupQuery = graphql(`
  query Group($group: String!, $first: Int, $after: String, $last: Int, $before: String) {
    group(group: $group) {
      id
      name
      displayName
      isEveryone
      source
      quotaAllowance
      totalMemberCount
      createdAt
      organization {
        id
        name
        displayName
      }
      aiBudget {
        spendLimitMicros
      }
      members(first: $first, after: $after, last: $last, before: $before) {
        nodes {
          addedAt
          user {
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
  }
`);

const updateGroup = graphql(`
  mutation UpdateGroup($input: UpdateGroupInput!) {
    updateGroup(input: $input) {
      group {
        id
        name
        displayName
        quotaAllowance
        totalMemberCount
      }
    }
  }
`);

const setBudget = graphql(`
  mutation SetBudget($input: SetGroupAiBudgetInput!) {
    setGroupAiBudget(input: $input) {
      groupAiBudget {
        spendLimitMicros
      }
    }
  }
`);

const removeBudget = graphql(`
  mutation RemoveBudget($input: DeleteGroupAiBudgetInput!) {
    deleteGroupAiBudget(input: $input) {
      __typename
    }
  }
`);

const deleteGroup = graphql(`
  mutation DeleteGroup($input: DeleteGroupInput!) {
    deleteGroup(input: $input) {
      __typename
    }
  }
`);

const candidatesQuery = graphql(`
  query Candidates($organization: String!, $search: String!) {
    organizationMembers(organization: $organization, filter: { search: $search }, first: 8) {
      nodes {
        id
        username
        name
        avatarUrl
      }
    }
  }
`);

const refetchQueries = ["Group"];

export function GroupPage() {
  const { id = "" } = useParams();
  const place = usePlace();
  const result = useQuery(groupQuery, { variables: { group: id, ...place.cursors } });
  const [dialog, setDialog] = useState<"edit" | "budget">();
  const [update] = useMutation(updateGroup, { refetchQueries });
  const [limit] = useMutation(setBudget, { refetchQueries });
  const [unlimit] = useMutation(removeBudget, { refetchQueries });
  const [remove] = useMutation(deleteGroup);
  const navigate = useNavigate();
  const { attempt } = useNotices();
  const group = (result.data ?? result.previousData)?.group;
  const may = useAllowed({
    update: { may: "group:update", resourceId: id },
    delete: { may: "group:delete", resourceId: id },
    ...(group && { budget: { may: "group_ai_budget:update", organizationId: group.organization.id } }),
  });
  if (!group) {
    return result.error ? <Failure error={result.error} retry={() => void result.refetch()} /> : <Loading />;
  }
  const change = (input: { addUsers?: string[]; removeUsers?: string[] }) =>
    update({ variables: { input: { group: id, ...input } } });
  return (
    <>
      <Heading title={group.displayName || group.name} note={group.organization.displayName || group.organization.name}>
        {may("update") && (
          <button type="button" onClick={() => setDialog("edit")}>
            Edit
          </button>
        )}
        {may("budget") && (
          <button type="button" onClick={() => setDialog("budget")}>
            AI budget
          </button>
        )}
        {may("delete") && !group.isEveryone && (
          <Confirmed
            label="Delete"
            question={`Delete the group ${group.name}?`}
            act={async () => {
              await remove({ variables: { input: { group: id } } });
              void navigate("/groups");
            }}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Name", group.name],
          ["Members", group.totalMemberCount],
          ["Workspace credits", group.quotaAllowance],
          ["AI budget a month", group.aiBudget ? amountOf(group.aiBudget.spendLimitMicros) : "unlimited"],
          ["Managed by", group.source === "OIDC" ? "the identity provider" : "administrators"],
          ["Created", <Time key="created" at={group.createdAt} />],
        ]}
      />
      <Panel
        title="Members"
        actions={
          may("update") &&
          !group.isEveryone && (
            <AddMember
              organization={group.organization.id}
              add={(user) => attempt(() => change({ addUsers: [user] }), "Added")}
            />
          )
        }
      >
        <List
          name="Members"
          rows={group.members.nodes.map((member) => ({ id: member.user.id, ...member }))}
          empty="Nobody is in this group yet."
          place={place}
          pageInfo={group.members.pageInfo}
          totalCount={group.totalMemberCount}
          columns={[
            {
              title: "Name",
              show: ({ user }) => (
                <Link to={`/users/${user.id}`}>
                  <Person user={user} />
                </Link>
              ),
            },
            { title: "Username", show: ({ user }) => user.username },
            { title: "Added", show: ({ addedAt }) => (addedAt ? <Time at={addedAt} /> : "–") },
            {
              title: "Actions",
              isAction: true,
              show: ({ user }) =>
                may("update") &&
                !group.isEveryone && (
                  <button
                    type="button"
                    className="plain"
                    aria-label={`Remove ${user.username}`}
                    onClick={() => void attempt(() => change({ removeUsers: [user.id] }), "Removed")}
                  >
                    Remove
                  </button>
                ),
            },
          ]}
        />
      </Panel>
      {dialog === "edit" && (
        <FormDialog
          title={`Edit ${group.name}`}
          submit="Save"
          fields={[
            { name: "name", label: "Name", value: group.name, isRequired: true },
            { name: "displayName", label: "Display name", value: group.displayName },
            {
              name: "quotaAllowance",
              label: "Workspace credits",
              type: "number",
              value: String(group.quotaAllowance),
              hint: "What workspaces of each member may cost a day",
            },
          ]}
          onSubmit={({ name, displayName, quotaAllowance }) =>
            update({
              variables: {
                input: {
                  group: id,
                  // Everyone keeps its name.
                  ...(name !== group.name && { name }),
                  displayName,
                  quotaAllowance: Number(quotaAllowance),
                },
              },
            })
          }
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === "budget" && (
        <FormDialog
          title="AI budget of each member"
          submit="Save"
          fields={[
            {
              name: "spendLimitMicros",
              label: "Amount a month",
              type: "number",
              value: group.aiBudget ? String(group.aiBudget.spendLimitMicros / 1_000_000) : "",
              hint: "Empty for unlimited",
            },
          ]}
          onSubmit={({ spendLimitMicros: amount }) =>
            amount
              ? limit({ variables: { input: { group: id, spendLimitMicros: Math.round(Number(amount) * 1_000_000) } } })
              : unlimit({ variables: { input: { group: id } } })
          }
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

/** Finds members of the organization, and adds one to the group. */
function AddMember({ organization, add }: { organization: string; add: (user: string) => Promise<void> }) {
  const [find, { data }] = useLazyQuery(candidatesQuery);
  const [text, setText] = useState("");
  const id = useId();
  return (
    <search className="add">
      <label htmlFor={id} className="hidden">
        Add a member
      </label>
      <input
        id={id}
        type="search"
        placeholder="Add a member"
        value={text}
        onChange={({ target: { value } }) => {
          setText(value);
          if (value) void find({ variables: { organization, search: value } });
        }}
      />
      {text && (
        <ul aria-label="Candidates">
          {data?.organizationMembers.nodes.map((person) => (
            <li key={person.id}>
              <button
                type="button"
                className="plain"
                onClick={() => {
                  setText("");
                  void add(person.id);
                }}
              >
                <Person user={person} />
              </button>
            </li>
          ))}
          {data?.organizationMembers.nodes.length === 0 && <li className="faint">Nobody matches.</li>}
        </ul>
      )}
    </search>
  );
}

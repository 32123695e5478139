import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import type { RoleName } from "../gql/graphql";
import { Failure } from "../ui/failure";
import { Confirmed, FormDialog } from "../ui/form";
import { useNotices } from "../ui/notices";
import { Empty, Facts, Heading, Loading, Panel, Status, Time, wordsOf } from "../ui/parts";
import { rolesOf } from "./users";

const userQuery = graphql(`
  query User($user: String!) {
    user(user: $user) {
      id
      username
      name
      email
      avatarUrl
      status
      loginType
      createdAt
      lastSeenAt
      roles {
        name
      }
      organizations {
        id
        name
        displayName
      }
      groups(first: 50) {
        nodes {
          id
          name
          displayName
        }
      }
      workspaces(first: 50) {
        nodes {
          id
          name
          status
        }
      }
    }
    aiSpend(user: $user) {
      spentMicros
      limitMicros
    }
    workspaceQuota(user: $user) {
      creditsConsumed
      budget
    }
  }
`);

const updateUser = graphql(`
  mutation UpdateUser($input: UpdateUserInput!) {
    updateUser(input: $input) {
      user {
        id
        username
        name
        email
        avatarUrl
      }
    }
  }
`);

const setRoles = graphql(`
  mutation SetUserRoles($input: SetUserRolesInput!) {
    setUserRoles(input: $input) {
      user {
        id
        roles {
          name
        }
      }
    }
  }
`);

const suspend = graphql(`
  mutation SuspendUser($input: SuspendUserInput!) {
    suspendUser(input: $input) {
      user {
        id
        status
      }
    }
  }
`);

const activate = graphql(`
  mutation ActivateUser($input: ActivateUserInput!) {
    activateUser(input: $input) {
      user {
        id
        status
      }
    }
  }
`);

const siteRoles: readonly RoleName[] = ["OWNER", "USER_ADMIN", "TEMPLATE_ADMIN", "AUDITOR"];

/** An amount in millionths, as people read it. */
export const amountOf = (micros: number): string =>
  (micros / 1_000_000).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export function UserPage() {
  const { id = "" } = useParams();
  // The numbers need other permissions than the user.
  const result = useQuery(userQuery, { variables: { user: id }, errorPolicy: "all" });
  const { error, refetch, data = result.previousData } = result;
  const [dialog, setDialog] = useState<"edit" | "roles">();
  const [update] = useMutation(updateUser);
  const [changeRoles] = useMutation(setRoles);
  const [suspendOne] = useMutation(suspend);
  const [activateOne] = useMutation(activate);
  const { attempt } = useNotices();
  const may = useAllowed({
    edit: { may: "user:update_personal", resourceId: id },
    update: { may: "user:update", resourceId: id },
    roles: { may: "assign_role:assign" },
  });
  const user = data?.user;
  if (!user) return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
  const held = new Set<string>(user.roles.map(({ name }) => name));
  return (
    <>
      <Heading title={user.name || user.username} note={user.email}>
        {may("edit") && (
          <button type="button" onClick={() => setDialog("edit")}>
            Edit
          </button>
        )}
        {may("roles") && (
          <button type="button" onClick={() => setDialog("roles")}>
            Roles
          </button>
        )}
        {!may("update") ? undefined : user.status === "ACTIVE" ? (
          <Confirmed
            label="Suspend"
            question={`Suspend ${user.username}? All sessions end.`}
            act={() => suspendOne({ variables: { input: { user: user.id } } })}
          />
        ) : (
          <button
            type="button"
            onClick={() => void attempt(() => activateOne({ variables: { input: { user: user.id } } }), "Activated")}
          >
            Activate
          </button>
        )}
      </Heading>
      <Facts
        facts={[
          ["Username", user.username],
          ["Status", <Status key="status" name={user.status} />],
          ["Signs in with", wordsOf(user.loginType)],
          ["Roles", rolesOf(user.roles) || "Member"],
          ["Last seen", <Time key="seen" at={user.lastSeenAt} />],
          ["Created", <Time key="created" at={user.createdAt} />],
          ["AI spending this month", data.aiSpend ? spendingOf(data.aiSpend) : "–"],
          ["Workspace credits", data.workspaceQuota ? quotaOf(data.workspaceQuota) : "–"],
        ]}
      />
      <div className="columns">
        <Panel title="Groups">
          {user.groups.nodes.length === 0 && <Empty>In no group.</Empty>}
          <ul className="links">
            {user.groups.nodes.map((group) => (
              <li key={group.id}>
                <Link to={`/groups/${group.id}`}>{group.displayName || group.name}</Link>
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Workspaces">
          {user.workspaces.nodes.length === 0 && <Empty>No workspaces.</Empty>}
          <ul className="links">
            {user.workspaces.nodes.map(({ id: workspace, name, status }) => (
              <li key={workspace}>
                <Link to={`/workspaces/${workspace}`}>{name}</Link> <Status name={status} />
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Organizations">
          <ul className="links">
            {user.organizations.map(({ id: organization, name, displayName }) => (
              <li key={organization}>{displayName || name}</li>
            ))}
          </ul>
        </Panel>
      </div>
      {dialog === "edit" && (
        <FormDialog
          title={`Edit ${user.username}`}
          submit="Save"
          fields={[
            { name: "name", label: "Name", value: user.name },
            { name: "username", label: "Username", value: user.username, isRequired: true },
            { name: "email", label: "Email", type: "email", value: user.email, isRequired: true },
            { name: "avatarUrl", label: "Picture", type: "url", value: user.avatarUrl, hint: "URL of a picture" },
          ]}
          onSubmit={(values) => update({ variables: { input: { user: user.id, ...values } } })}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === "roles" && (
        <FormDialog
          title={`Roles of ${user.username}`}
          submit="Save"
          fields={siteRoles.map((name) => ({
            name,
            label: wordsOf(name),
            type: "check",
            value: held.has(name) ? "yes" : "",
          }))}
          onSubmit={(values) =>
            changeRoles({ variables: { input: { user: user.id, roles: siteRoles.filter((name) => values[name]) } } })
          }
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

const spendingOf = ({ spentMicros, limitMicros }: { spentMicros: number; limitMicros?: number | null }) =>
  limitMicros == null ? amountOf(spentMicros) : `${amountOf(spentMicros)} of ${amountOf(limitMicros)}`;

const quotaOf = ({ creditsConsumed, budget }: { creditsConsumed: number; budget: number }) =>
  `${creditsConsumed} of ${budget}`;

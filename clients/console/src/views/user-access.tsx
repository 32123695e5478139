// Panels of a user's page: the organizations and groups, which administrators change in place, and the audit log.
import { type Check, useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { Options } from "../ui/form";
import { Empty, Label, Panel, Time } from "../ui/parts";
import { doneOf, nounOf, titleOf, wordsOf } from "../ui/text";
import { useOrganizationOptions } from "./organization-choice";
import {
  ChangeGroupOfUser,
  GroupsToJoin,
  JoinOrganization,
  LeaveOrganization,
  LogOfUser,
  type RoleName,
  RolesThere,
  SetRolesThere,
} from "./user-access.gql";
import { organizationRoles } from "./role-names";

/** `ORGANIZATION_USER_ADMIN` → "User admin". */
const roleThere = (name: string): string => wordsOf(name.replace(/^ORGANIZATION_/, ""));

const roleOptions: Options = organizationRoles.map((name) => [name, roleThere(name)] as const);

interface Named {
  id: string;
  name: string;
  displayName: string;
}

interface Subject {
  id: string;
  username: string;
  organizations: readonly Named[];
  roles: ReadonlyArray<{ name: RoleName; organizationId: string }>;
  groups: { nodes: ReadonlyArray<Named & { isEveryone: boolean; organization: { id: string } }> };
}

/** The organizations of a user, with the roles there. */
export function Memberships({ user }: { user: Subject }) {
  const all = useOrganizationOptions();
  const { id: ownerId } = user;
  const checks: Array<[string, Check]> = user.organizations.flatMap(({ id }) => [
    [`roles ${id}`, { may: "assign_org_role:assign", organizationId: id }],
    [`remove ${id}`, { may: "organization_member:delete", ownerId, organizationId: id }],
  ]);
  const may = useAllowed<string>({
    add: { may: "organization_member:create", ownerId, anyOrg: true },
    addAnywhere: { may: "user:create" },
    ...Object.fromEntries(checks),
  });
  const others = all.filter(([id]) => !user.organizations.some((each) => each.id === id));
  return (
    <Panel
      title="Organizations"
      actions={
        (may("add") || may("addAnywhere")) &&
        others.length > 0 && (
          <Action
            label="Add"
            on={`${user.username} to an organization`}
            title={`Add ${user.username} to an organization`}
            run={JoinOrganization}
            given={{ user: user.id }}
            fields={[{ name: "organization", options: others }]}
            submit="Add"
          />
        )
      }
    >
      {user.organizations.length === 0 && <Empty>A member of none.</Empty>}
      <ul class="links">
        {user.organizations.map((organization) => (
          <Membership
            key={organization.id}
            user={user}
            organization={organization}
            mayChange={may(`roles ${organization.id}`)}
            mayRemove={may(`remove ${organization.id}`)}
          />
        ))}
      </ul>
    </Panel>
  );
}

interface MembershipProps {
  user: Subject;
  organization: Named;
  mayChange: boolean;
  mayRemove: boolean;
}

function Membership({ user, organization, mayChange, mayRemove }: MembershipProps) {
  const { id } = organization;
  const title = titleOf(organization);
  const held = user.roles.filter(({ organizationId }) => organizationId === id).map(({ name }) => name);
  const { data } = useData(RolesThere, mayChange ? { organization: id } : undefined);
  const mayAssign = (role: string) => data?.assignableRoles.some((each) => each.name === role && each.assignable);
  // Roles that the user has are shown in any case: those that are saved replace all of them.
  const options = roleOptions.filter(([role]) => mayAssign(role) || held.some((each) => each === role));
  return (
    <li>
      <span>
        <a href={`/organizations/${id}`}>{title}</a>
        <span class="faint block">{held.map(roleThere).join(", ") || "Member"}</span>
      </span>
      <span class="actions">
        {mayChange && (
          <Action
            label="Roles"
            on={`in ${title}`}
            title={`Roles of ${user.username} in ${title}`}
            run={SetRolesThere}
            given={{ user: user.id, organization: id }}
            fields={[{ name: "roles", options, hint: "Everyone there is a member." }]}
            values={{ roles: held }}
            prepare={({ roles }) => ({ roles: (roles as RoleName[] | undefined) ?? held })}
            submit="Save"
          />
        )}
        {mayRemove && (
          <Action
            label="Remove"
            on={`from ${title}`}
            look="danger"
            confirm="The roles, groups, and shares there are lost with the membership."
            run={LeaveOrganization}
            given={{ user: user.id, organization: id }}
            said={`${user.username} is no longer in ${title}.`}
          />
        )}
      </span>
    </li>
  );
}

/** The groups of a user. Everyone is managed by the membership. */
export function GroupsOf({ user }: { user: Subject }) {
  const may = useAllowed({ change: { may: "group:update", anyOrg: true }, changeAnywhere: { may: "user:create" } });
  const isManager = may("change") || may("changeAnywhere");
  const groups = useData(GroupsToJoin, isManager ? {} : undefined).data?.groups.nodes ?? [];
  const own = user.groups.nodes.filter(({ isEveryone }) => !isEveryone);
  const options: Options = groups
    .filter(
      ({ id, isEveryone, organization }) =>
        !isEveryone &&
        user.organizations.some((each) => each.id === organization.id) &&
        !own.some((each) => each.id === id),
    )
    .map((group) => [
      group.id,
      user.organizations.length > 1 ? `${titleOf(group)} (${group.organization.name})` : titleOf(group),
    ]);
  return (
    <Panel
      title="Groups"
      actions={
        isManager &&
        options.length > 0 && (
          <Action
            label="Add"
            on={`${user.username} to a group`}
            title={`Add ${user.username} to a group`}
            run={ChangeGroupOfUser}
            given={{ addUsers: [user.id] }}
            fields={[{ name: "group", options }]}
            submit="Add"
          />
        )
      }
    >
      {own.length === 0 && <Empty>In no group.</Empty>}
      <ul class="links">
        {own.map((group) => (
          <li key={group.id}>
            <a href={`/groups/${group.id}`}>{titleOf(group)}</a>
            {isManager && (
              <Action
                label="Remove"
                on={`from ${titleOf(group)}`}
                run={ChangeGroupOfUser}
                given={{ group: group.id, removeUsers: [user.id] }}
                said={`${user.username} is no longer in ${titleOf(group)}.`}
                undo={() => perform(ChangeGroupOfUser, { input: { group: group.id, addUsers: [user.id] } })}
              />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Names of the fields that an event has changed. */
const fieldsIn = (diff: unknown): string =>
  Object.keys((diff ?? {}) as object)
    .map((name) => nounOf(name))
    .join(", ");

/** The latest events of the audit log: changes of an account, and the actions of its user. */
export function LogOf({ user: { id, username } }: { user: { id: string; username: string } }) {
  const { data } = useData(LogOfUser, { id, user: username });
  if (!data) return null;
  return (
    <div class="columns">
      <Panel title="Changes of the account">
        {data.changes.nodes.length === 0 && <Empty>None in the audit log.</Empty>}
        <ul class="links">
          {data.changes.nodes.map(({ id: event, time, action, actorId, actorUsername, actorKind, diff }) => (
            <li key={event}>
              <span>
                {actorId === id ? (
                  "The user"
                ) : actorId && actorUsername ? (
                  <a href={`/users/${actorId}`}>{actorUsername}</a>
                ) : (
                  wordsOf(actorKind)
                )}{" "}
                {doneOf(action)}
                {action === "UPDATE" && fieldsIn(diff) && ` ${fieldsIn(diff)}`}
              </span>
              <Time at={time} />
            </li>
          ))}
        </ul>
      </Panel>
      <Panel
        title="Actions of the user"
        actions={<a href={`/audit?actor=${encodeURIComponent(username)}`}>Audit log</a>}
      >
        {data.actions.nodes.length === 0 && <Empty>None in the audit log.</Empty>}
        <ul class="links">
          {data.actions.nodes.map(({ id: event, time, action, resourceType, resourceLabel, ip }) => (
            <li key={event}>
              <span>
                {wordsOf(doneOf(action))}{" "}
                {action.startsWith("LOG") ? (
                  ip && <span class="faint">from {ip}</span>
                ) : (
                  <>
                    {nounOf(resourceType)} <Label type={resourceType} text={resourceLabel} />
                  </>
                )}
              </span>
              <Time at={time} />
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

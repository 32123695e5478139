import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { callerId } from "../api/session";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { HealthStatus } from "../ui/health";
import type { Options } from "../ui/form";
import { Choice, Filters, List, Search } from "../ui/list";
import { Empty, Facts, Heading, Labels, Loading, Panel, PersonLink, Share, Status, LastUse, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { Bulk, bulk, useSelection } from "../ui/selection";
import { amountOf, keyNameOf, wordsOf } from "../ui/text";
import { RevokeGrant } from "./applications.gql";
import { CreateKey, Identities, makerOf, RevokeButton } from "./keys";
import { useOrganizationOptions } from "./organization-choice";
import { avatarField, CreateUserButton, profileFields } from "./user-form";
import { QuietHours } from "./preferences";
import { GroupsOf, LogOf, Memberships } from "./user-access";
import {
  ActivateUser,
  DeleteUser,
  LinkIdentity,
  ResetSecondFactors,
  ResetUserPassword,
  type RoleName,
  SetUserRoles,
  SuspendUser,
  UnlinkIdentity,
  UpdateUser,
  User,
  Users,
  UserShares,
  type UserStatus,
} from "./users.gql";
import { siteRoles } from "./role-names";

const siteRoleOptions = siteRoles.map((name) => [name, wordsOf(name)] as const);

const siteRoleChoices: Options = [
  ["OWNER", "Owner", "May do everything."],
  ["USER_ADMIN", "User admin", "Manages people, groups, and organizations."],
  ["TEMPLATE_ADMIN", "Template admin", "Manages templates, and what builds their workspaces."],
  ["AUDITOR", "Auditor", "Sees the logs and settings, and changes nothing."],
];

/** The roles that are held explicitly. */
const rolesOf = (roles: ReadonlyArray<{ name: string }>): string =>
  roles
    .filter(({ name }) => name !== "MEMBER")
    .map(({ name }) => wordsOf(name))
    .join(", ");

/** The roles in the deployment; those in organizations are shown with these. */
const siteRolesOf = (roles: ReadonlyArray<{ name: RoleName; organizationId: string }>): RoleName[] =>
  roles.filter(({ organizationId }) => organizationId === "").map(({ name }) => name);

interface UserRow {
  id: string;
  username: string;
  status: UserStatus;
}

export function UsersView() {
  const place = usePlace();
  const order = place.order(["USERNAME", "CREATED_AT"] as const, "USERNAME");
  const filter = {
    search: place.filter("q"),
    status: place.filter<UserStatus>("status"),
    role: place.filter<RoleName>("role"),
    organization: place.filter("organization"),
    serviceAccount: place.get("kind") ? place.get("kind") === "SERVICE" : null,
  };
  const users = useData(Users, { ...place.cursors, filter, orderBy: order });
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "user:create" },
    update: { may: "user:update" },
    delete: { may: "user:delete" },
  });
  const selection = useSelection<UserRow>(({ username }) => username, users.data?.users.nodes);
  return (
    <>
      <Heading title="Users">
        {may("create") && (
          <>
            <a class="button" href="/invitations">
              Invite people
            </a>
            <CreateUserButton />
          </>
        )}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Search by name or email" />
        <Choice
          place={place}
          label="Status"
          name="status"
          options={[
            ["ACTIVE", "Active"],
            ["SUSPENDED", "Suspended"],
          ]}
        />
        <Choice place={place} label="Role" name="role" options={siteRoleOptions} />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
        <Choice
          place={place}
          label="Kind"
          name="kind"
          options={[
            ["PERSON", "People"],
            ["SERVICE", "Service accounts"],
          ]}
        />
      </Filters>
      <Bulk
        selection={selection}
        noun="user"
        actions={[
          may("update") &&
            bulk({
              label: "Suspend",
              run: SuspendUser,
              inputOf: ({ id: user }: UserRow) => ({ user }),
              fits: ({ status }) => status === "ACTIVE",
              done: "suspended",
              confirm: "They are signed out everywhere, and their tokens no longer work. What they own is kept.",
              undo: ({ id: user }) => perform(ActivateUser, { input: { user } }),
            }),
          may("update") &&
            bulk({
              label: "Activate",
              run: ActivateUser,
              inputOf: ({ id: user }: UserRow) => ({ user }),
              fits: ({ status }) => status === "SUSPENDED",
              done: "activated",
              undo: ({ id: user }) => perform(SuspendUser, { input: { user } }),
            }),
          may("delete") &&
            bulk({
              label: "Delete",
              look: "danger",
              run: DeleteUser,
              inputOf: ({ id: user }: UserRow) => ({ user }),
              done: "deleted",
              confirm: "Their sessions, tokens, secrets, and memberships are lost. This cannot be undone.",
            }),
        ]}
      />
      <List
        name="Users"
        selection={may("update") || may("delete") ? selection : undefined}
        rows={users.data?.users}
        from={users}
        empty="No user matches. Clear the search, or create a user."
        place={place}
        order={order}
        columns={[
          {
            title: "Username",
            sort: "USERNAME",
            show: (user) => <PersonLink user={user} />,
          },
          { title: "Email", show: shownEmail },
          {
            title: "Roles",
            show: ({ roles, isServiceAccount }) =>
              rolesOf(roles) || <span class="faint">{isServiceAccount ? "Service account" : "Member"}</span>,
          },
          { title: "Status", show: ({ status }) => <Status name={status} /> },
          { title: "Last seen", show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          { title: "Created", sort: "CREATED_AT", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

/** The email of a user, or the one that another user took after the user left. */
const shownEmail = ({ email, formerEmail }: { email: string; formerEmail: string | null }): string =>
  formerEmail === null ? email : `${formerEmail} (former)`;

export function UserView({ id }: { id: string }) {
  const { route } = useLocation();
  const may = useAllowed({
    edit: { may: "user:update_personal", resourceId: id },
    readPersonal: { may: "user:read_personal", resourceId: id },
    update: { may: "user:update", resourceId: id },
    delete: { may: "user:delete", resourceId: id },
    roles: { may: "assign_role:assign" },
    keys: { may: "api_key:read", ownerId: id },
    createKey: { may: "api_key:create", ownerId: id },
    revoke: { may: "api_key:delete", ownerId: id },
    audit: { may: "audit_log:read" },
    grants: { may: "oauth2_grant:read", ownerId: id },
    revokeGrant: { may: "oauth2_grant:delete", ownerId: id },
  });
  const variables = may.isKnown
    ? { user: id, hours: may("readPersonal"), keys: may("keys"), grants: may("grants") }
    : undefined;
  const { data, error, refresh } = useData(User, variables);
  const shares = useData(UserShares, { user: id }).data;
  const user = data?.user;
  if (!user) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  return (
    <>
      <Heading title={user.name || user.username} note={shownEmail(user)} up={["/users", "Users"]}>
        {may("edit") && (
          <Action
            label="Edit"
            run={UpdateUser}
            given={{ user: id }}
            fields={[
              ...profileFields,
              { name: "email", hint: "Where notifications go, and the way back in if the password is lost." },
              avatarField,
            ]}
            values={user}
            submit="Save"
          />
        )}
        {may("roles") && (
          <Action
            label="Roles"
            title={`Roles of ${user.username}`}
            run={SetUserRoles}
            given={{ user: id }}
            fields={[
              {
                name: "roles",
                label: "Roles everywhere",
                options: siteRoleChoices,
                hint: "Everyone is a member.",
              },
            ]}
            values={{ roles: siteRolesOf(user.roles) }}
            prepare={({ roles }) => ({ roles: (roles as RoleName[] | undefined) ?? siteRolesOf(user.roles) })}
            submit="Save"
          />
        )}
        {may("update") && user.loginType === "PASSWORD" && (
          <Action
            label="Reset password"
            title={`Reset the password of ${user.username}`}
            note="All sessions of the user end."
            run={ResetUserPassword}
            given={{ user: id }}
            fields={[
              { name: "password", label: "New password", autoComplete: "new-password" },
              { name: "mustChangePassword", label: "The user must change it first" },
            ]}
            defaults={{ mustChangePassword: true }}
            submit="Reset"
            said="The password is reset."
          />
        )}
        {may("update") && user.loginType === "PASSWORD" && id !== callerId.value && (
          <Action
            label="Remove second factor"
            title={`Remove the second factor of ${user.username}`}
            confirm="For users who have lost their authenticator or passkeys, and their recovery codes. Sign-in takes the password alone then, all sessions of the user end, and the user is told."
            run={ResetSecondFactors}
            given={{ user: id }}
            submit="Remove"
            said="The user has no second factor."
          />
        )}
        {may("update") &&
          (user.status === "ACTIVE" ? (
            <Action
              label="Suspend"
              on={user.username}
              look="danger"
              confirm="All sessions end, and keys stop working. What the user owns is kept."
              run={SuspendUser}
              given={{ user: id }}
              said={`${user.username} is suspended.`}
              undo={() => perform(ActivateUser, { input: { user: id } })}
            />
          ) : (
            <Action
              label="Activate"
              run={ActivateUser}
              given={{ user: id }}
              said={`${user.username} is active again.`}
            />
          ))}
        {may("delete") && (
          <Action
            label="Delete"
            on={user.username}
            look="danger"
            confirm={`Memberships, keys, secrets, and linked accounts are deleted too. ${
              user.workspaces.totalCount > 0
                ? `First delete the ${user.workspaces.totalCount} workspaces of the user.`
                : "This cannot be undone."
            }`}
            run={DeleteUser}
            given={{ user: id }}
            done={() => route("/users")}
            said={`${user.username} is deleted.`}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Username", user.username],
          ["Status", <Status key="status" name={user.status} />],
          ...(user.mustChangePassword ? [["Password", "Must be changed at the next sign-in"] as const] : []),
          ["Signs in with", user.isServiceAccount ? "Keys (service account)" : wordsOf(user.loginType)],
          ["Roles", siteRolesOf(user.roles).map(wordsOf).join(", ") || "Member"],
          ["Last seen", <Time key="seen" at={user.lastSeenAt} />],
          ["Created", <Time key="created" at={user.createdAt} />],
          [
            "AI spending this month",
            shares?.aiSpend && (
              <Share key="ai" part={shares.aiSpend.spentMicros} of={shares.aiSpend.limitMicros} show={amountOf} />
            ),
          ],
          [
            "Workspace credits",
            shares?.workspaceQuota && (
              <Share key="credits" part={shares.workspaceQuota.creditsConsumed} of={shares.workspaceQuota.budget} />
            ),
          ],
        ]}
      />
      <div class="columns">
        <Links
          title="Workspaces"
          empty="No workspaces."
          rows={user.workspaces.nodes}
          show={({ id: workspace, name, status, health }) => (
            <>
              <a href={`/workspaces/${workspace}`}>{name}</a> <HealthStatus status={status} health={health} />
            </>
          )}
        />
        <Memberships user={user} />
        <GroupsOf user={user} />
      </div>
      {data.quietHours && !user.isServiceAccount && (
        <QuietHours user={id} hours={data.quietHours} mayChange={may("edit")} />
      )}
      {data.userIdentities && (user.loginType === "OIDC" || user.loginType === "GITHUB") && (
        <Identities
          rows={data.userIdentities}
          actions={
            may("update") && (
              <Action
                label={data.userIdentities.length > 0 ? "Link another" : "Link"}
                title={`Link an identity to ${user.username}`}
                note={`Anyone who signs in at the provider as this identity signs in as ${user.username}.`}
                run={LinkIdentity}
                given={{ user: id }}
                fields={[
                  { name: "provider", hint: "Its name. Without any, that of the user, or the first one." },
                  { name: "subject", label: "ID at the provider", hint: "Its permanent one, not a name or an email." },
                  { name: "issuer", label: "Issuer", hint: "Without any, that of the provider." },
                ]}
                prepare={({ provider, subject = "", issuer }) => ({
                  subject: subject as string,
                  ...((provider as string | undefined) && { provider: provider as string }),
                  ...((issuer as string | undefined) && { issuer: issuer as string }),
                })}
                submit="Link"
                said="The identity is linked."
              />
            )
          }
          actionOf={({ subject, providerName }) =>
            may("update") && (
              <Action
                label="Unlink"
                on={subject}
                look="danger"
                confirm="All sessions end; API tokens keep working. The next sign-in with the email of the user links an identity again."
                run={UnlinkIdentity}
                given={{ user: id, provider: providerName }}
                said="The identity is unlinked."
              />
            )
          }
        />
      )}
      {data.apiKeys && (
        <Panel title="Sessions and keys" actions={user.isServiceAccount && may("createKey") && <CreateKey user={id} />}>
          <List
            name="Sessions and keys"
            rows={data.apiKeys}
            empty="No session and no key."
            columns={[
              { title: "Name", show: (key) => <b>{keyNameOf(key)}</b> },
              { title: "Kind", show: ({ kind, isCurrent }) => (isCurrent ? "This session" : wordsOf(kind)) },
              { title: "Made by", show: ({ madeBy }) => makerOf(madeBy) },
              { title: "Last used", show: ({ lastUsedAt, ip }) => <LastUse at={lastUsedAt} ip={ip} /> },
              { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
              {
                title: "Actions",
                isAction: true,
                show: (key) =>
                  may("revoke") &&
                  !key.isCurrent && (
                    <RevokeButton apiKey={key} confirm="What uses it has to sign in again. This cannot be undone." />
                  ),
              },
            ]}
          />
        </Panel>
      )}
      {data.oauth2Grants && (
        <Panel title="Applications with access">
          <List
            name="Applications with access"
            rows={data.oauth2Grants.nodes}
            empty="No application has access for this user."
            columns={[
              { title: "Application", show: ({ app }) => app.name },
              { title: "Scopes", show: ({ scopes }) => <Labels of={scopes} none="Everything" /> },
              { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
              {
                title: "Actions",
                isAction: true,
                show: (grant) =>
                  may("revokeGrant") && (
                    <Action
                      label="Revoke"
                      on={grant.app.name}
                      look="danger"
                      confirm="The application loses its access immediately."
                      run={RevokeGrant}
                      given={{ id: grant.id }}
                    />
                  ),
              },
            ]}
          />
        </Panel>
      )}
      {may("audit") && <LogOf user={user} />}
    </>
  );
}

interface LinksProps<Row> {
  title: string;
  empty: string;
  rows: readonly Row[];
  show: (row: Row) => ComponentChildren;
}

const Links = <Row extends { id: string }>({ title, empty, rows, show }: LinksProps<Row>) => (
  <Panel title={title}>
    {rows.length === 0 && <Empty>{empty}</Empty>}
    <ul class="links">
      {rows.map((row) => (
        <li key={row.id}>{show(row)}</li>
      ))}
    </ul>
  </Panel>
);

import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { Options } from "../ui/form";
import { Choice, Filters, List, Search } from "../ui/list";
import { say } from "../ui/notices";
import { Heading, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { titleOf, wordsOf } from "../ui/text";
import { ImportPeople } from "./import-people";
import {
  InvitationChoices,
  Invitations,
  type InvitationStatus,
  InviteUser,
  type InviteUserInput,
  ResendInvitation,
  RevokeInvitation,
  type RoleName,
} from "./invitations.gql";
import { useOrganizationOptions } from "./organization-choice";
import { organizationRoles, siteRoles } from "./role-names";

const statuses: readonly InvitationStatus[] = ["OPEN", "ACCEPTED", "REVOKED", "EXPIRED"];

/** Those of the names that the caller may assign, as options. */
const optionsOf = (
  names: readonly RoleName[],
  roles: ReadonlyArray<{ name: RoleName; assignable: boolean }> = [],
): Options =>
  names
    .filter((name) => roles.some((role) => role.name === name && role.assignable))
    .map((name) => [name, roleOf(name)] as const);

/** `ORGANIZATION_USER_ADMIN` → "User admin", beside the name of the organization. */
const roleOf = (name: RoleName): string => wordsOf(name.replace("ORGANIZATION_", ""));

interface Sent {
  link: string | null;
  invitation: { email: string };
}

/** Says that a mail is on its way. */
const sayMailed = ({ link, invitation }: Sent): void => {
  if (link === null) say(`The invitation is mailed to ${invitation.email}.`);
};

const linkOf = ({ link, invitation }: Sent) =>
  link === null ? undefined : ([`Link for ${invitation.email}, valid for seven days`, link] as const);

/** The button that invites a person. */
function InviteButton() {
  const organizations = useOrganizationOptions();
  const { data } = useData(InvitationChoices, {});
  const memberRoles = optionsOf(organizationRoles, data?.organizationRoles);
  const roles = optionsOf(siteRoles, data?.siteRoles);
  const groups: Options = (data?.groups.nodes ?? [])
    .filter(({ isEveryone }) => !isEveryone)
    .map((group) => [
      group.id,
      organizations.length > 1 ? `${titleOf(group)} (${group.organization.name})` : titleOf(group),
    ]);
  const ways: Options = [
    ...(data?.serverInfo.passwordAuth ? ([["PASSWORD", "A password of its own"]] as const) : []),
    ...(data?.serverInfo.identityProviders ?? []).map(({ type, label }) => [type, label] as const),
  ];
  return (
    <Action
      label="Invite a person"
      look="primary"
      note="The link works once, for seven days. The person gets what you may give when it is accepted."
      run={InviteUser}
      given={{}}
      fields={[
        { name: "email", hint: "The address of the account." },
        { name: "name", hint: "The person can change it." },
        ...(organizations.length > 1
          ? [{ name: "organizations", options: organizations, hint: "Without any, the default organization." }]
          : []),
        ...(memberRoles.length > 0
          ? [
              {
                name: "memberRoles",
                label: organizations.length > 1 ? "Roles in the organizations" : "Roles in the organization",
                kind: "choices" as const,
                options: memberRoles,
              },
            ]
          : []),
        ...(groups.length > 0 ? [{ name: "groups", options: groups }] : []),
        ...(roles.length > 0 ? [{ name: "roles", label: "Roles everywhere", options: roles }] : []),
        ...(ways.length > 1 ? [{ name: "loginType", label: "Signs in with", options: ways }] : []),
        {
          name: "delivery",
          options: [
            ["MAIL", "Mail the link"],
            ["LINK", "Show me the link"],
          ] as const,
          hint: "By default, it is mailed if a mail server is configured.",
        },
      ]}
      submit="Invite"
      prepare={invitationOf}
      reveal={({ inviteUser }) => linkOf(inviteUser)}
      done={({ inviteUser }) => sayMailed(inviteUser)}
    />
  );
}

/** The input of what was filled in: the roles are those in each of the organizations. */
function invitationOf({ organizations, memberRoles, ...rest }: Record<string, unknown>): InviteUserInput {
  const chosen = (organizations as string[] | undefined) ?? [];
  const roles = (memberRoles as RoleName[] | undefined) ?? [];
  const all = chosen.length > 0 ? chosen : roles.length > 0 ? ["default"] : [];
  return {
    ...(rest as unknown as InviteUserInput),
    ...(all.length > 0 && { organizations: all.map((organization) => ({ organization, roles })) }),
  };
}

interface Row {
  siteRoles: readonly RoleName[];
  memberships: ReadonlyArray<{ organizationName: string; roles: readonly RoleName[] }>;
  groups: ReadonlyArray<{ name: string; displayName: string }>;
}

/** All that an invitation gives: a line for the deployment, for each organization, and for the groups. */
function Given({ siteRoles: site, memberships, groups }: Row) {
  const lines = [
    ...(site.length > 0 ? [site.map(roleOf).join(", ")] : []),
    ...memberships.map(({ organizationName, roles }) => [organizationName, ...roles.map(roleOf)].join(", ")),
    ...(groups.length > 0 ? [`Groups: ${groups.map(titleOf).join(", ")}`] : []),
  ];
  return lines.map((line) => (
    <span key={line} class="block">
      {line}
    </span>
  ));
}

const isOpen = ({ status }: { status: InvitationStatus }) => status === "OPEN" || status === "EXPIRED";

export function InvitationsView() {
  const place = usePlace();
  const order = place.order(["EMAIL", "CREATED_AT"] as const, "-CREATED_AT");
  const filter = { search: place.filter("q"), status: place.filter<InvitationStatus>("status") };
  const list = useData(Invitations, { ...place.cursors, filter, orderBy: order });
  const may = useAllowed({
    invite: { may: "invitation:create" },
    resend: { may: "invitation:update" },
    revoke: { may: "invitation:delete" },
  });
  return (
    <>
      <Heading title="Invitations" note="People who can create an account of their own.">
        {may("invite") && <ImportPeople />}
        {may("invite") && <InviteButton />}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Search by email or name" />
        <Choice
          place={place}
          label="Status"
          name="status"
          options={statuses.map((name) => [name, wordsOf(name)] as const)}
        />
      </Filters>
      <List
        name="Invitations"
        rows={list.data?.invitations}
        from={list}
        empty={
          place.search
            ? "No invitation matches."
            : "No one is invited. Those who accept an invitation choose a password of their own."
        }
        place={place}
        order={order}
        columns={[
          {
            title: "Email",
            sort: "EMAIL",
            show: ({ email, name }) => (
              <>
                <b>{email}</b>
                {name && <span class="faint block">{name}</span>}
              </>
            ),
          },
          {
            title: "Status",
            show: (invitation) => (
              <>
                {invitation.isVoid || invitation.hasAccount ? (
                  <Status name="FAILED" label="Void" />
                ) : (
                  <Status name={invitation.status} />
                )}
                <span class="faint block">{stateOf(invitation)}</span>
              </>
            ),
          },
          { title: "Gives", show: (row) => <Given {...row} /> },
          {
            title: "Sent",
            sort: "CREATED_AT",
            show: ({ sentAt, inviter }) => (
              <>
                <Time at={sentAt} />
                <span class="faint block">
                  by <a href={`/users/${inviter.id}`}>{inviter.name || inviter.username}</a>
                </span>
              </>
            ),
          },
          {
            title: "Actions",
            isAction: true,
            show: (invitation) => (
              <>
                {may("resend") && isOpen(invitation) && !invitation.hasAccount && (
                  <Action
                    label="Send again"
                    on={invitation.email}
                    note="The former link stops working. The person gets what you may give."
                    run={ResendInvitation}
                    given={{ id: invitation.id }}
                    fields={[
                      {
                        name: "delivery",
                        options: [
                          ["MAIL", "Mail the link"],
                          ["LINK", "Show me the link"],
                        ],
                      },
                    ]}
                    submit="Send"
                    reveal={({ resendInvitation }) => linkOf(resendInvitation)}
                    done={({ resendInvitation }) => sayMailed(resendInvitation)}
                  />
                )}
                {may("revoke") && invitation.status === "OPEN" && (
                  <Action
                    label="Revoke"
                    on={invitation.email}
                    look="danger"
                    confirm="Its link stops working immediately."
                    run={RevokeInvitation}
                    given={{ id: invitation.id }}
                    said={`The invitation of ${invitation.email} is revoked.`}
                  />
                )}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

interface State {
  status: InvitationStatus;
  isVoid: boolean;
  hasAccount: boolean;
  delivery: string;
  isMailed: boolean;
  mailFault: string | null;
  expiresAt: string;
  user: { id: string; username: string } | null;
}

/** How far an invitation has come, in words. */
function stateOf({ status, isVoid, hasAccount, delivery, isMailed, mailFault, expiresAt, user }: State) {
  if (user)
    return (
      <>
        as <a href={`/users/${user.id}`}>{user.username}</a>
      </>
    );
  if (status !== "OPEN") return undefined;
  if (hasAccount) return "The address has an account by now: the link does not work any more.";
  if (isVoid) return "Its sender lost the right to invite: send it again.";
  if (mailFault) return `Not delivered: ${mailFault}`;
  const way = delivery === "LINK" ? "Link handed over" : isMailed ? "Mailed" : "Waits for the mail server";
  return (
    <>
      {way}; ends <Time at={expiresAt} />
    </>
  );
}

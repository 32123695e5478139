import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { Choice, Filters, List, Search } from "../ui/list";
import { Facts, Heading, Loading, Panel, PersonLink, Time } from "../ui/parts";
import { type FieldSpec, FormDialog } from "../ui/form";
import { complain, say } from "../ui/notices";
import { usePlace } from "../ui/place";
import { Bulk, bulk, forAll, useSelection } from "../ui/selection";
import { countOf, titleOf, wordsOf } from "../ui/text";
import { OrganizationSecondFactors } from "./second-factors";
import {
  AddMember,
  AssignableRoles,
  CreateOrganization,
  DeleteOrganization,
  Members,
  Organization,
  OrganizationList,
  RemoveMember,
  type RoleName,
  SetMemberRoles,
  UpdateOrganization,
} from "./organizations.gql";

const organizationFields: readonly FieldSpec[] = [
  { name: "name", hint: "Part of addresses and commands, such as research." },
  { name: "displayName", hint: "As people see it.", placeholder: "Research" },
  { name: "description", hint: "Who belongs to it, in a sentence." },
];

const iconField: FieldSpec = {
  name: "icon",
  label: "Icon",
  hint: "The address of a picture, or a path on this server.",
  placeholder: "https://",
};

export function OrganizationsView() {
  const { route } = useLocation();
  const list = useData(OrganizationList, {});
  const may = useAllowed({ create: { may: "organization:create" } });
  return (
    <>
      <Heading title="Organizations">
        {may("create") && (
          <Action
            label="Create an organization"
            look="primary"
            run={CreateOrganization}
            given={{}}
            fields={organizationFields}
            submit="Create"
            done={({ createOrganization }) => route(`/organizations/${createOrganization.organization.id}`)}
          />
        )}
      </Heading>
      <List
        name="Organizations"
        rows={list.data?.organizations}
        from={list}
        empty="You are in no organization."
        columns={[
          { title: "Organization", show: (each) => <a href={`/organizations/${each.id}`}>{titleOf(each)}</a> },
          { title: "Name", show: ({ name, isDefault }) => (isDefault ? `${name} (default)` : name) },
          { title: "Description", show: ({ description }) => description },
          { title: "Members", isNumber: true, show: ({ memberCount }) => memberCount },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

/** The roles that are held explicitly in the organization. */
const heldRoles = (roles: ReadonlyArray<{ name: RoleName }> | null | undefined): RoleName[] =>
  (roles ?? []).map(({ name }) => name).filter((name) => name !== "ORGANIZATION_MEMBER");

interface MemberRow {
  id: string;
  username: string;
}

/** Adds users by their names, and says which could not be added, and why. */
function AddSeveral({ organization }: { organization: string }) {
  const [isOpen, setOpen] = useState(false);
  async function add({ users }: Record<string, unknown>): Promise<void> {
    const names = [...new Set(String(users ?? "").split(/[\s,;]+/))].filter(Boolean);
    const { done, failed } = await forAll(
      names,
      (user) => perform(AddMember, { input: { organization, user } }),
      () => {},
    );
    if (done.length > 0) say(`${countOf(done.length, "member")} added.`);
    for (const [name, reason] of failed) complain(`${name}: ${reason}`);
  }
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Add several
      </button>
      {isOpen && (
        <FormDialog
          title="Add several members"
          fields={[
            {
              name: "users",
              label: "Usernames",
              kind: "area",
              isRequired: true,
              hint: "One on each line, or separated by commas or spaces.",
            },
          ]}
          submit="Add"
          onSubmit={add}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

export function OrganizationView({ id }: { id: string }) {
  const { route } = useLocation();
  const place = usePlace();
  const { data, error, refresh } = useData(Organization, { organization: id });
  const may = useAllowed({
    update: { may: "organization:update", resourceId: id },
    delete: { may: "organization:delete", resourceId: id },
    readMembers: { may: "organization_member:read", organizationId: id },
    add: { may: "organization_member:create", organizationId: id },
    remove: { may: "organization_member:delete", organizationId: id },
    roles: { may: "assign_org_role:assign", organizationId: id },
  });
  const selection = useSelection<MemberRow>(({ username }) => username);
  const order = place.order(["USERNAME", "JOINED_AT"] as const, "USERNAME");
  const filter = { search: place.filter("q"), role: place.filter<RoleName>("role") };
  const members = useData(
    Members,
    may("readMembers") ? { organization: id, filter, orderBy: order, ...place.cursors } : undefined,
  );
  const roles = useData(AssignableRoles, may("roles") ? { organization: id } : undefined).data?.assignableRoles ?? [];
  const organization = data?.organization;
  if (!organization) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  return (
    <>
      <Heading title={titleOf(organization)} note={organization.description} up={["/organizations", "Organizations"]}>
        {may("update") && (
          <Action
            label="Edit"
            run={UpdateOrganization}
            given={{ organization: id }}
            fields={[...organizationFields, iconField]}
            values={organization}
            submit="Save"
          />
        )}
        {may("delete") && !organization.isDefault && (
          <Action
            label="Delete"
            on={titleOf(organization)}
            look="danger"
            confirm={`Its groups, templates, provisioner keys, and the memberships of ${organization.memberCount} users are deleted. This cannot be undone.`}
            run={DeleteOrganization}
            given={{ organization: id }}
            done={() => route("/organizations")}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Name", organization.name],
          ["Members", organization.memberCount],
          [
            "In it",
            <span key="links" class="links-in-line">
              <a href={`/workspaces?organization=${id}`}>{countOf(organization.workspaces.totalCount, "workspace")}</a>
              <a href={`/groups?organization=${id}`}>Groups</a>
              <a href={`/templates?organization=${id}`}>Templates</a>
            </span>,
          ],
          ["Default", organization.isDefault ? "New users join it" : "No"],
          ["Created", <Time key="created" at={organization.createdAt} />],
        ]}
      />
      {may("update") && <OrganizationSecondFactors organization={id} />}
      {may("readMembers") && (
        <Panel
          title="Members"
          actions={
            may("add") && (
              <>
                <AddSeveral organization={id} />
                <Action
                  label="Add a member"
                  run={AddMember}
                  given={{ organization: id }}
                  fields={[{ name: "user", label: "Username", hint: "Of the person who joins." }]}
                  submit="Add"
                  said="Added."
                />
              </>
            )
          }
        >
          <Filters>
            <Search place={place} label="Search by name" />
            {roles.length > 0 && (
              <Choice
                place={place}
                label="Role"
                name="role"
                options={roles.map(({ name, displayName }) => [name, displayName || wordsOf(name)])}
              />
            )}
          </Filters>
          <Bulk
            selection={selection}
            noun="member"
            actions={[
              may("remove") &&
                bulk({
                  label: "Remove",
                  look: "danger",
                  run: RemoveMember,
                  inputOf: ({ id: user }: MemberRow) => ({ organization: id, user }),
                  done: "removed",
                  confirm: "They also leave the groups of the organization. Workspaces are kept.",
                  undo: ({ id: user }) => perform(AddMember, { input: { organization: id, user } }),
                }),
            ]}
          />
          <List
            name="Members"
            selection={may("remove") ? selection : undefined}
            rows={members.data?.organizationMembers}
            from={members}
            empty="No member matches."
            place={place}
            order={order}
            columns={[
              { title: "User", sort: "USERNAME", show: (member) => <PersonLink user={member} /> },
              {
                title: "Roles",
                show: (member) => heldRoles(member.roles).map(wordsOf).join(", ") || <span class="faint">Member</span>,
              },
              { title: "Joined", sort: "JOINED_AT", show: ({ joinedAt }) => <Time at={joinedAt} none="–" /> },
              {
                title: "Actions",
                isAction: true,
                show: (member) => (
                  <>
                    {may("roles") && (
                      <Action
                        label="Roles"
                        on={member.username}
                        title={`Roles of ${member.username}`}
                        run={SetMemberRoles}
                        given={{ organization: id, user: member.id }}
                        fields={[
                          {
                            name: "roles",
                            options: roles
                              .filter(({ assignable, name }) => assignable && name !== "ORGANIZATION_MEMBER")
                              .map(({ name, displayName }) => [name, displayName || wordsOf(name)]),
                          },
                        ]}
                        values={{ roles: heldRoles(member.roles) }}
                        prepare={(values) => ({
                          roles: (values.roles as RoleName[] | undefined) ?? heldRoles(member.roles),
                        })}
                        submit="Save"
                      />
                    )}
                    {may("remove") && (
                      <Action
                        label="Remove"
                        on={member.username}
                        look="danger"
                        confirm="The user also leaves the groups of the organization. Workspaces are kept."
                        run={RemoveMember}
                        given={{ organization: id, user: member.id }}
                        said={`${member.username} is removed.`}
                        undo={() => perform(AddMember, { input: { organization: id, user: member.id } })}
                      />
                    )}
                  </>
                ),
              },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

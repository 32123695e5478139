import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { Panel, Person } from "../ui/parts";
import { titleOf, wordsOf } from "../ui/text";
import { optionsOf } from "./organization-choice";
import { TemplateAcl, UpdateTemplateAcl } from "./templates.gql";

const roles = [
  ["use", "May use it"],
  ["admin", "May change it"],
] as const;

/** Who may use a template, and who may change it. */
export function TemplateSharing({ templateId }: { templateId: string }) {
  const acl = useData(TemplateAcl, { templateId });
  const { templateAcl, templateAclAvailable: available } = acl.data ?? {};
  const rows = templateAcl && [
    ...templateAcl.groups.map(({ role, group }) => ({ id: group.id, role, group, user: undefined })),
    ...templateAcl.users.map(({ role, user }) => ({ id: user.id, role, group: undefined, user })),
  ];
  const people = (available?.users.nodes ?? []).map(
    ({ id, username, name }) => [id, name ? `${name} (${username})` : username] as const,
  );
  return (
    <Panel
      title="Shared with"
      actions={
        available && (
          <>
            <Action
              label="Add a group"
              run={UpdateTemplateAcl}
              given={{ templateId }}
              fields={[
                { name: "id", label: "Group", options: optionsOf(available.groups), isRequired: true },
                { name: "role", options: roles, isRequired: true },
              ]}
              prepare={({ id, role }) => ({ groupPerms: [{ id: id as string, role: role as string }] })}
              submit="Add"
            />
            <Action
              label="Add a user"
              run={UpdateTemplateAcl}
              given={{ templateId }}
              fields={[
                { name: "id", label: "User", options: people, isRequired: true },
                { name: "role", options: roles, isRequired: true },
              ]}
              prepare={({ id, role }) => ({ userPerms: [{ id: id as string, role: role as string }] })}
              submit="Add"
            />
          </>
        )
      }
    >
      <List
        name="Shared with"
        rows={rows}
        from={acl}
        empty="Only administrators can use it. Add a group, such as Everyone."
        columns={[
          { title: "Who", show: ({ user, group }) => (user ? <Person user={user} /> : titleOf(group!)) },
          { title: "Kind", show: ({ user }) => (user ? "User" : "Group") },
          { title: "Role", show: ({ role }) => (role === "USE" ? "May use it" : wordsOf(role)) },
          {
            title: "Actions",
            isAction: true,
            show: ({ id, user, group }) => (
              <Action
                label="Remove"
                on={user?.username ?? titleOf(group!)}
                run={UpdateTemplateAcl}
                given={{
                  templateId,
                  ...(user ? { userPerms: [{ id, role: "" }] } : { groupPerms: [{ id, role: "" }] }),
                }}
                said="Removed."
              />
            ),
          },
        ]}
      />
    </Panel>
  );
}

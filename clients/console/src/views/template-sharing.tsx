import { useState } from "preact/hooks";
import { ask, perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { FormDialog } from "../ui/form";
import { List } from "../ui/list";
import { Panel, Person } from "../ui/parts";
import { PersonSearch } from "../ui/person-search";
import { titleOf, wordsOf } from "../ui/text";
import { optionsOf } from "./organization-choice";
import { TemplateAcl, TemplateCandidates, UpdateTemplateAcl, type UpdateTemplateAclInput } from "./templates.gql";

const roles = [
  ["use", "May use it"],
  ["admin", "May change it"],
] as const;

/** Who may use a template, and who may change it. */
export function TemplateSharing({ templateId }: { templateId: string }) {
  const acl = useData(TemplateAcl, { templateId });
  const [chosen, setChosen] = useState<{ id: string; username: string }>();
  const find = (search: string) =>
    ask(TemplateCandidates, { templateId, search }).then((each) => each.templateAclAvailable?.users.nodes);
  const { templateAcl, templateAclAvailable: available } = acl.data ?? {};
  const change = (perms: Pick<UpdateTemplateAclInput, "groupPerms" | "userPerms">) =>
    perform(UpdateTemplateAcl, { input: { templateId, ...perms } });
  const rows = templateAcl && [
    ...templateAcl.groups.map(({ role, group }) => ({ id: group.id, role, group, user: undefined })),
    ...templateAcl.users.map(({ role, user }) => ({ id: user.id, role, group: undefined, user })),
  ];
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
            <PersonSearch label="Add a user" find={find} onChosen={setChosen} />
          </>
        )
      }
    >
      {chosen && (
        <FormDialog
          title={`Add ${chosen.username}`}
          fields={[{ name: "role", options: roles, isRequired: true }]}
          submit="Add"
          onSubmit={({ role }) => change({ userPerms: [{ id: chosen.id, role: role as string }] })}
          onClose={() => setChosen(undefined)}
        />
      )}
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
            show: ({ id, role, user, group }) => {
              const name = user?.username ?? titleOf(group!);
              const entry = (given: string) =>
                user ? { userPerms: [{ id, role: given }] } : { groupPerms: [{ id, role: given }] };
              return (
                <Action
                  label="Remove"
                  on={name}
                  run={UpdateTemplateAcl}
                  given={{ templateId, ...entry("") }}
                  said={`${name} is removed.`}
                  undo={() => change(entry(role))}
                />
              );
            },
          },
        ]}
      />
    </Panel>
  );
}

import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { ask, perform } from "../api/client";
import { InvalidInput } from "../api/errors";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import type { FieldSpec } from "../ui/form";
import { Choice, type Column, Filters, List, Search } from "../ui/list";
import { attempt, say } from "../ui/notices";
import { Facts, Heading, Loading, Panel, PersonLink, Time } from "../ui/parts";
import { PersonSearch } from "../ui/person-search";
import { usePlace } from "../ui/place";
import { Bulk, bulk, useSelection } from "../ui/selection";
import { amountOf, countOf, titleOf, wordsOf } from "../ui/text";
import {
  Candidates,
  CreateGroup,
  DeleteGroup,
  DeleteGroupAiBudget,
  Group,
  GroupMembers,
  Groups,
  type GroupSource,
  SetGroupAiBudget,
  UpdateGroup,
} from "./groups.gql";
import { useOrganizationOptions } from "./organization-choice";

const quotaField: FieldSpec = {
  name: "quotaAllowance",
  label: "Quota of a member",
  hint: "How many credits each member gets for workspaces. Those of all groups of a person add up.",
};

const nameField: FieldSpec = { name: "name", hint: "Part of addresses and commands, such as data-science." };

const groupFields: readonly FieldSpec[] = [
  { name: "displayName", hint: "As people see it, such as Data Science.", placeholder: "Data Science" },
  quotaField,
];

const avatarField: FieldSpec = {
  name: "avatarUrl",
  label: "Picture",
  hint: "The address of a picture, or a path on this server.",
  placeholder: "https://",
};

interface GroupRow {
  totalMemberCount: number;
  aiBudget: { spendLimitMicros: number } | null;
}

/** The most that the members of a group may spend together. */
const budgetTogether = ({ aiBudget, totalMemberCount }: GroupRow) =>
  aiBudget && amountOf(aiBudget.spendLimitMicros * totalMemberCount);

const budgetColumn: Column<GroupRow> = { title: "AI budget together", isNumber: true, show: budgetTogether };

export function GroupsView() {
  const place = usePlace();
  const { route } = useLocation();
  const order = place.order(["NAME"] as const, "NAME");
  const filter = {
    search: place.filter("q"),
    organization: place.filter("organization"),
    source: place.filter<GroupSource>("source"),
  };
  const groups = useData(Groups, { ...place.cursors, filter, orderBy: order });
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "group:create", anyOrg: true },
    readBudgets: { may: "group_ai_budget:read", anyOrg: true },
  });
  return (
    <>
      <Heading title="Groups">
        {may("create") && organizations.length > 0 && (
          <Action
            label="Create a group"
            look="primary"
            run={CreateGroup}
            given={{}}
            fields={[
              ...(organizations.length > 1
                ? [{ name: "organization", options: organizations, hint: "Only its members can be in the group." }]
                : []),
              nameField,
              ...groupFields,
            ]}
            prepare={(values) => ({ organization: organizations[0]![0], ...values })}
            submit="Create"
            done={({ createGroup }) => route(`/groups/${createGroup.group.id}`)}
          />
        )}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Search by name" />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
        <Choice
          place={place}
          label="Source"
          name="source"
          options={[
            ["USER", "Made here"],
            ["OIDC", "Identity provider"],
          ]}
        />
      </Filters>
      <List
        name="Groups"
        rows={groups.data?.groups}
        from={groups}
        empty="No group matches."
        place={place}
        order={order}
        columns={[
          {
            title: "Organization and name",
            sort: "NAME",
            show: (group) => (
              <>
                <a href={`/groups/${group.id}`}>{titleOf(group)}</a>{" "}
                <span class="faint">
                  {group.organization.name}/{group.name}
                </span>
              </>
            ),
          },
          { title: "Members", isNumber: true, show: ({ totalMemberCount }) => totalMemberCount },
          { title: "Quota of a member", isNumber: true, show: ({ quotaAllowance }) => quotaAllowance },
          {
            title: "Quota together",
            isNumber: true,
            show: ({ quotaAllowance, totalMemberCount }) => quotaAllowance * totalMemberCount,
          },
          ...(may("readBudgets") ? [budgetColumn] : []),
          { title: "Source", show: ({ source }) => (source === "USER" ? "Made here" : wordsOf(source)) },
        ]}
      />
    </>
  );
}

/** Reads an amount in whole units, as people enter it. */
function microsOf(text: string): number {
  const micros = Math.round(Number(text) * 1_000_000);
  if (micros > 0) return micros;
  throw new InvalidInput([{ field: "spendLimitMicros", detail: "Needs a number above 0, such as 12.50." }]);
}

export function GroupView({ id }: { id: string }) {
  const { route } = useLocation();
  const place = usePlace();
  const { data, error, refresh } = useData(Group, { group: id });
  const members = useData(GroupMembers, { group: id, search: place.filter("q"), ...place.cursors });
  const listed = members.data?.group?.members;
  const selection = useSelection<{ id: string; username: string }>(({ username }) => username);
  const organizationId = data?.group?.organization.id;
  const may = useAllowed<"update" | "delete" | "readBudget" | "budget">(
    organizationId
      ? {
          update: { may: "group:update", resourceId: id },
          delete: { may: "group:delete", resourceId: id },
          readBudget: { may: "group_ai_budget:read", organizationId },
          budget: { may: "group_ai_budget:update", organizationId },
        }
      : undefined,
  );
  const group = data?.group;
  if (!group) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const budget = group.aiBudget;
  const changesMembers = may("update") && !group.isEveryone;
  const change = (input: { addUsers?: string[]; removeUsers?: string[] }) =>
    perform(UpdateGroup, { input: { group: id, ...input } });
  return (
    <>
      <Heading title={titleOf(group)} note={`${group.organization.name}/${group.name}`} up={["/groups", "Groups"]}>
        {may("update") && (
          <Action
            label="Edit"
            run={UpdateGroup}
            given={{ group: id }}
            fields={group.isEveryone ? [quotaField] : [nameField, ...groupFields, avatarField]}
            values={group}
            submit="Save"
          />
        )}
        {may("budget") && (
          <Action
            label="AI budget"
            title={`AI budget of ${titleOf(group)}`}
            note="What each member may spend in a calendar month. A member of several groups has the largest of their budgets."
            run={SetGroupAiBudget}
            given={{ group: id }}
            fields={[
              {
                name: "spendLimitMicros",
                label: "Limit for each member",
                hint: "In units of the currency, such as 12.50.",
                kind: "text",
                read: microsOf,
              },
            ]}
            values={budget ? { spendLimitMicros: budget.spendLimitMicros / 1_000_000 } : {}}
            prepare={({ spendLimitMicros = budget?.spendLimitMicros }) => ({
              spendLimitMicros: spendLimitMicros as number,
            })}
            submit="Save"
          />
        )}
        {may("budget") && budget && (
          <Action
            label="Remove the AI budget"
            look="danger"
            run={DeleteGroupAiBudget}
            given={{ group: id }}
            said="The AI budget is removed."
            undo={() => perform(SetGroupAiBudget, { input: { group: id, spendLimitMicros: budget.spendLimitMicros } })}
          />
        )}
        {may("delete") && !group.isEveryone && (
          <Action
            label="Delete"
            on={titleOf(group)}
            look="danger"
            confirm={`Its ${countOf(group.totalMemberCount, "member")} lose the quota, the budget, and the templates and workspaces that are shared with the group.`}
            run={DeleteGroup}
            given={{ group: id }}
            done={() => route("/groups")}
            said="The group is deleted."
          />
        )}
      </Heading>
      <Facts
        facts={[
          [
            "Organization",
            <a key="organization" href={`/organizations/${group.organization.id}`}>
              {titleOf(group.organization)}
            </a>,
          ],
          ["Members", group.totalMemberCount],
          ["Quota of a member", `${group.quotaAllowance} credits a day`],
          ["Quota together", `${group.quotaAllowance * group.totalMemberCount} credits a day`],
          ...(may("readBudget")
            ? ([
                ["AI budget of a member", budget ? `${amountOf(budget.spendLimitMicros)} a month` : "None"],
                ["AI budget together", budget ? `${budgetTogether(group)} a month` : "None"],
              ] as const)
            : []),
          ["Source", group.source === "USER" ? "Made here" : wordsOf(group.source)],
          ["Created", <Time key="created" at={group.createdAt} />],
        ]}
      />
      <Panel
        title="Members"
        actions={
          changesMembers && (
            <AddPerson
              label="Add a member"
              organization={group.organization.id}
              onChosen={({ id: user, username }) =>
                attempt(async () => {
                  await change({ addUsers: [user] });
                  say(`${username} is added.`);
                })
              }
            />
          )
        }
      >
        <Filters>
          <Search place={place} label="Search by name" />
        </Filters>
        <Bulk
          selection={selection}
          noun="member"
          actions={[
            changesMembers &&
              bulk({
                label: "Remove",
                run: UpdateGroup,
                inputOf: ({ id: user }: { id: string }) => ({ group: id, removeUsers: [user] }),
                done: "removed",
                undo: ({ id: user }) => change({ addUsers: [user] }),
              }),
          ]}
        />
        <List
          name="Members"
          rows={
            listed && {
              ...listed,
              nodes: listed.nodes.map((each) => ({ ...each, id: each.user.id, username: each.user.username })),
            }
          }
          selection={changesMembers ? selection : undefined}
          from={members}
          empty="No members. Add those who get its quota and templates."
          place={place}
          columns={[
            { title: "User", show: ({ user }) => <PersonLink user={user} /> },
            { title: "Added", show: ({ addedAt }) => <Time at={addedAt} none="–" /> },
            {
              title: "Actions",
              isAction: true,
              show: ({ user }) =>
                changesMembers && (
                  <Action
                    label="Remove"
                    on={user.username}
                    run={UpdateGroup}
                    given={{ group: id, removeUsers: [user.id] }}
                    said={`${user.username} is removed.`}
                    undo={() => change({ addUsers: [user.id] })}
                  />
                ),
            },
          ]}
        />
      </Panel>
    </>
  );
}

interface AddPersonProps {
  label: string;
  organization: string;
  onChosen: (person: { id: string; username: string }) => unknown;
}

/** A field that finds members of an organization by their names. */
export function AddPerson({ label, organization, onChosen }: AddPersonProps) {
  const find = (search: string) =>
    ask(Candidates, { organization, search }).then(({ organizationMembers }) => organizationMembers.nodes);
  return <PersonSearch label={label} find={find} onChosen={onChosen} />;
}

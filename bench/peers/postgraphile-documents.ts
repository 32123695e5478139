// Documents for PostGraphile, and its responses spelled as Steward's.

const groupFields = `
  id: rowId name displayName avatarUrl quotaAllowance source totalMemberCount: groupMembersByGroupId { totalCount }
  organization: organizationByOrganizationId { id: rowId name displayName }`;

const userFields = `
  avatarUrl createdAt email id: rowId isServiceAccount lastSeenAt loginType name status updatedAt username`;

export const listGroups = `query ListGroups($organization: UUID!) {
  groups: allGroups(first: 20, orderBy: [NAME_ASC], condition: { organizationId: $organization }) {
    nodes { ${groupFields} }
  }
}`;

export const readGroupWithMembers = `query ReadGroupWithMembers($group: UUID!) {
  group: groupByRowId(rowId: $group) {
    ${groupFields}
    members: groupMembersByGroupId(first: 50) { nodes { account: userByUserId { ${userFields} } } }
  }
}`;

type Group = Record<string, unknown> & { source: string; totalMemberCount: { totalCount: number } };
type Account = Record<string, unknown> &
  Record<"createdAt" | "updatedAt" | "loginType" | "status" | "username", string> & { lastSeenAt: string | null };
type Member = { account: Account };

const group = (each: Group) => ({
  ...each,
  source: each.source.toUpperCase(),
  totalMemberCount: each.totalMemberCount.totalCount,
});

const moment = (text: string) => new Date(text).toISOString();

const account = (each: Account): Account => ({
  ...each,
  createdAt: moment(each.createdAt),
  updatedAt: moment(each.updatedAt),
  lastSeenAt: each.lastSeenAt && moment(each.lastSeenAt),
  loginType: each.loginType.toUpperCase(),
  status: each.status.toUpperCase(),
});

export function spellGroups(body: string): string {
  const { groups } = (JSON.parse(body) as { data: { groups: { nodes: Group[] } } }).data;
  return JSON.stringify({ data: { organizationGroups: { nodes: groups.nodes.map(group) } } });
}

/** It lists members by id, Steward by username. */
export function spellGroupWithMembers(body: string): string {
  const read = (JSON.parse(body) as { data: { group: Group & { members: { nodes: Member[] } } } }).data.group;
  const nodes = read.members.nodes
    .map((member) => ({ account: account(member.account) }))
    .toSorted((a, b) => (a.account.username < b.account.username ? -1 : 1));
  return JSON.stringify({ data: { group: { ...group(read), members: { nodes } } } });
}

/** What dashboards ask for: the object that REST sends, spelled in GraphQL. */
const groupFields = `
  id name displayName avatarUrl quotaAllowance source totalMemberCount
  organization { id name displayName }`;

export const readGroup = `query ReadGroup($group: String!) { group(group: $group) { ${groupFields} } }`;

export const updateGroup = `mutation UpdateGroup($input: UpdateGroupInput!) {
  updateGroup(input: $input) { group { ${groupFields} } }
}`;

export const listGroups = `query ListGroups {
  groups(first: 20) {
    totalCount
    nodes { ${groupFields} aiBudget { spendLimitMicros } members(first: 5) { totalCount nodes { addedAt user { id username } } } }
  }
}`;

interface GroupAnswer {
  data: {
    group: Record<string, unknown> & { organization: Record<string, unknown>; source: string };
  };
}

/** The answer to `readGroup` as REST spells it, so that all contestants can be compared byte by byte. */
export function asRest(answer: string): string {
  const { group } = (JSON.parse(answer) as GroupAnswer).data;
  return JSON.stringify({
    avatar_url: group.avatarUrl,
    display_name: group.displayName,
    id: group.id,
    name: group.name,
    organization_display_name: group.organization.displayName,
    organization_id: group.organization.id,
    organization_name: group.organization.name,
    quota_allowance: group.quotaAllowance,
    source: group.source.toLowerCase(),
    total_member_count: group.totalMemberCount,
    members: [],
  });
}

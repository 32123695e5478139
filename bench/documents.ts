/** A dashboard query for the object that REST returns. */
const groupFields = `
  id name displayName avatarUrl quotaAllowance source totalMemberCount
  organization { id name displayName }`;

export const readGroup = `query ReadGroup($group: String!) { group(group: $group) { ${groupFields} } }`;

export const listOrganizationGroups = `query ListOrganizationGroups($organization: String!) {
  organizationGroups(organization: $organization, first: 20) { nodes { ${groupFields} } }
}`;

const memberFields = `
  avatarUrl createdAt email id isServiceAccount lastSeenAt loginType name status updatedAt username`;

export const readGroupWithMembers = `query ReadGroupWithMembers($group: String!) {
  group(group: $group) { ${groupFields} members(first: 50) { nodes { account { ${memberFields} } } } }
}`;

export const listUsers = `query ListUsers {
  users(first: 50) {
    nodes { id username name email avatarUrl status loginType lastSeenAt createdAt roles { name } }
    pageInfo { hasNextPage }
  }
}`;

export const listInbox = `query ListInbox {
  inboxNotifications(first: 50) {
    nodes { id templateId targets title content icon actions { label url } createdAt readAt }
    pageInfo { hasNextPage }
    unreadCount
  }
}`;

interface GroupResponse {
  data: {
    group: Record<string, unknown> & { organization: Record<string, unknown>; source: string };
  };
}

/** The response to `readGroup` spelled as in REST, so that all contestants can be compared byte by byte. */
export function asRest(response: string): string {
  const { group } = (JSON.parse(response) as GroupResponse).data;
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

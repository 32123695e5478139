import { list, point } from "./case.js";
import { known, users } from "./known.js";

const group = `id name displayName avatarUrl quotaAllowance source totalMemberCount organization { id name displayName }`;
const user = "id username name email avatarUrl status loginType lastSeenAt createdAt roles { name }";
const groupMember = "addedAt user { id username name avatarUrl }";

const readers = ["owner", "administrator", "sideAdministrator", "member"] as const;
const administrators = ["owner", "administrator"] as const;

const summer = { after: "2026-08-01T00:00:00Z", before: "2026-08-03T00:00:00Z" };
const everyone = "Everyone";

const groupFilters = {
  "rare search": `filter: { search: "aardvark" }`,
  "search that all meet": `filter: { search: "group" }`,
  source: `filter: { source: OIDC }`,
  "has member": `filter: { hasMember: "user-${users.member}" }`,
  ids: `filter: { ids: ["${known.fiftyMembers}", "${known.group(11)}", "${known.group(12)}"] }`,
};

const memberSearches = {
  "rare search": `filter: { search: "zebulon" }`,
  "search that all meet": `filter: { search: "user" }`,
  status: `filter: { search: "status:suspended" }`,
  "rare word and one that all have": `filter: { search: "user zebulon" }`,
  "usual status and rare word": `filter: { search: "status:active zebulon" }`,
};

/** The members of groups by size: of every size, the same in both databases, and of all users. */
const membersOf = (what: string, ref: string, roles: readonly (typeof readers)[number][]) =>
  list({
    field: "group",
    connection: "members",
    within: (connection) => `group(group: "${ref}") { ${connection} }`,
    nodes: groupMember,
    roles,
    filters: memberSearches,
    orders: ["USERNAME"],
  }).map((each) => ({ ...each, what: `${what} ${each.what}` }));

export const lists = [
  ...list({
    field: "groups",
    nodes: group,
    roles: readers,
    filters: {
      ...groupFilters,
      organization: `filter: { organization: "default" }`,
      "small organization": `filter: { organization: "${known.sideOrganization}" }`,
    },
    orders: ["NAME"],
  }).filter(({ role, what }) => role !== "sideAdministrator" || !what.startsWith("has member")),
  ...list({
    field: "organizationGroups",
    arguments: `organization: "default"`,
    nodes: group,
    roles: ["owner", "administrator", "member"],
    filters: groupFilters,
    orders: ["NAME"],
  }),
  ...list({
    field: "groups",
    nodes: `${group} aiBudget { spendLimitMicros } members(first: 5) { totalCount nodes { ${groupMember} } }`,
    roles: readers,
    filters: {},
  }).map((each) => ({ ...each, what: `with members: ${each.what}` })),
  ...membersOf("largest group", known.group(0), ["owner", "administrator", "member"]),
  ...membersOf("group of 50", known.fiftyMembers, ["owner", "administrator", "member"]),
  ...membersOf("group of 5", known.sideGroup(0), ["owner", "sideAdministrator"]),
  ...list({
    field: "groupByName",
    connection: "members",
    within: (connection) => `groupByName(organization: "default", name: "${everyone}") { ${connection} }`,
    nodes: groupMember,
    roles: ["owner", "administrator"],
    filters: memberSearches,
  }),
  ...list({
    field: "users",
    nodes: user,
    roles: ["owner", "administrator", "sideAdministrator", "member"],
    filters: {
      "rare search": `filter: { search: "zebulon" }`,
      "search that all meet": `filter: { search: "user" }`,
      status: `filter: { status: SUSPENDED }`,
      "login type": `filter: { loginType: GITHUB }`,
      "service accounts": `filter: { serviceAccount: true }`,
      "site role": `filter: { role: AUDITOR }`,
      "site role and search that all meet": `filter: { role: AUDITOR, search: "user" }`,
      "usual status and rare search": `filter: { status: ACTIVE, search: "zebulon" }`,
      "seen late, and search that all meet": `filter: { lastSeenAfter: "2026-10-30T00:00:00Z", search: "user" }`,
      "role in an organization": `filter: { role: ORGANIZATION_AUDITOR }`,
      "small organization": `filter: { organization: "${known.sideOrganization}" }`,
      "created in a range": `filter: { createdAfter: "${summer.after}", createdBefore: "${summer.before}" }`,
      "seen in a range": `filter: { lastSeenAfter: "2026-10-01T00:00:00Z", lastSeenBefore: "2026-10-02T00:00:00Z" }`,
      "newest with a status": `filter: { status: SUSPENDED }, orderBy: { field: CREATED_AT, direction: DESC }`,
      "newest in a range": `filter: { createdAfter: "${summer.after}", createdBefore: "${summer.before}" },
        orderBy: { field: CREATED_AT, direction: DESC }`,
    },
    orders: ["USERNAME", "CREATED_AT"],
  }).filter(({ role, what }) => !lacksSide(role) || !what.startsWith("small organization")),
  ...list({
    field: "invitations",
    nodes: "id email name status isVoid memberships { organizationName roles } groups { name } inviter { username }",
    roles: ["owner"],
    filters: {
      search: `filter: { search: "zebulon" }`,
      status: `filter: { status: OPEN }`,
    },
    orders: ["EMAIL", "CREATED_AT"],
  }),
  ...list({
    field: "organizationMembers",
    arguments: `organization: "default"`,
    nodes: "id username name avatarUrl joinedAt roles { name }",
    roles: ["owner", "administrator", "member"],
    filters: {
      "rare search": `filter: { search: "zebulon" }`,
      "search that all meet": `filter: { search: "user" }`,
      role: `filter: { role: ORGANIZATION_AUDITOR }`,
      "role and search that all meet": `filter: { role: ORGANIZATION_AUDITOR, search: "user" }`,
    },
    orders: ["USERNAME", "JOINED_AT"],
  }).filter(({ role, what }) => role !== "member" || !what.includes("JOINED_AT")),
  ...list({
    field: "organizationMembers",
    arguments: `organization: "${known.sideOrganization}"`,
    nodes: "id username name avatarUrl joinedAt roles { name }",
    roles: ["owner", "sideAdministrator"],
    filters: {},
  }).map((each) => ({ ...each, what: `small organization: ${each.what}` })),
  ...list({
    field: "organization",
    connection: "members",
    within: (connection) => `organization(organization: "default") { ${connection} }`,
    nodes: "id username name avatarUrl joinedAt roles { name }",
    roles: ["owner", "administrator", "member"],
    filters: {},
  }),
  ...list({
    field: "user",
    connection: "groups",
    within: (connection) => `user(user: "user-${users.member}") { ${connection} }`,
    nodes: group,
    roles: ["owner", "administrator", "member"],
    filters: {},
  }),
  ...list({
    field: "inboxNotifications",
    nodes: "id templateId targets title content icon actions { label url } createdAt readAt",
    roles: ["member", "reader"],
    filters: {
      unread: "filter: { readStatus: UNREAD }",
      read: "filter: { readStatus: READ }",
      template: `filter: { templates: ["${known.template(1)}"] }`,
      "rare target": `filter: { targets: ["${known.target(0)}"] }`,
      "usual target": `filter: { targets: ["${known.target(1)}"] }`,
    },
  }),
  ...(["member", "reader"] as const).map((role) => ({
    ...list({ field: "inboxNotifications", nodes: "id", roles: [role], filters: {} })[0]!,
    what: "first page and unread count",
  })),
  ...list({
    field: "auditEvents",
    nodes:
      "id time action actor { id username } resourceType resourceId resourceLabel organizationId diff ip requestId",
    roles: ["owner", "administrator", "sideAdministrator"],
    filters: {
      organization: `filter: { organization: "default" }`,
      "rare action": "filter: { action: REVOKE }",
      "usual action": "filter: { action: UPDATE }",
      actor: `filter: { actor: "${known.user(users.member)}" }`,
      "rare type": `filter: { resourceType: "license" }`,
      "usual type": `filter: { resourceType: "group" }`,
      resource: `filter: { resourceType: "group", resourceId: "${known.group(40)}" }`,
      "SCIM key": `filter: { scimKey: "aaaaaaaaaa" }`,
      range: `filter: { after: "${summer.after}", before: "${summer.before}" }`,
      "range and action": `filter: { after: "${summer.after}", before: "${summer.before}", action: DELETE }`,
    },
    orders: ["TIME"],
  }),
  ...list({
    field: "auditReaders",
    nodes: "id username user { id } filter position behind isActive startedAt seenAt endedAt",
    roles: ["owner", "administrator"],
    filters: { active: "active: true", gone: "active: false" },
  }),
  ...list({
    field: "eventEndpoints",
    nodes: "id name url eventTypes state maker { id username } secrets { id } queuedCount deliveredAt lastFailure",
    roles: ["owner", "administrator"],
    filters: { organization: `organization: "default"`, state: "state: ACTIVE" },
  }),
  ...list({
    field: "eventEndpoint",
    connection: "deliveries",
    within: (connection) => `eventEndpoint(id: "${known.eventEndpoint}") { ${connection} }`,
    nodes: "id eventId type state attempts sequence createdAt nextAttemptAt finishedAt log { time status excerpt }",
    roles: ["owner", "administrator"],
    filters: { state: "state: FAILED", type: `type: "group.update"` },
  }),
  ...list({
    field: "connectionLogs",
    nodes: `id connectTime type ip workspaceId workspaceName agentName organization { id name }
      workspaceOwner { id username } sshInfo { connectionId disconnectTime } webInfo { slugOrPort statusCode }`,
    roles: ["owner", "administrator", "sideAdministrator"],
    filters: Object.fromEntries(
      [
        "organization:default",
        `workspace_owner:user-${users.member}`,
        `username:user-${users.member}`,
        "type:ssh",
        "type:jetbrains",
        "status:ongoing",
        "status:completed",
        "connected_after:2026-10-20 connected_before:2026-10-21",
        `workspace_id:${known.workspace(0)}`,
        `connection_id:${known.connection(4)}`,
      ].map((q) => [q, `q: "${q}"`]),
    ),
    orders: ["CONNECT_TIME"],
  }),
];

const me = `user: "me"`;

export const points = [
  ...point("aiSpend", ["member"], { "": `organization: "default", ${me}` }),
  ...point("apiKeys", ["member"], { all: me, tokens: `${me}, kind: TOKEN` }),
  ...point("assignableRoles", administrators, { "": `organization: "default"` }),
  ...point("authCheck", readers, {
    "of traits": `checks: [
      { key: "a", action: "read", object: { resourceType: "group", organizationId: "default" } },
      { key: "b", action: "read", object: { resourceType: "workspace", ownerId: "me" } }]`,
    "of objects": `checks: [
      { key: "a", action: "read", object: { resourceType: "group", resourceId: "${known.fiftyMembers}" } }]`,
  }),
  ...point("dailyCounts", ["owner", "administrator", "member"], {
    "": "",
    "most days": "days: 90",
    "days of one organization": `organization: "default", timeZone: "Europe/Berlin"`,
  }),
  ...point("encryptionStatus", ["owner"], { "": "", exact: "exact: true" }),
  ...point("eventDelivery", ["owner", "administrator"], { "": `id: "${known.eventEndpoint}"` }),
  ...point("group", ["owner", "administrator", "member"], {
    "largest, by id": `group: "${known.group(0)}"`,
    "of 50, by id": `group: "${known.fiftyMembers}"`,
    "of 50, by name": `group: "group-10"`,
  }),
  ...point("group", ["owner", "sideAdministrator"], { "of 5, by id": `group: "${known.sideGroup(0)}"` }),
  ...point("groupAiBudget", administrators, { "": `group: "${known.fiftyMembers}"` }),
  ...point("groupByName", ["owner", "administrator", "member"], {
    "": `organization: "default", name: "group-10"`,
    everyone: `organization: "default", name: "${everyone}"`,
  }).filter(({ role, what }) => role !== "member" || !what),
  ...point("inboxNotification", ["member"], { "": `id: "${known.notification(1)}"` }),
  ...point("me", readers, { "": "" }),
  ...point("organization", readers, { "by name": `organization: "side"` }).filter(({ role }) => !lacksSide(role)),
  ...point("mostUsedTemplates", ["owner", "administrator"], { "": `organization: "default"` }),
  ...point("organization", ["owner", "sideAdministrator"], { "by id": `organization: "${known.sideOrganization}"` }),
  ...point("organizationAiSpend", administrators, { "": `organization: "default"` }),
  ...point("organizations", readers, { "": "" }),
  ...point("quietHours", ["member"], { "": me }),
  ...point("search", readers, {
    rare: `text: "zebulon"`,
    "that all meet": `text: "user"`,
    "two letters": `text: "us"`,
    none: `text: "no-such-name"`,
  }),
  ...point("user", administrators, {
    "by id": `user: "${known.user(users.zebulon)}"`,
    "by username": `user: "zebulon"`,
  }),
  ...point("secondFactors", ["member"], { "": me }),
  ...point("userIdentities", ["member"], { "": me }),
  ...point("userSecret", ["member"], { "": `${me}, name: "secret-1"` }),
  ...point("userSecretUsage", ["member"], { "": me }),
  ...point("userSecrets", ["member"], { "": me }),
  ...point("workspaceProxy", ["owner"], { "": `workspaceProxy: "proxy-1"` }),
  ...point("workspaceQuota", ["member"], { "": `organization: "default", ${me}` }),
];

function lacksSide(role: string): boolean {
  return role === "administrator" || role === "member";
}

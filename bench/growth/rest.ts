import { rest } from "./case.js";
import { known, users } from "./known.js";

const readers = ["owner", "administrator", "sideAdministrator", "member"] as const;
const groups = "/api/v2/groups";
const organizationGroups = "/api/v2/organizations/default/groups";
const member = `user-${users.member}`;

const groupLists = (path: string) => ({
  all: path,
  "without members": `${path}?exclude_members=true`,
  "has member": `${path}?has_member=${member}&exclude_members=true`,
  ids: `${path}?group_ids=${known.fiftyMembers},${known.group(11)}`,
});

const memberPages = (path: string) => ({
  "first page": `${path}?limit=50`,
  "rare search": `${path}?limit=50&q=zebulon`,
  "search that all meet": `${path}?limit=50&q=user`,
  "page behind a member": `${path}?limit=50&after_id=${known.user(users.ordinary + 20)}`,
  "deep offset": `${path}?limit=50&offset=400`,
});

export const restCases = [
  ...rest("/api/v2/appearance", ["member"]),
  ...rest("/api/v2/applications/host", ["member"]),
  ...rest("/api/v2/auth/scopes", ["member"]),
  ...rest("/api/v2/connectionlog", ["owner", "administrator", "sideAdministrator"], {
    "first page": "/api/v2/connectionlog?limit=50",
    type: "/api/v2/connectionlog?limit=50&q=type:jetbrains",
    "deep offset": "/api/v2/connectionlog?limit=50&offset=5000",
  }),
  ...rest("/api/v2/groups", ["owner", "administrator", "member"], {
    ...groupLists(groups),
    "small organization": `${groups}?organization=${known.sideOrganization}`,
  }),
  ...rest("/api/v2/groups", ["sideAdministrator"], {
    all: groups,
    "without members": `${groups}?exclude_members=true`,
  }),
  ...rest("/api/v2/groups/{group}", ["owner", "administrator", "member"], {
    "largest group": `${groups}/${known.group(0)}`,
    "largest group without members": `${groups}/${known.group(0)}?exclude_members=true`,
    "group of 50": `${groups}/${known.fiftyMembers}`,
  }),
  ...rest("/api/v2/groups/{group}/members", ["owner", "administrator", "member"], {
    ...memberPages(`${groups}/${known.group(0)}/members`),
    "group of 50": `${groups}/${known.fiftyMembers}/members`,
  }),
  ...rest("/api/v2/groups/{group}/ai/budget", ["owner"]),
  ...rest("/api/v2/organizations/{organization}/groups", ["owner", "administrator", "member"], {
    ...groupLists(organizationGroups),
  }),
  ...rest("/api/v2/organizations/{organization}/groups", ["owner", "sideAdministrator"], {
    "20 groups of 5": `/api/v2/organizations/side/groups`,
  }),
  ...rest("/api/v2/organizations/{organization}/groups/{groupName}", ["owner", "administrator", "member"], {
    "group of 50": `${organizationGroups}/group-10`,
    "group of 50 without members": `${organizationGroups}/group-10?exclude_members=true`,
  }),
  ...rest("/api/v2/organizations/{organization}/groups/{groupName}/members", ["owner", "administrator"], {
    ...memberPages(`${organizationGroups}/Everyone/members`),
  }),
  ...rest("/api/v2/organizations/{organization}/members/{user}/workspace-quota", ["owner", "member"], {
    "": `/api/v2/organizations/default/members/${member}/workspace-quota`,
  }),
  ...rest("/api/v2/workspace-quota/{user}", ["member"]),
  ...rest("/api/v2/entitlements", ["member"]),
  ...rest("/api/v2/licenses", ["owner"]),
  ...rest("/api/v2/notifications/inbox", ["member", "reader"], {
    "first page": "/api/v2/notifications/inbox",
    unread: "/api/v2/notifications/inbox?read_status=unread",
    read: "/api/v2/notifications/inbox?read_status=read",
    "rare target": `/api/v2/notifications/inbox?targets=${known.target(0)}`,
    template: `/api/v2/notifications/inbox?templates=${known.template(1)}`,
  }),
  ...rest("/api/v2/notifications/inbox", ["member"], {
    "page before a notification": `/api/v2/notifications/inbox?starting_before=${known.notification(201)}`,
  }),
  ...rest("/api/v2/prebuilds/settings", ["owner"]),
  ...rest("/schemas/steward.template-1.json", ["member"]),
  ...rest("/api/v2/users/{user}/quiet-hours", ["member"]),
  ...rest("/api/v2/users/{user}/secrets", ["member"]),
  ...rest("/api/v2/users/{user}/secrets/{name}", ["member"]),
  ...rest("/api/v2/workspaceproxies", readers),
  ...rest("/api/v2/workspaceproxies/{workspaceproxy}", ["member"]),
];

import { numbered } from "../data.js";
import { list, point } from "./case.js";
import { customTemplate } from "./fill-protocols.js";
import { known, users } from "./known.js";

const app = numbered("c", 0);
const user = `user: "user-${users.member}"`;

const oauth2 = [
  ...list({
    field: "oauth2Apps",
    nodes: "id name kind type lastUsedAt",
    roles: ["owner"],
    filters: { "by name": `q: "app 1"`, "with a grant of a user": user },
  }),
  ...list({
    field: "oauth2Grants",
    nodes: "id scopes createdAt app { id name } user { id username }",
    roles: ["owner"],
    filters: {
      "of an application": `app: "${app}"`,
      "of a user": user,
      "with ended ones": `${user}, includeEnded: true`,
    },
  }),
  ...point("oauth2App", ["owner"], { "": `id: "${app}"` }),
  ...point("oauth2ProtectedResourceMetadata", ["member"], { "": "resource: GRAPHQL" }),
];

const notifications = [
  ...list({
    field: "notificationMessages",
    nodes: "id eventId method state createdAt finishedAt user { id username }",
    roles: ["owner"],
    filters: {
      state: "filter: { state: SENT }",
      user: `filter: { ${user} }`,
      "user and method": `filter: { ${user}, method: SMTP }`,
      "user and template": `filter: { ${user}, template: "${customTemplate}" }`,
      range: `filter: { after: "2026-08-01T00:00:00Z", before: "2026-08-03T00:00:00Z" }`,
    },
  }),
  ...point("notificationMessage", ["owner"], { "": `id: "${numbered("e", 1)}"` }),
  ...point("notificationPreferences", ["member"], { "": `user: "me"` }),
  ...point("notificationTemplate", ["owner"], { "": `id: "${customTemplate}"` }),
  ...point("notificationTemplates", ["owner"], { "": "kind: SYSTEM" }),
];

const scim = [
  ...point("scimGroup", ["owner"], { "": `id: "${known.fiftyMembers}"` }),
  ...list({
    field: "scimRequests",
    arguments: `key: "scim000001"`,
    nodes: "id time method path status scimType detail requestId",
    roles: ["owner"],
    filters: {},
  }),
  ...point("scimResourceType", ["owner"], { "": `name: "User"` }),
  ...point("scimResourceTypes", ["owner"], { "": "" }),
  ...point("scimSchema", ["owner"], { "": `urn: "urn:ietf:params:scim:schemas:core:2.0:User"` }),
  ...point("scimSchemas", ["owner"], { "": "" }),
  ...point("scimUser", ["owner"], { "": `id: "${known.user(users.ordinary)}"` }),
  ...["scimUsers", "scimGroups", "scimResources"].flatMap((field) =>
    point(field, ["owner"], {
      "first page": `count: 50, sortBy: "id", sortOrder: "ascending", startIndex: 1`,
      ...(field !== "scimResources" && { "by cursor": `count: 50, cursor: ""` }),
      filtered: `count: 50, filter: "externalId eq \\"ext-${users.ordinary}\\""`,
    }),
  ),
];

/** Reads of OAuth2, linked accounts, notifications on their way, and SCIM over GraphQL. */
export const protocolCases = [...oauth2, ...notifications, ...scim];

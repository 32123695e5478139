import { numbered } from "../data.js";
import { list, point } from "./case.js";
import { known, users } from "./known.js";

const readers = ["owner", "administrator", "member"] as const;
const administrators = ["owner", "administrator"] as const;

const organization = `organization: "default"`;
const member = `user-${users.member}`;
const template = numbered("a", 1);

/** A job that succeeded; the agent and the build of the first workspace have the same number. */
const job = numbered("c", 0);

const templateLists = list({
  field: "templates",
  nodes: "id name displayName description organization { id name } activeVersion { id }",
  roles: readers,
  filters: {
    organization: `filter: { ${organization} }`,
    "rare search": `filter: { search: "zebulon" }`,
    "search that all meet": `filter: { search: "box" }`,
  },
  orders: ["NAME", "CREATED_AT"],
});

const workspaceLists = list({
  field: "workspaces",
  nodes: "id name status lastUsedAt owner { id username } latestBuild { id status }",
  roles: readers,
  filters: {
    own: `filter: { owner: "me" }`,
    owner: `filter: { owner: "${member}" }`,
    organization: `filter: { ${organization} }`,
    template: `filter: { templateId: "${template}" }`,
    "usual status": "filter: { status: RUNNING }",
    "rare status": "filter: { status: FAILED }",
    "rare status in an organization": `filter: { status: FAILED, ${organization} }`,
    "rare search": `filter: { search: "zebulon" }`,
    "search that all meet": `filter: { search: "box" }`,
    dormant: "filter: { dormant: true }",
    agents: "filter: { hasAgent: TIMEOUT }",
    unhealthy: "filter: { unhealthy: true }",
    "own unhealthy": `filter: { owner: "me", unhealthy: true }`,
    suspended: "filter: { ownerStatus: SUSPENDED }",
  },
  orders: ["LAST_USED_AT"],
}).filter(({ role, what }) => role === "owner" || !what.startsWith("owner,"));

const jobLists = list({
  field: "provisionerJobs",
  arguments: organization,
  nodes: "id type status createdAt startedAt completedAt initiator { id username } workerName",
  roles: readers,
  filters: {
    ids: `filter: { ids: ["${job}"] }`,
    waiting: "filter: { status: [PENDING] }",
    "usual status": "filter: { status: [SUCCEEDED] }",
    "usual type": "filter: { type: WORKSPACE_BUILD }",
    tags: `filter: { tags: { scope: "organization" } }`,
    initiator: `filter: { initiator: "me" }`,
  },
});

const lists = [...templateLists, ...workspaceLists, ...jobLists];

const points = [
  // Members may not read documents.
  ...point("template", administrators, { "": `id: "${template}"` }),
  ...point("templateByName", administrators, { "": `${organization}, name: "box"` }),
  ...point("templateVersion", administrators, { "": `id: "${numbered("a", 2)}"` }),
  ...point("workspaceCost", administrators, { "": `templateVersionId: "${numbered("a", 2)}"` }),
  ...point("templateAcl", administrators, { "": `templateId: "${template}"` }),
  ...point("workspace", readers, { "": `id: "${known.workspace(0)}"` }),
  ...point("workspaceByName", readers, { "": `owner: "${member}", name: "box-0"` }),
  ...point("templateAclAvailable", ["owner"], {
    "first page": `templateId: "${template}", first: 50`,
    "rare search": `templateId: "${template}", first: 50, search: "zebulon"`,
    "page behind a user": `templateId: "${template}", first: 50, after: "${known.user(users.ordinary)}"`,
    "page before a user": `templateId: "${template}", last: 50, before: "${known.user(users.ordinary)}"`,
    offset: `templateId: "${template}", first: 50, offset: 10`,
  }),
  ...point("workspaceBuild", readers, { "": `id: "${numbered("b", 0)}"` }),
  ...point("workspaceAgent", readers, { "": `id: "${numbered("8", 0)}"` }),
  ...point("provisionerJob", readers, { ended: `id: "${job}"`, waiting: `id: "${numbered("7", 0)}"` }),
  ...point("provisionerKeys", administrators, { "": organization }),
  ...point("provisionerKeyDaemons", administrators, { "": organization }),
  ...point("provisionerDaemons", administrators, { "": organization }),
];

/** Reads of templates, workspaces, provisioner jobs, keys, and daemons. */
export const provisioningCases = [...lists, ...points];

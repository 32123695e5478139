import { type Case, list, point } from "./case.js";
import { known, users } from "./known.js";

const statuses = ["ACTIVE", "PAUSED", "ERROR", "INITIALIZING", "PENDING", "UNKNOWN"];

/** The list of tasks by each filter, and single tasks. */
export const taskCases: readonly Case[] = [
  ...list({
    field: "tasks",
    nodes: "id name displayName status workspaceStatus createdAt currentState { state }",
    roles: ["owner", "administrator", "member"],
    filters: {
      ...Object.fromEntries(statuses.map((status) => [status, `filter: { status: [${status}] }`])),
      "two statuses": `q: "status:active,paused"`,
      "rare word": `filter: { search: "aardvark" }`,
      "word that all meet": `filter: { search: "task" }`,
      unhealthy: "filter: { unhealthy: true }",
      "own unhealthy": `filter: { owner: "me", unhealthy: true }`,
      owner: `filter: { owner: "user-${users.member}" }`,
      organization: `filter: { organization: "default", status: [ACTIVE] }`,
    },
    orders: ["CREATED_AT"],
  }),
  ...point("task", ["owner", "member"], {
    "by id": `task: "${known.task(0)}"`,
    "by name": `task: "box-0", user: "user-${users.member}"`,
  }),
];

import { type Case, list, point, rest } from "./case.js";
import { known, users } from "./known.js";

const statuses = ["ACTIVE", "PAUSED", "ERROR", "INITIALIZING", "PENDING", "UNKNOWN"];

/** The list of tasks by each filter, and single tasks, on both surfaces. */
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
  ...rest("/api/v2/tasks", ["owner", "member"], {
    "first page": "/api/v2/tasks?limit=50",
    status: "/api/v2/tasks?limit=50&q=status:active",
    "deep offset": "/api/v2/tasks?limit=50&offset=50",
  }),
  ...rest("/api/v2/tasks/{user}/{task}", ["member"], { "by name": "/api/v2/tasks/me/box-0" }),
  ...rest("/api/v2/tasks/{user}/{task}/logs", ["owner"]),
];

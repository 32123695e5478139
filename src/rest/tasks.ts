import { area, type RowOptions } from "./engine/area.js";

/** IDs that can be missing. The contract writes them as `{uuid, valid}`. */
const nullableIds = ["workspace_id", "workspace_agent_id", "workspace_app_id"];

const create: RowOptions = {
  nullableIds,
  example: {
    template_version_id: "0b6a2b7e-8d8f-7c2f-9f3b-0f2a6f1c9a11",
    input: "Fix the login bug please",
    display_name: "Login bug",
  },
  failures: { 409: "The owner has a task or a workspace of this name." },
};
const prompt: RowOptions = {
  example: { input: "Fix the logout bug, too" },
  failures: { 409: "The task is not paused." },
};
const send: RowOptions = {
  example: { input: "And add a test" },
  failures: {
    409: "The task is not active, or its queue is full.",
    502: "The program cannot be reached, rejected the input, or did not confirm it.",
  },
};
const logs: RowOptions = {
  failures: { 409: "The task is in error and has no stored logs.", 502: "The program cannot be reached." },
};
const removed: RowOptions = { failures: { 409: "A build of the workspace is running." } };
const build = { under: "workspace_build", nullableIds: ["parent_id"] } as const;
const paused: RowOptions = { ...build, failures: { 409: "A build of the workspace is open, or the task is paused." } };
const resumed: RowOptions = { ...build, failures: { 409: "A build of the workspace is open, or the task runs." } };
const snapshot: RowOptions = {
  document: "content",
  takes: {
    type: "object",
    additionalProperties: true,
    description: "The conversation, as the agent program keeps it.",
  },
  example: { messages: [{ id: 1, role: "user", content: "Fix it", time: "2026-01-02T03:04:05Z" }] },
};

// oxfmt-ignore
export default area("tasks", "AI tasks: prompts given to agent programs that run in workspaces of their own.", [
  ["GET",    "/api/v2/tasks",                     "ListTasks",       200, { nullableIds }],
  ["POST",   "/api/v2/tasks/:user",               "CreateTask",      201, create],
  ["GET",    "/api/v2/tasks/:user/:task",         "GetTask",         200, { nullableIds }],
  ["DELETE", "/api/v2/tasks/:user/:task",         "DeleteTask",      202, removed],
  ["PATCH",  "/api/v2/tasks/:user/:task/input",   "UpdateTaskInput", 204, prompt],
  ["GET",    "/api/v2/tasks/:user/:task/logs",    "GetTaskLogs",     200, logs],
  ["POST",   "/api/v2/tasks/:user/:task/pause",   "PauseTask",       202, paused],
  ["POST",   "/api/v2/tasks/:user/:task/resume",  "ResumeTask",      202, resumed],
  ["POST",   "/api/v2/tasks/:user/:task/send",    "SendTaskInput",   204, send],
  ["POST",   "/api/v2/workspaceagents/me/tasks/:task/log-snapshot", "UploadTaskLogSnapshot", 204, snapshot],
]);

import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, DomainError, notFound, Problems } from "../kernel/errors.js";
import { isObject } from "../kernel/json.js";
import { utcMoment } from "../kernel/text.js";
import type { AgentMessage } from "../outside/agent-api.js";

export interface UploadTaskLogSnapshot {
  taskId: string;
  /** `agentapi`: an object with the messages of the conversation, as AgentAPI lists them. */
  format?: string | null;
  content?: unknown;
}

/** Maximum size of the uploaded JSON, in bytes. */
export const largestSnapshot = 64 * 1024;

const taskOfAgent = statement<{ id: string }>(`
  select t.id from tasks t where t.id = $1 and t.workspace_id = $2 and t.deleted_at is null`);

// An upload of an older build does not replace the one of a newer build.
const storeSnapshot = statement(`
  insert into task_log_snapshots as s (task_id, build_number, format, messages, captured_at)
  select $1, b.build_number, $3, $4::jsonb, now()
  from workspace_agents a join workspace_builds b on b.id = a.build_id where a.id = $2
  on conflict (task_id) do update
  set (build_number, format, messages, captured_at) =
    (excluded.build_number, excluded.format, excluded.messages, excluded.captured_at)
  where s.build_number <= excluded.build_number`);

/**
 * Stores the conversation of a task, for its agent. Throws NOT_FOUND for a task of another workspace, BAD_USER_INPUT for
 * an unknown format or faulty messages, all of them together.
 */
export async function uploadTaskLogSnapshot(
  ctx: Context,
  { taskId, format, content }: UploadTaskLogSnapshot,
): Promise<string> {
  const agent = authorizeMachine(ctx.actor, "task_snapshot:upload");
  if (!(await ctx.row(taskOfAgent, taskId, agent.workspaceId))) throw notFound();
  if (format !== "agentapi") throw badInput([{ field: "format", detail: "Must be agentapi." }]);
  if (Buffer.byteLength(JSON.stringify(content) ?? "") > largestSnapshot)
    throw new DomainError("BAD_USER_INPUT", "Request body too large.", {
      tooLarge: true,
      detail: `A snapshot must be at most ${largestSnapshot} bytes.`,
    });
  const messages = readMessages(content);
  await ctx.rows(storeSnapshot, taskId, agent.id, format, JSON.stringify(messages));
  return taskId;
}

/** Reads the messages of an upload. NUL characters, which Postgres does not store, become U+FFFD. */
function readMessages(content: unknown): AgentMessage[] {
  const given = isObject(content) ? content.messages : undefined;
  if (!Array.isArray(given)) throw badInput([{ field: "messages", detail: "Must be a list of messages." }]);
  const problems = new Problems();
  const messages = given.map((each: unknown, index) => readMessage(each, `messages[${index}]`, problems));
  problems.throwIfAny();
  return messages;
}

function readMessage(value: unknown, path: string, problems: Problems): AgentMessage {
  const { id, content, role, time } = isObject(value) ? value : {};
  const at = typeof time === "string" ? utcMoment(time) : undefined;
  problems.add(`${path}.id`, Number.isSafeInteger(id) ? undefined : "Must be an integer.");
  problems.add(`${path}.content`, typeof content === "string" ? undefined : "Must be a text.");
  problems.add(`${path}.role`, role === "user" || role === "agent" ? undefined : "Must be user or agent.");
  problems.add(`${path}.time`, at === undefined ? "Must be a date and time in RFC 3339 form." : undefined);
  const text = typeof content === "string" ? content.replaceAll("\0", "\uFFFD").toWellFormed() : "";
  return { id: Number(id), role: role as AgentMessage["role"], content: text, time: at ?? "" };
}

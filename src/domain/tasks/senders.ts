// Who sent the inputs that a conversation shows.
import { instantOf } from "../../runtime/clock.js";
import type { Context } from "../kernel/context.js";
import { type ConversationMessageRow, conversationsByTask, plainText, TaskProtocol } from "./conversation.js";
import { newestInputs, TaskInputState, type TaskMessageRow } from "./task-messages.js";

/** The states of inputs that programs may have got. */
const mayBeThere: ReadonlySet<TaskInputState> = new Set([
  TaskInputState.DELIVERING,
  TaskInputState.DELIVERED,
  TaskInputState.UNCONFIRMED,
]);

/**
 * Returns the ID of the user who sent what a program that speaks AgentAPI shows as the text of a user. It does not say who:
 * it is the input of this text, and of several, the first one that was on its way at that time, or nearest to it. Null for
 * the prompt, and for inputs that are not kept any more.
 */
export async function senderOfText(
  ctx: Context,
  taskId: string,
  content: string,
  time: string,
): Promise<string | null> {
  const inputs = await ctx.load(newestInputs, taskId);
  const at = instantOf(time);
  /** Milliseconds outside of the time from when it was sent to Steward until its delivery was confirmed. */
  const distance = ({ createdAt, deliveredAt }: TaskMessageRow) =>
    Math.max(instantOf(createdAt) - at, deliveredAt === null ? 0 : at - instantOf(deliveredAt), 0);
  const same = inputs.filter((input) => input.content === content && mayBeThere.has(input.state));
  return same.toSorted((a, b) => distance(a) - distance(b))[0]?.senderId ?? null;
}

/** Returns the ID of the user who sent a stored message; null for the prompt, and for messages of the program. */
export async function senderOfMessage(ctx: Context, message: ConversationMessageRow): Promise<string | null> {
  const { senderId, role, taskId, parts, writtenAt } = message;
  if (senderId !== null || role !== "user") return senderId;
  const conversation = await ctx.load(conversationsByTask, taskId);
  return conversation?.protocol === TaskProtocol.ACP ? null : senderOfText(ctx, taskId, plainText(parts), writtenAt);
}

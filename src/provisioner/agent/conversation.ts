// Keeps the conversation of a task, so that people can read it while the task is paused.
import type { AgentClient, Manifest } from "./client.js";

/** Milliseconds to read the conversation, and the maximum size of what the server stores, in bytes of JSON. */
const [patience, largest] = [5_000, 60 * 1024];

interface Message {
  id: number;
  role: string;
  content: string;
  time: string;
}

/**
 * Reads the conversation from the program of the task by AgentAPI, and stores its newest messages on the server. Has no
 * effect for agents without a task. Rejects if the program or the server does not respond.
 */
export async function storeConversation({ task, apps }: Manifest, client: AgentClient): Promise<void> {
  const app = apps.find(({ slug }) => slug === task?.app);
  if (!task || !app?.url) return;
  const response = await fetch(`${app.url.replace(/\/+$/, "")}/messages`, {
    redirect: "error",
    signal: AbortSignal.timeout(patience),
  });
  const { messages = [] } = (await response.json()) as { messages?: Message[] };
  const known = messages.filter(({ role }) => role === "user" || role === "agent");
  const kept = known.map(({ id, role, content, time }) => ({ id, role, content, time }));
  while (kept.length > 0 && sizeOf(kept) > largest) kept.shift();
  await client.snapshot(task.id, { messages: kept });
}

const sizeOf = (messages: readonly Message[]): number => Buffer.byteLength(JSON.stringify(messages));

// Keeps the conversation of a task, so that people can read it while the task is paused.
import { clipped } from "../text.js";
import type { AgentClient, Manifest } from "./client.js";

/** Milliseconds to read the conversation. */
const timeout = 5_000;
/** Bytes that a program may respond with, and bytes of JSON that the server stores. */
const [mostRead, mostStored] = [8 * 1024 ** 2, 60 * 1024];
/** Bytes of a message that is cut because it is too long. */
const messageBytes = 16 * 1024;

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
    signal: AbortSignal.timeout(timeout),
  });
  const { messages = [] } = JSON.parse(await textOf(response)) as { messages?: Message[] };
  const known = messages.filter(({ role }) => role === "user" || role === "agent");
  await client.snapshot(task.id, { messages: newestOf(known) });
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostRead) throw new Error(`it has more than ${mostRead} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The newest messages, as far as the server stores them. A notice takes the place of those before. */
function newestOf(messages: readonly Message[]): Message[] {
  const kept: Message[] = [];
  let bytes = 0;
  for (const [index, { id, role, content, time }] of [...messages.entries()].toReversed()) {
    const message = { id, role, content: clipped(content, messageBytes), time };
    bytes += Buffer.byteLength(JSON.stringify(message)) + 1;
    if (bytes > mostStored) {
      const count = index + 1;
      const text = `[${count} earlier ${count === 1 ? "message was" : "messages were"} left out.]`;
      return [{ id, role: "agent", content: text, time }, ...kept];
    }
    kept.unshift(message);
  }
  return kept;
}

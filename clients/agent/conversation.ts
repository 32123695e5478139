// The conversation of a task with a program that speaks AgentAPI: gives the program its earlier messages when it starts,
// follows it, and stores its last messages when the workspace stops.
import { Readable } from "node:stream";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { delay } from "../api/delay.js";
import type { Pace } from "./pace.js";
import { clipText } from "./text.js";
import type { AgentClient, ConversationMessage, Manifest } from "./client.js";
import { type FilePlace, writeSecretFiles } from "./home-files.js";
import { Transcript } from "./transcript.js";

/** Milliseconds to read the conversation. */
const timeout = 5_000;
/** Bytes that a program may respond with, and bytes of JSON that the server stores. */
const mostRead = 8 * 1024 ** 2;
const mostStored = 60 * 1024;
/** Bytes of a message that is cut because it is too long. */
const messageBytes = 16 * 1024;

/** The file with the earlier messages, relative to the home. The program learns its path from its environment. */
export const conversationFile = ".steward/conversation.json";

interface Message {
  id: number;
  role: string;
  content: string;
  time: string;
}

/** A task whose program is reached by AgentAPI at an app of the agent. */
interface Reached {
  task: { id: string; appToken: string };
  /** Without a slash at the end. */
  base: string;
}

/** The task of a manifest; undefined if its program is not an app of this agent, or speaks ACP and so has no port. */
export function reachedTask({ task, apps }: Manifest): Reached | undefined {
  const url = apps.find(({ slug }) => slug === task?.app)?.url;
  return task?.protocol === "AGENTAPI" && url ? { task, base: url.replace(/\/+$/, "") } : undefined;
}

/** The text of a message as AgentAPI has it: texts, and titles in brackets. Results of tools have none. */
export const plainText = (parts: ConversationMessage["parts"]): string =>
  parts.map(plainPart).filter(Boolean).join("\n\n");

function plainPart({ kind, text = "", title = "" }: ConversationMessage["parts"][number]): string {
  if (kind === "TEXT") return text;
  if (kind === "TOOL_CALL") return `[${title}]`;
  if (kind === "PERMISSION") return `[Permission: ${title}]`;
  return kind === "INTERRUPT" ? `[${text}]` : "";
}

/** Messages of the structured conversation as AgentAPI has them, numbered from 0. */
export const asMessages = (messages: readonly ConversationMessage[]): Message[] =>
  messages.map(({ role, parts, writtenAt: time }, id) => ({
    id,
    role: role === "USER" ? "user" : "agent",
    content: plainText(parts),
    time,
  }));

export class Conversation {
  /** The messages of earlier starts. */
  #earlier: Message[] = [];
  #transcript?: Transcript;

  constructor(
    private readonly reached: Reached,
    private readonly manifest: Manifest,
    private readonly client: AgentClient,
    private readonly note: (fault: string) => void,
  ) {}

  /**
   * Reads the earlier messages from the server. With a place, writes them to the file for the program. Does not throw:
   * without them, the program begins with an empty conversation.
   */
  async begin(place?: FilePlace): Promise<void> {
    try {
      const { messages, omittedCount } = await this.client.beginConversation(this.reached.task.id, "AGENTAPI");
      this.#earlier = asMessages(messages.filter(({ buildNumber }) => buildNumber < this.manifest.buildNumber));
      if (!place) return;
      const isCut = omittedCount > 0 || messages.some((message) => message.isCut);
      const content = JSON.stringify({ messages: asMessages(messages), cut: isCut });
      for (const fault of await writeSecretFiles([{ path: `~/${conversationFile}`, content }], place)) this.note(fault);
    } catch (error) {
      this.note(`The earlier conversation of the task is not available: ${(error as Error).message}`);
    }
  }

  /** Reports the conversation while it goes on, until the signal is aborted. */
  async follow(signal: AbortSignal, { reconnect, reconnectMost }: Pace): Promise<void> {
    const report = (content: object) => this.client.reportConversation({ taskId: this.reached.task.id, ...content });
    const secrets = this.manifest.secretEnv.map(({ value }) => value);
    const tokens = [this.client.token, this.reached.task.appToken];
    const transcript = new Transcript(report, [...secrets, ...tokens], this.note);
    this.#transcript = transcript;
    /** The messages that were reported, by their keys. */
    const known = new Map<string, string>();
    for (let pause = reconnect; !signal.aborted; pause = Math.min(pause * 2, reconnectMost)) {
      try {
        if (await followEvents(this.reached, transcript, known, signal)) pause = reconnect;
      } catch {
        // Checks of the app say whether the program responds.
      }
      await delay(pause, signal);
    }
  }

  /**
   * Reads the conversation from the program, and stores its newest messages on the server, after those of earlier starts if
   * the program does not know them. Rejects if the program or the server does not respond.
   */
  async store(): Promise<void> {
    await this.#transcript?.close(timeout);
    const { task, base } = this.reached;
    const signal = AbortSignal.timeout(timeout);
    const response = await fetch(`${base}/messages`, { redirect: "error", headers: headersFor(task), signal });
    const { messages = [] } = JSON.parse(await textOf(response)) as { messages?: Message[] };
    const known = messages.filter(isMessage);
    const [first] = this.#earlier;
    const isFirst = ({ role, time }: Message) => role === first!.role && Date.parse(time) === Date.parse(first!.time);
    const isContinued = !first || known.some(isFirst);
    const all = isContinued ? known : [...this.#earlier, ...known].map((each, id) => ({ ...each, id }));
    await this.client.snapshot(task.id, newestOf(all));
  }
}

const headersFor = ({ appToken }: Reached["task"]): Record<string, string> =>
  appToken === "" ? {} : { authorization: `Bearer ${appToken}` };

const isMessage = ({ role }: Message): boolean => role === "user" || role === "agent";

/** Reports the events of a stream until it ends. Returns whether it was opened. */
async function followEvents(
  { base, task }: Reached,
  transcript: Transcript,
  known: Map<string, string>,
  signal: AbortSignal,
): Promise<boolean> {
  const response = await fetch(`${base}/events`, { redirect: "error", headers: headersFor(task), signal });
  if (!response.ok || !response.body) return false;
  const keys = new Map<number, string>();
  const events = Readable.fromWeb(response.body);
  const parsed = (Readable.toWeb(events) as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream({ onError: "terminate", maxBufferSize: mostRead }));
  for await (const { event, data } of parsed) {
    const value = jsonIn(data);
    if (event === "status_change" && value) transcript.state(value.status === "running" ? "WORKING" : "IDLE");
    if (event === "message_update" && value) addMessage(value, keys, transcript, known);
  }
  return true;
}

function jsonIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Messages that are remembered as reported. */
const mostKnown = 10_000;

function addMessage(
  { id, role, message, time }: Record<string, unknown>,
  keys: Map<number, string>,
  transcript: Transcript,
  known: Map<string, string>,
): void {
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  const isKnown = Number.isSafeInteger(id) && (role === "user" || role === "agent") && typeof message === "string";
  if (!isKnown || Number.isNaN(at)) return;
  const writtenAt = new Date(at).toISOString();
  const key = keyOf(id as number, `${role as string}@${writtenAt}`, keys);
  if (known.get(key) === message) return;
  if (known.size >= mostKnown) known.delete(known.keys().next().value!);
  known.set(key, message);
  transcript.set({
    key,
    role: role === "user" ? "USER" : "AGENT",
    parts: [{ kind: "TEXT", text: message }],
    writtenAt,
  });
}

/**
 * The key of a message: its role and time, which a program that has its earlier messages from the file keeps, so that they
 * are not stored twice. Messages of the same moment are counted.
 */
function keyOf(id: number, base: string, keys: Map<number, string>): string {
  const found = keys.get(id);
  if (found?.startsWith(base)) return found;
  const taken = new Set(keys.values());
  let key = base;
  for (let n = 1; taken.has(key); n++) key = `${base}#${n}`;
  keys.set(id, key);
  return key;
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
function newestOf(messages: readonly Message[]): { messages: Message[]; cut: boolean } {
  const kept: Message[] = [];
  let bytes = 0;
  let isCut = false;
  for (const [index, { id, role, content, time }] of [...messages.entries()].toReversed()) {
    const message = { id, role, content: clipText(content, messageBytes), time };
    bytes += Buffer.byteLength(JSON.stringify(message)) + 1;
    if (bytes > mostStored) {
      const count = index + 1;
      const text = `[${count} earlier ${count === 1 ? "message was" : "messages were"} left out.]`;
      return { messages: [{ id, role: "agent", content: text, time }, ...kept], cut: true };
    }
    isCut ||= message.content !== content;
    kept.unshift(message);
  }
  return { messages: kept, cut: isCut };
}

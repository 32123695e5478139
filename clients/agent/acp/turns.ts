// The messages of an ACP session: turns of the user and the program, of which the conversation is made. All of them are bounded, whatever the program sends.
import { randomUUID } from "node:crypto";
import type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { ReportedMessage, ReportedPart } from "../client.js";
import { largest, type Transcript } from "../transcript.js";
import { clipText } from "../text.js";

/** Bytes of text of a message, after which the next one begins, and its parts; messages of a turn, and tool calls. */
const most = { text: 40 * 1024, parts: 40, messages: 100, calls: 1000 } as const;

type PermissionPart = ReportedPart & { kind: "PERMISSION" };

export class Turns {
  readonly #run = randomUUID();
  #number = 0;
  /** The message of the program to which parts are added, and how many the turn has. */
  #current?: { message: ReportedMessage; bytes: number };
  #count = 0;
  #calls = new Map<string, { message: ReportedMessage; call: ReportedPart; result?: ReportedPart }>();

  constructor(private readonly transcript: Transcript) {}

  /** Begins a turn with an input of a user; without the ID of an input, with the prompt. */
  begin(text: string, inputId?: string): void {
    this.#current = undefined;
    this.#count = 0;
    this.#calls.clear();
    const writtenAt = new Date().toISOString();
    this.transcript.set({
      key: inputId === undefined ? this.#key() : `input-${inputId}`,
      role: "USER",
      parts: [{ kind: "TEXT", text }],
      writtenAt,
    });
  }

  /** Ends a turn: texts that were held back are reported. A sentence says why, if it ended early. */
  end(reason?: string): void {
    if (reason !== undefined) this.#add({ kind: "INTERRUPT", text: reason });
    const { message } = this.#current ?? {};
    if (message) this.#report(message, false);
    this.#current = undefined;
  }

  update(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#addText(textOf(update.content));
      case "tool_call":
      case "tool_call_update":
        return this.#updateCall(update);
      default:
      // Thoughts, plans, and modes are no parts of the conversation.
    }
  }

  /** Adds a request for a permission. Returns the function that records its outcome. */
  ask(part: Omit<PermissionPart, "kind">, call: ToolCallUpdate): (outcome: { optionId?: string }) => void {
    this.#updateCall(call);
    const asked: ReportedPart = { kind: "PERMISSION", ...part, optionId: null, isCanceled: false };
    const at = this.#add(asked);
    return ({ optionId }) => {
      asked.optionId = optionId ?? null;
      asked.isCanceled = optionId === undefined;
      if (at) this.#report(at.message, at === this.#current);
    };
  }

  #addText(text: string): void {
    const last = this.#current?.message.parts.at(-1);
    const bytes = Buffer.byteLength(text);
    const isFull = last?.kind !== "TEXT" || Buffer.byteLength(last.text!) + bytes > largest.text;
    if (isFull || this.#current!.bytes + bytes > most.text) {
      const part = clipText(text, largest.text);
      const at = this.#add({ kind: "TEXT", text: part });
      if (at && part.length < text.length) at.message.isCut = true;
      return;
    }
    last.text += text;
    this.#current!.bytes += bytes;
    this.#report(this.#current!.message, true);
  }

  #updateCall({ toolCallId, title, kind, status, content, rawInput, rawOutput }: ToolCallUpdate): void {
    let known = this.#calls.get(toolCallId);
    if (!known) {
      if (this.#calls.size >= most.calls) return;
      const call: ReportedPart = { kind: "TOOL_CALL", toolCallId: toolCallId.slice(0, 128), title: "", input: "" };
      const at = this.#add(call);
      if (!at) return;
      known = { ...at, call };
      this.#calls.set(toolCallId, known);
    }
    const { call, message } = known;
    const clip = (whole: string, bytes: number): string => {
      const part = clipText(whole, bytes);
      if (part.length < whole.length) message.isCut = true;
      return part;
    };
    if (title != null) call.title = clip(title, 500);
    if (kind != null) call.toolKind = kind;
    if (status != null) call.status = statuses[status] ?? "PENDING";
    if (rawInput !== undefined) call.input = clip(jsonOf(rawInput), largest.input);
    const text = content ? content.map(resultOf).join("\n") : rawOutput === undefined ? undefined : jsonOf(rawOutput);
    if (text !== undefined && text !== "") {
      if (!known.result) {
        known.result = { kind: "TOOL_RESULT", toolCallId: call.toolCallId! };
        message.parts.splice(message.parts.indexOf(call) + 1, 0, known.result);
      }
      known.result.text = clip(text, largest.input);
    }
    if (known.result) known.result.isError = call.status === "FAILED";
    this.#report(message, false);
  }

  /** Adds a part to the message of the program, or to the next one. Beyond the limit of a turn, parts are left out. */
  #add(part: ReportedPart): { message: ReportedMessage } | undefined {
    const bytes = Buffer.byteLength(part.text ?? "") + (part.kind === "TOOL_CALL" ? 2 * largest.input : 256);
    const isFull =
      this.#current && (this.#current.message.parts.length >= most.parts || this.#current.bytes + bytes > most.text);
    if (isFull && this.#count >= most.messages) {
      const { message } = this.#current!;
      if (!message.isCut) {
        message.isCut = true;
        this.#report(message, false);
      }
      return undefined;
    }
    if (!this.#current || isFull) {
      if (this.#current) this.#report(this.#current.message, false);
      const writtenAt = new Date().toISOString();
      const message: ReportedMessage = { key: this.#key(), role: "AGENT", parts: [], writtenAt };
      this.#current = { message, bytes: 0 };
      this.#count++;
    }
    this.#current.message.parts.push(part);
    this.#current.bytes += bytes;
    this.#report(this.#current.message, part.kind === "TEXT");
    return this.#current;
  }

  #report(message: ReportedMessage, isGrowing: boolean): void {
    this.transcript.set(structuredClone(message), isGrowing);
  }

  #key = () => `${this.#run}-${this.#number++}`;
}

const statuses: Record<string, ReportedPart["status"]> = {
  pending: "PENDING",
  in_progress: "IN_PROGRESS",
  completed: "COMPLETED",
  failed: "FAILED",
};

function textOf(content: ContentBlock): string {
  if (content.type === "text") return content.text;
  if (content.type === "resource_link") return `[${content.name}](${content.uri})`;
  return `[${content.type}]`;
}

function resultOf(content: ToolCallContent): string {
  if (content.type === "content") return textOf(content.content);
  return content.type === "diff" ? `${content.path}\n${content.newText}` : `[${content.type}]`;
}

const jsonOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

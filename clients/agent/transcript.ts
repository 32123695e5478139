// Reports a conversation to the server: new and changed messages and the state of the program, not too often, bounded, and
// without the secrets of the workspace.
import { delay } from "../api/delay.js";
import { clipText } from "./text.js";
import {
  type ConversationReport,
  type ConversationState,
  OperationFailed,
  type ReportedMessage,
  type ReportedPart,
  TokenEnded,
} from "./client.js";

/** Milliseconds from one report to the next. */
const interval = 250;
/** Messages and bytes of a report, and messages that wait for one. */
const most = { messages: 20, bytes: 400 * 1024, waiting: 1000 } as const;
/** Bytes of the parts of a message, which become longer as JSON, and the number of its parts. */
export const largest = { text: 24 * 1024, input: 8 * 1024, message: 56 * 1024, parts: 100 } as const;
/** Shorter values are not masked: they are in texts by chance. */
const shortestSecret = 6;

/** Secrets that are masked, the longest first. */
const maskable = (secrets: readonly string[]): string[] =>
  secrets.filter(({ length }) => length >= shortestSecret).toSorted((one, other) => other.length - one.length);

/** Returns a function that replaces secrets in a text. */
export function masking(secrets: readonly string[]): (text: string) => string {
  const masked = maskable(secrets);
  return (text) => masked.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
}

export class Transcript {
  readonly #waiting = new Map<string, ReportedMessage>();
  #state: Pick<ConversationReport, "state" | "stateMessage" | "sessionId" | "sessionMode" | "asksNobody"> = {};
  #finished: string[] = [];
  #wake?: () => void;
  #isClosed = false;
  readonly #running: Promise<void>;
  readonly #secrets: readonly string[];
  /** Replaces the secrets in a text. */
  readonly masked: (text: string) => string;

  constructor(
    private readonly report: (report: Omit<ConversationReport, "taskId">) => Promise<void>,
    secrets: readonly string[],
    private readonly note: (fault: string) => void,
  ) {
    this.#secrets = maskable(secrets);
    this.masked = masking(secrets);
    this.#running = this.#run();
  }

  /** Adds a message, or replaces the one with its key. While it grows, the beginning of a secret at its end is held back. */
  set(message: ReportedMessage, isGrowing = false): void {
    this.#waiting.delete(message.key);
    this.#waiting.set(message.key, this.boundMessage(message, isGrowing));
    if (this.#waiting.size > most.waiting) this.#waiting.delete(this.#waiting.keys().next().value!);
    this.#wake?.();
  }

  state(state: ConversationState, stateMessage = ""): void {
    this.#state = { ...this.#state, state, stateMessage: clipText(this.masked(stateMessage), 500) };
    this.#wake?.();
  }

  session(sessionId: string): void {
    this.#state.sessionId = sessionId;
    this.#wake?.();
  }

  mode(sessionMode: string, asksNobody: boolean): void {
    this.#state = { ...this.#state, sessionMode: clipText(this.masked(sessionMode), 128), asksNobody };
    this.#wake?.();
  }

  /** Reports that an action was carried out. */
  finish(actionId: string): void {
    this.#finished.push(actionId);
    this.#wake?.();
  }

  /** Reports what is left, for at most some milliseconds. */
  async close(timeout: number): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await Promise.race([this.#running, delay(timeout)]);
  }

  async #run(): Promise<void> {
    for (let pause = interval; ;) {
      const isLast = this.#isClosed;
      const isMore = this.#take();
      if (isMore) {
        try {
          await this.report(isMore);
          pause = interval;
        } catch (error) {
          if (error instanceof TokenEnded) return;
          if (error instanceof OperationFailed && error.isTemporary) {
            this.#putBack(isMore);
            pause = Math.min(pause * 2, 10_000);
          } else this.note(`A part of the conversation was not stored: ${(error as Error).message}`);
        }
      } else if (isLast) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
      if (!this.#isClosed) await delay(pause);
      else if (pause > interval) await delay(interval);
    }
  }

  /** Takes the next report; undefined if there is nothing to report. */
  #take(): Omit<ConversationReport, "taskId"> | undefined {
    const messages: ReportedMessage[] = [];
    let bytes = 0;
    for (const message of this.#waiting.values()) {
      bytes += Buffer.byteLength(JSON.stringify(message));
      if (messages.length === most.messages || (messages.length > 0 && bytes > most.bytes)) break;
      messages.push(message);
    }
    for (const { key } of messages) this.#waiting.delete(key);
    const state = this.#waiting.size === 0 ? this.#state : {};
    if (this.#waiting.size === 0) this.#state = {};
    const finishedActionIds = this.#finished.splice(0, 100);
    const isEmpty = messages.length === 0 && Object.keys(state).length === 0 && finishedActionIds.length === 0;
    return isEmpty ? undefined : { ...state, messages, finishedActionIds };
  }

  /** Keeps a report that failed, without what has changed since. */
  #putBack({ messages = [], finishedActionIds = [], ...state }: Omit<ConversationReport, "taskId">): void {
    const newer = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const message of [...messages, ...newer].slice(-most.waiting)) this.#waiting.set(message.key, message);
    this.#state = { ...state, ...this.#state };
    this.#finished.unshift(...finishedActionIds);
  }

  boundMessage(message: ReportedMessage, isGrowing: boolean): ReportedMessage {
    let isCut = message.isCut ?? message.parts.length > largest.parts;
    let room: number = largest.message;
    const clip = (text: string, bytes: number, isLast: boolean): string => {
      const shown = this.masked(isLast && isGrowing ? this.#withoutBeginning(text) : text);
      const fit = clipText(shown, Math.max(Math.min(bytes, room), 64));
      if (fit !== shown) isCut = true;
      room -= Buffer.byteLength(JSON.stringify(fit));
      return fit;
    };
    const parts = message.parts.slice(0, largest.parts).map((part, index, { length }): ReportedPart => {
      const isLast = index === length - 1;
      return {
        ...part,
        ...(part.text !== undefined && { text: clip(part.text, largest.text, isLast) }),
        ...(part.input !== undefined && { input: clip(part.input, largest.input, false) }),
        ...(part.title !== undefined && { title: clipText(this.masked(part.title), 500).slice(0, 512) }),
      };
    });
    return { ...message, parts, isCut };
  }

  /** A text without the beginning of a secret at its end, of which the rest may follow. */
  #withoutBeginning(text: string): string {
    for (const secret of this.#secrets)
      for (let length = Math.min(secret.length - 1, text.length); length >= 3; length--)
        if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length);
    return text;
  }
}

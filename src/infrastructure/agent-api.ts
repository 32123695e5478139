import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Config } from "../runtime/config.js";
import { type BoundedPool, boundedPool } from "../runtime/concurrency.js";
import { foreignJson, isObject, isTooDeep } from "../runtime/json.js";
import { cleanLabel, utcMoment } from "../runtime/text.js";
import { type Fetch, type OpenStream, OutsideError, outsideFetch, outsideStreams } from "./http.js";
import { mayCallInside } from "./inside-addresses.js";

/** Maximum sizes of a list of messages, of other responses, and of an event of a stream, in bytes. */
const limits = { messages: foreignJson.bytes, other: 64 * 1024, event: foreignJson.bytes };

/** Maximum number of concurrent calls, and of calls that wait for one to end. */
const calls = { most: 64, waiting: 1_000 };

/** A message of the conversation between users and the program of a task. */
export interface AgentMessage {
  id: number;
  role: "user" | "agent";
  content: string;
  /** RFC 3339. */
  time: string;
}

/** Where a program is reached, and what shows it that Steward calls. */
export interface AppPlace {
  /** The base of the paths, without a slash at the end. */
  base: string;
  /** Sent as a bearer token; none if empty. */
  bearer: string;
}

/** Whether the program works, or waits for input. */
export type AgentStatus = "running" | "stable";

/** The program cannot be reached, or its response is not AgentAPI. */
export class AgentUnreachable extends Error {
  constructor(
    message: string,
    /** Whether the program may have received the request. */
    readonly wasSent: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = "AgentUnreachable";
  }

  /** Whether it has responded, with more than is read. */
  get isTooLong(): boolean {
    return this.cause instanceof OutsideError && this.cause.reason === "too_large";
  }
}

/** The program rejected a message. */
export class AgentRejection extends Error {
  constructor(
    /** The title of its problem report (RFC 9457), at most 512 characters; empty if it has none. */
    readonly title: string,
  ) {
    super(title);
    this.name = "AgentRejection";
  }
}

/**
 * Calls the programs of tasks by AgentAPI over HTTP. Credentials of callers are never forwarded. Redirects are errors,
 * and names are resolved once, so that no call leaves the permitted addresses.
 */
export class AgentApi {
  readonly #pool: BoundedPool = boundedPool(
    calls.most,
    calls.waiting,
    () => new AgentUnreachable("Too many calls are waiting.", false),
  );
  readonly #read: Fetch;
  readonly #send: Fetch;
  readonly #list: Fetch;
  readonly #open: OpenStream;

  constructor({
    taskAppTimeout,
    taskAppSendTimeout,
    taskAppAllowLoopback,
    taskAppAllowedCidrs,
  }: Pick<Config, "taskAppTimeout" | "taskAppSendTimeout" | "taskAppAllowLoopback" | "taskAppAllowedCidrs">) {
    const rules = { allowsLoopback: taskAppAllowLoopback, only: taskAppAllowedCidrs };
    const permits = (address: string) => mayCallInside(address, rules);
    // Programs of tasks run inside of the network.
    const direct = { proxy: undefined };
    this.#read = outsideFetch({ ...direct, permits, timeout: taskAppTimeout, bodyLimit: limits.other });
    this.#list = outsideFetch({ ...direct, permits, timeout: taskAppTimeout, bodyLimit: limits.messages });
    this.#send = outsideFetch({ ...direct, permits, timeout: taskAppSendTimeout, bodyLimit: limits.other });
    this.#open = outsideStreams({ permits, connectTimeout: taskAppTimeout });
  }

  /** Rejects with `AgentUnreachable`. */
  async status(place: AppPlace): Promise<AgentStatus> {
    const body = await this.#json(this.#read, place, "/status");
    if (isObject(body) && (body.status === "running" || body.status === "stable")) return body.status;
    throw new AgentUnreachable("The response to /status is not AgentAPI.", true);
  }

  /** Returns the conversation by ascending id. Messages of other roles are left out. Rejects with `AgentUnreachable`. */
  async messages(place: AppPlace): Promise<AgentMessage[]> {
    const body = await this.#json(this.#list, place, "/messages");
    const messages = isObject(body) ? body.messages : undefined;
    if (!Array.isArray(messages)) throw new AgentUnreachable("The response to /messages is not AgentAPI.", true);
    return messages
      .map(messageOf)
      .filter((message) => message !== undefined)
      .toSorted((one, other) => one.id - other.id);
  }

  /** Sends a message of a user. Rejects with `AgentRejection` for a 4xx response, else with `AgentUnreachable`. */
  send(place: AppPlace, content: string): Promise<void> {
    return this.#post(place, { content, type: "user" });
  }

  /** Presses a key in the terminal of the program, which is no message. Rejects as `send` does. */
  pressKey(place: AppPlace, key: string): Promise<void> {
    return this.#post(place, { content: key, type: "raw" });
  }

  async #post(place: AppPlace, message: { content: string; type: "user" | "raw" }): Promise<void> {
    const body = JSON.stringify(message);
    const init = { method: "POST", body, headers: { "content-type": "application/json" } };
    const response = await this.#call(this.#send, place, "/message", init);
    if (response.ok) return;
    if (response.status >= 400 && response.status < 500) throw new AgentRejection(titleOf(await textOf(response)));
    throw new AgentUnreachable(`The response to /message has status ${response.status}.`, true);
  }

  /**
   * Streams the messages of the conversation: first all of them, then each that is new or changed, until the program or
   * the signal ends the stream. Rejects with `AgentUnreachable` if the stream cannot be opened.
   */
  async events(place: AppPlace, signal: AbortSignal): Promise<AsyncGenerator<AgentMessage, void>> {
    return messagesIn(await this.openResponse(place, "/events", signal));
  }

  async openResponse(place: AppPlace, path: string, signal: AbortSignal): Promise<IncomingMessage> {
    let response: IncomingMessage;
    try {
      response = await this.#open(place.base + path, signal, authorizationOf(place));
    } catch (error) {
      if (error instanceof OutsideError) throw new AgentUnreachable(error.message, error.wasSent, error);
      throw error;
    }
    if (response.statusCode === 200) return response;
    response.destroy();
    throw new AgentUnreachable(`The response has status ${response.statusCode}.`, true);
  }

  async #json(fetch: Fetch, place: AppPlace, path: string): Promise<unknown> {
    const response = await this.#call(fetch, place, path);
    if (!response.ok) throw new AgentUnreachable(`The response has status ${response.status}.`, true);
    try {
      return JSON.parse(await textOf(response));
    } catch (error) {
      throw new AgentUnreachable("The response is not JSON.", true, error);
    }
  }

  async #call(fetch: Fetch, place: AppPlace, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(authorizationOf(place))) headers.set(name, value);
    const sent = { ...init, headers, redirect: "error" } as const;
    try {
      return await this.#pool(() => fetch(place.base + path, sent));
    } catch (error) {
      if (error instanceof OutsideError) throw new AgentUnreachable(error.message, error.wasSent, error);
      throw error;
    }
  }
}

const authorizationOf = ({ bearer }: AppPlace): Record<string, string> =>
  bearer === "" ? {} : { authorization: `Bearer ${bearer}` };

const textOf = (response: Response): Promise<string> => response.text();

/** Returns a message of a known role in its stored form; `undefined` for all else. */
export function messageOf(value: unknown): AgentMessage | undefined {
  if (!isObject(value)) return undefined;
  const { id, role, content, time } = value;
  const isKnown = role === "user" || role === "agent";
  if (!isKnown || typeof content !== "string" || !Number.isSafeInteger(id)) return undefined;
  const at = typeof time === "string" ? utcMoment(time) : undefined;
  return at === undefined ? undefined : { id: id as number, role, content, time: at };
}

async function* messagesIn(response: IncomingMessage): AsyncGenerator<AgentMessage, void> {
  const events = Readable.toWeb(response)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onError: "terminate", maxBufferSize: limits.event }));
  for await (const { event, data } of events) {
    const message = event === "message_update" ? eventMessage(data) : undefined;
    if (message) yield message;
  }
}

/** The message of an event, which calls its content `message`. */
function eventMessage(data: string): AgentMessage | undefined {
  try {
    const value: unknown = isTooDeep(data) ? undefined : JSON.parse(data);
    return isObject(value) ? messageOf({ ...value, content: value.message }) : undefined;
  } catch {
    return undefined;
  }
}

/** The title is stored and shown. */
function titleOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) && typeof body.title === "string" ? cleanLabel(body.title, 512) : "";
  } catch {
    return "";
  }
}

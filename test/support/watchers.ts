// Clients of the live inbox, one per transport, that collect what they receive.
import { availableParallelism, loadavg } from "node:os";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { credentialHeader } from "./world.js";

export interface Told {
  id: string;
  title: string;
  content: string;
  unreadCount: number;
  /** Set if the transport has cursors. */
  cursor?: string;
}

export interface Watcher {
  /** In order of arrival. */
  readonly items: Told[];
  /** Unread counts received without an item. */
  readonly unread: number[];
  /** Unread counts received because the cursor to resume from was unknown. */
  readonly restarts: number[];
  /** The close code of the socket, or 0 when the response ended. */
  readonly ended: Promise<number>;
  close(): void;
}

interface Options {
  query?: string;
  headers?: Record<string, string>;
}

type Connect = (url: string, token: string, options?: Options) => Promise<Watcher>;

const path = "/api/v2/notifications/inbox/watch";

interface WireItem {
  notification: { id: string; title: string; content: string };
  unread_count: number;
}

const told = ({ notification: { id, title, content }, unread_count }: WireItem, cursor?: string): Told => ({
  id,
  title,
  content,
  unreadCount: unread_count,
  ...(cursor && { cursor }),
});

const webSocket: Connect = async (url, token, { query = "", headers = {} } = {}) => {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}${query}`, {
    headers: { ...credentialHeader(token), ...headers },
  });
  const items: Told[] = [];
  socket.on("message", (data) => items.push(told(JSON.parse((data as Buffer).toString()) as WireItem)));
  const ended = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
    socket.once("unexpected-response", (_, response) => reject(new Error(`Rejected with ${response.statusCode}.`)));
  });
  return { items, unread: [], restarts: [], ended, close: () => socket.close() };
};

/** Reads a streamed response and passes each part that ends with `separator` to `take`. */
async function streamed(
  url: string,
  token: string,
  accept: string,
  separator: string,
  { query = "", headers = {} }: Options,
  take: (part: string) => void,
) {
  const aborted = new AbortController();
  const response = await fetch(`${url}${path}${query}`, {
    headers: { ...credentialHeader(token), Accept: accept, ...headers },
    signal: aborted.signal,
  });
  if (response.status !== 200) throw new Error(`Rejected with ${response.status}.`);
  const read = async () => {
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split(separator);
      rest = parts.pop()!;
      for (const part of parts) if (part.trim() !== "") take(part);
    }
    return 0;
  };
  return { ended: read().catch(() => 0), close: () => aborted.abort() };
}

const sse: Connect = async (url, token, options = {}) => {
  const [items, unread, restarts]: [Told[], number[], number[]] = [[], [], []];
  const stream = await streamed(url, token, "text/event-stream", "\n\n", options, (block) => {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
    const data = field("data");
    if (data === undefined) return;
    const item = JSON.parse(data) as WireItem;
    if (field("event") === "unread") unread.push(item.unread_count);
    else if (field("event") === "restart") restarts.push(item.unread_count);
    else items.push(told(item, field("id")));
  });
  return { items, unread, restarts, ...stream };
};

const ndjson: Connect = async (url, token, options = {}) => {
  const items: Told[] = [];
  const take = (line: string) => items.push(told(JSON.parse(line) as WireItem));
  return {
    items,
    unread: [],
    restarts: [],
    ...(await streamed(url, token, "application/x-ndjson", "\n", options, take)),
  };
};

type InboxEvent =
  | { notification: { id: string; title: string; content: string }; unreadCount: number; cursor: string }
  | { __typename: "InboxUnreadCountChanged" | "InboxWatchRestarted"; unreadCount: number };

const subscription: Connect = async (url, token, { query = "" } = {}) => {
  const [items, unread, restarts]: [Told[], number[], number[]] = [[], [], []];
  let end: (code: number) => void;
  const ended = new Promise<number>((resolve) => (end = resolve));
  const client = createClient({
    url: `${url.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { sessionToken: token },
    retryAttempts: 0,
    lazy: true,
    on: { closed: (event) => end((event as { code: number }).code) },
  });
  const { format, since, read_status: readStatus } = Object.fromEntries(new URLSearchParams(query));
  const events = client.iterate<{ inboxEvents: InboxEvent }>({
    query: `subscription($filter: InboxFilter, $format: TextFormat, $since: String) {
      inboxEvents(filter: $filter, format: $format, since: $since) {
        ... on InboxNotificationAdded { notification { id title content } unreadCount cursor }
        ... on InboxUnreadCountChanged { __typename unreadCount }
        ... on InboxWatchRestarted { __typename unreadCount }
      }
    }`,
    variables: { format: format?.toUpperCase(), since, filter: { readStatus: readStatus?.toUpperCase() } },
  });
  const take = ({ inboxEvents: event }: { inboxEvents: InboxEvent }) => {
    if ("notification" in event)
      items.push({ ...event.notification, unreadCount: event.unreadCount, cursor: event.cursor });
    else (event.__typename === "InboxWatchRestarted" ? restarts : unread).push(event.unreadCount);
  };
  const first = await events.next();
  if (first.done || first.value.errors) throw new Error(`Rejected with ${JSON.stringify(first.value?.errors)}.`);
  take(first.value.data!);
  void (async () => {
    for await (const { data } of events) if (data) take(data);
  })().catch(() => {});
  return { items, unread, restarts, ended, close: () => void client.dispose() };
};

/** How to connect with each transport. */
export const transports = { WebSocket: webSocket, SSE: sse, NDJSON: ndjson, subscription };

/**
 * How many times as long everything takes on this machine now, as its processors are shared by that many programs. At most
 * 4: in containers, the load is that of their host.
 */
export const slowness = (): number => Math.min(4, Math.max(1, loadavg()[0]! / availableParallelism()));

/** Waits until a condition holds; fails if it does not in a try that begins later than this, however long that takes. */
export async function holdsWithin(milliseconds: number, holds: () => Promise<boolean>, what: string): Promise<void> {
  const start = performance.now();
  for (;;) {
    const begun = performance.now() - start;
    if (await holds()) return;
    if (begun > milliseconds) throw new Error(`It does not hold in a try that began after ${begun} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Waits until a condition holds; fails after the given time, or later on a machine that is busy. Looks less often the longer it
 * has waited, up to ten times a second.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string),
  milliseconds = 20_000,
): Promise<void> {
  const start = Date.now();
  while (!(await holds())) {
    const waited = Date.now() - start;
    if (waited > milliseconds * slowness()) {
      // What arrived while the process was held up is still to be read.
      await new Promise(setImmediate);
      if (await holds()) return;
      throw new Error(`Timed out after ${waited} ms: ${typeof what === "string" ? what : what()}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(100, Math.max(10, waited / 10))));
  }
}

// Clients of the live inbox, one per transport, that stop reading once they are connected.
import { get, type IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Person } from "./world.js";

export interface PausedReader {
  /** Ids of the notifications that arrived completely, in order. */
  readonly seen: string[];
  /** Resumes reading up to the end. Resolves with the close code of the socket, or 0 when the response ended. */
  resume(): Promise<number>;
}

type Connect = (url: string, person: Pick<Person, "token">) => Promise<PausedReader>;

const watch = "/api/v2/notifications/inbox/watch";

interface WireItem {
  notification: { id: string };
}

const idIn = (json: string) => (JSON.parse(json) as WireItem).notification.id;

/** Pauses a socket, and collects the ids in what it receives. */
function paused(socket: WebSocket, idOf: (message: string) => string | undefined): PausedReader {
  const seen: string[] = [];
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  socket.on("message", (data) => {
    const id = idOf((data as Buffer).toString());
    if (id) seen.push(id);
  });
  socket.on("error", () => {});
  socket.pause();
  return {
    seen,
    resume() {
      socket.resume();
      return closed;
    },
  };
}

const webSocket: Connect = async (url, { token }) => {
  const socket = new WebSocket(url.replace("http", "ws") + watch, { headers: { "Service-Session-Token": token } });
  await new Promise((resolve) => socket.once("open", resolve));
  return paused(socket, idIn);
};

const subscription: Connect = async (url, { token }) => {
  const socket = new WebSocket(`${url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  await new Promise((resolve) => socket.once("open", resolve));
  const query = "subscription { inboxEvents { ... on InboxNotificationAdded { notification { id content } } } }";
  const begun = new Promise<void>((resolve) => {
    socket.on("message", (data) => {
      const { type } = JSON.parse((data as Buffer).toString()) as { type: string };
      if (type === "connection_ack") socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query } }));
      if (type === "next") resolve();
    });
  });
  socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: token } }));
  await begun;
  socket.removeAllListeners("message");
  return paused(socket, (message) => {
    const { payload } = JSON.parse(message) as { payload?: { data?: { inboxEvents: Partial<WireItem> } } };
    return payload?.data?.inboxEvents.notification?.id;
  });
};

/** Pauses a response; `idsIn` finds the ids in what it received. */
const streamed =
  (accept: string, idsIn: (text: string) => string[]): Connect =>
  async (url, { token }) => {
    const headers = { "Service-Session-Token": token, Accept: accept };
    const response = await new Promise<IncomingMessage>((resolve) => get(url + watch, { headers }, resolve));
    const seen: string[] = [];
    return {
      seen,
      async resume() {
        let text = "";
        try {
          for await (const chunk of response.setEncoding("utf8")) {
            text += chunk;
            seen.splice(0, Infinity, ...idsIn(text));
          }
        } catch {
          // The server aborted the response.
        }
        return 0;
      },
    };
  };

const sse = streamed("text/event-stream", (text) =>
  text
    .split("\n\n")
    .slice(0, -1)
    .filter((block) => block.startsWith("id: "))
    .map((block) => idIn(block.slice(block.indexOf("data: ") + 6))),
);

const ndjson = streamed("application/x-ndjson", (text) =>
  text
    .split("\n")
    .slice(0, -1)
    .filter((line) => line !== "")
    .map(idIn),
);

/** How to connect with each transport. */
export const pausedReaders = { WebSocket: webSocket, SSE: sse, NDJSON: ndjson, subscription };

// Raw ws: each request of a session sends one text frame, serialized once, to all sockets of the session.
import { WebSocket, WebSocketServer } from "ws";
import { readJson, serve } from "./serve.js";
import { sessionId } from "./sessions.js";

const watchers = new Map<string, Set<WebSocket>>();

/** Has the length of an inbox event. */
const frameOf = (content: unknown) =>
  JSON.stringify({
    notification: {
      id: "01900000-0000-7000-8000-000000000000",
      user_id: "01900000-0000-7000-8000-000000000000",
      template_id: "39b1e189-c857-4b0c-877a-511144c18516",
      targets: [],
      content,
      icon: "DEFAULT_ICON_OTHER",
      actions: [],
      created_at: "2026-01-02T03:04:05.678Z",
    },
    unread_count: 1,
  });

const server = serve(async (request) => {
  const { content } = (await readJson(request)) as { content: unknown };
  const frame = frameOf(content);
  for (const socket of watchers.get(sessionId(request)) ?? []) socket.send(frame);
  return undefined;
});

const upgrader = new WebSocketServer({ noServer: true, perMessageDeflate: false });
server.on("upgrade", (request, socket, head) => {
  upgrader.handleUpgrade(request, socket, head, (watcher) => {
    const id = sessionId(request);
    const own = watchers.get(id) ?? new Set();
    watchers.set(id, own.add(watcher));
    watcher.on("close", () => own.delete(watcher));
  });
});

import { once } from "node:events";
import { WebSocket } from "ws";

/** Connections that are opened at a time, so that no backlog overflows. */
const opening = 50;

/** WebSockets of users who watch their inbox. */
export class Watchers implements Disposable {
  readonly #sockets: WebSocket[] = [];

  /** `onText` gets the text of each frame. */
  constructor(private readonly onText: (text: string) => void) {}

  /** Opens a watcher for each token. */
  async open(url: URL, tokens: readonly string[]): Promise<void> {
    const pending = [...tokens];
    const openSome = async () => {
      for (let token = pending.pop(); token; token = pending.pop()) {
        const socket = new WebSocket(new URL("/api/v2/notifications/inbox/watch", url.href.replace("http", "ws")), {
          headers: { "Service-Session-Token": token },
          perMessageDeflate: false,
        });
        socket.on("message", (data: Buffer) => this.onText(data.toString()));
        await once(socket, "open");
        this.#sockets.push(socket);
      }
    };
    await Promise.all(Array.from({ length: opening }, openSome));
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}

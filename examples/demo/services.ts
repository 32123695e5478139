// What the company has beside the server, on this machine: the programs of its tasks, which speak AgentAPI, the receiver of
// its notifications, the Git service at which accounts are linked, and the door through which the owner's browser enters.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Message {
  id: number;
  role: "user" | "agent";
  content: string;
  time: string;
}

/** Conversations by the ID of their task. */
export type Conversations = Record<string, Message[]>;

const replies = [
  "I read the code that this touches, and wrote a failing test first. It reproduces what you describe.",
  "Done. The change is small: 2 files, 31 lines. All 418 tests pass. Shall I open a pull request?",
  "I kept the public interface as it is. One caller relied on the old order; I changed it and explained why.",
  "That needs a decision of yours: the old format is still read by the boot loader of 2019. Keep it?",
];

/** Milliseconds after which the program of a task replies. */
const thinking = 1_500;

/** Bytes of a request that are read. */
const mostBytes = 1024 ** 2;

export class Services {
  /** Those who watch the conversation of a task. */
  readonly #watchers = new Map<string, Set<ServerResponse>>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  /** What the door hands out once: the cookies of a session by a secret path. */
  readonly #doors = new Map<string, { home: string; cookies: string[] }>();

  private constructor(readonly conversations: Conversations) {}

  /** Listens on a port of this machine; 0 for a free one. */
  static async open(port: number, conversations: Conversations): Promise<Services> {
    const services = new Services(conversations);
    services.#server.listen(port, "127.0.0.1");
    await once(services.#server, "listening");
    return services;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Returns an address that signs a browser in, once: cookies of a host are those of all its ports. */
  door(home: string, cookies: string[]): string {
    const secret = randomBytes(24).toString("base64url");
    this.#doors.set(secret, { home, cookies });
    return `http://localhost:${this.port}/open/${secret}`;
  }

  /** Adds to the conversation of a task. */
  say(task: string, role: Message["role"], content: string): void {
    const messages = (this.conversations[task] ??= []);
    const message = { id: messages.length, role, content, time: new Date().toISOString() };
    messages.push(message);
    for (const watcher of this.#watchers.get(task) ?? []) watcher.write(updateOf(message));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: unknown = {}, headers: Record<string, string | string[]> = {}) => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    // No web page, that has a name of its own point here or sends a form, is one of the programs of the demonstration.
    const { host = "", "content-type": type = "" } = request.headers;
    if (!/^(127\.0\.0\.1|localhost):\d+$/.test(host)) return send(421);
    const body = await textOf(request).catch(() => undefined);
    if (body === undefined) return send(413);
    const [, first = "", second = "", third = ""] = request.url!.split("?")[0]!.split("/");
    if (first === "chat" && request.method === "POST" && !/^application\/json\s*(;|$)/i.test(type)) return send(415);
    if (first === "chat" && third === "events") return this.#watch(second, response);
    if (first === "chat") return this.#chat(second, third, body, send);
    switch (`${first}/${second}`) {
      case "git/device":
        return send(200, {
          device_code: randomBytes(12).toString("hex"),
          user_code: "LARK-SPUR",
          verification_uri: `${this.url}/git/enter`,
          interval: 1,
        });
      case "git/token":
        return send(200, { access_token: randomBytes(20).toString("hex"), token_type: "Bearer", scope: "repo" });
      case "git/user":
        return send(200, { id: 1, login: "larkspur", name: "Larkspur Robotics" });
      case "healthz-report/":
        return send(200, { errors: [], warnings: [] });
      case "hook/":
        // A message to the receiver of the old firmware, which is gone: it is shown as undelivered.
        return send(body.includes("Firmware 4.1") ? 410 : 200);
      default: {
        const door = first === "open" ? this.#doors.get(second) : undefined;
        if (!door) return send(404);
        this.#doors.delete(second);
        return send(303, {}, { Location: door.home, "Set-Cookie": door.cookies, "Cache-Control": "no-store" });
      }
    }
  }

  /** Sends a conversation, and then what is added to it. */
  #watch(task: string, response: ServerResponse): void {
    const watchers = this.#watchers.get(task) ?? new Set();
    this.#watchers.set(task, watchers.add(response));
    response.on("close", () => watchers.delete(response));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const message of this.conversations[task] ?? []) response.write(updateOf(message));
    response.write(eventOf("status_change", { status: "stable", agent_type: "custom" }));
  }

  /** The program of a task. */
  #chat(task: string, what: string, body: string, send: (status: number, body?: unknown) => void): void {
    const messages = this.conversations[task] ?? [];
    if (what === "status") return send(200, { status: "stable", agent_type: "custom" });
    if (what === "messages") return send(200, { messages });
    if (what !== "message") return send(404);
    this.say(task, "user", contentOf(body));
    setTimeout(() => this.say(task, "agent", replies[messages.length % replies.length]!), thinking).unref();
    send(200, { ok: true });
  }
}

const eventOf = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

const updateOf = ({ id, role, content, time }: Message) =>
  eventOf("message_update", { id, role, message: content, time });

function contentOf(body: string): string {
  try {
    const { content } = JSON.parse(body) as { content?: unknown };
    return typeof content === "string" ? content : "";
  } catch {
    return "";
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > mostBytes) throw new Error("Too long.");
  }
  return text;
}

/** The Git service as a provider of external accounts, for STEWARD_EXTERNAL_AUTH. */
export const gitProvider = (url: string): object => ({
  type: "custom",
  id: "git",
  client_id: "steward",
  client_secret: "larkspur",
  display_name: "Larkspur Git",
  auth_url: `${url}/git/authorize`,
  token_url: `${url}/git/token`,
  validate_url: `${url}/git/user`,
  device_code_url: `${url}/git/device`,
  device_flow: true,
  scopes: ["repo"],
});

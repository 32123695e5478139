// A program that speaks AgentAPI, and rejects whatever is not. It behaves well unless a test changes that.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Said {
  id: number;
  role: string;
  content: string;
  time: string;
}

type Handler = (response: ServerResponse, body: string) => boolean | Promise<boolean>;

export class AgentProgram {
  /** Requests, such as `POST /message`. */
  readonly requests: string[] = [];
  readonly messages: Said[] = [];
  status: "stable" | "running" = "stable";
  /** Takes over a request if it returns true. */
  handlers: Record<string, Handler> = {};
  readonly #streams = new Set<ServerResponse>();
  #isKilled = false;

  private constructor(private readonly server: Server) {}

  static async open(): Promise<AgentProgram> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const program = new AgentProgram(server);
    server.on("request", (request, response) => void program.#respond(request, response));
    return program;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The contents of what users said. */
  get inputs(): string[] {
    return this.messages.filter(({ role }) => role === "user").map(({ content }) => content);
  }

  /** Forgets the conversation and the requests, and behaves well again. */
  reset(): void {
    this.requests.length = 0;
    this.messages.length = 0;
    this.status = "stable";
    this.handlers = {};
  }

  /** How often a request was made. */
  count(request: string): number {
    return this.requests.filter((each) => each === request).length;
  }

  say(role: string, content: string): Said {
    const message = { id: this.messages.length, role, content, time: new Date().toISOString() };
    this.messages.push(message);
    for (const stream of this.#streams) stream.write(eventOf(message));
    return message;
  }

  /** Ends the streams of events. */
  hangUp(): void {
    for (const stream of this.#streams) stream.end();
  }

  /** Breaks all connections, and every further one until `revive`. */
  kill(): void {
    this.#isKilled = true;
    this.server.closeAllConnections();
  }

  /** Starts again, with an empty conversation. */
  revive(): void {
    this.#isKilled = false;
    this.messages.length = 0;
    this.status = "stable";
    this.handlers = {};
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isKilled) return void request.socket.destroy();
    const name = `${request.method} ${request.url}`;
    this.requests.push(name);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    // Steward sends a bearer token of the start, which is no credential of a caller: an HMAC-SHA-256 in base64url.
    const isOfStart = /^Bearer ([\w-]{43}|of-this-start)$/.test(
      request.headers.authorization ?? "Bearer of-this-start",
    );
    const foreign = ["cookie", "service-session-token", ...(isOfStart ? [] : ["authorization"])];
    const leaked = foreign.filter((header) => header in request.headers);
    if (leaked.length > 0)
      return json(response, 400, { title: `These headers are not for a program: ${leaked.join()}` });
    if (await this.handlers[name]?.(response, body)) return;
    switch (name) {
      case "GET /status":
        return json(response, 200, { status: this.status, agent_type: "test" });
      case "GET /messages":
        return json(response, 200, { messages: this.messages });
      case "POST /message":
        return this.#take(response, body);
      case "GET /events":
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const message of this.messages) response.write(eventOf(message));
        response.write(`event: status_change\ndata: ${JSON.stringify({ status: this.status })}\n\n`);
        this.#streams.add(response);
        response.on("close", () => this.#streams.delete(response));
        return;
      default:
        return json(response, 404, { title: "Not found" });
    }
  }

  #take(response: ServerResponse, body: string): void {
    const message = JSON.parse(body) as Record<string, unknown>;
    const isStrict = Object.keys(message).toSorted().join() === "content,type" && message.type === "user";
    if (!isStrict) return json(response, 422, { title: "The message is malformed." });
    if (this.status !== "stable") return json(response, 409, { title: "The program is working." });
    this.say("user", message.content as string);
    json(response, 200, { ok: true });
  }
}

const eventOf = ({ content, ...message }: Said): string =>
  `event: message_update\ndata: ${JSON.stringify({ ...message, message: content })}\n\n`;

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": status < 400 ? "application/json" : "application/problem+json" });
  response.end(JSON.stringify(body));
}

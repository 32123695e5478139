// Serves AgentAPI for a program that speaks ACP, so that its inputs and its conversation pass as those of other programs.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { PlainMessage } from "./turns.js";

/** The program, as AgentAPI sees it. */
export interface Spoken {
  /** `starting` until the program takes input. */
  readonly status: "starting" | "running" | "stable";
  readonly messages: readonly PlainMessage[];
  /** Takes an input. Returns whether it was accepted. */
  take(text: string): boolean;
  interrupt(): void;
  watch(onMessage: (message: PlainMessage) => void, onStatus: (status: string) => void): () => void;
}

/** Bytes of a request, and of a stream that is not read; number of streams. */
const most = { body: 1024 ** 2, unread: 4 * 1024 ** 2, streams: 20 } as const;
const escape = "\u001b";
const defaultPorts: Record<string, number> = { "http:": 80, "https:": 443 };

/** Serves AgentAPI at the port of a URL: for this machine only if the URL names it by a loopback address. */
export async function serveAgentApi(url: string, program: Spoken): Promise<Server> {
  const { hostname, port, protocol, pathname } = new URL(url);
  const base = pathname.replace(/\/+$/, "");
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  let streams = 0;
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?", 1)[0]!;
    const route = path.startsWith(base) ? `${request.method} ${path.slice(base.length)}` : "";
    switch (route) {
      case "GET /status":
        if (program.status === "starting") return problem(response, 503, "The program is starting.");
        return send(response, 200, { status: program.status, agent_type: "custom" });
      case "GET /messages":
        return send(response, 200, { messages: program.messages });
      case "POST /message":
        return void takeMessage(request, response, program);
      case "GET /events":
        if (streams >= most.streams) return problem(response, 503, "Too many streams are open.");
        streams++;
        response.on("close", () => streams--);
        return stream(response, program);
      default:
        return problem(response, 404, "Not found.");
    }
  });
  server.requestTimeout = 10_000;
  const host = isLoopback ? hostname.replace(/^\[|\]$/g, "") : undefined;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: Number(port) || defaultPorts[protocol], host }, resolve);
  });
  return server;
}

async function takeMessage(request: IncomingMessage, response: ServerResponse, program: Spoken): Promise<void> {
  const { content, type } = await bodyOf(request).catch((): Record<string, unknown> => ({}));
  if (typeof content !== "string" || (type !== "user" && type !== "raw"))
    return problem(response, 422, "The body must have a content, and the type user or raw.");
  if (type === "raw") {
    if (content === escape) program.interrupt();
  } else if (!program.take(content)) return problem(response, 409, "The program is still working.");
  send(response, 200, { ok: true });
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += String(chunk);
    if (text.length > most.body) throw new Error("The body is too large.");
  }
  const body: unknown = JSON.parse(text);
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

function stream(response: ServerResponse, program: Spoken): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  const write = (event: string, data: object) => {
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (response.writableLength > most.unread) response.destroy();
  };
  const message = ({ id, role, content, time }: PlainMessage) =>
    write("message_update", { id, role, message: content, time });
  const status = (value: string) => write("status_change", { status: value, agent_type: "custom" });
  for (const each of program.messages) message(each);
  status(program.status === "stable" ? "stable" : "running");
  response.on("close", program.watch(message, status));
}

function send(response: ServerResponse, code: number, body: object): void {
  const type = code < 400 ? "application/json" : "application/problem+json";
  response.writeHead(code, { "Content-Type": type }).end(JSON.stringify(body));
}

const problem = (response: ServerResponse, code: number, title: string) =>
  send(response, code, { status: code, title });

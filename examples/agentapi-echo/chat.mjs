// An agent program for tasks, without packages: repeats each message after a moment of work. It speaks the HTTP protocol
// of AgentAPI: GET /status, POST /message, GET /messages, GET /events (server-sent events).
import { readFileSync } from "node:fs";
import { timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "3284" },
    host: { type: "string", default: "127.0.0.1" },
    model: { type: "string", default: "small" },
    /** Milliseconds of work per message. */
    work: { type: "string", default: "300" },
  },
});
const { STEWARD_URL: url, STEWARD_AGENT_TOKEN: token, STEWARD_TASK_PROMPT: prompt } = process.env;
const { STEWARD_TASK_CONVERSATION: saved, STEWARD_TASK_APP_TOKEN: bearer = "" } = process.env;

/** Bytes of a request body. */
const bodyLimit = 1024 ** 2;
const messages = earlier();
const streams = new Set();
let status = "stable";

/** The conversation before the task was paused, which Steward has saved. */
function earlier() {
  try {
    return saved ? JSON.parse(readFileSync(saved, "utf8")).messages : [];
  } catch {
    return [];
  }
}

function emit(event, data) {
  for (const stream of streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function add(role, content) {
  const message = { id: messages.length, role, content, time: new Date().toISOString() };
  messages.push(message);
  emit("message_update", updateOf(message));
}

const updateOf = ({ id, role, content, time }) => ({ id, role, message: content, time });

function become(next) {
  status = next;
  emit("status_change", { status, agent_type: "custom" });
}

/** Takes a message of the user, works for a moment, and repeats the message. */
function take(content) {
  add("user", content);
  become("running");
  void report("WORKING", "Repeating your message.");
  setTimeout(() => {
    add("agent", `${values.model} echo: ${content}`);
    become("stable");
    void report("IDLE", "Waiting for your next message.");
  }, Number(values.work));
}

/** Reports the state of the task to Steward, if it runs there. */
async function report(state, message) {
  if (!url || !token) return;
  const query = "mutation ($input: ReportAppStatusInput!) { reportAppStatus(input: $input) { __typename } }";
  const body = JSON.stringify({ query, variables: { input: { appSlug: "chat", state, message } } });
  const headers = { "Content-Type": "application/json", "Service-Session-Token": token };
  await fetch(`${url}/graphql`, { method: "POST", headers, body }).catch(() => {});
}

function send(response, code, body) {
  const type = code < 400 ? "application/json" : "application/problem+json";
  response.writeHead(code, { "Content-Type": type }).end(JSON.stringify(body));
}

const problem = (response, code, title) => send(response, code, { status: code, title });

/** Names of this machine, and the address at which Steward reaches the program. */
const hosts = new Set([
  "localhost",
  "127.0.0.1",
  "[::1]",
  values.host.includes(":") ? `[${values.host}]` : values.host,
]);

/** Whether a request names this program as its host: a web page that has a name point here does not. */
const isForUs = ({ headers: { host = "" } }) => hosts.has(host.toLowerCase().replace(/:\d+$/, ""));

/** Whether Steward sends a request, or its agent: they alone have the token, another one at each start. */
function isFromSteward({ headers: { authorization = "" } }) {
  const given = Buffer.from(authorization);
  const expected = Buffer.from(`Bearer ${bearer}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function bodyOf(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > bodyLimit) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const routes = {
  "GET /status": (_, response) => send(response, 200, { status, agent_type: "custom" }),
  "GET /messages": (_, response) => send(response, 200, { messages }),
  "POST /message": async (request, response) => {
    const { content, type } = (await bodyOf(request)) ?? {};
    if (typeof content !== "string" || !["user", "raw"].includes(type))
      return problem(response, 422, "The body must have a content, and the type user or raw.");
    if (type === "user" && status !== "stable") return problem(response, 409, "The agent is still working.");
    if (type === "user") take(content);
    send(response, 200, { ok: true });
  },
  "GET /events": (request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    streams.add(response);
    request.on("close", () => streams.delete(response));
    for (const message of messages)
      response.write(`event: message_update\ndata: ${JSON.stringify(updateOf(message))}\n\n`);
    response.write(`event: status_change\ndata: ${JSON.stringify({ status, agent_type: "custom" })}\n\n`);
  },
};

const server = createServer((request, response) => {
  const route = routes[`${request.method} ${request.url.split("?", 1)[0]}`];
  const isJson = /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "");
  if (!isForUs(request)) problem(response, 421, "The Host is not this program.");
  else if (bearer && !isFromSteward(request)) problem(response, 401, "The token is missing or wrong.");
  else if (request.method === "POST" && !isJson) problem(response, 415, "The body must be JSON.");
  else if (route) void route(request, response);
  else problem(response, 404, "Not found.");
});

server.listen(Number(values.port), values.host, () => {
  console.log(`Listening on http://${values.host}:${server.address().port}, model ${values.model}.`);
  // After a pause, the prompt is a new one only if it was changed meanwhile.
  if (prompt && !messages.some(({ role, content }) => role === "user" && content === prompt)) take(prompt);
});

process.on("SIGTERM", () => {
  console.log("Stopping.");
  process.exit(0);
});

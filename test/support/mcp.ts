// Requests to the MCP server, as programs of both revisions of the protocol send them.
import { insertAccessToken, insertClient, insertGrant, selfRegistered } from "./oauth2.js";
import type { Anything, Person, World } from "./world.js";

/** The reading scopes with which programs begin. */
export const reading = [
  "group:read",
  "inbox_notification:read",
  "organization:read",
  "provisioner_job:read",
  "task:read",
  "template:read",
  "user:read",
  "workspace:read",
];

/** Makes a program that registered itself, with an access token of a user for the MCP server or another resource. */
export async function program(
  w: World,
  user: Pick<Person, "id">,
  scopes: readonly string[] = reading,
  audience = "/mcp",
) {
  const { id: clientId } = await insertClient(w, { ...selfRegistered, scope_ceiling: ["all"] });
  const audiences = [w.app.services.config.accessUrl + audience];
  const grant = await insertGrant(w, user.id, clientId, { scopes, audiences });
  const { text } = await insertAccessToken(w, grant);
  return { clientId, grantId: grant.id, token: text };
}

export interface McpResponse {
  status: number;
  headers: Headers;
  /** The messages that the response has: one, or those of its events. */
  messages: Anything[];
  result: Anything;
  error: Anything;
}

interface Call {
  method: string;
  params?: Record<string, unknown>;
  /** The abilities that the program declares. */
  capabilities?: object;
  revision?: "2026-07-28" | "2025-11-25";
  headers?: Record<string, string>;
  /** Ends the request. */
  signal?: AbortSignal;
}

/** Sends one request of the protocol. Resolves with the head of its response. */
function request(w: World, token: string | undefined, call: Call): Promise<Response> {
  const { method, params = {}, capabilities = {}, revision = "2026-07-28", headers = {} } = call;
  const name = params["name"] ?? params["uri"];
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const { _meta: meta, ...rest } = params as { _meta?: object };
  const isModern = revision === "2026-07-28";
  const sent = isModern ? { ...rest, _meta: { ...envelope, ...meta } } : params;
  return fetch(`${w.app.url}/mcp`, {
    method: "POST",
    signal: call.signal ?? null,
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": revision,
      ...(isModern && { "Mcp-Method": method, ...(typeof name === "string" && { "Mcp-Name": name }) }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: sent }),
  });
}

/** Sends one request of the protocol, and waits for the whole response. */
export async function send(w: World, token: string | undefined, call: Call): Promise<McpResponse> {
  const response = await request(w, token, call);
  const messages = messagesIn(response, await response.text());
  const last = messages.at(-1);
  return { status: response.status, headers: response.headers, messages, result: last?.result, error: last?.error };
}

/** Listens to changes. Resolves once the server does so; `messages` resolves when it has ended. */
export async function listen(
  w: World,
  token: string,
  notifications: object,
  signal?: AbortSignal,
): Promise<{ status: number; messages: Promise<Anything[]> }> {
  const response = await request(w, token, {
    method: "subscriptions/listen",
    params: { notifications },
    ...(signal && { signal }),
  });
  return { status: response.status, messages: response.text().then((text) => messagesIn(response, text)) };
}

function messagesIn({ headers }: Response, text: string): Anything[] {
  if (!/event-stream/.test(headers.get("content-type") ?? "")) return text === "" ? [] : [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json!));
}

/** Calls a tool. */
export const callTool = (
  w: World,
  token: string | undefined,
  name: string,
  given: object = {},
  more: Partial<Call> = {},
) => send(w, token, { method: "tools/call", ...more, params: { name, arguments: given, ...more.params } });

/** Calls a tool that succeeds. Returns its result. */
export async function resultOf(w: World, token: string, name: string, given: object = {}): Promise<Anything> {
  const { result, error, status } = await callTool(w, token, name, given);
  if (status !== 200 || !result || result.isError)
    throw new Error(`${name}: ${status} ${JSON.stringify(error ?? result)}`);
  return result.structuredContent.result;
}

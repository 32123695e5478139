// Reports of connections, as agents and proxies send them.
import { newId } from "./ids.js";
import type { Agent, Answer, World } from "./world.js";

export const logPath = "/api/v2/connectionlog";

/** An event as a machine reports it: a `ConnectionEventInput`. */
export type Report = Record<string, unknown>;

const record = `mutation($events: [ConnectionEventInput!]!) {
  recordConnections(input: { events: $events }) { recorded skipped } }`;

export const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

export const connect = (connectionId: string, more: Report = {}): Report => ({
  id: newId(),
  kind: "CONNECT",
  type: "SSH",
  time: minutesAgo(10),
  connectionId,
  ...more,
});

export const disconnect = (connectionId: string, more: Report = {}): Report => ({
  ...connect(connectionId),
  kind: "DISCONNECT",
  time: minutesAgo(5),
  ...more,
});

export const visit = (workspaceId: string, more: Report = {}): Report => ({
  id: newId(),
  kind: "WEB",
  type: "WORKSPACE_APP",
  time: minutesAgo(3),
  workspaceId,
  agentName: "main",
  slugOrPort: "chat",
  ...more,
});

type Credential = Pick<Agent, "token">;

/** A server with its anonymous client. */
type Server = Pick<World, "nobody">;

/** Sends reports with the token of an agent or a proxy. */
export function report({ nobody }: Server, { token }: Credential, ...events: Report[]): Promise<Answer> {
  const header = token.startsWith("stwp_") ? "Service-Proxy-Token" : "Service-Session-Token";
  return nobody.post("/graphql", { query: record, variables: { events } }, { [header]: token });
}

/** Sends reports that must be accepted, and returns how many were recorded and skipped. */
export async function reported(w: Server, credential: Credential, ...events: Report[]) {
  const { body } = await report(w, credential, ...events);
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data.recordConnections as { recorded: number; skipped: number };
}

/** Sends reports that must be rejected, and returns the error code and the fields at fault. */
export async function refused(w: Server, credential: Credential, ...events: Report[]) {
  const { body } = await report(w, credential, ...events);
  const { code, validations = [] } = body.errors[0].extensions;
  const fields = validations.map(({ field }: { field: string }) => field.replace(/^input\.events/, ""));
  return { code: code as string, fields: fields as string[] };
}

/** Reads the connection log as the owner. */
export async function logged(w: World, q = "", more = "") {
  const { status, body } = await w.as(w.owner).get(`${logPath}?limit=1000&q=${encodeURIComponent(q)}${more}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as {
    // oxlint-disable-next-line typescript/no-explicit-any -- tests look into responses of every shape
    connection_logs: any[];
    count: number;
    count_cap: number;
  };
}

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { AgentActor, ProxyActor } from "../kernel/actor.js";
import { Problems } from "../kernel/errors.js";
import { anyInt, choice, inputOf, type Input, dateTime, optional, required, string, uuid } from "../kernel/values.js";
import { ConnectionType, longestDelay, sessionTypes, webTypes } from "./connection-logs.js";
import { instantOf } from "../../runtime/clock.js";

/** Kinds of events: the start or end of a session, or a visit with a browser. */
export const ConnectionEventKind = { CONNECT: "connect", DISCONNECT: "disconnect", WEB: "web" } as const;
export type ConnectionEventKind = (typeof ConnectionEventKind)[keyof typeof ConnectionEventKind];

/** A reported event. Null is treated as absent. */
export const ConnectionEvent = inputOf({
  id: required(uuid, "ID chosen by the reporter. Events with a known ID are skipped, so reports can be retried."),
  kind: required(
    choice(ConnectionEventKind),
    "Kind of the event. Agents report CONNECT and DISCONNECT, proxies report WEB.",
  ),
  type: required(choice(ConnectionType), "Type of the connection. Agents report sessions, proxies report visits."),
  time: required(
    dateTime,
    "When the event happened, at most 30 days ago. Times more than 5 minutes in the future are replaced by the current time.",
  ),
  workspaceId: optional(
    uuid,
    "ID of the workspace. Required for proxies. For agents, defaults to their own workspace.",
  ),
  agentName: optional(
    string,
    "Name of the workspace agent. Required for proxies. For agents, defaults to their own name.",
  ),
  ip: optional(string, "IP address of the client."),
  connectionId: optional(
    uuid,
    "Required for sessions. ID of the session, the same in its CONNECT and DISCONNECT events.",
  ),
  disconnectReason: optional(
    string,
    "Reason for the end of the session, truncated to 512 characters. DISCONNECT only.",
  ),
  exitCode: optional(anyInt, "Exit code of the process that ran in the session. DISCONNECT only."),
  slugOrPort: optional(string, "Required for visits. Slug of the application, or number of the forwarded port."),
  statusCode: optional(anyInt, "HTTP status of the application's response, 100 to 599. WEB only."),
  userId: optional(uuid, "ID of the visitor; null if anonymous. WEB only."),
  userAgent: optional(string, "User-Agent header of the visitor, truncated to 512 characters. WEB only."),
});
export type ConnectionEvent = Input<typeof ConnectionEvent>;

type Detail = Exclude<keyof ConnectionEvent, "id" | "kind" | "type" | "time" | "workspaceId" | "agentName" | "ip">;

/** The required and optional details of each kind. */
const details: Record<ConnectionEventKind, { required: Detail; optional: Detail[] }> = {
  connect: { required: "connectionId", optional: [] },
  disconnect: { required: "connectionId", optional: ["disconnectReason", "exitCode"] },
  web: { required: "slugOrPort", optional: ["statusCode", "userId", "userAgent"] },
};
const allDetails = [...new Set(Object.values(details).flatMap((each) => [each.required, ...each.optional]))];

/** Kinds of events and types of connections that each kind of reporter may report. */
const reports = {
  agent: { kinds: ["connect", "disconnect"], types: sessionTypes },
  proxy: { kinds: ["web"], types: webTypes },
} satisfies Record<string, { kinds: ConnectionEventKind[]; types: readonly ConnectionType[] }>;

/** Events per report. */
const maxEvents = 100;

/** Validates events without reading the database. Throws all faults together. */
export function requireValid(reporter: AgentActor | ProxyActor, events: readonly ConnectionEvent[], now: number): void {
  const problems = new Problems();
  problems.add("events", events.length > maxEvents ? `Must be at most ${maxEvents} events.` : undefined);
  const isAgent = reporter.kind === "agent";
  const { kinds, types } = reports[reporter.kind];
  for (const [index, event] of events.slice(0, maxEvents).entries()) {
    const add = (field: keyof ConnectionEvent, problem: string | false | undefined) =>
      problems.add(`events[${index}].${field}`, problem || undefined);
    const expected = details[event.kind];
    const isReported = (kinds as ConnectionEventKind[]).includes(event.kind);
    add("kind", !isReported && `Is not reported by ${isAgent ? "agents" : "proxies"}.`);
    add("type", isReported && !types.includes(event.type) && `Must be one of ${types.join(", ")}.`);
    add("time", instantOf(event.time) < now - longestDelay && "Must not be more than 30 days ago.");
    add("workspaceId", isAgent ? otherWorkspace(reporter, event) : event.workspaceId == null && "Is required.");
    add("agentName", event.agentName == null ? !isAgent && "Is required." : agentNameProblem(event.agentName));
    add("ip", event.ip != null && !isAddress(event.ip) && "Must be an IP address.");
    for (const detail of allDetails) {
      if (detail === expected.required)
        add(detail, event[detail] == null ? "Is required." : detailProblem(event, detail));
      else if (event[detail] != null)
        add(
          detail,
          expected.optional.includes(detail)
            ? detailProblem(event, detail)
            : `Does not belong to ${event.kind} events.`,
        );
    }
  }
  problems.throwIfAny();
}

const otherWorkspace = (agent: AgentActor, { workspaceId }: ConnectionEvent) =>
  workspaceId != null && workspaceId !== agent.workspaceId && "Must be the workspace of the agent.";

const slug = /^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/;

const agentNameProblem = (text: string) =>
  slug.test(text) ? undefined : "Must be 1 to 32 lower-case letters, digits and single hyphens between them.";

const isAddress = (text: string) => isIP(text) !== 0 && !text.includes("%");

function detailProblem({ type, slugOrPort, statusCode }: ConnectionEvent, detail: Detail): string | undefined {
  if (detail === "statusCode") return statusCode! >= 100 && statusCode! <= 599 ? undefined : "Must be from 100 to 599.";
  if (detail !== "slugOrPort") return undefined;
  if (type === "port_forwarding") return isPort(slugOrPort!) ? undefined : "Must be a port from 1 to 65535.";
  return slug.test(slugOrPort!) ? undefined : "Must be the slug of an app.";
}

const isPort = (text: string) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

/** Milliseconds by which the clock of a reporter may be ahead. */
const maxSkew = 5 * 60_000;

/** The time of the event, or `now` if the clock of the reporter is too far ahead. */
export const timeOf = ({ time }: ConnectionEvent, now: number): string =>
  instantOf(time) > now + maxSkew ? new Date(now).toISOString() : time;

/** The normalized address of the event; IPv4-mapped IPv6 addresses become IPv4. */
export const addressOf = ({ ip }: ConnectionEvent): string | null =>
  ip == null ? null : ipaddr.process(ip).toString();

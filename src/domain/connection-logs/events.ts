import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Actor } from "../kernel/actor.js";
import { Problems } from "../kernel/errors.js";
import { type ConnectionType, sessionTypes, webTypes } from "./connections.js";

/** What is reported of a connection: that a session began or ended, or a visit. */
export const ConnectionEventKind = { CONNECT: "connect", DISCONNECT: "disconnect", WEB: "web" } as const;
export type ConnectionEventKind = (typeof ConnectionEventKind)[keyof typeof ConnectionEventKind];

/** One report. Absent and null are the same. */
export interface ConnectionEvent {
  /** Made by the reporter: what it reports again has the same. */
  id: string;
  kind: ConnectionEventKind;
  type: ConnectionType;
  time: string;
  /** Agents report of their own, which they may leave out; as their names. */
  workspaceId?: string | null;
  agentName?: string | null;
  ip?: string | null;
  connectionId?: string | null;
  disconnectReason?: string | null;
  exitCode?: number | null;
  slugOrPort?: string | null;
  statusCode?: number | null;
  userId?: string | null;
  userAgent?: string | null;
}

type Detail = Exclude<keyof ConnectionEvent, "id" | "kind" | "type" | "time" | "workspaceId" | "agentName" | "ip">;

/** Which details an event may have besides, and must have. */
const details: Record<ConnectionEventKind, { required: Detail; optional: Detail[] }> = {
  connect: { required: "connectionId", optional: [] },
  disconnect: { required: "connectionId", optional: ["disconnectReason", "exitCode"] },
  web: { required: "slugOrPort", optional: ["statusCode", "userId", "userAgent"] },
};
const allDetails = [...new Set(Object.values(details).flatMap(({ required, optional }) => [required, ...optional]))];

/** What a kind of machine reports. */
const reports = {
  agent: { kinds: ["connect", "disconnect"], types: sessionTypes },
  proxy: { kinds: ["web"], types: webTypes },
} satisfies Record<string, { kinds: ConnectionEventKind[]; types: readonly ConnectionType[] }>;

const mostEvents = 100;
const oldest = 30 * 24 * 3_600_000;

/** Throws every fault that the events have by themselves. */
export function requireSound(actor: Actor, events: readonly ConnectionEvent[], now: number): void {
  const problems = new Problems();
  problems.add("events", events.length > mostEvents ? `Must be at most ${mostEvents} events.` : undefined);
  const isAgent = actor.kind === "agent";
  const { kinds, types } = reports[isAgent ? "agent" : "proxy"];
  for (const [index, event] of events.slice(0, mostEvents).entries()) {
    const add = (field: keyof ConnectionEvent, problem: string | false | undefined) =>
      problems.add(`events[${index}].${field}`, problem || undefined);
    const { required, optional } = details[event.kind];
    const isReported = (kinds as ConnectionEventKind[]).includes(event.kind);
    add("kind", !isReported && `Is not reported by ${isAgent ? "agents" : "proxies"}.`);
    add("type", isReported && !types.includes(event.type) && `Must be one of ${types.join(", ")}.`);
    add("time", Date.parse(event.time) < now - oldest && "Must not be more than 30 days ago.");
    add("workspaceId", isAgent ? otherWorkspace(actor, event) : event.workspaceId == null && "Is required.");
    add("agentName", event.agentName == null ? !isAgent && "Is required." : agentNameProblem(event.agentName));
    add("ip", event.ip != null && !isAddress(event.ip) && "Must be an IP address.");
    for (const detail of allDetails) {
      if (detail === required) add(detail, event[detail] == null ? "Is required." : detailProblem(event, detail));
      else if (event[detail] != null)
        add(
          detail,
          optional.includes(detail) ? detailProblem(event, detail) : `Does not belong to ${event.kind} events.`,
        );
    }
  }
  problems.throwIfAny();
}

const otherWorkspace = (actor: Actor, { workspaceId }: ConnectionEvent) =>
  workspaceId != null && workspaceId !== actor.workspaceId && "Must be the workspace of the agent.";

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

const ahead = 5 * 60_000;

/** When it happened: clocks that are wrong by more than a little do not count. */
export const timeOf = ({ time }: ConnectionEvent, now: number): string =>
  Date.parse(time) > now + ahead ? new Date(now).toISOString() : time;

/** An address in the one form that it is stored in. */
export const addressOf = ({ ip }: ConnectionEvent): string | null =>
  ip == null ? null : ipaddr.process(ip).toString();

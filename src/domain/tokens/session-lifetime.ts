import { hour } from "../../runtime/durations.js";
import type { Snapshot } from "./snapshots.js";

/** Lifetimes of sessions, in milliseconds. */
export interface SessionLife {
  /** A session ends after this time without use. */
  sessionDuration: number;
  /** A session ends at this age, even if in use. */
  sessionMaxAge: number;
}

/** When a session that begins now ends, unless it is used meanwhile. */
export const sessionEnd = ({ sessionDuration, sessionMaxAge }: SessionLife, now: number): number =>
  now + Math.min(sessionDuration, sessionMaxAge);

/** The new expiry of a session in use: at most once per hour, up to its maximum age; `undefined` if unchanged. */
export function laterSessionEnd(
  { actor, createdAt, expiresAt }: Snapshot,
  { sessionDuration, sessionMaxAge }: SessionLife,
  now: number,
): number | undefined {
  if (actor.credential.kind !== "session") return undefined;
  const spent = now + sessionDuration - expiresAt;
  const end = Math.min(now + sessionDuration, createdAt + sessionMaxAge);
  return spent >= Math.min(hour, sessionDuration / 2) && end > expiresAt ? end : undefined;
}

import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** A row of a session. */
export interface Session {
  secret_hash: Buffer;
}

/** Condition for the session `k` of a user `s` to be valid. */
export const isLiving = "k.expires_at > now() and s.status = 'active' and s.deleted_at is null";

/** The id in a token `stw_se_<id>-<secret>`. */
export const sessionId = (request: IncomingMessage): string => tokenOf(request).slice(7, 17);

/** Throws unless the request's secret is the hashed one. */
export function checkSecret(request: IncomingMessage, secretHash: Buffer): void {
  const given = hash("sha256", tokenOf(request).slice(18), "buffer");
  if (!timingSafeEqual(given, secretHash)) throw new Error("unauthenticated");
}

const tokenOf = ({ headers }: IncomingMessage) => headers["service-session-token"] as string;

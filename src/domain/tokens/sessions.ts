import { databaseTime } from "../../runtime/clock.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound, unauthenticated } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { keyHint, userHint } from "./hints.js";
import { insertKey, makeRoomForKey } from "./api-keys.js";
import { sessionEnd } from "./session-lifetime.js";
import { newToken } from "./token-text.js";

/** Maximum number of sessions of a user. Another one ends the oldest. */
const sessionsPerUser = 100;

/** How the user of a session signed in: by the password alone, with something else, or with a second factor of the provider. */
export const SessionFactor = {
  PASSWORD: "password",
  AUTHENTICATOR: "authenticator",
  RECOVERY_CODE: "recovery_code",
  PASSKEY: "passkey",
  PROVIDER: "provider",
} as const;
export type SessionFactor = (typeof SessionFactor)[keyof typeof SessionFactor];

/** The sign-in with which a session begins, as far as it is known. */
export interface SessionOrigin {
  factor?: SessionFactor | undefined;
  /** Name of the provider. */
  provider?: string;
  /** When its user proved who that is, in milliseconds since the epoch, if that is earlier than now. */
  provedAt?: number | undefined;
}

/** Creates a session of a user, which the transaction must have locked. Returns the text of its token. */
export async function issueSession(
  ctx: Context,
  userId: string,
  { factor, provider, provedAt }: SessionOrigin = {},
): Promise<string> {
  await makeRoomForKey(ctx, userId, "session", sessionsPerUser);
  const token = newToken("session");
  const expiresAt = new Date(sessionEnd(ctx.config, databaseTime()));
  const time = databaseTime();
  const origin = {
    factor: factor ?? null,
    provider: provider ?? null,
    ...(provedAt !== undefined && { provedAt: new Date(Math.min(provedAt, time)).toISOString() }),
  };
  await insertKey(ctx, token, {
    userId,
    kind: "session",
    scopes: ["all"],
    lastUsedAt: now,
    expiresAt,
    ...origin,
  }).execute();
  return token.text;
}

/** Notes that the user of a session has just given a second factor. Throws UNAUTHENTICATED if the session has ended. */
export async function proveSession({ db }: Context, id: string, factor: SessionFactor): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable("apiKeys")
    .set({ provedAt: now, factor })
    .where("id", "=", id)
    .executeTakeFirst();
  // It may have been ended meanwhile, by the user who found it in other hands.
  if (numUpdatedRows === 0n) throw unauthenticated("The session has ended.");
}

/** Ends the sessions of a user, except one to keep. Returns their number. */
export async function endSessions(ctx: Context, userId: string, kept?: string): Promise<number> {
  const { numDeletedRows } = await ctx.db
    .deleteFrom("apiKeys")
    .where("userId", "=", userId)
    .where("kind", "=", "session")
    .$if(kept !== undefined, (sessions) => sessions.where("id", "<>", kept!))
    .executeTakeFirst();
  ctx.publish(userHint(userId));
  return Number(numDeletedRows);
}

/** Ends all sessions of the caller except the current one. Returns their number. */
export async function revokeSessions(ctx: Context): Promise<number> {
  const { userId, credential } = requireUser(ctx.actor);
  const ended = await endSessions(ctx, userId, credential.id);
  if (ended > 0) {
    const diff = { sessions: { old: ended, new: 0 } };
    ctx.audit({ action: "revoke", resourceType: "user", resourceId: userId, diff });
  }
  return ended;
}

/** Ends the credential of this request. Returns its id. */
export async function logout(ctx: Context): Promise<string> {
  const { id } = requireUser(ctx.actor).credential;
  const ended = await ctx.db.deleteFrom("apiKeys").where("id", "=", id).returning("name").executeTakeFirst();
  if (!ended) throw notFound();
  ctx.audit({ action: "logout", resourceType: "api_key", resourceId: id, resourceLabel: ended.name });
  ctx.publish(keyHint(id));
  return id;
}

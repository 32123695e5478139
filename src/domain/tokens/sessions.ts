import { databaseTime } from "../../runtime/clock.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { keyHint, userHint } from "./hints.js";
import { insertKey, makeRoomForKey } from "./api-keys.js";
import { sessionEnd } from "./session-lifetime.js";
import { newToken } from "./token-text.js";

/** Maximum number of sessions of a user. Another one ends the oldest. */
const sessionsPerUser = 100;

/** Creates a session of a user, which the transaction must have locked. Returns the text of its token. */
export async function issueSession(ctx: Context, userId: string): Promise<string> {
  await makeRoomForKey(ctx, userId, "session", sessionsPerUser);
  const token = newToken("session");
  const expiresAt = new Date(sessionEnd(ctx.config, databaseTime()));
  await insertKey(ctx, token, { userId, kind: "session", scopes: ["all"], lastUsedAt: now, expiresAt }).execute();
  return token.text;
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

// Browsers that are remembered: sign-in there takes the password of one user without the second factor. It proves nothing more.
import { purge } from "../../infrastructure/database/purge.js";
import { randomText } from "../../runtime/random.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { inputOf, type Input, presented, required, uuid } from "../kernel/values.js";
import { hashSecret } from "../tokens/token-text.js";
import { auditedUser, authorizeOn, findUser } from "../users/users.js";
import { isOffered } from "./factor-demands.js";
import { factorsOf } from "./held-factors.js";
import { lockOwnAccount } from "./own-account.js";
import { requireFreshProof } from "./proofs.js";

/** Maximum number of remembered browsers of a user. Another one replaces the oldest. */
export const devicesPerUser = 20;

/** The secret of a remembered browser, as it presents it. */
export const deviceToken = presented(64);

const tokenLength = 43;

/** A remembered browser. */
export interface RememberedDeviceRow {
  id: string;
  userAgent: string | null;
  createdAt: string;
  lastUsedAt: string | null;
}

/** Selects the remembered browsers of a user that count. */
export const devicesOf = ({ db, config }: Pick<Context, "db" | "config">, userId: string) =>
  db
    .selectFrom("rememberedDevices")
    .select(["id", "userAgent", "createdAt", "lastUsedAt"])
    .where("userId", "=", userId)
    .where("createdAt", ">", after(-config.rememberedDevices));

/** Whether a browser is remembered for a user, by the secret that it presents. */
export async function isRemembered(ctx: Context, userId: string, token: string | null | undefined): Promise<boolean> {
  if (token == null || token === "" || ctx.config.rememberedDevices === 0) return false;
  const { database } = ctx.services;
  const found = await devicesOf({ db: database.db, config: ctx.config }, userId)
    .where("secretHash", "=", hashSecret(token))
    .executeTakeFirst();
  return found !== undefined;
}

/** Notes the use of a remembered browser by a locked user. Returns false if it was forgotten meanwhile. */
export async function noteDeviceUse({ db }: Context, userId: string, token: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("rememberedDevices")
    .set({ lastUsedAt: now })
    .where("userId", "=", userId)
    .where("secretHash", "=", hashSecret(token))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Remembers the browser of the caller, whose session has given a second factor just now. Returns its secret, which is not
 * readable later.
 */
export async function rememberDevice(ctx: Context): Promise<string> {
  if (ctx.config.rememberedDevices === 0) throw forbidden("Browsers are not remembered here.");
  const { request } = ctx;
  const user = await lockOwnAccount(ctx);
  const held = await factorsOf(ctx.db, user.id);
  if (!held || !(await isOffered(ctx, user.id))) throw conflict("The account has no second factor.");
  await requireFreshProof(ctx, held);
  const known = ctx.db
    .selectFrom("rememberedDevices")
    .select("id")
    .where("userId", "=", user.id)
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .offset(devicesPerUser - 1);
  await ctx.db.deleteFrom("rememberedDevices").where("id", "in", known).execute();
  const token = randomText(tokenLength);
  const id = newId();
  const userAgent = request.userAgent ?? null;
  await ctx.db
    .insertInto("rememberedDevices")
    .values({ id, userId: user.id, secretHash: hashSecret(token), userAgent, createdAt: now })
    .execute();
  ctx.audit({ action: "update", ...auditedUser(user), diff: { rememberedDevice: { new: id } } });
  return token;
}

export const ForgetDevice = inputOf({ id: required(uuid, "ID of the remembered browser.") });
export type ForgetDevice = Input<typeof ForgetDevice>;

/** Forgets a remembered browser of the caller. Returns the id of the user. */
export async function forgetDevice(ctx: Context, { id }: ForgetDevice): Promise<string> {
  requireUser(ctx.actor);
  const user = await findUser(ctx, "me");
  authorizeOn(ctx, "user:update_personal", user);
  const { numDeletedRows } = await ctx.db
    .deleteFrom("rememberedDevices")
    .where("id", "=", id)
    .where("userId", "=", user.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw notFound();
  ctx.audit({ action: "update", ...auditedUser(user), diff: { rememberedDevice: { old: id } } });
  return user.id;
}

/** Forgets all remembered browsers of a user, such as when the password changes. */
export async function forgetDevices({ db }: Pick<Context, "db">, userId: string): Promise<void> {
  await db.deleteFrom("rememberedDevices").where("userId", "=", userId).execute();
}

/** Deletes remembered browsers that count no longer. */
export const devicePurge = purge("remembered_devices", {
  by: "created_at",
  keptFor: ({ rememberedDevices }) => rememberedDevices,
});

import { OAuth2DeviceCode } from "../../entities/oauth2.js";
import { requireUser } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { clientsById } from "./clients.js";
import { type AccessRequest, denyAccess, grantAccess, type PresentedRequest, presented } from "./consent.js";
import { oauthFailure } from "./failures.js";
import { requireWithin } from "./scopes.js";
import { requireOAuth2 } from "./settings.js";

const deviceColumns = columnsOf(OAuth2DeviceCode, "d", [
  "id",
  "userCode",
  "clientId",
  "scopes",
  "audiences",
  "ip",
  "createdAt",
  "expiresAt",
]);

interface DeviceRow extends RowOf<typeof deviceColumns> {
  /** Milliseconds until it expires. */
  remaining: number;
}

/** A device code that waits for the decision of a user, as it is presented to the user (RFC 8628 §3.3). */
export interface DeviceRequest extends PresentedRequest, Pick<DeviceRow, "ip" | "createdAt" | "expiresAt"> {
  /** As devices show it: `BCDF-GHJK`. */
  userCode: string;
}

type Found = DeviceRow & AccessRequest;

const pending = (lock: string) =>
  statement<DeviceRow>(`
    select ${deviceColumns}, (extract(epoch from d.expires_at - now()) * 1000)::float8 as remaining
    from oauth2_device_codes d where d.user_code = $1 and d.state = 'pending' and d.expires_at > now() ${lock}`);

const reading = pending("");
const locking = pending("for no key update of d");

/** Reads the request behind a user code. */
export async function readDeviceRequest(ctx: Context, userCode: string): Promise<DeviceRequest> {
  const found = await find(ctx, reading, userCode);
  const { ip, createdAt, expiresAt } = found;
  return { ...presented(found), userCode: spelled(found.userCode), ip, createdAt, expiresAt };
}

const approve = statement(`update oauth2_device_codes set state = 'approved', grant_id = $2 where id = $1`);
const deny = statement(`update oauth2_device_codes set state = 'denied' where id = $1`);

/** Allows the request behind a user code: the device can redeem its code until that expires. Returns the app's name. */
export async function approveDevice(ctx: Context, userCode: string): Promise<string> {
  const found = await find(ctx, locking, userCode);
  const grantId = await grantAccess(ctx, found, found.remaining);
  await ctx.rows(approve, found.id, grantId);
  return found.client.name;
}

/** Denies the request behind a user code. Returns the app's name. */
export async function denyDevice(ctx: Context, userCode: string): Promise<string> {
  const found = await find(ctx, locking, userCode);
  denyAccess(ctx, found);
  await ctx.rows(deny, found.id);
  return found.client.name;
}

/**
 * Finds a pending device code by its user code, in any letter case, with or without the dash. Throws NOT_FOUND for others,
 * and RATE_LIMITED after ten of them within ten minutes: user codes are short (RFC 8628 §5.1).
 */
async function find(ctx: Context, which: typeof reading, userCode: string): Promise<Found> {
  requireOAuth2(ctx);
  const { userId } = requireUser(ctx.actor);
  const { userCodes } = ctx.services.limits;
  const row = await ctx.row(which, normalized(userCode));
  if (!row) {
    await userCodes.take(userId);
    throw new DomainError("NOT_FOUND", "The code is wrong, was used, or has expired.");
  }
  // Checked with a right code as well: otherwise, further guesses could find one.
  await userCodes.check(userId);
  const client = await ctx.load(clientsById, row.clientId);
  if (client.isDisabled || !client.grantTypes.includes("urn:ietf:params:oauth:grant-type:device_code"))
    throw oauthFailure("unauthorized_client", "The application may not be used on devices any more.");
  requireWithin(client, row.scopes);
  return { ...row, client };
}

const normalized = (userCode: string) => userCode.replace(/[\s-]/g, "").toUpperCase();

const spelled = (userCode: string) => `${userCode.slice(0, 4)}-${userCode.slice(4)}`;

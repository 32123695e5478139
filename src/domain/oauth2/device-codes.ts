import { type InferResult, type InsertObject, sql, type UpdateObject } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError, onViolation } from "../kernel/errors.js";
import { after, now } from "../kernel/queries.js";
import { hour } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { randomText } from "../../runtime/random.js";
import {
  authenticateClient,
  invalidClient,
  requireGrantType,
  clientCredentials,
  namedClient,
} from "./client-authentication.js";
import { clientsById } from "./clients.js";
import { type AccessRequest, denyAccess, grantAccess, type PresentedRequest, presentRequest } from "./consent.js";
import { audiencesOf } from "./default-resources.js";
import { type DeviceExchange, invalidGrant } from "./exchange.js";
import { oauthFailure, requireValues } from "./oauth-errors.js";
import { requestedScopes, requireWithin, scopeNotice, scopeValue } from "./requested-scopes.js";
import { newSecret } from "./secrets.js";
import { requireOAuth2 } from "./oauth2-settings.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { inputOf, type Input, listOf, optional, pasted, required, string } from "../kernel/values.js";
import { resourceNotice, resourceUri } from "./audiences.js";

const userCodeNotice = "The code that the device shows. Letter case and dashes do not matter.";

export const DeviceDecision = inputOf({ userCode: required(pasted(string), userCodeNotice) });
export type DeviceDecision = Input<typeof DeviceDecision>;

const oauth2DeviceCodes = columnsOf("oauth2DeviceCodes");
const d = columnsOf("oauth2DeviceCodes", "d");

/** A device authorization request (RFC 8628 §3.1). */
export const StartOAuth2Device = inputOf({
  ...clientCredentials,
  clientId: namedClient,
  scope: optional(scopeValue, scopeNotice),
  resource: optional(listOf(resourceUri), `${resourceNotice} Default: the whole of this server.`),
});
export type StartOAuth2Device = Input<typeof StartOAuth2Device>;

/** A device authorization response (RFC 8628 §3.2). */
export interface StartedDevice {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  verificationUriComplete: string;
  /** Seconds. */
  expiresIn: number;
  /** Seconds to wait between polls. */
  interval: number;
}

/** Letters of user codes: consonants, so that codes are no words (RFC 8628 §6.1). Eight of them have 34 bits. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";

/** Seconds between polls, and seconds added after each poll that is too early (RFC 8628 §3.5). */
const interval = 5;

/** Maximum number of seconds between polls. */
const longestInterval = 3600;

const onDeletion = onViolation({ oauth2_device_codes_client_id_foreign: invalidClient });

/** Starts the authorization of a device without a browser (RFC 8628 §3.1). Returns the codes for it and for its user. */
export async function startOAuth2Device(ctx: Context, input: StartOAuth2Device): Promise<StartedDevice> {
  requireOAuth2(ctx);
  const { clientId, clientSecret, scope } = input;
  requireValues({ clientId }, StartOAuth2Device, { clientSecret, scope });
  const client = await authenticateClient(ctx, input);
  requireGrantType(client, "urn:ietf:params:oauth:grant-type:device_code");
  const audiences = await audiencesOf(ctx, client, input.resource);
  const scopes = requestedScopes({ client, audiences }, scope, ctx.config);
  const { accessUrl, oauth2DeviceTtl } = ctx.config;
  const expiresIn = oauth2DeviceTtl / 1000;
  const code = newSecret("deviceCode");
  const userCode = await insert(ctx, {
    id: code.id,
    secretHash: code.secretHash,
    clientId: client.id,
    ...scopes,
    audiences,
    expiresAt: after(oauth2DeviceTtl),
  });
  const verificationUri = `${accessUrl}/oauth2/device`;
  const verificationUriComplete = `${verificationUri}?user_code=${userCode}`;
  return { deviceCode: code.text, userCode, verificationUri, verificationUriComplete, expiresIn, interval };
}

type NewDeviceCode = Pick<
  InsertObject<Schema, "oauth2DeviceCodes">,
  "id" | "secretHash" | "clientId" | "scopes" | "refusedScopes" | "audiences" | "expiresAt"
>;

/** Stores a device code with a user code that no other one has. Returns that with a dash in the middle. */
async function insert(ctx: Context, code: NewDeviceCode): Promise<string> {
  const userCode = randomText(8, letters);
  const { numInsertedOrUpdatedRows } = await ctx.db
    .insertInto("oauth2DeviceCodes")
    .values({
      ...code,
      userCode,
      state: "pending",
      ip: ctx.request.ip ?? null,
      createdAt: now,
      pollInterval: interval,
    })
    .onConflict((existing) => existing.column("userCode").doNothing())
    .executeTakeFirst()
    .catch(onDeletion);
  return numInsertedOrUpdatedRows === 1n ? formatCode(userCode) : insert(ctx, code);
}

/** Records a poll of a pending code. Locks its row: of concurrent polls, all but the first are early. */
const recordPoll = (db: Db, id: string) =>
  db
    .with("pending", (read) =>
      read
        .selectFrom("oauth2DeviceCodes")
        .where("id", "=", id)
        .where("state", "=", "pending")
        .where("expiresAt", ">", now)
        .select("id")
        .select(
          sql<boolean>`coalesce(${oauth2DeviceCodes.polledAt} > now() - make_interval(secs => ${oauth2DeviceCodes.pollInterval}), false)`.as(
            "isEarly",
          ),
        )
        .forNoKeyUpdate(),
    )
    .updateTable("oauth2DeviceCodes as d")
    .from("pending")
    .whereRef("d.id", "=", "pending.id")
    .set({
      polledAt: now,
      pollInterval: sql<number>`case when pending.is_early
        then least(${d.pollInterval} + ${sql.lit(interval)}, ${sql.lit(longestInterval)}) else ${d.pollInterval} end`,
    })
    .returning("pending.isEarly");

/**
 * Throws what keeps a device from its tokens (RFC 8628 §3.5). Polls are recorded outside of the transaction of the
 * request, which fails.
 */
export async function requireApproval({ ctx, presented: { id, state, isExpired } }: DeviceExchange): Promise<void> {
  if (state === "redeemed") throw invalidGrant();
  if (isExpired) throw oauthFailure("expired_token", "The device code has expired.");
  if (state === "denied") throw deniedByUser();
  if (state === "approved") return;
  const poll = await recordPoll(ctx.services.database.db, id).executeTakeFirst();
  if (poll?.isEarly) throw oauthFailure("slow_down", `Wait ${interval} seconds longer between requests.`);
  throw oauthFailure("authorization_pending", "The user has not decided yet.");
}

/** RFC 6749 §5.2: errors of the token endpoint have the status 400, also `access_denied`. */
const deniedByUser = () =>
  new DomainError("BAD_USER_INPUT", "The user denied the request.", { oauthError: "access_denied" });

/** The pending device code behind a user code. */
const pendingDevice = (db: Db, userCode: string) =>
  db
    .selectFrom("oauth2DeviceCodes")
    .where("userCode", "=", userCode)
    .where("state", "=", "pending")
    .where("expiresAt", ">", now)
    .select(["id", "userCode", "clientId", "scopes", "refusedScopes", "audiences", "ip", "createdAt", "expiresAt"])
    // Milliseconds until it expires.
    .select(sql<number>`(extract(epoch from ${oauth2DeviceCodes.expiresAt} - now()) * 1000)::float8`.as("remaining"));

type DeviceRow = InferResult<ReturnType<typeof pendingDevice>>[number];

/** A device code that waits for the decision of a user, as it is presented to the user (RFC 8628 §3.3). */
export interface DeviceRequest extends PresentedRequest, Pick<DeviceRow, "ip" | "createdAt" | "expiresAt"> {
  /** As devices show it: `BCDF-GHJK`. */
  userCode: string;
}

/** Reads the request behind a user code. */
export async function readDeviceRequest(ctx: Context, userCode: string): Promise<DeviceRequest> {
  const found = await find(ctx, userCode);
  const { ip, createdAt, expiresAt } = found;
  return { ...presentRequest(found), userCode: formatCode(found.userCode), ip, createdAt, expiresAt };
}

/** Allows the request behind a user code: the device can redeem its code until that expires. Returns the app's name. */
export async function approveDevice(ctx: Context, userCode: string): Promise<string> {
  const found = await find(ctx, userCode, true);
  const grantId = await grantAccess(ctx, found, found.remaining);
  await decide(ctx, found, { state: "approved", grantId });
  return found.client.name;
}

/** Denies the request behind a user code. Returns the app's name. */
export async function denyDevice(ctx: Context, userCode: string): Promise<string> {
  const found = await find(ctx, userCode, true);
  denyAccess(ctx, found);
  await decide(ctx, found, { state: "denied" });
  return found.client.name;
}

/** Stores the decision of the user about a pending device code. */
const decide = ({ db }: Context, { id }: DeviceRow, decision: UpdateObject<Schema, "oauth2DeviceCodes">) =>
  db.updateTable("oauth2DeviceCodes").set(decision).where("id", "=", id).execute();

/**
 * Finds a pending device code by its user code, in any letter case, with or without the dash. Throws NOT_FOUND for others,
 * and RATE_LIMITED after ten of them within ten minutes: user codes are short (RFC 8628 §5.1).
 */
async function find(ctx: Context, userCode: string, isLocked = false): Promise<DeviceRow & AccessRequest> {
  requireOAuth2(ctx);
  const { userId } = requireUser(ctx.actor);
  const { userCodes } = ctx.services.limits;
  const row = await pendingDevice(ctx.db, normalizeCode(userCode))
    .$if(isLocked, (query) => query.forNoKeyUpdate())
    .executeTakeFirst();
  if (!row) {
    await userCodes.take(userId);
    throw new DomainError("NOT_FOUND", "The code is wrong, was used, or has expired.");
  }
  // Checked with a right code as well: otherwise, further guesses could find one.
  await userCodes.check(userId);
  const client = await ctx.load(clientsById, row.clientId);
  if (client.isDisabled || !client.grantTypes.includes("urn:ietf:params:oauth:grant-type:device_code"))
    throw oauthFailure("unauthorized_client", "The application may not be used on devices any more.");
  requireWithin({ client, audiences: row.audiences }, row.scopes, ctx.config);
  return { ...row, client };
}

const normalizeCode = (userCode: string) => userCode.replace(/[\s-]/g, "").toUpperCase();

const formatCode = (userCode: string) => `${userCode.slice(0, 4)}-${userCode.slice(4)}`;

/** Deletes device codes an hour after they expired: until then, devices learn that they did. */
export const deviceCodePurge = purge("oauth2_device_codes", { by: "expires_at", keptFor: hour });

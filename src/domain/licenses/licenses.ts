import { hash } from "node:crypto";
import type { InferResult } from "kysely";
import { ConfigError } from "../../runtime/config.js";
import type { Context } from "../kernel/context.js";
import { auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { readDeploymentId } from "../deployment/deployment.js";
import { licensesHint } from "../entitlements/entitlements.js";
import { badInput, conflictOn, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { isTime } from "./claims.js";
import { type LicenseToken, readToken, tokenRule } from "./token.js";
import { endOf, isFor, isOver, verifyLicense } from "./verification.js";
import { isUuid } from "../../runtime/text.js";
import { anyInt, bytes, inputOf, type Input, meant, pasted, required } from "../kernel/values.js";

/** A stored license. Its token is never returned. */
export interface License {
  id: number;
  uuid: string;
  uploadedAt: string;
  /** The end of the paid term, and of the grace period after it; null if the license states no valid time. */
  expiresAt: string | null;
  gracePeriodEndsAt: string | null;
  /** The claims of the token, whether or not its signature is valid here. */
  claims: Record<string, unknown>;
}

/** Maximum number of stored licenses. */
const maxLicenses = 1000;

const columns = ["id", "uuid", "uploadedAt", "token"] as const;
const licenses = ({ db }: Context) => db.selectFrom("licenses").select(columns);

type LicenseRow = InferResult<ReturnType<typeof licenses>>[number];

/** Converts a row. Stored tokens are always well-formed. */
function toLicense({ token, ...row }: LicenseRow): License {
  const { claims } = readToken(token)!;
  return { ...row, expiresAt: timeOf(claims.license_expires), gracePeriodEndsAt: timeOf(claims.exp), claims };
}

const timeOf = (claim: unknown): string | null => (isTime(claim) ? new Date(claim * 1000).toISOString() : null);

/** Lists all licenses by id, including expired and future ones. */
export async function listLicenses(ctx: Context): Promise<License[]> {
  authorize(ctx.actor, "license:read");
  return (await licenses(ctx).orderBy("id").execute()).map(toLicense);
}

export const AddLicense = inputOf({
  license: required(
    pasted(meant(bytes(0, 16 * 1024), { kind: "multi-line" })),
    "The license: a JWT of at most 16 KiB.",
  ),
});
export type AddLicense = Input<typeof AddLicense>;

/** Stores a license. Takes effect on this replica before the response, and on the others soon after. */
export async function addLicense(ctx: Context, text: string): Promise<License> {
  authorize(ctx.actor, "license:create");
  const license = await storeLicense(ctx, text, await requireUsable(ctx, text));
  recompute(ctx);
  return license;
}

/** Stores the configured license if no license is stored. The caller holds the boot lock. */
export async function storeConfiguredLicense(ctx: Context): Promise<void> {
  const { license: text } = ctx.config;
  if (!text || (await licenses(ctx).limit(1).executeTakeFirst())) return;
  if (isOver(readToken(text)!, Date.now())) return ctx.log.warn("STEWARD_LICENSE has expired: it is not stored.");
  try {
    await storeLicense(ctx, text, await requireUsable(ctx, text));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const faults = error.details.validations ?? [];
    throw new ConfigError(faults.map(({ detail }) => `STEWARD_LICENSE: ${detail}`));
  }
}

/** Parses a license. Throws if it is malformed or, with configured keys, can never be valid on this deployment. */
async function requireUsable(ctx: Context, text: string): Promise<LicenseToken> {
  const token = readToken(text);
  if (!token) throw unusable([`Must be ${tokenRule}.`]);
  const { licenseKeys } = ctx.config;
  if (!licenseKeys) return token;
  const { claims, faults } = await verifyLicense(text, licenseKeys, Date.now());
  if (faults) throw unusable(faults);
  const deploymentId = await readDeploymentId(ctx);
  if (!isFor(deploymentId, claims))
    throw unusable([`Must name this deployment, ${deploymentId}.`], "License cannot be used on this deployment.");
  return token;
}

const unusable = (faults: string[], message?: string) =>
  badInput(
    faults.map((detail) => ({ field: "license", detail })),
    message,
  );

async function storeLicense(ctx: Context, text: string, token: LicenseToken): Promise<License> {
  const sha256 = hash("sha256", text, "buffer");
  await takeTurn(ctx, "licenses");
  const { number, isStored } = await ctx.db
    .selectFrom("licenses")
    .select(({ fn, eb }) => [
      fn.countAll<number>().as("number"),
      fn.agg<boolean | null>("bool_or", [eb("tokenSha256", "=", sha256)]).as("isStored"),
    ])
    .executeTakeFirstOrThrow();
  if (isStored) throw conflictOn("license", "This license is stored already.");
  if (number >= maxLicenses)
    throw conflictOn("license", `There are ${maxLicenses} licenses already, which is the most there may be.`);

  const { jti } = token.claims;
  const uuid = typeof jti === "string" && isUuid(jti) ? jti.toLowerCase() : newId();
  const end = endOf(token);
  const expiresAt = end === undefined ? null : new Date(end);
  const license = await ctx.db
    .insertInto("licenses")
    .values({ uuid, token: text, tokenSha256: sha256, expiresAt, uploadedAt: now })
    .returning(columns)
    .executeTakeFirstOrThrow();
  ctx.audit({ action: "create", ...nameForAudit(license) });
  return toLicense(license);
}

export const DeleteLicense = inputOf({
  id: required(anyInt, "Number of the license."),
});
export type DeleteLicense = Input<typeof DeleteLicense>;

/** Deletes a license and returns it. Takes effect on this replica before the response. */
export async function deleteLicense(ctx: Context, id: number): Promise<License> {
  authorize(ctx.actor, "license:delete");
  const license = await ctx.db.deleteFrom("licenses").where("id", "=", id).returning(columns).executeTakeFirst();
  if (!license) throw notFound();
  ctx.audit({ action: "delete", ...nameForAudit(license) });
  recompute(ctx);
  return toLicense(license);
}

/** Recomputes entitlements on this replica, which fails the request on error, and then on all others. */
export async function refreshEntitlements(ctx: Context): Promise<void> {
  authorize(ctx.actor, "license:create");
  await ctx.services.entitlements.refresh();
  ctx.publish(licensesHint);
}

/** Recomputes entitlements after the commit. The background loop retries a computation that fails. */
function recompute(ctx: Context): void {
  ctx.publish(licensesHint);
  ctx.afterCommit(() => ctx.services.entitlements.refresh());
}

const nameForAudit = ({ id, uuid }: LicenseRow) => auditedAs("license", String(id), uuid);

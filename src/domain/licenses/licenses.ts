import { hash } from "node:crypto";
import { License as Stored } from "../../entities/licenses.js";
import { ConfigError } from "../../config/config.js";
import type { Context } from "../kernel/context.js";
import { auditedAs } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { statement } from "../kernel/database.js";
import { readDeploymentId } from "../deployment/deployment.js";
import { licensesHint } from "../entitlements/entitlements.js";
import { badInput, conflictOn, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../kernel/locks.js";
import { isTime } from "./claims.js";
import { type LicenseToken, readToken, tokenRule } from "./token.js";
import { endOf, isFor, isOver, verifyLicense } from "./verification.js";
import { isUuid } from "../kernel/text.js";

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

const columns = columnsOf(Stored, "licenses", ["id", "uuid", "uploadedAt", "token"]);

type LicenseRow = RowOf<typeof columns>;

/** Converts a row. Stored tokens are always well-formed. */
function shown({ token, ...row }: LicenseRow): License {
  const { claims } = readToken(token)!;
  return { ...row, expiresAt: timeOf(claims.license_expires), gracePeriodEndsAt: timeOf(claims.exp), claims };
}

const timeOf = (claim: unknown): string | null => (isTime(claim) ? new Date(claim * 1000).toISOString() : null);

const allLicenses = statement<LicenseRow>(`select ${columns} from licenses order by id`);

/** Lists all licenses by id, including expired and future ones. */
export async function listLicenses(ctx: Context): Promise<License[]> {
  authorize(ctx.actor, "license:read");
  return (await ctx.rows(allLicenses)).map(shown);
}

/** Stores a license. Takes effect on this replica before the response, and on the others soon after. */
export async function addLicense(ctx: Context, text: string | null | undefined): Promise<License> {
  authorize(ctx.actor, "license:create");
  if (text == null) throw unusable(["Is required."]);
  const license = await storeLicense(ctx, text, await requireUsable(ctx, text));
  recompute(ctx);
  return license;
}

const hasLicenses = statement<{ exists: boolean }>("select exists (select from licenses)");

/** Stores the configured license if no license is stored. The caller holds the boot lock. */
export async function storeConfiguredLicense(ctx: Context): Promise<void> {
  const { license: text } = ctx.config;
  if (!text || (await ctx.row(hasLicenses))!.exists) return;
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

const storedLicenses = statement<{ number: number; isStored: boolean }>(`
  select count(*) as number, coalesce(bool_or(token_sha256 = $1), false) as "isStored" from licenses`);

const insertLicense = statement<LicenseRow>(`
  insert into licenses (uuid, token, token_sha256, expires_at, uploaded_at) values ($1, $2, $3, $4, now())
  returning ${columns}`);

async function storeLicense(ctx: Context, text: string, token: LicenseToken): Promise<License> {
  const sha256 = hash("sha256", text, "buffer");
  await takeTurn(ctx, "licenses");
  const { number, isStored } = (await ctx.row(storedLicenses, sha256))!;
  if (isStored) throw conflictOn("license", "This license is stored already.");
  if (number >= maxLicenses)
    throw conflictOn("license", `There are ${maxLicenses} licenses already, which is the most there may be.`);

  const { jti } = token.claims;
  const uuid = typeof jti === "string" && isUuid(jti) ? jti.toLowerCase() : newId();
  const end = endOf(token);
  const license = (await ctx.row(insertLicense, uuid, text, sha256, end === undefined ? null : new Date(end)))!;
  ctx.audit({ action: "create", ...identified(license) });
  return shown(license);
}

const deleteRow = statement<LicenseRow>(`delete from licenses where id = $1 returning ${columns}`);

/** Deletes a license and returns it. Takes effect on this replica before the response. */
export async function deleteLicense(ctx: Context, id: number): Promise<License> {
  authorize(ctx.actor, "license:delete");
  const license = await ctx.row(deleteRow, id);
  if (!license) throw notFound();
  ctx.audit({ action: "delete", ...identified(license) });
  recompute(ctx);
  return shown(license);
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

const identified = ({ id, uuid }: LicenseRow) => auditedAs("license", String(id), uuid);

import { hash } from "node:crypto";
import { ConfigError } from "../../config/config.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { readServerInfo } from "../deployment/deployment.js";
import { licensesHint } from "../entitlements/entitlements.js";
import { badInput, conflict, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { type LicenseToken, readToken, tokenRule } from "./token.js";
import { endOf, isFor, isOver, verifyLicense } from "./verification.js";
import { isUuid } from "../kernel/text.js";

/** A licence that was uploaded, for those who manage licences. The token itself is never shown again. */
export interface License {
  id: number;
  uuid: string;
  uploadedAt: string;
  /** As they are in the token, whoever signed it. */
  claims: Record<string, unknown>;
}

/** What is stored at most. */
const maxLicenses = 1000;

type LicenseRow = Omit<License, "claims"> & { token: string };

const columns = `id, uuid, uploaded_at as "uploadedAt", token`;

/** Only what reads well is ever stored. */
const shown = ({ token, ...row }: LicenseRow): License => ({ ...row, claims: readToken(token)!.claims });

const allLicenses = statement<LicenseRow>(`select ${columns} from licenses order by id`);

/** All licences by id, also those whose time has gone or is to come. */
export async function listLicenses(ctx: Context): Promise<License[]> {
  authorize(ctx.actor, "license:read");
  return (await ctx.rows(allLicenses)).map(shown);
}

/** Stores a licence. What it grants counts on this replica before the answer, and on the others a moment later. */
export async function addLicense(ctx: Context, text: string | null | undefined): Promise<License> {
  authorize(ctx.actor, "license:create");
  if (text == null) throw unusable(["Is required."]);
  const license = await storeLicense(ctx, text, await requireUsable(ctx, text));
  computeAnew(ctx);
  return license;
}

const hasLicenses = statement<{ exists: boolean }>("select exists (select from licenses)");

/** Stores the licence of the settings, if there is none. The caller holds the lock of the boot. */
export async function storeConfiguredLicense(ctx: Context): Promise<void> {
  const { license: text } = ctx.config;
  if (!text || (await ctx.row(hasLicenses))!.exists) return;
  if (isOver(readToken(text)!, Date.now())) return ctx.log.warn("STEWARD_LICENSE has expired: it is not stored.");
  try {
    await storeLicense(ctx, text, await requireUsable(ctx, text));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const faults = error.facts.validations ?? [];
    throw new ConfigError(faults.map(({ detail }) => `STEWARD_LICENSE: ${detail}`));
  }
}

/** Throws unless the licence reads well and, where keys are configured, counts here now or later. */
async function requireUsable(ctx: Context, text: string): Promise<LicenseToken> {
  const token = readToken(text);
  if (!token) throw unusable([`Must be ${tokenRule}.`]);
  const { licenseKeys } = ctx.config;
  if (!licenseKeys) return token;
  const { claims, faults } = await verifyLicense(text, licenseKeys, Date.now());
  if (faults) throw unusable(faults);
  const { deploymentId } = await readServerInfo(ctx);
  if (!isFor(deploymentId, claims))
    throw unusable([`Must name this deployment, ${deploymentId}.`], "License cannot be used on this deployment.");
  return token;
}

const unusable = (faults: string[], message?: string) =>
  badInput(
    faults.map((detail) => ({ field: "license", detail })),
    message,
  );

// Those who store licences take turns: so the count is right.
const lockLicenses = statement("select pg_advisory_xact_lock(hashtext('steward.licenses'))");

const storedLicenses = statement<{ number: number; isStored: boolean }>(`
  select count(*) as number, coalesce(bool_or(token_sha256 = $1), false) as "isStored" from licenses`);

const insertLicense = statement<LicenseRow>(`
  insert into licenses (uuid, token, token_sha256, expires_at, uploaded_at) values ($1, $2, $3, $4, now())
  returning ${columns}`);

async function storeLicense(ctx: Context, text: string, token: LicenseToken): Promise<License> {
  const sha256 = hash("sha256", text, "buffer");
  await ctx.rows(lockLicenses);
  const { number, isStored } = (await ctx.row(storedLicenses, sha256))!;
  if (isStored) throw taken("This license is stored already.");
  if (number >= maxLicenses) throw taken(`There are ${maxLicenses} licenses already, which is the most there may be.`);

  const { jti } = token.claims;
  const uuid = typeof jti === "string" && isUuid(jti) ? jti.toLowerCase() : newId();
  const end = endOf(token);
  const license = (await ctx.row(insertLicense, uuid, text, sha256, end === undefined ? null : new Date(end)))!;
  ctx.audit({ action: "create", ...named(license) });
  return shown(license);
}

const taken = (detail: string) => conflict(detail, [{ field: "license", detail }]);

const deleteRow = statement<LicenseRow>(`delete from licenses where id = $1 returning ${columns}`);

/** Deletes a licence, and gives it as it was. What it granted ends on this replica before the answer. */
export async function deleteLicense(ctx: Context, id: number): Promise<License> {
  authorize(ctx.actor, "license:delete");
  const license = await ctx.row(deleteRow, id);
  if (!license) throw notFound();
  ctx.audit({ action: "delete", ...named(license) });
  computeAnew(ctx);
  return shown(license);
}

/** Computes entitlements anew: on this replica before the response, which fails if that fails, then on all others. */
export async function refreshEntitlements(ctx: Context): Promise<void> {
  authorize(ctx.actor, "license:create");
  await ctx.services.entitlements.refresh();
  ctx.publish(licensesHint);
}

/** Computes entitlements after the commit. A computation that fails is repeated by the background loop. */
function computeAnew(ctx: Context): void {
  ctx.publish(licensesHint);
  ctx.afterCommit(() => ctx.services.entitlements.refresh());
}

/** What the audit log calls a licence. */
const named = ({ id, uuid }: LicenseRow) => ({ resourceType: "license", resourceId: String(id), resourceLabel: uuid });

import type { Context } from "../kernel/context.js";
import { auditedAs, diffOf } from "../audit/audit.js";
import { statement } from "../kernel/database.js";
import type { Validation } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { hashSecret, isSecretOf } from "../tokens/text.js";
import { type ClientConfiguration, configurationOf } from "./client-configuration.js";
import { type ClientMetadata, type ClientProfile, profileOf } from "./client-metadata.js";
import { hasSecret, issueSecret } from "./client-secrets.js";
import { clientColumns, type ClientRow } from "./client-rows.js";
import { removeClient } from "./clients.js";
import { oauthFailure } from "./failures.js";
import { newSecret } from "./secrets.js";
import { clientHint } from "../tokens/credentials.js";
import { mayRegister, requireOAuth2 } from "./settings.js";

/** The registration of an application. One that can keep a secret gets it when it registers. */
export interface Registered {
  client: ClientConfiguration;
  clientSecret?: string;
}

/** What identifies an application that manages its registration (RFC 7592 §1.2). */
export interface RegistrationReference {
  clientId: string;
  registrationAccessToken?: string | null;
}

/** New metadata of an application. A secret that is sent must be its own: it does not change (RFC 7592 §2.2). */
export type UpdateOAuth2Client = RegistrationReference & ClientMetadata & { clientSecret?: string | null };

const columnsOfProfile = (profile: ClientProfile) => [
  profile.type,
  profile.name,
  profile.redirectUris,
  profile.scopeCeiling,
  profile.grantTypes,
  profile.authMethod,
  profile.metadata,
];

const insertClient = statement<ClientRow>(`
  insert into oauth2_clients as c (id, created_at, updated_at, kind, type, name, redirect_uris, pkce_required,
    scope_ceiling, grant_types, auth_method, metadata, registration_hash, created_ip)
  values ($1, now(), now(), 'dynamic', $2, $3, $4, true, $5, $6, $7, $8, $9, $10)
  returning ${clientColumns}`);

/** Registers an application at its own request (RFC 7591 §3). Callers need no credential. */
export async function registerOAuth2Client(ctx: Context, given: ClientMetadata): Promise<Registered> {
  requireOAuth2(ctx);
  await ctx.services.limits.countRegistration(ctx.request);
  if (!(await mayRegister(ctx))) throw oauthFailure("access_denied", "Applications may not register themselves here.");
  const profile = profileOf(given, ctx.config);

  const [id, token] = [newId(), newSecret("registrationToken")];
  const values = [...columnsOfProfile(profile), hashSecret(token.text), ctx.request.ip ?? null];
  const client = (await ctx.row(insertClient, id, ...values))!;
  const clientSecret = profile.type === "confidential" ? (await issueSecret(ctx, id))?.text : undefined;
  ctx.audit({ action: "create", ...auditedAs("oauth2_app", id, client.name), diff: diffOf({}, audited(profile)) });
  return { client: configurationOf(client, token.text, ctx.config), clientSecret };
}

/** What the audit log has of a profile. */
const audited = ({ name, redirectUris, grantTypes, authMethod, scopeCeiling }: ClientProfile) => ({
  kind: "dynamic",
  name,
  redirectUris,
  grantTypes,
  authMethod,
  scopeCeiling,
});

interface Held extends ClientRow {
  registrationHash: Buffer;
  nextRegistrationHash: Buffer | null;
}

const heldColumns = `${clientColumns}, c.registration_hash as "registrationHash",
  c.next_registration_hash as "nextRegistrationHash"`;
const selectHeld = `select ${heldColumns} from oauth2_clients c where c.id = $1 and c.registration_hash is not null`;
const findHeld = statement<Held>(selectHeld);
const lockHeld = statement<Held>(`${selectHeld} for update`);

/** An application whose registration access token the caller has, and whether it is the successor of the current one. */
interface Holding {
  client: Held;
  token: string;
  usesNext: boolean;
}

/** Throws `invalid_token` alike for unknown applications, for those of administrators, and for wrong tokens. */
async function authenticate(ctx: Context, reference: RegistrationReference, find = findHeld): Promise<Holding> {
  requireOAuth2(ctx);
  const client = await ctx.row(find, reference.clientId);
  const token = reference.registrationAccessToken ?? "";
  const usesNext = Boolean(client?.nextRegistrationHash && isSecretOf(client.nextRegistrationHash, token));
  if (client && (usesNext || isSecretOf(client.registrationHash, token))) return { client, token, usesNext };
  throw oauthFailure("invalid_token", "The registration access token is missing or not valid for this client.");
}

const promoteNext = statement(`
  update oauth2_clients set registration_hash = next_registration_hash, next_registration_hash = null
  where id = $1 and next_registration_hash = $2`);

/** Reads the registration of an application (RFC 7592 §2.1). The first use of a new token ends the old one. */
export async function readOAuth2Client(ctx: Context, reference: RegistrationReference): Promise<ClientConfiguration> {
  const { client, token, usesNext } = await authenticate(ctx, reference);
  if (usesNext) await ctx.rows(promoteNext, client.id, client.nextRegistrationHash);
  return configurationOf(client, token, ctx.config);
}

const updateClient = statement<ClientRow>(`
  update oauth2_clients as c set type = $2, name = $3, redirect_uris = $4, scope_ceiling = $5, grant_types = $6,
    auth_method = $7, metadata = $8, registration_hash = $9, next_registration_hash = $10, updated_at = now()
  where c.id = $1
  returning ${clientColumns}`);

/**
 * Replaces the metadata of an application (RFC 7592 §2.2). Returns a new registration access token; the old one stays
 * valid until the new one is used.
 */
export async function updateOAuth2Client(
  ctx: Context,
  { clientId, registrationAccessToken, clientSecret, ...given }: UpdateOAuth2Client,
): Promise<ClientConfiguration> {
  const { client, token, usesNext } = await authenticate(ctx, { clientId, registrationAccessToken }, lockHeld);
  const faults: Validation[] = [];
  if (clientSecret && !(await hasSecret(ctx, client.id, clientSecret)))
    faults.push({ field: "clientSecret", detail: "Must be the secret of the client." });
  const profile = profileOf(given, ctx.config, client.authMethod ?? undefined, faults);
  if (profile.type !== client.type)
    throw oauthFailure("invalid_client_metadata", "A client with secrets stays one, and a public client stays public.");

  const next = newSecret("registrationToken");
  const hashes = [usesNext ? hashSecret(token) : client.registrationHash, hashSecret(next.text)];
  const updated = (await ctx.row(updateClient, client.id, ...columnsOfProfile(profile), ...hashes))!;
  const diff = { ...diffOf<object>(client, audited(profile)), registrationAccessToken: { old: "***", new: "***" } };
  ctx.audit({ action: "update", ...auditedAs("oauth2_app", client.id, updated.name), diff });
  ctx.publish(clientHint(client.id));
  return configurationOf(updated, next.text, ctx.config);
}

/** Deletes an application with its secrets, grants, codes, and tokens (RFC 7592 §2.3). Returns its id. */
export async function deleteOAuth2Client(ctx: Context, reference: RegistrationReference): Promise<string> {
  const { client } = await authenticate(ctx, reference, lockHeld);
  await removeClient(ctx, client);
  return client.id;
}

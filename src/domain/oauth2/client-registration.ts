import type { InferResult, NotNull } from "kysely";
import { OAuth2Client } from "../../entities/oauth2.js";
import { instantOf } from "../../runtime/clock.js";
import type { Config } from "../../runtime/config.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import type { Validation } from "../kernel/errors.js";
import { hashSecret, isSecretOf } from "../tokens/token-text.js";
import { ClientMetadata, metadataTexts, profileOf } from "./client-metadata.js";
import { hasSecret, issueSecret } from "./client-secrets.js";
import { removeClient } from "./app-changes.js";
import { type AuthMethod, type ClientRow, clients, GrantType } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { newSecret } from "./secrets.js";
import { clientHint } from "../tokens/hints.js";
import { mayRegister, requireOAuth2 } from "./oauth2-settings.js";
import { credential } from "./client-authentication.js";
import { inputOf, type Input, optional, pasted, required, uuid } from "../kernel/values.js";

/** The registration of an application as it reads it (RFC 7591 §3.2.1, RFC 7592 §3): what is in effect. */
export interface ClientConfiguration extends Omit<ClientMetadata, "redirectUris" | "grantTypes" | "responseTypes"> {
  clientId: string;
  /** Seconds since the epoch. */
  clientIdIssuedAt: number;
  /** 0: secrets of applications that registered themselves do not expire. */
  clientSecretExpiresAt: number;
  registrationAccessToken: string;
  registrationClientUri: string;
  clientName: string;
  redirectUris: string[];
  tokenEndpointAuthMethod: AuthMethod;
  grantTypes: string[];
  responseTypes: string[];
  /** The scopes of requests that name none. */
  scope: string;
}

type Configured = Pick<Config, "accessUrl" | "oauth2DynamicScopes">;

/** Returns the registration of an application, with the token that manages it. */
function configurationOf(
  { id, type, createdAt, name, redirectUris, authMethod, grantTypes, metadata }: ClientRow | OAuth2Client,
  registrationAccessToken: string,
  { accessUrl, oauth2DynamicScopes }: Configured,
): ClientConfiguration {
  return {
    scope: oauth2DynamicScopes.join(" "),
    ...metadata,
    clientId: id,
    clientIdIssuedAt: Math.floor(instantOf(new Date(createdAt).toISOString()) / 1000),
    clientSecretExpiresAt: 0,
    registrationAccessToken,
    registrationClientUri: `${accessUrl}/oauth2/clients/${id}`,
    clientName: name,
    redirectUris,
    // RFC 7591 §2: the default, which does not bind an application that registered no method.
    tokenEndpointAuthMethod: authMethod ?? (type === "public" ? "none" : "client_secret_basic"),
    grantTypes,
    responseTypes: grantTypes.includes(GrantType.AUTHORIZATION_CODE) ? ["code"] : [],
  };
}

/** The registration of an application. One that can keep a secret gets it when it registers. */
export interface Registered {
  client: ClientConfiguration;
  clientSecret: string | undefined;
}

/** The credentials with which an application manages its registration (RFC 7592 §1.2). */
export const RegistrationReference = inputOf({
  clientId: required(uuid, metadataTexts.clientId),
  registrationAccessToken: optional(pasted(credential), metadataTexts.registrationAccessToken),
});
export type RegistrationReference = Input<typeof RegistrationReference>;

/** New metadata of an application. A secret that is sent must be its own: it does not change (RFC 7592 §2.2). */
export const UpdateOAuth2Client = inputOf({
  ...ClientMetadata.shape,
  ...RegistrationReference.shape,
  clientSecret: optional(credential, "The secret of the client. May be omitted, but must not be wrong."),
});
export type UpdateOAuth2Client = Input<typeof UpdateOAuth2Client>;

/** Registers an application at its own request (RFC 7591 §3). Callers need no credential. */
export async function registerOAuth2Client(ctx: Context, given: ClientMetadata): Promise<Registered> {
  requireOAuth2(ctx);
  await ctx.services.limits.countRegistration(ctx.request);
  if (!(await mayRegister(ctx))) throw oauthFailure("access_denied", "Applications may not register themselves here.");
  const profile = profileOf(given, ctx.config);

  const token = newSecret("registrationToken");
  const client = ctx.em.create(OAuth2Client, {
    ...profile,
    kind: "dynamic",
    pkceRequired: true,
    registrationHash: hashSecret(token.text),
    createdIp: ctx.request.ip ?? null,
  });
  await ctx.em.flush();
  const clientSecret = profile.type === "confidential" ? (await issueSecret(ctx, client.id))?.text : undefined;
  return { client: configurationOf(client, token.text, ctx.config), clientSecret };
}

/** An application that registered itself, by its id. */
const selectRegistered = (db: Db, id: string) =>
  clients(db)
    .where("id", "=", id)
    .where("registrationHash", "is not", null)
    .select(["registrationHash", "nextRegistrationHash"])
    .$narrowType<{ registrationHash: NotNull }>();

type Held = InferResult<ReturnType<typeof selectRegistered>>[number];

/**
 * An application whose registration access token the caller has, and whether it is the successor of the current one.
 */
interface Holding {
  client: Held;
  token: string;
  usesNext: boolean;
}

/** Throws `invalid_token` alike for unknown applications, for those of administrators, and for wrong tokens. */
async function authenticate(ctx: Context, reference: RegistrationReference, isLocked = false): Promise<Holding> {
  requireOAuth2(ctx);
  const found = selectRegistered(ctx.db, reference.clientId).$if(isLocked, (query) => query.forUpdate());
  const client = await found.executeTakeFirst();
  const token = reference.registrationAccessToken ?? "";
  const usesNext = Boolean(client?.nextRegistrationHash && isSecretOf(client.nextRegistrationHash, token));
  if (client && (usesNext || isSecretOf(client.registrationHash, token))) return { client, token, usesNext };
  throw oauthFailure("invalid_token", "The registration access token is missing or not valid for this client.");
}

/** Reads the registration of an application (RFC 7592 §2.1). The first use of a new token ends the old one. */
export async function readOAuth2Client(ctx: Context, reference: RegistrationReference): Promise<ClientConfiguration> {
  const { client, token, usesNext } = await authenticate(ctx, reference);
  if (usesNext)
    await ctx.db
      .updateTable("oauth2Clients")
      .set({ registrationHash: client.nextRegistrationHash, nextRegistrationHash: null })
      .where("id", "=", client.id)
      .where("nextRegistrationHash", "=", client.nextRegistrationHash)
      .execute();
  return configurationOf(client, token, ctx.config);
}

/**
 * Replaces the metadata of an application (RFC 7592 §2.2). Returns a new registration access token; the old one stays
 * valid until the new one is used.
 */
export async function updateOAuth2Client(
  ctx: Context,
  { clientId, registrationAccessToken, clientSecret, ...given }: UpdateOAuth2Client,
): Promise<ClientConfiguration> {
  const { client, token, usesNext } = await authenticate(ctx, { clientId, registrationAccessToken }, true);
  const faults: Validation[] = [];
  if (clientSecret && !(await hasSecret(ctx, client.id, clientSecret)))
    faults.push({ field: "clientSecret", detail: "Must be the secret of the client." });
  const profile = profileOf(given, ctx.config, client.type === "public" ? "none" : null, faults);
  if (profile.type !== client.type)
    throw oauthFailure("invalid_client_metadata", "A client with secrets stays one, and a public client stays public.");

  const next = newSecret("registrationToken");
  const stored = await ctx.em.findOneOrFail(OAuth2Client, client.id);
  ctx.em.assign(stored, {
    ...profile,
    registrationHash: usesNext ? hashSecret(token) : client.registrationHash,
    nextRegistrationHash: hashSecret(next.text),
  });
  await ctx.em.flush();
  ctx.publish(clientHint(client.id));
  return configurationOf(stored, next.text, ctx.config);
}

/** Deletes an application with its secrets, grants, codes, and tokens (RFC 7592 §2.3). Returns its id. */
export async function deleteOAuth2Client(ctx: Context, reference: RegistrationReference): Promise<string> {
  const { client } = await authenticate(ctx, reference, true);
  await removeClient(ctx, client);
  return client.id;
}

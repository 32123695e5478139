import * as z from "zod/mini";
import type { Config } from "../../runtime/config.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { after, now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { newId } from "../kernel/ids.js";
import { isObject } from "../../runtime/json.js";
import { storable } from "../kernel/values.js";
import { type ClientMetadata, type ClientProfile, profileOf } from "./client-metadata.js";
import { clientFields, type ClientRow, clients, clientWithId, longestClientId } from "./clients.js";
import { isLocal } from "../workspace-proxies/sites.js";
import { documentFailure } from "./document-fetches.js";

/** Whether a `client_id` is meant to be the URL of a metadata document. */
const isUrl = (clientId: string): boolean => /^https?:\/\//i.test(clientId);

/**
 * The violated rule of the URL of a metadata document as a sentence; `undefined` for a valid one. A URL has only one
 * spelling here, since clients are told apart by it.
 */
function documentUrlProblem(text: string, allowsLoopback: boolean): string | undefined {
  const url = URL.parse(text);
  const isLoopback = allowsLoopback && url?.protocol === "http:" && isLocal(url);
  if (!url || Buffer.byteLength(text) > longestClientId || (url.protocol !== "https:" && !isLoopback))
    return `Its URL must have the scheme https and at most ${longestClientId} bytes.`;
  if (text.includes("#") || url.username !== "" || url.password !== "" || url.href !== text)
    return "Its URL must be in normal form, without fragment, user information, and dot segments.";
  return url.pathname === "/" ? "Its URL must have a path." : undefined;
}

/** Whether a host matches a pattern: its name, `*.example.com` for all names below one, or `*`. */
const matches = (host: string, pattern: string): boolean =>
  pattern === "*" || (pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern);

/**
 * Finds an application by its `client_id`, disabled or not, for a signed-in user. The metadata document behind a URL is
 * fetched if there is no fresh copy; an old copy serves if that fails. Checks no permission. Throws `invalid_request`,
 * with the reason, for a document that cannot be used.
 */
export async function findClient(ctx: Context, clientId: string): Promise<ClientRow | undefined> {
  if (!isUrl(clientId)) return clientWithId(ctx, clientId);
  if (ctx.config.oauth2Cimd === false) return undefined;
  requireAllowed(ctx, clientId);
  const stored = await findStored(ctx, clientId);
  if (stored?.isFresh || ctx.actor.kind !== "user") return stored;
  try {
    return await ctx.services.clientDocuments.renewals.share(clientId, () => renew(ctx, clientId));
  } catch (error) {
    if (stored?.isUsable) return stored;
    throw error;
  }
}

const findStored = ({ services: { database } }: Context, url: string) =>
  clients(database.db)
    .where("documentUrl", "=", url)
    .select((eb) => [
      eb("documentFreshUntil", ">", now).as("isFresh"),
      eb("documentUsableUntil", ">", now).as("isUsable"),
    ])
    .executeTakeFirst();

/** Fetches a document, unless that happened since the caller read the stored one. */
async function renew(ctx: Context, url: string): Promise<ClientRow> {
  const stored = await findStored(ctx, url);
  return stored?.isFresh ? stored : fetchAndStore(ctx, url);
}

function requireAllowed({ config }: Context, clientId: string): void {
  const problem = documentUrlProblem(clientId, config.oauth2CimdAllowPrivate);
  if (problem !== undefined) throw documentFailure(problem);
  const { hostname } = new URL(clientId);
  if (!config.oauth2CimdHosts.some((pattern) => matches(hostname, pattern.toLowerCase())))
    throw documentFailure("This server accepts no documents of its host.");
}

/** Fetches a document, and stores it beside the transaction of the request, which does not decide about it. */
async function fetchAndStore({ services, config, request }: Context, url: string): Promise<ClientRow> {
  const { clientDocuments, database } = services;
  const { content, freshFor } = await clientDocuments.fetch(url);
  const profile = profileIn(url, content, config);
  if (profile instanceof DomainError) return clientDocuments.reject(url, profile);
  const change = {
    name: profile.name,
    redirectUris: profile.redirectUris,
    scopeCeiling: profile.scopeCeiling,
    grantTypes: profile.grantTypes,
    metadata: profile.metadata,
    updatedAt: now,
    documentFreshUntil: after(freshFor),
    documentUsableUntil: after(day),
  };
  const { type, authMethod } = profile;
  const created = { id: newId(), createdAt: now, createdIp: request.ip ?? null, pkceRequired: true };
  return (
    database.db
      .insertInto("oauth2Clients")
      .values({ ...change, ...created, kind: "document", type, authMethod, documentUrl: url })
      // The id of an application, and whether it is disabled, outlast its documents.
      .onConflict((existing) => existing.column("documentUrl").doUpdateSet(change))
      .returning(clientFields)
      .executeTakeFirstOrThrow()
  );
}

/** The profile that a document describes, or what is wrong with it. */
export function profileIn(url: string, content: Record<string, unknown>, config: Config): ClientProfile | DomainError {
  try {
    return profileOf(metadataOf(url, content), config, "none");
  } catch (error) {
    const { message, details } = error as DomainError;
    if (details.oauthError === "invalid_request") return error as DomainError;
    return documentFailure([message, ...(details.validations ?? []).map(({ detail }) => detail)].join(" "));
  }
}

const text = z.nullish(storable);
const texts = z.nullish(z.array(storable));

/** The members that are read. Others are ignored. */
const members = z.object({
  redirect_uris: texts,
  token_endpoint_auth_method: text,
  grant_types: texts,
  response_types: texts,
  client_name: text,
  client_uri: text,
  logo_uri: text,
  tos_uri: text,
  policy_uri: text,
  jwks_uri: text,
  scope: text,
  application_type: z.optional(
    z.pipe(
      z.unknown(),
      z.transform((type) => (typeof type === "string" ? type : undefined)),
    ),
  ),
  contacts: texts,
  jwks: z.nullish(z.custom<Record<string, unknown>>(isObject)),
  software_id: text,
  software_version: text,
});

/** Reads a document as metadata. Throws for one of another client, and for one that has or needs a secret. */
function metadataOf(url: string, document: Record<string, unknown>): ClientMetadata {
  if (document.client_id !== url) throw documentFailure("Its client_id is not its URL.");
  if (Object.keys(document).some((name) => name.startsWith("client_secret")))
    throw documentFailure("It has a client secret.");
  if ((document.token_endpoint_auth_method ?? "none") !== "none")
    throw documentFailure("Its token_endpoint_auth_method is not none.");
  const { data, error } = z.safeParse(members, document);
  if (error) throw documentFailure(`Its ${String(error.issues[0]!.path[0])} has the wrong type.`);
  for (const name of ["client_name", "redirect_uris"] as const)
    if (!data[name]) throw documentFailure(`It has no ${name}.`);
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [inCamelCase(name), value]));
}

const inCamelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

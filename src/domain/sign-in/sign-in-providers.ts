import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { inputOf, type Input, reference, required } from "../kernel/values.js";
import { organizationsById, type OrganizationRow } from "../organizations/organizations.js";
import {
  type KnownProvider,
  ProviderSource,
  settingsOf,
  type StoredProvider,
  storedProviders,
} from "./provider-registry.js";
import type { PublicSettings } from "./provider-settings.js";

const o = columnsOf("userLinks", "o");
const l = columnsOf("userLinks", "l");

/** A provider as owners see it. Its credential is never returned. */
export interface SignInProviderRow extends PublicSettings {
  /** Null unless owners made it. */
  id: string | null;
  source: ProviderSource;
  /** Whether it authenticates this server by a private key. */
  usesKey: boolean;
  isEnabled: boolean;
  /** Whether people can sign in: it is enabled, and the settings of the server declare no provider of its name. */
  isActive: boolean;
  label: string;
  signInUrl: string;
  redirectUrl: string;
}

/** The URL at which browsers start a sign-in. */
export const signInUrlOf = (ctx: Context, name: string): string => `${ctx.config.accessUrl}/login/${name}`;

/** The URL to which a provider sends browsers back. */
const redirectUrlOf = (ctx: Context, name: string): string => `${signInUrlOf(ctx, name)}/callback`;

/** The name of a provider that sign-in pages show. */
const labelOf = ({ kind, displayName, issuer }: Pick<PublicSettings, "kind" | "displayName" | "issuer">): string =>
  displayName || (kind === "github" ? "GitHub" : (URL.parse(issuer)?.hostname ?? issuer));

const urlsOf = (ctx: Context, name: string) => ({
  signInUrl: signInUrlOf(ctx, name),
  redirectUrl: redirectUrlOf(ctx, name),
});

export function rowOfStored(ctx: Context, stored: StoredProvider): SignInProviderRow {
  const settings = settingsOf(stored);
  const { name } = settings;
  const isHidden = ctx.services.identityProviders.declared.some((declared) => declared.settings.name === name);
  return {
    ...settings,
    ...urlsOf(ctx, name),
    id: stored.id,
    source: ProviderSource.STORED,
    usesKey: stored.clientAuth === "private_key",
    isEnabled: stored.isEnabled,
    isActive: stored.isEnabled && !isHidden,
    label: labelOf(settings),
  };
}

function rowOfDeclared(ctx: Context, { settings, source, isActive, label }: KnownProvider): SignInProviderRow {
  const { credential, ...shown } = settings;
  const usesKey = "privateKey" in credential;
  return { ...shown, ...urlsOf(ctx, settings.name), id: null, source, usesKey, isEnabled: isActive, isActive, label };
}

/** Lists the providers in the order of sign-in pages: those that the settings of the server declare come first. */
export async function listIdentityProviders(ctx: Context): Promise<SignInProviderRow[]> {
  authorize(ctx.actor, "sign_in_provider:read");
  const stored = await storedProviders(ctx.db).execute();
  return [
    ...ctx.services.identityProviders.declared.map((declared) => rowOfDeclared(ctx, declared)),
    ...stored.map((row) => rowOfStored(ctx, row)),
  ];
}

export const NamedProvider = inputOf({
  provider: required(reference, "The provider: ID or name."),
});
export type NamedProvider = Input<typeof NamedProvider>;

/** Finds a provider by its ID or name. A declared one comes before a stored one of its name. */
export async function readIdentityProvider(ctx: Context, { provider: ref }: NamedProvider): Promise<SignInProviderRow> {
  const found = (await listIdentityProviders(ctx)).find(({ id, name }) => id === ref || name === ref);
  if (!found) throw notFound();
  return found;
}

/** The organizations that newcomers of a provider join, as far as they exist. */
export async function organizationsOfProvider(
  ctx: Context,
  { organizations: refs }: Pick<SignInProviderRow, "organizations">,
): Promise<OrganizationRow[]> {
  const ids = refs.length === 0 ? [] : await joinedOrganizations(ctx, refs).execute();
  const found = await Promise.all(ids.map(({ id }) => ctx.load(organizationsById, id)));
  return found.filter((organization) => organization !== undefined);
}

/** Selects the organizations by their IDs or names; the default one if there are none. */
export const joinedOrganizations = ({ db }: Pick<Context, "db">, refs: readonly string[]) =>
  db
    .selectFrom("organizations")
    .select("id")
    .where("deletedAt", "is", null)
    .where((eb) =>
      refs.length === 0
        ? eb("isDefault", "=", true)
        : eb.or([
            sql<SqlBool>`id::text = any(${refs}::text[])`,
            sql<SqlBool>`lower(name collate "C") = any(${refs.map((ref) => ref.toLowerCase())}::text[])`,
            ...(refs.includes("default") ? [eb("isDefault", "=", true)] : []),
          ]),
    );

/** How many people have an identity at a provider, and how many of them have no other one. */
export interface LinkCounts {
  linked: number;
  only: number;
}

/** Batch read of the counts of providers, by their names, for `ctx.load`. */
export async function linkCountsOf({ db }: Pick<Context, "db">, names: readonly string[]): Promise<LinkCounts[]> {
  const isOnly = sql<SqlBool>`not exists (
    select from user_links o where ${o.userId} = ${l.userId} and ${o.provider} <> ${l.provider})`;
  const found = await db
    .selectFrom("userLinks as l")
    .innerJoin("users as u", "u.id", "l.userId")
    .where("u.deletedAt", "is", null)
    .where("l.provider", "=", anyOf(names, "text"))
    .groupBy("l.provider")
    .select(({ fn }) => [
      "l.provider",
      fn.countAll<number>().as("linked"),
      fn.countAll<number>().filterWhere(isOnly).as("only"),
    ])
    .execute();
  const byName = new Map(found.map((row) => [row.provider, row]));
  return names.map((name) => byName.get(name) ?? { linked: 0, only: 0 });
}

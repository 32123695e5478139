import { commit, version } from "../../runtime/program-files.js";
import { zoneSources } from "../../runtime/time-zones/zone-data.js";
import type { ProviderKind } from "../../infrastructure/identity-providers.js";
import type { Context } from "../kernel/context.js";

/** Public information about this server. */
export interface ServerInfo {
  version: string;
  /** That of the sources; null if the build did not know it. */
  commit: string | null;
  /** Null if the source of the data does not say. */
  timeZoneDataVersion: string | null;
  accessUrl: string;
  deploymentId: string;
  passwordAuth: boolean;
  identityProviders: SignInProvider[];
  /** The longest lifetime of an API token. */
  apiTokenMaxLifetimeSeconds: number;
}

/** An identity provider, as sign-in pages show it. */
export interface SignInProvider {
  name: string;
  type: ProviderKind;
  label: string;
  icon: string;
  signInUrl: string;
}

/** Reads the id that all replicas of this deployment share. */
export async function readDeploymentId(ctx: Context): Promise<string> {
  const row = await ctx.db.selectFrom("deployment").select("id").executeTakeFirst();
  if (!row) throw new Error("The deployment has no id: the database was never initialized.");
  return row.id;
}

export async function readServerInfo(ctx: Context): Promise<ServerInfo> {
  const deploymentId = await readDeploymentId(ctx);
  const { accessUrl, passwordAuth, apiKeyMaxLifetime } = ctx.config;
  const identityProviders = ctx.services.identityProviders.active.map(({ settings: { name, kind, icon }, label }) => ({
    name,
    type: kind,
    label,
    icon,
    signInUrl: `${accessUrl}/login/${name}`,
  }));
  const timeZoneDataVersion = zoneSources()[0].version;
  return {
    version,
    commit,
    timeZoneDataVersion,
    accessUrl,
    deploymentId,
    passwordAuth,
    identityProviders,
    apiTokenMaxLifetimeSeconds: Math.floor(apiKeyMaxLifetime / 1000),
  };
}

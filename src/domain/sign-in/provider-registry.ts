import type { InferResult } from "kysely";
import type { Logger } from "pino";
import type { Database, Db } from "../../infrastructure/database/database.js";
import {
  createIdentityProvider,
  type IdentityProvider,
  type ProviderKind,
  type ProviderSettings,
} from "../../infrastructure/identity-providers.js";
import type { Vault } from "../../infrastructure/vault.js";
import type { Config } from "../../runtime/config.js";
import type { Events } from "../../runtime/events.js";
import { StoredSettings } from "../kernel/stored-settings.js";
import { providerSecrets } from "../encryption/columns.js";
import { providersOfVariables } from "./declared-providers.js";

/** Where a provider comes from: owners made it, a file of the server declares it, or variables of the server do. */
export const ProviderSource = { STORED: "stored", FILE: "file", VARIABLES: "variables" } as const;
export type ProviderSource = (typeof ProviderSource)[keyof typeof ProviderSource];

/** A provider, with what a sign-in has to know of it. */
export interface KnownProvider extends IdentityProvider {
  source: ProviderSource;
  /** Null unless owners made it. */
  id: string | null;
  /** Names the provider with its settings: a sign-in that began with others does not end. */
  stamp: string;
  /** Whether people can sign in. */
  isActive: boolean;
}

/** The providers that owners made, in their order. */
export const storedProviders = (db: Db) =>
  db
    .selectFrom("signInProviders as p")
    .select([
      "p.id",
      "p.name",
      "p.kind",
      "p.displayName",
      "p.icon",
      "p.issuer",
      "p.clientId",
      "p.clientAuth",
      "p.keyId",
      "p.secretNonce as nonce",
      "p.secretCiphertext as ciphertext",
      "p.scopes",
      "p.subjectClaim",
      "p.emailVerified",
      "p.emailDomains",
      "p.followsEmail",
      "p.linksByEmail",
      "p.admitsNewcomers",
      "p.organizationIds",
      "p.tenants",
      "p.hostedDomains",
      "p.factorMethods",
      "p.factorContexts",
      "p.claimMappings",
      "p.appliesClaims",
      "p.locksGroups",
      "p.signsOut",
      "p.checkInterval",
      "p.isEnabled",
      "p.position",
      "p.revision",
      "p.createdAt",
      "p.updatedAt",
    ])
    .orderBy("p.position")
    .orderBy("p.id");

export type StoredProvider = InferResult<ReturnType<typeof storedProviders>>[number];

/** The settings of a stored provider, without its credential. */
export const settingsOf = ({ organizationIds, ...row }: StoredProvider): Omit<ProviderSettings, "credential"> => ({
  name: row.name,
  kind: row.kind,
  displayName: row.displayName,
  icon: row.icon,
  issuer: row.issuer,
  clientId: row.clientId,
  scopes: row.scopes,
  subjectClaim: row.subjectClaim,
  emailVerified: row.emailVerified,
  emailDomains: row.emailDomains,
  followsEmail: row.followsEmail,
  linksByEmail: row.linksByEmail,
  admitsNewcomers: row.admitsNewcomers,
  organizations: organizationIds,
  tenants: row.tenants,
  hostedDomains: row.hostedDomains,
  factorMethods: row.factorMethods,
  factorContexts: row.factorContexts,
  claimMappings: row.claimMappings,
  appliesClaims: row.appliesClaims,
  locksGroups: row.locksGroups,
  signsOut: row.signsOut,
  checkInterval: row.checkInterval,
});

/** Signals all replicas that owners changed the providers. */
export const providersHint = { topic: "sign_in_providers", id: "all" } as const;

type Options = {
  config: Config;
  database: Pick<Database, "db">;
  events: Events;
  vault: Vault;
  log: Logger;
};

/** The providers at which users sign in, on a server. Follows the changes of owners on all replicas. */
export class SignInProviders extends StoredSettings {
  readonly #declared: readonly KnownProvider[];
  #stored: readonly KnownProvider[] = [];

  constructor(private readonly options: Options) {
    super(options, providersHint, "The providers of sign-in");
    const { config } = options;
    const ofVariables = providersOfVariables(config).map(({ settings, setting }): KnownProvider => ({
      ...createIdentityProvider(settings, { ...this.#calls, setting }),
      source: ProviderSource.VARIABLES,
      id: null,
      stamp: settings.name,
      isActive: true,
    }));
    const inFile = config.signInProviders.map(({ settings, isEnabled }): KnownProvider => ({
      ...createIdentityProvider(settings, { ...this.#calls, setting: "STEWARD_SIGN_IN_PROVIDERS" }),
      source: ProviderSource.FILE,
      id: null,
      stamp: settings.name,
      isActive: isEnabled,
    }));
    this.#declared = [...ofVariables, ...inFile];
  }

  get #calls() {
    const { outboundAllow, outboundProxy } = this.options.config;
    return { outboundAllow, outboundProxy };
  }

  /** All that the settings of the server declare. */
  get declared(): readonly KnownProvider[] {
    return this.#declared;
  }

  /** Those at which people can sign in, in their order: declared ones first. */
  get active(): readonly KnownProvider[] {
    return [...this.#declared, ...this.#stored].filter(({ isActive }) => isActive);
  }

  /** Finds a provider by its name. A declared one hides a stored one. */
  find(name: string): KnownProvider | undefined {
    return [...this.#declared, ...this.#stored].find(({ settings }) => settings.name === name);
  }

  /** Finds a provider that owners made. */
  withId(wanted: string): KnownProvider | undefined {
    return this.#stored.find(({ id }) => id === wanted);
  }

  /** Whether people can sign in at a provider of a kind. */
  has(kind: ProviderKind): boolean {
    return this.active.some(({ settings }) => settings.kind === kind);
  }

  protected async read(): Promise<void> {
    const { database, log } = this.options;
    const rows = await storedProviders(database.db).execute();
    // An unchanged provider keeps the metadata and the keys that it has fetched.
    const known = new Map(this.#stored.map((provider) => [provider.stamp, provider]));
    this.#stored = rows.flatMap((row) => {
      const before = known.get(stampOf(row));
      if (before) return before;
      try {
        return this.#open(row);
      } catch (error) {
        log.error({ err: error, provider: row.name }, "The secret of a provider of sign-in cannot be decrypted.");
        return [];
      }
    });
  }

  #open(row: StoredProvider): KnownProvider {
    const settings = { ...settingsOf(row), credential: credentialOf(this.options.vault, row) };
    const isHidden = this.#declared.some(({ settings: { name } }) => name === row.name);
    return {
      ...createIdentityProvider(settings, this.#calls),
      source: ProviderSource.STORED,
      id: row.id,
      stamp: stampOf(row),
      isActive: row.isEnabled && !isHidden,
    };
  }
}

/** Names a stored provider with its settings. */
export const stampOf = ({ id, revision }: Pick<StoredProvider, "id" | "revision">) => `${id}:${revision}`;

function credentialOf(
  vault: Vault,
  { id, clientAuth, keyId, nonce, ciphertext }: StoredProvider,
): ProviderSettings["credential"] {
  if (keyId === null || nonce === null || ciphertext === null) return { secret: "" };
  const text = vault.open(providerSecrets.place({ id, ownerId: id }), { keyId, nonce, ciphertext });
  return clientAuth === "private_key" ? { privateKey: text } : { secret: text };
}

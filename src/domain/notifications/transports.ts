import type { InferResult } from "kysely";
import type { Logger } from "pino";
import type { Config } from "../../runtime/config.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { notificationTransportSecrets } from "../encryption/columns.js";
import type { Events } from "../../runtime/events.js";
import { createMailer, type Mailer } from "../../infrastructure/smtp.js";
import type { Vault } from "../../infrastructure/vault.js";
import { StoredSettings } from "../kernel/stored-settings.js";
import { createWebhook, type Webhook } from "../../infrastructure/webhook.js";

/** The settings of the configuration that owners can change at run time, by transport and field. */
export const transportSettings = {
  smtp: {
    host: "smtpHost",
    port: "smtpPort",
    from: "smtpFrom",
    hello: "smtpHello",
    username: "smtpUsername",
    password: "smtpPassword",
    forceTls: "smtpForceTls",
    requireTls: "smtpRequireTls",
  },
  webhook: { url: "webhookUrl", secrets: "webhookSecrets" },
} as const satisfies Record<string, Record<string, keyof Config>>;

export type TransportName = keyof typeof transportSettings;

/** The settings that owners made, by field. Absent fields have the values of the configuration. */
export interface StoredTransport {
  settings: Readonly<Record<string, unknown>>;
  /** The fields that are secret, encrypted at rest. */
  secrets: Readonly<Record<string, unknown>>;
}

/** The stored settings. The migration inserted a row for each transport. */
export const storedTransports = (db: Db) =>
  db
    .selectFrom("notificationTransports")
    .select(["id", "method", "settings", "keyId", "secretNonce as nonce", "secretCiphertext as ciphertext"])
    .orderBy("method");

type Row = InferResult<ReturnType<typeof storedTransports>>[number];

/** Signals all replicas that owners changed the transports. */
export const transportsHint = { topic: "notification_settings", id: "transports" } as const;

type Opened = { ids: Record<TransportName, string> } & Record<TransportName, StoredTransport>;

/** Decrypts stored settings. Throws if a secret cannot be decrypted. */
export function openTransports(vault: Vault, rows: readonly Row[]): Opened {
  const open = ({ id, keyId, nonce, ciphertext }: Row) =>
    keyId && nonce && ciphertext
      ? (JSON.parse(
          vault.open(notificationTransportSecrets.place({ id, ownerId: id }), { keyId, nonce, ciphertext }),
        ) as StoredTransport["secrets"])
      : {};
  const opened = rows.map((row) => [row.method, { settings: row.settings, secrets: open(row) }] as const);
  return {
    ...Object.fromEntries(opened),
    ids: Object.fromEntries(rows.map(({ method, id }) => [method, id])),
  } as Opened;
}

/** The configuration with what owners set. The environment takes precedence. */
export function withStored(config: Config, stored: Record<TransportName, StoredTransport>): Config {
  const changes: Partial<Record<keyof Config, unknown>> = {};
  for (const [name, fields] of Object.entries(transportSettings)) {
    const { settings, secrets } = stored[name as TransportName];
    for (const [field, key] of Object.entries<keyof Config>(fields)) {
      const value = settings[field] ?? secrets[field];
      if (value !== undefined && !config.given.has(key)) changes[key] = value;
    }
  }
  return { ...config, ...(changes as Partial<Config>) };
}

/**
 * The transports of notifications, as the environment and the owners configured them. Absent if not configured. Follows
 * changes on all replicas.
 */
export class Transports extends StoredSettings {
  smtp: Mailer | undefined;
  webhook: Webhook | undefined;
  /** The rows in use, so that an unchanged transport keeps its connections. */
  #known = "";

  constructor(
    private readonly options: {
      config: Config;
      database: Pick<Database, "db">;
      events: Events;
      vault: Vault;
      log: Logger;
    },
  ) {
    super(options, transportsHint, "The settings of notification transports");
    this.#use(options.config);
  }

  protected async read(): Promise<void> {
    const { config, database, vault } = this.options;
    const rows = await storedTransports(database.db).execute();
    const known = JSON.stringify(rows);
    if (known === this.#known) return;
    this.#use(withStored(config, openTransports(vault, rows)));
    this.#known = known;
  }

  #use(config: Config): void {
    this.smtp = createMailer(config);
    this.webhook = createWebhook(config);
  }
}

import { randomBytes } from "node:crypto";
import type { Config, DeclaredSetting } from "../../runtime/config.js";
import { type Diff } from "../kernel/audit.js";
import { authorize, requireProof } from "../authorization/authorization.js";
import { notificationTransportSecrets } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { conflict, Problems } from "../kernel/errors.js";
import { isWebhookSecret, newWebhookSecret, webhookSecretRule } from "../../infrastructure/webhook-signatures.js";
import {
  openTransports,
  type StoredTransport,
  storedTransports,
  type TransportName,
  transportSettings,
  transportsHint,
  withStored,
} from "./transports.js";
import { dispatchHint } from "./notify.js";
import { characters, flag, inputOf, type Input, int, list, meant, optional, secret } from "../kernel/values.js";

/** The settings in effect. Secrets are never returned. */
export interface NotificationTransports {
  smtp: {
    host: string | null;
    port: number;
    from: string | null;
    hello: string;
    username: string | null;
    password: { isSet: boolean };
    forceTls: boolean;
    requireTls: boolean;
    lockedFields: string[];
  };
  webhook: { url: string | null; secret: { isSet: boolean }; lockedFields: string[] };
}

/** Maximum number of characters of a text. */
const longest = 1024;
/** Maximum number of secrets that sign a message. */
const mostSecrets = 5;

/** The text of a setting, which has further rules. */
const settingText = characters(1, longest);

export const SmtpSettings = inputOf({
  host: optional(settingText, "Hostname."),
  port: optional(int(1, 65_535), "Port, {limits}. Default: 587."),
  from: optional(settingText, "Sender address; required with a host."),
  hello: optional(settingText, "Hostname for EHLO. Default: `localhost`."),
  username: optional(settingText, "Username; required with a password."),
  password: optional(meant(settingText, { kind: "secret" }), "Password; required with a username."),
  forceTls: optional(flag, "Whether connections use TLS from the start. Default: false."),
  requireTls: optional(flag, "Whether mail is sent only over TLS. Default: false."),
});
export type SmtpSettings = Input<typeof SmtpSettings>;

export const WebhookSettings = inputOf({
  url: optional(settingText, "URL that notifications are posted to."),
  secrets: optional(
    list(mostSecrets, secret),
    "At most 5 secrets of Standard Webhooks, all of which sign each message, so that receivers can change to a new one. With a URL and without secrets, one is generated.",
  ),
});
export type WebhookSettings = Input<typeof WebhookSettings>;

/** New values. Absent fields stay as they are, null returns to the default. */
export const UpdateTransports = inputOf({
  smtp: optional(SmtpSettings, "Changes of the mail server."),
  webhook: optional(WebhookSettings, "Changes of the receiver of webhooks."),
});
export type UpdateTransports = Input<typeof UpdateTransports>;

const secretFields: ReadonlySet<string> = new Set(["password", "secrets"]);

const names = Object.keys(transportSettings) as TransportName[];

/** Reads how notifications are delivered. For owners. */
export async function readNotificationTransports(ctx: Context): Promise<NotificationTransports> {
  authorize(ctx.actor, "deployment_config:update");
  const stored = openTransports(ctx.services.vault, await storedTransports(ctx.db).execute());
  return presentTransports(withStored(ctx.config, stored));
}

function presentTransports(config: Config): NotificationTransports {
  const fieldsLockedBySettings = (name: TransportName) =>
    Object.entries<keyof Config>(transportSettings[name]).flatMap(([field, key]) =>
      config.given.has(key) ? [field] : [],
    );
  return {
    smtp: {
      host: config.smtpHost ?? null,
      port: config.smtpPort,
      from: config.smtpFrom ?? null,
      hello: config.smtpHello,
      username: config.smtpUsername ?? null,
      password: { isSet: config.smtpPassword !== undefined },
      forceTls: config.smtpForceTls,
      requireTls: config.smtpRequireTls,
      lockedFields: fieldsLockedBySettings("smtp"),
    },
    webhook: {
      url: config.webhookUrl ?? null,
      secret: { isSet: config.webhookSecrets.length > 0 },
      lockedFields: fieldsLockedBySettings("webhook"),
    },
  };
}

/**
 * Changes how notifications are delivered, on all replicas. Fields that the environment sets are CONFLICT. A webhook
 * without a secret gets one: returns it, for the only time.
 */
export async function updateNotificationTransports(
  ctx: Context,
  input: UpdateTransports,
): Promise<{ webhookSecret: string | null }> {
  authorize(ctx.actor, "deployment_config:update");
  // Passcodes go by mail: who chooses the server that delivers them can set passwords of others.
  requireProof(ctx.actor);
  const { vault, transports } = ctx.services;
  const before = openTransports(vault, await storedTransports(ctx.db).forNoKeyUpdate().execute());
  const problems = new Problems();
  const after = {
    smtp: applyChanges(ctx.config, "smtp", before, input, problems),
    webhook: applyChanges(ctx.config, "webhook", before, input, problems),
  };
  problems.throwIfAny();
  requireUnlocked(ctx.config, input);
  const webhookSecret = missingSecret(ctx.config, after);
  if (webhookSecret !== null)
    after.webhook = { ...after.webhook, secrets: { ...after.webhook.secrets, secrets: [webhookSecret] } };
  requireComplete(withStored(ctx.config, after));
  const diff: Diff = {};
  for (const name of names) {
    const own = diffBetween(name, before[name], after[name]);
    if (Object.keys(own).length === 0) continue;
    Object.assign(diff, own);
    const id = before.ids[name];
    const { secrets } = after[name];
    const place = notificationTransportSecrets.place({ id, ownerId: id });
    const sealed = Object.keys(secrets).length > 0 ? vault.seal(place, JSON.stringify(secrets)) : undefined;
    await ctx.db
      .updateTable("notificationTransports")
      .set({
        settings: after[name].settings,
        keyId: sealed?.keyId ?? null,
        secretNonce: sealed?.nonce ?? null,
        secretCiphertext: sealed?.ciphertext ?? null,
      })
      .where("id", "=", id)
      .execute();
  }
  if (Object.keys(diff).length > 0) {
    ctx.audit({ action: "update", resourceType: "notification_transports", diff });
    ctx.publish(transportsHint, dispatchHint);
    // This replica uses them before it responds.
    ctx.afterCommit(() => transports.refresh());
  }
  return { webhookSecret };
}

/** Returns what is stored after the change. */
function applyChanges(
  config: Config,
  name: TransportName,
  before: Record<TransportName, StoredTransport>,
  input: UpdateTransports,
  problems: Problems,
): StoredTransport {
  const settings = { ...before[name].settings };
  const secrets = { ...before[name].secrets };
  for (const [field, key] of Object.entries<string>(transportSettings[name])) {
    const value = input[name]?.[field as keyof (typeof input)[typeof name]] as unknown;
    if (value === undefined) continue;
    const target = secretFields.has(field) ? secrets : settings;
    if (value === null) delete target[field];
    else if (field === "secrets") problems.add(`${name}.${field}`, secretsProblem(value as string[]));
    else problems.add(`${name}.${field}`, ruleProblem(config.declared[key]!, value));
    if (value !== null) target[field] = value;
  }
  return { settings, secrets };
}

function ruleProblem({ description, accepts }: DeclaredSetting, value: unknown): string | undefined {
  const text = String(value);
  const isValid = text !== "" && text.length <= longest && accepts(text);
  return isValid ? undefined : `Must be ${description}, of 1 to ${longest} characters.`;
}

const secretsProblem = (secrets: readonly string[]): string | undefined =>
  secrets.length > mostSecrets || !secrets.every(isWebhookSecret)
    ? `Must be at most ${mostSecrets} secrets, each ${webhookSecretRule}.`
    : undefined;

/** Throws CONFLICT for fields that the environment sets. */
function requireUnlocked({ given, declared }: Config, input: UpdateTransports): void {
  const locked = names.flatMap((name) =>
    Object.entries<string>(transportSettings[name])
      .filter(([field, key]) => given.has(key) && Object.hasOwn(input[name] ?? {}, field))
      .map(([field, key]) => ({ field: `${name}.${field}`, detail: `Is set by ${declared[key]!.name}.` })),
  );
  if (locked.length > 0) throw conflict("The environment of the server sets this.", locked);
}

/** Returns a new secret if the webhook has none. */
function missingSecret(config: Config, after: Record<TransportName, StoredTransport>): string | null {
  const { webhookUrl, webhookSecrets } = withStored(config, after);
  return webhookUrl !== undefined && webhookSecrets.length === 0 ? newWebhookSecret(randomBytes(32)) : null;
}

/** Throws BAD_USER_INPUT for settings without others that they require. */
function requireComplete({ smtpHost, smtpFrom, smtpUsername, smtpPassword }: Config): void {
  const problems = new Problems();
  if (smtpHost !== undefined && smtpFrom === undefined) problems.add("smtp.from", "Is required with a host.");
  if (smtpUsername !== undefined && smtpPassword === undefined)
    problems.add("smtp.password", "Is required with a username.");
  if (smtpUsername === undefined && smtpPassword !== undefined)
    problems.add("smtp.username", "Is required with a password.");
  problems.throwIfAny();
}

/** The changed fields, without the values of secrets. */
function diffBetween(name: TransportName, before: StoredTransport, after: StoredTransport): Diff {
  const diff: Diff = {};
  for (const field of Object.keys(transportSettings[name])) {
    const [old, now] = [before, after].map(({ settings, secrets }) => settings[field] ?? secrets[field] ?? null);
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    const maskSecret = (value: unknown) => (secretFields.has(field) && value !== null ? "***" : value);
    diff[`${name}.${field}`] = { old: maskSecret(old), new: maskSecret(now) };
  }
  return diff;
}

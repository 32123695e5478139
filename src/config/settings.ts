import { availableParallelism } from "node:os";
import { readSupportLinks, type SupportLink, supportLinksRule } from "../domain/appearance/support-links.js";
import { type LicenseKeys, licenseKeysRule, readLicenseKeys } from "../domain/licenses/keys.js";
import { readToken, tokenRule } from "../domain/licenses/token.js";
import { type EncryptionKey, keysRule, readKeys } from "../domain/outside/vault.js";
import { emailProblem, nameProblem, urlProblem } from "../domain/kernel/text.js";
import {
  cidr,
  dailySchedule,
  databaseUrl,
  duration,
  file,
  formed,
  host,
  list,
  mailDomain,
  matching,
  oneOf,
  origin,
  retention,
  type Rule,
  text,
  trustedUrl,
  wholeNumber,
  wildcardHost,
  yesOrNo,
} from "./rules.js";

/** One setting: where it is read from, what it may be, and what it means. */
export interface Setting<Value> {
  readonly name: string;
  readonly rule: Rule<unknown>;
  /** The text that counts when none is set. */
  readonly usual?: string;
  readonly meaning: string;
  /** Another variable that counts when this one is not set. */
  readonly or?: string;
  /** Never shown, and may be given as a file named by `<NAME>_FILE`. */
  readonly secret?: boolean;
  /** The setting that names the file which may hold this secret, where that is more than reading the file. */
  readonly file?: string;
  /** What to tell people of a default that depends on the machine. */
  readonly usualInWords?: string;
  /** Only for the compiler. */
  readonly value?: Value;
}

type Extras = Pick<Setting<unknown>, "or" | "secret" | "file" | "usualInWords">;

const setting = <Value>(
  name: string,
  rule: Rule<Value>,
  usual: string,
  meaning: string,
  extras?: Extras,
): Setting<Value> => ({ name, rule, usual, meaning, ...extras });

/** A setting without a default. */
const optional = <Value>(
  name: string,
  rule: Rule<Value>,
  meaning: string,
  extras?: Extras,
): Setting<Value | undefined> => ({ name, rule, meaning, ...extras });

/** A list that is empty when it is not set. */
const several = <Value>(name: string, rule: Rule<Value>, meaning: string): Setting<Value[]> => ({
  name,
  rule: list(rule),
  usual: "",
  meaning,
  usualInWords: "empty",
});

const hashers = String(Math.max(1, Math.floor(availableParallelism() / 2)));
const someKeys: Rule<EncryptionKey[]> = { read: readKeys, rule: keysRule };
const someLicenseKeys: Rule<LicenseKeys> = { read: readLicenseKeys, rule: licenseKeysRule };
const aLicense: Rule<string> = { read: (given) => (readToken(given) ? given : undefined), rule: tokenRule };
const aUrl = formed(urlProblem, "an http or https URL without user information");
const someLinks: Rule<SupportLink[]> = { read: readSupportLinks, rule: supportLinksRule };
const aName = formed(nameProblem, "1 to 32 letters, digits and single hyphens, and no reserved name");
const anEmail = formed(emailProblem, "an e-mail address");
const currency = matching(/^\S{1,16}$/u, "1 to 16 characters without space");
const lifetime = duration("1m", "3650d");
const perTime = wholeNumber(0, 1_000_000_000);
const logLevel = oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent");

/** Every setting there is: its name, its rule, its default and its meaning. Durations are kept in milliseconds. */
// oxfmt-ignore
export const settings = {
  host:                     setting("STEWARD_HOST",                         host,                      "127.0.0.1", "Address to listen on; 0.0.0.0 to serve other machines.", { or: "HOST" }),
  port:                     setting("STEWARD_PORT",                         wholeNumber(0, 65535),     "3000", "Port to listen on; 0 picks a free one.", { or: "PORT" }),
  accessUrl:                optional("STEWARD_ACCESS_URL",                  origin,                    "Address under which others reach the server; base of all absolute links.", { usualInWords: "http://localhost:<port>" }),
  wildcardAccessUrl:        optional("STEWARD_WILDCARD_ACCESS_URL",         wildcardHost,              "Names under which applications have hosts of their own; unset: they have none."),
  dataDir:                  setting("STEWARD_DATA_DIR",                     text,                      "./data", "Folder of the generated encryption key and the built-in Postgres; the server keeps nothing else on disk."),
  databaseUrl:              optional("STEWARD_DATABASE_URL",                databaseUrl,               "Postgres 14 or newer; unset: a built-in Postgres under the data folder.", { secret: true, or: "DATABASE_URL" }),
  databasePool:             setting("STEWARD_DATABASE_POOL",                wholeNumber(2, 1000),      "20", "Connections to Postgres per server process."),

  encryptionKeys:           optional("STEWARD_ENCRYPTION_KEYS",             someKeys,                  "Keys for what is encrypted in the database, as a list of <key id>:<base64 of 32 bytes>; the first one writes, all read.", { secret: true, file: "STEWARD_ENCRYPTION_KEYS_FILE", usualInWords: "read from the file" }),
  encryptionKeysFile:       optional("STEWARD_ENCRYPTION_KEYS_FILE",        text,                      "File with the encryption keys, by comma or line; made with a random key if it is missing and nothing is encrypted yet.", { usualInWords: "<data dir>/encryption.keys" }),

  adminEmail:               setting("STEWARD_ADMIN_EMAIL",                  anEmail,                   "admin@steward.local", "E-mail of the first administrator, at first boot."),
  adminUsername:            setting("STEWARD_ADMIN_USERNAME",               aName,                     "admin", "Username of the first administrator, at first boot."),
  adminPassword:            optional("STEWARD_ADMIN_PASSWORD",              text,                      "Password of the first administrator, at first boot.", { secret: true, usualInWords: "generated and printed once" }),
  defaultOrganization:      setting("STEWARD_DEFAULT_ORGANIZATION",         aName,                     "main", "Name of the default organization, at first boot."),

  trustedProxies:           several("STEWARD_TRUSTED_PROXIES",              cidr,                      "Proxies whose forwarding headers and request ids are believed."),
  corsOrigins:              several("STEWARD_CORS_ORIGINS",                 origin,                    "Web origins whose scripts may call the server."),
  bodyLimit:                setting("STEWARD_BODY_LIMIT",                   wholeNumber(1024, 67108864),"1048576", "Largest request body, in bytes."),
  requestTimeout:           setting("STEWARD_REQUEST_TIMEOUT",              duration("1s", "1h"),      "30s", "Longest time to an answer, streams excepted; half of it for one SQL statement, a sixth for a lock."),
  shutdownGrace:            setting("STEWARD_SHUTDOWN_GRACE",               duration("0s", "1h"),      "20s", "Time for running requests to finish after SIGTERM."),
  rateLimitCredential:      setting("STEWARD_RATE_LIMIT_CREDENTIAL",        perTime,                   "60", "Tries of a secret per minute, account and address; 0 is no limit."),
  rateLimitCredentialIp:    setting("STEWARD_RATE_LIMIT_CREDENTIAL_IP",     perTime,                   "300", "Tries of secrets per minute and address; 0 is no limit."),
  rateLimitApi:             setting("STEWARD_RATE_LIMIT_API",               perTime,                   "6000", "Other requests per minute and caller, on each server; 0 is no limit."),
  outboundAllow:            several("STEWARD_OUTBOUND_ALLOW",               cidr,                      "Networks that are not public, or are this machine, and may be called all the same."),
  graphqlIntrospection:     setting("STEWARD_GRAPHQL_INTROSPECTION",        yesOrNo,                   "true", "Whether clients may ask for the GraphQL schema."),
  metricsAllow:             several("STEWARD_METRICS_ALLOW",                cidr,                      "Networks that may read /metrics, besides this machine."),
  metricsToken:             optional("STEWARD_METRICS_TOKEN",               text,                      "Bearer token that opens /metrics.", { secret: true }),
  logLevel:                 setting("STEWARD_LOG_LEVEL",                    logLevel,                  "info", "Least level that is logged."),
  logFormat:                setting("STEWARD_LOG_FORMAT",                   oneOf("json", "text"),     "json", "Form of log lines."),
  auditRetention:           setting("STEWARD_AUDIT_RETENTION",              retention,                 "0", "How long audit events are kept; 0 is for ever."),
  connectionLog:            setting("STEWARD_CONNECTION_LOG",               yesOrNo,                   "true", "Whether connections to workspaces are recorded."),
  connectionLogRetention:   setting("STEWARD_CONNECTION_LOG_RETENTION",     retention,                 "0", "How long connections are kept; 0 is for ever."),
  docsUrl:                  optional("STEWARD_DOCS_URL",                    aUrl,                      "Documentation that clients link to."),
  supportLinks:             optional("STEWARD_SUPPORT_LINKS",               someLinks,                 "Links that clients show to people who look for help; unset: the documentation."),
  licenseKeys:              optional("STEWARD_LICENSE_KEYS",                someLicenseKeys,           "Public keys that licenses are signed with, as a JWKS; unset: every feature is on.", { secret: true }),
  license:                  optional("STEWARD_LICENSE",                     aLicense,                  "License that is stored at start if there is none.", { secret: true }),

  passwordAuth:             setting("STEWARD_PASSWORD_AUTH",                yesOrNo,                   "true", "Whether people sign in with passwords."),
  loginFailuresPerHour:     setting("STEWARD_LOGIN_FAILURES_PER_HOUR",      perTime,                   "100", "Wrong passwords per e-mail and hour over all addresses; addresses from which the user has signed in count apart. 0 is no limit."),
  hashConcurrency:          setting("STEWARD_HASH_CONCURRENCY",             wholeNumber(1, 128),       hashers, "Passwords hashed at once.", { usualInWords: "half the cores, at least 1" }),
  passcodeLifetime:         setting("STEWARD_OTP_LIFETIME",                 duration("1m", "24h"),     "20m", "Life of a one-time passcode."),
  sessionDuration:          setting("STEWARD_SESSION_DURATION",             lifetime,                  "24h", "Life of a session after its last use."),
  sessionMaxAge:            setting("STEWARD_SESSION_MAX_AGE",              lifetime,                  "30d", "Life of a session however much it is used."),
  apiKeyDefaultLifetime:    setting("STEWARD_API_KEY_DEFAULT_LIFETIME",     lifetime,                  "90d", "Life of an API key that asks for none."),
  apiKeyMaxLifetime:        setting("STEWARD_API_KEY_MAX_LIFETIME",         lifetime,                  "365d", "Longest life of an API key."),
  adminWorkspaceAccess:     setting("STEWARD_ADMIN_WORKSPACE_ACCESS",       yesOrNo,                   "false", "Whether owners and organization admins may enter other people's workspaces."),

  oidcIssuerUrl:            optional("STEWARD_OIDC_ISSUER_URL",             trustedUrl,                "Issuer of the OpenID Connect provider by which people sign in; unset: none."),
  oidcClientId:             optional("STEWARD_OIDC_CLIENT_ID",              text,                      "What that provider calls this server."),
  oidcClientSecret:         optional("STEWARD_OIDC_CLIENT_SECRET",          text,                      "How this server proves itself to that provider.", { secret: true }),
  oidcEmailDomains:         several("STEWARD_OIDC_EMAIL_DOMAINS",           mailDomain,                "E-mail domains whose people get an account at their first sign-in through a provider; empty: nobody new."),
  githubUrl:                setting("STEWARD_GITHUB_URL",                   trustedUrl,                "https://github.com", "GitHub by which people sign in, or an Enterprise Server of your own."),
  githubClientId:           optional("STEWARD_GITHUB_CLIENT_ID",            text,                      "Client id of the OAuth app there; unset: nobody signs in through GitHub."),
  githubClientSecret:       optional("STEWARD_GITHUB_CLIENT_SECRET",        text,                      "Client secret of the OAuth app.", { secret: true }),

  smtpHost:                 optional("STEWARD_NOTIFICATIONS_SMTP_HOST",     host,                      "Mail server that takes what is sent to users; unset: no mail."),
  smtpPort:                 setting("STEWARD_NOTIFICATIONS_SMTP_PORT",      wholeNumber(1, 65535),     "587", "Its port; on 465 TLS begins at once."),
  smtpFrom:                 optional("STEWARD_NOTIFICATIONS_SMTP_FROM",     anEmail,                   "Sender of the mail."),
  smtpHello:                setting("STEWARD_NOTIFICATIONS_SMTP_HELLO",     host,                      "localhost", "What this server calls itself to the mail server."),
  smtpUsername:             optional("STEWARD_NOTIFICATIONS_SMTP_USERNAME", text,                      "Account at the mail server; it is told over TLS only."),
  smtpPassword:             optional("STEWARD_NOTIFICATIONS_SMTP_PASSWORD", text,                      "Password of that account.", { secret: true }),
  smtpForceTls:             setting("STEWARD_NOTIFICATIONS_SMTP_FORCE_TLS", yesOrNo,                   "false", "Whether TLS begins at once on any port."),
  smtpRequireTls:           setting("STEWARD_NOTIFICATIONS_SMTP_REQUIRE_TLS", yesOrNo,                 "false", "Whether mail is sent by STARTTLS or not at all."),
  smtpCa:                   optional("STEWARD_NOTIFICATIONS_SMTP_CA_FILE",  file,                      "File with the certificates that the mail server's must lead to."),

  userSecretsMaxCount:      setting("STEWARD_USER_SECRETS_MAX_COUNT",       wholeNumber(1, 1000),      "50", "Most secrets of a user."),
  userSecretsMaxTotalBytes: setting("STEWARD_USER_SECRETS_MAX_TOTAL_BYTES", wholeNumber(1, 1000000000), "204800", "Most bytes of all secret values of a user."),
  userSecretsMaxEnvBytes:   setting("STEWARD_USER_SECRETS_MAX_ENV_BYTES",   wholeNumber(1, 1000000000), "24576", "Most bytes of the secret values of a user that become environment variables."),

  groupsMaxPerOrganization: setting("STEWARD_GROUPS_MAX_PER_ORGANIZATION",  wholeNumber(1, 1000000),   "10000", "Most groups of an organization."),
  aiBudgetCurrency:         setting("STEWARD_AI_BUDGET_CURRENCY",           currency,                  "USD", "Label of the currency of AI budgets."),

  quietHoursDefault:        setting("STEWARD_QUIET_HOURS_DEFAULT",          dailySchedule,             "CRON_TZ=UTC 0 0 * * *", "Quiet hours of users who chose none, as cron."),
  quietHoursAllowCustom:    setting("STEWARD_QUIET_HOURS_ALLOW_CUSTOM",     yesOrNo,                   "true", "Whether users may choose quiet hours of their own."),

  proxyHealthInterval:      setting("STEWARD_PROXY_HEALTH_INTERVAL",        duration("1s", "1d"),      "1m", "How often each workspace proxy is asked how it is."),
  proxyHealthTimeout:       setting("STEWARD_PROXY_HEALTH_TIMEOUT",         duration("1s", "1m"),      "5s", "How long a proxy may take to answer that."),
  proxyHealthAllowLoopback: optional("STEWARD_PROXY_HEALTH_ALLOW_LOOPBACK", yesOrNo,                   "Whether proxies on this machine are asked.", { usualInWords: "true if the server listens or is reached on this machine alone" }),
  proxyHealthAllowedCidrs:  several("STEWARD_PROXY_HEALTH_ALLOWED_CIDRS",   cidr,                      "Networks that proxies are asked in; empty: all but those that are link-local, multicast or nobody's."),
};

import { availableParallelism } from "node:os";
import { readProviders } from "../domain/external-auth/configuration.js";
import { readSupportLinks, supportLinksRule } from "../domain/appearance/support-links.js";
import { licenseKeysRule, readLicenseKeys } from "../domain/licenses/license-keys.js";
import { readToken, tokenRule } from "../domain/licenses/token.js";
import { providersRule, readSignInProviders } from "../domain/sign-in/declared-providers.js";
import { natsServers } from "../infrastructure/events/nats-url.js";
import { keysRule, readKeys } from "../infrastructure/vault.js";
import { isWebhookSecret, webhookSecretRule } from "../infrastructure/webhook-signatures.js";
import { emailAddress, faultOf, httpUrl } from "../domain/kernel/values.js";
import { usernameValue } from "../domain/users/names.js";
import {
  checkedBy,
  cidr,
  dailySchedule,
  databaseUrl,
  delay,
  duration,
  file,
  headersOf,
  textWithoutProblem,
  host,
  list,
  mailDomain,
  matching,
  oneOf,
  origin,
  proxyUrl,
  readBy,
  redirectSchemes,
  retention,
  type Rule,
  scopes,
  text,
  trustedUrl,
  wholeNumber,
  wildcardHost,
  yesOrNo,
} from "./rules.js";

/** A setting: its environment variable, format, default, and description. */
export interface Setting<Value> {
  readonly name: string;
  readonly rule: Rule<Value>;
  /** Default, as text. */
  readonly defaultText?: string;
  readonly meaning: string;
  /** Alternative variable, used if this one is not set. */
  readonly or?: string;
  /** Never printed; can be read from a file, whose path is in `<NAME>_FILE`. */
  readonly secret?: boolean;
  /** The setting with the path of the secret's file, if the file has rules of its own. */
  readonly file?: string;
  /** Whether white space around it belongs to it: passwords, and secrets of other systems. */
  readonly verbatim?: true;
  /** Description of a default that depends on the machine or on other settings. */
  readonly defaultInWords?: string;
}

type Extras = Pick<Setting<unknown>, "or" | "secret" | "file" | "defaultInWords" | "verbatim">;

const setting = <Value>(
  name: string,
  rule: Rule<Value>,
  defaultText: string,
  meaning: string,
  extras?: Extras,
): Setting<Value> => ({ name, rule, defaultText, meaning, ...extras });

/** Declares a setting without a default. */
const optional = <Value>(
  name: string,
  rule: Rule<Value>,
  meaning: string,
  extras?: Extras,
): Setting<Value | undefined> => ({ name, rule, meaning, ...extras });

/** Declares a list setting that is empty by default. */
const several = <Value>(name: string, rule: Rule<Value>, meaning: string): Setting<Value[]> => ({
  name,
  rule: list(rule),
  defaultText: "",
  meaning,
  defaultInWords: "empty",
});

const hashers = String(Math.max(1, Math.floor(availableParallelism() / 2)));
const natsUrl = readBy(
  (given) => (natsServers(given) ? given : undefined),
  "a URL such as nats://nats:4222 or tls://nats:4222, or a list of them separated by commas",
);
const someKeys = readBy(readKeys, keysRule);
const someLicenseKeys = readBy(readLicenseKeys, licenseKeysRule);
const aLicense = readBy((given) => (readToken(given) ? given : undefined), tokenRule);
const aUrl = textWithoutProblem((given) => faultOf(httpUrl, given), "an http or https URL without user information");
const someHeaders = readBy(headersOf, "headers as `name=value`, by comma");
const someLinks = readBy(readSupportLinks, supportLinksRule);
const someProviders = checkedBy(readProviders, "a JSON array of providers");
const signInProviders = checkedBy(readSignInProviders, providersRule);
const aName = textWithoutProblem(
  (given) => faultOf(usernameValue, given),
  "1 to 32 letters, digits and single hyphens, and no reserved name",
);
const anEmail = textWithoutProblem((given) => faultOf(emailAddress, given), "an email address");
const claimName = matching(/^[\x21-\x7e]{1,128}$/, "the name of a claim: 1 to 128 visible ASCII characters");
const currency = matching(/^\S{1,16}$/u, "1 to 16 characters without white space");
const lifetime = duration("1m", "3650d");
const perTime = wholeNumber(0, 1_000_000_000);
const webhookSecret = readBy((given) => (isWebhookSecret(given) ? given : undefined), webhookSecretRule);
const requestShare = readBy((given) => {
  if (given === "on") return 1;
  if (given === "off") return 0;
  return /^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(given) ? Number(given) : undefined;
}, "on, off, or a number from 0 to 1");
const logLevel = oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent");

/** All settings: name, format, default, and description. Durations are stored in milliseconds. */
// oxfmt-ignore
export const settings = {
  host:                     setting("STEWARD_HOST",                         host,                      "127.0.0.1", "Address to listen on. 0.0.0.0 accepts connections from other machines.", { or: "HOST" }),
  port:                     setting("STEWARD_PORT",                         wholeNumber(0, 65535),     "3000", "Port to listen on. 0 selects a free port.", { or: "PORT" }),
  accessUrl:                optional("STEWARD_ACCESS_URL",                  origin,                    "External URL of the deployment; the base of all absolute links.", { defaultInWords: "http://localhost:<port>" }),
  wildcardAccessUrl:        optional("STEWARD_WILDCARD_ACCESS_URL",         wildcardHost,              "Wildcard hostname of applications, such as *.apps.example.com. If unset, applications have no hostnames of their own."),
  dataDir:                  setting("STEWARD_DATA_DIR",                     text,                      "./data", "Directory of the generated encryption keys and the built-in Postgres."),
  databaseUrl:              optional("STEWARD_DATABASE_URL",                databaseUrl,               "Connection URL of Postgres 14 or newer. If unset, a built-in Postgres runs in the data directory.", { secret: true, or: "DATABASE_URL" }),
  databaseDirectUrl:        optional("STEWARD_DATABASE_DIRECT_URL",         databaseUrl,               "Connection URL of the same database that leads past poolers, for what needs a session of its own: migrations, backups, and messages of other replicas. Required behind a pooler in transaction mode.", { secret: true, defaultInWords: "STEWARD_DATABASE_URL" }),
  databaseReadUrl:          optional("STEWARD_DATABASE_READ_URL",           databaseUrl,               "Connection URL of a standby of the database, for reads of the audit log, the connection log, the delivery log, and daily counts. If unset, they run on the primary.", { secret: true }),
  databasePool:             setting("STEWARD_DATABASE_POOL",                wholeNumber(2, 1000),      "20", "Maximum number of Postgres connections per server process."),
  eventsUrl:                optional("STEWARD_EVENTS_URL",                  natsUrl,                   "URL of a NATS server, or a list of those of a cluster, that carries the messages between replicas. If unset, Postgres does.", { secret: true }),

  encryptionKeys:           optional("STEWARD_ENCRYPTION_KEYS",             someKeys,                  "Encryption keys for values in the database: a list of <key id>:<base64 of 32 bytes>. The first key encrypts, all keys decrypt.", { secret: true, file: "STEWARD_ENCRYPTION_KEYS_FILE", defaultInWords: "read from STEWARD_ENCRYPTION_KEYS_FILE" }),
  encryptionKeysFile:       optional("STEWARD_ENCRYPTION_KEYS_FILE",        text,                      "File with the encryption keys, separated by commas or line breaks. Created with a random key if it does not exist and nothing is encrypted yet.", { defaultInWords: "<STEWARD_DATA_DIR>/encryption.keys" }),

  adminEmail:               setting("STEWARD_ADMIN_EMAIL",                  anEmail,                   "admin@steward.local", "Email address of the administrator created on the first start."),
  adminUsername:            setting("STEWARD_ADMIN_USERNAME",               aName,                     "admin", "Username of the administrator created on the first start."),
  adminPassword:            optional("STEWARD_ADMIN_PASSWORD",              text,                      "Password of the administrator created on the first start.", { secret: true, verbatim: true, defaultInWords: "generated and printed once" }),
  defaultOrganization:      setting("STEWARD_DEFAULT_ORGANIZATION",         aName,                     "main", "Name of the default organization, created on the first start."),

  trustedProxies:           several("STEWARD_TRUSTED_PROXIES",              cidr,                      "Networks of reverse proxies whose forwarding headers and request IDs are trusted."),
  corsOrigins:              several("STEWARD_CORS_ORIGINS",                 origin,                    "Origins allowed to make cross-origin requests (CORS)."),
  bodyLimit:                setting("STEWARD_BODY_LIMIT",                   wholeNumber(1024, 67108864),"1048576", "Maximum size of a request body, in bytes."),
  requestTimeout:           setting("STEWARD_REQUEST_TIMEOUT",              duration("1s", "1h"),      "30s", "Maximum time to the response, except for streams. A SQL statement may take half of it, waiting for a lock one sixth."),
  shutdownGrace:            setting("STEWARD_SHUTDOWN_GRACE",               duration("0s", "1h"),      "20s", "Time for running requests to complete after SIGTERM."),
  rateLimitCredential:      setting("STEWARD_RATE_LIMIT_CREDENTIAL",        perTime,                   "60", "Attempts with a password or passcode per minute, per account and address. 0 means unlimited."),
  rateLimitCredentialIp:    setting("STEWARD_RATE_LIMIT_CREDENTIAL_IP",     perTime,                   "300", "Attempts with a password or passcode per minute, per address. 0 means unlimited."),
  rateLimitApi:             setting("STEWARD_RATE_LIMIT_API",               perTime,                   "6000", "Other requests per minute, per caller and server process. 0 means unlimited."),
  socketsPerUser:           setting("STEWARD_SOCKETS_PER_USER",             wholeNumber(0, 1_000_000), "100", "Maximum number of open sockets and streams per user and server process. 0 means unlimited."),
  outboundAllow:            several("STEWARD_OUTBOUND_ALLOW",               cidr,                      "Private or loopback networks that outbound requests may reach."),
  outboundProxy:            optional("STEWARD_OUTBOUND_PROXY",               proxyUrl,                  "HTTP proxy for outbound requests: client metadata documents, identity and Git providers, webhooks, and health checks of workspace proxies. The proxy resolves names.", { secret: true }),
  graphqlIntrospection:     setting("STEWARD_GRAPHQL_INTROSPECTION",        yesOrNo,                   "true", "Whether GraphQL introspection is enabled."),
  metricsAllow:             several("STEWARD_METRICS_ALLOW",                cidr,                      "Networks that may read /metrics, in addition to the same machine."),
  metricsToken:             optional("STEWARD_METRICS_TOKEN",               text,                      "Bearer token that grants access to /metrics.", { secret: true }),
  logLevel:                 setting("STEWARD_LOG_LEVEL",                    logLevel,                  "info", "Minimum level of log messages."),
  logFormat:                optional("STEWARD_LOG_FORMAT",                  oneOf("json", "text"),     "Format of log lines.", { defaultInWords: "text on a terminal, else json" }),
  requestLog:               setting("STEWARD_REQUEST_LOG",                  requestShare,              "on", "Which requests are logged: on, off, or a fraction of them and all that failed."),
  auditRetention:           setting("STEWARD_AUDIT_RETENTION",              retention,                 "0", "How long audit events are kept, and up to a month longer. 0 means indefinitely."),
  auditFile:                optional("STEWARD_AUDIT_FILE",                   text,                      "File to which audit events are appended as lines of JSON. It may be renamed at any time."),
  auditOtlpUrl:             optional("STEWARD_AUDIT_OTLP_URL",               aUrl,                      "URL of a collector that takes audit events as OTLP logs over HTTP in JSON, such as `http://collector:4318/v1/logs`."),
  auditOtlpHeaders:         optional("STEWARD_AUDIT_OTLP_HEADERS",           someHeaders,               "Headers of requests to the collector, as `name=value` by comma, such as credentials.", { secret: true }),
  connectionLog:            setting("STEWARD_CONNECTION_LOG",               yesOrNo,                   "true", "Whether connections to workspaces are recorded."),
  connectionLogRetention:   setting("STEWARD_CONNECTION_LOG_RETENTION",     retention,                 "0", "How long connection log entries are kept, and up to a month longer. 0 means indefinitely."),
  docsUrl:                  optional("STEWARD_DOCS_URL",                    aUrl,                      "URL of the documentation that clients link to."),
  supportLinks:             optional("STEWARD_SUPPORT_LINKS",               someLinks,                 "Support links that clients show, as a JSON array. If unset, the documentation."),
  licenseKeys:              optional("STEWARD_LICENSE_KEYS",                someLicenseKeys,           "Public keys that verify licenses, as a JWKS. If unset, all features are enabled.", { secret: true }),
  license:                  optional("STEWARD_LICENSE",                     aLicense,                  "License stored on start if no license is stored yet.", { secret: true }),

  passwordAuth:             setting("STEWARD_PASSWORD_AUTH",                yesOrNo,                   "true", "Whether users can sign in with a password."),
  loginFailuresPerHour:     setting("STEWARD_LOGIN_FAILURES_PER_HOUR",      perTime,                   "100", "Wrong passwords per hour and email address, across all client addresses. Addresses from which the user has signed in are counted separately. 0 means unlimited."),
  secondFactors:            setting("STEWARD_SECOND_FACTORS",               oneOf("off", "optional", "required"), "optional", "Whether users with a password can have a second factor, or must add one before they can do anything else. If off, sign-in asks for none, also not for those that exist."),
  rememberedDevices:        setting("STEWARD_REMEMBERED_DEVICES",           duration("0s", "365d"),    "0s", "Time for which users can have their browser remembered, so that sign-in there takes the password without the second factor. 0s means that none are."),
  stepUp:                   setting("STEWARD_STEP_UP",                      oneOf("off", "factors", "always"), "factors", "Whose sessions prove again who their user is before they give lasting or wider access, such as keys, roles, and secrets: none (off), those of accounts with a second factor, or all."),
  stepUpAfter:              setting("STEWARD_STEP_UP_AFTER",                duration("1m", "1d"),      "10m", "Age at which such a proof does not count any more."),
  hashConcurrency:          setting("STEWARD_HASH_CONCURRENCY",             wholeNumber(1, 128),       hashers, "Maximum number of passwords hashed concurrently.", { defaultInWords: "half the number of cores, at least 1" }),
  passcodeLifetime:         setting("STEWARD_OTP_LIFETIME",                 duration("1m", "24h"),     "20m", "Lifetime of a one-time passcode."),
  startLimit:               setting("STEWARD_START_LIMIT",                  duration("1s", "1d"),      "15m", "Time in which the agents and apps of a started workspace have to be ready. Later, the workspace and its task count as unhealthy."),
  healthInterval:           setting("STEWARD_HEALTH_INTERVAL",              duration("0s", "1d"),      "1m", "Interval of the checks of the deployment's health, which one server runs. 0s switches them off."),
  autostopNotice:           setting("STEWARD_AUTOSTOP_NOTICE",               duration("0s", "1d"),      "30m", "Time before a workspace stops by itself at which its owner is told. 0s means never."),
  suspendedWorkspacesStop:  setting("STEWARD_SUSPENDED_WORKSPACES_STOP",    delay("1s", "30d"),        "10m", "Time after which the running workspaces of a suspended user are stopped, or never. Held if more than 20 people and a tenth of the active users were suspended within ten minutes, until an owner releases them."),
  sessionDuration:          setting("STEWARD_SESSION_DURATION",             lifetime,                  "24h", "Lifetime of a session after its last use."),
  sessionMaxAge:            setting("STEWARD_SESSION_MAX_AGE",              lifetime,                  "30d", "Maximum lifetime of a session, regardless of use."),
  apiKeyDefaultLifetime:    setting("STEWARD_API_KEY_DEFAULT_LIFETIME",     lifetime,                  "90d", "Default lifetime of an API token."),
  apiKeyMaxLifetime:        setting("STEWARD_API_KEY_MAX_LIFETIME",         lifetime,                  "365d", "Maximum lifetime of an API token."),
  adminWorkspaceAccess:     setting("STEWARD_ADMIN_WORKSPACE_ACCESS",       yesOrNo,                   "false", "Whether owners and organization admins can access the workspaces of other users."),

  oidcIssuerUrl:            optional("STEWARD_OIDC_ISSUER_URL",             trustedUrl,                "Issuer URL of the OpenID Connect provider. If unset, sign-in with OpenID Connect is disabled."),
  oidcClientId:             optional("STEWARD_OIDC_CLIENT_ID",              text,                      "Client ID at the OpenID Connect provider."),
  oidcClientSecret:         optional("STEWARD_OIDC_CLIENT_SECRET",          text,                      "Client secret at the OpenID Connect provider.", { secret: true, verbatim: true }),
  oidcEmailDomains:         several("STEWARD_OIDC_EMAIL_DOMAINS",           mailDomain,                "Email domains whose users get an account on their first sign-in with a provider, and are trusted to have the addresses that it sends. If empty, no accounts are created."),
  oidcSubjectClaim:         setting("STEWARD_OIDC_SUBJECT_CLAIM",           claimName,                 "sub", "Claim of ID tokens that identifies users permanently. Entra ID's `oid` stays the same in a new app registration."),
  oidcEmailVerified:        setting("STEWARD_OIDC_EMAIL_VERIFIED",          oneOf("trusted", "required"), "trusted", "Whether addresses in STEWARD_OIDC_EMAIL_DOMAINS count as verified if the OpenID Connect provider does not say (trusted), or never then (required)."),
  oidcFollowEmail:          setting("STEWARD_OIDC_FOLLOW_EMAIL",            yesOrNo,                   "true", "Whether accounts get another verified address in STEWARD_OIDC_EMAIL_DOMAINS that the provider of a linked identity sends. Never those of people with a SCIM link."),
  githubUrl:                setting("STEWARD_GITHUB_URL",                   trustedUrl,                "https://github.com", "URL of GitHub, or of a GitHub Enterprise Server."),
  githubClientId:           optional("STEWARD_GITHUB_CLIENT_ID",            text,                      "Client ID of the GitHub OAuth app. If unset, sign-in with GitHub is disabled."),
  githubClientSecret:       optional("STEWARD_GITHUB_CLIENT_SECRET",        text,                      "Client secret of the GitHub OAuth app.", { secret: true, verbatim: true }),
  signInProviders:          setting("STEWARD_SIGN_IN_PROVIDERS",            signInProviders,           `{"providers":[]}`, "Providers at which users sign in, besides those that owners make. See docs/sign-in.md.", { secret: true, defaultInWords: "none" }),

  oauth2Enabled:            setting("STEWARD_OAUTH2_ENABLED",               yesOrNo,                   "true", "Whether applications can get access as OAuth2 clients. Administration of applications is always available."),
  oauth2DynamicRegistration: setting("STEWARD_OAUTH2_DYNAMIC_REGISTRATION", yesOrNo,                   "true", "Whether applications can register themselves, unless an owner has decided in the API."),
  oauth2RegistrationsPerHour: setting("STEWARD_OAUTH2_REGISTRATIONS_PER_HOUR", perTime,                "300", "Applications that may register themselves per hour, per client address. 0 means unlimited."),
  oauth2DynamicScopes:      setting("STEWARD_OAUTH2_DYNAMIC_SCOPES",        scopes,                    "user:read user:read_personal organization:read template:read template:use workspace:* task:*", "Scopes that applications get that registered themselves, in addition to those they registered."),
  oauth2RedirectSchemes:    setting("STEWARD_OAUTH2_REDIRECT_SCHEMES",      redirectSchemes,           "any", "Schemes of redirect URIs beside https and http: any, dotted for those with a dot such as com.example.app, or a list."),
  oauth2ResourceScopes:     setting("STEWARD_OAUTH2_RESOURCE_SCOPES",       scopes,                    "user:read workspace:read template:read task:read", "Scopes that the metadata of the API as a resource suggests."),
  oauth2CodeTtl:            setting("STEWARD_OAUTH2_CODE_TTL",              duration("10s", "1h"),     "10m", "Lifetime of an authorization code."),
  oauth2DeviceTtl:          setting("STEWARD_OAUTH2_DEVICE_TTL",            duration("1m", "1h"),      "15m", "Lifetime of a device code."),
  oauth2AccessTtl:          setting("STEWARD_OAUTH2_ACCESS_TTL",            duration("1m", "30d"),     "1h", "Lifetime of an access token."),
  oauth2RefreshTtl:         setting("STEWARD_OAUTH2_REFRESH_TTL",           lifetime,                  "30d", "Lifetime of a refresh token. Each refresh returns a new one."),
  oauth2GrantTtl:           setting("STEWARD_OAUTH2_GRANT_TTL",             lifetime,                  "365d", "Time after which an application needs the consent of the user again."),
  oauth2RefreshGrace:       setting("STEWARD_OAUTH2_REFRESH_GRACE",         duration("0s", "5m"),      "30s", "Time in which a spent refresh token is accepted again, for up to 30 successors in all. 0s means never."),
  oauth2Cimd:               optional("STEWARD_OAUTH2_CIMD",                 yesOrNo,                   "Whether the URL of a client metadata document is accepted as a client ID, and announced: true for both, false for neither. If unset, documents are accepted, and announced while STEWARD_OAUTH2_CIMD_PROBE can be fetched."),
  oauth2CimdProbe:          optional("STEWARD_OAUTH2_CIMD_PROBE",           aUrl,                      "URL of a client metadata document that is fetched at start and daily, to find out whether this server can fetch documents."),
  oauth2CimdHosts:          setting("STEWARD_OAUTH2_CIMD_HOSTS",            list(text),                "*", "Hosts that client metadata documents may come from: names, patterns such as *.example.com, or * for all public hosts."),
  oauth2CimdAllowPrivate:   setting("STEWARD_OAUTH2_CIMD_ALLOW_PRIVATE",    yesOrNo,                   "false", "Whether client metadata documents may come from private addresses, and over http from loopback addresses."),

  builtinDaemon:            setting("STEWARD_BUILTIN_DAEMON",               yesOrNo,                   "true", "Whether the server runs an echo provisioner daemon for each organization."),
  jobHungAfter:             setting("STEWARD_JOB_HUNG_AFTER",               duration("60s", "1d"),     "5m", "Time after which a job whose daemon is silent fails: the duration of leases."),
  jobPendingTimeout:        setting("STEWARD_JOB_PENDING_TIMEOUT",          duration("1s", "30d"),     "30m", "Time after which a job that no daemon has accepted fails."),
  jobCancelTimeout:         setting("STEWARD_JOB_CANCEL_TIMEOUT",           duration("1s", "1d"),      "10m", "Time that daemons have to stop a canceled job."),
  jobMaxRuntime:            setting("STEWARD_JOB_MAX_RUNTIME",              duration("1s", "30d"),     "2h", "Maximum time that a job runs."),

  notificationsMethod:      setting("STEWARD_NOTIFICATIONS_METHOD",         oneOf("smtp", "webhook"),  "smtp", "How notifications are delivered outside of the inbox, unless an owner chose another method for their template."),
  dispatchTimeout:          setting("STEWARD_NOTIFICATIONS_DISPATCH_TIMEOUT", duration("1s", "10m"),   "1m", "Maximum time of an attempt to deliver a notification."),
  leasePeriod:              setting("STEWARD_NOTIFICATIONS_LEASE_PERIOD",   duration("2s", "1h"),      "2m", "Time after which another server process repeats an attempt whose process ended. Longer than the dispatch timeout."),
  leaseCount:               setting("STEWARD_NOTIFICATIONS_LEASE_COUNT",    wholeNumber(1, 1000),      "20", "Maximum number of concurrent deliveries of each method per server process. Those that take over two seconds do not count, up to four times as many."),
  fetchInterval:            setting("STEWARD_NOTIFICATIONS_FETCH_INTERVAL", duration("100ms", "1h"),   "15s", "Interval at which each server process looks for notifications that are due."),
  maxAttempts:              setting("STEWARD_NOTIFICATIONS_MAX_ATTEMPTS",   wholeNumber(1, 100),       "10", "Maximum number of attempts to deliver a notification."),
  retryBase:                setting("STEWARD_NOTIFICATIONS_RETRY_BASE",     duration("10ms", "1h"),    "30s", "Delay before the second attempt. It doubles with each further attempt."),
  retryMax:                 setting("STEWARD_NOTIFICATIONS_RETRY_MAX",      duration("10ms", "1d"),    "1h", "Maximum delay between attempts."),
  webhookUrl:               optional("STEWARD_NOTIFICATIONS_WEBHOOK_URL",   aUrl,                      "URL that notifications are posted to. If unset, the method webhook is not available."),
  webhookSecrets:           setting("STEWARD_NOTIFICATIONS_WEBHOOK_SECRETS", list(webhookSecret),      "", "Secrets that sign notifications to the webhook. Several are used together while receivers change to a new one.", { secret: true, defaultInWords: "empty" }),
  notificationLogRetention: setting("STEWARD_NOTIFICATIONS_LOG_RETENTION",  duration("1h", "3650d"),   "30d", "How long delivered notifications stay in the delivery log."),
  notificationDeadRetention: setting("STEWARD_NOTIFICATIONS_DEAD_RETENTION", duration("1h", "3650d"),  "90d", "How long undelivered notifications stay in the delivery log."),
  inboxReadRetention:       setting("STEWARD_NOTIFICATIONS_INBOX_READ_RETENTION", duration("1h", "3650d"), "90d", "How long read notifications stay in an inbox."),
  inboxUnreadRetention:     setting("STEWARD_NOTIFICATIONS_INBOX_UNREAD_RETENTION", duration("1h", "3650d"), "365d", "How long unread notifications stay in an inbox."),
  inboxMax:                 setting("STEWARD_NOTIFICATIONS_INBOX_MAX",      wholeNumber(10, 100000),   "1000", "Maximum number of notifications in an inbox. The oldest are deleted first, read ones before unread ones."),

  smtpHost:                 optional("STEWARD_NOTIFICATIONS_SMTP_HOST",     host,                      "SMTP server for email to users. If unset, no email is sent."),
  smtpPort:                 setting("STEWARD_NOTIFICATIONS_SMTP_PORT",      wholeNumber(1, 65535),     "587", "Port of the SMTP server. Port 465 implies TLS from the start of the connection."),
  smtpFrom:                 optional("STEWARD_NOTIFICATIONS_SMTP_FROM",     anEmail,                   "Sender address of email."),
  smtpHello:                setting("STEWARD_NOTIFICATIONS_SMTP_HELLO",     host,                      "localhost", "Hostname that this server sends in EHLO."),
  smtpUsername:             optional("STEWARD_NOTIFICATIONS_SMTP_USERNAME", text,                      "Username at the SMTP server, sent only over TLS."),
  smtpPassword:             optional("STEWARD_NOTIFICATIONS_SMTP_PASSWORD", text,                      "Password at the SMTP server, sent only over TLS.", { secret: true, verbatim: true }),
  smtpForceTls:             setting("STEWARD_NOTIFICATIONS_SMTP_FORCE_TLS", yesOrNo,                   "false", "Whether connections use TLS from the start, on any port."),
  smtpRequireTls:           setting("STEWARD_NOTIFICATIONS_SMTP_REQUIRE_TLS", yesOrNo,                 "false", "Whether email is sent only over TLS, using STARTTLS if necessary."),
  smtpCa:                   optional("STEWARD_NOTIFICATIONS_SMTP_CA_FILE",  file,                      "File with the CA certificates that verify the SMTP server."),

  userSecretsMaxCount:      setting("STEWARD_USER_SECRETS_MAX_COUNT",       wholeNumber(1, 1000),      "50", "Maximum number of secrets per user."),
  userSecretsMaxTotalBytes: setting("STEWARD_USER_SECRETS_MAX_TOTAL_BYTES", wholeNumber(1, 1000000000), "204800", "Maximum total size of secret values per user, in bytes."),
  userSecretsMaxEnvBytes:   setting("STEWARD_USER_SECRETS_MAX_ENV_BYTES",   wholeNumber(1, 1000000000), "24576", "Maximum total size of secret values set as environment variables per user, in bytes."),

  externalAuth:             setting("STEWARD_EXTERNAL_AUTH",                someProviders,             "[]", "Services at which users link accounts, as a JSON array.", { secret: true }),
  externalAuthTimeout:      setting("STEWARD_EXTERNAL_AUTH_TIMEOUT",        duration("1s", "1m"),      "10s", "Timeout of a call to such a service."),
  externalAuthValidateCache: setting("STEWARD_EXTERNAL_AUTH_VALIDATE_CACHE", duration("0s", "1h"),     "60s", "How long the validation of a linked account is cached."),
  externalAuthParallel:     setting("STEWARD_EXTERNAL_AUTH_PARALLEL",       wholeNumber(1, 64),        "8", "Maximum number of concurrent calls to such services per request. A server process makes eight times as many."),

  groupsMaxPerOrganization: setting("STEWARD_GROUPS_MAX_PER_ORGANIZATION",  wholeNumber(1, 1000000),   "10000", "Maximum number of groups per organization, not counting Everyone."),
  aiBudgetCurrency:         setting("STEWARD_AI_BUDGET_CURRENCY",           currency,                  "USD", "Currency of AI budgets; a label only."),

  scimEnabled:              setting("STEWARD_SCIM_ENABLED",                 yesOrNo,                   "true", "Whether identity providers can manage users and groups under /scim/v2."),
  scimLoginType:            setting("STEWARD_SCIM_LOGIN_TYPE",              oneOf("oidc", "github", "none"), "oidc", "How users that an identity provider creates sign in."),
  scimFollowUsername:       setting("STEWARD_SCIM_FOLLOW_USERNAME",         yesOrNo,                   "true", "Whether a new SCIM userName changes the username as well."),
  scimMaxBody:              setting("STEWARD_SCIM_MAX_BODY",                wholeNumber(1024, 67108864), "4194304", "Maximum size of a SCIM request body, in bytes."),
  scimDefaultCount:         setting("STEWARD_SCIM_DEFAULT_COUNT",           wholeNumber(1, 10000),     "100", "Default page size of SCIM lists."),
  scimMaxCount:             setting("STEWARD_SCIM_MAX_COUNT",               wholeNumber(1, 10000),     "1000", "Maximum page size of SCIM lists."),
  scimBulkMaxOperations:    setting("STEWARD_SCIM_BULK_MAX_OPERATIONS",     wholeNumber(1, 10000),     "1000", "Maximum number of operations of a SCIM bulk request."),
  scimCursorTtl:            setting("STEWARD_SCIM_CURSOR_TTL",              duration("1m", "1d"),      "1h", "Lifetime of a cursor of a SCIM list."),
  scimRateLimit:            setting("STEWARD_SCIM_RATE_LIMIT",              perTime,                   "3000", "SCIM requests per minute, per key and server process. 0 means unlimited."),

  quietHoursDefault:        setting("STEWARD_QUIET_HOURS_DEFAULT",          dailySchedule,             "CRON_TZ=UTC 0 0 * * *", "Default start of quiet hours, as a cron expression."),
  zoneinfoDir:              optional("STEWARD_ZONEINFO_DIR",                text,                      "Folder with compiled time zones, as in /usr/share/zoneinfo, which apply if they are newer than those of the system and of Node.js."),
  quietHoursAllowCustom:    setting("STEWARD_QUIET_HOURS_ALLOW_CUSTOM",     yesOrNo,                   "true", "Whether users can set their own quiet hours."),

  taskMaxInputBytes:        setting("STEWARD_TASK_MAX_INPUT_BYTES",         wholeNumber(1, 1048576),   "65536", "Maximum size of a prompt or an input of a task, in bytes."),
  taskQueueMax:             setting("STEWARD_TASK_QUEUE_MAX",               wholeNumber(0, 1000),      "20", "Maximum number of queued inputs of a task."),
  taskQueueTtl:             setting("STEWARD_TASK_QUEUE_TTL",               duration("1m", "365d"),    "24h", "How long a queued input of a task may wait for delivery."),
  taskAppTimeout:           setting("STEWARD_TASK_APP_TIMEOUT",             duration("100ms", "5m"),   "10s", "Timeout of calls that read from the program of a task."),
  taskAppSendTimeout:       setting("STEWARD_TASK_APP_SEND_TIMEOUT",        duration("100ms", "5m"),   "30s", "Timeout of calls that send an input to the program of a task."),
  taskAppAllowLoopback:     optional("STEWARD_TASK_APP_ALLOW_LOOPBACK",     yesOrNo,                   "Whether programs of tasks may have loopback addresses.", { defaultInWords: "true if the server is only reachable on the same machine" }),
  taskAppAllowedCidrs:      several("STEWARD_TASK_APP_ALLOWED_CIDRS",       cidr,                      "Networks that programs of tasks may be in. If empty, all except link-local, multicast, and reserved addresses."),

  proxyHealthInterval:      setting("STEWARD_PROXY_HEALTH_INTERVAL",        duration("1s", "1d"),      "1m", "Interval between health checks of a workspace proxy."),
  proxyHealthTimeout:       setting("STEWARD_PROXY_HEALTH_TIMEOUT",         duration("1s", "1m"),      "5s", "Timeout of a health check."),
  proxyHealthAllowLoopback: optional("STEWARD_PROXY_HEALTH_ALLOW_LOOPBACK", yesOrNo,                   "Whether health checks may reach loopback addresses.", { defaultInWords: "true if the server is only reachable on the same machine" }),
  proxyHealthAllowedCidrs:  several("STEWARD_PROXY_HEALTH_ALLOWED_CIDRS",   cidr,                      "Networks that health checks may reach. If empty, all except link-local, multicast, and reserved addresses."),
};

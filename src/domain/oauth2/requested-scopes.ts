import type { Config } from "../../runtime/config.js";
import { isScope, narrowed, scopeCatalog } from "../authorization/authorization.js";
import { mcpScopes } from "../mcp/tools.js";
import { areForMcp } from "./audiences.js";
import type { ClientRow } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { textBy } from "../kernel/values.js";

/** Maximum size of a `scope` parameter in bytes, and number of scopes in it. */
const longest = 4096;
const mostScopes = 100;

type Configured = Pick<Config, "accessUrl" | "oauth2DynamicScopes">;

/** An application that asks for access, and the resources that it is for. */
export interface Asking {
  client: ClientRow;
  audiences: readonly string[];
}

const namesIn = (scope: string) => [...new Set(scope.split(" ").filter(Boolean))];

/** The rule of `scope` parameters. */
export const scopeProblem = (scope: string): string | undefined =>
  Buffer.byteLength(scope) <= longest && namesIn(scope).length <= mostScopes
    ? undefined
    : `Must be at most ${mostScopes} scopes in ${longest} bytes.`;

/** The `scope` parameter in inputs, and what is said of it. */
export const scopeValue = textBy(scopeProblem, { maxLength: longest });
export const scopeNotice = "Scopes, separated by spaces. Names of no scope are ignored.";

/** Splits the `scope` parameter (RFC 6749 §3.3). Throws `invalid_scope` for one that is too long. */
export function splitScope(scope: string): string[] {
  const problem = scopeProblem(scope);
  if (problem !== undefined) throw oauthFailure("invalid_scope", `The parameter scope is too long. ${problem}`);
  return namesIn(scope);
}

/** Whether scopes cover everything that others cover. */
export const coversAll = (held: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((scope) => narrowed([scope], held).includes(scope));

/** The grant that a user decides about: the scopes that the application can get, and those beyond its ceiling. */
export interface RequestedScopes {
  scopes: string[];
  /** Scopes that the request names, and that are left out. */
  refusedScopes: string[];
}

/**
 * The scopes of a request that a user decides on. Names of no scope are dropped; if nothing remains, the request is for
 * `user:read`. Those beyond the ceiling of the application are left out (RFC 6749 §3.3). Throws `invalid_scope` if none
 * is within it.
 */
export function requestedScopes(asking: Asking, scope: string | null | undefined, config: Configured): RequestedScopes {
  const known = knownScopes(asking, scope, config);
  const isWithin = ceilingOf(asking, config);
  const scopes = known.filter(isWithin);
  if (scopes.length === 0) throw beyondCeiling(known);
  return { scopes, refusedScopes: scope ? known.filter((each) => !isWithin(each)) : [] };
}

/**
 * The scopes of a request that no user sees: likewise, but nothing is left out. Throws `invalid_scope` for scopes beyond
 * the ceiling.
 */
export function exactScopes(asking: Asking, scope: string | null | undefined, config: Configured): string[] {
  const known = knownScopes(asking, scope, config);
  requireWithin(asking, known, config);
  return known;
}

/** The scopes that the `scope` parameter names, or without it the application's own; at least `user:read`. */
function knownScopes(asking: Asking, scope: string | null | undefined, config: Configured): string[] {
  const known = (scope ? splitScope(scope) : initialScopes(asking, config)).filter(isScope);
  return known.length > 0 ? known : ["user:read"];
}

/**
 * The ceiling of an application, as a test of one scope. Applications that are for the MCP server alone may ask for what
 * its tools need as well, whatever they registered: an owner decides only about those that an owner made.
 */
function ceilingOf({ client, audiences }: Asking, config: Configured): (scope: string) => boolean {
  const { kind, scopeCeiling } = client;
  if (scopeCeiling === null) return () => true;
  const ceiling = kind !== "admin" && areForMcp(audiences, config) ? [...scopeCeiling, ...mcpScopes] : scopeCeiling;
  return (scope) => coversAll(ceiling, [scope]);
}

const beyondCeiling = (scopes: readonly string[]) =>
  oauthFailure("invalid_scope", `The application may not get the scopes ${scopes.join(" ")}.`);

/** Throws `invalid_scope` for scopes beyond the ceiling of the application, naming them. */
export function requireWithin(asking: Asking, scopes: readonly string[], config: Configured): void {
  const isWithin = ceilingOf(asking, config);
  const beyond = scopes.filter((scope) => !isWithin(scope));
  if (beyond.length > 0) throw beyondCeiling(beyond);
}

/** Scopes granted when a request names none. */
function initialScopes({ client, audiences }: Asking, config: Configured): string[] {
  const { kind, scopeCeiling, metadata } = client;
  if (kind === "admin") return scopeCeiling ?? ["all"];
  if (typeof metadata.scope === "string") return splitScope(metadata.scope);
  const { oauth2DynamicScopes } = config;
  return areForMcp(audiences, config) ? harmless(oauth2DynamicScopes) : oauth2DynamicScopes;
}

/**
 * What scopes cover, in single scopes, without deletion and without entering workspaces: a model that acts for a user gets
 * these only if the user allowed them by name.
 */
const harmless = (scopes: readonly string[]): string[] =>
  scopeCatalog.filter((scope) => !/(^all|:\*|:delete|:ssh)$/.test(scope) && coversAll(scopes, [scope]));

/** A scope in words. */
export interface DescribedScope {
  name: string;
  description: string;
}

/** Describes each scope to the user who is asked to allow it. The roles of the user limit it further. */
const sentences: Readonly<Record<string, string>> = {
  all: "Do everything that you can do: full access to your account.",
  application_connect: "Open the applications in your workspaces.",

  "api_key:*": "See, create, rename, and revoke your API tokens and sessions.",
  "api_key:create": "Create API tokens in your name.",
  "api_key:delete": "Revoke your API tokens and sessions.",
  "api_key:read": "See the list of your API tokens and sessions, without their secrets.",
  "api_key:update": "Rename your API tokens.",

  "audit_log:*": "See who did what in the deployment.",
  "audit_log:read": "See who did what in the deployment.",
  "connection_log:*": "See who connected to which workspace.",
  "connection_log:read": "See who connected to which workspace.",

  "deployment_config:*": "See and change the settings of the deployment.",
  "deployment_config:read": "See the settings of the deployment.",
  "deployment_config:update": "Change the settings of the deployment.",

  "external_auth_link:*": "Use, refresh, and remove your links to Git providers.",
  "external_auth_link:delete": "Remove your links to Git providers.",
  "external_auth_link:read": "Use your links to Git providers, including their access tokens.",
  "external_auth_link:update": "Refresh your links to Git providers.",

  "file:*": "Upload and download the files of templates.",
  "file:create": "Upload files for templates.",
  "file:read": "Download the files of templates.",

  "group:*": "See, create, change, and delete groups, their members, and their AI budgets.",
  "group:create": "Create groups.",
  "group:delete": "Delete groups and their AI budgets.",
  "group:read": "See groups, their members, and their AI budgets.",
  "group:update": "Change groups, their members, and their AI budgets.",

  "inbox_notification:*": "Read your notifications and mark them as read.",
  "inbox_notification:read": "Read your notifications.",
  "inbox_notification:update": "Mark your notifications as read.",

  "license:*": "See, add, and remove the licenses of the deployment.",
  "license:create": "Add licenses to the deployment.",
  "license:delete": "Remove licenses of the deployment.",
  "license:read": "See the licenses of the deployment.",

  "notification_preference:*": "See and change which notifications you get.",
  "notification_preference:read": "See which notifications you get.",
  "notification_preference:update": "Change which notifications you get.",
  "notification_template:*": "Send notifications, and see and change how each kind is delivered.",
  "notification_template:read": "See the kinds of notifications.",
  "notification_template:update": "Change how each kind of notification is delivered.",

  "oauth2_app:*": "See, add, change, and remove applications that sign in with Steward, and their secrets.",
  "oauth2_app:create": "Add applications that sign in with Steward, and create their secrets.",
  "oauth2_app:delete": "Remove applications that sign in with Steward, and their secrets.",
  "oauth2_app:read": "See the applications that sign in with Steward.",
  "oauth2_app:update": "Change applications that sign in with Steward.",
  "oauth2_grant:*": "See which applications have access to your account, and end it.",
  "oauth2_grant:delete": "End the access of applications to your account.",
  "oauth2_grant:read": "See which applications have access to your account.",

  "organization:*": "See, create, change, and delete organizations.",
  "organization:create": "Create organizations.",
  "organization:delete": "Delete organizations.",
  "organization:read": "See your organizations.",
  "organization:update": "Change organizations.",
  "organization_member:*": "See, add, and remove the members of organizations, and change their roles.",
  "organization_member:create": "Add members to organizations.",
  "organization_member:delete": "Remove members of organizations.",
  "organization_member:read": "See the members of your organizations and their roles.",
  "organization_member:update": "Change memberships in organizations.",

  "provisioner_daemon:*": "See and register the daemons that build workspaces.",
  "provisioner_daemon:create": "Register daemons that build workspaces.",
  "provisioner_daemon:read": "See the daemons that build workspaces.",
  "provisioner_job:*": "See and cancel the jobs that build workspaces.",
  "provisioner_job:read": "See the jobs that build workspaces, and their logs.",
  "provisioner_job:update": "Cancel jobs that build workspaces.",
  "provisioner_key:*": "See, create, and delete the keys of the daemons that build workspaces.",
  "provisioner_key:create": "Create keys for daemons that build workspaces.",
  "provisioner_key:delete": "Delete keys of daemons that build workspaces.",
  "provisioner_key:read": "See the keys of the daemons that build workspaces, without their secrets.",

  "scim_key:*": "See, create, and delete the keys that identity providers manage users with.",
  "scim_key:create": "Create keys that identity providers manage users with.",
  "scim_key:delete": "Delete keys that identity providers manage users with.",
  "scim_key:read": "See the keys that identity providers manage users with, without their secrets.",

  "task:*": "See, create, change, and delete your AI tasks.",
  "task:create": "Start AI tasks in your name.",
  "task:delete": "Delete your AI tasks.",
  "task:read": "See your AI tasks, with their prompts and logs.",
  "task:update": "Change your AI tasks, and send them input.",

  "template:*": "See, use, create, change, and delete workspace templates.",
  "template:create": "Create workspace templates.",
  "template:delete": "Delete workspace templates.",
  "template:read": "See the workspace templates that you can use.",
  "template:update": "Change workspace templates.",
  "template:use": "Use templates for new workspaces.",
  "template:view_insights": "See how workspace templates are used.",

  "user:*": "See, create, change, and delete users, and see and change your profile.",
  "user:create": "Create users.",
  "user:delete": "Delete users.",
  "user:read": "See your profile, and the users that you can see.",
  "user:read_personal": "See your personal settings.",
  "user:update": "Change users, and suspend them.",
  "user:update_personal": "Change your profile and personal settings.",

  "user_secret:*": "See the names of your secrets, and create, change, and delete them.",
  "user_secret:create": "Create secrets for your workspaces.",
  "user_secret:delete": "Delete your secrets.",
  "user_secret:read": "See the names of your secrets, without their values.",
  "user_secret:update": "Change your secrets.",

  "workspace:*": "See, create, change, start, stop, share, delete, and enter your workspaces.",
  "workspace:application_connect": "Open the applications in your workspaces.",
  "workspace:create": "Create workspaces in your name.",
  "workspace:delete": "Delete your workspaces.",
  "workspace:read": "See your workspaces.",
  "workspace:share": "Share your workspaces with others.",
  "workspace:ssh": "Enter your workspaces through SSH and terminals.",
  "workspace:start": "Start your workspaces.",
  "workspace:stop": "Stop your workspaces.",
  "workspace:update": "Change your workspaces.",

  "workspace_proxy:*": "See, add, change, and remove workspace proxies.",
  "workspace_proxy:create": "Add workspace proxies.",
  "workspace_proxy:delete": "Remove workspace proxies.",
  "workspace_proxy:read": "See the workspace proxies.",
  "workspace_proxy:update": "Change workspace proxies.",
};

/** A scope in words; its name for one that is not in the catalog any more. */
const sentenceOf = (scope: string): string => sentences[scope] ?? `Use the permission ${scope}.`;

/** Describes scopes to the user, without those that others of them include. Deletions that are named are always told. */
export function describe(scopes: readonly string[]): DescribedScope[] {
  const isIncluded = (scope: string) =>
    !scope.endsWith(":delete") && scopes.some((other) => other !== scope && coversAll([other], [scope]));
  return scopes.filter((scope) => !isIncluded(scope)).map((scope) => ({ name: scope, description: sentenceOf(scope) }));
}

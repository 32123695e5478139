import { grants, isPermission, type Permission, type Resource } from "./policy.js";

/** Resources that have scopes. */
const scopedResources = [
  "api_key",
  "audit_log",
  "connection_log",
  "deployment_config",
  "event_endpoint",
  "external_auth_link",
  "file",
  "group",
  "inbox_notification",
  "license",
  "notification_preference",
  "notification_template",
  "oauth2_app",
  "oauth2_grant",
  "organization",
  "organization_member",
  "provisioner_daemon",
  "provisioner_job",
  "provisioner_key",
  "scim_key",
  "task",
  "template",
  "user",
  "user_secret",
  "workspace",
  "workspace_proxy",
] as const satisfies Resource[];
type ScopedResource = (typeof scopedResources)[number];

/** The resource whose scopes cover a resource without scopes of its own; `all` if only the scope `all` does. */
const follows: Record<Exclude<Resource, ScopedResource>, ScopedResource | "all"> = {
  assign_org_role: "organization_member",
  assign_role: "user",
  group_ai_budget: "group",
  group_member: "group",
  invitation: "user",
  notification_message: "notification_template",
  oauth2_app_secret: "oauth2_app",
  prebuilt_workspace: "workspace",
  sign_in_provider: "all",
  system: "all",
  workspace_agent: "workspace",
  workspace_transfer: "workspace",
};

const isScoped = (resource: Resource): resource is ScopedResource =>
  (scopedResources as readonly Resource[]).includes(resource);

const resourceOf = (text: string) => text.slice(0, text.indexOf(":")) as Resource;

/** All scopes, in byte order. */
export const scopeCatalog: readonly string[] = [
  "all",
  "application_connect",
  ...scopedResources.map((resource) => `${resource}:*`),
  ...[...grants.keys()].filter((permission) => isScoped(resourceOf(permission))),
].sort();

export const isScope = (text: string): boolean => scopeCatalog.includes(text);

/** A need that the scopes of a credential must cover: a permission, or everything. */
export type Need = Permission | "all";

/** The scopes that cover a permission, from the widest to the narrowest. */
function scopesFor(permission: Permission): string[] {
  const resource = resourceOf(permission);
  const scoped = isScoped(resource) ? resource : follows[resource];
  if (scoped === "all") return ["all"];
  const exact = `${scoped}:${permission.slice(resource.length + 1)}`;
  return [
    "all",
    `${scoped}:*`,
    ...(exact === "workspace:application_connect" ? ["application_connect"] : []),
    ...(isPermission(exact) ? [exact] : []),
  ];
}

const sufficient = new Map<Need, string[]>([
  ...[...grants.keys()].map((permission) => [permission, scopesFor(permission)] as const),
  ["all", ["all"]],
]);

/** Whether scopes cover a permission, which the user of the credential must hold in addition. */
export function covers(scopes: readonly string[], need: Need): boolean {
  const covering = sufficient.get(need) ?? [];
  return scopes.some((scope) => covering.includes(scope));
}

/** The narrowest scopes that together cover all needs, in byte order. */
export function scopesOf(needs: readonly Need[]): string[] {
  const narrowest = [...new Set(needs.map((need) => sufficient.get(need)?.at(-1) ?? "all"))];
  const isImplied = (scope: string) => narrowest.some((other) => other !== scope && includes(other, scope));
  return narrowest.filter((scope) => !isImplied(scope)).sort();
}

/** The narrowest scopes that together cover the needs that `held` does not cover. */
export const missingScopes = (held: readonly string[], needs: readonly Need[]): string[] =>
  scopesOf(needs.filter((need) => !covers(held, need)));

/** Whether the scope `wide` covers everything that `narrow` covers. */
const includes = (wide: string, narrow: string) =>
  wide === "all" ||
  wide === narrow ||
  (narrow === "application_connect"
    ? covers([wide], "workspace:application_connect")
    : wide === `${resourceOf(narrow)}:*`) ||
  (wide === "application_connect" && narrow === "workspace:application_connect");

/** The requested scopes, limited to those that a credential with the scopes `held` can pass on. */
export const narrowScopes = (requested: readonly string[], held: readonly string[]): string[] => [
  ...new Set(
    requested.flatMap((scope) =>
      held.some((wide) => includes(wide, scope)) ? scope : held.filter((one) => includes(scope, one)),
    ),
  ),
];

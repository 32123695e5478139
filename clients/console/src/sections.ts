// The sections of the console: how the navigation names them, what one must be allowed to read, and their views.
import { type AnyComponent, h } from "preact";
import { lazy } from "preact-iso";
import type { Check } from "./api/allowed";

interface Section {
  path: string;
  label: string;
  check?: Check;
}

/** The parts of the navigation: the daily work, the administration, and, in the corner, the account of the caller. */
type Area = "work" | "administration" | "account";

interface Chapter {
  area: Area;
  title: string;
  sections: readonly Section[];
}

const reads = (resource: string, anyOrg = true): Check => ({ may: `${resource}:read`, ...(anyOrg && { anyOrg }) });

export const chapters: readonly Chapter[] = [
  {
    area: "work",
    title: "Work",
    sections: [
      { path: "/", label: "Overview" },
      { path: "/workspaces", label: "Workspaces" },
      { path: "/tasks", label: "Tasks" },
      { path: "/templates", label: "Templates" },
      { path: "/inbox", label: "Inbox" },
    ],
  },
  {
    area: "administration",
    title: "People",
    sections: [
      { path: "/users", label: "Users", check: reads("user", false) },
      { path: "/invitations", label: "Invitations", check: { may: "invitation:read" } },
      { path: "/organizations", label: "Organizations", check: reads("organization") },
      { path: "/groups", label: "Groups", check: reads("group") },
      { path: "/applications", label: "Applications", check: reads("oauth2_app_secret", false) },
      { path: "/grants", label: "Grants" },
      { path: "/scim-keys", label: "SCIM keys", check: reads("scim_key", false) },
      { path: "/sign-in-providers", label: "Sign-in providers", check: { may: "sign_in_provider:read" } },
      { path: "/second-factors", label: "Second factors", check: reads("deployment_config", false) },
    ],
  },
  {
    area: "administration",
    title: "Infrastructure",
    sections: [
      { path: "/provisioners", label: "Provisioners", check: reads("provisioner_daemon") },
      { path: "/jobs", label: "Jobs", check: reads("provisioner_job") },
      { path: "/proxies", label: "Workspace proxies", check: { may: "workspace_proxy:update" } },
    ],
  },
  {
    area: "administration",
    title: "Deployment",
    sections: [
      { path: "/audit", label: "Audit log", check: reads("audit_log") },
      { path: "/event-endpoints", label: "Event endpoints", check: reads("event_endpoint") },
      { path: "/connections", label: "Connections", check: reads("connection_log") },
      { path: "/deliveries", label: "Deliveries", check: reads("notification_message", false) },
      { path: "/notification-settings", label: "Notifications", check: reads("deployment_config", false) },
      { path: "/language-models", label: "Language models", check: reads("deployment_config", false) },
      { path: "/appearance", label: "Appearance", check: { may: "deployment_config:update" } },
      { path: "/licenses", label: "Licenses", check: reads("license", false) },
      { path: "/health", label: "Health", check: reads("deployment_config", false) },
    ],
  },
  {
    area: "account",
    title: "Your account",
    sections: [
      { path: "/keys", label: "Sessions and keys" },
      { path: "/secrets", label: "Secrets" },
      { path: "/linked-accounts", label: "Linked accounts" },
      { path: "/preferences", label: "Preferences" },
    ],
  },
];

type View = () => Promise<AnyComponent>;

/** Views by the patterns of their paths. */
const views: Record<string, View> = {
  "/": async () => (await import("./views/overview")).Overview,
  "/workspaces": async () => (await import("./views/workspaces")).WorkspacesView,
  "/workspaces/:id": async () => (await import("./views/workspace")).WorkspaceView as AnyComponent,
  "/workspaces/:id/extend": async () => (await import("./views/extend")).ExtendView as AnyComponent,
  "/workspaces/:id/:build": async () => (await import("./views/workspace")).BuildView as AnyComponent,
  "/tasks": async () => (await import("./views/tasks")).TasksView,
  "/tasks/:id": async () => (await import("./views/task")).TaskView as AnyComponent,
  "/templates": async () => (await import("./views/templates")).TemplatesView,
  "/templates/:id": async () => (await import("./views/templates")).TemplateView as AnyComponent,
  "/inbox": async () => (await import("./views/inbox-view")).InboxView,
  "/users": async () => (await import("./views/users")).UsersView,
  "/users/:id": async () => (await import("./views/users")).UserView as AnyComponent,
  "/invitations": async () => (await import("./views/invitations")).InvitationsView,
  "/organizations": async () => (await import("./views/organizations")).OrganizationsView,
  "/organizations/:id": async () => (await import("./views/organizations")).OrganizationView as AnyComponent,
  "/groups": async () => (await import("./views/groups")).GroupsView,
  "/groups/:id": async () => (await import("./views/groups")).GroupView as AnyComponent,
  "/applications": async () => (await import("./views/applications")).ApplicationsView,
  "/applications/:id": async () => (await import("./views/applications")).ApplicationView as AnyComponent,
  "/grants": async () => (await import("./views/applications")).GrantsView,
  "/language-models": async () => (await import("./views/language-models")).LanguageModelsView,
  "/scim-keys": async () => (await import("./views/scim-keys")).ScimKeysView,
  "/sign-in-providers": async () => (await import("./views/sign-in-providers")).SignInProvidersView,
  "/sign-in-providers/:provider/claims": async () =>
    (await import("./views/provider-claims")).ProviderClaimsView as AnyComponent,
  "/second-factors": async () => (await import("./views/second-factors")).SecondFactorsView,
  "/provisioners": async () => (await import("./views/provisioners")).ProvisionersView,
  "/jobs": async () => (await import("./views/provisioners")).JobsView,
  "/jobs/:id": async () => (await import("./views/provisioners")).JobView as AnyComponent,
  "/proxies": async () => (await import("./views/proxies")).ProxiesView,
  "/audit": async () => (await import("./views/logs")).AuditView,
  "/audit/readers": async () => (await import("./views/audit-readers")).AuditReadersView,
  "/event-endpoints": async () => (await import("./views/event-endpoints")).EventEndpointsView,
  "/event-endpoints/:id": async () => (await import("./views/event-endpoints")).EventEndpointView as AnyComponent,
  "/connections": async () => (await import("./views/logs")).ConnectionsView,
  "/deliveries": async () => (await import("./views/deliveries")).DeliveriesView,
  "/notification-settings": async () => (await import("./views/notification-settings")).NotificationSettingsView,
  "/appearance": async () => (await import("./views/deployment")).AppearanceView,
  "/licenses": async () => (await import("./views/deployment")).LicensesView,
  "/health": async () => (await import("./views/health")).HealthView,
  "/keys": async () => (await import("./views/keys")).KeysView,
  "/secrets": async () => (await import("./views/secrets")).SecretsView,
  "/linked-accounts": async () => (await import("./views/linked-accounts")).LinkedAccountsView,
  "/preferences": async () => (await import("./views/preferences")).PreferencesView,
};

/** A view that is loaded when it is first opened, and that begins again for another object. */
function routeView(load: View): AnyComponent<{ params?: Record<string, string> }> {
  const Loaded = lazy(load) as AnyComponent<object>;
  return (props) => h(Loaded, { ...props, key: Object.values(props.params ?? {}).join("/") });
}

export const routes = Object.entries(views).map(([path, load]) => ({ path, component: routeView(load) }));

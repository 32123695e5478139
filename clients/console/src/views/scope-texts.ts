// Scopes as people read them: a name for each resource, and a sentence for each thing that a key may do with it.
import { wordsOf } from "../ui/text";

interface ResourceTexts {
  title: string;
  /** Its name within a sentence. */
  noun: string;
  /** The sentences that differ from the usual ones of their actions. */
  own?: Readonly<Record<string, string>>;
}

const usual: Readonly<Record<string, (noun: string) => string>> = {
  read: (noun) => `See ${noun}.`,
  create: (noun) => `Create ${noun}.`,
  update: (noun) => `Change ${noun}.`,
  delete: (noun) => `Delete ${noun}.`,
};

const resources: Readonly<Record<string, ResourceTexts>> = {
  workspace: {
    title: "Workspaces",
    noun: "workspaces",
    own: {
      start: "Start workspaces that are stopped.",
      stop: "Stop workspaces that run.",
      share: "Give other people access to workspaces.",
      ssh: "Open terminals in workspaces, and copy files.",
      application_connect: "Open the applications that run in workspaces.",
    },
  },
  task: {
    title: "Tasks",
    noun: "tasks and their conversations",
    own: { create: "Give agents work.", update: "Talk to agents.", delete: "Delete tasks with their workspaces." },
  },
  template: {
    title: "Templates",
    noun: "templates",
    own: {
      use: "Create workspaces from templates.",
      update: "Change templates, and add versions.",
      view_insights: "See how much templates are used.",
    },
  },
  user: {
    title: "People",
    noun: "people",
    own: {
      read: "See who has an account.",
      create: "Create accounts.",
      update: "Change accounts, suspend them, and reset passwords.",
      delete: "Delete accounts.",
      read_personal: "See personal settings, such as quiet hours.",
      update_personal: "Change personal settings, such as quiet hours.",
    },
  },
  user_secret: {
    title: "Secrets",
    noun: "the names of secrets, but not their values",
    own: { create: "Add secrets.", update: "Replace secrets.", delete: "Delete secrets." },
  },
  group: {
    title: "Groups",
    noun: "groups",
    own: { read: "See groups and who is in them.", update: "Change groups and who is in them." },
  },
  organization: { title: "Organizations", noun: "organizations" },
  organization_member: {
    title: "Members of organizations",
    noun: "who is in organizations",
    own: {
      create: "Add people to organizations.",
      update: "Change the roles of members.",
      delete: "Remove people from organizations.",
    },
  },
  api_key: {
    title: "Keys and sessions",
    noun: "keys and sessions, but not their secrets",
    own: { create: "Create keys.", update: "Rename keys.", delete: "Revoke keys and end sessions." },
  },
  oauth2_app: { title: "Applications", noun: "applications that act for people" },
  oauth2_grant: {
    title: "Access of applications",
    noun: "which applications have access",
    own: { delete: "Take access away from applications." },
  },
  external_auth_link: {
    title: "Linked accounts",
    noun: "linked accounts, such as those at GitHub",
    own: {
      read: "Use linked accounts, such as to clone repositories.",
      update: "Link accounts.",
      delete: "Remove links.",
    },
  },
  inbox_notification: {
    title: "Inbox",
    noun: "the inbox",
    own: { read: "Read the inbox.", update: "Mark notifications as read." },
  },
  notification_preference: { title: "Notification preferences", noun: "which notifications are on" },
  notification_template: { title: "Notifications", noun: "notifications and their deliveries" },
  audit_log: { title: "Audit log", noun: "the audit log", own: { read: "Read who changed what, and when." } },
  event_endpoint: {
    title: "Event endpoints",
    noun: "programs that receive events",
    own: { update: "Change and test programs that receive events." },
  },
  connection_log: {
    title: "Connection log",
    noun: "the connection log",
    own: { read: "Read who connected to which workspace." },
  },
  deployment_config: { title: "Settings of the deployment", noun: "settings of the deployment" },
  license: { title: "Licenses", noun: "licenses", own: { create: "Add licenses." } },
  scim_key: { title: "SCIM keys", noun: "keys of identity providers" },
  provisioner_daemon: {
    title: "Provisioner daemons",
    noun: "the daemons that build workspaces",
    own: { create: "Connect daemons that build workspaces." },
  },
  provisioner_job: {
    title: "Jobs",
    noun: "builds and other jobs, with their logs",
    own: { update: "Cancel builds and other jobs." },
  },
  provisioner_key: { title: "Provisioner keys", noun: "keys of daemons" },
  workspace_proxy: { title: "Workspace proxies", noun: "workspace proxies" },
  file: { title: "Files", noun: "files", own: { read: "Download files.", create: "Upload files." } },
};

const partsOf = (scope: string) => {
  const [resource = "", action = ""] = scope.split(":");
  return { resource, action };
};

/** The sentence about a scope. */
export function sentenceOf(scope: string): string {
  if (scope === "application_connect") return "Open the applications that run in workspaces.";
  const { resource, action } = partsOf(scope);
  const texts = resources[resource];
  return texts?.own?.[action] ?? usual[action]?.(texts?.noun ?? wordsOf(resource)) ?? scope;
}

export interface Branch {
  resource: string;
  title: string;
  /** The scope of all that can be done with it. */
  whole: string;
  scopes: readonly string[];
}

const order = Object.keys(resources);

/** The scopes by their resources, first those that are needed most. */
export function branchesOf(scopes: readonly string[]): Branch[] {
  const names = [...new Set(scopes.filter((scope) => scope.includes(":")).map((scope) => partsOf(scope).resource))];
  const rankOf = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .map((resource) => ({
      resource,
      title: resources[resource]?.title ?? wordsOf(resource),
      whole: `${resource}:*`,
      scopes: scopes.filter((scope) => scope.startsWith(`${resource}:`) && !scope.endsWith("*")).toSorted(byAction),
    }));
}

const actions = ["read", "create", "update", "delete"];

/** Reading comes first, then changes, then special actions. */
const byAction = (one: string, other: string): number => {
  const [a, b] = [actions.indexOf(partsOf(one).action), actions.indexOf(partsOf(other).action)];
  return (a < 0 ? actions.length : a) - (b < 0 ? actions.length : b);
};

const within = (names: readonly string[]) => (scope: string) => names.includes(partsOf(scope).resource);

export interface Preset {
  name: string;
  title: string;
  sentence: string;
  /** Which scopes it has; undefined if people choose them. */
  has?: (scope: string) => boolean;
}

export const presets: readonly Preset[] = [
  {
    name: "all",
    title: "Everything",
    sentence: "All that its owner may do, now and later.",
    has: (scope) => scope === "all",
  },
  {
    name: "read",
    title: "Read only",
    sentence: "See everything that its owner may see, and change nothing.",
    has: (scope) => /:(read|read_personal|view_insights)$/.test(scope),
  },
  {
    name: "work",
    title: "Workspaces and tasks",
    sentence: "Create, start, and enter workspaces, and give agents work.",
    has: (scope) => (within(["workspace", "task"])(scope) ? scope.endsWith("*") : /^template:(read|use)$/.test(scope)),
  },
  {
    name: "people",
    title: "People and groups",
    sentence: "Manage accounts, groups, and who is in which organization.",
    has: (scope) =>
      within(["user", "group", "organization_member"])(scope) ? scope.endsWith("*") : scope === "organization:read",
  },
  { name: "own", title: "Only what I choose", sentence: "Choose each thing below." },
];

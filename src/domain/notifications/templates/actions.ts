/** Liquid of the link to the object that a notification is about. `data.id` is the first of its targets. */
const linkTo = (label: string, path: string): string =>
  `[{"label": "${label}", "url": "{{ app.base_url }}/${path}/{{ data.id }}"}]`;

export const viewWorkspace = linkTo("View workspace", "workspaces");
/** The page with buttons that keep a workspace running. */
export const keepRunning = `[{"label": "Keep it running", "url": "{{ app.base_url }}/workspaces/{{ data.id }}/extend"}]`;
export const viewTemplate = linkTo("View template", "templates");
export const viewTask = linkTo("View task", "tasks");
export const viewUser = linkTo("View account", "users");
/** The page at which a passcode is used. */
export const choosePassword = `[{"label": "Choose a new password", "url": "{{ app.base_url }}/login/reset-password"}]`;
export const viewKeys = `[{"label": "View sessions and keys", "url": "{{ app.base_url }}/keys"}]`;
/** The page of the second factors of the own account. */
export const viewFactors = `[{"label": "View your second factor", "url": "{{ app.base_url }}/account/second-factor"}]`;
export const viewScimKeys = `[{"label": "View SCIM keys", "url": "{{ app.base_url }}/scim-keys"}]`;
export const viewProviders = `[{"label": "View sign-in providers", "url": "{{ app.base_url }}/sign-in-providers"}]`;
/** The time in the label `ends_at`, for people. */
export const endsAt = `{{ labels.ends_at | date: "%Y-%m-%d at %H:%M UTC" }}`;
export const noActions = "[]";

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
export const noActions = "[]";

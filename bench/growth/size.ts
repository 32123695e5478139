/** Numbers of rows in a database. Everything that a size does not name is the same in all of them. */
export interface Size {
  users: number;
  groups: number;
  /** Members of the largest group, and of each of the next five. */
  largestGroup: number;
  largeGroup: number;
  /** Notifications of all inboxes, and the unread ones of the fullest. */
  inbox: number;
  unread: number;
  auditEvents: number;
  connectionLogs: number;
  apiKeys: number;
  secrets: number;
  workspaces: number;
  templates: number;
  /** At most the number of workspaces. */
  tasks: number;
  aiUsages: number;
}

export const sizes = {
  small: {
    users: 1_000,
    groups: 50,
    largestGroup: 500,
    largeGroup: 50,
    inbox: 10_000,
    unread: 200,
    auditEvents: 10_000,
    connectionLogs: 10_000,
    apiKeys: 1_000,
    secrets: 500,
    workspaces: 2_000,
    templates: 20,
    tasks: 100,
    aiUsages: 2_000,
  },
  large: {
    users: 100_000,
    groups: 2_000,
    largestGroup: 50_000,
    largeGroup: 3_000,
    inbox: 1_000_000,
    unread: 20_000,
    auditEvents: 1_000_000,
    connectionLogs: 200_000,
    apiKeys: 100_000,
    secrets: 50_000,
    workspaces: 200_000,
    templates: 2_000,
    tasks: 10_000,
    aiUsages: 200_000,
  },
} satisfies Record<string, Size>;

export type SizeName = keyof typeof sizes;

/** Numbers of rows in a database. Everything that a size does not name is the same in all of them. */
export type Size = ReturnType<typeof sizeOf>;

/** The rows that so many users have. */
export const sizeOf = (users: number) => ({
  users,
  groups: Math.min(users / 20, 2_000),
  /** Members of the largest group, and of each of the next five. */
  largestGroup: users / 2,
  largeGroup: Math.round(users / 33),
  /** Notifications of all inboxes, and the unread ones of the fullest. */
  inbox: users * 10,
  unread: users / 5,
  auditEvents: users * 10,
  connectionLogs: Math.min(users * 10, 200_000),
  apiKeys: users,
  secrets: users / 2,
  workspaces: users * 2,
  templates: users / 50,
  /** At most the number of workspaces. */
  tasks: users / 10,
  aiUsages: users * 2,
});

/** Users of the databases that are compared. */
export const sizes = { small: 1_000, large: 100_000 };

/** Users of the large database of a quick run. */
export const quickLarge = 10_000;

export type SizeName = keyof typeof sizes;

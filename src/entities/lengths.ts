// Maximum lengths of texts in characters, which columns and the values of inputs have. Those of one area are beside its table.

/** Names in URLs: of users, organizations, templates, workspaces, tasks, agents, apps, and proxies. */
export const longestName = 32;

/** Names that people read. */
export const longestLabel = 64;

/** The real name of a user. */
export const longestRealName = 128;

/** Descriptions, and reasons that people write. */
export const longestDescription = 1000;

/** Email addresses, which are counted in bytes, as URLs are. */
export const longestEmail = 254;
export const longestUrl = 2048;

/** Paths and commands on the machine of a workspace. */
export const longestPath = 4096;

/** Names of hosts. */
export const longestHostname = 255;

/** Versions of programs, and of the interfaces that they use. */
export const longestVersion = 64;
export const longestApiVersion = 16;

/** The embedded Postgres cannot run. The message is meant for operators. */
export class ClusterError extends Error {
  override readonly name: string = "ClusterError";
}

/** Another server uses the directory. */
export class FolderInUse extends ClusterError {}

/** Advice that always applies. */
export const useOwnDatabase = "Set STEWARD_DATABASE_URL to a Postgres 14 or newer instead.";

/** Wraps a failed file or process operation, and explains causes that an operator can fix. */
export function explain(error: unknown, subject: string): ClusterError {
  return new ClusterError(`${subject}: ${causes[codeOf(error)] ?? String(error)}`, { cause: error });
}

/** Returns the code of a system error, such as `ENOENT`; empty for other errors. */
export const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

const causes: Record<string, string> = {
  EACCES: "permission denied. It may belong to another user who started Steward here before.",
  EPERM: `this process cannot switch to another user, and Postgres refuses to run as root. ${useOwnDatabase}`,
  ENOSPC: "no space left on the disk.",
  EDQUOT: "the disk quota is exceeded.",
  EROFS: "the file system is read-only.",
};

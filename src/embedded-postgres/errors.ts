/** A reason why the embedded Postgres cannot run, told to the person who starts Steward. */
export class ClusterError extends Error {
  override readonly name: string = "ClusterError";
}

/** Another server lives on the folder. */
export class FolderInUse extends ClusterError {}

/** What an operator can always do instead. */
export const useOwnDatabase = "Set STEWARD_DATABASE_URL to a Postgres 14 or newer instead.";

/** Names the cause of a failed file or process operation if it is one that a person can mend. */
export function explain(error: unknown, subject: string): ClusterError {
  return new ClusterError(`${subject}: ${causes[codeOf(error)] ?? String(error)}`, { cause: error });
}

/** `ENOENT` and the like; empty for an error that is none of the system's. */
export const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");

const causes: Record<string, string> = {
  EACCES: "permission denied. It may belong to the user who started Steward here first.",
  EPERM: `this process may not switch to another user, and Postgres refuses to run as root. ${useOwnDatabase}`,
  ENOSPC: "no space left on the disk.",
  EDQUOT: "the disk quota is used up.",
  EROFS: "the file system is read-only.",
};

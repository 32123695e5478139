/** A command of the command line. */
export interface Command {
  usage: string;
  /** One sentence for `--help`. */
  summary: string;
  /** Returns the output. `words` are the arguments after the command's name. */
  run(words: string[]): Promise<string>;
}

/** The command line is invalid: an unknown command, or a missing or invalid option. */
export class UsageError extends Error {}

/** The result of a check that failed. Its message goes to standard output; the exit status is 1. */
export class CheckFailed extends Error {}

/** Throws a `UsageError` that lists the options in `names` that are missing. */
export function requireOptions(values: Record<string, unknown>, ...names: string[]): void {
  const missing = names.filter((name) => !values[name]);
  if (missing.length > 0)
    throw new UsageError(`Missing required options: ${missing.map((name) => `--${name}`).join(", ")}.`);
}

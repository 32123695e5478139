/** Something the command line does. */
export interface Command {
  usage: string;
  does: string;
  /** Gives what to print. `words` are those after the command's name. */
  run(words: string[]): Promise<string>;
}

/** A mistake of the person at the keyboard. */
export class UsageError extends Error {}

/** An answer as any other, but a bad one: the exit status says so. */
export class BadNews extends Error {}

/** Throws unless all these options are given. */
export function requireOptions(values: Record<string, unknown>, ...names: string[]): void {
  const missing = names.filter((name) => !values[name]);
  if (missing.length > 0) throw new UsageError(`Missing: ${missing.map((name) => `--${name}`).join(", ")}.`);
}

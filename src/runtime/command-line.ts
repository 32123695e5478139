import { existsSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { table, UsageError, wrapped } from "./manual.js";
import { programFile } from "./program-files.js";

export { UsageError };

/** A command of the command line. */
export interface Command {
  usage: string;
  /** One sentence for `--help`. */
  summary: string;
  /** The options with their descriptions, for the command's own `--help`. */
  options?: ReadonlyArray<readonly [option: string, text: string]>;
  /** Returns the output. `words` are the arguments after the command's name. */
  run(words: string[]): Promise<string>;
}

/** How the command line is called: in a clone, or as the program of an installed package, which has no sources. */
export const steward = existsSync(programFile("../src")) ? "npm run steward --" : "steward";

/** Whether these words ask for help. */
export const asksForHelp = (words: readonly string[]): boolean => words.includes("--help") || words.includes("-h");

/** The result of a check that failed. Its message goes to standard output; the exit status is 1. */
export class CheckFailed extends Error {}

/** Throws a `UsageError` that lists the options in `names` that are missing. */
export function requireOptions(values: Record<string, unknown>, ...names: string[]): void {
  const missing = names.filter((name) => !values[name]);
  if (missing.length > 0)
    throw new UsageError(`Missing required options: ${missing.map((name) => `--${name}`).join(", ")}.`);
}

/** Parses the arguments of a command. Throws a `UsageError` for unknown and malformed ones. */
export function parsed<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code?.startsWith("ERR_PARSE_ARGS") ? new UsageError(message) : error;
  }
}

/** The help of one command. */
export const helpOf = ({ usage, summary, options = [] }: Command): string =>
  [
    ...wrapped(`Usage: ${steward} ${usage}`),
    "",
    ...wrapped(summary),
    ...(options.length > 0 ? ["", "Options", table(options)] : []),
  ].join("\n");

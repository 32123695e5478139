import { existsSync } from "node:fs";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { table, UsageError, wrapText } from "./manual.js";
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
export function parseWords<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code?.startsWith("ERR_PARSE_ARGS") ? faultIn(message) : error;
  }
}

/** A command has no such option. */
export class UnknownOption extends UsageError {
  constructor(
    readonly option: string,
    suggestion = "",
  ) {
    super(`Unknown option "${option}".${suggestion}`);
  }
}

/** The fault of arguments, without the advice of Node.js, which does not fit here. */
function faultIn(message: string): UsageError {
  const option = /'(-[^' ]*)/.exec(message)?.[1] ?? "";
  return message.startsWith("Unknown option") ? new UnknownOption(option) : new UsageError(valueFault(option, message));
}

function valueFault(option: string, message: string): string {
  if (message.endsWith("argument missing")) return `${option} needs a value.`;
  if (message.includes("ambiguous"))
    return `${option} needs a value. One that begins with a dash follows a sign: ${option}=-value.`;
  if (message.includes("does not take an argument")) return `${option} takes no value.`;
  return message;
}

/** The help of one command. */
export const helpOf = ({ usage, summary, options = [] }: Command): string =>
  [
    ...wrapText(`Usage: ${steward} ${usage}`),
    "",
    ...wrapText(summary),
    ...(options.length > 0 ? ["", "Options", table(options)] : []),
  ].join("\n");

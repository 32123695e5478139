// The form of the commands of users: their arguments and options are declared, and help and parsing follow from that.
import { type Command, helpOf, parseWords, UnknownOption, UsageError } from "../../src/runtime/command-line.js";
import { closest } from "./closest.js";
import type { Api } from "./api.js";
import { ApiFailure, noSuch } from "./failures.js";
import type { Output } from "./output.js";

interface Option {
  kind: "flag" | "text" | "texts";
  /** The placeholder of its value in help. */
  value?: string;
  meaning: string;
}

/** An option without a value. */
export const flag = (meaning: string) => ({ kind: "flag", meaning }) as const;
/** An option with a value. */
export const text = (value: string, meaning: string) => ({ kind: "text", value, meaning }) as const;
/** An option that can be repeated, each time with a value. */
export const texts = (value: string, meaning: string) => ({ kind: "texts", value, meaning }) as const;

type Options = Readonly<Record<string, Option>>;

type Values<Declared extends Options> = {
  [Name in keyof Declared]: { flag: boolean; text: string | undefined; texts: string[] }[Declared[Name]["kind"]];
};

/** The values with which a command runs. */
export interface Given<Declared extends Options> {
  words: string[];
  options: Values<Declared>;
  output: Output;
  /** The server of `--server`, the environment, or the current login. Throws if the user is not signed in. */
  api: () => Promise<Api>;
  /** The value of `--server`. */
  server: string | undefined;
  /** Whether tokens may be sent to another machine without encryption. */
  isHttpAllowed: boolean;
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal;
}

interface Declaration<Declared extends Options> {
  /** The command with its arguments, such as `workspaces start NAME`. */
  usage: string;
  summary: string;
  /** The least and greatest number of arguments. Default: none. */
  takes?: readonly [least: number, most: number];
  options?: Declared;
  /** It runs until it is interrupted, which is no failure. */
  isEndless?: boolean;
  run: (given: Given<Declared>) => Promise<void>;
}

/** A command with its declaration. */
export interface UserCommand extends Omit<Command, "run"> {
  isEndless: boolean;
  /** Parses the arguments after the command's name. Throws a `UsageError`. */
  parse: (words: string[]) => Parsed;
}

interface Parsed {
  isJson: boolean;
  columns: readonly string[] | undefined;
  server: string | undefined;
  isHttpAllowed: boolean;
  run: (given: Pick<Given<Options>, "output" | "api" | "signal">) => Promise<void>;
}

const common = {
  json: flag("Print JSON instead of a table."),
  columns: text("A,B", "Of a table, only these columns, in this order."),
  server: text("URL", "The server. Default: STEWARD_URL, or the server of the last login."),
  "allow-http": flag("Send tokens to another machine without encryption."),
} as const;

export function command<Declared extends Options = Options>({
  usage,
  summary,
  takes: [least, most] = [0, 0],
  options: own,
  isEndless = false,
  run,
}: Declaration<Declared>): UserCommand {
  const declared: Options = { ...own, ...common };
  const options = Object.entries(declared).map(
    ([name, { value, meaning }]) => [`--${name}${value ? ` ${value}` : ""}`, meaning] as const,
  );
  return {
    usage,
    summary,
    options,
    isEndless,
    parse(words) {
      const config = Object.entries(declared).map(([name, { kind }]) => {
        const type = kind === "flag" ? ("boolean" as const) : ("string" as const);
        return [name, { type, multiple: kind === "texts" }] as const;
      });
      const { values, positionals } = suggesting(Object.keys(declared), () =>
        parseWords({ args: words, options: Object.fromEntries(config), allowPositionals: true }),
      );
      if (positionals.length < least || positionals.length > most) throw new UsageError(countFault(least, most));
      const empty = { flag: false, text: undefined, texts: [] };
      const complete = Object.entries(declared).map(([name, { kind }]) => [name, values[name] ?? empty[kind]]);
      const server = values.server as string | undefined;
      const isHttpAllowed = values["allow-http"] === true;
      const given = Object.fromEntries(complete) as Values<Declared>;
      return {
        isJson: values.json === true,
        columns: (values.columns as string | undefined)?.split(",").map((name) => name.trim()),
        server,
        isHttpAllowed,
        run: (rest) =>
          run({ ...rest, words: positionals, options: given, server, isHttpAllowed }).catch((error: unknown) => {
            throw nameMissing(usage, positionals, error);
          }),
      };
    },
  };
}

/** Names the option that was probably meant, if there is none of the name. */
function suggesting<Result>(options: readonly string[], parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    const meant = error instanceof UnknownOption && closest(error.option.replace(/^--/, ""), options);
    throw meant ? new UnknownOption(error.option, ` Did you mean "--${meant}"?`) : error;
  }
}

/** The kinds of objects that commands name, by the first word of the command. */
const kinds = new Map(
  ["workspace", "task", "template", "user", "group", "token", "secret"].map((kind) => [`${kind}s`, kind]),
);

/** Commands whose argument is no object that exists. */
const makers = new Set(["create", "invite", "set", "init", "push"]);

/** Says what was not found, if only one object was named. */
function nameMissing(usage: string, [reference, ...more]: readonly string[], error: unknown): unknown {
  if (!(error instanceof ApiFailure) || error.code !== "NOT_FOUND" || reference === undefined || more.length > 0)
    return error;
  const [group = "", verb = ""] = usage.split(" ");
  const kind = makers.has(verb) ? undefined : kinds.get(group);
  return kind === undefined ? new ApiFailure(`${reference}: ${error.message}`, error.details) : noSuch(kind, reference);
}

const countArguments = (count: number) => `${count} argument${count === 1 ? "" : "s"}`;

const countFault = (least: number, most: number) => {
  if (most === 0) return "This command takes no arguments.";
  if (least === most) return `This command takes ${countArguments(least)}.`;
  return most === Infinity
    ? `This command takes at least ${countArguments(least)}.`
    : `This command takes ${least} to ${countArguments(most)}.`;
};

export { helpOf, UsageError };

/** The option of the number of rows of a list, which `limitOf` reads. */
export const limit = text("N", "At most so many, up to 1000. Default: 100.");

/** Reads the number of rows of a list. */
export function limitOf(value: string | undefined): number {
  if (value === undefined) return 100;
  if (!/^\d{1,4}$/.test(value) || Number(value) < 1 || Number(value) > 1000)
    throw new UsageError("--limit must be a number from 1 to 1000.");
  return Number(value);
}

/** Reads the value of an option that is one of some values of the API, in any letter case. */
export function choiceOf<Choice extends string>(
  name: string,
  value: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (value === undefined) return undefined;
  const found = choices.find((choice) => choice.toLowerCase() === value.toLowerCase());
  if (found) return found;
  throw new UsageError(`--${name} must be one of: ${choices.map((choice) => choice.toLowerCase()).join(", ")}.`);
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Whether a text is the ID of an object, and not its name. */
export const isId = (value: string): boolean => uuid.test(value);

/** An object of a user, by its name: `name`, which is the caller's, or `owner/name`. */
export function ownedName(reference: string): { owner: string; name: string } {
  const [name = "", owner = "me", ...rest] = reference.split("/").toReversed();
  if (name === "" || owner === "" || rest.length > 0)
    throw new UsageError(`"${reference}" must be a name, owner/name, or an ID.`);
  return { owner, name };
}

// The form of the settings of the programs: environment variables, described in one table for each program.
import { readFileSync } from "node:fs";
import { withoutEdges } from "../../src/runtime/pasted.js";
import { table as inColumns, UsageError } from "../../src/runtime/manual.js";
import { print } from "../../src/runtime/terminal.js";

/** A setting: its environment variable, format, default, and description. */
export interface Setting<Value> {
  readonly name: string;
  /** Returns the parsed value, or undefined if the text is invalid. */
  read(text: string): Value | undefined;
  /** Description of valid values, as in "must be <rule>". */
  readonly rule: string;
  /** Without a default, the setting is required. */
  readonly defaultText?: string;
  readonly meaning: string;
  /** Never printed; can be read from a file, whose path is in `<NAME>_FILE`. */
  readonly isSecret?: boolean;
}

export type Table = Readonly<Record<string, Setting<unknown>>>;

export type ValuesOf<Settings extends Table> = {
  readonly [Key in keyof Settings]: Settings[Key] extends Setting<infer Value> ? Value : never;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** The program cannot start. The message says why, and what to do. */
export class StartRefused extends Error {}

/** Reads and validates the settings, without white space around them. Throws a `StartRefused` that lists all faults. */
export function readSettings<Settings extends Table>(table: Settings, env: Environment): ValuesOf<Settings> {
  const faults: string[] = [];
  const values = Object.entries(table).map(([key, setting]) => [key, readSetting(setting, env, faults)]);
  if (faults.length > 0)
    throw new StartRefused(`Invalid settings:\n${faults.map((fault) => `  ${fault}`).join("\n")}\nFor help: --help`);
  return Object.fromEntries(values) as ValuesOf<Settings>;
}

function readSetting(setting: Setting<unknown>, env: Environment, faults: string[]): unknown {
  const { name, rule, defaultText, isSecret } = setting;
  const given = isSecret ? env[name] || textOfFile(`${name}_FILE`, env, faults) : env[name];
  const text = withoutEdges(given ?? "") || defaultText;
  if (text === undefined) {
    const isReported = faults.some((fault) => fault.startsWith(`${name}_FILE `));
    if (!isReported) faults.push(`${name} is required: ${setting.meaning}.`);
    return undefined;
  }
  const value = setting.read(text);
  if (value === undefined) faults.push(`${name} must be ${rule}.`);
  return value;
}

function textOfFile(name: string, env: Environment, faults: string[]): string | undefined {
  const path = env[name];
  if (!path) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    faults.push(`${name} names a file that cannot be read (${(error as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

/** Formats the settings for `--help`, within 80 columns. */
export const manual = (settings: Table): string =>
  inColumns(
    Object.values(settings).map(({ name, meaning, defaultText, isSecret }) => {
      const origin = defaultText === undefined ? "Required." : `Default: ${defaultText || "empty"}.`;
      return [name, `${meaning}. ${origin}${isSecret ? ` Or the path of a file with it in ${name}_FILE.` : ""}`];
    }),
  );

/** Handles the options of a program: prints its help or version and exits, or throws a `UsageError` for an unknown one. */
export function handleOptions(words: readonly string[], help: string, version: string, ...known: string[]): void {
  const output = words.includes("--help") ? help : words.includes("--version") ? version : undefined;
  if (output !== undefined) {
    print(output);
    process.exit(0);
  }
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new UsageError(`Unknown option "${unknown}". For help: --help`);
}

/** The URL of a server: an origin without a path. */
export const serverUrl = (text: string): string | undefined => {
  const url = URL.parse(text);
  const isBare = url !== null && url.username === "" && url.pathname === "/" && url.search === "" && url.hash === "";
  return isBare && /^https?:$/.test(url.protocol) ? url.origin : undefined;
};

export const matching =
  (pattern: RegExp) =>
  (text: string): string | undefined =>
    pattern.test(text) ? text : undefined;

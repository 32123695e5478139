import { settingsManual } from "../config/config.js";
import { list, misused, UsageError, wrapText } from "../runtime/manual.js";
import { print, printError } from "../runtime/terminal.js";
import { versions } from "../runtime/versions.js";

/** Describes the environment variables of the server and of the commands. */
export const environment = (): string =>
  list(settingsManual().map(({ name, meaning, defaultText }) => [name, `${meaning} Default: ${defaultText}.`]));

const help = () => `Usage: npm start [-- --help | --version]

${wrapText("Runs the server until SIGTERM. It is configured by environment variables. Commands for operators: npm run steward -- --help").join("\n")}

Environment variables
${environment()}`;

/** Handles the options of the server, after which it does not start. Without options, does nothing. */
export function handleOptions(words: readonly string[]): void {
  const [word] = words;
  if (word === undefined) return;
  if (words.includes("--help")) print(help());
  else if (words.includes("--version")) print(versions());
  else {
    printError(new UsageError(`Unknown option "${word}".`, "npm start -- --help").message);
    process.exitCode = misused;
  }
  process.exit();
}

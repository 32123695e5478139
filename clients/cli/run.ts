// The commands of users: clients of the public API, with a login of their own. They load nothing of the server.
import { list as inList, misused, wrapText } from "../../src/runtime/manual.js";
import { print, printError } from "../../src/runtime/terminal.js";
import { asksForHelp, CheckFailed, steward } from "../../src/runtime/command-line.js";
import { accountCommands } from "./account.js";
import { administrationCommands } from "./administration.js";
import { closest } from "./closest.js";
import { groupOf, withOwnNames } from "./command-names.js";
import { completionCommand } from "./completion.js";
import { Api } from "./api.js";
import { helpOf, type UserCommand, UsageError } from "./command.js";
import { explain, Interrupted, NotSignedIn, Unexpected } from "./failures.js";
import { connectCommands } from "./connect.js";
import { healthCommands } from "./health.js";
import { inboxCommands } from "./inbox.js";
import { Output } from "./output.js";
import { secretCommands } from "./secrets.js";
import { openSession } from "./session.js";
import { taskCommands } from "./tasks.js";
import { templateCommands } from "./templates.js";
import { workspaceCommands } from "./workspaces.js";

const commands: Record<string, UserCommand> = {
  ...accountCommands,
  ...workspaceCommands,
  ...connectCommands,
  ...taskCommands,
  ...templateCommands,
  ...inboxCommands,
  ...secretCommands,
  ...administrationCommands,
  ...healthCommands,
  completion: completionCommand(() => commands),
};

const groups = new Set(Object.keys(commands).map(groupOf));

/** The exit status of a command that needs a login, and of one that was interrupted. */
const statuses = { notSignedIn: 3, interrupted: 130 };

/** The beginning of the commands of operators, which is not that of a group of these. */
const operators = "server";

/** Whether these are the words of a command of users. */
export const isForUsers = (words: readonly string[]): boolean =>
  words[0] !== operators && groups.has(groupOf(withOwnNames(commands, words)[0] ?? ""));

const summaries = (entries: Array<[string, UserCommand]>) =>
  inList(entries.map(([, { usage, summary }]) => [usage, summary]));

/** The first level of the help: the commands of users, and how to get that of operators. */
export const userHelp = (): string =>
  [
    `Usage: ${steward} <command> [--help | --version]`,
    "",
    "Commands for users, who sign in to a server",
    summaries(Object.entries(commands)),
    "",
    ...wrapText(
      `Commands for operators, on the machine of the server, and the settings that they share with it: ${steward} ${operators} --help`,
    ),
    "",
    ...wrapText(statusHelp),
  ].join("\n");

/** Says which command was probably meant. */
export const suggestionFor = (words: readonly string[], others: readonly string[] = []): string => {
  const names = [...Object.keys(commands), ...others];
  const [first = "", second = ""] = words;
  const verbs = names.filter((name) => groupOf(name) === first).map((name) => name.slice(first.length + 1));
  const verb = closest(second, verbs);
  const meant =
    verbs.length === 0
      ? closest(first, [...new Set(names.map(groupOf))])
      : verb === undefined
        ? verb
        : `${first} ${verb}`;
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
};

const statusHelp =
  "The exit status is 0, 1 for a failure, 2 for an invalid command line, 3 without a valid login, or 130 after an interruption.";

/** Runs the command named by `words`, and prints its result or error. */
export async function runForUser(words: string[]): Promise<void> {
  // A reader such as head may end before the output does.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());
  try {
    await execute(words, interruption.signal);
  } catch (error) {
    process.exitCode = report(error);
  }
  // A connection that is being opened must not delay the end.
  if (interruption.signal.aborted) process.stdout.write("", () => process.exit());
}

function report(error: unknown): number {
  if (error instanceof CheckFailed) {
    print(error.message);
    return 1;
  }
  const isMisuse = error instanceof UsageError;
  const text = isMisuse ? error.message : (explain(error) ?? (error as Error).stack ?? String(error));
  printError(text);
  if (isMisuse) return misused;
  if (error instanceof Interrupted) return statuses.interrupted;
  return error instanceof NotSignedIn ? statuses.notSignedIn : 1;
}

async function execute(typed: string[], signal: AbortSignal): Promise<void> {
  const words = withOwnNames(commands, typed);
  const name = Object.keys(commands).find((each) => `${words.join(" ")} `.startsWith(`${each} `));
  const chosen = name === undefined ? undefined : commands[name];
  const options = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  if (asksForHelp(options) || (!chosen && words.length === 1)) {
    print(chosen ? helpOf({ ...chosen, run: () => Promise.resolve("") }) : groupHelp(words[0]!));
    return;
  }
  if (!chosen)
    throw new UsageError(
      `Unknown command "${words.slice(0, 2).join(" ")}".${suggestionFor(words)}`,
      `${steward} ${words[0]} --help`,
    );
  /** The server that the command has asked. */
  let asked: string | undefined;
  try {
    const { isJson, columns, server, isHttpAllowed, run } = chosen.parse(words.slice(name!.split(" ").length));
    const output = new Output(isJson);
    output.columns = columns;
    await run({
      output,
      signal,
      api: async () => {
        const session = await openSession(server, isHttpAllowed);
        asked = session.url;
        return new Api(session, signal, (text) => output.note(text));
      },
    });
  } catch (error) {
    if (chosen.isEndless && error instanceof Interrupted) return;
    if (error instanceof UsageError) throw new UsageError(error.message, `${steward} ${name} --help`);
    // The values that a command reads have the form of the schema. Only another server, or another release, responds differently.
    if (asked !== undefined && (error instanceof TypeError || error instanceof RangeError))
      throw new Unexpected(asked, error);
    throw error;
  }
}

const groupHelp = (group: string): string => {
  const own = Object.entries(commands).filter(([name]) => name.split(" ")[0] === group);
  const intro = `Usage: ${steward} ${group} <command> [--help] [--json] [--server URL]`;
  return [...wrapText(intro), "", "Commands", summaries(own), "", ...wrapText(statusHelp)].join("\n");
};

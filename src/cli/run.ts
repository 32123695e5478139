// Commands for operators. They read the same environment variables as the server.
import { explainsItself } from "../app.js";
import { type Context, type Services, systemContext } from "../domain/kernel/context.js";
import {
  type Administrator,
  createAdministrator,
  recoverAccess,
  recoverFactors,
} from "../domain/deployment/administrators.js";
import { migrate } from "../domain/deployment/boot.js";
import { readDeploymentId } from "../domain/deployment/deployment.js";
import { configuredKeys } from "../domain/encryption/encryption-keys.js";
import { rotateEncryption } from "../domain/encryption/rotation.js";
import { encryptionStatus, type EncryptionKeyStatus } from "../domain/encryption/encryption-status.js";
import { DomainError } from "../domain/kernel/errors.js";
import { StartRefused } from "../runtime/errors.js";
import { auditCommands } from "./audit.js";
import { backupCommands } from "./backups.js";
import {
  asksForHelp,
  CheckFailed,
  type Command,
  helpOf,
  parseWords,
  requireOptions,
  steward,
  UsageError,
} from "../runtime/command-line.js";
import { environment } from "./server-options.js";
import { licenseCommands } from "./licenses.js";
import { progressBar } from "./progress.js";
import { withServices } from "./services.js";
import { withoutEdges } from "../runtime/pasted.js";
import { list, misused } from "../runtime/manual.js";
import { print, printError } from "../runtime/terminal.js";

const commands: Record<string, Command> = {
  migrate: {
    usage: "migrate",
    summary: "Migrate the database to the version of this release.",
    run: onDatabase([], async () => "The database is up to date."),
  },
  "admin create": {
    usage: "admin create --email E --username U",
    summary: "Create an administrator and print the password.",
    options: [
      ["--email E", "Email address of the administrator."],
      ["--username U", "Username: letters, digits, and single hyphens."],
    ],
    run: onDatabase(["email", "username"], async (services, { email, username }) =>
      formatLogin(await act(services, (ctx) => createAdministrator(ctx, { email: email!, username: username! }))),
    ),
  },
  "admin reset-password": {
    usage: "admin reset-password --email E",
    summary: "Reset a user's password, end the user's sessions, and print the new password.",
    options: [["--email E", "Email address of the user."]],
    run: onDatabase(["email"], async (services, { email }) => {
      const administrator = await act(services, (ctx) => recoverAccess(ctx, email!));
      await sendHints(services);
      return formatLogin(administrator);
    }),
  },
  "admin reset-factors": {
    usage: "admin reset-factors --email E",
    summary: "Remove the second factors of a user who has lost them, and end the user's sessions.",
    options: [["--email E", "Email address of the user."]],
    run: onDatabase(["email"], async (services, { email }) => {
      const removed = await act(services, (ctx) => recoverFactors(ctx, email!));
      await sendHints(services);
      return removed ? "The second factors are removed." : "The user has no second factor.";
    }),
  },
  "encryption status": {
    usage: "encryption status",
    summary: "Show how many values are encrypted with each key.",
    run: onDatabase([], async (services) => {
      await unlock(services);
      const { activeKeyId, keys } = await encryptionStatus(services);
      return keys.map((key) => keyLine(key, activeKeyId)).join("\n") || "There are no encryption keys.";
    }),
  },
  "encryption rotate": {
    usage: "encryption rotate",
    summary:
      "Re-encrypt all values with the first key. Servers can keep running; the command can be interrupted and repeated.",
    run: onDatabase([], async (services) => {
      if (!(await unlock(services))) throw new StartRefused("There are no encryption keys.");
      const { activeKeyId, rotated, left } = await rotateEncryption(services, progressBar(process.stderr, "values"));
      return `Re-encrypted ${rotated} values with ${activeKeyId}; ${left} values remain encrypted with other keys.`;
    }),
  },
  ...auditCommands,
  ...backupCommands,
  ...licenseCommands,
};

/** The help of the commands for operators. */
const help = () => `Usage: ${steward} <command> [--help]

Commands for operators, on the machine of the server
${list(Object.values(commands).map(({ usage, summary }) => [usage, summary]))}

Environment variables of the commands for operators
${environment()}`;

const formatLogin = ({ email, password }: Administrator) => `Email     ${email}\nPassword  ${password}`;

/** Loads the configured keys into the vault, even if keys in use are missing. Returns whether there are any. */
async function unlock({ config, vault }: Services): Promise<boolean> {
  const keys = await configuredKeys({ config });
  if (keys) vault.unlock(keys);
  return keys !== undefined;
}

function keyLine({ id, present, rows }: EncryptionKeyStatus, activeKeyId: string | null): string {
  const state = id === activeKeyId ? "active" : present ? "present" : "missing";
  return `${id}  ${state.padEnd(7)}  ${rows.map(({ table: name, count }) => `${name} ${count}`).join(", ")}`;
}

/** Wraps a command that uses the configured database, which is migrated first. `names` are its required options. */
function onDatabase(
  names: string[],
  work: (services: Services, options: Record<string, string>) => Promise<string>,
): Command["run"] {
  return async (words) => {
    const declared = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
    const { values } = parseWords({ args: words, options: declared });
    requireOptions(values, ...names);
    const pasted = Object.entries(values as Record<string, string>).map(([name, text]) => [name, withoutEdges(text)]);
    return withServices(async (services) => {
      await migrate(services);
      return work(services, Object.fromEntries(pasted) as Record<string, string>);
    });
  };
}

function act<Result>(services: Services, work: (ctx: Context) => Promise<Result>): Promise<Result> {
  const ctx = systemContext(services);
  return ctx.transactional(() => work(ctx));
}

/** Sends the hints so far. If that fails, which is logged, the replicas read the database again within 30 seconds. */
async function sendHints(services: Services): Promise<void> {
  const deployment = await readDeploymentId(systemContext(services));
  await services.events.start(deployment).catch(() => {});
}

/**
 * Runs the command named by `words`, and prints its result or error. The exit status is 1 on failure, and 2 if the
 * command line is invalid. `suggestionFor` says which command, with those of users, was probably meant.
 */
export async function run(words: string[], suggestionFor: Suggest): Promise<void> {
  try {
    print(await outputOf(words, suggestionFor));
  } catch (error) {
    if (error instanceof CheckFailed) print(error.message);
    else printError(explain(error));
    process.exitCode = error instanceof UsageError ? misused : 1;
  }
}

type Suggest = (words: readonly string[], others: readonly string[]) => string;

async function outputOf(words: string[], suggestionFor: Suggest): Promise<string> {
  const name = Object.keys(commands).find((each) => `${words.join(" ")} `.startsWith(`${each} `));
  if (words.join(" ") === "server") return help();
  if (asksForHelp(words)) return name ? helpOf(commands[name]!) : help();
  if (!name) {
    const suggestion = suggestionFor(words, Object.keys(commands));
    throw new UsageError(`Unknown command "${words.join(" ")}".${suggestion}`, `${steward} --help`);
  }
  try {
    return await commands[name]!.run(words.slice(name.split(" ").length));
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, `${steward} ${name} --help`) : error;
  }
}

/** Formats an error: as its message if it is meant for users, otherwise as a stack trace. */
function explain(error: unknown): string {
  if (error instanceof DomainError) return [error.message, ...faultsOf(error)].join("\n");
  const { message, stack } = error as Error;
  return error instanceof UsageError || explainsItself(error) ? message : String(stack);
}

const faultsOf = ({ details }: DomainError) =>
  details.validations?.map(({ field, detail }) => `--${field}: ${detail}`) ?? [];

// Commands for the people who operate a server. They use its environment.
import { parseArgs } from "node:util";
import { type Closer, explainsItself, openServices } from "../app.js";
import { readConfig, settingsManual } from "../config/config.js";
import { Context, type Services } from "../domain/kernel/context.js";
import { newId } from "../domain/kernel/ids.js";
import {
  type Administrator,
  createAdministrator,
  recoverAccess,
  systemActor,
} from "../domain/deployment/administrators.js";
import { migrate } from "../domain/deployment/boot.js";
import { configuredKeys } from "../domain/encryption/keys.js";
import { rotateEncryption } from "../domain/encryption/rotation.js";
import { encryptionStatus, type EncryptionKeyStatus } from "../domain/encryption/status.js";
import { DomainError, StartRefused } from "../domain/kernel/errors.js";
import { BadNews, type Command, requireOptions, UsageError } from "./command.js";
import { licenseCommands } from "./licenses.js";
import { progressBar } from "./progress.js";
import { borrowCluster } from "../embedded-postgres/index.js";
import { createLog } from "../log.js";

const commands: Record<string, Command> = {
  migrate: {
    usage: "migrate",
    does: "Bring the database to this version.",
    run: onDatabase([], async () => "The database is up to date."),
  },
  "admin create": {
    usage: "admin create --email E --username U",
    does: "Create an administrator and print the password.",
    run: onDatabase(["email", "username"], async (services, { email, username }) =>
      shown(await act(services, (ctx) => createAdministrator(ctx, { email: email!, username: username! }))),
    ),
  },
  "admin reset-password": {
    usage: "admin reset-password --email E",
    does: "Give somebody a new password and end all their sessions.",
    run: onDatabase(["email"], async (services, { email }) =>
      shown(await act(services, (ctx) => recoverAccess(ctx, email!))),
    ),
  },
  "encryption status": {
    usage: "encryption status",
    does: "Tell how much is encrypted with which key.",
    run: onDatabase([], async (services) => {
      await unlock(services);
      const { activeKeyId, keys } = await encryptionStatus(services);
      return keys.map((key) => keyLine(key, activeKeyId)).join("\n") || "There is no key.";
    }),
  },
  "encryption rotate": {
    usage: "encryption rotate",
    does: "Encrypt everything with the first key. May run beside the servers, and be stopped and started again.",
    run: onDatabase([], async (services) => {
      if (!(await unlock(services))) throw new StartRefused("There are no encryption keys.");
      const { activeKeyId, rotated, left } = await rotateEncryption(services, progressBar(process.stderr, "values"));
      return `${rotated} values are encrypted with ${activeKeyId} now; ${left} are left under other keys.`;
    }),
  },
  ...licenseCommands,
};

const help = () => `Usage: npm run steward -- <command>

Commands
${table(Object.values(commands).map(({ usage, does }) => [usage, does]))}

Settings, from the environment
${table(settingsManual().map(({ name, meaning, usual }) => [name, `${meaning} Default: ${usual}.`]))}`;

function table(rows: Array<[string, string]>): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

const shown = ({ email, password }: Administrator) => `E-mail    ${email}\nPassword  ${password}`;

/** Gives the vault the keys of the settings, whatever else is missing; says whether there are any. */
async function unlock({ config, vault }: Services): Promise<boolean> {
  const keys = await configuredKeys({ config });
  if (keys) vault.unlock(keys);
  return keys !== undefined;
}

function keyLine({ id, present, rows }: EncryptionKeyStatus, activeKeyId: string | null): string {
  const state = id === activeKeyId ? "writes" : present ? "reads" : "missing";
  return `${id}  ${state.padEnd(7)}  ${rows.map(({ table: name, count }) => `${name} ${count}`).join(", ")}`;
}

/** Runs a command on the database of the settings, which it brings to this version first. */
function onDatabase(
  names: string[],
  work: (services: Services, options: Record<string, string>) => Promise<string>,
): Command["run"] {
  return async (words) => {
    const declared = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
    const { values } = parseArgs({ args: words, options: declared });
    requireOptions(values, ...names);
    const config = readConfig(process.env);
    // Standard output is for the answer.
    const log = createLog({ ...config, logLevel: "warn" }, process.stderr.fd);
    const closers: Closer[] = [];
    try {
      const services = await openServices(config, log, borrowCluster, closers);
      await migrate(services);
      return await work(services, values as Record<string, string>);
    } finally {
      for (const close of closers.toReversed()) await close();
    }
  };
}

function act<Result>(services: Services, work: (ctx: Context) => Promise<Result>): Promise<Result> {
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  return ctx.transactional(() => work(ctx));
}

/** Runs the command that the words name, and says what came of it. */
export async function run(words: string[]): Promise<void> {
  try {
    process.stdout.write(`${await answerTo(words)}\n`);
  } catch (error) {
    if (error instanceof BadNews) process.stdout.write(`${error.message}\n`);
    else process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  }
}

async function answerTo(words: string[]): Promise<string> {
  if (words.length === 0 || words.includes("--help")) return help();
  const name = Object.keys(commands).find((each) => `${words.join(" ")} `.startsWith(`${each} `));
  if (!name) throw new UsageError(`There is no command "${words.join(" ")}".`);
  return commands[name]!.run(words.slice(name.split(" ").length));
}

/** What went wrong in a way that a sentence explains; all else is a defect and shows its stack. */
function explain(error: unknown): string {
  if (error instanceof DomainError) return [error.message, ...faultsOf(error)].join("\n");
  const { message, stack, code } = error as NodeJS.ErrnoException;
  const isMisused = error instanceof UsageError || code?.startsWith("ERR_PARSE_ARGS");
  if (isMisused) return `${message}\nWhat there is: npm run steward -- --help`;
  return explainsItself(error) ? message : String(stack);
}

const faultsOf = ({ facts }: DomainError) =>
  facts.validations?.map(({ field, detail }) => `--${field}: ${detail}`) ?? [];

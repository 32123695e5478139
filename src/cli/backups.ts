import { backUp, noteBackup } from "../domain/backup/backup.js";
import { openBackup, restore, type RestoreSummary } from "../domain/backup/restore.js";
import type { BackupHeader } from "../infrastructure/backup-file.js";
import { StartRefused } from "../runtime/errors.js";
import { type Command, parseWords, requireOptions, UsageError } from "../runtime/command-line.js";
import { progressBar } from "./progress.js";
import { withServices } from "./services.js";

const flag = { type: "boolean", default: false } as const;

const backupCommand: Command = {
  usage: "backup --out FILE [--with-keys]",
  summary: "Write the database to a new file while servers run.",
  options: [
    ["--out FILE", "The file to create. It must not exist."],
    ["--with-keys", "Include the encryption keys: the file alone then decrypts all secrets."],
  ],
  run: async (words) => {
    const { values } = parseWords({ args: words, options: { out: { type: "string" }, "with-keys": flag } });
    requireOptions(values, "out");
    const path = values.out!;
    const includesKeys = values["with-keys"];
    const { tables, rows, size } = await withServices((services) =>
      untilInterrupted(async (signal) => {
        const summary = await backUp(services, { path, includesKeys }, signal, megabytes("of tables backed up"));
        await noteBackup(services);
        return summary;
      }),
    );
    return [
      `Backed up ${tables} tables with ${rows} rows to ${path} (${sizeText(size)}).`,
      includesKeys
        ? "The file contains the encryption keys: anyone who can read it can decrypt all secrets."
        : "The file does not contain the encryption keys. Back them up separately.",
    ].join("\n");
  },
};

const restoreCommand: Command = {
  usage: "restore FILE [--revoke-tokens]",
  summary: "Restore a backup into a new database.",
  options: [["--revoke-tokens", "End all sessions, API tokens, and OAuth2 grants."]],
  run: async (words) => {
    const { values, positionals } = parseWords({
      args: words,
      options: { "revoke-tokens": flag },
      allowPositionals: true,
    });
    if (positionals.length !== 1) throw new UsageError("Specify one file.");
    const path = positionals[0]!;
    const options = { mustRevokeTokens: values["revoke-tokens"] };
    const progress = {
      restored: megabytes("restored"),
      indexed: progressBar(process.stderr, "indexes and foreign keys"),
    };
    const file = await openBackup(path, megabytes("checked"));
    try {
      const summary = await withServices((services) =>
        untilInterrupted((signal) => restore(services, file, options, signal, progress)),
      );
      return describe(summary, path, file.header);
    } finally {
      await file.close();
    }
  },
};

function describe(
  { tables, rows, keyFile, missingKeys }: RestoreSummary,
  path: string,
  { createdAt, version }: BackupHeader,
): string {
  return [
    `Restored ${tables} tables with ${rows} rows from ${path}, written at ${createdAt} by Steward ${version}.`,
    ...(keyFile ? [`The encryption keys were written to ${keyFile}.`] : []),
    ...(missingKeys.length > 0
      ? [`The encryption keys are missing: ${missingKeys.join(", ")}. Put them back before you start the server.`]
      : []),
  ].join("\n");
}

const sizeText = (bytes: number) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`);

/** Shows progress in bytes. */
function megabytes(unit: string): (done: number, total: number) => void {
  const show = progressBar(process.stderr, `MB ${unit}`);
  return (done, total) => show(Math.round(done / 1e6), Math.round(total / 1e6));
}

/** Aborts the signal on SIGINT and SIGTERM, so that nothing is left behind. The second signal ends the process. */
async function untilInterrupted<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stopping = new AbortController();
  const stop = () => stopping.abort(new StartRefused("Interrupted."));
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.once(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of signals) process.removeListener(signal, stop);
  }
}

export const backupCommands: Record<string, Command> = { backup: backupCommand, restore: restoreCommand };

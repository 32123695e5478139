// The process of the provisioner daemon.
import { hostname } from "node:os";
import { resolve } from "node:path";
import { misused, UsageError } from "../../src/runtime/manual.js";
import { print, printError, printLine } from "../../src/runtime/terminal.js";
import { ownName } from "../agent/processes.js";
import { Daemon, type Worker } from "./daemon.js";
import { echo } from "./echo.js";
import { pace } from "../agent/pace.js";
import { accountNotice, chooseAccount, requireAccess, usualAccount } from "./process/account.js";
import { Cgroups } from "./process/cgroups.js";
import { Folder } from "./process/folder.js";
import { allowSharedUser, requireOwnUser } from "./process/sharing.js";
import { ProcessWorker } from "./process/worker.js";
import {
  handleOptions,
  manual,
  matching,
  readSettings,
  serverUrl,
  StartRefused,
  type ValuesOf,
} from "../api/settings.js";
import { Refused } from "./transport.js";
import { fullVersion } from "../../src/runtime/program-files.js";
import { finalClosing, isProvisionerKey, WebSocketTransport } from "./web-socket.js";

const list = (text: string) => (text === "" ? [] : text.split(",").map((part) => part.trim()));

/** A part of the host name that is a valid name of a daemon. */
const hostName = (): string =>
  hostname()
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, "-")
    .slice(0, 64)
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "") || "provisioner";

const types = new Set(["echo", "process"]);

const settings = {
  url: { name: "STEWARD_URL", read: serverUrl, rule: "an http or https URL without a path", meaning: "URL of Steward" },
  key: {
    name: "STEWARD_PROVISIONER_KEY",
    read: matching(/^\S+$/),
    rule: "a provisioner key, which starts with stwk_, or the token of a session",
    meaning: "Key from createProvisionerKey, or the token of a session",
    isSecret: true,
  },
  name: {
    name: "STEWARD_PROVISIONER_NAME",
    read: matching(/^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/i),
    rule: "1 to 64 letters, digits, dots, underscores, and hyphens, with a letter or digit at both ends",
    defaultText: hostName(),
    meaning: "Name of the daemon",
  },
  organization: {
    name: "STEWARD_PROVISIONER_ORGANIZATION",
    read: matching(/^[^\s/]+$/),
    rule: "the ID or name of an organization, or default",
    defaultText: "default",
    meaning: "Organization whose jobs it does",
  },
  types: {
    name: "STEWARD_PROVISIONER_TYPES",
    read: (text: string) => (list(text).every((type) => types.has(type)) ? [...new Set(list(text))] : undefined),
    rule: "a comma-separated list of echo and process",
    defaultText: "echo",
    meaning: "Types of its jobs: echo, process, or both; process runs programs",
  },
  tags: {
    name: "STEWARD_PROVISIONER_TAGS",
    read: (text: string) => (list(text).every((tag) => /^[^=\0]+=[^\0]*$/.test(tag)) ? list(text) : undefined),
    rule: "a comma-separated list, each item key=value",
    defaultText: "",
    meaning: "Tags of the daemon, with the token of a session only: a key has its own tags",
  },
  slots: {
    name: "STEWARD_PROVISIONER_SLOTS",
    read: (text: string) => (/^\d{1,2}$/.test(text) && +text >= 1 && +text <= 64 ? Number(text) : undefined),
    rule: "a whole number from 1 to 64",
    defaultText: "4",
    meaning: "Maximum number of jobs at a time",
  },
  directory: {
    name: "STEWARD_PROVISIONER_DIR",
    read: (text: string) => resolve(text),
    rule: "a path",
    defaultText: "./data/provisioner",
    meaning: "Directory of the workspaces of the type process",
  },
  dataDirectory: {
    name: "STEWARD_DATA_DIR",
    read: (text: string) => resolve(text),
    rule: "a path",
    defaultText: "./data",
    meaning: "Data of a server on this machine; its user must not run workspaces",
  },
  address: {
    name: "STEWARD_PROVISIONER_ADVERTISE_ADDRESS",
    read: matching(/^[0-9a-z.:-]+$/i),
    rule: "an IP address or hostname",
    defaultText: "127.0.0.1",
    meaning: "Address of this machine, ${host.address} in templates",
  },
  user: {
    name: "STEWARD_PROVISIONER_USER",
    read: (text: string) => text,
    rule: "the name of a user",
    defaultText: "",
    meaning: "User that runs the programs of workspaces; another user than the daemon's requires root",
  },
  cgroup: {
    name: "STEWARD_PROVISIONER_CGROUP",
    read: (text: string) => (text === "" ? "" : resolve(text)),
    rule: "a path",
    defaultText: "",
    meaning: "Directory of the cgroup (v2) in which resources are limited; if empty, that of the daemon",
  },
};

type Settings = ValuesOf<typeof settings>;

/** The option with which no program of a workspace outlives the daemon. */
const endPrograms = "--end-programs";

const help = `Usage: npm run provisioner [-- OPTIONS]

Takes jobs from a Steward server and does them: it imports templates, and
starts, stops, and deletes workspaces. SIGTERM ends it after the jobs in
progress. Its workspaces keep running; the next daemon on the same directory
takes them over.

Options
  --allow-root   Run the type process as root. Programs of workspaces then run
                 as the user in STEWARD_PROVISIONER_USER (default: ${usualAccount}).
  ${allowSharedUser}
                 Run programs of workspaces as a user that owns the data of a
                 server or runs the workspaces of another daemon, which they can
                 then read and change.
  ${endPrograms}
                 End the programs of workspaces with the daemon, as on a machine
                 of your own. The next daemon on the same directory starts again
                 those that their template restarts.
  --help, --version

Environment variables
${manual(settings)}`;

const log = (message: string) => printLine(`${new Date().toISOString()} ${message}`);

async function main(options: readonly string[]): Promise<void> {
  handleOptions(options, help, fullVersion, "--allow-root", allowSharedUser, endPrograms);
  const given = readSettings(settings, process.env);
  // Whatever this process starts must not inherit the key.
  delete process.env[settings.key.name];
  for (const name of unknownSettings()) log(`${name} is not a setting. For help: --help`);
  if (given.tags.length > 0 && isProvisionerKey(given.key))
    throw new StartRefused("STEWARD_PROVISIONER_TAGS must not be set with a key, which has its own tags.");

  const stopping = stopOnSignals();
  const transport = new WebSocketTransport(given);
  const { worker, notice } = given.types.includes("process") ? await processWorker(given, options) : { notice: [] };
  const workers: Worker[] = [...(given.types.includes("echo") ? [echo] : []), ...(worker ? [worker] : [])];
  greet(given, notice);
  const daemon = new Daemon({ transport, workers, slots: given.slots, log, finalClosing });
  await worker?.adopt(daemon.execute);
  try {
    await daemon.run(stopping);
  } finally {
    if (options.includes(endPrograms)) await worker?.endPrograms();
  }
  log("Stopped.");
}

const unknownSettings = () =>
  Object.keys(process.env).filter(
    (name) =>
      name.startsWith("STEWARD_PROVISIONER_") &&
      !Object.values(settings).some((setting) => name.replace(/_FILE$/, "") === setting.name),
  );

/** Prepares the type `process`. Returns its worker, and lines for the operator. */
async function processWorker(given: Settings, options: readonly string[]) {
  const { url, directory, dataDirectory, user, address, cgroup } = given;
  const account = chooseAccount(user, options.includes("--allow-root"));
  const folder = await Folder.open(directory, account);
  if (account) requireAccess(account, folder.path);
  const name = account?.name ?? ownName();
  const uid = account?.uid ?? process.getuid?.();
  const places = { directory: folder.path, dataDirectory };
  if (uid !== undefined) await requireOwnUser({ uid, name }, places, options.includes(allowSharedUser));
  const cgroups = Cgroups.open(folder.path, cgroup);
  const site = { url, folder, cgroups, account, user: name, log, pace };
  const notice = [folder.path, ...accountNotice(account), cgroups.notice];
  return { worker: new ProcessWorker(site, address), notice };
}

/** Aborts the signal when the process is told to stop. The second time, the process ends immediately. */
function stopOnSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const)
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1);
      stopping.abort();
      log("Stopping after the jobs in progress.");
    });
  return stopping.signal;
}

function greet({ url, organization, name, types: offered, slots }: Settings, [path, ...notice]: string[]): void {
  const lines = [
    "",
    `  Steward provisioner ${fullVersion}`,
    "",
    `    Server         ${url}`,
    `    Organization   ${organization}`,
    `    Name           ${name}`,
    `    Types          ${offered.join(", ")}`,
    `    Slots          ${slots}`,
    ...(path ? [`    Directory      ${path}`] : []),
    ...(notice.length > 0 ? [""] : []),
    ...notice.map((line) => `  ${line}`),
    "",
  ];
  print(lines.join("\n"));
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  const { message, stack } = error as Error;
  const isExplained = [StartRefused, Refused, UsageError].some((kind) => error instanceof kind);
  printError(isExplained || (error as NodeJS.ErrnoException).code ? message : String(stack));
  process.exit(error instanceof UsageError ? misused : 1);
}

// Shows Steward with a small company: on a server of its own, or on one that is there. `npm run demo -- --help` explains it.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { parseArgs } from "node:util";
import { Client, Failure } from "./client.js";
import { accounts, emailOf, ownerName, people } from "./company.js";
import { fillServer } from "./fill.js";
import { type OwnDemo, startOwnDemo } from "./own.js";
import { showProgress } from "./progress.js";
import { openBrowser } from "./server.js";

const help = `Usage: npm run demo [-- OPTIONS]

Starts a server of its own with a believable company: people, groups with budgets, templates, workspaces, tasks,
provisioners, applications, notifications, licenses, logs, and a month of history. A provisioner daemon runs what you
create: workspaces with an app, and tasks with a small assistant that responds in parts, asks for permissions, and
fails if you tell it to. The first start takes about a minute; later ones show the same data again. Ctrl-C ends it with
all its programs. The data of npm start are not touched.

Options
  --fresh        Delete the data of the demonstration, and start from scratch.
  --server URL   Add the company, without its history, to a server that runs. Its
                 daemons may run no programs: new workspaces then stay without.
  --help

Environment variables
  STEWARD_DEMO_DIR        Directory of its data. Default: ./demo-data.
  STEWARD_DEMO_PORT       Port of its server, or a free one if it is taken. Default: 3080.
  STEWARD_DEMO_DAYS       Days of history, from 1 to 29. Default: 28.

With --server
  STEWARD_ADMIN_EMAIL     Email address of an owner. Default: admin@steward.local.
  STEWARD_ADMIN_PASSWORD  Password of the owner. Default: asked for on a terminal.
  STEWARD_TOKEN           Session or API token of the owner, instead of the password.`;

/** Asks for the password, without showing it. */
async function askPassword(email: string): Promise<string> {
  if (!process.stdin.isTTY) throw new Failure("Set STEWARD_ADMIN_PASSWORD or STEWARD_TOKEN.", "UNAUTHENTICATED");
  process.stderr.write(`Password of ${email}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await terminal.question("");
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
}

async function signIn(server: Client): Promise<Client> {
  const { STEWARD_TOKEN, STEWARD_ADMIN_EMAIL: email = "admin@steward.local", STEWARD_ADMIN_PASSWORD } = process.env;
  if (STEWARD_TOKEN) return server.as(STEWARD_TOKEN);
  const password = STEWARD_ADMIN_PASSWORD ?? (await askPassword(email));
  const { sessionToken } = await server.mutate("login", { email, password }, "sessionToken");
  return server.as(sessionToken as string);
}

/** Adds the company to a server that runs. */
async function fill(url: string): Promise<void> {
  const client = await signIn(new Client(url.replace(/\/$/, "")));
  const progress = showProgress();
  const { username, password } = await fillServer(client, progress.report)
    .catch((error: unknown) => {
      if (!(error instanceof Failure && error.code === "CONFLICT")) throw error;
      throw new Failure(`${error.message}\nA server of its own always works: npm run demo`, error.code);
    })
    .finally(progress.end);
  const others = people.map((person) => person.username).filter((name) => name !== username);
  console.log(
    `\nLarkspur Robotics is at ${client.url}. Your own account sees all of it. ${emailOf({ username })} has a`,
  );
  console.log(`workspace and a task. That account and the others (${others.join(", ")})`);
  console.log(`sign in with the password ${password}`);
  console.log(
    "\nThe agents of this company were played while it was added. To create workspaces and tasks that run, connect a",
  );
  console.log("daemon of the type process, as docs/provisioning.md shows, or see them work in: npm run demo");
}

/** Shows the company on a server of its own, until a signal. */
async function show(isFresh: boolean): Promise<void> {
  const options = {
    directory: process.env.STEWARD_DEMO_DIR || "demo-data",
    port: wholeNumber("STEWARD_DEMO_PORT", 3080, 1, 65_535),
    days: wholeNumber("STEWARD_DEMO_DAYS", 28, 1, 29),
    isFresh,
  };
  const stopped = new Promise<void>((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
  });
  const progress = showProgress();
  const starting = startOwnDemo(options, progress).finally(progress.end);
  const isEarly = await Promise.race([starting.then(() => false), stopped.then(() => true)]);
  // A company that is not complete is made again by the next start.
  if (isEarly) process.exit(1);
  const demo = await starting;
  greet(demo);
  const isOver = await Promise.race([demo.ended.then(() => true), stopped.then(() => false)]);
  console.error(isOver ? `The server ended; see ${demo.directory}/server.log.` : "\nStopping the server…");
  await demo.stop();
  process.exit(isOver ? 1 : 0);
}

function wholeNumber(name: string, usual: number, least: number, most: number): number {
  const given = process.env[name];
  const value = Number(given || usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Failure(`${name} must be a whole number from ${least} to ${most}.`, "BAD_USER_INPUT");
}

function greet({ url, door, isOld, directory, notice, ownerPassword, password }: OwnDemo): void {
  const isOpen = openBrowser(door);
  const shown = new Set(accounts.map(({ username }) => username));
  const others = people.map(({ username }) => username).filter((username) => !shown.has(username));
  console.log(`
  Larkspur Robotics is at ${url}${isOld ? ", as you left it" : ""}
  ${isOpen ? "Your browser opens it as its owner" : "Sign in as its owner by this link, which works once"}:

    ${door}

  Three of its accounts
${accounts
  .map(({ username, sees }) => {
    const secret = username === ownerName ? ownerPassword : password;
    return `
    ${emailOf({ username })}   ${secret}
      ${sees}`;
  })
  .join("\n")}

  The others (${others.join(", ")}, …) have
  the password of the last two. The server is real, and so is what you change: workspaces and tasks that you create run
  on this machine. ${notice}
  The company's past was lived through the API within a minute, and its times were moved back in its database.

  Data: ${directory}   Start from scratch: npm run demo -- --fresh   End: Ctrl-C
`);
}

try {
  const { values } = parseArgs({
    options: { help: { type: "boolean" }, fresh: { type: "boolean", default: false }, server: { type: "string" } },
  });
  if (values.help) console.log(help);
  else if (values.server !== undefined) await fill(values.server);
  else await show(values.fresh);
} catch (error) {
  const isMisuse = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  if (!(error instanceof Failure) && !isMisuse) throw error;
  console.error((error as Error).message);
  if (isMisuse) console.error("See: npm run demo -- --help");
  process.exit(isMisuse ? 2 : 1);
}

// Adds a small company to a server, through the public API. `npm run demo -- --help` lists its settings.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Client, Failure } from "./client.js";
import { emailOf, people } from "./company.js";
import { fillServer, type Report } from "./fill.js";

const help = `Usage: npm run demo

Adds a small company to a Steward server: people, groups with budgets, templates, workspaces, tasks, secrets, OAuth2
applications, and notifications. Rejects a server that has been filled before, or that uses a name of the company.

Environment variables
  STEWARD_URL             URL of the server. Default: http://localhost:3000.
  STEWARD_ADMIN_EMAIL     Email address of an owner. Default: admin@steward.local.
  STEWARD_ADMIN_PASSWORD  Password of the owner. Default: asked for on a terminal.
  STEWARD_TOKEN           Session or API token of the owner, instead of the password.`;

/** Shows the progress of one step per line. */
const progress: Report = (what, done, total) => {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${what.padEnd(14)}${done} of ${total}${done === total ? "\n" : ""}`);
  else if (done === total) process.stderr.write(`${what.padEnd(14)}${total}\n`);
};

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

const others = (username: string) =>
  people
    .map((person) => person.username)
    .filter((name) => name !== username)
    .join(", ");

try {
  if (process.argv.includes("--help")) console.log(help);
  else {
    const url = (process.env.STEWARD_URL ?? "http://localhost:3000").replace(/\/$/, "");
    const { username, password } = await fillServer(await signIn(new Client(url)), progress);
    console.log(`\nLarkspur Robotics is at ${url}. Your own account sees all of it. ${emailOf({ username })} has a`);
    console.log(`workspace and a task. That account and the others (${others(username)})`);
    console.log(`sign in with the password ${password}`);
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

// Starts the example dashboard for a server that runs, at STEWARD_URL or on the usual port, or for one that it starts.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const project = fileURLToPath(new URL("..", import.meta.url));
const folder = join(project, "examples/dashboard");

const help = `Usage: npm run dashboard -- [options]

Shows a running Steward server in the example dashboard. If none runs, starts one.

Options
  --server URL  URL of the server. Default: STEWARD_URL, or http://localhost:<STEWARD_PORT>.
  --port PORT   Port of the dashboard. Default: 5173.`;

const { values } = parseArgs({
  options: { server: { type: "string" }, port: { type: "string", default: "5173" }, help: { type: "boolean" } },
});
if (values.help) console.log(help);
else await main(values);

async function main({ server, port }) {
  const address = `http://localhost:${port}`;
  const given = server ?? process.env.STEWARD_URL;
  const url = (given ?? `http://localhost:${process.env.STEWARD_PORT ?? 3000}`).replace(/\/$/, "");
  const children = [];
  if (!(await responds(url))) {
    if (given) return fail(`No server at ${url}.`);
    // Identity providers send browsers back to the access URL.
    const settings = { STEWARD_LOG_LEVEL: "warn", STEWARD_LOG_FORMAT: "text", STEWARD_ACCESS_URL: address };
    children.push(run(["dist/main.js"], project, { ...settings, ...process.env }));
    await untilReady(url, children[0]);
  }
  console.error("Generating types…");
  const bin = join(folder, "node_modules");
  const generated = spawnSync(process.execPath, [join(bin, "@graphql-codegen/cli/esm/bin.js")], {
    cwd: folder,
    stdio: "inherit",
  });
  if (generated.status !== 0) return fail("The types of the dashboard could not be generated.");
  const vite = [join(bin, "vite/bin/vite.js"), "--port", port];
  children.push(run(vite, folder, { ...process.env, STEWARD_URL: url }, "ignore"));
  await untilReady(address, children.at(-1));
  console.log(`\n  The dashboard is at ${address}, for the server at ${url}\n`);
  await endTogether(children);
}

function run(args, cwd, env, output = "inherit") {
  return spawn(process.execPath, args, { cwd, env, stdio: ["ignore", output, "inherit"] });
}

function responds(url) {
  return fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Waits until a program serves. Ends with its status if it ends before. */
async function untilReady(url, child) {
  child.once("exit", (status) => process.exit(status ?? 1));
  while (!(await responds(url))) await new Promise((done) => setTimeout(done, 200));
}

/** Ends all programs when one ends, or when this one is told to. A terminal sends Ctrl-C to all of them. */
async function endTogether(children) {
  process.on("SIGINT", () => {});
  const end = () => children.forEach((child) => child.kill("SIGTERM"));
  process.once("SIGTERM", end);
  children.forEach((child) => child.removeAllListeners("exit"));
  await Promise.race(children.map((child) => once(child, "exit")));
  end();
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}

// Chooses the Node.js that runs a program. Entry points import this module and nothing else: modules that need a newer
// Node.js must not even be loaded in an older one, and a static import is evaluated whatever this module awaits.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of the project, from this source or from the bundle. */
const project = import.meta.url.endsWith(".ts") ? "../.." : "..";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/**
 * Runs `program` if this is Node.js 22 with at least the given minor version, or newer. Otherwise runs the process again,
 * in the Node.js that npm has installed.
 */
export async function inNewNode(program: () => Promise<unknown>, leastMinor = 17): Promise<void> {
  if (major < 22 || (major === 22 && minor < leastMinor)) return runAgain(`22.${leastMinor}`);
  if (process.channel) {
    // The channel closes when the parent process ends, even if it was killed and could not forward a signal.
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
    process.channel.unref();
  }
  await program();
}

function runAgain(least: string): void {
  const newer = fileURLToPath(new URL(`${project}/node_modules/.bin/node`, import.meta.url));
  if (!existsSync(newer)) {
    console.error(`Steward requires Node.js ${least} or newer, but this is ${process.versions.node}.`);
    process.exit(1);
  }
  const child = spawn(newer, [...process.execArgv, ...process.argv.slice(1)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  // A terminal sends Ctrl-C to both processes. Forwarding it would count as the second signal, which skips draining.
  process.on("SIGINT", () => {});
  child.once("exit", (status) => process.exit(status ?? 1));
  child.once("error", (error) => {
    console.error(`Failed to start Node.js: ${error.message}`);
    process.exit(1);
  });
}

// Imported first by every entry point. If Node is too old, runs the program in the Node that npm has installed.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 17);

if (!isNewEnough) {
  const newer = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(newer)) {
    console.error(
      `Steward requires Node.js 22.17 or newer, but this is ${process.versions.node}. Start it with npm: npm start`,
    );
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
  await new Promise(() => {}); // the modules imported after this one never run here
} else if (process.channel) {
  // The channel closes when the parent process ends, even if it was killed and could not forward a signal.
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}

// The built dashboard at an address of its own, in front of a server of the test.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));

const run = (program: string, ...args: string[]) => [`node_modules/${program}`, ...args];

/** Compiles the dashboard. */
export function buildDashboard(): void {
  for (const args of [
    run("@graphql-codegen/cli/esm/bin.js"),
    run("vite/bin/vite.js", "build", "--logLevel", "error"),
  ]) {
    const { status } = spawnSync(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`${args[0]} failed.`);
  }
}

/** Serves the dashboard on a port, until the process ends. */
export async function serveDashboard(port: number, server: string): Promise<ChildProcess> {
  const args = run("vite/bin/vite.js", "preview", "--port", String(port), "--logLevel", "silent");
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, STEWARD_URL: server },
  });
  const isUp = () =>
    fetch(`http://localhost:${port}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error("The dashboard could not be served.");
    await new Promise((done) => setTimeout(done, 50));
  }
  return child;
}

// Programs of workspaces for tests, and what became of them.
import { readFileSync } from "node:fs";

/** Runs a script with Node. */
export const node = (script: string, ...words: string[]): string[] => [process.execPath, "-e", script, "--", ...words];

/** The report of `server` about its processes. */
export interface ChildReport {
  pid: number;
  grandchild: number;
  env: Record<string, string>;
  argv: string[];
  directory: string;
}

/**
 * Starts a grandchild, which by default ignores SIGTERM until it is killed ten seconds later, writes about itself to
 * child.json in its home, and listens on a port.
 */
export const server = (port = "${port.web}", ignores = 'process.on("SIGTERM", () => {});'): string[] =>
  node(
    `const { spawn } = require("node:child_process");
    const script = ${JSON.stringify(ignores)} + 'setInterval(() => {}, 1000); console.log("grandchild ready");';
    const grandchild = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    grandchild.stdout.once("data", () => {
      const { pid, env, argv } = process;
      const report = { pid, grandchild: grandchild.pid, env, argv, directory: process.cwd() };
      require("node:fs").writeFileSync(env.HOME + "/child.json", JSON.stringify(report));
      console.log("listening");
      require("node:http").createServer((_, response) => response.end("ok")).listen(Number(process.argv.at(-1)), "127.0.0.1");
    });`,
    port,
  );

/** Whether a process is running; a zombie is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !"ZX".includes(stat[stat.lastIndexOf(")") + 2]!);
  } catch {
    return false;
  }
}

/** The same with a grandchild that ends on SIGTERM. */
export const obedientServer = (): string[] => server(undefined, "");

export const readReport = (home: string): ChildReport =>
  JSON.parse(readFileSync(`${home}/child.json`, "utf8")) as ChildReport;

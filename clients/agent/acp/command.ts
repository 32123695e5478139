// The command of an agent whose task is served by a program that speaks the Agent Client Protocol.
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Manifest } from "../client.js";

/** The file of the agent program: this program, or the one that is built beside the daemon. */
function agentFile(): string {
  const own = realpathSync(process.argv[1]!);
  const places = [own, join(dirname(own), "agent.mjs"), join(dirname(own), "..", "agent.mjs")];
  const found = places.find((path) => basename(path).startsWith("agent") && path.endsWith(".mjs") && existsSync(path));
  if (found === undefined) throw new Error("The file agent.mjs, which runs programs that speak ACP, is missing.");
  return found;
}

/** The app of the task of a manifest, if its program speaks ACP; the app has no port. */
export const acpAppOf = ({ task, apps }: Manifest): string | undefined =>
  task?.protocol === "ACP" ? apps.find(({ slug }) => slug === task.app)?.slug : undefined;

/** Returns the command to start: the template's, or the process that runs it and speaks ACP with it. */
export function commandOf(manifest: Manifest): readonly string[] {
  const { command, task, secretEnv } = manifest;
  const app = acpAppOf(manifest);
  if (app === undefined || command.length === 0) return command;
  const secrets = secretEnv.map(({ name }) => name).join(",");
  const options = (["mode", "model", "effort"] as const).flatMap((name) => {
    const value = task![name];
    return value == null ? [] : [`--${name}=${value}`];
  });
  return [process.execPath, agentFile(), "acp", "--app", app, "--secrets", secrets, ...options, "--", ...command];
}

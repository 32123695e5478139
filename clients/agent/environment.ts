// The environment of the processes of a workspace: exactly what is listed here, and nothing of this program's own.
import { join } from "node:path";
import type { Manifest, NamedValue } from "./client.js";
import { conversationFile } from "./conversation.js";
import { markOf } from "./processes.js";

/** Where and as whom the processes of an agent run. */
export interface Place {
  home: string;
  /** Directory for temporary files. */
  temporary: string;
  /** Name of the user. */
  user: string;
}

/** Variables that are taken from the environment of this program. */
const inherited = ["PATH", "LANG", "TZ"];

/** The build's parameters as variables: `STEWARD_PARAM_` and the name in upper case, `-` as `_`. */
const variableOf = (parameter: string) => `STEWARD_PARAM_${parameter.toUpperCase().replaceAll("-", "_")}`;

const record = (entries: readonly NamedValue[]) => Object.fromEntries(entries.map(({ name, value }) => [name, value]));

/** Returns the environment of an agent's processes. Later entries replace earlier ones of the same name. */
export function environmentOf(
  manifest: Manifest,
  { home, temporary, user }: Place,
  steward: { url: string; token: string; parameters: readonly NamedValue[] },
): Record<string, string> {
  const own = inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const { workspaceId, workspaceName, ownerUsername, agentName, task } = manifest;
  const [markName = "", markValue = ""] = markOf(workspaceId).split("=");
  return {
    ...(Object.fromEntries(own) as Record<string, string>),
    HOME: home,
    USER: user,
    TMPDIR: temporary,
    ...record(manifest.env),
    ...record(manifest.secretEnv),
    STEWARD_URL: steward.url,
    STEWARD_AGENT_TOKEN: steward.token,
    [markName]: markValue,
    STEWARD_WORKSPACE_NAME: workspaceName,
    STEWARD_WORKSPACE_OWNER: ownerUsername,
    STEWARD_AGENT_NAME: agentName,
    STEWARD_TASK_ID: task?.id ?? "",
    STEWARD_TASK_PROMPT: task?.prompt ?? "",
    STEWARD_TASK_APP_TOKEN: task?.app && task.protocol === "AGENTAPI" ? task.appToken : "",
    STEWARD_TASK_CONVERSATION: task?.app && task.protocol === "AGENTAPI" ? join(home, conversationFile) : "",
    ...Object.fromEntries(steward.parameters.map(({ name, value }) => [variableOf(name), value])),
  };
}

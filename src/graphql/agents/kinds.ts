import { AgentLifecycle, AgentStatus } from "../../domain/agents/agents.js";
import { AgentSubsystem } from "../../domain/agents/agent-reports.js";
import { enumType } from "../engine/declarations.js";

enumType({ AgentStatus }, "The connection of an agent to the server.", {
  CONNECTING: "It has not connected yet.",
  TIMEOUT: "It has not connected in time.",
  CONNECTED: "It was seen in the last 30 seconds.",
  DISCONNECTED: "It reported its end, or has not been seen for 30 seconds.",
});

enumType(
  { AgentLifecycle },
  "State of an agent. States follow in this order; an agent that restarts is STARTING again.",
  {
    CREATED: "It has not started.",
    STARTING: "Its start scripts run.",
    START_TIMEOUT: "A start script takes longer than its timeout.",
    START_ERROR: "A start script failed.",
    READY: "All start scripts have ended.",
    SHUTTING_DOWN: "Its stop scripts run.",
    SHUTDOWN_TIMEOUT: "A stop script takes longer than its timeout.",
    SHUTDOWN_ERROR: "A stop script failed.",
    OFF: "It has ended.",
  },
);

enumType({ AgentSubsystem }, "A part of the environment that an agent runs in.", {
  ENVBOX: "A container with a container engine of its own.",
  ENVBUILDER: "A container built from the files of a repository.",
  EXECTRACE: "A log of all processes.",
});

/** Operating systems of agents. */
export const OperatingSystem = { LINUX: "linux", DARWIN: "darwin", WINDOWS: "windows" } as const;

enumType({ OperatingSystem }, "Operating system of an agent.", {
  LINUX: "Linux.",
  DARWIN: "macOS.",
  WINDOWS: "Windows.",
});

/** Processors of agents. */
export const AgentArchitecture = { AMD64: "amd64", ARM64: "arm64", ARMV7: "armv7" } as const;

enumType({ AgentArchitecture }, "Processor of an agent.", {
  AMD64: "64-bit x86.",
  ARM64: "64-bit ARM.",
  ARMV7: "32-bit ARM.",
});

/** Whether users wait for the start scripts of an agent. */
export const StartupScriptBehavior = { NON_BLOCKING: "non-blocking", BLOCKING: "blocking" } as const;

enumType({ StartupScriptBehavior }, "The effect of the start scripts of an agent on its users.", {
  NON_BLOCKING: "They enter the workspace immediately.",
  BLOCKING: "They enter the workspace once the scripts have ended.",
});

/** Built-in apps of dashboards. */
export const DisplayApp = {
  VSCODE: "vscode",
  VSCODE_INSIDERS: "vscode_insiders",
  WEB_TERMINAL: "web_terminal",
  PORT_FORWARDING_HELPER: "port_forwarding_helper",
  SSH_HELPER: "ssh_helper",
} as const;

enumType({ DisplayApp }, "A built-in app of dashboards.", {
  VSCODE: "VS Code.",
  VSCODE_INSIDERS: "VS Code Insiders.",
  WEB_TERMINAL: "A terminal in the browser.",
  PORT_FORWARDING_HELPER: "Help to open ports.",
  SSH_HELPER: "Help to connect with SSH.",
});

/** When the command of an agent is started again. */
export const AgentRestart = { NEVER: "never", ON_FAILURE: "on_failure" } as const;

enumType({ AgentRestart }, "When the command of an agent is started again.", {
  NEVER: "Never.",
  ON_FAILURE: "When it ended with an exit code other than 0.",
});

export { AgentSubsystem };

import { registerEnumType } from "type-graphql";
import { AgentLifecycle, AgentStatus } from "../../domain/agents/agents.js";
import { AgentSubsystem } from "../../domain/agents/reports.js";

registerEnumType(AgentStatus, {
  name: "AgentStatus",
  description: "Whether an agent is connected.",
  valuesConfig: {
    CONNECTING: { description: "It has not connected yet." },
    TIMEOUT: { description: "It has not connected in time." },
    CONNECTED: { description: "It was seen in the last 30 seconds." },
    DISCONNECTED: { description: "It reported its end, or has not been seen for 30 seconds." },
  },
});

registerEnumType(AgentLifecycle, {
  name: "AgentLifecycle",
  description: "State of an agent. States follow in this order; an agent that restarts is STARTING again.",
  valuesConfig: {
    CREATED: { description: "It has not started." },
    STARTING: { description: "Its start scripts run." },
    START_TIMEOUT: { description: "A start script takes longer than its timeout." },
    START_ERROR: { description: "A start script failed." },
    READY: { description: "All start scripts have ended." },
    SHUTTING_DOWN: { description: "Its stop scripts run." },
    SHUTDOWN_TIMEOUT: { description: "A stop script takes longer than its timeout." },
    SHUTDOWN_ERROR: { description: "A stop script failed." },
    OFF: { description: "It has ended." },
  },
});

registerEnumType(AgentSubsystem, {
  name: "AgentSubsystem",
  description: "A part of the environment that an agent runs in.",
  valuesConfig: {
    ENVBOX: { description: "A container with a container engine of its own." },
    ENVBUILDER: { description: "A container built from the files of a repository." },
    EXECTRACE: { description: "A log of all processes." },
  },
});

/** Operating systems of agents. */
export const OperatingSystem = { LINUX: "linux", DARWIN: "darwin", WINDOWS: "windows" } as const;

registerEnumType(OperatingSystem, {
  name: "OperatingSystem",
  description: "Operating system of an agent.",
  valuesConfig: {
    LINUX: { description: "Linux." },
    DARWIN: { description: "macOS." },
    WINDOWS: { description: "Windows." },
  },
});

/** Processors of agents. */
export const AgentArchitecture = { AMD64: "amd64", ARM64: "arm64", ARMV7: "armv7" } as const;

registerEnumType(AgentArchitecture, {
  name: "AgentArchitecture",
  description: "Processor of an agent.",
  valuesConfig: {
    AMD64: { description: "64-bit x86." },
    ARM64: { description: "64-bit ARM." },
    ARMV7: { description: "32-bit ARM." },
  },
});

/** Whether users wait for the start scripts of an agent. */
export const StartupScriptBehavior = { NON_BLOCKING: "non-blocking", BLOCKING: "blocking" } as const;

registerEnumType(StartupScriptBehavior, {
  name: "StartupScriptBehavior",
  description: "Whether users wait for the start scripts of an agent.",
  valuesConfig: {
    NON_BLOCKING: { description: "They enter the workspace immediately." },
    BLOCKING: { description: "They enter the workspace once the scripts have ended." },
  },
});

/** Built-in apps of dashboards. */
export const DisplayApp = {
  VSCODE: "vscode",
  VSCODE_INSIDERS: "vscode_insiders",
  WEB_TERMINAL: "web_terminal",
  PORT_FORWARDING_HELPER: "port_forwarding_helper",
  SSH_HELPER: "ssh_helper",
} as const;

registerEnumType(DisplayApp, {
  name: "DisplayApp",
  description: "A built-in app of dashboards.",
  valuesConfig: {
    VSCODE: { description: "VS Code." },
    VSCODE_INSIDERS: { description: "VS Code Insiders." },
    WEB_TERMINAL: { description: "A terminal in the browser." },
    PORT_FORWARDING_HELPER: { description: "Help to open ports." },
    SSH_HELPER: { description: "Help to connect with SSH." },
  },
});

/** When the command of an agent is started again. */
export const AgentRestart = { NEVER: "never", ON_FAILURE: "on_failure" } as const;

registerEnumType(AgentRestart, {
  name: "AgentRestart",
  description: "When the command of an agent is started again.",
  valuesConfig: {
    NEVER: { description: "Never." },
    ON_FAILURE: { description: "When it ended with an exit code other than 0." },
  },
});

export { AgentSubsystem };

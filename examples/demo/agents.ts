import { randomUUID } from "node:crypto";
import type { Client } from "./client.js";

const lines = ["Cloning the repository", "Installing the packages", "Ready"];

/** The token of the agent of a workspace, which runs outside of the daemon. */
export async function credentialOf(owner: Client, workspaceId: string): Promise<string> {
  const { externalAgentCredentials } = await owner.run(
    `query ($id: UUID!) { externalAgentCredentials(workspaceId: $id, agentName: "main") { agentToken } }`,
    { id: workspaceId },
  );
  return externalAgentCredentials.agentToken as string;
}

/** Speaks for an agent, as a program on its machine would. Returns its client. */
export async function speakFor(agent: Client, app?: string): Promise<Client> {
  await agent.mutate("reportAgentStartup", { version: "1.0.0", expandedDirectory: "/home/dev" });
  await agent.run("mutation { agentHeartbeat { shutdown } }");
  await agent.mutate("reportAgentLifecycle", { state: "STARTING" });
  const logs = lines.map((output) => ({ createdAt: new Date().toISOString(), level: "INFO", output }));
  await agent.mutate("appendAgentLogs", { logs });
  await agent.mutate("reportAgentLifecycle", { state: "READY" });
  if (app) await agent.mutate("reportAppHealth", { apps: [{ slug: app, health: "HEALTHY" }] });
  return agent;
}

const minutes = (count: number) => new Date(Date.now() - count * 60_000).toISOString();

/** Reports connections to a workspace: one that ended, and one that is open. */
export async function visit(agent: Client): Promise<void> {
  const ended = randomUUID();
  const open = randomUUID();
  const events = [
    { kind: "CONNECT", type: "SSH", connectionId: ended, time: minutes(9) },
    { kind: "DISCONNECT", type: "SSH", connectionId: ended, time: minutes(4), disconnectReason: "logout", exitCode: 0 },
    { kind: "CONNECT", type: "VSCODE", connectionId: open, time: minutes(3) },
  ];
  await agent.mutate("recordConnections", {
    events: events.map((event) => ({ id: randomUUID(), ip: "203.0.113.24", ...event })),
  });
}

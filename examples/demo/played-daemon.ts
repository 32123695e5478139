// Daemons that the demonstration plays: that of the company's rack of boards, and, for the month before today, that of its
// workspaces. They speak the documented protocol of daemons (docs/daemon-protocol.md).
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import type { Data } from "./client.js";

const work = `subscription ($slots: Int!) { provisionerWorkReceived(slots: $slots) { __typename
  ... on ProvisionerJobAssigned { jobId lease type assignment { document transition workspace { id name } } } } }`;

interface Play {
  /** The provisioner of its jobs. */
  type: string;
  /** Its name. */
  name: string;
  /** What a start, a stop, and a deletion do, in lines of their logs. */
  steps: Record<string, string[]>;
  /** Why every fourth start fails. */
  shortage?: string;
  /** Called when an agent has got its token. */
  onAgent: (workspaceId: string, token: string) => void;
  /** Called when a workspace was started. */
  onStarted?: (workspaceId: string) => void;
}

export interface PlayedDaemon {
  /** Milliseconds that each step of a build takes. */
  pace: number;
  close: () => Promise<void>;
}

/** Connects the daemon, and again whenever the connection is lost, until it is closed. */
export function playDaemon(url: string, key: string, play: Play): PlayedDaemon {
  const { type: offered, name, steps, shortage, onAgent, onStarted } = play;
  let starts = 0;
  const client = createClient({
    url: `${url.replace("http", "ws")}/api/v2/organizations/default/provisionerdaemons/serve?provisioner=${offered}&name=${name}&version=1.0`,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { "Service-Provisioner-Key": key, "Service-Build-Version": "4.2.0" } });
      }
    },
    retryAttempts: Infinity,
    shouldRetry: () => true,
    lazy: false,
    onNonLazyError: () => {},
  });
  const played = { pace: 0, close: async () => client.dispose() };

  async function mutate(field: string, fields: string, input: object): Promise<Data> {
    const inputType = `${field[0]!.toUpperCase()}${field.slice(1)}Input`;
    const query = `mutation ($input: ${inputType}!) { ${field}(input: $input) { ${fields} } }`;
    for await (const { data, errors } of client.iterate<Data>({ query, variables: { input } })) {
      if (errors) throw new Error(errors[0]!.message);
      return data[field];
    }
    throw new Error("The connection was lost.");
  }

  async function build({ jobId, lease, type, assignment }: Data): Promise<void> {
    const held = { jobId, lease };
    const { document, workspace } = assignment;
    const transition = (assignment.transition ?? "START") as string;
    const isBuild = type === "WORKSPACE_BUILD";
    await mutate("acceptProvisionerJob", "expiresAt", held);
    const fits = ({ transitions = ["start"] }: Data) => transitions.includes(transition.toLowerCase());
    if (transition !== "DELETE") {
      const resources = rendered((document.resources as Data[]).filter(fits));
      const { agents } = await mutate("reportProvisionerResources", "agents { token }", { ...held, resources });
      for (const { token } of agents) if (isBuild && token) onAgent(workspace.id as string, token as string);
    }
    const isShort = shortage !== undefined && isBuild && transition === "START" && ++starts % 4 === 0;
    const lines = isBuild ? steps[transition]!.slice(0, isShort ? 1 : undefined) : ["The template is complete"];
    for (const [at, output] of lines.entries()) {
      const line = { sequence: at + 1, createdAt: new Date().toISOString(), level: "INFO", source: "PROVISIONER" };
      await mutate("updateProvisionerJob", "expiresAt", { ...held, logs: [{ ...line, stage: "Build", output }] });
      await delay(played.pace);
    }
    if (isShort) return void (await mutate("failProvisionerJob", "status", { ...held, error: shortage }));
    await mutate("completeProvisionerJob", "status", held);
    if (isBuild && transition === "START") onStarted?.(workspace.id as string);
  }

  client.subscribe<{ provisionerWorkReceived: Data }>(
    { query: work, variables: { slots: 8 } },
    {
      next: ({ data }) => {
        const job = data?.provisionerWorkReceived;
        // A job whose lease is lost has ended, or another daemon does it.
        if (job?.__typename === "ProvisionerJobAssigned") build(job).catch(() => {});
      },
      error: () => {},
      complete: () => {},
    },
  );
  return played;
}

/** Resources with values for their references, which are those of a daemon that starts nothing. */
const rendered = (resources: Data[]): Data[] =>
  JSON.parse(
    JSON.stringify(resources)
      .replaceAll("${host.address}", "127.0.0.1")
      .replace(/\$\{port\.[^}]+\}/g, "9")
      .replace(/\$\{[^}]+\}/g, "none"),
  ) as Data[];

/** The daemon of the board farm, which has no board free for every fourth start. */
export const boardFarm = {
  type: "board-farm",
  name: "rack-3",
  steps: {
    START: ["Reserving a board", "Flashing the boot loader", "Checking the serial console", "The board responds"],
    STOP: ["Switching the board off", "Returning it to the rack"],
    DELETE: ["Erasing the flash memory", "Returning the board to the rack"],
  },
  shortage: "No board is free in rack 3: 8 of 8 are reserved. Try again when another workspace has stopped.",
};

/** The daemon of workspaces and tasks in the month before today. */
export const workshop = {
  type: "process",
  name: "workshop-1",
  steps: { START: ["Starting the programs"], STOP: ["Ending the programs"], DELETE: ["Deleting the files"] },
};

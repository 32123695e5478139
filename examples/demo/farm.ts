// The daemon of the company's rack of boards. It speaks the documented protocol of daemons (docs/daemon-protocol.md), takes
// jobs of the type `board-farm`, and has no board free for every fourth start.
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import type { Data } from "./client.js";

const work = `subscription ($slots: Int!) { provisionerWorkReceived(slots: $slots) { __typename
  ... on ProvisionerJobAssigned { jobId lease type assignment { document transition workspace { name } } } } }`;

const steps: Record<string, string[]> = {
  START: ["Reserving a board", "Flashing the boot loader", "Checking the serial console", "The board answers"],
  STOP: ["Switching the board off", "Returning it to the rack"],
  DELETE: ["Erasing the flash memory", "Returning the board to the rack"],
};

const noBoard = "No board is free in rack 3: 8 of 8 are reserved. Try again when somebody has stopped a workspace.";

export interface Farm {
  /** Milliseconds that each step of a build takes. */
  pace: number;
  close: () => Promise<void>;
}

/** Connects the daemon, and again whenever the connection is lost, until it is closed. */
export function runFarm(url: string, key: string): Farm {
  let starts = 0;
  const client = createClient({
    url: `${url.replace("http", "ws")}/api/v2/organizations/default/provisionerdaemons/serve?provisioner=board-farm&name=rack-3&version=1.0`,
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
  const farm = { pace: 0, close: async () => client.dispose() };

  async function mutate(name: string, fields: string, input: object): Promise<void> {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
    const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`;
    for await (const { errors } of client.iterate({ query, variables: { input } }))
      if (errors) throw new Error(errors[0]!.message);
  }

  async function build({ jobId, lease, type, assignment }: Data): Promise<void> {
    const held = { jobId, lease };
    const transition = (assignment.transition ?? "START") as string;
    const isBuild = type === "WORKSPACE_BUILD";
    await mutate("acceptProvisionerJob", "expiresAt", held);
    const fits = ({ transitions = ["start"] }: Data) => transitions.includes(transition.toLowerCase());
    if (transition !== "DELETE")
      await mutate("reportProvisionerResources", "dailyCost", {
        ...held,
        resources: (assignment.document.resources as Data[]).filter(fits),
      });
    const isShort = isBuild && transition === "START" && ++starts % 4 === 0;
    const lines = isBuild ? steps[transition]!.slice(0, isShort ? 1 : undefined) : ["The template is complete"];
    for (const [at, output] of lines.entries()) {
      const line = { sequence: at + 1, createdAt: new Date().toISOString(), level: "INFO", source: "PROVISIONER" };
      await mutate("updateProvisionerJob", "expiresAt", { ...held, logs: [{ ...line, stage: "Board", output }] });
      await delay(farm.pace);
    }
    if (isShort) await mutate("failProvisionerJob", "status", { ...held, error: noBoard });
    else await mutate("completeProvisionerJob", "status", held);
  }

  client.subscribe<{ provisionerWorkReceived: Data }>(
    { query: work, variables: { slots: 4 } },
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
  return farm;
}

// A provisioner daemon written with nothing but a client of graphql-transport-ws and the documented operations, as anyone
// could write one. It shares no code with the provisioner of this project.
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";

const work = `subscription Work($slots: Int!) { provisionerWorkReceived(slots: $slots) { __typename
  ... on ProvisionerJobAssigned { jobId lease expiresAt type tags
    assignment { document variables { name value } parameters { name value }
      transition buildNumber claim state accessUrl
      workspace { id name owner { id username } } task { id prompt } } }
  ... on ProvisionerJobCancelRequested { jobId }
  ... on ProvisionerDrainRequested { reason } } }`;

interface Assigned {
  __typename: string;
  jobId: string;
  lease: string;
  type: string;
  assignment: {
    document: { resources?: Array<{ transitions?: string[] }>; source?: unknown };
    transition: string | null;
    state: unknown;
  };
}

/** An agent of a build, with the token with which it reports. */
export interface PlainAgent {
  name: string;
  token: string;
}

/** Does a job, once its resources were reported. Resolves to the state for the next build. */
export type PlainWork = (
  job: Assigned,
  log: (lines: string[]) => Promise<void>,
  agents: PlainAgent[],
) => Promise<unknown>;

const nothing: PlainWork = async (_job, log) => log(["Nothing to do."]);

/** Serves jobs one after the other. Resolves to the ID of a job once it has ended with success. */
export async function* plainDaemon(
  url: string,
  key: string,
  type: string,
  name: string,
  carryOut: PlainWork = nothing,
): AsyncGenerator<string> {
  const query = `provisioner=${type}&name=${name}&version=1.0`;
  const client = createClient({
    url: `${url.replace("http", "ws")}/api/v2/organizations/default/provisionerdaemons/serve?${query}`,
    webSocketImpl: class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { headers: { "Service-Provisioner-Key": key } });
      }
    },
    retryAttempts: 0,
  });
  const mutate = async (mutation: string, selection: string, input: object) => {
    const inputType = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`;
    const document = `mutation ($input: ${inputType}!) { ${mutation}(input: $input) { ${selection} } }`;
    let payload: unknown;
    for await (const { data, errors } of client.iterate({ query: document, variables: { input } })) {
      if (errors) throw new Error(JSON.stringify(errors));
      payload = data![mutation];
    }
    return payload;
  };
  try {
    for await (const { data } of client.iterate<{ provisionerWorkReceived: Assigned }>({
      query: work,
      variables: { slots: 1 },
    })) {
      const job = data!.provisionerWorkReceived;
      if (job.__typename !== "ProvisionerJobAssigned") continue;
      const held = { jobId: job.jobId, lease: job.lease };
      const transition = (job.assignment.transition ?? "START").toLowerCase();
      const resources = (job.assignment.document.resources ?? []).filter(({ transitions = ["start"] }) =>
        transitions.includes(transition),
      );
      let sequence = 0;
      const log = async (lines: string[]) => {
        const line = { level: "INFO", source: "PROVISIONER", stage: "Plan", createdAt: new Date().toISOString() };
        const logs = lines
          .slice(0, 100)
          .map((output) => ({ ...line, sequence: ++sequence, output: output.slice(0, 1000) }));
        await mutate("updateProvisionerJob", "expiresAt cancelRequested logsOverflowed", { ...held, logs });
      };
      await mutate("acceptProvisionerJob", "expiresAt", held);
      const selected = "dailyCost agents { name token }";
      const reported = await mutate("reportProvisionerResources", selected, { ...held, resources });
      const state = await carryOut(job, log, (reported as { agents: PlainAgent[] }).agents);
      await mutate("completeProvisionerJob", "status", { ...held, ...(state !== undefined && { state }) });
      yield job.jobId;
    }
  } finally {
    await client.dispose();
  }
}

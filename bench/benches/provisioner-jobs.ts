import { createHash } from "node:crypto";
import { WebSocket } from "ws";
import { measureCost } from "../cost.js";
import { ids, numbered } from "../data.js";
import { withClient } from "../postgres.js";
import type { ServerProcess } from "../process.js";
import type { Goal } from "../report.js";
import { holdRounds, type Round, type Score } from "../rounds.js";
import { type Bench, type Run, type Start, startScript } from "../run.js";
import { startSteward } from "../steward.js";

/** Jobs of a measurement, after those that warm up. */
const jobs = { warmUp: 2_000, measured: 10_000 };

const daemons = 20;
const slots = 4;

/** At least 0.3 times the jobs of the floor at the same cost, and 0.6 times if possible. */
const goal: Goal = { limit: 4, aim: 2 };

interface Contestant {
  name: string;
  start: Start;
  /** Works until all queued jobs have ended. */
  work: (server: ServerProcess, count: number) => Promise<void>;
}

const byHand: Contestant = {
  name: "SKIP LOCKED by hand",
  start: startScript("floors/provisioner-jobs.ts"),
  async work({ url }, count) {
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ count }) });
    if (response.status !== 204) throw new Error(await response.text());
  },
};

const steward: Contestant = {
  name: "Steward, accept, report and complete",
  start: (run) => startSteward(run, { STEWARD_BUILTIN_DAEMON: "false" }),
  async work(server, count) {
    const done = new Set<string>();
    await new Promise<void>((resolve, reject) => {
      const sockets = Array.from({ length: daemons }, () =>
        daemon(server, reject, (jobId) => {
          if (done.has(jobId)) reject(new Error(`The job ${jobId} was carried out twice.`));
          if (done.add(jobId).size < count) return;
          for (const socket of sockets) socket.terminate();
          resolve();
        }),
      );
    });
  },
};

const secret = "b".repeat(43);
const [documentId, templateId, versionId, keyId] = ["1", "2", "3", "4"].map((kind) => numbered(kind, 77_777));
const resource = {
  name: "box",
  type: "",
  icon: "",
  display_name: "",
  description: "",
  hide: false,
  daily_cost: 0,
  transitions: ["start"],
  metadata: [],
  agents: [],
};
const document = {
  schema: "steward.template/1",
  provisioner: "echo",
  tags: {},
  variables: [],
  parameters: [],
  presets: [],
  resources: [resource],
};

/** Queues jobs, after those of earlier measurements are deleted. */
const queue = (run: Run, count: number): Promise<void> =>
  withClient(run.databaseUrl, async (client) => {
    const owner = ids.user(0);
    await client.query("delete from provisioner_jobs");
    await client.query(
      `insert into template_documents (id, organization_id, sha256, content, created_at)
       values ($1, $2, '\\x00', $3, now()) on conflict do nothing`,
      [documentId, ids.organization, document],
    );
    await client.query(
      `insert into templates (id, created_at, updated_at, organization_id, name, creator_id)
       values ($1, now(), now(), $2, 'bench', $3) on conflict do nothing`,
      [templateId, ids.organization, owner],
    );
    await client.query(
      `insert into template_versions (id, created_at, updated_at, template_id, name, document_id, creator_id, job_id)
       values ($1, now(), now(), $2, 'v1', $3, $4, $1) on conflict do nothing`,
      [versionId, templateId, documentId, owner],
    );
    await client.query(
      `insert into provisioner_keys (id, organization_id, name, secret_hash, tags, creator_id, created_at)
       values ($1, $2, 'bench', $3, '{}', $4, now()) on conflict do nothing`,
      [keyId, ids.organization, createHash("sha256").update(secret).digest(), owner],
    );
    await client.query(
      `insert into provisioner_jobs (id, created_at, organization_id, type, provisioner, tags, initiator_id, document_id,
         version_id)
       select gen_random_uuid(), now() + n * interval '1 ms' - interval '1 minute', $1, 'template_version_dry_run',
         'echo', '{"scope":"organization","owner":""}', $2, $3, $4
       from generate_series(1, $5::int) n`,
      [ids.organization, owner, documentId, versionId, count],
    );
    await client.query("vacuum analyze provisioner_jobs");
  });

const mutation = (verb: string, selected: string) => {
  const type = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input`;
  return `mutation($input: ${type}!) { ${verb}(input: $input) { ${selected} } }`;
};

/** The requests of a daemon for a job, in order. */
const steps = [
  { query: mutation("acceptProvisionerJob", "expiresAt"), more: {} },
  { query: mutation("reportProvisionerResources", "dailyCost"), more: { resources: [resource] } },
  { query: mutation("completeProvisionerJob", "status"), more: {} },
];

const work = `subscription { provisionerWorkReceived(slots: ${slots}) { __typename
  ... on ProvisionerJobAssigned { jobId lease assignment { document parameters { name value } transition } } } }`;

interface Message {
  type: string;
  id: string;
  payload?: { data?: { provisionerWorkReceived?: { jobId: string; lease: string } }; errors?: unknown };
}

/** Connects a daemon that carries out all jobs it gets. */
function daemon({ url }: ServerProcess, fail: (error: Error) => void, onDone: (jobId: string) => void): WebSocket {
  const path = `/api/v2/organizations/${ids.organization}/provisionerdaemons/serve?provisioner=echo`;
  const socket = new WebSocket(new URL(path, url.href.replace("http", "ws")), "graphql-transport-ws", {
    headers: { "Service-Provisioner-Key": `stwk_${secret}` },
  });
  const send = (message: object) => socket.send(JSON.stringify(message));
  const leases = new Map<string, string>();
  const step = (jobId: string, nr: number) => {
    const { query, more } = steps[nr]!;
    const input = { jobId, lease: leases.get(jobId), ...more };
    send({ type: "subscribe", id: `${nr} ${jobId}`, payload: { query, variables: { input } } });
  };
  socket.on("error", fail);
  socket.on("open", () => send({ type: "connection_init" }));
  socket.on("message", (data: Buffer) => {
    const { type, id, payload } = JSON.parse(data.toString()) as Message;
    if (type === "connection_ack") send({ type: "subscribe", id: "work", payload: { query: work } });
    if (type === "error" || payload?.errors) fail(new Error(data.toString()));
    if (type !== "next") return;
    if (id === "work") {
      const { jobId, lease } = payload!.data!.provisionerWorkReceived!;
      leases.set(jobId, lease);
      return step(jobId, 0);
    }
    const [nr, jobId] = id.split(" ") as [string, string];
    if (Number(nr) + 1 < steps.length) return step(jobId, Number(nr) + 1);
    leases.delete(jobId);
    onDone(jobId);
  });
  return socket;
}

async function play(contestants: readonly Contestant[], run: Run): Promise<Round> {
  const round = new Map<string, Score>();
  for (const { name, start, work: carryOut } of contestants) {
    run.progress(name);
    await using server = await start(run);
    await queue(run, jobs.warmUp);
    await carryOut(server, jobs.warmUp);
    await queue(run, jobs.measured);
    const stop = measureCost(server, run.postgres);
    const since = performance.now();
    await carryOut(server, jobs.measured);
    const perSecond = (jobs.measured * 1_000) / (performance.now() - since);
    round.set(name, { ...stop(jobs.measured), perSecond });
  }
  return round;
}

/** The cost of 10,000 jobs that 20 daemons carry out. */
export const provisionerJobsBench: Bench = {
  name: "provisioner-jobs",
  measure(run) {
    const pairs = [{ of: steward.name, against: byHand.name, goal }];
    return holdRounds("provisioner jobs", [byHand, steward], pairs, play, run);
  },
};

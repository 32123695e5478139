import { createHash } from "node:crypto";
import { measureCost } from "../cost.js";
import { Daemon, type Job } from "../daemon.js";
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
    using connected = new DisposableStack();
    const done = new Set<string>();
    await new Promise<void>((resolve, reject) => {
      for (let nr = 0; nr < daemons; nr++) {
        const onJob = async (job: Job) => {
          await carryOutJob(daemon, job);
          if (done.has(job.jobId)) throw new Error(`The job ${job.jobId} was carried out twice.`);
          if (done.add(job.jobId).size === count) resolve();
        };
        const daemon: Daemon = connected.use(
          new Daemon({
            url: server.url,
            organization: ids.organization,
            key: `stwk_${secret}`,
            provisioner: "echo",
            name: `bench-${nr}`,
            slots,
            onJob: (job) => void onJob(job).catch(reject),
          }),
        );
        daemon.ready.catch(reject);
      }
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

async function carryOutJob(daemon: Daemon, { jobId, lease }: Job): Promise<void> {
  const held = { jobId, lease };
  await daemon.call("acceptProvisionerJob", "expiresAt", held);
  await daemon.call("reportProvisionerResources", "dailyCost", { ...held, resources: [resource] });
  await daemon.call("completeProvisionerJob", "status", held);
}

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

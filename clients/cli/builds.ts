// Builds: waiting for them, and their logs.
import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "./api.js";
import {
  AgentLogAppended,
  AgentLog,
  Job,
  type JobQuery,
  JobLog,
  JobLogAppended,
  type JobLogAppendedSubscription,
} from "./builds.gql.js";
import { Failed, Interrupted } from "./failures.js";
import type { Output } from "./output.js";

type Line = Pick<JobLogAppendedSubscription["line"], "id" | "output" | "createdAt" | "level"> & { stage?: string };

/** A command at work. */
export interface Work {
  api: Api;
  output: Output;
  signal: AbortSignal;
}

const textOf = ({ stage, output }: Line) => (stage ? `${stage}: ${output}` : output);

type Waiting = Pick<NonNullable<JobQuery["provisionerJob"]>, "status" | "provisioner" | "matchedProvisioners">;

/** Returns a function that says why a job waits for a daemon, whenever that has changed. */
export function waitReporter(output: Output): (job: Waiting) => void {
  let said = "";
  return ({ status, provisioner, matchedProvisioners: { count, available } }) => {
    if (status !== "PENDING") return;
    const none =
      count === 0 ? "there is none yet" : count === 1 ? "the only one is offline" : `all ${count} are offline`;
    const reason = available > 0 ? "" : `Waiting for a provisioner daemon that offers ${provisioner}: ${none}.`;
    if (reason === said) return;
    said = reason;
    output.note(reason || "A provisioner daemon is online now.");
  };
}

/** Milliseconds from one question for the daemons of a job that waits to the next. */
const interval = 2_000;

/** Says why a job waits, until it does not wait any more. The server may be away meanwhile. */
async function reportWait(api: Api, jobId: string, output: Output, signal: AbortSignal): Promise<void> {
  const report = waitReporter(output);
  while (!signal.aborted) {
    const { provisionerJob } = await api.run(Job, { id: jobId }).catch(() => ({ provisionerJob: undefined }));
    if (provisionerJob && provisionerJob.status !== "PENDING") return;
    if (provisionerJob && !signal.aborted) report(provisionerJob);
    await sleep(interval, undefined, { signal }).catch(() => {});
  }
}

/** Waits for the end of a build, and shows its log meanwhile. Throws `Failed` with the reason if it fails. */
export async function awaitSuccess(work: Work, jobId: string, what: string): Promise<void> {
  const { status, error } = await awaitEnd(work, jobId, what);
  if (status === "FAILED") throw new Failed(`${what} failed: ${error ?? "no reason was given."}`);
  if (status === "CANCELED") throw new Failed(`${what} was canceled.`);
}

/** Waits for the end of a build, and shows its log meanwhile. Returns how it ended. */
export async function awaitEnd(
  { api, output, signal }: Work,
  jobId: string,
  what: string,
): Promise<{ status: "SUCCEEDED" | "FAILED" | "CANCELED"; error: string | null }> {
  const over = new AbortController();
  const wait = reportWait(api, jobId, output, AbortSignal.any([signal, over.signal]));
  try {
    await followJob(api, jobId, (line) => output.note(textOf(line)));
  } finally {
    over.abort();
    await wait;
  }
  for (;;) {
    if (signal.aborted) throw new Interrupted(`Interrupted. ${what} goes on.`);
    const { provisionerJob } = await api.run(Job, { id: jobId });
    const { status, error } = provisionerJob ?? { status: "CANCELED", error: null };
    if (status === "SUCCEEDED" || status === "FAILED" || status === "CANCELED") return { status, error };
    await sleep(500, undefined, { signal }).catch(() => {});
  }
}

/** Shows lines as they come. `live` subscribes to those after the last one, also after a lost connection. */
async function follow(
  live: (after: () => string | null) => AsyncIterable<{ line: Line }>,
  show: (line: Line) => void,
): Promise<void> {
  let last: string | null = null;
  for await (const { line } of live(() => last)) {
    last = line.id;
    show(line);
  }
}

/** Shows the log of a job until it has ended. */
const followJob = (api: Api, jobId: string, show: (line: Line) => void): Promise<void> =>
  follow((after) => api.live(JobLogAppended, () => ({ jobId, after: after() })), show);

const followAgent = (api: Api, agentId: string, show: (line: Line) => void): Promise<void> =>
  follow((after) => api.live(AgentLogAppended, () => ({ agentId, after: after() })), show);

/** A build, and the agents that it has started. */
interface Logged {
  jobId: string;
  agents: () => Promise<ReadonlyArray<{ id: string; name: string }>>;
}

/** Prints the logs of a build and its agents: as they are, or also what comes, until the user interrupts. */
export async function showLogs({ api, output }: Work, { jobId, agents }: Logged, isFollowed: boolean): Promise<void> {
  const show = (source: string, prefix: string) => (line: Line) =>
    output.output({ source, ...line }, prefix + textOf(line));
  if (isFollowed) await followJob(api, jobId, show("build", ""));
  else
    await pages(async (after) => (await api.run(JobLog, { id: jobId, after })).provisionerJob?.logs, show("build", ""));
  const started = await agents();
  const showAgent = (name: string) => show(name, started.length > 1 ? `${name}: ` : "");
  if (isFollowed) await Promise.all(started.map(({ id, name }) => followAgent(api, id, showAgent(name))));
  else
    for (const { id, name } of started)
      await pages(async (after) => (await api.run(AgentLog, { id, after })).workspaceAgent?.logs, showAgent(name));
}

interface Page {
  nodes: Line[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

async function pages(
  read: (after: string | null) => Promise<Page | undefined>,
  show: (line: Line) => void,
): Promise<void> {
  for (let after: string | null = null; ;) {
    const page: Page | undefined = await read(after);
    page?.nodes.forEach(show);
    if (!page?.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}

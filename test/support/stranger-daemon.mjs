/**
 * A provisioner daemon that was written from docs/daemon-protocol.md alone, by an author who had not seen Steward's own. It
 * knows nothing of the server but these pages, and speaks the protocol with the package `ws` and no library of GraphQL.
 *
 * Its workspaces are files, `<directory>/workspaces/<ID>.json`, and nothing runs in them. What else a job does is a list in
 * the `source` of the template document, by what the job is for:
 *
 *     "source": { "import": [], "plan": [], "start": [{ "log": "Hello", "until": "ready" }, { "fail": "No disk" }] }
 *
 * `until` waits for a file of the name in the directory, `fail` fails.
 *
 * It reads its settings from the environment: STEWARD_URL, STEWARD_PROVISIONER_KEY, STRANGER_DIR, and, optionally,
 * STRANGER_NAME, STRANGER_ORGANIZATION, STRANGER_TYPES, and STRANGER_SLOTS.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

const {
  STEWARD_URL: server,
  STEWARD_PROVISIONER_KEY: key,
  STRANGER_DIR: directory,
  STRANGER_NAME: name = hostname(),
  STRANGER_ORGANIZATION: organization = "default",
  STRANGER_TYPES: types = "stranger",
  STRANGER_SLOTS: slots = "4",
} = process.env;

const SECOND = 1000;

/** Prints a line about the daemon. */
function say(line) {
  process.stdout.write(`${line}\n`);
}

/** Ends the daemon with a reason that it cannot do anything about. */
function die(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

if (!server || !key || !directory) die("Set STEWARD_URL, STEWARD_PROVISIONER_KEY, and STRANGER_DIR.");

// --- The connection --------------------------------------------------------------------------------------------------------

const WORK = `subscription Work($slots: Int!) {
  provisionerWorkReceived(slots: $slots) {
    __typename
    ... on ProvisionerJobAssigned {
      jobId lease type
      assignment {
        document parameters { name value } variables { name value } transition buildNumber claim state
        workspace { id name owner { id username } } task { id prompt }
      }
    }
    ... on ProvisionerJobCancelRequested { jobId }
    ... on ProvisionerDrainRequested { reason }
  }
}`;

/** An operation that the server rejected. */
class Rejected extends Error {
  constructor(errors) {
    super(errors.map((error) => error.message).join(" "));
    this.code = errors[0]?.extensions?.code;
    this.reason = errors[0]?.extensions?.reason;
    const { validations } = errors[0]?.extensions ?? {};
    if (validations) this.message += ` ${JSON.stringify(validations)}`;
  }
}

/** The socket while it can take operations. */
let socket = null;

/** Called with the socket as soon as it can take operations. */
let waiting = [];

/** The calls that have no response yet, by their IDs. */
const calls = new Map();
let lastCall = 0;

/** Whether the daemon ends, and takes no more jobs. */
let ending = false;

function send(message) {
  socket?.send(JSON.stringify(message));
}

/** Calls a mutation once. Resolves with null if the connection ends before its response. */
async function attempt(query, input) {
  if (!socket) await new Promise((resolve) => waiting.push(resolve));
  return new Promise((resolve, reject) => {
    const id = `call-${++lastCall}`;
    calls.set(id, { resolve, reject });
    send({ id, type: "subscribe", payload: { query, variables: { input } } });
  });
}

/** Calls a mutation until the server responds to it: all of them may be repeated. */
async function call(query, input) {
  for (let pause = 1; ; pause = Math.min(pause * 2, 30)) {
    try {
      const data = await attempt(query, input);
      if (data) return Object.values(data)[0];
    } catch (error) {
      if (error.code !== "UNAVAILABLE" && error.code !== "INTERNAL_SERVER_ERROR") throw error;
      await sleep(pause * SECOND);
    }
  }
}

/** Handles a message of the server. */
function receive({ type, id, payload }, opened) {
  if (type === "connection_ack") {
    socket = opened;
    if (!ending) send({ id: "work", type: "subscribe", payload: { query: WORK, variables: { slots: Number(slots) } } });
    for (const resolve of waiting.splice(0)) resolve();
    say(`Connected as ${name}.`);
  } else if (type === "ping") {
    send({ type: "pong" });
  } else if (id === "work") {
    if (type === "next" && payload.data) hear(payload.data.provisionerWorkReceived);
    else if (type === "error" || payload?.errors)
      die(`Not subscribed: ${new Rejected(payload.errors ?? payload).message}`);
    else if (type === "complete" && !ending) opened.close(1000);
  } else if (calls.has(id)) {
    const { resolve, reject } = calls.get(id);
    calls.delete(id);
    if (type === "error") reject(new Rejected(payload));
    else if (payload?.errors) reject(new Rejected(payload.errors));
    else resolve(payload?.data ?? null);
  }
}

/** Connects once. Resolves at the end of the connection, with a close code or with the status of a rejection. */
function connect() {
  const url = new URL(`/api/v2/organizations/${organization}/provisionerdaemons/serve`, server);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = String(new URLSearchParams({ provisioner: types, name, version: "1.0" }));
  return new Promise((resolve) => {
    const opened = new WebSocket(url, "graphql-transport-ws", {
      headers: { "Service-Provisioner-Key": key, "Service-Build-Version": "stranger-1" },
      handshakeTimeout: 10 * SECOND,
    });
    let silence;
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(() => opened.terminate(), 60 * SECOND);
    };
    opened.on("open", () => {
      listen();
      opened.send(JSON.stringify({ type: "connection_init" }));
    });
    opened.on("ping", listen);
    opened.on("message", (data) => {
      listen();
      receive(JSON.parse(String(Buffer.from(data))), opened);
    });
    opened.on("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode, text: body }));
    });
    opened.on("error", (error) => resolve({ text: error.message }));
    opened.on("close", (code, reason) => {
      clearTimeout(silence);
      socket = null;
      for (const [id, { resolve: lost }] of calls) {
        calls.delete(id);
        lost(null);
      }
      resolve({ code, text: String(reason) });
    });
  });
}

/** Close codes after which connecting again is of no use. */
const FATAL_CODES = new Set([1009, 4400, 4403, 4408, 4409, 4410, 4429]);

/** Stays connected until the daemon ends. */
async function stayConnected() {
  for (let pause = 1; ; pause = Math.min(pause * 2, 30)) {
    const since = Date.now();
    const { status, code, text } = await connect();
    if (ending && jobs.size === 0) return;
    const isRejected = status && status !== 408 && status !== 429 && status < 500;
    if (isRejected) die(`The server rejects the daemon with status ${status}: ${text}`);
    if (FATAL_CODES.has(code)) die(`The server closed the connection with code ${code}: ${text}`);
    say(`Not connected (${status ?? code ?? "no response"}): ${text}`);
    if (Date.now() - since > 30 * SECOND) pause = 1;
    await sleep(pause * SECOND * (0.5 + Math.random() / 2));
  }
}

// --- Jobs ------------------------------------------------------------------------------------------------------------------

const ACCEPT = `mutation ($input: AcceptProvisionerJobInput!) { acceptProvisionerJob(input: $input) { expiresAt } }`;
const REPORT = `mutation ($input: ReportProvisionerResourcesInput!) { reportProvisionerResources(input: $input) { dailyCost } }`;
const LOG = `mutation ($input: UpdateProvisionerJobInput!) { updateProvisionerJob(input: $input) { cancelRequested } }`;
const COMPLETE = `mutation ($input: CompleteProvisionerJobInput!) { completeProvisionerJob(input: $input) { status } }`;
const FAIL = `mutation ($input: FailProvisionerJobInput!) { failProvisionerJob(input: $input) { status } }`;

/** The jobs in progress, by their IDs. */
const jobs = new Map();

const jobFiles = () => join(directory, "jobs", name);

/** Reads a file of JSON; null if there is none. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

/** Writes a file of JSON so that others see it whole or not at all; removes it for null. */
function write(file, value) {
  if (value === null) return rmSync(file, { force: true });
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** A text of at most 4096 bytes, as errors and lines of logs are. */
function bounded(text) {
  const bytes = Buffer.from(text || "No reason was given.");
  return bytes.length <= 4096
    ? bytes.toString()
    : bytes
        .subarray(0, 4000)
        .toString()
        .replace(/\uFFFD+$/, "") + "…";
}

/** Handles an event of the subscription. */
function hear(event) {
  if (event.__typename === "ProvisionerJobAssigned") void doJob({ event, run: 0 });
  else if (event.__typename === "ProvisionerJobCancelRequested") jobs.get(event.jobId)?.stop("canceled");
  else if (event.__typename === "ProvisionerDrainRequested") say(`The server restarts: ${event.reason}`);
}

/** What a job is for. */
function purposeOf({ type, assignment }) {
  if (type === "TEMPLATE_VERSION_IMPORT") return "import";
  if (type === "TEMPLATE_VERSION_DRY_RUN") return "plan";
  return assignment.transition.toLowerCase();
}

/** Does a job from its assignment to its end. The record is what a next process of the daemon has to know of it. */
async function doJob(record) {
  const { jobId, lease } = record.event;
  if (jobs.has(jobId)) return;
  const job = new Job(record);
  jobs.set(jobId, job);
  try {
    job.keep();
    await call(ACCEPT, { jobId, lease });
    say(`Job ${jobId}: ${job.purpose} begins.`);
    say(`Job ${jobId}: ${job.purpose} is ${await job.perform()}.`);
  } catch (error) {
    // With a reason, the server has ended the job, or has given it to another daemon. Others are mistakes of this daemon.
    say(`Job ${jobId}: abandoned: ${error.message}`);
    if (!error.reason)
      await call(FAIL, { jobId, lease, error: bounded(error.message) }).catch((again) => say(again.message));
  } finally {
    write(job.file, null);
    jobs.delete(jobId);
    endIfIdle();
  }
}

class Job {
  constructor(record) {
    this.record = record;
    this.event = record.event;
    this.purpose = purposeOf(record.event);
    this.file = join(jobFiles(), `${record.event.jobId}.json`);
    this.stopping = new AbortController();
    this.lines = [];
    // A next process does not know how many lines this one has sent, and counts from a number above all of them.
    this.sequence = record.run * 100_000;
    this.wake = () => {};
    this.done = false;
  }

  get target() {
    return { jobId: this.event.jobId, lease: this.event.lease };
  }

  /** Remembers the job for the next process, in case that this one is killed. */
  keep() {
    write(this.file, { ...this.record, run: this.record.run + 1 });
  }

  /** Stops the job; the reason is `canceled` or `lost`. */
  stop(reason) {
    if (!this.stopping.signal.aborted) this.stopping.abort(reason);
  }

  log(output, level = "INFO") {
    this.sequence += 1;
    const line = { sequence: this.sequence, createdAt: new Date().toISOString(), level, source: "PROVISIONER_DAEMON" };
    this.lines.push({ ...line, stage: this.purpose, output: bounded(output) });
    this.wake();
  }

  /** Sends the log while the job is in progress, and asks for cancellations, since the subscription may have ended. */
  async report() {
    while (!this.done || this.lines.length > 0) {
      if (this.lines.length === 0) {
        const timer = setTimeout(() => this.wake(), 5 * SECOND);
        await new Promise((resolve) => (this.wake = resolve));
        clearTimeout(timer);
        if (this.done && this.lines.length === 0) return;
      }
      const logs = this.lines.splice(0, 100);
      try {
        const { cancelRequested } = await call(LOG, { ...this.target, logs });
        if (cancelRequested) this.stop("canceled");
      } catch (error) {
        if (error.reason) return this.abandon(error);
        say(`Lines are missing in the log of job ${this.event.jobId}: ${error.message}`);
      }
    }
  }

  /** Stops the job because the daemon has lost it. */
  abandon(error) {
    this.lost = error;
    this.stop("lost");
  }

  /** Performs the job, and tells the server how it ended. Returns its status. */
  async perform() {
    const reporting = this.report();
    let undo = () => {};
    let mutation = COMPLETE;
    let result = {};
    try {
      await this.declare();
      undo = this.begin();
      await this.steps();
      result = this.finish();
    } catch (error) {
      if (error.reason) this.abandon(error);
      // Another daemon may build the workspace by now: what a lost job has made is left to the next build.
      if (!this.lost) undo();
      const canceled = this.stopping.signal.reason === "canceled";
      if (!canceled) this.log(error.message, "ERROR");
      mutation = FAIL;
      result = canceled ? { error: "Canceled.", canceled } : { error: bounded(error.message) };
    }
    this.done = true;
    this.wake();
    await reporting;
    if (this.lost) throw this.lost;
    return (await call(mutation, { ...this.target, ...result })).status;
  }

  /** Reports the resources. */
  async declare() {
    if (this.purpose === "delete" || this.purpose === "plan") return;
    const { assignment } = this.event;
    const transition = this.purpose === "stop" ? "stop" : "start";
    const resources = assignment.document.resources
      .filter((resource) => resource.transitions.includes(transition))
      .map((resource) => replaceReferences(resource, assignment));
    await call(REPORT, { ...this.target, resources });
    this.log(`The ${this.purpose} has ${resources.length} resources.`);
  }

  get workspaceFile() {
    return join(directory, "workspaces", `${this.event.assignment.workspace.id}.json`);
  }

  /** Begins to change the workspace. Returns what undoes it. */
  begin() {
    if (this.purpose !== "start") return () => {};
    // A process that was killed has begun already: what was before it is in the record.
    if (!("before" in this.record)) this.record.before = read(this.workspaceFile);
    this.keep();
    write(this.workspaceFile, { ...this.record.before, status: "starting" });
    return () => write(this.workspaceFile, this.record.before);
  }

  /** Does what the document lists for the job. */
  async steps() {
    const { signal } = this.stopping;
    for (const step of this.event.assignment.document.source?.[this.purpose] ?? []) {
      if (step.log) this.log(step.log);
      while (step.until && !existsSync(join(directory, step.until))) await sleep(50, undefined, { signal });
      if (step.fail) throw new Error(step.fail);
    }
    signal.throwIfAborted();
  }

  /** Makes the change of the workspace. Returns the result of the job. */
  finish() {
    const { workspace, parameters, buildNumber, state } = this.event.assignment;
    if (this.purpose === "import" || this.purpose === "plan") return {};
    if (this.purpose === "delete") write(this.workspaceFile, null);
    else if (this.purpose === "stop") write(this.workspaceFile, { ...read(this.workspaceFile), status: "stopped" });
    else write(this.workspaceFile, { status: "running", name: workspace.name, build: buildNumber, parameters });
    return { state: { starts: (state?.starts ?? 0) + (this.purpose === "start" ? 1 : 0) } };
  }
}

/** Stands for the IDs of imports, which have no workspace. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

/** A resource of the document in which the references of the texts that may have them are replaced. */
function replaceReferences(resource, { parameters, variables, workspace, task }) {
  const values = new Map([
    ...parameters.map((each) => [`param.${each.name}`, each.value]),
    ...variables.map((each) => [`var.${each.name}`, each.value]),
    ["workspace.id", workspace?.id ?? NO_ID],
    ["workspace.name", workspace?.name ?? "workspace"],
    ["workspace.owner", workspace?.owner.username ?? "owner"],
    ["workspace.owner_id", workspace?.owner.id ?? NO_ID],
    ["task.id", task?.id ?? ""],
    ["task.prompt", task?.prompt ?? ""],
  ]);
  const replaced = (text) =>
    text.replace(/\$\$\{|\$\{([^}]*)\}/g, (match, reference) => {
      if (match === "$${") return "${";
      // An import has no values of parameters without a default. A URL stays one with a zero, as its host and as its port.
      if (!workspace && reference.startsWith("param.")) return values.get(reference) ?? "0";
      if (!values.has(reference)) throw new Error(`There is no \${${reference}} here.`);
      return values.get(reference);
    });
  const replacedApp = (app) => ({
    ...app,
    url: replaced(app.url),
    ...(app.healthcheck && { healthcheck: { ...app.healthcheck, url: replaced(app.healthcheck.url) } }),
  });
  return {
    ...resource,
    metadata: resource.metadata.map((item) => ({ ...item, value: replaced(item.value) })),
    agents: resource.agents.map((agent) => ({
      ...agent,
      directory: replaced(agent.directory),
      env: Object.fromEntries(Object.entries(agent.env).map(([variable, value]) => [variable, replaced(value)])),
      command: agent.command.map(replaced),
      apps: agent.apps.map(replacedApp),
    })),
  };
}

// --- Life cycle ------------------------------------------------------------------------------------------------------------

/** Closes the socket when the daemon ends and nothing is in progress. */
function endIfIdle() {
  if (!ending || jobs.size > 0) return;
  if (!socket) process.exit(0);
  socket.close(1000);
}

for (const signal of ["SIGTERM", "SIGINT"])
  process.on(signal, () => {
    if (ending) process.exit(1);
    ending = true;
    say(`Ends when its ${jobs.size} jobs are done.`);
    send({ id: "work", type: "complete" });
    endIfIdle();
  });

mkdirSync(join(directory, "workspaces"), { recursive: true });
mkdirSync(jobFiles(), { recursive: true, mode: 0o700 });
for (const file of readdirSync(jobFiles()).filter((each) => each.endsWith(".json")))
  void doJob(read(join(jobFiles(), file)));

await stayConnected();
process.exit(0);

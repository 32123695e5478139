// The life of one agent: runs its command and its scripts, and speaks for it.
import { statfs } from "node:fs/promises";
import { cpus, freemem, totalmem } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { delay } from "../api/delay.js";
import { pace as usual, type Pace } from "./pace.js";
import { AppChecks } from "./app-health.js";
import { AgentClient, type Lifecycle, type Manifest, type ManifestScript, TokenEnded } from "./client.js";
import { acpAppOf, commandOf } from "./acp/command.js";
import { Command, ending } from "./command.js";
import { Conversation, reachedTask } from "./conversation.js";
import { environmentOf, type Place } from "./environment.js";
import { Groups } from "./groups.js";
import { writeSecretFiles } from "./home-files.js";
import { AgentLog } from "./logs.js";
import { OutputFile } from "./output.js";
import { type Account, type EnforcedLimits, type Leader, markOf } from "./processes.js";
import { Reports } from "./reports.js";
import { schedule } from "./schedules.js";
import { clipText, textOfLine, withLastLine } from "./text.js";
import { masking } from "./transcript.js";
import { runScripts, type ScriptHost, type ScriptStatus } from "./scripts.js";

/** The details by which a later process of this program takes over the processes of an agent. */
export interface AgentProcesses {
  /** The command; absent while it is not running. */
  command?: Leader;
  /** All groups, the command's included. */
  groups: readonly Leader[];
  /** Bytes of the output that were read. */
  offset: number;
  /** Whether the start scripts have ended. */
  isStarted: boolean;
  /** Whether the command has ended and is not restarted. */
  isGone: boolean;
}

export interface AgentOptions {
  /** Origin of the server. */
  url: string;
  token: string;
  place: Place;
  /** Path of the file that takes the output of the command. */
  output: string;
  /** The user that runs the processes, if not the user of this program. */
  account?: Account;
  /** Limits of the processes. */
  limits?: EnforcedLimits;
  /** Whether secret files outside the home and through symbolic links are rejected. */
  isConfined: boolean;
  /** Parameters of the build, for the environment. */
  parameters: ReadonlyArray<{ name: string; value: string }>;
  /** Called when the processes have changed. */
  onProcesses?: (processes: AgentProcesses) => void;
  /** Called once when the agent's token has ended. */
  onTokenEnd: () => void;
  /** Called when the server wants the agent to shut down. */
  onShutdown?: () => void;
  log: (message: string) => void;
  pace?: Pace;
}

/** Milliseconds for the last reports of an agent. */
const shutdownTimeout = 5_000;
/** Bytes of a report of a failure, and of the last line of the output in the error of a build. */
const most = { failure: 160, line: 500 } as const;

export class Agent {
  readonly #client: AgentClient;
  readonly #options: AgentOptions;
  readonly #pace: Pace;
  readonly #manifest: Manifest;
  readonly #groups: Groups;
  readonly #logs: AgentLog;
  readonly #reports: Reports;
  readonly #checks: AppChecks;
  readonly #output: OutputFile;
  readonly #command?: Command;
  readonly #conversation?: Conversation;
  /** Aborted when the agent ends: its command is not restarted, and its start scripts end. */
  readonly #ending = new AbortController();
  /** Aborted when the agent no longer speaks. */
  readonly #silent = new AbortController();
  #isStarted: boolean;
  #isGone: boolean;
  /** Processes whose end by the limit of memory was noted, or happened before this process of this program. */
  #oomKills: number;
  /** The last line of the output that has a text. */
  #lastLine = "";
  #stopped?: Promise<void>;

  /** `adopted` has the processes that an earlier process of this program started. */
  constructor(manifest: Manifest, options: AgentOptions, adopted?: AgentProcesses) {
    const { url, token, place, parameters, account, limits, log, output } = options;
    const { agentName, workspaceId, logSourceId, command, restart } = manifest;
    const pace = options.pace ?? usual;
    this.#manifest = manifest;
    this.#options = options;
    this.#pace = pace;
    this.#client = new AgentClient(url, token, pace.request);
    const onChange = () => this.announceProcesses();
    const conditions = { home: place.home, directory: directoryOf(manifest, place.home), account, limits };
    const env = environmentOf(manifest, place, { url, token, parameters });
    const ends = { mark: markOf(workspaceId), grace: pace.kill };
    this.#groups = new Groups({ ...conditions, ...ends, env, onChange }, adopted?.groups);
    this.#logs = new AgentLog(this.#client);
    this.#reports = new Reports((fault) => log(`Agent ${agentName}: a report failed: ${fault}`));
    this.#checks = new AppChecks(manifest.apps, this.#client, { told: acpAppOf(manifest), task: manifest.task });
    const masked = masking([...manifest.secretEnv.map(({ value }) => value), token]);
    const onLine = (line: string) => {
      this.#logs.add(logSourceId, line);
      this.#lastLine = textOfLine(masked(line)) || this.#lastLine;
    };
    this.#output = new OutputFile(output, onLine, adopted?.offset);
    this.#isStarted = adopted?.isStarted ?? false;
    this.#isGone = adopted?.isGone ?? false;
    this.#oomKills = adopted ? (limits?.oomKills() ?? 0) : 0;
    const reached = reachedTask(manifest);
    if (reached) this.#conversation = new Conversation(reached, manifest, this.#client, (fault) => this.#note(fault));
    if (command.length === 0) return;
    this.#command = new Command({
      argv: commandOf(manifest),
      isRestarted: restart === "ON_FAILURE",
      groups: this.#groups,
      output,
      pace,
      ending: this.#ending.signal,
      onEnd: (status) => this.#reportEnd(status),
      onDown: () => this.#checks.down(),
      onUp: () => {
        this.#checks.up();
        this.announceProcesses();
      },
      note: (message) => {
        this.#noteOomKills();
        this.#note(message);
      },
    });
    if (adopted?.command) this.#command.adopt(adopted.command);
  }

  get name(): string {
    return this.#manifest.agentName;
  }

  /** Writes the secret files and starts the command. Throws if it cannot be started; `kill` must follow then. */
  async launch(): Promise<void> {
    const { secretFiles, secretErrors } = this.#manifest;
    const { place, account, isConfined } = this.#options;
    const faults = await writeSecretFiles(secretFiles, { home: place.home, isConfined, account });
    const errors = secretErrors.map(({ name, reason }) => `The secret ${name} was not delivered: ${reason}`);
    for (const fault of [...faults, ...errors]) this.#note(fault);
    await this.#conversation?.begin({ home: place.home, isConfined, account });
    await this.#command?.start();
    this.announceProcesses();
  }

  /** Waits whether the command fails early. Returns what ended it, or undefined if it has not failed. */
  async earlyFailure(signal: AbortSignal): Promise<string | undefined> {
    const failure = await this.#command?.earlyFailure(signal);
    if (failure === undefined) return undefined;
    await this.#output.finish();
    const last = this.#lastLine && `Its last line is: ${clipText(this.#lastLine, most.line)}`;
    return [failure, this.#oomNotice(), "Its log has the output.", last].filter(Boolean).join(" ");
  }

  /** Speaks for the agent and supervises its command, which was launched. Does not wait. */
  begin(): void {
    this.#report("STARTING");
    this.#speak();
    void this.#runStartScripts();
    if (this.#command) void this.#supervise(this.#command);
  }

  /** Continues what an earlier process of this program began. Does not wait. */
  resume(): void {
    if (this.#isGone) return;
    void this.#conversation?.begin();
    this.#speak();
    // The results of scripts that ran meanwhile are not known.
    if (!this.#isStarted) this.reportStart("READY");
    if (this.#command) void this.#supervise(this.#command);
  }

  /** Runs the stop scripts, ends all processes, and reports that the agent is off. Throws if a process does not end. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  /** Ends all processes, without scripts. Throws if a process does not end. */
  async kill(): Promise<void> {
    this.#ending.abort();
    await this.#groups.endAll();
    await this.#fallSilent();
  }

  async #stop(): Promise<void> {
    this.#ending.abort();
    this.#report("SHUTTING_DOWN");
    const status = await this.#runScripts(({ runOnStop }) => runOnStop, new AbortController().signal);
    await this.#conversation
      ?.store()
      .catch((error: unknown) =>
        this.#note(`The conversation of the task could not be stored: ${(error as Error).message}`),
      );
    await this.#groups.endAll();
    if (status === "TIMED_OUT") this.#report("SHUTDOWN_TIMEOUT");
    if (status === "EXIT_FAILURE") this.#report("SHUTDOWN_ERROR");
    this.#report("OFF");
    this.#reports.add(() => this.#client.disconnect());
    await this.#fallSilent();
  }

  async #fallSilent(): Promise<void> {
    this.#silent.abort();
    await this.#output.finish();
    await Promise.all([this.#logs.close(shutdownTimeout), this.#reports.finish(shutdownTimeout)]);
  }

  announceProcesses(): void {
    this.#options.onProcesses?.({
      command: this.#command?.leader,
      groups: this.#groups.leaders,
      offset: this.#output.offset,
      isStarted: this.#isStarted,
      isGone: this.#isGone,
    });
  }

  #report(state: Lifecycle): void {
    this.#reports.add(() => this.#client.lifecycle(state));
  }

  /** Starts the loops that speak for the agent. */
  #speak(): void {
    const { home } = this.#options.place;
    const measure = meter(home, this.#options.limits);
    this.#reports.add(() => this.#client.startup(directoryOf(this.#manifest, home)));
    void this.#repeat(this.#pace.heartbeat, () => this.#beat());
    void this.#repeat(this.#pace.resources, async () => this.#client.resources(await measure()));
    void this.#repeat(this.#pace.output, async () => {
      if (await this.#output.step()) this.announceProcesses();
    });
    void this.#checks.run(this.#silent.signal);
    void this.#conversation?.follow(this.#silent.signal, this.#pace);
    const over = AbortSignal.any([this.#ending.signal, this.#silent.signal]);
    const run = async (script: ManifestScript) => void (await runScripts([script], this.#scriptHost(), over));
    const reject = ({ displayName, cron, logSourceId: source }: ManifestScript) =>
      this.#logs.add(
        source,
        `The script "${displayName}" does not run by its schedule ${cron}, which is not valid.`,
        "ERROR",
      );
    schedule(this.#manifest.scripts, run, reject, over);
  }

  /** Says that processes were ended since the last time, because the limit of memory was reached. */
  #oomNotice(): string | undefined {
    const before = this.#oomKills;
    this.#oomKills = this.#options.limits?.oomKills() ?? 0;
    if (this.#oomKills <= before) return undefined;
    const count = this.#oomKills - before;
    const what = count === 1 ? "A process was" : `${count} processes were`;
    return `${what} ended because the limit of memory of the resource was reached.`;
  }

  #noteOomKills(): void {
    const notice = this.#oomNotice();
    if (notice !== undefined) this.#note(notice);
  }

  async #beat(): Promise<void> {
    this.#noteOomKills();
    if ((await this.#client.heartbeat()) && !this.#ending.signal.aborted) this.#options.onShutdown?.();
  }

  /** Repeats a step until the agent falls silent, also if it fails. */
  async #repeat(interval: number, step: () => Promise<void>): Promise<void> {
    const { signal } = this.#silent;
    while (!signal.aborted) {
      try {
        await step();
      } catch (error) {
        if (error instanceof TokenEnded && !this.#ending.signal.aborted) {
          this.#ending.abort();
          this.#options.onTokenEnd();
        }
      }
      await delay(interval, signal);
    }
  }

  #runScripts(isWanted: (script: ManifestScript) => boolean, signal: AbortSignal): Promise<ScriptStatus> {
    return runScripts(this.#manifest.scripts.filter(isWanted), this.#scriptHost(), signal);
  }

  #scriptHost(): ScriptHost {
    const { place, account, isConfined } = this.#options;
    const directory = directoryOf(this.#manifest, place.home);
    return {
      groups: this.#groups,
      log: (source: string, line: string, level?: "ERROR") => this.#logs.add(source, line, level),
      report: (result: Parameters<AgentClient["scriptResult"]>[0]) =>
        this.#reports.add(() => this.#client.scriptResult(result)),
      place: { home: place.home, directory, isConfined, account },
      pace: this.#pace,
    };
  }

  async #runStartScripts(): Promise<void> {
    const status = await this.#runScripts(({ runOnStart }) => runOnStart, this.#ending.signal);
    if (this.#ending.signal.aborted) return;
    this.reportStart(status === "TIMED_OUT" ? "START_TIMEOUT" : status === "EXIT_FAILURE" ? "START_ERROR" : "READY");
  }

  reportStart(state: Lifecycle): void {
    this.#isStarted = true;
    this.#report(state);
    this.announceProcesses();
  }

  /** Tells the task that its program has ended for good, before the app becomes unhealthy. */
  async #reportEnd(status: number | null | undefined): Promise<void> {
    this.#checks.pause();
    await this.#output.finish();
    const { task } = this.#manifest;
    const notice = this.#oomNotice();
    if (notice !== undefined) this.#note(notice);
    // The process that speaks ACP reports failures of its program itself, and ends with this status.
    const isReported = task?.protocol === "ACP" && (status === 1 || status === undefined);
    if (task?.app == null || isReported || !(this.#conversation || acpAppOf(this.#manifest))) return;
    const sentence = ending(status);
    const message = clipText(notice ? `${sentence} ${notice}` : withLastLine(sentence, this.#lastLine), most.failure);
    const { app } = task;
    this.#reports.add(() => this.#client.appFailure(app, message));
    const told = Promise.withResolvers<void>();
    this.#reports.add(async () => told.resolve());
    await Promise.race([told.promise, delay(shutdownTimeout, this.#ending.signal)]);
  }

  /** When the command has ended for good, the agent is gone until the workspace starts again. */
  async #supervise(command: Command): Promise<void> {
    await command.supervise();
    if (this.#ending.signal.aborted) return;
    this.#isGone = true;
    this.announceProcesses();
    this.#reports.add(() => this.#client.disconnect());
    this.#silent.abort();
    await this.#output.finish();
  }

  #note(message: string): void {
    this.#logs.add(this.#manifest.logSourceId, message, "WARN");
  }
}

/** The directory of the agent's processes: the template's, relative to the home, otherwise the home. */
function directoryOf({ directory }: Manifest, home: string): string {
  if (directory === "~" || directory.startsWith("~/")) return join(home, directory.slice(1));
  return isAbsolute(directory) ? directory : resolve(home, directory);
}

/** Reads how long the processors have been busy and idle. */
function processorTimes() {
  const times = cpus().map(({ times: each }) => each);
  const total = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { total, idle: times.reduce((sum, { idle }) => sum + idle, 0), count: times.length };
}

/**
 * Returns a function that measures the use of processors, memory, and disk: that of the processes under the limits, as far
 * as it is known, otherwise that of the machine. Processors are measured since the last call, in thousandths of one.
 */
function meter(home: string, limits: EnforcedLimits | undefined) {
  let last: Measured | undefined;
  return async () => {
    const { cpuMicroseconds: own, ...usage } = limits?.usage() ?? {};
    const before = last;
    const current = { machine: processorTimes(), own, at: performance.now() };
    last = current;
    const { bsize, blocks, bavail } = await statfs(home);
    return {
      cpuUsedMillicores: before && (own === undefined ? millicoresOf(before, current) : ownMillicores(before, current)),
      cpuTotalMillicores: usage.cpuTotalMillicores ?? cpus().length * 1000,
      memoryUsedBytes: usage.memoryUsedBytes ?? totalmem() - freemem(),
      memoryTotalBytes: Math.min(usage.memoryTotalBytes ?? totalmem(), totalmem()),
      diskUsedBytes: (blocks - bavail) * bsize,
      diskTotalBytes: blocks * bsize,
    };
  };
}

interface Measured {
  machine: ReturnType<typeof processorTimes>;
  /** Microseconds of the processes under the limits. */
  own?: number;
  /** Milliseconds. */
  at: number;
}

function millicoresOf({ machine: before }: Measured, { machine: now }: Measured): number | undefined {
  const total = now.total - before.total;
  if (total <= 0) return undefined;
  const used = Math.max(0, total - (now.idle - before.idle));
  return Math.round((used / total) * now.count * 1000);
}

function ownMillicores(before: Measured, now: Measured): number | undefined {
  if (before.own === undefined || now.own === undefined || now.at <= before.at) return undefined;
  return Math.round(Math.max(0, now.own - before.own) / (now.at - before.at));
}

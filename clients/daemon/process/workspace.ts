// A workspace on this machine: its directories, its ports, and its agents.
import { Agent, type AgentOptions, type AgentProcesses } from "../../agent/agent.js";
import { AgentClient, type Manifest, OperationFailed } from "../../agent/client.js";
import { type Account, endGroups, type EnforcedLimits, markOf } from "../../agent/processes.js";
import type { Log } from "../daemon.js";
import { type Job, JobFailed } from "../job.js";
import { delay } from "../../api/delay.js";
import type { Pace } from "../../agent/pace.js";
import type { DocumentAgent, DocumentResource, ReportedAgent } from "../protocol.js";
import type { Cgroups } from "./cgroups.js";
import type { AgentState, Folder, WorkspaceState } from "./folder.js";

/** The settings and the folder that all workspaces of a daemon share. */
export interface Site {
  /** Origin of the server. */
  url: string;
  folder: Folder;
  cgroups: Cgroups;
  /** The user that runs the processes, if not the user of the daemon. */
  account?: Account;
  /** Name of the user that runs the processes. */
  user: string;
  log: Log;
  pace: Pace;
}

/** Milliseconds for which a stop waits until the agents that an earlier daemon started can run their stop scripts. */
const adoptionTimeout = 10_000;

const isRun = ({ command, external }: DocumentAgent) => command !== undefined && command.length > 0 && !external;

export class Workspace {
  /** Running agents by name. */
  readonly #agents = new Map<string, Agent>();
  /** Aborted when agents that an earlier daemon started are not to be adopted any longer. */
  readonly #adopting = new AbortController();
  #adopted: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly site: Site,
    readonly state: WorkspaceState,
  ) {}

  /** Starts the agents of a build and completes its job. Nothing may run before; if it throws, nothing runs. */
  async start(job: Job, resources: DocumentResource[]): Promise<void> {
    const { folder } = this.site;
    const { workspaceId } = this.state;
    const directories = await folder.make(workspaceId);
    this.state.job = { id: job.id, lease: job.lease };
    this.state.parameters = job.assignment.parameters;
    this.#save();
    try {
      const reported = await job.report(resources);
      for (const [index, resource] of resources.entries()) {
        const agents = (resource.agents ?? []).filter(isRun);
        const limits = agents.length > 0 ? this.#limit(job, resource, index) : {};
        for (const { name } of agents) await this.#launch(job, requireToken(reported, name), directories, limits);
      }
      await this.#requireLife(job);
      await job.complete({ state: { ports: this.state.ports }, pin: true });
    } catch (error) {
      await this.kill();
      throw error;
    }
    delete this.state.job;
    this.#save();
    for (const agent of this.#agents.values()) agent.begin();
  }

  /** Stops all agents and ends all their processes. Throws if a process does not end. */
  async stop(): Promise<void> {
    await Promise.race([this.#adopted, delay(adoptionTimeout)]);
    this.#adopting.abort();
    await this.#adopted;
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    await this.kill();
  }

  /** Ends all processes, without stop scripts. Throws if a process does not end. */
  async kill(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.kill()));
    this.#agents.clear();
    const groups = this.state.agents.flatMap(({ processes }) => processes.groups);
    await endGroups(groups, markOf(this.state.workspaceId), this.site.pace.kill);
    await this.site.cgroups.remove(this.state.workspaceId);
    if (this.state.agents.length === 0 && !this.state.job) return;
    this.state.agents = [];
    delete this.state.job;
    this.#save();
  }

  /** Ends the processes of all agents, which stay on record: a later daemon goes on with them. */
  async endPrograms(): Promise<void> {
    this.#adopting.abort();
    await this.#adopted;
    await Promise.all([...this.#agents.values()].map((agent) => agent.kill()));
    // Those of agents that this daemon has not taken over yet.
    const groups = this.state.agents.flatMap(({ processes }) => processes.groups);
    await endGroups(groups, markOf(this.state.workspaceId), this.site.pace.kill);
  }

  /** Takes over the agents that an earlier daemon started, as soon as the server can be reached. Does not wait. */
  adopt(): void {
    this.#adopted = Promise.all(this.state.agents.map((agent) => this.#adopt(agent)));
  }

  async #adopt(agentState: AgentState): Promise<void> {
    const { log, pace, url, folder } = this.site;
    const { name, token, processes } = agentState;
    const what = `agent ${name} of workspace ${this.state.workspaceId}`;
    try {
      const manifest = await fetchManifest(new AgentClient(url, token, pace.request), pace, this.#adopting.signal);
      const directories = await folder.make(this.state.workspaceId);
      const { enforced, fault } = this.#enforce(agentState.limits);
      if (fault) log(`${what}: ${fault}`);
      const agent = new Agent(manifest, this.#optionsFor(agentState, directories, enforced), processes);
      this.#agents.set(name, agent);
      agent.resume();
      log(`Continuing with ${what}.`);
    } catch (error) {
      if (this.#adopting.signal.aborted) return;
      log(`Ending ${what}: ${(error as Error).message}`);
      await this.#discard(agentState).catch((failure: Error) => log(failure.message));
    }
  }

  /** Ends the processes of one agent. */
  async #discard(agentState: AgentState): Promise<void> {
    const agent = this.#agents.get(agentState.name);
    const { groups } = agentState.processes;
    await (agent ? agent.kill() : endGroups(groups, markOf(this.state.workspaceId), this.site.pace.kill));
    if (!this.state.agents.includes(agentState)) return;
    this.#agents.delete(agentState.name);
    this.state.agents = this.state.agents.filter((each) => each !== agentState);
    this.#save();
    if (this.state.agents.length === 0) await this.site.cgroups.remove(this.state.workspaceId);
  }

  /** Sets up the limits of a resource. Throws if the template requires those that cannot be enforced here. */
  #limit(job: Job, { name, limits }: DocumentResource, resource: number): Limited {
    if (!limits) return {};
    const given = { resource, limits };
    const { enforced, fault } = this.#enforce(given);
    if (fault && limits.required) throw new JobFailed(`The template requires the limits of resource ${name}. ${fault}`);
    if (fault) job.log("Start", `Resource ${name}: ${fault}`, "WARN");
    return enforced ? { given, enforced } : {};
  }

  #enforce(given: AgentState["limits"]): { enforced?: EnforcedLimits; fault?: string } {
    return given ? this.site.cgroups.enforce(this.state.workspaceId, given.resource, given.limits) : {};
  }

  async #launch(
    job: Job,
    reported: ReportedAgent & { token: string },
    directories: Directories,
    { given, enforced }: Limited,
  ): Promise<void> {
    const { name, token } = reported;
    const { url, pace } = this.site;
    const manifest = await fetchManifest(new AgentClient(url, token, pace.request), pace, job.signal).catch(
      (error: Error) => {
        throw new JobFailed(`The manifest of agent ${name} could not be fetched: ${error.message}`);
      },
    );
    job.signal.throwIfAborted();
    const processes: AgentProcesses = { groups: [], offset: 0, isStarted: false, isGone: false };
    const agentState: AgentState = { name, token, processes, limits: given };
    this.state.agents.push(agentState);
    const agent = new Agent(manifest, this.#optionsFor(agentState, directories, enforced));
    this.#agents.set(name, agent);
    job.log("Start", `Starting the command of agent ${name}.`);
    await agent.launch().catch((error: Error) => {
      throw new JobFailed(`The command of agent ${name} could not be started: ${error.message}`);
    });
  }

  /** Throws if a command fails early. */
  async #requireLife(job: Job): Promise<void> {
    const failures = await Promise.all(
      [...this.#agents.values()].map(async (agent) => {
        const failure = await agent.earlyFailure(job.signal);
        return failure && `Agent ${agent.name} failed to start. ${failure}`;
      }),
    );
    job.signal.throwIfAborted();
    const failed = failures.filter((failure) => failure !== undefined);
    if (failed.length > 0) throw new JobFailed(failed.join("\n"));
  }

  #optionsFor(agentState: AgentState, { home, temporary }: Directories, limits?: EnforcedLimits): AgentOptions {
    const { url, account, user, folder, log, pace } = this.site;
    return {
      url,
      token: agentState.token,
      place: { home, temporary, user },
      output: folder.outputPath(this.state.workspaceId, agentState.name),
      account,
      limits,
      isConfined: true,
      parameters: this.state.parameters,
      onProcesses: (processes) => {
        if (!this.state.agents.includes(agentState)) return;
        agentState.processes = { ...processes, groups: [...processes.groups] };
        try {
          this.#save();
        } catch (error) {
          log(`The state of workspace ${this.state.workspaceId} was not saved: ${(error as Error).message}`);
        }
      },
      onTokenEnd: () => {
        log(
          `Workspace ${this.state.workspaceId}: the token of agent ${agentState.name} has ended. Ending its processes.`,
        );
        void this.#discard(agentState).catch((error: Error) => log(error.message));
      },
      log,
      pace,
    };
  }

  #save(): void {
    this.site.folder.save(this.state);
  }
}

/** The limits of a resource; empty if none are enforced. */
interface Limited {
  given?: AgentState["limits"];
  enforced?: EnforcedLimits;
}

interface Directories {
  home: string;
  temporary: string;
}

function requireToken(reported: ReportedAgent[], name: string): ReportedAgent & { token: string } {
  const agent = reported.find((each) => each.name === name);
  if (!agent?.token) throw new JobFailed(`The server has given no token for agent ${name}.`);
  return { ...agent, token: agent.token };
}

/** Fetches a manifest, again and again while the server cannot be reached. */
async function fetchManifest(client: AgentClient, pace: Pace, signal: AbortSignal): Promise<Manifest> {
  for (let pause = pace.retry; ; pause = Math.min(pause * 2, pace.reconnectMost)) {
    signal.throwIfAborted();
    try {
      return await client.manifest();
    } catch (error) {
      if (!(error instanceof OperationFailed && error.isTemporary)) throw error;
      await delay(pause, signal);
    }
  }
}

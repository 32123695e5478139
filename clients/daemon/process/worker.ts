// The type `process`: a workspace is a directory and the processes of its agents on this machine.
import type { Worker } from "../daemon.js";
import type { Execute, Job } from "../job.js";
import { type DocumentResource, failMutation } from "../protocol.js";
import { renderResources, type Values, valuesOf } from "../render.js";
import type { WorkspaceState } from "./folder.js";
import { freePort, isFree } from "../../../src/runtime/ports.js";
import { type Site, Workspace } from "./workspace.js";

/** Stands for ports in imports and dry runs, which take none. */
const noPort = "1";

export class ProcessWorker implements Worker {
  readonly type = "process";
  readonly #workspaces = new Map<string, Workspace>();
  /** The last step of each workspace that has one in progress: its builds take turns. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** `address` is the address of this machine for the server and for users. */
  constructor(
    private readonly site: Site,
    private readonly address: string,
  ) {}

  /** Takes over the workspaces of an earlier daemon. A start that it has not completed is undone. Does not wait. */
  async adopt(execute: Execute): Promise<void> {
    const { cgroups, folder, log } = this.site;
    const states = await folder.states();
    for (const id of cgroups.workspaces())
      if (!states.some(({ workspaceId, agents }) => workspaceId === id && agents.length > 0))
        void this.#inTurn(id, () => cgroups.remove(id)).catch((error: Error) => log(error.message));
    for (const state of states) {
      const workspace = new Workspace(this.site, state);
      this.#workspaces.set(state.workspaceId, workspace);
      void this.#inTurn(state.workspaceId, async () => {
        if (!state.job || (await this.#isCompleted(state.job, execute))) workspace.adopt();
        else await workspace.kill();
      }).catch((error: Error) => log(error.message));
    }
  }

  /** Ends the programs of all workspaces, which stay on record for the next daemon. Never throws. */
  async endPrograms(): Promise<void> {
    await Promise.all(
      [...this.#workspaces].map(([id, workspace]) =>
        this.#inTurn(id, () => workspace.endPrograms()).catch((error: Error) => this.site.log(error.message)),
      ),
    );
  }

  async run(job: Job): Promise<void> {
    const { assignment } = job;
    const { workspace, transition } = assignment;
    if (!workspace || !transition) {
      await job.report(
        renderResources(
          assignment,
          this.#values(job, () => noPort),
        ),
      );
      return job.complete({});
    }
    await this.#inTurn(workspace.id, async () => {
      job.signal.throwIfAborted();
      if (transition === "START") return this.#start(job, workspace.id);
      return this.#stop(job, workspace.id, transition === "DELETE");
    });
  }

  async #start(job: Job, workspaceId: string): Promise<void> {
    const fresh = () => ({ workspaceId, ports: portsIn(job.assignment.state), parameters: [], agents: [] });
    const workspace = this.#workspaces.get(workspaceId) ?? new Workspace(this.site, fresh());
    // What an earlier build has left holds its ports.
    await workspace.stop();
    this.#workspaces.set(workspaceId, workspace);
    await workspace.start(job, await this.#resources(job, workspace.state));
  }

  async #stop(job: Job, workspaceId: string, isDeleted: boolean): Promise<void> {
    const workspace = this.#workspaces.get(workspaceId);
    const ports = workspace?.state.ports ?? portsIn(job.assignment.state);
    await job.report(await this.#resources(job, { ports }));
    job.log("Stop", "Ending the processes of the workspace.");
    await workspace?.stop();
    if (isDeleted) {
      this.#workspaces.delete(workspaceId);
      await this.site.folder.remove(workspaceId);
    }
    await job.complete(isDeleted ? {} : { state: { ports } });
  }

  /** Renders the resources of a build, with a port for each name in the template. */
  async #resources(job: Job, state: Pick<WorkspaceState, "ports">): Promise<DocumentResource[]> {
    const names = new Set<string>();
    const collect = (name: string) => {
      names.add(name);
      return noPort;
    };
    renderResources(job.assignment, this.#values(job, collect));
    const isStart = job.assignment.transition === "START";
    for (const name of names) state.ports[name] = await this.#port(state.ports[name], isStart);
    return renderResources(
      job.assignment,
      this.#values(job, (name) => String(state.ports[name])),
    );
  }

  /** Where programs of workspaces listen: at the advertised address, or on this machine alone. */
  get #hosts(): readonly string[] {
    return ["127.0.0.1", this.address];
  }

  /** Returns the port that the workspace had, unless another program has taken it meanwhile, otherwise a new one. */
  async #port(known: number | undefined, isStart: boolean): Promise<number> {
    if (known !== undefined && (!isStart || (await isFree(known, this.#hosts)))) return known;
    const states = [...this.#workspaces.values()].map(({ state }) => state);
    return freePort(this.#hosts, new Set(states.flatMap(({ ports }) => Object.values(ports))));
  }

  #values(job: Job, port: (name: string) => string): Values {
    return {
      ...valuesOf(job.assignment),
      port,
      host: (name) => (name === "address" ? this.address : undefined),
    };
  }

  /** Reports the failure of a start that an earlier daemon began. Returns whether it had been completed before. */
  async #isCompleted({ id, lease }: { id: string; lease: string }, execute: Execute): Promise<boolean> {
    const input = { jobId: id, lease, error: "The provisioner daemon was restarted during the build." };
    try {
      type Data = { failProvisionerJob: { status: string } };
      const data = await execute<Data>(failMutation, { input }, new AbortController().signal);
      return data.failProvisionerJob.status === "SUCCEEDED";
    } catch {
      return false;
    }
  }

  /** Runs the steps of a workspace one after the other. */
  #inTurn<Result>(workspaceId: string, step: () => Promise<Result>): Promise<Result> {
    const turn = (this.#turns.get(workspaceId) ?? Promise.resolve()).then(step, step);
    this.#turns.set(workspaceId, turn);
    const forget = () => {
      if (this.#turns.get(workspaceId) === turn) this.#turns.delete(workspaceId);
    };
    turn.then(forget, forget);
    return turn;
  }
}

/** The ports that the previous build of the workspace had, perhaps on another machine. */
function portsIn(state: unknown): Record<string, number> {
  const { ports } = (state ?? {}) as { ports?: unknown };
  const entries = Object.entries((ports ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1])));
}

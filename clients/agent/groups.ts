// The processes of an agent: starts them, and knows their groups until all of their processes have ended.
import { stat } from "node:fs/promises";
import { makeDirectory } from "./home-files.js";
import {
  type Account,
  endGroups,
  type EnforcedLimits,
  isRunning,
  type Leader,
  type Running,
  start,
} from "./processes.js";

export interface GroupsOptions {
  home: string;
  /** Working directory; made if it is missing and below the home. */
  directory: string;
  env: Readonly<Record<string, string>>;
  /** The user that runs the processes, if not the user of this program. */
  account?: Account;
  limits?: EnforcedLimits;
  /** In the environment of all processes of the workspace. */
  mark: string;
  /** Milliseconds between SIGTERM and SIGKILL. */
  grace: number;
  /** Called when a group has been added or removed. */
  onChange: () => void;
}

export class Groups {
  readonly #leaders: Leader[];

  constructor(
    private readonly options: GroupsOptions,
    leaders: readonly Leader[] = [],
  ) {
    this.#leaders = [...leaders];
  }

  get leaders(): readonly Leader[] {
    return this.#leaders;
  }

  /** Starts a process that leads a new group. Throws if it cannot be started. */
  async start(command: readonly string[], output?: number): Promise<Running> {
    const { home, directory, env, account, limits, onChange } = this.options;
    const isMissing = await stat(directory).then(
      () => false,
      () => true,
    );
    if (isMissing && directory.startsWith(`${home}/`)) await makeDirectory(home, directory, account);
    const running = await start(command, { directory, env, account, output, limits });
    this.#leaders.push({ pid: running.pid, started: running.started });
    onChange();
    return running;
  }

  /** Whether a process of the group is running. */
  isRunning(leader: Leader): boolean {
    return isRunning(leader, this.options.mark);
  }

  /** Ends the processes of a group that runs or has just ended, and forgets it. Throws if a process does not end. */
  async end(running: Running): Promise<void> {
    await endGroups([running], running.isWatched ? undefined : this.options.mark, this.options.grace);
    this.forget(running);
  }

  /** Ends all processes. Throws if a process does not end. */
  async endAll(): Promise<void> {
    await endGroups(this.#leaders, this.options.mark, this.options.grace);
    this.#leaders.length = 0;
    this.options.onChange();
  }

  /** Forgets a group without processes. */
  forget(leader: Leader): void {
    const at = this.#leaders.findIndex(({ pid, started }) => pid === leader.pid && started === leader.started);
    if (at >= 0) this.#leaders.splice(at, 1);
    this.options.onChange();
  }
}

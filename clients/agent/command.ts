// The command of an agent: starts it, waits for its end, and restarts it if the template says so.
import { delay } from "../api/delay.js";
import type { Pace } from "./pace.js";
import type { Groups } from "./groups.js";
import { closeOutput, openOutput } from "./output.js";
import { adopt, type Leader, type Running } from "./processes.js";

export interface CommandOptions {
  argv: readonly string[];
  isRestarted: boolean;
  groups: Groups;
  /** Path of the file for its output. */
  output: string;
  pace: Pace;
  /** Aborted when the agent ends: the command is not restarted. */
  ending: AbortSignal;
  /** Called first when the command has ended and is not restarted. */
  onEnd: (status: number | null | undefined) => Promise<void>;
  /** Called when the command has ended, or could not be started again. */
  onDown: () => Promise<void>;
  /** Called when the command was started again. */
  onUp: () => void;
  /** Writes a line to the agent's log. */
  note: (message: string) => void;
}

export class Command {
  #running?: Running;

  constructor(private readonly options: CommandOptions) {}

  /** The process, for another process of this program to adopt; undefined while there is none. */
  get leader(): Leader | undefined {
    return this.#running && { pid: this.#running.pid, started: this.#running.started };
  }

  /** Starts the command. Throws if it cannot be started. */
  async start(): Promise<void> {
    const { argv, output, groups } = this.options;
    const file = openOutput(output);
    try {
      this.#running = await groups.start(argv, file);
    } finally {
      closeOutput(file);
    }
  }

  /** Takes over a process that another process of this program started. */
  adopt(leader: Leader): void {
    this.#running = adopt(leader, this.options.pace.poll, this.options.ending);
  }

  /** Waits whether the command fails early. Returns what ended it, or undefined if it has not failed. */
  async earlyFailure(signal: AbortSignal): Promise<string | undefined> {
    const early = delay(this.options.pace.settle, signal).then(() => 0);
    const status = await Promise.race([this.#running?.ended, early]);
    return status === 0 || status === undefined ? undefined : ending(status);
  }

  /** Supervises the command. Resolves when it has ended and is not restarted, or when the agent ends. */
  async supervise(): Promise<void> {
    const { ending: signal, groups, pace, note } = this.options;
    for (let pause = pace.restart; ; pause = Math.min(pause * 2, pace.restartMost)) {
      const began = Date.now();
      const running = this.#running;
      const status = await running?.ended;
      if (signal.aborted) return;
      this.#running = undefined;
      // Processes that the command has left behind hold its ports.
      if (running) await groups.end(running).catch((error: Error) => note(error.message));
      const isLast = !this.options.isRestarted || status === 0;
      if (isLast) await this.options.onEnd(status);
      await this.options.onDown();
      if (isLast) return note(ending(status));
      if (Date.now() - began > pace.restartMost) pause = pace.restart;
      note(`${ending(status)} It is started again in ${Math.round(pause / 1000)} s.`);
      await delay(pause, signal);
      if (signal.aborted) return;
      await this.start().then(this.options.onUp, (error: Error) => note(error.message));
    }
  }
}

export function ending(status: number | null | undefined): string {
  if (status === undefined) return "The command is not running.";
  return status === null ? "The command was ended by a signal." : `The command ended with status ${status}.`;
}

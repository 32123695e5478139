/** Intervals and timeouts of the programs, in milliseconds. */
export const pace = {
  /** First and longest pause before the daemon reconnects. */
  reconnect: 1_000,
  reconnectMost: 30_000,
  /** Pause before a failed operation is repeated. */
  retry: 1_000,
  /** Time for which lines of a job's log are collected. */
  logBatch: 250,

  heartbeat: 10_000,
  /** Interval of the reports of processors, memory, and disk. */
  resources: 60_000,
  /** Interval in which the output of commands is read. */
  output: 500,
  /** Timeout of a request of an agent. */
  request: 10_000,
  /** A command that fails within this time fails its build. */
  settle: 1_000,
  /** First and longest pause before a command is restarted. A command that ran for the longest starts over. */
  restart: 1_000,
  restartMost: 60_000,
  /** Time between SIGTERM and SIGKILL. */
  kill: 10_000,
  /** Time for which the output of an ended script is awaited. */
  pipes: 10_000,
  /** Interval in which processes are checked that are not children of this process. */
  poll: 1_000,
};

export type Pace = typeof pace;

import { Daemon, type Log } from "./daemon.js";
import { echo } from "./echo.js";
import type { Transport } from "./transport.js";

/**
 * Serves jobs of the type `echo` over a transport, such as the server's own, until the signal is aborted and the jobs in
 * progress have ended.
 */
export const serveEcho = (transport: Transport, stopping: AbortSignal, log: Log = () => {}): Promise<void> =>
  new Daemon({ transport, workers: [echo], slots: 4, log }).run(stopping);
